/* config_ini.c -- splits a configuration file into sections and pairs, with inih. */
/* SPDX-License-Identifier: GPL-2.0-only
 *
 * inih merges sections of one name and tells no line numbers, but asks for the file line by line:
 * the reader below hands it one line each time, and so knows which line the handler is called for,
 * and where a section begins. What inih leaves unhandled was no name=value line.
 */
#include "config/config_ini.h"

#include <ini.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_parse.h"

struct ini_reader_state {
    struct ini_file *ini;
    struct config_report *report;
    const char *file;
    const char *at;
    const char *end;
    uint32_t line;
    bool pending; /* The last line must lead to a call of the handler. */
    bool out_of_room;
};

static void complain(struct ini_reader_state *state, const char *what)
{
    const struct ini_file *ini = state->ini;
    const char *section = ini->section_count == 0 ? "" : ini->sections[ini->section_count - 1].name;

    config_report_add(state->report, true, state->file, state->line, section, "", "%s", what);
}

static char *trimmed_copy(const char *text, size_t length)
{
    while (length > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        length--;
    }
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        length--;
    return strndup(text, length);
}

/* Both tables double; the reader refuses more than their limits. */
static void *grow(void *table, uint32_t count, size_t size)
{
    if (count != 0 && (count < 16 || (count & (count - 1)) != 0)) return table;
    return realloc(table, (count == 0 ? 16 : 2 * (size_t)count) * size);
}

static void begin_section(struct ini_reader_state *state, const char *text, size_t length)
{
    struct ini_file *ini = state->ini;
    const char *close = memchr(text, ']', length);

    if (close == NULL) {
        complain(state, "the section name has no closing bracket (allowed: [name])");
        return;
    }
    for (const char *c = close + 1; c < text + length; c++) {
        if (*c == ' ' || *c == '\t') continue;
        complain(state, "text follows the section name (allowed: only [name] on its line)");
        return;
    }
    if (ini->section_count == INI_SECTIONS_MAX) {
        complain(state, "there are too many sections (allowed range 1..5000)");
        state->out_of_room = true;
        return;
    }
    struct ini_section *sections = grow(ini->sections, ini->section_count, sizeof(*sections));
    char *name = trimmed_copy(text + 1, (size_t)(close - text) - 1);
    if (sections != NULL) ini->sections = sections;
    if (sections == NULL || name == NULL) {
        free(name);
        complain(state, "out of memory");
        state->out_of_room = true;
        return;
    }
    ini->sections[ini->section_count++] =
        (struct ini_section){.name = name, .line = state->line, .first_pair = ini->pair_count};
}

/* Decides about one line: false when inih shall not see it. */
static bool accept_line(struct ini_reader_state *state, const char *text, size_t *length)
{
    if (*length > CONFIG_FILE_LINE_MAX) {
        complain(state, "the line is too long (allowed range 0..1500 characters)");
        return false;
    }
    const char *comment = memchr(text, '#', *length);
    if (comment != NULL) *length = (size_t)(comment - text);
    for (size_t i = 0; i < *length; i++) {
        if ((unsigned char)text[i] >= ' ' || text[i] == '\t') continue;
        complain(state, "the line has a control character (allowed: text)");
        return false;
    }
    while (*length > 0 && (text[*length - 1] == ' ' || text[*length - 1] == '\t'))
        --*length;
    if (*length == 0 || text[0] == ';') return false;
    if (text[0] == '[') {
        begin_section(state, text, *length);
        return false;
    }
    return true;
}

/* Called by inih for each line; comments, sections and refused lines reach it as empty lines. */
static char *read_line(char *buffer, int size, void *stream)
{
    struct ini_reader_state *state = stream;

    if (state->pending) complain(state, "the line is neither [section] nor name=value");
    state->pending = false;
    if (state->at == state->end || state->out_of_room) return NULL;
    const char *newline = memchr(state->at, '\n', (size_t)(state->end - state->at));
    const char *stop = newline == NULL ? state->end : newline;
    const char *text = state->at;
    state->at = newline == NULL ? state->end : newline + 1;
    state->line++;
    if (stop > text && stop[-1] == '\r') stop--;
    while (text < stop && (*text == ' ' || *text == '\t'))
        text++;
    size_t length = (size_t)(stop - text);
    if (!accept_line(state, text, &length) || length + 2 > (size_t)size) length = 0;
    memcpy(buffer, text, length);
    buffer[length] = '\n';
    buffer[length + 1] = '\0';
    state->pending = length > 0;
    return buffer;
}

static int take_pair(void *user, const char *section, const char *name, const char *value)
{
    struct ini_reader_state *state = user;
    struct ini_file *ini = state->ini;

    (void)section;
    state->pending = false;
    if (ini->section_count == 0) {
        complain(state, "the line stands before the first section (allowed: inside a [section])");
        return 1;
    }
    if (name[0] == '\0') {
        complain(state, "the name before the separator is missing");
        return 1;
    }
    if (ini->pair_count == INI_PAIRS_MAX ||
        ini->sections[ini->section_count - 1].pair_count == INI_SECTION_PAIRS_MAX) {
        complain(state,
                 "there are too many lines (allowed range 1..500 in a section, 1..50000 in all)");
        state->out_of_room = true;
        return 1;
    }
    struct ini_pair *pairs = grow(ini->pairs, ini->pair_count, sizeof(*pairs));
    if (pairs != NULL) ini->pairs = pairs;
    struct ini_pair pair = {.name = strdup(name), .value = strdup(value), .line = state->line};
    if (pairs == NULL || pair.name == NULL || pair.value == NULL) {
        free(pair.name);
        free(pair.value);
        complain(state, "out of memory");
        state->out_of_room = true;
        return 1;
    }
    ini->pairs[ini->pair_count++] = pair;
    ini->sections[ini->section_count - 1].pair_count++;
    return 1;
}

void ini_file_read(struct ini_file *ini, const char *text, size_t length, const char *file,
                   struct config_report *report)
{
    struct ini_reader_state state = {
        .ini = ini, .report = report, .file = file, .at = text, .end = text + length};

    *ini = (struct ini_file){.sections = NULL};
    ini_max_line = (int)CONFIG_FILE_LINE_MAX + 16;
    ini_initial_alloc = ini_max_line;
    ini_use_stack = false;
    ini_allow_multiline = false;
    ini_inline_comment_prefixes = (char *)(uintptr_t) ""; /* "#" is cut off before inih sees it. */
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) state.at += 3;
    if (ini_parse_stream(read_line, &state, take_pair, &state) == -2)
        complain(&state, "out of memory");
}

void ini_file_free(struct ini_file *ini)
{
    for (uint32_t i = 0; i < ini->section_count; i++)
        free(ini->sections[i].name);
    for (uint32_t i = 0; i < ini->pair_count; i++) {
        free(ini->pairs[i].name);
        free(ini->pairs[i].value);
    }
    free(ini->sections);
    free(ini->pairs);
    *ini = (struct ini_file){.sections = NULL};
}
