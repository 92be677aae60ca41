/* config_parse.c -- turns the sections of a config.ini into a checked cluster configuration. */
/* SPDX-License-Identifier: GPL-2.0-only
 *
 * Order: every section's kind; every node's id; then nodes and links with the values of the default
 * section above them, then their own; at last the rules between them (config_check.c).
 */
#include "config/config_parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/config_ini.h"
#include "config/config_names.h"

struct build_section {
    enum config_kind kind; /* Kind of the section; NONE: it is refused and skipped. */
    bool is_default;
    bool computer;  /* A host with a name for ExecuteOnComputer; `kind` is NONE. */
    uint32_t node;  /* Node id, for a link one of its ends; 0: it is refused and skipped. */
    uint32_t node2; /* Other end of a link. */
};

struct build {
    struct ini_file ini;
    struct build_section *sections; /* Sections being built, as many as ini.sections. */
    struct cluster_config *config;
    const char *file;
    struct config_report *report;
};

#define COMPLAIN(build, line, section, name, ...)                                                  \
    config_report_add((build)->report, true, (build)->file, (line), (section), (name), __VA_ARGS__)

static void complain_unknown(struct build *build, enum config_kind kind,
                             const struct ini_pair *pair)
{
    const char *section = config_kind_name(kind);
    enum config_kind other = config_kind_with(kind, pair->name);
    const char *nearest = config_nearest_param(kind, pair->name);

    if (other != CONFIG_NONE) {
        COMPLAIN(build, pair->line, section, pair->name,
                 "unknown parameter of this section, it belongs to [%s]", config_kind_name(other));
    } else if (nearest == NULL) {
        COMPLAIN(build, pair->line, section, pair->name, "unknown parameter");
    } else {
        COMPLAIN(build, pair->line, section, pair->name, "unknown parameter, did you mean %s?",
                 nearest);
    }
}

/* What nobody may rely on here, switched off: that is as it is. */
static bool is_off(const struct ini_pair *pair)
{
    static const struct config_param truth = {.type = CONFIG_BOOL};
    char why[128];
    uint64_t value;

    return config_value_parse(&truth, pair->value, &value, why, sizeof(why)) == 0 && value == 0;
}

/* True when the name is none of this system's but known: told with the reason. */
static bool complain_foreign(struct build *build, enum config_kind kind,
                             const struct ini_pair *pair)
{
    const struct config_foreign *foreign = config_foreign_param(kind, pair->name);

    if (foreign == NULL) return false;
    if (foreign->refused && is_off(pair)) return true;
    config_report_add(build->report, foreign->refused, build->file, pair->line,
                      config_kind_name(kind), foreign->name,
                      foreign->refused ? "it is not supported: %s" : "it has no effect: %s",
                      foreign->reason);
    return true;
}

static void complain_section(struct build *build, const struct ini_section *section, size_t length)
{
    const char *nearest = config_kind_named(section->name, length) == CONFIG_NONE
                              ? config_nearest_section(section->name, length)
                              : NULL;
    const char *middle = nearest == NULL ? "" : ", did you mean ";

    COMPLAIN(build, section->line, section->name, "",
             "%s%s%s%s (allowed: ndbd or db, ndb_mgmd or mgm, mysqld, api or ndbapi, tcp, each "
             "also with "
             "\"default\", system, computer)",
             length == 0 ? "the section has no name" : "unknown section", middle,
             nearest == NULL ? "" : nearest, nearest == NULL ? "" : "?");
}

static bool is_name(const char *name, size_t length, const char *wanted)
{
    return strlen(wanted) == length && strncasecmp(name, wanted, length) == 0;
}

/* Sections that other versions have and that give no section here. False: it is another one. */
static bool is_foreign_section(struct build *build, uint32_t index)
{
    const struct ini_section *section = &build->ini.sections[index];
    size_t length = strcspn(section->name, " \t");
    const char *rest = section->name + length + strspn(section->name + length, " \t");

    if (is_name(section->name, length, "shm") || is_name(section->name, length, "sci")) {
        config_report_add(build->report, false, build->file, section->line, section->name, "",
                          "it has no effect: all processes talk over TCP");
        return true;
    }
    if (!is_name(section->name, length, "computer")) return false;
    build->sections[index].computer = rest[0] == '\0';
    if (rest[0] == '\0') return true;
    COMPLAIN(build, section->line, section->name, "",
             strcasecmp(rest, "default") == 0
                 ? "there are no defaults for computers (allowed: [computer] with Id and HostName)"
                 : "unknown section (allowed: [computer] with Id and HostName)");
    return true;
}

/* [name] or [name default]; a second default of one kind and a second [system] are refused. */
static void find_kinds(struct build *build)
{
    uint32_t default_line[CONFIG_KINDS] = {0};
    uint32_t system_line = 0;

    for (uint32_t i = 0; i < build->ini.section_count; i++) {
        const struct ini_section *section = &build->ini.sections[i];
        struct build_section *out = &build->sections[i];
        size_t length = strcspn(section->name, " \t");
        const char *rest = section->name + length + strspn(section->name + length, " \t");
        if (is_foreign_section(build, i)) continue;
        out->kind = config_kind_named(section->name, length);
        out->is_default = strcasecmp(rest, "default") == 0;
        if (out->kind == CONFIG_NONE || (rest[0] != '\0' && !out->is_default) ||
            (out->kind == CONFIG_SYSTEM && out->is_default)) {
            complain_section(build, section, length);
            out->kind = CONFIG_NONE;
        } else if (out->is_default && default_line[out->kind] != 0) {
            COMPLAIN(build, section->line, section->name, "",
                     "second default section of this kind, the first is in line %u (allowed: one)",
                     default_line[out->kind]);
            out->kind = CONFIG_NONE;
        } else if (out->is_default) {
            default_line[out->kind] = section->line;
        } else if (out->kind == CONFIG_SYSTEM) {
            if (system_line != 0) {
                COMPLAIN(build, section->line, section->name, "",
                         "second section of this name, the first is in line %u (allowed: one)",
                         system_line);
                out->kind = CONFIG_NONE;
            }
            system_line = section->line;
        }
    }
}

static const char COMPUTER[] = "ExecuteOnComputer";

/* The value of `name` in the section, NULL: it has none. */
static const struct ini_pair *pair_of(const struct build *build, uint32_t index, const char *name)
{
    const struct ini_section *section = &build->ini.sections[index];

    for (uint32_t i = 0; i < section->pair_count; i++) {
        const struct ini_pair *pair = &build->ini.pairs[section->first_pair + i];
        if (strcasecmp(pair->name, name) == 0) return pair;
    }
    return NULL;
}

/* The host of the computer with this id, NULL: there is none. */
static const char *host_of_computer(const struct build *build, const char *id)
{
    for (uint32_t i = 0; i < build->ini.section_count; i++) {
        if (!build->sections[i].computer) continue;
        const struct ini_pair *own = pair_of(build, i, "Id");
        const struct ini_pair *host = pair_of(build, i, "HostName");
        if (own != NULL && host != NULL && strcmp(own->value, id) == 0) return host->value;
    }
    return NULL;
}

/* Two computers of one id: which host is meant? */
static void check_computer_id(struct build *build, uint32_t index)
{
    const struct ini_pair *own = pair_of(build, index, "Id");

    for (uint32_t i = 0; own != NULL && i < index; i++) {
        const struct ini_pair *other = build->sections[i].computer ? pair_of(build, i, "Id") : NULL;
        if (other == NULL || strcmp(other->value, own->value) != 0) continue;
        COMPLAIN(build, own->line, "computer", "Id",
                 "the [computer] in line %u has %s, too (allowed: one of each)",
                 build->ini.sections[i].line, own->value);
        return;
    }
}

static void check_computer(struct build *build, uint32_t index)
{
    static const char *const names[] = {"Id", "HostName"};
    const struct ini_section *section = &build->ini.sections[index];

    check_computer_id(build, index);
    for (uint32_t i = 0; i < 2; i++) {
        if (pair_of(build, index, names[i]) != NULL) continue;
        COMPLAIN(build, section->line, "computer", names[i], "it is missing");
    }
    for (uint32_t i = 0; i < section->pair_count; i++) {
        const struct ini_pair *pair = &build->ini.pairs[section->first_pair + i];
        if (strcasecmp(pair->name, names[0]) != 0 && strcasecmp(pair->name, names[1]) != 0)
            COMPLAIN(build, pair->line, "computer", pair->name,
                     "unknown parameter (allowed: Id, HostName)");
        else if (pair_of(build, index, pair->name) != pair)
            COMPLAIN(build, pair->line, "computer", pair->name, "given twice in this section");
    }
}

/* ExecuteOnComputer of a node: is it one, and does nothing else name its host? */
static void check_host(struct build *build, uint32_t index, const struct ini_pair *pair)
{
    const struct build_section *out = &build->sections[index];
    const char *section = config_kind_name(out->kind);

    if (out->is_default) {
        COMPLAIN(build, pair->line, section, COMPUTER,
                 "it belongs to one section and cannot be a default");
    } else if (host_of_computer(build, pair->value) == NULL) {
        COMPLAIN(build, pair->line, section, COMPUTER,
                 "there is no [computer] with Id=%s and a HostName (or give the node's HostName)",
                 pair->value);
    } else if (pair_of(build, index, "HostName") != NULL) {
        COMPLAIN(build, pair->line, section, COMPUTER,
                 "HostName is given too (allowed: one of them)");
    }
}

static bool has_computer(enum config_kind kind)
{
    return kind == CONFIG_NDBD || kind == CONFIG_MGMD || kind == CONFIG_API;
}

/* Is the name in the section before, too? */
static void check_once(struct build *build, const char *section, const struct ini_pair *pairs,
                       uint32_t index, const char *name)
{
    for (uint32_t i = 0; i < index; i++) {
        if (strcasecmp(pairs[i].name, pairs[index].name) != 0) continue;
        COMPLAIN(build, pairs[index].line, section, name,
                 "given twice in this section, first in line %u (allowed: once)", pairs[i].line);
        return;
    }
}

/* What nodes' ids were called in old files. */
static void rename_id(struct build *build, uint32_t index)
{
    const struct ini_section *section = &build->ini.sections[index];
    enum config_kind kind = build->sections[index].kind;

    for (uint32_t i = 0; has_computer(kind) && i < section->pair_count; i++) {
        struct ini_pair *pair = &build->ini.pairs[section->first_pair + i];
        char *name = strcasecmp(pair->name, "Id") == 0 ? strdup("NodeId") : NULL;
        if (name == NULL) continue;
        config_report_add(build->report, false, build->file, pair->line, config_kind_name(kind),
                          pair->name, "it is taken for NodeId, as this is called now");
        free(pair->name);
        pair->name = name;
    }
}

/* Names given twice, and the parameters that a default section cannot have. */
static void check_names(struct build *build, uint32_t index)
{
    const struct ini_section *section = &build->ini.sections[index];
    const struct build_section *out = &build->sections[index];

    if (section->pair_count == 0) return; /* The table may not exist. */
    const struct ini_pair *pairs = &build->ini.pairs[section->first_pair];
    for (uint32_t i = 0; i < section->pair_count; i++) {
        const struct config_param *param = config_param_by_name(out->kind, pairs[i].name);
        if (param == NULL && has_computer(out->kind) && strcasecmp(pairs[i].name, COMPUTER) == 0) {
            check_once(build, config_kind_name(out->kind), pairs, i, COMPUTER);
            check_host(build, index, &pairs[i]);
            continue;
        }
        if (param == NULL) {
            if (!complain_foreign(build, out->kind, &pairs[i]))
                complain_unknown(build, out->kind, &pairs[i]);
            continue;
        }
        check_once(build, config_kind_name(out->kind), pairs, i, param->name);
        if (out->is_default && strncasecmp(param->name, "NodeId", 6) == 0) {
            COMPLAIN(build, pairs[i].line, config_kind_name(out->kind), param->name,
                     "it belongs to one section and cannot be a default");
        }
    }
}

/* The number given as `param` in the section; 0 when it is missing (`*line` 0) or wrong (reported).
 */
static uint32_t find_id(struct build *build, uint32_t index, const struct config_param *param,
                        uint32_t *line)
{
    const struct ini_section *section = &build->ini.sections[index];
    char why[128];
    char range[128];
    uint64_t value;

    *line = 0;
    for (uint32_t i = 0; i < section->pair_count; i++) {
        const struct ini_pair *pair = &build->ini.pairs[section->first_pair + i];
        if (strcasecmp(pair->name, param->name) != 0) continue;
        *line = pair->line;
        if (config_value_parse(param, pair->value, &value, why, sizeof(why)) == 0) {
            return (uint32_t)value;
        }
        config_value_range(param, range, sizeof(range));
        COMPLAIN(build, pair->line, config_kind_name(param->kind), param->name, "%s (%s)", why,
                 range);
        return 0;
    }
    return 0;
}

static bool is_node(const struct build_section *section)
{
    return !section->is_default && (section->kind == CONFIG_NDBD || section->kind == CONFIG_MGMD ||
                                    section->kind == CONFIG_API);
}

static void find_given_ids(struct build *build, uint32_t *owner, uint32_t *line_of)
{
    for (uint32_t i = 0; i < build->ini.section_count; i++) {
        struct build_section *out = &build->sections[i];
        if (!is_node(out)) continue;
        const struct config_param *param = config_param_by_name(out->kind, "NodeId");
        uint32_t id = find_id(build, i, param, &line_of[i]);
        if (id == 0) continue;
        if (owner[id] != 0) {
            COMPLAIN(build, line_of[i], config_kind_name(out->kind), "NodeId",
                     "%u is already used in line %u (allowed: a free id, range 1..%u)", id,
                     owner[id], (uint32_t)param->max);
            continue;
        }
        owner[id] = line_of[i];
        out->node = id;
    }
}

/* A node without id takes the next free one after the node before it. */
static void assign_ids(struct build *build, uint32_t *owner, const uint32_t *line_of)
{
    uint32_t last = 0;

    for (uint32_t i = 0; i < build->ini.section_count; i++) {
        struct build_section *out = &build->sections[i];
        if (!is_node(out)) continue;
        if (line_of[i] != 0) {
            if (out->node != 0) last = out->node;
            continue;
        }
        uint32_t max = out->kind == CONFIG_NDBD ? CONFIG_DATA_NODES_MAX : CONFIG_NODES_MAX;
        uint32_t id = last + 1;
        while (id <= max && owner[id] != 0)
            id++;
        for (uint32_t low = 1; id > max && low <= last && low <= max; low++) {
            if (owner[low] == 0) id = low;
        }
        if (id > max) {
            COMPLAIN(build, build->ini.sections[i].line, config_kind_name(out->kind), "NodeId",
                     "no node id is free (allowed range 1..%u)", max);
            continue;
        }
        owner[id] = build->ini.sections[i].line;
        out->node = id;
        last = id;
    }
}

static void find_link_ends(struct build *build, uint32_t index)
{
    struct build_section *out = &build->sections[index];
    uint32_t ends[2];

    for (uint32_t i = 0; i < 2; i++) {
        const struct config_param *param =
            config_param(CONFIG_TCP, i == 0 ? CFG_TCP_NodeId1 : CFG_TCP_NodeId2);
        uint32_t line;
        ends[i] = find_id(build, index, param, &line);
        if (line == 0) {
            COMPLAIN(build, build->ini.sections[index].line, "tcp", param->name,
                     "it is missing (allowed range 1..255)");
        }
        if (ends[i] == 0) return;
    }
    out->node = ends[0];
    out->node2 = ends[1];
}

/* Stores the section's pairs in `to`; unknown names were reported before, wrong values are now when
 * `loud` (a default section's wrong value is reported once, not for each node). */
static void store_pairs(struct build *build, uint32_t index, struct config_section *to, bool loud)
{
    const struct ini_section *section = &build->ini.sections[index];
    struct config_report silent = {.lines = NULL};

    for (uint32_t i = 0; i < section->pair_count; i++) {
        const struct ini_pair *pair = &build->ini.pairs[section->first_pair + i];
        enum config_kind kind = build->sections[index].kind;
        const struct config_param *param = config_param_by_name(kind, pair->name);
        const char *value = pair->value;
        if (has_computer(kind) && strcasecmp(pair->name, COMPUTER) == 0) {
            value = host_of_computer(build, pair->value);
            param = value == NULL ? NULL : config_param_by_name(kind, "HostName");
        }
        if (param == NULL || strncasecmp(param->name, "NodeId", 6) == 0) continue;
        (void)config_set_parsed(to, param, value, build->file, pair->line,
                                loud ? build->report : &silent);
    }
    config_report_clear(&silent);
}

/* Reports wrong values, of a default section, a node without an id or a link without ends, by
 * storing them in a section that is thrown away. Of a default section, those that are only wrong
 * with others are reported for the nodes that have them. */
static void check_values(struct build *build, uint32_t index)
{
    struct cluster_config *scratch = config_new();

    if (scratch == NULL) return;
    enum config_kind kind = build->sections[index].kind;
    struct config_section *section =
        kind == CONFIG_TCP ? config_tcp_default(scratch) : config_add_node(scratch, kind, 1);
    if (section != NULL) store_pairs(build, index, section, true);
    if (section != NULL && !build->sections[index].is_default)
        config_check_values(scratch, build->file, build->report);
    config_free(scratch);
}

static struct config_section *add_link(struct build *build, uint32_t index)
{
    const struct build_section *in = &build->sections[index];
    uint32_t line = build->ini.sections[index].line;

    for (uint32_t i = 0; i < 2; i++) {
        uint32_t id = i == 0 ? in->node : in->node2;
        if (config_node(build->config, id) != NULL) continue;
        COMPLAIN(build, line, "tcp", i == 0 ? "NodeId1" : "NodeId2",
                 "there is no node %u (allowed: the id of a node)", id);
        return NULL;
    }
    struct config_section *link = config_add_link(build->config, in->node, in->node2);
    if (link == NULL) {
        COMPLAIN(build, line, "tcp", "NodeId2",
                 "the link between %u and %u cannot be added: equal ends, or given twice (allowed: "
                 "each pair of nodes once)",
                 in->node, in->node2);
    }
    return link;
}

/* Stores all sections of these kinds. Nodes come first, so that links may stand above them. */
static void store_sections(struct build *build, bool links)
{
    uint32_t defaults[CONFIG_KINDS] = {0}; /* Index of the default section + 1. */

    for (uint32_t i = 0; i < build->ini.section_count; i++) {
        struct build_section *in = &build->sections[i];
        struct config_section *to = NULL;
        if (in->kind == CONFIG_NONE || (in->kind == CONFIG_TCP) != links) continue;
        if (in->is_default) {
            defaults[in->kind] = i + 1;
            check_values(build, i);
            if (links) store_pairs(build, i, config_tcp_default(build->config), false);
            continue;
        }
        if (in->kind == CONFIG_SYSTEM)
            to = config_system(build->config);
        else if (in->node != 0)
            to = links ? add_link(build, i) : config_add_node(build->config, in->kind, in->node);
        if (to == NULL) {
            check_values(build, i);
            continue;
        }
        config_set_section_line(to, build->ini.sections[i].line);
        if (!links && defaults[in->kind] != 0) {
            store_pairs(build, defaults[in->kind] - 1, to, false);
        }
        store_pairs(build, i, to, true);
    }
}

static void build_all(struct build *build)
{
    uint32_t owner[CONFIG_NODES_MAX + 1] = {0}; /* Line that uses the id. */
    uint32_t *line_of = calloc(build->ini.section_count + 1, sizeof(*line_of));

    if (line_of == NULL) {
        COMPLAIN(build, 0, "", "", "out of memory");
        return;
    }
    find_kinds(build);
    for (uint32_t i = 0; i < build->ini.section_count; i++)
        rename_id(build, i);
    for (uint32_t i = 0; i < build->ini.section_count; i++) {
        if (build->sections[i].kind != CONFIG_NONE) check_names(build, i);
        if (build->sections[i].computer) check_computer(build, i);
    }
    find_given_ids(build, owner, line_of);
    assign_ids(build, owner, line_of);
    free(line_of);
    for (uint32_t i = 0; i < build->ini.section_count; i++) {
        if (build->sections[i].kind == CONFIG_TCP && !build->sections[i].is_default) {
            find_link_ends(build, i);
        }
    }
    store_sections(build, false);
    store_sections(build, true);
}

struct cluster_config *config_parse_text(const char *text, size_t length, const char *file,
                                         struct config_report *report)
{
    struct build build = {.file = file, .report = report};
    uint32_t errors = report->errors;

    if (length > CONFIG_FILE_SIZE_MAX) {
        COMPLAIN(&build, 0, "", "", "the file is too large (allowed range 0..1M bytes)");
        return NULL;
    }
    if (memchr(text, '\0', length) != NULL) {
        COMPLAIN(&build, 0, "", "", "the file has bytes of value 0: it is no text (allowed: text)");
        return NULL;
    }
    ini_file_read(&build.ini, text, length, file, report);
    build.sections = calloc((size_t)build.ini.section_count + 1, sizeof(*build.sections));
    build.config = config_new();
    if (build.sections == NULL || build.config == NULL) {
        COMPLAIN(&build, 0, "", "", "out of memory");
    } else {
        build_all(&build);
        bool whole = report->errors == errors;
        config_check_values(build.config, file, report);
        /* The others would only complain about what the errors above left out. */
        if (whole) (void)config_check(build.config, file, report);
    }
    ini_file_free(&build.ini);
    free(build.sections);
    if (report->errors > errors) {
        config_free(build.config);
        return NULL;
    }
    return build.config;
}

struct cluster_config *config_parse_file(const char *file, struct config_report *report)
{
    FILE *in = strcmp(file, "-") == 0 ? stdin : fopen(file, "rb");
    struct cluster_config *config = NULL;
    char *text = malloc(CONFIG_FILE_SIZE_MAX + 1);

    if (in == NULL) {
        config_report_add(report, true, file, 0, "", "", "the file cannot be opened: %s",
                          strerror(errno));
    } else if (text == NULL) {
        config_report_add(report, true, file, 0, "", "", "out of memory");
    } else {
        size_t length = fread(text, 1, CONFIG_FILE_SIZE_MAX + 1, in);
        if (ferror(in)) {
            config_report_add(report, true, file, 0, "", "", "the file cannot be read: %s",
                              strerror(errno));
        } else {
            config = config_parse_text(text, length, file, report);
        }
    }
    if (in != NULL && in != stdin) (void)fclose(in);
    free(text);
    return config;
}
