/* ndb_mgm_suggest.c -- lays a line that is no command beside the forms of all commands. */
/* SPDX-License-Identifier: GPL-2.0-only
 *
 * Nothing that it suggests is carried out. A line that lacks its end is told what follows; else the
 * forms that cost least are shown, each with what was typed in its slots.
 */
#include "tools/ndb_mgm_suggest.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define FAR         UINT32_MAX
#define COST_MISSED 3u /* A word of the form that was left out. */
#define COST_EXTRA  4u /* A word too much. */
#define COST_ORDER  1u /* The nodes stood behind the command. */
#define GUESSES_MAX 3u

static void append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void append(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

/* ---- words ---- */

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static bool same(char a, char b)
{
    return toupper((unsigned char)a) == toupper((unsigned char)b);
}

/* Letters to insert, remove, replace or swap with a neighbour; both words are short. */
static uint32_t edits(const char *a, size_t a_length, const char *b, size_t b_length)
{
    /* Rows for the letter before last, the last one and this one. */
    uint32_t rows[3][CONSOLE_WORD_MAX + 1];

    for (uint32_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (uint32_t i = 1; i <= a_length; i++) {
        uint32_t *row = rows[i % 3];
        const uint32_t *last = rows[(i + 2) % 3];
        row[0] = i;
        for (uint32_t j = 1; j <= b_length; j++) {
            row[j] = least(least(last[j], row[j - 1]) + 1,
                           last[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1));
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                row[j] = least(row[j], rows[(i + 1) % 3][j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

uint32_t console_distance(const char *word, const char *target)
{
    size_t length = strlen(word);
    size_t wanted = strlen(target);
    uint32_t allowed = wanted < 5 ? 1 : wanted < 9 ? 2 : 3;
    uint32_t count;

    if (strcasecmp(word, target) == 0) return 0;
    if (!isalpha((unsigned char)target[0]) || length < 2 || wanted < 2) return FAR;
    if (length < wanted && strncasecmp(word, target, length) == 0) return 1;
    if (length >= CONSOLE_WORD_MAX || wanted >= CONSOLE_WORD_MAX) return FAR;
    count = edits(word, length, target, wanted);
    /* A word that was shortened, and misspelt: only the beginning of the target is looked at. */
    if (length > 4 && length < wanted)
        count = least(count, edits(word, length, target, length) + 1);
    return count <= allowed && count < wanted ? 2 * count : FAR;
}

const char *console_nearest(const char *word, const struct console_choices *choices)
{
    const char *nearest = NULL;
    uint32_t best = FAR;

    for (uint32_t i = 0; i < choices->count; i++) {
        uint32_t distance = console_distance(word, choices->at[i]);
        if (distance >= best) continue;
        best = distance;
        nearest = choices->at[i];
    }
    return nearest;
}

void console_tell_list(const char *word, const struct console_choices *choices, char *text,
                       size_t size)
{
    const char *nearest = console_nearest(word, choices);

    text[0] = '\0';
    if (nearest != NULL) {
        append(text, size, ". Did you mean %s?", nearest);
        return;
    }
    append(text, size, " (allowed:");
    for (uint32_t i = 0; i < choices->count; i++)
        append(text, size, "%s %s", i == 0 ? "" : ",", choices->at[i]);
    append(text, size, ")");
}

/* ---- lines that lack their end ---- */

/* True when the words are the beginning of the form, and its end is missing. */
static bool is_begun(const struct console_form *form, const char *const *words, uint32_t count,
                     struct console_place *place)
{
    *place = (struct console_place){.at = 0};
    for (uint32_t i = 0; i < count; i++) {
        if (!console_step(form, place, words[i])) return false;
    }
    return !console_may_end(form, *place);
}

/* What the form wants next, as names. */
static void add_wanted(const struct console_form *form, struct console_place place,
                       struct console_choices *wanted)
{
    const struct console_form_word *word = &form->at[place.at + (place.seen ? 1 : 0)];
    char one[CONSOLE_WORD_MAX];

    for (uint32_t i = 0; console_alternative(word, i, one); i++) {
        bool known = false;
        for (uint32_t j = 0; j < wanted->count; j++)
            known = known || strcmp(wanted->at[j], one) == 0;
        if (known || wanted->count == CONSOLE_CHOICES_MAX) continue;
        memcpy(wanted->at[wanted->count++], one, sizeof(one));
    }
}

static bool tell_rest(const char *const *words, uint32_t count, char *text, size_t size)
{
    struct console_choices wanted = {.count = 0};
    const char *only = NULL;
    uint32_t forms = 0;

    for (uint32_t i = 0; i < console_rule_count; i++) {
        struct console_form form;
        struct console_place place;
        if (!console_read_form(&console_rules[i], &form)) continue;
        if (!is_begun(&form, words, count, &place)) continue;
        add_wanted(&form, place, &wanted);
        only = console_rules[i].form;
        forms++;
    }
    if (forms == 1) append(text, size, ". The whole command: %s", only);
    for (uint32_t i = 0; forms > 1 && i < wanted.count; i++) {
        append(text, size, "%s%s",
               i == 0                  ? ". It goes on with "
               : i + 1 == wanted.count ? " or "
                                       : ", ",
               wanted.at[i]);
    }
    if (forms > 1) append(text, size, ".");
    return forms > 0;
}

/* ---- lines that are misspelt ---- */

struct guess {
    char line[200];
    uint32_t cost;
};

static void put(struct guess *guess, const char *word)
{
    append(guess->line, sizeof(guess->line), "%s%s", guess->line[0] == '\0' ? "" : " ", word);
}

/* The spelling of a word of the form that is nearest to what was typed. */
static uint32_t spell(const struct console_form_word *word, const char *typed, char *spelling)
{
    char one[CONSOLE_WORD_MAX];
    uint32_t best = FAR;

    if (word->slot == SLOT_ID && isalpha((unsigned char)typed[0])) {
        memcpy(spelling, "ALL", sizeof("ALL"));
        return console_distance(typed, spelling);
    }
    if (word->slot != SLOT_WORD) return FAR;
    for (uint32_t i = 0; console_alternative(word, i, one); i++) {
        uint32_t distance = console_distance(typed, one);
        if (distance >= best) continue;
        best = distance;
        memcpy(spelling, one, sizeof(one));
    }
    return best;
}

/* One word of the line at its place in the form. */
static bool guess_word(const struct console_form *form, struct console_place *place,
                       const char *typed, struct guess *guess)
{
    char spelling[CONSOLE_WORD_MAX];
    bool missed = false;

    for (; place->at < form->count; place->at++, place->seen = false) {
        const struct console_form_word *word = &form->at[place->at];
        uint32_t distance = spell(word, typed, spelling);
        if (distance != FAR && !(word->slot == SLOT_ID && place->seen)) {
            put(guess, spelling);
            guess->cost += distance;
            return console_step(form, place, spelling);
        }
        struct console_place here = {.at = place->at, .seen = place->seen};
        if (missed && word->slot != SLOT_WORD) return false; /* Whatever it is, it would fit. */
        if (word->slot != SLOT_WORD && console_step(form, &here, typed) &&
            here.at <= place->at + 1) {
            put(guess, typed);
            *place = here;
            return true;
        }
        if (place->seen || word->optional) continue;
        if (word->slot != SLOT_WORD || guess->line[0] == '\0') return false;
        if (strchr(word->text, '|') != NULL) return false;
        put(guess, word->text); /* Left out, if the next one fits. */
        guess->cost += COST_MISSED;
        missed = true;
    }
    return false;
}

static bool guess_form(const struct console_form *form, const char *const *words, uint32_t count,
                       struct guess *guess)
{
    struct console_place place = {.at = 0};

    guess->line[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        struct guess before = *guess;
        struct console_place at = place;
        if (guess_word(form, &place, words[i], guess)) continue;
        *guess = before;
        if (i == 0 || !console_may_end(form, at)) return false;
        guess->cost += COST_EXTRA * (count - i);
        return true;
    }
    return console_may_end(form, place);
}

static void keep_best(struct guess *best, uint32_t *count, const struct guess *guess)
{
    if (*count > 0 && guess->cost > best[0].cost) return;
    if (*count > 0 && guess->cost < best[0].cost) *count = 0;
    for (uint32_t i = 0; i < *count; i++) {
        if (strcmp(best[i].line, guess->line) == 0) return;
    }
    if (*count < GUESSES_MAX) best[(*count)++] = *guess;
}

/* STATUS 2 as 2 STATUS. Returns the number of nodes, 0 when there is nothing to turn round. */
static uint32_t turn(const char *const *words, uint32_t count, const char **turned)
{
    uint32_t nodes = 0;

    while (nodes + 1 < count && (isdigit((unsigned char)words[nodes + 1][0]) ||
                                 strcasecmp(words[nodes + 1], "ALL") == 0)) {
        turned[nodes] = words[nodes + 1];
        nodes++;
    }
    turned[nodes] = words[0];
    for (uint32_t i = nodes + 1; i < count; i++)
        turned[i] = words[i];
    return nodes;
}

static bool tell_nearest(const char *const *words, uint32_t count, char *text, size_t size)
{
    struct guess best[GUESSES_MAX];
    const char *turned[CONSOLE_WORDS_MAX];
    uint32_t nodes = turn(words, count, turned);
    uint32_t found = 0;

    for (uint32_t i = 0; i < console_rule_count; i++) {
        struct console_form form;
        struct guess guess = {.cost = 0};
        if (!console_read_form(&console_rules[i], &form)) continue;
        if (guess_form(&form, words, count, &guess)) keep_best(best, &found, &guess);
        guess.cost = COST_ORDER;
        if (nodes > 0 && form.at[0].slot == SLOT_ID && guess_form(&form, turned, count, &guess))
            keep_best(best, &found, &guess);
    }
    for (uint32_t i = 0; i < found; i++)
        append(text, size, "%s%s", i == 0 ? ". Did you mean " : " or ", best[i].line);
    if (found > 0) append(text, size, "?");
    return found > 0;
}

/* STOP alone. */
static void tell_node(const char *word, char *text, size_t size)
{
    for (uint32_t i = 0; i < console_rule_count; i++) {
        struct console_form form;
        if (!console_read_form(&console_rules[i], &form) || form.count < 2) continue;
        if (form.at[0].slot != SLOT_ID || strcasecmp(form.at[1].text, word) != 0) continue;
        append(text, size, ". A node id or ALL stands before it: %s", console_rules[i].form);
        return;
    }
}

void console_suggest(const char *const *words, uint32_t count, char *text, size_t size)
{
    text[0] = '\0';
    if (count == 0 || count > CONSOLE_WORDS_MAX) return;
    if (tell_rest(words, count, text, size)) return;
    if (tell_nearest(words, count, text, size)) return;
    tell_node(words[0], text, size);
}

/* ---- commands that are not here yet ---- */

/* A word with small letters may be shortened; <id> is a node. */
static const struct {
    const char *command;
    const char *instead; /* What there is for it; NULL: nothing. */
} later[] = {
    {"START BACKUP", "ndb_select_all --csv exports a table, ndb_import reads it"},
    {"ABORT BACKUP", NULL},
    {"CREATE NODEGROUP", NULL},
    {"DROP NODEGROUP", NULL},
    {"START TLS", NULL},
    {"TLS INFO", NULL},
    {"<id> REPORT BackupStatus", NULL},
    {"<id> REPORT DiskUsage", NULL},
    {"<id> NODELOG", "<id> LOGLEVEL sets what the node's own log takes up"},
    {"<id> ERROR", "<id> DUMP 9000 gives an error insert"},
    {"<id> LOG", NULL},
    {"<id> LOGIN", NULL},
    {"<id> LOGOUT", NULL},
    {"<id> LOGOFF", NULL},
    {"<id> TESTON", NULL},
    {"<id> TESTOFF", NULL},
};

static bool is_word(const char *pattern, size_t length, const char *word)
{
    if (pattern[0] == '<') return isdigit((unsigned char)word[0]) || strcasecmp(word, "ALL") == 0;
    if (islower((unsigned char)pattern[1]) && strlen(word) <= length)
        return strncasecmp(pattern, word, strlen(word)) == 0;
    return strlen(word) == length && strncasecmp(pattern, word, length) == 0;
}

/* What is written of the command: it has been typed in full, or up to a shortened type. */
static bool begins(const char *command, const char *const *words, uint32_t count)
{
    for (uint32_t i = 0;; i++) {
        size_t length = strcspn(command, " ");
        if (i == count || !is_word(command, length, words[i])) return false;
        command += length;
        if (*command == '\0') return true;
        command++;
    }
}

static int tell_later(size_t i, char *text, size_t size)
{
    text[0] = '\0';
    append(text, size, "Other versions of such systems have %s; this one does not have it yet%s%s.",
           later[i].command, later[i].instead == NULL ? "" : ": ",
           later[i].instead == NULL ? "" : later[i].instead);
    return 0;
}

int console_tell_later(const char *const *words, uint32_t count, char *text, size_t size)
{
    for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++)
        if (begins(later[i].command, words, count)) return tell_later(i, text, size);
    return -1;
}

int console_tell_later_about(const char *word, char *text, size_t size)
{
    for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
        const char *at = later[i].command;
        while (at != NULL && !is_word(at, strcspn(at, " "), word))
            at = strchr(at, ' ') == NULL ? NULL : strchr(at, ' ') + 1;
        if (at != NULL && *at != '<') return tell_later(i, text, size);
    }
    return -1;
}
