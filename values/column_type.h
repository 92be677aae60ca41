/* column_type.h -- the column types: how values are stored, checked, compared, read and printed. */
/* SPDX-License-Identifier: MIT */
/*
 * A value is handed around as (const void *bytes, uint32_t size). The bytes are exactly what a row
 * stores: for varchar and its relatives they begin with the length (1 byte, or 2 bytes little
 * endian). NULL is not a value; whoever has rows keeps null bits.
 *
 * Functions that compare or normalise trust their input to have passed column_check; they stay in
 * bounds even if it has not. No function here allocates, keeps state or blocks; all of them may
 * run in any thread. "Error" results are numbers of values/errors.h, 0 = ERR_NONE.
 *
 * Stored forms:
 *   integers            little endian, two's complement, 1, 2, 3 (medium), 4 or 8 bytes
 *   float, double       IEEE 754 little endian; NaN and infinity are refused
 *   decimal(p,s)        groups of 9 digits in 4 bytes big endian, odd groups shortened, first bit
 *                       flipped and all bytes inverted when negative: memcmp sorts
 *   char(n), binary(n)  n characters' worth of bytes, padded with blanks (char) or zero bytes
 *   varchar, varbinary  1 length byte + bytes; long forms 2 length bytes + bytes
 *   bit(n)              32-bit words little endian, lowest bits first, unused bits zero
 *   date                3 bytes little endian: year << 9 | month << 5 | day
 *   year                1 byte: 0, or year - 1900
 *   time, datetime      the old forms: 3 bytes signed HHMMSS, 8 bytes YYYYMMDDHHMMSS, little endian
 *   timestamp           the old form: 4 bytes seconds since 1970 UTC, little endian
 *   time2 datetime2 timestamp2
 *                       3, 5, 4 bytes big endian + 0..3 bytes of fraction: memcmp sorts
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Numbers are the field's, on the wire and on disk. Blob (20), Text (21) and the two old decimals
   are known by name so that they can be refused by name. */
enum column_type {
    COLUMN_UNDEFINED = 0,
    COLUMN_TINYINT = 1,
    COLUMN_TINYUNSIGNED = 2,
    COLUMN_SMALLINT = 3,
    COLUMN_SMALLUNSIGNED = 4,
    COLUMN_MEDIUMINT = 5,
    COLUMN_MEDIUMUNSIGNED = 6,
    COLUMN_INT = 7,
    COLUMN_UNSIGNED = 8,
    COLUMN_BIGINT = 9,
    COLUMN_BIGUNSIGNED = 10,
    COLUMN_FLOAT = 11,
    COLUMN_DOUBLE = 12,
    COLUMN_OLDDECIMAL = 13,
    COLUMN_CHAR = 14,
    COLUMN_VARCHAR = 15,
    COLUMN_BINARY = 16,
    COLUMN_VARBINARY = 17,
    COLUMN_DATETIME = 18,
    COLUMN_DATE = 19,
    COLUMN_BLOB = 20,
    COLUMN_TEXT = 21,
    COLUMN_BIT = 22,
    COLUMN_LONGVARCHAR = 23,
    COLUMN_LONGVARBINARY = 24,
    COLUMN_TIME = 25,
    COLUMN_YEAR = 26,
    COLUMN_TIMESTAMP = 27,
    COLUMN_OLDDECIMALUNSIGNED = 28,
    COLUMN_DECIMAL = 29,
    COLUMN_DECIMALUNSIGNED = 30,
    COLUMN_TIME2 = 31,
    COLUMN_DATETIME2 = 32,
    COLUMN_TIMESTAMP2 = 33,
    COLUMN_TYPE_COUNT = 34
};

/* Numbers are the field's. */
enum collation {
    COLLATION_NONE = 0,                /* every type that is not char/varchar/longvarchar */
    COLLATION_UTF8MB4_GENERAL_CI = 45, /* case and accents ignored, see column_fold() */
    COLLATION_UTF8MB4_BIN = 46,        /* code point order */
    COLLATION_BINARY = 63              /* bytes, not checked for UTF-8 */
};

/* How the row stores the value. */
enum column_array {
    COLUMN_FIXED = 0,
    COLUMN_SHORT_VAR = 1, /* 1 length byte */
    COLUMN_MEDIUM_VAR = 2 /* 2 length bytes, little endian */
};

enum column_limits {
    COLUMN_BYTES_MAX = 30000, /* = longest row */
    COLUMN_SHORT_VAR_BYTES_MAX = 255,
    COLUMN_BITS_MAX = 4096,
    COLUMN_DECIMAL_PRECISION_MAX = 65,
    COLUMN_DECIMAL_SCALE_MAX = 30,
    COLUMN_DECIMAL_BYTES_MAX = 36, /* 65 digits split as badly as possible */
    COLUMN_FRACTION_DIGITS_MAX = 6
};

/* Everything about a column that decides how its values are stored. */
struct column_format {
    uint8_t type;      /* enum column_type */
    uint8_t collation; /* enum collation; COLLATION_NONE unless a char type */
    uint8_t precision; /* decimal: digits in all; time2, datetime2, timestamp2: fraction digits */
    uint8_t scale;     /* decimal: digits after the point */
    uint32_t length;   /* char and binary types: BYTES without the length prefix (characters times
                          column_char_size); bit: bits; all others 1 */
};

/* "Int", "Varchar", ... as tools print it; "Undefined" for numbers that are none. */
const char *column_type_name(uint32_t type);

/* "utf8mb4_bin", ...; "" for COLLATION_NONE, NULL for an unknown number. */
const char *collation_name(uint32_t collation);
/* The number of the collation with this name (any case), COLLATION_NONE if there is none. */
enum collation collation_find(const char *name, uint32_t name_size);

/* Bytes reserved for one character: 4 for utf8mb4, else 1. */
uint32_t column_char_size(const struct column_format *format);

enum column_array column_array(const struct column_format *format);
bool column_is_char(uint32_t type);    /* char, varchar, longvarchar: has a collation */
bool column_is_integer(uint32_t type); /* the ten integer types */
bool column_is_signed(uint32_t type);  /* five of the integer types */

/* True when equal values always have equal bytes, so that memcmp decides equality. False for
   float, double and for char types with a utf8mb4 collation. */
bool column_is_bytewise(const struct column_format *format);

/* Bytes of the longest stored value, with its length prefix. 0 for a format that is not valid. */
uint32_t column_size_max(const struct column_format *format);

/* Is this a format that this system stores? 0, or ERR_COLUMN_* / ERR_CHARSET_UNSUPPORTED. */
uint32_t column_format_check(const struct column_format *format);

/* Writes "Varchar(20;utf8mb4_bin)", "Decimal(10,2)", "Int", ... and a NUL.
   Returns the length without NUL; output is cut to out_size. */
uint32_t column_format_print(const struct column_format *format, char *out, uint32_t out_size);

/* Is this a value of that type? For bytes from outside: length, UTF-8, digits, dates, padding.
   0, ERR_VALUE_LENGTH (size or length prefix), ERR_STRING_INVALID (charset), or
   ERR_VALUE_INVALID (anything else). */
uint32_t column_check(const struct column_format *format, const void *bytes, uint32_t size);

/* The size of the value that begins at bytes: fixed size, or prefix + length from the prefix.
   Returns 0 if fewer than that many of `available` bytes are there or the length is too long. */
uint32_t column_value_size(const struct column_format *format, const void *bytes,
                           uint32_t available);

/* The content without the length prefix; *content points into bytes. */
uint32_t column_content(const struct column_format *format, const void *bytes, uint32_t size,
                        const uint8_t **content);

/* Writes the canonical form of a value: a stored value of the same type, such that two values are
   equal (column_compare == 0) exactly when their forms are the same bytes. Hash this. The form is
   never longer than column_size_max(). `out` may not overlap `bytes`. Returns its size, or 0
   when out_size is too small or the value is malformed. */
uint32_t column_hash_form(const struct column_format *format, const void *bytes, uint32_t size,
                          void *out, uint32_t out_size);

/* < 0, 0, > 0. A total order: numbers and times by value, binary types by bytes (shorter first),
   char types by folded code points, the shorter one padded with blanks. */
int column_compare(const struct column_format *format, const void *a, uint32_t a_size,
                   const void *b, uint32_t b_size);

/* Is this a pattern for LIKE on that column? 0 or ERR_STRING_INVALID. Only for char and binary
   types, as column_like(). */
uint32_t column_pattern_check(const struct column_format *format, const void *pattern,
                              uint32_t size);

/* Does the value match? % stands for any characters, _ for one, \ takes the next one as it is.
   Characters are code points, folded as the collation says, or bytes. A char value is matched
   without its padding. *budget goes down with every character looked at; at 0 the answer is false
   and means nothing. */
bool column_like(const struct column_format *format, const void *bytes, uint32_t size,
                 const void *pattern, uint32_t pattern_size, uint32_t *budget);

/* An order-preserving digest: prefix(a) < prefix(b) implies a < b, and a == b implies equal
   prefixes. For index nodes that want to decide most comparisons without the row. */
uint64_t column_sort_prefix(const struct column_format *format, const void *bytes, uint32_t size);
/* All prefixes of the format are below 2^bits: how many bits. *exact: equal prefixes mean equal
   values. */
uint32_t column_sort_bits(const struct column_format *format, bool *exact);

/* Text, as people and CSV files write it, to a stored value. On success *size is its size.
   Accepts what column_print writes, and for dates and times also a blank or T instead of the slash.
   Too many decimals are rounded half away from zero (decimal, time fractions).
   0, ERR_VALUE_TOO_LONG, ERR_VALUE_OUT_OF_RANGE, ERR_VALUE_INVALID, ERR_STRING_INVALID,
   ERR_BUFFER_SMALL. */
uint32_t column_parse(const struct column_format *format, const char *text, uint32_t text_size,
                      void *out, uint32_t out_size, uint32_t *size);

/* Option bits of column_print. */
enum column_print_flags {
    COLUMN_PRINT_QUOTE = 1, /* char and binary types between double quotes, as tools show them */
    COLUMN_PRINT_HEX = 2,   /* binary types always as 0x... */
    COLUMN_PRINT_BIT_H = 4  /* bit as H'0x... , the form of the dictionary tools */
};

/* Longest text that column_print can write for this format, with NUL. */
uint32_t column_print_max(const struct column_format *format);

/* Writes the value as text and a NUL. Without flags, column_parse reads the text back to an equal
   value (exception: char content that is not printable is written as 0x hex, which is read as hex
   by the binary types only). Returns the length without the NUL, or UINT32_MAX when out_size is
   too small or the value is malformed. */
uint32_t column_print(const struct column_format *format, uint32_t flags, const void *bytes,
                      uint32_t size, char *out, uint32_t out_size);

/* The folding of utf8mb4_general_ci for one code point. What it does, exactly:
   - ASCII, Latin-1 and Latin Extended-A letters lose case and accent (e acute, E, e are equal;
     sharp s counts as s, ligatures and eth, thorn, o-slash, d/h/l/t with stroke lose only case);
   - Greek letters lose case and tonos/dialytika, final sigma is sigma;
   - Cyrillic letters (U+0400..U+052F) lose case, io and ie-grave become ie, i-grave becomes i;
   - every other code point stands for itself.
   The result never has a longer UTF-8 form than the argument. */
uint32_t column_fold(uint32_t code_point);
