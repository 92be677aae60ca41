/* tc_check.c -- DBTC's invariants over all records; between signals, by the simulator and before a
 * trace. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/epoch/tc_wait.h"
#include "blocks/dbtc/key/tc_commit.h"
#include "blocks/dbtc/key/tc_connect.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "blocks/dbtc/scan/tc_scan.h"
#include "blocks/dbtc/schema/tc_table.h"
#include "blocks/dbtc/unique/tc_lookup.h"
#include "signals/dict.h"
#include "signals/gcp.h"

static void check_trans(struct tc *tc, const struct tc_trans *trans)
{
    uint32_t count = 0;
    uint32_t preparing = 0;
    uint32_t sent = 0;
    int32_t fires = 0;
    uint32_t previous = REF_NONE;
    bool cursor_seen = trans->cursor == REF_NONE;
    for (uint32_t ref = trans->op_first; ref != REF_NONE;) {
        const struct tc_op *op = tc_op_get(tc, ref);
        ndbrequire(op->trans == trans->pool.ref && op->previous == previous);
        ndbrequire(op->table_id < tc->table_count && tc->table[op->table_id] != NULL);
        if (op->state == OP_PREPARING || op->state == OP_PREPARING_ABORT) preparing++;
        if (op->state == OP_COMMITTING || op->state == OP_COMPLETING || op->state == OP_ABORTING)
            sent++;
        ndbrequire(op->lookup == REF_NONE || (op->flags & OP_LOOKUP) != 0);
        fires += op->fires;
        ndbrequire(op->fires == 0 || (op->flags & OP_COPY) == 0); /* I-TC-9 */
        if (ref == trans->cursor) cursor_seen = true;
        count++;
        previous = ref;
        ref = op->next;
    }
    ndbrequire(cursor_seen);
    ndbrequire(trans->op_last == previous && trans->op_count == count);
    ndbrequire(trans->outstanding == preparing && trans->waiting == sent); /* I-TC-3 */
    ndbrequire(trans->fires == fires);                                     /* I-TC-9 */
    ndbrequire(fires == 0 || trans->state == TRANS_STARTED || trans->state == TRANS_ABORTING);
    ndbrequire((trans->connect == REF_NONE) ==
               (trans->state == TRANS_COMPLETING)); /* I-TC-5: answered, on its own. */
    if (trans->connect != REF_NONE)
        ndbrequire(tc_connect_get(tc, trans->connect)->trans == trans->pool.ref);
}

static void check_scan(struct tc *tc, const struct tc_scan *scan)
{
    uint32_t count = 0;
    for (uint32_t ref = scan->frag_first; ref != REF_NONE;) {
        const struct tc_frag *frag = pool_find(&tc->frags, ref);
        ndbrequire(frag != NULL && frag->scan == scan->pool.ref);
        count++;
        ref = frag->next;
    }
    ndbrequire(count == scan->frag_count && count <= scan->parallelism);
    ndbrequire(tc_connect_get(tc, scan->connect)->scan == scan->pool.ref);
}

/* I-GCP-2: a transaction that commits is counted under its epoch, or waits in the queue. */
static void check_epochs(struct tc *tc)
{
    uint32_t committing = 0;
    uint32_t committing_old = 0;
    uint32_t held = 0;
    for (const struct tc_trans *t = pool_next(&tc->transactions, 0); t != NULL;
         t = pool_next(&tc->transactions, pool_index(t->pool.ref))) {
        if (t->state != TRANS_COMMITTING) continue;
        if (t->gci_hi == 0)
            held++;
        else if (t->gci_hi == tc->epoch_hi && t->gci_lo == tc->epoch_lo)
            committing++;
        else
            committing_old++;
    }
    ndbrequire(committing == tc->epoch.committing && committing_old == tc->epoch.committing_old);
    for (uint32_t ref = tc->epoch.held_first; ref != REF_NONE; held--) {
        const struct tc_trans *trans = tc_trans_get(tc, ref);
        ndbrequire(held > 0 && trans->state == TRANS_COMMITTING && trans->gci_hi == 0);
        ref = trans->held_next;
    }
    ndbrequire(held == 0);
}

/* I-TC-4: a table's users are exactly the operations and scans that name it. */
static void check_users(struct tc *tc)
{
    uint64_t users = 0;
    for (uint32_t i = 0; i < tc->table_count; i++) {
        const struct tc_table *table = tc->table[i];
        if (table == NULL) continue;
        ndbrequire(table->table_id == i);
        ndbrequire(table->drop_sender == 0 || (table->state == TABLE_DROPPING && table->users > 0));
        users += table->users;
    }
    ndbrequire(users == (uint64_t)tc->operations.in_use + tc->scans.in_use);
}

/* Each belongs to an operation that waits for its row's key, each segment to one of them. */
static void check_lookups(struct tc *tc)
{
    uint32_t lookups = 0;
    uint32_t segments = 0;
    for (const struct tc_op *op = pool_next(&tc->operations, 0); op != NULL;
         op = pool_next(&tc->operations, pool_index(op->pool.ref)))
        lookups += op->lookup != REF_NONE;
    for (const struct tc_lookup *lookup = pool_next(&tc->lookups, 0); lookup != NULL;
         lookup = pool_next(&tc->lookups, pool_index(lookup->pool.ref)))
        segments += (lookup->attr_words + TC_SEGMENT_WORDS - 1u) / TC_SEGMENT_WORDS;
    ndbrequire(lookups == tc->lookups.in_use && segments == tc->segments.in_use);
}

static void check_transactions(struct tc *tc)
{
    uint32_t operations = 0;
    uint32_t completing = 0;
    for (struct tc_trans *t = pool_next(&tc->transactions, 0); t != NULL;
         t = pool_next(&tc->transactions, pool_index(t->pool.ref))) {
        check_trans(tc, t);
        operations += t->op_count;
        if (t->state == TRANS_COMPLETING) completing++;
    }
    ndbrequire(operations == tc->operations.in_use && completing == tc->completing);
    ndbrequire(tc->transactions.in_use - completing <= tc->active_max); /* I-TC-7 */
}

static void check_scans(struct tc *tc)
{
    uint32_t frags = 0;
    uint32_t programs = 0;
    uint32_t ranges = 0;
    for (struct tc_scan *s = pool_next(&tc->scans, 0); s != NULL;
         s = pool_next(&tc->scans, pool_index(s->pool.ref))) {
        check_scan(tc, s);
        frags += s->frag_count;
        programs += s->program != REF_NONE;
        ranges += s->range != REF_NONE;
    }
    ndbrequire(frags == tc->frags.in_use && programs == tc->scan_programs.in_use);
    ndbrequire(ranges == tc->scan_ranges.in_use);
}

/* Compares the counts of what the clients of each node have with their records. */
static void check_clients(struct tc *tc)
{
    uint32_t connects[NODE_ID_MAX + 1] = {0};
    uint32_t waits[NODE_ID_MAX + 1] = {0};
    uint32_t waiting = 0;
    for (struct tc_connect *c = pool_next(&tc->connects, 0); c != NULL;
         c = pool_next(&tc->connects, pool_index(c->pool.ref))) {
        ndbrequire(c->trans == REF_NONE || c->scan == REF_NONE);
        ndbrequire(c->durable_gci == 0 || (c->trans == REF_NONE && c->scan == REF_NONE));
        if (c->durable_gci != 0) waiting++;
        connects[ref_node(c->owner)]++;
    }
    ndbrequire(waiting == tc->epoch.waiting);
    for (const struct tc_wait *t = pool_next(&tc->waits, 0); t != NULL;
         t = pool_next(&tc->waits, pool_index(t->pool.ref)))
        waits[ref_node(t->owner)]++;
    for (uint32_t node = 0; node <= NODE_ID_MAX; node++)
        ndbrequire(connects[node] == tc->connects_of[node] && waits[node] == tc->waits_of[node]);
}

void tc_check(struct block *block)
{
    struct tc *tc = tc_of(block);
    if (tc->table == NULL) return; /* It is not configured yet. */

    check_transactions(tc);
    check_lookups(tc);
    check_epochs(tc);
    check_scans(tc);
    check_clients(tc);
    for (uint32_t i = 0; i < TC_TRAINS; i++)
        ndbrequire(tc->trains[i].count == 0 || tc->trains_sent); /* I-TC-6 */
    check_users(tc);
}
