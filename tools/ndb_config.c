/* ndb_config.c -- tells what a configuration says: of a running cluster, a file or a binary cache.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "config/config_parse.h"
#include "ndb/mgm.h"
#include "ndb/ndb.h"
#include "tools/config_query.h"
#include "service/foreign_options.h"
#include "service/program.h"
#include "service/wait_told.h"

#define CALL_MS   5000u
#define ANSWER_MS 60000u

enum { EXIT_DONE = 0, EXIT_USAGE = 2, EXIT_NO_ANSWER = 255 };

enum {
    KEY_NODES = 0x1000,
    KEY_CONNECTIONS,
    KEY_SYSTEM,
    KEY_HOST,
    KEY_NODE,
    KEY_TYPE,
    KEY_DIFF,
    KEY_INFO,
    KEY_XML,
    KEY_FILE,
    KEY_BINARY,
    KEY_FROM_NODE,
    KEY_RETRIES,
    KEY_DELAY,
    KEY_FORMAT
};

struct settings {
    struct config_query query;
    bool sections_set, info, xml;
    char *columns; /* Columns that were asked for; NULL: the sections' default. */
    const char *connect_string, *file, *binary_file;
    uint32_t from_node, delay_s;
    int retries;
};

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "What is printed:", 1},
    {"nodes", KEY_NODES, NULL, 0, "nodes (the default)", 1},
    {"connections", KEY_CONNECTIONS, NULL, 0, "links between nodes", 1},
    {"system", KEY_SYSTEM, NULL, 0, "the system section", 1},
    {"query", 'q', "NAME,...", 0,
     "parameters by name or number; of nodes also id, nodeid, type, nodetype, host "
     "(nodetype,nodeid,host; of connections type,nodeid1,nodeid2; of the system name)",
     1},
    {"query_all", 'a', NULL, 0, "all parameters, one per line", 1},
    {"diff_default", KEY_DIFF, NULL, 0, "all parameters that do not have their default", 1},
    {"host", KEY_HOST, "NAME", 0, "only of this host", 1},
    {"nodeid", KEY_NODE, "ID", 0, "only of this node", 1},
    {"type", KEY_TYPE, "TYPE", 0, "only ndbd, mysqld, api, ndb_mgmd or tcp", 1},
    {"fields", 'f', "TEXT", 0, "between the values of a row (a comma)", 1},
    {"rows", 'r', "TEXT", 0, "between rows (a blank)", 1},
    {"format", KEY_FORMAT, "text|json", 0, "how to print (text)", 1},
    {"configinfo", KEY_INFO, NULL, 0, "all parameters that there are; needs no configuration", 1},
    {"xml", KEY_XML, NULL, 0, "with --configinfo: as XML", 1},
    {NULL, 0, NULL, 0, "Where the configuration comes from:", 2},
    {"ndb-connectstring", 'c', "HOST[:PORT],...", 0,
     "management servers (default: NDB_CONNECTSTRING in the environment, else localhost:1186)", 2},
    {"connect-string", 0, NULL, OPTION_ALIAS, NULL, 2},
    {"ndb-mgmd-host", 0, NULL, OPTION_ALIAS, NULL, 2},
    {"connect-retries", KEY_RETRIES, "N", 0, "how often to try them (12; -1: for ever)", 2},
    {"connect-retry-delay", KEY_DELAY, "SECONDS", 0, "pause between the tries (5)", 2},
    {"config_from_node", KEY_FROM_NODE, "ID", 0, "the one that this data node runs with", 2},
    {"config-file", KEY_FILE, "FILE", 0, "a config.ini (- is standard input)", 2},
    {"config-binary-file", KEY_BINARY, "FILE", 0, "a management server's ndb_ID_config.bin.N", 2},
    {0},
};

static uint32_t number_or_die(const char *text, uint32_t min, uint32_t max, const char *option,
                              struct argp_state *state)
{
    char *end = NULL;

    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || text[0] == '-' || value < min || value > max)
        argp_error(state, "%s must be a number from %u to %u, not '%s'", option, min, max, text);
    return (uint32_t)value;
}

static enum config_kind kind_or_die(const char *text, struct argp_state *state)
{
    static const struct {
        const char *name;
        enum config_kind kind;
    } kinds[] = {{"ndbd", CONFIG_NDBD},     {"mysqld", CONFIG_API}, {"api", CONFIG_API},
                 {"ndb_mgmd", CONFIG_MGMD}, {"mgmd", CONFIG_MGMD},  {"tcp", CONFIG_TCP}};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcasecmp(text, kinds[i].name) == 0) return kinds[i].kind;
    argp_error(state, "--type must be ndbd, mysqld, api, ndb_mgmd or tcp, not '%s'", text);
    return CONFIG_NONE;
}

static void set_sections(struct settings *settings, enum query_sections sections,
                         struct argp_state *state)
{
    if (settings->sections_set)
        argp_error(state, "only one of --nodes, --connections and --system can be given");
    settings->sections_set = true;
    settings->query.sections = sections;
}

static void set_form(struct settings *settings, enum query_form form, struct argp_state *state)
{
    if (settings->query.form != QUERY_ROWS || settings->columns != NULL)
        argp_error(state, "only one of --query, --query_all and --diff_default can be given");
    settings->query.form = form;
}

/* Refused at once, before anything is tried. */
static void check_connect_string(const char *text, struct argp_state *state)
{
    char why[256];

    if (ndb_mgm_check_connectstring(text, "--ndb-connectstring", why, sizeof(why)) != 0)
        argp_error(state, "%s", why);
}

static void check_options(const struct settings *settings, struct argp_state *state)
{
    bool file = settings->file != NULL;
    bool binary = settings->binary_file != NULL;
    bool node = settings->from_node != 0;

    if (settings->xml && !settings->info) argp_error(state, "--xml needs --configinfo");
    if (settings->xml && settings->query.json)
        argp_error(state, "--xml and --format=json exclude each other");
    if (settings->info && settings->columns != NULL)
        argp_error(state,
                   "--configinfo lists all parameters, --query asks a configuration for some");
    if ((file && binary) || (file && node) || (binary && node))
        argp_error(state, "only one of --config-file, --config-binary-file and --config_from_node "
                          "can be given");
    if (!settings->info && !file && !binary) check_connect_string(settings->connect_string, state);
}

static error_t read_query_option(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;
    struct config_query *query = &settings->query;

    switch (key) {
    case KEY_NODES:
        set_sections(settings, QUERY_NODES, state);
        return 0;
    case KEY_CONNECTIONS:
        set_sections(settings, QUERY_CONNECTIONS, state);
        return 0;
    case KEY_SYSTEM:
        set_sections(settings, QUERY_SYSTEM, state);
        return 0;
    case 'q':
        set_form(settings, QUERY_ROWS, state);
        settings->columns = argument;
        return 0;
    case 'a':
        set_form(settings, QUERY_ALL, state);
        return 0;
    case KEY_DIFF:
        set_form(settings, QUERY_DIFFERENCES, state);
        return 0;
    case KEY_HOST:
        query->host = argument;
        return 0;
    case KEY_NODE:
        query->node_id = number_or_die(argument, 1, CONFIG_NODES_MAX, "--nodeid", state);
        return 0;
    case KEY_TYPE:
        query->kind = kind_or_die(argument, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t read_option(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;

    switch (key) {
    case 'f':
        settings->query.field_separator = argument;
        return 0;
    case 'r':
        settings->query.row_separator = argument;
        return 0;
    case KEY_FORMAT:
        settings->query.json = strcmp(argument, "json") == 0;
        if (!settings->query.json && strcmp(argument, "text") != 0)
            argp_error(state, "--format must be text or json, not '%s'", argument);
        return 0;
    case KEY_INFO:
        settings->info = true;
        return 0;
    case KEY_XML:
        settings->xml = true;
        return 0;
    case 'c':
        settings->connect_string = argument;
        return 0;
    case KEY_RETRIES:
        settings->retries = strcmp(argument, "-1") == 0
                                ? -1
                                : (int)number_or_die(argument, 0, 100000,
                                                     "--connect-retries (-1: for ever)", state);
        return 0;
    case KEY_DELAY:
        settings->delay_s = number_or_die(argument, 0, 3600, "--connect-retry-delay", state);
        return 0;
    case KEY_FROM_NODE:
        settings->from_node =
            number_or_die(argument, 1, CONFIG_DATA_NODES_MAX, "--config_from_node", state);
        return 0;
    case KEY_FILE:
        settings->file = argument;
        return 0;
    case KEY_BINARY:
        settings->binary_file = argument;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "takes no argument: '%s'", argument);
        return 0;
    case ARGP_KEY_END:
        check_options(settings, state);
        return 0;
    default:
        return read_query_option(key, argument, state);
    }
}

/* ---- Sources ---- */

static struct cluster_config *from_file(const char *file)
{
    struct config_report report = {.lines = NULL};
    struct cluster_config *config = config_parse_file(file, &report);

    for (uint32_t i = 0; i < report.count; i++)
        (void)fprintf(stderr, "%s\n", report.lines[i].text);
    config_report_clear(&report);
    return config;
}

static struct cluster_config *decode(const uint8_t *bytes, size_t size, const char *where)
{
    char why[300];
    struct cluster_config *config = config_decode(bytes, size, why, sizeof(why));

    if (config == NULL) (void)fprintf(stderr, "ndb_config: %s: %s\n", where, why);
    return config;
}

static struct cluster_config *from_binary_file(const char *file)
{
    FILE *in = fopen(file, "rb");
    uint8_t *bytes = in == NULL ? NULL : malloc(CONFIG_ENCODED_MAX);
    struct cluster_config *config = NULL;

    if (bytes == NULL) {
        (void)fprintf(stderr, "ndb_config: %s: %s\n", file, strerror(errno));
    } else {
        size_t size = fread(bytes, 1, CONFIG_ENCODED_MAX, in);
        if (ferror(in))
            (void)fprintf(stderr, "ndb_config: %s: %s\n", file, strerror(errno));
        else
            config = decode(bytes, size, file);
    }
    free(bytes);
    if (in != NULL) (void)fclose(in);
    return config;
}

static int connect_server(const struct settings *settings, ndb_mgm_handle_t *handle)
{
    const struct timespec pause = {.tv_sec = (time_t)settings->delay_s,
                                   .tv_nsec = settings->delay_s == 0 ? 100000000 : 0};
    if (ndb_mgm_set_connectstring(handle, settings->connect_string) != 0) return -1;
    struct wait_told *wait = wait_told_begin("ndb_config");
    bool connected = false;
    ndb_mgm_set_timeout(handle, CALL_MS);
    wait_told_for_servers(wait, settings->connect_string);
    for (int round = 0;; round++) {
        connected = ndb_mgm_connect(handle, 0, 0) == 0;
        if (connected || (settings->retries >= 0 && round >= settings->retries)) break;
        wait_told_for(wait, "a management server: %s", ndb_mgm_error_text(handle));
        (void)nanosleep(&pause, NULL);
    }
    wait_told_end(wait);
    ndb_mgm_set_timeout(handle, ANSWER_MS);
    return connected ? 0 : -1;
}

static struct cluster_config *from_server(const struct settings *settings)
{
    ndb_mgm_handle_t *handle = ndb_mgm_create_handle();
    struct cluster_config *config = NULL;
    uint8_t *bytes = NULL;
    size_t size = 0;

    if (handle == NULL) {
        (void)fprintf(stderr, "ndb_config: out of memory\n");
        return NULL;
    }
    ndb_mgm_set_name(handle, "ndb_config");
    if (connect_server(settings, handle) != 0) {
        (void)fprintf(stderr, "Unable to connect to management server.\n%d: %s\n" WAIT_TOLD_CURE,
                      ndb_mgm_error_code(handle), ndb_mgm_error_text(handle));
    } else if (ndb_mgm_get_configuration_of(handle, settings->from_node, &bytes, &size) != 0) {
        (void)fprintf(stderr, "%d: %s\n", ndb_mgm_error_code(handle), ndb_mgm_error_text(handle));
    } else {
        config = decode(bytes, size, "the management server's configuration");
    }
    free(bytes);
    ndb_mgm_destroy_handle(handle);
    return config;
}

static int print_configuration(struct settings *settings)
{
    struct config_query *query = &settings->query;
    const char *wrong = NULL;

    if (query->form == QUERY_ROWS && !config_query_columns(query, settings->columns, &wrong)) {
        if (wrong == NULL)
            (void)fprintf(stderr, "ndb_config: --query: more than %u names\n", QUERY_COLUMNS_MAX);
        else
            (void)fprintf(
                stderr, "ndb_config: --query: no such parameter: '%s' (--configinfo lists them)\n",
                wrong);
        return EXIT_NO_ANSWER;
    }
    struct cluster_config *config = settings->file != NULL ? from_file(settings->file)
                                    : settings->binary_file != NULL
                                        ? from_binary_file(settings->binary_file)
                                        : from_server(settings);
    if (config == NULL) return EXIT_NO_ANSWER;
    config_query_print(query, config);
    config_free(config);
    return EXIT_DONE;
}

static void print_version(FILE *stream, struct argp_state *state)
{
    (void)fprintf(stream, "%s %s\n", state->name, NDB_CLIENT_VERSION_STRING);
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        read_option,
        NULL,
        "Prints what a cluster's configuration says, in a form for scripts. Numbers are plain, "
        "without suffixes; truth values and choices are numbers, too. The exit code is 255 when a "
        "name is wrong or no configuration can be read.",
        NULL,
        NULL,
        NULL};
    struct settings settings = {
        .query = {.field_separator = ",", .row_separator = " "}, .retries = 12, .delay_s = 5};
    int code = EXIT_DONE;

    argv[0] = program_begin(argv[0], EXIT_NO_ANSWER);
    argc = foreign_options_take("ndb_config", argc, argv);
    argp_err_exit_status = EXIT_USAGE;
    argp_program_version_hook = print_version;
    if (argp_parse(&argp, argc, argv, 0, NULL, &settings) != 0) return EXIT_USAGE;
    if (settings.xml)
        config_info_print_xml();
    else if (settings.info && settings.query.json)
        config_info_print_json();
    else if (settings.info)
        config_info_print();
    else
        code = print_configuration(&settings);
    return code;
}
