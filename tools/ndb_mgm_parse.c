/* ndb_mgm_parse.c -- reads the management console's command language. */
/* SPDX-License-Identifier: GPL-2.0-only
 *
 * Words are case-insensitive and separated by blanks; a ';' at the end is dropped. A line is either
 * `COMMAND arguments` or `<id>|ALL COMMAND arguments`.
 */
#include "tools/ndb_mgm_parse.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tools/ndb_mgm_suggest.h"

#define LINE_MAX_BYTES 4000u

struct words {
    char copy[LINE_MAX_BYTES + 1];
    const char *at[CONSOLE_WORDS_MAX];
    uint32_t start[CONSOLE_WORDS_MAX]; /* Offset in the line. */
    uint32_t count;
    const char *line; /* The line without blanks around it and without ';'. */
};

struct parse {
    struct words words;
    struct console_command *out;
    char *why;
    size_t why_size;
};

static int refuse(struct parse *parse, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int refuse(struct parse *parse, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(parse->why, parse->why_size, format, args);
    va_end(args);
    return -1;
}

/* True when the line is a command of other such systems, and says so. */
static bool is_later(struct parse *parse)
{
    return console_tell_later(parse->words.at, parse->words.count, parse->why, parse->why_size) ==
           0;
}

static int refuse_line(struct parse *parse)
{
    char hint[700];

    if (is_later(parse)) return -1;
    console_suggest(parse->words.at, parse->words.count, hint, sizeof(hint));
    return refuse(parse, "Invalid command: %.200s%s", parse->words.line,
                  hint[0] == '\0' ? "\nType HELP for help." : hint);
}

/* A word that is none of a list's. */
static int refuse_word(struct parse *parse, const char *what, const char *word,
                       enum console_slot slot)
{
    struct console_choices choices;
    char hint[300];

    console_list(slot, &choices);
    console_tell_list(word, &choices, hint, sizeof(hint));
    return refuse(parse, "%s: %.64s%s", what, word, hint);
}

static bool is(const struct parse *parse, uint32_t index, const char *word)
{
    return index < parse->words.count && strcasecmp(parse->words.at[index], word) == 0;
}

static int number_of(const char *text, uint32_t *value)
{
    uint64_t sum = 0;

    if (*text == '\0') return -1;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9') return -1;
        sum = sum * 10 + (uint64_t)(*text - '0');
        if (sum > UINT32_MAX) return -1;
    }
    *value = (uint32_t)sum;
    return 0;
}

/* Everything after the index-th word, as typed. */
static void rest_of_line(struct parse *parse, uint32_t index)
{
    struct words *words = &parse->words;

    parse->out->text[0] = '\0';
    if (index + 1 >= words->count) return;
    (void)snprintf(parse->out->text, sizeof(parse->out->text), "%s",
                   words->line + words->start[index + 1]);
}

static int no_more(struct parse *parse, uint32_t index, enum console_verb verb)
{
    if (parse->words.count != index) return refuse_line(parse);
    parse->out->verb = verb;
    return 0;
}

static int parse_clusterlog(struct parse *parse)
{
    static const struct {
        const char *word;
        int enable;
    } forms[] = {{"ON", 1}, {"OFF", 0}, {"TOGGLE", -1}, {"FILTER", -1}};

    if (is(parse, 1, "INFO")) return no_more(parse, 2, VERB_CLUSTERLOG_INFO);
    for (uint32_t i = 0; i < 4; i++) {
        if (!is(parse, 1, forms[i].word)) continue;
        parse->out->verb = VERB_CLUSTERLOG_SET;
        parse->out->enable = forms[i].enable;
        for (uint32_t j = 2; j < parse->words.count; j++) {
            int severity = ndb_mgm_severity_number(parse->words.at[j]);
            if (severity < NDB_MGM_SEVERITY_DEBUG) {
                return refuse_word(parse, "Invalid severity level", parse->words.at[j],
                                   SLOT_SEVERITY);
            }
            if (parse->out->number_count == CONSOLE_NUMBERS_MAX) return refuse_line(parse);
            parse->out->numbers[parse->out->number_count++] = (uint32_t)severity;
        }
        return 0;
    }
    return refuse_line(parse);
}

static int refuse_flag(struct parse *parse, const char *word, bool restart)
{
    return refuse(parse, "Invalid option: %.64s (allowed: %s)", word,
                  restart ? "-n, -i, -a, -f" : "-a, -f");
}

/* -n -i -a -f, alone or together (-ni). RESTART takes all, STOP -a and -f. */
static int parse_flags(struct parse *parse, uint32_t index, bool restart)
{
    for (uint32_t i = index; i < parse->words.count; i++) {
        const char *word = parse->words.at[i];
        if (word[0] != '-' || word[1] == '\0') return refuse_flag(parse, word, restart);
        for (const char *c = word + 1; *c != '\0'; c++) {
            int letter = tolower((unsigned char)*c);
            if (letter == 'a')
                parse->out->flags |= NDB_MGM_FLAG_ABORT;
            else if (letter == 'f')
                parse->out->flags |= NDB_MGM_FLAG_FORCE;
            else if (letter == 'n' && restart)
                parse->out->flags |= NDB_MGM_FLAG_NOSTART;
            else if (letter == 'i' && restart)
                parse->out->flags |= NDB_MGM_FLAG_INITIAL;
            else
                return refuse_flag(parse, word, restart);
        }
    }
    return 0;
}

/* One more node of a list. */
static int add_node(struct parse *parse, const char *word)
{
    struct console_command *out = parse->out;
    uint32_t id;

    if (number_of(word, &id) != 0 || id < 1 || id > NDB_MGM_NODES_MAX)
        return refuse(parse, "Invalid node ID: %.64s.", word);
    for (uint32_t i = 0; i < out->node_count; i++) {
        if (out->nodes[i] == id) return refuse(parse, "Node ID %u is given twice.", id);
    }
    out->nodes[out->node_count++] = id;
    return 0;
}

/* ROLLING RESTART [-i] [id ...]. Files may be removed; nodes that wait for START, or that lose
 * transactions, would be no rolling restart. */
static int parse_rolling(struct parse *parse)
{
    parse->out->verb = VERB_ROLLING_RESTART;
    for (uint32_t i = 2; i < parse->words.count; i++) {
        if (is(parse, i, "-i"))
            parse->out->flags |= NDB_MGM_FLAG_INITIAL;
        else if (parse->words.at[i][0] == '-')
            return refuse(parse, "Invalid option: %.64s (allowed: -i)", parse->words.at[i]);
        else if (add_node(parse, parse->words.at[i]) != 0)
            return -1;
    }
    return 0;
}

/* ENTER SINGLE USER MODE <id>, EXIT SINGLE USER MODE. */
static int parse_single_user(struct parse *parse)
{
    struct console_command *out = parse->out;
    bool enter = is(parse, 0, "ENTER");

    if (!is(parse, 1, "SINGLE") || !is(parse, 2, "USER") || !is(parse, 3, "MODE"))
        return refuse_line(parse);
    if (!enter) return no_more(parse, 4, VERB_EXIT_SINGLE_USER);
    if (parse->words.count != 5 || number_of(parse->words.at[4], &out->nodes[0]) != 0 ||
        out->nodes[0] < 1 || out->nodes[0] > NDB_MGM_NODES_MAX) {
        return refuse(parse,
                      "Invalid node ID: %.64s. It is needed: the API node that may work "
                      "(1..255)",
                      parse->words.count > 4 ? parse->words.at[4] : "none");
    }
    out->node_count = 1;
    out->verb = VERB_ENTER_SINGLE_USER;
    return 0;
}

static int parse_global(struct parse *parse)
{
    struct console_command *out = parse->out;

    if (is(parse, 0, "HELP") || is(parse, 0, "?")) {
        out->verb = VERB_HELP;
        rest_of_line(parse, 0);
        return 0;
    }
    if (is(parse, 0, "CONNECT")) {
        out->verb = VERB_CONNECT;
        rest_of_line(parse, 0);
        return 0;
    }
    if (is(parse, 0, "PROMPT")) {
        out->verb = VERB_PROMPT;
        rest_of_line(parse, 0);
        return 0;
    }
    if (is(parse, 0, "SLEEP")) {
        if (parse->words.count != 2 || number_of(parse->words.at[1], &out->numbers[0]) != 0 ||
            out->numbers[0] > 86400) {
            return refuse(parse, "SLEEP needs a number of seconds (allowed range 0..86400)");
        }
        out->number_count = 1;
        out->verb = VERB_SLEEP;
        return 0;
    }
    if (is(parse, 0, "SHOW")) return no_more(parse, 1, VERB_SHOW);
    if (is(parse, 0, "SHUTDOWN")) return no_more(parse, 1, VERB_SHUTDOWN);
    if (is(parse, 0, "ENTER") || (is(parse, 0, "EXIT") && parse->words.count > 1))
        return parse_single_user(parse);
    if (is(parse, 0, "PURGE") && is(parse, 1, "STALE") && is(parse, 2, "SESSIONS"))
        return no_more(parse, 3, VERB_PURGE);
    if (is(parse, 0, "QUIT") || is(parse, 0, "EXIT") || is(parse, 0, "BYE")) {
        return no_more(parse, 1, VERB_QUIT);
    }
    if (is(parse, 0, "CLUSTERLOG")) return parse_clusterlog(parse);
    if (is(parse, 0, "ROLLING") && is(parse, 1, "RESTART")) return parse_rolling(parse);
    return refuse_line(parse);
}

/* A type may be shortened as far as it stays one. */
static int parse_report(struct parse *parse, uint32_t index)
{
    static const enum console_verb verbs[CONSOLE_REPORTS] = {
        VERB_REPORT_MEMORY, VERB_REPORT_REDO, VERB_REPORT_CHECKPOINT, VERB_REPORT_EVENTS};
    const char *type = index < parse->words.count ? parse->words.at[index] : "";
    size_t length = strlen(type);

    if (length == 0) return no_more(parse, index, VERB_REPORT_LIST);
    for (uint32_t i = 0; i < CONSOLE_REPORTS; i++) {
        if (strncasecmp(type, console_reports[i], length) != 0) continue;
        return no_more(parse, index + 1, verbs[i]);
    }
    if (is_later(parse)) return -1;
    return refuse_word(parse, "Unknown report type", type, SLOT_REPORT);
}

/* category=level ...; the pairs go to numbers[]. Blanks around '=' are allowed. */
static int parse_levels(struct parse *parse, uint32_t index, enum console_verb verb)
{
    char text[LINE_MAX_BYTES + 1];
    struct console_command *out = parse->out;
    size_t used = 0;

    if (index >= parse->words.count) {
        return refuse(parse, "%s needs category=level (level range 0..15)",
                      verb == VERB_NODE_LOGLEVEL ? "LOGLEVEL" : "CLUSTERLOG");
    }
    for (const char *c = parse->words.line + parse->words.start[index]; *c != '\0'; c++) {
        bool near_equals = used > 0 && text[used - 1] == '=';
        if (*c == '=') {
            while (used > 0 && text[used - 1] == ' ')
                used--;
        }
        if (isspace((unsigned char)*c) && near_equals) continue;
        text[used++] = isspace((unsigned char)*c) ? ' ' : *c;
    }
    text[used] = '\0';
    for (char *save = NULL, *item = strtok_r(text, " ", &save); item != NULL;
         item = strtok_r(NULL, " ", &save)) {
        char *equals = strchr(item, '=');
        uint32_t level;
        if (equals == NULL) return refuse(parse, "Missing category=level at \"%.64s\"", item);
        *equals = '\0';
        int category = ndb_mgm_category_number(item);
        if (category < 0) return refuse_word(parse, "Invalid category", item, SLOT_LEVEL);
        if (number_of(equals + 1, &level) != 0 || level > 15) {
            return refuse(parse, "Invalid level: %.64s (allowed range 0..15)", equals + 1);
        }
        if (out->number_count + 2 > CONSOLE_NUMBERS_MAX) return refuse_line(parse);
        out->numbers[out->number_count++] = (uint32_t)category;
        out->numbers[out->number_count++] = level;
    }
    out->verb = verb;
    return 0;
}

static int parse_dump(struct parse *parse, uint32_t index)
{
    if (index >= parse->words.count) return refuse(parse, "Expected argument (1..24 numbers)");
    for (uint32_t i = index; i < parse->words.count; i++) {
        if (parse->out->number_count == CONSOLE_NUMBERS_MAX) {
            return refuse(parse, "Too many arguments (allowed range 1..24)");
        }
        if (number_of(parse->words.at[i], &parse->out->numbers[parse->out->number_count++]) != 0) {
            return refuse(parse, "Illegal value in argument to DUMP: %.64s", parse->words.at[i]);
        }
    }
    parse->out->verb = VERB_DUMP;
    return 0;
}

/* True for a command of one node, or ALL. */
static bool is_of_one(const struct parse *parse, uint32_t index)
{
    static const char *const names[] = {"STATUS", "REPORT", "CLUSTERLOG", "LOGLEVEL", "DUMP"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (is(parse, index, names[i])) return true;
    }
    return false;
}

/* The word at `index` and what follows it, for the nodes that were read. */
static int parse_node_verb(struct parse *parse, uint32_t index)
{
    struct console_command *out = parse->out;

    if (out->node_count > 1 && is_of_one(parse, index))
        return refuse(parse, "Only START, STOP and RESTART take several node ids.");
    if (is(parse, index, "START")) return no_more(parse, index + 1, VERB_START);
    if (is(parse, index, "STOP")) {
        out->verb = VERB_STOP;
        return parse_flags(parse, index + 1, false);
    }
    if (is(parse, index, "RESTART")) {
        out->verb = VERB_RESTART;
        return parse_flags(parse, index + 1, true);
    }
    if (is(parse, index, "STATUS")) return no_more(parse, index + 1, VERB_STATUS);
    if (is(parse, index, "REPORT")) return parse_report(parse, index + 1);
    if (is(parse, index, "CLUSTERLOG")) return parse_levels(parse, index + 1, VERB_NODE_CLUSTERLOG);
    if (is(parse, index, "LOGLEVEL")) return parse_levels(parse, index + 1, VERB_NODE_LOGLEVEL);
    if (is(parse, index, "DUMP")) return parse_dump(parse, index + 1);
    return refuse_line(parse);
}

static int parse_nodes(struct parse *parse)
{
    uint32_t index = 0;

    if (is(parse, 0, "ALL")) {
        parse->out->all = true;
        if (parse->words.count == 1) return refuse_line(parse);
        return parse_node_verb(parse, 1);
    }
    for (; index < parse->words.count && isdigit((unsigned char)parse->words.at[index][0]);
         index++) {
        if (add_node(parse, parse->words.at[index]) != 0) return -1;
    }
    if (index == parse->words.count) return refuse_line(parse);
    return parse_node_verb(parse, index);
}

static int split(struct parse *parse, const char *line)
{
    struct words *words = &parse->words;
    size_t length;

    while (isspace((unsigned char)*line))
        line++;
    length = strlen(line);
    if (length > LINE_MAX_BYTES)
        return refuse(parse, "The line is too long (allowed range 0..4000)");
    memcpy(words->copy, line, length + 1);
    while (length > 0 &&
           (isspace((unsigned char)words->copy[length - 1]) || words->copy[length - 1] == ';')) {
        words->copy[--length] = '\0';
    }
    for (size_t i = 0; i < length;) {
        if (isspace((unsigned char)words->copy[i])) {
            i++;
            continue;
        }
        if (words->count == CONSOLE_WORDS_MAX) return refuse(parse, "The line has too many words");
        words->start[words->count++] = (uint32_t)i;
        while (i < length && !isspace((unsigned char)words->copy[i]))
            i++;
    }
    return 0;
}

int console_parse(const char *line, struct console_command *command, char *why, size_t why_size)
{
    struct parse parse = {.out = command, .why = why, .why_size = why_size};
    char separate[LINE_MAX_BYTES + 1];

    *command = (struct console_command){.verb = VERB_NONE};
    if (line[strspn(line, " \t\r\n\v\f")] == '#') return 0; /* However long it is. */
    if (split(&parse, line) != 0) return -1;
    parse.words.line = parse.words.copy;
    memcpy(separate, parse.words.copy, sizeof(separate));
    for (uint32_t i = 0; i < parse.words.count; i++) {
        size_t end = parse.words.start[i] + strcspn(separate + parse.words.start[i], " \t\r\n\v\f");
        parse.words.at[i] = separate + parse.words.start[i];
        separate[end] = '\0';
    }
    if (parse.words.count == 0) return 0;
    if (is(&parse, 0, "ALL") || isdigit((unsigned char)parse.words.at[0][0]))
        return parse_nodes(&parse);
    return parse_global(&parse);
}
