/* config.c -- the cluster configuration in memory: sections, values, and the table of parameters.
 */
/* SPDX-License-Identifier: MIT
 *
 * A section holds one value slot for each parameter of its kind, in the order of params.def. Values
 * that were never set read as the default of the table, so an empty configuration is usable.
 */
#include "config/config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <strings.h>

#define NUMBER_INT(def)    (def), NULL
#define NUMBER_INT64(def)  (def), NULL
#define NUMBER_BOOL(def)   (def), NULL
#define NUMBER_ENUM(def)   (def), NULL
#define NUMBER_STRING(def) 0, (def)

static const struct config_param params[] = {
#define PARAM(section, id, name, type, def, min, max, unit, restart, smin, smax, help)             \
    {CONFIG_##section, (id),   CONFIG_##type, #name, NUMBER_##type(def), (min), (max), unit,       \
     #restart,         (smin), (smax),        help},
#include "config/params.def"
#undef PARAM
};

#define PARAM_COUNT ((uint32_t)(sizeof(params) / sizeof(params[0])))

struct config_value {
    uint64_t number;
    char *text; /* Owned; only of a STRING. */
    uint32_t line;
    bool set;
};

struct config_section {
    enum config_kind kind;
    uint32_t node;
    uint32_t node2;
    uint32_t line;
    uint32_t first; /* Index of the kind's first parameter in params[]. */
    uint32_t count;
    struct config_value values[];
};

struct cluster_config {
    uint64_t cluster_id;
    uint32_t generation;
    uint32_t link_count;
    uint32_t link_room;
    struct config_section *nodes[CONFIG_NODES_MAX + 1];
    struct config_section **links;
    struct config_section *system;
    struct config_section *tcp_default;
};

const struct config_param *config_params(uint32_t *count)
{
    *count = PARAM_COUNT;
    return params;
}

const struct config_param *config_param(enum config_kind kind, uint32_t id)
{
    for (uint32_t i = 0; i < PARAM_COUNT; i++) {
        if (params[i].kind == kind && params[i].id == id) return &params[i];
    }
    return NULL;
}

const struct config_param *config_param_by_name(enum config_kind kind, const char *name)
{
    for (uint32_t i = 0; i < PARAM_COUNT; i++) {
        if (params[i].kind == kind && strcasecmp(params[i].name, name) == 0) return &params[i];
    }
    return NULL;
}

const char *config_kind_name(enum config_kind kind)
{
    switch (kind) {
    case CONFIG_NDBD:
        return "ndbd";
    case CONFIG_API:
        return "mysqld";
    case CONFIG_MGMD:
        return "ndb_mgmd";
    case CONFIG_TCP:
        return "tcp";
    case CONFIG_SYSTEM:
        return "system";
    case CONFIG_NONE:
    case CONFIG_KINDS:
        break;
    }
    return "unknown";
}

static struct config_section *section_new(enum config_kind kind, uint32_t node, uint32_t node2)
{
    uint32_t first = 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i < PARAM_COUNT; i++) {
        if (params[i].kind != kind) continue;
        if (count++ == 0) first = i;
    }
    struct config_section *section =
        calloc(1, sizeof(*section) + count * sizeof(struct config_value));
    if (section == NULL) return NULL;
    section->kind = kind;
    section->node = node;
    section->node2 = node2;
    section->first = first;
    section->count = count;
    return section;
}

static void section_free(struct config_section *section)
{
    if (section == NULL) return;
    for (uint32_t i = 0; i < section->count; i++)
        free(section->values[i].text);
    free(section);
}

struct cluster_config *config_new(void)
{
    struct cluster_config *config = calloc(1, sizeof(*config));

    if (config == NULL) return NULL;
    config->system = section_new(CONFIG_SYSTEM, 0, 0);
    config->tcp_default = section_new(CONFIG_TCP, 0, 0);
    if (config->system == NULL || config->tcp_default == NULL) {
        config_free(config);
        return NULL;
    }
    return config;
}

void config_free(struct cluster_config *config)
{
    if (config == NULL) return;
    for (uint32_t i = 0; i <= CONFIG_NODES_MAX; i++)
        section_free(config->nodes[i]);
    for (uint32_t i = 0; i < config->link_count; i++)
        section_free(config->links[i]);
    free(config->links);
    section_free(config->system);
    section_free(config->tcp_default);
    free(config);
}

struct config_section *config_add_node(struct cluster_config *config, enum config_kind kind,
                                       uint32_t node_id)
{
    if (kind != CONFIG_NDBD && kind != CONFIG_API && kind != CONFIG_MGMD) return NULL;
    if (node_id == 0 || node_id > CONFIG_NODES_MAX || config->nodes[node_id] != NULL) return NULL;
    if (kind == CONFIG_NDBD && node_id > CONFIG_DATA_NODES_MAX) return NULL;

    struct config_section *section = section_new(kind, node_id, 0);
    if (section == NULL) return NULL;
    (void)config_set_u64(section, 3, node_id); /* NodeId has this number in all three kinds. */
    config->nodes[node_id] = section;
    return section;
}

static int section_copy_values(struct config_section *to, const struct config_section *from)
{
    for (uint32_t i = 0; i < from->count; i++) {
        to->values[i].number = from->values[i].number;
        to->values[i].line = from->values[i].line;
        to->values[i].set = from->values[i].set;
        if (from->values[i].text == NULL) continue;
        to->values[i].text = strdup(from->values[i].text);
        if (to->values[i].text == NULL) return -1;
    }
    return 0;
}

static struct config_section *link_find(const struct cluster_config *config, uint32_t low,
                                        uint32_t high)
{
    for (uint32_t i = 0; i < config->link_count; i++) {
        if (config->links[i]->node == low && config->links[i]->node2 == high) {
            return config->links[i];
        }
    }
    return NULL;
}

struct config_section *config_add_link(struct cluster_config *config, uint32_t node_a,
                                       uint32_t node_b)
{
    uint32_t low = node_a < node_b ? node_a : node_b;
    uint32_t high = node_a < node_b ? node_b : node_a;

    if (low == high || config_node(config, low) == NULL || config_node(config, high) == NULL) {
        return NULL;
    }
    if (link_find(config, low, high) != NULL || config->link_count == CONFIG_LINKS_MAX) return NULL;
    if (config->link_count == config->link_room) {
        uint32_t room = config->link_room == 0 ? 16 : 2 * config->link_room;
        struct config_section **links = realloc(config->links, room * sizeof(*links));
        if (links == NULL) return NULL;
        config->links = links;
        config->link_room = room;
    }
    struct config_section *section = section_new(CONFIG_TCP, low, high);
    if (section == NULL) return NULL;
    if (section_copy_values(section, config->tcp_default) != 0 ||
        config_set_u64(section, CFG_TCP_NodeId1, node_a) != 0 ||
        config_set_u64(section, CFG_TCP_NodeId2, node_b) != 0) {
        section_free(section);
        return NULL;
    }
    config->links[config->link_count++] = section;
    return section;
}

struct config_section *config_node(const struct cluster_config *config, uint32_t node_id)
{
    return node_id <= CONFIG_NODES_MAX ? config->nodes[node_id] : NULL;
}

struct config_section *config_next_node(const struct cluster_config *config, uint32_t after,
                                        enum config_kind kind)
{
    for (uint32_t id = after + 1; id <= CONFIG_NODES_MAX; id++) {
        if (config->nodes[id] == NULL) continue;
        if (kind == CONFIG_NONE || config->nodes[id]->kind == kind) return config->nodes[id];
    }
    return NULL;
}

uint32_t config_count(const struct cluster_config *config, enum config_kind kind)
{
    uint32_t count = 0;

    if (kind == CONFIG_TCP) return config->link_count;
    for (uint32_t id = 1; id <= CONFIG_NODES_MAX; id++) {
        if (config->nodes[id] == NULL) continue;
        if (kind == CONFIG_NONE || config->nodes[id]->kind == kind) count++;
    }
    return count;
}

struct config_section *config_system(const struct cluster_config *config)
{
    return config->system;
}

struct config_section *config_tcp_default(const struct cluster_config *config)
{
    return config->tcp_default;
}

struct config_section *config_link(const struct cluster_config *config, uint32_t node_a,
                                   uint32_t node_b)
{
    struct config_section *link =
        node_a < node_b ? link_find(config, node_a, node_b) : link_find(config, node_b, node_a);

    return link != NULL ? link : config->tcp_default;
}

const char *config_link_host(const struct cluster_config *config, uint32_t from, uint32_t to)
{
    const struct config_section *link = config_link(config, from, to);
    bool first = config_get_u64(link, CFG_TCP_NodeId1) == to;
    const char *host = config_get_text(link, first ? CFG_TCP_HostName1 : CFG_TCP_HostName2);

    if (link == config->tcp_default || host == NULL || host[0] == '\0')
        host = config_get_text(config_node(config, to), CFG_NDBD_HostName);
    return host;
}

struct config_section *config_link_at(const struct cluster_config *config, uint32_t index)
{
    return index < config->link_count ? config->links[index] : NULL;
}

enum config_kind config_section_kind(const struct config_section *section)
{
    return section->kind;
}

uint32_t config_section_node(const struct config_section *section)
{
    return section->node;
}

uint32_t config_section_node2(const struct config_section *section)
{
    return section->node2;
}

/* The slot's index in the section, or count when the kind has no such parameter. */
static uint32_t value_index(const struct config_section *section, uint32_t param_id)
{
    for (uint32_t i = 0; i < section->count; i++) {
        if (params[section->first + i].id == param_id) return i;
    }
    return section->count;
}

uint64_t config_get_u64(const struct config_section *section, uint32_t param_id)
{
    uint32_t i = value_index(section, param_id);

    if (i == section->count) return 0;
    return section->values[i].set ? section->values[i].number : params[section->first + i].def;
}

const char *config_get_text(const struct config_section *section, uint32_t param_id)
{
    uint32_t i = value_index(section, param_id);

    if (i == section->count) return "";
    if (section->values[i].text != NULL) return section->values[i].text;
    const char *def = params[section->first + i].def_text;
    return def != NULL ? def : "";
}

bool config_is_set(const struct config_section *section, uint32_t param_id)
{
    uint32_t i = value_index(section, param_id);

    return i < section->count && section->values[i].set;
}

int config_set_u64(struct config_section *section, uint32_t param_id, uint64_t value)
{
    uint32_t i = value_index(section, param_id);

    if (i == section->count) return -1;
    const struct config_param *param = &params[section->first + i];
    if (param->type == CONFIG_STRING) return -1;
    /* The default may lie outside the range ("not given"), and may be set again. */
    if ((value < param->min || value > param->max) && value != param->def) return -1;
    section->values[i].number = value;
    section->values[i].set = true;
    return 0;
}

int config_set_text(struct config_section *section, uint32_t param_id, const char *text)
{
    uint32_t i = value_index(section, param_id);

    if (i == section->count) return -1;
    const struct config_param *param = &params[section->first + i];
    if (param->type != CONFIG_STRING || strlen(text) > param->max) return -1;
    char *copy = strdup(text);
    if (copy == NULL) return -1;
    free(section->values[i].text);
    section->values[i].text = copy;
    section->values[i].set = true;
    return 0;
}

void config_set_line(struct config_section *section, uint32_t param_id, uint32_t line)
{
    uint32_t i = value_index(section, param_id);

    if (i < section->count) section->values[i].line = line;
}

uint32_t config_line(const struct config_section *section, uint32_t param_id)
{
    uint32_t i = value_index(section, param_id);

    if (i == section->count || section->values[i].line == 0) return section->line;
    return section->values[i].line;
}

void config_set_section_line(struct config_section *section, uint32_t line)
{
    section->line = line;
}

uint32_t config_section_line(const struct config_section *section)
{
    return section->line;
}

uint32_t config_generation(const struct cluster_config *config)
{
    return config->generation;
}

void config_set_generation(struct cluster_config *config, uint32_t generation)
{
    config->generation = generation;
}

uint64_t config_cluster_id(const struct cluster_config *config)
{
    return config->cluster_id;
}

void config_set_cluster_id(struct cluster_config *config, uint64_t cluster_id)
{
    config->cluster_id = cluster_id;
}

static bool section_equal(const struct config_section *a, const struct config_section *b,
                          char *what, size_t size)
{
    for (uint32_t i = 0; i < a->count; i++) {
        const struct config_param *param = &params[a->first + i];
        bool same = param->type == CONFIG_STRING
                        ? strcmp(config_get_text(a, param->id), config_get_text(b, param->id)) == 0
                        : config_get_u64(a, param->id) == config_get_u64(b, param->id);
        if (same) continue;
        if (a->kind == CONFIG_SYSTEM && param->id == CFG_SYSTEM_Name) continue;
        if (param->type == CONFIG_STRING) {
            (void)snprintf(what, size, "[%s] %u %s: \"%s\" became \"%s\"",
                           config_kind_name(a->kind), a->node, param->name,
                           config_get_text(a, param->id), config_get_text(b, param->id));
        } else {
            (void)snprintf(what, size, "[%s] %u %s: %" PRIu64 " became %" PRIu64,
                           config_kind_name(a->kind), a->node, param->name,
                           config_get_u64(a, param->id), config_get_u64(b, param->id));
        }
        return false;
    }
    return true;
}

static bool links_equal(const struct cluster_config *a, const struct cluster_config *b, char *what,
                        size_t size)
{
    if (a->link_count != b->link_count) {
        (void)snprintf(what, size, "%u [tcp] sections became %u", a->link_count, b->link_count);
        return false;
    }
    for (uint32_t i = 0; i < a->link_count; i++) {
        const struct config_section *other = link_find(b, a->links[i]->node, a->links[i]->node2);
        if (other == NULL) {
            (void)snprintf(what, size, "[tcp] between %u and %u is gone", a->links[i]->node,
                           a->links[i]->node2);
            return false;
        }
        if (!section_equal(a->links[i], other, what, size)) return false;
    }
    return section_equal(a->tcp_default, b->tcp_default, what, size);
}

bool config_equal(const struct cluster_config *a, const struct cluster_config *b, char *what,
                  size_t size)
{
    char unused[8];

    if (what == NULL) {
        what = unused;
        size = sizeof(unused);
    }
    for (uint32_t id = 1; id <= CONFIG_NODES_MAX; id++) {
        const struct config_section *x = a->nodes[id];
        const struct config_section *y = b->nodes[id];
        if (x == NULL && y == NULL) continue;
        if (x == NULL || y == NULL || x->kind != y->kind) {
            (void)snprintf(what, size, "node %u: %s became %s", id,
                           x == NULL ? "nothing" : config_kind_name(x->kind),
                           y == NULL ? "nothing" : config_kind_name(y->kind));
            return false;
        }
        if (!section_equal(x, y, what, size)) return false;
    }
    return links_equal(a, b, what, size) && section_equal(a->system, b->system, what, size);
}

static bool is_fixed(const struct config_param *param)
{
    return strchr(param->restart, 'S') != NULL;
}

uint32_t config_fixed_digest(const struct cluster_config *config)
{
    uint64_t digest = 0;

    for (uint32_t id = 1; id <= CONFIG_NODES_MAX; id++) {
        const struct config_section *node = config->nodes[id];
        if (node == NULL || node->kind != CONFIG_NDBD) continue;
        digest = XXH3_64bits_withSeed(&id, sizeof(id), digest);
        for (uint32_t i = 0; i < node->count; i++) {
            const struct config_param *param = &params[node->first + i];
            if (!is_fixed(param)) continue;
            if (param->type == CONFIG_STRING) {
                const char *text = config_get_text(node, param->id);
                digest = XXH3_64bits_withSeed(text, strlen(text), digest);
            } else {
                uint64_t value = config_get_u64(node, param->id);
                digest = XXH3_64bits_withSeed(&value, sizeof(value), digest);
            }
        }
    }
    uint32_t folded = (uint32_t)(digest ^ digest >> 32);
    return folded == 0 ? 1 : folded;
}

/* How much a restart asks for. */
static int demand(const char *restart)
{
    static const char *const order[] = {"", "N", "IN", "S", "IS"};

    for (int i = 4; i > 0; i--) {
        if (strcmp(order[i], restart) == 0) return i;
    }
    return 0;
}

/* Only what is fixed counts, or everything (this node's own section). */
static const char *section_needs(const struct config_section *a, const struct config_section *b,
                                 bool all, const char *worst, char *what, size_t size)
{
    for (uint32_t i = 0; i < a->count; i++) {
        const struct config_param *param = &params[a->first + i];
        const char *needs = param->restart;
        bool text = param->type == CONFIG_STRING;
        if ((!all && !is_fixed(param)) || demand(needs) <= demand(worst)) continue;
        if (text ? strcmp(config_get_text(a, param->id), config_get_text(b, param->id)) == 0
                 : config_get_u64(a, param->id) == config_get_u64(b, param->id))
            continue;
        worst = needs;
        if (text)
            (void)snprintf(what, size, "%s of node %u: \"%s\" became \"%s\"", param->name, a->node,
                           config_get_text(a, param->id), config_get_text(b, param->id));
        else
            (void)snprintf(what, size, "%s of node %u: %" PRIu64 " became %" PRIu64, param->name,
                           a->node, config_get_u64(a, param->id), config_get_u64(b, param->id));
    }
    return worst;
}

const char *config_restart_needed(const struct cluster_config *a, const struct cluster_config *b,
                                  uint32_t node_id, char *what, size_t size)
{
    const char *worst = config_equal(a, b, what, size) ? "" : "N";

    for (uint32_t id = 1; id <= CONFIG_NODES_MAX; id++) {
        const struct config_section *x = a->nodes[id];
        const struct config_section *y = b->nodes[id];
        bool was = x != NULL && x->kind == CONFIG_NDBD;
        bool is = y != NULL && y->kind == CONFIG_NDBD;
        if (was != is) {
            bool spare = config_get_u64(is ? y : x, CFG_NDBD_Nodegroup) == CONFIG_NODEGROUP_NONE;
            const char *needs = spare ? "S" : "IS"; /* Rows are in groups. */
            if (demand(needs) <= demand(worst)) continue;
            (void)snprintf(what, size, "data node %u is %s", id, is ? "new" : "gone");
            worst = needs;
        }
        if (was && is) worst = section_needs(x, y, id == node_id, worst, what, size);
    }
    return worst;
}
