/* record_state.h -- private: records, which say where a row of the application has its columns. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <ndb/ndb.h>
#include <stdatomic.h>
#include "api/core/api_dict.h"
#include "values/table_def.h"

struct record_field {
    const struct table_column *column;
    uint32_t id;
    uint32_t offset;
    uint32_t size;        /* Bytes of the member. */
    uint32_t null_offset; /* Byte of the null bit; NDB_NOT_NULLABLE = none. */
    uint32_t size_max;    /* Bytes of the longest stored value. */
    uint8_t null_mask;
    uint8_t prefix;   /* Length bytes of the stored value. */
    bool string;      /* NDB_FIELD_CSTRING */
    uint8_t pad;      /* What pads a fixed string: blank or zero. */
    bool fixed_words; /* The value is fixed, plain, and of whole words. */
};

#define RECORD_NO_FIELD UINT16_MAX

struct ndb_record {
    _Atomic uint32_t references;
    struct api_table *table;
    uint32_t row_size;
    uint32_t count;
    uint32_t unique;  /* 1 + number of the unique index whose key it has; 0 = the primary key. */
    bool all_columns; /* Reads may ask for ATTR_READ_ALL. */
    bool all_keys;
    uint32_t key_count;
    uint32_t key_words_max;
    uint32_t value_words_max; /* Words of all fields, with headers. */
    uint16_t key_field[TABLE_KEY_COLUMNS_MAX];
    uint16_t by_column[TABLE_COLUMNS_MAX];
    uint32_t read_attrs[TABLE_COLUMNS_MAX]; /* Headers in field order. */
    struct record_field field[];            /* In column order. */
};

/* KEY section of the row: words written, 0 and *error when a key column is missing or does not fit.
 */
uint32_t record_pack_key(const struct ndb_record *record, const void *row, uint32_t *out,
                         uint32_t *error);
/* ATTRINFO of a write without the key columns. Words written; UINT32_MAX and *error. */
uint32_t record_pack_values(const struct ndb_record *record, const void *row, const uint8_t *mask,
                            uint32_t *out, uint32_t *error);
/* ATTRINFO of a read. */
uint32_t record_pack_read(const struct ndb_record *record, const uint8_t *mask, uint32_t *out);
/* Does the row say that the column is NULL; does the member hold no more than the column does? */
bool record_is_null(const struct record_field *field, const void *row);
bool record_fits(const struct record_field *field, const void *row);
/* What a data node will say of the member's value: 0, or an error number. */
uint32_t record_check(const struct record_field *field, const void *row);
/* A row's pairs into the application's row. 0 or an error number. */
uint32_t record_unpack(const struct ndb_record *record, const uint32_t *pairs, uint32_t words,
                       void *row);
/* A column among pairs: false when it is not there or they are malformed. NULL value: *value NULL.
 */
bool pairs_find(const uint32_t *pairs, uint32_t words, uint32_t column, const void **value,
                uint32_t *size);
