/* import_reject_file.c -- the file of rejected rows: it is appended to, and shortened. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/import_reject_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "service/path_in_proc.h"
#include "tools/import.h"

/* ---- Streams ---- */

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

static bool is_shared(const struct stat *status, const char *path)
{
    return !S_ISREG(status->st_mode) || standard_stream(status) >= 0 || path_in_proc(path);
}

static bool is_stream(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && is_shared(&status, path);
}

/* ---- Opening ---- */

/* Closes without a change of errno, which tells why. */
static void close_as_it_is(int fd)
{
    int error = errno;

    (void)close(fd);
    errno = error;
}

/* A descriptor of the file that no other import writes to; -1: errno tells. */
static int open_alone(const char *path, int flags)
{
    for (;;) {
        int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | flags, 0666);
        if (fd < 0) return -1;
        if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            close_as_it_is(fd);
            return -1;
        }
        if (import_is_at(fd, path)) return fd;
        (void)close(fd); /* It was replaced before it was locked. */
    }
}

static const struct timespec reader_pause = {.tv_nsec = 100000000L};

/* Takes of *tries what it needs. */
static int open_stream(const char *path, uint32_t *tries)
{
    struct stat status;
    if (stat(path, &status) != 0) return -1;
    int standard = standard_stream(&status);

    /* Messages go to the same place: with a position of its own one would write over the other. */
    if (standard >= 0) return fcntl(standard, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    /* Who will read a pipe may come a moment later; for longer nobody is waited for: ENXIO. A socket
     * cannot be opened: the same. */
    int fd = -1;
    for (;;) {
        fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);
        if (fd >= 0 || errno != ENXIO || !S_ISFIFO(status.st_mode) || *tries == 0) break;
        (*tries)--;
        (void)nanosleep(&reader_pause, NULL);
    }
    if (fd >= 0) (void)fcntl(fd, F_SETFL, O_WRONLY | O_APPEND);
    return fd;
}

static bool take(struct import_reject_file *file, int fd)
{
    if (fd < 0) return false;
    file->file = fdopen(fd, "w"); /* It is not made empty by that. */
    if (file->file == NULL) close_as_it_is(fd);
    return file->file != NULL;
}

static bool take_stream(struct import_reject_file *file)
{
    uint32_t tries = IMPORT_READER_TRIES;

    return take(file, open_stream(file->path, &tries));
}

/* So that the file has its name after a loss of power. The path may be a link to it. */
static bool sync_name(struct import_reject_file *file)
{
    char *path = realpath(file->path, NULL);

    if (path == NULL) return false;
    /* EINVAL: what it is on does not know it. */
    bool good = import_sync_directory_of(path) || errno == EINVAL;
    if (!good) import_directory_of(path, file->failed, sizeof(file->failed));
    int error = errno;
    free(path);
    errno = error;
    return good;
}

/* Is it empty, or does it begin as import_reject() does: with the number of a row and that of an
 * error, a tabulator behind each? */
static bool has_rows(int fd)
{
    char text[48];
    ssize_t size = pread(fd, text, sizeof(text) - 1, 0);

    if (size <= 0) return size == 0;
    text[size] = '\0';
    const char *at = text;
    for (int number = 0; number < 2; number++) {
        size_t digits = strspn(at, "0123456789");
        if (digits == 0 || at[digits] != '\t') return false;
        at += digits + 1;
    }
    return true;
}

bool import_reject_file_begin(struct import_reject_file *file)
{
    struct stat status;

    file->failed[0] = '\0';
    if (stat(file->path, &status) == 0 && S_ISFIFO(status.st_mode))
        return take_stream(file); /* Its reader waits for the end of it. */
    if (is_stream(file->path)) return true;
    int fd = open_alone(file->path, 0);
    /* Whether it can be made, or written to, matters when a row is rejected. */
    if (fd < 0 && (errno == ENOENT || errno == EACCES || errno == EPERM || errno == EROFS))
        return true;
    if (fd >= 0 && !has_rows(fd)) {
        (void)close(fd);
        errno = EBADMSG;
        return false;
    }
    return take(file, fd);
}

void import_reject_pipe_end(const char *path, uint32_t *tries)
{
    struct stat status;

    if (stat(path, &status) != 0 || !S_ISFIFO(status.st_mode)) return;
    int fd = open_stream(path, tries);
    if (fd >= 0) (void)close(fd);
}

bool import_reject_file_is_stream(const struct import_reject_file *file)
{
    struct stat status;

    return fstat(fileno(file->file), &status) == 0 && is_shared(&status, file->path);
}

bool import_reject_file_is_there(struct import_reject_file *file)
{
    file->failed[0] = '\0';
    if (import_reject_file_is_stream(file)) return true;
    if (import_is_at(fileno(file->file), file->path)) return true;
    errno = ESTALE;
    return false;
}

/* The rows that the load had in a file that somebody has removed are gone with it. */
static void leave_removed(struct import_reject_file *file)
{
    if (file->file == NULL || import_is_at(fileno(file->file), file->path)) return;
    (void)fclose(file->file);
    file->file = NULL;
}

bool import_reject_file_open(struct import_reject_file *file)
{
    struct stat status;

    file->failed[0] = '\0';
    if (is_stream(file->path)) return file->file != NULL || take_stream(file);
    leave_removed(file);
    if (file->file != NULL) return true;
    if (!take(file, open_alone(file->path, O_CREAT))) return false;
    if (fstat(fileno(file->file), &status) == 0 && status.st_size == 0) return sync_name(file);
    (void)fclose(file->file);
    file->file = NULL;
    errno = EEXIST;
    return false;
}

/* A pipe that may be written to has room for PIPE_BUF bytes, and takes them together. */
static bool write_to_stream(const struct import_reject_file *file, const char *text, size_t size)
{
    int fd = fileno(file->file);

    while (size > 0) {
        if (!import_writable(fd, file->meanwhile, file->context)) return false;
        ssize_t written = write(fd, text, size < PIPE_BUF ? size : PIPE_BUF);
        if (written < 0 && errno != EINTR && errno != EAGAIN) return false;
        if (written <= 0) continue;
        text += written;
        size -= (size_t)written;
        if (file->meanwhile != NULL) file->meanwhile(file->context);
    }
    return true;
}

bool import_reject_file_write(struct import_reject_file *file, const char *row, size_t size,
                              bool now)
{
    file->failed[0] = '\0';
    if (import_reject_file_is_stream(file)) return write_to_stream(file, row, size);
    return fwrite(row, 1, size, file->file) == size && (!now || fflush(file->file) == 0);
}

bool import_reject_file_end(struct import_reject_file *file)
{
    bool good = file->file == NULL || fclose(file->file) == 0;

    file->failed[0] = '\0';
    file->file = NULL;
    return good;
}

/* ---- Shortening ---- */

/* The lines that stay, which go to `out` unless it is NULL. */
struct lines {
    off_t end; /* Bytes of those before the first line that goes. */
    bool gap;  /* There are others behind it. */
    uint64_t rows;
};

/* False: errno tells. What could not be read is not to be lost. */
static bool read_lines(int fd, uint64_t mark, FILE *out, struct lines *lines)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    bool goes = false;
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    FILE *in = copy < 0 || lseek(copy, 0, SEEK_SET) != 0 ? NULL : fdopen(copy, "r");
    bool good = in != NULL;

    *lines = (struct lines){0};
    if (good) errno = 0;
    while (good && (size = getline(&line, &room, in)) > 0) {
        if (line[size - 1] != '\n' || strtoull(line, NULL, 10) > mark) {
            goes = true;
            continue;
        }
        lines->rows++;
        if (goes) lines->gap = true;
        if (!goes) lines->end += size;
        good = out == NULL || fwrite(line, 1, (size_t)size, out) == (size_t)size;
    }
    good = good && feof(in) != 0;
    int error = errno;
    free(line);
    if (in != NULL) (void)fclose(in);
    if (in == NULL && copy >= 0) (void)close(copy);
    errno = error;
    return good;
}

bool import_reject_file_count(struct import_reject_file *file, uint64_t after, uint64_t *rows)
{
    struct lines all, others;

    if (file->file == NULL || is_stream(file->path)) return false;
    int fd = fileno(file->file);
    if (!import_is_at(fd, file->path) || fflush(file->file) != 0 ||
        !read_lines(fd, UINT64_MAX, NULL, &all) || !read_lines(fd, after, NULL, &others))
        return false;
    *rows = all.rows > others.rows ? all.rows - others.rows : 0;
    return true;
}

static bool synced(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL; /* EINVAL: what it is on does not know it. */
}

/* Everything of the file but its rows. The owner can be kept by root only, mostly. */
static bool make_alike(int fd, int old)
{
    struct stat status;

    if (fstat(old, &status) != 0) return false;
    if (fchown(fd, status.st_uid, status.st_gid) != 0 && errno != EPERM) return false;
    return fchmod(fd, status.st_mode & 07777u) == 0;
}

/* A new file has the place of the one at `path`, a name without links, and its lock before. */
static bool replace(struct import_reject_file *file, uint64_t mark, const char *path)
{
    struct lines lines;
    char *name = file->failed; /* Until it has the other one's name. */

    (void)snprintf(name, sizeof(file->failed), "%s.XXXXXX", path);
    int fd = mkostemp(name, O_APPEND | O_CLOEXEC);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    bool good = out != NULL && make_alike(fd, fileno(file->file)) &&
                (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
                read_lines(fileno(file->file), mark, out, &lines) && fflush(out) == 0 &&
                synced(fd) && rename(name, path) == 0;
    int error = errno;
    if (good) {
        (void)fclose(file->file); /* It has nothing that is not written. */
        file->file = out;
        name[0] = '\0';
        return sync_name(file);
    }
    if (out != NULL) (void)fclose(out);
    if (out == NULL && fd >= 0) (void)close(fd);
    if (fd >= 0) (void)unlink(name);
    if (fd < 0) import_directory_of(path, name, sizeof(file->failed));
    errno = error;
    return false;
}

bool import_reject_file_trim(struct import_reject_file *file, uint64_t mark)
{
    struct lines lines = {0};

    file->failed[0] = '\0';
    file->rows = UINT64_MAX;
    if (is_stream(file->path)) return file->file == NULL || fflush(file->file) == 0;
    leave_removed(file);
    if (file->file == NULL) {
        if (access(file->path, F_OK) != 0 && errno == ENOENT) file->rows = 0;
        return true;
    }
    int fd = fileno(file->file);
    if (fflush(file->file) != 0) return false;
    if (mark > 0 && !read_lines(fd, mark, NULL, &lines)) return false;
    file->rows = lines.rows;
    if (!lines.gap) return ftruncate(fd, lines.end) == 0 && synced(fd);
    char *path = realpath(file->path, NULL); /* A link stays one. */
    bool good = path != NULL && replace(file, mark, path);
    int error = errno;
    free(path);
    errno = error;
    return good;
}
