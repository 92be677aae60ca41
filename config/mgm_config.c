/* mgm_config.c -- what management servers keep for the nodes: the configuration, node ids, ports. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "config/mgm_handle.h"
#include "config/config.h"

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
    if (bytes == NULL || size == NULL)
        return mgm_fail(handle, NDB_MGM_USAGE_ERROR, "No place for the configuration");
    *bytes = NULL;
    *size = 0;
    if (mgm_call(handle, mgm_wait(handle), "get config\nversion: %u\nfrom_node: %u", 1u, node_id) !=
        0)
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
    if (file != NULL && !mgm_is_line(handle, "file", file)) return -1;
    int rc = file == NULL
                 ? mgm_call(handle, mgm_wait(handle), "reload config")
                 : mgm_call(handle, mgm_wait(handle), "reload config\nconfig_filename: %s", file);

    return rc != 0 ? -1 : (int)mgm_reply_number(handle, "generation", -1);
}

int ndb_mgm_alloc_nodeid(ndb_mgm_handle_t *handle, enum ndb_mgm_node_type type, uint32_t wanted,
                         const char *host)
{
    const char *type_name = ndb_mgm_type_name(type);

    if (handle == NULL) return -1;
    if (type_name == NULL) return mgm_fail(handle, NDB_MGM_USAGE_ERROR, "Unknown node type");
    if (host != NULL && !mgm_is_line(handle, "host", host)) return -1;
    if (mgm_call(handle, mgm_wait(handle),
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
    return mgm_call(handle, mgm_wait(handle), "free nodeid\nnodeid: %u", node_id);
}

int ndb_mgm_get_mgmd_nodeid(ndb_mgm_handle_t *handle)
{
    if (mgm_call(handle, mgm_wait(handle), "get mgmd nodeid") != 0) return -1;
    return (int)mgm_reply_number(handle, "nodeid", -1);
}

static int tell_port(ndb_mgm_handle_t *handle, uint32_t node1, uint32_t node2, uint32_t port)
{
    return mgm_call(handle, mgm_wait(handle),
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
    if (mgm_call(handle, mgm_wait(handle),
                 "get connection parameter\nnode1: %u\nnode2: %u\nparam: 406", node1, node2) != 0) {
        return -1;
    }
    return (int)mgm_reply_number(handle, "value", 0);
}
