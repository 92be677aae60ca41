/* mc_server.h -- the server: one thread that accepts and configures, several that serve. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>
#include "ndb/version.h"
#include "servers/memcached/mc_cache.h"
#include "servers/memcached/mc_config.h"
#include "servers/memcached/mc_parse.h"
#include "servers/memcached/mc_store.h"

#define MC_WORKERS_MAX  64u
#define MC_CLUSTERS_MAX 16u
#define MC_PATH_MAX     108u /* Bytes of a UNIX socket's path with its end. */
#define MC_VERSION_TEXT "1.6-ndb-" NDB_CLIENT_VERSION_STRING

struct mc_options {
    char *listen;               /* -l: addresses, by commas; NULL: all. malloc'ed. */
    uint16_t tcp_port;          /* -p; 0: none */
    uint16_t udp_port;          /* -U; 0: none */
    const char *unix_path;      /* -s: instead of TCP and UDP */
    uint32_t unix_mask;         /* -a */
    uint32_t connections;       /* -c */
    uint32_t backlog;           /* -b */
    bool core_files;            /* -r */
    bool lock_memory;           /* -k */
    uint32_t threads;           /* -t */
    uint64_t cache_bytes;       /* -m */
    uint32_t value_max;         /* -I */
    bool no_eviction;           /* -M */
    uint32_t verbose;           /* -v, -vv: at the beginning */
    const char *user;           /* -u */
    const char *pid_file;       /* -P */
    bool daemonize;             /* -d */
    bool sasl;                  /* -S */
    const char *auth_file;      /* -Y */
    bool tls;                   /* -Z */
    const char *tls_chain;      /* --ssl-chain-cert */
    const char *tls_key;        /* --ssl-key */
    bool shutdown_allowed;      /* -A */
    bool flush_disabled;        /* -F */
    enum mc_protocol only;      /* -B: MC_META stands for "auto". */
    bool bootstrap;             /* --bootstrap: makes the tables, and ends. */
    const char *connect_string; /* -e, or NDB_CONNECTSTRING; "": neither. */
    char role[41];
    bool reconf;          /* -e: the server looks for changes of the configuration. */
    uint32_t deadline_ms; /* -e: how long temporary errors are tried again; 0: the default. */
};

/* One place in the order of a connection's replies. */
struct mc_job {
    struct mc_job *next;
    struct mc_connection *connection; /* NULL: the client has gone; nobody wants the reply. */
    bool completed;
    bool ordered; /* Others of the connection may have to wait for it. */
    bool slotted; /* `slot` is known: those of one row share it. */
    uint16_t slot;
    /* The members from here to `prev_asked` are the engine's. */
    struct mc_worker *worker;
    struct mc_config *config; /* The configuration that the job holds. */
    const struct mc_prefix *prefix;
    uint64_t token; /* The cache's token for the row: mc_cache_token(), mc_cache_write_begin(). */
    enum { MC_COPY_NONE = 0, MC_COPY_READ, MC_COPY_WRITE } copying;
    bool value_unwanted;  /* The client does not want the value: it is only for the copy. */
    struct mc_meta hints; /* `meta` as the client sent it. */
    uint32_t flush_at;    /* FLUSH_ALL: the prefix that is being emptied. */
    struct mc_job *next_asked, *prev_asked; /* Neighbours in worker->asked. */
    struct mc_request request;              /* The last member: see its key. */
};

/* Which rows and items of a connection requests are under way for. */
struct mc_order {
    uint32_t under_way, changes;
    uint32_t config_number;       /* Number of the configuration by which all of them were begun. */
    bool all;                     /* One of them concerns every key. */
    struct mc_order_table *table; /* Counts by name; NULL: none are needed so far. */
};

struct mc_buffer {
    char *bytes;
    uint32_t at; /* Taken so far. */
    uint32_t size;
    uint32_t room;
};

/* A connection as others may see it: under the server's lock. */
struct mc_client {
    struct mc_client *next, *prev;
    int fd;
    atomic_uint last_request; /* Unix seconds. */
};

struct mc_connection {
    struct mc_worker *worker;
    struct mc_connection *next; /* The worker's list. */
    struct mc_connection *prev;
    /* The worker's list of those to be looked after at the end of the round. */
    struct mc_connection *next_dirty;
    uv_poll_t poll;
    int fd; /* -1: an UDP request, which has only a reply. */
    SSL *tls;
    struct mc_client client;
    struct mc_parser parser;
    bool known; /* It is known which protocol the client speaks. */
    enum mc_protocol protocol;
    struct mc_buffer in;
    struct mc_output out;
    uint32_t out_at;      /* Sent so far. */
    uint64_t reply_bytes; /* Values of jobs that are completed and not printed. */
    struct mc_job *first;
    struct mc_job *last;
    struct mc_job *held; /* Waits for another job of the same key; NULL: none does. */
    struct mc_order order;
    uint32_t jobs;
    int events;       /* Events that the poll asks for. */
    bool line_failed; /* A key of the get line that is being answered has met an error. */
    bool dirty, ended, quitting, authenticated, tls_wants_write, stalled;
    /* Whom the reply to a UDP request goes to; NULL: it was sent, or this is no UDP. */
    struct mc_datagram *datagram;
};

/* What clients were told, whoever has answered: each request counts once. */
enum mc_figure {
    MC_CMD_GET = 0,
    MC_CMD_SET,
    MC_CMD_FLUSH,
    MC_CMD_TOUCH,
    MC_CMD_META,
    MC_GET_HITS,
    MC_GET_MISSES,
    MC_DELETE_MISSES,
    MC_DELETE_HITS,
    MC_INCR_MISSES,
    MC_INCR_HITS,
    MC_DECR_MISSES,
    MC_DECR_HITS,
    MC_CAS_MISSES,
    MC_CAS_HITS,
    MC_CAS_BADVAL,
    MC_TOUCH_HITS,
    MC_TOUCH_MISSES,
    MC_STORE_TOO_LARGE,
    MC_STORE_NO_MEMORY,
    MC_NDB_READS, /* Reads that went to the database. */
    MC_NDB_CHANGES,
    MC_NDB_UNREACHABLE, /* Requests whose cluster could not be reached. */
    MC_NDB_TEMPORARY,   /* Requests that ended with a temporary error. */
    MC_NDB_FAILED,      /* Requests that the database refused. */
    MC_FIGURES
};

/* Figures of one thread, which others may read at any time. */
struct mc_worker_figures {
    atomic_ullong bytes_read, bytes_written, requests, auth_commands, auth_errors;
    atomic_ullong count[MC_FIGURES];
    atomic_uint connections;
};

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

/* What only grows, until "stats reset" makes it begin anew. */
struct mc_totals {
    uint64_t count[MC_FIGURES];
    uint64_t bytes_read, bytes_written, auth_commands, auth_errors;
    uint64_t connections, listen_disabled, listen_disabled_us;
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

/* mc_options.c: 0, or the exit code + 1. */
int mc_options_parse(struct mc_options *options, int argc, char **argv);

/* mc_listen.c: sockets that accept. 0 or -1, after a line of log. */
int mc_listen_open(struct mc_server *server);
void mc_listen_begin(struct mc_server *server);
/* A connection has gone: others may come. Any thread. */
void mc_listen_again(struct mc_server *server);
void mc_listen_close(struct mc_server *server);

/* mc_worker.c. Start: 0 or -1; stop waits for the thread. */
int mc_worker_start(struct mc_server *server, uint32_t number);
void mc_worker_stop(struct mc_worker *worker);
/* Hands over a connection. Any thread. */
void mc_worker_accept(struct mc_worker *worker, int fd);
/* The store of a cluster of the worker's configuration; NULL: it cannot be reached. */
struct mc_store *mc_worker_store(struct mc_worker *worker, uint32_t cluster);
uint32_t mc_worker_now(void *server);

/* mc_connection.c: one client, from its first byte to its last. */
struct mc_connection *mc_connection_open(struct mc_worker *worker, int fd);
/* UDP: requests in `bytes` are answered by one reply, which mc_udp_send() gets. */
void mc_connection_datagram(struct mc_worker *worker, struct mc_datagram *datagram,
                            const char *bytes, uint32_t size);
void mc_connection_close(struct mc_connection *connection);
/* At the end of a round: replies that are complete leave, and those that had to wait go on. */
void mc_connections_flush(struct mc_worker *worker);
/* The database has room again. */
void mc_connections_resume(struct mc_worker *worker);
/* mc_job.c: the job is complete; the connection's turn, or it is dropped. */
void mc_job_completed(struct mc_job *job);

/* mc_order.c: may it begin now, or does it wait for one that is under way? Each one that was
   entered leaves, before its connection's list of jobs does without it. */
bool mc_order_may_begin(struct mc_connection *connection, struct mc_job *job);
void mc_order_enter(struct mc_connection *connection, struct mc_job *job);
void mc_order_leave(struct mc_connection *connection, struct mc_job *job);
void mc_order_drop(struct mc_connection *connection);
void mc_order_drop_spares(struct mc_worker *worker);

/* mc_socket.c: as recv() and send(), with TLS or without. -1 with errno EAGAIN: later. */
ssize_t mc_socket_read(struct mc_connection *connection, char *bytes, uint32_t size);
ssize_t mc_socket_write(struct mc_connection *connection, const char *bytes, uint32_t size);
int mc_tls_open(struct mc_server *server);

/* mc_udp.c: before the worker's thread runs. */
int mc_udp_open(struct mc_worker *worker, int fd);
void mc_udp_read(struct mc_worker *worker, int fd);
void mc_udp_send(struct mc_datagram *datagram, const char *bytes, uint32_t size);

/* mc_engine.c: who answers a request. First the job is put on the worker's configuration. */
void mc_engine_look(struct mc_worker *worker, struct mc_job *job);
/* What the request is about, in the cache and in the order of requests: the client's key, or the
   row that it spells. False: no row has that key. Its bytes are there until the next name. */
bool mc_engine_name(struct mc_job *job, struct mc_name *name);
/* The job is completed by it. */
void mc_engine_start(struct mc_worker *worker, struct mc_job *job);
/* There is a new value for the request's key, which could not be taken: no copy of the old one. */
void mc_engine_forget(struct mc_worker *worker, struct mc_job *job);
/* The worker has another configuration: copies of rows are those of the former one's containers. */
void mc_engine_forget_copies(struct mc_worker *worker, const struct mc_config *former);
/* Requests in the database are given up: their stores are closed. */
void mc_engine_drop(struct mc_worker *worker);
/* The database has as many requests of this worker as it may. */
bool mc_engine_full(const struct mc_worker *worker);
uint32_t mc_engine_limit(const struct mc_worker *worker);

/* mc_auth.c */
int mc_auth_load(struct mc_server *server);
bool mc_auth_needed(const struct mc_server *server);
/* Is it a user with that password? The bytes of PLAIN, or "user password" of the text protocol. */
bool mc_auth_plain(const struct mc_server *server, const struct mc_value *value);
bool mc_auth_text(const struct mc_server *server, const struct mc_value *value);

/* mc_stats.c: prints the group that the request names. False: there is none, nothing is printed. */
bool mc_stats(struct mc_worker *worker, const struct mc_request *request, struct mc_output *output);
/* The request's result is complete. */
void mc_stats_count(struct mc_worker *worker, const struct mc_request *request);
void mc_stats_add(struct mc_worker *worker, enum mc_figure figure);
/* mc_stats_conns.c */
void mc_client_enter(struct mc_server *server, struct mc_client *client);
void mc_client_leave(struct mc_server *server, struct mc_client *client);
void mc_stats_conns(struct mc_server *server, const struct mc_request *request,
                    struct mc_output *output);
/* mc_stats_detail.c: by the key's prefix. False: it is not this group. */
void mc_stats_count_prefix(const struct mc_job *job);
bool mc_stats_detail(struct mc_worker *worker, const struct mc_request *request,
                     struct mc_output *output);
/* What the others may know of the worker, now. Its own thread. */
void mc_stats_tell(struct mc_worker *worker);

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
