/* tup_scan.c -- walks a fragment's rows in row id order. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtup/tup_state.h"

#define PREFETCH_AHEAD 8u /* Slots that the memory is asked for ahead. */

/* The part that both kinds of scan share; `rows` is NULL for counting. */
static uint32_t scan(const struct tup *tup, const struct tup_frag *frag,
                     struct tup_scan_position *position, const uint32_t transid[2], uint32_t *rows,
                     uint32_t max, uint32_t budget, bool *end)
{
    const struct tup_table *table = frag->table;
    uint32_t found = 0;
    *end = false;
    while (found < max && budget > 0) {
        void *page = page_dir_find(&frag->fixed, position->page);
        if (page == NULL) {
            if (position->page >= frag->fixed.count) {
                *end = true;
                return found;
            }
            position->page++;
            position->slot = 0;
            budget--;
            continue;
        }
        uint32_t first = position->page << table->slot_bits;
        uint32_t slot = position->slot;
        uint32_t last =
            slot < table->slots && budget < table->slots - slot ? slot + budget : table->slots;
        uint32_t looked = slot;
        for (; slot < last && found < max; slot++) {
            const struct tup_row *row = slot_at(table, page, slot);
            __builtin_prefetch((const uint8_t *)row + (size_t)PREFETCH_AHEAD * table->row_size);
            if (row->bits != ROW_USED &&
                tup_version(tup, frag, row, transid[0], transid[1]) == NULL)
                continue;
            if (rows != NULL) rows[found] = first | slot;
            found++;
        }
        budget -= slot > looked ? slot - looked : 0;
        position->slot = slot;
        if (slot >= table->slots) {
            position->page++;
            position->slot = 0;
        }
    }
    *end = position->page >= frag->fixed.count;
    return found;
}

uint32_t tup_scan_next(struct tup *tup, const struct tup_frag *frag,
                       struct tup_scan_position *position, uint32_t transid1, uint32_t transid2,
                       uint32_t *rows, uint32_t max, uint32_t budget, bool *end)
{
    const uint32_t transid[2] = {transid1, transid2};
    return scan(tup, frag, position, transid, rows, max, budget, end);
}

uint32_t tup_scan_count(struct tup *tup, const struct tup_frag *frag,
                        struct tup_scan_position *position, uint32_t transid1, uint32_t transid2,
                        uint32_t budget, bool *end)
{
    const uint32_t transid[2] = {transid1, transid2};
    return scan(tup, frag, position, transid, NULL, UINT32_MAX, budget, end);
}

bool tup_row_alive(struct tup *tup, const struct tup_frag *frag, uint32_t row_id, uint32_t transid1,
                   uint32_t transid2)
{
    const struct tup_table *table = frag->table;
    uint32_t slot = tup_row_slot(frag, row_id);
    void *page = page_dir_find(&frag->fixed, tup_row_page(frag, row_id));
    if (page == NULL || slot >= table->slots) return false;
    return tup_version(tup, frag, slot_at(table, page, slot), transid1, transid2) != NULL;
}
