/* look.c -- what happens in sight of the user, before there is an angel: the first look at the
 * configuration, DataDir, pid file, log, the way to the background. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "ndbmtd/configure.h"
#include "ndbmtd/life.h"
#include "service/program.h"

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

int process_open_log(struct process *process)
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
    /* Whoever moves its log may send one, and need not: where it has gone is looked at. */
    program_takes_no_hangup(true);
    write_pid_file(process);
    close(ends[0]);
    if (write(ends[1], "+", 1) != 1) exit(1);
    close(ends[1]);
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(fileno(process->log), 1);
    dup2(fileno(process->log), 2);
}

/* The first look at the configuration happens in sight of the user; its errors go to the terminal.
 */
int look_first(struct process *process, struct options *options)
{
    char why[256];
    int id_wait = options->again.node != 0 ? ID_WAIT_RESTART : ID_WAIT_FIRST;
    if (options->again.node != 0) options->node_id = options->again.node;
    if (fetch_first(process, options, id_wait) != 0) return -1;
    if (configure_node(process, why, sizeof why) != 0) {
        process_log(process, LOG_LEVEL_ERROR, "%s", why);
        return EXIT_INVALID_CONFIG;
    }
    int unfit = memory_fits(process, NULL, why, sizeof why);
    if (unfit != 0)
        process_log(process, unfit < 0 ? LOG_LEVEL_ERROR : LOG_LEVEL_WARNING, "%s", why);
    if (unfit < 0) return EXIT_MEMALLOC;
    angel_tell_settings(
        process); /* No pipe yet: what the angel does when its first child dies at once. */
    if (use_data_dir(process) != 0) return EXIT_GENERIC;
    if (open_pid_file(process) != 0) return -1; /* Perhaps another process is the node. */
    if (options->daemon && process_open_log(process) != 0) return EXIT_GENERIC;
    ndb_mgm_destroy_handle(process->mgm); /* Frees the node id: the working process takes it. */
    config_free((struct cluster_config *)(uintptr_t)process->cluster);
    process->cluster = NULL;
    if (options->daemon)
        go_to_background(process);
    else
        write_pid_file(process); /* Its pid is the angel's, if there is one. */
    return 0;
}
