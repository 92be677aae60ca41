/* test_gcp.c -- epochs and global checkpoints over several nodes in one process: numbers, order,
 * files, losses. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "blocks/dbdih/dih_state.h"
#include "blocks/cmvmi/event.h"
#include "values/errors.h"
#include "tests/unit/support/fake_disk.h"
#include "tests/unit/support/fake_workers.h"

#define API 6u
#define MGM 8u

/* --- System files. --- */

static struct fake_file *sysfile_of(uint32_t node, uint32_t copy)
{
    return fake_file(node, copy == 0 ? "D1/sysfile.0" : "D1/sysfile.1");
}
static uint32_t sysfile_writes(uint32_t node)
{
    return sysfile_of(node, 0)->writes + sysfile_of(node, 1)->writes;
}

/* --- The cluster. --- */

static struct fake_cluster *fc;
static uint32_t epoch_timeout_ms; /* Epoch timeout of the clusters that are started next. */

static int setup(void **state)
{
    (void)state;
    epoch_timeout_ms = 0;
    fc = malloc(sizeof *fc);
    fc_init(fc);
    fc->verbose = getenv("FC_VERBOSE") != NULL;
    fake_disk_reset();
    return 0;
}
static int teardown(void **state)
{
    (void)state;
    fc_check(fc);
    fc_destroy(fc);
    free(fc);
    return 0;
}

static void start_with(uint32_t nodes, uint32_t replicas, bool files, uint64_t cluster_id)
{
    struct node_config config = fake_config(nodes, replicas);
    config.gci_timeout_ms = 120000;
    config.epoch_timeout_ms = epoch_timeout_ms;
    config.diskless = !files;
    config.cluster_id = cluster_id;
    for (uint32_t id = 1; id <= nodes; id++) {
        fc->node[id].host.io_submit = fake_disk_submit;
        fake_data_node(fc, id, &config);
    }
}
static void start(uint32_t nodes, bool files)
{
    start_with(nodes, nodes, files, 1);
    fc_run(fc, 300);
    for (uint32_t id = 1; id <= nodes; id++)
        assert_int_equal(fake_tc(fc, id, 1)->level, START_STARTED);
}
/* All processes end at once; what is on disk stays. */
static void end_all(void)
{
    fc_destroy(fc);
    fc_init(fc);
    fc->verbose = getenv("FC_VERBOSE") != NULL;
}
static struct dih *dih_at(uint32_t node)
{
    return dih_of(node_block(fc->node[node].node, BLOCK_DBDIH, 0));
}
static void order(uint32_t node, uint32_t code)
{
    struct dump_state_ord ord = {.count = 1, .data = {code}};
    fc_sig_send(fc, MGM, block_ref(node, BLOCK_CMVMI, 0), GSN_DUMP_STATE_ORD, &ord);
    fc_run(fc, 3);
}

/* --- Epochs. --- */

static void test_epochs_advance_everywhere(void **state)
{
    (void)state;
    start(4, false);
    uint32_t before = fake_tc(fc, 1, 1)->epochs;
    fc_run(fc, 1000);
    uint32_t after = fake_tc(fc, 1, 1)->epochs;
    assert_in_range(after - before, 9, 11);
    for (uint32_t id = 1; id <= 4; id++) {
        for (uint32_t tc = 1; tc <= 2; tc++) {
            assert_int_equal(fake_tc(fc, id, tc)->gci_hi, dih_at(1)->gcp_master.gci_hi);
            assert_int_equal(fake_tc(fc, id, tc)->gci_lo, dih_at(1)->gcp_master.gci_lo);
            assert_int_equal(epoch_life(fake_tc(fc, id, tc)->gci_lo), 0); /* No files. */
            assert_false(fake_tc(fc, id, tc)->held);
        }
        assert_int_equal(dih_at(id)->gcp_node.complete_lo, dih_at(1)->gcp_master.gci_lo - 1);
        assert_int_equal(fake_lqh(fc, id, 1)->saved, 0);
    }
    fc_run(fc, 4000);
    assert_in_range(fake_tc(fc, 3, 2)->gci_hi, 3, 4);
}

static void test_first_epoch_before_anyone_is_started(void **state)
{
    (void)state;
    start_with(2, 2, false, 1);
    while (fake_tc(fc, 1, 1)->level != START_STARTED && fc->now < 1000)
        fc_run(fc, 1);
    assert_int_equal(fake_tc(fc, 1, 1)->level, START_STARTED);
    for (uint32_t id = 1; id <= 2; id++)
        assert_int_not_equal(fake_tc(fc, id, 1)->gci_hi, 0);
}

static void test_dump_orders_an_epoch_and_a_gci(void **state)
{
    (void)state;
    start(2, false);
    fc_client(fc, MGM, true);
    fc_run(fc, 20);
    uint32_t gci = fake_tc(fc, 1, 1)->gci_hi;
    for (uint32_t before = fake_tc(fc, 1, 1)->epochs; fake_tc(fc, 1, 1)->epochs == before;)
        fc_run(fc, 1); /* The timer's next one is far. */
    uint32_t epochs = fake_tc(fc, 1, 1)->epochs;
    order(2, 7110);
    assert_int_equal(fake_tc(fc, 1, 1)->epochs, epochs + 1);
    assert_int_equal(fake_tc(fc, 1, 1)->gci_hi, gci);
    order(2, 7111);
    assert_int_equal(fake_tc(fc, 2, 2)->gci_hi, gci + 1);
    assert_int_equal(fake_tc(fc, 2, 2)->gci_lo, 0);
}

static bool warned_of(const char *what)
{
    const struct signal *sig;
    while ((sig = fc_take(fc, MGM, GSN_EVENT_REP)) != NULL) {
        if (SIG_PAYLOAD(sig, event_rep)->type != EVENT_WARNING || sig->section_count == 0) continue;
        char text[EVENT_TEXT_MAX + 1] = {0};
        memcpy(text, sig->section[0].words + 1, sig->section[0].words[0]);
        if (strstr(text, what) != NULL) return true;
    }
    return false;
}

static void test_late_node_is_named(void **state)
{
    (void)state;
    start(2, false);
    fake_tc(fc, 2, 2)->hold_epochs = true;
    fc_run(fc, 1000);
    uint32_t epochs = fake_tc(fc, 1, 1)->epochs;
    fc_run(fc, 6000);
    fc_client(fc, MGM, true);
    fc_run(fc, 10);
    struct event_subscribe_req subscribe = {.sender_data = 1};
    for (uint32_t i = 0; i < EVENT_CATEGORIES; i++)
        subscribe.level[i] = 15;
    fc_sig_send(fc, MGM, block_ref(1, BLOCK_CMVMI, 0), GSN_EVENT_SUBSCRIBE_REQ, &subscribe);
    fc_run(fc, 2);
    assert_true(warned_of("node 2 is late"));
    assert_false(warned_of("node 1 is late"));
    assert_int_equal(fake_tc(fc, 1, 1)->epochs,
                     epochs); /* No epoch begins before the last one is complete. */
    assert_int_equal(node_mask_next(&dih_at(2)->gcp_node.waiting, 0), 2);
}

/* Without TimeBetweenEpochsTimeout a late node is only named. */
static void test_node_that_holds_epochs_up_is_stopped(void **state)
{
    (void)state;
    for (uint32_t limit = 0; limit <= 9000; limit += 9000) {
        epoch_timeout_ms = limit;
        start(2, false);
        fake_tc(fc, 2, 2)->hold_epochs = true;
        fc_run(fc, 8500);
        assert_false(fc->node[2].dead);
        fc_run(fc, 3000);
        assert_int_equal(fc->node[2].dead, limit != 0);
        if (limit != 0) assert_int_equal(fc->node[2].exit_code, EXIT_GCP_STOP);
        assert_int_equal(fc->node[1].dead && fc->node[1].exit_code == EXIT_GCP_STOP, 0);
        end_all();
    }
}

/* --- Files. --- */

static void test_gcis_become_durable(void **state)
{
    (void)state;
    start(2, true);
    fc_run(fc, 5000);
    uint32_t durable = dih_at(1)->gcp_master.durable;
    assert_in_range(durable, 2, 3);
    for (uint32_t id = 1; id <= 2; id++) {
        for (uint32_t i = 1; i <= 2; i++) {
            assert_int_equal(fake_tc(fc, id, i)->durable, durable);
            assert_int_equal(fake_lqh(fc, id, i)->durable, durable);
            assert_int_equal(fake_lqh(fc, id, i)->saved, durable);
        }
        assert_int_equal(dih_at(id)->sysfile.now.gci, durable);
        assert_int_equal(sysfile_writes(id), 2 * durable + 2); /* Each GCI into both copies. */
    }
}

static void test_not_durable_before_all_have_it(void **state)
{
    (void)state;
    start(2, true);
    fake_lqh(fc, 2, 2)->hold_save = true;
    fc_run(fc, 5000);
    assert_int_equal(fake_tc(fc, 1, 1)->durable, 1);
    assert_int_equal(fake_lqh(fc, 1, 1)->saved, 2);
    assert_int_equal(fake_tc(fc, 1, 1)->gci_hi, 3); /* The next GCI waits, micro-epochs go on. */
    assert_in_range(epoch_number(fake_tc(fc, 1, 1)->gci_lo), 10, 40);
    for (uint32_t id = 1; id <= 2; id++)
        assert_int_equal(dih_at(id)->sysfile.now.gci, 1);
}

static void test_not_durable_before_the_system_files(void **state)
{
    (void)state;
    start(2, true);
    fake_disk_hold = true;
    fc_run(fc, 5000);
    assert_int_equal(fake_lqh(fc, 1, 1)->saved, 2);
    assert_int_equal(fake_tc(fc, 1, 1)->durable, 1);
    assert_int_equal(fake_tc(fc, 2, 1)->durable, 1);
}

/* A log that is not written in TimeBetweenGlobalCheckpointsTimeout, and a system file. */
static void test_node_with_a_stuck_disk_stops(void **state)
{
    (void)state;
    for (uint32_t late = 1; late <= 2; late++) {
        start(2, true);
        fake_lqh(fc, late, 2)->hold_save = true;
        fc_run(fc, 119000);
        assert_false(fc->node[late].dead);
        fc_run(fc, 6000);
        assert_true(fc->node[late].dead);
        assert_int_equal(fc->node[late].exit_code, EXIT_GCP_STOP);
        assert_int_not_equal(fc->node[3 - late].exit_code, EXIT_GCP_STOP);
        end_all();
        fake_disk_reset();
    }
    start(1, true);
    fake_disk_hold = true;
    fc_run(fc, 119000);
    assert_false(fc->node[1].dead);
    fc_run(fc, 6000);
    assert_int_equal(fc->node[1].exit_code, EXIT_GCP_STOP);
}

/* The president's word alone is enough: the node's own disk has nothing to answer. */
static void test_order_to_stop(void **state)
{
    (void)state;
    start(2, true);
    struct gcp_stop_ord ord = {
        .incarnation = dih_at(1)->incarnation, .what = GCP_LATE_LOG, .ms = 120000};
    struct block *member = node_block(fc->node[2].node, BLOCK_DBDIH, 0);
    sig_send(member, block_ref(1, BLOCK_DBDIH, 0), GSN_GCP_STOP_ORD, PRIO_A, &ord);
    fc_run(fc, 10);
    assert_false(fc->node[1].dead); /* Not of the president: dropped. */
    struct block *president = node_block(fc->node[1].node, BLOCK_DBDIH, 0);
    sig_send(president, block_ref(2, BLOCK_DBDIH, 0), GSN_GCP_STOP_ORD, PRIO_A, &ord);
    fc_run(fc, 10);
    assert_int_equal(fc->node[2].exit_code, EXIT_GCP_STOP);
}

static void test_asked_gci_is_closed_at_once(void **state)
{
    (void)state;
    start(2, true);
    fc_run(fc, 30);
    uint32_t gci = dih_at(2)->gcp_node.gci_hi;
    gcp_node_close(dih_at(2), gci);
    fc_run(fc, 2);
    assert_int_equal(fake_tc(fc, 2, 1)->durable, gci);
    /* What is asked for while a GCI is saved shares the next one. */
    fake_lqh(fc, 1, 1)->hold_save = true;
    gcp_node_close(dih_at(2), gci + 1);
    fc_run(fc, 2);
    for (uint32_t i = 0; i < 5; i++) {
        gcp_node_close(dih_at(1 + i % 2), gci + 2);
        fc_run(fc, 1);
    }
    assert_int_equal(dih_at(1)->gcp_master.gci_hi, gci + 2);
    fake_lqh(fc, 1, 1)->hold_save = false;
    struct gcp_saveconf conf = {.sender_data = dih_at(1)->incarnation, .gci = gci + 1};
    sig_send(node_block(fc->node[1].node, BLOCK_DBLQH, 1), block_ref(1, BLOCK_DBDIH, 0),
             GSN_GCP_SAVECONF, PRIO_A, &conf);
    fc_run(fc, 5);
    assert_int_equal(fake_tc(fc, 2, 1)->durable, gci + 2);
    assert_int_equal(dih_at(1)->gcp_master.gci_hi, gci + 3);
}

static void test_numbers_go_on_after_a_restart(void **state)
{
    (void)state;
    start(2, true);
    fc_run(fc, 7000);
    uint32_t durable = dih_at(1)->gcp_master.durable;
    uint32_t former = dih_at(1)->sysfile.now.incarnation;
    end_all();
    start(2, true);
    for (uint32_t id = 1; id <= 2; id++) {
        const struct sysfile *now = &dih_at(id)->sysfile.now;
        assert_int_equal(dih_at(id)->sysfile.has_data, 1);
        assert_int_equal(now->incarnation, former + 1u);
        assert_int_equal(now->gci, durable);
        assert_int_equal(now->ended_count, 1);
        assert_int_equal(now->ended[0].incarnation, now->incarnation - 1u);
        assert_int_equal(now->ended[0].gci, durable);
        assert_int_equal(now->nodegroup[id], 0);
        assert_int_equal(now->nodegroup[5], SYSFILE_NO_GROUP);
        assert_int_equal(fake_tc(fc, id, 1)->gci_hi, durable + 1);
    }
    fc_run(fc, 3000);
    assert_int_equal(fake_tc(fc, 1, 1)->durable, durable + 1);
}

static void test_orderly_stop_makes_all_durable(void **state)
{
    (void)state;
    start(2, true);
    fc_client(fc, MGM, true);
    fc_run(fc, 1000);
    uint32_t gci = fake_tc(fc, 1, 1)->gci_hi;
    assert_int_equal(fake_tc(fc, 1, 1)->durable, 1);
    struct stop_req req = {.flags = STOP_SYSTEM};
    fc_sig_send(fc, MGM, block_ref(1, BLOCK_CMVMI, 0), GSN_STOP_REQ, &req);
    fc_run(fc, 500);
    for (uint32_t id = 1; id <= 2; id++) {
        assert_true(fc->node[id].stopped);
        assert_true(dih_at(id)->sysfile.now.gci >= gci);
    }
}

static void test_epochs_name_their_life(void **state)
{
    (void)state;
    for (uint32_t life = 1; life <= 4; life++) {
        start(2, true);
        fc_run(fc, 3000);
        for (uint32_t id = 1; id <= 2; id++) {
            const struct fake_worker *tc = fake_tc(fc, id, 2);
            const struct sysfile *now = &dih_at(id)->sysfile.now;
            assert_int_equal(epoch_life(tc->gci_lo), now->incarnation & EPOCH_NUMBER_MAX);
            assert_int_equal(now->incarnation, dih_at(1)->sysfile.now.incarnation);
            assert_int_equal(tc->lists, 1); /* Only with the first epoch. */
            assert_int_equal(tc->ended_count, life - 1);
            assert_memory_equal(tc->ended, now->ended, (life - 1) * sizeof now->ended[0]);
        }
        end_all();
    }
}

/* 65536 micro-epochs are the most that a GCI can have. */
static void test_a_gci_ends_before_its_numbers_do(void **state)
{
    (void)state;
    start(1, true);
    fake_lqh(fc, 1, 2)->hold_save = true;
    fc_run(fc, 3000);
    struct gcp_master *master = &dih_at(1)->gcp_master;
    assert_int_equal(master->save_state, SAVE_LOGS);
    uint32_t gci = master->gci_hi;
    while (master->state != GCP_IDLE)
        fc_run(fc, 1);
    uint32_t life = epoch_life(master->gci_lo);
    master->gci_lo = dih_at(1)->gcp_node.gci_lo = epoch_lo(life, EPOCH_NUMBER_MAX - 2u);
    fc_run(fc, 3000);
    gcp_node_close(dih_at(1), 0);
    fc_run(fc, 3);
    assert_int_equal(master->gci_hi, gci);
    assert_int_equal(master->gci_lo, epoch_lo(life, EPOCH_NUMBER_MAX));
    fake_lqh(fc, 1, 2)->hold_save = false;
    struct gcp_saveconf conf = {.sender_data = dih_at(1)->incarnation, .gci = master->save_gci};
    sig_send(node_block(fc->node[1].node, BLOCK_DBLQH, 2), block_ref(1, BLOCK_DBDIH, 0),
             GSN_GCP_SAVECONF, PRIO_A, &conf);
    fc_run(fc, 10);
    assert_int_equal(master->gci_hi, gci + 1); /* The order has waited. */
    assert_int_equal(epoch_life(master->gci_lo), life);
}

/* --- Damage. --- */

static void test_torn_copy_is_left_aside(void **state)
{
    (void)state;
    start(1, true);
    while (!dih_at(1)->sysfile.lone || dih_at(1)->sysfile.state != SYSFILE_READY)
        fc_run(fc, 1);
    uint32_t durable = dih_at(1)->gcp_master.durable;
    uint32_t newest = (uint32_t)(dih_at(1)->sysfile.sequence % SYSFILE_COPIES);
    end_all();
    memset(sysfile_of(1, newest)->bytes + 512, 0xA5,
           512); /* The last write was torn: it was never declared. */
    start(1, true);
    assert_int_equal(dih_at(1)->sysfile.now.gci, durable - 1);
    assert_int_equal(dih_at(1)->sysfile.found[newest], SYSFILE_BAD);
}

static void end_with_one_new_copy(uint32_t nodes, uint32_t *newest, uint32_t *durable)
{
    fake_disk_reset();
    start(nodes, true);
    fc_run(fc, 3000);
    while (!dih_at(1)->sysfile.lone || dih_at(1)->sysfile.state != SYSFILE_READY)
        fc_run(fc, 1);
    *durable = dih_at(1)->sysfile.now.gci;
    *newest = (uint32_t)(dih_at(1)->sysfile.sequence % SYSFILE_COPIES);
    end_all();
}

/* Whether a write was cut off or has rotted nobody can tell; what either means is said. */
static void test_damaged_copy_is_told(void **state)
{
    (void)state;
    uint32_t newest;
    uint32_t durable;
    char text[100];
    for (uint32_t nodes = 1; nodes <= 2; nodes++) {
        end_with_one_new_copy(nodes, &newest, &durable);
        sysfile_of(1, newest)->bytes[300] ^= 1;
        start(nodes, true);
        snprintf(text, sizeof text,
                 "D1/sysfile.%u is damaged and D1/sysfile.%u counts, with GCI %u", newest,
                 1 - newest, durable - 1);
        assert_non_null(strstr(fc->node[1].damaged, text));
        assert_non_null(
            strstr(fc->node[1].damaged, nodes == 1 ? "nothing else has" : "the other nodes have"));
        snprintf(text, sizeof text, "GCI %u", durable);
        assert_non_null(strstr(fc->node[1].damaged, text));
        end_all();
    }
    end_with_one_new_copy(1, &newest, &durable);
    sysfile_of(1, 1 - newest)->bytes[300] ^= 1;
    start(1, true);
    assert_int_equal(dih_at(1)->gcp_node.durable, durable);
    assert_non_null(strstr(fc->node[1].damaged, "nothing is lost"));
}

/* A copy that rots, is emptied or is removed while nothing goes on costs no GCI, in a running
 * cluster, after a crash and after an orderly stop. */
static void test_one_lost_copy_costs_nothing(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 12; round++) {
        uint32_t copy = round % SYSFILE_COPIES;
        bool stopped = round / SYSFILE_COPIES % 2 != 0;
        fake_disk_reset();
        start(1, true);
        fc_client(fc, MGM, true);
        fc_run(fc, 4000 + round * 37);
        while (dih_at(1)->sysfile.lone || dih_at(1)->sysfile.state != SYSFILE_READY)
            fc_run(fc, 1);
        struct stop_req req = {.flags = STOP_SYSTEM};
        if (stopped) fc_sig_send(fc, MGM, block_ref(1, BLOCK_CMVMI, 0), GSN_STOP_REQ, &req);
        while (stopped && !fc->node[1].stopped)
            fc_run(fc, 1);
        uint32_t gci = dih_at(1)->sysfile.now.gci;
        end_all();
        if (round < 4)
            sysfile_of(1, copy)->bytes[200] ^= 1;
        else if (round < 8)
            sysfile_of(1, copy)->size = 0;
        else
            memset(sysfile_of(1, copy)->name, 0, sizeof sysfile_of(1, copy)->name);
        start(1, true);
        assert_int_equal(dih_at(1)->gcp_node.durable, gci);
        assert_int_not_equal(dih_at(1)->sysfile.found[copy], SYSFILE_GOOD);
        end_all();
    }
}

static void test_every_flipped_byte_is_seen(void **state)
{
    (void)state;
    start(1, true);
    fc_run(fc, 3000);
    static struct fake_disk good;
    good = fake_disks[1];
    for (uint32_t at = 0; at < FS_ALIGN; at += 97) {
        end_all();
        fake_disks[1] = good;
        sysfile_of(1, 0)->bytes[at] ^= 0x10;
        sysfile_of(1, 1)->bytes[at] ^= 0x10;
        start_with(1, 1, true, 1);
        fc_run(fc, 100);
        assert_true(fc->node[1].dead);
        assert_int_equal(fc->node[1].exit_code, EXIT_SYSFILE_DAMAGED);
    }
}

static void test_foreign_files_are_refused(void **state)
{
    (void)state;
    start(2, true);
    static struct fake_disk kept[2];
    memcpy(kept, &fake_disks[1], sizeof kept);
    end_all();
    fake_disks[2] = kept[0]; /* Node 2 got node 1's directory. */
    start_with(2, 2, true, 1);
    fc_run(fc, 300);
    assert_int_equal(fc->node[2].exit_code, EXIT_SYSFILE_FOREIGN);
    assert_non_null(strstr(fc->node[2].failure, "D1/sysfile.0 is refused: it belongs to node 1, "));
    assert_non_null(strstr(fc->node[2].failure, "--initial does not remove it"));
    end_all();
    memcpy(&fake_disks[1], kept, sizeof kept);
    start_with(2, 2, true, 2); /* Another cluster's. */
    fc_run(fc, 300);
    assert_int_equal(fc->node[1].exit_code, EXIT_SYSFILE_FOREIGN);
    for (uint32_t copy = 0; copy < SYSFILE_COPIES; copy++) /* And nothing was written over it. */
        assert_memory_equal(fake_disks[1].file[copy].bytes, kept[0].file[copy].bytes, FS_ALIGN);
}

/* One copy where the other belongs is a write that went astray: the other one counts. Both are the
 * end. */
static void test_copies_astray_are_damage(void **state)
{
    (void)state;
    start(1, true);
    end_all();
    static uint8_t first[FS_ALIGN];
    memcpy(first, sysfile_of(1, 0)->bytes, FS_ALIGN);
    memcpy(sysfile_of(1, 0)->bytes, sysfile_of(1, 1)->bytes, FS_ALIGN);
    start_with(1, 1, true, 1);
    fc_run(fc, 300);
    assert_int_equal(fc->node[1].exit_code, 0);
    end_all();
    memcpy(sysfile_of(1, 0)->bytes, sysfile_of(1, 1)->bytes, FS_ALIGN);
    memcpy(sysfile_of(1, 1)->bytes, first, FS_ALIGN);
    start_with(1, 1, true, 1);
    fc_run(fc, 100);
    assert_int_equal(fc->node[1].exit_code, EXIT_SYSFILE_DAMAGED);
}

static void test_errors_stop_the_node_by_name(void **state)
{
    (void)state;
    start(1, true);
    fake_lqh(fc, 1, 2)->save_error = ERR_FILE_IO_FAILED;
    fc_run(fc, 3000);
    assert_int_equal(fc->node[1].exit_code, EXIT_GCP_SAVE);
    end_all();
    start(1, true);
    fake_disk_error = IO_FULL;
    fc_run(fc, 3000);
    assert_int_equal(fc->node[1].exit_code, EXIT_SYSFILE_IO);
}

/* --- Peers that do not keep to the protocol. --- */

static uint32_t tamper_gsn;
static uint32_t tamper_word;
static uint32_t tamper_value;

static void tamper(struct fake_cluster *cluster, uint32_t from, uint32_t to, uint32_t *words,
                   uint32_t count)
{
    (void)from;
    (void)to;
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        if (kind_gsn(words[at]) != tamper_gsn) continue;
        words[at + SIGNAL_HEAD_WORDS + tamper_word] += tamper_value;
        cluster->tamper = NULL;
        return;
    }
}

static void test_a_forged_word_costs_the_link(void **state)
{
    (void)state;
    static const uint32_t gsns[] = {
        GSN_GCP_PREPARE,    GSN_GCP_PREPARECONF,  GSN_GCP_COMMIT,
        GSN_GCP_NODEFINISH, GSN_GCP_NODE_SAVEREQ, GSN_GCP_NODE_SAVECONF,
        GSN_COPY_GCIREQ,    GSN_COPY_GCICONF,     GSN_GCP_NODE_DURABLE_REP};
    for (uint32_t i = 0; i < sizeof gsns / sizeof gsns[0]; i++) {
        for (uint32_t sign = 0; sign < 2; sign++) {
            start(2, true);
            tamper_gsn = gsns[i];
            tamper_word = 1;
            tamper_value = sign == 0 ? 100 : UINT32_MAX;
            fc->tamper = tamper;
            fc_run(fc, 6000);
            assert_null(fc->tamper); /* It has come by. */
            for (uint32_t id = 1; id <= 2; id++) {
                if (!fc->node[id].dead) continue;
                assert_int_not_equal(fc->node[id].exit_code, EXIT_NDBREQUIRE);
            }
            end_all();
            fake_disk_reset();
        }
    }
    start(1, true);
}

/* What the master says of this node's logs is what this node has said: of all of them. */
static void test_ends_of_all_own_logs(void **state)
{
    (void)state;
    static const uint32_t pairs[3][2] = {{7, 0}, {9, 1}, {0, 0}};
    start(2, true);
    struct dih *dih = dih_at(2);
    memcpy(dih->gcp_node.save_lsn, pairs, sizeof pairs);
    for (uint32_t parts = 0; parts <= 3; parts++) {
        uint32_t words[2 * LOG_ENDS_ENTRY_MAX];
        struct section list = {.words = words};
        list.size = log_ends_entry(words, 1, 5, pairs, 2);
        /* They are those of the other node alone. */
        assert_false(dih_ends_name_own(dih, &list, 5));
        list.size += log_ends_entry(words + list.size, 2, 5, pairs, parts);
        assert_int_equal(dih_ends_name_own(dih, &list, 5), parts == 2); /* It has two. */
        assert_false(dih_ends_name_own(dih, &list, 6));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_epochs_advance_everywhere, setup, teardown),
        cmocka_unit_test_setup_teardown(test_first_epoch_before_anyone_is_started, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dump_orders_an_epoch_and_a_gci, setup, teardown),
        cmocka_unit_test_setup_teardown(test_late_node_is_named, setup, teardown),
        cmocka_unit_test_setup_teardown(test_node_that_holds_epochs_up_is_stopped, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gcis_become_durable, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_durable_before_all_have_it, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_durable_before_the_system_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_node_with_a_stuck_disk_stops, setup, teardown),
        cmocka_unit_test_setup_teardown(test_order_to_stop, setup, teardown),
        cmocka_unit_test_setup_teardown(test_asked_gci_is_closed_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_numbers_go_on_after_a_restart, setup, teardown),
        cmocka_unit_test_setup_teardown(test_orderly_stop_makes_all_durable, setup, teardown),
        cmocka_unit_test_setup_teardown(test_epochs_name_their_life, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_gci_ends_before_its_numbers_do, setup, teardown),
        cmocka_unit_test_setup_teardown(test_torn_copy_is_left_aside, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged_copy_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_lost_copy_costs_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_flipped_byte_is_seen, setup, teardown),
        cmocka_unit_test_setup_teardown(test_foreign_files_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_copies_astray_are_damage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_errors_stop_the_node_by_name, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_forged_word_costs_the_link, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ends_of_all_own_logs, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
