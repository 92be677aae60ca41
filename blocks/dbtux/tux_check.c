/* tux_check.c -- the invariants of indexes. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * I-TUX-1 Entries stand in the order of their keys, then row ids, then copies; tags and digests are
 * those of the keys. I-TUX-2 An entry is there once (tux_tree.c, and tup_check from the rows'
 * side). I-TUX-3 An inner node has of each child its first entry; leaves are linked in order; no
 * node is empty. I-TUX-4 Nodes and pages are counted. I-TUX-5 So are entries.
 */
#include "blocks/dbtux/tux_state.h"

struct walk {
    const struct tux_index *index;
    void (*visit)(void *context, const struct tux_entry *entry);
    void *context;
    struct tux_entry last;
    uint64_t entries;
    uint64_t nodes;
    uint32_t leaf; /* The last leaf that was passed. */
};

static void entry_check(struct walk *walk, const struct tux_leaf *leaf, uint32_t at)
{
    const struct tux_index *index = walk->index;
    const struct tux_entry entry = {leaf->row[at], (leaf->tag[at] & TAG_COPY) != 0};
    struct tux_key key;
    struct tux_target target = tux_target_of(index, entry.row, entry.copy, &key);
    ndbrequire(tux_tag_digest(&leaf->head, target.digest) == leaf->tag[at] >> 1); /* I-TUX-1 */
    if (walk->entries > 0) {
        ndbrequire(tux_entry_compare(index, walk->last.row, walk->last.copy, &target, false) < 0);
        if (at > 0) ndbrequire(leaf->tag[at - 1u] >> 1 <= leaf->tag[at] >> 1); /* I-TUX-1 */
    }
    walk->last = entry;
    walk->entries++;
    walk->visit(walk->context, &entry);
}

static void leaf_check(struct walk *walk, uint32_t ref)
{
    const struct tux_leaf *leaf = tux_leaf(walk->index->tux, ref);
    ndbrequire(leaf->head.prev == walk->leaf); /* I-TUX-3 */
    if (walk->leaf != TUX_NODE_NONE)
        ndbrequire(tux_leaf(walk->index->tux, walk->leaf)->head.next == ref); /* I-TUX-3 */
    ndbrequire(leaf->head.count <= LEAF_ENTRIES);
    walk->leaf = ref;
    for (uint32_t at = 0; at < leaf->head.count; at++)
        entry_check(walk, leaf, at);
}

/* The first entry below the node is what its parent has of it. */
static void first_check(const struct walk *walk, const struct tux_inner *inner, uint32_t at)
{
    uint32_t ref = inner->child[at] & ~CHILD_COPY;
    bool copy = (inner->child[at] & CHILD_COPY) != 0;
    while (tux_node(walk->index->tux, ref)->level > 0)
        ref = tux_inner(walk->index->tux, ref)->child[0] & ~CHILD_COPY;
    const struct tux_leaf *leaf = tux_leaf(walk->index->tux, ref);
    ndbrequire(leaf->row[0] == inner->row[at]);           /* I-TUX-3 */
    ndbrequire(((leaf->tag[0] & TAG_COPY) != 0) == copy); /* I-TUX-3 */
    ndbrequire(tux_digest_of(walk->index, leaf->row[0], copy) == inner->digest[at]);
}

/* Walks the nodes depth first, without recursion. */
static void tree_check(struct walk *walk)
{
    const struct tux_index *index = walk->index;
    struct tux_step step[TUX_LEVELS_MAX];
    uint32_t level = index->levels - 1u;
    step[level] = (struct tux_step){.ref = index->root};
    for (;;) {
        const struct tux_node_head *node = tux_node(index->tux, step[level].ref);
        if (step[level].at == 0) {
            ndbrequire(node->used == 1 && node->level == level && node->count > 0); /* I-TUX-3 */
            walk->nodes++;
            if (level == 0) leaf_check(walk, step[0].ref);
        }
        if (level == 0 || step[level].at == node->count) {
            if (++level >= index->levels) return;
            step[level].at++;
            continue;
        }
        const struct tux_inner *inner = tux_inner(index->tux, step[level].ref);
        ndbrequire(node->count <= INNER_CHILDREN);
        first_check(walk, inner, step[level].at);
        uint32_t child = inner->child[step[level].at] & ~CHILD_COPY;
        step[--level] = (struct tux_step){.ref = child};
    }
}

void tux_index_check(const struct tux_index *index,
                     void (*visit)(void *context, const struct tux_entry *entry), void *context)
{
    struct walk walk = {.index = index, .visit = visit, .context = context};
    if (index->root != TUX_NODE_NONE) {
        tree_check(&walk);
        ndbrequire(tux_leaf(index->tux, walk.leaf)->head.next == TUX_NODE_NONE); /* I-TUX-3 */
    }
    ndbrequire(walk.entries == index->entries);
    ndbrequire(walk.nodes == index->nodes); /* I-TUX-4 */
}

void tux_check(struct block *block)
{
    const struct tux *tux = (const struct tux *)(void *)block;
    uint64_t nodes = 0;
    uint64_t entries = 0;
    if (tux->arena == NULL) return; /* READ_CONFIG_REQ has not come. */
    for (const struct tux_index *index = pool_next(&tux->indexes, 0); index != NULL;
         index = pool_next(&tux->indexes, pool_index(index->record.ref))) {
        nodes += index->nodes;
        entries += index->entries;
    }
    ndbrequire(nodes == tux->nodes_used); /* I-TUX-4 */
    ndbrequire(entries == tux->entries);  /* I-TUX-5 */
    tux_nodes_check(tux);
}
