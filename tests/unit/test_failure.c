/* test_failure.c -- who is dead, and who goes on: kills, hangs, cuts and partitions of a started
 * cluster. */
/* SPDX-License-Identifier: GPL-2.0-only */
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
#define FC_NODES  11u
#define FC_CLIENT 7u
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

static struct node_config config_of(uint32_t nodes, uint32_t replicas)
{
    struct node_config config = fake_config(nodes, replicas);
    for (uint32_t id = 1; id < FC_CLIENT; id++) {
        config.node[id].type = id <= nodes ? NODE_DATA : NODE_NONE;
        config.node[id].nodegroup = (id - 1) / replicas;
    }
    return config;
}

static void start(uint32_t nodes, uint32_t replicas, uint32_t ranks)
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

static struct qmgr *qmgr_at(uint32_t id)
{
    return qmgr_of(node_block(fc->node[id].node, BLOCK_QMGR, 0));
}

/* --- Clients: registration, events, arbitration. --- */

static void answer(uint32_t client, const struct fc_signal *got)
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

static void clients_tick(void)
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

static void run(uint32_t ms)
{
    for (uint32_t i = 0; i < ms; i++) {
        clients_tick();
        fc_run(fc, 1);
    }
}

static bool all_started(uint32_t nodes, uint32_t ranks)
{
    for (uint32_t id = 1; id <= nodes; id++) {
        if (fake_tc(fc, id, 1)->level != START_STARTED) return false;
        if (node_mask_count(&qmgr_at(id)->started) != nodes) return false;
        if (ranks != 0 && qmgr_at(id)->arbit.node == 0) return false;
    }
    return ranks == 0 || qmgr_at(1)->arbit.state == ARBIT_RUN;
}

static void start_and_wait(uint32_t nodes, uint32_t replicas, uint32_t ranks)
{
    start(nodes, replicas, ranks);
    for (uint32_t i = 0; i < 300 && !all_started(nodes, ranks); i++)
        run(5);
    assert_true(all_started(nodes, ranks));
    for (uint32_t id = 1; id <= nodes; id++)
        age[id] = qmgr_at(id)->join.dynamic_id;
}

static uint32_t younger(uint32_t a, uint32_t b)
{
    return age[a] > age[b] ? a : b;
}

static uint32_t oldest_of(uint32_t bits)
{
    uint32_t best = 0;
    for (uint32_t id = 1; id <= nodes_all; id++) {
        if ((bits >> (id - 1) & 1u) != 0 && (best == 0 || age[id] < age[best])) best = id;
    }
    return best;
}

/* --- What the nodes think. --- */

static bool lives(uint32_t id)
{
    return id <= nodes_all && fc_alive(fc, id) && !qmgr_at(id)->failure.stopped;
}

static uint32_t alive_bits(void)
{
    uint32_t bits = 0;
    for (uint32_t id = 1; id <= nodes_all; id++)
        bits |= lives(id) ? 1u << (id - 1) : 0;
    return bits;
}

static uint32_t members_of(uint32_t id)
{
    return qmgr_at(id)->join.members.word[0] >> 1;
}

/* F1 by the numbers and sets that stand at the end; the way there is in `seen`. */
static struct seen seen[FC_NODES];
static bool asleep[FC_NODES]; /* As after SIGSTOP. */

static bool run_node(uint32_t id)
{
    return !asleep[id] && fc_run_node(fc, id);
}

/* F3 at any moment: no two have gone on without each other. */
static void look_for_two_parts(void)
{
    for (uint32_t a = 1; a <= nodes_all; a++) {
        for (uint32_t b = a + 1; b <= nodes_all; b++) {
            if (!lives(a) || !lives(b)) continue;
            assert_true(node_mask_has(&qmgr_at(a)->join.members, b) ||
                        node_mask_has(&qmgr_at(b)->join.members, a));
        }
    }
}

static void look(void)
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
static void run_looking(uint32_t ms)
{
    for (uint64_t end = fc->now + ms; fc->now < end; fc->now++) {
        bool worked = true;
        clients_tick();
        while (worked) {
            worked = false;
            fc_links(fc);
            for (uint32_t id = 1; id < FC_CLIENT; id++) {
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

static void forget(void)
{
    memset(seen, 0, sizeof(seen));
    memset(asleep, 0, sizeof(asleep));
}

static void print_state(uint32_t id)
{
    const struct qmgr *qmgr = qmgr_at(id);
    print_message("node %u: number %u leads %u leader %u fenced %x waiting %x open %u asking %u, "
                  "check %u found %x heard %x lost %x silent %x condemned %x row %x known %x\n",
                  id, qmgr->failure.number, qmgr->failure.leads, qmgr->failure.leader,
                  qmgr->failure.fenced.word[0] >> 1, qmgr->failure.waiting.word[0] >> 1,
                  qmgr->failure.open, qmgr->failure.asking, qmgr->reach.running,
                  qmgr->reach.found.word[0] >> 1, qmgr->reach.heard.word[0] >> 1,
                  qmgr->reach.lost.word[0] >> 1, qmgr->reach.silent.word[0] >> 1,
                  qmgr->reach.condemned.word[0] >> 1, qmgr->reach.map.row[id].word[0] >> 1,
                  qmgr->reach.map.known.word[0] >> 1);
}

/* At the end, when all is quiet. Returns those that live on. */
static uint32_t check_end(void)
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

static void assert_stopped(uint32_t id, uint32_t code)
{
    assert_true(fc->node[id].dead);
    assert_int_equal(fc->node[id].exit_code, code);
}

/* --- One thing at a time. --- */

static void test_a_node_is_killed(void **state)
{
    (void)state;
    for (uint32_t victim = 1; victim <= 4; victim++) {
        forget();
        start_and_wait(4, 2, 0);
        fc_kill(fc, victim);
        run_looking(30);
        assert_int_equal(check_end(), 15u & ~(1u << (victim - 1)));
        uint32_t president = oldest_of(15u & ~(1u << (victim - 1)));
        assert_int_equal(qmgr_at(president)->join.president, president);
        fc_destroy(fc);
        fc_init(fc);
    }
}

static void test_a_node_hangs_and_wakes_up(void **state)
{
    (void)state;
    for (uint32_t victim = 1; victim <= 4; victim++) {
        forget();
        start_and_wait(4, 2, 0);
        for (uint32_t id = 1; id < FC_NODES; id++)
            fc->link[id][victim].stalled = fc->link[victim][id].stalled = true;
        run_looking(300);
        assert_int_equal(check_end(), 15u & ~(1u << (victim - 1)));
        assert_true(fc->node[victim].dead); /* It was alone. */
        fc_destroy(fc);
        fc_init(fc);
        forget();
        start_and_wait(4, 2, 0);
        asleep[victim] = true;
        run_looking(1000);
        assert_int_equal(seen[victim].count, 0);
        asleep[victim] = false;
        run_looking(200);
        assert_int_equal(check_end(), 15u & ~(1u << (victim - 1)));
        assert_stopped(victim, EXIT_DECLARED_DEAD);
        fc_destroy(fc);
        fc_init(fc);
    }
}

/* Without it the others cannot go on, nor can it without them: they wait longer for its answer. */
static void test_a_node_that_all_need_hangs(void **state)
{
    (void)state;
    for (uint32_t turn = 0; turn < 8; turn++) {
        uint32_t victim = turn % 2 == 0 ? 1 : 3;
        uint32_t other = 4 - victim;
        forget();
        start_and_wait(4, 2, 1);
        fc_kill(fc, 2);
        run_looking(50);
        fc_kill(fc, 4);
        run_looking(50 + turn);
        assert_int_equal(check_end(), 5);
        asleep[victim] = true;
        run_looking(300);
        asleep[victim] = false;
        run_looking(300);
        assert_int_equal(check_end(), 5);
        assert_int_equal(seen[other].count, 2);
        if (turn % 4 < 2) { /* But not for ever. */
            asleep[victim] = true;
            run_looking(2000);
            assert_stopped(other, EXIT_ARBIT_SHUTDOWN);
        } else { /* And not when it is known to be dead. */
            fc_kill(fc, victim);
            run_looking(200);
            assert_stopped(other, EXIT_ARBIT_SHUTDOWN);
        }
        fc_destroy(fc);
        fc_init(fc);
    }
}

static void test_one_broken_link(void **state)
{
    (void)state;
    for (uint32_t a = 1; a <= 4; a++) {
        for (uint32_t b = a + 1; b <= 4; b++) {
            forget();
            start_and_wait(4, 2, 0);
            fc_cut(fc, a, b, true);
            run_looking(200);
            uint32_t out = younger(a, b);
            assert_int_equal(check_end(), 15u & ~(1u << (out - 1)));
            assert_stopped(out, EXIT_DECLARED_DEAD);
            fc_destroy(fc);
            fc_init(fc);
        }
    }
}

static void test_a_node_with_most_links_broken_leaves(void **state)
{
    (void)state;
    for (uint32_t victim = 1; victim <= 4; victim++) {
        forget();
        start_and_wait(4, 2, 0);
        uint32_t friend = victim == 4 ? 1 : victim + 1; /* The only one that it still reaches. */
        for (uint32_t id = 1; id <= 4; id++) {
            if (id != victim && id != friend) fc_cut(fc, victim, id, true);
        }
        run_looking(300);
        assert_int_equal(check_end(), 15u & ~(1u << (victim - 1)));
        assert_stopped(victim, EXIT_DECLARED_DEAD);
        fc_destroy(fc);
        fc_init(fc);
    }
}

/* In one direction nothing arrives any more. */
static void test_one_way(void **state)
{
    (void)state;
    for (uint32_t a = 1; a <= 4; a++) {
        uint32_t b = a % 4 + 1;
        forget();
        start_and_wait(4, 2, 0);
        fc->link[a][b].stalled = true;
        run_looking(800);
        uint32_t left = check_end();
        assert_true(left == (15u & ~(1u << (a - 1))) || left == (15u & ~(1u << (b - 1))));
        fc_destroy(fc);
        fc_init(fc);
    }
}

/* A node that hears nobody any more, or that nobody hears: it leaves, and what it says while it
 * does not know better takes nobody else along. */
static void test_deaf_and_mute_nodes(void **state)
{
    (void)state;
    for (uint32_t turn = 0; turn < 16; turn++) {
        uint32_t victim = turn % 4 + 1;
        forget();
        start_and_wait(4, 2, 0);
        run_looking(10 * (turn / 4)); /* At another point of the round of heartbeats. */
        for (uint32_t id = 1; id <= 4; id++) {
            fc->link[id][victim].stalled = turn % 8 < 4;
            fc->link[victim][id].stalled = turn % 8 >= 4;
        }
        run_looking(1500);
        assert_int_equal(check_end(), 15u & ~(1u << (victim - 1)));
        assert_true(fc->node[victim].dead);
        fc_destroy(fc);
        fc_init(fc);
    }
}

static void test_a_slow_node_is_reported_and_stays(void **state)
{
    (void)state;
    forget();
    start_and_wait(3, 3, 0);
    for (uint32_t turn = 0; turn < 5; turn++) { /* Stalls of three and a half intervals. */
        for (uint32_t id = 1; id <= 3; id++)
            fc->link[id][2].stalled = fc->link[2][id].stalled = true;
        run_looking(70);
        for (uint32_t id = 1; id <= 3; id++)
            fc->link[id][2].stalled = fc->link[2][id].stalled = false;
        run_looking(100);
    }
    assert_int_equal(check_end(), 7);
    assert_int_equal(seen[1].count, 0);
}

/* --- Partitions: the table of test_partition_rule, with real nodes. --- */

static void divide(uint32_t part, bool cut)
{
    for (uint32_t a = 1; a <= nodes_all; a++) {
        for (uint32_t b = a + 1; b <= nodes_all; b++) {
            if ((part >> (a - 1) & 1u) != (part >> (b - 1) & 1u)) fc_cut(fc, a, b, cut);
        }
    }
}

static void all_bipartitions(uint32_t nodes, uint32_t replicas, uint32_t ranks)
{
    uint32_t all = (1u << nodes) - 1u;
    for (uint32_t part = 1; part <= all / 2u; part++) {
        struct node_config config = config_of(nodes, replicas);
        struct node_mask one = {{(part << 1)}};
        struct node_mask other = {{((all & ~part) << 1)}};
        struct node_mask were = {{(all << 1)}};
        forget();
        start_and_wait(nodes, replicas, ranks);
        divide(part, true);
        run_looking(500);
        uint32_t left = check_end();
        for (uint32_t id = 1; id <= nodes; id++) {
            if ((left >> (id - 1) & 1u) == 0) assert_true(fc->node[id].dead);
        }
        uint32_t code = partition_rule(&config, &were, &one);
        uint32_t code_other = partition_rule(&config, &were, &other);
        if (arbit_wins(code)) {
            assert_int_equal(left, part);
        } else if (arbit_wins(code_other)) {
            assert_int_equal(left, all & ~part);
        } else if (code == ARBIT_PARTITIONING && ranks != 0) {
            assert_true(left == part || left == (all & ~part));
            assert_int_equal(yes, 1);
        } else {
            assert_int_equal(left, 0);
        }
        fc_destroy(fc);
        fc_init(fc);
    }
}

/* Halves, and who of them sees which arbitrator. `views` has a character for each of two halves:
 *   1 the first arbitrator, a management server    2 the second one, an API node
 *   B both                                         . none
 * Before the division all see both, so all have the first one; that link breaks in the same moment.
 */
static const struct half_case {
    uint32_t ranks; /* Bits: which of the arbitrators have a rank. */
    const char *views;
    const char *lives; /* For each half: L lives, . stops; ? one of the two. */
} half_cases[] = {
    {1, "1.", "L."}, {1, ".1", ".L"}, {1, "11", "??"}, {1, "..", ".."},
    {2, "2.", "L."}, {2, ".2", ".L"}, {2, "22", "??"}, {2, "..", ".."},
    {3, "BB", "??"}, {3, "B.", "L."}, {3, ".B", ".L"}, {3, "12", "L."},
    {3, "21", ".L"}, {3, "22", ".."}, {3, "2.", ".."}, {3, "1B", "??"},
};

static void lose_sight(uint32_t part, char view)
{
    for (uint32_t id = 1; id <= nodes_all; id++) {
        if ((part >> (id - 1) & 1u) == 0) continue;
        if (view != '1' && view != 'B') fc_cut(fc, id, RANK_1, true);
        if (view != '2' && view != 'B') fc_cut(fc, id, RANK_1_TOO, true);
    }
}

static void one_half_case(uint32_t nodes, uint32_t replicas, uint32_t part,
                          const struct half_case *given)
{
    uint32_t all = (1u << nodes) - 1u;
    forget();
    start_and_wait(nodes, replicas, given->ranks);
    divide(part, true);
    lose_sight(part, given->views[0]);
    lose_sight(all & ~part, given->views[1]);
    run_looking(700);
    uint32_t left = check_end();
    if (given->lives[0] == '?')
        assert_true(left == part || left == (all & ~part));
    else
        assert_int_equal(left, (given->lives[0] == 'L' ? part : 0u) |
                                   (given->lives[1] == 'L' ? all & ~part : 0u));
    fc_destroy(fc);
    fc_init(fc);
}

/* All halves of 2, 4 and 6 nodes in which both sides have to ask, with a management server and an
 * API node as arbitrators. */
static void test_halves_and_arbitrators(void **state)
{
    (void)state;
    static const uint32_t clusters[][2] = {{2, 2}, {4, 2}, {4, 4}, {6, 2}, {6, 3}};
    uint32_t halves = 0;
    for (uint32_t i = 0; i < sizeof(clusters) / sizeof(clusters[0]); i++) {
        uint32_t nodes = clusters[i][0];
        uint32_t all = (1u << nodes) - 1u;
        struct node_config config = config_of(nodes, clusters[i][1]);
        for (uint32_t part = 1; part <= all / 2u; part++) {
            struct node_mask one = {{(part << 1)}};
            struct node_mask were = {{(all << 1)}};
            if (partition_rule(&config, &were, &one) != ARBIT_PARTITIONING) continue;
            halves++;
            for (uint32_t k = 0; k < sizeof(half_cases) / sizeof(half_cases[0]); k++)
                one_half_case(nodes, clusters[i][1], part, &half_cases[k]);
        }
    }
    assert_int_equal(halves, 1 + 2 + 3 + 4 + 9);
}

static void test_bipartitions(void **state)
{
    (void)state;
    static const uint32_t clusters[][2] = {{2, 1}, {2, 2}, {4, 1}, {4, 2}, {4, 4}, {6, 2}, {6, 3}};
    for (uint32_t i = 0; i < sizeof(clusters) / sizeof(clusters[0]); i++) {
        all_bipartitions(clusters[i][0], clusters[i][1], 0);
        all_bipartitions(clusters[i][0], clusters[i][1], 1);
    }
}

/* One half does not hear the other one any more, and is heard. */
static void test_halves_one_way(void **state)
{
    (void)state;
    for (uint32_t turn = 0; turn < 64; turn++) {
        uint32_t nodes = turn % 2 == 0 ? 2 : 4;
        uint32_t deaf =
            nodes == 2 ? turn / 2 % 2 + 1 : (const uint32_t[]){5, 6, 9, 10}[turn / 2 % 4];
        forget();
        start_and_wait(nodes, 2, 1);
        run_looking(3 * (turn / 8)); /* At another point of the round of heartbeats. */
        for (uint32_t a = 1; a <= nodes; a++) {
            for (uint32_t b = 1; b <= nodes; b++) {
                if ((deaf >> (a - 1) & 1u) != 0 && (deaf >> (b - 1) & 1u) == 0)
                    fc->link[b][a].stalled = true;
            }
        }
        run_looking(2000);
        uint32_t left = check_end();
        assert_true(left == deaf || left == (((1u << nodes) - 1u) & ~deaf));
        assert_int_equal(yes, 1);
        fc_destroy(fc);
        fc_init(fc);
    }
}

/* --- The arbitrator. --- */

static void test_arbitrators_by_rank(void **state)
{
    (void)state;
    forget();
    start_and_wait(2, 2, 7);
    assert_int_equal(qmgr_at(1)->arbit.node, RANK_1);
    assert_int_equal(qmgr_at(2)->arbit.node, RANK_1);
    uint32_t ticket = qmgr_at(1)->arbit.ticket[0];
    fc_client(fc, RANK_1, false); /* Handed over at once... */
    run(20);
    assert_int_equal(qmgr_at(1)->arbit.node, RANK_1_TOO);
    assert_int_equal(qmgr_at(2)->arbit.node, RANK_1_TOO);
    assert_int_not_equal(qmgr_at(1)->arbit.ticket[0], ticket);
    assert_int_equal(qmgr_at(1)->arbit.ticket[0], qmgr_at(2)->arbit.ticket[0]);
    fc_client(fc, RANK_1_TOO, false);
    run(20);
    assert_int_equal(qmgr_at(2)->arbit.node, RANK_2);
    divide(1, true); /* ...so that this works. */
    run_looking(300);
    uint32_t left = check_end();
    assert_true(left == 1 || left == 2);
    assert_int_equal(yes, 1);
}

/* One node alone loses its link to the arbitrator: another one that all see takes its place. */
static void test_hand_over_to_one_that_all_see(void **state)
{
    (void)state;
    forget();
    start_and_wait(2, 2, 7);
    fc_cut(fc, 2, RANK_1, true);
    run(50);
    assert_int_equal(qmgr_at(1)->arbit.node, RANK_1_TOO);
    assert_int_equal(qmgr_at(2)->arbit.node, RANK_1_TOO);
    fc_kill(fc, 1);
    run_looking(200);
    assert_int_equal(check_end(), 2);
}

/* A member hangs while the arbitrator is being prepared anew, or handed over: the other one can
 * still ask the one before. */
static void test_a_hang_while_it_is_prepared(void **state)
{
    (void)state;
    for (uint32_t ranks = 1; ranks <= 3; ranks += 2) {
        forget();
        start_and_wait(2, 2, ranks);
        assert_int_equal(qmgr_at(1)->arbit.node, RANK_1);
        fc_cut(fc, 2, RANK_1, true); /* It tells the president so, and hangs. */
        fc_links(fc);
        while (fc_run_node(fc, 2)) {
        }
        asleep[2] = true;
        run_looking(30);
        assert_int_not_equal(qmgr_at(1)->arbit.state, ARBIT_RUN);
        run_looking(1000);
        assert_int_equal(members_of(1), 1);
        assert_int_equal(yes, 1);
        asleep[2] = false;
        run_looking(200);
        assert_int_equal(check_end(), 1);
        fc_destroy(fc);
        fc_init(fc);
    }
}

static void test_no_answer_stops_both(void **state)
{
    (void)state;
    forget();
    start_and_wait(2, 2, 1);
    mute[RANK_1] = true;
    divide(1, true);
    run_looking(200);
    assert_int_equal(alive_bits(), 3); /* They still wait. */
    run_looking(400);
    assert_int_equal(check_end(), 0);
    assert_stopped(1, EXIT_ARBIT_SHUTDOWN);
    assert_stopped(2, EXIT_ARBIT_SHUTDOWN);
}

/* The arbitrator is lost together with a half of the cluster. */
static void test_arbitrator_on_the_lost_side(void **state)
{
    (void)state;
    forget();
    start_and_wait(4, 2, 1);
    for (uint32_t id = 1; id <= 4; id += 2) {
        fc_cut(fc, id, RANK_1, true);
        fc_cut(fc, id, 2, true);
        fc_cut(fc, id, 4, true);
    }
    run_looking(500);
    assert_int_equal(check_end(), 0xA); /* 2 and 4 have it. */
    assert_stopped(1, EXIT_ARBIT_SHUTDOWN);
}

/* An arbitrator that has begun anew knows nothing of what it has promised. */
static void test_arbitrator_forgets(void **state)
{
    (void)state;
    forget();
    start_and_wait(2, 2, 1);
    memset(arbitrators, 0, sizeof(arbitrators));
    divide(1, true);
    run_looking(400);
    assert_int_equal(check_end(), 0);
    assert_int_equal(yes, 0);
}

/* --- At random. --- */

static struct rng dice;

static uint32_t draw(uint32_t below)
{
    return (uint32_t)(rng_next(&dice) % below);
}

/* Single steps of nodes and links, so that a failure meets any moment of another one's handling. */
static void small_steps(uint32_t steps)
{
    for (uint32_t i = 0; i < steps; i++) {
        fc_links(fc);
        uint32_t id = 1 + draw(nodes_all);
        (void)run_node(id);
        look();
        (void)fc_deliver(fc, 1 + draw(FC_NODES - 1), 1 + draw(nodes_all));
        (void)fc_deliver(fc, 1 + draw(nodes_all), RANK_1 + draw(3));
        clients_tick();
        look();
        if (draw(8) == 0) fc->now++;
    }
}

static void trouble(void)
{
    uint32_t a = 1 + draw(nodes_all);
    uint32_t b = 1 + draw(nodes_all);
    switch (draw(10)) {
    case 0:
    case 1:
        if (fc_alive(fc, a)) fc_kill(fc, a);
        return;
    case 2:
        if (a != b) fc_cut(fc, a, b, true);
        return;
    case 3:
        if (a != b) fc->link[a][b].stalled = true;
        return;
    case 4:
        divide(draw(1u << nodes_all), true);
        return;
    case 5:
    case 6:
        asleep[a] = true;
        return;
    case 7: /* All wake up. */
        memset(asleep, 0, sizeof(asleep));
        return;
    case 8: /* What was held up arrives, what was cut may be linked again. */
        for (uint32_t id = 1; id < FC_NODES; id++) {
            for (uint32_t other = 1; other < FC_NODES; other++) {
                fc->link[id][other].stalled = false;
                fc->link[id][other].cut = false;
            }
        }
        return;
    default:
        fc_cut(fc, a, RANK_1 + draw(3), true);
        return;
    }
}

/* Checks without a reason, at other moments in each node, find nothing. */
static void test_a_healthy_cluster_stays(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        rng_seed(&dice, seed);
        fc->seed = seed;
        forget();
        start_and_wait(4, 2, 1);
        for (uint32_t i = 0; i < 20; i++) {
            small_steps(200);
            run_looking(17);
        }
        assert_int_equal(check_end(), 15);
        assert_int_equal(seen[1].count, 0);
        fc_destroy(fc);
        fc_init(fc);
    }
}

static uint32_t survivors_total;

static void random_run(uint64_t seed)
{
    static const uint32_t clusters[][2] = {{2, 2}, {3, 3}, {4, 2}, {4, 4}, {6, 2}, {6, 3}, {4, 1}};
    rng_seed(&dice, seed);
    uint32_t which = draw(sizeof(clusters) / sizeof(clusters[0]));
    fc->seed = seed * 1000u;
    forget();
    start_and_wait(clusters[which][0], clusters[which][1], draw(8));
    uint32_t troubles = 1 + draw(5);
    for (uint32_t i = 0; i < troubles; i++) {
        trouble();
        if (draw(2) == 0)
            small_steps(draw(400));
        else
            run_looking(draw(60));
    }
    run_looking(600);
    memset(asleep, 0, sizeof(asleep));
    run_looking(600);
    /* What is still cut or stalled stays so: those that live on do not need it. */
    uint32_t left = check_end();
    survivors_total += left != 0;
}

static void test_random(void **state)
{
    (void)state;
    const char *only = getenv("FAILURE_SEED");
    const char *count = getenv("FAILURE_RUNS");
    uint64_t first = only != NULL ? strtoull(only, NULL, 10) : 1;
    uint64_t runs = only != NULL ? 1 : count != NULL ? strtoull(count, NULL, 10) : 150;
    survivors_total = 0;
    for (uint64_t seed = first; seed < first + runs; seed++) {
        print_message("seed %u\n", (unsigned)seed);
        random_run(seed);
        fc_destroy(fc);
        fc_init(fc);
        fc->verbose = getenv("FC_VERBOSE") != NULL;
    }
    print_message("%u of %u clusters lived on\n", survivors_total, (unsigned)runs);
    if (runs >= 100) assert_true(survivors_total > runs / 4);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_a_node_is_killed),
        T(test_a_node_hangs_and_wakes_up),
        T(test_a_node_that_all_need_hangs),
        T(test_one_broken_link),
        T(test_a_node_with_most_links_broken_leaves),
        T(test_one_way),
        T(test_deaf_and_mute_nodes),
        T(test_a_slow_node_is_reported_and_stays),
        T(test_bipartitions),
        T(test_halves_and_arbitrators),
        T(test_halves_one_way),
        T(test_arbitrators_by_rank),
        T(test_a_hang_while_it_is_prepared),
        T(test_hand_over_to_one_that_all_see),
        T(test_no_answer_stops_both),
        T(test_arbitrator_on_the_lost_side),
        T(test_arbitrator_forgets),
        T(test_a_healthy_cluster_stays),
        T(test_random),
    };
    const char *filter = getenv("FAILURE_TEST");
    if (filter != NULL) cmocka_set_test_filter(filter);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
