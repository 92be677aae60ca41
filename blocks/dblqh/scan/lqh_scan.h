/* lqh_scan.h -- a scan of a fragment in steps: its record, its states, its batches and locks. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbtup/tup.h"
#include "values/attr.h"

struct lqh;

#define LQH_BATCH_WORDS_MAX 16384u /* A scan's batch ends with the row that reaches this: 64 KB. */
#define LQH_BATCH_ROWS_MAX  992u   /* A batch grows to so many rows at most. */
#define LQH_OUT_WORDS       (LQH_BATCH_WORDS_MAX + TUP_ROW_WORDS_MAX + 4u)
#define LQH_SCAN_LOCKS      250u /* Most rows in a batch of a locking scan. */
#define LQH_SCAN_GROUP      64u  /* Row ids fetched at once. */
/* Rows counted, or looked at in vain, before a scan reports: so it can be closed in time. */
#define LQH_SCAN_LOOK_ROWS 131072u
#define LQH_HOLD_BACK_MS   5u /* Time between two looks whether a scan's client reads again. */

/*
 * READING (a CONTINUEB is on its way) --> DELIVERED --> READING ...       any --> (gone)
 *    ^ |
 *    | v
 * LOCK_WAIT (an entry in a lock queue)
 */
enum lqh_scan_state { FSCAN_READING = 0, FSCAN_LOCK_WAIT, FSCAN_DELIVERED };

struct lqh_scan {
    struct pool_record pool;
    uint32_t state;   /* enum lqh_scan_state */
    uint32_t closing; /* 1: the CONTINUEB that is on its way closes it. */
    uint32_t tc_ref;
    uint32_t tc_frag;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t api_ref;
    uint32_t api_scan;
    uint32_t table_id;
    uint32_t fragment_id;
    uint32_t frag; /* TUP's reference. */
    uint32_t mode; /* enum lock_mode */
    uint32_t batch_rows;
    uint32_t batch_words;
    bool turns;     /* Whether its last batch is one without rows. */
    uint32_t grows; /* 1: the client has set no batch size, so each batch may be twice the last. */
    uint32_t rows;  /* Rows of this batch that were sent or counted. */
    uint32_t words; /* Words of this batch that were sent. */
    uint32_t end;   /* 1: the fragment's end was reached. */
    uint32_t op;    /* Locking scans: the lqh_op that stands in lock queues. */
    uint32_t locks; /* Locking scans: the lqh_scan_locks of the batch; else REF_NONE. */
    uint32_t wait_row;
    uint32_t program; /* Its lqh_scan_program; REF_NONE: all rows are wanted. */
    uint32_t index;   /* Its lqh_scan_index; REF_NONE: it reads the pages of the fragment. */
    uint32_t looked;  /* Rows of this batch that the program or the index has looked at. */
    uint32_t limit;   /* Rows that are enough; 0: all are wanted. */
    uint32_t given;   /* Rows in the batches before this one. */
    struct tup_scan_position position;
    uint32_t attr_words;
    uint32_t attr[ATTR_READ_MAX];
};

struct lqh_scan_locks {
    struct pool_record pool;
    uint32_t count;
    uint32_t lock[LQH_SCAN_LOCKS];
};

/* Rows gathered for one TRANSID_AI in lqh->out; within one handler. */
struct lqh_rows {
    uint32_t count;
    uint32_t words;
    uint32_t steps; /* Instructions of programs that were executed for them. */
};

/* Scans own their locks as (tc_frag, this): no transaction of that TC has the same. */
static inline uint32_t lqh_scan_owner(const struct lqh_scan *scan)
{
    return scan->tc_ref | 0x00800000u; /* No block has such a number. */
}

static inline bool lqh_scan_limited(const struct lqh_scan *scan, uint32_t rows)
{
    return scan->limit != 0 && scan->given + rows >= scan->limit;
}

/* Has the batch, with what is gathered, all that it is to have? */
static inline bool lqh_scan_full(const struct lqh_scan *scan, const struct lqh_rows *rows)
{
    uint32_t count = scan->rows + rows->count;
    uint32_t most = scan->attr_words == 0 && scan->mode == LOCK_COMMITTED ? LQH_SCAN_LOOK_ROWS
                                                                          : scan->batch_rows;
    return count >= most || scan->words + rows->words >= scan->batch_words ||
           scan->looked >= LQH_SCAN_LOOK_ROWS || lqh_scan_limited(scan, count);
}

/* lqh_scan.c */
void lqh_scan_tc_lost(struct lqh *lqh, struct lqh_scan *scan);
void lqh_exec_SCAN_FRAGREQ(struct block *block, const struct signal *sig);
void lqh_exec_SCAN_FRAG_NEXTREQ(struct block *block, const struct signal *sig);
void lqh_scan_step(struct lqh *lqh, struct lqh_scan *scan);
struct lqh_scan *lqh_scan_get(struct lqh *lqh, uint32_t ref);
uint32_t lqh_scan_read(struct lqh *lqh, struct lqh_scan *scan, struct tup_frag *frag, uint32_t row,
                       struct lqh_rows *rows);
void lqh_scan_send_rows(struct lqh *lqh, struct lqh_scan *scan, struct lqh_rows *rows);
void lqh_scan_deliver(struct lqh *lqh, struct lqh_scan *scan);
void lqh_scan_fail(struct lqh *lqh, struct lqh_scan *scan, uint32_t error);

/* lqh_scan_filter.c */
/* The next group of rows, looked at; those that fit go into `rows`. 0, or an error. */
uint32_t lqh_scan_filter_group(struct lqh *lqh, struct lqh_scan *scan, struct tup_frag *frag,
                               struct lqh_rows *rows);
/* Is this row one of the scan's? 0, or an error that ends the scan. */
uint32_t lqh_scan_fit(struct lqh *lqh, struct lqh_scan *scan, struct tup_program *program,
                      uint32_t row, struct lqh_rows *rows, bool *fits);

/* Nothing more is to be gathered in this step. */
bool lqh_scan_step_full(const struct lqh_scan *scan, const struct lqh_rows *rows);

/* lqh_scan_lock.c */
uint32_t lqh_scan_lock_begin(struct lqh *lqh, struct lqh_scan *scan);
void lqh_scan_lock_end(struct lqh *lqh, struct lqh_scan *scan);
void lqh_scan_unlock_batch(struct lqh *lqh, struct lqh_scan *scan);
void lqh_scan_lock_step(struct lqh *lqh, struct lqh_scan *scan);
void lqh_scan_lock_ready(struct lqh *lqh, struct lqh_scan *scan, const struct acc_ready *ready);
