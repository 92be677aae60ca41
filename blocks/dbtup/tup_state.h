/* tup_state.h -- private: struct tup, made of the records of its stories. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <string.h>
#include "blocks/dbtup/tup.h"
#include "blocks/dbtup/tup_change_state.h"
#include "blocks/dbtup/tup_heap_state.h"
#include "blocks/dbtup/tup_table_state.h"
#include "blocks/dbtux/tux.h"
#include "values/attr.h"
#include "values/table_index.h"

struct tup {
    struct block block;
    struct arena *arena;
    struct acc *acc;
    struct tux *tux; /* NULL: no table can have an ordered index. */
    struct pool tables;
    struct pool frags;
    struct pool changes;
    struct tup_heap copies;      /* Copies of rows that are too large for the change record. */
    struct tup_heap descriptors; /* Columns, defaults and indexes of tables. */
    bool checkpoints;            /* Changed pages are marked. */
    uint32_t round;              /* Counts the rounds of checkpoints that have begun. */
    uint8_t *scratch;            /* A page for compaction. */
    struct tup_attr attr;        /* ATTRINFO of the request being executed. */
};

struct tup_limits {
    uint32_t tables_max;
    uint32_t frags_max;
    uint32_t changes_max;
    bool checkpoints;
};

/* Prepares everything but the block's head; also for tests. False without memory. */
bool tup_init(struct tup *tup, struct arena *arena, struct acc *acc,
              const struct tup_limits *limits);
void tup_check(struct block *block);

static inline struct tup_change *change_get(const struct tup *tup, uint32_t ref)
{
    struct tup_change *change = pool_find(&tup->changes, ref);
    ndbrequire(change != NULL);
    return change;
}
