/* log_follow.c -- opens the file that has the name of a log now, when the old one was moved away. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "service/log_follow.h"
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

void log_follow(int fd, const char *path)
{
    struct stat old;
    struct stat named;
    struct stat standard;

    if (fstat(fd, &old) != 0) return;
    if (stat(path, &named) == 0 && same_file(&old, &named)) return;
    int new_fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, old.st_mode & 0666);
    if (new_fd < 0) return;
    for (int i = STDOUT_FILENO; i <= STDERR_FILENO; i++) {
        if (i != fd && fstat(i, &standard) == 0 && same_file(&old, &standard))
            (void)dup2(new_fd, i);
    }
    (void)dup3(new_fd, fd, fd > STDERR_FILENO ? O_CLOEXEC : 0);
    (void)close(new_fd);
}
