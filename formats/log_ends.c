/* log_ends.c -- lists of where the nodes' logs end: making, checking, looking up. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "formats/log_ends.h"
#include <string.h>
#include <xxhash.h>

static uint32_t entry_words(const uint32_t *entry)
{
    return LOG_ENDS_ENTRY_HEAD + 2u * log_ends_parts(entry);
}

static uint32_t entry_check(const uint32_t *entry, uint32_t gci)
{
    uint64_t pairs =
        XXH3_64bits_withSeed(entry + LOG_ENDS_ENTRY_HEAD, (size_t)log_ends_parts(entry) * 8u, gci);
    return (uint32_t)XXH3_64bits_withSeed(entry, 4u, pairs);
}

uint32_t log_ends_entry(uint32_t *entry, uint32_t node, uint32_t gci, const uint32_t (*pairs)[2],
                        uint32_t parts)
{
    if (parts > LOG_ENDS_PARTS) parts = LOG_ENDS_PARTS;
    entry[0] = node << 16 | parts;
    memcpy(entry + LOG_ENDS_ENTRY_HEAD, pairs, (size_t)parts * 8u);
    entry[1] = entry_check(entry, gci);
    return entry_words(entry);
}

bool log_ends_good(const uint32_t *words, uint32_t size, uint32_t gci)
{
    struct node_mask seen;
    memset(&seen, 0, sizeof(seen));
    for (uint32_t at = 0; at < size; at += entry_words(words + at)) {
        const uint32_t *entry = words + at;
        uint32_t node = log_ends_node(entry);
        if (size - at < LOG_ENDS_ENTRY_HEAD || log_ends_parts(entry) > LOG_ENDS_PARTS ||
            size - at < entry_words(entry))
            return false;
        if (node == 0 || node > DATA_NODE_ID_MAX || node_mask_has(&seen, node)) return false;
        if (entry[1] != entry_check(entry, gci)) return false;
        node_mask_add(&seen, node);
    }
    return true;
}

const uint32_t *log_ends_find(const uint32_t *words, uint32_t size, uint32_t node)
{
    for (uint32_t at = 0; at < size; at += entry_words(words + at)) {
        if (log_ends_node(words + at) == node) return words + at;
    }
    return NULL;
}

bool log_ends_add(struct log_ends *ends, const uint32_t *entry, uint32_t size)
{
    if (size != entry_words(entry) || size > LOG_ENDS_WORDS - ends->size) return false;
    if (log_ends_find(ends->words, ends->size, log_ends_node(entry)) != NULL) return false;
    memcpy(ends->words + ends->size, entry, (size_t)size * 4u);
    ends->size += size;
    return true;
}

void log_ends_cut(struct log_ends *ends, const struct node_mask *nodes)
{
    uint32_t kept = 0;
    for (uint32_t at = 0; at < ends->size;) {
        uint32_t words = entry_words(ends->words + at);
        if (!node_mask_has(nodes, log_ends_node(ends->words + at))) {
            memmove(ends->words + kept, ends->words + at, (size_t)words * 4u);
            kept += words;
        }
        at += words;
    }
    ends->size = kept;
}
