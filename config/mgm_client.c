/* mgm_client.c -- the management API: each function is one exchange with ndb_mgmd. */
/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "config/mgm_handle.h"
#include "config/config.h"

/* ---- handle ---- */

ndb_mgm_handle_t *ndb_mgm_create_handle(void)
{
    ndb_mgm_handle_t *handle = calloc(1, sizeof(*handle));
    char why[128];

    if (handle == NULL) return NULL;
    if (mgm_parser_init(&handle->reply, MGM_REPLY_PAIRS_MAX, MGM_REPLY_TEXT_MAX) != 0) {
        free(handle);
        return NULL;
    }
    handle->socket = -1;
    handle->timeout_ms = 60000;
    (void)snprintf(handle->name, sizeof(handle->name), "a client");
    if (mgm_connectstring_parse(NULL, &handle->target, why, sizeof(why)) != 0) {
        (void)mgm_connectstring_parse("localhost", &handle->target, why, sizeof(why));
    }
    return handle;
}

void ndb_mgm_destroy_handle(ndb_mgm_handle_t *handle)
{
    if (handle == NULL) return;
    if (handle->socket >= 0) (void)ndb_mgm_disconnect(handle);
    mgm_parser_free(&handle->reply);
    free(handle);
}

int ndb_mgm_set_connectstring(ndb_mgm_handle_t *handle, const char *connectstring)
{
    struct mgm_connectstring target;
    char why[256];

    if (mgm_connectstring_parse(connectstring, &target, why, sizeof(why)) != 0) {
        return mgm_fail(handle, NDB_MGM_ILLEGAL_CONNECT_STRING, "Illegal connect string: %s", why);
    }
    handle->target = target;
    return 0;
}

uint32_t ndb_mgm_configured_nodeid(const ndb_mgm_handle_t *handle)
{
    return handle->target.node_id;
}

uint32_t ndb_mgm_address_count(const ndb_mgm_handle_t *handle)
{
    return handle->target.count;
}

void ndb_mgm_set_timeout(ndb_mgm_handle_t *handle, uint32_t milliseconds)
{
    handle->timeout_ms = milliseconds;
}

void ndb_mgm_set_name(ndb_mgm_handle_t *handle, const char *name)
{
    (void)snprintf(handle->name, sizeof(handle->name), "%s", name);
    for (char *c = handle->name; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ') *c = '?';
    }
}

int ndb_mgm_is_connected(const ndb_mgm_handle_t *handle)
{
    char byte;

    if (handle->socket < 0) return 0;
    ssize_t n = recv(handle->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
}

const char *ndb_mgm_connected_host(const ndb_mgm_handle_t *handle)
{
    return handle->socket < 0 ? "" : handle->target.addresses[handle->connected].host;
}

uint16_t ndb_mgm_connected_port(const ndb_mgm_handle_t *handle)
{
    return handle->socket < 0 ? 0 : handle->target.addresses[handle->connected].port;
}

int ndb_mgm_socket(const ndb_mgm_handle_t *handle)
{
    return handle->socket;
}

int ndb_mgm_error_code(const ndb_mgm_handle_t *handle)
{
    return handle->error;
}

const char *ndb_mgm_error_text(const ndb_mgm_handle_t *handle)
{
    return handle->error_text[0] != '\0' ? handle->error_text
                                         : ndb_mgm_error_message(handle->error);
}

/* ---- configuration and ids ---- */

static int read_body(ndb_mgm_handle_t *handle, char *text, size_t length)
{
    uint64_t deadline = mgm_now_ms() + handle->timeout_ms;

    for (size_t have = 0; have < length;) {
        if (handle->in_used == 0 && mgm_receive(handle, deadline) != 0) return -1;
        size_t n = handle->in_used < length - have ? handle->in_used : length - have;
        memcpy(text + have, handle->in, n);
        mgm_take(handle, n);
        have += n;
    }
    return 0;
}

int ndb_mgm_get_configuration(ndb_mgm_handle_t *handle, uint8_t **bytes, size_t *size)
{
    return ndb_mgm_get_configuration_of(handle, 0, bytes, size);
}

int ndb_mgm_get_configuration_of(ndb_mgm_handle_t *handle, uint32_t node_id, uint8_t **bytes,
                                 size_t *size)
{
    *bytes = NULL;
    *size = 0;
    if (mgm_call(handle, handle->timeout_ms, "get config\nversion: %u\nfrom_node: %u", 1u,
                 node_id) != 0)
        return -1;
    int64_t length = mgm_reply_number(handle, "Content-Length", -1);
    if (length < 1 || length > (int64_t)CONFIG_ENCODED_MAX * 2) {
        (void)ndb_mgm_disconnect(handle);
        return mgm_fail(handle, NDB_MGM_ILLEGAL_SERVER_REPLY,
                        "The configuration has no usable length");
    }
    char *text = malloc((size_t)length + 2);
    if (text == NULL) {
        (void)ndb_mgm_disconnect(handle);
        return mgm_fail(handle, NDB_MGM_OUT_OF_MEMORY, "Out of memory");
    }
    if (read_body(handle, text, (size_t)length + 2) != 0) { /* Two newlines follow. */
        free(text);
        if (handle->socket >= 0) (void)ndb_mgm_disconnect(handle);
        return mgm_fail(handle, NDB_MGM_GET_CONFIG_FAILED,
                        "The configuration did not arrive whole");
    }
    *bytes = config_base64_decode(text, (size_t)length, size);
    free(text);
    if (*bytes == NULL) {
        return mgm_fail(handle, NDB_MGM_ILLEGAL_SERVER_REPLY, "The configuration is no base64");
    }
    return 0;
}

int ndb_mgm_reload_config(ndb_mgm_handle_t *handle, const char *file)
{
    int rc = file == NULL
                 ? mgm_call(handle, handle->timeout_ms, "reload config")
                 : mgm_call(handle, handle->timeout_ms, "reload config\nconfig_filename: %s", file);

    return rc != 0 ? -1 : (int)mgm_reply_number(handle, "generation", -1);
}

int ndb_mgm_alloc_nodeid(ndb_mgm_handle_t *handle, enum ndb_mgm_node_type type, uint32_t wanted,
                         const char *host)
{
    const char *type_name = ndb_mgm_type_name(type);

    if (type_name == NULL) return mgm_fail(handle, NDB_MGM_USAGE_ERROR, "Unknown node type");
    if (mgm_call(handle, handle->timeout_ms,
                 "get nodeid\nversion: %u\nnodetype: %s\nnodeid: %u\nname: %s%s%s", 1u, type_name,
                 wanted, handle->name,
                 host == NULL ? "" : "\nhost: ", host == NULL ? "" : host) != 0) {
        return -1;
    }
    int64_t id = mgm_reply_number(handle, "nodeid", -1);
    if (id >= 1 && id <= NDB_MGM_NODES_MAX) return (int)id;
    return mgm_fail(handle, NDB_MGM_ILLEGAL_SERVER_REPLY, "The reply holds no node id");
}

int ndb_mgm_free_nodeid(ndb_mgm_handle_t *handle, uint32_t node_id)
{
    return mgm_call(handle, handle->timeout_ms, "free nodeid\nnodeid: %u", node_id);
}

int ndb_mgm_get_mgmd_nodeid(ndb_mgm_handle_t *handle)
{
    if (mgm_call(handle, handle->timeout_ms, "get mgmd nodeid") != 0) return -1;
    return (int)mgm_reply_number(handle, "nodeid", -1);
}

static int tell_port(ndb_mgm_handle_t *handle, uint32_t node1, uint32_t node2, uint32_t port)
{
    return mgm_call(handle, handle->timeout_ms,
                    "set connection parameter\nnode1: %u\nnode2: %u\nparam: 406\nvalue: %u", node1,
                    node2, port);
}

/* Each management server links to the data nodes by itself, so each has to know: the other
 * addresses of the connect string are told over connections of their own. One that is down does not
 * matter now. */
int ndb_mgm_set_connection_port(ndb_mgm_handle_t *handle, uint32_t node1, uint32_t node2,
                                uint32_t port)
{
    if (tell_port(handle, node1, node2, port) != 0) return -1;
    for (uint32_t i = 0; i < handle->target.count; i++) {
        if (i == handle->connected) continue;
        ndb_mgm_handle_t *other = ndb_mgm_create_handle();
        if (other == NULL) break;
        other->target = handle->target;
        other->timeout_ms = handle->timeout_ms < 5000 ? handle->timeout_ms : 5000;
        if (ndb_mgm_connect_to(other, i) == 0) (void)tell_port(other, node1, node2, port);
        ndb_mgm_destroy_handle(other);
    }
    return 0;
}

int ndb_mgm_get_connection_port(ndb_mgm_handle_t *handle, uint32_t node1, uint32_t node2)
{
    if (mgm_call(handle, handle->timeout_ms,
                 "get connection parameter\nnode1: %u\nnode2: %u\nparam: 406", node1, node2) != 0) {
        return -1;
    }
    return (int)mgm_reply_number(handle, "value", 0);
}

/* ---- status ---- */

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

int ndb_mgm_get_status(ndb_mgm_handle_t *handle, struct ndb_mgm_cluster_state *state)
{
    state->count = 0;
    if (mgm_call(handle, handle->timeout_ms, "get status") != 0) return -1;
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
    if (mgm_call(handle, handle->timeout_ms, "report memory\nnode: %u", node_id) != 0) return -1;
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
    if (mgm_call(handle, handle->timeout_ms, "report disk\nnode: %u", node_id) != 0) return -1;
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
    if (mgm_call(handle, handle->timeout_ms, "report threads\nnode: %u", node_id) != 0) return -1;
    return gather_reports(handle, reports, sizeof(*reports), room, set_threads);
}

/* ---- orders ---- */

static int list_nodes(ndb_mgm_handle_t *handle, const uint32_t *nodes, uint32_t count, char *text,
                      size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%u", i == 0 ? "" : ",", nodes[i]);
        if (used + 12 > size)
            return mgm_fail(handle, NDB_MGM_USAGE_ERROR, "Too many nodes are named");
    }
    return 0;
}

static uint64_t long_wait(const ndb_mgm_handle_t *handle)
{
    return (uint64_t)handle->timeout_ms * MGM_STOP_FACTOR;
}

int ndb_mgm_start(ndb_mgm_handle_t *handle, const uint32_t *nodes, uint32_t count)
{
    char list[1000];

    if (list_nodes(handle, nodes, count, list, sizeof(list)) != 0) return -1;
    int rc = count == 0 ? mgm_call(handle, handle->timeout_ms, "start all")
                        : mgm_call(handle, handle->timeout_ms, "start\nnode: %s", list);
    return rc != 0 ? -1 : (int)mgm_reply_number(handle, "started", 0);
}

int ndb_mgm_stop(ndb_mgm_handle_t *handle, const uint32_t *nodes, uint32_t count, uint32_t flags,
                 int *disconnect)
{
    char list[1000];

    if (disconnect != NULL) *disconnect = 0;
    if (list_nodes(handle, nodes, count, list, sizeof(list)) != 0) return -1;
    if (mgm_call(handle, long_wait(handle), "%s%s%s\nabort: %d\nforce: %d\nstop: db",
                 count == 0 ? "stop all" : "stop", count == 0 ? "" : "\nnode: ", list,
                 (flags & NDB_MGM_FLAG_ABORT) != 0, (flags & NDB_MGM_FLAG_FORCE) != 0) != 0) {
        return -1;
    }
    if (disconnect != NULL) *disconnect = mgm_reply_number(handle, "disconnect", 0) == 1;
    return (int)mgm_reply_number(handle, "stopped", 0);
}

int ndb_mgm_restart(ndb_mgm_handle_t *handle, const uint32_t *nodes, uint32_t count, uint32_t flags,
                    int *disconnect)
{
    char list[1000];

    if (disconnect != NULL) *disconnect = 0;
    if (list_nodes(handle, nodes, count, list, sizeof(list)) != 0) return -1;
    if (mgm_call(handle, long_wait(handle),
                 "%s%s%s\nabort: %d\nforce: %d\nnostart: %d\ninitialstart: %d",
                 count == 0 ? "restart all" : "restart node", count == 0 ? "" : "\nnode: ", list,
                 (flags & NDB_MGM_FLAG_ABORT) != 0, (flags & NDB_MGM_FLAG_FORCE) != 0,
                 (flags & NDB_MGM_FLAG_NOSTART) != 0, (flags & NDB_MGM_FLAG_INITIAL) != 0) != 0) {
        return -1;
    }
    if (disconnect != NULL) *disconnect = mgm_reply_number(handle, "disconnect", 0) == 1;
    return (int)mgm_reply_number(handle, "restarted", 0);
}

int ndb_mgm_check_restart(ndb_mgm_handle_t *handle, uint32_t flags)
{
    return mgm_call(handle, handle->timeout_ms, "check restart\ninitialstart: %d",
                    (flags & NDB_MGM_FLAG_INITIAL) != 0);
}

/* Waits until the server that was stopped has closed the connection. */
static void wait_for_end(ndb_mgm_handle_t *handle)
{
    uint64_t deadline = mgm_now_ms() + 5000;

    while (mgm_receive(handle, deadline) == 0)
        handle->in_used = 0;
    if (handle->socket >= 0) (void)ndb_mgm_disconnect(handle);
    handle->error = 0;
    handle->error_text[0] = '\0';
}

/* Stops one other management server over a connection of its own; one that cannot be reached is
 * down. */
static int stop_server(const ndb_mgm_handle_t *handle, const char *host, uint32_t port)
{
    ndb_mgm_handle_t *other = ndb_mgm_create_handle();
    char address[300];
    int rc = 0;

    if (other == NULL) return 0;
    (void)snprintf(address, sizeof(address), "[%s]:%u", host[0] == '\0' ? "localhost" : host, port);
    other->timeout_ms = handle->timeout_ms;
    if (ndb_mgm_set_connectstring(other, address) == 0 && ndb_mgm_connect(other, 0, 0) == 0) {
        rc = mgm_call(other, other->timeout_ms, "stop all\nstop: mgm") == 0;
        if (rc == 1) wait_for_end(other);
    }
    ndb_mgm_destroy_handle(other);
    return rc;
}

int ndb_mgm_shutdown(ndb_mgm_handle_t *handle)
{
    struct ndb_mgm_cluster_state *state = malloc(sizeof(*state));
    uint32_t ports[NDB_MGM_NODES_MAX + 1] = {0};
    int own = ndb_mgm_get_mgmd_nodeid(handle);
    int count = -1;

    if (state == NULL) return mgm_fail(handle, NDB_MGM_OUT_OF_MEMORY, "Out of memory");
    if (own >= 0 && ndb_mgm_get_status(handle, state) == 0) {
        for (uint32_t i = 0; i < state->count; i++) {
            char name[32];
            (void)snprintf(name, sizeof(name), "node.%u.port", state->nodes[i].node_id);
            ports[state->nodes[i].node_id] = (uint32_t)mgm_reply_number(handle, name, 0);
        }
        count = mgm_call(handle, long_wait(handle), "stop all\nstop: db") != 0
                    ? -1
                    : (int)mgm_reply_number(handle, "stopped", 0);
    }
    for (uint32_t i = 0; count >= 0 && i < state->count; i++) {
        const struct ndb_mgm_node_state *node = &state->nodes[i];
        if (node->type != NDB_MGM_NODE_MGM || node->node_id == (uint32_t)own) continue;
        count += stop_server(handle, node->host, ports[node->node_id]);
    }
    if (count >= 0 && mgm_call(handle, handle->timeout_ms, "stop all\nstop: mgm") == 0) {
        count++;
        wait_for_end(handle);
    }
    free(state);
    return count;
}

int ndb_mgm_enter_single_user(ndb_mgm_handle_t *handle, uint32_t node_id)
{
    return mgm_call(handle, handle->timeout_ms, "enter single user\nnodeId: %u", node_id);
}

int ndb_mgm_exit_single_user(ndb_mgm_handle_t *handle)
{
    return mgm_call(handle, handle->timeout_ms, "exit single user");
}

int ndb_mgm_purge_stale_sessions(ndb_mgm_handle_t *handle, char *list, size_t size)
{
    if (mgm_call(handle, handle->timeout_ms, "purge stale sessions") != 0) return -1;
    const char *purged = mgm_value(&handle->reply, "purged");
    (void)snprintf(list, size, "%s", purged == NULL ? "" : purged);
    return 0;
}

int ndb_mgm_report_stop(ndb_mgm_handle_t *handle, uint32_t node_id, uint32_t action,
                        uint32_t signal_number, uint32_t exit_code, uint32_t start_phase,
                        const char *text)
{
    return mgm_call(handle, handle->timeout_ms,
                    "report stop\nnode: %u\naction: %u\nsignal: %u\nerror: %u\nstartphase: %u\n"
                    "text: %s",
                    node_id, action, signal_number, exit_code, start_phase, text);
}

int ndb_mgm_claim_cluster(ndb_mgm_handle_t *handle, uint32_t node_id, uint64_t cluster_id)
{
    return mgm_call(handle, handle->timeout_ms, "claim cluster\nnode: %u\ncluster: %llu", node_id,
                    (unsigned long long)cluster_id);
}

int ndb_mgm_dump_state(ndb_mgm_handle_t *handle, uint32_t node_id, const uint32_t *args,
                       uint32_t count)
{
    char list[400];

    if (count == 0 || count > 24) {
        return mgm_fail(handle, NDB_MGM_USAGE_ERROR, "DUMP takes 1..24 numbers");
    }
    if (list_nodes(handle, args, count, list, sizeof(list)) != 0) return -1;
    return mgm_call(handle, handle->timeout_ms, "dump state\nnode: %u\nargs: %s", node_id, list);
}
