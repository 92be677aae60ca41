/* test_config_parse.c -- correct configuration files, and the binary form of what they say. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/base/rng.h"
#include "config/config_parse.h"
#include "config/log_destination.h"
#include "config/thread_config.h"

static const char good[] =
    "# A cluster of four data nodes.\n"
    "[system]\nName = test.cluster\n"
    "  [NDBD DEFAULT]  # comment\n"
    "NoOfReplicas:2\n"
    "datamemory = 0x10M   # hexadecimal, any case\r\n"
    "MaxNoOfTables=0200\n"
    "StopOnError=No\n"
    "Arbitration=waitexternal\n"
    "DataDir=/var/lib/ndb\n"
    "\n; a comment of the other kind\n"
    "[ndb_mgmd]\nNodeId=49\nHostName=mgm1.example\nPortNumber=1200\n"
    "[db]\nHostName=db1.example\n[ndbd]\nHostName=db2.example\nDataMemory=1G\n"
    "[ndbd]\nNodeId=7\nHostName=db3.example\n[ndbd]\nHostName=db4.example\n"
    "ThreadConfig=main,ldm={count=4,cpubind=1-4},tc={count=2,cpuset=5,6},recv,rep\n"
    "[tcp default]\nSendBufferMemory=4M\n"
    "[api default]\nBatchSize=64\n"
    "[api]\n[mysqld]\nNodeId=60\nBatchSize=32\n"
    "[tcp]\nNodeId1=7\nNodeId2=50\nOverloadLimit=1M\n"
    "[tcp]\nNodeId1=51\nNodeId2=7\nHostName1=10.0.0.51\nHostName2=10.0.0.7\n";

static struct cluster_config *parse(const char *text)
{
    struct config_report report = {.lines = NULL};
    struct cluster_config *config = config_parse_text(text, strlen(text), "c.ini", &report);

    for (uint32_t i = 0; i < report.errors; i++)
        print_error("%s\n", report.lines[i].text);
    config_report_clear(&report);
    return config;
}

static void a_good_file_is_read(void **unused)
{
    struct cluster_config *config = parse(good);

    (void)unused;
    assert_non_null(config);
    assert_string_equal(config_get_text(config_system(config), CFG_SYSTEM_Name), "test.cluster");
    assert_int_equal(config_count(config, CONFIG_NDBD), 4);
    const struct config_section *node = config_node(config, 50); /* The next after 49. */
    assert_non_null(node);
    assert_int_equal(config_section_kind(node), CONFIG_NDBD);
    assert_int_equal(config_get_u64(node, CFG_NDBD_DataMemory), 16 << 20);
    assert_int_equal(config_get_u64(node, CFG_NDBD_MaxNoOfTables), 128);
    assert_int_equal(config_get_u64(node, CFG_NDBD_StopOnError), 0);
    assert_int_equal(config_get_u64(node, CFG_NDBD_Arbitration), 2);
    assert_int_equal(config_get_u64(node, CFG_NDBD_HeartbeatIntervalDbDb), 70);
    assert_false(config_is_set(node, CFG_NDBD_HeartbeatIntervalDbDb));
    assert_string_equal(config_get_text(node, CFG_NDBD_FileSystemPath), "/var/lib/ndb/");
    assert_int_equal(config_get_u64(config_node(config, 51), CFG_NDBD_DataMemory), 1 << 30);
    assert_string_equal(config_get_text(config_node(config, 8), CFG_NDBD_HostName), "db4.example");
    assert_int_equal(config_get_u64(config_node(config, 49), CFG_MGMD_PortNumber), 1200);
    assert_int_equal(config_get_u64(config_node(config, 9), CFG_API_BatchSize), 64);
    assert_int_equal(config_get_u64(config_node(config, 60), CFG_API_BatchSize), 32);
    /* Groups in id order: 7 8 | 50 51. */
    assert_int_equal(config_get_u64(config_node(config, 8), CFG_NDBD_Nodegroup), 0);
    assert_int_equal(config_get_u64(config_node(config, 50), CFG_NDBD_Nodegroup), 1);
    const struct config_section *link = config_link(config, 50, 7);
    assert_int_equal(config_get_u64(link, CFG_TCP_OverloadLimit), 1 << 20);
    assert_int_equal(config_get_u64(link, CFG_TCP_SendBufferMemory), 4 << 20);
    assert_int_equal(config_get_u64(config_link(config, 7, 8), CFG_TCP_SendBufferMemory), 4 << 20);
    config_free(config);
}

static void a_link_may_have_its_own_hosts(void **unused)
{
    struct cluster_config *config = parse(good);

    (void)unused;
    assert_string_equal(config_link_host(config, 51, 7), "10.0.0.7");
    assert_string_equal(config_link_host(config, 7, 51), "10.0.0.51");
    assert_string_equal(config_link_host(config, 50, 7), "db3.example"); /* Says nothing of it. */
    assert_string_equal(config_link_host(config, 8, 7), "db3.example");  /* No section. */
    assert_string_equal(config_link_host(config, 60, 50), "db1.example");
    config_free(config);
}

static void groups_follow_what_is_given(void **unused)
{
    struct cluster_config *config = parse("[mgm]\n[api]\n[ndbd]\nNodegroup=65536\n[ndbd]\n[ndbd]\n"
                                          "Nodegroup=0\n[ndbd]\n[ndbd]\n");

    (void)unused;
    assert_non_null(config);
    assert_int_equal(config_get_u64(config_node(config, 3), CFG_NDBD_Nodegroup), 65536);
    assert_int_equal(config_get_u64(config_node(config, 4), CFG_NDBD_Nodegroup), 0);
    assert_int_equal(config_get_u64(config_node(config, 5), CFG_NDBD_Nodegroup), 0);
    assert_int_equal(config_get_u64(config_node(config, 6), CFG_NDBD_Nodegroup), 1);
    assert_int_equal(config_get_u64(config_node(config, 7), CFG_NDBD_Nodegroup), 1);
    config_free(config);
}

/* What the difference of two configurations asks for at node 2, and what is told of it. */
static void needs(const char *before, const char *after, const char *restart, const char *told)
{
    char text[400];
    char what[300] = "";
    struct cluster_config *a;
    struct cluster_config *b;

    (void)snprintf(text, sizeof(text), "[mgm]\n[ndbd]\n%s\n[ndbd]\n[api]\n", before);
    a = parse(text);
    (void)snprintf(text, sizeof(text), "[mgm]\n[ndbd]\n%s\n[ndbd]\n%s[api]\n", after,
                   strcmp(after, "#two more") == 0 ? "[ndbd]\n[ndbd]\n" : "");
    b = parse(text);
    assert_string_equal(config_restart_needed(a, b, 2, what, sizeof(what)), restart);
    assert_non_null(strstr(what, told));
    bool fixed = strchr(restart, 'S') == NULL;
    assert_int_equal(config_fixed_digest(a) == config_fixed_digest(b), fixed);
    config_free(a);
    config_free(b);
}

static void a_change_says_which_restart_it_needs(void **unused)
{
    (void)unused;
    needs("", "#no difference", "", "");
    needs("", "DataMemory=100M", "N", "DataMemory");
    needs("", "NoOfFragmentLogFiles=20", "IN", "NoOfFragmentLogFiles of node 2: 16 became 20");
    needs("DataMemory=90M", "DataMemory=100M\nServerPort=4711", "S",
          "ServerPort of node 2: 0 became");
    needs("Nodegroup=0", "#none", "", ""); /* It gets group 0 all the same. */
    needs("", "#two more", "IS", "is new");
    needs("[api]\nNodeId=9", "[ndbd]\nNodeId=9\nNodegroup=65536", "S", "data node 9 is new");
    needs("Nodegroup=0\n[ndbd]\nNodegroup=0\n[ndbd]\nNodegroup=1",
          "Nodegroup=1\n[ndbd]\nNodegroup=0\n[ndbd]\nNodegroup=1", "IS",
          "Nodegroup of node 2: 0 became 1");
}

/* The number is what version 1.0.0 makes of this file, and what its nodes compare with: when a new
 * parameter changes it, they refuse the new version's in a rolling upgrade. Leave the parameter out
 * of the digest while it has its default (config.h); do not change the number. */
static void the_fixed_digest_is_that_of_all_versions(void **unused)
{
    struct cluster_config *config = parse("[mgm]\n[ndbd]\nDataDir=/d\n[ndbd]\nDataDir=/d\n[api]\n");

    (void)unused;
    assert_int_equal(config_fixed_digest(config), 0x1220277c);
    config_free(config);
}

static void a_late_arbitrator_is_told_of(void **unused)
{
    struct config_report report = {.lines = NULL};
    const char *text = "[mgm]\nArbitrationDelay=8000\n[ndbd]\n[ndbd]\n[api]\nArbitrationDelay=10\n";
    struct cluster_config *config = config_parse_text(text, strlen(text), "c.ini", &report);

    (void)unused;
    assert_non_null(config);
    assert_int_equal(report.count, 1);
    assert_non_null(strstr(report.lines[0].text, "ArbitrationDelay: the answer comes after"));
    config_report_clear(&report);
    config_free(config);
}

static void warnings_do_not_refuse(void **unused)
{
    static const char text[] = "[mgm]\nHostName=a.example\n[ndbd default]\nHostName=a.example\n"
                               "[ndbd]\n[ndbd]\n[api]\n";
    struct config_report report = {.lines = NULL};
    struct cluster_config *config = config_parse_text(text, strlen(text), "c.ini", &report);

    (void)unused;
    assert_non_null(config);
    assert_int_equal(report.errors, 0);
    assert_int_equal(report.count, 2);
    assert_string_equal(
        report.lines[1].text,
        "c.ini:6: warning: [ndbd] Nodegroup: nodes 2 and 3 of node group 0 are both "
        "on \"a.example\": losing this host stops the cluster");
    config_report_clear(&report);
    config_free(config);
}

/* Warnings about the loss of a host, of all hosts. */
static uint32_t host_warnings(const char *text)
{
    struct config_report report = {.lines = NULL};
    struct cluster_config *config = config_parse_text(text, strlen(text), "c.ini", &report);
    uint32_t count = 0;

    assert_non_null(config);
    for (uint32_t i = 0; i < report.count; i++)
        count += strstr(report.lines[i].text, "losing host") != NULL;
    config_report_clear(&report);
    config_free(config);
    return count;
}

static void one_host_that_stops_the_cluster_is_told_of(void **unused)
{
#define TWO_HOSTS "[ndbd]\nHostName=a.example\n[ndbd]\nHostName=b.example\n[api]\n"
#define NO_RANK   "ArbitrationRank=0\n"
    (void)unused;
    /* The arbitrator goes with one of them; with a third host, or another arbitrator, nothing is
     * lost. */
    assert_int_equal(host_warnings("[mgm]\nHostName=a.example\n" TWO_HOSTS), 1);
    assert_int_equal(host_warnings("[mgm]\nHostName=c.example\n" TWO_HOSTS), 0);
    assert_int_equal(host_warnings("[mgm]\nHostName=c.example\n" NO_RANK TWO_HOSTS), 2);
    assert_int_equal(host_warnings("[mgm]\nHostName=a.example\n" TWO_HOSTS
                                   "HostName=c.example\nArbitrationRank=2\n"),
                     0);
    /* Three copies on three hosts need none: two are more than half. */
    assert_int_equal(host_warnings("[ndbd default]\nNoOfReplicas=3\n[mgm]\nHostName=a.example\n"
                                   "[ndbd]\nHostName=c.example\n" TWO_HOSTS),
                     0);
}

static void what_has_no_effect_is_told(void **unused)
{
    static const char text[] = "[mgm]\n[ndbd default]\nODirect=1\nKeepAliveSendInterval=100\n"
                               "NoOfReplicas=1\n[ndbd]\nRecoveryWork=60\n[ndbd]\n"
                               "RequireTls=off\nEncryptedFileSystem=0\n[api]\n"; /* So it is. */
    struct config_report report = {.lines = NULL};
    struct cluster_config *config = config_parse_text(text, strlen(text), "c.ini", &report);

    (void)unused;
    assert_non_null(config);
    assert_int_equal(report.errors, 0);
    assert_int_equal(report.count, 3); /* Each once, also what holds for several nodes. */
    assert_string_equal(report.lines[0].text,
                        "c.ini:3: warning: [ndbd] ODirect: it has no effect: it is "
                        "used wherever the file system can do it");
    assert_string_equal(report.lines[2].text,
                        "c.ini:7: warning: [ndbd] RecoveryWork: it has no effect: how much a "
                        "checkpoint writes follows from what has changed");
    assert_string_equal(report.lines[1].text,
                        "c.ini:4: warning: [ndbd] KeepAliveSendInterval: it has "
                        "no effect: heartbeats keep links alive");
    config_report_clear(&report);
    config_free(config);
}

/* Parameters of an old file: each is known, and told with its reason. */
static void old_files_are_read(void **unused)
{
#define FOREIGN(section, name, refused, reason) {CONFIG_##section, #name, (refused) != 0},
    static const struct {
        enum config_kind kind;
        const char *name;
        bool refused;
    } foreign[] = {
#include "config/params_foreign.def"
    };
#undef FOREIGN
    static const char *const sections[CONFIG_KINDS] = {[CONFIG_NDBD] = "[ndbd default]",
                                                       [CONFIG_MGMD] = "[ndb_mgmd default]",
                                                       [CONFIG_API] = "[mysqld default]",
                                                       [CONFIG_TCP] = "[tcp default]",
                                                       [CONFIG_SYSTEM] = "[system]"};
    char text[400];
    (void)unused;
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        struct config_report report = {.lines = NULL};
        int size = snprintf(text, sizeof text, "%s\n%s=1\n[mgm]\n[ndbd]\nNoOfReplicas=1\n[api]\n",
                            sections[foreign[i].kind], foreign[i].name);
        struct cluster_config *config = config_parse_text(text, (size_t)size, "c.ini", &report);
        assert_true(report.count > 0);
        assert_non_null(strstr(report.lines[0].text, foreign[i].name));
        assert_int_equal(report.errors, foreign[i].refused ? 1 : 0);
        assert_true((config == NULL) == foreign[i].refused);
        config_report_clear(&report);
        config_free(config);
    }
}

/* Nodes had an Id before they had a NodeId; [computer] has one still. */
static void an_id_is_a_node_id(void **unused)
{
    static const char text[] = "[computer]\nId=9\nHostName=10.0.0.1\n[mgm]\nid=41\n[db]\nId=7\n"
                               "NoOfReplicas=1\nExecuteOnComputer=9\n[api]\nID=8\n[sci default]\n";
    struct config_report report = {.lines = NULL};
    struct cluster_config *config = config_parse_text(text, sizeof text - 1, "c.ini", &report);
    (void)unused;
    assert_non_null(config);
    assert_int_equal(report.count, 4); /* Three ids, and [sci]. */
    assert_int_equal(config_section_kind(config_node(config, 41)), CONFIG_MGMD);
    assert_int_equal(config_section_kind(config_node(config, 7)), CONFIG_NDBD);
    assert_int_equal(config_section_kind(config_node(config, 8)), CONFIG_API);
    config_report_clear(&report);
    config_free(config);
}

/* Hosts by the labels of [computer] sections, which may stand anywhere; links by shared memory. */
static void computers_have_hosts(void **unused)
{
    struct cluster_config *config =
        parse("[mgm]\nExecuteOnComputer=one\n[ndbd default]\nNoOfReplicas=1\n"
              "[ndbd]\nexecuteoncomputer=2\n[shm default]\nShmSize=4M\n[shm]\nNodeId1=2\n"
              "[mysqld]\nExecuteOnComputer=one\n"
              "[computer]\nId=one\nHostName=h1.example\n[computer]\nhostname=h2.example\nid=2\n");
    (void)unused;
    assert_non_null(config);
    assert_string_equal(config_get_text(config_node(config, 1), CFG_MGMD_HostName), "h1.example");
    assert_string_equal(config_get_text(config_node(config, 2), CFG_NDBD_HostName), "h2.example");
    assert_string_equal(config_get_text(config_node(config, 3), CFG_API_HostName), "h1.example");
    config_free(config);
}

static void binary_form_keeps_everything(void **unused)
{
    struct cluster_config *config = parse(good);
    char why[128];
    char what[256] = "";
    size_t size;
    size_t text_size;

    (void)unused;
    config_set_generation(config, 7);
    config_set_cluster_id(config, 0x1122334455667788ULL);
    uint8_t *bytes = config_encode(config, &size);
    assert_non_null(bytes);
    char *text = config_base64_encode(bytes, size);
    uint8_t *again = config_base64_decode(text, strlen(text), &text_size);
    assert_int_equal(text_size, size);
    assert_memory_equal(bytes, again, size);
    struct cluster_config *copy = config_decode(bytes, size, why, sizeof(why));
    assert_non_null(copy);
    assert_true(config_equal(config, copy, what, sizeof(what)));
    assert_int_equal(config_generation(copy), 7);
    assert_true(config_cluster_id(copy) == 0x1122334455667788ULL);
    assert_int_equal(config_set_u64(config_node(copy, 51), CFG_NDBD_DataMemory, 1 << 20), 0);
    assert_false(config_equal(config, copy, what, sizeof(what)));
    assert_string_equal(what, "[ndbd] 51 DataMemory: 1073741824 became 1048576");
    free(bytes);
    free(text);
    free(again);
    config_free(copy);
    config_free(config);
}

static void every_cut_and_flip_is_refused(void **unused)
{
    struct cluster_config *config = parse(good);
    char why[128];
    size_t size;
    uint8_t *bytes = config_encode(config, &size);

    (void)unused;
    for (size_t cut = 0; cut < size; cut += 37) {
        assert_null(config_decode(bytes, cut, why, sizeof(why)));
    }
    for (size_t at = 0; at < size; at += 11) {
        bytes[at] ^= (uint8_t)(1u << (at & 7));
        assert_null(config_decode(bytes, size, why, sizeof(why)));
        assert_true(why[0] != '\0');
        bytes[at] ^= (uint8_t)(1u << (at & 7));
    }
    free(bytes);
    config_free(config);
}

static void base64_refuses_what_it_is_not(void **unused)
{
    static const char *const bad[] = {"A",        "AAA",  "A===", "AA=A",
                                      "AAAA====", "AA*A", "====", "AAA=AAAA"};
    size_t size;

    (void)unused;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        uint8_t *bytes = config_base64_decode(bad[i], strlen(bad[i]), &size);
        if (bytes != NULL) print_error("accepted %s\n", bad[i]);
        assert_null(bytes);
    }
}

static void a_program_can_build_one(void **unused)
{
    struct cluster_config *config = config_new();
    struct config_report report = {.lines = NULL};

    (void)unused;
    assert_non_null(config_add_node(config, CONFIG_MGMD, 49));
    assert_non_null(config_add_node(config, CONFIG_API, 60));
    for (uint32_t id = 1; id <= 4; id++) {
        struct config_section *node = config_add_node(config, CONFIG_NDBD, id);
        assert_int_equal(config_set_u64(node, CFG_NDBD_NoOfReplicas, 4), 0);
        assert_int_equal(config_set_u64(node, CFG_NDBD_NoOfReplicas, 5), -1);
        assert_int_equal(config_set_u64(node, CFG_NDBD_DataDir, 5), -1);
        assert_int_equal(config_set_u64(node, 9999, 5), -1);
    }
    assert_null(config_add_node(config, CONFIG_NDBD, 4));
    assert_null(config_add_node(config, CONFIG_NDBD, 145));
    assert_null(config_add_node(config, CONFIG_API, 0));
    assert_null(config_add_node(config, CONFIG_API, 256));
    assert_null(config_add_link(config, 1, 5));
    assert_int_equal(config_check(config, "-", &report), 0);
    assert_int_equal(config_get_u64(config_node(config, 4), CFG_NDBD_Nodegroup), 0);
    config_report_clear(&report);
    config_free(config);
}

static void the_table_is_consistent(void **unused)
{
    uint32_t count;
    const struct config_param *params = config_params(&count);

    (void)unused;
    for (uint32_t i = 0; i < count; i++) {
        const struct config_param *param = &params[i];
        assert_ptr_equal(config_param(param->kind, param->id), param); /* No id twice. */
        assert_ptr_equal(config_param_by_name(param->kind, param->name), param);
        assert_true(param->min <= param->max);
        assert_true(param->sim_min <= param->sim_max);
        assert_true(strlen(param->help) > 10 && param->help[strlen(param->help) - 1] == '.');
        if (param->sim_max > 0) {
            assert_true(param->sim_min >= param->min && param->sim_max <= param->max);
        }
    }
}

static void thread_layouts_are_read(void **unused)
{
    struct thread_config threads;
    char why[256];

    (void)unused;
    assert_int_equal(thread_config_parse("", &threads, why, sizeof(why)), 0);
    assert_int_equal(threads.counts[THREAD_KIND_LDM], 1);
    assert_int_equal(threads.counts[THREAD_KIND_RECV], 1);
    assert_int_equal(threads.counts[THREAD_KIND_TC], 0);
    assert_int_equal(thread_config_parse(" main = { cpubind = 0 } , ldm={count=4,cpubind=1-3,7,"
                                         "spintime=50},tc={count=2,cpuset=5,6}, ldm ",
                                         &threads, why, sizeof(why)),
                     0);
    assert_int_equal(threads.entry_count, 4);
    assert_int_equal(threads.counts[THREAD_KIND_LDM], 5);
    assert_int_equal(threads.entries[1].cpu_count, 4);
    assert_int_equal(threads.entries[1].cpus[3], 7);
    assert_int_equal(threads.entries[1].spintime_us, 50);
    assert_true(threads.entries[1].cpu_each);
    assert_false(threads.entries[2].cpu_each);
    assert_int_equal(
        thread_config_parse("main={count=0},ldm={count=0},recv={count=1},rep={count=0}", &threads,
                            why, sizeof(why)),
        0);
    assert_int_equal(threads.counts[THREAD_KIND_LDM], 0);
}

static void log_destinations_are_read(void **unused)
{
    struct log_destination destination;
    char why[256];

    (void)unused;
    assert_int_equal(log_destination_parse("", &destination, why, sizeof(why)), 0);
    assert_int_equal(destination.count, 1);
    assert_int_equal(destination.targets[0].kind, LOG_TARGET_FILE);
    assert_int_equal(destination.targets[0].max_size, 1000000);
    assert_int_equal(destination.targets[0].max_files, 6);
    assert_int_equal(log_destination_parse("CONSOLE;SYSLOG:facility=local3;FILE:filename=a.log,"
                                           "maxsize=2M,maxfiles=3",
                                           &destination, why, sizeof(why)),
                     0);
    assert_int_equal(destination.count, 3);
    assert_string_equal(destination.targets[1].facility, "local3");
    assert_string_equal(destination.targets[2].filename, "a.log");
    assert_int_equal(destination.targets[2].max_size, 2 << 20);
}

static void the_example_is_good(void **unused)
{
    struct config_report report = {.lines = NULL};
    struct cluster_config *config = config_parse_file(CONFIG_EXAMPLE, &report);

    (void)unused;
    for (uint32_t i = 0; i < report.errors; i++)
        print_error("%s\n", report.lines[i].text);
    assert_non_null(config);
    assert_int_equal(config_count(config, CONFIG_NDBD), 2);
    assert_int_equal(config_count(config, CONFIG_MGMD), 2);
    assert_int_equal(config_count(config, CONFIG_API), 6);
    config_report_clear(&report);
    config_free(config);
}

static void mutated_files_never_crash(void **unused)
{
    static char text[sizeof(good)];
    struct rng rng;

    (void)unused;
    rng_seed(&rng, 11);
    for (uint32_t round = 0; round < 3000; round++) {
        struct config_report report = {.lines = NULL};
        memcpy(text, good, sizeof(good));
        for (uint32_t i = 0; i < 1 + round % 8; i++) {
            text[rng_below(&rng, sizeof(good))] = (char)rng_below(&rng, 256);
        }
        struct cluster_config *config = config_parse_text(text, sizeof(good) - 1, "c.ini", &report);
        assert_true((config == NULL) == (report.errors > 0));
        config_free(config);
        config_report_clear(&report);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_file_is_read),
        cmocka_unit_test(a_link_may_have_its_own_hosts),
        cmocka_unit_test(groups_follow_what_is_given),
        cmocka_unit_test(warnings_do_not_refuse),
        cmocka_unit_test(one_host_that_stops_the_cluster_is_told_of),
        cmocka_unit_test(a_change_says_which_restart_it_needs),
        cmocka_unit_test(the_fixed_digest_is_that_of_all_versions),
        cmocka_unit_test(a_late_arbitrator_is_told_of),
        cmocka_unit_test(what_has_no_effect_is_told),
        cmocka_unit_test(old_files_are_read),
        cmocka_unit_test(an_id_is_a_node_id),
        cmocka_unit_test(computers_have_hosts),
        cmocka_unit_test(binary_form_keeps_everything),
        cmocka_unit_test(every_cut_and_flip_is_refused),
        cmocka_unit_test(base64_refuses_what_it_is_not),
        cmocka_unit_test(a_program_can_build_one),
        cmocka_unit_test(the_table_is_consistent),
        cmocka_unit_test(thread_layouts_are_read),
        cmocka_unit_test(log_destinations_are_read),
        cmocka_unit_test(the_example_is_good),
        cmocka_unit_test(mutated_files_never_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
