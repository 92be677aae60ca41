/* table_decode.c -- a table definition is read from words that nobody can trust. */
/* SPDX-License-Identifier: MIT */
#include "values/column_private.h"
#include "values/errors.h"
#include "values/table_index.h"
#include "values/table_private.h"
#include "values/table_wire.h"

/* Words from outside; `bad` stays set once something did not fit. */
struct word_reader {
    const uint32_t *at;
    const uint32_t *end;
    bool bad;
};

static uint32_t take_word(struct word_reader *reader)
{
    if (reader->at == reader->end) {
        reader->bad = true;
        return 0;
    }
    return *reader->at++;
}

/* Copies a string of at most out_size bytes, or passes over it when out is NULL. */
static void take_string(struct word_reader *reader, uint32_t size, void *out, uint32_t out_size)
{
    uint32_t words = words_of(size);

    if ((uint64_t)(reader->end - reader->at) < words || (out != NULL && size > out_size)) {
        reader->bad = true;
        return;
    }
    for (uint32_t i = 0; out != NULL && i < size; i += 4)
        store_le((uint8_t *)out + i, size - i < 4 ? size - i : 4, reader->at[i / 4]);
    if (size % 4 != 0 && reader->at[words - 1] >> (8 * (size % 4)) != 0)
        reader->bad = true; /* Padding is zero, or two spellings would mean one definition. */
    reader->at += words;
}

struct column_sizes {
    uint32_t flags;
    uint32_t name;
    uint32_t default_value;
};

static struct column_sizes take_sizes(struct word_reader *reader)
{
    uint32_t word = take_word(reader);
    struct column_sizes sizes = {word & 0xFF, word >> 8 & 0xFF, word >> 16};

    if (sizes.name == 0 || sizes.name > COLUMN_NAME_MAX || sizes.default_value > COLUMN_BYTES_MAX ||
        ((sizes.flags & COLUMN_HAS_DEFAULT) == 0 && sizes.default_value != 0))
        reader->bad = true;
    return sizes;
}

struct index_sizes {
    uint32_t name;
    uint32_t id; /* The id, minus the number of the index. */
    uint32_t columns;
};

static struct index_sizes take_index_sizes(struct word_reader *reader)
{
    uint32_t word = take_word(reader);
    struct index_sizes sizes = {word & 0xFF, word >> 8 & 0xFF, word >> 16};

    if (sizes.name == 0 || sizes.name > INDEX_NAME_MAX || sizes.columns == 0 ||
        sizes.columns > INDEX_COLUMNS_MAX)
        reader->bad = true;
    return sizes;
}

/* How many ordered ones. */
static uint32_t take_index_count(struct word_reader *reader, uint32_t magic)
{
    uint32_t count = magic == TABLE_DEF_MAGIC ? 0 : take_word(reader);

    if ((count == 0 && magic == TABLE_DEF_MAGIC_INDEXES) || count > TABLE_INDEXES_MAX)
        reader->bad = true;
    return reader->bad ? 0 : count;
}

struct unique_head {
    uint32_t base_id;
    uint32_t base_version;
    uint32_t count;
};

static struct unique_head take_unique_head(struct word_reader *reader, uint32_t magic)
{
    struct unique_head head = {0};
    if (magic != TABLE_DEF_MAGIC_UNIQUE) return head;
    head.base_id = take_word(reader);
    head.base_version = take_word(reader);
    head.count = take_word(reader);
    bool none = head.base_id == 0 && head.count == 0;
    if (none || (head.base_id == 0) != (head.base_version == 0) || head.count > TABLE_UNIQUE_MAX)
        reader->bad = true;
    if (reader->bad) head.count = 0;
    return head;
}

/* The heap bytes that an index needs. */
static uint64_t measure_index(struct word_reader *reader)
{
    struct index_sizes sizes = take_index_sizes(reader);
    if (reader->bad) return 0;
    take_string(reader, 2u * sizes.columns, NULL, 0);
    take_string(reader, sizes.name, NULL, 0);
    return 16u + 2u * sizes.columns + sizes.name + 1u;
}

static uint64_t measure_indexes(struct word_reader *reader, uint32_t magic)
{
    uint64_t heap = 0;
    uint32_t count = take_index_count(reader, magic);

    for (uint32_t i = 0; i < count && !reader->bad; i++)
        heap += measure_index(reader);
    count = take_unique_head(reader, magic).count;
    for (uint32_t i = 0; i < count && !reader->bad; i++) {
        take_word(reader);
        take_word(reader);
        heap += measure_index(reader);
    }
    return heap;
}

/* Passes over all words; returns the heap bytes that names, defaults and indexes need. */
static uint64_t measure(struct word_reader *reader, uint32_t column_count, uint32_t name_sizes,
                        uint32_t magic)
{
    uint64_t heap = 0;

    take_string(reader, name_sizes & 0xFFFF, NULL, 0);
    take_string(reader, name_sizes >> 16, NULL, 0);
    for (uint32_t i = 0; i < column_count && !reader->bad; i++) {
        take_word(reader);
        take_word(reader);
        struct column_sizes sizes = take_sizes(reader);
        if (reader->bad) break;
        take_string(reader, sizes.name, NULL, 0);
        take_string(reader, sizes.default_value, NULL, 0);
        heap += sizes.name + 1 + sizes.default_value;
    }
    if (!reader->bad) heap += measure_indexes(reader, magic);
    return heap;
}

size_t table_def_decode_size(const uint32_t *words, uint32_t word_count)
{
    if (word_count < HEADER_WORDS || words[1] != word_count || words[7] > TABLE_COLUMNS_MAX ||
        (words[0] != TABLE_DEF_MAGIC && words[0] != TABLE_DEF_MAGIC_INDEXES &&
         words[0] != TABLE_DEF_MAGIC_UNIQUE))
        return 0;
    struct word_reader reader = {words + HEADER_WORDS, words + word_count, false};
    uint64_t heap = measure(&reader, words[7], words[10], words[0]);
    if (reader.bad || reader.at != reader.end || heap > TABLE_HEAP_MAX) return 0;
    return table_def_size(words[7], (uint32_t)heap);
}

static uint32_t decode_column(struct word_reader *reader, struct table_def *def)
{
    struct table_column_options options = {0};
    uint32_t word = take_word(reader);
    char name[COLUMN_NAME_MAX];

    options.format = (struct column_format){
        .type = (uint8_t)word,
        .collation = (uint8_t)(word >> 8),
        .precision = (uint8_t)(word >> 16),
        .scale = (uint8_t)(word >> 24),
        .length = take_word(reader),
    };
    struct column_sizes sizes = take_sizes(reader);
    take_string(reader, sizes.name, name, sizeof(name));
    if (reader->bad) return ERR_TABLE_FORMAT;
    options.name = name;
    options.name_size = sizes.name;
    options.flags = sizes.flags;
    uint32_t error = table_def_add_column(def, &options);
    if (error != ERR_NONE || (sizes.flags & COLUMN_HAS_DEFAULT) == 0) return error;

    /* The default goes straight into the heap: it may be too long for a buffer on the stack. */
    struct table_column *column = &def->columns[def->column_count - 1];
    take_string(reader, sizes.default_value, table_heap(def) + def->heap_used,
                def->heap_size - def->heap_used);
    if (reader->bad) return ERR_TABLE_FORMAT;
    column->flags |= COLUMN_HAS_DEFAULT;
    column->default_offset = def->heap_used;
    column->default_size = (uint16_t)sizes.default_value;
    def->heap_used += sizes.default_value;
    return ERR_NONE;
}

uint32_t table_def_append_column(struct table_def *def, const uint32_t *words, uint32_t word_count)
{
    struct word_reader reader = {words, words + word_count, false};
    uint32_t error = decode_column(&reader, def);

    return error == ERR_NONE && reader.at != reader.end ? ERR_TABLE_FORMAT : error;
}

static uint32_t add_with_id(struct table_def *def, const char *name, const uint16_t *columns,
                            const struct index_sizes *sizes)
{
    uint32_t number = def->index_count;
    uint32_t error = table_def_add_index(def, name, sizes->name, columns, sizes->columns);
    if (error == ERR_NONE) table_def_index_set_id(def, number, (uint8_t)(number + sizes->id));
    return error;
}

static uint32_t decode_index(struct word_reader *reader, struct table_def *def, bool unique)
{
    uint16_t columns[INDEX_COLUMNS_MAX];
    uint8_t bytes[2 * INDEX_COLUMNS_MAX];
    char name[INDEX_NAME_MAX];
    uint32_t table_id = unique ? take_word(reader) : 0;
    uint32_t version = unique ? take_word(reader) : 0;
    struct index_sizes sizes = take_index_sizes(reader);

    if (reader->bad) return ERR_TABLE_FORMAT;
    take_string(reader, 2u * sizes.columns, bytes, sizeof(bytes));
    take_string(reader, sizes.name, name, sizeof(name));
    if (reader->bad) return ERR_TABLE_FORMAT;
    for (uint32_t i = 0; i < sizes.columns; i++)
        columns[i] = (uint16_t)load_le(bytes + 2u * i, 2);
    if (!unique) return add_with_id(def, name, columns, &sizes);
    if (sizes.id != 0) return ERR_TABLE_FORMAT;
    uint32_t error = table_def_add_unique(def, name, sizes.name, columns, sizes.columns);
    if (error == ERR_NONE) table_def_unique_set(def, def->unique_count - 1u, table_id, version);
    return error;
}

static uint32_t decode_indexes(struct word_reader *reader, uint32_t magic, struct table_def *def)
{
    uint32_t error = ERR_NONE;
    uint32_t count = take_index_count(reader, magic);
    for (uint32_t i = 0; error == ERR_NONE && i < count; i++)
        error = decode_index(reader, def, false);
    if (error != ERR_NONE) return error;
    struct unique_head head = take_unique_head(reader, magic);
    for (uint32_t i = 0; error == ERR_NONE && i < head.count; i++)
        error = decode_index(reader, def, true);
    def->base_id = head.base_id;
    def->base_version = head.base_version;
    return error;
}

static uint32_t decode_names(struct word_reader *reader, uint32_t sizes, struct table_def *def)
{
    char database[TABLE_NAME_MAX];
    char table[TABLE_NAME_MAX];

    take_string(reader, sizes & 0xFFFF, database, sizeof(database));
    take_string(reader, sizes >> 16, table, sizeof(table));
    if (reader->bad) return ERR_TABLE_NAME_TOO_LONG;
    return table_def_set_name(def, database, sizes & 0xFFFF, table, sizes >> 16);
}

/* Into an empty definition that has room. */
static uint32_t decode(const uint32_t *words, uint32_t word_count, struct table_def *result)
{
    struct word_reader reader = {words + HEADER_WORDS, words + word_count, false};
    uint32_t error = decode_names(&reader, words[10], result);
    for (uint32_t i = 0; error == ERR_NONE && i < words[7]; i++)
        error = decode_column(&reader, result);
    if (error == ERR_NONE) error = decode_indexes(&reader, words[0], result);
    if (error != ERR_NONE) return error;
    result->table_id = words[2];
    result->version = words[3];
    result->flags = words[4];
    result->balance = (int32_t)words[5];
    result->fragment_count = words[6];
    result->max_rows = (uint64_t)words[9] << 32 | words[8];
    return table_def_check(result);
}

uint32_t table_def_decode(const uint32_t *words, uint32_t word_count, void *memory,
                          size_t memory_size, struct table_def **def)
{
    size_t needed = table_def_decode_size(words, word_count);

    *def = NULL;
    if (needed == 0) return ERR_TABLE_FORMAT;
    if (needed > memory_size) return ERR_BUFFER_SMALL;
    struct table_def *result = table_def_init(memory, needed, words[7]);
    uint32_t error = decode(words, word_count, result);
    if (error == ERR_NONE) *def = result;
    return error;
}

uint32_t table_def_decode_roomy(const uint32_t *words, uint32_t word_count, void *memory,
                                size_t memory_size, struct table_def **def)
{
    size_t needed = table_def_decode_size(words, word_count);

    *def = NULL;
    if (needed == 0) return ERR_TABLE_FORMAT;
    if (memory_size < table_def_size_max()) return ERR_BUFFER_SMALL;
    struct table_def *result = table_def_init(memory, memory_size, TABLE_COLUMNS_MAX);
    uint32_t error = decode(words, word_count, result);
    if (error == ERR_NONE) *def = result;
    return error;
}
