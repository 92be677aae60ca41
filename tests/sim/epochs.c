/* epochs.c -- what must hold of epochs: per node, per row, per transaction, and between what
 * clients saw one after the other. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "blocks/dbdih/dih_state.h"
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/key/lqh_op.h"
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "values/errors.h"
#include "signals/gcp.h"
#include "tests/sim/failures.h"

static uint64_t epoch_of(uint32_t hi, uint32_t lo)
{
    return (uint64_t)hi << 32 | lo;
}

/* --- Clients: a commit asked for after another one was answered has no older epoch. --- */

void epochs_begin(struct session *session, enum api_execute type, api_tx_done done)
{
    session->done = done;
    session->commits = type == API_COMMIT || type == API_COMMIT_DURABLE;
    session->durable = type == API_COMMIT_DURABLE;
    /* Until all has been read after a loss of the cluster, GCIs that were answered come again. */
    bool down = session->client->run->durability.down;
    session->epoch_floor = down ? 0 : session->client->run->epochs.acked;
}

/* A commit that asked for the disk is answered when every system file says that its GCI is
 * restorable. */
static void check_durable(struct run *run, const struct session *session, const struct api_tx *tx)
{
    uint32_t gci = (uint32_t)(api_tx_epoch(tx) >> 32);
    bool durable = api_tx_durable(tx);
    if (run->durability.down) { /* Told on the way: nodes may be on their way back already. */
        if (durable && !durability_late(run) && gci > run->durability.promised)
            run->durability.promised = gci;
        return;
    }
    /* Whoever had to ask what has become of it knows no more than that it was committed. */
    if (!durable &&
        (run->swarm.failures || (run->swarm.faults & (FAULT_CUT | FAULT_KILL | FAULT_STALL)) != 0))
        return;
    for (uint32_t i = 0; durable && i < run->swarm.data_nodes; i++) {
        struct node *node = sim_node(run->world, data_node_id(run, i));
        if (node == NULL) continue;
        if (run->swarm.failures && !failures_stays(run, data_node_id(run, i))) continue;
        const struct dih *dih = (const struct dih *)(const void *)node_block(node, BLOCK_DBDIH, 0);
        durable = dih->sysfile.now.gci >= gci;
    }
    run->epochs.durable++;
    if (gci > run->durability.promised && durable) run->durability.promised = gci;
    if (!durable)
        run_fail(run, SIM_CORRECTNESS,
                 "session %u: a commit of GCI %u is not durable as it was asked to be", session->no,
                 gci);
}

/* What was answered before a table goes survives what its end survives: rows of it may have been
 * copied elsewhere. */
void epochs_table_goes(struct session *session)
{
    const struct run *run = session->client->run;
    session->epoch_floor = run->durability.down ? 0 : run->epochs.acked;
}

void epochs_table_gone(struct session *session)
{
    struct run *run = session->client->run;
    uint32_t gci = (uint32_t)(session->epoch_floor >> 32);
    if (run->swarm.disk && !run->durability.down && gci > run->durability.promised)
        run->durability.promised = gci;
}

/* Keeps of every GCI the newest commit that is not known to be on the disks yet. */
static void keep(struct run *run, uint64_t epoch)
{
    struct epochs *epochs = &run->epochs;
    struct epoch_kept *last = &epochs->kept[(epochs->kept_count - 1u) % EPOCHS_KEPT];
    if (!run->swarm.disk || run->durability.down) return;
    if (epochs->kept_count == 0 || last->fate != EPOCH_OPEN || last->epoch >> 32 != epoch >> 32)
        last = &epochs->kept[epochs->kept_count++ % EPOCHS_KEPT];
    *last = (struct epoch_kept){epoch, EPOCH_OPEN};
}

/* The cluster was lost and is back: for each epoch of its former lives it says what became of it,
 * and says the same after the next loss. */
bool epochs_ask(struct run *run, struct session *session)
{
    struct epochs *epochs = &run->epochs;
    static const uint32_t answers[] = {0, 0, ERR_EPOCH_LOST};
    uint32_t count = epochs->kept_count < EPOCHS_KEPT ? epochs->kept_count : EPOCHS_KEPT;
    for (uint32_t i = 0; i < count; i++) {
        struct epoch_kept *kept = &epochs->kept[i];
        uint32_t gci = (uint32_t)(kept->epoch >> 32);
        uint32_t error;
        if (kept->fate == EPOCH_OPEN)
            kept->fate = gci <= run->durability.recovered ? EPOCH_RESTORED : EPOCH_GONE;
        if (!run_ask_epoch(run, session, kept->epoch, &error)) return false;
        epochs->asked[kept->fate]++;
        if (error == answers[kept->fate]) continue;
        run_fail(run, SIM_CORRECTNESS, /* I-SIM-8 */
                 "after the restart at GCI %u the answer for epoch %llx is %u, should be %u",
                 run->durability.recovered, (unsigned long long)kept->epoch, error,
                 answers[kept->fate]);
        return false;
    }
    return true;
}

void epochs_executed(void *context, struct api_tx *tx)
{
    struct session *session = context;
    struct run *run = session->client->run;
    if (session->commits && api_tx_outcome(tx) == API_COMMITTED) {
        uint64_t epoch = api_tx_epoch(tx);
        bool missing = epoch == 0 && session->writes;
        if (missing || (epoch != 0 && epoch < session->epoch_floor))
            run_fail(run, SIM_CORRECTNESS,
                     "session %u: a transaction has epoch %llx after one of %llx was answered",
                     session->no, (unsigned long long)epoch,
                     (unsigned long long)session->epoch_floor);
        if (epoch > run->epochs.acked) run->epochs.acked = epoch;
        if (epoch != 0) keep(run, epoch);
        if (session->durable && session->writes) check_durable(run, session, tx);
    }
    session->done(session, tx);
}

/* --- Nodes. --- */

static void node_epoch(struct run *run, uint32_t node, const struct gcp_commit *commit)
{
    uint64_t *last = &run->epochs.node[node];
    uint64_t epoch = epoch_of(commit->gci_hi, commit->gci_lo);
    /* A new master repeats what the former one may have said to some only; without a loss DIH
     * itself takes no epoch twice. */
    if (epoch < *last)
        run_fail(run, SIM_CORRECTNESS, "node %u: epoch %llx after %llx", node,
                 (unsigned long long)epoch, (unsigned long long)*last);
    if (epoch > *last) run->epochs.begun++;
    *last = epoch;
}

/* --- Rows: the replicas' commits, entry by entry. --- */

static void row_epoch(struct run *run, uint32_t node, const struct lqh_op *op, uint64_t epoch)
{
    if (op->change == REF_NONE) return;
    uint64_t key = (uint64_t)op->hash << 32 ^ (uint64_t)op->table_id << 20 ^
                   (uint64_t)op->fragment_id << 8 ^ node;
    struct row_epoch *row = &run->epochs.row[(key * 0x9E3779B97F4A7C15u) >> (64 - EPOCH_ROWS_BITS)];
    if (row->key == key && epoch < row->epoch)
        run_fail(run, SIM_CORRECTNESS, "node %u: a row of table %u gets epoch %llx after %llx",
                 node, op->table_id, (unsigned long long)epoch, (unsigned long long)row->epoch);
    row->key = key;
    row->epoch = epoch;
}

static void one_commit(struct run *run, uint32_t node, struct lqh *lqh,
                       const struct commit_train *commit, const uint32_t *entry)
{
    uint64_t epoch = epoch_of(commit->gci_hi, commit->gci_lo);
    struct node *tc_node = sim_node(run->world, ref_node(commit->tc_ref));
    struct lqh_op *op = pool_find(&lqh->operations, entry[0]);
    if (op == NULL || tc_node == NULL) return;
    row_epoch(run, node, op, epoch);
    struct tc *tc =
        (struct tc *)(void *)node_block(tc_node, BLOCK_DBTC, ref_instance(commit->tc_ref));
    const struct tc_op *tc_op = pool_find(&tc->operations, entry[1]);
    const struct tc_trans *trans =
        tc_op == NULL ? NULL : pool_find(&tc->transactions, tc_op->trans);
    if (trans == NULL || epoch == epoch_of(trans->gci_hi, trans->gci_lo)) return;
    /* A fenced node that wakes up executes what a former life of that TC has sent. */
    if (op->transid1 != trans->transid1 || op->transid2 != trans->transid2) return;
    run_fail(run, SIM_CORRECTNESS,
             "node %u: a row of a transaction of epoch %llx is committed with %llx", node,
             (unsigned long long)epoch_of(trans->gci_hi, trans->gci_lo), (unsigned long long)epoch);
}

static void commit_train(struct run *run, uint32_t node, const uint32_t *words)
{
    struct signal sig;
    struct node *data_node = sim_node(run->world, node);
    signal_open(&sig, words);
    if (data_node == NULL || sig.section_count != 1) return;
    struct lqh *lqh =
        (struct lqh *)(void *)node_block(data_node, BLOCK_DBLQH, ref_instance(sig.receiver));
    if (lqh == NULL) return;
    for (uint32_t at = 0; at + TRAIN_ENTRY_WORDS <= sig.section[0].size; at += TRAIN_ENTRY_WORDS)
        one_commit(run, node, lqh, SIG_PAYLOAD(&sig, commit_train), sig.section[0].words + at);
}

/* GCIs behind it are used once more. */
void epochs_restart(struct run *run, uint32_t gci)
{
    memset(run->epochs.row, 0, sizeof run->epochs.row);
    run->epochs.acked = epoch_of(gci, UINT32_MAX);
}

void epochs_observe(struct run *run, uint32_t node, const uint32_t *words)
{
    switch (kind_gsn(words[0])) {
    case GSN_CNTR_START_CONF:
        memset(run->epochs.row, 0, sizeof run->epochs.row);
        return;
    case GSN_MEMBERS_REP:
        run->epochs.node[node] = 0; /* Joined anew: nobody was started. */
        return;
    case GSN_GCP_COMMIT:
        tamper_epoch(run, node);
        if (run->tamper.on) return; /* Not what the node makes of it. */
        node_epoch(run, node, (const struct gcp_commit *)(const void *)(words + SIGNAL_HEAD_WORDS));
        return;
    case GSN_COMMIT:
        commit_train(run, node, words);
        return;
    default:
        return;
    }
}
