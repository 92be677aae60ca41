/* tup_checkpoint.c -- which pages of rows have changed since a checkpoint wrote them; their
 * committed rows. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A mark is a bit per page number. It belongs to the number, not to the page: a page that has
 * become empty is gone, and the checkpoint has to tell so. The first numbers' marks stand in the
 * fragment; a page of marks covers 8 GB of rows.
 */
#include "blocks/dbtup/tup_state.h"
#include "values/errors.h"

#define STEP_WORDS 64u /* Words of marks that a call looks at: those of 4096 pages. */
/* A delta page keeps at least one of so many rows, and more than its map costs: no row is shorter
 * in a file than so many words. */
#define DELTA_SHARE     8u
#define DELTA_ROW_WORDS 4u

static_assert((PAGE_SIZE_BYTES - FIXED_PAGE_HEAD) / (ROW_HEAD + 4u) <= TUP_KEPT_WORDS * 32u,
              "a map has a bit for each slot of any table");

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
    ndbrequire(frag->wanted == 0); /* I-TUP-6 */
    frag->gci_low = UINT32_MAX;
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

void tup_checkpoint_begin(struct tup_frag *frag, struct tup_checkpoint *at, uint32_t which)
{
    *at =
        (struct tup_checkpoint){.which = which, .pages = frag->fixed.count, .since = frag->gci_low};
    frag->gci_low = UINT32_MAX;
}

/* The oldest GCI of versions that were put into rows since the checkpoint before began. */
static uint32_t since(const struct tup_frag *frag, const struct tup_checkpoint *at)
{
    return frag->gci_low < at->since ? frag->gci_low : at->since;
}

static uint32_t kept_words(const struct tup_table *table)
{
    return (table->slots + 31u) / 32u;
}

static bool is_committed(const struct tup_row *row)
{
    return (row->bits & ROW_USED) != 0 && (row->bits & ROW_INSERTED) == 0;
}

/* Are there rows enough to be kept that the others alone are worth a map? */
static bool delta_pays(const struct tup_frag *frag, const struct tup_checkpoint *at,
                       const struct fixed_page *page)
{
    const struct tup_table *table = frag->table;
    uint32_t low = since(frag, at);
    uint32_t enough = page->used / DELTA_SHARE + kept_words(table) / DELTA_ROW_WORDS + 1u;
    uint32_t kept = 0;
    for (uint32_t slot = 0; slot < table->slots && kept < enough; slot++) {
        const struct tup_row *row = slot_at(table, (void *)(uintptr_t)page, slot);
        kept += row->bits == ROW_USED && row->gci < low ? 1u : 0u;
    }
    return kept >= enough;
}

static void page_begin(const struct tup_frag *frag, struct tup_checkpoint *at, uint32_t number)
{
    const struct fixed_page *page = page_dir_find(&frag->fixed, number);
    at->page = number;
    at->slot = 0;
    at->next = number + 1u;
    at->delta = at->which != TUP_CHECKPOINT_ALL && number % TUP_CHECKPOINT_CLASSES != at->which &&
                page != NULL && delta_pays(frag, at, page);
    if (!at->delta) return;
    at->kept_words = kept_words(frag->table);
    memset(at->kept, 0, (size_t)at->kept_words * 4u);
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
                continue; /* It was empty at the last one too. */
            if (marked)
                *word &= ~(
                    1ull << (number & 63u)); /* Changes from now on are for the next checkpoint. */
            page_begin(frag, at, number);
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
    at->looked = 0;
    if (page == NULL) return 0;
    for (; at->slot < table->slots; at->slot++, at->looked++) {
        const struct tup_row *row = slot_at(table, page, at->slot);
        if (!is_committed(row)) continue;
        __builtin_prefetch((const uint8_t *)row + 2u * table->row_size);
        *found = (struct tup_checkpoint_row){.slot = at->slot, .gci = row->gci};
        if ((row->bits & ROW_CHANGED) != 0) found->gci = change_get(tup, row->gci)->gci;
        if (at->delta && found->gci < since(frag, at)) {
            at->kept[at->slot / 32u] |= 1u << at->slot % 32u;
            continue;
        }
        found->damaged = tup_checksum(frag, row) != row->checksum;
        tup_pairs_all(frag, (const uint8_t *)row, out, out_max, &words);
        at->slot++;
        return words;
    }
    return 0;
}

/* --- Restoring. --- */

uint32_t tup_checkpoint_want(struct tup_frag *frag, uint32_t page, const uint32_t *bits,
                             uint32_t words)
{
    for (uint32_t i = 0; i < words; i++) {
        for (uint32_t left = bits[i]; left != 0; left &= left - 1u) {
            uint32_t slot = i * 32u + (uint32_t)__builtin_ctz(left);
            uint32_t row = tup_row_id(frag, page, slot);
            uint32_t error = row == ROW_NONE ? ERR_ROW_ID_TAKEN : tup_slot_want(frag, row);
            if (error != 0) return error;
        }
    }
    return 0;
}

bool tup_checkpoint_wants(const struct tup_frag *frag, uint32_t row)
{
    const struct tup_table *table = frag->table;
    uint32_t slot = tup_row_slot(frag, row);
    void *page = page_dir_find(&frag->fixed, tup_row_page(frag, row));
    return page != NULL && slot < table->slots && slot_at(table, page, slot)->bits == ROW_WANTED;
}

uint32_t tup_checkpoint_wanted(const struct tup_frag *frag, uint32_t page, const uint32_t *bits,
                               uint32_t words)
{
    const struct fixed_page *found = page_dir_find(&frag->fixed, page);
    uint32_t wanted = 0;
    if (found == NULL || bits == NULL) return found == NULL ? 0 : found->wanted;
    for (uint32_t i = 0; i < words; i++) {
        for (uint32_t left = bits[i]; left != 0; left &= left - 1u) {
            uint32_t row = tup_row_id(frag, page, i * 32u + (uint32_t)__builtin_ctz(left));
            wanted += row != ROW_NONE && tup_checkpoint_wants(frag, row) ? 1u : 0u;
        }
    }
    return wanted;
}

uint32_t tup_checkpoint_wanted_all(const struct tup_frag *frag)
{
    return frag->wanted;
}
