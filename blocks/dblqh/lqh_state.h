/* lqh_state.h -- DBLQH's records, pools and states, and which file answers for what. Private to
 * blocks/dblqh. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dblqh/failure/copy_pace.h"
#include "blocks/dblqh/lqh.h"
#include "blocks/dblqh/key/lqh_demand.h"
#include "blocks/dbtup/tup.h"
#include "blocks/dbtux/tux.h"
#include "signals/api_reg.h"
#include "signals/copy.h"
#include "signals/dict.h"
#include "values/errors.h"
#include "values/key.h"
#include "signals/local_table.h"
#include "signals/lqhkey.h"
#include "values/program.h"
#include "signals/rejoin.h"
#include "signals/scan.h"
#include "signals/start.h"
#include "signals/takeover.h"

/* Fragment references in the table record itself; more take a page. */
#define LQH_FRAGS_INLINE    64u
#define LQH_KEY_WORDS_MAX   1088u  /* Words of TABLE_KEY_BYTES_MAX and every column's padding. */
#define LQH_BATCH_WORDS_MAX 16384u /* A scan's batch ends with the row that reaches this: 64 KB. */
#define LQH_BATCH_ROWS_MAX  992u   /* A batch grows to so many rows at most. */
#define LQH_OUT_WORDS       (LQH_BATCH_WORDS_MAX + TUP_ROW_WORDS_MAX + 4u)
#define LQH_SEGMENT_WORDS   61u  /* A segment record is 256 bytes. */
#define LQH_SCAN_LOCKS      250u /* Most rows in a batch of a locking scan. */
#define LQH_SCAN_GROUP      64u  /* Row ids fetched at once. */
#define LQH_RANGE_WORDS     256u /* Words in lqh_scan_index; more ranges take a second record. */
/* Keys before a change, then a message: old key, new key, KEY section. */
#define LQH_FIRE_ROW   (TABLE_UNIQUE_WORDS_MAX + 3u * LQH_KEY_WORDS_MAX) /* The row's own key. */
#define LQH_FIRE_WORDS (LQH_FIRE_ROW + LQH_KEY_WORDS_MAX)
/* Rows counted, or looked at in vain, before a scan reports: so it can be closed in time. */
#define LQH_SCAN_LOOK_ROWS 131072u
#define LQH_FILTER_STEPS   16384u /* Instructions of programs that a step of a scan executes. */
/* Committed reads on their way through the memory's latency; power of two. */
#define LQH_READS_PENDING 32u
/* Key and attrinfo of such a read; longer ones are executed at once. */
#define LQH_READ_WORDS   40u
#define LQH_READY_STEP   16u /* Operations that got their lock, before others have their turn. */
#define LQH_LOCK_TICK_MS 10u
#define LQH_COPIES_MAX   64u /* Fragments that other nodes copy from here at the same time. */
/* Fragments that this instance gets at the same time: the link is busy while one waits. */
#define LQH_COPY_PARALLEL 2u
#define LQH_HOLD_BACK_MS  5u /* Time between two looks whether a scan's client reads again. */

struct lqh_table {
    struct pool_record pool;
    uint32_t state; /* enum table_state: BUILDING, ONLINE (from the moment all fragments are made),
                       DROPPING */
    uint32_t table_id;
    uint32_t version; /* The major version: table_version_major(). */
    uint32_t tup_table;
    uint32_t fragment_count;
    uint32_t users; /* Operations and scans here. */
    /* The order of DICT that is being carried out in steps; 0 = none. */
    uint32_t order_sender;
    uint32_t order_data;
    uint32_t order;         /* 0 = adding, else LOCAL_TABLE_DROP */
    uint32_t fragment_next; /* Adding: fragments with smaller ids are made. */
    uint32_t add_error;     /* Why adding has failed, which the steps undo; 0: it has not. */
    /* TUP's references by fragment id; REF_NONE = not here. A page, or frags_inline. */
    uint32_t *frags;
    uint32_t frags_inline[LQH_FRAGS_INLINE];
    /* Fragments whose rows are being copied to here. */
    uint32_t copying[(TABLE_FRAGMENTS_MAX + 31u) / 32u];
    uint32_t given_rank; /* Rank of the node that last came back and copied. */
    uint32_t given[(TABLE_FRAGMENTS_MAX + 31u) / 32u]; /* Fragments that it has got from here. */
    _Alignas(8) uint8_t key_def[KEY_DEF_BYTES];
};

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

/* What is in lqh->keys: a row's keys in unique indexes before a change. Within one handler. */
struct lqh_fire {
    uint32_t count; /* 0: the table has no unique indexes, or this is not the primary, or a copy. */
    uint32_t words[TABLE_UNIQUE_MAX];
    /* Words of the row's primary key as it is stored: a client may name it by other bytes. */
    uint32_t row_words;
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

/* The parts of an ATTRINFO with KEY_PROGRAM. */
struct lqh_program {
    const uint32_t *words;
    const uint32_t *read;
    const uint32_t *value;
    uint32_t count;
    uint32_t read_words;
    uint32_t value_words;
};

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

struct lqh_scan_program {
    struct pool_record pool;
    uint32_t word[PROGRAM_WORDS_MAX];
};

/* Where a scan is in an ordered index. */
struct lqh_scan_index {
    struct pool_record pool;
    uint32_t id; /* Id of the index in the table's definition. */
    uint32_t range_words;
    uint32_t ranges; /* lqh_scan_ranges with the ranges that do not fit here, else REF_NONE. */
    struct tux_position position;
    uint32_t range[LQH_RANGE_WORDS];
};

struct lqh_scan_ranges {
    struct pool_record pool;
    uint32_t range[SCAN_RANGES_WORDS_MAX];
};

struct lqh_scan_locks {
    struct pool_record pool;
    uint32_t count;
    uint32_t lock[LQH_SCAN_LOCKS];
};

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

/* A fragment that is being copied to here. */
struct lqh_copy_target {
    uint32_t no; /* Number by which the source names it; 0: the place is free. */
    uint32_t fragment_id;
    uint32_t batch; /* Number of the next batch. */
    uint32_t permille;
    uint32_t gci; /* Rows from `told` on that are not newer than this are old; 0: there are none. */
    uint32_t pages; /* Pages that the fragment had when the source was asked. */
    uint32_t early; /* Operations so far on rows in places that no batch had told of. */
    struct tup_scan_position told; /* Batches have told of the places before this one. */
    uint64_t rows;
    uint64_t kept;
    uint64_t removed;
    uint64_t bytes;
};

/* DICT's order to copy a table to here. */
struct lqh_copy {
    uint32_t sender; /* Who has given the order; 0: there is none. */
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t version;
    uint32_t next;      /* The fragment id from which on none was asked for. */
    uint32_t fragments; /* Fragments of the table that are here. */
    uint32_t done;      /* Fragments that have been copied. */
    uint32_t running;   /* Places of `target` in use. */
    uint64_t told_ms;   /* When the last COPY_PART_REP was sent. */
    uint32_t last_no;   /* The last lqh_copy_target.no. */
    bool failed;        /* A copy has failed: the node is about to end. */
    uint64_t own;       /* Rows that the fragments had from the node's own files. */
    uint64_t rows;
    uint64_t kept;
    uint64_t removed;
    uint64_t bytes;
    uint8_t *source; /* Nodes by fragment id. NULL: the configuration knows no coming back. */
    struct lqh_copy_target target[LQH_COPY_PARALLEL];
};

/* Rows gathered for one TRANSID_AI in lqh->out; within one handler. */
struct lqh_rows {
    uint32_t count;
    uint32_t words;
    uint32_t steps; /* Instructions of programs that were executed for them. */
};

/* A committed read that has been announced to the memory and is executed a little later. */
struct lqh_pending_read {
    struct lqhkeyreq req;
    uint32_t key_words;
    uint32_t attr_words;
    uint32_t row; /* What LQH_READ_ROW has guessed: acc_likely_row(). */
    uint32_t words[LQH_READ_WORDS];
};

/* Stages of a pending read, in this order. The index line is asked for before them, at once. */
enum lqh_read_stage {
    LQH_READ_ROW = 0,   /* Asks for the row. */
    LQH_READ_VAR_ENTRY, /* Asks for the entry that says where its variable part stands. */
    LQH_READ_VAR,       /* Asks for the variable part. */
    LQH_READ_EXECUTE,
    LQH_READ_STAGES
};

/* Reads are numbered as they come; number n stands in slot n modulo LQH_READS_PENDING. */
struct lqh_reads {
    uint32_t added;                   /* Number of reads that have come. */
    uint32_t passed[LQH_READ_STAGES]; /* Number of reads that have been through each stage. */
    bool flush_sent;                  /* LQH_WORK_READS is on its way. */
    struct lqh_pending_read pending[LQH_READS_PENDING];
};

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

#define LQH_INDEX_SIZE    4096u /* Lists of operations that TCs resolve; power of two. */
#define LQH_INSTANCES_MAX 24u   /* Most instances of DBLQH, or of DBTC, on a node. */

/* Up to which failure an LQH has sent LQH_FLUSH_REP. */
struct lqh_flushed {
    uint32_t instances; /* Instances of DBLQH on the node; 0: their number is not known. */
    uint32_t failure_no[LQH_INSTANCES_MAX + 1];
};

/* What the loss of data nodes asks for; see docs/protocols/takeover.md. */
struct lqh_fail {
    bool any;            /* Some node is lost: look at the masks. */
    bool reported;       /* The walk for failure_no is over. */
    bool walking;        /* The walk for failure_no is under way. */
    uint32_t failure_no; /* Number of the newest failure; 0: there was none. */
    struct node_mask lost;
    struct node_mask lost_tcs; /* Nodes whose TCs' operations are orphans. One that comes back stays
                                  in here until a TC of its new life speaks. */
    struct node_mask alive;
    struct lqh_flushed *flushed; /* Array by node id. */
    uint32_t *index;             /* First operations of LQH_INDEX_SIZE lists. */
};

/*
 * A node P comes back; what an LQH does that P copies fragments from.
 * WAITING (for LQH_INCLUDE_REP of all TCs) --> ALONE (operations that do not go to P) --> READY.
 */
enum lqh_include_state { INCLUDE_NONE = 0, INCLUDE_WAITING, INCLUDE_ALONE, INCLUDE_READY };

/* What is known of a data node's life. */
struct lqh_life {
    uint32_t rank;      /* Rank of this life; 0: the node was there from the beginning. */
    uint32_t lost_no;   /* Number of the failure that the node was last lost with; 0: none. */
    uint32_t instances; /* Number of TCs that send LQH_INCLUDE_REP from it; 0: it is not known. */
};

/* How far a node that comes back has come here. */
struct lqh_back {
    uint8_t state;                      /* enum lqh_include_state */
    bool taken;                         /* The node is not in fail.lost any more. */
    bool told;                          /* NODE_INCLUDE_REP has come: `others` is known. */
    bool seen;                          /* The walk has found an operation that is in the way. */
    struct node_mask others;            /* The other live nodes, by NODE_INCLUDE_REP. */
    uint32_t tcs[DATA_NODE_ID_MAX + 1]; /* By node: a bit per TC that has sent LQH_INCLUDE_REP. */
};

struct lqh_include {
    struct node_mask nodes; /* Nodes that come back, or have come back and were not lost since. */
    bool any;               /* Whether `nodes` has one. */
    uint32_t copying;       /* At P: number of fragments here that have not been copied. */
    uint32_t conf_to;       /* At P: who gets NODE_INCLUDE_CONF when all fragments are marked. */
    uint32_t conf_data;
    uint32_t gci;          /* At P: newest GCI of the rows from its own files; 0: it has none. */
    struct lqh_back *back; /* Array by node id. */
    struct lqh_life *life; /* Array by node id. */
};

/* The last transactions that have committed something here; see lqh_outcome.c. */
struct lqh_outcome_entry;
struct lqh_outcome {
    struct lqh_outcome_entry *entry; /* Ring of entries. */
    uint32_t *head;                  /* 1 + place of the first entry of each hash, 0 = none. */
    uint32_t size;                   /* Places in each of both arrays: a power of two. */
    uint32_t count;                  /* The next entry's number. */
    uint64_t horizon_ms;             /* All commits here that are younger than this are known. */
};

/*
 * DICT's order about an index, which is carried out in steps: fragment by fragment the index is
 * built, or gives back its memory. One at a time.
 */
struct lqh_index {
    uint32_t sender; /* Who has given the order; 0: there is none. */
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t index;
    uint32_t building;
    uint32_t cancelled;
    uint32_t error; /* Why building has failed: what there is goes. 0: it has not. */
    uint32_t fragment_id;
    uint32_t counted;             /* 1: the rows of all fragments have been counted. */
    uint64_t rows_counted;        /* Rows that there were before the building. */
    struct tup_index_build build; /* How far fragment_id is. */
    uint64_t rows;                /* Rows of the fragments before it. */
    uint64_t reported_ms;
};

/* DICT's order about a unique index of a table in use; one at a time. */
struct lqh_unique {
    uint32_t sender; /* Who has given the order; 0: there is none. */
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t index_id;
    uint32_t state; /* enum unique_state */
    uint32_t round; /* Grows with each change of what fires. */
    uint32_t at;    /* No operation up to this place of the pool is of a former round. */
};

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

static inline struct lqh *lqh_of(struct block *block)
{
    return (struct lqh *)block;
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

/* lqh_key.c */
void lqh_exec_LQHKEYREQ(struct block *block, const struct signal *sig);
void lqh_op_ready(struct lqh *lqh, struct lqh_op *op, const struct acc_ready *ready);
void lqh_op_undelay(struct lqh *lqh, struct lqh_op *op,
                    uint32_t error); /* DELAYED: goes on, or (error) is refused. */
void lqh_op_release(struct lqh *lqh, struct lqh_op *op);

/* lqh_read.c */
void lqh_read(struct lqh *lqh, const struct signal *sig, const struct lqh_table *table,
              uint32_t error);
void lqh_reads_flush(struct lqh *lqh);
void lqh_send_row(struct lqh *lqh, uint32_t api_ref, const struct transid_ai *ai,
                  uint32_t words); /* Sends so many words of lqh->out to a client. */

/* lqh_program.c; all within one handler. */
/* Runs the filter of a committed read. 0 and what is to be read, or the error of its answer. */
uint32_t lqh_program_filter(struct lqh *lqh, const struct tup_read *row,
                            const struct lqh_data *data, struct lqh_data *read);
/* Runs the program on the locked row, or finds that there is none (ROW_NONE). Nothing has changed
 * yet. 0: `change` is what to do then, with its values in lqh->made; `program` has the reads. */
uint32_t lqh_program_prepare(struct lqh *lqh, struct lqh_op *op, struct tup_frag *frag,
                             uint32_t row, const struct lqh_data *data, struct lqh_program *program,
                             struct lqh_data *change);
/* The reads of a row that is there, into lqh->out. Returns their words. */
uint32_t lqh_program_read(struct lqh *lqh, const struct lqh_op *op, struct tup_frag *frag,
                          uint32_t row, const struct lqh_program *program);
void lqh_program_answer(struct lqh *lqh, const struct lqh_op *op, uint32_t words);
/* The second section of SCAN_FRAGREQ, if there is one. 0 or an error. */
uint32_t lqh_scan_program_begin(struct lqh *lqh, struct lqh_scan *scan, const struct signal *sig);
void lqh_scan_program_end(struct lqh *lqh, struct lqh_scan *scan);
/* The program that is run on the rows of a step; its `words` are NULL when all are wanted. */
struct tup_program lqh_scan_program(struct lqh *lqh, const struct lqh_scan *scan,
                                    struct tup_frag *frag);

/* lqh_save.c */
bool lqh_save(struct lqh *lqh, struct lqh_op *op, const struct lqh_data *data);
void lqh_load(struct lqh *lqh, struct lqh_op *op,
              struct lqh_data *data); /* Into lqh->data; frees the segments. */
void lqh_save_drop(struct lqh *lqh, struct lqh_op *op);

/* lqh_commit.c */
void lqh_exec_COMMIT(struct block *block, const struct signal *sig);
void lqh_exec_COMPLETE(struct block *block, const struct signal *sig);
void lqh_exec_ABORT(struct block *block, const struct signal *sig);

void lqh_commit_op(struct lqh *lqh, struct lqh_op *op, const struct commit_train *commit);
void lqh_op_end(struct lqh *lqh, struct lqh_op *op); /* COMPLETE, or ABORT of what is prepared. */

/* lqh_nodefail.c */
void lqh_nodefail_init(struct lqh *lqh);
void lqh_exec_NODE_LOST_REP(struct block *block, const struct signal *sig);
void lqh_exec_LQH_FLUSH_REP(struct block *block, const struct signal *sig);
void lqh_exec_LQH_ORPHAN_REQ(struct block *block, const struct signal *sig);
void lqh_nodefail_step(struct lqh *lqh, const struct lqh_continueb *work);
/* Is the TC, or one of these replicas, lost? See lqh_doomed(). */
bool lqh_lost(const struct lqh *lqh, uint32_t tc_ref, uint32_t nodes);
/* Drops an operation that waits for a lock. */
void lqh_op_drop_waiting(struct lqh *lqh, struct lqh_op *op);

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

/* lqh_include.c */
void lqh_include_init(struct lqh *lqh);
void lqh_exec_NODE_INCLUDE_REQ(struct block *block, const struct signal *sig);
void lqh_exec_NODE_INCLUDE_REP(struct block *block, const struct signal *sig);
void lqh_exec_LQH_INCLUDE_REP(struct block *block, const struct signal *sig);
void lqh_include_step(struct lqh *lqh, const struct lqh_continueb *work);
void lqh_include_lost(struct lqh *lqh, const struct node_lost_rep *rep);
void lqh_include_try(struct lqh *lqh); /* The walk for a failure is over. */
void lqh_tc_back(struct lqh *lqh, uint32_t tc_ref);
/* The source of a copy: nothing is under way any more that P does not take part in. Asked again and
 * again: the first question begins the search. */
bool lqh_included(struct lqh *lqh, uint32_t node, uint32_t rank);
bool lqh_fragment_copying(const struct lqh *lqh, uint32_t table_id, uint32_t fragment_id);
void lqh_fragment_copied(struct lqh *lqh, uint32_t table_id, uint32_t fragment_id);
void lqh_table_copied(struct lqh *lqh,
                      struct lqh_table *table); /* It is dropped: none is to be copied. */
/* CHAIN_SKIP or 0: does a node that comes back execute what is done in this place? */
uint32_t lqh_include_skip(const struct lqh *lqh, const struct lqh_op *op, uint32_t page,
                          uint32_t slot);
/* A write that comes from another replica into a fragment that is being copied. */
bool lqh_copies(const struct lqh *lqh, const struct lqh_op *op);

/* lqh_outcome.c */
void lqh_outcome_init(struct lqh *lqh);
void lqh_outcome_note(struct lqh *lqh, const struct lqh_op *op); /* It has committed a change. */
/* Asks the memory for what lqh_outcome_note() will need. */
void lqh_outcome_ahead(const struct lqh *lqh, const struct lqh_op *op);
void lqh_outcome_forget(struct lqh *lqh); /* What was committed up to now may be unknown. */
void lqh_exec_OUTCOME_ASK_REQ(struct block *block, const struct signal *sig);

/* lqh_resolve.c */
void lqh_index_add(struct lqh *lqh, struct lqh_op *op);
void lqh_index_remove(struct lqh *lqh, struct lqh_op *op);
void lqh_exec_OP_RESOLVE_REQ(struct block *block, const struct signal *sig);

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

/* lqh_scan_index.c: scans of ranges of an index. The third section of SCAN_FRAGREQ. */
uint32_t lqh_scan_index_begin(struct lqh *lqh, struct lqh_scan *scan, const struct signal *sig);
void lqh_scan_index_end(struct lqh *lqh, struct lqh_scan *scan);
/* Does what lqh_scan_filter_group() does, with the entries of the ranges. */
uint32_t lqh_scan_index_group(struct lqh *lqh, struct lqh_scan *scan, struct tup_frag *frag,
                              struct lqh_rows *rows);
/* The number of the range for which rows are given now. */
uint32_t lqh_scan_index_range(struct lqh *lqh, const struct lqh_scan *scan);
/* Locking scans: the next row, ROW_NONE when there is none just now. */
uint32_t lqh_scan_index_row(struct lqh *lqh, struct lqh_scan *scan, struct tup_frag *frag,
                            bool *end);
/* Is the index that it scans being dropped, or not there any more? */
bool lqh_scan_index_gone(struct lqh *lqh, const struct lqh_scan *scan);
/* Has the row, which was waited for, still the key with which it was found? */
bool lqh_scan_index_same(struct lqh *lqh, const struct lqh_scan *scan, const struct tup_frag *frag,
                         uint32_t row);

/* lqh_scan_lock.c */
uint32_t lqh_scan_lock_begin(struct lqh *lqh, struct lqh_scan *scan);
void lqh_scan_lock_end(struct lqh *lqh, struct lqh_scan *scan);
void lqh_scan_unlock_batch(struct lqh *lqh, struct lqh_scan *scan);
void lqh_scan_lock_step(struct lqh *lqh, struct lqh_scan *scan);
void lqh_scan_lock_ready(struct lqh *lqh, struct lqh_scan *scan, const struct acc_ready *ready);

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
/* The node that comes back with this rank has been told of this place, or has all of the fragment.
 */
bool lqh_copy_told(const struct lqh *lqh, uint32_t rank, uint32_t table_id, uint32_t fragment_id,
                   uint32_t page, uint32_t slot);

/* lqh_copy_target.c */
void lqh_copy_init(struct lqh *lqh);
void lqh_copy_again(struct lqh *lqh, uint32_t no);
/* An operation that is going to be executed. If it is an insert, old rows in its place, or with its
 * key (*row), go. */
void lqh_copy_meanwhile(struct lqh *lqh, const struct lqh_op *op, uint32_t *row);
void lqh_exec_COPY_TABLE_REQ(struct block *block, const struct signal *sig);
void lqh_exec_COPY_ROWS_REP(struct block *block, const struct signal *sig);
void lqh_exec_COPY_FRAGCONF(struct block *block, const struct signal *sig);
void lqh_exec_COPY_FRAGREF(struct block *block, const struct signal *sig);

/* lqh_schema.c */
void lqh_exec_LOCAL_TABLE_ADD_REQ(struct block *block, const struct signal *sig);
void lqh_exec_LOCAL_TABLE_STATE_REQ(struct block *block, const struct signal *sig);
void lqh_table_step(struct lqh *lqh, uint32_t table_id);
/* lqh_unique.c */
void lqh_unique_step(struct lqh *lqh);
void lqh_exec_LOCAL_UNIQUE_REQ(struct block *block, const struct signal *sig);

/* lqh_index.c */
void lqh_index_step(struct lqh *lqh);
void lqh_exec_LOCAL_INDEX_REQ(struct block *block, const struct signal *sig);
void lqh_exec_LOCAL_INDEX_CANCEL_ORD(struct block *block, const struct signal *sig);

void lqh_table_leave(struct lqh *lqh, uint32_t table_id);
struct lqh_table *lqh_table_get(struct lqh *lqh,
                                uint32_t table_id); /* Table of an own operation or scan. */
/* The table of a request that may use this fragment of it; NULL and *error. */
struct lqh_table *lqh_table_usable(struct lqh *lqh, uint32_t table_id, uint32_t version,
                                   uint32_t fragment_id, uint32_t *error);

/* lqh_fire.c */
/* Before a change of a row: keeps the keys that it has in unique indexes. */
void lqh_fire_before(struct lqh *lqh, const struct lqh_op *op, struct tup_frag *frag, uint32_t row,
                     struct lqh_fire *fire);
/* After the change: tells TC of the keys that are others than before. */
void lqh_fire(struct lqh *lqh, struct lqh_op *op, const struct tup_change_req *req, uint32_t row,
              const struct lqh_fire *fire);
/* Tells TC of the row as it is, for an index that is being built. 0 or an error. */
uint32_t lqh_fire_fill(struct lqh *lqh, struct lqh_op *op, const struct lqh_data *data,
                       struct tup_frag *frag, uint32_t row);
/* Tells TC what was done to a row of which there are copies. */
void lqh_fire_copy(struct lqh *lqh, struct lqh_op *op, const struct lqh_data *data);

/* lqh_ahead.c */
block_ahead lqh_ahead;
void lqh_ahead_train(const struct lqh *lqh, const struct signal *sig,
                     uint32_t entry); /* Asks for what the entries behind `entry` need. */

/* lqh_redo.c; but for the handlers and lqh_redo_tail(), only when there is a log. */
#define LQH_HELD_BACK 0xFFFFFFFFu /* Result of lqh_redo_admit(), not an error. */
void lqh_redo_init(struct lqh *lqh);
uint32_t lqh_redo_admit(struct lqh *lqh, struct lqh_op *op, const struct lqh_data *data);
void lqh_redo_commit(struct lqh *lqh, struct lqh_op *op,
                     const struct commit_train *commit); /* Is called before tup_commit(). */
void lqh_redo_leave(struct lqh *lqh, struct lqh_op *op);
void lqh_redo_tail(struct lqh *lqh, uint32_t gci);
void lqh_redo_step(struct lqh *lqh);
void lqh_redo_delay_tick(struct lqh *lqh);
void lqh_redo_check(struct lqh *lqh);
void lqh_exec_GCP_SAVEREQ(struct block *block, const struct signal *sig);
void lqh_exec_REDO_OPEN_REQ(struct block *block, const struct signal *sig);
void lqh_exec_REDO_START_REQ(struct block *block, const struct signal *sig);
void lqh_exec_REDO_TAIL_ORD(struct block *block, const struct signal *sig);
void lqh_exec_REDO_STATUS_REQ(struct block *block, const struct signal *sig);
void lqh_exec_FSOPENCONF(struct block *block, const struct signal *sig);
void lqh_exec_FSOPENREF(struct block *block, const struct signal *sig);
void lqh_exec_FSPREALLOCATECONF(struct block *block, const struct signal *sig);
void lqh_exec_FSPREALLOCATEREF(struct block *block, const struct signal *sig);
void lqh_exec_FSREADCONF(struct block *block, const struct signal *sig);
void lqh_exec_FSREADREF(struct block *block, const struct signal *sig);
void lqh_exec_FSWRITECONF(struct block *block, const struct signal *sig);
void lqh_exec_FSWRITEREF(struct block *block, const struct signal *sig);
void lqh_exec_FSSYNCCONF(struct block *block, const struct signal *sig);
void lqh_exec_FSSYNCREF(struct block *block, const struct signal *sig);

/* lqh_recover.c; only when there is a log. */
void lqh_recover_step(struct lqh *lqh);
void lqh_recover_tick(struct lqh *lqh);
void lqh_recover_replayed(struct lqh *lqh);
void lqh_recover_fail(struct lqh *lqh, uint32_t code,
                      const char *text); /* Ends the node, or tells that others are asked. */
/* Says in `text` what can be done about damage. */
void lqh_recover_advice(const struct lqh *lqh, char *text, size_t size);
/* Does the error mean that limits are lower than they were, and no damage? */
bool lqh_recover_no_memory(uint32_t error);
void lqh_exec_RECOVER_REQ(struct block *block, const struct signal *sig);
void lqh_exec_RESTORE_FRAG_CONF(struct block *block, const struct signal *sig);
void lqh_exec_RESTORE_FRAG_REF(struct block *block, const struct signal *sig);
void lqh_exec_RESTORE_END_CONF(struct block *block, const struct signal *sig);

/* lqh_check.c */
void lqh_check(struct block *block);

/* lqh_dump.c */
void lqh_exec_DUMP_STATE_ORD(struct block *block, const struct signal *sig);
void lqh_exec_PACE_PROBE_REQ(struct block *block, const struct signal *sig);
