/* mc_tool_show.c -- the commands of ndb_memcached_config that look at rows: show and check. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "servers/memcached/mc_tool.h"

/* Numbers by what they are, others by their bytes. */
static int compare_cells(const struct mc_cell *a, const struct mc_cell *b)
{
    bool numbers = a->size > 0 && b->size > 0 && a->text[0] >= '0' && a->text[0] <= '9' &&
                   b->text[0] >= '0' && b->text[0] <= '9';
    unsigned long x = numbers ? strtoul(a->text, NULL, 10) : 0;
    unsigned long y = numbers ? strtoul(b->text, NULL, 10) : 0;
    uint32_t size = a->size < b->size ? a->size : b->size;
    int order = x == y && size > 0 ? memcmp(a->text, b->text, size) : (x > y) - (x < y);

    return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

static int compare_rows(const void *left, const void *right)
{
    const struct mc_cell *a = left, *b = right;
    int order = compare_cells(&a[0], &b[0]);

    return order != 0 ? order : compare_cells(&a[1], &b[1]);
}

static void sort_rows(struct mc_rows *rows)
{
    if (rows->count > 1)
        qsort(rows->cells, rows->count, rows->columns * sizeof(*rows->cells), compare_rows);
}

/* ---- For a person ---- */

static void show_prefixes(const struct mc_tables *tables, uint32_t role_id)
{
    const struct mc_rows *rows = &tables->of[MC_TABLE_PREFIXES];
    char shown[MC_SHOWN_MAX];

    for (uint32_t i = 0; i < rows->count; i++) {
        const struct mc_cell *prefix = mc_rows_cell(rows, i, PREFIX_PREFIX);
        const char *container = mc_rows_text(rows, i, PREFIX_CONTAINER);
        if (mc_rows_number(rows, i, PREFIX_ROLE_ID) != role_id) continue;
        printf("  \"%s\": policy %s, %s%s", mc_config_shown(prefix->text, prefix->size, shown),
               mc_rows_text(rows, i, PREFIX_POLICY),
               container[0] != '\0' ? "container " : "no container", container);
        uint32_t cluster = mc_rows_number(rows, i, PREFIX_CLUSTER);
        if (cluster != 0) printf(", cluster %u", cluster);
        (void)putchar('\n');
    }
}

/* "seconds.fraction" since 1970, as TIMESTAMP is printed; another column's text stays. */
static const char *shown_time(const char *text, char *out, size_t room)
{
    char *fraction, date[40];
    time_t seconds = (time_t)strtoull(text, &fraction, 10);
    struct tm parts;

    if (fraction == text || (*fraction != '.' && *fraction != '\0')) return text;
    (void)strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", gmtime_r(&seconds, &parts));
    (void)snprintf(out, room, "%s%s UTC", date, fraction);
    return out;
}

static void show_roles(const struct mc_tables *tables)
{
    const struct mc_rows *rows = &tables->of[MC_TABLE_ROLES];
    char time[80];

    for (uint32_t i = 0; i < rows->count; i++) {
        printf("Role %s (%s), max_tps %s, changed %s\n", mc_rows_text(rows, i, ROLE_NAME),
               mc_rows_text(rows, i, ROLE_ID), mc_rows_text(rows, i, ROLE_MAX_TPS),
               shown_time(mc_rows_text(rows, i, ROLE_STAMP), time, sizeof(time)));
        show_prefixes(tables, mc_rows_number(rows, i, ROLE_ID));
    }
}

static void show_policies(const struct mc_rows *rows)
{
    for (uint32_t i = 0; i < rows->count; i++)
        printf("Policy %s: get %s, set %s, delete %s%s\n", mc_rows_text(rows, i, POLICY_NAME),
               mc_rows_text(rows, i, POLICY_GET), mc_rows_text(rows, i, POLICY_SET),
               mc_rows_text(rows, i, POLICY_DELETE),
               strcmp(mc_rows_text(rows, i, POLICY_FLUSH), "true") == 0
                   ? ", flush_all deletes the rows"
                   : "");
}

static void show_containers(const struct mc_rows *rows)
{
    static const struct {
        uint32_t column;
        const char *name;
    } parts[] = {{CONTAINER_KEYS, "key"},          {CONTAINER_VALUES, "value"},
                 {CONTAINER_FLAGS, "flags"},       {CONTAINER_INCREMENT, "increment"},
                 {CONTAINER_CAS, "cas"},           {CONTAINER_EXPIRE, "expire"},
                 {CONTAINER_LARGE, "large values"}};

    for (uint32_t i = 0; i < rows->count; i++) {
        printf("Container %s: table %s.%s\n ", mc_rows_text(rows, i, CONTAINER_NAME),
               mc_rows_text(rows, i, CONTAINER_SCHEMA), mc_rows_text(rows, i, CONTAINER_TABLE));
        for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++) {
            const char *text = mc_rows_text(rows, i, parts[k].column);
            if (text[0] != '\0') printf("%s %s %s", k == 0 ? "" : ";", parts[k].name, text);
        }
        (void)putchar('\n');
    }
}

static void show_others(const struct mc_tables *tables)
{
    const struct mc_rows *clusters = &tables->of[MC_TABLE_CLUSTERS];
    const struct mc_rows *servers = &tables->of[MC_TABLE_SIGN_ONS];
    char time[80];

    for (uint32_t i = 0; i < clusters->count; i++) {
        const char *connect_string = mc_rows_text(clusters, i, CLUSTER_CONNECT_STRING);
        printf("Cluster %s: %s, round trip %s us\n", mc_rows_text(clusters, i, CLUSTER_ID),
               connect_string[0] != '\0' ? connect_string : "the primary one",
               mc_rows_text(clusters, i, CLUSTER_RTT));
    }
    for (uint32_t i = 0; i < servers->count; i++)
        printf("Server %s on %s: role %s, signed on %s\n", mc_rows_text(servers, i, SIGN_ON_NODE),
               mc_rows_text(servers, i, SIGN_ON_HOST), mc_rows_text(servers, i, SIGN_ON_ROLE),
               shown_time(mc_rows_text(servers, i, SIGN_ON_TIME), time, sizeof(time)));
}

/* ---- For a program ---- */

static bool is_number(enum mc_table number, uint32_t column)
{
    return (number == MC_TABLE_ROLES && (column == ROLE_ID || column == ROLE_MAX_TPS)) ||
           (number == MC_TABLE_CLUSTERS && (column == CLUSTER_ID || column == CLUSTER_RTT)) ||
           (number == MC_TABLE_PREFIXES &&
            (column == PREFIX_ROLE_ID || column == PREFIX_CLUSTER)) ||
           (number == MC_TABLE_SIGN_ONS && column == SIGN_ON_NODE);
}

/* The columns have the names that they have in the tables. */
static void add_json(cJSON *result, const struct mc_tables *tables, enum mc_table number)
{
    const struct mc_table_form *form = &mc_table_forms[number];
    const struct mc_rows *rows = &tables->of[number];
    cJSON *list = cJSON_AddArrayToObject(result, form->name);
    char shown[MC_SHOWN_MAX];

    for (uint32_t i = 0; i < rows->count; i++) {
        cJSON *row = cJSON_CreateObject();
        for (uint32_t k = 0; k < form->columns; k++) {
            const struct mc_cell *cell = mc_rows_cell(rows, i, k);
            if (cell->text == NULL)
                (void)cJSON_AddNullToObject(row, form->column[k]);
            else if (is_number(number, k))
                (void)cJSON_AddNumberToObject(row, form->column[k], strtod(cell->text, NULL));
            else if (number == MC_TABLE_PREFIXES && k == PREFIX_PREFIX)
                (void)cJSON_AddStringToObject(row, form->column[k],
                                              mc_config_shown(cell->text, cell->size, shown));
            else
                (void)cJSON_AddStringToObject(row, form->column[k], cell->text);
        }
        (void)cJSON_AddItemToArray(list, row);
    }
}

static void print_json(cJSON *value)
{
    char *text = cJSON_Print(value);

    if (text != NULL) printf("%s\n", text);
    free(text);
    cJSON_Delete(value);
}

int mc_tool_show(struct mc_tool *tool)
{
    struct mc_tables tables = {0};

    if (mc_tables_read(tool->ndb, &tables, &tool->error) != 0) return mc_tool_fail(tool);
    if (mc_rows_read(tool->ndb, MC_TABLE_SIGN_ONS, &tables.of[MC_TABLE_SIGN_ONS], &tool->error) !=
        0) {
        mc_tables_free(&tables);
        return mc_tool_fail(tool);
    }
    for (uint32_t i = 0; i < MC_TABLES; i++)
        sort_rows(&tables.of[i]);
    if (tool->json) {
        cJSON *result = cJSON_CreateObject();
        for (uint32_t i = 0; i < MC_TABLES; i++)
            add_json(result, &tables, (enum mc_table)i);
        print_json(result);
    } else {
        show_roles(&tables);
        show_policies(&tables.of[MC_TABLE_POLICIES]);
        show_containers(&tables.of[MC_TABLE_CONTAINERS]);
        show_others(&tables);
    }
    mc_tables_free(&tables);
    return MC_TOOL_OK;
}

/* ---- check ---- */

struct checked {
    cJSON *refused; /* NULL: they are printed. */
    uint32_t count;
};

static void note_line(void *context, const char *line)
{
    struct checked *checked = ((struct mc_tool *)context)->watch;

    checked->count++;
    if (checked->refused == NULL)
        printf("%s\n", line);
    else
        (void)cJSON_AddItemToArray(checked->refused, cJSON_CreateString(line));
}

static int check_role(struct mc_tool *tool, const char *role, cJSON *list)
{
    struct checked checked = {0};
    const struct mc_config_source source = mc_tool_source(tool, note_line, &checked);
    cJSON *result = list == NULL ? NULL : cJSON_CreateObject();

    if (result != NULL) {
        (void)cJSON_AddStringToObject(result, "role", role);
        checked.refused = cJSON_AddArrayToObject(result, "refused");
        (void)cJSON_AddItemToArray(list, result);
    }
    struct mc_config *config = mc_config_load(&source, role, 1, &tool->error);
    if (config == NULL && result != NULL)
        (void)cJSON_AddStringToObject(result, "error", tool->error.text);
    if (config == NULL) return mc_tool_fail(tool);
    uint32_t good = config->prefix_count - config->refused_count;
    if (result != NULL)
        (void)cJSON_AddNumberToObject(result, "prefixes", good);
    else
        printf("Role %s: %u key prefixes, %u refused\n", role, good, checked.count);
    mc_config_release(config);
    return checked.count == 0 ? MC_TOOL_OK : MC_TOOL_FAILED;
}

int mc_tool_check(struct mc_tool *tool)
{
    struct mc_rows roles = {0};
    cJSON *list = tool->json ? cJSON_CreateArray() : NULL;
    int code = MC_TOOL_OK;

    for (int i = 0; i < tool->argc; i++) {
        if (check_role(tool, tool->argv[i], list) != MC_TOOL_OK) code = MC_TOOL_FAILED;
    }
    if (tool->argc == 0) {
        if (mc_rows_read(tool->ndb, MC_TABLE_ROLES, &roles, &tool->error) != 0)
            code = mc_tool_fail(tool);
        sort_rows(&roles);
    }
    for (uint32_t i = 0; i < roles.count; i++) {
        if (check_role(tool, mc_rows_text(&roles, i, ROLE_NAME), list) != MC_TOOL_OK)
            code = MC_TOOL_FAILED;
    }
    mc_rows_free(&roles);
    if (list != NULL) print_json(list);
    return code;
}
