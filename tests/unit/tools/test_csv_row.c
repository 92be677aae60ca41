/* test_csv_row.c -- splitting of CSV and TSV text. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/csv_row.h"

static struct csv_format csv_format(void)
{
    struct csv_format format = {.field_end = ",",
                                .field_end_size = 1,
                                .line_end = "\n",
                                .line_end_size = 1,
                                .quote = '"',
                                .escape = '\\',
                                .cr_optional = true};
    csv_format_prepare(&format);
    return format;
}

static struct csv_format tsv_format(void)
{
    struct csv_format format = {.field_end = "\t",
                                .field_end_size = 1,
                                .line_end = "\n",
                                .line_end_size = 1,
                                .escape = '\\'};
    csv_format_prepare(&format);
    return format;
}

/* All rows of `text` as "field|field/": NULL is <N>, quoted fields in [], problems as !text. */
static void split(const struct csv_format *format, const char *text, size_t size, char *out)
{
    struct csv_row *row = calloc(1, sizeof(*row));
    const char *p = text;
    char *o = out;

    assert_non_null(row);
    for (;;) {
        /* Exact copies, so that memory checkers see a read past the end. */
        size_t rest = size - (size_t)(p - text);
        char *copy = malloc(rest == 0 ? 1 : rest);
        assert_non_null(copy);
        memcpy(copy, p, rest);
        int64_t step = csv_row_read(row, format, copy, rest, true);
        if (step <= 0) {
            free(copy);
            break;
        }
        if (row->problem != NULL) o += sprintf(o, "!%s ", row->problem);
        for (uint32_t i = 0; i < row->count; i++) {
            const struct csv_field *field = &row->fields[i];
            if (i > 0) *o++ = '|';
            if (field->null) {
                o += sprintf(o, "<N>");
            } else {
                o += sprintf(o, field->quoted ? "[%.*s]" : "%.*s", (int)field->size, field->text);
            }
        }
        *o++ = '/';
        p += step;
        free(copy);
    }
    *o = '\0';
    assert_int_equal((int)(p - text), (int)size);
    csv_row_free(row);
    free(row);
}

static void expect(const struct csv_format *format, const char *text, const char *expected)
{
    char out[1000];

    split(format, text, strlen(text), out);
    assert_string_equal(out, expected);
}

static void test_plain(void **state)
{
    struct csv_format csv = csv_format();
    struct csv_format tsv = tsv_format();

    (void)state;
    expect(&csv, "a,b,c\n1,2,3\n", "a|b|c/1|2|3/");
    expect(&csv, "a,b", "a|b/");
    expect(&csv, "a,\n,b\n\n", "a|/|b//");
    expect(&csv, "", "");
    expect(&tsv, "a\tb,c\t\"d\"\n", "a|b,c|\"d\"/");
}

static void test_quotes(void **state)
{
    struct csv_format csv = csv_format();

    (void)state;
    expect(&csv, "\"a\",\"b,c\",\"d\"\"e\"\n", "[a]|[b,c]|[d\"e]/");
    expect(&csv, "\"two\nlines\",x\n", "[two\nlines]|x/");
    expect(&csv, "\"\",\"\"\"\"\n", "[]|[\"]/");
    expect(&csv, "a\"b,c\n", "a\"b|c/");
    expect(&csv, "\"a\"x,b\nc,d\n", "!text follows a closing quote [a]|b/c|d/");
    expect(&csv, "\"a\"x\nc,d\n", "!text follows a closing quote [a]/c|d/");
    expect(&csv, "a,\"b\n", "!a quote is not closed a|[b\n]/");
}

static void test_escapes(void **state)
{
    struct csv_format csv = csv_format();
    struct csv_format tsv = tsv_format();

    (void)state;
    expect(&csv, "a\\,b,\\\"c,\\n\n", "a,b|\"c|\n/");
    expect(&csv, "\"a\\\"b\",\"\\N\"\n", "[a\"b]|[N]/");
    expect(&csv, "\\N,\\NN,x\\N\n", "<N>|NN|xN/");
    expect(&tsv, "\\N\ta\\tb\t\\\\N\n", "<N>|a\tb|\\N/");
    expect(&tsv, "a\\\nb\n", "a\nb/");
    expect(&tsv, "a\\", "a\\/");
}

static void test_carriage_return(void **state)
{
    struct csv_format csv = csv_format();
    struct csv_format tsv = tsv_format();

    (void)state;
    expect(&csv, "a,b\r\n\"c\",\"d\"\r\n\\N,\\N\r\n", "a|b/[c]|[d]/<N>|<N>/");
    expect(&csv, "a,b\r", "a|b/");
    expect(&csv, "a,\"b\r\"\r", "a|[b\r]/");
    expect(&tsv, "a\tb\r\n", "a|b\r/");
}

static void test_long_separators(void **state)
{
    struct csv_format format = {.field_end = "||",
                                .field_end_size = 2,
                                .line_end = "<>\n",
                                .line_end_size = 3,
                                .quote = '\''};

    (void)state;
    csv_format_prepare(&format);
    expect(&format, "a|b||c<d<>\n'x||y'||z\\N<>\n", "a|b|c<d/[x||y]|z\\N/");
}

/* Whatever part of the text is there: either "more" or the same row as with all of it. */
static void test_every_prefix(void **state)
{
    static const char text[] = "\"a\"\"b\",c\\,d,\\N,\"e\\\"f\",g\r\nnext,row\n";
    struct csv_format format = csv_format();
    struct csv_row *row = calloc(1, sizeof(*row));
    size_t first_size = (size_t)(strchr(text, '\n') + 1 - text);

    (void)state;
    assert_non_null(row);
    for (size_t size = 0; size < sizeof(text); size++) {
        char *copy = malloc(size + 1);
        assert_non_null(copy);
        memcpy(copy, text, size);
        int64_t step = csv_row_read(row, &format, copy, size, false);
        if (size < first_size) {
            assert_int_equal(step, 0);
        } else {
            assert_int_equal(step, (int64_t)first_size);
            assert_int_equal(row->count, 5);
            assert_null(row->problem);
            assert_int_equal(row->fields[0].size, 3);
            assert_true(row->fields[2].null);
            assert_int_equal(row->fields[4].size, 1);
        }
        free(copy);
    }
    csv_row_free(row);
    free(row);
}

static void test_too_many_fields(void **state)
{
    struct csv_format format = csv_format();
    struct csv_row *row = calloc(1, sizeof(*row));
    char text[2 * CSV_FIELDS_MAX + 8];

    (void)state;
    assert_non_null(row);
    memset(text, ',', sizeof(text));
    text[sizeof(text) - 1] = '\n';
    assert_int_equal(csv_row_read(row, &format, text, sizeof(text), true), (int64_t)sizeof(text));
    assert_string_equal(row->problem, "too many fields");
    text[CSV_FIELDS_MAX - 1] = '\n';
    assert_int_equal(csv_row_read(row, &format, text, sizeof(text), true), CSV_FIELDS_MAX);
    assert_int_equal(row->count, CSV_FIELDS_MAX);
    assert_null(row->problem);
    csv_row_free(row);
    free(row);
}

static void test_separator_option(void **state)
{
    char out[CSV_SEPARATOR_MAX];

    (void)state;
    assert_int_equal(csv_separator("\\t", out), 1);
    assert_int_equal(out[0], '\t');
    assert_int_equal(csv_separator("\\r\\n", out), 2);
    assert_memory_equal(out, "\r\n", 2);
    assert_int_equal(csv_separator("\\x1f;", out), 2);
    assert_memory_equal(out, "\x1f;", 2);
    assert_int_equal(csv_separator("", out), -1);
    assert_int_equal(csv_separator("\\x1", out), -1);
    assert_int_equal(csv_separator("123456789", out), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),           cmocka_unit_test(test_quotes),
        cmocka_unit_test(test_escapes),         cmocka_unit_test(test_carriage_return),
        cmocka_unit_test(test_long_separators), cmocka_unit_test(test_every_prefix),
        cmocka_unit_test(test_too_many_fields), cmocka_unit_test(test_separator_option)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
