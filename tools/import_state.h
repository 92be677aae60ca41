/* import_state.h -- how far the import of a file has come, kept in a file for --resume. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rows are answered in any order. The mark is the last row up to which all are in the table or
 * rejected; rows between the mark and the limit may have been sent. No row behind the limit is
 * sent before a greater limit has been saved. So whoever goes on begins behind the mark, and a row
 * up to the former limit that is in the table already with the same values was sent before.
 *
 * What is answered may be in the memory of the data nodes only, and is gone when they all are. So
 * there are two marks: what is answered, and what is on disk, too; the file has the latter. When
 * commits were lost everything behind it is imported again.
 *
 * The file is replaced as a whole, ends with a checksum of all before (that of cksum(1)), and is
 * locked by the process that works with it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define IMPORT_WINDOW (1u << 18) /* Most rows behind the mark. */

enum import_row_end { IMPORT_WAITING = 0, IMPORT_INSERTED, IMPORT_REJECTED, IMPORT_IGNORED };

/* What is imported into which table. Another id, major version or cluster is another table, with
   the same name: truncated, dropped and made anew, or of a cluster that has lost all its data
   since. It has none of the rows that the state counts. */
struct import_what {
    const char *path, *table;
    int fd; /* The open file. */
    uint64_t file_bytes;
    uint32_t table_id, table_major;
    uint64_t cluster; /* ndb_cluster_identity() */
    /* Checksum of the options that say which row a text is, and which rows are left out: with other
       ones the same place in the file is another row, or another number of rows. */
    uint32_t options;
    /* Rows that are left out by a run which --resume does not go on with: whoever goes on by
       --ignore-lines leaves them out, too. */
    uint64_t left_out;
};

/* All rows up to the mark are done. */
struct import_point {
    uint64_t mark;    /* Rows up to the mark, those ignored included. */
    uint64_t end_pos; /* Bytes of the file up to the mark. */
    uint64_t inserted, rejected;
    uint64_t greatest; /* Greatest number in the AUTO_INCREMENT column of rows in the table. */
    uint64_t epoch;    /* The newest of their commits is in it, or before; 0: it is not known. */
};

struct import_state {
    char path[4200]; /* <state-dir>/<file>.map; "": nothing is kept. */
    uint32_t run;    /* Number of this run, from 1. */
    struct import_point answered, durable;
    uint64_t limit;
    uint64_t doubt; /* The former run's limit: rows up to here may be in the table. */
    struct import_what what;
    bool complete; /* The whole file was read and answered, and is on disk or in memory. */
    bool memory;   /* It is complete in memory only: the cluster has no files. */
    bool cut;      /* The input has been made shorter, which is told. */
    int lock;      /* The locked file, -1: none. */
    uint64_t saved_ms;
    uint64_t saved_mark; /* The mark in the file. */
    uint64_t *ends; /* Where rows behind the mark end, by number % IMPORT_WINDOW. NULL: a pipe. */
    uint8_t *kinds; /* enum import_row_end of these rows, by number % IMPORT_WINDOW. */
};

#define IMPORT_CUT "it was made shorter since its import began"

/* Starts, or goes on where the state file says (`resume`). False: the reason is printed. The texts
   of `what` stay the caller's. */
bool import_state_begin(struct import_state *state, const char *directory, const char *name,
                        const struct import_what *what, bool resume);
/* Row `number` (from 1, in order) ends at this byte. */
void import_state_row(struct import_state *state, uint64_t number, uint64_t end_pos);
/* It is done; the mark may go on. */
void import_state_done(struct import_state *state, uint64_t number, enum import_row_end kind);
/* May the row behind `number` be read and sent? */
bool import_state_may_send(const struct import_state *state, uint64_t number);
/* What was answered up to `point`, a former state->answered, is on disk. */
void import_state_durable(struct import_state *state, const struct import_point *point);
/* The checksum of bytes that cksum(1) gives, for import_what.options. */
uint32_t import_checksum(const void *bytes, size_t count);
/* What is not on disk may be lost: the rows behind the durable point are to be sent again, those up
   to `number` with doubt. */
void import_state_rewind(struct import_state *state, uint64_t number);
/* Saves; rows up to `limit` may be sent then. False: the reason is printed. */
bool import_state_save(struct import_state *state, uint64_t limit, uint64_t now_ms);
/* The state file as it was when the import of a file ended. */
struct import_state_kept {
    bool kept; /* There is one; a pipe has none. */
    dev_t device;
    ino_t inode;
    struct timespec changed;
};

struct import_state_kept import_state_kept(const struct import_state *state);
/* Removes the state file if it is still that one; another import's stays. */
void import_state_remove(const char *directory, const char *name,
                         const struct import_state_kept *kept);
void import_state_free(struct import_state *state);

/* ---- Files ---- */

/* Has the path, with what links lead to, still this file? */
bool import_is_at(int fd, const char *path);
/* The directory of a path, "." of a mere name. */
void import_directory_of(const char *path, char *directory, size_t size);
/* So that a file has its name after a loss of power. False: errno tells. */
bool import_sync_directory_of(const char *path);
