/* path_in_proc.c -- follows links of a name until one leads to /proc. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "service/path_in_proc.h"

#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#define LINKS_MAX 40 /* The kernel follows no more of them either. */

/* The directory of a name, with slash; "./" when it has none. False: it is too long. */
static bool directory_of(const char *name, char *directory, size_t size)
{
    const char *slash = strrchr(name, '/');
    int length = slash == NULL ? 1 : (int)(slash - name);
    int whole = snprintf(directory, size, "%.*s/", length, slash == NULL ? "." : name);

    return whole < (int)size;
}

/* The kernel says what a directory is in, whatever links are on the way there; only the last part
 * of the name has to be followed here. */
bool path_in_proc(const char *path)
{
    char name[PATH_MAX];
    char link[PATH_MAX];
    char directory[PATH_MAX];
    struct statfs system;

    if (snprintf(name, sizeof(name), "%s", path) >= (int)sizeof(name)) return false;
    for (int links = 0; links < LINKS_MAX; links++) {
        if (!directory_of(name, directory, sizeof(directory))) return false;
        if (statfs(directory, &system) == 0 && system.f_type == PROC_SUPER_MAGIC) return true;
        ssize_t size = readlink(name, link, sizeof(link) - 1);
        if (size < 0) return false; /* It is no link. */
        link[size] = '\0';
        int whole = snprintf(name, sizeof(name), "%s%s", link[0] == '/' ? "" : directory, link);
        if (whole >= (int)sizeof(name)) return false;
    }
    return false;
}
