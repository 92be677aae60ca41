/* config_value.c -- parameter values as people write them: numbers with suffixes, booleans, names.
 */
/* SPDX-License-Identifier: MIT */
#include "config/config.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static int digit_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 16;
}

/* How far k, M or G shifts; 0: another letter. */
static uint32_t suffix_shift(char c)
{
    switch (c) {
    case 'k':
    case 'K':
        return 10;
    case 'm':
    case 'M':
        return 20;
    case 'g':
    case 'G':
        return 30;
    default:
        return 0;
    }
}

int config_number_parse(const char *text, uint64_t *value)
{
    uint64_t base = 10;
    uint64_t sum = 0;
    const char *at = text;

    *value = 0;
    if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
        base = 16;
        at += 2;
    } else if (at[0] == '0' && at[1] >= '0' && at[1] <= '9') {
        base = 8;
        at += 1;
    }
    const char *first = at;
    for (; (uint64_t)digit_value(*at) < base; at++) {
        uint64_t digit = (uint64_t)digit_value(*at);
        if (sum > (UINT64_MAX - digit) / base) return -1;
        sum = sum * base + digit;
    }
    if (at == first) return -1;
    uint32_t shift = suffix_shift(*at);
    if (shift != 0) at++;
    if (*at != '\0' || sum > (UINT64_MAX >> shift)) return -1;
    *value = sum << shift;
    return 0;
}

void config_number_format(uint64_t value, char *text, size_t size)
{
    static const char suffixes[] = {'G', 'M', 'K'};

    for (uint32_t i = 0; i < 3; i++) {
        uint32_t shift = 30 - 10 * i;
        if (value != 0 && (value & ((1ULL << shift) - 1)) == 0) {
            (void)snprintf(text, size, "%" PRIu64 "%c", value >> shift, suffixes[i]);
            return;
        }
    }
    (void)snprintf(text, size, "%" PRIu64, value);
}

static int bool_parse(const char *text, uint64_t *value)
{
    static const char *const words[][2] = {{"false", "true"}, {"no", "yes"}, {"n", "y"},
                                           {"0", "1"},        {"f", "t"},    {"off", "on"}};

    for (uint32_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        for (uint32_t j = 0; j < 2; j++) {
            if (strcasecmp(text, words[i][j]) != 0) continue;
            *value = j;
            return 0;
        }
    }
    return -1;
}

/* The position of `text` among the comma separated `names`; -1 when it is not among them. */
static int enum_parse(const char *names, const char *text, uint64_t *value)
{
    uint64_t at = 0;
    size_t length = strlen(text);

    for (const char *name = names;; at++) {
        size_t n = strcspn(name, ",");
        if (n == length && strncasecmp(name, text, n) == 0) {
            *value = at;
            return 0;
        }
        if (name[n] == '\0') return -1;
        name += n + 1;
    }
}

/* Does the text have quotes? They would become a part of a name or path, which nobody means. */
static bool is_quoted(const char *text)
{
    size_t length = strlen(text);

    return length >= 2 && (text[0] == '"' || text[0] == '\'') && text[length - 1] == text[0];
}

int config_value_parse(const struct config_param *param, const char *text, uint64_t *value,
                       char *why, size_t why_size)
{
    *value = 0;
    why[0] = '\0';
    if (is_quoted(text)) {
        (void)snprintf(why, why_size, "value %.64s is in quotes: leave them out", text);
        return -1;
    }
    switch (param->type) {
    case CONFIG_STRING:
        if (strlen(text) <= param->max) return 0;
        (void)snprintf(why, why_size, "value of %zu characters is too long", strlen(text));
        return -1;
    case CONFIG_BOOL:
        if (bool_parse(text, value) == 0) return 0;
        (void)snprintf(why, why_size, "value \"%.64s\" is neither true nor false", text);
        return -1;
    case CONFIG_ENUM:
        if (enum_parse(param->unit, text, value) == 0) return 0;
        (void)snprintf(why, why_size, "value \"%.64s\" is unknown", text);
        return -1;
    case CONFIG_INT:
    case CONFIG_INT64:
        break;
    }
    if (config_number_parse(text, value) != 0) {
        (void)snprintf(why, why_size, "value \"%.64s\" is not a number", text);
        return -1;
    }
    if (*value < param->min || *value > param->max) {
        (void)snprintf(why, why_size, "value %.64s is out of range", text);
        return -1;
    }
    return 0;
}

void config_value_range(const struct config_param *param, char *text, size_t size)
{
    char low[32];
    char high[32];
    size_t used = 0;

    switch (param->type) {
    case CONFIG_STRING:
        (void)snprintf(text, size, "allowed range 0..%" PRIu64 " characters", param->max);
        return;
    case CONFIG_BOOL:
        (void)snprintf(text, size, "allowed: true, false");
        return;
    case CONFIG_ENUM:
        (void)snprintf(text, size, "allowed: ");
        used = strlen(text);
        for (const char *c = param->unit; *c != '\0' && used + 3 < size; c++) {
            text[used++] = *c;
            if (*c == ',') text[used++] = ' ';
        }
        text[used] = '\0';
        return;
    case CONFIG_INT:
    case CONFIG_INT64:
        break;
    }
    if (strncmp(param->unit, "bytes", 5) == 0) {
        config_number_format(param->min, low, sizeof(low));
        config_number_format(param->max, high, sizeof(high));
    } else {
        (void)snprintf(low, sizeof(low), "%" PRIu64, param->min);
        (void)snprintf(high, sizeof(high), "%" PRIu64, param->max);
    }
    (void)snprintf(text, size, "allowed range %s..%s%s%s", low, high,
                   param->unit[0] != '\0' ? " " : "", param->unit);
}

int config_set_parsed(struct config_section *section, const struct config_param *param,
                      const char *text, const char *file, uint32_t line,
                      struct config_report *report)
{
    char why[128];
    char range[128];
    uint64_t value;

    config_value_range(param, range, sizeof(range));
    if (config_value_parse(param, text, &value, why, sizeof(why)) != 0) {
        config_report_add(report, true, file, line, config_kind_name(param->kind), param->name,
                          "%s (%s)", why, range);
        return -1;
    }
    int rc = param->type == CONFIG_STRING ? config_set_text(section, param->id, text)
                                          : config_set_u64(section, param->id, value);
    if (rc != 0) {
        config_report_add(report, true, file, line, config_kind_name(param->kind), param->name,
                          "value cannot be stored: out of memory");
        return -1;
    }
    config_set_line(section, param->id, line);
    return 0;
}
