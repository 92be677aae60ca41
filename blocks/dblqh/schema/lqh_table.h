/* lqh_table.h -- a table here: its record, its fragments, and its users. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"
#include "values/key.h"

struct lqh;

/* Fragment references in the table record itself; more take a page. */
#define LQH_FRAGS_INLINE 64u

struct lqh_table {
    struct pool_record pool;
    uint32_t state; /* enum table_state: BUILDING, ONLINE (from the moment all fragments are made),
                       DROPPING */
    uint32_t table_id;
    uint32_t version; /* The major version: table_version_major(). */
    uint32_t tup_table;
    uint32_t fragment_count;
    uint32_t users; /* Operations and scans here. */
    /* The order of DICT that is being carried out in steps; 0 = none. */
    uint32_t order_sender;
    uint32_t order_data;
    uint32_t order;         /* 0 = adding, else LOCAL_TABLE_DROP */
    uint32_t fragment_next; /* Adding: fragments with smaller ids are made. */
    uint32_t add_error;     /* Why adding has failed, which the steps undo; 0: it has not. */
    /* TUP's references by fragment id; REF_NONE = not here. A page, or frags_inline. */
    uint32_t *frags;
    uint32_t frags_inline[LQH_FRAGS_INLINE];
    /* Fragments whose rows are being copied to here. */
    uint32_t copying[(TABLE_FRAGMENTS_MAX + 31u) / 32u];
    uint32_t given_rank; /* Rank of the node that last came back and copied. */
    uint32_t given[(TABLE_FRAGMENTS_MAX + 31u) / 32u]; /* Fragments that it has got from here. */
    _Alignas(8) uint8_t key_def[KEY_DEF_BYTES];
};

/* lqh_schema.c */
void lqh_exec_LOCAL_TABLE_ADD_REQ(struct block *block, const struct signal *sig);
void lqh_exec_LOCAL_TABLE_STATE_REQ(struct block *block, const struct signal *sig);
void lqh_table_step(struct lqh *lqh, uint32_t table_id);
void lqh_table_leave(struct lqh *lqh, uint32_t table_id);
/* Table of an own operation or scan. */
struct lqh_table *lqh_table_get(struct lqh *lqh, uint32_t table_id);
/* The table of a request that may use this fragment of it; NULL and *error. */
struct lqh_table *lqh_table_usable(struct lqh *lqh, uint32_t table_id, uint32_t version,
                                   uint32_t fragment_id, uint32_t *error);
