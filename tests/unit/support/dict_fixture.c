/* dict_fixture.c -- DICT and NDBFS on simulated disks, with actors for all other blocks: tests of
 * the schema files. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/dict_fixture.h"
#include "values/table_index.h"

struct dict_world dw;

static uint64_t seeds; /* Each world has another one. */

struct actor *dw_actor_of(struct block *block)
{
    return (struct actor *)(void *)block;
}

static void exec_count(struct block *block, const struct signal *sig)
{
    struct actor *actor = dw_actor_of(block);
    actor->answers[sig->gsn]++;
    if (sig->gsn == GSN_FSOPENCONF) actor->file = SIG_PAYLOAD(sig, fsopenconf)->file;
    if (sig->gsn == GSN_CREATE_TABLE_REF) actor->error = SIG_PAYLOAD(sig, create_table_ref)->error;
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
    uint32_t words[3 + 2 * REPLICAS_MAX + 1] = {2, dw.count, 2};
    for (uint32_t f = 0; f < 2; f++) {
        for (uint32_t r = 0; r < dw.count; r++)
            words[3 + f * dw.count + r] = 1 + (f + r) % dw.count;
    }
    words[3 + 2 * dw.count] = 1u << 16;
    const struct section section = {words, 4 + 2 * dw.count};
    signal_send(block, sig->sender, GSN_CREATE_FRAG_CONF, PRIO_B, &conf, 2, &section, 1);
}

static void exec_add(struct block *block, const struct signal *sig)
{
    struct actor *actor = dw_actor_of(block);
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
    actor->nodes = actor->absent = 0;
    for (uint32_t i = 0; i < words[0] * words[1]; i++) {
        bool absent = (words[3 + i] & DISTRIBUTION_ABSENT) != 0;
        *(absent ? &actor->absent : &actor->nodes) |= 1u << (words[3 + i] & 0x1Fu);
        ndbrequire(words[3 + i] != 0 || i % words[1] != 0);
    }
    sig_send(block, sig->sender, GSN_LOCAL_TABLE_ADD_CONF, PRIO_B, &conf);
}

static void exec_state(struct block *block, const struct signal *sig)
{
    struct actor *actor = dw_actor_of(block);
    const struct local_table_state_req *req = SIG_PAYLOAD(sig, local_table_state_req);
    struct local_table_state_conf conf = {req->sender_data, req->table_id, req->order};
    static const uint8_t becomes[] = {0, 2, 3, 0};
    ndbrequire(actor->state[req->table_id] != 0);
    actor->state[req->table_id] = becomes[req->order];
    sig_send(block, sig->sender, GSN_LOCAL_TABLE_STATE_CONF, PRIO_B, &conf);
}

/* Each of the first answers of a TC says that it has no record; with `hold` nobody is answered. */
static void exec_wait_durable(struct block *block, const struct signal *sig)
{
    struct actor *actor = dw_actor_of(block);
    uint32_t data = SIG_PAYLOAD(sig, wait_durable_req)->sender_data;
    struct wait_durable_conf conf = {.sender_data = data};
    struct wait_durable_ref ref = {.sender_data = data, .error = ERR_TC_RESOURCE_217};
    actor->answers[sig->gsn]++;
    if (actor->hold) return;
    if (actor->full > 0) {
        actor->full--;
        sig_send(block, sig->sender, GSN_WAIT_DURABLE_REF, PRIO_B, &ref);
        return;
    }
    sig_send(block, sig->sender, GSN_WAIT_DURABLE_CONF, PRIO_B, &conf);
}

static void exec_copy_table(struct block *block, const struct signal *sig)
{
    struct actor *actor = dw_actor_of(block);
    const struct copy_table_req *req = SIG_PAYLOAD(sig, copy_table_req);
    struct copy_table_conf conf = {
        .sender_data = req->sender_data, .table_id = req->table_id, .rows = {.copied_lo = 7}};
    const uint32_t *words = sig->section[0].words;
    ndbrequire(actor->state[req->table_id] == 2);
    actor->copied++;
    for (uint32_t f = 0; f < words[0]; f++)
        actor->sources |= 1u << words[3 + f * words[1]];
    /* So late that the way is told of meanwhile. */
    signal_send_delayed(block, sig->sender, GSN_COPY_TABLE_CONF, PRIO_B, &conf, sizeof conf / 4u,
                        700);
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
    {GSN_COPY_TABLE_REQ, 3, 1, 1, FROM_SELF, exec_copy_table},
    {GSN_WAIT_DURABLE_REQ, 3, 0, 0, FROM_SELF, exec_wait_durable},
    COUNTED(SCHEMA_LOCK_CONF, schema_lock_conf),
    COUNTED(NODE_INCLUDE_CONF, node_include_conf),
    COUNTED(COPY_START_CONF, copy_start_conf),
    COUNTED(COPY_PROGRESS_REP, copy_progress_rep),
    COUNTED(LINK_UP_REP, link_rep),
    COUNTED(LINK_DOWN_REP, link_rep),
    COUNTED(READ_CONFIG_CONF, read_config_conf),
    COUNTED(STTORRY, sttorry),
    COUNTED(SCHEMA_INFO_CONF, schema_info_conf),
    COUNTED(SCHEMA_RESTART_CONF, schema_restart_conf),
    COUNTED(SCHEMA_ONLINE_CONF, schema_online_conf),
    COUNTED(SCHEMA_WRITTEN_ORD, schema_written_ord),
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
    for (uint32_t peer = 1; peer <= dw.count; peer++) {
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

struct node_config dw_config_of(uint32_t count)
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

void dw_world_make_with(uint32_t count, const struct node_config *base)
{
    struct sim_options options;
    memset(&dw, 0, sizeof dw);
    dw.count = count;
    dw.members = (2u << count) - 2u;
    sim_options_defaults(&options);
    options.seed = ++seeds;
    options.gsn_name = gsn_name;
    options.announced = announced;
    options.log = log_line;
    dw.world = sim_create(&options);
    for (uint32_t id = 1; id <= count; id++) {
        struct node_config config = *base;
        config.own_node = id;
        struct sim_data_options data = {.config = &config, .build = build};
        sim_add_data(dw.world, &data);
    }
}

void dw_world_make(uint32_t count)
{
    struct node_config config = dw_config_of(count);
    dw_world_make_with(count, &config);
}

void dw_world_drop(void)
{
    assert_string_equal(sim_failure_text(dw.world), "");
    sim_destroy(dw.world);
}

struct block *dw_block_at(uint32_t node, uint32_t block_no, uint32_t instance)
{
    return node_block(sim_node(dw.world, node), block_no, instance);
}

struct actor *dw_cntr(uint32_t node)
{
    return dw_actor_of(dw_block_at(node, BLOCK_NDBCNTR, 0));
}

struct dict *dw_dict_at(uint32_t node)
{
    return dict_of(dw_block_at(node, BLOCK_DBDICT, 0));
}

struct sim_disk *dw_disk_at(uint32_t node)
{
    return sim_disk_of(dw.world, node);
}

void dw_run_us(uint64_t us)
{
    sim_run_until(dw.world, NULL, NULL, sim_now_us(dw.world) + us);
    sim_check_nodes(dw.world);
    assert_string_equal(sim_failure_text(dw.world), "");
}

bool dw_wait_for(uint32_t node, uint32_t gsn, uint32_t count)
{
    for (uint32_t i = 0; i < 100000 && sim_alive(dw.world, node); i++) {
        if (dw_cntr(node)->answers[gsn] >= count) return true;
        dw_run_us(500);
    }
    assert_false(sim_alive(dw.world, node)); /* Never silence. */
    return false;
}

/* --- A node's start, as NDBCNTR and QMGR do it. --- */

static void state_rep(uint32_t node, uint32_t level)
{
    struct node_state_rep rep = {.start_level = level, .master = 1};
    sig_send(&dw_cntr(node)->block, block_ref(node, BLOCK_DBDICT, 0), GSN_NODE_STATE_REP, PRIO_A,
             &rep);
}

bool dw_begin(uint32_t node)
{
    uint32_t dict = block_ref(node, BLOCK_DBDICT, 0);
    if (!dw_wait_for(node, GSN_READ_CONFIG_CONF, 2)) return false;
    struct sttor sttor = {.phase = 0};
    sig_send(&dw_cntr(node)->block, dict, GSN_STTOR, PRIO_B, &sttor);
    if (!dw_wait_for(node, GSN_STTORRY, 1)) return false;
    struct members_rep members = {.president = 1};
    for (uint32_t id = 1; id <= dw.count; id++) {
        if (dw.members >> id & 1u) node_mask_add(&members.members, id);
    }
    const struct section none = {&members.president, 1};
    signal_send(&dw_cntr(node)->block, dict, GSN_MEMBERS_REP, PRIO_A, &members, sizeof members / 4u,
                &none, 1);
    struct schema_info_req info = {.sender_data = 3};
    sig_send(&dw_cntr(node)->block, dict, GSN_SCHEMA_INFO_REQ, PRIO_A, &info);
    return dw_wait_for(node, GSN_SCHEMA_INFO_CONF, 1);
}

void dw_send_restart(uint32_t node, uint32_t type, uint32_t source, uint64_t sequence)
{
    struct schema_restart_req req = {.start_type = type,
                                     .source_node = source,
                                     .sequence_lo = (uint32_t)sequence,
                                     .sequence_hi = (uint32_t)(sequence >> 32)};
    sig_send(&dw_cntr(node)->block, block_ref(node, BLOCK_DBDICT, 0), GSN_SCHEMA_RESTART_REQ,
             PRIO_A, &req);
}

bool dw_online(uint32_t node)
{
    struct schema_online_req req = {.sender_data = 5};
    if (!dw_wait_for(node, GSN_SCHEMA_RESTART_CONF, 1)) return false;
    sig_send(&dw_cntr(node)->block, block_ref(node, BLOCK_DBDICT, 0), GSN_SCHEMA_ONLINE_REQ, PRIO_A,
             &req);
    if (!dw_wait_for(node, GSN_SCHEMA_ONLINE_CONF, 1)) return false;
    state_rep(node, START_STARTED);
    dw_run_us(1000);
    return true;
}

uint64_t dw_sequence_of(uint32_t node)
{
    return dw_cntr(node)->info.sequence_lo | (uint64_t)dw_cntr(node)->info.sequence_hi << 32;
}

bool dw_start_alone(bool initial)
{
    if (!dw_begin(1)) return false;
    dw_send_restart(1, initial ? START_INITIAL : START_SYSTEM_RESTART, 1, dw_sequence_of(1));
    return dw_online(1);
}

bool dw_restart_alone(void)
{
    if (sim_alive(dw.world, 1)) sim_kill(dw.world, 1);
    assert_true(sim_restart(dw.world, 1));
    return dw_start_alone(false);
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

struct table_def *dw_read_def(const uint32_t *words, uint32_t count)
{
    static uint8_t memory[400000] __attribute__((aligned(16)));
    struct table_def *def;
    assert_int_equal(table_def_decode_roomy(words, count, memory, sizeof memory, &def), 0);
    return def;
}

/* Four columns and two unique indexes. */
static uint32_t make_unique_def(uint32_t name)
{
    static const uint16_t columns[2] = {1, 2};
    struct table_def *def = dw_read_def(def_words, make_def(name, 4));
    assert_int_equal(table_def_add_unique(def, "u_a", 3, columns, 1), 0);
    assert_int_equal(table_def_add_unique(def, "u_b", 3, columns, 2), 0);
    return table_def_encode(def, def_words, 60000);
}

/* As if a client's request had come: the border lets only clients ask. */
static void begin_create_of(uint32_t words)
{
    struct create_table_req req = {.sender_data = 1};
    struct signal sig = {.gsn = GSN_CREATE_TABLE_REQ,
                         .sender = dw_cntr(1)->block.ref,
                         .words = 1,
                         .payload = &req.sender_data,
                         .section_count = 1};
    sig.section[0] = (struct section){def_words, words};
    dict_exec_CREATE_TABLE_REQ(&dw_dict_at(1)->block, &sig);
}

void dw_begin_create(uint32_t name, uint32_t columns)
{
    begin_create_of(make_def(name, columns));
}

bool dw_create(uint32_t name, uint32_t columns)
{
    uint32_t before = dw_cntr(1)->answers[GSN_CREATE_TABLE_CONF];
    dw_begin_create(name, columns);
    return dw_wait_for(1, GSN_CREATE_TABLE_CONF, before + 1);
}

bool dw_create_unique(uint32_t name)
{
    uint32_t before = dw_cntr(1)->answers[GSN_CREATE_TABLE_CONF];
    begin_create_of(make_unique_def(name));
    return dw_wait_for(1, GSN_CREATE_TABLE_CONF, before + 1);
}

uint32_t dw_misfit_id(enum misfit misfit)
{
    return misfit < MISFIT_OTHER_INDEX ? 3 : 1;
}

void dw_misfit_make(enum misfit misfit, struct table_def *def)
{
    switch (misfit) {
    case MISFIT_OTHER_TABLE:
        def->base_id = 4;
        return;
    case MISFIT_NO_TABLE:
        def->base_id = 99;
        return;
    case MISFIT_ITSELF:
        def->base_id = 3;
        return;
    case MISFIT_VERSION:
        def->base_version++;
        return;
    case MISFIT_ROWS:
        def->max_rows++;
        return;
    case MISFIT_OTHER_INDEX:
        table_def_unique_set(def, 1, 4, 1);
        return;
    case MISFIT_NO_INDEX:
        table_def_unique_set(def, 1, 99, 1);
        return;
    case MISFIT_TWICE:
        table_def_unique_set(def, 1, 2, 1);
        return;
    case MISFITS:
    default:
        fail();
    }
}

uint32_t dw_create_refused(uint32_t name, uint32_t columns)
{
    uint32_t before = dw_cntr(1)->answers[GSN_CREATE_TABLE_REF];
    dw_begin_create(name, columns);
    assert_true(dw_wait_for(1, GSN_CREATE_TABLE_REF, before + 1));
    return dw_cntr(1)->error;
}

uint32_t dw_id_of(uint32_t node, uint32_t name)
{
    char text[DICT_NAME_BYTES];
    snprintf(text, sizeof text, "test/def/t%u", name);
    return dict_table_by_name(dw_dict_at(node), text, (uint32_t)strlen(text));
}

void dw_begin_drop(uint32_t name)
{
    uint32_t id = dw_id_of(1, name);
    struct drop_table_req req = {.table_id = id, .version = dw_dict_at(1)->table[id].version};
    struct signal sig = {.gsn = GSN_DROP_TABLE_REQ,
                         .sender = dw_cntr(1)->block.ref,
                         .words = 3,
                         .payload = &req.sender_data};
    dict_exec_DROP_TABLE_REQ(&dw_dict_at(1)->block, &sig);
}

bool dw_drop(uint32_t name)
{
    uint32_t before = dw_cntr(1)->answers[GSN_DROP_TABLE_CONF];
    dw_begin_drop(name);
    return dw_wait_for(1, GSN_DROP_TABLE_CONF, before + 1);
}

uint64_t dw_digest(uint32_t node)
{
    static uint32_t words[100000];
    struct image_writer writer = {.id = 1};
    uint64_t hash = 0;
    for (uint32_t used; (used = image_fill(dw_dict_at(node), &writer, words, 100000)) != 0;)
        hash = XXH3_64bits_withSeed(words, (size_t)used * 4u, hash);
    return hash;
}

void dw_assert_workers(uint32_t node)
{
    for (uint32_t instance = 1; instance <= FACTORY; instance++) {
        for (uint32_t id = 1; id <= TABLES; id++) {
            uint32_t state = dict_table_at(dw_dict_at(node), id) != NULL ? 2 : 0;
            assert_int_equal(dw_actor_of(dw_block_at(node, BLOCK_DBTC, instance))->state[id],
                             state);
            assert_int_equal(dw_actor_of(dw_block_at(node, BLOCK_DBLQH, instance))->state[id],
                             state);
        }
    }
}

void dw_assert_ended(uint32_t node, uint32_t code, const char *part)
{
    assert_false(sim_alive(dw.world, node));
    const struct sim_exit *last = sim_exit_of(dw.world, node);
    if (last->code != code || strstr(last->text, part) == NULL)
        fail_msg("node %u ended with %u %s; expected was %u %s", node, last->code, last->text, code,
                 part);
}

const char *const dw_files[] = {"D1/schema.0", "D1/schema.1"};

void dw_put_file(const struct schema_file_step *step)
{
    static const uint32_t distribution[] = {1, 1, 2, 1, 0};
    uint32_t head[IMAGE_RECORD_WORDS] = {step->id, step->version, TABLE_ONLINE};
    uint32_t words = make_def(step->name, step->columns);
    def_words[2] = step->id;
    def_words[3] = step->version;
    def_words[6] = 1; /* Fragments. */
    struct section sections[2] = {{def_words, words}, {distribution, 5}};
    assert_int_equal(dict_table_take(dw_dict_at(step->node), head, sections), 0);
}
