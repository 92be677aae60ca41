/* mgm_status.c -- how nodes are, as a management server tells it: states, memory, disk, threads. */
/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/mgm_handle.h"

static struct ndb_mgm_node_state *state_of(struct ndb_mgm_cluster_state *state, uint32_t node_id)
{
    for (uint32_t i = state->count; i > 0; i--) {
        if (state->nodes[i - 1].node_id == node_id) return &state->nodes[i - 1];
    }
    if (state->count == NDB_MGM_NODES_MAX) return NULL;
    struct ndb_mgm_node_state *node = &state->nodes[state->count++];
    *node = (struct ndb_mgm_node_state){.node_id = node_id, .node_group = 65536};
    return node;
}

static void set_field(struct ndb_mgm_node_state *node, const char *field, const char *value)
{
    int64_t number = 0;
    int name;

    (void)mgm_parse_number(value, &number);
    if (strcmp(field, "type") == 0) {
        name = ndb_mgm_type_number(value);
        if (name >= 0) node->type = (enum ndb_mgm_node_type)name;
    } else if (strcmp(field, "status") == 0) {
        name = ndb_mgm_status_number(value);
        if (name >= 0) node->status = (enum ndb_mgm_node_status)name;
    } else if (strcmp(field, "version") == 0)
        node->version = (uint32_t)number;
    else if (strcmp(field, "startphase") == 0)
        node->start_phase = (uint32_t)number;
    else if (strcmp(field, "start_percent") == 0)
        node->start_percent = (uint32_t)number;
    else if (strcmp(field, "start_left") == 0)
        node->start_left_s = (uint32_t)number;
    else if (strcmp(field, "dynamic_id") == 0)
        node->dynamic_id = (uint32_t)number;
    else if (strcmp(field, "node_group") == 0)
        node->node_group = (uint32_t)number;
    else if (strcmp(field, "connect_count") == 0)
        node->connect_count = (uint32_t)number;
    else if (strcmp(field, "president") == 0)
        node->president = number == 1;
    else if (strcmp(field, "arbit_state") == 0)
        node->arbit_state = (uint32_t)number;
    else if (strcmp(field, "arbitrator") == 0)
        node->arbitrator = (uint32_t)number;
    else if (strcmp(field, "slow") == 0)
        node->slow = number == 1;
    else if (strcmp(field, "is_single_user") == 0)
        node->is_single_user = number == 1;
    else if (strcmp(field, "address") == 0)
        (void)snprintf(node->address, sizeof(node->address), "%s", value);
    else if (strcmp(field, "host") == 0)
        (void)snprintf(node->host, sizeof(node->host), "%s", value);
}

/* "node.12.status" -> 12 and "status"; 0 when the line is none of a node. */
static uint32_t split_name(const char *name, const char **field)
{
    char *end;

    if (strncmp(name, "node.", 5) != 0) return 0;
    unsigned long id = strtoul(name + 5, &end, 10);
    if (*end != '.' || id == 0 || id > NDB_MGM_NODES_MAX) return 0;
    *field = end + 1;
    return (uint32_t)id;
}

static int no_place(ndb_mgm_handle_t *handle)
{
    return mgm_fail(handle, NDB_MGM_USAGE_ERROR, "No place for what is told");
}

int ndb_mgm_get_status(ndb_mgm_handle_t *handle, struct ndb_mgm_cluster_state *state)
{
    if (state == NULL) return no_place(handle);
    state->count = 0;
    if (mgm_call(handle, mgm_wait(handle), "get status") != 0) return -1;
    for (uint32_t i = 0; i < handle->reply.pair_count; i++) {
        const char *field;
        uint32_t id = split_name(mgm_pair_name(&handle->reply, i), &field);
        struct ndb_mgm_node_state *node = id == 0 ? NULL : state_of(state, id);
        if (node != NULL) set_field(node, field, mgm_pair_value(&handle->reply, i));
    }
    return 0;
}

static void set_memory(void *memory, const char *field, const char *value)
{
    struct ndb_mgm_memory *report = memory;
    uint64_t number = strtoull(value, NULL, 10);

    if (strcmp(field, "error") == 0)
        report->error = (uint32_t)number;
    else if (strcmp(field, "page_size") == 0)
        report->page_size = (uint32_t)number;
    else if (strcmp(field, "data_used") == 0)
        report->data_used = number;
    else if (strcmp(field, "index_used") == 0)
        report->index_used = number;
    else if (strcmp(field, "data_total") == 0)
        report->total = number;
    else if (strncmp(field, "group.", 6) == 0) {
        unsigned long group = strtoul(field + 6, NULL, 10);
        if (group >= NDB_MGM_GROUPS_MAX) return;
        struct ndb_mgm_memory_group *out = &report->groups[group];
        if (sscanf(value, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &out->used,
                   &out->max, &out->reserved, &out->high, &out->failed) != 5) {
            return;
        }
        if (group >= report->group_count) report->group_count = (uint32_t)group + 1;
    }
}

/* Reports of data nodes, which answer in any order: `reports` has room for so many structs of
 * `size` bytes, each of which begins with its node's id. */
typedef void set_report(void *report, const char *field, const char *value);

static int by_node(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static int gather_reports(ndb_mgm_handle_t *handle, void *reports, size_t size, uint32_t room,
                          set_report *set)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < handle->reply.pair_count; i++) {
        const char *field;
        uint32_t id = split_name(mgm_pair_name(&handle->reply, i), &field);
        uint8_t *report = reports;
        uint8_t *end = report + count * size;
        if (id == 0) continue;
        while (report < end && *(const uint32_t *)(const void *)report != id)
            report += size;
        if (report == end) {
            if (count == room) continue;
            count++;
            memset(report, 0, size);
            memcpy(report, &id, sizeof(id));
        }
        set(report, field, mgm_pair_value(&handle->reply, i));
    }
    qsort(reports, count, size, by_node);
    return (int)count;
}

static_assert(offsetof(struct ndb_mgm_memory, node_id) == 0, "see gather_reports");
static_assert(offsetof(struct ndb_mgm_disk, node_id) == 0, "see gather_reports");
static_assert(offsetof(struct ndb_mgm_threads, node_id) == 0, "see gather_reports");

int ndb_mgm_report_memory(ndb_mgm_handle_t *handle, uint32_t node_id,
                          struct ndb_mgm_memory *reports, uint32_t room)
{
    if (reports == NULL) return no_place(handle);
    if (mgm_call(handle, mgm_wait(handle), "report memory\nnode: %u", node_id) != 0) return -1;
    return gather_reports(handle, reports, sizeof(*reports), room, set_memory);
}

static void set_log_part(struct ndb_mgm_disk *report, const char *field, const char *value)
{
    unsigned long number = strtoul(field + 5, NULL, 10);
    struct ndb_mgm_log_part part;

    if (number >= NDB_MGM_LOG_PARTS_MAX) return;
    if (sscanf(value,
               "%" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32
               " %" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu64,
               &part.state, &part.percent, &part.fill, &part.files, &part.file_kb, &part.head_file,
               &part.head_mb, &part.tail_file, &part.delayed, &part.lsn, &part.records,
               &part.bytes) != 12) {
        return;
    }
    report->parts[number] = part;
    if (number >= report->part_count) report->part_count = (uint32_t)number + 1;
}

static void set_disk(void *disk, const char *field, const char *value)
{
    struct ndb_mgm_disk *report = disk;
    uint32_t number = (uint32_t)strtoul(value, NULL, 10);
    uint32_t state;

    if (strcmp(field, "error") == 0)
        report->error = number;
    else if (strcmp(field, "diskless") == 0)
        report->diskless = number;
    else if (strcmp(field, "gci") == 0)
        report->gci = number;
    else if (strcmp(field, "durable") == 0)
        report->durable = number;
    else if (strcmp(field, "lcp") == 0) {
        if (sscanf(value, "%" SCNu32 " %" SCNu32 " %" SCNu32, &state, &report->lcp_id,
                   &report->lcp_ms) == 3 &&
            state <= NDB_MGM_LCP_CLEANING)
            report->lcp_state = (enum ndb_mgm_lcp_state)state;
    } else if (strcmp(field, "last") == 0) {
        (void)sscanf(value, "%" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32,
                     &report->last_id, &report->last_age_ms, &report->last_ms,
                     &report->last_fragments, &report->last_failed, &report->last_kbytes);
    } else if (strncmp(field, "part.", 5) == 0) {
        set_log_part(report, field, value);
    }
}

int ndb_mgm_report_disk(ndb_mgm_handle_t *handle, uint32_t node_id, struct ndb_mgm_disk *reports,
                        uint32_t room)
{
    if (reports == NULL) return no_place(handle);
    if (mgm_call(handle, mgm_wait(handle), "report disk\nnode: %u", node_id) != 0) return -1;
    return gather_reports(handle, reports, sizeof(*reports), room, set_disk);
}

static void set_threads(void *threads, const char *field, const char *value)
{
    struct ndb_mgm_threads *report = threads;
    struct ndb_mgm_thread thread;

    if (strcmp(field, "error") == 0) report->error = (uint32_t)strtoul(value, NULL, 10);
    if (strncmp(field, "thread.", 7) != 0) return;
    unsigned long number = strtoul(field + 7, NULL, 10);
    if (number >= NDB_MGM_THREADS_MAX ||
        sscanf(value, "%11s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
               thread.name, &thread.at_us, &thread.user_us, &thread.system_us, &thread.work_us,
               &thread.spin_us, &thread.sleep_us) != 7)
        return;
    report->threads[number] = thread;
    if (number >= report->thread_count) report->thread_count = (uint32_t)number + 1;
}

int ndb_mgm_report_threads(ndb_mgm_handle_t *handle, uint32_t node_id,
                           struct ndb_mgm_threads *reports, uint32_t room)
{
    if (reports == NULL) return no_place(handle);
    if (mgm_call(handle, mgm_wait(handle), "report threads\nnode: %u", node_id) != 0) return -1;
    return gather_reports(handle, reports, sizeof(*reports), room, set_threads);
}
