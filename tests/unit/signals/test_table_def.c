/* test_table_def.c -- table definitions: building, checking, and words that nobody can trust. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "values/errors.h"
#include "values/table_def.h"
#include "values/table_index.h"
#include "values/table_version.h"

#define PLAIN(t)                                                                                   \
    {                                                                                              \
        .type = COLUMN_##t, .length = 1                                                            \
    }
#define UTF8(t, n)                                                                                 \
    {                                                                                              \
        .type = COLUMN_##t, .collation = COLLATION_UTF8MB4_GENERAL_CI, .length = (n)               \
    }

static struct table_def *new_def(void)
{
    struct table_def *def =
        table_def_init(malloc(table_def_size_max()), table_def_size_max(), TABLE_COLUMNS_MAX);

    assert_non_null(def);
    assert_int_equal(table_def_set_name(def, "db", 2, "t1", 2), ERR_NONE);
    return def;
}

static uint32_t add(struct table_def *def, const char *name, struct column_format format,
                    uint32_t flags, const void *value, uint32_t size)
{
    const struct table_column_options options = {.name = name,
                                                 .name_size = (uint32_t)strlen(name),
                                                 .format = format,
                                                 .flags = flags,
                                                 .default_value = value,
                                                 .default_size = size};

    return table_def_add_column(def, &options);
}

static struct table_def *sample(void)
{
    struct table_def *def = new_def();

    assert_int_equal(add(def, "name", (struct column_format)UTF8(VARCHAR, 80),
                         COLUMN_PRIMARY_KEY | COLUMN_PARTITION_KEY, NULL, 0),
                     0);
    assert_int_equal(
        add(def, "n", (struct column_format)PLAIN(INT), COLUMN_NULLABLE, "\1\0\0\0", 4), 0);
    assert_int_equal(
        add(def, "id", (struct column_format)PLAIN(UNSIGNED), COLUMN_PRIMARY_KEY, NULL, 0), 0);
    assert_int_equal(
        add(def, "note", (struct column_format)UTF8(LONGVARCHAR, 1200), COLUMN_NULLABLE, "\0\0", 2),
        0);
    assert_int_equal(table_def_add_index(def, "by_n", 4, (const uint16_t[]){1, 0, 2}, 3), 0);
    assert_int_equal(table_def_add_index(def, "by_note", 7, (const uint16_t[]){3}, 1), 0);
    assert_int_equal(table_def_add_unique(def, "u_n", 3, (const uint16_t[]){3, 1}, 2), 0);
    assert_int_equal(table_def_add_unique(def, "u_id", 4, (const uint16_t[]){2}, 1), 0);
    table_def_unique_set(def, 0, 18, 5);
    table_def_unique_set(def, 1, 19, 6);
    def->table_id = 17;
    def->version = 3;
    def->max_rows = 0x123456789Aull;
    return def;
}

static void test_derived_fields(void **state)
{
    struct table_def *def = sample();
    char name[TABLE_NAME_MAX + 1];
    uint32_t size;

    (void)state;
    assert_int_equal(table_def_check(def), ERR_NONE);
    assert_int_equal(def->key_count, 2);
    assert_int_equal(def->key_columns[0], 0);
    assert_int_equal(def->key_columns[1], 2);
    assert_int_equal(def->columns[1].key_index, COLUMN_NOT_IN_KEY);
    assert_int_equal(def->columns[2].key_index, 1);
    assert_int_equal(def->columns[3].null_index, 1);
    assert_int_equal(def->columns[3].array, COLUMN_MEDIUM_VAR);
    assert_int_equal(def->key_size_max, 81 + 4);
    assert_int_equal(def->row_size_max, 81 + 4 + 4 + 1202 + 4);
    assert_int_equal(def->fixed_size, 8);
    assert_int_equal(def->var_count, 2);
    assert_int_equal(def->null_count, 2);
    assert_int_equal(def->partition_key_count, 1);
    assert_true(table_column_partitions(def, &def->columns[0]));
    assert_false(table_column_partitions(def, &def->columns[2]));
    assert_false(table_column_partitions(def, &def->columns[1]));
    assert_ptr_equal(table_def_find(def, "NOTE", 4), &def->columns[3]);
    assert_null(table_def_find(def, "not", 3));
    assert_string_equal(table_column_name(def, &def->columns[3]), "note");
    assert_memory_equal(table_column_default(def, &def->columns[1], &size), "\1\0\0\0", 4);
    assert_int_equal(size, 4);
    assert_null(table_column_default(def, &def->columns[0], &size));
    table_def_internal_name(def, name, sizeof(name));
    assert_string_equal(name, "db/def/t1");
    /* Checking twice changes nothing. */
    assert_int_equal(table_def_check(def), ERR_NONE);
    assert_int_equal(def->key_count, 2);
    assert_int_equal(def->row_size_max, 81 + 4 + 4 + 1202 + 4);
    free(def);
}

static uint32_t *encoded(struct table_def *def, uint32_t *count)
{
    uint32_t *words;

    *count = table_def_words(def);
    words = malloc(*count * sizeof(*words));
    assert_int_equal(table_def_encode(def, words, *count - 1), 0);
    assert_int_equal(table_def_encode(def, words, *count), *count);
    return words;
}

static void test_round_trip(void **state)
{
    struct table_def *def = sample();
    struct table_def *back;
    uint32_t count, count2;
    uint32_t *words = encoded(def, &count);
    size_t size = table_def_decode_size(words, count);
    void *memory = malloc(size);

    (void)state;
    assert_true(size > 0);
    assert_int_equal(table_def_decode(words, count, memory, size - 1, &back), ERR_BUFFER_SMALL);
    assert_int_equal(table_def_decode(words, count, memory, size, &back), ERR_NONE);
    assert_int_equal(table_def_bytes(back), size);
    assert_int_equal(back->table_id, 17);
    assert_int_equal(back->version, 3);
    assert_true(back->max_rows == 0x123456789Aull);
    assert_int_equal(back->balance, TABLE_BALANCE_FOR_RP_BY_LDM);
    assert_string_equal(table_column_name(back, &back->columns[2]), "id");

    /* A copy of the bytes is a definition too: there are no pointers in it. */
    struct table_def *copy = malloc(size);
    memcpy(copy, back, size);
    free(back);
    uint32_t *words2 = encoded(copy, &count2);
    assert_int_equal(count, count2);
    assert_memory_equal(words, words2, count * 4);
    free(words);
    free(words2);
    free(copy);
    free(def);
}

static void test_largest_definition(void **state)
{
    struct table_def *def = new_def();
    char name[COLUMN_NAME_MAX + 1];
    uint32_t count;
    struct table_def *back;

    (void)state;
    for (uint32_t i = 0; i < TABLE_COLUMNS_MAX; i++) {
        memset(name, 'c', COLUMN_NAME_MAX);
        name[COLUMN_NAME_MAX] = 0;
        name[0] = (char)('a' + i % 23);
        name[1] = (char)('a' + i / 23);
        assert_int_equal(add(def, name, (struct column_format)PLAIN(BIGINT),
                             i == 0 ? COLUMN_PRIMARY_KEY : 0, i == 0 ? NULL : "12345678", 8),
                         0);
    }
    assert_int_equal(add(def, "one_more", (struct column_format)PLAIN(INT), 0, NULL, 0),
                     ERR_TOO_MANY_COLUMNS);
    assert_int_equal(table_def_check(def), ERR_NONE);
    uint32_t *words = encoded(def, &count);
    void *memory = malloc(table_def_decode_size(words, count));
    assert_int_equal(
        table_def_decode(words, count, memory, table_def_decode_size(words, count), &back), 0);
    free(memory);
    free(words);
    free(def);
}

/* Every truncation: the words are in a block of exactly that length, a sanitizer watches. */
static void test_truncated_words(void **state)
{
    struct table_def *def = sample();
    uint32_t count;
    uint32_t *words = encoded(def, &count);
    void *memory = malloc(table_def_size_max());
    struct table_def *back;

    (void)state;
    for (uint32_t length = 0; length < count; length++) {
        for (int fix_length = 0; fix_length < 2; fix_length++) {
            uint32_t *cut = malloc(length > 0 ? length * 4 : 1);
            if (length > 0) memcpy(cut, words, length * 4);
            if (fix_length != 0 && length > 1) cut[1] = length; /* Gets past the first check. */
            assert_int_equal(table_def_decode(cut, length, memory, table_def_size_max(), &back),
                             ERR_TABLE_FORMAT);
            assert_null(back);
            free(cut);
        }
    }
    free(memory);
    free(words);
    free(def);
}

static void check_changed(const uint32_t *words, uint32_t count, uint32_t *accepted)
{
    size_t size = table_def_decode_size(words, count);
    void *memory = malloc(size > 0 ? size : 1);
    struct table_def *back;
    uint32_t error = table_def_decode(words, count, memory, size, &back);

    if (error == ERR_NONE) {
        /* What is accepted has one spelling. */
        uint32_t again_count;
        uint32_t *again = encoded(back, &again_count);
        assert_int_equal(again_count, count);
        assert_memory_equal(again, words, count * 4);
        free(again);
        (*accepted)++;
    } else {
        assert_null(back);
        assert_non_null(error_find(error));
    }
    free(memory);
}

static void test_flipped_bytes(void **state)
{
    struct table_def *def = sample();
    uint32_t count;
    uint32_t accepted = 0;
    uint32_t *words = encoded(def, &count);
    uint8_t *bytes = (uint8_t *)words;

    (void)state;
    for (uint32_t i = 0; i < count * 4; i++) {
        uint8_t before = bytes[i];
        for (uint32_t value = 0; value < 256; value++) {
            bytes[i] = (uint8_t)value;
            check_changed(words, count, &accepted);
        }
        bytes[i] = before;
    }
    assert_true(accepted > count); /* Table ids, versions and letters of names may be anything. */
    free(words);
    free(def);
}

struct refusal {
    struct column_format format;
    const char *name;
    uint32_t flags;
    const char *value;
    uint32_t size;
    uint32_t error;
};

static void test_refused_columns(void **state)
{
    static const struct refusal cases[] = {
        {PLAIN(INT), "NAME", 0, NULL, 0, ERR_COLUMN_REPEATED},
        {PLAIN(BLOB), "x", 0, NULL, 0, ERR_COLUMN_TYPE_UNSUPPORTED},
        {PLAIN(INT), "x", COLUMN_PRIMARY_KEY | COLUMN_NULLABLE, NULL, 0, ERR_KEY_NULLABLE},
        {PLAIN(INT), "x", COLUMN_PRIMARY_KEY, "\0\0\0\0", 4, ERR_KEY_DEFAULT},
        {PLAIN(INT), "x", COLUMN_PARTITION_KEY, NULL, 0, ERR_PARTITION_KEY_NOT_IN_KEY},
        {PLAIN(INT), "x", 0, "\0\0", 2, ERR_DEFAULT_LENGTH},
        {UTF8(CHAR, 4), "x", 0, "\xFF   ", 4, ERR_STRING_INVALID},
        {UTF8(CHAR, 5), "x", 0, NULL, 0, ERR_COLUMN_ARRAY_SIZE},
        {UTF8(VARCHAR, 256), "x", 0, NULL, 0, ERR_COLUMN_TOO_BIG},
        {{.type = COLUMN_CHAR, .collation = 8, .length = 4},
         "x",
         0,
         NULL,
         0,
         ERR_CHARSET_UNSUPPORTED},
        {{.type = COLUMN_BIT, .length = 5000}, "x", 0, NULL, 0, ERR_BITS_TOO_MANY},
        {{.type = COLUMN_BINARY, .length = 4000}, "x", COLUMN_PRIMARY_KEY, NULL, 0, ERR_NONE},
        {{.type = COLUMN_BINARY, .length = 4009}, "x", COLUMN_PRIMARY_KEY, NULL, 0, ERR_KEY_LENGTH},
        {PLAIN(INT), "x", 0x40, NULL, 0, ERR_COLUMN_FLAGS},
        {PLAIN(MEDIUMUNSIGNED), "x", COLUMN_AUTO_INCREMENT, NULL, 0, ERR_NONE},
        {PLAIN(DOUBLE), "x", COLUMN_AUTO_INCREMENT, NULL, 0, ERR_COLUMN_INCREMENT},
        {PLAIN(INT), "a/b", 0, NULL, 0, ERR_TABLE_NAME_CHARACTER},
        {PLAIN(INT), "a\n", 0, NULL, 0, ERR_TABLE_NAME_CHARACTER},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct table_def *def = sample();
        uint32_t column;
        assert_int_equal(
            add(def, cases[i].name, cases[i].format, cases[i].flags, cases[i].value, cases[i].size),
            0);
        assert_int_equal(table_def_check_detail(def, &column), cases[i].error);
        assert_int_equal(column, cases[i].error == ERR_NONE ? UINT32_MAX : 4);
        free(def);
    }
}

static void test_refused_tables(void **state)
{
    struct table_def *def = new_def();
    char name[200];

    (void)state;
    memset(name, 'x', sizeof(name));
    assert_int_equal(table_def_check(def), ERR_TOO_MANY_COLUMNS);
    assert_int_equal(add(def, "n", (struct column_format)PLAIN(INT), 0, NULL, 0), 0);
    assert_int_equal(table_def_check(def), ERR_PRIMARY_KEY_MISSING);
    def->columns[0].flags = COLUMN_PRIMARY_KEY;
    assert_int_equal(table_def_check(def), ERR_NONE);
    def->fragment_count = TABLE_FRAGMENTS_MAX + 1;
    assert_int_equal(table_def_check(def), ERR_TOO_MANY_FRAGMENTS);
    def->fragment_count = 0;
    def->balance = TABLE_BALANCE_SPECIFIC;
    assert_int_equal(table_def_check(def), ERR_FRAGMENT_COUNT);
    def->balance = -9;
    assert_int_equal(table_def_check(def), ERR_BALANCE_BAD);
    def->balance = TABLE_BALANCE_FOR_RA_BY_NODE;
    def->flags = TABLE_FLAGS_ALL + 1;
    assert_int_equal(table_def_check(def), ERR_TABLE_FLAGS);
    def->flags = TABLE_FLAGS_ALL;
    assert_int_equal(table_def_set_name(def, "d", 1, name, 123), ERR_TABLE_NAME_TOO_LONG);
    assert_int_equal(table_def_set_name(def, "d", 1, name, 122), ERR_NONE);
    assert_int_equal(table_def_set_name(def, "d", 1, "", 0), ERR_TABLE_NAME_TOO_LONG);
    assert_int_equal(table_def_set_name(def, "d", 1, "t/u", 3), ERR_NONE);
    assert_int_equal(table_def_check(def), ERR_TABLE_NAME_CHARACTER);
    assert_int_equal(table_def_set_name(def, "d", 1, "t", 1), ERR_NONE);
    assert_int_equal(add(def, "", (struct column_format)PLAIN(INT), 0, NULL, 0),
                     ERR_COLUMN_NAME_TOO_LONG);
    name[129] = 0;
    assert_int_equal(add(def, name, (struct column_format)PLAIN(INT), 0, NULL, 0),
                     ERR_COLUMN_NAME_TOO_LONG);
    struct column_format big = {.type = COLUMN_BINARY, .length = 29996};
    assert_int_equal(add(def, "big", big, 0, NULL, 0), 0);
    assert_int_equal(table_def_check(def), ERR_NONE);
    def->columns[1].flags = COLUMN_NULLABLE; /* The null bits are the drop too much. */
    assert_int_equal(table_def_check(def), ERR_ROW_TOO_BIG);
    free(def);
}

static void test_key_columns_limit(void **state)
{
    struct table_def *def = new_def();
    char name[16];

    (void)state;
    for (int i = 0; i < TABLE_KEY_COLUMNS_MAX; i++) {
        snprintf(name, sizeof(name), "k%d", i);
        assert_int_equal(
            add(def, name, (struct column_format)PLAIN(INT), COLUMN_PRIMARY_KEY, NULL, 0), 0);
    }
    assert_int_equal(table_def_check(def), ERR_NONE);
    assert_int_equal(def->partition_key_count, TABLE_KEY_COLUMNS_MAX);
    assert_true(table_column_partitions(def, &def->columns[31]));
    assert_int_equal(add(def, "k", (struct column_format)PLAIN(INT), COLUMN_PRIMARY_KEY, NULL, 0),
                     0);
    assert_int_equal(table_def_check(def), ERR_KEY_LENGTH);
    free(def);
}

static void test_small_memory(void **state)
{
    size_t size = table_def_size(1, 10);
    void *memory = malloc(size);
    struct table_def *def = table_def_init(memory, size, 1);

    (void)state;
    assert_null(table_def_init(memory, size, 2));
    assert_null(table_def_init(memory, size, TABLE_COLUMNS_MAX + 1));
    def = table_def_init(memory, size, 1);
    assert_int_equal(
        add(def, "a_name_longer_than_that", (struct column_format)PLAIN(INT), 0, NULL, 0),
        ERR_DEFINITION_TOO_BIG);
    assert_int_equal(add(def, "short", (struct column_format)PLAIN(INT), 0, NULL, 0), 0);
    assert_int_equal(add(def, "b", (struct column_format)PLAIN(INT), 0, NULL, 0),
                     ERR_TOO_MANY_COLUMNS);
    free(memory);
}

static void check_sample_indexes(const struct table_def *def)
{
    struct table_index index;
    uint32_t number;

    assert_int_equal(def->index_count, 2);
    assert_true(table_def_index(def, 0, &index));
    assert_int_equal(index.column_count, 3);
    assert_int_equal(index.columns[0], 1);
    assert_int_equal(index.columns[1], 0);
    assert_int_equal(index.columns[2], 2);
    assert_string_equal(index.name, "by_n");
    assert_true(table_def_index(def, 1, &index));
    assert_int_equal(index.columns[0], 3);
    assert_string_equal(index.name, "by_note");
    assert_int_equal(index.name_size, 7);
    assert_false(table_def_index(def, 2, &index));
    assert_true(table_def_index_find(def, "BY_note", 7, &number));
    assert_int_equal(number, 1);
    assert_false(table_def_index_find(def, "by_not", 6, &number));
    assert_int_equal(def->unique_count, 2);
    assert_true(table_def_unique(def, 0, &index));
    assert_int_equal(index.table_id, 18);
    assert_int_equal(index.version, 5);
    assert_int_equal(index.column_count, 2);
    assert_int_equal(index.columns[0], 3);
    assert_true(table_def_unique_find(def, "U_ID", 4, &number));
    assert_int_equal(number, 1);
    assert_false(table_def_unique(def, 2, &index));
    assert_false(table_def_unique_find(def, "by_n", 4, &number));
}

/* The hidden table of a unique index: its columns are the key, in the index's order. */
static void test_table_of_unique(void **state)
{
    struct table_def *def = sample();
    void *memory = malloc(table_def_size_max());
    void *copy = malloc(table_def_size_max());
    char name[TABLE_NAME_MAX + 1];
    struct table_def *index;
    struct table_def *back;
    uint32_t count;

    (void)state;
    assert_int_equal(table_def_check(def), ERR_NONE);
    assert_int_equal(table_def_of_unique(def, 0, memory, table_def_size_max(), &index), ERR_NONE);
    assert_int_equal(index->table_id, 18);
    assert_int_equal(index->version, 5);
    assert_int_equal(index->base_id, 17);
    assert_int_equal(index->base_version, 3);
    assert_int_equal(index->key_count, 2);
    assert_int_equal(index->column_count, 3);
    assert_string_equal(table_column_name(index, &index->columns[0]), "NDB$0");
    assert_string_equal(table_column_name(index, &index->columns[1]), "NDB$1");
    assert_int_equal(index->columns[1].flags, COLUMN_PRIMARY_KEY);
    assert_string_equal(table_column_name(index, &index->columns[2]), UNIQUE_KEY_COLUMN);
    assert_true(index->columns[2].size_max >= 2 + def->key_size_max);
    table_def_internal_name(index, name, sizeof(name));
    assert_string_equal(name, "sys/def/NDB$UNIQUE_17_u_n");
    uint32_t *words = encoded(index, &count);
    assert_int_equal(table_def_decode(words, count, copy, table_def_size_max(), &back), ERR_NONE);
    assert_int_equal(back->base_id, 17);
    assert_int_equal(back->base_version, 3);
    assert_int_equal(table_def_of_unique(def, 2, memory, table_def_size_max(), &index),
                     ERR_INDEX_OBJECT);
    assert_int_equal(table_def_of_unique(def, 0, memory, 100, &index), ERR_BUFFER_SMALL);
    free(words);
    free(copy);
    free(memory);
    free(def);
}

static void test_indexes(void **state)
{
    struct table_def *def = sample();
    struct table_def *back;
    uint32_t count;
    uint32_t *words = encoded(def, &count);
    size_t size = table_def_decode_size(words, count);
    void *memory = malloc(size);

    (void)state;
    check_sample_indexes(def);
    assert_int_equal(table_def_decode(words, count, memory, size, &back), ERR_NONE);
    check_sample_indexes(back);
    free(memory);
    free(words);
    free(def);
}

/* As many and as large as there can be; one more is refused. */
static void test_most_indexes(void **state)
{
    struct table_def *def = new_def();
    struct table_def *back;
    uint16_t columns[INDEX_COLUMNS_MAX];
    char name[INDEX_NAME_MAX + 1];
    uint32_t count;

    (void)state;
    for (uint32_t i = 0; i < INDEX_COLUMNS_MAX; i++) {
        name[0] = 'c';
        name[1] = (char)('0' + i);
        name[2] = 0;
        columns[i] = (uint16_t)i;
        assert_int_equal(add(def, name, (struct column_format)PLAIN(INT),
                             i == 0 ? COLUMN_PRIMARY_KEY : 0, NULL, 0),
                         0);
    }
    for (uint32_t i = 0; i < TABLE_INDEXES_MAX; i++) {
        memset(name, 'i', sizeof(name));
        name[0] = (char)('0' + i);
        assert_int_equal(table_def_add_index(def, name, INDEX_NAME_MAX, columns, INDEX_COLUMNS_MAX),
                         0);
    }
    assert_int_equal(table_def_add_index(def, "more", 4, columns, 1), ERR_INDEXES_TOO_MANY);
    assert_int_equal(table_def_check(def), ERR_NONE);
    uint32_t *words = encoded(def, &count);
    size_t size = table_def_decode_size(words, count);
    void *memory = malloc(size);
    assert_int_equal(table_def_decode(words, count, memory, size, &back), ERR_NONE);
    assert_int_equal(back->index_count, TABLE_INDEXES_MAX);
    free(memory);
    free(words);
    free(def);
}

static void test_refused_indexes(void **state)
{
    static const struct {
        const char *name;
        uint16_t columns[3];
        uint32_t count;
        uint32_t error;
    } cases[] = {
        {"a/b", {0}, 1, ERR_TABLE_NAME_CHARACTER},
        {"BY_N", {0}, 1, ERR_INDEX_EXISTS},
        {"i", {4}, 1, ERR_NO_SUCH_COLUMN},
        {"i", {0, 1, 0}, 3, ERR_INDEX_COLUMN_TWICE},
        {"i", {1}, 1, ERR_NONE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct table_def *def = sample();
        assert_int_equal(table_def_add_index(def, cases[i].name, (uint32_t)strlen(cases[i].name),
                                             cases[i].columns, cases[i].count),
                         0);
        assert_int_equal(table_def_check(def), cases[i].error);
        free(def);
    }
    struct table_def *def = sample();
    assert_int_equal(table_def_add_index(def, "", 0, cases[0].columns, 1), ERR_INDEX_NAME);
    assert_int_equal(table_def_add_index(def, "i", 1, cases[0].columns, 0), ERR_INDEX_OBJECT);
    assert_int_equal(
        add(def, "bits", (struct column_format){.type = COLUMN_BIT, .length = 3}, 0, NULL, 0), 0);
    assert_int_equal(
        add(def, "wide", (struct column_format){.type = COLUMN_BINARY, .length = 4093}, 0, NULL, 0),
        0);
    assert_int_equal(table_def_add_index(def, "b", 1, (const uint16_t[]){4}, 1), 0);
    assert_int_equal(table_def_check(def), ERR_INDEX_TYPE);
    free(def);
    def = sample();
    assert_int_equal(
        add(def, "wide", (struct column_format){.type = COLUMN_BINARY, .length = 4093}, 0, NULL, 0),
        0);
    assert_int_equal(table_def_add_index(def, "w", 1, (const uint16_t[]){4}, 1), 0);
    assert_int_equal(table_def_check(def), ERR_INDEX_NODE_SIZE);
    free(def);
}

/* What is wrong with unique ones only. */
static void test_refused_uniques(void **state)
{
    static const uint16_t column = 1;
    char name[INDEX_NAME_MAX + 1];

    (void)state;
    struct table_def *def = sample();
    memset(name, 'u', sizeof(name));
    assert_int_equal(table_def_add_unique(def, name, UNIQUE_NAME_MAX + 1, &column, 1),
                     ERR_INDEX_NAME);
    assert_int_equal(table_def_add_unique(def, "i", 1, &column, 0), ERR_INDEX_OBJECT);
    assert_int_equal(table_def_add_unique(def, "By_n", 4, &column, 1), 0);
    assert_int_equal(table_def_check(def), ERR_INDEX_EXISTS); /* An ordered one has that name. */
    free(def);
    def = sample();
    assert_int_equal(
        add(def, "wide", (struct column_format){.type = COLUMN_BINARY, .length = 4000}, 0, NULL, 0),
        0);
    for (uint16_t i = 0; i < 9; i++) { /* Nine keys of 4000 bytes are more than a row has. */
        const uint16_t columns[2] = {4, (uint16_t)(i % 3)};
        name[0] = (char)('0' + i);
        assert_int_equal(table_def_add_unique(def, name, 2, columns, 2), 0);
    }
    assert_int_equal(table_def_check(def), ERR_INDEX_NODE_SIZE);
    free(def);
    def = sample();
    for (uint32_t i = 2; i < TABLE_UNIQUE_MAX; i++) {
        name[0] = (char)('0' + i);
        assert_int_equal(table_def_add_unique(def, name, UNIQUE_NAME_MAX, &column, 1), 0);
    }
    assert_int_equal(table_def_add_unique(def, "more", 4, &column, 1), ERR_INDEXES_TOO_MANY);
    assert_int_equal(table_def_check(def), ERR_NONE);
    free(def);
}

/* Through the wire and back; its ids are those. */
static void expect_ids(struct table_def *def, const uint8_t *ids, uint32_t count)
{
    uint32_t words_count;
    struct table_def *back;
    struct table_index index;
    uint32_t *words = encoded(def, &words_count);
    void *memory = malloc(table_def_size_max());

    assert_int_equal(table_def_decode_roomy(words, words_count, memory, 100, &back),
                     ERR_BUFFER_SMALL);
    assert_int_equal(
        table_def_decode_roomy(words, words_count, memory, table_def_size_max(), &back), 0);
    assert_int_equal(back->index_count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(table_def_index(back, i, &index));
        assert_int_equal(index.id, ids[i]);
        assert_true(table_def_index_by_id(back, ids[i], &index));
    }
    free(memory);
    free(words);
}

/* An index keeps its id when others go; ids are used again late. */
static void test_index_ids(void **state)
{
    struct table_def *def = sample();
    struct table_index index;
    const uint16_t column = 0;

    (void)state;
    expect_ids(def, (const uint8_t[]){0, 1}, 2);
    def->version = table_version_next(7u);
    assert_int_equal(def->version, 1u << 24 | 7u);
    assert_int_equal(table_def_add_index(def, "new", 3, &column, 1), 0);
    table_def_index_renew(def, 2);
    expect_ids(def, (const uint8_t[]){0, 1, 32}, 3);
    table_def_remove_index(def, 0);
    expect_ids(def, (const uint8_t[]){1, 32}, 2);
    table_def_remove_index(def, 1);
    expect_ids(def, (const uint8_t[]){1}, 1);
    assert_false(table_def_index_by_id(def, 32, &index));
    for (uint32_t i = 2; i < 700; i++) {
        def->version = table_version_next(def->version);
        assert_int_equal(table_version_major(def->version), 7);
        assert_int_equal(table_def_add_index(def, "again", 5, &column, 1), 0);
        table_def_index_renew(def, 1);
        table_def_index(def, 1, &index);
        assert_int_not_equal(index.id, 1);
        if (i < 200) assert_int_equal(index.id, 31 + i);
        assert_int_equal(table_def_check(def), 0);
        table_def_remove_index(def, 1);
        def->heap_used -= 16 + 2 + 6; /* What a decode would do. */
    }
    table_def_remove_index(def, 0);
    assert_int_equal(table_def_add_index(def, "first", 5, &column, 1), 0);
    expect_ids(def, (const uint8_t[]){0}, 1);
    free(def);
}

/* The table that gets a number after another one: no minor version, and never 0. */
static void test_versions(void **state)
{
    (void)state;
    assert_int_equal(table_version_reborn(0), 1);
    assert_int_equal(table_version_reborn(table_version_next(7u)), 8);
    assert_int_equal(table_version_reborn(TABLE_VERSION_MAJOR - 1u), TABLE_VERSION_MAJOR);
    assert_int_equal(table_version_reborn(TABLE_VERSION_MAJOR), 1);
    assert_int_equal(table_version_reborn(table_version_next(TABLE_VERSION_MAJOR)), 1);
    assert_true(table_version_follows(7, 8) && !table_version_follows(7, 9));
    assert_true(table_version_follows(0, 1) && table_version_follows(0, TABLE_VERSION_FIRST_MAX));
    assert_false(table_version_follows(0, 0) ||
                 table_version_follows(0, TABLE_VERSION_FIRST_MAX + 1u));
    uint32_t version = 7;
    for (uint32_t i = 0; i < 256; i++) {
        version = table_version_next(version);
        assert_int_equal(table_version_major(version), 7);
    }
    assert_int_equal(version, 7);
}

/* --- Columns that are renamed and added. --- */

static void test_rename_column(void **state)
{
    struct table_def *def = sample();

    (void)state;
    assert_int_equal(table_def_rename_column(def, 3, "comment", 7), ERR_NONE);
    assert_int_equal(table_def_check(def), ERR_NONE);
    assert_null(table_def_find(def, "note", 4));
    assert_ptr_equal(table_def_find(def, "Comment", 7), &def->columns[3]);
    assert_int_equal(table_def_rename_column(def, 4, "x", 1), ERR_NO_SUCH_COLUMN);
    assert_int_equal(table_def_rename_column(def, 3, "", 0), ERR_COLUMN_NAME_TOO_LONG);
    def->heap_used = def->heap_size - 1;
    assert_int_equal(table_def_rename_column(def, 3, "x", 1), ERR_DEFINITION_TOO_BIG);
    free(def);
}

static void test_added_columns(void **state)
{
    static const uint32_t words[] = {COLUMN_UNSIGNED, 1, COLUMN_NULLABLE | 5u << 8, 0x65646461,
                                     'd'};
    static const uint32_t never[] = {COLUMN_PRIMARY_KEY, COLUMN_AUTO_INCREMENT};
    struct table_def *def = sample();
    uint32_t again[5];
    uint32_t count = def->column_count;

    (void)state;
    for (uint32_t n = 0; n < 5; n++)
        assert_int_equal(table_def_append_column(def, words, n), ERR_TABLE_FORMAT);
    def->column_count = count;
    assert_int_equal(table_def_append_column(def, words, 5), ERR_NONE);
    struct table_column *column = &def->columns[count];
    assert_int_equal(table_column_encode(def, column, again, 4), 0);
    assert_int_equal(table_column_encode(def, column, again, 5), 5);
    assert_memory_equal(words, again, sizeof words);
    column->flags |= COLUMN_ADDED;
    assert_int_equal(table_def_check(def), ERR_NONE);
    for (uint32_t i = 0; i < 2; i++) {
        column->flags = COLUMN_ADDED | COLUMN_NULLABLE | never[i];
        assert_true(table_def_check(def) != ERR_NONE);
    }
    column->flags = COLUMN_ADDED;
    assert_int_equal(table_def_check(def), ERR_COLUMN_FLAGS);
    column->flags = COLUMN_NULLABLE | COLUMN_ADDED;
    assert_int_equal(add(def, "z", (struct column_format)PLAIN(INT), COLUMN_NULLABLE, NULL, 0), 0);
    assert_int_equal(table_def_check(def), ERR_COLUMN_FLAGS); /* It is behind one. */
    column[1].flags |= COLUMN_ADDED;
    assert_int_equal(table_def_check(def), ERR_NONE);
    table_def_settle(def);
    assert_int_equal(column->flags, COLUMN_NULLABLE);
    assert_int_equal(table_def_check(def), ERR_NONE);
    free(def);
}

static void test_balance_names(void **state)
{
    int32_t balance;

    (void)state;
    for (int32_t b = -1; b >= -8; b--) {
        const char *name = table_balance_name(b);
        assert_true(table_balance_find(name, (uint32_t)strlen(name), &balance));
        assert_int_equal(balance, b);
    }
    assert_null(table_balance_name(0));
    assert_null(table_balance_name(-9));
    assert_false(table_balance_find("FOR_RP", 6, &balance));
    assert_string_equal(table_balance_name(TABLE_BALANCE_FOR_RA_BY_LDM_X_4), "FOR_RA_BY_LDM_X_4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),          cmocka_unit_test(test_derived_fields),
        cmocka_unit_test(test_table_of_unique),   cmocka_unit_test(test_refused_uniques),
        cmocka_unit_test(test_round_trip),        cmocka_unit_test(test_largest_definition),
        cmocka_unit_test(test_truncated_words),   cmocka_unit_test(test_flipped_bytes),
        cmocka_unit_test(test_refused_columns),   cmocka_unit_test(test_refused_tables),
        cmocka_unit_test(test_key_columns_limit), cmocka_unit_test(test_small_memory),
        cmocka_unit_test(test_balance_names),     cmocka_unit_test(test_indexes),
        cmocka_unit_test(test_most_indexes),      cmocka_unit_test(test_refused_indexes),
        cmocka_unit_test(test_index_ids),         cmocka_unit_test(test_rename_column),
        cmocka_unit_test(test_added_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
