/* connection_state.h -- private: the shell around the core: a connection, its poller, those who
 * wait, and its links. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <ndb/mgm.h>
#include <ndb/ndb.h>
#include <pthread.h>
#include <stdatomic.h>
#include "api/core/api_core.h"
#include "api/ndb/error_slot.h"

struct cluster_config;
struct connection_io;
struct inbox;
struct ndb;

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
/* Tells the client what time it is, and runs no callback. Every public call that begins something
 * does it first. */
void ndb_now(ndb_t *ndb);
/* The poll right, or false; then `ndb` (if not NULL) stands in line for it when `line` is set. */
bool connection_try_poll(struct ndb_cluster_connection *connection, struct ndb *ndb, bool line);
void connection_end_poll(struct ndb_cluster_connection *connection);
/* Background thread: waits up to wait_ms for many to wait, then polls for all of them until they
 * are few. */
void connection_serve(struct ndb_cluster_connection *connection, uint32_t wait_ms);
void connection_round(struct ndb_cluster_connection *connection, uint32_t wait_ms);

void connection_drain(struct ndb_cluster_connection *connection);
void connection_wake(struct ndb_cluster_connection *connection);
/* Sends what is queued, of all clients. */
void connection_push_all(struct ndb_cluster_connection *connection);

/* One is pending from now on. */
void async_begun(ndb_t *ndb);
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
void inbox_drop(struct inbox *inbox);

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
/* 0, or a negative libuv error. */
int io_create(struct ndb_cluster_connection *connection, uint64_t cluster_id, uint64_t incarnation);
void io_destroy(struct ndb_cluster_connection *connection);
void io_set_port(struct ndb_cluster_connection *connection, uint32_t node, uint32_t port);
/* Does the configuration say where the node listens? */
bool io_port_is_fixed(const struct ndb_cluster_connection *connection, uint32_t node);
/* Has a data node refused this connection since the last call, which has never met one that was
 * ready, for its cluster? */
bool io_foreign(struct ndb_cluster_connection *connection);
void io_set_cluster(struct ndb_cluster_connection *connection, uint64_t cluster_id);
/* Why the last attempt to link to a data node failed, if that node has no link since: else "". */
void io_failure(struct ndb_cluster_connection *connection, char *text, size_t size);
