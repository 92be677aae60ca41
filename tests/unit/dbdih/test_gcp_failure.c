/* test_gcp_failure.c -- epochs go on, and GCIs become durable, when the master or another member
 * dies at any moment of the protocol. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "blocks/dbdih/dih_state.h"
#include "values/errors.h"
#include "signals/management.h"
#include "tests/unit/support/fake_disk.h"
#include "tests/unit/support/fake_step.h"
#include "tests/unit/support/fake_workers.h"

#define NODES 4u

static struct fake_cluster *fc;

static struct node_config config_of(bool files)
{
    struct node_config config = fake_config(NODES, NODES);
    config.diskless = !files;
    config.cluster_id = 1;
    config.survive = 1;
    config.epoch_ms = 4;
    config.gci_ms = 9;
    return config;
}

static void make(const struct node_config *config)
{
    fc = malloc(sizeof *fc);
    fc_init(fc);
    fc->verbose = getenv("FC_VERBOSE") != NULL;
    for (uint32_t id = 1; id <= NODES; id++) {
        fc->node[id].host.io_submit = fake_disk_submit;
        fake_data_node(fc, id, config);
    }
}

static void begin(bool files)
{
    struct node_config config = config_of(files);
    fake_disk_reset();
    make(&config);
    fc_run(fc, 300);
    for (uint32_t id = 1; id <= NODES; id++)
        assert_int_equal(fake_tc(fc, id, 1)->level, START_STARTED);
}

static void end(void)
{
    fc_check(fc);
    fc_destroy(fc);
    free(fc);
}

static struct dih *dih_at(uint32_t node)
{
    return dih_of(node_block(fc->node[node].node, BLOCK_DBDIH, 0));
}

/* One node executes, or one link delivers. */
static void step(uint32_t count)
{
    uint32_t from = 1;
    uint32_t to = 1;
    for (uint32_t i = 0; i < count; i++) {
        fc_links(fc);
        if (i % 3 == 0) fc_run_node(fc, 1 + i / 3 % NODES);
        fc_deliver(fc, from, to);
        to = to % NODES + 1;
        if (to == 1) from = from % NODES + 1;
        if (i % 40 == 39) fc->now++;
    }
}

/* What the logs of the dead had. */
static uint32_t last_saved[NODES + 1];

static void die(uint32_t victim)
{
    uint32_t first = fake_lqh(fc, victim, 1)->saved;
    uint32_t second = fake_lqh(fc, victim, 2)->saved;
    last_saved[victim] = first < second ? first : second;
    fc_kill(fc, victim);
}

/* I-GCP-9 */
static void assert_ends_known(const struct sysfile *now)
{
    const struct log_ends *ends = &now->ends;
    assert_true(log_ends_good(ends->words, ends->size, now->gci));
    for (uint32_t id = node_mask_next(&now->members, 0); id != 0 && now->gci != 0;
         id = node_mask_next(&now->members, id))
        assert_non_null(log_ends_find(ends->words, ends->size, id));
}

/* I-GCP-7, at any time. */
static void run_looking(uint32_t ms)
{
    for (uint32_t i = 0; i < ms; i++) {
        fc_run(fc, 1);
        for (uint32_t id = 1; id <= NODES; id++) {
            if (!fc_alive(fc, id) || dih_diskless(dih_at(id))) continue;
            const struct sysfile *now = &dih_at(id)->sysfile.now;
            assert_ends_known(now);
            for (uint32_t dead = 1; dead <= NODES; dead++) {
                if (fc_alive(fc, dead) || !node_mask_has(&now->members, dead)) continue;
                assert_true(now->gci <= last_saved[dead]);
            }
        }
    }
}

static void expect_going_on(const char *what, uint32_t at, uint32_t deaths)
{
    uint32_t alive = 0;
    uint32_t gci[NODES + 1] = {0};
    uint32_t durable[NODES + 1] = {0};
    uint32_t master = 0;
    run_looking(100); /* Detection and agreement. */
    for (uint32_t id = 1; id <= NODES; id++) {
        if (!fc_alive(fc, id)) continue;
        alive++;
        gci[id] = dih_at(id)->gcp_node.complete_hi;
        durable[id] = dih_at(id)->gcp_node.durable;
    }
    assert_int_equal(alive, NODES - deaths);
    fc_run(fc, 100);
    for (uint32_t id = 1; id <= NODES; id++) {
        if (!fc_alive(fc, id)) continue;
        struct dih *dih = dih_at(id);
        if (master == 0) master = dih->president;
        assert_int_equal(dih->president, master);
        if (dih->gcp_node.complete_hi < gci[id] + 3)
            fail_msg("%s, step %u: node %u has no new epochs", what, at, id);
        /* What is declared durable is so on all that are left. */
        for (uint32_t other = 1; other <= NODES && !dih_diskless(dih); other++) {
            if (!fc_alive(fc, other)) continue;
            assert_true(dih_at(other)->sysfile.now.gci >= dih->gcp_node.durable);
            for (uint32_t i = 1; i <= 2; i++)
                assert_true(fake_lqh(fc, other, i)->saved >= dih->gcp_node.durable);
        }
        if (!dih_diskless(dih) && dih->gcp_node.durable < durable[id] + 3)
            fail_msg("%s, step %u: node %u has no new durable GCIs", what, at, id);
        assert_in_range(dih->gcp_node.gci_hi, dih_at(master)->gcp_node.gci_hi,
                        dih_at(master)->gcp_node.gci_hi + 1);
    }
}

/* How often the master died in each state of the epochs, and of a save. */
static uint32_t seen[4];
static uint32_t seen_save[3];

static void deaths(bool files)
{
    for (uint32_t victim = 1; victim <= 3; victim += 2) {
        for (uint32_t at = 0; at < 1200; at += 17) {
            begin(files);
            step(at);
            if (victim == 1) {
                seen[dih_at(dih_at(1)->president)->gcp_master.state]++;
                seen_save[dih_at(dih_at(1)->president)->gcp_master.save_state]++;
            }
            die(victim);
            expect_going_on(victim == 1 ? "master" : "member", at, 1);
            end();
        }
    }
}

static void test_one_dies(void **state)
{
    (void)state;
    deaths(false);
}

static void test_one_dies_with_files(void **state)
{
    (void)state;
    deaths(true);
    for (uint32_t i = GCP_IDLE; i <= GCP_COMMITTING; i++)
        assert_int_not_equal(seen[i], 0);
    for (uint32_t i = SAVE_IDLE; i <= SAVE_SYSFILES; i++)
        assert_int_not_equal(seen_save[i], 0);
}

/* A node's log cannot be written: it stops by name, nothing that it does not have is durable, and
 * the others go on without it. The master is one like any other. */
static void test_one_cannot_save(void **state)
{
    (void)state;
    for (uint32_t victim = 1; victim <= 3; victim += 2) {
        begin(true);
        fc_run(fc, 50);
        uint32_t before = fake_lqh(fc, victim, 2)->saved;
        fake_lqh(fc, victim, 2)->save_error = ERR_FILE_IO_FAILED;
        for (uint32_t i = 0; i < 200 && fc_alive(fc, victim); i++) {
            fc_run(fc, 1);
            for (uint32_t id = 1; id <= NODES && fc_alive(fc, victim); id++)
                assert_true(dih_at(id)->gcp_node.durable <= before);
        }
        assert_int_equal(fc->node[victim].exit_code, EXIT_GCP_SAVE);
        last_saved[victim] = before;
        expect_going_on("no log", victim, 1);
        end();
    }
}

/* A GCI is closed and saved, and `victim` dies after so many of its signals; false: all was done
 * before. */
static bool die_at(bool files, uint32_t victim, uint32_t at)
{
    begin(files);
    gcp_node_close(dih_at(2), dih_at(2)->gcp_node.gci_hi);
    bool died = fc_step(fc, NODES, victim, at);
    if (died) die(victim);
    return died;
}

static void test_one_dies_after_each_signal(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 4; round++) {
        bool more = true;
        uint32_t victim = round % 2 == 0 ? 1 : 3;
        uint32_t at = 1;
        for (; more; at++) {
            more = die_at(round / 2 != 0, victim, at);
            expect_going_on(victim == 1 ? "master" : "member", at, more);
            end();
        }
        assert_true(at > 15);
    }
}

/* Pairs: the new master dies after so many of its own signals. */
static void test_two_masters_die_after_each_signal(void **state)
{
    (void)state;
    for (uint32_t first = 1; first < 60; first += 4) {
        for (uint32_t second = 1; second < 120; second += 9) {
            bool died = die_at(true, 1, first);
            if (!died) {
                end();
                return;
            }
            while (dih_at(3)->fail.failure_no == 0)
                fc_run(fc, 1);
            uint32_t master = dih_at(3)->president;
            died = fc_step(fc, NODES, master, second);
            if (died) die(master);
            expect_going_on("pair", first * 1000 + second, died ? 2 : 1);
            end();
        }
    }
}

/* The new master dies too, a little after the others have heard of the first loss. */
static void test_two_masters_die(void **state)
{
    (void)state;
    for (uint32_t at = 0; at < 400; at += 9) {
        begin(true);
        step(at * 3);
        die(1);
        for (uint32_t i = 0; i < 200 && dih_at(3)->fail.failure_no == 0; i++)
            fc_run(fc, 1);
        assert_int_equal(dih_at(3)->fail.failure_no, 1);
        step(at);
        die(dih_at(3)->president);
        expect_going_on("two masters", at, 2);
        end();
    }
}

/* A node that the others went on without is not current at the next start: they start without it,
 * and it waits to come back (test_rejoin). */
static void test_lost_node_is_stale(void **state)
{
    (void)state;
    for (uint32_t victim = 1; victim <= 2; victim++) {
        for (uint32_t at = 0; at < 600; at += 61) {
            begin(true);
            step(at);
            die(victim);
            expect_going_on("stale", at, 1);
            uint32_t gci = dih_at(3)->gcp_node.durable;
            end();
            struct node_config config = config_of(true);
            config.start_partial_timeout_ms = 200;
            config.start_partitioned_timeout_ms = 300;
            make(&config);
            fc_run(fc, 2000);
            for (uint32_t id = 1; id <= NODES; id++) {
                assert_true(fc_alive(fc, id));
                if (id == victim) {
                    /* It has come behind the others, with what it had. */
                    assert_true(fake_lqh(fc, id, 1)->recover.restart_gci <= gci);
                    assert_true(fake_lqh(fc, id, 1)->recover.restart_gci == 0 ||
                                fake_lqh(fc, id, 1)->recover.running != 0);
                    continue;
                }
                assert_int_equal(fake_tc(fc, id, 1)->level, START_STARTED);
                assert_true(fake_lqh(fc, id, 1)->recover.restart_gci >= gci);
            }
            end();
        }
    }
}

/* The others are started; where the president waits for a node that had not joined, when it is
 * back. */
static bool others_started(uint32_t victim)
{
    for (uint32_t id = 1; id <= NODES; id++) {
        if (id == victim) continue;
        assert_true(fc_alive(fc, id));
        if (fake_tc(fc, id, 1)->level != START_STARTED) return false;
    }
    return true;
}

/* A node dies at any moment of the start, and while it becomes known who is started. */
static void test_one_dies_in_the_start(void **state)
{
    (void)state;
    struct node_config config = config_of(false);
    uint32_t without = 0;
    config.start_partial_timeout_ms = 200;
    config.start_partitioned_timeout_ms = 300;
    for (uint32_t victim = 1; victim <= 3; victim += 2) {
        for (uint32_t at = 0; at < 1200; at += 7) {
            make(&config);
            fc_run(fc, 40); /* The first ones have joined. */
            step(at);
            fc_kill(fc, victim);
            fc_run(fc, 1000);
            if (others_started(victim)) {
                without++;
                expect_going_on("start", at, 1);
            } else {
                node_destroy(fc->node[victim].node);
                fc->node[victim].node = NULL;
                fc->node[victim].dead = false;
                memset(fc->node[victim].allowed, 0, sizeof fc->node[victim].allowed);
                fake_data_node(fc, victim, &config);
                fc_run(fc, 1000);
                assert_true(others_started(0));
            }
            end();
        }
    }
    assert_true(without > 150);
}

/* All are told to stop, and one dies meanwhile: the others stop in good order, and soon. */
static void test_one_dies_in_a_stop(void **state)
{
    (void)state;
    for (uint32_t victim = 1; victim <= 3; victim += 2) {
        for (uint32_t at = 1; at < 200; at += 7) {
            begin(true);
            struct stop_req req = {.flags = STOP_SYSTEM};
            fc_client(fc, 8, true);
            fc_run(fc, 5);
            fc_sig_send(fc, 8, block_ref(2, BLOCK_CMVMI, 0), GSN_STOP_REQ, &req);
            if (at % 2 == 0) fc_run(fc, at);
            if (!fc_step(fc, NODES, victim, at)) fc_run(fc, at);
            fc_kill(fc, victim);
            fc_run(fc, 1000);
            for (uint32_t id = 1; id <= NODES; id++) {
                if (id == victim) continue;
                if (!fc->node[id].stopped || fc->node[id].dead)
                    fail_msg("victim %u, step %u: node %u has not stopped", victim, at, id);
                assert_int_equal(dih_at(id)->gcp_node.durable, dih_at(id)->sysfile.now.gci);
            }
            end();
        }
    }
}

/* One after the other stops in good order, and the others go on. */
static void test_single_nodes_stop(void **state)
{
    (void)state;
    begin(true);
    fc_client(fc, 8, true);
    fc_run(fc, 5);
    for (uint32_t id = 1; id < NODES - 1u; id++) {
        struct stop_req req = {.flags = 0};
        uint32_t flushed = dih_at(id)->gcp_node.gci_hi;
        fc_sig_send(fc, 8, block_ref(id, BLOCK_CMVMI, 0), GSN_STOP_REQ, &req);
        fc_run(fc, 300);
        assert_non_null(fc_take(fc, 8, GSN_STOP_CONF));
        assert_true(fc->node[id].stopped && !fc->node[id].dead);
        assert_true(dih_at(id)->sysfile.now.gci >= flushed);
        last_saved[id] = dih_at(id)->sysfile.now.gci;
        die(id);
        expect_going_on("stop", id, id);
    }
    end();
}

/* --- After a loss one that is left says what cannot be. --- */

static struct {
    uint32_t from;
    uint32_t gsn;
    uint32_t word;
    uint32_t add;
} damage;

static void damages(struct fake_cluster *cluster, uint32_t from, uint32_t to, uint32_t *words,
                    uint32_t count)
{
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        if (kind_gsn(words[at]) != damage.gsn || from != damage.from || from == to) continue;
        words[at + SIGNAL_HEAD_WORDS + damage.word] += damage.add;
        cluster->tamper = NULL;
        return;
    }
}

/* No answer is taken for a former master's: a node whose answer is damaged would be waited for
 * for ever. */
static void test_a_damaged_answer_after_a_loss(void **state)
{
    (void)state;
    static const uint32_t gsns[] = {GSN_GCP_PREPARECONF, GSN_GCP_NODEFINISH, GSN_GCP_NODE_SAVECONF,
                                    GSN_COPY_GCICONF};
    static const uint32_t adds[] = {1, 100, UINT32_MAX};
    for (uint32_t i = 0; i < 4u * 2u * 3u * 2u; i++) {
        uint32_t victim = i % 2 == 0 ? 1 : 3; /* The master, another one. */
        damage.gsn = gsns[i / 2 % 4];
        damage.word = i / 8 % 2; /* The incarnation, the GCI. */
        damage.add = adds[i / 16];
        begin(true);
        fc_run(fc, 50);
        die(victim);
        expect_going_on("loss", i, 1);
        damage.from = dih_at(2)->president == 2 ? NODES : 2;
        fc->tamper = damages;
        for (uint32_t ms = 0; ms < 400 && fc_alive(fc, damage.from); ms++)
            fc_run(fc, 1);
        assert_null(fc->tamper); /* It has come by. */
        if (fc_alive(fc, damage.from)) fail_msg("case %u: node %u goes on", i, damage.from);
        last_saved[damage.from] = UINT32_MAX;
        expect_going_on("damage", i, 2);
        end();
    }
}

/* --- A president that names others in a system file than those whose logs have its GCI. --- */

static void (*misname)(struct node_mask *members, uint32_t receiver);

static void without_receiver(struct node_mask *members, uint32_t receiver)
{
    node_mask_remove(members, receiver);
}

static void with_a_stranger(struct node_mask *members, uint32_t receiver)
{
    (void)receiver;
    node_mask_add(members, 130);
}

static void misnames(struct fake_cluster *cluster, uint32_t from, uint32_t to, uint32_t *words,
                     uint32_t count)
{
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        if (kind_gsn(words[at]) != GSN_COPY_GCIREQ || from == to) continue;
        struct copy_gcireq *req = (struct copy_gcireq *)(void *)(words + at + SIGNAL_HEAD_WORDS);
        misname(&req->members, to);
        cluster->tamper = NULL;
        return;
    }
}

/* It is refused, and nothing of it is taken over: the ends of logs that the node knows are those of
 * its GCI, and of all members, all the time (I-GCP-9). */
static void test_a_system_file_of_others(void **state)
{
    (void)state;
    for (uint32_t way = 0; way < 2; way++) {
        begin(true);
        misname = way == 0 ? without_receiver : with_a_stranger;
        fc->tamper = misnames;
        for (uint32_t ms = 0; ms < 100 && fc->tamper != NULL; ms++)
            run_looking(1);
        assert_null(fc->tamper); /* It has come by. */
        last_saved[1] = UINT32_MAX;
        for (uint32_t ms = 0; ms < 400 && fc_alive(fc, 1); ms++)
            run_looking(1);
        expect_going_on("misnamed", 1, 1);
        assert_false(fc_alive(fc, 1)); /* The accused one. */
        end();
    }
}

/* --- A system file that is written when the master dies. --- */

static struct {
    struct host *host;
    struct io_request *request;
} late[64];
static uint32_t late_count;
static bool disks_are_slow;

static void slow_submit(struct host *host, struct io_request *request)
{
    const struct fake_disk *disk = &fake_disks[((struct fc_node *)host)->id];
    if (!disks_are_slow || request->op != IO_WRITE ||
        strncmp(disk->handle[request->file]->name, "D1/sysfile", 10) != 0) {
        fake_disk_submit(host, request);
        return;
    }
    assert_true(late_count < sizeof late / sizeof late[0]);
    late[late_count].host = host;
    late[late_count++].request = request;
}

static void end_slow_writes(void)
{
    disks_are_slow = false;
    for (uint32_t i = 0; i < late_count; i++) {
        if (fc_alive(fc, ((struct fc_node *)late[i].host)->id))
            fake_disk_submit(late[i].host, late[i].request);
    }
    late_count = 0;
}

/* The former master has asked for the copy. Whenever that is done, the new one is told what it has
 * asked itself, and nobody is taken for one who breaks the protocol. */
static void test_a_copy_that_the_former_master_asked_for(void **state)
{
    (void)state;
    uint32_t took_over = 0;
    for (uint32_t at = 0; at < 240; at++) {
        begin(true);
        for (uint32_t id = 2; id <= NODES; id++)
            fc->node[id].host.io_submit = slow_submit;
        disks_are_slow = true;
        for (uint32_t ms = 0; ms < 100 && late_count < NODES - 1u; ms++)
            fc_run(fc, 1);
        assert_int_equal(late_count, NODES - 1u);
        die(1);
        (void)fc_step(fc, NODES, 2, at);
        took_over += dih_at(2)->president != 1;
        end_slow_writes();
        expect_going_on("slow copy", at, 1);
        end();
    }
    assert_in_range(took_over, 20, 239);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_dies),
        cmocka_unit_test(test_one_dies_with_files),
        cmocka_unit_test(test_one_cannot_save),
        cmocka_unit_test(test_two_masters_die),
        cmocka_unit_test(test_one_dies_after_each_signal),
        cmocka_unit_test(test_two_masters_die_after_each_signal),
        cmocka_unit_test(test_lost_node_is_stale),
        cmocka_unit_test(test_one_dies_in_the_start),
        cmocka_unit_test(test_one_dies_in_a_stop),
        cmocka_unit_test(test_single_nodes_stop),
        cmocka_unit_test(test_a_damaged_answer_after_a_loss),
        cmocka_unit_test(test_a_system_file_of_others),
        cmocka_unit_test(test_a_copy_that_the_former_master_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
