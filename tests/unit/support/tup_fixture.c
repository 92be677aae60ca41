/* tup_fixture.c -- DBACC, DBTUP and DBTUX without a node: an arena, their instances, tables to play
 * with. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/tup_fixture.h"
#include "values/table_index.h"

void world_begin(struct rows_world *world, struct arena_limits *limits,
                 const struct tup_limits *tup_limits)
{
    limits->pages_max[RG_SCHEMA] = 256;
    limits->pages_max[RG_NODE] = 16;
    memset(world, 0, sizeof *world);
    world->arena = arena_create(limits);
    assert_non_null(world->arena);
    world->acc = calloc(1, sizeof *world->acc);
    world->tup = calloc(1, sizeof *world->tup);
    world->tux = calloc(1, sizeof *world->tux);
    acc_init(world->acc, world->arena, tup_limits->changes_max, tup_limits->frags_max, 1000);
    tux_init(world->tux, world->arena, tup_limits->frags_max);
    world->tup->tux = world->tux;
    assert_true(tup_init(world->tup, world->arena, world->acc, tup_limits));
}

void world_start(struct rows_world *world, uint32_t data_pages, uint32_t transaction_pages)
{
    struct arena_limits limits = {0};
    const struct tup_limits tup_limits = {
        .tables_max = 64, .frags_max = 64, .changes_max = 1u << 22};
    limits.pages_max[RG_DATA] = data_pages;
    limits.pages_max[RG_TRANSACTION] = transaction_pages;
    world_begin(world, &limits, &tup_limits);
}

void world_check(const struct rows_world *world)
{
    acc_check(&world->acc->block);
    tup_check(&world->tup->block);
    tux_check(&world->tux->block);
}

uint32_t world_data_pages(const struct rows_world *world)
{
    return arena_usage(world->arena, RG_DATA).used;
}

void world_stop(struct rows_world *world)
{
    arena_destroy(world->arena);
    free(world->acc);
    free(world->tup);
    free(world->tux);
    free(world->def);
}

void column_add(struct table_def *def, const char *name, struct column_format format,
                uint32_t flags, const void *value, uint32_t size)
{
    const struct table_column_options options = {.name = name,
                                                 .name_size = (uint32_t)strlen(name),
                                                 .format = format,
                                                 .flags = flags,
                                                 .default_value = value,
                                                 .default_size = size};
    assert_int_equal(table_def_add_column(def, &options), 0);
}

void index_add(struct table_def *def, const char *name, const uint16_t *columns, uint32_t count)
{
    assert_int_equal(table_def_add_index(def, name, (uint32_t)strlen(name), columns, count), 0);
}

struct table_def *def_start(void)
{
    size_t size = table_def_size(TABLE_COLUMNS_MAX, 65536);
    struct table_def *def = table_def_init(malloc(size), size, TABLE_COLUMNS_MAX);
    assert_non_null(def);
    assert_int_equal(table_def_set_name(def, "d", 1, "t", 1), 0);
    return def;
}

void world_table(struct rows_world *world, struct table_def *def)
{
    assert_int_equal(table_def_check(def), 0);
    world->def = def;
    assert_int_equal(tup_table_create(world->tup, def, &world->table), 0);
    assert_int_equal(tup_frag_create(world->tup, world->table, 0, &world->frag_ref), 0);
    world->frag = tup_frag_get(world->tup, world->frag_ref);
    world->index = tup_frag_index(world->frag);
}

void world_drop(struct rows_world *world)
{
    uint32_t steps = 0;
    while (!tup_table_drop_step(world->tup, world->table))
        assert_true(++steps < 1000000);
}

struct table_def *def_plain(void)
{
    struct table_def *def = def_start();
    column_add(def, "k", (struct column_format){.type = COLUMN_BINARY, .length = 16},
               COLUMN_PRIMARY_KEY, NULL, 0);
    column_add(def, "v", (struct column_format){.type = COLUMN_BINARY, .length = 32}, 0, NULL, 0);
    return def;
}

static uint32_t hash_of(const struct rows_world *world, const uint32_t *key, uint32_t words)
{
    return (uint32_t)key_hash(world->def, key, words);
}

uint32_t world_find(const struct rows_world *world, const uint32_t *key, uint32_t words)
{
    return acc_find(world->index, hash_of(world, key, words), key, words);
}

struct tup_change_req request(const struct rows_world *world, uint32_t trans, const uint32_t *key,
                              uint32_t words, const uint32_t *attr, uint32_t attr_words)
{
    return (struct tup_change_req){.frag = world->frag,
                                   .row = world_find(world, key, words),
                                   .wanted = ROW_NONE,
                                   .hash = hash_of(world, key, words),
                                   .transid1 = trans,
                                   .transid2 = 77,
                                   .op = trans,
                                   .key = key,
                                   .key_words = words,
                                   .attr = attr,
                                   .attr_words = attr_words};
}

uint32_t lock_row_step(const struct rows_world *world, const struct lock_step *step)
{
    const struct acc_lock_req req = {.transid1 = step->trans,
                                     .transid2 = 77,
                                     .op = step->op,
                                     .mode = step->mode,
                                     .nowait = step->nowait,
                                     .now_ms = step->now};
    return acc_lock(world->acc, world->index, step->row, &req, step->lock);
}
