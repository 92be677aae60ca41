/* ndb_top.c -- shows what each thread of a data node does: on a terminal, as text, or as JSON. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <ndb/mgm.h>

#include "service/reach_cluster.h"
#include "service/wait_told.h"
#include "tools/top_use.h"
#include "values/errors.h"

#define BAR_MIN      10
#define BAR_MAX      60
#define COLUMNS_ELSE 80 /* When nobody knows how wide the terminal is. */
#define HEAD_LINES   2u

struct settings {
    struct tool tool;
    uint32_t node;    /* 0: the first one that answers. */
    uint32_t sleep_s; /* Seconds between two looks. */
    uint32_t count;   /* Looks; 0: until it is ended. */
    bool measured, os, color, graph, text, sort;
    struct wait_told *wait; /* Tells that an answer is waited for. */
};

enum { KEY_NO_OS = TOOL_KEY_OWN, KEY_NO_GRAPH, KEY_NO_COLOR, KEY_NO_SORT, KEY_COUNT };

static const struct argp_option options[] = {
    {"node-id", 'n', "ID", 0, "the data node (default: the first one that is started and answers)",
     0},
    {"sleep-time", 's', "SECONDS", 0, "time between two looks (1)", 0},
    {"count", KEY_COUNT, "N", 0, "end after N looks (0: when Ctrl-C is pressed)", 0},
    {"measured-load", 'm', NULL, 0, "also what the threads measure: work, spinning, sleep", 0},
    {"no-os-load", KEY_NO_OS, NULL, 0, "not what the operating system counts: user, system", 0},
    {"text", 't', NULL, 0, "columns of numbers, one block after the other", 0},
    {"no-graph", KEY_NO_GRAPH, NULL, 0, "no bars", 0},
    {"no-color", KEY_NO_COLOR, NULL, 0, "no colors", 0},
    {"no-sort", KEY_NO_SORT, NULL, 0, "in the order of thread numbers, not the busiest first", 0},
    {0},
};

static error_t read_option(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;

    switch (key) {
    case 'n':
        settings->node = (uint32_t)tool_number(argument, 1, 255, "--node-id", state);
        return 0;
    case 's':
        settings->sleep_s = (uint32_t)tool_number(argument, 1, 3600, "--sleep-time", state);
        return 0;
    case KEY_COUNT:
        settings->count = (uint32_t)tool_number(argument, 0, 1000000000, "--count", state);
        return 0;
    case 'm':
        settings->measured = true;
        return 0;
    case KEY_NO_OS:
        settings->os = false;
        return 0;
    case 't':
        settings->text = true;
        return 0;
    case KEY_NO_GRAPH:
        settings->graph = false;
        return 0;
    case KEY_NO_COLOR:
        settings->color = false;
        return 0;
    case KEY_NO_SORT:
        settings->sort = false;
        return 0;
    case ARGP_KEY_END:
        if (!settings->os && !settings->measured)
            argp_error(state, "--no-os-load leaves nothing to show without --measured-load");
        return 0;
    default:
        return tool_option(key, argument, state);
    }
}

/* ---- Printing ---- */

static void print_numbers(const struct settings *settings, const struct top_use *use)
{
    bool rest = use->number == TOP_REST;

    if (settings->os) printf(" %6.1f %6.1f", use->user, use->system);
    if (settings->os && !rest) printf(" %6.1f", use->idle);
    if (settings->measured && !rest) printf(" %6.1f %6.1f %6.1f", use->work, use->spin, use->sleep);
}

static void print_heading(const struct settings *settings, uint32_t node, const struct top *top)
{
    char clock[16];
    struct tm parts;
    time_t now = time(NULL);

    (void)strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &parts));
    printf("ndb_top: node %u, %s, %.1f %% of one CPU in all\n", node, clock, top->all);
    printf("%3s %-8s", "thr", "name");
    if (settings->os) printf(" %6s %6s %6s", "user%", "sys%", "idle%");
    if (settings->measured) printf(" %6s %6s %6s", "work%", "spin%", "sleep%");
    (void)putchar('\n');
}

static int terminal_columns(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return COLUMNS_ELSE;
}

/* Threads that fit on the screen; what is behind the last line would push the first ones out. */
static uint32_t shown(const struct top *top)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return top->count;
    return top_shown(top, size.ws_row, HEAD_LINES + 1); /* The cursor stands in a line, too. */
}

/* User and system, or work and spinning, side by side. */
static void print_bar(const struct settings *settings, const struct top_use *use, int width)
{
    double first = settings->os ? use->user : use->work;
    double second = settings->os ? use->system : use->spin;
    int a = (int)(first * width / 100 + 0.5);
    int b = (int)(second * width / 100 + 0.5);

    if (a > width) a = width;
    if (a + b > width) b = width - a;
    printf(" [%s%.*s%s%.*s%s%*s]", settings->color ? "\x1b[32m" : "", a,
           "||||||||||||||||||||||||||||||||||||||||||||||||||||||||||||",
           settings->color ? "\x1b[31m" : "", b,
           "############################################################",
           settings->color ? "\x1b[0m" : "", width - a - b, "");
}

static int bar_width(const struct settings *settings)
{
    int used = 12 + (settings->os ? 21 : 0) + (settings->measured ? 21 : 0) + 4;
    int width = terminal_columns() - used;

    return width < BAR_MIN ? 0 : width > BAR_MAX ? BAR_MAX : width;
}

static void print_top(const struct settings *settings, uint32_t node, const struct top *top)
{
    bool screen = !settings->text && isatty(STDOUT_FILENO);
    int width = settings->graph && screen ? bar_width(settings) : 0;
    uint32_t count = screen ? shown(top) : top->count;

    if (screen) printf("\x1b[H\x1b[2J");
    print_heading(settings, node, top);
    for (uint32_t i = 0; i < count; i++) {
        const struct top_use *use = &top->use[i];
        if (use->number == TOP_REST)
            printf("%3s %-8s", "-", "others");
        else
            printf("%3u %-8s", use->number, use->name);
        print_numbers(settings, use);
        if (width > 0 && use->number != TOP_REST) print_bar(settings, use, width);
        (void)putchar('\n');
    }
    if (count < top->count) printf("%u more\n", top->count - count);
    if (!screen) (void)putchar('\n');
    (void)fflush(stdout);
}

/* One line for each look, so that a reader need not wait for the end. */
static void print_json(uint32_t node, const struct top *top)
{
    cJSON *object = cJSON_CreateObject();
    cJSON *threads = cJSON_CreateArray();

    cJSON_AddNumberToObject(object, "node", node);
    cJSON_AddNumberToObject(object, "time", (double)time(NULL));
    cJSON_AddNumberToObject(object, "elapsed_us", (double)top->elapsed_us);
    cJSON_AddNumberToObject(object, "cpu", top->all);
    for (uint32_t i = 0; i < top->count; i++) {
        const struct top_use *use = &top->use[i];
        cJSON *thread = cJSON_CreateObject();
        if (use->number != TOP_REST) cJSON_AddNumberToObject(thread, "thread", use->number);
        cJSON_AddStringToObject(thread, "name", use->number == TOP_REST ? "others" : use->name);
        cJSON_AddNumberToObject(thread, "user", use->user);
        cJSON_AddNumberToObject(thread, "system", use->system);
        if (use->number != TOP_REST) {
            cJSON_AddNumberToObject(thread, "work", use->work);
            cJSON_AddNumberToObject(thread, "spin", use->spin);
            cJSON_AddNumberToObject(thread, "sleep", use->sleep);
        }
        cJSON_AddItemToArray(threads, thread);
    }
    cJSON_AddItemToObject(object, "threads", threads);
    char *text = cJSON_PrintUnformatted(object);
    if (text != NULL) (void)puts(text);
    (void)fflush(stdout);
    free(text);
    cJSON_Delete(object);
}

/* ---- Asking ---- */

static bool say_error(ndb_mgm_handle_t *mgm)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "%d: %s\n", ndb_mgm_error_code(mgm), ndb_mgm_error_text(mgm));
    return false;
}

/* A node's figures, and when they were asked for and there: the node's clock was read between. */
struct look {
    struct ndb_mgm_threads report;
    uint64_t asked_us, answered_us;
};

static uint64_t now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* A call without an answer. One that was given up has taken the connection with it; a server that
 * answers on a new one is not who was silent. False: the reason is printed. */
static bool say_lost(const struct settings *settings, ndb_mgm_handle_t *mgm, uint32_t node,
                     uint64_t waited_us)
{
    static struct ndb_mgm_cluster_state cluster;

    if (ndb_mgm_is_connected(mgm) || waited_us < REACH_CALL_MS * 1000) return say_error(mgm);
    if (!tool_connect_mgm(&settings->tool, mgm, 0)) return false;
    if (ndb_mgm_get_status(mgm, &cluster) != 0) return say_error(mgm);
    (void)fflush(stdout);
    (void)fprintf(stderr, "Node %u does not answer\n", node);
    return false;
}

/* False: the reason is printed. */
static bool ask(const struct settings *settings, ndb_mgm_handle_t *mgm, uint32_t node,
                struct look *look)
{
    wait_told_for(settings->wait, "node %u's answer", node);
    look->asked_us = now_us();
    int count = ndb_mgm_report_threads(mgm, node, &look->report, 1);
    look->answered_us = now_us();
    wait_told_for(settings->wait, "%s", "");
    if (count < 0) return say_lost(settings, mgm, node, look->answered_us - look->asked_us);
    if (count == 1 && look->report.node_id == node && look->report.error == 0) return true;
    (void)fflush(stdout);
    if (count == 1 && look->report.error != 0 && look->report.error != ERR_MGM_SEND)
        (void)fprintf(stderr, "Node %u: %s\n", node,
                      ndb_mgm_error_message((int)look->report.error));
    else
        (void)fprintf(stderr, "Node %u does not answer\n", node);
    return false;
}

/* The first of the nodes that are started and that answers, with its figures. 0: the reason is
 * printed. */
static uint32_t find_node(const struct settings *settings, ndb_mgm_handle_t *mgm, struct look *look)
{
    static struct ndb_mgm_cluster_state cluster;
    bool asked = false;

    if (ndb_mgm_get_status(mgm, &cluster) != 0) {
        (void)say_error(mgm);
        return 0;
    }
    for (uint32_t i = 0; i < cluster.count; i++) {
        const struct ndb_mgm_node_state *node = &cluster.nodes[i];
        if (node->type != NDB_MGM_NODE_NDB || node->status != NDB_MGM_STATUS_STARTED) continue;
        if (ask(settings, mgm, node->node_id, look)) return node->node_id;
        if (!ndb_mgm_is_connected(mgm) && !tool_connect_mgm(&settings->tool, mgm, NDB_NO_TIMEOUT))
            return 0;
        asked = true;
    }
    if (!asked)
        (void)fprintf(stderr, "No data node is started. 'ndb_mgm -e SHOW' tells what they do.\n");
    return 0;
}

static void print(const struct settings *settings, uint32_t node, const struct top *top)
{
    if (settings->tool.format == TOOL_JSON)
        print_json(node, top);
    else
        print_top(settings, node, top);
}

static enum top_sort order(const struct settings *settings)
{
    if (!settings->sort) return TOP_BY_NUMBER;
    return settings->os ? TOP_BY_CPU : TOP_BY_WORK;
}

static int watch(const struct settings *settings, ndb_mgm_handle_t *mgm, const sigset_t *signals)
{
    static struct look before, now;
    static struct top top;
    const struct timespec pause = {.tv_sec = settings->sleep_s};
    uint32_t node = settings->node;

    if (node == 0) node = find_node(settings, mgm, &before);
    if (node == 0) return TOOL_FAILED;
    if (settings->node != 0 && !ask(settings, mgm, node, &before)) return TOOL_FAILED;
    for (uint32_t i = 0; settings->count == 0 || i < settings->count; i++) {
        (void)nanosleep(&pause, NULL);
        if (!ask(settings, mgm, node, &now)) return TOOL_FAILED;
        top_compare(&before.report, &now.report, now.asked_us - before.answered_us, order(settings),
                    &top);
        (void)pthread_sigmask(SIG_BLOCK, signals, NULL); /* What is printed is whole. */
        print(settings, node, &top);
        (void)pthread_sigmask(SIG_UNBLOCK, signals, NULL);
        if (ferror(stdout)) return TOOL_FAILED;
        before = now;
    }
    return TOOL_OK;
}

/* At once, wherever it is: there is nothing to be put in order. */
static void end(int number)
{
    (void)number;
    _exit(TOOL_OK);
}

static int run(void *context, ndb_mgm_handle_t *mgm)
{
    struct settings *settings = context;
    struct sigaction action = {.sa_handler = end};
    sigset_t signals;

    if (!isatty(STDOUT_FILENO)) settings->color = false;
    if (!tool_connect_mgm(&settings->tool, mgm, NDB_NO_TIMEOUT)) return TOOL_FAILED;
    (void)sigaction(SIGINT, &action, NULL); /* Before it was connected it has shown nothing. */
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    settings->wait = wait_told_begin(settings->tool.name);
    int code = watch(settings, mgm, &signals);
    wait_told_end(settings->wait);
    return code;
}

int main(int argc, char **argv)
{
    static const struct tool_program program = {.name = "ndb_top",
                                                .doc = "Shows what the threads of a data node do, "
                                                       "in percent of the time between two looks.",
                                                .options = options,
                                                .option = read_option,
                                                .ask = run};
    struct settings settings = {
        .sleep_s = 1, .os = true, .color = true, .graph = true, .sort = true};

    return tool_main(&program, &settings, argc, argv);
}
