/* api_dict.c -- tables: the shared cache, reading, creating, dropping and listing them. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "api/core/api_dict_state.h"
#include "api/core/api_table_state.h"
#include "api/core/api_tx_state.h"

#define RETRY_MS         50u
#define BUCKETS_MAX      23040u
#define LIST_WORDS_MAX   (1u << 22)
#define LIST_ENTRY_WORDS 5u /* Before the name. */

/* ---- Table objects. ---- */

const struct table_def *api_table_def(const struct api_table *table)
{
    return table->def;
}
uint32_t api_table_fragments(const struct api_table *table)
{
    return table->fragments;
}
uint32_t api_table_partitions(const struct api_table *table)
{
    return table->partitions;
}
uint32_t api_table_replicas(const struct api_table *table)
{
    return table->replicas;
}
uint32_t api_table_buckets(const struct api_table *table)
{
    return table->buckets;
}

uint32_t api_table_node(const struct api_table *table, uint32_t fragment, uint32_t replica)
{
    if (fragment >= table->fragments || replica >= table->replicas) return 0;
    return table->nodes[fragment * table->replicas + replica];
}

uint32_t api_table_fragment_of(const struct api_table *table, const uint32_t *key, uint32_t words)
{
    if (table->partitions == 1) return 0;
    return table->map[hash_map_bucket(key_partition_hash(table->def, key, words), table->buckets)];
}

uint32_t api_table_fragment_of_unique(const struct api_table *table, uint32_t unique,
                                      const uint32_t *key, uint32_t words)
{
    const void *def = table->unique_keys + unique * API_KEY_DEF_BYTES;
    if (table->partitions == 1) return 0;
    return table->map[hash_map_bucket(key_partition_hash(def, key, words), table->buckets)];
}

struct api_table *api_table_hold(struct api_table *table)
{
    atomic_fetch_add(&table->references, 1);
    return table;
}

void api_table_release(struct api_table *table)
{
    if (table != NULL && atomic_fetch_sub(&table->references, 1) == 1) {
        free(atomic_load(&table->cached));
        free(table->unique_keys);
        free(table->def);
        free(table);
    }
}

void *api_table_cached(struct api_table *table, void *made)
{
    void *kept = atomic_load_explicit(&table->cached, memory_order_acquire);
    if (kept == NULL && made != NULL && atomic_compare_exchange_strong(&table->cached, &kept, made))
        return made;
    free(made);
    return kept;
}

/* The keys of the unique indexes, whose tables are where the table is. */
static uint32_t make_unique_keys(struct api_table *table)
{
    const struct table_def *def = table->def;
    if (def->unique_count == 0) return 0;
    size_t size =
        table_def_size(INDEX_COLUMNS_MAX + 1, (INDEX_COLUMNS_MAX + 1) * (COLUMN_NAME_MAX + 1));
    void *memory = malloc(size);
    table->unique_keys = calloc(def->unique_count, API_KEY_DEF_BYTES);
    uint32_t error = memory == NULL || table->unique_keys == NULL ? ERR_API_MEMORY : 0;
    for (uint32_t i = 0; error == 0 && i < def->unique_count; i++) {
        struct table_def *index;
        error = table_def_of_unique(def, i, memory, size, &index);
        if (error == 0) key_def_make((void *)(table->unique_keys + i * API_KEY_DEF_BYTES), index);
    }
    free(memory);
    return error;
}

/* Checks a distribution section (dict.h) and copies it behind the table object. NULL: malformed, or
 * no memory. */
static struct api_table *make_table(const struct section *distribution)
{
    const uint32_t *words = distribution->words;
    if (distribution->size < DISTRIBUTION_HEAD_WORDS) return NULL;
    uint32_t fragments = words[0];
    uint32_t replicas = words[1];
    uint32_t buckets = words[2];
    if (fragments == 0 || fragments > TABLE_FRAGMENTS_MAX || replicas == 0 ||
        replicas > REPLICAS_MAX)
        return NULL;
    if (buckets == 0 || buckets > BUCKETS_MAX) return NULL;
    uint32_t map_words = (buckets + 1) / 2;
    uint32_t need = fragments * replicas + map_words;
    if (distribution->size != DISTRIBUTION_HEAD_WORDS + need) return NULL;
    struct api_table *table = calloc(1, sizeof *table + need * 4u);
    if (table == NULL) return NULL;
    uint32_t *copy = (uint32_t *)(table + 1);
    memcpy(copy, words + DISTRIBUTION_HEAD_WORDS, need * 4u);
    atomic_init(&table->references, 1);
    table->fragments = fragments;
    table->replicas = replicas;
    table->buckets = buckets;
    table->nodes = copy;
    table->map = (const uint16_t *)(const void *)(copy + fragments * replicas);
    bool fine = true;
    for (uint32_t i = 0; i < fragments * replicas; i++)
        fine = fine && copy[i] <= DATA_NODE_ID_MAX;
    for (uint32_t i = 0; i < buckets; i++)
        fine = fine && table->map[i] < fragments;
    table->partitions = distribution_partitions(table->map, buckets);
    if (fine && fragments % table->partitions == 0) return table;
    free(table);
    return NULL;
}

static struct api_table *decode_table(const struct section *definition,
                                      const struct section *distribution, uint32_t *error)
{
    struct api_table *table = make_table(distribution);
    size_t size = table_def_decode_size(definition->words, definition->size);
    *error = ERR_REPLY_4215;
    if (table == NULL || size == 0) {
        free(table);
        return NULL;
    }
    void *memory = malloc(size);
    *error = memory == NULL
                 ? ERR_API_MEMORY
                 : table_def_decode(definition->words, definition->size, memory, size, &table->def);
    if (*error == 0) *error = make_unique_keys(table);
    if (*error != 0) {
        free(table->unique_keys);
        free(memory);
        free(table);
        return NULL;
    }
    table->def = memory;
    table->row_words = api_row_words(table->def);
    table_def_internal_name(table->def, table->name, sizeof table->name);
    return table;
}

/* ---- The cache. ---- */

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

static uint64_t changes_so_far(struct api_core *core)
{
    pthread_mutex_lock(&core->lock);
    uint64_t changes = core->changes;
    pthread_mutex_unlock(&core->lock);
    return changes;
}

/* Which of two minor versions is the newer one nobody can tell: they go round. So an answer counts
 * for others only if nothing was told to have changed since it was asked for: the word of a change
 * overtakes answers that wait for their threads. Its own caller gets it all the same. */
static void keep_table(const struct api_dict_request *request, struct api_table *table)
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

/* ---- Requests. ---- */

static bool is_read(const struct api_dict_request *request)
{
    return request->kind == DICT_GET || request->kind == DICT_LIST;
}

/* The answer that waits for another node's is forgotten. */
static void unsay(struct api_dict_request *request)
{
    api_table_release(request->said.table);
    free((uint32_t *)(uintptr_t)request->said.list);
    request->said = (struct api_dict_result){0};
    request->heard = 0;
}

static void free_request(struct api_dict_request *request)
{
    unsay(request);
    free(request->words);
    free(request->list);
    request->words = NULL;
    request->list = NULL;
    api_pool_release(&request->client->dicts, request);
}

static void complete(struct api_dict_request *request, struct api_dict_result *result)
{
    api_dict_done done = request->done;
    void *context = request->context;
    uint32_t *list = request->list;
    request->list = NULL;
    if (result->table != NULL) keep_table(request, result->table);
    request->client->pending--;
    free_request(request);
    done(context, result);
    free(list);
}

static void fail(struct api_dict_request *request, uint32_t error)
{
    struct api_dict_result result = {.error = error};
    complete(request, &result);
}

static struct api_dict_request *new_request(struct api_client *client, enum api_dict_kind kind,
                                            uint32_t timeout_ms, api_dict_done done, void *context)
{
    struct api_dict_request *request = api_pool_seize(&client->dicts);
    if (request == NULL) return NULL;
    struct api_record record = request->record;
    *request = (struct api_dict_request){
        .record = record, .client = client, .kind = kind, .done = done, .context = context};
    request->changes = changes_so_far(client->core);
    request->timeout_ms = timeout_ms;
    request->deadline_ms = api_deadline(client, timeout_ms);
    client->statistics.dictionary_requests++;
    return request;
}

/*
 * A node that the others have just lost, and that does not know it yet, tells what was true before:
 * a table is missing that has been created since, or is there and has been dropped. So what the
 * dictionary says counts only when the last two nodes that were asked have said the same; one is
 * enough when there is no other one.
 */
static void believe(struct api_dict_request *request)
{
    struct api_dict_result result = request->said;
    free(request->list);
    request->list = (uint32_t *)(uintptr_t)result.list;
    request->said = (struct api_dict_result){0};
    complete(request, &result);
}

static bool same_answer(const struct api_dict_result *one, const struct api_dict_result *other)
{
    return one->error == other->error && one->table_id == other->table_id &&
           one->version == other->version && one->list_words == other->list_words &&
           (one->list_words == 0 ||
            memcmp(one->list, other->list, (size_t)one->list_words * 4u) == 0);
}

static void retry_later(struct api_dict_request *request)
{
    request->node = 0;
    request->retry_ms = request->client->now_ms + RETRY_MS;
    api_wake_at(request->client, request->retry_ms);
}

/* A node's list comes in batches, all from that node. */
static void begin_list(struct api_dict_request *request)
{
    request->list_words = 0;
    request->list_count = 0;
    request->table_id = 0;
}

/* Changes go to the president as far as it is known; of the two that a read asks it is the second
 * one, when it was not the first. 0: nobody. */
static uint32_t node_to_ask(struct api_dict_request *request)
{
    struct api_client *client = request->client;
    if (is_read(request) && request->table_id != 0) {
        if (api_core_node_ready(client->core, request->node)) return request->node;
        begin_list(request);
    }
    uint32_t president = request->master != 0 ? request->master : api_core_president(client->core);
    bool any = is_read(request) && request->heard == 0;
    request->master = 0;
    if (!any && president != request->heard && api_core_node_ready(client->core, president))
        return president;
    return api_other_node(client, request->heard);
}

/* Without a node it is tried again later. */
static void send_request(struct api_dict_request *request)
{
    struct api_client *client = request->client;
    uint32_t node = node_to_ask(request);
    if (node == 0 && request->heard != 0) { /* Nobody is left who could say otherwise. */
        believe(request);
        return;
    }
    if (node != 0) {
        request->epoch = atomic_load(&client->core->node[node].epoch);
        request->words[1] = block_ref(node, BLOCK_DBDICT, 0);
        if (request->kind == DICT_LIST) request->words[SIGNAL_HEAD_WORDS + 1] = request->table_id;
        if (api_send(client, node, request->words, request->count)) {
            request->node = node;
            return;
        }
    }
    retry_later(request);
}

/* Packs a request with at most one section of which the caller has the words. False: no memory. */
static bool pack(struct api_dict_request *request, uint32_t gsn, const uint32_t *payload,
                 uint32_t words, const uint32_t *section, uint32_t section_words)
{
    uint32_t sections = section == NULL ? 0 : 1;
    request->count = SIGNAL_HEAD_WORDS + words + sections + section_words;
    request->words = malloc((size_t)request->count * 4u);
    if (request->words == NULL) return false;
    api_pack_head(request->words, gsn, 0, request->client->own_ref, words, sections);
    request->words[3] = request->count;
    memcpy(request->words + SIGNAL_HEAD_WORDS, payload, words * 4u);
    if (sections == 0) return true;
    request->words[SIGNAL_HEAD_WORDS + words] = section_words;
    memcpy(request->words + SIGNAL_HEAD_WORDS + words + 1, section, (size_t)section_words * 4u);
    return true;
}

static uint32_t start(struct api_dict_request *request, bool packed)
{
    if (!packed) {
        free_request(request);
        return ERR_API_MEMORY;
    }
    request->client->pending++;
    send_request(request);
    return 0;
}

uint32_t api_dict_get(struct api_client *client, const char *name, uint32_t timeout_ms,
                      api_dict_done done, void *context)
{
    size_t size = strlen(name);
    uint32_t section[2 + TABLE_NAME_MAX / 4] = {0};
    if (size == 0 || size > TABLE_NAME_MAX) return ERR_TABLE_NAME_TOO_LONG;
    struct api_dict_request *request = new_request(client, DICT_GET, timeout_ms, done, context);
    if (request == NULL) return ERR_API_MEMORY;
    struct get_tabinfo_req req = {.sender_data = request->record.ref};
    section[0] = (uint32_t)size;
    memcpy(section + 1, name, size);
    memcpy(request->name, name, size + 1);
    return start(request, pack(request, GSN_GET_TABINFO_REQ, (const uint32_t *)&req,
                               sizeof req / 4u, section, 1 + words_of((uint32_t)size)));
}

uint32_t api_dict_create(struct api_client *client, const struct table_def *def,
                         uint32_t timeout_ms, api_dict_done done, void *context)
{
    uint32_t words = table_def_words(def);
    if (words + 64 > SIGNAL_EXTENT_MAX) return ERR_DEFINITION_TOO_BIG;
    uint32_t *section = malloc((size_t)words * 4u);
    struct api_dict_request *request = new_request(client, DICT_CREATE, timeout_ms, done, context);
    if (section == NULL || request == NULL) {
        free(section);
        if (request != NULL) free_request(request);
        return ERR_API_MEMORY;
    }
    struct create_table_req req = {.sender_data = request->record.ref};
    uint32_t used = table_def_encode(def, section, words);
    bool packed =
        pack(request, GSN_CREATE_TABLE_REQ, (const uint32_t *)&req, sizeof req / 4u, section, used);
    free(section);
    return start(request, packed);
}

uint32_t api_dict_drop(struct api_client *client, uint32_t table_id, uint32_t version,
                       uint32_t timeout_ms, api_dict_done done, void *context)
{
    struct api_dict_request *request = new_request(client, DICT_DROP, timeout_ms, done, context);
    if (request == NULL) return ERR_API_MEMORY;
    struct drop_table_req req = {
        .sender_data = request->record.ref, .table_id = table_id, .version = version};
    return start(request, pack(request, GSN_DROP_TABLE_REQ, (const uint32_t *)&req, sizeof req / 4u,
                               NULL, 0));
}

uint32_t api_dict_alter(struct api_client *client, const struct alter_table_req *what,
                        const struct section *words, uint32_t timeout_ms, api_dict_done done,
                        api_dict_progress progress, void *context)
{
    struct api_dict_request *request = new_request(client, DICT_ALTER, timeout_ms, done, context);
    if (request == NULL) return ERR_API_MEMORY;
    struct alter_table_req req = *what;
    req.sender_data = request->record.ref;
    request->progress = progress;
    return start(request, pack(request, GSN_ALTER_TABLE_REQ, (const uint32_t *)&req,
                               sizeof req / 4u, words->words, words->size));
}

uint32_t api_dict_list(struct api_client *client, uint32_t timeout_ms, api_dict_done done,
                       void *context)
{
    struct api_dict_request *request = new_request(client, DICT_LIST, timeout_ms, done, context);
    if (request == NULL) return ERR_API_MEMORY;
    struct list_tables_req req = {.sender_data = request->record.ref};
    return start(request, pack(request, GSN_LIST_TABLES_REQ, (const uint32_t *)&req,
                               sizeof req / 4u, NULL, 0));
}

/* ---- Answers. ---- */

/* What a node says of the dictionary; what is in `result` is the request's from now on. */
static void hear(struct api_dict_request *request, const struct api_dict_result *result)
{
    bool first = request->heard == 0;
    bool agreed = !first && same_answer(&request->said, result);
    uint32_t node = request->node;
    unsay(request);
    request->said = *result;
    request->heard = node;
    request->heard_epoch = request->epoch;
    request->list = NULL;
    request->list_room = 0;
    begin_list(request);
    if (agreed) {
        believe(request);
    } else if (first) {
        send_request(request);
    } else {
        retry_later(request); /* One is behind: it is about to hear of what has happened. */
    }
}

static void got_table(struct api_dict_request *request, const struct signal *sig)
{
    struct api_dict_result result = {0};
    result.table = decode_table(&sig->section[0], &sig->section[1], &result.error);
    if (result.table != NULL && strcmp(result.table->name, request->name) != 0) {
        api_table_release(result.table); /* An answer for another question. */
        result.table = NULL;
        result.error = ERR_REPLY_4214;
    }
    if (result.table != NULL) {
        result.table_id = result.table->def->table_id;
        result.version = result.table->def->version;
        hear(request, &result);
        return;
    }
    complete(request, &result);
}

static bool entries_are_whole(const struct section *section, uint32_t count)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (section->size - at < LIST_ENTRY_WORDS) return false;
        uint32_t name = section->words[at + 4];
        if (name == 0 || name > TABLE_NAME_MAX ||
            words_of(name) > section->size - at - LIST_ENTRY_WORDS)
            return false;
        at += LIST_ENTRY_WORDS + words_of(name);
    }
    return at == section->size;
}

static bool append_list(struct api_dict_request *request, const struct section *section)
{
    uint32_t need = request->list_words + section->size;
    if (need > LIST_WORDS_MAX) return false;
    if (need > request->list_room) {
        uint32_t *list = realloc(request->list, (size_t)need * 2u * 4u);
        if (list == NULL) return false;
        request->list = list;
        request->list_room = 2 * need;
    }
    if (section->size > 0)
        memcpy(request->list + request->list_words, section->words, (size_t)section->size * 4u);
    request->list_words = need;
    return true;
}

static void got_list(struct api_dict_request *request, const struct signal *sig)
{
    const struct list_tables_conf *conf = SIG_PAYLOAD(sig, list_tables_conf);
    if (!entries_are_whole(&sig->section[0], conf->count)) {
        fail(request, ERR_REPLY_4215);
        return;
    }
    if (!append_list(request, &sig->section[0])) {
        fail(request, ERR_API_MEMORY);
        return;
    }
    request->list_count += conf->count;
    if (conf->next_id != 0 && conf->next_id <= request->table_id) {
        fail(request, ERR_REPLY_4215); /* It would never end. */
        return;
    }
    request->table_id = conf->next_id;
    if (conf->next_id != 0) {
        send_request(request);
        return;
    }
    struct api_dict_result result = {.list = request->list,
                                     .list_words = request->list_words,
                                     .list_count = request->list_count};
    hear(request, &result);
}

static void refused(struct api_dict_request *request, struct api_dict_result *result)
{
    if (result->error == 0) result->error = ERR_REPLY_4215;
    bool change = !is_read(request);
    if (change && result->error == ERR_NOT_MASTER) {
        request->master = result->master_node <= DATA_NODE_ID_MAX ? result->master_node : 0;
        if (request->master != 0 && request->master != request->node &&
            api_core_node_ready(request->client->core, request->master)) {
            send_request(request);
        } else {
            retry_later(request);
        }
        return;
    }
    if ((change || request->kind == DICT_GET) && result->error == ERR_SCHEMA_BUSY) {
        /* Another change is under way: take turns. */
        retry_later(request);
        return;
    }
    complete(request, result);
}

/* It works: whoever waits may wait on. */
static void progressed(struct api_dict_request *request, const struct alter_table_rep *rep)
{
    request->deadline_ms = api_deadline(request->client, request->timeout_ms);
    api_wake_at(request->client, request->deadline_ms);
    if (request->progress == NULL) return;
    request->progress(request->context, rep->rows_lo | (uint64_t)rep->rows_hi << 32,
                      rep->total_lo | (uint64_t)rep->total_hi << 32);
}

static void exec_alter(struct api_dict_request *request, const struct signal *sig)
{
    struct api_dict_result result = {0};
    if (sig->gsn == GSN_ALTER_TABLE_REP) {
        progressed(request, SIG_PAYLOAD(sig, alter_table_rep));
    } else if (sig->gsn == GSN_ALTER_TABLE_CONF) {
        const struct alter_table_conf *conf = SIG_PAYLOAD(sig, alter_table_conf);
        result.table_id = conf->table_id;
        result.version = conf->version;
        complete(request, &result);
    } else if (sig->gsn == GSN_ALTER_TABLE_REF) {
        const struct alter_table_ref *ref = SIG_PAYLOAD(sig, alter_table_ref);
        result.error = ref->error;
        result.master_node = ref->master_node;
        refused(request, &result);
    } else {
        api_late(request->client);
    }
}

static void exec_change(struct api_dict_request *request, const struct signal *sig)
{
    struct api_dict_result result = {0};
    if (sig->gsn == GSN_CREATE_TABLE_CONF && request->kind == DICT_CREATE) {
        const struct create_table_conf *conf = SIG_PAYLOAD(sig, create_table_conf);
        result.table_id = conf->table_id;
        result.version = conf->version;
        complete(request, &result);
    } else if (sig->gsn == GSN_CREATE_TABLE_REF && request->kind == DICT_CREATE) {
        const struct create_table_ref *ref = SIG_PAYLOAD(sig, create_table_ref);
        result.error = ref->error;
        result.master_node = ref->master_node;
        result.column = ref->column;
        refused(request, &result);
    } else if (sig->gsn == GSN_DROP_TABLE_CONF && request->kind == DICT_DROP) {
        complete(request, &result);
    } else if (sig->gsn == GSN_DROP_TABLE_REF && request->kind == DICT_DROP) {
        const struct drop_table_ref *ref = SIG_PAYLOAD(sig, drop_table_ref);
        result.error = ref->error;
        result.master_node = ref->master_node;
        refused(request, &result);
    } else {
        api_late(request->client);
    }
}

void api_exec_dict(struct api_client *client, uint32_t peer, const uint32_t *words)
{
    struct signal sig;
    signal_open(&sig, words);
    struct api_dict_request *request = api_pool_find(&client->dicts, sig.payload[0]);
    if (request == NULL || request->node != peer) {
        api_late(client);
        return;
    }
    struct api_dict_result result = {.error = sig.payload[1]};
    bool missing = result.error == ERR_NO_SUCH_TABLE && request->kind == DICT_GET;
    if (sig.gsn == GSN_GET_TABINFO_REF && missing) {
        hear(request, &result);
    } else if (sig.gsn == GSN_GET_TABINFO_CONF && request->kind == DICT_GET) {
        got_table(request, &sig);
    } else if (sig.gsn == GSN_LIST_TABLES_CONF && request->kind == DICT_LIST) {
        got_list(request, &sig);
    } else if ((sig.gsn == GSN_GET_TABINFO_REF && request->kind == DICT_GET) ||
               (sig.gsn == GSN_LIST_TABLES_REF && request->kind == DICT_LIST)) {
        refused(request, &result);
    } else if (request->kind == DICT_ALTER) {
        exec_alter(request, &sig);
    } else {
        exec_change(request, &sig);
    }
}

/* ---- Lost links and lost time. ---- */

void api_dict_link_down(struct api_client *client, uint32_t peer, uint32_t epoch)
{
    struct api_dict_request *request;
    for (uint32_t index = 0; (request = api_pool_next(&client->dicts, index)) != NULL;) {
        index = request->record.index;
        if (request->heard == peer && request->heard_epoch == epoch) unsay(request);
        if (request->node != peer || request->epoch != epoch) continue;
        if (is_read(request)) {
            client->statistics.retries++;
            send_request(request);
        } else {
            fail(request, ERR_CLUSTER_FAILURE); /* The change may have been made. */
        }
    }
}

void api_dict_expire(struct api_client *client)
{
    struct api_dict_request *request;
    for (uint32_t index = 0; (request = api_pool_next(&client->dicts, index)) != NULL;) {
        index = request->record.index;
        if (request->deadline_ms <= client->now_ms) {
            client->statistics.timeouts++;
            /* What was not sent, or refused as busy, has not happened. */
            fail(request, request->node == 0 ? ERR_CLUSTER_UNAVAILABLE : ERR_REQUEST_TIMEOUT);
            continue;
        }
        api_wake_at(client, request->deadline_ms);
        if (request->node != 0) continue;
        if (request->retry_ms <= client->now_ms) {
            send_request(request); /* It may be complete now. */
        } else {
            api_wake_at(client, request->retry_ms);
        }
    }
}

void api_dict_drop_all(struct api_client *client)
{
    struct api_dict_request *request;
    while ((request = api_pool_next(&client->dicts, 0)) != NULL)
        free_request(request);
}
