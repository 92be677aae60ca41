/* io_names.c -- opens, renames, removes and lists files below the node's directory. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "ndbmtd/io_private.h"

#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static void close_quietly(int fd)
{
    int kept = errno;
    close(fd);
    errno = kept;
}

static int enter(int parent, const char *name, bool make)
{
    int fd = openat(parent, name, DIRECTORY_FLAGS);
    if (fd >= 0 || errno != ENOENT || !make) return fd;
    if (mkdirat(parent, name, 0750) != 0 && errno != EEXIST) return -1;
    if (fsync(parent) != 0) return -1;
    return openat(parent, name, DIRECTORY_FLAGS);
}

int io_parent(const struct io_threads *io, const char *path, bool make, const char **leaf)
{
    char component[IO_NAME_MAX];
    int fd = fcntl(io->root, F_DUPFD_CLOEXEC, 0);
    const char *slash;
    while (fd >= 0 && (slash = strchr(path, '/')) != NULL) {
        size_t length = (size_t)(slash - path);
        memcpy(component, path, length);
        component[length] = 0;
        int next = enter(fd, component, make);
        close_quietly(fd);
        fd = next;
        path = slash + 1;
    }
    *leaf = path;
    return fd;
}

/* --- Open and close. --- */

static int access_mode(uint32_t flags)
{
    if ((flags & IO_WRITABLE) == 0) return O_RDONLY;
    return (flags & IO_READABLE) != 0 ? O_RDWR : O_WRONLY;
}

/* O_NONBLOCK: a pipe under this name must not hold up the thread. It means nothing to files. */
static int open_leaf(int parent, const char *leaf, uint32_t flags, bool *created)
{
    int mode = access_mode(flags) | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    *created = false;
    if ((flags & IO_EXCLUSIVE) == 0) {
        int fd = openat(parent, leaf, mode);
        if (fd >= 0 || errno != ENOENT || (flags & IO_CREATE) == 0) return fd;
    }
    int fd = openat(parent, leaf, mode | O_CREAT | O_EXCL, 0640);
    *created = fd >= 0;
    return fd;
}

static void use_direct(struct io_threads *io, struct io_file *file)
{
    int flags = fcntl(file->fd, F_GETFL);
    file->direct = flags >= 0 && fcntl(file->fd, F_SETFL, flags | O_DIRECT) == 0;
    if (!file->direct)
        io_tell_once(io, &io->told_direct,
                     "the file system has no direct I/O; the page cache is used", file->name);
}

static int prepare(struct io_threads *io, struct io_file *file, struct io_request *request)
{
    struct stat status;
    if (fstat(file->fd, &status) != 0) return errno;
    if (!S_ISREG(status.st_mode)) return EISDIR;
    if ((request->flags & IO_EMPTY) != 0 && status.st_size > 0) {
        if (ftruncate(file->fd, 0) != 0) return errno;
        status.st_size = 0;
    }
    if ((request->flags & IO_DIRECT) != 0) use_direct(io, file);
    request->done = (uint64_t)status.st_size;
    return 0;
}

void io_do_open(struct io_threads *io, struct io_request *request)
{
    struct io_file *file = &io->file[request->file];
    const char *leaf;
    bool created = false;
    int parent = io_parent(io, request->name, (request->flags & IO_CREATE) != 0, &leaf);
    if (parent < 0) {
        io_fail(request, errno);
        return;
    }
    file->fd = open_leaf(parent, leaf, request->flags, &created);
    file->direct = false;
    memcpy(file->name, request->name, sizeof file->name);
    int number = file->fd < 0 ? errno : 0;
    bool sync = number == 0 && (request->flags & IO_THEN_SYNC) != 0;
    if (number == 0 && (created || sync) && fsync(parent) != 0)
        number = errno; /* Its name lasts as long as its content. */
    if (number == 0 && sync && fsync(file->fd) != 0) number = errno;
    /* A sync that failed in a former life has left pages for clean that are not on the disk: they
     * shall not be read, nor believed, as long as there is memory for them. */
    if (number == 0 && sync) (void)posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
    if (number == 0) number = prepare(io, file, request);
    close(parent);
    if (number == 0) return;
    if (file->fd >= 0) close(file->fd);
    file->fd = -1;
    io_fail(request, number);
}

void io_do_close(struct io_threads *io, struct io_request *request)
{
    struct io_file *file = &io->file[request->file];
    if (close(file->fd) != 0 && errno != EINTR) io_fail(request, errno);
    file->fd = -1;
}

/* --- Rename and remove. --- */

static int must_be_file(int parent, const char *leaf, bool may_miss)
{
    struct stat status;
    if (fstatat(parent, leaf, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT && may_miss ? 0 : errno;
    return S_ISREG(status.st_mode) ? 0 : EISDIR;
}

static int rename_between(int from, const char *leaf, int to, const char *new_leaf, bool replace)
{
    int number = must_be_file(from, leaf, false);
    if (number == 0) number = must_be_file(to, new_leaf, true);
    if (number != 0) return number;
    if (replace) return renameat(from, leaf, to, new_leaf) == 0 ? 0 : errno;
    if (renameat2(from, leaf, to, new_leaf, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    /* A file system without that: nobody else works in this directory. */
    if (faccessat(to, new_leaf, F_OK, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
    return renameat(from, leaf, to, new_leaf) == 0 ? 0 : errno;
}

void io_do_rename(struct io_threads *io, struct io_request *request)
{
    const char *leaf;
    const char *new_leaf;
    int number = 0;
    int from = io_parent(io, request->name, false, &leaf);
    if (from < 0) number = errno;
    int to = number == 0 ? io_parent(io, request->new_name, false, &new_leaf) : -1;
    if (number == 0 && to < 0) number = errno;
    if (number == 0)
        number = rename_between(from, leaf, to, new_leaf, (request->flags & IO_REPLACE) != 0);
    /* The new name first: at no moment is the file without one. */
    if (number == 0 && fsync(to) != 0) number = errno;
    if (number == 0 && fsync(from) != 0) number = errno;
    if (from >= 0) close(from);
    if (to >= 0) close(to);
    if (number != 0) io_fail(request, number);
}

static int remove_one(int parent, const char *leaf, struct io_request *request)
{
    struct stat status;
    if (fstatat(parent, leaf, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : errno;
    if (S_ISDIR(status.st_mode)) {
        if ((request->flags & IO_TREE) == 0) return EISDIR;
        return io_tree_step(parent, leaf, request);
    }
    return unlinkat(parent, leaf, 0) == 0 ? 0 : errno;
}

void io_do_remove(struct io_threads *io, struct io_request *request)
{
    const char *leaf;
    int parent = io_parent(io, request->name, false, &leaf);
    if (parent < 0) {
        if (errno != ENOENT) io_fail(request, errno); /* What is below nothing is gone. */
        return;
    }
    int number =
        leaf[0] == 0 ? io_tree_step(parent, "", request) : remove_one(parent, leaf, request);
    if (number == 0 && request->more == 0 && fsync(parent) != 0) number = errno;
    close(parent);
    if (number != 0) io_fail(request, number);
}

/* --- List. --- */

struct names {
    char (*name)[IO_NAME_MAX];
    size_t count;
    size_t room;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static int collect(DIR *directory, const char *behind, struct names *names)
{
    const struct dirent *entry;
    errno = 0;
    while ((entry = readdir(directory)) != NULL) {
        size_t length = strlen(entry->d_name);
        /* The file is not ours. */
        if (length >= IO_NAME_MAX || !io_name_valid(entry->d_name, 0)) continue;
        if (strcmp(entry->d_name, behind) <= 0) continue;
        if (names->count == names->room) {
            names->room = names->room == 0 ? 64 : names->room * 2;
            void *more = realloc(names->name, names->room * sizeof *names->name);
            if (more == NULL) return ENOMEM;
            names->name = more;
        }
        memcpy(names->name[names->count++], entry->d_name, length + 1);
        errno = 0;
    }
    return errno;
}

static void put_entry(int fd, const char *name, struct io_request *request)
{
    struct stat status;
    uint32_t length = (uint32_t)strlen(name);
    uint8_t *to = request->piece[0].memory + request->done;
    if (fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return; /* Gone since. */
    struct io_entry entry = {
        .words = (uint32_t)sizeof entry / 4u + (length + 3u) / 4u,
        .kind = S_ISREG(status.st_mode)   ? IO_ENTRY_FILE
                : S_ISDIR(status.st_mode) ? IO_ENTRY_DIRECTORY
                                          : IO_ENTRY_OTHER,
        .name_size = length,
    };
    if (entry.kind == IO_ENTRY_FILE) {
        entry.size_lo = (uint32_t)status.st_size;
        entry.size_hi = (uint32_t)((uint64_t)status.st_size >> 32);
    }
    if (request->done + entry.words * 4u > request->piece[0].size) {
        request->more = 1;
        return;
    }
    memset(to, 0, entry.words * 4u);
    memcpy(to, &entry, sizeof entry);
    memcpy(to + sizeof entry, name, length);
    request->done += entry.words * 4u;
}

static int list_directory(int fd, struct io_request *request)
{
    struct names names = {0};
    DIR *directory = fdopendir(fd);
    if (directory == NULL) {
        close_quietly(fd);
        return errno;
    }
    int number = collect(directory, request->new_name, &names);
    if (names.count > 1) qsort(names.name, names.count, sizeof *names.name, by_name);
    for (size_t i = 0; number == 0 && i < names.count && request->more == 0; i++)
        put_entry(dirfd(directory), names.name[i], request);
    free(names.name);
    closedir(directory);
    return number;
}

void io_do_list(struct io_threads *io, struct io_request *request)
{
    const char *leaf;
    int fd = io_parent(io, request->name, false, &leaf);
    if (fd >= 0) {
        int inner = openat(fd, leaf[0] == 0 ? "." : leaf, DIRECTORY_FLAGS);
        close_quietly(fd);
        fd = inner;
    }
    int number = fd < 0 ? errno : list_directory(fd, request);
    if (number != 0) io_fail(request, number);
}
