/* row.c -- the tables of the workloads: their columns, their keys, and rows whose content follows
 * from one value. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "values/key.h"
#include "values/program.h"
#include "values/scan_range.h"
#include "values/table_index.h"
#include "tests/sim/run.h"

enum { KIND_UNSIGNED = 0, KIND_VARBINARY, KIND_TWO_COLUMNS, KIND_UTF8 };

static uint64_t mixed(uint64_t value)
{
    return rng_splitmix(&value);
}

static void add_column(struct table_def *def, const char *name, enum column_type type,
                       uint32_t length, uint32_t collation, uint32_t flags)
{
    struct table_column_options options = {
        .name = name,
        .name_size = (uint32_t)strlen(name),
        .format = {.type = (uint8_t)type, .collation = (uint8_t)collation, .length = length},
        .flags = flags,
    };
    if (table_def_add_column(def, &options) != 0) abort();
}

uint32_t row_value_column(const struct run *run, uint32_t table)
{
    return run->swarm.key_kind[table] == KIND_TWO_COLUMNS ? 2 : 1;
}

static void add_index(struct table_def *def, const char *name, const uint16_t *columns,
                      uint32_t count)
{
    if (table_def_add_index(def, name, (uint32_t)strlen(name), columns, count) != 0) abort();
}

static void add_unique(struct table_def *def, const char *name, const uint16_t *columns,
                       uint32_t count)
{
    if (table_def_add_unique(def, name, (uint32_t)strlen(name), columns, count) != 0) abort();
}

/* None, one or two, by table. Rows of a table never have one value; the other two are often NULL,
 * and otherwise follow from it. Only accounts of the bank have equal values. */
static void add_uniques(const struct run *run, uint32_t table, struct table_def *def)
{
    uint32_t uniques = row_uniques(run, table);
    uint16_t v = (uint16_t)row_value_column(run, table);
    if (uniques > 0)
        add_unique(def, "u_fs", (const uint16_t[]){(uint16_t)(v + 1), (uint16_t)(v + 2)}, 2);
    if (uniques > 1) add_unique(def, "u_v", &v, 1);
}

/* None to three, by table. A value changes with every update; so do the others, or to NULL. */
static void add_indexes(const struct run *run, uint32_t table, struct table_def *def)
{
    uint32_t indexes = row_indexes(run, table);
    uint16_t v = (uint16_t)row_value_column(run, table);
    if (indexes > 0) add_index(def, "by_v", &v, 1);
    if (indexes > 1)
        add_index(def, "by_s", (const uint16_t[]){(uint16_t)(v + 1), (uint16_t)(v + 2), 0}, 3);
    if (indexes > ROW_INDEX_KEY) add_index(def, "by_k", (const uint16_t[]){0, 1}, v);
}

uint32_t row_uniques(const struct run *run, uint32_t table)
{
    static const uint32_t uniques[4] = {2, 0, 2, 1};
    return table == TABLE_BANK ? 0 : uniques[(table + run->swarm.key_kind[table]) % 4];
}

uint32_t row_unique_value(const struct table_def *def)
{
    uint32_t number;
    if (!table_def_unique_find(def, "u_v", 3, &number)) abort();
    return number;
}

uint32_t row_indexes(const struct run *run, uint32_t table)
{
    return (table + run->swarm.key_kind[table]) % 4;
}

struct table_def *row_table(struct run *run, uint32_t table, const char *name)
{
    const struct swarm *swarm = &run->swarm;
    size_t size = table_def_size(8, 512);
    void *memory = calloc(1, size);
    struct table_def *def = table_def_init(memory, size, 8);
    if (def == NULL || table_def_set_name(def, "sim", 3, name, (uint32_t)strlen(name)) != 0)
        abort();
    switch (swarm->key_kind[table]) {
    case KIND_VARBINARY:
        add_column(def, "k", COLUMN_VARBINARY, 20, 0, COLUMN_PRIMARY_KEY);
        break;
    case KIND_TWO_COLUMNS:
        add_column(def, "k", COLUMN_UNSIGNED, 1, 0, COLUMN_PRIMARY_KEY);
        add_column(def, "k2", COLUMN_BINARY, 6, 0, COLUMN_PRIMARY_KEY);
        break;
    case KIND_UTF8:
        add_column(def, "k", COLUMN_VARCHAR, 80, COLLATION_UTF8MB4_GENERAL_CI, COLUMN_PRIMARY_KEY);
        break;
    default:
        add_column(def, "k", COLUMN_UNSIGNED, 1, 0, COLUMN_PRIMARY_KEY);
        break;
    }
    add_column(def, "v", COLUMN_BIGUNSIGNED, 1, 0, 0);
    add_column(def, "f", COLUMN_UNSIGNED, 1, 0, COLUMN_NULLABLE);
    add_column(def, "s", COLUMN_VARBINARY, 40, 0, COLUMN_NULLABLE);
    add_column(def, "l", COLUMN_LONGVARBINARY, 4000, 0, COLUMN_NULLABLE);
    if (swarm->counters)
        add_column(def, "c", COLUMN_BIGINT, 1, 0, COLUMN_NULLABLE); /* Only programs write it. */
    add_indexes(run, table, def);
    add_uniques(run, table, def);
    def->flags = swarm->table_flags;
    if ((swarm->copied >> table & 1u) != 0) def->flags |= TABLE_FULLY_REPLICATED;
    if (table_def_check(def) != 0) abort();
    return def;
}

uint32_t row_key(const struct run *run, uint32_t table, uint32_t key, struct rng *rng,
                 uint32_t *words)
{
    uint8_t *bytes = (uint8_t *)words;
    memset(words, 0, 24);
    int used;
    switch (run->swarm.key_kind[table]) {
    case KIND_VARBINARY:
        used = snprintf((char *)bytes + 1, 20, "key-%u", key);
        bytes[0] = (uint8_t)used;
        return words_of((uint32_t)used + 1);
    case KIND_TWO_COLUMNS:
        words[0] = key % 7;
        snprintf((char *)(bytes + 4), 7, "%06u", key);
        return 3;
    case KIND_UTF8: /* Equal whatever the case. */
        used = snprintf((char *)bytes + 1, 20, rng_chance(rng, 1, 2) ? "rOw%u" : "RoW%u", key);
        bytes[0] = (uint8_t)used;
        return words_of((uint32_t)used + 1);
    default:
        words[0] = key;
        return 1;
    }
}

static uint32_t key_of(const struct run *run, uint32_t table, const uint8_t *bytes, uint32_t size)
{
    char text[24] = {0};
    if (run->swarm.key_kind[table] == KIND_UNSIGNED) return *(const uint32_t *)(const void *)bytes;
    if (run->swarm.key_kind[table] == KIND_TWO_COLUMNS)
        memcpy(text, bytes, size < 20 ? size : 20);
    else if (size > 1)
        memcpy(text, bytes + 1, size - 1 < 20 ? size - 1 : 20);
    const char *digits = text;
    while (*digits != '\0' && (*digits < '0' || *digits > '9'))
        digits++;
    return (uint32_t)strtoul(digits, NULL, 10);
}

/* --- Values. --- */

static bool small_is_null(uint64_t value)
{
    return mixed(value) % 4 == 0;
}

/* Length and content of a variable column, or UINT32_MAX = NULL. */
static uint32_t content_of(uint64_t value, uint32_t which, uint32_t max, uint8_t *bytes)
{
    uint64_t seed = mixed(value * 2 + which);
    if (seed % 5 == 0) return UINT32_MAX;
    uint32_t size = (uint32_t)(seed / 8 % (max + 1u));
    for (uint32_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(seed >> (i % 8 * 8)) ^ (uint8_t)i;
    return size;
}

static uint32_t put_pair(uint32_t *words, uint32_t at, uint32_t column, const void *bytes,
                         uint32_t size)
{
    words[at++] = attr_header(column, size);
    if (size == 0) return at;
    words[at + words_of(size) - 1] = 0;
    memcpy(words + at, bytes, size);
    return at + words_of(size);
}

static uint32_t put_var(uint32_t *words, uint32_t at, uint32_t column, uint64_t value,
                        uint32_t prefix, uint32_t max)
{
    uint8_t bytes[4096];
    uint32_t size = content_of(value, column, max, bytes + prefix);
    if (size == UINT32_MAX) return put_pair(words, at, column, NULL, 0);
    bytes[0] = (uint8_t)size;
    if (prefix == 2) bytes[1] = (uint8_t)(size >> 8);
    return put_pair(words, at, column, bytes, size + prefix);
}

static uint32_t attrs_from(const struct run *run, uint32_t first, uint64_t value, uint32_t *words)
{
    uint32_t small = (uint32_t)(mixed(value) >> 32);
    uint32_t at = put_pair(words, 0, first, &value, 8);
    at = put_pair(words, at, first + 1, &small, small_is_null(value) ? 0 : 4);
    at = put_var(words, at, first + 2, value, 1, 40);
    return put_var(words, at, first + 3, value, 2, run->swarm.pad_max);
}

/* --- Columns that were added. --- */

uint32_t row_columns(const struct run *run, uint32_t table)
{
    return row_value_column(run, table) + 4u + (run->swarm.counters ? 1u : 0u);
}

const struct column_format row_added_formats[ROW_ADDED_FORMATS] = {
    {.type = COLUMN_UNSIGNED, .length = 1},
    {.type = COLUMN_BINARY, .length = 16},
    {.type = COLUMN_VARBINARY, .length = 40},
    {.type = COLUMN_LONGVARBINARY, .length = 300},
};

/* The stored bytes; each tells by itself whether it is whole. Returns their number. */
static uint32_t added_content(enum column_type type, uint64_t value, uint8_t bytes[20])
{
    uint64_t both[2] = {value, mixed(value)};
    uint32_t small = (uint32_t)(value & 0xFFFFu) | (uint32_t)mixed(value & 0xFFFFu) << 16;
    uint32_t prefix = type == COLUMN_VARBINARY ? 1u : type == COLUMN_LONGVARBINARY ? 2u : 0u;
    if (type == COLUMN_UNSIGNED) {
        memcpy(bytes, &small, 4);
        return 4;
    }
    bytes[0] = 16;
    bytes[1] = 0;
    memcpy(bytes + prefix, both, 16);
    return prefix + 16u;
}

uint32_t row_added(const struct table_def *def, uint32_t first, uint64_t value, uint32_t *words)
{
    uint32_t at = 0;
    for (uint32_t id = first; id < def->column_count; id++) {
        uint8_t bytes[20];
        uint32_t size = added_content((enum column_type)def->columns[id].format.type, value, bytes);
        at = put_pair(words, at, id, bytes, size);
    }
    return at;
}

/* The value that the column was made of; false: it is torn. */
static bool added_value(const uint8_t *bytes, uint32_t size, uint64_t *value)
{
    static const enum column_type types[] = {COLUMN_UNSIGNED, COLUMN_BINARY, COLUMN_VARBINARY,
                                             COLUMN_LONGVARBINARY};
    uint8_t expected[20];
    uint32_t which = size == 4 ? 0 : size - 15u;
    if (which >= sizeof types / sizeof types[0]) return false;
    *value = 0;
    memcpy(value, bytes + (which == 0 ? 0 : which - 1u), which == 0 ? 2 : 8);
    return added_content(types[which], *value, expected) == size &&
           memcmp(expected, bytes, size) == 0;
}

/* *count: those that are not NULL and were made of this value. */
static bool parse_added(const uint32_t *pairs, uint32_t words, uint32_t first, uint64_t value,
                        uint32_t *count)
{
    *count = 0;
    for (uint32_t at = 0; at < words; first++) {
        uint64_t from;
        uint32_t size = attr_size(pairs[at]);
        if (attr_column(pairs[at]) != first || at + 1 + words_of(size) > words) return false;
        if (size != 0 && !added_value((const uint8_t *)(pairs + at + 1), size, &from)) return false;
        if (size != 0) *count += from == (size == 4 ? value & 0xFFFFu : value);
        at += 1 + words_of(size);
    }
    return true;
}

uint32_t row_attrs(const struct run *run, uint32_t table, uint64_t value, uint32_t *words)
{
    return attrs_from(run, row_value_column(run, table), value, words);
}

bool row_parse(struct run *run, uint32_t table, const uint32_t *pairs, uint32_t words,
               uint32_t *key, uint64_t *value, uint32_t *added)
{
    uint32_t first = row_value_column(run, table);
    uint32_t at = 0;
    *value = 0;
    for (uint32_t column = 0; column < first; column++) {
        if (at >= words || attr_column(pairs[at]) != column) return false;
        uint32_t size = attr_size(pairs[at]);
        if (at + 1 + words_of(size) > words) return false;
        if (column + 1 == first) *key = key_of(run, table, (const uint8_t *)(pairs + at + 1), size);
        at += 1 + words_of(size);
    }
    if (at + 3 > words || pairs[at] != attr_header(first, 8)) return false;
    memcpy(value, pairs + at + 1, 8);
    uint32_t expected[ROW_WORDS_MAX];
    uint32_t count = attrs_from(run, first, *value, expected);
    if (words - at < count || memcmp(expected, pairs + at, count * 4u) != 0) return false;
    at += count;
    if (run->swarm.counters) {
        if (at == words || attr_column(pairs[at]) != first + 4) return false;
        uint32_t size = attr_size(pairs[at]);
        if ((size != 0 && size != 8) || at + 1 + words_of(size) > words) return false;
        at += 1 + words_of(size);
    }
    return parse_added(pairs + at, words - at, row_columns(run, table), *value, added);
}

/* --- Counters. --- */

int64_t row_counter(const struct run *run, uint32_t table, const uint32_t *pairs, uint32_t words)
{
    int64_t value = 0;
    uint32_t column = row_value_column(run, table) + 4;
    if (!run->swarm.counters) return 0;
    for (uint32_t at = 0; at < words; at += 1 + words_of(attr_size(pairs[at]))) {
        if (attr_column(pairs[at]) == column && attr_size(pairs[at]) != 0)
            memcpy(&value, pairs + at + 1, 8);
    }
    return value;
}

uint32_t row_add(const struct run *run, uint32_t table, int64_t add, uint32_t *words)
{
    uint32_t column = row_value_column(run, table) + 4;
    const uint64_t bits = (uint64_t)add;
    const uint64_t least = (uint64_t)(int64_t)COUNTER_LEAST;
    const uint32_t program[] = {
        PROGRAM_VERSION,
        program_head(PROGRAM_LOAD_COLUMN, 0, 0, column),
        program_head(PROGRAM_BRANCH_NULL, 0, 0, 0),
        program_branch_word(5, PROGRAM_EQ, PROGRAM_UNLESS),
        program_head(PROGRAM_LOAD_16, 0, 0, 0),
        program_head(PROGRAM_LOAD_SIGNED, 1, 0, 0),
        (uint32_t)bits,
        (uint32_t)(bits >> 32),
        program_head(PROGRAM_ADD, 0, 0, 1),
        program_head(PROGRAM_LOAD_SIGNED, 2, 0, 0),
        (uint32_t)least,
        (uint32_t)(least >> 32),
        program_head(PROGRAM_BRANCH_LT, 0, 2, 0),
        program_branch_word(16, PROGRAM_EQ, 0),
        program_head(PROGRAM_STORE_COLUMN, 0, 0, column),
        program_head(PROGRAM_EXIT_OK, 0, 0, 0),
        program_head(PROGRAM_EXIT_REFUSE, 0, 0, COUNTER_REFUSES),
    };
    uint32_t count = sizeof program / 4u;
    words[0] = count;
    words[1] = 1;
    memcpy(words + 2, program, sizeof program);
    words[2 + count] = attr_header(ATTR_READ_ALL, 0);
    return 3 + count;
}

void row_filter(const struct run *run, uint32_t table, uint64_t least, uint32_t *words)
{
    const uint32_t program[ROW_FILTER_WORDS] = {
        PROGRAM_VERSION,
        program_head(PROGRAM_BRANCH_COLUMN, 0, 0, row_value_column(run, table)),
        program_branch_word(7, PROGRAM_GE, 0),
        8,
        (uint32_t)least,
        (uint32_t)(least >> 32),
        program_head(PROGRAM_EXIT_REFUSE, 0, 0, 626),
        program_head(PROGRAM_EXIT_OK, 0, 0, 0),
    };
    memcpy(words, program, sizeof program);
}

static void bound_by_key(const struct row_range *range, struct key_parts *parts,
                         struct scan_range *out)
{
    if (key_split(range->def, range->key, range->key_words, parts) != 0) abort();
    out->low.columns = range->def->key_count;
    for (uint32_t i = 0; i < out->low.columns; i++)
        out->low.value[i] = (struct scan_value){parts->bytes[i], parts->size[i]};
    out->high = out->low;
    out->partition = (uint32_t)(key_partition_hash(range->def, range->key, range->key_words) >> 32);
}

uint32_t row_range(const struct row_range *range, uint32_t words[ROW_RANGE_WORDS])
{
    struct key_parts parts;
    uint64_t low = range->closed ? range->low : range->low - 1;
    uint64_t high = range->closed ? range->high : range->high + 1;
    struct scan_range out = {.number = range->number, .index = range->index, .flags = range->flags};
    if (range->by_value && (range->closed || range->low > 0)) {
        out.low = (struct scan_bound){.columns = 1, .exclusive = !range->closed};
        out.low.value[0] = (struct scan_value){(const uint8_t *)&low, 8};
    }
    if (range->by_value && (range->closed || range->high < UINT64_MAX)) {
        out.high = (struct scan_bound){.columns = 1, .exclusive = !range->closed};
        out.high.value[0] = (struct scan_value){(const uint8_t *)&high, 8};
    }
    if (range->key_words > 0) bound_by_key(range, &parts, &out);
    return scan_range_encode(&out, words, ROW_RANGE_WORDS);
}
