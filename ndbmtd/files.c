/* files.c -- where the node's files are, and who carries out what NDBFS asks. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include <sys/resource.h>
#include "ndbmtd/io_threads.h"
#include "ndbmtd/process.h"

#define FILES_BESIDES 600u /* Links to 255 nodes, logs, pipes. */

static void on_done(void *context, struct io_request *request)
{
    node_io_done(((struct process *)context)->node, request);
}

static void on_log(void *context, enum log_level level, const char *text)
{
    process_log(context, level, "files: %s", text);
}

static void on_began(void *context)
{
    thread_place_kind(context, THREAD_KIND_IO);
}

static void submit(struct host *host, struct io_request *request)
{
    io_threads_submit(((struct process *)host)->io, request);
}

/* The soft limit of a shell is often 1024: for files, sockets and logs together too few. */
static void allow_files(struct process *process)
{
    struct rlimit limit;
    rlim_t wanted = process->config.open_files_max + FILES_BESIDES;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
    rlim_t most = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    limit.rlim_cur = most;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0 && most == wanted) return;
    process_log(
        process, LOG_LEVEL_WARNING,
        "files: the system allows %llu open files, %u may be needed: raise its limit (nofile)",
        (unsigned long long)most, (uint32_t)wanted);
}

int files_open(struct process *process)
{
    const struct config_section *own = config_node(process->cluster, process->config.own_node);
    const char *parent = config_get_text(own, CFG_NDBD_FileSystemPath);
    char path[4096];
    char why[4352];
    if (process->config.diskless != 0) return 0;
    allow_files(process);
    if (parent == NULL || parent[0] == '\0') parent = process->data_dir;
    snprintf(path, sizeof path, "%s/ndb_%u_fs", parent, process->config.own_node);
    struct io_options options = {
        .directory = path,
        .files_max = process->config.open_files_max,
        .done = on_done,
        .log = on_log,
        .began = on_began,
        .context = process,
    };
    process->io = io_threads_create(&options, why, sizeof why);
    if (process->io == NULL) {
        process_log(process, LOG_LEVEL_ERROR, "The node's files: %s", why);
        return -1;
    }
    process->host.io_submit = submit;
    return 0;
}

void files_close(struct process *process)
{
    io_threads_stop(process->io);
    process->io = NULL;
}
