/* log_follow.h -- a log that was moved away goes on in a new file of its name. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Called before lines are written, or now and then. So whoever turns logs over needs no signal, and
 * no copy, which loses the lines that come between the copy and the cut.
 */
#pragma once

/*
 * `fd` has the file `path` open. If this name has gone, or is another file's by now, that is opened
 * (made, if it has to be, for whom the old one was) in its place, and in that of standard output
 * and error where they had the old one. If it cannot be, all stays as it is. Not from two threads
 * at the same time.
 */
void log_follow(int fd, const char *path);
