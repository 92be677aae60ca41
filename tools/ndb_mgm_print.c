/* ndb_mgm_print.c -- the console's output of SHOW, STATUS and REPORT. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/ndb_mgm_print.h"

#include <cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "values/errors.h"

static bool connected(const struct ndb_mgm_node_state *node)
{
    return node->status != NDB_MGM_STATUS_NO_CONTACT && node->status != NDB_MGM_STATUS_UNKNOWN &&
           node->status != NDB_MGM_STATUS_NO_ANSWER;
}

static const char *status_text(const struct ndb_mgm_node_state *node)
{
    bool known = node->status != NDB_MGM_STATUS_UNKNOWN;

    return ndb_mgm_status_text(known ? node->status : NDB_MGM_STATUS_NO_CONTACT);
}

static void version_text(uint32_t version, char *text, size_t size)
{
    (void)snprintf(text, size, "ndb-%u.%u.%u", version >> 16 & 255, version >> 8 & 255,
                   version & 255);
}

static void show_node(FILE *out, const struct ndb_mgm_node_state *node)
{
    char version[32];

    (void)fprintf(out, "id=%u", node->node_id);
    if (node->status == NDB_MGM_STATUS_NO_ANSWER) {
        (void)fprintf(out, "\t@%s  (%s)\n", node->address, status_text(node));
        return;
    }
    if (!connected(node)) {
        (void)fprintf(out, " (not connected, accepting connect from %s%s)\n",
                      node->host[0] != '\0' ? node->host : "any host",
                      node->is_single_user ? ", allowed single user" : "");
        return;
    }
    version_text(node->version, version, sizeof(version));
    if (node->address[0] != '\0')
        (void)fprintf(out, "\t@%s  (%s", node->address, version);
    else
        (void)fprintf(out, " (%s", version);
    if (node->type == NDB_MGM_NODE_NDB) {
        if (node->status != NDB_MGM_STATUS_STARTED) {
            (void)fprintf(out, ", %s", ndb_mgm_status_text(node->status));
        }
        if (node->status == NDB_MGM_STATUS_STARTING) {
            (void)fprintf(out, ", phase %u", node->start_phase);
            if (node->start_percent > 0 && node->start_percent < 100) {
                (void)fprintf(out, ", %u%%", node->start_percent);
                if (node->start_left_s != 0) (void)fprintf(out, ", %u s left", node->start_left_s);
            }
        }
        if (node->node_group >= 65536)
            (void)fprintf(out, ", no nodegroup");
        else
            (void)fprintf(out, ", Nodegroup: %u", node->node_group);
        if (node->president) (void)fprintf(out, ", *");
        if (node->slow) (void)fprintf(out, ", slow");
    }
    if (node->is_single_user) (void)fprintf(out, ", allowed single user");
    (void)fprintf(out, ")\n");
}

static void show_type(FILE *out, const struct ndb_mgm_cluster_state *state,
                      enum ndb_mgm_node_type type, const char *name)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < state->count; i++)
        count += state->nodes[i].type == type;
    (void)fprintf(out, "[%s(%s)]\t%u node(s)\n", name, ndb_mgm_type_name(type), count);
    for (uint32_t i = 0; i < state->count; i++) {
        if (state->nodes[i].type == type) show_node(out, &state->nodes[i]);
    }
    (void)fprintf(out, "\n");
}

/* What the president says; a cluster of one node needs no arbitrator and is not told of one. */
static void show_arbitrator(FILE *out, const struct ndb_mgm_cluster_state *state)
{
    for (uint32_t i = 0; i < state->count; i++) {
        const struct ndb_mgm_node_state *node = &state->nodes[i];
        if (!node->president || node->arbit_state == 0) continue;
        if (node->arbitrator != 0)
            (void)fprintf(out, "Arbitrator: node %u\n\n", node->arbitrator);
        else
            (void)fprintf(out, "Arbitrator: none\n\n");
        return;
    }
}

void print_show(FILE *out, const struct ndb_mgm_cluster_state *state)
{
    (void)fprintf(out, "Cluster Configuration\n---------------------\n");
    show_type(out, state, NDB_MGM_NODE_NDB, "ndbd");
    show_type(out, state, NDB_MGM_NODE_MGM, "ndb_mgmd");
    show_type(out, state, NDB_MGM_NODE_API, "mysqld");
    show_arbitrator(out, state);
}

/* Only while data is being read back there is something to tell. */
static void print_progress(FILE *out, const struct ndb_mgm_node_state *node)
{
    if (node->start_percent == 0 || node->start_percent >= 100) return;
    (void)fprintf(out, " (%u%% of the data read back", node->start_percent);
    if (node->start_left_s != 0) (void)fprintf(out, ", %u s left", node->start_left_s);
    (void)fprintf(out, ")");
}

void print_status(FILE *out, const struct ndb_mgm_node_state *node)
{
    char version[32];

    version_text(node->version, version, sizeof(version));
    (void)fprintf(out, "Node %u: ", node->node_id);
    if (!connected(node)) {
        (void)fprintf(out, "%s\n", status_text(node));
    } else if (node->type != NDB_MGM_NODE_NDB) {
        (void)fprintf(out, "connected (Version %s)\n", version + 4);
    } else {
        (void)fprintf(out, "%s", ndb_mgm_status_text(node->status));
        if (node->status == NDB_MGM_STATUS_STARTING) {
            (void)fprintf(out, " (Last completed phase %u)", node->start_phase);
            print_progress(out, node);
        } else if (node->status == NDB_MGM_STATUS_SHUTTING_DOWN) {
            (void)fprintf(out, " (Phase %u)", node->start_phase);
        }
        if (node->slow) (void)fprintf(out, " (slow)");
        (void)fprintf(out, " (%s)\n", version);
    }
}

static unsigned percent(uint64_t used, uint64_t total)
{
    return total == 0 ? 0 : (unsigned)(used * 100 / total);
}

/* Why a node has not answered. */
static void print_node_error(FILE *out, uint32_t node, uint32_t error)
{
    if (error == ERR_MGM_SEND)
        (void)fprintf(out, "Node %u does not answer\n", node);
    else
        (void)fprintf(out, "Node %u: %s\n", node, ndb_mgm_error_message((int)error));
}

void print_memory(FILE *out, const struct ndb_mgm_memory *report)
{
    unsigned kilobytes = report->page_size / 1024;
    unsigned long long total = report->total;

    if (report->error != 0) {
        print_node_error(out, report->node_id, report->error);
        return;
    }
    (void)fprintf(out, "Node %u: Data usage is %u%%(%llu %uK pages of total %llu)\n",
                  report->node_id, percent(report->data_used, total),
                  (unsigned long long)report->data_used, kilobytes, total);
    (void)fprintf(out, "Node %u: Index usage is %u%%(%llu %uK pages of total %llu)\n",
                  report->node_id, percent(report->index_used, total),
                  (unsigned long long)report->index_used, kilobytes, total);
}

/* ---- files ---- */

static const char *log_state_text(uint32_t state)
{
    return state == 0 ? "closed" : state <= 2 ? "opening" : state <= 7 ? "replaying" : "running";
}

/* True when there is more to say of the node. */
static bool print_disk_head(FILE *out, const struct ndb_mgm_disk *report, const char *what)
{
    if (report->error != 0) {
        print_node_error(out, report->node_id, report->error);
        return false;
    }
    if (report->diskless == 0) return true;
    (void)fprintf(out, "Node %u: no %s, the node is diskless\n", report->node_id, what);
    return false;
}

void print_redo(FILE *out, const struct ndb_mgm_disk *report)
{
    if (!print_disk_head(out, report, "redo log")) return;
    for (uint32_t i = 0; i < report->part_count; i++) {
        const struct ndb_mgm_log_part *part = &report->parts[i];
        const char *state = log_state_text(part->state);
        (void)fprintf(out, "Node %u: Redo log part %u is %s", report->node_id, i + 1, state);
        if (part->state > 0 && part->state < 8) (void)fprintf(out, " (%u%%)", part->percent);
        (void)fprintf(out, ", %u%% full: %u files of %u MB, head file %u at %u MB, tail file %u\n",
                      part->fill, part->files, part->file_kb / 1024, part->head_file, part->head_mb,
                      part->tail_file);
        (void)fprintf(out,
                      " #Records: %" PRIu64 " Data: %" PRIu64 " bytes Durable page: %" PRIu64
                      " Delayed operations: %u\n",
                      part->records, part->bytes, part->lsn, part->delayed);
    }
}

void print_checkpoint(FILE *out, const struct ndb_mgm_disk *report)
{
    static const char *const states[] = {"", "being written", "waiting for its last GCI",
                                         "removing replaced files"};

    if (!print_disk_head(out, report, "checkpoints")) return;
    (void)fprintf(out, "Node %u: Global checkpoint %u is durable, %u runs\n", report->node_id,
                  report->durable, report->gci);
    if (report->last_id == 0) {
        (void)fprintf(out, "Node %u: No local checkpoint since the node started\n",
                      report->node_id);
    } else {
        (void)fprintf(
            out,
            "Node %u: Local checkpoint %u completed %u s ago, took %u.%u s, %u fragments, "
            "%u KB",
            report->node_id, report->last_id, report->last_age_ms / 1000, report->last_ms / 1000,
            report->last_ms % 1000 / 100, report->last_fragments, report->last_kbytes);
        if (report->last_failed != 0) (void)fprintf(out, ", %u failed", report->last_failed);
        (void)fprintf(out, "\n");
    }
    if (report->lcp_id == 0) return;
    (void)fprintf(out, "Node %u: Local checkpoint %u is running for %u.%u s: %s\n", report->node_id,
                  report->lcp_id, report->lcp_ms / 1000, report->lcp_ms % 1000 / 100,
                  states[report->lcp_state]);
}

/* ---- events ---- */

void print_unreached(FILE *out, const uint32_t *nodes, uint32_t count, const char *order,
                     const char *then)
{
    if (count == 0) return;
    (void)fprintf(out, "Not connected to the management server, and not told to %s:", order);
    for (uint32_t i = 0; i < count; i++)
        (void)fprintf(out, "%s node %u", i == 0 ? "" : ",", nodes[i]);
    (void)fprintf(out, ". %s\n", then);
}

void print_events(FILE *out, const struct ndb_mgm_event *events, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        char stamp[32] = "";
        time_t seconds = (time_t)events[i].time;
        struct tm tm;
        if (localtime_r(&seconds, &tm) != NULL)
            (void)strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S", &tm);
        (void)fprintf(out, "%s Node %u: %s\n", stamp, events[i].source_node, events[i].text);
    }
}

/* ---- JSON ---- */

static void print_json(FILE *out, cJSON *json)
{
    char *text = cJSON_Print(json);

    if (text != NULL) (void)fprintf(out, "%s\n", text);
    free(text);
    cJSON_Delete(json);
}

static cJSON *node_json(const struct ndb_mgm_node_state *node)
{
    cJSON *json = cJSON_CreateObject();
    char version[32];

    version_text(node->version, version, sizeof(version));
    (void)cJSON_AddNumberToObject(json, "id", node->node_id);
    (void)cJSON_AddStringToObject(json, "type", ndb_mgm_type_name(node->type));
    (void)cJSON_AddStringToObject(json, "status", ndb_mgm_status_text(node->status));
    (void)cJSON_AddBoolToObject(json, "connected", connected(node));
    (void)cJSON_AddStringToObject(json, "host", node->host);
    if (connected(node) || node->status == NDB_MGM_STATUS_NO_ANSWER)
        (void)cJSON_AddStringToObject(json, "address", node->address);
    if (!connected(node)) return json;
    (void)cJSON_AddStringToObject(json, "version", version);
    if (node->type != NDB_MGM_NODE_NDB) return json;
    (void)cJSON_AddNumberToObject(json, "start_phase", node->start_phase);
    if (node->status == NDB_MGM_STATUS_STARTING) {
        (void)cJSON_AddNumberToObject(json, "start_percent", node->start_percent);
        (void)cJSON_AddNumberToObject(json, "start_left_s", node->start_left_s);
    }
    if (node->node_group >= 65536)
        (void)cJSON_AddNullToObject(json, "node_group");
    else
        (void)cJSON_AddNumberToObject(json, "node_group", node->node_group);
    (void)cJSON_AddBoolToObject(json, "president", node->president);
    (void)cJSON_AddNumberToObject(json, "arbit_state", node->arbit_state);
    (void)cJSON_AddNumberToObject(json, "arbitrator", node->arbitrator);
    (void)cJSON_AddNumberToObject(json, "connect_count", node->connect_count);
    (void)cJSON_AddBoolToObject(json, "slow", node->slow);
    return json;
}

void print_show_json(FILE *out, const struct ndb_mgm_cluster_state *state)
{
    static const char *const names[] = {"ndbd", "mysqld", "ndb_mgmd"}; /* By type. */
    cJSON *json = cJSON_CreateObject();

    for (uint32_t type = 0; type < 3; type++) {
        cJSON *list = cJSON_AddArrayToObject(json, names[type]);
        for (uint32_t i = 0; i < state->count; i++) {
            if ((uint32_t)state->nodes[i].type != type) continue;
            (void)cJSON_AddItemToArray(list, node_json(&state->nodes[i]));
        }
    }
    print_json(out, json);
}

void print_status_json(FILE *out, const struct ndb_mgm_cluster_state *state, uint32_t node)
{
    cJSON *json = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(json, "nodes");

    for (uint32_t i = 0; i < state->count; i++) {
        if (node != 0 ? state->nodes[i].node_id != node : state->nodes[i].type != NDB_MGM_NODE_NDB)
            continue;
        (void)cJSON_AddItemToArray(list, node_json(&state->nodes[i]));
    }
    print_json(out, json);
}

static void add_group(cJSON *list, const struct ndb_mgm_memory_group *group, uint32_t number)
{
    cJSON *json = cJSON_CreateObject();

    (void)cJSON_AddNumberToObject(json, "group", number);
    (void)cJSON_AddNumberToObject(json, "used", (double)group->used);
    (void)cJSON_AddNumberToObject(json, "max", (double)group->max);
    (void)cJSON_AddNumberToObject(json, "reserved", (double)group->reserved);
    (void)cJSON_AddNumberToObject(json, "high", (double)group->high);
    (void)cJSON_AddNumberToObject(json, "failed", (double)group->failed);
    (void)cJSON_AddItemToArray(list, json);
}

void print_memory_json(FILE *out, const struct ndb_mgm_memory *reports, uint32_t count)
{
    cJSON *json = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(json, "nodes");

    for (uint32_t i = 0; i < count; i++) {
        const struct ndb_mgm_memory *report = &reports[i];
        cJSON *node = cJSON_CreateObject();
        (void)cJSON_AddNumberToObject(node, "id", report->node_id);
        if (report->error != 0) {
            (void)cJSON_AddNumberToObject(node, "error", report->error);
        } else {
            (void)cJSON_AddNumberToObject(node, "page_size", report->page_size);
            (void)cJSON_AddNumberToObject(node, "data_pages_used", (double)report->data_used);
            (void)cJSON_AddNumberToObject(node, "index_pages_used", (double)report->index_used);
            (void)cJSON_AddNumberToObject(node, "pages_total", (double)report->total);
            cJSON *groups = cJSON_AddArrayToObject(node, "groups");
            for (uint32_t g = 0; g < report->group_count; g++)
                add_group(groups, &report->groups[g], g);
        }
        (void)cJSON_AddItemToArray(list, node);
    }
    print_json(out, json);
}

static cJSON *log_part_json(const struct ndb_mgm_log_part *part, uint32_t number)
{
    cJSON *json = cJSON_CreateObject();

    (void)cJSON_AddNumberToObject(json, "part", number);
    (void)cJSON_AddStringToObject(json, "state", log_state_text(part->state));
    (void)cJSON_AddNumberToObject(json, "percent", part->percent);
    (void)cJSON_AddNumberToObject(json, "fill_percent", part->fill);
    (void)cJSON_AddNumberToObject(json, "files", part->files);
    (void)cJSON_AddNumberToObject(json, "file_kb", part->file_kb);
    (void)cJSON_AddNumberToObject(json, "head_file", part->head_file);
    (void)cJSON_AddNumberToObject(json, "head_mb", part->head_mb);
    (void)cJSON_AddNumberToObject(json, "tail_file", part->tail_file);
    (void)cJSON_AddNumberToObject(json, "delayed_operations", part->delayed);
    (void)cJSON_AddNumberToObject(json, "durable_page", (double)part->lsn);
    (void)cJSON_AddNumberToObject(json, "records", (double)part->records);
    (void)cJSON_AddNumberToObject(json, "bytes", (double)part->bytes);
    return json;
}

static void add_checkpoints(cJSON *node, const struct ndb_mgm_disk *report)
{
    static const char *const states[] = {"idle", "writing", "waiting", "cleaning"};

    (void)cJSON_AddNumberToObject(node, "gci", report->gci);
    (void)cJSON_AddNumberToObject(node, "durable_gci", report->durable);
    (void)cJSON_AddStringToObject(node, "lcp_state", states[report->lcp_state]);
    if (report->lcp_id != 0) {
        (void)cJSON_AddNumberToObject(node, "lcp_id", report->lcp_id);
        (void)cJSON_AddNumberToObject(node, "lcp_ms", report->lcp_ms);
    }
    if (report->last_id == 0) return;
    cJSON *last = cJSON_AddObjectToObject(node, "last_lcp");
    (void)cJSON_AddNumberToObject(last, "id", report->last_id);
    (void)cJSON_AddNumberToObject(last, "age_ms", report->last_age_ms);
    (void)cJSON_AddNumberToObject(last, "ms", report->last_ms);
    (void)cJSON_AddNumberToObject(last, "fragments", report->last_fragments);
    (void)cJSON_AddNumberToObject(last, "failed", report->last_failed);
    (void)cJSON_AddNumberToObject(last, "kbytes", report->last_kbytes);
}

void print_disk_json(FILE *out, const struct ndb_mgm_disk *reports, uint32_t count)
{
    cJSON *json = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(json, "nodes");

    for (uint32_t i = 0; i < count; i++) {
        const struct ndb_mgm_disk *report = &reports[i];
        cJSON *node = cJSON_CreateObject();
        (void)cJSON_AddNumberToObject(node, "id", report->node_id);
        if (report->error != 0) {
            (void)cJSON_AddNumberToObject(node, "error", report->error);
        } else {
            (void)cJSON_AddBoolToObject(node, "diskless", report->diskless != 0);
            add_checkpoints(node, report);
            cJSON *parts = cJSON_AddArrayToObject(node, "log_parts");
            for (uint32_t p = 0; p < report->part_count; p++)
                (void)cJSON_AddItemToArray(parts, log_part_json(&report->parts[p], p + 1));
        }
        (void)cJSON_AddItemToArray(list, node);
    }
    print_json(out, json);
}

void print_events_json(FILE *out, const struct ndb_mgm_event *events, uint32_t count)
{
    cJSON *json = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(json, "events");

    for (uint32_t i = 0; i < count; i++) {
        const struct ndb_mgm_event *event = &events[i];
        cJSON *item = cJSON_CreateObject();
        (void)cJSON_AddNumberToObject(item, "time", (double)event->time + event->time_ms / 1000.0);
        (void)cJSON_AddNumberToObject(item, "node", event->source_node);
        (void)cJSON_AddNumberToObject(item, "type", event->type);
        (void)cJSON_AddStringToObject(item, "category", ndb_mgm_category_name(event->category));
        (void)cJSON_AddStringToObject(item, "severity", ndb_mgm_severity_name(event->severity));
        (void)cJSON_AddStringToObject(item, "text", event->text);
        (void)cJSON_AddItemToArray(list, item);
    }
    print_json(out, json);
}

void print_logfilter_json(FILE *out, const int enabled[NDB_MGM_SEVERITIES])
{
    cJSON *json = cJSON_CreateObject();

    (void)cJSON_AddBoolToObject(json, "enabled", enabled[NDB_MGM_SEVERITY_ON] != 0);
    cJSON *list = cJSON_AddArrayToObject(json, "severities");
    for (uint32_t i = 1; i < NDB_MGM_SEVERITIES; i++) {
        if (enabled[i] != 0)
            (void)cJSON_AddItemToArray(
                list, cJSON_CreateString(ndb_mgm_severity_name((enum ndb_mgm_severity)i)));
    }
    print_json(out, json);
}
