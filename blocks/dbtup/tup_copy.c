/* tup_copy.c -- a fragment's rows on their way to the same places of another replica: the walk at
 * the source, old rows and new ones at the target. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtup/tup_restore_state.h"
#include "blocks/dbtup/tup_state.h"
#include "values/errors.h"
#include "values/key.h"

#define PREFETCH_AHEAD 8u /* Slots that the memory is asked for ahead. */

/* --- The source. --- */

uint32_t tup_copy_map_words(const struct tup_frag *frag)
{
    return 1u + (frag->table->slots + 31u) / 32u;
}

uint32_t tup_copy_pages(const struct tup_frag *frag)
{
    return frag->fixed.count;
}

static uint32_t pages_of(const struct tup_frag *frag, uint32_t others)
{
    return frag->fixed.count > others ? frag->fixed.count : others;
}

static void map_add(const struct tup_frag *frag, struct tup_copy_map *map, uint32_t page,
                    uint32_t slot, uint32_t gci)
{
    uint32_t words = tup_copy_map_words(frag);
    uint32_t *at = map->words + map->used - words;
    if (map->used == 0 || at[0] != page) {
        at += words;
        memset(at, 0, (size_t)words * 4u);
        at[0] = page;
        map->used += words;
    }
    at[1u + slot / 32u] |= 1u << slot % 32u;
    map->rows++;
    map->sum += gci;
}

uint32_t tup_copy_next(const struct tup_frag *frag, struct tup_scan_position *position,
                       struct tup_copy_map *map, uint32_t *budget, bool *end)
{
    const struct tup_table *table = frag->table;
    uint32_t pages = pages_of(frag, map->pages);
    *end = false;
    while (*budget > 0 && position->page < pages) {
        void *page = page_dir_find(&frag->fixed, position->page);
        for (; page != NULL && position->slot < table->slots; position->slot++, (*budget)--) {
            const struct tup_row *row = slot_at(table, page, position->slot);
            if (*budget == 0) return ROW_NONE;
            __builtin_prefetch((const uint8_t *)row + (size_t)PREFETCH_AHEAD * table->row_size);
            if (row->bits == 0) continue;
            if (row->bits != ROW_USED || map->gci == 0 || row->gci > map->gci)
                return position->page << table->slot_bits | position->slot;
            map_add(frag, map, position->page, position->slot, row->gci);
        }
        /* A page that only the other one has costs that one as much. */
        uint32_t cost = page != NULL ? 1u : table->slots;
        *budget -= *budget < cost ? *budget : cost;
        position->page++;
        position->slot = 0;
    }
    *end = position->page >= pages;
    return ROW_NONE;
}

uint32_t tup_copy_permille(const struct tup_frag *frag, const struct tup_scan_position *position,
                           uint32_t pages)
{
    uint32_t all = pages_of(frag, pages);
    return position->page >= all ? 1000u : (uint32_t)(position->page * 1000ull / all);
}

uint32_t tup_copy_row(const struct tup_frag *frag, uint32_t row_id, uint32_t *out, uint32_t out_max,
                      uint32_t *gci)
{
    const struct tup_row *row = row_at(frag, row_id);
    uint32_t words;
    ndbrequire(row->bits == ROW_USED);
    *gci = row->gci;
    if (tup_checksum(frag, row) != row->checksum) return 0;
    tup_pairs_all(frag, (const uint8_t *)row, out, out_max, &words);
    return words;
}

/* --- The target. --- */

static struct tup_row *row_find(const struct tup_frag *frag, uint32_t row_id)
{
    const struct tup_table *table = frag->table;
    uint32_t slot = tup_row_slot(frag, row_id);
    void *page = page_dir_find(&frag->fixed, tup_row_page(frag, row_id));
    return page != NULL && slot < table->slots ? slot_at(table, page, slot) : NULL;
}

static bool is_old(const struct tup_copy_old *old, const struct tup_row *row)
{
    return row->bits == ROW_USED && row->gci <= old->gci && old->gci != 0 && row->lock == REF_NONE;
}

bool tup_copy_drop(struct tup *tup, const struct tup_copy_old *old, uint32_t row_id)
{
    const struct tup_scan_position at = {tup_row_page(old->frag, row_id),
                                         tup_row_slot(old->frag, row_id)};
    const struct tup_row *row = row_id != ROW_NONE ? row_find(old->frag, row_id) : NULL;
    if (row == NULL || !is_old(old, row) || tup_position_below(&at, &old->told)) return false;
    jam();
    tup_row_drop(tup, old->frag, row_id, tup_row_hash(tup, old->frag, old->key_def, row_id));
    return true;
}

/* Does the map have its pages in order, none twice, and no bit behind the last slot? */
static bool map_good(const struct tup_frag *frag, const struct tup_scan_position *from,
                     const struct tup_scan_position *to, const uint32_t *map, uint32_t words)
{
    const struct tup_table *table = frag->table;
    uint32_t size = tup_copy_map_words(frag);
    if (words % size != 0) return false;
    for (uint32_t at = 0; at < words; at += size) {
        uint32_t left = table->slots % 32u;
        if (map[at] < from->page || map[at] > to->page) return false;
        if (at > 0 && map[at] <= map[at - size]) return false;
        if (left != 0 && map[at + size - 1u] >> left != 0) return false;
    }
    return true;
}

#define LEAVING_MAX 16u /* The memory's answers for so many rows come side by side. */

struct leaving {
    uint32_t count;
    uint32_t row[LEAVING_MAX];
    uint32_t hash[LEAVING_MAX];
};

static void leaving_drop(struct tup *tup, struct tup_frag *frag, struct leaving *leaving)
{
    for (uint32_t i = 0; i < leaving->count; i++)
        tup_row_drop(tup, frag, leaving->row[i], leaving->hash[i]);
    leaving->count = 0;
}

static void leaving_add(struct tup *tup, const struct tup_copy_old *old, struct leaving *leaving,
                        uint32_t row_id)
{
    uint32_t hash = tup_row_hash(tup, old->frag, old->key_def, row_id);
    acc_prefetch(old->frag->index, hash);
    leaving->row[leaving->count] = row_id;
    leaving->hash[leaving->count++] = hash;
    if (leaving->count == LEAVING_MAX) leaving_drop(tup, old->frag, leaving);
}

/* Sweeps the slots first..last-1 of a page. */
static void sweep_page(struct tup *tup, struct tup_copy_old *old, uint32_t number, uint32_t first,
                       uint32_t last, const uint32_t *bits, struct tup_copy_swept *swept)
{
    const struct tup_table *table = old->frag->table;
    struct leaving leaving = {.count = 0};
    void *page = page_dir_find(&old->frag->fixed, number);
    for (uint32_t slot = first; page != NULL && slot < last; slot++) {
        const struct tup_row *row = slot_at(table, page, slot);
        __builtin_prefetch((const uint8_t *)row + (size_t)PREFETCH_AHEAD * table->row_size);
        if (!is_old(old, row)) continue;
        if (bits != NULL && (bits[slot / 32u] >> slot % 32u & 1u) != 0) {
            swept->rows++;
            swept->sum += row->gci;
            continue;
        }
        leaving_add(tup, old, &leaving, number << table->slot_bits | slot);
        swept->removed++;
        page = page_dir_find(&old->frag->fixed, number); /* It may have lost its last rows. */
    }
    leaving_drop(tup, old->frag, &leaving);
}

uint32_t tup_copy_sweep(struct tup *tup, struct tup_copy_old *old,
                        const struct tup_scan_position *to, const uint32_t *map, uint32_t words,
                        struct tup_copy_swept *swept)
{
    const struct tup_table *table = old->frag->table;
    uint32_t size = tup_copy_map_words(old->frag);
    uint32_t at = 0;
    *swept = (struct tup_copy_swept){.removed = 0};
    if (tup_position_below(to, &old->told) || to->slot > table->slots ||
        !map_good(old->frag, &old->told, to, map, words))
        return ERR_ROW_ID_TAKEN;
    for (uint32_t page = old->told.page; page <= to->page && page < old->frag->fixed.count;
         page++) {
        while (at < words && map[at] < page)
            at += size;
        sweep_page(tup, old, page, page == old->told.page ? old->told.slot : 0,
                   page == to->page ? to->slot : table->slots,
                   at < words && map[at] == page ? map + at + 1u : NULL, swept);
    }
    old->told = *to;
    return 0;
}

uint32_t tup_copy_put(struct tup *tup, const struct tup_restore_req *req,
                      const struct tup_copy_old *old)
{
    struct tup_restore_key key;
    uint32_t error = tup_key_collect(req->frag->table, req, &key);
    if (error != 0) return error;
    const struct tup_row *row = row_find(req->frag, req->row);
    if (row != NULL && row->bits != 0) {
        jam(); /* Nothing has been executed in a place that was not told of. */
        return ERR_ROW_ID_TAKEN;
    }
    struct tup_change_req parsed = tup_restore_change(req);
    parsed.key = key.word;
    parsed.key_words = key.words;
    error = tup_attr_parse(tup, req->frag, &parsed, ATTR_INSERT);
    if (error != 0) return error;
    uint32_t hash = req->hashed ? req->hash : (uint32_t)key_hash(req->key_def, key.word, key.words);
    uint32_t other = acc_find(req->frag->index, hash, key.word, key.words);
    if (other != ROW_NONE && !tup_copy_drop(tup, old, other)) return ERR_ROW_ID_TAKEN;
    error = tup_row_add(tup, req, &parsed, hash);
    if (error == 0 && req->gci > req->frag->gci_newest) req->frag->gci_newest = req->gci;
    return error;
}

void tup_copy_end(struct tup_frag *frag, uint32_t gci)
{
    if (gci > frag->gci_newest) frag->gci_newest = gci;
}
