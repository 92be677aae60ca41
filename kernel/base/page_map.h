/* page_map.h -- logical page number -> page, growing by pages of the arena itself. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "kernel/base/arena.h"

/*
 * Two levels of 4096 pointers: up to 16 million pages (512 GB) per map, and 32 KB of overhead for
 * the first 128 MB. Not thread-safe: a map belongs to one block instance.
 */
#define PAGE_MAP_FAN_OUT (PAGE_SIZE_BYTES / sizeof(void *))
#define PAGE_MAP_MAX     (PAGE_MAP_FAN_OUT * PAGE_MAP_FAN_OUT)

struct page_map {
    struct arena *arena;
    enum resource_group group;
    void ***root;
};

/* Prepares an empty map whose own pages come from `group`. */
void page_map_init(struct page_map *map, struct arena *arena, enum resource_group group);

/* Sets the page of `number` (NULL clears it). False when there is no memory for the map's own
 * pages. */
bool page_map_set(struct page_map *map, uint32_t number, void *page);

/* Gives back the map's own pages (not the mapped ones). */
void page_map_drop(struct page_map *map);

/* The page of `number`, or NULL. */
static inline void *page_map_get(const struct page_map *map, uint32_t number)
{
    if (map->root == NULL || number >= PAGE_MAP_MAX) return NULL;
    void **leaf = map->root[number / PAGE_MAP_FAN_OUT];
    return leaf == NULL ? NULL : leaf[number % PAGE_MAP_FAN_OUT];
}

/* The page of a number that is known to be mapped: no checks. */
static inline void *page_map_at(const struct page_map *map, uint32_t number)
{
    return map->root[number / PAGE_MAP_FAN_OUT][number % PAGE_MAP_FAN_OUT];
}
