/* jams.h -- which jam sites of the blocks were reached, over all processes of a call. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Begins to look; before any fork. The report goes to `path`: with what is there already, if it is
 * of the same program. */
void jams_open(const char *path);

/* What the running thread has passed since it was asked last. Cheap; nothing before jams_open(). */
void jams_look(void);

/* Counts the sites in `path` as reached: what programs of a build with JAM_COVERAGE wrote. */
void jams_add(const char *path);

/* Writes the file: how many sites there are, how many were never reached, and which. Prints the
 * numbers. False: more than `most` were never reached, or the file cannot be written. */
bool jams_close(uint32_t most);
