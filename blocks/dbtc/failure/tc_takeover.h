/* tc_takeover.h -- transactions of lost TCs, put together from the LQHs' reports and ended here. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct op_resolve_conf;
struct tc;
struct tc_continueb;

#define TC_ORPHAN_LISTS 4096u /* Lists of orphans by hash; a power of two. */

/*
 * A transaction whose TC is lost, put together from the LQHs' reports.
 *
 * COLLECTING --> BACKUPS --> PRIMARIES --> COMPLETING --> (gone)
 *                                 +-- aborted ----------> (gone)
 */
enum tc_orphan_phase { ORPHAN_COLLECTING = 0, ORPHAN_BACKUPS, ORPHAN_PRIMARIES, ORPHAN_COMPLETING };

struct tc_orphan {
    struct pool_record pool;
    uint32_t list_next;
    uint32_t failure_no;
    uint32_t phase;      /* enum tc_orphan_phase */
    uint32_t incomplete; /* 1: a report found no memory, so this pass does not end it. */
    uint32_t more;       /* 1: a report found no memory, so another one is to follow. */
    uint32_t committed;  /* 1: some replica has committed. */
    uint32_t tc_ref;
    uint32_t tc_trans;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t api_ref;
    uint32_t gci_hi;
    uint32_t gci_lo;
    uint32_t op_first;
    uint32_t cursor;  /* Next operation that this phase has to look at. */
    uint32_t waiting; /* OP_RESOLVE_CONFs that have not come. */
};

/* One replica of an operation of an orphan. */
struct tc_orphan_op {
    struct pool_record pool;
    uint32_t orphan;
    uint32_t next;
    uint32_t lqh_ref;
    uint32_t lqh_op;
    uint32_t tc_op;
    uint32_t primary; /* 1: on the first live node of its replicas. Until BACKUPS: the replicas. */
};

struct tc_takeover {
    uint32_t failure_no; /* The failure whose reports come, perhaps before NODE_LOST_REP. */
    uint32_t pass;       /* Number of the pass over the reports. */
    bool deciding;       /* All reports of the pass are there. */
    bool walked;         /* All orphans of the pass have been decided. */
    bool again;          /* Some reports found no memory. */
    bool forgetting;     /* TC_WORK_FORGET is on its way. */
    uint32_t asked;      /* LQH_ORPHAN_CONFs that have not come. */
    uint32_t active;     /* Orphans of failure_no. */
    uint32_t ended;      /* Orphans, or parts, that the pass has ended. */
    bool parts;          /* Not one orphan fits into the memory: one is ended in parts. */
    uint32_t part_phase; /* enum tc_orphan_phase: the reports that the pass keeps. */
    uint32_t part_tc;    /* TC of the orphan that is ended in parts; 0: the first reported. */
    uint32_t part_trans; /* Its transaction there. */
    uint32_t *list;      /* First orphan of each of TC_ORPHAN_LISTS, by (tc_ref, tc_trans). */
};

/* tc_takeover.c */
void tc_takeover_init(struct tc *tc);
void tc_takeover_restart(struct tc *tc, uint32_t failure_no);
void tc_takeover_reported(struct tc *tc); /* All LQHs have reported: decides. */
bool tc_takeover_done(const struct tc *tc);
void tc_takeover_step(struct tc *tc, const struct tc_continueb *work);
void tc_takeover_resolved(struct tc *tc, const struct op_resolve_conf *conf);
void tc_exec_LQH_ORPHAN_REP(struct block *block, const struct signal *sig);
void tc_exec_LQH_ORPHAN_CONF(struct block *block, const struct signal *sig);
