/* tux_key.c -- keys of entries: values in rows, digests of 64 bits, tags of 15. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtux/tux_state.h"

#define DIGEST_BITS 64u
#define PREFETCH    8u /* Rows that the memory is asked for ahead. */
/* A leaf gets tags anew when steps could be so much smaller. */
#define SHIFT_SLACK 3u

void tux_column_add(struct tux_columns *columns, uint32_t id, const struct column_format *format,
                    bool nullable)
{
    struct tux_column *column = &columns->column[columns->count++];
    bool exact;
    *column = (struct tux_column){.id = (uint16_t)id, .nullable = nullable, .format = *format};
    column->bits = (uint8_t)column_sort_bits(format, &exact);
    column->exact = exact;
    uint32_t bits = 0;
    columns->exact = 1;
    for (uint32_t i = 0; i < columns->count; i++) {
        bits += columns->column[i].bits + columns->column[i].nullable;
        if (!columns->column[i].exact) columns->exact = 0;
    }
    if (bits > DIGEST_BITS) columns->exact = 0;
}

void tux_key_get(const struct tux_index *index, uint32_t row, bool copy, struct tux_key *key)
{
    const uint8_t *image = tup_index_image(index->rows, row, copy);
    for (uint32_t i = 0; i < index->columns->count; i++) {
        key->value[i].bytes =
            tup_index_value(index->rows, image, index->columns->column[i].id, &key->value[i].size);
    }
}

/* The lowest bits of `digest` are free: how many. */
struct digest {
    uint64_t bits;
    uint32_t room;
};

static void digest_put(struct digest *digest, uint64_t value, uint32_t bits)
{
    if (bits > digest->room) {
        value >>= bits - digest->room;
        bits = digest->room;
    }
    digest->room -= bits;
    digest->bits |= value << digest->room;
}

/* Adds a column's share: a bit that says "not NULL", if it can be, and its prefix. True: that is
 * all of the value. */
static bool column_put(struct digest *digest, const struct tux_column *column,
                       const struct scan_value *value)
{
    if (column->nullable) digest_put(digest, value->size != 0, 1);
    if (value->size == 0) return true;
    if (digest->room == 0) return false;
    digest_put(digest, column_sort_prefix(&column->format, value->bytes, value->size),
               column->bits);
    return column->exact != 0;
}

uint64_t tux_digest(const struct tux_columns *columns, const struct scan_value *value,
                    uint32_t count, bool fill)
{
    struct digest digest = {.room = DIGEST_BITS};
    for (uint32_t i = 0; i < count && digest.room > 0; i++) {
        /* Bits that a shortened prefix leaves are not for the next column. */
        if (!column_put(&digest, &columns->column[i], &value[i])) digest.room = 0;
    }
    if (fill && digest.room == DIGEST_BITS) return UINT64_MAX;
    return fill ? digest.bits | ((1ull << digest.room) - 1u) : digest.bits;
}

uint64_t tux_digest_of(const struct tux_index *index, uint32_t row, bool copy)
{
    struct tux_key key;
    tux_key_get(index, row, copy, &key);
    return tux_digest(index->columns, key.value, index->columns->count, false);
}

struct tux_target tux_target_of(const struct tux_index *index, uint32_t row, bool copy,
                                struct tux_key *key)
{
    tux_key_get(index, row, copy, key);
    return (struct tux_target){
        .search = {.value = key->value,
                   .count = index->columns->count,
                   .place = TUX_AT,
                   .row = row,
                   .copy = copy},
        .digest = tux_digest(index->columns, key->value, index->columns->count, false)};
}

struct tux_target tux_target_at(const struct tux_index *index, const struct tux_search *search)
{
    return (struct tux_target){.search = *search,
                               .digest = tux_digest(index->columns, search->value, search->count,
                                                    search->place == TUX_BEHIND)};
}

static int value_compare(const struct tux_column *column, const struct scan_value *a,
                         const struct scan_value *b)
{
    if (a->size == 0 || b->size == 0) return (a->size != 0) - (b->size != 0); /* NULLs first. */
    return column_compare(&column->format, a->bytes, a->size, b->bytes, b->size);
}

static int place_compare(uint32_t row, bool copy, const struct tux_search *search)
{
    if (search->place != TUX_AT) return search->place == TUX_BEFORE ? 1 : -1;
    if (row != search->row) return row < search->row ? -1 : 1;
    return (int)copy - (int)search->copy;
}

int tux_entry_compare(const struct tux_index *index, uint32_t row, bool copy,
                      const struct tux_target *target, bool same)
{
    const struct tux_search *search = &target->search;
    if (same) return place_compare(row, copy, search);
    const uint8_t *image = tup_index_image(index->rows, row, copy);
    for (uint32_t i = 0; i < search->count; i++) {
        const struct tux_column *column = &index->columns->column[i];
        struct scan_value value;
        value.bytes = tup_index_value(index->rows, image, column->id, &value.size);
        int order = value_compare(column, &value, &search->value[i]);
        if (order != 0) return order;
    }
    return place_compare(row, copy, search);
}

/* --- Tags. --- */

uint32_t tux_tag_digest(const struct tux_node_head *leaf, uint64_t digest)
{
    if (digest <= leaf->base) return 0;
    uint64_t steps = (digest - leaf->base) >> leaf->shift;
    return steps < TAG_DIGESTS ? (uint32_t)steps : TAG_DIGESTS - 1u;
}

/* The smallest steps with which the leaf's digests take half of the tags. */
static uint32_t shift_for(uint64_t range)
{
    uint32_t shift = 0;
    while (range >> shift >= TAG_DIGESTS / 2u)
        shift++;
    return shift;
}

static bool fits(const struct tux_node_head *head, uint64_t first, uint64_t last)
{
    return head->base <= first && tux_tag_digest(head, last) < TAG_DIGESTS - 1u &&
           head->shift <= shift_for(last - first) + SHIFT_SLACK;
}

void tux_leaf_fit(const struct tux_index *index, struct tux_leaf *leaf)
{
    uint32_t count = leaf->head.count;
    if (count == 0) return;
    uint64_t first = tux_digest_of(index, leaf->row[0], (leaf->tag[0] & TAG_COPY) != 0);
    uint64_t last =
        tux_digest_of(index, leaf->row[count - 1u], (leaf->tag[count - 1u] & TAG_COPY) != 0);
    if (fits(&leaf->head, first, last)) return;
    jam();
    uint32_t shift = shift_for(last - first);
    uint64_t slack = (uint64_t)(TAG_DIGESTS / 4u) << shift;
    leaf->head.shift = (uint8_t)shift;
    leaf->head.base = first > slack ? first - slack : 0;
    for (uint32_t i = 0; i < count; i++) {
        bool copy = (leaf->tag[i] & TAG_COPY) != 0;
        if (i + PREFETCH < count) tup_prefetch(index->rows, leaf->row[i + PREFETCH]);
        uint32_t digest = tux_tag_digest(&leaf->head, tux_digest_of(index, leaf->row[i], copy));
        leaf->tag[i] = (uint16_t)(digest << 1 | (copy ? TAG_COPY : 0u));
    }
}
