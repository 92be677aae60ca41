/* bench_fs.c -- log syncs per second: growing through the page cache against preallocated and
 * direct. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "ndbmtd/io_threads.h"

/*
 * usage: bench_fs [DIRECTORY [SECONDS]]
 * Each write is 4 KB with a sync behind it, one at a time, as a redo log with one waiting
 * transaction does it; all through the node's own I/O threads. Last line: the ratio.
 */
#define WRITE_BYTES 4096u
#define FILE_BYTES  (64u * 1024u * 1024u)

struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t wakeup;
    bool done;
};

static void on_done(void *context, struct io_request *request)
{
    struct waiter *waiter = context;
    (void)request;
    pthread_mutex_lock(&waiter->lock);
    waiter->done = true;
    pthread_cond_signal(&waiter->wakeup);
    pthread_mutex_unlock(&waiter->lock);
}

static void on_log(void *context, enum log_level level, const char *text)
{
    (void)context;
    (void)level;
    fprintf(stderr, "%s\n", text);
}

static void run(struct io_threads *io, struct waiter *waiter, struct io_request *request)
{
    request->done = 0;
    waiter->done = false;
    io_threads_submit(io, request);
    pthread_mutex_lock(&waiter->lock);
    while (!waiter->done)
        pthread_cond_wait(&waiter->wakeup, &waiter->lock);
    pthread_mutex_unlock(&waiter->lock);
    if (request->error == IO_GOOD) return;
    fprintf(stderr, "%s: %s (%s)\n", io_op_name(request->op), io_error_name(request->error),
            strerror((int)request->os_error));
    exit(1);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

struct mode {
    const char *name;
    uint32_t flags;
    bool preallocated;
};

/* Writes with a sync each per second. */
static double measure(struct io_threads *io, struct waiter *waiter, const struct mode *mode,
                      double seconds, uint8_t *bytes)
{
    static double took[1000000];
    uint32_t count = 0;
    struct io_request request = {
        .op = IO_OPEN, .flags = IO_READABLE | IO_WRITABLE | IO_CREATE | IO_EMPTY | mode->flags};
    snprintf(request.name, sizeof request.name, "bench.log");
    run(io, waiter, &request);
    if (mode->preallocated) {
        request = (struct io_request){.op = IO_PREALLOCATE, .flags = IO_ZERO, .size = FILE_BYTES};
        run(io, waiter, &request);
        request = (struct io_request){.op = IO_SYNC};
        run(io, waiter, &request);
    }
    double begin = now();
    double last = begin;
    while (last - begin < seconds && count < sizeof took / sizeof took[0]) {
        uint64_t offset = (uint64_t)count * WRITE_BYTES;
        request = (struct io_request){.op = IO_WRITE, .flags = IO_THEN_SYNC, .piece_count = 1};
        request.offset = mode->preallocated ? offset % FILE_BYTES : offset; /* A log goes round. */
        request.piece[0] = (struct io_piece){.memory = bytes, .size = WRITE_BYTES};
        run(io, waiter, &request);
        double at = now();
        took[count++] = at - last;
        last = at;
    }
    request = (struct io_request){.op = IO_CLOSE};
    run(io, waiter, &request);
    request = (struct io_request){.op = IO_REMOVE};
    snprintf(request.name, sizeof request.name, "bench.log");
    run(io, waiter, &request);
    qsort(took, count, sizeof took[0], by_size);
    double rate = count / (last - begin);
    printf("%-24s %8.0f syncs/s   p50 %6.0f us   p99 %6.0f us\n", mode->name, rate,
           took[count / 2] * 1e6, took[count - 1 - count / 100] * 1e6);
    return rate;
}

int main(int argc, char **argv)
{
    static const struct mode modes[] = {
        {"buffered, growing", 0, false},
        {"direct, growing", IO_DIRECT, false},
        {"buffered, preallocated", 0, true},
        {"direct, preallocated", IO_DIRECT, true},
    };
    struct waiter waiter = {.done = false};
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 2;
    char why[512];
    uint8_t *bytes = aligned_alloc(IO_ALIGN, WRITE_BYTES);
    pthread_mutex_init(&waiter.lock, NULL);
    pthread_cond_init(&waiter.wakeup, NULL);
    struct io_options options = {
        .directory = argc > 1 ? argv[1] : "bench_fs.tmp",
        .files_max = 1,
        .done = on_done,
        .log = on_log,
        .context = &waiter,
    };
    struct io_threads *io = io_threads_create(&options, why, sizeof why);
    if (io == NULL || bytes == NULL) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    memset(bytes, 0x5A, WRITE_BYTES);
    double first = 0;
    double rate = 0;
    for (uint32_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        rate = measure(io, &waiter, &modes[i], seconds, bytes);
        if (i == 0) first = rate;
    }
    printf("ratio: %.1f\n", rate / first);
    io_threads_stop(io);
    rmdir(options.directory);
    free(bytes);
    return 0;
}
