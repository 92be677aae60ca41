/* scenario_rotten_end.c -- the end of a log after faults: its last page, or a copy of the system
 * file, rots in a crash; a sync of it fails, and the power goes later. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbdih/dih_state.h"
#include "formats/redo_format.h"
#include "kernel/sim/sim_disk.h"
#include "tests/sim/scenario.h"

#define LDMS    2u
#define FILES   3u
#define BLOCKS  16u
#define STALL_S 60u

/* When all lose their power: node 1 has R in its system file, and node 2... */
enum moment {
    ONE_BEHIND, /* ...has R - 1: its disk does not get to R. */
    BOTH_HAVE,  /* ...has R, too, in one copy; the other copy has R - 1. */
};

struct cut {
    enum moment moment;
    uint32_t gci; /* R; 0 = not yet. */
    bool now;
};

static void watch(struct run *run, const uint32_t *words)
{
    struct cut *cut = run->hook_context;
    uint32_t to = ref_node(words[1]);
    uint32_t from = ref_node(words[2]);
    const uint32_t *payload = words + SIGNAL_HEAD_WORDS;
    if (cut->gci == 0 || cut->now) return;
    if (kind_gsn(words[0]) == GSN_COPY_GCIREQ && to == 2 && payload[1] == cut->gci &&
        cut->moment == ONE_BEHIND)
        sim_disk_stall(sim_disk_of(run->world, 2), sim_now_us(run->world) + STALL_S * 1000000u);
    bool first = kind_gsn(words[0]) == GSN_COPY_GCICONF && from == 1;
    bool last = kind_gsn(words[0]) == GSN_GCP_NODE_DURABLE_REP && to == 2;
    if (cut->moment == ONE_BEHIND ? !first : !last) return;
    cut->now = payload[1] == cut->gci;
}

static bool is_time(void *context)
{
    const struct cut *cut = context;
    return cut->now;
}

static struct run *files_new(uint64_t seed)
{
    struct run *run = scenario_new(seed);
    struct swarm *swarm = &run->swarm;
    swarm->disk = true;
    swarm->ldm = LDMS;
    swarm->churn_keys = 40;
    swarm->churn_tables = 1;
    swarm->statics = 4;
    swarm->accounts = swarm->registers = 2;
    swarm->pad_max = 60;
    swarm->config.ldm_count = LDMS;
    swarm->config.diskless = 0;
    swarm->config.redo_files = FILES;
    swarm->config.redo_file_bytes = BLOCKS * REDO_BLOCK_BYTES;
    swarm->config.redo_buffer_bytes = 32u * REDO_BLOCK_BYTES;
    swarm->config.redo_zero = 0;
    swarm->config.gci_ms = 400;
    return run;
}

static void write_rows(struct run *run, uint32_t first, uint32_t count)
{
    struct session *session = &run->client[0].session[0];
    enum api_outcome outcome;
    session->count = 0;
    for (uint32_t i = 0; i < count; i++)
        session_add(session, TABLE_CHURN, first + i, OP_WRITE)->value = ++run->model.next_value;
    run_try(run, session, LOCK_EXCLUSIVE, &outcome);
    assert_int_equal(outcome, API_COMMITTED);
    for (uint32_t i = 0; i < count; i++) {
        struct model_key *key = &run->model.key[TABLE_CHURN][first + i];
        key->state = KEY_PRESENT;
        key->value = session->item[i].value;
        past_add(run, TABLE_CHURN, first + i, run->epoch);
    }
}

/* Flips a bit in the newest page of a part of node 2's log. */
static void rot_log(struct run *run, uint32_t part)
{
    struct sim_disk *disk = sim_disk_of(run->world, 2);
    static uint32_t page[REDO_PAGE_WORDS];
    char name[40];
    char newest[40] = "";
    uint64_t lsn = 0;
    uint64_t offset = 0;
    for (uint32_t file = 0; file < FILES; file++) {
        const uint8_t *bytes;
        snprintf(name, sizeof name, "REDO/part%u/file%u", part, file);
        uint64_t size = sim_disk_content(disk, name, true, &bytes);
        assert_int_equal(size, BLOCKS * REDO_BLOCK_BYTES);
        for (uint64_t at = 0; at < size; at += REDO_BLOCK_BYTES) {
            const struct redo_place place = {.file = file,
                                             .block = (uint32_t)(at / REDO_BLOCK_BYTES)};
            uint64_t left = size - at < sizeof page ? size - at : sizeof page;
            memcpy(page, bytes + at, left);
            const struct redo_page_head *head = (const struct redo_page_head *)(const void *)page;
            if (redo_page_verify(page, (uint32_t)left / 4u, &place) != REDO_GOOD) continue;
            if (redo_lsn(head) <= lsn) continue;
            lsn = redo_lsn(head);
            offset = at;
            memcpy(newest, name, sizeof newest);
        }
    }
    assert_true(lsn != 0);
    const uint8_t *bytes;
    sim_disk_content(disk, newest, true, &bytes);
    assert_true(sim_disk_poke(disk, newest, offset + 200, bytes[offset + 200] ^ 4));
}

/* The copy with the greater number of its write. */
static void rot_system_file(struct run *run)
{
    static const char *const names[] = {"D1/sysfile.0", "D1/sysfile.1"};
    struct sim_disk *disk = sim_disk_of(run->world, 2);
    uint64_t sequence[2] = {0, 0};
    const uint8_t *bytes;
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(sim_disk_content(disk, names[i], true, &bytes) >= SYSFILE_BLOCK);
        memcpy(&sequence[i], bytes + offsetof(struct file_header, sequence), 8);
    }
    const char *newest = names[sequence[1] > sequence[0]];
    sim_disk_content(disk, newest, true, &bytes);
    assert_true(sim_disk_poke(disk, newest, 300, bytes[300] ^ 4));
}

#define NO_PART UINT32_MAX

static void cut_and_rot(uint64_t seed, enum moment moment, uint32_t part, bool system_file)
{
    struct cut cut = {.moment = moment};
    struct run *run = files_new(seed);
    run->hook = watch;
    run->hook_context = &cut;
    assert_true(run_start(run));
    write_rows(run, 0, 12);
    write_rows(run, 12, 12);
    run_until(run, NULL, NULL, sim_now_us(run->world) + 1000000);
    write_rows(run, 6, 12); /* In both parts of the log. */
    cut.gci = (uint32_t)(run->epoch >> 32);
    assert_true(run_until(run, is_time, &cut, sim_now_us(run->world) + 5000000));
    /* Rot is announced: a node may stop for it. */
    if (part != NO_PART) run->plan.event[run->plan.count++].action = SIM_DISK_ROT;
    sim_power_cut(run->world, 1, 1u << FATE_KEPT);
    sim_power_cut(run->world, 2, 1u << FATE_LOST);
    if (part != NO_PART) rot_log(run, part);
    if (system_file) rot_system_file(run);
    lives_lost(run);
    durability_check(run);
    assert_string_equal(sim_failure_text(run->world), "");
    assert_int_equal(run->durability.recovered, cut.gci);
    assert_true(run->durability.damaged == (part != NO_PART));
    if (part == NO_PART) {
        scenario_end(run);
        return;
    }
    assert_int_equal(sim_exit_of(run->world, 2)->code, EXIT_REDO_DAMAGED);
    run_free(run);
    free(run);
}

/* What there is no fault in starts, with every row up to R. */
static void test_one_is_behind(void **state)
{
    (void)state;
    cut_and_rot(1, ONE_BEHIND, NO_PART, false);
    cut_and_rot(2, BOTH_HAVE, NO_PART, false);
}

/* A rotten page that R needs, in a node that does not know of R itself. */
static void test_last_page_rots(void **state)
{
    (void)state;
    for (uint32_t part = 0; part < LDMS; part++)
        cut_and_rot(10 + part, ONE_BEHIND, part, false);
}

/* A copy that rots before the other one has R too: the other node's file has it. */
static void test_system_file_rots(void **state)
{
    (void)state;
    cut_and_rot(20, BOTH_HAVE, NO_PART, true);
    for (uint32_t part = 0; part < LDMS; part++)
        cut_and_rot(21 + part, BOTH_HAVE, part, true);
}

static void durable_row(struct run *run, uint32_t key)
{
    run->set_up_durable = true;
    write_rows(run, key, 1);
    run->set_up_durable = false;
    run->durability.promised = (uint32_t)(run->epoch >> 32);
}

static bool has_ended(void *context)
{
    return !sim_alive(context, 2);
}

static void comes_back(struct run *run)
{
    lives_lost(run);
    durability_check(run);
    assert_string_equal(sim_failure_text(run->world), "");
    assert_false(run->durability.damaged);
}

/* A sync fails on a file system without O_DIRECT: the node stops, and its next life reads pages
 * that the disk does not have, nor ever gets. When the power goes later nothing is missing: the log
 * went on before them. */
static void test_failed_sync(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 12; seed++) {
        char prefix[20];
        struct run *run = files_new(50 + seed);
        run->swarm.options.disk.buffered = true;
        assert_true(run_start(run));
        write_rows(run, 0, 12);
        durable_row(run, 3);
        run->plan.event[run->plan.count++].action = SIM_DISK_ERROR;
        snprintf(prefix, sizeof prefix, "REDO/part%u", seed % LDMS);
        sim_disk_fail(sim_disk_of(run->world, 2), IO_SYNC, prefix, IO_DEVICE, 0, 1);
        write_rows(run, 6, 12);
        assert_true(run_until(run, has_ended, run->world, sim_now_us(run->world) + 5000000));
        assert_int_equal(sim_exit_of(run->world, 2)->code, EXIT_REDO_IO);
        comes_back(run);
        for (uint32_t i = 0; i <= seed / LDMS; i++)
            durable_row(run, i);
        for (uint32_t id = 1; id <= 2; id++)
            sim_power_cut(run->world, id, 1u << FATE_LOST);
        comes_back(run);
        scenario_end(run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_is_behind),
        cmocka_unit_test(test_last_page_rots),
        cmocka_unit_test(test_system_file_rots),
        cmocka_unit_test(test_failed_sync),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
