/* test_tup_block.c -- DBACC and DBTUP inside a real node: configuration, neighbours, checks. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/tup_fixture.h"
#include "signals/start.h"
#include "tests/unit/support/fake_host.h"

/* Stands in for NDBCNTR and LQH. */
struct starter {
    struct block block;
    uint32_t answers[8];
    uint32_t count;
};

static void starter_exec_READ_CONFIG_CONF(struct block *block, const struct signal *sig)
{
    struct starter *starter = (struct starter *)block;
    const struct read_config_conf *conf = SIG_PAYLOAD(sig, read_config_conf);
    starter->answers[starter->count++] = conf->sender_data;
}

static const struct handler starter_handlers[] = {
    HANDLER(starter, READ_CONFIG_CONF, read_config_conf)};
static const struct block_type starter_type = {"DBLQH", BLOCK_DBLQH, starter_handlers, 1, NULL};

static void test_configuration(void **state)
{
    (void)state;
    struct fake_host *fake = calloc(1, sizeof *fake); /* Too large for a stack. */
    struct node_config config = {.own_node = 1};
    node_config_defaults(&config);
    config.thread_count = 1;
    config.operations_max = 8;
    config.tables_max = 2;
    config.deadlock_timeout_ms = 300;
    fake_host_init(fake);
    struct node_options options = {.host = &fake->host, .gsn_name = gsn_name};
    struct node *node = node_create(&config, &options);
    assert_non_null(node);
    struct thread *thread = node_thread(node, 0);
    struct starter *starter =
        (struct starter *)block_create(thread, &starter_type, 1, sizeof *starter);
    struct acc *acc = (struct acc *)(void *)acc_create(thread, 1);
    struct tup *tup = (struct tup *)(void *)tup_create(thread, 1);
    node_check(node); /* Before anything is configured, too. */
    struct read_config_req req = {.sender_data = 41};
    sig_send(&starter->block, tup->block.ref, GSN_READ_CONFIG_REQ, PRIO_B, &req);
    req.sender_data = 42;
    sig_send(&starter->block, acc->block.ref, GSN_READ_CONFIG_REQ, PRIO_B, &req);
    for (uint32_t i = 0; i < 4; i++)
        thread_run_once(thread, i, 10);
    assert_int_equal(starter->count, 2);
    assert_int_equal(starter->answers[0] + starter->answers[1], 83);
    assert_int_equal(acc->deadlock_timeout_ms, 300);
    assert_int_equal(acc->locks.max, 16);
    assert_int_equal(tup->changes.max, 8);

    struct rows_world world = {.arena = node_arena(node), .acc = acc, .tup = tup};
    world_table(&world, def_plain());
    uint32_t key[4] = {1};
    const uint32_t attr[9] = {attr_header(1, 32), 5};
    struct tup_change_req change = request(&world, 1, key, 4, attr, 9);
    struct tup_changed changed;
    assert_int_equal(tup_insert(tup, &change, &changed), 0);
    node_check(node);
    tup_commit(tup, changed.change, 1);
    acc_unlock(acc, changed.lock);
    node_check(node);
    world_drop(&world);
    node_check(node);
    assert_int_equal(world_data_pages(&world), 0);
    node_destroy(node);
    free(world.def);
    free(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_configuration)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
