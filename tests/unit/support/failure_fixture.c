/* failure_fixture.c -- a started cluster that is hurt, clients that arbitrate, and what must be
 * true of who goes on. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/failure_fixture.h"

struct arbitrator failure_arbitrators[FC_NODES];

bool failure_mute[FC_NODES];

uint32_t failure_nodes_all;

static uint32_t age[FC_NODES]; /* Dynamic ids: in which order they have joined. */

uint32_t failure_yes;

static uint64_t registered_ms[FC_NODES];

struct node_config failure_config_of(uint32_t nodes, uint32_t replicas)
{
    struct node_config config = fake_config(nodes, replicas);
    for (uint32_t id = 1; id < fc_first_client; id++) {
        config.node[id].type = id <= nodes ? NODE_DATA : NODE_NONE;
        config.node[id].nodegroup = (id - 1) / replicas;
    }
    return config;
}

void failure_start(uint32_t nodes, uint32_t replicas, uint32_t ranks)
{
    struct node_config config = failure_config_of(nodes, replicas);
    memset(failure_arbitrators, 0, sizeof(failure_arbitrators));
    memset(failure_mute, 0, sizeof(failure_mute));
    memset(registered_ms, 0, sizeof(registered_ms));
    failure_nodes_all = nodes;
    failure_yes = 0;
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
        fc_client(fc_fc, id, true);
    }
    for (uint32_t id = 1; id <= nodes; id++)
        fake_data_node(fc_fc, id, &config);
}

struct qmgr *failure_qmgr_at(uint32_t id)
{
    return qmgr_of(node_block(fc_fc->node[id].node, BLOCK_QMGR, 0));
}

/* --- Clients: registration, events, arbitration. --- */

void failure_answer(uint32_t client, const struct fc_signal *got)
{
    if (failure_mute[client]) return;
    if (got->sig.gsn == GSN_ARBIT_START_REQ) {
        const struct arbit_start_req *req = SIG_PAYLOAD(&got->sig, arbit_start_req);
        struct arbit_start_conf conf = {{req->ticket[0], req->ticket[1]}};
        arbitrator_start(&failure_arbitrators[client], req);
        fc_sig_send(fc_fc, client, got->sig.sender, GSN_ARBIT_START_CONF, &conf);
    }
    if (got->sig.gsn == GSN_ARBIT_CHOOSE_REQ) {
        const struct arbit_choose_req *req = SIG_PAYLOAD(&got->sig, arbit_choose_req);
        struct arbit_choose_conf conf = {req->attempt, {req->ticket[0], req->ticket[1]}};
        struct arbit_choose_ref ref = {req->attempt, {req->ticket[0], req->ticket[1]}};
        if (arbitrator_choose(&failure_arbitrators[client], req)) {
            failure_yes++;
            fc_sig_send(fc_fc, client, got->sig.sender, GSN_ARBIT_CHOOSE_CONF, &conf);
        } else {
            fc_sig_send(fc_fc, client, got->sig.sender, GSN_ARBIT_CHOOSE_REF, &ref);
        }
    }
}

void failure_clients_tick(void)
{
    for (uint32_t client = RANK_1; client <= RANK_2; client++) {
        for (struct fc_signal *at = fc_fc->node[client].received; at != NULL; at = at->next) {
            if (at->seen) continue;
            at->seen = 1;
            failure_answer(client, at);
        }
        while (fc_fc->node[client].received != NULL) {
            struct fc_signal *next = fc_fc->node[client].received->next;
            free(fc_fc->node[client].received);
            fc_fc->node[client].received = next;
        }
        if (fc_fc->now - registered_ms[client] < 25u) continue;
        registered_ms[client] = fc_fc->now;
        struct api_regreq req = {.version = NDB_VERSION, .generation = 1};
        for (uint32_t id = 1; id <= failure_nodes_all; id++)
            fc_sig_send(fc_fc, client, block_ref(id, BLOCK_QMGR, 0), GSN_API_REGREQ, &req);
    }
}

void failure_run(uint32_t ms)
{
    for (uint32_t i = 0; i < ms; i++) {
        failure_clients_tick();
        fc_run(fc_fc, 1);
    }
}

static bool all_started(uint32_t nodes, uint32_t ranks)
{
    for (uint32_t id = 1; id <= nodes; id++) {
        if (fake_tc(fc_fc, id, 1)->level != START_STARTED) return false;
        if (node_mask_count(&failure_qmgr_at(id)->started) != nodes) return false;
        if (ranks != 0 && failure_qmgr_at(id)->arbit.node == 0) return false;
    }
    return ranks == 0 || failure_qmgr_at(1)->arbit.state == ARBIT_RUN;
}

void failure_start_and_wait(uint32_t nodes, uint32_t replicas, uint32_t ranks)
{
    failure_start(nodes, replicas, ranks);
    for (uint32_t i = 0; i < 300 && !all_started(nodes, ranks); i++)
        failure_run(5);
    assert_true(all_started(nodes, ranks));
    for (uint32_t id = 1; id <= nodes; id++)
        age[id] = failure_qmgr_at(id)->join.dynamic_id;
}

uint32_t failure_younger(uint32_t a, uint32_t b)
{
    return age[a] > age[b] ? a : b;
}

uint32_t failure_oldest_of(uint32_t bits)
{
    uint32_t best = 0;
    for (uint32_t id = 1; id <= failure_nodes_all; id++) {
        if ((bits >> (id - 1) & 1u) != 0 && (best == 0 || age[id] < age[best])) best = id;
    }
    return best;
}

/* --- What the nodes think. --- */

bool failure_lives(uint32_t id)
{
    return id <= failure_nodes_all && fc_alive(fc_fc, id) && !failure_qmgr_at(id)->failure.stopped;
}

uint32_t failure_alive_bits(void)
{
    uint32_t bits = 0;
    for (uint32_t id = 1; id <= failure_nodes_all; id++)
        bits |= failure_lives(id) ? 1u << (id - 1) : 0;
    return bits;
}

uint32_t failure_members_of(uint32_t id)
{
    return failure_qmgr_at(id)->join.members.word[0] >> 1;
}

struct seen failure_seen[FC_NODES];

bool failure_asleep[FC_NODES];

uint32_t failure_slow[FC_NODES];

static uint64_t turn_ms[FC_NODES];

bool failure_run_node(uint32_t id)
{
    if (failure_asleep[id] ||
        (failure_slow[id] != 0 && fc_fc->now < turn_ms[id] + failure_slow[id]))
        return false;
    turn_ms[id] = fc_fc->now;
    return fc_run_node(fc_fc, id);
}

/* F3 at any moment: no two have gone on without each other. */
static void look_for_two_parts(void)
{
    for (uint32_t a = 1; a <= failure_nodes_all; a++) {
        for (uint32_t b = a + 1; b <= failure_nodes_all; b++) {
            if (!failure_lives(a) || !failure_lives(b)) continue;
            assert_true(node_mask_has(&failure_qmgr_at(a)->join.members, b) ||
                        node_mask_has(&failure_qmgr_at(b)->join.members, a));
        }
    }
}

void failure_look(void)
{
    for (uint32_t id = 1; id <= failure_nodes_all; id++) {
        if (!failure_lives(id)) continue;
        const struct qmgr_failure *failure = &failure_qmgr_at(id)->failure;
        if (failure->number == failure_seen[id].count) continue;
        look_for_two_parts();
        assert_int_equal(failure->number, failure_seen[id].count + 1); /* No number is left out. */
        assert_true(failure->number < FAILURES);
        failure_seen[id].count = failure->number;
        failure_seen[id].set[failure->number] = failure->last.word[0] >> 1;
        for (uint32_t other = 1; other <= failure_nodes_all; other++) {
            if (!node_mask_has(&failure->last, other)) continue;
            /* F2: nobody that stays has a link to it, but to its QMGR. */
            for (uint32_t stays = 1; stays <= failure_nodes_all; stays++) {
                if (node_mask_has(&failure_qmgr_at(id)->join.members, stays) &&
                    failure_lives(stays))
                    assert_true(fc_fc->link[stays][other].epoch == 0 ||
                                peer_restricted(&failure_qmgr_at(stays)->block, other));
            }
        }
    }
}

void failure_run_looking(uint32_t ms)
{
    for (uint64_t end = fc_fc->now + ms; fc_fc->now < end; fc_fc->now++) {
        bool worked = true;
        failure_clients_tick();
        while (worked) {
            worked = false;
            fc_links(fc_fc);
            for (uint32_t id = 1; id < fc_first_client; id++) {
                worked |= failure_run_node(id);
                failure_look();
            }
            for (uint32_t from = 1; from < FC_NODES; from++) {
                for (uint32_t to = 1; to < FC_NODES; to++)
                    worked |= fc_deliver(fc_fc, from, to);
            }
            failure_clients_tick();
        }
    }
}

void failure_forget(void)
{
    memset(failure_seen, 0, sizeof(failure_seen));
    memset(failure_asleep, 0, sizeof(failure_asleep));
    memset(failure_slow, 0, sizeof(failure_slow));
    memset(turn_ms, 0, sizeof(turn_ms));
}

static void print_state(uint32_t id)
{
    const struct qmgr *qmgr = failure_qmgr_at(id);
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

uint32_t failure_check_end(void)
{
    uint32_t bits = failure_alive_bits();
    uint32_t first = 0;
    for (uint32_t id = 1; id <= failure_nodes_all && fc_fc->verbose; id++) {
        if (failure_lives(id)) print_state(id);
    }
    for (uint32_t id = 1; id <= failure_nodes_all; id++) {
        if (!failure_lives(id)) continue;
        if (first == 0) first = id;
        assert_int_equal(failure_members_of(id), bits); /* F3: one part, and it knows who it is. */
        assert_int_equal(failure_seen[id].count, failure_seen[first].count);
        for (uint32_t i = 1; i <= failure_seen[first].count; i++)
            assert_int_equal(failure_seen[id].set[i], failure_seen[first].set[i]); /* F1 */
        assert_int_equal(failure_qmgr_at(id)->join.president,
                         failure_qmgr_at(first)->join.president);
        assert_true(node_mask_empty(&failure_qmgr_at(id)->failure.fenced));
        assert_true(node_mask_empty(&failure_qmgr_at(id)->reach.lost));
        assert_true(node_mask_empty(&failure_qmgr_at(id)->reach.silent));
        assert_int_equal(fake_tc(fc_fc, id, 1)->level, START_STARTED);
    }
    fc_check(fc_fc);
    return bits;
}

void failure_assert_stopped(uint32_t id, uint32_t code)
{
    assert_true(fc_fc->node[id].dead);
    assert_int_equal(fc_fc->node[id].exit_code, code);
}

void failure_divide(uint32_t part, bool cut)
{
    for (uint32_t a = 1; a <= failure_nodes_all; a++) {
        for (uint32_t b = a + 1; b <= failure_nodes_all; b++) {
            if ((part >> (a - 1) & 1u) != (part >> (b - 1) & 1u)) fc_cut(fc_fc, a, b, cut);
        }
    }
}
