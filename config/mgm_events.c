/* mgm_events.c -- the management API's part about the cluster log and the stream of events. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/mgm_handle.h"

int ndb_mgm_set_logfilter(ndb_mgm_handle_t *handle, enum ndb_mgm_severity severity, int enable)
{
    if (mgm_call(handle, mgm_wait(handle), "set logfilter\nlevel: %d\nenable: %d", (int)severity,
                 enable) != 0) {
        return -1;
    }
    return (int)mgm_reply_number(handle, "value", 0);
}

int ndb_mgm_get_logfilter(ndb_mgm_handle_t *handle, int enabled[NDB_MGM_SEVERITIES])
{
    if (enabled == NULL) return mgm_fail(handle, NDB_MGM_USAGE_ERROR, "No place for the filter");
    if (mgm_call(handle, mgm_wait(handle), "get info clusterlog") != 0) return -1;
    for (uint32_t i = 0; i < NDB_MGM_SEVERITIES; i++) {
        const char *name = i == 0 ? "enabled" : ndb_mgm_severity_name((enum ndb_mgm_severity)i);
        enabled[i] = mgm_reply_number(handle, name, 0) == 1;
    }
    return 0;
}

int ndb_mgm_set_cluster_loglevel(ndb_mgm_handle_t *handle, uint32_t node_id,
                                 enum ndb_mgm_category category, uint32_t level)
{
    return mgm_call(handle, mgm_wait(handle),
                    "set cluster loglevel\nnode: %u\ncategory: %d\nlevel: %u", node_id,
                    (int)category, level);
}

int ndb_mgm_set_node_loglevel(ndb_mgm_handle_t *handle, uint32_t node_id,
                              enum ndb_mgm_category category, uint32_t level)
{
    return mgm_call(handle, mgm_wait(handle), "set loglevel\nnode: %u\ncategory: %d\nlevel: %u",
                    node_id, (int)category, level);
}

int ndb_mgm_get_cluster_loglevel(ndb_mgm_handle_t *handle, uint32_t levels[NDB_MGM_CATEGORIES])
{
    if (levels == NULL) return mgm_fail(handle, NDB_MGM_USAGE_ERROR, "No place for the levels");
    if (mgm_call(handle, mgm_wait(handle), "get cluster loglevel") != 0) return -1;
    for (uint32_t i = 0; i < NDB_MGM_CATEGORIES; i++) {
        enum ndb_mgm_category category = (enum ndb_mgm_category)(NDB_MGM_CATEGORY_FIRST + i);
        levels[i] = (uint32_t)mgm_reply_number(handle, ndb_mgm_category_name(category), 0);
    }
    return 0;
}

int ndb_mgm_listen_events(ndb_mgm_handle_t *handle, const uint32_t levels[NDB_MGM_CATEGORIES])
{
    char filter[400];
    size_t used = 0;

    if (levels == NULL) return mgm_fail(handle, NDB_MGM_USAGE_ERROR, "No levels");
    filter[0] = '\0';
    for (uint32_t i = 0; i < NDB_MGM_CATEGORIES; i++) {
        enum ndb_mgm_category category = (enum ndb_mgm_category)(NDB_MGM_CATEGORY_FIRST + i);
        used += (size_t)snprintf(filter + used, sizeof(filter) - used, "%s%s=%u", i == 0 ? "" : " ",
                                 ndb_mgm_category_name(category), levels[i] > 15 ? 15 : levels[i]);
    }
    if (mgm_call(handle, mgm_wait(handle), "listen event\nparsable: 1\nfilter: %s", filter) != 0)
        return -1;
    handle->listener = true;
    handle->line_used = 0;
    handle->event = (struct ndb_mgm_event){.type = 0};
    return 0;
}

/* Takes one line of the stream; true when it ends an event. */
static bool take_line(ndb_mgm_handle_t *handle)
{
    struct ndb_mgm_event *event = &handle->event;
    char *line = handle->line;
    int number;

    line[handle->line_used] = '\0';
    handle->line_used = 0;
    if (strcmp(line, "log event reply") == 0) {
        *event = (struct ndb_mgm_event){.category = NDB_MGM_CATEGORY_INFO,
                                        .severity = NDB_MGM_SEVERITY_INFO};
    } else if (strncmp(line, "type=", 5) == 0) {
        event->type = (uint32_t)strtoul(line + 5, NULL, 10);
    } else if (strncmp(line, "time=", 5) == 0) {
        event->time = strtoull(line + 5, NULL, 10);
    } else if (strncmp(line, "source_nodeid=", 14) == 0) {
        event->source_node = (uint32_t)strtoul(line + 14, NULL, 10);
    } else if (strncmp(line, "category=", 9) == 0) {
        number = ndb_mgm_category_number(line + 9);
        if (number >= 0) event->category = (enum ndb_mgm_category)number;
    } else if (strncmp(line, "severity=", 9) == 0) {
        number = ndb_mgm_severity_number(line + 9);
        if (number >= 0) event->severity = (enum ndb_mgm_severity)number;
    } else if (strncmp(line, "text=", 5) == 0) {
        (void)snprintf(event->text, sizeof(event->text), "%s", line + 5);
    } else if (line[0] == '\0') {
        return event->time != 0; /* Anything else is a ping or of a newer server. */
    }
    return false;
}

int ndb_mgm_next_event(ndb_mgm_handle_t *handle, struct ndb_mgm_event *event, uint32_t timeout_ms)
{
    uint64_t deadline = mgm_now_ms() + timeout_ms;

    if (handle == NULL || event == NULL)
        return mgm_fail(handle, NDB_MGM_USAGE_ERROR, "No place for an event");
    if (!handle->listener)
        return mgm_fail(handle, NDB_MGM_USAGE_ERROR, "The handle does not listen");
    for (;;) {
        for (size_t i = 0; i < handle->in_used; i++) {
            if (handle->in[i] != '\n') {
                /* The rest of a line that is too long is dropped. */
                if (handle->line_used < MGM_LINE_MAX)
                    handle->line[handle->line_used++] = (char)handle->in[i];
                continue;
            }
            if (!take_line(handle)) continue;
            mgm_take(handle, i + 1);
            *event = handle->event;
            handle->event.time = 0;
            return 1;
        }
        mgm_take(handle, handle->in_used);
        int rc = mgm_receive(handle, deadline);
        if (rc != 0) return rc < 0 ? -1 : 0;
    }
}

/* ---- what data nodes have kept ---- */

static int by_time(const void *a, const void *b)
{
    const struct ndb_mgm_event *x = a;
    const struct ndb_mgm_event *y = b;

    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    if (x->time_ms != y->time_ms) return x->time_ms < y->time_ms ? -1 : 1;
    if (x->source_node != y->source_node) return x->source_node < y->source_node ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* "node.2.event.17", and "<ms> <type> <category> <severity> <text>". */
static bool read_event(const char *name, const char *value, struct ndb_mgm_event *event)
{
    uint32_t node;
    uint32_t order;
    uint64_t ms;
    uint32_t type;
    char category[24];
    char severity[24];
    int at = 0;

    if (sscanf(name, "node.%" SCNu32 ".event.%" SCNu32, &node, &order) != 2) return false;
    if (sscanf(value, "%" SCNu64 " %" SCNu32 " %23s %23s %n", &ms, &type, category, severity,
               &at) != 4 ||
        at == 0)
        return false;
    int category_number = ndb_mgm_category_number(category);
    int severity_number = ndb_mgm_severity_number(severity);
    if (category_number < 0 || severity_number < 0) return false;
    *event = (struct ndb_mgm_event){.type = type,
                                    .time = ms / 1000,
                                    .time_ms = (uint32_t)(ms % 1000),
                                    .source_node = node,
                                    .order = order,
                                    .category = (enum ndb_mgm_category)category_number,
                                    .severity = (enum ndb_mgm_severity)severity_number};
    (void)snprintf(event->text, sizeof(event->text), "%s", value + at);
    return true;
}

int ndb_mgm_report_events(ndb_mgm_handle_t *handle, uint32_t node_id, struct ndb_mgm_event *events,
                          uint32_t room)
{
    char error_name[32];
    uint32_t count = 0;

    if (events == NULL) return mgm_fail(handle, NDB_MGM_USAGE_ERROR, "No place for events");
    if (mgm_call(handle, mgm_wait(handle), "report events\nnode: %u", node_id) != 0) return -1;
    (void)snprintf(error_name, sizeof(error_name), "node.%u.error", node_id);
    int error = (int)mgm_reply_number(handle, error_name, 0);
    if (error != 0)
        return mgm_fail(handle, error, "Node %u: %s", node_id, ndb_mgm_error_message(error));
    for (uint32_t i = 0; i < handle->reply.pair_count && count < room; i++) {
        count += read_event(mgm_pair_name(&handle->reply, i), mgm_pair_value(&handle->reply, i),
                            &events[count]);
    }
    qsort(events, count, sizeof(*events), by_time);
    return (int)count;
}
