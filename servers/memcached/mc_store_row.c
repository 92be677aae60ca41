/* mc_store_row.c -- keys, and what stands in a row: to results, and from requests. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include <string.h>
#include "servers/memcached/mc_convert.h"
#include "servers/memcached/mc_store_private.h"

/* ---- Keys ---- */

void mc_key_free(struct mc_key *key)
{
    if (key->bytes != key->inside) free(key->bytes);
    key->bytes = NULL;
    key->count = 0;
}

bool mc_key_reserve(struct mc_key *key, uint32_t bytes)
{
    key->bytes = bytes <= MC_KEY_BYTES ? key->inside : malloc(bytes);
    return key->bytes != NULL;
}

uint32_t mc_field_size(const char *text, uint32_t size, bool last)
{
    const char *tab = last || size == 0 ? NULL : memchr(text, '\t', size);
    return tab == NULL ? size : (uint32_t)(tab - text);
}

enum mc_status mc_key_parse(struct mc_key *key, const struct mc_container *container,
                            const char *text, uint32_t size)
{
    struct ndb_column_info info;
    uint32_t room = 0;
    for (uint32_t i = 0; i < container->key_count; i++)
        if (ndb_table_column(container->table, container->key[i], &info) == 0)
            room += (info.size + 7u) & ~7u;
    if (!mc_key_reserve(key, room)) return MC_NO_MEMORY;
    uint32_t offset = 0;
    for (uint32_t i = 0; i < container->key_count; i++) {
        bool last = i + 1 == container->key_count;
        bool too_long;
        uint32_t part = mc_field_size(text, size, last);
        if (!last && part == size) return MC_INVALID;
        int stored = mc_convert_in(container->table, container->key[i], text, part,
                                   key->bytes + offset, room - offset, &too_long);
        if (stored < 0) return MC_INVALID;
        key->part[i] = (struct mc_key_part){container->key[i], offset, (uint32_t)stored};
        key->count = i + 1;
        offset += ((uint32_t)stored + 7u) & ~7u;
        text += last ? part : part + 1;
        size -= last ? part : part + 1;
    }
    return MC_OK;
}

static bool in_key(const struct mc_key *key, uint32_t column)
{
    for (uint32_t i = 0; key != NULL && i < key->count; i++) {
        if (key->part[i].column == column) return true;
    }
    return false;
}

/* Columns of the table's primary key: how many. */
static uint32_t primary_columns(const struct ndb_table *table, uint32_t columns[MC_COLUMNS_MAX])
{
    struct ndb_column_info info;
    uint32_t count = 0;
    for (uint32_t i = 0; ndb_table_column(table, i, &info) == 0; i++) {
        if (info.primary_key && count < MC_COLUMNS_MAX) columns[count++] = i;
    }
    return count;
}

bool mc_row_locate(struct mc_work *job)
{
    uint32_t columns[MC_COLUMNS_MAX];
    const void *value;
    uint32_t size;
    if (job->primary != NULL) return true;
    mc_key_free(&job->found);
    uint32_t count = primary_columns(job->container->table, columns);
    uint32_t room = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!mc_row_value(job, columns[i], &value, &size) || value == NULL) return false;
        job->found.part[i] = (struct mc_key_part){columns[i], room, size};
        room += (size + 7u) & ~7u;
    }
    if (!mc_key_reserve(&job->found, room)) return false;
    for (uint32_t i = 0; i < count; i++) {
        (void)mc_row_value(job, columns[i], &value, &size);
        memcpy(job->found.bytes + job->found.part[i].offset, value, size);
    }
    job->found.count = count;
    job->primary = &job->found;
    return true;
}

static bool set_key(struct ndb_operation *operation, const struct mc_key *key)
{
    for (uint32_t i = 0; i < key->count; i++) {
        const struct mc_key_part *part = &key->part[i];
        if (ndb_operation_set(operation, part->column, key->bytes + part->offset, part->size) != 0)
            return false;
    }
    return true;
}

struct ndb_operation *mc_row_operation(struct mc_work *job, enum ndb_operation_type type,
                                       const struct ndb_operation_options *options)
{
    struct ndb_operation *operation =
        ndb_operation_define(job->transaction, job->container->table, type, options);
    if (operation == NULL) return NULL;
    return set_key(operation, job->primary == NULL ? &job->key : job->primary) ? operation : NULL;
}

/* ---- From rows ---- */

static void add_column(uint32_t *columns, uint32_t *count, uint32_t column)
{
    if (column == MC_NO_COLUMN) return;
    for (uint32_t i = 0; i < *count; i++) {
        if (columns[i] == column) return;
    }
    if (*count < MC_ROW_COLUMNS) columns[(*count)++] = column;
}

/* Reads that nobody is told the number of do without. */
static bool wants_cas(const struct mc_work *job)
{
    return job->action != ACTION_GET || !job->request->cas_unwanted;
}

uint32_t mc_row_columns(const struct mc_work *job, bool value, uint32_t columns[MC_ROW_COLUMNS])
{
    const struct mc_container *container = job->container;
    uint32_t primary[MC_COLUMNS_MAX];
    uint32_t count = 0;
    add_column(columns, &count, container->flags_column);
    if (wants_cas(job)) add_column(columns, &count, container->cas_column);
    add_column(columns, &count, container->expire_column);
    if (container->parts != NULL) {
        add_column(columns, &count, container->ext_id_column);
        add_column(columns, &count, container->ext_size_column);
    }
    for (uint32_t i = 0; value && i < container->value_count; i++)
        add_column(columns, &count, container->value[i]);
    if (value && (container->dup_numbers || container->value_count == 0))
        add_column(columns, &count, container->increment_column);
    uint32_t keys = 0;
    if (container->access != MC_BY_PRIMARY_KEY) keys = primary_columns(container->table, primary);
    for (uint32_t i = 0; i < keys; i++)
        add_column(columns, &count, primary[i]);
    if (count == 0) add_column(columns, &count, container->key[0]);
    return count;
}

bool mc_row_value(const struct mc_work *job, uint32_t column, const void **value, uint32_t *size)
{
    *value = NULL;
    *size = 0;
    if (column == MC_NO_COLUMN) return false;
    if (job->scan != NULL) return ndb_scan_value(job->scan, column, value, size) == 0;
    if (job->row != NULL) return ndb_row_get(job->records->row, job->row, column, value, size) == 0;
    return ndb_operation_value(job->operation, column, value, size) == 0;
}

bool mc_row_integer(const struct mc_work *job, uint32_t column, uint64_t *number)
{
    const void *value;
    uint32_t size;
    *number = 0;
    return mc_row_value(job, column, &value, &size) && value != NULL &&
           mc_integer_out(job->container->table, column, value, size, number);
}

static uint32_t row_expiry(const struct mc_work *job)
{
    const void *value;
    uint32_t size;
    if (!mc_row_value(job, job->container->expire_column, &value, &size)) return 0;
    return mc_expiry_out(job->container->table, job->container->expire_column, value, size);
}

bool mc_row_expired(const struct mc_work *job)
{
    uint32_t expiry = row_expiry(job);
    return expiry != 0 && expiry <= mc_store_now(job->store);
}

bool mc_row_external(const struct mc_work *job, uint32_t *id, uint32_t *size)
{
    uint64_t number;
    uint64_t bytes;
    *id = 0;
    *size = 0;
    if (job->container->parts == NULL ||
        !mc_row_integer(job, job->container->ext_id_column, &number) ||
        !mc_row_integer(job, job->container->ext_size_column, &bytes) || bytes == 0)
        return false;
    *id = (uint32_t)number;
    *size = (uint32_t)bytes;
    return true;
}

/* A column's text, appended at `at` of store->text; NULL: nothing. -1: it has none. */
static int column_text(const struct mc_work *job, uint32_t column, uint32_t at, bool *null)
{
    const void *value;
    uint32_t size;
    *null = false;
    if (!mc_row_value(job, column, &value, &size)) return -1;
    if (value == NULL) {
        *null = true;
        return 0;
    }
    return mc_convert_out(job->container->table, column, value, size, job->store->text + at,
                          MC_SCRATCH_BYTES - at - 1);
}

int mc_row_text(const struct mc_work *job)
{
    const struct mc_container *container = job->container;
    uint32_t at = 0;
    bool null = true;
    for (uint32_t i = 0; i < container->value_count; i++) {
        if (i > 0) job->store->text[at++] = '\t';
        int size = column_text(job, container->value[i], at, &null);
        if (size < 0) return -1;
        at += (uint32_t)size;
    }
    /* A number that was incremented stands only there. */
    if (null && (container->value_count == 0 || container->dup_numbers))
        return column_text(job, container->increment_column, 0, &null);
    return (int)at;
}

bool mc_row_result(struct mc_work *job, bool value)
{
    struct mc_result *result = &job->request->result;
    const struct mc_container *container = job->container;
    uint64_t number;
    result->flags = container->flags;
    if (container->flags_column != MC_NO_COLUMN) {
        (void)mc_row_integer(job, container->flags_column, &number);
        result->flags = (uint32_t)number;
    }
    if (wants_cas(job)) (void)mc_row_integer(job, container->cas_column, &result->cas);
    result->expiry = row_expiry(job);
    if (!value) return true;
    int size = mc_row_text(job);
    if (size < 0) return false;
    result->value = mc_value_create((uint32_t)size);
    if (result->value == NULL) return false;
    memcpy(result->value->bytes, job->store->text, (uint32_t)size);
    return true;
}

/* ---- To rows ---- */

/* Sets columns, each once: those of the key are set already. */
struct setter {
    struct mc_work *job;
    struct ndb_operation *operation;
    uint32_t count;
    uint32_t columns[MC_ROW_COLUMNS];
};

/* The answer names the column. Of one value column that its value is too long says enough. */
static enum mc_status refuse(const struct setter *setter, uint32_t column, enum mc_status status)
{
    const struct mc_container *container = setter->job->container;
    struct ndb_column_info info;
    if ((status == MC_INVALID || container->value_count > 1) &&
        ndb_table_column(container->table, column, &info) == 0)
        setter->job->request->result.column = info.name;
    return status;
}

static enum mc_status set(struct setter *setter, uint32_t column, const void *value, uint32_t size)
{
    if (column == MC_NO_COLUMN) return MC_OK;
    if (in_key(setter->job->primary != NULL ? setter->job->primary : &setter->job->key, column))
        return MC_OK;
    uint32_t before = setter->count;
    add_column(setter->columns, &setter->count, column);
    if (setter->count == before) return MC_OK;
    if (ndb_operation_set(setter->operation, column, value, size) == 0) return MC_OK;
    if (ndb_operation_error(setter->operation)->code == CODE_NO_CLIENT_MEMORY) return MC_NO_MEMORY;
    return refuse(setter, column, MC_INVALID);
}

static enum mc_status set_text(struct setter *setter, uint32_t column, const char *text,
                               uint32_t size)
{
    struct mc_store *store = setter->job->store;
    bool too_long;
    int stored = mc_convert_in(setter->job->container->table, column, text, size, store->stored,
                               MC_VALUE_BYTES, &too_long);
    if (stored < 0) return refuse(setter, column, too_long ? MC_TOO_LARGE : MC_INVALID);
    return set(setter, column, store->stored, (uint32_t)stored);
}

static enum mc_status set_number(struct setter *setter, uint32_t column, uint64_t number)
{
    struct mc_store *store = setter->job->store;
    if (column == MC_NO_COLUMN) return MC_OK;
    uint32_t size = mc_integer_in(setter->job->container->table, column, number, store->stored);
    if (size == 0) return refuse(setter, column, MC_INVALID);
    return set(setter, column, store->stored, size);
}

/* NULL, or 0 where there is no NULL. */
static enum mc_status set_nothing(struct setter *setter, uint32_t column)
{
    if (column == MC_NO_COLUMN) return MC_OK;
    if (mc_is_nullable(setter->job->container, column)) return set(setter, column, NULL, 0);
    return set_number(setter, column, 0);
}

static enum mc_status set_fields(struct setter *setter, const char *text, uint32_t size)
{
    const struct mc_container *container = setter->job->container;
    bool missing = false;
    for (uint32_t i = 0; i < container->value_count; i++) {
        bool last = i + 1 == container->value_count;
        uint32_t field = missing ? 0 : mc_field_size(text, size, last);
        bool end = last || field == size;
        enum mc_status status = field == 0 && mc_is_nullable(container, container->value[i])
                                    ? set(setter, container->value[i], NULL, 0)
                                    : set_text(setter, container->value[i], text, field);
        if (status != MC_OK) return status;
        if (end) missing = true;
        text += end ? field : field + 1;
        size -= end ? field : field + 1;
    }
    return MC_OK;
}

static enum mc_status set_value(struct setter *setter, const char *text, uint32_t size)
{
    const struct mc_container *container = setter->job->container;
    if (container->value_count == 0)
        return set_text(setter, container->increment_column, text, size);
    if (container->value_count > 1) return set_fields(setter, text, size);
    enum mc_status status = set_text(setter, container->value[0], text, size);
    if (status == MC_TOO_LARGE && mc_is_count(container, text, size))
        status = set_nothing(setter, container->value[0]);
    if (status != MC_OK || !container->dup_numbers) return status;
    if (mc_is_number(text, size) &&
        set_text(setter, container->increment_column, text, size) == MC_OK)
        return MC_OK;
    return set_nothing(setter, container->increment_column);
}

static enum mc_status set_expiry(struct setter *setter, uint32_t expiry)
{
    const struct mc_container *container = setter->job->container;
    uint8_t *stored = setter->job->store->stored;
    if (container->expire_column == MC_NO_COLUMN) return MC_OK;
    if (expiry == 0 && mc_is_nullable(container, container->expire_column))
        return set(setter, container->expire_column, NULL, 0);
    uint32_t size = mc_expiry_in(container->table, container->expire_column, expiry, stored);
    return size == 0 ? refuse(setter, container->expire_column, MC_INVALID)
                     : set(setter, container->expire_column, stored, size);
}

/* Numbers of CAS go round in columns that are shorter. */
uint64_t mc_cas_of_column(const struct mc_work *job, uint64_t cas)
{
    struct ndb_column_info info;
    if (ndb_table_column(job->container->table, job->container->cas_column, &info) != 0 ||
        info.size >= 8)
        return cas;
    return cas & ((UINT64_C(1) << (8u * info.size - 1u)) - 1);
}

/* Into 8 bytes any number fits, with a sign as well. */
uint32_t mc_cas_in(const struct mc_work *job, uint64_t cas, uint8_t out[8])
{
    struct ndb_column_info info;
    if (ndb_table_column(job->container->table, job->container->cas_column, &info) != 0) return 0;
    memcpy(out, &cas, 8);
    return info.size > 8 ? 8 : info.size;
}

static enum mc_status set_cas(struct setter *setter)
{
    struct mc_work *job = setter->job;
    uint8_t stored[8];
    if (job->container->cas_column == MC_NO_COLUMN) return MC_OK;
    job->cas = mc_cas_of_column(job, job->cas);
    return set(setter, job->container->cas_column, stored, mc_cas_in(job, job->cas, stored));
}

static enum mc_status set_external(struct setter *setter, const struct mc_new_row *row)
{
    const struct mc_container *container = setter->job->container;
    enum mc_status status = mc_is_nullable(container, container->value[0])
                                ? set_nothing(setter, container->value[0])
                                : set_text(setter, container->value[0], "", 0);
    if (status == MC_OK) status = set_number(setter, container->ext_id_column, row->part_id);
    if (status == MC_OK) status = set_number(setter, container->ext_size_column, row->size);
    if (status == MC_OK && container->dup_numbers)
        status = set_nothing(setter, container->increment_column);
    return status;
}

enum mc_status mc_row_put(struct mc_work *job, struct ndb_operation *operation,
                          const struct mc_new_row *row)
{
    const struct mc_container *container = job->container;
    struct setter setter = {.job = job, .operation = operation};
    enum mc_status status =
        row->text == NULL ? set_external(&setter, row) : set_value(&setter, row->text, row->size);
    if (status == MC_OK && row->text != NULL && container->parts != NULL) {
        status = set_nothing(&setter, container->ext_id_column);
        if (status == MC_OK) status = set_nothing(&setter, container->ext_size_column);
    }
    if (status == MC_OK && row->all) {
        status = set_number(&setter, container->flags_column, row->flags);
        if (status == MC_OK) status = set_expiry(&setter, row->expiry);
    }
    return status == MC_OK ? set_cas(&setter) : status;
}

/* ---- Programs ---- */

void mc_program_live(struct mc_work *job, struct ndb_program *program, uint32_t live)
{
    uint32_t column = job->container->expire_column;
    uint8_t *stored = job->store->stored;
    if (mc_is_nullable(job->container, column))
        ndb_program_branch_null(program, column, true, live);
    uint32_t size = mc_expiry_in(job->container->table, column, 0, stored);
    ndb_program_branch_value(program, column, NDB_EQ, stored, size, live);
    size = mc_expiry_in(job->container->table, column, mc_store_now(job->store), stored);
    ndb_program_branch_value(program, column, NDB_GT, stored, size, live);
}

void mc_program_cas(struct mc_work *job, struct ndb_program *program, uint32_t label)
{
    uint8_t stored[8];
    uint32_t size = mc_cas_in(job, job->request->cas, stored);
    if (size == 8 || job->request->cas >> (8u * size) == 0)
        ndb_program_branch_value(program, job->container->cas_column, NDB_EQ, stored, size, label);
    ndb_program_refuse(program, CODE_OTHER_CAS);
    ndb_program_label(program, label);
}

void mc_program_set_cas(struct mc_work *job, struct ndb_program *program, uint64_t cas)
{
    uint8_t stored[8];
    if (job->container->cas_column == MC_NO_COLUMN) return;
    uint32_t size = mc_cas_in(job, mc_cas_of_column(job, cas), stored);
    ndb_program_store_value(program, job->container->cas_column, stored, size);
}
