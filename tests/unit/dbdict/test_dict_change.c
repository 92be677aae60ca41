/* test_dict_change.c -- tables in use get other names or more columns, or empty ones take their
 * places: what clients ask and hear, any refusal leaves nothing, and whoever dies after any signal,
 * the others end it alike. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "blocks/dbdict/dict_state.h"
#include "kernel/base/rng.h"
#include "tests/unit/support/fake_disk.h"
#include "tests/unit/support/fake_step.h"
#include "tests/unit/support/fake_versions.h"
#include "tests/unit/support/fake_workers.h"
#include "values/table_index.h"

#define NODES 3u
#define API   6u
#define TABLE 1u
#define INDEX 2u /* The unique index of the table. */
#define OTHER 3u

static struct fake_cluster *fc;
static uint32_t seen_early; /* Tables that were looked at when not all nodes could use them. */
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

static void send_create(const char *name)
{
    static uint32_t words[1000];
    struct table_def *def = table_def_init(memory, sizeof memory, TABLE_COLUMNS_MAX);
    assert_int_equal(table_def_set_name(def, "test", 4, name, (uint32_t)strlen(name)), 0);
    def->balance = TABLE_BALANCE_FOR_RP_BY_LDM;
    struct table_column_options column = {.name = "k", .name_size = 1, .flags = COLUMN_PRIMARY_KEY};
    column.format = (struct column_format){.type = COLUMN_UNSIGNED, .length = 1};
    assert_int_equal(table_def_add_column(def, &column), 0);
    column.name = "a";
    column.flags = COLUMN_NULLABLE;
    assert_int_equal(table_def_add_column(def, &column), 0);
    const uint16_t indexed = 1;
    if (name[0] == 't') assert_int_equal(table_def_add_unique(def, "u", 1, &indexed, 1), 0);
    struct create_table_req req = {.sender_data = 42};
    struct section section = {words, table_def_encode(def, words, 1000)};
    fc_send(fc, API, block_ref(president(), BLOCK_DBDICT, 0), GSN_CREATE_TABLE_REQ, &req, 1,
            &section, 1);
    fc_run(fc, 20);
    assert_non_null(fc_take(fc, API, GSN_CREATE_TABLE_CONF));
}

/* Who finds a table may ask any TC. When a node has told that its TCs know one, others may not
 * have come so far: it is not to be found yet. */
static void found_by_nobody(struct fake_cluster *cluster, uint32_t from, uint32_t to,
                            uint32_t *words, uint32_t count)
{
    (void)cluster;
    (void)to;
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        const struct schema_step_conf *conf = (const void *)(words + at + SIGNAL_HEAD_WORDS);
        if (kind_gsn(words[at]) != GSN_SCHEMA_STEP_CONF || conf->step != SCHEMA_STEP_ONLINE_TC)
            continue;
        const struct dict_local *local = &dict_at(from)->local;
        for (uint32_t i = 0; i < local->made.count; i++) {
            seen_early++;
            assert_int_not_equal(dict_at(from)->table[local->made.table[i]].state, TABLE_ONLINE);
        }
    }
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
    seen_early = 0;
    fc->tamper = found_by_nobody;
    send_create("t");
    send_create("other");
    fc->tamper = NULL;
}

static void end(void)
{
    fc_check(fc);
    fc_destroy(fc);
    free(fc);
}

/* --- Requests. --- */

/* The table's number by name at any node that is left; 0: there is none. */
static uint32_t found(const char *name)
{
    return dict_table_by_name(dict_at(president()), name, (uint32_t)strlen(name));
}

/* The number that it has now, whatever its name. */
static uint32_t number(void)
{
    uint32_t id = found("test/def/t");
    return id != 0 ? id : found("elsewhere/def/new");
}

static void send_alter(uint32_t kind, uint32_t version, const uint32_t *words, uint32_t count)
{
    struct alter_table_req req = {
        .sender_data = 43, .table_id = number(), .version = version, .kind = kind};
    struct section section = {words, count};
    fc_send(fc, API, block_ref(president(), BLOCK_DBDICT, 0), GSN_ALTER_TABLE_REQ, &req,
            sizeof req / 4u, &section, count != 0);
}

static void send_names(uint32_t kind, uint32_t version, const char *first, const char *second)
{
    uint32_t words[80] = {(uint32_t)strlen(first) | (uint32_t)strlen(second) << 16};
    uint32_t second_at = 1 + words_of((uint32_t)strlen(first));
    memcpy(words + 1, first, strlen(first));
    memcpy(words + second_at, second, strlen(second));
    send_alter(kind, version, words, second_at + words_of((uint32_t)strlen(second)));
}

/* 0, or the error with which it was refused. */
static uint32_t heard(void)
{
    fc_run(fc, 30);
    if (fc_take(fc, API, GSN_ALTER_TABLE_CONF) != NULL) return 0;
    const struct signal *sig = fc_take(fc, API, GSN_ALTER_TABLE_REF);
    if (sig == NULL) fail_msg("nobody answered");
    assert_int_equal(SIG_PAYLOAD(sig, alter_table_ref)->sender_data, 43);
    return SIG_PAYLOAD(sig, alter_table_ref)->error;
}

/* So many columns has the table that its LQHs heard of only later. */
static uint32_t added_to(struct dict *dict, uint32_t id)
{
    static uint8_t room[20000] __attribute__((aligned(16)));
    struct section sections[2];
    struct table_def *def;
    uint32_t added = 0;
    dict_store_read(dict, &dict->table[id], sections);
    assert_int_equal(table_def_decode(sections[0].words, sections[0].size, room, sizeof room, &def),
                     0);
    for (uint32_t i = 0; i < def->column_count; i++)
        added += (def->columns[i].flags & COLUMN_ADDED) != 0;
    return added;
}

/* This node has the table, and its instances; of others nothing is left. Its words. */
static struct section table_of(uint32_t node, uint32_t at)
{
    static uint32_t words[4000];
    struct dict *dict = dict_at(node);
    struct section sections[2];
    uint32_t id = number();
    if (dict->local.active || dict->master.state != MASTER_IDLE)
        fail_msg("signal %u: node %u has not ended it", at, node);
    assert_non_null(dict_table_at(dict, id));
    dict_store_read(dict, &dict->table[id], sections);
    memcpy(words, sections[0].words, (size_t)sections[0].size * 4u);
    assert_int_equal(dict->tables, 3);
    for (uint32_t table = 1; table < FAKE_TABLES; table++) {
        uint32_t state = dict_table_at(dict, table) == NULL ? 0 : 2;
        for (uint32_t i = 1; i <= 2; i++) {
            assert_int_equal(fake_lqh(fc, node, i)->columns[table],
                             table == id ? added_to(dict, id) : 0);
            assert_int_equal(fake_lqh(fc, node, i)->state[table], state);
            assert_int_equal(fake_tc(fc, node, i)->state[table], state);
        }
    }
    return (struct section){.words = words, .size = sections[0].size};
}

/* Everybody left has the same definition of it. */
static struct table_def *agreed(uint32_t at)
{
    static uint32_t first[4000];
    uint32_t count = 0;
    struct table_def *def;
    for (uint32_t node = 1; node <= NODES; node++) {
        if (!fc_alive(fc, node)) continue;
        struct section own = table_of(node, at);
        if (count == 0) memcpy(first, own.words, (size_t)own.size * 4u);
        if (count == 0) count = own.size;
        if (own.size != count || memcmp(first, own.words, (size_t)count * 4u) != 0)
            fail_msg("signal %u: node %u has another definition", at, node);
    }
    assert_int_equal(table_def_decode(first, count, memory, sizeof memory, &def), 0);
    return def;
}

/* --- The changes. --- */

enum change { RENAME_TABLE, RENAME_COLUMN, ADD_COLUMN, TRUNCATE, CHANGES };

static void send_column(uint32_t version, const char *name, uint32_t flags)
{
    uint32_t words[40] = {COLUMN_UNSIGNED, 1, flags | (uint32_t)strlen(name) << 8};
    memcpy(words + 3, name, strlen(name));
    send_alter(ALTER_ADD_COLUMN, version, words, 3 + words_of((uint32_t)strlen(name)));
}

static void send_change(enum change change, uint32_t version)
{
    if (change == ADD_COLUMN) {
        send_column(version, "added", COLUMN_NULLABLE);
        return;
    }
    if (change == RENAME_TABLE)
        send_names(ALTER_RENAME_TABLE, version, "elsewhere", "new");
    else if (change == TRUNCATE)
        send_alter(ALTER_TRUNCATE, version, NULL, 0);
    else
        send_names(ALTER_RENAME_COLUMN, version, "A", "b");
}

/* There is no way back from a new column, but for another table. */
static void send_back(enum change change, uint32_t version)
{
    if (change == ADD_COLUMN) change = TRUNCATE;
    if (change == RENAME_TABLE)
        send_names(ALTER_RENAME_TABLE, version, "test", "t");
    else if (change == TRUNCATE) /* The numbers are those from before. */
        send_alter(ALTER_TRUNCATE, version, NULL, 0);
    else
        send_names(ALTER_RENAME_COLUMN, version, "b", "a");
}

/* Is the change made? */
static bool made(enum change change, uint32_t at)
{
    const struct table_def *def = agreed(at);
    struct table_index index;
    char name[40];
    bool is_made = false;
    if (change == RENAME_TABLE) {
        is_made = strcmp(def->table, "new") == 0 && strcmp(def->database, "elsewhere") == 0;
        assert_int_equal(found("elsewhere/def/new"), is_made ? TABLE : 0);
        assert_int_equal(found("test/def/t"), is_made ? 0 : TABLE);
    } else if (change == RENAME_COLUMN) {
        is_made = strcmp(table_column_name(def, &def->columns[1]), "b") == 0;
        assert_int_equal(found("test/def/t"), TABLE);
    } else if (change == ADD_COLUMN) {
        is_made = def->table_id == TABLE && def->column_count == 3;
        if (is_made) assert_true((def->columns[2].flags & COLUMN_ADDED) != 0);
        if (!is_made && def->column_count == 3)
            assert_true((def->columns[2].flags & COLUMN_ADDED) == 0);
    } else {
        is_made = def->table_id != TABLE;
        assert_int_equal(found("test/def/t"), def->table_id);
    }
    assert_true(table_def_unique(def, 0, &index));
    snprintf(name, sizeof name, "sys/def/NDB$UNIQUE_%u_u", def->table_id);
    assert_int_equal(found(name), index.table_id);
    assert_int_equal(found("test/def/other"), OTHER);
    return is_made;
}

static void test_changes(void **state)
{
    (void)state;
    for (enum change change = 0; change < CHANGES; change++) {
        begin(true);
        fc->tamper = found_by_nobody;
        send_change(change, 1);
        assert_int_equal(heard(), 0);
        assert_true(made(change, 0));
        assert_int_equal(seen_early, (NODES - 1) * (change == TRUNCATE ? 3 + 2 : 3));
        uint32_t version = change == TRUNCATE ? 1 : 1u << 24 | 1u;
        assert_int_equal(dict_at(2)->table[number()].version, version);
        const struct signal *told = fc_take(fc, API, GSN_TABLE_CHANGED_REP);
        assert_non_null(told);
        assert_int_equal(SIG_PAYLOAD(told, table_changed_rep)->table_id, TABLE);
        send_change(change, 77); /* This sender does not know of the first one. */
        assert_int_equal(heard(), ERR_SCHEMA_VERSION);
        send_back(change, version);
        assert_int_equal(heard(), 0);
        assert_false(made(change, 0));
        if (change == TRUNCATE) assert_int_equal(dict_at(2)->table[TABLE].version, 2);
        if (change == ADD_COLUMN) assert_int_equal(agreed(0)->columns[2].flags, COLUMN_NULLABLE);
        end();
    }
}

/* Words of any kind; where they are names they are none. */
static void test_garbage(void **state)
{
    struct rng rng;
    (void)state;
    rng_seed(&rng, 7);
    begin(false);
    for (uint32_t i = 0; i < 3000; i++) {
        uint32_t words[12];
        uint32_t kind = ALTER_RENAME_TABLE + (uint32_t)rng_below(&rng, 4);
        uint32_t count = 1 + (uint32_t)rng_below(&rng, 12);
        for (uint32_t w = 0; w < 12; w++)
            words[w] = (uint32_t)rng_next(&rng) | 0x80808080u;
        words[0] = (uint32_t)rng_below(&rng, 9) | (uint32_t)rng_below(&rng, 30) << 16;
        if (kind == ALTER_ADD_COLUMN && i % 2 == 0) words[0] = COLUMN_UNSIGNED;
        if (kind == ALTER_ADD_COLUMN && i % 2 == 0) words[1] = 1;
        words[2] = i % 3 == 0 ? COLUMN_NULLABLE | (uint32_t)rng_below(&rng, 40) << 8 : words[2];
        send_alter(kind, 1, words, count);
        assert_int_not_equal(heard(), 0);
    }
    for (enum change change = 0; change < CHANGES; change++)
        assert_false(made(change, 0));
    end();
}

static void test_refused(void **state)
{
    static char long_name[140];
    (void)state;
    memset(long_name, 'x', sizeof long_name - 1);
    begin(false);
    send_names(ALTER_RENAME_TABLE, 1, "test", "other");
    assert_int_equal(heard(), ERR_TABLE_EXISTS);
    send_names(ALTER_RENAME_TABLE, 1, "test", "a/b");
    assert_int_equal(heard(), ERR_TABLE_NAME_CHARACTER);
    send_names(ALTER_RENAME_TABLE, 1, "test", "");
    assert_int_equal(heard(), ERR_TABLE_NAME_TOO_LONG);
    send_names(ALTER_RENAME_TABLE, 1, "test", long_name);
    assert_int_equal(heard(), ERR_TABLE_NAME_TOO_LONG);
    send_names(ALTER_RENAME_COLUMN, 1, "z", "y");
    assert_int_equal(heard(), ERR_NO_SUCH_COLUMN);
    send_names(ALTER_RENAME_COLUMN, 1, "a", "K");
    assert_int_equal(heard(), ERR_COLUMN_REPEATED);
    send_names(ALTER_RENAME_COLUMN, 1, "a", long_name);
    assert_int_equal(heard(), ERR_COLUMN_NAME_TOO_LONG);
    send_column(1, "A", COLUMN_NULLABLE);
    assert_int_equal(heard(), ERR_COLUMN_REPEATED);
    send_column(1, "b", 0);
    assert_int_equal(heard(), ERR_ALTER_IMPOSSIBLE);
    send_column(1, "b", COLUMN_PRIMARY_KEY);
    assert_int_equal(heard(), ERR_ALTER_IMPOSSIBLE);
    send_column(1, "b", COLUMN_NULLABLE | COLUMN_HAS_DEFAULT);
    assert_int_equal(heard(), ERR_ALTER_IMPOSSIBLE);
    send_column(1, long_name, COLUMN_NULLABLE);
    assert_int_equal(heard(), ERR_TABLE_FORMAT);
    send_names(ALTER_ADD_COLUMN, 1, "test", "other");
    assert_int_equal(heard(), ERR_TABLE_FORMAT);
    fake_lqh(fc, 3, 2)->refuse_index = ERR_TUP_TABLES;
    send_change(ADD_COLUMN, 1);
    assert_int_equal(heard(), ERR_TUP_TABLES);
    const uint32_t word = 0;
    send_alter(ALTER_TRUNCATE, 1, &word, 1);
    assert_int_equal(heard(), ERR_TABLE_FORMAT);
    send_alter(ALTER_RENAME_TABLE, 1, NULL, 0);
    assert_int_equal(heard(), ERR_TABLE_FORMAT);
    for (uint32_t i = 1; i <= 2; i++) { /* The new table, or its unique index. */
        fake_lqh(fc, i, 2)->refuse_add = ERR_SCHEMA_MEMORY;
        fake_lqh(fc, i, 2)->refuse_after = i - 1;
        send_change(TRUNCATE, 1);
        assert_int_equal(heard(), ERR_SCHEMA_MEMORY);
    }
    for (enum change change = 0; change < CHANGES; change++) {
        assert_false(made(change, 0));
        dict_at(2)->block.error_insert = change == TRUNCATE ? 6008 : 6007;
        send_change(change, 1);
        assert_int_equal(heard(), ERR_SCHEMA_OBJECT_BUSY);
        assert_false(made(change, 0));
    }
    end();
}

/* --- A master that is wrong. --- */

enum forgery {
    FORGE_OBJECT,
    FORGE_OTHER_NAME,
    FORGE_TAKEN,
    FORGE_TYPE,
    FORGE_ADDED, /* An added column. */
    FORGE_PLACE, /* This one and those that follow are of truncates. */
    FORGE_PLACE_INDEX,
    FORGE_NUMBER,
    FORGE_VERSION,
    FORGE_VERSION_INDEX,
    FORGERIES
};
static enum forgery forgery;

static void forge_definition(struct schema_prepare_req *req, struct table_def *def)
{
    struct table_index index;
    switch (forgery) {
    case FORGE_OBJECT:
        req->object = 7;
        break;
    case FORGE_OTHER_NAME: /* Another one besides. */
        def->table[0] = 'u';
        break;
    case FORGE_TAKEN:
        req->object = 0;
        assert_int_equal(table_def_set_name(def, "test", 4, "other", 5), 0);
        break;
    case FORGE_TYPE:
        def->columns[0].format.type = COLUMN_INT;
        break;
    case FORGE_ADDED:
        def->columns[2].flags &= ~(uint32_t)COLUMN_ADDED;
        break;
    case FORGE_PLACE:
        req->object = OTHER;
        break;
    case FORGE_PLACE_INDEX:
        req->object = INDEX;
        break;
    case FORGE_NUMBER: /* The number of the new unique index: it is taken. */
        table_def_unique_set(def, 0, OTHER, 1);
        break;
    case FORGE_VERSION: /* One that a former table with this number may have had. */
        req->version = def->version += 1u;
        break;
    case FORGE_VERSION_INDEX:
        assert_true(table_def_unique(def, 0, &index));
        table_def_unique_set(def, 0, index.table_id, index.version + 1u);
        break;
    case FORGERIES:
    default:
        fail();
    }
}

static void forge(struct fake_cluster *cluster, uint32_t from, uint32_t to, uint32_t *words,
                  uint32_t count)
{
    (void)from;
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        struct table_def *def;
        uint32_t *lengths = words + at + SIGNAL_HEAD_WORDS + kind_words(words[at]);
        uint32_t *sent = lengths + kind_sections(words[at]);
        if (to != 2 || kind_gsn(words[at]) != GSN_SCHEMA_PREPARE_REQ) continue;
        assert_int_equal(table_def_decode(sent, lengths[0], memory, sizeof memory, &def), 0);
        forge_definition((struct schema_prepare_req *)(words + at + SIGNAL_HEAD_WORDS), def);
        assert_true(table_def_words(def) <= lengths[0] + 1);
        if (table_def_words(def) == lengths[0]) table_def_encode(def, sent, lengths[0]);
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
        begin(true);
        fc->tamper = forge;
        if (forgery == FORGE_TAKEN)
            send_names(ALTER_RENAME_TABLE, 1, "test", "third"); /* As long as the one it gets. */
        else
            send_change(forgery < FORGE_ADDED    ? RENAME_COLUMN
                        : forgery == FORGE_ADDED ? ADD_COLUMN
                                                 : TRUNCATE,
                        1);
        fc_run(fc, 500);
        assert_null(fc->tamper); /* It has come by. */
        if (fc_alive(fc, 1) && fc_alive(fc, 2)) fail_msg("forgery %u was taken", (uint32_t)forgery);
        for (uint32_t id = 1; id <= NODES; id++)
            assert_int_not_equal(fc->node[id].exit_code, EXIT_NDBREQUIRE);
        bool told = fc_take(fc, API, GSN_ALTER_TABLE_CONF) != NULL;
        if (told && forgery < FORGE_ADDED && forgery != FORGE_TAKEN)
            assert_true(made(RENAME_COLUMN, 0));
        assert_int_equal(found("test/def/other"), OTHER);
        fc_destroy(fc);
        free(fc);
    }
}

/* --- Deaths. --- */

static void deaths(bool files, enum change change, uint32_t victim)
{
    uint32_t went_on = 0;
    uint32_t went_back = 0;
    bool more = true;
    for (uint32_t at = 1; more; at++) {
        begin(files);
        send_change(change, 1);
        more = fc_step(fc, NODES, victim, at);
        if (more) fc_kill(fc, victim);
        fc_run(fc, 150);
        bool on = made(change, at);
        went_on += on;
        went_back += !on;
        /* What the client was told holds. */
        if (fc_take(fc, API, GSN_ALTER_TABLE_CONF) != NULL) assert_true(on);
        if (on)
            send_back(change, dict_at(3)->table[number()].version);
        else
            send_change(change, 1);
        if (heard() != 0) fail_msg("signal %u: it cannot be changed any more", at);
        assert_true(made(change, at) == !on);
        end();
    }
    assert_true(went_on > 1);
    if (victim == 1) assert_true(went_back > 0);
}

static void test_master_dies(void **state)
{
    (void)state;
    for (enum change change = 0; change < CHANGES; change++) {
        deaths(false, change, 1);
        deaths(true, change, 1);
    }
}

static void test_member_dies(void **state)
{
    (void)state;
    for (enum change change = 0; change < CHANGES; change++)
        deaths(true, change, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_garbage),     cmocka_unit_test(test_forged_definition),
        cmocka_unit_test(test_master_dies), cmocka_unit_test(test_member_dies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
