/* test_tc_epoch.c -- TC's part of the epoch protocol: commits held back, counted, and answered when
 * they are durable. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "signals/durable.h"
#include "signals/gcp.h"
#include "signals/gcp_local.h"
#include "tests/unit/support/tc_fixture.h"

static struct trx trx;

/* Stands for DIH. */
struct dih_stub {
    struct block block;
    uint32_t holds;    /* GCP_HOLD_CONF */
    uint32_t finished; /* TC_EPOCH_CONF */
    uint32_t forced;   /* GCI of GCP_FORCE_ORD. */
    uint32_t forces;
    uint32_t durable; /* WAIT_DURABLE_CONF: it asks for the node, too. */
};
static struct dih_stub *stub;

static void stub_exec_GCP_HOLD_CONF(struct block *block, const struct signal *sig)
{
    (void)sig;
    ((struct dih_stub *)(void *)block)->holds++;
}
static void stub_exec_TC_EPOCH_CONF(struct block *block, const struct signal *sig)
{
    (void)sig;
    ((struct dih_stub *)(void *)block)->finished++;
}
static void stub_exec_GCP_FORCE_ORD(struct block *block, const struct signal *sig)
{
    struct dih_stub *self = (struct dih_stub *)(void *)block;
    self->forced = SIG_PAYLOAD(sig, gcp_force_ord)->gci;
    self->forces++;
}
static void stub_exec_WAIT_DURABLE_CONF(struct block *block, const struct signal *sig)
{
    (void)sig;
    ((struct dih_stub *)(void *)block)->durable++;
}
static const struct handler stub_handlers[] = {
    HANDLER(stub, WAIT_DURABLE_CONF, wait_durable_conf),
    HANDLER(stub, GCP_HOLD_CONF, gcp_hold_conf),
    HANDLER(stub, TC_EPOCH_CONF, tc_epoch_conf),
    HANDLER(stub, GCP_FORCE_ORD, gcp_force_ord),
};
static const struct block_type stub_type = {"DBDIH", BLOCK_DBDIH, stub_handlers, 4, NULL};

/* `files`: only TC is told so, there is no disk here. */
static void begin(bool files)
{
    w_start(&w, &(struct world_options){.nodes = 1, .fragments = 2});
    if (files) ((struct node_config *)(uintptr_t)node_config_of(w.n[1].node))->diskless = 0;
    stub = (struct dih_stub *)(void *)block_create(node_thread(w.n[1].node, 0), &stub_type, 0,
                                                   sizeof(struct dih_stub));
    w_table(&w, 1, 0);
    trx = t_new(&w, CLIENT, 1);
}
static int setup(void **state)
{
    (void)state;
    begin(false);
    return 0;
}
static int setup_files(void **state)
{
    (void)state;
    begin(true);
    return 0;
}
static int teardown(void **state)
{
    (void)state;
    node_check(w.n[1].node);
    assert_int_equal(c_left(&w), 0);
    w_stop(&w);
    return 0;
}

#define TO_TC(gsn, signal)                                                                         \
    do {                                                                                           \
        sig_send(&stub->block, block_ref(1, BLOCK_DBTC, 1), gsn, PRIO_A, signal);                  \
        w_run(&w);                                                                                 \
    } while (0)

static void hold(void)
{
    struct gcp_hold_req req = {.sender_data = 1};
    TO_TC(GSN_GCP_HOLD_REQ, &req);
}
static void epoch(uint32_t hi, uint32_t lo)
{
    struct tc_epoch_req req = {.sender_data = 2, .gci_hi = hi, .gci_lo = lo};
    TO_TC(GSN_TC_EPOCH_REQ, &req);
}
static void durable(uint32_t gci)
{
    struct gcp_durable_rep rep = {.gci = gci};
    TO_TC(GSN_GCP_DURABLE_REP, &rep);
}
static void write_row(struct trx *t, uint32_t key, uint32_t flags)
{
    t_next(t);
    t_op(t, .api_op = key, .info = INFO(OP_WRITE, flags), .key = key, .value = key);
    w_run(&w);
}
static struct tckeyconf keyconf(void)
{
    const struct signal *sig = c_take(&w, GSN_TCKEYCONF);
    assert_non_null(sig);
    return *SIG_PAYLOAD(sig, tckeyconf);
}

static void test_commits_wait_for_the_next_epoch(void **state)
{
    (void)state;
    write_row(&trx, 1, WRITE_ALL);
    assert_int_equal(keyconf().gci_hi, 1);
    hold();
    assert_int_equal(stub->holds, 1);
    struct trx other[3];
    for (uint32_t i = 0; i < 3; i++) {
        other[i] = t_new(&w, CLIENT, 1);
        write_row(&other[i], 10 + i, WRITE_ALL);
    }
    assert_null(c_take(&w, GSN_TCKEYCONF));
    node_check(w.n[1].node);
    epoch(4, 2);
    assert_int_equal(stub->finished, 1); /* Nothing of the old epoch was under way. */
    for (uint32_t i = 0; i < 3; i++) {
        struct tckeyconf conf = keyconf();
        assert_int_equal(conf.transid1, other[i].transid1); /* In order. */
        assert_int_equal(conf.gci_hi, 4);
        assert_int_equal(conf.gci_lo, 2);
    }
    c_expect_row(&w, 11, 11);
}

/* More than one step releases, and the next epoch is near before the last one: what is left belongs
 * to that one, and nobody overtakes. */
static void test_many_held_over_two_epochs(void **state)
{
    struct trx many[150];
    struct tc_epoch_req req = {.sender_data = 2, .gci_hi = 2};
    struct gcp_hold_req near = {.sender_data = 1};
    (void)state;
    hold();
    for (uint32_t i = 0; i < 150; i++) {
        many[i] = t_new(&w, CLIENT, 1);
        write_row(&many[i], 100 + i, WRITE_ALL);
    }
    uint32_t tc = block_ref(1, BLOCK_DBTC, 1);
    sig_send(&stub->block, tc, GSN_TC_EPOCH_REQ, PRIO_A, &req);
    sig_send(&stub->block, tc, GSN_GCP_HOLD_REQ, PRIO_A, &near);
    w_run(&w);
    node_check(w.n[1].node);
    assert_int_equal(stub->holds, 2);
    assert_int_equal(stub->finished, 1);
    uint32_t first = 0;
    for (const struct signal *sig; (sig = c_take(&w, GSN_TCKEYCONF)) != NULL; first++) {
        assert_int_equal(SIG_PAYLOAD(sig, tckeyconf)->transid1, many[first].transid1);
        assert_int_equal(SIG_PAYLOAD(sig, tckeyconf)->gci_hi, 2);
    }
    assert_in_range(first, 1, 149);
    epoch(3, 0);
    assert_int_equal(stub->finished, 2);
    for (; first < 150; first++) {
        struct tckeyconf conf = keyconf();
        assert_int_equal(conf.transid1, many[first].transid1);
        assert_int_equal(conf.gci_hi, 3);
    }
    assert_null(c_take(&w, GSN_TCKEYCONF));
    c_expect_row(&w, 249, 249);
}

static void test_epoch_ends_when_its_commits_have_ended(void **state)
{
    (void)state;
    node_block(w.n[1].node, BLOCK_DBTC, 1)->error_insert = 8002; /* COMMIT 50 ms late. */
    write_row(&trx, 1, WRITE_ALL);
    hold();
    epoch(1, 1);
    assert_int_equal(stub->holds, 1);
    assert_int_equal(stub->finished, 0);
    node_check(w.n[1].node);
    node_block(w.n[1].node, BLOCK_DBTC, 1)->error_insert = 0;
    w.now += 60;
    w_run(&w);
    assert_int_equal(stub->finished, 1);
    assert_int_equal(keyconf().gci_lo, 0); /* It keeps the epoch in which it began to commit. */
}

static void test_held_commit_outlives_its_client(void **state)
{
    (void)state;
    hold();
    write_row(&trx, 1, WRITE_ALL);
    struct api_failreq req = {.sender_data = 1, .node = CLIENT};
    w_self(&w, 1, BLOCK_DBTC, 1, GSN_API_FAILREQ, &req, 2, NULL, 0);
    w_run(&w);
    assert_int_equal(w_driver(&w, 1)->api_failed, 0);
    epoch(2, 0);
    assert_int_equal(w_driver(&w, 1)->api_failed, 1);
    assert_int_equal(keyconf().gci_hi, 2);
    c_expect_row(&w, 1, 1);
}

static void test_durable_answer_waits_for_its_gci(void **state)
{
    (void)state;
    struct trx other = t_new(&w, CLIENT, 1);
    write_row(&trx, 1, WRITE_ALL | KEY_DURABLE);
    assert_null(c_take(&w, GSN_TCKEYCONF));
    assert_int_equal(stub->forced, 1);
    c_expect_row(&w, 1, 1); /* Committed, and no lock is left. */
    write_row(&other, 2, WRITE_ALL);
    assert_int_equal(keyconf().flags, KEYCONF_COMMITTED); /* Who does not ask does not wait. */
    write_row(&other, 1, KEY_START | KEY_EXECUTE);
    t_expect_keyconf(&other, 0);
    struct tc_commitreq req = {other.connect, other.transid1, other.transid2, COMMIT_DURABLE};
    c_send(&w, CLIENT, 1, GSN_TC_COMMITREQ, &req, sizeof req / 4u, NULL, 0);
    w_run(&w);
    assert_null(c_take(&w, GSN_TC_COMMITCONF));
    assert_int_equal(stub->forces, 1); /* Once per GCI. */
    hold();
    epoch(2, 0);
    struct trx later = t_new(&w, CLIENT, 1);
    write_row(&later, 3, WRITE_ALL | KEY_DURABLE);
    node_check(w.n[1].node);
    durable(1);
    struct tckeyconf conf = keyconf();
    assert_int_equal(conf.transid1, trx.transid1);
    assert_int_equal(conf.flags, KEYCONF_COMMITTED | KEYCONF_DURABLE);
    assert_int_equal(conf.gci_hi, 1);
    const struct signal *sig = c_take(&w, GSN_TC_COMMITCONF);
    assert_non_null(sig);
    assert_int_equal(SIG_PAYLOAD(sig, tc_commitconf)->flags, KEYCONF_DURABLE);
    assert_null(c_take(&w, GSN_TCKEYCONF));
    hold();
    epoch(3, 0);
    durable(2);
    assert_int_equal(keyconf().gci_hi, 2);
    write_row(&trx, 4, WRITE_ALL); /* The record can be used again. */
    assert_int_equal(keyconf().gci_hi, 3);
}

static void test_many_wait_and_some_go(void **state)
{
    (void)state;
    struct trx many[150];
    for (uint32_t i = 0; i < 150; i++) {
        many[i] = t_new(&w, i % 2 == 0 ? CLIENT : CLIENT_TWO, 1);
        write_row(&many[i], 100 + i, WRITE_ALL | KEY_DURABLE);
    }
    /* While it waits the record is taken, and it is released only after the answer. */
    t_next(&many[0]);
    t_op(&many[0], .api_op = 7, .info = INFO(OP_INSERT, WRITE_ALL), .key = 7, .value = 7);
    w_run(&w);
    t_expect_rolled_back(&many[0], ERR_TC_INTERNAL_203, 7);
    struct tcreleasereq release = {.tc_connect = many[2].connect, .sender_data = 5};
    c_send(&w, CLIENT, 1, GSN_TCRELEASEREQ, &release, 2, NULL, 0);
    struct api_failreq req = {.sender_data = 1, .node = CLIENT_TWO};
    w_self(&w, 1, BLOCK_DBTC, 1, GSN_API_FAILREQ, &req, 2, NULL, 0);
    w_run(&w);
    assert_null(c_take(&w, GSN_TCRELEASECONF));
    assert_int_equal(w_driver(&w, 1)->api_failed, 0);
    hold();
    epoch(2, 0);
    durable(1);
    uint32_t confs = 0;
    while (c_take(&w, GSN_TCKEYCONF) != NULL)
        confs++;
    assert_int_equal(confs, 150);
    assert_non_null(c_take(&w, GSN_TCRELEASECONF));
    assert_int_equal(w_driver(&w, 1)->api_failed, 1);
}

static void test_without_files_nothing_is_durable(void **state)
{
    (void)state;
    write_row(&trx, 1, WRITE_ALL | KEY_DURABLE);
    t_expect_rolled_back(&trx, ERR_NO_FILES_NOT_DURABLE, 1);
    write_row(&trx, 2, KEY_START | KEY_EXECUTE);
    t_expect_keyconf(&trx, 0);
    struct tc_commitreq req = {trx.connect, trx.transid1, trx.transid2, COMMIT_DURABLE};
    c_send(&w, CLIENT, 1, GSN_TC_COMMITREQ, &req, sizeof req / 4u, NULL, 0);
    w_run(&w);
    t_expect_rolled_back(&trx, ERR_NO_FILES_NOT_DURABLE, 0);
    c_expect_none(&w, 1);
    c_expect_none(&w, 2);
    assert_int_equal(stub->forces, 0);
}

/* --- Waiting for an epoch. --- */

static void ask(uint32_t client, uint32_t data, uint32_t hi, uint32_t lo)
{
    struct wait_durable_req req = {.sender_data = data, .gci_hi = hi, .gci_lo = lo};
    c_send(&w, client, 1, GSN_WAIT_DURABLE_REQ, &req, sizeof req / 4u, NULL, 0);
    w_run(&w);
    node_check(w.n[1].node);
}
static void expect_durable(uint32_t data, uint32_t gci)
{
    const struct signal *sig = c_take(&w, GSN_WAIT_DURABLE_CONF);
    assert_non_null(sig);
    assert_int_equal(SIG_PAYLOAD(sig, wait_durable_conf)->sender_data, data);
    assert_int_equal(SIG_PAYLOAD(sig, wait_durable_conf)->durable_gci, gci);
}
static void expect_refused(uint32_t data, uint32_t error)
{
    const struct signal *sig = c_take(&w, GSN_WAIT_DURABLE_REF);
    assert_non_null(sig);
    assert_int_equal(SIG_PAYLOAD(sig, wait_durable_ref)->sender_data, data);
    assert_int_equal(SIG_PAYLOAD(sig, wait_durable_ref)->error, error);
}

static void test_wait_for_an_epoch(void **state)
{
    (void)state;
    ask(CLIENT, 1, 1, 0);
    ask(CLIENT_TWO, 2, 1, 0);
    assert_null(c_take(&w, GSN_WAIT_DURABLE_CONF));
    assert_int_equal(stub->forced, 1); /* The GCI does not wait for the timer. */
    assert_int_equal(stub->forces, 1);
    hold();
    epoch(2, 0);
    ask(CLIENT, 3, 2, 0);
    assert_int_equal(stub->forced, 2);
    durable(1);
    expect_durable(1, 1);
    expect_durable(2, 1);
    assert_null(c_take(&w, GSN_WAIT_DURABLE_CONF));
    ask(CLIENT, 4, 1, 7); /* Known to be durable: answered at once. */
    expect_durable(4, 1);
    ask(CLIENT, 5, 0, 0);
    expect_durable(5, 1);
    hold();
    epoch(3, 0);
    durable(2);
    expect_durable(3, 2);
}

static void test_wait_for_the_future(void **state)
{
    (void)state;
    ask(CLIENT, 1, 2, 0);
    expect_refused(1, ERR_EPOCH_IN_FUTURE);
    ask(CLIENT, 2, 1, 1);
    expect_refused(2, ERR_EPOCH_IN_FUTURE);
    ask(CLIENT, 3, UINT32_MAX, UINT32_MAX);
    expect_refused(3, ERR_EPOCH_IN_FUTURE);
    assert_int_equal(stub->forces, 0);
    /* Another node may have the next epoch a moment earlier, but not the one after it. */
    hold();
    ask(CLIENT, 4, 2, 0);
    ask(CLIENT, 5, 3, 0);
    expect_refused(5, ERR_EPOCH_IN_FUTURE);
    assert_int_equal(stub->forces, 0); /* DIH knows nothing of it yet. */
    epoch(2, 0);
    assert_int_equal(stub->forced, 2);
    hold();
    ask(CLIENT, 6, 3, 0);
    epoch(2, 1); /* It was no GCI that was near. */
    expect_refused(6, ERR_EPOCH_IN_FUTURE);
    hold();
    epoch(3, 0);
    durable(1);
    assert_null(c_take(&w, GSN_WAIT_DURABLE_CONF));
    durable(2);
    expect_durable(4, 2);
}

static void test_what_the_start_restored_is_durable(void **state)
{
    (void)state;
    hold();
    epoch(8, 1); /* The first one after a restart at GCI 7. */
    ask(CLIENT, 1, 7, 3);
    expect_durable(1, 7);
    ask(CLIENT, 2, 8, 1);
    assert_null(c_take(&w, GSN_WAIT_DURABLE_CONF));
    hold();
    epoch(9, 0);
    durable(8);
    expect_durable(2, 8);
}

/* The first epoch of a life, which names how the former ones ended. */
static void begin_life(uint32_t life, uint32_t hi, const uint32_t *pairs, uint32_t count)
{
    struct section list = {.words = pairs, .size = count * 2u};
    struct tc_epoch_req req = {.sender_data = 2, .gci_hi = hi, .gci_lo = epoch_lo(life, 1)};
    hold();
    signal_send(&stub->block, block_ref(1, BLOCK_DBTC, 1), GSN_TC_EPOCH_REQ, PRIO_A, &req,
                sizeof req / 4u, &list, 1);
    w_run(&w);
}

static void expect_of(uint32_t life, uint32_t hi, uint32_t error)
{
    ask(CLIENT, 7, hi, epoch_lo(life, 9));
    if (error != 0)
        expect_refused(7, error);
    else
        expect_durable(7, 120);
}

static void test_epochs_of_former_lives(void **state)
{
    (void)state;
    static const uint32_t pairs[] = {3, 40, 4, 100, 6, 120};
    begin_life(7, 121, pairs, 3);
    expect_of(4, 100, 0);
    expect_of(4, 101, ERR_EPOCH_LOST); /* The number is durable, but another life's. */
    expect_of(4, 121, ERR_EPOCH_LOST);
    expect_of(6, 120, 0);
    expect_of(6, 121, ERR_EPOCH_LOST);
    expect_of(3, 40, 0);
    expect_of(3, 41, ERR_EPOCH_LOST);
    expect_of(7, 121, ERR_EPOCH_IN_FUTURE);
    expect_of(7, 120, 0); /* No commit has it; what is asked is whether it may be lost. */
    /* Short lives share the entry of the next one. */
    expect_of(2, 40, 0);
    expect_of(2, 41, ERR_EPOCH_LOST);
    expect_of(5, 120, 0);
    expect_of(5, 121, ERR_EPOCH_LOST);
    /* There never was one. */
    expect_of(8, 121, ERR_EPOCH_IN_FUTURE);
    expect_of(8, 1, ERR_EPOCH_IN_FUTURE);
    expect_of(65535, 1, ERR_EPOCH_IN_FUTURE);
    expect_of(0, 1, ERR_EPOCH_IN_FUTURE);
    assert_int_equal(stub->forces, 0);
}

/* More starts than 16 bits can tell apart. */
static void test_lives_that_wrap(void **state)
{
    (void)state;
    static const uint32_t pairs[] = {65535, 100, 65536, 110, 65537, 120};
    begin_life(2, 121, pairs, 3); /* 65538 */
    expect_of(65535, 100, 0);
    expect_of(65535, 101, ERR_EPOCH_LOST);
    expect_of(0, 110, 0);
    expect_of(0, 111, ERR_EPOCH_LOST);
    expect_of(1, 120, 0);
    expect_of(65534, 100, 0);
    expect_of(3, 101, ERR_EPOCH_LOST); /* 65535 starts ago. */
}

/* The list is full: 64 former lives. */
static void test_the_oldest_lives_are_forgotten(void **state)
{
    (void)state;
    uint32_t pairs[128];
    for (uint32_t i = 0; i < 64; i++) {
        pairs[2 * i] = 10 + i;
        pairs[2 * i + 1] = 57 + i;
    }
    begin_life(74, 121, pairs, 64);
    expect_of(10, 57, 0);
    expect_of(73, 120, 0);
    expect_of(72, 120, ERR_EPOCH_LOST);
    expect_of(9, 57, ERR_EPOCH_FORGOTTEN);
    expect_of(9, 58, ERR_EPOCH_LOST);
}

static void test_the_first_life(void **state)
{
    (void)state;
    begin_life(1, 121, NULL, 0);
    expect_of(2, 1, ERR_EPOCH_IN_FUTURE);
    expect_of(0, 1, ERR_EPOCH_FORGOTTEN);
    expect_of(1, 120, 0);
}

static void test_waits_of_a_lost_client(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 200; i++)
        ask(i % 2 == 0 ? CLIENT : CLIENT_TWO, i, 1, 0);
    struct api_failreq req = {.sender_data = 1, .node = CLIENT_TWO};
    w_self(&w, 1, BLOCK_DBTC, 1, GSN_API_FAILREQ, &req, 2, NULL, 0);
    w_run(&w);
    assert_int_equal(w_driver(&w, 1)->api_failed, 1); /* At once: nothing was changed. */
    assert_null(c_take(&w, GSN_WAIT_DURABLE_CONF));
    hold();
    epoch(2, 0);
    durable(1);
    for (uint32_t i = 0; i < 100; i++)
        expect_durable(2 * i, 1);
    assert_null(c_take(&w, GSN_WAIT_DURABLE_CONF));
}

/* A second GCI becomes durable while those who wait for the first one are told: who was looked at
 * already is looked at again. */
static void test_durable_while_waits_are_told(void **state)
{
    struct gcp_durable_rep rep = {.gci = 1};
    (void)state;
    hold();
    epoch(2, 0);
    for (uint32_t i = 0; i < 100; i++)
        ask(CLIENT, i, i < 30 ? 2 : 1, 0);
    hold();
    epoch(3, 0);
    uint32_t tc = block_ref(1, BLOCK_DBTC, 1);
    sig_send(&stub->block, tc, GSN_GCP_DURABLE_REP, PRIO_A, &rep);
    rep.gci = 2;
    sig_send(&stub->block, tc, GSN_GCP_DURABLE_REP, PRIO_A, &rep);
    w_run(&w);
    bool told[100] = {false};
    for (const struct signal *sig; (sig = c_take(&w, GSN_WAIT_DURABLE_CONF)) != NULL;) {
        const struct wait_durable_conf *conf = SIG_PAYLOAD(sig, wait_durable_conf);
        assert_true(conf->sender_data < 100 && !told[conf->sender_data]);
        if (conf->sender_data < 30) assert_int_equal(conf->durable_gci, 2);
        told[conf->sender_data] = true;
    }
    for (uint32_t i = 0; i < 100; i++)
        assert_true(told[i]);
    ask(CLIENT, 200, 3, 0); /* The walk is over, and begins anew for the next one. */
    hold();
    epoch(4, 0);
    durable(3);
    expect_durable(200, 3);
}

static void test_too_many_waits(void **state)
{
    (void)state;
    uint32_t refused = 0;
    uint32_t confirmed = 0;
    for (uint32_t i = 0; i < 8200; i++) {
        struct wait_durable_req wait = {.sender_data = i, .gci_hi = 1, .gci_lo = 0};
        c_send(&w, CLIENT, 1, GSN_WAIT_DURABLE_REQ, &wait, sizeof wait / 4u, NULL, 0);
        w_run(&w);
        const struct signal *sig = c_take(&w, GSN_WAIT_DURABLE_REF);
        if (sig == NULL) continue;
        assert_int_equal(SIG_PAYLOAD(sig, wait_durable_ref)->error, ERR_TC_RESOURCE_217);
        refused++;
    }
    assert_int_equal(refused, 8);
    hold();
    epoch(2, 0);
    durable(1);
    while (c_take(&w, GSN_WAIT_DURABLE_CONF) != NULL)
        confirmed++;
    assert_int_equal(confirmed, 8192);
}

/* A change of the schema under way, which a stop waits for, is answered; a client is not. */
static void test_the_node_waits_while_it_stops(void **state)
{
    const struct wait_durable_req all = {.sender_data = 7, .gci_hi = DURABLE_ALL};
    (void)state;
    w_level(&w, 1, START_STOPPING_2);
    ask(CLIENT, 100, 1, 0);
    expect_refused(100, ERR_NODE_SHUTDOWN);
    TO_TC(GSN_WAIT_DURABLE_REQ, &all);
    assert_int_equal(stub->durable, 0);
    assert_int_equal(stub->forces, 1);
    hold();
    epoch(2, 0);
    durable(1);
    assert_int_equal(stub->durable, 0); /* Other nodes may be one epoch ahead. */
    hold();
    epoch(3, 0);
    durable(2);
    assert_int_equal(stub->durable, 1);
}

static void test_no_waits_without_files(void **state)
{
    (void)state;
    ask(CLIENT, 1, 1, 0);
    expect_refused(1, ERR_NO_FILES_NOT_DURABLE);
    assert_int_equal(stub->forces, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_commits_wait_for_the_next_epoch, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_held_over_two_epochs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_epoch_ends_when_its_commits_have_ended, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_held_commit_outlives_its_client, setup, teardown),
        cmocka_unit_test_setup_teardown(test_durable_answer_waits_for_its_gci, setup_files,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_many_wait_and_some_go, setup_files, teardown),
        cmocka_unit_test_setup_teardown(test_without_files_nothing_is_durable, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wait_for_an_epoch, setup_files, teardown),
        cmocka_unit_test_setup_teardown(test_wait_for_the_future, setup_files, teardown),
        cmocka_unit_test_setup_teardown(test_what_the_start_restored_is_durable, setup_files,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_epochs_of_former_lives, setup_files, teardown),
        cmocka_unit_test_setup_teardown(test_lives_that_wrap, setup_files, teardown),
        cmocka_unit_test_setup_teardown(test_the_oldest_lives_are_forgotten, setup_files, teardown),
        cmocka_unit_test_setup_teardown(test_the_first_life, setup_files, teardown),
        cmocka_unit_test_setup_teardown(test_waits_of_a_lost_client, setup_files, teardown),
        cmocka_unit_test_setup_teardown(test_durable_while_waits_are_told, setup_files, teardown),
        cmocka_unit_test_setup_teardown(test_too_many_waits, setup_files, teardown),
        cmocka_unit_test_setup_teardown(test_the_node_waits_while_it_stops, setup_files, teardown),
        cmocka_unit_test_setup_teardown(test_no_waits_without_files, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
