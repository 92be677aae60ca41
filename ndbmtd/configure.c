/* configure.c -- turns the cluster's configuration into what this node's kernel is told. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include <unistd.h>
#include "kernel/base/pool.h"
#include "ndb/mgm.h"
#include "ndbmtd/configure.h"
#include "ndbmtd/process.h"

#define REDO_BUFFER_MIN  (256u * 1024u) /* Bytes of each LDM instance. */
#define OPEN_FILES_LIMIT 65536u         /* Open files, each with a record. */

#define SPARE_PAGES_LDM   4u  /* MinFreePct is at least so many pages for each LDM instance. */
#define SPARE_SHARE_LEAST 16u /* That least is not more than this part of DataMemory. */

static uint32_t pages(uint64_t bytes)
{
    uint64_t count = (bytes + PAGE_SIZE_BYTES - 1) / PAGE_SIZE_BYTES;
    return count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
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

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* DataMemory as configured; when it is not, 60 % of the machine shared by the data nodes on it, or
 * of what this process alone is allowed. */
static uint64_t data_memory(const struct process *process, const struct config_section *own)
{
    struct memory_room room;
    if (config_is_set(own, CFG_NDBD_DataMemory)) return config_get_u64(own, CFG_NDBD_DataMemory);
    machine_memory(&room);
    uint64_t share = least(room.machine, room.shared) / nodes_on_host(process);
    return least(share, room.own) / 10u * 6u;
}

/*
 * Of DataMemory only for starts: an index of hashes that grows has other chains, pages are filled
 * in another order. In small memories single pages count, and a start may have a few more per
 * instance.
 */
static uint32_t spare_pages(const struct process *process, const struct config_section *own,
                            uint32_t data)
{
    uint32_t percent = (uint32_t)config_get_u64(own, CFG_NDBD_MinFreePct);
    uint32_t share = (uint32_t)((uint64_t)data * percent / 100u);
    uint32_t least = SPARE_PAGES_LDM * process->config.ldm_count;
    if (least > data / SPARE_SHARE_LEAST) least = data / SPARE_SHARE_LEAST;
    return share > least || percent == 0 ? share : least;
}

/* TransactionMemory as configured, or what suits DataMemory. */
static uint64_t transaction_memory(const struct config_section *own, uint64_t data)
{
    uint64_t transaction = config_get_u64(own, CFG_NDBD_TransactionMemory);
    return transaction != 0 ? transaction : CFG_MB(64) + data / 16u;
}

/* What a node takes when all that is configured in bytes is used. */
static uint64_t whole_memory(const struct process *process, const struct config_section *node)
{
    uint64_t data = data_memory(process, node);
    return data + transaction_memory(node, data) +
           config_get_u64(node, CFG_NDBD_SharedGlobalMemory) +
           config_get_u64(node, CFG_NDBD_TotalSendBufferMemory) +
           config_get_u64(node, CFG_NDBD_RedoBuffer);
}

static void configure_memory(struct process *process, const struct config_section *own)
{
    struct arena_limits *memory = &process->config.memory;
    uint64_t data = data_memory(process, own);
    uint64_t send = config_get_u64(own, CFG_NDBD_TotalSendBufferMemory);
    memory->pages_max[RG_DATA] = pages(data);
    memory->pages_spare[RG_DATA] = spare_pages(process, own, pages(data));
    memory->pages_max[RG_TRANSACTION] = pages(transaction_memory(own, data));
    memory->pages_max[RG_SCHEMA] = pages(config_get_u64(own, CFG_NDBD_SharedGlobalMemory));
    if (send != 0) memory->pages_max[RG_SEND_BUFFER] = pages(send);
}

static unsigned long long megabytes(uint64_t bytes)
{
    return (unsigned long long)(bytes >> 20);
}

/* What all data nodes of this host take when all that is configured is used. */
static uint64_t memory_of_host(const struct process *process, const struct config_section *own)
{
    const char *host = config_get_text(own, CFG_NDBD_HostName);
    uint64_t all = 0;
    for (const struct config_section *node = config_next_node(process->cluster, 0, CONFIG_NDBD);
         node != NULL;
         node = config_next_node(process->cluster, config_section_node(node), CONFIG_NDBD)) {
        if (same_host(config_get_text(node, CFG_NDBD_HostName), host))
            all += whole_memory(process, node);
    }
    return all;
}

int memory_fits(const struct process *process, const struct memory_room *room, char *why,
                size_t why_size)
{
    static const char all_of[] = "(DataMemory, TransactionMemory, SharedGlobalMemory and buffers)";
    const struct config_section *own = config_node(process->cluster, process->config.own_node);
    uint64_t data = data_memory(process, own);
    uint64_t whole = whole_memory(process, own);
    uint64_t all = memory_of_host(process, own);
    struct memory_room here;
    if (room == NULL) machine_memory(&here);
    if (room == NULL) room = &here;
    if (data > room->machine) {
        snprintf(why, why_size,
                 "DataMemory=%lluM is more than this machine has (%lluM of memory): correct it in "
                 "the configuration, or run the node elsewhere",
                 megabytes(data), megabytes(room->machine));
        return -1;
    }
    if (whole > room->own) {
        snprintf(why, why_size,
                 "This node may use %lluM %s, more than its control group allows (%lluM, as its "
                 "service's MemoryMax): the system ends it when that is used up",
                 megabytes(whole), all_of, megabytes(room->own));
        return 1;
    }
    if (all <= least(room->machine, room->shared)) return 0;
    snprintf(why, why_size,
             "The data nodes of this host may use %lluM together %s, more than %s (%lluM of "
             "memory): the system ends them when that is used up",
             megabytes(all), all_of,
             room->shared < room->machine ? "their control group or container allows" : "it has",
             megabytes(least(room->machine, room->shared)));
    return 1;
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
        if (kind == CONFIG_MGMD)
            to->arbitration_rank = (uint32_t)config_get_u64(node, CFG_MGMD_ArbitrationRank);
        if (kind == CONFIG_API)
            to->arbitration_rank = (uint32_t)config_get_u64(node, CFG_API_ArbitrationRank);
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
    config->changes_max = (uint32_t)config_get_u64(own, CFG_NDBD_MaxDMLOperationsPerTransaction);
    config->frag_scans_max = 65536;
}

/* The machine's CPUs, unless the configuration gives the layout another number to start from. */
static uint32_t cpus_to_use(const struct config_section *own)
{
    uint32_t cpus = (uint32_t)config_get_u64(own, CFG_NDBD_NumCPUs);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    if (config_get_u64(own, CFG_NDBD_AutomaticThreadConfig) == 0) return 1;
    return cpus != 0 ? cpus : online > 0 ? (uint32_t)online : 1;
}

/* ThreadConfig, else MaxNoOfExecutionThreads, else the CPUs. */
static int configure_layout(struct process *process, const struct config_section *own, char *why,
                            size_t why_size)
{
    const char *text = config_get_text(own, CFG_NDBD_ThreadConfig);
    uint32_t limit = (uint32_t)config_get_u64(own, CFG_NDBD_MaxNoOfExecutionThreads);
    bool limited = config_is_set(own, CFG_NDBD_MaxNoOfExecutionThreads) && limit != 0;
    if (layout_from_text(&process->config, text, cpus_to_use(own), why, why_size) != 0) return -1;
    if (limited && (text == NULL || text[0] == '\0')) layout_from_limit(&process->config, limit);
    return thread_config_parse(text != NULL ? text : "", &process->threads, why, why_size);
}

static uint32_t kilobytes(const struct config_section *own, uint32_t parameter)
{
    uint64_t kb = config_get_u64(own, parameter) / 1024u;
    return kb > UINT32_MAX ? UINT32_MAX : (uint32_t)kb;
}

/* Checkpoints: one limit alone moves the other one, if that is missing. */
static void configure_speed(struct node_config *config, const struct config_section *own)
{
    uint32_t least = kilobytes(own, CFG_NDBD_MinDiskWriteSpeed);
    uint32_t most = kilobytes(own, CFG_NDBD_MaxDiskWriteSpeed);
    if (least > most && config_is_set(own, CFG_NDBD_MinDiskWriteSpeed)) most = least;
    if (least > most) least = most;
    config->lcp_speed_min_kb = least;
    config->lcp_speed_max_kb = most;
}

static void configure_times(struct node_config *config, const struct config_section *own)
{
    config->survive = config->replicas > 1 ? 1u : 0u; /* With one copy nobody can go on. */
    config->heartbeat_db_db_ms = (uint32_t)config_get_u64(own, CFG_NDBD_HeartbeatIntervalDbDb);
    config->heartbeat_db_api_ms = (uint32_t)config_get_u64(own, CFG_NDBD_HeartbeatIntervalDbApi);
    config->connect_check_ms = (uint32_t)config_get_u64(own, CFG_NDBD_ConnectCheckIntervalDelay);
    config->arbitration = (uint32_t)config_get_u64(own, CFG_NDBD_Arbitration);
    config->arbitration_timeout_ms = (uint32_t)config_get_u64(own, CFG_NDBD_ArbitrationTimeout);
    config->deadlock_timeout_ms =
        (uint32_t)config_get_u64(own, CFG_NDBD_TransactionDeadlockDetectionTimeout);
    config->inactive_timeout_ms =
        (uint32_t)config_get_u64(own, CFG_NDBD_TransactionInactiveTimeout);
    config->start_partial_timeout_ms = (uint32_t)config_get_u64(own, CFG_NDBD_StartPartialTimeout);
    config->start_partitioned_timeout_ms =
        (uint32_t)config_get_u64(own, CFG_NDBD_StartPartitionedTimeout);
    config->start_failure_timeout_ms = (uint32_t)config_get_u64(own, CFG_NDBD_StartFailureTimeout);
    config->epoch_ms = (uint32_t)config_get_u64(own, CFG_NDBD_TimeBetweenEpochs);
    config->gci_ms = (uint32_t)config_get_u64(own, CFG_NDBD_TimeBetweenGlobalCheckpoints);
    config->gci_timeout_ms =
        (uint32_t)config_get_u64(own, CFG_NDBD_TimeBetweenGlobalCheckpointsTimeout);
    config->epoch_timeout_ms = (uint32_t)config_get_u64(own, CFG_NDBD_TimeBetweenEpochsTimeout);
    config->lcp_growth_log2 = (uint32_t)config_get_u64(own, CFG_NDBD_TimeBetweenLocalCheckpoints);
    configure_speed(config, own);
}

/* Files that are open at the same time: all of the redo log, and a few of each LDM and of the node.
 */
static uint32_t files_needed(const struct node_config *config)
{
    return config->ldm_count * (config->redo_files + 8u) + 16u;
}

/* After the layout: the log's memory is shared by the LDM instances. */
static int configure_files(struct node_config *config, const struct config_section *own, char *why,
                           size_t why_size)
{
    uint64_t buffer = config_get_u64(own, CFG_NDBD_RedoBuffer) / config->ldm_count;
    if (buffer < REDO_BUFFER_MIN) buffer = REDO_BUFFER_MIN;
    config->redo_files = (uint32_t)config_get_u64(own, CFG_NDBD_NoOfFragmentLogFiles);
    config->redo_file_bytes = (uint32_t)config_get_u64(own, CFG_NDBD_FragmentLogFileSize);
    config->redo_buffer_bytes = (uint32_t)(buffer / 4096u * 4096u);
    config->redo_zero = (uint32_t)config_get_u64(own, CFG_NDBD_InitFragmentLogFiles);
    if (files_needed(config) > config->open_files_max)
        config->open_files_max = files_needed(config);
    if (!config_is_set(own, CFG_NDBD_MaxNoOfOpenFiles)) return 0;
    uint64_t wanted = config_get_u64(own, CFG_NDBD_MaxNoOfOpenFiles);
    if (wanted < files_needed(config)) {
        snprintf(why, why_size,
                 "MaxNoOfOpenFiles: %u is too few for %u LDM instances with %u redo log files "
                 "each, at least %u are needed",
                 (uint32_t)wanted, config->ldm_count, config->redo_files, files_needed(config));
        return -1;
    }
    config->open_files_max = wanted < OPEN_FILES_LIMIT ? (uint32_t)wanted : OPEN_FILES_LIMIT;
    return 0;
}

static void configure_events(struct node_config *config, const struct config_section *own)
{
    static const struct {
        uint32_t category;
        uint32_t parameter;
    } levels[] = {
        {NDB_MGM_CATEGORY_STARTUP, CFG_NDBD_LogLevelStartup},
        {NDB_MGM_CATEGORY_SHUTDOWN, CFG_NDBD_LogLevelShutdown},
        {NDB_MGM_CATEGORY_STATISTICS, CFG_NDBD_LogLevelStatistic},
        {NDB_MGM_CATEGORY_CHECKPOINT, CFG_NDBD_LogLevelCheckpoint},
        {NDB_MGM_CATEGORY_NODERESTART, CFG_NDBD_LogLevelNodeRestart},
        {NDB_MGM_CATEGORY_CONNECTION, CFG_NDBD_LogLevelConnection},
        {NDB_MGM_CATEGORY_INFO, CFG_NDBD_LogLevelInfo},
        {NDB_MGM_CATEGORY_ERROR, CFG_NDBD_LogLevelError},
        {NDB_MGM_CATEGORY_CONGESTION, CFG_NDBD_LogLevelCongestion},
        {NDB_MGM_CATEGORY_BACKUP, CFG_NDBD_LogLevelBackup},
        {NDB_MGM_CATEGORY_SCHEMA, CFG_NDBD_LogLevelSchema},
    };
    for (uint32_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        config->event_level[levels[i].category - NDB_MGM_CATEGORY_FIRST] =
            (uint32_t)config_get_u64(own, levels[i].parameter);
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
    config->digest = config_content_digest(process->cluster);
    config->fixed = config_fixed_digest(process->cluster);
    config->no_start = process->no_start ? 1 : 0;
    config->replicas = (uint32_t)config_get_u64(own, CFG_NDBD_NoOfReplicas);
    config->diskless = (uint32_t)config_get_u64(own, CFG_NDBD_Diskless);
    config->initial_start = process->initial ? 1 : 0;
    config->accept_data_loss = process->accept_data_loss ? 1 : 0;
    config->stand_aside = process->stand_aside ? 1 : 0;
    configure_times(config, own);
    configure_nodes(process);
    configure_limits(config, own);
    configure_events(config, own);
    process->spin_ns = config_is_set(own, CFG_NDBD_SchedulerSpinTimer)
                           ? config_get_u64(own, CFG_NDBD_SchedulerSpinTimer) * 1000u
                           : SPIN_DEFAULT_NS;
    process->traces_kept = (uint32_t)config_get_u64(own, CFG_NDBD_MaxNoOfSavedMessages);
    if (process->traces_kept == 0) process->traces_kept = 1; /* The last failure is always told. */
    process->realtime = config_get_u64(own, CFG_NDBD_RealtimeScheduler) != 0;
    char reason[200];
    if (configure_layout(process, own, reason, sizeof reason) != 0) {
        snprintf(why, why_size, "ThreadConfig: %s", reason);
        return -1;
    }
    configure_memory(process, own);
    return configure_files(config, own, why, why_size);
}
