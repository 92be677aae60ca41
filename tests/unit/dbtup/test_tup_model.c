/* test_tup_model.c -- random transactions on rows, compared with a simple model after every step.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include "tests/unit/support/tup_fixture.h"
#include "values/table_index.h"

#define KEYS    600u
#define TRANS   6u
#define OPS_MAX 24u

/* A column's value follows from its seed; 0 = NULL. */
enum { COL_K, COL_K2, COL_A, COL_B, COL_C, COL_D, COL_E, COLUMNS };

/* Columns that the table gets while it is used, one of these after the other. */
#define ADDED_MAX 12u
static const struct column_format added_formats[] = {
    {.type = COLUMN_UNSIGNED, .length = 1},
    {.type = COLUMN_VARBINARY, .length = 50},
    {.type = COLUMN_BINARY, .length = 9},
    {.type = COLUMN_BIGUNSIGNED, .length = 1},
};
#define ADDED_FORMATS (sizeof added_formats / sizeof added_formats[0])

struct version {
    bool exists;
    uint32_t seed[COLUMNS + ADDED_MAX];
};

struct row_model {
    struct version committed;
    uint32_t owner; /* 1 + transaction with a change, 0 = none. */
    struct version own;
};

struct operation {
    uint32_t lock;
    uint32_t change;
    uint32_t key;
};

struct trans_model {
    struct operation op[OPS_MAX];
    uint32_t ops;
};

/* An index that comes and goes meanwhile. */
struct online {
    struct table_def *def;
    uint32_t state; /* enum tup_index_state */
    uint32_t id;
    struct tup_index_build build;
    uint32_t built, dropped, given_up;
};

struct model {
    struct rows_world world;
    struct online online;
    uint32_t columns; /* Columns of its table that were added. */
    bool column_room; /* There is room for the next one. */
    struct rng rng;
    struct row_model row[KEYS];
    struct trans_model trans[TRANS];
    bool ci_key;
};

static const uint64_t default_e = 0x0706050403020100ull;
static const uint8_t default_c[] = {5, 'h', 'e', 'l', 'l', 'o'};
#define SEED_DEFAULT 0xFFFFFFFFu

static struct table_def *def_model(bool ci_key, bool indexed)
{
    struct table_def *def = def_start();
    column_add(def, "k", (struct column_format){.type = COLUMN_UNSIGNED, .length = 1},
               COLUMN_PRIMARY_KEY, NULL, 0);
    if (ci_key)
        column_add(def, "k2",
                   (struct column_format){.type = COLUMN_VARCHAR,
                                          .collation = COLLATION_UTF8MB4_GENERAL_CI,
                                          .length = 48},
                   COLUMN_PRIMARY_KEY, NULL, 0);
    else
        column_add(def, "k2", (struct column_format){.type = COLUMN_BINARY, .length = 7},
                   COLUMN_PRIMARY_KEY, NULL, 0);
    column_add(def, "a", (struct column_format){.type = COLUMN_INT, .length = 1}, COLUMN_NULLABLE,
               NULL, 0);
    column_add(def, "b", (struct column_format){.type = COLUMN_BINARY, .length = 13}, 0, NULL, 0);
    column_add(def, "c", (struct column_format){.type = COLUMN_VARBINARY, .length = 200},
               COLUMN_NULLABLE, default_c, sizeof default_c);
    column_add(def, "d", (struct column_format){.type = COLUMN_LONGVARBINARY, .length = 3000},
               COLUMN_NULLABLE, NULL, 0);
    column_add(def, "e", (struct column_format){.type = COLUMN_BIGUNSIGNED, .length = 1}, 0,
               &default_e, 8);
    if (indexed) {
        index_add(def, "numbers", (const uint16_t[]){COL_A, COL_E}, 2);
        index_add(def, "bytes", (const uint16_t[]){COL_C, COL_B}, 2);
        index_add(def, "key", (const uint16_t[]){COL_K2, COL_K}, 2);
        index_add(def, "a", (const uint16_t[]){COL_A}, 1);
    }
    return def;
}

static uint32_t added_size(uint32_t column, uint32_t seed)
{
    const struct column_format *format = &added_formats[(column - COLUMNS) % ADDED_FORMATS];
    if (format->type == COLUMN_VARBINARY) return 1 + seed % 51;
    return column_size_max(format);
}

/* The value of a column with a seed; returns its size. */
static uint32_t value_of(uint32_t column, uint32_t seed, uint8_t *out)
{
    uint64_t state = seed * 7ull + column;
    uint32_t size = 0;
    if (seed == 0) return 0;
    switch (column) {
    case COL_A:
        size = 4;
        break;
    case COL_B:
        size = 13;
        break;
    case COL_E:
        if (seed == SEED_DEFAULT) {
            memcpy(out, &default_e, 8);
            return 8;
        }
        size = 8;
        break;
    case COL_C:
        if (seed == SEED_DEFAULT) {
            memcpy(out, default_c, sizeof default_c);
            return sizeof default_c;
        }
        size = 1 + seed % 201;
        break;
    case COL_D:
        size = 2 + (seed % 5 == 0 ? seed % 3001 : seed % 100);
        break;
    default:
        assert_true(column >= COLUMNS);
        size = added_size(column, seed);
        break;
    }
    for (uint32_t i = 0; i < size; i++)
        out[i] = (uint8_t)rng_splitmix(&state);
    bool added_var = column >= COLUMNS &&
                     added_formats[(column - COLUMNS) % ADDED_FORMATS].type == COLUMN_VARBINARY;
    if (column == COL_C || added_var) out[0] = (uint8_t)(size - 1);
    if (column == COL_D) {
        out[0] = (uint8_t)(size - 2);
        out[1] = (uint8_t)((size - 2) >> 8);
    }
    return size;
}

static uint32_t key_of(struct model *model, uint32_t key, bool variant, uint32_t *out)
{
    uint8_t *bytes = (uint8_t *)(out + 1);
    out[0] = key;
    out[1] = out[2] = 0;
    if (!model->ci_key) {
        memcpy(bytes, "keykey!", 7);
        return 3;
    }
    uint32_t length = key % 5;
    for (uint32_t i = 0; i < length; i++)
        bytes[1 + i] = (uint8_t)((variant ? 'A' : 'a') + key % 26);
    bytes[0] = (uint8_t)length;
    return 1 + words_of(1 + length);
}

static uint32_t attr_put(uint32_t *attr, uint32_t column, uint32_t seed)
{
    uint32_t size = value_of(column, seed, (uint8_t *)(attr + 1));
    attr[0] = attr_header(column, size);
    return 1 + words_of(size);
}

/* Reads all columns as transaction `trans` (TRANS = a stranger) and compares. */
static void read_check(struct model *model, uint32_t key, uint32_t trans)
{
    static uint32_t out[TUP_ROW_WORDS_MAX];
    const struct row_model *row = &model->row[key];
    const struct version *want = row->owner == trans + 1 ? &row->own : &row->committed;
    uint32_t key_words[16];
    uint32_t words = key_of(model, key, true, key_words);
    uint32_t row_id = world_find(&model->world, key_words, words);
    const uint32_t all[] = {attr_header(ATTR_READ_ALL, 0)};
    uint32_t got = 0;
    if (row_id == ROW_NONE) {
        assert_false(want->exists);
        return;
    }
    const struct tup_read read = {.frag = model->world.frag,
                                  .row = row_id,
                                  .transid1 = trans + 1,
                                  .transid2 = 77,
                                  .attr = all,
                                  .attr_words = 1};
    uint32_t error = tup_read(model->world.tup, &read, out, TUP_ROW_WORDS_MAX, &got);
    if (!want->exists) {
        assert_int_equal(error, ERR_ROW_NOT_FOUND);
        return;
    }
    assert_int_equal(error, 0);
    uint32_t at = 0;
    for (uint32_t column = 0; column < model->columns; column++) {
        uint8_t value[4096];
        assert_true(at < got);
        assert_int_equal(attr_column(out[at]), column);
        uint32_t size = attr_size(out[at]);
        if (column >= COL_A) {
            assert_int_equal(size, value_of(column, want->seed[column], value));
            assert_memory_equal(out + at + 1, value, size);
        }
        for (uint32_t i = size; i < words_of(size) * 4; i++)
            assert_int_equal(((const uint8_t *)(out + at + 1))[i], 0);
        at += 1 + words_of(size);
    }
    assert_int_equal(at, got);
    uint32_t key_read[16];
    uint32_t read_words = tup_read_key(model->world.tup, &read, key_read, 16);
    assert_true(key_equal(model->world.def, key_read, read_words, key_words, words));
}

static uint32_t seed_draw(struct model *model, bool nullable)
{
    if (nullable && rng_chance(&model->rng, 1, 4)) return 0;
    return 1 + (uint32_t)rng_below(&model->rng, 1000000);
}

/* Random columns for an insert or an update; `to` gets what the row will be. */
static uint32_t attr_draw(struct model *model, uint32_t *attr, struct version *to)
{
    uint32_t words = 0;
    for (uint32_t column = COL_A; column < model->columns; column++) {
        bool must = column == COL_B && !to->exists;
        if (!must && rng_chance(&model->rng, 1, 2)) continue;
        to->seed[column] = seed_draw(model, column != COL_B && column != COL_E);
        words += attr_put(attr + words, column, to->seed[column]);
    }
    return words;
}

static void trans_end(struct model *model, uint32_t trans, bool commit)
{
    struct trans_model *t = &model->trans[trans];
    for (uint32_t i = 0; i < t->ops; i++) {
        /* Primary and backups end in different orders; both must do. */
        const struct operation *op = &t->op[commit ? i : t->ops - 1 - i];
        struct row_model *row = &model->row[op->key];
        if (op->change != REF_NONE) {
            if (commit)
                tup_commit(model->world.tup, op->change, 1000 + trans);
            else
                tup_abort(model->world.tup, op->change);
        }
        if (row->owner == trans + 1) {
            if (commit) row->committed = row->own;
            row->owner = 0;
        }
    }
    for (uint32_t i = 0; i < t->ops; i++)
        acc_unlock(model->world.acc, t->op[i].lock);
    assert_true(acc_ready_empty(model->world.acc)); /* Everybody asks with NOWAIT. */
    t->ops = 0;
}

static void op_random(struct model *model, uint32_t trans, uint32_t key)
{
    static uint32_t attr[16384];
    struct rows_world *world = &model->world;
    struct trans_model *t = &model->trans[trans];
    struct row_model *row = &model->row[key];
    struct version own = row->owner == trans + 1 ? row->own : row->committed;
    struct version to = own;
    uint32_t kind = (uint32_t)rng_below(&model->rng, 5); /* enum key_operation */
    uint32_t key_words[16];
    uint32_t words = key_of(model, key, kind == OP_READ, key_words);
    struct tup_change_req req = request(world, trans + 1, key_words, words, attr, 0);
    struct tup_changed changed = {.change = REF_NONE};
    uint32_t lock = REF_NONE;
    uint32_t error = 0;
    if (t->ops == OPS_MAX) return;
    if (req.row != ROW_NONE) {
        error = lock_row(world, .trans = trans + 1, .op = 5, .row = req.row,
                         .mode = kind == OP_READ ? LOCK_SHARED : LOCK_EXCLUSIVE, .nowait = true,
                         .lock = &lock);
        if (error != 0) {
            assert_int_equal(error, ERR_NOWAIT_LOCK);
            return;
        }
        assert_true(row->owner == 0 || row->owner == trans + 1);
    }
    uint32_t expect = own.exists ? 0 : ERR_ROW_NOT_FOUND;
    if (kind == OP_INSERT || (kind == OP_WRITE && !own.exists)) {
        expect = own.exists ? ERR_ROW_EXISTS : 0;
        to = (struct version){.exists = false};
        to.seed[COL_C] = to.seed[COL_E] = SEED_DEFAULT;
    }
    req.attr_words = attr_draw(model, attr, &to);
    to.exists = kind != OP_DELETE;
    switch (kind) {
    case OP_READ:
        if (lock == REF_NONE) return;
        read_check(model, key, trans);
        to = own;
        break;
    case OP_INSERT:
        error = tup_insert(world->tup, &req, &changed);
        break;
    case OP_UPDATE:
        error = tup_update(world->tup, &req, &changed);
        break;
    case OP_DELETE:
        error = tup_delete(world->tup, &req, &changed);
        break;
    default:
        expect = 0;
        error = tup_write(world->tup, &req, &changed);
        break;
    }
    if (kind != OP_READ) assert_int_equal(error, expect);
    if (error != 0) {
        if (lock != REF_NONE) acc_unlock(world->acc, lock);
        return;
    }
    if (lock == REF_NONE) lock = changed.lock;
    t->op[t->ops++] = (struct operation){.lock = lock, .change = changed.change, .key = key};
    if (kind == OP_READ) return;
    row->owner = trans + 1;
    row->own = to;
}

static uint64_t model_rows(const struct model *model)
{
    uint64_t rows = 0;
    for (uint32_t key = 0; key < KEYS; key++)
        rows += model->row[key].committed.exists;
    return rows;
}

static void scan_check(struct model *model, uint32_t trans)
{
    struct tup_scan_position position = {0, 0};
    bool end = false;
    uint32_t found = 0;
    uint32_t counted = 0;
    uint32_t want = 0;
    uint32_t last = 0;
    while (!end) {
        uint32_t rows[7];
        uint32_t n = tup_scan_next(model->world.tup, model->world.frag, &position, trans + 1, 77,
                                   rows, 7, 5, &end);
        for (uint32_t i = 0; i < n; i++) {
            assert_true(found == 0 || rows[i] > last);
            assert_true(tup_row_alive(model->world.tup, model->world.frag, rows[i], trans + 1, 77));
            last = rows[i];
            found++;
        }
    }
    position = (struct tup_scan_position){0, 0};
    for (end = false; !end;)
        counted +=
            tup_scan_count(model->world.tup, model->world.frag, &position, trans + 1, 77, 11, &end);
    for (uint32_t key = 0; key < KEYS; key++) {
        const struct row_model *row = &model->row[key];
        want += (row->owner == trans + 1 ? &row->own : &row->committed)->exists;
    }
    assert_int_equal(found, want);
    assert_int_equal(counted, want);
}

static void online_begin(struct model *model)
{
    struct online *online = &model->online;
    uint16_t columns[2];
    struct table_index index;
    size_t size = table_def_bytes(model->world.def);
    columns[0] = (uint16_t)rng_below(&model->rng, model->columns - 2u);
    columns[1] = (uint16_t)(columns[0] + 1 + rng_below(&model->rng, 2));
    online->def = malloc(size);
    memcpy(online->def, model->world.def, size);
    index_add(online->def, "online", columns, 1 + (uint32_t)rng_below(&model->rng, 2));
    online->def->version += 1u << 24;
    table_def_index_renew(online->def, online->def->index_count - 1u);
    assert_int_equal(table_def_check(online->def), 0);
    table_def_index(online->def, online->def->index_count - 1u, &index);
    online->id = index.id;
    assert_int_equal(
        tup_index_create(model->world.tup, model->world.table, online->def, online->id), 0);
    online->state = TUP_INDEX_BUILDING;
    memset(&online->build, 0, sizeof online->build);
}

static void online_end(struct model *model)
{
    struct online *online = &model->online;
    if (!tup_index_drop_step(model->world.tup, model->world.frag, online->id)) return;
    tup_index_forget(model->world.tup, model->world.table, online->id);
    free(online->def);
    *online = (struct online){
        .built = online->built, .dropped = online->dropped + 1u, .given_up = online->given_up};
}

/* The next step of its building, or of its end; sometimes it goes before it is whole. */
static void online_step(struct model *model)
{
    struct online *online = &model->online;
    bool end = false;
    switch (online->state) {
    case TUP_INDEX_NONE:
        if (rng_chance(&model->rng, 1, 100)) online_begin(model);
        break;
    case TUP_INDEX_BUILDING:
        assert_int_equal(tup_index_build_step(model->world.tup, model->world.frag, online->id,
                                              &online->build,
                                              1 + (uint32_t)rng_below(&model->rng, 8), &end),
                         0);
        if (end) online->state = TUP_INDEX_USABLE;
        online->built += end;
        if (!end && rng_chance(&model->rng, 1, 500)) {
            online->state = TUP_INDEX_DROPPING;
            online->given_up++;
        }
        break;
    case TUP_INDEX_USABLE:
        if (rng_chance(&model->rng, 1, 400)) online->state = TUP_INDEX_DROPPING;
        break;
    default:
        online_end(model);
        break;
    }
}

/* Room is made for a column, perhaps once more for another one instead; then it is the table's. */
static void column_step(struct model *model)
{
    struct table_def *def = model->world.def;
    struct tup *tup = model->world.tup;
    char name[16];
    if (model->columns == COLUMNS + ADDED_MAX) return;
    if (model->column_room && rng_chance(&model->rng, 1, 2)) {
        tup_column_online(tup, model->world.table, ++model->columns);
        model->column_room = false;
        return;
    }
    if (!model->column_room) {
        snprintf(name, sizeof name, "added%u", model->columns);
        column_add(def, name, added_formats[(model->columns - COLUMNS) % ADDED_FORMATS],
                   COLUMN_NULLABLE | COLUMN_ADDED, NULL, 0);
    }
    assert_int_equal(table_def_check(def), 0);
    assert_int_equal(tup_column_prepare(tup, model->world.table, def), 0);
    model->column_room = true;
}

static void model_run(uint64_t seed, bool ci_key, bool indexed, uint32_t steps)
{
    struct model *model = calloc(1, sizeof *model);
    struct tup_frag_figures figures;
    rng_seed(&model->rng, seed);
    model->ci_key = ci_key;
    model->columns = COLUMNS;
    world_start(&model->world, 4096, 1024);
    world_table(&model->world, def_model(ci_key, indexed));
    for (uint32_t step = 0; step < steps; step++) {
        uint32_t trans = (uint32_t)rng_below(&model->rng, TRANS);
        uint32_t key = (uint32_t)rng_below(&model->rng, KEYS);
        if (rng_chance(&model->rng, 1, 12))
            trans_end(model, trans, rng_chance(&model->rng, 2, 3));
        else
            op_random(model, trans, key);
        read_check(model, key, (uint32_t)rng_below(&model->rng, TRANS + 1));
        if (seed % 2 != 0 && rng_chance(&model->rng, 1, 3)) online_step(model);
        if (rng_chance(&model->rng, 1, steps / 40u)) column_step(model);
        if (step % (indexed ? 300 : 2000) == 0) {
            world_check(&model->world);
            scan_check(model, (uint32_t)rng_below(&model->rng, TRANS + 1));
        }
    }
    for (uint32_t trans = 0; trans < TRANS; trans++)
        trans_end(model, trans, true);
    if (seed % 2 != 0 && steps >= 100000) /* Whole ones, and others. */
        assert_true(model->online.built > 20 && model->online.given_up > 5);
    while (model->online.state != TUP_INDEX_NONE)
        online_step(model);
    world_check(&model->world);
    tup_frag_figures_get(model->world.frag, &figures);
    assert_int_equal(figures.rows, model_rows(model));
    for (uint32_t key = 0; key < KEYS; key++)
        read_check(model, key, TRANS);
    assert_int_equal(acc_locks_in_use(model->world.acc), 0);
    assert_int_equal(tup_changes_open(model->world.tup), 0);
    assert_int_equal(tup_heap_in_use(&model->world.tup->copies), 0);
    world_drop(&model->world);
    assert_int_equal(world_data_pages(&model->world), 0);
    assert_int_equal(tup_heap_in_use(&model->world.tup->descriptors), 0);
    world_check(&model->world);
    world_stop(&model->world);
    free(model);
}

static void test_fixed_key(void **state)
{
    (void)state;
    model_run(1, false, false, 200000);
}

static void test_collated_key(void **state)
{
    (void)state;
    model_run(2, true, false, 200000);
}

static void test_indexed(void **state)
{
    (void)state;
    model_run(3, false, true, 100000);
    model_run(4, true, true, 100000);
}

static void test_seeds(void **state)
{
    (void)state;
    for (uint64_t seed = 10; seed < 30; seed++)
        model_run(seed, seed % 2 != 0, seed % 4 < 2, 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed_key),
        cmocka_unit_test(test_collated_key),
        cmocka_unit_test(test_indexed),
        cmocka_unit_test(test_seeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
