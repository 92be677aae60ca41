/* tux_tree.c -- entries are added and removed; nodes split and join. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtux/tux_state.h"

/* The first leaf gets better tags while it grows; later ones when they split. */
#define FIT_EVERY 16u

/* --- Inner nodes. --- */

/* The first entry below a child, as its parent has it. */
struct first {
    uint64_t digest;
    uint32_t row;
    uint32_t child; /* Reference of the child, with CHILD_COPY. */
};

static struct first first_of_leaf(const struct tux_index *index, uint32_t ref)
{
    const struct tux_leaf *leaf = tux_leaf(index->tux, ref);
    bool copy = (leaf->tag[0] & TAG_COPY) != 0;
    return (struct first){tux_digest_of(index, leaf->row[0], copy), leaf->row[0],
                          ref | (copy ? CHILD_COPY : 0u)};
}

static struct first first_of_inner(const struct tux_inner *inner, uint32_t ref)
{
    return (struct first){inner->digest[0], inner->row[0], ref | (inner->child[0] & CHILD_COPY)};
}

static void children_move(struct tux_inner *to, uint32_t to_at, const struct tux_inner *from,
                          uint32_t from_at, uint32_t count)
{
    memmove(to->digest + to_at, from->digest + from_at, count * sizeof to->digest[0]);
    memmove(to->row + to_at, from->row + from_at, count * sizeof to->row[0]);
    memmove(to->child + to_at, from->child + from_at, count * sizeof to->child[0]);
}

static void child_put(struct tux_inner *inner, uint32_t at, const struct first *first)
{
    children_move(inner, at + 1u, inner, at, inner->head.count - at);
    inner->digest[at] = first->digest;
    inner->row[at] = first->row;
    inner->child[at] = first->child;
    inner->head.count++;
}

static void child_take(struct tux_inner *inner, uint32_t at)
{
    children_move(inner, at, inner, at + 1u, inner->head.count - at - 1u);
    inner->head.count--;
}

/* The root has got a neighbour: a new root above both. */
static void root_grow(struct tux_index *index, const struct first *left, const struct first *right)
{
    ndbrequire(index->levels < TUX_LEVELS_MAX);
    uint32_t ref = tux_node_seize(index->tux, index, index->levels);
    struct tux_inner *root = tux_inner(index->tux, ref);
    child_put(root, 0, left);
    child_put(root, 1, right);
    index->root = ref;
    index->levels++;
}

/* The child at the path's place of this level has got a right neighbour. */
static void child_added(struct tux_index *index, const struct tux_path *path, uint32_t level,
                        struct first right)
{
    for (; level < index->levels; level++) {
        uint32_t ref = path->step[level].ref;
        uint32_t at = path->step[level].at + 1u;
        struct tux_inner *inner = tux_inner(index->tux, ref);
        if (inner->head.count < INNER_CHILDREN) {
            child_put(inner, at, &right);
            return;
        }
        jam(); /* At the end of the node: what comes in ascending order leaves full nodes. */
        uint32_t keep = at == INNER_CHILDREN ? INNER_CHILDREN : INNER_CHILDREN / 2u;
        uint32_t new_ref = tux_node_seize(index->tux, index, level);
        struct tux_inner *other = tux_inner(index->tux, new_ref);
        children_move(other, 0, inner, keep, INNER_CHILDREN - keep);
        other->head.count = (uint16_t)(INNER_CHILDREN - keep);
        inner->head.count = (uint16_t)keep;
        if (at <= keep && keep < INNER_CHILDREN)
            child_put(inner, at, &right);
        else
            child_put(other, at - keep, &right);
        right = first_of_inner(other, new_ref);
        if (level + 1u == index->levels) {
            const struct first left = first_of_inner(inner, ref);
            root_grow(index, &left, &right);
            return;
        }
    }
    ndbrequire(level < index->levels); /* A root returns above. */
}

/* --- Leaves. --- */

static void entry_put(struct tux_leaf *leaf, uint32_t at, uint32_t row, uint32_t tag)
{
    uint32_t behind = leaf->head.count - at;
    memmove(leaf->row + at + 1u, leaf->row + at, behind * sizeof leaf->row[0]);
    memmove(leaf->tag + at + 1u, leaf->tag + at, behind * sizeof leaf->tag[0]);
    leaf->row[at] = row;
    leaf->tag[at] = (uint16_t)tag;
    leaf->head.count++;
}

static void entry_take(struct tux_leaf *leaf, uint32_t at)
{
    uint32_t behind = leaf->head.count - at - 1u;
    memmove(leaf->row + at, leaf->row + at + 1u, behind * sizeof leaf->row[0]);
    memmove(leaf->tag + at, leaf->tag + at + 1u, behind * sizeof leaf->tag[0]);
    leaf->head.count--;
}

static void target_put(struct tux_leaf *leaf, uint32_t at, const struct tux_target *target)
{
    uint32_t digest = tux_tag_digest(&leaf->head, target->digest);
    entry_put(leaf, at, target->search.row, digest << 1 | (target->search.copy ? TAG_COPY : 0u));
}

static uint32_t leaf_after(struct tux_index *index, uint32_t ref)
{
    uint32_t new_ref = tux_node_seize(index->tux, index, 0);
    struct tux_leaf *leaf = tux_leaf(index->tux, ref);
    struct tux_leaf *other = tux_leaf(index->tux, new_ref);
    other->head.prev = ref;
    other->head.next = leaf->head.next;
    if (other->head.next != TUX_NODE_NONE)
        tux_leaf(index->tux, other->head.next)->head.prev = new_ref;
    leaf->head.next = new_ref;
    return new_ref;
}

/* Where a leaf is split: in the middle; but at either end of the index all entries stay together,
 * because there it grows. */
static uint32_t split_at(const struct tux_leaf *leaf, uint32_t at)
{
    if (leaf->head.next == TUX_NODE_NONE && at == leaf->head.count) return leaf->head.count;
    if (leaf->head.prev == TUX_NODE_NONE && at == 0) return 0;
    return leaf->head.count / 2u;
}

/* Makes the tags of both halves. An empty one counts in steps of the other one, away from it. */
static void tags_split(const struct tux_index *index, struct tux_leaf *leaf, struct tux_leaf *other,
                       uint64_t digest)
{
    other->head.base = leaf->head.base;
    other->head.shift = leaf->head.shift;
    tux_leaf_fit(index, leaf);
    tux_leaf_fit(index, other);
    if (other->head.count == 0) {
        other->head.base = digest;
        other->head.shift = leaf->head.shift;
    } else if (leaf->head.count == 0) {
        leaf->head.shift = other->head.shift;
        uint64_t steps = UINT64_MAX >> leaf->head.shift;
        if (steps > TAG_DIGESTS - 2u) steps = TAG_DIGESTS - 2u;
        uint64_t span = steps << leaf->head.shift;
        leaf->head.base = digest > span ? digest - span : 0;
    }
}

/* The leaf at the path is full. Its entries from some place on go to a new leaf; the target goes to
 * one of them. */
static void leaf_split(struct tux_index *index, const struct tux_path *path,
                       const struct tux_target *target)
{
    uint32_t ref = path->step[0].ref;
    uint32_t at = path->step[0].at;
    struct tux_leaf *leaf = tux_leaf(index->tux, ref);
    uint32_t keep = split_at(leaf, at);
    uint32_t new_ref = leaf_after(index, ref);
    struct tux_leaf *other = tux_leaf(index->tux, new_ref);
    uint32_t moved = leaf->head.count - keep;
    memcpy(other->row, leaf->row + keep, moved * sizeof leaf->row[0]);
    memcpy(other->tag, leaf->tag + keep, moved * sizeof leaf->tag[0]);
    other->head.count = (uint16_t)moved;
    leaf->head.count = (uint16_t)keep;
    tags_split(index, leaf, other, target->digest);
    bool left = at < keep || keep == 0;
    if (left)
        target_put(leaf, at, target);
    else
        target_put(other, at - keep, target);
    if (left && at == 0)
        tux_first_changed(index, path, 0, target->digest, target->search.row, target->search.copy);
    struct first right = first_of_leaf(index, new_ref);
    if (index->levels == 1) {
        const struct first first = first_of_leaf(index, ref);
        root_grow(index, &first, &right);
        return;
    }
    child_added(index, path, 1, right);
}

void tux_add(struct tux *tux, struct tux_index *index, uint32_t row, bool copy)
{
    struct tux_key key;
    struct tux_path path;
    if (row >= index->border) return;
    struct tux_target target = tux_target_of(index, row, copy, &key);
    index->entries++;
    tux_entries_count(tux, 1);
    if (index->root == TUX_NODE_NONE) {
        jam();
        index->root = tux_node_seize(tux, index, 0);
        index->levels = 1;
        tux_leaf(tux, index->root)->head.base = target.digest;
        target_put(tux_leaf(tux, index->root), 0, &target);
        return;
    }
    tux_find(index, &target, &path);
    ndbrequire(!tux_found(index, &target, &path)); /* I-TUX-2 */
    struct tux_leaf *leaf = tux_leaf(tux, path.step[0].ref);
    if (leaf->head.count == LEAF_ENTRIES) {
        jam();
        leaf_split(index, &path, &target);
        return;
    }
    target_put(leaf, path.step[0].at, &target);
    if (index->levels == 1 && leaf->head.count % FIT_EVERY == 0) tux_leaf_fit(index, leaf);
    if (path.step[0].at == 0) tux_first_changed(index, &path, 0, target.digest, row, copy);
}

/* --- Removing. --- */

static void leaf_unlink(struct tux_index *index, const struct tux_leaf *leaf)
{
    uint32_t prev = leaf->head.prev;
    uint32_t next = leaf->head.next;
    if (prev != TUX_NODE_NONE) tux_leaf(index->tux, prev)->head.next = next;
    if (next != TUX_NODE_NONE) tux_leaf(index->tux, next)->head.prev = prev;
}

/* The second leaf, which stands behind the first one, goes into it. */
static void leaves_join(struct tux_index *index, uint32_t first_ref, uint32_t second_ref)
{
    struct tux_leaf *first = tux_leaf(index->tux, first_ref);
    struct tux_leaf *second = tux_leaf(index->tux, second_ref);
    uint32_t at = first->head.count;
    uint32_t count = second->head.count;
    memcpy(first->row + at, second->row, count * sizeof first->row[0]);
    for (uint32_t i = 0; i < count; i++) {
        bool copy = (second->tag[i] & TAG_COPY) != 0;
        uint64_t digest = tux_digest_of(index, second->row[i], copy);
        first->tag[at + i] =
            (uint16_t)(tux_tag_digest(&first->head, digest) << 1 | (copy ? TAG_COPY : 0u));
    }
    first->head.count = (uint16_t)(at + count);
    tux_leaf_fit(index, first);
    leaf_unlink(index, second);
    tux_node_release(index->tux, index, second_ref);
}

static void inners_join(struct tux_index *index, uint32_t first_ref, uint32_t second_ref)
{
    struct tux_inner *first = tux_inner(index->tux, first_ref);
    const struct tux_inner *second = tux_inner(index->tux, second_ref);
    children_move(first, first->head.count, second, 0, second->head.count);
    first->head.count = (uint16_t)(first->head.count + second->head.count);
    tux_node_release(index->tux, index, second_ref);
}

/* Joins the two children from `at` on if they have room in one. True: they are one now. */
static bool children_join(struct tux_index *index, struct tux_inner *parent, uint32_t at)
{
    uint32_t first = parent->child[at] & ~CHILD_COPY;
    uint32_t second = parent->child[at + 1u] & ~CHILD_COPY;
    const struct tux_node_head *head = tux_node(index->tux, first);
    uint32_t count = (uint32_t)head->count + tux_node(index->tux, second)->count;
    if (count > (head->level == 0 ? LEAF_JOINED : INNER_JOINED)) return false;
    jam();
    if (head->level == 0)
        leaves_join(index, first, second);
    else
        inners_join(index, first, second);
    child_take(parent, at + 1u);
    return true;
}

/* Joins the node at this level of the path with a neighbour, if it has few left. False: it
 * stays. */
static bool node_join(struct tux_index *index, const struct tux_path *path, uint32_t level)
{
    const struct tux_node_head *node = tux_node(index->tux, path->step[level].ref);
    if (node->count >= (level == 0 ? LEAF_LOW : INNER_LOW) || level + 1u == index->levels)
        return false;
    struct tux_inner *parent = tux_inner(index->tux, path->step[level + 1u].ref);
    uint32_t at = path->step[level + 1u].at;
    if (at + 1u < parent->head.count && children_join(index, parent, at)) return true;
    return at > 0 && children_join(index, parent, at - 1u);
}

/* The node at this level of the path is empty and has gone. */
static void node_gone(struct tux_index *index, struct tux_path *path, uint32_t level)
{
    tux_node_release(index->tux, index, path->step[level].ref);
    while (++level < index->levels) {
        uint32_t ref = path->step[level].ref;
        uint32_t at = path->step[level].at;
        struct tux_inner *inner = tux_inner(index->tux, ref);
        child_take(inner, at);
        if (inner->head.count > 0) {
            if (at == 0) {
                const struct first first = first_of_inner(inner, ref);
                tux_first_changed(index, path, level, first.digest, first.row,
                                  (first.child & CHILD_COPY) != 0);
            }
            while (node_join(index, path, level))
                level++;
            return;
        }
        tux_node_release(index->tux, index, ref);
    }
    index->root = TUX_NODE_NONE;
    index->levels = 0;
}

/* A root with one child is no root. */
static void root_shrink(struct tux_index *index)
{
    while (index->levels > 1) {
        const struct tux_inner *root = tux_inner(index->tux, index->root);
        if (root->head.count > 1) return;
        uint32_t child = root->child[0] & ~CHILD_COPY;
        tux_node_release(index->tux, index, index->root);
        index->root = child;
        index->levels--;
    }
}

void tux_remove(struct tux *tux, struct tux_index *index, uint32_t row, bool copy)
{
    struct tux_key key;
    struct tux_path path;
    if (row >= index->border) return;
    const struct tux_target target = tux_target_of(index, row, copy, &key);
    ndbrequire(index->root != TUX_NODE_NONE);
    tux_find(index, &target, &path);
    ndbrequire(tux_found(index, &target, &path)); /* I-TUX-2 */
    struct tux_leaf *leaf = tux_leaf(tux, path.step[0].ref);
    index->entries--;
    tux_entries_count(tux, -1);
    entry_take(leaf, path.step[0].at);
    if (leaf->head.count == 0) {
        jam();
        leaf_unlink(index, leaf);
        node_gone(index, &path, 0);
    } else {
        if (path.step[0].at == 0) {
            const struct first first = first_of_leaf(index, path.step[0].ref);
            tux_first_changed(index, &path, 0, first.digest, first.row,
                              (first.child & CHILD_COPY) != 0);
        }
        for (uint32_t level = 0; node_join(index, &path, level);)
            level++;
    }
    root_shrink(index);
}

void tux_settle(struct tux *tux, struct tux_index *index, uint32_t row)
{
    struct tux_key key;
    struct tux_path path;
    if (row >= index->border) return;
    const struct tux_target target = tux_target_of(index, row, true, &key);
    tux_find(index, &target, &path);
    ndbrequire(tux_found(index, &target, &path)); /* I-TUX-2 */
    struct tux_leaf *leaf = tux_leaf(tux, path.step[0].ref);
    leaf->tag[path.step[0].at] &= (uint16_t)~TAG_COPY;
    if (path.step[0].at == 0) tux_first_changed(index, &path, 0, target.digest, row, false);
}
