/* tc_state.h -- DBTC's instance, put together from the parts of its stories, and what they share.
 * Private to blocks/dbtc, as are the headers in its folders. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbtc/tc.h"
#include "blocks/dbtc/epoch/tc_drain.h"
#include "blocks/dbtc/epoch/tc_epoch.h"
#include "blocks/dbtc/failure/tc_apifail.h"
#include "blocks/dbtc/failure/tc_include.h"
#include "blocks/dbtc/failure/tc_nodefail.h"
#include "blocks/dbtc/failure/tc_takeover.h"
#include "blocks/dbtc/key/tc_commit.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "blocks/dbtc/schema/tc_order.h"
#include "blocks/dbtc/unique/tc_unique.h"
#include "signals/gsn.h"
#include "signals/api_reg.h"
#include "signals/dict.h"
#include "signals/durable.h"
#include "values/errors.h"
#include "signals/gcp.h"
#include "signals/gcp_local.h"
#include "values/key.h"
#include "signals/local_table.h"
#include "signals/lqhkey.h"
#include "signals/order.h"
#include "values/program.h"
#include "signals/rejoin.h"
#include "signals/scan.h"
#include "values/scan_range.h"
#include "signals/start.h"
#include "signals/takeover.h"

#define TC_STEP_RECORDS 64u /* Records that a step of a walk over all of them takes. */

enum tc_work {
    TC_WORK_COMMIT = 1, /* ref: transaction */
    TC_WORK_COMPLETE,   /* ref: transaction */
    TC_WORK_ABORT,      /* ref: transaction */
    TC_WORK_SCAN,       /* ref: scan */
    TC_WORK_API_FAIL,   /* ref: node, index: connect records done */
    TC_WORK_TIMER,      /* index: records done; which: 0 transactions, 1 scans */
    TC_WORK_TRAINS,     /* sends the trains that have been collected */
    TC_WORK_RELEASE,    /* begins with the commits that were held back */
    TC_WORK_DURABLE,    /* which: list; answers those whose GCI is durable */
    TC_WORK_WAIT,       /* index: waits done */
    TC_WORK_DRAIN,      /* looks again whether all work has ended */
    TC_WORK_CLIENTS,    /* index: connect records done; ends the work of all clients but one */
    TC_WORK_OUTCOME,    /* ref: who asks, index: transactions looked at */
    /* From here to FORGET, ref: failure_no. */
    TC_WORK_FAIL_MARK,     /* index: operations done; aborts what has lost a replica */
    TC_WORK_FAIL_SCANS,    /* index: fragments done */
    TC_WORK_FAIL_RESOLVE,  /* index: operations done; orders the end of broken ones */
    TC_WORK_FAIL_CHECK,    /* index: operations done; is any broken one left? */
    TC_WORK_ORPHANS,       /* index: orphans done; decides */
    TC_WORK_ORPHAN,        /* index: an orphan's reference; goes on with its phase */
    TC_WORK_FORGET,        /* index: orphans done; drops those of former failures */
    TC_WORK_ORDER,         /* ref: how often HOLD was ordered; has all that was under way ended? */
    TC_WORK_ORDER_RELEASE, /* begins with the requests that were held back */
};

struct tc_continueb {
    uint32_t work; /* enum tc_work */
    uint32_t ref;
    uint32_t index;
    uint32_t which;
};
SIGNAL_STRUCT(tc_continueb, 4);

struct tc {
    struct block block;
    uint32_t own_node;
    uint32_t start_level; /* enum start_level, from NODE_STATE_REP. */
    uint32_t epoch_hi;    /* The epoch that commits get. */
    uint32_t epoch_lo;
    struct tc_epoch epoch;
    uint32_t table_count; /* Table ids are below this. */
    struct tc_table **table;
    struct tc_unique_order unique;
    struct tc_hurry hurry;
    uint32_t drops;       /* Orders (DROPPING, CLOSED) that wait for the last user of a table. */
    uint32_t single_user; /* Only this node's clients, and TRIX, may begin something; 0: all may. */
    struct tc_clients clients;
    uint32_t drain_sender; /* NDBCNTR waits for the end of all transactions; 0: it does not. */
    uint32_t drain_data;
    struct pool tables;
    struct pool connects;
    struct pool transactions;
    uint32_t active_max; /* MaxNoOfConcurrentTransactions; as many again may complete. */
    uint32_t completing; /* Transactions in state COMPLETING: their clients were answered. */
    struct pool operations;
    struct pool lookups;
    struct pool segments;
    uint32_t *attr; /* LQHKEY_ATTR_WORDS_MAX words: ATTRINFO put together again. */
    struct pool scans;
    struct pool scan_programs;
    struct pool scan_ranges;
    struct pool frags;
    uint32_t *range_out; /* SCAN_RANGES_WORDS_MAX words: the ranges of one fragment. */
    struct pool waits;
    struct pool outcomes;     /* Clients that ask what has become of a transaction. */
    struct node_mask started; /* Data nodes, from NODE_STATE_REP. */
    uint8_t takeover_of[DATA_NODE_ID_MAX + 1]; /* By lost node: who takes over; 0: not known. */
    bool wait_walks;                           /* A walk over the waits is under way. */
    bool wait_again;                           /* Another such walk is to follow. */
    uint32_t connects_of[NODE_ID_MAX + 1];     /* Seized records by client node. */
    uint32_t waits_of[NODE_ID_MAX + 1];
    struct tc_api_fail api_fail[NODE_ID_MAX + 1];
    struct tc_train trains[TC_TRAINS]; /* COMMIT and COMPLETE, being collected; count 0: free. */
    uint32_t train_turn;               /* The train that leaves next when all are in use. */
    bool trains_sent;                  /* TC_WORK_TRAINS is on its way. */
    struct tc_fail fail;
    struct tc_include include;
    struct tc_order order;
    struct tc_takeover takeover;
    struct pool orphans;
    struct pool orphan_ops;
    void *decode_memory; /* For table_def_decode(). */
    size_t decode_size;
};

static inline struct tc *tc_of(struct block *block)
{
    return (struct tc *)block;
}

/* A transaction begins to commit, in the current epoch. */
static inline void tc_epoch_enter(struct tc *tc, struct tc_trans *trans)
{
    trans->gci_hi = tc->epoch_hi;
    trans->gci_lo = tc->epoch_lo;
    tc->epoch.committing++;
}

/* All replicas have committed it. */
static inline void tc_epoch_leave(struct tc *tc, const struct tc_trans *trans)
{
    if (trans->gci_lo == tc->epoch_lo && trans->gci_hi == tc->epoch_hi) {
        tc->epoch.committing--;
        return;
    }
    if (--tc->epoch.committing_old == 0) tc_epoch_old_done(tc);
}

/* Has the operation lost a replica? Then only orders reach the others. */
static inline bool tc_broken(const struct tc *tc, const struct tc_op *op)
{
    return __builtin_expect(tc->fail.any, 0) && tc_any_lost(tc, op->nodes);
}

/* Once a node has been lost, what was resolved meanwhile may be answered for. */
static inline bool tc_lenient(const struct tc *tc)
{
    return tc->fail.failure_no != 0;
}

/* Does the request belong to those that are held back? */
static inline bool tc_held(struct tc *tc, const struct signal *sig, uint32_t tc_connect,
                           bool begins)
{
    return __builtin_expect(tc->order.on, 0) && tc_order_holds(tc, sig, tc_connect, begins);
}

/* tc.c */
void tc_continue(struct tc *tc, enum tc_work work, uint32_t ref, uint32_t index, uint32_t which);
void tc_continue_later(struct tc *tc, enum tc_work work, uint32_t ref, uint32_t delay_ms);
/* A data node has broken a protocol: a peer loses its link, and the own node stops. */
void tc_protocol_error(struct tc *tc, uint32_t sender, const char *what);
/* 0, or why no new work of this client is taken in this node state. */
uint32_t tc_refuse_new(const struct tc *tc, uint32_t client);

/* tc_ahead.c */
block_ahead tc_ahead;
/* Asks for what the entries behind `entry` need. */
void tc_ahead_train(const struct tc *tc, const struct signal *sig, uint32_t entry);

/* tc_check.c */
void tc_check(struct block *block);

/* tc_dump.c */
void tc_exec_DUMP_STATE_ORD(struct block *block, const struct signal *sig);
void tc_exec_PACE_PROBE_REQ(struct block *block, const struct signal *sig);
