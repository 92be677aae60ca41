/* test_rejoin_files.c -- nodes with files come back: what they have of a former life is given up,
 * and whoever cannot take part in a start waits until the others run. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/unit/support/rejoin_fixture.h"

static int setup_files(void **state)
{
    fake_disk_reset();
    return fc_setup(state);
}

static void files(uint32_t nodes, uint32_t replicas)
{
    rejoin_configure(nodes, replicas);
    rejoin_config.diskless = 0;
    rejoin_config.gci_ms = 200;
    rejoin_config.epoch_ms = 20;
}

static void start_files(uint32_t nodes, uint32_t replicas)
{
    files(nodes, replicas);
    for (uint32_t id = 1; id <= nodes; id++)
        rejoin_make_node(id);
    rejoin_run_until_started(nodes, 2000);
    fc_run(fc_fc, 700);
}

static struct dih *dih_at(uint32_t id)
{
    return dih_of(node_block(fc_fc->node[id].node, BLOCK_DBDIH, 0));
}

/* Power is cut; what is on disk stays. */
static void end_all(void)
{
    fc_destroy(fc_fc);
    fc_init(fc_fc);
    fc_fc->verbose = getenv("FC_VERBOSE") != NULL;
}

/* Every system file names all nodes, as members of the same incarnation. */
static void check_files(uint32_t nodes)
{
    for (uint32_t id = 1; id <= nodes; id++) {
        const struct sysfile *now = &dih_at(id)->sysfile.now;
        assert_int_equal(node_mask_count(&now->members), nodes);
        assert_int_equal(now->incarnation, dih_at(1)->sysfile.now.incarnation);
        assert_in_range(now->gci + 1u, dih_at(1)->sysfile.now.gci, dih_at(1)->sysfile.now.gci + 2u);
    }
}

/* With its files, up to the last GCI that they are known to have. */
static void expect_own_rows(uint32_t id, uint32_t gci)
{
    const struct fake_worker *lqh = fake_lqh(fc_fc, id, 1);
    assert_int_equal(lqh->redo_created, 0);
    assert_in_range(lqh->recover.restart_gci, gci, gci + 1);
    assert_int_equal(lqh->recover.running, 1);
    assert_int_equal(lqh->include.gci, lqh->recover.restart_gci);
}

static void expect_all_rows(uint32_t id)
{
    const struct fake_worker *lqh = fake_lqh(fc_fc, id, 1);
    assert_int_equal(lqh->redo_created, 1);
    assert_int_equal(lqh->recover.restart_gci, 0);
    assert_int_equal(lqh->include.gci, 0);
}

static void test_a_node_comes_back(void **state)
{
    (void)state;
    for (uint32_t victim = 1; victim <= 4; victim++) {
        fake_disk_reset();
        start_files(4, 2);
        uint32_t own = dih_at(victim)->sysfile.now.gci;
        uint32_t life = dih_at(victim)->sysfile.now.incarnation;
        fc_kill(fc_fc, victim);
        fc_run(fc_fc, 1000);
        rejoin_make_node(victim);
        rejoin_run_until_started(4, 5000);
        rejoin_check_whole(4);
        expect_own_rows(victim, own);
        assert_int_equal(fake_lqh(fc_fc, victim, 1)->recover.incarnation, life);
        check_files(4);
        fc_run(fc_fc, 1000);
        check_files(4);
        uint32_t durable = dih_at(victim)->sysfile.now.gci;
        assert_true(durable > 5);
        end_all();
        for (uint32_t id = 1; id <= 4; id++)
            rejoin_make_node(id);
        rejoin_run_until_started(4, 2000);
        assert_int_equal(fake_lqh(fc_fc, victim, 1)->redo_created, 0);
        assert_in_range(fake_lqh(fc_fc, victim, 1)->recover.restart_gci, durable, durable + 1);
        end_all();
    }
}

/* Node 2 was away when the others went down: they start at once, and it comes behind them. */
static void test_a_stale_node_waits(void **state)
{
    (void)state;
    for (uint32_t stale = 1; stale <= 4; stale++) {
        fake_disk_reset();
        start_files(4, 2);
        uint32_t own = dih_at(stale)->sysfile.now.gci;
        fc_kill(fc_fc, stale);
        fc_run(fc_fc, 1500);
        end_all();
        for (uint32_t id = 1; id <= 4; id++)
            rejoin_make_node(id);
        rejoin_run_until_started(4, 5000);
        expect_own_rows(stale, own);
        assert_int_equal(fake_lqh(fc_fc, stale, 1)->recover.incarnation,
                         dih_at(stale % 4 + 1)->sysfile.now.incarnation);
        assert_int_equal(fake_lqh(fc_fc, stale % 4 + 1, 1)->redo_created, 0);
        rejoin_check_whole(4);
        check_files(4);
        end_all();
    }
}

static void damage(uint32_t id)
{
    fake_file(id, "D1/sysfile.0")->bytes[700] ^= 1;
    fake_file(id, "D1/sysfile.1")->bytes[700] ^= 1;
}

static void lose(uint32_t id)
{
    memset(fake_file(id, "D1/sysfile.0"), 0, sizeof(struct fake_file));
    memset(fake_file(id, "D1/sysfile.1"), 0, sizeof(struct fake_file));
}

static void leave_checkpoint(uint32_t id)
{
    struct fake_file *file = fake_file(id, "");
    strcpy(file->name, "LCP/T5F0");
    file->size = 4096;
}

/* System files damaged, or gone while there is a checkpoint, or all files gone; while the others
 * run, and while all are down. */
static void test_files_are_lost(void **state)
{
    (void)state;
    for (uint32_t how = 0; how < 3; how++) {
        for (uint32_t down = 0; down < 2; down++) {
            fake_disk_reset();
            start_files(2, 2);
            if (down)
                end_all();
            else
                fc_kill(fc_fc, 2);
            if (!down) fc_run(fc_fc, 300);
            if (how == 0) damage(2);
            if (how > 0) lose(2);
            if (how == 1) leave_checkpoint(2);
            if (down) rejoin_make_node(1);
            rejoin_make_node(2);
            rejoin_run_until_started(2, 5000);
            assert_null(fake_file(2, "LCP/T5F0"));
            rejoin_check_whole(2);
            check_files(2);
            end_all();
        }
    }
}

/* Nobody has what counts: nobody starts, and nobody's files are touched. */
static void test_all_are_damaged(void **state)
{
    (void)state;
    start_files(2, 2);
    end_all();
    damage(1);
    damage(2);
    rejoin_make_node(1);
    rejoin_make_node(2);
    fc_run(fc_fc, 3000);
    for (uint32_t id = 1; id <= 2; id++) {
        assert_false(fc_fc->node[id].dead);
        assert_false(rejoin_is_started(id));
        assert_non_null(fake_file(id, "D1/sysfile.0"));
    }
}

/* What becomes of the newest copy of a system file that alone has the newest GCI. */
enum taken { TAKEN_AWAY, TAKEN_EMPTY, TAKEN_CUT, TAKEN_OLDER, TAKEN_WAYS };

static void take(uint32_t id, uint32_t copy, uint32_t way, const struct fake_file *older)
{
    struct fake_file *file = fake_file(id, copy == 0 ? "D1/sysfile.0" : "D1/sysfile.1");
    if (way == TAKEN_AWAY) memset(file, 0, sizeof *file);
    if (way == TAKEN_EMPTY) file->size = 0;
    if (way == TAKEN_CUT) file->size = 512;
    if (way == TAKEN_OLDER) *file = *older;
}

/* Two nodes are cut off when one system file of each has a GCI that is durable, and the other one
 * has not. Returns that GCI; `copy` gets which it is, by node. */
static uint32_t end_with_lone_copies(struct fake_file older[3][SYSFILE_COPIES], uint32_t *copy)
{
    fake_disk_reset();
    start_files(2, 2);
    for (uint32_t id = 1; id <= 2; id++) {
        older[id][0] = *fake_file(id, "D1/sysfile.0");
        older[id][1] = *fake_file(id, "D1/sysfile.1");
    }
    fc_run(fc_fc, 1000);
    uint32_t durable = fake_tc(fc_fc, 1, 1)->durable;
    while (fake_tc(fc_fc, 1, 1)->durable == durable || !dih_at(1)->sysfile.lone ||
           !dih_at(2)->sysfile.lone)
        fc_run(fc_fc, 1);
    for (uint32_t id = 1; id <= 2; id++)
        copy[id] = (uint32_t)(dih_at(id)->sysfile.sequence % SYSFILE_COPIES);
    durable = fake_tc(fc_fc, 1, 1)->durable;
    end_all();
    return durable;
}

/* That of one node is missed, and the other node has it. That of both is missed, and nobody starts
 * without it: with the files back all is there, and with what is left in their place, what is
 * left. */
static void test_newest_copy_is_taken(void **state)
{
    static struct fake_file older[3][SYSFILE_COPIES];
    static struct fake_disk disks[3];
    uint32_t copy[3] = {0};
    (void)state;
    for (uint32_t way = 0; way < TAKEN_WAYS; way++) {
        uint32_t durable = end_with_lone_copies(older, copy);
        take(2, copy[2], way, &older[2][copy[2]]);
        rejoin_make_node(1);
        rejoin_make_node(2);
        rejoin_run_until_started(2, 5000);
        assert_int_equal(fake_lqh(fc_fc, 1, 1)->recover.restart_gci, durable);
        expect_own_rows(2, durable - 1u); /* What came behind them is copied. */
        check_files(2);
        end_all();

        durable = end_with_lone_copies(older, copy);
        memcpy(disks, fake_disks, sizeof disks);
        for (uint32_t id = 1; id <= 2; id++)
            take(id, copy[id], way, &older[id][copy[id]]);
        rejoin_make_node(1);
        rejoin_make_node(2);
        fc_run(fc_fc, 3000);
        for (uint32_t id = 1; id <= 2; id++)
            assert_true(!fc_fc->node[id].dead && !rejoin_is_started(id));
        end_all();
        for (uint32_t back = 0; back < 2; back++) {
            memcpy(fake_disks, disks, sizeof disks);
            for (uint32_t id = 1; id <= 2 && back == 0; id++) {
                struct fake_file *left =
                    fake_file(id, copy[id] != 0 ? "D1/sysfile.0" : "D1/sysfile.1");
                struct fake_file *gone =
                    fake_file(id, copy[id] == 0 ? "D1/sysfile.0" : "D1/sysfile.1");
                memcpy(gone->bytes, left->bytes, sizeof gone->bytes);
            }
            rejoin_make_node(1);
            rejoin_make_node(2);
            rejoin_run_until_started(2, 5000);
            assert_int_equal(fake_lqh(fc_fc, 1, 1)->recover.restart_gci, durable - 1 + back);
            end_all();
        }
    }
}

/* Without the switch they end, as ever. */
static void test_without_the_switch(void **state)
{
    (void)state;
    start_files(2, 2);
    fc_kill(fc_fc, 2);
    fc_run(fc_fc, 1500);
    end_all();
    rejoin_config.survive = 0;
    rejoin_make_node(1);
    rejoin_make_node(2);
    fc_run(fc_fc, 500);
    assert_true(fc_fc->node[2].dead);
    assert_int_equal(fc_fc->node[2].exit_code, EXIT_DATA_STALE);
}

/* One that gives its data up on purpose. */
static void test_initial_node_restart(void **state)
{
    (void)state;
    start_files(2, 2);
    fc_kill(fc_fc, 2);
    fc_run(fc_fc, 300);
    rejoin_config.initial_start = 1;
    rejoin_make_node(2);
    rejoin_config.initial_start = 0;
    rejoin_run_until_started(2, 5000);
    rejoin_check_whole(2);
    expect_all_rows(2);
}

/* It finds damage while it opens or reads: it ends once, then it gets all rows. */
static void test_own_files_are_damaged(void **state)
{
    (void)state;
    for (uint32_t opening = 0; opening < 2; opening++) {
        fake_disk_reset();
        start_files(2, 2);
        fc_kill(fc_fc, 2);
        fc_run(fc_fc, 300);
        rejoin_make_node(2);
        struct fake_worker *lqh = fake_lqh(fc_fc, 2, 1);
        lqh->open_fails = opening == 1 ? EXIT_REDO_DAMAGED : 0;
        lqh->recover_fails = EXIT_LCP_DAMAGED;
        fc_run(fc_fc, 500);
        assert_true(fc_fc->node[2].dead);
        assert_int_equal(fc_fc->node[2].exit_code, EXIT_DATA_GIVEN_UP);
        assert_true(rejoin_is_started(1));
        rejoin_make_node(2);
        rejoin_run_until_started(2, 5000);
        expect_all_rows(2);
        rejoin_check_whole(2);
        check_files(2);
        end_all();
    }
}

/* The mark: from the moment that it takes part in writes until its return is complete. */
static void test_cut_off(void **state)
{
    (void)state;
    start_files(2, 2);
    fc_kill(fc_fc, 2);
    fc_run(fc_fc, 300);
    rejoin_make_node(2);
    while (fake_lqh(fc_fc, 2, 1)->include.node == 0)
        fc_run(fc_fc, 1);
    fc_kill(fc_fc, 2);
    fc_run(fc_fc, 100);
    rejoin_make_node(2);
    rejoin_run_until_started(2, 5000);
    expect_all_rows(2);
    rejoin_check_whole(2);
    uint32_t own = dih_at(2)->sysfile.now.gci;
    fc_kill(fc_fc, 2);
    fc_run(fc_fc, 100);
    rejoin_make_node(2);
    rejoin_run_until_started(2, 5000);
    expect_own_rows(2, own);
}

/* Its return was cut off, then the last other copy is lost: a new cluster may begin there. */
static void test_initial_after_cut_off(void **state)
{
    (void)state;
    start_files(2, 2);
    uint32_t first = dih_at(1)->sysfile.now.incarnation;
    end_all();
    for (uint32_t id = 1; id <= 2; id++)
        rejoin_make_node(id);
    rejoin_run_until_started(2, 2000); /* The next incarnation. */
    fc_kill(fc_fc, 2);
    fc_run(fc_fc, 300);
    rejoin_make_node(2);
    while (fake_lqh(fc_fc, 2, 1)->include.node == 0)
        fc_run(fc_fc, 1);
    end_all();
    lose(1);
    rejoin_config.initial_start = 1;
    for (uint32_t id = 1; id <= 2; id++)
        rejoin_make_node(id);
    rejoin_run_until_started(2, 2000);
    rejoin_config.initial_start = 0;
    fc_run(fc_fc, 300);
    check_files(2);
    assert_int_equal(dih_at(2)->sysfile.now.incarnation, first); /* Nothing was known of any. */
}

/* Both copies of the node's system file say this GCI. */
static void claim_gci(uint32_t id, uint32_t gci, bool alone)
{
    static const char *const names[] = {"D1/sysfile.0", "D1/sysfile.1"};
    for (uint32_t copy = 0; copy < 2; copy++) {
        struct fake_file *file = fake_file(id, names[copy]);
        struct file_header header;
        struct sysfile content;
        if (file == NULL) fail_msg("no %s", names[copy]);
        memcpy(&header, file->bytes, sizeof header);
        assert_true(sysfile_content(file->bytes, file->size, &content));
        content.gci = gci;
        if (alone) memset(&content.members, 0, sizeof content.members);
        if (alone) node_mask_add(&content.members, id);
        sysfile_seal(file->bytes, &header, &content);
    }
}

/* The others come back without node 2, who claims a GCI `more` than the one they have. */
static uint32_t start_without(uint32_t more, bool alone)
{
    start_files(4, 2);
    fc_kill(fc_fc, 2);
    fc_run(fc_fc, 1500);
    uint32_t gci = dih_at(1)->sysfile.now.gci;
    end_all();
    claim_gci(2, gci + more, alone);
    rejoin_config.start_partial_timeout_ms = 200;
    rejoin_config.start_partitioned_timeout_ms = 300;
    rejoin_make_node(1), rejoin_make_node(3), rejoin_make_node(4);
    fc_run(fc_fc, 2000);
    assert_true(rejoin_is_started(1) && rejoin_is_started(3) && rejoin_is_started(4));
    return gci;
}

static void make_with(uint32_t id, uint32_t initial, uint32_t accept)
{
    rejoin_config.initial_start = initial;
    rejoin_config.accept_data_loss = accept;
    rejoin_make_node(id);
    rejoin_config.initial_start = rejoin_config.accept_data_loss = 0;
}

static void expect_refusal(uint32_t exit_code)
{
    fc_run(fc_fc, 2000);
    assert_true(fc_fc->node[2].dead);
    assert_int_equal(fc_fc->node[2].exit_code, exit_code);
    assert_non_null(fake_file(2, "D1/sysfile.0"));
    assert_true(rejoin_is_started(1) && rejoin_is_started(3) && rejoin_is_started(4));
}

/* The cluster has gone on from an earlier GCI than this node has, which was durable: it says so,
 * and nothing is removed before somebody decides. */
static void test_off_the_line(void **state)
{
    (void)state;
    start_without(20, false);
    make_with(2, 0, 0);
    expect_refusal(EXIT_DATA_NEWER);
    make_with(2, 1, 0);
    expect_refusal(EXIT_DATA_LAST_COPY);
    make_with(2, 1, 1);
    rejoin_run_until_started(4, 5000);
    expect_all_rows(2);
    rejoin_check_whole(4);
    check_files(4);
    end_all();
    fake_disk_reset(); /* One GCI, and it was alone. */
    start_without(1, true);
    make_with(2, 0, 0);
    expect_refusal(EXIT_DATA_NEWER);
}

/* --initial on the only one with the newest data, before or after the older one has come: it is
 * refused, and the older one does not begin alone, however long it waits. */
static void test_initial_meets_an_older_one(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 4; round++) {
        uint32_t current = 1 + round % 2;
        uint32_t stale = 3 - current;
        fake_disk_reset();
        start_files(2, 2);
        fc_kill(fc_fc, stale);
        fc_run(fc_fc, 1500);
        uint32_t gci = dih_at(current)->sysfile.now.gci;
        end_all();
        rejoin_config.start_partial_timeout_ms = 200;
        rejoin_config.start_partitioned_timeout_ms = 600;
        if (round < 2) rejoin_make_node(stale);
        if (round < 2) fc_run(fc_fc, 400);
        make_with(current, 1, 0);
        if (round >= 2) fc_run(fc_fc, 400);
        if (round >= 2) rejoin_make_node(stale);
        fc_run(fc_fc, 5000);
        assert_true(fc_fc->node[current].dead);
        assert_int_equal(fc_fc->node[current].exit_code, EXIT_DATA_LAST_COPY);
        assert_false(fc_fc->node[stale].dead);
        assert_false(rejoin_is_started(stale));
        make_with(current, 1, 0); /* Again, now that the other one stands aside. */
        fc_run(fc_fc, 5000);
        assert_true(fc_fc->node[current].dead);
        assert_int_equal(fc_fc->node[current].exit_code, EXIT_DATA_LAST_COPY);
        rejoin_make_node(current);
        rejoin_run_until_started(2, 5000);
        assert_true(fake_lqh(fc_fc, current, 1)->recover.restart_gci >= gci);
        end_all();
    }
}

/* The one with the newest data cannot use it, and stands aside: it knows that the other one's is
 * too old. With --i-accept-data-loss that counts no more. */
static void test_who_stands_aside_knows(void **state)
{
    (void)state;
    for (uint32_t current = 1; current <= 2; current++) {
        uint32_t stale = 3 - current;
        fake_disk_reset();
        start_files(2, 2);
        fc_kill(fc_fc, stale);
        fc_run(fc_fc, 1500);
        uint32_t gci = dih_at(current)->sysfile.now.gci;
        end_all();
        rejoin_config.start_partial_timeout_ms = 200;
        rejoin_config.start_partitioned_timeout_ms = 300;
        rejoin_config.stand_aside = 1;
        rejoin_make_node(current);
        rejoin_config.stand_aside = 0;
        rejoin_make_node(stale);
        fc_run(fc_fc, 5000);
        for (uint32_t id = 1; id <= 2; id++) {
            assert_false(fc_fc->node[id].dead);
            assert_false(rejoin_is_started(id));
        }
        end_all();
        rejoin_make_node(current); /* The damage was none. */
        rejoin_make_node(stale);
        rejoin_run_until_started(2, 5000);
        assert_true(fake_lqh(fc_fc, current, 1)->recover.restart_gci >= gci);
        fc_kill(fc_fc, stale);
        fc_run(fc_fc, 1500);
        end_all();
        rejoin_make_node(stale);
        rejoin_config.stand_aside = 1;
        make_with(current, 1, 1);
        rejoin_config.stand_aside = 0;
        rejoin_run_until_started(2, 5000);
        expect_all_rows(current);
        rejoin_check_whole(2);
        end_all();
    }
}

/* The first thing that node 2 says comes before node 1 knows of its link, and counts for nothing.
 */
static void lose_first_words(struct fake_cluster *cluster, uint32_t from, uint32_t to,
                             uint32_t *words, uint32_t count)
{
    if (from != 2 || to != 1) return;
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        if (kind_gsn(words[at]) != GSN_CM_REGREQ) continue;
        words[at] += GSN_CM_HEARTBEAT - GSN_CM_REGREQ;
        cluster->tamper = NULL;
        return;
    }
}

/* The healthy one asks before it has heard that the other one stands aside, or when that reads its
 * files and does not know it yet: it does not count on it. */
static void test_who_stands_aside_agrees_to_nobody(void **state)
{
    (void)state;
    for (uint32_t first = 1; first <= 2; first++) {
        fake_disk_reset();
        start_files(2, 2);
        end_all();
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t id = i == 0 ? first : 3 - first;
            rejoin_config.stand_aside = id == 2;
            fc_fc->tamper = lose_first_words;
            rejoin_make_node(id);
            fc_fc->node[id].allowed[3 - id] = true; /* Their link is up at once. */
            fc_run(fc_fc, 100);
        }
        rejoin_config.stand_aside = 0;
        rejoin_run_until_started(2, 5000);
        assert_null(fc_fc->tamper);
        assert_true(rejoin_cntr_at(2)->rejoin.running != 0); /* It came when node 1 was started. */
        rejoin_check_whole(2);
        end_all();
    }
}

/* Each was started alone, from the same past: their lives are two, whichever has the greater
 * number, and whether the older one's comes to the other one's life or to the next. */
static void test_two_lives_of_one_past(void **state)
{
    (void)state;
    uint32_t compared = 0;
    for (uint32_t turn = 0; turn < 8; turn++) {
        uint32_t incarnation[3];
        fake_disk_reset();
        start_files(2, 2);
        end_all();
        rejoin_config.start_partial_timeout_ms = 200;
        rejoin_config.start_partitioned_timeout_ms = 300;
        for (uint32_t id = 1; id <= 2; id++) {
            fc_fc->seed = (turn / 2u + id) * 1000; /* Two starts draw different numbers. */
            rejoin_make_node(id);
            fc_run(fc_fc, id == 1 ? 2500 : 6000);
            assert_true(rejoin_is_started(id));
            incarnation[id] = dih_at(id)->sysfile.now.incarnation;
            if (id == 1 || turn % 2u == 0) end_all();
        }
        assert_int_not_equal(incarnation[1], incarnation[2]);
        if (turn % 2u == 0 && incarnation[1] > incarnation[2]) continue; /* Node 2's is stale. */
        if (turn % 2u == 0) rejoin_make_node(2);
        rejoin_make_node(1);
        fc_run(fc_fc, 4000);
        assert_true(fc_fc->node[1].dead);
        assert_int_equal(fc_fc->node[1].exit_code, EXIT_DATA_NEWER);
        assert_true(rejoin_is_started(2));
        end_all();
        compared++;
    }
    assert_true(compared > 4);
}

/* One GCI that the others should have had too, and have not: it was not declared. */
static void test_one_gci_off_the_line(void **state)
{
    (void)state;
    start_without(1, false);
    make_with(2, 0, 0);
    rejoin_run_until_started(4, 5000);
    expect_all_rows(2);
    rejoin_check_whole(4);
    check_files(4);
}

static struct cntr_data data_of(uint32_t incarnation, uint32_t gci)
{
    return (struct cntr_data){.has_data = 1, .incarnation = incarnation, .gci = gci};
}

/* Former incarnations ended at 1: 10, 3: 30 (2 and 3 share it), 5: 50; now it is 6. */
static void test_the_line(void **state)
{
    (void)state;
    struct cntr_ended ended = {3, {{1, 10}, {3, 30}, {5, 50}}};
    struct cntr_data data = data_of(6, 70);
    assert_true(cntr_ended_has(&ended, 6, &data));
    data = data_of(7, 40);
    assert_false(cntr_ended_has(&ended, 6, &data));
    data = data_of(1, 10);
    assert_true(cntr_ended_has(&ended, 6, &data));
    data = data_of(1, 11); /* Nobody was told of that one. */
    assert_false(cntr_ended_has(&ended, 6, &data));
    data = data_of(2, 30);
    assert_true(cntr_ended_has(&ended, 6, &data));
    data = data_of(4, 51);
    assert_false(cntr_ended_has(&ended, 6, &data));
    data = data_of(5, 50);
    data.ended = (struct cntr_ended){2, {{1, 10}, {3, 30}}};
    assert_true(cntr_ended_has(&ended, 6, &data));
    data.ended.pair[1][1] = 29; /* Another cluster's past. */
    assert_false(cntr_ended_has(&ended, 6, &data));
    data.ended = (struct cntr_ended){1, {{6, 60}}};
    assert_false(cntr_ended_has(&ended, 6, &data));
    ended.count = ENDED_MAX; /* What came before the first one is forgotten. */
    for (uint32_t i = 0; i < ENDED_MAX; i++) {
        ended.pair[i][0] = 10 + i;
        ended.pair[i][1] = 100 + i;
    }
    data = data_of(9, 50);
    assert_false(cntr_ended_has(&ended, 100, &data));
    data = data_of(10, 50);
    assert_true(cntr_ended_has(&ended, 100, &data));
    data.ended = (struct cntr_ended){2, {{3, 20}, {9, 30}}};
    assert_true(cntr_ended_has(&ended, 100, &data));
}

/* Up to which GCI both have the same past, with the same former incarnations. */
static void test_the_shared_past(void **state)
{
    (void)state;
    struct cntr_ended ended = {3, {{1, 10}, {3, 30}, {5, 50}}};
    struct cntr_data data = data_of(6, 70);
    assert_int_equal(cntr_ended_shared(&ended, 6, &data), 70);
    data = data_of(5, 51);
    assert_int_equal(cntr_ended_shared(&ended, 6, &data), 50);
    data = data_of(4, 45);
    assert_int_equal(cntr_ended_shared(&ended, 6, &data), 45);
    data = data_of(7, 80); /* Nothing is known of it. */
    assert_int_equal(cntr_ended_shared(&ended, 6, &data), 0);
    data.ended = (struct cntr_ended){3, {{1, 10}, {3, 30}, {5, 40}}};
    assert_int_equal(cntr_ended_shared(&ended, 6, &data), 40);
    data.ended.pair[2][1] = 60;
    assert_int_equal(cntr_ended_shared(&ended, 6, &data), 50);
    data.ended.pair[2][1] = 50;
    assert_int_equal(cntr_ended_shared(&ended, 6, &data), 50);
    data.ended.pair[2][0] = 6; /* The cluster is in it. */
    assert_int_equal(cntr_ended_shared(&ended, 6, &data), 30);
    data = data_of(2, 30);
    data.ended = (struct cntr_ended){1, {{1, 12}}};
    assert_int_equal(cntr_ended_shared(&ended, 6, &data), 10);
    ended.count = ENDED_MAX;
    for (uint32_t i = 0; i < ENDED_MAX; i++) {
        ended.pair[i][0] = 10 + i;
        ended.pair[i][1] = 100 + i;
    }
    assert_int_equal(cntr_ended_shared(&ended, 100, &data), 30); /* So old that nobody knows. */
}

/* All lose power after each step of a return: a start of all follows, and all are there. */
static void test_power_cut_after_each_step(void **state)
{
    (void)state;
    bool done = false;
    for (uint32_t steps = 0; !done; steps += 5) {
        fake_disk_reset();
        start_files(2, 2);
        fc_kill(fc_fc, 2);
        fc_run(fc_fc, 500);
        rejoin_make_node(2);
        rejoin_cursor = 0;
        for (uint32_t i = 0; i < steps; i++)
            rejoin_one_step(2);
        done = rejoin_is_started(2);
        uint32_t durable = fake_tc(fc_fc, 1, 1)->durable;
        end_all();
        rejoin_make_node(1);
        rejoin_make_node(2);
        rejoin_run_until_started(2, 6000);
        rejoin_check_whole(2);
        assert_true(fake_lqh(fc_fc, 1, 1)->recover.restart_gci >= durable);
        if (fake_lqh(fc_fc, 2, 1)->redo_created == 0 && fake_lqh(fc_fc, 2, 1)->recover.running == 0)
            assert_true(fake_lqh(fc_fc, 2, 1)->recover.restart_gci >= durable);
        end_all();
    }
}

/* Nodes 2 and 4 come back at the same time, and are in the files of all; or all lose power in the
 * middle of it. */
static void test_two_groups_at_once(void **state)
{
    (void)state;
    bool done = false;
    uint32_t both = 0; /* At work on it at the same time. */
    for (uint32_t steps = 0; !done; steps += 17) {
        fake_disk_reset();
        start_files(4, 2);
        fc_kill(fc_fc, 2);
        fc_kill(fc_fc, 4);
        fc_run(fc_fc, 500);
        rejoin_make_node(2);
        rejoin_make_node(4);
        rejoin_cursor = 0;
        for (uint32_t i = 0; i < steps; i++)
            rejoin_one_step(4);
        done = rejoin_is_started(2) && rejoin_is_started(4);
        both += node_mask_count(&rejoin_cntr_at(1)->rejoin.joined) == 2;
        uint32_t durable = fake_tc(fc_fc, 1, 1)->durable;
        if (done) {
            rejoin_run_until_started(4, 100);
            rejoin_check_whole(4);
            check_files(4);
        }
        end_all();
        for (uint32_t id = 1; id <= 4; id++)
            rejoin_make_node(id);
        rejoin_run_until_started(4, 8000);
        rejoin_check_whole(4);
        for (uint32_t id = 1; id <= 4; id++) {
            if (fake_lqh(fc_fc, id, 1)->redo_created != 0) continue;
            if (fake_lqh(fc_fc, id, 1)->recover.running != 0) continue; /* It copies the rest. */
            assert_true(fake_lqh(fc_fc, id, 1)->recover.restart_gci >= durable);
        }
        end_all();
    }
    if (both <= 3) fail_msg("both at work in %u of the cuts", both);
}

/* One of them wants its checkpoint while that of the other one is being written: it is not made to
 * wait. */
static void test_two_checkpoints_in_one_round(void **state)
{
    (void)state;
    start_files(4, 2);
    fc_kill(fc_fc, 2);
    fc_kill(fc_fc, 4);
    fc_run(fc_fc, 500);
    rejoin_make_node(2);
    rejoin_make_node(4);
    rejoin_dict_at(4)->hold_copy = true;
    rejoin_hold_checkpoint = 2;
    fc_run(fc_fc, 1500);
    assert_int_equal(dih_at(2)->include.state, DIH_IN_CHECKING);
    assert_true(node_mask_has(&dih_at(1)->lcp_master.waiting, 2));
    struct copy_start_conf conf = {.sender_data = rejoin_cntr_at(4)->rejoin.own_rank};
    sig_send(&rejoin_dict_at(4)->block, block_ref(4, BLOCK_NDBCNTR, 0), GSN_COPY_START_CONF, PRIO_B,
             &conf);
    fc_run(fc_fc, 2500);
    assert_true(rejoin_is_started(4) && !rejoin_is_started(2));
    rejoin_hold_checkpoint = 0;
    rejoin_backup_go_on(2);
    rejoin_run_until_started(4, 3000);
    rejoin_check_whole(4);
    check_files(4);
    end_all();
}

static void test_death_after_each_step(void **state)
{
    (void)state;
    static const uint32_t victims[] = {4, 1};
    for (uint32_t v = 0; v < 2; v++) {
        bool done = false;
        for (uint32_t steps = 0; !done; steps += 23) {
            fake_disk_reset();
            start_files(4, 2);
            fc_kill(fc_fc, 4);
            fc_run(fc_fc, 60);
            rejoin_make_node(4);
            fc_run(fc_fc, 1);
            rejoin_cursor = 0;
            for (uint32_t i = 0; i < steps; i++)
                rejoin_one_step(4);
            done = rejoin_is_started(4);
            fc_kill(fc_fc, victims[v]);
            fc_run(fc_fc, 400);
            assert_true(rejoin_is_started(2) && rejoin_is_started(3));
            if (victims[v] == 1 && fc_fc->node[4].dead)
                assert_int_equal(fc_fc->node[4].exit_code, EXIT_OTHER_NODE_FAILED);
            rejoin_all_come_back(4);
            check_files(4);
            end_all();
        }
    }
}

/* A disk that takes no checkpoints does not keep all nodes busy with trying; when it does again the
 * next one comes soon. */
static void test_failing_checkpoints_pause(void **state)
{
    (void)state;
    start_files(2, 2);
    fake_redo_node = rejoin_fail_checkpoint = 2;
    rejoin_checkpoints = 0;
    fc_run(fc_fc, 20000);
    assert_in_range(rejoin_checkpoints / 2, 4, 10);
    rejoin_fail_checkpoint = rejoin_checkpoints = 0;
    for (uint32_t i = 0; i < 1000 && rejoin_checkpoints < 2; i++)
        fc_run(fc_fc, 5);
    fake_redo_node = 0;
    fc_run(fc_fc, 100);
    assert_true(rejoin_checkpoints >= 2);
    assert_int_equal(dih_at(2)->lcp_node.last.failed, 0);
    end_all();
}

/* So many rounds there are when so much more stands in each log, and the disks take their time. */
static uint32_t rounds_after(uint32_t mbytes)
{
    rejoin_checkpoints = 0;
    fake_redo_bytes += mbytes << 20;
    fc_run(fc_fc, 4000);
    return rejoin_checkpoints / 2u;
}

/* A round because the log has grown waits until the log has grown by what is worth a round: 4 MB as
 * configured, and a quarter of what the last one wrote. A log that is full enough does not wait. */
static void test_growth(void **state)
{
    (void)state;
    start_files(2, 2);
    fake_redo_fill = 10;
    rejoin_checkpoint_mbytes = 64;
    assert_int_equal(rounds_after(2), 0);
    assert_int_equal(rounds_after(2), 1); /* 4 MB; nothing was written before. */
    assert_int_equal(rounds_after(8), 0);
    assert_int_equal(rounds_after(6), 0);
    assert_int_equal(rounds_after(4), 1); /* 18 MB; a quarter are 16. */
    rejoin_checkpoint_mbytes = 2;
    fake_redo_fill = 30;
    assert_int_equal(rounds_after(4), 0);  /* Less than 5 % of the log. */
    assert_int_equal(rounds_after(10), 1); /* More: no wait for 16 MB. */
    fake_redo_fill = 10;
    assert_int_equal(rounds_after(2), 0);
    assert_int_equal(rounds_after(2), 1); /* Little was written: 4 MB are enough. */
    rejoin_checkpoint_mbytes = fake_redo_bytes = 0;
    fake_redo_fill = 60;
    end_all();
}

/* And its log fills up: before operations are refused the node goes, and comes back with a disk
 * that takes checkpoints. */
static void test_failing_checkpoints_fill_the_log(void **state)
{
    (void)state;
    start_files(2, 2);
    fake_redo_node = rejoin_fail_checkpoint = 2;
    fake_redo_fill = 80;
    for (uint32_t i = 0; i < 200 && !fc_fc->node[2].dead; i++)
        fc_run(fc_fc, 50);
    fake_redo_node = rejoin_fail_checkpoint = 0;
    fake_redo_fill = 60;
    assert_true(fc_fc->node[2].dead && rejoin_is_started(1));
    assert_int_equal(fc_fc->node[2].exit_code, EXIT_LCP_STUCK);
    fc_run(fc_fc, 300);
    rejoin_make_node(2);
    rejoin_run_until_started(2, 2000);
    rejoin_check_whole(2);
    check_files(2);
    end_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_failing_checkpoints_pause, setup_files, fc_teardown),
        cmocka_unit_test_setup_teardown(test_growth, setup_files, fc_teardown),
        cmocka_unit_test_setup_teardown(test_failing_checkpoints_fill_the_log, setup_files,
                                        fc_teardown),
        cmocka_unit_test_setup_teardown(test_a_node_comes_back, setup_files, fc_teardown),
        cmocka_unit_test_setup_teardown(test_a_stale_node_waits, setup_files, fc_teardown),
        cmocka_unit_test_setup_teardown(test_files_are_lost, setup_files, fc_teardown),
        cmocka_unit_test_setup_teardown(test_all_are_damaged, setup_files, fc_teardown),
        cmocka_unit_test_setup_teardown(test_newest_copy_is_taken, setup_files, fc_teardown),
        cmocka_unit_test_setup_teardown(test_without_the_switch, setup_files, fc_teardown),
        cmocka_unit_test_setup_teardown(test_initial_node_restart, setup_files, fc_teardown),
        cmocka_unit_test_setup_teardown(test_own_files_are_damaged, setup_files, fc_teardown),
        cmocka_unit_test_setup_teardown(test_cut_off, setup_files, fc_teardown),
        cmocka_unit_test_setup_teardown(test_initial_after_cut_off, setup_files, fc_teardown),
        cmocka_unit_test_setup_teardown(test_off_the_line, setup_files, fc_teardown),
        cmocka_unit_test_setup_teardown(test_one_gci_off_the_line, setup_files, fc_teardown),
        cmocka_unit_test_setup_teardown(test_two_lives_of_one_past, setup_files, fc_teardown),
        cmocka_unit_test_setup_teardown(test_who_stands_aside_knows, setup_files, fc_teardown),
        cmocka_unit_test_setup_teardown(test_who_stands_aside_agrees_to_nobody, setup_files,
                                        fc_teardown),
        cmocka_unit_test_setup_teardown(test_initial_meets_an_older_one, setup_files, fc_teardown),
        cmocka_unit_test(test_the_line),
        cmocka_unit_test(test_the_shared_past),
        cmocka_unit_test_setup_teardown(test_power_cut_after_each_step, setup_files, fc_teardown),
        cmocka_unit_test_setup_teardown(test_two_groups_at_once, setup_files, fc_teardown),
        cmocka_unit_test_setup_teardown(test_two_checkpoints_in_one_round, setup_files,
                                        fc_teardown),
        cmocka_unit_test_setup_teardown(test_death_after_each_step, setup_files, fc_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
