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
    if (S_ISREG(status.st_mode)) input->bytes_total = (uint64_t)status.st_size;
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

/* Moves the unread bytes to the front, makes room and reads more. NULL, or what is wrong. */
static const char *fill(struct import_input *input)
{
    memmove(input->buffer, input->buffer + input->start, input->used - input->start);
    input->used -= input->start;
    input->start = 0;
    if (input->used == input->room) {
        if (input->room >= WINDOW_MAX) return "a row is longer than 64 MB: is a quote left open?";
        char *grown = realloc(input->buffer, input->room * 2);
        if (grown == NULL) return "out of memory";
        input->buffer = grown;
        input->room *= 2;
    }
    ssize_t got;
    do {
        got = read(input->fd, input->buffer + input->used, input->room - input->used);
    } while (got < 0 && errno == EINTR);
    /* Another program reads it, too, and has not waited, which goes for all of them. */
    if (got < 0 && errno == EAGAIN) return NULL;
    if (got < 0) return strerror(errno);
    if (got == 0) input->at_end = true;
    input->no_row = false;
    input->used += (size_t)got;
    input->bytes_read += (uint64_t)got;
    return NULL;
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
        int ready = input->regular ? 1 : import_readable(input->fd, wait_ms);
        if (ready == 0) return IMPORT_NO_ROW_YET;
        *problem = ready > 0 ? fill(input) : "interrupted";
        if (*problem != NULL) return -1;
    }
}
