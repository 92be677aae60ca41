/* tux_init.c -- prepares DBTUX's pools; makes and drops indexes. Apart from the block itself, so
 * that the core runs without a node. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtux/tux_state.h"

#define DROP_NODES 64u /* Nodes that a step gives back, in some microseconds. */

void tux_init(struct tux *tux, struct arena *arena, uint32_t indexes_max)
{
    tux->arena = arena;
    pool_init(&tux->indexes, arena, RG_SCHEMA, sizeof(struct tux_index), indexes_max);
    page_dir_init(&tux->pages, arena, RG_DATA);
}

struct tux_index *tux_index_create(struct tux *tux, struct tup_frag *rows,
                                   const struct tux_columns *columns, struct tux_index *next)
{
    struct tux_index *index = pool_seize(&tux->indexes);
    if (index == NULL) return NULL;
    index->tux = tux;
    index->rows = rows;
    index->columns = columns;
    index->next = next;
    index->border = TUX_NO_BORDER;
    return index;
}

struct tux_index *tux_index_unlink(struct tux_index *first, struct tux_index *index)
{
    struct tux_index *before = first;
    if (first == index) return index->next;
    while (before->next != index)
        before = before->next;
    before->next = index->next;
    return first;
}

void tux_border_set(struct tux_index *index, uint64_t border)
{
    index->border = border;
}

uint64_t tux_border(const struct tux_index *index)
{
    return index->border;
}

struct tux_index *tux_index_next(const struct tux_index *index)
{
    return index->next;
}

const struct tux_columns *tux_index_columns(const struct tux_index *index)
{
    return index->columns;
}

uint64_t tux_entries(const struct tux_index *index)
{
    return index->entries;
}

uint64_t tux_index_bytes(const struct tux_index *index)
{
    return index->nodes * NODE_BYTES;
}

uint32_t tux_pages(const struct tux *tux)
{
    return tux->pages.pages;
}

/* The last leaf goes, and what is above it and has no other child. Rows are not looked at. */
static void last_leaf_drop(struct tux *tux, struct tux_index *index)
{
    struct tux_step step[TUX_LEVELS_MAX];
    uint32_t ref = index->root;
    for (uint32_t level = index->levels; level-- > 0;) {
        step[level] = (struct tux_step){.ref = ref};
        if (level > 0) {
            const struct tux_inner *inner = tux_inner(tux, ref);
            ref = inner->child[inner->head.count - 1u] & ~CHILD_COPY;
        }
    }
    tux_node_release(tux, index, step[0].ref);
    for (uint32_t level = 1; level < index->levels; level++) {
        struct tux_inner *inner = tux_inner(tux, step[level].ref);
        if (--inner->head.count > 0) return;
        tux_node_release(tux, index, step[level].ref);
    }
    index->root = TUX_NODE_NONE;
}

bool tux_index_drop_step(struct tux *tux, struct tux_index *index)
{
    tux_entries_count(tux, -(int64_t)index->entries);
    index->entries = 0;
    for (uint32_t i = 0; i < DROP_NODES && index->root != TUX_NODE_NONE; i++)
        last_leaf_drop(tux, index);
    if (index->root != TUX_NODE_NONE) {
        jam();
        return false;
    }
    ndbrequire(index->nodes == 0);
    pool_release(&tux->indexes, index);
    tux_trim(tux);
    return true;
}
