/* ndb_range_where.c -- a range of an index, made from a condition and typed values. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "api/ndb/ndb_program.h"
#include "api/ndb/ndb_range.h"
#include "api/ndb/record_member.h"
#include "values/table_index.h"

/* One end of a column's values. */
struct side {
    bool set;
    bool exclusive;
    uint32_t size;
    /* Value in stored form; NULL: the bound is NULL, which comes before all others. */
    uint8_t *value;
};

struct bounded {
    const struct table_column *column;
    struct side low, high;
};

struct ndb_range {
    struct ndb_index_range range; /* What the application gets; points to all below. */
    const struct table_def *def;  /* The table's definition, while the range is made. */
    uint32_t count;
    /* Bounded columns; at last in the index's order. */
    struct bounded columns[NDB_INDEX_COLUMNS_MAX];
    const void *value[2][NDB_INDEX_COLUMNS_MAX]; /* Values of the low and of the high bound. */
    uint32_t size[2][NDB_INDEX_COLUMNS_MAX];
};

/* ---- Values. ---- */

struct ndb_bound ndb_bound_int(int64_t value)
{
    return (struct ndb_bound){.kind = NDB_BOUND_INT, .value.integer = value};
}

struct ndb_bound ndb_bound_uint(uint64_t value)
{
    return (struct ndb_bound){.kind = NDB_BOUND_UINT, .value.natural = value};
}

struct ndb_bound ndb_bound_double(double value)
{
    return (struct ndb_bound){.kind = NDB_BOUND_DOUBLE, .value.real = value};
}

struct ndb_bound ndb_bound_text(const char *text)
{
    size_t size = text == NULL ? 0 : strlen(text);
    return (struct ndb_bound){.kind = NDB_BOUND_TEXT,
                              .size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size,
                              .value.bytes = text};
}

struct ndb_bound ndb_bound_stored(const void *value, uint32_t size)
{
    return (struct ndb_bound){.kind = NDB_BOUND_STORED, .size = size, .value.bytes = value};
}

/* The kinds that a type of column takes, besides its stored form. */
static uint32_t kinds_of(uint32_t type)
{
    const uint32_t numbers = 1u << NDB_BOUND_INT | 1u << NDB_BOUND_UINT;
    if (column_is_integer(type) || type == COLUMN_YEAR) return numbers;
    switch (type) {
    case COLUMN_FLOAT:
    case COLUMN_DOUBLE:
        return numbers | 1u << NDB_BOUND_DOUBLE;
    case COLUMN_DECIMAL:
    case COLUMN_DECIMALUNSIGNED:
        return numbers | 1u << NDB_BOUND_TEXT;
    case COLUMN_BIT:
        return 0;
    default:
        return 1u << NDB_BOUND_TEXT;
    }
}

static const char *kind_name(enum ndb_bound_kind kind)
{
    static const char *const names[] = {"an int", "a uint", "a double", "a text", "a stored value"};
    return (uint32_t)kind < sizeof names / sizeof names[0] ? names[kind] : "of no kind";
}

static const char *kind_that_fits(uint32_t type)
{
    uint32_t kinds = kinds_of(type);
    if ((kinds & 1u << NDB_BOUND_DOUBLE) != 0) return "ndb_bound_double()";
    if ((kinds & 1u << NDB_BOUND_TEXT) != 0) return "ndb_bound_text()";
    if (kinds == 0) return "ndb_bound_stored()";
    return column_is_integer(type) && !column_is_signed(type) ? "ndb_bound_uint()"
                                                              : "ndb_bound_int()";
}

static uint32_t say(const struct table_def *def, const struct table_column *column, uint32_t error,
                    const char *what, char fault[RANGE_FAULT_SIZE])
{
    char type[SQL_TYPE_TEXT_SIZE];
    if (error == 0) return 0;
    sql_type_text(&column->format, type);
    snprintf(fault, RANGE_FAULT_SIZE, "column %.64s is %s%s%s", table_column_name(def, column),
             type, what[0] != 0 ? ": " : "", what);
    return error;
}

/* ---- Bounds of columns. ---- */

static int side_compare(const struct table_column *column, const struct side *a,
                        const struct side *b)
{
    if (a->value == NULL || b->value == NULL) return (a->value != NULL) - (b->value != NULL);
    return column_compare(&column->format, a->value, a->size, b->value, b->size);
}

/* The narrower one of two bounds stays. Takes the value. */
static void narrow(const struct table_column *column, struct side *side, struct side with, int way)
{
    int order = side->set ? way * side_compare(column, &with, side) : 1;
    if (order == 0) side->exclusive = side->exclusive || with.exclusive;
    if (order <= 0) {
        free(with.value);
        return;
    }
    free(side->value);
    *side = with;
}

static struct bounded *bounded_of(struct ndb_range *range, uint32_t id)
{
    const struct table_column *column = &range->def->columns[id];
    for (uint32_t i = 0; i < range->count; i++) {
        if (range->columns[i].column == column) return &range->columns[i];
    }
    if (range->count == NDB_INDEX_COLUMNS_MAX) return NULL;
    range->columns[range->count] = (struct bounded){.column = column};
    return &range->columns[range->count++];
}

static bool copy_side(struct side *to, const void *value, uint32_t size, bool exclusive)
{
    *to = (struct side){.set = true, .exclusive = exclusive, .size = size};
    if (value == NULL) return true;
    to->value = malloc(size + 1u);
    if (to->value != NULL) memcpy(to->value, value, size);
    return to->value != NULL;
}

/* `value` is in stored form, or NULL. */
static uint32_t add(struct ndb_range *range, uint32_t column, enum ndb_condition how,
                    const void *value, uint32_t size)
{
    struct bounded *bounded = bounded_of(range, column);
    bool exclusive = how == NDB_GT || how == NDB_LT;
    struct side side;
    if (bounded == NULL) return ERR_BOUNDS;
    if (how == NDB_EQ || how == NDB_GE || how == NDB_GT) {
        if (!copy_side(&side, value, size, exclusive)) return ERR_API_MEMORY;
        narrow(bounded->column, &bounded->low, side, 1);
    }
    if (how == NDB_EQ || how == NDB_LE || how == NDB_LT) {
        if (!copy_side(&side, value, size, exclusive)) return ERR_API_MEMORY;
        narrow(bounded->column, &bounded->high, side, -1);
    }
    /* What is less than a value is not NULL. */
    if ((how == NDB_LE || how == NDB_LT) && (bounded->column->flags & COLUMN_NULLABLE) != 0)
        narrow(bounded->column, &bounded->low, (struct side){.set = true, .exclusive = true}, 1);
    return 0;
}

uint32_t range_text(struct ndb_range *range, const struct table_def *def, uint32_t id,
                    enum ndb_condition how, const char *text, uint32_t size,
                    char fault[RANGE_FAULT_SIZE])
{
    const struct table_column *column = &def->columns[id];
    uint32_t value_size = 0;
    uint8_t *value = malloc(column->size_max + 1u);
    uint32_t error = ERR_API_MEMORY;
    if (value != NULL)
        error = column_parse(&column->format, text, size, value, column->size_max, &value_size);
    if (error == 0) error = add(range, id, how, value, value_size);
    free(value);
    return say(def, column, error, "", fault);
}

/* In stored form, least byte first: a number's text would be that of the application's locale. */
static uint32_t range_real(struct ndb_range *range, const struct table_def *def, uint32_t id,
                           enum ndb_condition how, double value, char fault[RANGE_FAULT_SIZE])
{
    const struct table_column *column = &def->columns[id];
    uint32_t size = column->format.type == COLUMN_FLOAT ? 4u : 8u;
    uint8_t bytes[8];
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (size == 4) {
        float single = (float)value; /* Too large a one becomes infinity, which is refused. */
        uint32_t single_bits;
        memcpy(&single_bits, &single, sizeof single_bits);
        bits = single_bits;
    }
    for (uint32_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(bits >> 8u * i);
    uint32_t error = column_check(&column->format, bytes, size);
    if (error != 0) error = isnan(value) ? ERR_VALUE_INVALID : ERR_VALUE_OUT_OF_RANGE;
    if (error == 0) error = add(range, id, how, bytes, size);
    return say(def, column, error, "", fault);
}

uint32_t range_bound(struct ndb_range *range, const struct table_def *def, uint32_t id,
                     enum ndb_condition how, const struct ndb_bound *bound,
                     char fault[RANGE_FAULT_SIZE])
{
    const struct table_column *column = &def->columns[id];
    char text[96];
    if (bound->kind == NDB_BOUND_STORED) {
        uint32_t error = bound->value.bytes == NULL
                             ? ERR_VALUE_INVALID
                             : column_check(&column->format, bound->value.bytes, bound->size);
        if (error == 0) error = add(range, id, how, bound->value.bytes, bound->size);
        return say(def, column, error, "", fault);
    }
    bool fits = (uint32_t)bound->kind < 32 &&
                (kinds_of(column->format.type) >> (uint32_t)bound->kind & 1u) != 0;
    if (fits && bound->kind == NDB_BOUND_TEXT && bound->value.bytes == NULL)
        return say(def, column, ERR_VALUE_INVALID, "the text is NULL; use IS NULL", fault);
    if (!fits) {
        snprintf(text, sizeof text, "the value is %s; use %s", kind_name(bound->kind),
                 kind_that_fits(column->format.type));
        return say(def, column, ERR_VALUE_INVALID, text, fault);
    }
    switch (bound->kind) {
    case NDB_BOUND_TEXT:
        return range_text(range, def, id, how, bound->value.bytes, bound->size, fault);
    case NDB_BOUND_INT:
        snprintf(text, sizeof text, "%lld", (long long)bound->value.integer);
        break;
    case NDB_BOUND_UINT:
        snprintf(text, sizeof text, "%llu", (unsigned long long)bound->value.natural);
        break;
    case NDB_BOUND_DOUBLE:
    case NDB_BOUND_STORED: /* Above. */
    default:
        return range_real(range, def, id, how, bound->value.real, fault);
    }
    return range_text(range, def, id, how, text, (uint32_t)strlen(text), fault);
}

uint32_t range_null(struct ndb_range *range, uint32_t column, bool null)
{
    return add(range, column, null ? NDB_EQ : NDB_GT, NULL, 0);
}

/* ---- The index. ---- */

static bool is_fixed(const struct bounded *bounded)
{
    const struct side *low = &bounded->low;
    const struct side *high = &bounded->high;
    return low->set && high->set && !low->exclusive && !high->exclusive &&
           side_compare(bounded->column, low, high) == 0;
}

/* Are the range's columns the first ones of the index, all but the last fixed? Then they stand in
 * its order. */
static bool order_by(struct ndb_range *range, const struct table_index *index)
{
    if (index->column_count < range->count) return false;
    for (uint32_t i = 0; i < range->count; i++) {
        uint32_t k = i;
        while (k < range->count && range->columns[k].column->id != index->columns[i])
            k++;
        if (k == range->count || (i + 1 < range->count && !is_fixed(&range->columns[k])))
            return false;
        struct bounded found = range->columns[k];
        range->columns[k] = range->columns[i];
        range->columns[i] = found;
    }
    return true;
}

static int no_index(ndb_t *ndb, const struct ndb_range *range)
{
    char text[NDB_DETAIL_SIZE];
    const struct table_column *column = range->count == 1 ? range->columns[0].column : NULL;
    sql_column_text(range->def, column, text, sizeof text);
    if (range->count == 1)
        return error_set(&ndb->error, ERR_INDEX_MISSING, "%s: no ordered index begins with it",
                         text);
    return error_set(&ndb->error, ERR_INDEX_MISSING,
                     "%s: no ordered index begins with these %u columns, all but the last equal to "
                     "a value",
                     text, range->count);
}

static int choose_index(ndb_t *ndb, struct ndb_range *range)
{
    struct table_index index;
    for (uint32_t i = 0; table_def_index(range->def, i, &index); i++) {
        if (!order_by(range, &index)) continue;
        range->range.index = i;
        return 0;
    }
    return no_index(ndb, range);
}

/* All columns but the last one are fixed, so the last one says whether a bound is exclusive. */
static void fill_bound(struct ndb_range *range, bool high, struct ndb_index_bound *to)
{
    for (uint32_t i = 0; i < range->count; i++) {
        const struct bounded *bounded = &range->columns[i];
        const struct side *side = high ? &bounded->high : &bounded->low;
        if (!side->set) break;
        range->value[high][i] = side->value;
        range->size[high][i] = side->size;
        to->exclusive = side->exclusive;
        to->columns++;
    }
    to->value = range->value[high];
    to->size = range->size[high];
}

static void fill_bounds(struct ndb_range *range)
{
    fill_bound(range, false, &range->range.low);
    fill_bound(range, true, &range->range.high);
}

/* ---- For applications. ---- */

struct ndb_range *ndb_range_where(ndb_t *ndb, const struct ndb_table *table, const char *condition,
                                  const struct ndb_bound *bounds, uint32_t count,
                                  struct ndb_sql_error *where)
{
    if (where != NULL) memset(where, 0, sizeof *where);
    if (ndb == NULL) return NULL;
    if (table == NULL || condition == NULL || (count > 0 && bounds == NULL)) {
        error_set(&ndb->error, ERR_PARAMETER, "no table, condition or values");
        return NULL;
    }
    struct ndb_range *range = calloc(1, sizeof *range);
    if (range == NULL) {
        error_set(&ndb->error, ERR_API_MEMORY, NULL);
        return NULL;
    }
    range->def = api_table_def(table_core(table));
    if (range_read(ndb, range, range->def, condition, bounds, count, where) != 0 ||
        choose_index(ndb, range) != 0) {
        if (where != NULL && where->message[0] == 0)
            snprintf(where->message, sizeof where->message, "%s", ndb->error.error.detail);
        ndb_range_free(range);
        return NULL;
    }
    fill_bounds(range);
    return range;
}

struct ndb_index_range *ndb_range_get(struct ndb_range *range)
{
    return range == NULL ? NULL : &range->range;
}

void ndb_range_free(struct ndb_range *range)
{
    if (range == NULL) return;
    for (uint32_t i = 0; i < range->count; i++) {
        free(range->columns[i].low.value);
        free(range->columns[i].high.value);
    }
    free(range);
}
