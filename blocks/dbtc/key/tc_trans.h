/* tc_trans.h -- a transaction and its operations: their records, states and flags, until they are
 * prepared and the batch is answered. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct tc;
struct tc_route;

#define TC_STEP_OPS 64u /* Operations of one transaction that a step takes. */

/*
 * STARTED --> COMMITTING --> COMPLETING --> (gone)
 *    |                                        ^
 *    +---------> ABORTING --------------------+
 */
enum tc_trans_state {
    TRANS_STARTED = 0,
    TRANS_COMMITTING,
    TRANS_COMPLETING,
    TRANS_ABORTING,
    TRANS_STATES
};

/* What the client waits for, and facts about the transaction. */
enum tc_trans_flags {
    TRANS_EXECUTE = 1u << 0,      /* TCKEYCONF is due. */
    TRANS_COMMIT_KEY = 1u << 1,   /* TCKEYCONF carries KEYCONF_COMMITTED. */
    TRANS_COMMIT_REQ = 1u << 2,   /* TC_COMMITCONF is due. */
    TRANS_ROLLBACK_REQ = 1u << 3, /* TCROLLBACKCONF is due. */
    TRANS_ROLLBACK_REP = 1u << 4, /* TCROLLBACKREP is due: it was not the client who ended it. */
    TRANS_DURABLE = 1u << 6,      /* The answer waits for the commit's GCI. */
    TRANS_HANGS = 1u << 5,        /* The sanity timer has reported it. */
};

struct tc_trans {
    struct pool_record pool;
    uint32_t state;   /* enum tc_trans_state */
    uint32_t flags;   /* enum tc_trans_flags */
    uint32_t connect; /* Its tc_connect; REF_NONE once the client was answered. */
    uint32_t transid1;
    uint32_t transid2;
    uint32_t op_first;
    uint32_t op_last;
    uint32_t op_count;
    uint32_t changes; /* Number of changes that the client has asked for. */
    uint32_t cursor;  /* Next operation that this phase has to send to; REF_NONE: none is left. */
    uint32_t outstanding; /* Operations whose LQHKEYCONF or LQHKEYREF has not come. */
    uint32_t waiting;     /* Operations whose COMMITTED, COMPLETED or ABORTED has not come. */
    int32_t fires;        /* Sum of `fires` of all operations. */
    uint32_t error;       /* Why it aborts. */
    uint32_t error_op;    /* The client's operation that caused it, or 0. */
    uint32_t error_data;  /* What TCROLLBACKREP tells about the error. */
    uint32_t gci_hi;
    uint32_t gci_lo;
    uint32_t held_next; /* Held back by tc_epoch: the next transaction in the queue. */
    uint32_t round;     /* Value of hurry.round when it began; less: it counts as older. */
    uint64_t active_ms; /* Last sign of life from the client or an LQH. */
};

/*
 * PREPARING --> PREPARED --> COMMITTING --> COMMITTED --> COMPLETING --> (gone)
 *     |             |             +---- single-phase -------------------> (gone)
 *     v             v
 * PREPARING_ABORT --> ABORTING --> (gone)         refused: PREPARING* --> (gone)
 */
enum tc_op_state {
    OP_PREPARING = 0,
    OP_PREPARING_ABORT,
    OP_PREPARED,
    OP_COMMITTING,
    OP_COMMITTED,
    OP_COMPLETING,
    OP_ABORTING,
    OP_STATES
};

enum tc_op_flags {
    OP_IGNORE_ERROR = 1u << 0,
    /* It reads, or the table has one replica by configuration: COMMIT_AND_COMPLETE. */
    OP_SINGLE_PHASE = 1u << 1,
    OP_ENTRY = 1u << 2,   /* Changes an entry of a unique index, by TC for a client's operation. */
    OP_LOOKUP = 1u << 3,  /* Reads an entry for an operation by unique key. */
    OP_COPY = 1u << 4,    /* Changes a copy fragment, by TC for a change of its partition. */
    OP_CAREFUL = 1u << 5, /* Deletes an entry if it is its row's. */
    OP_FILL = 1u << 6,    /* Reads a row that gets its entry; with OP_ENTRY: makes that entry. */
};

struct tc_op {
    struct pool_record pool;
    uint32_t trans;
    uint32_t previous;
    uint32_t next;
    uint32_t state; /* enum tc_op_state */
    uint32_t flags; /* enum tc_op_flags */
    uint32_t table_id;
    uint32_t api_op;
    uint32_t lqh_ref; /* LQH of the last replica, where the trains start. */
    uint32_t lqh_op;
    uint32_t fragment_id;
    uint32_t nodes;  /* Node ids of its replicas, packed as in LQHKEYREQ. */
    int32_t fires;   /* FIRE_TRIG_ORDs and FIRE_COPY_ORDs announced, less those that have come. */
    uint32_t lookup; /* OP_LOOKUP: the tc_lookup that follows, until it does; else REF_NONE. */
    uint32_t resolve_no; /* Broken: number of the failure for which its end was last ordered. */
    uint32_t resolve_at; /* Broken: the place in `nodes` that has the order. */
};

/* tc_key.c */
void tc_exec_TCKEYREQ(struct block *block, const struct signal *sig);
void tc_exec_LQHKEYCONF(struct block *block, const struct signal *sig);
void tc_exec_LQHKEYREF(struct block *block, const struct signal *sig);
struct tc_trans *tc_trans_get(struct tc *tc, uint32_t ref);
struct tc_op *tc_op_get(struct tc *tc, uint32_t ref);
void tc_op_release(struct tc *tc, struct tc_trans *trans, struct tc_op *op);
/* Answers or commits when nothing is outstanding. */
void tc_batch_done(struct tc *tc, struct tc_trans *trans);
void tc_trans_move(struct tc_trans *trans, enum tc_trans_state state);
void tc_op_move(struct tc_op *op, enum tc_op_state state);

/* A checked request of `req->sender` becomes an operation of the transaction. `flags`: enum
 * tc_op_flags. 0 and *op, or an error and nothing has happened. */
uint32_t tc_start_op(struct tc *tc, struct tc_trans *trans, const struct signal *sig,
                     uint32_t flags, struct tc_op **op);
/* Does the same for an operation of TC's own, whose fragment is known. */
uint32_t tc_start_routed(struct tc *tc, struct tc_trans *trans, const struct signal *sig,
                         const struct tc_route *route, uint32_t flags, struct tc_op **op);
/* Sends TCKEYREF. */
void tc_refuse_op(struct tc *tc, const struct tc_trans *trans, uint32_t api_op, uint32_t error);
