/* mgmd_main.c -- ndb_mgmd: options, start in the background, the loop, orderly end. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/config_parse.h"
#include "mgmd/mgm_link.h"
#include "mgmd/mgmd.h"
#include "mgmd/mgmd_config.h"
#include "mgmd/mgmd_peers.h"
#include "mgmd/mgmd_session.h"
#include "service/log_follow.h"
#include "service/notify.h"
#include "service/foreign_options.h"
#include "service/program.h"
#include "transporters/link.h"
#include "transporters/transporter.h"

enum {
    OPT_INITIAL = 1000,
    OPT_RELOAD,
    OPT_CONFIG_DIR,
    OPT_NODAEMON,
    OPT_NODEID,
    OPT_CLUSTER,
    OPT_BIND,
    OPT_HELP
};

static const struct option long_options[] = {
    {"config-file", required_argument, NULL, 'f'},
    {"initial", no_argument, NULL, OPT_INITIAL},
    {"reload", no_argument, NULL, OPT_RELOAD},
    {"config-dir", required_argument, NULL, OPT_CONFIG_DIR},
    {"configdir", required_argument, NULL, OPT_CONFIG_DIR},
    {"nodaemon", no_argument, NULL, OPT_NODAEMON},
    {"daemon", no_argument, NULL, 'd'},
    {"ndb-nodeid", required_argument, NULL, OPT_NODEID},
    {"cluster-id", required_argument, NULL, OPT_CLUSTER},
    {"bind-address", required_argument, NULL, OPT_BIND},
    {"print-full-config", no_argument, NULL, 'P'},
    {"verbose", no_argument, NULL, 'v'},
    {"version", no_argument, NULL, 'V'},
    {"help", no_argument, NULL, OPT_HELP},
    {"usage", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0}};

static void print_help(void)
{
    printf(
        "Usage: ndb_mgmd [-f config.ini] [options]\n"
        "The management server: reads the configuration, hands it out, keeps the cluster log.\n\n"
        "  -f, --config-file=file   configuration file (config.ini; - reads standard input)\n"
        "  --config-dir=dir, --configdir=dir\n"
        "                           where the binary configuration is kept (DataDir)\n"
        "  --ndb-nodeid=n           own node id, when several [ndb_mgmd] are for this host\n"
        "  --bind-address=addr      listen on this address only (that of HostName, and 127.0.0.1)\n"
        "  --initial                drop the kept configurations, the file becomes generation 1\n"
        "  --cluster-id=n           the cluster's id, where no kept configuration has it; with\n"
        "                           --initial instead of a kept one\n"
        "  --reload                 use the file, which must exist, if it differs\n"
        "  --nodaemon               stay in the foreground\n"
        "  -d, --daemon             run in the background (default)\n"
        "  -P, --print-full-config  check the file, print all values, exit\n"
        "  -v, --verbose            also print the cluster log\n"
        "  -?, --help, --usage      print this\n"
        "  -V, --version            print the version\n");
}

/* What is wrong has been said. -1 */
static int refuse_options(void)
{
    (void)fprintf(stderr, "Try 'ndb_mgmd --help' for the options.\n");
    return -1;
}

/* getopt says what is wrong with an option, but does not know -?. */
static int next_option(int argc, char **argv)
{
    opterr = optind >= argc || strcmp(argv[optind], "-?") != 0;
    return getopt_long(argc, argv, "f:dPvV", long_options, NULL);
}

/* 0 go on, 1 done, -1 wrong options. */
static int read_options(struct mgmd_options *options, int argc, char **argv)
{
    static char name[] = "ndb_mgmd"; /* Without a path in getopt's messages. */
    int64_t number;

    if (argc > 0) argv[0] = name;
    for (int c; (c = next_option(argc, argv)) != -1;) {
        switch (c) {
        case 'f':
            options->config_file = optarg;
            break;
        case OPT_INITIAL:
            options->initial = true;
            break;
        case OPT_RELOAD:
            options->reload = true;
            break;
        case OPT_CONFIG_DIR:
            options->config_dir = optarg;
            break;
        case OPT_NODAEMON:
            options->nodaemon = true;
            break;
        case 'd':
            options->nodaemon = false;
            break;
        case OPT_BIND:
            options->bind_address = optarg;
            break;
        case 'P':
            options->print_config = true;
            break;
        case 'v':
            options->verbose = true;
            break;
        case OPT_NODEID:
            if (mgm_parse_number(optarg, &number) != 0 || number < 1 || number > CONFIG_NODES_MAX) {
                (void)fprintf(stderr, "ndb_mgmd: --ndb-nodeid=%s is wrong (allowed range 1..255)\n",
                              optarg);
                return refuse_options();
            }
            options->node_id = (uint32_t)number;
            break;
        case OPT_CLUSTER:
            if (mgm_parse_id(optarg, &options->cluster_id) != 0) {
                (void)fprintf(stderr,
                              "ndb_mgmd: --cluster-id=%s is wrong (allowed range 1..%" PRIu64 ")\n",
                              optarg, UINT64_MAX);
                return refuse_options();
            }
            break;
        case 'V':
            printf("ndb_mgmd %s\nlinks: protocol %u, with those that have %u or more\n"
                   "files: configuration %u\n",
                   MGMD_VERSION_TEXT, LINK_PROTOCOL_VERSION, LINK_PROTOCOL_VERSION_MIN,
                   CONFIG_FORMAT);
            return 1;
        case '?': /* Asked for with -?, or getopt has said what is wrong. */
            if (optopt != '?') return refuse_options();
            print_help();
            return 1;
        case OPT_HELP:
        default:
            print_help();
            return 1;
        }
    }
    if (optind == argc) return 0;
    (void)fprintf(stderr, "ndb_mgmd: takes no argument: '%s'\n", argv[optind]);
    return refuse_options();
}

static void pid_path(const struct mgmd *mgmd, char *path, size_t size)
{
    (void)snprintf(path, size, "%sndb_%u.pid", mgmd->directory, mgmd->own_node);
}

static int write_pid(const struct mgmd *mgmd)
{
    char path[1200];
    char why[1400];
    char text[24];

    pid_path(mgmd, path, sizeof(path));
    int length = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
    if (mgmd_write_public_file(path, text, (size_t)length) == 0) return 0;
    (void)snprintf(why, sizeof(why), "%s cannot be written: %s", path, strerror(errno));
    (void)fprintf(stderr, "ndb_mgmd: %s\n", why);
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_ERROR, "The server stops: %s", why);
    return -1;
}

/* The loop ends when every handle is closed; the link needs some rounds for it. */
static void stop_all(uv_timer_t *timer)
{
    struct mgmd *mgmd = timer->data;

    if (!mgmd->stopping) {
        mgmd->stopping = true;
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_INFO, "Management server shuts down");
        mgmd_sessions_close(mgmd);
        mgm_link_stop(mgmd->link);
        mgmd_listen_close(mgmd);
        uv_close((uv_handle_t *)&mgmd->timer, NULL);
        for (uint32_t i = 0; i < 2; i++)
            uv_close((uv_handle_t *)&mgmd->signals[i], NULL);
    }
    if (!mgm_link_stopped(mgmd->link)) {
        (void)uv_timer_start(&mgmd->exit_timer, stop_all, 10, 0);
        return;
    }
    uv_close((uv_handle_t *)&mgmd->exit_timer, NULL);
}

void mgmd_exit(struct mgmd *mgmd, uint64_t delay_ms)
{
    if (mgmd->stopping || uv_is_active((const uv_handle_t *)&mgmd->exit_timer)) return;
    mgmd_lock_ends(&mgmd->lock);
    mgmd_listen_close(mgmd); /* Nobody new while the last replies leave. */
    (void)uv_timer_start(&mgmd->exit_timer, stop_all, delay_ms, 0);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct mgmd *mgmd = handle->data;

    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_INFO, "Signal %d received", number);
    mgmd_exit(mgmd, 0);
}

#define LOG_MODE 0640

/* A server in the background writes what goes to standard output and error there. */
static void out_path(const struct mgmd *mgmd, char *path, size_t size)
{
    (void)snprintf(path, size, "%sndb_%u_out.log", mgmd->directory, mgmd->own_node);
}

static void on_tick(uv_timer_t *timer)
{
    struct mgmd *mgmd = timer->data;
    char path[1200];
    struct stat status;

    mgmd->tick++;
    mgmd_nodes_tick(mgmd);
    mgmd_requests_tick(mgmd);
    if (mgmd->tick % 10 != 0) return;
    service_alive(10 * MGMD_TICK_MS);
    mgmd_sessions_tick(mgmd);
    mgmd_peers_tick(mgmd);
    mgmd_identity_tick(mgmd);
    cluster_log_tick(mgmd->log);
    if (mgmd->options.nodaemon) return;
    out_path(mgmd, path, sizeof(path));
    /* What could not be opened at the start is gone. A file like standard output, which is no file
     * now, would be for everybody. */
    if (stat(path, &status) != 0 && fstat(STDOUT_FILENO, &status) == 0 &&
        !S_ISREG(status.st_mode)) {
        int made = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, LOG_MODE);
        if (made >= 0) (void)close(made);
    }
    /* Nothing that would be waited for is opened. */
    if (stat(path, &status) != 0 || S_ISREG(status.st_mode)) log_follow(STDOUT_FILENO, path);
}

void mgmd_no_port(struct mgmd *mgmd, const char *why)
{
    (void)fprintf(stderr, "ndb_mgmd: %s\n", why);
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_ERROR, "The server stops: %s", why);
}

static int start(struct mgmd *mgmd)
{
    static const int numbers[] = {SIGTERM, SIGINT};
    char why[400];

    for (uint32_t i = 0; i < 2; i++) { /* Who finds the port open may end the server. */
        (void)uv_signal_init(mgmd->loop, &mgmd->signals[i]);
        mgmd->signals[i].data = mgmd;
        (void)uv_signal_start(&mgmd->signals[i], on_signal, numbers[i]);
    }
    mgmd_nodes_start(mgmd);
    mgmd_ports_load(mgmd);
    mgmd_sessions_limit(mgmd);
    if (mgmd_listen(mgmd, why, sizeof(why)) != 0) {
        mgmd_no_port(mgmd, why);
        return -1;
    }
    mgmd->link = mgm_link_start(mgmd);
    if (mgmd->link == NULL) {
        (void)fputs("ndb_mgmd: out of memory\n", stderr);
        return -1;
    }
    if (write_pid(mgmd) != 0) return -1;
    (void)uv_timer_init(mgmd->loop, &mgmd->timer);
    (void)uv_timer_init(mgmd->loop, &mgmd->exit_timer);
    mgmd->timer.data = mgmd;
    mgmd->exit_timer.data = mgmd;
    (void)uv_timer_start(&mgmd->timer, on_tick, MGMD_TICK_MS, MGMD_TICK_MS);
    mgmd_peers_tick(mgmd);
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_INFO,
                       "Management server %s started: node %u, port %u, cluster %s, generation %u",
                       MGMD_VERSION_TEXT, mgmd->own_node, mgmd->port,
                       config_get_text(config_system(mgmd->config), CFG_SYSTEM_Name),
                       config_generation(mgmd->config));
    return 0;
}

/* Tells the waiting parent, then lets go of the terminal. */
static void detach(const struct mgmd *mgmd, int report)
{
    char path[1200];
    char done = 1;

    out_path(mgmd, path, sizeof(path));
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    /* A pipe that nobody reads is not waited for. */
    int out = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, LOG_MODE);
    if (out < 0)
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                           "%s cannot be opened: %s; what the server says on standard output and "
                           "error is lost",
                           path, strerror(errno));
    else
        (void)fcntl(out, F_SETFL, O_WRONLY | O_APPEND);
    (void)dup2(null, 0);
    (void)dup2(out >= 0 ? out : null, 1);
    (void)dup2(out >= 0 ? out : null, 2);
    if (write(report, &done, 1) != 1) return;
    (void)close(report);
}

static int run(struct mgmd *mgmd, int report)
{
    uv_loop_t loop;
    char path[1200];

    (void)signal(SIGPIPE, SIG_IGN); /* A console or client that has gone ends nobody. */
    /* Whoever moves its log may send one, and need not: where it has gone is looked at. */
    program_takes_no_hangup(report >= 0);
    (void)signal(SIGXFSZ, SIG_IGN); /* A limit of file sizes is like a full disk. */
    int error = transporter_loop_init(&loop);
    if (error != 0) {
        (void)fprintf(stderr, "ndb_mgmd: %s\n", uv_strerror(error));
        return 1;
    }
    mgmd->loop = &loop;
    int rc = mgmd_config_start(mgmd);
    if (rc == 0) {
        if (mgmd->options.verbose) cluster_log_echo(mgmd->log, true);
        rc = start(mgmd);
    }
    if (rc == 0) {
        if (report >= 0)
            detach(mgmd, report);
        else {
            printf("ndb_mgmd: node %u listens on port %u\n", mgmd->own_node, mgmd->port);
            (void)fflush(stdout);
        }
        service_ready("Node %u listens on port %u", mgmd->own_node, mgmd->port);
        (void)uv_run(&loop, UV_RUN_DEFAULT);
        service_notify("STOPPING=1");
        pid_path(mgmd, path, sizeof(path));
        (void)unlink(path);
        mgm_link_free(mgmd->link);
        mgmd_peers_free(mgmd);
        (void)uv_loop_close(&loop);
    }
    cluster_log_close(mgmd->log);
    config_free(mgmd->config);
    config_free(mgmd->pending);
    mgmd_lock_free(&mgmd->lock);
    return rc == 0 && !mgmd->failed ? 0 : 1;
}

/* The parent ends when the child has started, with the child's result. */
static int run_as_daemon(struct mgmd *mgmd)
{
    int ends[2];
    char done = 0;

    pid_t child = -1;
    if (pipe(ends) == 0) child = fork();
    if (child < 0) {
        perror("ndb_mgmd: it cannot go to the background");
        return 1;
    }
    (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    if (child == 0) {
        (void)close(ends[0]);
        (void)setsid();
        return run(mgmd, ends[1]);
    }
    (void)close(ends[1]);
    if (read(ends[0], &done, 1) == 1 && done == 1) return 0;
    (void)waitpid(child, NULL, 0);
    return 1;
}

static void print_section(const struct config_section *section)
{
    uint32_t count;
    const struct config_param *params = config_params(&count);

    printf("[%s]\n", config_kind_name(config_section_kind(section)));
    for (uint32_t i = 0; i < count; i++) {
        const struct config_param *param = &params[i];
        if (param->kind != config_section_kind(section)) continue;
        if (param->type == CONFIG_STRING) {
            printf("%s=%s\n", param->name, config_get_text(section, param->id));
        } else {
            printf("%s=%" PRIu64 "\n", param->name, config_get_u64(section, param->id));
        }
    }
    printf("\n");
}

static void print_sections(const struct cluster_config *config)
{
    print_section(config_system(config));
    for (struct config_section *node = config_next_node(config, 0, CONFIG_NONE); node != NULL;
         node = config_next_node(config, config_section_node(node), CONFIG_NONE)) {
        print_section(node);
    }
    for (uint32_t i = 0; i < config_count(config, CONFIG_TCP); i++)
        print_section(config_link_at(config, i));
}

static int print_config(const struct mgmd *mgmd)
{
    const char *file = mgmd->options.config_file == NULL ? "config.ini" : mgmd->options.config_file;
    struct cluster_config *config = mgmd_read_config(file);

    if (config == NULL) return 1;
    print_sections(config);
    config_free(config);
    return 0;
}

int main(int argc, char **argv)
{
    struct mgmd *mgmd = calloc(1, sizeof(*mgmd));
    int status = 1;

    (void)program_begin(argv[0], 1);
    argc = foreign_options_take("ndb_mgmd", argc, argv);
    if (mgmd == NULL) return 1;
    int rc = read_options(&mgmd->options, argc, argv);
    if (rc != 0)
        status = rc < 0 ? 2 : 0;
    else if (mgmd->options.print_config)
        status = print_config(mgmd);
    else
        status = mgmd->options.nodaemon ? run(mgmd, -1) : run_as_daemon(mgmd);
    free(mgmd);
    return status;
}
