/* test_api_parts.c -- batches for which the host has no room at once: sent in parts, one
 * transaction all the same. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/api_fake.h"
#include "api/core/api_dict.h"
#include "api/core/api_state.h"
#include "api/core/api_tx.h"

#define OPS  1000u
#define ROOM 5000u /* Words: one part and a bit. */

/* Where the KEY section begins. */
static uint32_t key_at(const uint32_t *words)
{
    return SIGNAL_HEAD_WORDS + (uint32_t)sizeof(struct tckeyreq) / 4u + kind_sections(words[0]);
}

struct batch {
    struct fake *fake;
    struct api_table *table;
    struct api_tx *tx;
    uint32_t done;
    uint32_t api_connect;
    uint32_t seen;  /* Operations that were sent. */
    uint32_t flags; /* Flags of the last one. */
};

static void begin(struct batch *batch, uint32_t timeout_ms)
{
    *batch = (struct batch){.fake = fake_create(1)};
    batch->table = fake_table(batch->fake, 1);
    batch->tx = api_tx_start(batch->fake->client);
    for (uint32_t i = 0; i < OPS; i++)
        assert_non_null(fake_op(batch->tx, batch->table,
                                .operation = i % 3 == 0 ? OP_DELETE : OP_WRITE,
                                .lock = LOCK_EXCLUSIVE, .key = i));
    assert_int_equal(api_tx_execute(batch->tx, API_COMMIT, timeout_ms, fake_done, &batch->done), 0);
    batch->fake->room = ROOM;
    batch->api_connect = fake_seize(batch->fake, 1);
}

/* What was sent since: the operations that follow, in order. */
static void look(struct batch *batch)
{
    struct fake *fake = batch->fake;
    for (uint32_t i = fake->sent_read; i < fake->sent_count; i++) {
        const uint32_t *words = fake->sent[i].words;
        if (kind_gsn(words[0]) != GSN_TCKEYREQ) continue;
        const struct tckeyreq *req = TCKEYREQ_OF(words);
        const uint32_t *key = words + key_at(words);
        assert_int_equal(key[0], batch->seen);
        batch->flags = req->request_info & (KEY_START | KEY_EXECUTE | KEY_COMMIT);
        assert_int_equal(batch->flags & KEY_START, batch->seen == 0 ? KEY_START : 0);
        batch->seen++;
        if (batch->seen < OPS) assert_int_equal(batch->flags & ~KEY_START, 0);
    }
    fake->sent_read = fake->sent_count = 0;
}

static void end(struct batch *batch)
{
    api_tx_close(batch->tx);
    api_table_release(batch->table);
    fake_destroy(batch->fake);
}

static void all_of_it(void **state)
{
    (void)state;
    struct batch batch;
    begin(&batch, 1000);
    look(&batch);
    assert_in_range(batch.seen, 1, OPS - 1);
    uint32_t before = batch.seen;
    batch.fake->room = ROOM;
    fake_sleep(batch.fake, 1);
    look(&batch);
    assert_in_range(batch.seen, before + 1, OPS - 1);
    before = batch.seen;
    /* Others need the room that is left. */
    batch.fake->room = 0;
    batch.fake->crowded = true;
    fake_sleep(batch.fake, 1);
    look(&batch);
    assert_int_equal(batch.seen, before);
    batch.fake->crowded = false;
    assert_in_range(api_client_next_tick(batch.fake->client), 0, 1);
    /* An answer for what has not been asked for. */
    fake_keyconf(batch.fake, 1, .api_connect = batch.api_connect, .transid = api_tx_id(batch.tx),
                 .committed = true);
    assert_int_equal(batch.done, 0);
    fake_sleep(batch.fake, 1);
    look(&batch);
    assert_int_equal(batch.seen, OPS);
    assert_int_equal(batch.flags, KEY_EXECUTE | KEY_COMMIT);
    assert_int_equal(batch.done, 0);
    fake_keyconf(batch.fake, 1, .api_connect = batch.api_connect, .transid = api_tx_id(batch.tx),
                 .committed = true);
    assert_int_equal(batch.done, 1);
    assert_int_equal(api_tx_outcome(batch.tx), API_COMMITTED);
    end(&batch);
}

/* It ends before all of it is sent: nothing can have been committed. */
static void ended_half_way(void **state)
{
    (void)state;
    for (uint32_t how = 0; how < 3; how++) {
        struct batch batch;
        begin(&batch, 50);
        look(&batch);
        batch.fake->room = 0;
        batch.fake->crowded = true;
        if (how == 0) {
            fake_sleep(batch.fake, 50);
        } else if (how == 1) {
            struct tcrollbackrep rep = {.api_connect = batch.api_connect,
                                        .transid1 = (uint32_t)api_tx_id(batch.tx),
                                        .transid2 = (uint32_t)(api_tx_id(batch.tx) >> 32),
                                        .error = ERR_TC_OPERATIONS,
                                        .api_op = UINT32_MAX};
            ANSWER(batch.fake, TC(1), TCROLLBACKREP, rep);
        } else {
            fake_link_down(batch.fake, 1);
        }
        assert_int_equal(batch.done, 1);
        assert_int_equal(api_tx_outcome(batch.tx), API_ABORTED);
        assert_int_equal(api_tx_error(batch.tx), how == 0   ? ERR_REQUEST_TIMEOUT
                                                 : how == 1 ? ERR_TC_OPERATIONS
                                                            : ERR_NODE_FAILED_ABORTED);
        batch.fake->crowded = false;
        uint32_t before = batch.seen;
        fake_sleep(batch.fake, 5);
        look(&batch);
        assert_int_equal(batch.seen, before); /* The rest is not sent any more. */
        end(&batch);
    }
}

/* Closed half way: what has been sent is rolled back. */
static void closed_half_way(void **state)
{
    (void)state;
    struct batch batch;
    begin(&batch, 1000);
    look(&batch);
    batch.fake->room = 0;
    api_tx_close(batch.tx);
    fake_next(batch.fake, GSN_TCROLLBACKREQ, NULL);
    fake_sleep(batch.fake, 5);
    fake_expect_nothing(batch.fake);
    api_table_release(batch.table);
    fake_destroy(batch.fake);
}

/* The commit is on its way, and there is no room for a read behind it: it is not "aborted". */
static void reads_behind_the_commit(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct api_table *table = fake_table(fake, 2);
    struct fake_row row = {0};
    uint32_t done = 0;
    struct api_tx *tx = api_tx_start(fake->client);
    fake_op(tx, table, .operation = OP_UPDATE, .lock = LOCK_EXCLUSIVE, .key = 1);
    uint32_t coordinator = 0;
    for (uint32_t key = 0; key < 40; key++) /* Some of them go to the other node. */
        fake_op(tx, table, .operation = OP_READ, .lock = LOCK_COMMITTED, .key = key, .row = &row);
    assert_int_equal(api_tx_execute(tx, API_COMMIT, 1000, fake_done, &done), 0);
    coordinator = api_tx_node(tx);
    fake->full_peer = 3 - coordinator;
    uint32_t connect = fake_seize(fake, coordinator);
    assert_int_equal(done, 0);
    uint32_t reads = 0;
    for (uint32_t round = 0; round < 2; round++) {
        fake_sleep(fake, 1);
        for (; fake->sent_read < fake->sent_count; fake->sent_read++) {
            const uint32_t *words = fake->sent[fake->sent_read].words;
            if (kind_gsn(words[0]) != GSN_TCKEYREQ) continue;
            const struct tckeyreq *req = TCKEYREQ_OF(words);
            if (key_operation_of(req->request_info) != OP_READ) {
                fake_keyconf(fake, coordinator, .api_connect = connect, .transid = api_tx_id(tx),
                             .committed = true);
                continue;
            }
            assert_int_equal(done, 0);
            fake_row(fake, fake->sent[fake->sent_read].peer, .api_op = req->api_op,
                     .transid = api_tx_id(tx), .value = 7);
            reads++;
        }
        fake->full_peer = 0;
    }
    assert_int_equal(reads, 40);
    assert_int_equal(done, 1);
    assert_int_equal(api_tx_outcome(tx), API_COMMITTED);
    assert_int_equal(row.calls, 40);
    api_tx_close(tx);
    api_table_release(table);
    fake_destroy(fake);
}

/* A node that is not the coordinator is lost half way, with rows of locked reads: what has become
 * of the transaction is for the coordinator to say. */
static void rows_lost_half_way(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct api_table *table = fake_table(fake, 2);
    struct fake_row row = {0};
    uint32_t done = 0;
    struct api_tx *tx = api_tx_start(fake->client);
    for (uint32_t key = 0; key < OPS; key++)
        fake_op(tx, table, .operation = key < 10 ? OP_READ : OP_WRITE, .lock = LOCK_EXCLUSIVE,
                .key = key, .row = &row);
    api_tx_prefer(tx, 1);
    assert_int_equal(api_tx_execute(tx, API_COMMIT, 1000, fake_done, &done), 0);
    fake->room = ROOM;
    uint32_t connect = fake_seize(fake, 1);
    fake_link_down(fake, 2);
    assert_int_equal(done, 0);
    for (uint32_t i = 0; i < 10; i++) {
        fake->room = ROOM;
        fake->sent_read = fake->sent_count = 0;
        fake_sleep(fake, 1);
    }
    assert_int_equal(done, 0);
    fake_keyconf(fake, 1, .api_connect = connect, .transid = api_tx_id(tx), .committed = true);
    assert_int_equal(done, 1);
    assert_int_equal(api_tx_outcome(tx), API_COMMITTED);
    assert_int_equal(api_tx_error(tx), ERR_COMMITTED_READS_LOST);
    api_tx_close(tx);
    api_table_release(table);
    fake_destroy(fake);
}

/* ---- Rows on their way back ---- */

#define READS 100u
#define ROW   18u /* Words that a row of one column is counted as. */

struct reads {
    struct fake *fake;
    struct api_table *table;
    struct api_tx *tx;
    struct fake_row row;
    uint32_t connect;
    uint32_t done;
    uint32_t asked;
    uint32_t refs[READS];
    uint32_t nodes[READS];
};

static void begin_reads(struct reads *reads, enum lock_mode lock, uint32_t room)
{
    *reads = (struct reads){.fake = fake_create(2)};
    struct fake *fake = reads->fake;
    fake->core->config.rows_words = room;
    reads->table = fake_table(fake, 2);
    reads->tx = api_tx_start(fake->client);
    api_tx_prefer(reads->tx, 1);
    for (uint32_t i = 0; i < READS; i++)
        fake_op(reads->tx, reads->table, .operation = OP_READ, .lock = lock, .key = i,
                .row = &reads->row);
    assert_int_equal(api_tx_execute(reads->tx, API_COMMIT, 1000, fake_done, &reads->done), 0);
    if (lock != LOCK_COMMITTED) reads->connect = fake_seize(fake, 1);
}

/* Takes what was asked for since. */
static void look_reads(struct reads *reads)
{
    struct fake *fake = reads->fake;
    for (; fake->sent_read < fake->sent_count; fake->sent_read++) {
        const struct sent *sent = &fake->sent[fake->sent_read];
        if (kind_gsn(sent->words[0]) != GSN_TCKEYREQ) continue;
        reads->nodes[reads->asked] = sent->peer;
        reads->refs[reads->asked++] = TCKEYREQ_OF(sent->words)->api_op;
    }
    fake->sent_read = fake->sent_count = 0;
}

static void end_reads(struct reads *reads)
{
    api_tx_close(reads->tx);
    api_table_release(reads->table);
    fake_destroy(reads->fake);
}

static void rows_have_room(void **state)
{
    (void)state;
    const enum lock_mode locks[] = {LOCK_COMMITTED, LOCK_SHARED};
    for (uint32_t i = 0; i < 4; i++) {
        struct reads reads;
        uint32_t most = i < 2 ? 20 : 1; /* One row is always asked for. */
        begin_reads(&reads, locks[i % 2], i < 2 ? most * ROW : ROW / 2);
        look_reads(&reads);
        assert_int_equal(reads.asked, most);
        for (uint32_t answered = 0; answered < READS; answered++) {
            assert_int_equal(reads.done, 0);
            fake_row(reads.fake, reads.nodes[answered], .api_op = reads.refs[answered],
                     .transid = api_tx_id(reads.tx), .value = 77);
            fake_sleep(reads.fake, 1);
            look_reads(&reads);
            uint32_t due = answered + 1 + most;
            assert_int_equal(reads.asked, due < READS ? due : READS);
        }
        if (reads.connect != 0)
            fake_keyconf(reads.fake, 1, .api_connect = reads.connect,
                         .transid = api_tx_id(reads.tx), .committed = true);
        assert_int_equal(reads.done, 1);
        assert_int_equal(reads.row.calls, READS);
        assert_int_equal(api_tx_outcome(reads.tx), API_COMMITTED);
        end_reads(&reads);
    }
}

/* Rows that were lost with a node keep nothing from being asked for. */
static void rows_lost_with_their_room(void **state)
{
    (void)state;
    struct reads reads;
    begin_reads(&reads, LOCK_EXCLUSIVE, 20 * ROW);
    look_reads(&reads);
    assert_int_equal(reads.asked, 20);
    fake_link_down(reads.fake, 2);
    fake_sleep(reads.fake, 1);
    look_reads(&reads);
    assert_int_equal(reads.asked, READS);
    assert_int_equal(reads.done, 0);
    fake_keyconf(reads.fake, 1, .api_connect = reads.connect, .transid = api_tx_id(reads.tx),
                 .committed = true);
    assert_int_equal(reads.done, 1);
    assert_int_equal(api_tx_outcome(reads.tx), API_ABORTED); /* It has changed nothing. */
    assert_int_equal(api_tx_error(reads.tx), ERR_READ_NODE_FAILURE);
    end_reads(&reads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it),
        cmocka_unit_test(ended_half_way),
        cmocka_unit_test(closed_half_way),
        cmocka_unit_test(reads_behind_the_commit),
        cmocka_unit_test(rows_lost_half_way),
        cmocka_unit_test(rows_have_room),
        cmocka_unit_test(rows_lost_with_their_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
