/* ndb_private.h -- private: what stands behind the handles of one thread: an ndb_t, its
 * transactions and their operations. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <ndb/ndb.h>
#include <pthread.h>
#include <stdatomic.h>
#include "api/core/api_core.h"
#include "api/core/api_dict.h"
#include "api/core/api_scan.h"
#include "api/core/api_tx.h"
#include "api/ndb/connection_state.h"
#include "api/ndb/error_slot.h"
#include "values/errors.h"

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
    bool sealed;    /* Handed to the core. */
    uint32_t batch; /* The transaction's, when it was defined. */
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
    /* The last call was refused for what it was called in or on. That says nothing of what is being
     * defined or executed, so the error of that stays beside it. */
    struct error_slot refusal;
    bool waiting; /* A call waits for it: it cannot be closed. */
    bool lent;    /* To the function of ndb_run_transaction(): the same. */
    bool done;
    uint32_t batch; /* How often it was executed. */
    ndb_callback callback;
    void *context;
    bool in_flight_async;
    bool beginning;                    /* Inside of ndb_execute_async(). */
    bool untold;                       /* In the list of those that have ended and are not told. */
    uint32_t untold_turn;              /* Since which transactions_tell(). */
    struct ndb_transaction *next_told; /* In that list. */
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
    /* Ended before ndb_execute_async() has returned: their callbacks run in the next call that may
     * run some. */
    struct ndb_transaction *untold_first;
    struct ndb_transaction *untold_last;
    uint32_t untold_turn;
    uint32_t lent; /* Transactions of ndb_run_transaction(): the ndb_t cannot be closed. */
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

struct sql_create_error;
struct sql_token;

/* A table's definition behind the public handle. */
static inline struct api_table *table_core(const struct ndb_table *table)
{
    return (struct api_table *)(void *)(uintptr_t)table;
}

/* Private functions, by file. */

/* ndb_alter.c */
/* A change of a table in use, under way. */
struct ndb_alter_call {
    ndb_t *ndb;
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

/* ndb_dict.c */
/* False, with the ndb_t's error: not in a callback. */
bool ndb_may_wait(ndb_t *ndb);
/* Creates a table by its definition. 0, or -1 with the ndb_t's error. */
int ndb_table_make(ndb_t *ndb, const struct table_def *def, uint32_t timeout_ms);
/* The table of the counters (counter.h). `make`: it is made when there is none. NULL, with the
 * ndb_t's error. */
struct ndb_table *counters_open(ndb_t *ndb, bool make, uint32_t timeout_ms);
/* What is wrong with a statement, for the slot (or the ndb_t's) and `where`, which may be NULL. -1.
 */
int error_say_where(struct error_slot *slot, struct ndb_sql_error *where,
                    const struct sql_create_error *error);
int ndb_say_where(ndb_t *ndb, struct ndb_sql_error *where, const struct sql_create_error *error);
/* The ndb_t's error is one of what stands at this token of the statement: its detail and `where`
 * tell the place, too. -1. */
int ndb_say_at(ndb_t *ndb, struct ndb_sql_error *where, const char *sql,
               const struct sql_token *token);

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

/* ndb_reads.c */
void reads_drop_all(ndb_t *ndb);
/* ndb_transaction.c */
void transactions_drop(ndb_t *ndb);
/* The next call, or definition, begins: what the last one was refused for does not count. */
void transaction_forget_refusal(struct ndb_transaction *t);
/* The descriptor of ndb_fd() is readable: callbacks are to run. */
void transactions_wake(ndb_t *ndb);
/* Runs callbacks of transactions that have ended in ndb_execute_async(); those that come meanwhile
 * have their turn next time. */
void transactions_tell(ndb_t *ndb);
/* Is it being executed, or has it ended and its callback not run yet? */
bool transaction_in_flight(const struct ndb_transaction *t);
/* Until nothing of it is being executed, and its callbacks have run. */
void transaction_wait(struct ndb_transaction *t);
/* The error of the transaction is that number, by what is known of its outcome. */
void transaction_set_error(struct ndb_transaction *t, uint32_t code);
/* The transaction's error, or else what the last call was refused for, becomes the ndb_t's. -1 */
int transaction_failed(struct ndb_transaction *t);
/* ndb_durable.c */
void durable_waits_drop(ndb_t *ndb);
/* ndb_scan.c */
void scans_drop(ndb_t *ndb);
/* ndb_range.c: options->range into `words` (SCAN_RANGES_WORDS_MAX). 0, or -1 and the ndb_t's error.
 */
int ranges_make(ndb_t *ndb, const struct api_table *table, const struct ndb_scan_options *options,
                uint32_t *words, uint32_t *used);
