/* mc_tool_change.c -- the commands of ndb_memcached_config that change rows. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "servers/memcached/mc_tool.h"
#include "values/errors.h"

/* The row `texts` of a table; a NULL is NULL. */
static void make_cells(enum mc_table number, const char *const *texts, struct mc_cell *cells)
{
    for (uint32_t i = 0; i < mc_table_forms[number].columns; i++) {
        cells[i].text = (char *)(uintptr_t)texts[i]; /* It is only read. */
        cells[i].size = texts[i] == NULL ? 0 : (uint32_t)strlen(texts[i]);
    }
}

/* "\xNN" is a byte, as `show` prints it. `out` has room for the text; the size. */
static uint32_t read_prefix(const char *text, char *out)
{
    uint32_t size = 0;

    while (*text != '\0') {
        char digits[3] = {0}, *end = digits;
        if (strncmp(text, "\\x", 2) == 0) (void)snprintf(digits, sizeof(digits), "%s", text + 2);
        unsigned long byte = strtoul(digits, &end, 16);
        bool escaped = end == digits + 2;
        out[size++] = escaped ? (char)byte : *text;
        text += escaped ? 4 : 1;
    }
    return size;
}

static int touch_role_id(struct mc_tool *tool, const struct mc_tables *tables, uint32_t id)
{
    const struct mc_rows *roles = &tables->of[MC_TABLE_ROLES];

    for (uint32_t i = 0; i < roles->count; i++) {
        const char *role = mc_rows_text(roles, i, ROLE_NAME);
        if (mc_rows_number(roles, i, ROLE_ID) != id) continue;
        if (mc_config_touch(tool->ndb, role, &tool->error) != 0) return mc_tool_fail(tool);
        printf("Servers of role %s load anew.\n", role);
    }
    return MC_TOOL_OK;
}

static bool is_used(const struct mc_tables *tables, uint32_t row, uint32_t column, const char *text)
{
    return strcmp(mc_rows_text(&tables->of[MC_TABLE_PREFIXES], row, column), text) == 0;
}

/* The roles of all prefixes that have this text in a column. */
static int touch_users(struct mc_tool *tool, const struct mc_tables *tables, uint32_t column,
                       const char *text)
{
    const struct mc_rows *prefixes = &tables->of[MC_TABLE_PREFIXES];

    for (uint32_t i = 0; i < prefixes->count; i++) {
        uint32_t id = mc_rows_number(prefixes, i, PREFIX_ROLE_ID);
        bool first = is_used(tables, i, column, text);
        for (uint32_t k = 0; k < i && first; k++)
            first = !is_used(tables, k, column, text) ||
                    mc_rows_number(prefixes, k, PREFIX_ROLE_ID) != id;
        if (first && touch_role_id(tool, tables, id) != MC_TOOL_OK) return MC_TOOL_FAILED;
    }
    return MC_TOOL_OK;
}

static int change(struct mc_tool *tool, enum mc_table number, enum ndb_operation_type type,
                  const struct mc_cell *cells, const char *what)
{
    int32_t code;

    if (mc_row_change(tool->ndb, number, type, cells, &code, &tool->error) == 0) return MC_TOOL_OK;
    if (code == ERR_ROW_EXISTS)
        (void)mc_config_fail(&tool->error, "%s is there already: drop it first", what);
    if (code == ERR_ROW_NOT_FOUND) (void)mc_config_fail(&tool->error, "there is no %s", what);
    return mc_tool_fail(tool);
}

/* A row that prefixes name: a container, a policy, a cluster; `column` is where they name it. */
static int add_named(struct mc_tool *tool, const struct mc_tables *tables, enum mc_table number,
                     const char *const *texts, uint32_t column, const char *kind)
{
    struct mc_cell cells[MC_CELLS_MAX] = {{0}};
    char what[400];

    (void)snprintf(what, sizeof(what), "%s \"%.300s\"", kind, texts[0]);
    make_cells(number, texts, cells);
    if (change(tool, number, NDB_INSERT, cells, what) != MC_TOOL_OK) return MC_TOOL_FAILED;
    printf("Added %s.\n", what);
    return touch_users(tool, tables, column, texts[0]);
}

static int drop_named(struct mc_tool *tool, enum mc_table number, uint32_t column, const char *kind)
{
    const char *texts[MC_CELLS_MAX] = {tool->argv[0]};
    struct mc_cell cells[MC_CELLS_MAX] = {{0}};
    struct mc_tables tables = {0};
    char what[400];
    int code = MC_TOOL_OK;

    (void)snprintf(what, sizeof(what), "%s \"%.300s\"", kind, tool->argv[0]);
    make_cells(number, texts, cells);
    if (mc_tables_read(tool->ndb, &tables, &tool->error) != 0) return mc_tool_fail(tool);
    if (!tool->force &&
        mc_rows_find(&tables.of[MC_TABLE_PREFIXES], column, tool->argv[0]) != UINT32_MAX) {
        (void)mc_config_fail(&tool->error, "%s is of use for prefixes: drop them first", what);
        code = mc_tool_fail(tool);
    }
    if (code == MC_TOOL_OK) code = change(tool, number, NDB_DELETE, cells, what);
    if (code == MC_TOOL_OK) {
        printf("Dropped %s.\n", what);
        code = touch_users(tool, &tables, column, tool->argv[0]);
    }
    mc_tables_free(&tables);
    return code;
}

/* ---- Prefixes ---- */

/* The role's id as text, and the prefix. False: there is no such role. */
static bool prefix_key(struct mc_tool *tool, const struct mc_tables *tables, struct mc_cell *cells)
{
    const struct mc_rows *roles = &tables->of[MC_TABLE_ROLES];
    uint32_t row = mc_rows_find(roles, ROLE_NAME, tool->argv[0]);

    if (row == UINT32_MAX) {
        (void)mc_config_fail(&tool->error, "there is no role \"%s\"", tool->argv[0]);
        return false;
    }
    cells[PREFIX_ROLE_ID] = *mc_rows_cell(roles, row, ROLE_ID);
    cells[PREFIX_PREFIX].text = tool->argv[1];
    cells[PREFIX_PREFIX].size = read_prefix(tool->argv[1], tool->argv[1]);
    return true;
}

struct seen {
    const char *begin; /* How lines begin that are about the prefix. */
    bool refused;
};

static void see_line(void *context, const char *line)
{
    struct mc_tool *tool = context;
    struct seen *seen = tool->watch;

    if (strncmp(line, seen->begin, strlen(seen->begin)) != 0) return;
    seen->refused = true;
    (void)mc_config_fail(&tool->error, "%.500s", line);
}

/* Would a server take this row? */
static int check_prefix(struct mc_tool *tool, struct mc_tables *tables, const struct mc_cell *cells)
{
    char shown[MC_SHOWN_MAX], begin[MC_SHOWN_MAX + 100];
    struct seen seen = {.begin = begin};
    const struct mc_config_source source = mc_tool_source(tool, see_line, &seen);
    struct mc_config_error error;

    (void)snprintf(begin, sizeof(begin), "key prefix \"%s\" of role %.60s is refused",
                   mc_config_shown(cells[PREFIX_PREFIX].text, cells[PREFIX_PREFIX].size, shown),
                   tool->argv[0]);
    if (!mc_rows_add(&tables->of[MC_TABLE_PREFIXES], mc_table_forms[MC_TABLE_PREFIXES].columns,
                     cells))
        return mc_config_fail(&tool->error, "out of memory");
    struct mc_config *config = mc_config_compile(&source, tables, tool->argv[0], NULL, &error);
    if (config == NULL) tool->error = error;
    mc_config_release(config);
    return config == NULL || seen.refused ? -1 : 0;
}

int mc_tool_add_prefix(struct mc_tool *tool)
{
    const char *texts[MC_CELLS_MAX] = {NULL, NULL, tool->cluster == NULL ? "0" : tool->cluster,
                                       tool->argv[2], tool->argc > 3 ? tool->argv[3] : NULL};
    struct mc_cell cells[MC_CELLS_MAX] = {{0}};
    struct mc_tables tables = {0};
    int code = MC_TOOL_FAILED;

    if (mc_tables_read(tool->ndb, &tables, &tool->error) != 0) return mc_tool_fail(tool);
    make_cells(MC_TABLE_PREFIXES, texts, cells);
    if (!prefix_key(tool, &tables, cells) ||
        (!tool->force && check_prefix(tool, &tables, cells) != 0)) {
        code = mc_tool_fail(tool);
    } else if (change(tool, MC_TABLE_PREFIXES, NDB_INSERT, cells, "the key prefix") == MC_TOOL_OK) {
        printf("Added the key prefix.\n");
        code =
            touch_role_id(tool, &tables, (uint32_t)strtoul(cells[PREFIX_ROLE_ID].text, NULL, 10));
    }
    mc_tables_free(&tables);
    return code;
}

int mc_tool_drop_prefix(struct mc_tool *tool)
{
    struct mc_cell cells[MC_CELLS_MAX] = {{0}};
    struct mc_tables tables = {0};
    int code = MC_TOOL_FAILED;

    if (mc_tables_read(tool->ndb, &tables, &tool->error) != 0) return mc_tool_fail(tool);
    if (!prefix_key(tool, &tables, cells)) {
        code = mc_tool_fail(tool);
    } else if (change(tool, MC_TABLE_PREFIXES, NDB_DELETE, cells, "such key prefix") ==
               MC_TOOL_OK) {
        printf("Dropped the key prefix.\n");
        code =
            touch_role_id(tool, &tables, (uint32_t)strtoul(cells[PREFIX_ROLE_ID].text, NULL, 10));
    }
    mc_tables_free(&tables);
    return code;
}

/* ---- Containers, policies, clusters ---- */

/* Would a server take this row? Its table is looked for in the primary cluster. */
static int check_container(struct mc_tool *tool, const char *const *texts)
{
    struct mc_cell cells[MC_CELLS_MAX] = {{0}};
    struct mc_rows rows = {0};
    struct mc_container container = {0};
    enum mc_checked checked = MC_CHECKED_WRONG;

    make_cells(MC_TABLE_CONTAINERS, texts, cells);
    if (mc_rows_add(&rows, mc_table_forms[MC_TABLE_CONTAINERS].columns, cells))
        checked = mc_container_compile(tool->ndb, &rows, 0, &container, &tool->error);
    else
        (void)mc_config_fail(&tool->error, "out of memory");
    mc_container_clear(&container);
    mc_rows_free(&rows);
    return checked == MC_CHECKED ? 0 : -1;
}

int mc_tool_add_container(struct mc_tool *tool)
{
    struct mc_tables tables = {0};
    char schema[251];
    const char *dot = strpbrk(tool->table, "./");

    (void)snprintf(schema, sizeof(schema), "%.*s", dot == NULL ? 0 : (int)(dot - tool->table),
                   tool->table);
    const char *texts[MC_CELLS_MAX] = {
        tool->argv[0],   schema,      dot == NULL ? "" : dot + 1,
        tool->key,       tool->value, tool->flags == NULL ? "0" : tool->flags,
        tool->increment, tool->cas,   tool->expire,
        tool->large};
    if (dot == NULL) {
        (void)mc_config_fail(&tool->error, "--table must be DATABASE.TABLE, not \"%s\"",
                             tool->table);
        return mc_tool_fail(tool);
    }
    if (!tool->force && check_container(tool, texts) != 0) return mc_tool_fail(tool);
    if (mc_tables_read(tool->ndb, &tables, &tool->error) != 0) return mc_tool_fail(tool);
    int code = add_named(tool, &tables, MC_TABLE_CONTAINERS, texts, PREFIX_CONTAINER, "container");
    mc_tables_free(&tables);
    return code;
}

int mc_tool_drop_container(struct mc_tool *tool)
{
    return drop_named(tool, MC_TABLE_CONTAINERS, PREFIX_CONTAINER, "container");
}

static bool is_policy_word(const char *word)
{
    static const char *const words[] = {"cache_only", "ndb_only", "caching", "disabled"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(word, words[i]) == 0) return true;
    }
    return false;
}

int mc_tool_add_policy(struct mc_tool *tool)
{
    const char *texts[MC_CELLS_MAX] = {tool->argv[0], tool->argv[1], tool->argv[2], tool->argv[3],
                                       tool->flush_from_db ? "true" : "false"};
    struct mc_tables tables = {0};

    for (int i = 1; i < 4; i++) {
        if (tool->force || is_policy_word(tool->argv[i])) continue;
        (void)mc_config_fail(
            &tool->error, "\"%s\" is not cache_only, ndb_only, caching or disabled", tool->argv[i]);
        return mc_tool_fail(tool);
    }
    if (mc_tables_read(tool->ndb, &tables, &tool->error) != 0) return mc_tool_fail(tool);
    int code = add_named(tool, &tables, MC_TABLE_POLICIES, texts, PREFIX_POLICY, "policy");
    mc_tables_free(&tables);
    return code;
}

int mc_tool_drop_policy(struct mc_tool *tool)
{
    return drop_named(tool, MC_TABLE_POLICIES, PREFIX_POLICY, "policy");
}

int mc_tool_add_cluster(struct mc_tool *tool)
{
    const char *texts[MC_CELLS_MAX] = {tool->argv[0], tool->argv[1], "250"};
    struct mc_tables tables = {0};

    if (mc_tables_read(tool->ndb, &tables, &tool->error) != 0) return mc_tool_fail(tool);
    int code = add_named(tool, &tables, MC_TABLE_CLUSTERS, texts, PREFIX_CLUSTER, "cluster");
    mc_tables_free(&tables);
    return code;
}

int mc_tool_drop_cluster(struct mc_tool *tool)
{
    return drop_named(tool, MC_TABLE_CLUSTERS, PREFIX_CLUSTER, "cluster");
}

/* ---- Roles ---- */

int mc_tool_add_role(struct mc_tool *tool)
{
    const char *texts[MC_CELLS_MAX] = {tool->argv[0], tool->argv[1],
                                       tool->max_tps == NULL ? "100000" : tool->max_tps, NULL};
    struct mc_cell cells[MC_CELLS_MAX] = {{0}};

    make_cells(MC_TABLE_ROLES, texts, cells);
    if (change(tool, MC_TABLE_ROLES, NDB_INSERT, cells, "the role") != MC_TOOL_OK)
        return MC_TOOL_FAILED;
    printf("Added role \"%s\".\n", tool->argv[0]);
    return MC_TOOL_OK;
}

/* Its prefixes are of its number, and stay for another role that has it. */
int mc_tool_drop_role(struct mc_tool *tool)
{
    const char *texts[MC_CELLS_MAX] = {tool->argv[0]};
    struct mc_cell cells[MC_CELLS_MAX] = {{0}};

    make_cells(MC_TABLE_ROLES, texts, cells);
    if (change(tool, MC_TABLE_ROLES, NDB_DELETE, cells, "such role") != MC_TOOL_OK)
        return MC_TOOL_FAILED;
    printf("Dropped role \"%s\".\n", tool->argv[0]);
    return MC_TOOL_OK;
}

int mc_tool_reload(struct mc_tool *tool)
{
    for (int i = 0; i < tool->argc; i++) {
        if (mc_config_touch(tool->ndb, tool->argv[i], &tool->error) != 0) return mc_tool_fail(tool);
        printf("Servers of role %s load anew.\n", tool->argv[i]);
    }
    return MC_TOOL_OK;
}

static void print_line(void *context, const char *line)
{
    (void)context;
    printf("%s\n", line);
}

int mc_tool_bootstrap(struct mc_tool *tool)
{
    if (mc_config_bootstrap(tool->ndb, print_line, NULL, &tool->error) != 0)
        return mc_tool_fail(tool);
    printf("Schema " MC_SCHEMA " is there.\n");
    return MC_TOOL_OK;
}
