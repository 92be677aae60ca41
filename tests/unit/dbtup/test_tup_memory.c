/* test_tup_memory.c -- memory that ends at any point: an error, nothing changed, everything given
 * back. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/tup_fixture.h"

static struct table_def *def_var(void)
{
    struct table_def *def = def_start();
    column_add(def, "k", (struct column_format){.type = COLUMN_UNSIGNED, .length = 1},
               COLUMN_PRIMARY_KEY, NULL, 0);
    column_add(def, "f", (struct column_format){.type = COLUMN_BINARY, .length = 100}, 0, NULL, 0);
    column_add(def, "v", (struct column_format){.type = COLUMN_LONGVARBINARY, .length = 9000},
               COLUMN_NULLABLE, NULL, 0);
    index_add(def, "f", (const uint16_t[]){1}, 1);
    return def;
}

static uint32_t attr_var(uint32_t *attr, uint32_t seed)
{
    uint32_t size = 1 + seed * 37 % 2000;
    attr[0] = attr_header(1, 100);
    memset(attr + 1, (int)(seed & 0xFF), 100);
    attr[26] = attr_header(2, size + 2);
    attr[27 + (size + 1) / 4] = 0;
    memset(attr + 27, (int)(seed & 0xFF), size + 2);
    attr[27] = (attr[27] & 0xFFFF0000u) | size;
    return 27 + words_of(size + 2);
}

struct step {
    uint32_t error;
    struct tup_changed changed;
    uint32_t lock;
};

static struct step step_do(struct rows_world *world, uint32_t key, uint32_t kind, uint32_t seed)
{
    static uint32_t attr[4096];
    uint32_t words = attr_var(attr, seed);
    struct tup_change_req req = request(world, 1, &key, 1, attr, words);
    struct step step = {0};
    if (req.row != ROW_NONE) {
        step.error = lock_row(world, .trans = 1, .op = 1, .row = req.row, .mode = LOCK_EXCLUSIVE,
                              .nowait = true, .lock = &step.lock);
        if (step.error != 0) return step;
    }
    switch (kind) {
    case 0:
        step.error = tup_insert(world->tup, &req, &step.changed);
        break;
    case 1:
        step.error = tup_update(world->tup, &req, &step.changed);
        break;
    default:
        step.error = tup_delete(world->tup, &req, &step.changed);
        break;
    }
    if (step.error != 0 && step.lock != REF_NONE) acc_unlock(world->acc, step.lock);
    if (step.error == 0 && step.lock == REF_NONE) step.lock = step.changed.lock;
    return step;
}

static void step_commit(struct rows_world *world, const struct step *step)
{
    tup_commit(world->tup, step->changed.change, 4);
    acc_unlock(world->acc, step->lock);
}

static bool is_memory_error(uint32_t error)
{
    return error == ERR_NO_MEMORY_DATA || error == ERR_INDEX_MEMORY ||
           error == ERR_INDEX_MEMORY_ORDERED || error == ERR_LQH_OPERATIONS ||
           error == ERR_COPY_MEMORY;
}

/* Inserts until memory ends, updates all, deletes all, with every size of memory. */
static void test_every_page(void **state)
{
    (void)state;
    for (uint32_t pages = 0; pages < 60; pages++) {
        struct rows_world world;
        uint32_t rows = 0;
        world_start(&world, pages, 64);
        world_table(&world, def_var());
        for (;; rows++) {
            struct step step = step_do(&world, rows, 0, rows);
            if (step.error != 0) {
                assert_true(is_memory_error(step.error));
                assert_int_equal(acc_locks_in_use(world.acc), 0);
                assert_int_equal(tup_changes_open(world.tup), 0);
                break;
            }
            step_commit(&world, &step);
        }
        if (pages > 3) assert_true(rows > 0);
        world_check(&world);
        for (uint32_t key = 0; key < rows; key++) {
            struct step step = step_do(&world, key, 1, key + 1);
            if (step.error != 0)
                assert_true(is_memory_error(step.error));
            else
                step_commit(&world, &step);
        }
        world_check(&world);
        for (uint32_t key = 0; key < rows; key++) {
            struct step step = step_do(&world, key, 2, 0);
            assert_int_equal(step.error, 0); /* A delete needs no row memory. */
            step_commit(&world, &step);
        }
        world_check(&world);
        assert_int_equal(world_data_pages(&world),
                         0); /* Deleting all gives all back, before the drop. */
        world_drop(&world);
        assert_int_equal(world_data_pages(&world), 0);
        world_stop(&world);
    }
}

/* Sums over everything that a refused operation must leave alone. */
struct figures {
    uint32_t locks;
    uint32_t changes;
    uint32_t copies;
    uint32_t pages;
    uint64_t var_bytes;
    uint64_t elements;
};

static struct figures figures_of(const struct rows_world *world)
{
    return (struct figures){acc_locks_in_use(world->acc),
                            tup_changes_open(world->tup),
                            tup_heap_in_use(&world->tup->copies),
                            world_data_pages(world),
                            world->frag->var_bytes,
                            acc_frag_elements(world->index)};
}

static void compare(struct figures a, struct figures b)
{
    assert_int_equal(a.locks, b.locks);
    assert_int_equal(a.changes, b.changes);
    assert_int_equal(a.copies, b.copies);
    assert_int_equal(a.pages, b.pages);
    assert_int_equal(a.var_bytes, b.var_bytes);
    assert_int_equal(a.elements, b.elements);
}

/* Each pool refuses once, for each kind of operation. */
static void test_every_record(void **state)
{
    (void)state;
    struct rows_world world;
    world_start(&world, 64, 64);
    world_table(&world, def_var());
    for (uint32_t key = 0; key < 3; key++) {
        struct step step = step_do(&world, key, 0, key);
        assert_int_equal(step.error, 0);
        step_commit(&world, &step);
    }
    uint32_t refused = 0;
    for (uint32_t kind = 0; kind < 3; kind++) {
        struct pool *pools[2 + HEAP_CLASSES] = {&world.acc->locks, &world.tup->changes};
        for (uint32_t i = 0; i < HEAP_CLASSES; i++)
            pools[2 + i] = &world.tup->copies.pool[i];
        for (uint32_t i = 0; i < 2 + HEAP_CLASSES; i++) {
            struct figures before = figures_of(&world);
            pools[i]->fail_next = 1;
            struct step step = step_do(&world, kind == 0 ? 100 : 1, kind, 50);
            pools[i]->fail_next = 0;
            if (step.error != 0) {
                refused++;
                assert_int_equal(step.error, i < 2 ? ERR_LQH_OPERATIONS : ERR_COPY_MEMORY);
                compare(before, figures_of(&world));
            } else {
                tup_abort(world.tup, step.changed.change);
                acc_unlock(world.acc, step.lock);
                compare(before, figures_of(&world));
            }
            world_check(&world);
        }
    }
    assert_int_equal(refused, 7); /* Lock and change in all three; a copy only for the update. */
    world_drop(&world);
    assert_int_equal(world_data_pages(&world), 0);
    world_stop(&world);
}

static void test_table_records(void **state)
{
    (void)state;
    struct rows_world world;
    uint32_t table;
    uint32_t frag;
    world_start(&world, 16, 16);
    struct table_def *def = def_var();
    assert_int_equal(table_def_check(def), 0);
    for (uint32_t i = 0; i < HEAP_CLASSES; i++) {
        world.tup->descriptors.pool[i].fail_next = 1;
        uint32_t error = tup_table_create(world.tup, def, &table);
        if (world.tup->descriptors.pool[i].fail_next == 0) {
            assert_int_equal(error, ERR_TUP_TABLES);
        } else {
            assert_int_equal(error, 0);
            assert_false(!tup_table_drop_step(world.tup, table));
        }
        world.tup->descriptors.pool[i].fail_next = 0;
        assert_int_equal(tup_heap_in_use(&world.tup->descriptors), 0);
        assert_int_equal(world.tup->tables.in_use, 0);
    }
    world.tup->tables.fail_next = 1;
    assert_int_equal(tup_table_create(world.tup, def, &table), ERR_TUP_TABLES);
    world_table(&world, def);
    world.tup->frags.fail_next = 1;
    assert_int_equal(tup_frag_create(world.tup, world.table, 1, &frag), ERR_FRAGMENT_RECORDS_TUP);
    world.acc->frags.fail_next = 1;
    assert_int_equal(tup_frag_create(world.tup, world.table, 1, &frag), ERR_FRAGMENT_RECORDS_TUP);
    assert_int_equal(world.tup->frags.in_use, 1);
    assert_int_equal(tup_frag_create(world.tup, world.table, 1, &frag), 0);
    world_drop(&world);
    assert_int_equal(world.tup->frags.in_use, 0);
    assert_int_equal(world.acc->frags.in_use, 0);
    world_stop(&world);
}

static void test_drop_full(void **state)
{
    (void)state;
    struct rows_world world;
    world_start(&world, 2048, 64);
    world_table(&world, def_var());
    uint32_t other;
    assert_int_equal(tup_frag_create(world.tup, world.table, 1, &other), 0);
    for (uint32_t half = 0; half < 2; half++) {
        for (uint32_t key = 0; key < 20000; key++) {
            struct step step = step_do(&world, key, 0, key);
            assert_int_equal(step.error, 0);
            step_commit(&world, &step);
        }
        world.frag = tup_frag_get(world.tup, other);
        world.index = tup_frag_index(world.frag);
    }
    world_check(&world);
    assert_true(world_data_pages(&world) > 1000);
    uint32_t before = world_data_pages(&world);
    while (!tup_table_drop_step(world.tup, world.table)) {
        assert_true(before - world_data_pages(&world) <= 80); /* Bounded work. */
        before = world_data_pages(&world);
        acc_check(&world.acc->block);
    }
    assert_int_equal(world_data_pages(&world), 0);
    world_stop(&world);
}

static struct table_def *with_another_index(const struct table_def *def)
{
    struct table_def *more = malloc(table_def_bytes(def));
    memcpy(more, def, table_def_bytes(def));
    index_add(more, "again", (const uint16_t[]){1, 0}, 2);
    assert_int_equal(table_def_check(more), 0);
    return more;
}

static uint32_t build(struct rows_world *world, struct tup_index_build *build)
{
    bool end = false;
    uint32_t error = 0;
    while (error == 0 && !end) {
        error = tup_index_build_step(world->tup, world->frag, 1, build, 5, &end);
        acc_check(&world->acc->block);
    }
    world_check(world);
    return error;
}

static void drop_index(struct rows_world *world)
{
    while (!tup_index_drop_step(world->tup, world->frag, 1))
        world_check(world);
    tup_index_forget(world->tup, world->table, 1);
}

/* Building an index ends at every page; what there is goes, and the rows are as before. */
static void test_index_build(void **state)
{
    (void)state;
    uint32_t pages = 400; /* Pages of the first world, to see how many the rows take. */
    uint32_t refused = 0;
    for (uint32_t whole = 0; whole < 2;) {
        struct rows_world world;
        struct tup_index_build at = {0};
        world_start(&world, pages, 64);
        world_table(&world, def_var());
        for (uint32_t key = 0; key < 2000; key++) {
            struct step step = step_do(&world, key, 0, key);
            assert_int_equal(step.error, 0);
            step_commit(&world, &step);
        }
        struct table_def *def = with_another_index(world.def);
        uint32_t before = world_data_pages(&world);
        assert_int_equal(tup_index_create(world.tup, world.table, def, 1), 0);
        uint32_t error = build(&world, &at);
        whole += error == 0;
        refused += error != 0;
        pages = pages == 400 ? before : pages + 1;
        assert_true(error == 0 || error == ERR_INDEX_MEMORY_ORDERED);
        struct step step = step_do(&world, 7, 2, 0); /* Rows can go meanwhile. */
        assert_int_equal(step.error, 0);
        step_commit(&world, &step);
        drop_index(&world);
        assert_true(world_data_pages(&world) <=
                    before + 2); /* Nodes that wait for the next change. */
        world_drop(&world);
        world_stop(&world);
        free(def);
    }
    assert_true(refused >= 1);
}

/* Random sizes and lifetimes of variable parts: contents stay, space is found again. */
static void test_var_parts(void **state)
{
    (void)state;
    enum { PARTS = 800 };
    struct rows_world world;
    struct rng rng;
    uint32_t ref[PARTS] = {0};
    uint32_t size[PARTS];
    uint64_t high = 0;
    world_start(&world, 1024, 16);
    world_table(&world, def_var());
    rng_seed(&rng, 8);
    for (uint32_t step = 0; step < 300000; step++) {
        uint32_t i = (uint32_t)rng_below(&rng, PARTS);
        if (ref[i] != 0) {
            uint32_t got;
            const uint8_t *part = tup_var_get(world.frag, ref[i], &got);
            assert_int_equal(got, size[i]);
            assert_int_equal(part[0], (uint8_t)i);
            assert_int_equal(part[got - 1], (uint8_t)i);
            tup_var_release(world.frag, ref[i]);
            ref[i] = 0;
        } else {
            uint32_t kind = (uint32_t)rng_below(&rng, 20);
            uint32_t max = kind == 0 ? 31000 : kind < 5 ? 3000 : 100;
            size[i] = 1 + (uint32_t)rng_below(&rng, max);
            ref[i] = tup_var_seize(world.frag, size[i]);
            assert_int_not_equal(ref[i], 0);
            uint32_t got;
            memset(tup_var_get(world.frag, ref[i], &got), (int)(i & 0xFF), size[i]);
            assert_int_equal(got, size[i]);
        }
        if (step % 1000 == 0) tup_var_check(world.frag);
        if (world.frag->var_bytes > high) high = world.frag->var_bytes;
    }
    /* Reuse: pages are not much more than what was stored at the worst moment. */
    assert_true(arena_usage(world.arena, RG_DATA).high < 2 * high / PAGE_SIZE_BYTES + 8);
    for (uint32_t i = 0; i < PARTS; i++) {
        if (ref[i] != 0) tup_var_release(world.frag, ref[i]);
    }
    assert_int_equal(world.frag->var_bytes, 0);
    assert_int_equal(world_data_pages(&world), 0);
    /* More tiny parts than a page has entries for. */
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_not_equal(tup_var_seize(world.frag, 1 + i % 2), 0);
    tup_var_check(world.frag);
    assert_in_range(world.frag->var.pages, 3, 3);
    world_drop(&world);
    assert_int_equal(world_data_pages(&world), 0);
    world_stop(&world);
}

/* Updates that keep the length fill the holes that others have left: no page is added, and what
 * nobody updates is not moved. */
static void test_var_holes(void **state)
{
    (void)state;
    enum { PARTS = 2000, SIZE = 90, STILL = 7 };
    struct rows_world world;
    struct rng rng;
    uint32_t ref[PARTS];
    const uint8_t *at[PARTS];
    uint32_t size;
    world_start(&world, 64, 16);
    world_table(&world, def_var());
    rng_seed(&rng, 3);
    for (uint32_t i = 0; i < PARTS; i++) {
        ref[i] = tup_var_seize(world.frag, SIZE);
        assert_int_not_equal(ref[i], 0);
        at[i] = tup_var_get(world.frag, ref[i], &size);
    }
    uint32_t pages = world.frag->var.pages;
    for (uint32_t step = 0; step < 50000; step++) {
        uint32_t i = (uint32_t)rng_below(&rng, PARTS);
        if (i % STILL == 0) continue;
        uint32_t fresh = tup_var_seize(world.frag, SIZE); /* An update takes the new place. */
        assert_int_not_equal(fresh, 0);
        tup_var_release(world.frag, ref[i]); /* Its commit gives the old one back. */
        ref[i] = fresh;
        if (step % 1000 == 0) tup_var_check(world.frag);
    }
    assert_in_range(world.frag->var.pages, pages, pages + 1);
    for (uint32_t i = 0; i < PARTS; i += STILL)
        assert_ptr_equal(tup_var_get(world.frag, ref[i], &size), at[i]);
    for (uint32_t i = 0; i < PARTS; i++)
        tup_var_release(world.frag, ref[i]);
    assert_int_equal(world_data_pages(&world), 0);
    world_drop(&world);
    world_stop(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_page),    cmocka_unit_test(test_every_record),
        cmocka_unit_test(test_table_records), cmocka_unit_test(test_drop_full),
        cmocka_unit_test(test_var_parts),     cmocka_unit_test(test_index_build),
        cmocka_unit_test(test_var_holes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
