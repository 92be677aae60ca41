/* log_ends.h -- which page of each log of each node is known to be durable: a list of words, the
 * same in signals and in system files. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/base/bitmask.h"
#include "kernel/base/block_ref.h"

/*
 * One entry per node, any order:
 *   word 0  node (16-31), log parts that follow (0-15)
 *   word 1  check of the entry: XXH3 of word 0 and the pairs, seeded with the GCI
 *   ...     per log part { low, high }: number of the last page that was durable when all of the
 *           GCI was; 0 = nothing is logged
 * The node makes its own entry; who passes it on, and who keeps it, changes no word of it.
 */
#define LOG_ENDS_PARTS      64u
#define LOG_ENDS_ENTRY_HEAD 2u
#define LOG_ENDS_ENTRY_MAX  (LOG_ENDS_ENTRY_HEAD + 2u * LOG_ENDS_PARTS)
#define LOG_ENDS_WORDS      (DATA_NODE_ID_MAX * LOG_ENDS_ENTRY_MAX)

struct log_ends {
    uint32_t size;
    uint32_t words[LOG_ENDS_WORDS];
};

/* Writes the entry of a node with `parts` pairs at `entry`, at most LOG_ENDS_ENTRY_MAX words;
 * returns how many. */
uint32_t log_ends_entry(uint32_t *entry, uint32_t node, uint32_t gci, const uint32_t (*pairs)[2],
                        uint32_t parts);
/* True when the words are whole entries of different nodes, made for this GCI. */
bool log_ends_good(const uint32_t *words, uint32_t size, uint32_t gci);
/* The node's entry in a good list, or NULL. Its pairs begin behind the head. */
const uint32_t *log_ends_find(const uint32_t *words, uint32_t size, uint32_t node);
/* Adds an entry of a good list; false when that has more words, or the node has one already. */
bool log_ends_add(struct log_ends *ends, const uint32_t *entry, uint32_t size);
/* Takes the entries of these nodes out. */
void log_ends_cut(struct log_ends *ends, const struct node_mask *nodes);

static inline uint32_t log_ends_node(const uint32_t *entry)
{
    return entry[0] >> 16;
}
static inline uint32_t log_ends_parts(const uint32_t *entry)
{
    return entry[0] & 0xFFFFu;
}
