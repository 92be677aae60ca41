/* lqh_index.h -- an index of a table in use is built, or gives back its memory. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbtup/tup.h"

struct lqh;

/*
 * DICT's order about an index, which is carried out in steps: fragment by fragment the index is
 * built, or gives back its memory. One at a time.
 */
struct lqh_index {
    uint32_t sender; /* Who has given the order; 0: there is none. */
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t index;
    uint32_t building;
    uint32_t cancelled;
    uint32_t error; /* Why building has failed: what there is goes. 0: it has not. */
    uint32_t fragment_id;
    uint32_t counted;             /* 1: the rows of all fragments have been counted. */
    uint64_t rows_counted;        /* Rows that there were before the building. */
    struct tup_index_build build; /* How far fragment_id is. */
    uint64_t rows;                /* Rows of the fragments before it. */
    uint64_t reported_ms;
};

/* lqh_index.c */
void lqh_index_step(struct lqh *lqh);
void lqh_exec_LOCAL_INDEX_REQ(struct block *block, const struct signal *sig);
void lqh_exec_LOCAL_INDEX_CANCEL_ORD(struct block *block, const struct signal *sig);
