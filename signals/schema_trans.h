/* schema_trans.h -- the master's DBDICT changes the schema on all nodes, or on none. See
 * docs/protocols/schema.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <stdbool.h>
#include "signals/gsn.h"

/*
 * Master to the DBDICT of every member, itself included. CREATE: sections 0 encoded table_def, 1
 * distribution; the table is added to all TC and LQH instances of the node, not usable yet. DROP:
 * the table is there and not busy. CREATE_INDEX, DROP_INDEX: sections as CREATE, the table's new
 * definition, which is kept beside the old one; all LQH instances build the index. RENAME: the same
 * sections; nobody but DBDICT knows names. ADD_COLUMN: the same sections; the LQHs learn of it.
 * CREATE_UNIQUE, DROP_UNIQUE: sections as CREATE_INDEX; a create adds the index's table, too.
 * TRUNCATE: sections as CREATE, of the table that takes the place of the one that `object` says; it
 * has its name, but nobody finds it yet. REF: the node keeps what it has until SCHEMA_STEP ABORT
 * comes.
 */
enum schema_operation {
    SCHEMA_CREATE_TABLE = 1,
    SCHEMA_DROP_TABLE = 2,
    SCHEMA_CREATE_INDEX = 3,
    SCHEMA_DROP_INDEX = 4,
    SCHEMA_RENAME = 5,   /* A table or a column gets another name. */
    SCHEMA_TRUNCATE = 6, /* A new table takes a table's place. */
    SCHEMA_ADD_COLUMN = 7,
    SCHEMA_DROP_UNIQUE = 8,   /* A unique index of a table that stays is dropped. */
    SCHEMA_CREATE_UNIQUE = 9, /* A table in use gets a unique index. */
    SCHEMA_OPERATIONS
};

/* Does the operation change a table that stays in use? See docs/protocols/online.md. */
static inline bool schema_alters(uint32_t operation)
{
    return operation == SCHEMA_CREATE_INDEX || operation == SCHEMA_DROP_INDEX ||
           operation == SCHEMA_RENAME || operation == SCHEMA_ADD_COLUMN ||
           operation == SCHEMA_DROP_UNIQUE || operation == SCHEMA_CREATE_UNIQUE;
}

/* All but drops may need more room in the schema files. */
static inline bool schema_grows(uint32_t operation)
{
    return operation != SCHEMA_DROP_TABLE && operation != SCHEMA_DROP_INDEX &&
           operation != SCHEMA_DROP_UNIQUE;
}

struct schema_prepare_req {
    uint32_t trans_id;
    uint32_t operation; /* enum schema_operation */
    uint32_t table_id;
    uint32_t version;
    /* CREATE_INDEX, DROP_INDEX: the index's id; RENAME: 0 the table, else 1 + the column's id;
     * ADD_COLUMN: how many columns there are then; TRUNCATE: the table that goes; CREATE_UNIQUE,
     * DROP_UNIQUE: the table that the index is. */
    uint32_t object;
};
SIGNAL_STRUCT(schema_prepare_req, 5);
struct schema_prepare_conf {
    uint32_t trans_id;
};
SIGNAL_STRUCT(schema_prepare_conf, 1);
struct schema_prepare_ref {
    uint32_t trans_id;
    uint32_t error;
};
SIGNAL_STRUCT(schema_prepare_ref, 2);

/* From a node to the master while CREATE_INDEX is being prepared: how many rows have been gone
 * through, and how many there are. */
struct schema_build_rep {
    uint32_t trans_id;
    uint32_t rows_lo;
    uint32_t rows_hi;
    uint32_t total_lo;
    uint32_t total_hi;
};
SIGNAL_STRUCT(schema_build_rep, 5);

/* From the master: the preparation is in vain, for a reason elsewhere. Who is at it answers with
 * REF soon. */
struct schema_cancel_ord {
    uint32_t trans_id;
};
SIGNAL_STRUCT(schema_cancel_ord, 1);

/*
 * One round of the transaction: to every member, the next one when all have answered; which ones,
 * schema_step_after() says. Instead the way back, from schema_step_back() on. WRITE: the node's
 * schema file has what is made, and what is dropped no longer; a node without files answers at
 * once, one that cannot write stops.
 */
enum schema_step {
    SCHEMA_STEP_ONLINE_LQH = 1,
    SCHEMA_STEP_ONLINE_TC = 2,
    SCHEMA_STEP_DROPPING_TC = 3,
    SCHEMA_STEP_DROPPING_LQH = 4,
    SCHEMA_STEP_REMOVE = 5,
    SCHEMA_STEP_ABORT = 6,
    SCHEMA_STEP_COMPLETE = 7,
    SCHEMA_STEP_WRITE = 8,
    SCHEMA_STEP_LOOSE = 9,   /* Entries of a unique index refuse nothing any more. */
    SCHEMA_STEP_FORGET = 10, /* No instance has the index, or an operation on its entries. */
    /* A unique index comes to a table in use. */
    SCHEMA_STEP_RESERVE = 11, /* The schema file has used up the version of the index's table. */
    SCHEMA_STEP_DELETES = 12, /* Rows fire for keys that they give up. */
    SCHEMA_STEP_FIRES = 13, /* Rows fire for all changes; then the master's TRIX fills the index. */
    SCHEMA_STEP_STRICT = 14, /* Each row has its entry. */
};

/* The rounds of an operation one after the other, 0, those of its way back, 0. */
static inline const uint8_t *schema_steps(uint32_t operation)
{
    static const uint8_t made[] = {SCHEMA_STEP_WRITE,
                                   SCHEMA_STEP_ONLINE_LQH,
                                   SCHEMA_STEP_ONLINE_TC,
                                   SCHEMA_STEP_COMPLETE,
                                   0,
                                   SCHEMA_STEP_ABORT,
                                   0};
    static const uint8_t dropped[] = {SCHEMA_STEP_DROPPING_TC, SCHEMA_STEP_DROPPING_LQH,
                                      SCHEMA_STEP_WRITE,       SCHEMA_STEP_REMOVE,
                                      SCHEMA_STEP_COMPLETE,    0,
                                      SCHEMA_STEP_ABORT,       0};
    static const uint8_t replaced[] = {SCHEMA_STEP_DROPPING_TC, SCHEMA_STEP_DROPPING_LQH,
                                       SCHEMA_STEP_WRITE,       SCHEMA_STEP_ONLINE_LQH,
                                       SCHEMA_STEP_ONLINE_TC,   SCHEMA_STEP_REMOVE,
                                       SCHEMA_STEP_COMPLETE,    0,
                                       SCHEMA_STEP_ABORT,       0};
    static const uint8_t unique_made[] = {SCHEMA_STEP_RESERVE,
                                          SCHEMA_STEP_ONLINE_LQH,
                                          SCHEMA_STEP_DELETES,
                                          SCHEMA_STEP_FIRES,
                                          SCHEMA_STEP_WRITE,
                                          SCHEMA_STEP_ONLINE_TC,
                                          SCHEMA_STEP_STRICT,
                                          SCHEMA_STEP_COMPLETE,
                                          0,
                                          SCHEMA_STEP_LOOSE,
                                          SCHEMA_STEP_DROPPING_LQH,
                                          SCHEMA_STEP_FORGET,
                                          SCHEMA_STEP_ABORT,
                                          0};
    static const uint8_t unique_dropped[] = {SCHEMA_STEP_DROPPING_TC, SCHEMA_STEP_WRITE,
                                             SCHEMA_STEP_LOOSE,       SCHEMA_STEP_DROPPING_LQH,
                                             SCHEMA_STEP_FORGET,      SCHEMA_STEP_REMOVE,
                                             SCHEMA_STEP_COMPLETE,    0,
                                             SCHEMA_STEP_ABORT,       0};
    if (operation == SCHEMA_TRUNCATE) return replaced;
    if (operation == SCHEMA_CREATE_UNIQUE) return unique_made;
    if (operation == SCHEMA_DROP_UNIQUE) return unique_dropped;
    return schema_grows(operation) ? made : dropped;
}

#define SCHEMA_RANK_BACK 32u
/* How far a transaction is in this round; the preparation, 0, is 0. The way back is further than
 * all others: SCHEMA_RANK_BACK and more. UINT32_MAX: it is none of its rounds. */
static inline uint32_t schema_step_rank(uint32_t operation, uint32_t step)
{
    const uint8_t *steps = schema_steps(operation);
    uint32_t at = 0;
    uint32_t back = 0;
    if (step == 0) return 0;
    for (; steps[at] != 0; at++) {
        if (steps[at] == step) return at + 1u;
    }
    for (at++; steps[at] != 0; at++, back++) {
        if (steps[at] == step) return SCHEMA_RANK_BACK + back;
    }
    return UINT32_MAX;
}

/* The round behind this one, 0 = the preparation; 0: that was the last one. */
static inline uint32_t schema_step_after(uint32_t operation, uint32_t step)
{
    const uint8_t *at = schema_steps(operation);
    if (step == 0) return at[0];
    while (*at != 0 && *at != step)
        at++;
    if (*at == 0) {
        for (at++; *at != 0 && *at != step;)
            at++;
    }
    return *at == 0 ? 0 : at[1];
}

/* Does each node write its schema files in this round? */
static inline bool schema_step_writes(uint32_t step)
{
    return step == SCHEMA_STEP_WRITE || step == SCHEMA_STEP_RESERVE;
}

/* Where the way back begins behind this round, 0 = the preparation; 0: there is none any more. */
static inline uint32_t schema_step_back(uint32_t operation, uint32_t step)
{
    if (operation != SCHEMA_CREATE_UNIQUE) return step == 0 ? SCHEMA_STEP_ABORT : 0;
    if (step == 0) return SCHEMA_STEP_FORGET; /* Nothing has fired. */
    return step == SCHEMA_STEP_FIRES ? SCHEMA_STEP_LOOSE : 0;
}

struct schema_step_req {
    uint32_t trans_id;
    uint32_t step; /* enum schema_step */
};
SIGNAL_STRUCT(schema_step_req, 2);
struct schema_step_conf {
    uint32_t trans_id;
    uint32_t step;
};
SIGNAL_STRUCT(schema_step_conf, 2);

/*
 * The master is lost. Its successor asks all that are left for the transaction under way; answered
 * when the receiver knows of this failure too. Steps are asked for again by SCHEMA_STEP_REQ: what
 * has been done is answered at once.
 */
struct schema_takeover_req {
    uint32_t failure_no;
};
SIGNAL_STRUCT(schema_takeover_req, 1);
struct schema_takeover_conf {
    uint32_t failure_no;
    uint32_t active; /* 0: there is no transaction here, the rest does not count. */
    uint32_t trans_id;
    uint32_t operation;
    uint32_t table_id; /* The table; 0: the prepare of a new one was refused. */
    uint32_t step;     /* enum schema_step, begun or done; 0 = prepare */
    uint32_t done;     /* 1: the step is done; 0: it is under way, or the prepare was refused. */
};
SIGNAL_STRUCT(schema_takeover_conf, 7);

/* NDBCNTR asks its DBDICT after phase 0 what the schema files held. The sequence grows by one with
 * each change of the schema, on all nodes alike; has_data 0: there is none. */
struct schema_info_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(schema_info_req, 1);
struct schema_info_conf {
    uint32_t sender_data;
    uint32_t has_data;
    uint32_t sequence_lo;
    uint32_t sequence_hi;
};
SIGNAL_STRUCT(schema_info_conf, 4);

/* DICT to the DIH of its node: both schema files have this sequence. The system files name it from
 * now on, so that a start takes no dictionary of an earlier time. */
struct schema_written_ord {
    uint32_t sequence_lo;
    uint32_t sequence_hi;
    uint32_t changed; /* 1: the schema has changed, the system files are written at once. */
};
SIGNAL_STRUCT(schema_written_ord, 3);

/*
 * NDBCNTR to its DBDICT: make the schema that the cluster starts with. START_INITIAL: an empty one
 * is written. Otherwise that of source_node, which has the highest sequence: copied from there
 * unless the node's own has that sequence, and written; then all tables are added to the TC and LQH
 * instances. CONF: they have them, not usable yet. What cannot be done stops the node.
 */
struct schema_restart_req {
    uint32_t sender_data;
    uint32_t start_type; /* enum start_type */
    uint32_t source_node;
    uint32_t sequence_lo;
    uint32_t sequence_hi;
};
SIGNAL_STRUCT(schema_restart_req, 5);
struct schema_restart_conf {
    uint32_t sender_data;
    uint32_t tables;
};
SIGNAL_STRUCT(schema_restart_conf, 2);

/*
 * DBDICT to that of the source node: the first table number from table_id on that is used or has
 * been. CONF: table_id 0 is the end. Sections: 0 encoded table_def, 1 distribution; none for a
 * number that is not used and only keeps its version (state TABLE_UNDEFINED). The sequence is the
 * source's; 0: it has no schema to give.
 */
struct schema_copy_req {
    uint32_t table_id;
};
SIGNAL_STRUCT(schema_copy_req, 1);
struct schema_copy_conf {
    uint32_t table_id;
    uint32_t version;
    uint32_t state; /* enum table_state: TABLE_ONLINE or TABLE_UNDEFINED */
    uint32_t sequence_lo;
    uint32_t sequence_hi;
    uint32_t check; /* Hash of this, the number asked for and the sections: a table that is
                       left out would be lost on the receiver's disk. */
};
SIGNAL_STRUCT(schema_copy_conf, 6);

/* NDBCNTR to its DBDICT after the recovery: the tables are usable, for all LQH instances before the
 * first TC. */
struct schema_online_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(schema_online_req, 1);
struct schema_online_conf {
    uint32_t sender_data;
};
SIGNAL_STRUCT(schema_online_conf, 1);
