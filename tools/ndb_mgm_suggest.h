/* ndb_mgm_suggest.h -- what may have been meant by a line or a word that the console does not know.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tools/ndb_mgm_rules.h"

/* How far `word` is from `target`, whatever the case: 0 equal, 1 its beginning, 2 for each letter
 * that is wrong, missing, too much or swapped with the next one. UINT32_MAX: not near. */
uint32_t console_distance(const char *word, const char *target);
/* The nearest of `choices`, NULL: none is near. */
const char *console_nearest(const char *word, const struct console_choices *choices);

/* Into `text` what is said behind "Invalid command: ..." of these words: " Did you mean SHOW?", or
 * what is missing; empty when nothing is near. */
void console_suggest(const char *const *words, uint32_t count, char *text, size_t size);
/* Into `text` the sentence about a command of other such systems that is not here yet; 0, or -1
 * when it is none. */
int console_tell_later(const char *const *words, uint32_t count, char *text, size_t size);
/* The same of a command with this word in it: BACKUP. */
int console_tell_later_about(const char *word, char *text, size_t size);
/* "Did you mean X?" or "(allowed: A, B)" about one word of a list, into `text`. */
void console_tell_list(const char *word, const struct console_choices *choices, char *text,
                       size_t size);
