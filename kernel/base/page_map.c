/* page_map.c -- grows and drops page maps. */
/* SPDX-License-Identifier: MIT */
#include "kernel/base/page_map.h"
#include <string.h>

void page_map_init(struct page_map *map, struct arena *arena, enum resource_group group)
{
    *map = (struct page_map){.arena = arena, .group = group};
}

bool page_map_set(struct page_map *map, uint32_t number, void *page)
{
    if (number >= PAGE_MAP_MAX) return false;
    if (map->root == NULL) {
        map->root = arena_page(map->arena, map->group);
        if (map->root == NULL) return false;
        memset(map->root, 0, PAGE_SIZE_BYTES);
    }
    void **leaf = map->root[number / PAGE_MAP_FAN_OUT];
    if (leaf == NULL) {
        leaf = arena_page(map->arena, map->group);
        if (leaf == NULL) return false;
        memset(leaf, 0, PAGE_SIZE_BYTES);
        map->root[number / PAGE_MAP_FAN_OUT] = leaf;
    }
    leaf[number % PAGE_MAP_FAN_OUT] = page;
    return true;
}

void page_map_drop(struct page_map *map)
{
    if (map->root == NULL) return;
    for (uint32_t i = 0; i < PAGE_MAP_FAN_OUT; i++) {
        if (map->root[i] != NULL) arena_page_release(map->arena, map->group, map->root[i]);
    }
    arena_page_release(map->arena, map->group, map->root);
    map->root = NULL;
}
