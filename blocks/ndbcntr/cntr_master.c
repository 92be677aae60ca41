/* cntr_master.c -- the president's NDBCNTR: decides what the cluster starts with, and lets all
 * nodes pass a meeting point when the last one has come. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "blocks/ndbcntr/cntr_state.h"

static bool all_there(const struct cntr *cntr, uint32_t point)
{
    const struct node_mask *members = &cntr->members;
    for (uint32_t node = node_mask_next(members, 0); node != 0;
         node = node_mask_next(members, node)) {
        const struct cntr_peer *peer = &cntr->peer[node];
        if (peer->incarnation != cntr->incarnation || peer->point < point) return false;
    }
    return true;
}

/* --- The decision. --- */

void cntr_known_take(struct cntr *cntr, const struct section *list)
{
    for (uint32_t at = 0; at + KNOWN_WORDS <= list->size; at += KNOWN_WORDS) {
        struct cm_known_ord known;
        ndbrequire(cntr->known_count < DATA_NODE_ID_MAX && list->words[at] <= DATA_NODE_ID_MAX);
        memcpy(&known, &list->words[at + 1u], sizeof(known));
        jam_data(known.gci);
        cntr->known[cntr->known_count++] = (struct cntr_fact){.node = list->words[at],
                                                              .flags = CNTR_START_ASIDE,
                                                              .has_data = 1,
                                                              .gci = known.gci,
                                                              .incarnation = known.incarnation,
                                                              .members = known.members};
    }
}

static uint32_t collect(const struct cntr *cntr, struct cntr_fact *facts)
{
    uint32_t count = 0;
    for (uint32_t node = node_mask_next(&cntr->members, 0); node != 0;
         node = node_mask_next(&cntr->members, node)) {
        const struct cntr_peer *peer = &cntr->peer[node];
        const struct cntr_start_req *fact = &peer->fact;
        facts[count++] = (struct cntr_fact){
            .node = node,
            .flags = fact->flags,
            .has_data = fact->has_data,
            .gci = fact->gci,
            .incarnation = fact->data_incarnation,
            .ldm_data = fact->ldm_count,
            .ldm_now = peer->ldm_count,
            .schema = fact->schema_lo | (uint64_t)fact->schema_hi << 32,
            .members = fact->members,
        };
    }
    for (uint32_t i = 0; i < cntr->known_count; i++) {
        if (!node_mask_has(&cntr->members, cntr->known[i].node)) facts[count++] = cntr->known[i];
    }
    return count;
}

/* No node group is whole: the others may be started by themselves too (StartPartitionedTimeout),
 * before or after, from the same past. */
static bool is_partitioned(const struct cntr *cntr)
{
    uint32_t group_of[NODE_ID_MAX + 1];
    uint32_t groups = node_config_groups(block_config(&cntr->block), group_of);
    struct node_mask broken = {0};
    for (uint32_t node = 1; node <= DATA_NODE_ID_MAX; node++) {
        if (group_of[node] != NODEGROUP_NONE && !node_mask_has(&cntr->members, node))
            node_mask_add(&broken, group_of[node]);
    }
    return node_mask_count(&broken) == groups;
}

/*
 * Lives that do not know of each other must not have one number: QMGR's is random. They are those
 * of the parts of a cluster, and that of a cluster that begins anew, which others may still take
 * for the former one. All numbers that the parts may have drawn below ended where this one begins.
 * An epoch has 16 bits of the number, and those that are remembered must differ in them.
 */
#define LIVES_APART 256u
#define FIRST_LIVES 0x8000u
static void tell_lives_apart(struct cntr *cntr)
{
    struct cntr_decision *decision = &cntr->decision;
    if (decision->start_type == START_INITIAL) {
        jam();
        decision->incarnation += cntr->incarnation / 2u % FIRST_LIVES;
    } else if (is_partitioned(cntr)) {
        jam();
        log_warning(&cntr->block,
                    "no node group is whole: what nodes that are absent or left aside may have "
                    "done since GCI %u is not here",
                    decision->gci);
        decision->incarnation += cntr->incarnation / 2u % LIVES_APART;
    }
}

static void send_start(struct cntr *cntr)
{
    const struct cntr_decision *decision = &cntr->decision;
    struct cntr_start_conf conf = {
        .incarnation = cntr->incarnation,
        .start_type = decision->start_type,
        .gci = decision->gci,
        .data_incarnation = decision->incarnation,
        .schema_node = decision->schema_node,
        .schema_lo = (uint32_t)decision->schema,
        .schema_hi = (uint32_t)(decision->schema >> 32),
        .newest = decision->newest,
    };
    struct cntr_ended list = cntr->peer[decision->newest].ended;
    struct section section = {.words = &list.pair[0][0]};
    if (decision->newest != 0) {
        jam();
        /* One that made no GCI durable ended where the one before it did: one entry for both. So
         * crash upon crash does not fill the list. */
        bool same = list.count > 0 && list.pair[list.count - 1u][1] == decision->gci;
        if (same) list.count--;
        if (list.count == ENDED_MAX) {
            memmove(list.pair[0], list.pair[1], (ENDED_MAX - 1u) * sizeof(list.pair[0]));
            list.count--;
        }
        list.pair[list.count][0] =
            is_partitioned(cntr) ? decision->incarnation - 1u : decision->newest_incarnation;
        list.pair[list.count++][1] = decision->gci;
        section.size = list.count * 2u;
    }
    signal_broadcast(&cntr->block, &cntr->members, BLOCK_NDBCNTR, GSN_CNTR_START_CONF, PRIO_A,
                     &conf, sizeof(conf) / 4u, &section, decision->newest != 0 ? 1u : 0u);
}

/* Text for the president's log; the node itself tells more. */
static const char *refusal_text(uint32_t reason)
{
    switch ((enum cntr_start_ref_reason)reason) {
    case CNTR_REF_STALE:
        return "its data is too old";
    case CNTR_REF_NO_DATA:
        return "it is empty while others have data";
    case CNTR_REF_LDM:
        return "its files were written by another number of LDM instances";
    case CNTR_REF_LAST_COPY:
        return "--initial would destroy the last copy of a node group's rows";
    case CNTR_REF_NO_COPY:
        return "a node group's rows are missing";
    }
    return "unknown reason";
}

static void send_refusal(struct cntr *cntr, uint32_t node, uint32_t reason, uint32_t about)
{
    const struct cntr_decision *decision = &cntr->decision;
    struct cntr_start_ref ref = {.incarnation = cntr->incarnation,
                                 .reason = reason,
                                 .node = about,
                                 .gci = decision->gci,
                                 .data_incarnation = decision->newest_incarnation};
    jam_data(node);
    log_warning(&cntr->block, "node %u cannot start: %s", node, refusal_text(reason));
    sig_send(&cntr->block, block_ref(node, BLOCK_NDBCNTR, 0), GSN_CNTR_START_REF, PRIO_A, &ref);
}

/* Who is refused stops; the others notice that and join anew without them. */
static void refuse_some(struct cntr *cntr)
{
    const struct cntr_decision *decision = &cntr->decision;
    uint32_t missing = node_mask_next(&decision->missing, 0);
    for (uint32_t node = missing; node != 0; node = node_mask_next(&decision->missing, node))
        log_error(&cntr->block, "node %u is needed for this start", node);
    for (uint32_t node = node_mask_next(&cntr->members, 0); node != 0;
         node = node_mask_next(&cntr->members, node)) {
        if (decision->verdict == CNTR_MISSING)
            send_refusal(cntr, node, CNTR_REF_NO_COPY, missing);
        else if (decision->refused[node] != 0)
            send_refusal(cntr, node, decision->refused[node], decision->newest);
    }
}

static void decide(struct cntr *cntr)
{
    struct cntr_fact facts[DATA_NODE_ID_MAX];
    uint32_t count = collect(cntr, facts);
    if (cntr_diskless(cntr)) {
        jam();
        memset(&cntr->decision, 0, sizeof(cntr->decision));
        cntr->decision.start_type = START_INITIAL;
        send_start(cntr);
        return;
    }
    cntr_decide(block_config(&cntr->block), facts, count, &cntr->decision);
    jam_data(cntr->decision.verdict);
    if (cntr->decision.verdict == CNTR_START_NOW) {
        tell_lives_apart(cntr);
        send_start(cntr);
    } else {
        refuse_some(cntr);
    }
}

static void let_go(struct cntr *cntr, uint32_t point)
{
    if (point == POINT_START) {
        jam();
        decide(cntr);
        return;
    }
    jam_data(point);
    struct cntr_gorep rep = {.incarnation = cntr->incarnation, .point = point};
    signal_broadcast(&cntr->block, &cntr->members, BLOCK_NDBCNTR, GSN_CNTR_GOREP, PRIO_A, &rep,
                     sizeof(rep) / 4u, NULL, 0);
}

/*
 * A member may come before this node's own QMGR has told that all have joined; its word is kept
 * with its incarnation. This node's own word comes last in that case, so checking after each word
 * is enough.
 */
static void arrived(struct cntr *cntr, uint32_t node, uint32_t incarnation, uint32_t point)
{
    struct cntr_peer *peer = &cntr->peer[node];
    peer->incarnation = incarnation;
    peer->point = point;
    if (!cntr_is_president(cntr) || incarnation != cntr->incarnation) {
        jam();
        return;
    }
    if (all_there(cntr, point)) let_go(cntr, point);
}

void cntr_exec_CNTR_START_REQ(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    const struct cntr_start_req *req = SIG_PAYLOAD(sig, cntr_start_req);
    uint32_t node = ref_node(sig->sender);
    struct cntr_peer *peer = &cntr->peer[node];
    bool list_good = sig->section_count == 0 ||
                     cntr_ended_good(&sig->section[0], req->data_incarnation, req->gci);
    if (!list_good) {
        jam();
        peer_refuse(block, node, "a list of incarnations that cannot be");
        return;
    }
    peer->fact = *req;
    peer->ended.count = 0;
    if (sig->section_count == 1) cntr_ended_take(&peer->ended, &sig->section[0]);
    if (cntr->level == START_STARTED) {
        jam();
        peer->incarnation = req->incarnation;
        peer->point = POINT_START;
        (void)cntr_rejoin_asked(cntr);
        return;
    }
    arrived(cntr, node, req->incarnation, POINT_START);
}

void cntr_exec_CNTR_WAITREP(struct block *block, const struct signal *sig)
{
    const struct cntr_waitrep *rep = SIG_PAYLOAD(sig, cntr_waitrep);
    if (cntr_rejoin_meets(cntr_of(block), ref_node(sig->sender), rep)) return;
    arrived(cntr_of(block), ref_node(sig->sender), rep->incarnation, rep->point);
}
