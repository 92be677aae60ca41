/* dict_alter_fits.c -- checks that a definition from the master is what this node's own one
 * becomes. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The master has looked at the same dictionary. So the change is read out of the definition that it
 * sends, made here once more, and the words compared: nothing else can have changed.
 */
#include <string.h>
#include "blocks/dbdict/dict_state.h"
#include "values/table_index.h"
#include "values/table_version.h"

/* What is new in the definition that was sent; its memory is used again. */
struct change {
    struct table_index index;
    struct column_format format; /* Format of a new column. */
    /* Bytes of a new database name, which comes first in `name`; 0 = there is none. */
    uint32_t first_size;
    uint32_t size; /* Bytes of the new name behind it: an index's, a column's or the table's. */
    char name[2 * TABLE_NAME_MAX];
};

static_assert(INDEX_NAME_MAX <= TABLE_NAME_MAX && COLUMN_NAME_MAX <= TABLE_NAME_MAX, "they fit");

static bool read_index(const struct table_def *def, uint32_t id, struct change *change)
{
    if (!table_def_index(def, def->index_count - 1u, &change->index) || change->index.id != id)
        return false;
    change->size = change->index.name_size;
    memcpy(change->name, change->index.name, change->size);
    change->index.name = change->name;
    return true;
}

static bool read_unique(struct dict *dict, const struct table_def *def, uint32_t table_id,
                        struct change *change)
{
    uint32_t number = def->unique_count - 1u;
    if (def->unique_count == 0 || !table_def_unique(def, number, &change->index)) return false;
    if (change->index.table_id != table_id || table_id == 0) return false;
    /* The master has chosen by this rule. */
    if (table_id != dict_table_unused(dict, 0)) return false;
    if (!table_version_follows(dict->table[table_id].version, change->index.version)) return false;
    change->size = change->index.name_size;
    memcpy(change->name, change->index.name, change->size);
    change->index.name = change->name;
    return true;
}

static bool read_name(const struct table_def *def, uint32_t object, struct change *change)
{
    if (object == 0) {
        change->first_size = def->database_size;
        change->size = def->table_size;
        memcpy(change->name, def->database, def->database_size);
        memcpy(change->name + def->database_size, def->table, def->table_size);
        return true;
    }
    if (object > def->column_count) return false;
    const struct table_column *column = &def->columns[object - 1u];
    change->size = column->name_size;
    memcpy(change->name, table_column_name(def, column), column->name_size);
    return true;
}

static bool read_column(const struct table_def *def, uint32_t count, struct change *change)
{
    const struct table_column *column = &def->columns[def->column_count - 1u];
    change->format = column->format;
    return def->column_count == count && read_name(def, count, change);
}

static bool read_change(struct dict *dict, const struct schema_prepare_req *req,
                        const struct table_def *def, struct change *change)
{
    if (req->operation == SCHEMA_CREATE_UNIQUE) return read_unique(dict, def, req->object, change);
    if (req->operation == SCHEMA_CREATE_INDEX) return read_index(def, req->object, change);
    if (req->operation == SCHEMA_RENAME) return read_name(def, req->object, change);
    if (req->operation == SCHEMA_ADD_COLUMN) return read_column(def, req->object, change);
    return true;
}

static bool create_index(struct table_def *own, const struct table_index *index)
{
    uint32_t error = table_def_add_index(own, index->name, index->name_size, index->columns,
                                         index->column_count);
    if (error == 0) table_def_index_renew(own, own->index_count - 1u);
    return error == 0;
}

static bool create_unique(struct table_def *own, const struct table_index *index)
{
    uint32_t error = table_def_add_unique(own, index->name, index->name_size, index->columns,
                                          index->column_count);
    if (error == 0)
        table_def_unique_set(own, own->unique_count - 1u, index->table_id, index->version);
    return error == 0;
}

static bool drop_index(struct table_def *own, uint32_t id)
{
    struct table_index index;
    uint32_t number;
    if (!table_def_index_by_id(own, id, &index) ||
        !table_def_index_find(own, index.name, index.name_size, &number))
        return false;
    table_def_remove_index(own, number);
    return true;
}

static bool drop_unique(struct table_def *own, uint32_t table_id)
{
    uint32_t number;
    if (!table_def_unique_of(own, table_id, &number)) return false;
    table_def_remove_unique(own, number);
    return true;
}

static bool rename_object(struct dict *dict, struct table_def *own, uint32_t object,
                          const struct change *change)
{
    const char *name = change->name + change->first_size;
    char full[DICT_NAME_BYTES];
    if (object != 0) return table_def_rename_column(own, object - 1u, name, change->size) == 0;
    if (table_def_set_name(own, change->name, change->first_size, name, change->size) != 0)
        return false;
    table_def_internal_name(own, full, sizeof full);
    return dict_table_by_name(dict, full, (uint32_t)strlen(full)) == 0;
}

static bool add_column(struct table_def *own, const struct change *change)
{
    const struct table_column_options options = {.name = change->name,
                                                 .name_size = change->size,
                                                 .format = change->format,
                                                 .flags = COLUMN_NULLABLE | COLUMN_ADDED};
    return table_def_add_column(own, &options) == 0;
}

static bool make_change(struct dict *dict, const struct schema_prepare_req *req,
                        struct table_def *own, const struct change *change)
{
    if (req->operation == SCHEMA_CREATE_INDEX) return create_index(own, &change->index);
    if (req->operation == SCHEMA_CREATE_UNIQUE) return create_unique(own, &change->index);
    if (req->operation == SCHEMA_DROP_INDEX) return drop_index(own, req->object);
    if (req->operation == SCHEMA_DROP_UNIQUE) return drop_unique(own, req->object);
    if (req->operation == SCHEMA_ADD_COLUMN) return add_column(own, change);
    return rename_object(dict, own, req->object, change);
}

static bool same_words(const struct section *a, const struct section *b)
{
    return a->size == b->size && memcmp(a->words, b->words, (size_t)a->size * 4u) == 0;
}

/* `own`, changed as the request says, is the definition that was sent. */
static bool becomes(struct dict *dict, const struct section *own, const struct signal *sig,
                    const struct change *change)
{
    const struct schema_prepare_req *req = SIG_PAYLOAD(sig, schema_prepare_req);
    struct table_def *def;
    uint32_t error = table_def_decode_roomy(own->words, own->size, dict->local.def_memory,
                                            table_def_size_max(), &def);
    ndbrequire(error == 0);
    def->version = req->version;
    if (!make_change(dict, req, def, change)) return false;
    struct section words = {.words = dict->scratch,
                            .size = table_def_encode(def, dict->scratch, DICT_WORDS_MAX)};
    return same_words(&words, &sig->section[0]);
}

bool dict_alter_fits(struct dict *dict, const struct signal *sig)
{
    const struct schema_prepare_req *req = SIG_PAYLOAD(sig, schema_prepare_req);
    const struct dict_table *table = dict_table_at(dict, req->table_id);
    struct section own[2];
    struct table_def *def = NULL;
    struct change change = {0};
    if (sig->section_count != 2 || table == NULL || table->state != TABLE_ONLINE) return false;
    if (req->version != table_version_next(table->version)) return false;
    if (dict_table_check(dict, req->table_id, req->version, sig->section, &def) != 0) return false;
    if (!read_change(dict, req, def, &change)) return false;
    dict_store_read(dict, table, own);
    return same_words(&own[1], &sig->section[1]) && becomes(dict, &own[0], sig, &change);
}

/* A table that is empty, and like the one whose place it takes but for the numbers. */
bool dict_truncate_fits(struct dict *dict, const struct signal *sig)
{
    const struct schema_prepare_req *req = SIG_PAYLOAD(sig, schema_prepare_req);
    const struct dict_table *table = dict_table_at(dict, req->object);
    struct section own[2];
    struct table_def *def = NULL;
    struct table_index index;
    uint32_t numbers[TABLE_UNIQUE_MAX][2] = {{0}};
    if (sig->section_count != 2 || table == NULL || table->state != TABLE_ONLINE) return false;
    if (table->base_id != 0) return false;
    if (dict_table_check(dict, req->table_id, req->version, sig->section, &def) != 0) return false;
    for (uint32_t i = 0; table_def_unique(def, i, &index); i++) {
        numbers[i][0] = index.table_id;
        numbers[i][1] = index.version;
    }
    dict_store_read(dict, table, own);
    if (!same_words(&own[1], &sig->section[1])) return false;
    uint32_t error = table_def_decode(own[0].words, own[0].size, dict->local.def_memory,
                                      table_def_size_max(), &def);
    ndbrequire(error == 0);
    def->table_id = req->table_id;
    def->version = req->version;
    table_def_settle(def);
    for (uint32_t i = 0; i < def->unique_count; i++)
        table_def_unique_set(def, i, numbers[i][0], numbers[i][1]);
    struct section words = {.words = dict->scratch,
                            .size = table_def_encode(def, dict->scratch, DICT_WORDS_MAX)};
    return same_words(&words, &sig->section[0]);
}
