/* mc_worker.h -- one thread: its loop, its connections, its access to the clusters. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>
#include "servers/memcached/mc_connection.h"
#include "servers/memcached/mc_stats.h"
#include "servers/memcached/mc_store.h"

#define MC_CLUSTERS_MAX 16u

struct mc_server;

/* What only the worker's thread knows, for others, from time to time: under the server's lock. */
#define MC_TOLD_CODES 64u
struct mc_told {
    uint32_t in_flight, in_flight_max;
    bool open[MC_CLUSTERS_MAX];
    struct mc_store_figures store[MC_CLUSTERS_MAX];
    uint32_t code_count;
    struct {
        int32_t code;
        uint64_t count;
    } code[MC_TOLD_CODES];
};

struct mc_worker {
    struct mc_server *server;
    uint32_t number;
    pthread_t thread;
    uv_loop_t loop;
    uv_async_t wake;  /* Something is in the queue, a new configuration, or the end. */
    uv_check_t check; /* Runs after all sockets of a round were read. */
    uv_timer_t tick;
    atomic_bool ended; /* The thread is to end; set by the main thread. */
    struct mc_connection *connections;
    struct mc_connection *dirty;
    struct mc_job *free_jobs;
    struct mc_buffer spare_in; /* A buffer for a connection that has none and needs one. */
    struct mc_output spare_out;
    struct mc_order_table *spare_orders;
    uint32_t spare_order_count;
    struct mc_job *asked;     /* Jobs in the database. */
    uint32_t in_flight;       /* How many they are; those for large values count several times. */
    bool stalled;             /* Connections wait for there being fewer. */
    uint64_t stale_answers;   /* Answers so far that a table has changed. */
    struct mc_config *config; /* The configuration that the worker holds. */
    struct mc_naming naming;  /* Room for the name of one key at a time. */
    uint64_t round;           /* Number of the loop's round; never 0. */
    bool unsent;              /* Requests were begun that the client library has not seen. */
    struct mc_access_point {
        struct mc_worker *worker;
        struct ndb_cluster_connection *connection; /* NULL: the cluster is not known (yet). */
        ndb_t *ndb;                                /* NULL: it is not opened (yet). */
        struct mc_store *store;
        uv_poll_t poll;
        uint64_t asked; /* The worker's round in which it was seen whether it is reached. */
        bool reached;
    } cluster[MC_CLUSTERS_MAX];
    struct mc_worker_figures figures;
    struct mc_told told;
    /* Sockets that were accepted for this worker; under the server's lock. */
    int *accepted;
    uint32_t accepted_count, accepted_room;
};

/* mc_worker.c. Start: 0 or -1; stop waits for the thread. */
int mc_worker_start(struct mc_server *server, uint32_t number);
void mc_worker_stop(struct mc_worker *worker);
/* Hands over a connection. Any thread. */
void mc_worker_accept(struct mc_worker *worker, int fd);
/* The store of a cluster of the worker's configuration; NULL: it cannot be reached. */
struct mc_store *mc_worker_store(struct mc_worker *worker, uint32_t cluster);
uint32_t mc_worker_now(void *server);
