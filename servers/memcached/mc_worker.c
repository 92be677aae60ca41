/* mc_worker.c -- one thread: a loop with its share of the connections, and access to the clusters.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A round of the loop reads all sockets that have something, then lets the client library send what
 * they asked for as one batch and take the answers that have come, then writes all replies.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "servers/memcached/mc_cache.h"
#include "servers/memcached/mc_engine.h"
#include "servers/memcached/mc_server.h"

#define TICK_MS 20u

uint32_t mc_worker_now(void *server)
{
    return atomic_load_explicit(&((struct mc_server *)server)->now, memory_order_relaxed);
}

/* ---- The clusters. ---- */

static void process_one(struct mc_access_point *access)
{
    (void)mc_store_send(access->store);
    do
        ndb_process(access->ndb);
    while (mc_store_send(access->store));
}

static void process(struct mc_worker *worker)
{
    worker->unsent = false;
    for (uint32_t i = 0; i < MC_CLUSTERS_MAX; i++)
        if (worker->cluster[i].ndb != NULL) process_one(&worker->cluster[i]);
}

static void settle(struct mc_worker *worker)
{
    /* A reply may let a connection begin more, which is sent in the same round. */
    while (worker->dirty != NULL || worker->unsent) {
        if (worker->unsent) process(worker);
        mc_connections_flush(worker);
        if (worker->stalled && !mc_engine_full(worker)) mc_connections_resume(worker);
    }
}

static void on_cluster(uv_poll_t *poll, int status, int events)
{
    struct mc_access_point *access = poll->data;
    (void)status;
    (void)events;
    process_one(access);
}

static bool access_open(struct mc_worker *worker, struct mc_access_point *access,
                        struct ndb_cluster_connection *connection)
{
    const struct mc_store_options options = {.deadline_ms = worker->server->options.deadline_ms,
                                             .value_max = worker->server->options.value_max,
                                             .now = mc_worker_now,
                                             .context = worker->server};
    access->worker = worker;
    access->connection = connection;
    access->ndb = ndb_open(connection, MC_SCHEMA);
    if (access->ndb == NULL) return false;
    access->store = mc_store_open(access->ndb, &options);
    int fd = access->store == NULL ? -1 : ndb_fd(access->ndb);
    if (fd < 0 || uv_poll_init(&worker->loop, &access->poll, fd) != 0) {
        mc_store_close(access->store);
        ndb_close(access->ndb);
        *access = (struct mc_access_point){0};
        return false;
    }
    access->poll.data = access;
    uv_poll_start(&access->poll, UV_READABLE, on_cluster);
    return true;
}

/* Once opened, it is not asked for any more what all threads share. */
static struct ndb_cluster_connection *connection_of(struct mc_worker *worker, uint32_t cluster)
{
    struct mc_server *server = worker->server;
    if (worker->cluster[cluster].connection != NULL) return worker->cluster[cluster].connection;
    pthread_mutex_lock(&server->lock);
    struct ndb_cluster_connection *connection =
        cluster < server->cluster_count ? server->cluster[cluster] : NULL;
    pthread_mutex_unlock(&server->lock);
    return connection;
}

/* Its rows are what is durable, or none: copies may be of what was lost. They are void before
 * anybody takes the new life for noticed; that two threads see to it does no harm. */
static void notice_life(struct mc_server *server, uint32_t cluster,
                        const struct ndb_cluster_connection *connection)
{
    uint32_t lives = ndb_connection_lives(connection);
    uint32_t noticed = atomic_load(&server->cluster_lives[cluster]);
    if (noticed == lives) return;
    if (noticed != 0) mc_cache_forget_spaces(server->cache);
    atomic_store(&server->cluster_lives[cluster], lives);
}

struct mc_store *mc_worker_store(struct mc_worker *worker, uint32_t cluster)
{
    struct mc_access_point *access = &worker->cluster[cluster];
    if (access->asked == worker->round) return access->reached ? access->store : NULL;
    struct ndb_cluster_connection *connection = connection_of(worker, cluster);
    bool ready = connection != NULL && ndb_connection_ready_nodes(connection) > 0;
    if (ready) notice_life(worker->server, cluster, connection); /* It is told before that. */
    access->reached = ready && (access->ndb != NULL || access_open(worker, access, connection));
    access->asked = worker->round;
    return access->reached ? access->store : NULL;
}

/* ---- The loop. ---- */

void mc_worker_accept(struct mc_worker *worker, int fd)
{
    struct mc_server *server = worker->server;
    pthread_mutex_lock(&server->lock);
    if (worker->accepted_count == worker->accepted_room) {
        uint32_t room = worker->accepted_room == 0 ? 64 : worker->accepted_room * 2;
        int *grown = realloc(worker->accepted, room * sizeof *grown);
        if (grown != NULL) {
            worker->accepted = grown;
            worker->accepted_room = room;
        }
    }
    bool taken = worker->accepted_count < worker->accepted_room;
    if (taken) worker->accepted[worker->accepted_count++] = fd;
    pthread_mutex_unlock(&server->lock);
    if (taken) {
        uv_async_send(&worker->wake);
        return;
    }
    close(fd);
    atomic_fetch_sub(&server->connections, 1);
}

static bool next_accepted(struct mc_worker *worker, int *fd)
{
    pthread_mutex_lock(&worker->server->lock);
    bool any = worker->accepted_count > 0;
    if (any) *fd = worker->accepted[--worker->accepted_count];
    pthread_mutex_unlock(&worker->server->lock);
    return any;
}

static void take_connections(struct mc_worker *worker)
{
    int fd;
    while (next_accepted(worker, &fd)) {
        if (mc_connection_open(worker, fd) != NULL) continue;
        close(fd);
        atomic_fetch_sub(&worker->server->connections, 1);
    }
}

static void take_config(struct mc_worker *worker)
{
    struct mc_config *former = worker->config;
    worker->config = mc_reload_take(worker->server);
    if (worker->config != former) mc_engine_forget_copies(worker, former);
    mc_config_release(former);
}

static void on_wake(uv_async_t *wake)
{
    struct mc_worker *worker = wake->data;
    take_config(worker);
    take_connections(worker);
    if (worker->ended) uv_stop(&worker->loop);
}

static void on_check(uv_check_t *check)
{
    struct mc_worker *worker = check->data;
    settle(worker);
    worker->round++;
}

/* Was a table, or its unique index, truncated, dropped or made anew? */
static bool is_stale(int32_t code)
{
    static const int32_t codes[] = {241, 283, 284, 723, 1226, 1227, 1232};
    for (uint32_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (codes[i] == code) return true;
    return false;
}

/* Answers that say that a table is not the one of the configuration any more. */
static uint64_t stale_answers(const struct mc_worker *worker)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < MC_CLUSTERS_MAX; i++) {
        const struct mc_store *store = worker->cluster[i].store;
        int32_t code;
        uint64_t count;
        for (uint32_t k = 0; store != NULL && mc_store_error(store, k, &code, &count); k++)
            if (is_stale(code)) total += count;
    }
    return total;
}

static void on_tick(uv_timer_t *timer)
{
    struct mc_worker *worker = timer->data;
    worker->round++;
    uint64_t stale = stale_answers(worker);
    if (stale != worker->stale_answers) atomic_store(&worker->server->reload, true);
    worker->stale_answers = stale;
    for (uint32_t i = 0; i < MC_CLUSTERS_MAX; i++)
        if (worker->cluster[i].store != NULL) mc_store_tick(worker->cluster[i].store);
    mc_stats_tell(worker);
    process(worker);              /* Deadlines, too. */
    mc_connections_flush(worker); /* The loop sleeps before it comes to on_check(). */
    if (worker->stalled && !mc_engine_full(worker)) mc_connections_resume(worker);
}

static void close_all(struct mc_worker *worker)
{
    uv_check_stop(&worker->check); /* Nobody looks after connections any more. */
    uv_timer_stop(&worker->tick);
    worker->dirty = NULL;
    while (worker->connections != NULL)
        mc_connection_close(worker->connections);
    for (uint32_t i = 0; i < MC_CLUSTERS_MAX; i++) {
        struct mc_access_point *access = &worker->cluster[i];
        if (access->ndb == NULL) continue;
        uv_poll_stop(&access->poll);
        uv_close((uv_handle_t *)&access->poll, NULL);
        mc_store_close(access->store);
        ndb_close(access->ndb);
        access->ndb = NULL;
    }
    uv_run(&worker->loop, UV_RUN_NOWAIT);
    mc_engine_drop(worker);
    while (worker->free_jobs != NULL) {
        struct mc_job *job = worker->free_jobs;
        worker->free_jobs = job->next;
        free(job);
    }
    free(worker->spare_in.bytes);
    mc_output_free(&worker->spare_out);
    mc_order_drop_spares(worker);
    mc_config_release(worker->config);
    free(worker->accepted);
}

static void *worker_main(void *argument)
{
    struct mc_worker *worker = argument;
    mc_value_keep(true);
    uv_run(&worker->loop, UV_RUN_DEFAULT);
    close_all(worker);
    mc_value_keep(false);
    return NULL;
}

static int not_started(uint32_t number, int error)
{
    mc_log("thread %u cannot be started: %s", number, uv_strerror(error));
    return -1;
}

int mc_worker_start(struct mc_server *server, uint32_t number)
{
    struct mc_worker *worker = &server->workers[number];
    worker->server = server;
    worker->number = number;
    worker->round = 1;
    worker->config = mc_reload_take(server);
    int error = uv_loop_init(&worker->loop);
    if (error == 0) error = uv_async_init(&worker->loop, &worker->wake, on_wake);
    if (error == 0) error = uv_check_init(&worker->loop, &worker->check);
    if (error == 0) error = uv_timer_init(&worker->loop, &worker->tick);
    if (error != 0) return not_started(number, error);
    worker->wake.data = worker->check.data = worker->tick.data = worker;
    uv_check_start(&worker->check, on_check);
    uv_timer_start(&worker->tick, on_tick, TICK_MS, TICK_MS);
    for (uint32_t i = 0; number == 0 && error == 0 && i < server->listener_count; i++)
        if (server->listeners[i].udp) error = mc_udp_open(worker, server->listeners[i].fd);
    if (error != 0) return not_started(number, error);
    error = pthread_create(&worker->thread, NULL, worker_main, worker);
    return error == 0 ? 0 : not_started(number, uv_translate_sys_error(error));
}

void mc_worker_stop(struct mc_worker *worker)
{
    worker->ended = true;
    uv_async_send(&worker->wake);
    pthread_join(worker->thread, NULL);
}
