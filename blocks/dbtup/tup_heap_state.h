/* tup_heap_state.h -- private: memory of any size up to a page, by size class. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/base/pool.h"
#include "kernel/block.h"

#define HEAP_CLASSES 10u /* 64 bytes .. 32 KB, with the pool's record head. */

struct tup_heap {
    struct pool pool[HEAP_CLASSES];
};

void tup_heap_init(struct tup_heap *heap, struct arena *arena, enum resource_group group);
/* Zeroed memory of `size` bytes (at most PAGE_SIZE_BYTES - 8), or NULL; *ref gives it back or finds
 * it again. */
void *tup_heap_seize(struct tup_heap *heap, uint32_t size, uint32_t *ref);
void *tup_heap_get(const struct tup_heap *heap, uint32_t size, uint32_t ref);
void tup_heap_release(struct tup_heap *heap, uint32_t size, uint32_t ref);
uint32_t tup_heap_in_use(const struct tup_heap *heap);
