/* test_configure.c -- what the cluster's configuration becomes for a node's kernel: memory, nodes,
 * limits, threads. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "config/config_parse.h"
#include "ndb/mgm.h"
#include "ndbmtd/configure.h"
#include "ndbmtd/process.h"
#include "tests/unit/support/temp_directory.h"

#define PAGES_PER_MB 32u

static struct process *process;
static char why[256];

/* Configures node `id` from [ndbd default] lines `defaults` and the sections `nodes`. */
static int configure(const char *defaults, const char *nodes, uint32_t id)
{
    char text[4096];
    struct config_report report = {.lines = NULL};
    int length = snprintf(
        text, sizeof text,
        "[ndbd default]\nNoOfReplicas=1\n%s\n[ndb_mgmd]\nNodeId=49\n%s\n[api]\nNodeId=60\n",
        defaults, nodes);
    config_free((struct cluster_config *)(uintptr_t)process->cluster);
    process->cluster = config_parse_text(text, (size_t)length, "c.ini", &report);
    for (uint32_t i = 0; i < report.errors; i++)
        print_error("%s\n", report.lines[i].text);
    config_report_clear(&report);
    assert_non_null(process->cluster);
    process->config.own_node = id;
    why[0] = '\0';
    return configure_node(process, why, sizeof why);
}

static void memory_as_configured(void **unused)
{
    const uint32_t *pages = process->config.memory.pages_max;
    (void)unused;
    assert_int_equal(configure("DataMemory=80M\nTransactionMemory=12M\nSharedGlobalMemory="
                               "40M\nTotalSendBufferMemory=3M",
                               "[ndbd]\nNodeId=1", 1),
                     0);
    assert_int_equal(pages[RG_DATA], 80 * PAGES_PER_MB);
    assert_int_equal(pages[RG_TRANSACTION], 12 * PAGES_PER_MB);
    assert_int_equal(pages[RG_SCHEMA], 40 * PAGES_PER_MB);
    assert_int_equal(pages[RG_SEND_BUFFER], 3 * PAGES_PER_MB);

    /* TransactionMemory is computed from DataMemory; a begun page counts. */
    assert_int_equal(configure("DataMemory=160M", "[ndbd]\nNodeId=1", 1), 0);
    assert_int_equal(pages[RG_TRANSACTION], (64 + 10) * PAGES_PER_MB);
    assert_int_equal(configure("DataMemory=1048577", "[ndbd]\nNodeId=1", 1), 0);
    assert_int_equal(pages[RG_DATA], PAGES_PER_MB + 1);

    /* The largest allowed one still has a page number. */
    assert_int_equal(
        configure("DataMemory=16384G\nTransactionMemory=16384G", "[ndbd]\nNodeId=1", 1), 0);
    assert_int_equal(pages[RG_DATA], 16384u * 1024u * PAGES_PER_MB);
}

static int fits(uint64_t machine_mb, uint64_t shared_mb, uint64_t own_mb)
{
    const struct memory_room room = {.machine = CFG_MB(machine_mb),
                                     .shared = shared_mb == 0 ? UINT64_MAX : CFG_MB(shared_mb),
                                     .own = own_mb == 0 ? UINT64_MAX : CFG_MB(own_mb)};
    return memory_fits(process, &room, why, sizeof why);
}

static void more_memory_than_the_machine_has(void **unused)
{
    static const char two[] = "HostName=10.0.0.9\n[ndbd]\nNodeId=1\nHostName=10.0.0.2\n"
                              "[ndbd]\nNodeId=2\nHostName=10.0.0.2\n"
                              "[ndbd]\nNodeId=3\nHostName=10.0.0.1\n";
    (void)unused;
    assert_int_equal(configure("DataMemory=1G", two, 1), 0);
    uint64_t each = 1024 + (64 + 64) + 128 + 32; /* Data, transactions, definitions, redo log. */
    assert_int_equal(fits(2 * each, 0, 0), 0);
    assert_int_equal(fits(2 * each - 1, 0, 0), 1);
    assert_non_null(strstr(why, "may use 2624M together ("));
    assert_non_null(strstr(why, "more than it has (2623M of memory): the system ends them when "));
    /* Two services with a limit each, or one container for both. */
    assert_int_equal(fits(2 * each, 0, each), 0);
    assert_int_equal(fits(2 * each, 0, each - 1), 1);
    assert_non_null(strstr(why, "This node may use 1312M ("));
    assert_non_null(strstr(why, "more than its control group allows (1311M, as its service's "));
    assert_int_equal(fits(9 * each, 2 * each, 0), 0);
    assert_int_equal(fits(9 * each, 2 * each - 1, 0), 1);
    assert_non_null(strstr(why, "more than their control group or container allows (2623M of "));
    assert_int_equal(
        configure("DataMemory=1G\nTransactionMemory=1G\nTotalSendBufferMemory=8M", two, 1), 0);
    each += 1024 - 128 + 8;
    assert_int_equal(fits(2 * each, 0, 0), 0);
    assert_int_equal(fits(2 * each - 1, 0, 0), 1);
    assert_int_equal(configure("DataMemory=1G", two, 1), 0);
    assert_int_equal(fits(1024, 0, 0), 1);
    assert_int_equal(fits(4096, 0, 1000), 1); /* A node that ran goes on. */
    assert_int_equal(fits(1023, 0, 0), -1);
    assert_non_null(strstr(why, "DataMemory=1024M is more than this machine has (1023M"));
}

/* A directory as /sys/fs/cgroup is, and a file as /proc/self/cgroup is. */
static char groups_root[TEMP_DIRECTORY_SIZE];

static void put_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", groups_root, name);
    for (char *c = path + strlen(groups_root) + 1; *c != '\0'; c++) {
        if (*c != '/') continue;
        *c = '\0';
        if (mkdir(path, 0700) != 0) assert_int_equal(errno, EEXIST);
        *c = '/';
    }
    FILE *stream = fopen(path, "we");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
}

static void allowed(const char *groups, uint64_t shared, uint64_t own)
{
    char path[128];
    struct memory_room room;
    put_file("groups", groups);
    snprintf(path, sizeof path, "%s/groups", groups_root);
    cgroup_memory(path, groups_root, &room);
    assert_int_equal(room.shared, shared);
    assert_int_equal(room.own, own);
}

static void control_groups_allow_less_memory(void **unused)
{
    (void)unused;
    temp_directory_make(groups_root);
    const uint64_t none = UINT64_MAX;
    struct memory_room room;
    cgroup_memory("/nowhere/cgroup", groups_root, &room);
    assert_true(room.shared == none && room.own == none);
    allowed("", none, none);
    allowed("0::/\n", none, none);
    allowed("damaged\n3\n4:x\n:::\n0:memory:\n", none, none);

    put_file("a/b/memory.max", "max\n");
    allowed("0::/a/b\n", none, none);
    put_file("a/memory.max", "5000\n"); /* One above counts as well; what is beside does not. */
    put_file("c/memory.max", "4000\n");
    allowed("0::/a/b\n", 5000, none);
    put_file("a/b/memory.max", "4500\n");
    /* Several nodes may be in a group: its limit is shared. */
    allowed("0::/a/b\n", 4500, none);
    put_file("a/ndbmtd@1.service/memory.max", "4200\n");
    /* A unit has one node: its limit is that node's own. */
    allowed("0::/a/ndbmtd@1.service\n", 5000, 4200);
    put_file("memory.max", "3000\n"); /* In a container: its own is the top. */
    allowed("0::/a/b\n", 3000, none);
    allowed("0::/a/ndbmtd@1.service\n", 3000, 4200);
    allowed("0::/gone/from/here\n", 3000, none);
    allowed("0::/\n", 3000, none);
    put_file("memory.max", "nonsense\n");
    allowed("0::/\n", none, none);

    put_file("memory/x/memory.limit_in_bytes", "9223372036854771712\n");
    allowed("4:memory:/x\n", 9223372036854771712u, none); /* More than any machine. */
    put_file("memory/x/memory.limit_in_bytes", "7000\n");
    allowed("5:cpu:/x\n4:cpu,memory:/x\n0::/a/b\n", 4500, none);
    allowed("5:cpu:/x\n4:cpu,memory:/x\n", 7000, none);
    allowed("5:nomemory,memoryless:/x\n", none, none);

    machine_memory(&room);
    assert_int_equal(room.machine,
                     (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
    temp_directory_remove(groups_root);
}

static void automatic_memory_is_shared_by_the_nodes_of_a_host(void **unused)
{
    static const char four[] =
        "HostName=10.0.0.9\n[ndbd]\nNodeId=1\nHostName=10.0.0.1\n[ndbd]\nNodeId=2\nHostName=10.0.0."
        "1\n"
        "[ndbd]\nNodeId=3\nHostName=10.0.0.3\n[ndbd]\nNodeId=4\nHostName=10.0.0.1\nDataMemory=5M\n";
    static const char loopback[] =
        "[ndbd]\nNodeId=1\nHostName=127.0.0.1\n[ndbd]\nNodeId=2\nHostName=localhost\n";
    struct memory_room room;
    machine_memory(&room);
    uint64_t machine = room.shared < room.machine ? room.shared : room.machine;
    uint64_t share = machine / 10 * 6;
    if (room.own < machine) skip(); /* Each node would take that of this test. */
    const uint32_t *pages = process->config.memory.pages_max;
    (void)unused;
    assert_int_equal(configure("", "[ndbd]\nNodeId=1", 1), 0);
    assert_in_range(pages[RG_DATA], share / PAGE_SIZE_BYTES, share / PAGE_SIZE_BYTES + 1);
    assert_int_equal(configure("", four, 1), 0);
    assert_in_range(pages[RG_DATA], share / 3 / PAGE_SIZE_BYTES, share / 3 / PAGE_SIZE_BYTES + 1);
    assert_int_equal(configure("", four, 2), 0);
    assert_in_range(pages[RG_DATA], share / 3 / PAGE_SIZE_BYTES, share / 3 / PAGE_SIZE_BYTES + 1);
    assert_int_equal(configure("", four, 3), 0);
    assert_in_range(pages[RG_DATA], share / PAGE_SIZE_BYTES, share / PAGE_SIZE_BYTES + 1);
    assert_int_equal(configure("", four, 4), 0);
    assert_int_equal(pages[RG_DATA], 5 * PAGES_PER_MB);
    assert_int_equal(configure("", loopback, 2), 0);
    assert_in_range(pages[RG_DATA], share / 2 / PAGE_SIZE_BYTES, share / 2 / PAGE_SIZE_BYTES + 1);
    /* All together leaves the machine something. */
    assert_true(share + share / 16 < machine);
}

static void nodes_and_groups(void **unused)
{
    const struct config_node *node = process->config.node;
    (void)unused;
    assert_int_equal(
        configure("", "[ndbd]\nNodeId=1\nNodegroup=0\n[ndbd]\nNodeId=2\nNodegroup=1\n", 2), 0);
    assert_int_equal(process->config.own_node, 2);
    assert_int_equal(node[1].type, NODE_DATA);
    assert_int_equal(node[1].nodegroup, 0);
    assert_int_equal(node[2].nodegroup, 1);
    assert_int_equal(node[49].type, NODE_MGM);
    assert_int_equal(node[60].type, NODE_API);
    assert_int_equal(node[3].type, NODE_NONE);

    /* A node that is no longer there is forgotten: a restarted process configures itself anew. */
    assert_int_equal(configure("", "[ndbd]\nNodeId=2\n", 2), 0);
    assert_int_equal(node[1].type, NODE_NONE);
    assert_int_equal(process->config.own_node, 2);

    assert_int_equal(configure("", "[ndbd]\nNodeId=2\n", 3), -1);
    assert_string_equal(why, "node 3 is not a data node of the configuration");
    assert_int_equal(configure("", "[ndbd]\nNodeId=2\n", 60), -1);
    assert_string_equal(why, "node 60 is not a data node of the configuration");
}

static void limits_and_times(void **unused)
{
    const struct node_config *config = &process->config;
    (void)unused;
    assert_int_equal(
        configure("MaxNoOfConcurrentTransactions=64\nMaxNoOfConcurrentScans=7\nMaxNoOfTables=20\n"
                  "MaxNoOfConcurrentOperations=500\nMaxDMLOperationsPerTransaction="
                  "400\nHeartbeatIntervalDbDb="
                  "100\nHeartbeatIntervalDbApi=200\n"
                  "TransactionDeadlockDetectionTimeout=300\nTransactionInactiveTimeout=400\n"
                  "StartPartialTimeout=0\nSchedulerSpinTimer=10\nMaxNoOfSavedMessages=3",
                  "[ndbd]\nNodeId=1", 1),
        0);
    assert_int_equal(config->transactions_max, 64);
    assert_int_equal(config->scans_max, 7);
    assert_int_equal(config->tables_max, 20);
    assert_int_equal(config->operations_max, 500);
    assert_int_equal(config->changes_max, 400);
    assert_int_equal(config->heartbeat_db_db_ms, 100);
    assert_int_equal(config->heartbeat_db_api_ms, 200);
    assert_int_equal(config->deadlock_timeout_ms, 300);
    assert_int_equal(config->inactive_timeout_ms, 400);
    assert_int_equal(config->start_partial_timeout_ms, 0);
    assert_int_equal(process->spin_ns, 10000);
    assert_int_equal(process->traces_kept, 3);

    /* The largest allowed numbers do not wrap when pools are made of them. */
    assert_int_equal(
        configure(
            "MaxNoOfConcurrentTransactions=4294967039\nMaxNoOfConcurrentOperations=4294967039",
            "[ndbd]\nNodeId=1", 1),
        0);
    assert_in_range(config->transactions_max, 1000000, UINT32_MAX / 4);
    assert_in_range(config->operations_max, 1000000, UINT32_MAX / 4);

    /* Operations are bounded by transaction memory alone, unless somebody sets a lid. */
    assert_int_equal(configure("MaxNoOfSavedMessages=0", "[ndbd]\nNodeId=1", 1), 0);
    assert_true(config->operations_max > 1000000);
    assert_int_equal(config->changes_max, UINT32_MAX);
    assert_int_equal(process->traces_kept, 1);
}

static void redo_log_and_checkpoints(void **unused)
{
    const struct node_config *config = &process->config;
    (void)unused;
    assert_int_equal(
        configure("NoOfFragmentLogFiles=5\nFragmentLogFileSize=8M\nRedoBuffer=12M\n"
                  "InitFragmentLogFiles=sparse\nTimeBetweenLocalCheckpoints=7\n"
                  "TimeBetweenGlobalCheckpoints=500\nTimeBetweenEpochs=50\n"
                  "TimeBetweenGlobalCheckpointsTimeout=9000\nTimeBetweenEpochsTimeout=7000\n"
                  "MinDiskWriteSpeed=3M\nMaxDiskWriteSpeed=5M\n"
                  "StartPartitionedTimeout=70\nStartFailureTimeout=80\n"
                  "ThreadConfig=ldm={count=3},recv",
                  "[ndbd]\nNodeId=1", 1),
        0);
    assert_int_equal(config->redo_files, 5);
    assert_int_equal(config->redo_file_bytes, 8 << 20);
    assert_int_equal(config->redo_buffer_bytes, 4 << 20); /* A third each. */
    assert_int_equal(config->redo_zero, 0);
    assert_int_equal(config->lcp_growth_log2, 7);
    assert_int_equal(config->gci_ms, 500);
    assert_int_equal(config->epoch_ms, 50);
    assert_int_equal(config->gci_timeout_ms, 9000);
    assert_int_equal(config->epoch_timeout_ms, 7000);
    assert_int_equal(config->lcp_speed_min_kb, 3 << 10);
    assert_int_equal(config->lcp_speed_max_kb, 5 << 10);
    assert_int_equal(config->start_partitioned_timeout_ms, 70);
    assert_int_equal(config->start_failure_timeout_ms, 80);
    assert_int_equal(config->open_files_max, 1024);

    assert_int_equal(configure("Diskless=1", "[ndbd]\nNodeId=1", 1), 0);
    assert_int_equal(config->diskless, 1);

    /* Defaults; one speed alone moves the other. */
    assert_int_equal(
        configure("MaxDiskWriteSpeed=2M\nAutomaticThreadConfig=0", "[ndbd]\nNodeId=1", 1), 0);
    assert_int_equal(config->diskless, 0);
    assert_int_equal(config->redo_files, 16);
    assert_int_equal(config->redo_file_bytes, 16 << 20);
    assert_int_equal(config->redo_buffer_bytes, 32 << 20);
    assert_int_equal(config->gci_ms, 2000);
    assert_int_equal(config->gci_timeout_ms, 120000);
    assert_int_equal(config->epoch_timeout_ms, 0);
    assert_int_equal(config->lcp_speed_min_kb, 2 << 10);
    assert_int_equal(config->lcp_speed_max_kb, 2 << 10);
    assert_int_equal(configure("MinDiskWriteSpeed=1G", "[ndbd]\nNodeId=1", 1), 0);
    assert_int_equal(config->lcp_speed_max_kb, 1 << 20);

    /* All files of the log must be open at a time. */
    assert_int_equal(configure("NoOfFragmentLogFiles=256\nThreadConfig=ldm={count=8},recv",
                               "[ndbd]\nNodeId=1", 1),
                     0);
    assert_in_range(config->open_files_max, 8 * 256, 8 * 256 + 200);
    assert_int_equal(configure("NoOfFragmentLogFiles=20\nMaxNoOfOpenFiles=40\n"
                               "ThreadConfig=ldm={count=2},recv",
                               "[ndbd]\nNodeId=1", 1),
                     -1);
    assert_string_equal(why, "MaxNoOfOpenFiles: 40 is too few for 2 LDM instances with 20 redo log "
                             "files each, at least 72 are needed");

    /* What the command line asked for. */
    assert_int_equal(config->initial_start + config->accept_data_loss, 0);
    process->initial = process->accept_data_loss = true;
    assert_int_equal(configure("", "[ndbd]\nNodeId=1", 1), 0);
    assert_int_equal(config->initial_start, 1);
    assert_int_equal(config->accept_data_loss, 1);
    process->initial = process->accept_data_loss = false;
}

/* What a node tells in its own log is what the field's parameters say. */
static void levels_of_events(void **unused)
{
    const uint32_t *level = process->config.event_level;
    (void)unused;
    assert_int_equal(configure("", "[ndbd]\nNodeId=1", 1), 0);
    assert_int_equal(level[NDB_MGM_CATEGORY_STARTUP - NDB_MGM_CATEGORY_FIRST], 8);
    assert_int_equal(level[NDB_MGM_CATEGORY_CHECKPOINT - NDB_MGM_CATEGORY_FIRST], 0);
    assert_int_equal(configure("LogLevelStartup=3\nLogLevelShutdown=4\nLogLevelStatistic=5\n"
                               "LogLevelCheckpoint=6\nLogLevelNodeRestart=7\nLogLevelConnection=9\n"
                               "LogLevelInfo=10\nLogLevelError=11\nLogLevelCongestion=12\n"
                               "LogLevelBackup=13\nLogLevelSchema=14",
                               "[ndbd]\nNodeId=1", 1),
                     0);
    static const uint32_t wanted[EVENT_LEVELS] = {3, 4, 5, 6, 7, 9, 10, 0, 11, 12, 0, 13, 14};
    assert_memory_equal(level, wanted, sizeof wanted);
}

static void threads(void **unused)
{
    const struct node_config *config = &process->config;
    (void)unused;
    assert_int_equal(configure("NumCPUs=8", "[ndbd]\nNodeId=1", 1), 0);
    assert_int_equal(config->thread_count, 8);
    assert_int_equal(config->send_count, 1);
    assert_int_equal(configure("NumCPUs=8\nAutomaticThreadConfig=0", "[ndbd]\nNodeId=1", 1), 0);
    assert_int_equal(config->thread_count, 1);
    assert_int_equal(
        configure("MaxNoOfExecutionThreads=4\nAutomaticThreadConfig=0", "[ndbd]\nNodeId=1", 1), 0);
    assert_int_equal(config->ldm_count, 2);
    assert_int_equal(configure("NumCPUs=8\nThreadConfig=ldm={count=3},recv", "[ndbd]\nNodeId=1", 1),
                     0);
    assert_int_equal(config->ldm_count, 3);
    assert_int_equal(configure("ThreadConfig=ldm={count=30}", "[ndbd]\nNodeId=1", 1), -1);
    assert_string_equal(why, "ThreadConfig: ldm count 0..24 and tc count 0..24 are allowed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_as_configured),
        cmocka_unit_test(more_memory_than_the_machine_has),
        cmocka_unit_test(control_groups_allow_less_memory),
        cmocka_unit_test(automatic_memory_is_shared_by_the_nodes_of_a_host),
        cmocka_unit_test(nodes_and_groups),
        cmocka_unit_test(limits_and_times),
        cmocka_unit_test(redo_log_and_checkpoints),
        cmocka_unit_test(levels_of_events),
        cmocka_unit_test(threads),
    };
    process = calloc(1, sizeof *process);
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    config_free((struct cluster_config *)(uintptr_t)process->cluster);
    free(process);
    return result;
}
