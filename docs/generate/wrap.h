/* wrap.h -- lines of a page of documentation, not longer than the law allows. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Prints as printf does. A line of more than 120 columns goes on in further ones; if it begins with
 * "- ", as an item of a list, they are indented. A long row of a table must not come here. */
void print_wrapped(const char *format, ...) __attribute__((format(printf, 1, 2)));
