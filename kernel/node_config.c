/* node_config.c -- defaults of a node's limits and times. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "kernel/node_config.h"
#include <string.h>
#include "kernel/limits.h"

/* More nodes in a group than there are replicas: it cannot be meant. */
static bool groups_configured(const struct node_config *config)
{
    uint32_t count[NODE_ID_MAX + 1];
    memset(count, 0, sizeof(count));
    for (uint32_t node = 1; node <= NODE_ID_MAX; node++) {
        uint32_t group = config->node[node].nodegroup;
        if (config->node[node].type != NODE_DATA || group == NODEGROUP_NONE) continue;
        if (group > NODE_ID_MAX || ++count[group] > config->replicas) return false;
    }
    return true;
}

uint32_t node_config_groups(const struct node_config *config, uint32_t group_of[NODE_ID_MAX + 1])
{
    uint32_t number[NODE_ID_MAX + 1]; /* 1 + dense number of a configured group. */
    uint32_t groups = 0;
    uint32_t filled = 0;
    bool configured = groups_configured(config);
    memset(number, 0, sizeof(number));
    group_of[0] = NODEGROUP_NONE;
    for (uint32_t node = 1; node <= NODE_ID_MAX; node++) {
        uint32_t id = config->node[node].nodegroup;
        group_of[node] = NODEGROUP_NONE;
        if (config->node[node].type != NODE_DATA || id == NODEGROUP_NONE) continue;
        if (!configured) id = filled++ / config->replicas;
        if (number[id] == 0) number[id] = ++groups;
        group_of[node] = number[id] - 1;
    }
    return groups;
}

#define PAGES_PER_MB (1024u * 1024u / PAGE_SIZE_BYTES)

void node_config_defaults(struct node_config *config)
{
    config->replicas = 2;
    config->thread_count = 1;
    config->ldm_count = 1;
    config->tc_count = 1;
    config->heartbeat_db_db_ms = 5000;
    config->heartbeat_db_api_ms = 1500;
    config->arbitration = ARBITRATION_DEFAULT;
    config->arbitration_timeout_ms = 7500;
    config->deadlock_timeout_ms = 1200;
    config->inactive_timeout_ms = 0;
    config->start_partial_timeout_ms = 30000;
    config->epoch_ms = 100;
    config->gci_ms = 2000;
    config->gci_timeout_ms = 120000;
    config->lcp_growth_log2 = 20;
    config->lcp_speed_min_kb = 20u * 1024u;
    config->lcp_speed_max_kb = 400u * 1024u;
    config->diskless = 1;
    config->memory.pages_max[RG_DATA] = 98 * PAGES_PER_MB;
    config->memory.pages_max[RG_TRANSACTION] = 64 * PAGES_PER_MB;
    config->memory.pages_max[RG_SEND_BUFFER] = 32 * PAGES_PER_MB;
    config->memory.pages_max[RG_SCHEMA] = 32 * PAGES_PER_MB;
    config->memory.pages_max[RG_NODE] = 16 * PAGES_PER_MB;
    config->transactions_max = 4096;
    config->operations_max = 256 * 1024;
    config->changes_max = UINT32_MAX;
    config->scans_max = 256;
    config->frag_scans_max = 4096;
    config->tables_max = 512;
    config->batch_rows = 256;
    config->batch_bytes = 16384;
    config->scan_step_rows = 64;
    config->redo_files = 16;
    config->redo_file_bytes = 16u * 1024u * 1024u;
    config->redo_buffer_bytes = 8u * 1024u * 1024u;
    config->redo_zero = 1;
    config->open_files_max = 1024;
    config->file_requests_max = 2048;
    config->file_queue_max = 128;
    config->job_queue_words = JOB_QUEUE_WORDS_DEFAULT;
    config->job_queue_signals = JOB_QUEUE_SIGNALS_DEFAULT;
    config->overflow_segments = OVERFLOW_SEGMENTS_DEFAULT;
    config->delayed_max = DELAYED_DEFAULT;
    config->flush_words = FLUSH_WORDS_DEFAULT;
}
