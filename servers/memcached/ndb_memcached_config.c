/* ndb_memcached_config.c -- what memcached servers find in the cluster: makes, shows, checks and
 * changes the tables of schema ndbmemcache. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ndb/mgm.h"
#include "servers/memcached/mc_tool.h"
#include "service/program.h"
#include "service/reach_cluster.h"
#include "service/wait_told.h"
#include "values/errors.h"

#define NODE_ID_MAX    255u
#define TIMEOUT_MS     30000u /* No call takes longer. */
#define READY_MS       30000u /* Longest wait for the data nodes of the primary cluster. */
#define OTHER_MS       5000u  /* Longest wait for another cluster, and then for its data nodes. */
#define CONNECT_MS_MIN 1000u

enum {
    KEY_NODE_ID = 0x800,
    KEY_RETRIES,
    KEY_DELAY,
    KEY_FORMAT,
    KEY_CLUSTER,
    KEY_MAX_TPS,
    KEY_TABLE,
    KEY_KEY,
    KEY_VALUE,
    KEY_FLAGS,
    KEY_INCREMENT,
    KEY_CAS,
    KEY_EXPIRE,
    KEY_LARGE,
    KEY_FLUSH,
    KEY_FORCE
};

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
    {"format", KEY_FORMAT, "text|json", 0, "how show and check print (text)", 0},
    {"force", KEY_FORCE, NULL, 0, "change it although servers would refuse a prefix", 0},
    {"cluster", KEY_CLUSTER, "ID", 0, "of add-prefix: where the table is (0)", 0},
    {"max-tps", KEY_MAX_TPS, "N", 0, "of add-role: transactions a second (100000)", 0},
    {"flush-from-db", KEY_FLUSH, NULL, 0, "of add-policy: flush_all deletes the rows, too", 0},
    {"table", KEY_TABLE, "DATABASE.TABLE", 0, "of add-container: its table", 0},
    {"key", KEY_KEY, "COLUMN,...", 0, "of add-container: what the key is", 0},
    {"value", KEY_VALUE, "COLUMN,...", 0, "of add-container: what the value is", 0},
    {"flags", KEY_FLAGS, "COLUMN|NUMBER", 0,
     "of add-container: where the client's flags are, or what they are (0)", 0},
    {"increment", KEY_INCREMENT, "COLUMN", 0, "of add-container: what incr and decr change", 0},
    {"cas", KEY_CAS, "COLUMN", 0, "of add-container: where the CAS number is", 0},
    {"expire", KEY_EXPIRE, "COLUMN", 0, "of add-container: when the row expires", 0},
    {"large-values", KEY_LARGE, "DATABASE.TABLE", 0,
     "of add-container: where values are that are longer than their column", 0},
    {0},
};

static const struct mc_tool_command commands[] = {
    {"bootstrap", 0, 0, mc_tool_bootstrap},
    {"show", 0, 0, mc_tool_show},
    {"check", 0, 1000, mc_tool_check},
    {"add-prefix", 3, 4, mc_tool_add_prefix},
    {"drop-prefix", 2, 2, mc_tool_drop_prefix},
    {"add-container", 1, 1, mc_tool_add_container},
    {"drop-container", 1, 1, mc_tool_drop_container},
    {"add-policy", 4, 4, mc_tool_add_policy},
    {"drop-policy", 1, 1, mc_tool_drop_policy},
    {"add-role", 2, 2, mc_tool_add_role},
    {"drop-role", 1, 1, mc_tool_drop_role},
    {"add-cluster", 2, 2, mc_tool_add_cluster},
    {"drop-cluster", 1, 1, mc_tool_drop_cluster},
    {"reload", 1, 1000, mc_tool_reload},
};

static const char usage[] = "bootstrap\n"
                            "show\n"
                            "check [ROLE...]\n"
                            "add-prefix ROLE PREFIX POLICY [CONTAINER]\n"
                            "drop-prefix ROLE PREFIX\n"
                            "add-container NAME --table=DATABASE.TABLE --key=COLUMN,...\n"
                            "drop-container NAME\n"
                            "add-policy NAME GET SET DELETE\n"
                            "drop-policy NAME\n"
                            "add-role NAME ID\n"
                            "drop-role NAME\n"
                            "add-cluster ID CONNECTSTRING\n"
                            "drop-cluster ID\n"
                            "reload ROLE...";

static const char doc[] =
    "Makes, shows, checks and changes the tables by which memcached servers of the cluster know "
    "which key is which row. Every change reaches running servers of the roles that it concerns.";

static uint64_t read_number(const char *text, uint64_t max, const char *option,
                            struct argp_state *state)
{
    char *end = NULL;

    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || strchr(text, '-') != NULL || value > max)
        argp_error(state, "%s must be a number from 0 to %llu, not '%s'", option,
                   (unsigned long long)max, text);
    return value;
}

static const char *checked_number(const char *text, const char *option, struct argp_state *state)
{
    (void)read_number(text, UINT32_MAX, option, state);
    return text;
}

static void read_format(struct mc_tool *tool, const char *text, struct argp_state *state)
{
    tool->json = strcmp(text, "json") == 0;
    if (!tool->json && strcmp(text, "text") != 0)
        argp_error(state, "--format must be text or json, not '%s'", text);
}

static void read_command(struct mc_tool *tool, struct argp_state *state)
{
    const char *name = state->argv[state->next];

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(commands[i].name, name) == 0) tool->command = &commands[i];
    }
    if (tool->command == NULL) argp_error(state, "there is no command '%s'", name);
    tool->argc = state->argc - state->next - 1;
    tool->argv = state->argv + state->next + 1;
    if (tool->argc < tool->command->arguments_min || tool->argc > tool->command->arguments_max)
        argp_error(state, "wrong number of arguments of %s", name);
    if (tool->command->run == mc_tool_add_container && (tool->table == NULL || tool->key == NULL))
        argp_error(state, "add-container needs --table and --key");
}

/* Refused at once, before anything is tried. */
static void check_connect_string(const char *text, struct argp_state *state)
{
    char why[256];

    if (ndb_mgm_check_connectstring(text, "--ndb-connectstring", why, sizeof(why)) != 0)
        argp_error(state, "%s", why);
}

static error_t read_text(struct mc_tool *tool, int key, char *argument)
{
    const char **const texts[] = {
        [KEY_TABLE - KEY_TABLE] = &tool->table,         [KEY_KEY - KEY_TABLE] = &tool->key,
        [KEY_VALUE - KEY_TABLE] = &tool->value,         [KEY_FLAGS - KEY_TABLE] = &tool->flags,
        [KEY_INCREMENT - KEY_TABLE] = &tool->increment, [KEY_CAS - KEY_TABLE] = &tool->cas,
        [KEY_EXPIRE - KEY_TABLE] = &tool->expire,       [KEY_LARGE - KEY_TABLE] = &tool->large};

    if (key < KEY_TABLE || key > KEY_LARGE) return ARGP_ERR_UNKNOWN;
    *texts[key - KEY_TABLE] = argument;
    return 0;
}

static error_t read_option(int key, char *argument, struct argp_state *state)
{
    struct mc_tool *tool = state->input;

    switch (key) {
    case 'c':
        tool->connect_string = argument;
        return 0;
    case KEY_NODE_ID:
        tool->node_id = (uint32_t)read_number(argument, NODE_ID_MAX, "--ndb-nodeid", state);
        return 0;
    case KEY_RETRIES:
        tool->retries =
            strcmp(argument, "-1") == 0
                ? -1
                : (int)read_number(argument, 100000, "--connect-retries (-1: for ever)", state);
        return 0;
    case KEY_DELAY:
        tool->delay_s = (uint32_t)read_number(argument, 3600, "--connect-retry-delay", state);
        return 0;
    case KEY_FORMAT:
        read_format(tool, argument, state);
        return 0;
    case KEY_FORCE:
        tool->force = true;
        return 0;
    case KEY_FLUSH:
        tool->flush_from_db = true;
        return 0;
    case KEY_CLUSTER:
        tool->cluster = checked_number(argument, "--cluster", state);
        return 0;
    case KEY_MAX_TPS:
        tool->max_tps = checked_number(argument, "--max-tps", state);
        return 0;
    case ARGP_KEY_ARGS:
        read_command(tool, state);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "say what to do");
        return 0;
    case ARGP_KEY_END:
        check_connect_string(tool->connect_string, state);
        return 0;
    default:
        return read_text(tool, key, argument);
    }
}

int mc_tool_fail(const struct mc_tool *tool)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "%s\n", tool->error.text);
    return MC_TOOL_FAILED;
}

static void fail_connection(struct mc_tool *tool, struct ndb_cluster_connection *connection,
                            const char *what)
{
    ndb_error_t error;

    ndb_connection_error(connection, &error);
    (void)mc_config_fail_ndb(&tool->error, &error, "%s", what);
}

/* False with tool->error. What was opened is closed at the end, in any case. */
static bool open_cluster(struct mc_tool *tool, const char *connect_string, uint32_t connect_ms,
                         uint32_t ready_ms)
{
    const struct ndb_connection_options settings = {
        .name = "ndb_memcached_config",
        .node_id = tool->cluster_count == 0 ? tool->node_id : 0,
        .default_timeout_ms = TIMEOUT_MS};
    struct mc_tool_cluster *cluster = &tool->clusters[tool->cluster_count++];

    (void)snprintf(cluster->connect_string, sizeof(cluster->connect_string), "%s",
                   connect_string == NULL ? "" : connect_string);
    cluster->connection = ndb_connection_create(connect_string, &settings);
    if (cluster->connection == NULL) {
        (void)mc_config_fail(&tool->error, "out of memory");
        return false;
    }
    struct wait_told *wait = wait_told_begin("ndb_memcached_config");
    const struct reach_limits limits = {.servers_ms = connect_ms, .nodes_ms = ready_ms};
    enum reached reached = reach_cluster(cluster->connection, connect_string, &limits, wait);
    wait_told_end(wait);
    if (reached != REACHED) {
        fail_connection(tool, cluster->connection,
                        reached == REACHED_NO_SERVER ? "unable to connect to a management server"
                                                     : "no data node is ready");
        return false;
    }
    cluster->ndb = ndb_open(cluster->connection, MC_SCHEMA);
    if (cluster->ndb == NULL) fail_connection(tool, cluster->connection, "no access");
    return cluster->ndb != NULL;
}

static bool open_primary(struct mc_tool *tool)
{
    uint64_t wait_ms =
        tool->retries < 0 ? NDB_NO_TIMEOUT : (uint64_t)tool->retries * tool->delay_s * 1000;

    if (wait_ms < CONNECT_MS_MIN) wait_ms = CONNECT_MS_MIN;
    if (tool->retries >= 0 && wait_ms >= NDB_NO_TIMEOUT) wait_ms = NDB_NO_TIMEOUT - 1;
    if (!open_cluster(tool, tool->connect_string, (uint32_t)wait_ms, READY_MS)) return false;
    tool->ndb = tool->clusters[0].ndb;
    return true;
}

/* For mc_config_source: another cluster than the primary one. */
static ndb_t *open_other(void *context, const struct mc_cluster *cluster)
{
    struct mc_tool *tool = context;

    for (uint32_t i = 0; i < tool->cluster_count; i++) {
        if (strcmp(tool->clusters[i].connect_string, cluster->connect_string) == 0)
            return tool->clusters[i].ndb; /* It has been asked for, or is the primary one. */
    }
    if (tool->cluster_count == MC_TOOL_CLUSTERS_MAX) return NULL;
    (void)open_cluster(tool, cluster->connect_string, OTHER_MS, OTHER_MS);
    return tool->clusters[tool->cluster_count - 1].ndb;
}

struct mc_config_source mc_tool_source(struct mc_tool *tool,
                                       void (*log)(void *context, const char *line), void *watch)
{
    tool->watch = watch;
    return (struct mc_config_source){
        .primary = tool->ndb, .connect = open_other, .log = log, .context = tool};
}

static int finish(struct mc_tool *tool, int code)
{
    for (uint32_t i = 0; i < tool->cluster_count; i++) {
        ndb_close(tool->clusters[i].ndb);
        ndb_connection_free(tool->clusters[i].connection);
    }
    return code;
}

static void print_version(FILE *stream, struct argp_state *state)
{
    (void)fprintf(stream, "%s %s\n", state->name, NDB_CLIENT_VERSION_STRING);
}

int main(int argc, char **argv)
{
    static const struct argp argp = {options, read_option, usage, doc, NULL, NULL, NULL};
    struct mc_tool tool = {.retries = 12, .delay_s = 5};

    argv[0] = program_begin(argv[0], MC_TOOL_FAILED);
    argp_err_exit_status = MC_TOOL_USAGE;
    argp_program_version_hook = print_version;
    if (argp_parse(&argp, argc, argv, 0, NULL, &tool) != 0) return MC_TOOL_USAGE;
    if (!open_primary(&tool)) return finish(&tool, mc_tool_fail(&tool));
    return finish(&tool, tool.command->run(&tool));
}
