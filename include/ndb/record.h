/* record.h -- the C client API: where columns stand in the application's rows. A part of ndb.h. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndb/value.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Records: where columns stand in the application's rows ---- */

/*
 * A row is any struct. A member holds the stored form of its column:
 *
 *   integers, float, double    the C type of that size (little endian); medium integers are 3 bytes
 *   char(n), binary(n)         char[n], padded with blanks / zero bytes
 *   decimals, dates, bits      uint8_t[size]
 *   varchar, varbinary         1 length byte (2 bytes little endian for the long ones), then the
 *                              content; the member has room for prefix + length bytes
 *                              (struct { uint8_t length; char data[20]; })
 *
 * With NDB_FIELD_CSTRING a char, varchar or binary column stands in a char[] member as a
 * NUL-terminated string instead: the library adds and removes prefix or padding; the member's size
 * bounds it (4216 when a value does not fit).
 */
#define NDB_NOT_NULLABLE  UINT32_MAX
#define NDB_FIELD_CSTRING 1u

struct ndb_field {
    const char *column; /* Name of the column; NULL: column_id says which. */
    uint32_t column_id;
    uint32_t offset; /* Offset of the member in the row. */
    uint32_t size; /* Size of the member; 0 = the column's (cannot be 0 with NDB_FIELD_CSTRING). */
    uint32_t null_offset; /* Byte that holds the null bit, NDB_NOT_NULLABLE = no null bit. A
                             nullable column without one cannot be NULL in this row: reading a NULL
                             is error 4203. */
    uint32_t null_bit;    /* 0..7; the bit is set when the value is NULL. */
    uint32_t flags;       /* NDB_FIELD_CSTRING */
    enum ndb_member_kind kind;
};

/* A column and the member that holds it. */
#define NDB_FIELD(type, member, column_name)                                                       \
    NDB_FIELD_OF(type, member, column_name, NDB_NOT_NULLABLE, 0u, 0u)
/* The same for a nullable column: its null bit is bit `bit` of byte array or integer member
 * `null_member`. */
#define NDB_FIELD_NULL(type, member, column_name, null_member, bit)                                \
    NDB_FIELD_OF(type, member, column_name, NDB_UINT32(offsetof(type, null_member) + (bit) / 8u),  \
                 (bit) % 8u, 0u)
/* A column that stands in a char[] as a NUL-terminated string. */
#define NDB_FIELD_STRING(type, member, column_name)                                                \
    NDB_FIELD_OF(type, member, column_name, NDB_NOT_NULLABLE, 0u, NDB_FIELD_CSTRING)
#define NDB_FIELD_STRING_NULL(type, member, column_name, null_member, bit)                         \
    NDB_FIELD_OF(type, member, column_name, NDB_UINT32(offsetof(type, null_member) + (bit) / 8u),  \
                 (bit) % 8u, NDB_FIELD_CSTRING)

/*
 * Compiles a mapping. `row_size` = sizeof the row. A member whose kind is told has just the type
 * and size that its column's stored form has: int32_t for INT, uint32_t for INT UNSIGNED, double
 * for DOUBLE; uint8_t[], or a struct of that size, for any type; an integer or bool for TINYINT.
 * Those of varchar and varbinary, and those that are not told, may be larger. Errors (in
 * ndb_error(ndb), whose detail names table, column, its type, the member's, and what would fit):
 * 4004 no such column, 4289 column given twice, 4330 member of another type or size, 4291 outside
 * the row, or sharing bytes of it with another member. Own thread of `ndb`; the record itself is
 * for any thread.
 */
NDB_API struct ndb_record *ndb_record_create(ndb_t *ndb, struct ndb_table *table,
                                             const struct ndb_field *fields, uint32_t count,
                                             uint32_t row_size);
/*
 * A record for keys of a unique index (ndb_table_find_unique()), with at least all of its columns:
 * as key_record of reads, updates and deletes it says which row by that key. Errors as above, and
 * 4243 no such index, 4292 a column of it is missing.
 */
NDB_API struct ndb_record *ndb_record_create_unique(ndb_t *ndb, struct ndb_table *table,
                                                    uint32_t unique, const struct ndb_field *fields,
                                                    uint32_t count, uint32_t row_size);
/* A record of all columns with offsets chosen by the library: see ndb_record_row_size,
 * ndb_record_field. */
NDB_API struct ndb_record *ndb_record_create_default(ndb_t *ndb, struct ndb_table *table);
/* Any thread, when no operation uses it any more. */
NDB_API void ndb_record_release(struct ndb_record *record);
/* Any thread. */
NDB_API uint32_t ndb_record_row_size(const struct ndb_record *record);
/* -1 when the record does not have the column. Any thread. */
NDB_API int ndb_record_field(const struct ndb_record *record, uint32_t column,
                             struct ndb_field *field);
/* Puts a stored value (or NULL: value NULL) into a row / text through ndb_value_parse. 0 or the
 * error's number. */
NDB_API int ndb_row_set(const struct ndb_record *record, void *row, uint32_t column,
                        const void *value, uint32_t size);
NDB_API int ndb_row_parse(const struct ndb_record *record, void *row, uint32_t column,
                          const char *text, uint32_t text_size);
/* The stored value in a row; *value NULL when it is NULL. 0 or the error's number. Not for
 * NDB_FIELD_CSTRING. */
NDB_API int ndb_row_get(const struct ndb_record *record, const void *row, uint32_t column,
                        const void **value, uint32_t *size);

#ifdef __cplusplus
}
#endif
