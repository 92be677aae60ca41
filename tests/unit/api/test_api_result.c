/* test_api_result.c -- what the public interface says of a committed transaction whose rows have
 * not come, and who does it again. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/api_fake.h"
#include "api/ndb/ndb_private.h"
#include "api/ndb/record_state.h"

/* A client of two nodes without a loop: somebody else always seems to poll. */
struct setup {
    struct fake *fake;
    struct ndb_cluster_connection connection;
    struct ndb ndb;
    struct api_table *table;
    struct ndb_record *record;
    uint32_t answers; /* Callbacks. */
    int result;       /* Result of the last callback. */
    uint32_t attempts;
    struct ndb_operation *read;
    uint32_t connect; /* The coordinator's record. */
    uint32_t api_op;  /* The read's operation. */
};

struct row {
    uint32_t id;
    uint32_t v;
    uint8_t nulls;
};

static int begin(void **state)
{
    static const struct ndb_field fields[2] = {
        {.column = "id", .offset = offsetof(struct row, id), .null_offset = NDB_NOT_NULLABLE},
        {.column = "v",
         .offset = offsetof(struct row, v),
         .null_offset = offsetof(struct row, nulls)}};
    struct setup *s = calloc(1, sizeof *s);
    s->fake = fake_create(2);
    s->table = fake_table(s->fake, 2);
    s->connection.polling = true;
    s->connection.default_timeout_ms = 1000;
    s->connection.options.flush_bytes = UINT32_MAX;
    s->ndb.connection = &s->connection;
    s->ndb.client = s->fake->client;
    s->ndb.random = 1;
    s->record = ndb_record_create(&s->ndb, (struct ndb_table *)(void *)s->table, fields, 2,
                                  sizeof(struct row));
    assert_non_null(s->record);
    *state = s;
    return 0;
}

static int end(void **state)
{
    struct setup *s = *state;
    transactions_drop(&s->ndb);
    ndb_record_release(s->record);
    api_table_release(s->table);
    fake_destroy(s->fake);
    free(s);
    return 0;
}

static void answered(int result, struct ndb_transaction *t, void *context)
{
    struct setup *s = context;
    (void)t;
    s->answers++;
    s->result = result;
}

/* One row is read with a lock, another one perhaps changed before; all is committed, and the row
 * that was read has not come yet. Returns the node that did not coordinate it. */
static uint32_t commit_without_row(struct setup *s, struct ndb_transaction *t, bool changes,
                                   struct row *row)
{
    const struct ndb_operation_options shared = {.lock = NDB_LOCK_SHARED};
    uint32_t before = s->answers;
    if (changes)
        assert_non_null(ndb_update(t, s->record, &(struct row){41, 5, 0}, s->record,
                                   &(struct row){41, 5, 0}, NULL));
    s->read = ndb_read(t, s->record, &(struct row){42, 0, 0}, s->record, row, &shared);
    assert_non_null(s->read);
    assert_int_equal(ndb_execute_async(t, NDB_COMMIT, 0, answered, s), 0);
    uint32_t node = ndb_transaction_node(t);
    if (s->connect == 0) s->connect = fake_seize(s->fake, node); /* Later ones use it again. */
    for (uint32_t i = 0; i < (changes ? 2 : 1); i++)
        s->api_op = TCKEYREQ_OF(fake_next(s->fake, GSN_TCKEYREQ, NULL))->api_op;
    fake_keyconf(s->fake, node, .api_connect = s->connect, .transid = ndb_transaction_id(t),
                 .committed = true);
    assert_int_equal(s->answers, before);
    return 3 - node;
}

/* With the node lost that may have been about to send the row, and with the row late. Who has
 * changed nothing may do it again; who has must not. */
static void rows_do_not_come(void **state)
{
    static const struct {
        bool changes;
        bool late;
        uint32_t error;
        enum ndb_error_status status;
    } cases[] = {
        {false, false, ERR_READ_NODE_FAILURE, NDB_STATUS_TEMPORARY},
        {false, true, ERR_REQUEST_TIMEOUT, NDB_STATUS_TEMPORARY},
        {true, false, ERR_COMMITTED_READS_LOST, NDB_STATUS_PERMANENT},
        {true, true, ERR_COMMITTED_READS_LOST, NDB_STATUS_PERMANENT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(state);
        struct setup *s = *state;
        struct row row = {0};
        struct ndb_transaction *t = ndb_transaction_start(&s->ndb);
        uint32_t other = commit_without_row(s, t, cases[i].changes, &row);
        if (cases[i].late)
            api_core_tick(s->fake->core, now_ms() + 1001);
        else
            fake_link_down(s->fake, other);
        assert_int_equal(s->answers, 1);
        assert_int_equal(s->result, -1);
        assert_int_equal(ndb_transaction_outcome(t, 0), cases[i].changes);
        assert_int_equal(ndb_transaction_error(t)->code, cases[i].error);
        assert_int_equal(ndb_transaction_error(t)->status, cases[i].status);
        assert_int_equal(ndb_operation_error(s->read)->code,
                         cases[i].late ? ERR_REQUEST_TIMEOUT : ERR_READ_NODE_FAILURE);
        assert_int_equal(ndb_error(&s->ndb)->code, cases[i].error);
        assert_int_equal(ndb_error(&s->ndb)->status, cases[i].status);
        ndb_transaction_close(t);
        end(state);
    }
}

/* The first time the row's node is lost, the second time the row comes. */
static int read_one(struct ndb_transaction *t, void *context)
{
    struct setup *s = context;
    struct row row = {0};
    uint32_t other = commit_without_row(s, t, false, &row);
    if (s->attempts++ == 0) {
        fake_link_down(s->fake, other);
        return s->result;
    }
    fake_row(s->fake, 3 - other, .api_op = s->api_op, .transid = ndb_transaction_id(t), .value = 7);
    assert_int_equal(row.v, 7);
    return s->result;
}

static void reads_go_again(void **state)
{
    struct setup *s = *state;
    assert_int_equal(ndb_run_transaction(&s->ndb, read_one, s, 5000), 0);
    assert_int_equal(s->attempts, 2);
    assert_int_equal(s->answers, 2);
    assert_int_equal(s->ndb.retries, 1);
}

/* A committed read goes its own way: it may fail while the rest of its batch is committed. */
static void a_read_fails_by_itself(void **state)
{
    struct setup *s = *state;
    struct row row = {0};
    struct ndb_transaction *t = ndb_transaction_start(&s->ndb);
    assert_non_null(ndb_update(t, s->record, &(struct row){41, 5, 0}, s->record,
                               &(struct row){41, 5, 0}, NULL));
    s->read = ndb_read(t, s->record, &(struct row){42, 0, 0}, s->record, &row, NULL);
    assert_int_equal(ndb_execute_async(t, NDB_COMMIT, 0, answered, s), 0);
    uint32_t node = ndb_transaction_node(t);
    s->connect = fake_seize(s->fake, node);
    fake_next(s->fake, GSN_TCKEYREQ, NULL);
    const uint32_t *request = fake_next(s->fake, GSN_TCKEYREQ, NULL);
    uint64_t transid = ndb_transaction_id(t);
    struct tckeyref ref = {.api_op = TCKEYREQ_OF(request)->api_op,
                           .transid1 = (uint32_t)transid,
                           .transid2 = (uint32_t)(transid >> 32),
                           .error = ERR_SEND_BUFFER_FULL};
    ANSWER(s->fake, request[1], TCKEYREF, ref);
    fake_keyconf(s->fake, node, .api_connect = s->connect, .transid = transid, .committed = true);
    assert_int_equal(s->answers, 1);
    assert_int_equal(s->result, -1);
    assert_int_equal(ndb_transaction_outcome(t, 0), 1);
    assert_int_equal(ndb_transaction_error(t)->code, ERR_COMMITTED_READS_LOST);
    assert_int_equal(ndb_transaction_error(t)->status, NDB_STATUS_PERMANENT);
    assert_ptr_equal(ndb_transaction_error_operation(t), s->read);
    assert_int_equal(ndb_operation_error(s->read)->code, ERR_SEND_BUFFER_FULL);
    ndb_transaction_close(t);
}

/* Its commit is not answered in time, or its coordinator is lost: nothing can be in doubt. */
static void who_has_only_read_is_not_in_doubt(void **state)
{
    for (uint32_t late = 0; late < 2; late++) {
        begin(state);
        struct setup *s = *state;
        struct row row = {0};
        const struct ndb_operation_options shared = {.lock = NDB_LOCK_SHARED};
        struct ndb_transaction *t = ndb_transaction_start(&s->ndb);
        assert_non_null(ndb_read(t, s->record, &(struct row){42, 0, 0}, s->record, &row, &shared));
        assert_int_equal(ndb_execute_async(t, NDB_COMMIT, 0, answered, s), 0);
        fake_seize(s->fake, ndb_transaction_node(t));
        if (late == 1)
            api_core_tick(s->fake->core, now_ms() + 1001);
        else
            fake_link_down(s->fake, ndb_transaction_node(t));
        assert_int_equal(s->answers, 1);
        assert_int_equal(s->result, -1);
        assert_int_equal(ndb_transaction_error(t)->code,
                         late == 1 ? ERR_REQUEST_TIMEOUT : ERR_NODE_FAILED_ABORTED);
        assert_int_equal(ndb_transaction_error(t)->status, NDB_STATUS_TEMPORARY);
        ndb_transaction_close(t);
        end(state);
    }
}

/* With codes of before, and no node that could be asked; and rows that would overlap. */
static void many_that_cannot_be_read(void **state)
{
    struct setup *s = *state;
    struct row rows[2] = {{42, 0, 0}, {43, 0, 0}};
    int32_t codes[2] = {-77, -77};
    assert_int_equal(ndb_read_many(&s->ndb, s->record, rows, sizeof *rows - 1, 2, codes, 100), -1);
    assert_int_equal(ndb_error(&s->ndb)->code, ERR_PARAMETER);
    assert_int_equal(codes[0], -77);
    assert_int_equal(ndb_change_many(&s->ndb, NDB_UPDATE, s->record, rows, 4, 2, codes, 100), -1);
    assert_int_equal(ndb_error(&s->ndb)->code, ERR_PARAMETER);
    fake_link_down(s->fake, 1);
    fake_link_down(s->fake, 2);
    assert_int_equal(ndb_read_many(&s->ndb, s->record, rows, sizeof *rows, 2, codes, 100), -1);
    assert_int_equal(ndb_error(&s->ndb)->code, ERR_CLUSTER_UNAVAILABLE);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(codes[i], ERR_CLUSTER_UNAVAILABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_do_not_come),
        cmocka_unit_test_setup_teardown(reads_go_again, begin, end),
        cmocka_unit_test_setup_teardown(a_read_fails_by_itself, begin, end),
        cmocka_unit_test(who_has_only_read_is_not_in_doubt),
        cmocka_unit_test_setup_teardown(many_that_cannot_be_read, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
