/* tcp_state.h -- the transporter's own records, private to this folder. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "transporters/transporter.h"
#include "kernel/base/rng.h"

#define HOST_SIZE    256u
#define ADDRESS_SIZE 64u

/* Repeats of one message are counted, not logged. */
struct fold {
    char text[LINK_REASON_SIZE];
    uint64_t since_ms;
    uint64_t repeats;
};

/* One socket, from accept() or connect() to the end of its link. */
struct connection {
    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_write_t write;
    struct transporter *t;
    struct connection *next;
    struct connection *previous;
    struct link *link;
    uint64_t started_ms;
    uint64_t up_ms;
    size_t writing; /* Bytes that a uv_write() has; 0 = none is under way. */
    uint32_t peer;  /* Outgoing: from the start. Incoming: once the link is up. */
    uint32_t epoch; /* Once up. */
    bool outgoing;
    bool connected;
    bool up; /* link_up() was reported, link_down() is owed. */
    bool reading;
    bool ended; /* uv_close() was called. */
    char address[ADDRESS_SIZE];
};

struct peer {
    struct transporter_peer config; /* host and bind_address point to the copies below. */
    char host[HOST_SIZE];
    char bind_address[ADDRESS_SIZE];
    bool known; /* transporter_set_peer() was called. */
    bool allowed;
    bool paused;
    bool resolving;
    struct connection *live;    /* Its link is up. */
    struct connection *attempt; /* Outgoing, not up yet. */
    struct transporter *t;
    uv_getaddrinfo_t resolve;
    uint32_t epoch_last;
    uint32_t attempts; /* Since the last link or change: which of a name's addresses is next. */
    uint32_t pause_ms; /* Before the next attempt. */
    uint64_t next_attempt_ms;
    struct fold fold;
};

struct listener {
    uv_tcp_t tcp;
    struct transporter *t;
    struct listener *next;
};

struct transporter {
    struct transporter_options options;
    struct peer peer[NODE_ID_MAX + 1];
    struct connection *connections;
    struct listener *listeners;
    uv_timer_t timer;
    bool timer_open;
    bool stopping;
    bool clients_paused;
    bool reap;        /* Some link is CLOSING and its end was not reported yet. */
    uint32_t unnamed; /* Incoming connections whose link is not up. */
    uint32_t handles; /* Listeners and the timer: not yet closed. */
    uint32_t resolving;
    uint64_t dirty[NODE_ID_MAX / 64 + 1]; /* Peers with words to be flushed. */
    struct rng rng;                       /* Jitter. */
    struct fold fold;                     /* Of strangers. */
};

/* --- tcp_connection.c --- */

/* Makes a connection with its link; not yet reading. NULL = no memory. */
struct connection *connection_create(struct transporter *t, uint32_t peer, bool outgoing);

/* The socket is connected: starts the handshake with the bytes that were read already. */
void connection_start(struct connection *connection, const void *bytes, uint32_t size);

/* Writes what waits. A link that breaks is left to transporter_reap(). */
void connection_flush(struct connection *connection);

/* Reads or stops reading as the pause flags say. */
void connection_set_reading(struct connection *connection);

/* Reports the end and closes the socket. Not from within a callback of the link. */
void connection_end(struct connection *connection);

/* --- tcp_connect.c --- */

/* Starts the attempts that are due. */
void connect_due_peers(struct transporter *t);
/* True when an attempt should be started as soon as its time has come. */
bool connect_wanted(const struct peer *peer);
/* An attempt or a link that we opened ended: when to try again. */
void connect_again_later(struct peer *peer, bool lived);
void connect_now(struct peer *peer);

/* --- transporter.c --- */

/* Ends all connections whose link is CLOSING. */
void transporter_reap(struct transporter *t);
/* Something is to be done soon: arms the timer. */
void transporter_arm(struct transporter *t);
/* A link is CLOSING: it will be ended by the next flush or timer, not within the caller. */
void transporter_end_soon(struct transporter *t);
bool peer_paused(const struct peer *peer);
void transporter_log(struct transporter *t, uint32_t level, struct fold *fold, const char *text);
extern const struct link_callbacks transporter_link_calls;
