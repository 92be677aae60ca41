/* program_builder.h -- the client's builders for tests that have tables but no cluster. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <ndb/ndb.h>

struct table_def;

/* A table handle for the builders; `def` must live longer. */
struct ndb_table *builder_table(struct table_def *def);
void builder_table_free(struct ndb_table *table);
ndb_t *builder_ndb(void);
const uint32_t *builder_words(const struct ndb_program *program, uint32_t *count);
