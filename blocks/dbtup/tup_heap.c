/* tup_heap.c -- memory of any size up to a page: one pool per power of two. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtup/tup_state.h"

#define HEAP_SMALLEST 64u

void tup_heap_init(struct tup_heap *heap, struct arena *arena, enum resource_group group)
{
    for (uint32_t i = 0; i < HEAP_CLASSES; i++)
        pool_init(&heap->pool[i], arena, group, HEAP_SMALLEST << i, POOL_INDEX_MAX);
}

static uint32_t class_of(uint32_t size)
{
    uint32_t need = size + (uint32_t)sizeof(struct pool_record);
    uint32_t class = 0;
    while (HEAP_SMALLEST << class < need)
        class ++;
    ndbrequire(class < HEAP_CLASSES);
    return class;
}

void *tup_heap_seize(struct tup_heap *heap, uint32_t size, uint32_t *ref)
{
    struct pool_record *record = pool_seize(&heap->pool[class_of(size)]);
    *ref = REF_NONE;
    if (record == NULL) return NULL;
    *ref = record->ref;
    return record + 1;
}

static struct pool_record *record_of(const struct tup_heap *heap, uint32_t size, uint32_t ref)
{
    struct pool_record *record = pool_find(&heap->pool[class_of(size)], ref);
    ndbrequire(record != NULL);
    return record;
}

void *tup_heap_get(const struct tup_heap *heap, uint32_t size, uint32_t ref)
{
    return record_of(heap, size, ref) + 1;
}

void tup_heap_release(struct tup_heap *heap, uint32_t size, uint32_t ref)
{
    pool_release(&heap->pool[class_of(size)], record_of(heap, size, ref));
}

uint32_t tup_heap_in_use(const struct tup_heap *heap)
{
    uint32_t in_use = 0;
    for (uint32_t i = 0; i < HEAP_CLASSES; i++)
        in_use += heap->pool[i].in_use;
    return in_use;
}
