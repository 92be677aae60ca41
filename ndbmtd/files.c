/* files.c -- where the node's files are, and who carries out what NDBFS asks. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <dirent.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "blocks/dbdih/dih_block.h"
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

#define PARENT_SIZE 4096u

/* Where the directory of a node's files is. */
static void parent_of(const struct config_section *node, char *path)
{
    const char *own = config_get_text(node, CFG_NDBD_FileSystemPath);
    if (own == NULL || own[0] == '\0') own = config_get_text(node, CFG_NDBD_DataDir);
    snprintf(path, PARENT_SIZE, "%s", own);
    for (size_t end = strlen(path); end > 1 && path[end - 1] == '/'; end--)
        path[end - 1] = '\0';
}

uint64_t files_cluster(const struct process *process)
{
    const struct config_section *own = config_node(process->cluster, process->config.own_node);
    char parent[PARENT_SIZE];
    uint64_t cluster = 0;
    if (own == NULL || config_section_kind(own) != CONFIG_NDBD) return 0;
    if (config_get_u64(own, CFG_NDBD_Diskless) != 0) return 0;
    parent_of(own, parent);
    for (uint32_t copy = 0; cluster == 0 && dih_sysfile_name(copy) != NULL; copy++) {
        char path[4352];
        uint8_t head[512];
        snprintf(path, sizeof path, "%s/ndb_%u_fs/%s", parent, process->config.own_node,
                 dih_sysfile_name(copy));
        FILE *in = fopen(path, "rb");
        size_t size = in == NULL ? 0 : fread(head, 1, sizeof head, in);
        if (in != NULL) fclose(in);
        cluster = dih_sysfile_cluster(head, size, copy, process->config.own_node);
    }
    return cluster;
}

/* A node that has nothing begins with nothing. Files of another one in its place, which that one
 * does not look for there, are rather a mistake in the configuration. */
static void warn_of_others(struct process *process, const char *parent, const char *path)
{
    struct stat status;
    DIR *directory = stat(path, &status) == 0 ? NULL : opendir(parent);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        char name[32];
        char theirs[PARENT_SIZE] = "";
        unsigned id;
        if (sscanf(entry->d_name, "ndb_%u_fs", &id) != 1 || id > NODE_ID_MAX) continue;
        snprintf(name, sizeof name, "ndb_%u_fs", id);
        if (strcmp(name, entry->d_name) != 0) continue;
        const struct config_section *node = config_node(process->cluster, id);
        if (node != NULL && config_section_kind(node) == CONFIG_NDBD) parent_of(node, theirs);
        if (strcmp(theirs, parent) == 0) continue;
        process_log(process, LOG_LEVEL_WARNING,
                    "this node has no files and begins empty, but the files of node %u are in its "
                    "place (%s/%s): were DataDir or FileSystemPath of two nodes exchanged?",
                    id, parent, name);
    }
    if (directory != NULL) closedir(directory);
}

int files_open(struct process *process)
{
    const struct config_section *own = config_node(process->cluster, process->config.own_node);
    char parent[PARENT_SIZE];
    char path[PARENT_SIZE + 32];
    char why[4352];
    if (process->config.diskless != 0) return 0;
    allow_files(process);
    parent_of(own, parent);
    snprintf(path, sizeof path, "%s/ndb_%u_fs", parent, process->config.own_node);
    warn_of_others(process, parent, path);
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
