/* layout.c -- the map from block instances to threads. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "ndbmtd/layout.h"
#include <stdio.h>
#include "mgmd/thread_config.h"

static_assert(2u + LDM_COUNT_MAX + TC_COUNT_MAX + 1u <= THREADS_MAX,
              "the largest layout fits a node");

enum { THREAD_MAIN = 0, THREAD_REP = 1, THREAD_LDM_FIRST = 2 };

uint32_t layout_split_threads(uint32_t ldm_count, uint32_t tc_count)
{
    return THREAD_LDM_FIRST + ldm_count + tc_count + 1u;
}

enum thread_role layout_role(const struct node_config *config, uint32_t thread_no)
{
    if (config->thread_count == 1) return ROLE_ALL;
    if (thread_no == THREAD_MAIN) return ROLE_MAIN;
    if (thread_no == THREAD_REP) return ROLE_REP;
    if (thread_no < THREAD_LDM_FIRST + config->ldm_count) return ROLE_LDM;
    if (thread_no + 1 < config->thread_count) return ROLE_TC;
    return ROLE_RECV;
}

const char *layout_role_name(enum thread_role role)
{
    static const char *const names[] = {"all", "main", "rep", "ldm", "tc", "recv"};
    return names[role];
}

uint32_t layout_socket_thread(const struct node_config *config)
{
    return config->thread_count - 1;
}

uint32_t layout_thread_of(const struct node_config *config, uint32_t block_no, uint32_t instance)
{
    if (config->thread_count == 1) return 0;
    switch (block_no) {
    case BLOCK_DBLQH:
    case BLOCK_DBACC:
    case BLOCK_DBTUP:
    case BLOCK_DBTUX:
    case BLOCK_BACKUP:
    case BLOCK_RESTORE:
        return THREAD_LDM_FIRST + instance - 1;
    case BLOCK_DBTC:
        return THREAD_LDM_FIRST + config->ldm_count + instance - 1;
    case BLOCK_CMVMI: /* Reports and events must not wait behind schema changes. */
        return THREAD_REP;
    default:
        return THREAD_MAIN;
    }
}

void layout_automatic(struct node_config *config, uint32_t cpus)
{
    if (cpus <= 2) {
        config->thread_count = 1;
        config->ldm_count = 1;
        config->tc_count = 1;
        return;
    }
    /* Half of what is left beside main+rep and recv goes to rows, a quarter to coordination. */
    uint32_t ldm = cpus / 2;
    uint32_t tc = cpus / 4;
    config->ldm_count = ldm > LDM_COUNT_MAX ? LDM_COUNT_MAX : ldm;
    config->tc_count = tc == 0 ? 1 : tc > TC_COUNT_MAX ? TC_COUNT_MAX : tc;
    config->thread_count = layout_split_threads(config->ldm_count, config->tc_count);
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
    uint32_t ldm = threads.counts[THREAD_KIND_LDM];
    uint32_t tc = threads.counts[THREAD_KIND_TC];
    uint32_t recv = threads.counts[THREAD_KIND_RECV];
    if (ldm > LDM_COUNT_MAX || tc > TC_COUNT_MAX) {
        snprintf(why, why_size, "ldm count 0..%u and tc count 0..%u are allowed", LDM_COUNT_MAX,
                 TC_COUNT_MAX);
        return -1;
    }
    if (recv > 1) {
        snprintf(why, why_size, "one recv thread is allowed: it owns all sockets of the node");
        return -1;
    }
    if (ldm == 0 && tc == 0) { /* As ndbd: everything in the one receive thread. */
        config->thread_count = config->ldm_count = config->tc_count = 1;
        return 0;
    }
    config->ldm_count = ldm == 0 ? 1 : ldm;
    config->tc_count = tc == 0 ? 1 : tc;
    config->thread_count = layout_split_threads(config->ldm_count, config->tc_count);
    return 0;
}
