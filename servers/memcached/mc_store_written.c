/* mc_store_written.c -- what a read of a row gives after a request has changed it. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The row is not read for it: the same conversions are made that stored the value, and back. Where
 * that is not the whole truth (a column that stands for two things, a value of which the request
 * has brought only a part) nothing is said.
 */
#include <string.h>
#include "servers/memcached/mc_convert.h"
#include "servers/memcached/mc_store_large.h"
#include "servers/memcached/mc_store_private.h"

/* A column that is part of a key is not written, and of one that is named twice only once. */
static bool stands_alone(const struct mc_container *container, const uint32_t *columns, uint32_t at)
{
    struct ndb_column_info info;
    if (ndb_table_column(container->table, columns[at], &info) != 0 || info.primary_key)
        return false;
    for (uint32_t i = 0; i < container->key_count; i++)
        if (container->key[i] == columns[at]) return false;
    for (uint32_t i = 0; i < at; i++)
        if (columns[i] == columns[at]) return false;
    return true;
}

static bool all_stand_alone(const struct mc_container *container)
{
    uint32_t columns[MC_COLUMNS_MAX + 4u];
    uint32_t count = container->value_count;
    memcpy(columns, container->value, count * sizeof columns[0]);
    columns[count++] = container->flags_column;
    columns[count++] = container->cas_column;
    columns[count++] = container->expire_column;
    columns[count++] = container->increment_column;
    for (uint32_t i = 0; i < count; i++)
        if (columns[i] != MC_NO_COLUMN && !stands_alone(container, columns, i)) return false;
    return true;
}

/* ---- Text ---- */

/* Text of a column as it comes back, at `at` of store->text: its size, or -1. */
static int column_text(struct mc_store *store, const struct ndb_table *table, uint32_t column,
                       const char *text, uint32_t size, uint32_t at)
{
    bool too_long;
    int stored = mc_convert_in(table, column, text, size, store->stored, MC_VALUE_BYTES, &too_long);
    if (stored < 0) return -1;
    return mc_convert_out(table, column, store->stored, (uint32_t)stored, store->text + at,
                          MC_SCRATCH_BYTES - at - 1);
}

/* Several columns: fields that are empty or missing are NULL, and come back empty. */
static int fields_text(struct mc_store *store, const struct mc_container *container,
                       const char *text, uint32_t size)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < container->value_count; i++) {
        bool last = i + 1 == container->value_count;
        const char *tab = last || size == 0 ? NULL : memchr(text, '\t', size);
        uint32_t field = tab == NULL ? size : (uint32_t)(tab - text);
        int written =
            field == 0 && mc_is_nullable(container, container->value[i])
                ? 0
                : column_text(store, container->table, container->value[i], text, field, at);
        if (written < 0) return -1;
        at += (uint32_t)written;
        if (!last) store->text[at++] = '\t';
        text += tab == NULL ? field : field + 1;
        size -= tab == NULL ? field : field + 1;
    }
    return (int)at;
}

static int value_text(struct mc_store *store, const struct mc_container *container,
                      const struct mc_value *value)
{
    const char *text = value == NULL ? "" : value->bytes;
    uint32_t size = value == NULL ? 0 : value->size;
    if (container->value_count > 1) return fields_text(store, container, text, size);
    uint32_t column =
        container->value_count == 0 ? container->increment_column : container->value[0];
    return column_text(store, container->table, column, text, size, 0);
}

/* Bytes that are stored as they come need no copy. */
static bool is_as_it_came(const struct mc_container *container, const struct mc_value *value)
{
    struct ndb_column_info info;
    if (value == NULL || container->value_count != 1) return false;
    if (mc_large_needs_parts(container, value->bytes, value->size)) return true;
    return ndb_table_column(container->table, container->value[0], &info) == 0 &&
           info.prefix_bytes != 0;
}

static struct mc_value *value_written(struct mc_store *store, const struct mc_container *container,
                                      const struct mc_request *request)
{
    int size;
    if (request->command == MC_INCREMENT || request->command == MC_DECREMENT) {
        /* The number is what a read gives where there is no text, or none any more. */
        if (container->value_count != 0 && !container->dup_numbers) return NULL;
        uint32_t stored = mc_integer_in(container->table, container->increment_column,
                                        request->result.number, store->stored);
        size = stored == 0 ? -1
                           : mc_convert_out(container->table, container->increment_column,
                                            store->stored, stored, store->text, MC_SCRATCH_BYTES);
    } else {
        if (is_as_it_came(container, request->value)) return mc_value_hold(request->value);
        size = value_text(store, container, request->value);
    }
    struct mc_value *value = size < 0 ? NULL : mc_value_create((uint32_t)size);
    if (value != NULL) memcpy(value->bytes, store->text, (uint32_t)size);
    return value;
}

/* ---- The row ---- */

static uint32_t expiry_written(struct mc_store *store, const struct mc_container *container,
                               uint32_t expiry)
{
    if (container->expire_column == MC_NO_COLUMN || expiry == 0) return 0;
    uint32_t size = mc_expiry_in(container->table, container->expire_column, expiry, store->stored);
    return mc_expiry_out(container->table, container->expire_column, store->stored, size);
}

bool mc_store_written(struct mc_store *store, const struct mc_container *container,
                      const struct mc_request *request, struct mc_written *written)
{
    const struct mc_result *result = &request->result;
    bool counts = request->command == MC_INCREMENT || request->command == MC_DECREMENT;
    bool sets =
        request->command == MC_SET || request->command == MC_ADD || request->command == MC_REPLACE;
    *written = (struct mc_written){0};
    if (result->status != MC_OK || !(counts || sets) || !all_stand_alone(container)) return false;
    written->value = value_written(store, container, request);
    if (written->value == NULL) return false;
    bool as_asked = sets || result->created;
    written->flags = container->flags;
    if (container->flags_column != MC_NO_COLUMN)
        written->flags = sets ? request->flags : result->created ? 0 : result->flags;
    written->expiry = as_asked ? expiry_written(store, container, request->expiry) : result->expiry;
    return true;
}
