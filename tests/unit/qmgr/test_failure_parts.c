/* test_failure_parts.c -- who goes on when a cluster falls apart: partitions, halves, arbitrators.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/failure_fixture.h"

/* --- Partitions: the table of test_partition_rule, with real nodes. --- */

static void all_bipartitions(uint32_t nodes, uint32_t replicas, uint32_t ranks)
{
    uint32_t all = (1u << nodes) - 1u;
    for (uint32_t part = 1; part <= all / 2u; part++) {
        struct node_config config = failure_config_of(nodes, replicas);
        struct node_mask one = {{(part << 1)}};
        struct node_mask other = {{((all & ~part) << 1)}};
        struct node_mask were = {{(all << 1)}};
        failure_forget();
        failure_start_and_wait(nodes, replicas, ranks);
        failure_divide(part, true);
        failure_run_looking(500);
        uint32_t left = failure_check_end();
        for (uint32_t id = 1; id <= nodes; id++) {
            if ((left >> (id - 1) & 1u) == 0) assert_true(fc_fc->node[id].dead);
        }
        uint32_t code = partition_rule(&config, &were, &one);
        uint32_t code_other = partition_rule(&config, &were, &other);
        if (arbit_wins(code)) {
            assert_int_equal(left, part);
        } else if (arbit_wins(code_other)) {
            assert_int_equal(left, all & ~part);
        } else if (code == ARBIT_PARTITIONING && ranks != 0) {
            assert_true(left == part || left == (all & ~part));
            assert_int_equal(failure_yes, 1);
        } else {
            assert_int_equal(left, 0);
        }
        fc_destroy(fc_fc);
        fc_init(fc_fc);
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
    const char *lives; /* Fate of each half: L lives, . stops; ? one of the two. */
} half_cases[] = {
    {1, "1.", "L."}, {1, ".1", ".L"}, {1, "11", "??"}, {1, "..", ".."},
    {2, "2.", "L."}, {2, ".2", ".L"}, {2, "22", "??"}, {2, "..", ".."},
    {3, "BB", "??"}, {3, "B.", "L."}, {3, ".B", ".L"}, {3, "12", "L."},
    {3, "21", ".L"}, {3, "22", ".."}, {3, "2.", ".."}, {3, "1B", "??"},
};

static void lose_sight(uint32_t part, char view)
{
    for (uint32_t id = 1; id <= failure_nodes_all; id++) {
        if ((part >> (id - 1) & 1u) == 0) continue;
        if (view != '1' && view != 'B') fc_cut(fc_fc, id, RANK_1, true);
        if (view != '2' && view != 'B') fc_cut(fc_fc, id, RANK_1_TOO, true);
    }
}

static void one_half_case(uint32_t nodes, uint32_t replicas, uint32_t part,
                          const struct half_case *given)
{
    uint32_t all = (1u << nodes) - 1u;
    failure_forget();
    failure_start_and_wait(nodes, replicas, given->ranks);
    failure_divide(part, true);
    lose_sight(part, given->views[0]);
    lose_sight(all & ~part, given->views[1]);
    failure_run_looking(700);
    uint32_t left = failure_check_end();
    if (given->lives[0] == '?')
        assert_true(left == part || left == (all & ~part));
    else
        assert_int_equal(left, (given->lives[0] == 'L' ? part : 0u) |
                                   (given->lives[1] == 'L' ? all & ~part : 0u));
    fc_destroy(fc_fc);
    fc_init(fc_fc);
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
        struct node_config config = failure_config_of(nodes, clusters[i][1]);
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
        failure_forget();
        failure_start_and_wait(nodes, 2, 1);
        failure_run_looking(3 * (turn / 8)); /* At another point of the round of heartbeats. */
        for (uint32_t a = 1; a <= nodes; a++) {
            for (uint32_t b = 1; b <= nodes; b++) {
                if ((deaf >> (a - 1) & 1u) != 0 && (deaf >> (b - 1) & 1u) == 0)
                    fc_fc->link[b][a].stalled = true;
            }
        }
        failure_run_looking(2000);
        uint32_t left = failure_check_end();
        assert_true(left == deaf || left == (((1u << nodes) - 1u) & ~deaf));
        assert_int_equal(failure_yes, 1);
        fc_destroy(fc_fc);
        fc_init(fc_fc);
    }
}

/* --- The arbitrator. --- */

static void test_arbitrators_by_rank(void **state)
{
    (void)state;
    failure_forget();
    failure_start_and_wait(2, 2, 7);
    assert_int_equal(failure_qmgr_at(1)->arbit.node, RANK_1);
    assert_int_equal(failure_qmgr_at(2)->arbit.node, RANK_1);
    uint32_t ticket = failure_qmgr_at(1)->arbit.ticket[0];
    fc_client(fc_fc, RANK_1, false); /* Handed over at once... */
    failure_run(20);
    assert_int_equal(failure_qmgr_at(1)->arbit.node, RANK_1_TOO);
    assert_int_equal(failure_qmgr_at(2)->arbit.node, RANK_1_TOO);
    assert_int_not_equal(failure_qmgr_at(1)->arbit.ticket[0], ticket);
    assert_int_equal(failure_qmgr_at(1)->arbit.ticket[0], failure_qmgr_at(2)->arbit.ticket[0]);
    fc_client(fc_fc, RANK_1_TOO, false);
    failure_run(20);
    assert_int_equal(failure_qmgr_at(2)->arbit.node, RANK_2);
    failure_divide(1, true); /* ...so that this works. */
    failure_run_looking(300);
    uint32_t left = failure_check_end();
    assert_true(left == 1 || left == 2);
    assert_int_equal(failure_yes, 1);
}

/* The best candidate does not answer: the next one is asked, and serves. */
static void test_a_candidate_does_not_answer(void **state)
{
    (void)state;
    failure_forget();
    failure_start(2, 2, 3);
    failure_mute[RANK_1] = true;
    failure_run(3000);
    for (uint32_t id = 1; id <= 2; id++)
        assert_int_equal(failure_qmgr_at(id)->arbit.node, RANK_1_TOO);
    assert_int_equal(failure_qmgr_at(failure_qmgr_at(1)->join.president)->arbit.state, ARBIT_RUN);
    assert_true(
        node_mask_has(&failure_qmgr_at(failure_qmgr_at(1)->join.president)->arbit.bad, RANK_1));
    failure_divide(1, true);
    failure_run_looking(500);
    uint32_t left = failure_check_end();
    assert_true(left == 1 || left == 2);
    assert_int_equal(failure_yes, 1);
}

/* One node alone loses its link to the arbitrator: another one that all see takes its place. */
static void test_hand_over_to_one_that_all_see(void **state)
{
    (void)state;
    failure_forget();
    failure_start_and_wait(2, 2, 7);
    fc_cut(fc_fc, 2, RANK_1, true);
    failure_run(50);
    assert_int_equal(failure_qmgr_at(1)->arbit.node, RANK_1_TOO);
    assert_int_equal(failure_qmgr_at(2)->arbit.node, RANK_1_TOO);
    fc_kill(fc_fc, 1);
    failure_run_looking(200);
    assert_int_equal(failure_check_end(), 2);
}

/* A member hangs while the arbitrator is being prepared anew, or handed over: the other one can
 * still ask the one before. */
static void test_a_hang_while_it_is_prepared(void **state)
{
    (void)state;
    for (uint32_t ranks = 1; ranks <= 3; ranks += 2) {
        failure_forget();
        failure_start_and_wait(2, 2, ranks);
        assert_int_equal(failure_qmgr_at(1)->arbit.node, RANK_1);
        fc_cut(fc_fc, 2, RANK_1, true); /* It tells the president so, and hangs. */
        fc_links(fc_fc);
        while (fc_run_node(fc_fc, 2)) {
        }
        failure_asleep[2] = true;
        failure_run_looking(30);
        assert_int_not_equal(failure_qmgr_at(1)->arbit.state, ARBIT_RUN);
        failure_run_looking(1000);
        assert_int_equal(failure_members_of(1), 1);
        assert_int_equal(failure_yes, 1);
        failure_asleep[2] = false;
        failure_run_looking(200);
        assert_int_equal(failure_check_end(), 1);
        fc_destroy(fc_fc);
        fc_init(fc_fc);
    }
}

static void test_no_answer_stops_both(void **state)
{
    (void)state;
    failure_forget();
    failure_start_and_wait(2, 2, 1);
    failure_mute[RANK_1] = true;
    failure_divide(1, true);
    failure_run_looking(200);
    assert_int_equal(failure_alive_bits(), 3); /* They still wait. */
    failure_run_looking(400);
    assert_int_equal(failure_check_end(), 0);
    failure_assert_stopped(1, EXIT_ARBIT_SHUTDOWN);
    failure_assert_stopped(2, EXIT_ARBIT_SHUTDOWN);
}

/* The arbitrator is lost together with a half of the cluster. */
static void test_arbitrator_on_the_lost_side(void **state)
{
    (void)state;
    failure_forget();
    failure_start_and_wait(4, 2, 1);
    for (uint32_t id = 1; id <= 4; id += 2) {
        fc_cut(fc_fc, id, RANK_1, true);
        fc_cut(fc_fc, id, 2, true);
        fc_cut(fc_fc, id, 4, true);
    }
    failure_run_looking(500);
    assert_int_equal(failure_check_end(), 0xA); /* 2 and 4 have it. */
    failure_assert_stopped(1, EXIT_ARBIT_SHUTDOWN);
}

/* An arbitrator that has begun anew knows nothing of what it has promised. */
static void test_arbitrator_forgets(void **state)
{
    (void)state;
    failure_forget();
    failure_start_and_wait(2, 2, 1);
    memset(failure_arbitrators, 0, sizeof(failure_arbitrators));
    failure_divide(1, true);
    failure_run_looking(400);
    assert_int_equal(failure_check_end(), 0);
    assert_int_equal(failure_yes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_bipartitions),
        T(test_halves_and_arbitrators),
        T(test_halves_one_way),
        T(test_arbitrators_by_rank),
        T(test_a_candidate_does_not_answer),
        T(test_a_hang_while_it_is_prepared),
        T(test_hand_over_to_one_that_all_see),
        T(test_no_answer_stops_both),
        T(test_arbitrator_on_the_lost_side),
        T(test_arbitrator_forgets),
    };
    return RUN_TESTS(tests);
}
