/* config_report.c -- what is said of a config.ini: errors and warnings, in the order of its lines.
 */
/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"

void config_report_clear(struct config_report *report)
{
    for (uint32_t i = 0; i < report->count; i++)
        free(report->lines[i].text);
    free(report->lines);
    *report = (struct config_report){.lines = NULL};
}

const char *config_report_error(const struct config_report *report)
{
    for (uint32_t i = 0; i < report->count; i++) {
        if (report->lines[i].error) return report->lines[i].text;
    }
    return NULL;
}

static int report_grow(struct config_report *report)
{
    if (report->lines != NULL) return 0;
    report->lines = calloc(CONFIG_REPORT_MAX, sizeof(*report->lines));
    return report->lines == NULL ? -1 : 0;
}

/* Room for an error: the last warning goes. */
static void report_drop_warning(struct config_report *report)
{
    for (uint32_t i = report->count; i-- > 0;) {
        if (report->lines[i].error) continue;
        free(report->lines[i].text);
        memmove(&report->lines[i], &report->lines[i + 1],
                (report->count - i - 1) * sizeof(report->lines[0]));
        report->count--;
        report->dropped++;
        return;
    }
}

/* The file is judged in several passes; a person reads it from its first line to its last. */
static void report_insert(struct config_report *report, const struct config_line *line)
{
    struct config_line *at = &report->lines[report->count++];

    if (line->number != 0) {
        for (; at > report->lines && (at[-1].number == 0 || at[-1].number > line->number); at--)
            *at = at[-1];
    }
    *at = *line;
}

static bool report_has(const struct config_report *report, const char *text)
{
    for (uint32_t i = 0; i < report->count; i++) {
        if (strcmp(report->lines[i].text, text) == 0) return true;
    }
    return false;
}

void config_report_add(struct config_report *report, bool error, const char *file, uint32_t line,
                       const char *section, const char *name, const char *format, ...)
{
    char text[1024];
    char place[16] = "";
    const char *warning = error ? "" : "warning: ";
    int used;
    va_list args;

    if (line != 0) (void)snprintf(place, sizeof(place), ":%u", line);
    if (section[0] == '\0') /* About a line, or the whole file. */
        used = snprintf(text, sizeof(text), "%s%s: %s", file, place, warning);
    else
        used = snprintf(text, sizeof(text), "%s%s: %s[%s]%s%s: ", file, place, warning, section,
                        name[0] != '\0' ? " " : "", name);
    if (used > 0 && (size_t)used < sizeof(text)) {
        va_start(args, format);
        (void)vsnprintf(text + used, sizeof(text) - (size_t)used, format, args);
        va_end(args);
    }
    if (error) report->errors++;
    /* What is wrong in a default section is found again for each node that has it. */
    if (report_has(report, text)) return;
    if (error && report->count == CONFIG_REPORT_MAX) report_drop_warning(report);
    if (report->count == CONFIG_REPORT_MAX || report_grow(report) != 0) {
        report->dropped++;
        return;
    }
    char *copy = strdup(text);
    if (copy == NULL) {
        report->dropped++;
        return;
    }
    report_insert(report, &(struct config_line){.text = copy, .number = line, .error = error});
}
