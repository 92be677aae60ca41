/* mc_connection.h -- one client: its connection, its requests under way, and their order. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <openssl/ssl.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <uv.h>
#include "servers/memcached/mc_config.h"
#include "servers/memcached/mc_output.h"
#include "servers/memcached/mc_parse.h"

struct mc_datagram;
struct mc_order_table;
struct mc_worker;

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

/* mc_udp.c: before the worker's thread runs. */
int mc_udp_open(struct mc_worker *worker, int fd);
void mc_udp_read(struct mc_worker *worker, int fd);
void mc_udp_send(struct mc_datagram *datagram, const char *bytes, uint32_t size);
