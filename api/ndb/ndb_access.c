/* ndb_access.c -- which index fits a condition: the primary key, a unique one, an ordered one, or
 * none. */
/* SPDX-License-Identifier: MIT */
#include <string.h>
#include "api/ndb/ndb_private.h"
#include "values/table_index.h"

/* Columns of the condition, by what they are compared with. */
enum { COMPARED_EQUAL = 1, COMPARED_NULL = 2, COMPARED_RANGE = 4 };

struct question {
    const struct table_def *def;
    uint8_t compared[TABLE_COLUMNS_MAX];
};

static bool mark(struct question *question, const uint32_t *columns, uint32_t count, uint8_t how)
{
    if (count > 0 && columns == NULL) return false;
    for (uint32_t i = 0; i < count; i++) {
        if (columns[i] >= question->def->column_count) return false;
        question->compared[columns[i]] |= how;
    }
    return true;
}

static bool all_equal(const struct question *question, const uint16_t *columns, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if ((question->compared[columns[i]] & COMPARED_EQUAL) == 0) return false;
    }
    return count > 0;
}

/* All columns of the partition key are among these. */
static bool fixes_partition(const struct table_def *def, const uint16_t *columns, uint32_t count)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        found += table_column_partitions(def, &def->columns[columns[i]]);
    return found == def->partition_key_count;
}

static struct ndb_access ordered(const struct question *question, const struct table_index *index,
                                 uint32_t number)
{
    struct ndb_access access = {.kind = NDB_ACCESS_INDEX, .number = number, .name = index->name};
    const uint8_t fixed = COMPARED_EQUAL | COMPARED_NULL;
    uint32_t at = 0;
    while (at < index->column_count && (question->compared[index->columns[at]] & fixed) != 0)
        at++;
    access.columns = at;
    access.range =
        at < index->column_count && (question->compared[index->columns[at]] & COMPARED_RANGE) != 0;
    access.one_fragment = fixes_partition(question->def, index->columns, at);
    return access;
}

/* More columns that are fixed leave fewer rows; so does a range behind them; then the fewest
 * fragments. */
static bool is_better(const struct ndb_access *access, const struct ndb_access *than)
{
    if (access->columns != than->columns) return access->columns > than->columns;
    if (access->range != than->range) return access->range;
    return access->one_fragment && !than->one_fragment;
}

static struct ndb_access choose(const struct question *question)
{
    const struct table_def *def = question->def;
    struct table_index index;
    struct ndb_access best = {.kind = NDB_ACCESS_SCAN, .name = ""};
    if (all_equal(question, def->key_columns, def->key_count))
        return (struct ndb_access){.kind = NDB_ACCESS_PRIMARY_KEY,
                                   .name = "PRIMARY",
                                   .columns = def->key_count,
                                   .one_fragment = true};
    for (uint32_t i = 0; table_def_unique(def, i, &index); i++) {
        if (all_equal(question, index.columns, index.column_count))
            return (struct ndb_access){.kind = NDB_ACCESS_UNIQUE,
                                       .number = i,
                                       .name = index.name,
                                       .columns = index.column_count,
                                       .one_fragment = true};
    }
    for (uint32_t i = 0; table_def_index(def, i, &index); i++) {
        struct ndb_access access = ordered(question, &index, i);
        if (is_better(&access, &best)) best = access;
    }
    return best;
}

int ndb_table_access(const struct ndb_table *table, const struct ndb_condition_columns *condition,
                     struct ndb_access *access)
{
    struct question question = {.def = NULL};
    if (table == NULL || condition == NULL || access == NULL) return -1;
    question.def = api_table_def(table_core(table));
    if (!mark(&question, condition->equal, condition->equal_count, COMPARED_EQUAL) ||
        !mark(&question, condition->null, condition->null_count, COMPARED_NULL) ||
        !mark(&question, condition->range, condition->range_count, COMPARED_RANGE))
        return -1;
    *access = choose(&question);
    return 0;
}
