/* test_sql_create.c -- CREATE TABLE statements, good and bad. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "api/sql/sql_create.h"
#include "api/sql/sql_alter.h"
#include "api/sql/sql_index.h"
#include "values/errors.h"
#include "values/table_index.h"

static struct sql_create_result result;
static struct sql_create_error error;

/* The text stands in a block of exactly its size: a sanitizer sees any step beyond. */
static uint32_t parse(const char *text, void *memory)
{
    size_t size = strlen(text);
    char *copy = malloc(size > 0 ? size : 1);
    memcpy(copy, text, size);
    const struct sql_create_input input = {.text = copy, .text_size = size, .database = "TEST_DB"};
    uint32_t code = sql_create_parse(&input, memory, table_def_size_max(), &result, &error);
    free(copy);
    return code;
}

static struct table_def *good(const char *text)
{
    void *memory = malloc(table_def_size_max());

    if (parse(text, memory) != ERR_NONE) print_message("%s\n", error.text);
    assert_int_equal(error.code, ERR_NONE);
    assert_non_null(result.def);
    return result.def;
}

static void bad(const char *text, uint32_t code, const char *part)
{
    void *memory = malloc(table_def_size_max());

    uint32_t got = parse(text, memory);
    if (got != code || strstr(error.text, part) == NULL)
        print_message("%s\n -> %u %s\n", text, error.code, error.text);
    assert_int_equal(got, code);
    assert_null(result.def);
    assert_non_null(strstr(error.text, part));
    free(memory);
}

static void test_whole_statement(void **state)
{
    uint32_t size;

    (void)state;
    struct table_def *def = good(
        "-- a comment\n# another\n/* and a\nthird */\n"
        "create table if not exists `shop`.\"or``ders\" (\n"
        "  id BIGINT UNSIGNED NOT NULL,\n"
        "  `customer` varchar(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin not null,\n"
        "  name varchar(64) DEFAULT 'O''Hara\\n',\n"
        "  amount decimal(12,2) default -1.5 COMMENT 'money',\n"
        "  flag bool default true, bits bit(3) default b'101', raw binary(4) default x'0102',\n"
        "  at datetime(3) NULL DEFAULT '2024-01-02 03:04:05.678',\n"
        "  PRIMARY KEY USING HASH (`customer`, id)\n"
        ") ENGINE=ndbcluster DEFAULT CHARSET=utf8mb4 COLLATE = utf8mb4_general_ci MAX_ROWS=1000\n"
        "  AUTO_INCREMENT=18446744073709551615\n"
        "  COMMENT='NDB_TABLE=READ_BACKUP=0,FULLY_REPLICATED=1'\n"
        "  PARTITION BY KEY (id) PARTITIONS 8; trailing");
    assert_true(result.if_not_exists);
    assert_string_equal(def->database, "shop");
    assert_string_equal(def->table, "or``ders");
    assert_int_equal(def->column_count, 8);
    assert_int_equal(def->key_count, 2);
    assert_int_equal(def->partition_key_count, 1);
    assert_int_equal(def->fragment_count, 8);
    assert_int_equal(def->balance, TABLE_BALANCE_SPECIFIC);
    assert_int_equal(def->max_rows, 1000);
    assert_int_equal(result.first_number, UINT64_MAX);
    assert_int_equal(def->flags & (TABLE_READ_BACKUP | TABLE_FULLY_REPLICATED),
                     TABLE_FULLY_REPLICATED);
    assert_int_equal(def->columns[0].format.type, COLUMN_BIGUNSIGNED);
    assert_int_equal(def->columns[1].format.type, COLUMN_VARCHAR);
    assert_int_equal(def->columns[1].format.length, 252);
    assert_int_equal(def->columns[1].format.collation, COLLATION_UTF8MB4_BIN);
    assert_int_equal(def->columns[2].format.type, COLUMN_LONGVARCHAR);
    assert_int_equal(def->columns[2].format.collation, COLLATION_UTF8MB4_GENERAL_CI);
    assert_memory_equal(table_column_default(def, &def->columns[2], &size), "\7\0O'Hara\n", 9);
    assert_int_equal(size, 9);
    assert_memory_equal(table_column_default(def, &def->columns[4], &size), "\1", 1);
    assert_memory_equal(table_column_default(def, &def->columns[5], &size), "\5\0\0\0", 4);
    assert_memory_equal(table_column_default(def, &def->columns[6], &size), "\1\2\0\0", 4);
    assert_int_equal(def->columns[7].format.precision, 3);
    assert_int_equal(def->columns[0].flags & COLUMN_NULLABLE, 0);
    assert_int_equal(def->columns[7].flags, COLUMN_NULLABLE | COLUMN_HAS_DEFAULT);
    free(def);
}

/* Indexes in every spelling, before the columns too. */
static void test_indexes(void **state)
{
    struct table_index index;

    (void)state;
    struct table_def *def =
        good("create table t (index (b), a int primary key, b int, c varchar(10),"
             " KEY `by c` USING BTREE (c asc, A), index Two (b, c) using btree)");
    assert_int_equal(def->index_count, 3);
    assert_true(table_def_index(def, 0, &index));
    assert_string_equal(index.name, "b");
    assert_int_equal(index.column_count, 1);
    assert_int_equal(index.columns[0], 1);
    assert_true(table_def_index(def, 1, &index));
    assert_string_equal(index.name, "by c");
    assert_int_equal(index.column_count, 2);
    assert_int_equal(index.columns[0], 2);
    assert_int_equal(index.columns[1], 0);
    assert_true(table_def_index(def, 2, &index));
    assert_string_equal(index.name, "Two");
    free(def);
    bad("create table t (a int primary key, index i (b))", ERR_NO_SUCH_COLUMN, "at 'b'");
    bad("create table t (a int primary key, index i (a, A))", ERR_INDEX_COLUMN_TWICE, "at 'i'");
    bad("create table t (a int primary key, index i (a), key I (a))", ERR_INDEX_EXISTS, "at 'I'");
    bad("create table t (a int primary key, b bit(3), key (b))", ERR_INDEX_TYPE, "at 'b'");
    bad("create table t (a int primary key, index i ())", ERR_BAD_REQUEST, "column name");
    bad("create table t (a int primary key, index i (a)", ERR_BAD_REQUEST, "the end");
    bad("create table t (a int primary key, index i using hash (a))", ERR_BAD_REQUEST, "BTREE");
    bad("create table t (a int primary key, index i (a desc))", ERR_BAD_REQUEST, "at 'desc'");
    bad("create table t (a int primary key, check (a))", ERR_NOT_IMPLEMENTED, "no other keys");
}

/* Unique ones have numbers of their own. */
static void test_unique(void **state)
{
    static const struct {
        const char *name;
        uint32_t columns;
        uint32_t first;
    } wanted[] = {{"b", 1, 1}, {"by c", 2, 2}, {"Two", 1, 2}, {"c", 1, 2}, {"named", 1, 0}};
    struct table_index index;

    (void)state;
    struct table_def *def =
        good("create table t (a int primary key, b int unique, c varchar(10) UNIQUE KEY,"
             " Unique `by c` using hash (c, A), unique index Two (c) USING HASH,"
             " constraint named unique (a), index i (b))");
    assert_int_equal(def->index_count, 1);
    assert_int_equal(def->unique_count, 5);
    uint32_t number;
    for (uint32_t i = 0; i < 5; i++) {
        assert_true(
            table_def_unique_find(def, wanted[i].name, (uint32_t)strlen(wanted[i].name), &number));
        assert_true(table_def_unique(def, number, &index));
        assert_int_equal(index.column_count, wanted[i].columns);
        assert_int_equal(index.columns[0], wanted[i].first);
        assert_int_equal(index.table_id, 0);
    }
    free(def);
    bad("create table t (a int primary key, b int unique, key b (a))", ERR_INDEX_EXISTS, "at 'b'");
    bad("create table t (a int primary key, b int unique, unique (b))", ERR_INDEX_EXISTS, "at 'b'");
    bad("create table t (a int primary key, unique (b))", ERR_NO_SUCH_COLUMN, "at 'b'");
    bad("create table t (a int primary key, b bit(3) unique)", ERR_INDEX_TYPE, "at 'b'");
    bad("create table t (a int primary key, unique i using btree (a))", ERR_BAD_REQUEST, "HASH");
    bad("create table t (a int primary key, unique)", ERR_BAD_REQUEST, "at ')'");
    bad("create table t (a int primary key, constraint x check (a))", ERR_BAD_REQUEST, "UNIQUE");
}

static void test_type_spellings(void **state)
{
    static const struct {
        const char *sql;
        const char *type;
    } cases[] = {
        {"tinyint(1)", "Tinyint"},
        {"TINYINT UNSIGNED", "Tinyunsigned"},
        {"smallint", "Smallint"},
        {"smallint unsigned", "Smallunsigned"},
        {"mediumint", "Mediumint"},
        {"mediumint(9) unsigned", "Mediumunsigned"},
        {"INTEGER", "Int"},
        {"int(11) unsigned", "Unsigned"},
        {"bigint signed", "Bigint"},
        {"float", "Float"},
        {"float(24)", "Float"},
        {"float(25)", "Double"},
        {"double precision", "Double"},
        {"real", "Double"},
        {"decimal", "Decimal(10,0)"},
        {"numeric(5)", "Decimal(5,0)"},
        {"dec(65,30) unsigned", "Decimalunsigned(65,30)"},
        {"char", "Char(1;utf8mb4_general_ci)"},
        {"character(3)", "Char(3;utf8mb4_general_ci)"},
        {"character varying(10)", "Varchar(10;utf8mb4_general_ci)"},
        {"varchar(255) charset binary", "Varchar(255;binary)"},
        {"varchar(256) collate binary", "Longvarchar(256;binary)"},
        {"binary", "Binary(1)"},
        {"varbinary(255)", "Varbinary(255)"},
        {"varbinary(256)", "Longvarbinary(256)"},
        {"bit", "Bit(1)"},
        {"bit(64)", "Bit(64)"},
        {"date", "Date"},
        {"year(4)", "Year"},
        {"time", "Time2(0)"},
        {"time(6)", "Time2(6)"},
        {"datetime", "Datetime2(0)"},
        {"timestamp(3)", "Timestamp2(3)"},
    };
    char text[200], type[80];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(text, sizeof(text), "create table t (k int primary key, c %s)", cases[i].sql);
        struct table_def *def = good(text);
        column_format_print(&def->columns[1].format, type, sizeof(type));
        assert_string_equal(type, cases[i].type);
        free(def);
    }
}

static void test_details(void **state)
{
    struct table_def *def;

    (void)state;
    def = good("CREATE TABLE t (a INT PRIMARY KEY) COMMENT 'x NDB_TABLE=PARTITION_BALANCE="
               "FOR_RA_BY_LDM y', PARTITION BY KEY ()");
    assert_string_equal(def->database, "TEST_DB");
    assert_int_equal(def->balance, TABLE_BALANCE_FOR_RA_BY_LDM);
    assert_int_equal(def->partition_key_count, 1);
    assert_int_equal(def->flags, TABLE_FLAGS_DEFAULT);
    free(def);
    def = good("create table t (a char(2), b char(2), primary key (b)) collate utf8mb4_bin");
    assert_int_equal(def->key_columns[0], 1);
    assert_int_equal(def->columns[0].format.collation, COLLATION_UTF8MB4_BIN);
    free(def);
    const char *two = "create table a (k int primary key); create table b (k int primary key);\n--";
    free(good(two));
    assert_int_equal(result.consumed, 35);
    free(good(two + 35));
    assert_true(sql_create_at_end(two + 35 + result.consumed, strlen(two) - 35 - result.consumed));
    assert_false(sql_create_at_end(" x", 2));
}

static void test_errors(void **state)
{
    (void)state;
    bad("", ERR_BAD_REQUEST, "at the end: expected CREATE");
    assert_int_equal(error.line, 1);
    assert_int_equal(error.column, 1);
    bad("drop table t", ERR_BAD_REQUEST, "at 'drop': expected CREATE");
    bad("create table t (\n  a int,\n  b itn)", ERR_BAD_REQUEST,
        "at 'itn': expected a column type");
    assert_int_equal(error.line, 3);
    assert_int_equal(error.column, 5);
    bad("create table t (a int)", ERR_PRIMARY_KEY_MISSING, "add PRIMARY KEY");
    bad("create table t (a int primary key", ERR_BAD_REQUEST, "at the end: expected ',' or ')'");
    bad("create table t (a int primary key, primary key (a))", ERR_KEY_BAD, "one primary key");
    bad("create table t (a int, primary key (b))", ERR_NO_SUCH_COLUMN, "at 'b'");
    bad("create table t (a int, primary key (a, A))", ERR_KEY_TWICE, "at 'A'");
    bad("create table t (a int, a int, primary key (a))", ERR_COLUMN_REPEATED, "at 'a'");
    bad("create table t (a int null primary key)", ERR_KEY_NULLABLE, "at 'a'");
    bad("create table t (a int default 1 primary key)", ERR_KEY_DEFAULT, "default");
    bad("create table t (a int primary key, b blob)", ERR_COLUMN_TYPE_UNSUPPORTED, "'blob'");
    bad("create table t (a int primary key, b int default 'x')", ERR_VALUE_INVALID, "''x''");
    bad("create table t (a int primary key, b tinyint default 128)", ERR_VALUE_OUT_OF_RANGE,
        "at '128'");
    bad("create table t (a int primary key, b int not null default null)", ERR_NULL_FOR_NOT_NULL,
        "NOT NULL");
    bad("create table t (a int primary key, b date unsigned)", ERR_BAD_REQUEST, "UNSIGNED");
    bad("create table t (a int primary key, b int collate binary)", ERR_COLLATION_ON_NUMBER,
        "only char types");
    bad("create table t (a int primary key, b char(2) collate latin1)", ERR_CHARSET_UNSUPPORTED,
        "at 'latin1': expected collation");
    bad("create table t (a int primary key, b varchar)", ERR_BAD_REQUEST, "a length");
    bad("create table t (a int primary key, b varchar(0))", ERR_COLUMN_ARRAY_SIZE, "at 'b'");
    bad("create table t (a int primary key, b varchar(7501))", ERR_COLUMN_TOO_BIG, "at 'b'");
    bad("create table t (a int primary key, b time(7))", ERR_BAD_REQUEST, "up to 6");
    bad("create table t (a int primary key, b decimal(5,6))", ERR_COLUMN_SCALE, "at 'b'");
    bad("create table t (a int primary key) engine=innodb", ERR_BAD_REQUEST, "expected NDB");
    bad("create table t (a int primary key) foo", ERR_BAD_REQUEST, "at 'foo': expected a table");
    bad("create table t (a int primary key) comment 'NDB_TABLE=X=1'", ERR_TABLE_FLAGS,
        "NDB_TABLE knows");
    bad("create table t (a int primary key) comment 'NDB_TABLE=READ_BACKUP=2'", ERR_TABLE_FLAGS,
        "0 or 1");
    bad("create table t (a int primary key) comment 'NDB_TABLE=READ_BACKUP'", ERR_TABLE_FLAGS,
        "0 or 1");
    bad("create table t (a int primary key, b int) partition by key (b)",
        ERR_PARTITION_KEY_NOT_IN_KEY, "at 'b'");
    bad("create table t (a int primary key) partition by key () partitions 0", ERR_FRAGMENT_COUNT,
        "at least one");
    bad("create table t (a int primary key, foreign key (a))", ERR_NOT_IMPLEMENTED, "at 'foreign'");
    bad("create table t (a int primary key generated)", ERR_NOT_IMPLEMENTED, "property");
    bad("create table t (a int auto_increment primary key, b int auto_increment)",
        ERR_AUTO_INCREMENT_ONE, "at 'b'");
    bad("create table t (a int primary key) auto_increment=-1", ERR_BAD_REQUEST, "a whole number");
    bad("create table t (a int primary key, b float auto_increment)", ERR_COLUMN_INCREMENT,
        "at 'b'");
    bad("create table t (a int primary key, b int auto_increment default 7)", ERR_BAD_REQUEST,
        "at '7'");
    bad("create table `t (a int)", ERR_BAD_REQUEST, "name without closing quote");
    bad("create table t (a int) /* x", ERR_BAD_REQUEST, "comment without end");
    bad("create table t (a int default 'x", ERR_BAD_REQUEST, "string without end");
    bad("create table t (a int default b'12')", ERR_BAD_REQUEST, "bit literal");
    bad("create table t (a int default 12ab)", ERR_BAD_REQUEST, "number with letters");
    bad("create table `` (a int)", ERR_BAD_REQUEST, "cannot be empty");
    bad("create table \x01", ERR_BAD_REQUEST, "control character");
    bad("create table t (a char(1) default '\xFF', k int primary key)", ERR_STRING_INVALID,
        "bad default");
}

static void test_limits(void **state)
{
    char *text = malloc(40000);
    char name[140];
    size_t at = 0;

    (void)state;
    memset(name, 'n', sizeof(name));
    name[129] = 0;
    snprintf(text, 40000, "create table t (%s int primary key)", name);
    bad(text, ERR_COLUMN_NAME_TOO_LONG, "at 'nnn");
    assert_int_equal(error.column, 17);
    snprintf(text, 40000, "create table %s (a int primary key)", name);
    bad(text, ERR_TABLE_NAME_TOO_LONG, "at 'nnn");
    assert_int_equal(error.column, 14);
    at += (size_t)snprintf(text, 40000, "create table t (k int primary key");
    for (int i = 1; i < 512; i++)
        at += (size_t)snprintf(text + at, 40000 - at, ",c%d int", i);
    text[at] = ')';
    text[at + 1] = 0;
    struct table_def *def = good(text);
    assert_int_equal(def->column_count, 512);
    free(def);
    snprintf(text + at, 40000 - at, ",c512 int)");
    bad(text, ERR_TOO_MANY_COLUMNS, "at 'c512'");
    free(text);
}

/* Every beginning of a statement gives an error and nothing worse. */
static void test_every_prefix(void **state)
{
    static const char whole[] =
        "create table if not exists `a`.\"b\" (k varchar(3) collate utf8mb4_bin not null default "
        "'\\'' , x decimal(3,1) default -1.5e, y bit default b'1', primary key (k)) comment "
        "'NDB_TABLE=READ_BACKUP=1' partition by key (k) partitions 4 -- e";
    char *text = strdup(whole);
    void *memory = malloc(table_def_size_max());

    (void)state;
    for (size_t size = sizeof(whole) - 1; size > 0; size--) {
        text[size] = 0;
        parse(text, memory);
        assert_int_equal(result.def == NULL, error.code != ERR_NONE);
        for (int c = 1; c < 256; c += 7) {
            char before = text[size - 1];
            text[size - 1] = (char)c;
            parse(text, memory);
            text[size - 1] = before;
        }
    }
    free(memory);
    free(text);
}

/* --- CREATE INDEX. --- */

static void index_refused(const char *text, uint32_t code, uint32_t column, const char *what)
{
    struct sql_index index;
    struct sql_create_error wrong;

    assert_int_equal(sql_index_parse(text, strlen(text), &index, &wrong), code);
    assert_int_equal(wrong.code, code);
    assert_int_equal(wrong.line, 1);
    assert_int_equal(wrong.column, column);
    assert_non_null(strstr(wrong.text, what));
}

static void test_create_index(void **state)
{
    static const char *const texts[] = {"CREATE INDEX i ON t (a, b)",
                                        "create index i using btree on t(a asc,b asc) using btree;",
                                        "CREATE INDEX `i` ON `t` (`a`, \"b\") ; -- behind it"};
    struct sql_index index;
    struct sql_create_error wrong;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(sql_index_parse(texts[i], strlen(texts[i]), &index, &wrong), 0);
        assert_string_equal(index.name, "i");
        assert_string_equal(index.table, "t");
        assert_string_equal(index.database, "");
        assert_int_equal(index.column_count, 2);
        assert_string_equal(index.columns[0], "a");
        assert_string_equal(index.columns[1], "b");
        assert_false(index.if_not_exists);
        assert_false(index.unique);
    }
    const char *text = "CREATE INDEX IF NOT EXISTS i ON d.t (a)";
    assert_int_equal(sql_index_parse(text, strlen(text), &index, &wrong), 0);
    assert_string_equal(index.database, "d");
    assert_string_equal(index.table, "t");
    assert_true(index.if_not_exists);
    index_refused("CREATE INDEX ON t (a)", ERR_BAD_REQUEST, 17, "expected ON");
    index_refused("CREATE INDEX i t (a)", ERR_BAD_REQUEST, 16, "expected ON");
    index_refused("CREATE INDEX i ON t a", ERR_BAD_REQUEST, 21, "expected '('");
    index_refused("CREATE INDEX i ON t ()", ERR_BAD_REQUEST, 22, "expected a column name");
    index_refused("CREATE INDEX i ON t (a DESC)", ERR_BAD_REQUEST, 24, "expected ',' or ')'");
    index_refused("CREATE INDEX i ON t (a) x", ERR_BAD_REQUEST, 25, "expected the end");
    index_refused("CREATE INDEX `i ON t (a)", ERR_BAD_REQUEST, 14, "");
    index_refused("DROP INDEX i", ERR_BAD_REQUEST, 1, "expected CREATE");
    index_refused("CREATE INDEX i USING HASH ON t (a)", ERR_BAD_REQUEST, 22, "expected BTREE");
    index_refused("CREATE INDEX i ON t (a) USING HASH", ERR_BAD_REQUEST, 31, "expected BTREE");
    index_refused("CREATE FULLTEXT INDEX i ON t (a)", ERR_NOT_IMPLEMENTED, 8, "UNIQUE INDEX");
    index_refused("CREATE SPATIAL INDEX i ON t (a)", ERR_NOT_IMPLEMENTED, 8, "UNIQUE INDEX");
}

/* With and without its kind, before the columns, behind them, or both. */
static void test_create_unique(void **state)
{
    static const char *const texts[] = {
        "CREATE UNIQUE INDEX i ON t (a, b)", "create unique index i using hash on t(a asc, b);",
        "CREATE UNIQUE INDEX i ON t (a, b) USING HASH",
        "Create /* two kinds */ Unique Index `i` Using Hash On `t` (\"a\", `b`) Using Hash ;"};
    struct sql_index index;
    struct sql_create_error wrong;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(sql_index_parse(texts[i], strlen(texts[i]), &index, &wrong), 0);
        assert_true(index.unique);
        assert_false(index.if_not_exists);
        assert_string_equal(index.name, "i");
        assert_string_equal(index.database, "");
        assert_string_equal(index.table, "t");
        assert_int_equal(index.column_count, 2);
        assert_string_equal(index.columns[0], "a");
        assert_string_equal(index.columns[1], "b");
    }
    const char *text = "CREATE UNIQUE INDEX IF NOT EXISTS `unique` ON d.`index` (hash)";
    assert_int_equal(sql_index_parse(text, strlen(text), &index, &wrong), 0);
    assert_true(index.unique);
    assert_true(index.if_not_exists);
    assert_string_equal(index.name, "unique");
    assert_string_equal(index.database, "d");
    assert_string_equal(index.table, "index");
    assert_string_equal(index.columns[0], "hash");
}

static void test_unique_refused(void **state)
{
    struct sql_index index;
    struct sql_create_error wrong;
    char text[400] = "CREATE UNIQUE INDEX i ON t (c0";

    (void)state;
    index_refused("CREATE UNIQUE i ON t (a)", ERR_BAD_REQUEST, 15, "expected INDEX");
    index_refused("CREATE UNIQUE KEY i ON t (a)", ERR_BAD_REQUEST, 15, "expected INDEX");
    index_refused("CREATE INDEX UNIQUE i ON t (a)", ERR_BAD_REQUEST, 21, "expected ON");
    index_refused("CREATE UNIQUE", ERR_BAD_REQUEST, 14, "expected INDEX");
    index_refused("CREATE UNIQUE UNIQUE INDEX i ON t (a)", ERR_BAD_REQUEST, 15, "expected INDEX");
    index_refused("CREATE UNIQUE FULLTEXT INDEX i ON t (a)", ERR_BAD_REQUEST, 15, "expected INDEX");
    index_refused("CREATE UNIQUE INDEX IF EXISTS i ON t (a)", ERR_BAD_REQUEST, 24, "expected NOT");
    index_refused("CREATE UNIQUE INDEX i ON t", ERR_BAD_REQUEST, 27, "expected '('");
    index_refused("CREATE UNIQUE INDEX i ON t (a) x", ERR_BAD_REQUEST, 32, "expected the end");
    index_refused("CREATE UNIQUE INDEX i USING BTREE ON t (a)", ERR_BAD_REQUEST, 29,
                  "expected HASH");
    index_refused("CREATE UNIQUE INDEX i ON t (a) USING BTREE", ERR_BAD_REQUEST, 38,
                  "expected HASH: a unique index has no order");
    index_refused("CREATE UNIQUE INDEX i USING HASH ON t (a) USING BTREE", ERR_BAD_REQUEST, 49,
                  "expected HASH");
    index_refused("CREATE UNIQUE INDEX i USING", ERR_BAD_REQUEST, 28, "expected HASH");
    for (uint32_t i = 1; i < INDEX_COLUMNS_MAX; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), ",c%u", i);
    size_t end = strlen(text);
    memcpy(text + end, ")", 2);
    assert_int_equal(sql_index_parse(text, strlen(text), &index, &wrong), 0);
    assert_int_equal(index.column_count, INDEX_COLUMNS_MAX);
    memcpy(text + end, ",d)", 4);
    index_refused(text, ERR_INDEX_OBJECT, (uint32_t)end + 2u, "32 columns");
}

/* --- ALTER TABLE, RENAME TABLE, TRUNCATE TABLE. --- */

static void alter_refused(const char *text, uint32_t code, uint32_t column, const char *what)
{
    struct sql_alter alter;
    struct sql_create_error wrong;

    assert_int_equal(sql_alter_parse(text, strlen(text), &alter, &wrong), code);
    assert_int_equal(wrong.code, code);
    assert_int_equal(wrong.line, 1);
    assert_int_equal(wrong.column, column);
    assert_non_null(strstr(wrong.text, what));
}

static struct sql_alter parse_alter(const char *text)
{
    struct sql_alter alter;
    struct sql_create_error wrong;

    assert_int_equal(sql_alter_parse(text, strlen(text), &alter, &wrong), 0);
    return alter;
}

static void test_alter(void **state)
{
    static const char *const renames[] = {"ALTER TABLE t RENAME u", "alter table t rename to `u`;",
                                          "ALTER TABLE \"t\" RENAME AS u -- behind it",
                                          "RENAME TABLE t TO u"};
    struct sql_alter alter;

    (void)state;
    for (size_t i = 0; i < sizeof(renames) / sizeof(renames[0]); i++) {
        alter = parse_alter(renames[i]);
        assert_int_equal(alter.kind, SQL_RENAME_TABLE);
        assert_string_equal(alter.database, "");
        assert_string_equal(alter.table, "t");
        assert_string_equal(alter.new_database, "");
        assert_string_equal(alter.new_name, "u");
    }
    alter = parse_alter("RENAME TABLE d.t TO e.u");
    assert_string_equal(alter.database, "d");
    assert_string_equal(alter.new_database, "e");
    alter = parse_alter("ALTER TABLE d.t RENAME COLUMN a TO b");
    assert_int_equal(alter.kind, SQL_RENAME_COLUMN);
    assert_string_equal(alter.column, "a");
    assert_string_equal(alter.new_name, "b");
    alter = parse_alter("ALTER TABLE d.t ADD COLUMN `a` VARCHAR(300) COLLATE utf8mb4_bin NULL;");
    assert_int_equal(alter.kind, SQL_ADD_COLUMN);
    assert_string_equal(alter.table, "t");
    assert_int_equal(alter.word_count, 4);
    assert_int_equal(alter.words[0], COLUMN_LONGVARCHAR | COLLATION_UTF8MB4_BIN << 8);
    assert_int_equal(alter.words[1], 1200);
    assert_int_equal(alter.words[2], COLUMN_NULLABLE | 1u << 8);
    assert_int_equal(alter.words[3], 'a');
    assert_int_equal(parse_alter("alter table t add b int").words[0], COLUMN_INT);
    alter_refused("ALTER TABLE t ADD b INT UNIQUE", ERR_ALTER_IMPOSSIBLE, 19, "key");
    alter_refused("ALTER TABLE t ADD b INT PRIMARY KEY", ERR_ALTER_IMPOSSIBLE, 19, "key");
    alter_refused("ALTER TABLE t ADD b", ERR_BAD_REQUEST, 20, "a column type");
    alter_refused("ALTER TABLE t ADD b INT AFTER a", ERR_BAD_REQUEST, 25, "expected");
    alter_refused("ALTER TABLE t ADD b INT, ADD c INT", ERR_BAD_REQUEST, 24, "expected");
    alter = parse_alter("TRUNCATE d.t");
    assert_int_equal(alter.kind, SQL_TRUNCATE);
    assert_string_equal(alter.database, "d");
    assert_string_equal(parse_alter("truncate table t;").table, "t");
    alter_refused("ALTER t RENAME u", ERR_BAD_REQUEST, 7, "expected TABLE");
    alter_refused("ALTER TABLE t DROP COLUMN a", ERR_NOT_IMPLEMENTED, 15, "expected");
    alter_refused("ALTER TABLE t RENAME COLUMN a b", ERR_BAD_REQUEST, 31, "expected TO");
    alter_refused("ALTER TABLE t RENAME TO", ERR_BAD_REQUEST, 24, "expected a table name");
    alter_refused("RENAME TABLE t u", ERR_BAD_REQUEST, 16, "expected TO");
    alter_refused("RENAME TABLE t TO u, v TO w", ERR_BAD_REQUEST, 20, "expected the end");
    alter_refused("TRUNCATE TABLE", ERR_BAD_REQUEST, 15, "expected a table name");
    alter_refused("DROP TABLE t", ERR_BAD_REQUEST, 1, "expected ALTER");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_statement), cmocka_unit_test(test_indexes),
        cmocka_unit_test(test_unique),          cmocka_unit_test(test_type_spellings),
        cmocka_unit_test(test_details),         cmocka_unit_test(test_errors),
        cmocka_unit_test(test_limits),          cmocka_unit_test(test_every_prefix),
        cmocka_unit_test(test_create_index),    cmocka_unit_test(test_create_unique),
        cmocka_unit_test(test_unique_refused),  cmocka_unit_test(test_alter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
