/* test_dict.c -- tables are created and dropped on all nodes or on none; node groups and placement.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "blocks/dbdict/dict_state.h"
#include "values/attr.h"
#include "signals/dict.h"
#include "values/errors.h"
#include "signals/management.h"
#include "signals/schema_trans.h"
#include "values/table_def.h"
#include "values/table_index.h"
#include "values/table_version.h"
#include "tests/unit/support/fake_fixture.h"

#define API 6u
#define MGM 8u

static uint32_t nodes;

static void start(uint32_t count, const struct node_config *config)
{
    nodes = count;
    for (uint32_t id = 1; id <= count; id++)
        fake_data_node(fc_fc, id, config);
    fc_client(fc_fc, API, true);
    fc_client(fc_fc, MGM, true);
    fc_run(fc_fc, 100);
    for (uint32_t id = 1; id <= count; id++)
        assert_int_equal(fake_tc(fc_fc, id, 1)->level, START_STARTED);
    fc_client(fc_fc, MGM, false);
}

/* Client heartbeats, so that time may pass. */
static void run(uint32_t ms)
{
    for (uint32_t done = 0; done < ms; done += 50) {
        for (uint32_t id = 1; id <= nodes; id++) {
            struct api_regreq req = {.version = NDB_VERSION, .generation = 1};
            fc_sig_send(fc_fc, API, block_ref(id, BLOCK_QMGR, 0), GSN_API_REGREQ, &req);
        }
        fc_run(fc_fc, ms - done < 50 ? ms - done : 50);
    }
}

#define DICT_TEST_WORDS 60000u
static uint32_t def_words[DICT_TEST_WORDS];
static uint8_t def_memory[400000] __attribute__((aligned(16)));

static uint32_t table_flags = TABLE_FLAGS_DEFAULT; /* Flags of the next definition. */

/* A definition of `columns` varbinary columns behind an integer key. */
static uint32_t make_def(const char *name, uint32_t columns, int32_t balance, uint32_t fragments)
{
    struct table_def *def = table_def_init(def_memory, sizeof def_memory, TABLE_COLUMNS_MAX);
    assert_non_null(def);
    assert_int_equal(table_def_set_name(def, "test", 4, name, (uint32_t)strlen(name)), 0);
    def->balance = balance;
    def->flags = table_flags;
    def->fragment_count = fragments;
    struct table_column_options key = {.name = "k", .name_size = 1, .flags = COLUMN_PRIMARY_KEY};
    key.format.type = COLUMN_UNSIGNED;
    key.format.length = 1;
    assert_int_equal(table_def_add_column(def, &key), 0);
    for (uint32_t i = 1; i < columns; i++) {
        char column[COLUMN_NAME_MAX];
        memset(column, 'c', sizeof column);
        snprintf(column, sizeof column, "c%u", i);
        column[strlen(column)] = '_';
        struct table_column_options value = {.name = column,
                                             .name_size = columns > 100 ? COLUMN_NAME_MAX : 8,
                                             .flags = COLUMN_NULLABLE};
        value.format.type = COLUMN_VARBINARY;
        value.format.length = 20;
        assert_int_equal(table_def_add_column(def, &value), 0);
    }
    uint32_t words = table_def_encode(def, def_words, DICT_TEST_WORDS);
    assert_int_not_equal(words, 0);
    return words;
}

static void send_create(uint32_t node, uint32_t words, uint32_t sender_data)
{
    struct create_table_req req = {.sender_data = sender_data};
    struct section section = {def_words, words};
    fc_send(fc_fc, API, block_ref(node, BLOCK_DBDICT, 0), GSN_CREATE_TABLE_REQ, &req, 1, &section,
            1);
}

/* 0 and *id, or the error. */
static uint32_t create(uint32_t node, uint32_t words, uint32_t *id, uint32_t *version)
{
    send_create(node, words, 42);
    run(20);
    const struct signal *sig = fc_take(fc_fc, API, GSN_CREATE_TABLE_CONF);
    if (sig != NULL) {
        const struct create_table_conf *conf = SIG_PAYLOAD(sig, create_table_conf);
        assert_int_equal(conf->sender_data, 42);
        *id = conf->table_id;
        *version = conf->version;
        return 0;
    }
    sig = fc_take(fc_fc, API, GSN_CREATE_TABLE_REF);
    assert_non_null(sig);
    assert_int_equal(SIG_PAYLOAD(sig, create_table_ref)->sender_data, 42);
    return SIG_PAYLOAD(sig, create_table_ref)->error;
}

static uint32_t drop(uint32_t node, uint32_t id, uint32_t version)
{
    struct drop_table_req req = {.sender_data = 43, .table_id = id, .version = version};
    fc_sig_send(fc_fc, API, block_ref(node, BLOCK_DBDICT, 0), GSN_DROP_TABLE_REQ, &req);
    run(20);
    if (fc_take(fc_fc, API, GSN_DROP_TABLE_CONF) != NULL) return 0;
    const struct signal *sig = fc_take(fc_fc, API, GSN_DROP_TABLE_REF);
    assert_non_null(sig);
    return SIG_PAYLOAD(sig, drop_table_ref)->error;
}

static const struct signal *tabinfo(uint32_t node, uint32_t id, const char *name, uint32_t *error)
{
    struct get_tabinfo_req req = {.sender_data = 44, .table_id = id};
    uint32_t words[64] = {0};
    struct section section = {words, 0};
    if (name != NULL) {
        words[0] = (uint32_t)strlen(name);
        memcpy(words + 1, name, words[0]);
        section.size = 1 + words_of(words[0]);
    }
    fc_send(fc_fc, API, block_ref(node, BLOCK_DBDICT, 0), GSN_GET_TABINFO_REQ, &req, 2, &section,
            name != NULL);
    run(5);
    const struct signal *sig = fc_take(fc_fc, API, GSN_GET_TABINFO_CONF);
    if (sig != NULL) return sig;
    sig = fc_take(fc_fc, API, GSN_GET_TABINFO_REF);
    assert_non_null(sig);
    *error = SIG_PAYLOAD(sig, get_tabinfo_ref)->error;
    return NULL;
}

/* All TC and LQH instances of all nodes have the table in this state. */
static void assert_everywhere(uint32_t id, uint32_t state)
{
    for (uint32_t node = 1; node <= nodes; node++) {
        for (uint32_t i = 1; i <= 2; i++) {
            assert_int_equal(fake_tc(fc_fc, node, i)->state[id], state);
            assert_int_equal(fake_lqh(fc_fc, node, i)->state[id], state);
        }
    }
}

static void assert_nothing_left(void)
{
    for (uint32_t node = 1; node <= nodes; node++) {
        struct dict_usage usage;
        dict_usage_get(node_block(fc_fc->node[node].node, BLOCK_DBDICT, 0), &usage);
        assert_int_equal(usage.tables, 0);
        assert_int_equal(usage.chunks, 0);
        assert_int_equal(usage.busy, 0);
    }
    for (uint32_t id = 1; id < FAKE_TABLES; id++)
        assert_everywhere(id, 0);
}

static uint32_t version_of(uint32_t id)
{
    return dict_of(node_block(fc_fc->node[1].node, BLOCK_DBDICT, 0))->table[id].version;
}

/* A cluster that begins anew gives number 1 to another table: a client's definition of a former
 * one is recognised there, too. */
static void test_versions_begin_anywhere(void **state)
{
    (void)state;
    struct node_config config = fake_config(1, 1);
    start(1, &config);
    uint32_t id, version[4];
    for (uint32_t i = 0; i < 4; i++) {
        char name[8];
        snprintf(name, sizeof name, "t%u", i);
        assert_int_equal(
            create(1, make_def(name, 2, TABLE_BALANCE_FOR_RP_BY_LDM, 0), &id, &version[i]), 0);
        assert_in_range(version[i], 1, TABLE_VERSION_FIRST_MAX);
        for (uint32_t k = 0; k < i; k++)
            assert_int_not_equal(version[i], version[k]);
        assert_int_equal(version_of(id), version[i]);
    }
}

static void test_create_get_drop(void **state)
{
    (void)state;
    struct node_config config = fake_config(2, 2);
    start(2, &config);
    /* No TC may route to an LQH that does not know the table: LQHs of the other node come first as
     * well. */
    fake_tc(fc_fc, 1, 1)->before = fake_lqh(fc_fc, 2, 2);
    fake_tc(fc_fc, 2, 1)->before = fake_lqh(fc_fc, 1, 2);
    uint32_t id = 0, version = 0;
    assert_int_equal(create(1, make_def("t1", 3, TABLE_BALANCE_FOR_RP_BY_LDM, 0), &id, &version),
                     0);
    assert_everywhere(id, 2);
    assert_int_equal(fake_tc(fc_fc, 1, 1)->early + fake_tc(fc_fc, 2, 1)->early, 0);

    for (uint32_t node = 1; node <= 2; node++) {
        for (uint32_t by_name = 0; by_name < 2; by_name++) {
            uint32_t error = 0;
            const struct signal *sig = tabinfo(node, id, by_name ? "test/def/t1" : NULL, &error);
            assert_non_null(sig);
            assert_int_equal(SIG_PAYLOAD(sig, get_tabinfo_conf)->table_id, id);
            assert_int_equal(SIG_PAYLOAD(sig, get_tabinfo_conf)->version, version);
            static uint8_t memory[400000] __attribute__((aligned(16)));
            struct table_def *def;
            assert_int_equal(table_def_decode(sig->section[0].words, sig->section[0].size, memory,
                                              sizeof memory, &def),
                             0);
            assert_int_equal(def->table_id, id);
            assert_int_equal(def->version, version);
            assert_int_equal(def->fragment_count, 4); /* 2 nodes x 2 LDM */
            assert_int_equal(def->column_count, 3);
            assert_int_equal(sig->section[1].words[0], 4);
            assert_int_equal(sig->section[1].words[1], 2);
            assert_int_equal(sig->section[1].words[2], HASH_MAP_BUCKETS);
        }
    }
    uint32_t error = 0;
    assert_null(tabinfo(1, 0, "test/def/nix", &error));
    assert_int_equal(error, ERR_NO_SUCH_TABLE);
    assert_null(tabinfo(2, 63, NULL, &error));
    assert_int_equal(error, ERR_NO_SUCH_TABLE_ID);
    assert_null(tabinfo(2, 0xFFFFFFFF, NULL, &error));
    assert_int_equal(error, ERR_NO_SUCH_TABLE_ID);

    uint32_t other_id, other_version;
    assert_int_equal(
        create(1, make_def("t1", 3, TABLE_BALANCE_FOR_RP_BY_LDM, 0), &other_id, &other_version),
        ERR_TABLE_EXISTS);
    assert_int_equal(
        create(2, make_def("t2", 3, TABLE_BALANCE_FOR_RP_BY_LDM, 0), &other_id, &other_version),
        ERR_NOT_MASTER);
    assert_int_equal(drop(1, id, version + 1), ERR_SCHEMA_VERSION);
    assert_int_equal(drop(2, id, version), ERR_NOT_MASTER);
    assert_int_equal(drop(1, id + 1, version), ERR_NO_SUCH_TABLE_ID);
    assert_int_equal(drop(1, 0xFFFFFFFF, version), ERR_NO_SUCH_TABLE_ID);
    assert_int_equal(drop(1, id, version), 0);
    assert_nothing_left();
    assert_null(tabinfo(2, 0, "test/def/t1", &error));
    assert_int_equal(
        create(1, make_def("t1", 3, TABLE_BALANCE_FOR_RP_BY_LDM, 0), &id, &other_version), 0);
    assert_int_equal(other_version, version + 1); /* A client's old definition is recognised. */
    assert_int_equal(drop(1, id, other_version), 0);
    assert_nothing_left();
}

static void test_any_refusal_leaves_nothing(void **state)
{
    (void)state;
    struct node_config config = fake_config(4, 2);
    start(4, &config);
    uint32_t words = make_def("t", 2, TABLE_BALANCE_FOR_RP_BY_LDM, 0);
    uint32_t id, version;
    for (uint32_t node = 1; node <= 4; node++) {
        for (uint32_t i = 1; i <= 2; i++) {
            fake_tc(fc_fc, node, i)->refuse_add = ERR_TC_RESOURCE_217;
            assert_int_equal(create(1, words, &id, &version), ERR_TC_RESOURCE_217);
            assert_nothing_left();
            fake_lqh(fc_fc, node, i)->refuse_add = ERR_TOO_MANY_FRAGMENTS;
            assert_int_equal(create(1, words, &id, &version), ERR_TOO_MANY_FRAGMENTS);
            assert_nothing_left();
        }
    }
    assert_int_equal(create(1, words, &id, &version), 0);
    assert_everywhere(id, 2);
    assert_int_equal(drop(1, id, version), 0);
}

/* --- Unique indexes: tables that come and go with theirs. --- */

#define UNIQUES 2u

static uint32_t make_unique_def(const char *name)
{
    static const uint16_t columns[2] = {1, 2};
    make_def(name, 4, TABLE_BALANCE_FOR_RP_BY_LDM, 0);
    struct table_def *def = (void *)def_memory;
    assert_int_equal(table_def_add_unique(def, "u_a", 3, columns, 1), 0);
    assert_int_equal(table_def_add_unique(def, "u_b", 3, columns, 2), 0);
    return table_def_encode(def, def_words, DICT_TEST_WORDS);
}

/* The table is read, and its indexes say which tables they are. */
static struct table_def *read_def(uint32_t node, uint32_t id)
{
    static uint8_t memory[400000] __attribute__((aligned(16)));
    struct table_def *def;
    uint32_t error = 0;
    const struct signal *sig = tabinfo(node, id, NULL, &error);
    assert_non_null(sig);
    assert_int_equal(
        table_def_decode(sig->section[0].words, sig->section[0].size, memory, sizeof memory, &def),
        0);
    return def;
}

static void test_unique_come_and_go(void **state)
{
    (void)state;
    struct node_config config = fake_config(2, 2);
    start(2, &config);
    uint32_t id, version, other_id, other_version;
    assert_int_equal(create(1, make_unique_def("t"), &id, &version), 0);
    uint32_t index_id[UNIQUES];
    for (uint32_t i = 0; i < UNIQUES; i++) {
        struct table_index index;
        assert_true(table_def_unique(read_def(1, id), i, &index));
        index_id[i] = index.table_id;
        assert_int_not_equal(index.table_id, id);
        assert_everywhere(index.table_id, 2);
        const struct table_def *def = read_def(2, index.table_id);
        assert_int_equal(def->base_id, id);
        assert_int_equal(def->base_version, version);
        assert_int_equal(def->version, index.version);
        assert_int_equal(def->fragment_count, 4);
        assert_int_equal(def->key_count, i + 1);
        assert_int_equal(drop(1, index.table_id, index.version), ERR_NO_SUCH_TABLE_ID);
    }
    assert_int_not_equal(index_id[0], index_id[1]);
    assert_everywhere(id, 2);
    assert_int_equal(create(1, make_unique_def("t"), &other_id, &other_version), ERR_TABLE_EXISTS);
    assert_int_equal(create(1, make_unique_def("other"), &other_id, &other_version), 0);
    assert_int_equal(drop(1, id, version), 0);
    for (uint32_t i = 0; i < UNIQUES; i++)
        assert_everywhere(index_id[i], 0);
    assert_everywhere(other_id, 2);
    assert_int_equal(drop(1, other_id, other_version), 0);
    assert_nothing_left();
}

/* Any instance refuses the first, the second or the third table of the group. */
static void test_unique_refused(void **state)
{
    (void)state;
    struct node_config config = fake_config(2, 2);
    start(2, &config);
    uint32_t words = make_unique_def("t");
    uint32_t id, version;
    for (uint32_t node = 1; node <= 2; node++) {
        for (uint32_t nth = 1; nth <= UNIQUES + 1; nth++) {
            fake_tc(fc_fc, node, 2)->refuse_add = ERR_TC_RESOURCE_217;
            fake_tc(fc_fc, node, 2)->refuse_after = nth - 1;
            assert_int_equal(create(1, words, &id, &version), ERR_TC_RESOURCE_217);
            assert_nothing_left();
            fake_lqh(fc_fc, node, 1)->refuse_add = ERR_TOO_MANY_FRAGMENTS;
            fake_lqh(fc_fc, node, 1)->refuse_after = nth - 1;
            assert_int_equal(create(1, words, &id, &version), ERR_TOO_MANY_FRAGMENTS);
            assert_nothing_left();
        }
    }
    node_block(fc_fc->node[2].node, BLOCK_DBDICT, 0)->error_insert = 6001;
    assert_int_equal(create(1, words, &id, &version), ERR_SCHEMA_MEMORY);
    assert_nothing_left();
    assert_int_equal(create(1, words, &id, &version), 0);
    node_block(fc_fc->node[2].node, BLOCK_DBDICT, 0)->error_insert = 6002;
    assert_int_equal(drop(1, id, version), ERR_SCHEMA_OBJECT_BUSY);
    assert_everywhere(id, 2);
    assert_int_equal(drop(1, id, version), 0);
    assert_nothing_left();
}

/* Numbers run out in the middle of a group; a client that says of what its table is an index. */
static void test_unique_limits(void **state)
{
    (void)state;
    struct node_config config = fake_config(2, 2);
    config.tables_max = 4;
    start(2, &config);
    uint32_t id, version, other_id, other_version;
    assert_int_equal(create(1, make_unique_def("t"), &id, &version), 0);
    assert_int_equal(create(1, make_unique_def("t2"), &other_id, &other_version),
                     ERR_TABLE_RECORDS);
    make_def("forged", 3, TABLE_BALANCE_FOR_RP_BY_LDM, 0);
    struct table_def *def = (void *)def_memory;
    def->base_id = id;
    def->base_version = version;
    assert_int_equal(
        create(1, table_def_encode(def, def_words, DICT_TEST_WORDS), &other_id, &other_version),
        ERR_TABLE_FORMAT);
    assert_int_equal(drop(1, id, version), 0);
    assert_nothing_left();
}

static void arm(uint32_t node, uint32_t block_no, uint32_t number)
{
    node_block(fc_fc->node[node].node, block_no, 0)->error_insert = number;
}

static void test_error_inserts(void **state)
{
    (void)state;
    struct node_config config = fake_config(2, 2);
    start(2, &config);
    uint32_t words = make_def("t", 2, TABLE_BALANCE_FOR_RP_BY_LDM, 0);
    uint32_t id, version;
    for (uint32_t node = 1; node <= 2; node++) {
        arm(node, BLOCK_DBDICT, 6001);
        assert_int_equal(create(1, words, &id, &version), ERR_SCHEMA_MEMORY);
        assert_nothing_left();
    }
    arm(1, BLOCK_DBDIH, 7001);
    assert_int_equal(create(1, words, &id, &version), ERR_TOO_MANY_FRAGMENTS);
    arm(1, BLOCK_DBDIH, 0);
    assert_nothing_left();
    assert_int_equal(create(1, words, &id, &version), 0);
    arm(2, BLOCK_DBDICT, 6002);
    assert_int_equal(drop(1, id, version), ERR_SCHEMA_OBJECT_BUSY);
    assert_everywhere(id, 2); /* Still usable everywhere. */
    assert_int_equal(drop(1, id, version), 0);
    assert_nothing_left();
}

static void test_one_at_a_time(void **state)
{
    (void)state;
    struct node_config config = fake_config(2, 2);
    start(2, &config);
    send_create(1, make_def("a", 2, TABLE_BALANCE_FOR_RP_BY_LDM, 0), 1);
    send_create(1, make_def("b", 2, TABLE_BALANCE_FOR_RP_BY_LDM, 0), 2);
    run(20);
    const struct signal *conf = fc_take(fc_fc, API, GSN_CREATE_TABLE_CONF);
    const struct signal *ref = fc_take(fc_fc, API, GSN_CREATE_TABLE_REF);
    assert_non_null(conf);
    assert_non_null(ref);
    assert_int_equal(SIG_PAYLOAD(conf, create_table_conf)->sender_data, 1);
    assert_int_equal(SIG_PAYLOAD(ref, create_table_ref)->sender_data, 2);
    assert_int_equal(SIG_PAYLOAD(ref, create_table_ref)->error, ERR_SCHEMA_BUSY);
    assert_int_equal(SIG_PAYLOAD(ref, create_table_ref)->master_node, 1);
}

static void test_client_death_does_not_stop_it(void **state)
{
    (void)state;
    struct node_config config = fake_config(2, 2);
    start(2, &config);
    send_create(1, make_def("t", 2, TABLE_BALANCE_FOR_RP_BY_LDM, 0), 1);
    fc_links(fc_fc);
    fc_deliver(fc_fc, API, 1);
    fc_run_node(fc_fc, 1);
    fc_client(fc_fc, API, false);
    fc_run(fc_fc, 20);
    fc_client(fc_fc, API, true);
    fc_run(fc_fc, 20);
    assert_everywhere(1, 2);
    assert_null(
        fc_take(fc_fc, API, GSN_CREATE_TABLE_CONF)); /* The new client has not asked for it. */
    assert_int_equal(drop(1, 1, version_of(1)), 0);
    assert_nothing_left();
}

static void test_limits(void **state)
{
    (void)state;
    struct node_config config = fake_config(1, 1);
    config.tables_max = 5;
    start(1, &config);
    uint32_t id, version;
    for (uint32_t i = 1; i <= 5; i++) {
        char name[8];
        snprintf(name, sizeof name, "t%u", i);
        assert_int_equal(
            create(1, make_def(name, 2, TABLE_BALANCE_FOR_RP_BY_LDM, 0), &id, &version), 0);
    }
    assert_int_equal(create(1, make_def("more", 2, TABLE_BALANCE_FOR_RP_BY_LDM, 0), &id, &version),
                     ERR_TABLE_RECORDS);
    assert_int_equal(drop(1, 2, version_of(2)), 0);
    assert_int_equal(create(1, make_def("more", 2, TABLE_BALANCE_FOR_RP_BY_LDM, 0), &id, &version),
                     0);
    assert_int_equal(id, 2);
}

static void test_schema_memory_full(void **state)
{
    (void)state;
    struct node_config config = fake_config(2, 2);
    config.memory.pages_max[RG_SCHEMA] = 40; /* The fixed part takes about 27. */
    start(2, &config);
    uint32_t id[FAKE_TABLES], version[FAKE_TABLES], count = 0, error = 0;
    for (; count < 60; count++) {
        char name[8];
        snprintf(name, sizeof name, "t%u", count);
        error = create(1, make_def(name, 300, TABLE_BALANCE_FOR_RP_BY_LDM, 0), &id[count],
                       &version[count]);
        if (error != 0) break;
    }
    assert_int_equal(error, ERR_SCHEMA_MEMORY);
    assert_true(count > 0);
    fc_check(fc_fc);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(drop(1, id[i], version[i]), 0);
    assert_nothing_left();
    assert_int_equal(
        create(1, make_def("t", 300, TABLE_BALANCE_FOR_RP_BY_LDM, 0), &id[0], &version[0]), 0);
}

static void test_largest_definition(void **state)
{
    (void)state;
    struct node_config config = fake_config(2, 2);
    start(2, &config);
    uint32_t id, version, error = 0;
    uint32_t words = make_def("big", 512, TABLE_BALANCE_FOR_RP_BY_LDM, 0);
    assert_true(words > 15000);
    assert_int_equal(create(1, words, &id, &version), 0);
    const struct signal *sig = tabinfo(2, id, NULL, &error);
    assert_non_null(sig);
    assert_int_equal(sig->section[0].size, words);
    /* Equal but for the number, version and fragment count that the master filled in. */
    uint32_t differs = 0;
    for (uint32_t i = 0; i < words; i++)
        differs += sig->section[0].words[i] != def_words[i];
    assert_true(differs <= 3);
}

static void test_list(void **state)
{
    (void)state;
    struct node_config config = fake_config(1, 1);
    start(1, &config);
    uint32_t id, version;
    for (uint32_t i = 1; i < 60; i++) {
        char name[120];
        memset(name, 'n', sizeof name);
        snprintf(name, sizeof name, "t%u", i);
        assert_int_equal(
            create(1, make_def(name, 2, TABLE_BALANCE_FOR_RP_BY_LDM, 0), &id, &version), 0);
    }
    uint32_t seen = 0;
    for (uint32_t first = 0, more = 1; more;) {
        struct list_tables_req req = {.sender_data = 5, .first_id = first};
        fc_sig_send(fc_fc, API, block_ref(1, BLOCK_DBDICT, 0), GSN_LIST_TABLES_REQ, &req);
        run(5);
        const struct signal *sig = fc_take(fc_fc, API, GSN_LIST_TABLES_CONF);
        assert_non_null(sig);
        const struct list_tables_conf *conf = SIG_PAYLOAD(sig, list_tables_conf);
        uint32_t at = 0;
        for (uint32_t i = 0; i < conf->count; i++) {
            const uint32_t *entry = sig->section[0].words + at;
            char name[140], expected[140];
            memcpy(name, entry + 5, entry[4]);
            name[entry[4]] = 0;
            snprintf(expected, sizeof expected, "test/def/t%u", entry[0]);
            assert_string_equal(name, expected);
            assert_int_equal(entry[2], TABLE_ONLINE);
            assert_int_equal(entry[3], 2);
            at += 5 + words_of(entry[4]);
            seen++;
        }
        assert_int_equal(at, sig->section[0].size);
        first = conf->next_id;
        more = first != 0;
    }
    assert_int_equal(seen, 59);
    struct list_tables_req beyond = {.first_id = 0xFFFFFFFF};
    fc_sig_send(fc_fc, API, block_ref(1, BLOCK_DBDICT, 0), GSN_LIST_TABLES_REQ, &beyond);
    run(5);
    assert_non_null(fc_take(fc_fc, API, GSN_LIST_TABLES_CONF));
}

/* Words from a client are never believed. */
static void test_garbage(void **state)
{
    (void)state;
    struct node_config config = fake_config(2, 2);
    start(2, &config);
    struct rng rng;
    rng_seed(&rng, 1);
    uint32_t words = make_def("t", 20, TABLE_BALANCE_FOR_RP_BY_LDM, 0);
    static uint32_t kept[DICT_TEST_WORDS];
    memcpy(kept, def_words, sizeof kept);
    for (uint32_t i = 0; i < 400; i++) {
        memcpy(def_words, kept, sizeof kept);
        uint32_t bit = (uint32_t)rng_next(&rng) % (words * 32);
        def_words[bit / 32] ^= 1u << bit % 32;
        uint32_t size = i % 3 == 0 ? (uint32_t)rng_next(&rng) % words : words;
        uint32_t id, version;
        uint32_t error = create(1, size, &id, &version);
        if (error == 0) assert_int_equal(drop(1, id, version), 0);
        assert_false(fc_fc->node[1].dead || fc_fc->node[2].dead);
    }
    assert_nothing_left();
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t name[40];
        for (uint32_t w = 0; w < 40; w++)
            name[w] = (uint32_t)rng_next(&rng) >> (w == 0 ? i % 32 : 0);
        struct get_tabinfo_req req = {.sender_data = 1};
        struct section section = {name, i % 40};
        fc_send(fc_fc, API, block_ref(1, BLOCK_DBDICT, 0), GSN_GET_TABINFO_REQ, &req, 2, &section,
                1);
        run(2);
        assert_non_null(fc_take(fc_fc, API, GSN_GET_TABINFO_REF));
    }
    assert_int_not_equal(fc_fc->link[API][1].epoch, 0);
}

/* --- Distribution. --- */

/* Reads the distribution of a new table and checks that fragments, primaries and buckets are even.
 */
static void check_even(uint32_t replicas, uint32_t ldm, int32_t balance, uint32_t expected)
{
    static uint32_t number;
    char name[16];
    uint32_t id, version, error;
    snprintf(name, sizeof name, "d%u", ++number);
    assert_int_equal(
        create(1, make_def(name, 2, balance, balance == TABLE_BALANCE_SPECIFIC ? expected : 0), &id,
               &version),
        0);
    const struct signal *sig = tabinfo(nodes, id, NULL, &error);
    assert_non_null(sig);
    const uint32_t *words = sig->section[1].words;
    uint32_t fragments = words[0];
    uint32_t buckets = words[2];
    assert_int_equal(fragments, expected);
    assert_int_equal(words[1], replicas);
    assert_int_equal(sig->section[1].size, 3 + fragments * replicas + buckets / 2);
    uint32_t primaries[FC_NODES] = {0}, copies[FC_NODES] = {0}, primary_ldm[FC_NODES][8] = {{0}};
    uint32_t copy_ldm[FC_NODES][8] = {{0}};
    for (uint32_t f = 0; f < fragments; f++) {
        const uint32_t *replica = words + 3 + f * replicas;
        uint32_t group = (replica[0] - 1) / replicas;
        uint32_t once = 0;
        for (uint32_t r = 0; r < replicas; r++) {
            assert_true(replica[r] >= 1 && replica[r] <= nodes);
            assert_int_equal((replica[r] - 1) / replicas, group); /* All in one node group... */
            assert_false(once >> replica[r] & 1u);                /* ...and on different nodes. */
            once |= 1u << replica[r];
            copies[replica[r]]++;
            copy_ldm[replica[r]][f % ldm]++;
        }
        primaries[replica[0]]++;
        primary_ldm[replica[0]][f % ldm]++;
    }
    for (uint32_t n = 2; n <= nodes; n++) {
        assert_in_range(primaries[n] + 1, primaries[1], primaries[1] + 2);
        assert_in_range(copies[n] + replicas, copies[1], copies[1] + 2 * replicas);
        if (expected % (nodes * ldm) != 0) continue;
        assert_int_equal(primaries[n],
                         primaries[1]); /* The default counts are exactly even, in each LDM too. */
        for (uint32_t l = 0; l < ldm; l++) {
            assert_int_equal(primary_ldm[n][l], expected / (nodes * ldm));
            assert_int_equal(copy_ldm[n][l], expected * replicas / (nodes * ldm));
        }
    }
    uint32_t *per_fragment = calloc(fragments, sizeof(uint32_t));
    const uint32_t *map = words + 3 + fragments * replicas;
    for (uint32_t b = 0; b < buckets; b++)
        per_fragment[map[b / 2] >> (b % 2 * 16) & 0xFFFFu]++;
    for (uint32_t f = 0; f < fragments; f++)
        assert_int_equal(per_fragment[f], buckets / fragments);
    free(per_fragment);
    assert_int_equal(drop(1, id, version), 0);
}

/* Partitions are placed as ever; each has a copy in every other group, and is named by the hash map
 * alone. */
static void check_copies(uint32_t replicas, int32_t balance, uint32_t partitions)
{
    uint32_t groups = nodes / replicas;
    uint32_t id, version, error;
    table_flags = TABLE_FLAGS_DEFAULT | TABLE_FULLY_REPLICATED;
    assert_int_equal(
        create(1, make_def("r", 2, balance, balance == TABLE_BALANCE_SPECIFIC ? partitions : 0),
               &id, &version),
        0);
    table_flags = TABLE_FLAGS_DEFAULT;
    const struct signal *sig = tabinfo(nodes, id, NULL, &error);
    assert_non_null(sig);
    const uint32_t *words = sig->section[1].words;
    const uint16_t *map = (const uint16_t *)(words + 3 + words[0] * replicas);
    assert_int_equal(words[0], partitions * groups);
    assert_int_equal(distribution_partitions(map, words[2]), partitions);
    uint32_t on[FC_NODES] = {0};
    for (uint32_t p = 0; p < partitions; p++) {
        uint32_t seen = 0;
        for (uint32_t f = p; f < words[0]; f += partitions) {
            const uint32_t *replica = words + 3 + f * replicas;
            for (uint32_t r = 0; r < replicas; r++) {
                assert_int_equal((replica[r] - 1) / replicas, (replica[0] - 1) / replicas);
                on[replica[r]]++;
            }
            seen |= 1u << (replica[0] - 1) / replicas;
        }
        assert_int_equal(seen, (1u << groups) - 1u);
    }
    for (uint32_t n = 1; n <= nodes; n++)
        assert_int_equal(on[n], partitions); /* Each node has all rows. */
    assert_int_equal(drop(1, id, version), 0);
}

/* Copies count: too many fragments are refused, and nothing is left. */
static void check_too_many_copies(uint32_t replicas)
{
    uint32_t groups = nodes / replicas;
    uint32_t id, version;
    uint32_t most = TABLE_FRAGMENTS_MAX / groups;
    table_flags = TABLE_FLAGS_DEFAULT | TABLE_FULLY_REPLICATED;
    check_copies(replicas, TABLE_BALANCE_SPECIFIC, most);
    table_flags = TABLE_FLAGS_DEFAULT | TABLE_FULLY_REPLICATED;
    assert_int_equal(create(1, make_def("r", 2, TABLE_BALANCE_SPECIFIC, most + 1), &id, &version),
                     groups == 1 ? ERR_TOO_MANY_FRAGMENTS : ERR_FULLY_REPLICATED_FRAGMENTS);
    table_flags = TABLE_FLAGS_DEFAULT;
    assert_nothing_left();
}

static void distribution(uint32_t count, uint32_t replicas, uint32_t ldm)
{
    struct node_config config = fake_config(count, replicas);
    config.ldm_count = ldm;
    config.tc_count = 2;
    if (ldm == 1) config.ldm_count = 2; /* The fakes are asserted on two; LDM 2 counts below. */
    start(count, &config);
    uint32_t l = config.ldm_count;
    uint32_t groups = count / replicas;
    check_even(replicas, l, TABLE_BALANCE_FOR_RP_BY_LDM, count * l);
    check_even(replicas, l, TABLE_BALANCE_FOR_RA_BY_LDM, groups * l);
    check_even(replicas, l, TABLE_BALANCE_FOR_RP_BY_NODE, count);
    check_even(replicas, l, TABLE_BALANCE_FOR_RA_BY_NODE, groups);
    check_even(replicas, l, TABLE_BALANCE_FOR_RA_BY_LDM_X_3, groups * l * 3);
    check_even(replicas, l, TABLE_BALANCE_SPECIFIC, 7);
    check_even(replicas, l, TABLE_BALANCE_SPECIFIC, 1);
    check_even(replicas, l, TABLE_BALANCE_SPECIFIC, 28);
    check_even(replicas, l, TABLE_BALANCE_SPECIFIC, 1921);
    check_even(replicas, l, TABLE_BALANCE_SPECIFIC, TABLE_FRAGMENTS_MAX);
    check_copies(replicas, TABLE_BALANCE_FOR_RP_BY_LDM, count * l);
    check_copies(replicas, TABLE_BALANCE_FOR_RA_BY_NODE, groups);
    check_copies(replicas, TABLE_BALANCE_SPECIFIC, 7);
    check_too_many_copies(replicas);
}
static void test_distribution_1_1(void **state)
{
    (void)state;
    distribution(1, 1, 2);
}
static void test_distribution_2_2(void **state)
{
    (void)state;
    distribution(2, 2, 4);
}
static void test_distribution_4_2(void **state)
{
    (void)state;
    distribution(4, 2, 2);
}
static void test_distribution_4_4(void **state)
{
    (void)state;
    distribution(4, 4, 3);
}
static void test_distribution_4_1(void **state)
{
    (void)state;
    distribution(4, 1, 4);
}

static void test_too_big_together(void **state)
{
    (void)state;
    struct node_config config = fake_config(4, 4);
    start(4, &config);
    uint32_t id, version;
    uint32_t error =
        create(1, make_def("t", 512, TABLE_BALANCE_SPECIFIC, TABLE_FRAGMENTS_MAX), &id, &version);
    if (error == 0)
        assert_int_equal(drop(1, id, version), 0); /* It fits after all. */
    else
        assert_int_equal(error, ERR_DEFINITION_TOO_BIG);
    assert_nothing_left();
}

static void test_refused_while_stopping(void **state)
{
    (void)state;
    struct node_config config = fake_config(1, 1);
    start(1, &config);
    fc_client(fc_fc, MGM, true);
    fc_run(fc_fc, 5);
    fake_tc(fc_fc, 1, 1)->hold = true;
    struct stop_req stop = {.flags = STOP_SYSTEM};
    fc_sig_send(fc_fc, MGM, block_ref(1, BLOCK_CMVMI, 0), GSN_STOP_REQ, &stop);
    fc_run(fc_fc, 5);
    uint32_t id, version, error = 0;
    assert_int_equal(create(1, make_def("t", 2, TABLE_BALANCE_FOR_RP_BY_LDM, 0), &id, &version),
                     ERR_CLUSTER_SHUTDOWN);
    assert_int_equal(drop(1, 1, 1), ERR_CLUSTER_SHUTDOWN);
    assert_null(tabinfo(1, 1, NULL, &error));
    assert_int_equal(error, ERR_CLUSTER_SHUTDOWN);
}

/* --- A peer that is wrong. --- */

static uint32_t forged_gsn;
static uint32_t forged_word;

static void forge(struct fake_cluster *cluster, uint32_t from, uint32_t to, uint32_t *words,
                  uint32_t count)
{
    (void)from;
    (void)to;
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        if (kind_gsn(words[at]) != forged_gsn) continue;
        words[at + SIGNAL_HEAD_WORDS + forged_word] += 1u << 20;
        cluster->tamper = NULL;
        return;
    }
}

/* What contradicts the definition, or is no error at all, costs the link, and the client is told
 * nothing that is wrong. */
static void test_forged_words_reach_no_client(void **state)
{
    (void)state;
    static const struct {
        uint32_t gsn, word;
    } places[] = {
        {GSN_SCHEMA_PREPARE_REQ, 1},
        {GSN_SCHEMA_PREPARE_REQ, 2},
        {GSN_SCHEMA_PREPARE_REQ, 3},
        {GSN_SCHEMA_PREPARE_REF, 1},
    };
    struct node_config config = fake_config(2, 2);
    for (uint32_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        start(2, &config);
        forged_gsn = places[i].gsn;
        forged_word = places[i].word;
        if (forged_gsn == GSN_SCHEMA_PREPARE_REF) arm(2, BLOCK_DBDICT, 6001);
        fc_fc->tamper = forge;
        send_create(1, make_def("t", 2, TABLE_BALANCE_FOR_RP_BY_LDM, 0), 42);
        fc_run(fc_fc, 200);
        assert_null(fc_fc->tamper); /* It has come by. */
        assert_true(fc_fc->node[1].dead || fc_fc->node[2].dead);
        for (uint32_t id = 1; id <= 2; id++) {
            if (!fc_fc->node[id].dead) continue;
            assert_int_not_equal(fc_fc->node[id].exit_code, EXIT_NDBREQUIRE);
        }
        assert_null(fc_take(fc_fc, API, GSN_CREATE_TABLE_CONF));
        const struct signal *sig = fc_take(fc_fc, API, GSN_CREATE_TABLE_REF);
        if (sig != NULL)
            assert_int_equal(error_status(SIG_PAYLOAD(sig, create_table_ref)->error),
                             ERROR_STATUS_TEMPORARY);
        fc_destroy(fc_fc);
        fc_init(fc_fc);
    }
}

static uint32_t forged_id; /* The drop is of this one; 0: the create is of an index. */

static void forge_index(struct fake_cluster *cluster, uint32_t from, uint32_t to, uint32_t *words,
                        uint32_t count)
{
    static uint8_t memory[400000] __attribute__((aligned(16)));
    (void)from;
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        struct schema_prepare_req *req =
            (struct schema_prepare_req *)(void *)(words + at + SIGNAL_HEAD_WORDS);
        uint32_t *lengths = words + at + SIGNAL_HEAD_WORDS + kind_words(words[at]);
        uint32_t *sent = lengths + kind_sections(words[at]);
        struct table_def *def;
        if (to != 2 || kind_gsn(words[at]) != GSN_SCHEMA_PREPARE_REQ) continue;
        cluster->tamper = NULL;
        if (forged_id != 0) {
            req->table_id = forged_id;
            return;
        }
        assert_int_equal(table_def_decode(sent, lengths[0], memory, sizeof memory, &def), 0);
        def->base_id = def->base_version = 1;
        assert_int_equal(table_def_encode(def, sent, lengths[0]), lengths[0]);
        return;
    }
}

/* A node makes the indexes of a table itself, and drops them with it: a master that asks for one of
 * them loses its link. */
static void test_forged_index(void **state)
{
    (void)state;
    struct node_config config = fake_config(2, 2);
    for (uint32_t drops = 0; drops <= 1; drops++) {
        start(2, &config);
        uint32_t id, version;
        struct table_index index;
        assert_int_equal(create(1, make_unique_def("t"), &id, &version), 0);
        assert_true(table_def_unique(read_def(1, id), 0, &index));
        forged_id = drops != 0 ? index.table_id : 0;
        fc_fc->tamper = forge_index;
        struct drop_table_req req = {.sender_data = 43, .table_id = id, .version = version};
        if (drops != 0)
            fc_sig_send(fc_fc, API, block_ref(1, BLOCK_DBDICT, 0), GSN_DROP_TABLE_REQ, &req);
        else
            send_create(1, make_unique_def("other"), 42);
        fc_run(fc_fc, 200);
        assert_null(fc_fc->tamper); /* It has come by. */
        assert_true(fc_fc->node[1].dead || fc_fc->node[2].dead);
        for (uint32_t node = 1; node <= 2; node++)
            assert_int_not_equal(fc_fc->node[node].exit_code, EXIT_NDBREQUIRE);
        assert_null(fc_take(fc_fc, API, GSN_CREATE_TABLE_CONF));
        assert_null(fc_take(fc_fc, API, GSN_DROP_TABLE_CONF));
        fc_destroy(fc_fc);
        fc_init(fc_fc);
    }
}

#define T(name) cmocka_unit_test_setup_teardown(name, fc_setup, fc_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_create_get_drop),
        T(test_versions_begin_anywhere),
        T(test_any_refusal_leaves_nothing),
        T(test_unique_come_and_go),
        T(test_unique_refused),
        T(test_unique_limits),
        T(test_error_inserts),
        T(test_one_at_a_time),
        T(test_client_death_does_not_stop_it),
        T(test_limits),
        T(test_schema_memory_full),
        T(test_largest_definition),
        T(test_list),
        T(test_garbage),
        T(test_distribution_1_1),
        T(test_distribution_2_2),
        T(test_distribution_4_2),
        T(test_distribution_4_4),
        T(test_distribution_4_1),
        T(test_too_big_together),
        T(test_refused_while_stopping),
        T(test_forged_words_reach_no_client),
        T(test_forged_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
