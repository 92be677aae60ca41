/* ndb_perror.c -- says what an error number of the cluster, or an exit code of a node, means. */
/* SPDX-License-Identifier: GPL-2.0-only */
/* Needs no cluster: it is made from the same lists as the programs that report the numbers. */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "ndb/mgm.h"
#include "ndb/ndb.h"
#include "service/foreign_options.h"
#include "service/program.h"

enum class_number {
#define NDB_ERROR_CLASS(code, number, status, name) CLASS_##code = number,
#include "ndb/error_classes.def"
#undef NDB_ERROR_CLASS
};

#define EXIT_USAGE       2
#define STATUS_SUCCESS   "Success"
#define STATUS_TEMPORARY "Temporary error"
#define STATUS_PERMANENT "Permanent error"
#define STATUS_UNKNOWN   "Unknown result"

struct class_text {
    const char *status;
    const char *name;
};

static const struct class_text classes[] = {
#define NDB_ERROR_CLASS(code, number, status, name) [number] = {STATUS_##status, name},
#include "ndb/error_classes.def"
#undef NDB_ERROR_CLASS
};

struct error_text {
    uint32_t number;
    uint32_t class;
    const char *name;
    const char *text;
};

static const struct error_text errors[] = {
#define NDB_ERROR(number, name, class, text) {number, CLASS_##class, #name, text},
#include "ndb/errors.def"
#undef NDB_ERROR
};

struct help_text {
    uint32_t number;
    const char *cause;
    const char *cure;
};

static const struct help_text helps[] = {
#define NDB_ERROR_HELP(number, cause, cure) {number, cause, cure},
#include "ndb/errors_help.def"
#undef NDB_ERROR_HELP
};

/* The management client's: its tools print them for an order as a whole. */
static const struct help_text orders[] = {
#define MGM_HELP(number, cause, cure) {number, cause, cure},
#include "ndb/mgm_help.def"
#undef MGM_HELP
};

struct exit_text {
    uint32_t number;
    const char *name;
    const char *class;
    const char *text;
};

static const struct exit_text exits[] = {
#define EXIT_CODE(number, name, class, text) {number, #name, class, text},
#include "kernel/exit_codes.def"
#undef EXIT_CODE
};

/* What is known about one code, from either list. */
struct meaning {
    uint32_t number;
    const char *kind; /* "error", "exit" or "management" */
    const char *name;
    const char *text;
    const char *status;
    const char *class;
    const struct help_text *help; /* NULL: nothing here raises it, or it is an exit code. */
};

struct settings {
    bool silent;
    bool json;
    int first_code; /* index of the first code in argv */
};

enum { OPTION_NDB = 256, OPTION_FORMAT };

static const struct argp_option options[] = {
    {"ndb", OPTION_NDB, NULL, 0, "accepted and ignored: all codes are NDB codes", 0},
    {"silent", 's', NULL, 0, "print only the message", 0},
    {"verbose", 'v', NULL, 0, "print status, classification, cause and cure too (the default)", 0},
    {"format", OPTION_FORMAT, "text|json", 0, "how to print (default text)", 0},
    {0},
};

/* A decimal number and nothing else. */
static bool read_code(const char *text, uint32_t *code)
{
    char *end;

    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != 0 || text[0] < '0' || text[0] > '9' ||
        value > UINT32_MAX)
        return false;
    *code = (uint32_t)value;
    return true;
}

static error_t read_option(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;
    uint32_t code;

    switch (key) {
    case 's':
        settings->silent = true;
        return 0;
    case 'v':
        settings->silent = false;
        return 0;
    case OPTION_NDB:
        return 0;
    case OPTION_FORMAT:
        settings->json = strcmp(argument, "json") == 0;
        if (!settings->json && strcmp(argument, "text") != 0)
            argp_error(state, "--format must be text or json, not '%s'", argument);
        return 0;
    case ARGP_KEY_ARGS:
        settings->first_code = state->next;
        for (int i = state->next; i < state->argc; i++) {
            if (!read_code(state->argv[i], &code))
                argp_error(state, "Illegal ndb error code: %s", state->argv[i]);
        }
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "give at least one error code");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct help_text *find_help(uint32_t number)
{
    for (size_t i = 0; i < sizeof(helps) / sizeof(helps[0]); i++) {
        if (helps[i].number == number) return &helps[i];
    }
    return NULL;
}

static bool find_error(uint32_t number, struct meaning *meaning)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        if (errors[i].number == number) {
            const struct class_text *class = &classes[errors[i].class];
            *meaning =
                (struct meaning){number,        "error",     errors[i].name,   errors[i].text,
                                 class->status, class->name, find_help(number)};
            return true;
        }
    }
    return false;
}

static bool find_exit(uint32_t number, struct meaning *meaning)
{
    for (size_t i = 0; i < sizeof(exits) / sizeof(exits[0]); i++) {
        if (exits[i].number == number) {
            *meaning = (struct meaning){number,      "exit",         exits[i].name, exits[i].text,
                                        "Node exit", exits[i].class, NULL};
            return true;
        }
    }
    return false;
}

static bool find_order(uint32_t number, struct meaning *meaning)
{
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        if (orders[i].number != number) continue;
        *meaning = (struct meaning){
            number,       "management",      "",        ndb_mgm_error_message((int)number),
            "Management", "Console or tool", &orders[i]};
        return true;
    }
    return false;
}

static void print_text(const struct settings *settings, const struct meaning *meaning)
{
    if (settings->silent) {
        printf("%s\n", meaning->text);
        return;
    }
    printf("NDB %s code %3u: %s: %s: %s\n", meaning->kind, meaning->number, meaning->text,
           meaning->status, meaning->class);
    if (meaning->help != NULL)
        printf("  Cause: %s\n  Cure: %s\n", meaning->help->cause, meaning->help->cure);
    else if (strcmp(meaning->kind, "error") == 0 && meaning->number != 0)
        printf("  No part of this version raises it.\n");
}

static bool add_json(cJSON *list, const struct meaning *meaning)
{
    cJSON *entry = cJSON_CreateObject();

    return entry != NULL && cJSON_AddItemToArray(list, entry) &&
           cJSON_AddNumberToObject(entry, "code", meaning->number) != NULL &&
           cJSON_AddStringToObject(entry, "kind", meaning->kind) != NULL &&
           cJSON_AddStringToObject(entry, "name", meaning->name) != NULL &&
           cJSON_AddStringToObject(entry, "message", meaning->text) != NULL &&
           cJSON_AddStringToObject(entry, "status", meaning->status) != NULL &&
           cJSON_AddStringToObject(entry, "classification", meaning->class) != NULL &&
           (meaning->help == NULL ||
            (cJSON_AddStringToObject(entry, "cause", meaning->help->cause) != NULL &&
             cJSON_AddStringToObject(entry, "cure", meaning->help->cure) != NULL));
}

static bool tell(const struct settings *settings, cJSON *list, const struct meaning *meaning)
{
    if (settings->json) return add_json(list, meaning);
    print_text(settings, meaning);
    return true;
}

static void print_version(FILE *stream, struct argp_state *state)
{
    (void)fprintf(stream, "%s %s\n", state->name, NDB_CLIENT_VERSION_STRING);
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = read_option,
        .args_doc = "CODE...",
        .doc = "Print what error codes of the cluster and exit codes of its nodes mean."
               "\vExit status: 0 all codes are known, 1 some are not, 2 wrong arguments.",
    };
    struct settings settings = {0};
    int status = EXIT_SUCCESS;

    argv[0] = program_begin(argv[0], EXIT_FAILURE);
    argc = foreign_options_take("ndb_perror", argc, argv);
    argp_err_exit_status = EXIT_USAGE;
    argp_program_version_hook = print_version;
    argp_parse(&argp, argc, argv, 0, NULL, &settings);
    cJSON *list = cJSON_CreateArray();
    for (int i = settings.first_code; i < argc; i++) {
        struct meaning meaning;
        uint32_t code;
        if (!read_code(argv[i], &code)) {
            fprintf(stderr, "Illegal ndb error code: %s\n", argv[i]);
            status = EXIT_FAILURE;
            continue;
        }
        /* A few numbers of the management client are those of errors, too: whoever asks knows which
         * program has printed it. */
        bool told = true;
        bool known = find_error(code, &meaning) || find_exit(code, &meaning);
        if (known) told = tell(&settings, list, &meaning);
        if (find_order(code, &meaning)) {
            known = true;
            told = tell(&settings, list, &meaning) && told;
        }
        if (!known) fprintf(stderr, "Illegal ndb error code: %s\n", argv[i]);
        if (!told) fprintf(stderr, "Out of memory\n");
        if (!known || !told) status = EXIT_FAILURE;
    }
    if (settings.json) {
        char *text = cJSON_Print(list);
        printf("%s\n", text != NULL ? text : "[]");
        cJSON_free(text);
    }
    cJSON_Delete(list);
    return status;
}
