/* page_dir.h -- numbered pages of one owner, with holes: cheap when small, O(1) to add, take and
 * remove a number. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "kernel/base/page_map.h"

/*
 * The first pages stand in the struct itself, so that a small fragment costs no directory pages;
 * the others in a page_map. A number whose page was removed is a hole: holes are linked through
 * their own entries, so that a replica can take exactly the number that the primary chose. Not
 * thread-safe.
 */
#define PAGE_DIR_INLINE 16u
#define PAGE_DIR_MAX    (1u << 24) /* Numbers are below this: the links of holes have 24 bits. */

struct page_dir {
    struct page_map map; /* Pages with numbers from PAGE_DIR_INLINE on. */
    uint32_t count;      /* Numbers in use or holes are below this. */
    uint32_t pages;      /* Pages in use. */
    uint32_t hole;       /* 1 + first linked hole, 0 = none. */
    /* Numbers below `count` that were jumped over are not linked; none is below this. */
    uint32_t unlinked;
    void *first[PAGE_DIR_INLINE];
};

void page_dir_init(struct page_dir *dir, struct arena *arena, enum resource_group group);

/* A new page under a free number below `max`; NULL without memory or number. The content is
 * undefined. */
void *page_dir_add(struct page_dir *dir, uint32_t max, uint32_t *number);

/* A new page under this number, which is free; NULL without memory. */
void *page_dir_add_at(struct page_dir *dir, uint32_t number);

/* Gives the page of this number back to the arena; with the last page the directory's own pages go
 * too. */
void page_dir_remove(struct page_dir *dir, uint32_t number);

/* Makes a directory without pages as new, own pages included. */
void page_dir_drop(struct page_dir *dir);

/* An entry: NULL, a page, or (odd) a hole. */
static inline void *page_dir_entry(const struct page_dir *dir, uint32_t number)
{
    return number < PAGE_DIR_INLINE ? dir->first[number] : page_map_get(&dir->map, number);
}

/* The page of any number, NULL if there is none. */
static inline void *page_dir_find(const struct page_dir *dir, uint32_t number)
{
    if (number >= dir->count) return NULL;
    void *entry = page_dir_entry(dir, number);
    return ((uintptr_t)entry & 1u) != 0 ? NULL : entry;
}

/* The page of a number that is known to be in use: no checks. */
static inline void *page_dir_at(const struct page_dir *dir, uint32_t number)
{
    return number < PAGE_DIR_INLINE ? dir->first[number] : page_map_at(&dir->map, number);
}
