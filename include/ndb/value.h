/* value.h -- the C client API: values of columns. A part of ndb.h. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndb/dictionary.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Values ---- */

/* "Varchar(20;utf8mb4_bin)". Returns the length without NUL. Any thread. */
NDB_API uint32_t ndb_column_type_text(const struct ndb_table *table, uint32_t id, char *text,
                                      uint32_t size);

enum ndb_print_flags {
    NDB_PRINT_QUOTE = 1, /* Character and binary values between double quotes. */
    NDB_PRINT_HEX = 2    /* Binary values always as 0x... */
};
/* A stored value as text and a NUL. Returns the length, or -1: the buffer is too small (4278) or
 * the value malformed. Any thread. */
NDB_API int ndb_value_print(const struct ndb_table *table, uint32_t column, const void *value,
                            uint32_t value_size, uint32_t flags, char *text, uint32_t text_size);
/* Buffer that is always large enough for ndb_value_print of this column. Any thread. */
NDB_API uint32_t ndb_value_print_size(const struct ndb_table *table, uint32_t column);
/* Text to a stored value; *size is set. Returns 0 or the error's number: 4216 too long, 4313 not of
 * the column's type, 4314 out of its range, 4278 the buffer is too small. Any thread. */
NDB_API int ndb_value_parse(const struct ndb_table *table, uint32_t column, const char *text,
                            uint32_t text_size, void *value, uint32_t value_capacity,
                            uint32_t *size);
/* Is this a value of the column? 0 or the error's number. Any thread. */
NDB_API int ndb_value_check(const struct ndb_table *table, uint32_t column, const void *value,
                            uint32_t size);

/* Writes the form that all values have which equal this one as keys and in conditions (letters that
 * its collation does not tell apart, blanks at the end, a zero with a sign): two values are equal
 * exactly when their forms are the same bytes. The form is a stored value of the column, too, and
 * fits into info.size bytes; *size is set. 0 or the error's number, also that of ndb_value_check.
 * Any thread. */
NDB_API int ndb_value_form(const struct ndb_table *table, uint32_t column, const void *value,
                           uint32_t value_size, void *form, uint32_t form_capacity, uint32_t *size);

#ifdef __cplusplus
}
#endif
