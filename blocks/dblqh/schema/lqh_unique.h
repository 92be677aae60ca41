/* lqh_unique.h -- unique indexes of tables in use: what rows fire for changes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct lqh;

/* DICT's order about a unique index of a table in use; one at a time. */
struct lqh_unique {
    uint32_t sender; /* Who has given the order; 0: there is none. */
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t index_id;
    uint32_t state; /* enum unique_state */
    uint32_t round; /* Grows with each change of what fires. */
    uint32_t at;    /* No operation up to this place of the pool is of a former round. */
};

/* lqh_unique.c */
void lqh_unique_step(struct lqh *lqh);
void lqh_exec_LOCAL_UNIQUE_REQ(struct block *block, const struct signal *sig);
