/* tup_checkpoint.c -- which pages of rows have changed since a checkpoint wrote them; their
 * committed rows. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A mark is a bit per page number. It belongs to the number, not to the page: a page that has
 * become empty is gone, and the checkpoint has to tell so. The first numbers' marks stand in the
 * fragment; a page of marks covers 8 GB of rows.
 */
#include "blocks/dbtup/tup_state.h"
#include "signals/errors.h"

#define STEP_WORDS 64u /* Of marks looked at before others have their turn: 4096 pages. */

bool tup_marks_reserve(struct tup_frag *frag, uint32_t number)
{
    if (number < MARKS_INLINE || !frag->tup->checkpoints) return true;
    uint64_t **page = &frag->marks[number / MARKS_PER_PAGE];
    if (*page != NULL) return true;
    *page = arena_page(frag->tup->arena, RG_DATA);
    if (*page == NULL) return false;
    memset(*page, 0, PAGE_SIZE_BYTES);
    return true;
}

void tup_marks_drop(struct tup_frag *frag)
{
    for (uint32_t i = 0; i < MARK_PAGES; i++) {
        if (frag->marks[i] != NULL) arena_page_release(frag->tup->arena, RG_DATA, frag->marks[i]);
        frag->marks[i] = NULL;
    }
    memset(frag->marks_inline, 0, sizeof frag->marks_inline);
}

static uint32_t marks_end(const struct tup_frag *frag)
{
    uint32_t end = MARKS_INLINE;
    for (uint32_t i = 0; i < MARK_PAGES; i++) {
        if (frag->marks[i] != NULL) end = (i + 1u) * MARKS_PER_PAGE;
    }
    return end;
}

void tup_checkpoint_clear(struct tup_frag *frag, uint32_t pages)
{
    uint32_t end = marks_end(frag);
    if (pages < end) end = pages;
    for (uint32_t number = 0; number < end; number += 64u) {
        uint64_t *word = tup_marks_of(frag, number);
        uint32_t left = end - number;
        if (word != NULL) *word &= left >= 64u ? 0 : ~0ull << left;
    }
}

uint32_t tup_checkpoint_cover(struct tup_frag *frag, uint32_t page, bool *first)
{
    if (page >= PAGE_DIR_MAX) return ERR_ROW_ID_TAKEN;
    if (!tup_marks_reserve(frag, page)) return ERR_NO_MEMORY_DATA;
    const uint64_t *word = tup_marks_of(frag, page);
    *first = word == NULL || (*word >> (page & 63u) & 1u) == 0;
    tup_mark_page(frag, page);
    return 0;
}

uint32_t tup_checkpoint_gci(const struct tup_frag *frag)
{
    return frag->gci_newest;
}

void tup_checkpoint_begin(const struct tup_frag *frag, struct tup_checkpoint *at, uint32_t which)
{
    *at = (struct tup_checkpoint){.which = which, .pages = frag->fixed.count};
}

/* Pages of the 64 from `number` on that are to be written. */
static uint64_t wanted(struct tup_frag *frag, const struct tup_checkpoint *at, uint32_t number)
{
    const uint64_t *word = tup_marks_of(frag, number);
    if (at->which == TUP_CHECKPOINT_ALL) return UINT64_MAX;
    return (word == NULL ? 0 : *word) | 0x0101010101010101u << at->which;
}

enum tup_checkpoint_step tup_checkpoint_page(struct tup *tup, struct tup_frag *frag,
                                             struct tup_checkpoint *at)
{
    (void)tup;
    for (uint32_t step = 0; step < STEP_WORDS && at->next < at->pages; step++) {
        uint32_t base = at->next & ~63u;
        uint64_t bits = wanted(frag, at, base) & ~0ull << (at->next & 63u);
        while (bits != 0) {
            uint32_t number = base + (uint32_t)__builtin_ctzll(bits);
            bits &= bits - 1u;
            if (number >= at->pages) break;
            uint64_t *word = tup_marks_of(frag, number);
            bool marked = word != NULL && (*word >> (number & 63u) & 1u) != 0;
            if (!marked && page_dir_find(&frag->fixed, number) == NULL)
                continue; /* Was empty at the last one too. */
            if (marked)
                *word &= ~(
                    1ull << (number & 63u)); /* Changes from now on are for the next checkpoint. */
            at->page = number;
            at->slot = 0;
            at->next = number + 1u;
            return TUP_CHECKPOINT_PAGE;
        }
        at->next = base + 64u;
    }
    return at->next >= at->pages ? TUP_CHECKPOINT_END : TUP_CHECKPOINT_LATER;
}

uint32_t tup_checkpoint_row(struct tup *tup, const struct tup_frag *frag, struct tup_checkpoint *at,
                            uint32_t *out, uint32_t out_max, struct tup_checkpoint_row *found)
{
    const struct tup_table *table = frag->table;
    void *page = page_dir_find(&frag->fixed, at->page);
    uint32_t words;
    if (page == NULL) return 0;
    for (; at->slot < table->slots; at->slot++) {
        const struct tup_row *row = slot_at(table, page, at->slot);
        if ((row->bits & ROW_USED) == 0 || (row->bits & ROW_INSERTED) != 0) continue;
        __builtin_prefetch((const uint8_t *)row + 2u * table->row_size);
        *found = (struct tup_checkpoint_row){.slot = at->slot, .gci = row->gci};
        if ((row->bits & ROW_CHANGED) != 0) found->gci = change_get(tup, row->gci)->gci;
        found->damaged = tup_checksum(frag, row) != row->checksum;
        tup_pairs_all(frag, (const uint8_t *)row, out, out_max, &words);
        at->slot++;
        return words;
    }
    return 0;
}
