/* config_check.c -- the rules between parameters and nodes, and what follows from them. */
/* SPDX-License-Identifier: MIT
 *
 * One function per rule; each goes over the nodes it concerns and adds to the report. The rules
 * also hold for configurations that a program built (the simulator, tests): lines are then 0.
 * Those of hosts, node groups and arbitrators are in config_check_hosts.c.
 */
#include "config/config_check.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "config/log_destination.h"
#include "config/thread_config.h"

static void check_present(struct check *check)
{
    static const enum config_kind kinds[] = {CONFIG_NDBD, CONFIG_MGMD, CONFIG_API};

    for (uint32_t i = 0; i < 3; i++) {
        if (config_count(check->config, kinds[i]) > 0) continue;
        config_report_add(check->report, true, check->file, 0, config_kind_name(kinds[i]), "",
                          "the section is missing: at least one is needed (allowed range 1..%u)",
                          kinds[i] == CONFIG_NDBD ? CONFIG_DATA_NODES_MAX : CONFIG_NODES_MAX);
    }
}

static void complete_directory(struct config_section *node, uint32_t param)
{
    char path[1100];
    const char *value = config_get_text(node, param);
    size_t length = strlen(value);

    if (length == 0 || value[length - 1] == '/') return;
    uint32_t line = config_line(node, param);
    (void)snprintf(path, sizeof(path), "%s/", value);
    if (config_set_text(node, param, path) == 0) config_set_line(node, param, line);
}

static void fill_directories(struct check *check)
{
    FOR_NODES(node, check, CONFIG_NDBD) {
        complete_directory(node, CFG_NDBD_DataDir);
        if (config_get_text(node, CFG_NDBD_FileSystemPath)[0] == '\0') {
            (void)config_set_text(node, CFG_NDBD_FileSystemPath,
                                  config_get_text(node, CFG_NDBD_DataDir));
        }
        complete_directory(node, CFG_NDBD_FileSystemPath);
    }
    FOR_NODES(node, check, CONFIG_MGMD)
        complete_directory(node, CFG_MGMD_DataDir);
}

/* Two data nodes on one host would use one directory; their file names hold the node id, so that is
 * allowed, but two processes on one port are not. */
static void check_ports(struct check *check)
{
    FOR_NODES(node, check, CONFIG_NONE) {
        bool mgm = config_section_kind(node) == CONFIG_MGMD;
        if (config_section_kind(node) == CONFIG_API) continue;
        uint32_t id = mgm ? CFG_MGMD_PortNumber : CFG_NDBD_ServerPort;
        uint64_t port = config_get_u64(node, id);
        if (port == 0) continue;
        FOR_NODES(other, check, CONFIG_NONE) {
            bool other_mgm = config_section_kind(other) == CONFIG_MGMD;
            uint32_t other_id = other_mgm ? CFG_MGMD_PortNumber : CFG_NDBD_ServerPort;
            if (config_section_node(other) >= config_section_node(node)) break;
            if (config_section_kind(other) == CONFIG_API) continue;
            if (config_get_u64(other, other_id) != port) continue;
            if (!config_same_host(config_host_of(node), config_host_of(other))) continue;
            REPORT(check, true, node, id,
                   "port %u on \"%s\" is already used by node %u (allowed: another port, range "
                   "1..65535)",
                   (uint32_t)port, config_host_of(node), config_section_node(other));
        }
    }
}

static void check_transactions(struct check *check)
{
    FOR_NODES(node, check, CONFIG_NDBD) {
        uint64_t operations = config_get_u64(node, CFG_NDBD_MaxNoOfConcurrentOperations);
        uint64_t transactions = config_get_u64(node, CFG_NDBD_MaxNoOfConcurrentTransactions);
        uint64_t dml = config_get_u64(node, CFG_NDBD_MaxDMLOperationsPerTransaction);
        if (operations < transactions) {
            REPORT(check, true, node, CFG_NDBD_MaxNoOfConcurrentOperations,
                   "%u is below MaxNoOfConcurrentTransactions (allowed range %u..4294967039)",
                   (uint32_t)operations, (uint32_t)transactions);
        }
        if (config_is_set(node, CFG_NDBD_MaxDMLOperationsPerTransaction) && dml != CFG_U32_MAX &&
            dml > operations) {
            REPORT(check, true, node, CFG_NDBD_MaxDMLOperationsPerTransaction,
                   "%u is above MaxNoOfConcurrentOperations (allowed range 32..%u)", (uint32_t)dml,
                   (uint32_t)operations);
        }
    }
}

static void check_stop_on_error(struct check *check)
{
    FOR_NODES(node, check, CONFIG_NDBD) {
        if (config_get_u64(node, CFG_NDBD_StopOnError) == 0) continue;
        if (config_get_u64(node, CFG_NDBD_MaxStartFailRetries) != 3) {
            REPORT(check, true, node, CFG_NDBD_MaxStartFailRetries,
                   "it has no effect while StopOnError is on (allowed: 3)");
        }
        if (config_get_u64(node, CFG_NDBD_StartFailRetryDelay) != 0) {
            REPORT(check, true, node, CFG_NDBD_StartFailRetryDelay,
                   "it has no effect while StopOnError is on (allowed: 0)");
        }
    }
}

/* A default's line is told once, not for each section that has it. */
static void warn_unused(struct check *check, const struct config_section *section, uint32_t param,
                        const char *reason, uint32_t *told)
{
    uint32_t line = config_line(section, param);
    if (!config_is_set(section, param) || (line != 0 && line == *told)) return;
    *told = line;
    REPORT(check, false, section, param, "it has no effect: %s", reason);
}

static void warn_without_effect(struct check *check)
{
    static const struct {
        enum config_kind kind;
        uint32_t param;
        const char *reason;
    } unused[] = {
#define UNUSED(section, name, reason) {CONFIG_##section, CFG_##section##_##name, reason},
#include "config/params_unused.def"
#undef UNUSED
    };
    for (uint32_t i = 0; i < sizeof(unused) / sizeof(unused[0]); i++) {
        enum config_kind kind = unused[i].kind;
        uint32_t param = unused[i].param;
        uint32_t told = 0;
        if (kind == CONFIG_SYSTEM) {
            warn_unused(check, config_system(check->config), param, unused[i].reason, &told);
        } else if (kind == CONFIG_TCP) {
            const struct config_section *link = config_tcp_default(check->config);
            for (uint32_t next = 0; link != NULL; link = config_link_at(check->config, next++))
                warn_unused(check, link, param, unused[i].reason, &told);
        } else {
            FOR_NODES(node, check, kind)
                warn_unused(check, node, param, unused[i].reason, &told);
        }
    }
}

static void warn_delay(struct check *check, enum config_kind kind, uint32_t param)
{
    FOR_NODES(node, check, kind) {
        uint64_t delay = config_get_u64(node, param);
        FOR_NODES(data, check, CONFIG_NDBD) {
            if (delay == 0 || delay < config_get_u64(data, CFG_NDBD_ArbitrationTimeout)) continue;
            REPORT(check, false, node, param,
                   "the answer comes after ArbitrationTimeout of node %u: half of a cluster that "
                   "asks this arbitrator stops",
                   config_section_node(data));
            return;
        }
    }
}

/* Files of odd sizes cannot be written past the page cache. */
static void check_redo(struct check *check)
{
    FOR_NODES(node, check, CONFIG_NDBD) {
        uint64_t bytes = config_get_u64(node, CFG_NDBD_FragmentLogFileSize);
        if (bytes % 4096 != 0) {
            REPORT(check, true, node, CFG_NDBD_FragmentLogFileSize,
                   "%llu is no multiple of 4096 (allowed: whole pages, range 4M..1G bytes)",
                   (unsigned long long)bytes);
        }
        if (!config_is_set(node, CFG_NDBD_MinDiskWriteSpeed) ||
            !config_is_set(node, CFG_NDBD_MaxDiskWriteSpeed) ||
            config_get_u64(node, CFG_NDBD_MinDiskWriteSpeed) <=
                config_get_u64(node, CFG_NDBD_MaxDiskWriteSpeed))
            continue;
        REPORT(check, true, node, CFG_NDBD_MinDiskWriteSpeed,
               "it is above MaxDiskWriteSpeed (allowed range 1M..MaxDiskWriteSpeed)");
    }
}

static void check_threads(struct check *check)
{
    FOR_NODES(node, check, CONFIG_NDBD) {
        struct thread_config threads;
        char why[256];
        const char *text = config_get_text(node, CFG_NDBD_ThreadConfig);
        if (text[0] == '\0') continue;
        if (thread_config_parse(text, &threads, why, sizeof(why)) != 0) {
            REPORT(check, true, node, CFG_NDBD_ThreadConfig, "%s", why);
        }
        if (config_is_set(node, CFG_NDBD_MaxNoOfExecutionThreads)) {
            REPORT(check, false, node, CFG_NDBD_MaxNoOfExecutionThreads,
                   "it is ignored because ThreadConfig is given");
        }
        if (config_is_set(node, CFG_NDBD_NumCPUs)) {
            REPORT(check, false, node, CFG_NDBD_NumCPUs,
                   "it is ignored because ThreadConfig is given");
        }
    }
}

static void check_heartbeat_order(struct check *check)
{
    const struct config_section *zero = NULL;
    const struct config_section *ranked = NULL;

    FOR_NODES(node, check, CONFIG_NDBD) {
        uint64_t rank = config_get_u64(node, CFG_NDBD_HeartbeatOrder);
        if (rank == 0) {
            zero = node;
            continue;
        }
        ranked = node;
        FOR_NODES(other, check, CONFIG_NDBD) {
            if (config_section_node(other) >= config_section_node(node)) break;
            if (config_get_u64(other, CFG_NDBD_HeartbeatOrder) != rank) continue;
            REPORT(check, true, node, CFG_NDBD_HeartbeatOrder,
                   "%u is also the rank of node %u (allowed range 1..65535, all different)",
                   (uint32_t)rank, config_section_node(other));
        }
    }
    if (zero == NULL || ranked == NULL) return;
    REPORT(
        check, true, zero, CFG_NDBD_HeartbeatOrder,
        "node %u has no rank but node %u has one (allowed range 1..65535 for all nodes, or 0 for "
        "all)",
        config_section_node(zero), config_section_node(ranked));
}

static void check_link(struct check *check, const struct config_section *link)
{
    uint64_t limit = config_get_u64(link, CFG_TCP_OverloadLimit);
    uint64_t buffer = config_get_u64(link, CFG_TCP_SendBufferMemory);
    char text[32];

    if (config_get_u64(link, CFG_TCP_PreferIPVersion) == 5) {
        REPORT(check, true, link, CFG_TCP_PreferIPVersion, "5 is no IP version (allowed: 4, 6)");
    }
    if (limit <= buffer) return;
    config_number_format(buffer, text, sizeof(text));
    REPORT(check, true, link, CFG_TCP_OverloadLimit,
           "it is above SendBufferMemory (allowed range 0..%s bytes)", text);
}

static void check_links(struct check *check)
{
    check_link(check, config_tcp_default(check->config));
    for (uint32_t i = 0; i < config_count(check->config, CONFIG_TCP); i++) {
        const struct config_section *link = config_link_at(check->config, i);
        check_link(check, link);
        const struct config_section *a = config_node(check->config, config_section_node(link));
        const struct config_section *b = config_node(check->config, config_section_node2(link));
        if (config_section_kind(a) == CONFIG_API && config_section_kind(b) == CONFIG_API) {
            REPORT(check, true, link, CFG_TCP_NodeId2,
                   "nodes %u and %u are both clients (allowed: one end is a data or management "
                   "node)",
                   config_section_node(a), config_section_node(b));
        }
    }
}

static void check_log_destination(struct check *check)
{
    FOR_NODES(node, check, CONFIG_MGMD) {
        struct log_destination destination;
        char why[256];
        const char *text = config_get_text(node, CFG_MGMD_LogDestination);
        if (log_destination_parse(text, &destination, why, sizeof(why)) == 0) continue;
        REPORT(check, true, node, CFG_MGMD_LogDestination, "%s", why);
    }
}

static void check_name(struct check *check)
{
    const struct config_section *system = config_system(check->config);

    for (const char *c = config_get_text(system, CFG_SYSTEM_Name); *c != '\0'; c++) {
        if (isalnum((unsigned char)*c) || strchr("._-", *c) != NULL) continue;
        REPORT(check, true, system, CFG_SYSTEM_Name,
               "\"%s\" has a wrong character (allowed: letters, digits, . _ -)",
               config_get_text(system, CFG_SYSTEM_Name));
        break;
    }
    uint64_t primary = config_get_u64(system, CFG_SYSTEM_PrimaryMGMNode);
    if (primary == 0) return;
    const struct config_section *node = config_node(check->config, (uint32_t)primary);
    if (node != NULL && config_section_kind(node) == CONFIG_MGMD) return;
    REPORT(check, true, system, CFG_SYSTEM_PrimaryMGMNode,
           "node %u is no management server (allowed: 0 or the id of one)", (uint32_t)primary);
}

void config_check_values(struct cluster_config *config, const char *file,
                         struct config_report *report)
{
    struct check check = {.config = config, .file = file, .report = report};

    config_check_host_names(&check);
    check_redo(&check);
    check_threads(&check);
    check_log_destination(&check);
}

int config_check(struct cluster_config *config, const char *file, struct config_report *report)
{
    struct check check = {.config = config, .file = file, .report = report};
    uint32_t errors = report->errors;
    uint64_t replicas;

    check_present(&check);
    config_check_hosts(&check);
    config_check_replicas(&check, &replicas);
    config_check_groups(&check, replicas);
    config_warn_group_hosts(&check, replicas);
    config_check_arbitration(&check);
    check_ports(&check);
    check_transactions(&check);
    check_stop_on_error(&check);
    warn_without_effect(&check);
    warn_delay(&check, CONFIG_MGMD, CFG_MGMD_ArbitrationDelay);
    warn_delay(&check, CONFIG_API, CFG_API_ArbitrationDelay);
    check_heartbeat_order(&check);
    check_links(&check);
    check_name(&check);
    fill_directories(&check);
    return report->errors > errors ? -1 : 0;
}
