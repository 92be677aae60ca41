/* test_tup_need.c -- rows that fit fit again, in whatever order they come; what has gone is kept
 * until a checkpoint no longer has it. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/tup_fixture.h"

#define PAGES    200u
#define SPARE    10u
#define ROWS_MAX 120000u
#define BODY_MAX 27000u

static struct table_def *def_body(void)
{
    struct table_def *def = def_start();
    column_add(def, "k", (struct column_format){.type = COLUMN_UNSIGNED, .length = 1},
               COLUMN_PRIMARY_KEY, NULL, 0);
    column_add(def, "n", (struct column_format){.type = COLUMN_UNSIGNED, .length = 1}, 0, NULL, 0);
    column_add(def, "v", (struct column_format){.type = COLUMN_LONGVARBINARY, .length = BODY_MAX},
               COLUMN_NULLABLE, NULL, 0);
    index_add(def, "n", (const uint16_t[]){1}, 1);
    return def;
}

static void world_make(struct rows_world *world, uint32_t spare)
{
    struct arena_limits limits = {0};
    const struct tup_limits tup_limits = {
        .tables_max = 8, .frags_max = 8, .changes_max = 1024, .checkpoints = true};
    limits.pages_max[RG_DATA] = PAGES;
    limits.pages_spare[RG_DATA] = spare;
    limits.pages_max[RG_TRANSACTION] = 64;
    world_begin(world, &limits, &tup_limits);
    world_table(world, def_body());
}

/* Goes to another fragment of the table. */
static void world_frag(struct rows_world *world, uint32_t fragment_id)
{
    assert_int_equal(tup_frag_create(world->tup, world->table, fragment_id, &world->frag_ref), 0);
    world->frag = tup_frag_get(world->tup, world->frag_ref);
    world->index = tup_frag_index(world->frag);
}

static uint32_t insert(struct rows_world *world, uint32_t key, uint32_t number, uint32_t size)
{
    static uint32_t attr[(BODY_MAX + 32u) / 4u];
    struct tup_changed changed;
    attr[0] = attr_header(1, 4);
    attr[1] = number;
    attr[2] = attr_header(2, size + 2u);
    memset(attr + 3, 0, size + 6u);
    memcpy(attr + 3, &(uint16_t){(uint16_t)size}, 2);
    struct tup_change_req req = request(world, 1, &key, 1, attr, 3u + (size + 5u) / 4u);
    uint32_t error = tup_insert(world->tup, &req, &changed);
    if (error != 0) return error;
    tup_commit(world->tup, changed.change, 4);
    acc_unlock(world->acc, changed.lock);
    return 0;
}

static void delete (struct rows_world *world, uint32_t key)
{
    struct tup_changed changed;
    uint32_t lock;
    struct tup_change_req req = request(world, 1, &key, 1, NULL, 0);
    assert_int_equal(lock_row(world, .trans = 1, .op = 1, .row = req.row, .mode = LOCK_EXCLUSIVE,
                              .nowait = true, .lock = &lock),
                     0);
    assert_int_equal(tup_delete(world->tup, &req, &changed), 0);
    tup_commit(world->tup, changed.change, 4);
    acc_unlock(world->acc, lock);
}

/* --- In another order. --- */

struct body {
    uint32_t key;
    uint32_t number;
    uint32_t size;
};

static struct body bodies[ROWS_MAX];

static int by_size(const void *one, const void *other)
{
    const struct body *a = one;
    const struct body *b = other;
    if (a->size != b->size) return a->size < b->size ? -1 : 1;
    return a->key < b->key ? -1 : 1;
}

static int by_number(const void *one, const void *other)
{
    const struct body *a = one;
    const struct body *b = other;
    if (a->number != b->number) return a->number < b->number ? -1 : 1;
    return a->key < b->key ? -1 : 1;
}

static void swap(struct body *a, struct body *b)
{
    struct body body = *a;
    *a = *b;
    *b = body;
}

/* 0 as they came, 1 shuffled, 2 small ones first, 3 large ones first, 4 in turn from both ends of
 * the index, 5 in two runs, one behind each entry of the other. */
static void reorder(uint32_t how, uint32_t count, struct rng *rng)
{
    static struct body copy[ROWS_MAX];
    if (how == 0) return;
    qsort(bodies, count, sizeof bodies[0], how >= 4 ? by_number : by_size);
    for (uint32_t i = count; how == 1 && i > 1; i--)
        swap(&bodies[i - 1], &bodies[rng_below(rng, i)]);
    for (uint32_t i = 0; how == 3 && i < count / 2; i++)
        swap(&bodies[i], &bodies[count - 1 - i]);
    if (how < 4) return;
    memcpy(copy, bodies, count * sizeof copy[0]);
    for (uint32_t i = 0; i < count; i++) {
        if (how == 4)
            bodies[i] = i % 2 == 0 ? copy[i / 2] : copy[count - 1 - i / 2];
        else
            bodies[i] = i < (count + 1) / 2 ? copy[2 * i] : copy[2 * (i - (count + 1) / 2) + 1];
    }
}
#define ORDERS 6u

static uint32_t size_of(uint32_t kind, struct rng *rng)
{
    switch (kind) {
    case 0:
        return 8;
    case 1:
        return (uint32_t)rng_below(rng, 300);
    case 2:
        return (uint32_t)rng_below(rng, 3000);
    case 3:
        return rng_chance(rng, 1, 2) ? 12000 : 20000; /* One of each in a page. */
    case 4:
        return 10000 + (uint32_t)rng_below(rng, 1500);
    default:
        return (uint32_t)rng_below(rng, rng_chance(rng, 1, 3) ? BODY_MAX : 500);
    }
}
#define SIZES 6u

/* Filled while running in the first order; a start puts the same rows in every other one. */
static void test_any_order(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 7);
    for (uint32_t kind = 0; kind < SIZES; kind++) {
        for (uint32_t first = 0; first < 2 * ORDERS; first++) {
            struct rows_world world;
            uint32_t count = 0;
            for (uint32_t i = 0; i < ROWS_MAX; i++)
                bodies[i] = (struct body){i, i % 3 == 0 ? i : (uint32_t)rng_next(&rng),
                                          size_of(kind, &rng)};
            if (first % 2 != 0)
                for (uint32_t i = 0; i < ROWS_MAX; i++)
                    bodies[i].number = i; /* Leaves that are full. */
            else
                reorder(first / 2, 2000, &rng);
            world_make(&world, SPARE);
            arena_started(world.arena);
            while (count < ROWS_MAX &&
                   insert(&world, bodies[count].key, bodies[count].number, bodies[count].size) == 0)
                count++;
            assert_true(count > 100);
            assert_true(count < ROWS_MAX);
            world_check(&world);
            uint32_t used = world_data_pages(&world);
            assert_true(used <= PAGES - SPARE);
            world_drop(&world);
            world_stop(&world);
            reorder(1 + (first + kind) % (ORDERS - 1), count, &rng);
            world_make(&world, SPARE);
            for (uint32_t i = 0; i < count; i++)
                assert_int_equal(insert(&world, bodies[i].key, bodies[i].number, bodies[i].size),
                                 0);
            world_check(&world);
            world_drop(&world);
            world_stop(&world);
        }
    }
}

/* --- What has gone. --- */

static uint32_t fill_with(struct rows_world *world, uint32_t size)
{
    uint32_t count = 0;
    while (insert(world, count, count, size) == 0)
        count++;
    return count;
}

static uint32_t fill(struct rows_world *world)
{
    return fill_with(world, 500);
}

static void empty(struct rows_world *world, uint32_t count)
{
    while (count > 0)
        delete (world, --count);
}

static void test_until_a_checkpoint(void **state)
{
    (void)state;
    struct rows_world world;
    world_make(&world, SPARE);
    arena_started(world.arena);
    struct rows_world first = world;
    uint32_t count = fill(&first);
    empty(&first, count);
    world_check(&first);
    assert_int_equal(world_data_pages(&world), 0);
    /* The fragment itself can have its pages again, but for the room that its last rows may take
     * more when they are packed worse: no page was begun for them. */
    uint32_t again = fill(&first);
    assert_true(again <= count && again >= count - count / 20u);
    empty(&first, again);
    /* Another one cannot: a restart would need them as well. */
    world_frag(&world, 1);
    struct rows_world second = world;
    uint32_t held = arena_usage(world.arena, RG_DATA).held;
    uint32_t others = fill(&second);
    assert_true(others < count / 5);
    assert_true(arena_usage(world.arena, RG_DATA).held > held);
    empty(&second, others);
    tup_checkpoint_round(world.tup);
    tup_checkpoint_usable(first.frag);
    tup_checkpoint_usable(second.frag);
    assert_int_equal(arena_usage(world.arena, RG_DATA).owed[ARENA_OWED_CHECKPOINT], 0);
    assert_int_equal(fill(&second), count);
    empty(&second, count);
    tup_checkpoint_round(world.tup);
    tup_checkpoint_usable(second.frag);
    /* A round begins; what comes and goes meanwhile is in the log behind its start. */
    tup_checkpoint_round(world.tup);
    for (again = 0; again < count / 2; again++)
        assert_int_equal(insert(&first, again, again, 500), 0);
    empty(&first, again);
    tup_checkpoint_usable(first.frag);
    tup_checkpoint_usable(second.frag);
    world_check(&world);
    uint32_t owed = arena_usage(world.arena, RG_DATA).owed[ARENA_OWED_CHECKPOINT];
    assert_true(owed > PAGES / 4u);
    assert_true(owed < PAGES / 2u + SPARE);
    /* The next one begins behind all that. */
    tup_checkpoint_round(world.tup);
    tup_checkpoint_usable(first.frag);
    tup_checkpoint_usable(second.frag);
    assert_int_equal(arena_usage(world.arena, RG_DATA).owed[ARENA_OWED_CHECKPOINT], 0);
    world_check(&world);
    /* A table that goes owes nothing. */
    fill(&first);
    empty(&first, count / 2);
    world_drop(&world);
    assert_int_equal(arena_usage(world.arena, RG_DATA).owed[ARENA_OWED_CHECKPOINT], 0);
    assert_int_equal(arena_usage(world.arena, RG_DATA).owed[ARENA_OWED_LASTING], 0);
    world_stop(&world);
}

/* They may be packed worse when they come again: all that this may take is kept. */
static void test_gone_and_packed_worse(void **state)
{
    (void)state;
    struct rows_world world;
    struct resource_usage usage;
    world_make(&world, SPARE);
    arena_started(world.arena);
    struct rows_world first = world;
    uint32_t count = fill_with(&first, 10000);
    usage = arena_usage(world.arena, RG_DATA);
    uint32_t loose = usage.owed[ARENA_OWED_LASTING];
    uint32_t most = first.frag->var.pages + loose;
    assert_true(loose > PAGES / 5u);
    empty(&first, count);
    world_check(&first);
    assert_int_equal(world_data_pages(&world), 0);
    usage = arena_usage(world.arena, RG_DATA);
    assert_true(usage.owed[ARENA_OWED_LASTING] + usage.owed[ARENA_OWED_CHECKPOINT] >= most);
    /* Another LDM repeats its log meanwhile, so its rows cannot have the room. */
    world_frag(&world, 1);
    struct rows_world second = world;
    uint32_t others = fill(&second);
    assert_true(second.frag->var.pages + most <= PAGES - SPARE);
    empty(&second, others);
    tup_checkpoint_round(world.tup);
    tup_checkpoint_usable(first.frag);
    tup_checkpoint_usable(second.frag);
    tup_checkpoint_round(world.tup);
    tup_checkpoint_usable(first.frag);
    tup_checkpoint_usable(second.frag);
    assert_int_equal(arena_usage(world.arena, RG_DATA).owed[ARENA_OWED_CHECKPOINT], 0);
    world_check(&world);
    world_drop(&world);
    world_stop(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_until_a_checkpoint),
        cmocka_unit_test(test_gone_and_packed_worse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
