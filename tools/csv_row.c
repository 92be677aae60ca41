/* csv_row.c -- splits CSV and TSV text into rows and fields. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/csv_row.h"

#include <stdlib.h>
#include <string.h>

void csv_format_prepare(struct csv_format *format)
{
    memset(format->stop, 0, sizeof(format->stop));
    format->stop[(uint8_t)format->field_end[0]] = 1;
    format->stop[(uint8_t)format->line_end[0]] = 1;
    if (format->escape != 0) format->stop[(uint8_t)format->escape] = 1;
}

void csv_row_free(struct csv_row *row)
{
    free(row->scratch);
    row->scratch = NULL;
    row->scratch_size = 0;
}

/* Where reading stands. */
struct cursor {
    struct csv_row *row;
    const struct csv_format *format;
    const char *p, *end;
    bool at_end;
    bool incomplete; /* The answer depends on bytes that are not here yet. */
};

/* Is `text` at the cursor? Marks incomplete when it may be, but only its first part is here. */
static bool is_at(struct cursor *cursor, const char *p, const char *text, uint32_t size)
{
    size_t rest = (size_t)(cursor->end - p);

    if (rest >= size) return memcmp(p, text, size) == 0;
    if (rest > 0 && !cursor->at_end && memcmp(p, text, rest) == 0) cursor->incomplete = true;
    return false;
}

static bool ends_field(struct cursor *cursor, const char *p)
{
    const struct csv_format *format = cursor->format;

    return is_at(cursor, p, format->field_end, format->field_end_size);
}

static bool ends_line(struct cursor *cursor, const char *p)
{
    const struct csv_format *format = cursor->format;

    return is_at(cursor, p, format->line_end, format->line_end_size);
}

static char unescape(char c)
{
    switch (c) {
    case '0':
        return '\0';
    case 'b':
        return '\b';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'Z':
        return '\x1A';
    default:
        return c;
    }
}

/* Fields never have more bytes than the row's text, so `size` bytes are enough for all of them. */
static bool reserve(struct csv_row *row, size_t size)
{
    if (row->scratch_size >= size) return true;
    char *grown = realloc(row->scratch, size * 2);
    if (grown == NULL) return false;
    row->scratch = grown;
    row->scratch_size = size * 2;
    return true;
}

/* A field with escapes or doubled quotes: copies from->p on to the scratch memory. */
static void read_slowly(struct cursor *cursor, struct csv_field *field)
{
    struct csv_row *row = cursor->row;
    const struct csv_format *format = cursor->format;
    char *out = row->scratch + row->scratch_used;
    char *start = out;
    const char *p = cursor->p;
    bool closed = !field->quoted;

    while (p < cursor->end && !cursor->incomplete) {
        if (field->quoted && *p == format->quote) {
            if (p + 1 == cursor->end && !cursor->at_end) cursor->incomplete = true;
            if (p + 1 < cursor->end && p[1] == format->quote) {
                *out++ = format->quote;
                p += 2;
                continue;
            }
            p++;
            closed = true;
            break;
        }
        if (format->escape != 0 && *p == format->escape && p + 1 < cursor->end) {
            *out++ = unescape(p[1]);
            p += 2;
            continue;
        }
        if (!field->quoted && (ends_field(cursor, p) || ends_line(cursor, p))) break;
        *out++ = *p++;
    }
    if (p == cursor->end && !cursor->at_end) cursor->incomplete = true;
    if (!closed) row->problem = "a quote is not closed";
    field->text = start;
    field->size = (uint32_t)(out - start);
    row->scratch_used += field->size;
    cursor->p = p;
}

/* The common quoted field: nothing in it has to be changed. False: read it slowly. */
static bool read_quoted_fast(struct cursor *cursor, struct csv_field *field)
{
    const char *start = cursor->p;
    const char *close = memchr(start, cursor->format->quote, (size_t)(cursor->end - start));

    if (close == NULL || (close + 1 == cursor->end && !cursor->at_end)) return false;
    if (close + 1 < cursor->end && close[1] == cursor->format->quote) return false;
    if (cursor->format->escape != 0 &&
        memchr(start, cursor->format->escape, (size_t)(close - start)) != NULL)
        return false;
    field->text = start;
    field->size = (uint32_t)(close - start);
    cursor->p = close + 1;
    return true;
}

static void read_unquoted(struct cursor *cursor, struct csv_field *field)
{
    const struct csv_format *format = cursor->format;
    const char *start = cursor->p;
    const char *p = start;

    for (;; p++) {
        while (p < cursor->end && format->stop[(uint8_t)*p] == 0)
            p++;
        if (p == cursor->end) break;
        if (format->escape != 0 && *p == format->escape) {
            read_slowly(cursor, field); /* From the start again; such fields are few. */
            size_t raw = (size_t)(cursor->p - start);
            if (format->cr_optional && raw == 3 && start[2] == '\r') raw--;
            field->null = raw == 2 && start[0] == format->escape && start[1] == 'N';
            return;
        }
        if (ends_field(cursor, p) || ends_line(cursor, p) || cursor->incomplete) break;
    }
    if (p == cursor->end && !cursor->at_end) cursor->incomplete = true;
    field->text = start;
    field->size = (uint32_t)(p - start);
    cursor->p = p;
}

/* A last field that is not quoted holds the carriage return of the line's end, if there is one. */
static void drop_cr(struct csv_row *row, const char *text)
{
    struct csv_field *field = &row->fields[row->count - 1];

    if (row->raw_size > 0 && text[row->raw_size - 1] == '\r' && !field->quoted && field->size > 0 &&
        field->text[field->size - 1] == '\r')
        field->size--;
}

/* The bytes up to the next field, one more field in the row. */
static void read_field(struct cursor *cursor)
{
    struct csv_row *row = cursor->row;
    const struct csv_format *format = cursor->format;
    struct csv_field *field = &row->fields[row->count];

    *field = (struct csv_field){0};
    if (format->quote != 0 && cursor->p < cursor->end && *cursor->p == format->quote) {
        cursor->p++;
        field->quoted = true;
        if (!read_quoted_fast(cursor, field)) read_slowly(cursor, field);
    } else {
        read_unquoted(cursor, field);
    }
    row->count++;
}

/* After a field: past its end. True: it was the last one of the row. */
static bool pass_end(struct cursor *cursor)
{
    struct csv_row *row = cursor->row;
    const struct csv_format *format = cursor->format;

    if (format->cr_optional && cursor->p < cursor->end && *cursor->p == '\r' &&
        (ends_line(cursor, cursor->p + 1) || cursor->p + 1 == cursor->end)) {
        if (cursor->p + 1 == cursor->end && !cursor->at_end) cursor->incomplete = true;
        cursor->p++;
    }
    if (cursor->p == cursor->end) {
        if (!cursor->at_end) cursor->incomplete = true;
        return true;
    }
    if (ends_line(cursor, cursor->p)) return true;
    if (ends_field(cursor, cursor->p)) {
        cursor->p += format->field_end_size;
        return false;
    }
    /* Only after a closing quote. Go on at the next end, so that the following rows are right. */
    row->problem = "text follows a closing quote";
    while (cursor->p < cursor->end && !ends_field(cursor, cursor->p) &&
           !ends_line(cursor, cursor->p) && !cursor->incomplete)
        cursor->p++;
    if (cursor->p == cursor->end || ends_line(cursor, cursor->p)) {
        if (cursor->p == cursor->end && !cursor->at_end) cursor->incomplete = true;
        return true;
    }
    cursor->p += format->field_end_size;
    return false;
}

int64_t csv_row_read(struct csv_row *row, const struct csv_format *format, const char *text,
                     size_t size, bool at_end)
{
    struct cursor cursor = {row, format, text, text + size, at_end, false};
    bool last = false;

    row->count = 0;
    row->problem = NULL;
    row->scratch_used = 0;
    if (size == 0) return 0;
    if (!reserve(row, size)) return -1;
    while (!last && !cursor.incomplete) {
        if (row->count == CSV_FIELDS_MAX) {
            row->problem = "too many fields";
            row->count--; /* The rest goes through the last field. */
        }
        read_field(&cursor);
        if (!cursor.incomplete) last = pass_end(&cursor);
    }
    if (cursor.incomplete) return 0;
    row->raw_size = (size_t)(cursor.p - text);
    if (format->cr_optional) drop_cr(row, text);
    if (cursor.p < cursor.end) cursor.p += format->line_end_size;
    return cursor.p - text;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int csv_separator(const char *option, char out[CSV_SEPARATOR_MAX])
{
    int size = 0;

    for (const char *p = option; *p != '\0'; p++) {
        if (size == CSV_SEPARATOR_MAX) return -1;
        if (*p != '\\' || p[1] == '\0') {
            out[size++] = *p;
        } else if (*++p == 'x') {
            int high = hex_digit(p[1]);
            int low = high < 0 ? -1 : hex_digit(p[2]);
            if (low < 0) return -1;
            out[size++] = (char)(high * 16 + low);
            p += 2;
        } else {
            out[size++] = unescape(*p);
        }
    }
    return size == 0 ? -1 : size;
}
