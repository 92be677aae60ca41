/* ndb_mgm.c -- the management console: options, where lines come from, event lines. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/ndb_mgm_execute.h"
#include "tools/ndb_mgm_terminal.h"

enum { OPT_FORMAT = 1000, OPT_HELP };

static const struct option long_options[] = {{"execute", required_argument, NULL, 'e'},
                                             {"ndb-connectstring", required_argument, NULL, 'c'},
                                             {"connect-string", required_argument, NULL, 'c'},
                                             {"ndb-mgmd-host", required_argument, NULL, 'c'},
                                             {"try-reconnect", required_argument, NULL, 't'},
                                             {"connect-retries", required_argument, NULL, 't'},
                                             {"prompt", required_argument, NULL, 'p'},
                                             {"format", required_argument, NULL, OPT_FORMAT},
                                             {"version", no_argument, NULL, 'V'},
                                             {"help", no_argument, NULL, OPT_HELP},
                                             {NULL, 0, NULL, 0}};

struct options {
    const char *execute;
    char connectstring[1024];
    bool done;
};

/* Prints events while the main thread waits for a line. */
struct event_printer {
    pthread_t thread;
    ndb_mgm_handle_t *listener; /* NULL: no thread. */
    atomic_bool stop;
    atomic_bool lost;
};

static void print_usage(void)
{
    printf("Usage: ndb_mgm [options] [hostname [port]]\n"
           "The management console.\n\n"
           "  -c, --ndb-connectstring=s, --connect-string=s, --ndb-mgmd-host=s\n"
           "                             host[:port][,host[:port]...] (NDB_CONNECTSTRING, "
           "localhost:1186)\n"
           "  -e, --execute=commands     execute them (separated by ;) and exit with the error's "
           "number\n"
           "  -t, --try-reconnect=n, --connect-retries=n\n"
           "                             attempts to connect (12)\n"
           "  -p, --prompt=text          the prompt\n"
           "      --format=text|json     output of SHOW, STATUS, REPORT and CLUSTERLOG INFO\n"
           "  -?, --help                 print this\n"
           "  -V, --version              print the version\n");
}

/* The connect string without an option: one argument, or host and port. */
static int read_arguments(struct options *options, int argc, char **argv)
{
    if (argc - optind > 2) {
        (void)fprintf(stderr, "ndb_mgm: unexpected argument %s\n", argv[optind + 2]);
        return -1;
    }
    if (optind < argc) {
        (void)snprintf(options->connectstring, sizeof(options->connectstring), "%s%s%s",
                       argv[optind], optind + 1 < argc ? ":" : "",
                       optind + 1 < argc ? argv[optind + 1] : "");
    }
    return 0;
}

static int read_options(struct console *console, struct options *options, int argc, char **argv)
{
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, "e:c:t:p:V", long_options, NULL)) != -1;) {
        switch (c) {
        case 'e':
            options->execute = optarg;
            break;
        case 'c':
            (void)snprintf(options->connectstring, sizeof(options->connectstring), "%s", optarg);
            break;
        case 't':
            console->retries = atoi(optarg);
            break;
        case 'p':
            (void)snprintf(console->prompt, sizeof(console->prompt), "%s", optarg);
            break;
        case OPT_FORMAT:
            console->json = strcmp(optarg, "json") == 0;
            if (console->json || strcmp(optarg, "text") == 0) break;
            (void)fprintf(stderr, "ndb_mgm: --format is wrong (allowed: text, json)\n");
            return -1;
        case 'V':
            printf("ndb_mgm ndb-1.0.0\n");
            options->done = true;
            return 0;
        case OPT_HELP:
            print_usage();
            options->done = true;
            return 0;
        default:
            options->done = optopt == '?'; /* "-?" */
            if (!options->done)
                (void)fprintf(stderr, "ndb_mgm: wrong option %s\n", argv[optind - 1]);
            print_usage();
            return options->done ? 0 : -1;
        }
    }
    return read_arguments(options, argc, argv);
}

/* ---- events ---- */

/* A second connection that brings start, stop and memory events. Without it the console works all
 * the same. */
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

static void *print_events(void *argument)
{
    struct event_printer *printer = argument;
    struct ndb_mgm_event event;
    int rc = 0;

    while (rc >= 0 && !atomic_load(&printer->stop)) {
        rc = ndb_mgm_next_event(printer->listener, &event, 100);
        if (rc != 1) continue;
        printf("Node %u: %s\n", event.source_node, event.text);
        (void)fflush(stdout);
    }
    atomic_store(&printer->lost, true);
    return NULL;
}

static void printer_stop(struct event_printer *printer)
{
    if (printer->listener == NULL) return;
    atomic_store(&printer->stop, true);
    (void)pthread_join(printer->thread, NULL);
    ndb_mgm_destroy_handle(printer->listener);
    printer->listener = NULL;
}

/* Ctrl-C is the main thread's. */
static int start_thread(struct event_printer *printer)
{
    sigset_t interrupt;
    sigset_t before;
    int rc;

    (void)sigemptyset(&interrupt);
    (void)sigaddset(&interrupt, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &interrupt, &before);
    rc = pthread_create(&printer->thread, NULL, print_events, printer);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

/* Follows the console's connection: a lost listener ends, a connected console gets one. */
static void printer_follow(struct event_printer *printer, const struct console *console)
{
    if (printer->listener != NULL && atomic_load(&printer->lost)) printer_stop(printer);
    if (printer->listener != NULL || !ndb_mgm_is_connected(console->handle)) return;
    printer->listener = listen_events(console);
    if (printer->listener == NULL) return;
    atomic_store(&printer->stop, false);
    atomic_store(&printer->lost, false);
    if (start_thread(printer) == 0) return;
    ndb_mgm_destroy_handle(printer->listener);
    printer->listener = NULL;
}

/* ---- reading commands ---- */

static void run_terminal(struct console *console)
{
    struct event_printer printer = {.listener = NULL};
    char *line;

    terminal_open(console->handle);
    while (!console->quit && (line = terminal_read(console->prompt)) != NULL) {
        (void)console_execute(console, line);
        free(line);
        printer_follow(&printer, console);
    }
    if (!console->quit) printf("\n"); /* The end of input leaves the cursor behind the prompt. */
    printer_stop(&printer);
    terminal_close();
}

static void run_pipe(struct console *console)
{
    char *line = NULL;
    size_t room = 0;

    while (!console->quit && getline(&line, &room, stdin) >= 0)
        (void)console_execute(console, line);
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
