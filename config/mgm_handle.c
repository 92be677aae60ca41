/* mgm_handle.c -- a program's handle on management servers is made, set up, asked how it stands. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "config/mgm_handle.h"

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

    if (handle == NULL) return -1;
    if (mgm_connectstring_parse(connectstring, &target, why, sizeof(why)) != 0) {
        return mgm_fail(handle, NDB_MGM_ILLEGAL_CONNECT_STRING, "Illegal connect string: %s", why);
    }
    handle->target = target;
    return 0;
}

uint32_t ndb_mgm_configured_nodeid(const ndb_mgm_handle_t *handle)
{
    return handle == NULL ? 0 : handle->target.node_id;
}

uint32_t ndb_mgm_address_count(const ndb_mgm_handle_t *handle)
{
    return handle == NULL ? 0 : handle->target.count;
}

void ndb_mgm_set_timeout(ndb_mgm_handle_t *handle, uint32_t milliseconds)
{
    if (handle != NULL) handle->timeout_ms = milliseconds;
}

void ndb_mgm_set_name(ndb_mgm_handle_t *handle, const char *name)
{
    if (handle == NULL || name == NULL) return;
    (void)snprintf(handle->name, sizeof(handle->name), "%s", name);
    for (char *c = handle->name; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ') *c = '?';
    }
}

int ndb_mgm_is_connected(const ndb_mgm_handle_t *handle)
{
    char byte;

    if (handle == NULL || handle->socket < 0) return 0;
    ssize_t n = recv(handle->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
}

const char *ndb_mgm_connected_host(const ndb_mgm_handle_t *handle)
{
    return handle == NULL || handle->socket < 0 ? ""
                                                : handle->target.addresses[handle->connected].host;
}

uint16_t ndb_mgm_connected_port(const ndb_mgm_handle_t *handle)
{
    return handle == NULL || handle->socket < 0 ? 0
                                                : handle->target.addresses[handle->connected].port;
}

int ndb_mgm_socket(const ndb_mgm_handle_t *handle)
{
    return handle == NULL ? -1 : handle->socket;
}

int ndb_mgm_error_code(const ndb_mgm_handle_t *handle)
{
    return handle == NULL ? NDB_MGM_USAGE_ERROR : handle->error;
}

const char *ndb_mgm_error_text(const ndb_mgm_handle_t *handle)
{
    if (handle == NULL) return "No handle given";
    return handle->error_text[0] != '\0' ? handle->error_text
                                         : ndb_mgm_error_message(handle->error);
}
