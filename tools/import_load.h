/* import_load.h -- one load of ndb_import: what its parts share. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <time.h>

#include "tools/import.h"
#include "tools/import_reject_file.h"
#include "tools/number_seen.h"

#define SKIPPED UINT32_MAX /* No column. */

struct load;

/* What is known of the commits of rows that are in the table. Epochs name the life of the cluster
   that they belong to: what is not on disk when another one begins is lost, or may be. */
struct import_commits {
    uint64_t epoch;            /* The greatest that is not known to be on disk; 0: there is none. */
    uint64_t former;           /* The greatest of the life before, if that is not known of it. */
    bool waiting;              /* The cluster was asked about the rows up to `point`. */
    struct import_point point; /* What is known to be on disk when it says yes. */
    uint64_t asked_ms;         /* When the last question was put. */
    bool early;                /* It was put while a pipe may still bring rows. */
    uint32_t tries;            /* Questions in a row without the answer that they are on disk. */
    bool lost;                 /* Some commits are lost, and their rows are to be imported again. */
    bool memory;               /* The cluster has no files. */
    uint32_t life;             /* ndb_connection_lives() before the first one. */
};

struct slot {
    struct load *load;
    struct slot *next; /* The next one in the free, the retry or the refused list. */
    uint8_t *row;
    char *raw;
    uint32_t raw_size, raw_room;
    uint64_t number; /* The row's number in the file, from 1. */
    uint32_t tries;
    int32_t code; /* The error of the last try. */
    char *why;    /* The text of it, of a row that is refused; NULL: no memory. */
    bool doubt;   /* A former try may have inserted it. */
    uint64_t due_ms;
    uint64_t sent_ns; /* When it was sent, for statistics. */
    /* Reads the row that is there, which a former try may have inserted. */
    struct ndb_operation *read;
};

struct load {
    const struct import_settings *settings;
    const char *path;
    struct csv_format format;
    struct import_input input;
    struct csv_row csv;
    struct ndb_table *table;
    struct ndb_record *record;
    uint32_t columns[CSV_FIELDS_MAX]; /* Column of each field, or SKIPPED. */
    uint32_t column_count;
    uint32_t number_column;  /* Gets numbers; SKIPPED: none. */
    struct number_seen seen; /* Numbers that the file brings itself. */
    struct slot *slots, *free, *retry;
    struct slot *refused, *refused_last; /* Not in the reject file yet, the first one first. */
    uint8_t *rows;
    struct import_reject_file rejects;
    struct import_totals totals;
    struct import_state state;
    struct import_commits commits;
    bool rejects_begun; /* The file has rows of this run. */
    bool rejects_lost;  /* The reject file could not be written. */
    bool other_table;   /* It was truncated or dropped: nobody can go on with this import. */
    struct import_series row_us, rows_per_second;
    uint64_t sample_ms, sample_rows;
    uint64_t first_byte; /* Byte of the file at which this run begins. */
    uint64_t number;     /* Rows read. */
    bool at_end;         /* All rows were read. */
    uint64_t start_ms, progress_ms;
    uint64_t taken_ms;        /* When answers were taken last while a reader was waited for. */
    struct wait_told *wait;   /* Tells that the cluster takes no rows; NULL: the bar shows it. */
    uint64_t moved, moved_ms; /* Rows that are done, and since when. */
    bool stalled;
    bool bar;  /* Standard error is a terminal. */
    bool stop; /* No more input is read. */
    bool failed;
    bool interrupted; /* By a signal; it has failed, too. */
    bool cut_off;     /* Given up with rows on their way, whose answers nobody waits for. */
};

/* import_load.c */
uint64_t import_now_ms(void);
void import_fail(struct load *load);

/* import_rows.c */
/* The text of the row, for the reject file. False: no memory. */
bool import_slot_keep(struct slot *slot, const char *raw, size_t size);
void import_send(struct slot *slot);
/* Those whose next try is due. */
void import_send_due(struct load *load);
/* Rows that wait for their next try stay away: the load has failed, or they are read again. Those
 * that nobody can import again by --resume are rejected, so that they have a name. */
void import_drop_retries(struct load *load);
/* Those that have been refused go into the reject file. */
void import_reject_refused(struct load *load);
/* Rows of a pipe, and those that got numbers, cannot be imported again. */
bool import_can_repeat(const struct load *load);
/* Is it an error of the table, and of all rows that follow? It was truncated or dropped. */
bool import_is_of_table(int32_t code);

/* import_rejects.c */
/* The reject file that is there is this load's from now on. False: told. */
bool import_rejects_begin(struct load *load);
/* One row into the reject file: number, error, message, text; TAB separated. Not of a load that has
 * failed and that --resume goes on with: it meets the row again. */
void import_reject(struct load *load, uint64_t number, int32_t code, const char *message,
                   const char *raw, uint32_t raw_size);
bool import_too_many_rejected(const struct load *load);
/* A run that was to go on, found no state and has done the whole file without a rejected row leaves
 * none of the run before in the reject file; not before its end, since it may have been given the
 * wrong directory. False: told, and the load has failed. */
bool import_rejects_end(struct load *load);
/* The reject file cannot be opened or written, as errno says: told, and the load has failed. */
void import_rejects_failed(struct load *load);

/* import_tell.c */
void import_tell_progress(struct load *load, bool last);
/* A cluster that holds rows back, because its logs are full, is not waited for in silence. */
void import_tell_stall(struct load *load);

/* import_prepare.c: false: the reason is printed. */
bool import_prepare(struct load *load, const char *table_name);

/* import_durable.c */
/* Goes on where the state says. False: the reason is printed. */
bool import_begin_state(struct load *load, const char *table_name, const char *state_name);
/* A row is in the table since this epoch. */
void import_committed(struct load *load, uint64_t epoch);
/* Now and then: asks what is on disk, and writes the state. */
void import_keep_state(struct load *load);
/* When a pipe is silent: so long until the cluster is asked about its rows, which are in memory
   else when all data nodes restart; -1: there is nothing to ask. */
int import_asks_in_ms(const struct load *load, uint64_t now);
/* Everything is answered. True: and on disk, or the load has failed and that will not be known;
   else the cluster is asked. */
bool import_settle(struct load *load);
/* Commits are lost, and nothing is on its way: goes back to what is on disk. */
void import_go_back(struct load *load);
/* The last word about the file. */
void import_end_state(struct load *load);
