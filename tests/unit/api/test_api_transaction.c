/* test_api_transaction.c -- the client core's transactions against a scripted server. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "signals/arbit.h"
#include "signals/outcome.h"
#include "signals/takeover.h"
#include "tests/unit/support/api_fake.h"

static uint32_t late(struct fake *fake)
{
    return (uint32_t)api_client_statistics(fake->client)->late_answers;
}

static void idle(struct fake *fake)
{
    assert_int_equal(api_client_pending(fake->client), 0);
    assert_int_equal(api_client_unclean(fake->client), 0);
}

/* One insert that commits at once, and a second transaction on the same coordinator record. */
static void commits(void **state)
{
    (void)state;
    struct fake *fake = fake_create(1);
    struct api_table *table = fake_table(fake, 1);
    uint32_t api_connect = 0;
    for (uint32_t round = 0; round < 2; round++) {
        uint32_t done = 0;
        struct api_tx *tx = api_tx_start(fake->client);
        assert_non_null(
            fake_op(tx, table, .operation = OP_INSERT, .lock = LOCK_EXCLUSIVE, .key = 42));
        assert_int_equal(api_tx_execute(tx, API_COMMIT, 1000, fake_done, &done), 0);
        if (round == 0) api_connect = fake_seize(fake, 1);
        const uint32_t *words = fake_next(fake, GSN_TCKEYREQ, NULL);
        const struct tckeyreq *req = TCKEYREQ_OF(words);
        assert_int_equal(req->tc_connect, TC_CONNECT_OF(1));
        assert_int_equal(req->table_id, 7);
        assert_int_equal(req->schema_version, 3);
        assert_int_equal(req->request_info & (KEY_START | KEY_EXECUTE | KEY_COMMIT),
                         KEY_START | KEY_EXECUTE | KEY_COMMIT);
        assert_int_equal(kind_sections(words[0]), 2);
        assert_int_equal(api_tx_id(tx) >> 40, 200u << 12 | OWN_NODE);
        fake_keyconf(fake, 1, .api_connect = api_connect, .transid = api_tx_id(tx),
                     .committed = true);
        assert_int_equal(done, 1);
        assert_int_equal(api_tx_outcome(tx), API_COMMITTED);
        assert_int_equal(api_tx_epoch(tx), 5ull << 32 | 6);
        fake_keyconf(fake, 1, .api_connect = api_connect, .transid = api_tx_id(tx),
                     .committed = true); /* Once more: nobody waits for it. */
        assert_int_equal(done, 1);
        api_tx_close(tx);
        fake_expect_nothing(fake);
    }
    assert_int_equal(late(fake), 2);
    idle(fake);
    api_table_release(table);
    fake_destroy(fake);
}

/* A locking read's row may come before or after the confirmation, from another node. */
static void rows_in_any_order(void **state)
{
    (void)state;
    for (uint32_t order = 0; order < 2; order++) {
        struct fake *fake = fake_create(2);
        struct api_table *table = fake_table(fake, 2);
        struct fake_row row = {0};
        uint32_t done = 0;
        uint32_t node = 0;
        struct api_tx *tx = api_tx_start(fake->client);
        struct api_op *op = fake_op(tx, table, .operation = OP_READ, .lock = LOCK_EXCLUSIVE,
                                    .key = 42, .row = &row);
        assert_int_equal(api_tx_execute(tx, API_NO_COMMIT, 1000, fake_done, &done), 0);
        node = api_tx_node(tx);
        uint32_t connect = fake_seize(fake, node);
        uint32_t ref = TCKEYREQ_OF(fake_next(fake, GSN_TCKEYREQ, NULL))->api_op;
        if (order == 0)
            fake_row(fake, 3 - node, .api_op = ref, .transid = api_tx_id(tx), .value = 99);
        fake_keyconf(fake, node, .api_connect = connect, .transid = api_tx_id(tx));
        assert_int_equal(done, order == 0);
        if (order == 1)
            fake_row(fake, 3 - node, .api_op = ref, .transid = api_tx_id(tx), .value = 99);
        assert_int_equal(done, 1);
        assert_int_equal(row.calls, 1);
        assert_int_equal(row.pairs[1], 99);
        assert_int_equal(api_op_error(op), 0);
        assert_int_equal(api_tx_execute(tx, API_COMMIT, 1000, fake_done, &done), 0);
        fake_next(fake, GSN_TC_COMMITREQ, NULL);
        struct tc_commitconf conf = {.api_connect = connect,
                                     .transid1 = (uint32_t)api_tx_id(tx),
                                     .transid2 = (uint32_t)(api_tx_id(tx) >> 32)};
        ANSWER(fake, TC(node), TC_COMMITCONF, conf);
        assert_int_equal(done, 2);
        assert_int_equal(api_tx_outcome(tx), API_COMMITTED);
        api_tx_close(tx);
        idle(fake);
        api_table_release(table);
        fake_destroy(fake);
    }
}

/* Committed reads need no coordinator record; a missing row leaves the transaction alive. */
static void committed_reads(void **state)
{
    (void)state;
    struct fake *fake = fake_create(1);
    struct api_table *table = fake_table(fake, 1);
    struct fake_row row[2] = {{0}};
    uint32_t done = 0;
    struct api_tx *tx = api_tx_start(fake->client);
    fake_op(tx, table, .operation = OP_READ, .lock = LOCK_COMMITTED, .flags = API_OP_MAY_MISS,
            .key = 1, .row = &row[0]);
    struct api_op *missing = fake_op(tx, table, .operation = OP_READ, .lock = LOCK_COMMITTED,
                                     .flags = API_OP_MAY_MISS, .key = 2, .row = &row[1]);
    assert_int_equal(api_tx_execute(tx, API_COMMIT, 1000, fake_done, &done), 0);
    uint32_t first = TCKEYREQ_OF(fake_next(fake, GSN_TCKEYREQ, NULL))->api_op;
    const struct tckeyreq *second = TCKEYREQ_OF(fake_next(fake, GSN_TCKEYREQ, NULL));
    assert_int_equal(second->request_info & (KEY_START | KEY_EXECUTE | KEY_COMMIT), 0);
    struct tckeyref ref = {.api_op = second->api_op,
                           .transid1 = second->transid1,
                           .transid2 = second->transid2,
                           .error = ERR_ROW_NOT_FOUND};
    ANSWER(fake, TC(1), TCKEYREF, ref);
    ANSWER(fake, TC(1), TCKEYREF, ref); /* Twice: the second is late. */
    assert_int_equal(done, 0);
    fake_row(fake, 1, .api_op = first, .transid = api_tx_id(tx) + 1,
             .value = 3); /* Another transaction's: dropped. */
    fake_row(fake, 1, .api_op = first ^ 0x01000000u, .transid = api_tx_id(tx),
             .value = 3); /* Another generation. */
    assert_int_equal(row[0].calls, 0);
    fake_row(fake, 1, .api_op = first, .transid = api_tx_id(tx), .value = 4);
    assert_int_equal(done, 1);
    assert_int_equal(row[0].pairs[1], 4);
    assert_int_equal(api_op_error(missing), ERR_ROW_NOT_FOUND);
    assert_int_equal(api_tx_outcome(tx), API_COMMITTED);
    assert_int_equal(late(fake), 3);
    api_tx_close(tx);
    fake_expect_nothing(fake);
    idle(fake);
    api_table_release(table);
    fake_destroy(fake);
}

static struct api_tx *begun(struct fake *fake, struct api_table *table, enum api_execute type,
                            uint32_t *done, uint32_t *connect)
{
    struct api_tx *tx = api_tx_start(fake->client);
    fake_op(tx, table, .operation = OP_UPDATE, .lock = LOCK_EXCLUSIVE, .key = 42);
    assert_int_equal(api_tx_execute(tx, type, 1000, fake_done, done), 0);
    *connect = fake_seize(fake, api_tx_node(tx));
    fake_next(fake, GSN_TCKEYREQ, NULL);
    return tx;
}

/* The coordinator aborts: the error and the operation are told, the record is used again without
 * cleaning. */
static void aborted_by_operation(void **state)
{
    (void)state;
    struct fake *fake = fake_create(1);
    struct api_table *table = fake_table(fake, 1);
    uint32_t done = 0;
    uint32_t connect = 0;
    struct api_tx *tx = begun(fake, table, API_COMMIT, &done, &connect);
    const uint32_t *sent = fake->sent[fake->sent_read - 1].words;
    struct tcrollbackrep rep = {.api_connect = connect,
                                .transid1 = (uint32_t)api_tx_id(tx),
                                .transid2 = (uint32_t)(api_tx_id(tx) >> 32),
                                .error = ERR_SCHEMA_VERSION,
                                .api_op = TCKEYREQ_OF(sent)->api_op};
    ANSWER(fake, TC(1), TCROLLBACKREP, rep);
    assert_int_equal(done, 1);
    assert_int_equal(api_tx_outcome(tx), API_ABORTED);
    assert_int_equal(api_tx_error(tx), ERR_SCHEMA_VERSION);
    assert_ptr_equal(api_tx_error_op(tx), api_tx_first(tx));
    assert_null(api_dict_cached(fake->core, "test/def/t")); /* The stale definition is forgotten. */
    assert_int_equal(api_tx_execute(tx, API_COMMIT, 1000, fake_done, &done), ERR_SCHEMA_VERSION);
    assert_int_equal(api_tx_execute(tx, API_ROLLBACK, 1000, fake_done, &done), 0);
    assert_int_equal(done, 2);
    api_tx_close(tx);
    fake_expect_nothing(fake);
    idle(fake);
    api_table_release(table);
    fake_destroy(fake);
}

/* Deadline while a commit is in flight: unknown; before it: aborted. Either way the record is
 * rolled back first. */
static void expires(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct fake *fake = fake_create(1);
        struct api_table *table = fake_table(fake, 1);
        uint32_t done = 0;
        uint32_t connect = 0;
        struct api_tx *tx =
            begun(fake, table, i == 0 ? API_COMMIT : API_NO_COMMIT, &done, &connect);
        uint64_t transid = api_tx_id(tx);
        fake_sleep(fake, 999);
        assert_int_equal(done, 0);
        fake_sleep(fake, 1);
        assert_int_equal(done, 1);
        assert_int_equal(api_tx_error(tx), ERR_REQUEST_TIMEOUT);
        assert_int_equal(api_tx_outcome(tx), i == 0 ? API_UNKNOWN : API_ABORTED);
        api_tx_close(tx);
        assert_int_equal(api_client_unclean(fake->client), 1);
        fake_next(fake, GSN_TCROLLBACKREQ, NULL);
        fake_keyconf(fake, 1, .api_connect = connect, .transid = transid,
                     .committed = true); /* Too late. */
        struct api_tx *other = api_tx_start(fake->client);
        fake_op(other, table, .operation = OP_UPDATE, .lock = LOCK_EXCLUSIVE, .key = 1);
        assert_int_equal(api_tx_execute(other, API_COMMIT, 1000, fake_done, &done), 0);
        fake_seize(fake, 1); /* The dirty record is not used. */
        fake_next(fake, GSN_TCKEYREQ, NULL);
        api_tx_close(other);
        fake_next(fake, GSN_TCROLLBACKREQ, NULL);
        struct tcrollbackconf conf = {.api_connect = connect,
                                      .transid1 = (uint32_t)transid,
                                      .transid2 = (uint32_t)(transid >> 32)};
        ANSWER(fake, TC(1), TCROLLBACKCONF, conf);
        assert_int_equal(api_client_unclean(fake->client), 1); /* The other one's. */
        assert_int_equal(api_client_pending(fake->client), 0);
        assert_int_equal(done, 1);
        api_table_release(table);
        fake_destroy(fake);
    }
}

/* A refused rollback gives the record back instead of using it again. */
static void cleaning_refused(void **state)
{
    (void)state;
    struct fake *fake = fake_create(1);
    struct api_table *table = fake_table(fake, 1);
    uint32_t done = 0;
    uint32_t connect = 0;
    struct api_tx *tx = begun(fake, table, API_NO_COMMIT, &done, &connect);
    uint64_t transid = api_tx_id(tx);
    fake->full = true; /* The rollback finds no room and is tried again. */
    api_tx_close(tx);
    fake_sleep(fake, 30);
    fake->full = false;
    fake_expect_nothing(fake);
    fake_sleep(fake, 30);
    fake_next(fake, GSN_TCROLLBACKREQ, NULL);
    struct tcrollbackref ref = {.api_connect = connect,
                                .transid1 = (uint32_t)transid,
                                .transid2 = (uint32_t)(transid >> 32),
                                .error = 1};
    ANSWER(fake, TC(1), TCROLLBACKREF, ref);
    const uint32_t *release = fake_next(fake, GSN_TCRELEASEREQ, NULL);
    assert_int_equal(release[SIGNAL_HEAD_WORDS], TC_CONNECT_OF(1));
    struct tcreleaseconf conf = {.sender_data = connect};
    ANSWER(fake, TC(1), TCRELEASECONF, conf);
    idle(fake);
    api_table_release(table);
    fake_destroy(fake);
}

/* The coordinator is lost while it commits: another node tells what has become of it, or nobody
 * does. */
static void lost_while_committing(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 5; i++) {
        struct fake *fake = fake_create(2);
        struct api_table *table = fake_table(fake, 2);
        uint32_t done = 0;
        uint32_t connect = 0;
        struct api_tx *tx = begun(fake, table, API_COMMIT, &done, &connect);
        uint32_t transid1 = (uint32_t)api_tx_id(tx);
        uint32_t transid2 = (uint32_t)(api_tx_id(tx) >> 32);
        struct tckey_failconf conf = {transid1, transid2, 7, 3};
        struct tckey_failref ref = {transid1, transid2, ERR_NODE_FAILED_4028};
        uint32_t tc = api_tx_node(tx);
        uint32_t other = 3 - tc;
        if (i == 0) ANSWER(fake, TC(other), TCKEY_FAILCONF, conf); /* Before the link is down. */
        fake_link_down(fake, tc);
        assert_int_equal(done, i == 0);
        if (i == 1) {
            conf.transid1++; /* Another one's. */
            ANSWER(fake, TC(other), TCKEY_FAILCONF, conf);
            assert_int_equal(done, 0);
            conf.transid1--;
            ANSWER(fake, TC(other), TCKEY_FAILCONF, conf);
        } else if (i == 2) {
            ANSWER(fake, TC(other), TCKEY_FAILREF, ref);
        } else if (i == 3) {
            fake_link_down(fake, other);
        } else if (i == 4) {
            fake_sleep(fake, 5000);
        }
        assert_int_equal(done, 1);
        assert_int_equal(api_tx_outcome(tx), i <= 1   ? API_COMMITTED
                                             : i == 2 ? API_ABORTED
                                                      : API_UNKNOWN);
        if (i <= 1) assert_true(api_tx_epoch(tx) == ((uint64_t)7 << 32 | 3));
        if (i == 2) assert_int_equal(api_tx_error(tx), ERR_NODE_FAILED_4028);
        if (i >= 3) assert_int_equal(api_tx_error(tx), ERR_CLUSTER_FAILURE);
        api_tx_close(tx);
        api_table_release(table);
        fake_destroy(fake);
    }
}

/* It is asked for by itself, and again until somebody knows. */
static void asked_while_in_doubt(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        struct fake *fake = fake_create(2);
        struct api_table *table = fake_table(fake, 2);
        uint32_t done = 0;
        uint32_t connect = 0;
        struct api_tx *tx = begun(fake, table, API_COMMIT, &done, &connect);
        uint32_t transid1 = (uint32_t)api_tx_id(tx);
        uint32_t transid2 = (uint32_t)(api_tx_id(tx) >> 32);
        uint32_t tc = api_tx_node(tx);
        uint32_t other = 3 - tc;
        fake_link_down(fake, tc);
        const struct outcome_req *req =
            (const void *)(fake_next(fake, GSN_OUTCOME_REQ, NULL) + SIGNAL_HEAD_WORDS);
        assert_int_equal(req->transid1, transid1);
        assert_int_equal(req->transid2, transid2);
        assert_int_equal(ref_node(req->tc_ref), tc);
        struct outcome_ref later = {0, 0, transid1, transid2, ERR_NODE_FAILURE};
        ANSWER(fake, TC(other), OUTCOME_REF, later);
        assert_int_equal(done, 0);
        fake_sleep(fake, 20);
        req = (const void *)(fake_next(fake, GSN_OUTCOME_REQ, NULL) + SIGNAL_HEAD_WORDS);
        struct outcome_conf conf = {req->sender_data, 0, transid1, transid2, i == 0, 7, 3};
        struct outcome_ref never = {0, 0, transid1, transid2, ERR_CLUSTER_FAILURE};
        if (i < 2)
            ANSWER(fake, TC(other), OUTCOME_CONF, conf);
        else
            ANSWER(fake, TC(other), OUTCOME_REF, never);
        fake_sleep(fake, 1);
        assert_int_equal(done, 1);
        assert_int_equal(api_tx_outcome(tx), i == 0   ? API_COMMITTED
                                             : i == 1 ? API_ABORTED
                                                      : API_UNKNOWN);
        if (i == 0) assert_true(api_tx_epoch(tx) == ((uint64_t)7 << 32 | 3));
        api_tx_close(tx);
        api_table_release(table);
        fake_destroy(fake);
    }
}

/* The nodes have forgotten what they would have known when the question was put. */
static void denied_too_late(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct api_table *table = fake_table(fake, 2);
    uint32_t done = 0;
    uint32_t connect = 0;
    struct api_tx *tx = begun(fake, table, API_COMMIT, &done, &connect);
    uint32_t tc = api_tx_node(tx);
    fake_sleep(fake, 10);
    fake_link_down(fake, tc);
    const struct outcome_req *req =
        (const void *)(fake_next(fake, GSN_OUTCOME_REQ, NULL) + SIGNAL_HEAD_WORDS);
    struct outcome_conf conf = {req->sender_data, 0, req->transid1, req->transid2, 0, 0, 0};
    fake_sleep(fake, 300);
    ANSWER(fake, TC(3 - tc), OUTCOME_CONF, conf);
    fake_sleep(fake, 1);
    assert_int_equal(done, 0);
    /* The answer to the newest question counts: that one says how old the commit is by then. */
    for (uint32_t i = fake->sent_read; i < fake->sent_count; i++) {
        if (kind_gsn(fake->sent[i].words[0]) == GSN_OUTCOME_REQ)
            req = (const void *)(fake->sent[i].words + SIGNAL_HEAD_WORDS);
    }
    assert_true(req->age_ms > 311 + 50);
    conf.sender_data = req->sender_data;
    ANSWER(fake, TC(3 - tc), OUTCOME_CONF, conf);
    fake_sleep(fake, 1);
    assert_int_equal(done, 1);
    assert_int_equal(api_tx_outcome(tx), API_ABORTED);
    api_tx_close(tx);
    api_table_release(table);
    fake_destroy(fake);
}

static void asked(void *context, struct api_tx *tx)
{
    (void)tx;
    ++*(uint32_t *)context;
}

/* Its time was up while the coordinator lived: that one is asked, over its own link. */
static void asked_after_the_deadline(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct api_table *table = fake_table(fake, 2);
    uint32_t done = 0;
    uint32_t connect = 0;
    struct api_tx *tx = begun(fake, table, API_COMMIT, &done, &connect);
    uint32_t tc = api_tx_node(tx);
    assert_int_equal(api_tx_ask(tx, 100, asked, &done), ERR_API_STATE);
    fake_sleep(fake, 20000);
    assert_int_equal(done, 1);
    assert_int_equal(api_tx_outcome(tx), API_UNKNOWN);
    assert_int_equal(api_tx_ask(tx, 100, asked, &done), 0);
    fake_sleep(fake, 200);
    assert_int_equal(done, 2); /* Nobody answers; it may be asked again. */
    assert_int_equal(api_tx_error(tx), ERR_REQUEST_TIMEOUT);
    assert_int_equal(api_tx_ask(tx, 100, asked, &done), 0);
    struct outcome_conf conf = {.transid1 = (uint32_t)api_tx_id(tx),
                                .transid2 = (uint32_t)(api_tx_id(tx) >> 32),
                                .committed = 1,
                                .gci_hi = 9,
                                .gci_lo = 1};
    ANSWER(fake, TC(tc), OUTCOME_CONF, conf);
    assert_int_equal(done, 3);
    assert_int_equal(api_tx_outcome(tx), API_COMMITTED);
    assert_int_equal(api_tx_error(tx), 0);
    ANSWER(fake, TC(tc), OUTCOME_CONF, conf); /* Late: nobody asks any more. */
    assert_int_equal(done, 3);
    api_tx_close(tx);
    api_table_release(table);
    fake_destroy(fake);
}

/* The coordinator's link goes in every state. */
static void link_loss(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 5; i++) {
        struct fake *fake = fake_create(1);
        struct api_table *table = fake_table(fake, 1);
        uint32_t done = 0;
        uint32_t connect = 0;
        struct api_tx *tx;
        uint32_t error = ERR_NODE_FAILED_ABORTED;
        enum api_outcome outcome = API_ABORTED;
        if (i == 0) { /* Seizing. */
            tx = api_tx_start(fake->client);
            fake_op(tx, table, .operation = OP_UPDATE, .lock = LOCK_EXCLUSIVE, .key = 42);
            assert_int_equal(api_tx_execute(tx, API_COMMIT, 1000, fake_done, &done), 0);
            error = ERR_CLUSTER_UNAVAILABLE; /* No other node is left. */
        } else {
            tx = begun(fake, table, i == 2 ? API_COMMIT : API_NO_COMMIT, &done, &connect);
        }
        if (i == 2) {
            error = ERR_CLUSTER_FAILURE;
            outcome = API_UNKNOWN;
        }
        if (i >= 3)
            fake_keyconf(fake, 1, .api_connect = connect,
                         .transid = api_tx_id(tx)); /* Idle between two executes. */
        if (i == 4) {
            assert_int_equal(api_tx_execute(tx, API_ROLLBACK, 1000, fake_done, &done), 0);
            error = 0;
        }
        uint32_t before = done;
        fake_link_down(fake, 1);
        assert_int_equal(done, i == 3 ? before : before + 1);
        assert_int_equal(api_tx_error(tx), error);
        assert_int_equal(api_tx_outcome(tx), outcome);
        api_tx_close(tx);
        idle(fake);
        api_table_release(table);
        fake_destroy(fake);
    }
}

/* While the record is seized, another node takes over without the application noticing. */
static void seizes_elsewhere(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct api_table *table = fake_table(fake, 2);
    uint32_t done = 0;
    struct api_tx *tx = api_tx_start(fake->client);
    fake_op(tx, table, .operation = OP_UPDATE, .lock = LOCK_EXCLUSIVE, .key = 42);
    assert_int_equal(api_tx_execute(tx, API_COMMIT, 1000, fake_done, &done), 0);
    uint32_t node = api_tx_node(tx);
    fake_next(fake, GSN_TCSEIZEREQ, NULL);
    fake_link_down(fake, node);
    assert_int_equal(done, 0);
    uint32_t connect = fake_seize(fake, 3 - node);
    fake_next(fake, GSN_TCKEYREQ, NULL);
    fake_keyconf(fake, 3 - node, .api_connect = connect, .transid = api_tx_id(tx),
                 .committed = true);
    assert_int_equal(done, 1);
    assert_int_equal(api_tx_outcome(tx), API_COMMITTED);
    api_tx_close(tx);
    idle(fake);
    api_table_release(table);
    fake_destroy(fake);
}

/* Committed reads are asked again at another node; a lost row of a locking read is told. */
static void reads_and_lost_nodes(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct api_table *table = fake_table(fake, 2);
    struct fake_row row = {0};
    uint32_t done = 0;
    uint32_t peer = 0;
    struct api_tx *tx = api_tx_start(fake->client);
    fake_op(tx, table, .operation = OP_READ, .lock = LOCK_COMMITTED, .key = 42, .row = &row);
    assert_int_equal(api_tx_execute(tx, API_COMMIT, 1000, fake_done, &done), 0);
    uint32_t ref = TCKEYREQ_OF(fake_next(fake, GSN_TCKEYREQ, &peer))->api_op;
    fake_link_down(fake, peer);
    assert_int_equal(done, 0);
    fake_next(fake, GSN_TCKEYREQ, &peer);
    fake_row(fake, peer, .api_op = ref, .transid = api_tx_id(tx), .value = 1);
    assert_int_equal(done, 1);
    assert_int_equal(api_tx_error(tx), 0);
    api_tx_close(tx);
    fake_link_up(fake, 3 - peer, 77);
    fake_register(fake, 3 - peer, START_STARTED, 1);
    tx = api_tx_start(fake->client);
    fake_op(tx, table, .operation = OP_READ, .lock = LOCK_SHARED, .key = 42, .row = &row);
    assert_int_equal(api_tx_execute(tx, API_COMMIT, 1000, fake_done, &done), 0);
    uint32_t node = api_tx_node(tx);
    uint32_t connect = fake_seize(fake, node);
    fake_next(fake, GSN_TCKEYREQ, NULL);
    fake_keyconf(fake, node, .api_connect = connect, .transid = api_tx_id(tx), .committed = true);
    fake_link_down(fake, 3 - node); /* A replica that may have had the row. */
    assert_int_equal(done, 2);
    assert_int_equal(api_tx_outcome(tx), API_ABORTED); /* It has changed nothing. */
    assert_int_equal(api_tx_epoch(tx), 0);
    assert_int_equal(api_tx_error(tx), ERR_READ_NODE_FAILURE);
    api_tx_close(tx);
    idle(fake);
    api_table_release(table);
    fake_destroy(fake);
}

static void refusals(void **state)
{
    (void)state;
    struct fake *fake = fake_create(1);
    struct api_table *table = fake_table(fake, 1);
    uint32_t done = 0;
    /* No room: the transaction is aborted at once and can be tried again. */
    struct api_tx *tx = api_tx_start(fake->client);
    fake_op(tx, table, .operation = OP_UPDATE, .lock = LOCK_EXCLUSIVE, .key = 42);
    fake->full = true;
    assert_int_equal(api_tx_execute(tx, API_COMMIT, 1000, fake_done, &done),
                     ERR_API_SEND_BUFFER_4022);
    fake->full = false;
    assert_int_equal(error_status(ERR_API_SEND_BUFFER_4022), ERROR_STATUS_TEMPORARY);
    api_tx_close(tx);
    /* The coordinator has no record. */
    tx = api_tx_start(fake->client);
    fake_op(tx, table, .operation = OP_UPDATE, .lock = LOCK_EXCLUSIVE, .key = 42);
    assert_int_equal(api_tx_execute(tx, API_COMMIT, 1000, fake_done, &done), 0);
    struct tcseizeref ref = {.sender_data =
                                 fake_next(fake, GSN_TCSEIZEREQ, NULL)[SIGNAL_HEAD_WORDS],
                             .error = ERR_TC_TRANSACTIONS};
    ANSWER(fake, TC(1), TCSEIZEREF, ref);
    assert_int_equal(done, 1);
    assert_int_equal(api_tx_error(tx), ERR_TC_TRANSACTIONS);
    /* Misuse. */
    assert_int_equal(api_tx_execute(tx, API_COMMIT, 1000, fake_done, &done), ERR_TC_TRANSACTIONS);
    assert_null(fake_op(tx, table, .operation = OP_UPDATE, .lock = LOCK_EXCLUSIVE, .key = 42));
    api_tx_close(tx);
    /* A node that is not started is not asked. */
    fake_register(fake, 1, START_STOPPING_1, 1);
    tx = api_tx_start(fake->client);
    fake_op(tx, table, .operation = OP_READ, .lock = LOCK_COMMITTED, .key = 42);
    assert_int_equal(api_tx_execute(tx, API_COMMIT, 1000, fake_done, &done),
                     ERR_CLUSTER_UNAVAILABLE);
    api_tx_close(tx);
    idle(fake);
    api_table_release(table);
    fake_destroy(fake);
}

static uint32_t ask_arbitrator(struct fake *fake, uint32_t node, uint32_t gsn, const void *payload,
                               uint32_t words, uint32_t answer)
{
    uint32_t peer = 0;
    uint32_t own = block_ref(OWN_NODE, BLOCK_API, 0);
    assert_true(fake_answer_to(fake, own, block_ref(node, BLOCK_QMGR, 0), gsn, payload, words, 0,
                               NULL, NULL));
    const uint32_t *sent = fake_next(fake, answer, &peer);
    assert_int_equal(peer, node);
    assert_int_equal(ref_block(sent[1]), BLOCK_QMGR);
    return sent[SIGNAL_HEAD_WORDS];
}

/* A client with an ArbitrationRank: the first half that asks goes on, the other one does not. */
static void arbitrates(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct arbit_start_req start = {{4, 5}};
    struct arbit_choose_req choose = {.attempt = 77, .ticket = {4, 5}};
    node_mask_add(&choose.survivors, 1);
    fake_expect_nothing(fake);
    assert_int_equal(ask_arbitrator(fake, 1, GSN_ARBIT_CHOOSE_REQ, &choose, sizeof choose / 4u,
                                    GSN_ARBIT_CHOOSE_REF),
                     77); /* Not its ticket yet. */
    assert_int_equal(ask_arbitrator(fake, 1, GSN_ARBIT_START_REQ, &start, sizeof start / 4u,
                                    GSN_ARBIT_START_CONF),
                     4);
    (void)ask_arbitrator(fake, 1, GSN_ARBIT_CHOOSE_REQ, &choose, sizeof choose / 4u,
                         GSN_ARBIT_CHOOSE_CONF);
    memset(&choose.survivors, 0, sizeof choose.survivors);
    node_mask_add(&choose.survivors, 2);
    (void)ask_arbitrator(fake, 2, GSN_ARBIT_CHOOSE_REQ, &choose, sizeof choose / 4u,
                         GSN_ARBIT_CHOOSE_REF);
    fake_destroy(fake);
}

/* What is no answer for a client closes the link. */
static void forged(void **state)
{
    (void)state;
    struct fake *fake = fake_create(1);
    uint32_t own = block_ref(OWN_NODE, BLOCK_API, api_client_instance(fake->client));
    struct tckeyconf conf = {.api_connect = 0x01000001u};
    uint32_t words = sizeof conf / 4u;
    assert_false(fake_answer_to(fake, own, TC(1), GSN_TCKEYREQ, &conf, words, 0, NULL, NULL));
    assert_false(fake_answer_to(fake, own, TC(1), GSN_TCKEYCONF, &conf, words - 1, 0, NULL, NULL));
    assert_false(fake_answer_to(fake, own, TC(1), GSN_TRANSID_AI, &conf, words, 0, NULL, NULL));
    assert_false(fake_answer_to(fake, block_ref(OWN_NODE, BLOCK_DBTC, 1), TC(1), GSN_TCKEYCONF,
                                &conf, words, 0, NULL, NULL));
    assert_false(fake_answer_to(fake, own, TC(9), GSN_TCKEYCONF, &conf, words, 0, NULL, NULL));
    assert_true(fake_answer_to(fake, own, TC(1), GSN_TCKEYCONF, &conf, words, 0, NULL, NULL));
    assert_true(fake_answer_to(fake, own + 5, TC(1), GSN_TCKEYCONF, &conf, words, 0, NULL, NULL));
    assert_int_equal(late(fake), 1);
    fake_destroy(fake);
}

/* A node that does not answer registrations loses its link. */
static void heartbeats(void **state)
{
    (void)state;
    struct fake *fake = fake_create(1);
    for (uint32_t i = 0; i < 12; i++) {
        fake_sleep(fake, 400);
        fake_register(fake, 1, START_STARTED, 1);
    }
    assert_int_equal(fake->closed, 0);
    assert_true(api_core_node_ready(fake->core, 1));
    for (uint32_t i = 0; i < 13; i++)
        fake_sleep(fake, 400);
    assert_int_equal(fake->closed, 1);
    assert_false(api_core_node_ready(fake->core, 1));
    fake_destroy(fake);
}

#define CROWD 60u

/* Many end at once, and what the application does about one ends others and begins new ones. */
static struct crowd {
    struct fake *fake;
    struct api_tx *tx[CROWD]; /* NULL: closed. */
    uint32_t done[CROWD];
    struct api_tx *begun[CROWD];
} crowd;

static void crowd_done(void *context, struct api_tx *tx)
{
    uint32_t i = (uint32_t)((uint32_t *)context - crowd.done);
    static const uint32_t others[] = {1, CROWD - 1, 7, 0};
    assert_ptr_equal(crowd.tx[i], tx);
    crowd.done[i]++;
    crowd.begun[i] = api_tx_start(crowd.fake->client);
    for (uint32_t k = 0; k <= i % 4u; k++) { /* Neighbours, one far away, itself; each fourth. */
        uint32_t other = (i + others[k]) % CROWD;
        if (i % 3u != 0) continue;
        api_tx_close(crowd.tx[other]);
        crowd.tx[other] = NULL;
    }
}

static void many_at_once(void **state)
{
    (void)state;
    for (uint32_t way = 0; way < 2; way++) {
        uint32_t closed = 0;
        crowd = (struct crowd){.fake = fake_create(1)};
        struct api_table *table = fake_table(crowd.fake, 1);
        for (uint32_t i = 0; i < CROWD; i++) {
            crowd.tx[i] = api_tx_start(crowd.fake->client);
            fake_op(crowd.tx[i], table, .operation = OP_READ, .lock = LOCK_COMMITTED, .key = i);
            assert_int_equal(
                api_tx_execute(crowd.tx[i], API_COMMIT, 1000, crowd_done, &crowd.done[i]), 0);
        }
        if (way == 0)
            fake_sleep(crowd.fake, 1001);
        else
            fake_link_down(crowd.fake, 1);
        for (uint32_t i = 0; i < CROWD; i++) {
            assert_true(crowd.done[i] <= 1);
            assert_true(crowd.done[i] == 1 || crowd.tx[i] == NULL);
            closed += crowd.done[i] == 0;
            api_tx_close(crowd.tx[i]);
            api_tx_close(crowd.begun[i]);
        }
        assert_in_range(closed, 5, CROWD / 2);
        idle(crowd.fake);
        api_table_release(table);
        fake_destroy(crowd.fake);
    }
}

/* The node that a transaction which begins with this key is sent to. */
static uint32_t chosen(struct fake *fake, struct api_table *table, uint32_t key)
{
    uint32_t done = 0;
    uint32_t peer = 0;
    struct api_tx *tx = api_tx_start(fake->client);
    assert_non_null(fake_op(tx, table, .operation = OP_INSERT, .lock = LOCK_EXCLUSIVE, .key = key));
    assert_int_equal(api_tx_execute(tx, API_COMMIT, 1000, fake_done, &done), 0);
    const uint32_t *words = fake_next(fake, GSN_TCSEIZEREQ, &peer);
    struct tcseizeref ref = {.sender_data = words[SIGNAL_HEAD_WORDS], .error = 219};
    ANSWER(fake, TC(peer), TCSEIZEREF, ref);
    assert_int_equal(done, 1);
    api_tx_close(tx);
    return peer;
}

/* As long as there is a node that is not slow, no transaction begins at one that is. */
static void avoids_slow_nodes(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct api_table *table = fake_table(fake, 2);
    uint32_t well[20];
    uint32_t seen = 0;
    for (uint32_t key = 0; key < 20; key++)
        seen |= 1u << (well[key] = chosen(fake, table, key));
    assert_int_equal(seen, 6); /* By key: both. */
    for (uint32_t slow = 1; slow <= 2; slow++) {
        fake_slow(fake, slow);
        for (uint32_t key = 0; key < 20; key++)
            assert_int_equal(chosen(fake, table, key), 3u - slow);
    }
    fake_slow(fake, 3); /* Both: it is no worse there than elsewhere. */
    for (uint32_t key = 0; key < 20; key++)
        assert_int_equal(chosen(fake, table, key), well[key]);
    fake_slow(fake, 0);
    for (uint32_t key = 0; key < 20; key++)
        assert_int_equal(chosen(fake, table, key), well[key]);
    api_table_release(table);
    fake_destroy(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commits),
        cmocka_unit_test(rows_in_any_order),
        cmocka_unit_test(committed_reads),
        cmocka_unit_test(aborted_by_operation),
        cmocka_unit_test(expires),
        cmocka_unit_test(cleaning_refused),
        cmocka_unit_test(lost_while_committing),
        cmocka_unit_test(asked_while_in_doubt),
        cmocka_unit_test(denied_too_late),
        cmocka_unit_test(asked_after_the_deadline),
        cmocka_unit_test(link_loss),
        cmocka_unit_test(seizes_elsewhere),
        cmocka_unit_test(reads_and_lost_nodes),
        cmocka_unit_test(refusals),
        cmocka_unit_test(forged),
        cmocka_unit_test(arbitrates),
        cmocka_unit_test(heartbeats),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(avoids_slow_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
