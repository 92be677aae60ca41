/* tux_find.c -- from the root to a place; walking from there. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtux/tux_state.h"

/* Compares the entry that an inner node has of a child with the target. */
static int child_compare(const struct tux_index *index, const struct tux_inner *inner, uint32_t at,
                         const struct tux_target *target, uint64_t digest)
{
    if (inner->digest[at] != digest) return inner->digest[at] < digest ? -1 : 1;
    bool same = index->columns->exact != 0 && target->search.count == index->columns->count;
    return tux_entry_compare(index, inner->row[at], (inner->child[at] & CHILD_COPY) != 0, target,
                             same);
}

/* The last child whose first entry is not behind the target; the first one, if there is none. */
static uint32_t inner_find(const struct tux_index *index, const struct tux_inner *inner,
                           const struct tux_target *target)
{
    uint32_t low = 0;
    uint32_t high = inner->head.count - 1u;
    while (low < high) {
        uint32_t middle = (low + high + 1u) / 2u;
        if (child_compare(index, inner, middle, target, target->digest) <= 0)
            low = middle;
        else
            high = middle - 1u;
    }
    return low;
}

/* The first entry whose tag is not below. */
static uint32_t tag_find(const struct tux_leaf *leaf, uint32_t tag)
{
    uint32_t low = 0;
    uint32_t count = leaf->head.count;
    while (count > 0) {
        uint32_t half = count / 2u;
        bool below = leaf->tag[low + half] < tag;
        low = below ? low + half + 1u : low;
        count = below ? count - half - 1u : half;
    }
    return low;
}

uint32_t tux_leaf_find(const struct tux_index *index, const struct tux_leaf *leaf,
                       const struct tux_target *target)
{
    uint32_t digest = tux_tag_digest(&leaf->head, target->digest);
    uint32_t low = tag_find(leaf, digest << 1);
    uint32_t high = tag_find(leaf, (digest + 1u) << 1);
    /* Equal tags are equal digests, unless steps are wide or the tag is the end of a scale. */
    bool same = index->columns->exact != 0 && leaf->head.shift == 0 && digest > 0 &&
                digest < TAG_DIGESTS - 1u && target->search.count == index->columns->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2u;
        bool copy = (leaf->tag[middle] & TAG_COPY) != 0;
        if (tux_entry_compare(index, leaf->row[middle], copy, target, same) < 0)
            low = middle + 1u;
        else
            high = middle;
    }
    return low;
}

void tux_find(const struct tux_index *index, const struct tux_target *target, struct tux_path *path)
{
    uint32_t ref = index->root;
    for (uint32_t level = index->levels - 1u; level > 0; level--) {
        const struct tux_inner *inner = tux_inner(index->tux, ref);
        uint32_t at = inner_find(index, inner, target);
        path->step[level] = (struct tux_step){ref, at};
        ref = inner->child[at] & ~CHILD_COPY;
    }
    path->step[0] = (struct tux_step){ref, tux_leaf_find(index, tux_leaf(index->tux, ref), target)};
}

bool tux_found(const struct tux_index *index, const struct tux_target *target,
               const struct tux_path *path)
{
    const struct tux_leaf *leaf = tux_leaf(index->tux, path->step[0].ref);
    uint32_t at = path->step[0].at;
    return at < leaf->head.count && leaf->row[at] == target->search.row &&
           ((leaf->tag[at] & TAG_COPY) != 0) == target->search.copy;
}

void tux_first_changed(const struct tux_index *index, const struct tux_path *path, uint32_t level,
                       uint64_t digest, uint32_t row, bool copy)
{
    while (++level < index->levels) {
        struct tux_inner *inner = tux_inner(index->tux, path->step[level].ref);
        uint32_t at = path->step[level].at;
        inner->digest[at] = digest;
        inner->row[at] = row;
        inner->child[at] = (inner->child[at] & ~CHILD_COPY) | (copy ? CHILD_COPY : 0u);
        if (at > 0) return;
    }
}

/* --- Walking. --- */

struct tux_cursor tux_seek(const struct tux_index *index, const struct tux_search *search)
{
    struct tux_path path;
    if (index->root == TUX_NODE_NONE) return (struct tux_cursor){TUX_NODE_NONE, 0};
    const struct tux_target target = tux_target_at(index, search);
    tux_find(index, &target, &path);
    return (struct tux_cursor){path.step[0].ref, path.step[0].at};
}

bool tux_next(const struct tux_index *index, struct tux_cursor *cursor, struct tux_entry *entry)
{
    if (cursor->leaf == TUX_NODE_NONE) return false;
    const struct tux_leaf *leaf = tux_leaf(index->tux, cursor->leaf);
    if (cursor->at >= leaf->head.count) {
        if (leaf->head.next == TUX_NODE_NONE) return false;
        *cursor = (struct tux_cursor){leaf->head.next, 0};
        leaf = tux_leaf(index->tux, cursor->leaf);
    }
    *entry = tux_entry_at(leaf, cursor->at++);
    return true;
}

bool tux_previous(const struct tux_index *index, struct tux_cursor *cursor, struct tux_entry *entry)
{
    if (cursor->leaf == TUX_NODE_NONE) return false;
    const struct tux_leaf *leaf = tux_leaf(index->tux, cursor->leaf);
    if (cursor->at == 0) {
        if (leaf->head.prev == TUX_NODE_NONE) return false;
        cursor->leaf = leaf->head.prev;
        leaf = tux_leaf(index->tux, cursor->leaf);
        cursor->at = leaf->head.count;
    }
    *entry = tux_entry_at(leaf, --cursor->at);
    return true;
}

int tux_compare(const struct tux_index *index, const struct tux_entry *entry,
                const struct tux_search *search)
{
    const struct tux_target target = {.search = *search};
    return tux_entry_compare(index, entry->row, entry->copy, &target, false);
}
