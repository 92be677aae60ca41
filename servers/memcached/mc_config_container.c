/* mc_config_container.c -- a row of table containers: is it right, and what it is of a table. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "servers/memcached/mc_config_rows.h"
#include "values/errors.h"

#define TABLE_NAME_SIZE 520u

/* The row that is compiled. */
struct compile {
    ndb_t *ndb;
    const struct mc_rows *rows;
    uint32_t row;
    struct mc_container *container;
    char table[TABLE_NAME_SIZE]; /* "db.table", for messages. */
    struct mc_config_error *error;
};

#define WRONG(compile, ...)                                                                        \
    (mc_config_fail((compile)->error, "container \"%s\": " __VA_ARGS__), MC_CHECKED_WRONG)

static const char *text_of(const struct compile *compile, uint32_t column)
{
    return mc_rows_text(compile->rows, compile->row, column);
}

static const char *own_name(const struct compile *compile)
{
    return compile->container->name;
}

static bool is_integer(enum ndb_column_type type)
{
    return type >= NDB_TINYINT && type <= NDB_BIGUNSIGNED;
}

static bool is_bytes(enum ndb_column_type type)
{
    return type == NDB_VARCHAR || type == NDB_VARBINARY || type == NDB_LONGVARCHAR ||
           type == NDB_LONGVARBINARY;
}

static bool is_expiry(enum ndb_column_type type)
{
    return type == NDB_TIMESTAMP || type == NDB_TIMESTAMP2 || type == NDB_DATETIME ||
           type == NDB_DATETIME2 || (type >= NDB_INT && type <= NDB_BIGUNSIGNED);
}

static bool is_among(uint32_t column, const uint32_t *columns, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (columns[i] == column) return true;
    }
    return false;
}

/* `shown` is "db.table". */
static enum mc_checked open_table(struct compile *compile, const char *shown, const char *what,
                                  struct ndb_table **table)
{
    char name[TABLE_NAME_SIZE];
    ndb_error_t reason;

    (void)snprintf(name, sizeof(name), "%s", shown);
    char *dot = strchr(name, '.');
    if (dot != NULL) *dot = '/';
    *table = mc_config_open(compile->ndb, name, &reason);
    if (*table != NULL) return MC_CHECKED;
    (void)mc_config_fail_ndb(compile->error, &reason, "container \"%s\": %s %s", own_name(compile),
                             what, shown);
    return reason.code == ERR_NO_SUCH_TABLE || reason.status == NDB_STATUS_PERMANENT
               ? MC_CHECKED_WRONG
               : MC_CHECKED_UNKNOWN;
}

/* A column by its name, which is `size` bytes long. `what`: for the message. */
static enum mc_checked find_column(const struct compile *compile, const char *name, size_t size,
                                   const char *what, struct ndb_column_info *column)
{
    char text[251];

    if (size == 0) return WRONG(compile, "%s has an empty name", own_name(compile), what);
    (void)snprintf(text, sizeof(text), "%.*s", (int)(size > 250 ? 250 : size), name);
    int id = ndb_table_find_column(compile->container->table, text);
    if (id < 0 || ndb_table_column(compile->container->table, (uint32_t)id, column) != 0)
        return WRONG(compile, "table %s has no column %s (%s)", own_name(compile), compile->table,
                     text, what);
    return MC_CHECKED;
}

/* "a,b, c": columns of keys or values. */
static enum mc_checked read_list(const struct compile *compile, uint32_t from, const char *what,
                                 uint32_t *columns, uint32_t *count)
{
    struct ndb_column_info column;

    *count = 0;
    for (const char *at = text_of(compile, from); at != NULL;) {
        size_t size = strcspn(at, ",");
        const char *next = at[size] == ',' ? at + size + 1 : NULL;
        while (size > 0 && *at == ' ')
            at++, size--;
        while (size > 0 && at[size - 1] == ' ')
            size--;
        enum mc_checked checked = find_column(compile, at, size, what, &column);
        if (checked != MC_CHECKED) return checked;
        if (column.type == NDB_BIT)
            return WRONG(compile, "column %s (%s) is of a type that has no text", own_name(compile),
                         column.name, what);
        if (is_among(column.id, columns, *count))
            return WRONG(compile, "column %s is named twice (%s)", own_name(compile), column.name,
                         what);
        if (*count == MC_COLUMNS_MAX)
            return WRONG(compile, "more than %u columns (%s)", own_name(compile), MC_COLUMNS_MAX,
                         what);
        columns[(*count)++] = column.id;
        at = next;
    }
    return MC_CHECKED;
}

static enum mc_checked read_keys(struct compile *compile)
{
    struct mc_container *container = compile->container;

    return read_list(compile, CONTAINER_KEYS, "key_columns", container->key, &container->key_count);
}

static enum mc_checked read_values(struct compile *compile)
{
    struct mc_container *container = compile->container;

    if (text_of(compile, CONTAINER_VALUES)[0] == '\0') {
        if (text_of(compile, CONTAINER_INCREMENT)[0] != '\0') return MC_CHECKED;
        return WRONG(compile, "it has neither value_columns nor increment_column",
                     own_name(compile));
    }
    enum mc_checked checked = read_list(compile, CONTAINER_VALUES, "value_columns",
                                        container->value, &container->value_count);
    for (uint32_t i = 0; checked == MC_CHECKED && i < container->value_count; i++) {
        struct ndb_column_info column;
        (void)ndb_table_column(container->table, container->value[i], &column);
        if (is_among(column.id, container->key, container->key_count))
            return WRONG(compile, "column %s is both key and value", own_name(compile),
                         column.name);
    }
    return checked;
}

/* A column for one purpose: nobody else's. Only increments may have a value's. */
static enum mc_checked read_special(struct compile *compile, const char *name, const char *what,
                                    uint32_t *result, struct ndb_column_info *column)
{
    struct mc_container *container = compile->container;
    const uint32_t others[] = {container->flags_column,  container->increment_column,
                               container->cas_column,    container->expire_column,
                               container->ext_id_column, container->ext_size_column};
    bool increment = result == &container->increment_column;
    enum mc_checked checked = find_column(compile, name, strlen(name), what, column);

    if (checked != MC_CHECKED) return checked;
    if (is_among(column->id, container->key, container->key_count) || column->primary_key)
        return WRONG(compile, "column %s (%s) is part of a key", own_name(compile), column->name,
                     what);
    if (is_among(column->id, others, sizeof(others) / sizeof(others[0])) ||
        (!increment && is_among(column->id, container->value, container->value_count)))
        return WRONG(compile, "column %s (%s) is used otherwise, too", own_name(compile),
                     column->name, what);
    *result = column->id;
    return MC_CHECKED;
}

static enum mc_checked read_flags(struct compile *compile)
{
    const char *text = text_of(compile, CONTAINER_FLAGS);
    struct ndb_column_info column;

    if (text[strspn(text, "0123456789")] == '\0') { /* Also the empty one: 0. */
        unsigned long long flags = strtoull(text, NULL, 10);
        if (flags > UINT32_MAX)
            return WRONG(compile, "flags %s are more than 32 bits", own_name(compile), text);
        compile->container->flags = (uint32_t)flags;
        return MC_CHECKED;
    }
    enum mc_checked checked =
        read_special(compile, text, "flags", &compile->container->flags_column, &column);
    if (checked == MC_CHECKED && !is_integer(column.type))
        return WRONG(compile, "column %s (flags) is not an integer", own_name(compile),
                     column.name);
    return checked;
}

static enum mc_checked read_increment(struct compile *compile)
{
    const char *text = text_of(compile, CONTAINER_INCREMENT);
    struct ndb_column_info column;

    if (text[0] == '\0') return MC_CHECKED;
    enum mc_checked checked = read_special(compile, text, "increment_column",
                                           &compile->container->increment_column, &column);
    if (checked == MC_CHECKED && column.type != NDB_BIGUNSIGNED && column.type != NDB_UNSIGNED)
        return WRONG(compile,
                     "column %s (increment_column) is neither INT UNSIGNED nor BIGINT UNSIGNED",
                     own_name(compile), column.name);
    return checked;
}

static enum mc_checked read_cas(struct compile *compile)
{
    const char *text = text_of(compile, CONTAINER_CAS);
    struct ndb_column_info column;

    if (text[0] == '\0') return MC_CHECKED;
    enum mc_checked checked =
        read_special(compile, text, "cas_column", &compile->container->cas_column, &column);
    if (checked == MC_CHECKED && column.type != NDB_BIGUNSIGNED)
        return WRONG(compile, "column %s (cas_column) is not BIGINT UNSIGNED", own_name(compile),
                     column.name);
    return checked;
}

static enum mc_checked read_expire(struct compile *compile)
{
    const char *text = text_of(compile, CONTAINER_EXPIRE);
    struct ndb_column_info column;

    if (text[0] == '\0') return MC_CHECKED;
    enum mc_checked checked = read_special(compile, text, "expire_time_column",
                                           &compile->container->expire_column, &column);
    if (checked == MC_CHECKED && !is_expiry(column.type))
        return WRONG(compile, "column %s (expire_time_column) is no TIMESTAMP, DATETIME or INT",
                     own_name(compile), column.name);
    if (checked == MC_CHECKED && !column.nullable)
        return WRONG(compile,
                     "column %s (expire_time_column) cannot be NULL, as it is of what never "
                     "expires",
                     own_name(compile), column.name);
    return checked;
}

/* ---- Large values ---- */

static enum mc_checked read_ext(struct compile *compile, const char *name, uint32_t *result)
{
    struct ndb_column_info column;
    enum mc_checked checked = read_special(compile, name, "large_values_table", result, &column);

    if (checked == MC_CHECKED && (!is_integer(column.type) || !column.nullable))
        return WRONG(compile, "column %s (large_values_table) must be an integer that can be NULL",
                     own_name(compile), name);
    return checked;
}

static enum mc_checked find_part_column(const struct compile *compile, const char *shown,
                                        const char *name, uint32_t *result,
                                        struct ndb_column_info *column)
{
    int id = ndb_table_find_column(compile->container->parts, name);
    bool content = strcmp(name, "content") == 0;

    if (id < 0 || ndb_table_column(compile->container->parts, (uint32_t)id, column) != 0)
        return WRONG(compile, "table %s has no column %s", own_name(compile), shown, name);
    if (content ? !is_bytes(column->type) : !is_integer(column->type))
        return WRONG(compile, "column %s of table %s is no %s", own_name(compile), name, shown,
                     content ? "VARBINARY or VARCHAR" : "integer");
    if (column->primary_key == content)
        return WRONG(compile, "the primary key of table %s is not (id, part)", own_name(compile),
                     shown);
    *result = column->id;
    return MC_CHECKED;
}

static enum mc_checked read_parts(struct compile *compile, const char *shown)
{
    struct mc_container *container = compile->container;
    struct ndb_column_info column;
    struct ndb_table_info info;

    enum mc_checked checked = open_table(compile, shown, "large_values_table", &container->parts);
    if (checked == MC_CHECKED)
        checked = find_part_column(compile, shown, "id", &container->part_id, &column);
    if (checked == MC_CHECKED)
        checked = find_part_column(compile, shown, "part", &container->part_number, &column);
    if (checked == MC_CHECKED)
        checked = find_part_column(compile, shown, "content", &container->part_content, &column);
    if (checked != MC_CHECKED) return checked;
    container->part_bytes = column.length;
    ndb_table_describe(container->parts, &info);
    if (info.key_columns != 2)
        return WRONG(compile, "the primary key of table %s is not (id, part)", own_name(compile),
                     shown);
    return MC_CHECKED;
}

static enum mc_checked read_large(struct compile *compile)
{
    struct mc_container *container = compile->container;
    const char *text = text_of(compile, CONTAINER_LARGE);
    char shown[TABLE_NAME_SIZE];
    struct ndb_column_info column;

    if (text[0] == '\0') return MC_CHECKED;
    if (container->value_count != 1)
        return WRONG(compile, "with large_values_table there is exactly one value column",
                     own_name(compile));
    (void)ndb_table_column(container->table, container->value[0], &column);
    if (!is_bytes(column.type) || !column.nullable)
        return WRONG(compile,
                     "column %s must be VARBINARY or VARCHAR and may be NULL, when it is in "
                     "large_values_table",
                     own_name(compile), column.name);
    enum mc_checked checked = read_ext(compile, "ext_id", &container->ext_id_column);
    if (checked == MC_CHECKED) checked = read_ext(compile, "ext_size", &container->ext_size_column);
    if (checked != MC_CHECKED) return checked;
    (void)snprintf(shown, sizeof(shown), "%s%s%s",
                   strchr(text, '.') != NULL ? "" : text_of(compile, CONTAINER_SCHEMA),
                   strchr(text, '.') != NULL ? "" : ".", text);
    return read_parts(compile, shown);
}

/* With one value column and another one for increments, a number stands in both, or in the latter
   alone; any other text stands in the former, and the other one is NULL. Where that cannot be,
   increments would go on from a number that nobody has stored. */
static enum mc_checked read_numbers(struct compile *compile)
{
    struct mc_container *container = compile->container;
    struct ndb_column_info value, number;

    if (container->value_count != 1 || container->increment_column == MC_NO_COLUMN ||
        container->value[0] == container->increment_column)
        return MC_CHECKED;
    (void)ndb_table_column(container->table, container->value[0], &value);
    (void)ndb_table_column(container->table, container->increment_column, &number);
    if (is_integer(value.type))
        return WRONG(compile,
                     "column %s (value_columns) is an integer, and increments would count in "
                     "another column: name it as increment_column, too",
                     own_name(compile), value.name);
    if (!value.nullable || !number.nullable)
        return WRONG(compile,
                     "column %s (value_columns) and column %s (increment_column) must both be able "
                     "to be NULL: a number stands in one of them",
                     own_name(compile), value.name, number.name);
    container->dup_numbers = true;
    return MC_CHECKED;
}

/* ---- How a row is found ---- */

static bool is_primary_key(const struct mc_container *container)
{
    struct ndb_table_info info;
    struct ndb_column_info column;

    ndb_table_describe(container->table, &info);
    if (info.key_columns != container->key_count) return false;
    for (uint32_t i = 0; i < container->key_count; i++) {
        if (ndb_table_column(container->table, container->key[i], &column) != 0 ||
            !column.primary_key)
            return false;
    }
    return true;
}

static bool is_unique_key(const struct mc_container *container, const struct ndb_index_info *index)
{
    if (index->columns != container->key_count) return false;
    for (uint32_t i = 0; i < container->key_count; i++) {
        if (!is_among(container->key[i], index->column, index->columns)) return false;
    }
    return true;
}

static bool begins_with_key(const struct mc_container *container,
                            const struct ndb_index_info *index)
{
    return index->columns >= container->key_count &&
           memcmp(index->column, container->key,
                  container->key_count * sizeof(container->key[0])) == 0;
}

static enum mc_checked select_access(struct compile *compile)
{
    struct mc_container *container = compile->container;
    struct ndb_index_info index;

    if (is_primary_key(container)) return MC_CHECKED;
    container->access = MC_BY_UNIQUE_INDEX;
    for (uint32_t i = 0; ndb_table_unique(container->table, i, &index) == 0; i++) {
        container->index = i;
        if (is_unique_key(container, &index)) return MC_CHECKED;
    }
    container->access = MC_BY_ORDERED_INDEX;
    for (uint32_t i = 0; ndb_table_index(container->table, i, &index) == 0; i++) {
        container->index = i;
        if (begins_with_key(container, &index)) return MC_CHECKED;
    }
    return WRONG(compile,
                 "key_columns %s are neither the primary key of %s, nor a unique index, nor the "
                 "first columns of an ordered one",
                 own_name(compile), text_of(compile, CONTAINER_KEYS), compile->table);
}

static uint32_t next_number(void)
{
    static uint32_t last;
    uint32_t number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    return number != 0 ? number : __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

enum mc_checked mc_container_compile(ndb_t *ndb, const struct mc_rows *rows, uint32_t row,
                                     struct mc_container *container, struct mc_config_error *error)
{
    static enum mc_checked (*const steps[])(struct compile *) = {
        read_keys,   read_values, read_flags,   read_increment, read_cas,
        read_expire, read_large,  read_numbers, select_access};
    struct compile compile = {
        .ndb = ndb, .rows = rows, .row = row, .container = container, .error = error};

    *container = (struct mc_container){.number = next_number(),
                                       .flags_column = MC_NO_COLUMN,
                                       .increment_column = MC_NO_COLUMN,
                                       .cas_column = MC_NO_COLUMN,
                                       .expire_column = MC_NO_COLUMN,
                                       .ext_id_column = MC_NO_COLUMN,
                                       .ext_size_column = MC_NO_COLUMN};
    (void)snprintf(container->name, sizeof(container->name), "%s",
                   mc_rows_text(rows, row, CONTAINER_NAME));
    (void)snprintf(compile.table, sizeof(compile.table), "%s.%s",
                   mc_rows_text(rows, row, CONTAINER_SCHEMA),
                   mc_rows_text(rows, row, CONTAINER_TABLE));
    enum mc_checked checked = open_table(&compile, compile.table, "table", &container->table);
    for (size_t i = 0; checked == MC_CHECKED && i < sizeof(steps) / sizeof(steps[0]); i++)
        checked = steps[i](&compile);
    return checked;
}

void mc_container_clear(struct mc_container *container)
{
    ndb_table_release(container->table);
    ndb_table_release(container->parts);
    free(container->others);
    *container = (struct mc_container){0};
}
