/* import_input.c -- reads an import's file through a window that grows to the longest row. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/import.h"

#define WINDOW_START (1u << 20)
#define WINDOW_MAX   (64u << 20) /* No row of a table is near it: a quote was left open. */

bool import_input_open(struct import_input *input, const char *path)
{
    struct stat status;

    *input = (struct import_input){.fd = STDIN_FILENO, .room = WINDOW_START};
    /* Who will write to a pipe is waited for where a signal can end the wait. */
    if (strcmp(path, "-") != 0) input->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (input->fd < 0) return false;
    if (input->fd != STDIN_FILENO) (void)fcntl(input->fd, F_SETFL, O_RDONLY);
    bool known = fstat(input->fd, &status) == 0;
    if (!known || S_ISDIR(status.st_mode)) {
        int error = known ? EISDIR : errno;
        import_input_close(input);
        errno = error;
        return false;
    }
    /* Somebody may have read the begin of standard input. */
    off_t from = S_ISREG(status.st_mode) ? lseek(input->fd, 0, SEEK_CUR) : -1;
    if (from >= 0 && from < status.st_size) input->bytes_total = (uint64_t)(status.st_size - from);
    input->regular = S_ISREG(status.st_mode) && input->fd != STDIN_FILENO;
    input->buffer = malloc(input->room);
    if (input->buffer == NULL) {
        import_input_close(input);
        errno = ENOMEM;
        return false;
    }
    return true;
}

bool import_input_seek(struct import_input *input, uint64_t position)
{
    if (position > input->bytes_total || lseek(input->fd, (off_t)position, SEEK_SET) < 0)
        return false;
    input->start = 0;
    input->used = 0;
    input->bytes_read = position;
    input->at_end = false; /* It may have been read to its end before. */
    input->no_row = false;
    return true;
}

uint64_t import_input_position(const struct import_input *input)
{
    return input->bytes_read - (input->used - input->start);
}

void import_input_close(struct import_input *input)
{
    free(input->buffer);
    input->buffer = NULL;
    if (input->fd > STDIN_FILENO) (void)close(input->fd);
    input->fd = -1;
}

/* Moves the unread bytes to the front, makes room and reads more. 1, or -1: *problem tells. */
static int fill(struct import_input *input, const char **problem)
{
    memmove(input->buffer, input->buffer + input->start, input->used - input->start);
    input->used -= input->start;
    input->start = 0;
    if (input->used == input->room) {
        char *grown = input->room >= WINDOW_MAX ? NULL : realloc(input->buffer, input->room * 2);
        *problem = input->room >= WINDOW_MAX ? "a row is longer than 64 MB: is a quote left open?"
                                             : "out of memory";
        if (grown == NULL) return -1;
        input->buffer = grown;
        input->room *= 2;
    }
    ssize_t got;
    do {
        got = read(input->fd, input->buffer + input->used, input->room - input->used);
    } while (got < 0 && errno == EINTR);
    *problem = NULL;
    /* Another program reads it, too, and has not waited, which goes for all of them. */
    if (got < 0 && errno == EAGAIN) return 1;
    if (got < 0) *problem = strerror(errno);
    input->cut = got == 0 && input->bytes_read < input->bytes_total;
    if (input->cut) *problem = IMPORT_CUT;
    if (*problem != NULL) return -1;
    if (got == 0) input->at_end = true;
    input->no_row = false;
    input->used += (size_t)got;
    input->bytes_read += (uint64_t)got;
    return 1;
}

/* The same, and more of a long row if it is there: each look at a row begins with its first byte,
 * and a pipe has 64 KB at a time. */
static int fill_from_pipe(struct import_input *input, int wait_ms, const char **problem)
{
    size_t enough = input->used - input->start;
    int ready = import_readable(input->fd, wait_ms);

    if (ready == 0) return IMPORT_NO_ROW_YET;
    enough += enough / 2;
    if (enough > WINDOW_MAX) enough = WINDOW_MAX;
    do {
        if (ready > 0 && fill(input, problem) < 0) return -1;
        if (ready < 0) *problem = errno == EINTR ? "interrupted" : strerror(errno);
        if (ready < 0) return -1;
        if (input->used >= enough || input->at_end || input->no_row) return 1;
        ready = import_readable(input->fd, 0);
    } while (ready != 0);
    return 1;
}

int import_input_row(struct import_input *input, const struct csv_format *format, int wait_ms,
                     struct csv_row *row, const char **raw, const char **problem)
{
    for (;;) {
        const char *text = input->buffer + input->start;
        size_t size = input->used - input->start;
        int64_t step = input->no_row ? 0 : csv_row_read(row, format, text, size, input->at_end);
        if (step < 0) {
            *problem = "out of memory";
            return -1;
        }
        if (step > 0) {
            input->start += (size_t)step;
            *raw = text;
            return 1;
        }
        if (input->at_end) return 0;
        input->no_row = true;
        int got = input->regular ? fill(input, problem) : fill_from_pipe(input, wait_ms, problem);
        if (got != 1) return got;
    }
}
