/* api_core.h -- the client library without input and output: what the simulator drives and the
 * shell wraps. */
/* SPDX-License-Identifier: MIT */
/*
 * Inputs are links going up and down, signals, the time, and the application's requests; outputs
 * are packed signals for a peer (struct api_host) and completion callbacks. Nothing here opens a
 * socket, reads a clock or sleeps.
 *
 * A core is one API node. It knows the data nodes and the dictionary cache, and has clients (one
 * per thread of the application; an ndb_t). A client owns its transactions, scans and connect
 * records, and the instance of the signals' receiver names it: so each client may be driven by
 * another thread, as long as its calls, its signals and its ticks come one at a time. What clients
 * share (node table, dictionary cache) is atomic or locked.
 *
 * Rules
 * - Every request (something with a `done` callback) that was accepted gets exactly one completion:
 * by an answer, by its deadline or by the loss of a link; never from within the call that made it,
 * except where it says so.
 * - Callbacks may make new requests and close what they got. They may not close the client.
 * - Answers are matched by record reference and transaction id; what does not match is dropped and
 * counted.
 * - A transaction given up (deadline, close) is rolled back at its coordinator before the
 * coordinator's record is used again.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "kernel/base/bitmask.h"
#include "signals/dict.h"
#include "values/program.h"
#include "signals/scan.h"
#include "values/table_def.h"
#include "signals/tckey.h"

struct api_core;
struct api_client;
struct api_table;
struct api_tx;
struct api_op;
struct api_scan;

#define API_CLIENTS_MAX  4711u /* Per node: "Ndb objects" of the field. */
#define API_NO_TIMEOUT   UINT32_MAX
#define API_OPS_MAX      0xFFFFFFu
#define API_HEARTBEAT_MS 1500u /* Interval of registrations until a data node has said how often. */

struct api_host {
    void *context;
    /* Whole packed signals for a data node, in order; copied or sent before it returns. Dropped
       when `epoch` is not the open link's. False: no room, nothing was taken (the request fails
       with ERR_API_SEND_BUFFER_4022; a batch of which a part was taken before waits). May be called
       by any client's thread. */
    bool (*send)(void *context, uint32_t peer, uint32_t epoch, const uint32_t *words,
                 uint32_t count);
    /* A good part of the room is taken: what comes in parts waits with the next one. Any client's
       thread. May be NULL. */
    bool (*crowded)(void *context, uint32_t peer);
    /* The node has not answered registrations for too long: close the link. From the node's part
     * only. May be NULL. */
    void (*close)(void *context, uint32_t peer, uint32_t epoch, const char *reason);
};

struct api_config {
    uint32_t own_node;
    uint32_t generation;    /* Generation of the configuration. */
    uint64_t transid_start; /* Random start of the transaction counter (low 32 bits are used). */
    struct node_mask data_nodes; /* All configured data nodes. */
    uint32_t neighbour; /* Data node preferred when there is no hint, 0 = none (round robin). */
    /* Words per scan: it fetches ahead while less than this waits. 0 = 1M words. */
    uint32_t scan_buffer_words;
    /* Words per transaction: rows are asked for while those under way may take less than this, a
     * part of what a data node can keep for a client. 0 = 128K words. */
    uint32_t rows_words;
    uint32_t arbitration_delay_ms; /* Milliseconds before it answers as an arbitrator. */
};

/* ---- Core: the node ---- */

/* NULL when memory is out. The host struct is copied. */
struct api_core *api_core_create(const struct api_config *config, const struct api_host *host);
/* Closes all clients (their requests complete with ERR_CLUSTER_FAILURE first). */
void api_core_destroy(struct api_core *core);

/*
 * The four inputs, for a host with one thread (the simulator): they reach the core and every
 * client. Signals are whole and checked by signal_extent_check(). False: the peer sent what is no
 * answer to a client (wrong sender, unknown number, wrong length): close the link.
 */
void api_core_link_up(struct api_core *core, uint32_t peer, uint32_t epoch);
void api_core_link_down(struct api_core *core, uint32_t peer, uint32_t epoch);
bool api_core_signals(struct api_core *core, uint32_t peer, uint32_t epoch, const uint32_t *words,
                      uint32_t count);
void api_core_tick(struct api_core *core, uint64_t now_ms);

/*
 * The same in parts, for a host with threads: first the node's part (one thread at a time), then
 * each client's part by its own thread, in the order in which things came over the link.
 */
void api_core_node_up(struct api_core *core, uint32_t peer, uint32_t epoch);
void api_core_node_down(struct api_core *core, uint32_t peer, uint32_t epoch);
bool api_core_node_signal(struct api_core *core, uint32_t peer, uint32_t epoch,
                          const uint32_t *words);
void api_core_node_tick(struct api_core *core, uint64_t now_ms);
/* Checks one whole signal from `peer`: is it an answer for a client, long enough, from that node?
   Returns the instance it is for (0 = the node's part), or UINT32_MAX = close the link. */
uint32_t api_core_route(const struct api_core *core, uint32_t peer, const uint32_t *words);

void api_client_link_down(struct api_client *client, uint32_t peer, uint32_t epoch);
void api_client_signal(struct api_client *client, uint32_t peer, uint32_t epoch,
                       const uint32_t *words);
/* After a group of signals: sends what they caused (next batches of scans). */
void api_client_flush(struct api_client *client);
void api_client_tick(struct api_client *client, uint64_t now_ms);
/* Milliseconds until a deadline or retry of this client needs a tick, UINT32_MAX = none. */
uint32_t api_client_next_tick(const struct api_client *client);

/* Data nodes that accept transactions (linked, registered, started). Any thread. */
struct node_mask api_core_ready(const struct api_core *core);
bool api_core_node_ready(const struct api_core *core, uint32_t node);
/* Why a data node refuses to be used, 0 = none does; *node is the first one that does. Any thread.
 */
uint32_t api_core_refusal(const struct api_core *core, uint32_t *node);
uint32_t api_core_president(const struct api_core *core);
/* Another number than before: the cluster may have lost all its data since, and begun anew. It was
 * raised before the first node of another life is ready. Any thread. */
uint32_t api_core_lives(const struct api_core *core);
uint32_t api_core_own_node(const struct api_core *core);

/* ---- Clients ---- */

/* NULL: API_CLIENTS_MAX are open, or no memory. Any thread. */
struct api_client *api_client_open(struct api_core *core);
/* Rolls back and closes everything without waiting: callbacks that have not run will not. Late
 * answers are dropped. */
void api_client_close(struct api_client *client);
uint32_t api_client_instance(const struct api_client *client);
struct api_client *api_core_client(struct api_core *core, uint32_t instance); /* NULL = none. */
/* Requests that have not completed, and coordinator records that are not yet clean. Both 0: idle.
 */
uint32_t api_client_pending(const struct api_client *client);
uint32_t api_client_unclean(const struct api_client *client);

struct api_statistics {
    uint64_t transactions_started, transactions_committed, transactions_aborted,
        transactions_unknown;
    uint64_t key_operations, rows_read, scans, scan_batches, dictionary_requests;
    uint64_t scans_pruned;      /* Scans that left fragments out. */
    uint64_t fragments_scanned; /* Fragments that the cluster has read to their end for scans. */
    uint64_t retries, timeouts, late_answers, bytes_sent, bytes_received;
};
const struct api_statistics *api_client_statistics(const struct api_client *client);

/* ---- Dictionary ---- */

/* A table as it was when read; never changes. Shared by reference count. */
const struct table_def *api_table_def(const struct api_table *table);
uint32_t api_table_fragments(const struct api_table *table);  /* Copies included. */
uint32_t api_table_partitions(const struct api_table *table); /* Fragments without copies. */
uint32_t api_table_replicas(const struct api_table *table);
uint32_t api_table_buckets(const struct api_table *table);
uint32_t api_table_node(const struct api_table *table, uint32_t fragment, uint32_t replica);
/* Fragment of a KEY section that was made for this table. */
uint32_t api_table_fragment_of(const struct api_table *table, const uint32_t *key, uint32_t words);
/* The same of the key of a unique index, by its number. */
uint32_t api_table_fragment_of_unique(const struct api_table *table, uint32_t unique,
                                      const uint32_t *key, uint32_t words);
/* What the caller has made of the definition, for all who use the table: keeps `made` (malloc'ed)
   if nothing is kept yet, else frees it. Returns what is kept, or NULL. Any thread. */
void *api_table_cached(struct api_table *table, void *made);
struct api_table *api_table_hold(struct api_table *table);
void api_table_release(struct api_table *table);

struct api_dict_result {
    uint32_t error;
    uint32_t master_node;
    uint32_t column;         /* Creation: 1 + column that the error is about; 0 = none. */
    struct api_table *table; /* The table that api_dict_get() asked for: yours to release. */
    uint32_t table_id;
    uint32_t version;
    const uint32_t *list; /* api_dict_list: entries as in LIST_TABLES_CONF, all of them; valid in
                             the callback. */
    uint32_t list_words;
    uint32_t list_count;
};
typedef void (*api_dict_done)(void *context, const struct api_dict_result *result);

/* The cached table (to release), or NULL. `name` is "database/def/table". */
struct api_table *api_dict_cached(struct api_core *core, const char *name);
void api_dict_invalidate(struct api_core *core, const char *name);
/* Forget this very definition: what ERR_SCHEMA_VERSION, ERR_TABLE_DROPPING_TC,
 * ERR_UNKNOWN_TABLE_TC, ERR_INDEX_DROPPING, ERR_TABLE_DROPPING, ERR_SCHEMA_VERSION_LQH and
 * ERR_SCAN_TARGET_INDEX do by themselves. */
void api_dict_invalidate_table(struct api_core *core, const struct api_table *table);

/* Is it an error of a definition that is not the table's any more? */
bool api_error_is_stale(uint32_t error);

/* Forget what is known of this table, unless it is this version. What is asked for and not there
 * yet will not be kept. Any thread. */
void api_dict_changed(struct api_core *core, uint32_t table_id, uint32_t version);

/* Requests: 0 = accepted, else the error number and `done` will not run. Reads are tried at another
   node when their node fails; creation and drop go to the president (and follow ERR_NOT_MASTER). */
uint32_t api_dict_get(struct api_client *client, const char *name, uint32_t timeout_ms,
                      api_dict_done done, void *context);
uint32_t api_dict_create(struct api_client *client, const struct table_def *def,
                         uint32_t timeout_ms, api_dict_done done, void *context);
uint32_t api_dict_drop(struct api_client *client, uint32_t table_id, uint32_t version,
                       uint32_t timeout_ms, api_dict_done done, void *context);
/* How far a change has come: rows of how many. */
typedef void (*api_dict_progress)(void *context, uint64_t rows, uint64_t total);
/* `kind` and `words` as in ALTER_TABLE_REQ. The timeout is counted from the last sign of progress.
   `progress` may be NULL. */
uint32_t api_dict_alter(struct api_client *client, const struct alter_table_req *what,
                        const struct section *words, uint32_t timeout_ms, api_dict_done done,
                        api_dict_progress progress, void *context);
uint32_t api_dict_list(struct api_client *client, uint32_t timeout_ms, api_dict_done done,
                       void *context);

/* ---- Transactions ---- */

/* API_COMMIT_DURABLE: answered when the commit survives the loss of the whole cluster. */
enum api_execute { API_NO_COMMIT = 1, API_COMMIT = 2, API_ROLLBACK = 3, API_COMMIT_DURABLE = 4 };

enum api_outcome {
    API_ACTIVE = 0, /* Not ended; operations may be defined when nothing is in flight. */
    API_COMMITTED,
    API_ABORTED, /* By request or by error: nothing of it is there. */
    API_UNKNOWN  /* A commit was in flight when the link or the time was lost. */
};

struct api_tx *api_tx_start(struct api_client *client); /* NULL: no memory. */
/* Rolls back if needed (unanswered) and frees it with its operations. Its `done`, if due, does not
 * run any more. */
void api_tx_close(struct api_tx *tx);

/* Flag besides KEY_IGNORE_ERROR and KEY_NOWAIT: only ERR_ROW_NOT_FOUND leaves the transaction
 * alive. */
#define API_OP_MAY_MISS (1u << 16)

struct api_op_options {
    struct api_table *table; /* Must stay held until the transaction is closed. */
    enum key_operation operation;
    enum lock_mode lock; /* Lock mode of a read. */
    /* 1 + number of the unique index whose key it is; 0 = the primary key. Reads, updates, deletes;
     * a committed read becomes one with a shared lock. */
    uint32_t unique;
    uint32_t flags; /* KEY_IGNORE_ERROR, KEY_NOWAIT, KEY_PROGRAM (ATTRINFO begins with a program, as
                       docs/protocols/program.md has it), API_OP_MAY_MISS */
    /* A row came for a read, or for the reads of a program: its pairs as in attr.h, without the
       leading word. Returns an error number for the operation, 0 = fine. NULL: the row is thrown
       away. */
    uint32_t (*row)(struct api_op *op, const uint32_t *pairs, uint32_t words);
    void *context; /* For the owner of `row`: api_op_context(), api_op_context2(). */
    void *context2;
};

/*
 * Defines an operation. KEY and ATTRINFO sections are written by the caller where begin says (room
 * for words_max words, key first, ATTRINFO right behind it); end takes the operation over. NULL
 * from begin: transaction ended or in flight, or no memory: see api_tx_error(). No other call on
 * the transaction may stand between the two.
 */
uint32_t *api_op_begin(struct api_tx *tx, uint32_t words_max);
struct api_op *api_op_end(struct api_tx *tx, const struct api_op_options *options,
                          uint32_t key_words, uint32_t attr_words);

void *api_op_context(const struct api_op *op);
void *api_op_context2(const struct api_op *op);
/* 0, or why it was refused: ERR_ROW_NOT_FOUND, ... */
uint32_t api_op_error(const struct api_op *op);
struct api_op *api_op_next(const struct api_op *op); /* In order of definition. */
struct api_tx *api_op_tx(const struct api_op *op);

typedef void (*api_tx_done)(void *context, struct api_tx *tx);
/*
 * Sends the operations defined since the last execute, in parts by and by when there is not room
 * for all of them (api_client_tick() goes on). `done` runs when all answers are there. Returns 0,
 * or an error number when nothing was sent (`done` does not run). When there is nothing to wait
 * for, `done` runs before this returns.
 */
uint32_t api_tx_execute(struct api_tx *tx, enum api_execute type, uint32_t timeout_ms,
                        api_tx_done done, void *context);

/* For an outcome API_UNKNOWN: asks the cluster; `done` runs when it is known or the time is up.
 * Results as above. */
uint32_t api_tx_ask(struct api_tx *tx, uint32_t timeout_ms, api_tx_done done, void *context);

enum api_outcome api_tx_outcome(const struct api_tx *tx);
bool api_tx_in_flight(const struct api_tx *tx);
bool api_tx_changed(const struct api_tx *tx);            /* One of its operations is not a read. */
uint32_t api_tx_error(const struct api_tx *tx);          /* What ended it, 0 = nothing. */
struct api_op *api_tx_error_op(const struct api_tx *tx); /* NULL = no single operation. */
/* ERR_TC_OPERATIONS_LIMIT, ERR_TRANSACTION_TOO_BIG: so many operations, or changes, fit into a
 * transaction; else 0. */
uint32_t api_tx_error_fits(const struct api_tx *tx);
/* ERR_UNIQUE_DUPLICATE: the name of the unique index, else "". Valid as long as the operation's
 * table. */
const char *api_tx_error_index(const struct api_tx *tx);
struct api_op *api_tx_first(const struct api_tx *tx);
uint64_t api_tx_epoch(const struct api_tx *tx);
bool api_tx_durable(
    const struct api_tx *tx); /* Committed, and known to be on disk on all replicas. */
uint64_t api_tx_id(const struct api_tx *tx);
uint32_t api_tx_node(const struct api_tx *tx);
struct api_client *api_tx_client(const struct api_tx *tx);
/* Names the coordinator's node before the first execute (tests); 0 = choose by key. */
void api_tx_prefer(struct api_tx *tx, uint32_t node);

/* ---- Durability ---- */

typedef void (*api_durable_done)(void *context, uint32_t error);
/*
 * Waits until everything up to `epoch` survives the loss of the whole cluster. 0 = accepted, else
 * the error number and `done` will not run. Another node is asked when one is lost; when all are
 * lost, one that comes back: ERR_EPOCH_LOST when the epoch was lost with them.
 */
uint32_t api_wait_durable(struct api_client *client, uint64_t epoch, uint32_t timeout_ms,
                          api_durable_done done, void *context);
/* Known without asking. */
bool api_epoch_is_durable(const struct api_client *client, uint64_t epoch);

/* ---- Scans ---- */

struct api_scan_options {
    struct api_table *table;
    enum lock_mode lock;
    uint32_t parallelism;
    uint32_t batch_rows;
    uint32_t batch_bytes;
    const uint32_t *attrs; /* ATTRINFO section; count 0 = only count rows. */
    uint32_t attr_words;
    const uint32_t *program; /* NULL = all rows. */
    uint32_t program_words;
    /* Encoded ranges (values/scan_range.h): rows of these parts of an ordered index; NULL = of the
     * table. With SCAN_MERGED and attrs rows are given out range by range and in the index's order,
     * else each fragment's are. */
    const uint32_t *range;
    uint32_t range_words;
    uint32_t limit; /* The most rows that are given out, or counted; 0 = all. */
    bool copies;    /* With a fully replicated table: rows of the copies, too; not with ranges. */
    /* Something changed: rows, end or error. At most once until api_scan_next() has returned
     * API_SCAN_WAIT. */
    void (*ready)(void *context, struct api_scan *scan);
    void *context;
};

enum api_scan_step { API_SCAN_ROW = 1, API_SCAN_END = 0, API_SCAN_WAIT = 2, API_SCAN_ERROR = -1 };

struct api_row {
    const uint32_t *pairs; /* Valid until the next api_scan_next() or close. */
    uint32_t words;
    uint32_t fragment; /* Partition; with `copies` fragment. */
    uint32_t range;    /* The number of the range for which it is given; 0 without ranges. */
};

/* NULL and *error when refused. `timeout_ms` is the longest time without progress. */
struct api_scan *api_scan_start(struct api_client *client, const struct api_scan_options *options,
                                uint32_t timeout_ms, uint32_t *error);
enum api_scan_step api_scan_next(struct api_scan *scan, struct api_row *row);
/* A new longest wait, from now. */
void api_scan_set_timeout(struct api_scan *scan, uint32_t timeout_ms);
uint32_t api_scan_error(const struct api_scan *scan);
uint64_t api_scan_rows(const struct api_scan *scan); /* Announced by the cluster so far, up to the
                                                        limit; all of them at the end. */
void *api_scan_context(const struct api_scan *scan);
struct api_table *api_scan_table(const struct api_scan *scan);
/* Ends it, also before its end, without waiting: the server is told, the record is freed when it
 * has answered. */
void api_scan_close(struct api_scan *scan);
