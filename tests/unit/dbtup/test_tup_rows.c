/* test_tup_rows.c -- rows one by one: what is refused, what is seen by whom, row ids, scans,
 * layouts. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/tup_fixture.h"

static struct rows_world world;
static uint32_t words[64];

/* Columns: 0 k Unsigned key, 1 a Int null, 2 b Char(4) not null, 3 v Varbinary(10) not null
 * default, 4 w Varbinary null */
static struct table_def *def_mixed(void)
{
    static const uint8_t default_v[] = {2, 'x', 'y'};
    struct table_def *def = def_start();
    column_add(def, "k", (struct column_format){.type = COLUMN_UNSIGNED, .length = 1},
               COLUMN_PRIMARY_KEY, NULL, 0);
    column_add(def, "a", (struct column_format){.type = COLUMN_INT, .length = 1}, COLUMN_NULLABLE,
               NULL, 0);
    column_add(def, "b",
               (struct column_format){
                   .type = COLUMN_CHAR, .collation = COLLATION_UTF8MB4_BIN, .length = 4},
               0, NULL, 0);
    column_add(def, "v", (struct column_format){.type = COLUMN_VARBINARY, .length = 10}, 0,
               default_v, 3);
    column_add(def, "w", (struct column_format){.type = COLUMN_VARBINARY, .length = 255},
               COLUMN_NULLABLE, NULL, 0);
    return def;
}

static int setup(void **state)
{
    (void)state;
    world_start(&world, 512, 256);
    world_table(&world, def_mixed());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_check(&world);
    assert_int_equal(acc_locks_in_use(world.acc), 0);
    assert_int_equal(tup_changes_open(world.tup), 0);
    world_drop(&world);
    assert_int_equal(world_data_pages(&world), 0);
    world_stop(&world);
    return 0;
}

enum call { INSERT, UPDATE, WRITE, DELETE };

struct call_step {
    enum call call;
    uint32_t trans;
    uint32_t key;
    const uint32_t *attr;
    uint32_t attr_words;
    uint32_t wanted;
    struct tup_changed *changed;
    uint32_t *lock;
};

static uint32_t do_call_step(const struct call_step *step)
{
    struct tup_change_req req =
        request(&world, step->trans, &step->key, 1, step->attr, step->attr_words);
    uint32_t error = 0;
    req.wanted = step->wanted;
    *step->lock = REF_NONE;
    if (req.row != ROW_NONE)
        assert_int_equal(lock_row(&world, .trans = step->trans, .op = 1, .row = req.row,
                                  .mode = LOCK_EXCLUSIVE, .nowait = true, .lock = step->lock),
                         0);
    switch (step->call) {
    case INSERT:
        error = tup_insert(world.tup, &req, step->changed);
        break;
    case UPDATE:
        error = tup_update(world.tup, &req, step->changed);
        break;
    case WRITE:
        error = tup_write(world.tup, &req, step->changed);
        break;
    case DELETE:
        error = tup_delete(world.tup, &req, step->changed);
        break;
    }
    if (error != 0) {
        assert_int_equal(step->changed->change, REF_NONE);
        if (*step->lock != REF_NONE) acc_unlock(world.acc, *step->lock);
    } else if (*step->lock == REF_NONE) {
        *step->lock = step->changed->lock;
    }
    return error;
}
#define do_call(...) do_call_step(&(struct call_step){__VA_ARGS__})

/* A whole transaction of one operation; returns its error. */
static uint32_t once(enum call call, uint32_t key, const uint32_t *attr, uint32_t attr_words)
{
    struct tup_changed changed;
    uint32_t lock;
    uint32_t error =
        do_call(.call = call, .trans = 1, .key = key, .attr = attr, .attr_words = attr_words,
                .wanted = ROW_NONE, .changed = &changed, .lock = &lock);
    if (error != 0) return error;
    tup_commit(world.tup, changed.change, 7);
    acc_unlock(world.acc, lock);
    return 0;
}

static uint32_t read_row(uint32_t trans, uint32_t key, const uint32_t *attr, uint32_t attr_words,
                         uint32_t max, uint32_t *got)
{
    struct tup_read read = {.frag = world.frag,
                            .row = world_find(&world, &key, 1),
                            .transid1 = trans,
                            .transid2 = 77,
                            .attr = attr,
                            .attr_words = attr_words};
    *got = 0;
    if (read.row == ROW_NONE) return ERR_ROW_NOT_FOUND;
    return tup_read(world.tup, &read, words, max, got);
}

/* Column a of a row as a transaction sees it; -1 = NULL, -2 = no row. */
static int64_t a_of(uint32_t trans, uint32_t key)
{
    const uint32_t attr[] = {attr_header(1, 0)};
    uint32_t got;
    if (read_row(trans, key, attr, 1, 64, &got) != 0) return -2;
    return attr_size(words[0]) == 0 ? -1 : (int64_t)words[1];
}

static uint32_t attr_a(uint32_t *attr, uint32_t a)
{
    attr[0] = attr_header(1, 4);
    attr[1] = a;
    return 2;
}

static uint32_t attr_ab(uint32_t *attr, uint32_t a)
{
    attr_a(attr, a);
    attr[2] = attr_header(2, 4);
    memcpy(attr + 3, "a   ", 4);
    return 4;
}

static void test_defaults(void **state)
{
    (void)state;
    const uint32_t all[] = {attr_header(ATTR_READ_ALL, 0)};
    uint32_t attr[4];
    uint32_t got;
    attr_ab(attr, 5);
    assert_int_equal(once(INSERT, 1, attr + 2, 2), 0);
    assert_int_equal(read_row(9, 1, all, 1, 64, &got), 0);
    const uint32_t want[] = {
        attr_header(0, 4), 1,        attr_header(1, 0), attr_header(2, 4), 0x20202061,
        attr_header(3, 3), 0x797802, attr_header(4, 0)};
    assert_int_equal(got, 8);
    assert_memory_equal(words, want, sizeof want);
    assert_int_equal(tup_row_gci(world.tup, world.frag, world_find(&world, &want[1], 1)), 7);
}

static void test_refused_columns(void **state)
{
    (void)state;
    uint32_t attr[8];
    attr_ab(attr, 5);
    assert_int_equal(once(INSERT, 1, attr, 2), ERR_NULL_FOR_NOT_NULL); /* b is missing. */
    assert_int_equal(once(UPDATE, 1, attr, 2), ERR_ROW_NOT_FOUND);
    assert_int_equal(once(DELETE, 1, NULL, 0), ERR_ROW_NOT_FOUND);
    assert_int_equal(once(INSERT, 1, attr, 4), 0);
    assert_int_equal(once(INSERT, 1, attr, 4), ERR_ROW_EXISTS);
    const struct {
        uint32_t attr[3];
        uint32_t size;
        uint32_t error;
    } cases[] = {
        {{attr_header(5, 4), 1}, 2, ERR_DATA_CORRUPT}, /* No such column. */
        {{attr_header(ATTR_READ_ALL, 0)}, 1, ERR_DATA_CORRUPT},
        {{attr_header(1, 4)}, 1, ERR_DATA_CORRUPT}, /* Value is cut off. */
        {{attr_header(1, 8), 1, 2}, 3, ERR_VALUE_LENGTH},
        {{attr_header(1, 3), 1}, 2, ERR_VALUE_LENGTH},
        {{attr_header(2, 0)}, 1, ERR_NULL_FOR_NOT_NULL_UPDATE},
        {{attr_header(2, 4), 0xFFFFFFFF}, 2, ERR_STRING_INVALID},
        {{attr_header(3, 3), 0x797803}, 2, ERR_VALUE_LENGTH}, /* Prefix says three. */
        {{attr_header(3, 12), 11, 0}, 3, ERR_DATA_CORRUPT},
        {{attr_header(0, 4), 1}, 2, ERR_KEY_UPDATE},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(once(UPDATE, 1, cases[i].attr, cases[i].size), cases[i].error);
        world_check(&world);
    }
    static uint32_t much[TUP_ROW_WORDS_MAX + 2];
    assert_int_equal(once(UPDATE, 1, much, TUP_ROW_WORDS_MAX + 1), ERR_TUP_TOO_MUCH_DATA);
    /* A write may name its key, but not another. */
    const uint32_t same_key[] = {attr_header(0, 4), 1, attr_header(1, 4), 6};
    const uint32_t other_key[] = {attr_header(0, 4), 2};
    assert_int_equal(once(WRITE, 1, same_key, 4), 0);
    assert_int_equal(a_of(9, 1), 6);
    assert_int_equal(once(WRITE, 1, other_key, 2), ERR_KEY_UPDATE);
    assert_int_equal(once(INSERT, 3, other_key, 2), ERR_KEY_UPDATE);
    assert_int_equal(a_of(9, 1), 6);
}

static void test_refused_reads(void **state)
{
    (void)state;
    uint32_t attr[4];
    uint32_t many[ATTR_READ_MAX + 1];
    uint32_t got;
    attr_ab(attr, 5);
    assert_int_equal(once(INSERT, 1, attr, 4), 0);
    const uint32_t unknown[] = {attr_header(5, 0)};
    const uint32_t sized[] = {attr_header(1, 4)};
    const uint32_t all_and_more[] = {attr_header(ATTR_READ_ALL, 0), attr_header(1, 0)};
    const uint32_t two[] = {attr_header(1, 0), attr_header(2, 0)};
    for (uint32_t i = 0; i <= ATTR_READ_MAX; i++)
        many[i] = attr_header(4, 0);
    assert_int_equal(read_row(9, 1, unknown, 1, 64, &got), ERR_DATA_CORRUPT);
    assert_int_equal(read_row(9, 1, sized, 1, 64, &got), ERR_DATA_CORRUPT);
    assert_int_equal(read_row(9, 1, all_and_more, 2, 64, &got), ERR_DATA_CORRUPT);
    assert_int_equal(read_row(9, 1, many, ATTR_READ_MAX + 1, 64, &got), ERR_READS_TOO_MANY);
    assert_int_equal(read_row(9, 1, two, 2, 3, &got), ERR_READS_TOO_MANY);
    assert_int_equal(got, 0);
    assert_int_equal(read_row(9, 1, two, 2, 4, &got), 0);
    assert_int_equal(got, 4);
    assert_int_equal(read_row(9, 1, NULL, 0, 0, &got), 0);
    assert_int_equal(got, 0);
}

/* What is no column: where the row is, and the GCI of the version that was committed last. */
static void test_row_id_and_gci(void **state)
{
    (void)state;
    const uint32_t wanted[] = {attr_header(1, 0), attr_header(ATTR_ROW_ID, 0),
                               attr_header(ATTR_ROW_GCI, 0)};
    const uint32_t other[] = {attr_header(ATTR_ROW_GCI + 1u, 0)};
    const uint32_t key = 4;
    uint32_t attr[4];
    uint32_t got, lock;
    struct tup_changed changed;
    assert_int_equal(once(INSERT, key, attr, attr_ab(attr, 5)), 0); /* Commits with GCI 7. */
    uint32_t row = world_find(&world, &key, 1);
    assert_int_equal(read_row(9, key, wanted, 3, 64, &got), 0);
    assert_int_equal(got, 7);
    assert_int_equal(words[2], attr_header(ATTR_ROW_ID, 8));
    assert_int_equal(words[3], tup_row_page(world.frag, row));
    assert_int_equal(words[4], tup_row_slot(world.frag, row));
    assert_int_equal(words[5], attr_header(ATTR_ROW_GCI, 4));
    assert_int_equal(words[6], 7);
    assert_int_equal(do_call(.call = UPDATE, .trans = 1, .key = key, .attr = attr,
                             .attr_words = attr_a(attr, 6), .wanted = ROW_NONE, .changed = &changed,
                             .lock = &lock),
                     0);
    assert_int_equal(read_row(9, key, wanted, 3, 64, &got), 0);
    assert_int_equal(words[6], 7); /* The row's head has the reference of the change now. */
    tup_commit(world.tup, changed.change, 12);
    acc_unlock(world.acc, lock);
    assert_int_equal(read_row(9, key, wanted, 3, 64, &got), 0);
    assert_int_equal(words[6], 12);
    assert_int_equal(read_row(9, key, wanted, 3, 6, &got), ERR_READS_TOO_MANY);
    assert_int_equal(read_row(9, key, other, 1, 64, &got), ERR_DATA_CORRUPT);
    struct tup_frag_figures figures;
    tup_frag_figures_get(world.frag, &figures);
    assert_int_equal(figures.commits, 2);
}

static void test_visibility(void **state)
{
    (void)state;
    uint32_t attr[4];
    struct tup_changed changed[4];
    uint32_t lock[4];
    uint32_t size = attr_ab(attr, 1);
    assert_int_equal(do_call(.call = INSERT, .trans = 1, .key = 8, .attr = attr, .attr_words = size,
                             .wanted = ROW_NONE, .changed = &changed[0], .lock = &lock[0]),
                     0);
    assert_int_equal(a_of(1, 8), 1);
    assert_int_equal(a_of(2, 8), -2);
    assert_int_equal(tup_change_kind_of(world.tup, changed[0].change), TUP_INSERTED);
    attr_a(attr, 2);
    assert_int_equal(do_call(.call = UPDATE, .trans = 1, .key = 8, .attr = attr, .attr_words = 2,
                             .wanted = ROW_NONE, .changed = &changed[1], .lock = &lock[1]),
                     0);
    assert_int_equal(changed[1].change, changed[0].change);
    assert_int_equal(a_of(1, 8), 2);
    tup_commit(world.tup, changed[0].change, 10);
    assert_int_equal(a_of(2, 8), 2); /* The first commit has made all of it visible. */
    tup_commit(world.tup, changed[1].change, 10);
    acc_unlock(world.acc, lock[0]);
    acc_unlock(world.acc, lock[1]);

    attr_a(attr, 3);
    assert_int_equal(do_call(.call = UPDATE, .trans = 1, .key = 8, .attr = attr, .attr_words = 2,
                             .wanted = ROW_NONE, .changed = &changed[0], .lock = &lock[0]),
                     0);
    assert_int_equal(a_of(1, 8), 3);
    assert_int_equal(a_of(2, 8), 2);
    assert_int_equal(do_call(.call = DELETE, .trans = 1, .key = 8, .wanted = ROW_NONE,
                             .changed = &changed[1], .lock = &lock[1]),
                     0);
    assert_int_equal(a_of(1, 8), -2);
    assert_int_equal(a_of(2, 8), 2);
    assert_int_equal(tup_change_kind_of(world.tup, changed[1].change), TUP_DELETED);
    uint32_t none;
    struct tup_changed nothing;
    assert_int_equal(do_call(.call = DELETE, .trans = 1, .key = 8, .wanted = ROW_NONE,
                             .changed = &nothing, .lock = &none),
                     ERR_ROW_NOT_FOUND);
    assert_int_equal(do_call(.call = UPDATE, .trans = 1, .key = 8, .attr = attr, .attr_words = 2,
                             .wanted = ROW_NONE, .changed = &nothing, .lock = &none),
                     ERR_ROW_NOT_FOUND);
    attr_ab(attr, 4);
    assert_int_equal(do_call(.call = INSERT, .trans = 1, .key = 8, .attr = attr, .attr_words = 4,
                             .wanted = ROW_NONE, .changed = &changed[2], .lock = &lock[2]),
                     0);
    assert_int_equal(a_of(1, 8), 4);
    assert_int_equal(a_of(2, 8), 2);
    assert_int_equal(tup_row_gci(world.tup, world.frag, changed[2].row), 10);
    world_check(&world);
    for (uint32_t i = 3; i-- > 0;)
        tup_abort(world.tup, changed[i].change);
    assert_int_equal(a_of(1, 8), 2);
    for (uint32_t i = 0; i < 3; i++)
        acc_unlock(world.acc, lock[i]);
}

static void test_insert_and_delete(void **state)
{
    (void)state;
    uint32_t attr[4];
    struct tup_changed changed[2];
    uint32_t lock[2];
    uint32_t key = 8;
    attr_ab(attr, 1);
    for (uint32_t commit = 0; commit < 2; commit++) {
        assert_int_equal(do_call(.call = INSERT, .trans = 1, .key = key, .attr = attr,
                                 .attr_words = 4, .wanted = ROW_NONE, .changed = &changed[0],
                                 .lock = &lock[0]),
                         0);
        assert_int_equal(do_call(.call = DELETE, .trans = 1, .key = key, .wanted = ROW_NONE,
                                 .changed = &changed[1], .lock = &lock[1]),
                         0);
        assert_int_equal(tup_change_kind_of(world.tup, changed[1].change), TUP_NOTHING);
        for (uint32_t i = 0; i < 2; i++) {
            if (commit)
                tup_commit(world.tup, changed[i].change, 3);
            else
                tup_abort(world.tup, changed[i].change);
            acc_unlock(world.acc, lock[i]);
        }
        assert_int_equal(world_find(&world, &key, 1), ROW_NONE);
        assert_int_equal(world_data_pages(&world), 0);
    }
}

static void test_row_ids(void **state)
{
    (void)state;
    uint32_t attr[4];
    struct tup_changed changed;
    uint32_t lock;
    struct tup_frag_figures figures;
    attr_ab(attr, 1);
    tup_frag_figures_get(world.frag, &figures);
    uint32_t slots = (PAGE_SIZE_BYTES - FIXED_PAGE_HEAD) / figures.row_bytes;
    assert_int_equal(tup_row_id(world.frag, 0, slots), ROW_NONE);
    assert_int_equal(tup_row_id(world.frag, 0xFFFFFFFF, 0), ROW_NONE);
    uint32_t wanted = tup_row_id(world.frag, 3, slots - 1);
    assert_int_not_equal(wanted, ROW_NONE);
    assert_int_equal(do_call(.call = INSERT, .trans = 1, .key = 1, .attr = attr, .attr_words = 4,
                             .wanted = wanted, .changed = &changed, .lock = &lock),
                     0);
    assert_int_equal(changed.row, wanted);
    assert_int_equal(tup_row_page(world.frag, wanted), 3);
    assert_int_equal(tup_row_slot(world.frag, wanted), slots - 1);
    tup_commit(world.tup, changed.change, 1);
    acc_unlock(world.acc, lock);
    assert_int_equal(do_call(.call = INSERT, .trans = 1, .key = 2, .attr = attr, .attr_words = 4,
                             .wanted = wanted, .changed = &changed, .lock = &lock),
                     ERR_ROW_ID_TAKEN);
    assert_int_equal(do_call(.call = INSERT, .trans = 1, .key = 2, .attr = attr, .attr_words = 4,
                             .wanted = ROW_NONE - 1, .changed = &changed, .lock = &lock),
                     ERR_ROW_ID_TAKEN);
    world_check(&world);
    for (uint32_t key = 10; key < 10 + slots - 1; key++) /* The rest of page 3. */
        assert_int_equal(once(INSERT, key, attr, 4), 0);
    tup_frag_figures_get(world.frag, &figures);
    assert_int_equal(figures.fixed_pages, 1);
    assert_int_equal(figures.rows, slots);
    assert_int_equal(once(INSERT, 5, attr, 4), 0);
    uint32_t key = 5;
    assert_int_equal(tup_row_page(world.frag, world_find(&world, &key, 1)),
                     0); /* Numbers jumped over are used. */
    assert_int_equal(once(DELETE, 1, NULL, 0), 0);
    assert_int_equal(do_call(.call = INSERT, .trans = 1, .key = 2, .attr = attr, .attr_words = 4,
                             .wanted = wanted, .changed = &changed, .lock = &lock),
                     0);
    tup_abort(world.tup, changed.change);
    acc_unlock(world.acc, lock);
}

static void test_scan_survives_changes(void **state)
{
    (void)state;
    uint32_t attr[4];
    struct tup_scan_position position = {0, 0};
    uint32_t rows[16];
    bool end = false;
    uint32_t found = 0;
    attr_ab(attr, 1);
    for (uint32_t key = 0; key < 5000; key++)
        assert_int_equal(once(INSERT, key, attr, 4), 0);
    uint32_t next_delete = 4999;
    while (!end) {
        found += tup_scan_next(world.tup, world.frag, &position, 9, 9, rows, 16, 100, &end);
        if (found < 4000)
            assert_int_equal(once(DELETE, next_delete--, NULL, 0), 0); /* Ahead of the scan. */
    }
    assert_int_equal(found, 5000 - (4999 - next_delete));
    assert_false(tup_row_alive(world.tup, world.frag, 0xFFFFFFFE, 9, 9));
    assert_false(tup_row_alive(world.tup, world.frag, 0x00FFFFFF, 9, 9));
    /* An empty fragment, and one of which only a late page is left. */
    for (uint32_t key = 0; key <= next_delete; key++)
        assert_int_equal(once(DELETE, key, NULL, 0), 0);
    assert_int_equal(tup_scan_next(world.tup, world.frag, &(struct tup_scan_position){0, 0}, 9, 9,
                                   rows, 16, 100, &end),
                     0);
    assert_true(end);
}

static void test_damage_is_noticed(void **state)
{
    (void)state;
    uint32_t attr[4];
    uint32_t key = 1;
    attr_ab(attr, 1);
    assert_int_equal(once(INSERT, 1, attr, 4), 0);
    uint8_t *row = (uint8_t *)row_at(world.frag, world_find(&world, &key, 1));
    row[20] ^= 0x10;
    assert_int_equal(once(UPDATE, 1, attr, 4), ERR_CHECKSUM);
    row[20] ^= 0x10;
    assert_int_equal(once(UPDATE, 1, attr, 4), 0);
}

/* --- Layouts. --- */

static void test_memory_target(void **state)
{
    (void)state;
    struct rows_world plain;
    struct tup_frag_figures figures;
    world_start(&plain, 16, 16);
    world_table(&plain, def_plain());
    tup_frag_figures_get(plain.frag, &figures);
    assert_in_range(figures.row_bytes, 48, 64);
    assert_true(figures.rows_max > 1000000000ull);
    world_drop(&plain);
    world_stop(&plain);
}

static void layout_run(struct table_def *def, uint32_t key_words)
{
    struct rows_world wide;
    uint32_t *out = malloc(TUP_ROW_WORDS_MAX * 4);
    uint32_t *again = malloc(TUP_ROW_WORDS_MAX * 4);
    world_start(&wide, 4096, 256);
    world_table(&wide, def);
    for (uint32_t number = 0; number < 40; number++) {
        uint32_t key[1100] = {0};
        const uint32_t all[] = {attr_header(ATTR_READ_ALL, 0)};
        struct tup_changed changed;
        uint32_t got;
        key[0] = number;
        struct tup_change_req req = request(&wide, 1, key, key_words, NULL, 0);
        assert_int_equal(tup_insert(wide.tup, &req, &changed), 0);
        tup_commit(wide.tup, changed.change, 1);
        acc_unlock(wide.acc, changed.lock);
        struct tup_read read = {
            .frag = wide.frag, .row = changed.row, .attr = all, .attr_words = 1};
        assert_int_equal(tup_read(wide.tup, &read, out, TUP_ROW_WORDS_MAX, &got), 0);
        /* What was read can be written back. */
        req = request(&wide, 2, key, key_words, out, got);
        uint32_t lock;
        assert_int_equal(lock_row(&wide, .trans = 2, .op = 2, .row = req.row,
                                  .mode = LOCK_EXCLUSIVE, .nowait = true, .lock = &lock),
                         0);
        assert_int_equal(tup_write(wide.tup, &req, &changed), 0);
        tup_commit(wide.tup, changed.change, 2);
        acc_unlock(wide.acc, lock);
        uint32_t got_again;
        assert_int_equal(tup_read(wide.tup, &read, again, TUP_ROW_WORDS_MAX, &got_again), 0);
        assert_int_equal(got, got_again);
        assert_memory_equal(out, again, got * 4);
        assert_int_equal(world_find(&wide, key, key_words), changed.row);
    }
    world_check(&wide);
    world_drop(&wide);
    assert_int_equal(world_data_pages(&wide), 0);
    world_stop(&wide);
    free(out);
    free(again);
}

static void test_smallest_row(void **state)
{
    (void)state;
    struct table_def *def = def_start();
    column_add(def, "k", (struct column_format){.type = COLUMN_TINYUNSIGNED, .length = 1},
               COLUMN_PRIMARY_KEY, NULL, 0);
    layout_run(def, 1);
}

static void test_largest_row(void **state)
{
    (void)state;
    static uint8_t value[30000];
    struct table_def *def = def_start();
    memset(value, 0x5A, sizeof value);
    column_add(def, "k", (struct column_format){.type = COLUMN_UNSIGNED, .length = 1},
               COLUMN_PRIMARY_KEY, NULL, 0);
    column_add(def, "f", (struct column_format){.type = COLUMN_BINARY, .length = 29996}, 0, value,
               29996);
    layout_run(def, 1);

    def = def_start();
    value[0] = (uint8_t)(29900 & 0xFF);
    value[1] = (uint8_t)(29900 >> 8);
    column_add(def, "k", (struct column_format){.type = COLUMN_UNSIGNED, .length = 1},
               COLUMN_PRIMARY_KEY, NULL, 0);
    column_add(def, "v", (struct column_format){.type = COLUMN_LONGVARBINARY, .length = 29990}, 0,
               value, 29902);
    layout_run(def, 1);
}

static void test_many_columns(void **state)
{
    (void)state;
    struct table_def *def = def_start();
    const uint8_t value[] = {3, 'a', 'b', 'c'};
    column_add(def, "k", (struct column_format){.type = COLUMN_UNSIGNED, .length = 1},
               COLUMN_PRIMARY_KEY, NULL, 0);
    for (uint32_t i = 1; i < TABLE_COLUMNS_MAX; i++) {
        const char name[] = {'c', (char)('a' + i / 26), (char)('a' + i % 26), 0};
        if (i % 3 == 0)
            column_add(def, name, (struct column_format){.type = COLUMN_VARBINARY, .length = 20},
                       COLUMN_NULLABLE, i % 2 ? value : NULL, i % 2 ? sizeof value : 0);
        else
            column_add(def, name,
                       (struct column_format){.type = i % 3 == 1 ? COLUMN_SMALLINT : COLUMN_BIGINT,
                                              .length = 1},
                       COLUMN_NULLABLE, NULL, 0);
    }
    layout_run(def, 1);
}

static void test_wide_key(void **state)
{
    (void)state;
    struct table_def *def = def_start();
    for (uint32_t i = 0; i < 32; i++) {
        const char name[] = {'k', (char)('A' + i), 0};
        column_add(def, name,
                   (struct column_format){.type = i % 2 ? COLUMN_BINARY : COLUMN_UNSIGNED,
                                          .length = i % 2 ? 9 : 1},
                   COLUMN_PRIMARY_KEY, NULL, 0);
    }
    layout_run(def, 16 + 16 * 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_defaults),
        TEST(test_refused_columns),
        TEST(test_refused_reads),
        TEST(test_row_id_and_gci),
        TEST(test_visibility),
        TEST(test_insert_and_delete),
        TEST(test_row_ids),
        TEST(test_scan_survives_changes),
        TEST(test_damage_is_noticed),
        cmocka_unit_test(test_memory_target),
        cmocka_unit_test(test_smallest_row),
        cmocka_unit_test(test_largest_row),
        cmocka_unit_test(test_many_columns),
        cmocka_unit_test(test_wide_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
