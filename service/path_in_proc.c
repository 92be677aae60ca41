/* path_in_proc.c -- follows links of a name until one leads to /proc. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "service/path_in_proc.h"

#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/statfs.h>

#include "service/path_place.h"

/* The kernel says what a directory is in, whatever links are on the way there; only the last part
 * of the name has to be followed here. */
bool path_in_proc(const char *path)
{
    char name[PATH_MAX];
    char directory[PATH_MAX];
    struct statfs system;

    if (snprintf(name, sizeof(name), "%s", path) >= (int)sizeof(name)) return false;
    for (int links = 0; links < PATH_LINKS_MAX; links++) {
        if (!path_directory(name, directory, sizeof(directory))) return false;
        if (statfs(directory, &system) == 0 && system.f_type == PROC_SUPER_MAGIC) return true;
        if (!path_follow(name)) return false;
    }
    return false;
}
