/* test_arena_start.c -- what is kept for a node's next start: spare pages and those that are owed.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "kernel/base/arena.h"

#define PAGES 20u
#define SPARE 3u

static struct arena *arena_make(void)
{
    struct arena_limits limits = {0};
    limits.pages_max[RG_DATA] = PAGES;
    limits.pages_spare[RG_DATA] = SPARE;
    limits.pages_max[RG_SCHEMA] = PAGES;
    struct arena *arena = arena_create(&limits);
    assert_non_null(arena);
    return arena;
}

/* How many pages there still are, all of which are taken. */
static uint32_t take_all(struct arena *arena)
{
    uint32_t count = 0;
    while (arena_page(arena, RG_DATA) != NULL)
        count++;
    return count;
}

static void test_a_start_may_use_all(void **state)
{
    (void)state;
    struct arena *arena = arena_make();
    arena_owe(arena, RG_DATA, ARENA_OWED_LASTING, 5);
    void *page = arena_page(arena, RG_DATA);
    assert_int_equal(take_all(arena), PAGES - 1);
    arena_started(arena);
    assert_null(arena_page(arena, RG_DATA));
    /* More is in use than may be: what goes is not given to anybody until it is less. */
    arena_page_release(arena, RG_DATA, page);
    assert_null(arena_page(arena, RG_DATA));
    assert_int_equal(arena_usage(arena, RG_DATA).used, PAGES - 1);
    assert_int_equal(arena_usage(arena, RG_DATA).held, 0); /* No checkpoint would help. */
    arena_destroy(arena);
}

static void test_what_is_kept(void **state)
{
    (void)state;
    struct arena *arena = arena_make();
    arena_started(arena);
    arena_owe(arena, RG_DATA, ARENA_OWED_LASTING, 2);
    arena_owe(arena, RG_DATA, ARENA_OWED_CHECKPOINT, 4);
    assert_int_equal(take_all(arena), PAGES - SPARE - 2 - 4);
    assert_int_equal(arena_usage(arena, RG_DATA).held, 1);
    arena_owe(arena, RG_DATA, ARENA_OWED_CHECKPOINT, -4);
    assert_int_equal(take_all(arena), 4);
    assert_int_equal(arena_usage(arena, RG_DATA).held, 1);
    arena_owe(arena, RG_DATA, ARENA_OWED_LASTING, -2);
    assert_int_equal(take_all(arena), 2);
    assert_int_equal(arena_usage(arena, RG_DATA).failed, 3);
    assert_non_null(arena_page(arena, RG_SCHEMA)); /* Other groups keep nothing. */
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_start_may_use_all),
        cmocka_unit_test(test_what_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
