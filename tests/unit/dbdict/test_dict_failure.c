/* test_dict_failure.c -- the master or another member dies after any signal of a schema
 * transaction: the others end it alike, and can make the next one. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "blocks/dbdict/dict_state.h"
#include "values/attr.h"
#include "tests/unit/support/fake_disk.h"
#include "tests/unit/support/fake_step.h"
#include "tests/unit/support/fake_workers.h"

#define NODES 4u
#define API   6u

static struct fake_cluster *fc;
static uint32_t went_on;
static uint32_t went_back;

static struct dict *dict_at(uint32_t node)
{
    return dict_of(node_block(fc->node[node].node, BLOCK_DBDICT, 0));
}

static void begin(bool files)
{
    struct node_config config = fake_config(NODES, NODES);
    fc = malloc(sizeof *fc);
    fc_init(fc);
    fc->verbose = getenv("FC_VERBOSE") != NULL;
    fake_disk_reset();
    config.diskless = !files;
    config.survive = 1;
    config.heartbeat_db_api_ms = 5000;
    for (uint32_t id = 1; id <= NODES; id++) {
        fc->node[id].host.io_submit = fake_disk_submit;
        fake_data_node(fc, id, &config);
    }
    fc_client(fc, API, true);
    fc_run(fc, 200);
    for (uint32_t id = 1; id <= NODES; id++) {
        assert_int_equal(fake_tc(fc, id, 1)->level, START_STARTED);
        struct api_regreq req = {.version = NDB_VERSION, .generation = 1};
        fc_sig_send(fc, API, block_ref(id, BLOCK_QMGR, 0), GSN_API_REGREQ, &req);
    }
    fc_run(fc, 5);
}

static void end(void)
{
    fc_check(fc);
    fc_destroy(fc);
    free(fc);
}

/* --- Tables. --- */

static uint32_t oldest(void)
{
    for (uint32_t id = 1; id <= NODES; id++) {
        if (fc_alive(fc, id)) return dict_at(id)->president;
    }
    return 0;
}

static void send_create(const char *name)
{
    static uint8_t memory[400000] __attribute__((aligned(16)));
    static uint32_t words[1000];
    struct table_def *def = table_def_init(memory, sizeof memory, TABLE_COLUMNS_MAX);
    assert_int_equal(table_def_set_name(def, "test", 4, name, (uint32_t)strlen(name)), 0);
    def->balance = TABLE_BALANCE_FOR_RP_BY_LDM;
    struct table_column_options key = {.name = "k", .name_size = 1, .flags = COLUMN_PRIMARY_KEY};
    key.format.type = COLUMN_UNSIGNED;
    key.format.length = 1;
    assert_int_equal(table_def_add_column(def, &key), 0);
    struct create_table_req req = {.sender_data = 42};
    struct section section = {words, table_def_encode(def, words, 1000)};
    fc_send(fc, API, block_ref(oldest(), BLOCK_DBDICT, 0), GSN_CREATE_TABLE_REQ, &req, 1, &section,
            1);
}

static void send_drop(uint32_t id)
{
    uint32_t master = oldest();
    struct drop_table_req req = {
        .sender_data = 43, .table_id = id, .version = dict_at(master)->table[id].version};
    fc_sig_send(fc, API, block_ref(master, BLOCK_DBDICT, 0), GSN_DROP_TABLE_REQ, &req);
}

/* The table's id, or 0. */
static uint32_t created(void)
{
    fc_run(fc, 20);
    const struct signal *sig = fc_take(fc, API, GSN_CREATE_TABLE_CONF);
    return sig == NULL ? 0 : SIG_PAYLOAD(sig, create_table_conf)->table_id;
}

/* Everybody left has the same, everywhere; true: the table is there. */
static bool agreed(uint32_t id, uint32_t at, uint32_t deaths)
{
    uint32_t alive = 0;
    uint32_t state = 0;
    uint64_t sequence = 0;
    for (uint32_t node = 1; node <= NODES; node++) {
        if (!fc_alive(fc, node)) continue;
        struct dict *dict = dict_at(node);
        if (alive++ == 0) {
            state = fake_tc(fc, node, 1)->state[id];
            sequence = dict->file.sequence;
        }
        if (dict->local.active || dict->master.state != MASTER_IDLE)
            fail_msg("signal %u: node %u has not ended it", at, node);
        assert_int_equal(dict->file.sequence, sequence);
        assert_int_equal(dict->table[id].state, state == 2 ? TABLE_ONLINE : TABLE_UNDEFINED);
        for (uint32_t i = 1; i <= 2; i++) {
            assert_int_equal(fake_tc(fc, node, i)->state[id], state);
            assert_int_equal(fake_lqh(fc, node, i)->state[id], state);
        }
    }
    assert_int_equal(alive, NODES - deaths);
    assert_true(state == 0 || state == 2);
    return state == 2;
}

static void expect_working(uint32_t at, uint32_t deaths)
{
    send_create("next");
    uint32_t id = created();
    if (id == 0) fail_msg("signal %u: no new table can be made", at);
    assert_true(agreed(id, at, deaths));
    send_drop(id);
    fc_run(fc, 20);
    assert_non_null(fc_take(fc, API, GSN_DROP_TABLE_CONF));
    assert_false(agreed(id, at, deaths));
}

static void (*forging)(struct fake_cluster *, uint32_t, uint32_t, uint32_t *, uint32_t);

/* The transaction begins, and `victim` dies after `at` signals; false: it had ended before. */
static bool die_at(bool files, bool drop, uint32_t victim, uint32_t at)
{
    uint32_t id = 1; /* The first table of a new dictionary. */
    begin(files);
    if (drop) {
        send_create("t");
        assert_int_equal(created(), id);
        send_drop(id);
    } else {
        send_create("t");
    }
    fc->tamper = forging;
    bool died = fc_step(fc, NODES, victim, at);
    fc->tamper = NULL;
    if (died) fc_kill(fc, victim);
    return died;
}

static void deaths(bool files, bool drop, uint32_t victim)
{
    uint32_t at = 1;
    went_on = 0;
    went_back = 0;
    for (bool more = true; more; at++) {
        more = die_at(files, drop, victim, at);
        bool was = !drop;
        fc_run(fc, 100);
        if (agreed(1, at, more) == was)
            went_on++;
        else
            went_back++;
        /* What the client was told holds. */
        if (fc_take(fc, API, drop ? GSN_DROP_TABLE_CONF : GSN_CREATE_TABLE_CONF) != NULL)
            assert_int_equal(fake_tc(fc, oldest(), 1)->state[1], drop ? 0 : 2);
        expect_working(at, more);
        end();
    }
    if (getenv("FC_COUNTS") != NULL)
        print_message("%u signals: %u on, %u back\n", at - 2, went_on, went_back);
    assert_true(at > 10 && went_on > 1);
    if (victim == 1) assert_true(went_back > 0);
}

static void test_master_dies_in_create(void **state)
{
    (void)state;
    deaths(false, false, 1);
    deaths(true, false, 1);
}

static void test_master_dies_in_drop(void **state)
{
    (void)state;
    deaths(false, true, 1);
    deaths(true, true, 1);
}

static void test_member_dies(void **state)
{
    (void)state;
    deaths(true, false, 3);
    deaths(true, true, 3);
}

/* The new master dies too, after so many signals of its own. */
static void pairs(bool drop)
{
    for (uint32_t first = 3; first < 90; first += 9) {
        bool more = true;
        for (uint32_t second = 1; more && second < 200; second += 7) {
            if (!die_at(true, drop, 1, first)) {
                end();
                return;
            }
            while (dict_at(3)->lost.failure_no == 0)
                fc_run(fc, 1);
            uint32_t master = dict_at(3)->president;
            more = fc_step(fc, NODES, master, second);
            if (more) fc_kill(fc, master);
            fc_run(fc, 200);
            (void)agreed(1, first * 1000 + second, more ? 2 : 1);
            expect_working(first * 1000 + second, more ? 2 : 1);
            end();
        }
    }
}

static void test_two_masters_die(void **state)
{
    (void)state;
    pairs(false);
    pairs(true);
}

/* --- A member that tells what cannot be. --- */

static uint32_t forged_step;
static uint32_t forged;

static void forge(struct fake_cluster *cluster, uint32_t from, uint32_t to, uint32_t *words,
                  uint32_t count)
{
    (void)cluster;
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        struct schema_takeover_conf *conf =
            (struct schema_takeover_conf *)(void *)(words + at + SIGNAL_HEAD_WORDS);
        if (from != 2 || to != 4 || kind_gsn(words[at]) != GSN_SCHEMA_TAKEOVER_CONF) continue;
        if (conf->active) conf->step = forged_step;
        forged += conf->active;
    }
}

/* Node 4 is the one that takes over from node 1. A create is said to be at the step of a drop, or
 * at none: the others end it alike without who said so. */
static void test_forged_step(void **state)
{
    static const uint32_t steps[] = {SCHEMA_STEP_DROPPING_TC, SCHEMA_STEP_DROPPING_LQH,
                                     SCHEMA_STEP_REMOVE, 99};
    (void)state;
    for (uint32_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        forged_step = steps[i];
        forged = 0;
        for (uint32_t at = 1; at < 40 && forged == 0; at += 3) {
            bool more = die_at(false, false, 1, at);
            fc->tamper = forge;
            fc_run(fc, 500);
            if (forged > 0) {
                assert_false(fc_alive(fc, 2));
                (void)agreed(1, at, 2);
                expect_working(at, 2);
            }
            assert_true(more);
            end();
        }
        assert_int_not_equal(forged, 0);
    }
}

/* Node `misled` is told to go back, another one to go on, and node 4 what cannot be. */
static uint32_t misled;

static void mislead(struct fake_cluster *cluster, uint32_t from, uint32_t to, uint32_t *words,
                    uint32_t count)
{
    (void)cluster;
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        struct schema_step_req *req =
            (struct schema_step_req *)(void *)(words + at + SIGNAL_HEAD_WORDS);
        if (from != 1 || kind_gsn(words[at]) != GSN_SCHEMA_STEP_REQ) continue;
        if (to == misled) req->step = SCHEMA_STEP_ABORT;
        if (to == 4) req->step = 99;
    }
}

/* The master dies behind that, and node 4 takes over, which has prepared only: it sees that one of
 * the two was misled, and nobody but that one is lost. */
static void test_two_ways(void **state)
{
    uint32_t seen = 0;
    (void)state;
    for (misled = 2; misled <= 3; misled++) {
        bool more = true;
        for (uint32_t at = 1; more; at++) {
            forging = mislead;
            more = die_at(false, false, 1, at);
            forging = NULL;
            bool split = more && dict_at(4)->local.active && dict_at(4)->local.step == 0 &&
                         dict_at(misled)->local.step == SCHEMA_STEP_ABORT &&
                         dict_at(5 - misled)->local.step == SCHEMA_STEP_WRITE;
            fc_run(fc, 500);
            if (split) {
                assert_false(fc_alive(fc, misled));
                assert_true(agreed(1, at, 2));
                expect_working(at, 2);
                seen++;
            }
            end();
        }
    }
    assert_true(seen > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_master_dies_in_create), cmocka_unit_test(test_master_dies_in_drop),
        cmocka_unit_test(test_member_dies),           cmocka_unit_test(test_two_masters_die),
        cmocka_unit_test(test_forged_step),           cmocka_unit_test(test_two_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
