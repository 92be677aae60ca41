/* dict_client.c -- what any started node tells clients about tables: definitions and lists. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbdict/dict_state.h"
#include <string.h>

/* Where the others go on without this node they can be asked. */
uint32_t dict_stopping_error(const struct dict *dict)
{
    return block_config(&dict->block)->survive != 0 ? ERR_NODE_SHUTDOWN : ERR_CLUSTER_SHUTDOWN;
}

/* 0, or why this node cannot answer now. */
static uint32_t not_ready(const struct dict *dict)
{
    if (dict->start_level == START_STARTED || dict->start_level == START_SINGLEUSER) return 0;
    return dict->start_level > START_SINGLEUSER ? dict_stopping_error(dict) : ERR_SCHEMA_BUSY;
}

/* The table that a GET_TABINFO_REQ means; 0 with *error when there is none. */
static uint32_t table_wanted(struct dict *dict, const struct signal *sig, uint32_t *error)
{
    if (sig->section_count == 0) {
        jam();
        *error = ERR_NO_SUCH_TABLE_ID;
        return SIG_PAYLOAD(sig, get_tabinfo_req)->table_id;
    }
    const struct section *name = &sig->section[0];
    *error = ERR_NO_SUCH_TABLE;
    if (name->size == 0 || name->words[0] > TABLE_NAME_MAX ||
        (name->words[0] + 3u) / 4u > name->size - 1) {
        jam();
        *error = ERR_TABLE_NAME_TOO_LONG;
        return 0;
    }
    jam();
    return dict_table_by_name(dict, (const char *)(name->words + 1), name->words[0]);
}

/* It is about to be replaced by an empty one: there is one in a moment. */
static bool truncated(const struct dict *dict, uint32_t table_id)
{
    const struct dict_local *local = &dict->local;
    return local->active && local->operation == SCHEMA_TRUNCATE && local->object == table_id;
}

void dict_exec_GET_TABINFO_REQ(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    const struct get_tabinfo_req *req = SIG_PAYLOAD(sig, get_tabinfo_req);
    uint32_t error = not_ready(dict);
    uint32_t table_id = 0;
    struct dict_table *table = NULL;
    if (error == 0) {
        table_id = table_wanted(dict, sig, &error);
        table = dict_table_at(dict, table_id);
        if (table != NULL && table->state != TABLE_ONLINE) {
            jam_data(table->state);
            if (sig->section_count != 0 && truncated(dict, table_id)) error = ERR_SCHEMA_BUSY;
            table = NULL;
        }
    }
    if (table == NULL) {
        jam_data(error);
        struct get_tabinfo_ref ref = {.sender_data = req->sender_data, .error = error};
        sig_send(block, sig->sender, GSN_GET_TABINFO_REF, PRIO_B, &ref);
        return;
    }
    jam();
    struct section sections[2];
    dict_store_read_members(dict, table, sections);
    struct get_tabinfo_conf conf = {
        .sender_data = req->sender_data, .table_id = table_id, .version = table->version};
    signal_send(block, sig->sender, GSN_GET_TABINFO_CONF, PRIO_B, &conf, sizeof(conf) / 4u,
                sections, 2);
}

static uint32_t list_entry(const struct dict_table *table, uint32_t id, uint32_t *words)
{
    uint32_t name_words = (table->name_size + 3u) / 4u;
    words[0] = id;
    words[1] = table->version;
    words[2] = table->state | table->base_id << LIST_BASE_SHIFT;
    words[3] = table->fragments;
    words[4] = table->name_size;
    words[4 + name_words] = 0; /* Padding of the last word. */
    memcpy(words + 5, table->name, table->name_size);
    return 5 + name_words;
}

void dict_exec_LIST_TABLES_REQ(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    const struct list_tables_req *req = SIG_PAYLOAD(sig, list_tables_req);
    uint32_t error = not_ready(dict);
    if (error != 0) {
        jam_data(error);
        struct list_tables_ref ref = {.sender_data = req->sender_data, .error = error};
        sig_send(block, sig->sender, GSN_LIST_TABLES_REF, PRIO_B, &ref);
        return;
    }
    jam();
    struct list_tables_conf conf = {.sender_data = req->sender_data};
    uint32_t used = 0;
    for (uint32_t id = req->first_id == 0 ? 1 : req->first_id; id < dict->table_count; id++) {
        const struct dict_table *table = &dict->table[id];
        if (table->state == TABLE_UNDEFINED) continue;
        if (used + 5 + DICT_NAME_BYTES / 4u > DICT_LIST_WORDS) {
            jam();
            conf.next_id = id;
            break;
        }
        used += list_entry(table, id, dict->scratch + used);
        conf.count++;
    }
    struct section section = {.words = dict->scratch, .size = used};
    signal_send(block, sig->sender, GSN_LIST_TABLES_CONF, PRIO_B, &conf, sizeof(conf) / 4u,
                &section, 1);
}
