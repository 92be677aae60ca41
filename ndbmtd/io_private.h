/* io_private.h -- what the files of the I/O threads share. Private to ndbmtd/io_*.c. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "ndbmtd/io_threads.h"

#define IO_THREADS_DEFAULT 4u
#define IO_THREADS_MAX     32u
#define IO_ZERO_BYTES      (1024u * 1024u)

struct io_file {
    int fd; /* File descriptor; -1 = not open. */
    bool direct;
    char name[IO_NAME_MAX];
};

struct io_threads {
    struct io_options options;
    int root;
    struct io_file *file; /* A handle's entry is touched by one request at a time. */
    uint8_t *zeros;       /* IO_ZERO_BYTES, aligned. */
    pthread_t thread[IO_THREADS_MAX];
    uint32_t thread_count;
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct io_request *first;
    struct io_request *last;
    bool stopping;
    atomic_uint told_direct; /* "O_DIRECT is not to be had" stands in the log once. */
    atomic_uint told_zeros;
};

/* Sets the request's error from errno. */
void io_fail(struct io_request *request, int number);
void io_tell_once(struct io_threads *io, atomic_uint *told, const char *format, const char *name);

/* --- io_data.c --- */
void io_do_read(struct io_threads *io, struct io_request *request);
void io_do_write(struct io_threads *io, struct io_request *request);
void io_do_sync(struct io_threads *io, struct io_request *request);
void io_do_truncate(struct io_threads *io, struct io_request *request);
void io_do_preallocate(struct io_threads *io, struct io_request *request);

/* --- io_names.c --- */
void io_do_open(struct io_threads *io, struct io_request *request);
void io_do_close(struct io_threads *io, struct io_request *request);
void io_do_rename(struct io_threads *io, struct io_request *request);
void io_do_remove(struct io_threads *io, struct io_request *request);
void io_do_list(struct io_threads *io, struct io_request *request);

/*
 * Opens the directory above the last component of `path`, which *leaf then names, without following
 * links; makes missing ones when `make` is set. A descriptor to close, or -1 with errno.
 */
int io_parent(const struct io_threads *io, const char *path, bool make, const char **leaf);

/* --- io_tree.c --- */
/* Removes up to IO_TREE_STEP entries at and below `name` of the directory `parent`; name "" = all
 * below it. */
int io_tree_step(int parent, const char *name, struct io_request *request);
