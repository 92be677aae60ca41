/* test_dict_alter.c -- indexes of tables in use: what clients ask and hear, any refusal leaves
 * nothing, and whoever dies after any signal, the others end it alike. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "blocks/dbdict/dict_state.h"
#include "values/table_index.h"
#include "values/table_private.h"
#include "tests/unit/support/fake_disk.h"
#include "tests/unit/support/fake_step.h"
#include "tests/unit/support/fake_versions.h"
#include "tests/unit/support/fake_workers.h"

#define NODES 3u
#define API   6u
#define TABLE 1u

static struct fake_cluster *fc;
static uint32_t created_with; /* So many indexes, 0 or 1, has the table from the beginning. */
static uint32_t went_on;
static uint32_t went_back;

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

static void send_create(void)
{
    static uint8_t memory[400000] __attribute__((aligned(16)));
    static uint32_t words[1000];
    struct table_def *def = table_def_init(memory, sizeof memory, TABLE_COLUMNS_MAX);
    assert_int_equal(table_def_set_name(def, "test", 4, "t", 1), 0);
    def->balance = TABLE_BALANCE_FOR_RP_BY_LDM;
    struct table_column_options column = {.name = "k", .name_size = 1, .flags = COLUMN_PRIMARY_KEY};
    column.format = (struct column_format){.type = COLUMN_UNSIGNED, .length = 1};
    assert_int_equal(table_def_add_column(def, &column), 0);
    column.name = "b";
    column.flags = COLUMN_NULLABLE;
    column.format = (struct column_format){.type = COLUMN_BIT, .length = 3};
    assert_int_equal(table_def_add_column(def, &column), 0);
    const uint16_t key = 0;
    if (created_with != 0) assert_int_equal(table_def_add_index(def, "a", 1, &key, 1), 0);
    struct create_table_req req = {.sender_data = 42};
    struct section section = {words, table_def_encode(def, words, 1000)};
    fc_send(fc, API, block_ref(president(), BLOCK_DBDICT, 0), GSN_CREATE_TABLE_REQ, &req, 1,
            &section, 1);
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
    fc_run(fc, 20);
    assert_non_null(fc_take(fc, API, GSN_CREATE_TABLE_CONF));
}

static void end(void)
{
    fc_check(fc);
    fc_destroy(fc);
    free(fc);
}

/* --- Requests. --- */

static void send_alter_with(uint32_t kind, uint32_t table, uint32_t version, const uint32_t *words,
                            uint32_t count)
{
    struct alter_table_req req = {
        .sender_data = 43, .table_id = table, .version = version, .kind = kind};
    struct section section = {words, count};
    fc_send(fc, API, block_ref(president(), BLOCK_DBDICT, 0), GSN_ALTER_TABLE_REQ, &req,
            sizeof req / 4u, &section, 1);
}

static void send_index(const char *name, uint32_t column)
{
    uint32_t words[40] = {(uint32_t)strlen(name) | 1u << 16, column};
    memcpy(words + 2, name, strlen(name));
    send_alter_with(ALTER_CREATE_INDEX, TABLE, 1, words, 2 + words_of((uint32_t)strlen(name)));
}

static void send_drop(const char *name)
{
    uint32_t words[40] = {(uint32_t)strlen(name)};
    memcpy(words + 1, name, strlen(name));
    send_alter_with(ALTER_DROP_INDEX, TABLE, 1, words, 1 + words_of(words[0]));
}

/* 0, or the error with which it was refused. */
static uint32_t heard(void)
{
    fc_run(fc, 30);
    while (fc_take(fc, API, GSN_ALTER_TABLE_REP) != NULL)
        continue;
    if (fc_take(fc, API, GSN_ALTER_TABLE_CONF) != NULL) return 0;
    const struct signal *sig = fc_take(fc, API, GSN_ALTER_TABLE_REF);
    if (sig == NULL) fail_msg("nobody answered");
    assert_int_equal(SIG_PAYLOAD(sig, alter_table_ref)->sender_data, 43);
    return SIG_PAYLOAD(sig, alter_table_ref)->error;
}

/* Everybody left has the same definition, and its LQHs what it says. Returns its indexes. */
static uint32_t agreed(uint32_t at)
{
    static uint8_t memory[400000] __attribute__((aligned(16)));
    uint32_t first = UINT32_MAX;
    uint32_t version = 0;
    for (uint32_t node = 1; node <= NODES; node++) {
        struct section sections[2];
        struct table_def *def;
        if (!fc_alive(fc, node)) continue;
        struct dict *dict = dict_at(node);
        if (dict->local.active || dict->master.state != MASTER_IDLE)
            fail_msg("signal %u: node %u has not ended it", at, node);
        dict_store_read(dict, &dict->table[TABLE], sections);
        assert_int_equal(
            table_def_decode(sections[0].words, sections[0].size, memory, sizeof memory, &def), 0);
        if (first == UINT32_MAX) {
            first = def->index_count;
            version = def->version;
        }
        assert_int_equal(def->index_count, first);
        assert_int_equal(def->version, version);
        assert_int_equal(dict->table[TABLE].version, version);
        for (uint32_t i = 1; i <= 2; i++)
            assert_int_equal(fake_lqh(fc, node, i)->index[TABLE], first == created_with ? 0 : 2);
    }
    return first;
}

/* --- Without deaths. --- */

static void test_create_and_drop(void **state)
{
    (void)state;
    begin(true);
    fc_run(fc, 600); /* It is not told more often. */
    send_index("i", 0);
    fc_run(fc, 30);
    const struct signal *rep = fc_take(fc, API, GSN_ALTER_TABLE_REP);
    assert_non_null(rep);
    assert_int_equal(SIG_PAYLOAD(rep, alter_table_rep)->rows_lo, 5);
    assert_int_equal(heard(), 0);
    assert_int_equal(agreed(0), 1);
    assert_int_equal(dict_at(2)->table[TABLE].version, 1u << 24 | 1u);
    send_drop("i");
    assert_int_equal(heard(), 0);
    assert_int_equal(agreed(0), 0);
    assert_int_equal(dict_at(2)->table[TABLE].version, 2u << 24 | 1u);
    end();
}

static void test_refused(void **state)
{
    static const uint32_t garbage[] = {0xFFFFFFFF, 0, 0, 0};
    (void)state;
    begin(false);
    send_index("i", 0);
    assert_int_equal(heard(), 0);
    send_index("I", 0);
    assert_int_equal(heard(), ERR_INDEX_EXISTS);
    send_index("j", 1);
    assert_int_equal(heard(), ERR_INDEX_TYPE);
    send_index("j", 7);
    assert_int_equal(heard(), ERR_NO_SUCH_COLUMN);
    send_index("j/k", 0);
    assert_int_equal(heard(), ERR_TABLE_NAME_CHARACTER);
    send_drop("j");
    assert_int_equal(heard(), ERR_INDEX_MISSING);
    send_alter_with(ALTER_DROP_INDEX, TABLE, 2, garbage, 2);
    assert_int_equal(heard(), ERR_SCHEMA_VERSION);
    send_alter_with(ALTER_DROP_INDEX, 9, 1, garbage, 2);
    assert_int_equal(heard(), ERR_NO_SUCH_TABLE_ID);
    for (uint32_t kind = ALTER_CREATE_INDEX; kind <= ALTER_DROP_INDEX; kind++) {
        for (uint32_t count = 1; count <= 4; count++) {
            send_alter_with(kind, TABLE, 1, garbage, count);
            assert_true(heard() != 0);
        }
    }
    send_alter_with(77, TABLE, dict_at(1)->table[TABLE].version, garbage, 1);
    assert_int_equal(heard(), ERR_NOT_IMPLEMENTED);
    assert_int_equal(agreed(0), 1);
    end();
}

/* Any instance of any node, or a DICT. */
static void test_any_refusal_leaves_nothing(void **state)
{
    (void)state;
    begin(true);
    for (uint32_t node = 1; node <= NODES; node++) {
        for (uint32_t i = 1; i <= 2; i++) {
            fake_lqh(fc, node, 3 - i)->hold_index = true; /* It would not end by itself. */
            fake_lqh(fc, node % NODES + 1, 1)->hold_index = true;
            fake_lqh(fc, node, i)->refuse_index = ERR_INDEX_MEMORY_ORDERED;
            send_index("i", 0);
            assert_int_equal(heard(), ERR_INDEX_MEMORY_ORDERED);
            assert_int_equal(agreed(0), 0);
            fake_lqh(fc, node, 3 - i)->hold_index = false;
            fake_lqh(fc, node % NODES + 1, 1)->hold_index = false;
        }
        dict_at(node)->block.error_insert = 6005;
        send_index("i", 0);
        assert_int_equal(heard(), ERR_SCHEMA_OBJECT_BUSY);
        assert_int_equal(agreed(0), 0);
    }
    send_index("i", 0);
    assert_int_equal(heard(), 0);
    dict_at(2)->block.error_insert = 6006;
    send_drop("i");
    assert_int_equal(heard(), ERR_SCHEMA_OBJECT_BUSY);
    assert_int_equal(agreed(0), 1);
    end();
}

static void test_client_dies(void **state)
{
    (void)state;
    begin(true);
    for (uint32_t node = 1; node <= NODES; node++)
        fake_lqh(fc, node, 1)->hold_index = true;
    send_index("i", 0);
    fc_run(fc, 200);
    assert_true(dict_at(1)->master.state == MASTER_PREPARING);
    fc_client(fc, API, false);
    fc_run(fc, 200);
    assert_int_equal(agreed(0), 0);
    end();
}

static void test_master_dies_while_it_is_built(void **state)
{
    (void)state;
    begin(true);
    for (uint32_t node = 1; node <= NODES; node++)
        fake_lqh(fc, node, 2)->hold_index = true;
    send_index("i", 0);
    fc_run(fc, 100);
    fc_kill(fc, 1);
    fc_run(fc, 300);
    assert_int_equal(agreed(0), 0);
    end();
}

/* --- A master that is wrong. --- */

enum forgery { FORGE_DROP_ID, FORGE_CREATE_ID, FORGE_COLUMN, FORGE_NAME, FORGERIES };
static enum forgery forgery;

static void forge_definition(struct schema_prepare_req *req, struct table_def *def)
{
    struct table_index first;
    switch (forgery) {
    case FORGE_DROP_ID:
        req->object++;
        break;
    case FORGE_CREATE_ID: /* The two indexes change places. */
        assert_true(table_def_index(def, 0, &first));
        table_def_index_set_id(def, 0, (uint8_t)req->object);
        table_def_index_set_id(def, 1, first.id);
        req->object = first.id;
        break;
    case FORGE_COLUMN:
        def->columns[0].format.type = COLUMN_INT;
        break;
    case FORGE_NAME:
        def->table[0] = 'u';
        break;
    case FORGERIES:
    default:
        fail();
    }
}

static void forge(struct fake_cluster *cluster, uint32_t from, uint32_t to, uint32_t *words,
                  uint32_t count)
{
    static uint8_t memory[400000] __attribute__((aligned(16)));
    (void)from;
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        struct table_def *def;
        uint32_t *lengths = words + at + SIGNAL_HEAD_WORDS + kind_words(words[at]);
        uint32_t *sent = lengths + kind_sections(words[at]);
        if (to != 2 || kind_gsn(words[at]) != GSN_SCHEMA_PREPARE_REQ) continue;
        assert_int_equal(table_def_decode(sent, lengths[0], memory, sizeof memory, &def), 0);
        forge_definition((struct schema_prepare_req *)(words + at + SIGNAL_HEAD_WORDS), def);
        assert_int_equal(table_def_encode(def, sent, lengths[0]), lengths[0]);
        cluster->tamper = NULL;
        return;
    }
}

/* What this node's own definition cannot become costs the link, and the client is told nothing that
 * is wrong. */
static void test_forged_definition(void **state)
{
    (void)state;
    for (forgery = 0; forgery < FORGERIES; forgery++) {
        bool drop = forgery == FORGE_DROP_ID;
        created_with = forgery == FORGE_CREATE_ID ? 1 : 0;
        begin(true);
        if (drop) {
            send_index("i", 0);
            assert_int_equal(heard(), 0);
        }
        fc->tamper = forge;
        if (drop)
            send_drop("i");
        else
            send_index("j", 0);
        fc_run(fc, 500);
        assert_null(fc->tamper); /* It has come by. */
        if (fc_alive(fc, 1) && fc_alive(fc, 2)) fail_msg("forgery %u was taken", (uint32_t)forgery);
        for (uint32_t id = 1; id <= NODES; id++)
            assert_int_not_equal(fc->node[id].exit_code, EXIT_NDBREQUIRE);
        bool told = fc_take(fc, API, GSN_ALTER_TABLE_CONF) != NULL;
        bool done = agreed(0) == (drop ? 0 : created_with + 1u);
        if (told) assert_true(done);
        fc_destroy(fc);
        free(fc);
    }
    created_with = 0;
}

/* --- Deaths. --- */

static void deaths(bool files, bool drop, uint32_t victim)
{
    bool more = true;
    went_on = went_back = 0;
    for (uint32_t at = 1; more; at++) {
        begin(files);
        if (drop) {
            send_index("i", 0);
            assert_int_equal(heard(), 0);
            send_drop("i");
        } else {
            send_index("i", 0);
        }
        more = fc_step(fc, NODES, victim, at);
        if (more) fc_kill(fc, victim);
        fc_run(fc, 150);
        bool on = agreed(at) == (drop ? 0 : 1);
        went_on += on;
        went_back += !on;
        while (fc_take(fc, API, GSN_ALTER_TABLE_REP) != NULL)
            continue;
        /* What the client was told holds. */
        if (fc_take(fc, API, GSN_ALTER_TABLE_CONF) != NULL) assert_true(on);
        if (agreed(at) == 1) {
            send_drop("i");
            assert_int_equal(heard(), 0);
        }
        send_index("next", 0);
        if (heard() != 0) fail_msg("signal %u: no new index can be made", at);
        send_drop("next");
        assert_int_equal(heard(), 0);
        end();
    }
    assert_true(went_on > 1);
    if (victim == 1) assert_true(went_back > 0);
}

static void test_master_dies(void **state)
{
    (void)state;
    deaths(false, false, 1);
    deaths(true, false, 1);
    deaths(true, true, 1);
}

static void test_member_dies(void **state)
{
    (void)state;
    deaths(true, false, 2);
    deaths(true, true, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create_and_drop),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_any_refusal_leaves_nothing),
        cmocka_unit_test(test_client_dies),
        cmocka_unit_test(test_master_dies_while_it_is_built),
        cmocka_unit_test(test_forged_definition),
        cmocka_unit_test(test_master_dies),
        cmocka_unit_test(test_member_dies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
