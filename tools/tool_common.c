/* tool_common.c -- what all client tools share: options, connecting, error lines, exit codes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/tool_common.h"
#include "tools/tool_progress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "service/foreign_options.h"
#include "service/program.h"
#include "values/errors.h"

#define NODE_ID_MAX  255u
#define DATABASE_MAX 64u

enum { KEY_NODE_ID = 0x800, KEY_RETRIES, KEY_DELAY, KEY_FORMAT };

static const struct argp_option options[] = {
    {"ndb-connectstring", 'c', "HOST[:PORT],...", 0,
     "management servers (default: NDB_CONNECTSTRING in the environment, else localhost:1186)", 0},
    {"connect-string", 0, NULL, OPTION_ALIAS, NULL, 0},
    {"ndb-mgmd-host", 0, NULL, OPTION_ALIAS, NULL, 0},
    {"ndb-nodeid", KEY_NODE_ID, "ID", 0, "own node id (default: any free one)", 0},
    {"connect-retries", KEY_RETRIES, "N", 0,
     "how often to try the management servers (12; -1: for ever)", 0},
    {"connect-retry-delay", KEY_DELAY, "SECONDS", 0, "pause between the tries (5)", 0},
    {"connect-delay", 0, NULL, OPTION_ALIAS, NULL, 0},
    {"database", 'd', "NAME", 0,
     "database of tables named without one (" TOOL_DATABASE "; tables that are only in " TOOL_ELSE
     " are found there)",
     0},
    {"format", KEY_FORMAT, "text|json", 0, "how to print (text)", 0},
    {0},
};

uint64_t tool_number(const char *text, uint64_t min, uint64_t max, const char *option,
                     struct argp_state *state)
{
    char *end = NULL;

    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    if (errno != 0 || end == text || *end != '\0' || strchr(text, '-') != NULL || value < min ||
        value > max)
        argp_error(state, "%s must be a number from %llu to %llu, not '%s'", option,
                   (unsigned long long)min, (unsigned long long)max, text);
    return value;
}

enum ndb_lock_mode tool_lock_mode(const char *text, struct argp_state *state)
{
    static const enum ndb_lock_mode modes[] = {NDB_COMMITTED_READ, NDB_LOCK_SHARED,
                                               NDB_LOCK_EXCLUSIVE};
    return modes[tool_number(text, 0, 2, "--lock", state)];
}

/* Refused at once: no server is ever found at such an address. */
static void check_connect_string(const struct tool *tool, struct argp_state *state)
{
    char why[256];

    if (ndb_mgm_check_connectstring(tool->connect_string, "--ndb-connectstring", why,
                                    sizeof(why)) != 0)
        argp_error(state, "%s", why);
}

static error_t read_option(int key, char *argument, struct argp_state *state)
{
    struct tool *tool = state->input;

    switch (key) {
    case 'c':
        tool->connect_string = argument;
        return 0;
    case 'd':
        if (strlen(argument) == 0 || strlen(argument) > DATABASE_MAX ||
            strpbrk(argument, "/.") != NULL)
            argp_error(state, "--database must have 1 to %u characters without / and ., not '%s'",
                       DATABASE_MAX, argument);
        tool->database = argument;
        tool->database_given = true;
        return 0;
    case KEY_NODE_ID:
        tool->node_id = (uint32_t)tool_number(argument, 0, NODE_ID_MAX, "--ndb-nodeid", state);
        return 0;
    case KEY_RETRIES:
        tool->retries =
            strcmp(argument, "-1") == 0
                ? -1
                : (int)tool_number(argument, 0, 100000, "--connect-retries (-1: for ever)", state);
        return 0;
    case KEY_DELAY:
        tool->delay_s = (uint32_t)tool_number(argument, 0, 3600, "--connect-retry-delay", state);
        return 0;
    case KEY_FORMAT:
        tool->format = strcmp(argument, "json") == 0 ? TOOL_JSON : TOOL_TEXT;
        if (tool->format == TOOL_TEXT && strcmp(argument, "text") != 0)
            argp_error(state, "--format must be text or json, not '%s'", argument);
        return 0;
    case ARGP_KEY_END:
        check_connect_string(tool, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

error_t tool_option(int key, char *argument, struct argp_state *state)
{
    struct tool *tool = state->input;
    const char *needed = tool->program == NULL ? NULL : tool->program->needed;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = tool;
        return 0;
    case ARGP_KEY_ARG:
        if (tool->program != NULL && tool->program->arguments == NULL)
            argp_error(state, "takes no argument: '%s'", argument);
        return ARGP_ERR_UNKNOWN;
    case ARGP_KEY_ARGS:
        tool->first = state->next;
        return 0;
    case ARGP_KEY_NO_ARGS:
        tool->first = state->argc;
        if (needed != NULL) argp_error(state, "%s", needed);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp tool_argp = {options, read_option, NULL, NULL, NULL, NULL, NULL};

static void print_version(FILE *stream, struct argp_state *state)
{
    (void)fprintf(stream, "%s %s\n", state->name, NDB_CLIENT_VERSION_STRING);
}

int tool_init(struct tool *tool, const char *name, int argc, char **argv)
{
    argv[0] = program_begin(argv[0], TOOL_FAILED);
    *tool = (struct tool){.program = tool->program,
                          .name = name,
                          .database = TOOL_DATABASE,
                          .retries = 12,
                          .delay_s = 5};
    argp_err_exit_status = TOOL_USAGE;
    argp_program_version_hook = print_version;
    return foreign_options_take(name, argc, argv);
}

void tool_print_error(const ndb_error_t *error)
{
    bool detail = error->detail != NULL && error->detail[0] != '\0';

    tool_progress_end();
    (void)fflush(stdout);
    (void)fprintf(stderr, "%d: %s%s%s\n", error->code, error->text, detail ? ": " : "",
                  detail ? error->detail : "");
}

/* Where in the whole text a statement is wrong. */
struct place {
    const char *line_start;
    uint32_t line, column;
};

static struct place find_place(const struct ndb_sql_error *where, const char *all,
                               const char *statement)
{
    struct place place = {.line_start = statement, .line = 1, .column = where->column};

    for (const char *p = all; p < statement; p++)
        place.line += *p == '\n';
    for (uint32_t i = 1; i < where->line && *place.line_start != '\0'; i++) {
        place.line_start += strcspn(place.line_start, "\n");
        place.line_start += *place.line_start == '\n';
        place.line++;
    }
    if (where->line > 1) return place;
    while (place.line_start > all && place.line_start[-1] != '\n') {
        place.line_start--; /* The statement begins in the middle of a line. */
        place.column += ((unsigned char)*place.line_start & 0xC0) != 0x80;
    }
    return place;
}

/* The line that is meant, with a caret under the column. */
static void print_place(const struct place *place)
{
    const char *at = place->line_start;

    (void)fprintf(stderr, "%.*s\n", (int)strcspn(at, "\n"), at);
    for (uint32_t i = 1; i < place->column && *at != '\0' && *at != '\n'; at++) {
        if (((unsigned char)*at & 0xC0) == 0x80) continue; /* Continues a character. */
        (void)fputc(*at == '\t' ? '\t' : ' ', stderr);
        i++;
    }
    (void)fprintf(stderr, "^\n");
}

void tool_print_sql_error(const ndb_error_t *error, const struct ndb_sql_error *where,
                          const char *all, const char *statement)
{
    if (where->line == 0) {
        tool_print_error(error);
        return;
    }
    struct place place = find_place(where, all, statement);
    const char *rest = strstr(where->message, error->text); /* It is said once, in front. */
    int before = (int)(rest != NULL ? rest - where->message : (ptrdiff_t)strlen(where->message));

    rest = rest != NULL ? rest + strlen(error->text) : "";
    while (before > 0 && strchr(": ", where->message[before - 1]) != NULL)
        before--;
    (void)fflush(stdout);
    (void)fprintf(stderr, "%d: %s: line %u, column %u: %.*s%s\n", error->code, error->text,
                  place.line, place.column, before, where->message, rest);
    print_place(&place);
}

static int ask(struct tool *tool)
{
    ndb_mgm_handle_t *handle = ndb_mgm_create_handle();

    if (handle == NULL) {
        (void)fprintf(stderr, "Out of memory.\n");
        return TOOL_FAILED;
    }
    int code = tool->program->ask(tool, handle);
    ndb_mgm_destroy_handle(handle);
    return code;
}

int tool_main(const struct tool_program *program, void *settings, int argc, char **argv)
{
    static const struct argp_child children[] = {{&tool_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {.options = program->options,
                              .parser = program->option != NULL ? program->option : tool_option,
                              .args_doc = program->arguments,
                              .doc = program->doc,
                              .children = children};
    struct tool *tool = settings;

    tool->program = program;
    argc = tool_init(tool, program->name, argc, argv);
    if (argp_parse(&argp, argc, argv, 0, NULL, settings) != 0) return TOOL_USAGE;
    if (program->ask != NULL) return tool_close(tool, ask(tool));
    if (!tool_connect(tool)) return tool_close(tool, TOOL_FAILED);
    return tool_close(tool, program->run(settings, argc - tool->first, argv + tool->first));
}

int tool_close(struct tool *tool, int code)
{
    ndb_close(tool->ndb);
    ndb_connection_free(tool->connection);
    tool->ndb = NULL;
    tool->connection = NULL;
    return code;
}

static bool is_there(const struct tool *tool, const char *name)
{
    struct ndb_table *table = ndb_table_open(tool->ndb, name, 0);

    ndb_table_release(table);
    return table != NULL;
}

/* The tool's database, or the other one when the table is only there. */
static const char *database_of(const struct tool *tool, const char *table)
{
    char name[300];

    if (tool->database_given) return tool->database;
    (void)snprintf(name, sizeof(name), "%s/%s", TOOL_DATABASE, table);
    if (is_there(tool, name) || ndb_error(tool->ndb)->code != ERR_NO_SUCH_TABLE)
        return TOOL_DATABASE;
    (void)snprintf(name, sizeof(name), "%s/%s", TOOL_ELSE, table);
    return is_there(tool, name) ? TOOL_ELSE : TOOL_DATABASE;
}

void tool_table_name(const struct tool *tool, const char *argument, char *name, uint32_t size)
{
    const char *dot = strchr(argument, '.');

    if (strchr(argument, '/') != NULL) {
        (void)snprintf(name, size, "%s", argument);
    } else if (dot != NULL) {
        (void)snprintf(name, size, "%.*s/%s", (int)(dot - argument), argument, dot + 1);
    } else {
        (void)snprintf(name, size, "%s/%s", database_of(tool, argument), argument);
    }
}

struct ndb_table *tool_open_table(struct tool *tool, const char *argument)
{
    char name[300];

    tool_table_name(tool, argument, name, sizeof(name));
    struct ndb_table *table = ndb_table_open(tool->ndb, name, 0);
    if (table == NULL) {
        (void)fflush(stdout);
        (void)fprintf(stderr, "%s: ", name);
        tool_print_error(ndb_error(tool->ndb));
    }
    return table;
}

struct ndb_filter *tool_filter(struct tool *tool, struct ndb_table *table, const char *condition)
{
    struct ndb_sql_error where = {0};
    struct ndb_filter *filter = ndb_filter_create(tool->ndb, table);

    if (filter == NULL) {
        tool_print_error(ndb_error(tool->ndb));
        return NULL;
    }
    if (ndb_filter_where(filter, condition, &where) == 0 && ndb_filter_program(filter) != NULL)
        return filter;
    (void)fflush(stdout);
    (void)fputs("--where: ", stderr);
    tool_print_sql_error(ndb_filter_error(filter), &where, condition, condition);
    ndb_filter_free(filter);
    return NULL;
}

bool tool_try_again(const ndb_error_t *error, uint32_t *tries)
{
    struct timespec pause = {.tv_nsec = TOOL_RETRY_MS * 1000000L};

    if (error->status != NDB_STATUS_TEMPORARY || *tries >= TOOL_RETRIES) return false;
    (*tries)++;
    (void)nanosleep(&pause, NULL);
    return true;
}
