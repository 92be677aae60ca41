/* tup_fixed.c -- slots for the fixed parts of rows: pages, free slots, row ids. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtup/tup_state.h"
#include "values/errors.h"

static struct fixed_page *page_at(const struct tup_frag *frag, uint32_t number)
{
    return page_dir_at(&frag->fixed, number);
}

/* Free slots of a page are linked both ways: next in the low half of `gci`, previous in the high
 * half. */
static uint32_t links(uint32_t next, uint32_t prev)
{
    return next | prev << 16;
}

static void list_add(struct tup_frag *frag, struct fixed_page *page)
{
    page->next = frag->free_page;
    page->prev = 0;
    if (page->next != 0) page_at(frag, page->next - 1)->prev = page->number + 1;
    frag->free_page = page->number + 1;
}

static void list_remove(struct tup_frag *frag, const struct fixed_page *page)
{
    if (page->next != 0) page_at(frag, page->next - 1)->prev = page->prev;
    if (page->prev != 0)
        page_at(frag, page->prev - 1)->next = page->next;
    else
        frag->free_page = page->next;
}

/* All slots of a new page are free, in order. */
static void page_format(struct tup_frag *frag, struct fixed_page *page, uint32_t number)
{
    const struct tup_table *table = frag->table;
    *page = (struct fixed_page){.number = number, .free_first = 0};
    for (uint32_t slot = 0; slot < table->slots; slot++) {
        struct tup_row *row = slot_at(table, page, slot);
        *row = (struct tup_row){.gci = links(slot + 1 < table->slots ? slot + 1 : SLOT_END,
                                             slot > 0 ? slot - 1 : SLOT_END)};
    }
    list_add(frag, page);
}

static void slot_unlink(const struct tup_table *table, struct fixed_page *page,
                        const struct tup_row *row)
{
    uint32_t next = row->gci & 0xFFFFu;
    uint32_t prev = row->gci >> 16;
    if (next != SLOT_END) {
        struct tup_row *at = slot_at(table, page, next);
        at->gci = links(at->gci & 0xFFFFu, prev);
    }
    if (prev != SLOT_END) {
        struct tup_row *at = slot_at(table, page, prev);
        at->gci = links(next, at->gci >> 16);
    } else {
        page->free_first = next;
    }
}

static uint32_t slot_use(struct tup_frag *frag, struct fixed_page *page, uint32_t slot)
{
    struct tup_row *row = slot_at(frag->table, page, slot);
    ndbrequire(row->bits == 0);
    ndbrequire(row->lock == REF_NONE);
    slot_unlink(frag->table, page, row);
    page->used++;
    if (page->free_first == SLOT_END) list_remove(frag, page);
    return page->number << frag->table->slot_bits | slot;
}

/* A page that was asked for cannot be used without room for its mark. */
static bool page_made(struct tup_frag *frag, struct fixed_page *page, uint32_t number)
{
    bool made = page != NULL && tup_marks_reserve(frag, number);
    if (page != NULL && !made) {
        jam();
        page_dir_remove(&frag->fixed, number);
    }
    tup_need_tell(frag);
    if (made) page_format(frag, page, number);
    return made;
}

static uint32_t slot_take_wanted(struct tup_frag *frag, uint32_t wanted, uint32_t *row)
{
    const struct tup_table *table = frag->table;
    uint32_t number = wanted >> table->slot_bits;
    uint32_t slot = wanted & ((1u << table->slot_bits) - 1u);
    if (slot >= table->slots || number >= table->pages_max) return ERR_ROW_ID_TAKEN;
    struct fixed_page *page = page_dir_find(&frag->fixed, number);
    if (page == NULL) {
        jam();
        tup_need_fixed_ahead(frag);
        page = page_dir_add_at(&frag->fixed, number);
        if (!page_made(frag, page, number)) return ERR_NO_MEMORY_DATA;
    }
    if (slot_at(table, page, slot)->bits != 0) return ERR_ROW_ID_TAKEN;
    *row = slot_use(frag, page, slot);
    return 0;
}

uint32_t tup_slot_take(struct tup_frag *frag, uint32_t wanted, uint32_t *row)
{
    *row = ROW_NONE;
    if (wanted != ROW_NONE) return slot_take_wanted(frag, wanted, row);
    if (frag->free_page == 0) {
        jam();
        uint32_t number;
        tup_need_fixed_ahead(frag);
        struct fixed_page *page = page_dir_add(&frag->fixed, frag->table->pages_max, &number);
        if (!page_made(frag, page, number))
            return number >= frag->table->pages_max ? ERR_FIXED_REFERENCE_MAX : ERR_NO_MEMORY_DATA;
    }
    struct fixed_page *page = page_at(frag, frag->free_page - 1);
    *row = slot_use(frag, page, page->free_first);
    return 0;
}

void tup_slot_free(struct tup_frag *frag, uint32_t row_id)
{
    const struct tup_table *table = frag->table;
    uint32_t slot = row_id & ((1u << table->slot_bits) - 1u);
    struct fixed_page *page = page_at(frag, row_id >> table->slot_bits);
    struct tup_row *row = slot_at(table, page, slot);
    ndbrequire(row->bits != 0);
    ndbrequire(row->lock == REF_NONE);
    if (page->free_first == SLOT_END)
        list_add(frag, page);
    else
        slot_at(table, page, page->free_first)->gci =
            links(slot_at(table, page, page->free_first)->gci & 0xFFFFu, slot);
    *row = (struct tup_row){.gci = links(page->free_first, SLOT_END)};
    page->free_first = slot;
    page->used--;
    if (page->used > 0) return;
    jam();
    list_remove(frag, page);
    page_dir_remove(&frag->fixed, page->number);
    tup_need_tell(frag);
}

uint32_t tup_slot_want(struct tup_frag *frag, uint32_t wanted)
{
    uint32_t row_id;
    uint32_t error = tup_slot_take(frag, wanted, &row_id);
    if (error != 0) return error;
    row_at(frag, row_id)->bits = ROW_WANTED;
    page_at(frag, row_id >> frag->table->slot_bits)->wanted++;
    frag->wanted++;
    return 0;
}

bool tup_slot_unwant(struct tup_frag *frag, uint32_t row_id)
{
    const struct tup_table *table = frag->table;
    uint32_t slot = row_id & ((1u << table->slot_bits) - 1u);
    struct fixed_page *page = page_dir_find(&frag->fixed, row_id >> table->slot_bits);
    if (page == NULL || page->wanted == 0 || slot >= table->slots) return false;
    struct tup_row *row = slot_at(table, page, slot);
    if (row->bits != ROW_WANTED) return false;
    row->bits = 0;
    page->wanted--;
    frag->wanted--;
    return true;
}

uint32_t tup_row_page(const struct tup_frag *frag, uint32_t row)
{
    return row >> frag->table->slot_bits;
}

uint32_t tup_row_slot(const struct tup_frag *frag, uint32_t row)
{
    return row & ((1u << frag->table->slot_bits) - 1u);
}

uint32_t tup_row_id(const struct tup_frag *frag, uint32_t page, uint32_t slot)
{
    if (page >= frag->table->pages_max || slot >= frag->table->slots) return ROW_NONE;
    return page << frag->table->slot_bits | slot;
}

uint32_t *tup_lock_word(const struct tup_frag *frag, uint32_t row)
{
    return &row_at(frag, row)->lock;
}

void tup_prefetch(const struct tup_frag *frag, uint32_t row)
{
    const uint8_t *bytes = (const uint8_t *)row_at(frag, row);
    __builtin_prefetch(bytes);
    if (((uintptr_t)bytes & 63u) + frag->table->data_size > 64u) __builtin_prefetch(bytes + 64);
}

void tup_prefetch_change(const struct tup *tup, uint32_t change)
{
    pool_prefetch(&tup->changes, change);
}

static void page_check(const struct tup_frag *frag, struct fixed_page *page)
{
    const struct tup_table *table = frag->table;
    uint32_t used = 0;
    uint32_t wanted = 0;
    for (uint32_t slot = 0; slot < table->slots; slot++) {
        uint32_t bits = slot_at(table, page, slot)->bits;
        used += bits != 0;
        wanted += bits == ROW_WANTED;
        ndbrequire(bits == 0 || bits == ROW_WANTED || (bits & ROW_USED) != 0);
    }
    ndbrequire(wanted == page->wanted); /* I-TUP-6 */
    ndbrequire(used == page->used);
    ndbrequire(used > 0);
    uint32_t prev = SLOT_END;
    uint32_t free_slots = 0;
    for (uint32_t slot = page->free_first; slot != SLOT_END;) {
        const struct tup_row *row = slot_at(table, page, slot);
        ndbrequire(slot < table->slots);
        ndbrequire(row->bits == 0);
        ndbrequire(row->gci >> 16 == prev);
        ndbrequire(++free_slots <= table->slots);
        prev = slot;
        slot = row->gci & 0xFFFFu;
    }
    ndbrequire(used + free_slots == table->slots); /* I-TUP-5 */
}

void tup_fixed_check(const struct tup_frag *frag)
{
    uint32_t with_free = 0;
    uint32_t pages = 0;
    uint32_t wanted = 0;
    for (uint32_t number = 0; number < frag->fixed.count; number++) {
        struct fixed_page *page = page_dir_find(&frag->fixed, number);
        if (page == NULL) continue;
        ndbrequire(page->number == number);
        page_check(frag, page);
        with_free += page->free_first != SLOT_END;
        wanted += page->wanted;
        pages++;
    }
    ndbrequire(wanted == frag->wanted); /* I-TUP-6 */
    ndbrequire(pages == frag->fixed.pages);
    uint32_t prev = 0;
    for (uint32_t at = frag->free_page; at != 0; at = page_at(frag, at - 1)->next) {
        ndbrequire(with_free > 0);
        ndbrequire(page_at(frag, at - 1)->prev == prev);
        prev = at;
        with_free--;
    }
    ndbrequire(with_free == 0); /* I-TUP-5 */
}
