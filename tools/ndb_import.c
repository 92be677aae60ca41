/* ndb_import.c -- loads CSV and TSV files into tables. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "service/path_place.h"
#include "tools/import.h"
#include "tools/import_reject_file.h"
#include "tools/import_totals.h"
#include "tools/tool_json.h"

#define PATH_SIZE       4200
#define OUTSTANDING_MAX 65536u
#define SIGNAL_EXIT     128 /* The exit code that shells have for a signal, less its number. */

struct settings {
    struct import_settings import;
    int first; /* Index of the database in argv. */
    uint32_t workers, batch;
};

enum {
    KEY_FIELD_END = TOOL_KEY_OWN,
    KEY_QUOTE,
    KEY_ESCAPE,
    KEY_LINE_END,
    KEY_IGNORE,
    KEY_CSVOPT,
    KEY_COLUMNS,
    KEY_WORKERS,
    KEY_BATCH,
    KEY_CONTINUE,
    KEY_REJECTS,
    KEY_REJECTS_FILE,
    KEY_MAX_ROWS,
    KEY_MONITOR,
    KEY_TYPE,
    KEY_TABLE,
    KEY_NULL,
    KEY_TEMPERRORS,
    KEY_TEMPDELAY,
    KEY_RESUME,
    KEY_STATE_DIR,
    KEY_KEEP_STATE,
    KEY_STATS,
    KEY_AI_PREFETCH,
    KEY_AI_INCREMENT,
    KEY_AI_OFFSET
};

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "Format of the files:", 1},
    {"input-type", KEY_TYPE, "csv|tsv", 0,
     "csv: comma, optional double quotes, backslash escapes; tsv: TAB, backslash escapes. Default "
     "csv for files named *.csv, else tsv. The options below change single items.",
     1},
    {"csvopt", KEY_CSVOPT, "LETTERS", 0,
     "c fields end with a comma, q optional double quotes, n lines end with \\n, r with \\r\\n, "
     "d nothing else",
     1},
    {"fields-terminated-by", KEY_FIELD_END, "TEXT", 0, "\\t, \\n, \\r, \\\\, \\xHH are known", 1},
    {"fields-optionally-enclosed-by", KEY_QUOTE, "CHAR", 0, "quote; empty: none", 1},
    {"fields-enclosed-by", KEY_QUOTE, NULL, OPTION_ALIAS, NULL, 1},
    {"fields-escaped-by", KEY_ESCAPE, "CHAR", 0, "escape character; empty: none", 1},
    {"lines-terminated-by", KEY_LINE_END, "TEXT", 0, "default \\n, in csv also \\r\\n", 1},
    {"ignore-lines", KEY_IGNORE, "N", 0, "skip the first N rows", 1},
    {"null", KEY_NULL, "TEXT", 0,
     "an unquoted field of this text is NULL, too (escape and N always is; without an escape "
     "character the default is NULL)",
     1},
    {NULL, 0, NULL, 0, "What goes where:", 2},
    {"table", KEY_TABLE, "NAME", 0, "the table (default: the file's name without extension)", 2},
    {"columns", KEY_COLUMNS, "A,B,...", 0,
     "the columns of the fields, in order; @name skips a field; columns left out get their default",
     2},
    {"missing-ai-column", 'm', NULL, 0,
     "the files lack the AUTO_INCREMENT column: each row gets a number of its own", 2},
    {"ai-increment", KEY_AI_INCREMENT, "N", 0, "with -m: step of these numbers (1)", 2},
    {"ai-offset", KEY_AI_OFFSET, "N", 0, "with -m: the least of them (1)", 2},
    {"ai-prefetch-sz", KEY_AI_PREFETCH, "N", 0, "with -m: numbers taken at a time (1024)", 2},
    {"max-rows", KEY_MAX_ROWS, "N", 0, "stop after N rows", 2},
    {NULL, 0, NULL, 0, "Errors:", 3},
    {"continue", KEY_CONTINUE, NULL, 0, "go on with the next file after one that has failed", 3},
    {"rejects", KEY_REJECTS, "N", 0,
     "go on after rejected rows, up to N of a file: they are no failure (0)", 3},
    {"rejects-file", KEY_REJECTS_FILE, "FILE", 0,
     "where they go: number, error, message, text (<name>.rej in the state directory)", 3},
    {"temperrors", KEY_TEMPERRORS, "N", 0, "tries of a row that meets temporary errors (100)", 3},
    {"tempdelay", KEY_TEMPDELAY, "MS", 0, "first pause before such a row is tried again (10)", 3},
    {"resume", KEY_RESUME, NULL, 0,
     "go on where a former run with the same files and options has ended", 3},
    {"state-dir", KEY_STATE_DIR, "DIR", 0,
     "where <name>.map tells how far the import has come (the current directory)", 3},
    {"keep-state", KEY_KEEP_STATE, NULL, 0, "do not remove these files at the end", 3},
    {"stats", KEY_STATS, NULL, 0,
     "statistics into <name>.stt of the same directory: time of a row, rows per second", 3},
    {NULL, 0, NULL, 0, "Speed:", 4},
    {"db-workers", KEY_WORKERS, "N", 0, "batches on their way at a time (8)", 4},
    {"opbatch", KEY_BATCH, "N", 0, "rows of a batch (256)", 4},
    {"monitor", KEY_MONITOR, "SECONDS", 0,
     "a progress line this often, with an estimate of the time left; 0 none (0; on a terminal "
     "there is a progress bar)",
     4},
    {0},
};

static void read_separator(const char *argument, char *out, uint32_t *size, const char *option,
                           struct argp_state *state)
{
    int length = csv_separator(argument, out);

    if (length < 0)
        argp_error(state, "%s must have 1 to %d characters, not '%s'", option, CSV_SEPARATOR_MAX,
                   argument);
    *size = (uint32_t)length;
}

/* One character, or 0 for an empty argument. */
static char read_character(const char *argument, const char *option, struct argp_state *state)
{
    char text[CSV_SEPARATOR_MAX];

    if (argument[0] == '\0') return '\0';
    if (strcmp(argument, "\\") == 0) return '\\';
    if (csv_separator(argument, text) != 1)
        argp_error(state, "%s must be one character or empty, not '%s'", option, argument);
    return text[0];
}

static void read_csvopt(struct import_settings *import, const char *letters,
                        struct argp_state *state)
{
    for (const char *p = letters; *p != '\0'; p++) {
        switch (*p) {
        case 'c':
            read_separator(",", import->format.field_end, &import->format.field_end_size,
                           "--csvopt", state);
            import->field_end_set = true;
            break;
        case 'q':
            import->format.quote = '"';
            import->quote_set = true;
            break;
        case 'n':
        case 'r':
            read_separator(*p == 'n' ? "\n" : "\r\n", import->format.line_end,
                           &import->format.line_end_size, "--csvopt", state);
            import->line_end_set = true;
            break;
        case 'd':
            break;
        default:
            argp_error(state, "--csvopt knows the letters c, d, n, q and r, not '%c'", *p);
        }
    }
}

/* Options of the format. False: not one of them. */
static bool read_format_option(struct import_settings *import, int key, char *argument,
                               struct argp_state *state)
{
    struct csv_format *format = &import->format;

    switch (key) {
    case KEY_TYPE:
        if (strcmp(argument, "csv") != 0 && strcmp(argument, "tsv") != 0)
            argp_error(state, "--input-type must be csv or tsv, not '%s'", argument);
        import->input_type = argument;
        return true;
    case KEY_CSVOPT:
        read_csvopt(import, argument, state);
        return true;
    case KEY_FIELD_END:
        read_separator(argument, format->field_end, &format->field_end_size,
                       "--fields-terminated-by", state);
        import->field_end_set = true;
        return true;
    case KEY_LINE_END:
        read_separator(argument, format->line_end, &format->line_end_size, "--lines-terminated-by",
                       state);
        import->line_end_set = true;
        return true;
    case KEY_QUOTE:
        format->quote = read_character(argument, "--fields-optionally-enclosed-by", state);
        import->quote_set = true;
        return true;
    case KEY_ESCAPE:
        format->escape = read_character(argument, "--fields-escaped-by", state);
        import->escape_set = true;
        return true;
    case KEY_NULL:
        import->null_text = argument;
        return true;
    case KEY_IGNORE:
        import->ignore_lines = tool_number(argument, 0, UINT64_MAX, "--ignore-lines", state);
        return true;
    default:
        return false;
    }
}

/* Options of numbers. False: not one of them. */
static bool read_number_option(struct import_settings *import, int key, char *argument,
                               struct argp_state *state)
{
    struct ndb_increment_options *numbers = &import->numbers;

    switch (key) {
    case 'm':
        import->missing_ai = true;
        return true;
    case KEY_AI_PREFETCH:
        numbers->prefetch = (uint32_t)tool_number(argument, 1, 1u << 30, "--ai-prefetch-sz", state);
        return true;
    case KEY_AI_INCREMENT:
        numbers->step = (uint32_t)tool_number(argument, 1, 1u << 30, "--ai-increment", state);
        return true;
    case KEY_AI_OFFSET:
        numbers->start = tool_number(argument, 1, UINT64_MAX, "--ai-offset", state);
        return true;
    default:
        return false;
    }
}

/* The file's name without directories and extension. */
static void base_name(const char *path, char *name, size_t size)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    const char *dot = strrchr(base, '.');

    size_t length = dot == NULL || dot == base ? strlen(base) : (size_t)(dot - base);
    (void)snprintf(name, size, "%.*s", (int)length, base);
}

/* What is kept of a file has its name without directory and ending: two of one run must differ. */
static void check_names(const struct argp_state *state, int first)
{
    char name[200];
    char other[200];

    for (int i = first; i < state->argc; i++) {
        base_name(state->argv[i], name, sizeof(name));
        for (int j = i + 1; j < state->argc; j++) {
            base_name(state->argv[j], other, sizeof(other));
            if (strcmp(name, other) != 0) continue;
            argp_error(
                state,
                "%s and %s: the rejected rows and the state of both would be in files of "
                "one name (%s); import them by a command each, with a --state-dir of its own",
                state->argv[i], state->argv[j], name);
        }
    }
}

/* Would the import write over its input, which has the path's place in the file system? */
static void check_kept(const struct argp_state *state, int first, const char *path)
{
    struct stat kept, input;

    /* Nothing goes of what a device has; who reads what he writes to a pipe waits for himself. */
    if (stat(path, &kept) != 0 || !(S_ISREG(kept.st_mode) || S_ISFIFO(kept.st_mode))) return;
    for (int i = first; i < state->argc; i++) {
        const char *name = state->argv[i];
        bool there =
            strcmp(name, "-") == 0 ? fstat(STDIN_FILENO, &input) == 0 : stat(name, &input) == 0;
        if (!there || input.st_ino != kept.st_ino || input.st_dev != kept.st_dev) continue;
        argp_error(state,
                   "%s is to be imported, and is the same file as %s, which the import writes: "
                   "give it another --state-dir or --rejects-file",
                   name, path);
    }
}

/* The name of what is kept of a file; what comes from standard input is named like its table. */
static void kept_name(const struct import_settings *import, const char *path, char *name,
                      size_t size)
{
    base_name(path, name, size);
    if (strcmp(path, "-") == 0 && import->table != NULL)
        (void)snprintf(name, size, "%s", import->table);
}

/* No input may be the reject, state or statistics file of this run, also of another input; and no
 * two of these are one. */
static void check_inputs(const struct import_settings *import, const struct argp_state *state,
                         int first)
{
    static const char *const endings[] = {"rej", "map", "map.new", "stt"};
    char name[200];
    char path[PATH_SIZE];

    for (int i = first; i < state->argc; i++) {
        kept_name(import, state->argv[i], name, sizeof(name));
        if (import->rejects != NULL) check_kept(state, first, import->rejects);
        for (size_t k = 0; k < sizeof(endings) / sizeof(endings[0]); k++) {
            if (k == 0 && import->rejects != NULL) continue;
            if (strcmp(endings[k], "stt") == 0 && !import->stats) continue;
            (void)snprintf(path, sizeof(path), "%s/%s.%s", import->state_dir, name, endings[k]);
            check_kept(state, first, path);
            /* Rejected rows would be lost in a file that the import replaces. */
            if (import->rejects != NULL && path_same(path, import->rejects))
                argp_error(state,
                           "--rejects-file=%s is the same file as %s, which the import replaces",
                           import->rejects, path);
        }
    }
}

static uint64_t rejects_max(const char *argument, struct argp_state *state)
{
    if (!isdigit((unsigned char)argument[0]))
        argp_error(state,
                   "--rejects is the number of rows that may be rejected, not '%s'; "
                   "--rejects-file names the file that they go to",
                   argument);
    return tool_number(argument, 0, UINT64_MAX, "--rejects", state);
}

/* The database and the files, when all options are known. */
static void check_arguments(const struct settings *settings, struct argp_state *state)
{
    const struct import_settings *import = &settings->import;

    if (state->argc - state->next < 2) argp_error(state, "give a database and a file");
    if (state->argv[state->next][0] == '\0') argp_error(state, "the name of the database is empty");
    /* A row that may have been sent before cannot be told by a number that it does not have. */
    if (import->missing_ai && import->resume)
        argp_error(state, "--missing-ai-column and --resume exclude each other");
    if ((import->table != NULL || import->rejects != NULL) && state->argc - state->next > 2)
        argp_error(state, "--table and --rejects-file are for one file");
    check_names(state, settings->first + 1);
    check_inputs(import, state, settings->first + 1);
}

static error_t read_option(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;
    struct import_settings *import = &settings->import;

    if (read_format_option(import, key, argument, state) ||
        read_number_option(import, key, argument, state))
        return 0;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &import->tool;
        return 0;
    case KEY_TABLE:
        if (argument[0] == '\0') argp_error(state, "--table names no table");
        import->table = argument;
        return 0;
    case KEY_COLUMNS:
        if (argument[0] == '\0') argp_error(state, "--columns names no column");
        import->columns = argument;
        return 0;
    case KEY_MAX_ROWS:
        import->rows_max = tool_number(argument, 0, UINT64_MAX, "--max-rows", state);
        return 0;
    case KEY_CONTINUE:
        import->keep_going = true;
        return 0;
    case KEY_REJECTS:
        import->rejects_max = rejects_max(argument, state);
        return 0;
    case KEY_REJECTS_FILE:
        if (argument[0] == '\0') argp_error(state, "--rejects-file names no file");
        import->rejects = argument;
        return 0;
    case KEY_TEMPERRORS:
        import->temporary_max = (uint32_t)tool_number(argument, 0, 1000000, "--temperrors", state);
        return 0;
    case KEY_TEMPDELAY:
        import->temporary_delay_ms =
            (uint32_t)tool_number(argument, 0, 60000, "--tempdelay", state);
        return 0;
    case KEY_WORKERS:
        settings->workers = (uint32_t)tool_number(argument, 1, 128, "--db-workers", state);
        return 0;
    case KEY_BATCH:
        settings->batch = (uint32_t)tool_number(argument, 1, 8192, "--opbatch", state);
        return 0;
    case KEY_MONITOR:
        import->monitor_s = (uint32_t)tool_number(argument, 0, 3600, "--monitor", state);
        return 0;
    case KEY_RESUME:
        import->resume = true;
        return 0;
    case KEY_STATE_DIR:
        import->state_dir = argument;
        return 0;
    case KEY_KEEP_STATE:
        import->keep_state = true;
        return 0;
    case KEY_STATS:
        import->stats = true;
        return 0;
    case ARGP_KEY_ARGS:
        settings->first = state->next;
        check_arguments(settings, state);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "give a database and a file");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* What has become of a file. */
struct file_end {
    bool began;
    bool interrupted;
    bool rejects_opened;
    struct import_state_kept state;
};

/* What has become of all files. */
struct all_files {
    cJSON *list;
    bool complete;         /* Those so far. */
    struct file_end *ends; /* By the arguments' numbers. */
    uint32_t reader_tries; /* For readers of pipes that get no row. */
};

/* Where the rows of a file go that are rejected. */
static void reject_path(const struct import_settings *import, const char *path, char *rejects,
                        size_t size)
{
    char name[200];

    kept_name(import, path, name, sizeof(name));
    if (import->rejects != NULL)
        (void)snprintf(rejects, size, "%s", import->rejects);
    else
        (void)snprintf(rejects, size, "%s/%s.rej", import->state_dir, name);
}

static int import_file(struct import_settings *import, const char *database, const char *path,
                       struct all_files *all, struct file_end *end)
{
    char table[200];
    char name[200]; /* The state's: several files may go into one table at the same time. */
    char table_name[300];
    char rejects[PATH_SIZE];
    struct import_totals totals;
    struct csv_format options_format = import->format;

    kept_name(import, path, name, sizeof(name));
    (void)snprintf(table, sizeof(table), "%s", import->table != NULL ? import->table : name);
    (void)snprintf(table_name, sizeof(table_name), "%s/%s", database, table);
    reject_path(import, path, rejects, sizeof(rejects));
    import_complete_format(import, path);
    const char *options_null = import->null_text;
    if (import->null_text == NULL && import->format.escape == '\0') import->null_text = "NULL";
    int code = import_load(import, path, table_name, name, rejects, &totals);
    if (import->tool.format == TOOL_JSON)
        import_totals_add(all->list, database, table, path, &totals);
    else if (totals.began && !totals.interrupted)
        import_totals_print(database, table, &totals);
    if (!totals.complete) all->complete = false;
    *end = (struct file_end){.began = totals.began,
                             .interrupted = totals.interrupted,
                             .rejects_opened = totals.rejects_opened,
                             .state = totals.state};
    if (totals.rejected > 0 && !totals.rejects_lost)
        (void)fprintf(stderr, "Rejected rows are in %s\n", rejects);
    import->format = options_format;
    import->null_text = options_null;
    return code;
}

/* The file was not begun. --resume goes on with no pipe, nor where rows get numbers. */
static void tell_not_begun(const struct import_settings *import, const char *path)
{
    struct stat status;
    bool regular = strcmp(path, "-") != 0 && stat(path, &status) == 0 && S_ISREG(status.st_mode);

    (void)fprintf(stderr, "%s: interrupted before its first row%s\n", path,
                  regular && !import->missing_ai ? "; --resume goes on with it" : "");
}

/* Who reads the rejected rows of a file that was not begun would wait for ever. */
static void end_reject_pipe(const struct import_settings *import, const char *path, uint32_t *tries)
{
    char rejects[PATH_SIZE];

    reject_path(import, path, rejects, sizeof(rejects));
    import_reject_pipe_end(rejects, tries);
}

/* All files, one after the other. What is complete is known to --resume until all of them are. */
static int import_each(struct import_settings *import, int argc, char **argv, int database,
                       struct all_files *all)
{
    int code = TOOL_OK;
    int came = 0; /* The signal that has kept something from being done. */
    int i = database + 1;

    for (; i < argc; i++) {
        const struct file_end *end = &all->ends[i];
        came = import_interrupted();
        if (came != 0) {
            tell_not_begun(import, argv[i]);
            end_reject_pipe(import, argv[i], &all->reader_tries);
            break;
        }
        bool good = import_file(import, argv[database], argv[i], all, &all->ends[i]) == TOOL_OK;
        came = end->interrupted || !end->began ? import_interrupted() : 0;
        if (!end->began && !end->rejects_opened)
            end_reject_pipe(import, argv[i], &all->reader_tries);
        if (good) continue;
        code = TOOL_FAILED;
        if (!import->keep_going || came != 0) break;
    }
    all->complete = all->complete && i >= argc;
    while (++i < argc)
        end_reject_pipe(import, argv[i], &all->reader_tries);
    return came != 0 && !all->complete ? SIGNAL_EXIT + came : code;
}

static int import_files(struct import_settings *import, int argc, char **argv, int database)
{
    struct all_files all = {.list = cJSON_CreateArray(),
                            .complete = true,
                            .reader_tries = IMPORT_READER_TRIES,
                            .ends = calloc((size_t)argc, sizeof(*all.ends))};
    int code = TOOL_FAILED;

    if (all.ends == NULL)
        (void)fprintf(stderr, "ndb_import: out of memory\n");
    else
        code = import_each(import, argc, argv, database, &all);
    bool over = all.ends != NULL && all.complete && !import->keep_state;
    for (int i = database + 1; over && i < argc; i++) {
        char name[200];
        base_name(argv[i], name, sizeof(name));
        import_state_remove(import->state_dir, name, &all.ends[i].state);
    }
    free(all.ends);
    tool_json_end(&import->tool, all.list);
    return code;
}

/* Before anything is asked of the cluster: the first one that cannot be read would end it. */
static bool files_are_there(int argc, char **argv, int first)
{
    for (int i = first; i < argc; i++) {
        if (strcmp(argv[i], "-") == 0 || access(argv[i], R_OK) == 0) continue;
        (void)fprintf(stderr, "ndb_import: %s: %s\n", argv[i], strerror(errno));
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    static const struct argp_child children[] = {{&tool_argp, 0, "Connection:", 5}, {0}};
    static const struct argp argp = {
        options,
        read_option,
        "DATABASE FILE...",
        "Loads CSV and TSV files (- is standard input) into tables. It stops at the first row that "
        "is rejected, unless --rejects permits some. The exit code is 0 when all other rows were "
        "imported.",
        children,
        NULL,
        NULL};
    struct settings settings = {.import = {.rows_max = UINT64_MAX,
                                           .temporary_max = 100,
                                           .temporary_delay_ms = 10,
                                           .state_dir = ".",
                                           .numbers = {.prefetch = 1024}},
                                .workers = 8,
                                .batch = 256};
    struct import_settings *import = &settings.import;

    argc = tool_init(&import->tool, "ndb_import", argc, argv);
    if (argp_parse(&argp, argc, argv, 0, NULL, &settings) != 0) return TOOL_USAGE;
    import->outstanding = settings.workers * settings.batch;
    if (import->outstanding > OUTSTANDING_MAX) import->outstanding = OUTSTANDING_MAX;
    (void)signal(SIGPIPE, SIG_IGN); /* Who does not read on is an error of that stream. */
    (void)signal(SIGXFSZ, SIG_IGN); /* A limit of files is told like a full disk. */
    if ((!import->keep_going && !files_are_there(argc, argv, settings.first + 1)) ||
        !tool_connect(&import->tool)) {
        uint32_t tries = IMPORT_READER_TRIES;
        for (int i = settings.first + 1; i < argc; i++)
            end_reject_pipe(import, argv[i], &tries);
        return tool_close(&import->tool, TOOL_FAILED);
    }
    import_interrupts_begin(); /* Before, there is nothing to be put in order. */
    return tool_close(&import->tool, import_files(import, argc, argv, settings.first));
}
