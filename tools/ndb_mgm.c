/* ndb_mgm.c -- the management console: options, line editing, history, event lines. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <editline/readline.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/ndb_mgm_execute.h"

enum { OPT_FORMAT = 1000, OPT_RETRIES };

static const struct option long_options[] = {
    {"execute", required_argument, NULL, 'e'},
    {"ndb-connectstring", required_argument, NULL, 'c'},
    {"connect-string", required_argument, NULL, 'c'},
    {"ndb-mgmd-host", required_argument, NULL, 'c'},
    {"try-reconnect", required_argument, NULL, 't'},
    {"connect-retries", required_argument, NULL, 't'},
    {"prompt", required_argument, NULL, 'p'},
    {"format", required_argument, NULL, OPT_FORMAT},
    {"version", no_argument, NULL, 'V'},
    {"help", no_argument, NULL, '?'},
    {NULL, 0, NULL, 0}};

struct options {
    const char *execute;
    char connectstring[1024];
    bool done;
};

/* The line editor's callback has no context pointer. */
static struct console *callback_console;
static bool callback_end;

static void print_usage(void)
{
    printf("Usage: ndb_mgm [options] [hostname [port]]\n"
           "The management console.\n\n"
           "  -c, --ndb-connectstring=s  host[:port][,host[:port]...] (NDB_CONNECTSTRING, localhost:1186)\n"
           "  -e, --execute=commands     execute them (separated by ;) and exit with the error's number\n"
           "  -t, --try-reconnect=n      attempts to connect (12)\n"
           "  -p, --prompt=text          the prompt\n"
           "      --format=text|json     output of SHOW, STATUS and REPORT\n"
           "  -V, --version              print the version\n");
}

static int read_options(struct console *console, struct options *options, int argc, char **argv)
{
    for (int c; (c = getopt_long(argc, argv, "e:c:t:p:V?", long_options, NULL)) != -1;) {
        switch (c) {
        case 'e': options->execute = optarg; break;
        case 'c': (void)snprintf(options->connectstring, sizeof(options->connectstring), "%s", optarg); break;
        case 't': console->retries = atoi(optarg); break;
        case 'p': (void)snprintf(console->prompt, sizeof(console->prompt), "%s", optarg); break;
        case OPT_FORMAT:
            console->json = strcmp(optarg, "json") == 0;
            if (console->json || strcmp(optarg, "text") == 0) break;
            (void)fprintf(stderr, "ndb_mgm: --format is wrong (allowed: text, json)\n");
            return -1;
        case 'V':
            printf("ndb_mgm ndb-1.0.0\n");
            options->done = true;
            return 0;
        default:
            print_usage();
            options->done = true;
            return optopt == 0 || optopt == '?' ? 0 : -1;
        }
    }
    if (argc - optind > 2) {
        (void)fprintf(stderr, "ndb_mgm: unexpected argument %s\n", argv[optind + 2]);
        return -1;
    }
    if (optind < argc) {
        (void)snprintf(options->connectstring, sizeof(options->connectstring), "%s%s%s", argv[optind],
                       optind + 1 < argc ? ":" : "", optind + 1 < argc ? argv[optind + 1] : "");
    }
    return 0;
}

/* ---- events ---- */

/* A second connection that brings start, stop and memory events. Without it the console works all the same. */
static ndb_mgm_handle_t *listen_events(const struct console *console)
{
    uint32_t levels[NDB_MGM_CATEGORIES] = {0};
    ndb_mgm_handle_t *listener = ndb_mgm_create_handle();
    char address[300];

    if (listener == NULL) return NULL;
    (void)snprintf(address, sizeof(address), "[%s]:%u", ndb_mgm_connected_host(console->handle),
                   ndb_mgm_connected_port(console->handle));
    levels[NDB_MGM_CATEGORY_STARTUP - NDB_MGM_CATEGORY_FIRST] = 1;
    levels[NDB_MGM_CATEGORY_STATISTICS - NDB_MGM_CATEGORY_FIRST] = 5;
    levels[NDB_MGM_CATEGORY_BACKUP - NDB_MGM_CATEGORY_FIRST] = 15;
    if (ndb_mgm_set_connectstring(listener, address) != 0 || ndb_mgm_connect(listener, 0, 0) != 0 ||
        ndb_mgm_listen_events(listener, levels) != 0) {
        ndb_mgm_destroy_handle(listener);
        return NULL;
    }
    return listener;
}

/* Prints what came; false when the connection is gone. */
static bool print_events(ndb_mgm_handle_t *listener)
{
    struct ndb_mgm_event event;
    int rc;

    while ((rc = ndb_mgm_next_event(listener, &event, 0)) == 1) {
        printf("\nNode %u: %s\n", event.source_node, event.text);
        rl_forced_update_display();
    }
    return rc == 0;
}

/* ---- reading commands ---- */

static void take_line(char *line)
{
    if (line == NULL) {
        callback_end = true;
        printf("\n");
        return;
    }
    if (line[0] != '\0') (void)add_history(line);
    (void)console_execute(callback_console, line);
    free(line);
    if (callback_console->quit) callback_end = true;
    else rl_set_prompt(callback_console->prompt);
}

static void history_path(char *path, size_t size)
{
    const char *file = getenv("NDB_MGM_HISTFILE");
    const char *home = getenv("HOME");

    if (file != NULL) (void)snprintf(path, size, "%s", file);
    else (void)snprintf(path, size, "%s/.ndb_mgm_history", home == NULL ? "." : home);
}

static void run_terminal(struct console *console)
{
    char path[1024];
    ndb_mgm_handle_t *listener = NULL;

    history_path(path, sizeof(path));
    using_history();
    (void)read_history(path);
    callback_console = console;
    rl_callback_handler_install(console->prompt, take_line);
    while (!callback_end) {
        if (listener == NULL && ndb_mgm_is_connected(console->handle)) listener = listen_events(console);
        struct pollfd entries[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                                    {.fd = listener == NULL ? -1 : ndb_mgm_socket(listener), .events = POLLIN}};
        if (poll(entries, 2, -1) < 0 && errno != EINTR) break;
        if (entries[1].revents != 0 && !print_events(listener)) {
            ndb_mgm_destroy_handle(listener);
            listener = NULL;
        }
        if (entries[0].revents != 0) rl_callback_read_char();
    }
    rl_callback_handler_remove();
    ndb_mgm_destroy_handle(listener);
    (void)write_history(path);
}

static void run_pipe(struct console *console)
{
    char *line = NULL;
    size_t room = 0;

    while (!console->quit && getline(&line, &room, stdin) >= 0) (void)console_execute(console, line);
    free(line);
}

static int exit_status(int error)
{
    return error < 0 || error > 255 ? 255 : error;
}

int main(int argc, char **argv)
{
    struct console console = {.out = stdout, .retries = 12, .prompt = CONSOLE_PROMPT};
    struct options options = {.execute = NULL};

    if (read_options(&console, &options, argc, argv) != 0) return 2;
    if (options.done) return 0;
    console.handle = ndb_mgm_create_handle();
    if (console.handle == NULL) return 1;
    ndb_mgm_set_name(console.handle, "ndb_mgm");
    if (ndb_mgm_set_connectstring(console.handle, options.connectstring) != 0) {
        (void)fprintf(stderr, "ndb_mgm: %s\n", ndb_mgm_error_text(console.handle));
        ndb_mgm_destroy_handle(console.handle);
        return 2;
    }
    if (options.execute != NULL) {
        (void)console_execute_all(&console, options.execute);
    } else if (isatty(STDIN_FILENO)) {
        printf("-- NDB Cluster -- Management Client --\n");
        run_terminal(&console);
        console.status = 0;
    } else {
        run_pipe(&console);
    }
    ndb_mgm_destroy_handle(console.handle);
    return exit_status(console.status);
}
