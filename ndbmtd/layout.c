/* layout.c -- the map from block instances to threads. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "ndbmtd/layout.h"
#include <stdio.h>
#include "config/thread_config.h"

static_assert(2u + LDM_COUNT_MAX + TC_COUNT_MAX + RECV_COUNT_MAX <= THREADS_MAX,
              "the largest layout fits a node");

enum { THREAD_MAIN = 0, THREAD_REP = 1, THREAD_LDM_FIRST = 2 };

uint32_t layout_split_threads(uint32_t ldm_count, uint32_t tc_count)
{
    return THREAD_LDM_FIRST + ldm_count + tc_count + 1u;
}

uint32_t layout_workers(const struct node_config *config)
{
    return config->thread_count + config->send_count;
}

uint32_t layout_recv_count(const struct node_config *config)
{
    if (config->thread_count == 1) return 1;
    return config->thread_count + 1u - layout_split_threads(config->ldm_count, config->tc_count);
}

uint32_t layout_socket_thread(const struct node_config *config)
{
    return config->thread_count - layout_recv_count(config);
}

uint32_t layout_link_thread(const struct node_config *config, uint32_t peer)
{
    return layout_socket_thread(config) + peer % layout_recv_count(config);
}

uint32_t layout_writer_thread(const struct node_config *config, uint32_t peer)
{
    if (config->send_count == 0) return layout_link_thread(config, peer);
    return config->thread_count + peer % config->send_count;
}

enum thread_role layout_role(const struct node_config *config, uint32_t thread_no)
{
    if (thread_no >= config->thread_count) return ROLE_SEND;
    if (config->thread_count == 1) return ROLE_ALL;
    if (thread_no == THREAD_MAIN) return ROLE_MAIN;
    if (thread_no == THREAD_REP) return ROLE_REP;
    if (thread_no < THREAD_LDM_FIRST + config->ldm_count) return ROLE_LDM;
    if (thread_no < layout_socket_thread(config)) return ROLE_TC;
    return ROLE_RECV;
}

const char *layout_role_name(enum thread_role role)
{
    static const char *const names[] = {"all", "main", "rep", "ldm", "tc", "recv", "send"};
    return names[role];
}

uint32_t layout_thread_of(const struct node_config *config, uint32_t block_no, uint32_t instance)
{
    if (config->thread_count == 1) return 0;
    switch (block_no) {
    case BLOCK_DBLQH:
    case BLOCK_DBACC:
    case BLOCK_DBTUP:
    case BLOCK_DBTUX:
    case BLOCK_LCPWRITER:
    case BLOCK_LCPREADER:
        return THREAD_LDM_FIRST + instance - 1;
    case BLOCK_DBTC:
        return THREAD_LDM_FIRST + config->ldm_count + instance - 1;
    case BLOCK_CMVMI: /* Reports and events must not wait behind schema changes. */
        return THREAD_REP;
    default:
        return THREAD_MAIN;
    }
}

/* --- How many of each. --- */

/* Threads of each kind from so many CPUs, or threads, on. */
struct share {
    uint16_t from;
    uint8_t ldm;
    uint8_t tc;
    uint8_t send;
    uint8_t recv;
};

/* Shares by CPUs. What the field splits into LDM and query threads is all LDM here. */
static const struct share by_cpus[] = {
    {3, 1, 1, 0, 1},       {4, 2, 1, 0, 1},       {6, 4, 1, 0, 1},       {8, 4, 1, 1, 1},
    {10, 6, 1, 1, 1},      {12, 6, 2, 1, 1},      {14, 8, 2, 1, 1},      {16, 8, 2, 2, 2},
    {18, 10, 2, 2, 2},     {20, 10, 3, 2, 3},     {22, 12, 3, 2, 3},     {24, 12, 4, 3, 3},
    {26, 14, 4, 3, 3},     {28, 16, 4, 3, 3},     {30, 16, 5, 3, 4},     {32, 18, 5, 3, 4},
    {36, 20, 6, 4, 4},     {40, 24, 6, 4, 4},     {44, 24, 8, 4, 4},     {48, 24, 8, 5, 5},
    {56, 24, 9, 5, 6},     {64, 24, 10, 6, 6},    {72, 24, 12, 7, 7},    {80, 24, 12, 8, 8},
    {88, 24, 14, 9, 9},    {96, 24, 15, 9, 10},   {104, 24, 16, 10, 10}, {112, 24, 17, 10, 11},
    {120, 24, 18, 11, 11}, {128, 24, 19, 11, 12},
};

/* Shares by MaxNoOfExecutionThreads. TC has a thread of its own from the beginning. */
static const struct share by_limit[] = {
    {4, 2, 1, 0, 1},    {7, 4, 1, 0, 1},     {9, 4, 2, 0, 1},    {10, 4, 2, 1, 1},
    {11, 4, 3, 1, 1},   {12, 6, 2, 1, 1},    {13, 6, 3, 1, 1},   {14, 6, 3, 1, 2},
    {15, 6, 3, 2, 2},   {16, 8, 3, 1, 2},    {17, 8, 4, 1, 2},   {18, 8, 4, 2, 2},
    {19, 8, 5, 2, 2},   {20, 10, 4, 2, 2},   {21, 10, 5, 2, 2},  {22, 10, 5, 2, 3},
    {23, 10, 6, 2, 3},  {24, 12, 5, 2, 3},   {28, 12, 7, 3, 4},  {32, 16, 7, 4, 3},
    {36, 16, 10, 4, 4}, {40, 20, 10, 4, 4},  {44, 20, 12, 5, 5}, {48, 24, 11, 6, 5},
    {52, 24, 14, 6, 6}, {56, 24, 17, 6, 7},  {60, 24, 18, 8, 8}, {64, 24, 15, 8, 7},
    {68, 24, 18, 8, 8}, {72, 24, 20, 8, 10},
};

static void set_one_thread(struct node_config *config)
{
    config->thread_count = config->ldm_count = config->tc_count = 1;
    config->send_count = 0;
}

static void set_share(struct node_config *config, const struct share *table, size_t rows,
                      uint32_t number)
{
    if (number < table[0].from) {
        set_one_thread(config);
        return;
    }
    while (table[rows - 1].from > number)
        rows--;
    const struct share *share = &table[rows - 1];
    config->ldm_count = share->ldm;
    config->tc_count = share->tc;
    config->send_count = share->send;
    config->thread_count = layout_split_threads(share->ldm, share->tc) - 1u + share->recv;
}

void layout_automatic(struct node_config *config, uint32_t cpus)
{
    uint32_t used = cpus - cpus / 10u; /* The rest is for the system and the file threads. */
    set_share(config, by_cpus, sizeof by_cpus / sizeof by_cpus[0], used);
}

void layout_from_limit(struct node_config *config, uint32_t threads)
{
    set_share(config, by_limit, sizeof by_limit / sizeof by_limit[0], threads);
}

/* What ThreadConfig allows in general is checked by its parser; these are the node's limits. */
static int check_counts(const uint32_t *counts, char *why, size_t why_size)
{
    if (counts[THREAD_KIND_LDM] > LDM_COUNT_MAX || counts[THREAD_KIND_TC] > TC_COUNT_MAX) {
        snprintf(why, why_size, "ldm count 0..%u and tc count 0..%u are allowed", LDM_COUNT_MAX,
                 TC_COUNT_MAX);
        return -1;
    }
    if (counts[THREAD_KIND_RECV] > RECV_COUNT_MAX || counts[THREAD_KIND_SEND] > SEND_COUNT_MAX) {
        snprintf(why, why_size, "recv count 1..%u and send count 0..%u are allowed", RECV_COUNT_MAX,
                 SEND_COUNT_MAX);
        return -1;
    }
    if (counts[THREAD_KIND_LDM] + counts[THREAD_KIND_TC] == 0 && counts[THREAD_KIND_RECV] > 1) {
        snprintf(why, why_size,
                 "recv count 1 is allowed without ldm and tc threads: it runs everything");
        return -1;
    }
    return 0;
}

int layout_from_text(struct node_config *config, const char *text, uint32_t cpus, char *why,
                     size_t why_size)
{
    if (text == NULL || text[0] == '\0') {
        layout_automatic(config, cpus);
        return 0;
    }
    struct thread_config threads;
    if (thread_config_parse(text, &threads, why, why_size) != 0) return -1;
    if (check_counts(threads.counts, why, why_size) != 0) return -1;
    uint32_t ldm = threads.counts[THREAD_KIND_LDM];
    uint32_t tc = threads.counts[THREAD_KIND_TC];
    set_one_thread(config); /* Everything is in the one receive thread, as in ndbd. */
    config->send_count = threads.counts[THREAD_KIND_SEND];
    if (ldm == 0 && tc == 0) return 0;
    config->ldm_count = ldm == 0 ? 1 : ldm;
    config->tc_count = tc == 0 ? 1 : tc;
    config->thread_count = layout_split_threads(config->ldm_count, config->tc_count) - 1u +
                           threads.counts[THREAD_KIND_RECV];
    return 0;
}
