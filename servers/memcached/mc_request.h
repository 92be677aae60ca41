/* mc_request.h -- what a client asks for and what it is answered, whatever the protocol. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/*
 * A parser makes requests, the engine fills their results, a printer makes replies of both. None of
 * the three knows another one: this is all that they share.
 */

#define MC_KEY_MAX        250u
#define MC_OPAQUE_MAX     31u /* 32 with its letter. */
#define MC_META_FLAGS_MAX 20u
#define MC_VALUE_MAX      (1024u * 1024u * 1024u) /* The largest -I. */
#define MC_EXPIRED        1u                      /* An expiry in the past. */
#define MC_RELATIVE_MAX   (60u * 60u * 24u * 30u) /* Longer exptimes are absolute. */

/* A value that several may hold: the request that brought it, the cache, a reply. */
struct mc_value {
    uint32_t references; /* Atomic. */
    uint32_t size;
    char bytes[];
};
struct mc_value *mc_value_create(uint32_t size); /* NULL: no memory. One reference. Any thread. */
struct mc_value *mc_value_hold(struct mc_value *value);
/* This thread keeps the memory of small values that it releases for those that it creates; it is
   freed with the second call, after which nothing is kept any more. */
void mc_value_keep(bool keep);
void mc_value_release(struct mc_value *value); /* NULL is allowed. */

enum mc_command {
    MC_GET = 0, /* get, gets, mg; with `touch` also gat, gats, and touch, for which `want_value`
                   is not set */
    MC_SET,     /* set; with `cas_given`: cas. */
    MC_ADD,
    MC_REPLACE,
    MC_APPEND,
    MC_PREPEND,
    MC_DELETE,
    MC_INCREMENT,
    MC_DECREMENT,
    MC_FLUSH_ALL,
    MC_ENGINE_COMMANDS, /* Those above are the engine's, those below are the connection's. */
    MC_STATS = MC_ENGINE_COMMANDS, /* key: the group, may be empty */
    MC_VERSION,
    MC_VERBOSITY, /* delta: the level */
    MC_NOOP,      /* Answered by the printer as it stands: the end of a get, mn, noop. */
    MC_BAD,       /* A mistake of the client: answered with result.message. */
    MC_AUTH,      /* key: the mechanism, "" of the text protocol; value: what came with it */
    MC_AUTH_LIST,
    MC_QUIT,
    MC_SHUTDOWN, /* delta: not 0 with a mode that is none */
    MC_COMMANDS
};

enum mc_status {
    MC_OK = 0, /* A hit; stored, deleted, touched. */
    MC_NOT_FOUND,
    MC_EXISTS, /* The CAS number is another one; binary ADD of a key that is there, too. */
    MC_NOT_STORED,
    MC_TOO_LARGE,
    MC_INVALID, /* Key or value cannot be what the table's columns are. */
    MC_NON_NUMERIC,
    MC_NO_MEMORY,
    MC_NOT_SUPPORTED, /* The prefix's policy does not allow it, or its table cannot. */
    MC_TEMPORARY,     /* Overload, a node that fails: later it will succeed. */
    MC_FAILED,        /* Any other error of the database. */
    MC_AUTH_ERROR,
    MC_STATUSES
};

/* How mg answers who is to bring a new value: see docs/protocols/memcached.md. */
struct mc_meta {
    bool no_bump;       /* u: the access does not count. */
    bool vivify_given;  /* N(ttl): a miss creates an empty item, and this one is to fill it; of
                            append and prepend, a miss stores; of ma as `create`. */
    uint32_t vivify;    /* Expiry of that item, as request.expiry. */
    bool recache_given; /* R(ttl): who finds an earlier expiry is to fill it anew. */
    uint32_t recache;   /* The expiry below which that is so, as request.expiry; 0: it never is. */
    bool invalidate;    /* I of ms (an older CAS stores, as stale) and md (stays, as stale). */
    bool drop_value;    /* x of md: the item stays without its value and flags. */
    bool new_cas_given; /* E */
    uint64_t new_cas;
};

struct mc_result {
    enum mc_status status;
    const char *message; /* NULL, or a constant text that the printer takes for the status' own. */
    const char
        *column; /* The column whose value is refused, or NULL; lives as long as its container. */
    struct mc_value *value; /* What a get has read; held. NULL: nothing. */
    uint32_t flags;
    uint32_t size;   /* Bytes of the whole value after APPEND and PREPEND. */
    uint64_t cas;    /* 0: none. */
    uint64_t number; /* The new number after INCREMENT and DECREMENT. */
    /* The expiry, as request.expiry; that before a touch if `t` stands before `T`. */
    uint32_t expiry;
    uint32_t accessed;           /* Seconds since the last access. */
    bool fetched;                /* The item was asked for before. */
    bool won, stale, token_sent; /* W, X, Z of mg. */
    bool purged;                 /* What was found had expired, and was deleted. */
    bool created; /* INCREMENT with `create`, or GET or APPEND with vivify, has made the item. */
};

/* For the log. */
const char *mc_command_name(enum mc_command command);
const char *mc_status_name(enum mc_status status);

enum mc_protocol { MC_TEXT = 0, MC_META, MC_BINARY };

/* What a printer needs to know of its own protocol's request. */
struct mc_form {
    enum mc_protocol protocol;
    uint8_t opcode;        /* Binary: as it came. Meta: the second letter of the command. */
    bool quiet;            /* noreply, q, a quiet opcode. */
    bool with_cas;         /* gets, gats */
    bool touch_only;       /* touch: TOUCHED instead of a value. */
    bool key_in_base64;    /* b: the key came in base64 and is printed so. */
    bool mute_if_same_cas; /* C of mg */
    uint32_t opaque;       /* Binary. */
    /* Meta: flags to be returned, in the order of the request. Among them v, that the value is, and
       T and N: a t before one of them asks for the expiry as it was. */
    uint8_t flag_count;
    char flag[MC_META_FLAGS_MAX];
    uint8_t opaque_size;
    char opaque_text[MC_OPAQUE_MAX];
};

struct mc_request {
    enum mc_command command;
    struct mc_form form;
    uint8_t key_size;       /* Bytes of `key`, below. */
    struct mc_value *value; /* What is to be stored; held. */
    uint32_t flags;
    /* Unix seconds, 0: never, MC_EXPIRED: already. Of sets; of gets with `touch`; of INCREMENT with
       `create`; of FLUSH_ALL when it is to happen, 0: at once. ma may have both: with `touch` this
       is for an item that is there, and meta.vivify for one that is made. */
    uint32_t expiry;
    bool want_value;   /* The value is wanted; else only whether it is there, and its figures. */
    bool touch;        /* The expiry is set. */
    bool cas_unwanted; /* Nobody is told the CAS number of what is read. */
    bool cas_given;
    uint64_t cas;
    /* The engine's, of a row without a CAS number: the given one is that of a copy, and the row has
       to have the copy's value and flags still. `copy` NULL: there is no copy with that number any
       more, and a row that is there counts as changed. */
    bool cas_of_copy;
    struct mc_value *copy; /* That copy's value; held. */
    uint32_t copy_flags;
    bool create;    /* INCREMENT, DECREMENT: a missing one is made, with `initial`. */
    uint64_t delta; /* What INCREMENT adds or DECREMENT subtracts. */
    uint64_t initial;
    struct mc_meta meta;

    struct mc_result result;
    /* Set by the connection, called once by the engine when `result` is complete, perhaps before
       the call that began it returns, always in the same thread. */
    void (*done)(struct mc_request *request);
    void *context;           /* The connection's. */
    struct mc_request *next; /* The connection's: in the order of the replies. */
    void *engine;            /* The engine's, while it works. */
    /* The last member: an empty request is all zero up to here. */
    char key[MC_KEY_MAX];
};

/* Frees what the request holds; it has no meaning then. */
void mc_request_release(struct mc_request *request);
/* The same, and leaves an empty one. */
void mc_request_clear(struct mc_request *request);

/* What to say of a value that was refused, if the result names the column: into `text`. NULL: it
   does not. */
#define MC_REFUSAL_MAX 400u
const char *mc_request_refusal(const struct mc_result *result, char text[MC_REFUSAL_MAX]);

/* The expiry that an exptime means which a client has sent: see request.expiry. `now`: Unix
   seconds. Negative ones, and absolute ones that are past, are MC_EXPIRED. */
uint32_t mc_expiry(int64_t exptime, uint32_t now);
