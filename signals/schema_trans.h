/* schema_trans.h -- the master's DBDICT changes the schema on all nodes, or on none. See
 * docs/protocols/schema.md. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "signals/gsn.h"

/*
 * Master to the DBDICT of every member, itself included. CREATE: sections 0 encoded table_def, 1
 * distribution; the table is added to all TC and LQH instances of the node, not usable yet. DROP:
 * the table is there and not busy. REF: the node keeps what it has until SCHEMA_STEP ABORT comes.
 */
enum schema_operation { SCHEMA_CREATE_TABLE = 1, SCHEMA_DROP_TABLE = 2 };
struct schema_prepare_req {
    uint32_t trans_id;
    uint32_t operation; /* enum schema_operation */
    uint32_t table_id;
    uint32_t version;
};
SIGNAL_STRUCT(schema_prepare_req, 4);
struct schema_prepare_conf {
    uint32_t trans_id;
};
SIGNAL_STRUCT(schema_prepare_conf, 1);
struct schema_prepare_ref {
    uint32_t trans_id;
    uint32_t error;
};
SIGNAL_STRUCT(schema_prepare_ref, 2);

/*
 * One round of the transaction: to every member, the next one when all have answered.
 * Create: ONLINE_LQH, ONLINE_TC, COMPLETE.  Drop: DROPPING_TC, DROPPING_LQH, REMOVE, COMPLETE.
 * Either: ABORT instead.
 */
enum schema_step {
    SCHEMA_STEP_ONLINE_LQH = 1,
    SCHEMA_STEP_ONLINE_TC = 2,
    SCHEMA_STEP_DROPPING_TC = 3,
    SCHEMA_STEP_DROPPING_LQH = 4,
    SCHEMA_STEP_REMOVE = 5,
    SCHEMA_STEP_ABORT = 6,
    SCHEMA_STEP_COMPLETE = 7,
};
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
