/* tup_frag.h -- DBTUP: tables, their fragments, and the places of rows in them. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbacc/acc.h"
#include "values/table_def.h"

struct tup;
struct tup_frag; /* Rows and index of one fragment. Handlers look it up by its reference and do not
                    keep the pointer. */

/* Makes the table's descriptor; `def` was checked and is not needed afterwards. *table is its
 * reference. 0 or ERR_TUP_TABLES. */
uint32_t tup_table_create(struct tup *tup, const struct table_def *def, uint32_t *table);

/* Adds an empty fragment with its indexes; *frag is its reference. Fragment ids are the caller's
 * business. 0, ERR_FRAGMENT_RECORDS_TUP, or ERR_INDEX_FRAGMENT_RECORDS. */
uint32_t tup_frag_create(struct tup *tup, uint32_t table, uint32_t fragment_id, uint32_t *frag);

/*
 * Gives back a bounded part of the table's memory (all fragments, then the descriptor); true when
 * nothing is left. The table has no open changes and no locks, and is not used between the steps.
 */
bool tup_table_drop_step(struct tup *tup, uint32_t table);

/* The fragment of a reference from tup_frag_create(). The pointer may be used until the handler
 * returns. */
struct tup_frag *tup_frag_get(struct tup *tup, uint32_t frag);

/* Its index, for acc_find() and acc_lock(). */
struct acc_frag *tup_frag_index(const struct tup_frag *frag);

struct tup_frag_figures {
    uint64_t rows;        /* Committed rows. */
    uint64_t commits;     /* Changes of rows that were committed since the fragment is here. */
    uint32_t fixed_pages; /* Pages of 32 KB with fixed parts. */
    uint32_t var_pages;   /* Pages of 32 KB with variable parts. */
    uint32_t index_pages; /* Pages of 32 KB of the hash index. */
    uint32_t row_bytes;   /* Bytes of a row's fixed part, with its head. */
    uint64_t var_bytes;   /* Bytes of variable parts. */
    uint64_t rows_max;    /* How many rows the row id can address. */
};
void tup_frag_figures_get(const struct tup_frag *frag, struct tup_frag_figures *figures);
/* Rows of the fragment, nearly: so many does the building of an index have to look at. */
uint64_t tup_frag_rows(const struct tup_frag *frag);

/* --- Row ids: page << k | slot with k by table. The same on all replicas. --- */

uint32_t tup_row_page(const struct tup_frag *frag, uint32_t row);
uint32_t tup_row_slot(const struct tup_frag *frag, uint32_t row);
/* The row id of a place that comes from outside; ROW_NONE when the table can have no such row. */
uint32_t tup_row_id(const struct tup_frag *frag, uint32_t page, uint32_t slot);

/* --- Columns that are added while the table is used: docs/protocols/online.md. --- */

/* Room for the last column of `def`, which has one more than the table and was checked; nobody can
 * name it yet. What an earlier call has made room for is replaced. 0 or ERR_TUP_TABLES. */
uint32_t tup_column_prepare(struct tup *tup, uint32_t table, const struct table_def *def);
/* The table has it, as its last one of so many. All rows that are there have NULL in it. */
void tup_column_online(struct tup *tup, uint32_t table, uint32_t column_count);
