/* lqh_outcome.c -- the last transactions that have committed something here, for clients whose
 * answer got lost. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The newest stand in a ring, and are found by hash of the transaction id. What a new entry
 * replaces moves the horizon: of what is younger everything is known. A node that comes back knows
 * nothing from before it had its rows. See docs/protocols/client.md.
 */
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/key/lqh_op.h"
#include "blocks/dblqh/key/lqh_outcome.h"
#include "signals/outcome.h"

#define ENTRIES_MAX 65536u
#define ENTRIES_MIN 256u

struct lqh_outcome_entry {
    uint64_t time_ms;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t gci_hi;
    uint32_t gci_lo;
    uint32_t next; /* 1 + place of the next of the same hash, 0 = none. */
    uint32_t unused;
};

void lqh_outcome_init(struct lqh *lqh)
{
    const struct node_config *config = block_config(&lqh->block);
    struct lqh_outcome *outcome = &lqh->outcome;
    uint64_t room = (uint64_t)config->memory.pages_max[RG_TRANSACTION] * PAGE_SIZE_BYTES / 16u /
                    config->ldm_count;
    uint32_t size = ENTRIES_MAX;
    while (size > ENTRIES_MIN && size * sizeof(struct lqh_outcome_entry) > room)
        size /= 2u;
    outcome->size = size;
    outcome->entry =
        block_alloc(&lqh->block, RG_TRANSACTION, size * sizeof(struct lqh_outcome_entry));
    outcome->head = block_alloc(&lqh->block, RG_TRANSACTION, size * sizeof(uint32_t));
    lqh_outcome_forget(lqh);
}

void lqh_outcome_forget(struct lqh *lqh)
{
    lqh->outcome.horizon_ms = now_ms(&lqh->block);
}

static uint32_t *list_of(const struct lqh_outcome *outcome, uint32_t transid1, uint32_t transid2)
{
    uint32_t hash = (transid1 ^ transid2 * 0x9E3779B1u) * 0x85EBCA6Bu;
    return &outcome->head[hash >> 8 & (outcome->size - 1u)];
}

/* The oldest makes room. */
static void replace(struct lqh_outcome *outcome, uint32_t place)
{
    const struct lqh_outcome_entry *entry = &outcome->entry[place];
    uint32_t *at = list_of(outcome, entry->transid1, entry->transid2);
    while (*at != place + 1u) {
        ndbrequire(*at != 0);
        at = &outcome->entry[*at - 1u].next;
    }
    *at = entry->next;
    if (entry->time_ms > outcome->horizon_ms) outcome->horizon_ms = entry->time_ms;
}

void lqh_outcome_ahead(const struct lqh *lqh, const struct lqh_op *op)
{
    __builtin_prefetch(list_of(&lqh->outcome, op->transid1, op->transid2));
}

void lqh_outcome_note(struct lqh *lqh, const struct lqh_op *op)
{
    struct lqh_outcome *outcome = &lqh->outcome;
    uint32_t mask = outcome->size - 1u;
    const struct lqh_outcome_entry *last = &outcome->entry[(outcome->count - 1u) & mask];
    /* A transaction's operations come one after the other. */
    if (outcome->count > 0 && last->transid1 == op->transid1 && last->transid2 == op->transid2)
        return;
    uint32_t place = outcome->count & mask;
    if (outcome->count >= outcome->size) replace(outcome, place);
    uint32_t *list = list_of(outcome, op->transid1, op->transid2);
    outcome->entry[place] = (struct lqh_outcome_entry){.time_ms = now_ms(&lqh->block),
                                                       .transid1 = op->transid1,
                                                       .transid2 = op->transid2,
                                                       .gci_hi = op->gci_hi,
                                                       .gci_lo = op->gci_lo,
                                                       .next = *list};
    *list = place + 1u;
    outcome->count++;
    if (outcome->count == 2u * outcome->size) outcome->count = outcome->size; /* Never wraps. */
}

static const struct lqh_outcome_entry *find(const struct lqh_outcome *outcome, uint32_t transid1,
                                            uint32_t transid2)
{
    for (uint32_t at = *list_of(outcome, transid1, transid2); at != 0;) {
        const struct lqh_outcome_entry *entry = &outcome->entry[at - 1u];
        if (entry->transid1 == transid1 && entry->transid2 == transid2) return entry;
        at = entry->next;
    }
    return NULL;
}

void lqh_exec_OUTCOME_ASK_REQ(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct outcome_ask_req *req = SIG_PAYLOAD(sig, outcome_ask_req);
    const struct lqh_outcome_entry *entry = find(&lqh->outcome, req->transid1, req->transid2);
    if (!lqh_is_tc(sig->sender)) {
        lqh_protocol_error(lqh, sig->sender, "OUTCOME_ASK_REQ of what is no TC");
        return;
    }
    uint64_t known_ms = now_ms(block) - lqh->outcome.horizon_ms;
    struct outcome_ask_conf conf = {.sender_data = req->sender_data,
                                    .instances = block_instances(block, BLOCK_DBLQH),
                                    .covers = known_ms > req->age_ms ? 1u : 0u};
    if (entry != NULL) {
        jam();
        conf.committed = 1;
        conf.gci_hi = entry->gci_hi;
        conf.gci_lo = entry->gci_lo;
    }
    sig_send(block, sig->sender, GSN_OUTCOME_ASK_CONF, PRIO_B, &conf);
}
