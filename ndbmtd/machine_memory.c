/* machine_memory.c -- how much memory a process may have here: the machine's, or its cgroups'. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /proc/self/cgroup has a line "0::PATH" for the unified hierarchy, and "N:CONTROLLERS:PATH" for
 * each of the older ones; the limit is in memory.max or memory.limit_in_bytes of PATH and of all
 * directories above it, the least of which counts. In a container PATH may be the host's, and then
 * only the top is there: what is missing sets no limit. (Linux: cgroups(7).) A service's
 * limit is its data node's own; in a container or a scope there may be several, whether or not they
 * run just now.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "ndbmtd/configure.h"

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

static void take_least(uint64_t *least, uint64_t limit)
{
    if (limit < *least) *least = limit;
}

static void look_from(const char *top, char *path, const char *name, struct memory_room *room)
{
    static const char unit[] = ".service";
    size_t length = strlen(path);
    bool own = length >= sizeof unit && strcmp(path + length - (sizeof unit - 1), unit) == 0;
    for (;;) {
        char file[2 * LINE_SIZE];
        snprintf(file, sizeof file, "%s%s/%s", top, path, name);
        take_least(own ? &room->own : &room->shared, limit_in(file));
        own = false;
        char *slash = strrchr(path, '/');
        if (slash == NULL) return;
        *slash = '\0';
    }
}

static bool has_memory(const char *controllers)
{
    const char *at = strstr(controllers, "memory");
    return at != NULL && (at == controllers || at[-1] == ',') && (at[6] == '\0' || at[6] == ',');
}

void cgroup_memory(const char *groups, const char *mounts, struct memory_room *room)
{
    char line[LINE_SIZE];
    FILE *stream = fopen(groups, "re");
    room->shared = room->own = UINT64_MAX;
    if (stream == NULL) return;
    while (fgets(line, sizeof line, stream) != NULL) {
        char top[LINE_SIZE];
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *path = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (path == NULL) continue;
        *controllers++ = '\0';
        *path++ = '\0';
        if (controllers[0] == '\0') {
            look_from(mounts, path, "memory.max", room);
        } else if (has_memory(controllers)) {
            snprintf(top, sizeof top, "%s/memory", mounts);
            look_from(top, path, "memory.limit_in_bytes", room);
        }
    }
    (void)fclose(stream);
}

void machine_memory(struct memory_room *room)
{
    cgroup_memory("/proc/self/cgroup", "/sys/fs/cgroup", room);
    room->machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}
