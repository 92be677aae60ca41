/* lqh_copy_source.h -- another node gets the rows of a fragment from here. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbtup/tup.h"
#include "signals/copy.h"

struct lqh;

#define LQH_COPIES_MAX 64u /* Fragments that other nodes copy from here at the same time. */

/*
 * Another node gets the rows of a fragment from here.
 *
 * EXCLUDED --> READING (a CONTINUEB is on its way) <--> FULL (batches are to be confirmed)
 *               ^ |  ^ |                   +--------> ENDING (the last ones are) --> (gone)
 *               | v  | v
 *        LOCK_WAIT  MEMORY_WAIT                 any --> (gone: the node is lost, the table dropped)
 */
enum lqh_copy_state {
    COPY_EXCLUDED = 0, /* Not everybody has included the other node. */
    COPY_READING,
    COPY_LOCK_WAIT,
    COPY_MEMORY_WAIT,
    COPY_FULL,
    COPY_ENDING
};

struct lqh_copy_batch {
    uint32_t count;
    uint32_t lock[COPY_BATCH_ROWS];
};

struct lqh_copy_source {
    struct pool_record pool;
    uint32_t state; /* enum lqh_copy_state */
    uint32_t target_ref;
    uint32_t target; /* Number that the target gave the copy: lqh_copy_target.no. */
    uint32_t epoch;  /* Life of the link to the target when it asked. */
    uint32_t rank;
    uint32_t table_id;
    uint32_t fragment_id;
    uint32_t frag; /* TUP's reference. */
    uint32_t op;   /* The lqh_op whose lock is waited for, or is that of the next row to be sent. */
    uint32_t sent; /* Number of batches that were sent. */
    uint32_t confirmed;
    uint32_t gci;                      /* Newest GCI of rows that the target has; 0: none. */
    uint32_t pages;                    /* Pages that the target has. */
    struct tup_scan_position position; /* The first place that the target has not been told of. */
    uint64_t rows;
    bool end;                                 /* The target has been told of all places. */
    struct lqh_copy_batch batch[COPY_WINDOW]; /* Batches by number modulo COPY_WINDOW. */
};

/* How much of the time goes into copies that others make from here. */
struct lqh_copy_share {
    uint64_t ms;     /* The millisecond whose work is counted: now_ms(). */
    uint32_t rows;   /* Rows sent in it. */
    uint32_t words;  /* Words sent in it. */
    uint32_t places; /* Places looked at in it. */
    uint32_t times;  /* The last pace: lqh_copy_pace(). */
};

/* lqh_copy_source.c */
void lqh_exec_COPY_FRAGREQ(struct block *block, const struct signal *sig);
void lqh_exec_COPY_ROWS_CONF(struct block *block, const struct signal *sig);
void lqh_copy_step(struct lqh *lqh, uint32_t ref);
void lqh_copy_lock_ready(struct lqh *lqh, struct lqh_copy_source *copy,
                         const struct acc_ready *ready);
struct lqh_copy_source *lqh_copy_get(struct lqh *lqh, uint32_t ref);
void lqh_copy_node_lost(struct lqh *lqh); /* Copies to nodes in fail.lost end. */
void lqh_copy_table_dropped(struct lqh *lqh, uint32_t table_id);
bool lqh_copy_peer(const struct lqh *lqh, uint32_t ref); /* An LQH that may copy. */
/* The node that comes back with this rank has been told of this place, or has all of the
 * fragment. */
bool lqh_copy_told(const struct lqh *lqh, uint32_t rank, uint32_t table_id, uint32_t fragment_id,
                   uint32_t page, uint32_t slot);
