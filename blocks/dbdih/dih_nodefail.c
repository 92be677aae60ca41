/* dih_nodefail.c -- members are lost and the others go on: epochs wait for what is taken over, and
 * get a new master. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "blocks/dbdih/dih_state.h"

void dih_fail_reset(struct dih *dih)
{
    memset(&dih->fail, 0, sizeof(dih->fail));
}

bool dih_taken_over(const struct dih *dih)
{
    const struct dih_fail *fail = &dih->fail;
    if (fail->failure_no == 0) return true;
    for (uint32_t node = node_mask_next(&dih->members, 0); node != 0;
         node = node_mask_next(&dih->members, node)) {
        if (fail->taken_no[node] < fail->failure_no) return false;
    }
    return true;
}

/* --- What every node does. --- */

static void answer_state(struct dih *dih, uint32_t receiver)
{
    const struct gcp_node *node = &dih->gcp_node;
    bool prepares = node->state == GCPN_HOLDING || node->state == GCPN_HELD;
    struct gcp_state_conf conf = {.incarnation = dih->incarnation,
                                  .failure_no = dih->fail.failure_no,
                                  .gci_hi = node->gci_hi,
                                  .gci_lo = node->gci_lo,
                                  .old_hi = node->old_hi,
                                  .old_lo = node->old_lo,
                                  .next_hi = prepares ? node->next_hi : 0,
                                  .next_lo = prepares ? node->next_lo : 0,
                                  .durable = node->durable};
    sig_send(&dih->block, receiver, GSN_GCP_STATE_CONF, PRIO_A, &conf);
}

/* The sender may have heard of the failure earlier than we have. */
void dih_exec_GCP_STATE_REQ(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    const struct gcp_state_req *req = SIG_PAYLOAD(sig, gcp_state_req);
    if (!dih_of_this_life(dih, sig, req->incarnation) || ref_block(sig->sender) != BLOCK_DBDIH)
        return;
    if (req->failure_no > dih->fail.failure_no) {
        jam();
        dih->fail.asked_no = req->failure_no;
        dih->fail.asked_by = sig->sender;
        return;
    }
    jam();
    if (req->failure_no == dih->fail.failure_no) answer_state(dih, sig->sender);
}

static void tell_taken(struct dih *dih)
{
    struct gcp_takeover_rep rep = {.incarnation = dih->incarnation,
                                   .failure_no = dih->fail.failure_no};
    struct takeover_end_rep end = {.failure_no = dih->fail.failure_no};
    if (!node_mask_empty(&dih->fail.taking)) return;
    jam();
    sig_send(&dih->block, dih_local(dih, BLOCK_NDBCNTR), GSN_TAKEOVER_END_REP, PRIO_A, &end);
    sig_send(&dih->block, block_ref(dih->president, BLOCK_DBDIH, 0), GSN_GCP_TAKEOVER_REP, PRIO_A,
             &rep);
}

void dih_exec_TAKEOVER_END_REP(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct dih_fail *fail = &dih->fail;
    if (SIG_PAYLOAD(sig, takeover_end_rep)->failure_no != fail->failure_no) {
        jam();
        return;
    }
    node_mask_remove(&fail->taking, ref_instance(sig->sender));
    tell_taken(dih);
}

/* --- What the master does. --- */

void dih_exec_GCP_TAKEOVER_REP(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    const struct gcp_takeover_rep *rep = SIG_PAYLOAD(sig, gcp_takeover_rep);
    uint32_t node = ref_node(sig->sender);
    if (!dih_of_this_life(dih, sig, rep->incarnation)) return;
    jam_data(node);
    if (rep->failure_no > dih->fail.taken_no[node]) dih->fail.taken_no[node] = rep->failure_no;
    gcp_master_go_on(dih);
}

static bool greater(uint32_t hi, uint32_t lo, uint32_t than_hi, uint32_t than_lo)
{
    return hi > than_hi || (hi == than_hi && lo > than_lo);
}

static void ask_states(struct dih *dih)
{
    struct dih_fail *fail = &dih->fail;
    struct gcp_state_req req = {.incarnation = dih->incarnation, .failure_no = fail->failure_no};
    jam_data(fail->failure_no);
    fail->states_due = dih->members;
    memset(&fail->newest, 0, sizeof(fail->newest));
    memset(&fail->prepared, 0, sizeof(fail->prepared));
    fail->durable = 0;
    fail->apart = false;
    signal_broadcast(&dih->block, &dih->members, BLOCK_DBDIH, GSN_GCP_STATE_REQ, PRIO_A, &req,
                     sizeof(req) / 4u, NULL, 0);
}

/* No node is more than one epoch away from another. */
static bool state_possible(const struct dih *dih, const struct gcp_state_conf *conf)
{
    const struct gcp_node *own = &dih->gcp_node;
    uint32_t life = epoch_life(own->gci_lo);
    if (conf->gci_hi == 0 || epoch_life(conf->gci_lo) != life) return false;
    if (conf->gci_hi - own->gci_hi > 1u && own->gci_hi - conf->gci_hi > 1u) return false;
    if (conf->old_hi > conf->gci_hi || conf->gci_hi - conf->old_hi > 1u) return false;
    if (conf->durable >= conf->gci_hi) return false;
    if (conf->next_hi == 0) return true;
    return conf->next_hi - conf->gci_hi <= 1u && epoch_life(conf->next_lo) == life;
}

void dih_exec_GCP_STATE_CONF(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct dih_fail *fail = &dih->fail;
    const struct gcp_state_conf *conf = SIG_PAYLOAD(sig, gcp_state_conf);
    uint32_t node = ref_node(sig->sender);
    if (!dih_of_this_life(dih, sig, conf->incarnation) || conf->failure_no != fail->failure_no ||
        !node_mask_has(&fail->states_due, node)) {
        jam();
        return;
    }
    if (!state_possible(dih, conf)) {
        dih_protocol_error(dih, sig->sender, "a state that cannot be");
        return;
    }
    bool newer = greater(conf->gci_hi, conf->gci_lo, fail->newest.gci_hi, fail->newest.gci_lo);
    bool same = conf->gci_hi == fail->newest.gci_hi && conf->gci_lo == fail->newest.gci_lo;
    if (fail->newest.gci_hi != 0 && !same) fail->apart = true;
    if (newer) fail->newest = *conf;
    if (greater(conf->next_hi, conf->next_lo, fail->prepared.next_hi, fail->prepared.next_lo))
        fail->prepared = *conf;
    if (conf->durable > fail->durable) fail->durable = conf->durable;
    node_mask_remove(&fail->states_due, node);
    if (!node_mask_empty(&fail->states_due)) return;
    jam();
    gcp_master_take(dih, &fail->newest, &fail->prepared, fail->durable, fail->apart);
}

/* --- The loss. --- */

void dih_exec_NODE_LOST_REP(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct dih_fail *fail = &dih->fail;
    const struct node_lost_rep *rep = SIG_PAYLOAD(sig, node_lost_rep);
    bool new_master = node_mask_has(&rep->nodes, dih->president);
    bool taking = !node_mask_empty(&fail->states_due); /* The last new master was us. */
    ndbrequire(rep->failure_no > fail->failure_no);    /* I-FAIL-1 */
    jam_data(rep->failure_no);
    fail->failure_no = rep->failure_no;
    dih->president = rep->president;
    dih->members = rep->alive;
    node_mask_keep(&dih->alike, &dih->members);
    memset(&fail->taking, 0, sizeof(fail->taking));
    for (uint32_t i = 1; i <= block_instances(block, BLOCK_DBTC); i++)
        node_mask_add(&fail->taking, i);
    dih_include_lost(dih, &rep->nodes, new_master || taking);
    lcp_node_lost(dih, &rep->nodes);
    if (fail->asked_no == fail->failure_no) answer_state(dih, fail->asked_by);
    if (dih->president != dih_own(dih)) return;
    if (new_master || taking) {
        jam();
        lcp_master_take(dih);
        ask_states(dih);
        return;
    }
    jam();
    lcp_master_lost(dih, &rep->nodes);
    gcp_master_lost(dih, &rep->nodes);
}
