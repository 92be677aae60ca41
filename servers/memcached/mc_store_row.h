/* mc_store_row.h -- a row and its key: what a request names, what was read, and what is written. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "servers/memcached/mc_store.h"

struct mc_work;

#define MC_ROW_COLUMNS (2u * MC_COLUMNS_MAX + 16u)
#define MC_KEY_BYTES   264u /* Enough for most keys; longer ones are malloc'ed. */

/* Values of several columns in stored form. */
struct mc_key_part {
    uint32_t column, offset, size;
};
struct mc_key {
    uint32_t count;
    uint8_t *bytes; /* `inside`, or malloc'ed; NULL: none. */
    struct mc_key_part part[MC_COLUMNS_MAX];
    uint8_t inside[MC_KEY_BYTES];
};

/* What a row gets. */
struct mc_new_row {
    const char *text; /* NULL: none, it stands in parts. */
    uint32_t size;
    bool all; /* Flags and expiry are set, too. */
    uint32_t flags, expiry;
    uint32_t part_id; /* The id under which the parts stand, if text is NULL. */
};

/* Splits the key's text. MC_OK, MC_INVALID, MC_NO_MEMORY. */
enum mc_status mc_key_parse(struct mc_key *key, const struct mc_container *container,
                            const char *text, uint32_t size);
/* The next field of a text that has `size` bytes more; the last one is all that is left. */
uint32_t mc_field_size(const char *text, uint32_t size, bool last);
/* Room for so many bytes. False: no memory. */
bool mc_key_reserve(struct mc_key *key, uint32_t bytes);
void mc_key_free(struct mc_key *key);
/* The primary key of the row that was read: job->primary. False: no memory, or it was not read. */
bool mc_row_locate(struct mc_work *job);
/* An operation on the row job->primary; an insert of one that was looked for by another key has
   that key's columns. NULL: mc_work_undefined(). */
struct ndb_operation *mc_row_operation(struct mc_work *job, enum ndb_operation_type type,
                                       const struct ndb_operation_options *options);

/* Columns of the container that a read asks for, each once. Returns how many. */
uint32_t mc_row_columns(const struct mc_work *job, bool value, uint32_t columns[MC_ROW_COLUMNS]);
/* A column of the row that was read; *value NULL: it is NULL. False: it was not read. */
bool mc_row_value(const struct mc_work *job, uint32_t column, const void **value, uint32_t *size);
/* An integer column's; false: NULL, or not read. */
bool mc_row_integer(const struct mc_work *job, uint32_t column, uint64_t *number);
/* Has the row that was read expired? */
bool mc_row_expired(const struct mc_work *job);
/* Does its value stand in parts? *size: how long it is. */
bool mc_row_external(const struct mc_work *job, uint32_t *id, uint32_t *size);
/* Its value as text, in store->text: the size, or -1. */
int mc_row_text(const struct mc_work *job);
/* flags, cas and expiry; and with `value` the text. False: no memory, or no text. */
bool mc_row_result(struct mc_work *job, bool value);

/* Sets the columns in an operation. MC_OK, or what the answer is. */
enum mc_status mc_row_put(struct mc_work *job, struct ndb_operation *operation,
                          const struct mc_new_row *row);

/* Adds to a program: goes to `live` unless the row has expired. */
void mc_program_live(struct mc_work *job, struct ndb_program *program, uint32_t live);
/* Goes on only if the row has the request's CAS number. Uses the label. */
void mc_program_cas(struct mc_work *job, struct ndb_program *program, uint32_t label);
/* A CAS number in stored form: its size. Shorter columns have the lower bits. */
uint32_t mc_cas_in(const struct mc_work *job, uint64_t cas, uint8_t out[8]);
uint64_t mc_cas_of_column(const struct mc_work *job, uint64_t cas);
/* Sets the row's CAS number to `cas`. */
void mc_program_set_cas(struct mc_work *job, struct ndb_program *program, uint64_t cas);
