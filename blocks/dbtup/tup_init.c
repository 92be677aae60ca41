/* tup_init.c -- prepares DBTUP's pools. Apart from the block itself, so that the core runs without
 * a node. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtup/tup_state.h"

bool tup_init(struct tup *tup, struct arena *arena, struct acc *acc,
              const struct tup_limits *limits)
{
    tup->acc = acc;
    tup->checkpoints = limits->checkpoints;
    tup->scratch = arena_alloc(arena, RG_NODE, PAGE_SIZE_BYTES);
    if (tup->scratch == NULL) return false;
    tup->arena = arena;
    pool_init(&tup->tables, arena, RG_SCHEMA, sizeof(struct tup_table), limits->tables_max);
    pool_init(&tup->frags, arena, RG_SCHEMA, sizeof(struct tup_frag), limits->frags_max);
    pool_init(&tup->changes, arena, RG_TRANSACTION, sizeof(struct tup_change), limits->changes_max);
    tup_heap_init(&tup->copies, arena, RG_TRANSACTION);
    tup_heap_init(&tup->descriptors, arena, RG_SCHEMA);
    return true;
}
