/* test_lcp_block.c -- LCPWRITER and LCPREADER in a node with a simulated disk: rounds, power cuts,
 * errors, damage. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/tup_fixture.h"
#include "blocks/lcpwriter/lcpw.h"
#include "blocks/dblqh/lqh_frags.h"
#include "blocks/ndbfs/fs_block.h"
#include "blocks/ndbfs/fs_client.h"
#include "blocks/lcpreader/lcpr.h"
#include "formats/sysfile_format.h"
#include "kernel/sim/sim_world.h"
#include "signals/lcp.h"
#include "signals/redo.h"
#include "signals/start.h"

#define FRAGS      3u /* Fragments of table 5, the second of another instance's: numbers 0, 2, 4. */
#define KEYS       400u
#define WIDE       600u
#define ROW_BUFFER 512u
#define TABLE      5u

/* LQH as its neighbours see it, and whoever asks. */
struct fake {
    struct block block;
    bool there; /* The table. */
    uint32_t version;
    uint32_t tup_table;
    uint32_t tup_frag[FRAGS];
    uint32_t tail;
    uint32_t answers;
    struct lcp_part_conf part;
    struct lcp_usable_conf usable;
    uint32_t found;
    uint32_t start_gci;
    struct restore_frag_ref ref;
    char ref_name[FS_NAME_BYTES + 1];
    uint32_t removed;
};

static struct table_def *def;

static struct fake *fake_of(const struct block *block)
{
    return (struct fake *)(uintptr_t)block;
}

bool lqh_frag_get(const struct block *lqh, uint32_t table_id, uint32_t fragment_id,
                  struct lqh_frag *frag)
{
    const struct fake *fake = fake_of(lqh);
    if (!fake->there || table_id != TABLE || fragment_id % 2u != 0 || fragment_id / 2u >= FRAGS)
        return false;
    *frag = (struct lqh_frag){.table_id = table_id,
                              .version = fake->version,
                              .fragment_id = fragment_id,
                              .tup_frag = fake->tup_frag[fragment_id / 2u],
                              .key_def = def};
    return true;
}

/* The log is as old as its checkpoints, or it is another one. */
static uint32_t log_life = 0x123456u;

bool lqh_log_life(const struct block *lqh, uint32_t *life)
{
    (void)lqh;
    *life = log_life;
    return true;
}

enum lqh_frag_step lqh_frag_next(const struct block *lqh, struct lqh_frag_position *position,
                                 struct lqh_frag *frag)
{
    if (position->table_id < TABLE) *position = (struct lqh_frag_position){.table_id = TABLE};
    while (position->fragment_id < 2u * FRAGS) {
        if (lqh_frag_get(lqh, position->table_id, position->fragment_id++, frag))
            return LQH_FRAG_FOUND;
    }
    return LQH_FRAG_END;
}

static void exec_nothing(struct block *block, const struct signal *sig)
{
    (void)block;
    (void)sig;
}

/* Keeps the thread running, so that it sees what the test sends from outside. */
static void exec_tick(struct block *block, const struct signal *sig)
{
    signal_send_delayed(block, block->ref, GSN_CONTINUEB, PRIO_B, sig->payload, 1, 1);
}

static void exec_tail(struct block *block, const struct signal *sig)
{
    fake_of(block)->tail = SIG_PAYLOAD(sig, redo_tail_ord)->gci;
}

static void exec_status(struct block *block, const struct signal *sig)
{
    struct redo_status_conf conf = {.fill = 60};
    sig_send(block, sig->sender, GSN_REDO_STATUS_CONF, PRIO_B, &conf);
}

static void exec_answer(struct block *block, const struct signal *sig)
{
    struct fake *fake = fake_of(block);
    fake->answers++;
    switch (sig->gsn) {
    case GSN_LCP_PART_CONF:
        fake->part = *SIG_PAYLOAD(sig, lcp_part_conf);
        break;
    case GSN_LCP_USABLE_CONF:
        fake->usable = *SIG_PAYLOAD(sig, lcp_usable_conf);
        break;
    case GSN_RESTORE_FRAG_CONF:
        fake->found = SIG_PAYLOAD(sig, restore_frag_conf)->found;
        fake->start_gci = SIG_PAYLOAD(sig, restore_frag_conf)->start_gci;
        break;
    case GSN_RESTORE_FRAG_REF:
        fake->ref = *SIG_PAYLOAD(sig, restore_frag_ref);
        fs_ref_name(sig, fake->ref_name);
        break;
    default:
        fake->removed = SIG_PAYLOAD(sig, restore_end_conf)->removed;
        break;
    }
}

#define FAKE(name, type, exec)                                                                     \
    {                                                                                              \
        GSN_##name, sizeof(struct type) / 4u, 0, 1, FROM_SELF, exec                                \
    }
static const struct handler handlers[] = {
    FAKE(READ_CONFIG_CONF, read_config_conf, exec_nothing),
    {GSN_CONTINUEB, 1, 0, 0, FROM_SELF, exec_tick},
    FAKE(REDO_TAIL_ORD, redo_tail_ord, exec_tail),
    FAKE(REDO_STATUS_REQ, redo_status_req, exec_status),
    FAKE(LCP_PART_CONF, lcp_part_conf, exec_answer),
    FAKE(LCP_USABLE_CONF, lcp_usable_conf, exec_answer),
    FAKE(RESTORE_FRAG_CONF, restore_frag_conf, exec_answer),
    FAKE(RESTORE_FRAG_REF, restore_frag_ref, exec_answer),
    FAKE(RESTORE_END_CONF, restore_end_conf, exec_answer),
};
static const struct block_type fake_type = {"DBLQH", BLOCK_DBLQH, handlers,
                                            sizeof handlers / sizeof handlers[0], NULL};

/* --- DIH: which list must be there. What a test says in `named`, or any. --- */

static struct sysfile named;

static void exec_list(struct block *block, const struct signal *sig)
{
    const struct lcp_list_req *req = SIG_PAYLOAD(sig, lcp_list_req);
    struct sysfile_list list = {.number = req->number, .check = req->check};
    struct lcp_list_conf conf = {.number = named.list[0].number};
    conf.verdict = sysfile_list_judge(&named, 0, &list, req->before);
    sig_send(block, sig->sender, GSN_LCP_LIST_CONF, PRIO_B, &conf);
}

static const struct handler dih_handlers[] = {FAKE(LCP_LIST_REQ, lcp_list_req, exec_list)};
static const struct block_type dih_type = {"DBDIH", BLOCK_DBDIH, dih_handlers, 1, NULL};

static void build(struct node *node)
{
    struct thread *thread = node_thread(node, 0);
    struct read_config_req req = {.sender_data = 1};
    static const uint32_t order[] = {BLOCK_NDBFS, BLOCK_DBTUP, BLOCK_DBACC, BLOCK_LCPWRITER,
                                     BLOCK_LCPREADER};
    fs_create(thread, 0);
    tup_create(thread, 1);
    acc_create(thread, 1);
    struct block *lqh = block_create(thread, &fake_type, 1, sizeof(struct fake));
    block_create(thread, &dih_type, 0, sizeof(struct block));
    lcpw_create(thread, 1);
    lcpr_create(thread, 1);
    uint32_t tick = 1;
    signal_send_delayed(lqh, lqh->ref, GSN_CONTINUEB, PRIO_B, &tick, 1, 1);
    for (uint32_t i = 0; i < sizeof order / sizeof order[0]; i++)
        sig_send(lqh, block_ref(1, order[i], order[i] == BLOCK_NDBFS ? 0 : 1), GSN_READ_CONFIG_REQ,
                 PRIO_B, &req);
}

static bool expect_stop;
static bool stop_announced(void *context, uint32_t node, const struct node_failure *failure)
{
    (void)context;
    (void)node;
    (void)failure;
    return expect_stop;
}

/* --- The rig: a node, the log of changes, what the rows should be. --- */

struct log_entry {
    enum tup_change_kind kind;
    uint32_t frag;
    uint32_t row;
    uint32_t gci;
    uint32_t words;
    uint32_t *pairs;
};

static struct sim_world *world;
static struct rng rng;
static struct log_entry *entries;
static uint32_t entry_count;
static uint32_t entry_max;
static uint32_t gci;
static uint32_t lcp_id, copied;

static struct fake *fake(void)
{
    return fake_of(node_block(sim_node(world, 1), BLOCK_DBLQH, 1));
}

static struct tup *tup(void)
{
    return (struct tup *)(void *)node_block(sim_node(world, 1), BLOCK_DBTUP, 1);
}

static struct acc *acc(void)
{
    return (struct acc *)(void *)node_block(sim_node(world, 1), BLOCK_DBACC, 1);
}

static void run(uint64_t us)
{
    sim_run_until(world, NULL, NULL, sim_now_us(world) + us);
    assert_string_equal(sim_failure_text(world), "");
}

static void table_make(uint32_t version)
{
    struct fake *lqh = fake();
    run(1000);
    assert_int_equal(tup_table_create(tup(), def, &lqh->tup_table), 0);
    for (uint32_t i = 0; i < FRAGS; i++)
        assert_int_equal(tup_frag_create(tup(), lqh->tup_table, 2u * i, &lqh->tup_frag[i]), 0);
    lqh->version = version;
    lqh->there = true;
}

/* LQH drops the table right before LCPWRITER has the next answer of this kind: that a file was not
 * opened, or that one is gone. 0: it does not. */
static uint32_t drop_at;
static uint32_t drop_after; /* Which of these answers it is, from 1. */

static void drop_at_answer(uint32_t gsn, uint32_t which)
{
    drop_at = gsn;
    drop_after = which;
}

static void observe(void *context, uint32_t node, uint32_t thread, const uint32_t *words)
{
    (void)context;
    (void)node;
    (void)thread;
    if (drop_at == 0 || kind_gsn(words[0]) != drop_at || --drop_after > 0) return;
    drop_at = 0;
    lcpw_table_dropped(node_block(sim_node(world, 1), BLOCK_LCPWRITER, 1), TABLE);
    fake()->there = false;
    while (!tup_table_drop_step(tup(), fake()->tup_table)) {
    }
}

static void rig_start(uint64_t seed)
{
    struct sim_options options;
    struct node_config config;
    memset(&config, 0, sizeof config);
    rng_seed(&rng, seed);
    sim_options_defaults(&options);
    options.seed = seed;
    options.gsn_name = NULL;
    options.announced = stop_announced;
    options.observe = observe;
    options.cluster_id = 77;
    world = sim_create(&options);
    node_config_defaults(&config);
    config.own_node = 1;
    config.cluster_id = 77;
    config.node[1].type = NODE_DATA;
    config.diskless = 0;
    config.operations_max = 1000;
    struct sim_data_options data = {.config = &config, .build = build};
    sim_add_data(world, &data);
    def = def_start();
    column_add(def, "k", (struct column_format){.type = COLUMN_UNSIGNED, .length = 1},
               COLUMN_PRIMARY_KEY, NULL, 0);
    column_add(def, "b", (struct column_format){.type = COLUMN_BINARY, .length = WIDE}, 0, NULL, 0);
    column_add(def, "w", (struct column_format){.type = COLUMN_VARBINARY, .length = 100},
               COLUMN_NULLABLE, NULL, 0);
    assert_int_equal(table_def_check(def), 0);
    gci = 10;
    lcp_id = 0;
    entry_count = 0;
    table_make(1);
}

static void rig_stop(void)
{
    for (uint32_t i = 0; i < entry_count; i++)
        free(entries[i].pairs);
    entry_count = 0;
    sim_destroy(world);
    free(def);
}

static struct rows_world rows_of(uint32_t index)
{
    struct rows_world rows = {.tup = tup(), .acc = acc(), .def = def};
    rows.frag = tup_frag_get(rows.tup, fake()->tup_frag[index]);
    rows.index = tup_frag_index(rows.frag);
    return rows;
}

static void log_change(struct rows_world *rows, uint32_t index, uint32_t change)
{
    uint32_t pairs[TUP_ROW_WORDS_MAX];
    struct tup_change_pairs found;
    enum tup_change_kind kind =
        tup_change_pairs(rows->tup, change, pairs, TUP_ROW_WORDS_MAX, &found);
    if (kind == TUP_NOTHING) return;
    if (entry_count == entry_max) {
        entry_max = entry_max == 0 ? 1024 : entry_max * 2u;
        entries = realloc(entries, entry_max * sizeof *entries);
        assert_non_null(entries);
    }
    entries[entry_count] = (struct log_entry){.kind = kind,
                                              .frag = index,
                                              .row = found.row,
                                              .gci = gci,
                                              .words = found.words,
                                              .pairs = malloc(found.words * 4u + 4u)};
    memcpy(entries[entry_count++].pairs, pairs, found.words * 4u);
}

static void change_key(uint32_t index, uint32_t key, bool remove)
{
    uint32_t pairs[ROW_BUFFER];
    struct tup_changed changed;
    struct rows_world rows = rows_of(index);
    uint32_t lock = REF_NONE;
    uint32_t at = 0;
    pairs[at++] = attr_header(1, WIDE);
    memset(pairs + at, (int)rng_below(&rng, 256), WIDE);
    at += WIDE / 4u;
    uint32_t size = rng_chance(&rng, 1, 3) ? 0 : 1u + (uint32_t)rng_below(&rng, 100);
    pairs[at++] = attr_header(2, size);
    if (size > 0) {
        memset(pairs + at, 0, words_of(size) * 4u);
        ((uint8_t *)(pairs + at))[0] = (uint8_t)(size - 1u);
        at += words_of(size);
    }
    struct tup_change_req req = request(&rows, 1, &key, 1, pairs, at);
    if (req.row != ROW_NONE)
        assert_int_equal(lock_row(&rows, .trans = 1, .op = 1, .row = req.row,
                                  .mode = LOCK_EXCLUSIVE, .nowait = true, .lock = &lock),
                         0);
    uint32_t error =
        remove ? tup_delete(rows.tup, &req, &changed) : tup_write(rows.tup, &req, &changed);
    if (error != 0) {
        assert_int_equal(error, ERR_ROW_NOT_FOUND);
        return;
    }
    log_change(&rows, index, changed.change);
    tup_commit(rows.tup, changed.change, gci);
    acc_unlock(rows.acc, lock != REF_NONE ? lock : changed.lock);
}

static void change_some(uint32_t count)
{
    for (; count > 0; count--) {
        if (rng_chance(&rng, 1, 20)) gci++;
        change_key((uint32_t)rng_below(&rng, FRAGS - 1u), (uint32_t)rng_below(&rng, KEYS),
                   rng_chance(&rng, 1, 3));
    }
    if (rng_chance(&rng, 1, 10))
        change_key(FRAGS - 1u, (uint32_t)rng_below(&rng, 5), false); /* A quiet one. */
}

/* Until the next answer, with or without changes meanwhile. False: the node is gone. */
static bool wait_answer(uint32_t answers, bool busy)
{
    for (uint32_t i = 0; i < 20000; i++) {
        if (!sim_alive(world, 1)) return false;
        if (fake()->answers != answers) return true;
        run(300);
        if (!sim_alive(world, 1)) return false;
        if (busy && rng_chance(&rng, 1, 3)) change_some(3);
    }
    fail_msg("no answer");
    return false;
}

static bool round_write(bool busy)
{
    struct lcp_part_req req = {.lcp_id = ++lcp_id, .start_gci = gci, .copied = copied};
    uint32_t answers = fake()->answers;
    sig_send(&fake()->block, block_ref(1, BLOCK_LCPWRITER, 1), GSN_LCP_PART_REQ, PRIO_B, &req);
    if (!wait_answer(answers, busy)) return false;
    assert_int_equal(fake()->part.lcp_id, lcp_id);
    assert_true(fake()->part.end_gci <= gci);
    return true;
}

static bool round_usable(bool busy)
{
    struct lcp_usable_req req = {.lcp_id = lcp_id};
    uint32_t answers = fake()->answers;
    sig_send(&fake()->block, block_ref(1, BLOCK_LCPWRITER, 1), GSN_LCP_USABLE_REQ, PRIO_B, &req);
    return wait_answer(answers, busy);
}

static bool checkpoint(bool busy)
{
    return round_write(busy) && round_usable(busy);
}

/* Reads one fragment's checkpoint. 0, or the error. */
static uint32_t restore_one(uint32_t index, uint32_t restart_gci)
{
    struct restore_frag_req req = {.sender_data = 9,
                                   .table_id = TABLE,
                                   .version = fake()->version,
                                   .fragment_id = 2u * index,
                                   .gci = restart_gci};
    uint32_t answers = fake()->answers;
    fake()->ref.error = 0;
    sig_send(&fake()->block, block_ref(1, BLOCK_LCPREADER, 1), GSN_RESTORE_FRAG_REQ, PRIO_B, &req);
    assert_true(wait_answer(answers, false));
    return fake()->ref.error;
}

static uint32_t sweep(void)
{
    struct restore_end_req req = {.sender_data = 9};
    uint32_t answers = fake()->answers;
    sig_send(&fake()->block, block_ref(1, BLOCK_LCPREADER, 1), GSN_RESTORE_END_REQ, PRIO_B, &req);
    assert_true(wait_answer(answers, false));
    return fake()->removed;
}

static void replay(uint32_t index, uint32_t start_gci, uint32_t restart_gci)
{
    struct rows_world rows = rows_of(index);
    for (uint32_t i = 0; i < entry_count; i++) {
        const struct log_entry *entry = &entries[i];
        struct tup_restore_req req = {.frag = rows.frag,
                                      .key_def = def,
                                      .row = entry->row,
                                      .gci = entry->gci,
                                      .attr = entry->pairs,
                                      .attr_words = entry->words};
        if (entry->frag != index || entry->gci < start_gci || entry->gci > restart_gci) continue;
        if (entry->kind == TUP_INSERTED)
            assert_int_equal(tup_restore_put(rows.tup, &req), 0);
        else if (entry->kind == TUP_UPDATED)
            assert_int_equal(tup_restore_update(rows.tup, &req), 0);
        else
            assert_int_equal(tup_restore_delete(rows.tup, &req), 0);
    }
}

/* What the whole log up to a GCI makes: in an arena of its own, row by row as in the fragment. */
static void compare(uint32_t index, uint32_t restart_gci)
{
    struct rows_world model;
    struct rows_world rows = rows_of(index);
    uint32_t left[ROW_BUFFER];
    uint32_t right[ROW_BUFFER];
    uint32_t words[2];
    static const uint32_t all = (uint32_t)ATTR_READ_ALL << 16;
    world_start(&model, 2048, 64);
    uint32_t table;
    assert_int_equal(tup_table_create(model.tup, def, &table), 0);
    assert_int_equal(tup_frag_create(model.tup, table, 0, &model.frag_ref), 0);
    model.frag = tup_frag_get(model.tup, model.frag_ref);
    model.index = tup_frag_index(model.frag);
    for (uint32_t i = 0; i < entry_count; i++) {
        const struct log_entry *entry = &entries[i];
        struct tup_restore_req req = {.frag = model.frag,
                                      .key_def = def,
                                      .row = entry->row,
                                      .gci = entry->gci,
                                      .attr = entry->pairs,
                                      .attr_words = entry->words};
        if (entry->frag != index || entry->gci > restart_gci) continue;
        uint32_t error = entry->kind == TUP_INSERTED  ? tup_restore_put(model.tup, &req)
                         : entry->kind == TUP_UPDATED ? tup_restore_update(model.tup, &req)
                                                      : tup_restore_delete(model.tup, &req);
        assert_int_equal(error, 0);
    }
    model.def = def;
    for (uint32_t key = 0; key < KEYS; key++) {
        uint32_t row = world_find(&model, &key, 1);
        assert_int_equal(row, world_find(&rows, &key, 1));
        if (row == ROW_NONE) continue;
        struct tup_read read = {.frag = model.frag, .row = row, .attr = &all, .attr_words = 1};
        assert_int_equal(tup_read(model.tup, &read, left, ROW_BUFFER, &words[0]), 0);
        read.frag = rows.frag;
        assert_int_equal(tup_read(rows.tup, &read, right, ROW_BUFFER, &words[1]), 0);
        assert_int_equal(words[0], words[1]);
        assert_memory_equal(left, right, words[0] * 4u);
        assert_int_equal(tup_row_gci(model.tup, model.frag, row),
                         tup_row_gci(rows.tup, rows.frag, row));
    }
    model.def = NULL;
    world_stop(&model);
}

static void log_cut(uint32_t restart_gci)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < entry_count; i++) {
        if (entries[i].gci <= restart_gci)
            entries[kept++] = entries[i];
        else
            free(entries[i].pairs);
    }
    entry_count = kept;
}

/* The node starts again at this GCI and must have exactly what was committed up to it. */
static void start_again(uint32_t restart_gci)
{
    assert_true(sim_restart(world, 1));
    log_cut(restart_gci);
    table_make(1);
    for (uint32_t i = 0; i < FRAGS; i++) {
        assert_int_equal(restore_one(i, restart_gci), 0);
        replay(i, fake()->start_gci, restart_gci);
        compare(i, restart_gci);
    }
    sweep();
    assert_int_equal(sweep(), 0);
    gci = restart_gci + 1u;
}

static void test_rounds(void **state)
{
    (void)state;
    rig_start(1);
    change_some(900);
    for (uint32_t i = 0; i < 12; i++) {
        assert_true(checkpoint(true));
        assert_true(fake()->part.failed == 0 && fake()->part.fragments == FRAGS);
        assert_int_equal(fake()->tail, fake()->usable.tail_gci);
        change_some(60);
    }
    assert_true(fake()->tail > 10);
    uint64_t used = sim_disk_used(sim_disk_of(world, 1));
    for (uint32_t i = 0; i < 12; i++) {
        assert_true(checkpoint(true));
        change_some(60);
    }
    assert_true(sim_disk_used(sim_disk_of(world, 1)) < used * 2u); /* Superseded files go. */
    sim_power_cut(world, 1, FATES_ALL);
    start_again(gci);
    assert_true(checkpoint(false));
    rig_stop();
}

/* A quiet cluster writes no rows, only that the log before is not needed. */
static void test_unchanged(void **state)
{
    (void)state;
    rig_start(2);
    change_some(500);
    assert_true(checkpoint(false));
    gci++;
    assert_true(checkpoint(false)); /* Commits of the first round's GCI may have come behind it. */
    gci++;
    assert_true(checkpoint(false));
    assert_int_equal(fake()->part.kbytes, 0);
    assert_int_equal(fake()->tail, gci);
    copied = 1;
    assert_true(checkpoint(false) && fake()->part.kbytes > 0);
    copied = 0;
    sim_power_cut(world, 1, FATES_ALL);
    start_again(gci);
    rig_stop();
}

/* The power goes at any file operation of a round; what was durable before counts. */
static void test_power_cuts(void **state)
{
    (void)state;
    for (uint64_t seed = 100; seed < 160; seed++) {
        rig_start(seed);
        change_some((uint32_t)rng_below(&rng, 600));
        for (uint32_t life = 0; life < 4; life++) {
            uint32_t durable = gci; /* All commits so far; what follows may be lost. */
            bool good = true;
            uint32_t rounds = (uint32_t)rng_below(&rng, 3);
            gci++;
            for (uint32_t i = 0; good && i < rounds; i++) {
                good = round_write(rng_chance(&rng, 2, 3));
                if (!good) break;
                durable = gci;
                gci++;
                good = round_usable(false);
                change_some(30);
                durable = good ? gci : durable;
                gci++;
            }
            if (good && sim_alive(world, 1)) {
                sim_power_cut_at(world, 1, 1u + rng_below(&rng, 60));
                good = round_write(true);
                if (good && rng_chance(&rng, 1, 2)) {
                    durable = gci;
                    gci++;
                    good = round_usable(false);
                }
            }
            if (sim_alive(world, 1)) sim_power_cut(world, 1, FATES_ALL);
            sim_power_cut_at(world, 1, 0);
            start_again(durable);
            change_some(20);
        }
        rig_stop();
    }
}

/* Writes that fail: the former checkpoint stays, the next round succeeds with all pages; also when
 * the file that failed is broken for NDBFS. */
static void test_errors(void **state)
{
    (void)state;
    static const enum io_op ops[] = {IO_OPEN, IO_WRITE, IO_WRITE, IO_CLOSE,
                                     IO_OPEN, IO_WRITE, IO_SYNC,  IO_CLOSE};
    for (uint64_t seed = 200; seed < 264; seed++) {
        rig_start(seed);
        change_some(700);
        assert_true(checkpoint(true));
        uint32_t tail = fake()->tail;
        change_some(100);
        gci++;
        bool device = seed / 8u % 2u == 0;
        sim_disk_fail(sim_disk_of(world, 1), ops[seed % 4u + (device ? 4u : 0u)],
                      seed % 8u < 4u ? "LCP/T5F0." : "LCP/", device ? IO_DEVICE : IO_FULL,
                      (uint32_t)rng_below(&rng, 3), 1);
        assert_true(checkpoint(true));
        if (fake()->part.failed > 0) {
            assert_int_not_equal(fake()->part.error, 0);
            assert_int_equal(fake()->tail, tail);
        }
        sim_disk_calm(sim_disk_of(world, 1));
        change_some(100);
        if (rng_chance(&rng, 1, 2)) {
            assert_true(checkpoint(true));
            assert_int_equal(fake()->part.failed, 0);
        }
        sim_power_cut(world, 1, FATES_ALL);
        start_again(gci);
        rig_stop();
    }
}

/* No record for the n-th fragment: its checkpoint fails, the others count, the next round has all;
 * a restart without one, for the n-th entry of the list, fails and says so. */
static void test_no_record(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= FRAGS; n++) {
        rig_start(300 + n);
        change_some(300);
        change_key(FRAGS - 1u, 1, false); /* None is empty: that would need no record. */
        sim_insert(world, 1, BLOCK_LCPWRITER, 9997, n);
        assert_true(checkpoint(false));
        assert_int_equal(fake()->part.failed, 1);
        assert_int_equal(fake()->part.error, ERR_TABLE_RECORDS);
        assert_int_equal(fake()->tail, 0);
        assert_true(checkpoint(true));
        assert_int_equal(fake()->part.failed, 0);
        sim_power_cut(world, 1, FATES_ALL);
        assert_true(sim_restart(world, 1));
        table_make(1);
        sim_insert(world, 1, BLOCK_LCPWRITER, 9997, n);
        for (uint32_t i = 0; i < FRAGS; i++)
            assert_int_equal(restore_one(i, gci), i == 0 ? ERR_TABLE_RECORDS : 0);
        sim_power_cut(world, 1, FATES_ALL);
        start_again(gci);
        rig_stop();
    }
}

static void test_damage(void **state)
{
    (void)state;
    rig_start(3);
    change_some(700);
    assert_true(checkpoint(true));
    change_some(100);
    assert_true(checkpoint(true));
    sim_power_cut(world, 1, 0);
    struct sim_disk *disk = sim_disk_of(world, 1);
    const uint8_t *bytes;
    uint64_t size = sim_disk_content(disk, "LCP/T5F0.1.data", true, &bytes);
    assert_true(size >= 4096 && size != UINT64_MAX);
    for (uint64_t at = 0; at < size; at += size / 40u) {
        uint8_t good = bytes[at];
        assert_true(sim_disk_poke(disk, "LCP/T5F0.1.data", at, good ^ 0x10u));
        assert_true(sim_restart(world, 1));
        table_make(1);
        assert_int_equal(restore_one(0, gci), ERR_CHECKPOINT_DAMAGED);
        assert_int_equal(restore_one(1, gci), 0);
        sim_power_cut(world, 1, 0);
        assert_true(sim_disk_poke(disk, "LCP/T5F0.1.data", at, good));
        sim_disk_content(disk, "LCP/T5F0.1.data", true, &bytes);
    }
    /* Both control files. */
    assert_true(sim_disk_poke(disk, "LCP/T5F0.ctl0", 100, 0xEE));
    assert_true(sim_disk_poke(disk, "LCP/T5F0.ctl1", 200, 0xEE));
    assert_true(sim_restart(world, 1));
    table_make(1);
    assert_int_equal(restore_one(0, gci), ERR_CHECKPOINT_DAMAGED);
    assert_int_equal(fake()->ref.fault, LCP_CHECKSUM);
    rig_stop();
}

/* One file is gone, or its content is. False: there was no such file. */
static bool without(const char *name, bool empty, uint32_t *reported)
{
    struct sim_disk *disk = sim_disk_of(world, 1);
    uint8_t good = 0;
    uint32_t error = 0;
    if (!sim_disk_exists(disk, name)) return false;
    if (empty) {
        const uint8_t *bytes;
        assert_true(sim_disk_content(disk, name, true, &bytes) > 0);
        good = bytes[0];
        assert_true(sim_disk_poke(disk, name, 0, good ^ 1u));
    } else {
        sim_disk_fail(disk, IO_OPEN, name, IO_MISSING, 0, 1000);
    }
    assert_true(sim_restart(world, 1));
    table_make(1);
    for (uint32_t i = 0; i < FRAGS && error == 0; i++) {
        error = restore_one(i, gci);
        if (error != 0) break;
        replay(i, fake()->start_gci, gci);
        compare(i, gci);
    }
    assert_true(error == 0 || error == ERR_CHECKPOINT_DAMAGED);
    if (error != 0) assert_string_equal(fake()->ref_name, name);
    *reported += error != 0 ? 1u : 0u;
    sim_power_cut(world, 1, 0);
    if (empty) sim_disk_poke(disk, name, 0, good); /* What is not needed may have been removed. */
    sim_disk_calm(disk);
    return true;
}

/* Any file that is lost is named, unless nothing of it is needed: never is anything of a table
 * missing silently. */
static void test_missing_files(void **state)
{
    (void)state;
    for (uint32_t rounds = 1; rounds <= 4; rounds++) {
        uint32_t files = 0;
        uint32_t reported = 0;
        rig_start(400 + rounds);
        change_some(500);
        for (uint32_t i = 0; i < rounds; i++) {
            assert_true(checkpoint(false));
            gci++;
            change_some(100);
        }
        sim_power_cut(world, 1, 0);
        for (uint32_t i = 0; i < 2u * FRAGS; i += 2u) {
            char name[LCP_NAME_MAX];
            uint32_t before = reported;
            for (uint32_t seq = 1; seq <= rounds; seq++) {
                lcp_data_name(name, TABLE, i, seq);
                files += without(name, false, &reported) ? 1u : 0u;
            }
            assert_true(reported == before + files || i > 0); /* All that are there are needed. */
            for (uint32_t slot = 0; slot < 4u; slot++) {
                lcp_ctl_name(name, TABLE, i, slot % 2u);
                before = reported;
                bool there = without(name, slot >= 2u, &reported);
                if (there && slot % 2u == rounds % 2u) assert_int_equal(reported, before + 1u);
            }
        }
        for (uint32_t slot = 0; slot < 2u; slot++) {
            char name[LCP_NAME_MAX];
            uint32_t before = reported;
            lcp_part_name(name, 1, slot);
            assert_true(without(name, true, &reported));
            assert_int_equal(reported, before); /* One of two damaged: what a crash leaves. */
            assert_true(without(name, false, &reported));
            /* Behind the first round, the one with number 1 may not have been followed yet. */
            assert_int_equal(reported, before + (rounds == 1u && slot == 0 ? 0u : 1u));
        }
        start_again(gci);
        rig_stop();
    }
}

/* A restart with the files that there are; 0, or the error of the first fragment that has one. */
static struct restore_frag_ref why;
static char why_name[FS_NAME_BYTES + 1];
static uint32_t start_with(const struct sysfile_list *list)
{
    uint32_t error = 0;
    named.lists_known = 1;
    named.list[0] = *list;
    assert_true(sim_restart(world, 1));
    table_make(1);
    for (uint32_t i = 0; i < FRAGS && error == 0; i++)
        error = restore_one(i, gci);
    why = fake()->ref;
    memcpy(why_name, fake()->ref_name, sizeof why_name);
    sim_power_cut(world, 1, 0);
    return error;
}

/* Lists of before the log was made anew, while the system files name none; and those that do not
 * say of which log they are. */
static void test_lists_of_a_former_life(void **state)
{
    (void)state;
    const struct sysfile_list none = {0, 0};
    uint32_t life = log_life;
    for (uint32_t known = 0; known < 2u; known++) {
        log_life = known != 0 ? life : 0;
        rig_start(510);
        change_some(300);
        assert_true(checkpoint(false));
        sim_power_cut(world, 1, 0);
        assert_int_equal(start_with(&none), 0);
        log_life = life + 1u;
        assert_int_equal(start_with(&none), known != 0 ? ERR_CHECKPOINT_DAMAGED : 0);
        if (known != 0) {
            assert_int_equal(why.fault, LCP_OTHER_LIFE);
            assert_string_equal(why_name, "LCP/part0.ctl0");
        }
        log_life = life;
        assert_int_equal(start_with(&none), 0); /* Nothing is lost by it. */
        named = (struct sysfile){.lists_known = 0};
        rig_stop();
    }
}

/* What the lists must be the system files say: none of them, an older one, one of another life and
 * one that those files are too old for are told from the right one, and named. */
static void test_named_lists(void **state)
{
    (void)state;
    struct sysfile_list list[4];
    rig_start(500);
    change_some(300);
    for (uint32_t i = 0; i < 4u; i++) {
        assert_true(checkpoint(false));
        assert_int_equal(fake()->usable.failed, 0);
        list[i] = (struct sysfile_list){fake()->usable.number, fake()->usable.check};
        assert_int_equal(list[i].number, i + 2u); /* The first round writes two. */
        gci++;
        change_some(50);
    }
    sim_power_cut(world, 1, 0);
    struct sim_disk *disk = sim_disk_of(world, 1);
    struct sysfile_list other = list[3];
    struct sysfile_list newer = {list[3].number + 1u, list[3].check};
    struct sysfile_list none = {0, 0};
    assert_int_equal(start_with(&list[3]), 0);
    assert_int_equal(start_with(&list[2]), 0); /* The round had ended, the system files not yet. */
    assert_int_equal(start_with(&list[1]), ERR_CHECKPOINT_DAMAGED);
    assert_int_equal(why.fault, LCP_AHEAD);
    assert_string_equal(why_name, "LCP/part0.ctl1");
    assert_int_equal(start_with(&none), ERR_CHECKPOINT_DAMAGED);
    assert_int_equal(why.fault, LCP_AHEAD);
    assert_int_equal(start_with(&newer), ERR_CHECKPOINT_DAMAGED);
    assert_int_equal(why.fault, LCP_STALE);
    assert_string_equal(why_name, "LCP/part0.ctl0");
    other.check ^= 1u;
    assert_int_equal(start_with(&other), ERR_CHECKPOINT_DAMAGED);
    assert_int_equal(why.fault, LCP_STALE);
    other = list[2];
    other.check ^= 1u;
    assert_int_equal(start_with(&other), ERR_CHECKPOINT_DAMAGED);
    /* No file at all. */
    sim_disk_fail(disk, IO_OPEN, "LCP/", IO_MISSING, 0, 1000);
    assert_int_equal(start_with(&none), 0);
    assert_int_equal(start_with(&list[3]), ERR_CHECKPOINT_DAMAGED);
    assert_int_equal(why.fault, LCP_MISSING);
    assert_string_equal(why_name, "LCP/part0.ctl1");
    sim_disk_calm(disk);
    assert_int_equal(start_with(&list[3]), 0);
    memset(&named, 0, sizeof named);
    rig_stop();
}

/* A table is dropped while it is being written, another one takes its number. */
static void test_drop(void **state)
{
    (void)state;
    for (uint64_t seed = 300; seed < 330; seed++) {
        rig_start(seed);
        change_some(600);
        assert_true(checkpoint(true));
        change_some(300);
        struct lcp_part_req req = {.lcp_id = ++lcp_id, .start_gci = gci};
        uint32_t answers = fake()->answers;
        bool in_round = rng_chance(&rng, 3, 4);
        if (in_round) {
            sig_send(&fake()->block, block_ref(1, BLOCK_LCPWRITER, 1), GSN_LCP_PART_REQ, PRIO_B,
                     &req);
            run(rng_below(&rng, 20000));
        }
        lcpw_table_dropped(node_block(sim_node(world, 1), BLOCK_LCPWRITER, 1), TABLE);
        fake()->there = false;
        while (!tup_table_drop_step(tup(), fake()->tup_table)) {
        }
        if (in_round) {
            assert_true(wait_answer(answers, false));
            assert_true(round_usable(false));
        }
        run(3000000);
        /* All but the two lists, where there are any. */
        assert_int_equal(sim_disk_used(sim_disk_of(world, 1)), 2u * LCP_ALIGN);
        for (uint32_t i = 0; i < entry_count; i++)
            free(entries[i].pairs);
        entry_count = 0;
        table_make(2);
        change_some(50);
        change_key(FRAGS - 1u, 1, false); /* What is empty has no file. */
        assert_true(checkpoint(true));
        assert_int_equal(fake()->part.failed, 0);
        sim_power_cut(world, 1, FATES_ALL);
        assert_true(sim_restart(world, 1));
        table_make(2);
        for (uint32_t i = 0; i < FRAGS; i++) {
            assert_int_equal(restore_one(i, gci), 0);
            assert_int_equal(fake()->found, 1);
            replay(i, fake()->start_gci, gci);
            compare(i, gci);
        }
        rig_stop();
    }
}

/* The dropped table has no files left; the two lists of checkpoints are all there is. */
static void expect_no_files(void)
{
    run(3000000);
    assert_int_equal(sim_disk_used(sim_disk_of(world, 1)), 2u * LCP_ALIGN);
}

/* The table goes while its control file is being opened, and that open is refused: by the disk, or
 * because the name is broken. It is not tried again, as the fragment is gone. */
static void drop_in_open(bool broken_name)
{
    rig_start(7);
    change_some(600);
    assert_true(checkpoint(false));
    change_some(100);
    gci++;
    sim_disk_fail(sim_disk_of(world, 1), broken_name ? IO_WRITE : IO_OPEN, "LCP/T5F0.ctl",
                  IO_DEVICE, 0, 1);
    if (broken_name) {
        assert_true(checkpoint(false));
        assert_int_equal(fake()->part.failed, 1);
        sim_disk_calm(sim_disk_of(world, 1));
        change_some(100);
        gci++;
    }
    struct lcp_part_req req = {.lcp_id = ++lcp_id, .start_gci = gci};
    uint32_t answers = fake()->answers;
    sig_send(&fake()->block, block_ref(1, BLOCK_LCPWRITER, 1), GSN_LCP_PART_REQ, PRIO_B, &req);
    drop_at_answer(GSN_FSOPENREF, 1);
    assert_true(wait_answer(answers, false));
    assert_int_equal(drop_at, 0);
    assert_int_equal(fake()->part.failed, 0); /* Nothing is wrong with a table that is gone. */
    assert_true(round_usable(false));
    expect_no_files();
    rig_stop();
}

static void test_drop_in_a_refused_open(void **state)
{
    (void)state;
    drop_in_open(false);
    drop_in_open(true);
}

/* The table goes while the files that its last checkpoint has superseded are being removed. */
static void test_drop_in_cleaning(void **state)
{
    (void)state;
    for (uint32_t which = 1; which < 6; which++) {
        rig_start(7);
        change_some(600);
        drop_at_answer(GSN_FSREMOVECONF, which);
        for (uint32_t i = 0; i < 30 && drop_at != 0; i++) {
            assert_true(checkpoint(false));
            gci++;
            if (drop_at != 0) change_some(100);
        }
        assert_int_equal(drop_at, 0);
        expect_no_files();
        rig_stop();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_unchanged),
        cmocka_unit_test(test_power_cuts),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_missing_files),
        cmocka_unit_test(test_drop),
        cmocka_unit_test(test_drop_in_a_refused_open),
        cmocka_unit_test(test_drop_in_cleaning),
        cmocka_unit_test(test_no_record),
        cmocka_unit_test(test_named_lists),
        cmocka_unit_test(test_lists_of_a_former_life),
    };
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    free(entries);
    return result;
}
