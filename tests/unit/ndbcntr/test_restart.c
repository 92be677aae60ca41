/* test_restart.c -- what a cluster comes back with: the sequence of a start with files, who is
 * refused and how it is told. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "formats/redo_format.h"
#include "formats/sysfile_format.h"
#include "blocks/dbdih/dih_state.h"
#include "blocks/ndbcntr/cntr_state.h"
#include "tests/unit/support/fake_disk.h"
#include "tests/unit/support/fake_fixture.h"

/* --- The sequence. --- */

static int setup_files(void **state)
{
    fake_disk_reset();
    return fc_setup(state);
}

static struct node_config files_config(uint32_t nodes, uint32_t replicas)
{
    struct node_config config = fake_config(nodes, replicas);
    config.diskless = 0;
    return config;
}
static void make_node(uint32_t id, const struct node_config *config)
{
    fc_fc->node[id].host.io_submit = fake_disk_submit;
    fake_data_node(fc_fc, id, config);
}
static void make_nodes(uint32_t nodes, const struct node_config *config)
{
    for (uint32_t id = 1; id <= nodes; id++)
        make_node(id, config);
}
static bool is_started(uint32_t id)
{
    return !fc_fc->node[id].dead && fake_tc(fc_fc, id, 1)->level == START_STARTED;
}
static void assert_started(uint32_t nodes)
{
    for (uint32_t id = 1; id <= nodes; id++)
        assert_true(is_started(id));
}
/* Power is cut; what is on disk stays. */
static void end_all(void)
{
    fc_destroy(fc_fc);
    fc_init(fc_fc);
    fc_fc->verbose = getenv("FC_VERBOSE") != NULL;
}
static struct dih *dih_at(uint32_t node)
{
    return dih_of(node_block(fc_fc->node[node].node, BLOCK_DBDIH, 0));
}

/* This life is the one behind that: no other was between them. */
static void assert_followed(uint32_t former)
{
    const struct sysfile *now = &dih_at(1)->sysfile.now;
    assert_int_equal(now->incarnation, former + 1u);
    assert_int_equal(now->ended[now->ended_count - 1u].incarnation, now->incarnation - 1u);
}

static void test_restart_of_all(void **state)
{
    (void)state;
    struct node_config config = files_config(4, 2);
    make_nodes(4, &config);
    fc_run(fc_fc, 500);
    assert_started(4);
    assert_int_equal(fake_lqh(fc_fc, 3, 2)->redo_created, 1);
    assert_int_equal(fake_lqh(fc_fc, 3, 2)->recover.restart_gci, 0);
    assert_int_equal(fake_tc(fc_fc, 1, 1)->durable, 1); /* Before anyone was started. */
    for (uint32_t i = 1; i <= 2; i++)
        fake_lqh(fc_fc, 3, i)->lsn = 1000 + i;
    fc_run(fc_fc, 5000);
    uint32_t durable = fake_tc(fc_fc, 1, 1)->durable;
    assert_in_range(durable, 2, 4);
    uint32_t former = dih_at(1)->sysfile.now.incarnation;
    end_all();
    make_nodes(4, &config);
    fc_run(fc_fc, 500);
    assert_started(4);
    uint32_t now = dih_at(1)->sysfile.now.incarnation;
    assert_followed(former);
    for (uint32_t id = 1; id <= 4; id++) {
        const struct fake_worker *lqh = fake_lqh(fc_fc, id, 2);
        assert_int_equal(lqh->redo_opened, 1);
        assert_int_equal(lqh->redo_created, 0);
        assert_int_equal(lqh->recover.restart_gci, durable);
        assert_int_equal(lqh->recover.incarnation, now);
        assert_int_equal(lqh->recover_ended, 1);
        assert_int_equal(lqh->recover.lsn_lo, id == 3 ? 1002 : 0);
        assert_int_equal(fake_tc(fc_fc, id, 1)->gci_hi, durable + 1);
        assert_int_equal(dih_at(id)->sysfile.now.incarnation, now);
        assert_int_equal(node_mask_count(&dih_at(id)->sysfile.now.members), 4);
        assert_int_equal(dih_at(id)->sysfile.now.ldm_count, 2);
    }
}

/* Epochs of a cluster whose files are gone are none of the next one's. */
static void test_first_lives_differ(void **state)
{
    (void)state;
    struct node_config config = files_config(2, 2);
    uint32_t life[4];
    for (uint32_t i = 0; i < 4; i++) {
        fake_disk_reset();
        fc_fc->seed = 1000u * (i + 1u);
        make_nodes(2, &config);
        fc_run(fc_fc, 300);
        assert_started(2);
        life[i] = dih_at(1)->sysfile.now.incarnation;
        assert_int_equal(dih_at(2)->sysfile.now.incarnation, life[i]);
        assert_in_range(life[i], 1, 0x8000);
        for (uint32_t k = 0; k < i; k++)
            assert_int_not_equal(life[i], life[k]);
        end_all();
    }
}

/* Lives too short for a GCI share one entry. */
static void test_short_lives_do_not_fill_the_list(void **state)
{
    (void)state;
    struct node_config config = files_config(1, 1);
    uint32_t former = 0;
    for (uint32_t life = 1; life <= 70; life++) {
        make_nodes(1, &config);
        fc_run(fc_fc, 300);
        assert_started(1);
        assert_int_equal(dih_at(1)->sysfile.now.ended_count, life > 1 ? 1 : 0);
        const struct sysfile *now = &dih_at(1)->sysfile.now;
        assert_true(now->incarnation > former);
        if (life > 1) assert_int_equal(now->ended[0].incarnation, now->incarnation - 1u);
        former = now->incarnation;
        end_all();
    }
}

/* Incarnations end one after the other; the log learns of each. */
static void test_list_of_incarnations_grows(void **state)
{
    (void)state;
    struct node_config config = files_config(2, 2);
    uint32_t former = 0;
    for (uint32_t life = 1; life <= 70; life++) {
        make_nodes(2, &config);
        fc_run(fc_fc, 300);
        assert_started(2);
        uint32_t now = dih_at(1)->sysfile.now.incarnation;
        assert_true(now > former);
        uint32_t ended = life - 1 < ENDED_MAX ? life - 1 : ENDED_MAX;
        assert_int_equal(fake_lqh(fc_fc, 2, 1)->recover_ended, ended);
        assert_int_equal(dih_at(2)->sysfile.now.ended_count, ended);
        if (ended > 0)
            assert_int_equal(dih_at(2)->sysfile.now.ended[ended - 1].incarnation, now - 1u);
        former = now;
        fc_run(fc_fc, 2000); /* Before any is forgotten, each start begins with a checkpoint. */
        assert_int_equal(dih_at(1)->lcp_master.last_id != 0, ended >= ENDED_MAX / 2);
        end_all();
    }
}

/* Wherever a start is cut off, the next one succeeds; a node that was left alone in the phases with
 * files ends by itself. */
static void test_start_is_cut_off_anywhere(void **state)
{
    (void)state;
    struct node_config config = files_config(2, 2);
    for (uint32_t rounds = 1; rounds < 200; rounds += 3) {
        fake_disk_reset();
        for (uint32_t life = 0; life < 2; life++) {
            make_nodes(2, &config);
            for (uint32_t i = 0; i < rounds; i++) {
                fc_links(fc_fc);
                for (uint32_t id = 1; id <= 2; id++)
                    fc_run_node(fc_fc, id);
                fc_deliver(fc_fc, 1, 2);
                fc_deliver(fc_fc, 2, 1);
                if (i % 10 == 9) fc_fc->now++;
            }
            end_all();
            make_nodes(2, &config);
            fc_run(fc_fc, 500);
            assert_started(2);
            end_all();
        }
    }
}

static void start_held(const struct node_config *config, uint32_t writes, uint32_t ms)
{
    fake_disk_held_node = 2;
    fake_disk_held_after = writes;
    make_nodes(2, config);
    fc_run(fc_fc, ms);
    fake_disk_held_node = 0;
    end_all();
}
static uint32_t sysfile_writes(uint32_t node)
{
    return fake_file(node, "D1/sysfile.0")->writes + fake_file(node, "D1/sysfile.1")->writes;
}

/* Node 2's system file lacks the newest GCI, which all logs have, from the first one on; or the new
 * incarnation, of which one copy or none was written. */
static void test_one_system_file_is_behind(void **state)
{
    (void)state;
    struct node_config config = files_config(2, 2);
    for (uint32_t writes = 0; writes < 5; writes++) {
        fake_disk_reset();
        start_held(&config, writes, 9000);
        make_nodes(2, &config);
        fc_run(fc_fc, 500);
        assert_started(2);
        uint32_t restart_gci = writes < 2 ? 0 : (writes + 1) / 2; /* Each into both copies. */
        assert_int_equal(fake_lqh(fc_fc, 1, 1)->recover.restart_gci, restart_gci);
        assert_int_equal(fake_lqh(fc_fc, 2, 1)->recover.restart_gci, restart_gci);
        end_all();
        start_held(&config, sysfile_writes(2) + writes, 500); /* Every later start too. */
        make_nodes(2, &config);
        fc_run(fc_fc, 500);
        assert_started(2);
        end_all();
    }
}

static void set_lsns(uint32_t lsn)
{
    for (uint32_t id = 1; id <= 2; id++) {
        for (uint32_t i = 1; i <= 2; i++)
            fake_lqh(fc_fc, id, i)->lsn = lsn + 10 * id + i;
    }
}

/* Lets the logs of both nodes grow until node 2's system file lacks the newest GCI; returns that
 * GCI, of which the logs end with page `lsn` + 10 for each node + instance, and `before` + that
 * those before it. */
static uint32_t run_until_behind(const struct node_config *config, uint32_t before, uint32_t lsn)
{
    make_nodes(2, config);
    set_lsns(before);
    fc_run(fc_fc, 3000);
    assert_started(2);
    uint32_t durable = fake_tc(fc_fc, 1, 1)->durable;
    fake_disk_held_node = 2;
    fake_disk_held_after = sysfile_writes(2);
    set_lsns(lsn);
    fc_run(fc_fc, 3000);
    assert_int_equal(fake_tc(fc_fc, 1, 1)->durable, durable); /* Not declared. */
    end_all();
    fake_disk_held_node = 0;
    return durable + 1;
}

/* What the last page of its log is tells the other one's system file. */
static void test_others_know_where_a_log_ends(void **state)
{
    (void)state;
    struct node_config config = files_config(2, 2);
    uint32_t gci = run_until_behind(&config, 0, 1000);
    make_nodes(2, &config);
    fc_run(fc_fc, 500);
    assert_started(2);
    for (uint32_t id = 1; id <= 2; id++) {
        for (uint32_t i = 1; i <= 2; i++) {
            assert_int_equal(fake_lqh(fc_fc, id, i)->recover.restart_gci, gci);
            assert_int_equal(fake_lqh(fc_fc, id, i)->recover.lsn_lo, 1000 + 10 * id + i);
        }
    }
    /* Node 2's new files know it too: what node 1 had is not asked for any more. */
    end_all();
    memset(fake_file(1, "D1/sysfile.0")->bytes + 512, 0xA5, 512);
    memset(fake_file(1, "D1/sysfile.1")->bytes + 512, 0xA5, 512);
    config.survive = 1; /* Node 1 waits until the others run. */
    config.start_partial_timeout_ms = 10;
    config.start_partitioned_timeout_ms = 10;
    make_nodes(2, &config);
    fc_run(fc_fc, 3000);
    assert_true(is_started(2));
    assert_int_equal(fake_lqh(fc_fc, 2, 1)->recover.lsn_lo, 1021);
}

/* As a version wrote it that knew no ends. */
static void forget_ends(uint32_t node)
{
    static const char *const names[] = {"D1/sysfile.0", "D1/sysfile.1"};
    static struct sysfile content;
    for (uint32_t copy = 0; copy < SYSFILE_COPIES; copy++) {
        struct fake_file *file = fake_file(node, names[copy]);
        struct file_header header;
        if (file == NULL) {
            fail_msg("%s is not there", names[copy]);
            return;
        }
        memcpy(&header, file->bytes, sizeof header);
        assert_true(sysfile_content(file->bytes, file->size, &content));
        content.ends.size = 0;
        file->size = sysfile_seal(file->bytes, &header, &content);
    }
}

/* Nor does the one that knows the newest GCI know where the other's logs ended with it: then nobody
 * does. Where they ended with an older one says how much must be there, and not that it is all. */
static void test_only_an_older_end_is_known(void **state)
{
    (void)state;
    struct node_config config = files_config(2, 2);
    uint32_t gci = run_until_behind(&config, 500, 1000);
    forget_ends(1);
    make_nodes(2, &config);
    fc_run(fc_fc, 500);
    assert_started(2);
    for (uint32_t i = 1; i <= 2; i++) {
        assert_int_equal(fake_lqh(fc_fc, 2, i)->recover.restart_gci, gci);
        assert_int_equal(fake_lqh(fc_fc, 2, i)->recover.lsn_lo, 500 + 20 + i);
        assert_true(fake_lqh(fc_fc, 2, i)->recover.lsn_older);
        assert_false(fake_lqh(fc_fc, 1, i)->recover.lsn_older);
    }
}

/* The newest copy of a node rots just before the power goes: its other one is one GCI behind. */
static void test_others_replace_a_rotten_copy(void **state)
{
    (void)state;
    struct node_config config = files_config(2, 2);
    make_nodes(2, &config);
    fc_run(fc_fc, 3000);
    for (uint32_t i = 1; i <= 2; i++)
        fake_lqh(fc_fc, 2, i)->lsn = 500 + i;
    uint32_t durable = fake_tc(fc_fc, 1, 1)->durable;
    while (fake_tc(fc_fc, 1, 1)->durable == durable || !dih_at(2)->sysfile.lone)
        fc_run(fc_fc, 1);
    uint32_t newest = (uint32_t)(dih_at(2)->sysfile.sequence % SYSFILE_COPIES);
    end_all();
    fake_file(2, newest == 0 ? "D1/sysfile.0" : "D1/sysfile.1")->bytes[300] ^= 1;
    make_nodes(2, &config);
    fc_run(fc_fc, 500);
    assert_started(2);
    for (uint32_t i = 1; i <= 2; i++) {
        assert_int_equal(fake_lqh(fc_fc, 2, i)->recover.restart_gci, durable + 1);
        assert_int_equal(fake_lqh(fc_fc, 2, i)->recover.lsn_lo, 500 + i);
    }
}

static void test_node_lost_while_recovering(void **state)
{
    (void)state;
    struct node_config config = files_config(2, 2);
    make_nodes(2, &config);
    fc_run(fc_fc, 500);
    end_all();
    make_nodes(2, &config);
    fake_lqh(fc_fc, 1, 1)->hold_recover = true;
    fc_run(fc_fc, 500);
    assert_false(is_started(1) || is_started(2));
    fc_kill(fc_fc, 2);
    fc_run(fc_fc, 500);
    assert_true(fc_fc->node[1].dead);
    assert_int_equal(fc_fc->node[1].exit_code, EXIT_OTHER_NODE_FAILED);
}

static void test_progress_is_told(void **state)
{
    (void)state;
    struct node_config config = files_config(1, 1);
    make_nodes(1, &config);
    fc_run(fc_fc, 500);
    end_all();
    make_nodes(1, &config);
    fake_lqh(fc_fc, 1, 1)->hold_recover = true;
    fc_run(fc_fc, 2000);
    fc_client(fc_fc, 8, true);
    fc_run(fc_fc, 20);
    struct recover_rep rep = {.step = RECOVER_CHECKPOINTS, .percent = 50};
    sig_send(node_block(fc_fc->node[1].node, BLOCK_DBLQH, 1), block_ref(1, BLOCK_NDBCNTR, 0),
             GSN_RECOVER_REP, PRIO_B, &rep);
    fc_run(fc_fc, 2);
    struct node_status_req req = {.sender_data = 1};
    fc_sig_send(fc_fc, 8, block_ref(1, BLOCK_CMVMI, 0), GSN_NODE_STATUS_REQ, &req);
    fc_run(fc_fc, 5);
    const struct signal *sig = fc_take(fc_fc, 8, GSN_NODE_STATUS_CONF);
    assert_non_null(sig);
    const struct node_status_conf *conf = SIG_PAYLOAD(sig, node_status_conf);
    assert_int_equal(conf->start_type, START_SYSTEM_RESTART);
    assert_int_equal(conf->start_percent, (30 + 100) / 2); /* Instance 2 is done. */
    assert_in_range(conf->start_left_s, 1, 3);
}

/* --- A peer that is wrong. --- */

static uint32_t tamper_gsn;
/* Index of a word behind the head: payload, section lengths, sections. */
static uint32_t tamper_word;
static uint32_t tamper_by;

static void tamper(struct fake_cluster *cluster, uint32_t from, uint32_t to, uint32_t *words,
                   uint32_t count)
{
    (void)from;
    (void)to;
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        uint32_t payload = kind_words(words[at]);
        uint32_t place = SIGNAL_HEAD_WORDS + tamper_word;
        if (kind_gsn(words[at]) != tamper_gsn) continue;
        if (tamper_word >= payload) place += kind_sections(words[at]); /* Not the lengths. */
        if (place < words[at + 3]) words[at + place] += tamper_by;
        cluster->tamper = NULL;
        return;
    }
}

/* Whatever word of the decision's signals is wrong: no check fails, no node follows into the loss
 * of its data, and the next start succeeds. */
static void test_forged_words_cost_no_data(void **state)
{
    (void)state;
    static const uint32_t gsns[] = {GSN_CNTR_START_REQ, GSN_CNTR_START_CONF};
    static struct fake_disk good[3];
    struct node_config config = files_config(2, 2);
    make_nodes(2, &config);
    fc_run(fc_fc, 3000);
    end_all();
    memcpy(good, fake_disks, sizeof good);
    for (uint32_t i = 0; i < 2 * 20 * 3; i++) {
        memcpy(fake_disks, good, sizeof good);
        tamper_gsn = gsns[i % 2];
        tamper_word = i / 2 % 20;
        tamper_by = i / 40 == 0 ? 1 : i / 40 == 1 ? UINT32_MAX : 1u << 20;
        fc_fc->tamper = tamper;
        make_nodes(2, &config);
        fc_run(fc_fc, 1000);
        for (uint32_t id = 1; id <= 2; id++) {
            if (fc_fc->node[id].dead)
                assert_int_not_equal(fc_fc->node[id].exit_code, EXIT_NDBREQUIRE);
        }
        end_all();
        make_nodes(2, &config);
        fc_run(fc_fc, 4000);
        bool both = is_started(1) && is_started(2);
        uint32_t gci = fc_fc->node[1].dead ? 0 : fake_lqh(fc_fc, 1, 1)->recover.restart_gci;
        if (!both || gci == 0)
            print_message("gsn %u word %u by %x\n", tamper_gsn, tamper_word, tamper_by);
        assert_true(both && gci != 0);
        end_all();
    }
    make_nodes(2, &config);
}

/* --- Who is refused, and who waits. --- */

static void assert_exit(uint32_t node, uint32_t exit_code)
{
    assert_true(fc_fc->node[node].dead);
    assert_int_equal(fc_fc->node[node].exit_code, exit_code);
}

static void test_empty_node_is_refused(void **state)
{
    (void)state;
    struct node_config config = files_config(2, 2);
    make_nodes(2, &config);
    fc_run(fc_fc, 3000);
    end_all();
    memset(&fake_disks[2], 0, sizeof fake_disks[2]);
    config.start_partial_timeout_ms = 500;
    config.start_partitioned_timeout_ms = 1000;
    make_nodes(2, &config);
    fc_run(fc_fc, 300);
    assert_exit(2, EXIT_DATA_MISSING);
    assert_false(is_started(1)); /* The only node group is not whole. */
    fc_run(fc_fc, 2000);
    assert_true(is_started(1));
    end_all();
    memset(fake_disks[1].file, 0, sizeof fake_disks[1].file);
    make_nodes(2, &config); /* All are new. */
    fc_run(fc_fc, 500);
    assert_started(2);
}

static void test_stale_node_is_refused(void **state)
{
    (void)state;
    struct node_config config = files_config(4, 2);
    config.start_partial_timeout_ms = 500;
    make_nodes(4, &config);
    fc_run(fc_fc, 3000);
    end_all();
    make_nodes(3, &config);
    fc_run(fc_fc, 300);
    assert_false(is_started(1)); /* Node 4 may still come. */
    fc_run(fc_fc, 1000);
    assert_started(3);
    assert_int_equal(dih_at(1)->groups, 2); /* Node 4 keeps its place. */
    assert_int_equal(dih_at(1)->group[1].count, 2);
    end_all();
    make_nodes(4, &config);
    fc_run(fc_fc, 300);
    assert_exit(4, EXIT_DATA_STALE);
    fc_run(fc_fc, 1000);
    assert_started(3);
}

static void test_initial_start_is_never_partial(void **state)
{
    (void)state;
    struct node_config config = files_config(4, 2);
    config.start_partial_timeout_ms = 100;
    config.start_partitioned_timeout_ms = 200;
    make_nodes(3, &config);
    fc_run(fc_fc, 3000);
    for (uint32_t id = 1; id <= 3; id++)
        assert_false(is_started(id) || fc_fc->node[id].dead);
    make_node(4, &config);
    fc_run(fc_fc, 500);
    assert_started(4);
}

static void test_half_of_each_group_waits_for_ever(void **state)
{
    (void)state;
    struct node_config config = files_config(4, 2);
    config.start_partial_timeout_ms = 100;
    make_nodes(4, &config);
    fc_run(fc_fc, 500);
    end_all();
    make_node(1, &config);
    make_node(3, &config);
    fc_run(fc_fc, 10000);
    assert_false(is_started(1) || is_started(3));
    make_node(2, &config);
    fc_run(fc_fc, 500);
    assert_true(is_started(1) && is_started(2) && is_started(3));
}

static void test_start_failure_timeout(void **state)
{
    (void)state;
    struct node_config config = files_config(2, 2);
    config.start_failure_timeout_ms = 2000;
    make_node(1, &config);
    fc_run(fc_fc, 1500);
    assert_false(fc_fc->node[1].dead);
    fc_run(fc_fc, 1000);
    assert_exit(1, EXIT_START_TIMEOUT);
    end_all();
    make_nodes(2, &config);
    fc_run(fc_fc, 5000);
    assert_started(2);
}

static void test_initial_asks_before_it_destroys(void **state)
{
    (void)state;
    struct node_config config = files_config(1, 1);
    make_nodes(1, &config);
    fc_run(fc_fc, 3000);
    uint32_t former = dih_at(1)->sysfile.now.incarnation;
    end_all();
    config.initial_start = 1;
    make_nodes(1, &config);
    fc_run(fc_fc, 500);
    assert_exit(1, EXIT_DATA_LAST_COPY);
    end_all();
    config.initial_start = 0;
    make_nodes(1, &config);
    fc_run(fc_fc, 500);
    assert_started(1); /* Nothing was touched. */
    assert_followed(former);
    former = dih_at(1)->sysfile.now.incarnation;
    end_all();
    config.initial_start = 1;
    config.accept_data_loss = 1;
    make_nodes(1, &config);
    fc_run(fc_fc, 500);
    assert_started(1);
    assert_int_equal(fake_lqh(fc_fc, 1, 1)->redo_created, 1);
    assert_int_equal(fake_lqh(fc_fc, 1, 1)->recover.restart_gci, 0);
    assert_true(dih_at(1)->sysfile.now.incarnation > former);
    assert_int_equal(dih_at(1)->sysfile.now.ended_count, 0);
}

/* All are told the same, the president too, whoever it is; and nothing is touched. */
static void test_initial_of_all_is_refused_to_all(void **state)
{
    (void)state;
    struct node_config config = files_config(2, 2);
    make_nodes(2, &config);
    fc_run(fc_fc, 3000);
    for (uint32_t first = 1; first <= 2; first++) {
        uint32_t former = dih_at(1)->sysfile.now.incarnation;
        end_all();
        config.initial_start = 1;
        make_node(first, &config);
        fc_run(fc_fc, 50);
        make_node(3 - first, &config);
        fc_run(fc_fc, 1000);
        assert_exit(1, EXIT_DATA_LAST_COPY);
        assert_exit(2, EXIT_DATA_LAST_COPY);
        end_all();
        config.initial_start = 0;
        make_nodes(2, &config);
        fc_run(fc_fc, 1000);
        assert_started(2);
        assert_followed(former);
    }
}

/* Damaged or missing system files do not make rows worthless. */
static void test_initial_asks_for_damaged_files_too(void **state)
{
    (void)state;
    struct node_config config = files_config(1, 1);
    make_nodes(1, &config);
    fc_run(fc_fc, 3000);
    end_all();
    fake_file(1, "D1/sysfile.0")->bytes[700] ^= 1;
    fake_file(1, "D1/sysfile.1")->bytes[700] ^= 1;
    make_nodes(1, &config);
    fc_run(fc_fc, 500);
    assert_exit(1, EXIT_SYSFILE_DAMAGED);
    end_all();
    config.initial_start = 1;
    make_nodes(1, &config);
    fc_run(fc_fc, 500);
    assert_exit(1, EXIT_DATA_LAST_COPY);
    end_all();
    config.accept_data_loss = 1;
    make_nodes(1, &config);
    fc_run(fc_fc, 500);
    assert_started(1);
}

/* An initial start over files that cannot be removed is none. */
static void test_files_that_cannot_be_removed(void **state)
{
    (void)state;
    struct node_config config = files_config(1, 1);
    make_nodes(1, &config);
    fc_run(fc_fc, 3000);
    uint32_t former = dih_at(1)->sysfile.now.incarnation;
    end_all();
    config.initial_start = config.accept_data_loss = 1;
    fake_disk_error_remove = IO_READ_ONLY;
    make_nodes(1, &config);
    fc_run(fc_fc, 500);
    assert_exit(1, EXIT_DATA_CLEAR);
    end_all();
    fake_disk_error_remove = 0;
    config.initial_start = config.accept_data_loss = 0; /* Nothing was lost by the try. */
    make_nodes(1, &config);
    fc_run(fc_fc, 1000);
    assert_started(1);
    assert_followed(former);
}

/* What is left behind without system files may be the only copy. */
/* Logs that were only made are of a first start that was cut off; a page in one of them is data. */
static void test_lost_system_files_and_a_log(void **state)
{
    (void)state;
    struct node_config config = files_config(1, 1);
    const uint32_t magic = REDO_MAGIC;
    struct fake_file *file = &fake_disks[1].file[0];
    strcpy(file->name, "REDO/part1/file0"); /* The second LDM instance's file. */
    memset(file->bytes, 0, sizeof file->bytes);
    file->size = sizeof file->bytes;
    memcpy(file->bytes, &magic, sizeof magic);
    make_nodes(1, &config);
    fc_run(fc_fc, 500);
    assert_exit(1, EXIT_SYSFILE_DAMAGED);
    end_all();
    config.initial_start = 1;
    make_nodes(1, &config);
    fc_run(fc_fc, 500);
    assert_exit(1, EXIT_DATA_LAST_COPY);
    end_all();
    config.initial_start = 0;
    memset(file->bytes, 0, sizeof magic);
    make_nodes(1, &config);
    fc_run(fc_fc, 500);
    assert_started(1);
}

static void test_lost_system_files_are_noticed(void **state)
{
    (void)state;
    struct node_config config = files_config(1, 1);
    strcpy(fake_file(1, "")->name, "LCP/T1F0.ctl0");
    make_nodes(1, &config);
    fc_run(fc_fc, 500);
    assert_exit(1, EXIT_SYSFILE_DAMAGED);
    assert_non_null(fake_file(1, "LCP/T1F0.ctl0"));
    end_all();
    config.initial_start = 1;
    make_nodes(1, &config);
    fc_run(fc_fc, 500);
    assert_exit(1, EXIT_DATA_LAST_COPY);
    end_all();
    config.accept_data_loss = 1;
    make_nodes(1, &config);
    fc_run(fc_fc, 500);
    assert_started(1);
    assert_null(fake_file(1, "LCP/T1F0.ctl0"));
}

static void test_other_node_groups_are_refused(void **state)
{
    (void)state;
    struct node_config config = files_config(2, 2);
    make_nodes(2, &config);
    fc_run(fc_fc, 500);
    end_all();
    config.node[3] = (struct config_node){.type = NODE_DATA, .nodegroup = 1}; /* A node has come. */
    make_node(1, &config);
    fc_run(fc_fc, 100);
    assert_exit(1, EXIT_DATA_GROUPS);
    end_all();
    config = files_config(2, 1); /* The same nodes, but each on its own. */
    make_nodes(2, &config);
    fc_run(fc_fc, 100);
    assert_exit(2, EXIT_DATA_GROUPS);
}

static void test_other_number_of_ldms_is_refused(void **state)
{
    (void)state;
    struct node_config config = files_config(1, 1);
    make_nodes(1, &config);
    fc_run(fc_fc, 500);
    end_all();
    config.ldm_count = 3;
    make_nodes(1, &config);
    fc_run(fc_fc, 500);
    assert_exit(1, EXIT_DATA_LDM_COUNT);
}

#define STARTS(name) cmocka_unit_test_setup_teardown(name, setup_files, fc_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STARTS(test_restart_of_all),
        STARTS(test_list_of_incarnations_grows),
        STARTS(test_short_lives_do_not_fill_the_list),
        STARTS(test_first_lives_differ),
        STARTS(test_start_is_cut_off_anywhere),
        STARTS(test_one_system_file_is_behind),
        STARTS(test_others_know_where_a_log_ends),
        STARTS(test_only_an_older_end_is_known),
        STARTS(test_others_replace_a_rotten_copy),
        STARTS(test_node_lost_while_recovering),
        STARTS(test_progress_is_told),
        STARTS(test_forged_words_cost_no_data),
        STARTS(test_empty_node_is_refused),
        STARTS(test_stale_node_is_refused),
        STARTS(test_initial_start_is_never_partial),
        STARTS(test_half_of_each_group_waits_for_ever),
        STARTS(test_start_failure_timeout),
        STARTS(test_initial_asks_before_it_destroys),
        STARTS(test_initial_of_all_is_refused_to_all),
        STARTS(test_initial_asks_for_damaged_files_too),
        STARTS(test_files_that_cannot_be_removed),
        STARTS(test_lost_system_files_are_noticed),
        STARTS(test_lost_system_files_and_a_log),
        STARTS(test_other_node_groups_are_refused),
        STARTS(test_other_number_of_ldms_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
