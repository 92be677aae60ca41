/* api_state.h -- private: the records of the core. Everybody else uses api_core.h. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include "api/core/api_core.h"
#include "api/core/api_dict.h"
#include "api/core/api_pool.h"
#include "api/core/api_scan.h"
#include "api/core/api_tx.h"
#include "kernel/base/beat_rule.h"
#include "signals/arbitrator.h"
#include "signals/scan.h"
#include "signals/takeover.h"
#include "signals/api_reg.h"
#include "values/errors.h"
#include "values/key.h"
#include "values/program.h"

/* What a client knows of a data node. The atomics are written by the node's part and read by all
 * clients. */
struct api_node {
    _Atomic uint32_t epoch; /* Epoch of the open link; 0 = there is none. */
    /* enum start_level; START_NOTHING until it has confirmed the registration. */
    _Atomic uint32_t level;
    _Atomic uint32_t tc_count;
    _Atomic uint32_t gone;    /* 1: others say that it is lost, or not started: it sends no rows. */
    _Atomic uint32_t refused; /* The error of its last API_REGREF, 0 = it has confirmed since. */
    _Atomic uint32_t slow;    /* 1: the data nodes have found it slow: others are better asked. */
    uint32_t failure_no; /* The node has lived through the failures of others up to this one. */
    /* The failure with which it was lost; it is not believed before it has lived through that. 0 =
     * none. */
    uint32_t lost_no;
    uint32_t heartbeat_ms;
    uint64_t register_at_ms; /* When the next API_REGREQ is sent. */
    uint64_t heard_ms;       /* When the last API_REGCONF came, or the link came up. */
    struct beat_window late; /* How late the API_REGCONFs were. */
};

#define API_DICT_BUCKETS 256u

/* An arbitrator's answer that waits for ArbitrationDelay. */
#define API_LATE_MAX 8u
struct api_late {
    uint64_t at_ms; /* When the answer is sent; 0 = there is none. */
    uint32_t node;
    uint32_t receiver;
    uint32_t gsn;
    struct arbit_choose_conf conf;
};

struct api_core {
    struct api_config config;
    struct api_host host;
    struct api_node node[NODE_ID_MAX + 1];
    _Atomic uint32_t president;
    /* How often a data node has told of another life of the cluster than `life`. */
    _Atomic uint32_t lives;
    uint32_t life;                /* Life of the cluster that was told of last: api_regconf.life. */
    struct arbitrator arbitrator; /* What the node has said as an arbitrator; of the node's part. */
    struct api_late late[API_LATE_MAX];
    _Atomic uint64_t transid_next;
    _Atomic uint64_t now_ms;        /* Time of the last tick; written by the node's part. */
    _Atomic uint64_t epoch_durable; /* Life << 32 | GCI: all up to here is known to be durable. */
    pthread_mutex_t lock; /* Protects clients[] while it changes, and the dictionary cache. */
    _Atomic(struct api_client *) clients[API_CLIENTS_MAX + 1];
    uint32_t client_last; /* Where the search for a free instance begins. */
    struct api_table *tables[API_DICT_BUCKETS];
    /* Raised, under the lock, when tables may have changed: what was asked for before is not
     * cached. */
    uint64_t changes;
};

#define API_KEY_DEF_BYTES ((KEY_DEF_BYTES + 7u) & ~(size_t)7u)
struct api_table {
    _Atomic uint32_t references;
    _Atomic(void *) cached; /* What the layer above has made of the definition; malloc'ed. */
    struct api_table *next; /* Next table of the cache's bucket. */
    struct table_def *def;
    uint32_t fragments;
    /* The first fragments are the partitions; behind them are their copies: dict.h. */
    uint32_t partitions;
    uint32_t row_words; /* Words of the longest answer to a read of all columns. */
    uint32_t replicas;
    uint32_t buckets;
    const uint32_t *nodes;         /* fragments * replicas */
    const uint16_t *map;           /* buckets */
    uint8_t *unique_keys;          /* API_KEY_DEF_BYTES for each unique index, see key.h. */
    char name[TABLE_NAME_MAX + 8]; /* "database/def/table" */
};

/*
 * A transaction record at a TC instance.
 *
 *   SEIZING --CONF--> BUSY <--> FREE (in client->free[node])
 *   BUSY --given up--> CLEANING --ROLLBACKCONF--> FREE
 *                               --ROLLBACKREF---> RELEASING --> gone
 *   any --link down--> gone
 */
enum api_connect_state {
    CONNECT_SEIZING = 0,
    CONNECT_FREE,
    CONNECT_BUSY,
    CONNECT_CLEANING,
    CONNECT_RELEASING
};

struct api_connect {
    struct api_record record; /* ref = api_connect, sender_data of TCSEIZEREQ. */
    enum api_connect_state state;
    uint32_t node;
    uint32_t epoch;
    uint32_t tc_ref; /* TC instance that has the record. */
    uint32_t tc_connect;
    uint64_t transid;  /* Transaction that uses the record, or is being cleaned. */
    bool resend;       /* The cleaning request found no room. */
    struct api_tx *tx; /* Owner: `tx`, `scan`, or none. */
    struct api_scan *scan;
    struct api_connect *next; /* Next record of the free list. */
};

/* Words of a TCKEYREQ before its section lengths. */
#define KEYREQ_WORDS (SIGNAL_HEAD_WORDS + (uint32_t)sizeof(struct tckeyreq) / 4u)

enum api_op_state { OP_DEFINED = 0, OP_SENT, OP_DONE };

struct api_op {
    struct api_record record; /* ref = api_op */
    struct api_tx *tx;
    struct api_op *next;
    struct api_table *table;
    uint32_t (*row)(struct api_op *op, const uint32_t *pairs, uint32_t words);
    void *context;
    void *context2;
    uint32_t at; /* Where its TCKEYREQ begins in tx->train. */
    uint32_t extent;
    uint32_t error;
    uint32_t fragment;  /* Fragment of its row; UINT32_MAX = not computed. */
    uint32_t row_words; /* Words that its row may take; 0: it wants none, or it is there. */
    uint8_t unique;     /* 1 + number of the unique index whose key it has; 0 = the primary key. */
    uint8_t node;       /* Node that it was sent to. */
    uint8_t state;      /* enum api_op_state */
    uint8_t attempts;
    bool committed_read;
    bool wants_row; /* A TRANSID_AI or TCKEYREF is due by itself. */
    bool tolerant;  /* Any error leaves the transaction alive. */
    bool may_miss;  /* ERR_ROW_NOT_FOUND leaves the transaction alive. */
    bool changes;   /* It is not a read. */
};

/*
 *   IDLE --execute--> SEIZING --> EXECUTING --> IDLE     (no commit)
 *                                 EXECUTING --> COMMITTING --> IDLE + ended
 *   IDLE --rollback--> ROLLING_BACK --> IDLE + ended
 *   IDLE, outcome unknown --ask--> ASKING --> IDLE
 */
enum api_tx_state {
    TX_IDLE = 0,
    TX_SEIZING,
    TX_EXECUTING,
    TX_COMMITTING,
    TX_ROLLING_BACK,
    TX_ASKING
};

struct api_tx {
    struct api_client *client;
    struct api_tx *next; /* Next transaction of the client (prev too), or of the free list. */
    struct api_tx *prev;
    struct api_tx *same; /* The next one of its bucket in by_transid. */
    enum api_tx_state state;
    enum api_outcome outcome;
    enum api_execute type; /* Type of the execute in flight. */
    bool started;          /* START was sent: the TC knows the transaction. */
    bool answer_due;       /* TCKEYCONF or TC_COMMITCONF is due. */
    bool doubt;            /* Its coordinator is lost: another node tells what has become of it. */
    uint32_t rows_due;     /* Operations whose own answer is due. */
    uint64_t rows_words;   /* Words that the rows under way may take. */
    uint32_t error;
    uint32_t error_data; /* As in TCROLLBACKREP. */
    struct api_op *error_op;
    struct api_connect *connect;
    uint32_t prefer;
    uint64_t transid;
    uint64_t epoch;
    bool want_durable;
    bool durable; /* The commit is known to be on disk. */
    /* Another node has told of the commit, which is not known to be durable; NULL: none has. */
    struct api_durable *durable_wait;
    uint64_t told_epoch; /* Epoch that durable_wait waits for. */
    uint64_t deadline_ms;
    uint64_t limit_ms;     /* deadline_ms as it was before the doubt. */
    struct node_mask lost; /* Nodes whose links were lost since the execute began. */
    struct api_op *first;
    struct api_op *last;
    struct api_op *batch; /* First operation not yet executed, or first of the batch in flight. */
    /* First operation of the batch that found no room yet, or whose row would find none on its way;
     * NULL: all are sent. */
    struct api_op *unsent;
    /* The last operation that the coordinator answers for; NULL: none. */
    struct api_op *execute_op;
    uint32_t *train; /* Packed TCKEYREQs of the batch. */
    uint32_t train_words;
    uint32_t train_room;
    uint32_t node;        /* The last coordinator. */
    uint32_t tc_ref;      /* TC of the last coordinator. */
    uint64_t begin_ms;    /* When the transaction was first executed. */
    uint64_t ask_ms;      /* In doubt, or ASKING: when the cluster is asked again. */
    uint64_t denied_ms;   /* It was not committed, if this is heard by then; 0 = nobody says so. */
    uint32_t ask_wait_ms; /* Milliseconds for which an answer counts. */
    uint32_t batch_error; /* An operation's error that ends the transaction. */
    struct api_op *batch_error_op;
    api_tx_done done;
    void *context;
};

/* A walk over all transactions of a client: what ends one runs application code that may close any
 * other, or begin new ones, which the walk does not meet. */
struct api_walk {
    struct api_tx *next;
    struct api_walk *outer;
};

struct api_chunk { /* Rows of one TRANSID_AI. */
    struct api_chunk *next;
    uint32_t fragment;
    uint32_t at;
    uint32_t words;
    uint32_t room;
    uint32_t data[];
};

/* The chunk's next row. `ranged`: it has a range first, which was checked. */
static inline struct api_row api_chunk_row(const struct api_chunk *chunk, bool ranged)
{
    uint32_t skip = ranged ? 2u : 0u;
    const uint32_t *words = chunk->data + chunk->at;
    return (struct api_row){.pairs = words + 1 + skip,
                            .words = words[0] - skip,
                            .fragment = chunk->fragment,
                            .range = ranged ? words[2] : 0};
}

struct api_scan_fragment {
    uint32_t received;
    uint32_t announced;
    bool done;     /* Nothing more will be announced. */
    bool left_out; /* The fragment can have no row of the ranges, and is not read. */
};
#define API_ALL_FRAGMENTS UINT32_MAX

enum api_scan_state { SCAN_SEIZING = 0, SCAN_OPEN, SCAN_CLOSING, SCAN_ENDED };

struct api_scan {
    struct api_record record; /* ref = api_scan */
    struct api_client *client;
    struct api_scan *next; /* Next scan of the client (prev too). */
    struct api_scan *prev;
    struct api_table *table;
    struct api_connect *connect;
    enum api_scan_state state;
    bool detached; /* The application has closed it. */
    bool waiting;  /* The application was told to wait: `ready` is due, and the deadline counts. */
    bool ended;    /* SCAN_TABCONF has said SCAN_END. */
    bool close_resend;
    uint32_t error;
    uint64_t transid;
    uint64_t deadline_ms;
    uint32_t timeout_ms;
    struct api_scan_options options;
    uint32_t *attrs; /* Columns that are read; then the program, then the ranges. */
    /* Words of the columns: those of `options`; with several ranges ATTR_RANGE before them; in a
     * merge the index's other columns behind them. */
    uint32_t attr_words;
    uint32_t range; /* The highest number of several ranges; the number of a single one. */
    bool ranged;    /* Rows tell their range. */
    bool pruned;    /* Some fragments are left out. */
    /* The only fragment that is read; API_ALL_FRAGMENTS: there are several. */
    uint32_t fragment_only;
    struct api_merge *merge; /* NULL: rows are given out as they come. */
    uint32_t fragment_count; /* Partitions of the table, or with copies its fragments. */
    struct api_scan_fragment *fragments;
    uint32_t *go_on; /* Fragments that wait to be asked for more. */
    uint32_t go_on_count;
    uint64_t rows_announced;
    uint64_t rows_received;
    uint64_t rows_given; /* Rows that the application got. */
    uint64_t words_waiting;
    struct api_chunk *first;
    struct api_chunk *last;
};

enum api_dict_kind { DICT_GET = 0, DICT_CREATE, DICT_DROP, DICT_ALTER, DICT_LIST };

struct api_dict_request {
    struct api_record record; /* ref = sender_data */
    struct api_client *client;
    enum api_dict_kind kind;
    uint32_t node;   /* Asked node, 0 = to be sent at retry_ms. */
    uint32_t epoch;  /* Epoch of the link to that node. */
    uint32_t master; /* Master that an ERR_NOT_MASTER has named. */
    uint32_t heard;  /* For reads: the node whose answer is in `said` until another's has come. */
    uint32_t heard_epoch;
    struct api_dict_result said;
    uint64_t changes; /* `changes` of the core when the request began. */
    uint64_t retry_ms;
    uint64_t deadline_ms;
    uint32_t timeout_ms;
    uint32_t *words; /* The request, packed, malloc'ed. */
    uint32_t count;
    uint32_t table_id; /* For a list: the next id. */
    uint32_t version;
    char name[TABLE_NAME_MAX + 8];
    uint32_t *list;
    uint32_t list_words;
    uint32_t list_room;
    uint32_t list_count;
    api_dict_done done;
    api_dict_progress progress; /* For DICT_ALTER; may be NULL. */
    void *context;
};

struct api_durable {          /* A wait for an epoch. */
    struct api_record record; /* ref = sender_data */
    struct api_client *client;
    uint64_t epoch;
    uint32_t node; /* Asked node, 0 = to be sent at retry_ms. */
    uint64_t retry_ms;
    uint64_t deadline_ms;
    api_durable_done done;
    void *context;
};

#define API_DEADLINE_NONE UINT64_MAX
#define API_CHUNKS_KEPT   16u
#define API_TX_BUCKETS    1024u /* A power of two: the counter in an id spreads evenly. */

struct api_client {
    struct api_core *core;
    uint32_t instance;
    uint32_t own_ref;
    uint64_t now_ms;
    uint64_t next_ms; /* Nothing is due before. */
    struct api_pool ops;
    struct api_pool connects;
    struct api_pool scans;
    struct api_pool dicts;
    struct api_pool durables;
    struct api_connect *free[NODE_ID_MAX + 1];
    struct api_tx *transactions;
    struct api_tx *by_transid[API_TX_BUCKETS]; /* The same transactions by their ids. */
    struct api_tx *tx_free;
    struct api_scan *scan_list;
    struct api_chunk *chunk_free;
    uint32_t chunk_free_count;
    uint32_t pending;       /* Requests that will complete. */
    uint32_t unclean;       /* Connect records CLEANING or RELEASING, scans CLOSING. */
    uint32_t turn;          /* Counter for taking nodes and TC instances in turn. */
    uint32_t company;       /* Node that coordinates what was begun last. */
    uint64_t company_ms;    /* When that was begun. */
    struct api_walk *walks; /* Walks under way, the innermost first. */
    bool go_on;             /* Some scan may send SCAN_NEXTREQ. */
    bool parts;             /* Some transaction has a part of its batch to send. */
    struct api_statistics statistics;
};

/* Private functions, by file. */

/* api_client.c */
void api_pack_head(uint32_t *out, uint32_t gsn, uint32_t receiver, uint32_t sender, uint32_t words,
                   uint32_t sections);
bool api_send(struct api_client *client, uint32_t node, const uint32_t *words, uint32_t count);
/* A signal without sections. */
bool api_send_small(struct api_client *client, uint32_t node, uint32_t gsn, uint32_t receiver,
                    const void *payload, uint32_t words);
/* Ready, and the data nodes have not found it slow. */
bool api_node_fast(const struct api_core *core, uint32_t node);
/* A ready node, if possible a fast one: the neighbour or the next in turn; 0 = none. */
uint32_t api_any_node(struct api_client *client);
/* For work in one fragment: the primary's node, else one with a backup, else any; 0 = none. */
uint32_t api_fragment_node_near(struct api_client *client, const struct api_table *table,
                                uint32_t fragment);
uint32_t api_other_node(struct api_client *client, uint32_t than);
uint64_t api_new_transid(struct api_core *core);
uint64_t api_deadline(struct api_client *client, uint32_t timeout_ms);
void api_wake_at(struct api_client *client, uint64_t at_ms);
void api_late(struct api_client *client);

/* api_connect.c */
/* A free record at `node`, or one being seized (state says which). NULL and *error. */
struct api_connect *api_connect_get(struct api_client *client, uint32_t node, uint32_t *error);
void api_connect_free(struct api_client *client, struct api_connect *connect);
/* Rolls back what may be going on under `transid`, then keeps the record for others. */
void api_connect_clean(struct api_client *client, struct api_connect *connect, uint64_t transid);
void api_connect_drop(struct api_client *client, struct api_connect *connect);
void api_connect_resend(struct api_client *client, struct api_connect *connect);
void api_connect_link_down(struct api_client *client, uint32_t peer, uint32_t epoch);
void api_exec_TCSEIZECONF(struct api_client *client, const uint32_t *words);
void api_exec_TCSEIZEREF(struct api_client *client, const uint32_t *words);
void api_exec_TCRELEASE(struct api_client *client, const uint32_t *words);
void api_exec_TCROLLBACKCONF(struct api_client *client, const uint32_t *words);
void api_exec_TCROLLBACKREF(struct api_client *client, const uint32_t *words);

/* api_transaction.c */
void api_tx_seized(struct api_tx *tx, uint32_t error);
void api_tx_rolled_back(struct api_tx *tx);
void api_tx_drop_all(struct api_client *client);
/* Sends more of the batches that found no room at once: as much as there is room for now. */
void api_tx_send_parts(struct api_client *client);
void api_exec_TCKEYCONF(struct api_client *client, const uint32_t *words);
void api_exec_TCKEYREF(struct api_client *client, const uint32_t *words);
void api_exec_TC_COMMITCONF(struct api_client *client, const uint32_t *words);
void api_exec_TC_COMMITREF(struct api_client *client, const uint32_t *words);
void api_exec_TCROLLBACKREP(struct api_client *client, const uint32_t *words);
void api_exec_TRANSID_AI(struct api_client *client, const uint32_t *words);

/* api_rows.c: the room that rows under way need. */
/* How many words the longest row of a table has as an answer. */
uint32_t api_row_words(const struct table_def *def);
/* The same for an operation that reads `attrs`; a program may read anything, once. */
uint32_t api_op_row_words(const struct api_table *table, bool program, const uint32_t *attrs,
                          uint32_t count);
/* May `words` more be asked for? */
bool api_rows_fit(const struct api_tx *tx, uint64_t words);
/* The operation's row is there, or will not come. */
void api_row_ended(struct api_op *op);

/* api_lost.c */
void api_tx_link_down(struct api_client *client, uint32_t peer);
void api_tx_connect_lost(struct api_tx *tx);
void api_tx_expire(struct api_client *client);
void api_tx_was_committed(struct api_tx *tx, uint64_t epoch); /* What api_outcome.c has heard. */
void api_tx_was_aborted(struct api_tx *tx);
void api_tx_is_unknown(struct api_tx *tx);
void api_exec_TCKEY_FAILCONF(struct api_client *client, const uint32_t *words);
void api_exec_TCKEY_FAILREF(struct api_client *client, const uint32_t *words);

/* api_scan.c */
void api_scan_seized(struct api_scan *scan, uint32_t error);
/* api_scan_prepare.c: what `options` mean for it. 0, or an error. */
uint32_t api_scan_prepare(struct api_scan *scan, const struct api_scan_options *options);
void api_scan_rows_in(struct api_client *client, const uint32_t *words);
void api_scan_link_down(struct api_client *client, uint32_t peer);
void api_scan_connect_lost(struct api_scan *scan);
void api_scan_expire(struct api_client *client);
void api_scan_go_on(struct api_client *client);
void api_scan_drop_all(struct api_client *client);
void api_exec_SCAN_TABCONF(struct api_client *client, const uint32_t *words);
void api_exec_SCAN_TABREF(struct api_client *client, const uint32_t *words);

/* api_outcome.c */
void api_outcome_doubt(struct api_tx *tx);
void api_outcome_tick(struct api_client *client);
void api_exec_OUTCOME_CONF(struct api_client *client, const uint32_t *words);
void api_exec_OUTCOME_REF(struct api_client *client, const uint32_t *words);

/* api_durable.c */
/* As api_wait_durable(); NULL: no memory. Until `done` is called it may be ended without that. */
struct api_durable *api_durable_begin(struct api_client *client, uint64_t epoch,
                                      uint32_t timeout_ms, api_durable_done done, void *context);
void api_durable_end(struct api_durable *wait);
/* The epoch is known to be durable. */
void api_epoch_known(struct api_core *core, uint64_t epoch);
void api_durable_link_down(struct api_client *client, uint32_t peer);
void api_durable_expire(struct api_client *client);
void api_durable_drop_all(struct api_client *client);
void api_exec_WAIT_DURABLE_CONF(struct api_client *client, uint32_t peer, const uint32_t *words);
void api_exec_WAIT_DURABLE_REF(struct api_client *client, uint32_t peer, const uint32_t *words);

/* api_dict.c */
void api_dict_link_down(struct api_client *client, uint32_t peer, uint32_t epoch);
void api_dict_expire(struct api_client *client);
void api_dict_drop_all(struct api_client *client);
/* Forgets all tables. Any thread. */
void api_dict_drop_cache(struct api_core *core);
void api_exec_dict(struct api_client *client, uint32_t peer, const uint32_t *words);
