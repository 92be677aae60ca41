/* io_threads.c -- the pool of I/O threads: queue, directory, what errno means. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "ndbmtd/io_threads.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "ndbmtd/io_private.h"

#define LOCK_TRIES 50 /* Times 100 ms: a former life of this node may still be ending. */

static const struct errno_meaning {
    int number;
    enum io_error error;
} meanings[] = {
    {ENOSPC, IO_FULL},         {EDQUOT, IO_QUOTA},
    {EFBIG, IO_TOO_LARGE},     {EIO, IO_DEVICE},
    {ENXIO, IO_DEVICE},        {ENODEV, IO_DEVICE},
    {EROFS, IO_READ_ONLY},     {EACCES, IO_DENIED},
    {EPERM, IO_DENIED},        {ENOENT, IO_MISSING},
    {EEXIST, IO_EXISTS},       {ENOTEMPTY, IO_EXISTS},
    {ENOTDIR, IO_BAD_PATH},    {EISDIR, IO_BAD_PATH},
    {ELOOP, IO_BAD_PATH},      {ENAMETOOLONG, IO_BAD_PATH},
    {EMFILE, IO_NO_RESOURCES}, {ENFILE, IO_NO_RESOURCES},
    {ENOMEM, IO_NO_RESOURCES},
};

void io_fail(struct io_request *request, int number)
{
    request->os_error = (uint32_t)number;
    request->error = IO_OTHER;
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        if (meanings[i].number == number) request->error = meanings[i].error;
    }
}

void io_tell_once(struct io_threads *io, atomic_uint *told, const char *format, const char *name)
{
    char text[256];
    if (atomic_exchange(told, 1) != 0) return;
    snprintf(text, sizeof text, "%s: %s", name, format);
    io->options.log(io->options.context, LOG_LEVEL_WARNING, text);
}

static bool has_file(uint32_t op)
{
    return op == IO_CLOSE || op == IO_READ || op == IO_WRITE || op == IO_SYNC ||
           op == IO_TRUNCATE || op == IO_PREALLOCATE;
}

static bool meets_fault(struct io_threads *io, struct io_request *request)
{
    if (io->options.fault == NULL || request->op == IO_CLOSE) return false;
    const char *name = has_file(request->op) ? io->file[request->file].name : request->name;
    int number = io->options.fault(io->options.context, request->op, name);
    if (number == 0) return false;
    io_fail(request, number);
    return true;
}

static void carry_out(struct io_threads *io, struct io_request *request)
{
    static void (*const operations[IO_OP_COUNT])(struct io_threads *, struct io_request *) = {
        [IO_OPEN] = io_do_open,     [IO_CLOSE] = io_do_close,
        [IO_READ] = io_do_read,     [IO_WRITE] = io_do_write,
        [IO_SYNC] = io_do_sync,     [IO_TRUNCATE] = io_do_truncate,
        [IO_RENAME] = io_do_rename, [IO_PREALLOCATE] = io_do_preallocate,
        [IO_REMOVE] = io_do_remove, [IO_LIST] = io_do_list,
    };
    if (request->op >= IO_OP_COUNT || operations[request->op] == NULL ||
        request->file > io->options.files_max) {
        io_fail(request, EINVAL);
        return;
    }
    if (meets_fault(io, request)) return;
    operations[request->op](io, request);
}

static struct io_request *take(struct io_threads *io)
{
    pthread_mutex_lock(&io->lock);
    while (io->first == NULL && !io->stopping)
        pthread_cond_wait(&io->work, &io->lock);
    struct io_request *request = io->first;
    if (request != NULL) io->first = request->next;
    if (io->first == NULL) io->last = NULL;
    pthread_mutex_unlock(&io->lock);
    return request;
}

static void *thread_main(void *argument)
{
    struct io_threads *io = argument;
    struct io_request *request;
    if (io->options.began != NULL) io->options.began(io->options.context);
    while ((request = take(io)) != NULL) {
        carry_out(io, request);
        io->options.done(io->options.context, request);
    }
    return NULL;
}

void io_threads_submit(struct io_threads *io, struct io_request *request)
{
    request->next = NULL;
    pthread_mutex_lock(&io->lock);
    if (io->last != NULL)
        io->last->next = request;
    else
        io->first = request;
    io->last = request;
    pthread_cond_signal(&io->work);
    pthread_mutex_unlock(&io->lock);
}

/* --- Begin and end. --- */

static int lock_directory(int fd)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) return 0;
        if (errno != EWOULDBLOCK)
            return 0; /* The file system knows no locks: then there is none. */
        struct timespec pause = {.tv_nsec = 100000000L};
        nanosleep(&pause, NULL);
    }
    return -1;
}

static int open_directory(struct io_threads *io, char *why, size_t why_size)
{
    const char *path = io->options.directory;
    if (mkdir(path, 0750) != 0 && errno != EEXIST) {
        snprintf(why, why_size, "%s cannot be made: %s; check FileSystemPath", path,
                 strerror(errno));
        return -1;
    }
    io->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (io->root < 0) {
        snprintf(why, why_size, "%s cannot be opened: %s; check FileSystemPath", path,
                 strerror(errno));
        return -1;
    }
    if (faccessat(io->root, ".", R_OK | W_OK | X_OK, 0) != 0) {
        snprintf(why, why_size, "%s cannot be written: %s; check FileSystemPath", path,
                 strerror(errno));
        return -1;
    }
    if (lock_directory(io->root) != 0) {
        snprintf(why, why_size, "%s is in use by another process; stop that one first", path);
        return -1;
    }
    return 0;
}

static void free_all(struct io_threads *io)
{
    for (uint32_t i = 0; io->file != NULL && i <= io->options.files_max; i++) {
        if (io->file[i].fd >= 0) close(io->file[i].fd);
    }
    if (io->root >= 0) close(io->root);
    free(io->file);
    free(io->zeros);
    pthread_mutex_destroy(&io->lock);
    pthread_cond_destroy(&io->work);
    free(io);
}

static int start_threads(struct io_threads *io)
{
    uint32_t wanted = io->options.threads == 0 ? IO_THREADS_DEFAULT : io->options.threads;
    if (wanted > IO_THREADS_MAX) wanted = IO_THREADS_MAX;
    for (uint32_t i = 0; i < wanted; i++) {
        char name[16];
        int error = pthread_create(&io->thread[i], NULL, thread_main, io);
        if (error != 0) return i > 0 ? 0 : error;
        snprintf(name, sizeof name, "ndb_io%u", i);
        pthread_setname_np(io->thread[i], name);
        io->thread_count++;
    }
    return 0;
}

struct io_threads *io_threads_create(const struct io_options *options, char *why, size_t why_size)
{
    struct io_threads *io = calloc(1, sizeof *io);
    void *zeros = NULL;
    snprintf(why, why_size, "not enough memory for files");
    if (io == NULL) return NULL;
    io->options = *options;
    io->root = -1;
    pthread_mutex_init(&io->lock, NULL);
    pthread_cond_init(&io->work, NULL);
    io->file = calloc((size_t)options->files_max + 1, sizeof *io->file);
    if (io->file == NULL || posix_memalign(&zeros, IO_ALIGN, IO_ZERO_BYTES) != 0) goto out;
    memset(zeros, 0, IO_ZERO_BYTES);
    io->zeros = zeros;
    for (uint32_t i = 0; i <= options->files_max; i++)
        io->file[i].fd = -1;
    signal(SIGXFSZ,
           SIG_IGN); /* A limit on file sizes is an error of the write, not the end of the node. */
    if (open_directory(io, why, why_size) != 0) goto out;
    int error = start_threads(io);
    if (error == 0) return io;
    snprintf(why, why_size, "no thread for files can be started: %s", strerror(error));
out:
    free_all(io);
    return NULL;
}

void io_threads_stop(struct io_threads *io)
{
    if (io == NULL) return;
    pthread_mutex_lock(&io->lock);
    io->stopping = true;
    pthread_cond_broadcast(&io->work);
    pthread_mutex_unlock(&io->lock);
    for (uint32_t i = 0; i < io->thread_count; i++)
        pthread_join(io->thread[i], NULL);
    free_all(io);
}
