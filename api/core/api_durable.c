/* api_durable.c -- waiting until an epoch is durable: any coordinator knows, so a lost one is
 * replaced by another. */
/* SPDX-License-Identifier: MIT */
/*
 * An epoch names the life of the cluster that it belongs to, and coordinators know how former lives
 * ended; so it may be asked for at any time, even when all data nodes were lost meanwhile.
 */
#include "api/core/api_durable_state.h"
#include "signals/durable.h"
#include "signals/gcp.h"

#define RETRY_MS 20u

/* ---- What is known of epochs. ---- */

/* Life and GCI of the newest that was heard of. */
static uint64_t known(uint64_t epoch)
{
    return (uint64_t)epoch_life((uint32_t)epoch) << 32 | epoch >> 32;
}

void api_epoch_known(struct api_core *core, uint64_t epoch)
{
    uint64_t value = known(epoch);
    uint64_t old = atomic_load_explicit(&core->epoch_durable, memory_order_relaxed);
    while ((old >> 32 != value >> 32 || old < value) &&
           !atomic_compare_exchange_weak(&core->epoch_durable, &old, value))
        continue;
}

bool api_epoch_is_durable(const struct api_client *client, uint64_t epoch)
{
    uint64_t newest = atomic_load(&client->core->epoch_durable);
    return newest != 0 && newest >> 32 == known(epoch) >> 32 && newest >= known(epoch);
}

/* ---- Requests. ---- */

static void complete(struct api_durable *wait, uint32_t error)
{
    api_durable_done done = wait->done;
    void *context = wait->context;
    api_durable_end(wait);
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

struct api_durable *api_durable_begin(struct api_client *client, uint64_t epoch,
                                      uint32_t timeout_ms, api_durable_done done, void *context)
{
    struct api_durable *wait = api_pool_seize(&client->durables);
    if (wait == NULL) return NULL;
    struct api_record record = wait->record;
    *wait = (struct api_durable){
        .record = record, .client = client, .epoch = epoch, .done = done, .context = context};
    wait->deadline_ms = api_deadline(client, timeout_ms);
    client->pending++;
    send_request(wait);
    return wait;
}

void api_durable_end(struct api_durable *wait)
{
    wait->client->pending--;
    api_pool_release(&wait->client->durables, wait);
}

uint32_t api_wait_durable(struct api_client *client, uint64_t epoch, uint32_t timeout_ms,
                          api_durable_done done, void *context)
{
    if (epoch == 0) return ERR_PARAMETER;
    return api_durable_begin(client, epoch, timeout_ms, done, context) == NULL ? ERR_API_MEMORY : 0;
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
    api_epoch_known(client->core, wait->epoch);
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
    for (uint32_t index = 0; (wait = api_pool_next(&client->durables, index)) != NULL;) {
        index = wait->record.index;
        if (wait->node != peer) continue;
        client->statistics.retries++;
        send_request(wait);
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
