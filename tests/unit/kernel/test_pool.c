/* test_pool.c -- arena, page map and typed pools: limits, stale references, memory back at
 * baseline. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "kernel/base/pool.h"
#include "kernel/base/rng.h"

struct thing {
    struct pool_record record;
    uint32_t value[5];
};

static struct arena *make_arena(uint32_t data_pages)
{
    struct arena_limits limits = {0};
    limits.pages_max[RG_DATA] = data_pages;
    limits.pages_max[RG_NODE] = 64;
    struct arena *arena = arena_create(&limits);
    assert_non_null(arena);
    return arena;
}

static void pages_stop_at_the_limit(void **state)
{
    (void)state;
    struct arena *arena = make_arena(3);
    void *pages[3];
    for (uint32_t i = 0; i < 3; i++) {
        pages[i] = arena_page(arena, RG_DATA);
        assert_non_null(pages[i]);
        assert_int_equal((uintptr_t)pages[i] % PAGE_SIZE_BYTES, 0);
        memset(pages[i], (int)i, PAGE_SIZE_BYTES);
    }
    assert_null(arena_page(arena, RG_DATA));
    assert_int_equal(arena_usage(arena, RG_DATA).failed, 1);
    arena_page_release(arena, RG_DATA, pages[1]);
    assert_ptr_equal(arena_page(arena, RG_DATA), pages[1]);
    assert_int_equal(arena_usage(arena, RG_DATA).high, 3);
    arena_destroy(arena);
}

static void small_pieces_are_zero_and_apart(void **state)
{
    (void)state;
    struct arena *arena = make_arena(1);
    uint8_t *first = arena_alloc(arena, RG_NODE, 100);
    uint8_t *large = arena_alloc(arena, RG_NODE, 3 * PAGE_SIZE_BYTES - 10);
    uint8_t *second = arena_alloc(arena, RG_NODE, 100);
    assert_true(second >= first + 100 || first >= second + 100);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(second[i], 0);
    memset(first, 1, 100);
    memset(second, 2, 100);
    memset(large, 3, 3 * PAGE_SIZE_BYTES - 10);
    assert_int_equal(first[99], 1);
    assert_int_equal(second[99], 2);
    assert_int_equal(arena_usage(arena, RG_NODE).used, 4);
    assert_null(arena_alloc(arena, RG_NODE, 61 * (size_t)PAGE_SIZE_BYTES));
    arena_destroy(arena);
}

static void stale_references_find_nothing(void **state)
{
    (void)state;
    struct arena *arena = make_arena(8);
    struct pool pool;
    pool_init(&pool, arena, RG_DATA, sizeof(struct thing), 100);
    struct thing *thing = pool_seize(&pool);
    uint32_t ref = thing->record.ref;
    assert_ptr_equal(pool_find(&pool, ref), thing);
    pool_release(&pool, thing);
    assert_null(pool_find(&pool, ref));
    struct thing *again = pool_seize(&pool);
    assert_ptr_equal(again, thing); /* The same memory under another reference. */
    assert_int_not_equal(again->record.ref, ref);
    assert_null(pool_find(&pool, ref));
    assert_null(pool_find(&pool, 0));
    assert_null(pool_find(&pool, 0xFFFFFFFFu));
    pool_release(&pool, again);
    pool_drop(&pool);
    assert_int_equal(arena_usage(arena, RG_DATA).used, 0);
    arena_destroy(arena);
}

static void limits_and_failures(void **state)
{
    (void)state;
    struct arena *arena = make_arena(3); /* Two for the page map, one for records. */
    struct pool pool;
    pool_init(&pool, arena, RG_DATA, sizeof(struct thing), 1u << 20);
    uint32_t count = 0;
    while (pool_seize(&pool) != NULL)
        count++;
    assert_int_equal(count, PAGE_SIZE_BYTES / ((sizeof(struct thing) + 7u) & ~7u));
    assert_int_equal(pool.failed, 1);
    pool_drop(&pool);

    pool_init(&pool, arena, RG_DATA, sizeof(struct thing), 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_non_null(pool_seize(&pool));
    assert_null(pool_seize(&pool));
    pool_drop(&pool);

    pool_init(&pool, arena, RG_DATA, sizeof(struct thing), 5);
    pool.fail_next = 2;
    assert_non_null(pool_seize(&pool));
    assert_null(pool_seize(&pool));
    assert_non_null(pool_seize(&pool));
    pool_drop(&pool);
    arena_destroy(arena);
}

/* What is behind the head costs nothing to seize and to release. */
static void buffers_stay_as_they_are(void **state)
{
    (void)state;
    struct arena *arena = make_arena(8);
    struct pool pool;
    pool_init(&pool, arena, RG_DATA, sizeof(struct thing), 100);
    pool_head(&pool, offsetof(struct thing, value[2]));
    struct thing *thing = pool_seize(&pool);
    uint32_t ref = thing->record.ref;
    for (uint32_t i = 0; i < 5; i++)
        thing->value[i] = i + 1;
    pool_release(&pool, thing);
    assert_int_not_equal(thing->value[1], 2);
    assert_int_equal(thing->value[2], 3);
    assert_null(pool_find(&pool, ref));
    assert_ptr_equal(pool_seize(&pool), thing);
    assert_int_equal(thing->value[0], 0);
    assert_int_equal(thing->value[1], 0);
    assert_int_equal(thing->value[4], 5);
    pool_drop(&pool);
    arena_destroy(arena);
}

static void random_use_against_a_model(void **state)
{
    (void)state;
    enum { THINGS = 2000 };
    struct arena *arena = make_arena(64);
    struct pool pool;
    struct rng rng;
    uint32_t refs[THINGS] = {0};
    rng_seed(&rng, 7);
    pool_init(&pool, arena, RG_DATA, sizeof(struct thing), THINGS);
    for (uint32_t step = 0; step < 200000; step++) {
        uint32_t i = (uint32_t)rng_below(&rng, THINGS);
        struct thing *thing = refs[i] == 0 ? pool_seize(&pool) : pool_find(&pool, refs[i]);
        assert_non_null(thing);
        if (refs[i] == 0) {
            refs[i] = thing->record.ref;
            thing->value[0] = i;
            thing->value[4] = ~i;
        } else {
            assert_int_equal(thing->value[0], i);
            assert_int_equal(thing->value[4], ~i);
            pool_release(&pool, thing);
            refs[i] = 0;
        }
    }
    uint32_t in_use = 0;
    for (uint32_t i = 0; i < THINGS; i++)
        in_use += refs[i] != 0 ? 1u : 0u;
    assert_int_equal(pool.in_use, in_use);
    uint32_t walked = 0;
    for (struct thing *thing = pool_next(&pool, 0); thing != NULL;
         thing = pool_next(&pool, pool_index(thing->record.ref)))
        walked++;
    assert_int_equal(walked, in_use);
    pool_drop(&pool);
    assert_int_equal(arena_usage(arena, RG_DATA).used, 0);
    arena_destroy(arena);
}

static bool zero(const uint8_t *memory, size_t size)
{
    while (size > 0 && memory[size - 1] == 0)
        size--;
    return size == 0;
}

/* Memory of a destroyed arena: what is promised to be zero is, what is not is not cleared. */
static void kept_memory_is_like_new(void **state)
{
    (void)state;
    static const size_t sizes[] = {100, 40000, 1000000, 1};
    arena_keep(1, 0);
    for (uint32_t life = 0; life < 4; life++) {
        struct arena *arena = make_arena(64 + life);
        for (uint32_t i = 0; i < 4; i++) {
            uint8_t *piece = arena_alloc(arena, RG_NODE, sizes[(i + life) % 4]);
            assert_non_null(piece);
            assert_true(zero(piece, sizes[(i + life) % 4]));
            memset(piece, 0xEE, sizes[(i + life) % 4]);
            uint8_t *page = arena_page(arena, RG_DATA);
            assert_non_null(page);
            memset(page, 0xDD, PAGE_SIZE_BYTES);
        }
        assert_int_equal(arena_usage(arena, RG_DATA).used, 4);
        arena_destroy(arena);
    }
    arena_keep(1, 0xA3);
    struct arena *arena = make_arena(64);
    uint8_t *page = arena_page(arena, RG_DATA);
    assert_int_equal(page[0], 0xA3);
    assert_int_equal(page[PAGE_SIZE_BYTES - 1], 0xA3);
    arena_keep(0, 0);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_stop_at_the_limit),
        cmocka_unit_test(small_pieces_are_zero_and_apart),
        cmocka_unit_test(stale_references_find_nothing),
        cmocka_unit_test(limits_and_failures),
        cmocka_unit_test(buffers_stay_as_they_are),
        cmocka_unit_test(random_use_against_a_model),
        cmocka_unit_test(kept_memory_is_like_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
