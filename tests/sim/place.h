/* place.h -- where a fragment's rows are, for the checkers; when all is quiet. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/schema/lqh_table.h"
#include "tests/sim/run.h"

/* A fragment of a table at any node that has it: all replicas are equal. */
struct place {
    struct lqh *lqh;
    struct tup *tup;
    struct lqh_table *table;
    struct tup_frag *frag;
};

typedef void (*row_visit)(void *context, const struct place *place, uint32_t row);

/* False: no node has it. */
bool place_find(struct run *run, uint32_t table_id, uint32_t fragment, struct place *place);
void place_visit(const struct place *place, row_visit visit, void *context);
/* The dictionary of any started node says how many partitions a table has, and how many fragments
 * with their copies. False: there is no such table, or no such node. */
bool place_partitions(struct run *run, uint32_t table_id, uint32_t *partitions,
                      uint32_t *fragments);
/* What the dictionary of any started node that is at rest says, in `memory`; NULL: nothing. */
const struct table_def *place_definition(struct run *run, uint32_t table_id, void *memory,
                                         size_t size);
/* The rows of the partitions, each once. */
void place_visit_table(struct run *run, uint32_t table_id, row_visit visit, void *context);
