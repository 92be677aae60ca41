/* table_wire.h -- the wire form of table definitions, which table_encode.c writes and table_decode.c
 * reads. */
/* SPDX-License-Identifier: MIT */
/*
 * Wire form, in 32-bit words; strings and default values are padded to words with zero bytes:
 *
 *   magic, words in all, table id, version, flags, balance, fragment count, column count,
 *   max rows low, max rows high, database size | table size << 16, database, table,
 *   then for each column:
 *   type | collation << 8 | precision << 16 | scale << 24, length,
 *   flags | name size << 8 | default size << 16, name, default
 *   and, if there are indexes, which the magic says: how many ordered ones, then for each:
 *   name size | (id - number) << 8 | column count << 16, columns (one per half word), name
 *   and, with unique indexes or in the table of one, which the magic says too: base table's id and
 *   version, how many unique ones, then for each: table id, version, and the same as above
 *
 * The magic changes when the form does; there is one spelling of each definition and no slack.
 */
#pragma once

#include "values/attr.h"
#include "values/table_def.h"

enum {
    TABLE_DEF_MAGIC = 0x3142544E,         /* "NTB1" */
    TABLE_DEF_MAGIC_INDEXES = 0x3242544E, /* "NTB2" */
    TABLE_DEF_MAGIC_UNIQUE = 0x3342544E,  /* "NTB3" */
    HEADER_WORDS = 11,
    COLUMN_WORDS = 3
};
