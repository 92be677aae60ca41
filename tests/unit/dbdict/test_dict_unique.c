/* test_dict_unique.c -- unique indexes come to tables in use and are dropped from them: what
 * clients hear, any refusal leaves all as it was, and whoever dies after any signal, the others end
 * it alike.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "blocks/dbdict/dict_state.h"
#include "tests/unit/support/fake_disk.h"
#include "tests/unit/support/fake_step.h"
#include "tests/unit/support/fake_versions.h"
#include "tests/unit/support/fake_workers.h"
#include "values/table_index.h"
#include "values/table_version.h"

#define NODES 3u
#define API   6u
#define TABLE 1u

static struct fake_cluster *fc;
static uint8_t memory[600000] __attribute__((aligned(16)));

static struct dict *dict_at(uint32_t node)
{
    return dict_of(node_block(fc->node[node].node, BLOCK_DBDICT, 0));
}

static uint32_t president(void)
{
    for (uint32_t id = 1; id <= NODES; id++) {
        if (fc_alive(fc, id)) return dict_at(id)->president;
    }
    return 0;
}

/* Unique indexes `first` and `second`, and an ordered one. */
static void send_create(void)
{
    static uint32_t words[1000];
    struct table_def *def = table_def_init(memory, sizeof memory, TABLE_COLUMNS_MAX);
    assert_int_equal(table_def_set_name(def, "test", 4, "t", 1), 0);
    def->balance = TABLE_BALANCE_FOR_RP_BY_LDM;
    struct table_column_options column = {.name = "k", .name_size = 1, .flags = COLUMN_PRIMARY_KEY};
    column.format = (struct column_format){.type = COLUMN_UNSIGNED, .length = 1};
    assert_int_equal(table_def_add_column(def, &column), 0);
    column.name = "a";
    column.flags = COLUMN_NULLABLE;
    assert_int_equal(table_def_add_column(def, &column), 0);
    const uint16_t both[] = {1, 0};
    assert_int_equal(table_def_add_unique(def, "first", 5, both, 1), 0);
    assert_int_equal(table_def_add_unique(def, "second", 6, both, 2), 0);
    assert_int_equal(table_def_add_index(def, "ordered", 7, both, 1), 0);
    struct create_table_req req = {.sender_data = 42};
    struct section section = {words, table_def_encode(def, words, 1000)};
    fc_send(fc, API, block_ref(president(), BLOCK_DBDICT, 0), GSN_CREATE_TABLE_REQ, &req, 1,
            &section, 1);
    fc_run(fc, 20);
    assert_non_null(fc_take(fc, API, GSN_CREATE_TABLE_CONF));
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
        struct api_regreq req = {.version = NDB_VERSION, .generation = 1};
        fc_sig_send(fc, API, block_ref(id, BLOCK_QMGR, 0), GSN_API_REGREQ, &req);
    }
    fc_run(fc, 5);
    for (uint32_t id = 1; id <= NODES; id++)
        fake_versions_from_one(dict_at(id));
    send_create();
}

static void end(void)
{
    fc_check(fc);
    fc_destroy(fc);
    free(fc);
}

static void send_drop(const char *name)
{
    uint32_t words[40] = {(uint32_t)strlen(name)};
    struct alter_table_req req = {
        .sender_data = 43, .table_id = TABLE, .version = 1, .kind = ALTER_DROP_INDEX};
    struct section section = {words, 1 + words_of(words[0])};
    memcpy(words + 1, name, words[0]);
    fc_send(fc, API, block_ref(president(), BLOCK_DBDICT, 0), GSN_ALTER_TABLE_REQ, &req,
            sizeof req / 4u, &section, 1);
}

/* Over both columns; or, `count` 1, the first one of them. */
static void send_create_index(const char *name, uint32_t count)
{
    uint32_t size = (uint32_t)strlen(name);
    uint32_t words[40] = {size | count << 16, 1};
    struct alter_table_req req = {
        .sender_data = 43, .table_id = TABLE, .version = 1, .kind = ALTER_CREATE_UNIQUE};
    struct section section = {words, 2 + words_of(size)};
    memcpy(words + 2, name, size);
    fc_send(fc, API, block_ref(president(), BLOCK_DBDICT, 0), GSN_ALTER_TABLE_REQ, &req,
            sizeof req / 4u, &section, 1);
}

/* 0, or the error with which it was refused. */
static uint32_t heard(void)
{
    fc_run(fc, 30);
    if (fc_take(fc, API, GSN_ALTER_TABLE_CONF) != NULL) return 0;
    const struct signal *sig = fc_take(fc, API, GSN_ALTER_TABLE_REF);
    if (sig == NULL) fail_msg("nobody answered");
    return SIG_PAYLOAD(sig, alter_table_ref)->error;
}

/* This node's definition; the indexes that it names are there as tables, with all instances, and no
 * others are. */
static struct table_def *table_of(uint32_t node, uint32_t at)
{
    struct dict *dict = dict_at(node);
    struct section sections[2];
    struct table_def *def;
    uint32_t number;
    if (dict->local.active || dict->master.state != MASTER_IDLE)
        fail_msg("signal %u: node %u has not ended it", at, node);
    dict_store_read(dict, &dict->table[TABLE], sections);
    assert_int_equal(
        table_def_decode(sections[0].words, sections[0].size, memory, sizeof memory, &def), 0);
    assert_int_equal(dict->table[TABLE].version, def->version);
    for (uint32_t table = TABLE + 1; table < FAKE_TABLES; table++) {
        bool named = table_def_unique_of(def, table, &number);
        assert_int_equal(dict_table_at(dict, table) != NULL, named);
        for (uint32_t i = 1; i <= 2; i++) {
            assert_int_equal(fake_lqh(fc, node, i)->state[table], named ? 2 : 0);
            assert_int_equal(fake_tc(fc, node, i)->state[table], named ? 2 : 0);
            uint32_t tc = fake_tc(fc, node, i)->unique[table];
            uint32_t lqh = fake_lqh(fc, node, i)->unique[table];
            if (tc != 0 || lqh != 0) { /* It came later. */
                assert_true(named);
                assert_int_equal(tc, UNIQUE_STRICT);
                assert_int_equal(lqh, UNIQUE_FIRES);
            }
        }
    }
    return def;
}

/* So many have all that are left. */
static uint32_t agreed(uint32_t at)
{
    uint32_t count = UINT32_MAX;
    uint32_t number;
    for (uint32_t node = 1; node <= NODES; node++) {
        if (!fc_alive(fc, node)) continue;
        const struct table_def *def = table_of(node, at);
        if (count != UINT32_MAX && def->unique_count != count)
            fail_msg("signal %u: node %u has %u", at, node, def->unique_count);
        count = def->unique_count;
        assert_int_equal(def->index_count, 1);
        if (count > 0) assert_true(table_def_unique_find(def, "second", 6, &number));
        if (count > 2) assert_true(table_def_unique_find(def, "third", 5, &number));
    }
    return count;
}

static void test_drop(void **state)
{
    (void)state;
    begin(true);
    assert_int_equal(agreed(0), 2);
    send_drop("FIRST");
    assert_int_equal(heard(), 0);
    assert_int_equal(agreed(0), 1);
    assert_int_equal(dict_at(2)->table[TABLE].version, 1u << 24 | 1u);
    const struct signal *told = fc_take(fc, API, GSN_TABLE_CHANGED_REP);
    assert_non_null(told);
    assert_int_equal(SIG_PAYLOAD(told, table_changed_rep)->table_id, TABLE);
    send_drop("first");
    assert_int_equal(heard(), ERR_INDEX_MISSING);
    send_drop("second");
    assert_int_equal(heard(), 0);
    assert_int_equal(agreed(0), 0);
    end();
}

/* The number that it had is used again, with the next version. */
static void test_number_again(void **state)
{
    (void)state;
    begin(true);
    struct table_index index;
    assert_true(table_def_unique(table_of(1, 0), 0, &index));
    send_drop("first");
    assert_int_equal(heard(), 0);
    assert_int_equal(dict_table_unused(dict_at(2), 0), index.table_id);
    assert_int_equal(dict_at(2)->table[index.table_id].version, index.version);
    end();
}

static void test_refused(void **state)
{
    (void)state;
    begin(true);
    for (uint32_t node = 1; node <= NODES; node++) {
        dict_at(node)->block.error_insert = 6006;
        send_drop("first");
        assert_int_equal(heard(), ERR_SCHEMA_OBJECT_BUSY);
        assert_int_equal(agreed(0), 2);
    }
    send_drop("first");
    assert_int_equal(heard(), 0);
    end();
}

/* --- Creates. --- */

static void test_create(void **state)
{
    (void)state;
    begin(true);
    send_create_index("third", 1);
    assert_int_equal(heard(), 0);
    assert_int_equal(agreed(0), 3);
    assert_int_equal(fake_trix(fc, president())->fills, 1);
    const struct signal *told = fc_take(fc, API, GSN_TABLE_CHANGED_REP);
    assert_non_null(told);
    send_create_index("THIRD", 2);
    assert_int_equal(heard(), ERR_INDEX_EXISTS);
    send_create_index("ordered", 2);
    assert_int_equal(heard(), ERR_INDEX_EXISTS);
    send_drop("third");
    assert_int_equal(heard(), 0);
    assert_int_equal(agreed(0), 2);
    end();
}

/* The number and version that an index would get now. */
static uint32_t next_number(uint32_t *version)
{
    uint32_t number = dict_table_unused(dict_at(2), 0);
    *version = table_version_reborn(dict_at(2)->table[number].version);
    return number;
}

/* Rows of its table may be in the log: the next one has another version, on all nodes. */
static void test_not_filled(void **state)
{
    (void)state;
    uint32_t version;
    uint32_t version_now;
    begin(true);
    uint32_t number = next_number(&version);
    fake_trix(fc, president())->refuse_fill = ERR_UNIQUE_DUPLICATE;
    send_create_index("third", 1);
    assert_int_equal(heard(), ERR_UNIQUE_DUPLICATE);
    assert_int_equal(agreed(0), 2);
    assert_int_equal(dict_at(2)->table[TABLE].version, 1);
    assert_int_equal(next_number(&version_now), number);
    assert_int_equal(version_now, table_version_reborn(version));
    for (uint32_t node = 1; node <= NODES; node++)
        assert_int_equal(dict_at(node)->table[number].version, version);
    send_create_index("third", 1);
    assert_int_equal(heard(), 0);
    assert_int_equal(agreed(0), 3);
    end();
}

/* Before that nothing has been written: the version is not used up. */
static void test_create_refused(void **state)
{
    (void)state;
    uint32_t version;
    begin(true);
    uint32_t number = next_number(&version);
    for (uint32_t node = 1; node <= NODES; node++) {
        dict_at(node)->block.error_insert = 6005;
        send_create_index("third", 1);
        assert_int_equal(heard(), ERR_SCHEMA_OBJECT_BUSY);
        assert_int_equal(agreed(0), 2);
        for (uint32_t i = 0; i < 4; i++) {
            struct fake_worker *worker =
                i < 2 ? fake_tc(fc, node, i + 1) : fake_lqh(fc, node, i - 1);
            worker->refuse_known = ERR_INDEXES_TOO_MANY;
            send_create_index("third", 1);
            assert_int_equal(heard(), ERR_INDEXES_TOO_MANY);
            assert_int_equal(agreed(0), 2);
            worker->refuse_add = ERR_TABLE_RECORDS;
            send_create_index("third", 1);
            assert_int_equal(heard(), ERR_TABLE_RECORDS);
            assert_int_equal(agreed(0), 2);
        }
    }
    uint32_t version_now;
    assert_int_equal(next_number(&version_now), number);
    assert_int_equal(version_now, version);
    send_create_index("third", 1);
    assert_int_equal(heard(), 0);
    end();
}

static void test_bad_requests(void **state)
{
    (void)state;
    begin(true);
    send_create_index("third", 33);
    assert_int_equal(heard(), ERR_INDEX_OBJECT);
    send_create_index("third", 4); /* Columns that are not said. */
    assert_int_not_equal(heard(), 0);
    send_create_index("third", 0);
    assert_int_not_equal(heard(), 0);
    send_create_index("", 1);
    assert_int_not_equal(heard(), 0);
    assert_int_equal(agreed(0), 2);
    end();
}

/* Its client is gone, or the node is to stop: what takes long is given up. */
static void test_cancelled(void **state)
{
    (void)state;
    begin(true);
    fake_trix(fc, president())->hold_fill = true;
    send_create_index("third", 1);
    fc_run(fc, 30);
    assert_int_equal(dict_at(1)->master.state, MASTER_FILLING);
    dict_master_client_gone(dict_at(1), API);
    fc_run(fc, 30);
    assert_int_equal(agreed(0), 2);
    send_create_index("third", 1);
    fc_run(fc, 30);
    assert_int_equal(dict_at(1)->master.state, MASTER_FILLING);
    dict_master_cancel(dict_at(1));
    assert_int_equal(heard(), ERR_SCHEMA_ABORTED);
    assert_int_equal(agreed(0), 2);
    end();
}

/* --- A master that is wrong. --- */

enum forgery { FORGE_OTHER, FORGE_BASE, FORGE_NONE_GONE, FORGE_OPERATION, FORGERIES };
static enum forgery forgery;

static void forge(struct fake_cluster *cluster, uint32_t from, uint32_t to, uint32_t *words,
                  uint32_t count)
{
    (void)from;
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        struct schema_prepare_req *req = (void *)(words + at + SIGNAL_HEAD_WORDS);
        if (to != 2 || kind_gsn(words[at]) != GSN_SCHEMA_PREPARE_REQ) continue;
        if (forgery == FORGE_OTHER) req->object++; /* The other index. */
        if (forgery == FORGE_BASE) req->object = TABLE;
        if (forgery == FORGE_NONE_GONE) req->object = 60;
        if (forgery == FORGE_OPERATION) req->operation = SCHEMA_DROP_INDEX;
        cluster->tamper = NULL;
        return;
    }
}

static void test_forged(void **state)
{
    (void)state;
    for (forgery = 0; forgery < FORGERIES; forgery++) {
        begin(true);
        fc->tamper = forge;
        send_drop("first");
        fc_run(fc, 500);
        assert_null(fc->tamper); /* It has come by. */
        if (fc_alive(fc, 1) && fc_alive(fc, 2)) fail_msg("forgery %u was taken", (uint32_t)forgery);
        for (uint32_t id = 1; id <= NODES; id++)
            assert_int_not_equal(fc->node[id].exit_code, EXIT_NDBREQUIRE);
        agreed(0);
        fc_destroy(fc);
        free(fc);
    }
}

enum {
    FORGE_NUMBER,
    FORGE_USED,
    FORGE_VERSION,
    FORGE_TABLE_VERSION,
    FORGE_AS_INDEX,
    FORGE_STEP,
    CREATE_FORGERIES
};
static uint32_t create_forgery;

/* Forges words of a definition: the last unique index stands at its end. */
static void forge_create(struct fake_cluster *cluster, uint32_t from, uint32_t to, uint32_t *words,
                         uint32_t count)
{
    (void)from;
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        struct schema_prepare_req *req = (void *)(words + at + SIGNAL_HEAD_WORDS);
        struct schema_step_req *step = (void *)(words + at + SIGNAL_HEAD_WORDS);
        bool wanted = create_forgery == FORGE_STEP ? kind_gsn(words[at]) == GSN_SCHEMA_STEP_REQ
                                                   : kind_gsn(words[at]) == GSN_SCHEMA_PREPARE_REQ;
        if (to != 2 || !wanted) continue;
        uint32_t own = dict_table_unused(dict_at(2), 0);
        for (uint32_t i = at + SIGNAL_HEAD_WORDS + 5u; i < at + words[at + 3]; i++) {
            if (create_forgery == FORGE_VERSION && words[i] == own) words[i + 1]++;
            if (create_forgery == FORGE_NUMBER && words[i] == own) words[i]++;
        }
        if (create_forgery == FORGE_NUMBER) req->object++;
        if (create_forgery == FORGE_USED) req->object = TABLE + 1;
        if (create_forgery == FORGE_TABLE_VERSION) req->version++;
        if (create_forgery == FORGE_AS_INDEX) req->operation = SCHEMA_CREATE_INDEX;
        if (create_forgery == FORGE_STEP) step->step = SCHEMA_STEP_FIRES;
        cluster->tamper = NULL;
        return;
    }
}

static void test_forged_create(void **state)
{
    (void)state;
    for (create_forgery = 0; create_forgery < CREATE_FORGERIES; create_forgery++) {
        begin(true);
        fc->tamper = forge_create;
        send_create_index("third", 1);
        fc_run(fc, 500);
        assert_null(fc->tamper); /* It has come by. */
        if (fc_alive(fc, 1) && fc_alive(fc, 2)) fail_msg("forgery %u was taken", create_forgery);
        for (uint32_t id = 1; id <= NODES; id++)
            assert_int_not_equal(fc->node[id].exit_code, EXIT_NDBREQUIRE);
        agreed(0);
        fc_destroy(fc);
        free(fc);
    }
}

/* --- A survivor that is wrong. --- */

static struct schema_takeover_conf lie;

/* What node 2 says to node 3, the new master, when node 1 is lost. */
static void forge_takeover(struct fake_cluster *cluster, uint32_t from, uint32_t to,
                           uint32_t *words, uint32_t count)
{
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        struct schema_takeover_conf *conf = (void *)(words + at + SIGNAL_HEAD_WORDS);
        if (from != 2 || to != 3 || kind_gsn(words[at]) != GSN_SCHEMA_TAKEOVER_CONF) continue;
        lie.failure_no = conf->failure_no;
        *conf = lie;
        cluster->tamper = NULL;
        return;
    }
}

/* It names a transaction, or a round of it, that the others must have heard of, too. */
static void test_forged_takeover(void **state)
{
    (void)state;
    static const uint32_t steps[] = {SCHEMA_STEP_ONLINE_LQH, SCHEMA_STEP_FIRES, SCHEMA_STEP_WRITE,
                                     SCHEMA_STEP_LOOSE, SCHEMA_STEP_DROPPING_LQH};
    for (uint32_t i = 0; i < 2 * (sizeof steps / sizeof steps[0]); i++) {
        bool idle = i % 2 == 0;
        begin(true);
        lie = (struct schema_takeover_conf){.active = 1,
                                            .trans_id = dict_at(2)->local.trans_id + 1u,
                                            .operation = SCHEMA_CREATE_UNIQUE,
                                            .table_id = TABLE,
                                            .step = steps[i / 2],
                                            .done = 1};
        if (!idle) {
            send_create_index("third", 1);
            while (!dict_at(3)->local.active || dict_at(3)->local.waits)
                assert_true(fc_step(fc, NODES, 3, 1));
            assert_int_equal(dict_at(3)->local.step, 0);
            lie.trans_id = dict_at(3)->local.trans_id;
        }
        fc->tamper = forge_takeover;
        fc_kill(fc, 1);
        fc_run(fc, 500);
        assert_null(fc->tamper); /* It has come by. */
        for (uint32_t id = 1; id <= NODES; id++)
            assert_int_not_equal(fc->node[id].exit_code, EXIT_NDBREQUIRE);
        if (fc_alive(fc, 2) && fc_alive(fc, 3))
            fail_msg("step %u, idle %u was taken", lie.step, idle);
        fc_destroy(fc);
        free(fc);
    }
}

/* --- Deaths. --- */

/* Deaths during a create, which is filled, or cannot be. */
static void deaths_of_create(bool files, uint32_t victim, uint32_t refuse)
{
    uint32_t went_on = 0;
    bool more = true;
    for (uint32_t at = 1; more; at++) {
        begin(files);
        for (uint32_t node = 1; node <= NODES; node++)
            fake_trix(fc, node)->refuse_fill = refuse;
        send_create_index("third", 1);
        more = fc_step(fc, NODES, victim, at);
        if (more) fc_kill(fc, victim);
        fc_run(fc, 150);
        bool on = agreed(at) == 3;
        went_on += on;
        if (fc_take(fc, API, GSN_ALTER_TABLE_CONF) != NULL) assert_true(on);
        if (on && refuse != 0) fail_msg("signal %u: an index that was not filled", at);
        for (uint32_t node = 1; node <= NODES; node++) {
            if (fc_alive(fc, node)) fake_trix(fc, node)->refuse_fill = 0;
        }
        if (on)
            send_drop("third");
        else
            send_create_index("third", 1);
        if (heard() != 0) fail_msg("signal %u: no index can be dropped or created", at);
        assert_int_equal(agreed(at), on ? 2 : 3);
        end();
    }
    assert_true(refuse != 0 || went_on > 1);
}

static void test_master_dies_creating(void **state)
{
    (void)state;
    deaths_of_create(false, 1, 0);
    deaths_of_create(true, 1, 0);
    deaths_of_create(true, 1, ERR_UNIQUE_DUPLICATE);
}

static void test_member_dies_creating(void **state)
{
    (void)state;
    deaths_of_create(true, 2, 0);
    deaths_of_create(true, 2, ERR_UNIQUE_DUPLICATE);
}

static void deaths(bool files, uint32_t victim)
{
    uint32_t went_on = 0;
    uint32_t went_back = 0;
    bool more = true;
    for (uint32_t at = 1; more; at++) {
        begin(files);
        send_drop("first");
        more = fc_step(fc, NODES, victim, at);
        if (more) fc_kill(fc, victim);
        fc_run(fc, 150);
        bool on = agreed(at) == 1;
        went_on += on;
        went_back += !on;
        /* What the client was told holds. */
        if (fc_take(fc, API, GSN_ALTER_TABLE_CONF) != NULL) assert_true(on);
        send_drop(on ? "second" : "first");
        if (heard() != 0) fail_msg("signal %u: no index can be dropped", at);
        assert_int_equal(agreed(at), on ? 0 : 1);
        end();
    }
    assert_true(went_on > 1);
    if (victim == 1) assert_true(went_back > 0);
}

static void test_master_dies(void **state)
{
    (void)state;
    deaths(false, 1);
    deaths(true, 1);
}

static void test_member_dies(void **state)
{
    (void)state;
    deaths(true, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drop),
        cmocka_unit_test(test_number_again),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_forged),
        cmocka_unit_test(test_master_dies),
        cmocka_unit_test(test_member_dies),
        cmocka_unit_test(test_create),
        cmocka_unit_test(test_not_filled),
        cmocka_unit_test(test_create_refused),
        cmocka_unit_test(test_bad_requests),
        cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_forged_create),
        cmocka_unit_test(test_forged_takeover),
        cmocka_unit_test(test_master_dies_creating),
        cmocka_unit_test(test_member_dies_creating),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
