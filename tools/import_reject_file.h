/* import_reject_file.h -- the file of rejected rows: it is appended to, and shortened. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A stream that the path leads to is only written to: a device or pipe, whatever a descriptor of a
 * process (/dev/stderr, /proc/self/fd/N) leads to, and what this program's messages go to. What
 * stands there is not the import's alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* To append to it; it is nobody else's meanwhile if it is no stream. NULL: errno tells, EWOULDBLOCK
   that another import writes to it. */
FILE *import_reject_file_open(const char *path);
/* Removes what was rejected behind the mark: it will be again. False: it is as it was, and errno
   tells as above. */
bool import_reject_file_trim(const char *path, uint64_t mark);
