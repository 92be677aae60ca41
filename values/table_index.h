/* table_index.h -- the ordered and the unique indexes of a table definition. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "values/table_def.h"

/* An ordered or a unique index; `name` points into the definition. */
struct table_index {
    const char *name;
    uint8_t id; /* The index's id: unlike its number it stays the same when others are dropped. */
    uint16_t name_size;
    uint16_t column_count;
    /* of a unique index: the hidden table that it is; 0 until the table is made */
    uint32_t table_id;
    uint32_t version;
    uint16_t columns[INDEX_COLUMNS_MAX]; /* ids, most significant first */
};

/* 0, ERR_INDEX_NAME, ERR_INDEXES_TOO_MANY, ERR_INDEX_OBJECT (no columns, too many) or
   ERR_DEFINITION_TOO_BIG. What is wrong with the columns, table_def_check finds. */
uint32_t table_def_add_index(struct table_def *def, const char *name, uint32_t name_size,
                             const uint16_t *columns, uint32_t count);
/* Gives an index the id of those that are made in this version. */
void table_def_index_renew(struct table_def *def, uint32_t number);
/* Takes an index out; those behind it get other numbers. */
void table_def_remove_index(struct table_def *def, uint32_t number);
/* Indexes have numbers from 0 in the order in which they were added. False: no such one. */
bool table_def_index(const struct table_def *def, uint32_t number, struct table_index *index);
/* The number of the index with this name (case of ASCII letters ignored). False: there is none. */
bool table_def_index_find(const struct table_def *def, const char *name, uint32_t name_size,
                          uint32_t *number);
/* The index with this id. False: there is none. */
bool table_def_index_by_id(const struct table_def *def, uint32_t id, struct table_index *index);

/* The same for unique indexes, which have numbers of their own. ERR_INDEX_NAME: longer than
 * UNIQUE_NAME_MAX. */
uint32_t table_def_add_unique(struct table_def *def, const char *name, uint32_t name_size,
                              const uint16_t *columns, uint32_t count);
void table_def_remove_unique(struct table_def *def, uint32_t number);
bool table_def_unique(const struct table_def *def, uint32_t number, struct table_index *index);
/* The number of the unique index that is this table. False: none is. */
bool table_def_unique_of(const struct table_def *def, uint32_t table_id, uint32_t *number);
bool table_def_unique_find(const struct table_def *def, const char *name, uint32_t name_size,
                           uint32_t *number);
/* Says which table a unique index is. The index exists. */
void table_def_unique_set(struct table_def *def, uint32_t number, uint32_t table_id,
                          uint32_t version);
/*
 * The definition of that hidden table, made in `memory`: the index's columns are its primary key,
 * UNIQUE_KEY_COLUMN has the KEY section (attr.h) of the row in the base table. `def` was checked.
 * 0, ERR_BUFFER_SMALL, or what table_def_check says of it.
 */
#define UNIQUE_KEY_COLUMN "NDB$PK"
#define UNIQUE_KEY_PART   "NDB$" /* The column's position in the index follows. */
uint32_t table_def_of_unique(const struct table_def *def, uint32_t number, void *memory,
                             size_t memory_size, struct table_def **result);
