/* path_place.h -- where a file is that need not be there yet, to compare names that differ. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Writes the name without links, "." and ".." of a file that is there; of one that is not, its
 * directory's and its own. False: there is no such directory, or the name is too long. */
bool path_place(const char *path, char *place, size_t size);
/* Do both names lead to one file, or would they, once it is made? */
bool path_same(const char *one, const char *other);
