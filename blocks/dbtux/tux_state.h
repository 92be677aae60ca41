/* tux_state.h -- private: DBTUX's instance, indexes, nodes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <string.h>
#include "blocks/dbtup/tup_row.h"
#include "blocks/dbtux/tux.h"
#include "kernel/base/page_dir.h"

/*
 * A tree of nodes in pages that all indexes of the instance share. Leaves are linked both ways. An
 * entry of a leaf is a row id and a tag; all tags stand together:
 *
 *    15                 1  0
 *   +--------------------+---+    digest: how far the key's digest is from the leaf's `base`, in
 *   |   digest (0..max)  | C |    steps of 2^shift; C: the entry stands for the row's copy
 *   +--------------------+---+
 *
 * Tags decide most comparisons. Where they are equal the rows are looked at. An inner node has of
 * each child its first entry, with all 64 bits of the digest, so that most comparisons need no row
 * there either.
 */
#define NODE_HEAD      24u
#define NODE_BYTES     1056u
#define LEAF_ENTRIES   ((NODE_BYTES - NODE_HEAD) / 6u)
#define INNER_CHILDREN 64u
#define NODES_PER_PAGE 31u
#define NODE_PAGE_HEAD 32u
#define TUX_LEVELS_MAX 12u /* Levels of a tree: a leaf, and inner nodes above it. */

/* A node is joined with a neighbour when it has fewer than LOW, if both have at most JOINED. */
#define LEAF_LOW       (LEAF_ENTRIES / 3u)
#define LEAF_JOINED    (LEAF_ENTRIES * 4u / 5u)
#define INNER_LOW      (INNER_CHILDREN / 3u)
#define INNER_JOINED   (INNER_CHILDREN * 4u / 5u)
#define TAG_DIGESTS    0x8000u
#define TAG_COPY       1u
#define CHILD_COPY     0x80000000u /* In `child`: its first entry stands for a row's copy. */
#define NODE_PAGES_MAX (PAGE_DIR_MAX - 1u)

struct tux_node_head {
    uint32_t prev; /* Leaf: the one before it. Free node: 1 + the page's next free place. */
    uint32_t next; /* Leaf: the one behind it. */
    uint64_t base; /* Leaf: the digest from which its tags count. */
    uint16_t count;
    uint8_t shift; /* Leaf: its tags count in steps of 2^shift. */
    uint8_t level; /* 0: it is a leaf. */
    uint32_t used; /* 1: it is in use; 0: it is free. */
};

struct tux_leaf {
    struct tux_node_head head;
    uint32_t row[LEAF_ENTRIES];
    uint16_t tag[LEAF_ENTRIES];
};

struct tux_inner {
    struct tux_node_head head;
    uint64_t digest[INNER_CHILDREN];
    uint32_t row[INNER_CHILDREN];
    uint32_t child[INNER_CHILDREN];
};

static_assert(sizeof(struct tux_node_head) == NODE_HEAD, "no padding");
static_assert(sizeof(struct tux_leaf) <= NODE_BYTES, "a leaf is a node");
static_assert(sizeof(struct tux_inner) <= NODE_BYTES, "an inner node is a node");
static_assert(NODE_PAGE_HEAD + NODES_PER_PAGE * NODE_BYTES == PAGE_SIZE_BYTES, "a page is full");

struct tux_page {
    uint32_t number;
    uint32_t in_use;
    uint32_t free;   /* 1 + first free place that was used before; 0: there is none. */
    uint32_t carved; /* Places from here on were never used. */
    uint32_t next;   /* List of pages with free places: 1 + number, 0 = none. */
    uint32_t prev;
    uint32_t unused[2];
};
static_assert(sizeof(struct tux_page) == NODE_PAGE_HEAD, "nodes begin behind it");

struct tux_index {
    struct pool_record record;
    struct tux *tux;
    struct tup_frag *rows; /* Lives as long as this. */
    const struct tux_columns *columns;
    struct tux_index *next; /* The fragment's next index. */
    uint64_t border; /* Row ids from here on are not in it yet; TUX_NO_BORDER: it is built. */
    uint32_t root;   /* TUX_NODE_NONE while there are no entries. */
    uint32_t levels;
    uint64_t entries;
    uint64_t nodes;
};

struct tux {
    struct block block;
    struct arena *arena;
    struct pool indexes;
    struct page_dir pages;
    uint32_t page_free; /* 1 + number of the first page with free places. */
    uint64_t nodes_free;
    uint64_t nodes_used;
    uint64_t entries;        /* Entries of all indexes. */
    uint32_t owed;           /* Pages that the arena was last told are owed. */
    uint32_t nodes_reserved; /* Between tux_reserve() and tux_trim() so many stay free, but for what
                                tux_add() takes. */
};

/* Prepares everything but the block's head; also for tests. */
void tux_init(struct tux *tux, struct arena *arena, uint32_t indexes_max);
void tux_check(struct block *block);

/* --- tux_node.c: memory of nodes. --- */

bool tux_nodes_reserve(struct tux *tux, uint32_t count);
uint32_t tux_node_seize(struct tux *tux, struct tux_index *index,
                        uint32_t level); /* A reserved one. */
void tux_node_release(struct tux *tux, struct tux_index *index, uint32_t ref);
void tux_nodes_check(const struct tux *tux);
/* There are so many entries more, or less: what is owed for them changes. */
void tux_entries_count(struct tux *tux, int64_t change);

static inline struct tux_node_head *tux_node(const struct tux *tux, uint32_t ref)
{
    uint8_t *page = page_dir_at(&tux->pages, (ref - 1u) / NODES_PER_PAGE);
    return (struct tux_node_head *)(void *)(page + NODE_PAGE_HEAD +
                                            (ref - 1u) % NODES_PER_PAGE * NODE_BYTES);
}

static inline struct tux_leaf *tux_leaf(const struct tux *tux, uint32_t ref)
{
    return (struct tux_leaf *)(void *)tux_node(tux, ref);
}

static inline struct tux_inner *tux_inner(const struct tux *tux, uint32_t ref)
{
    return (struct tux_inner *)(void *)tux_node(tux, ref);
}

static inline struct tux_entry tux_entry_at(const struct tux_leaf *leaf, uint32_t at)
{
    return (struct tux_entry){leaf->row[at], (leaf->tag[at] & TAG_COPY) != 0};
}

/* --- tux_key.c: keys, digests, tags. --- */

/* A place that is looked for. */
struct tux_target {
    struct tux_search search;
    uint64_t digest;
};

struct tux_key {
    struct scan_value value[TUX_COLUMNS_MAX];
};

/* The values that an entry has now. */
void tux_key_get(const struct tux_index *index, uint32_t row, bool copy, struct tux_key *key);
uint64_t tux_digest(const struct tux_columns *columns, const struct scan_value *value,
                    uint32_t count, bool fill);
/* The digest of an entry's key. */
uint64_t tux_digest_of(const struct tux_index *index, uint32_t row, bool copy);
/* An existing row as a place; `key` keeps its values. */
struct tux_target tux_target_of(const struct tux_index *index, uint32_t row, bool copy,
                                struct tux_key *key);
struct tux_target tux_target_at(const struct tux_index *index, const struct tux_search *search);
/* The entry's place against the target's: < 0, 0 (only TUX_AT), > 0. `same` says that the keys are
 * equal. */
int tux_entry_compare(const struct tux_index *index, uint32_t row, bool copy,
                      const struct tux_target *target, bool same);
uint32_t tux_tag_digest(const struct tux_node_head *leaf, uint64_t digest);
/* Gives the leaf tags that tell its entries apart, if those that it has do so badly. */
void tux_leaf_fit(const struct tux_index *index, struct tux_leaf *leaf);

/* --- tux_find.c: from the root to a place. --- */

struct tux_step {
    uint32_t ref;
    uint32_t at; /* Inner node: index of the child taken. Leaf: index of the place. */
};

struct tux_path {
    struct tux_step step[TUX_LEVELS_MAX]; /* Steps by level. */
};

/* Where the target stands or would stand: before step[0].at of that leaf. There is a root. */
void tux_find(const struct tux_index *index, const struct tux_target *target,
              struct tux_path *path);
/* How many entries of the leaf stand before the target. */
uint32_t tux_leaf_find(const struct tux_index *index, const struct tux_leaf *leaf,
                       const struct tux_target *target);
/* The entry at the path's place is the target itself. */
bool tux_found(const struct tux_index *index, const struct tux_target *target,
               const struct tux_path *path);
/* The first entry of the node at `level` is another one: inner nodes that name it learn that. */
void tux_first_changed(const struct tux_index *index, const struct tux_path *path, uint32_t level,
                       uint64_t digest, uint32_t row, bool copy);
