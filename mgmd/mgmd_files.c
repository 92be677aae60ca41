/* mgmd_files.c -- the server's small files: written whole or not at all; the ports of data nodes.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mgmd/mgmd.h"
#include "mgmd/mgmd_config.h"

FILE *mgmd_open_file(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0) return NULL;
    bool good = fstat(fd, &status) == 0;
    if (good && !S_ISREG(status.st_mode)) {
        errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
        good = false;
    }
    FILE *in = good ? fdopen(fd, "r") : NULL;
    int why = errno;
    if (in == NULL) (void)close(fd);
    errno = why;
    return in;
}

uint8_t *mgmd_read_file(const char *path, size_t *size)
{
    FILE *in = mgmd_open_file(path);
    uint8_t *bytes = in == NULL ? NULL : malloc(CONFIG_ENCODED_MAX);

    *size = 0;
    if (bytes != NULL) *size = fread(bytes, 1, CONFIG_ENCODED_MAX, in);
    if (bytes != NULL && ferror(in) != 0) {
        int why = errno;
        free(bytes);
        bytes = NULL;
        errno = why;
    }
    if (in != NULL) (void)fclose(in); /* It was read only: nothing is left that could fail. */
    return bytes;
}

int mgmd_sync_directory_of(const char *path)
{
    char directory[2400];

    (void)snprintf(directory, sizeof(directory), "%s", path);
    char *slash = strrchr(directory, '/');
    if (slash != NULL) slash[1] = '\0';
    int in = open(slash != NULL ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = in < 0 ? -1 : fsync(in);
    if (rc != 0 && errno == EINVAL) rc = 0; /* A file system that has no such thing. */
    if (in >= 0) (void)close(in);
    return rc;
}

int mgmd_remove_file(const char *path)
{
    if (unlink(path) != 0 && errno != ENOENT) return -1;
    return mgmd_sync_directory_of(path);
}

/* Writes beside, syncs, renames: the name never stands for half a file. When it has the name it
 * counts as written: a directory that cannot be synced may bring the former one back after a loss
 * of power, which is said. */
static int write_file(const char *path, const void *bytes, size_t size, mode_t mode)
{
    char beside[2400];
    const char *at = bytes;

    (void)snprintf(beside, sizeof(beside), "%s.tmp", path);
    (void)unlink(beside); /* A killed server's; or a link, whose target stays. */
    int out = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (out < 0) return -1;
    while (size > 0) {
        ssize_t n = write(out, at, size);
        if (n <= 0) break;
        at += n;
        size -= (size_t)n;
    }
    int rc = size == 0 ? fsync(out) : -1;
    int why = errno;
    (void)close(out);
    if (rc == 0) {
        rc = rename(beside, path);
        why = errno;
    }
    if (rc != 0) {
        (void)unlink(beside);
        errno = why;
    }
    if (rc == 0 && mgmd_sync_directory_of(path) != 0)
        cluster_log_stderr("the directory of %s cannot be synced (%s): a loss of power may "
                           "take what was written",
                           path, strerror(errno));
    return rc;
}

int mgmd_write_file(const char *path, const void *bytes, size_t size)
{
    return write_file(path, bytes, size, 0640);
}

const char *mgmd_write_cure(int error)
{
    if (error == ENOSPC || error == EDQUOT) return "make room there, then start it again";
    return "name a directory where this user may write with --config-dir";
}

int mgmd_write_public_file(const char *path, const void *bytes, size_t size)
{
    return write_file(path, bytes, size, 0644);
}

/* ---- ports ---- */

static void ports_path(const struct mgmd *mgmd, char *path, size_t size)
{
    (void)snprintf(path, size, "%sndb_%u_ports", mgmd->config_dir, mgmd->own_node);
}

/* Old ports do no harm: whoever answers there must prove to be that node, of this cluster. A fresh
 * server believes whoever answers which cluster it is: it waits until it is told ports. */
void mgmd_ports_load(struct mgmd *mgmd)
{
    char path[2300];
    unsigned node;
    unsigned port;

    if (mgmd->fresh) return;
    ports_path(mgmd, path, sizeof(path));
    FILE *in = mgmd_open_file(path);
    if (in == NULL) return;
    while (fscanf(in, "%u %u", &node, &port) == 2) {
        if (node >= 1 && node <= CONFIG_DATA_NODES_MAX && port <= 65535) {
            mgmd->nodes[node].port = (uint16_t)port;
        }
    }
    (void)fclose(in);
}

void mgmd_ports_store(const struct mgmd *mgmd)
{
    char path[2300];
    char text[CONFIG_DATA_NODES_MAX * 12 + 1];
    size_t used = 0;

    for (uint32_t id = 1; id <= CONFIG_DATA_NODES_MAX; id++) {
        if (mgmd->nodes[id].port == 0) continue;
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, "%u %u\n", id, mgmd->nodes[id].port);
    }
    ports_path(mgmd, path, sizeof(path));
    if (mgmd_write_file(path, text, used) != 0) {
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING, "%s cannot be written: %s", path,
                           strerror(errno));
    }
}
