/* test_mgm_console.c -- the console's command language and its output. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ndb_mgm_complete.h"
#include "tools/ndb_mgm_execute.h"
#include "tools/ndb_mgm_options.h"
#include "tools/ndb_mgm_parse.h"
#include "tools/ndb_mgm_print.h"
#include "tools/ndb_mgm_suggest.h"
#include "tools/ndb_mgm_wait.h"

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
        {"show me", "Invalid command: show me. Did you mean SHOW?"},
        {"shutdown now", "Invalid command: shutdown now. Did you mean SHUTDOWN?"},
        {"quit 1", "Invalid command: quit 1. Did you mean QUIT?"},
        {"all", "Invalid command: all. It goes on with STATUS, REPORT, DUMP, START, STOP, RESTART, "
                "CLUSTERLOG or LOGLEVEL."},
        {"1 2", "Invalid command: 1 2. It goes on with START, STOP or RESTART."},
        {"1 foo", "Invalid command: 1 foo\nType HELP for help."},
        {"0 status", "Invalid node ID: 0."},
        {"256 status", "Invalid node ID: 256."},
        {"99999999999999999999 status", "Invalid node ID: 99999999999999999999."},
        {"1x status", "Invalid node ID: 1x."},
        {"1 1 stop", "Node ID 1 is given twice."},
        {"1 2 status", "Only START, STOP and RESTART take several node ids."},
        {"1 stop -n", "Invalid option: -n (allowed: -a, -f)"},
        {"1 stop now", "Invalid option: now (allowed: -a, -f)"},
        {"1 restart -", "Invalid option: - (allowed: -n, -i, -a, -f)"},
        {"1 restart -x", "Invalid option: -x (allowed: -n, -i, -a, -f)"},
        {"1 start -n", "Invalid command: 1 start -n. Did you mean 1 START or 1 RESTART -n?"},
        {"sleep", "SLEEP needs a number of seconds (allowed range 0..86400)"},
        {"sleep x", "SLEEP needs a number of seconds (allowed range 0..86400)"},
        {"sleep 86401", "SLEEP needs a number of seconds (allowed range 0..86400)"},
        {"clusterlog",
         "Invalid command: clusterlog. It goes on with INFO, ON, OFF, TOGGLE or FILTER."},
        {"clusterlog on loud", "Invalid severity level: loud (allowed: DEBUG, INFO, WARNING, "
                               "ERROR, CRITICAL, ALERT, ALL)"},
        {"clusterlog off warnin", "Invalid severity level: warnin. Did you mean WARNING?"},
        {"1 clusterlog", "CLUSTERLOG needs category=level (level range 0..15)"},
        {"1 clusterlog foo=1", "Invalid category: foo (allowed: STARTUP, SHUTDOWN, STATISTICS, "
                               "CHECKPOINT, NODERESTART, CONNECTION, INFO, WARNING, ERROR, "
                               "CONGESTION, DEBUG, BACKUP, SCHEMA)"},
        {"1 clusterlog startpu=1", "Invalid category: startpu. Did you mean STARTUP?"},
        {"1 clusterlog startup", "Missing category=level at \"startup\""},
        {"1 clusterlog startup=16", "Invalid level: 16 (allowed range 0..15)"},
        {"1 clusterlog startup=", "Invalid level:  (allowed range 0..15)"},
        {"1 report weather", "Unknown report type: weather (allowed: MemoryUsage, RedoLog, "
                             "CheckpointStatus, EventLog)"},
        {"1 report memroy", "Unknown report type: memroy. Did you mean MemoryUsage?"},
        {"1 report redo now", "Invalid command: 1 report redo now. Did you mean 1 REPORT redo?"},
        {"1 dump", "Expected argument (1..24 numbers)"},
        {"1 dump x", "Illegal value in argument to DUMP: x"},
        {"1 dump 4294967296", "Illegal value in argument to DUMP: 4294967296"},
        {"1 dump 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25",
         "Too many arguments (allowed range 1..24)"},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct console_command command;
        char why[1024] = "";
        assert_int_equal(console_parse(wrong[i].line, &command, why, sizeof(why)), -1);
        assert_string_equal(why, wrong[i].why);
    }
}

/* What follows "Invalid command: <line>". */
static void what_was_meant_is_suggested(void **unused)
{
    static const struct {
        const char *line;
        const char *hint;
    } lines[] = {
        {"SHWO", ". Did you mean SHOW?"},
        {"hlep", ". Did you mean HELP?"},
        {"sh", ". Did you mean SHOW or SHUTDOWN?"},
        {"clustrlog info", ". Did you mean CLUSTERLOG INFO?"},
        {"CLUSTERLOG INOF", ". Did you mean CLUSTERLOG INFO?"},
        {"ALL STAUTS", ". Did you mean ALL STATUS?"},
        {"al status", ". Did you mean ALL STATUS?"},
        {"all stat", ". Did you mean ALL STATUS?"},
        {"1 2 restrat -n", ". Did you mean 1 2 RESTART -n?"},
        {"1 loglvl startup=3", ". Did you mean 1 LOGLEVEL startup=3?"},
        {"ROLING RESTRAT -i 2", ". Did you mean ROLLING RESTART -i 2?"},
        {"RESTART 2", ". Did you mean 2 RESTART?"},
        {"report 2 memory", ". Did you mean 2 REPORT memory?"},
        {"STATUS ALL", ". Did you mean ALL STATUS?"},
        {"ENTER SINGLE MODE 7", ". Did you mean ENTER SINGLE USER MODE 7?"},
        {"purge sessions", ". Did you mean PURGE STALE SESSIONS?"},
        {"enter", ". The whole command: ENTER SINGLE USER MODE <api-id>"},
        {"exit single", ". The whole command: EXIT SINGLE USER MODE"},
        {"rolling", ". The whole command: ROLLING RESTART [-i] [<data-id>...]"},
        {"stop", ". A node id or ALL stands before it: <id>... STOP [-a] [-f]"},
        {"clusterlog startup=3",
         ". A node id or ALL stands before it: <id> CLUSTERLOG <category>=<level>..."},
        {"NONSENSE", "\nType HELP for help."},
        {"x", "\nType HELP for help."},
        {"1 redo", "\nType HELP for help."},
        {"2 rolling restart", "\nType HELP for help."},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct console_command command;
        char why[1024] = "";
        char wanted[1024];
        (void)snprintf(wanted, sizeof(wanted), "Invalid command: %s%s", lines[i].line,
                       lines[i].hint);
        assert_int_equal(console_parse(lines[i].line, &command, why, sizeof(why)), -1);
        assert_string_equal(why, wanted);
    }
}

static void distances_are_those_of_slips(void **unused)
{
    static char long_word[] = "a word that is far too long for anything that stands in the table";

    (void)unused;
    assert_int_equal(console_distance("show", "SHOW"), 0);
    assert_int_equal(console_distance("sh", "SHOW"), 1);
    assert_int_equal(console_distance("shwo", "SHOW"), 2); /* Two letters are swapped. */
    assert_int_equal(console_distance("shw", "SHOW"), 2);  /* A letter is missing. */
    assert_int_equal(console_distance("shoow", "SHOW"), 2);
    assert_int_equal(console_distance("shaw", "SHOW"), 2);
    assert_int_equal(console_distance("shutdwno", "SHUTDOWN"), 4);
    assert_true(console_distance("s", "SHOW") == UINT32_MAX);
    assert_true(console_distance("foo", "SHOW") == UINT32_MAX);
    assert_true(console_distance("", "SHOW") == UINT32_MAX);
    assert_true(console_distance(long_word, "SHOW") == UINT32_MAX);
    assert_true(console_distance("2", "?") == UINT32_MAX);
}

static void commands_of_other_systems_are_known(void **unused)
{
    static const struct {
        const char *line;
        const char *name;
    } lines[] = {
        {"START BACKUP", "START BACKUP"},
        {"start backup 3 snapshotend nowait", "START BACKUP"},
        {"abort backup 3", "ABORT BACKUP"},
        {"CREATE NODEGROUP 3,4", "CREATE NODEGROUP"},
        {"drop nodegroup 1", "DROP NODEGROUP"},
        {"tls info", "TLS INFO"},
        {"all report BackupStatus", "<id> REPORT BackupStatus"},
        {"2 report b", "<id> REPORT BackupStatus"},
        {"all report disk", "<id> REPORT DiskUsage"},
        {"1 nodelog debug on", "<id> NODELOG"},
        {"1 error 5", "<id> ERROR"},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct console_command command;
        char why[1024] = "";
        char wanted[200];
        (void)snprintf(wanted, sizeof(wanted),
                       "Other versions of such systems have %s; this one does not have it yet",
                       lines[i].name);
        assert_int_equal(console_parse(lines[i].line, &command, why, sizeof(why)), -1);
        assert_memory_equal(why, wanted, strlen(wanted));
        assert_true(strcspn(why, ".") == strlen(why) - 1); /* One sentence. */
    }
}

/* The simplest line of a form; with `all`, also what may be left out. */
static void write_line(const struct console_form *form, bool all, uint32_t alternative, char *line,
                       size_t size)
{
    static const char *const examples[] = {
        [SLOT_ID] = "1",          [SLOT_DATA_ID] = "2",     [SLOT_API_ID] = "7",
        [SLOT_REPORT] = "Memory", [SLOT_SEVERITY] = "INFO", [SLOT_LEVEL] = "STARTUP=3",
        [SLOT_TOPIC] = "SHOW",    [SLOT_TEXT] = "3"};
    size_t used = 0;

    line[0] = '\0';
    for (uint32_t i = 0; i < form->count; i++) {
        const struct console_form_word *word = &form->at[i];
        char text[CONSOLE_WORD_MAX];
        if (word->optional && !all) continue;
        if (word->slot == SLOT_WORD) {
            if (!console_alternative(word, alternative, text))
                assert_true(console_alternative(word, 0, text));
        } else {
            (void)snprintf(text, sizeof(text), "%s",
                           word->slot == SLOT_OPTION ? word->text : examples[word->slot]);
        }
        used += (size_t)snprintf(line + used, size - used, "%s%s", i == 0 ? "" : " ", text);
    }
}

/* Each form of the table is a command of the parser, and each command has a form. */
static void table_and_parser_agree(void **unused)
{
    bool met[VERB_PURGE + 1] = {[VERB_NONE] = true};

    (void)unused;
    for (uint32_t i = 0; i < CONSOLE_REPORTS; i++) {
        struct console_command command;
        char line[64];
        char why[1024];
        (void)snprintf(line, sizeof(line), "1 REPORT %s", console_reports[i]);
        assert_int_equal(console_parse(line, &command, why, sizeof(why)), 0);
        met[command.verb] = true;
    }
    for (uint32_t i = 0; i < console_rule_count * 6; i++) {
        const struct console_rule *rule = &console_rules[i / 6];
        struct console_command command;
        struct console_form form;
        char line[200];
        char why[1024] = "";
        assert_true(console_read_form(rule, &form));
        write_line(&form, i % 2 == 1, i / 2 % 3, line, sizeof(line));
        if (console_parse(line, &command, why, sizeof(why)) != 0) print_error("%s\n", why);
        assert_string_equal(why, "");
        met[command.verb] = true;
    }
    for (size_t i = 0; i < sizeof(met) / sizeof(met[0]); i++)
        assert_true(met[i]);
}

static void tab_offers_what_may_stand_there(void **unused)
{
    static const struct {
        const char *before;
        const char *word;
        const char *choices;
    } lines[] = {
        {"", "sh", "SHOW SHUTDOWN"},
        {"  ", "SHOW", "SHOW"},
        {"", "e", "ENTER EXIT"},
        {"", "x", ""},
        {"", "",
         "1 2 10 49 ALL BYE CLUSTERLOG CONNECT ENTER EXIT HELP PROMPT PURGE QUIT ROLLING SHOW "
         "SHUTDOWN SLEEP"},
        {"", "1", "1 10"},
        {"1 ", "",
         "2 10 49 CLUSTERLOG DUMP LOGLEVEL REPORT RESTART START STATUS STOP"}, /* Or more nodes. */
        {"1 2 ", "", "10 49 RESTART START STOP"},
        {"ALL ", "", "CLUSTERLOG DUMP LOGLEVEL REPORT RESTART START STATUS STOP"},
        {"all ", "sta", "START STATUS"},
        {"all status ", "", ""},
        {"all report ", "", "CheckpointStatus EventLog MemoryUsage RedoLog"},
        {"1 report ", "re", "RedoLog"},
        {"1 report redo ", "", ""},
        {"1 restart ", "", "-a -f -i -n"},
        {"1 restart -f -n ", "-", "-a -i"},
        {"2 stop ", "", "-a -f"},
        {"rolling ", "", "RESTART"},
        {"rolling restart ", "", "-i 1 2 10"},
        {"rolling restart -i 2 ", "", "1 10"},
        {"clusterlog ", "", "FILTER INFO OFF ON TOGGLE"},
        {"clusterlog off ", "", "ALERT ALL CRITICAL DEBUG ERROR INFO WARNING"},
        {"clusterlog off alert ", "a", "ALL"},
        {"clusterlog info ", "", ""},
        {"1 clusterlog ", "c", "CHECKPOINT= CONGESTION= CONNECTION="},
        {"1 loglevel checkpoint=7 ", "ch", ""},
        {"all loglevel info=3 ", "s", "SCHEMA= SHUTDOWN= STARTUP= STATISTICS="},
        {"enter ", "", "SINGLE"},
        {"enter single user mode ", "", "60 61"},
        {"exit ", "", "SINGLE"},
        {"purge ", "s", "STALE"},
        {"purge stale ", "", "SESSIONS"},
        {"help ", "st", "START STATUS STOP"},
        {"? ", "ro", "ROLLING"},
        {"help show ", "", ""},
        {"sleep ", "", ""},
        {"nonsense ", "", ""},
    };
    static const uint32_t ids[] = {10, 1, 2, 49, 61, 60};
    struct ndb_mgm_cluster_state *state = calloc(1, sizeof(*state));
    struct console_choices *choices = malloc(sizeof(*choices));

    (void)unused;
    state->count = 6;
    for (uint32_t i = 0; i < state->count; i++) {
        state->nodes[i].node_id = ids[i];
        state->nodes[i].type = i < 3    ? NDB_MGM_NODE_NDB
                               : i == 3 ? NDB_MGM_NODE_MGM
                                        : NDB_MGM_NODE_API;
    }
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char text[1000] = "";
        console_complete(lines[i].before, lines[i].word, state, choices);
        for (uint32_t j = 0; j < choices->count; j++) {
            (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
                           j == 0 ? "" : " ", choices->at[j]);
        }
        if (strcmp(text, lines[i].choices) != 0)
            print_error("\"%s%s\"\n", lines[i].before, lines[i].word);
        assert_string_equal(text, lines[i].choices);
    }
    console_complete("rolling restart ", "", NULL, choices); /* No cluster is known. */
    assert_int_equal(choices->count, 1);
    free(choices);
    free(state);
}

/* By Tab alone one comes through each form: what it wants next is offered. */
static void tab_leads_through_each_form(void **unused)
{
    struct console_choices *choices = malloc(sizeof(*choices));
    struct ndb_mgm_cluster_state *state = calloc(1, sizeof(*state));

    (void)unused;
    state->count = 1;
    state->nodes[0].node_id = 3;
    for (uint32_t i = 0; i < console_rule_count; i++) {
        struct console_form form;
        char before[200] = "";
        assert_true(console_read_form(&console_rules[i], &form));
        for (uint32_t j = 0; j < form.count && form.at[j].slot != SLOT_TEXT; j++) {
            char wanted[CONSOLE_WORD_MAX] = "";
            bool found = false;
            if (form.at[j].slot == SLOT_API_ID) break; /* There is none. */
            if (form.at[j].slot == SLOT_WORD)
                assert_true(console_alternative(&form.at[j], 0, wanted));
            console_complete(before, "", state, choices);
            for (uint32_t k = 0; k < choices->count; k++)
                found = found || strcmp(choices->at[k], wanted) == 0;
            assert_true(form.at[j].slot == SLOT_WORD ? found || strcmp(wanted, "?") == 0
                                                     : choices->count > 0);
            if (form.at[j].slot != SLOT_WORD)
                (void)snprintf(wanted, sizeof(wanted), "%s", choices->at[0]);
            (void)snprintf(before + strlen(before), sizeof(before) - strlen(before), "%s ", wanted);
        }
    }
    free(state);
    free(choices);
}

/* HELP lists each command in one line that fits on a terminal. */
static void help_has_a_line_for_each_command(void **unused)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    (void)unused;
    assert_true(print_help_topic(out, ""));
    (void)fclose(out);
    for (int i = 0; i < TASK_COUNT; i++) {
        char heading[64];
        (void)snprintf(heading, sizeof(heading), "\n\n%s\n",
                       console_task_name((enum console_task)i));
        assert_non_null(strstr(text, heading));
    }
    for (uint32_t i = 0; i < console_rule_count; i++) {
        char line[200];
        if (console_rules[i].what == NULL) continue;
        (void)snprintf(line, sizeof(line), "\n  %-40s %s\n", console_rules[i].form,
                       console_rules[i].what);
        assert_non_null(strstr(text, line));
    }
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
        assert_in_range(strcspn(line, "\n"), 0, 80);
    free(text);
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
    report.error = 5005;
    prints(print_redo, &report, "Node 2 does not answer\n");
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
    for (uint32_t i = 0; help_topic(i) != NULL; i++)
        assert_true(print_help_topic(out, help_topic(i)));
    assert_true(print_help_topic(out, "ENTER SINGLE USER MODE"));
    assert_true(print_help_topic(out, "all status"));
    assert_false(print_help_topic(out, "nonsense"));
    (void)fclose(out);
    free(text);
}

/* The command line as getopt wants it: it changes the order. 0 or -1, what it said in `said`. */
static int read_command_line(const char *line, struct console *console,
                             struct console_options *options, char *said, size_t size)
{
    static char copy[2000]; /* Options point into it. */
    char *argv[16] = {NULL};
    char name[] = "ndb_mgm";
    int argc = 1;
    FILE *err = fmemopen(said, size, "w");

    argv[0] = name;
    (void)snprintf(copy, sizeof(copy), "%s", line);
    for (char *save = NULL, *word = strtok_r(copy, " ", &save); word != NULL;
         word = strtok_r(NULL, " ", &save))
        argv[argc++] = word;
    *console = (struct console){.retries = 12};
    memset(said, 0, size);
    int rc = console_read_options(console, options, argc, argv, err);
    (void)fclose(err);
    return rc;
}

static void command_lines_are_read(void **unused)
{
    struct console console;
    struct console_options options;
    char said[2000];

    (void)unused;
    assert_int_equal(read_command_line("", &console, &options, said, sizeof(said)), 0);
    assert_int_equal(console.retries, 12);
    assert_null(options.execute);
    assert_string_equal(options.connectstring, "");
    assert_int_equal(read_command_line("-t -1 --format=json --execute=SHOW -p> h 1187", &console,
                                       &options, said, sizeof(said)),
                     0);
    assert_int_equal(console.retries, -1);
    assert_true(console.json);
    assert_string_equal(options.execute, "SHOW");
    assert_string_equal(options.connectstring, "h:1187");
    assert_string_equal(console.prompt, ">");
    assert_int_equal(
        read_command_line("--try=0 -c a:1,b:2", &console, &options, said, sizeof(said)), 0);
    assert_int_equal(console.retries, 0);
    assert_string_equal(options.connectstring, "a:1,b:2");
    assert_string_equal(said, "");
}

static void wrong_command_lines_name_what_is_allowed(void **unused)
{
    static const struct {
        const char *line;
        const char *said;
    } wrong[] = {
        {"--try-reconnect=abc", "--try-reconnect=abc is wrong (allowed: a number from 0 to 100000, "
                                "or -1: for ever)"},
        {"--connect-retries=12x", "--connect-retries=12x is wrong (allowed: a number from 0 to "
                                  "100000, or -1: for ever)"},
        {"-t -2", "-t -2 is wrong (allowed: a number from 0 to 100000, or -1: for ever)"},
        {"-t 99999999999999999999", "-t 99999999999999999999 is wrong (allowed: a number from 0 to "
                                    "100000, or -1: for ever)"},
        {"-t +1", "-t +1 is wrong (allowed: a number from 0 to 100000, or -1: for ever)"},
        {"-t", "-t needs a value (allowed: a number from 0 to 100000, or -1: for ever)"},
        {"--execute", "--execute needs a value (allowed: commands, separated by ;)"},
        {"--format=xml", "--format=xml is wrong (allowed: text, json)"},
        {"--promt=x", "there is no option --promt. Did you mean --prompt?"},
        {"--foo", "there is no option --foo (allowed: --execute, --ndb-connectstring, "
                  "--connect-string, --ndb-mgmd-host, --try-reconnect, --connect-retries, "
                  "--prompt, --format, --version, --help, --usage)"},
        {"--con=3", "--con is the beginning of --connect-string, --connect-retries"},
        {"--version=3", "--version takes no value"},
        {"--usage=3", "--usage takes no value"},
        {"--format=text -x", "there is no option -x (allowed: -c, -e, -t, -p, -?, -V)"},
        {"--format=text -xV", "there is no option -x (allowed: -c, -e, -t, -p, -?, -V)"},
        {"host port", "port port is wrong (allowed range 1..65535)"},
        {"host 0", "port 0 is wrong (allowed range 1..65535)"},
        {"host 1 2", "unexpected argument 2 (allowed: host and port)"},
    };
    char line[1300] = "-c ";
    char said[2000];

    (void)unused;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct console console;
        struct console_options options;
        char wanted[500];
        (void)snprintf(wanted, sizeof(wanted), "ndb_mgm: %s\nTry 'ndb_mgm --help'\n",
                       wrong[i].said);
        assert_int_equal(read_command_line(wrong[i].line, &console, &options, said, sizeof(said)),
                         -1);
        assert_string_equal(said, wanted);
    }
    for (int i = 0; i < 2; i++) { /* "-c aaa...", "  aaa..." */
        struct console console;
        struct console_options options;
        memset(line + 3, 'a', 1024);
        assert_int_equal(read_command_line(line, &console, &options, said, sizeof(said)), -1);
        assert_non_null(strstr(said, "at most 1023 bytes)"));
        line[3 + 1023] = '\0';
        assert_int_equal(read_command_line(line, &console, &options, said, sizeof(said)), 0);
        line[0] = line[1] = ' ';
    }
}

/* What a console prints, and Ctrl-C when this was printed: "" = never. */
struct output {
    char text[600];
    const char *interrupt;
};

static ssize_t take_output(void *cookie, const char *bytes, size_t size)
{
    struct output *output = cookie;
    size_t used = strlen(output->text);

    assert_true(used + size < sizeof(output->text));
    memcpy(output->text + used, bytes, size);
    output->text[used + size] = '\0';
    if (output->interrupt[0] != '\0' && strstr(output->text, output->interrupt) != NULL) {
        output->interrupt = "";
        assert_int_equal(raise(SIGINT), 0);
    }
    return (ssize_t)size;
}

/* Carries out a line as at a terminal. */
static int carry_out(struct console *console, struct output *output, const char *interrupt,
                     const char *line)
{
    cookie_io_functions_t functions = {.write = take_output};

    *output = (struct output){.interrupt = interrupt};
    *console = (struct console){
        .handle = ndb_mgm_create_handle(), .terminal = true, .prompt = CONSOLE_PROMPT};
    console->out = fopencookie(output, "w", functions);
    assert_non_null(console->out);
    assert_non_null(console->handle);
    int rc = console_execute_all(console, line);
    assert_int_equal(fclose(console->out), 0);
    ndb_mgm_destroy_handle(console->handle);
    return rc;
}

/* The output leaves when a command has ended, and before the next one begins. */
static void an_interrupt_between_commands_drops_the_rest(void **unused)
{
    struct console console;
    struct output output;
    struct sigaction now;

    (void)unused;
    assert_int_equal(carry_out(&console, &output, "", "PROMPT a; PROMPT b"), 0);
    assert_string_equal(console.prompt, "b");
    assert_int_equal(carry_out(&console, &output, "to a\n", "PROMPT a; PROMPT b; QUIT"),
                     CONSOLE_INTERRUPTED);
    assert_string_equal(console.prompt, "a");
    assert_false(console.quit);
    assert_int_equal(console.status, CONSOLE_INTERRUPTED);
    assert_string_equal(output.text, "Prompt set to a\n"
                                     "Interrupted: the rest of the line is not carried out\n");
    /* There is nothing left to drop. */
    assert_int_equal(carry_out(&console, &output, "to b\n", "PROMPT a; PROMPT b;"), 0);
    assert_string_equal(output.text, "Prompt set to a\nPrompt set to b\n");
    assert_int_equal(sigaction(SIGINT, NULL, &now), 0);
    assert_true(now.sa_handler == SIG_DFL);
}

/* ROLLING RESTART, which takes Ctrl-C itself, may have got it behind its last node, without a
 * terminal too. */
static void a_command_passes_its_interrupt_on(void **unused)
{
    struct output output = {.interrupt = ""};
    cookie_io_functions_t functions = {.write = take_output};
    struct console console = {.handle = ndb_mgm_create_handle(), .prompt = CONSOLE_PROMPT};

    (void)unused;
    console.out = fopencookie(&output, "w", functions);
    assert_non_null(console.out);
    console_interrupt();
    assert_int_equal(console_execute_all(&console, "PROMPT a"), CONSOLE_INTERRUPTED);
    assert_string_equal(console.prompt, CONSOLE_PROMPT);
    assert_int_equal(console.status, CONSOLE_INTERRUPTED);
    console_interrupts_end();
    assert_int_equal(console_execute_all(&console, "PROMPT a"), 0);
    assert_string_equal(console.prompt, "a");
    assert_int_equal(fclose(console.out), 0);
    ndb_mgm_destroy_handle(console.handle);
}

/* Each ';' separates. */
static void a_prompt_ends_with_its_command(void **unused)
{
    struct console console;
    struct console_options options;
    struct output output;

    (void)unused;
    assert_int_equal(carry_out(&console, &output, "", "PROMPT a;b"), 1);
    assert_string_equal(console.prompt, "a");
    assert_string_equal(output.text, "Prompt set to a\nInvalid command: b\nType HELP for help.\n");
    assert_int_equal(
        read_command_line("--prompt=a;b", &console, &options, output.text, sizeof(output.text)), 0);
    assert_string_equal(console.prompt, "a;b");
    assert_int_equal(carry_out(&console, &output, "", "HELP PROMPT"), 0);
    assert_non_null(strstr(output.text, "A ; ends the text"));
    assert_non_null(strstr(output.text, "a # behind a blank"));
}

/* What a comment holds is never carried out, whatever stands behind a semicolon. */
static void a_comment_ends_with_its_line(void **unused)
{
    static const struct {
        const char *lines;
        const char *prompts; /* What is told. */
    } cases[] = {
        {"PROMPT a\n# not yet: SLEEP 0; PROMPT x", "Prompt set to a\n"},
        {"PROMPT a # later; PROMPT x", "Prompt set to a\n"},
        {"PROMPT a\t#; PROMPT x\nPROMPT b", "Prompt set to a\nPrompt set to b\n"},
        {"PROMPT a\r\n#; PROMPT x\r\nPROMPT b\r\n", "Prompt set to a\nPrompt set to b\n"},
        {"PROMPT a\nPROMPT b", "Prompt set to a\nPrompt set to b\n"},
        {"PROMPT a; # PROMPT x\n;#; PROMPT x", "Prompt set to a\n"},
        {"#", ""},
        /* Within a word it is a character like any other. */
        {"PROMPT a#b; PROMPT c", "Prompt set to a#b\nPrompt set to c\n"},
        /* Quotes are words, and closed within their command. */
        {"PROMPT 'a # b' # ; PROMPT x", "Prompt set to 'a # b'\n"},
        {"PROMPT a=\"b # c\"; PROMPT d", "Prompt set to a=\"b # c\"\nPrompt set to d\n"},
        {"PROMPT \"a # b; PROMPT x", "Prompt set to \"a\n"},
        {"PROMPT it's # don't; PROMPT x", "Prompt set to it's\n"},
        {"PROMPT 'a # don't; PROMPT x", "Prompt set to 'a\n"},
        {"PROMPT 'a\n# 'b; PROMPT x", "Prompt set to 'a\n"},
    };
    struct console console;
    struct output output;

    (void)unused;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(carry_out(&console, &output, "", cases[i].lines), 0);
        assert_string_equal(output.text, cases[i].prompts);
    }
}

/* So long a command is refused; a comment may be. */
static void a_comment_has_any_length(void **unused)
{
    static char line[9000];
    struct console_command command;
    struct console console;
    struct output output;
    char why[1024];

    (void)unused;
    size_t used = (size_t)snprintf(line, sizeof(line), "PROMPT a ");
    while (used < 8000)
        used += (size_t)snprintf(line + used, sizeof(line) - used, "# PROMPT x; ");
    assert_int_equal(carry_out(&console, &output, "", line), 0);
    assert_string_equal(output.text, "Prompt set to a\n");
    assert_int_equal(carry_out(&console, &output, "", strchr(line, '#')), 0);
    assert_string_equal(output.text, "");
    assert_int_equal(console_parse(strchr(line, '#') - 1, &command, why, sizeof(why)), 0);
    assert_int_equal(command.verb, VERB_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verbs_are_read),
        cmocka_unit_test(arguments_are_read),
        cmocka_unit_test(wrong_lines_are_refused),
        cmocka_unit_test(what_was_meant_is_suggested),
        cmocka_unit_test(distances_are_those_of_slips),
        cmocka_unit_test(commands_of_other_systems_are_known),
        cmocka_unit_test(table_and_parser_agree),
        cmocka_unit_test(tab_offers_what_may_stand_there),
        cmocka_unit_test(tab_leads_through_each_form),
        cmocka_unit_test(help_has_a_line_for_each_command),
        cmocka_unit_test(show_reads_as_in_the_field),
        cmocka_unit_test(show_names_the_arbitrator),
        cmocka_unit_test(memory_reads_as_in_the_field),
        cmocka_unit_test(files_are_reported),
        cmocka_unit_test(each_help_topic_exists),
        cmocka_unit_test(command_lines_are_read),
        cmocka_unit_test(wrong_command_lines_name_what_is_allowed),
        cmocka_unit_test(an_interrupt_between_commands_drops_the_rest),
        cmocka_unit_test(a_command_passes_its_interrupt_on),
        cmocka_unit_test(a_prompt_ends_with_its_command),
        cmocka_unit_test(a_comment_ends_with_its_line),
        cmocka_unit_test(a_comment_has_any_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
