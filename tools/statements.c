/* statements.c -- reads statements of the command line or a file and executes one after the other.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/statements.h"
#include "values/errors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTE_ORDER_MARK "\xEF\xBB\xBF"
#define FILE_SIZE_MAX   (16u << 20) /* Far more than all statements of a cluster: a wrong file. */

struct settings {
    struct tool tool;
    const struct statements *what;
    const char *execute; /* Statements of --execute, or NULL. */
    const char *file;    /* "-" is standard input. */
};

static const struct argp_option options[] = {
    {"execute", 'e', "STATEMENTS", 0, "execute these statements instead of a file's", 0},
    {0},
};

static error_t read_option(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;

    switch (key) {
    case 'e':
        settings->execute = argument;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0) argp_error(state, "only one file can be given");
        settings->file = argument;
        return 0;
    case ARGP_KEY_END:
        if ((settings->execute == NULL) == (settings->file == NULL))
            argp_error(state, "give either --execute or a file");
        return 0;
    default:
        return tool_option(key, argument, state);
    }
}

/* All of a file and a NUL, malloc'ed; NULL with the reason printed. */
static char *read_file(const struct tool *tool, const char *path)
{
    FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    char *text = in == NULL ? NULL : malloc(FILE_SIZE_MAX + 1);

    if (text == NULL) {
        (void)fprintf(stderr, "%s: %s: %s\n", tool->name, path, strerror(errno));
        if (in != NULL && in != stdin) (void)fclose(in);
        return NULL;
    }
    size_t size = fread(text, 1, FILE_SIZE_MAX + 1, in);
    const char *problem = ferror(in) ? strerror(errno) : NULL;
    if (size > FILE_SIZE_MAX) problem = "is too long";
    if (in != stdin) (void)fclose(in);
    if (problem == NULL && memchr(text, '\0', size) != NULL) problem = "contains a NUL byte";
    if (problem != NULL) {
        (void)fprintf(stderr, "%s: %s: %s\n", tool->name, path, problem);
        free(text);
        return NULL;
    }
    text[size] = '\0';
    size_t mark = strlen(BYTE_ORDER_MARK); /* Some editors put it in front of UTF-8. */
    if (strncmp(text, BYTE_ORDER_MARK, mark) == 0) memmove(text, text + mark, size - mark + 1);
    return text;
}

/* A table that is not in the default database may be in the other one, as for the other tools. */
static ndb_t *open_else(const struct tool *tool)
{
    if (tool->database_given || ndb_error(tool->ndb)->code != ERR_NO_SUCH_TABLE) return NULL;
    return ndb_open(tool->connection, TOOL_ELSE);
}

/* The same statement with `other` for the tool's ndb_t. True: the first error counts. */
static bool nor_there(struct settings *settings, ndb_t *other, const char *sql, int *result,
                      struct ndb_sql_error *where)
{
    struct ndb_sql_error first = *where;

    settings->tool.ndb = other;
    *result = settings->what->execute(&settings->tool, sql, where);
    if (*result == 0 || ndb_error(other)->code != ERR_NO_SUCH_TABLE) return false;
    *where = first;
    return true;
}

static int execute(struct settings *settings, const char *all, const char *statement, size_t size)
{
    struct tool *tool = &settings->tool;
    struct ndb_sql_error where = {0};
    ndb_t *ndb = tool->ndb;
    char *sql = strndup(statement, size);

    if (sql == NULL) return TOOL_FAILED;
    int result = settings->what->execute(tool, sql, &where);
    ndb_t *other = result == 0 ? NULL : open_else(tool);
    if (other != NULL && nor_there(settings, other, sql, &result, &where)) tool->ndb = ndb;
    free(sql);
    if (result != 0) tool_print_sql_error(ndb_error(tool->ndb), &where, all, statement);
    tool->ndb = ndb;
    ndb_close(other);
    return result == 0 ? TOOL_OK : TOOL_FAILED;
}

static void print_count(const struct tool *tool, uint32_t executed)
{
    cJSON *object;

    if (tool->format == TOOL_TEXT) {
        printf("%u statement%s executed\n", executed, executed == 1 ? "" : "s");
        return;
    }
    object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "executed", executed);
    tool_json_end(tool, object);
}

static int execute_all(struct settings *settings, const char *text)
{
    const struct tool *tool = &settings->tool;
    const char *next = text;
    const char *end;
    uint32_t executed = 0;
    int code = TOOL_OK;

    while (code == TOOL_OK && (end = ndb_sql_statement_end(next)) != NULL) {
        code = execute(settings, text, next, (size_t)(end - next));
        if (code == TOOL_OK) executed++;
        next = end;
    }
    if (code == TOOL_OK && executed == 0) {
        (void)fprintf(stderr, "%s: no statement given\n", tool->name);
        code = TOOL_FAILED;
    }
    /* The text is for people, who see what is wrong; a script wants to know how far it came. */
    if (code == TOOL_OK || tool->format == TOOL_JSON) print_count(tool, executed);
    return code;
}

int statements_main(int argc, char **argv, const struct statements *what)
{
    static const struct argp_child children[] = {{&tool_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {options, read_option, "[FILE]", what->doc, children, NULL, NULL};
    struct settings settings = {.what = what};

    argc = tool_init(&settings.tool, what->name, argc, argv);
    if (argp_parse(&argp, argc, argv, 0, NULL, &settings) != 0) return TOOL_USAGE;
    char *text =
        settings.file != NULL ? read_file(&settings.tool, settings.file) : strdup(settings.execute);
    if (text == NULL) return TOOL_FAILED;
    int code = tool_connect(&settings.tool) ? execute_all(&settings, text) : TOOL_FAILED;
    free(text);
    return tool_close(&settings.tool, code);
}
