/* path_place.c -- where a file is that need not be there yet, to compare names that differ. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "service/path_place.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The name without links of a file or directory; false: there is none, or it is too long. */
static bool real_name(const char *path, char *name, size_t size)
{
    char *whole = realpath(path, NULL);
    bool fits = whole != NULL && snprintf(name, size, "%s", whole) < (int)size;

    free(whole);
    return fits;
}

bool path_directory(const char *name, char *directory, size_t size)
{
    const char *slash = strrchr(name, '/');
    int length = slash == NULL ? 1 : (int)(slash - name);

    return snprintf(directory, size, "%.*s/", length, slash == NULL ? "." : name) < (int)size;
}

bool path_follow(char *name)
{
    char link[PATH_MAX];
    char directory[PATH_MAX] = "";
    ssize_t size = readlink(name, link, sizeof(link) - 1);

    if (size < 0) return false;
    link[size] = '\0';
    if (link[0] != '/' && !path_directory(name, directory, sizeof(directory))) return false;
    size_t used = strlen(directory);
    if (used + (size_t)size >= PATH_MAX) return false;
    memcpy(name, directory, used);
    memcpy(name + used, link, (size_t)size + 1);
    return true;
}

/* A file that is not there: its directory's name and its own. */
static bool place_in(const char *path, char *place, size_t size)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(path, '/');

    if (!path_directory(path, directory, sizeof(directory)) || !real_name(directory, place, size))
        return false;
    size_t used = strlen(place);
    const char *between = place[used - 1] == '/' ? "" : "/"; /* The root has one. */
    return snprintf(place + used, size - used, "%s%s", between, slash == NULL ? path : slash + 1) <
           (int)(size - used);
}

bool path_place(const char *path, char *place, size_t size)
{
    char name[PATH_MAX];

    if (snprintf(name, sizeof(name), "%s", path) >= (int)sizeof(name)) return false;
    for (int links = 0; links <= PATH_LINKS_MAX; links++) {
        if (real_name(name, place, size)) return true;
        if (!path_follow(name)) return place_in(name, place, size);
    }
    return false;
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
