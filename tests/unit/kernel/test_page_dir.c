/* test_page_dir.c -- numbered pages: holes, chosen numbers, jumps, exhausted memory. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>
#include "kernel/base/page_dir.h"
#include "kernel/base/rng.h"

#define NUMBERS 5000u

static struct arena *arena_make(uint32_t pages)
{
    struct arena_limits limits = {0};
    limits.pages_max[RG_DATA] = pages;
    struct arena *arena = arena_create(&limits);
    assert_non_null(arena);
    return arena;
}

static void test_random(void **state)
{
    (void)state;
    struct arena *arena = arena_make(NUMBERS + 16);
    void **page = calloc(NUMBERS, sizeof *page);
    struct page_dir dir;
    struct rng rng;
    uint32_t used = 0;
    rng_seed(&rng, 1);
    page_dir_init(&dir, arena, RG_DATA);
    for (uint32_t step = 0; step < 100000; step++) {
        uint32_t number = (uint32_t)rng_below(&rng, step < 1000 ? 40 : NUMBERS);
        bool grow = rng_chance(&rng, step / 20000 % 2 == 0 ? 4 : 1, 5);
        if (page[number] != NULL && !grow) {
            page_dir_remove(&dir, number);
            page[number] = NULL;
            used--;
        } else if (page[number] == NULL && grow && rng_chance(&rng, 1, 2)) {
            page[number] = page_dir_add_at(&dir, number);
            assert_non_null(page[number]);
            used++;
        } else if (grow && used < NUMBERS / 2) {
            void *added = page_dir_add(&dir, NUMBERS, &number);
            if (added == NULL)
                continue; /* All numbers up to the highest are looked at bit by bit. */
            assert_null(page[number]);
            page[number] = added;
            used++;
        }
        assert_int_equal(dir.pages, used);
        number = (uint32_t)rng_below(&rng, NUMBERS);
        assert_ptr_equal(page_dir_find(&dir, number), page[number]);
    }
    for (uint32_t number = 0; number < NUMBERS; number++) {
        assert_ptr_equal(page_dir_find(&dir, number), page[number]);
        if (page[number] != NULL) page_dir_remove(&dir, number);
    }
    assert_int_equal(arena_usage(arena, RG_DATA).used, 0);
    free(page);
    arena_destroy(arena);
}

static void test_jump_leaves_nothing_behind(void **state)
{
    (void)state;
    struct arena *arena = arena_make(512);
    struct page_dir dir;
    uint32_t number;
    page_dir_init(&dir, arena, RG_DATA);
    assert_non_null(page_dir_add_at(
        &dir, 200)); /* As a replica would, when the primary's first pages are gone. */
    for (uint32_t i = 0; i < 200; i++) {
        assert_non_null(page_dir_add(&dir, 1000, &number));
        assert_int_equal(number, i);
    }
    assert_non_null(page_dir_add(&dir, 1000, &number));
    assert_int_equal(number, 201);
    page_dir_remove(&dir, 7);
    page_dir_remove(&dir, 9);
    assert_non_null(page_dir_add_at(&dir, 7));
    assert_non_null(page_dir_add(&dir, 1000, &number));
    assert_int_equal(number, 9);
    assert_null(page_dir_add(&dir, 202, &number)); /* No number below 202 is free. */
    arena_destroy(arena);
}

static void test_no_memory(void **state)
{
    (void)state;
    for (uint32_t pages = 0; pages < 24; pages++) {
        struct arena *arena = arena_make(pages);
        struct page_dir dir;
        uint32_t number;
        uint32_t got = 0;
        page_dir_init(&dir, arena, RG_DATA);
        while (page_dir_add(&dir, 1000, &number) != NULL)
            assert_int_equal(number, got++);
        assert_int_equal(dir.pages, got);
        assert_int_equal(dir.count, got);
        assert_in_range(got, pages > 18 ? pages - 2 : 0, pages);
        while (got > 0)
            page_dir_remove(&dir, --got);
        page_dir_drop(&dir);
        assert_int_equal(arena_usage(arena, RG_DATA).used, 0);
        arena_destroy(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_jump_leaves_nothing_behind),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
