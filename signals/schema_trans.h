/* schema_trans.h -- the master's DBDICT changes the schema on all nodes, or on none. See
 * docs/protocols/schema.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"
#include "signals/schema_steps.h"

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
