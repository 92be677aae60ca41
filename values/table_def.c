/* table_def.c -- building, checking, encoding and decoding of table definitions. */
/* SPDX-License-Identifier: MIT */
/*
 * Wire form, in 32-bit words; strings and default values are padded to words with zero bytes:
 *
 *   magic, words in all, table id, version, flags, balance, fragment count, column count,
 *   max rows low, max rows high, database size | table size << 16, database, table,
 *   then for each column:
 *   type | collation << 8 | precision << 16 | scale << 24, length,
 *   flags | name size << 8 | default size << 16, name, default
 *   and, if there are indexes, which the magic says: how many ordered ones, then for each:
 *   name size | (id - number) << 8 | column count << 16, columns (one per half word), name
 *   and, with unique indexes or in the table of one, which the magic says too: base table's id and
 *   version, how many unique ones, then for each: table id, version, and the same as above
 *
 * The magic changes when the form does; there is one spelling of each definition and no slack.
 */
#include "values/table_def.h"

#include <string.h>

#include "values/column_private.h"
#include "values/errors.h"
#include "values/table_private.h"

enum {
    TABLE_DEF_MAGIC = 0x3142544E,         /* "NTB1" */
    TABLE_DEF_MAGIC_INDEXES = 0x3242544E, /* "NTB2" */
    TABLE_DEF_MAGIC_UNIQUE = 0x3342544E,  /* "NTB3" */
    HEADER_WORDS = 11,
    COLUMN_WORDS = 3
};

static const char *const balance_names[] = {
    "SPECIFIC",       "FOR_RP_BY_LDM",     "FOR_RA_BY_LDM",     "FOR_RP_BY_NODE",
    "FOR_RA_BY_NODE", "FOR_RA_BY_LDM_X_2", "FOR_RA_BY_LDM_X_3", "FOR_RA_BY_LDM_X_4",
};

static size_t round_up_8(size_t size)
{
    return (size + 7) & ~(size_t)7;
}

static size_t fixed_bytes(uint32_t column_capacity)
{
    return sizeof(struct table_def) + column_capacity * sizeof(struct table_column);
}

size_t table_def_size(uint32_t column_capacity, uint32_t heap_size)
{
    return round_up_8(fixed_bytes(column_capacity) + heap_size);
}

size_t table_def_size_max(void)
{
    return table_def_size(TABLE_COLUMNS_MAX, TABLE_HEAP_MAX);
}

size_t table_def_bytes(const struct table_def *def)
{
    return table_def_size(def->column_capacity, def->heap_size);
}

char *table_heap(const struct table_def *def)
{
    return (char *)(uintptr_t)def + fixed_bytes(def->column_capacity);
}

struct table_def *table_def_init(void *memory, size_t memory_size, uint32_t column_capacity)
{
    struct table_def *def = memory;

    if (column_capacity > TABLE_COLUMNS_MAX || memory_size < fixed_bytes(column_capacity))
        return NULL;
    size_t heap = memory_size - fixed_bytes(column_capacity);
    memset(memory, 0, fixed_bytes(column_capacity));
    def->flags = TABLE_FLAGS_DEFAULT;
    def->balance = TABLE_BALANCE_FOR_RP_BY_LDM;
    def->column_capacity = column_capacity;
    def->heap_size = heap < TABLE_HEAP_MAX ? (uint32_t)heap : TABLE_HEAP_MAX;
    memset(table_heap(def), 0, def->heap_size); /* No byte of a former owner travels along. */
    return def;
}

uint32_t table_def_set_name(struct table_def *def, const char *database, uint32_t database_size,
                            const char *table, uint32_t table_size)
{
    const uint32_t extra = 5; /* "/def/" */

    if (database_size == 0 || table_size == 0 || database_size > TABLE_NAME_MAX ||
        table_size > TABLE_NAME_MAX || database_size + table_size + extra > TABLE_NAME_MAX)
        return ERR_TABLE_NAME_TOO_LONG;
    memset(def->database, 0, sizeof(def->database));
    memset(def->table, 0, sizeof(def->table));
    memcpy(def->database, database, database_size);
    memcpy(def->table, table, table_size);
    def->database_size = (uint16_t)database_size;
    def->table_size = (uint16_t)table_size;
    return ERR_NONE;
}

static uint32_t heap_put(struct table_def *def, const void *bytes, uint32_t size)
{
    uint32_t offset = def->heap_used;

    memcpy(table_heap(def) + offset, bytes, size);
    def->heap_used += size;
    return offset;
}

uint32_t table_def_add_column(struct table_def *def, const struct table_column_options *options)
{
    if (options->name_size == 0 || options->name_size > COLUMN_NAME_MAX)
        return ERR_COLUMN_NAME_TOO_LONG;
    if (def->column_count >= def->column_capacity) return ERR_TOO_MANY_COLUMNS;
    uint32_t default_size = options->default_value != NULL ? options->default_size : 0;
    if (default_size > COLUMN_BYTES_MAX) return ERR_DEFAULT_LENGTH;
    if (options->name_size + 1 + default_size > def->heap_size - def->heap_used)
        return ERR_DEFINITION_TOO_BIG;

    struct table_column *column = &def->columns[def->column_count];
    *column = (struct table_column){
        .format = options->format,
        .flags = options->flags & ~(uint32_t)COLUMN_HAS_DEFAULT,
        .name_size = (uint16_t)options->name_size,
        .default_size = (uint16_t)default_size,
    };
    column->name_offset = heap_put(def, options->name, options->name_size);
    heap_put(def, "", 1);
    if (options->default_value != NULL) {
        column->flags |= COLUMN_HAS_DEFAULT;
        column->default_offset = heap_put(def, options->default_value, default_size);
    }
    def->column_count++;
    return ERR_NONE;
}

uint32_t table_def_rename_column(struct table_def *def, uint32_t id, const char *name,
                                 uint32_t name_size)
{
    if (id >= def->column_count) return ERR_NO_SUCH_COLUMN;
    if (name_size == 0 || name_size > COLUMN_NAME_MAX) return ERR_COLUMN_NAME_TOO_LONG;
    if (name_size + 1 > def->heap_size - def->heap_used) return ERR_DEFINITION_TOO_BIG;

    struct table_column *column = &def->columns[id];
    column->name_offset = heap_put(def, name, name_size);
    column->name_size = (uint16_t)name_size;
    heap_put(def, "", 1);
    return ERR_NONE;
}

const char *table_column_name(const struct table_def *def, const struct table_column *column)
{
    return table_heap(def) + column->name_offset;
}

const void *table_column_default(const struct table_def *def, const struct table_column *column,
                                 uint32_t *size)
{
    *size = column->default_size;
    if ((column->flags & COLUMN_HAS_DEFAULT) == 0) return NULL;
    return table_heap(def) + column->default_offset;
}

bool table_same_name(const char *a, const char *b, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) {
        uint8_t x = (uint8_t)a[i];
        uint8_t y = (uint8_t)b[i];
        if (x != y && (x >= 0x80 || y >= 0x80 || column_fold(x) != column_fold(y))) return false;
    }
    return true;
}

static const struct table_column *find_before(const struct table_def *def, const char *name,
                                              uint32_t name_size, uint32_t end)
{
    for (uint32_t i = 0; i < end; i++) {
        const struct table_column *column = &def->columns[i];
        if (column->name_size == name_size &&
            table_same_name(table_column_name(def, column), name, name_size))
            return column;
    }
    return NULL;
}

const struct table_column *table_def_find(const struct table_def *def, const char *name,
                                          uint32_t name_size)
{
    return find_before(def, name, name_size, def->column_count);
}

bool table_column_partitions(const struct table_def *def, const struct table_column *column)
{
    if ((column->flags & COLUMN_PRIMARY_KEY) == 0) return false;
    /* All key columns choose the partition when none, or every one, is named. */
    return (column->flags & COLUMN_PARTITION_KEY) != 0 ||
           def->partition_key_count == def->key_count;
}

void table_def_internal_name(const struct table_def *def, char *out, uint32_t out_size)
{
    const char *parts[3] = {def->database, "/def/", def->table};
    uint32_t used = 0;

    if (out_size == 0) return;
    for (uint32_t i = 0; i < 3; i++) {
        for (const char *c = parts[i]; *c != 0 && used + 1 < out_size; c++)
            out[used++] = *c;
    }
    out[used] = 0;
}

const char *table_balance_name(int32_t balance)
{
    if (balance > TABLE_BALANCE_SPECIFIC || balance < TABLE_BALANCE_FOR_RA_BY_LDM_X_4) return NULL;
    return balance_names[-1 - balance];
}

bool table_balance_find(const char *name, uint32_t name_size, int32_t *balance)
{
    for (int32_t b = TABLE_BALANCE_SPECIFIC; b >= TABLE_BALANCE_FOR_RA_BY_LDM_X_4; b--) {
        if (strlen(table_balance_name(b)) == name_size &&
            table_same_name(table_balance_name(b), name, name_size)) {
            *balance = b;
            return true;
        }
    }
    return false;
}

bool table_name_valid(const char *name, uint32_t size)
{
    uint32_t characters;

    for (uint32_t i = 0; i < size; i++) {
        if ((uint8_t)name[i] < 0x20 || name[i] == 0x7F || name[i] == '/') return false;
    }
    return utf8_check((const uint8_t *)name, size, &characters);
}

static uint32_t check_table(const struct table_def *def)
{
    if (def->database_size == 0 || def->table_size == 0) return ERR_TABLE_NAME_TOO_LONG;
    if (!table_name_valid(def->database, def->database_size) ||
        !table_name_valid(def->table, def->table_size))
        return ERR_TABLE_NAME_CHARACTER;
    if (def->column_count == 0 || def->column_count > TABLE_COLUMNS_MAX)
        return ERR_TOO_MANY_COLUMNS;
    if ((def->flags & ~(uint32_t)TABLE_FLAGS_ALL) != 0) return ERR_TABLE_FLAGS;
    if (table_balance_name(def->balance) == NULL) return ERR_BALANCE_BAD;
    if (def->fragment_count > TABLE_FRAGMENTS_MAX) return ERR_TOO_MANY_FRAGMENTS;
    if (def->balance == TABLE_BALANCE_SPECIFIC && def->fragment_count == 0)
        return ERR_FRAGMENT_COUNT;
    return ERR_NONE;
}

static uint32_t check_default(const struct table_def *def, const struct table_column *column)
{
    uint32_t size;
    const void *value = table_column_default(def, column, &size);

    if (value == NULL) return size == 0 ? ERR_NONE : ERR_DEFAULT_LENGTH;
    if ((column->flags & COLUMN_PRIMARY_KEY) != 0) return ERR_KEY_DEFAULT;
    uint32_t error = column_check(&column->format, value, size);
    return error == ERR_VALUE_LENGTH ? ERR_DEFAULT_LENGTH : error;
}

static uint32_t check_increment(const struct table_def *def, const struct table_column *column)
{
    if ((column->flags & COLUMN_AUTO_INCREMENT) == 0) return ERR_NONE;
    if (!column_is_integer(column->format.type)) return ERR_COLUMN_INCREMENT;
    for (const struct table_column *other = def->columns; other < column; other++) {
        if ((other->flags & COLUMN_AUTO_INCREMENT) != 0) return ERR_AUTO_INCREMENT_ONE;
    }
    return ERR_NONE;
}

/* Columns that were added stand behind all others, and can be missing. */
static bool added_good(const struct table_def *def, const struct table_column *column)
{
    const uint32_t never = COLUMN_PRIMARY_KEY | COLUMN_HAS_DEFAULT | COLUMN_AUTO_INCREMENT;
    bool behind = column > def->columns && (column[-1].flags & COLUMN_ADDED) != 0;

    if ((column->flags & COLUMN_ADDED) == 0) return !behind;
    return (column->flags & (never | COLUMN_NULLABLE)) == COLUMN_NULLABLE;
}

static uint32_t check_column(const struct table_def *def, const struct table_column *column)
{
    const char *name = table_column_name(def, column);
    uint32_t error = column_format_check(&column->format);

    if (column->name_size == 0 || column->name_size > COLUMN_NAME_MAX)
        return ERR_COLUMN_NAME_TOO_LONG;
    if (!table_name_valid(name, column->name_size)) return ERR_TABLE_NAME_CHARACTER;
    if (find_before(def, name, column->name_size, (uint32_t)(column - def->columns)) != NULL)
        return ERR_COLUMN_REPEATED;
    if (error != ERR_NONE) return error;
    if ((column->flags & ~(uint32_t)COLUMN_FLAGS_ALL) != 0) return ERR_COLUMN_FLAGS;
    if ((column->flags & COLUMN_PRIMARY_KEY) != 0 && (column->flags & COLUMN_NULLABLE) != 0)
        return ERR_KEY_NULLABLE;
    if ((column->flags & COLUMN_PARTITION_KEY) != 0 && (column->flags & COLUMN_PRIMARY_KEY) == 0)
        return ERR_PARTITION_KEY_NOT_IN_KEY;
    if (!added_good(def, column)) return ERR_COLUMN_FLAGS;
    error = check_increment(def, column);
    return error != ERR_NONE ? error : check_default(def, column);
}

/* Gives a checked column its place in row and key. */
static uint32_t place_column(struct table_def *def, uint32_t id)
{
    struct table_column *column = &def->columns[id];

    column->id = (uint16_t)id;
    column->array = (uint16_t)column_array(&column->format);
    column->size_max = column_size_max(&column->format);
    column->null_index = def->null_count;
    column->key_index = COLUMN_NOT_IN_KEY;
    if ((column->flags & COLUMN_NULLABLE) != 0) def->null_count++;
    if (column->array == COLUMN_FIXED)
        def->fixed_size += column->size_max;
    else
        def->var_count++;
    def->row_size_max += column->size_max;
    if ((column->flags & COLUMN_PRIMARY_KEY) == 0) return ERR_NONE;
    if (def->key_count == TABLE_KEY_COLUMNS_MAX) return ERR_KEY_LENGTH;
    column->key_index = def->key_count;
    def->key_columns[def->key_count++] = (uint16_t)id;
    def->key_size_max += column->size_max;
    if ((column->flags & COLUMN_PARTITION_KEY) != 0) def->partition_key_count++;
    return def->key_size_max <= TABLE_KEY_BYTES_MAX ? ERR_NONE : ERR_KEY_LENGTH;
}

static void clear_derived(struct table_def *def)
{
    memset(def->key_columns, 0, sizeof(def->key_columns));
    def->key_count = 0;
    def->partition_key_count = 0;
    def->key_size_max = 0;
    def->row_size_max = 0;
    def->fixed_size = 0;
    def->var_count = 0;
    def->null_count = 0;
}

uint32_t table_def_check_detail(struct table_def *def, uint32_t *column)
{
    uint32_t error = check_table(def);

    *column = UINT32_MAX;
    clear_derived(def);
    if (error != ERR_NONE) return error;
    for (uint32_t id = 0; id < def->column_count; id++) {
        error = check_column(def, &def->columns[id]);
        if (error == ERR_NONE) error = place_column(def, id);
        if (error != ERR_NONE) {
            *column = id;
            return error;
        }
    }
    def->row_size_max += (def->null_count + 31u) / 32 * 4;
    if (def->key_count == 0) return ERR_PRIMARY_KEY_MISSING;
    if (def->partition_key_count == 0) def->partition_key_count = def->key_count;
    if (def->row_size_max > TABLE_ROW_BYTES_MAX) return ERR_ROW_TOO_BIG;
    return table_indexes_check(def);
}

uint32_t table_def_check(struct table_def *def)
{
    uint32_t column;

    return table_def_check_detail(def, &column);
}

static uint32_t words_of(uint32_t bytes)
{
    return (bytes + 3) / 4;
}

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

void table_def_settle(struct table_def *def)
{
    for (uint32_t i = 0; i < def->column_count; i++)
        def->columns[i].flags &= ~(uint32_t)COLUMN_ADDED;
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
