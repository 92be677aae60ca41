/* program_builder.c -- a table handle and an ndb_t that only the builders can use. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/program_builder.h"
#include <stdlib.h>
#include "api/core/api_table_state.h"
#include "api/ndb/ndb_program.h"

struct ndb_table *builder_table(struct table_def *def)
{
    struct api_table *table = calloc(1, sizeof *table);
    if (table == NULL) abort();
    table->references = 1000000; /* Nobody gives the last one back. */
    table->def = def;
    return (struct ndb_table *)(void *)table;
}

void builder_table_free(struct ndb_table *table)
{
    free(table);
}

ndb_t *builder_ndb(void)
{
    static ndb_t ndb;
    return &ndb;
}

const uint32_t *builder_words(const struct ndb_program *program, uint32_t *count)
{
    *count = program->count;
    return program->word;
}
