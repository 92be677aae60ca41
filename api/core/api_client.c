/* api_client.c -- one thread's part: its records, its signals, its time. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "api/core/api_connect_state.h"
#include "api/core/api_dict_state.h"
#include "api/core/api_durable_state.h"
#include "api/core/api_scan_state.h"
#include "api/core/api_tx_state.h"

/* client_last is the highest instance ever used: walks over all clients end there. */
static uint32_t take_instance(struct api_core *core, struct api_client *client)
{
    uint32_t instance = 0;
    pthread_mutex_lock(&core->lock);
    for (uint32_t i = 1; i <= API_CLIENTS_MAX && instance == 0; i++) {
        if (atomic_load(&core->clients[i]) == NULL) instance = i;
    }
    if (instance != 0) {
        client->instance = instance;
        client->own_ref = block_ref(core->config.own_node, BLOCK_API, instance);
        atomic_store(&core->clients[instance], client);
        if (instance > core->client_last) core->client_last = instance;
    }
    pthread_mutex_unlock(&core->lock);
    return instance;
}

struct api_client *api_client_open(struct api_core *core)
{
    struct api_client *client = calloc(1, sizeof *client);
    if (client == NULL) return NULL;
    client->core = core;
    client->now_ms = atomic_load(&core->now_ms);
    client->next_ms = UINT64_MAX;
    api_pool_init(&client->ops, sizeof(struct api_op), 0);
    api_pool_init(&client->connects, sizeof(struct api_connect), 0);
    api_pool_init(&client->scans, sizeof(struct api_scan), API_POOL_MARK);
    api_pool_init(&client->dicts, sizeof(struct api_dict_request), 0);
    api_pool_init(&client->durables, sizeof(struct api_durable), 0);
    if (take_instance(core, client) == 0) {
        free(client);
        return NULL;
    }
    client->turn = client->instance; /* Clients spread over nodes and TC instances. */
    return client;
}

void api_client_close(struct api_client *client)
{
    if (client == NULL) return;
    api_tx_drop_all(client);
    api_scan_drop_all(client);
    api_dict_drop_all(client);
    api_durable_drop_all(client);
    /* The records at the coordinators are given back; the coordinator rolls back what is still
     * theirs. */
    for (struct api_connect *connect = api_pool_next(&client->connects, 0); connect != NULL;
         connect = api_pool_next(&client->connects, connect->record.index)) {
        if (connect->state == CONNECT_SEIZING || connect->state == CONNECT_RELEASING) continue;
        struct tcreleasereq req = {.tc_connect = connect->tc_connect,
                                   .sender_data = connect->record.ref};
        api_send_small(client, connect->node, GSN_TCRELEASEREQ, connect->tc_ref, &req,
                       sizeof req / 4u);
    }
    pthread_mutex_lock(&client->core->lock);
    atomic_store(&client->core->clients[client->instance], NULL);
    pthread_mutex_unlock(&client->core->lock);
    while (client->chunk_free != NULL) {
        struct api_chunk *chunk = client->chunk_free;
        client->chunk_free = chunk->next;
        free(chunk);
    }
    api_pool_drop(&client->ops);
    api_pool_drop(&client->connects);
    api_pool_drop(&client->scans);
    api_pool_drop(&client->dicts);
    api_pool_drop(&client->durables);
    free(client);
}

uint32_t api_client_instance(const struct api_client *client)
{
    return client->instance;
}

uint32_t api_client_pending(const struct api_client *client)
{
    return client->pending;
}

uint32_t api_client_unclean(const struct api_client *client)
{
    return client->unclean;
}

const struct api_statistics *api_client_statistics(const struct api_client *client)
{
    return &client->statistics;
}

/* ---- Sending. ---- */

void api_pack_head(uint32_t *out, uint32_t gsn, uint32_t receiver, uint32_t sender, uint32_t words,
                   uint32_t sections)
{
    out[0] = signal_kind(gsn, words, sections, PRIO_B, 0);
    out[1] = receiver;
    out[2] = sender;
    out[3] =
        SIGNAL_HEAD_WORDS + words + sections; /* Plus the sections themselves, by the caller. */
}

bool api_send(struct api_client *client, uint32_t node, const uint32_t *words, uint32_t count)
{
    struct api_core *core = client->core;
    uint32_t epoch = atomic_load_explicit(&core->node[node].epoch, memory_order_relaxed);
    if (epoch == 0) return false;
    if (!core->host.send(core->host.context, node, epoch, words, count)) return false;
    client->statistics.bytes_sent += 4ull * count;
    return true;
}

bool api_send_small(struct api_client *client, uint32_t node, uint32_t gsn, uint32_t receiver,
                    const void *payload, uint32_t words)
{
    uint32_t out[SIGNAL_HEAD_WORDS + SIGNAL_WORDS_MAX];
    api_pack_head(out, gsn, receiver, client->own_ref, words, 0);
    memcpy(out + SIGNAL_HEAD_WORDS, payload, words * 4u);
    return api_send(client, node, out, SIGNAL_HEAD_WORDS + words);
}

bool api_node_fast(const struct api_core *core, uint32_t node)
{
    return api_core_node_ready(core, node) && atomic_load(&core->node[node].slow) == 0;
}

uint32_t api_any_node(struct api_client *client)
{
    return api_other_node(client, 0);
}

uint32_t api_other_node(struct api_client *client, uint32_t than)
{
    struct api_core *core = client->core;
    uint32_t neighbour = core->config.neighbour;
    if (neighbour != than && api_node_fast(core, neighbour)) return neighbour;
    struct node_mask ready = api_core_ready(core);
    if (than != 0) node_mask_remove(&ready, than);
    struct node_mask fast = ready;
    for (uint32_t node = node_mask_next(&ready, 0); node != 0;
         node = node_mask_next(&ready, node)) {
        if (!api_node_fast(core, node)) node_mask_remove(&fast, node);
    }
    if (!node_mask_empty(&fast)) ready = fast;
    uint32_t count = node_mask_count(&ready);
    if (count == 0) return 0;
    uint32_t skip = client->turn++ % count;
    uint32_t node = node_mask_next(&ready, 0);
    while (skip-- > 0)
        node = node_mask_next(&ready, node);
    return node;
}

/* Block number << 52 | node << 40 | counter, the low 32 bits of which count. */
uint64_t api_new_transid(struct api_core *core)
{
    uint64_t count = atomic_fetch_add_explicit(&core->transid_next, 1, memory_order_relaxed);
    return (uint64_t)BLOCK_API << 52 | (uint64_t)core->config.own_node << 40 |
           (count & 0xFFFFFFFFu);
}

/* ---- Time. ---- */

void api_wake_at(struct api_client *client, uint64_t at_ms)
{
    if (at_ms < client->next_ms) client->next_ms = at_ms;
}

uint64_t api_deadline(struct api_client *client, uint32_t timeout_ms)
{
    if (timeout_ms == API_NO_TIMEOUT) return API_DEADLINE_NONE;
    uint64_t deadline = client->now_ms + timeout_ms;
    api_wake_at(client, deadline);
    return deadline;
}

static void resend_cleaning(struct api_client *client)
{
    for (struct api_connect *connect = api_pool_next(&client->connects, 0); connect != NULL;
         connect = api_pool_next(&client->connects, connect->record.index)) {
        if (connect->resend) api_connect_resend(client, connect);
    }
}

void api_client_now(struct api_client *client, uint64_t now_ms)
{
    if (now_ms > client->now_ms) client->now_ms = now_ms;
}

void api_client_tick(struct api_client *client, uint64_t now_ms)
{
    api_client_now(client, now_ms);
    if (client->now_ms < client->next_ms) return;
    client->next_ms = UINT64_MAX; /* Each of these sets it again to what it still waits for. */
    api_tx_send_parts(client);
    api_tx_expire(client);
    api_outcome_tick(client);
    api_scan_expire(client);
    api_dict_expire(client);
    api_durable_expire(client);
    if (client->unclean > 0) resend_cleaning(client);
    api_client_flush(client);
}

uint32_t api_client_next_tick(const struct api_client *client)
{
    if (client->next_ms == UINT64_MAX) return UINT32_MAX;
    if (client->next_ms <= client->now_ms) return 0;
    uint64_t wait = client->next_ms - client->now_ms;
    return wait >= UINT32_MAX ? UINT32_MAX - 1 : (uint32_t)wait;
}

/* ---- Receiving. ---- */

void api_late(struct api_client *client)
{
    client->statistics.late_answers++;
}

void api_client_signal(struct api_client *client, uint32_t peer, uint32_t epoch,
                       const uint32_t *words)
{
    (void)
        epoch; /* Transaction ids and generations tell old from new; the link's epoch has no say. */
    client->statistics.bytes_received += 4ull * words[3];
    switch (kind_gsn(words[0])) {
    case GSN_TRANSID_AI:
        api_exec_TRANSID_AI(client, words);
        break;
    case GSN_TCKEYCONF:
        api_exec_TCKEYCONF(client, words);
        break;
    case GSN_TCKEYREF:
        api_exec_TCKEYREF(client, words);
        break;
    case GSN_TC_COMMITCONF:
        api_exec_TC_COMMITCONF(client, words);
        break;
    case GSN_TC_COMMITREF:
        api_exec_TC_COMMITREF(client, words);
        break;
    case GSN_TCROLLBACKCONF:
        api_exec_TCROLLBACKCONF(client, words);
        break;
    case GSN_TCROLLBACKREF:
        api_exec_TCROLLBACKREF(client, words);
        break;
    case GSN_TCKEY_FAILCONF:
        api_exec_TCKEY_FAILCONF(client, words);
        return;
    case GSN_TCKEY_FAILREF:
        api_exec_TCKEY_FAILREF(client, words);
        return;
    case GSN_OUTCOME_CONF:
        api_exec_OUTCOME_CONF(client, words);
        return;
    case GSN_OUTCOME_REF:
        api_exec_OUTCOME_REF(client, words);
        return;
    case GSN_TCROLLBACKREP:
        api_exec_TCROLLBACKREP(client, words);
        break;
    case GSN_TCSEIZECONF:
        api_exec_TCSEIZECONF(client, words);
        break;
    case GSN_TCSEIZEREF:
        api_exec_TCSEIZEREF(client, words);
        break;
    case GSN_TCRELEASECONF:
    case GSN_TCRELEASEREF:
        api_exec_TCRELEASE(client, words);
        break;
    case GSN_SCAN_TABCONF:
        api_exec_SCAN_TABCONF(client, words);
        break;
    case GSN_SCAN_TABREF:
        api_exec_SCAN_TABREF(client, words);
        break;
    case GSN_WAIT_DURABLE_CONF:
        api_exec_WAIT_DURABLE_CONF(client, peer, words);
        break;
    case GSN_WAIT_DURABLE_REF:
        api_exec_WAIT_DURABLE_REF(client, peer, words);
        break;
    default:
        api_exec_dict(client, peer, words);
        break;
    }
}

void api_client_flush(struct api_client *client)
{
    if (client->go_on) api_scan_go_on(client);
}

void api_client_link_down(struct api_client *client, uint32_t peer, uint32_t epoch)
{
    api_tx_link_down(client, peer); /* Notes that rows may be lost, before anything completes. */
    api_scan_link_down(client, peer);
    api_connect_link_down(client, peer, epoch);
    api_dict_link_down(client, peer, epoch);
    api_durable_link_down(client, peer);
    api_client_flush(client);
}
