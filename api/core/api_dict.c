/* api_dict.c -- requests to the dictionary: whom they ask, what is believed of the answers, lost
 * links and lost time. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "api/core/api_dict_state.h"
#include "api/core/api_table_state.h"
#include "values/table_index.h"

#define RETRY_MS 50u

/* ---- A request from its beginning to its end. ---- */

bool api_dict_is_read(const struct api_dict_request *request)
{
    return request->kind == DICT_GET || request->kind == DICT_LIST;
}

/* The answer that waits for another node's is forgotten. */
void api_dict_unsay(struct api_dict_request *request)
{
    api_table_release(request->said.table);
    free((uint32_t *)(uintptr_t)request->said.list);
    request->said = (struct api_dict_result){0};
    request->heard = 0;
}

static void free_request(struct api_dict_request *request)
{
    api_dict_unsay(request);
    free(request->words);
    free(request->list);
    request->words = NULL;
    request->list = NULL;
    api_pool_release(&request->client->dicts, request);
}

void api_dict_complete(struct api_dict_request *request, struct api_dict_result *result)
{
    api_dict_done done = request->done;
    void *context = request->context;
    uint32_t *list = request->list;
    request->list = NULL;
    if (result->table != NULL) {
        result->table->lives = request->lives;
        api_dict_keep(request, result->table);
    }
    request->client->pending--;
    free_request(request);
    done(context, result);
    free(list);
}

void api_dict_fail(struct api_dict_request *request, uint32_t error)
{
    struct api_dict_result result = {.error = error};
    api_dict_complete(request, &result);
}

static struct api_dict_request *new_request(struct api_client *client, enum api_dict_kind kind,
                                            uint32_t timeout_ms, api_dict_done done, void *context)
{
    struct api_dict_request *request = api_pool_seize(&client->dicts);
    if (request == NULL) return NULL;
    struct api_record record = request->record;
    *request = (struct api_dict_request){
        .record = record, .client = client, .kind = kind, .done = done, .context = context};
    request->changes = api_dict_changes(client->core);
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
void api_dict_believe(struct api_dict_request *request)
{
    struct api_dict_result result = request->said;
    free(request->list);
    request->list = (uint32_t *)(uintptr_t)result.list;
    request->said = (struct api_dict_result){0};
    api_dict_complete(request, &result);
}

void api_dict_retry_later(struct api_dict_request *request)
{
    request->node = 0;
    request->retry_ms = request->client->now_ms + RETRY_MS;
    api_wake_at(request->client, request->retry_ms);
}

/* A node's list comes in batches, all from that node. */
void api_dict_begin_list(struct api_dict_request *request)
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
    if (api_dict_is_read(request) && request->table_id != 0) {
        if (api_core_node_ready(client->core, request->node)) return request->node;
        api_dict_begin_list(request);
    }
    uint32_t president = request->master != 0 ? request->master : api_core_president(client->core);
    bool any = api_dict_is_read(request) && request->heard == 0;
    request->master = 0;
    if (!any && president != request->heard && api_core_node_ready(client->core, president))
        return president;
    return api_other_node(client, request->heard);
}

/* Without a node it is tried again later. */
void api_dict_send(struct api_dict_request *request)
{
    struct api_client *client = request->client;
    uint32_t node = node_to_ask(request);
    if (node == 0 && request->heard != 0) { /* Nobody is left who could say otherwise. */
        api_dict_believe(request);
        return;
    }
    if (node != 0) {
        request->epoch = atomic_load(&client->core->node[node].epoch);
        request->words[1] = block_ref(node, BLOCK_DBDICT, 0);
        if (request->kind == DICT_LIST) request->words[SIGNAL_HEAD_WORDS + 1] = request->table_id;
        request->lives = api_core_lives(client->core); /* No answer is of a life before. */
        if (api_send(client, node, request->words, request->count)) {
            request->node = node;
            return;
        }
    }
    api_dict_retry_later(request);
}

/* ---- What is asked. ---- */

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
    api_dict_send(request);
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

/* ---- Lost links and lost time. ---- */

void api_dict_link_down(struct api_client *client, uint32_t peer, uint32_t epoch)
{
    struct api_dict_request *request;
    for (uint32_t index = 0; (request = api_pool_next(&client->dicts, index)) != NULL;) {
        index = request->record.index;
        if (request->heard == peer && request->heard_epoch == epoch) api_dict_unsay(request);
        if (request->node != peer || request->epoch != epoch) continue;
        if (api_dict_is_read(request)) {
            client->statistics.retries++;
            api_dict_send(request);
        } else {
            api_dict_fail(request, ERR_CLUSTER_FAILURE); /* The change may have been made. */
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
            api_dict_fail(request,
                          request->node == 0 ? ERR_CLUSTER_UNAVAILABLE : ERR_REQUEST_TIMEOUT);
            continue;
        }
        api_wake_at(client, request->deadline_ms);
        if (request->node != 0) continue;
        if (request->retry_ms <= client->now_ms) {
            api_dict_send(request); /* It may be complete now. */
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
