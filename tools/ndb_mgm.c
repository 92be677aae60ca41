/* ndb_mgm.c -- the management console: where its lines come from, and the lines of events. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "service/foreign_options.h"
#include "service/program.h"
#include "tools/ndb_mgm_execute.h"
#include "tools/ndb_mgm_options.h"
#include "tools/ndb_mgm_terminal.h"

/* Prints events while the main thread waits for a line. */
struct event_printer {
    pthread_t thread;
    ndb_mgm_handle_t *listener; /* NULL: no thread. */
    atomic_bool stop;
    atomic_bool lost;
};

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
    char line[sizeof(event.text) + 20];
    int rc = 0;

    while (rc >= 0 && !atomic_load(&printer->stop)) {
        rc = ndb_mgm_next_event(printer->listener, &event, 100);
        if (rc != 1) continue;
        (void)snprintf(line, sizeof(line), "Node %u: %s", event.source_node, event.text);
        terminal_tell(line);
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

    console->terminal = true;
    terminal_open(console->handle);
    while (!console->quit && (line = terminal_read(console->prompt)) != NULL) {
        (void)console_execute_all(console, line);
        free(line);
        printer_follow(&printer, console);
    }
    if (!console->quit) printf("\n"); /* The end of input leaves the cursor behind the prompt. */
    printer_stop(&printer);
    terminal_close();
}

/* Behind a Ctrl-C the lines that follow are not wanted either. */
static void run_pipe(struct console *console)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size = 0;
    int rc = 0;

    while (!console->quit && rc != CONSOLE_INTERRUPTED &&
           (size = getline(&line, &room, stdin)) >= 0) {
        if (ferror(stdin) != 0) break; /* A part of a line, which nobody has written so. */
        if (strlen(line) == (size_t)size) {
            rc = console_execute_all(console, line);
            continue;
        }
        (void)fprintf(stderr, "A line with a zero byte is not carried out: %s\n", line);
        console->status = 1;
    }
    if (ferror(stdin) != 0 || (size < 0 && feof(stdin) == 0)) {
        (void)fprintf(stderr, "ndb_mgm: standard input: %s; what follows is not carried out\n",
                      strerror(errno));
        console->status = 1;
    }
    free(line);
}

/* What was printed must have arrived, as with all tools. */
static int end_output(const struct console *console, int status)
{
    int error = console->out_error;

    if (fflush(stdout) != 0 && error == 0) error = errno;
    if (error == 0) return status;
    (void)fprintf(stderr, "ndb_mgm: output: %s\n", strerror(error));
    return status == 0 ? 1 : status;
}

static int exit_status(int error)
{
    return error < 0 || error > 255 ? 255 : error;
}

int main(int argc, char **argv)
{
    struct console console = {.out = stdout, .retries = 12, .prompt = CONSOLE_PROMPT};
    struct console_options options;
    char why[256];

    (void)program_begin(argv[0],
                        0); /* It looks at its output itself, which may be lost in between. */
    argc = foreign_options_take("ndb_mgm", argc, argv);
    if (console_read_options(&console, &options, argc, argv, stderr) != 0) return 2;
    if (options.done) return end_output(&console, 0);
    if (ndb_mgm_check_connectstring(options.connectstring, "--ndb-connectstring", why,
                                    sizeof(why)) != 0) {
        (void)fprintf(stderr, "ndb_mgm: %s\n", why);
        return 2;
    }
    console.handle = ndb_mgm_create_handle();
    if (console.handle == NULL) return 1;
    ndb_mgm_set_name(console.handle, "ndb_mgm");
    (void)ndb_mgm_set_connectstring(console.handle, options.connectstring); /* It can be read. */
    (void)snprintf(console.servers, sizeof(console.servers), "%s", options.connectstring);
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
    return end_output(&console, exit_status(console.status));
}
