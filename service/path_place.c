/* path_place.c -- where a file is that need not be there yet, to compare names that differ. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "service/path_place.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The name without links of a file or directory; false: there is none, or it is too long. */
static bool real_name(const char *path, char *name, size_t size)
{
    char *whole = realpath(path, NULL);
    bool fits = whole != NULL && snprintf(name, size, "%s", whole) < (int)size;

    free(whole);
    return fits;
}

bool path_place(const char *path, char *place, size_t size)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int length = slash == NULL ? 1 : (int)(slash - path + 1);

    if (real_name(path, place, size)) return true;
    if (snprintf(directory, sizeof(directory), "%.*s", length, slash == NULL ? "." : path) >=
            (int)sizeof(directory) ||
        !real_name(directory, place, size))
        return false;
    size_t used = strlen(place);
    return snprintf(place + used, size - used, "/%s", slash == NULL ? path : slash + 1) <
           (int)(size - used);
}

bool path_same(const char *one, const char *other)
{
    char first[PATH_MAX], second[PATH_MAX];
    struct stat a, b;

    /* A hard link has a name of its own. */
    if (stat(one, &a) == 0 && stat(other, &b) == 0)
        return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
    return path_place(one, first, sizeof(first)) && path_place(other, second, sizeof(second)) &&
           strcmp(first, second) == 0;
}
