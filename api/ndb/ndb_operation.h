/* ndb_operation.h -- operations of a transaction while they are defined: by record
 * (ndb_operation.c) or column by column (ndb_operation_columns.c). */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "api/ndb/ndb_private.h"

/* The error of a call that defines an operation. NULL */
struct ndb_operation *operation_refuse(struct ndb_transaction *t, uint32_t code,
                                       const char *detail);

/* An empty one, NULL: no memory. It belongs to nobody until it is appended. */
struct ndb_operation *operation_take(struct ndb_transaction *t);
void operation_append(struct ndb_transaction *t, struct ndb_operation *operation);
/* Recycled with its buffers, unless they have grown large. */
void operation_free(ndb_t *ndb, struct ndb_operation *operation);

/* Room for so many words of the core's next operation, NULL with the transaction's error. */
uint32_t *operation_begin(struct ndb_transaction *t, uint32_t words);

bool operation_options_valid(enum ndb_operation_type type,
                             const struct ndb_operation_options *options);
void operation_core_options(struct api_op_options *out, enum ndb_operation_type type,
                            const struct ndb_operation_options *options);

/* The program of an operation, and where its result goes. 0 or an error. */
uint32_t operation_program_error(enum ndb_operation_type type, const struct api_table *table,
                                 const struct ndb_operation_options *options);
/* Words that the program and the result need in front of the values. */
uint32_t operation_program_room(const struct ndb_operation_options *options);
/* Program and reads in front of values: the words written. */
uint32_t operation_pack_program(const uint32_t *program, uint32_t count, const uint32_t *reads,
                                uint32_t read_words, uint32_t *out);

/* A new row of key columns only: names a key column, so that the section is not empty. The key
 * stands at `key`. The words written. */
uint32_t operation_name_key(const struct api_table *table, const uint32_t *key, uint32_t key_words,
                            uint32_t *out);

/* Operations that are defined column by column end here; the transaction has the first error. */
void operations_seal(struct ndb_transaction *t);
/* The operation's error is this one, and says more. */
bool operation_has_detail(const struct ndb_operation *operation, uint32_t code);
