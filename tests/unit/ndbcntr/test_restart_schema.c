/* test_restart_schema.c -- schema files of an earlier time are noticed: the system files name the
 * dictionary that there was. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "blocks/dbdict/dict_state.h"
#include "signals/dict.h"
#include "values/table_def.h"
#include "tests/unit/support/fake_disk.h"
#include "tests/unit/support/fake_fixture.h"

#define API 6u

static const char *const names[] = {"D1/schema.0", "D1/schema.1"};
static struct fake_file older[FC_NODES][2];

static int setup_files(void **state)
{
    fake_disk_reset();
    return fc_setup(state);
}

static void start(uint32_t nodes, uint32_t survive)
{
    struct node_config config = fake_config(nodes, nodes);
    config.diskless = 0;
    config.survive = survive;
    for (uint32_t id = 1; id <= nodes; id++) {
        fc_fc->node[id].host.io_submit = fake_disk_submit;
        fake_data_node(fc_fc, id, &config);
    }
    fc_run(fc_fc, 500);
}

static void end_all(void)
{
    fc_destroy(fc_fc);
    fc_init(fc_fc);
    fc_fc->verbose = getenv("FC_VERBOSE") != NULL;
}

static bool is_started(uint32_t id)
{
    return !fc_fc->node[id].dead && fake_tc(fc_fc, id, 1)->level == START_STARTED;
}

static void create(const char *name)
{
    static uint8_t memory[65536] __attribute__((aligned(16)));
    static uint32_t words[1000];
    struct table_def *def = table_def_init(memory, sizeof memory, TABLE_COLUMNS_MAX);
    assert_non_null(def);
    assert_int_equal(table_def_set_name(def, "test", 4, name, (uint32_t)strlen(name)), 0);
    struct table_column_options key = {.name = "k", .name_size = 1, .flags = COLUMN_PRIMARY_KEY};
    key.format.type = COLUMN_UNSIGNED;
    key.format.length = 1;
    assert_int_equal(table_def_add_column(def, &key), 0);
    fc_client(fc_fc, API, true);
    fc_run(fc_fc, 10);
    struct create_table_req req = {.sender_data = 42};
    struct section section = {words, table_def_encode(def, words, 1000)};
    fc_send(fc_fc, API, block_ref(1, BLOCK_DBDICT, 0), GSN_CREATE_TABLE_REQ, &req, 1, &section, 1);
    fc_run(fc_fc, 20);
    assert_non_null(fc_take(fc_fc, API, GSN_CREATE_TABLE_CONF));
    fc_client(fc_fc, API, false);
}

static void keep(uint32_t node)
{
    for (uint32_t copy = 0; copy < 2; copy++)
        older[node][copy] = *fake_file(node, names[copy]);
}

static void bring_back(uint32_t node)
{
    for (uint32_t copy = 0; copy < 2; copy++)
        *fake_file(node, names[copy]) = older[node][copy];
}

static uint32_t tables(uint32_t node)
{
    return dict_of(node_block(fc_fc->node[node].node, BLOCK_DBDICT, 0))->tables;
}

/* `nodes` with one table on files of the time before another one; the power goes right after the
 * answer. */
static void one_table_less(uint32_t nodes, uint32_t survive)
{
    start(nodes, survive);
    assert_true(is_started(nodes));
    create("t1");
    for (uint32_t id = 1; id <= nodes; id++)
        keep(id);
    create("t2");
    end_all();
}

static void test_lone_node_stops(void **state)
{
    (void)state;
    one_table_less(1, 0);
    start(1, 0);
    assert_true(is_started(1));
    assert_int_equal(tables(1), 2);
    end_all();
    bring_back(1);
    start(1, 0);
    assert_true(fc_fc->node[1].dead);
    assert_int_equal(fc_fc->node[1].exit_code, EXIT_SCHEMA_DAMAGED);
}

/* One of the files is as it was: it counts. */
static void test_one_copy_is_older(void **state)
{
    (void)state;
    one_table_less(1, 0);
    *fake_file(1, names[0]) = older[1][0];
    start(1, 0);
    assert_true(is_started(1));
    assert_int_equal(tables(1), 2);
}

static void test_other_node_has_it(void **state)
{
    (void)state;
    one_table_less(2, 0);
    bring_back(1);
    start(2, 0);
    assert_true(is_started(1) && is_started(2));
    assert_int_equal(tables(1), 2);
}

static void test_nobody_has_it(void **state)
{
    (void)state;
    for (uint32_t survive = 0; survive < 2; survive++) {
        one_table_less(2, survive);
        bring_back(1);
        bring_back(2);
        start(2, survive);
        for (uint32_t id = 1; id <= 2; id++) {
            assert_true(fc_fc->node[id].dead);
            assert_int_equal(fc_fc->node[id].exit_code, EXIT_SCHEMA_DAMAGED);
        }
        end_all();
        fake_disk_reset();
    }
}

/* A new life begins with a small number again. */
static void test_initial_start_forgets(void **state)
{
    (void)state;
    one_table_less(1, 0);
    struct node_config config = fake_config(1, 1);
    config.diskless = 0;
    config.initial_start = 1;
    config.accept_data_loss = 1;
    fc_fc->node[1].host.io_submit = fake_disk_submit;
    fake_data_node(fc_fc, 1, &config);
    fc_run(fc_fc, 500);
    assert_true(is_started(1));
    end_all();
    start(1, 0);
    assert_true(is_started(1));
    assert_int_equal(tables(1), 0);
}

#define STARTS(name) cmocka_unit_test_setup_teardown(name, setup_files, fc_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STARTS(test_lone_node_stops),       STARTS(test_one_copy_is_older),
        STARTS(test_other_node_has_it),     STARTS(test_nobody_has_it),
        STARTS(test_initial_start_forgets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
