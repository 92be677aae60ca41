/* failure_fixture.h -- a started cluster that is hurt, clients that arbitrate, and what must be
 * true of who goes on. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/*
 * Up to 6 data nodes with real membership and fake workers; clients 7 to 9 are API nodes or
 * management servers that arbitrate as signals/arbitrator.c does. After each run: all that live on
 * have reported the same failures in the same order (F1), have fenced them (F2), are one part (F3);
 * whoever was declared dead has stopped (F4).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "blocks/qmgr/partition_rule.h"
#include "blocks/qmgr/qmgr_state.h"
#include "signals/arbitrator.h"
#include "signals/management.h"
#include "tests/unit/fake_fixture.h"

#define HEARTBEAT_MS 20u
#define RANK_1       7u
#define RANK_1_TOO   8u
#define RANK_2       9u
#define FAILURES     8u

struct seen { /* What a node has reported, from its events. */
    uint32_t count;
    uint32_t set[FAILURES]; /* Bits of nodes, by failure number. */
};

static struct arbitrator arbitrators[FC_NODES];
static bool mute[FC_NODES]; /* The arbitrator takes questions and does not answer. */
static uint32_t nodes_all;
static uint32_t age[FC_NODES]; /* Dynamic ids: in which order they have joined. */
static uint32_t yes;
static uint64_t registered_ms[FC_NODES];

static inline struct node_config config_of(uint32_t nodes, uint32_t replicas)
{
    struct node_config config = fake_config(nodes, replicas);
    for (uint32_t id = 1; id < fc_first_client; id++) {
        config.node[id].type = id <= nodes ? NODE_DATA : NODE_NONE;
        config.node[id].nodegroup = (id - 1) / replicas;
    }
    return config;
}

static inline void start(uint32_t nodes, uint32_t replicas, uint32_t ranks)
{
    struct node_config config = config_of(nodes, replicas);
    memset(arbitrators, 0, sizeof(arbitrators));
    memset(mute, 0, sizeof(mute));
    memset(registered_ms, 0, sizeof(registered_ms));
    nodes_all = nodes;
    yes = 0;
    config.thread_count = 1;
    config.tc_count = 1;
    config.ldm_count = 1;
    config.survive = 1;
    config.heartbeat_db_db_ms = HEARTBEAT_MS;
    config.arbitration_timeout_ms = 300;
    config.node[RANK_1] = (struct config_node){.type = NODE_MGM, .arbitration_rank = 1};
    config.node[RANK_1_TOO] = (struct config_node){.type = NODE_API, .arbitration_rank = 1};
    config.node[RANK_2] = (struct config_node){.type = NODE_API, .arbitration_rank = 2};
    for (uint32_t id = RANK_1; id <= RANK_2; id++) {
        if ((ranks >> (id - RANK_1) & 1u) == 0) config.node[id].arbitration_rank = 0;
        fc_client(fc, id, true);
    }
    for (uint32_t id = 1; id <= nodes; id++)
        fake_data_node(fc, id, &config);
}

static inline struct qmgr *qmgr_at(uint32_t id)
{
    return qmgr_of(node_block(fc->node[id].node, BLOCK_QMGR, 0));
}

/* --- Clients: registration, events, arbitration. --- */

static inline void answer(uint32_t client, const struct fc_signal *got)
{
    if (mute[client]) return;
    if (got->sig.gsn == GSN_ARBIT_START_REQ) {
        const struct arbit_start_req *req = SIG_PAYLOAD(&got->sig, arbit_start_req);
        struct arbit_start_conf conf = {{req->ticket[0], req->ticket[1]}};
        arbitrator_start(&arbitrators[client], req);
        fc_sig_send(fc, client, got->sig.sender, GSN_ARBIT_START_CONF, &conf);
    }
    if (got->sig.gsn == GSN_ARBIT_CHOOSE_REQ) {
        const struct arbit_choose_req *req = SIG_PAYLOAD(&got->sig, arbit_choose_req);
        struct arbit_choose_conf conf = {req->attempt, {req->ticket[0], req->ticket[1]}};
        struct arbit_choose_ref ref = {req->attempt, {req->ticket[0], req->ticket[1]}};
        if (arbitrator_choose(&arbitrators[client], req)) {
            yes++;
            fc_sig_send(fc, client, got->sig.sender, GSN_ARBIT_CHOOSE_CONF, &conf);
        } else {
            fc_sig_send(fc, client, got->sig.sender, GSN_ARBIT_CHOOSE_REF, &ref);
        }
    }
}

static inline void clients_tick(void)
{
    for (uint32_t client = RANK_1; client <= RANK_2; client++) {
        for (struct fc_signal *at = fc->node[client].received; at != NULL; at = at->next) {
            if (at->seen) continue;
            at->seen = 1;
            answer(client, at);
        }
        while (fc->node[client].received != NULL) {
            struct fc_signal *next = fc->node[client].received->next;
            free(fc->node[client].received);
            fc->node[client].received = next;
        }
        if (fc->now - registered_ms[client] < 25u) continue;
        registered_ms[client] = fc->now;
        struct api_regreq req = {.version = NDB_VERSION, .generation = 1};
        for (uint32_t id = 1; id <= nodes_all; id++)
            fc_sig_send(fc, client, block_ref(id, BLOCK_QMGR, 0), GSN_API_REGREQ, &req);
    }
}

static inline void run(uint32_t ms)
{
    for (uint32_t i = 0; i < ms; i++) {
        clients_tick();
        fc_run(fc, 1);
    }
}

static inline bool all_started(uint32_t nodes, uint32_t ranks)
{
    for (uint32_t id = 1; id <= nodes; id++) {
        if (fake_tc(fc, id, 1)->level != START_STARTED) return false;
        if (node_mask_count(&qmgr_at(id)->started) != nodes) return false;
        if (ranks != 0 && qmgr_at(id)->arbit.node == 0) return false;
    }
    return ranks == 0 || qmgr_at(1)->arbit.state == ARBIT_RUN;
}

static inline void start_and_wait(uint32_t nodes, uint32_t replicas, uint32_t ranks)
{
    start(nodes, replicas, ranks);
    for (uint32_t i = 0; i < 300 && !all_started(nodes, ranks); i++)
        run(5);
    assert_true(all_started(nodes, ranks));
    for (uint32_t id = 1; id <= nodes; id++)
        age[id] = qmgr_at(id)->join.dynamic_id;
}

static inline uint32_t younger(uint32_t a, uint32_t b)
{
    return age[a] > age[b] ? a : b;
}

static inline uint32_t oldest_of(uint32_t bits)
{
    uint32_t best = 0;
    for (uint32_t id = 1; id <= nodes_all; id++) {
        if ((bits >> (id - 1) & 1u) != 0 && (best == 0 || age[id] < age[best])) best = id;
    }
    return best;
}

/* --- What the nodes think. --- */

static inline bool lives(uint32_t id)
{
    return id <= nodes_all && fc_alive(fc, id) && !qmgr_at(id)->failure.stopped;
}

static inline uint32_t alive_bits(void)
{
    uint32_t bits = 0;
    for (uint32_t id = 1; id <= nodes_all; id++)
        bits |= lives(id) ? 1u << (id - 1) : 0;
    return bits;
}

static inline uint32_t members_of(uint32_t id)
{
    return qmgr_at(id)->join.members.word[0] >> 1;
}

/* F1 by the numbers and sets that stand at the end; the way there is in `seen`. */
static struct seen seen[FC_NODES];
static bool asleep[FC_NODES];   /* As after SIGSTOP. */
static uint32_t slow[FC_NODES]; /* One turn in so many ms; 0: as many as it wants. */
static uint64_t turn_ms[FC_NODES];

static inline bool run_node(uint32_t id)
{
    if (asleep[id] || (slow[id] != 0 && fc->now < turn_ms[id] + slow[id])) return false;
    turn_ms[id] = fc->now;
    return fc_run_node(fc, id);
}

/* F3 at any moment: no two have gone on without each other. */
static inline void look_for_two_parts(void)
{
    for (uint32_t a = 1; a <= nodes_all; a++) {
        for (uint32_t b = a + 1; b <= nodes_all; b++) {
            if (!lives(a) || !lives(b)) continue;
            assert_true(node_mask_has(&qmgr_at(a)->join.members, b) ||
                        node_mask_has(&qmgr_at(b)->join.members, a));
        }
    }
}

static inline void look(void)
{
    for (uint32_t id = 1; id <= nodes_all; id++) {
        if (!lives(id)) continue;
        const struct qmgr_failure *failure = &qmgr_at(id)->failure;
        if (failure->number == seen[id].count) continue;
        look_for_two_parts();
        assert_int_equal(failure->number, seen[id].count + 1); /* No number is left out. */
        assert_true(failure->number < FAILURES);
        seen[id].count = failure->number;
        seen[id].set[failure->number] = failure->last.word[0] >> 1;
        for (uint32_t other = 1; other <= nodes_all; other++) {
            if (!node_mask_has(&failure->last, other)) continue;
            /* F2: nobody that stays has a link to it, but to its QMGR. */
            for (uint32_t stays = 1; stays <= nodes_all; stays++) {
                if (node_mask_has(&qmgr_at(id)->join.members, stays) && lives(stays))
                    assert_true(fc->link[stays][other].epoch == 0 ||
                                peer_restricted(&qmgr_at(stays)->block, other));
            }
        }
    }
}

/* As fc_run(), with a look between any two nodes' turns. */
static inline void run_looking(uint32_t ms)
{
    for (uint64_t end = fc->now + ms; fc->now < end; fc->now++) {
        bool worked = true;
        clients_tick();
        while (worked) {
            worked = false;
            fc_links(fc);
            for (uint32_t id = 1; id < fc_first_client; id++) {
                worked |= run_node(id);
                look();
            }
            for (uint32_t from = 1; from < FC_NODES; from++) {
                for (uint32_t to = 1; to < FC_NODES; to++)
                    worked |= fc_deliver(fc, from, to);
            }
            clients_tick();
        }
    }
}

static inline void forget(void)
{
    memset(seen, 0, sizeof(seen));
    memset(asleep, 0, sizeof(asleep));
    memset(slow, 0, sizeof(slow));
    memset(turn_ms, 0, sizeof(turn_ms));
}

static inline void print_state(uint32_t id)
{
    const struct qmgr *qmgr = qmgr_at(id);
    struct node_mask condemned;
    qmgr_condemned(qmgr, &qmgr->join.members, &condemned);
    print_message("node %u: number %u leads %u leader %u fenced %x waiting %x open %u asking %u, "
                  "check %u found %x heard %x lost %x silent %x condemned %x row %x known %x\n",
                  id, qmgr->failure.number, qmgr->failure.leads, qmgr->failure.leader,
                  qmgr->failure.fenced.word[0] >> 1, qmgr->failure.waiting.word[0] >> 1,
                  qmgr->failure.open, qmgr->failure.asking, qmgr->reach.running,
                  qmgr->reach.found.word[0] >> 1, qmgr->reach.heard.word[0] >> 1,
                  qmgr->reach.lost.word[0] >> 1, qmgr->reach.silent.word[0] >> 1,
                  condemned.word[0] >> 1, qmgr->reach.map.row[id].word[0] >> 1,
                  qmgr->reach.map.known.word[0] >> 1);
}

/* At the end, when all is quiet. Returns those that live on. */
static inline uint32_t check_end(void)
{
    uint32_t bits = alive_bits();
    uint32_t first = 0;
    for (uint32_t id = 1; id <= nodes_all && fc->verbose; id++) {
        if (lives(id)) print_state(id);
    }
    for (uint32_t id = 1; id <= nodes_all; id++) {
        if (!lives(id)) continue;
        if (first == 0) first = id;
        assert_int_equal(members_of(id), bits); /* F3: one part, and it knows who it is. */
        assert_int_equal(seen[id].count, seen[first].count);
        for (uint32_t i = 1; i <= seen[first].count; i++)
            assert_int_equal(seen[id].set[i], seen[first].set[i]); /* F1 */
        assert_int_equal(qmgr_at(id)->join.president, qmgr_at(first)->join.president);
        assert_true(node_mask_empty(&qmgr_at(id)->failure.fenced));
        assert_true(node_mask_empty(&qmgr_at(id)->reach.lost));
        assert_true(node_mask_empty(&qmgr_at(id)->reach.silent));
        assert_int_equal(fake_tc(fc, id, 1)->level, START_STARTED);
    }
    fc_check(fc);
    return bits;
}

static inline void assert_stopped(uint32_t id, uint32_t code)
{
    assert_true(fc->node[id].dead);
    assert_int_equal(fc->node[id].exit_code, code);
}

static inline void divide(uint32_t part, bool cut)
{
    for (uint32_t a = 1; a <= nodes_all; a++) {
        for (uint32_t b = a + 1; b <= nodes_all; b++) {
            if ((part >> (a - 1) & 1u) != (part >> (b - 1) & 1u)) fc_cut(fc, a, b, cut);
        }
    }
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* FAILURE_TEST: only those of that name. */
#define RUN_TESTS(tests)                                                                           \
    (fc_first_client = 7, cmocka_set_test_filter(getenv("FAILURE_TEST")),                          \
     cmocka_run_group_tests(tests, NULL, NULL))
