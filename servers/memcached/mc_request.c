/* mc_request.c -- values that are held by several, and expiries. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "servers/memcached/mc_request.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Values. ---- */

/*
 * Small ones are as large as the next class, so that the memory of any of them will do for any
 * other of its class. A thread that serves has hundreds of them between two rounds, which is more
 * than malloc() has at hand without taking its chunks apart.
 */
#define CLASS_BYTES 32u
#define CLASSES     8u
#define KEPT_MAX    1024u /* Spare ones of each class. */

struct spare {
    struct spare *next;
};

struct kept {
    bool on;
    uint32_t count[CLASSES];
    struct spare *first[CLASSES];
};
static _Thread_local struct kept kept;

static uint32_t class_of(uint32_t size)
{
    return (uint32_t)((sizeof(struct mc_value) + size - 1u) / CLASS_BYTES);
}

static void *memory_for(uint32_t size)
{
    uint32_t class = class_of(size);
    if (class >= CLASSES) return malloc(sizeof(struct mc_value) + size);
    struct spare *spare = kept.first[class];
    if (spare == NULL) return malloc((class + 1u) * CLASS_BYTES);
    kept.first[class] = spare->next;
    kept.count[class]--;
    return spare;
}

static void give_back(struct mc_value *value)
{
    uint32_t class = class_of(value->size);
    if (!kept.on || class >= CLASSES || kept.count[class] == KEPT_MAX) {
        free(value);
        return;
    }
    struct spare *spare = (struct spare *)(void *)value;
    spare->next = kept.first[class];
    kept.first[class] = spare;
    kept.count[class]++;
}

void mc_value_keep(bool keep)
{
#ifdef __SANITIZE_ADDRESS__ /* It shall see who uses what was released. */
    keep = false;
#endif
    kept.on = keep;
    for (uint32_t class = 0; !keep && class < CLASSES; class ++) {
        while (kept.first[class] != NULL) {
            struct spare *spare = kept.first[class];
            kept.first[class] = spare->next;
            free(spare);
        }
        kept.count[class] = 0;
    }
}

struct mc_value *mc_value_create(uint32_t size)
{
    struct mc_value *value = memory_for(size);
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

/* Who has the only reference need not count it down. */
void mc_value_release(struct mc_value *value)
{
    if (value == NULL) return;
    if (__atomic_load_n(&value->references, __ATOMIC_ACQUIRE) == 1 ||
        __atomic_sub_fetch(&value->references, 1, __ATOMIC_ACQ_REL) == 0)
        give_back(value);
}

/* ---- Requests. ---- */

void mc_request_release(struct mc_request *request)
{
    mc_value_release(request->value);
    mc_value_release(request->result.value);
    mc_value_release(request->copy);
}

void mc_request_clear(struct mc_request *request)
{
    mc_request_release(request);
    memset(request, 0, offsetof(struct mc_request, key));
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

const char *mc_request_refusal(const struct mc_result *result, char text[MC_REFUSAL_MAX])
{
    bool too_large = result->status == MC_TOO_LARGE;
    if (result->column == NULL || (!too_large && result->status != MC_INVALID)) return NULL;
    snprintf(text, MC_REFUSAL_MAX, "%s column %s",
             too_large ? "object too large for" : "invalid value for", result->column);
    return text;
}
