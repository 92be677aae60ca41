/* import_reject_file.h -- the file of rejected rows: it is appended to, and shortened. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A stream that the path leads to is only written to: a device or pipe, whatever a descriptor of a
 * process (/dev/stderr, /proc/self/fd/N) leads to, and what this program's messages go to. What
 * stands there is not the import's alone.
 *
 * Any other file is locked from the begin of the load, or from when the load makes it, to its end:
 * an import that has rejected nothing yet would else empty what another one has written meanwhile.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct import_reject_file {
    const char *path;
    FILE *file;    /* NULL: it was not there yet, or is a stream that has no row yet. */
    uint64_t rows; /* That the last import_reject_file_trim() has left; UINT64_MAX: not known. */
    /* What is done behind each piece that is written to a stream, and some times a second while its
       reader is waited for; NULL: nothing. */
    void (*meanwhile)(void *context);
    void *context;
    char failed[PATH_MAX + 8]; /* What else an operation has failed with; "": the file itself. */
};

/* All return false when they have failed: errno tells why, EWOULDBLOCK that another import writes
   to the file, EEXIST that it has rows of another one, which has made it since the load began,
   EBADMSG that it is none of rejected rows, and would lose what it has, ENXIO that nobody reads the
   pipe, ESTALE that somebody has removed or replaced it, with the rows it had, ECANCELED that the
   program was interrupted, and who reads the stream has not read on since. */

/* Opens and locks the file that is there, if it may be written to; opens a pipe. */
bool import_reject_file_begin(struct import_reject_file *file);
/* To append to it; a file that is not there is made. */
bool import_reject_file_open(struct import_reject_file *file);
/* Appends a row, `now`: before this returns. A row of a stream, which may have to be waited for,
   always is written at once. */
bool import_reject_file_write(struct import_reject_file *file, const char *row, size_t size,
                              bool now);
/* Is what was opened not the import's alone? Nothing of it can be taken back. */
bool import_reject_file_is_stream(const struct import_reject_file *file);
/* Is what was opened still what the path leads to? */
bool import_reject_file_is_there(struct import_reject_file *file);
/* Removes what was rejected behind the mark: it will be again. False: the file is as it was. */
bool import_reject_file_trim(struct import_reject_file *file, uint64_t mark);
/* How many rows it has behind row `after`. False: it is not known, or somebody has removed or
 * replaced it. */
bool import_reject_file_count(struct import_reject_file *file, uint64_t after, uint64_t *rows);

#define IMPORT_READER_TRIES 19u /* To find a reader of a pipe, with 100 ms behind each. */

/* Whoever reads a pipe of this path, to which nothing will be written, sees the end of it, also
 * who comes later, as long as *tries last: several pipes share them. */
void import_reject_pipe_end(const char *path, uint32_t *tries);
/* False: not all that was written is in the file. */
bool import_reject_file_end(struct import_reject_file *file);
