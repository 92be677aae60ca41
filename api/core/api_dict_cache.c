/* api_dict_cache.c -- the tables that the clients of a node share, until they have changed. */
/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <xxhash.h>
#include "api/core/api_dict_state.h"
#include "api/core/api_table_state.h"

bool api_error_is_stale(uint32_t error)
{
    return error == ERR_SCHEMA_VERSION || error == ERR_TABLE_DROPPING_TC ||
           error == ERR_UNKNOWN_TABLE_TC || error == ERR_TABLE_DROPPING ||
           error == ERR_SCHEMA_VERSION_LQH;
}

static struct api_table **bucket_of(struct api_core *core, const char *name)
{
    return &core->tables[XXH3_64bits(name, strlen(name)) % API_DICT_BUCKETS];
}

/* Takes the table (of this name; this very one if `only` is given) out of the cache. The lock is
 * held. */
static struct api_table *unlink_table(struct api_core *core, const char *name,
                                      const struct api_table *only)
{
    for (struct api_table **at = bucket_of(core, name); *at != NULL; at = &(*at)->next) {
        struct api_table *table = *at;
        if (strcmp(table->name, name) != 0 || (only != NULL && only != table)) continue;
        *at = table->next;
        return table;
    }
    return NULL;
}

struct api_table *api_dict_cached(struct api_core *core, const char *name)
{
    struct api_table *found = NULL;
    pthread_mutex_lock(&core->lock);
    for (struct api_table *table = *bucket_of(core, name); table != NULL && found == NULL;
         table = table->next) {
        if (strcmp(table->name, name) == 0) found = api_table_hold(table);
    }
    pthread_mutex_unlock(&core->lock);
    return found;
}

void api_dict_invalidate(struct api_core *core, const char *name)
{
    pthread_mutex_lock(&core->lock);
    core->changes++;
    struct api_table *table = unlink_table(core, name, NULL);
    pthread_mutex_unlock(&core->lock);
    api_table_release(table);
}

void api_dict_invalidate_table(struct api_core *core, const struct api_table *only)
{
    pthread_mutex_lock(&core->lock);
    struct api_table *table = unlink_table(core, only->name, only);
    pthread_mutex_unlock(&core->lock);
    api_table_release(table);
}

void api_dict_changed(struct api_core *core, uint32_t table_id, uint32_t version)
{
    struct api_table *old = NULL;
    pthread_mutex_lock(&core->lock);
    core->changes++;
    for (uint32_t i = 0; i < API_DICT_BUCKETS && old == NULL; i++) {
        struct api_table **at = &core->tables[i];
        while (*at != NULL && ((*at)->def->table_id != table_id || (*at)->def->version == version))
            at = &(*at)->next;
        old = *at;
        if (old != NULL) *at = old->next;
    }
    pthread_mutex_unlock(&core->lock);
    api_table_release(old);
}

uint64_t api_dict_changes(struct api_core *core)
{
    pthread_mutex_lock(&core->lock);
    uint64_t changes = core->changes;
    pthread_mutex_unlock(&core->lock);
    return changes;
}

/* Which of two minor versions is the newer one nobody can tell: they go round. So an answer counts
 * for others only if nothing was told to have changed since it was asked for: the word of a change
 * overtakes answers that wait for their threads. Its own caller gets it all the same. */
void api_dict_keep(const struct api_dict_request *request, struct api_table *table)
{
    struct api_core *core = request->client->core;
    struct api_table *old = NULL;
    pthread_mutex_lock(&core->lock);
    if (core->changes == request->changes) { /* I-API-6 */
        old = unlink_table(core, table->name, NULL);
        struct api_table **bucket = bucket_of(core, table->name);
        table->next = *bucket;
        *bucket = api_table_hold(table);
    }
    pthread_mutex_unlock(&core->lock);
    api_table_release(old);
}

void api_dict_drop_cache(struct api_core *core)
{
    pthread_mutex_lock(&core->lock);
    core->changes++;
    for (uint32_t i = 0; i < API_DICT_BUCKETS; i++) {
        while (core->tables[i] != NULL) {
            struct api_table *table = core->tables[i];
            core->tables[i] = table->next;
            api_table_release(table);
        }
    }
    pthread_mutex_unlock(&core->lock);
}
