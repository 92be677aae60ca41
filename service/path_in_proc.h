/* path_in_proc.h -- is a name that of a process's descriptor, or does a link lead to one? */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

/*
 * True for /dev/stdout, /dev/fd/3, /proc/self/fd/3 and all links that lead to one, over as many
 * links as the kernel follows. What is written to such a name goes to whatever the process has open
 * there: the name stays the descriptor's when the file gets another name, or none. A name that
 * leads nowhere is none.
 */
bool path_in_proc(const char *path);
