/* csv_row.h -- splits CSV and TSV text into rows and fields. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Written here because the usual library (libcsv) has one-character separators, no escape character
 * and no \N, reports neither the raw text of a row nor where it ends, and copies every byte; an
 * import needs the first four for LOAD DATA's formats and its reject file, and the speed.
 *
 * A row ends with line_end, its fields with field_end. A field that begins with the quote goes to
 * the next single quote; a doubled quote in it is one. After the escape character, 0 b n r t Z are
 * NUL, backspace, newline, carriage return, tab, Ctrl-Z, and every other character is itself. An
 * unquoted field that is just escape and N is NULL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CSV_SEPARATOR_MAX 8
#define CSV_FIELDS_MAX    1024

struct csv_format {
    char field_end[CSV_SEPARATOR_MAX]; /* At least one byte. */
    char line_end[CSV_SEPARATOR_MAX];
    uint32_t field_end_size, line_end_size;
    char quote;        /* 0: none */
    char escape;       /* 0: none */
    bool cr_optional;  /* A carriage return before line_end belongs to it. */
    uint8_t stop[256]; /* Made by csv_format_prepare: bytes at which an unquoted field may end. */
};

/* Call after the other members have been set. */
void csv_format_prepare(struct csv_format *format);

struct csv_field {
    const char *text; /* Into the row's text or the row's own memory; not terminated. */
    uint32_t size;
    bool quoted;
    bool null;
};

struct csv_row {
    uint32_t count;
    size_t raw_size;     /* Bytes of the row without line_end. */
    const char *problem; /* NULL, or why the row cannot be used (a constant). */
    char *scratch;       /* Fields without their escapes. */
    size_t scratch_size, scratch_used;
    struct csv_field fields[CSV_FIELDS_MAX];
};

/* Reads the row that begins at text[0]. Returns the bytes to go on by; 0: the row does not end in
   these `size` bytes (only when more may follow, that is, not at_end). -1: memory is out. Fields
   are valid until text or the row is used again. */
int64_t csv_row_read(struct csv_row *row, const struct csv_format *format, const char *text,
                     size_t size, bool at_end);
/* Frees what the row owns. */
void csv_row_free(struct csv_row *row);

/* The text of an option as a separator: \t \n \r \\ \0 and \xHH. Its size, or -1: empty, too long
   or malformed. */
int csv_separator(const char *option, char out[CSV_SEPARATOR_MAX]);
