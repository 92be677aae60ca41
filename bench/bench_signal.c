/* bench_signal.c -- nanoseconds per signal: in one thread, and between two threads. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "kernel/node.h"

/*
 * `one`: two blocks of one thread send each other a signal of 7 words, 100 under way. `two`: the
 * blocks live in two threads, each on a CPU of its own; 16 signals share a flush, and so many are
 * under way that neither waits for the other.
 */
#define WINDOW_S    0.0005
#define WINDOWS_MAX 100000u

struct hop {
    uint32_t word[7];
};
SIGNAL_STRUCT(hop, 7);
#define GSN_HOP          500
#define HOP_SECTIONS_MIN 0
#define HOP_SECTIONS_MAX 0
#define HOP_FROM         FROM_SELF

struct hopper {
    struct block block;
    uint32_t to;
    uint64_t count;
};

static void hop_exec_HOP(struct block *block, const struct signal *sig)
{
    struct hopper *hopper = (struct hopper *)block;
    struct hop next = *SIG_PAYLOAD(sig, hop);
    jam();
    hopper->count++;
    next.word[0]++;
    sig_send(block, hopper->to, GSN_HOP, PRIO_B, &next);
}

static const struct handler hop_handlers[] = {HANDLER(hop, HOP, hop)};
static const struct block_type type_a = {"A", BLOCK_DBTC, hop_handlers, 1, NULL};
static const struct block_type type_b = {"B", BLOCK_DBLQH, hop_handlers, 1, NULL};

static void no_wake(struct host *host, uint32_t thread_no)
{
    (void)host;
    (void)thread_no;
}

static uint64_t one_seed(struct host *host)
{
    (void)host;
    return 1;
}

static void bench_fail(struct host *host, const struct node_failure *failure)
{
    (void)host;
    fprintf(stderr, "node failed: %s\n", failure->text);
    exit(1);
}

static const char *no_name(uint32_t gsn)
{
    (void)gsn;
    return "HOP";
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static volatile int stop;

/* The CPU number `no`, if there are so many: two threads on one CPU would only wait for each other.
 */
static void pin(uint32_t no)
{
    cpu_set_t all;
    CPU_ZERO(&all);
    if (sched_getaffinity(0, sizeof all, &all) != 0 || (uint32_t)CPU_COUNT(&all) <= no) return;
    for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &all) || no-- != 0) continue;
        CPU_ZERO(&all);
        CPU_SET(cpu, &all);
        pthread_setaffinity_np(pthread_self(), sizeof all, &all);
        return;
    }
}

static void *run_thread(void *argument)
{
    pin(1);
    while (!stop)
        thread_run_once(argument, 1, 512);
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y ? 1 : 0;
}

/* The median over short windows: when the machine does something else for a while, that window is
 * an outlier. */
static double run_windows(struct thread *thread, const struct hopper *a, double run_s)
{
    static double ns[WINDOWS_MAX];
    uint32_t windows = 0;
    double begin = seconds();
    double now = begin;
    while (now - begin < run_s && windows < WINDOWS_MAX) {
        double start = now;
        uint64_t count = a->count;
        while (now - start < WINDOW_S) {
            for (int i = 0; i < 20; i++)
                thread_run_once(thread, 1, 512);
            now = seconds();
        }
        if (a->count > count) ns[windows++] = (now - start) * 1e9 / (double)(a->count - count);
    }
    qsort(ns, windows, sizeof ns[0], by_value);
    return ns[windows / 2];
}

static double measure(uint32_t threads, uint32_t under_way, double run_s)
{
    struct host host = {
        .wake = no_wake, .seed = one_seed, .fail = (__typeof__(host.fail))bench_fail};
    struct node_config config = {.own_node = 1};
    node_config_defaults(&config);
    config.thread_count = threads;
    struct node_options options = {.host = &host, .gsn_name = no_name};
    struct node *node = node_create(&config, &options);
    struct hopper *a = (struct hopper *)block_create(node_thread(node, 0), &type_a, 1, sizeof *a);
    struct hopper *b =
        (struct hopper *)block_create(node_thread(node, threads - 1), &type_b, 1, sizeof *b);
    a->to = b->block.ref;
    b->to = a->block.ref;
    struct hop first;
    memset(&first, 0, sizeof first);
    for (uint32_t i = 0; i < under_way; i++)
        sig_send(&a->block, b->block.ref, GSN_HOP, PRIO_B, &first);
    stop = 0;
    pthread_t other;
    if (threads == 2) pthread_create(&other, NULL, run_thread, node_thread(node, 1));
    pin(0); /* After that: the other thread inherits where it may run. */
    double ns = run_windows(node_thread(node, 0), a, run_s);
    stop = 1;
    if (threads == 2) pthread_join(other, NULL);
    node_destroy(node);
    /* One thread runs both blocks. Of two, each receives and sends one signal in this time. */
    return threads == 2 ? ns : ns / 2;
}

int main(int argc, char **argv)
{
    double run_s = argc > 1 ? atof(argv[1]) : 0.5;
    printf("two %.1f\n", measure(2, 2048, run_s));
    printf("one %.1f\n", measure(1, 100, run_s));
    return 0;
}
