/* test_column_type.c -- values of every column type: text, checks, order and canonical forms. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "values/column_type.h"
#include "values/errors.h"

#define PLAIN(t)                                                                                   \
    {                                                                                              \
        .type = COLUMN_##t, .length = 1                                                            \
    }
#define FRACTION(t, p)                                                                             \
    {                                                                                              \
        .type = COLUMN_##t, .precision = (p), .length = 1                                          \
    }
#define DEC(t, p, s)                                                                               \
    {                                                                                              \
        .type = COLUMN_##t, .precision = (p), .scale = (s), .length = 1                            \
    }
#define STRING(t, n, c)                                                                            \
    {                                                                                              \
        .type = COLUMN_##t, .collation = COLLATION_##c, .length = (n)                              \
    }

struct text_case {
    struct column_format format;
    const char *text;
    const char *printed; /* NULL: as text */
    uint32_t error;
};

static const struct text_case text_cases[] = {
    {PLAIN(TINYINT), "-128", NULL, 0},
    {PLAIN(TINYINT), "127", NULL, 0},
    {PLAIN(TINYINT), "128", NULL, ERR_VALUE_OUT_OF_RANGE},
    {PLAIN(TINYINT), "-129", NULL, ERR_VALUE_OUT_OF_RANGE},
    {PLAIN(TINYINT), "", NULL, ERR_VALUE_INVALID},
    {PLAIN(TINYINT), "-", NULL, ERR_VALUE_INVALID},
    {PLAIN(TINYINT), "1x", NULL, ERR_VALUE_INVALID},
    {PLAIN(TINYUNSIGNED), "255", NULL, 0},
    {PLAIN(TINYUNSIGNED), "256", NULL, ERR_VALUE_OUT_OF_RANGE},
    {PLAIN(TINYUNSIGNED), "-1", NULL, ERR_VALUE_OUT_OF_RANGE},
    {PLAIN(TINYUNSIGNED), "-0", "0", 0},
    {PLAIN(SMALLINT), "-32768", NULL, 0},
    {PLAIN(SMALLINT), "32767", NULL, 0},
    {PLAIN(SMALLINT), "32768", NULL, ERR_VALUE_OUT_OF_RANGE},
    {PLAIN(SMALLUNSIGNED), "65535", NULL, 0},
    {PLAIN(MEDIUMINT), "-8388608", NULL, 0},
    {PLAIN(MEDIUMINT), "8388607", NULL, 0},
    {PLAIN(MEDIUMINT), "8388608", NULL, ERR_VALUE_OUT_OF_RANGE},
    {PLAIN(MEDIUMUNSIGNED), "16777215", NULL, 0},
    {PLAIN(MEDIUMUNSIGNED), "16777216", NULL, ERR_VALUE_OUT_OF_RANGE},
    {PLAIN(INT), "-2147483648", NULL, 0},
    {PLAIN(INT), "+2147483647", "2147483647", 0},
    {PLAIN(INT), "2147483648", NULL, ERR_VALUE_OUT_OF_RANGE},
    {PLAIN(UNSIGNED), "4294967295", NULL, 0},
    {PLAIN(UNSIGNED), "4294967296", NULL, ERR_VALUE_OUT_OF_RANGE},
    {PLAIN(BIGINT), "-9223372036854775808", NULL, 0},
    {PLAIN(BIGINT), "9223372036854775807", NULL, 0},
    {PLAIN(BIGINT), "9223372036854775808", NULL, ERR_VALUE_OUT_OF_RANGE},
    {PLAIN(BIGINT), "-9223372036854775809", NULL, ERR_VALUE_OUT_OF_RANGE},
    {PLAIN(BIGUNSIGNED), "18446744073709551615", NULL, 0},
    {PLAIN(BIGUNSIGNED), "18446744073709551616", NULL, ERR_VALUE_OUT_OF_RANGE},
    {PLAIN(BIGUNSIGNED), "99999999999999999999999", NULL, ERR_VALUE_OUT_OF_RANGE},
    {PLAIN(FLOAT), "0.1", NULL, 0},
    {PLAIN(FLOAT), "-3.4028235e+38", NULL, 0},
    {PLAIN(FLOAT), "1e39", NULL, ERR_VALUE_OUT_OF_RANGE},
    {PLAIN(FLOAT), "16777217", "16777216", 0},
    {PLAIN(DOUBLE), "0.1", NULL, 0},
    {PLAIN(DOUBLE), "1.7976931348623157e+308", NULL, 0},
    {PLAIN(DOUBLE), "0.30000000000000004", NULL, 0},
    {PLAIN(DOUBLE), "1e999", NULL, ERR_VALUE_OUT_OF_RANGE},
    {PLAIN(DOUBLE), "nan", NULL, ERR_VALUE_INVALID},
    {PLAIN(DOUBLE), "inf", NULL, ERR_VALUE_INVALID},
    {PLAIN(DOUBLE), "0x10", NULL, ERR_VALUE_INVALID},
    {PLAIN(DOUBLE), " 1", NULL, ERR_VALUE_INVALID},
    {PLAIN(DOUBLE), "1e", NULL, ERR_VALUE_INVALID},
    {DEC(DECIMAL, 10, 2), "12345678.99", NULL, 0},
    {DEC(DECIMAL, 10, 2), "-12345678.99", NULL, 0},
    {DEC(DECIMAL, 10, 2), "123456789", NULL, ERR_VALUE_OUT_OF_RANGE},
    {DEC(DECIMAL, 10, 2), "1.005", "1.01", 0},
    {DEC(DECIMAL, 10, 2), "-1.005", "-1.01", 0},
    {DEC(DECIMAL, 10, 2), "99999999.995", NULL, ERR_VALUE_OUT_OF_RANGE},
    {DEC(DECIMAL, 10, 2), "-0.001", "0.00", 0},
    {DEC(DECIMAL, 10, 2), "0000000000000007.1", "7.10", 0},
    {DEC(DECIMAL, 10, 2), ".5", "0.50", 0},
    {DEC(DECIMAL, 10, 2), "5.", "5.00", 0},
    {DEC(DECIMAL, 10, 2), ".", NULL, ERR_VALUE_INVALID},
    {DEC(DECIMAL, 10, 2), "1e3", NULL, ERR_VALUE_INVALID},
    {DEC(DECIMAL, 10, 2), "1.2.3", NULL, ERR_VALUE_INVALID},
    {DEC(DECIMAL, 1, 0), "-9", NULL, 0},
    {DEC(DECIMAL, 5, 5), "0.99999", NULL, 0},
    {DEC(DECIMAL, 5, 5), "1", NULL, ERR_VALUE_OUT_OF_RANGE},
    {DEC(DECIMAL, 65, 30), "-99999999999999999999999999999999999.999999999999999999999999999999",
     NULL, 0},
    {DEC(DECIMAL, 65, 0), "12345678901234567890123456789012345678901234567890123456789012345", NULL,
     0},
    {DEC(DECIMALUNSIGNED, 4, 2), "99.99", NULL, 0},
    {DEC(DECIMALUNSIGNED, 4, 2), "-0.01", NULL, ERR_VALUE_OUT_OF_RANGE},
    {DEC(DECIMALUNSIGNED, 4, 2), "-0.00", "0.00", 0},
    {STRING(CHAR, 20, UTF8MB4_BIN), "abcde", NULL, 0},
    {STRING(CHAR, 20, UTF8MB4_BIN), "abc  ", "abc", 0},
    {STRING(CHAR, 20, UTF8MB4_BIN), "abcdef", NULL, ERR_VALUE_TOO_LONG},
    {STRING(CHAR, 20, UTF8MB4_BIN), "\xF0\x9F\x98\x80\xC3\xA9", NULL, 0},
    {STRING(CHAR, 20, UTF8MB4_BIN), "\xC3", NULL, ERR_STRING_INVALID},
    {STRING(CHAR, 5, BINARY), "\xC3", "0xC3", ERR_NONE},
    {STRING(VARCHAR, 20, UTF8MB4_GENERAL_CI), "\xC3\x89t\xC3\xA9", NULL, 0},
    {STRING(VARCHAR, 20, UTF8MB4_GENERAL_CI), "", NULL, 0},
    {STRING(VARCHAR, 20, UTF8MB4_GENERAL_CI), "123456", NULL, ERR_VALUE_TOO_LONG},
    {STRING(VARCHAR, 20, UTF8MB4_GENERAL_CI), "\xED\xA0\x80", NULL, ERR_STRING_INVALID},
    {STRING(VARCHAR, 20, UTF8MB4_GENERAL_CI), "\xC0\x80", NULL, ERR_STRING_INVALID},
    {STRING(VARCHAR, 20, UTF8MB4_GENERAL_CI), "\xF4\x90\x80\x80", NULL, ERR_STRING_INVALID},
    {STRING(LONGVARCHAR, 1200, UTF8MB4_BIN), "a long one", NULL, 0},
    {STRING(LONGVARCHAR, 1200, BINARY), "bytes ", NULL, 0},
    {STRING(BINARY, 4, NONE), "ab", NULL, 0},
    {STRING(BINARY, 4, NONE), "0x00ff", "0x00FF", 0},
    {STRING(BINARY, 4, NONE), "0x0102030405", NULL, ERR_VALUE_TOO_LONG},
    {STRING(VARBINARY, 4, NONE), "0x0100", NULL, 0},
    {STRING(VARBINARY, 4, NONE), "", NULL, 0},
    {STRING(VARBINARY, 4, NONE), "abcde", NULL, ERR_VALUE_TOO_LONG},
    {STRING(LONGVARBINARY, 300, NONE), "0x30783431", NULL, 0}, /* 0x41 as text */
    {STRING(LONGVARBINARY, 300, NONE), "0x", NULL, 0},
    {STRING(BIT, 1, NONE), "0x1", NULL, 0},
    {STRING(BIT, 1, NONE), "2", NULL, ERR_VALUE_OUT_OF_RANGE},
    {STRING(BIT, 5, NONE), "b'10101'", "0x15", 0},
    {STRING(BIT, 5, NONE), "b'100000'", NULL, ERR_VALUE_OUT_OF_RANGE},
    {STRING(BIT, 5, NONE), "b'2'", NULL, ERR_VALUE_INVALID},
    {STRING(BIT, 33, NONE), "0x100000000", NULL, 0},
    {STRING(BIT, 33, NONE), "0x200000000", NULL, ERR_VALUE_OUT_OF_RANGE},
    {STRING(BIT, 64, NONE), "18446744073709551615", "0xFFFFFFFFFFFFFFFF", 0},
    {STRING(BIT, 64, NONE), "0", "0x0", 0},
    {STRING(BIT, 4096, NONE), "H'0x1000000000000000000000001", "0x1000000000000000000000001", 0},
    {PLAIN(DATE), "2024-02-29", NULL, 0},
    {PLAIN(DATE), "2023-02-29", NULL, ERR_VALUE_OUT_OF_RANGE},
    {PLAIN(DATE), "1900-02-29", NULL, ERR_VALUE_OUT_OF_RANGE},
    {PLAIN(DATE), "0000-00-00", NULL, 0},
    {PLAIN(DATE), "2024-00-01", NULL, ERR_VALUE_OUT_OF_RANGE},
    {PLAIN(DATE), "9999-12-31", NULL, 0},
    {PLAIN(DATE), "2024-13-01", NULL, ERR_VALUE_OUT_OF_RANGE},
    {PLAIN(DATE), "24-1-1", NULL, ERR_VALUE_INVALID},
    {PLAIN(DATE), "2024-01-01x", NULL, ERR_VALUE_INVALID},
    {PLAIN(YEAR), "1901", NULL, 0},
    {PLAIN(YEAR), "2155", NULL, 0},
    {PLAIN(YEAR), "0000", NULL, 0},
    {PLAIN(YEAR), "1900", NULL, ERR_VALUE_OUT_OF_RANGE},
    {PLAIN(YEAR), "2156", NULL, ERR_VALUE_OUT_OF_RANGE},
    {PLAIN(TIME), "-838:59:59", NULL, 0},
    {PLAIN(TIME), "838:59:59", NULL, 0},
    {PLAIN(TIME), "839:00:00", NULL, ERR_VALUE_OUT_OF_RANGE},
    {PLAIN(TIME), "12:34", NULL, ERR_VALUE_INVALID},
    {PLAIN(TIME), "00:00:00", NULL, 0},
    {PLAIN(TIME), "-00:00:00", "00:00:00", 0},
    {PLAIN(DATETIME), "2024-02-29/23:59:59", NULL, 0},
    {PLAIN(DATETIME), "2024-02-29 23:59:59.5", "2024-03-01/00:00:00", 0},
    {PLAIN(DATETIME), "2024-02-29", "2024-02-29/00:00:00", 0},
    {PLAIN(DATETIME), "2024-02-29 24:00:00", NULL, ERR_VALUE_OUT_OF_RANGE},
    {PLAIN(TIMESTAMP), "4294967295", NULL, 0},
    {PLAIN(TIMESTAMP), "4294967296", NULL, ERR_VALUE_OUT_OF_RANGE},
    {PLAIN(TIMESTAMP), "1970-01-02 00:00:01", "86401", 0},
    {PLAIN(TIMESTAMP), "2000-03-01T00:00:00", "951868800", 0},
    {PLAIN(TIMESTAMP), "1969-12-31 23:59:59", NULL, ERR_VALUE_OUT_OF_RANGE},
    {FRACTION(TIME2, 0), "-838:59:59", NULL, 0},
    {FRACTION(TIME2, 6), "838:59:59.000001", NULL, ERR_VALUE_OUT_OF_RANGE},
    {FRACTION(TIME2, 6), "-00:00:00.000001", NULL, 0},
    {FRACTION(TIME2, 6), "837:59:59.999999", NULL, 0},
    {FRACTION(TIME2, 1), "-00:00:00.1", NULL, 0},
    {FRACTION(TIME2, 2), "-10:11:12.99", NULL, 0},
    {FRACTION(TIME2, 3), "10:11:12.123", NULL, 0},
    {FRACTION(TIME2, 4), "10:11:12.12345", "10:11:12.1235", 0},
    {FRACTION(TIME2, 5), "10:11:12.99999", NULL, 0},
    {FRACTION(TIME2, 0), "10:59:59.5", "11:00:00", 0},
    {FRACTION(TIME2, 0), "10:60:00", NULL, ERR_VALUE_OUT_OF_RANGE},
    {FRACTION(DATETIME2, 0), "2024-12-31/23:59:59", NULL, 0},
    {FRACTION(DATETIME2, 0), "2024-12-31/23:59:59.999", "2025-01-01/00:00:00", 0},
    {FRACTION(DATETIME2, 6), "9999-12-31/23:59:59.999999", NULL, 0},
    {FRACTION(DATETIME2, 5), "9999-12-31/23:59:59.999999", NULL, ERR_VALUE_OUT_OF_RANGE},
    {FRACTION(DATETIME2, 3), "0000-00-00/00:00:00.000", NULL, 0},
    {FRACTION(DATETIME2, 2), "1000-01-01/00:00:00.07", NULL, 0},
    {FRACTION(TIMESTAMP2, 0), "0", NULL, 0},
    {FRACTION(TIMESTAMP2, 6), "4294967295.999999", NULL, 0},
    {FRACTION(TIMESTAMP2, 5), "4294967295.999999", NULL, ERR_VALUE_OUT_OF_RANGE},
    {FRACTION(TIMESTAMP2, 4), "1.00005", "1.0001", 0},
};

/* The value of a text; the caller knows that it is one. */
static uint32_t value_of(const struct column_format *format, const char *text, void *out)
{
    uint32_t size = 0;

    assert_int_equal(
        column_parse(format, text, (uint32_t)strlen(text), out, COLUMN_BYTES_MAX + 2, &size), 0);
    return size;
}

static void test_text_round_trip(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(text_cases) / sizeof(text_cases[0]); i++) {
        const struct text_case *c = &text_cases[i];
        uint32_t max = column_size_max(&c->format);
        uint8_t *value = malloc(max); /* Exactly as large as promised: a sanitizer watches. */
        char *text = malloc(column_print_max(&c->format));
        uint32_t size;

        assert_true(max > 0);
        uint32_t error =
            column_parse(&c->format, c->text, (uint32_t)strlen(c->text), value, max, &size);
        if (error != c->error) print_message("case %zu: %s\n", i, c->text);
        assert_int_equal(error, c->error);
        if (error == ERR_NONE) {
            assert_int_equal(column_check(&c->format, value, size), ERR_NONE);
            assert_int_equal(column_value_size(&c->format, value, size), size);
            uint32_t length =
                column_print(&c->format, 0, value, size, text, column_print_max(&c->format));
            assert_int_not_equal(length, UINT32_MAX);
            assert_string_equal(text, c->printed != NULL ? c->printed : c->text);
            /* One byte less for the text is refused, not overrun. */
            assert_int_equal(column_print(&c->format, 0, value, size, text, length), UINT32_MAX);
        }
        free(value);
        free(text);
    }
}

static void test_stored_bytes(void **state)
{
    static const struct {
        struct column_format format;
        const char *text;
        uint8_t bytes[9];
        uint32_t size;
    } cases[] = {
        {PLAIN(MEDIUMINT), "-2", {0xFE, 0xFF, 0xFF}, 3},
        {DEC(DECIMAL, 14, 4), "1234567890.1234", {0x81, 0x0D, 0xFB, 0x38, 0xD2, 0x04, 0xD2}, 7},
        {DEC(DECIMAL, 14, 4), "-1234567890.1234", {0x7E, 0xF2, 0x04, 0xC7, 0x2D, 0xFB, 0x2D}, 7},
        {STRING(VARCHAR, 8, UTF8MB4_BIN), "ab", {2, 'a', 'b'}, 3},
        {STRING(LONGVARBINARY, 300, NONE), "ab", {2, 0, 'a', 'b'}, 4},
        {STRING(CHAR, 4, UTF8MB4_BIN), "a", {'a', ' ', ' ', ' '}, 4},
        {STRING(BIT, 40, NONE), "0x123456789A", {0x9A, 0x78, 0x56, 0x34, 0x12, 0, 0, 0}, 8},
        {PLAIN(DATE), "2024-02-29", {0x5D, 0xD0, 0x0F}, 3},
        {PLAIN(YEAR), "2024", {124}, 1},
        {FRACTION(TIME2, 0), "00:00:00", {0x80, 0, 0}, 3},
        {FRACTION(TIME2, 2), "-00:00:00.10", {0x7F, 0xFF, 0xFF, 0xF6}, 4},
        {FRACTION(TIME2, 2), "00:00:01.10", {0x80, 0, 1, 0x0A}, 4},
        {FRACTION(DATETIME2, 0), "2001-02-03 04:05:06", {0x99, 0x67, 0xC6, 0x41, 0x46}, 5},
        {FRACTION(TIMESTAMP2, 3), "1.5", {0, 0, 0, 1, 0x13, 0x88}, 6},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t value[COLUMN_BYTES_MAX + 2];
        assert_int_equal(value_of(&cases[i].format, cases[i].text, value), cases[i].size);
        assert_memory_equal(value, cases[i].bytes, cases[i].size);
    }
}

static void test_check_refuses(void **state)
{
    static const struct {
        struct column_format format;
        uint8_t bytes[9];
        uint32_t size;
        uint32_t error;
    } cases[] = {
        {PLAIN(INT), {0}, 3, ERR_VALUE_LENGTH},
        {PLAIN(INT), {0}, 5, ERR_VALUE_LENGTH},
        {PLAIN(FLOAT), {0, 0, 0x80, 0x7F}, 4, ERR_VALUE_INVALID},
        {PLAIN(FLOAT), {0, 0, 0xC0, 0xFF}, 4, ERR_VALUE_INVALID},
        {PLAIN(DOUBLE), {0, 0, 0, 0, 0, 0, 0xF0, 0x7F}, 8, ERR_VALUE_INVALID},
        {DEC(DECIMAL, 2, 0), {0x80 + 100}, 1, ERR_VALUE_INVALID},
        {DEC(DECIMAL, 2, 0), {0x7F}, 1, ERR_VALUE_INVALID}, /* negative zero */
        {DEC(DECIMALUNSIGNED, 2, 0), {0x7E}, 1, ERR_VALUE_INVALID},
        {STRING(VARCHAR, 8, UTF8MB4_BIN), {3, 'a', 'b'}, 3, ERR_VALUE_LENGTH},
        {STRING(VARCHAR, 8, UTF8MB4_BIN), {1, 'a', 'b'}, 3, ERR_VALUE_LENGTH},
        {STRING(VARCHAR, 8, UTF8MB4_BIN), {3, 'a', 'b', 'c'}, 4, ERR_VALUE_LENGTH},
        {STRING(VARCHAR, 8, UTF8MB4_BIN), {2, 'a', 0x80}, 3, ERR_STRING_INVALID},
        {STRING(LONGVARCHAR, 8, UTF8MB4_BIN), {1}, 1, ERR_VALUE_LENGTH},
        {STRING(CHAR, 4, UTF8MB4_BIN), {'a', 'b', ' ', ' '}, 4, ERR_VALUE_LENGTH},
        {STRING(BIT, 5, NONE), {0x20, 0, 0, 0}, 4, ERR_VALUE_INVALID},
        {PLAIN(DATE), {0, 0, 0x0F}, 3, ERR_VALUE_INVALID},
        {PLAIN(TIME), {0x60, 0, 0}, 3, ERR_VALUE_INVALID},           /* 96 seconds */
        {FRACTION(TIME2, 1), {0x80, 0, 0, 5}, 4, ERR_VALUE_INVALID}, /* two digits used */
        {FRACTION(TIME2, 2), {0x80, 0, 0, 100}, 4, ERR_VALUE_INVALID},
        {FRACTION(DATETIME2, 0), {0x7F, 0, 0, 0, 0}, 5, ERR_VALUE_INVALID},
        {FRACTION(TIMESTAMP2, 6), {0, 0, 0, 0, 0xFF, 0xFF, 0xFF}, 7, ERR_VALUE_INVALID},
        {PLAIN(BLOB), {0}, 1, ERR_VALUE_LENGTH},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(column_check(&cases[i].format, cases[i].bytes, cases[i].size),
                         cases[i].error);
}

static void test_format_check(void **state)
{
    static const struct {
        struct column_format format;
        uint32_t error;
    } cases[] = {
        {PLAIN(BLOB), ERR_COLUMN_TYPE_UNSUPPORTED},
        {PLAIN(TEXT), ERR_COLUMN_TYPE_UNSUPPORTED},
        {PLAIN(OLDDECIMAL), ERR_COLUMN_TYPE_UNSUPPORTED},
        {{.type = 200, .length = 1}, ERR_COLUMN_TYPE_UNSUPPORTED},
        {STRING(INT, 1, UTF8MB4_BIN), ERR_COLLATION_ON_NUMBER},
        {STRING(CHAR, 4, NONE), ERR_CHARSET_UNSUPPORTED},
        {{.type = COLUMN_CHAR, .collation = 8, .length = 4}, ERR_CHARSET_UNSUPPORTED},
        {STRING(CHAR, 5, UTF8MB4_BIN), ERR_COLUMN_ARRAY_SIZE},
        {STRING(CHAR, 0, BINARY), ERR_COLUMN_ARRAY_SIZE},
        {STRING(VARCHAR, 256, BINARY), ERR_COLUMN_TOO_BIG},
        {STRING(LONGVARBINARY, 30001, NONE), ERR_COLUMN_TOO_BIG},
        {STRING(LONGVARBINARY, 30000, NONE), ERR_NONE},
        {STRING(BIT, 4096, NONE), ERR_NONE},
        {STRING(BIT, 4097, NONE), ERR_BITS_TOO_MANY},
        {STRING(BIT, 0, NONE), ERR_COLUMN_ARRAY_SIZE},
        {DEC(DECIMAL, 66, 0), ERR_COLUMN_PRECISION},
        {DEC(DECIMAL, 0, 0), ERR_COLUMN_PRECISION},
        {DEC(DECIMAL, 65, 31), ERR_COLUMN_SCALE},
        {DEC(DECIMAL, 5, 6), ERR_COLUMN_SCALE},
        {FRACTION(TIME2, 7), ERR_COLUMN_ARRAY_SIZE},
        {FRACTION(INT, 1), ERR_COLUMN_ARRAY_SIZE},
        {{.type = COLUMN_INT, .length = 2}, ERR_COLUMN_ARRAY_SIZE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(column_format_check(&cases[i].format), cases[i].error);
        assert_int_equal(column_size_max(&cases[i].format) != 0, cases[i].error == ERR_NONE);
    }
    struct column_format bad = PLAIN(BLOB);
    char text[32];
    column_format_print(&bad, text, sizeof(text));
    assert_string_equal(text, "Blob");
}

/* Per type, texts in ascending order. */
struct order_case {
    struct column_format format;
    const char *texts[10];
    uint32_t equal; /* bit i: text i equals text i-1 */
};

static const struct order_case order_cases[] = {
    {PLAIN(TINYINT), {"-128", "-1", "0", "1", "127"}, 0},
    {PLAIN(TINYUNSIGNED), {"0", "1", "127", "128", "255"}, 0},
    {PLAIN(MEDIUMINT), {"-8388608", "-1", "0", "256", "8388607"}, 0},
    {PLAIN(INT), {"-2147483648", "-256", "-1", "0", "255", "256", "2147483647"}, 0},
    {PLAIN(BIGINT), {"-9223372036854775808", "-1", "0", "9223372036854775807"}, 0},
    {PLAIN(BIGUNSIGNED), {"0", "9223372036854775808", "18446744073709551615"}, 0},
    {PLAIN(FLOAT), {"-1e38", "-1.5", "-1e-40", "-0", "0", "1e-40", "1", "1e38"}, 1u << 4},
    {PLAIN(DOUBLE), {"-1e308", "-1", "-0", "0", "1e-310", "2"}, 1u << 3},
    {DEC(DECIMAL, 20, 5),
     {"-99999999999", "-10.5", "-10.49999", "-1", "0", "0.00001", "1", "9", "10", "999999999999"},
     0},
    {STRING(CHAR, 16, UTF8MB4_BIN), {"", "A", "AA", "a", "ab", "\xC3\xA9"}, 0},
    {STRING(VARCHAR, 40, UTF8MB4_BIN), {"a\tb", "a", "a  ", "a!", "b"}, 1u << 2},
    {STRING(VARCHAR, 40, UTF8MB4_GENERAL_CI),
     {"", " ", "a", "A ", "\xC3\xA9t\xC3\xA9", "ETE",
      "stra\xC3\x9F"
      "e",
      "STRASE", "z", "Z"},
     1u << 1 | 1u << 3 | 1u << 5 | 1u << 7 | 1u << 9},
    {STRING(LONGVARCHAR, 400, UTF8MB4_GENERAL_CI),
     {"\xCE\xA3\xCE\xAF\xCF\x83\xCF\x85\xCF\x86\xCE\xBF\xCF\x82",
      "\xCF\x83\xCE\xB9\xCF\x83\xCF\x85\xCF\x86\xCE\xBF\xCF\x83", "\xD0\x81\xD0\xB6",
      "\xD0\xB5\xD0\x96", "\xD0\xB9", "\xD0\x99"},
     1u << 1 | 1u << 3 | 1u << 5},
    {STRING(CHAR, 8, UTF8MB4_GENERAL_CI), {"", "a", "A", "aB"}, 1u << 2},
    {STRING(VARCHAR, 10, BINARY), {"", "A", "A ", "a", "a\xFF"}, 0},
    {STRING(VARBINARY, 10, NONE), {"", "0x00", "0x0000", "0x01", "0xFF00", "0xFF01"}, 0},
    {STRING(BINARY, 4, NONE), {"", "a", "a\x01", "b"}, 0},
    {STRING(BIT, 70, NONE), {"0", "1", "0x80000000", "0x100000000", "0x3F0000000000000000"}, 0},
    {PLAIN(DATE), {"0000-00-00", "1999-12-31", "2000-01-01", "2000-01-02", "9999-12-31"}, 0},
    {PLAIN(YEAR), {"0000", "1901", "2155"}, 0},
    {PLAIN(TIME), {"-838:59:59", "-00:00:01", "00:00:00", "00:01:00", "838:59:59"}, 0},
    {PLAIN(DATETIME), {"0000-00-00", "1999-12-31/23:59:59", "2000-01-01"}, 0},
    {PLAIN(TIMESTAMP), {"0", "1", "2147483648", "4294967295"}, 0},
    {FRACTION(TIME2, 3),
     {"-838:59:59", "-00:00:00.2", "-00:00:00.1", "00:00:00", "00:00:00.1", "00:00:01"},
     0},
    {FRACTION(DATETIME2, 6), {"0000-00-00", "1999-12-31 23:59:59.999999", "2000-01-01"}, 0},
    {FRACTION(TIMESTAMP2, 2), {"0", "0.01", "1", "4294967295.99"}, 0},
};

static void compare_pair(const struct column_format *format, const char *a, const char *b, int want)
{
    uint8_t va[COLUMN_BYTES_MAX + 2], vb[COLUMN_BYTES_MAX + 2];
    uint8_t fa[COLUMN_BYTES_MAX + 2], fb[COLUMN_BYTES_MAX + 2];
    uint32_t sa = value_of(format, a, va);
    uint32_t sb = value_of(format, b, vb);
    int order = column_compare(format, va, sa, vb, sb);
    uint64_t pa = column_sort_prefix(format, va, sa);
    uint64_t pb = column_sort_prefix(format, vb, sb);

    order = order < 0 ? -1 : order > 0;
    if (order != want)
        print_message("%s: '%s' against '%s'\n", column_type_name(format->type), a, b);
    assert_int_equal(order, want);
    assert_true(want == 0 ? pa == pb : want < 0 ? pa <= pb : pa >= pb);
    bool exact;
    uint32_t bits = column_sort_bits(format, &exact);
    assert_true(bits == 64 || (pa >> bits == 0 && pb >> bits == 0));
    if (exact) assert_int_equal(pa == pb, want == 0);

    uint32_t na = column_hash_form(format, va, sa, fa, column_size_max(format));
    uint32_t nb = column_hash_form(format, vb, sb, fb, column_size_max(format));
    assert_true(na > 0 && nb > 0);
    assert_int_equal(na == nb && memcmp(fa, fb, na) == 0, want == 0);
    /* The form is a value of the type, and its own form. */
    assert_int_equal(column_compare(format, va, sa, fa, na), 0);
    assert_int_equal(column_hash_form(format, fa, na, vb, column_size_max(format)), na);
    assert_memory_equal(fa, vb, na);
    if (column_is_bytewise(format)) assert_int_equal(sa == sb && memcmp(va, fa, sa) != 0, 0);
}

static void test_order_and_forms(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof(order_cases) / sizeof(order_cases[0]); c++) {
        const struct order_case *o = &order_cases[c];
        int rank[10];
        int count = 0;
        for (; count < 10 && o->texts[count] != NULL; count++)
            rank[count] = count == 0 ? 0 : rank[count - 1] + ((o->equal >> count & 1) == 0);
        for (int i = 0; i < count; i++) {
            for (int k = 0; k < count; k++)
                compare_pair(&o->format, o->texts[i], o->texts[k],
                             rank[i] < rank[k] ? -1 : rank[i] > rank[k]);
        }
    }
}

static void test_decimal_sorts_as_bytes(void **state)
{
    const struct column_format format = DEC(DECIMAL, 7, 3);
    uint8_t before[8] = {0}, value[COLUMN_BYTES_MAX + 2];
    char text[24];

    (void)state;
    for (int i = -9999999; i <= 9999999; i += 997) {
        snprintf(text, sizeof(text), "%s%d.%03d", i < 0 ? "-" : "", abs(i) / 1000, abs(i) % 1000);
        uint32_t size = value_of(&format, text, value);
        assert_true(memcmp(before, value, size) < 0);
        memcpy(before, value, size);
    }
}

static void test_fold_is_stable_and_never_longer(void **state)
{
    const struct column_format format = STRING(VARCHAR, 4, UTF8MB4_GENERAL_CI);
    uint8_t value[5], form[5];

    (void)state;
    for (uint32_t c = 0x80; c < 0x800; c++) {
        assert_int_equal(column_fold(column_fold(c)), column_fold(c));
        assert_true(column_fold(c) < 0x800);
        value[0] = 2;
        value[1] = (uint8_t)(0xC0 | c >> 6);
        value[2] = (uint8_t)(0x80 | (c & 63));
        assert_in_range(column_hash_form(&format, value, 3, form, sizeof(form)), 2, 3);
    }
    assert_int_equal(column_fold(0xE9), 'E');
    assert_int_equal(column_fold(0x439), 0x419); /* short i is a letter of its own */
    assert_int_equal(column_fold(0x1F600), 0x1F600);
}

/* Any bytes at all: nothing reads or writes outside, whatever the answer. */
static void test_any_bytes_are_safe(void **state)
{
    uint32_t random = 12345;

    (void)state;
    for (int round = 0; round < 100000; round++) {
        const struct order_case *o =
            &order_cases[(uint32_t)round % (sizeof(order_cases) / sizeof(order_cases[0]))];
        uint32_t max = column_size_max(&o->format);
        random = random * 1664525 + 1013904223;
        uint32_t size = (random >> 8) % (max + 2);
        uint8_t *value = malloc(size + 1), *form = malloc(max);
        char *text = malloc(column_print_max(&o->format));
        for (uint32_t i = 0; i < size; i++) {
            random = random * 1664525 + 1013904223;
            value[i] = (uint8_t)(random >> 24);
        }
        if (size > 2 && round % 2 != 0 && column_array(&o->format) != COLUMN_FIXED) {
            value[0] = (uint8_t)(size - column_array(&o->format));
            value[1] = column_array(&o->format) == COLUMN_MEDIUM_VAR ? (uint8_t)((size - 2) >> 8)
                                                                     : value[1];
        }
        uint8_t *exact = realloc(value, size > 0 ? size : 1);
        uint32_t error = column_check(&o->format, exact, size);
        uint32_t printed =
            column_print(&o->format, 0, exact, size, text, column_print_max(&o->format));
        if (error == ERR_NONE) assert_int_not_equal(printed, UINT32_MAX);
        column_hash_form(&o->format, exact, size, form, max);
        column_compare(&o->format, exact, size, exact, size);
        column_sort_prefix(&o->format, exact, size);
        free(exact);
        free(form);
        free(text);
    }
}

static void test_print_flags(void **state)
{
    const struct column_format binary = STRING(VARBINARY, 8, NONE);
    const struct column_format bit = STRING(BIT, 8, NONE);
    const struct column_format string = STRING(VARCHAR, 8, UTF8MB4_BIN);
    uint8_t value[COLUMN_BYTES_MAX + 2];
    char text[64];

    (void)state;
    column_print(&binary, COLUMN_PRINT_HEX, value, value_of(&binary, "ab", value), text, 64);
    assert_string_equal(text, "0x6162");
    column_print(&bit, COLUMN_PRINT_BIT_H, value, value_of(&bit, "10", value), text, 64);
    assert_string_equal(text, "H'0xA");
    column_print(&string, COLUMN_PRINT_QUOTE, value, value_of(&string, "x", value), text, 64);
    assert_string_equal(text, "\"x\"");
    column_print(&string, 0, value, value_of(&string, "\n", value), text, 64);
    assert_string_equal(text, "0x0A");
    column_format_print(&string, text, 64);
    assert_string_equal(text, "Varchar(2;utf8mb4_bin)");
    assert_int_equal(column_format_print(&string, text, 5), 4);
    assert_int_equal(collation_find("UTF8MB4_BIN", 11), COLLATION_UTF8MB4_BIN);
    assert_int_equal(collation_find("latin1", 6), COLLATION_NONE);
}

static void test_errors_list(void **state)
{
    static const enum error_status statuses[ERROR_CLASS_COUNT] = {0, 2, 2, 2, 2, 2, 2, 1, 1, 1,
                                                                  1, 3, 2, 2, 3, 1, 2, 3, 1, 2};

    (void)state;
    for (uint32_t i = 0; i < error_count(); i++) {
        const struct error_entry *entry = error_at(i);
        assert_true(i == 0 || error_at(i - 1)->number < entry->number);
        assert_true(entry->number < 6000 || entry->number > 6999);
        assert_ptr_equal(error_find(entry->number), entry);
        assert_true(strlen(entry->text) > 5);
        assert_int_equal(error_status(entry->number), statuses[entry->class]);
    }
    for (uint32_t class = 0; class < ERROR_CLASS_COUNT; class ++) {
        assert_int_equal(error_status_of_class((enum error_class) class), statuses[class]);
        assert_int_equal(strlen(error_class_code((enum error_class) class)), 2);
    }
    assert_null(error_find(6000));
    assert_null(error_at(error_count()));
    /* The application's own refusals: nothing has happened. */
    assert_int_equal(error_get(6000)->class, ERROR_CLASS_UD);
    assert_int_equal(error_status(6999), ERROR_STATUS_PERMANENT);
    assert_int_equal(error_status(7000), ERROR_STATUS_UNKNOWN);
    assert_int_equal(ERR_ROW_NOT_FOUND, 626);
    assert_int_equal(ERR_ROW_EXISTS, 630);
    assert_int_equal(ERR_LOCK_TIMEOUT, 266);
    assert_int_equal(ERR_CLUSTER_FAILURE, 4009);
    assert_int_equal(error_status(ERR_CLUSTER_FAILURE), ERROR_STATUS_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_round_trip),
        cmocka_unit_test(test_stored_bytes),
        cmocka_unit_test(test_check_refuses),
        cmocka_unit_test(test_format_check),
        cmocka_unit_test(test_order_and_forms),
        cmocka_unit_test(test_decimal_sorts_as_bytes),
        cmocka_unit_test(test_fold_is_stable_and_never_longer),
        cmocka_unit_test(test_any_bytes_are_safe),
        cmocka_unit_test(test_print_flags),
        cmocka_unit_test(test_errors_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
