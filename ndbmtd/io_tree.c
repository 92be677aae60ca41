/* io_tree.c -- removes a directory with all that is in it, a bounded number of entries at a time.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "ndbmtd/io_private.h"

#define DEPTH_MAX 32u /* Deeper than anything that NDBFS makes. */

struct level {
    DIR *directory;
    char name[256];
};

static int push(struct level *levels, uint32_t *depth, int parent, const char *name)
{
    if (*depth == DEPTH_MAX) return ENAMETOOLONG;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return errno;
    struct level *level = &levels[*depth];
    level->directory = fdopendir(fd);
    if (level->directory == NULL) {
        int number = errno;
        close(fd);
        return number;
    }
    snprintf(level->name, sizeof level->name, "%s", name);
    (*depth)++;
    return 0;
}

static bool skipped(const char *name, bool root)
{
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return true;
    return root && !io_name_valid(
                       name, 0); /* lost+found and its like stay where the file system put them. */
}

static bool is_directory(int fd, const char *name)
{
    struct stat status;
    return fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

/* Goes down into the first directory it meets, removes files on the way, and an emptied directory
 * when it comes back. */
static int walk(struct level *levels, uint32_t *depth, int parent, struct io_request *request,
                bool keep_top)
{
    while (*depth > 0) {
        struct level *level = &levels[*depth - 1];
        int fd = dirfd(level->directory);
        errno = 0;
        const struct dirent *entry = readdir(level->directory);
        if (entry == NULL) {
            if (errno != 0) return errno;
            closedir(level->directory);
            (*depth)--;
            if (*depth == 0 && keep_top) return 0;
            int above = *depth == 0 ? parent : dirfd(levels[*depth - 1].directory);
            if (unlinkat(above, level->name, AT_REMOVEDIR) != 0) return errno;
            if (*depth > 0) rewinddir(levels[*depth - 1].directory);
        } else if (skipped(entry->d_name, keep_top && *depth == 1)) {
            continue;
        } else if (is_directory(fd, entry->d_name)) {
            int number = push(levels, depth, fd, entry->d_name);
            if (number != 0) return number;
            continue;
        } else if (unlinkat(fd, entry->d_name, 0) != 0 && errno != ENOENT) {
            return errno;
        }
        if (++request->done == IO_TREE_STEP && *depth > 0) {
            request->more = 1;
            return 0;
        }
    }
    return 0;
}

int io_tree_step(int parent, const char *name, struct io_request *request)
{
    struct level levels[DEPTH_MAX];
    uint32_t depth = 0;
    bool keep_top = name[0] == 0;
    request->done = 0;
    request->more = 0;
    int number = push(levels, &depth, parent, keep_top ? "." : name);
    if (number == 0) number = walk(levels, &depth, parent, request, keep_top);
    while (depth > 0)
        closedir(levels[--depth].directory);
    return number;
}
