/* configure.c -- turns the cluster's configuration into what this node's kernel is told. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include <unistd.h>
#include "kernel/base/pool.h"
#include "ndbmtd/process.h"

static uint32_t pages(uint64_t bytes)
{
    uint64_t count = (bytes + PAGE_SIZE_BYTES - 1) / PAGE_SIZE_BYTES;
    return count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
}

static uint64_t machine_memory(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool same_host(const char *one, const char *other)
{
    bool one_local = strcmp(one, "localhost") == 0 || strncmp(one, "127.", 4) == 0;
    bool other_local = strcmp(other, "localhost") == 0 || strncmp(other, "127.", 4) == 0;
    return (one_local && other_local) || strcmp(one, other) == 0;
}

/* Data nodes configured on the same host share its memory. */
static uint32_t nodes_on_host(const struct process *process)
{
    const struct config_section *own = config_node(process->cluster, process->config.own_node);
    const char *host = config_get_text(own, CFG_NDBD_HostName);
    uint32_t count = 0;
    for (const struct config_section *node = config_next_node(process->cluster, 0, CONFIG_NDBD);
         node != NULL;
         node = config_next_node(process->cluster, config_section_node(node), CONFIG_NDBD))
        count += same_host(config_get_text(node, CFG_NDBD_HostName), host) ? 1u : 0u;
    return count == 0 ? 1 : count;
}

/* DataMemory as configured; when it is not, 60 % of the machine shared by the data nodes on it. */
static uint64_t data_memory(const struct process *process, const struct config_section *own)
{
    if (config_is_set(own, CFG_NDBD_DataMemory)) return config_get_u64(own, CFG_NDBD_DataMemory);
    return machine_memory() / 10u * 6u / nodes_on_host(process);
}

static void configure_memory(struct process *process, const struct config_section *own)
{
    struct arena_limits *memory = &process->config.memory;
    uint64_t data = data_memory(process, own);
    uint64_t transaction = config_get_u64(own, CFG_NDBD_TransactionMemory);
    uint64_t send = config_get_u64(own, CFG_NDBD_TotalSendBufferMemory);
    if (transaction == 0) transaction = CFG_MB(64) + data / 16u;
    memory->pages_max[RG_DATA] = pages(data);
    memory->pages_max[RG_TRANSACTION] = pages(transaction);
    memory->pages_max[RG_SCHEMA] = pages(config_get_u64(own, CFG_NDBD_SharedGlobalMemory));
    if (send != 0) memory->pages_max[RG_SEND_BUFFER] = pages(send);
}

static void configure_nodes(struct process *process)
{
    for (const struct config_section *node = config_next_node(process->cluster, 0, CONFIG_NONE);
         node != NULL;
         node = config_next_node(process->cluster, config_section_node(node), CONFIG_NONE)) {
        struct config_node *to = &process->config.node[config_section_node(node)];
        enum config_kind kind = config_section_kind(node);
        to->type = kind == CONFIG_NDBD ? NODE_DATA : kind == CONFIG_MGMD ? NODE_MGM : NODE_API;
        to->nodegroup = NODEGROUP_NONE;
        if (kind == CONFIG_NDBD) to->nodegroup = (uint32_t)config_get_u64(node, CFG_NDBD_Nodegroup);
    }
}

/* Blocks add such limits up for pools of at most POOL_INDEX_MAX records: no sum may wrap, or be
 * more than an index has. */
static uint32_t records(const struct config_section *own, uint32_t parameter)
{
    uint64_t wanted = config_get_u64(own, parameter);
    return wanted < POOL_INDEX_MAX / 4u ? (uint32_t)wanted : POOL_INDEX_MAX / 4u;
}

static void configure_limits(struct node_config *config, const struct config_section *own)
{
    config->transactions_max = records(own, CFG_NDBD_MaxNoOfConcurrentTransactions);
    config->scans_max = records(own, CFG_NDBD_MaxNoOfConcurrentScans);
    config->tables_max = records(own, CFG_NDBD_MaxNoOfTables);
    /* Operation records come from transaction memory; the parameter is a lid only when somebody
     * sets it. */
    config->operations_max = config_is_set(own, CFG_NDBD_MaxNoOfConcurrentOperations)
                                 ? records(own, CFG_NDBD_MaxNoOfConcurrentOperations)
                                 : 4u * 1024u * 1024u;
    config->frag_scans_max = 65536;
}

/* The machine's CPUs, unless the configuration gives the layout another number to start from. */
static uint32_t cpus_to_use(const struct config_section *own)
{
    uint32_t cpus = (uint32_t)config_get_u64(own, CFG_NDBD_NumCPUs);
    uint32_t threads = (uint32_t)config_get_u64(own, CFG_NDBD_MaxNoOfExecutionThreads);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    if (config_is_set(own, CFG_NDBD_MaxNoOfExecutionThreads) && threads != 0) return threads;
    if (config_get_u64(own, CFG_NDBD_AutomaticThreadConfig) == 0) return 1;
    return cpus != 0 ? cpus : online > 0 ? (uint32_t)online : 1;
}

int configure_node(struct process *process, char *why, size_t why_size)
{
    struct node_config *config = &process->config;
    const struct config_section *own = config_node(process->cluster, config->own_node);
    if (own == NULL || config_section_kind(own) != CONFIG_NDBD) {
        snprintf(why, why_size, "node %u is not a data node of the configuration",
                 config->own_node);
        return -1;
    }
    /* Nothing stays of the configuration that the angel read. */
    *config = (struct node_config){.own_node = config->own_node};
    node_config_defaults(config);
    config->cluster_id = config_cluster_id(process->cluster);
    config->generation = config_generation(process->cluster);
    config->no_start = process->no_start ? 1 : 0;
    config->replicas = (uint32_t)config_get_u64(own, CFG_NDBD_NoOfReplicas);
    config->heartbeat_db_db_ms = (uint32_t)config_get_u64(own, CFG_NDBD_HeartbeatIntervalDbDb);
    config->heartbeat_db_api_ms = (uint32_t)config_get_u64(own, CFG_NDBD_HeartbeatIntervalDbApi);
    config->deadlock_timeout_ms =
        (uint32_t)config_get_u64(own, CFG_NDBD_TransactionDeadlockDetectionTimeout);
    config->inactive_timeout_ms =
        (uint32_t)config_get_u64(own, CFG_NDBD_TransactionInactiveTimeout);
    config->start_partial_timeout_ms = (uint32_t)config_get_u64(own, CFG_NDBD_StartPartialTimeout);
    configure_memory(process, own);
    configure_nodes(process);
    configure_limits(config, own);
    process->spin_ns = config_is_set(own, CFG_NDBD_SchedulerSpinTimer)
                           ? config_get_u64(own, CFG_NDBD_SchedulerSpinTimer) * 1000u
                           : 50000u;
    process->traces_kept = (uint32_t)config_get_u64(own, CFG_NDBD_MaxNoOfSavedMessages);
    if (process->traces_kept == 0) process->traces_kept = 1; /* The last failure is always told. */
    process->realtime = config_get_u64(own, CFG_NDBD_RealtimeScheduler) != 0;
    char reason[200];
    if (layout_from_text(config, config_get_text(own, CFG_NDBD_ThreadConfig), cpus_to_use(own),
                         reason, sizeof reason) == 0 &&
        thread_config_parse(config_get_text(own, CFG_NDBD_ThreadConfig), &process->threads, reason,
                            sizeof reason) == 0)
        return 0;
    snprintf(why, why_size, "ThreadConfig: %s", reason);
    return -1;
}
