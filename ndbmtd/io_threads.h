/* io_threads.h -- the node's files on the operating system: a few threads that carry out NDBFS'
 * requests. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stddef.h>
#include "kernel/host.h"

/*
 * Own threads rather than libuv's: its pool answers on the thread that owns the sockets (one more
 * hop for each log write), and it knows neither openat() below a directory, nor O_DIRECT with its
 * alignment, nor fallocate().
 *
 * All paths are below one directory, which is opened once; no symbolic link below it is followed.
 * The directory is locked against a second process.
 */
struct io_options {
    const char *directory; /* Made when it is missing; its parent must be there. */
    uint32_t threads;      /* I/O threads; 0 = the default. */
    uint32_t files_max;    /* Handles are 0..files_max. */
    void (*done)(void *context, struct io_request *request); /* Called from an I/O thread. */
    /* Called from any thread. */
    void (*log)(void *context, enum log_level level, const char *text);
    void (*began)(void *context); /* Called on each I/O thread, first of all. May be NULL. */
    void *context;
    /* Tests: an errno that this operation meets instead of being carried out, 0 = none. May be
     * NULL. */
    int (*fault)(void *context, enum io_op op, const char *name);
};

struct io_threads;

/* Opens and locks the directory, starts the threads. NULL with a sentence in `why`. SIGXFSZ is
 * ignored from then on. */
struct io_threads *io_threads_create(const struct io_options *options, char *why, size_t why_size);

/* Takes over a request. Any thread; never blocks for long. */
void io_threads_submit(struct io_threads *io, struct io_request *request);

/* Carries out what was submitted, ends the threads, closes everything. */
void io_threads_stop(struct io_threads *io);
