/* import.h -- the parts of ndb_import: its settings, the input file, and loading one file. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/csv_row.h"
#include "tools/import_state.h"
#include "tools/tool_common.h"

struct import_settings {
    struct tool tool;
    struct csv_format format; /* As options set it. */
    /* Options have set them: the rest comes from the type. */
    bool field_end_set, line_end_set, quote_set, escape_set;
    const char *input_type; /* "csv", "tsv", NULL: by the file's name. */
    const char *columns;    /* "a,b,@skipped", NULL: all in table order. */
    const char *table;      /* NULL: by the file's name. */
    const char *null_text;  /* An unquoted field like this is NULL; NULL: none. */
    const char *rejects;    /* The file of rejected rows; NULL: <file>.rej in state_dir. */
    uint64_t ignore_lines;
    uint64_t rows_max;
    uint64_t rejects_max;   /* So many rejected rows are no failure. */
    uint32_t outstanding;   /* Rows on their way at a time. */
    uint32_t temporary_max; /* Tries of one row. */
    uint32_t temporary_delay_ms;
    uint32_t monitor_s; /* Seconds between two progress lines; 0: none. */
    bool keep_going;    /* --continue: the next file is loaded after one that has failed. */
    bool missing_ai;    /* The files lack the AUTO_INCREMENT column: it gets numbers by these. */
    struct ndb_increment_options numbers;
    bool resume;
    bool keep_state;
    const char *state_dir; /* Directory of <file>.map, <file>.rej and, with `stats`, <file>.stt. */
    bool stats;
};

/* ---- Input: a file as a window that always holds whole rows ---- */

struct import_input {
    int fd;
    char *buffer;
    size_t start, used, room;         /* Unread bytes are buffer[start .. used). */
    uint64_t bytes_read, bytes_total; /* Total 0: not known (a pipe). */
    bool at_end;
    bool no_row;  /* The unread bytes are known to be no whole row. */
    bool regular; /* A file by its name: it can be read again. */
    bool cut;     /* It has ended before the end that it had when it was opened. */
};

/* "-" is standard input. False: errno tells. */
bool import_input_open(struct import_input *input, const char *path);
/* Goes on at byte `position` of a file. False: errno tells. */
bool import_input_seek(struct import_input *input, uint64_t position);
/* Where the row after the last one begins. */
uint64_t import_input_position(const struct import_input *input);
/* The next row; fields live until the next call. 1, 0 at the end, -1: *problem tells why not, also
   that a wait for a pipe was interrupted; IMPORT_NO_ROW_YET of a pipe that has had none for so
   long; -1: waits for ever. */
int import_input_row(struct import_input *input, const struct csv_format *format, int wait_ms,
                     struct csv_row *row, const char **raw, const char **problem);
#define IMPORT_NO_ROW_YET 2
void import_input_close(struct import_input *input);

/* ---- Ctrl-C and SIGTERM ---- */

/* From now on the first one is noted; another one ends the program. One that is ignored still is. */
void import_interrupts_begin(void);
/* The number of the signal that has come; 0: none. */
int import_interrupted(void);
/* Waits so long, -1: for ever, for something to be read, or the end: positive; 0: not yet; -1:
   errno tells, EINTR that it was interrupted. */
int import_readable(int fd, int wait_ms);
#define IMPORT_PATIENCE_MS 2000 /* After an interruption, with who does not read on. */
/* Waits until something may be written, and does `meanwhile` some times a second then; NULL: nothing.
   False: errno tells, ECANCELED that it was interrupted, and nobody has read on since. */
bool import_writable(int fd, void (*meanwhile)(void *context), void *context);

/* ---- Loading ---- */

struct import_totals {
    uint64_t rows, rejected, retries, bytes; /* What this run has done. */
    uint64_t rows_before, rejected_before;   /* What the runs have done that it goes on with. */
    uint32_t run;                            /* Number of this run, from 1. */
    bool began;                              /* The file and the table are there. */
    bool complete;                           /* The whole file is done, in this run or before. */
    bool rejects_lost;                       /* Not all that were rejected are in the file. */
    bool rejects_opened;            /* Who reads this pipe sees its end, or was waited for. */
    bool on_disk;                   /* Its rows survive the loss of all data nodes. */
    bool interrupted;               /* By a signal, which has told the totals. */
    struct import_state_kept state; /* What --resume of it would read. */
    double seconds;
};

/* What the options have not set of the format comes from the type of this file. */
void import_complete_format(struct import_settings *import, const char *path);

/* Loads one file into `table_name` ("database/table"), with the state file of `state_name`. TOOL_OK
 * when every row is in the table; else why not is on standard error. Totals are filled in any case. */
int import_load(struct import_settings *settings, const char *path, const char *table_name,
                const char *state_name, const char *rejects_path, struct import_totals *totals);

/* ---- Statistics: <file>.stt ---- */

/* Their names, which begin the lines of a run. */
#define IMPORT_SERIES_ROW  "row-microseconds"
#define IMPORT_SERIES_RATE "rows-per-second"

struct import_series {
    const char *name;
    uint64_t count;
    double sum, mean, squares, min, max;
};
/* A file in their place that is somebody else's: false, and that is printed. */
bool import_series_begin(const char *directory, const char *name);
void import_series_add(struct import_series *series, double value);
/* Adds a line per series. False: the reason is printed. */
bool import_series_write(const char *directory, const char *name, uint32_t run,
                         const struct import_series *series, uint32_t count);
