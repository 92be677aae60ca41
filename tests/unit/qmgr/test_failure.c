/* test_failure.c -- who is dead: kills, hangs, broken links, one thing at a time and at random. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/failure_fixture.h"

/* --- One thing at a time. --- */

static void test_a_node_is_killed(void **state)
{
    (void)state;
    for (uint32_t victim = 1; victim <= 4; victim++) {
        failure_forget();
        failure_start_and_wait(4, 2, 0);
        fc_kill(fc_fc, victim);
        failure_run_looking(30);
        assert_int_equal(failure_check_end(), 15u & ~(1u << (victim - 1)));
        uint32_t president = failure_oldest_of(15u & ~(1u << (victim - 1)));
        assert_int_equal(failure_qmgr_at(president)->join.president, president);
        fc_destroy(fc_fc);
        fc_init(fc_fc);
    }
}

static void test_a_node_hangs_and_wakes_up(void **state)
{
    (void)state;
    for (uint32_t victim = 1; victim <= 4; victim++) {
        failure_forget();
        failure_start_and_wait(4, 2, 0);
        for (uint32_t id = 1; id < FC_NODES; id++)
            fc_fc->link[id][victim].stalled = fc_fc->link[victim][id].stalled = true;
        failure_run_looking(300);
        assert_int_equal(failure_check_end(), 15u & ~(1u << (victim - 1)));
        assert_true(fc_fc->node[victim].dead); /* It was alone. */
        fc_destroy(fc_fc);
        fc_init(fc_fc);
        failure_forget();
        failure_start_and_wait(4, 2, 0);
        failure_asleep[victim] = true;
        failure_run_looking(1000);
        assert_int_equal(failure_seen[victim].count, 0);
        failure_asleep[victim] = false;
        failure_run_looking(200);
        assert_int_equal(failure_check_end(), 15u & ~(1u << (victim - 1)));
        failure_assert_stopped(victim, EXIT_DECLARED_DEAD);
        fc_destroy(fc_fc);
        fc_init(fc_fc);
    }
}

/* Without it the others cannot go on, nor can it without them: they wait longer for its answer. */
static void test_a_node_that_all_need_hangs(void **state)
{
    (void)state;
    for (uint32_t turn = 0; turn < 8; turn++) {
        uint32_t victim = turn % 2 == 0 ? 1 : 3;
        uint32_t other = 4 - victim;
        failure_forget();
        failure_start_and_wait(4, 2, 1);
        fc_kill(fc_fc, 2);
        failure_run_looking(50);
        fc_kill(fc_fc, 4);
        failure_run_looking(50 + turn);
        assert_int_equal(failure_check_end(), 5);
        failure_asleep[victim] = true;
        failure_run_looking(300);
        failure_asleep[victim] = false;
        failure_run_looking(300);
        assert_int_equal(failure_check_end(), 5);
        assert_int_equal(failure_seen[other].count, 2);
        if (turn % 4 < 2) { /* But not for ever. */
            failure_asleep[victim] = true;
            failure_run_looking(4000);
            failure_assert_stopped(other, EXIT_ARBIT_SHUTDOWN);
        } else { /* And not when it is known to be dead. */
            fc_kill(fc_fc, victim);
            failure_run_looking(200);
            failure_assert_stopped(other, EXIT_ARBIT_SHUTDOWN);
        }
        fc_destroy(fc_fc);
        fc_init(fc_fc);
    }
}

static void test_one_broken_link(void **state)
{
    (void)state;
    for (uint32_t a = 1; a <= 4; a++) {
        for (uint32_t b = a + 1; b <= 4; b++) {
            failure_forget();
            failure_start_and_wait(4, 2, 0);
            fc_cut(fc_fc, a, b, true);
            failure_run_looking(200);
            uint32_t out = failure_younger(a, b);
            assert_int_equal(failure_check_end(), 15u & ~(1u << (out - 1)));
            failure_assert_stopped(out, EXIT_DECLARED_DEAD);
            fc_destroy(fc_fc);
            fc_init(fc_fc);
        }
    }
}

/* Nobody can go on without either, and neither answers the other any more: the others, who reach
 * both, do not wait for what cannot come. */
static void test_one_broken_link_between_two_that_all_need(void **state)
{
    (void)state;
    for (uint32_t a = 1; a <= 4; a++) {
        for (uint32_t b = a + 1; b <= 4; b++) {
            failure_forget();
            failure_start_and_wait(4, 1, 0);
            fc_cut(fc_fc, a, b, true);
            failure_run_looking(200);
            for (uint32_t id = 1; id <= 4; id++)
                assert_true(fc_fc->node[id].dead);
            fc_destroy(fc_fc);
            fc_init(fc_fc);
        }
    }
}

static void test_a_node_with_most_links_broken_leaves(void **state)
{
    (void)state;
    for (uint32_t victim = 1; victim <= 4; victim++) {
        failure_forget();
        failure_start_and_wait(4, 2, 0);
        uint32_t friend = victim == 4 ? 1 : victim + 1; /* The only one that it still reaches. */
        for (uint32_t id = 1; id <= 4; id++) {
            if (id != victim && id != friend) fc_cut(fc_fc, victim, id, true);
        }
        failure_run_looking(300);
        assert_int_equal(failure_check_end(), 15u & ~(1u << (victim - 1)));
        failure_assert_stopped(victim, EXIT_DECLARED_DEAD);
        fc_destroy(fc_fc);
        fc_init(fc_fc);
    }
}

/* Each of them knows of two broken links of its own, and of the third one only by what others say:
 * without that it would think that it has most and leaves, while the others wait for it to lead. */
static void test_three_that_do_not_reach_each_other(void **state)
{
    (void)state;
    for (uint32_t turn = 0; turn < 8; turn++) {
        uint32_t apart[3]; /* One of each node group. */
        uint32_t all = 63;
        for (uint32_t i = 0; i < 3; i++)
            apart[i] = 1 + 2 * i + (turn >> i & 1u);
        failure_forget();
        failure_start_and_wait(6, 2, 0);
        uint32_t oldest = failure_younger(apart[0], apart[1]) == apart[0] ? apart[1] : apart[0];
        oldest = failure_younger(oldest, apart[2]) == oldest ? apart[2] : oldest;
        for (uint32_t i = 0; i < 3; i++) {
            fc_cut(fc_fc, apart[i], apart[(i + 1) % 3], true);
            if (apart[i] != oldest) all &= ~(1u << (apart[i] - 1));
        }
        failure_run_looking(300);
        assert_int_equal(failure_check_end(), all);
        for (uint32_t i = 0; i < 3; i++) {
            if (apart[i] != oldest) failure_assert_stopped(apart[i], EXIT_DECLARED_DEAD);
        }
        fc_destroy(fc_fc);
        fc_init(fc_fc);
    }
}

/* Who alone hears all three has found them silent. When they have answered, each has to know the
 * others' rows, as if they had never been silent. */
static void test_rows_of_nodes_that_were_silent(void **state)
{
    static const uint32_t apart[3] = {1, 3, 5};
    (void)state;
    failure_forget();
    failure_start_and_wait(6, 2, 0);
    for (uint32_t i = 0; i < 3; i++) {
        qmgr_suspect(failure_qmgr_at(2), apart[i], false, "as the test wants");
        qmgr_suspect(failure_qmgr_at(4), apart[i], false, "as the test wants");
        qmgr_suspect(failure_qmgr_at(6), apart[i], false, "as the test wants");
    }
    for (uint32_t i = 0; i < 3; i++)
        fc_cut(fc_fc, apart[i], apart[(i + 1) % 3], true);
    failure_run_looking(3);
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t k = 0; k < 3; k++) {
            if (i == k) continue;
            const struct reach *map = &failure_qmgr_at(apart[i])->reach.map;
            assert_true(node_mask_has(&map->known, apart[k]));
            assert_false(node_mask_has(&map->row[apart[k]], apart[3 - i - k]));
        }
    }
    failure_run_looking(300);
    assert_int_equal(__builtin_popcount(failure_check_end()), 4);
}

static void says(struct qmgr *to, uint32_t node, struct fail_reach_rep rep)
{
    struct signal sig = {.gsn = GSN_FAIL_REACH_REP, .sender = block_ref(node, BLOCK_QMGR, 0)};
    rep.incarnation = to->join.incarnation;
    sig.payload = (uint32_t *)(void *)&rep;
    qmgr_exec_FAIL_REACH_REP(&to->block, &sig);
}

/* What a node said of losses before the last failure was agreed on says nothing of those that are
 * left: it is asked again. */
static void test_losses_of_a_former_view(void **state)
{
    (void)state;
    failure_forget();
    failure_start_and_wait(4, 2, 0);
    struct qmgr *qmgr = failure_qmgr_at(1);
    says(qmgr, 3, (struct fail_reach_rep){.row = qmgr->join.members, .lost = 1});
    says(qmgr, 4, (struct fail_reach_rep){.row = qmgr->join.members, .lost = 1});
    assert_true(node_mask_has(&qmgr->reach.losers, 3));
    says(qmgr, 3, (struct fail_reach_rep){.row = qmgr->join.members});
    assert_false(node_mask_has(&qmgr->reach.losers, 3));
    failure_asleep[4] = true; /* It is silent, and does not say the opposite. */
    qmgr_suspect(qmgr, 4, false, "as the test wants");
    assert_true(node_mask_empty(&qmgr->reach.losers));
}

/* The word that begins a check is one of this check: nothing is forgotten of it. */
static void test_a_loss_that_begins_the_check(void **state)
{
    struct node_mask row = {{0}};
    (void)state;
    failure_forget();
    failure_start_and_wait(4, 2, 0);
    struct qmgr *qmgr = failure_qmgr_at(1);
    row = qmgr->join.members;
    node_mask_remove(&row, 4);
    assert_int_equal(qmgr->reach.running, 0);
    says(qmgr, 3, (struct fail_reach_rep){.row = row, .lost = 1});
    assert_int_equal(qmgr->reach.running, 1);
    assert_true(node_mask_has(&qmgr->reach.losers, 3));
}

/* Node 4 tells node 1 that node 3, silent there, does not reach node 2, which has answered. When
 * node 3 says so itself, it is news: node 2 is asked again. */
static void test_own_word_behind_a_told_one(void **state)
{
    struct node_mask row = {{0}};
    (void)state;
    failure_forget();
    failure_start_and_wait(4, 2, 0);
    struct qmgr *qmgr = failure_qmgr_at(1);
    qmgr_suspect(qmgr, 3, false, "as the test wants");
    says(qmgr, 2, (struct fail_reach_rep){.answer = qmgr->reach.ask[2], .row = qmgr->join.members});
    assert_true(node_mask_has(&qmgr->reach.heard, 2));
    row = qmgr->join.members;
    node_mask_remove(&row, 2);
    says(qmgr, 4, (struct fail_reach_rep){.of = 3, .row = row});
    assert_true(node_mask_has(&qmgr->reach.told, 3));
    assert_true(node_mask_has(&qmgr->reach.heard, 2)); /* Hearsay asks nobody. */
    says(qmgr, 3, (struct fail_reach_rep){.answer = qmgr->reach.ask[3], .row = row});
    assert_false(node_mask_has(&qmgr->reach.told, 3));
    assert_false(node_mask_has(&qmgr->reach.heard, 2));
    failure_run_looking(300); /* It answers. */
    assert_int_equal(failure_check_end(), 15);
}

/* The president does not reach a node. Ahead of the moment in which it fences that one, the node's
 * only partner dies; all know it but the president, which is slow. Returns when it has fenced. */
static uint64_t in_the_way(uint32_t slow_ms, uint64_t kill_ms, uint32_t *left)
{
    uint64_t fenced_ms = 0;
    failure_forget();
    failure_start_and_wait(6, 2, 1);
    uint32_t president = failure_qmgr_at(1)->join.president;
    uint32_t other = (president + 1) % 6 + 1; /* A node of another group. */
    uint32_t partner = (other - 1) / 2 * 4 + 3 - other;
    uint64_t began = fc_fc->now;
    failure_slow[president] = slow_ms;
    fc_cut(fc_fc, president, other, true);
    for (uint32_t ms = 0; ms < 1500; ms++) {
        if (ms == kill_ms) fc_kill(fc_fc, partner);
        failure_run_looking(1);
        if (fenced_ms == 0 && node_mask_has(&failure_qmgr_at(president)->failure.fenced, other))
            fenced_ms = fc_fc->now - began;
    }
    failure_slow[president] = 0;
    failure_run_looking(500);
    *left = failure_check_end();
    fc_destroy(fc_fc);
    fc_init(fc_fc);
    return fenced_ms;
}

/* What it has fenced stays so, but the others need not follow it: they go on without it. */
static void test_a_president_that_is_in_the_way(void **state)
{
    (void)state;
    uint32_t left;
    for (uint32_t slow_ms = 1; slow_ms <= 12; slow_ms++) {
        uint64_t fenced_ms = in_the_way(slow_ms, UINT64_MAX, &left);
        assert_int_not_equal(left, 0);
        for (uint64_t ahead = 1; ahead <= 8 && ahead < fenced_ms; ahead++) {
            (void)in_the_way(slow_ms, fenced_ms - ahead, &left);
            if (left == 0)
                fail_msg("slow %u, %u ms ahead: nobody goes on", slow_ms, (uint32_t)ahead);
        }
    }
}

/* In one direction nothing arrives any more. */
static void test_one_way(void **state)
{
    (void)state;
    for (uint32_t a = 1; a <= 4; a++) {
        uint32_t b = a % 4 + 1;
        failure_forget();
        failure_start_and_wait(4, 2, 0);
        fc_fc->link[a][b].stalled = true;
        failure_run_looking(800);
        uint32_t left = failure_check_end();
        assert_true(left == (15u & ~(1u << (a - 1))) || left == (15u & ~(1u << (b - 1))));
        fc_destroy(fc_fc);
        fc_init(fc_fc);
    }
}

/* A node that hears nobody any more, or that nobody hears: it leaves, and what it says while it
 * does not know better takes nobody else along. */
static void deaf_or_mute(uint32_t nodes, uint32_t replicas, uint32_t turn)
{
    uint32_t victim = turn % nodes + 1;
    failure_forget();
    failure_start_and_wait(nodes, replicas, turn % 2);
    failure_run_looking(7 * (turn / nodes)); /* At another point of the round of heartbeats. */
    for (uint32_t id = 1; id <= nodes; id++) {
        fc_fc->link[id][victim].stalled = turn / nodes % 2 == 0;
        fc_fc->link[victim][id].stalled = turn / nodes % 2 != 0;
    }
    /* Another one is busy for three heartbeats now and then: that is no reason to lose it as well.
     */
    for (uint32_t i = 0; i < 15; i++) {
        uint32_t busy = (victim + turn / nodes) % nodes + 1;
        if (busy == victim) busy = busy % nodes + 1;
        failure_asleep[busy] = true;
        failure_run_looking(3 * HEARTBEAT_MS);
        failure_asleep[busy] = false;
        failure_run_looking(3 * HEARTBEAT_MS + turn % 7);
    }
    failure_run_looking(500);
    assert_int_equal(failure_check_end(), ((1u << nodes) - 1u) & ~(1u << (victim - 1)));
    assert_true(fc_fc->node[victim].dead);
    fc_destroy(fc_fc);
    fc_init(fc_fc);
}

static void test_deaf_and_mute_nodes(void **state)
{
    (void)state;
    for (uint32_t turn = 0; turn < 48; turn++) {
        deaf_or_mute(4, 2, turn);
        deaf_or_mute(3, 3, turn);
    }
}

static void test_a_slow_node_is_reported_and_stays(void **state)
{
    (void)state;
    failure_forget();
    failure_start_and_wait(3, 3, 0);
    for (uint32_t turn = 0; turn < 5; turn++) { /* Stalls of three and a half intervals. */
        for (uint32_t id = 1; id <= 3; id++)
            fc_fc->link[id][2].stalled = fc_fc->link[2][id].stalled = true;
        failure_run_looking(70);
        for (uint32_t id = 1; id <= 3; id++)
            fc_fc->link[id][2].stalled = fc_fc->link[2][id].stalled = false;
        failure_run_looking(100);
    }
    assert_int_equal(failure_check_end(), 7);
    assert_int_equal(failure_seen[1].count, 0);
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
        fc_links(fc_fc);
        uint32_t id = 1 + draw(failure_nodes_all);
        (void)failure_run_node(id);
        failure_look();
        (void)fc_deliver(fc_fc, 1 + draw(FC_NODES - 1), 1 + draw(failure_nodes_all));
        (void)fc_deliver(fc_fc, 1 + draw(failure_nodes_all), RANK_1 + draw(3));
        failure_clients_tick();
        failure_look();
        if (draw(8) == 0) fc_fc->now++;
    }
}

/* Finds a node that lives and has fenced another one; 0 = nobody has. */
static uint32_t one_that_has_fenced(void)
{
    for (uint32_t id = 1; id <= failure_nodes_all; id++) {
        if (failure_lives(id) && !node_mask_empty(&failure_qmgr_at(id)->failure.fenced)) return id;
    }
    return 0;
}

/* In the moment in which somebody has fenced others a link breaks, or that one dies. */
static void trouble_after_a_fence(uint32_t a, uint32_t b)
{
    for (uint32_t ms = 0; ms < 120 && one_that_has_fenced() == 0; ms++)
        failure_run_looking(1);
    uint32_t fenced = one_that_has_fenced();
    if (a != b)
        fc_cut(fc_fc, a, b, true);
    else if (fenced != 0)
        fc_kill(fc_fc, fenced);
}

static void trouble(void)
{
    uint32_t a = 1 + draw(failure_nodes_all);
    uint32_t b = 1 + draw(failure_nodes_all);
    switch (draw(12)) {
    case 0:
    case 1:
        if (fc_alive(fc_fc, a)) fc_kill(fc_fc, a);
        return;
    case 2:
        if (a != b) fc_cut(fc_fc, a, b, true);
        return;
    case 3:
        if (a != b) fc_fc->link[a][b].stalled = true;
        return;
    case 4:
        failure_divide(draw(1u << failure_nodes_all), true);
        return;
    case 5:
    case 6:
        failure_asleep[a] = true;
        return;
    case 7: /* All wake up. */
        memset(failure_asleep, 0, sizeof(failure_asleep));
        memset(failure_slow, 0, sizeof(failure_slow));
        return;
    case 9:
        failure_slow[a] = 1 + draw(24);
        return;
    case 10:
        trouble_after_a_fence(a, b);
        return;
    case 8: /* What was held up arrives, what was cut may be linked again. */
        for (uint32_t id = 1; id < FC_NODES; id++) {
            for (uint32_t other = 1; other < FC_NODES; other++) {
                fc_fc->link[id][other].stalled = false;
                fc_fc->link[id][other].cut = false;
            }
        }
        return;
    default:
        fc_cut(fc_fc, a, RANK_1 + draw(3), true);
        return;
    }
}

/* Checks without a reason, at other moments in each node, find nothing. */
static void test_a_healthy_cluster_stays(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        rng_seed(&dice, seed);
        fc_fc->seed = seed;
        failure_forget();
        failure_start_and_wait(4, 2, 1);
        for (uint32_t i = 0; i < 20; i++) {
            small_steps(200);
            failure_run_looking(17);
        }
        assert_int_equal(failure_check_end(), 15);
        assert_int_equal(failure_seen[1].count, 0);
        fc_destroy(fc_fc);
        fc_init(fc_fc);
    }
}

static bool somebody_waits(void)
{
    for (uint32_t id = 1; id <= failure_nodes_all; id++) {
        if (!failure_lives(id)) continue;
        const struct qmgr *qmgr = failure_qmgr_at(id);
        if (!node_mask_empty(&qmgr->reach.silent) || !node_mask_empty(&qmgr->reach.lost) ||
            !node_mask_empty(&qmgr->failure.fenced))
            return true;
    }
    return false;
}

static uint32_t survivors_total;

/* What is cut or stalled stays so: those that live on do not need it. */
static void come_to_an_end(void)
{
    failure_run_looking(600);
    memset(failure_asleep, 0, sizeof(failure_asleep));
    memset(failure_slow, 0, sizeof(failure_slow));
    failure_run_looking(600);
    /* For a silent node that all need they wait long. */
    for (uint32_t i = 0; i < 20 && somebody_waits(); i++)
        failure_run_looking(200);
    survivors_total += failure_check_end() != 0;
}

static void start_one_of_many(uint64_t seed)
{
    static const uint32_t clusters[][2] = {{2, 2}, {3, 3}, {4, 2}, {4, 4}, {6, 2}, {6, 3}, {4, 1}};
    rng_seed(&dice, seed);
    uint32_t which = draw(sizeof(clusters) / sizeof(clusters[0]));
    fc_fc->seed = seed * 1000u;
    failure_forget();
    failure_start_and_wait(clusters[which][0], clusters[which][1], draw(8));
}

static void random_run(uint64_t seed)
{
    start_one_of_many(seed);
    uint32_t troubles = 1 + draw(5);
    for (uint32_t i = 0; i < troubles; i++) {
        trouble();
        if (draw(2) == 0)
            small_steps(draw(400));
        else
            failure_run_looking(draw(60));
    }
    come_to_an_end();
}

/* Nodes die and links break one soon after the other, so that not all know of each when they deal
 * with the last; some nodes are slow to learn of anything. */
static void soon_after_each_other(uint64_t seed)
{
    start_one_of_many(seed);
    for (uint32_t slows = draw(4); slows > 0; slows--)
        failure_slow[1 + draw(failure_nodes_all)] = 1 + draw(30);
    for (uint32_t troubles = 1 + draw(5); troubles > 0; troubles--) {
        uint32_t a = 1 + draw(failure_nodes_all);
        uint32_t b = 1 + draw(failure_nodes_all);
        if (draw(10) >= 3 && a != b)
            fc_cut(fc_fc, a, b, true);
        else if (fc_alive(fc_fc, a))
            fc_kill(fc_fc, a);
        if (draw(2) == 0)
            small_steps(draw(150));
        else
            failure_run_looking(draw(40));
    }
    come_to_an_end();
}

static void many_runs(void (*one)(uint64_t seed))
{
    const char *only = getenv("FAILURE_SEED");
    const char *count = getenv("FAILURE_RUNS");
    uint64_t first = only != NULL ? strtoull(only, NULL, 10) : 1;
    uint64_t runs = only != NULL ? 1 : count != NULL ? strtoull(count, NULL, 10) : 150;
    survivors_total = 0;
    for (uint64_t seed = first; seed < first + runs; seed++) {
        print_message("seed %u\n", (unsigned)seed);
        one(seed);
        fc_destroy(fc_fc);
        fc_init(fc_fc);
        fc_fc->verbose = getenv("FC_VERBOSE") != NULL;
    }
    print_message("%u of %u clusters lived on\n", survivors_total, (unsigned)runs);
    if (runs >= 100) assert_true(survivors_total > runs / 4);
}

static void test_random(void **state)
{
    (void)state;
    many_runs(random_run);
}

static void test_random_soon_after_each_other(void **state)
{
    (void)state;
    many_runs(soon_after_each_other);
}

/* --- Starved nodes. --- */

/* All of `victims` run only once in `gap_ms`, at different moments, after it has been getting worse
 * for a while. */
static void starve(uint32_t victims, uint32_t gap_ms)
{
    for (uint32_t gap = 30; gap <= gap_ms; gap = gap * 3 / 2) {
        for (uint32_t id = 1; id <= failure_nodes_all; id++)
            failure_slow[id] = (victims >> (id - 1) & 1u) != 0 ? gap + 7 * id : 0;
        failure_run_looking(6 * gap);
    }
    for (uint32_t id = 1; id <= failure_nodes_all; id++)
        failure_slow[id] = (victims >> (id - 1) & 1u) != 0 ? gap_ms + 7 * id : 0;
    failure_run_looking(10 * gap_ms);
}

/* One, some, or all that share a machine: nobody has failed. */
static void test_starved_nodes_stay(void **state)
{
    static const uint32_t victims[] = {1, 2, 3, 5, 15, 63};
    (void)state;
    for (uint32_t turn = 0; turn < 12; turn++) {
        uint32_t nodes = 2 * (1 + turn % 3);
        uint32_t all = (1u << nodes) - 1u;
        failure_forget();
        failure_start_and_wait(nodes, 2, 1);
        starve(victims[turn % 6] & all, 200);
        assert_int_equal(failure_alive_bits(), all);
        failure_forget();
        failure_run_looking(500);
        assert_int_equal(failure_check_end(), all);
        fc_destroy(fc_fc);
        fc_init(fc_fc);
    }
}

/* How long until nobody that runs counts the node any more. */
static uint64_t missed_after(uint32_t victim)
{
    uint64_t since = fc_fc->now;
    for (;;) {
        bool counted = false;
        failure_run_looking(1);
        for (uint32_t id = 1; id <= failure_nodes_all; id++)
            counted |= id != victim && node_mask_has(&failure_qmgr_at(id)->join.members, victim);
        if (!counted) return fc_fc->now - since;
        assert_true(fc_fc->now - since < 10000);
    }
}

/* Among starved ones it takes longer to find out who hangs, but not for ever; and when all is quiet
 * again it takes no longer than where it has always been. */
static void test_hung_among_starved(void **state)
{
    (void)state;
    for (uint32_t turn = 0; turn < 6; turn++) {
        uint32_t nodes = 2 * (1 + turn % 3);
        uint32_t victim = 1 + turn % 2;
        failure_forget();
        failure_start_and_wait(nodes, 2, 1);
        bool quiet = turn >= 3;
        starve((1u << nodes) - 1u, 100);
        assert_int_equal(failure_alive_bits(), (1u << nodes) - 1u);
        if (quiet) {
            failure_forget();
            failure_run_looking((BEAT_BUCKETS + 1) * BEAT_BUCKET_MS);
            for (uint32_t id = 1; id <= nodes; id++)
                assert_int_equal(qmgr_patience_ms(failure_qmgr_at(id)), 0);
        }
        failure_asleep[victim] = true;
        uint64_t took = missed_after(victim);
        uint32_t longer = quiet ? 0 : 3 * beat_patience_max_ms(HEARTBEAT_MS) + 8 * 150;
        assert_in_range(took, 4 * HEARTBEAT_MS, 7 * HEARTBEAT_MS + longer);
        failure_forget();
        failure_run_looking(500);
        (void)failure_check_end();
        fc_destroy(fc_fc);
        fc_init(fc_fc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_a_node_is_killed),
        T(test_a_node_hangs_and_wakes_up),
        T(test_a_node_that_all_need_hangs),
        T(test_one_broken_link),
        T(test_one_broken_link_between_two_that_all_need),
        T(test_a_node_with_most_links_broken_leaves),
        T(test_three_that_do_not_reach_each_other),
        T(test_rows_of_nodes_that_were_silent),
        T(test_losses_of_a_former_view),
        T(test_a_loss_that_begins_the_check),
        T(test_own_word_behind_a_told_one),
        T(test_a_president_that_is_in_the_way),
        T(test_one_way),
        T(test_deaf_and_mute_nodes),
        T(test_a_slow_node_is_reported_and_stays),
        T(test_a_healthy_cluster_stays),
        T(test_starved_nodes_stay),
        T(test_hung_among_starved),
        T(test_random),
        T(test_random_soon_after_each_other),
    };
    return RUN_TESTS(tests);
}
