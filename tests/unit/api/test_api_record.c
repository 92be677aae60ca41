/* test_api_record.c -- rows of the application to the wire and back. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/api_fake.h"
#include "api/ndb/ndb_private.h"
#include "api/ndb/record_state.h"

/* One column of each kind: fixed words, odd size, short and long variable, char, nullable. */
static struct table_def *make_def(void)
{
    size_t size = table_def_size(8, 1024);
    struct table_def *def = table_def_init(malloc(size), size, 8);
    const struct table_column_options columns[] = {
        {.name = "id",
         .format = {.type = COLUMN_BIGUNSIGNED, .length = 1},
         .flags = COLUMN_PRIMARY_KEY},
        {.name = "tag",
         .format = {.type = COLUMN_VARBINARY, .length = 10},
         .flags = COLUMN_PRIMARY_KEY},
        {.name = "small",
         .format = {.type = COLUMN_MEDIUMINT, .length = 1},
         .flags = COLUMN_NULLABLE},
        {.name = "text",
         .format = {.type = COLUMN_LONGVARCHAR, .collation = COLLATION_BINARY, .length = 300},
         .flags = COLUMN_NULLABLE},
        {.name = "fixed",
         .format = {.type = COLUMN_CHAR, .collation = COLLATION_BINARY, .length = 6}},
    };
    assert_int_equal(table_def_set_name(def, "test", 4, "r", 1), 0);
    for (uint32_t i = 0; i < 5; i++) {
        struct table_column_options column = columns[i];
        column.name_size = (uint32_t)strlen(column.name);
        assert_int_equal(table_def_add_column(def, &column), 0);
    }
    assert_int_equal(table_def_check(def), 0);
    def->table_id = 9;
    def->version = 1;
    return def;
}

struct setup {
    struct fake *fake;
    struct ndb ndb;
    struct ndb_table *table;
};

static int open_table(void **state)
{
    struct setup *s = calloc(1, sizeof *s);
    struct table_def *def = make_def();
    struct fake_dict dict = {0};
    uint32_t words[512];
    uint32_t distribution[5] = {1, 1, 1, 1, 0};
    s->fake = fake_create(1);
    assert_int_equal(api_dict_get(s->fake->client, "test/def/r", 1000, fake_dict_done, &dict), 0);
    const uint32_t *request = fake_next(s->fake, GSN_GET_TABINFO_REQ, NULL);
    const uint32_t *sections[2] = {words, distribution};
    uint32_t sizes[2] = {table_def_encode(def, words, 512), 5};
    struct get_tabinfo_conf conf = {
        .sender_data = request[SIGNAL_HEAD_WORDS], .table_id = 9, .version = 1};
    assert_true(fake_answer_to(s->fake, request[2], block_ref(1, BLOCK_DBDICT, 0),
                               GSN_GET_TABINFO_CONF, &conf, 3, 2, sections, sizes));
    assert_int_equal(dict.result.error, 0);
    s->table = (struct ndb_table *)(void *)dict.result.table;
    free(def);
    *state = s;
    return 0;
}

static int close_table(void **state)
{
    struct setup *s = *state;
    ndb_table_release(s->table);
    fake_destroy(s->fake);
    free(s);
    return 0;
}

struct row {
    uint64_t id;
    char tag[11]; /* String. */
    uint8_t small[3];
    uint8_t text[302];
    char fixed[7]; /* String. */
    uint8_t nulls;
};

static const struct ndb_field row_fields[] = {
    NDB_FIELD_STRING(struct row, fixed, "fixed"),
    NDB_FIELD(struct row, id, "ID"), /* Any order, any case. */
    NDB_FIELD_STRING(struct row, tag, "tag"),
    NDB_FIELD_NULL(struct row, small, "small", nulls, 0),
    NDB_FIELD_NULL(struct row, text, "text", nulls, 5),
};

static void round_trip(void **state)
{
    struct setup *s = *state;
    struct ndb_record *record =
        ndb_record_create(&s->ndb, s->table, row_fields, 5, sizeof(struct row));
    assert_non_null(record);
    struct row in = {.id = 0x1122334455667788u, .tag = "ab", .small = {1, 2, 3}, .fixed = "xyz"};
    struct row out = {0};
    uint32_t error = 0;
    uint32_t words[512];
    in.text[0] = 5;
    memcpy(in.text + 2, "hello", 5);
    memset(words, 0xEE, sizeof words);
    assert_int_equal(record_pack_key(record, &in, words, &error), 3);
    assert_memory_equal(words, &in.id, 8);
    assert_memory_equal(words + 2, "\2ab", 4); /* Length, content, zero padding. */
    memset(words, 0xEE, sizeof words);
    uint32_t count = record_pack_values(record, &in, NULL, words, &error);
    assert_int_equal(count, 2 + 3 + 3);
    assert_int_equal(words[0], attr_header(2, 3));
    assert_int_equal(words[1], 0x00030201);
    assert_int_equal(words[2], attr_header(3, 7));
    assert_int_equal(words[5], attr_header(4, 6));
    assert_memory_equal(words + 6, "xyz   \0\0", 8);
    assert_int_equal(record_unpack(record, words, count, &out), 0);
    assert_string_equal(out.fixed, "xyz");
    assert_memory_equal(out.text, in.text, 7);
    assert_memory_equal(out.small, in.small, 3);
    in.nulls = 1u << 5;
    const uint8_t mask[1] = {1u << 3}; /* Only "text", and it is NULL. */
    count = record_pack_values(record, &in, mask, words, &error);
    assert_int_equal(count, 1);
    assert_int_equal(words[0], attr_header(3, 0));
    assert_int_equal(record_unpack(record, words, count, &out), 0);
    assert_int_equal(out.nulls, 1u << 5);
    assert_int_equal(record_pack_read(record, NULL, words), 1);
    assert_int_equal(words[0], attr_header(ATTR_READ_ALL, 0));
    assert_int_equal(record_pack_read(record, mask, words), 1);
    assert_int_equal(words[0], attr_header(3, 0));
    ndb_record_release(record);
}

static void bad_records(void **state)
{
    struct setup *s = *state;
    struct ndb_field field = {.column = "nix", .null_offset = NDB_NOT_NULLABLE};
    assert_null(ndb_record_create(&s->ndb, s->table, &field, 1, 100));
    assert_int_equal(ndb_error(&s->ndb)->code, ERR_NO_SUCH_COLUMN);
    assert_string_equal(ndb_error(&s->ndb)->detail, "table test.r, column nix");
    field = (struct ndb_field){.column = "id", .size = 4, .null_offset = NDB_NOT_NULLABLE};
    assert_null(ndb_record_create(&s->ndb, s->table, &field, 1, 100));
    assert_int_equal(ndb_error(&s->ndb)->code, ERR_MEMBER_TYPE);
    field = (struct ndb_field){.column = "id", .offset = 95, .null_offset = NDB_NOT_NULLABLE};
    assert_null(ndb_record_create(&s->ndb, s->table, &field, 1, 100));
    assert_int_equal(ndb_error(&s->ndb)->code, ERR_RECORD_4291);
    field = (struct ndb_field){.column = "small", .null_offset = 100};
    assert_null(ndb_record_create(&s->ndb, s->table, &field, 1, 100));
    const struct ndb_field shared[2] = {
        {.column = "id", .offset = 4, .null_offset = NDB_NOT_NULLABLE},
        {.column = "small", .offset = 11, .null_offset = NDB_NOT_NULLABLE}};
    assert_null(ndb_record_create(&s->ndb, s->table, shared, 2, 100));
    assert_int_equal(ndb_error(&s->ndb)->code, ERR_RECORD_4291);
    assert_string_equal(ndb_error(&s->ndb)->detail,
                        "table test.r, column small shares bytes of the row with column id");
    const struct ndb_field text = NDB_FIELD(struct row, fixed, "id");
    assert_null(ndb_record_create(&s->ndb, s->table, &text, 1, sizeof(struct row)));
    assert_int_equal(ndb_error(&s->ndb)->code, ERR_MEMBER_TYPE);
    assert_int_equal(ndb_error(&s->ndb)->status, NDB_STATUS_PERMANENT);
    assert_string_equal(ndb_error(&s->ndb)->detail,
                        "table test.r, column id is BIGINT UNSIGNED (8 bytes, unsigned): the "
                        "member is a char[7]; use uint64_t");
    struct ndb_field twice[2] = {{.column = "id", .null_offset = NDB_NOT_NULLABLE},
                                 {.column_id = 0, .offset = 8, .null_offset = NDB_NOT_NULLABLE}};
    assert_null(ndb_record_create(&s->ndb, s->table, twice, 2, 100));
    assert_int_equal(ndb_error(&s->ndb)->code, ERR_RECORD_4289);
    struct ndb_record *part = ndb_record_create(&s->ndb, s->table, twice, 1, 100);
    uint32_t words[64];
    uint32_t error = 0;
    struct row row = {0};
    assert_int_equal(record_pack_key(part, &row, words, &error), 0);
    assert_int_equal(error, ERR_RECORD_NOT_KEY);
    ndb_record_release(part);
}

/* Whatever comes: an error, and nothing outside the row is written. */
static void hostile_rows(void **state)
{
    struct setup *s = *state;
    struct ndb_record *record =
        ndb_record_create(&s->ndb, s->table, row_fields, 5, sizeof(struct row));
    struct row *row = malloc(sizeof *row); /* Exactly, so that a sanitizer sees a byte too many. */
    memset(row, 0, sizeof *row);
    const uint32_t unknown[1] = {attr_header(TABLE_COLUMNS_MAX, 0)};
    assert_int_equal(record_unpack(record, unknown, 1, row), ERR_REPLY_4213);
    const uint32_t added_since[2] = {attr_header(77, 4), 1}; /* The table was opened before. */
    assert_int_equal(record_unpack(record, added_since, 2, row), 0);
    assert_int_equal(record_unpack(record, added_since, 1, row), ERR_REPLY_4215);
    const uint32_t cut[1] = {attr_header(0, 8)};
    assert_int_equal(record_unpack(record, cut, 1, row), ERR_REPLY_4215);
    const uint32_t wrong_size[2] = {attr_header(0, 4), 1};
    assert_int_equal(record_unpack(record, wrong_size, 2, row), ERR_REPLY_4212);
    const uint32_t wrong_prefix[2] = {attr_header(1, 3), 0x00000009};
    assert_int_equal(record_unpack(record, wrong_prefix, 2, row), ERR_REPLY_4212);
    const uint32_t null_key[1] = {attr_header(0, 0)};
    assert_int_equal(record_unpack(record, null_key, 1, row), ERR_NULL_TO_NOT_NULL);
    uint32_t seed = 1;
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t words[16];
        for (uint32_t k = 0; k < 16; k++) {
            seed = seed * 1664525u + 1013904223u;
            words[k] = k % 3 == 0 ? (seed >> 8 & 7u) << 16 | (seed >> 16 & 15u) : seed;
        }
        uint32_t *exact = malloc((i % 16u) * 4u + 1u);
        memcpy(exact, words, (i % 16u) * 4u);
        record_unpack(record, exact, i % 16u, row);
        free(exact);
    }
    free(row);
    ndb_record_release(record);
}

static void rows_by_column(void **state)
{
    struct setup *s = *state;
    struct ndb_record *record = ndb_record_create_default(&s->ndb, s->table);
    uint8_t *row = calloc(1, ndb_record_row_size(record));
    const void *value = NULL;
    uint32_t size = 0;
    assert_int_equal(ndb_row_parse(record, row, 0, "123", 3), 0);
    assert_int_equal(ndb_row_parse(record, row, 2, "-5", 2), 0);
    assert_int_equal(ndb_row_get(record, row, 2, &value, &size), 0);
    assert_int_equal(size, 3);
    assert_int_equal(((const uint8_t *)value)[0], 0xFB);
    assert_int_equal(ndb_row_set(record, row, 2, NULL, 0), 0);
    assert_int_equal(ndb_row_get(record, row, 2, &value, &size), 0);
    assert_null(value);
    assert_int_equal(ndb_row_set(record, row, 0, NULL, 0), ERR_NULL_TO_NOT_NULL);
    assert_int_equal(ndb_row_parse(record, row, 2, "99999999", 8), ERR_VALUE_OUT_OF_RANGE);
    assert_int_equal(ndb_row_set(record, row, 1, "\5abc", 4), ERR_VALUE_LENGTH);
    assert_int_equal(ndb_row_set(record, row, 9, "x", 1), ERR_NO_SUCH_COLUMN);
    free(row);
    ndb_record_release(record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(round_trip, open_table, close_table),
        cmocka_unit_test_setup_teardown(bad_records, open_table, close_table),
        cmocka_unit_test_setup_teardown(hostile_rows, open_table, close_table),
        cmocka_unit_test_setup_teardown(rows_by_column, open_table, close_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
