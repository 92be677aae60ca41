/* test_outcome.c -- what has become of a transaction whose commit was not answered: who may ask
 * whom, what is known, and what is known not to have happened. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "signals/outcome.h"
#include "tests/unit/support/tc_fixture.h"

#define WRITE_KEY 7u

/* All nodes are started, as NDBCNTR says. */
static void tell_started(uint32_t without)
{
    struct node_state_rep rep = {.start_level = START_STARTED};
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (i != without) node_mask_add(&rep.started, i);
    }
    for (uint32_t i = 1; i <= w.nodes; i++)
        w_self(&w, i, BLOCK_DBTC, 1, GSN_NODE_STATE_REP, &rep, sizeof rep / 4u, NULL, 0);
    w_run(&w);
}

static void begin(void)
{
    w_start(&w, &(struct world_options){.nodes = 2, .fragments = 2});
    w_table(&w, 1, TABLE_FLAGS_DEFAULT);
    tell_started(0);
}

static void end(void)
{
    w_expect_quiet(&w);
    assert_int_equal(c_left(&w), 0);
    w_stop(&w);
}

/* A transaction whose id says which client has begun it. */
static struct trx new_transaction(void)
{
    struct trx trx = t_new(&w, CLIENT, 1);
    trx.transid2 = CLIENT << 8;
    return trx;
}

static void ask(uint32_t client, uint32_t node, const struct trx *trx, uint32_t age_ms)
{
    struct outcome_req req = {.sender_data = 5,
                              .transid1 = trx->transid1,
                              .transid2 = trx->transid2,
                              .tc_ref = block_ref(trx->node, BLOCK_DBTC, 1),
                              .age_ms = age_ms};
    assert_true(c_send(&w, client, node, GSN_OUTCOME_REQ, &req, sizeof req / 4u, NULL, 0));
    w_run(&w);
}

static void expect_outcome(const struct trx *trx, uint32_t committed)
{
    const struct signal *sig = c_take(&w, GSN_OUTCOME_CONF);
    assert_non_null(sig);
    const struct outcome_conf *conf = SIG_PAYLOAD(sig, outcome_conf);
    assert_int_equal(conf->sender_data, 5);
    assert_int_equal(conf->transid1, trx->transid1);
    assert_int_equal(conf->committed, committed);
}

static void expect_refused(uint32_t error)
{
    const struct signal *sig = c_take(&w, GSN_OUTCOME_REF);
    assert_non_null(sig);
    assert_int_equal(SIG_PAYLOAD(sig, outcome_ref)->error, error);
}

static void test_committed_and_never_begun(void **state)
{
    (void)state;
    begin();
    struct trx trx = new_transaction();
    w_pass(&w, 50);
    t_op(&trx, .api_op = 1, .info = INFO(OP_WRITE, WRITE_ALL), .key = WRITE_KEY, .value = 1);
    w_run(&w);
    const struct signal *sig = c_take(&w, GSN_TCKEYCONF);
    assert_non_null(sig);
    ask(CLIENT, 1, &trx, 20);
    expect_outcome(&trx, 1);
    t_next(&trx); /* Nobody has heard of this one. */
    ask(CLIENT, 1, &trx, 20);
    expect_outcome(&trx, 0);
    end();
}

/* Until it has ended nobody can say. */
static void test_under_way(void **state)
{
    (void)state;
    begin();
    struct trx trx = new_transaction();
    t_op(&trx, .api_op = 1, .info = INFO(OP_WRITE, KEY_START | KEY_EXECUTE), .key = WRITE_KEY,
         .value = 1);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TCKEYCONF));
    ask(CLIENT, 1, &trx, 0);
    expect_refused(ERR_NODE_FAILURE);
    t_op(&trx, .api_op = 2, .info = INFO(OP_WRITE, KEY_EXECUTE | KEY_COMMIT), .key = WRITE_KEY + 1u,
         .value = 2);
    w_pass(&w, 50);
    assert_non_null(c_take(&w, GSN_TCKEYCONF));
    ask(CLIENT, 1, &trx, 20);
    expect_outcome(&trx, 1);
    end();
}

/* Only over the link that it came on; and where the coordinator is there, only the coordinator. */
static void test_who_may_ask(void **state)
{
    (void)state;
    begin();
    struct trx trx = new_transaction();
    t_op(&trx, .api_op = 1, .info = INFO(OP_WRITE, WRITE_ALL), .key = WRITE_KEY, .value = 1);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TCKEYCONF));
    ask(CLIENT_TWO, 1, &trx, 0);
    expect_refused(ERR_NODE_FAILURE);
    ask(CLIENT, 2, &trx, 0);
    expect_refused(ERR_NODE_FAILURE);
    struct outcome_req req = {.tc_ref = block_ref(1, BLOCK_DBLQH, 1)};
    w.closed_peer = 0;
    c_send(&w, CLIENT_TWO, 2, GSN_OUTCOME_REQ, &req, sizeof req / 4u, NULL, 0);
    w_run(&w);
    assert_int_equal(w.closed_peer, CLIENT_TWO); /* No coordinator at all. */
    end();
}

/* The LQHs know of what is younger than they are, and of the last so many. */
static void test_too_long_ago(void **state)
{
    (void)state;
    begin();
    struct trx trx = new_transaction();
    ask(CLIENT, 1, &trx, (uint32_t)w.now);
    expect_refused(ERR_CLUSTER_FAILURE);
    ask(CLIENT, 1, &trx, 0xFFFFFFFFu);
    expect_refused(ERR_CLUSTER_FAILURE);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_committed_and_never_begun),
        cmocka_unit_test(test_under_way),
        cmocka_unit_test(test_who_may_ask),
        cmocka_unit_test(test_too_long_ago),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
