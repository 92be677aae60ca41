/* test_dict_file.c -- the schema files on the simulated disk: every crash point, damage, forgery,
 * and a schema that is copied from another node. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <xxhash.h>
#include "blocks/dbdict/dict_state.h"
#include "blocks/ndbfs/fs_block.h"
#include "blocks/ndbfs/fs_client.h"
#include "kernel/sim/sim_world.h"

#define TABLES  3000u
#define FACTORY 2u /* Instances of TC and LQH. */

/* Stands for TC, LQH, DIH, QMGR, CMVMI and NDBCNTR. */
struct actor {
    struct block block;
    uint32_t answers[1024]; /* By GSN. */
    uint32_t file;
    uint32_t refuse; /* Table id that is not added. */
    struct schema_info_conf info;
    uint8_t state[TABLES + 1]; /* 0 none, 1 added, 2 online, 3 dropping. */
    uint32_t nodes;            /* In the last distribution, as bits. */
};

static struct {
    struct sim_world *world;
    uint32_t count;   /* Nodes. */
    uint32_t members; /* Bits; of the next start. */
} t;
static uint64_t seeds; /* Each world has another one. */

static struct actor *actor_of(struct block *block)
{
    return (struct actor *)(void *)block;
}

static void exec_count(struct block *block, const struct signal *sig)
{
    struct actor *actor = actor_of(block);
    actor->answers[sig->gsn]++;
    if (sig->gsn == GSN_FSOPENCONF) actor->file = SIG_PAYLOAD(sig, fsopenconf)->file;
    if (sig->gsn == GSN_SCHEMA_INFO_CONF) actor->info = *SIG_PAYLOAD(sig, schema_info_conf);
}

static void exec_tick(struct block *block, const struct signal *sig)
{
    signal_send_delayed(block, block->ref, GSN_CONTINUEB, PRIO_B, sig->payload, 1, 1);
}

static void exec_create_frag(struct block *block, const struct signal *sig)
{
    struct create_frag_conf conf = {.sender_data = SIG_PAYLOAD(sig, create_frag_req)->sender_data,
                                    .fragment_count = 2};
    uint32_t words[3 + 2 * REPLICAS_MAX + 1] = {2, t.count, 2};
    for (uint32_t f = 0; f < 2; f++) {
        for (uint32_t r = 0; r < t.count; r++)
            words[3 + f * t.count + r] = 1 + (f + r) % t.count;
    }
    words[3 + 2 * t.count] = 1u << 16;
    const struct section section = {words, 4 + 2 * t.count};
    signal_send(block, sig->sender, GSN_CREATE_FRAG_CONF, PRIO_B, &conf, 2, &section, 1);
}

static void exec_add(struct block *block, const struct signal *sig)
{
    struct actor *actor = actor_of(block);
    const struct local_table_add_req *req = SIG_PAYLOAD(sig, local_table_add_req);
    struct local_table_add_conf conf = {req->sender_data, req->table_id};
    struct local_table_add_ref ref = {req->sender_data, req->table_id, ERR_TOO_MANY_FRAGMENTS};
    const uint32_t *words = sig->section[1].words;
    if (actor->refuse == req->table_id) {
        sig_send(block, sig->sender, GSN_LOCAL_TABLE_ADD_REF, PRIO_B, &ref);
        return;
    }
    ndbrequire(req->table_id <= TABLES && actor->state[req->table_id] == 0);
    actor->state[req->table_id] = 1;
    actor->nodes = 0;
    for (uint32_t i = 0; i < words[0] * words[1]; i++) {
        actor->nodes |= 1u << words[3 + i];
        ndbrequire(words[3 + i] != 0 || i % words[1] != 0);
    }
    sig_send(block, sig->sender, GSN_LOCAL_TABLE_ADD_CONF, PRIO_B, &conf);
}

static void exec_state(struct block *block, const struct signal *sig)
{
    struct actor *actor = actor_of(block);
    const struct local_table_state_req *req = SIG_PAYLOAD(sig, local_table_state_req);
    struct local_table_state_conf conf = {req->sender_data, req->table_id, req->order};
    static const uint8_t becomes[] = {0, 2, 3, 0};
    ndbrequire(actor->state[req->table_id] != 0);
    actor->state[req->table_id] = becomes[req->order];
    sig_send(block, sig->sender, GSN_LOCAL_TABLE_STATE_CONF, PRIO_B, &conf);
}

#define COUNTED(name, type)                                                                        \
    {                                                                                              \
        GSN_##name, sizeof(struct type) / 4u, 0, 1, FROM_SELF, exec_count                          \
    }
static const struct handler handlers[] = {
    {GSN_CONTINUEB, 1, 0, 0, FROM_SELF, exec_tick},
    {GSN_CREATE_FRAG_REQ, 3, 0, 0, FROM_SELF, exec_create_frag},
    {GSN_LOCAL_TABLE_ADD_REQ, 3, 2, 2, FROM_SELF, exec_add},
    {GSN_LOCAL_TABLE_STATE_REQ, 3, 0, 0, FROM_SELF, exec_state},
    {GSN_EVENT_REP, 1, 0, 1, FROM_NODES, exec_count},
    COUNTED(LINK_UP_REP, link_rep),
    COUNTED(LINK_DOWN_REP, link_rep),
    COUNTED(READ_CONFIG_CONF, read_config_conf),
    COUNTED(STTORRY, sttorry),
    COUNTED(SCHEMA_INFO_CONF, schema_info_conf),
    COUNTED(SCHEMA_RESTART_CONF, schema_restart_conf),
    COUNTED(SCHEMA_ONLINE_CONF, schema_online_conf),
    COUNTED(CREATE_TABLE_CONF, create_table_conf),
    COUNTED(CREATE_TABLE_REF, create_table_ref),
    COUNTED(DROP_TABLE_CONF, drop_table_conf),
    COUNTED(DROP_TABLE_REF, drop_table_ref),
    COUNTED(FSOPENCONF, fsopenconf),
    COUNTED(FSTRUNCATECONF, fs_conf),
    COUNTED(FSSYNCCONF, fs_conf),
    COUNTED(FSCLOSECONF, fs_conf),
    COUNTED(FSREMOVECONF, fs_conf),
};
#define ACTOR(name, block_no)                                                                      \
    {                                                                                              \
        name, block_no, handlers, sizeof handlers / sizeof handlers[0], NULL                       \
    }
static const struct block_type types[] = {
    ACTOR("NDBCNTR", BLOCK_NDBCNTR), ACTOR("DBDIH", BLOCK_DBDIH), ACTOR("QMGR", BLOCK_QMGR),
    ACTOR("CMVMI", BLOCK_CMVMI),     ACTOR("DBTC", BLOCK_DBTC),   ACTOR("DBLQH", BLOCK_DBLQH),
};

static void build(struct node *node)
{
    struct thread *thread = node_thread(node, 0);
    struct read_config_req req = {.sender_data = 1};
    uint32_t own = node_config_of(node)->own_node;
    uint32_t tick = 1;
    fs_create(thread, 0);
    dict_create(thread, 0);
    struct block *block = block_create(thread, &types[0], 0, sizeof(struct actor));
    for (uint32_t i = 1; i < 6; i++) {
        for (uint32_t instance = i < 4 ? 0 : 1; instance <= (i < 4 ? 0 : FACTORY); instance++)
            block_create(thread, &types[i], instance, sizeof(struct actor));
    }
    sig_send(block, block_ref(own, BLOCK_NDBFS, 0), GSN_READ_CONFIG_REQ, PRIO_B, &req);
    sig_send(block, block_ref(own, BLOCK_DBDICT, 0), GSN_READ_CONFIG_REQ, PRIO_B, &req);
    signal_send_delayed(block, block->ref, GSN_CONTINUEB, PRIO_B, &tick, 1, 1);
    for (uint32_t peer = 1; peer <= t.count; peer++) {
        if (peer != own) peer_allow(block, peer, 1);
    }
}

static bool announced(void *context, uint32_t node, const struct node_failure *failure)
{
    (void)context;
    (void)node;
    return failure->exit_code == EXIT_ERROR_INSERT ||
           (failure->exit_code >= EXIT_SCHEMA_DAMAGED && failure->exit_code <= EXIT_SCHEMA_SOURCE);
}

static void log_line(void *context, uint32_t node, enum log_level level, const char *text)
{
    (void)context;
    if (getenv("DICT_VERBOSE") != NULL) fprintf(stderr, "%u [%d] %s\n", node, (int)level, text);
}

static struct node_config config_of(uint32_t count)
{
    struct node_config config;
    memset(&config, 0, sizeof config);
    node_config_defaults(&config);
    config.overflow_segments = 8;
    config.cluster_id = 77;
    config.diskless = 0;
    config.replicas = count;
    config.tables_max = TABLES;
    for (uint32_t id = 1; id <= count; id++)
        config.node[id].type = NODE_DATA;
    return config;
}

static void world_make_with(uint32_t count, const struct node_config *base)
{
    struct sim_options options;
    memset(&t, 0, sizeof t);
    t.count = count;
    t.members = (2u << count) - 2u;
    sim_options_defaults(&options);
    options.seed = ++seeds;
    options.gsn_name = gsn_name;
    options.announced = announced;
    options.log = log_line;
    t.world = sim_create(&options);
    for (uint32_t id = 1; id <= count; id++) {
        struct node_config config = *base;
        config.own_node = id;
        struct sim_data_options data = {.config = &config, .build = build};
        sim_add_data(t.world, &data);
    }
}

static void world_make(uint32_t count)
{
    struct node_config config = config_of(count);
    world_make_with(count, &config);
}

static void world_drop(void)
{
    assert_string_equal(sim_failure_text(t.world), "");
    sim_destroy(t.world);
}

static struct block *block_at(uint32_t node, uint32_t block_no, uint32_t instance)
{
    return node_block(sim_node(t.world, node), block_no, instance);
}
static struct actor *cntr(uint32_t node)
{
    return actor_of(block_at(node, BLOCK_NDBCNTR, 0));
}
static struct dict *dict_at(uint32_t node)
{
    return dict_of(block_at(node, BLOCK_DBDICT, 0));
}
static struct sim_disk *disk_at(uint32_t node)
{
    return sim_disk_of(t.world, node);
}

static void run_us(uint64_t us)
{
    sim_run_until(t.world, NULL, NULL, sim_now_us(t.world) + us);
    sim_check_nodes(t.world);
    assert_string_equal(sim_failure_text(t.world), "");
}

static bool wait_for(uint32_t node, uint32_t gsn, uint32_t count)
{
    for (uint32_t i = 0; i < 100000 && sim_alive(t.world, node); i++) {
        if (cntr(node)->answers[gsn] >= count) return true;
        run_us(500);
    }
    assert_false(sim_alive(t.world, node)); /* Never silence. */
    return false;
}

/* --- A node's start, as NDBCNTR and QMGR do it. --- */

static void state_rep(uint32_t node, uint32_t level)
{
    struct node_state_rep rep = {.start_level = level, .master = 1};
    sig_send(&cntr(node)->block, block_ref(node, BLOCK_DBDICT, 0), GSN_NODE_STATE_REP, PRIO_A,
             &rep);
}

static bool begin(uint32_t node)
{
    uint32_t dict = block_ref(node, BLOCK_DBDICT, 0);
    if (!wait_for(node, GSN_READ_CONFIG_CONF, 2)) return false;
    struct sttor sttor = {.phase = 0};
    sig_send(&cntr(node)->block, dict, GSN_STTOR, PRIO_B, &sttor);
    if (!wait_for(node, GSN_STTORRY, 1)) return false;
    struct members_rep members = {.president = 1};
    for (uint32_t id = 1; id <= t.count; id++) {
        if (t.members >> id & 1u) node_mask_add(&members.members, id);
    }
    const struct section none = {&members.president, 1};
    signal_send(&cntr(node)->block, dict, GSN_MEMBERS_REP, PRIO_A, &members, sizeof members / 4u,
                &none, 1);
    struct schema_info_req info = {.sender_data = 3};
    sig_send(&cntr(node)->block, dict, GSN_SCHEMA_INFO_REQ, PRIO_A, &info);
    return wait_for(node, GSN_SCHEMA_INFO_CONF, 1);
}

static void send_restart(uint32_t node, uint32_t type, uint32_t source, uint64_t sequence)
{
    struct schema_restart_req req = {.start_type = type,
                                     .source_node = source,
                                     .sequence_lo = (uint32_t)sequence,
                                     .sequence_hi = (uint32_t)(sequence >> 32)};
    sig_send(&cntr(node)->block, block_ref(node, BLOCK_DBDICT, 0), GSN_SCHEMA_RESTART_REQ, PRIO_A,
             &req);
}

static bool online(uint32_t node)
{
    struct schema_online_req req = {.sender_data = 5};
    if (!wait_for(node, GSN_SCHEMA_RESTART_CONF, 1)) return false;
    sig_send(&cntr(node)->block, block_ref(node, BLOCK_DBDICT, 0), GSN_SCHEMA_ONLINE_REQ, PRIO_A,
             &req);
    if (!wait_for(node, GSN_SCHEMA_ONLINE_CONF, 1)) return false;
    state_rep(node, START_STARTED);
    run_us(1000);
    return true;
}

static uint64_t sequence_of(uint32_t node)
{
    return cntr(node)->info.sequence_lo | (uint64_t)cntr(node)->info.sequence_hi << 32;
}

/* The only node of its cluster starts from nothing, or from its own files. */
static bool start_alone(bool initial)
{
    if (!begin(1)) return false;
    send_restart(1, initial ? START_INITIAL : START_SYSTEM_RESTART, 1, sequence_of(1));
    return online(1);
}

static bool restart_alone(void)
{
    if (sim_alive(t.world, 1)) sim_kill(t.world, 1);
    assert_true(sim_restart(t.world, 1));
    return start_alone(false);
}

/* --- Tables. --- */

static uint32_t def_words[60000];

static uint32_t make_def(uint32_t name, uint32_t columns)
{
    static uint8_t memory[400000] __attribute__((aligned(16)));
    struct table_def *def = table_def_init(memory, sizeof memory, TABLE_COLUMNS_MAX);
    char text[COLUMN_NAME_MAX + 1];
    snprintf(text, sizeof text, "t%u", name);
    assert_int_equal(table_def_set_name(def, "test", 4, text, (uint32_t)strlen(text)), 0);
    def->balance = TABLE_BALANCE_FOR_RP_BY_LDM;
    for (uint32_t i = 0; i < columns; i++) {
        memset(text, 'c', sizeof text);
        snprintf(text, sizeof text, "c%u", i);
        text[strlen(text)] = '_';
        struct table_column_options column = {.name = text,
                                              .name_size = columns > 100 ? COLUMN_NAME_MAX : 8,
                                              .flags =
                                                  i == 0 ? COLUMN_PRIMARY_KEY : COLUMN_NULLABLE,
                                              .format = {.type = COLUMN_UNSIGNED, .length = 1}};
        assert_int_equal(table_def_add_column(def, &column), 0);
    }
    return table_def_encode(def, def_words, 60000);
}

/* As if a client's request had come: the border lets only clients ask. */
static void begin_create(uint32_t name, uint32_t columns)
{
    struct create_table_req req = {.sender_data = 1};
    struct signal sig = {.gsn = GSN_CREATE_TABLE_REQ,
                         .sender = cntr(1)->block.ref,
                         .words = 1,
                         .payload = &req.sender_data,
                         .section_count = 1};
    sig.section[0] = (struct section){def_words, make_def(name, columns)};
    dict_exec_CREATE_TABLE_REQ(&dict_at(1)->block, &sig);
}

static bool create(uint32_t name, uint32_t columns)
{
    uint32_t before = cntr(1)->answers[GSN_CREATE_TABLE_CONF];
    begin_create(name, columns);
    return wait_for(1, GSN_CREATE_TABLE_CONF, before + 1);
}

static uint32_t id_of(uint32_t node, uint32_t name)
{
    char text[DICT_NAME_BYTES];
    snprintf(text, sizeof text, "test/def/t%u", name);
    return dict_table_by_name(dict_at(node), text, (uint32_t)strlen(text));
}

static void begin_drop(uint32_t name)
{
    uint32_t id = id_of(1, name);
    struct drop_table_req req = {.table_id = id, .version = dict_at(1)->table[id].version};
    struct signal sig = {.gsn = GSN_DROP_TABLE_REQ,
                         .sender = cntr(1)->block.ref,
                         .words = 3,
                         .payload = &req.sender_data};
    dict_exec_DROP_TABLE_REQ(&dict_at(1)->block, &sig);
}

static bool drop(uint32_t name)
{
    uint32_t before = cntr(1)->answers[GSN_DROP_TABLE_CONF];
    begin_drop(name);
    return wait_for(1, GSN_DROP_TABLE_CONF, before + 1);
}

/* Everything that a node's dictionary knows, as one number. */
static uint64_t digest(uint32_t node)
{
    static uint32_t words[100000];
    struct image_writer writer = {.id = 1};
    uint64_t hash = 0;
    for (uint32_t used; (used = image_fill(dict_at(node), &writer, words, 100000)) != 0;)
        hash = XXH3_64bits_withSeed(words, (size_t)used * 4u, hash);
    return hash;
}

/* All instances have what the dictionary says, online. */
static void assert_workers(uint32_t node)
{
    for (uint32_t instance = 1; instance <= FACTORY; instance++) {
        for (uint32_t id = 1; id <= TABLES; id++) {
            uint32_t state = dict_table_at(dict_at(node), id) != NULL ? 2 : 0;
            assert_int_equal(actor_of(block_at(node, BLOCK_DBTC, instance))->state[id], state);
            assert_int_equal(actor_of(block_at(node, BLOCK_DBLQH, instance))->state[id], state);
        }
    }
}

static void assert_ended(uint32_t node, uint32_t code, const char *part)
{
    assert_false(sim_alive(t.world, node));
    const struct sim_exit *last = sim_exit_of(t.world, node);
    if (last->code != code || strstr(last->text, part) == NULL)
        fail_msg("node %u ended with %u %s; expected was %u %s", node, last->code, last->text, code,
                 part);
}

/* --- Tests. --- */

static void test_tables_and_versions_come_back(void **state)
{
    (void)state;
    world_make(1);
    assert_true(start_alone(true));
    assert_int_equal(cntr(1)->info.has_data, 0);
    for (uint32_t i = 1; i <= 3; i++)
        assert_true(create(i, 3));
    assert_true(drop(2));
    uint64_t before = digest(1);
    assert_true(restart_alone());
    assert_int_equal(cntr(1)->info.has_data, 1);
    assert_int_equal(sequence_of(1), 5); /* The empty one and four changes. */
    assert_true(digest(1) == before);
    assert_workers(1);
    assert_true(create(4, 2));
    assert_int_equal(id_of(1, 4), 2);
    assert_int_equal(dict_at(1)->table[2].version,
                     2); /* The number's version does not come again. */
    assert_true(drop(4));
    assert_true(drop(1));
    assert_true(drop(3));
    assert_true(restart_alone());
    assert_workers(1);
    assert_int_equal(dict_at(1)->tables, 0);
    assert_true(create(5, 2));
    assert_int_equal(dict_at(1)->table[1].version, 2);
    world_drop();
}

/* The power goes after each file operation of a change; then the schema is the one before or the
 * one behind it, and behind it when the client has its answer. */
static void test_power_cut_at_every_operation(void **state)
{
    (void)state;
    uint32_t cuts = 0;
    for (uint32_t change = 0; change < 2; change++) {
        bool whole = false;
        for (uint32_t at = 1; !whole; at++) {
            for (uint32_t round = 0; round < 6 && !whole; round++) {
                world_make(1);
                assert_true(start_alone(true));
                assert_true(create(1, 400)); /* More than one piece with the next. */
                assert_true(create(2, 400));
                assert_true(create(3, 400));
                uint64_t before = digest(1);
                sim_power_cut_at(t.world, 1, at);
                bool done = change == 0 ? create(4, 400) : drop(2);
                sim_power_cut_at(t.world, 1, 0);
                whole = done;
                cuts += !done;
                if (done) sim_power_cut(t.world, 1, FATES_ALL);
                assert_true(restart_alone());
                bool behind = change == 0 ? id_of(1, 4) != 0 : id_of(1, 2) == 0;
                if (done) assert_true(behind);
                assert_true(behind != (digest(1) == before));
                assert_int_equal(sequence_of(1), behind ? 5 : 4);
                assert_int_not_equal(id_of(1, 1), 0);
                assert_workers(1);
                assert_true(dict_file_equal(dict_at(1)));
                if (!behind) assert_true(change == 0 ? create(4, 400) : drop(2));
                uint64_t last = digest(1);
                assert_true(restart_alone());
                assert_true(digest(1) == last);
                world_drop();
            }
        }
    }
    assert_true(cuts > 2 * 6 * 8);
}

/* The same while the first, empty files are made: the cluster has not started, so nothing is there;
 * or the files are good. */
static void test_power_cut_of_the_first_write(void **state)
{
    (void)state;
    bool whole = false;
    for (uint32_t at = 1; !whole; at++) {
        for (uint32_t round = 0; round < 6; round++) {
            world_make(1);
            sim_power_cut_at(t.world, 1, at);
            whole = start_alone(true);
            if (sim_alive(t.world, 1)) sim_power_cut(t.world, 1, FATES_ALL);
            sim_power_cut_at(t.world, 1, 0);
            assert_true(sim_restart(t.world, 1));
            assert_true(begin(1));
            if (whole) assert_int_equal(cntr(1)->info.has_data, 1);
            bool initial = cntr(1)->info.has_data == 0;
            send_restart(1, initial ? START_INITIAL : START_SYSTEM_RESTART, 1, sequence_of(1));
            assert_true(online(1));
            assert_true(create(1, 2));
            assert_true(restart_alone());
            assert_int_not_equal(id_of(1, 1), 0);
            world_drop();
        }
    }
}

static const char *const names[] = {"D1/schema.0", "D1/schema.1"};

static uint64_t content(uint32_t copy, const uint8_t **bytes)
{
    uint64_t size = sim_disk_content(disk_at(1), names[copy], true, bytes);
    assert_true(size != UINT64_MAX);
    return size;
}

static void flip(uint32_t copy, uint64_t offset, uint32_t bit)
{
    const uint8_t *bytes;
    content(copy, &bytes);
    assert_true(
        sim_disk_poke(disk_at(1), names[copy], offset, (uint8_t)(bytes[offset] ^ 1u << bit)));
}

static void test_every_flipped_bit_is_seen(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 4);
    world_make(1);
    assert_true(start_alone(true));
    for (uint32_t i = 0; i < 4; i++)
        assert_true(create(i, 400));
    uint64_t good = digest(1);
    for (uint32_t i = 0; i < 160; i++) {
        const uint8_t *bytes;
        uint32_t copy = i % 2;
        sim_kill(t.world, 1);
        uint64_t size = content(copy, &bytes);
        uint64_t offset = i < 80 ? i * 4 : rng_below(&rng, size);
        flip(copy, offset, i % 8);
        assert_true(restart_alone());
        assert_true(digest(1) == good);
        assert_true(dict_file_equal(dict_at(1))); /* It was made anew... */
        flip(1 - copy, offset, i % 8);
        assert_true(restart_alone()); /* ...so the other one may be lost. */
        assert_true(digest(1) == good);
    }
    uint64_t places[] = {0, 100, 5000, IMAGE_HEAD_BYTES + IMAGE_PIECE_BYTES + 999};
    const char *texts[] = {"D1/schema.1, offset 0: ", "D1/schema.1, offset 64: ",
                           "D1/schema.1, offset 4096: a piece does not have its checksum",
                           "D1/schema.1, offset 135168: a piece does not have its checksum"};
    for (uint32_t i = 0; i < 4; i++) {
        if (sim_alive(t.world, 1)) sim_kill(t.world, 1);
        flip(0, 70, 1);
        flip(1, places[i], 3);
        assert_false(restart_alone());
        assert_ended(1, EXIT_SCHEMA_DAMAGED, "D1/schema.0, offset 64: ");
        assert_ended(1, EXIT_SCHEMA_DAMAGED, texts[i]);
        flip(0, 70, 1);
        flip(1, places[i], 3);
    }
    assert_true(restart_alone());
    assert_true(digest(1) == good);
    world_drop();
}

/* Changes the size of a file, or removes it (size UINT64_MAX), while the node rests before phase 0.
 */
static void resize(uint32_t copy, uint64_t size)
{
    struct block *block = &cntr(1)->block;
    if (size == UINT64_MAX) {
        fs_remove(block, 1, names[copy], 0);
        assert_true(wait_for(1, GSN_FSREMOVECONF, 1));
        return;
    }
    uint32_t before = cntr(1)->answers[GSN_FSCLOSECONF];
    fs_open(block, 1, names[copy], FS_READ | FS_WRITE);
    assert_true(wait_for(1, GSN_FSOPENCONF, before + 1));
    fs_truncate(block, 1, cntr(1)->file, size);
    fs_sync(block, 1, cntr(1)->file);
    fs_close(block, 1, cntr(1)->file);
    assert_true(wait_for(1, GSN_FSCLOSECONF, before + 1));
}

static void test_truncated_longer_and_missing(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0,    1,      63,     64,       4095,
                                     4096, 100000, 135168, 1u << 24, UINT64_MAX};
    world_make(1);
    assert_true(start_alone(true));
    for (uint32_t i = 0; i < 4; i++)
        assert_true(create(i, 400));
    uint64_t good = digest(1);
    for (uint32_t i = 0; i < 2 * sizeof sizes / sizeof sizes[0]; i++) {
        sim_kill(t.world, 1);
        assert_true(sim_restart(t.world, 1));
        assert_true(wait_for(1, GSN_READ_CONFIG_CONF, 2));
        resize(i % 2, sizes[i / 2]);
        assert_true(start_alone(false));
        assert_true(digest(1) == good);
        assert_true(dict_file_equal(dict_at(1)));
    }
    sim_kill(t.world, 1);
    assert_true(sim_restart(t.world, 1));
    assert_true(wait_for(1, GSN_READ_CONFIG_CONF, 2));
    resize(0, 5000);
    resize(1, UINT64_MAX);
    assert_false(start_alone(false));
    assert_ended(1, EXIT_SCHEMA_DAMAGED, "D1/schema.0, offset 5000: it ends too early");
    world_drop();
}

/* Reseals a copy after a change of one word of the stream. */
static void forge(uint32_t copy, uint32_t word, uint32_t value)
{
    const uint8_t *bytes;
    uint64_t size = content(copy, &bytes);
    uint8_t *image = malloc(size);
    memcpy(image, bytes, size);
    struct image_head *head = (struct image_head *)(void *)image;
    uint64_t chain = head->header.sequence;
    for (uint32_t i = 0; i < head->pieces; i++) {
        uint64_t at = IMAGE_HEAD_BYTES + (uint64_t)i * IMAGE_PIECE_BYTES;
        struct image_piece *piece = (struct image_piece *)(void *)(image + at);
        uint32_t length = size - at < IMAGE_PIECE_BYTES ? (uint32_t)(size - at) : IMAGE_PIECE_BYTES;
        if (word / IMAGE_PIECE_WORDS == i) image_words(piece)[word % IMAGE_PIECE_WORDS] = value;
        piece->hash = image_piece_hash(piece, length, chain);
        chain = piece->hash;
    }
    head->chain = chain;
    uint64_t hash = XXH3_64bits(image, IMAGE_HEAD_HASH_AT);
    memcpy(image + IMAGE_HEAD_HASH_AT, &hash, 8);
    for (uint64_t i = 0; i < size; i++)
        assert_true(sim_disk_poke(disk_at(1), names[copy], i, image[i]));
    free(image);
}

static void test_forged_content_is_refused(void **state)
{
    (void)state;
    struct rng rng;
    uint32_t refused = 0;
    rng_seed(&rng, 9);
    for (uint32_t i = 0; i < 150; i++) {
        uint32_t word = i < 100 ? i : (uint32_t)rng_below(&rng, 3 * 60);
        uint32_t value = i % 3 == 0 ? 0 : i % 3 == 1 ? UINT32_MAX : (uint32_t)rng_next(&rng);
        world_make(1);
        assert_true(start_alone(true));
        for (uint32_t table = 0; table < 3; table++)
            assert_true(create(table, 3));
        sim_kill(t.world, 1);
        forge(0, word, value);
        forge(1, word, value);
        if (!restart_alone()) {
            uint32_t code = sim_exit_of(t.world, 1)->code;
            assert_true(code == EXIT_SCHEMA_DAMAGED || code == EXIT_SCHEMA_LIMIT);
            assert_ended(1, code, "D1/schema.");
            refused++;
        } else {
            assert_workers(1); /* Another table, but one that can be. */
        }
        world_drop();
    }
    assert_true(refused > 75);
}

static void test_files_of_others_are_refused(void **state)
{
    (void)state;
    world_make(1);
    assert_true(start_alone(true));
    assert_true(create(1, 3));
    sim_kill(t.world, 1);
    const uint8_t *bytes;
    uint64_t size = content(0, &bytes);
    for (uint64_t i = 0; i < size; i++) /* One copy in place of the other. */
        assert_true(sim_disk_poke(disk_at(1), names[1], i, bytes[i]));
    assert_false(restart_alone());
    assert_ended(1, EXIT_SCHEMA_FOREIGN, "D1/schema.1 is refused: it is schema file 0.0");
    struct file_header header;
    memcpy(&header, bytes, sizeof header);
    header.cluster_id++;
    file_header_seal(&header);
    for (uint64_t i = 0; i < sizeof header; i++)
        assert_true(sim_disk_poke(disk_at(1), names[0], i, ((const uint8_t *)&header)[i]));
    assert_false(restart_alone());
    assert_ended(1, EXIT_SCHEMA_FOREIGN, "D1/schema.0 is refused: it belongs to another cluster");
    world_drop();
}

static void test_failing_disk(void **state)
{
    (void)state;
    static const struct {
        enum io_op op;
        enum io_error error;
        const char *text;
    } cases[] = {{IO_OPEN, IO_DENIED, "opened: error 2811"},
                 {IO_WRITE, IO_FULL, "written: error 2810"},
                 {IO_WRITE, IO_DEVICE, "written: error 2818"}};
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t skip = 0; skip < 2; skip++) {
            world_make(1);
            assert_true(start_alone(true));
            assert_true(create(1, 3));
            uint64_t before = digest(1);
            sim_disk_fail(disk_at(1), cases[i].op, "D1/schema", cases[i].error, skip, 1);
            assert_false(create(2, 3));
            assert_ended(1, EXIT_SCHEMA_IO, cases[i].text);
            assert_ended(1, EXIT_SCHEMA_IO, "D1/schema.");
            assert_true(restart_alone());
            assert_true(id_of(1, 2) != 0 || digest(1) == before);
            assert_workers(1);
            world_drop();
        }
    }
    world_make(1); /* A sector that cannot be read is one damaged copy. */
    assert_true(start_alone(true));
    assert_true(create(1, 3));
    sim_disk_fail(disk_at(1), IO_READ, "D1/schema", IO_DEVICE, 1, 1);
    assert_true(restart_alone());
    assert_int_not_equal(id_of(1, 1), 0);
    world_drop();
}

static void test_error_inserts(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t number = i % 2 == 0 ? 6003 : 6004;
        world_make(1);
        assert_true(start_alone(true));
        assert_true(create(1, 3));
        sim_insert(t.world, 1, BLOCK_DBDICT, number, 0);
        assert_false(i < 2 ? create(2, 3) : drop(1));
        assert_ended(1, EXIT_ERROR_INSERT, "schema file");
        assert_true(restart_alone());
        assert_int_equal(id_of(1, 1) != 0, !(i >= 2 && number == 6003));
        assert_int_equal(id_of(1, 2) != 0, i < 2 && number == 6003);
        world_drop();
    }
}

static void test_many_and_huge_tables(void **state)
{
    (void)state;
    struct node_config config = config_of(1);
    config.memory.pages_max[RG_SCHEMA] = 4000;
    world_make_with(1, &config);
    assert_true(start_alone(true));
    /* Straight into the store: that a client may create them is shown elsewhere. */
    for (uint32_t id = 1; id < TABLES; id++) {
        uint32_t words = make_def(id, id % 20 == 0 ? 512 : 2);
        static const uint32_t distribution[] = {1, 1, 2, 1, 0};
        uint32_t head[IMAGE_RECORD_WORDS] = {id, 1 + id % 5, TABLE_ONLINE};
        def_words[2] = id;
        def_words[3] = head[1];
        def_words[6] = 1;
        struct section sections[2] = {{def_words, words}, {distribution, 5}};
        assert_int_equal(dict_table_take(dict_at(1), head, sections), 0);
        dict_at(1)->table[id].state = TABLE_ONLINE;
    }
    assert_true(create(TABLES, 3));
    const uint8_t *bytes;
    uint64_t size = content(0, &bytes);
    print_message("%u tables: %llu KB\n", TABLES, (unsigned long long)size / 1024u);
    assert_true(size > 8u * 1024u * 1024u);
    uint64_t before = digest(1);
    assert_true(restart_alone());
    assert_true(digest(1) == before);
    assert_int_equal(dict_at(1)->tables, TABLES);
    assert_workers(1);
    world_drop();
}

static void test_configuration_too_small(void **state)
{
    (void)state;
    world_make(1);
    assert_true(start_alone(true));
    assert_true(create(1, 3));
    assert_true(create(2, 3));
    sim_kill(t.world, 1);
    assert_true(sim_restart(t.world, 1));
    assert_true(begin(1));
    actor_of(block_at(1, BLOCK_DBLQH, 2))->refuse = 2;
    send_restart(1, START_SYSTEM_RESTART, 1, sequence_of(1));
    assert_false(online(1));
    assert_ended(1, EXIT_SCHEMA_LIMIT, "table 2 cannot be made in DBLQH 2: error ");
    assert_true(restart_alone());
    world_drop();
}

/* --- Two nodes. --- */

static bool start_both(bool initial, uint32_t source)
{
    for (uint32_t id = 1; id <= 2; id++) {
        if (!sim_alive(t.world, id)) assert_true(sim_restart(t.world, id));
    }
    for (uint32_t i = 0; i < 10000 && !sim_linked(t.world, 1, 2); i++)
        run_us(500);
    if (!begin(1) || !begin(2)) return false;
    uint64_t sequence = sequence_of(source);
    for (uint32_t id = 1; id <= 2; id++)
        send_restart(id, initial ? START_INITIAL : START_SYSTEM_RESTART, source, sequence);
    bool both = online(1);
    return online(2) && both;
}

static void kill_both(void)
{
    for (uint32_t id = 1; id <= 2; id++) {
        if (sim_alive(t.world, id)) sim_kill(t.world, id);
    }
}

static void test_copy_from_the_source(void **state)
{
    (void)state;
    world_make(2);
    assert_true(start_both(true, 1));
    for (uint32_t i = 1; i <= 4; i++)
        assert_true(create(i, i == 3 ? 400 : 3));
    assert_true(digest(1) == digest(2));
    assert_true(drop(2));
    /* The first node alone changes the schema: what a partial start does. */
    kill_both();
    t.members = 2;
    assert_true(restart_alone());
    assert_int_equal(actor_of(block_at(1, BLOCK_DBTC, 1))->nodes, 3); /* Node 1, and 0 = none. */
    assert_true(create(5, 3));
    assert_int_equal(actor_of(block_at(1, BLOCK_DBLQH, 1))->nodes, 3);
    assert_true(drop(1));
    assert_true(create(6, 3));
    uint64_t newest = digest(1);
    kill_both();
    t.members = 6;
    assert_true(start_both(false, 1));
    assert_true(sequence_of(2) < sequence_of(1));
    assert_true(digest(2) == newest && digest(1) == newest);
    assert_int_equal(actor_of(block_at(2, BLOCK_DBTC, 1))->nodes, 6); /* All places are kept. */
    assert_workers(2);
    kill_both();
    assert_true(start_both(false, 2)); /* It was written there. */
    assert_true(digest(1) == newest);
    /* Another table under the same sequence; and a newer one that the source does not know. */
    for (uint32_t extra = 0; extra < 2; extra++) {
        kill_both();
        t.members = 2;
        assert_true(restart_alone());
        assert_true(create(10, 3));
        for (uint32_t i = 0; i < extra; i++)
            assert_true(create(20 + i, 3));
        sim_kill(t.world, 1);
        t.members = 6;
        assert_true(start_both(false, 2));
        assert_true(digest(1) == newest && digest(2) == newest);
        assert_workers(1);
        assert_true(dict_at(1)->file.sequence == dict_at(2)->file.sequence);
    }
    assert_true(create(30, 3));
    assert_true(digest(1) == digest(2));
    world_drop();
}

/* The source's memory is changed: whatever comes, the node takes a table that can be, or stops. */
static void test_forged_source(void **state)
{
    (void)state;
    uint32_t refused = 0;
    struct rng rng;
    rng_seed(&rng, 5);
    for (uint32_t i = 0; i < 40; i++) {
        world_make(2);
        assert_true(start_both(true, 1));
        assert_true(create(1, 3));
        kill_both();
        assert_true(sim_restart(t.world, 1));
        assert_true(sim_restart(t.world, 2));
        for (uint32_t n = 0; n < 10000 && !sim_linked(t.world, 1, 2); n++)
            run_us(500);
        assert_true(begin(1) && begin(2));
        struct dict *source = dict_at(1);
        struct dict_chunk *chunk = pool_find(&source->chunks, source->table[1].first_chunk);
        uint32_t words = source->table[1].def_words + source->table[1].distribution_words;
        chunk->words[rng_below(&rng, words)] ^= 1u << rng_below(&rng, 32);
        if (i % 4 == 0) source->table[1].version ^= 2u + i / 4;
        send_restart(2, START_SYSTEM_RESTART, 1, sequence_of(1));
        if (online(2)) {
            assert_workers(2);
        } else {
            assert_ended(2, EXIT_SCHEMA_SOURCE, "node 1 gave a schema that is refused: table 1");
            refused++;
        }
        world_drop();
    }
    assert_true(refused > 15);
    world_make(2); /* A source that has none. */
    assert_true(start_both(true, 1));
    kill_both();
    assert_true(sim_restart(t.world, 1));
    assert_true(sim_restart(t.world, 2));
    for (uint32_t n = 0; n < 10000 && !sim_linked(t.world, 1, 2); n++)
        run_us(500);
    assert_true(begin(2));
    assert_true(wait_for(1, GSN_READ_CONFIG_CONF, 2));
    send_restart(2, START_SYSTEM_RESTART, 1, 1);
    assert_false(online(2));
    assert_ended(2, EXIT_SCHEMA_SOURCE, "node 1");
    world_drop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_and_versions_come_back),
        cmocka_unit_test(test_power_cut_at_every_operation),
        cmocka_unit_test(test_power_cut_of_the_first_write),
        cmocka_unit_test(test_every_flipped_bit_is_seen),
        cmocka_unit_test(test_truncated_longer_and_missing),
        cmocka_unit_test(test_forged_content_is_refused),
        cmocka_unit_test(test_files_of_others_are_refused),
        cmocka_unit_test(test_failing_disk),
        cmocka_unit_test(test_error_inserts),
        cmocka_unit_test(test_many_and_huge_tables),
        cmocka_unit_test(test_configuration_too_small),
        cmocka_unit_test(test_copy_from_the_source),
        cmocka_unit_test(test_forged_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
