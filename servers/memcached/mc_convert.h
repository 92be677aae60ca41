/* mc_convert.h -- columns' values: as text, as numbers and as times, from and to stored form. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "servers/memcached/mc_config.h"

/*
 * The stored form of `text` for a column, into `out` (of the column's size and more). Numbers,
 * decimals, dates as by ndb_value_parse; TIMESTAMP as Unix seconds; char and binary types byte by
 * byte. Returns the stored size, or -1: it does not fit in length (*too_long), or is no such value.
 */
int mc_convert_in(const struct ndb_table *table, uint32_t column, const char *text, uint32_t size,
                  void *out, uint32_t room, bool *too_long);
/* And back: appended to `out`, of `room` bytes. Returns the text's size or -1: no room, or a type
   that has no such text. CHAR without the blanks at its end. */
int mc_convert_out(const struct ndb_table *table, uint32_t column, const void *value, uint32_t size,
                   char *out, uint32_t room);
/* Can it be a key's or a value's column? */
bool mc_convert_knows(enum ndb_column_type type);

bool mc_is_number(const char *text, uint32_t size);
bool mc_is_nullable(const struct mc_container *container, uint32_t column);
/* Can the text stand in the increment column alone, and come back as it is? */
bool mc_is_count(const struct mc_container *container, const char *text, uint32_t size);
/* The stored form of an integer column: bytes written, 0: it does not fit. */
uint32_t mc_integer_in(const struct ndb_table *table, uint32_t column, uint64_t number, void *out);
bool mc_integer_out(const struct ndb_table *table, uint32_t column, const void *value,
                    uint32_t size, uint64_t *number);
/* An expiry in stored form, 0 as well: bytes written, 0: the column's type cannot be that. */
uint32_t mc_expiry_in(const struct ndb_table *table, uint32_t column, uint32_t expiry, void *out);
uint32_t mc_expiry_out(const struct ndb_table *table, uint32_t column, const void *value,
                       uint32_t size);
