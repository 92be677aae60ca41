/* test_counter.c -- the table of counters and its operations: well formed, and refused when they
 * are not. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "api/core/counter.h"
#include "values/attr.h"
#include "values/errors.h"
#include "values/program.h"

static void column_of(const void *of, uint32_t id, struct program_column *column)
{
    const struct table_def *def = of;
    *column = (struct program_column){
        .format = def->columns[id].format,
        .in_key = def->columns[id].key_index != COLUMN_NOT_IN_KEY,
    };
}

static void test_table(void **state)
{
    char name[TABLE_NAME_MAX + 4];
    (void)state;
    struct table_def *def = counter_table_def();
    assert_non_null(def);
    table_def_internal_name(def, name, sizeof name);
    assert_string_equal(name, COUNTER_TABLE);
    assert_int_equal(def->column_count, 3);
    assert_int_equal(def->key_count, 1);
    assert_int_equal(def->key_size_max, 4);
    free(def);
}

/* Whatever is taken, the data node accepts the program, and the values of a new row are those of
 * the columns. */
static void test_write(void **state)
{
    static const struct counter_take takes[] = {
        {7, 1, 1, 32}, {7, 0xFFFFFF, UINT64_MAX, 0}, {20320, 3, 5, UINT64_MAX - 5}};
    struct table_def *def = counter_table_def();
    const struct program_table table = {
        .of = def, .column_count = def->column_count, .column = column_of};
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t words[COUNTER_WORDS_MAX];
        uint32_t attr_words;
        struct counter counter;
        assert_int_equal(counter_write(&takes[i], words, &attr_words), 1);
        assert_true(1 + attr_words <= COUNTER_WORDS_MAX);
        assert_int_equal(words[0], takes[i].table_id);
        const uint32_t *attr = words + 1;
        assert_int_equal(program_check(&table, PROGRAM_CHANGES, attr + 2, attr[0]), 0);
        const uint32_t *values = attr + 2 + attr[0] + attr[1];
        assert_int_equal(2 + attr[0] + attr[1] + 5, attr_words);
        assert_true(counter_parse(values, 5, &counter));
        assert_int_equal(counter.major, takes[i].major);
        assert_true(counter.next == takes[i].least + takes[i].count);
    }
    free(def);
}

static void test_rows(void **state)
{
    uint32_t words[COUNTER_WORDS_MAX];
    uint32_t attr_words;
    struct counter counter;
    (void)state;
    assert_int_equal(counter_read(9, words, &attr_words), 1);
    assert_int_equal(words[0], 9);
    assert_int_equal(attr_words, 2);
    const uint32_t row[] = {attr_header(1, 4), 5, attr_header(2, 8), 6, 7};
    assert_true(counter_parse(row, 5, &counter));
    assert_int_equal(counter.major, 5);
    assert_true(counter.next == (6 | (uint64_t)7 << 32));
    for (uint32_t size = 0; size < 5; size++)
        assert_false(counter_parse(row, size, &counter));
    for (uint32_t at = 0; at < 3; at += 2) {
        uint32_t bad[5];
        memcpy(bad, row, sizeof bad);
        bad[at] = attr_header(at == 0 ? 1 : 2, 0); /* NULL. */
        assert_false(counter_parse(bad, 5, &counter));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
