/* lqh_state.h -- DBLQH's instance, put together from the parts of its stories, and what they share.
 * Private to blocks/dblqh, as are the headers in its folders. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dblqh/lqh.h"
#include "blocks/dblqh/failure/copy_pace.h"
#include "blocks/dblqh/failure/lqh_copy_source.h"
#include "blocks/dblqh/failure/lqh_copy_target.h"
#include "blocks/dblqh/failure/lqh_include.h"
#include "blocks/dblqh/failure/lqh_nodefail.h"
#include "blocks/dblqh/key/lqh_demand.h"
#include "blocks/dblqh/key/lqh_outcome.h"
#include "blocks/dblqh/key/lqh_read.h"
#include "blocks/dblqh/schema/lqh_index.h"
#include "blocks/dblqh/schema/lqh_unique.h"
#include "blocks/dbtup/tup.h"
#include "signals/gsn.h"

struct lqh_redo;

#define LQH_READY_STEP   16u /* Operations that got their lock, before others have their turn. */
#define LQH_LOCK_TICK_MS 10u

enum lqh_work {
    LQH_WORK_SCAN = 1,     /* ref: scan */
    LQH_WORK_READY,        /* go on with the ready list */
    LQH_WORK_LOCK_TICK,    /* look for lock timeouts */
    LQH_WORK_TABLE,        /* ref: table id; the next step of DICT's order */
    LQH_WORK_INDEX,        /* the next step of DICT's order about an ordered index */
    LQH_WORK_UNIQUE,       /* wait for what began before a unique index fired as it does */
    LQH_WORK_READS,        /* execute the pending committed reads */
    LQH_WORK_REDO_REPLAY,  /* replay some records more */
    LQH_WORK_REDO_DELAY,   /* let some operations pass that were held back */
    LQH_WORK_RECOVER,      /* look for the next fragment to restore */
    LQH_WORK_RECOVER_TICK, /* tell how far the restart has come */
    LQH_WORK_FAIL_SCANS,   /* ref: scans done; failure_no */
    LQH_WORK_FAIL_OPS,     /* ref: operations done; failure_no */
    LQH_WORK_ORPHANS,      /* ref: operations done; failure_no, to, pass */
    LQH_WORK_COPY,         /* ref: source of a copy */
    LQH_WORK_COPY_AGAIN,   /* ref: number of a copy's target */
    LQH_WORK_COPYING,      /* ref: tables done; marks all fragments */
    LQH_WORK_INCLUDE,      /* ref: operations done; node (failure_no), to: rank, pass: enum
                              lqh_include_state */
};

struct lqh_continueb {
    uint32_t work; /* enum lqh_work */
    uint32_t ref;
    uint32_t failure_no;
    uint32_t to; /* LQH_WORK_ORPHANS: the take-over TC; LQH_WORK_INCLUDE: the rank. */
    uint32_t pass;
};
SIGNAL_STRUCT(lqh_continueb, 5);

struct lqh {
    struct block block;
    uint32_t own_node;
    struct acc *acc;
    struct tup *tup;
    uint32_t table_count; /* Table ids are below this. */
    struct lqh_table **table;
    struct pool tables;
    struct pool operations;
    struct pool segments;
    struct pool scans;
    struct pool scan_locks;
    struct pool scan_programs;
    struct pool scan_indexes;
    struct pool scan_ranges;
    struct pool copies;
    uint32_t requests; /* Number of LQHKEYREQs and steps of scans so far, modulo 2^32. */
    bool ready_sent;   /* LQH_WORK_READY is on its way. */
    bool tick_sent;    /* LQH_WORK_LOCK_TICK is on its way. */
    struct lqh_reads reads;
    uint32_t *out;  /* LQH_OUT_WORDS: rows on their way out. */
    uint32_t *data; /* LQH_KEY_WORDS_MAX + LQHKEY_ATTR_WORDS_MAX: saved data put together again. */
    uint32_t *keys; /* LQH_FIRE_WORDS: keys in unique indexes before a change, then one message. */
    uint32_t *made; /* TUP_ROW_WORDS_MAX: the values that a program has led to. */
    void *decode_memory;
    size_t decode_size;
    struct lqh_redo *redo; /* NULL: the node is diskless. */
    struct lqh_demand demand[LQH_DEMANDS];
    struct lqh_fail fail;
    struct lqh_include include;
    struct lqh_copy copy;
    struct lqh_copy_share copy_share;
    struct copy_pace copy_pace;
    struct lqh_outcome outcome;
    struct lqh_index index;
    struct lqh_unique unique;
};

static inline struct lqh *lqh_of(struct block *block)
{
    return (struct lqh *)block;
}

/* Its TC or a replica is lost: it is not passed on, TC orders what becomes of it. */
static inline bool lqh_doomed(const struct lqh *lqh, uint32_t tc_ref, uint32_t nodes)
{
    return __builtin_expect(lqh->fail.any, 0) && lqh_lost(lqh, tc_ref, nodes);
}

/* Once a node has been lost, what was resolved meanwhile may be answered or asked for again. */
static inline bool lqh_lenient(const struct lqh *lqh)
{
    return lqh->fail.failure_no != 0;
}

/* lqh.c */
void lqh_continue(struct lqh *lqh, enum lqh_work work, uint32_t ref);
void lqh_continue_later(struct lqh *lqh, enum lqh_work work, uint32_t ref, uint32_t delay_ms);
void lqh_run_ready(struct lqh *lqh);  /* Follows all that may have freed a lock. */
void lqh_lock_waits(struct lqh *lqh); /* There is a waiter: its timeout must be noticed. */
void lqh_protocol_error(struct lqh *lqh, uint32_t sender, const char *what);
/* 0, ERR_SEND_BUFFER_FULL, or ERR_READ_NODE_FAILURE: there is no link to the client. */
uint32_t lqh_client_error(const struct lqh *lqh, uint32_t api_ref);
bool lqh_is_tc(uint32_t ref); /* An instance of DBTC, which can be sent to without harm. */
struct lqh_op *lqh_op_get(struct lqh *lqh, uint32_t ref);

/* lqh_ahead.c */
block_ahead lqh_ahead;
/* Asks for what the entries behind `entry` need. */
void lqh_ahead_train(const struct lqh *lqh, const struct signal *sig, uint32_t entry);

/* lqh_check.c */
void lqh_check(struct block *block);

/* lqh_dump.c */
void lqh_exec_DUMP_STATE_ORD(struct block *block, const struct signal *sig);
void lqh_exec_PACE_PROBE_REQ(struct block *block, const struct signal *sig);
