/* api_outcome.c -- asks the cluster what has become of a commit that was not answered. */
/* SPDX-License-Identifier: MIT */
/*
 * The coordinator is asked while there is a link to it: over it the question comes behind the
 * transaction. Else any node: it passes the question on to the one that has taken over. Until it is
 * decided the answer is a temporary error, and the question is put again.
 *
 * The nodes remember only the newest commits, and are asked whether they would know of one that is
 * so old as this transaction. While a question is on its way they forget: so it is put as if the
 * transaction were older, and that it was not committed counts only if it is heard soon enough. The
 * next tick looks, because the time of the last one may be long ago when an answer comes.
 */
#include "api/core/api_transaction.h"
#include "signals/outcome.h"

#define AGAIN_MS    5u   /* After a temporary error. */
#define SILENT_MS   50u  /* After no answer; so long an answer counts... */
#define LATE_MAX_MS 400u /* ...or up to this, if answers take longer. */

static bool is_asking(const struct api_tx *tx)
{
    return tx->doubt || tx->state == TX_ASKING;
}

static void ask_at(struct api_tx *tx, uint64_t at_ms)
{
    tx->ask_ms = at_ms;
    api_wake_at(tx->client, at_ms);
}

static void ask(struct api_tx *tx)
{
    struct api_client *client = tx->client;
    struct api_core *core = client->core;
    uint32_t node = api_core_node_ready(core, tx->node) ? tx->node : api_any_node(client);
    uint32_t tc = tx->tc_ref;
    uint64_t until_ms = client->now_ms + tx->ask_wait_ms;
    struct outcome_req req = {.sender_data = (uint32_t)until_ms,
                              .transid1 = (uint32_t)tx->transid,
                              .transid2 = (uint32_t)(tx->transid >> 32),
                              .tc_ref = tx->tc_ref,
                              .age_ms = (uint32_t)(until_ms - tx->begin_ms) + AGAIN_MS};
    if (node != 0 && node != tx->node) {
        uint32_t count = atomic_load(&core->node[node].tc_count);
        tc = block_ref(node, BLOCK_DBTC, 1 + client->turn % (count == 0 ? 1 : count));
    }
    if (node != 0) (void)api_send_small(client, node, GSN_OUTCOME_REQ, tc, &req, sizeof req / 4u);
    ask_at(tx, client->now_ms + SILENT_MS);
}

static void ask_first(struct api_tx *tx)
{
    tx->ask_wait_ms = SILENT_MS;
    tx->denied_ms = 0;
    ask(tx);
}

void api_outcome_doubt(struct api_tx *tx)
{
    ask_first(tx);
}

uint32_t api_tx_ask(struct api_tx *tx, uint32_t timeout_ms, api_tx_done done, void *context)
{
    if (tx->state != TX_IDLE || tx->outcome != API_UNKNOWN) return ERR_API_STATE;
    tx->state = TX_ASKING;
    tx->done = done;
    tx->context = context;
    tx->deadline_ms = api_deadline(tx->client, timeout_ms);
    tx->client->pending++;
    tx->client->statistics.transactions_unknown--;
    ask_first(tx);
    return 0;
}

/* Somebody has said that it was not committed; true when that ends the transaction. */
static bool denied(struct api_tx *tx)
{
    bool late = tx->client->now_ms > tx->denied_ms;
    if (tx->denied_ms == 0) return false;
    tx->denied_ms = 0;
    if (!late) {
        api_tx_was_aborted(tx);
        return true;
    }
    if (tx->ask_wait_ms < LATE_MAX_MS) tx->ask_wait_ms *= 2u;
    tx->ask_ms = tx->client->now_ms;
    return false;
}

void api_outcome_tick(struct api_client *client)
{
    struct api_walk walk;
    struct api_tx *tx;
    api_walk_begin(client, &walk);
    while ((tx = api_walk_next(client, &walk)) != NULL) {
        if (!is_asking(tx) || denied(tx)) continue; /* Ended: perhaps closed by now. */
        if (tx->ask_ms <= client->now_ms) ask(tx);
        api_wake_at(client, tx->ask_ms);
    }
}

static struct api_tx *asking_tx(struct api_client *client, uint32_t transid1, uint32_t transid2)
{
    struct api_tx *tx = api_tx_find(client, (uint64_t)transid2 << 32 | transid1);
    if (tx != NULL && is_asking(tx)) return tx;
    api_late(client);
    return NULL;
}

void api_exec_OUTCOME_CONF(struct api_client *client, const uint32_t *words)
{
    const struct outcome_conf *conf = (const void *)(words + SIGNAL_HEAD_WORDS);
    struct api_tx *tx = asking_tx(client, conf->transid1, conf->transid2);
    if (tx == NULL) return;
    if (conf->committed != 0) {
        api_tx_was_committed(tx, (uint64_t)conf->gci_hi << 32 | conf->gci_lo);
        return;
    }
    tx->denied_ms =
        client->now_ms + (uint64_t)(int32_t)(conf->sender_data - (uint32_t)client->now_ms);
    api_wake_at(client, client->now_ms);
}

void api_exec_OUTCOME_REF(struct api_client *client, const uint32_t *words)
{
    const struct outcome_ref *ref = (const void *)(words + SIGNAL_HEAD_WORDS);
    struct api_tx *tx = asking_tx(client, ref->transid1, ref->transid2);
    if (tx == NULL) return;
    if (error_status(ref->error) == ERROR_STATUS_TEMPORARY)
        ask_at(tx, client->now_ms + AGAIN_MS);
    else
        api_tx_is_unknown(tx);
}
