/* ndb_mgm_help.c -- the texts of HELP: a line for each command, from the table, and a page for
 * some. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include <strings.h>

#include "tools/ndb_mgm_print.h"
#include "tools/ndb_mgm_rules.h"

#define HELP_COLUMNS 78 /* Columns of a line, for a terminal that has 80. */

static const struct {
    const char *topic;
    const char *text;
} topics[] = {
    {"SHOW",
     "SHOW  Print information about cluster\n\n"
     "Lists every configured node: connected ones with address, version, state when it is not\n"
     "\"started\", node group, and * for the data node that leads; others with the host that may\n"
     "connect.\n"},
    {"STATUS",
     "STATUS  Print status\n\n"
     "<id> STATUS        Displays the state of one node, ALL STATUS of all data nodes:\n"
     "  not connected    the management server has no contact with it\n"
     "  does not answer  it is linked, and has not answered for 3 s: it hangs, or is starved\n"
     "  not started      it waits for <id> START\n"
     "  starting         with the last completed start phase; while it reads its data back, how "
     "much\n"
     "                   of it and the seconds left\n"
     "  started          it serves transactions\n"
     "  single user mode it serves those of one API node\n"
     "  shutting down    it has been ordered to stop\n"
     "Start phases: 1 clear files (--initial)  2 connect, heartbeats  3 arbitrator  4 internal\n"
     "variables  5 log files  6 system tables  7 internal variables  8 rebuild indexes\n"
     "9 internal  10 clients may connect  11 event delivery\n"},
    {"START",
     "START  Start data node\n\n"
     "<id> START         Starts a data node that was started or restarted with -n and waits\n"
     "                   (status \"not started\"). ALL START starts all of them.\n"},
    {"STOP", "STOP  Stop data or management server node\n\n"
             "<id> STOP [-a] [-f]  Stops the node; ALL STOP stops all data nodes. Naming every\n"
             "                   one of several that run is the same as ALL; the only one that\n"
             "                   runs is stopped by ALL, or with -f.\n"
             "  -a   abort: do not wait for transactions; needed for several nodes at once, if\n"
             "       others stay. When no node is left, commits of the last two seconds that\n"
             "       were not waited for (ndb_wait_durable) are lost, as after a loss of power\n"
             "  -f   force: even if the cluster cannot go on without the node\n"},
    {"ROLLING",
     "ROLLING RESTART  Restart all data nodes, one after the other\n\n"
     "ROLLING RESTART [-i] [<id> ...]\n"
     "    Each node is stopped in good order, started again and has all rows before the\n"
     "    next one follows, so that the cluster serves its clients all the time. The\n"
     "    president is the last. Refused unless all data nodes are started; one that is\n"
     "    starting is waited for.\n"
     "    A changed configuration takes effect node by node; refused with the reason when\n"
     "    what has changed needs a restart of all nodes together, or empty files (-i).\n"
     "    -i   each node begins with empty files and gets all rows from the others\n"
     "    <id> only these: after Ctrl-C, or when a node did not come back, those that are\n"
     "         left are named in this form. When the management server is lost, another\n"
     "         one is asked, or it is waited for.\n"},
    {"RESTART",
     "RESTART  Restart data node\n\n"
     "<id> RESTART [-n] [-i] [-a] [-f]\n"
     "  -n   stay in \"not started\" until <id> START\n"
     "  -i   initial: begin with an empty file system; refused when nobody else has a "
     "copy\n"
     "       of the data, unless with -f\n"
     "  -a   abort: do not wait for transactions; of all nodes at once, also not for what\n"
     "       is not on disk yet (see HELP STOP)\n"
     "  -f   force: even if the cluster cannot go on without the node\n"},
    {"SHUTDOWN",
     "SHUTDOWN  Shutdown all processes in cluster\n\n"
     "Stops all data nodes and then all management servers. Clients are not stopped.\n"},
    {"REPORT",
     "REPORT  Display report\n\n"
     "<id> REPORT                    This list.\n"
     "<id> REPORT MemoryUsage        Pages of DataMemory in use, for rows and for hash indexes.\n"
     "<id> REPORT RedoLog            Per log part: how full, files and their size, where it is "
     "written,\n"
     "                               last durable page, operations that wait for room.\n"
     "<id> REPORT CheckpointStatus   Durable global checkpoint; the last local checkpoint: when, "
     "how\n"
     "                               long, fragments, KB; and the one that runs.\n"
     "<id> REPORT EventLog           The last events that the node has kept (at most 128), with "
     "their time.\n"
     "Types may be shortened: ALL REPORT MEMORY, ALL REPORT REDO, ALL REPORT CHECKPOINT.\n"},
    {"CLUSTERLOG",
     "CLUSTERLOG  What the cluster log takes up\n\n"
     "CLUSTERLOG ON|OFF|TOGGLE [<severity>] ...   Switch severities, or without any the whole log\n"
     "CLUSTERLOG INFO                             Print which severities are enabled\n"
     "<id> CLUSTERLOG <category>=<level> ...      Take up events of the category whose level "
     "(0-15)\n"
     "                                            is at most this\n"},
    {"LOGLEVEL",
     "LOGLEVEL  What a data node writes to its own log\n\n"
     "<id> LOGLEVEL <category>=<level> ...   Events of the category whose level (0-15) is at most\n"
     "                                       this go to ndb_<id>_out.log, too, until the node\n"
     "                                       ends; 0: none, which is how it begins\n"},
    {"DUMP",
     "DUMP  Send a debug order\n\n"
     "<id> DUMP <number> ...   At most 24 numbers; the first is the code. What it prints "
     "goes to the\n"
     "                         node's own log.\n"
     "  1 13 16 17 1228        state of membership, start, node groups, dictionary\n"
     "  1000                   memory usage, also to the cluster log\n"
     "  2300 2353              operations and pools of the LDM instances\n"
     "  2500 2555              transactions and pools of the coordinators\n"
     "  2605                   number of events so far\n"
     "  7099                   a local checkpoint now\n"
     "  7110                   the next micro-epoch now\n"
     "  7111                   close the GCI now: what is committed becomes durable\n"
     "  9000 b n [x]           error insert n in block number b (docs/protocols/start.md)\n"},
    {"CONNECT",
     "CONNECT  Connect to management server\n\n"
     "CONNECT [<connectstring>]  host[:port][,host[:port]...]; without it the one in use.\n"},
    {"PROMPT",
     "PROMPT  Set the prompt\n\n"
     "PROMPT [<text>]  Without text the default prompt returns. A ; ends the text, as it\n"
     "                 ends any command, and so does a # behind a blank:\n"
     "                 ndb_mgm --prompt=<text> takes one that has them\n"},
    {"SLEEP", "SLEEP  Wait\n\nSLEEP <seconds>  Wait so long (0-86400) before the next command.\n"},
    {"QUIT", "QUIT  Quit management client\n\nQUIT, EXIT and BYE do the same.\n"},
    {"EXIT", "EXIT  Leave the client, or single user mode\n\n"
             "EXIT                    The same as QUIT and BYE.\n"
             "EXIT SINGLE USER MODE   All API nodes may work again.\n"},
    {"ENTER", "ENTER SINGLE USER MODE  Only one API node may work\n\n"
              "ENTER SINGLE USER MODE <id>\n"
              "    Transactions and schema changes of all other API nodes are refused (299);\n"
              "    what they have under way may end within 5 seconds, then it is aborted. Says\n"
              "    when nothing of them is left. The node <id> need not be connected. Data\n"
              "    nodes cannot come back meanwhile: single nodes are not restarted, one that\n"
              "    is lost waits. It ends with EXIT SINGLE USER MODE or ALL RESTART.\n"},
    {"PURGE", "PURGE STALE SESSIONS  Free node ids\n\n"
              "    Node ids that processes have asked for without ever linking to the cluster\n"
              "    are given to others again.\n"},
    {"BYE", "QUIT  Quit management client\n\nQUIT, EXIT and BYE do the same.\n"},
    {"HELP", "HELP  Print help text\n\nHELP [<command>]\n"},
};

const char *help_topic(uint32_t index)
{
    return index < sizeof(topics) / sizeof(topics[0]) ? topics[index].topic : NULL;
}

/* What may stand for a slot. */
static void print_list(FILE *out, const char *name, enum console_slot slot)
{
    struct console_choices choices;
    int indent = fprintf(out, "%-10s =", name);
    int column = indent;

    console_list(slot, &choices);
    for (uint32_t i = 0; i < choices.count; i++) {
        bool last = i + 1 == choices.count;
        if (column + (int)strlen(choices.at[i]) + 3 > HELP_COLUMNS)
            column = fprintf(out, "\n%*s", indent, "") - 1;
        column += fprintf(out, " %s%s", choices.at[i], last ? "\n" : " |");
    }
}

static void print_overview(FILE *out)
{
    (void)fprintf(out, "NDB Cluster -- Management Client -- Help\n");
    for (int task = 0; task < TASK_COUNT; task++) {
        (void)fprintf(out, "\n%s\n", console_task_name((enum console_task)task));
        for (uint32_t i = 0; i < console_rule_count; i++) {
            const struct console_rule *rule = &console_rules[i];
            if ((int)rule->task == task && rule->what != NULL)
                (void)fprintf(out, "  %-40s %s\n", rule->form, rule->what);
        }
    }
    (void)fprintf(out, "\n<id>       = number of a node, or ALL for all data nodes\n");
    print_list(out, "<report>", SLOT_REPORT);
    print_list(out, "<severity>", SLOT_SEVERITY);
    print_list(out, "<category>", SLOT_LEVEL);
    (void)fprintf(out, "<level>    = 0 - 15\n");
    print_list(out, "<topic>", SLOT_TOPIC);
    (void)fprintf(out,
                  "\nTab completes a word, or lists what may follow; Ctrl-C drops the line; the "
                  "arrow\nkeys bring back earlier ones. A ; separates commands. A # at the "
                  "beginning of\na command, or behind a blank and not in quotes, makes the rest of "
                  "its line a\ncomment.\n");
}

static bool print_topic(FILE *out, const char *topic)
{
    for (uint32_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++) {
        if (strcasecmp(topics[i].topic, topic) != 0) continue;
        (void)fputs(topics[i].text, out);
        return true;
    }
    return false;
}

static bool names_nodes(const char *word)
{
    return strcasecmp(word, "ALL") == 0 || strcasecmp(word, "<id>") == 0 ||
           strspn(word, "0123456789") == strlen(word);
}

bool print_help_topic(FILE *out, const char *topic)
{
    char copy[512];

    if (topic[0] == '\0') print_overview(out);
    if (topic[0] == '\0' || print_topic(out, topic)) return true;
    (void)snprintf(copy, sizeof(copy), "%s", topic); /* ALL STATUS, ENTER SINGLE USER MODE. */
    char *save = NULL;
    char *word = strtok_r(copy, " \t", &save);
    while (word != NULL && names_nodes(word))
        word = strtok_r(NULL, " \t", &save);
    return word != NULL && print_topic(out, word);
}
