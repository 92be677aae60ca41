/* api_dict_answer.c -- what the dictionary answers: tables, lists, and how changes have ended. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "api/core/api_dict_state.h"
#include "api/core/api_table_state.h"

#define LIST_WORDS_MAX   (1u << 22)
#define LIST_ENTRY_WORDS 5u /* Before the name. */

static bool same_answer(const struct api_dict_result *one, const struct api_dict_result *other)
{
    return one->error == other->error && one->table_id == other->table_id &&
           one->version == other->version && one->list_words == other->list_words &&
           (one->list_words == 0 ||
            memcmp(one->list, other->list, (size_t)one->list_words * 4u) == 0);
}

/* What a node says of the dictionary; what is in `result` is the request's from now on. */
static void hear(struct api_dict_request *request, const struct api_dict_result *result)
{
    bool first = request->heard == 0;
    bool agreed = !first && same_answer(&request->said, result);
    uint32_t node = request->node;
    api_dict_unsay(request);
    request->said = *result;
    request->heard = node;
    request->heard_epoch = request->epoch;
    request->list = NULL;
    request->list_room = 0;
    api_dict_begin_list(request);
    if (agreed) {
        api_dict_believe(request);
    } else if (first) {
        api_dict_send(request);
    } else {
        api_dict_retry_later(
            request); /* One is behind: it is about to hear of what has happened. */
    }
}

static void got_table(struct api_dict_request *request, const struct signal *sig)
{
    struct api_dict_result result = {0};
    result.table = api_table_decode(&sig->section[0], &sig->section[1], &result.error);
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
    api_dict_complete(request, &result);
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
        api_dict_fail(request, ERR_REPLY_4215);
        return;
    }
    if (!append_list(request, &sig->section[0])) {
        api_dict_fail(request, ERR_API_MEMORY);
        return;
    }
    request->list_count += conf->count;
    if (conf->next_id != 0 && conf->next_id <= request->table_id) {
        api_dict_fail(request, ERR_REPLY_4215); /* It would never end. */
        return;
    }
    request->table_id = conf->next_id;
    if (conf->next_id != 0) {
        api_dict_send(request);
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
    bool change = !api_dict_is_read(request);
    if (change && result->error == ERR_NOT_MASTER) {
        request->master = result->master_node <= DATA_NODE_ID_MAX ? result->master_node : 0;
        if (request->master != 0 && request->master != request->node &&
            api_core_node_ready(request->client->core, request->master)) {
            api_dict_send(request);
        } else {
            api_dict_retry_later(request);
        }
        return;
    }
    if ((change || request->kind == DICT_GET) && result->error == ERR_SCHEMA_BUSY) {
        /* Another change is under way: take turns. */
        api_dict_retry_later(request);
        return;
    }
    api_dict_complete(request, result);
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
        api_dict_complete(request, &result);
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
        api_dict_complete(request, &result);
    } else if (sig->gsn == GSN_CREATE_TABLE_REF && request->kind == DICT_CREATE) {
        const struct create_table_ref *ref = SIG_PAYLOAD(sig, create_table_ref);
        result.error = ref->error;
        result.master_node = ref->master_node;
        result.column = ref->column;
        refused(request, &result);
    } else if (sig->gsn == GSN_DROP_TABLE_CONF && request->kind == DICT_DROP) {
        api_dict_complete(request, &result);
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
