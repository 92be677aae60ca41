/* config_info.c -- prints all configuration parameters with type, default, range and restart kind.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cjson/cJSON.h>

#include "ndb/ndb.h"
#include "tools/config_query.h"

static const enum config_kind kinds[] = {CONFIG_SYSTEM, CONFIG_MGMD, CONFIG_NDBD, CONFIG_API,
                                         CONFIG_TCP};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

static const char *type_text(enum config_type type)
{
    switch (type) {
    case CONFIG_BOOL:
        return "Boolean value";
    case CONFIG_STRING:
        return "String";
    case CONFIG_ENUM:
        return "Enum";
    case CONFIG_INT:
    case CONFIG_INT64:
        break;
    }
    return "Non-negative Integer";
}

static bool is_identity(const struct config_param *param)
{
    return strncmp(param->name, "NodeId", 6) == 0;
}

/* The name of an ENUM's value: the number-th of "a,b,c". */
static void enum_name(const char *names, uint64_t number, char *text, size_t size)
{
    for (; number > 0; number--) {
        const char *comma = strchr(names, ',');
        if (comma == NULL) break;
        names = comma + 1;
    }
    (void)snprintf(text, size, "%.*s", (int)strcspn(names, ","), names);
}

static void default_text(const struct config_param *param, char *text, size_t size)
{
    if (param->type == CONFIG_STRING) {
        (void)snprintf(text, size, "%s", param->def_text == NULL ? "" : param->def_text);
    } else if (param->type == CONFIG_BOOL) {
        (void)snprintf(text, size, "%s", param->def != 0 ? "true" : "false");
    } else if (param->type == CONFIG_ENUM) {
        enum_name(param->unit, param->def, text, size);
    } else {
        (void)snprintf(text, size, "%" PRIu64, param->def);
    }
}

static const char *restart_text(const struct config_param *param)
{
    if (strcmp(param->restart, "S") == 0) return "system restart";
    if (strcmp(param->restart, "IS") == 0) return "initial system restart";
    return strcmp(param->restart, "IN") == 0 ? "initial node restart" : "node restart";
}

static void print_param(const struct config_param *param)
{
    char usual[1100];

    default_text(param, usual, sizeof(usual));
    printf("%s (%s)\n%s\n", param->name, type_text(param->type), param->help);
    if (is_identity(param))
        printf("MANDATORY (Min: %" PRIu64 ", Max: %" PRIu64 ")\n", param->min, param->max);
    else if (param->type == CONFIG_INT || param->type == CONFIG_INT64)
        printf("Default: %s (Min: %" PRIu64 ", Max: %" PRIu64 ")\n", usual, param->min, param->max);
    else if (param->type == CONFIG_ENUM)
        printf("Default: %s (one of: %s)\n", usual, param->unit);
    else
        printf("Default: %s\n", usual[0] == '\0' ? "(null)" : usual);
    printf("Takes effect after: %s\n\n", restart_text(param));
}

void config_info_print(void)
{
    uint32_t count;
    const struct config_param *params = config_params(&count);

    for (size_t k = 0; k < KIND_COUNT; k++) {
        printf("****** %s ******\n\n", config_kind_name(kinds[k]));
        for (uint32_t i = 0; i < count; i++)
            if (params[i].kind == kinds[k]) print_param(&params[i]);
    }
}

/* Text as an attribute's value. */
static void print_escaped(const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            (void)fputs("&amp;", stdout);
            break;
        case '<':
            (void)fputs("&lt;", stdout);
            break;
        case '>':
            (void)fputs("&gt;", stdout);
            break;
        case '"':
            (void)fputs("&quot;", stdout);
            break;
        default:
            (void)putchar(*text);
            break;
        }
    }
}

static const char *const type_words[] = {[CONFIG_INT] = "unsigned",
                                         [CONFIG_STRING] = "string",
                                         [CONFIG_INT64] = "unsigned",
                                         [CONFIG_BOOL] = "bool",
                                         [CONFIG_ENUM] = "enum"};

static void print_attribute(const char *name, const char *value)
{
    printf(" %s=\"", name);
    print_escaped(value);
    (void)putchar('"');
}

static void print_param_xml(const struct config_param *param)
{
    char usual[1100];

    default_text(param, usual, sizeof(usual));
    printf("    <param");
    print_attribute("name", param->name);
    print_attribute("comment", param->help);
    print_attribute("type", type_words[param->type]);
    if (is_identity(param))
        print_attribute("mandatory", "true");
    else if (param->type != CONFIG_STRING || usual[0] != '\0')
        print_attribute("default", usual);
    if (param->type == CONFIG_INT || param->type == CONFIG_INT64)
        printf(" min=\"%" PRIu64 "\" max=\"%" PRIu64 "\"", param->min, param->max);
    if (param->type == CONFIG_ENUM) print_attribute("allowed_values", param->unit);
    if (strchr(param->restart, 'S') != NULL) print_attribute("restart", "system");
    if (strchr(param->restart, 'I') != NULL) print_attribute("initial", "true");
    printf("/>\n");
}

void config_info_print_xml(void)
{
    static const char *const keys[CONFIG_KINDS] = {[CONFIG_NDBD] = "NodeId",
                                                   [CONFIG_API] = "NodeId",
                                                   [CONFIG_MGMD] = "NodeId",
                                                   [CONFIG_TCP] = "NodeId1,NodeId2"};
    uint32_t count;
    const struct config_param *params = config_params(&count);

    printf("<configvariables protocolversion=\"1\" ndbversionstring=\"ndb-%s\" ndbversion=\"%u\" "
           "ndbversionmajor=\"%u\" ndbversionminor=\"%u\" ndbversionbuild=\"%u\">\n",
           NDB_CLIENT_VERSION_STRING, NDB_CLIENT_VERSION, NDB_CLIENT_VERSION_MAJOR,
           NDB_CLIENT_VERSION_MINOR, NDB_CLIENT_VERSION_PATCH);
    for (size_t k = 0; k < KIND_COUNT; k++) {
        printf("  <section");
        print_attribute("name", config_kind_name(kinds[k]));
        if (keys[kinds[k]] != NULL) print_attribute("primarykeys", keys[kinds[k]]);
        printf(">\n");
        for (uint32_t i = 0; i < count; i++)
            if (params[i].kind == kinds[k]) print_param_xml(&params[i]);
        printf("  </section>\n");
    }
    printf("</configvariables>\n");
}

static cJSON *param_json(const struct config_param *param)
{
    bool number = param->type == CONFIG_INT || param->type == CONFIG_INT64;
    cJSON *object = cJSON_CreateObject();
    char usual[1100];

    default_text(param, usual, sizeof(usual));
    cJSON_AddStringToObject(object, "section", config_kind_name(param->kind));
    cJSON_AddStringToObject(object, "name", param->name);
    cJSON_AddStringToObject(object, "type", type_words[param->type]);
    if (is_identity(param))
        cJSON_AddTrueToObject(object, "mandatory");
    else if (number)
        cJSON_AddNumberToObject(object, "default", (double)param->def);
    else if (param->type == CONFIG_BOOL)
        cJSON_AddBoolToObject(object, "default", param->def != 0);
    else if (usual[0] != '\0')
        cJSON_AddStringToObject(object, "default", usual);
    if (number) {
        cJSON_AddNumberToObject(object, "min", (double)param->min);
        cJSON_AddNumberToObject(object, "max", (double)param->max);
    }
    if (param->type == CONFIG_ENUM) cJSON_AddStringToObject(object, "allowed_values", param->unit);
    cJSON_AddStringToObject(object, "takes_effect_after", restart_text(param));
    cJSON_AddStringToObject(object, "comment", param->help);
    return object;
}

void config_info_print_json(void)
{
    uint32_t count;
    const struct config_param *params = config_params(&count);
    cJSON *list = cJSON_CreateArray();

    for (size_t k = 0; k < KIND_COUNT; k++)
        for (uint32_t i = 0; i < count; i++)
            if (params[i].kind == kinds[k]) cJSON_AddItemToArray(list, param_json(&params[i]));
    char *text = cJSON_PrintUnformatted(list);
    if (text != NULL) (void)puts(text);
    free(text);
    cJSON_Delete(list);
}
