/* path_place.h -- where a file is that need not be there yet, to compare names that differ. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define PATH_LINKS_MAX 40 /* The kernel follows no more of them either. */

/* The directory of a name, with a slash behind it; "./" when it has none. False: it is too long. */
bool path_directory(const char *name, char *directory, size_t size);
/* Replaces the name of a link by what it leads to, one link further. False: it is no link, or that
 * is too long. `name` has PATH_MAX bytes. */
bool path_follow(char *name);
/* Writes the name without links, "." and ".." of a file that is there; of one that is not, its
 * directory's and its own, behind all links that lead to it. False: there is no such directory, or
 * the name is too long. */
bool path_place(const char *path, char *place, size_t size);
/* Do both names lead to one file, or would they, once it is made? */
bool path_same(const char *one, const char *other);
