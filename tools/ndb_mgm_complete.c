/* ndb_mgm_complete.c -- what a word of a console's line may become: what Tab offers. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/ndb_mgm_complete.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void add_nodes(struct console_choices *choices, enum console_slot slot,
                      const struct ndb_mgm_cluster_state *nodes)
{
    char text[CONSOLE_WORD_MAX];

    for (uint32_t i = 0; nodes != NULL && i < nodes->count; i++) {
        enum ndb_mgm_node_type type = nodes->nodes[i].type;
        if ((slot == SLOT_API_ID) != (type == NDB_MGM_NODE_API)) continue;
        if (slot == SLOT_DATA_ID && type != NDB_MGM_NODE_NDB) continue;
        (void)snprintf(text, sizeof(text), "%u", nodes->nodes[i].node_id);
        console_add_choice(choices, text);
    }
}

/* A category is followed by its level. */
static void add_list(struct console_choices *choices, enum console_slot slot)
{
    struct console_choices list;
    char text[CONSOLE_WORD_MAX + 1];

    console_list(slot, &list);
    for (uint32_t i = 0; i < list.count; i++) {
        (void)snprintf(text, sizeof(text), "%s%s", list.at[i], slot == SLOT_LEVEL ? "=" : "");
        console_add_choice(choices, text);
    }
}

static void add_slot(struct console_choices *choices, const struct console_form *form,
                     struct console_place place, const struct ndb_mgm_cluster_state *nodes)
{
    const struct console_form_word *word = &form->at[place.at];
    char one[CONSOLE_WORD_MAX];

    switch (word->slot) {
    case SLOT_WORD:
        for (uint32_t i = 0; console_alternative(word, i, one); i++) {
            if (isalpha((unsigned char)one[0])) console_add_choice(choices, one); /* Not "?". */
        }
        break;
    case SLOT_OPTION:
        console_add_choice(choices, word->text);
        break;
    case SLOT_ID:
        if (!place.seen) console_add_choice(choices, "ALL");
        add_nodes(choices, word->slot, nodes);
        break;
    case SLOT_DATA_ID:
    case SLOT_API_ID:
        add_nodes(choices, word->slot, nodes);
        break;
    case SLOT_REPORT:
    case SLOT_SEVERITY:
    case SLOT_LEVEL:
    case SLOT_TOPIC:
        add_list(choices, word->slot);
        break;
    case SLOT_TEXT:
        break;
    }
}

/* What a form lets follow at a place. */
static void add_next(struct console_choices *choices, const struct console_form *form,
                     struct console_place place, const struct ndb_mgm_cluster_state *nodes)
{
    for (; place.at < form->count; console_pass(&place)) {
        add_slot(choices, form, place, nodes);
        if (!console_may_pass(form, place)) return;
    }
}

/* Words of the line before. */
struct before {
    char copy[4096];
    const char *at[CONSOLE_WORDS_MAX];
    uint32_t count;
};

static void split(struct before *before, const char *text)
{
    before->count = 0;
    (void)snprintf(before->copy, sizeof(before->copy), "%s", text);
    for (char *save = NULL, *word = strtok_r(before->copy, " \t", &save); word != NULL;
         word = strtok_r(NULL, " \t", &save)) {
        if (before->count < CONSOLE_WORDS_MAX) before->at[before->count++] = word;
    }
}

/* Numbers by their value, words by the alphabet. */
static int compare(const void *a, const void *b)
{
    const char *left = a;
    const char *right = b;
    bool numbers = isdigit((unsigned char)left[0]) && isdigit((unsigned char)right[0]);

    if (numbers && strlen(left) != strlen(right)) return strlen(left) < strlen(right) ? -1 : 1;
    return strcmp(left, right);
}

/* What is in the line already is not offered again. */
static bool is_given(const struct before *before, const char *choice)
{
    size_t length = strlen(choice);
    bool category = choice[length - 1] == '=';

    for (uint32_t i = 0; i < before->count; i++) {
        if (category ? strncasecmp(before->at[i], choice, length) == 0
                     : strcasecmp(before->at[i], choice) == 0)
            return true;
    }
    return false;
}

/* Leaves what begins with `word`, in order and each once. */
static void sift(struct console_choices *choices, const struct before *before, const char *word)
{
    uint32_t kept = 0;

    qsort(choices->at, choices->count, sizeof(choices->at[0]), compare);
    for (uint32_t i = 0; i < choices->count; i++) {
        if (strncasecmp(choices->at[i], word, strlen(word)) != 0) continue;
        if (kept > 0 && strcmp(choices->at[kept - 1], choices->at[i]) == 0) continue;
        if (is_given(before, choices->at[i])) continue;
        if (kept != i) memcpy(choices->at[kept], choices->at[i], CONSOLE_WORD_MAX);
        kept++;
    }
    choices->count = kept;
}

void console_complete(const char *before, const char *word,
                      const struct ndb_mgm_cluster_state *nodes, struct console_choices *choices)
{
    struct before words;

    split(&words, before);
    choices->count = 0;
    for (uint32_t i = 0; i < console_rule_count; i++) {
        struct console_form form;
        struct console_place place = {.at = 0};
        bool fits = console_read_form(&console_rules[i], &form);
        for (uint32_t j = 0; fits && j < words.count; j++)
            fits = console_step(&form, &place, words.at[j]);
        if (fits) add_next(choices, &form, place, nodes);
    }
    sift(choices, &words, word);
}
