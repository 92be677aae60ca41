/* config_query.c -- prints chosen values of a configuration's nodes, links or system section. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/config_query.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cjson/cJSON.h>

#define VALUE_MAX 1100

/* One section that is asked for: a node (b = 0), a link, or the system. */
struct subject {
    const struct cluster_config *config;
    const struct config_section *section;
    enum config_kind kind;
    uint32_t a, b;
};

struct value {
    bool number;
    uint64_t u64;
    char text[VALUE_MAX];
};

static void set_number(struct value *value, uint64_t number)
{
    value->number = true;
    value->u64 = number;
    (void)snprintf(value->text, sizeof(value->text), "%" PRIu64, number);
}

static void set_text(struct value *value, const char *text)
{
    value->number = false;
    (void)snprintf(value->text, sizeof(value->text), "%s", text);
}

/* ---- Names ---- */

enum pseudo { PSEUDO_NONE, PSEUDO_ID, PSEUDO_TYPE, PSEUDO_HOST };

static enum pseudo pseudo_of(const char *name)
{
    static const struct {
        const char *name;
        enum pseudo pseudo;
    } names[] = {{"id", PSEUDO_ID},         {"nodeid", PSEUDO_ID}, {"type", PSEUDO_TYPE},
                 {"nodetype", PSEUDO_TYPE}, {"host", PSEUDO_HOST}, {"hostname", PSEUDO_HOST}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcasecmp(names[i].name, name) == 0) return names[i].pseudo;
    return PSEUDO_NONE;
}

/* A parameter of this kind by its name, or by its number when the name is digits only. */
static const struct config_param *param_of(enum config_kind kind, const char *name)
{
    if (name[0] != '\0' && name[strspn(name, "0123456789")] == '\0')
        return config_param(kind, (uint32_t)strtoul(name, NULL, 10));
    return config_param_by_name(kind, name);
}

static bool known_name(const struct config_query *query, const char *name)
{
    if (query->sections == QUERY_CONNECTIONS)
        return pseudo_of(name) == PSEUDO_TYPE || param_of(CONFIG_TCP, name) != NULL;
    if (query->sections == QUERY_SYSTEM)
        return pseudo_of(name) == PSEUDO_TYPE || param_of(CONFIG_SYSTEM, name) != NULL;
    return pseudo_of(name) != PSEUDO_NONE || param_of(CONFIG_NDBD, name) != NULL ||
           param_of(CONFIG_API, name) != NULL || param_of(CONFIG_MGMD, name) != NULL;
}

bool config_query_columns(struct config_query *query, char *text, const char **wrong)
{
    static char node_columns[] = "nodetype,nodeid,host";
    static char link_columns[] = "type,nodeid1,nodeid2";
    static char system_columns[] = "name";
    char *const defaults[] = {node_columns, link_columns, system_columns};
    char *rest = NULL;

    if (text == NULL) text = defaults[query->sections];
    *wrong = text;
    for (char *name = strtok_r(text, ", ", &rest); name != NULL;
         name = strtok_r(NULL, ", ", &rest)) {
        *wrong = query->column_count == QUERY_COLUMNS_MAX ? NULL : name;
        if (*wrong == NULL || !known_name(query, name)) return false;
        query->columns[query->column_count++] = name;
    }
    return query->column_count > 0;
}

/* ---- Values ---- */

/* Where one end of a link is found by the other one: a link says it only when it differs. */
static const char *end_host(const struct subject *subject, const struct config_param *param)
{
    uint32_t node = param->id == CFG_TCP_HostName1 ? subject->a : subject->b;
    const char *text = config_get_text(subject->section, param->id);

    return text[0] != '\0' ? text
                           : config_get_text(config_node(subject->config, node), CFG_NDBD_HostName);
}

static void value_of_param(const struct subject *subject, const struct config_param *param,
                           struct value *value)
{
    bool link = subject->kind == CONFIG_TCP;

    if (link && (param->id == CFG_TCP_NodeId1 || param->id == CFG_TCP_NodeId2)) {
        set_number(value, param->id == CFG_TCP_NodeId1 ? subject->a : subject->b);
    } else if (link && (param->id == CFG_TCP_HostName1 || param->id == CFG_TCP_HostName2)) {
        set_text(value, end_host(subject, param));
    } else if (!link && subject->kind != CONFIG_SYSTEM && param->id == CFG_NDBD_NodeId) {
        set_number(value, subject->a);
    } else if (param->type == CONFIG_STRING) {
        set_text(value, config_get_text(subject->section, param->id));
    } else {
        set_number(value, config_get_u64(subject->section, param->id));
    }
}

/* What a column of the query is here; empty when the section has no such parameter. */
static void value_of(const struct subject *subject, const char *name, struct value *value)
{
    const struct config_param *param = param_of(subject->kind, name);
    enum pseudo pseudo = pseudo_of(name);

    if (pseudo == PSEUDO_TYPE) {
        set_text(value, config_kind_name(subject->kind));
    } else if (pseudo == PSEUDO_ID) {
        set_number(value, subject->a);
    } else if (pseudo == PSEUDO_HOST) {
        set_text(value, config_get_text(subject->section, CFG_NDBD_HostName));
    } else if (param != NULL) {
        value_of_param(subject, param, value);
    } else {
        set_text(value, "");
    }
}

static bool must_be_given(const struct config_param *param)
{
    return param->kind == CONFIG_TCP ? param->id == CFG_TCP_NodeId1 || param->id == CFG_TCP_NodeId2
                                     : param->kind != CONFIG_SYSTEM && param->id == CFG_NDBD_NodeId;
}

/* The default as diff_default shows it; true when `value` is equal to it. */
static bool default_of(const struct config_param *param, const struct value *value, char *text,
                       size_t size)
{
    if (must_be_given(param)) {
        (void)snprintf(text, size, "(mandatory)");
        return false;
    }
    if (param->type == CONFIG_STRING) {
        const char *given = param->def_text == NULL ? "" : param->def_text;
        (void)snprintf(text, size, "%s", given[0] == '\0' ? "(null)" : given);
        return strcmp(given, value->text) == 0;
    }
    (void)snprintf(text, size, "%" PRIu64, param->def);
    return param->def == value->u64;
}

/* ---- Printing ---- */

struct output {
    const struct config_query *query;
    uint32_t rows;
    cJSON *list; /* List that the rows go into; NULL: they are printed as text. */
};

static void add_json(cJSON *object, const char *name, const struct value *value)
{
    if (value->number)
        cJSON_AddNumberToObject(object, name, (double)value->u64);
    else
        cJSON_AddStringToObject(object, name, value->text);
}

static void print_row(struct output *output, const struct subject *subject)
{
    cJSON *object = output->list == NULL ? NULL : cJSON_CreateObject();
    struct value value = {0};

    if (object == NULL && output->rows > 0) (void)fputs(output->query->row_separator, stdout);
    for (uint32_t i = 0; i < output->query->column_count; i++) {
        value_of(subject, output->query->columns[i], &value);
        if (object != NULL)
            add_json(object, output->query->columns[i], &value);
        else
            printf("%s%s", i == 0 ? "" : output->query->field_separator, value.text);
    }
    if (object != NULL) cJSON_AddItemToArray(output->list, object);
}

static void print_heading(const struct output *output, const struct subject *subject)
{
    static const char *const names[CONFIG_KINDS] = {
        [CONFIG_NDBD] = "DB", [CONFIG_API] = "API", [CONFIG_MGMD] = "MGM"};
    bool differences = output->query->form == QUERY_DIFFERENCES;
    const char *tail = differences ? " that is different from default" : "";

    if (subject->kind == CONFIG_SYSTEM)
        printf("config of [SYSTEM] system%s\n", tail);
    else if (subject->kind == CONFIG_TCP)
        printf("config of [TCP] connection between node id %u and %u%s\n", subject->a, subject->b,
               tail);
    else
        printf("config of [%s] node id %u%s\n", names[subject->kind], subject->a, tail);
    printf("CONFIG_PARAMETER%sACTUAL_VALUE", output->query->field_separator);
    if (differences) printf("%sDEFAULT_VALUE", output->query->field_separator);
    (void)putchar('\n');
}

/* All parameters of a section, or those that are not what they are by default. */
static void print_section(struct output *output, const struct subject *subject)
{
    bool differences = output->query->form == QUERY_DIFFERENCES;
    const char *separator = output->query->field_separator;
    cJSON *object = output->list == NULL ? NULL : cJSON_CreateObject();
    uint32_t count;
    const struct config_param *params = config_params(&count);
    struct value value = {0};
    char usual[VALUE_MAX];

    if (object != NULL)
        cJSON_AddStringToObject(object, "type", config_kind_name(subject->kind));
    else
        print_heading(output, subject);
    for (uint32_t i = 0; i < count; i++) {
        if (params[i].kind != subject->kind) continue;
        value_of_param(subject, &params[i], &value);
        bool same = default_of(&params[i], &value, usual, sizeof(usual));
        if (differences && same) continue;
        if (object != NULL)
            add_json(object, params[i].name, &value);
        else
            printf("%s%s%s%s%s\n", params[i].name, separator, value.text,
                   differences ? separator : "", differences ? usual : "");
    }
    if (object != NULL)
        cJSON_AddItemToArray(output->list, object);
    else
        (void)putchar('\n');
}

static void print_subject(struct output *output, const struct subject *subject)
{
    const struct config_query *query = output->query;

    if (query->kind != CONFIG_NONE && query->kind != subject->kind) return;
    if (query->node_id != 0 && query->node_id != subject->a && query->node_id != subject->b) return;
    if (query->host != NULL && subject->kind != CONFIG_SYSTEM) {
        const struct config_section *a = config_node(subject->config, subject->a);
        const struct config_section *b = config_node(subject->config, subject->b);
        if (strcasecmp(config_get_text(a, CFG_NDBD_HostName), query->host) != 0 &&
            (b == NULL || strcasecmp(config_get_text(b, CFG_NDBD_HostName), query->host) != 0))
            return;
    }
    if (query->form == QUERY_ROWS)
        print_row(output, subject);
    else
        print_section(output, subject);
    output->rows++;
}

static void print_node(struct output *output, const struct cluster_config *config, uint32_t id)
{
    struct subject subject = {.config = config, .section = config_node(config, id), .a = id};

    subject.kind = config_section_kind(subject.section);
    print_subject(output, &subject);
}

/* The links of one node to those with higher ids: one end of each is a data node. */
static void print_links(struct output *output, const struct cluster_config *config, uint32_t a)
{
    bool data = config_section_kind(config_node(config, a)) == CONFIG_NDBD;
    struct config_section *other;

    for (uint32_t b = a; (other = config_next_node(config, b, CONFIG_NONE)) != NULL;) {
        b = config_section_node(other);
        if (!data && config_section_kind(other) != CONFIG_NDBD) continue;
        struct subject subject = {.config = config,
                                  .kind = CONFIG_TCP,
                                  .a = a,
                                  .b = b,
                                  .section = config_link(config, a, b)};
        print_subject(output, &subject);
    }
}

void config_query_print(const struct config_query *query, const struct cluster_config *config)
{
    struct output output = {.query = query, .list = query->json ? cJSON_CreateArray() : NULL};
    struct config_section *node;

    if (query->sections == QUERY_SYSTEM) {
        struct subject subject = {
            .config = config, .section = config_system(config), .kind = CONFIG_SYSTEM};
        print_subject(&output, &subject);
    }
    for (uint32_t id = 0; query->sections != QUERY_SYSTEM &&
                          (node = config_next_node(config, id, CONFIG_NONE)) != NULL;) {
        id = config_section_node(node);
        if (query->sections == QUERY_NODES)
            print_node(&output, config, id);
        else
            print_links(&output, config, id);
    }
    if (output.list != NULL) {
        char *text = cJSON_Print(output.list);
        if (text != NULL) printf("%s\n", text);
        free(text);
    } else if (query->form == QUERY_ROWS && output.rows > 0) {
        (void)putchar('\n');
    }
    cJSON_Delete(output.list);
}
