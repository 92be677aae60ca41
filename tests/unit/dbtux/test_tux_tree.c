/* test_tux_tree.c -- ordered indexes: random entries against a sorted array, seeks and walks both
 * ways, memory. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include "tests/unit/support/tup_fixture.h"

#define TEXT_MAX 12u
#define NOTHING  INT64_MIN

/* A row as the test knows it; a is NOTHING for NULL, text is empty for NULL. */
struct item {
    int64_t a;
    char text[TEXT_MAX + 1];
    uint32_t row;
};

struct test {
    struct rows_world world;
    struct rng rng;
    struct tux_columns *columns;
    struct tux_index *index;
    struct item *item; /* Sorted. */
    uint32_t count;
    uint32_t next_key;
};

/* --- The model: order of (a, text without case, row), NULL first. --- */

static int text_order(const char *a, const char *b)
{
    for (uint32_t i = 0;; i++) {
        char x = a[i] != 0 ? a[i] : ' ';
        char y = b[i] != 0 ? b[i] : ' ';
        if (x >= 'a' && x <= 'z') x = (char)(x - 32);
        if (y >= 'a' && y <= 'z') y = (char)(y - 32);
        if (x != y) return x < y ? -1 : 1;
        if (a[i] == 0 && b[i] == 0) return 0;
        if (a[i] == 0 || b[i] == 0) return a[i] == 0 ? -1 : 1; /* No blanks at the ends here. */
    }
}

static int values_order(const struct item *x, const struct item *y, uint32_t columns)
{
    if (columns > 0 && x->a != y->a) return x->a < y->a ? -1 : 1;
    if (columns < 2) return 0;
    if (x->text[0] == 0 || y->text[0] == 0) return (x->text[0] != 0) - (y->text[0] != 0);
    return text_order(x->text, y->text);
}

static int item_order(const void *a, const void *b)
{
    const struct item *x = a;
    const struct item *y = b;
    int order = values_order(x, y, 2);
    if (order != 0) return order;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* --- The rows. --- */

static struct table_def *def_indexed(void)
{
    struct table_def *def = def_start();
    column_add(def, "k", (struct column_format){.type = COLUMN_UNSIGNED, .length = 1},
               COLUMN_PRIMARY_KEY, NULL, 0);
    column_add(def, "a", (struct column_format){.type = COLUMN_BIGINT, .length = 1},
               COLUMN_NULLABLE, NULL, 0);
    column_add(def, "s",
               (struct column_format){.type = COLUMN_VARCHAR,
                                      .collation = COLLATION_UTF8MB4_GENERAL_CI,
                                      .length = TEXT_MAX * 4u},
               COLUMN_NULLABLE, NULL, 0);
    return def;
}

#define PAGES 2048u /* Pages of 32 KB; enough for all but the most entries. */

static void start(struct test *test, uint64_t seed, uint32_t columns, uint32_t items_max,
                  uint32_t pages)
{
    memset(test, 0, sizeof *test);
    rng_seed(&test->rng, seed);
    world_start(&test->world, pages, 64);
    world_table(&test->world, def_indexed());
    test->item = calloc(items_max, sizeof *test->item);
    test->columns = calloc(1, tux_columns_size(columns));
    for (uint32_t i = 0; i < columns; i++)
        tux_column_add(test->columns, 1u + i, &test->world.def->columns[1u + i].format, true);
    test->index = tux_index_create(test->world.tux, test->world.frag, test->columns, NULL);
    assert_non_null(test->index);
}

static void stop(struct test *test)
{
    while (!tux_index_drop_step(test->world.tux, test->index))
        continue;
    assert_int_equal(tux_pages(test->world.tux), 0);
    tux_check(&test->world.tux->block);
    world_drop(&test->world);
    assert_int_equal(world_data_pages(&test->world), 0);
    world_stop(&test->world);
    free(test->columns);
    free(test->item);
}

static uint32_t text_value(const char *text, uint8_t *out)
{
    out[0] = (uint8_t)strlen(text);
    memcpy(out + 1, text, out[0]);
    return out[0] + 1u;
}

/* Makes the row of an item, committed; the item gets its row id. */
static void row_make(struct test *test, struct item *item)
{
    struct rows_world *world = &test->world;
    uint32_t attr[16];
    uint32_t words = 0;
    uint32_t key = test->next_key++;
    if (item->a != NOTHING) {
        attr[words] = attr_header(1, 8);
        memcpy(attr + words + 1, &item->a, 8);
        words += 3;
    }
    if (item->text[0] != 0) {
        uint32_t size = text_value(item->text, (uint8_t *)(attr + words + 1));
        attr[words] = attr_header(2, size);
        words += 1 + words_of(size);
    }
    struct tup_change_req req = request(world, 1, &key, 1, attr, words);
    struct tup_changed changed;
    assert_int_equal(tup_insert(world->tup, &req, &changed), 0);
    tup_commit(world->tup, changed.change, 1);
    acc_unlock(world->acc, changed.lock);
    item->row = changed.row;
}

static void row_drop(struct test *test, uint32_t row)
{
    const struct tup_restore_req req = {
        .frag = test->world.frag, .key_def = test->world.def, .row = row};
    assert_int_equal(tup_restore_delete(test->world.tup, &req), 0);
}

/* --- Both together. --- */

static void add(struct test *test, struct item item)
{
    uint32_t low = 0;
    row_make(test, &item);
    assert_true(tux_reserve(test->world.tux, test->index));
    tux_add(test->world.tux, test->index, item.row, false);
    tux_trim(test->world.tux);
    for (uint32_t high = test->count; low < high;) {
        uint32_t middle = (low + high) / 2;
        if (item_order(&test->item[middle], &item) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(test->item + low + 1, test->item + low, (test->count - low) * sizeof item);
    test->item[low] = item;
    test->count++;
}

static void take(struct test *test, uint32_t at)
{
    uint32_t row = test->item[at].row;
    tux_remove(test->world.tux, test->index, row, false);
    row_drop(test, row);
    test->count--;
    memmove(test->item + at, test->item + at + 1, (test->count - at) * sizeof *test->item);
}

struct visit {
    struct test *test;
    uint32_t at;
};

static void visited(void *context, const struct tux_entry *entry)
{
    struct visit *visit = context;
    assert_true(visit->at < visit->test->count);
    assert_int_equal(entry->row, visit->test->item[visit->at++].row);
    assert_false(entry->copy);
}

static void check(struct test *test)
{
    struct visit visit = {.test = test};
    tux_index_check(test->index, visited, &visit);
    assert_int_equal(visit.at, test->count);
    assert_int_equal(tux_entries(test->index), test->count);
    tux_check(&test->world.tux->block);
}

static struct item draw(struct test *test, uint32_t range)
{
    struct item item = {.a = NOTHING};
    if (!rng_chance(&test->rng, 1, 20)) {
        item.a = (int64_t)rng_below(&test->rng, range) - range / 2;
        if (rng_chance(&test->rng, 1, 30)) item.a *= INT64_C(1) << 40;
    }
    if (test->columns->count < 2 || rng_chance(&test->rng, 1, 10)) return item;
    uint32_t length = 1 + (uint32_t)rng_below(&test->rng, TEXT_MAX);
    for (uint32_t i = 0; i < length; i++)
        item.text[i] = (char)((rng_chance(&test->rng, 1, 2) ? 'a' : 'A') +
                              (char)rng_below(&test->rng, i < 9 ? 2 : 4));
    return item;
}

/* Finds a place and walks from it both ways. */
static void seek(struct test *test, uint32_t range)
{
    const struct item wanted = draw(test, range);
    uint32_t columns = (uint32_t)rng_below(&test->rng, test->columns->count + 1u);
    bool behind = rng_chance(&test->rng, 1, 2);
    uint8_t text[TEXT_MAX + 1];
    const struct scan_value value[2] = {
        {(const uint8_t *)&wanted.a, wanted.a == NOTHING ? 0 : 8},
        {text, wanted.text[0] == 0 ? 0 : text_value(wanted.text, text)}};
    const struct tux_search search = {
        .value = value, .count = columns, .place = behind ? TUX_BEHIND : TUX_BEFORE};
    uint32_t at = 0;
    while (at < test->count) {
        int order = values_order(&test->item[at], &wanted, columns);
        if (order > 0 || (order == 0 && !behind)) break;
        at++;
    }
    const struct tux_cursor first = tux_seek(test->index, &search);
    struct tux_cursor cursor = first;
    struct tux_entry entry;
    for (uint32_t i = at; i < at + 400 && i < test->count; i++) {
        assert_true(tux_next(test->index, &cursor, &entry));
        assert_int_equal(entry.row, test->item[i].row);
        assert_true(tux_compare(test->index, &entry, &search) > 0);
    }
    if (at + 400 >= test->count) assert_false(tux_next(test->index, &cursor, &entry));
    cursor = first;
    for (uint32_t i = at; i > 0 && i + 400 > at; i--) {
        assert_true(tux_previous(test->index, &cursor, &entry));
        assert_int_equal(entry.row, test->item[i - 1].row);
        assert_true(tux_compare(test->index, &entry, &search) < 0);
    }
    if (at < 400) assert_false(tux_previous(test->index, &cursor, &entry));
}

/* Grows and shrinks in turns; `range` decides how many keys are equal. */
static void run(uint64_t seed, uint32_t columns, uint32_t range, uint32_t most, uint32_t steps)
{
    struct test test;
    bool grow = true;
    start(&test, seed, columns, most + 1, PAGES);
    for (uint32_t step = 0; step < steps; step++) {
        if (test.count == most) grow = false;
        if (test.count == 0) grow = true;
        if (test.count == 0 || (test.count < most && rng_chance(&test.rng, grow ? 4 : 1, 5)))
            add(&test, draw(&test, range));
        else
            take(&test, (uint32_t)rng_below(&test.rng, test.count));
        if (rng_chance(&test.rng, 1, 50)) seek(&test, range);
        if (step % 997 == 0) check(&test);
    }
    check(&test);
    while (test.count > 0)
        take(&test, (uint32_t)rng_below(&test.rng, test.count));
    check(&test);
    assert_int_equal(tux_pages(test.world.tux), 0);
    stop(&test);
}

static void test_two_columns(void **state)
{
    (void)state;
    run(1, 2, 100000, 6000, 60000);
    run(2, 2, 40, 6000, 60000);
}

static void test_one_column(void **state)
{
    (void)state;
    run(3, 1, 1000000, 6000, 60000);
    run(4, 1, 3, 6000, 60000);
}

static void test_seeds(void **state)
{
    (void)state;
    for (uint64_t seed = 10; seed < 40; seed++)
        run(seed, 1 + seed % 2, seed % 3 == 0 ? 5 : 5000, 700, 3000);
}

/* What comes in order, either way, and goes from either end. */
static void test_ends(void **state)
{
    struct test test;
    (void)state;
    for (uint32_t way = 0; way < 4; way++) {
        start(&test, 50 + way, 1, 30001, PAGES);
        for (uint32_t i = 0; i < 30000; i++)
            add(&test, (struct item){.a = way % 2 == 0 ? i : -(int64_t)i});
        check(&test);
        assert_true(tux_index_bytes(test.index) <= 7u * test.count);
        seek(&test, 30000);
        for (uint32_t i = 0; i < 29000; i++)
            take(&test, way / 2 == 0 ? 0 : test.count - 1);
        check(&test);
        stop(&test); /* With a thousand entries in it. */
    }
}

/* Without memory nothing is added, and what is there stays as it is. */
static void test_memory_ends(void **state)
{
    struct test test;
    (void)state;
    start(&test, 60, 2, 2001, PAGES);
    for (uint32_t i = 0; i < 2000; i++)
        add(&test, draw(&test, 1000));
    struct item item = draw(&test, 1000);
    row_make(&test, &item);
    uint32_t pages = 0;
    void *page[PAGES];
    while ((page[pages] = arena_page(test.world.arena, RG_DATA)) != NULL)
        pages++;
    uint32_t before = tux_pages(test.world.tux);
    while (tux_reserve(test.world.tux, test.index)) {
        tux_add(test.world.tux, test.index, item.row, false);
        tux_remove(test.world.tux, test.index, item.row, false);
        if (test.world.tux->nodes_free < 2) break;
        tux_node_seize(test.world.tux, test.index, 0); /* Somebody else's. */
    }
    assert_false(tux_reserve(test.world.tux, test.index));
    assert_int_equal(tux_pages(test.world.tux), before);
    for (uint32_t i = 0; i < pages; i++)
        arena_page_release(test.world.arena, RG_DATA, page[i]);
    assert_true(tux_reserve(test.world.tux, test.index));
    world_stop(&test.world);
    free(test.columns);
    free(test.item);
}

/* Bytes per entry, printed; TUX_ENTRIES sets how many. */
static double bytes_per_entry(uint32_t entries, bool ascending)
{
    struct test test;
    start(&test, 70, 1, 1, entries / 400u + 64u); /* Rows are there too. */
    for (uint32_t i = 0; i < entries; i++) {
        struct item item = {.a = ascending ? i : (int64_t)rng_next(&test.rng)};
        row_make(&test, &item);
        assert_true(tux_reserve(test.world.tux, test.index));
        tux_add(test.world.tux, test.index, item.row, false);
        tux_trim(test.world.tux);
    }
    double bytes = (double)tux_pages(test.world.tux) * PAGE_SIZE_BYTES / entries;
    stop(&test);
    return bytes;
}

static void test_bytes(void **state)
{
    const char *wanted = getenv("TUX_ENTRIES");
    uint32_t entries = wanted != NULL ? (uint32_t)strtoul(wanted, NULL, 10) : 200000;
    (void)state;
    double random = bytes_per_entry(entries, false);
    double ascending = bytes_per_entry(entries, true);
    printf("%u entries: %.2f bytes each in random order, %.2f in ascending order\n", entries,
           random, ascending);
    assert_true(random <= 10.0);
    assert_true(ascending <= 7.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_column),  cmocka_unit_test(test_two_columns),
        cmocka_unit_test(test_seeds),       cmocka_unit_test(test_ends),
        cmocka_unit_test(test_memory_ends), cmocka_unit_test(test_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
