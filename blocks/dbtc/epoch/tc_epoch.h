/* tc_epoch.h -- commits by epoch, held back for a moment, and answers that wait for the disk. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct tc;
struct tc_connect;
struct tc_trans;

#define TC_ENDED_MAX 64u /* As many as the system file keeps. */

/* Incarnations of the cluster behind the entry before. */
struct tc_ended {
    uint32_t incarnation; /* The last one of them. */
    uint32_t gci;         /* GCI at which they ended: what is above was lost. */
};

/* Commits are counted by epoch. Those of older epochs than the last had ended before the newest
 * could begin. */
struct tc_epoch {
    bool hold;           /* Commits wait for the next epoch. */
    bool releasing;      /* TC_WORK_RELEASE is on its way. */
    uint32_t held_first; /* Queue of the transactions that wait. */
    uint32_t held_last;
    uint32_t committing;     /* Transactions of this epoch that not all replicas have committed. */
    uint32_t committing_old; /* Transactions of the epoch before that not all have committed. */
    uint32_t answer_sender;  /* DIH waits for committing_old == 0; 0 = nobody. */
    uint32_t answer_data;
    uint32_t durable; /* Newest durable GCI. */
    uint32_t forced;  /* DIH was asked to close GCIs up to this. */
    uint32_t waiting; /* Connect records in the lists `wait`. */
    uint32_t ended_count;
    struct tc_ended ended[TC_ENDED_MAX]; /* Former lives of the cluster, oldest first. */
    struct {
        uint32_t first;
        uint32_t last;
    } wait[2]; /* By gci & 1: only two GCIs in a row can be waited for. */
};

/* tc_epoch.c */
void tc_epoch_hold(struct tc *tc, struct tc_trans *trans); /* It waits for the next epoch. */
void tc_epoch_release(struct tc *tc);
void tc_epoch_old_done(struct tc *tc);
void tc_exec_GCP_HOLD_REQ(struct block *block, const struct signal *sig);
void tc_exec_TC_EPOCH_REQ(struct block *block, const struct signal *sig);
void tc_exec_GCP_DURABLE_REP(struct block *block, const struct signal *sig);

/* tc_durable.c */
uint32_t tc_durable_error(const struct tc *tc); /* 0, or why nothing can become durable. */
void tc_durable_wait(struct tc *tc, struct tc_connect *connect, const struct tc_trans *trans);
void tc_durable_step(struct tc *tc, uint32_t list);
void tc_durable_force(struct tc *tc, uint32_t gci); /* DIH is to close it now, not by its timer. */
