/* temp_directory.h -- a directory of a test's own below /tmp, which goes with all that is in it. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#define TEMP_DIRECTORY_SIZE 32u /* Bytes of its path. */

/* Makes one and writes its path. A failure ends the test. */
void temp_directory_make(char path[TEMP_DIRECTORY_SIZE]);

/* Group setup and teardown of tests that work in a directory of their own: it is the current one. */
int temp_directory_enter(void **state);
int temp_directory_leave(void **state);

/* Makes a file with this text, or writes it anew. A failure ends the test. */
void temp_file_make(const char *path, const char *text);
/* The file has this text, of less than 200 bytes. */
void temp_file_has(const char *path, const char *text);

/* Removes it with all files, links and directories below it; links are not followed. A failure ends
 * the test, as does a path that temp_directory_make() has not written. */
void temp_directory_remove(const char *path);
