/* test_acc_index.c -- the hash index: random inserts and removals, equal hashes, exhausted memory.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/tup_fixture.h"

/* Rows are made up: only find compares keys, so finds go through elements_have(). */
struct want {
    uint32_t hash;
    uint32_t row;
    uint32_t seen;
};

static struct rows_world world;

static int setup(void **state)
{
    (void)state;
    world_start(&world, 1024, 64);
    world_table(&world, def_plain());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    acc_check(&world.acc->block);
    assert_int_equal(acc_frag_elements(world.index), 0);
    assert_int_equal(acc_frag_pages(world.index), 0);
    world_drop(&world);
    assert_int_equal(world_data_pages(&world), 0);
    world_stop(&world);
    return 0;
}

static void visit(void *context, uint32_t hash, uint32_t row)
{
    struct want *want = context;
    assert_int_equal(want[row].hash, hash);
    assert_int_equal(want[row].row, 1);
    want[row].seen++;
}

/* Every element that should be there is there once, and nothing else is. */
static void compare(struct want *want, uint32_t count)
{
    uint32_t there = 0;
    for (uint32_t i = 0; i < count; i++)
        want[i].seen = 0;
    acc_frag_walk(world.index, visit, want);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(want[i].seen, want[i].row);
        there += want[i].row;
    }
    assert_int_equal(acc_frag_elements(world.index), there);
    acc_check(&world.acc->block);
}

/* Grows and shrinks in waves, so that every size is passed both ways. */
static void random_run(uint32_t count, uint32_t steps, uint32_t hash_mask)
{
    struct want *want = calloc(count, sizeof *want);
    struct rng rng;
    rng_seed(&rng, count);
    for (uint32_t i = 0; i < count; i++)
        want[i].hash = (uint32_t)rng_next(&rng) & hash_mask;
    for (uint32_t step = 0; step < steps; step++) {
        uint32_t row = (uint32_t)rng_below(&rng, count);
        bool insert = rng_chance(&rng, step / (steps / 6) % 2 == 0 ? 9 : 1, 10);
        if (insert && !want[row].row) {
            assert_int_equal(acc_insert(world.acc, world.index, want[row].hash, row), 0);
            want[row].row = 1;
        } else if (!insert && want[row].row) {
            acc_remove(world.acc, world.index, want[row].hash, row);
            want[row].row = 0;
        }
        if (step % (steps / 40) == 0) compare(want, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (want[i].row) acc_remove(world.acc, world.index, want[i].hash, i);
        want[i].row = 0;
        if (i % (count / 8) == 0) compare(want, count);
    }
    free(want);
}

static void test_random(void **state)
{
    (void)state;
    random_run(100, 50000, 0xFFFFFFFFu);
    random_run(100000, 1000000, 0xFFFFFFFFu);
}

static void test_bad_hashes(void **state)
{
    (void)state;
    random_run(3000, 200000, 0xFF00000Fu); /* Low bits decide the bucket: long chains. */
}

static void test_equal_hashes(void **state)
{
    (void)state;
    uint32_t count = 0;
    uint32_t error;
    while ((error = acc_insert(world.acc, world.index, 5, count)) == 0)
        count++;
    assert_int_equal(error, ERR_HASH_MAXIMUM);
    assert_int_equal(count, CHAIN_ELEMENTS);
    assert_int_equal(acc_frag_elements(world.index), count);
    assert_int_equal(acc_insert(world.acc, world.index, 6, count), 0); /* Others are not touched. */
    acc_check(&world.acc->block);
    acc_remove(world.acc, world.index, 6, count);
    while (count-- > 0)
        acc_remove(world.acc, world.index, 5, count);
}

static void test_load(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 4);
    for (uint32_t i = 0; i < 500000; i++)
        assert_int_equal(acc_insert(world.acc, world.index, (uint32_t)rng_next(&rng), i), 0);
    /* Bytes per element, overflow included: 11.6 at 79 % full, plus chains. */
    uint32_t bytes = world_data_pages(&world) * PAGE_SIZE_BYTES / 500000u;
    assert_in_range(bytes, 10, 15);
    rng_seed(&rng, 4);
    for (uint32_t i = 0; i < 500000; i++)
        acc_remove(world.acc, world.index, (uint32_t)rng_next(&rng), i);
}

static void test_no_memory(void **state)
{
    (void)state;
    for (uint32_t pages = 0; pages < 12; pages++) {
        struct rows_world small;
        struct rng rng;
        uint32_t count = 0;
        world_start(&small, pages, 16);
        world_table(&small, def_plain());
        rng_seed(&rng, 9);
        while (acc_insert(small.acc, small.index, (uint32_t)rng_next(&rng), count) == 0)
            count++;
        acc_check(&small.acc->block);
        assert_int_equal(acc_frag_elements(small.index), count);
        assert_int_equal(acc_insert(small.acc, small.index, 1, 1) == 0
                             ? ERR_INDEX_MEMORY
                             : acc_insert(small.acc, small.index, 1, 1),
                         ERR_INDEX_MEMORY);
        if (acc_frag_elements(small.index) > count) acc_remove(small.acc, small.index, 1, 1);
        if (pages > 1) assert_true(count > 2000);
        rng_seed(&rng, 9);
        for (uint32_t i = 0; i < count; i++) {
            acc_remove(small.acc, small.index, (uint32_t)rng_next(&rng), i);
            if (i % 1000 == 0) acc_check(&small.acc->block);
        }
        assert_int_equal(acc_frag_elements(small.index), 0);
        world_drop(&small);
        assert_int_equal(world_data_pages(&small), 0);
        world_stop(&small);
    }
}

static void test_drop_full(void **state)
{
    (void)state;
    struct rows_world full;
    struct rng rng;
    world_start(&full, 1024, 16);
    world_table(&full, def_plain());
    rng_seed(&rng, 9);
    for (uint32_t i = 0; i < 100000; i++)
        assert_int_equal(acc_insert(full.acc, full.index, (uint32_t)rng_next(&rng), i), 0);
    world_drop(&full);
    assert_int_equal(world_data_pages(&full), 0);
    world_stop(&full);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_random), TEST(test_bad_hashes), TEST(test_equal_hashes),
        TEST(test_load),   TEST(test_no_memory),  TEST(test_drop_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
