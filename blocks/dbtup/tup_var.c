/* tup_var.c -- variable parts of rows in slotted pages: free space by class, compaction inside a
 * page. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 *   +------+----------------------------+---------- gap ----------+-----------------+
 *   | head | parts and holes            |                         | directory  2  1 |
 *   +------+----------------------------+-------------------------+-----------------+
 *
 * A directory entry is offset << 16 | size; a free one has offset 0 and the number of the next free
 * entry as size. A page remembers the largest of its holes, so that an update, whose new part is
 * mostly as long as the one that another update has left, need not move the whole page together.
 */
#include "blocks/dbtup/tup_state.h"

#define VAR_TRIES 4u /* Pages of a class that are looked at before a larger one is. */

static struct var_page *page_at(const struct tup_frag *frag, uint32_t number)
{
    return page_dir_at(&frag->var, number);
}

static uint32_t *entry_at(struct var_page *page, uint32_t entry)
{
    return (uint32_t *)(void *)((uint8_t *)page + PAGE_SIZE_BYTES) - entry;
}

static uint32_t directory_start(const struct var_page *page)
{
    return PAGE_SIZE_BYTES - page->entries * 4u;
}

/* The largest class that a page with so many free bytes is in. */
static uint32_t class_of(uint32_t free_bytes)
{
    if (free_bytes < 64u) return VAR_NO_CLASS;
    uint32_t class = 25u - (uint32_t)__builtin_clz(free_bytes);
    return class < VAR_CLASSES ? class : VAR_CLASSES - 1;
}

static void list_remove(struct tup_frag *frag, const struct var_page *page)
{
    if (page->class == VAR_NO_CLASS) return;
    if (page->next != 0) page_at(frag, page->next - 1)->prev = page->prev;
    if (page->prev != 0)
        page_at(frag, page->prev - 1)->next = page->next;
    else
        frag->var_list[page->class] = page->next;
}

static void list_update(struct tup_frag *frag, struct var_page *page)
{
    uint32_t class = class_of(page->free_bytes);
    if (class == page->class) return;
    list_remove(frag, page);
    page->class = class;
    if (class == VAR_NO_CLASS) return;
    page->next = frag->var_list[class];
    page->prev = 0;
    if (page->next != 0) page_at(frag, page->next - 1)->prev = page->number + 1;
    frag->var_list[class] = page->number + 1;
}

/* Bytes that a new part of `size` takes from the page; more than a page when it has no entry left.
 */
static uint32_t need_of(const struct var_page *page, uint32_t size)
{
    if (page->free_entry != 0) return size;
    return page->entries < VAR_ENTRIES ? size + 4u : PAGE_SIZE_BYTES;
}

/* --- Holes. --- */

/* The smallest hole that is known and large enough; NULL: none. */
static uint32_t *hole_find(struct var_page *page, uint32_t size)
{
    uint32_t *best = NULL;
    for (uint32_t i = 0; i < VAR_HOLES; i++) {
        uint32_t *hole = &page->hole[i];
        if ((*hole & 0xFFFFu) < size) continue;
        if (best == NULL || (*hole & 0xFFFFu) < (*best & 0xFFFFu)) best = hole;
    }
    return best;
}

/* The smallest one known is forgotten for it, if it is larger. */
static void hole_add(struct var_page *page, uint32_t offset, uint32_t size)
{
    uint32_t *least = &page->hole[0];
    for (uint32_t i = 1; i < VAR_HOLES; i++) {
        if ((page->hole[i] & 0xFFFFu) < (*least & 0xFFFFu)) least = &page->hole[i];
    }
    if ((*least & 0xFFFFu) < size) *least = offset << 16 | size;
}

static uint32_t hole_take(uint32_t *hole, uint32_t size)
{
    uint32_t offset = *hole >> 16;
    uint32_t rest = (*hole & 0xFFFFu) - size;
    *hole = rest == 0 ? 0 : (offset + size) << 16 | rest;
    return offset;
}

/* Holes at the end of the parts belong to the gap. */
static void gap_widen(struct var_page *page)
{
    for (uint32_t i = 0; i < VAR_HOLES; i++) {
        uint32_t offset = page->hole[i] >> 16;
        if (page->hole[i] == 0 || offset + (page->hole[i] & 0xFFFFu) != page->gap) continue;
        page->gap = offset;
        page->hole[i] = 0;
        i = UINT32_MAX; /* Another one may end there now. */
    }
}

/* --- A page for a part. --- */

/* Does the part fit without moving what is there? */
static bool fits_as_it_is(struct var_page *page, uint32_t size)
{
    if (directory_start(page) - page->gap >= need_of(page, size)) return true;
    return page->free_entry != 0 && hole_find(page, size) != NULL;
}

/* The first page of a list that takes the part as it is. *loose: the page that gains most among
 * those that would have to be compacted. */
static struct var_page *list_find(const struct tup_frag *frag, uint32_t class, uint32_t size,
                                  struct var_page **loose)
{
    uint32_t at = frag->var_list[class];
    for (uint32_t i = 0; i < VAR_TRIES && at != 0; i++) {
        struct var_page *page = page_at(frag, at - 1);
        at = page->next;
        if (need_of(page, size) > page->free_bytes) continue;
        if (fits_as_it_is(page, size)) return page;
        if (*loose == NULL || page->free_bytes > (*loose)->free_bytes) *loose = page;
    }
    return NULL;
}

static struct var_page *page_find(const struct tup_frag *frag, uint32_t size)
{
    struct var_page *loose = NULL;
    uint32_t class = 0;
    while (class < VAR_CLASSES && 64u << class < size + 4u)
        class ++;
    /* Some pages of the class below fit: they are the better filled ones. */
    if (class > 0) class --;
    for (; class < VAR_CLASSES; class ++) {
        struct var_page *page = list_find(frag, class, size, &loose);
        if (page != NULL) return page;
    }
    return loose;
}

/* Moves all parts together, so that all free space is in the gap. */
static void page_compact(const struct tup_frag *frag, struct var_page *page)
{
    uint8_t *to = frag->tup->scratch;
    uint32_t offset = VAR_PAGE_HEAD;
    jam();
    for (uint32_t i = 1; i <= page->entries; i++) {
        uint32_t *entry = entry_at(page, i);
        uint32_t size = *entry & 0xFFFFu;
        if (*entry >> 16 == 0) continue;
        memcpy(to + offset, (uint8_t *)page + (*entry >> 16), size);
        *entry = offset << 16 | size;
        offset += size;
    }
    memcpy((uint8_t *)page + VAR_PAGE_HEAD, to + VAR_PAGE_HEAD, offset - VAR_PAGE_HEAD);
    page->gap = offset;
    memset(page->hole, 0, sizeof page->hole);
    ndbrequire(directory_start(page) - page->gap == page->free_bytes);
}

/* Finds the place in the page where the part is put. */
static uint32_t place_take(struct tup_frag *frag, struct var_page *page, uint32_t size)
{
    uint32_t *hole = page->free_entry == 0 ? NULL : hole_find(page, size);
    if (hole != NULL) return hole_take(hole, size);
    if (directory_start(page) - page->gap < need_of(page, size)) page_compact(frag, page);
    uint32_t offset = page->gap;
    page->gap += size;
    return offset;
}

uint32_t tup_var_seize(struct tup_frag *frag, uint32_t size)
{
    struct var_page *page = page_find(frag, size);
    if (page == NULL) {
        jam();
        uint32_t number;
        tup_need_var_ahead(frag);
        page = page_dir_add(&frag->var, VAR_PAGES_MAX, &number);
        if (page == NULL) {
            tup_need_tell(frag);
            return 0;
        }
        *page = (struct var_page){.number = number,
                                  .gap = VAR_PAGE_HEAD,
                                  .free_bytes = PAGE_SIZE_BYTES - VAR_PAGE_HEAD,
                                  .class = VAR_NO_CLASS};
    }
    uint32_t need = need_of(page, size);
    uint32_t offset = place_take(frag, page, size);
    uint32_t entry = page->free_entry;
    if (entry != 0)
        page->free_entry = *entry_at(page, entry) & 0xFFFFu;
    else
        entry = ++page->entries;
    *entry_at(page, entry) = offset << 16 | size;
    page->free_bytes -= need;
    page->used++;
    frag->var_bytes += size;
    frag->need.var_loose += tup_need_loose(size);
    list_update(frag, page);
    tup_need_tell(frag);
    return page->number << VAR_ENTRY_BITS | entry;
}

void tup_var_release(struct tup_frag *frag, uint32_t ref)
{
    struct var_page *page = page_at(frag, ref >> VAR_ENTRY_BITS);
    uint32_t *entry = entry_at(page, ref & VAR_ENTRIES);
    uint32_t size = *entry & 0xFFFFu;
    uint32_t offset = *entry >> 16;
    ndbrequire((ref & VAR_ENTRIES) != 0);
    ndbrequire(offset != 0);
    frag->var_bytes -= size;
    frag->need.var_loose -= tup_need_loose(size);
    if (--page->used == 0) {
        jam();
        list_remove(frag, page);
        page_dir_remove(&frag->var, page->number);
        tup_need_tell(frag);
        return;
    }
    if (offset + size == page->gap) {
        page->gap = offset;
        gap_widen(page);
    } else {
        hole_add(page, offset, size);
    }
    page->free_bytes += size;
    *entry = page->free_entry;
    page->free_entry = ref & VAR_ENTRIES;
    list_update(frag, page);
    tup_need_tell(frag);
}

uint8_t *tup_var_get(const struct tup_frag *frag, uint32_t ref, uint32_t *size)
{
    struct var_page *page = page_at(frag, ref >> VAR_ENTRY_BITS);
    uint32_t entry = *entry_at(page, ref & VAR_ENTRIES);
    *size = entry & 0xFFFFu;
    return (uint8_t *)page + (entry >> 16);
}

/* The variable part of a row that nobody is changing; 0: none, or there is no such row any more. */
static uint32_t settled_var(const struct tup_frag *frag, uint32_t row)
{
    if (frag->table->var_count == 0) return 0;
    if (page_dir_find(&frag->fixed, row >> frag->table->slot_bits) == NULL) return 0;
    const struct tup_row *image = row_at(frag, row);
    if (image->bits != ROW_USED) return 0;
    return image_var(frag->table, (const uint8_t *)image);
}

void tup_prefetch_var_entry(const struct tup_frag *frag, uint32_t row)
{
    uint32_t ref = settled_var(frag, row);
    if (ref == 0) return;
    __builtin_prefetch(entry_at(page_at(frag, ref >> VAR_ENTRY_BITS), ref & VAR_ENTRIES));
}

void tup_prefetch_var(const struct tup_frag *frag, uint32_t row)
{
    uint32_t size;
    uint32_t ref = settled_var(frag, row);
    if (ref == 0) return;
    const uint8_t *part = tup_var_get(frag, ref, &size);
    __builtin_prefetch(part);
    if (((uintptr_t)part & 63u) + size > 64u) __builtin_prefetch(part + 64);
}

/* I-TUP-8 */
static void hole_check(struct var_page *page, uint32_t hole)
{
    uint32_t begin = hole >> 16;
    uint32_t end = begin + (hole & 0xFFFFu);
    ndbrequire(begin >= VAR_PAGE_HEAD);
    ndbrequire(end <= page->gap);
    for (uint32_t i = 1; i <= page->entries; i++) {
        uint32_t entry = *entry_at(page, i);
        if (entry >> 16 == 0) continue;
        ndbrequire(entry >> 16 >= end || (entry >> 16) + (entry & 0xFFFFu) <= begin);
    }
}

static uint64_t page_check(struct var_page *page)
{
    for (uint32_t i = 0; i < VAR_HOLES; i++) {
        if (page->hole[i] != 0) hole_check(page, page->hole[i]);
    }
    uint32_t used = 0;
    uint32_t bytes = 0;
    for (uint32_t i = 1; i <= page->entries; i++) {
        uint32_t entry = *entry_at(page, i);
        if (entry >> 16 == 0) continue;
        ndbrequire(entry >> 16 >= VAR_PAGE_HEAD);
        ndbrequire((entry >> 16) + (entry & 0xFFFFu) <= page->gap);
        used++;
        bytes += entry & 0xFFFFu;
    }
    uint32_t free_entries = 0;
    for (uint32_t i = page->free_entry; i != 0; i = *entry_at(page, i) & 0xFFFFu) {
        ndbrequire(*entry_at(page, i) >> 16 == 0);
        ndbrequire(++free_entries <= page->entries);
    }
    ndbrequire(used == page->used);
    ndbrequire(used + free_entries == page->entries); /* I-TUP-5 */
    ndbrequire(bytes + page->free_bytes == directory_start(page) - VAR_PAGE_HEAD);
    ndbrequire(page->gap <= directory_start(page));
    ndbrequire(page->class == class_of(page->free_bytes));
    return bytes;
}

void tup_var_check(const struct tup_frag *frag)
{
    uint64_t bytes = 0;
    uint32_t listed = 0;
    for (uint32_t number = 0; number < frag->var.count; number++) {
        struct var_page *page = page_dir_find(&frag->var, number);
        if (page == NULL) continue;
        ndbrequire(page->number == number);
        bytes += page_check(page);
        listed += page->class != VAR_NO_CLASS;
    }
    ndbrequire(bytes == frag->var_bytes); /* I-TUP-4 */
    for (uint32_t class = 0; class < VAR_CLASSES; class ++) {
        for (uint32_t at = frag->var_list[class]; at != 0; at = page_at(frag, at - 1)->next) {
            ndbrequire(page_at(frag, at - 1)->class == class);
            ndbrequire(listed > 0);
            listed--;
        }
    }
    ndbrequire(listed == 0);
}
