/* scenario_exhaustion.c -- full memory, too many transactions: an error, no harm, and all works
 * again afterwards. For pools see scenario_inserts.c. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/sim/scenario.h"

static uint32_t put(struct run *run, struct session *session, uint32_t first,
                    enum key_operation operation)
{
    enum api_outcome outcome;
    session->count = 0;
    for (uint32_t i = 0; i < 8; i++)
        session_add(session, TABLE_CHURN, first + i, operation)->value = ++run->model.next_value;
    uint32_t error = run_try(run, session, LOCK_EXCLUSIVE, &outcome);
    assert_string_equal(sim_failure_text(run->world), "");
    assert_true((error == 0) == (outcome == API_COMMITTED));
    return error;
}

/* Rows until DataMemory is full, all of them deleted, and the same number again: freed memory is
 * usable memory. */
static void test_data_memory(void **state)
{
    (void)state;
    struct run *run = scenario_new(5);
    run->swarm.pad_max = 2500;
    run->swarm.small_data = true;
    run->swarm.config.memory.pages_max[RG_DATA] = 140;
    assert_true(run_start(run));
    struct session *session = &run->client[0].session[0];
    uint32_t filled[2] = {0, 0};
    for (uint32_t round = 0; round < 2; round++) {
        uint32_t error = 0;
        while ((error = put(run, session, filled[round] * 8, OP_INSERT)) == 0)
            filled[round]++;
        assert_int_equal(error_get(error)->class, ERROR_CLASS_IS);
        assert_true(filled[round] > 10);
        for (uint32_t small = 0; put(run, session, filled[round] * 8, OP_INSERT) == 0; small++) {
            assert_true(small < 10); /* Shorter rows that still find a place. */
            filled[round]++;
        }
        for (uint32_t i = 0; i < filled[round]; i++)
            assert_int_equal(put(run, session, i * 8, OP_DELETE), 0);
    }
    assert_true(filled[1] * 10 >= filled[0] * 8); /* Contents differ a little in size. */
    scenario_end(run);
}

/* More transactions than TC has records: a temporary error, and room again when the others have
 * ended. */
static void test_transactions(void **state)
{
    (void)state;
    struct run *run = scenario_new(7);
    run->swarm.config.transactions_max = 4;
    assert_true(run_start(run));
    struct session *session = &run->client[0].session[0];
    struct api_tx *open[16] = {0};
    uint32_t refused = 0;
    for (uint32_t i = 0; i < 16; i++) {
        session->tx = NULL;
        session->count = 0;
        session_add(session, TABLE_STATIC, 0, OP_READ);
        assert_true(session_define(session, 0, LOCK_SHARED, 0));
        open[i] = session->tx;
        assert_int_equal(api_tx_execute(open[i], API_NO_COMMIT, 60000, NULL, NULL), 0);
        sim_run_until(run->world, NULL, NULL, sim_now_us(run->world) + 200000u);
        uint32_t error = api_tx_error(open[i]);
        assert_true(error == 0 || error_status(error) == ERROR_STATUS_TEMPORARY);
        refused += error != 0;
    }
    assert_int_equal(refused, 16 - 4); /* One row, so one TC. */
    for (uint32_t i = 0; i < 16; i++)
        api_tx_close(open[i]);
    session->tx = NULL;
    sim_run_until(run->world, NULL, NULL, sim_now_us(run->world) + 200000u);
    assert_int_equal(put(run, session, 0, OP_WRITE), 0);
    scenario_end(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data_memory),
        cmocka_unit_test(test_transactions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
