/* test_lqh_redo.c -- one LQH with its redo log on the simulated disk: power cuts, full log, failing
 * disk, damaged files. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "blocks/dblqh/redo/lqh_redo.h"
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/schema/lqh_table.h"
#include "blocks/ndbfs/fs_block.h"
#include "kernel/sim/sim_world.h"
#include "signals/gcp.h"
#include "signals/local_table.h"
#include "signals/lqhkey.h"
#include "signals/start.h"
#include "values/errors.h"
#include "values/key.h"
#include "values/attr.h"
#include "signals/gcp_local.h"
#include "tests/unit/support/kvt_table.h"

#define KEYS     64u
#define ALIVE    0x10000u /* In row values: there is a row. */
#define TABLE    7u
#define PAIR_MAX 64u

/* The driver stands for TC, DIH, DICT and NDBCNTR. */
struct driver {
    struct block block;
    uint32_t answers[512]; /* Answers that came, by GSN. */
    uint32_t errors;
    uint32_t last_error;
    uint32_t no_memory; /* ERR_REDO_BUFFER_FULL answers that came. */
    bool holds;         /* Sends no COMMIT. */
    uint32_t open;      /* Operations under way. */
    uint32_t saves;
    uint32_t busy[KEYS];
    uint32_t next_value[KEYS];
    struct redo_status_conf status;
    struct redo_start_conf start;
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
    uint32_t value[KEYS];        /* Committed. */
    uint32_t value_saving[KEYS]; /* When the save began. */
    uint32_t value_saved[KEYS];
    uint32_t serial;
    uint32_t ended[2 * REDO_ENDED_MAX];
    uint32_t ended_count;
} t;

static struct driver *driver_of(struct block *block)
{
    return (struct driver *)(void *)block;
}

static void exec_count(struct block *block, const struct signal *sig)
{
    driver_of(block)->answers[sig->gsn]++;
    if (sig->gsn == GSN_REDO_STATUS_CONF)
        driver_of(block)->status = *SIG_PAYLOAD(sig, redo_status_conf);
    if (sig->gsn == GSN_REDO_START_CONF)
        driver_of(block)->start = *SIG_PAYLOAD(sig, redo_start_conf);
    if (sig->gsn == GSN_GCP_SAVECONF) {
        t.saved = SIG_PAYLOAD(sig, gcp_saveconf)->gci;
        memcpy(t.value_saved, t.value_saving, sizeof t.value);
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
    driver_of(block)->answers[sig->gsn]++;
    if (driver_of(block)->holds) return;
    t.value[conf->tc_op - 1u] =
        driver_of(block)->next_value[conf->tc_op - 1u]; /* COMMIT never fails. */
    signal_send(block, sig->sender, GSN_COMMIT, PRIO_B, &commit, sizeof commit / 4u, &section, 1);
}

static void exec_refused(struct block *block, const struct signal *sig)
{
    const struct lqhkeyref *ref = SIG_PAYLOAD(sig, lqhkeyref);
    struct driver *driver = driver_of(block);
    driver->busy[ref->tc_op - 1u] = 0;
    driver->open--;
    driver->errors++;
    driver->last_error = ref->error;
    driver->no_memory += ref->error == ERR_REDO_BUFFER_FULL;
}

static void exec_committed(struct block *block, const struct signal *sig)
{
    struct driver *driver = driver_of(block);
    for (uint32_t at = 0; at < sig->section[0].size; at += TRAIN_ENTRY_WORDS) {
        driver->busy[sig->section[0].words[at + 1u] - 1u] = 0;
        driver->open--;
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
    COUNTED(REDO_OPEN_CONF, redo_open_conf),
    COUNTED(REDO_START_CONF, redo_start_conf),
    COUNTED(REDO_STATUS_CONF, redo_status_conf),
    COUNTED(GCP_SAVECONF, gcp_saveconf),
};
static const struct block_type driver_type = {"DRIVER", BLOCK_DBTC, handlers,
                                              sizeof handlers / sizeof handlers[0], NULL};

/* DIH hears that operations are held back. */
static void exec_hint(struct block *block, const struct signal *sig)
{
    (void)block;
    assert_int_equal(SIG_PAYLOAD(sig, redo_status_conf)->sender_data, REDO_STATUS_HINT);
}
static const struct handler dih_handlers[] = {
    COUNTED_BY(REDO_STATUS_CONF, redo_status_conf, exec_hint)};
static const struct block_type dih_type = {"DIH", BLOCK_DBDIH, dih_handlers, 1, NULL};

static void build(struct node *node)
{
    static const uint32_t blocks[] = {BLOCK_NDBFS, BLOCK_DBACC, BLOCK_DBTUP, BLOCK_DBLQH};
    struct thread *thread = node_thread(node, 0);
    struct read_config_req req = {.sender_data = 1};
    uint32_t tick = 1;
    fs_create(thread, 0);
    acc_create(thread, 1);
    tup_create(thread, 1);
    lqh_create(thread, 1);
    block_create(thread, &dih_type, 0, sizeof(struct block));
    struct block *block = block_create(thread, &driver_type, 1, sizeof(struct driver));
    for (uint32_t i = 0; i < 4; i++)
        sig_send(block, block_ref(1, blocks[i], blocks[i] == BLOCK_NDBFS ? 0 : 1),
                 GSN_READ_CONFIG_REQ, PRIO_B, &req);
    signal_send_delayed(block, block->ref, GSN_CONTINUEB, PRIO_B, &tick, 1, 1);
}

static bool announced(void *context, uint32_t node, const struct node_failure *failure)
{
    (void)context;
    (void)node;
    return failure->exit_code == EXIT_REDO_DAMAGED || failure->exit_code == EXIT_REDO_IO ||
           failure->exit_code == EXIT_REDO_FOREIGN;
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
    t.def = kvt_table(TABLE, 1, 1, TABLE_FLAGS_DEFAULT);
    t.gci = 2;
    t.incarnation = 1;
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
    for (uint32_t i = 0; i < 20000 && alive(); i++) {
        if (driver()->answers[gsn] >= count) return true;
        run_us(200);
    }
    assert_false(alive());
    return false;
}

static uint32_t lqh_ref(void)
{
    return block_ref(1, BLOCK_DBLQH, 1);
}

/* From power on to the first operation. False: the node has stopped. */
static bool node_begin(bool create)
{
    static uint32_t words[4096];
    static const uint32_t distribution[] = {1, 1, HASH_MAP_BUCKETS, 1};
    static uint32_t all[4 + HASH_MAP_BUCKETS / 2];
    memcpy(all, distribution, sizeof distribution);
    if (!wait_for(GSN_READ_CONFIG_CONF, 4)) return false;
    struct redo_open_req open = {.create = create};
    sig_send(&driver()->block, lqh_ref(), GSN_REDO_OPEN_REQ, PRIO_B, &open);
    if (!wait_for(GSN_REDO_OPEN_CONF, 1)) return false;
    const struct lqh *lqh = lqh_of(node_block(sim_node(t.world, 1), BLOCK_DBLQH, 1));
    if (create) assert_int_equal(lqh->redo->log.config.life, 1); /* The order has 0: none. */
    struct local_table_add_req add = {.table_id = TABLE, .version = 1};
    const struct section sections[2] = {{words, table_def_encode(t.def, words, 4096)},
                                        {all, 4 + HASH_MAP_BUCKETS / 2}};
    signal_send(&driver()->block, lqh_ref(), GSN_LOCAL_TABLE_ADD_REQ, PRIO_B, &add, 3, sections, 2);
    if (!wait_for(GSN_LOCAL_TABLE_ADD_CONF, 1)) return false;
    struct redo_start_req start = {.restart_gci = t.saved, .incarnation = t.incarnation};
    const struct section ended = {t.ended, t.ended_count * 2u};
    signal_send(&driver()->block, lqh_ref(), GSN_REDO_START_REQ, PRIO_B, &start, sizeof start / 4u,
                &ended, 1);
    return wait_for(GSN_REDO_START_CONF, 1);
}

static bool node_restart(void)
{
    t.ended[2u * t.ended_count] = t.incarnation++;
    t.ended[2u * t.ended_count++ + 1u] = t.saved;
    t.gci = t.saved + 1u;
    memcpy(t.value, t.value_saved, sizeof t.value);
    assert_true(sim_restart(t.world, 1));
    return node_begin(false);
}

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

static void request(uint32_t key, uint32_t request_info, const struct section *attr)
{
    struct driver *me = driver();
    struct lqhkeyreq req = {.tc_op = key + 1u,
                            .request_info = request_info,
                            .table_id = TABLE,
                            .schema_version = 1,
                            .hash = (uint32_t)key_hash(t.def, &key, 1),
                            .transid1 = t.serial,
                            .tc_ref = me->block.ref,
                            .row_page = ROW_NOT_CHOSEN,
                            .row_slot = ROW_NOT_CHOSEN,
                            .tc_trans = t.serial};
    const struct section sections[2] = {{&key, 1}, *attr};
    me->busy[key] = 1;
    me->open++;
    signal_send(&me->block, lqh_ref(), GSN_LQHKEYREQ, PRIO_B, &req, sizeof req / 4u, sections,
                attr->size == 0 ? 1 : 2);
}

static void operation(uint32_t key)
{
    struct driver *me = driver();
    uint32_t attr[PAIR_MAX];
    if (me->busy[key]) return;
    bool remove = t.value[key] != 0 && rng_below(&t.rng, 4) == 0;
    uint32_t value = ALIVE + ++t.serial;
    me->next_value[key] = remove ? 0 : value;
    request(key, remove ? OP_DELETE : OP_WRITE,
            &(struct section){attr, remove ? 0 : value_words(value, attr)});
}

static void finish(void)
{
    for (uint32_t i = 0; i < 20000 && alive() && driver()->open > 0; i++)
        run_us(200);
}

/* As DIH does it: everything of the GCI has been committed; then it is saved. */
static void save(bool wait)
{
    finish();
    if (!alive() || !wait_for(GSN_GCP_SAVECONF, driver()->saves))
        return; /* One after the other, as DIH. */
    struct gcp_savereq req = {.gci = t.gci++};
    memcpy(t.value_saving, t.value, sizeof t.value);
    driver()->saves++;
    sig_send(&driver()->block, lqh_ref(), GSN_GCP_SAVEREQ, PRIO_A, &req);
    if (wait) wait_for(GSN_GCP_SAVECONF, driver()->saves);
}

static uint32_t read_value(uint32_t key)
{
    struct node *node = sim_node(t.world, 1);
    struct lqh *lqh = lqh_of(node_block(node, BLOCK_DBLQH, 1));
    struct tup_frag *frag = tup_frag_get(lqh->tup, lqh->table[TABLE]->frags[0]);
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
    for (uint32_t key = 0; key < KEYS; key++)
        assert_int_equal(read_value(key), t.value[key]);
}

static void work(uint32_t rounds)
{
    for (uint32_t i = 0; i < rounds && alive(); i++) {
        for (uint32_t n = (uint32_t)rng_below(&t.rng, 20); n > 0; n--)
            operation((uint32_t)rng_below(&t.rng, KEYS));
        run_us(rng_below(&t.rng, 300));
        if (alive() && rng_below(&t.rng, 4) == 0) save(rng_below(&t.rng, 2) != 0);
    }
}

static void test_power_cuts(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 12; seed++) {
        world_make(seed, 8, 256u * 1024u);
        assert_true(node_begin(true));
        for (uint32_t life = 0; life < 5; life++) {
            if (life % 2u != 0) sim_power_cut_at(t.world, 1, 1u + rng_below(&t.rng, 20));
            work((uint32_t)rng_below(&t.rng, 30));
            if (alive()) sim_power_cut(t.world, 1, FATES_ALL);
            sim_power_cut_at(t.world, 1, 0);
            assert_true(node_restart());
            compare();
        }
        world_drop();
    }
}

static void test_full_log_refuses_and_recovers(void **state)
{
    (void)state;
    uint32_t refused = 0;
    uint32_t delayed = 0;
    world_make(3, 3, 64u * 1024u);
    assert_true(node_begin(true));
    for (uint32_t i = 0; i < 1200 && refused == 0; i++) {
        for (uint32_t key = 0; key < KEYS; key++)
            operation(key);
        run_us(100);
        struct redo_status_req req = {.sender_data = 1};
        sig_send(&driver()->block, lqh_ref(), GSN_REDO_STATUS_REQ, PRIO_B, &req);
        run_us(100);
        delayed += driver()->status.delayed;
        save(true);
        refused = driver()->errors;
    }
    assert_true(refused > 0 && delayed > 0);
    assert_int_equal(driver()->last_error, ERR_REDO_FULL);
    compare();
    struct redo_tail_ord ord = {.gci = t.gci};
    sig_send(&driver()->block, lqh_ref(), GSN_REDO_TAIL_ORD, PRIO_B, &ord);
    run_us(1000);
    uint32_t errors = driver()->errors;
    for (uint32_t key = 0; key < KEYS; key++)
        operation(key);
    finish();
    assert_int_equal(driver()->errors, errors);
    save(true);
    compare();
    world_drop();
}

/* What is prepared fills the memory and is not committed. All that have waited for the deadlock
 * timeout are refused at once, though a read stands before each of them. */
static void test_waits_for_memory_end_together(void **state)
{
    static const uint32_t column = 1u << 16;
    (void)state;
    world_make(4, 8, 256u * 1024u);
    assert_true(node_begin(true));
    struct redo_log *log = &lqh_of(node_block(sim_node(t.world, 1), BLOCK_DBLQH, 1))->redo->log;
    uint32_t prepared = 0;
    for (; redo_room(log, 1) != REDO_WAIT; prepared++)
        redo_reserve(log, 1);
    for (uint32_t key = 0; key < KEYS; key++) {
        if (key % 2u == 0)
            operation(key);
        else /* There is no such row. */
            request(key, key_request_info(OP_READ, LOCK_SHARED, 0), &(struct section){&column, 1});
    }
    uint32_t timeout_us = block_config(&driver()->block)->deadlock_timeout_ms * 1000u;
    run_us(timeout_us / 2u);
    assert_int_equal(driver()->open, KEYS); /* They wait, in one queue. */
    run_us(timeout_us);
    assert_int_equal(driver()->open, 0);
    assert_int_equal(driver()->errors, KEYS);
    assert_int_equal(driver()->no_memory, KEYS / 2u);
    while (prepared-- > 0)
        redo_release(log, 1);
    for (uint32_t key = 0; key < KEYS; key++)
        operation(key);
    finish();
    assert_int_equal(driver()->errors, KEYS);
    compare();
    world_drop();
}

/* A transaction whose changes need more than all memory of the log is refused for good, and at
 * once. */
static void test_too_much_for_the_log(void **state)
{
    uint32_t attr[PAIR_MAX];
    (void)state;
    world_make(6, 8, 256u * 1024u);
    assert_true(node_begin(true));
    t.serial++;
    uint32_t refused = 0;
    uint32_t sent = 0;
    driver()->holds = true; /* What is prepared is not committed. */
    for (; refused == 0 && sent < 20000; sent++) {
        uint32_t key = sent % KEYS;
        request(key, OP_WRITE, &(struct section){attr, value_words(ALIVE + 149u, attr)});
        if (sent % 16u == 15u) run_us(100);
        refused = driver()->errors;
    }
    assert_int_equal(driver()->last_error, ERR_TRANSACTION_TOO_BIG);
    assert_in_range(sent, 500, 3000); /* Long before the operation records are used up. */
    assert_int_equal(driver()->no_memory, 0);
    sim_kill(t.world, 1);
    world_drop();
}

/* ENOSPC while files are made, EIO while they are read, written, synced: the node stops, and names
 * file and error. */
static void test_failing_disk_stops_the_node(void **state)
{
    (void)state;
    static const struct {
        enum io_op op;
        enum io_error error;
        const char *text;
    } cases[] = {
        {IO_PREALLOCATE, IO_FULL, "getting room"},
        {IO_OPEN, IO_DENIED, "open"},
        {IO_WRITE, IO_DEVICE, "write"},
        {IO_READ, IO_DEVICE, "read"},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        world_make(20 + i, 4, 128u * 1024u);
        sim_disk_fail(t.disk, cases[i].op, "REDO/", cases[i].error, 2, 1);
        if (node_begin(true)) {
            work(400);
            if (alive()) sim_kill(t.world, 1);
            if (cases[i].op == IO_READ) assert_false(node_restart());
        }
        const struct sim_exit *last = sim_exit_of(t.world, 1);
        assert_int_equal(last->code, EXIT_REDO_IO);
        assert_non_null(strstr(last->text, "REDO/part0/file"));
        assert_non_null(strstr(last->text, cases[i].text));
        world_drop();
    }
}

static void test_damaged_file_stops_the_node(void **state)
{
    (void)state;
    world_make(5, 4, 128u * 1024u);
    assert_true(node_begin(true));
    work(20);
    save(true);
    save(true);
    save(true); /* The last page is proved. */
    run_us(100000);
    sim_kill(t.world, 1);
    assert_true(sim_disk_rot(t.disk, "REDO/part0/file0", 200));
    assert_false(node_restart());
    const struct sim_exit *last = sim_exit_of(t.world, 1);
    assert_int_equal(last->code, EXIT_REDO_DAMAGED);
    assert_non_null(strstr(last->text, "REDO/part0/file0, offset 0: checksum"));
    world_drop();
}

/* Nanoseconds of the hook in COMMIT; printed, never judged. */
static void test_cost_of_a_record(void **state)
{
    (void)state;
    static uint32_t pairs[26];
    struct timespec from;
    struct timespec to;
    world_make(1, 16, 16u * 1024u * 1024u);
    assert_true(node_begin(true));
    struct lqh *lqh = lqh_of(node_block(sim_node(t.world, 1), BLOCK_DBLQH, 1));
    struct redo_log *log = &lqh->redo->log;
    const struct redo_record record = {
        .kind = REDO_UPDATE, .gci_hi = 5, .pair_words = 26, .pairs = pairs};
    pairs[0] = attr_header(1, 100);
    uint32_t count = 0;
    double ns = 0;
    for (uint32_t lap = 0; lap < 200; lap++) {
        uint64_t target;
        clock_gettime(CLOCK_MONOTONIC, &from);
        for (uint32_t i = 0; i < 1000; i++)
            count += redo_append(log, &record);
        clock_gettime(CLOCK_MONOTONIC, &to);
        if (lap > 0)
            ns += (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
        target = redo_save(log);
        for (uint32_t i = 0; i < 1000 && redo_durable(log) < target; i++)
            run_us(500);
    }
    assert_int_equal(count, 200000);
    print_message("a record of 100 bytes: %.1f ns, sealing and write requests included; %.1f bytes "
                  "on disk each\n",
                  ns / 199000.0, (double)log->bytes_written / count);
    sim_kill(t.world, 1);
    world_drop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power_cuts),
        cmocka_unit_test(test_full_log_refuses_and_recovers),
        cmocka_unit_test(test_waits_for_memory_end_together),
        cmocka_unit_test(test_too_much_for_the_log),
        cmocka_unit_test(test_failing_disk_stops_the_node),
        cmocka_unit_test(test_damaged_file_stops_the_node),
        cmocka_unit_test(test_cost_of_a_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
