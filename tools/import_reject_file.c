/* import_reject_file.c -- the file of rejected rows: it is appended to, and shortened. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/import_reject_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define LINKS_MAX 40 /* The kernel follows no more of them either. */

/* ---- Streams ---- */

/* Closes without a change of errno, which tells why. */
static void close_as_it_is(int fd)
{
    int error = errno;

    (void)close(fd);
    errno = error;
}

/* The descriptor of standard output or error that is this file; -1: neither is. */
static int standard_stream(const struct stat *file)
{
    struct stat status;

    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fstat(fd, &status) == 0 && status.st_ino == file->st_ino &&
            status.st_dev == file->st_dev)
            return fd;
    }
    return -1;
}

/* Is it a name in /proc, or does a link lead to one? There the descriptors of processes are, by
 * links that lead to a file of another name, or of none. */
static bool is_in_proc(const char *path)
{
    char name[PATH_MAX];
    char link[PATH_MAX];
    char directory[PATH_MAX];
    struct statfs system;

    (void)snprintf(name, sizeof(name), "%s", path);
    for (int links = 0; links < LINKS_MAX; links++) {
        const char *slash = strrchr(name, '/');
        (void)snprintf(directory, sizeof(directory), "%.*s/",
                       slash == NULL ? 1 : (int)(slash - name), slash == NULL ? "." : name);
        if (statfs(directory, &system) == 0 && system.f_type == PROC_SUPER_MAGIC) return true;
        ssize_t size = readlink(name, link, sizeof(link) - 1);
        if (size < 0) return false; /* It is no link. */
        link[size] = '\0';
        int whole = snprintf(name, sizeof(name), "%s%s", link[0] == '/' ? "" : directory, link);
        if (whole >= (int)sizeof(name)) return false;
    }
    return false;
}

static bool is_stream(const char *path)
{
    struct stat status;

    if (stat(path, &status) != 0) return false;
    return !S_ISREG(status.st_mode) || standard_stream(&status) >= 0 || is_in_proc(path);
}

/* ---- Opening ---- */

FILE *import_reject_file_open(const char *path)
{
    struct stat status;
    int standard = stat(path, &status) == 0 ? standard_stream(&status) : -1;
    /* Messages go to the same place: with a position of its own one would write over the other. */
    int fd = standard >= 0 ? fcntl(standard, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                           : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);

    if (fd < 0) return NULL;
    if (is_stream(path) || flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
        FILE *file = fdopen(fd, "w"); /* It is not made empty by that. */
        if (file != NULL) return file;
    }
    close_as_it_is(fd);
    return NULL;
}

/* ---- Shortening ---- */

static bool copy_up_to(FILE *in, FILE *out, uint64_t mark)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    bool good = true;

    errno = 0;
    while (good && (size = getline(&line, &room, in)) > 0) {
        if (line[size - 1] != '\n' || strtoull(line, NULL, 10) > mark) continue;
        good = fwrite(line, 1, (size_t)size, out) == (size_t)size;
    }
    int error = errno;
    free(line);
    errno = error;
    return good && feof(in) != 0; /* What could not be read is not to be lost. */
}

/* The file as it was, or without what is behind the mark, whatever happens meanwhile. */
static bool trim_file(const char *path, uint64_t mark)
{
    char new_path[PATH_MAX + 8];
    struct stat status;

    (void)snprintf(new_path, sizeof(new_path), "%s.new", path);
    FILE *in = fopen(path, "r");
    FILE *out = in == NULL ? NULL : fopen(new_path, "w");
    bool good = out != NULL && fstat(fileno(in), &status) == 0 &&
                fchmod(fileno(out), status.st_mode & 07777u) == 0 && copy_up_to(in, out, mark) &&
                fflush(out) == 0 && fsync(fileno(out)) == 0;
    int error = errno;
    if (in != NULL) (void)fclose(in);
    if (out != NULL && fclose(out) != 0 && good) {
        good = false;
        error = errno;
    }
    if (good && rename(new_path, path) == 0) return true;
    if (good) error = errno;
    if (out != NULL) (void)unlink(new_path);
    errno = error;
    return false;
}

bool import_reject_file_trim(const char *path, uint64_t mark)
{
    if (is_stream(path)) return true;
    char *file = realpath(path, NULL); /* A link stays one. */
    if (file == NULL) return errno == ENOENT;
    int fd = open(file, O_RDWR | O_CLOEXEC);
    /* Another import that writes to it would go on in a file without a name. */
    bool good = fd >= 0 && (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
                (mark == 0 ? ftruncate(fd, 0) == 0 : trim_file(file, mark));
    if (fd >= 0) close_as_it_is(fd);
    int error = errno;
    free(file);
    errno = error;
    return good;
}
