/* test_recover.c -- two LDMs with their files on the simulated disk: load, checkpoints, saves,
 * power cuts, RECOVER_REQ, compared with a model; lost and damaged files. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "blocks/lcpwriter/lcpw.h"
#include "blocks/dblqh/redo/lqh_redo.h"
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/schema/lqh_table.h"
#include "blocks/ndbfs/fs_block.h"
#include "blocks/lcpreader/lcpr.h"
#include "kernel/sim/sim_world.h"
#include "signals/gcp.h"
#include "values/attr.h"
#include "signals/gcp_local.h"
#include "signals/lcp.h"
#include "signals/local_table.h"
#include "signals/lqhkey.h"
#include "signals/start.h"
#include "values/errors.h"
#include "values/key.h"
#include "tests/unit/support/kvt_table.h"

#define LDMS     2u
#define TABLES   3u /* Table ids 5, 6, 7. */
#define FRAGS    4u
#define KEYS     64u
#define OPS      (TABLES * KEYS)
#define ALIVE    0x10000u
#define PAIR_MAX 64u

/* Places of sim_disk_spoil(). */
#define SPOIL_ALL   0u
#define SPOIL_LCP   1u
#define SPOIL_LISTS 6u

/* The driver stands for TC, DIH, DICT and NDBCNTR. */
struct driver {
    struct block block;
    uint32_t answers[512]; /* Answers that came, by GSN. */
    uint32_t errors;
    uint32_t last_error;
    uint32_t open;
    uint32_t saves;
    bool busy[OPS];
    uint32_t next_value[OPS];
    /* The round of checkpoints: LDMs that have not answered. */
    enum { LCP_NONE, LCP_WRITING, LCP_WAITING, LCP_USABLE } lcp_state;
    uint32_t lcp_left;
    uint32_t lcp_end;
    uint32_t lcp_rounds;
    uint32_t fill;
    uint32_t reps;
    uint32_t rep_step;
    uint32_t rep_percent;
    struct recover_conf recover[LDMS + 1];
};

struct model_table {
    bool exists;
    uint32_t version;
    uint32_t value[KEYS];        /* Committed. */
    uint32_t value_saving[KEYS]; /* When the save began. */
    uint32_t value_saved[KEYS];
};

/* What outlives the node. */
static struct {
    struct sim_world *world;
    struct sim_disk *disk;
    struct table_def *def;
    struct rng rng;
    uint32_t gci;
    uint32_t saved;
    uint32_t incarnation;
    uint32_t life; /* The logs have it. */
    uint32_t lcp_id;
    uint32_t serial;
    uint64_t lsn[LDMS + 1];
    struct model_table table[TABLES];
    uint32_t ended[2 * REDO_ENDED_MAX];
    uint32_t ended_count;
} t;

static struct driver *driver_of(struct block *block)
{
    return (struct driver *)(void *)block;
}

static uint32_t ldm_ref(uint32_t block_no, uint32_t instance)
{
    return block_ref(1, block_no, instance);
}

/* --- Answers. --- */

static void took_save(struct driver *me, const struct signal *sig)
{
    const struct gcp_saveconf *conf = SIG_PAYLOAD(sig, gcp_saveconf);
    t.lsn[ref_instance(sig->sender)] = conf->lsn_lo | (uint64_t)conf->lsn_hi << 32;
    if (me->answers[GSN_GCP_SAVECONF] < LDMS * me->saves) return;
    t.saved = conf->gci;
    for (uint32_t i = 0; i < TABLES; i++)
        memcpy(t.table[i].value_saved, t.table[i].value_saving, sizeof t.table[i].value);
}

static void exec_count(struct block *block, const struct signal *sig)
{
    struct driver *me = driver_of(block);
    me->answers[sig->gsn]++;
    switch (sig->gsn) {
    case GSN_REDO_STATUS_CONF:
        me->fill = SIG_PAYLOAD(sig, redo_status_conf)->fill;
        break;
    case GSN_RECOVER_CONF:
        me->recover[ref_instance(sig->sender)] = *SIG_PAYLOAD(sig, recover_conf);
        break;
    case GSN_RECOVER_REP:
        me->reps++;
        me->rep_step = SIG_PAYLOAD(sig, recover_rep)->step;
        me->rep_percent = SIG_PAYLOAD(sig, recover_rep)->percent;
        assert_true(me->rep_percent <= 100u);
        break;
    case GSN_GCP_SAVECONF:
        took_save(me, sig);
        break;
    case GSN_LCP_PART_CONF:
        if (SIG_PAYLOAD(sig, lcp_part_conf)->end_gci > me->lcp_end)
            me->lcp_end = SIG_PAYLOAD(sig, lcp_part_conf)->end_gci;
        if (--me->lcp_left == 0) me->lcp_state = LCP_WAITING;
        break;
    case GSN_LCP_USABLE_CONF:
        if (--me->lcp_left > 0) break;
        me->lcp_state = LCP_NONE;
        me->lcp_rounds++;
        break;
    default:
        break;
    }
}

static void exec_tick(struct block *block, const struct signal *sig)
{
    signal_send_delayed(block, block->ref, GSN_CONTINUEB, PRIO_B, sig->payload, 1, 1);
}

static void exec_prepared(struct block *block, const struct signal *sig)
{
    const struct lqhkeyconf *conf = SIG_PAYLOAD(sig, lqhkeyconf);
    const struct train_entry entry = {
        .op = conf->lqh_op, .tc_op = conf->tc_op, .transid1 = conf->transid1};
    const struct section section = {(const uint32_t *)(const void *)&entry, TRAIN_ENTRY_WORDS};
    const struct commit_train commit = {
        .tc_ref = block->ref, .gci_hi = t.gci, .flags = COMMIT_AND_COMPLETE};
    uint32_t op = conf->tc_op - 1u;
    t.table[op / KEYS].value[op % KEYS] = driver_of(block)->next_value[op]; /* Never fails. */
    signal_send(block, sig->sender, GSN_COMMIT, PRIO_B, &commit, sizeof commit / 4u, &section, 1);
}

static void exec_refused(struct block *block, const struct signal *sig)
{
    const struct lqhkeyref *ref = SIG_PAYLOAD(sig, lqhkeyref);
    struct driver *me = driver_of(block);
    me->busy[ref->tc_op - 1u] = false;
    me->open--;
    me->errors++;
    me->last_error = ref->error;
}

static void exec_committed(struct block *block, const struct signal *sig)
{
    struct driver *me = driver_of(block);
    for (uint32_t at = 0; at < sig->section[0].size; at += TRAIN_ENTRY_WORDS) {
        me->busy[sig->section[0].words[at + 1u] - 1u] = false;
        me->open--;
    }
}

#define COUNTED_BY(name, type, exec)                                                               \
    {                                                                                              \
        GSN_##name, sizeof(struct type) / 4u, 0, 1, FROM_SELF, exec                                \
    }
#define COUNTED(name, type) COUNTED_BY(name, type, exec_count)
static const struct handler handlers[] = {
    {GSN_CONTINUEB, 1, 0, 0, FROM_SELF, exec_tick},
    {GSN_LQHKEYCONF, 5, 0, 0, FROM_SELF, exec_prepared},
    {GSN_LQHKEYREF, 6, 0, 0, FROM_SELF, exec_refused},
    {GSN_COMMITTED, 2, 1, 1, FROM_SELF, exec_committed},
    COUNTED(READ_CONFIG_CONF, read_config_conf),
    COUNTED(LOCAL_TABLE_ADD_CONF, local_table_add_conf),
    COUNTED(LOCAL_TABLE_STATE_CONF, local_table_state_conf),
    COUNTED(REDO_OPEN_CONF, redo_open_conf),
    COUNTED(REDO_STATUS_CONF, redo_status_conf),
    COUNTED(GCP_SAVECONF, gcp_saveconf),
    COUNTED(LCP_PART_CONF, lcp_part_conf),
    COUNTED(LCP_USABLE_CONF, lcp_usable_conf),
    COUNTED(RECOVER_CONF, recover_conf),
    COUNTED(RECOVER_REP, recover_rep),
};
static const struct block_type driver_type = {"DRIVER", BLOCK_DBTC, handlers,
                                              sizeof handlers / sizeof handlers[0], NULL};

/* --- The node. --- */

/* Which lists there are is DIH's to know; here all are what they should be. */
static void exec_list(struct block *block, const struct signal *sig)
{
    struct lcp_list_conf conf = {.number = SIG_PAYLOAD(sig, lcp_list_req)->number};
    sig_send(block, sig->sender, GSN_LCP_LIST_CONF, PRIO_B, &conf);
}

/* DIH hears that operations are held back. */
static void exec_hint(struct block *block, const struct signal *sig)
{
    (void)block;
    assert_int_equal(SIG_PAYLOAD(sig, redo_status_conf)->sender_data, REDO_STATUS_HINT);
}
static const struct handler dih_handlers[] = {
    COUNTED_BY(REDO_STATUS_CONF, redo_status_conf, exec_hint),
    COUNTED_BY(LCP_LIST_REQ, lcp_list_req, exec_list)};
static const struct block_type dih_type = {"DIH", BLOCK_DBDIH, dih_handlers, 2, NULL};

static void build(struct node *node)
{
    static const uint32_t blocks[] = {BLOCK_DBACC, BLOCK_DBTUP, BLOCK_DBLQH, BLOCK_LCPWRITER,
                                      BLOCK_LCPREADER};
    struct thread *thread = node_thread(node, 0);
    struct read_config_req req = {.sender_data = 1};
    uint32_t tick = 1;
    fs_create(thread, 0);
    for (uint32_t instance = 1; instance <= LDMS; instance++) {
        acc_create(thread, instance);
        tup_create(thread, instance);
        lqh_create(thread, instance);
        lcpw_create(thread, instance);
        lcpr_create(thread, instance);
    }
    block_create(thread, &dih_type, 0, sizeof(struct block));
    struct block *block = block_create(thread, &driver_type, 1, sizeof(struct driver));
    sig_send(block, block_ref(1, BLOCK_NDBFS, 0), GSN_READ_CONFIG_REQ, PRIO_B, &req);
    for (uint32_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        for (uint32_t instance = 1; instance <= LDMS; instance++)
            sig_send(block, ldm_ref(blocks[i], instance), GSN_READ_CONFIG_REQ, PRIO_B, &req);
    }
    signal_send_delayed(block, block->ref, GSN_CONTINUEB, PRIO_B, &tick, 1, 1);
}

static bool announced(void *context, uint32_t node, const struct node_failure *failure)
{
    (void)context;
    (void)node;
    return failure->exit_code == EXIT_REDO_DAMAGED || failure->exit_code == EXIT_LCP_DAMAGED ||
           failure->exit_code == EXIT_LCP_IO || failure->exit_code == EXIT_LCP_FOREIGN ||
           failure->exit_code == EXIT_RECOVER_MEMORY || failure->exit_code == EXIT_REDO_SHAPE;
}

static void world_make(uint64_t seed, uint32_t files, uint32_t file_bytes)
{
    struct sim_options options;
    struct node_config config;
    memset(&t, 0, sizeof t);
    memset(&config, 0, sizeof config);
    rng_seed(&t.rng, seed);
    sim_options_defaults(&options);
    options.seed = seed;
    options.gsn_name = gsn_name;
    options.announced = announced;
    t.world = sim_create(&options);
    node_config_defaults(&config);
    config.overflow_segments = 4;
    config.own_node = 1;
    config.ldm_count = LDMS;
    config.node[1].type = NODE_DATA;
    config.cluster_id = 99;
    config.diskless = 0;
    config.operations_max = 4096;
    config.redo_files = files;
    config.redo_file_bytes = file_bytes;
    config.redo_buffer_bytes = 256u * 1024u;
    struct sim_data_options data = {.config = &config, .build = build};
    sim_add_data(t.world, &data);
    t.disk = sim_disk_of(t.world, 1);
    t.def = kvt_table(0, 0, FRAGS, TABLE_FLAGS_DEFAULT);
    t.gci = 2;
    t.incarnation = 1;
    t.life = 1;
    t.table[0] = (struct model_table){.exists = true, .version = 1};
}

static void world_drop(void)
{
    assert_string_equal(sim_failure_text(t.world), "");
    sim_destroy(t.world);
    free(t.def);
}

static struct driver *driver(void)
{
    return driver_of(node_block(sim_node(t.world, 1), BLOCK_DBTC, 1));
}

static bool alive(void)
{
    return sim_alive(t.world, 1);
}

static void run_us(uint64_t us)
{
    sim_run_until(t.world, NULL, NULL, sim_now_us(t.world) + us);
    if (alive()) sim_check_nodes(t.world);
    assert_string_equal(sim_failure_text(t.world), "");
}

static bool wait_for(uint32_t gsn, uint32_t count)
{
    for (uint32_t i = 0; i < 50000 && alive(); i++) {
        if (driver()->answers[gsn] >= count) return true;
        run_us(200);
    }
    assert_false(alive());
    return false;
}

static void to_ldms(uint32_t block_no, uint32_t gsn, const void *payload, uint32_t words,
                    const struct section *sections, uint32_t count)
{
    for (uint32_t instance = 1; instance <= LDMS; instance++)
        signal_send(&driver()->block, ldm_ref(block_no, instance), gsn, PRIO_B, payload, words,
                    sections, count);
}

static bool table_add(uint32_t index)
{
    static uint32_t words[4096];
    static uint32_t all[4 + FRAGS + HASH_MAP_BUCKETS / 2];
    uint32_t answers = driver()->answers[GSN_LOCAL_TABLE_ADD_CONF];
    struct local_table_add_req add = {.table_id = 5u + index, .version = t.table[index].version};
    t.def->table_id = add.table_id;
    t.def->version = add.version;
    memset(all, 0, sizeof all);
    all[0] = FRAGS;
    all[1] = 1;
    all[2] = HASH_MAP_BUCKETS;
    for (uint32_t i = 0; i < FRAGS; i++)
        all[3 + i] = 1;
    const struct section sections[2] = {{words, table_def_encode(t.def, words, 4096)},
                                        {all, sizeof all / 4u}};
    to_ldms(BLOCK_DBLQH, GSN_LOCAL_TABLE_ADD_REQ, &add, 3, sections, 2);
    return wait_for(GSN_LOCAL_TABLE_ADD_CONF, answers + LDMS);
}

static bool node_configured(bool create)
{
    if (!wait_for(GSN_READ_CONFIG_CONF, 1u + 5u * LDMS)) return false;
    struct redo_open_req open = {.create = create, .life = t.life};
    to_ldms(BLOCK_DBLQH, GSN_REDO_OPEN_REQ, &open, sizeof open / 4u, NULL, 0);
    if (!wait_for(GSN_REDO_OPEN_CONF, LDMS)) return false;
    for (uint32_t i = 0; i < TABLES; i++) {
        if (t.table[i].exists && !table_add(i)) return false;
    }
    return true;
}

/* From power on to the first operation. False: the node has stopped. */
static bool node_begin(bool create)
{
    if (!node_configured(create)) return false;
    const struct section ended = {t.ended, t.ended_count * 2u};
    for (uint32_t instance = 1; instance <= LDMS; instance++) {
        struct recover_req req = {.restart_gci = t.saved,
                                  .incarnation = t.incarnation,
                                  .lsn_lo = (uint32_t)t.lsn[instance],
                                  .lsn_hi = (uint32_t)(t.lsn[instance] >> 32)};
        signal_send(&driver()->block, ldm_ref(BLOCK_DBLQH, instance), GSN_RECOVER_REQ, PRIO_B, &req,
                    sizeof req / 4u, &ended, 1);
    }
    return wait_for(GSN_RECOVER_CONF, LDMS);
}

static bool node_restart(void)
{
    if (t.ended_count == REDO_ENDED_MAX) /* The oldest goes. */
        memmove(t.ended, t.ended + 2, (--t.ended_count) * 2u * sizeof t.ended[0]);
    t.ended[2u * t.ended_count] = t.incarnation++;
    t.ended[2u * t.ended_count++ + 1u] = t.saved;
    t.gci = t.saved + 1u;
    for (uint32_t i = 0; i < TABLES; i++)
        memcpy(t.table[i].value, t.table[i].value_saved, sizeof t.table[i].value);
    assert_true(sim_restart(t.world, 1));
    return node_begin(false);
}

/* --- Work. --- */

static uint32_t value_words(uint32_t value, uint32_t *attr)
{
    uint32_t size = 1u + value % 150u;
    attr[0] = attr_header(1, 4);
    attr[1] = value;
    attr[2] = attr_header(2, size);
    memset(attr + 3, 0, words_of(size) * 4u);
    memset(attr + 3, (int)(value % 251u), size);
    ((uint8_t *)(attr + 3))[0] = (uint8_t)(size - 1u);
    return 3u + words_of(size);
}

static uint32_t frag_of_key(uint32_t key)
{
    return key % FRAGS;
}

static uint32_t ldm_of_frag(uint32_t frag)
{
    return (fragment_instance_key(frag) - 1u) % LDMS + 1u;
}

static void operation(uint32_t index, uint32_t key)
{
    struct driver *me = driver();
    uint32_t attr[PAIR_MAX];
    uint32_t op = index * KEYS + key;
    if (!t.table[index].exists || me->busy[op]) return;
    bool remove = t.table[index].value[key] != 0 && rng_below(&t.rng, 4) == 0;
    uint32_t value = ALIVE + ++t.serial;
    struct lqhkeyreq req = {.tc_op = op + 1u,
                            .request_info = remove ? OP_DELETE : OP_WRITE,
                            .table_id = 5u + index,
                            .schema_version = t.table[index].version,
                            .fragment_id = frag_of_key(key),
                            .hash = (uint32_t)key_hash(t.def, &key, 1),
                            .transid1 = t.serial,
                            .tc_ref = me->block.ref,
                            .row_page = ROW_NOT_CHOSEN,
                            .row_slot = ROW_NOT_CHOSEN,
                            .tc_trans = t.serial};
    const struct section sections[2] = {{&key, 1}, {attr, value_words(value, attr)}};
    me->busy[op] = true;
    me->next_value[op] = remove ? 0 : value;
    me->open++;
    signal_send(&me->block, ldm_ref(BLOCK_DBLQH, ldm_of_frag(frag_of_key(key))), GSN_LQHKEYREQ,
                PRIO_B, &req, sizeof req / 4u, sections, remove ? 1 : 2);
}

static void finish(void)
{
    for (uint32_t i = 0; i < 50000 && alive() && driver()->open > 0; i++)
        run_us(200);
}

/* As DIH does it: everything of the GCI has been committed; then it is saved. */
static void save(bool wait)
{
    finish();
    if (!alive() || !wait_for(GSN_GCP_SAVECONF, LDMS * driver()->saves)) return;
    struct gcp_savereq req = {.gci = t.gci++};
    for (uint32_t i = 0; i < TABLES; i++)
        memcpy(t.table[i].value_saving, t.table[i].value, sizeof t.table[i].value);
    driver()->saves++;
    to_ldms(BLOCK_DBLQH, GSN_GCP_SAVEREQ, &req, sizeof req / 4u, NULL, 0);
    if (wait) wait_for(GSN_GCP_SAVECONF, LDMS * driver()->saves);
}

/* One step of the round of checkpoints, as DIH takes it. */
static void lcp_pump(bool begin)
{
    struct driver *me = driver();
    if (me->lcp_state == LCP_NONE && begin) {
        struct lcp_part_req req = {.lcp_id = ++t.lcp_id, .start_gci = t.gci};
        me->lcp_state = LCP_WRITING;
        me->lcp_left = LDMS;
        me->lcp_end = 0;
        to_ldms(BLOCK_LCPWRITER, GSN_LCP_PART_REQ, &req, sizeof req / 4u, NULL, 0);
    } else if (me->lcp_state == LCP_WAITING && me->lcp_end <= t.saved) {
        struct lcp_usable_req req = {.lcp_id = t.lcp_id};
        me->lcp_state = LCP_USABLE;
        me->lcp_left = LDMS;
        to_ldms(BLOCK_LCPWRITER, GSN_LCP_USABLE_REQ, &req, sizeof req / 4u, NULL, 0);
    }
}

static void checkpoint(void)
{
    for (uint32_t i = 0; i < 5000 && alive() && driver()->lcp_state != LCP_NONE; i++) {
        lcp_pump(false);
        save(true);
    }
    if (!alive()) return;
    uint32_t rounds = driver()->lcp_rounds;
    lcp_pump(true);
    for (uint32_t i = 0; i < 5000 && alive() && driver()->lcp_rounds == rounds; i++) {
        run_us(500);
        if (!alive()) return;
        lcp_pump(false);
        if (driver()->lcp_state == LCP_WAITING) save(true);
    }
}

static void table_drop(uint32_t index)
{
    uint32_t answers = driver()->answers[GSN_LOCAL_TABLE_STATE_CONF];
    struct local_table_state_req req = {.table_id = 5u + index, .order = LOCAL_TABLE_DROPPING};
    finish();
    if (!alive()) return;
    t.table[index] =
        (struct model_table){.version = t.table[index].version}; /* The schema files. */
    to_ldms(BLOCK_DBLQH, GSN_LOCAL_TABLE_STATE_REQ, &req, sizeof req / 4u, NULL, 0);
    if (!wait_for(GSN_LOCAL_TABLE_STATE_CONF, answers + LDMS)) return;
    req.order = LOCAL_TABLE_DROP;
    to_ldms(BLOCK_DBLQH, GSN_LOCAL_TABLE_STATE_REQ, &req, sizeof req / 4u, NULL, 0);
    wait_for(GSN_LOCAL_TABLE_STATE_CONF, answers + 2u * LDMS);
}

static void table_create(uint32_t index)
{
    t.table[index] = (struct model_table){.exists = true, .version = t.table[index].version + 1u};
    table_add(index);
}

static void work(uint32_t rounds)
{
    for (uint32_t i = 0; i < rounds && alive(); i++) {
        for (uint32_t n = (uint32_t)rng_below(&t.rng, 30); n > 0; n--)
            operation((uint32_t)rng_below(&t.rng, TABLES), (uint32_t)rng_below(&t.rng, KEYS));
        run_us(rng_below(&t.rng, 300));
        if (alive() && rng_below(&t.rng, 4) == 0) save(rng_below(&t.rng, 2) != 0);
        if (alive()) lcp_pump(rng_below(&t.rng, 6) == 0);
        uint32_t index = 1u + (uint32_t)rng_below(&t.rng, TABLES - 1u);
        if (alive() && rng_below(&t.rng, 20) == 0) {
            if (t.table[index].exists)
                table_drop(index);
            else
                table_create(index);
        }
    }
}

/* --- Comparison. --- */

static uint32_t read_value(uint32_t index, uint32_t key)
{
    struct node *node = sim_node(t.world, 1);
    uint32_t frag_id = frag_of_key(key);
    struct lqh *lqh = lqh_of(node_block(node, BLOCK_DBLQH, ldm_of_frag(frag_id)));
    struct tup_frag *frag = tup_frag_get(lqh->tup, lqh->table[5u + index]->frags[frag_id]);
    uint32_t expected[PAIR_MAX];
    uint32_t found[PAIR_MAX];
    uint32_t words;
    static const uint32_t columns[] = {1u << 16, 2u << 16};
    uint32_t row = acc_find(tup_frag_index(frag), (uint32_t)key_hash(t.def, &key, 1), &key, 1);
    if (row == ROW_NONE) return 0;
    const struct tup_read read = {.frag = frag, .row = row, .attr = columns, .attr_words = 2};
    assert_int_equal(tup_read(lqh->tup, &read, found, PAIR_MAX, &words), 0);
    assert_int_equal(words, value_words(found[1], expected));
    assert_memory_equal(found, expected, words * 4u); /* No row is half there. */
    return found[1];
}

static void compare(void)
{
    for (uint32_t i = 0; i < TABLES; i++) {
        for (uint32_t key = 0; t.table[i].exists && key < KEYS; key++)
            assert_int_equal(read_value(i, key), t.table[i].value[key]);
    }
}

/* --- Tests. --- */

static void test_power_cuts(void **state)
{
    (void)state;
    uint32_t found = 0;
    uint32_t none = 0;
    for (uint32_t seed = 1; seed <= 40; seed++) {
        world_make(seed, 4, 128u * 1024u);
        assert_true(node_begin(true));
        for (uint32_t life = 0; life < 6; life++) {
            if (life % 2u != 0) sim_power_cut_at(t.world, 1, 1u + rng_below(&t.rng, 80));
            work((uint32_t)rng_below(&t.rng, 60));
            if (alive()) sim_power_cut(t.world, 1, FATES_ALL);
            sim_power_cut_at(t.world, 1, 0);
            if (rng_below(&t.rng, 3) == 0) { /* The restart is cut short as well. */
                sim_power_cut_at(t.world, 1, 1u + rng_below(&t.rng, 40));
                if (node_restart()) compare();
                if (alive()) sim_power_cut(t.world, 1, FATES_ALL);
                sim_power_cut_at(t.world, 1, 0);
            }
            assert_true(node_restart());
            compare();
            found += driver()->recover[1].fragments + driver()->recover[2].fragments;
            none += driver()->recover[1].fragments == 0 ? 1u : 0u;
        }
        world_drop();
    }
    assert_true(found > 100 && none > 5);
}

/* The log wraps many times while checkpoints free it; a full one refuses, and is well again after a
 * checkpoint. */
static void test_tiny_log(void **state)
{
    (void)state;
    world_make(100, 3, 64u * 1024u);
    assert_true(node_begin(true));
    for (uint32_t round = 0; round < 12; round++) {
        uint32_t errors = driver()->errors;
        for (uint32_t i = 0; i < (round == 0 ? 2000u : 40u); i++) {
            if (driver()->errors > errors) break;
            for (uint32_t key = 0; key < KEYS; key++)
                operation(0, key);
            run_us(100);
            if (i % 8u == 0) save(true);
            if (round % 3u != 0) lcp_pump(i % 10u == 0);
        }
        finish();
        save(true);
        if (round == 0) assert_true(driver()->errors > errors);
        if (driver()->errors > errors) assert_int_equal(driver()->last_error, ERR_REDO_FULL);
        checkpoint();
        errors = driver()->errors;
        for (uint32_t key = 0; key < KEYS; key++)
            operation(0, key);
        finish();
        assert_int_equal(driver()->errors, errors);
        save(true);
        compare();
        if (round % 4u != 3u) continue;
        sim_power_cut(t.world, 1, FATES_ALL);
        assert_true(node_restart());
        compare();
    }
    world_drop();
}

/* A table is being dropped, checkpoints free the log, and the power goes before the schema files
 * say that it is dropped. */
static void test_drop_undone(void **state)
{
    (void)state;
    struct local_table_state_req req = {.table_id = 5, .order = LOCAL_TABLE_DROPPING};
    world_make(300, 3, 64u * 1024u);
    assert_true(node_begin(true));
    table_create(1);
    for (uint32_t i = 0; i < 40; i++) {
        for (uint32_t key = 0; key < KEYS; key++)
            operation(0, key);
        finish();
        if (i % 10u == 0) checkpoint();
    }
    to_ldms(BLOCK_DBLQH, GSN_LOCAL_TABLE_STATE_REQ, &req, sizeof req / 4u, NULL, 0);
    assert_true(wait_for(GSN_LOCAL_TABLE_STATE_CONF, LDMS));
    for (uint32_t i = 0; i < 60; i++) {
        for (uint32_t key = 0; key < KEYS; key++)
            operation(1, key);
        finish();
        save(true);
        if (i % 10u == 9u) checkpoint();
    }
    assert_int_equal(driver()->errors, 0);
    sim_power_cut(t.world, 1, FATES_ALL);
    assert_true(node_restart());
    compare();
    world_drop();
}

/* A table whose creation is taken back has been in a checkpoint, without a row; the same number and
 * version come again with the next try. Its list must not ask for files of the first one. */
static void creation_undone(bool by_crash)
{
    world_make(301, 3, 64u * 1024u);
    assert_true(node_begin(true));
    for (uint32_t round = 0; round < 3; round++) {
        table_create(1);
        checkpoint();
        if (by_crash) {
            t.table[1].exists = false; /* It did not come to the schema files. */
            sim_power_cut(t.world, 1, FATES_ALL);
            assert_true(node_restart());
        } else {
            table_drop(1);
        }
        t.table[1].version--;
    }
    table_create(1);
    for (uint32_t key = 0; key < KEYS; key++)
        operation(1, key);
    save(true);
    sim_power_cut(t.world, 1, FATES_ALL);
    assert_true(node_restart());
    compare();
    checkpoint(); /* Now it has rows. */
    sim_power_cut(t.world, 1, FATES_ALL);
    assert_true(node_restart());
    compare();
    world_drop();
}

static void test_creation_undone(void **state)
{
    (void)state;
    creation_undone(true);
    creation_undone(false);
}

/* A round began in a GCI of the second one that is not durable, and had nothing to wait for. The
 * restart goes back behind both, and its first GCI is older than the tail. */
static void test_round_ahead_of_the_restart(void **state)
{
    (void)state;
    world_make(302, 3, 64u * 1024u);
    assert_true(node_begin(true));
    table_create(1);
    for (uint32_t key = 0; key < KEYS; key++)
        operation(1, key);
    save(true);
    save(true);
    t.gci = t.saved + 2u; /* Nothing came to the log in the GCI before. */
    checkpoint();
    sim_power_cut(t.world, 1, FATES_ALL);
    assert_true(node_restart());
    compare();
    for (uint32_t key = 0; key < KEYS; key++)
        operation(1, key);
    save(true);
    sim_power_cut(t.world, 1, FATES_ALL);
    assert_true(node_restart());
    compare();
    world_drop();
}

/* Restarts with one file lost or damaged. Reported with its name, or everything is there all the
 * same. */
static bool without(const char *name, bool lost)
{
    const struct sim_exit *last;
    const uint8_t *bytes;
    uint8_t good = 0;
    if (!sim_disk_exists(t.disk, name)) return false;
    if (lost) {
        sim_disk_fail(t.disk, IO_OPEN, name, IO_MISSING, 0, 1000);
    } else if (sim_disk_content(t.disk, name, true, &bytes) > 200) {
        good = bytes[200];
        assert_true(sim_disk_poke(t.disk, name, 200, good ^ 4u));
    }
    uint32_t ended = t.ended_count;
    assert_true(ended < REDO_ENDED_MAX);
    bool started = node_restart();
    if (started) compare();
    t.ended_count = ended; /* Nothing is written: the start was cut off before it counted. */
    t.incarnation--;
    last = sim_exit_of(t.world, 1);
    if (!started) {
        assert_true(last->code == EXIT_REDO_DAMAGED || last->code == EXIT_LCP_DAMAGED);
        assert_non_null(strstr(last->text, name));
    }
    if (alive()) sim_power_cut(t.world, 1, 0);
    if (!lost) sim_disk_poke(t.disk, name, 200, good);
    sim_disk_calm(t.disk);
    return !started;
}

static void test_lost_files(void **state)
{
    (void)state;
    for (uint32_t rounds = 0; rounds < 4; rounds++) {
        uint32_t reported = 0;
        char name[LCP_NAME_MAX];
        world_make(200 + rounds, 4, 128u * 1024u);
        assert_true(node_begin(true));
        for (uint32_t i = 0; i <= rounds; i++) {
            for (uint32_t n = 0; n < 15; n++) {
                for (uint32_t key = 0; key < KEYS; key++)
                    operation(0, key);
                finish();
            }
            save(true);
            if (i == 0) table_create(1); /* Without a checkpoint, if there is but one. */
            if (i < rounds) checkpoint();
        }
        for (uint32_t key = 0; key < KEYS; key++)
            operation(1, key);
        save(true);
        save(true);
        sim_power_cut(t.world, 1, 0);
        for (uint32_t lost = 0; lost < 2u; lost++) {
            for (uint32_t i = 0; i < 8u; i++) {
                snprintf(name, sizeof name, "REDO/part%u/file%u", i / 4u, i % 4u);
                bool named = without(name, lost != 0);
                if (lost != 0) assert_true(named);
                reported += named ? 1u : 0u;
            }
            for (uint32_t frag = 0; frag < 2u * FRAGS; frag++) {
                uint32_t table = 5u + frag / FRAGS;
                for (uint32_t seq = 1; seq <= rounds; seq++) {
                    lcp_data_name(name, table, frag % FRAGS, seq);
                    reported += without(name, lost != 0) ? 1u : 0u;
                }
                for (uint32_t slot = 0; slot < 2u; slot++) {
                    lcp_ctl_name(name, table, frag % FRAGS, slot);
                    reported += without(name, lost != 0) ? 1u : 0u;
                }
            }
            for (uint32_t slot = 0; slot < 2u * LDMS; slot++) {
                lcp_part_name(name, slot / 2u + 1u, slot % 2u);
                reported += without(name, lost != 0) ? 1u : 0u;
            }
        }
        assert_true(reported > 8u);
        assert_true(node_restart());
        compare();
        world_drop();
    }
}

static void rows_make(bool checkpointed)
{
    for (uint32_t key = 0; key < KEYS; key++)
        operation(0, key);
    finish();
    save(true);
    if (checkpointed) checkpoint();
    save(true);
    sim_power_cut(t.world, 1, 0);
}

/* A life with rows, or with their checkpoint only, and its end. */
static uint32_t leave_rows(bool checkpointed)
{
    world_make(400, 4, 128u * 1024u);
    assert_true(node_begin(true));
    uint32_t empty = arena_usage(node_arena(sim_node(t.world, 1)), RG_DATA).used;
    rows_make(checkpointed);
    return empty;
}

static void assert_stopped(uint32_t code, const char *text)
{
    const struct sim_exit *last = sim_exit_of(t.world, 1);
    assert_false(alive());
    assert_int_equal(last->code, code);
    assert_non_null(strstr(last->text, text));
}

/* Nothing of another cluster's checkpoints is taken, and nothing of them is lost by that. */
static void test_checkpoints_of_another_cluster(void **state)
{
    (void)state;
    leave_rows(true);
    sim_config(t.world, 1)->cluster_id++;
    assert_false(node_restart());
    assert_stopped(EXIT_LCP_FOREIGN, "of another cluster");
    sim_config(t.world, 1)->cluster_id--;
    assert_true(node_restart());
    compare();
    world_drop();
}

/* All begins anew: files, GCIs and rows. */
static void life_begin(void)
{
    assert_true(sim_disk_spoil(t.disk, NULL, SPOIL_GONE, SPOIL_ALL) > 0);
    memset(t.lsn, 0, sizeof t.lsn);
    memset(&t.table[0].value, 0, sizeof t.table[0].value);
    t.ended_count = 0;
    t.saved = 0;
    t.gci = 2;
    t.incarnation = 1;
    t.lcp_id = 0;
    t.life++;
    assert_true(sim_restart(t.world, 1));
    assert_true(node_begin(true));
}

/*
 * Checkpoints of before `--initial` are whole in themselves, and GCIs have begun anew: what came
 * before their tail would be missing. With their lists, while no list of the present life is named
 * (DIH finds all right here); or with the lists of the present life, which name the same numbers.
 */
static void test_checkpoints_of_a_former_life(void **state)
{
    (void)state;
    for (uint32_t own_lists = 0; own_lists < 2u; own_lists++) {
        leave_rows(true);
        struct sim_disk *former = sim_disk_clone(t.disk);
        life_begin();
        rows_make(own_lists != 0);
        struct sim_disk *present = sim_disk_clone(t.disk);
        assert_true(sim_disk_spoil(t.disk, former, SPOIL_OLDER, SPOIL_LCP) > 0);
        if (own_lists != 0)
            assert_true(sim_disk_spoil(t.disk, present, SPOIL_OLDER, SPOIL_LISTS) > 0);
        assert_false(node_restart());
        assert_stopped(EXIT_LCP_DAMAGED, "belongs to a former life of this node");
        assert_stopped(EXIT_LCP_DAMAGED, own_lists != 0 ? "LCP/T5F" : "LCP/part");
        assert_true(sim_disk_spoil(t.disk, present, SPOIL_OLDER, SPOIL_ALL) > 0);
        assert_true(node_restart());
        compare();
        sim_disk_destroy(former);
        sim_disk_destroy(present);
        world_drop();
    }
}

/* Whose lists there are in test_stray_checkpoints(). */
enum stray { STRAY_NO_LIST, STRAY_ONE_LIST, STRAY_ALL_LISTS, STRAY_COUNT };

/* The present life's lists are back, or all but the first one. */
static void lists_put_back(const struct sim_disk *present, const struct sim_disk *other,
                           enum stray lists)
{
    char name[LCP_NAME_MAX];
    const uint8_t *from;
    const uint8_t *to;
    if (lists == STRAY_NO_LIST) return;
    assert_true(sim_disk_spoil(t.disk, present, SPOIL_OLDER, SPOIL_LISTS) > 0);
    if (lists == STRAY_ALL_LISTS) return;
    lcp_part_name(name, 1, 0);
    uint64_t size = sim_disk_content(other, name, true, &from);
    assert_int_equal(sim_disk_content(t.disk, name, true, &to), size);
    for (uint64_t at = 0; at < size; at++)
        assert_true(sim_disk_poke(t.disk, name, at, from[at]));
}

/*
 * A checkpoint of another cluster beside a list of the node's own is a stray file: it is in the
 * place of one of the node's, as a damaged one is. Where all lists are of another one, so is all.
 */
static void test_stray_checkpoints(void **state)
{
    (void)state;
    for (uint32_t lists = STRAY_NO_LIST; lists < STRAY_COUNT; lists++) {
        leave_rows(true);
        sim_config(t.world, 1)->cluster_id++;
        life_begin();
        rows_make(true);
        struct sim_disk *other = sim_disk_clone(t.disk);
        sim_config(t.world, 1)->cluster_id--;
        life_begin();
        rows_make(true);
        struct sim_disk *present = sim_disk_clone(t.disk);
        uint32_t code = lists == STRAY_NO_LIST ? EXIT_LCP_FOREIGN : EXIT_LCP_DAMAGED;
        assert_true(sim_disk_spoil(t.disk, other, SPOIL_OLDER, SPOIL_LCP) > 0);
        lists_put_back(present, other, lists);
        assert_false(node_restart());
        assert_stopped(code, "of another cluster");
        assert_stopped(code, lists == STRAY_ALL_LISTS ? "LCP/T5F" : "LCP/part");
        assert_true(sim_disk_spoil(t.disk, present, SPOIL_OLDER, SPOIL_ALL) > 0);
        assert_true(node_restart());
        compare();
        sim_disk_destroy(other);
        sim_disk_destroy(present);
        world_drop();
    }
}

/* Files of another number or size, all of them, are another configuration and no damage: the node
 * names both, and comes back when the parameters are set back. */
static void test_logs_of_another_shape(void **state)
{
    (void)state;
    static const uint32_t shapes[][2] = {{4, 256}, {4, 64}, {6, 128}, {3, 128}, {5, 512}, {3, 32}};
    leave_rows(true);
    struct node_config *config = sim_config(t.world, 1);
    for (uint32_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        char now[64];
        uint32_t ended = t.ended_count;
        config->redo_files = shapes[i][0];
        config->redo_file_bytes = shapes[i][1] * 1024u;
        snprintf(now, sizeof now, "the configuration has %u and %uK. Nothing is damaged: set",
                 shapes[i][0], shapes[i][1]);
        assert_false(node_restart());
        assert_stopped(EXIT_REDO_SHAPE, "NoOfFragmentLogFiles=4 and FragmentLogFileSize=128K");
        assert_stopped(EXIT_REDO_SHAPE, now);
        t.ended_count = ended; /* Nothing is written. */
        t.incarnation--;
    }
    config->redo_files = 4;
    config->redo_file_bytes = 128u * 1024u;
    assert_true(node_restart());
    compare();
    world_drop();
}

/* Less memory than the rows need: the node says so, reading checkpoints or the log, and comes back
 * when it has the memory again. */
static void test_no_memory_for_the_rows(void **state)
{
    (void)state;
    for (uint32_t checkpointed = 0; checkpointed < 2u; checkpointed++) {
        uint32_t empty = leave_rows(checkpointed != 0);
        uint32_t *most = &sim_config(t.world, 1)->memory.pages_max[RG_DATA];
        uint32_t enough = *most;
        *most = empty + 1u;
        assert_false(node_restart());
        assert_stopped(EXIT_RECOVER_MEMORY, checkpointed != 0 ? "T5F" : "REDO/part");
        *most = enough;
        assert_true(node_restart());
        compare();
        world_drop();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power_cuts),
        cmocka_unit_test(test_tiny_log),
        cmocka_unit_test(test_drop_undone),
        cmocka_unit_test(test_creation_undone),
        cmocka_unit_test(test_round_ahead_of_the_restart),
        cmocka_unit_test(test_lost_files),
        cmocka_unit_test(test_checkpoints_of_another_cluster),
        cmocka_unit_test(test_checkpoints_of_a_former_life),
        cmocka_unit_test(test_stray_checkpoints),
        cmocka_unit_test(test_logs_of_another_shape),
        cmocka_unit_test(test_no_memory_for_the_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
