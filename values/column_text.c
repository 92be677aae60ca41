/* column_text.c -- column values from text and to text, as tools and CSV files write them. */
/* SPDX-License-Identifier: MIT */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "values/column_private.h"
#include "values/errors.h"

enum {
    FLOAT_TEXT_MAX = 400, /* longer spellings of a number are refused */
    FLOAT_PRINT_MAX = 32,
    INTEGER_PRINT_MAX = 24
};

/* What parse functions fill. */
struct output {
    uint8_t *bytes;
    uint32_t capacity;
    uint32_t size;
};

static uint32_t parse_integer(const struct column_format *format, const char *text, uint32_t size,
                              struct output *out)
{
    uint32_t bytes = integer_size(format->type);
    uint64_t limit = UINT64_MAX >> (64 - 8 * bytes);
    bool negative = size > 0 && text[0] == '-';
    uint32_t i = size > 0 && (text[0] == '-' || text[0] == '+') ? 1 : 0;
    uint64_t value = 0;
    bool overflow = false;

    if (integer_is_signed(format->type))
        limit = (limit >> 1) + (negative ? 1 : 0);
    else if (negative)
        limit = 0;
    if (i == size) return ERR_VALUE_INVALID;
    for (; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') return ERR_VALUE_INVALID;
        uint64_t digit = (uint64_t)(text[i] - '0');
        overflow = overflow || value > (limit - (digit > limit ? limit : digit)) / 10 ||
                   value * 10 + digit > limit;
        value = overflow ? 0 : value * 10 + digit;
    }
    if (overflow) return ERR_VALUE_OUT_OF_RANGE;
    store_le(out->bytes, bytes, negative ? 0 - value : value);
    out->size = bytes;
    return ERR_NONE;
}

/*
 * Numbers have a point here, whatever the locale of the application that this is a part of says:
 * what lies between these two runs in the "C" locale, of this thread only.
 */
struct plain_numbers {
    locale_t plain;
    locale_t before;
};

static struct plain_numbers plain_numbers_begin(void)
{
    struct plain_numbers numbers = {.plain = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
    if (numbers.plain != (locale_t)0) numbers.before = uselocale(numbers.plain);
    return numbers;
}

static void plain_numbers_end(struct plain_numbers numbers)
{
    if (numbers.plain == (locale_t)0) return;
    (void)uselocale(numbers.before);
    freelocale(numbers.plain);
}

static uint32_t parse_float(const struct column_format *format, const char *text, uint32_t size,
                            struct output *out)
{
    char copy[FLOAT_TEXT_MAX];
    char *end;

    /* Only plain decimal spellings: strtod would also take blanks, hex, inf and nan. */
    if (size == 0 || size >= sizeof(copy)) return ERR_VALUE_INVALID;
    for (uint32_t i = 0; i < size; i++) {
        if (text[i] == 0 || strchr("0123456789+-.eE", text[i]) == NULL) return ERR_VALUE_INVALID;
    }
    memcpy(copy, text, size);
    copy[size] = 0;
    struct plain_numbers numbers = plain_numbers_begin();
    if (format->type == COLUMN_FLOAT) {
        float value = strtof(copy, &end);
        uint32_t bits;
        memcpy(&bits, &value, sizeof(bits));
        store_le(out->bytes, 4, bits);
        out->size = 4;
    } else {
        double value = strtod(copy, &end);
        uint64_t bits;
        memcpy(&bits, &value, sizeof(bits));
        store_le(out->bytes, 8, bits);
        out->size = 8;
    }
    plain_numbers_end(numbers);
    if (end != copy + size) return ERR_VALUE_INVALID;
    /* Too large a number came out as infinity. */
    return column_check(format, out->bytes, out->size) == ERR_NONE ? ERR_NONE
                                                                   : ERR_VALUE_OUT_OF_RANGE;
}

static uint32_t hex_digit(char c)
{
    if (c >= '0' && c <= '9') return (uint32_t)(c - '0');
    if (c >= 'a' && c <= 'f') return (uint32_t)(c - 'a' + 10);
    if (c >= 'A' && c <= 'F') return (uint32_t)(c - 'A' + 10);
    return 16;
}

/* 0x... */
static bool is_hex(const char *text, uint32_t size)
{
    if (size < 3 || text[0] != '0' || (text[1] != 'x' && text[1] != 'X')) return false;
    for (uint32_t i = 2; i < size; i++) {
        if (hex_digit(text[i]) > 15) return false;
    }
    return true;
}

static uint32_t parse_string(const struct column_format *format, const char *text, uint32_t size,
                             struct output *out)
{
    uint32_t prefix = column_prefix_size(format);
    bool hex = !column_is_char(format->type) && is_hex(text, size) && size % 2 == 0;
    uint32_t length = hex ? size / 2 - 1 : size;
    uint8_t *content = out->bytes + prefix;

    if (format->type == COLUMN_CHAR) {
        while (length > format->length && text[length - 1] == ' ')
            length--; /* Blanks beyond the end are padding. */
    }
    if (length > format->length) return ERR_VALUE_TOO_LONG;
    if (out->capacity < (prefix != 0 ? prefix + length : format->length)) return ERR_BUFFER_SMALL;
    for (uint32_t i = 0; i < length; i++)
        content[i] = hex ? (uint8_t)(hex_digit(text[2 + 2 * i]) << 4 | hex_digit(text[3 + 2 * i]))
                         : (uint8_t)text[i];
    if (prefix != 0) {
        store_le(out->bytes, prefix, length);
        out->size = prefix + length;
    } else {
        memset(content + length, format->type == COLUMN_CHAR ? ' ' : 0, format->length - length);
        out->size = format->length;
    }
    uint32_t error = column_check(format, out->bytes, out->size);
    return error == ERR_VALUE_LENGTH ? ERR_VALUE_TOO_LONG : error; /* Too many characters. */
}

/* Sets bit `position` counted from the lowest; false when the column has no such bit. */
static bool set_bit(const struct column_format *format, uint64_t position, struct output *out)
{
    if (position >= format->length) return false;
    out->bytes[position / 8] |= (uint8_t)(1u << position % 8);
    return true;
}

/* Digits of 1 or 4 bits each, last one lowest. */
static uint32_t parse_bit_digits(const struct column_format *format, const char *text,
                                 uint32_t size, uint32_t bits, struct output *out)
{
    if (size == 0) return ERR_VALUE_INVALID;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t digit = hex_digit(text[size - 1 - i]);
        if (digit >= 1u << bits) return ERR_VALUE_INVALID;
        for (uint32_t k = 0; k < bits; k++) {
            if ((digit >> k & 1) != 0 && !set_bit(format, (uint64_t)i * bits + k, out))
                return ERR_VALUE_OUT_OF_RANGE;
        }
    }
    return ERR_NONE;
}

static uint32_t parse_bit_number(const struct column_format *format, const char *text,
                                 uint32_t size, struct output *out)
{
    static const struct column_format number = {.type = COLUMN_BIGUNSIGNED, .length = 1};
    uint8_t bytes[8];
    struct output value = {bytes, sizeof(bytes), 0};
    uint32_t error = parse_integer(&number, text, size, &value);

    for (uint32_t i = 0; error == ERR_NONE && i < 64; i++) {
        if ((bytes[i / 8] >> i % 8 & 1) != 0 && !set_bit(format, i, out))
            error = ERR_VALUE_OUT_OF_RANGE;
    }
    return error;
}

/* 0x1F, H'0x1F, b'101' or a decimal number of at most 64 bits. */
static uint32_t parse_bit(const struct column_format *format, const char *text, uint32_t size,
                          struct output *out)
{
    out->size = (format->length + 31) / 32 * 4;
    memset(out->bytes, 0, out->size);
    if (size > 2 && text[0] == 'H' && text[1] == '\'') {
        text += 2;
        size -= 2;
    }
    if (size > 3 && text[0] == 'b' && text[1] == '\'' && text[size - 1] == '\'')
        return parse_bit_digits(format, text + 2, size - 3, 1, out);
    if (is_hex(text, size)) return parse_bit_digits(format, text + 2, size - 2, 4, out);
    return parse_bit_number(format, text, size, out);
}

uint32_t column_parse(const struct column_format *format, const char *text, uint32_t text_size,
                      void *out, uint32_t out_size, uint32_t *size)
{
    struct output output = {out, out_size, 0};
    uint32_t error = column_format_check(format);

    *size = 0;
    if (error != ERR_NONE) return error;
    if (column_array(format) == COLUMN_FIXED && out_size < column_size_max(format))
        return ERR_BUFFER_SMALL;
    if (column_is_integer(format->type)) {
        error = parse_integer(format, text, text_size, &output);
    } else if (column_is_time(format->type)) {
        error = time_parse(format, text, text_size, out);
        output.size = column_size_max(format);
    } else if (format->type == COLUMN_DECIMAL || format->type == COLUMN_DECIMALUNSIGNED) {
        error = decimal_parse(format, text, text_size, out);
        output.size = column_size_max(format);
    } else if (format->type == COLUMN_FLOAT || format->type == COLUMN_DOUBLE) {
        error = parse_float(format, text, text_size, &output);
    } else if (format->type == COLUMN_BIT) {
        error = parse_bit(format, text, text_size, &output);
    } else {
        error = parse_string(format, text, text_size, &output);
    }
    if (error == ERR_NONE) *size = output.size;
    return error;
}

/* A text being written; a character that does not fit sets `full`. */
struct text {
    char *at;
    char *end; /* one byte is kept for the NUL */
    bool full;
};

static void put_char(struct text *t, char c)
{
    if (t->at < t->end)
        *t->at++ = c;
    else
        t->full = true;
}

static void put_bytes(struct text *t, const void *bytes, uint32_t size)
{
    if ((uint64_t)(t->end - t->at) < size) {
        t->full = true;
        return;
    }
    memcpy(t->at, bytes, size);
    t->at += size;
}

static void put_string(struct text *t, const char *string)
{
    put_bytes(t, string, (uint32_t)strlen(string));
}

static void print_integer(const struct column_format *format, const uint8_t *bytes, uint32_t size,
                          struct text *t)
{
    char number[INTEGER_PRINT_MAX];
    uint64_t value = load_le(bytes, size);
    uint64_t sign = 1ull << (8 * size - 1);

    if (integer_is_signed(format->type) && (value & sign) != 0)
        snprintf(number, sizeof(number), "-%llu",
                 (unsigned long long)((sign << 1) - value)); /* sign << 1 is 0 for 8 bytes. */
    else
        snprintf(number, sizeof(number), "%llu", (unsigned long long)value);
    put_string(t, number);
}

/* The shortest decimal text that reads back as the same number. */
static void print_float(const struct column_format *format, const uint8_t *bytes, struct text *t)
{
    char number[FLOAT_PRINT_MAX];
    struct plain_numbers numbers = plain_numbers_begin();

    if (format->type == COLUMN_FLOAT) {
        uint32_t bits = (uint32_t)load_le(bytes, 4);
        float value;
        memcpy(&value, &bits, sizeof(value));
        for (int digits = 6; digits <= 9; digits++) {
            snprintf(number, sizeof(number), "%.*g", digits, (double)value);
            float back = strtof(number, NULL);
            if (memcmp(&back, &value, sizeof(value)) == 0) break;
        }
    } else {
        uint64_t bits = load_le(bytes, 8);
        double value;
        memcpy(&value, &bits, sizeof(value));
        for (int digits = 15; digits <= 17; digits++) {
            snprintf(number, sizeof(number), "%.*g", digits, value);
            double back = strtod(number, NULL);
            if (memcmp(&back, &value, sizeof(value)) == 0) break;
        }
    }
    plain_numbers_end(numbers);
    put_string(t, number);
}

static void print_hex(const uint8_t *bytes, uint32_t size, struct text *t)
{
    put_string(t, "0x");
    for (uint32_t i = 0; i < size; i++) {
        put_char(t, "0123456789ABCDEF"[bytes[i] >> 4]);
        put_char(t, "0123456789ABCDEF"[bytes[i] & 15]);
    }
}

static bool is_printable(const uint8_t *bytes, uint32_t size, bool utf8)
{
    uint32_t characters;

    for (uint32_t i = 0; i < size; i++) {
        if (bytes[i] < 0x20 || bytes[i] == 0x7F || (bytes[i] >= 0x80 && !utf8)) return false;
    }
    return !utf8 || utf8_check(bytes, size, &characters);
}

static void print_string(const struct column_format *format, uint32_t flags, const uint8_t *bytes,
                         uint32_t size, struct text *t)
{
    const uint8_t *content;
    uint32_t length = column_content(format, bytes, size, &content);
    bool is_char = column_is_char(format->type);
    uint8_t padding = is_char ? ' ' : 0;
    bool cut =
        column_array(format) == COLUMN_FIXED || (is_char && format->collation != COLLATION_BINARY);

    while (cut && length > 0 && content[length - 1] == padding)
        length--;
    /* Text that looks like hex would be read back as hex. */
    bool hex =
        !is_printable(content, length, is_char) ||
        (!is_char && ((flags & COLUMN_PRINT_HEX) != 0 || is_hex((const char *)content, length)));
    if (hex && length > 0) {
        print_hex(content, length, t);
        return;
    }
    if ((flags & COLUMN_PRINT_QUOTE) != 0) put_char(t, '"');
    put_bytes(t, content, length);
    if ((flags & COLUMN_PRINT_QUOTE) != 0) put_char(t, '"');
}

static void print_bit(uint32_t flags, const uint8_t *bytes, uint32_t size, struct text *t)
{
    char word[12];

    put_string(t, (flags & COLUMN_PRINT_BIT_H) != 0 ? "H'0x" : "0x");
    while (size > 4 && load_le(bytes + size - 4, 4) == 0)
        size -= 4;
    snprintf(word, sizeof(word), "%X", (unsigned)load_le(bytes + size - 4, 4));
    put_string(t, word);
    for (size -= 4; size > 0; size -= 4) {
        snprintf(word, sizeof(word), "%08X", (unsigned)load_le(bytes + size - 4, 4));
        put_string(t, word);
    }
}

uint32_t column_print_max(const struct column_format *format)
{
    switch (format->type) {
    case COLUMN_CHAR:
    case COLUMN_VARCHAR:
    case COLUMN_LONGVARCHAR:
    case COLUMN_BINARY:
    case COLUMN_VARBINARY:
    case COLUMN_LONGVARBINARY:
        return 2 * format->length + 5;
    case COLUMN_BIT:
        return (format->length + 31) / 32 * 8 + 6;
    default:
        return COLUMN_DECIMAL_PRECISION_MAX + 5; /* The longest of the others. */
    }
}

uint32_t column_print(const struct column_format *format, uint32_t flags, const void *bytes,
                      uint32_t size, char *out, uint32_t out_size)
{
    struct text t = {out, out + (out_size > 0 ? out_size - 1 : 0), out_size == 0};
    char buffer[COLUMN_DECIMAL_PRECISION_MAX + 4];
    uint32_t length = 0;

    if (column_format_check(format) != ERR_NONE || size == 0 ||
        column_value_size(format, bytes, size) != size)
        return UINT32_MAX;
    if (column_is_integer(format->type)) {
        print_integer(format, bytes, size, &t);
    } else if (column_is_time(format->type)) {
        length = time_print(format, bytes, buffer);
    } else if (format->type == COLUMN_DECIMAL || format->type == COLUMN_DECIMALUNSIGNED) {
        length = decimal_print(format, bytes, buffer);
    } else if (format->type == COLUMN_FLOAT || format->type == COLUMN_DOUBLE) {
        print_float(format, bytes, &t);
    } else if (format->type == COLUMN_BIT) {
        print_bit(flags, bytes, size, &t);
    } else {
        print_string(format, flags, bytes, size, &t);
    }
    if (length == UINT32_MAX) return UINT32_MAX;
    put_bytes(&t, buffer, length);
    if (t.full) return UINT32_MAX;
    *t.at = 0;
    return (uint32_t)(t.at - out);
}
