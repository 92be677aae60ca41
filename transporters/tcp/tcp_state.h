/* tcp_state.h -- the transporter's own records, private to this folder. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include "kernel/base/rng.h"
#include "transporters/send_buffer.h"
#include "transporters/transporter.h"

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
    struct outlet *outlet; /* The sending half of the link, while a writer has it; else NULL. */
    uint64_t started_ms;
    uint64_t up_ms;
    size_t writing; /* Bytes that a uv_write() has; 0 = none is under way. */
    /* Node id of the peer; known from the start if `outgoing`, else once the link is up. */
    uint32_t peer;
    uint32_t epoch; /* Epoch of the link, once it is up. */
    bool outgoing;
    bool connected;
    bool up; /* link_up() was reported, link_down() is owed. */
    bool reading;
    bool ended;  /* Nothing is read or written any more; uv_close() as soon as no writer has it. */
    bool naming; /* The hello is gathered below, to see whose it is. */
    bool moved;  /* Handed over to another thread's transporter. */
    uint8_t hello[LINK_HELLO_BYTES];
    uint32_t hello_size;
    char address[ADDRESS_SIZE];
};

enum outlet_state {
    OUTLET_OPEN,
    OUTLET_SHUT,  /* Takes no more words: an end is to come. What waits is still written. */
    OUTLET_BROKEN /* Does not write either. */
};

/* For statistics; written by the writer, read by anybody. */
struct outlet_counters {
    atomic_ullong bytes;
    atomic_ullong words;
    atomic_ullong frames;
    atomic_ullong overloads;
    atomic_ullong waiting;
    atomic_ullong waiting_max;
};

/* The sending half of a link that a writer writes, with a descriptor of its own. */
struct outlet {
    /* Never change. */
    struct link_writer *writer;
    struct transporter *owner;
    struct connection *connection; /* For the owner's thread only. */
    uint32_t peer;
    uint32_t epoch;

    /* The writer's thread, from the first order to outlet_tell_released(). */
    uv_poll_t poll;
    int descriptor;
    struct send_buffer send;
    enum outlet_state state;
    uint64_t bytes_sent;
    uint64_t words_sent;
    bool begun;
    bool polled;  /* `poll` is open. */
    bool waiting; /* The writer waits for the socket to take more. */
    bool ending;
    struct outlet_counters counters;
    atomic_uint level; /* enum link_level */

    /* Orders of the owner, under the writer's lock. */
    struct outlet *next_order;
    bool order_queued;
    bool end_ordered;
    bool goodbye;
    char farewell[LINK_REASON_SIZE];

    /* News for the owner, under its mail_lock. */
    struct outlet *next_news;
    bool news_queued;
    bool failed;
    bool failed_broken;
    bool released;
    char reason[LINK_REASON_SIZE];
};

struct peer {
    struct transporter_peer config; /* host and bind_address point to the copies below. */
    char host[HOST_SIZE];
    char bind_address[ADDRESS_SIZE];
    bool known; /* transporter_set_peer() was called. */
    bool allowed;
    bool paused;
    bool resolving;
    struct connection *live;    /* Connection whose link is up. */
    struct connection *attempt; /* Connection that goes out and is not up yet. */
    struct transporter *t;
    uv_getaddrinfo_t resolve;
    uint32_t epoch_last;
    /* Attempts since the last link or change: they choose among a name's addresses. */
    uint32_t attempts;
    uint32_t pause_ms; /* Pause before the next attempt. */
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
    uint32_t handles; /* Listeners and the timer that are not yet closed. */
    uint32_t resolving;
    uint64_t dirty[NODE_ID_MAX / 64 + 1]; /* Peers with words to be flushed. */
    struct rng rng;                       /* Random numbers for jitter. */
    struct fold fold;                     /* Messages about strangers. */

    /* What other threads tell; only with writers or other transporters in the process. */
    uv_async_t mail;
    bool has_mail;
    pthread_mutex_t mail_lock;
    struct outlet *news;
    struct handed_socket *handed;
    bool mail_closed;
};

/* --- tcp_connection.c --- */

/* Makes a connection with its link; not yet reading. NULL = no memory. */
struct connection *connection_create(struct transporter *t, uint32_t peer, bool outgoing);

/* The socket is connected: starts the handshake with the bytes that were read already. */
void connection_start(struct connection *connection, const void *bytes, uint32_t size);

/* Blocks SIGPIPE in this thread. */
void connection_block_sigpipe(void);
/* Writes what waits. A link that breaks is left to transporter_reap(). */
void connection_flush(struct connection *connection);

/* Reads or stops reading as the pause flags say. */
void connection_set_reading(struct connection *connection);

/* Ends it: at once, or as soon as its writer has given the sending half back. Not from within a
 * callback of the link. */
void connection_end(struct connection *connection);
/* Reports the end and closes the socket; no writer has it (any more). */
void connection_gone(struct connection *connection);

/* --- tcp_mail.c --- */

int mail_open(struct transporter *t);
/* Once the transporter is stopping and no writer has anything of it. */
void mail_close(struct transporter *t);
/* Gives an incoming connection whose hello is complete to the transporter that its sender belongs
 * to. False: that is this one. */
bool connection_hand_over(struct connection *connection);
/* The link came up: its sending half goes to its writer. False: it cannot. */
bool outlet_open(struct connection *connection);
/* Asks the writer to say goodbye (NULL = without a word) and to give the half back. */
void outlet_close(struct outlet *outlet, const char *farewell);
/* The writer's thread. */
void outlet_tell_failed(struct outlet *outlet, bool broken, const char *reason);
void outlet_tell_released(struct outlet *outlet);

/* --- tcp_writer.c --- */

/* Any thread. */
static inline enum link_level outlet_level(const struct outlet *outlet)
{
    return (enum link_level)atomic_load_explicit(&outlet->level, memory_order_relaxed);
}

/* Wakes the writer: begins to write, or gives the half back. The owner's thread. */
void outlet_order(struct outlet *outlet, bool ending);

/* --- tcp_connect.c --- */

/* Starts the attempts that are due. */
void connect_due_peers(struct transporter *t);
/* True when an attempt should be started as soon as its time has come. */
bool connect_wanted(const struct peer *peer);
/* An attempt or a link that we opened ended: when to try again. */
void connect_again_later(struct peer *peer, bool lived);
void connect_now(struct peer *peer);

/* --- tcp_transporter.c --- */

/* Ends all connections whose link is CLOSING. */
void transporter_reap(struct transporter *t);
/* Something is to be done soon: arms the timer. */
void transporter_arm(struct transporter *t);
/* A link is CLOSING: it will be ended by the next flush or timer, not within the caller. */
void transporter_end_soon(struct transporter *t);
bool peer_paused(const struct peer *peer);
void transporter_log(struct transporter *t, uint32_t level, struct fold *fold, const char *text);
extern const struct link_callbacks transporter_link_calls;
