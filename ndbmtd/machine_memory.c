/* machine_memory.c -- how much memory a process may have here: the machine's, or its cgroups'. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /proc/self/cgroup has a line "0::PATH" for the unified hierarchy, and "N:CONTROLLERS:PATH" for
 * each of the older ones; the limit is in memory.max or memory.limit_in_bytes of PATH and of all
 * directories above it, the least of which counts. In a container PATH may be the host's, and then
 * only the top is there: what is missing sets no limit. (Linux: cgroups(7).)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "ndbmtd/process.h"

#define LINE_SIZE 4352 /* A path and what stands before it. */

/* "max", and no file, is no limit. */
static uint64_t limit_in(const char *file)
{
    char text[32] = "";
    char *end;
    FILE *stream = fopen(file, "re");
    if (stream == NULL) return UINT64_MAX;
    char *line = fgets(text, sizeof text, stream);
    (void)fclose(stream);
    if (line == NULL) return UINT64_MAX;
    unsigned long long limit = strtoull(text, &end, 10);
    return end == text || limit == 0 ? UINT64_MAX : limit;
}

static uint64_t least_above(const char *top, char *path, const char *name)
{
    uint64_t least = UINT64_MAX;
    for (;;) {
        char file[2 * LINE_SIZE];
        snprintf(file, sizeof file, "%s%s/%s", top, path, name);
        uint64_t limit = limit_in(file);
        if (limit < least) least = limit;
        char *slash = strrchr(path, '/');
        if (slash == NULL) return least;
        *slash = '\0';
    }
}

static bool has_memory(const char *controllers)
{
    const char *at = strstr(controllers, "memory");
    return at != NULL && (at == controllers || at[-1] == ',') && (at[6] == '\0' || at[6] == ',');
}

uint64_t cgroup_memory(const char *groups, const char *mounts)
{
    uint64_t least = UINT64_MAX;
    char line[LINE_SIZE];
    FILE *stream = fopen(groups, "re");
    if (stream == NULL) return least;
    while (fgets(line, sizeof line, stream) != NULL) {
        char top[LINE_SIZE];
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *path = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (path == NULL) continue;
        *controllers++ = '\0';
        *path++ = '\0';
        uint64_t limit = UINT64_MAX;
        if (controllers[0] == '\0') {
            limit = least_above(mounts, path, "memory.max");
        } else if (has_memory(controllers)) {
            snprintf(top, sizeof top, "%s/memory", mounts);
            limit = least_above(top, path, "memory.limit_in_bytes");
        }
        if (limit < least) least = limit;
    }
    (void)fclose(stream);
    return least;
}

uint64_t machine_memory(void)
{
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t allowed = cgroup_memory("/proc/self/cgroup", "/sys/fs/cgroup");
    return allowed < machine ? allowed : machine;
}
