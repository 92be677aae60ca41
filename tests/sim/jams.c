/* jams.c -- which jam sites of the blocks were reached, over all processes of a call, and of calls
 * before it. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/sim/jams.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>
#include "kernel/jam.h"

#define RINGS     4096u /* Power of two: threads of all nodes. */
#define LINE_SIZE 200u

/* How far a ring was looked at. Its memory may be another one's ring later. */
struct looked {
    const struct jam_ring *ring;
    uint32_t next;
};

static struct {
    const char *path;
    uint8_t *reached; /* Shared; one byte for each site. */
    uint32_t sites;
    struct looked ring[RINGS];
} jams;

void jams_open(const char *path)
{
    jams.sites = (uint32_t)(__stop_jam_sites - __start_jam_sites);
    jams.reached =
        mmap(NULL, jams.sites, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (jams.reached == MAP_FAILED) abort();
    jams.path = path;
}

static struct looked *looked_at(const struct jam_ring *ring)
{
    uint32_t at = (uint32_t)(((uintptr_t)ring >> 6) * 0x9E3779B1u) & (RINGS - 1u);
    while (jams.ring[at].ring != NULL && jams.ring[at].ring != ring)
        at = (at + 1u) & (RINGS - 1u);
    jams.ring[at].ring = ring;
    return &jams.ring[at];
}

void jams_look(void)
{
    if (jams.path == NULL) return;
    struct looked *looked = looked_at(this_jam);
    uint32_t from = looked->next <= this_jam->next ? looked->next : 0;
    if (this_jam->next - from > JAM_RING) from = this_jam->next - JAM_RING;
    for (; from != this_jam->next; from++) {
        const struct jam_site *site = this_jam->at[from & (JAM_RING - 1u)];
        if (site >= __start_jam_sites && site < __stop_jam_sites)
            jams.reached[site - __start_jam_sites] = 1;
    }
    looked->next = this_jam->next;
}

/* --- The report. --- */

/* "blocks/dbtc/tc.c:12"; false: it is no site of a block. */
static bool place_of(uint32_t at, char *text, uint32_t size)
{
    const struct jam_site *site = &__start_jam_sites[at];
    const char *name = strstr(site->file, "blocks/");
    if (name == NULL) return false;
    snprintf(text, size, "%s:%u", name, site->line);
    return true;
}

/* A header's site is there once for each file that includes it. */
static bool reached(uint32_t at)
{
    const struct jam_site *site = &__start_jam_sites[at];
    for (uint32_t i = 0; i < jams.sites; i++) {
        const struct jam_site *other = &__start_jam_sites[i];
        if (jams.reached[i] && other->line == site->line && strcmp(other->file, site->file) == 0)
            return true;
    }
    return false;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct list {
    char **line;
    uint32_t count;
};

static void list_add(struct list *list, const char *text)
{
    list->line[list->count] = strdup(text);
    if (list->line[list->count++] == NULL) abort();
}

static void list_sort(struct list *list)
{
    uint32_t kept = 0;
    qsort(list->line, list->count, sizeof list->line[0], by_text);
    for (uint32_t i = 0; i < list->count; i++) {
        if (kept > 0 && strcmp(list->line[kept - 1u], list->line[i]) == 0)
            free(list->line[i]);
        else
            list->line[kept++] = list->line[i];
    }
    list->count = kept;
}

static bool has(const struct list *list, const char *text)
{
    return bsearch(&text, list->line, list->count, sizeof list->line[0], by_text) != NULL;
}

/* What calls before have not reached. False: there were none with these sites. */
static bool read_before(const struct list *all, uint64_t hash, struct list *before)
{
    char line[LINE_SIZE];
    unsigned long long stamp = 0;
    FILE *file = fopen(jams.path, "r");
    bool good = file != NULL && fgets(line, sizeof line, file) != NULL &&
                sscanf(line, "# sites %llx", &stamp) == 1 && stamp == hash;
    while (good && fgets(line, sizeof line, file) != NULL && before->count < all->count) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '#') list_add(before, line);
    }
    if (file != NULL) fclose(file);
    list_sort(before);
    return good;
}

static void list_free(struct list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        free(list->line[i]);
    free(list->line);
}

static struct list list_new(void)
{
    struct list list = {.line = calloc(jams.sites + 1u, sizeof(char *))};
    if (list.line == NULL) abort();
    return list;
}

static uint64_t hash_of(const struct list *list)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < list->count; i++)
        hash = XXH3_64bits_withSeed(list->line[i], strlen(list->line[i]), hash);
    return hash;
}

/* Length of "blocks/dbtc/" of a line. */
static size_t room_of(const char *line)
{
    const char *end = strchr(line + strlen("blocks/"), '/');
    return end == NULL ? 0 : (size_t)(end - line) + 1u;
}

static uint32_t in_room(const struct list *list, const char *room, size_t size)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i++)
        count += strncmp(list->line[i], room, size) == 0;
    return count;
}

static bool write_list(const struct list *all, const struct list *left)
{
    FILE *file = fopen(jams.path, "w");
    if (file == NULL) {
        perror(jams.path);
        return false;
    }
    fprintf(file, "# sites %016llx\n# %u of %u were never reached:\n",
            (unsigned long long)hash_of(all), left->count, all->count);
    for (uint32_t i = 0; i < left->count; i++) {
        const char *line = left->line[i];
        size_t size = room_of(line);
        if (i == 0 || strncmp(line, left->line[i - 1u], size) != 0)
            fprintf(file, "# %.*s: %u of %u\n", (int)size, line, in_room(left, line, size),
                    in_room(all, line, size));
        fprintf(file, "%s\n", line);
    }
    return fclose(file) == 0;
}

void jams_add(const char *path)
{
    char line[LINE_SIZE];
    char text[LINE_SIZE];
    struct list list = {0};
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        exit(2);
    }
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char **more = realloc(list.line, (list.count + 1u) * sizeof(char *));
        if (more == NULL) abort();
        list.line = more;
        list_add(&list, line);
    }
    fclose(file);
    list_sort(&list);
    for (uint32_t i = 0; i < jams.sites; i++) {
        if (place_of(i, text, sizeof text) && has(&list, text)) jams.reached[i] = 1;
    }
    list_free(&list);
}

bool jams_close(uint32_t most)
{
    struct list all = list_new();
    struct list never = list_new();
    struct list before = list_new();
    char text[LINE_SIZE];
    for (uint32_t i = 0; i < jams.sites; i++) {
        if (!place_of(i, text, sizeof text)) continue;
        list_add(&all, text);
        if (!reached(i)) list_add(&never, text);
    }
    list_sort(&all);
    list_sort(&never);
    bool merged = read_before(&all, hash_of(&all), &before);
    struct list unreached = list_new();
    for (uint32_t i = 0; i < never.count; i++) {
        if (!merged || has(&before, never.line[i])) list_add(&unreached, never.line[i]);
    }
    bool written = write_list(&all, &unreached);
    uint32_t left = unreached.count;
    list_free(&unreached);
    if (!written) return false;
    printf("jam sites of the blocks: %u, never reached: %u (%s)\n", all.count, left, jams.path);
    if (left > most) printf("these are more than %u\n", most);
    list_free(&all);
    list_free(&never);
    list_free(&before);
    return left <= most;
}
