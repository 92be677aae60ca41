/* api_connect.c -- a client's transaction records at the TC instances: seized, kept, cleaned,
 * released. */
/* SPDX-License-Identifier: MIT */
#include <string.h>
#include "api/core/api_connect_state.h"
#include "api/core/api_scan_state.h"
#include "api/core/api_tx_state.h"

#define RESEND_MS 20u

struct api_connect *api_connect_get(struct api_client *client, uint32_t node, uint32_t *error)
{
    struct api_connect *connect = client->free[node];
    struct api_node *peer = &client->core->node[node];

    while (connect != NULL && connect->epoch != atomic_load(&peer->epoch)) {
        client->free[node] = connect->next; /* Its link has ended, unheard of. */
        api_connect_drop(client, connect);
        connect = client->free[node];
    }
    if (connect != NULL) {
        client->free[node] = connect->next;
        connect->state = CONNECT_BUSY;
        return connect;
    }
    connect = api_pool_seize(&client->connects);
    if (connect == NULL) {
        *error = ERR_API_MEMORY;
        return NULL;
    }
    uint32_t instance =
        1 + client->turn++ % (atomic_load(&peer->tc_count) == 0 ? 1 : atomic_load(&peer->tc_count));
    struct api_record record = connect->record;
    *connect = (struct api_connect){.record = record,
                                    .state = CONNECT_SEIZING,
                                    .node = node,
                                    .epoch = atomic_load(&peer->epoch),
                                    .tc_ref = block_ref(node, BLOCK_DBTC, instance)};
    struct tcseizereq req = {.sender_data = connect->record.ref};
    if (!api_send_small(client, node, GSN_TCSEIZEREQ, connect->tc_ref, &req, sizeof req / 4u)) {
        api_pool_release(&client->connects, connect);
        *error =
            atomic_load(&peer->epoch) == 0 ? ERR_CLUSTER_UNAVAILABLE : ERR_API_SEND_BUFFER_4022;
        return NULL;
    }
    return connect;
}

static bool counts_as_unclean(const struct api_connect *connect)
{
    return connect->state == CONNECT_CLEANING || connect->state == CONNECT_RELEASING;
}

void api_connect_free(struct api_client *client, struct api_connect *connect)
{
    if (counts_as_unclean(connect)) client->unclean--;
    connect->state = CONNECT_FREE;
    connect->tx = NULL;
    connect->scan = NULL;
    connect->resend = false;
    connect->transid = 0;
    connect->next = client->free[connect->node];
    client->free[connect->node] = connect;
}

void api_connect_drop(struct api_client *client, struct api_connect *connect)
{
    if (counts_as_unclean(connect)) client->unclean--;
    connect->resend = false;
    api_pool_release(&client->connects, connect);
}

static void send_release(struct api_client *client, struct api_connect *connect)
{
    struct tcreleasereq req = {.tc_connect = connect->tc_connect,
                               .sender_data = connect->record.ref};
    connect->resend = !api_send_small(client, connect->node, GSN_TCRELEASEREQ, connect->tc_ref,
                                      &req, sizeof req / 4u);
    if (connect->resend) api_wake_at(client, client->now_ms + RESEND_MS);
}

static void send_rollback(struct api_client *client, struct api_connect *connect)
{
    struct tcrollbackreq req = {.tc_connect = connect->tc_connect,
                                .transid1 = (uint32_t)connect->transid,
                                .transid2 = (uint32_t)(connect->transid >> 32)};
    connect->resend = !api_send_small(client, connect->node, GSN_TCROLLBACKREQ, connect->tc_ref,
                                      &req, sizeof req / 4u);
    if (connect->resend) api_wake_at(client, client->now_ms + RESEND_MS);
}

void api_connect_resend(struct api_client *client, struct api_connect *connect)
{
    if (connect->state == CONNECT_CLEANING) send_rollback(client, connect);
    if (connect->state == CONNECT_RELEASING) send_release(client, connect);
}

void api_connect_clean(struct api_client *client, struct api_connect *connect, uint64_t transid)
{
    connect->tx = NULL;
    connect->scan = NULL;
    /* A record that is still being seized has seen nothing: it becomes free when the answer comes.
     */
    if (connect->state == CONNECT_SEIZING) return;
    if (!counts_as_unclean(connect)) client->unclean++;
    connect->state = CONNECT_CLEANING;
    connect->transid = transid;
    send_rollback(client, connect);
}

/* Free records go, and who uses one is told. A client that was idle hears of the end of a link when
 * it has begun to use the next one: those of that one stay. */
void api_connect_link_down(struct api_client *client, uint32_t peer, uint32_t epoch)
{
    if (peer > NODE_ID_MAX) return;
    struct api_connect *kept = NULL;
    for (struct api_connect *connect = client->free[peer]; connect != NULL;) {
        struct api_connect *after = connect->next;
        if (connect->epoch != epoch) {
            connect->next = kept;
            kept = connect;
        }
        connect = after;
    }
    client->free[peer] = kept;
    struct api_connect *next;
    for (struct api_connect *connect = api_pool_next(&client->connects, 0); connect != NULL;
         connect = next) {
        uint32_t index = connect->record.index;
        if (connect->node == peer && connect->epoch == epoch) {
            struct api_tx *tx = connect->tx;
            struct api_scan *scan = connect->scan;
            api_connect_drop(client, connect);
            if (tx != NULL) api_tx_connect_lost(tx);
            if (scan != NULL) api_scan_connect_lost(scan);
        }
        next = api_pool_next(&client->connects, index);
    }
}

void api_exec_TCSEIZECONF(struct api_client *client, const uint32_t *words)
{
    const struct tcseizeconf *conf = (const void *)(words + SIGNAL_HEAD_WORDS);
    struct api_connect *connect = api_pool_find(&client->connects, conf->sender_data);

    if (connect == NULL || connect->state != CONNECT_SEIZING || words[2] != connect->tc_ref) {
        api_late(client);
        return;
    }
    connect->tc_connect = conf->tc_connect;
    connect->state = CONNECT_BUSY;
    if (connect->tx != NULL) {
        api_tx_seized(connect->tx, 0);
    } else if (connect->scan != NULL) {
        api_scan_seized(connect->scan, 0);
    } else {
        api_connect_free(client, connect);
    }
}

void api_exec_TCSEIZEREF(struct api_client *client, const uint32_t *words)
{
    const struct tcseizeref *ref = (const void *)(words + SIGNAL_HEAD_WORDS);
    struct api_connect *connect = api_pool_find(&client->connects, ref->sender_data);

    if (connect == NULL || connect->state != CONNECT_SEIZING || words[2] != connect->tc_ref) {
        api_late(client);
        return;
    }
    struct api_tx *tx = connect->tx;
    struct api_scan *scan = connect->scan;
    uint32_t error = ref->error == 0 ? ERR_TC_TRANSACTIONS : ref->error;
    api_connect_drop(client, connect);
    if (tx != NULL) api_tx_seized(tx, error);
    if (scan != NULL) api_scan_seized(scan, error);
}

void api_exec_TCRELEASE(struct api_client *client, const uint32_t *words)
{
    const struct tcreleaseconf *conf = (const void *)(words + SIGNAL_HEAD_WORDS);
    struct api_connect *connect = api_pool_find(&client->connects, conf->sender_data);

    if (connect == NULL || connect->state != CONNECT_RELEASING || words[2] != connect->tc_ref) {
        api_late(client);
        return;
    }
    api_connect_drop(client, connect);
}

/* The record that a rollback's answer is for, when that rollback is what it waits for. */
static struct api_connect *rolled_back(struct api_client *client, const uint32_t *words)
{
    const struct tcrollbackconf *conf = (const void *)(words + SIGNAL_HEAD_WORDS);
    struct api_connect *connect = api_pool_find(&client->connects, conf->api_connect);
    uint64_t transid = (uint64_t)conf->transid2 << 32 | conf->transid1;

    if (connect == NULL || connect->transid != transid || words[2] != connect->tc_ref) return NULL;
    if (connect->state == CONNECT_CLEANING) return connect;
    if (connect->state == CONNECT_BUSY && connect->tx != NULL &&
        connect->tx->state == TX_ROLLING_BACK)
        return connect;
    return NULL;
}

void api_exec_TCROLLBACKCONF(struct api_client *client, const uint32_t *words)
{
    struct api_connect *connect = rolled_back(client, words);
    if (connect == NULL) {
        api_late(client);
        return;
    }
    struct api_tx *tx = connect->tx;
    api_connect_free(client, connect);
    if (tx != NULL) api_tx_rolled_back(tx);
}

/* The coordinator does not know the transaction (it ended by itself), or cannot: start with a fresh
 * record. */
void api_exec_TCROLLBACKREF(struct api_client *client, const uint32_t *words)
{
    struct api_connect *connect = rolled_back(client, words);
    if (connect == NULL) {
        api_late(client);
        return;
    }
    struct api_tx *tx = connect->tx;
    if (connect->state != CONNECT_CLEANING) client->unclean++;
    connect->state = CONNECT_RELEASING;
    connect->tx = NULL;
    send_release(client, connect);
    if (tx != NULL) api_tx_rolled_back(tx);
}
