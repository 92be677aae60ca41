/* files.c -- where the node's files are, and who carries out what NDBFS asks. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "ndbmtd/io_threads.h"
#include "ndbmtd/process.h"

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

int files_open(struct process *process)
{
    const struct config_section *own = config_node(process->cluster, process->config.own_node);
    const char *parent = config_get_text(own, CFG_NDBD_FileSystemPath);
    char path[4096];
    char why[4352];
    if (process->config.diskless != 0) return 0;
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
