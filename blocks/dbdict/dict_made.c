/* dict_made.c -- the tables that come and go in a schema transaction on this node: a table and its
 * unique indexes, each a group. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbdict/dict_state.h"
#include "values/table_index.h"
#include "values/table_version.h"
#include <string.h>

const struct dict_set *dict_set_of_step(const struct dict_local *local)
{
    static const struct dict_set none;
    /* Until then an index goes on being changed as a part of its table. */
    bool entries =
        local->operation == SCHEMA_DROP_UNIQUE || local->operation == SCHEMA_CREATE_UNIQUE;
    switch (local->step) {
    case SCHEMA_STEP_DROPPING_TC:
    case SCHEMA_STEP_DROPPING_LQH:
        return entries ? &none : &local->gone;
    case SCHEMA_STEP_REMOVE:
        return &local->gone;
    case SCHEMA_STEP_WRITE:
    case SCHEMA_STEP_COMPLETE:
    case SCHEMA_STEP_LOOSE:
    case SCHEMA_STEP_FORGET:
    case SCHEMA_STEP_RESERVE:
    case SCHEMA_STEP_DELETES:
    case SCHEMA_STEP_FIRES:
    case SCHEMA_STEP_STRICT:
        return &none;
    default:
        return &local->made;
    }
}

/* The name of a table that is made is free; or the table takes the place of the one that has it. */
static bool name_fits(struct dict *dict, const struct table_def *def)
{
    const struct dict_local *local = &dict->local;
    char name[DICT_NAME_BYTES];
    table_def_internal_name(def, name, sizeof name);
    uint32_t other = dict_table_by_name(dict, name, (uint32_t)strlen(name));
    return other == 0 || (local->operation == SCHEMA_TRUNCATE && other == local->object);
}

/* Checkpoints and log may have records of tables that had its number and another version. */
static bool version_fits(const struct dict *dict, const struct table_def *def)
{
    return table_version_follows(dict->table[def->table_id].version, def->version);
}

/* Keeps a table of the group that is made. */
static uint32_t keep(struct dict *dict, const struct table_def *def, const struct section *words,
                     const struct section *distribution)
{
    struct dict_local *local = &dict->local;
    if (!name_fits(dict, def) || !version_fits(dict, def)) return ERR_TABLE_FORMAT;
    uint32_t version_before = dict->table[def->table_id].version;
    uint32_t error = dict_store_put(dict, def, words, distribution);
    if (error != 0) return error;
    local->made.table[local->made.count] = def->table_id;
    local->version_before[local->made.count++] = version_before;
    return 0;
}

/* Its fragments are where the table's are. */
static uint32_t keep_unique(struct dict *dict, const struct table_def *def, uint32_t number,
                            const struct section *distribution)
{
    struct table_def *index;
    uint32_t error =
        table_def_of_unique(def, number, dict->local.index_memory, DICT_INDEX_DEF_BYTES, &index);
    if (error != 0 || index->version == 0 || index->table_id == 0 ||
        index->table_id == def->table_id || index->table_id >= dict->table_count ||
        dict_table_at(dict, index->table_id) != NULL)
        return ERR_TABLE_FORMAT;
    jam();
    struct section words = {.words = dict->scratch,
                            .size = table_def_encode(index, dict->scratch, DICT_WORDS_MAX)};
    ndbrequire(words.size != 0);
    return keep(dict, index, &words, distribution);
}

static uint32_t keep_uniques(struct dict *dict, const struct table_def *def,
                             const struct section *distribution)
{
    uint32_t error = 0;
    for (uint32_t i = 0; i < def->unique_count && error == 0; i++)
        error = keep_unique(dict, def, i, distribution);
    return error;
}

uint32_t dict_prepare_create(struct dict *dict, const struct signal *sig)
{
    const struct schema_prepare_req *req = SIG_PAYLOAD(sig, schema_prepare_req);
    struct table_def *def = NULL;
    uint32_t error = dict_table_check(dict, req->table_id, req->version, sig->section, &def);
    if (error != 0) return error;
    if (def->base_id != 0) return ERR_TABLE_FORMAT; /* Those we make ourselves. */
    bool truncate = req->operation == SCHEMA_TRUNCATE;
    if (truncate ? ERROR_INSERTED(&dict->block, 6008) : ERROR_INSERTED(&dict->block, 6001)) {
        ERROR_INSERT_CLEAR(&dict->block);
        return truncate ? ERR_SCHEMA_OBJECT_BUSY : ERR_SCHEMA_MEMORY;
    }
    error = keep_uniques(dict, def, &sig->section[1]);
    return error != 0 ? error : keep(dict, def, &sig->section[0], &sig->section[1]);
}

uint32_t dict_prepare_unique(struct dict *dict, const struct signal *sig)
{
    struct table_def *def = NULL;
    uint32_t error = table_def_decode(sig->section[0].words, sig->section[0].size,
                                      dict->local.def_memory, table_def_size_max(), &def);
    ndbrequire(error == 0); /* It is what this node's own definition becomes. */
    return keep_unique(dict, def, def->unique_count - 1u, &sig->section[1]);
}

void dict_set_of_drop(struct dict *dict, uint32_t table_id)
{
    struct dict_local *local = &dict->local;
    for (uint32_t id = 1; id < dict->table_count; id++) {
        if (id == table_id || !dict_is_of(dict, id, table_id)) continue;
        ndbrequire(local->gone.count < TABLE_UNIQUE_MAX);
        local->gone.table[local->gone.count++] = id;
    }
    local->gone.table[local->gone.count++] = table_id;
}

/* --- Its end. --- */

void dict_made_online(struct dict *dict)
{
    struct dict_local *local = &dict->local;
    for (uint32_t i = 0; i < local->made.count; i++)
        dict->table[local->made.table[i]].state = TABLE_ONLINE;
    if (local->operation == SCHEMA_CREATE_UNIQUE) dict_alter_adopt(dict);
    if (local->operation != SCHEMA_TRUNCATE) return;
    jam();
    dict_store_replace(dict, local->object, local->table_id);
    dict_tell_changed(dict, local->object, 0);
}

void dict_forget_made(struct dict *dict)
{
    struct dict_local *local = &dict->local;
    for (uint32_t i = 0; i < local->made.count; i++) {
        jam();
        dict_store_remove(dict, local->made.table[i]);
        if (local->reserved == 0)
            dict->table[local->made.table[i]].version = local->version_before[i];
    }
    local->made.count = 0;
}
