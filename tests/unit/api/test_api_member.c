/* test_api_member.c -- which members of an application's row are taken for which columns. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/ndb/record_member.h"
#include "values/errors.h"

/* One member of each kind and size, and what the macros make of it. */
struct row {
    int8_t i8;
    uint8_t u8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    long l;
    unsigned long ul;
    float f;
    double d;
    long double ld;
    bool b;
    char c;
    char c6[6];
    char c31[31];
    const char *pointer;
    char *const fixed;
    const void *const anything;
    uint8_t b3[3];
    uint8_t b4[4];
    uint8_t b5[5];
    uint8_t b6[6];
    uint8_t b8[8];
    uint8_t b11[11];
    uint8_t b302[302];
    int32_t two[2];
    struct {
        int32_t raw;
    } s4;
    struct {
        uint8_t length;
        char data[10];
    } s11;
    struct {
        uint8_t length;
        char data[20];
    } s21;
    enum { RED, GREEN } e;
};

#define MEMBER(name) NDB_FIELD(struct row, name, #name)
static const struct ndb_field members[] = {
    MEMBER(i8),    MEMBER(u8),       MEMBER(i16),  MEMBER(u16), MEMBER(i32), MEMBER(u32),
    MEMBER(i64),   MEMBER(u64),      MEMBER(l),    MEMBER(ul),  MEMBER(f),   MEMBER(d),
    MEMBER(ld),    MEMBER(b),        MEMBER(c),    MEMBER(c6),  MEMBER(c31), MEMBER(pointer),
    MEMBER(fixed), MEMBER(anything), MEMBER(b3),   MEMBER(b4),  MEMBER(b5),  MEMBER(b6),
    MEMBER(b8),    MEMBER(b11),      MEMBER(b302), MEMBER(two), MEMBER(s4),  MEMBER(s11),
    MEMBER(s21),   MEMBER(e),
};
#define MEMBERS (sizeof members / sizeof members[0])

/* A column of each type, as the errors name it, and the members that fit. */
struct expectation {
    struct column_format format;
    const char *sql;
    const char *fit;
    const char *strings; /* Types that fit as NDB_FIELD_CSTRING. */
};

#define CHARS    .collation = COLLATION_BINARY
#define ANY_TEXT "c c6 c31 b3 b4 b5 b6 b8 b11 b302"
static const struct expectation expectations[] = {
    {{.type = COLUMN_TINYINT, .length = 1}, "TINYINT", "i8 b", ""},
    {{.type = COLUMN_TINYUNSIGNED, .length = 1}, "TINYINT UNSIGNED", "u8 b", ""},
    {{.type = COLUMN_SMALLINT, .length = 1}, "SMALLINT", "i16", ""},
    {{.type = COLUMN_SMALLUNSIGNED, .length = 1}, "SMALLINT UNSIGNED", "u16", ""},
    {{.type = COLUMN_MEDIUMINT, .length = 1}, "MEDIUMINT", "b3", ""},
    {{.type = COLUMN_MEDIUMUNSIGNED, .length = 1}, "MEDIUMINT UNSIGNED", "b3", ""},
    {{.type = COLUMN_INT, .length = 1}, "INT", "i32 b4 s4", ""},
    {{.type = COLUMN_UNSIGNED, .length = 1}, "INT UNSIGNED", "u32 b4 s4 e", ""},
    {{.type = COLUMN_BIGINT, .length = 1}, "BIGINT", "i64 l b8 two", ""},
    {{.type = COLUMN_BIGUNSIGNED, .length = 1}, "BIGINT UNSIGNED", "u64 ul b8 two", ""},
    {{.type = COLUMN_FLOAT, .length = 1}, "FLOAT", "f b4 s4", ""},
    {{.type = COLUMN_DOUBLE, .length = 1}, "DOUBLE", "d b8 two", ""},
    {{.type = COLUMN_CHAR, .length = 6, CHARS}, "CHAR(6)", "c6 b6", ANY_TEXT},
    {{.type = COLUMN_CHAR, .length = 1, CHARS}, "CHAR(1)", "c u8", ANY_TEXT},
    {{.type = COLUMN_BINARY, .length = 6}, "BINARY(6)", "c6 b6", ANY_TEXT},
    {{.type = COLUMN_VARCHAR, .length = 10, CHARS}, "VARCHAR(10)", "b11 b302 s11 s21", ANY_TEXT},
    {{.type = COLUMN_VARBINARY, .length = 10}, "VARBINARY(10)", "b11 b302 s11 s21", ANY_TEXT},
    {{.type = COLUMN_LONGVARCHAR, .length = 300, CHARS}, "VARCHAR(300)", "b302", ANY_TEXT},
    {{.type = COLUMN_LONGVARBINARY, .length = 300}, "VARBINARY(300)", "b302", ANY_TEXT},
    {{.type = COLUMN_DATE, .length = 1}, "DATE", "b3", ""},
    {{.type = COLUMN_YEAR, .length = 1}, "YEAR", "u8", ""},
    {{.type = COLUMN_TIME, .length = 1}, "old TIME", "b3", ""},
    {{.type = COLUMN_DATETIME, .length = 1}, "old DATETIME", "u64 ul b8 two", ""},
    {{.type = COLUMN_TIMESTAMP, .length = 1}, "old TIMESTAMP", "u32 b4 s4 e", ""},
    {{.type = COLUMN_TIME2, .length = 1}, "TIME", "b3", ""},
    {{.type = COLUMN_DATETIME2, .length = 1}, "DATETIME", "b5", ""},
    {{.type = COLUMN_TIMESTAMP2, .length = 1}, "TIMESTAMP", "b4 s4", ""},
    {{.type = COLUMN_BIT, .length = 8}, "BIT(8)", "u32 b4 s4 e", ""},
    {{.type = COLUMN_DECIMAL, .length = 1, .precision = 10, .scale = 2}, "DECIMAL(10,2)", "b5", ""},
    {{.type = COLUMN_DECIMALUNSIGNED, .length = 1, .precision = 10, .scale = 2},
     "DECIMAL(10,2) UNSIGNED",
     "b5",
     ""},
};

static struct table_def *make_def(const struct column_format *format)
{
    size_t size = table_def_size(2, 256);
    struct table_def *def = table_def_init(malloc(size), size, 2);
    const struct table_column_options column = {.name = "k", .name_size = 1, .format = *format};
    const struct table_column_options key = {.name = "id",
                                             .name_size = 2,
                                             .format = {.type = COLUMN_INT, .length = 1},
                                             .flags = COLUMN_PRIMARY_KEY};
    assert_int_equal(table_def_set_name(def, "test", 4, "t", 1), 0);
    assert_int_equal(table_def_add_column(def, &column), 0);
    assert_int_equal(table_def_add_column(def, &key), 0);
    assert_int_equal(table_def_check(def), 0);
    return def;
}

/* Is the word in the list? */
static bool listed(const char *list, const char *word)
{
    size_t size = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += size) {
        if ((at == list || at[-1] == ' ') && (at[size] == ' ' || at[size] == 0)) return true;
    }
    return false;
}

static void check(const struct expectation *e, const struct table_def *def,
                  const struct ndb_field *member, const char *fit)
{
    char text[256] = "";
    char type[80];
    bool fits = listed(fit, member->column);
    uint32_t error = member_check(def, &def->columns[0], member, text, sizeof text);
    if (fits != (error == 0)) print_error("%s as %s: %u %s\n", e->sql, member->column, error, text);
    assert_int_equal(error == 0, fits);
    if (fits) return;
    assert_int_equal(error, ERR_MEMBER_TYPE);
    snprintf(type, sizeof type, "table test.t, column k is %s (", e->sql);
    assert_int_equal(strncmp(text, type, strlen(type)), 0);
    assert_non_null(strstr(text, "the member is "));
    assert_non_null(strstr(text, "; use "));
}

static void every_type_and_member(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof expectations / sizeof expectations[0]; i++) {
        const struct expectation *e = &expectations[i];
        struct table_def *def = make_def(&e->format);
        for (size_t k = 0; k < MEMBERS; k++) {
            struct ndb_field member = members[k];
            check(e, def, &member, e->fit);
            member.flags = NDB_FIELD_CSTRING;
            check(e, def, &member, e->strings);
        }
        free(def);
    }
}

/* Who does not tell what the member is has its size looked at only, as ever. */
static void members_not_told(void **state)
{
    (void)state;
    const struct column_format format = {.type = COLUMN_INT, .length = 1};
    struct table_def *def = make_def(&format);
    char text[256];
    for (uint32_t size = 0; size < 10; size++) {
        const struct ndb_field field = {.column = "k", .size = size};
        assert_int_equal(member_check(def, &def->columns[0], &field, text, sizeof text),
                         size == 0 || size >= 4 ? 0 : ERR_MEMBER_TYPE);
    }
    const struct ndb_field wild = {.column = "k", .size = 4, .kind = (enum ndb_member_kind)40};
    assert_int_equal(member_check(def, &def->columns[0], &wild, text, sizeof text),
                     ERR_MEMBER_TYPE);
    free(def);
}

static void says(enum column_type type, uint32_t length, const char *member, uint32_t code,
                 const char *expected)
{
    const struct column_format format = {.type = (uint8_t)type,
                                         .length = length,
                                         .collation = column_is_char(type) ? COLLATION_UTF8MB4_BIN
                                                                           : COLLATION_NONE};
    struct table_def *def = make_def(&format);
    char text[256] = "";
    for (size_t k = 0; k < MEMBERS; k++) {
        if (strcmp(members[k].column, member) != 0) continue;
        assert_int_equal(member_check(def, &def->columns[0], &members[k], text, sizeof text), code);
    }
    assert_string_equal(text, expected);
    free(def);
}

static void what_is_said(void **state)
{
    (void)state;
    says(
        COLUMN_INT, 1, "i64", ERR_MEMBER_TYPE,
        "table test.t, column k is INT (4 bytes, signed): the member is an int64_t of 8 bytes; use "
        "int32_t");
    says(COLUMN_INT, 1, "c31", ERR_MEMBER_TYPE,
         "table test.t, column k is INT (4 bytes, signed): the member is a char[31]; use int32_t");
    says(COLUMN_UNSIGNED, 1, "f", ERR_MEMBER_TYPE,
         "table test.t, column k is INT UNSIGNED (4 bytes, unsigned): the member is a float of 4 "
         "bytes; use uint32_t");
    says(COLUMN_BIGUNSIGNED, 1, "i64", ERR_MEMBER_TYPE,
         "table test.t, column k is BIGINT UNSIGNED (8 bytes, unsigned): the member is an int64_t "
         "of 8 bytes; use uint64_t");
    says(COLUMN_VARCHAR, 40, "c31", ERR_MEMBER_TYPE,
         "table test.t, column k is VARCHAR(10) (41 bytes): the member is a char[31]; use "
         "NDB_FIELD_STRING with char[41], or a struct of uint8_t length and char[40]");
    says(
        COLUMN_DATE, 1, "u32", ERR_MEMBER_TYPE,
        "table test.t, column k is DATE (3 bytes): the member is a uint32_t or an enum of 4 bytes; "
        "use uint8_t[3]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_member),
        cmocka_unit_test(members_not_told),
        cmocka_unit_test(what_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
