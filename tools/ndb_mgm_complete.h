/* ndb_mgm_complete.h -- what a word of a console's line may become. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "tools/ndb_mgm_rules.h"

/* What `word`, perhaps empty, may become behind `before`, which is the line so far: each once, in
 * order. A category ends with '=': its level follows. `nodes` may be NULL: not known. */
void console_complete(const char *before, const char *word,
                      const struct ndb_mgm_cluster_state *nodes, struct console_choices *choices);
