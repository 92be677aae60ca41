/* ndb_mgm_execute.c -- what each command of the management console does and says. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/ndb_mgm_execute.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "service/wait_told.h"
#include "tools/ndb_mgm_parse.h"
#include "tools/ndb_mgm_print.h"
#include "tools/ndb_mgm_reports.h"
#include "tools/ndb_mgm_suggest.h"
#include "tools/ndb_mgm_tell.h"
#include "tools/ndb_mgm_wait.h"
#include "tools/tool_common.h"

#define CONNECT_MS 5000  /* Longest time that a server has to answer a connect. */
#define CALL_MS    60000 /* Longest time that it has to answer an order. */

/* Tries as often as the options say, and tells meanwhile what it waits for. */
static int connect_and_tell(const struct console *console)
{
    int rc;

    ndb_mgm_set_timeout(console->handle, CONNECT_MS);
    wait_told_for_servers(console->wait, console->servers);
    for (int tries = 0; (rc = ndb_mgm_connect(console->handle, 0, 0)) != 0; tries++) {
        if (console_interrupted()) break;
        if (console->retries >= 0 && tries >= console->retries) break;
        wait_told_for(console->wait, "a management server: %s",
                      ndb_mgm_error_text(console->handle));
        (void)nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
        if (console_interrupted()) break;
    }
    console_answered(console);
    ndb_mgm_set_timeout(console->handle, CALL_MS);
    return rc;
}

int console_connect(struct console *console)
{
    if (ndb_mgm_is_connected(console->handle)) return 0;
    if (connect_and_tell(console) != 0) {
        if (console_interrupted()) return console_print_error(console, 0);
        (void)fprintf(console_error_out(console), "Unable to connect with connect string: %s\n",
                      wait_told_servers(console->servers));
        int rc = console_print_error(console, 0);
        (void)fputs(WAIT_TOLD_CURE, console_error_out(console));
        return rc;
    }
    if (!console->json) {
        (void)fprintf(
            console->out, "Connected to management server at %s port %u (using cleartext)\n",
            ndb_mgm_connected_host(console->handle), ndb_mgm_connected_port(console->handle));
        console_flush(console); /* Before what is waited for next. */
    }
    return 0;
}

static int reconnect(struct console *console, const struct console_command *command)
{
    if (ndb_mgm_is_connected(console->handle)) (void)ndb_mgm_disconnect(console->handle);
    if (command->text[0] != '\0') {
        if (ndb_mgm_set_connectstring(console->handle, command->text) != 0)
            return console_print_error(console, 0);
        (void)snprintf(console->servers, sizeof(console->servers), "%s", command->text);
    }
    return console_connect(console);
}

/* HELP START BACKUP: true when that is not here yet, and it says so. */
static bool help_later(struct console *console, const char *topic)
{
    char first[CONSOLE_WORD_MAX];
    char second[CONSOLE_WORD_MAX];
    const char *const words[] = {first, second};
    char text[300];

    if (sscanf(topic, "%47s %47s", first, second) != 2) return false;
    if (console_tell_later(words, 2, text, sizeof(text)) != 0) return false;
    (void)fprintf(console->out, "%s\n", text);
    return true;
}

/* HELP BACKUP: likewise, when it is a word of no command that is here. */
static bool help_later_about(struct console *console, const char *topic)
{
    char text[300];

    if (console_tell_later_about(topic, text, sizeof(text)) != 0) return false;
    (void)fprintf(console->out, "%s\n", text);
    return true;
}

static int help(struct console *console, const struct console_command *command)
{
    struct console_choices topics;
    char text[300];

    if (help_later(console, command->text)) return 1;
    if (print_help_topic(console->out, command->text)) return 0;
    if (help_later_about(console, command->text)) return 1;
    console_list(SLOT_TOPIC, &topics);
    console_tell_list(command->text, &topics, text, sizeof(text));
    (void)fprintf(console->out, "No help for %s available%s\n", command->text, text);
    return 1;
}

static void set_prompt(struct console *console, const struct console_command *command)
{
    if (command->text[0] == '\0') {
        (void)snprintf(console->prompt, sizeof(console->prompt), CONSOLE_PROMPT);
        (void)fprintf(console->out, "Returning to default prompt of %s\n", CONSOLE_PROMPT);
        return;
    }
    (void)snprintf(console->prompt, sizeof(console->prompt), "%.126s", command->text);
    (void)fprintf(console->out, "Prompt set to %s\n", console->prompt);
}

static int rest(struct console *console, uint32_t seconds)
{
    struct timespec pause = {.tv_sec = (time_t)seconds};

    (void)nanosleep(&pause, NULL);
    return console_interrupted() ? console_print_error(console, 0) : 0;
}

/* ---- ordering ---- */

static void wait_for_ends(const struct console *console, const struct console_command *command)
{
    uint32_t nodes[NDB_MGM_NODES_MAX];
    uint32_t count = console_find_asked(console, command, nodes);

    console_wait_ends(console, nodes, count);
}

static int start(struct console *console, const struct console_command *command)
{
    console_wait_server(console);
    if (ndb_mgm_start(console->handle, command->nodes, command->node_count) < 0)
        return console_order_failed(console, NDB_MGM_START_FAILED, "Start failed.");
    console_answered(console);
    if (command->all) (void)fprintf(console->out, "NDB Cluster is being started.\n");
    for (uint32_t i = 0; i < command->node_count; i++) {
        (void)fprintf(console->out, "Database node %u is being started.\n", command->nodes[i]);
    }
    return 0;
}

static int stop(struct console *console, const struct console_command *command)
{
    uint32_t unreached[NDB_MGM_NODES_MAX];
    uint32_t unreached_count = command->all ? console_find_nodes(console, false, unreached) : 0;
    int disconnect = 0;

    console_answered(console);
    if (command->all) (void)fprintf(console->out, "Executing STOP on all nodes.\n");
    console_flush(console);
    wait_for_ends(console, command);
    if (ndb_mgm_stop(console->handle, command->nodes, command->node_count, command->flags,
                     &disconnect) < 0)
        return console_order_failed(console, NDB_MGM_STOP_FAILED,
                                    command->all ? "NDB Cluster could not be shutdown."
                                                 : "Shutdown failed.");
    console_answered(console);
    if (command->all && unreached_count == 0)
        (void)fprintf(console->out, "NDB Cluster has shutdown.\n");
    else if (command->all)
        (void)fprintf(console->out, "The data nodes that were connected have shutdown.\n");
    else if (command->node_count > 0) {
        (void)fprintf(console->out, "Node");
        for (uint32_t i = 0; i < command->node_count; i++) {
            (void)fprintf(console->out, "%s %u", i == 0 ? "" : ",", command->nodes[i]);
        }
        (void)fprintf(console->out,
                      command->node_count == 1 ? " has shutdown.\n" : " have shutdown.\n");
    }
    print_unreached(console->out, unreached, unreached_count, "stop", "Those that run go on.");
    if (disconnect == 0) return 0;
    (void)fprintf(console->out, "Disconnecting to allow Management Server to shutdown\n");
    (void)ndb_mgm_disconnect(console->handle);
    return 0;
}

static int restart(struct console *console, const struct console_command *command)
{
    uint32_t unreached[NDB_MGM_NODES_MAX];
    uint32_t unreached_count = command->all ? console_find_nodes(console, false, unreached) : 0;

    if (command->all) {
        (void)fprintf(console->out, "Executing RESTART on all nodes.\n"
                                    "Starting shutdown. This may take a while. Please wait...\n");
        console_flush(console);
    }
    wait_for_ends(console, command);
    if (ndb_mgm_restart(console->handle, command->nodes, command->node_count, command->flags,
                        NULL) < 0)
        return console_order_failed(console, NDB_MGM_RESTART_FAILED, "Restart failed.");
    console_answered(console);
    if (command->all) (void)fprintf(console->out, "All DB nodes are being restarted.\n");
    for (uint32_t i = 0; i < command->node_count; i++) {
        (void)fprintf(console->out, "Node %u is being restarted\n", command->nodes[i]);
    }
    const char *then = "The others wait for them: start them.";
    if ((command->flags & NDB_MGM_FLAG_INITIAL) != 0)
        then = "The others wait for them: start them with --initial.";
    if ((command->flags & NDB_MGM_FLAG_NOSTART) != 0) then = "Those that run go on with START.";
    print_unreached(console->out, unreached, unreached_count, "restart", then);
    return 0;
}

static int rolling_restart(struct console *console, const struct console_command *command)
{
    int rc = console_rolling_restart(console, command->nodes, command->node_count, command->flags);

    return rc < 0 ? console_print_error(console, NDB_MGM_RESTART_FAILED) : rc;
}

static int enter_single_user(struct console *console, const struct console_command *command)
{
    char failed[80];

    (void)snprintf(failed, sizeof(failed), "Entering single user mode for node %u failed",
                   command->nodes[0]);
    wait_told_for(console->wait, "the data nodes to enter single user mode");
    if (ndb_mgm_enter_single_user(console->handle, command->nodes[0]) != 0)
        return console_order_failed(console, NDB_MGM_ENTER_SINGLE_FAILED, failed);
    console_answered(console);
    (void)fprintf(console->out,
                  "Single user mode entered\nAccess is granted for API node %u only.\n",
                  command->nodes[0]);
    return 0;
}

/* Does the server say that it is off? */
static bool single_user_is_off(const struct console *console)
{
    struct ndb_mgm_cluster_state *state = malloc(sizeof(*state));
    bool off = false;

    console_wait_server(console);
    if (state != NULL && ndb_mgm_get_status(console->handle, state) == 0) {
        off = true;
        for (uint32_t i = 0; i < state->count; i++)
            off &= state->nodes[i].status != NDB_MGM_STATUS_SINGLEUSER &&
                   state->nodes[i].is_single_user == 0;
    }
    free(state);
    return off;
}

/* The order is given in any case: one to enter may be on its way. */
static int exit_single_user(struct console *console)
{
    bool off = single_user_is_off(console);

    wait_told_for(console->wait, "the data nodes to leave single user mode");
    if (ndb_mgm_exit_single_user(console->handle) != 0)
        return console_order_failed(console, NDB_MGM_EXIT_SINGLE_FAILED,
                                    "Exiting single user mode failed.");
    console_answered(console);
    (void)fprintf(console->out, off ? "Single user mode was not on: all clients may work.\n"
                                    : "Exiting single user mode in progress.\n"
                                      "Use ALL STATUS or SHOW to see when single user mode has "
                                      "been exited.\n");
    return 0;
}

static int purge(struct console *console)
{
    char list[1200];

    console_wait_server(console);
    if (ndb_mgm_purge_stale_sessions(console->handle, list, sizeof(list)) != 0)
        return console_print_error(console, 0);
    console_answered(console);
    if (list[0] != '\0')
        (void)fprintf(console->out, "Purged sessions with node id's: %s\n", list);
    else
        (void)fprintf(console->out, "No sessions purged\n");
    return 0;
}

static int shutdown_cluster(struct console *console)
{
    uint32_t unreached[NDB_MGM_NODES_MAX];
    uint32_t unreached_count = console_find_nodes(console, false, unreached);
    uint32_t linked[NDB_MGM_NODES_MAX];
    uint32_t linked_count = console_find_nodes(console, true, linked);

    console_wait_ends(console, linked, linked_count);
    int count = ndb_mgm_shutdown(console->handle);
    if (count < 0)
        return console_order_failed(console, NDB_MGM_STOP_FAILED,
                                    "Shutdown of NDB Cluster node(s) failed.");
    console_answered(console);
    (void)fprintf(console->out, "%d NDB Cluster node(s) have shutdown.\n", count);
    print_unreached(console->out, unreached, unreached_count, "stop", "Those that run go on.");
    (void)fprintf(console->out, "Disconnecting to allow management server to shutdown.\n");
    if (ndb_mgm_is_connected(console->handle)) (void)ndb_mgm_disconnect(console->handle);
    return 0;
}

static int dump(struct console *console, const struct console_command *command)
{
    uint32_t node = command->all ? 0 : command->nodes[0];

    (void)fprintf(console->out, "Sending dump signal with data:\n");
    for (uint32_t i = 0; i < command->number_count; i++) {
        bool last = i % 4 == 3 || i + 1 == command->number_count;
        (void)fprintf(console->out, "0x%.8x%s", command->numbers[i], last ? "\n" : " ");
    }
    console_wait_server(console);
    if (ndb_mgm_dump_state(console->handle, node, command->numbers, command->number_count) == 0)
        return 0;
    return console_print_error(console, 0);
}

/* ---- cluster log ---- */

static int clusterlog_info(struct console *console)
{
    int enabled[NDB_MGM_SEVERITIES];

    console_wait_server(console);
    if (ndb_mgm_get_logfilter(console->handle, enabled) != 0)
        return console_print_error(console, 0);
    console_answered(console);
    if (console->json) {
        print_logfilter_json(console->out, enabled);
        return 0;
    }
    if (!enabled[NDB_MGM_SEVERITY_ON]) {
        (void)fprintf(console->out, "Cluster logging is disabled.\n");
        return 0;
    }
    (void)fprintf(console->out, "Severities enabled: ");
    for (uint32_t i = 1; i < NDB_MGM_SEVERITIES; i++) {
        if (enabled[i])
            (void)fprintf(console->out, "%s ", ndb_mgm_severity_name((enum ndb_mgm_severity)i));
    }
    (void)fprintf(console->out, "\n");
    return 0;
}

static int clusterlog_set(struct console *console, const struct console_command *command)
{
    console_wait_server(console);
    if (command->number_count == 0) {
        int value = ndb_mgm_set_logfilter(console->handle, NDB_MGM_SEVERITY_ON, command->enable);
        if (value < 0) return console_print_error(console, 0);
        console_answered(console);
        (void)fprintf(console->out, "Cluster logging is %s.\n",
                      value == 1 ? "enabled" : "disabled");
        return 0;
    }
    for (uint32_t i = 0; i < command->number_count; i++) {
        enum ndb_mgm_severity severity = (enum ndb_mgm_severity)command->numbers[i];
        int value = ndb_mgm_set_logfilter(console->handle, severity, command->enable);
        if (value < 0) return console_print_error(console, 0);
        console_answered(console);
        (void)fprintf(console->out, "%s %s\n", ndb_mgm_severity_name(severity),
                      value == 1 ? "enabled" : "disabled");
    }
    return 0;
}

/* CLUSTERLOG: of the cluster log; LOGLEVEL: of the node's own. */
static int node_levels(struct console *console, const struct console_command *command)
{
    uint32_t node = command->all ? 0 : command->nodes[0];
    bool own = command->verb == VERB_NODE_LOGLEVEL;
    char where[32] = "all nodes";

    if (node != 0) (void)snprintf(where, sizeof(where), "node %u", node);
    for (uint32_t i = 0; i + 1 < command->number_count; i += 2) {
        enum ndb_mgm_category category = (enum ndb_mgm_category)command->numbers[i];
        uint32_t level = command->numbers[i + 1];
        console_wait_server(console);
        int rc = own ? ndb_mgm_set_node_loglevel(console->handle, node, category, level)
                     : ndb_mgm_set_cluster_loglevel(console->handle, node, category, level);
        if (rc != 0) return console_print_error(console, 0);
        console_answered(console);
        (void)fprintf(console->out, "Executing %s %s=%u on %s OK!\n",
                      own ? "LOGLEVEL" : "CLUSTERLOG", ndb_mgm_category_name(category), level,
                      where);
    }
    return 0;
}

/* What the management server does or knows. */
static int run_at_server(struct console *console, const struct console_command *command)
{
    int rc = console_connect(console);
    if (rc != 0) return rc;
    switch (command->verb) {
    case VERB_SHOW:
        return console_show(console);
    case VERB_SHUTDOWN:
        return shutdown_cluster(console);
    case VERB_CLUSTERLOG_INFO:
        return clusterlog_info(console);
    case VERB_CLUSTERLOG_SET:
        return clusterlog_set(console, command);
    case VERB_START:
        return start(console, command);
    case VERB_STOP:
        return stop(console, command);
    case VERB_RESTART:
        return restart(console, command);
    case VERB_ROLLING_RESTART:
        return rolling_restart(console, command);
    case VERB_STATUS:
        return console_status(console, command);
    case VERB_REPORT_MEMORY:
        return console_report_memory(console, command);
    case VERB_REPORT_REDO:
    case VERB_REPORT_CHECKPOINT:
        return console_report_disk(console, command);
    case VERB_REPORT_EVENTS:
        return console_report_events(console, command);
    case VERB_NODE_CLUSTERLOG:
    case VERB_NODE_LOGLEVEL:
        return node_levels(console, command);
    case VERB_DUMP:
        return dump(console, command);
    case VERB_ENTER_SINGLE_USER:
        return enter_single_user(console, command);
    case VERB_EXIT_SINGLE_USER:
        return exit_single_user(console);
    case VERB_PURGE:
        return purge(console);
    case VERB_NONE:
    case VERB_HELP:
    case VERB_CONNECT:
    case VERB_SLEEP:
    case VERB_QUIT:
    case VERB_PROMPT:
    case VERB_REPORT_LIST:
        break;
    }
    return 0;
}

static int run(struct console *console, const struct console_command *command)
{
    switch (command->verb) {
    case VERB_NONE:
        return 0;
    case VERB_HELP:
        return help(console, command);
    case VERB_CONNECT:
        return reconnect(console, command);
    case VERB_SLEEP:
        return rest(console, command->numbers[0]);
    case VERB_QUIT:
        console->quit = true;
        return 0;
    case VERB_REPORT_LIST:
        (void)print_help_topic(console->out, "REPORT");
        return 0;
    case VERB_PROMPT:
        set_prompt(console, command);
        return 0;
    case VERB_SHOW:
    case VERB_SHUTDOWN:
    case VERB_CLUSTERLOG_INFO:
    case VERB_CLUSTERLOG_SET:
    case VERB_START:
    case VERB_STOP:
    case VERB_RESTART:
    case VERB_ROLLING_RESTART:
    case VERB_STATUS:
    case VERB_REPORT_MEMORY:
    case VERB_REPORT_REDO:
    case VERB_REPORT_CHECKPOINT:
    case VERB_REPORT_EVENTS:
    case VERB_NODE_CLUSTERLOG:
    case VERB_NODE_LOGLEVEL:
    case VERB_DUMP:
    case VERB_ENTER_SINGLE_USER:
    case VERB_EXIT_SINGLE_USER:
    case VERB_PURGE:
        break;
    }
    return run_at_server(console, command);
}

/* What takes longer than a second is told. */
static int run_and_tell(struct console *console, const struct console_command *command)
{
    console->wait = wait_told_begin("ndb_mgm");
    int rc = run(console, command);
    wait_told_end(console->wait);
    console->wait = NULL;
    return rc;
}

int console_execute(struct console *console, const char *line)
{
    struct console_command command;
    char why[1024];
    int rc;

    if (console_parse(line, &command, why, sizeof(why)) != 0) {
        (void)fprintf(console->json ? stderr : console->out, "%s\n", why);
        rc = 1;
    } else {
        rc = run_and_tell(console, &command);
    }
    console_flush(console);
    if (rc != 0) console->status = rc;
    return rc;
}

/* How long the text in quotes is that begins here; 0 = none does. Quotes are around a word, or what
 * follows its '=', and the command closes them: an apostrophe alone hides no comment. */
static size_t quoted_length(const char *command, size_t at, size_t end)
{
    if (command[at] != '"' && command[at] != '\'') return 0;
    if (at > 0 && command[at - 1] != '=' && !isspace((unsigned char)command[at - 1])) return 0;
    for (size_t i = at + 1; i < end; i++) {
        if (command[i] == command[at] && (i + 1 == end || isspace((unsigned char)command[i + 1])))
            return i + 1 - at;
    }
    return 0;
}

/* A command ends at a ';', at the end of its line, or where a comment begins: at a '#' in front of
 * it or behind a blank, but not in quotes. */
static size_t command_length(const char *command)
{
    size_t end = strcspn(command, ";\n");

    for (size_t i = 0; i < end; i++) {
        if (command[i] == '#' && (i == 0 || isspace((unsigned char)command[i - 1]))) return i;
        size_t quoted = quoted_length(command, i, end);
        if (quoted > 0) i += quoted - 1;
    }
    return end;
}

/* Cuts the next command off the text. A comment is the rest of its line, with all that it may hold
 * behind semicolons, and is never looked at. NULL: nothing is left. */
static char *next_command(char **text)
{
    char *command = *text + strspn(*text, " \t\r\n\v\f;");

    while (*command == '#') {
        command += strcspn(command, "\n");
        command += strspn(command, " \t\r\n\v\f;");
    }
    if (*command == '\0') return NULL;
    char *end = command + command_length(command);
    char *next = *end == '#' ? end + strcspn(end, "\n") : end;
    *text = *next == '\0' ? next : next + 1;
    *end = '\0';
    return command;
}

/* Ctrl-C came while no command was waiting: between two of them, or too late for the last one. */
static int drop_rest(struct console *console)
{
    (void)fprintf(console_error_out(console),
                  "Interrupted: the rest of the line is not carried out\n");
    console_flush(console);
    console->status = CONSOLE_INTERRUPTED;
    return CONSOLE_INTERRUPTED;
}

int console_execute_all(struct console *console, const char *lines)
{
    char *copy = strdup(lines);
    char *rest = copy;
    const char *line;
    int rc = 0;

    if (copy == NULL) {
        (void)fprintf(console_error_out(console), "Not carried out: out of memory\n");
        console->status = NDB_MGM_OUT_OF_MEMORY;
        return NDB_MGM_OUT_OF_MEMORY;
    }
    if (console->terminal) console_interrupts_begin(console->handle);
    while (!console->quit && (line = next_command(&rest)) != NULL) {
        int one = console_interrupted() ? drop_rest(console) : console_execute(console, line);
        if (one != 0) rc = one;
        if (one == CONSOLE_INTERRUPTED) break; /* What follows is not wanted either. */
    }
    if (console->terminal) console_interrupts_end();
    free(copy);
    return rc;
}
