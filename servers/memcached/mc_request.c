/* mc_request.c -- values that are held by several, and expiries. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "servers/memcached/mc_request.h"
#include <stdlib.h>
#include <string.h>

struct mc_value *mc_value_create(uint32_t size)
{
    struct mc_value *value = malloc(sizeof *value + size);
    if (value == NULL) return NULL;
    value->references = 1;
    value->size = size;
    return value;
}

struct mc_value *mc_value_hold(struct mc_value *value)
{
    __atomic_add_fetch(&value->references, 1, __ATOMIC_RELAXED);
    return value;
}

void mc_value_release(struct mc_value *value)
{
    if (value != NULL && __atomic_sub_fetch(&value->references, 1, __ATOMIC_ACQ_REL) == 0)
        free(value);
}

void mc_request_clear(struct mc_request *request)
{
    mc_value_release(request->value);
    mc_value_release(request->result.value);
    mc_value_release(request->copy);
    memset(request, 0, sizeof *request);
}

const char *mc_command_name(enum mc_command command)
{
    static const char *const names[MC_COMMANDS] = {[MC_GET] = "get",
                                                   [MC_SET] = "set",
                                                   [MC_ADD] = "add",
                                                   [MC_REPLACE] = "replace",
                                                   [MC_APPEND] = "append",
                                                   [MC_PREPEND] = "prepend",
                                                   [MC_DELETE] = "delete",
                                                   [MC_INCREMENT] = "increment",
                                                   [MC_DECREMENT] = "decrement",
                                                   [MC_FLUSH_ALL] = "flush_all",
                                                   [MC_STATS] = "stats",
                                                   [MC_VERSION] = "version",
                                                   [MC_VERBOSITY] = "verbosity",
                                                   [MC_NOOP] = "noop",
                                                   [MC_BAD] = "mistake",
                                                   [MC_AUTH] = "auth",
                                                   [MC_AUTH_LIST] = "auth_list",
                                                   [MC_QUIT] = "quit",
                                                   [MC_SHUTDOWN] = "shutdown"};
    return names[command];
}

const char *mc_status_name(enum mc_status status)
{
    static const char *const names[MC_STATUSES] = {[MC_OK] = "done",
                                                   [MC_NOT_FOUND] = "not found",
                                                   [MC_EXISTS] = "exists",
                                                   [MC_NOT_STORED] = "not stored",
                                                   [MC_TOO_LARGE] = "too large",
                                                   [MC_INVALID] = "invalid",
                                                   [MC_NON_NUMERIC] = "no number",
                                                   [MC_NO_MEMORY] = "no memory",
                                                   [MC_NOT_SUPPORTED] = "not supported",
                                                   [MC_TEMPORARY] = "temporary error",
                                                   [MC_FAILED] = "failed",
                                                   [MC_AUTH_ERROR] = "not authenticated"};
    return names[status];
}

uint32_t mc_expiry(int64_t exptime, uint32_t now)
{
    if (exptime == 0) return 0;
    if (exptime < 0) return MC_EXPIRED;
    int64_t at = exptime <= (int64_t)MC_RELATIVE_MAX ? (int64_t)now + exptime : exptime;
    if (at <= (int64_t)now) return MC_EXPIRED;
    return at > (int64_t)UINT32_MAX ? UINT32_MAX : (uint32_t)at;
}
