/* ndb_private.h -- private: what stands behind the handles of ndb.h. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <ndb/mgm.h>
#include <ndb/ndb.h>
#include <pthread.h>
#include <stdatomic.h>
#include "api/core/api_core.h"
#include "api/core/api_dict.h"
#include "api/core/api_scan.h"
#include "api/core/api_tx.h"
#include "values/errors.h"

struct cluster_config;
struct connection_io;

#define NDB_DETAIL_SIZE 256

/* An error object with room for its detail. */
struct error_slot {
    ndb_error_t error;
    char detail[NDB_DETAIL_SIZE];
};

/* Fills a slot; `format` NULL = no detail. Always returns -1. */
int error_set(struct error_slot *slot, uint32_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void error_clear(struct error_slot *slot);
struct sql_create_error;
/* What is wrong with a statement, for the slot (or the ndb_t's) and `where`, which may be NULL. -1.
 */
int error_say_where(struct error_slot *slot, struct ndb_sql_error *where,
                    const struct sql_create_error *error);
int ndb_say_where(ndb_t *ndb, struct ndb_sql_error *where, const struct sql_create_error *error);
struct sql_token;
/* The ndb_t's error is one of what stands at this token of the statement: its detail and `where`
 * tell the place, too. -1. */
int ndb_say_at(ndb_t *ndb, struct ndb_sql_error *where, const char *sql,
               const struct sql_token *token);
/* A change of a table in use, under way. */
struct ndb_alter_call {
    volatile bool done;
    struct api_dict_result result;
    const struct ndb_progress *progress; /* May be NULL. */
};
/* The table as it is now, not as it is remembered; NULL with the ndb_t's error. */
struct ndb_table *ndb_open_anew(ndb_t *ndb, const char *name, uint32_t timeout_ms);
/* Sends an ALTER_TABLE_REQ with these words, waits for its end, and forgets what is remembered of
 * the table. 0, or -1 with the ndb_t's error. */
int ndb_alter(ndb_t *ndb, const struct ndb_table *table, const char *name, uint32_t kind,
              const struct section *words, struct ndb_alter_call *call, uint32_t timeout_ms);
/* ERR_REQUEST_TIMEOUT is of unknown outcome only where a commit was in flight; elsewhere nothing
 * has happened. */
void error_set_outcome(struct error_slot *slot, uint32_t code, bool unknown);

/* ---- Records. ---- */

struct record_field {
    const struct table_column *column;
    uint32_t id;
    uint32_t offset;
    uint32_t size;        /* Bytes of the member. */
    uint32_t null_offset; /* Byte of the null bit; NDB_NOT_NULLABLE = none. */
    uint32_t size_max;    /* Bytes of the longest stored value. */
    uint8_t null_mask;
    uint8_t prefix;   /* Length bytes of the stored value. */
    bool string;      /* NDB_FIELD_CSTRING */
    uint8_t pad;      /* What pads a fixed string: blank or zero. */
    bool fixed_words; /* The value is fixed, plain, and of whole words. */
};

#define RECORD_NO_FIELD UINT16_MAX

struct ndb_record {
    _Atomic uint32_t references;
    struct api_table *table;
    uint32_t row_size;
    uint32_t count;
    uint32_t unique;  /* 1 + number of the unique index whose key it has; 0 = the primary key. */
    bool all_columns; /* Reads may ask for ATTR_READ_ALL. */
    bool all_keys;
    uint32_t key_count;
    uint32_t key_words_max;
    uint32_t value_words_max; /* Words of all fields, with headers. */
    uint16_t key_field[TABLE_KEY_COLUMNS_MAX];
    uint16_t by_column[TABLE_COLUMNS_MAX];
    uint32_t read_attrs[TABLE_COLUMNS_MAX]; /* Headers in field order. */
    struct record_field field[];            /* In column order. */
};

/* KEY section of the row: words written, 0 and *error when a key column is missing or does not fit.
 */
uint32_t record_pack_key(const struct ndb_record *record, const void *row, uint32_t *out,
                         uint32_t *error);
/* ATTRINFO of a write without the key columns. Words written; UINT32_MAX and *error. */
uint32_t record_pack_values(const struct ndb_record *record, const void *row, const uint8_t *mask,
                            uint32_t *out, uint32_t *error);
/* ATTRINFO of a read. */
uint32_t record_pack_read(const struct ndb_record *record, const uint8_t *mask, uint32_t *out);
/* Does the row say that the column is NULL; does the member hold no more than the column does? */
bool record_is_null(const struct record_field *field, const void *row);
bool record_fits(const struct record_field *field, const void *row);
/* What a data node will say of the member's value: 0, or an error number. */
uint32_t record_check(const struct record_field *field, const void *row);
/* A row's pairs into the application's row. 0 or an error number. */
uint32_t record_unpack(const struct ndb_record *record, const uint32_t *pairs, uint32_t words,
                       void *row);
/* A column among pairs: false when it is not there or they are malformed. NULL value: *value NULL.
 */
bool pairs_find(const uint32_t *pairs, uint32_t words, uint32_t column, const void **value,
                uint32_t *size);
/* A table's definition behind the public handle. */
static inline struct api_table *table_core(const struct ndb_table *table)
{
    return (struct api_table *)(void *)(uintptr_t)table;
}

/* ---- Objects of one thread. ---- */

struct ndb_operation {
    struct ndb_operation *next;
    struct ndb_transaction *transaction;
    struct api_op *op;
    const struct ndb_record *record; /* Held. */
    void *row;
    struct error_slot error;
    /* By column: what was set or named so far, and the values that came. */
    struct api_table *table; /* Held; NULL for record operations. */
    enum ndb_operation_type type;
    struct ndb_operation_options options;
    bool sealed; /* Handed to the core. */
    uint32_t define_error;
    uint32_t *words; /* Pairs set, or headers of columns to read. */
    uint32_t word_count;
    uint32_t word_room;
    uint32_t *program; /* A copy, or NULL. */
    uint32_t program_words;
    uint32_t *result;
    uint32_t result_words;
    uint32_t result_room;
};

struct ndb_transaction {
    ndb_t *ndb;
    /* Next transaction of the ndb_t (prev too), or of the free list. */
    struct ndb_transaction *next;
    struct ndb_transaction *prev;
    struct api_tx *tx;
    struct ndb_operation *first;
    struct ndb_operation *last;
    struct ndb_operation *unsealed; /* First operation by column that is not handed over. */
    struct error_slot error;
    bool waiting; /* A blocking execute is under way. */
    bool done;
    uint32_t execute_type;
    ndb_callback callback;
    void *context;
    bool in_flight_async;
};

struct inbox {
    uint32_t *words;
    uint32_t count;
    uint32_t signals; /* Signals in it; a broken link counts as many. */
    uint32_t room;
};

struct ndb {
    struct ndb_cluster_connection *connection;
    struct api_client *client;
    uint32_t instance;
    char database[TABLE_NAME_MAX + 4];
    struct error_slot error;
    struct ndb *next; /* Next waiter of the connection (prev too). */
    struct ndb *prev;
    struct ndb_transaction *transactions;
    struct ndb_transaction *transaction_free;
    struct ndb_operation *operation_free;
    struct ndb_reads *reads;
    struct ndb_scan *scans;
    struct ndb_durable_wait *durable_waits;
    struct number_range *number_ranges;
    uint32_t async_pending;
    uint32_t async_done;   /* Callbacks run so far. */
    uint64_t pushed_bytes; /* The client's bytes_sent that was handed to the loop. */
    uint32_t poll_from;    /* async_done when ndb_poll() began. */
    uint32_t poll_min;     /* Callbacks that ndb_poll() waits for. */
    volatile bool poll_done;
    uint32_t callback_depth;
    uint64_t waits;
    uint64_t wait_ns;
    uint64_t retries;
    uint64_t random;
    /* Shared with whoever polls. */
    pthread_mutex_t lock;
    struct inbox inbox;
    struct inbox spare;
    /* Answers without which waking the thread is of no use to it; 0 or 1: any. */
    atomic_uint expects;
    bool in_waiters; /* The ndb_t is in the list of waiters; under the connection's poll_lock. */
    bool woken;
    bool dirty; /* In the poller's list of those to wake; under the connection's table_lock. */
    struct ndb *next_dirty;
    int event_fd;
    int epoll_fd;
};

/* ---- The shell: connection*.c ---- */

struct out_buffer {
    uint32_t *words;
    uint32_t count;
    uint32_t room;
    uint32_t epoch;
};

/* Sleeping threads: 32 ndb_t to a word. */
#define WAKE_WORDS 4u

struct wake_word {
    _Alignas(64) _Atomic uint32_t word; /* Changes whenever somebody is woken. */
};

/* The poller for a crowd waits a moment for those that it has woken (connection_wake.c). */
struct gather {
    _Atomic uint32_t entries; /* Times that somebody stood in line. */
    _Atomic uint32_t target;  /* Futex: so many entries wake the poller; 0: it does not wait. */
    /* `entries` before the poller woke somebody. From here on for the poller only. */
    uint32_t from;
    uint32_t woken; /* Threads that it has woken since. */
    int32_t credit; /* How much waiting has paid lately. */
    bool quiet;     /* All that it had woken wait again: the processor is its own. */
    uint32_t turn;
};

struct wake_set { /* Who is to be woken. */
    uint32_t mask[WAKE_WORDS];
};

struct ndb_cluster_connection {
    struct ndb_connection_options options;
    char *connect_string;
    char name[64];
    uint32_t default_timeout_ms;
    uint32_t node_id;
    uint32_t data_node_count;
    struct api_core *core;
    struct cluster_config *config;
    ndb_mgm_handle_t *mgm;
    struct connection_io *io; /* Loop and transporter: only for who has the poll right. */

    pthread_mutex_t state_lock; /* For error, connected, and connecting itself. */
    struct error_slot error;
    bool connected;
    bool ever_linked;

    pthread_mutex_t poll_lock; /* For polling and waiters. */
    bool polling;
    /* The background thread is in connection_serve() and would take the right at once. */
    bool background_waits;
    bool reserved; /* Many wait: the background thread shall have the right next. */
    pthread_cond_t reserved_wake;
    struct ndb *poller; /* The poller's own ndb_t: its signals are handed over directly. */
    struct ndb *waiters;
    struct wake_word wake[WAKE_WORDS];
    _Atomic uint32_t waiter_count;
    struct gather gather;
    _Atomic bool sleeping; /* The poller is, or is about to be, in a system call. */

    pthread_mutex_t table_lock; /* For ndbs[], and held while signals are delivered. */
    struct ndb *ndbs[API_CLIENTS_MAX + 1];
    uint32_t ndb_high;
    struct ndb *dirty; /* Those ndb_t that are woken at the end of the round. */
    _Atomic bool dirty_any;

    pthread_mutex_t send_lock; /* For out[] and open_epoch[]. */
    struct out_buffer out[NODE_ID_MAX + 1];
    int32_t spin_credit; /* Spinning has paid lately. For the poller only. */
    uint32_t spin_turn;
    uint64_t tick_ms; /* Last tick of the node's part. For the poller only. */
    uint32_t open_epoch[NODE_ID_MAX + 1];
    _Atomic bool out_any;

    pthread_t thread;
    bool thread_runs;
    bool stop; /* The background thread shall end. Under state_lock. */

    /* Statistics of ndb_t that are gone; under table_lock. */
    struct api_statistics closed_statistics;
    uint64_t closed_waits;
    uint64_t closed_wait_ns;
    _Atomic uint64_t sends;
    _Atomic uint64_t polls;
};

uint64_t now_ns(void);
static inline uint64_t now_ms(void)
{
    return now_ns() / 1000000u;
}

/* Milliseconds of a call's timeout argument. */
static inline uint32_t timeout_of(const struct ndb_cluster_connection *connection,
                                  uint32_t timeout_ms)
{
    return timeout_ms == 0 ? connection->default_timeout_ms : timeout_ms;
}

/* connection_poll.c */
bool connection_send(void *context, uint32_t peer, uint32_t epoch, const uint32_t *words,
                     uint32_t count);
bool connection_crowded(void *context, uint32_t peer);
/* Runs until *done is true. Deadlines belong to the requests; this has none of its own unless
 * until_ms is given. */
void ndb_wait_for(ndb_t *ndb, const volatile bool *done, uint64_t until_ms);
/* One round without waiting: sends, receives, runs completions. */
void ndb_round(ndb_t *ndb);
/* Sends what is queued. */
void ndb_push(ndb_t *ndb);
/* Tells the client what time it is. Every public call that begins something does it first. */
void ndb_now(ndb_t *ndb);
/* The poll right, or false; then `ndb` (if not NULL) stands in line for it when `line` is set. */
bool connection_try_poll(struct ndb_cluster_connection *connection, struct ndb *ndb, bool line);
void connection_end_poll(struct ndb_cluster_connection *connection);
/* Background thread: waits up to wait_ms for many to wait, then polls for all of them until they
 * are few. */
void connection_serve(struct ndb_cluster_connection *connection, uint32_t wait_ms);
void connection_round(struct ndb_cluster_connection *connection, uint32_t wait_ms);
void inbox_drop(struct inbox *inbox);

void connection_drain(struct ndb_cluster_connection *connection);
void connection_wake(struct ndb_cluster_connection *connection);
void connection_push_all(struct ndb_cluster_connection *connection);
/* One that was pending is so no more; `callbacks`: 1, or 0 when it was given up. ndb_poll() may be
   over by that. Before the callback runs. */
void async_completed(ndb_t *ndb, uint32_t callbacks);
/* Sends what is queued if it is enough. */
void async_push(ndb_t *ndb);

/* connection_wake.c */
/* Sleeps until the ndb_t has got something, is woken, or the time (CLOCK_MONOTONIC) has come. */
void wake_wait(struct ndb *ndb, uint64_t until_ns);
void wake_add(struct wake_set *set, const struct ndb *ndb);
/* The conditions of those in the set have changed before. */
void wake_all(struct ndb_cluster_connection *connection, const struct wake_set *set);

/* Only for who has the poll right: nobody was woken so far; these are about to be. */
void gather_begin(struct ndb_cluster_connection *connection);
/* The poll right goes to somebody else. */
void gather_end(struct ndb_cluster_connection *connection);
void gather_count(struct ndb_cluster_connection *connection, const struct wake_set *set);
/* Somebody stands in line, with what it has to send in the queue. */
void gather_enter(struct ndb_cluster_connection *connection);
/* Waits until those are back in line that were woken since the last time. */
void gather_wait(struct ndb_cluster_connection *connection);

/* connection_deliver.c: the transporter's callbacks bring signals and broken links to the clients.
 */
bool deliver_signals(struct ndb_cluster_connection *connection, uint32_t peer, uint32_t epoch,
                     const uint32_t *words, uint32_t count);
void deliver_link_up(struct ndb_cluster_connection *connection, uint32_t peer, uint32_t epoch);
void deliver_link_down(struct ndb_cluster_connection *connection, uint32_t peer, uint32_t epoch);
/* Wakes those who have got all that they expect, or, with `all`, whoever has got anything. */
void deliver_wake(struct ndb_cluster_connection *connection, bool all);
bool deliver_waits(
    struct ndb_cluster_connection *connection); /* Somebody has got something and sleeps. */
void inbox_process(struct ndb *ndb);

/* connection_io.c */
void io_wake(struct connection_io *io);
/* Who has the poll right only: sends buffered words, runs the loop, says how much has happened so
 * far. */
bool io_overloaded(struct connection_io *io, uint32_t peer);
void io_send(struct connection_io *io, uint32_t peer, uint32_t epoch, const uint32_t *words,
             uint32_t count);
void io_flush(struct connection_io *io);
void io_run(struct connection_io *io);
void io_run_waiting(struct connection_io *io, uint32_t wait_ms);
uint64_t io_progress(const struct connection_io *io);
void io_close_link(struct connection_io *io, uint32_t peer, uint32_t epoch, const char *reason);
int io_backend_fd(const struct connection_io *io);
bool io_linked(struct connection_io *io, uint32_t node);
/* connection_io.c */
int io_create(struct ndb_cluster_connection *connection, uint64_t cluster_id, uint64_t incarnation);
void io_destroy(struct ndb_cluster_connection *connection);
void io_set_port(struct ndb_cluster_connection *connection, uint32_t node, uint32_t port);
bool io_needs_port(struct ndb_cluster_connection *connection, uint32_t node);
/* Has a data node refused this connection since the last call, which has never met one that was
 * ready, for its cluster? */
bool io_foreign(struct ndb_cluster_connection *connection);
void io_set_cluster(struct ndb_cluster_connection *connection, uint64_t cluster_id);
/* Why the last attempt to link to a data node failed, if that node has no link since: else "". */
void io_failure(struct ndb_cluster_connection *connection, char *text, size_t size);

/* ndb_dict.c */
/* False, with the ndb_t's error: not in a callback. */
bool ndb_may_wait(ndb_t *ndb);
/* Creates a table by its definition. 0, or -1 with the ndb_t's error. */
int ndb_table_make(ndb_t *ndb, const struct table_def *def, uint32_t timeout_ms);
/* The table of the counters (counter.h). `make`: it is made when there is none. NULL, with the
 * ndb_t's error. */
struct ndb_table *counters_open(ndb_t *ndb, bool make, uint32_t timeout_ms);

/* ndb_run.c */
#define NDB_PAUSE_FIRST_US 500u
/* A random pause before another try, each longer than the last. False: it would end behind end_ms,
 * and there was none. */
bool ndb_pause(ndb_t *ndb, uint64_t *pause_us, uint64_t end_ms);
/* When a call with this timeout ends, and how long it still has. */
uint64_t ndb_end_of(const ndb_t *ndb, uint32_t timeout_ms);
uint32_t ndb_left_of(uint64_t end_ms);

/* ndb_auto_increment.c */
void number_ranges_drop(ndb_t *ndb);

/* ndb_transaction.c */
void reads_drop_all(ndb_t *ndb);
void transactions_drop(ndb_t *ndb);
/* ndb_durable.c */
void durable_waits_drop(ndb_t *ndb);
/* ndb_scan.c */
void scans_drop(ndb_t *ndb);
/* ndb_range.c: options->range into `words` (SCAN_RANGES_WORDS_MAX). 0, or -1 and the ndb_t's error.
 */
int ranges_make(ndb_t *ndb, const struct api_table *table, const struct ndb_scan_options *options,
                uint32_t *words, uint32_t *used);
