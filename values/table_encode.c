/* table_encode.c -- a table definition is written in its wire form. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "values/column_private.h"
#include "values/table_index.h"
#include "values/table_wire.h"

static uint32_t magic_of(const struct table_def *def)
{
    if (def->unique_count > 0 || def->base_id != 0) return TABLE_DEF_MAGIC_UNIQUE;
    return def->index_count > 0 ? TABLE_DEF_MAGIC_INDEXES : TABLE_DEF_MAGIC;
}

static uint32_t index_words(const struct table_index *index)
{
    return 1 + words_of(2u * index->column_count) + words_of(index->name_size);
}

static uint32_t column_words(const struct table_column *column)
{
    return COLUMN_WORDS + words_of(column->name_size) + words_of(column->default_size);
}

uint32_t table_def_words(const struct table_def *def)
{
    uint32_t words = HEADER_WORDS + words_of(def->database_size) + words_of(def->table_size);

    for (uint32_t i = 0; i < def->column_count; i++)
        words += column_words(&def->columns[i]);
    struct table_index index;
    uint32_t form = magic_of(def);
    if (form != TABLE_DEF_MAGIC) words++;
    for (uint32_t i = 0; table_def_index(def, i, &index); i++)
        words += index_words(&index);
    if (form == TABLE_DEF_MAGIC_UNIQUE) words += 3;
    for (uint32_t i = 0; table_def_unique(def, i, &index); i++)
        words += 2 + index_words(&index);
    return words;
}

/* Bytes go into words as little endian memory does, whatever the machine. */
static uint32_t *put_string(uint32_t *at, const void *bytes, uint32_t size)
{
    const uint8_t *from = bytes;

    for (uint32_t i = 0; i < size; i += 4)
        *at++ = (uint32_t)load_le(from + i, size - i < 4 ? size - i : 4);
    return at;
}

static uint32_t *put_index(const struct table_index *index, uint32_t id, uint32_t *at)
{
    *at++ = (uint32_t)index->name_size | (id & 0xFFu) << 8 | (uint32_t)index->column_count << 16;
    for (uint32_t c = 0; c < index->column_count; c += 2)
        *at++ = index->columns[c] |
                (c + 1 < index->column_count ? (uint32_t)index->columns[c + 1] << 16 : 0);
    return put_string(at, index->name, index->name_size);
}

static uint32_t *put_indexes(const struct table_def *def, uint32_t *at)
{
    struct table_index index;

    *at++ = def->index_count;
    for (uint32_t i = 0; table_def_index(def, i, &index); i++)
        at = put_index(&index, index.id - i, at);
    return at;
}

static void put_uniques(const struct table_def *def, uint32_t *at)
{
    struct table_index index;

    *at++ = def->base_id;
    *at++ = def->base_version;
    *at++ = def->unique_count;
    for (uint32_t i = 0; table_def_unique(def, i, &index); i++) {
        *at++ = index.table_id;
        *at++ = index.version;
        at = put_index(&index, 0, at);
    }
}

static uint32_t *put_column(const struct table_def *def, const struct table_column *column,
                            uint32_t *at)
{
    uint32_t size;
    const void *value = table_column_default(def, column, &size);

    *at++ = (uint32_t)column->format.type | (uint32_t)column->format.collation << 8 |
            (uint32_t)column->format.precision << 16 | (uint32_t)column->format.scale << 24;
    *at++ = column->format.length;
    *at++ = column->flags | (uint32_t)column->name_size << 8 | size << 16;
    at = put_string(at, table_column_name(def, column), column->name_size);
    return put_string(at, value, size);
}

uint32_t table_column_encode(const struct table_def *def, const struct table_column *column,
                             uint32_t *words, uint32_t words_max)
{
    uint32_t count = column_words(column);

    if (count > words_max) return 0;
    put_column(def, column, words);
    return count;
}

uint32_t table_def_encode(const struct table_def *def, uint32_t *words, uint32_t words_max)
{
    uint32_t count = table_def_words(def);
    const uint32_t header[HEADER_WORDS] = {
        magic_of(def),
        count,
        def->table_id,
        def->version,
        def->flags,
        (uint32_t)def->balance,
        def->fragment_count,
        def->column_count,
        (uint32_t)def->max_rows,
        (uint32_t)(def->max_rows >> 32),
        (uint32_t)def->database_size | (uint32_t)def->table_size << 16,
    };

    if (count > words_max) return 0;
    memcpy(words, header, sizeof(header));
    uint32_t *at = put_string(words + HEADER_WORDS, def->database, def->database_size);
    at = put_string(at, def->table, def->table_size);
    for (uint32_t i = 0; i < def->column_count; i++)
        at = put_column(def, &def->columns[i], at);
    if (header[0] != TABLE_DEF_MAGIC) at = put_indexes(def, at);
    if (header[0] == TABLE_DEF_MAGIC_UNIQUE) put_uniques(def, at);
    return count;
}
