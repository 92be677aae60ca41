/* lqh_op.h -- an operation on a row, from LQHKEYREQ to COMPLETE: its record, its states, and the
 * data with which it waits. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct acc_ready;
struct commit_train;
struct lqh;

#define LQH_KEY_WORDS_MAX 1088u /* Words of TABLE_KEY_BYTES_MAX and every column's padding. */
#define LQH_SEGMENT_WORDS 61u   /* A segment record is 256 bytes. */

/*
 * WAITING --> PREPARED --> COMMITTED --> (gone at COMPLETE)
 *    |           +--> (gone: ABORT, or COMMIT_AND_COMPLETE)
 *    +--> (gone: refused)
 * DELAYED (the redo log fills up) --> WAITING, PREPARED, (gone: refused)
 */
enum lqh_op_state { LQH_WAITING = 0, LQH_PREPARED, LQH_COMMITTED, LQH_DELAYED, LQH_OF_COPY };

struct lqh_op {
    struct pool_record pool;
    uint32_t state; /* enum lqh_op_state */
    uint32_t scan;  /* Record of the locking scan, or (state LQH_OF_COPY) of the copy, whose place
                       in lock queues this is; REF_NONE: it is an operation. */
    uint32_t tc_ref;
    uint32_t tc_op;
    uint32_t tc_trans; /* TC's transaction; with tc_ref it names the owner of lock and change. */
    uint32_t transid1;
    uint32_t transid2;
    uint32_t api_ref;
    uint32_t api_op;
    uint32_t request_info;
    uint32_t table_id;
    uint32_t version;
    uint32_t fragment_id;
    uint32_t frag; /* TUP's reference. */
    uint32_t hash;
    uint32_t chain;
    uint32_t prev_ref; /* LQH of the replica before this one; 0 at the primary. */
    uint32_t prev_op;
    uint32_t wanted_page; /* Backups: page and slot that the primary chose for a new row. */
    uint32_t wanted_slot;
    uint32_t row;    /* PREPARED: row id of the row that is read or changed. */
    uint32_t lock;   /* The row lock that it holds or waits for. */
    uint32_t change; /* TUP's change, from PREPARED to COMMIT; else, and of a read, REF_NONE. */
    uint32_t saved;  /* First segment of key and attrinfo, while waiting. */
    uint32_t key_words;
    uint32_t attr_words;
    uint32_t redo_words;   /* Words that are reserved in the redo log until COMMIT. */
    uint32_t demand;       /* 1 + the place in lqh->demand where it is counted; 0: it is not. */
    uint32_t demand_words; /* Words of the redo log that it counts there. */
    uint32_t delay_next;   /* DELAYED: the operation that was held back after it. */
    uint32_t delayed_ms;   /* DELAYED: low half of now_ms() when it was held back. */
    uint32_t refused; /* DELAYED: a node was lost meanwhile; it may be back when its turn comes. */
    uint32_t nodes;   /* Node ids of all replicas, packed as in LQHKEYREQ. */
    uint32_t gci_hi;  /* COMMITTED: the epoch of its commit. */
    uint32_t gci_lo;
    uint32_t indexed; /* 1: it stands in fail.index, where TC's references find it. */
    uint32_t index_next;
    uint32_t round;   /* Value of unique.round when it began. */
    uint32_t fired;   /* FIRE_TRIG_ORDs and FIRE_COPY_ORDs that the primary has sent. */
    uint32_t nothing; /* Its row has not been copied to here yet: no lock, no change, no record. */
};

/* Key and attrinfo of an operation that waits for a lock. */
struct lqh_segment {
    struct pool_record pool;
    uint32_t next;
    uint32_t words[LQH_SEGMENT_WORDS];
};

struct lqh_data {
    const uint32_t *key;
    const uint32_t *attr;
    uint32_t key_words;
    uint32_t attr_words;
};

/* lqh_key.c */
void lqh_exec_LQHKEYREQ(struct block *block, const struct signal *sig);
void lqh_op_ready(struct lqh *lqh, struct lqh_op *op, const struct acc_ready *ready);
/* DELAYED: goes on, or (error) is refused. */
void lqh_op_undelay(struct lqh *lqh, struct lqh_op *op, uint32_t error);
void lqh_op_release(struct lqh *lqh, struct lqh_op *op);

/* lqh_save.c */
bool lqh_save(struct lqh *lqh, struct lqh_op *op, const struct lqh_data *data);
/* Into lqh->data; frees the segments. */
void lqh_load(struct lqh *lqh, struct lqh_op *op, struct lqh_data *data);
void lqh_save_drop(struct lqh *lqh, struct lqh_op *op);

/* lqh_commit.c */
void lqh_exec_COMMIT(struct block *block, const struct signal *sig);
void lqh_exec_COMPLETE(struct block *block, const struct signal *sig);
void lqh_exec_ABORT(struct block *block, const struct signal *sig);

void lqh_commit_op(struct lqh *lqh, struct lqh_op *op, const struct commit_train *commit);
void lqh_op_end(struct lqh *lqh, struct lqh_op *op); /* COMPLETE, or ABORT of what is prepared. */
