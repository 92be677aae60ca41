/* ndb_select_all.c -- prints the rows of a table. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "tools/tool_common.h"

#define OUTPUT_BUFFER (1u << 20)

struct settings {
    struct tool tool;
    const char *table;
    const char *index;     /* NULL: the table itself is read. */
    const char *where;     /* NULL: all rows. */
    const char *delimiter; /* NULL: TAB, with --csv a comma. */
    bool header, hex, csv, nodata, rowid, gci, order, descending;
    uint64_t limit;
    uint32_t parallelism;
    enum ndb_lock_mode lock;
};

enum { KEY_LIMIT = TOOL_KEY_OWN, KEY_CSV, KEY_NODATA, KEY_ROWID, KEY_GCI, KEY_WHERE };

static const struct argp_option options[] = {
    {"delimiter", 'D', "TEXT", 0, "between columns (TAB)", 0},
    {"header", 'h', "0|1", 0, "print the column names first (1)", 0},
    {"useHexFormat", 'x', NULL, 0, "print binary values as 0x...", 0},
    {"where", KEY_WHERE, "CONDITION", 0,
     "only rows that fit: a = 5 AND (b LIKE 'x%' OR c IN (1, 2)) ...", 0},
    {"limit", KEY_LIMIT, "N", 0, "stop after N rows", 0},
    {"parallelism", 'p', "N", 0, "fragments read at a time (0: all)", 0},
    {"order", 'o', NULL, 0, "in the order of INDEX", 0},
    {"descending", 'z', NULL, 0, "with --order: from the end", 0},
    {"lock", 'l', "0|1|2", 0, "0 committed read (default), 1 shared lock, 2 exclusive lock", 0},
    {"csv", KEY_CSV, NULL, 0, "only rows, in the form that ndb_import reads without options", 0},
    {"rowid", KEY_ROWID, NULL, 0, "also where each row is: fragment, page, index in the page", 0},
    {"gci", KEY_GCI, NULL, 0, "also the GCI of the commit that has changed the row last", 0},
    {"nodata", KEY_NODATA, NULL, 0,
     "no columns: only the number of rows, and what --rowid and --gci ask for", 0},
    {"tupscan", 't', NULL, 0, "read the rows in the order of their storage (always so)", 0},
    {0},
};

static void check_options(const struct settings *settings, struct argp_state *state)
{
    bool json = settings->tool.format == TOOL_JSON;

    if (settings->csv && json) argp_error(state, "--csv and --format=json exclude each other");
    if (settings->order && settings->index == NULL) argp_error(state, "--order needs an INDEX");
    if (settings->descending && !settings->order) argp_error(state, "--descending needs --order");
    if (settings->csv && (settings->nodata || settings->rowid || settings->gci))
        argp_error(state, "--csv is for whole rows: without --nodata, --rowid and --gci");
}

static error_t read_option(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;

    switch (key) {
    case 'D':
        settings->delimiter = argument;
        return 0;
    case 'h':
        settings->header = tool_number(argument, 0, 1, "--header", state) != 0;
        return 0;
    case 'x':
        settings->hex = true;
        return 0;
    case KEY_LIMIT:
        settings->limit = tool_number(argument, 0, UINT64_MAX, "--limit", state);
        return 0;
    case 'p':
        settings->parallelism = (uint32_t)tool_number(argument, 0, 10000, "--parallelism", state);
        return 0;
    case 'l':
        settings->lock = tool_lock_mode(argument, state);
        return 0;
    case KEY_WHERE:
        settings->where = argument;
        return 0;
    case KEY_CSV:
        settings->csv = true;
        return 0;
    case KEY_ROWID:
        settings->rowid = true;
        return 0;
    case KEY_GCI:
        settings->gci = true;
        return 0;
    case KEY_NODATA:
        settings->nodata = true;
        return 0;
    case 't':
        return 0;
    case 'o':
        settings->order = true;
        return 0;
    case 'z':
        settings->descending = true;
        return 0;
    case ARGP_KEY_END:
        check_options(settings, state);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1) argp_error(state, "one table, and one index of it");
        if (state->arg_num == 0)
            settings->table = argument;
        else
            settings->index = argument;
        return 0;
    default:
        return tool_option(key, argument, state);
    }
}

struct output {
    struct ndb_table *table;
    struct ndb_filter *filter; /* NULL: all rows. */
    uint32_t index;
    uint32_t columns;
    struct ndb_column_info *column;
    char *text; /* Room for the longest value. */
    uint32_t text_size;
};

static int output_init(struct output *output, struct ndb_table *table)
{
    struct ndb_table_info info;

    ndb_table_describe(table, &info);
    *output = (struct output){.table = table, .columns = info.columns};
    output->column = calloc(info.columns, sizeof(*output->column));
    if (output->column == NULL) return -1;
    for (uint32_t i = 0; i < info.columns; i++) {
        uint32_t size = ndb_value_print_size(table, i);
        if (ndb_table_column(table, i, &output->column[i]) != 0) return -1;
        if (size > output->text_size) output->text_size = size;
    }
    output->text = malloc(output->text_size + 1);
    return output->text == NULL ? -1 : 0;
}

static void output_free(struct output *output)
{
    ndb_filter_free(output->filter);
    free(output->column);
    free(output->text);
}

static bool is_text(enum ndb_column_type type)
{
    return type == NDB_CHAR || type == NDB_VARCHAR || type == NDB_LONGVARCHAR;
}

/* Content between quotes; quotes doubled, backslashes too. */
static void print_csv_text(const struct ndb_column_info *column, const char *value, uint32_t size)
{
    const char *content = value + column->prefix_bytes;
    uint32_t length = size - column->prefix_bytes;

    if (column->type == NDB_CHAR) {
        while (length > 0 && content[length - 1] == ' ')
            length--;
    }
    (void)putchar('"');
    for (uint32_t i = 0; i < length; i++) {
        if (content[i] == '"' || content[i] == '\\') (void)putchar(content[i]);
        (void)putchar(content[i]);
    }
    (void)putchar('"');
}

/* False: the value cannot be printed, it is malformed. */
static bool print_value(const struct settings *settings, const struct output *output, uint32_t id,
                        const void *value, uint32_t size)
{
    const struct ndb_column_info *column = &output->column[id];
    uint32_t flags = (settings->csv ? 0u : (uint32_t)NDB_PRINT_QUOTE) |
                     (settings->hex ? (uint32_t)NDB_PRINT_HEX : 0u);

    if (value == NULL) {
        (void)fputs(settings->csv ? "\\N" : "[NULL]", stdout);
        return true;
    }
    if (settings->csv && is_text(column->type) && size >= column->prefix_bytes) {
        print_csv_text(column, value, size);
        return true;
    }
    int length =
        ndb_value_print(output->table, id, value, size, flags, output->text, output->text_size + 1);
    if (length < 0) return false;
    if (!settings->csv || (column->type != NDB_BINARY && column->type != NDB_VARBINARY &&
                           column->type != NDB_LONGVARBINARY)) {
        (void)fwrite(output->text, 1, (size_t)length, stdout);
        return true;
    }
    struct ndb_column_info plain = {.type = column->type}; /* No prefix in printed text. */
    print_csv_text(&plain, output->text, (uint32_t)length);
    return true;
}

/* Titles and row id, in the order of the values. */
static void print_header(const struct settings *settings, const struct output *output)
{
    const char *between = "";

    for (uint32_t i = 0; !settings->nodata && i < output->columns; i++) {
        printf("%s%s", between, output->column[i].name);
        between = settings->delimiter;
    }
    if (settings->rowid) {
        printf("%sROWID", between);
        between = settings->delimiter;
    }
    if (settings->gci) printf("%sGCI", between);
    (void)putchar('\n');
}

/* False: the value is missing. */
static bool print_extras(const struct settings *settings, const struct ndb_scan *scan,
                         const char *between)
{
    uint32_t place[2], gci, size;
    const void *value;

    if (settings->rowid) {
        if (ndb_scan_value(scan, NDB_ROW_ID, &value, &size) != 0 || size != sizeof(place))
            return false;
        memcpy(place, value, sizeof(place));
        printf("%s[ fragment: %u page: %u index: %u ]", between, ndb_scan_fragment(scan), place[0],
               place[1]);
        between = settings->delimiter;
    }
    if (settings->gci) {
        if (ndb_scan_value(scan, NDB_ROW_GCI, &value, &size) != 0 || size != sizeof(gci))
            return false;
        memcpy(&gci, value, sizeof(gci));
        printf("%s%u", between, gci);
    }
    return true;
}

static bool print_row(const struct settings *settings, const struct output *output,
                      const struct ndb_scan *scan)
{
    const void *value;
    uint32_t size;

    for (uint32_t i = 0; !settings->nodata && i < output->columns; i++) {
        if (i > 0) (void)fputs(settings->delimiter, stdout);
        if (ndb_scan_value(scan, i, &value, &size) != 0 ||
            !print_value(settings, output, i, value, size))
            return false;
    }
    if (!print_extras(settings, scan, settings->nodata ? "" : settings->delimiter)) return false;
    if (!settings->nodata || settings->rowid || settings->gci) (void)putchar('\n');
    return true;
}

static bool is_number(enum ndb_column_type type)
{
    return (type >= NDB_TINYINT && type <= NDB_BIGUNSIGNED) || type == NDB_YEAR;
}

/* Text that JSON can say itself, controls escaped: as it is, in output->text. Of a column whose
 * content nobody has checked to be UTF-8 only ASCII is known to be. False: the value has other
 * bytes. */
static bool json_text(const struct output *output, uint32_t id, const char *value, uint32_t size)
{
    const struct ndb_column_info *column = &output->column[id];
    bool utf8 = strncmp(column->collation, "utf8", 4) == 0;

    if (!is_text(column->type) || size < column->prefix_bytes) return false;
    value += column->prefix_bytes;
    size -= column->prefix_bytes;
    while (column->type == NDB_CHAR && size > 0 && value[size - 1] == ' ')
        size--;
    for (uint32_t i = 0; i < size; i++) {
        if (value[i] == '\0' || (!utf8 && (unsigned char)value[i] > 0x7f)) return false;
    }
    memcpy(output->text, value, size);
    output->text[size] = '\0';
    return true;
}

/* A column's value into `object`: integers as numbers with all their digits, all else as text. */
static bool add_json_value(const struct settings *settings, const struct output *output,
                           uint32_t id, const struct ndb_scan *scan, cJSON *object)
{
    const struct ndb_column_info *column = &output->column[id];
    uint32_t flags = settings->hex ? (uint32_t)NDB_PRINT_HEX : 0u;
    const void *value;
    uint32_t size;

    if (ndb_scan_value(scan, id, &value, &size) != 0) return false;
    if (value == NULL) return cJSON_AddNullToObject(object, column->name) != NULL;
    if (!json_text(output, id, value, size) &&
        ndb_value_print(output->table, id, value, size, flags, output->text,
                        output->text_size + 1) < 0)
        return false;
    return is_number(column->type)
               ? cJSON_AddRawToObject(object, column->name, output->text) != NULL
               : cJSON_AddStringToObject(object, column->name, output->text) != NULL;
}

static bool add_json_extras(const struct settings *settings, const struct ndb_scan *scan,
                            cJSON *object)
{
    uint32_t place[2], gci, size;
    const void *value;

    if (settings->rowid) {
        if (ndb_scan_value(scan, NDB_ROW_ID, &value, &size) != 0 || size != sizeof(place))
            return false;
        memcpy(place, value, sizeof(place));
        cJSON *id = cJSON_AddObjectToObject(object, "ROWID");
        cJSON_AddNumberToObject(id, "fragment", ndb_scan_fragment(scan));
        cJSON_AddNumberToObject(id, "page", place[0]);
        cJSON_AddNumberToObject(id, "index", place[1]);
    }
    if (settings->gci) {
        if (ndb_scan_value(scan, NDB_ROW_GCI, &value, &size) != 0 || size != sizeof(gci))
            return false;
        memcpy(&gci, value, sizeof(gci));
        cJSON_AddNumberToObject(object, "GCI", gci);
    }
    return true;
}

/* One row as an object on a line. */
static bool print_json_row(const struct settings *settings, const struct output *output,
                           const struct ndb_scan *scan)
{
    cJSON *object = cJSON_CreateObject();
    bool good = object != NULL;

    for (uint32_t i = 0; good && !settings->nodata && i < output->columns; i++)
        good = add_json_value(settings, output, i, scan, object);
    good = good && add_json_extras(settings, scan, object);
    char *text = good ? cJSON_PrintUnformatted(object) : NULL;
    if (text != NULL) (void)puts(text);
    free(text);
    cJSON_Delete(object);
    return text != NULL;
}

/* The columns that are read; NDB_ROW_ID and NDB_ROW_GCI behind them. NULL: memory is out. */
static struct ndb_scan *start_scan(const struct settings *settings, const struct output *output)
{
    struct ndb_index_range range = {
        .index = output->index, .descending = settings->descending, .unordered = !settings->order};
    struct ndb_scan_options scan_options = {.lock = settings->lock,
                                            .parallelism = settings->parallelism,
                                            .program = ndb_filter_program(output->filter),
                                            .range = settings->index != NULL ? &range : NULL};
    uint32_t *columns = calloc(output->columns + 2u, sizeof(*columns));
    uint32_t count = 0;

    if (columns == NULL) return NULL;
    for (uint32_t i = 0; i < output->columns; i++) {
        if (!settings->nodata || (output->column[i].primary_key && count == 0))
            columns[count++] = i;
    }
    if (settings->nodata && (settings->rowid || settings->gci)) count = 0;
    if (settings->rowid) columns[count++] = NDB_ROW_ID;
    if (settings->gci) columns[count++] = NDB_ROW_GCI;
    struct ndb_scan *scan =
        ndb_scan_start_columns(settings->tool.ndb, output->table, columns, count, &scan_options, 0);
    free(columns);
    return scan;
}

/* 0 done, -1 with *error. Rows already printed cannot be taken back: *rows tells the caller. */
static int print_rows(const struct settings *settings, const struct output *output, uint64_t *rows,
                      ndb_error_t *error)
{
    bool json = settings->tool.format == TOOL_JSON;
    struct ndb_scan *scan = start_scan(settings, output);
    const void *row;
    int more = 1;

    if (scan == NULL) {
        *error = *ndb_error(settings->tool.ndb);
        return -1;
    }
    while (*rows < settings->limit && (more = ndb_scan_next(scan, &row, 0)) == 1) {
        if (json ? !print_json_row(settings, output, scan) : !print_row(settings, output, scan)) {
            *error = *ndb_scan_error(scan);
            ndb_scan_close(scan);
            return -1;
        }
        (*rows)++;
        if (ferror(stdout)) break; /* The reader has gone; tool_close reports it. */
    }
    if (more < 0) *error = *ndb_scan_error(scan);
    ndb_scan_close(scan);
    return more < 0 ? -1 : 0;
}

/* All that the options name, before the first row. False: it is said what is not there. */
static bool prepare(struct settings *settings, struct ndb_table *table, struct output *output)
{
    if (output_init(output, table) != 0) {
        (void)fprintf(stderr, "ndb_select_all: out of memory\n");
        return false;
    }
    if (settings->index != NULL) {
        int index = ndb_table_find_index(table, settings->index);
        if (index < 0) {
            (void)fprintf(stderr,
                          "ndb_select_all: %s has no ordered index %s; ndb_desc lists its "
                          "indexes\n",
                          settings->table, settings->index);
            return false;
        }
        output->index = (uint32_t)index;
    }
    if (settings->where == NULL) return true;
    output->filter = tool_filter(&settings->tool, table, settings->where);
    return output->filter != NULL;
}

static int print_table(struct settings *settings, const struct output *output)
{
    bool text = !settings->csv && settings->tool.format == TOOL_TEXT;
    bool titles = !settings->nodata || settings->rowid || settings->gci;
    ndb_error_t error;
    uint64_t rows = 0;
    uint32_t tries = 0;
    int result;

    if (settings->header && text && titles) print_header(settings, output);
    do {
        result = print_rows(settings, output, &rows, &error);
    } while (result != 0 && rows == 0 && tool_try_again(&error, &tries));
    if (result != 0) {
        tool_print_error(&error);
    } else if (text) {
        printf("%" PRIu64 " rows returned\n", rows);
    }
    return result == 0 ? TOOL_OK : TOOL_FAILED;
}

static int select_all(struct settings *settings)
{
    struct ndb_table *table = tool_open_table(&settings->tool, settings->table);
    struct output output;

    if (table == NULL) return TOOL_FAILED;
    int result = prepare(settings, table, &output) ? print_table(settings, &output) : TOOL_FAILED;
    output_free(&output);
    ndb_table_release(table);
    return result;
}

static int run(void *context, int argc, char **argv)
{
    static char buffer[OUTPUT_BUFFER];
    struct settings *settings = context;

    (void)argc;
    (void)argv;
    if (settings->delimiter == NULL) settings->delimiter = settings->csv ? "," : "\t";
    (void)setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    return select_all(settings);
}

int main(int argc, char **argv)
{
    static const struct tool_program program = {.name = "ndb_select_all",
                                                .doc = "Prints the rows of a table.",
                                                .arguments = "TABLE [INDEX]",
                                                .needed = "give a table",
                                                .options = options,
                                                .option = read_option,
                                                .run = run};
    struct settings settings = {.header = true, .limit = UINT64_MAX, .lock = NDB_COMMITTED_READ};

    return tool_main(&program, &settings, argc, argv);
}
