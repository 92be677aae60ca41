/* page_dir.c -- adds and removes numbered pages and keeps their holes linked. */
/* SPDX-License-Identifier: MIT */
#include "kernel/base/page_dir.h"
#include <assert.h>

static_assert(sizeof(uintptr_t) == 8, "the links of a hole are packed into a pointer's 64 bits");

#define UNLINKED_STEP 64u /* Entries looked at per search for a number that was jumped over. */

/*
 *  63    56 55          32 31           8 7     1  0
 * +--------+--------------+--------------+-------+---+
 * |   0    | 1 + previous |   1 + next   |   0   | 1 |   a hole; numbers are below 2^24 - 1
 * +--------+--------------+--------------+-------+---+
 */
static void *hole_entry(uint32_t next, uint32_t prev)
{
    return (void *)((uintptr_t)prev << 32 | (uintptr_t)next << 8 | 1u);
}
static uint32_t hole_next(const void *entry)
{
    return (uint32_t)((uintptr_t)entry >> 8) & 0xFFFFFFu;
}
static uint32_t hole_prev(const void *entry)
{
    return (uint32_t)((uintptr_t)entry >> 32) & 0xFFFFFFu;
}
static bool is_hole(const void *entry)
{
    return ((uintptr_t)entry & 1u) != 0;
}

void page_dir_init(struct page_dir *dir, struct arena *arena, enum resource_group group)
{
    *dir = (struct page_dir){.count = 0};
    page_map_init(&dir->map, arena, group);
}

static bool entry_set(struct page_dir *dir, uint32_t number, void *entry)
{
    if (number < PAGE_DIR_INLINE) {
        dir->first[number] = entry;
        return true;
    }
    return page_map_set(&dir->map, number, entry);
}

static void hole_unlink(struct page_dir *dir, const void *entry)
{
    uint32_t next = hole_next(entry);
    uint32_t prev = hole_prev(entry);
    if (prev != 0)
        entry_set(dir, prev - 1, hole_entry(next, hole_prev(page_dir_entry(dir, prev - 1))));
    else
        dir->hole = next;
    if (next != 0)
        entry_set(dir, next - 1, hole_entry(hole_next(page_dir_entry(dir, next - 1)), prev));
}

void *page_dir_add_at(struct page_dir *dir, uint32_t number)
{
    if (number >= PAGE_DIR_MAX - 1u) return NULL;
    void *page = arena_page(dir->map.arena, dir->map.group);
    if (page == NULL) return NULL;
    void *old = number < dir->count ? page_dir_entry(dir, number) : NULL;
    if (!entry_set(dir, number, page)) {
        arena_page_release(dir->map.arena, dir->map.group, page);
        return NULL;
    }
    if (is_hole(old)) hole_unlink(dir, old);
    if (number >= dir->count) {
        if (dir->unlinked == dir->count && number == dir->count) dir->unlinked = number + 1;
        dir->count = number + 1;
    }
    dir->pages++;
    return page;
}

/* A number that was jumped over and never used, or `count`. Looks at few entries: the rest is for
 * the next call. */
static uint32_t unlinked_find(struct page_dir *dir)
{
    for (uint32_t i = 0; i < UNLINKED_STEP && dir->unlinked < dir->count; i++) {
        if (page_dir_entry(dir, dir->unlinked) == NULL) return dir->unlinked;
        dir->unlinked++;
    }
    return dir->count;
}

void *page_dir_add(struct page_dir *dir, uint32_t max, uint32_t *number)
{
    *number = dir->hole != 0 ? dir->hole - 1 : unlinked_find(dir);
    return *number < max ? page_dir_add_at(dir, *number) : NULL;
}

void page_dir_remove(struct page_dir *dir, uint32_t number)
{
    arena_page_release(dir->map.arena, dir->map.group, page_dir_at(dir, number));
    if (--dir->pages == 0) {
        page_dir_drop(dir); /* Nothing is left to number. */
        return;
    }
    if (number == dir->count - 1) {
        entry_set(dir, number, NULL);
        dir->count = number;
        if (dir->unlinked > number) dir->unlinked = number;
        return;
    }
    uint32_t next = dir->hole;
    if (next != 0)
        entry_set(dir, next - 1, hole_entry(hole_next(page_dir_entry(dir, next - 1)), number + 1));
    entry_set(dir, number, hole_entry(next, 0));
    dir->hole = number + 1;
}

void page_dir_drop(struct page_dir *dir)
{
    page_map_drop(&dir->map);
    page_dir_init(dir, dir->map.arena, dir->map.group);
}
