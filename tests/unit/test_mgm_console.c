/* test_mgm_console.c -- the console's command language and its output. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tools/ndb_mgm_parse.h"
#include "tools/ndb_mgm_print.h"

static void verbs_are_read(void **unused)
{
    static const struct {
        const char *line;
        enum console_verb verb;
        bool all;
        uint32_t nodes;
        uint32_t flags;
    } good[] = {
        {"", VERB_NONE, false, 0, 0},
        {"   ;  ", VERB_NONE, false, 0, 0},
        {"# comment", VERB_NONE, false, 0, 0},
        {"show;", VERB_SHOW, false, 0, 0},
        {"  ShOw  ; ", VERB_SHOW, false, 0, 0},
        {"help", VERB_HELP, false, 0, 0},
        {"? show", VERB_HELP, false, 0, 0},
        {"connect", VERB_CONNECT, false, 0, 0},
        {"sleep 5", VERB_SLEEP, false, 0, 0},
        {"quit", VERB_QUIT, false, 0, 0},
        {"EXIT", VERB_QUIT, false, 0, 0},
        {"bye;", VERB_QUIT, false, 0, 0},
        {"shutdown", VERB_SHUTDOWN, false, 0, 0},
        {"enter Single user mode 7;", VERB_ENTER_SINGLE_USER, false, 1, 0},
        {"EXIT SINGLE USER MODE", VERB_EXIT_SINGLE_USER, false, 0, 0},
        {"purge stale sessions", VERB_PURGE, false, 0, 0},
        {"rolling restart", VERB_ROLLING_RESTART, false, 0, 0},
        {"ROLLING RESTART -i 3 1;", VERB_ROLLING_RESTART, false, 2, NDB_MGM_FLAG_INITIAL},
        {"prompt", VERB_PROMPT, false, 0, 0},
        {"clusterlog info", VERB_CLUSTERLOG_INFO, false, 0, 0},
        {"clusterlog on", VERB_CLUSTERLOG_SET, false, 0, 0},
        {"clusterlog off debug info", VERB_CLUSTERLOG_SET, false, 0, 0},
        {"clusterlog toggle all", VERB_CLUSTERLOG_SET, false, 0, 0},
        {"all status", VERB_STATUS, true, 0, 0},
        {"5 status", VERB_STATUS, false, 1, 0},
        {"all report memory", VERB_REPORT_MEMORY, true, 0, 0},
        {"1 report MemoryUsage", VERB_REPORT_MEMORY, false, 1, 0},
        {"1 report m", VERB_REPORT_MEMORY, false, 1, 0},
        {"all report", VERB_REPORT_LIST, true, 0, 0},
        {"all loglevel startup=8 info=7", VERB_NODE_LOGLEVEL, true, 0, 0},
        {"all report EventLog", VERB_REPORT_EVENTS, true, 0, 0},
        {"2 report ev", VERB_REPORT_EVENTS, false, 1, 0},
        {"all report redo", VERB_REPORT_REDO, true, 0, 0},
        {"2 report RedoLog", VERB_REPORT_REDO, false, 1, 0},
        {"all report checkpoint", VERB_REPORT_CHECKPOINT, true, 0, 0},
        {"1 report CHECKPOINTSTATUS", VERB_REPORT_CHECKPOINT, false, 1, 0},
        {"clusterlog filter", VERB_CLUSTERLOG_SET, false, 0, 0},
        {"all start", VERB_START, true, 0, 0},
        {"1 2 3 start", VERB_START, false, 3, 0},
        {"1 2 stop -a -f", VERB_STOP, false, 2, NDB_MGM_FLAG_ABORT | NDB_MGM_FLAG_FORCE},
        {"all restart -n -i", VERB_RESTART, true, 0, NDB_MGM_FLAG_NOSTART | NDB_MGM_FLAG_INITIAL},
        {"2 RESTART -nia", VERB_RESTART, false, 1,
         NDB_MGM_FLAG_NOSTART | NDB_MGM_FLAG_INITIAL | NDB_MGM_FLAG_ABORT},
        {"1 clusterlog startup=3", VERB_NODE_CLUSTERLOG, false, 1, 0},
        {"all clusterlog startup = 3 info=15", VERB_NODE_CLUSTERLOG, true, 0, 0},
        {"1 dump 7099", VERB_DUMP, false, 1, 0},
        {"all dump 1 2 3", VERB_DUMP, true, 0, 0},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct console_command command;
        char why[512] = "";
        int rc = console_parse(good[i].line, &command, why, sizeof(why));
        if (rc != 0 || command.verb != good[i].verb) print_error("%s: %s\n", good[i].line, why);
        assert_int_equal(rc, 0);
        assert_int_equal(command.verb, good[i].verb);
        assert_int_equal(command.all, good[i].all);
        assert_int_equal(command.node_count, good[i].nodes);
        assert_int_equal(command.flags, good[i].flags);
    }
}

static void arguments_are_read(void **unused)
{
    struct console_command command;
    char why[512];

    (void)unused;
    assert_int_equal(console_parse("connect h1:1, h2 ;", &command, why, sizeof(why)), 0);
    assert_string_equal(command.text, "h1:1, h2");
    assert_int_equal(console_parse("HELP cluster log", &command, why, sizeof(why)), 0);
    assert_string_equal(command.text, "cluster log");
    assert_int_equal(console_parse("3 clusterlog STARTUP = 3  info=15", &command, why, sizeof(why)),
                     0);
    assert_int_equal(command.number_count, 4);
    assert_int_equal(command.numbers[0], NDB_MGM_CATEGORY_STARTUP);
    assert_int_equal(command.numbers[1], 3);
    assert_int_equal(command.numbers[3], 15);
    assert_int_equal(console_parse("clusterlog filter error", &command, why, sizeof(why)), 0);
    assert_int_equal(command.enable, -1);
    assert_int_equal(command.numbers[0], NDB_MGM_SEVERITY_ERROR);
    assert_int_equal(console_parse("clusterlog filter", &command, why, sizeof(why)), 0);
    assert_int_equal(command.enable, -1); /* The master switch, the other way. */
    assert_int_equal(command.number_count, 0);
    assert_int_equal(console_parse("1 dump 4294967295", &command, why, sizeof(why)), 0);
    assert_true(command.numbers[0] == UINT32_MAX);
}

static void wrong_lines_are_refused(void **unused)
{
    static const struct {
        const char *line;
        const char *why;
    } wrong[] = {
        {"foo", "Invalid command: foo\nType HELP for help."},
        {"show me", "Invalid command: show me\nType HELP for help."},
        {"shutdown now", "Invalid command: shutdown now\nType HELP for help."},
        {"quit 1", "Invalid command: quit 1\nType HELP for help."},
        {"all", "Invalid command: all\nType HELP for help."},
        {"1", "Invalid command: 1\nType HELP for help."},
        {"1 foo", "Invalid command: 1 foo\nType HELP for help."},
        {"0 status", "Invalid node ID: 0."},
        {"256 status", "Invalid node ID: 256."},
        {"99999999999999999999 status", "Invalid node ID: 99999999999999999999."},
        {"1x status", "Invalid node ID: 1x."},
        {"1 1 stop", "Node ID 1 is given twice."},
        {"1 2 status", "Only START, STOP and RESTART take several node ids."},
        {"1 stop -n", "Invalid option: -n"},
        {"1 stop now", "Invalid option: now"},
        {"1 restart -", "Invalid option: -"},
        {"1 restart -x", "Invalid option: -x"},
        {"1 start -n", "Invalid command: 1 start -n\nType HELP for help."},
        {"sleep", "SLEEP needs a number of seconds (allowed range 0..86400)"},
        {"sleep x", "SLEEP needs a number of seconds (allowed range 0..86400)"},
        {"sleep 86401", "SLEEP needs a number of seconds (allowed range 0..86400)"},
        {"clusterlog", "Invalid command: clusterlog\nType HELP for help."},
        {"clusterlog on loud", "Invalid severity level: loud"},
        {"clusterlog off on", "Invalid severity level: on"},
        {"1 clusterlog", "CLUSTERLOG needs category=level (level range 0..15)"},
        {"1 clusterlog foo=1", "Invalid category: foo"},
        {"1 clusterlog startup", "Missing category=level at \"startup\""},
        {"1 clusterlog startup=16", "Invalid level: 16 (allowed range 0..15)"},
        {"1 clusterlog startup=", "Invalid level:  (allowed range 0..15)"},
        {"1 report weather", "Unknown report type: weather (allowed: MemoryUsage, RedoLog, "
                             "CheckpointStatus, EventLog)"},
        {"1 report redo now",
         "Unknown report type: redo (allowed: MemoryUsage, RedoLog, CheckpointStatus, EventLog)"},
        {"1 dump", "Expected argument (1..24 numbers)"},
        {"1 dump x", "Illegal value in argument to DUMP: x"},
        {"1 dump 4294967296", "Illegal value in argument to DUMP: 4294967296"},
        {"1 dump 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25",
         "Too many arguments (allowed range 1..24)"},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct console_command command;
        char why[512] = "";
        assert_int_equal(console_parse(wrong[i].line, &command, why, sizeof(why)), -1);
        assert_string_equal(why, wrong[i].why);
    }
}

/* Behind the sections, when there is more than one data node to tell apart. */
static void show_names_the_arbitrator(void **unused)
{
    struct ndb_mgm_cluster_state *state = calloc(1, sizeof(*state));
    char *text = NULL;
    size_t size = 0;

    (void)unused;
    state->count = 1;
    state->nodes[0] = (struct ndb_mgm_node_state){.node_id = 1,
                                                  .type = NDB_MGM_NODE_NDB,
                                                  .status = NDB_MGM_STATUS_STARTED,
                                                  .president = 1,
                                                  .arbit_state = 2};
    FILE *out = open_memstream(&text, &size);
    print_show(out, state);
    state->nodes[0].arbit_state = 6;
    state->nodes[0].arbitrator = 49;
    print_show(out, state);
    (void)fclose(out);
    assert_non_null(strstr(text, "\nArbitrator: none\n"));
    assert_non_null(strstr(text, "\nArbitrator: node 49\n"));
    free(text);
    free(state);
}

static void show_reads_as_in_the_field(void **unused)
{
    struct ndb_mgm_cluster_state *state = calloc(1, sizeof(*state));
    char *text = NULL;
    size_t size = 0;

    (void)unused;
    state->count = 5;
    state->nodes[0] = (struct ndb_mgm_node_state){.node_id = 1,
                                                  .type = NDB_MGM_NODE_NDB,
                                                  .status = NDB_MGM_STATUS_STARTED,
                                                  .version = 0x010000,
                                                  .president = 1,
                                                  .address = "10.0.0.1"};
    state->nodes[1] = (struct ndb_mgm_node_state){.node_id = 2,
                                                  .type = NDB_MGM_NODE_NDB,
                                                  .status = NDB_MGM_STATUS_STARTING,
                                                  .version = 0x010000,
                                                  .start_phase = 4,
                                                  .address = "10.0.0.2"};
    state->nodes[2] = (struct ndb_mgm_node_state){.node_id = 3,
                                                  .type = NDB_MGM_NODE_NDB,
                                                  .status = NDB_MGM_STATUS_NO_CONTACT,
                                                  .node_group = 65536,
                                                  .host = "db3"};
    state->nodes[3] = (struct ndb_mgm_node_state){.node_id = 49,
                                                  .type = NDB_MGM_NODE_MGM,
                                                  .status = NDB_MGM_STATUS_CONNECTED,
                                                  .version = 0x010000,
                                                  .address = "10.0.0.1"};
    state->nodes[4] = (struct ndb_mgm_node_state){
        .node_id = 60, .type = NDB_MGM_NODE_API, .status = NDB_MGM_STATUS_NO_CONTACT};
    FILE *out = open_memstream(&text, &size);
    print_show(out, state);
    print_status(out, &state->nodes[1]);
    state->nodes[1].start_percent = 45;
    print_status(out, &state->nodes[1]);
    state->nodes[1].start_left_s = 12;
    print_status(out, &state->nodes[1]);
    state->nodes[1].start_percent = 100;
    print_status(out, &state->nodes[1]);
    print_status(out, &state->nodes[2]);
    print_status(out, &state->nodes[3]);
    (void)fclose(out);
    assert_string_equal(text, "Cluster Configuration\n"
                              "---------------------\n"
                              "[ndbd(NDB)]\t3 node(s)\n"
                              "id=1\t@10.0.0.1  (ndb-1.0.0, Nodegroup: 0, *)\n"
                              "id=2\t@10.0.0.2  (ndb-1.0.0, starting, phase 4, Nodegroup: 0)\n"
                              "id=3 (not connected, accepting connect from db3)\n"
                              "\n"
                              "[ndb_mgmd(MGM)]\t1 node(s)\n"
                              "id=49\t@10.0.0.1  (ndb-1.0.0)\n"
                              "\n"
                              "[mysqld(API)]\t1 node(s)\n"
                              "id=60 (not connected, accepting connect from any host)\n"
                              "\n"
                              "Node 2: starting (Last completed phase 4) (ndb-1.0.0)\n"
                              "Node 2: starting (Last completed phase 4) (45% of the data read "
                              "back) (ndb-1.0.0)\n"
                              "Node 2: starting (Last completed phase 4) (45% of the data read "
                              "back, 12 s left) (ndb-1.0.0)\n"
                              "Node 2: starting (Last completed phase 4) (ndb-1.0.0)\n"
                              "Node 3: not connected\n"
                              "Node 49: connected (Version 1.0.0)\n");
    free(text);
    free(state);
}

static void memory_reads_as_in_the_field(void **unused)
{
    struct ndb_mgm_memory report = {
        .node_id = 1, .page_size = 32768, .data_used = 313, .index_used = 31, .total = 3136};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    (void)unused;
    print_memory(out, &report);
    (void)fclose(out);
    assert_string_equal(text, "Node 1: Data usage is 9%(313 32K pages of total 3136)\n"
                              "Node 1: Index usage is 0%(31 32K pages of total 3136)\n");
    free(text);
}

/* What `print` writes of one report must be `expected`. */
static void prints(void (*print)(FILE *, const struct ndb_mgm_disk *),
                   const struct ndb_mgm_disk *report, const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    print(out, report);
    (void)fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

static void files_are_reported(void **unused)
{
    struct ndb_mgm_disk report = {.node_id = 2,
                                  .gci = 71,
                                  .durable = 70,
                                  .last_id = 60,
                                  .last_age_ms = 12345,
                                  .last_ms = 1990,
                                  .last_fragments = 8,
                                  .last_kbytes = 4096,
                                  .part_count = 1};

    (void)unused;
    report.parts[0] = (struct ndb_mgm_log_part){.state = 8,
                                                .percent = 100,
                                                .fill = 12,
                                                .files = 16,
                                                .file_kb = 16384,
                                                .head_file = 3,
                                                .head_mb = 7,
                                                .tail_file = 1,
                                                .delayed = 5,
                                                .lsn = 1000000000001u,
                                                .records = 42,
                                                .bytes = 8192};
    prints(print_redo, &report,
           "Node 2: Redo log part 1 is running, 12% full: 16 files of 16 MB, head file 3 at 7 MB, "
           "tail file 1\n"
           " #Records: 42 Data: 8192 bytes Durable page: 1000000000001 Delayed operations: 5\n");
    prints(print_checkpoint, &report,
           "Node 2: Global checkpoint 70 is durable, 71 runs\n"
           "Node 2: Local checkpoint 60 completed 12 s ago, took 1.9 s, 8 fragments, 4096 KB\n");
    report.last_id = 0;
    report.lcp_id = 70;
    report.lcp_ms = 2500;
    report.lcp_state = NDB_MGM_LCP_WAITING;
    prints(print_checkpoint, &report,
           "Node 2: Global checkpoint 70 is durable, 71 runs\n"
           "Node 2: No local checkpoint since the node started\n"
           "Node 2: Local checkpoint 70 is running for 2.5 s: waiting for its last GCI\n");
    report.parts[0].state = 5;
    report.parts[0].percent = 33;
    prints(print_redo, &report,
           "Node 2: Redo log part 1 is replaying (33%), 12% full: 16 files of 16 MB, head file 3 "
           "at 7 MB, tail file 1\n"
           " #Records: 42 Data: 8192 bytes Durable page: 1000000000001 Delayed operations: 5\n");
    report.diskless = 1;
    prints(print_redo, &report, "Node 2: no redo log, the node is diskless\n");
    prints(print_checkpoint, &report, "Node 2: no checkpoints, the node is diskless\n");
    report.error = 5000;
    prints(print_redo, &report, "Node 2: No contact with the process\n");
}

static void each_help_topic_exists(void **unused)
{
    static const char *const topics[] = {"",        "show",     "STATUS", "start",      "stop",
                                         "restart", "shutdown", "report", "clusterlog", "dump",
                                         "connect", "prompt",   "sleep",  "quit",       "help"};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    (void)unused;
    for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++)
        assert_true(print_help_topic(out, topics[i]));
    assert_false(print_help_topic(out, "nonsense"));
    (void)fclose(out);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verbs_are_read),
        cmocka_unit_test(arguments_are_read),
        cmocka_unit_test(wrong_lines_are_refused),
        cmocka_unit_test(show_reads_as_in_the_field),
        cmocka_unit_test(show_names_the_arbitrator),
        cmocka_unit_test(memory_reads_as_in_the_field),
        cmocka_unit_test(files_are_reported),
        cmocka_unit_test(each_help_topic_exists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
