/* main.c -- ndbmtd: options, configuration, angel, node, threads. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "blocks/cmvmi/cmvmi.h"
#include "ndbmtd/node_blocks.h"
#include "ndbmtd/process.h"
#include "service/notify.h"
#include "service/program.h"
#include "service/wait_told.h"
#include "signals/gsn.h"
#include "signals/management.h"
#include "signals/print.h"
#include "transporters/link.h"

struct options {
    const char *connect_string;
    uint32_t node_id;
    bool initial;
    bool accept_data_loss;
    bool no_start;
    bool daemon;
    bool foreground; /* The process stays in the foreground, and has no angel. */
    int retries;
    uint32_t delay_s;
    struct again again; /* What the former life has left; node 0: this is the first one. */
};

enum {
    KEY_NODE_ID = 256,
    KEY_INITIAL,
    KEY_ACCEPT_LOSS,
    KEY_NODAEMON,
    KEY_FOREGROUND,
    KEY_RETRIES,
    KEY_DELAY,
    KEY_AGAIN
};

static const struct argp_option option_table[] = {
    {"ndb-connectstring", 'c', "HOST[:PORT]", 0, "Management server(s); also NDB_CONNECTSTRING", 0},
    {"connect-string", 'c', "HOST[:PORT]", OPTION_ALIAS, NULL, 0},
    {"ndb-nodeid", KEY_NODE_ID, "N", 0, "Node id; by default the management server chooses", 0},
    {"initial", KEY_INITIAL, 0, 0, "Remove the node's files and start without data of former lives",
     0},
    {"i-accept-data-loss", KEY_ACCEPT_LOSS, 0, 0,
     "With --initial: even if no other node has a copy of the data", 0},
    {"nostart", 'n', 0, 0, "Wait for START from the management console", 0},
    {"daemon", 'd', 0, 0, "Go to the background (default)", 0},
    {"nodaemon", KEY_NODAEMON, 0, 0, "Stay in the foreground", 0},
    {"foreground", KEY_FOREGROUND, 0, 0, "Stay in the foreground, without angel process", 0},
    {"connect-retries", KEY_RETRIES, "N", 0,
     "Tries to reach the management server, -1 = for ever (12)", 0},
    {"connect-delay", KEY_DELAY, "S", 0, "Seconds between tries (5)", 0},
    {"next-life", KEY_AGAIN, "...", OPTION_HIDDEN, NULL, 0}, /* again.c passes this option. */
    {0},
};

static uint32_t number_or_die(const char *text, uint32_t max, const char *option,
                              struct argp_state *state)
{
    char *end = NULL;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value > max)
        argp_error(state, "%s: '%s' is not a number from 0 to %u", option, text, max);
    return (uint32_t)value;
}

/* What is no address is none at the tenth try either. */
static void check_connect_string(const char *text, struct argp_state *state)
{
    char why[256];
    if (ndb_mgm_check_connectstring(text, "--ndb-connectstring", why, sizeof why) != 0)
        argp_error(state, "%s", why);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'c':
        options->connect_string = argument;
        break;
    case KEY_NODE_ID:
        options->node_id = number_or_die(argument, DATA_NODE_ID_MAX, "--ndb-nodeid", state);
        break;
    case KEY_INITIAL:
        options->initial = true;
        break;
    case KEY_ACCEPT_LOSS:
        options->accept_data_loss = true;
        break;
    case 'n':
        options->no_start = true;
        break;
    case 'd':
        options->daemon = true;
        break;
    case KEY_NODAEMON:
        options->daemon = false;
        break;
    case KEY_FOREGROUND:
        options->daemon = false;
        options->foreground = true;
        break;
    case KEY_RETRIES:
        options->retries = strcmp(argument, "-1") == 0
                               ? -1
                               : (int)number_or_die(argument, INT32_MAX,
                                                    "--connect-retries (-1: for ever)", state);
        break;
    case KEY_DELAY:
        options->delay_s = number_or_die(argument, 3600, "--connect-delay", state);
        break;
    case KEY_AGAIN:
        if (!again_parse(&options->again, argument))
            argp_error(state, "--next-life: '%s' is of another version", argument);
        break;
    case ARGP_KEY_END:
        check_connect_string(options->connect_string, state);
        break;
    case ARGP_KEY_ARG:
        if (options->connect_string != NULL)
            argp_error(state, "'%s' is one argument too much: the connect string is '%s'", argument,
                       options->connect_string);
        options->connect_string = argument;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* Prints the version, and which link protocols another version must know to meet this one. */
static void print_version(FILE *stream, struct argp_state *state)
{
    (void)state;
    fprintf(stream, "ndbmtd %s\nlinks: protocol %u, with those that have %u or more\n",
            NDB_VERSION_TEXT, LINK_PROTOCOL_VERSION, LINK_PROTOCOL_VERSION_MIN);
}

#define MGM_CONNECT_MS 10000u /* A server that hangs still takes connections. */
#define MGM_CALL_MS    60000u
/* How long to wait for a node id that a former life seems to hold, in tenths of a second. At the
 * terminal: most likely another process has it. */
#define ID_WAIT_FIRST 50
/* The same for the angel's next child: the former life is gone, the others learn of it soon. */
#define ID_WAIT_RESTART 300

static int get_configuration(struct process *process)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    char why[256];
    if (ndb_mgm_get_configuration(process->mgm, &bytes, &size) != 0) {
        process_log(process, LOG_LEVEL_ERROR, "No configuration: %s",
                    ndb_mgm_error_text(process->mgm));
        return -1;
    }
    process->cluster = config_decode(bytes, size, why, sizeof why);
    free(bytes);
    if (process->cluster == NULL)
        process_log(process, LOG_LEVEL_ERROR, "The configuration is damaged: %s", why);
    return process->cluster == NULL ? -1 : 0;
}

/* A management server that has lost its directory takes its cluster's id from the node's files, but
 * not from files that are to be removed. 1: it has, and has another configuration now; 0: nothing
 * has changed; -1: who knows. */
static int claim_cluster(struct process *process)
{
    uint64_t files = files_cluster(process);
    uint64_t own = config_cluster_id(process->cluster);
    process->bare = files == 0;
    if (files == 0 || process->initial) return 0;
    int rc = ndb_mgm_claim_cluster(process->mgm, process->config.own_node, files);
    int code = rc == 0 ? 0 : ndb_mgm_error_code(process->mgm);
    if (files == own) { /* It may be unconfirmed. One that does not know what that is, is not. */
        if (code != NDB_MGM_CONFIG_CHANGE_FAILED) return 0;
        process_log(process, LOG_LEVEL_WARNING, "The configuration has changed meanwhile: %s",
                    ndb_mgm_error_text(process->mgm));
        return -1;
    }
    if (rc != 0) {
        process_log(process, LOG_LEVEL_ERROR, "%s", ndb_mgm_error_text(process->mgm));
        return code == NDB_MGM_CONFIG_CHANGE_FAILED || code == NDB_MGM_USAGE_ERROR ? 0 : -1;
    }
    process_log(process, LOG_LEVEL_WARNING,
                "the management server had begun a new cluster (%llu); it goes on with that of the "
                "node's files (%llu)",
                (unsigned long long)own, (unsigned long long)files);
    config_free((struct cluster_config *)(uintptr_t)process->cluster);
    process->cluster = NULL;
    return 1;
}

/* No management server answers, or somebody else does, or the one that does cannot write its files
 * or is about to change its configuration. */
static bool may_pass(int code)
{
    return code == NDB_MGM_COULD_NOT_CONNECT || code == NDB_MGM_SERVER_NOT_CONNECTED ||
           code == NDB_MGM_ILLEGAL_SERVER_REPLY || code == NDB_MGM_GET_CONFIG_FAILED ||
           code == NDB_MGM_CONFIG_CHANGE_FAILED;
}

/* Says what is waited for, and again when the reason changes. */
static void tell_wait(struct process *process, char *told, size_t size)
{
    const char *why = ndb_mgm_error_text(process->mgm);
    if (strncmp(told, why, size - 1) == 0) return;
    snprintf(told, size, "%s", why);
    process_log(process, LOG_LEVEL_WARNING, "the node waits for a management server: %s", told);
    service_status("Waiting for a management server: %s", told);
}

/* Tries as often as the options say. Where a person may look, who does not answer is told before it
 * is given up. */
static int connect_server(struct process *process, const struct options *options)
{
    struct wait_told *wait = process->log == NULL ? wait_told_begin("ndbmtd") : NULL;
    char told[256] = "";
    int rc;
    ndb_mgm_set_timeout(process->mgm, MGM_CONNECT_MS);
    for (int round = 0;; round++) {
        wait_told_for_servers(wait, options->connect_string);
        rc = ndb_mgm_connect(process->mgm, 0, 0);
        wait_told_for(wait, "%s", ""); /* Why not is told by the log. */
        if (rc == 0) break;
        if (options->retries >= 0 && round >= options->retries) break; /* -1: for ever. */
        tell_wait(process, told, sizeof told);
        sleep(options->delay_s > 0 ? options->delay_s : 1);
    }
    wait_told_end(wait);
    ndb_mgm_set_timeout(process->mgm, MGM_CALL_MS);
    return rc;
}

/* Connects to a management server, gets (or confirms) the node id and the configuration. Messages
 * go to stderr or the log. */
static int fetch_configuration(struct process *process, const struct options *options,
                               uint32_t wanted, int id_wait)
{
    ndb_mgm_handle_t *mgm = ndb_mgm_create_handle();
    if (mgm == NULL) return -1;
    process->mgm = mgm;
    ndb_mgm_set_name(mgm, "ndbmtd");
    if (ndb_mgm_set_connectstring(mgm, options->connect_string) != 0 ||
        connect_server(process, options) != 0) {
        process_log(process, LOG_LEVEL_ERROR, "Could not connect to a management server: %s",
                    ndb_mgm_error_text(mgm));
        return -1;
    }
    if (wanted == 0) wanted = ndb_mgm_configured_nodeid(mgm);
    int node_id = ndb_mgm_alloc_nodeid(mgm, NDB_MGM_NODE_NDB, wanted, NULL);
    for (int again = 0;
         node_id < 0 && again < id_wait && ndb_mgm_error_code(mgm) == NDB_MGM_ALLOCID_RETRY;
         again++) {
        usleep(100000);
        node_id = ndb_mgm_alloc_nodeid(mgm, NDB_MGM_NODE_NDB, wanted, NULL);
    }
    if (node_id < 0) {
        process_log(
            process, LOG_LEVEL_ERROR, "No node id from the management server at %s port %u: %s",
            ndb_mgm_connected_host(mgm), ndb_mgm_connected_port(mgm), ndb_mgm_error_text(mgm));
        return -1;
    }
    process->config.own_node = (uint32_t)node_id;
    if (get_configuration(process) != 0) return -1;
    int claimed = claim_cluster(process);
    return claimed > 0 ? get_configuration(process) : claimed;
}

static int use_data_dir(struct process *process)
{
    const struct config_section *own = config_node(process->cluster, process->config.own_node);
    char *name = strdup(config_get_text(own, CFG_NDBD_DataDir));
    for (size_t end = strlen(name); end > 1 && name[end - 1] == '/'; end--)
        name[end - 1] = '\0';
    process->data_dir = name;
    struct stat status;
    if (stat(process->data_dir, &status) == 0 && S_ISDIR(status.st_mode)) return 0;
    if (mkdir(process->data_dir, 0750) == 0) {
        process_log(process, LOG_LEVEL_WARNING,
                    "DataDir %s was not there and has been made: the node begins without files",
                    process->data_dir);
        return 0;
    }
    process_log(process, LOG_LEVEL_ERROR, "DataDir %s: %s", process->data_dir, strerror(errno));
    return -1;
}

static void pid_file_path(const struct process *process, char *path, size_t size)
{
    snprintf(path, size, "%s/ndb_%u.pid", process->data_dir, process->config.own_node);
}

/*
 * The lock tells a living owner from a file that was left behind; it passes on to children and ends
 * with the last of them. So no two nodes ever share a DataDir, whatever the management servers
 * think.
 */
static int open_pid_file(struct process *process)
{
    char path[4096];
    char text[16] = "";
    pid_file_path(process, path, sizeof path);
    process->pid_file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (process->pid_file < 0) {
        process_log(process, LOG_LEVEL_ERROR, "%s: %s", path, strerror(errno));
        return -1;
    }
    if (flock(process->pid_file, LOCK_EX | LOCK_NB) == 0) return 0;
    if (read(process->pid_file, text, sizeof text - 1) < 1) text[0] = '\0';
    process_log(process, LOG_LEVEL_ERROR, "%s is in use: node %u runs already (process %d)", path,
                process->config.own_node, atoi(text));
    return -1;
}

static void write_pid_file(struct process *process)
{
    char text[16];
    int length = snprintf(text, sizeof text, "%d\n", (int)getpid());
    if (ftruncate(process->pid_file, 0) == 0 &&
        pwrite(process->pid_file, text, (size_t)length, 0) == length)
        return;
    process_log(process, LOG_LEVEL_WARNING, "the pid file cannot be written: %s", strerror(errno));
}

void remove_pid_file(const struct process *process)
{
    char path[4096];
    pid_file_path(process, path, sizeof path);
    unlink(path);
}

static int open_log(struct process *process)
{
    char path[4096];
    process_log_path(process, path, sizeof path);
    FILE *log = fopen(path, "ae");
    if (log == NULL) {
        process_log(process, LOG_LEVEL_ERROR, "%s: %s", path, strerror(errno));
        return -1;
    }
    process->log = log;
    return 0;
}

/* The terminal gets its prompt back when the pid file stands. */
static void go_to_background(struct process *process)
{
    int ends[2];
    char done;
    printf("Angel connected to the management server, allocated nodeid: %u\n",
           process->config.own_node);
    fflush(stdout);
    if (pipe(ends) != 0) exit(1);
    pid_t pid = fork();
    if (pid < 0) exit(1);
    if (pid > 0) {
        close(ends[1]);
        _exit(read(ends[0], &done, 1) == 1 ? 0 : 1);
    }
    setsid();
    write_pid_file(process);
    close(ends[0]);
    if (write(ends[1], "+", 1) != 1) exit(1);
    close(ends[1]);
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(fileno(process->log), 1);
    dup2(fileno(process->log), 2);
}

/* --- The process that does the work. --- */

/* Within this time a second signal is the same wish, also when the angel does not run at once. */
#define SAME_WISH_NS 5000000000u

static void on_terminate(uv_signal_t *handle, int number)
{
    struct process *process = handle->data;
    process_log(process, LOG_LEVEL_INFO, "Received signal %d: the node stops", number);
    if (process->terminated_ns != 0) {
        /* It is the same wish on two ways, to the angel and to its group; or somebody is in a
         * hurry. */
        if (process_now_ns() - process->terminated_ns < SAME_WISH_NS) return;
        process->host.stopped(&process->host, 0);
        return;
    }
    process->terminated_ns = process_now_ns();
    process->stop_wish = (struct io_request){
        .receiver = block_ref(process->config.own_node, BLOCK_CMVMI, 0), .tag = CMVMI_HOST_STOP};
    node_io_done(process->node, &process->stop_wish);
}

static void lock_memory(struct process *process)
{
    const struct config_section *own = config_node(process->cluster, process->config.own_node);
    if (config_get_u64(own, CFG_NDBD_LockPagesInMainMemory) == 0) return;
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        process_log(process, LOG_LEVEL_WARNING, "LockPagesInMainMemory: %s", strerror(errno));
}

static int make_node(struct process *process)
{
    char why[256];
    if (configure_node(process, why, sizeof why) != 0) {
        process_log(process, LOG_LEVEL_ERROR, "%s", why);
        return -1;
    }
    struct node_options options = {
        .host = &process->host, .gsn_name = gsn_name, .describe = signal_describe};
    process->node = node_create(&process->config, &options);
    if (process->node == NULL) {
        process_log(process, LOG_LEVEL_ERROR, "%s", exit_code_text(EXIT_MEMALLOC));
        return -1;
    }
    process->config = *node_config_of(process->node);
    process_log(process, LOG_LEVEL_INFO,
                "%u threads, %u LDM and %u TC instances, %u recv and %u send threads, DataMemory "
                "%u MB",
                layout_workers(&process->config), process->config.ldm_count,
                process->config.tc_count, layout_recv_count(&process->config),
                process->config.send_count, process->config.memory.pages_max[RG_DATA] / 32u);
    return 0;
}

/* The server has no id to give yet: a former life seems to hold it, or a name cannot be looked up.
 */
static bool id_is_refused(int code)
{
    return code == NDB_MGM_ALLOCID_RETRY || code == NDB_MGM_ALLOCID_CONFIG_MISMATCH;
}

/* Why there is no configuration; what was begun is forgotten, for another try. */
static int forget_try(struct process *process)
{
    int code = process->mgm == NULL ? 0 : ndb_mgm_error_code(process->mgm);
    ndb_mgm_destroy_handle(process->mgm);
    process->mgm = NULL;
    config_free((struct cluster_config *)(uintptr_t)process->cluster);
    process->cluster = NULL;
    return code;
}

/* Under an angel the node has been wanted and is wanted still: while it gets no configuration it
 * waits for one, as long as it takes, and that is no failed start. SIGTERM ends the wait. */
static int fetch_patiently(struct process *process, const struct options *options)
{
    for (;;) {
        if (fetch_configuration(process, options, process->config.own_node, ID_WAIT_RESTART) == 0)
            return 0;
        int code = forget_try(process);
        bool waits = may_pass(code) || (options->retries < 0 && id_is_refused(code));
        if (process->angel_pipe < 0 || !waits) return -1;
        process_log(process, LOG_LEVEL_WARNING,
                    "the node waits for a management server: it needs its configuration to start");
        sleep(code == NDB_MGM_COULD_NOT_CONNECT || code == NDB_MGM_SERVER_NOT_CONNECTED ? 1 : 5);
    }
}

/* The user looks: what goes wrong is said, and the program ends. With --connect-retries=-1 it is a
 * service, and nobody looks: what may pass is waited for. */
static int fetch_first(struct process *process, const struct options *options, int id_wait)
{
    for (uint32_t pause_s = 1;; pause_s = pause_s < 32 ? 2 * pause_s : 60) {
        if (fetch_configuration(process, options, options->node_id, id_wait) == 0) return 0;
        int code = forget_try(process);
        if (options->retries >= 0 || !(may_pass(code) || id_is_refused(code))) return -1;
        process_log(process, LOG_LEVEL_WARNING, "it is tried again in %u s", pause_s);
        sleep(pause_s);
    }
}

static int live(struct process *process, const struct options *options)
{
    process->start_ns = process_now_ns();
    uv_signal_t terminate[2];
    service_not_watched();
    service_status("Waiting for the configuration");
    if (fetch_patiently(process, options) != 0) return 1;
    angel_tell_settings(process);
    process_catch_faults(process);
    if (make_node(process) != 0) return 1;
    if (workers_init(process) != 0) {
        process_log(process, LOG_LEVEL_ERROR, "%s", exit_code_text(EXIT_MEMALLOC));
        return 1;
    }
    if (host_os_open(process) != 0) return 1;
    uv_loop_t *loop = &workers_first_sockets(process)->loop;
    for (uint32_t i = 0; i < 2; i++) {
        uv_signal_init(loop, &terminate[i]);
        terminate[i].data = process;
        uv_signal_start(&terminate[i], on_terminate, i == 0 ? SIGTERM : SIGINT);
        uv_unref((uv_handle_t *)&terminate[i]);
    }
    lock_memory(process);
    if (files_open(process) != 0) return 1;
    node_blocks_create(process->node);
    int error = port_finder_start(process);
    if (error == 0) error = watchdog_start(process);
    if (error == 0) error = memory_ahead_start(process);
    if (error == 0) error = workers_run(process);
    files_close(process);
    if (error != 0) {
        process_log(process, LOG_LEVEL_ERROR,
                    "A thread could not be started: %s; look at the limits of memory and processes "
                    "(ulimit -v, ulimit -u)",
                    strerror(error));
        return 1;
    }
    process_log(process, LOG_LEVEL_INFO, "Node shutdown completed%s",
                (process->restart_flags & STOP_RESTART) != 0 ? ", restarting" : "");
    angel_tell_end(process, 0, process->restart_flags);
    port_finder_stop(process);
    ndb_mgm_destroy_handle(process->mgm);
    if (options->foreground && (process->restart_flags & STOP_RESTART) != 0 &&
        process->terminated_ns == 0) {
        angel_take_order(process, process->restart_flags);
        again_execute(process, 0);
        process_log(process, LOG_LEVEL_ERROR, "the node cannot be started again: %s",
                    strerror(errno));
        return 1;
    }
    return 0;
}

/* The first look at the configuration happens in sight of the user; its errors go to the terminal.
 */
static int look_first(struct process *process, struct options *options)
{
    char why[256];
    int id_wait = options->again.node != 0 ? ID_WAIT_RESTART : ID_WAIT_FIRST;
    if (options->again.node != 0) options->node_id = options->again.node;
    if (fetch_first(process, options, id_wait) != 0) return -1;
    if (configure_node(process, why, sizeof why) != 0) {
        process_log(process, LOG_LEVEL_ERROR, "%s", why);
        return -1;
    }
    int unfit = memory_fits(process, NULL, why, sizeof why);
    if (unfit != 0)
        process_log(process, unfit < 0 ? LOG_LEVEL_ERROR : LOG_LEVEL_WARNING, "%s", why);
    if (unfit < 0) return -1;
    angel_tell_settings(
        process); /* No pipe yet: what the angel does when its first child dies at once. */
    if (use_data_dir(process) != 0 || open_pid_file(process) != 0) return -1;
    if (options->daemon && open_log(process) != 0) return -1;
    ndb_mgm_destroy_handle(process->mgm); /* Frees the node id: the working process takes it. */
    config_free((struct cluster_config *)(uintptr_t)process->cluster);
    process->cluster = NULL;
    if (options->daemon)
        go_to_background(process);
    else
        write_pid_file(process); /* Its pid is the angel's, if there is one. */
    return 0;
}

int main(int argc, char **argv)
{
    static struct process process; /* Large; zeroed. */
    struct options options = {.daemon = true, .retries = 12, .delay_s = 5};
    const struct argp argp = {option_table,
                              parse_option,
                              "[CONNECT-STRING]",
                              "The data node: keeps rows in memory and runs transactions on them.",
                              NULL,
                              NULL,
                              NULL};
    (void)program_begin(argv[0], 1);
    argp_program_version_hook = print_version;
    argp_err_exit_status = 2;
    if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0) return 2;
    program_serves();

    pthread_mutex_init(&process.wish_lock, NULL);
    pthread_mutex_init(&process.log_lock, NULL);
    pthread_mutex_init(&process.fail_lock, NULL);
    pthread_mutex_init(&process.port_lock, NULL);
    pthread_cond_init(&process.port_changed, NULL);
    process.angel_pipe = -1;
    process.pid_file = -1;
    process.data_dir = ".";
    process.initial = options.initial;
    process.accept_data_loss = options.accept_data_loss;
    process.no_start = options.no_start;
    process.connect_string = options.connect_string;
    again_remember(argv, options.foreground);
    if (options.again.node != 0 && again_take(&process, &options.again) != 0) return 2;
    if (options.again.node != 0 && !options.again.taken) again_upgrade(&process, false);
    service_not_watched();                           /* A former life was watched, perhaps. */
    if (process.pause_s > 0) sleep(process.pause_s); /* The others end, too. */
    host_os_init(&process);
    signal(SIGPIPE, SIG_IGN);

    if (!options.again.angel) {
        if (look_first(&process, &options) != 0) return 1;
    } else if (options.daemon) {
        (void)open_log(&process); /* Without a log its words come to the same file by stderr. */
    }
    if (!options.foreground && angel_run(&process) != 0) return 1;
    int result = live(&process, &options);
    if (options.foreground) remove_pid_file(&process);
    return result;
}
