/* foreign_options.h -- options of other such systems, which scripts bring along. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Behind program_begin() and before the program looks at its own options: takes those out of argv
 * that mean nothing here (foreign_options.def), up to "--". The new argc. One that has no effect is
 * a warning on standard error with the reason (also a value that looks like one); one that somebody relies on ends the program with
 * exit status 2. `program` is the name that messages begin with.
 */
int foreign_options_take(const char *program, int argc, char **argv);
