/* test_api_blame.c -- errors about columns name the table and the column. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include "tests/unit/support/api_fake.h"
#include "api/ndb/ndb_blame.h"
#include "api/sql/sql_create.h"
#include "tests/unit/support/program_builder.h"

struct setup {
    struct fake *fake;
    struct ndb_cluster_connection connection;
    struct ndb ndb;
    struct table_def *def;
    struct ndb_table *table;
    struct ndb_record *record; /* All columns. */
    struct ndb_transaction *t;
};

struct row {
    int32_t id;
    int32_t part;
    int32_t u;
    int32_t needed;
    int32_t given;
    uint8_t nulls;
    char text[21];
};

static const struct ndb_field fields[] = {
    NDB_FIELD(struct row, id, "id"),
    NDB_FIELD(struct row, part, "part"),
    NDB_FIELD_NULL(struct row, u, "u", nulls, 0),
    NDB_FIELD(struct row, needed, "needed"),
    NDB_FIELD(struct row, given, "given"),
    NDB_FIELD_STRING_NULL(struct row, text, "text", nulls, 1),
};

static struct ndb_record *record_of(struct setup *s, uint32_t first, uint32_t count)
{
    struct ndb_record *record =
        ndb_record_create(&s->ndb, s->table, fields + first, count, sizeof(struct row));
    assert_non_null(record);
    return record;
}

static int begin(void **state)
{
    static const char sql[] =
        "create table t (id int, part int, u int unique, needed int not null, given int not null "
        "default 5, text varchar(3), primary key (id, part))";
    const struct sql_create_input input = {
        .text = sql, .text_size = sizeof sql - 1, .database = "d"};
    struct sql_create_result result;
    struct sql_create_error error;
    struct setup *s = calloc(1, sizeof *s);
    void *memory = malloc(table_def_size_max());
    assert_int_equal(sql_create_parse(&input, memory, table_def_size_max(), &result, &error), 0);
    s->def = result.def;
    s->table = builder_table(s->def);
    s->fake = fake_create(1);
    s->connection.polling = true;
    s->ndb.connection = &s->connection;
    s->ndb.client = s->fake->client;
    s->record = record_of(s, 0, 6);
    s->t = ndb_transaction_start(&s->ndb);
    assert_non_null(s->t);
    *state = s;
    return 0;
}

static int end(void **state)
{
    struct setup *s = *state;
    ndb_transaction_close(s->t);
    transactions_drop(&s->ndb);
    ndb_record_release(s->record);
    fake_destroy(s->fake);
    builder_table_free(s->table);
    free(s->def);
    free(s);
    return 0;
}

static void says(const ndb_error_t *error, int32_t code, const char *detail)
{
    assert_int_equal(error->code, code);
    assert_string_equal(error->detail, detail);
}

/* The transaction has this error; the next one begins. */
static void refused(struct setup *s, const struct ndb_operation *operation, int32_t code,
                    const char *detail)
{
    assert_null(operation);
    says(ndb_transaction_error(s->t), code, detail);
    ndb_transaction_close(s->t);
    s->t = ndb_transaction_start(&s->ndb);
}

static void missing_records(void **state)
{
    struct setup *s = *state;
    struct row row = {0};
    assert_int_equal(ndb_read_row(&s->ndb, NULL, &row, 0), -1);
    says(ndb_error(&s->ndb), ERR_RECORD_NULL, "no record");
    assert_int_equal(ndb_read_row(&s->ndb, s->record, NULL, 0), -1);
    says(ndb_error(&s->ndb), ERR_RECORD_NULL, "table d.t: no row or record");
    refused(s, ndb_insert(s->t, NULL, &row, NULL), ERR_RECORD_NULL, "no key record or row");
    refused(s, ndb_read(s->t, NULL, &row, s->record, &row, NULL), ERR_RECORD_NULL,
            "table d.t: no row or record");
    refused(s, ndb_update(s->t, s->record, &row, NULL, NULL, NULL), ERR_RECORD_NULL,
            "table d.t: no row or record");
}

static void missing_keys(void **state)
{
    struct setup *s = *state;
    struct row row = {0};
    struct ndb_record *part = record_of(s, 0, 1);
    struct ndb_record *unique =
        ndb_record_create_unique(&s->ndb, s->table, 0, fields, 6, sizeof(struct row));
    assert_non_null(unique);
    refused(s, ndb_insert(s->t, part, &row, NULL), ERR_RECORD_NOT_KEY,
            "table d.t, column part: it is of the key, and the record has not got it");
    refused(s, ndb_write(s->t, unique, &row, NULL), ERR_RECORD_NOT_KEY,
            "table d.t: this needs a record by primary key");
    assert_null(ndb_record_create_unique(&s->ndb, s->table, 0, fields, 2, sizeof(struct row)));
    says(ndb_error(&s->ndb), ERR_RECORD_NOT_KEY,
         "table d.t, column u: it is of the key, and the record has not got it");
    assert_null(ndb_record_create_unique(&s->ndb, s->table, 1, fields, 6, sizeof(struct row)));
    says(ndb_error(&s->ndb), ERR_INDEX_MISSING, "table d.t: unique index number 1");
    row.nulls = 1;
    refused(s, ndb_read(s->t, unique, &row, unique, &row, NULL), ERR_NULL_TO_NOT_NULL,
            "table d.t, column u");
    ndb_record_release(unique);
    ndb_record_release(part);
}

static void values_that_do_not_fit(void **state)
{
    struct setup *s = *state;
    struct row row = {.text = "thirteen bytes"};
    refused(s, ndb_insert(s->t, s->record, &row, NULL), ERR_VALUE_TOO_LONG,
            "table d.t, column text");
    row.nulls = 2; /* Whatever stands there. */
    assert_non_null(ndb_insert(s->t, s->record, &row, NULL));
}

/* Where more than one column may be meant none is named. */
static void columns_that_may_be_meant(void **state)
{
    static const struct ndb_field bare[] = {
        NDB_FIELD(struct row, id, "id"),
        NDB_FIELD(struct row, part, "part"),
        NDB_FIELD(struct row, u, "u"),
        NDB_FIELD_STRING(struct row, text, "text"),
    };
    struct setup *s = *state;
    struct row row = {.text = "thirteen bytes"};
    for (uint32_t count = 3; count <= 4; count++) {
        struct ndb_record *record =
            ndb_record_create(&s->ndb, s->table, bare, count, sizeof(struct row));
        assert_non_null(record);
        blame_record(&s->ndb.error, ERR_NULL_TO_NOT_NULL, record, NULL, false);
        says(ndb_error(&s->ndb), ERR_NULL_TO_NOT_NULL,
             count == 3 ? "table d.t, column u" : "table d.t");
        ndb_record_release(record);
    }
    row.text[0] = '\xff'; /* Not UTF-8, which a data node finds. */
    row.text[1] = '\0';
    blame_record(&s->ndb.error, ERR_VALUE_INVALID, s->record, &row, true);
    says(ndb_error(&s->ndb), ERR_VALUE_INVALID, "table d.t, column text");
    strcpy(row.text, "thirteen bytes");
    blame_record(&s->ndb.error, ERR_VALUE_TOO_LONG, s->record, &row, true);
    says(ndb_error(&s->ndb), ERR_VALUE_TOO_LONG, "table d.t, column text");
}

static void by_column(void **state)
{
    struct setup *s = *state;
    static const int32_t one = 1;
    struct ndb_operation *o = ndb_operation_define(s->t, s->table, NDB_INSERT, NULL);
    assert_int_equal(ndb_operation_set(o, 77, &one, 4), -1);
    says(ndb_operation_error(o), ERR_NO_SUCH_COLUMN, "table d.t, column number 77");
    says(&o->error.error, ERR_NO_SUCH_COLUMN, "table d.t, column number 77");
    assert_int_equal(ndb_operation_set_by_name(o, "nix", &one, 4), -1);
    says(&o->error.error, ERR_NO_SUCH_COLUMN, "table d.t, column nix");
    assert_int_equal(ndb_operation_set_by_name(o, "needed", NULL, 0), -1);
    says(&o->error.error, ERR_NULL_TO_NOT_NULL, "table d.t, column needed");
    assert_int_equal(ndb_operation_set_by_name(o, "needed", &one, 3), -1);
    says(&o->error.error, ERR_VALUE_LENGTH, "table d.t, column needed");
    ndb_transaction_close(s->t);
    s->t = ndb_transaction_start(&s->ndb);
    o = ndb_operation_define(s->t, s->table, NDB_INSERT, NULL);
    assert_int_equal(ndb_operation_set_by_name(o, "id", &one, 4), 0);
    assert_non_null(ndb_operation_define(s->t, s->table, NDB_INSERT, NULL)); /* Ends the first. */
    says(ndb_operation_error(o), ERR_KEY_MISSING,
         "table d.t, column part: it is of the key, and is not set");
    says(ndb_transaction_error(s->t), ERR_KEY_MISSING,
         "table d.t, column part: it is of the key, and is not set");
}

/* What the data nodes refuse without saying which column it is. */
static void needed_columns(void **state)
{
    struct setup *s = *state;
    struct error_slot slot;
    struct ndb_record *some = record_of(s, 0, 3);
    error_set(&slot, ERR_NULL_FOR_NOT_NULL, NULL);
    blame_record(&slot, ERR_NULL_FOR_NOT_NULL, some, NULL, true);
    says(&slot.error, ERR_NULL_FOR_NOT_NULL,
         "table d.t, column needed: it has no default, and the record has not got it");
    blame_record(&slot, ERR_NULL_FOR_NOT_NULL, s->record, NULL, true);
    says(&slot.error, ERR_NULL_FOR_NOT_NULL, "table d.t");
    error_set(&slot, ERR_ROW_NOT_FOUND, NULL);
    blame_record(&slot, ERR_ROW_NOT_FOUND, some, NULL, true);
    says(&slot.error, ERR_ROW_NOT_FOUND, "");
    struct ndb_operation *o = ndb_operation_define(s->t, s->table, NDB_INSERT, NULL);
    error_set(&slot, ERR_NULL_FOR_NOT_NULL, NULL);
    blame_columns(&slot, ERR_NULL_FOR_NOT_NULL, o);
    says(&slot.error, ERR_NULL_FOR_NOT_NULL,
         "table d.t, column id: it has no default, and is not set");
    ndb_record_release(some);
}

static void the_version_as_number_and_as_text(void **unused)
{
    uint32_t version = ndb_version();
    char text[32];

    (void)unused;
    snprintf(text, sizeof text, "%u.%u.%u", version >> 16, version >> 8 & 255u, version & 255u);
    assert_string_equal(ndb_version_string(), text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_version_as_number_and_as_text),
        cmocka_unit_test_setup_teardown(missing_records, begin, end),
        cmocka_unit_test_setup_teardown(missing_keys, begin, end),
        cmocka_unit_test_setup_teardown(values_that_do_not_fit, begin, end),
        cmocka_unit_test_setup_teardown(columns_that_may_be_meant, begin, end),
        cmocka_unit_test_setup_teardown(by_column, begin, end),
        cmocka_unit_test_setup_teardown(needed_columns, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
