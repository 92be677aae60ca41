/* api_durable.c -- waiting until an epoch is durable: any coordinator knows, so a lost one is
 * replaced by another. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An epoch is a number in one life of the cluster. When the last data node is lost a cluster that
 * comes back may have rolled back to an older epoch and give the same numbers to other commits. So
 * the core remembers what epochs it has seen until then: nobody can say of those what they mean
 * now.
 */
#include "api/api_state.h"
#include "signals/durable.h"

#define RETRY_MS 20u

static void raise_to(_Atomic uint64_t *to, uint64_t value)
{
    uint64_t old = atomic_load_explicit(to, memory_order_relaxed);
    while (old < value && !atomic_compare_exchange_weak(to, &old, value))
        continue;
}

/* ---- What is known of epochs. ---- */

void api_epoch_seen(struct api_client *client, uint64_t epoch, bool durable)
{
    struct api_core *core = client->core;
    raise_to(&core->epoch_seen, epoch);
    if (durable) raise_to(&core->epoch_durable, epoch | UINT32_MAX);
    /* An answer that was received before the loss and is read after it. */
    if (client->life != atomic_load_explicit(&core->life, memory_order_relaxed))
        raise_to(&core->epoch_lost, epoch);
}

void api_epoch_link_down(struct api_core *core)
{
    struct node_mask ready = api_core_ready(core);
    if (!node_mask_empty(&ready)) return;
    atomic_fetch_add(&core->life, 1);
    raise_to(&core->epoch_lost, atomic_load(&core->epoch_seen));
}

bool api_epoch_is_durable(const struct api_client *client, uint64_t epoch)
{
    return epoch <= atomic_load(&client->core->epoch_durable);
}

static bool is_lost(const struct api_client *client, uint64_t epoch)
{
    return epoch <= atomic_load(&client->core->epoch_lost) && !api_epoch_is_durable(client, epoch);
}

/* ---- Requests. ---- */

static void complete(struct api_durable *wait, uint32_t error)
{
    struct api_client *client = wait->client;
    api_durable_done done = wait->done;
    void *context = wait->context;
    client->pending--;
    api_pool_release(&client->durables, wait);
    done(context, error);
}

static void retry_later(struct api_durable *wait)
{
    wait->node = 0;
    wait->retry_ms = wait->client->now_ms + RETRY_MS;
    api_wake_at(wait->client, wait->retry_ms);
}

static void send_request(struct api_durable *wait)
{
    struct api_client *client = wait->client;
    uint32_t node = api_any_node(client);
    struct wait_durable_req req = {.sender_data = wait->record.ref,
                                   .gci_hi = (uint32_t)(wait->epoch >> 32),
                                   .gci_lo = (uint32_t)wait->epoch};
    if (node != 0) {
        uint32_t count = atomic_load(&client->core->node[node].tc_count);
        uint32_t tc = block_ref(node, BLOCK_DBTC, 1 + client->turn % (count == 0 ? 1 : count));
        if (api_send_small(client, node, GSN_WAIT_DURABLE_REQ, tc, &req, sizeof req / 4u)) {
            wait->node = node;
            return;
        }
    }
    retry_later(wait);
}

uint32_t api_wait_durable(struct api_client *client, uint64_t epoch, uint32_t timeout_ms,
                          api_durable_done done, void *context)
{
    if (epoch == 0) return ERR_PARAMETER;
    if (is_lost(client, epoch)) return ERR_CLUSTER_FAILURE;
    struct api_durable *wait = api_pool_seize(&client->durables);
    if (wait == NULL) return ERR_API_MEMORY;
    struct api_record record = wait->record;
    *wait = (struct api_durable){
        .record = record, .client = client, .epoch = epoch, .done = done, .context = context};
    wait->deadline_ms = api_deadline(client, timeout_ms);
    client->pending++;
    send_request(wait);
    return 0;
}

/* The one that this is the answer of, or NULL. */
static struct api_durable *answered(struct api_client *client, uint32_t peer, uint32_t ref)
{
    struct api_durable *wait = api_pool_find(&client->durables, ref);
    if (wait != NULL && wait->node == peer) return wait;
    api_late(client);
    return NULL;
}

void api_exec_WAIT_DURABLE_CONF(struct api_client *client, uint32_t peer, const uint32_t *words)
{
    const struct wait_durable_conf *conf = (const void *)(words + SIGNAL_HEAD_WORDS);
    struct api_durable *wait = answered(client, peer, conf->sender_data);
    if (wait == NULL) return;
    if (conf->durable_gci < wait->epoch >> 32) {
        complete(wait, ERR_REPLY_4215);
        return;
    }
    raise_to(&client->core->epoch_durable, (uint64_t)conf->durable_gci << 32 | UINT32_MAX);
    complete(wait, 0);
}

/* A node that is about to stop, or short of records, is not the last word. */
void api_exec_WAIT_DURABLE_REF(struct api_client *client, uint32_t peer, const uint32_t *words)
{
    const struct wait_durable_ref *ref = (const void *)(words + SIGNAL_HEAD_WORDS);
    struct api_durable *wait = answered(client, peer, ref->sender_data);
    if (wait == NULL) return;
    if (error_status(ref->error) == ERROR_STATUS_TEMPORARY)
        retry_later(wait);
    else
        complete(wait, ref->error == 0 ? ERR_REPLY_4215 : ref->error);
}

void api_durable_link_down(struct api_client *client, uint32_t peer)
{
    struct api_durable *wait;
    client->life = atomic_load(&client->core->life);
    for (uint32_t index = 0; (wait = api_pool_next(&client->durables, index)) != NULL;) {
        index = wait->record.index;
        if (is_lost(client, wait->epoch)) {
            complete(wait, ERR_CLUSTER_FAILURE);
        } else if (wait->node == peer) {
            client->statistics.retries++;
            send_request(wait);
        }
    }
}

void api_durable_expire(struct api_client *client)
{
    struct api_durable *wait;
    for (uint32_t index = 0; (wait = api_pool_next(&client->durables, index)) != NULL;) {
        index = wait->record.index;
        if (wait->deadline_ms <= client->now_ms) {
            client->statistics.timeouts++;
            complete(wait, ERR_REQUEST_TIMEOUT);
            continue;
        }
        if (wait->node == 0 && wait->retry_ms <= client->now_ms) send_request(wait);
        if (wait->node == 0) api_wake_at(client, wait->retry_ms);
        api_wake_at(client, wait->deadline_ms);
    }
}

void api_durable_drop_all(struct api_client *client)
{
    struct api_durable *wait;
    while ((wait = api_pool_next(&client->durables, 0)) != NULL)
        api_pool_release(&client->durables, wait);
}
