/* test_acc_lock.c -- row locks: order, upgrade, timeout, rows that vanish, random schedules. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/tup_fixture.h"

static struct rows_world world;

static int setup(void **state)
{
    (void)state;
    world_start(&world, 256, 256);
    world_table(&world, def_plain());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_check(&world);
    assert_int_equal(acc_locks_in_use(world.acc), 0);
    assert_int_equal(acc_locks_waiting(world.acc), 0);
    world_drop(&world);
    assert_int_equal(world_data_pages(&world), 0);
    world_stop(&world);
    return 0;
}

static struct tup_changed insert(uint32_t trans, uint32_t number)
{
    uint32_t key[4] = {number};
    uint32_t attr[9] = {attr_header(1, 32), number};
    struct tup_changed changed;
    struct tup_change_req req = request(&world, trans, key, 4, attr, 9);
    assert_int_equal(tup_insert(world.tup, &req, &changed), 0);
    return changed;
}

static uint32_t row_make(uint32_t number)
{
    struct tup_changed changed = insert(99, number);
    tup_commit(world.tup, changed.change, 1);
    acc_unlock(world.acc, changed.lock);
    return changed.row;
}

static uint32_t lock(uint32_t trans, uint32_t op, uint32_t row, enum lock_mode mode)
{
    uint32_t ref;
    assert_int_equal(lock_row(&world, .trans = trans, .op = op, .row = row, .mode = mode, .now = op,
                              .lock = &ref),
                     0);
    return ref;
}

static uint32_t wait_for(uint32_t trans, uint32_t op, uint32_t row, enum lock_mode mode)
{
    uint32_t ref;
    assert_int_equal(lock_row(&world, .trans = trans, .op = op, .row = row, .mode = mode, .now = op,
                              .lock = &ref),
                     ACC_WAIT);
    assert_int_not_equal(ref, REF_NONE);
    return ref;
}

static void expect_ready(uint32_t op, uint32_t ref, uint32_t error)
{
    struct acc_ready ready;
    assert_true(acc_ready_next(world.acc, &ready));
    assert_int_equal(ready.op, op);
    assert_int_equal(ready.lock, ref);
    assert_int_equal(ready.error, error);
}

static void expect_idle(void)
{
    struct acc_ready ready;
    assert_true(acc_ready_empty(world.acc));
    assert_false(acc_ready_next(world.acc, &ready));
    acc_check(&world.acc->block);
}

static void test_shared_and_exclusive(void **state)
{
    (void)state;
    uint32_t row = row_make(1);
    uint32_t refused;
    uint32_t s1 = lock(1, 1, row, LOCK_SHARED);
    uint32_t s2 = lock(2, 2, row, LOCK_SHARED);
    assert_int_equal(lock_row(&world, .trans = 3, .op = 3, .row = row, .mode = LOCK_EXCLUSIVE,
                              .nowait = true, .lock = &refused),
                     ERR_NOWAIT_LOCK);
    assert_int_equal(refused, REF_NONE);
    uint32_t x3 = wait_for(3, 3, row, LOCK_EXCLUSIVE);
    acc_unlock(world.acc, s1);
    expect_idle();
    acc_unlock(world.acc, s2);
    expect_ready(3, x3, 0);
    expect_idle();
    acc_unlock(world.acc, x3);
}

static void test_no_overtaking(void **state)
{
    (void)state;
    uint32_t row = row_make(1);
    uint32_t s1 = lock(1, 1, row, LOCK_SHARED);
    uint32_t x2 = wait_for(2, 2, row, LOCK_EXCLUSIVE);
    uint32_t s3 = wait_for(
        3, 3, row, LOCK_SHARED); /* Compatible with the holder, but came after the writer. */
    uint32_t s4 = wait_for(4, 4, row, LOCK_SHARED);
    uint32_t x5 = wait_for(5, 5, row, LOCK_EXCLUSIVE);
    uint32_t s6 = wait_for(6, 6, row, LOCK_SHARED);
    acc_unlock(world.acc, s1);
    expect_ready(2, x2, 0);
    expect_idle();
    acc_unlock(world.acc, x2);
    expect_ready(3, s3, 0);
    expect_ready(4, s4, 0);
    expect_idle();
    acc_unlock(world.acc, s4);
    acc_unlock(world.acc, s3);
    expect_ready(5, x5, 0);
    acc_unlock(world.acc, x5);
    expect_ready(6, s6, 0);
    acc_unlock(world.acc, s6);
    expect_idle();
}

static void test_reentrant(void **state)
{
    (void)state;
    uint32_t row = row_make(1);
    uint32_t a = lock(1, 1, row, LOCK_EXCLUSIVE);
    uint32_t w = wait_for(2, 9, row, LOCK_EXCLUSIVE);
    uint32_t b = lock(1, 2, row, LOCK_SHARED);
    uint32_t c = lock(1, 3, row, LOCK_EXCLUSIVE);
    acc_unlock(world.acc, a);
    acc_unlock(world.acc, c);
    expect_idle();
    acc_unlock(world.acc, b);
    expect_ready(9, w, 0);
    acc_unlock(world.acc, w);
}

static void test_upgrade(void **state)
{
    (void)state;
    uint32_t row = row_make(1);
    uint32_t s1 = lock(1, 1, row, LOCK_SHARED);
    uint32_t x1 = lock(1, 2, row, LOCK_EXCLUSIVE); /* Sole holder. */
    acc_unlock(world.acc, x1);
    uint32_t s2 = lock(2, 3, row, LOCK_SHARED);
    uint32_t x3 = wait_for(3, 4, row, LOCK_EXCLUSIVE);
    uint32_t up =
        wait_for(1, 5, row, LOCK_EXCLUSIVE); /* Before transaction 3, which waits for 1 itself. */
    acc_unlock(world.acc, s2);
    expect_ready(5, up, 0);
    expect_idle();
    acc_unlock(world.acc, s1);
    expect_idle();
    acc_unlock(world.acc, up);
    expect_ready(4, x3, 0);
    acc_unlock(world.acc, x3);
}

static void test_sisters_stay_together(void **state)
{
    (void)state;
    uint32_t row = row_make(1);
    uint32_t x1 = lock(1, 1, row, LOCK_EXCLUSIVE);
    uint32_t a2 = wait_for(2, 2, row, LOCK_EXCLUSIVE);
    uint32_t a3 = wait_for(3, 3, row, LOCK_EXCLUSIVE);
    uint32_t b2 =
        wait_for(2, 4, row, LOCK_EXCLUSIVE); /* Behind 3 it would wait for ever: 3 waits for a2. */
    acc_unlock(world.acc, x1);
    expect_ready(2, a2, 0);
    expect_ready(4, b2, 0);
    expect_idle();
    acc_unlock(world.acc, a2);
    acc_unlock(world.acc, b2);
    expect_ready(3, a3, 0);
    acc_unlock(world.acc, a3);
}

static void test_timeout(void **state)
{
    (void)state;
    uint32_t row = row_make(1);
    uint32_t ref;
    uint32_t s1 = lock(1, 1, row, LOCK_SHARED);
    assert_int_equal(lock_row(&world, .trans = 2, .op = 2, .row = row, .mode = LOCK_EXCLUSIVE,
                              .now = 100, .lock = &ref),
                     ACC_WAIT);
    assert_int_equal(lock_row(&world, .trans = 3, .op = 3, .row = row, .mode = LOCK_SHARED,
                              .now = 600, .lock = &ref),
                     ACC_WAIT);
    assert_int_equal(acc_lock_tick(world.acc, 1099, 10), 0);
    assert_int_equal(acc_lock_tick(world.acc, 1100, 10), 1);
    expect_ready(3, ref, 0); /* Only the writer was in its way. */
    expect_ready(2, REF_NONE, ERR_LOCK_TIMEOUT);
    expect_idle();
    acc_unlock(world.acc, ref);
    acc_unlock(world.acc, s1);
}

static void test_tick_is_bounded(void **state)
{
    (void)state;
    uint32_t row = row_make(1);
    uint32_t x = lock(1, 1, row, LOCK_EXCLUSIVE);
    for (uint32_t i = 0; i < 10; i++)
        wait_for(100 + i, i, row, LOCK_EXCLUSIVE);
    assert_int_equal(acc_lock_tick(world.acc, 5000, 4), 4);
    assert_int_equal(acc_lock_tick(world.acc, 5000, 100), 6);
    for (uint32_t i = 0; i < 10; i++)
        expect_ready(i, REF_NONE, ERR_LOCK_TIMEOUT);
    acc_unlock(world.acc, x);
}

static void test_row_vanishes(void **state)
{
    (void)state;
    uint32_t row = row_make(1);
    uint32_t key[4] = {1};
    uint32_t x1 = lock(1, 1, row, LOCK_EXCLUSIVE);
    struct tup_change_req req = request(&world, 1, key, 4, NULL, 0);
    struct tup_changed changed;
    assert_int_equal(tup_delete(world.tup, &req, &changed), 0);
    wait_for(2, 2, row, LOCK_SHARED);
    wait_for(3, 3, row, LOCK_EXCLUSIVE);
    wait_for(4, 4, row, LOCK_SHARED);
    tup_commit(world.tup, changed.change, 5);
    expect_ready(2, REF_NONE, 0);
    expect_ready(3, REF_NONE, 0);
    expect_ready(4, REF_NONE, 0);
    expect_idle();
    /* The slot is used again before the deleter gives back its lock. */
    assert_int_equal(row_make(2), row);
    uint32_t other = lock(7, 7, row, LOCK_EXCLUSIVE);
    acc_unlock(world.acc, x1);
    acc_check(&world.acc->block);
    acc_unlock(world.acc, other);
}

static void test_aborted_insert(void **state)
{
    (void)state;
    struct tup_changed changed = insert(1, 1);
    uint32_t sister = wait_for(2, 2, changed.row, LOCK_EXCLUSIVE);
    uint32_t cancelled = wait_for(3, 3, changed.row, LOCK_SHARED);
    tup_abort(world.tup, changed.change);
    acc_unlock(world.acc, cancelled); /* While it stands on the ready list. */
    expect_ready(2, REF_NONE, 0);
    expect_idle();
    acc_unlock(world.acc, changed.lock);
    (void)sister;
}

/* A grant that was not fetched before its row went must not promise the row. */
static void test_row_vanishes_after_grant(void **state)
{
    (void)state;
    uint32_t row = row_make(1);
    uint32_t key[4] = {1};
    uint32_t x1 = lock(1, 1, row, LOCK_EXCLUSIVE);
    uint32_t a2 = wait_for(2, 2, row, LOCK_EXCLUSIVE);
    wait_for(2, 3, row, LOCK_EXCLUSIVE);
    acc_unlock(world.acc, x1);
    expect_ready(2, a2, 0);
    struct tup_change_req req = request(&world, 2, key, 4, NULL, 0);
    struct tup_changed changed;
    assert_int_equal(tup_delete(world.tup, &req, &changed), 0);
    tup_commit(world.tup, changed.change, 5);
    expect_ready(3, REF_NONE, 0);
    expect_idle();
    acc_unlock(world.acc, a2);
}

static void test_leave_queue(void **state)
{
    (void)state;
    uint32_t row = row_make(1);
    uint32_t s1 = lock(1, 1, row, LOCK_SHARED);
    uint32_t x2 = wait_for(2, 2, row, LOCK_EXCLUSIVE);
    uint32_t s3 = wait_for(3, 3, row, LOCK_SHARED);
    acc_unlock(world.acc, x2);
    expect_ready(3, s3, 0);
    uint32_t x4 = wait_for(4, 4, row, LOCK_EXCLUSIVE);
    uint32_t x5 = wait_for(5, 5, row, LOCK_EXCLUSIVE);
    acc_unlock(world.acc, s1);
    acc_unlock(world.acc, s3);
    acc_unlock(world.acc, x4); /* Granted, but not fetched. */
    expect_ready(5, x5, 0);
    acc_unlock(world.acc, x5);
    expect_idle();
}

static void test_no_records(void **state)
{
    (void)state;
    uint32_t row = row_make(1);
    uint32_t ref;
    uint32_t used = acc_locks_in_use(world.acc);
    world.acc->locks.fail_next = 1;
    assert_int_equal(
        lock_row(&world, .trans = 1, .op = 1, .row = row, .mode = LOCK_SHARED, .lock = &ref),
        ERR_LQH_OPERATIONS);
    assert_int_equal(ref, REF_NONE);
    assert_int_equal(acc_locks_in_use(world.acc), used);
    uint32_t x = lock(1, 1, row, LOCK_EXCLUSIVE);
    world.acc->locks.fail_next = 1;
    assert_int_equal(
        lock_row(&world, .trans = 2, .op = 1, .row = row, .mode = LOCK_SHARED, .lock = &ref),
        ERR_LQH_OPERATIONS);
    acc_unlock(world.acc, x);
}

/* --- Random: what is granted is always compatible, nobody is lost, everything comes back. --- */

#define RANDOM_ROWS  4u
#define RANDOM_TRANS 9u
#define RANDOM_OPS   40u

struct random_op {
    uint32_t ref;
    uint32_t row;
    uint32_t trans;
    enum lock_mode mode;
    bool held;
};

static void holders_check(const struct random_op *op)
{
    for (uint32_t a = 0; a < RANDOM_OPS; a++) {
        for (uint32_t b = 0; b < RANDOM_OPS; b++) {
            if (a == b || !op[a].held || !op[b].held || op[a].row != op[b].row ||
                op[a].trans == op[b].trans)
                continue;
            assert_true(op[a].mode == LOCK_SHARED && op[b].mode == LOCK_SHARED);
        }
    }
}

static void ready_drain(struct random_op *op)
{
    struct acc_ready ready;
    while (acc_ready_next(world.acc, &ready)) {
        struct random_op *at = &op[ready.op];
        assert_false(at->held);
        assert_int_not_equal(at->ref, REF_NONE);
        if (ready.lock != REF_NONE) assert_int_equal(ready.lock, at->ref);
        at->held = ready.lock != REF_NONE;
        at->ref = ready.lock;
        if (ready.lock == REF_NONE) assert_int_equal(ready.error, ERR_LOCK_TIMEOUT);
    }
}

static void test_random(void **state)
{
    (void)state;
    struct random_op op[RANDOM_OPS] = {{0}};
    uint32_t row[RANDOM_ROWS];
    struct rng rng;
    rng_seed(&rng, 3);
    for (uint32_t i = 0; i < RANDOM_ROWS; i++)
        row[i] = row_make(i);
    for (uint32_t step = 0; step < 300000; step++) {
        struct random_op *at = &op[rng_below(&rng, RANDOM_OPS)];
        if (at->ref != REF_NONE) {
            acc_unlock(world.acc, at->ref);
            *at = (struct random_op){0};
        } else {
            bool nowait = rng_chance(&rng, 1, 5);
            at->row = row[rng_below(&rng, RANDOM_ROWS)];
            at->trans = 1 + (uint32_t)rng_below(&rng, RANDOM_TRANS);
            at->mode = rng_chance(&rng, 1, 2) ? LOCK_SHARED : LOCK_EXCLUSIVE;
            uint32_t result =
                lock_row(&world, .trans = at->trans, .op = (uint32_t)(at - op), .row = at->row,
                         .mode = at->mode, .nowait = nowait, .now = step, .lock = &at->ref);
            at->held = result == 0;
            if (nowait) assert_int_not_equal(result, ACC_WAIT);
            if (result == ERR_NOWAIT_LOCK) assert_int_equal(at->ref, REF_NONE);
        }
        if (rng_chance(&rng, 1, 50)) acc_lock_tick(world.acc, step, 3);
        if (rng_chance(&rng, 1, 2)) ready_drain(op);
        holders_check(op);
        if (step % 64 == 0) acc_check(&world.acc->block);
    }
    for (uint32_t i = 0; i < RANDOM_OPS; i++) {
        ready_drain(op);
        if (op[i].ref != REF_NONE) acc_unlock(world.acc, op[i].ref);
        op[i] = (struct random_op){0};
    }
    expect_idle();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_shared_and_exclusive),
        TEST(test_no_overtaking),
        TEST(test_reentrant),
        TEST(test_upgrade),
        TEST(test_sisters_stay_together),
        TEST(test_timeout),
        TEST(test_tick_is_bounded),
        TEST(test_row_vanishes),
        TEST(test_aborted_insert),
        TEST(test_row_vanishes_after_grant),
        TEST(test_leave_queue),
        TEST(test_no_records),
        TEST(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
