/* config_names.c -- the names in a config.ini, and the nearest to a wrong one. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "config/config_names.h"

#include <string.h>
#include <strings.h>

#define NAME_MAX_LENGTH 63u /* A longer one is near to no name. */

static const struct {
    const char *name;
    enum config_kind kind;
} sections[] = {{"ndbd", CONFIG_NDBD},    {"db", CONFIG_NDBD},       {"ndb_mgmd", CONFIG_MGMD},
                {"mgm", CONFIG_MGMD},     {"mysqld", CONFIG_API},    {"api", CONFIG_API},
                {"tcp", CONFIG_TCP},      {"system", CONFIG_SYSTEM}, {"ndbapi", CONFIG_API},
                {"computer", CONFIG_NONE}};
#define SECTIONS (sizeof(sections) / sizeof(sections[0]))

#define FOREIGN(section, name, refused, reason) {CONFIG_##section, #name, (refused) != 0, (reason)},
static const struct config_foreign foreigns[] = {
#include "config/params_foreign.def"
};
#undef FOREIGN
#define FOREIGNS (sizeof(foreigns) / sizeof(foreigns[0]))

static uint32_t min3(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t low = a < b ? a : b;

    return low < c ? low : c;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Edit distance without regard to case, of `a`'s first `length` characters; both have at most
 * NAME_MAX_LENGTH. */
static uint32_t distance(const char *a, size_t length, const char *b)
{
    uint32_t row[NAME_MAX_LENGTH + 1];
    size_t columns = strlen(b);

    for (uint32_t j = 0; j <= columns; j++)
        row[j] = j;
    for (uint32_t i = 1; i <= length; i++) {
        uint32_t corner = row[0];
        row[0] = i;
        for (uint32_t j = 1; j <= columns; j++) {
            uint32_t above = row[j];
            uint32_t cost = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
            row[j] = min3(row[j] + 1, row[j - 1] + 1, corner + cost);
            corner = above;
        }
    }
    return row[columns];
}

enum config_kind config_kind_named(const char *name, size_t length)
{
    for (uint32_t i = 0; i < SECTIONS; i++) {
        if (strlen(sections[i].name) == length &&
            strncasecmp(name, sections[i].name, length) == 0) {
            return sections[i].kind;
        }
    }
    return CONFIG_NONE;
}

const char *config_nearest_section(const char *name, size_t length)
{
    const char *nearest = NULL;
    uint32_t best = 2 + (uint32_t)length / 4;

    for (uint32_t i = 0; i < SECTIONS && length <= NAME_MAX_LENGTH; i++) {
        uint32_t d = distance(name, length, sections[i].name);
        if (d >= best || d >= length) continue; /* What shares no character was not meant. */
        best = d;
        nearest = sections[i].name;
    }
    return nearest;
}

enum config_kind config_kind_with(enum config_kind kind, const char *name)
{
    uint32_t count;
    const struct config_param *params = config_params(&count);

    for (uint32_t i = 0; i < count; i++) {
        if (strcasecmp(params[i].name, name) == 0 && params[i].kind != kind) return params[i].kind;
    }
    for (uint32_t i = 0; i < FOREIGNS; i++) {
        if (strcasecmp(foreigns[i].name, name) == 0 && foreigns[i].kind != kind)
            return foreigns[i].kind;
    }
    return CONFIG_NONE;
}

/* How far `wanted` is from what was written; what may have been shortened to it is near. */
static uint32_t param_distance(const char *name, size_t length, const char *wanted)
{
    bool shortened = length > 3 && strncasecmp(wanted, name, length) == 0;
    return shortened ? 1 : distance(name, length, wanted);
}

const char *config_nearest_param(enum config_kind kind, const char *name)
{
    const char *nearest = NULL;
    size_t length = strlen(name);
    uint32_t best = 3 + (uint32_t)length / 4;
    uint32_t count;
    const struct config_param *params = config_params(&count);

    if (length > NAME_MAX_LENGTH) return NULL;
    for (uint32_t i = 0; i < count + FOREIGNS; i++) { /* Those of this system first. */
        bool own = i < count;
        if ((own ? params[i].kind : foreigns[i - count].kind) != kind) continue;
        const char *wanted = own ? params[i].name : foreigns[i - count].name;
        uint32_t d = param_distance(name, length, wanted);
        if (d >= best) continue;
        best = d;
        nearest = wanted;
    }
    return nearest;
}

const struct config_foreign *config_foreign_param(enum config_kind kind, const char *name)
{
    for (uint32_t i = 0; i < FOREIGNS; i++) {
        if (foreigns[i].kind == kind && strcasecmp(foreigns[i].name, name) == 0)
            return &foreigns[i];
    }
    return NULL;
}
