/* api_connect_state.h -- private: a client's transaction records at the TC instances. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "api/core/api_state.h"

/*
 * A transaction record at a TC instance.
 *
 *   SEIZING --CONF--> BUSY <--> FREE (in client->free[node])
 *   BUSY --given up--> CLEANING --ROLLBACKCONF--> FREE
 *                               --ROLLBACKREF---> RELEASING --> gone
 *   any --link down--> gone
 */
enum api_connect_state {
    CONNECT_SEIZING = 0,
    CONNECT_FREE,
    CONNECT_BUSY,
    CONNECT_CLEANING,
    CONNECT_RELEASING
};

struct api_connect {
    struct api_record record; /* ref = api_connect, sender_data of TCSEIZEREQ. */
    enum api_connect_state state;
    uint32_t node;
    uint32_t epoch;
    uint32_t tc_ref; /* TC instance that has the record. */
    uint32_t tc_connect;
    uint64_t transid;  /* Transaction that uses the record, or is being cleaned. */
    bool resend;       /* The cleaning request found no room. */
    struct api_tx *tx; /* Owner: `tx`, `scan`, or none. */
    struct api_scan *scan;
    struct api_connect *next; /* Next record of the free list. */
};

/* api_connect.c */
/* A free record at `node`, or one being seized (state says which). NULL and *error. */
struct api_connect *api_connect_get(struct api_client *client, uint32_t node, uint32_t *error);
void api_connect_free(struct api_client *client, struct api_connect *connect);
/* Rolls back what may be going on under `transid`, then keeps the record for others. */
void api_connect_clean(struct api_client *client, struct api_connect *connect, uint64_t transid);
void api_connect_drop(struct api_client *client, struct api_connect *connect);
void api_connect_resend(struct api_client *client, struct api_connect *connect);
void api_connect_link_down(struct api_client *client, uint32_t peer, uint32_t epoch);
void api_exec_TCSEIZECONF(struct api_client *client, const uint32_t *words);
void api_exec_TCSEIZEREF(struct api_client *client, const uint32_t *words);
void api_exec_TCRELEASE(struct api_client *client, const uint32_t *words);
void api_exec_TCROLLBACKCONF(struct api_client *client, const uint32_t *words);
void api_exec_TCROLLBACKREF(struct api_client *client, const uint32_t *words);
