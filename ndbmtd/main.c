/* main.c -- ndbmtd: the options, and the order of what follows: first look, angel, life. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "ndbmtd/life.h"
#include "service/notify.h"
#include "service/foreign_options.h"
#include "service/program.h"
#include "transporters/link.h"

enum {
    KEY_NODE_ID = 256,
    KEY_INITIAL,
    KEY_ACCEPT_LOSS,
    KEY_NODAEMON,
    KEY_FOREGROUND,
    KEY_RETRIES,
    KEY_DELAY,
    KEY_AGAIN
};

static const struct argp_option option_table[] = {
    {"ndb-connectstring", 'c', "HOST[:PORT]", 0, "Management server(s); also NDB_CONNECTSTRING", 0},
    {"connect-string", 'c', "HOST[:PORT]", OPTION_ALIAS, NULL, 0},
    {"ndb-nodeid", KEY_NODE_ID, "N", 0, "Node id; by default the management server chooses", 0},
    {"initial", KEY_INITIAL, 0, 0, "Remove the node's files and start without data of former lives",
     0},
    {"i-accept-data-loss", KEY_ACCEPT_LOSS, 0, 0,
     "With --initial: even if no other node has a copy of the data", 0},
    {"nostart", 'n', 0, 0, "Wait for START from the management console", 0},
    {"daemon", 'd', 0, 0, "Go to the background (default)", 0},
    {"nodaemon", KEY_NODAEMON, 0, 0, "Stay in the foreground", 0},
    {"foreground", KEY_FOREGROUND, 0, 0, "Stay in the foreground, without angel process", 0},
    {"connect-retries", KEY_RETRIES, "N", 0,
     "Tries to reach the management server, -1 = for ever (12)", 0},
    {"connect-delay", KEY_DELAY, "S", 0, "Seconds between tries (5)", 0},
    {"connect-retry-delay", KEY_DELAY, NULL, OPTION_ALIAS, NULL, 0},
    {"next-life", KEY_AGAIN, "...", OPTION_HIDDEN, NULL, 0}, /* again.c passes this option. */
    {0},
};

/* `also`: what else the option may be, in the words of the error. */
static uint32_t number_or_die(const char *text, uint32_t max, const char *also, const char *option,
                              struct argp_state *state)
{
    char *end = NULL;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || strchr(text, '-') != NULL || value > max)
        argp_error(state, "%s must be a number from 0 to %u%s, not '%s'", option, max, also, text);
    return (uint32_t)value;
}

/* What is no address is none at the tenth try either. */
static void check_connect_string(const char *text, struct argp_state *state)
{
    char why[256];
    if (ndb_mgm_check_connectstring(text, "--ndb-connectstring", why, sizeof why) != 0)
        argp_error(state, "%s", why);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'c':
        options->connect_string = argument;
        break;
    case KEY_NODE_ID:
        options->node_id = number_or_die(argument, DATA_NODE_ID_MAX, "", "--ndb-nodeid", state);
        break;
    case KEY_INITIAL:
        options->initial = true;
        break;
    case KEY_ACCEPT_LOSS:
        options->accept_data_loss = true;
        break;
    case 'n':
        options->no_start = true;
        break;
    case 'd':
        options->daemon = true;
        break;
    case KEY_NODAEMON:
        options->daemon = false;
        break;
    case KEY_FOREGROUND:
        options->daemon = false;
        options->foreground = true;
        break;
    case KEY_RETRIES:
        options->retries = strcmp(argument, "-1") == 0
                               ? -1
                               : (int)number_or_die(argument, INT32_MAX, ", or -1 (for ever)",
                                                    "--connect-retries", state);
        break;
    case KEY_DELAY:
        options->delay_s = number_or_die(argument, 3600, "", "--connect-delay", state);
        break;
    case KEY_AGAIN:
        if (!again_parse(&options->again, argument))
            argp_error(state, "--next-life: '%s' is of another version", argument);
        break;
    case ARGP_KEY_END:
        check_connect_string(options->connect_string, state);
        break;
    case ARGP_KEY_ARG:
        if (options->connect_string != NULL)
            argp_error(state, "'%s' is one argument too much: the connect string is '%s'", argument,
                       options->connect_string);
        options->connect_string = argument;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* Prints the version, and which link protocols another version must know to meet this one. */
static void print_version(FILE *stream, struct argp_state *state)
{
    (void)state;
    fprintf(stream, "ndbmtd %s\nlinks: protocol %u, with those that have %u or more\n",
            NDB_VERSION_TEXT, LINK_PROTOCOL_VERSION, LINK_PROTOCOL_VERSION_MIN);
}

int main(int argc, char **argv)
{
    static struct process process; /* Large; zeroed. */
    struct options options = {.daemon = true, .retries = 12, .delay_s = 5};
    const struct argp argp = {option_table,
                              parse_option,
                              "[CONNECT-STRING]",
                              "The data node: keeps rows in memory and runs transactions on them.",
                              NULL,
                              NULL,
                              NULL};
    (void)program_begin(argv[0], 1);
    argc = foreign_options_take("ndbmtd", argc, argv);
    argp_program_version_hook = print_version;
    argp_err_exit_status = 2;
    if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0) return 2;
    program_serves();

    pthread_mutex_init(&process.wish_lock, NULL);
    pthread_mutex_init(&process.log_lock, NULL);
    pthread_mutex_init(&process.fail_lock, NULL);
    pthread_mutex_init(&process.port_lock, NULL);
    pthread_cond_init(&process.port_changed, NULL);
    process.angel_pipe = -1;
    process.pid_file = -1;
    process.data_dir = ".";
    process.traces_kept = 1; /* Until there is a configuration. */
    process.initial = options.initial;
    process.accept_data_loss = options.accept_data_loss;
    process.no_start = options.no_start;
    process.connect_string = options.connect_string;
    again_remember(argv, options.foreground);
    if (options.again.node != 0 && again_take(&process, &options.again) != 0) return 2;
    if (options.again.node != 0 && !options.again.taken) again_upgrade(&process, false);
    service_not_watched();                           /* A former life was watched, perhaps. */
    if (process.pause_s > 0) sleep(process.pause_s); /* The others end, too. */
    host_os_init(&process);
    signal(SIGPIPE, SIG_IGN);
    program_takes_no_hangup(false);

    if (!options.again.angel) {
        int failed = look_first(&process, &options);
        if (failed != 0) {
            service_notify("STATUS=The data node could not begin: its log says why");
            if (failed > 0 && options.again.node != 0) /* Nobody need look at a later life. */
                process_report_failure(&process, 0, 0, (uint32_t)failed);
            return 1;
        }
    } else if (options.daemon) {
        (void)process_open_log(
            &process); /* Without a log its words come to the same file by stderr. */
    }
    if (!options.foreground && angel_run(&process) != 0) {
        process_log(&process, LOG_LEVEL_ERROR, "the angel cannot start the node's process: %s",
                    strerror(errno));
        process_report_failure(&process, 0, 0, EXIT_GENERIC);
        remove_pid_file(&process);
        return 1;
    }
    int result = life_run(&process, &options);
    if (options.foreground) {
        if (result != 0) process_report_failure(&process, 0, 0, EXIT_GENERIC);
        remove_pid_file(&process);
    }
    return result;
}
