/* test_gcp_include.c -- a node comes back into the epochs, saves and system files of a running
 * cluster, at any moment of them, and whoever dies meanwhile. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The test plays QMGR and NDBCNTR. Node 4 starts no earlier than in the middle: it is P.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "blocks/dbdih/dih_state.h"
#include "blocks/ndbcntr/cntr_decide.h"
#include "tests/unit/support/fake_disk.h"
#include "tests/unit/support/fake_step.h"
#include "tests/unit/support/fake_workers.h"

#define NODES       4u
#define P           4u
#define INCARNATION 7u /* QMGR's. */
#define LIFE        3u

static struct fake_cluster *fc;
static bool files;

/* --- NDBCNTR, QMGR, CMVMI: take what they are told. --- */

struct hand {
    struct block block;
    uint32_t got[GSN_TABLE];
};

static struct hand *hand_of(struct block *block)
{
    return (struct hand *)(void *)block;
}
static void hand_take(struct block *block, const struct signal *sig)
{
    hand_of(block)->got[sig->gsn]++;
}
#define TAKE(gsn)                                                                                  \
    {                                                                                              \
        GSN_##gsn, 0, gsn##_SECTIONS_MIN, gsn##_SECTIONS_MAX, gsn##_FROM, hand_take                \
    }
static const struct handler hand_handlers[] = {
    TAKE(READ_CONFIG_CONF),  TAKE(STTORRY),           TAKE(SYSFILE_START_CONF),
    TAKE(NODE_INCLUDE_CONF), TAKE(DIH_COMPLETE_CONF), TAKE(EVENT_REP),
    TAKE(SYSFILE_INFO_CONF), TAKE(LINK_UP_REP),       TAKE(LINK_DOWN_REP),
    TAKE(TAKEOVER_END_REP),  TAKE(LCP_STUCK_REP),
};
#define HANDS (sizeof hand_handlers / sizeof hand_handlers[0])
static const struct block_type hand_cntr = {"NDBCNTR", BLOCK_NDBCNTR, hand_handlers, HANDS, NULL};
static const struct block_type hand_qmgr = {"QMGR", BLOCK_QMGR, hand_handlers, HANDS, NULL};
static const struct block_type hand_cmvmi = {"CMVMI", BLOCK_CMVMI, hand_handlers, HANDS, NULL};

static struct hand *hand_at(uint32_t node)
{
    return hand_of(node_block(fc->node[node].node, BLOCK_NDBCNTR, 0));
}

/* --- LCPWRITER: a checkpoint takes no time, or as long as the test likes. --- */

struct backup_hand {
    struct block block;
    uint32_t rounds;
    uint32_t usable;
    bool fails; /* The next part fails. */
    bool full;  /* All parts fail. */
    bool holds; /* Nothing is answered. */
    uint32_t asked_by;
    struct lcp_part_conf held;
};

static struct backup_hand *lcpw_of(struct block *block)
{
    return (struct backup_hand *)(void *)block;
}
static struct dih *dih_at(uint32_t node)
{
    return dih_of(node_block(fc->node[node].node, BLOCK_DBDIH, 0));
}
static void lcpw_exec_LCP_PART_REQ(struct block *block, const struct signal *sig)
{
    struct backup_hand *backup = lcpw_of(block);
    struct lcp_part_conf conf = {
        .lcp_id = SIG_PAYLOAD(sig, lcp_part_req)->lcp_id,
        .fragments = 1,
        .failed = backup->fails || backup->full,
        .end_gci = dih_at(ref_node(block->ref))->gcp_node.gci_hi,
    };
    backup->fails = false;
    backup->rounds++;
    backup->asked_by = sig->sender;
    backup->held = conf;
    if (!backup->holds) sig_send(block, sig->sender, GSN_LCP_PART_CONF, PRIO_B, &conf);
}
static void backup_release(struct backup_hand *backup)
{
    backup->holds = false;
    sig_send(&backup->block, backup->asked_by, GSN_LCP_PART_CONF, PRIO_B, &backup->held);
}
static void lcpw_exec_LCP_USABLE_REQ(struct block *block, const struct signal *sig)
{
    struct lcp_usable_conf conf = {.lcp_id = SIG_PAYLOAD(sig, lcp_usable_req)->lcp_id};
    lcpw_of(block)->usable++;
    sig_send(block, sig->sender, GSN_LCP_USABLE_CONF, PRIO_B, &conf);
}
static const struct handler lcpw_handlers[] = {
    HANDLER(lcpw, LCP_PART_REQ, lcp_part_req),
    HANDLER(lcpw, LCP_USABLE_REQ, lcp_usable_req),
};
static const struct block_type lcpw_type = {"LCPWRITER", BLOCK_LCPWRITER, lcpw_handlers, 2, NULL};

static struct backup_hand *backup_at(uint32_t node, uint32_t instance)
{
    return lcpw_of(node_block(fc->node[node].node, BLOCK_LCPWRITER, instance));
}

/* --- The cluster. --- */

static struct node_config config_now(void)
{
    struct node_config config = fake_config(NODES, 2);
    config.diskless = !files;
    config.cluster_id = 1;
    config.survive = 1;
    config.epoch_ms = 4;
    config.gci_ms = 9;
    return config;
}

static void tell(uint32_t node, uint32_t block_no, uint32_t gsn, const void *payload,
                 uint32_t words, const struct section *section)
{
    signal_send(&hand_at(node)->block, block_ref(node, block_no, 0), gsn, PRIO_A, payload, words,
                section, section != NULL);
}
#define TELL(node, block_no, gsn, payload)                                                         \
    tell(node, block_no, gsn, payload, sizeof(*(payload)) / 4u, NULL)

static struct node_mask mask_of(uint32_t without)
{
    struct node_mask mask;
    memset(&mask, 0, sizeof mask);
    for (uint32_t id = 1; id <= NODES; id++) {
        if (fc_alive(fc, id) && id != without) node_mask_add(&mask, id);
    }
    return mask;
}

static void members_rep(uint32_t node, uint32_t president, const struct node_mask *members)
{
    struct members_rep rep = {
        .incarnation = INCARNATION, .president = president, .members = *members};
    uint32_t list[NODES * MEMBER_WORDS];
    uint32_t size = 0;
    for (uint32_t id = 1; id <= NODES; id++) {
        if (!node_mask_has(members, id)) continue;
        uint32_t member[MEMBER_WORDS] = {id, id, 2, 2};
        memcpy(list + size, member, sizeof member);
        size += MEMBER_WORDS;
    }
    struct section section = {.words = list, .size = size};
    tell(node, BLOCK_DBDIH, GSN_MEMBERS_REP, &rep, sizeof rep / 4u, &section);
}

static void make(uint32_t id)
{
    struct node_config config = config_now();
    struct node *node = fc_create(fc, id, &config);
    struct thread *main_thread = node_thread(node, 0);
    struct thread *worker = node_thread(node, 1);
    fc->node[id].host.io_submit = fake_disk_submit;
    block_create(main_thread, &hand_cmvmi, 0, sizeof(struct hand));
    block_create(main_thread, &hand_qmgr, 0, sizeof(struct hand));
    block_create(main_thread, &hand_cntr, 0, sizeof(struct hand));
    fs_create(main_thread, 0);
    dih_create(main_thread, 0);
    for (uint32_t i = 1; i <= 2; i++) {
        block_create(worker, &fake_tc_type, i, sizeof(struct fake_worker));
        block_create(worker, &fake_lqh_type, i, sizeof(struct fake_worker));
        block_create(worker, &lcpw_type, i, sizeof(struct backup_hand));
    }
    for (uint32_t peer = 1; peer <= NODES; peer++)
        fc->node[id].allowed[peer] = fc->node[peer].allowed[id] = true;
    struct read_config_req config_req = {0};
    struct sttor sttor = {.phase = 0};
    TELL(id, BLOCK_NDBFS, GSN_READ_CONFIG_REQ, &config_req);
    TELL(id, BLOCK_DBDIH, GSN_READ_CONFIG_REQ, &config_req);
    TELL(id, BLOCK_DBDIH, GSN_STTOR, &sttor);
}

static uint32_t failure_no; /* The newest. */

/* NDBCNTR of all survivors. */
static void lost(uint32_t node)
{
    struct node_lost_rep rep = {.failure_no = ++failure_no, .alive = mask_of(node)};
    rep.president = node_mask_next(&rep.alive, 0);
    node_mask_add(&rep.nodes, node);
    for (uint32_t id = 1; id <= NODES; id++) {
        if (!node_mask_has(&rep.alive, id)) continue;
        TELL(id, BLOCK_DBDIH, GSN_NODE_LOST_REP, &rep);
        for (uint32_t i = 1; i <= 2; i++)
            signal_send(&hand_at(id)->block, block_ref(id, BLOCK_DBTC, i), GSN_NODE_LOST_REP,
                        PRIO_A, &rep, sizeof rep / 4u, NULL, 0);
    }
}

/* Nodes 1 to 3 run, with former lives; P is lost. */
static void begin(bool with_files)
{
    uint32_t former[] = {1, 5, 2, 9};
    struct section list = {.words = former, .size = 4};
    struct sysfile_start_req start = {.gci = 9, .incarnation = LIFE};
    files = with_files;
    failure_no = 0;
    fake_disk_reset();
    fc = malloc(sizeof *fc);
    fc_init(fc);
    fc->verbose = getenv("FC_VERBOSE") != NULL;
    for (uint32_t id = 1; id < P; id++)
        make(id);
    fc_run(fc, 2);
    struct node_mask members = mask_of(0);
    for (uint32_t id = 1; id < P; id++) {
        members_rep(id, 1, &members);
        tell(id, BLOCK_DBDIH, GSN_SYSFILE_START_REQ, &start, sizeof start / 4u, &list);
    }
    fc_run(fc, 2);
    struct sttor sttor = {.phase = 6};
    TELL(1, BLOCK_DBDIH, GSN_STTOR, &sttor);
    fc_run(fc, 30);
    lost(P);
    fc_run(fc, 30);
    assert_true(dih_at(3)->gcp_node.gci_hi > 3);
}

static void end(void)
{
    fc_destroy(fc);
    free(fc);
}

/* --- P. --- */

static void join(void)
{
    uint32_t ranks[] = {P, 5};
    struct section section = {.words = ranks, .size = 2};
    struct node_mask members = mask_of(0);
    struct node_include_req req = {
        .node = P, .rank = 5, .failure_no = failure_no, .president = node_mask_next(&members, 0)};
    req.alive = members;
    make(P);
    for (uint32_t i = 0; i < 4; i++)
        fc_step(fc, NODES, P, 1000);
    members = mask_of(0);
    members_rep(P, req.president, &members);
    tell(P, BLOCK_DBDIH, GSN_NODE_INCLUDE_REQ, &req, sizeof req / 4u, &section);
}

static void include(void)
{
    struct node_include_rep rep = {
        .node = P, .rank = 5, .failure_no = failure_no, .alive = mask_of(0)};
    for (uint32_t id = 1; id <= NODES; id++) {
        if (fc_alive(fc, id)) TELL(id, BLOCK_DBDIH, GSN_NODE_INCLUDE_REP, &rep);
    }
}

static void complete(void)
{
    struct dih_complete_req req = {0};
    TELL(P, BLOCK_DBDIH, GSN_DIH_COMPLETE_REQ, &req);
}

static void write_files(void)
{
    struct sysfile_start_req req = {.gci = 1, .incarnation = 1};
    TELL(P, BLOCK_DBDIH, GSN_SYSFILE_START_REQ, &req);
}

static bool got(uint32_t gsn)
{
    return fc_alive(fc, P) && hand_at(P)->got[gsn] != 0;
}

/* --- What must be true at any time. --- */

/* I-GCP-9. */
static void ends_known(const struct sysfile *content)
{
    const struct log_ends *ends = &content->ends;
    const struct node_mask *members = &content->members;
    assert_true(log_ends_good(ends->words, ends->size, content->gci));
    for (uint32_t id = node_mask_next(members, 0); id != 0 && content->gci != 0;
         id = node_mask_next(members, id))
        assert_non_null(log_ends_find(ends->words, ends->size, id));
}

static bool on_disk(uint32_t node, struct sysfile *content)
{
    static const char *const names[] = {"D1/sysfile.0", "D1/sysfile.1"};
    bool any = false;
    for (uint32_t i = 0; i < 2; i++) {
        static struct sysfile copy;
        const struct fake_file *file = fake_file(node, names[i]);
        if (file == NULL || file->size == 0) continue;
        assert_true(sysfile_content(file->bytes, file->size, &copy));
        ends_known(&copy);
        if (!any || copy.gci >= content->gci) *content = copy;
        any = true;
    }
    return any;
}

static bool p_whole; /* P has all of its data: the checkpoint is there. */

/* With files; P has been taken in, and its rows are being copied. */
static void begin_return(void)
{
    begin(true);
    p_whole = false;
    join();
    fc_run(fc, 2);
    include();
}

/* All lose power now: what would the next start make of it? Returns whether P would be in it. */
static bool look_at_disks(void)
{
    struct node_config config = config_now();
    struct cntr_fact facts[NODES];
    struct cntr_decision decision;
    uint32_t count = 0;
    uint32_t durable = 0;
    for (uint32_t id = 1; id <= NODES; id++) {
        struct sysfile content;
        if (!fc_alive(fc, id)) continue;
        if (dih_at(id)->gcp_node.durable > durable) durable = dih_at(id)->gcp_node.durable;
        struct cntr_fact fact = {.node = id, .ldm_now = 2, .ldm_data = 2};
        if (on_disk(id, &content)) {
            fact.has_data = 1;
            fact.gci = content.gci;
            fact.incarnation = content.incarnation;
            fact.members = content.members;
            assert_int_equal(content.incarnation, LIFE);
            assert_int_equal(content.ended_count, 2);
            assert_int_equal(content.ended[1].gci, 9);
        }
        facts[count++] = fact;
    }
    cntr_decide(&config, facts, count, &decision);
    assert_int_equal(decision.start_type, START_SYSTEM_RESTART);
    assert_true(decision.gci >= durable);
    bool in = fc_alive(fc, P) && decision.refused[P] == 0;
    if (in) {
        assert_true(p_whole);
        for (uint32_t i = 1; i <= 2; i++)
            assert_true(fake_lqh(fc, P, i)->saved >= decision.gci);
    }
    return in;
}

/* One node executes, or one link delivers. */
static void step(uint32_t count)
{
    static uint32_t from = 1;
    static uint32_t to = 1;
    static uint32_t n;
    for (uint32_t i = 0; i < count; i++, n++) {
        fc_links(fc);
        if (n % 3 == 0) fc_run_node(fc, 1 + n / 3 % NODES);
        fc_deliver(fc, from, to);
        to = to % NODES + 1;
        if (to == 1) from = from % NODES + 1;
        if (n % 40 == 39) fc->now++;
        if (files) look_at_disks();
    }
}

static void step_until(uint32_t gsn)
{
    uint32_t steps = 0;
    for (; !got(gsn) && steps < 20000; steps++)
        step(1);
    if (!got(gsn)) fail_msg("%s does not come", gsn_name(gsn));
}

static void expect_going_on(const char *what, uint32_t at)
{
    uint32_t gci[NODES + 1] = {0};
    uint32_t durable[NODES + 1] = {0};
    fc_run(fc, 60);
    for (uint32_t id = 1; id <= NODES; id++) {
        if (!fc_alive(fc, id)) continue;
        gci[id] = dih_at(id)->gcp_node.complete_hi;
        durable[id] = dih_at(id)->gcp_node.durable;
    }
    fc_run(fc, 60);
    for (uint32_t id = 1; id <= NODES; id++) {
        if (!fc_alive(fc, id)) continue;
        const struct gcp_node *node = &dih_at(id)->gcp_node;
        if (node->complete_hi < gci[id] + 3)
            fail_msg("%s, step %u: node %u has no new epochs", what, at, id);
        if (files && node->durable < durable[id] + 3)
            fail_msg("%s, step %u: node %u has no new durable GCIs", what, at, id);
        for (uint32_t i = 1; i <= 2; i++)
            assert_int_equal(fake_tc(fc, id, i)->gci_hi, node->gci_hi);
    }
}

/* --- Tests. --- */

static void whole(bool with_files, uint32_t at)
{
    begin(with_files);
    p_whole = false;
    step(at);
    join();
    step_until(GSN_NODE_INCLUDE_CONF);
    include();
    expect_going_on("included", at);
    assert_int_equal(fake_tc(fc, P, 2)->gci_hi, fake_tc(fc, 1, 1)->gci_hi);
    assert_int_equal(dih_at(P)->restart_gci, dih_at(1)->restart_gci);
    if (with_files) {
        struct sysfile content;
        assert_int_equal(fake_tc(fc, P, 1)->ended_count, 2);
        assert_true(fake_lqh(fc, P, 1)->saved >= dih_at(P)->gcp_node.durable);
        assert_false(on_disk(P, &content));
        assert_true(on_disk(1, &content));
        assert_false(node_mask_has(&content.members, P));
    }
    step(at);
    uint32_t rounds[NODES + 1];
    for (uint32_t id = 1; id <= NODES; id++)
        rounds[id] = backup_at(id, 1)->rounds;
    complete();
    step_until(GSN_DIH_COMPLETE_CONF);
    for (uint32_t id = 1; id <= NODES; id++)
        assert_int_equal(backup_at(id, 2)->rounds, rounds[id] + (with_files && id == P));
    p_whole = true;
    if (with_files) {
        write_files();
        step_until(GSN_SYSFILE_START_CONF);
        assert_true(look_at_disks());
        assert_int_equal(dih_at(P)->include.state, DIH_INCLUDE_NONE);
    }
    expect_going_on("complete", at);
    if (with_files) assert_true(look_at_disks());
}

static void test_included_at_any_moment(void **state)
{
    (void)state;
    for (uint32_t at = 0; at < 600; at += 7) {
        whole(at % 2 != 0, at);
        end();
    }
}

/* P is a node like any other then: it numbers epochs when the others are lost. */
static void test_it_becomes_master(void **state)
{
    (void)state;
    for (uint32_t with_files = 0; with_files < 2; with_files++) {
        whole(with_files != 0, 5);
        for (uint32_t id = 1; id < P; id++) {
            fc_kill(fc, id);
            lost(id);
            expect_going_on("master", id);
        }
        assert_int_equal(dih_at(P)->president, P);
        end();
    }
}

/* Its checkpoint counts only when it began behind the request, and when all fragments are in it. */
static void test_which_checkpoint_counts(void **state)
{
    (void)state;
    begin_return();
    fc_run(fc, 10);
    lcp_node_want(dih_at(P), LCP_BY_FILL);
    for (uint32_t i = 0; i < 20000 && dih_at(P)->lcp_node.state != LCPN_WRITING; i++)
        step(1);
    assert_int_equal(dih_at(P)->lcp_node.state, LCPN_WRITING);
    uint32_t rounds = backup_at(P, 1)->rounds;
    uint32_t others = backup_at(2, 1)->rounds;
    complete();
    backup_at(P, 2)->fails = false;
    for (uint32_t i = 0; i < 20000 && backup_at(P, 1)->usable == 0; i++)
        step(1);
    assert_true(backup_at(P, 1)->rounds <= rounds + 1);
    backup_at(P, 1)->fails = true; /* The first one of its own. */
    assert_false(got(GSN_DIH_COMPLETE_CONF));
    fc_run(fc, 60);
    assert_false(got(GSN_DIH_COMPLETE_CONF));
    fc_run(fc, 1500); /* It asks again. */
    assert_true(got(GSN_DIH_COMPLETE_CONF));
    assert_int_equal(backup_at(P, 2)->usable, 3);
    assert_true(backup_at(2, 1)->rounds <= others + 1);
    expect_going_on("checkpoint", 0);
    end();
}

/* A round of the others is under way, and takes long: it does not wait for that. */
static void test_no_wait_for_the_others(void **state)
{
    (void)state;
    begin_return();
    fc_run(fc, 10);
    backup_at(2, 1)->holds = true;
    lcp_node_want(dih_at(2), LCP_BY_OPERATOR);
    for (uint32_t i = 0; i < 20000 && dih_at(2)->lcp_node.state != LCPN_WRITING; i++)
        step(1);
    complete();
    fc_run(fc, 200);
    assert_int_equal(dih_at(2)->lcp_node.state, LCPN_WRITING);
    assert_true(got(GSN_DIH_COMPLETE_CONF));
    assert_int_equal(backup_at(P, 1)->usable, 1);
    backup_release(backup_at(2, 1));
    fc_run(fc, 100);
    assert_int_equal(dih_at(2)->lcp_node.state, LCPN_IDLE);
    assert_int_equal(dih_at(1)->lcp_master.lcp_id, 0);
    expect_going_on("long round", 0);
    end();
}

/* It has all rows before the master could take it in. */
static void test_complete_before_it_takes_part(void **state)
{
    (void)state;
    for (uint32_t with_files = 0; with_files < 2; with_files++) {
        begin(with_files != 0);
        p_whole = true;
        join();
        fc_run(fc, 2);
        complete();
        fc_run(fc, 50);
        assert_false(got(GSN_DIH_COMPLETE_CONF));
        include();
        step_until(GSN_DIH_COMPLETE_CONF);
        expect_going_on("early", 0);
        end();
    }
}

/* Somebody waits for the disk all the time: there is a moment for P none the less. */
static void test_included_under_load(void **state)
{
    (void)state;
    begin_return();
    for (uint32_t i = 0; i < 2000 && dih_at(P)->include.state != DIH_INCLUDE_PARTIAL; i++) {
        gcp_node_close(dih_at(2), dih_at(2)->gcp_node.gci_hi);
        gcp_node_close(dih_at(2), 0);
        step(2);
    }
    assert_int_equal(dih_at(P)->include.state, DIH_INCLUDE_PARTIAL);
    end();
}

/* Node 3 writes its part of a round until backup_release(). */
static void begin_long_round(void)
{
    begin(true);
    backup_at(3, 1)->holds = true;
    lcp_node_want(dih_at(2), LCP_BY_OPERATOR);
    fc_run(fc, 30);
    assert_int_equal(dih_at(3)->lcp_node.state, LCPN_WRITING);
}

/* An operator's wish is a round of its own, once; logs are looked at again behind a round. */
static void test_wanted_meanwhile(void **state)
{
    (void)state;
    for (uint32_t reason = LCP_BY_GROWTH; reason <= LCP_BY_OPERATOR; reason++) {
        begin_long_round();
        for (uint32_t id = 1; id < P; id++)
            lcp_node_want(dih_at(id), reason);
        fc_run(fc, 30);
        assert_int_equal(backup_at(1, 1)->rounds, 1);
        backup_release(backup_at(3, 1));
        fc_run(fc, 100);
        for (uint32_t id = 1; id < P; id++)
            assert_int_equal(backup_at(id, 1)->usable, reason == LCP_BY_OPERATOR ? 2 : 1);
        end();
    }
}

/* Two presidents die, the second one while its round waits for the end of the first one's. */
static void test_round_of_a_dead_president(void **state)
{
    (void)state;
    begin_long_round();
    fc_kill(fc, 1);
    lost(1);
    fc_run(fc, 30);
    lcp_node_want(dih_at(3), LCP_BY_OPERATOR);
    fc_run(fc, 30);
    assert_int_equal(backup_at(2, 1)->rounds, 2);
    fc_kill(fc, 2);
    lost(2);
    fc_run(fc, 30);
    backup_release(backup_at(3, 1));
    fc_run(fc, 50);
    assert_int_equal(backup_at(3, 1)->rounds, 1); /* Nobody waits for the second one. */
    expect_going_on("dead round", 0);
    end();
}

/* The log of a node is full, so nothing more comes into it, and its disk takes no checkpoint: it
 * tries again until there is room. */
static void test_a_full_log_is_freed_when_there_is_room(void **state)
{
    (void)state;
    begin(true);
    fake_redo_node = 3;
    fake_redo_bytes = 1000;
    fake_redo_fill = 100;
    backup_at(3, 1)->full = true;
    fc_run(fc, 20000);
    uint32_t tries = backup_at(3, 1)->rounds;
    backup_at(3, 1)->full = false;
    fc_run(fc, 10000);
    uint32_t freed = backup_at(3, 1)->rounds;
    fc_run(fc, 10000);
    uint32_t more = backup_at(3, 1)->rounds;
    fake_redo_node = fake_redo_bytes = 0;
    fake_redo_fill = 60;
    assert_in_range(tries, 4, 40); /* With pauses. */
    assert_true(freed > tries);
    assert_int_equal(dih_at(3)->lcp_node.last.failed, 0);
    assert_int_equal(more, freed); /* And then there is nothing more to be done. */
    end();
}

/* Its disk takes no checkpoint: it does not wait for ever. */
static void test_no_checkpoint_of_its_own(void **state)
{
    (void)state;
    begin_return();
    fc_run(fc, 50);
    complete();
    for (uint32_t i = 0; i < 400 && fc_alive(fc, P); i++) {
        backup_at(P, 1)->fails = true;
        fc_run(fc, 100);
    }
    assert_false(fc_alive(fc, P));
    assert_int_equal(fc->node[P].exit_code, EXIT_LCP_STUCK);
    assert_true(fc->now < 60000);
    end();
}

/* --- Deaths. --- */

/* A member or the master dies at any moment of a round of checkpoints: what it had begun ends, and
 * the next one comes to its end everywhere. */
static void test_rounds_go_on(void **state)
{
    (void)state;
    uint32_t seen[LCPN_NAMING + 1] = {0};
    for (uint32_t victim = 1; victim <= 2; victim++) {
        for (uint32_t at = 0; at < 400; at += 3) {
            uint32_t done[NODES + 1] = {0};
            begin(true);
            lcp_node_want(dih_at(3), LCP_BY_OPERATOR);
            step(at);
            seen[dih_at(3)->lcp_node.state]++;
            fc_kill(fc, victim);
            lost(victim);
            step(at % 7);
            fc_run(fc, 60);
            for (uint32_t id = 1; id < P; id++) {
                if (!fc_alive(fc, id)) continue;
                done[id] = backup_at(id, 1)->usable;
                assert_int_equal(dih_at(id)->lcp_node.state, LCPN_IDLE);
                assert_int_equal(dih_at(id)->lcp_master.lcp_id, 0);
            }
            lcp_node_want(dih_at(3), LCP_BY_OPERATOR);
            fc_run(fc, 60);
            for (uint32_t id = 1; id < P; id++) {
                if (!fc_alive(fc, id)) continue;
                assert_int_equal(backup_at(id, 1)->usable, done[id] + 1);
                assert_int_equal(dih_at(id)->lcp_node.last.failed, 0);
            }
            expect_going_on("round", at);
            end();
        }
    }
    for (uint32_t i = 0; i <= LCPN_NAMING; i++)
        assert_int_not_equal(seen[i], 0);
}

/* The whole way, signal by signal; `victim` dies after so many of its signals. What the others do
 * about P: it ends by itself, a little later or at once. False: all was done before. */
static bool die_at(bool with_files, uint32_t victim, uint32_t at)
{
    uint32_t done = 0;
    uint32_t stage = 0;
    begin(with_files);
    p_whole = false;
    join();
    fc_run(fc, 2);
    include();
    for (uint32_t i = 0; i < 100000 && stage < 4; i++) {
        uint32_t order = i % 97 == 96;
        fc_links(fc);
        for (uint32_t id = 1; id <= NODES; id++) {
            uint32_t now = fc_run_one(fc, id);
            if (id != victim) continue;
            done += now;
            if (done < at) continue;
            fc_kill(fc, victim);
            return true;
        }
        for (uint32_t from = 1; from <= NODES; from++) {
            for (uint32_t to = 1; to <= NODES; to++)
                fc_deliver(fc, from, to);
        }
        if (with_files) look_at_disks();
        fc->now += order;
        if (stage == 0 && dih_at(P)->gcp_node.complete_hi != 0) {
            complete();
            stage = 1;
        } else if (stage == 1 && got(GSN_DIH_COMPLETE_CONF)) {
            p_whole = true;
            if (with_files) write_files();
            stage = with_files ? 2 : 4;
        } else if (stage == 2 && got(GSN_SYSFILE_START_CONF)) {
            stage = 3;
        } else if (stage == 3 && fc->now % 8 == 0) {
            stage = 4;
        }
    }
    return false;
}

static void after_death(uint32_t victim, uint32_t at)
{
    struct sysfile content;
    if (at % 2 == 0) {
        lost(victim);
        if (at % 3 == 0) step(at % 50);
    }
    if (victim != P) {
        fc_kill(fc, P);
        if (at % 2 != 0) lost(victim);
        lost(P);
    } else if (at % 2 != 0) {
        lost(P);
    }
    expect_going_on("death", at);
    for (uint32_t id = 1; files && id < P; id++) {
        if (!fc_alive(fc, id)) continue;
        assert_true(on_disk(id, &content));
        assert_false(node_mask_has(&content.members, P));
        assert_false(node_mask_has(&content.members, victim));
    }
}

static void deaths(uint32_t victim)
{
    for (uint32_t with_files = 0; with_files < 2; with_files++) {
        bool more = true;
        uint32_t at = 1;
        for (; more; at += with_files ? 3 : 2) {
            more = die_at(with_files != 0, victim, at);
            if (more) after_death(victim, at);
            /* P comes as a new process. */
            if (more) {
                node_destroy(fc->node[P].node);
                fc->node[P].node = NULL;
                fc->node[P].dead = false;
                memset(&fake_disks[P], 0, sizeof fake_disks[P]);
                p_whole = false;
                join();
                step_until(GSN_NODE_INCLUDE_CONF);
                include();
                fc_run(fc, 20);
                complete();
                fc_run(fc, 60);
                assert_true(got(GSN_DIH_COMPLETE_CONF));
            }
            end();
        }
        assert_true(at > (with_files ? 60 : 15));
    }
}

static void test_p_dies(void **state)
{
    (void)state;
    deaths(P);
}
static void test_master_dies(void **state)
{
    (void)state;
    deaths(1);
}
static void test_member_dies(void **state)
{
    (void)state;
    deaths(3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_included_at_any_moment),
        cmocka_unit_test(test_it_becomes_master),
        cmocka_unit_test(test_which_checkpoint_counts),
        cmocka_unit_test(test_no_wait_for_the_others),
        cmocka_unit_test(test_complete_before_it_takes_part),
        cmocka_unit_test(test_included_under_load),
        cmocka_unit_test(test_a_full_log_is_freed_when_there_is_room),
        cmocka_unit_test(test_no_checkpoint_of_its_own),
        cmocka_unit_test(test_wanted_meanwhile),
        cmocka_unit_test(test_round_of_a_dead_president),
        cmocka_unit_test(test_rounds_go_on),
        cmocka_unit_test(test_p_dies),
        cmocka_unit_test(test_master_dies),
        cmocka_unit_test(test_member_dies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
