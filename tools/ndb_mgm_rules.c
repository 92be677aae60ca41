/* ndb_mgm_rules.c -- the table of the console's commands, and how a line goes through a form. */
/* SPDX-License-Identifier: GPL-2.0-only
 *
 * It does not read commands, ndb_mgm_parse.c does: that each form of the table is a command there,
 * and each command has a form here, is what test_mgm_console sees to.
 */
#include "tools/ndb_mgm_rules.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tools/ndb_mgm_print.h"

const struct console_rule console_rules[] = {
    {"SHOW", TASK_LOOK, "All nodes and their state"},
    {"<id> STATUS", TASK_LOOK, "State of a node"},
    {"<id> REPORT [<report>]", TASK_LOOK, "Memory, log, checkpoints, events"},
    {"<id> DUMP <number>...", TASK_LOOK, "Debug order, answered in a node's log"},
    {"<id>... START", TASK_RUN, "Start data nodes that wait (-n)"},
    {"<id>... STOP [-a] [-f]", TASK_RUN, "Stop data or management nodes"},
    {"<id>... RESTART [-n] [-i] [-a] [-f]", TASK_RUN, "Restart data nodes"},
    {"ROLLING RESTART [-i] [<data-id>...]", TASK_RUN, "Restart data nodes, one by one"},
    {"SHUTDOWN", TASK_RUN, "Stop all data and management nodes"},
    {"CLUSTERLOG INFO", TASK_LOG, "Which severities are logged"},
    {"CLUSTERLOG ON|OFF|TOGGLE [<severity>...]", TASK_LOG, "Switch severities, or the whole log"},
    {"CLUSTERLOG FILTER [<severity>...]", TASK_LOG, NULL}, /* TOGGLE, as it was called once. */
    {"<id> CLUSTERLOG <category>=<level>...", TASK_LOG, "Which events go to the cluster log"},
    {"<id> LOGLEVEL <category>=<level>...", TASK_LOG, "Which go to the node's own log"},
    {"ENTER SINGLE USER MODE <api-id>", TASK_CLIENTS, "Only this client may work"},
    {"EXIT SINGLE USER MODE", TASK_CLIENTS, "All clients may work again"},
    {"PURGE STALE SESSIONS", TASK_CLIENTS, "Free node ids that nobody uses"},
    {"HELP [<topic>]", TASK_CONSOLE, "This list, or more about a command"},
    {"? [<topic>]", TASK_CONSOLE, NULL},
    {"CONNECT [<connectstring>]", TASK_CONSOLE, "Connect to a management server"},
    {"PROMPT [<text>]", TASK_CONSOLE, "Set the prompt"},
    {"SLEEP <seconds>", TASK_CONSOLE, "Wait before the next command"},
    {"QUIT|EXIT|BYE", TASK_CONSOLE, "Leave"},
};
const uint32_t console_rule_count = sizeof(console_rules) / sizeof(console_rules[0]);

const char *const console_reports[CONSOLE_REPORTS] = {"MemoryUsage", "RedoLog", "CheckpointStatus",
                                                      "EventLog"};

const char *console_task_name(enum console_task task)
{
    static const char *const names[TASK_COUNT] = {[TASK_LOOK] = "Look",
                                                  [TASK_RUN] = "Start and stop",
                                                  [TASK_LOG] = "Cluster log",
                                                  [TASK_CLIENTS] = "Clients",
                                                  [TASK_CONSOLE] = "This console"};

    return names[task];
}

/* ---- forms ---- */

static bool read_slot(struct console_form_word *word)
{
    static const struct {
        const char *text;
        enum console_slot slot;
    } slots[] = {{"<id>", SLOT_ID},
                 {"<data-id>", SLOT_DATA_ID},
                 {"<api-id>", SLOT_API_ID},
                 {"<report>", SLOT_REPORT},
                 {"<severity>", SLOT_SEVERITY},
                 {"<category>=<level>", SLOT_LEVEL},
                 {"<topic>", SLOT_TOPIC},
                 {"<number>", SLOT_TEXT},
                 {"<connectstring>", SLOT_TEXT},
                 {"<text>", SLOT_TEXT},
                 {"<seconds>", SLOT_TEXT}};

    word->slot = word->text[0] == '-' ? SLOT_OPTION : SLOT_WORD;
    if (word->text[0] != '<') return word->text[0] != '\0';
    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
        if (strcmp(word->text, slots[i].text) != 0) continue;
        word->slot = slots[i].slot;
        return true;
    }
    return false;
}

static bool read_word(struct console_form_word *word, const char *text, size_t length)
{
    *word = (struct console_form_word){.optional = length > 2 && text[0] == '['};
    if (word->optional) {
        if (text[length - 1] != ']') return false;
        text++;
        length -= 2;
    }
    word->repeated = length > 3 && memcmp(text + length - 3, "...", 3) == 0;
    if (word->repeated) length -= 3;
    if (length >= sizeof(word->text)) return false;
    memcpy(word->text, text, length);
    return read_slot(word);
}

bool console_read_form(const struct console_rule *rule, struct console_form *form)
{
    form->count = 0;
    for (const char *text = rule->form; *text != '\0';) {
        size_t length = strcspn(text, " ");
        if (form->count == CONSOLE_FORM_MAX) return false;
        if (!read_word(&form->at[form->count++], text, length)) return false;
        text += length;
        while (*text == ' ')
            text++;
    }
    return form->count > 0;
}

bool console_alternative(const struct console_form_word *word, uint32_t index, char *text)
{
    const char *at = word->text;

    for (; index > 0 && at != NULL; index--) {
        at = strchr(at, '|');
        if (at != NULL) at++;
    }
    if (at == NULL) return false;
    (void)snprintf(text, CONSOLE_WORD_MAX, "%.*s", (int)strcspn(at, "|"), at);
    return true;
}

static bool takes(const struct console_form_word *word, const char *text)
{
    char one[CONSOLE_WORD_MAX];

    switch (word->slot) {
    case SLOT_WORD:
        for (uint32_t i = 0; console_alternative(word, i, one); i++) {
            if (strcasecmp(one, text) == 0) return true;
        }
        return false;
    case SLOT_OPTION:
        return text[0] == '-'; /* Several may be written as one: -ni. */
    case SLOT_ID:
        return isdigit((unsigned char)text[0]) || strcasecmp(text, "ALL") == 0;
    case SLOT_DATA_ID:
    case SLOT_API_ID:
        return isdigit((unsigned char)text[0]);
    case SLOT_REPORT:
    case SLOT_SEVERITY:
    case SLOT_LEVEL:
    case SLOT_TOPIC:
    case SLOT_TEXT:
        break;
    }
    return true;
}

/* Options stand in any order: one that was taken lets the place stay at the first of them. */
static bool stays(const struct console_form_word *word, const char *text)
{
    if (word->slot == SLOT_OPTION) return true;
    return word->repeated && (word->slot != SLOT_ID || strcasecmp(text, "ALL") != 0);
}

bool console_may_pass(const struct console_form *form, struct console_place place)
{
    return place.seen || form->at[place.at].optional;
}

void console_pass(struct console_place *place)
{
    place->at++;
    place->seen = false;
}

bool console_step(const struct console_form *form, struct console_place *place, const char *word)
{
    for (; place->at < form->count; console_pass(place)) {
        if (takes(&form->at[place->at], word)) {
            if (stays(&form->at[place->at], word))
                place->seen = true;
            else
                console_pass(place);
            return true;
        }
        if (!console_may_pass(form, *place)) return false;
    }
    return false;
}

bool console_may_end(const struct console_form *form, struct console_place place)
{
    while (place.at < form->count && console_may_pass(form, place))
        console_pass(&place);
    return place.at == form->count;
}

/* ---- lists ---- */

void console_add_choice(struct console_choices *choices, const char *text)
{
    if (choices->count == CONSOLE_CHOICES_MAX) return;
    (void)snprintf(choices->at[choices->count++], CONSOLE_WORD_MAX, "%s", text);
}

void console_list(enum console_slot slot, struct console_choices *choices)
{
    choices->count = 0;
    for (uint32_t i = 0; slot == SLOT_REPORT && i < CONSOLE_REPORTS; i++)
        console_add_choice(choices, console_reports[i]);
    for (int i = NDB_MGM_SEVERITY_DEBUG; slot == SLOT_SEVERITY && i <= NDB_MGM_SEVERITY_ALL; i++)
        console_add_choice(choices, ndb_mgm_severity_name((enum ndb_mgm_severity)i));
    for (int i = 0; slot == SLOT_LEVEL && i < NDB_MGM_CATEGORIES; i++) {
        console_add_choice(
            choices, ndb_mgm_category_name((enum ndb_mgm_category)(NDB_MGM_CATEGORY_FIRST + i)));
    }
    for (uint32_t i = 0; slot == SLOT_TOPIC && help_topic(i) != NULL; i++)
        console_add_choice(choices, help_topic(i));
}
