/* dict_alter.c -- the master's side of what alters a table in use: what the client asks, how far it
 * is, what it hears. See docs/protocols/online.md. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>
#include "blocks/dbdict/dict_state.h"
#include "values/table_index.h"
#include "values/table_version.h"

#define TELL_MS 500u

/* --- Answers. --- */

static void refuse(struct dict *dict, uint32_t client, uint32_t sender_data, uint32_t error)
{
    struct alter_table_ref ref = {
        .sender_data = sender_data, .error = error, .master_node = dict->master_node};
    jam_data(error);
    if (client != 0) sig_send(&dict->block, client, GSN_ALTER_TABLE_REF, PRIO_B, &ref);
}

static void tell_end(struct dict *dict)
{
    const struct dict_master *master = &dict->master;
    enum event_type type = EVENT_ALTER_SCHEMA_OBJECT;
    uint32_t object_type = 2; /* User table; 3: unique hash index, 6: ordered index. */
    bool unique = master->operation == SCHEMA_CREATE_UNIQUE;
    bool created = master->operation == SCHEMA_CREATE_INDEX || unique;
    if (created || master->operation == SCHEMA_DROP_INDEX) object_type = 6;
    if (unique || master->operation == SCHEMA_DROP_UNIQUE) object_type = 3;
    if (object_type != 2) type = created ? EVENT_CREATE_SCHEMA_OBJECT : EVENT_DROP_SCHEMA_OBJECT;
    event_send(&dict->block, type, master->table_id, master->version, object_type,
               ref_node(master->client_ref));
}

void dict_alter_answer(struct dict *dict)
{
    const struct dict_master *master = &dict->master;
    if (master->error != 0) {
        refuse(dict, master->client_ref, master->client_data, master->error);
        return;
    }
    tell_end(dict);
    if (master->client_ref == 0) return;
    jam();
    struct alter_table_conf conf = {.sender_data = master->client_data,
                                    .table_id = master->table_id,
                                    .version = master->version};
    sig_send(&dict->block, master->client_ref, GSN_ALTER_TABLE_CONF, PRIO_B, &conf);
}

/* --- How far it is. --- */

static struct dict_built built_of_all(const struct dict *dict)
{
    struct dict_built all = {0};
    for (uint32_t node = node_mask_next(&dict->members, 0); node != 0;
         node = node_mask_next(&dict->members, node)) {
        all.rows += dict->progress.node[node].rows;
        all.total += dict->progress.node[node].total;
    }
    return all;
}

static void tell_log(struct dict *dict, const struct dict_built *all)
{
    uint32_t tenths = all->total == 0 ? 0 : (uint32_t)(all->rows * 10u / all->total);
    char text[EVENT_TEXT_MAX];
    if (tenths <= dict->progress.tenths || tenths >= 10u) return;
    jam_data(tenths);
    dict->progress.tenths = tenths;
    snprintf(text, sizeof text, "Index of table %u: %u %% of the rows are in it",
             dict->master.table_id, tenths * 10u);
    event_text(&dict->block, EVENT_INFO, text);
}

void dict_alter_progress(struct dict *dict, uint32_t node, const struct dict_built *built)
{
    const struct dict_master *master = &dict->master;
    uint64_t now = now_ms(&dict->block);
    dict->progress.node[node] = *built;
    struct dict_built all = built_of_all(dict);
    tell_log(dict, &all);
    if (master->client_ref == 0 || now < dict->progress.told_ms + TELL_MS) return;
    jam();
    dict->progress.told_ms = now;
    struct alter_table_rep told = {.sender_data = master->client_data,
                                   .rows_lo = (uint32_t)all.rows,
                                   .rows_hi = (uint32_t)(all.rows >> 32),
                                   .total_lo = (uint32_t)all.total,
                                   .total_hi = (uint32_t)(all.total >> 32)};
    sig_send(&dict->block, master->client_ref, GSN_ALTER_TABLE_REP, PRIO_B, &told);
}

void dict_exec_SCHEMA_BUILD_REP(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    const struct dict_master *master = &dict->master;
    const struct schema_build_rep *rep = SIG_PAYLOAD(sig, schema_build_rep);
    if (master->state != MASTER_PREPARING || rep->trans_id != master->trans_id ||
        !node_mask_has(&dict->members, ref_node(sig->sender))) {
        jam();
        return;
    }
    const struct dict_built built = {.rows = rep->rows_lo | (uint64_t)rep->rows_hi << 32,
                                     .total = rep->total_lo | (uint64_t)rep->total_hi << 32};
    dict_alter_progress(dict, ref_node(sig->sender), &built);
}

/* --- What the client asks. --- */

/* What two versions of a table with the same major part differ in does not matter to its indexes;
 * who knows an old one means other names. */
static bool version_fits(const struct alter_table_req *req, uint32_t version)
{
    bool index = req->kind == ALTER_CREATE_INDEX || req->kind == ALTER_CREATE_UNIQUE ||
                 req->kind == ALTER_DROP_INDEX;
    uint32_t differs = version ^ req->version;
    return (index ? table_version_major(differs) : differs) == 0;
}

/* The table, as it is, with room for changes, in the master's memory. 0 or an error. */
static uint32_t load_table(struct dict *dict, const struct alter_table_req *req,
                           struct section sections[2])
{
    const struct dict_table *table = dict_table_at(dict, req->table_id);
    if (table == NULL || table->state != TABLE_ONLINE || table->base_id != 0)
        return ERR_NO_SUCH_TABLE_ID;
    if (!version_fits(req, table->version)) return ERR_SCHEMA_VERSION;
    dict_store_read(dict, table, sections);
    uint32_t error =
        table_def_decode_roomy(sections[0].words, sections[0].size, dict->master.def_memory,
                               table_def_size_max(), &dict->master.def);
    ndbrequire(error == 0);
    dict->master.def->version = table_version_next(table->version);
    return 0;
}

static uint32_t half_word(const uint32_t *words, uint32_t number)
{
    return words[number / 2u] >> number % 2u * 16u & 0xFFFFu;
}

/* What a client says of an index that it wants. */
struct index_wanted {
    uint32_t count;
    uint16_t columns[INDEX_COLUMNS_MAX];
    uint32_t name_size;
    const char *name;
};

static uint32_t read_index(const struct table_def *def, const struct section *section,
                           struct index_wanted *wanted)
{
    uint32_t number;
    wanted->name_size = section->words[0] & 0xFFFFu;
    wanted->count = section->words[0] >> 16;
    if (wanted->count > INDEX_COLUMNS_MAX) return ERR_INDEX_OBJECT;
    uint32_t name_at = 1u + (wanted->count + 1u) / 2u;
    if (wanted->name_size > INDEX_NAME_MAX ||
        section->size != name_at + (wanted->name_size + 3u) / 4u)
        return ERR_TABLE_FORMAT;
    for (uint32_t i = 0; i < wanted->count; i++)
        wanted->columns[i] = (uint16_t)half_word(section->words + 1, i);
    wanted->name = (const char *)(section->words + name_at);
    bool taken = table_def_index_find(def, wanted->name, wanted->name_size, &number) ||
                 table_def_unique_find(def, wanted->name, wanted->name_size, &number);
    return taken ? ERR_INDEX_EXISTS : 0;
}

static uint32_t create_index(struct table_def *def, const struct section *section, uint32_t *id)
{
    struct index_wanted wanted;
    struct table_index index;
    uint32_t error = read_index(def, section, &wanted);
    if (error == 0)
        error =
            table_def_add_index(def, wanted.name, wanted.name_size, wanted.columns, wanted.count);
    if (error != 0) return error;
    table_def_index_renew(def, def->index_count - 1u);
    table_def_index(def, def->index_count - 1u, &index);
    *id = index.id;
    return table_def_check(def);
}

static uint32_t create_unique(struct dict *dict, const struct section *section, uint32_t *table_id)
{
    struct table_def *def = dict->master.def;
    struct index_wanted wanted;
    struct table_index index;
    uint32_t error = read_index(def, section, &wanted);
    if (error == 0)
        error =
            table_def_add_unique(def, wanted.name, wanted.name_size, wanted.columns, wanted.count);
    if (error == 0) error = table_def_check(def);
    if (error == 0) error = dict_number_unique(dict, def, def->unique_count - 1u, 0);
    if (error != 0) return error;
    table_def_unique(def, def->unique_count - 1u, &index);
    *table_id = index.table_id;
    return 0;
}

static uint32_t drop_unique(struct table_def *def, uint32_t number, uint32_t *table_id)
{
    struct table_index index;
    table_def_unique(def, number, &index);
    *table_id = index.table_id;
    table_def_remove_unique(def, number);
    return 0;
}

/* Ordered and unique ones have names that differ. *object: what SCHEMA_PREPARE_REQ calls it. */
static uint32_t drop_index(struct table_def *def, const struct section *section,
                           uint32_t *operation, uint32_t *object)
{
    struct table_index index;
    uint32_t number;
    const char *name = (const char *)(section->words + 1);
    uint32_t name_size = section->words[0];
    *operation = SCHEMA_DROP_INDEX;
    if (name_size > INDEX_NAME_MAX || section->size != 1u + (name_size + 3u) / 4u)
        return ERR_TABLE_FORMAT;
    if (table_def_unique_find(def, name, name_size, &number)) {
        *operation = SCHEMA_DROP_UNIQUE;
        return drop_unique(def, number, object);
    }
    if (!table_def_index_find(def, name, name_size, &number)) return ERR_INDEX_MISSING;
    table_def_index(def, number, &index);
    *object = index.id;
    table_def_remove_index(def, number);
    return 0;
}

/* Two names, each in words of its own, behind a word with their sizes. */
struct names {
    uint32_t size[2];
    const char *text[2];
};

static bool read_names(const struct section *section, struct names *names)
{
    names->size[0] = section->words[0] & 0xFFFFu;
    names->size[1] = section->words[0] >> 16;
    uint32_t first_words = (names->size[0] + 3u) / 4u;
    if (section->size != 1u + first_words + (names->size[1] + 3u) / 4u) return false;
    names->text[0] = (const char *)(section->words + 1);
    names->text[1] = (const char *)(section->words + 1 + first_words);
    return true;
}

static uint32_t rename_table(struct dict *dict, const struct section *section)
{
    struct names names;
    struct table_def *def = dict->master.def;
    char name[DICT_NAME_BYTES];
    if (!read_names(section, &names)) return ERR_TABLE_FORMAT;
    uint32_t error =
        table_def_set_name(def, names.text[0], names.size[0], names.text[1], names.size[1]);
    if (error == 0) error = table_def_check(def);
    if (error != 0) return error;
    table_def_internal_name(def, name, sizeof name);
    return dict_table_by_name(dict, name, (uint32_t)strlen(name)) == 0 ? 0 : ERR_TABLE_EXISTS;
}

static uint32_t rename_column(struct dict *dict, const struct section *section, uint32_t *object)
{
    struct names names;
    struct table_def *def = dict->master.def;
    if (!read_names(section, &names)) return ERR_TABLE_FORMAT;
    const struct table_column *column = table_def_find(def, names.text[0], names.size[0]);
    if (column == NULL) return ERR_NO_SUCH_COLUMN;
    *object = 1u + column->id;
    uint32_t error = table_def_rename_column(def, column->id, names.text[1], names.size[1]);
    return error != 0 ? error : table_def_check(def);
}

static uint32_t add_column(struct dict *dict, const struct section *section, uint32_t *object)
{
    const uint32_t never =
        COLUMN_PRIMARY_KEY | COLUMN_PARTITION_KEY | COLUMN_HAS_DEFAULT | COLUMN_AUTO_INCREMENT;
    struct table_def *def = dict->master.def;
    uint32_t error = table_def_append_column(def, section->words, section->size);
    if (error != 0) return error;
    struct table_column *column = &def->columns[def->column_count - 1u];
    if ((column->flags & (never | COLUMN_NULLABLE)) != COLUMN_NULLABLE)
        return ERR_ALTER_IMPOSSIBLE; /* The rows that are there have nothing of it. */
    column->flags |= COLUMN_ADDED;
    *object = def->column_count;
    return table_def_check(def);
}

/* Makes the same definition with other numbers; no row is older than a column. */
static uint32_t truncate_table(struct dict *dict, const struct alter_table_req *req,
                               uint32_t *object)
{
    *object = req->table_id;
    table_def_settle(dict->master.def);
    uint32_t error = table_def_check(dict->master.def);
    return error != 0 ? error : dict_number_table(dict);
}

/* Makes the new definition. 0 or an error. */
static uint32_t alter(struct dict *dict, const struct signal *sig, uint32_t *operation,
                      uint32_t *object)
{
    const struct alter_table_req *req = SIG_PAYLOAD(sig, alter_table_req);
    const struct section *section = &sig->section[0];
    bool none = sig->section_count == 0 || section->size == 0;
    if (none != (req->kind == ALTER_TRUNCATE)) return ERR_TABLE_FORMAT;
    switch ((enum alter_kind)req->kind) {
    case ALTER_CREATE_INDEX:
        *operation = SCHEMA_CREATE_INDEX;
        return create_index(dict->master.def, section, object);
    case ALTER_CREATE_UNIQUE:
        *operation = SCHEMA_CREATE_UNIQUE;
        return create_unique(dict, section, object);
    case ALTER_DROP_INDEX:
        return drop_index(dict->master.def, section, operation, object);
    case ALTER_RENAME_TABLE:
        *operation = SCHEMA_RENAME;
        return rename_table(dict, section);
    case ALTER_RENAME_COLUMN:
        *operation = SCHEMA_RENAME;
        return rename_column(dict, section, object);
    case ALTER_ADD_COLUMN:
        *operation = SCHEMA_ADD_COLUMN;
        return add_column(dict, section, object);
    case ALTER_TRUNCATE:
        *operation = SCHEMA_TRUNCATE;
        return truncate_table(dict, req, object);
    default:
        return ERR_NOT_IMPLEMENTED;
    }
}

void dict_exec_ALTER_TABLE_REQ(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    struct dict_master *master = &dict->master;
    const struct alter_table_req *req = SIG_PAYLOAD(sig, alter_table_req);
    struct section sections[2];
    uint32_t operation = 0;
    uint32_t object = 0;
    uint32_t error = dict_not_possible(dict, sig->sender);
    if (error == 0) error = load_table(dict, req, sections);
    if (error == 0) error = alter(dict, sig, &operation, &object);
    if (error == 0) {
        uint32_t words = table_def_encode(master->def, master->words, DICT_WORDS_MAX);
        sections[0] = (struct section){.words = master->words, .size = words};
        if (words == 0 || words + sections[1].size > DICT_WORDS_MAX - DICT_HEAD_WORDS)
            error = ERR_DEFINITION_TOO_BIG;
    }
    if (error != 0) {
        refuse(dict, sig->sender, req->sender_data, error);
        return;
    }
    jam_data(operation);
    memset(&dict->progress, 0, sizeof dict->progress);
    dict_begin(dict, sig, operation, req->sender_data);
    master->table_id = master->def->table_id;
    master->version = master->def->version;
    master->object = object;
    dict_begin_prepare(dict, sections, 2);
}
