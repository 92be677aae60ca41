/* ndb_mgm_rules.h -- which commands the console has, as forms; HELP, Tab and suggestions read them.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ndb/mgm.h"

/* Groups of HELP. */
enum console_task { TASK_LOOK, TASK_RUN, TASK_LOG, TASK_CLIENTS, TASK_CONSOLE, TASK_COUNT };

/* A form consists of words, as HELP shows them: SHOW is a word, ON|OFF one of two, -f an option,
 * <id> a slot that something is put into; [] may be left out, ... may be repeated. */
struct console_rule {
    const char *form;
    enum console_task task;
    const char *what; /* The rest of its line in HELP; NULL: it is not listed there. */
};

extern const struct console_rule console_rules[];
extern const uint32_t console_rule_count;
const char *console_task_name(enum console_task task);

#define CONSOLE_WORDS_MAX 300u /* Words of a line. */

/* What a word of a form takes. */
enum console_slot {
    SLOT_WORD,     /* This word, or one of several. */
    SLOT_OPTION,   /* -n */
    SLOT_ID,       /* A node that can be stopped, or ALL. */
    SLOT_DATA_ID,  /* A data node. */
    SLOT_API_ID,   /* A client's node. */
    SLOT_REPORT,   /* MemoryUsage, ... */
    SLOT_SEVERITY, /* DEBUG, ..., ALL */
    SLOT_LEVEL,    /* <category>=<level> */
    SLOT_TOPIC,    /* A topic of HELP. */
    SLOT_TEXT      /* Anything. */
};

#define CONSOLE_FORM_MAX 8u  /* Words of a form. */
#define CONSOLE_WORD_MAX 48u /* Bytes of one, with its NUL. */

struct console_form {
    uint32_t count;
    struct console_form_word {
        char text[CONSOLE_WORD_MAX]; /* The word without brackets and dots. */
        enum console_slot slot;
        bool optional;
        bool repeated;
    } at[CONSOLE_FORM_MAX];
};

/* False: the rule's form is no form. */
bool console_read_form(const struct console_rule *rule, struct console_form *form);

/* How far a line has come in a form. */
struct console_place {
    uint32_t at; /* Index of the word of the form that comes next. */
    bool seen;   /* That word, which may be repeated, was there already. */
};

/* Takes one word of a line. False: it does not stand there. */
bool console_step(const struct console_form *form, struct console_place *place, const char *word);
/* True when the next word of the form may be left out, or was there and may be repeated. */
bool console_may_pass(const struct console_form *form, struct console_place place);
void console_pass(struct console_place *place);
/* True when nothing needs to follow. */
bool console_may_end(const struct console_form *form, struct console_place place);

/* The index-th (from 0) of the words that a SLOT_WORD takes; false: there are no more. */
bool console_alternative(const struct console_form_word *word, uint32_t index, char *text);

/* A set of words. */
#define CONSOLE_CHOICES_MAX 400u
struct console_choices {
    uint32_t count;
    char at[CONSOLE_CHOICES_MAX][CONSOLE_WORD_MAX];
};

void console_add_choice(struct console_choices *choices, const char *text);
/* All words of a slot that is a list: reports, severities, categories ("STARTUP"), topics. */
void console_list(enum console_slot slot, struct console_choices *choices);
/* Types of REPORT. */
#define CONSOLE_REPORTS 4u
extern const char *const console_reports[CONSOLE_REPORTS];
