/* config_page.c -- writes docs/config.md: all parameters of config.ini, from the tables that the
 * parser uses. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "docs/generate/wrap.h"
#include "config/config.h"

/* In the order of params.def: a title, or a parameter under it. */
struct line {
    enum config_kind kind;
    uint32_t id;
    const char *title; /* NULL: a parameter. */
};

static const struct line lines[] = {
#define PARAM_GROUP(section, title) {CONFIG_##section, 0, title},
#define PARAM(section, id, name, type, def, min, max, unit, restart, smin, smax, help)             \
    {CONFIG_##section, (id), NULL},
#include "config/params.def"
#undef PARAM
};
#define LINES (sizeof(lines) / sizeof(lines[0]))

struct without_effect {
    enum config_kind kind;
    const char *name;
    bool refused;
    const char *reason;
};

static const struct without_effect unused[] = {
#define UNUSED(section, name, reason) {CONFIG_##section, #name, false, reason},
#include "config/params_unused.def"
#undef UNUSED
};
#define UNUSED_COUNT (sizeof(unused) / sizeof(unused[0]))

static const struct without_effect foreign[] = {
#define FOREIGN(section, name, refused, reason) {CONFIG_##section, #name, (refused) != 0, reason},
#include "config/params_foreign.def"
#undef FOREIGN
};
#define FOREIGN_COUNT (sizeof(foreign) / sizeof(foreign[0]))

struct section {
    enum config_kind kind;
    const char *head; /* The name of the section as in a file. */
    const char *what;
};

static const struct section sections[] = {
    {CONFIG_NDBD, "[ndbd]",
     "One for each data node. What holds for all of them stands once in `[ndbd default]`. `[db]` "
     "is the same."},
    {CONFIG_MGMD, "[ndb_mgmd]",
     "One for each management server; defaults in `[ndb_mgmd default]`. `[mgm]` is the same."},
    {CONFIG_API, "[api]",
     "One for each client that may be connected at the same time; defaults in `[api default]`. "
     "`[mysqld]` and `[ndbapi]` are the same."},
    {CONFIG_TCP, "[tcp]", "Links: `[tcp default]` for all, `[tcp]` with both node ids for one."},
    {CONFIG_SYSTEM, "[system]", "At most one."},
};

static const char intro[] =
    "# Parameters of config.ini\n\n"
    "This page is made from `config/params.def`, `config/params_unused.def` and "
    "`config/params_foreign.def`, the tables that the parser itself uses: "
    "`build/bin/config_page > docs/config.md`. `ndb_config --configinfo` prints the same of the "
    "version that is installed.\n\n"
    "A file has sections in brackets and `Name=value` lines; names and section names may be "
    "written in any case. `#` begins a comment, and so does `;` at the beginning of a line. "
    "Numbers may end in K, M or G (1024, 1024 squared, cubed). A value that is wrong is refused "
    "with line, range and, for a name that is nearly one, what was probably meant; nothing is "
    "started then. `config.ini.example` is a file to begin with, and [operating](operating.md) "
    "says which few parameters matter.\n\n"
    "*Restart* says what brings a changed value into effect, after `ndb_mgmd` was stopped and "
    "started with the changed file. **rolling**: `ROLLING RESTART` in the console, and the cluster "
    "works on meanwhile; **initial rolling**: `ROLLING RESTART -i`, so that each node gets its "
    "rows anew from the others; **all**: the whole cluster is stopped and started; "
    "**initial all**: the cluster begins anew, without its data. What cannot go the way that was "
    "ordered is refused with the parameter's name before anything is stopped.\n";

static const struct without_effect *unused_find(const struct config_param *param)
{
    for (size_t i = 0; i < UNUSED_COUNT; i++) {
        if (unused[i].kind == param->kind && strcmp(unused[i].name, param->name) == 0)
            return &unused[i];
    }
    return NULL;
}

static const char *restart_text(const char *restart)
{
    if (strcmp(restart, "S") == 0) return "all";
    if (strcmp(restart, "IS") == 0) return "initial all";
    return strcmp(restart, "IN") == 0 ? "initial rolling" : "rolling";
}

static void number(const struct config_param *param, uint64_t value, char *text, size_t size)
{
    if (strncmp(param->unit, "bytes", 5) == 0)
        config_number_format(value, text, size);
    else
        (void)snprintf(text, size, "%" PRIu64, value);
}

/* "a,b,c" as "a, b, c". */
static void print_names(const char *names)
{
    for (; *names != '\0'; names++)
        (void)fputs(*names == ',' ? ", " : (char[]){*names, '\0'}, stdout);
}

static void print_enum_name(const char *names, uint64_t value)
{
    for (; value > 0; value--)
        names += strcspn(names, ",") + 1;
    printf("%.*s", (int)strcspn(names, ","), names);
}

/* Type, default and range: three cells. */
static void print_values(const struct config_param *param)
{
    char text[3][32];

    switch (param->type) {
    case CONFIG_BOOL:
        printf("yes or no | %s | ", param->def != 0 ? "yes" : "no");
        return;
    case CONFIG_ENUM:
        (void)fputs("name | ", stdout);
        print_enum_name(param->unit, param->def);
        (void)fputs(" | ", stdout);
        print_names(param->unit);
        return;
    case CONFIG_STRING:
        printf("text | %s | up to %" PRIu64 " bytes", param->def_text, param->max);
        return;
    case CONFIG_INT:
    case CONFIG_INT64:
        break;
    }
    number(param, param->def, text[0], sizeof(text[0]));
    number(param, param->min, text[1], sizeof(text[1]));
    number(param, param->max, text[2], sizeof(text[2]));
    printf("%s | %s | %s to %s", param->unit[0] != '\0' ? param->unit : "number",
           param->def < param->min                  ? "not set"
           : strcmp(param->name, "DataMemory") == 0 ? "of the machine's" /* It depends. */
                                                    : text[0],
           text[1], text[2]);
}

static void print_param(const struct config_param *param)
{
    const struct without_effect *none = unused_find(param);

    printf("| `%s` | ", param->name);
    print_values(param);
    printf(" | %s | %s", none != NULL ? "" : restart_text(param->restart), param->help);
    if (none != NULL) printf(" **No effect**: %s.", none->reason);
    (void)fputs(" |\n", stdout);
}

static const char table_head[] =
    "\n| parameter | type, unit | default | range | restart | what it does |\n"
    "| --- | --- | --- | --- | --- | --- |\n";

static void print_section(const struct section *section)
{
    bool begun = false;

    print_wrapped("\n## %s\n\n%s\n", section->head, section->what);
    for (size_t i = 0; i < LINES; i++) {
        if (lines[i].kind != section->kind) continue;
        if (lines[i].title != NULL) printf("\n### %s\n", lines[i].title);
        if (lines[i].title != NULL || !begun) (void)fputs(table_head, stdout);
        begun = true;
        if (lines[i].title == NULL) print_param(config_param(lines[i].kind, lines[i].id));
    }
}

static void print_foreign(bool refused)
{
    (void)fputs("\n| section | parameter | why |\n| --- | --- | --- |\n", stdout);
    for (size_t i = 0; i < FOREIGN_COUNT; i++) {
        if (foreign[i].refused != refused) continue;
        printf("| `[%s]` | `%s` | %s |\n", config_kind_name(foreign[i].kind), foreign[i].name,
               foreign[i].reason);
    }
}

int main(void)
{
    print_wrapped("%s", intro);
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
        print_section(&sections[i]);
    print_wrapped("\n## Parameters of other systems that are ignored\n\n"
                  "Known from config.ini files of MySQL NDB Cluster. Each is one warning that says "
                  "why, and its value is dropped.\n");
    print_foreign(false);
    print_wrapped(
        "\n## Parameters of other systems that are refused when they are on\n\n"
        "Who sets them relies on them, so a start without them would promise too much. Off is how "
        "it is here, and accepted.\n");
    print_foreign(true);
    return ferror(stdout) != 0 || fflush(stdout) != 0;
}
