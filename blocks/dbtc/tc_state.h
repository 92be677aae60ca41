/* tc_state.h -- DBTC's records, pools and states, and which file answers for what. Private to
 * blocks/dbtc. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbtc/tc.h"
#include "signals/api_reg.h"
#include "signals/dict.h"
#include "signals/durable.h"
#include "values/errors.h"
#include "signals/gcp.h"
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

/* Fragments whose replicas stand in the table record itself; more take a page. */
#define TC_NODES_INLINE  192u
#define TC_STEP_OPS      64u   /* Operations of one transaction that a step takes. */
#define TC_STEP_RECORDS  64u   /* Records that a step of a walk over all of them takes. */
#define TC_TRAINS        8u    /* Trains being collected at the same time: two per LQH. */
#define TC_WAITS_MAX     8192u /* Clients' waits for durability; a node has 4711 client objects. */
#define TC_SCAN_PARALLEL 256u  /* Most fragments of a scan that are read at the same time. */

/* A unique index, as its table knows it. */
enum tc_entries {
    ENTRIES_STRICT = 0, /* Each row has its entry. */
    ENTRIES_CAREFUL,    /* Some rows have no entry, and an entry may be another row's. */
    ENTRIES_CLOSED,     /* Each row has its entry, but nobody may look for entries. */
    ENTRIES_LOOSE       /* Entries do not matter any more. */
};
struct tc_unique {
    uint32_t table_id;
    uint32_t version;
    uint32_t entries; /* enum tc_entries */
};

/* DICT's order about a unique index of a table in use; one at a time. */
struct tc_unique_order {
    uint32_t sender; /* Who has given the order; 0: there is none. */
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t index_id;
    uint32_t state; /* enum unique_state */
    bool waits;     /* The answer waits for users of the index to leave. */
};

/* The LQHs wait for transactions that began before the last such order and use this table. */
struct tc_hurry {
    uint32_t table_id; /* Table of the last order; 0: there was none. */
    uint32_t round;    /* Number of orders so far. */
};

/*
 * A table as TC needs it: how to hash its key and where its rows live. It is used by operations and
 * scans; the last one answers DICT's DROPPING order.
 */
struct tc_table {
    struct pool_record pool;
    uint32_t state; /* enum table_state: BUILDING, ONLINE, DROPPING */
    uint32_t table_id;
    uint32_t version;
    uint32_t flags; /* enum table_flags */
    uint32_t fragment_count;
    uint32_t partitions; /* Fragments that the hash map names; behind them their copies. */
    uint32_t replicas;
    uint32_t buckets;
    uint32_t users;       /* Operations and scans. */
    uint32_t drop_sender; /* Who waits for users == 0; 0: nobody does. */
    uint32_t drop_data;
    uint32_t base_id; /* The table whose unique index this is; 0 = an ordinary table. */
    uint32_t base_version;
    uint32_t entries;      /* Users that are operations with OP_ENTRY. */
    uint32_t unique_count; /* Number of its unique indexes. */
    struct tc_unique unique[TABLE_UNIQUE_MAX];
    /* REPLICAS_MAX node ids per fragment, as distributed, 0 = none. A page, or nodes_inline. */
    uint8_t *nodes;
    uint8_t nodes_inline[TC_NODES_INLINE * REPLICAS_MAX];
    uint16_t fragment_of[HASH_MAP_BUCKETS];
    _Alignas(8) uint8_t key_def[KEY_DEF_BYTES];
};

/* What a client seizes: a place for one transaction or one scan at a time. */
struct tc_connect {
    struct pool_record pool;
    uint32_t owner;         /* Block reference of the client. */
    uint32_t api_connect;   /* Number by which the client names this. */
    uint32_t trans;         /* Transaction that the client can still influence, or REF_NONE. */
    uint32_t scan;          /* Running scan, or REF_NONE. */
    uint32_t last_transid1; /* The last transaction that ended here: what still arrives for it is
                               known to be late. */
    uint32_t last_transid2;
    uint32_t last_error; /* Why that transaction was aborted; 0: it was not. */
    uint32_t releasing;  /* 1: TCRELEASEREQ waits for the end of transaction or scan. */
    uint32_t release_data;
    uint32_t durable_gci; /* Epoch of a commit whose answer waits until it is durable; 0: none. */
    uint32_t durable_lo;
    uint32_t durable_flags; /* enum tc_trans_flags: which answer is due. */
    uint32_t durable_next;  /* The next connect record that waits for this GCI. */
    uint32_t held;          /* Requests in order.first that are to be executed. */
    uint32_t held_drop;     /* Requests before those which have been refused meanwhile. */
};

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

/* An operation by unique key that waits for the row's key: what the client wants of the row. */
struct tc_lookup {
    struct pool_record pool;
    uint32_t request_info;
    uint32_t attr_words;
    uint32_t first; /* First segment of its ATTRINFO; REF_NONE: it has none. */
};

#define TC_SEGMENT_WORDS 61u /* A segment record is 256 bytes. */
struct tc_segment {
    struct pool_record pool;
    uint32_t next;
    uint32_t words[TC_SEGMENT_WORDS];
};

enum tc_scan_state { SCAN_RUNNING = 0, SCAN_CLOSING = 1 };

struct tc_scan {
    struct pool_record pool;
    uint32_t connect;
    uint32_t state;      /* enum tc_scan_state */
    uint32_t answer_due; /* Closing: the client gets SCAN_TABCONF (error 0) or SCAN_TABREF. */
    uint32_t error;
    uint32_t api_scan;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t table_id;
    uint32_t version;
    uint32_t request_info;
    uint32_t batch_rows;
    uint32_t batch_bytes;
    uint32_t parallelism;
    uint32_t fragment_next;  /* The fragment or partition that is started next. */
    uint32_t fragment_count; /* How many it reads: all fragments, or one of each partition. */
    uint32_t starting;       /* 1: a CONTINUEB that starts fragments is on its way. */
    uint32_t frag_first;
    uint32_t frag_count;
    uint32_t frag_hint; /* The tc_frag at which the last search ended: clients name fragments in the
                           order in which they got them. */
    uint64_t active_ms;
    uint32_t limit;   /* Rows that are enough; 0: all are wanted. */
    uint64_t rows;    /* Rows that were delivered so far. */
    uint32_t program; /* Its tc_scan_program; REF_NONE: it has none. */
    uint32_t range;   /* Its tc_scan_range; REF_NONE: it scans no ranges of an index. */
    uint32_t merged;  /* 1: the client sorts the rows of fragments: none can wait for others. */
    uint32_t attr_words;
    uint32_t attr[ATTR_READ_MAX];
};

struct tc_scan_program {
    struct pool_record pool;
    uint32_t words;
    uint32_t word[PROGRAM_WORDS_MAX];
};

#define TC_ALL_FRAGMENTS UINT16_MAX

struct tc_scan_range {
    struct pool_record pool;
    uint32_t words;
    uint32_t count;                     /* Number of ranges. */
    uint32_t some;                      /* 1: some ranges are in one fragment only. */
    uint32_t all;                       /* 1: each range is in one fragment only. */
    uint16_t fragment[SCAN_RANGES_MAX]; /* Fragment of each range, or TC_ALL_FRAGMENTS. */
    uint32_t word[SCAN_RANGES_WORDS_MAX];
};
static_assert(2 * sizeof(struct tc_scan_range) <= PAGE_SIZE_BYTES, "two of them fit into a page");

/*
 * FRAG_READING --> FRAG_DELIVERED --> FRAG_READING ...       --> (gone) when done
 *      |  ^close wanted     |
 *      v                    v
 * FRAG_CLOSING <------------+                                --> (gone) when closed
 */
enum tc_frag_state { FRAG_READING = 0, FRAG_DELIVERED, FRAG_CLOSING };

struct tc_frag {
    struct pool_record pool;
    uint32_t scan;
    uint32_t previous;
    uint32_t next;
    uint32_t state; /* enum tc_frag_state */
    uint32_t fragment_id;
    uint32_t node;
    uint32_t lqh_ref;  /* Its LQH, which is known after the first batch. */
    uint32_t lqh_scan; /* REF_NONE before the first batch. */
};

/* A client that waits until a GCI is durable. */
struct tc_wait {
    struct pool_record pool;
    uint32_t owner; /* Block reference of the client. */
    uint32_t sender_data;
    uint32_t gci;
    bool all; /* It waits for all that is committed: the GCI may not have begun. */
};

/* A client node that is being cleaned up after. */
struct tc_api_fail {
    uint32_t sender; /* QMGR; 0 = the node is not failing. */
    uint32_t sender_data;
};

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

/* Entries for one destination, until they are sent. */
struct tc_train {
    struct block *block;
    uint32_t gsn;
    uint32_t receiver;
    uint32_t flags;
    uint32_t gci_hi;
    uint32_t gci_lo;
    uint32_t count;
    struct train_entry entry[TRAIN_ENTRIES_MAX];
};

/* What a client is told about a commit. */
struct tc_committed {
    uint32_t flags; /* enum tc_trans_flags: which answers are due. */
    uint32_t transid1;
    uint32_t transid2;
    uint32_t gci_hi;
    uint32_t gci_lo;
    uint32_t level; /* KEYCONF_DURABLE, or 0 */
};

/* Commits are counted by epoch. Those of older epochs than the last had ended before the newest
 * could begin. */
#define TC_ENDED_MAX 64u  /* As many as the system file keeps. */
struct tc_ended {         /* Incarnations of the cluster behind the entry before. */
    uint32_t incarnation; /* The last one of them. */
    uint32_t gci;         /* GCI at which they ended: what is above was lost. */
};

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

#define TC_LQHS_MAX     24u   /* Most LQHs of a node: LDM_COUNT_MAX. */
#define TC_ORPHAN_LISTS 4096u /* Lists of orphans by hash; a power of two. */

/* Up to which failure the LQHs of a node have reported, and what else is known of its life. */
struct tc_lost_life {
    uint32_t rank;      /* Rank of this life; 0: the node was there from the beginning. */
    uint32_t place;     /* Its place among the replicas: order.h. */
    uint32_t lost_no;   /* Number of the failure that the node was last lost with; 0: none. */
    uint32_t back_no;   /* Number of the last failure before it came back. */
    uint32_t instances; /* Number of its LQHs; 0: it is not known. */
    uint32_t failure_no[TC_LQHS_MAX + 1]; /* Up to which failure each has reported. */
};

/* Lost nodes come back; see docs/protocols/node_restart.md. */
struct tc_include {
    struct node_mask nodes; /* Nodes that wait until all failures have been dealt with. */
};

/* A new order of replicas; see docs/protocols/replica_order.md. */
struct tc_order {
    bool on;         /* Requests are held back, or some are left. */
    bool holding;    /* No transaction and no scan begins. */
    bool running;    /* A request that was held back is being executed. */
    bool releasing;  /* TC_WORK_ORDER_RELEASE is on its way. */
    uint32_t serial; /* Counts the orders to hold. */
    uint32_t sender; /* Who waits for the end of what is under way; 0: nobody does. */
    uint32_t number[2];
    uint32_t count; /* Requests in the queue. */
    void *first;    /* The queue: pages of requests, one extent behind the other. */
    void *last;
};

/* The loss of data nodes; see docs/protocols/takeover.md. */
struct tc_fail {
    bool any;            /* Some node is lost: look at the masks. */
    bool placed;         /* Some node's place is not 0: replicas are to be sorted. */
    bool marking;        /* Not all transactions that have lost a replica are aborted yet. */
    bool resolving;      /* All LQHs have reported: broken operations are ended by orders. */
    uint32_t failure_no; /* Number of the newest failure; 0: there was none. */
    uint32_t reported;   /* Number of the failure for which TAKEOVER_END_REP was sent last. */
    struct node_mask lost;
    struct node_mask alive;
    struct tc_lost_life *ended; /* Array by node id. */
};

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

/* Single user mode: the work of all other clients is to end. */
struct tc_clients {
    uint32_t sender; /* Who gave the last order. */
    uint32_t sender_data;
    uint32_t node;     /* The client node whose work goes on. */
    uint64_t until_ms; /* When the work of the others is ended by force. */
    bool walks;        /* TC_WORK_CLIENTS is on its way. */
    bool found;        /* The walk has seen work of the others. */
    bool anew;         /* Another order has come since the walk began. */
};

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

/* tc_outcome.c */
void tc_outcome_init(struct tc *tc);
void tc_outcome_lost(struct tc *tc, const struct node_lost_rep *rep);
void tc_outcome_joined(struct tc *tc, const struct node_mask *alive);
void tc_outcome_started(struct tc *tc, const struct node_mask *started);
void tc_outcome_step(struct tc *tc, uint32_t ref, uint32_t index);
void tc_exec_OUTCOME_REQ(struct block *block, const struct signal *sig);
void tc_exec_OUTCOME_CONF(struct block *block, const struct signal *sig);
void tc_exec_OUTCOME_REF(struct block *block, const struct signal *sig);
void tc_exec_OUTCOME_ASK_CONF(struct block *block, const struct signal *sig);

/* tc.c */
void tc_continue(struct tc *tc, enum tc_work work, uint32_t ref, uint32_t index, uint32_t which);
void tc_continue_later(struct tc *tc, enum tc_work work, uint32_t ref, uint32_t delay_ms);
/* A data node has broken a protocol: a peer loses its link, and the own node stops. */
void tc_protocol_error(struct tc *tc, uint32_t sender, const char *what);
/* 0, or why no new work of this client is taken in this node state. */
uint32_t tc_refuse_new(const struct tc *tc, uint32_t client);

/* tc_seize.c */
void tc_exec_TCSEIZEREQ(struct block *block, const struct signal *sig);
void tc_exec_TCRELEASEREQ(struct block *block, const struct signal *sig);
struct tc_connect *tc_connect_find(struct tc *tc, uint32_t ref,
                                   uint32_t sender); /* The client's own, or NULL. */
struct tc_connect *tc_connect_get(struct tc *tc, uint32_t ref);
void tc_connect_idle(
    struct tc *tc, struct tc_connect *connect); /* Its work has ended; a waiting release follows. */
/* Ends what is under way; an idle record goes at once, else when that has ended. */
void tc_connect_end(struct tc *tc, struct tc_connect *connect);
void tc_connect_free(struct tc *tc, struct tc_connect *connect);

/* tc_read.c */
void tc_read_committed(struct tc *tc, const struct signal *sig);
/* 0, ERR_NODE_FAILURE (there is no link, or node 0), or ERR_SEND_BUFFER_FULL. */
uint32_t tc_link_error(const struct tc *tc, uint32_t node);
bool tc_client_slow(const struct tc *tc, uint32_t client);
uint32_t tc_read_node(const struct tc *tc, const struct tc_table *table, uint32_t fragment);
/* Everything that is checked and computed from a request's key. */
struct tc_route {
    struct tc_table *table;
    uint32_t fragment;
    uint32_t hash;
};
uint32_t tc_route(struct tc *tc, const struct signal *sig, struct tc_route *route);
/* Does the same for a table that is known already. */
uint32_t tc_route_in(struct tc_table *table, const struct signal *sig, struct tc_route *route);

static inline bool tc_has_copies(const struct tc_table *table)
{
    return __builtin_expect(table->partitions != table->fragment_count, 0);
}

/* The number of columns of the table's primary key: in a unique index's table that is the id of the
 * column behind them. */
static inline uint32_t tc_key_columns(const struct tc_table *table)
{
    return ((const struct table_def *)(const void *)table->key_def)->key_count;
}

/* tc_key.c */
void tc_exec_TCKEYREQ(struct block *block, const struct signal *sig);
void tc_exec_LQHKEYCONF(struct block *block, const struct signal *sig);
void tc_exec_LQHKEYREF(struct block *block, const struct signal *sig);
struct tc_trans *tc_trans_get(struct tc *tc, uint32_t ref);
struct tc_op *tc_op_get(struct tc *tc, uint32_t ref);
void tc_op_release(struct tc *tc, struct tc_trans *trans, struct tc_op *op);
void tc_batch_done(struct tc *tc,
                   struct tc_trans *trans); /* Answers or commits when nothing is outstanding. */
void tc_trans_move(struct tc_trans *trans, enum tc_trans_state state);
void tc_op_move(struct tc_op *op, enum tc_op_state state);

/* A checked request of `req->sender` becomes an operation of the transaction. `flags`: enum
 * tc_op_flags. 0 and *op, or an error and nothing has happened. */
uint32_t tc_start_op(struct tc *tc, struct tc_trans *trans, const struct signal *sig,
                     uint32_t flags, struct tc_op **op);
/* Does the same for an operation of TC's own, whose fragment is known. */
uint32_t tc_start_routed(struct tc *tc, struct tc_trans *trans, const struct signal *sig,
                         const struct tc_route *route, uint32_t flags, struct tc_op **op);
void tc_refuse_op(struct tc *tc, const struct tc_trans *trans, uint32_t api_op,
                  uint32_t error); /* Sends TCKEYREF. */

/* tc_unique_state.c */
const struct tc_unique *tc_unique_find(const struct tc_table *base, uint32_t index_id);
/* The index's table, when its entries may be changed; while it is made or dropped only TC can. */
struct tc_table *tc_entry_table(struct tc *tc, uint32_t index_id, uint32_t version,
                                uint32_t *error);
/* An entry could not be changed, for a reason that does not matter now. */
bool tc_entry_forgiven(const struct tc *tc, const struct tc_op *op, uint32_t error);
/* Is the key another row's? */
bool tc_entry_taken(const struct tc_op *op, uint32_t error);
void tc_unique_left(struct tc *tc, const struct tc_table *index); /* A user of it has left. */
void tc_exec_LOCAL_UNIQUE_REQ(struct block *block, const struct signal *sig);
void tc_exec_SCHEMA_WAITS_ORD(struct block *block, const struct signal *sig);

/* tc_unique.c */
void tc_exec_FIRE_TRIG_ORD(struct block *block, const struct signal *sig);
/* How many FIRE_TRIG_ORDs and FIRE_COPY_ORDs the operation can have, at most. */
uint32_t tc_fires_max(const struct tc *tc, const struct tc_op *op);
/* The operation that a FIRE_TRIG_ORD or FIRE_COPY_ORD is for; NULL: it is to be ignored. */
struct tc_op *tc_fired_op(struct tc *tc, uint32_t ref, uint32_t transid1, uint32_t transid2);
/* A FIRE_TRIG_ORD or FIRE_COPY_ORD for `op` has come from `sender`. False: none is due, and the
 * sender's link is cut. */
bool tc_fire_take(struct tc *tc, struct tc_op *op, uint32_t sender);

/* tc_copies.c */
void tc_exec_FIRE_COPY_ORD(struct block *block, const struct signal *sig);
/* The fragment with a partition's rows that the own node has, or the partition itself. */
uint32_t tc_near_fragment(const struct tc *tc, const struct tc_table *table, uint32_t partition);

/* tc_lookup.c */
void tc_lookup_init(struct tc *tc);
uint32_t tc_lookup_start(struct tc *tc, struct tc_trans *trans, const struct signal *sig);
void tc_lookup_drop(struct tc *tc, struct tc_op *op); /* Nothing follows the lookup any more. */
void tc_exec_TRANSID_AI(struct block *block, const struct signal *sig);

/* tc_commit.c */
void tc_op_committed(struct tc *tc, struct tc_op *op); /* All its replicas have committed it. */
void tc_op_completed(struct tc *tc, struct tc_op *op);
void tc_exec_TC_COMMITREQ(struct block *block, const struct signal *sig);
void tc_exec_COMMITTED(struct block *block, const struct signal *sig);
void tc_exec_COMPLETED(struct block *block, const struct signal *sig);
void tc_commit_begin(struct tc *tc, struct tc_trans *trans);
void tc_commit_start(struct tc *tc, struct tc_trans *trans); /* It has the current epoch. */
void tc_commit_answer(struct tc *tc, const struct tc_connect *connect,
                      const struct tc_committed *committed);
void tc_commit_step(struct tc *tc, struct tc_trans *trans);
void tc_complete_step(struct tc *tc, struct tc_trans *trans);
void tc_train_begin(struct tc_train *train, struct tc *tc, uint32_t gsn,
                    const struct tc_trans *trans);
void tc_train_add(struct tc_train *train, const struct tc_op *op, uint32_t transid1,
                  uint32_t flags);
void tc_train_send(struct tc_train *train);
void tc_trains_flush(struct tc *tc);
/* The operation that an entry of an answer names, counted as answered; NULL for a forged one. */
struct tc_op *tc_train_answer(struct tc *tc, const struct signal *sig, uint32_t entry,
                              enum tc_trans_state state, enum tc_op_state op_state);
uint32_t tc_train_count(struct tc *tc, const struct signal *sig); /* 0 for a malformed train. */

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

/* tc_wait.c */
void tc_exec_WAIT_DURABLE_REQ(struct block *block, const struct signal *sig);
void tc_wait_walk(struct tc *tc);
void tc_wait_step(struct tc *tc, uint32_t index);

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

/* tc_abort.c */
void tc_exec_TCROLLBACKREQ(struct block *block, const struct signal *sig);
void tc_exec_ABORTED(struct block *block, const struct signal *sig);
void tc_abort_begin(struct tc *tc, struct tc_trans *trans, uint32_t error, uint32_t api_op);
void tc_abort_step(struct tc *tc, struct tc_trans *trans);
void tc_abort_done(struct tc *tc,
                   struct tc_trans *trans); /* Ends the transaction if nothing is awaited. */
struct tc_reason {                          /* What TCROLLBACKREP says. */
    uint32_t error;
    uint32_t api_op;
    uint32_t error_data;
};
void tc_rollback_rep(struct tc *tc, const struct tc_connect *connect, uint32_t transid1,
                     uint32_t transid2, const struct tc_reason *reason);

/* tc_nodefail.c */
void tc_nodefail_init(struct tc *tc);
void tc_exec_NODE_LOST_REP(struct block *block, const struct signal *sig);
void tc_exec_LQH_FAIL_END_REP(struct block *block, const struct signal *sig);
void tc_nodefail_step(struct tc *tc, const struct tc_continueb *work);
void tc_nodefail_check(struct tc *tc); /* Something has ended: is that all? */
bool tc_any_lost(const struct tc *tc, uint32_t nodes);
bool tc_has_broken(struct tc *tc, const struct tc_trans *trans);
/* The live nodes of a fragment in the order of their places, packed as in LQHKEYREQ. */
uint32_t tc_live_nodes(const struct tc *tc, const uint8_t *nodes);

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

/* tc_include.c */
void tc_exec_NODE_INCLUDE_REQ(struct block *block, const struct signal *sig);
void tc_exec_NODE_INCLUDE_REP(struct block *block, const struct signal *sig);
void tc_include_try(struct tc *tc); /* A failure has been dealt with. */
void tc_include_lost(struct tc *tc, const struct node_lost_rep *rep);
void tc_include_absent(struct tc *tc, uint32_t node); /* The dictionary says that it is absent. */

/* tc_order.c */
void tc_place_set(struct tc *tc, uint32_t node, uint32_t place);
/* The request waits for the new order, or has been refused; `begins`: a transaction or a scan. */
bool tc_order_holds(struct tc *tc, const struct signal *sig, uint32_t tc_connect, bool begins);
void tc_order_step(struct tc *tc, uint32_t serial);
void tc_order_release(struct tc *tc);
void tc_exec_ORDER_HOLD_REQ(struct block *block, const struct signal *sig);
void tc_exec_ORDER_PLACES_REP(struct block *block, const struct signal *sig);
void tc_exec_ORDER_HOLD_END_ORD(struct block *block, const struct signal *sig);

/* Does the request belong to those that are held back? */
static inline bool tc_held(struct tc *tc, const struct signal *sig, uint32_t tc_connect,
                           bool begins)
{
    return __builtin_expect(tc->order.on, 0) && tc_order_holds(tc, sig, tc_connect, begins);
}

/* tc_resolve.c */
void tc_resolve(struct tc *tc, struct tc_op *op); /* Orders what its state waits for. */
void tc_resolve_if_due(struct tc *tc, struct tc_op *op);
void tc_exec_OP_RESOLVE_CONF(struct block *block, const struct signal *sig);

/* tc_takeover.c */
void tc_takeover_init(struct tc *tc);
void tc_takeover_restart(struct tc *tc, uint32_t failure_no);
void tc_takeover_reported(struct tc *tc); /* All LQHs have reported: decides. */
bool tc_takeover_done(const struct tc *tc);
void tc_takeover_step(struct tc *tc, const struct tc_continueb *work);
void tc_takeover_resolved(struct tc *tc, const struct op_resolve_conf *conf);
void tc_exec_LQH_ORPHAN_REP(struct block *block, const struct signal *sig);
void tc_exec_LQH_ORPHAN_CONF(struct block *block, const struct signal *sig);

/* tc_scan.c */
void tc_scan_frag_lost(struct tc *tc, struct tc_frag *frag);
void tc_exec_SCAN_TABREQ(struct block *block, const struct signal *sig);
void tc_exec_SCAN_NEXTREQ(struct block *block, const struct signal *sig);
void tc_exec_SCAN_FRAGCONF(struct block *block, const struct signal *sig);
void tc_exec_SCAN_FRAGREF(struct block *block, const struct signal *sig);
void tc_scan_start_frags(struct tc *tc, struct tc_scan *scan);
void tc_scan_close(struct tc *tc, struct tc_scan *scan, uint32_t error, bool answer);
bool tc_scan_idle(struct tc *tc, const struct tc_scan *scan); /* Only the client can move it on. */

/* tc_scan_range.c: the ranges of an index, and which fragments they concern. */
/* Keeps the third section, if there is one. False: there is no record. */
bool tc_scan_range_keep(struct tc *tc, struct tc_scan *scan, const struct tc_table *table,
                        const struct signal *sig);
void tc_scan_range_end(struct tc *tc, struct tc_scan *scan);
/* The first fragment from this one on that can have rows; fragment_count: there is none. */
uint32_t tc_scan_range_fragment(const struct tc *tc, const struct tc_scan *scan, uint32_t from);
/* The ranges of a scan that has some, for one fragment. Valid until the next call. */
struct section tc_scan_range_section(const struct tc *tc, const struct tc_scan *scan,
                                     uint32_t fragment);

/* tc_schema.c */
void tc_exec_LOCAL_TABLE_ADD_REQ(struct block *block, const struct signal *sig);
void tc_exec_LOCAL_TABLE_STATE_REQ(struct block *block, const struct signal *sig);
/* The table of an own operation or scan. */
struct tc_table *tc_table_get(struct tc *tc, uint32_t table_id);
struct tc_table *tc_table_usable(struct tc *tc, uint32_t table_id, uint32_t version,
                                 uint32_t *error);
void tc_table_leave(struct tc *tc, uint32_t table_id);

/* tc_apifail.c */
void tc_exec_API_FAILREQ(struct block *block, const struct signal *sig);
void tc_api_fail_step(struct tc *tc, uint32_t node, uint32_t index);
void tc_api_fail_check(struct tc *tc, uint32_t node);

/* tc_timeout.c */
void tc_timer_start(struct tc *tc);
void tc_timer_step(struct tc *tc, uint32_t index, uint32_t which);

/* tc_ahead.c */
block_ahead tc_ahead;
void tc_ahead_train(const struct tc *tc, const struct signal *sig,
                    uint32_t entry); /* Asks for what the entries behind `entry` need. */

/* tc_check.c */
void tc_check(struct block *block);

/* tc_dump.c */
void tc_exec_DUMP_STATE_ORD(struct block *block, const struct signal *sig);
void tc_exec_PACE_PROBE_REQ(struct block *block, const struct signal *sig);

/* --- tc_drain.c --- */
void tc_drain_step(struct tc *tc);
void tc_exec_TC_DRAIN_REQ(struct block *block, const struct signal *sig);
void tc_drain_clients_step(struct tc *tc, uint32_t index);
void tc_exec_DRAIN_CLIENTS_REQ(struct block *block, const struct signal *sig);
