/* test_api_durable.c -- the client core's waits for durability against a scripted server. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/api_fake.h"
#include "signals/durable.h"
#include "signals/gcp.h"
#include "signals/outcome.h"
#include "signals/takeover.h"

struct waited {
    uint32_t calls;
    uint32_t error;
};

static void on_done(void *context, uint32_t error)
{
    struct waited *waited = context;
    waited->calls++;
    waited->error = error;
}

#define EPOCH (5ull << 32 | 6)

/* The request's sender_data; *peer is who was asked. */
static uint32_t asked(struct fake *fake, uint32_t *peer)
{
    const uint32_t *words = fake_next(fake, GSN_WAIT_DURABLE_REQ, peer);
    const struct wait_durable_req *req = (const void *)(words + SIGNAL_HEAD_WORDS);
    assert_int_equal(req->gci_hi, 5);
    assert_int_equal(req->gci_lo, 6);
    assert_int_equal(words[1], TC(*peer));
    return req->sender_data;
}

static void confirm(struct fake *fake, uint32_t peer, uint32_t data, uint32_t gci)
{
    struct wait_durable_conf conf = {.sender_data = data, .durable_gci = gci};
    ANSWER(fake, TC(peer), WAIT_DURABLE_CONF, conf);
}

static void deny(struct fake *fake, uint32_t peer, uint32_t data, uint32_t error)
{
    struct wait_durable_ref ref = {.sender_data = data, .error = error};
    ANSWER(fake, TC(peer), WAIT_DURABLE_REF, ref);
}

/* A commit in {5, 6}, so that the core has seen that epoch. */
static void commit(struct fake *fake, uint32_t node)
{
    struct api_table *table = fake_table(fake, 1);
    uint32_t done = 0;
    struct api_tx *tx = api_tx_start(fake->client);
    api_tx_prefer(tx, node);
    fake_op(tx, table, .operation = OP_INSERT, .lock = LOCK_EXCLUSIVE, .key = 42);
    assert_int_equal(api_tx_execute(tx, API_COMMIT, 1000, fake_done, &done), 0);
    uint32_t connect = fake_seize(fake, node);
    fake_next(fake, GSN_TCKEYREQ, NULL);
    fake_keyconf(fake, node, .api_connect = connect, .transid = api_tx_id(tx), .committed = true);
    assert_int_equal(api_tx_epoch(tx), EPOCH);
    assert_false(api_tx_durable(tx));
    api_tx_close(tx);
    api_table_release(table);
    fake_expect_nothing(fake);
}

static void waits(void **state)
{
    (void)state;
    struct fake *fake = fake_create(1);
    struct waited waited = {0};
    uint32_t peer;
    assert_int_equal(api_wait_durable(fake->client, 0, 1000, on_done, &waited), ERR_PARAMETER);
    assert_int_equal(api_wait_durable(fake->client, EPOCH, 1000, on_done, &waited), 0);
    uint32_t data = asked(fake, &peer);
    confirm(fake, 1, data ^ 0x01000000u, 9); /* Another generation. */
    assert_int_equal(waited.calls, 0);
    assert_false(api_epoch_is_durable(fake->client, EPOCH));
    confirm(fake, 1, data, 5);
    confirm(fake, 1, data, 5); /* Twice. */
    assert_int_equal(waited.calls, 1);
    assert_int_equal(waited.error, 0);
    assert_int_equal(api_client_statistics(fake->client)->late_answers, 2);
    assert_true(api_epoch_is_durable(fake->client, 5ull << 32 | EPOCH_NUMBER_MAX));
    assert_false(api_epoch_is_durable(fake->client, 6ull << 32));
    assert_false(api_epoch_is_durable(fake->client, 5ull << 32 | 1u << 16)); /* Another life. */
    assert_int_equal(api_client_pending(fake->client), 0);
    fake_destroy(fake);
}

/* Another life may have begun from older data: what was durable in the former one is asked for. */
static void another_life_is_asked_again(void **state)
{
    (void)state;
    struct fake *fake = fake_create(1);
    struct waited waited = {0};
    uint32_t peer;
    assert_int_equal(api_wait_durable(fake->client, EPOCH, 1000, on_done, &waited), 0);
    confirm(fake, 1, asked(fake, &peer), 5);
    assert_true(api_epoch_is_durable(fake->client, EPOCH));
    struct api_regconf conf = {.sender_data = fake->epoch[1],
                               .version = NDB_VERSION,
                               .heartbeat_ms = 1000,
                               .start_level = START_STARTED,
                               .president = 1,
                               .life = 7,
                               .tc_count = 1};
    assert_true(fake_answer_to(fake, block_ref(OWN_NODE, BLOCK_API, 0), block_ref(1, BLOCK_QMGR, 0),
                               GSN_API_REGCONF, &conf, sizeof conf / 4u, 0, NULL, NULL));
    assert_false(api_epoch_is_durable(fake->client, EPOCH));
    fake_destroy(fake);
}

static void answers_that_make_no_sense(void **state)
{
    (void)state;
    struct fake *fake = fake_create(1);
    struct waited waited = {0};
    uint32_t peer;
    assert_int_equal(api_wait_durable(fake->client, EPOCH, 1000, on_done, &waited), 0);
    confirm(fake, 1, asked(fake, &peer), 4); /* An older one than was asked for. */
    assert_int_equal(waited.error, ERR_REPLY_4215);
    assert_int_equal(api_wait_durable(fake->client, EPOCH, 1000, on_done, &waited), 0);
    deny(fake, 1, asked(fake, &peer), 0);
    assert_int_equal(waited.error, ERR_REPLY_4215);
    assert_int_equal(api_wait_durable(fake->client, EPOCH, 1000, on_done, &waited), 0);
    deny(fake, 1, asked(fake, &peer), ERR_NO_FILES_NOT_DURABLE);
    assert_int_equal(waited.error, ERR_NO_FILES_NOT_DURABLE);
    assert_int_equal(waited.calls, 3);
    assert_false(api_epoch_is_durable(fake->client, EPOCH));
    fake_destroy(fake);
}

static void another_node_is_asked(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct waited waited = {0};
    uint32_t first;
    uint32_t second;
    commit(fake, 1);
    assert_int_equal(api_wait_durable(fake->client, EPOCH, 1000, on_done, &waited), 0);
    uint32_t data = asked(fake, &first);
    fake_link_down(fake, first);
    assert_int_equal(waited.calls, 0);
    assert_int_equal(asked(fake, &second), data);
    assert_int_equal(second, 3 - first);
    deny(fake, second, data, ERR_NODE_SHUTDOWN); /* Temporary: it is asked again a little later. */
    fake_expect_nothing(fake);
    assert_int_equal(waited.calls, 0);
    fake_sleep(fake, 25);
    assert_int_equal(asked(fake, &second), data);
    confirm(fake, second, data, 6);
    assert_int_equal(waited.calls, 1);
    assert_int_equal(waited.error, 0);
    fake_destroy(fake);
}

/* When all nodes were lost one that comes back knows what became of the epoch. */
static void a_lost_cluster_is_asked_when_it_is_back(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct waited waited[3] = {{0}};
    uint32_t peer;
    commit(fake, 1);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(api_wait_durable(fake->client, EPOCH, 1000, on_done, &waited[i]), 0);
        asked(fake, &peer);
    }
    fake_link_down(fake, 1);
    fake_link_down(fake, 2);
    fake->sent_count = fake->sent_read = 0;
    fake_sleep(fake, 100);
    fake_expect_nothing(fake);
    assert_int_equal(waited[0].calls + waited[1].calls, 0);
    fake_link_up(fake, 1, 21);
    fake_register(fake, 1, START_STARTED, 1);
    fake->sent_count = fake->sent_read = 0;
    fake_sleep(fake, 25);
    uint32_t data = asked(fake, &peer);
    deny(fake, 1, data, ERR_EPOCH_LOST);
    confirm(fake, 1, asked(fake, &peer), 5);
    assert_int_equal(waited[0].calls + waited[1].calls, 2);
    assert_int_equal(waited[0].error + waited[1].error, ERR_EPOCH_LOST);
    assert_int_equal(api_wait_durable(fake->client, EPOCH, 1000, on_done, &waited[2]), 0);
    fake_sleep(fake, 1);
    deny(fake, 1, asked(fake, &peer), ERR_EPOCH_FORGOTTEN);
    assert_int_equal(waited[2].error, ERR_EPOCH_FORGOTTEN);
    assert_int_equal(error_status(ERR_EPOCH_LOST), ERROR_STATUS_PERMANENT);
    assert_int_equal(error_status(ERR_EPOCH_FORGOTTEN), ERROR_STATUS_UNKNOWN);
    fake_destroy(fake);
}

/* One node stays: it is the same cluster, however often the other one goes. */
static void a_node_that_comes_back_changes_nothing(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct waited waited = {0};
    uint32_t peer;
    commit(fake, 1);
    fake_link_down(fake, 1);
    fake_link_up(fake, 1, 21);
    fake_register(fake, 1, START_STARTED, 1);
    fake_link_down(fake, 2);
    fake->sent_count = fake->sent_read = 0;
    assert_int_equal(api_wait_durable(fake->client, EPOCH, 1000, on_done, &waited), 0);
    confirm(fake, 1, asked(fake, &peer), 5);
    assert_int_equal(waited.error, 0);
    assert_int_equal(waited.calls, 1);
    fake_destroy(fake);
}

static void deadlines(void **state)
{
    (void)state;
    struct fake *fake = fake_create(1);
    struct waited waited[2] = {{0}};
    uint32_t peer;
    assert_int_equal(api_wait_durable(fake->client, EPOCH, 100, on_done, &waited[0]), 0);
    uint32_t data = asked(fake, &peer);
    assert_true(api_client_next_tick(fake->client) <= 100);
    fake_sleep(fake, 99);
    assert_int_equal(waited[0].calls, 0);
    fake_sleep(fake, 1);
    assert_int_equal(waited[0].calls, 1);
    assert_int_equal(waited[0].error, ERR_REQUEST_TIMEOUT);
    confirm(fake, 1, data, 5);
    assert_int_equal(waited[0].calls, 1);
    /* No room in the send buffer: tried again; and a client that closes waits for nothing. */
    fake->full = true;
    assert_int_equal(
        api_wait_durable(fake->client, 9ull << 32, API_NO_TIMEOUT, on_done, &waited[1]), 0);
    fake->full = false;
    fake_sleep(fake, 30);
    fake_next(fake, GSN_WAIT_DURABLE_REQ, NULL);
    fake_destroy(fake);
    assert_int_equal(waited[1].calls, 0);
}

/* The coordinator of a commit to disk is lost, and another node tells that it is committed: that is
 * not what was asked for, so the answer waits until it is durable. */
static void told_by_another_node(void **state)
{
    (void)state;
    enum end { DURABLE, ASKED, LOST, FORGOTTEN, LATE, ALL_LOST, CLOSED, END_COUNT };
    for (enum end end = 0; end < END_COUNT; end++) {
        struct fake *fake = fake_create(2);
        struct api_table *table = fake_table(fake, 1);
        uint32_t done = 0;
        uint32_t peer;
        struct api_tx *tx = api_tx_start(fake->client);
        api_tx_prefer(tx, 1);
        fake_op(tx, table, .operation = OP_INSERT, .lock = LOCK_EXCLUSIVE, .key = 42);
        assert_int_equal(api_tx_execute(tx, API_COMMIT_DURABLE, 3000, fake_done, &done), 0);
        fake_seize(fake, 1);
        fake_next(fake, GSN_TCKEYREQ, NULL);
        struct tckey_failconf told = {(uint32_t)api_tx_id(tx), (uint32_t)(api_tx_id(tx) >> 32), 5,
                                      6};
        struct outcome_conf conf = {.transid1 = told.transid1,
                                    .transid2 = told.transid2,
                                    .committed = 1,
                                    .gci_hi = 5,
                                    .gci_lo = 6};
        fake_link_down(fake, 1);
        fake_next(fake, GSN_OUTCOME_REQ, NULL);
        if (end == ASKED)
            ANSWER(fake, TC(2), OUTCOME_CONF, conf);
        else
            ANSWER(fake, TC(2), TCKEY_FAILCONF, told);
        ANSWER(fake, TC(2), TCKEY_FAILCONF, told); /* Once more. */
        uint32_t data = asked(fake, &peer);
        assert_int_equal(peer, 2);
        fake_sleep(fake, 2500); /* Longer than a doubt lasts. */
        fake_expect_nothing(fake);
        assert_int_equal(done, 0);
        if (end == DURABLE || end == ASKED) confirm(fake, 2, data, 5);
        if (end == LOST) deny(fake, 2, data, ERR_EPOCH_LOST);
        if (end == FORGOTTEN) deny(fake, 2, data, ERR_EPOCH_FORGOTTEN);
        if (end == LATE) fake_sleep(fake, 500);
        if (end == ALL_LOST) fake_link_down(fake, 2);
        if (end != CLOSED) {
            assert_int_equal(done, 1);
            assert_int_equal(api_tx_outcome(tx), end <= ASKED  ? API_COMMITTED
                                                 : end == LOST ? API_ABORTED
                                                               : API_UNKNOWN);
            assert_int_equal(api_tx_durable(tx), end <= ASKED);
            assert_int_equal(api_tx_error(tx), end <= ASKED       ? 0
                                               : end == LOST      ? ERR_EPOCH_LOST
                                               : end == FORGOTTEN ? ERR_EPOCH_FORGOTTEN
                                               : end == LATE      ? ERR_REQUEST_TIMEOUT
                                                                  : ERR_CLUSTER_FAILURE);
            if (end <= ASKED) assert_true(api_tx_epoch(tx) == EPOCH);
        }
        api_tx_close(tx);
        assert_int_equal(api_client_pending(fake->client), 0);
        if (end == CLOSED || end == LATE) confirm(fake, 2, data, 5); /* Nobody waits any more. */
        assert_int_equal(done, end != CLOSED);
        api_table_release(table);
        fake_destroy(fake);
    }
}

/* What is known to be durable is not asked for. */
static void told_of_a_durable_one(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct api_table *table = fake_table(fake, 1);
    struct waited waited = {0};
    uint32_t done = 0;
    uint32_t peer;
    assert_int_equal(api_wait_durable(fake->client, EPOCH, 1000, on_done, &waited), 0);
    uint32_t data = asked(fake, &peer);
    struct api_tx *tx = api_tx_start(fake->client);
    api_tx_prefer(tx, 1);
    fake_op(tx, table, .operation = OP_INSERT, .lock = LOCK_EXCLUSIVE, .key = 42);
    assert_int_equal(api_tx_execute(tx, API_COMMIT_DURABLE, 1000, fake_done, &done), 0);
    fake_seize(fake, 1);
    fake_next(fake, GSN_TCKEYREQ, NULL);
    struct tckey_failconf told = {(uint32_t)api_tx_id(tx), (uint32_t)(api_tx_id(tx) >> 32), 5, 6};
    confirm(fake, peer, data, 5);
    ANSWER(fake, TC(2), TCKEY_FAILCONF, told);
    assert_int_equal(done, 1);
    assert_true(api_tx_durable(tx));
    api_tx_close(tx);
    api_table_release(table);
    fake_destroy(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits),
        cmocka_unit_test(another_life_is_asked_again),
        cmocka_unit_test(answers_that_make_no_sense),
        cmocka_unit_test(another_node_is_asked),
        cmocka_unit_test(a_lost_cluster_is_asked_when_it_is_back),
        cmocka_unit_test(a_node_that_comes_back_changes_nothing),
        cmocka_unit_test(deadlines),
        cmocka_unit_test(told_by_another_node),
        cmocka_unit_test(told_of_a_durable_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
