/* tc_unique.h -- unique indexes of tables in use, and their entries, which the transaction that
 * changes a row changes too. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct tc;
struct tc_op;
struct tc_table;

/* A unique index, as its table knows it. */
enum tc_entries {
    ENTRIES_STRICT = 0, /* Each row has its entry. */
    ENTRIES_CAREFUL,    /* Some rows have no entry, and an entry may be another row's. */
    ENTRIES_CLOSED,     /* Each row has its entry, but nobody may look for entries. */
    ENTRIES_LOOSE       /* Entries do not matter any more. */
};
struct tc_unique {
    uint32_t table_id;
    uint32_t version;
    uint32_t entries; /* enum tc_entries */
};

/* DICT's order about a unique index of a table in use; one at a time. */
struct tc_unique_order {
    uint32_t sender; /* Who has given the order; 0: there is none. */
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t index_id;
    uint32_t state; /* enum unique_state */
    bool waits;     /* The answer waits for users of the index to leave. */
};

/* The LQHs wait for transactions that began before the last such order and use this table. */
struct tc_hurry {
    uint32_t table_id; /* Table of the last order; 0: there was none. */
    uint32_t round;    /* Number of orders so far. */
};

/* tc_unique_state.c */
const struct tc_unique *tc_unique_find(const struct tc_table *base, uint32_t index_id);
/* The index's table, when its entries may be changed; while it is made or dropped only TC can. */
struct tc_table *tc_entry_table(struct tc *tc, uint32_t index_id, uint32_t version,
                                uint32_t *error);
/* An entry could not be changed, for a reason that does not matter now. */
bool tc_entry_forgiven(const struct tc *tc, const struct tc_op *op, uint32_t error);
/* Is the key another row's? */
bool tc_entry_taken(const struct tc_op *op, uint32_t error);
void tc_unique_left(struct tc *tc, const struct tc_table *index); /* A user of it has left. */
void tc_exec_LOCAL_UNIQUE_REQ(struct block *block, const struct signal *sig);
void tc_exec_SCHEMA_WAITS_ORD(struct block *block, const struct signal *sig);

/* tc_unique.c */
void tc_exec_FIRE_TRIG_ORD(struct block *block, const struct signal *sig);
/* How many FIRE_TRIG_ORDs and FIRE_COPY_ORDs the operation can have, at most. */
uint32_t tc_fires_max(const struct tc *tc, const struct tc_op *op);
/* The operation that a FIRE_TRIG_ORD or FIRE_COPY_ORD is for; NULL: it is to be ignored. */
struct tc_op *tc_fired_op(struct tc *tc, uint32_t ref, uint32_t transid1, uint32_t transid2);
/* A FIRE_TRIG_ORD or FIRE_COPY_ORD for `op` has come from `sender`. False: none is due, and the
 * sender's link is cut. */
bool tc_fire_take(struct tc *tc, struct tc_op *op, uint32_t sender);
