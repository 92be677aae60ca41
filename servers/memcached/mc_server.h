/* mc_server.h -- the server: one thread that accepts and configures, several that serve. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>
#include "ndb/version.h"
#include "servers/memcached/mc_options.h"
#include "servers/memcached/mc_worker.h"

#define MC_VERSION_TEXT "1.6-ndb-" NDB_CLIENT_VERSION_STRING

struct mc_cache;
struct mc_user;

struct mc_listener {
    uv_poll_t poll;
    struct mc_server *server;
    int fd;
    bool udp;
};

struct mc_server {
    struct mc_options options;
    uv_loop_t loop; /* The main thread's. */
    uv_async_t wake;
    uv_signal_t term, interrupt;
    uv_timer_t clock;
    struct mc_listener *listeners;
    uint32_t listener_count;
    atomic_bool accepting;
    SSL_CTX *tls;
    struct mc_cache *cache;
    struct mc_worker workers[MC_WORKERS_MAX];
    atomic_uint now; /* Unix seconds. */
    atomic_uint connections;
    atomic_ullong connections_total;
    /* How often it stopped accepting, and how long in all. */
    atomic_ullong listen_disabled, listen_disabled_us;
    uint64_t disabled_since_us; /* When it stopped accepting; 0: it accepts. */
    struct mc_totals reset;     /* Totals at the last reset; under the lock. */
    atomic_uint verbosity;      /* The greatest enum mc_verbosity that is told. */
    atomic_bool detail;         /* Requests are counted by prefix: "stats detail on". */
    atomic_bool stopping;
    atomic_bool reload; /* A table is not what it was: its containers are made anew. */
    uint32_t started;
    /* The clusters, by the index of the configuration; made by the configuring thread, and kept. */
    pthread_mutex_t lock;
    struct ndb_cluster_connection *cluster[MC_CLUSTERS_MAX];
    char cluster_text[MC_CLUSTERS_MAX][129];
    bool cluster_lost[MC_CLUSTERS_MAX];         /* The log was told that the cluster is lost. */
    atomic_uint cluster_lives[MC_CLUSTERS_MAX]; /* ndb_connection_lives(): older copies are void. */
    atomic_uint cluster_count;
    /* The newest configuration, held; workers take it when they are woken. */
    struct mc_config *config;
    atomic_uint config_number;
    pthread_t configurer;
    pthread_cond_t configurer_wake;
    struct mc_client *clients;
    struct mc_user *users;
    uint32_t user_count;
};

/* ndb_memcached.c: one line to stderr (or the system log of a daemon), with the time. */
void mc_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Is that told, by -v or the command "verbosity"? Any thread. */
enum mc_verbosity { MC_TELL_CONNECTIONS = 1, MC_TELL_REQUESTS = 2 };
#define MC_VERBOSITY_MAX 255u
bool mc_log_tells(const struct mc_server *server, enum mc_verbosity what);

/* mc_listen.c: sockets that accept. 0 or -1, after a line of log. */
int mc_listen_open(struct mc_server *server);
int mc_listen_begin(struct mc_server *server);
/* A connection has gone: others may come. Any thread. */
void mc_listen_again(struct mc_server *server);
void mc_listen_close(struct mc_server *server);

/* mc_socket.c: with -Z, loads the certificate and its key. 0 or -1, after a line of log. */
int mc_tls_open(struct mc_server *server);

/* mc_auth.c */
int mc_auth_load(struct mc_server *server);
bool mc_auth_needed(const struct mc_server *server);
/* Is it a user with that password? The bytes of PLAIN, or "user password" of the text protocol. */
bool mc_auth_plain(const struct mc_server *server, const struct mc_value *value);
bool mc_auth_text(const struct mc_server *server, const struct mc_value *value);

/* mc_reload.c: connects to the cluster, takes the configuration, and looks for new ones. */
int mc_reload_first(struct mc_server *server);
/* Tells the log of clusters that are lost or have come back. */
void mc_reload_watch(struct mc_server *server);
int mc_reload_start(struct mc_server *server);
/* False: the thread waits for an answer of a cluster, and goes on to do so; it changes nothing any
   more, but what it uses stays. */
bool mc_reload_stop(struct mc_server *server);
/* The newest configuration, held. Any thread. */
struct mc_config *mc_reload_take(struct mc_server *server);
