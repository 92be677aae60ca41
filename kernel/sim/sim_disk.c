/* sim_disk.c -- a simulated disk's names, requests under way, ends, and faults from outside. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "kernel/sim/sim_disk.h"
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "kernel/sim/sim_disk_state.h"

#define POISON 0xEE /* Where a read will put its bytes, until it does. */

void sim_disk_defaults(struct sim_disk_options *options)
{
    memset(options, 0, sizeof *options);
    options->latency_min_us = 20;
    options->latency_mean_us = 100;
    options->stall_per_10000 = 5;
    options->stall_us = 20000;
}

void *disk_grow(void *memory, uint32_t count, uint32_t *room, size_t size)
{
    if (count < *room) return memory;
    *room = *room == 0 ? 16 : *room * 2;
    memory = realloc(memory, *room * size);
    if (memory == NULL) abort();
    return memory;
}

struct sim_disk *sim_disk_create(const struct sim_disk_options *options)
{
    struct sim_disk *disk = calloc(1, sizeof *disk);
    if (disk == NULL) abort();
    disk->options = *options;
    disk->overlay = calloc(SIM_OVERLAYS, sizeof *disk->overlay);
    if (disk->overlay == NULL) abort();
    rng_seed(&disk->rng, options->seed);
    return disk;
}

void sim_disk_destroy(struct sim_disk *disk)
{
    if (disk == NULL) return;
    disk_handles_drop(disk);
    for (uint32_t i = 0; i < disk->name_count; i++) {
        if (disk->name[i].inode != NULL) inode_free(disk->name[i].inode);
    }
    free(disk->name);
    free(disk->open);
    free(disk->open_name);
    free(disk->pending);
    free(disk->overlay);
    free(disk);
}

/* --- Names. --- */

static uint32_t place_of(const struct sim_disk *disk, const char *path)
{
    uint32_t low = 0;
    uint32_t high = disk->name_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (strcmp(disk->name[middle].path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct sim_name *disk_find(const struct sim_disk *disk, const char *path)
{
    uint32_t at = place_of(disk, path);
    return at < disk->name_count && strcmp(disk->name[at].path, path) == 0 ? &disk->name[at] : NULL;
}

struct sim_name *disk_add(struct sim_disk *disk, const char *path, struct sim_inode *inode)
{
    uint32_t at = place_of(disk, path);
    disk->name = disk_grow(disk->name, disk->name_count, &disk->name_room, sizeof *disk->name);
    memmove(disk->name + at + 1, disk->name + at, (disk->name_count - at) * sizeof *disk->name);
    disk->name_count++;
    struct sim_name *name = &disk->name[at];
    memset(name, 0, sizeof *name);
    memcpy(name->path, path, strlen(path));
    name->inode = inode;
    return name;
}

static void overlays_of_drop(struct sim_disk *disk, const struct sim_inode *inode)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < disk->overlay_count; i++) {
        if (disk->overlay[i].inode != inode) disk->overlay[kept++] = disk->overlay[i];
    }
    disk->overlay_count = kept;
    if (disk->misdirect_from == inode || disk->misdirect_to == inode) disk->misdirect_from = NULL;
}

static void inode_release(struct sim_disk *disk, struct sim_inode *inode)
{
    overlays_of_drop(disk, inode);
    inode_free(inode);
}

void disk_remove(struct sim_disk *disk, struct sim_name *name)
{
    struct sim_inode *inode = name->inode;
    uint32_t at = (uint32_t)(name - disk->name);
    disk->name_count--;
    memmove(name, name + 1, (disk->name_count - at) * sizeof *name);
    if (inode == NULL) return;
    if (inode->opens > 0) {
        disk->violation = "an open file is removed or replaced";
        inode->unlinked = true;
    } else {
        inode_release(disk, inode);
    }
}

void disk_handles_drop(struct sim_disk *disk)
{
    for (uint32_t i = 0; i < disk->open_room; i++) {
        struct sim_inode *inode = disk->open[i];
        disk->open[i] = NULL;
        if (inode != NULL && --inode->opens == 0 && inode->unlinked) inode_release(disk, inode);
    }
}

/* --- Requests under way. --- */

static uint64_t memory_hash(const struct io_request *request)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < request->piece_count; i++)
        hash = hash * 31 + XXH3_64bits(request->piece[i].memory, request->piece[i].size);
    return hash;
}

/* Exponential with integers: the mean times the number of coin tosses until the first head, and a
 * part of the next. */
static uint64_t latency(struct sim_disk *disk)
{
    const struct sim_disk_options *options = &disk->options;
    if (disk->calm) return 1;
    uint64_t drawn = rng_next(&disk->rng);
    uint64_t rounds = drawn == 0 ? 63 : (uint64_t)__builtin_ctzll(drawn);
    uint64_t mean = options->latency_mean_us;
    uint64_t us =
        options->latency_min_us + rounds * mean * 7 / 10 + rng_below(&disk->rng, mean * 7 / 10 + 1);
    if (rng_chance(&disk->rng, options->stall_per_10000, 10000)) us += options->stall_us;
    return us;
}

static bool on_names(uint32_t op)
{
    return op == IO_OPEN || op == IO_RENAME || op == IO_REMOVE || op == IO_LIST;
}

static void watch_conflicts(struct sim_disk *disk, const struct io_request *request)
{
    for (uint32_t i = 0; i < disk->pending_count; i++) {
        const struct io_request *other = disk->pending[i].request;
        if (on_names(other->op) || other->file != request->file) continue;
        bool writes = request->op == IO_WRITE || other->op == IO_WRITE;
        bool data = (request->op == IO_READ || request->op == IO_WRITE) &&
                    (other->op == IO_READ || other->op == IO_WRITE);
        bool meet = request->offset < other->offset + io_bytes(other) &&
                    other->offset < request->offset + io_bytes(request);
        if (data && writes && meet)
            disk->violation = "a write overlaps with another request under way";
        if (request->op == IO_CLOSE || other->op == IO_CLOSE)
            disk->violation = "a file is closed while requests are under way";
    }
}

void sim_disk_submit(struct sim_disk *disk, struct io_request *request, uint64_t now_us)
{
    disk->pending =
        disk_grow(disk->pending, disk->pending_count, &disk->pending_room, sizeof *disk->pending);
    struct sim_pending *pending = &disk->pending[disk->pending_count];
    memset(pending, 0, sizeof *pending);
    pending->request = request;
    if (!on_names(request->op)) {
        if (request->file >= disk->open_room || disk->open[request->file] == NULL)
            abort(); /* NDBFS' mistake. */
        pending->inode = disk->open[request->file];
        watch_conflicts(disk, request);
    }
    if (request->op == IO_WRITE) pending->hash = memory_hash(request);
    for (uint32_t i = 0; i < request->piece_count && request->op == IO_READ; i++)
        memset(request->piece[i].memory, POISON, request->piece[i].size);
    pending->due_us = now_us + latency(disk);
    pending->number = disk->number++;
    disk->pending_count++;
}

static uint64_t due(const struct sim_disk *disk, const struct sim_pending *pending)
{
    return pending->due_us < disk->stall_until ? disk->stall_until : pending->due_us;
}

/* Index of the one that is answered next. */
static uint32_t first(const struct sim_disk *disk)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < disk->pending_count; i++) {
        const struct sim_pending *a = &disk->pending[i];
        const struct sim_pending *b = &disk->pending[best];
        if (a->due_us < b->due_us || (a->due_us == b->due_us && a->number < b->number)) best = i;
    }
    return best;
}

uint64_t sim_disk_next(const struct sim_disk *disk)
{
    return disk->pending_count == 0 ? UINT64_MAX : due(disk, &disk->pending[first(disk)]);
}

struct io_request *sim_disk_take(struct sim_disk *disk, uint64_t now_us)
{
    if (disk->pending_count == 0) return NULL;
    uint32_t at = first(disk);
    struct sim_pending pending = disk->pending[at];
    if (due(disk, &pending) > now_us) return NULL;
    disk->pending[at] = disk->pending[--disk->pending_count];
    if (pending.request->op == IO_WRITE && memory_hash(pending.request) != pending.hash)
        disk->violation = "memory of a write was changed while it was under way";
    disk_apply(disk, pending.request, pending.inode);
    return pending.request;
}

uint64_t sim_disk_operations(const struct sim_disk *disk)
{
    return disk->operations;
}

const char *sim_disk_violation(const struct sim_disk *disk)
{
    return disk->violation;
}

/* --- Ends. --- */

/* A write under way when the process died: a part of it, all or nothing. */
static void half_done(struct sim_disk *disk, struct sim_pending *pending)
{
    struct io_request copy = *pending->request;
    if (copy.op == IO_LIST || copy.op == IO_READ || copy.op == IO_CLOSE ||
        rng_chance(&disk->rng, 1, 2))
        return;
    copy.flags &= ~(uint32_t)IO_THEN_SYNC;
    if (copy.op == IO_WRITE && rng_chance(&disk->rng, 1, 4)) {
        inode_write(pending->inode, copy.offset, &copy, rng_below(&disk->rng, io_bytes(&copy) + 1));
        return;
    }
    if (copy.op == IO_OPEN) { /* The name may be there; nobody holds it open. */
        disk_handles_drop(disk);
        copy.file = 0;
    }
    disk_apply(disk, &copy, pending->inode);
}

void sim_disk_detach(struct sim_disk *disk)
{
    for (uint32_t pass = 0; pass < 2;
         pass++) { /* Open files first: those that make names drop the handles. */
        for (uint32_t i = 0; i < disk->pending_count; i++) {
            if ((disk->pending[i].inode == NULL) == (pass == 1)) half_done(disk, &disk->pending[i]);
        }
    }
    disk->pending_count = 0;
    disk_handles_drop(disk);
}

static void crash_inode(struct sim_disk *disk, struct sim_inode *inode, uint32_t fates_allowed)
{
    for (uint32_t i = 0; i < inode->change_count; i++) {
        enum sim_fate fate = (enum sim_fate)rng_below(&disk->rng, FATE_COUNT);
        if ((fates_allowed & (1u << fate)) == 0) fate = FATE_KEPT;
        inode_change(inode, i, fate, &disk->rng);
    }
    inode_settle(inode, true);
}

void sim_disk_crash(struct sim_disk *disk, uint32_t fates_allowed)
{
    sim_disk_detach(disk);
    for (uint32_t i = 0; i < disk->name_count; i++) {
        if (disk->name[i].inode != NULL) crash_inode(disk, disk->name[i].inode, fates_allowed);
    }
}

void sim_disk_land(struct sim_disk *disk)
{
    for (uint32_t i = 0; i < disk->pending_count; i++) {
        const struct sim_pending *pending = &disk->pending[i];
        if (pending->inode != NULL && pending->request->op == IO_WRITE)
            inode_write(pending->inode, pending->request->offset, pending->request,
                        io_bytes(pending->request));
    }
    disk->pending_count = 0;
    disk_handles_drop(disk);
}

uint32_t sim_disk_unsynced(const struct sim_disk *disk)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < disk->name_count; i++)
        count += disk->name[i].inode == NULL ? 0 : disk->name[i].inode->change_count;
    return count;
}

void sim_disk_crash_exact(struct sim_disk *disk, const uint8_t *fates, uint32_t count)
{
    uint32_t at = 0;
    disk->pending_count = 0;
    disk_handles_drop(disk);
    for (uint32_t i = 0; i < disk->name_count; i++) {
        struct sim_inode *inode = disk->name[i].inode;
        if (inode == NULL) continue;
        for (uint32_t change = 0; change < inode->change_count; change++, at++)
            inode_change(inode, change, at < count ? (enum sim_fate)fates[at] : FATE_LOST,
                         &disk->rng);
        inode_settle(inode, true);
    }
}

static struct sim_inode *copy_of(const struct sim_disk *disk, const struct sim_disk *copy,
                                 const struct sim_inode *inode)
{
    for (uint32_t i = 0; i < disk->name_count; i++) {
        if (disk->name[i].inode == inode && inode != NULL) return copy->name[i].inode;
    }
    return NULL;
}

struct sim_disk *sim_disk_clone(const struct sim_disk *disk)
{
    struct sim_disk *copy = sim_disk_create(&disk->options);
    copy->rng = disk->rng;
    copy->operations = disk->operations;
    for (uint32_t i = 0; i < disk->name_count; i++) {
        const struct sim_name *name = &disk->name[i];
        disk_add(copy, name->path, name->inode == NULL ? NULL : inode_copy(name->inode));
    }
    for (uint32_t i = 0; i < disk->overlay_count; i++) {
        copy->overlay[i] = disk->overlay[i];
        copy->overlay[i].inode = copy_of(disk, copy, disk->overlay[i].inode);
    }
    copy->overlay_count = disk->overlay_count;
    for (uint32_t i = 0; i < disk->pending_count; i++) {
        const struct sim_pending *pending = &disk->pending[i];
        struct sim_inode *inode = copy_of(disk, copy, pending->inode);
        if (inode != NULL && pending->request->op == IO_WRITE)
            inode_write(inode, pending->request->offset, pending->request,
                        io_bytes(pending->request));
    }
    return copy;
}

/* --- Faults. --- */

void sim_disk_set_capacity(struct sim_disk *disk, uint64_t bytes)
{
    disk->options.capacity = bytes;
}

uint64_t sim_disk_used(const struct sim_disk *disk)
{
    uint64_t used = 0;
    for (uint32_t i = 0; i < disk->name_count; i++)
        used += disk->name[i].inode == NULL ? 0 : disk->name[i].inode->now.size;
    return used;
}

void sim_disk_fail(struct sim_disk *disk, enum io_op op, const char *prefix, enum io_error error,
                   uint32_t skip, uint32_t count)
{
    for (uint32_t i = 0; i < SIM_RULES; i++) {
        struct sim_rule *rule = &disk->rule[i];
        if (rule->count != 0) continue;
        memset(rule, 0, sizeof *rule);
        rule->op = op;
        rule->error = error;
        rule->skip = skip;
        rule->count = count;
        size_t length = strlen(prefix);
        memcpy(rule->prefix, prefix, length < IO_NAME_MAX ? length : IO_NAME_MAX - 1);
        return;
    }
    abort(); /* The test arms more than anybody can follow. */
}

bool sim_disk_armed(const struct sim_disk *disk)
{
    bool armed = disk->options.capacity != 0;
    for (uint32_t i = 0; i < SIM_RULES; i++)
        armed = armed || disk->rule[i].count != 0;
    return armed;
}

void sim_disk_lie(struct sim_disk *disk)
{
    disk->lies = true;
}

void sim_disk_stall(struct sim_disk *disk, uint64_t until_us)
{
    disk->stall_until = until_us;
}

bool sim_disk_rot(struct sim_disk *disk, const char *path, uint64_t offset)
{
    const struct sim_name *name = disk_find(disk, path);
    if (name == NULL || name->inode == NULL || offset >= name->inode->now.size) return false;
    if (disk->overlay_count == SIM_OVERLAYS) return false;
    const struct sim_image *image = &name->inode->now;
    struct sim_overlay *overlay = &disk->overlay[disk->overlay_count++];
    memset(overlay, 0, sizeof *overlay);
    overlay->inode = name->inode;
    overlay->offset = offset / SIM_SECTOR * SIM_SECTOR;
    overlay->rot = true;
    uint64_t hash = XXH3_64bits(image->bytes + offset, 1) ^ offset;
    overlay->bit = (uint32_t)(offset % SIM_SECTOR) * 8u + (uint32_t)(hash % 8u);
    return true;
}

bool sim_disk_rot_any(struct sim_disk *disk)
{
    uint64_t used = sim_disk_used(disk);
    uint64_t at = rng_below(&disk->rng, used);
    for (uint32_t i = 0; i < disk->name_count && used > 0; i++) {
        if (disk->name[i].inode == NULL) continue;
        if (at < disk->name[i].inode->now.size) return sim_disk_rot(disk, disk->name[i].path, at);
        at -= disk->name[i].inode->now.size;
    }
    return false;
}

bool sim_disk_misdirect(struct sim_disk *disk, const char *path, const char *victim,
                        uint64_t offset)
{
    const struct sim_name *from = disk_find(disk, path);
    const struct sim_name *to = disk_find(disk, victim);
    if (from == NULL || to == NULL || from->inode == NULL || to->inode == NULL) return false;
    disk->misdirect_from = from->inode;
    disk->misdirect_to = to->inode;
    disk->misdirect_at = offset / SIM_SECTOR * SIM_SECTOR;
    return true;
}

/* A file that has content, drawn; NULL when there is none. */
static const struct sim_name *any_file(struct sim_disk *disk)
{
    for (uint32_t tries = 0; tries < 64 && disk->name_count > 0; tries++) {
        const struct sim_name *name = &disk->name[rng_below(&disk->rng, disk->name_count)];
        if (name->inode != NULL && name->inode->now.size >= SIM_SECTOR) return name;
    }
    return NULL;
}

bool sim_disk_misdirect_any(struct sim_disk *disk)
{
    const struct sim_name *from = any_file(disk);
    const struct sim_name *to = any_file(disk);
    if (from == NULL || to == NULL) return false;
    disk->misdirect_from = from->inode;
    disk->misdirect_to = to->inode;
    disk->misdirect_at =
        rng_below(&disk->rng, to->inode->now.size / SIM_SECTOR) * (uint64_t)SIM_SECTOR;
    return true;
}

bool sim_disk_overlaid(const struct sim_disk *disk, const char *path)
{
    const struct sim_name *name = disk_find(disk, path);
    for (uint32_t i = 0; name != NULL && i < disk->overlay_count; i++)
        if (disk->overlay[i].inode == name->inode) return true;
    return false;
}

void sim_disk_overlays(struct sim_disk *disk, bool on)
{
    disk->overlays_off = !on;
}

void sim_disk_calm(struct sim_disk *disk)
{
    disk->calm = true;
    disk->overlays_off = true;
    disk->stall_until = 0;
    memset(disk->rule, 0, sizeof disk->rule);
}

/* --- For checks. --- */

bool sim_disk_exists(const struct sim_disk *disk, const char *name)
{
    return disk_find(disk, name) != NULL;
}

uint64_t sim_disk_content(const struct sim_disk *disk, const char *path, bool durable,
                          const uint8_t **bytes)
{
    const struct sim_name *name = disk_find(disk, path);
    *bytes = NULL;
    if (name == NULL || name->inode == NULL) return UINT64_MAX;
    const struct sim_image *image = durable ? &name->inode->durable : &name->inode->now;
    *bytes = image->bytes;
    return image->size;
}

bool sim_disk_poke(struct sim_disk *disk, const char *path, uint64_t offset, uint8_t value)
{
    const struct sim_name *name = disk_find(disk, path);
    if (name == NULL || name->inode == NULL || offset >= name->inode->now.size) return false;
    name->inode->now.bytes[offset] = value;
    if (offset < name->inode->durable.size) name->inode->durable.bytes[offset] = value;
    return true;
}
