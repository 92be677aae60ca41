/* ndb_desc.c -- describes tables: columns, keys, fragments and where they are. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/tool_json.h"
#include "values/errors.h"

#define TYPE_TEXT_MAX 200

struct settings {
    struct tool tool;
    bool partitions, nodes, context, numbers, indexes;
    uint32_t retries;  /* So many more looks for a table that is not there. */
    const char *table; /* The arguments are indexes of this one. */
};

static const struct argp_option options[] = {
    {"extra-partition-info", 'p', NULL, 0,
     "one line for each fragment: rows, commits, memory in bytes (of the replica that reads go to; "
     "extents are of tables on disk, which there are not)",
     0},
    {"extra-node-info", 'n', NULL, 0, "with -p: the nodes of each fragment, primary first", 0},
    {"autoinc", 'a', NULL, 0, "also print the next number that ndb_auto_increment() would give", 0},
    {"index-info", 'i', NULL, 0, "also describe each index by itself", 0},
    {"table", 't', "NAME", 0, "the arguments are indexes of this table", 0},
    {"retries", 'r', "N", 0, "so many more looks for what is not there, a second apart (0)", 0},
    {"unqualified", 'u', NULL, 0, "names without their database, as they always are", 0},
    {"context", 'x', NULL, 0, "also print database, schema, name and id", 0},
    {0},
};

static error_t read_option(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;

    switch (key) {
    case 'p':
        settings->partitions = true;
        return 0;
    case 'n':
        settings->nodes = true;
        return 0;
    case 'a':
        settings->numbers = true;
        return 0;
    case 'i':
        settings->indexes = true;
        return 0;
    case 't':
        settings->table = argument;
        return 0;
    case 'r':
        settings->retries = (uint32_t)tool_number(argument, 0, 100000, "--retries", state);
        return 0;
    case 'u':
        return 0;
    case 'x':
        settings->context = true;
        return 0;
    default:
        return tool_option(key, argument, state);
    }
}

/* malloc'ed text of a default value, or NULL when there is none. */
static char *default_text(const struct ndb_table *table, const struct ndb_column_info *column)
{
    if (column->default_value == NULL) return NULL;
    uint32_t size = ndb_value_print_size(table, column->id) + 1;
    char *text = malloc(size);
    if (text == NULL) return NULL;
    if (ndb_value_print(table, column->id, column->default_value, column->default_size,
                        NDB_PRINT_QUOTE, text, size) < 0)
        (void)snprintf(text, size, "?");
    return text;
}

static const char *array_type(const struct ndb_column_info *column)
{
    static const char *const names[] = {"FIXED", "SHORT_VAR", "MEDIUM_VAR"};

    return names[column->prefix_bytes <= 2 ? column->prefix_bytes : 2];
}

static void print_column(const struct ndb_table *table, const struct ndb_column_info *column)
{
    char type[TYPE_TEXT_MAX];

    (void)ndb_column_type_text(table, column->id, type, sizeof(type));
    const char *null = column->primary_key ? "PRIMARY KEY" : column->nullable ? "NULL" : "NOT NULL";
    printf("%s %s %s%s AT=%s ST=MEMORY", column->name, type, null,
           column->partition_key ? " DISTRIBUTION KEY" : "", array_type(column));
    char *value = default_text(table, column);
    if (column->auto_increment) printf(" AUTO_INCR");
    if (column->dynamic) printf(" DYNAMIC");
    if (value != NULL) printf(" DEFAULT %s", value);
    free(value);
    (void)putchar('\n');
}

static void print_options(const struct ndb_table_info *info)
{
    printf("Table options:%s%s%s\n", info->read_backup ? " readbackup" : "",
           info->fully_replicated ? (info->read_backup ? ", fullyreplicated" : " fullyreplicated")
                                  : "",
           info->logging
               ? ""
               : (info->read_backup || info->fully_replicated ? ", nologging" : " nologging"));
}

static void print_index(const struct ndb_table *table, const struct ndb_index_info *index,
                        const char *type)
{
    struct ndb_column_info column;

    printf("%s(", index->name);
    for (uint32_t i = 0; i < index->columns; i++) {
        if (ndb_table_column(table, index->column[i], &column) == 0)
            printf("%s%s", i == 0 ? "" : ", ", column.name);
    }
    printf(") - %s\n", type);
}

static void print_indexes(const struct ndb_table *table)
{
    struct ndb_index_info index;

    for (uint32_t i = 0; ndb_table_unique(table, i, &index) == 0; i++)
        print_index(table, &index, "UniqueHashIndex");
    for (uint32_t i = 0; ndb_table_index(table, i, &index) == 0; i++)
        print_index(table, &index, "OrderedIndex");
}

/* In the field's order. K Value, load factors, frm data, ForceVarPart and the extra bits are what
 * every table has there. */
static void print_properties(const struct ndb_table_info *info)
{
    printf("Version: %u\nFragment type: HashMapPartition\nK Value: 6\nMin load factor: 78\n"
           "Max load factor: 80\nTemporary table: no\n",
           info->version);
    printf("Number of attributes: %u\nNumber of primary keys: %u\nLength of frm data: 0\n",
           info->columns, info->key_columns);
    printf("Max Rows: %" PRIu64 "\nRow Checksum: %d\nRow GCI: %d\nSingleUserMode: 0\n"
           "ForceVarPart: 1\n",
           info->max_rows, info->row_checksum, info->row_gci);
    printf("PartitionCount: %u\nFragmentCount: %u\nPartitionBalance: %s\nReplicas: %u\n",
           info->partitions, info->fragments, info->balance, info->replicas);
    printf("ExtraRowGciBits: 0\nExtraRowAuthorBits: 0\nTableStatus: Retrieved\n");
}

static void print_table(const struct settings *settings, const struct ndb_table *table,
                        const struct ndb_table_info *info)
{
    struct ndb_column_info column;

    printf("-- %s --\n", info->name);
    if (settings->context)
        printf("Database: %s\nSchema: def\nName: %s\nTable id: %u\n", info->database, info->name,
               info->table_id);
    print_properties(info);
    print_options(info);
    printf("HashMap: DEFAULT-HASHMAP-%u-%u\n", info->hash_map_buckets, info->partitions);
    printf("-- Attributes --\n");
    for (uint32_t i = 0; i < info->columns; i++) {
        if (ndb_table_column(table, i, &column) == 0) print_column(table, &column);
    }
    printf("-- Indexes -- \nPRIMARY KEY(");
    const char *comma = "";
    for (uint32_t i = 0; i < info->columns; i++) {
        if (ndb_table_column(table, i, &column) != 0 || !column.primary_key) continue;
        printf("%s%s", comma, column.name);
        comma = ", ";
    }
    printf(") - UniqueHashIndex\n");
    print_indexes(table);
}

/* Memory for the facts about each fragment, filled; NULL: error printed. */
static struct ndb_fragment_info *ask_fragments(struct tool *tool, struct ndb_table *table,
                                               const struct ndb_table_info *info)
{
    struct ndb_fragment_info *fragments = calloc(info->fragments + 1, sizeof(*fragments));
    uint32_t tries = 0;

    if (fragments == NULL) {
        (void)fprintf(stderr, "ndb_desc: out of memory\n");
        return NULL;
    }
    while (ndb_table_fragments(tool->ndb, table, fragments, info->fragments, 0) != 0) {
        if (tool_try_again(ndb_error(tool->ndb), &tries)) continue;
        (void)fprintf(stderr, "%s: ", info->name);
        tool_print_error(ndb_error(tool->ndb));
        free(fragments);
        return NULL;
    }
    return fragments;
}

static void print_partitions(const struct settings *settings, const struct ndb_table *table,
                             const struct ndb_table_info *info,
                             const struct ndb_fragment_info *fragments)
{
    bool copies = info->fragments > info->partitions;
    printf("-- Per partition info -- \nPartition\tRow count\tCommit count\tFrag fixed memory\t"
           "Frag varsized memory\tExtent_space\tFree extent_space%s%s\n",
           copies ? "\tCopy of" : "", settings->nodes ? "\tNodes" : "");
    for (uint32_t i = 0; i < info->fragments; i++) {
        const struct ndb_fragment_info *fragment = &fragments[i];
        printf("%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t0\t0", i, fragment->rows,
               fragment->commits, fragment->fixed_bytes, fragment->var_bytes);
        if (copies && i < info->partitions) printf("\t-");
        if (i >= info->partitions) printf("\t%u", i % info->partitions);
        for (uint32_t replica = 0; settings->nodes && replica < info->replicas; replica++) {
            uint32_t node = ndb_table_fragment_node(table, i, replica);
            if (node != 0) printf("%s%u", replica == 0 ? "\t" : ",", node);
        }
        (void)putchar('\n');
    }
}

static cJSON *columns_json(const struct ndb_table *table, const struct ndb_table_info *info)
{
    cJSON *list = cJSON_CreateArray();

    for (uint32_t i = 0; i < info->columns; i++) {
        struct ndb_column_info column;
        char type[TYPE_TEXT_MAX];
        if (ndb_table_column(table, i, &column) != 0) continue;
        (void)ndb_column_type_text(table, i, type, sizeof(type));
        cJSON *object = cJSON_CreateObject();
        cJSON_AddStringToObject(object, "name", column.name);
        cJSON_AddStringToObject(object, "type", type);
        cJSON_AddBoolToObject(object, "nullable", column.nullable);
        cJSON_AddBoolToObject(object, "primary_key", column.primary_key);
        cJSON_AddBoolToObject(object, "distribution_key", column.partition_key);
        cJSON_AddStringToObject(object, "array_type", array_type(&column));
        cJSON_AddBoolToObject(object, "auto_increment", column.auto_increment);
        cJSON_AddBoolToObject(object, "dynamic", column.dynamic);
        char *value = default_text(table, &column);
        if (value != NULL) cJSON_AddStringToObject(object, "default", value);
        free(value);
        cJSON_AddItemToArray(list, object);
    }
    return list;
}

static cJSON *index_json(const struct ndb_table *table, const struct ndb_index_info *index,
                         const char *type)
{
    struct ndb_column_info column;
    cJSON *object = cJSON_CreateObject();
    cJSON *columns = cJSON_CreateArray();

    for (uint32_t c = 0; c < index->columns; c++) {
        if (ndb_table_column(table, index->column[c], &column) == 0)
            cJSON_AddItemToArray(columns, cJSON_CreateString(column.name));
    }
    cJSON_AddStringToObject(object, "name", index->name);
    cJSON_AddStringToObject(object, "type", type);
    cJSON_AddNumberToObject(object, "version", index->version);
    cJSON_AddItemToObject(object, "columns", columns);
    return object;
}

static cJSON *indexes_json(const struct ndb_table *table)
{
    cJSON *list = cJSON_CreateArray();
    struct ndb_index_info index;

    for (uint32_t i = 0; ndb_table_unique(table, i, &index) == 0; i++)
        cJSON_AddItemToArray(list, index_json(table, &index, "UniqueHashIndex"));
    for (uint32_t i = 0; ndb_table_index(table, i, &index) == 0; i++)
        cJSON_AddItemToArray(list, index_json(table, &index, "OrderedIndex"));
    return list;
}

static cJSON *partitions_json(const struct ndb_table *table, const struct ndb_table_info *info,
                              const struct ndb_fragment_info *fragments)
{
    cJSON *list = cJSON_CreateArray();

    for (uint32_t i = 0; i < info->fragments; i++) {
        cJSON *object = cJSON_CreateObject();
        cJSON *nodes = cJSON_CreateArray();
        for (uint32_t replica = 0; replica < info->replicas; replica++) {
            uint32_t node = ndb_table_fragment_node(table, i, replica);
            if (node != 0) cJSON_AddItemToArray(nodes, cJSON_CreateNumber(node));
        }
        cJSON_AddNumberToObject(object, "partition", i);
        if (i >= info->partitions) cJSON_AddNumberToObject(object, "copy_of", i % info->partitions);
        cJSON_AddNumberToObject(object, "rows", (double)fragments[i].rows);
        cJSON_AddNumberToObject(object, "commits", (double)fragments[i].commits);
        cJSON_AddNumberToObject(object, "fixed_memory", (double)fragments[i].fixed_bytes);
        cJSON_AddNumberToObject(object, "varsized_memory", (double)fragments[i].var_bytes);
        cJSON_AddNumberToObject(object, "varsized_used", (double)fragments[i].var_used_bytes);
        cJSON_AddNumberToObject(object, "index_memory", (double)fragments[i].index_bytes);
        cJSON_AddItemToObject(object, "nodes", nodes);
        cJSON_AddItemToArray(list, object);
    }
    return list;
}

static cJSON *table_json(const struct ndb_table *table, const struct ndb_table_info *info,
                         const struct ndb_fragment_info *fragments)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddStringToObject(object, "database", info->database);
    cJSON_AddStringToObject(object, "name", info->name);
    cJSON_AddNumberToObject(object, "id", info->table_id);
    cJSON_AddNumberToObject(object, "version", info->version);
    cJSON_AddNumberToObject(object, "fragments", info->fragments);
    cJSON_AddNumberToObject(object, "partition_count", info->partitions);
    cJSON_AddNumberToObject(object, "replicas", info->replicas);
    cJSON_AddStringToObject(object, "balance", info->balance);
    cJSON_AddBoolToObject(object, "read_backup", info->read_backup);
    cJSON_AddBoolToObject(object, "fully_replicated", info->fully_replicated);
    cJSON_AddBoolToObject(object, "logging", info->logging);
    cJSON_AddNumberToObject(object, "row_size_max", info->row_size_max);
    cJSON_AddItemToObject(object, "columns", columns_json(table, info));
    cJSON_AddItemToObject(object, "indexes", indexes_json(table));
    if (fragments != NULL)
        cJSON_AddItemToObject(object, "partitions", partitions_json(table, info, fragments));
    return object;
}

/* All digits: a double has 53 bits. */
static void add_next(cJSON *object, uint64_t next)
{
    char digits[24];

    (void)snprintf(digits, sizeof(digits), "%" PRIu64, next);
    cJSON_AddRawToObject(object, "next_number", digits);
}

/* With -a of a table that has such a column. False: error printed. */
static bool ask_next(struct settings *settings, const struct ndb_table *table, uint64_t *next)
{
    struct ndb_column_info column;
    bool has = false;

    for (uint32_t i = 0; ndb_table_column(table, i, &column) == 0; i++)
        has = has || column.auto_increment;
    *next = 0;
    if (!settings->numbers || !has) return true;
    if (ndb_auto_increment_read(settings->tool.ndb, table, next, 0) == 0) return true;
    tool_print_error(ndb_error(settings->tool.ndb));
    return false;
}

/* As the field does; but what goes to standard output with --format=json is JSON. */
static void say_unknown(const struct settings *settings, const char *name)
{
    (void)fprintf(settings->tool.format == TOOL_JSON ? stderr : stdout, "No such object: %s\n",
                  name);
}

/* As often as --retries says. NULL: the reason is printed. */
static struct ndb_table *open_table(struct settings *settings, const char *name)
{
    char full[300];
    uint32_t tries = settings->retries;

    tool_table_name(&settings->tool, name, full, sizeof(full));
    while (tries-- > 0) {
        struct ndb_table *table = ndb_table_open(settings->tool.ndb, full, 0);
        if (table != NULL) return table;
        (void)nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    }
    struct ndb_table *table = tool_open_table(&settings->tool, name);
    int32_t code = ndb_error(settings->tool.ndb)->code;
    if (table == NULL && (code == ERR_NO_SUCH_TABLE_ID || code == ERR_NO_SUCH_TABLE))
        say_unknown(settings, name);
    return table;
}

/* An index by itself: by its name among a table's arguments, or each with --index-info. */
static void describe_index(const struct ndb_table *table, const struct ndb_index_info *index,
                           const char *type)
{
    struct ndb_table_info info;
    struct ndb_column_info column;

    ndb_table_describe(table, &info);
    printf("-- %s --\nVersion: %u\nBase table: %s\nNumber of attributes: %u\nLogging: %d\n"
           "Index type: %s\nIndex status: Retrieved\n-- Attributes --\n",
           index->name, index->version, info.name, index->columns, info.logging, type);
    for (uint32_t i = 0; i < index->columns; i++) {
        if (ndb_table_column(table, index->column[i], &column) == 0) print_column(table, &column);
    }
    if (index->table_id != 0)
        printf("-- IndexTable sys/def/NDB$UNIQUE_%u_%s, id %u --\n", info.table_id, index->name,
               index->table_id);
    (void)putchar('\n');
}

static void describe_indexes(const struct ndb_table *table)
{
    struct ndb_index_info index;

    for (uint32_t i = 0; ndb_table_unique(table, i, &index) == 0; i++)
        describe_index(table, &index, "UniqueHashIndex");
    for (uint32_t i = 0; ndb_table_index(table, i, &index) == 0; i++)
        describe_index(table, &index, "OrderedIndex");
}

/* An index of --table. */
static int describe_named(struct settings *settings, const char *name, cJSON *list)
{
    struct ndb_table *table = open_table(settings, settings->table);
    struct ndb_index_info index;

    if (table == NULL) return TOOL_FAILED;
    int ordered = ndb_table_find_index(table, name);
    int unique = ndb_table_find_unique(table, name);
    bool known = ordered >= 0
                     ? ndb_table_index(table, (uint32_t)ordered, &index) == 0
                     : unique >= 0 && ndb_table_unique(table, (uint32_t)unique, &index) == 0;
    const char *type = ordered >= 0 ? "OrderedIndex" : "UniqueHashIndex";
    if (!known)
        say_unknown(settings, name);
    else if (settings->tool.format == TOOL_JSON)
        cJSON_AddItemToArray(list, index_json(table, &index, type));
    else
        describe_index(table, &index, type);
    ndb_table_release(table);
    return known ? TOOL_OK : TOOL_FAILED;
}

static int describe(struct settings *settings, const char *name, cJSON *list)
{
    struct ndb_table *table = open_table(settings, name);
    struct ndb_table_info info;
    struct ndb_fragment_info *fragments = NULL;
    uint64_t next; /* 0: not asked for. */

    if (table == NULL) return TOOL_FAILED;
    ndb_table_describe(table, &info);
    if (settings->partitions) fragments = ask_fragments(&settings->tool, table, &info);
    bool known = ask_next(settings, table, &next) && (!settings->partitions || fragments != NULL);
    if (known && settings->tool.format == TOOL_JSON) {
        cJSON *object = table_json(table, &info, fragments);
        if (next != 0) add_next(object, next);
        cJSON_AddItemToArray(list, object);
    } else if (known) {
        print_table(settings, table, &info);
        if (next != 0) printf("-- AutoIncrement info\nAutoIncrement: %" PRIu64 "\n", next);
        if (fragments != NULL) print_partitions(settings, table, &info, fragments);
        (void)putchar('\n');
        if (settings->indexes) describe_indexes(table);
    }
    free(fragments);
    ndb_table_release(table);
    return known ? TOOL_OK : TOOL_FAILED;
}

/* All of them, also when one is not there. */
static int run(void *context, int argc, char **argv)
{
    struct settings *settings = context;
    cJSON *list = cJSON_CreateArray();
    int code = TOOL_OK;

    for (int i = 0; i < argc; i++) {
        int one = settings->table != NULL ? describe_named(settings, argv[i], list)
                                          : describe(settings, argv[i], list);
        if (one != TOOL_OK) code = TOOL_FAILED;
    }
    tool_json_end(&settings->tool, list);
    return code;
}

int main(int argc, char **argv)
{
    static const struct tool_program program = {.name = "ndb_desc",
                                                .doc = "Describes tables.",
                                                .arguments = "TABLE...\n-t TABLE INDEX...",
                                                .needed = "give at least one table",
                                                .options = options,
                                                .option = read_option,
                                                .run = run};
    struct settings settings = {0};

    return tool_main(&program, &settings, argc, argv);
}
