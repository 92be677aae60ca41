/* test_arena_ahead.c -- memory is provided before it is handed out: how much, and unchanged. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>
#include "kernel/base/arena.h"

#define PAGES_AHEAD ((uint32_t)(ARENA_AHEAD / PAGE_SIZE_BYTES))

static struct arena *arena_make(uint32_t pages)
{
    struct arena_limits limits = {0};
    limits.pages_max[RG_DATA] = pages;
    struct arena *arena = arena_create(&limits);
    assert_non_null(arena);
    return arena;
}

static bool is_there(void *page)
{
    unsigned char in_memory[PAGE_SIZE_BYTES / 4096u];
    assert_int_equal(mincore(page, PAGE_SIZE_BYTES, in_memory), 0);
    for (size_t i = 0; i < sizeof in_memory; i++) {
        if ((in_memory[i] & 1u) == 0) return false;
    }
    return true;
}

/* Steps until it says something else than MORE. */
static enum arena_touch touch_all(struct arena *arena, uint32_t *steps)
{
    enum arena_touch touch;
    for (*steps = 0; (touch = arena_touch_ahead(arena)) == ARENA_TOUCH_MORE; (*steps)++)
        assert_true(*steps < 1000);
    return touch;
}

/* Not on a system that cannot. */
static void skip_without(struct arena *arena)
{
    if (arena_touch_ahead(arena) != ARENA_TOUCH_NEVER) return;
    arena_destroy(arena);
    skip();
}

static void test_so_much_is_ahead(void **state)
{
    (void)state;
    uint32_t steps;
    struct arena *arena = arena_make(20 * PAGES_AHEAD);
    skip_without(arena);
    uint8_t *first = arena_page(arena, RG_DATA);
    assert_int_equal(touch_all(arena, &steps), ARENA_TOUCH_ENOUGH);
    assert_true(steps > 0);
    /* Pages come from lower to higher addresses. */
    for (uint32_t i = 1; i <= PAGES_AHEAD; i++)
        assert_true(is_there(first + (size_t)i * PAGE_SIZE_BYTES));
    assert_false(is_there(first + 2 * ARENA_AHEAD));
    assert_int_equal(touch_all(arena, &steps), ARENA_TOUCH_ENOUGH);
    assert_int_equal(steps, 0);
    for (uint32_t i = 0; i < PAGES_AHEAD; i++)
        assert_non_null(arena_page(arena, RG_DATA));
    assert_int_equal(touch_all(arena, &steps), ARENA_TOUCH_ENOUGH);
    assert_true(steps > 0);
    assert_true(is_there(first + 2 * ARENA_AHEAD - PAGE_SIZE_BYTES));
    arena_destroy(arena);
}

static void test_nothing_changes(void **state)
{
    (void)state;
    uint32_t steps;
    struct arena *arena = arena_make(100);
    skip_without(arena);
    uint8_t *page[100];
    for (uint32_t i = 0; i < 100; i++) {
        page[i] = arena_page(arena, RG_DATA);
        memset(page[i], (int)i + 1, PAGE_SIZE_BYTES);
        if (i % 10 == 0) assert_int_not_equal(touch_all(arena, &steps), ARENA_TOUCH_MORE);
    }
    assert_null(arena_page(arena, RG_DATA));
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(page[i][0], i + 1);
        assert_memory_equal(page[i], page[i] + 1, PAGE_SIZE_BYTES - 1);
    }
    assert_int_not_equal(touch_all(arena, &steps), ARENA_TOUCH_MORE);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_so_much_is_ahead),
        cmocka_unit_test(test_nothing_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
