/* ndb_range.c -- ranges of an index as applications give them, made into the words that data nodes
 * get. */
/* SPDX-License-Identifier: MIT */
#include "api/ndb/ndb_private.h"
#include "api/ndb/record_member.h"
#include "values/key.h"
#include "values/scan_range.h"
#include "values/table_index.h"

static_assert(NDB_RANGES_MAX == SCAN_RANGES_MAX, "one limit");

/* *fault: the column whose value is wrong. */
static uint32_t bound_make(const struct table_def *def, const struct table_index *index,
                           const struct ndb_index_bound *from, struct scan_bound *to,
                           const struct table_column **fault)
{
    if (from->columns > index->column_count || (from->columns == 0 && from->exclusive) ||
        (from->columns > 0 && (from->value == NULL || from->size == NULL)))
        return ERR_BOUNDS;
    to->columns = from->columns;
    to->exclusive = from->exclusive;
    for (uint32_t i = 0; i < from->columns; i++) {
        const struct column_format *format = &def->columns[index->columns[i]].format;
        uint32_t size = from->value[i] == NULL ? 0 : from->size[i];
        to->value[i] = (struct scan_value){from->value[i], size};
        if (from->value[i] != NULL && column_check(format, from->value[i], size) != 0) {
            *fault = &def->columns[index->columns[i]];
            return ERR_BOUNDS;
        }
    }
    return 0;
}

/* In how many of its first columns all rows of the range are equal. */
static uint32_t equal_columns(const struct table_def *def, const struct table_index *index,
                              const struct scan_range *range)
{
    uint32_t count = 0;
    uint32_t most =
        range->low.columns < range->high.columns ? range->low.columns : range->high.columns;
    for (; count < most; count++) {
        const struct column_format *format = &def->columns[index->columns[count]].format;
        const struct scan_value *low = &range->low.value[count];
        const struct scan_value *high = &range->high.value[count];
        if (low->size == 0 || high->size == 0 ||
            column_compare(format, low->bytes, low->size, high->bytes, high->size) != 0)
            break;
    }
    return count;
}

/* The partition of all rows of the range, when its bounds tell. */
static void partition_make(const struct table_def *def, const struct table_index *index,
                           struct scan_range *range)
{
    struct key_parts parts = {0};
    uint32_t equal = equal_columns(def, index, range);
    for (uint32_t k = 0; k < def->key_count; k++) {
        uint32_t column = def->key_columns[k];
        if (!table_column_partitions(def, &def->columns[column])) continue;
        for (uint32_t i = 0; i < equal; i++) {
            if (index->columns[i] != column) continue;
            parts.bytes[k] = range->low.value[i].bytes;
            parts.size[k] = range->low.value[i].size;
        }
        if (parts.size[k] == 0) return;
    }
    range->flags |= SCAN_ONE_PARTITION;
    range->partition = (uint32_t)(key_parts_partition_hash(def, &parts) >> 32);
}

/* One range behind the `*used` words of those before it. 0 or an error. */
static uint32_t range_make(const struct table_def *def, const struct table_index *index,
                           const struct ndb_index_range *from, uint32_t number, uint32_t *words,
                           uint32_t *used, const struct table_column **fault)
{
    struct scan_range range = {
        .number = number,
        .index = index->id,
        .flags = (from->descending ? (uint32_t)SCAN_DESCENDING : 0u) |
                 (from->unordered ? 0u : (uint32_t)SCAN_MERGED),
    };
    uint32_t error = bound_make(def, index, &from->low, &range.low, fault);
    if (error == 0) error = bound_make(def, index, &from->high, &range.high, fault);
    if (error != 0) return error;
    partition_make(def, index, &range);
    uint32_t more = scan_range_encode(&range, words + *used, SCAN_RANGES_WORDS_MAX - *used);
    *used += more;
    return more == 0 ? ERR_BOUNDS : 0;
}

static int wrong_value(ndb_t *ndb, const struct table_def *def, const struct table_column *column,
                       uint32_t number)
{
    char where[NDB_DETAIL_SIZE];
    char type[SQL_TYPE_TEXT_SIZE];
    sql_column_text(def, column, where, sizeof where);
    sql_type_text(&column->format, type);
    return error_set(&ndb->error, ERR_BOUNDS, "range %u, %.190s is %s: a value is not of its type",
                     number, where, type);
}

int ranges_make(ndb_t *ndb, const struct api_table *table, const struct ndb_scan_options *options,
                uint32_t *words, uint32_t *used)
{
    const struct table_def *def = api_table_def(table);
    const struct ndb_index_range *range = options->range;
    uint32_t count = options->range_count == 0 ? 1 : options->range_count;
    struct table_index index;

    *used = 0;
    if (count > SCAN_RANGES_MAX)
        return error_set(&ndb->error, ERR_BOUNDS, "%u ranges, more than %u", count,
                         SCAN_RANGES_MAX);
    if (!table_def_index(def, range->index, &index)) {
        char text[NDB_DETAIL_SIZE];
        sql_column_text(def, NULL, text, sizeof text);
        return error_set(&ndb->error, ERR_INDEX_MISSING, "%.200s, index number %u", text,
                         range->index);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (range[i].index != range->index || range[i].descending != range->descending ||
            range[i].unordered != range->unordered)
            return error_set(&ndb->error, ERR_BOUNDS,
                             "range %u has another index or order than the first one", i);
        const struct table_column *fault = NULL;
        uint32_t error = range_make(def, &index, &range[i], i, words, used, &fault);
        if (fault != NULL) return wrong_value(ndb, def, fault, i);
        if (error != 0)
            return error_set(&ndb->error, error, "range %u: bounds, or more than %u bytes in all",
                             i, SCAN_RANGES_WORDS_MAX * 4u);
    }
    return 0;
}
