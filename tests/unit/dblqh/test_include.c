/* test_include.c -- data nodes are lost and come back, again and again, under transactions: chains
 * agree everywhere, replicas are equal, and a death at any point of a return harms nobody else. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dblqh/key/lqh_op.h"
#include "signals/outcome.h"
#include "tests/unit/support/include_fixture.h"
#include "tests/unit/support/sparse.h"

/* Returns of nodes that had own rows, and what became of these. */
static struct {
    uint64_t returns, kept, copied, removed;
} delta;

/* --- Tests. --- */

/* The copy begins when all have heard; then the node is started. */
static void copy_whole(uint32_t node)
{
    include_copy_order(node);
    for (uint32_t i = 0; include_got.copied == 0 && include_fuse != 0; i++) {
        assert_true(i < 200000);
        include_traffic(1);
    }
    if (include_fuse == 0) return;
    if (include_own_gci != 0) {
        delta.returns++;
        delta.kept += include_got.rows.kept_lo;
        delta.copied += include_got.rows.copied_lo;
        delta.removed += include_got.rows.removed_lo;
    }
    struct node_state_rep rep = {.start_level = START_STARTED};
    w_self(&w, node, BLOCK_DBTC, 1, GSN_NODE_STATE_REP, &rep, sizeof rep / 4u, NULL, 0);
}

static void come_back(uint32_t node)
{
    include_process_again(node);
    include_traffic(include_dice(30));
    include_self(node);
    include_at_others(node);
    if (include_with_files && w.nodes > 2 && include_dice(3) != 0) {
        include_slow_to = node;
        include_slow_from = 1 + (node + include_dice(w.nodes - 1)) % w.nodes;
    }
    copy_whole(node);
    include_slow_from = include_slow_to = 0;
}

/* As it is at the end of a GCI: nothing is under way. */
static void quiet(void)
{
    uint32_t node = 1;
    while (w.dead[node])
        node++;
    include_actors_end();
    include_expect_whole();
    include_save_rows(node);
}

static uint32_t victim_of(uint32_t at_least_alive)
{
    uint32_t alive = 0;
    for (uint32_t i = 1; i <= w.nodes; i++)
        alive += !w.dead[i];
    if (alive <= at_least_alive) return 0;
    uint32_t node = 1 + include_dice(w.nodes);
    while (w.dead[node])
        node = 1 + node % w.nodes;
    return node;
}

static uint32_t a_dead_one(void)
{
    for (uint32_t i = 1, first = include_dice(w.nodes); i <= w.nodes; i++) {
        uint32_t node = 1 + (first + i) % w.nodes;
        if (w.dead[node]) return node;
    }
    return 0;
}

static void start_actors(void)
{
    memset(include_actors, 0, sizeof include_actors);
    include_committed = 0;
    include_actors_seat(0);
}

/* Every node is lost and comes back several times: each has been the first replica and the last. */
static void rolling(uint32_t nodes, uint32_t rounds, uint32_t seed, bool files)
{
    include_begin(nodes, seed);
    include_with_files = files;
    include_keys = 4 + include_dice(files ? 150 : 40);
    start_actors();
    include_traffic(100);
    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t victim = victim_of(1);
        if (victim != 0) {
            include_die(victim);
            include_actors_seat(0);
        }
        include_traffic(include_dice(3) == 0 ? 0 : include_dice(60));
        if (include_dice(3) == 0) continue;
        uint32_t node = a_dead_one();
        if (node != 0) come_back(node);
        include_traffic(include_dice(60));
        if (include_dice(3) != 0) continue;
        quiet();
    }
    for (uint32_t node = a_dead_one(); node != 0; node = a_dead_one())
        come_back(node);
    include_traffic(100);
    include_actors_end();
    include_expect_whole();
    assert_true(include_committed > rounds);
    w_stop(&w);
}

static uint32_t times(uint32_t quick)
{
    return getenv("INCLUDE_TIMES") != NULL ? (uint32_t)atoi(getenv("INCLUDE_TIMES"))
                                           : sparse_of(quick);
}

static void test_rolling(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= times(4); seed++) {
        rolling(2, 12, seed, false);
        rolling(3, 12, seed, false);
        rolling(4, 10, seed, false);
    }
}

static void test_rolling_with_files(void **state)
{
    (void)state;
    memset(&delta, 0, sizeof delta);
    for (uint32_t seed = 1; seed <= 2 * times(4); seed++) {
        rolling(2, 14, 50 + seed, true);
        rolling(3, 14, 50 + seed, true);
        rolling(4, 12, 50 + seed, true);
    }
    print_message("%lu returns with own rows: %lu kept, %lu copied, %lu removed\n",
                  (unsigned long)delta.returns, (unsigned long)delta.kept,
                  (unsigned long)delta.copied, (unsigned long)delta.removed);
    assert_true(delta.returns > 30 && delta.kept > 30 && delta.copied > 30 && delta.removed > 30);
}

/* It dies after so many signals of its return; sometimes one of the others did, and it follows. */
static void death_at(uint32_t nodes, uint32_t at, uint32_t seed)
{
    include_begin(nodes, seed);
    include_keys = 30;
    start_actors();
    include_traffic(60);
    if (seed % 2 == 0) {
        include_with_files = true;
        quiet();
        include_traffic(60);
    }
    uint32_t node = 1 + include_dice(nodes);
    include_die(node);
    include_actors_seat(0);
    include_traffic(include_dice(40));
    include_process_again(node);
    include_self(node);
    include_fuse = at;
    include_at_others(node);
    if (include_fuse != 0) copy_whole(node);
    include_fuse = NO_FUSE;
    uint32_t other = nodes > 2 && include_dice(3) == 0 ? 1 + node % nodes : 0;
    if (other != 0) include_die(other);
    include_die(node);
    include_actors_seat(0);
    include_traffic(40);
    include_actors_end();
    include_expect_whole();
    for (uint32_t dead = a_dead_one(); dead != 0; dead = a_dead_one())
        come_back(dead);
    include_traffic(40);
    include_actors_end();
    include_expect_whole();
    w_stop(&w);
}

static void test_death_after_each_signal(void **state)
{
    uint32_t stride = getenv("INCLUDE_TIMES") != NULL ? 1 : 19 * sparse();
    (void)state;
    for (uint32_t at = 1; at < 400; at += stride) {
        death_at(2, at, 100 + at);
        death_at(3, at, 9000 + at);
    }
}

/* The losses are not dealt with yet when it is back. */
static void test_before_the_end_of_the_takeover(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= times(10); seed++) {
        include_begin(3, seed);
        include_keys = 10;
        start_actors();
        include_traffic(60);
        uint32_t node = 1 + include_dice(3);
        struct trx idle = t_new(&w, CLIENT_TWO, 1 + node % 3);
        t_op(&idle, .api_op = 1, .info = INFO(OP_WRITE, KEY_START | KEY_EXECUTE), .key = 100,
             .value = 7);
        include_step_n(40);
        include_die(node);
        include_actors_seat(0);
        include_process_again(node);
        include_self(node);
        include_at_others(node);
        copy_whole(node);
        include_traffic(50);
        include_actors_end();
        include_expect_whole();
        w_stop(&w);
    }
}

/* A node that is behind hears of the next loss from the node that is back before it hears that that
 * one is back: its LQH and its TC do not wait for a second word. */
static void test_word_of_a_loss_before_the_return(void **state)
{
    (void)state;
    include_begin(4, 3);
    include_die(3);
    w_pass(&w, 50);
    include_process_again(3);
    include_self(3);
    for (uint32_t node = 3; node <= 4; node++) {
        struct lqh_flush_rep flush = {.failure_no = include_failures + 1u, .instances = 1};
        struct lqh_fail_end_rep end = {.failure_no = include_failures + 1u, .instances = 1};
        signal_send(&include_lqh_at(node)->block, block_ref(2, BLOCK_DBLQH, 1), GSN_LQH_FLUSH_REP,
                    PRIO_B, &flush, sizeof flush / 4u, NULL, 0);
        signal_send(&include_lqh_at(node)->block, block_ref(2, BLOCK_DBTC, 1), GSN_LQH_FAIL_END_REP,
                    PRIO_B, &end, sizeof end / 4u, NULL, 0);
    }
    w_pass(&w, 5);
    include_at_others(3);
    w_pass(&w, 50);
    struct node_lost_rep rep = {.failure_no = include_failures + 1u};
    node_mask_add(&rep.nodes, 1);
    for (uint32_t node = 2; node <= 4; node++)
        node_mask_add(&rep.alive, node);
    w_self(&w, 2, BLOCK_DBLQH, 1, GSN_NODE_LOST_REP, &rep, sizeof rep / 4u, NULL, 0);
    w_self(&w, 2, BLOCK_DBTC, 1, GSN_NODE_LOST_REP, &rep, sizeof rep / 4u, NULL, 0);
    w_pass(&w, 50);
    assert_true(include_lqh_at(2)->fail.reported);
    assert_true(include_tc_at(2)->fail.resolving);
    w_stop(&w);
}

/* A transaction that began before is under way without the node: the copy waits for its end. */
static void test_the_copy_waits(void **state)
{
    (void)state;
    include_begin(2, 5);
    include_keys = 10;
    struct trx old = t_new(&w, CLIENT, 1);
    struct trx late = t_new(&w, CLIENT, 1);
    memset(include_actors, 0, sizeof include_actors);
    c_insert(&w, &late, 1, 10);
    include_die(2);
    w_pass(&w, 50);
    t_op(&old, .api_op = 1, .info = INFO(OP_UPDATE, KEY_START | KEY_EXECUTE), .key = 1,
         .value = 20);
    w_run(&w);
    t_expect_keyconf(&old, 0);
    include_process_again(2);
    include_self(2);
    include_at_others(2);
    w_pass(&w, 50);
    t_next(&late);
    t_op(&late, .api_op = 2, .info = INFO(OP_INSERT, WRITE_ALL), .key = 2,
         .value = 30); /* At node 2 it is nothing. */
    w_pass(&w, 20);
    t_expect_keyconf(&late, KEYCONF_COMMITTED);
    include_copy_order(2);
    w_pass(&w, 500);
    assert_int_equal(include_got.copied, 0);
    t_commit(&old);
    w_pass(&w, 200);
    assert_non_null(c_take(&w, GSN_TC_COMMITCONF));
    assert_int_equal(include_got.copied, 1);
    include_expect_whole();
    w_level(&w, 2, START_STARTED);
    c_expect_row(&w, 1, 20);
    c_expect_row(&w, 2, 30);
    w_stop(&w);
}

/* The copy stands still at a locked row; what is behind it is changed, deleted, written. */
static void test_rows_that_are_not_there_yet(void **state)
{
    (void)state;
    include_begin(2, 6);
    include_keys = 10;
    struct trx reader[FRAGMENTS * 4];
    struct trx t = t_new(&w, CLIENT, 1);
    memset(include_actors, 0, sizeof include_actors);
    for (uint32_t key = 1; key <= 64; key++)
        c_insert(&w, &t, key, key);
    include_die(2);
    w_pass(&w, 50);
    for (uint32_t i = 0; i < FRAGMENTS * 4; i++) { /* The first rows of each fragment among them. */
        reader[i] = t_new(&w, CLIENT_TWO, 1);
        t_op(&reader[i], .api_op = 1, .info = INFO(OP_READ, KEY_START | KEY_EXECUTE), .key = 1 + i);
    }
    w_run(&w);
    include_process_again(2);
    include_self(2);
    include_at_others(2);
    include_copy_order(2);
    w_pass(&w, 50);
    assert_int_equal(include_got.copied, 0);
    static const enum key_operation kinds[] = {OP_UPDATE, OP_DELETE, OP_WRITE};
    for (uint32_t key = FRAGMENTS * 4 + 1; key <= 64; key++) {
        for (uint32_t again = 0; again < 2; again++) { /* A deleted one is written anew. */
            bool gone = again == 1 && key % 3 == 1;
            t_next(&t);
            t_op(&t, .api_op = key, .info = INFO(gone ? OP_INSERT : kinds[key % 3], WRITE_ALL),
                 .key = key, .value = 1000 + key);
            w_run(&w);
            while (c_take(&w, GSN_TRANSID_AI) != NULL)
                continue;
            const struct signal *sig = c_take(&w, GSN_TCROLLBACKREP);
            if (sig != NULL) fail_msg("error %u", SIG_PAYLOAD(sig, tcrollbackrep)->error);
        }
    }
    assert_int_equal(include_got.copied, 0);
    for (uint32_t i = 0; i < FRAGMENTS * 4; i++)
        t_commit(&reader[i]);
    w_pass(&w, 200);
    assert_int_equal(include_got.copied, 1);
    include_expect_whole();
    w_stop(&w);
}

static struct lqh_op *waiting_op(uint32_t node)
{
    for (uint32_t at = 0;;) {
        struct lqh_op *op = pool_next(&include_lqh_at(node)->operations, at);
        if (op == NULL || op->state == LQH_WAITING) return op;
        at = pool_index(op->pool.ref);
    }
}

/* Two transactions on one row whose primary is node 1: the second waits there. */
static struct lqh_op *wait_at_node_1(struct trx *holder, struct trx *waiter)
{
    for (uint32_t key = 1;; key++) {
        c_insert(&w, holder, key, key);
        t_next(holder);
        t_next(waiter);
        t_op(holder, .api_op = key, .info = INFO(OP_UPDATE, KEY_START | KEY_EXECUTE), .key = key,
             .value = 1);
        w_run(&w);
        t_op(waiter, .api_op = key, .info = INFO(OP_UPDATE, KEY_START | KEY_EXECUTE), .key = key,
             .value = 2);
        w_run(&w);
        struct lqh_op *op = waiting_op(1);
        if (op != NULL) return op;
        t_rollback(holder);
        t_rollback(waiter);
        w_run(&w);
    }
}

/* What the redo log of the primary holds back belongs to a transaction that was aborted when a node
 * was lost. That node is back when the turn of the operation comes. */
static void test_held_back_until_it_is_back(void **state)
{
    (void)state;
    include_begin(2, 7);
    include_keys = 10;
    memset(include_actors, 0, sizeof include_actors);
    struct trx holder = t_new(&w, CLIENT, 1);
    struct trx waiter = t_new(&w, CLIENT_TWO, 1);
    struct lqh_op *op = wait_at_node_1(&holder, &waiter);
    acc_unlock(include_lqh_at(1)->acc, op->lock);
    op->lock = REF_NONE;
    op->state = LQH_DELAYED; /* As if it had not got as far as the row's lock. */
    include_die(2);
    w_pass(&w, 50);
    include_process_again(2);
    include_self(2);
    include_at_others(2);
    include_copy_order(2);
    w_pass(&w, 100);
    assert_int_equal(include_got.copied, 1);
    w_level(&w, 2, START_STARTED);
    lqh_op_undelay(include_lqh_at(1), op, 0);
    w_pass(&w, 50);
    include_expect_whole();
    w_stop(&w);
}

/* A write that began without the node waits for a row that is locked, and was not changed since the
 * node has it: the copy must not pass the row before. */
static void test_a_write_waits_without_the_node(void **state)
{
    (void)state;
    include_begin(2, 8);
    include_with_files = true;
    memset(include_actors, 0, sizeof include_actors);
    struct trx t = t_new(&w, CLIENT, 1);
    struct trx holder = t_new(&w, CLIENT_TWO, 1);
    struct trx late = t_new(&w, CLIENT, 1);
    for (uint32_t key = 1; key <= 8; key++)
        c_insert(&w, &t, key, key);
    w_pass(&w, 50);
    include_save_rows(1);
    include_die(2);
    w_pass(&w, 50);
    t_op(&holder, .api_op = 1, .info = INFO(OP_READ, KEY_START | KEY_EXECUTE), .key = 1);
    w_run(&w);
    t_op(&late, .api_op = 2, .info = INFO(OP_UPDATE, WRITE_ALL), .key = 1, .value = 99);
    w_run(&w);
    include_process_again(2);
    assert_int_equal(include_own_gci, include_saved_gci);
    include_self(2);
    include_at_others(2);
    include_copy_order(2);
    w_pass(&w, 40);
    assert_int_equal(include_got.copied, 0);
    t_commit(&holder);
    w_pass(&w, 100);
    assert_int_equal(include_got.copied, 1);
    assert_int_equal(include_got.rows.copied_lo, 1);
    assert_int_equal(include_got.rows.kept_lo, 7);
    include_expect_whole();
    w_stop(&w);
}

/* Until nothing moves any more but on these links to node 3. */
static void run_but(bool one, bool four)
{
    for (bool any = true; any;) {
        any = false;
        for (uint32_t to = 1; to <= w.nodes; to++) {
            for (uint32_t from = 1; from <= w.nodes; from++) {
                if (to == 3 && ((one && from == 1) || (four && from == 4))) continue;
                any = include_deliver(to, from) || any;
            }
            any = thread_run_once(node_thread(w.n[to].node, 0), w.now, 1).executed > 0 || any;
        }
    }
}

/*
 * Node 3 has a row that has not changed, and the source's word of it is on its way for long. By way
 * of the others comes its delete, then the word that this is undone, and then what the same
 * transaction did behind the delete. The row stays.
 */
static void test_a_late_insert_of_an_aborted_transaction(void **state)
{
    (void)state;
    include_begin(4, 8);
    include_with_files = true;
    memset(include_actors, 0, sizeof include_actors);
    struct trx t = t_new(&w, CLIENT, 2);
    for (uint32_t key = 1; key <= 20; key++)
        c_insert(&w, &t, key, key);
    w_pass(&w, 50);
    include_save_rows(1);
    uint32_t at = 0;
    while (include_saved[at].fragment != 0) /* Its nodes: 1, 2, 4, and 3 comes back. */
        assert_true(++at < include_saved_count);
    uint32_t key = include_saved[at].pairs[1];
    include_die(3);
    w_pass(&w, 50);
    include_process_again(3);
    assert_int_equal(include_own_gci, include_saved_gci);
    include_self(3);
    include_at_others(3);
    include_copy_order(3);
    for (uint32_t i = 0; i < 20; i++, w.now += 5)
        run_but(true, false);
    assert_true(w.n[3].in_words[1] > 0);
    t_next(&t);
    t_op(&t, .api_op = key, .info = INFO(OP_DELETE, KEY_START | KEY_EXECUTE), .key = key);
    run_but(true, false);
    t_op(&t, .api_op = key, .info = INFO(OP_INSERT, KEY_EXECUTE), .key = key, .value = 5);
    run_but(true, true);
    assert_true(w.n[3].in_words[4] > 0);
    t_rollback(&t);
    run_but(true, true);
    run_but(true, false);
    w_pass(&w, 300);
    assert_int_equal(include_got.copied, 1);
    assert_int_equal(include_got.rows.kept_lo, 20);
    include_expect_whole();
    w_stop(&w);
}

/* A node that was not there when the cluster started has its place, and takes it. */
static void test_never_here_before(void **state)
{
    (void)state;
    include_begin(2, 3);
    memset(include_actors, 0, sizeof include_actors);
    /* As if only node 1 had started: it knows of node 2 what the dictionary says. */
    for (uint32_t k = 1; k <= 2; k++)
        node_link_down(w.n[3 - k].node, 0, k, EPOCH);
    w.dead[2] = true;
    w_order(&w, 1, BLOCK_DBTC, 1, LOCAL_TABLE_DROPPING);
    w_run(&w);
    w_order(&w, 1, BLOCK_DBLQH, 1, LOCAL_TABLE_DROPPING);
    w_run(&w);
    w_order(&w, 1, BLOCK_DBTC, 1, LOCAL_TABLE_DROP);
    w_order(&w, 1, BLOCK_DBLQH, 1, LOCAL_TABLE_DROP);
    w_run(&w);
    include_table_again(1);
    w_run(&w);
    struct trx t = t_new(&w, CLIENT, 1);
    c_insert(&w, &t, 1, 10);
    include_process_again(2);
    include_self(2);
    include_at_others(2);
    include_copy_order(2);
    w_pass(&w, 100);
    assert_int_equal(include_got.copied, 1);
    w_level(&w, 2, START_STARTED);
    c_insert(&w, &t, 2, 20);
    w_pass(&w, 20);
    c_expect_row(&w, 1, 10);
    c_expect_row(&w, 2, 20);
    include_expect_whole();
    w_stop(&w);
}

/* A client asks the node that is back for a transaction of a coordinator that is still lost. */
static void test_outcome_of_a_node_lost_before(void **state)
{
    (void)state;
    include_begin(3, 7);
    memset(include_actors, 0, sizeof include_actors);
    struct trx t = t_new(&w, CLIENT, 1);
    t.transid2 = CLIENT << 8;
    t_op(&t, .api_op = 1, .info = INFO(OP_WRITE, WRITE_ALL), .key = 1, .value = 10);
    w_pass(&w, 20);
    include_die(1);
    w_pass(&w, 50);
    include_die(2);
    w_pass(&w, 50);
    include_process_again(2);
    include_self(2);
    include_at_others(2);
    include_copy_order(2);
    w_pass(&w, 100);
    assert_int_equal(include_got.copied, 1);
    struct node_state_rep rep = {.start_level = START_STARTED};
    for (uint32_t node = 2; node <= 3; node++)
        node_mask_add(&rep.started, node);
    for (uint32_t node = 2; node <= 3; node++)
        w_self(&w, node, BLOCK_DBTC, 1, GSN_NODE_STATE_REP, &rep, sizeof rep / 4u, NULL, 0);
    w_pass(&w, 20);
    struct outcome_req req = {.sender_data = 5,
                              .transid1 = t.transid1,
                              .transid2 = t.transid2,
                              .tc_ref = block_ref(1, BLOCK_DBTC, 1),
                              .age_ms = 300};
    assert_true(c_send(&w, CLIENT, 2, GSN_OUTCOME_REQ, &req, sizeof req / 4u, NULL, 0));
    w_pass(&w, 20);
    const struct signal *sig = c_take(&w, GSN_OUTCOME_CONF);
    assert_non_null(sig);
    assert_int_equal(SIG_PAYLOAD(sig, outcome_conf)->committed, 1);
    w_stop(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_copy_waits),
        cmocka_unit_test(test_rows_that_are_not_there_yet),
        cmocka_unit_test(test_held_back_until_it_is_back),
        cmocka_unit_test(test_a_write_waits_without_the_node),
        cmocka_unit_test(test_a_late_insert_of_an_aborted_transaction),
        cmocka_unit_test(test_never_here_before),
        cmocka_unit_test(test_outcome_of_a_node_lost_before),
        cmocka_unit_test(test_before_the_end_of_the_takeover),
        cmocka_unit_test(test_word_of_a_loss_before_the_return),
        cmocka_unit_test(test_death_after_each_signal),
        cmocka_unit_test(test_rolling),
        cmocka_unit_test(test_rolling_with_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
