/* connection_poll.c -- who runs the connection's loop: the thread that waits, one at a time. */
/* SPDX-License-Identifier: MIT */
/*
 * A thread that waits for an answer takes the poll right, runs the loop itself and so sends, waits
 * and receives without any other thread. Others that wait meanwhile stand in line; they are woken
 * when something came for them, or to take the right over. What threads without the right have to
 * send is buffered; the poller is woken out of its system call once for many of them.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "api/ndb/ndb_private.h"

/* Longest sleep of the poller: the node's part has heartbeats to send. */
#define ROUND_MS_MAX    20u
#define TICK_MS         5u
#define HAND_OVER_WORDS (256u * 1024u) /* Words handed to the transporter at a time. */
#define SPIN_CREDIT_MAX 16
#define CROWD           6u   /* When so many stand in line the background thread polls for all. */
#define CROWD_GONE      64u  /* Rounds with few in line until it stops. */
#define SERVE_MS        500u /* Longest time that the background thread polls for a crowd. */
#define SPIN_PROBE      64u  /* Without credit every so many waits try again. */

void ndb_now(ndb_t *ndb)
{
    api_client_now(ndb->client, now_ms());
}

/* ---- Sending. ---- */

void connection_wake(struct ndb_cluster_connection *connection)
{
    if (atomic_load(&connection->sleeping)) io_wake(connection->io);
}

bool connection_send(void *context, uint32_t peer, uint32_t epoch, const uint32_t *words,
                     uint32_t count)
{
    struct ndb_cluster_connection *connection = context;
    struct out_buffer *out = &connection->out[peer];
    bool taken = false;
    pthread_mutex_lock(&connection->send_lock);
    uint64_t need = (uint64_t)out->count + count;
    if (connection->open_epoch[peer] == epoch && need * 4u <= connection->options.buffer_bytes) {
        if (need > out->room) {
            uint64_t room = need < 16384 ? 16384 : need * 2;
            uint32_t *grown = realloc(out->words, (size_t)room * 4u);
            if (grown != NULL) {
                out->words = grown;
                out->room = (uint32_t)room;
            }
        }
        taken = need <= out->room;
    }
    if (taken) {
        memcpy(out->words + out->count, words, (size_t)count * 4u);
        out->count = (uint32_t)need;
        out->epoch = epoch;
        connection->out_any = true;
    }
    pthread_mutex_unlock(&connection->send_lock);
    if (taken) connection_wake(connection);
    return taken;
}

bool connection_crowded(void *context, uint32_t peer)
{
    struct ndb_cluster_connection *connection = context;
    pthread_mutex_lock(&connection->send_lock);
    bool crowded = connection->out[peer].count * 4ull > connection->options.buffer_bytes / 2u;
    pthread_mutex_unlock(&connection->send_lock);
    return crowded;
}

/* Hands over whole signals up to HAND_OVER_WORDS. Returns how many words. The send lock is held. */
static uint32_t hand_over(struct ndb_cluster_connection *connection, uint32_t peer, uint32_t at)
{
    struct out_buffer *out = &connection->out[peer];
    uint32_t end = out->count;
    if (end - at > HAND_OVER_WORDS) {
        end = at;
        while (end < out->count && end - at + out->words[end + 3] <= HAND_OVER_WORDS)
            end += out->words[end + 3];
    }
    io_send(connection->io, peer, out->epoch, out->words + at, end - at);
    return end - at;
}

/* Poller only. What a slow link does not take stays, up to the limit that connection_send() keeps.
 */
void connection_drain(struct ndb_cluster_connection *connection)
{
    if (!atomic_load_explicit(&connection->out_any, memory_order_acquire))
        return; /* Read without the lock: who misses it is woken, or comes by in the next round. */
    pthread_mutex_lock(&connection->send_lock);
    connection->out_any = false;
    for (uint32_t peer = 1; peer <= DATA_NODE_ID_MAX; peer++) {
        struct out_buffer *out = &connection->out[peer];
        uint32_t at = 0;
        if (out->count == 0) continue;
        while (at < out->count && connection->open_epoch[peer] == out->epoch &&
               !io_overloaded(connection->io, peer))
            at += hand_over(connection, peer, at);
        if (connection->open_epoch[peer] != out->epoch) at = out->count; /* Lost with its link. */
        if (at < out->count && at > 0)
            memmove(out->words, out->words + at, (size_t)(out->count - at) * 4u);
        out->count -= at;
        if (out->count > 0) connection->out_any = true;
    }
    pthread_mutex_unlock(&connection->send_lock);
    atomic_fetch_add_explicit(&connection->sends, 1, memory_order_relaxed);
    io_flush(connection->io);
}

/* ---- The poll right. ---- */

bool connection_try_poll(struct ndb_cluster_connection *connection, struct ndb *ndb, bool line)
{
    bool mine = false;
    pthread_mutex_lock(&connection->poll_lock);
    if (!connection->polling && !connection->reserved) {
        connection->polling = true;
        connection->poller = ndb;
        mine = true;
    } else if (line && ndb != NULL && !ndb->in_waiters) {
        ndb->in_waiters = true;
        ndb->prev = NULL;
        ndb->next = connection->waiters;
        if (ndb->next != NULL) ndb->next->prev = ndb;
        connection->waiters = ndb;
        atomic_fetch_add(&connection->waiter_count, 1);
    }
    pthread_mutex_unlock(&connection->poll_lock);
    if (!mine && line) gather_enter(connection);
    return mine;
}

/* The poll lock is held. */
static void unlink_waiter(struct ndb_cluster_connection *connection, struct ndb *ndb)
{
    if (!ndb->in_waiters) return;
    if (ndb->prev != NULL) ndb->prev->next = ndb->next;
    if (ndb->next != NULL) ndb->next->prev = ndb->prev;
    if (connection->waiters == ndb) connection->waiters = ndb->next;
    ndb->in_waiters = false;
    atomic_fetch_sub(&connection->waiter_count, 1);
}

/* Somebody who waits is woken to go on; it takes the right if nobody was faster. */
void connection_end_poll(struct ndb_cluster_connection *connection)
{
    struct wake_set set = {{0}};
    deliver_wake(connection, true);
    pthread_mutex_lock(&connection->poll_lock);
    connection->polling = false;
    connection->poller = NULL;
    struct ndb *next = connection->waiters;
    if (connection->waiter_count >= CROWD && connection->background_waits) {
        connection->reserved =
            true; /* Passing the right from hand to hand would cost a switch per answer. */
        pthread_cond_signal(&connection->reserved_wake);
    } else if (next != NULL) {
        unlink_waiter(connection, next);
        pthread_mutex_lock(&next->lock);
        next->woken = true;
        pthread_mutex_unlock(&next->lock);
        wake_add(&set, next);
    }
    pthread_mutex_unlock(&connection->poll_lock);
    wake_all(connection, &set);
}

static void leave_line(struct ndb_cluster_connection *connection, struct ndb *ndb)
{
    pthread_mutex_lock(&connection->poll_lock);
    unlink_waiter(connection, ndb);
    pthread_mutex_unlock(&connection->poll_lock);
}

static void sleep_in_line(struct ndb *ndb, uint32_t wait_ms)
{
    wake_wait(ndb, now_ns() + (uint64_t)wait_ms * 1000000u);
    leave_line(ndb->connection, ndb);
}

/* ---- Rounds. ---- */

/* Not while a thread that was woken wants the processor. */
static bool spin_pays(struct ndb_cluster_connection *connection)
{
    if (connection->options.spin_us == UINT32_MAX) return false;
    if (!connection->gather.quiet &&
        atomic_load_explicit(&connection->waiter_count, memory_order_relaxed) > 0)
        return false;
    if (connection->spin_credit > 0) return true;
    return ++connection->spin_turn % SPIN_PROBE == 0;
}

/* Looks for answers without sleeping for a short while: waking a processor costs more than most
 * answers take. */
static bool spin(struct ndb_cluster_connection *connection, uint64_t before)
{
    uint64_t end = now_ns() + connection->options.spin_us * 1000ull;
    do {
        io_run(connection->io);
        if (io_progress(connection->io) != before) {
            if (connection->spin_credit < SPIN_CREDIT_MAX) connection->spin_credit++;
            return true;
        }
        connection_drain(connection);
    } while (now_ns() < end);
    connection->spin_credit -= connection->spin_credit > 0 ? 2 : 0;
    return false;
}

static void sleep_in_loop(struct ndb_cluster_connection *connection, uint32_t wait_ms)
{
    atomic_store(&connection->sleeping, true);
    connection_drain(connection); /* Who came before the flag was up has not woken us. */
    io_run_waiting(connection->io, wait_ms < ROUND_MS_MAX ? wait_ms : ROUND_MS_MAX);
    atomic_store(&connection->sleeping, false);
}

/* Some threads have got a part of their answers. True when more came; else they are woken for what
 * they have. */
static bool more_to_read(struct ndb_cluster_connection *connection, uint64_t before)
{
    if (!deliver_waits(connection)) return false;
    io_run(connection->io);
    if (io_progress(connection->io) != before) return true;
    deliver_wake(connection, true);
    return false;
}

void connection_round(struct ndb_cluster_connection *connection, uint32_t wait_ms)
{
    struct connection_io *io = connection->io;
    uint64_t before = io_progress(io);
    atomic_fetch_add_explicit(&connection->polls, 1, memory_order_relaxed);
    connection_drain(connection);
    if (wait_ms == 0) {
        io_run(io);
    } else if (more_to_read(connection, before)) {
        /* Goes on reading before anybody is woken for a part of his answers. */
    } else if (!spin_pays(connection) || !spin(connection, before)) {
        sleep_in_loop(connection, wait_ms);
    }
    uint64_t now = now_ms();
    if (now >= connection->tick_ms + TICK_MS) {
        connection->tick_ms = now;
        api_core_node_tick(connection->core, now);
    }
    connection_drain(connection); /* What completions and ticks have caused. */
    deliver_wake(connection, wait_ms == 0);
}

static uint32_t wait_of(const struct ndb *ndb, uint64_t now, uint64_t until_ms)
{
    uint32_t wait = api_client_next_tick(ndb->client);
    if (wait > 100) wait = 100;
    if (until_ms - now < wait) wait = (uint32_t)(until_ms - now);
    return wait == 0 ? 1 : wait;
}

/* True when the wait is over. */
static bool is_over(struct ndb *ndb, const volatile bool *done, uint64_t until_ms,
                    uint32_t *wait_ms)
{
    if (*done) return true;
    uint64_t now = now_ms();
    transactions_tell(ndb);
    api_client_tick(ndb->client, now);
    if (*done || now >= until_ms) return true;
    *wait_ms = ndb->untold_first != NULL ? 0 : wait_of(ndb, now, until_ms);
    return false;
}

void ndb_wait_for(ndb_t *ndb, const volatile bool *done, uint64_t until_ms)
{
    struct ndb_cluster_connection *connection = ndb->connection;
    uint64_t began = now_ns();
    uint32_t wait_ms = 1;
    inbox_process(ndb);
    while (!is_over(ndb, done, until_ms, &wait_ms)) {
        if (connection_try_poll(connection, ndb, true)) {
            inbox_process(ndb); /* The last poller may have put something there. */
            while (!is_over(ndb, done, until_ms, &wait_ms))
                connection_round(connection, wait_ms);
            connection_drain(connection);
            connection_end_poll(connection);
        } else {
            sleep_in_line(ndb, wait_ms);
        }
        inbox_process(ndb);
    }
    ndb->pushed_bytes = api_client_statistics(ndb->client)->bytes_sent;
    ndb->waits++;
    ndb->wait_ns += now_ns() - began;
}

void ndb_round(ndb_t *ndb)
{
    struct ndb_cluster_connection *connection = ndb->connection;
    inbox_process(ndb);
    api_client_tick(ndb->client, now_ms());
    transactions_tell(ndb);
    if (connection_try_poll(connection, ndb, false)) {
        inbox_process(ndb);
        connection_round(connection, 0);
        connection_end_poll(connection);
    } else {
        connection_wake(connection);
    }
    inbox_process(ndb);
    ndb->pushed_bytes = api_client_statistics(ndb->client)->bytes_sent;
}

void connection_push_all(struct ndb_cluster_connection *connection)
{
    if (!connection_try_poll(connection, NULL, false)) {
        connection_wake(connection);
        return;
    }
    connection_drain(connection);
    connection_end_poll(connection);
}

void connection_serve(struct ndb_cluster_connection *connection, uint32_t wait_ms)
{
    uint64_t until = now_ns() + wait_ms * 1000000ull;
    struct timespec end = {.tv_sec = (time_t)(until / 1000000000u),
                           .tv_nsec = (long)(until % 1000000000u)};
    pthread_mutex_lock(&connection->poll_lock);
    connection->background_waits = true;
    while (!connection->reserved) {
        if (pthread_cond_timedwait(&connection->reserved_wake, &connection->poll_lock, &end) != 0)
            break;
    }
    bool mine = connection->reserved && !connection->polling;
    connection->reserved = false;
    connection->background_waits = false;
    if (mine) {
        connection->polling = true;
        connection->poller = NULL;
    }
    pthread_mutex_unlock(&connection->poll_lock);
    if (!mine) return;
    /* Not for ever: a crowd that stays must not keep the ports of restarted nodes from being found.
     */
    gather_begin(connection);
    uint64_t leave_ns = now_ns() + SERVE_MS * 1000000ull;
    for (uint32_t few = 0; few < CROWD_GONE && now_ns() < leave_ns;) {
        uint32_t waiting = atomic_load_explicit(&connection->waiter_count, memory_order_relaxed);
        few = waiting >= CROWD / 2 ? 0 : few + (waiting == 0 ? CROWD_GONE / 4 : 1);
        connection_round(connection, ROUND_MS_MAX);
        gather_wait(connection);
    }
    gather_end(connection);
    connection_end_poll(connection);
}

/* ---- Asynchronous calls. ---- */

/* ndb_poll() has something to wait for again when a callback begins another one. */
void async_begun(ndb_t *ndb)
{
    ndb->async_pending++;
    if (ndb->async_done - ndb->poll_from < ndb->poll_min) ndb->poll_done = false;
}

void async_completed(ndb_t *ndb, uint32_t callbacks)
{
    ndb->async_pending--;
    ndb->async_done += callbacks;
    if (ndb->async_done - ndb->poll_from >= ndb->poll_min || ndb->async_pending == 0)
        ndb->poll_done = true;
}

void async_push(ndb_t *ndb)
{
    uint64_t queued = api_client_statistics(ndb->client)->bytes_sent - ndb->pushed_bytes;
    if (queued < ndb->connection->options.flush_bytes || ndb->callback_depth > 0) return;
    connection_push_all(ndb->connection);
    ndb->pushed_bytes += queued;
}

int ndb_flush(ndb_t *ndb)
{
    if (ndb == NULL) return -1;
    if (ndb->callback_depth > 0)
        return 0; /* The round that the callback runs in sends at its end. */
    connection_push_all(ndb->connection);
    ndb->pushed_bytes = api_client_statistics(ndb->client)->bytes_sent;
    return 0;
}

int ndb_poll(ndb_t *ndb, uint32_t timeout_ms, uint32_t min_completions)
{
    if (ndb == NULL) return -1;
    if (ndb->callback_depth > 0)
        return error_set(&ndb->error, ERR_MISUSE_4507, "ndb_poll in a callback");
    ndb->poll_from = ndb->async_done;
    ndb->poll_min = min_completions;
    ndb->poll_done = min_completions == 0 || ndb->async_pending == 0;
    ndb_round(ndb);
    if (!ndb->poll_done && timeout_ms != 0)
        ndb_wait_for(ndb, &ndb->poll_done,
                     timeout_ms == NDB_NO_TIMEOUT ? UINT64_MAX : now_ms() + timeout_ms);
    return (int)(ndb->async_done - ndb->poll_from);
}

/* One descriptor for both: the connection's sockets (who processes first serves all), and this
 * ndb_t's inbox. */
int ndb_fd(ndb_t *ndb)
{
    if (ndb == NULL) return -1;
    if (ndb->epoll_fd >= 0) return ndb->epoll_fd;
    int event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    if (event_fd < 0 || epoll_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, event_fd, &event) != 0 ||
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, io_backend_fd(ndb->connection->io), &event) != 0) {
        if (event_fd >= 0) close(event_fd);
        if (epoll_fd >= 0) close(epoll_fd);
        return error_set(&ndb->error, ERR_API_MEMORY, "no descriptor");
    }
    pthread_mutex_lock(&ndb->lock);
    ndb->event_fd = event_fd;
    bool came = ndb->inbox.count != 0; /* Nobody could be told of it. */
    pthread_mutex_unlock(&ndb->lock);
    ndb->epoll_fd = epoll_fd;
    if (ndb->untold_first != NULL || came) transactions_wake(ndb);
    return epoll_fd;
}

int ndb_process(ndb_t *ndb)
{
    uint64_t events;
    if (ndb == NULL) return -1;
    if (ndb->callback_depth > 0)
        return error_set(&ndb->error, ERR_MISUSE_4507, "ndb_process in a callback");
    uint32_t before = ndb->async_done;
    if (ndb->event_fd >= 0 && read(ndb->event_fd, &events, sizeof events) < 0)
        events = 0; /* It was not readable. */
    ndb_round(ndb);
    return (int)(ndb->async_done - before);
}

uint32_t ndb_process_timeout(const ndb_t *ndb)
{
    uint32_t wait = ndb == NULL ? ROUND_MS_MAX : api_client_next_tick(ndb->client);
    if (ndb != NULL && ndb->untold_first != NULL) return 0;
    return wait < ROUND_MS_MAX ? wait : ROUND_MS_MAX;
}
