/* bitmask.h -- a set of node ids. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define NODE_MASK_WORDS 8u

/* A set of node ids 0..255 in 32-bit words, so that it can stand in a signal's payload. */
struct node_mask {
    uint32_t word[NODE_MASK_WORDS];
};

static inline void node_mask_add(struct node_mask *mask, uint32_t node)
{
    mask->word[node >> 5 & 7u] |= 1u << (node & 31u);
}

static inline void node_mask_remove(struct node_mask *mask, uint32_t node)
{
    mask->word[node >> 5 & 7u] &= ~(1u << (node & 31u));
}

static inline bool node_mask_has(const struct node_mask *mask, uint32_t node)
{
    return (mask->word[node >> 5 & 7u] >> (node & 31u) & 1u) != 0;
}

static inline bool node_mask_empty(const struct node_mask *mask)
{
    uint32_t any = 0;
    for (uint32_t i = 0; i < NODE_MASK_WORDS; i++)
        any |= mask->word[i];
    return any == 0;
}

static inline uint32_t node_mask_count(const struct node_mask *mask)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < NODE_MASK_WORDS; i++)
        count += (uint32_t)__builtin_popcount(mask->word[i]);
    return count;
}

static inline bool node_mask_equal(const struct node_mask *a, const struct node_mask *b)
{
    uint32_t differs = 0;
    for (uint32_t i = 0; i < NODE_MASK_WORDS; i++)
        differs |= a->word[i] ^ b->word[i];
    return differs == 0;
}

/* Is every member of `part` one of `whole`? */
static inline bool node_mask_within(const struct node_mask *part, const struct node_mask *whole)
{
    uint32_t outside = 0;
    for (uint32_t i = 0; i < NODE_MASK_WORDS; i++)
        outside |= part->word[i] & ~whole->word[i];
    return outside == 0;
}

static inline void node_mask_join(struct node_mask *mask, const struct node_mask *more)
{
    for (uint32_t i = 0; i < NODE_MASK_WORDS; i++)
        mask->word[i] |= more->word[i];
}

static inline void node_mask_cut(struct node_mask *mask, const struct node_mask *less)
{
    for (uint32_t i = 0; i < NODE_MASK_WORDS; i++)
        mask->word[i] &= ~less->word[i];
}

static inline void node_mask_keep(struct node_mask *mask, const struct node_mask *only)
{
    for (uint32_t i = 0; i < NODE_MASK_WORDS; i++)
        mask->word[i] &= only->word[i];
}

/* The smallest member greater than `node`, or 0 when there is none. Start with node 0. */
static inline uint32_t node_mask_next(const struct node_mask *mask, uint32_t node)
{
    for (uint32_t next = node + 1; next <= 255u; next++) {
        uint32_t rest = mask->word[next >> 5] >> (next & 31u);
        if (rest != 0) return next + (uint32_t)__builtin_ctz(rest);
        next |= 31u; /* Go on with the next word. */
    }
    return 0;
}

/** A loop over the nodes of a set, the least id first. Node ids begin with 1. */
#define EACH_NODE(node, mask)                                                                      \
    for (uint32_t node = node_mask_next(mask, 0); (node) != 0; (node) = node_mask_next(mask, node))
