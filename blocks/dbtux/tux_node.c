/* tux_node.c -- memory of nodes: pages shared by all indexes of the instance, given back when
 * empty. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtux/tux_state.h"

static struct tux_page *page_at(const struct tux *tux, uint32_t number)
{
    return page_dir_at(&tux->pages, number);
}

static void list_add(struct tux *tux, struct tux_page *page)
{
    page->next = tux->page_free;
    page->prev = 0;
    if (page->next != 0) page_at(tux, page->next - 1)->prev = page->number + 1;
    tux->page_free = page->number + 1;
}

static void list_remove(struct tux *tux, const struct tux_page *page)
{
    if (page->next != 0) page_at(tux, page->next - 1)->prev = page->prev;
    if (page->prev != 0)
        page_at(tux, page->prev - 1)->next = page->next;
    else
        tux->page_free = page->next;
}

/*
 * A restart adds the rows in another order, and in the worst one all leaves are half full: what
 * that takes more than the nodes take now is kept for it. Leaves that are joined are fuller, and
 * inner nodes are one in thirty.
 */
#define LOOSE_ENTRIES (LEAF_ENTRIES / 2u * (NODES_PER_PAGE - 1u)) /* A page has so many then. */

static uint32_t pages_owed(const struct tux *tux, uint32_t pages)
{
    uint32_t loose = (uint32_t)(tux->entries / LOOSE_ENTRIES);
    return loose > pages ? loose - pages : 0;
}

/* Tells the arena what is owed when there are so many pages. */
static void owed_tell(struct tux *tux, uint32_t pages)
{
    uint32_t owed = pages_owed(tux, pages);
    if (owed == tux->owed) return;
    arena_owe(tux->arena, RG_DATA, ARENA_OWED_LASTING, (int32_t)(owed - tux->owed));
    tux->owed = owed;
}

void tux_entries_count(struct tux *tux, int64_t change)
{
    tux->entries += (uint64_t)change;
    owed_tell(tux, tux->pages.pages);
}

static void page_drop(struct tux *tux, struct tux_page *page)
{
    list_remove(tux, page);
    tux->nodes_free -= NODES_PER_PAGE;
    page_dir_remove(&tux->pages, page->number);
    owed_tell(tux, tux->pages.pages);
}

bool tux_nodes_reserve(struct tux *tux, uint32_t count)
{
    while (tux->nodes_free < count) {
        uint32_t number;
        owed_tell(tux, tux->pages.pages + 1u); /* This page may be one that is owed. */
        struct tux_page *page = page_dir_add(&tux->pages, NODE_PAGES_MAX, &number);
        owed_tell(tux, tux->pages.pages);
        if (page == NULL) {
            jam();
            tux_trim(tux);
            return false;
        }
        *page = (struct tux_page){.number = number};
        tux->nodes_free += NODES_PER_PAGE;
        list_add(tux, page);
    }
    tux->nodes_reserved = count;
    return true;
}

uint32_t tux_node_seize(struct tux *tux, struct tux_index *index, uint32_t level)
{
    ndbrequire(tux->page_free != 0); /* It was reserved. */
    struct tux_page *page = page_at(tux, tux->page_free - 1u);
    uint32_t place = page->free != 0 ? page->free - 1u : page->carved++;
    uint32_t ref = page->number * NODES_PER_PAGE + place + 1u;
    struct tux_node_head *node = tux_node(tux, ref);
    if (page->free != 0) page->free = node->prev;
    page->in_use++;
    tux->nodes_free--;
    tux->nodes_used++;
    index->nodes++;
    if (page->in_use == NODES_PER_PAGE) list_remove(tux, page);
    *node = (struct tux_node_head){.level = (uint8_t)level, .used = 1};
    return ref;
}

void tux_node_release(struct tux *tux, struct tux_index *index, uint32_t ref)
{
    struct tux_page *page = page_at(tux, (ref - 1u) / NODES_PER_PAGE);
    struct tux_node_head *node = tux_node(tux, ref);
    ndbrequire(node->used == 1);
    if (page->in_use == NODES_PER_PAGE) list_add(tux, page);
    *node = (struct tux_node_head){.prev = page->free};
    page->free = (ref - 1u) % NODES_PER_PAGE + 1u;
    page->in_use--;
    tux->nodes_free++;
    tux->nodes_used--;
    index->nodes--;
    /* A page's worth of nodes stays for the next changes. */
    uint64_t keep = tux->nodes_reserved > NODES_PER_PAGE ? tux->nodes_reserved : NODES_PER_PAGE;
    if (page->in_use == 0 && tux->nodes_free >= keep + NODES_PER_PAGE) {
        jam();
        page_drop(tux, page);
    }
    if (tux->nodes_reserved == 0) tux_trim(tux);
}

void tux_trim(struct tux *tux)
{
    tux->nodes_reserved = 0;
    while (tux->nodes_used == 0 && tux->page_free != 0)
        page_drop(tux, page_at(tux, tux->page_free - 1u));
}

bool tux_reserve(struct tux *tux, struct tux_index *first)
{
    uint32_t count = 0;
    for (const struct tux_index *index = first; index != NULL; index = index->next)
        count += index->levels + 1u;
    return tux_nodes_reserve(tux, count);
}

bool tux_reserve_build(struct tux *tux, struct tux_index *index)
{
    return tux_nodes_reserve(tux, 2u * (index->levels + 2u));
}

static uint32_t page_check(const struct tux *tux, const struct tux_page *page)
{
    uint32_t free_places = NODES_PER_PAGE - page->carved;
    uint32_t used = 0;
    for (uint32_t at = page->free; at != 0;) {
        ndbrequire(at <= page->carved);
        ndbrequire(++free_places <= NODES_PER_PAGE); /* I-TUX-4 */
        at = tux_node(tux, page->number * NODES_PER_PAGE + at)->prev;
    }
    for (uint32_t place = 0; place < page->carved; place++)
        used += tux_node(tux, page->number * NODES_PER_PAGE + place + 1u)->used;
    ndbrequire(used == page->in_use); /* I-TUX-4 */
    ndbrequire(used + free_places == NODES_PER_PAGE);
    return used;
}

void tux_nodes_check(const struct tux *tux)
{
    uint64_t used = 0;
    uint32_t with_free = 0;
    for (uint32_t number = 0; number < tux->pages.count; number++) {
        const struct tux_page *page = page_dir_find(&tux->pages, number);
        if (page == NULL) continue;
        ndbrequire(page->number == number);
        used += page_check(tux, page);
        with_free += page->in_use < NODES_PER_PAGE;
    }
    ndbrequire(used == tux->nodes_used);
    ndbrequire(tux->owed == pages_owed(tux, tux->pages.pages)); /* I-TUX-5 */
    ndbrequire(tux->nodes_reserved == 0); /* I-TUX-4: nobody is in the middle of a change. */
    ndbrequire(used + tux->nodes_free == (uint64_t)tux->pages.pages * NODES_PER_PAGE);
    ndbrequire(used > 0 || tux->pages.pages == 0); /* I-TUX-4 */
    for (uint32_t at = tux->page_free; at != 0; at = page_at(tux, at - 1)->next) {
        ndbrequire(with_free > 0);
        with_free--;
    }
    ndbrequire(with_free == 0);
}
