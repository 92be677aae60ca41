/* mgmd_lock.c -- the lock that keeps a second server from the first one's files. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file ndb_<id>_lock beside the kept configurations is locked as long as the server lives; a
 * killed one leaves the file behind, but no lock. It has the server's process id, and is empty
 * while the server ends, and for a moment before it has written that. It is removed at the end, so
 * a lock counts only when the file still has its name.
 */
#include "mgmd/mgmd_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_TRIES 50 /* Times 100 ms: a former server may still be ending. */

static bool is_named(const struct mgmd_lock *lock)
{
    struct stat ours;
    struct stat named;

    return fstat(lock->fd, &ours) == 0 && stat(lock->path, &named) == 0 &&
           ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

static void close_lock(struct mgmd_lock *lock)
{
    int error = errno;

    (void)close(lock->fd);
    lock->fd = 0;
    errno = error;
}

/* 0, or -1 with errno; when another process has the lock (EWOULDBLOCK), its id, 0: not known. */
static int try_lock(struct mgmd_lock *lock, long *holder)
{
    char text[24] = "";

    for (;;) {
        lock->fd = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
        if (lock->fd < 0) {
            lock->fd = 0;
            return -1;
        }
        if (flock(lock->fd, LOCK_EX | LOCK_NB) != 0) {
            int error = errno;
            if (pread(lock->fd, text, sizeof(text) - 1, 0) > 0) *holder = strtol(text, NULL, 10);
            errno = error;
            if (error == EWOULDBLOCK) close_lock(lock);
            return -1;
        }
        if (is_named(lock)) return 0;
        close_lock(lock); /* Its former owner has removed it. */
    }
}

static void write_process_id(const struct mgmd_lock *lock)
{
    char text[24];
    int length = snprintf(text, sizeof(text), "%ld\n", (long)getpid());

    /* It is only for messages. */
    if (ftruncate(lock->fd, 0) == 0) (void)!pwrite(lock->fd, text, (size_t)length, 0);
}

/* What other processes may do is not known. Where this one may not write it changes nothing, and
 * needs no lock. */
static void warn(const struct mgmd_lock *lock, const char *directory, int error, char *why,
                 size_t size)
{
    if (lock->fd == 0 && access(directory, W_OK) != 0) return;
    (void)snprintf(why, size,
                   "%s cannot be locked: %s; nothing keeps a second server from these files",
                   lock->path, strerror(error));
}

int mgmd_lock_take(struct mgmd_lock *lock, const char *directory, uint32_t node, char *why,
                   size_t size)
{
    const struct timespec pause = {.tv_nsec = 100000000L};
    char process[40] = "";
    long holder = 0;

    why[0] = '\0';
    (void)snprintf(lock->path, sizeof(lock->path), "%sndb_%u_lock", directory, node);
    for (int i = 0; i < LOCK_TRIES && holder == 0; i++) {
        if (i > 0) (void)nanosleep(&pause, NULL);
        if (try_lock(lock, &holder) == 0) {
            write_process_id(lock);
            return 0;
        }
        if (errno == EWOULDBLOCK) continue;
        warn(lock, directory, errno, why, size);
        return 0;
    }
    if (holder > 0) (void)snprintf(process, sizeof(process), " (process %ld)", holder);
    (void)snprintf(why, size,
                   "%s is in use by another management server with the node id %u%s; stop that one "
                   "first, or name another directory with --config-dir",
                   directory, node, process);
    return -1;
}

void mgmd_lock_ends(struct mgmd_lock *lock)
{
    if (lock->fd > 0) (void)!ftruncate(lock->fd, 0);
}

void mgmd_lock_free(struct mgmd_lock *lock)
{
    if (lock->fd <= 0) return;
    if (is_named(lock)) (void)unlink(lock->path);
    close_lock(lock);
}
