/* mgmd_lock.c -- the lock that keeps a second server from the first one's files. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file ndb_<id>_lock beside the kept configurations is locked as long as the server lives; a
 * killed one leaves the file behind, but no lock. It has the server's process id, and is empty
 * while the server ends; for a moment before that is written it has that of a killed one, or
 * nothing. It is removed at the end, so a lock counts only when the file still has its name. What
 * has the name and is no such file is somebody else's, and stays as it is.
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

/* The process id in the file, 0: none. False: it is not a file that a server has made. */
static bool read_process_id(const struct mgmd_lock *lock, long *holder)
{
    char text[24];
    struct stat status;

    if (fstat(lock->fd, &status) != 0 || !S_ISREG(status.st_mode)) return false;
    ssize_t size = pread(lock->fd, text, sizeof(text), 0);
    if (size == (ssize_t)sizeof(text)) return false;
    text[size < 0 ? 0 : size] = '\0';
    for (ssize_t i = 0; i < size; i++) /* Zeros: the host has lost its power. */
        if (text[i] != '\0' && strchr("0123456789\n", text[i]) == NULL) return false;
    *holder = strtol(text, NULL, 10);
    return true;
}

enum tried { LOCKED, HELD, NOT_OPENED, NOT_LOCKED, NOT_OURS };

/* HELD: another process has the lock, and its id if that is known. Other failures have errno. There
 * is a descriptor only with LOCKED. */
static enum tried try_lock(struct mgmd_lock *lock, long *holder)
{
    for (;;) {
        /* A link would lead to a file of somebody else; a pipe would be waited for. */
        lock->fd = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640);
        if (lock->fd < 0) {
            lock->fd = 0;
            return NOT_OPENED;
        }
        bool ours = read_process_id(lock, holder);
        bool locked = ours && flock(lock->fd, LOCK_EX | LOCK_NB) == 0;
        if (locked && is_named(lock)) return LOCKED;
        close_lock(lock);
        if (!ours) return NOT_OURS;
        if (!locked) return errno == EWOULDBLOCK ? HELD : NOT_LOCKED;
        /* Its former owner has removed it. */
    }
}

static void write_process_id(const struct mgmd_lock *lock)
{
    char text[24];
    int length = snprintf(text, sizeof(text), "%ld\n", (long)getpid());

    /* It is only for messages. */
    if (ftruncate(lock->fd, 0) == 0) (void)!pwrite(lock->fd, text, (size_t)length, 0);
}

/* There is no lock. 0: the server goes on without one, perhaps with a warning; -1: it does not; 1:
 * what was in its way is gone, so it tries again, but for the `last` time. */
static int go_without(const struct mgmd_lock *lock, const char *directory, enum tried tried,
                      bool last, char *why, size_t size)
{
    int error = errno;
    struct stat status;
    bool there = lstat(lock->path, &status) == 0;
    bool rights = error == EACCES || error == EPERM;

    if (there && (tried == NOT_OURS || (tried == NOT_OPENED && !S_ISREG(status.st_mode)))) {
        (void)snprintf(why, size,
                       "%s is in the way: it is not the lock file of a management server; remove "
                       "it, or name another directory with --config-dir",
                       lock->path);
        return -1;
    }
    /* A file of another user's server, which may run. */
    if (there && tried == NOT_OPENED && rights) {
        (void)snprintf(why, size,
                       "%s cannot be opened: %s; another user's management server with the node id "
                       "has made it: stop that one, or remove the file if it does not run",
                       lock->path, strerror(error));
        return -1;
    }
    /* Where this server may not write it changes nothing, and needs no lock. */
    if (tried == NOT_OPENED && access(directory, W_OK) != 0) return 0;
    /* Behind a link, say, another server's file may stand there by now. */
    bool no_file = tried == NOT_OPENED && (error == ELOOP || error == EISDIR || error == ENXIO);
    bool gone = no_file || (!there && (tried == NOT_OURS || rights));
    if (gone && !last) return 1;
    (void)snprintf(why, size,
                   "%s cannot be locked: %s; nothing keeps a second server from these files",
                   lock->path, strerror(error));
    return no_file ? -1 : 0;
}

int mgmd_lock_take(struct mgmd_lock *lock, const char *directory, uint32_t node, char *why,
                   size_t size)
{
    const struct timespec pause = {.tv_nsec = 100000000L};
    char process[40] = "";
    long holder = 0;
    long before = -1;

    why[0] = '\0';
    (void)snprintf(lock->path, sizeof(lock->path), "%sndb_%u_lock", directory, node);
    /* Twice the same process: the first may be a killed one that the file still has. */
    for (int i = 0; i < LOCK_TRIES && (holder == 0 || holder != before); i++) {
        if (i > 0) (void)nanosleep(&pause, NULL);
        before = holder;
        enum tried tried = try_lock(lock, &holder);
        if (tried == LOCKED) {
            write_process_id(lock);
            return 0;
        }
        if (tried == HELD) continue;
        int without = go_without(lock, directory, tried, i + 1 == LOCK_TRIES, why, size);
        if (without <= 0) return without;
        holder = 0;
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
