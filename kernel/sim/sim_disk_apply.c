/* sim_disk_apply.c -- what each file operation does to the simulated disk, and how it fails. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include <string.h>
#include "kernel/sim/sim_disk_state.h"

static void fail(struct io_request *request, enum io_error error)
{
    request->error = error;
}

/* --- Names. --- */

static bool below(const char *path, const char *directory)
{
    size_t length = strlen(directory);
    return length == 0 || (strncmp(path, directory, length) == 0 && path[length] == '/');
}

/* Makes (or only looks for) the directories above a path. */
static enum io_error parents(struct sim_disk *disk, const char *path, bool make)
{
    char directory[IO_NAME_MAX];
    for (size_t at = 0; path[at] != 0; at++) {
        if (path[at] != '/') continue;
        memcpy(directory, path, at);
        directory[at] = 0;
        const struct sim_name *found = disk_find(disk, directory);
        if (found != NULL && found->inode != NULL) return IO_BAD_PATH;
        if (found == NULL && !make) return IO_MISSING;
        if (found == NULL) disk_add(disk, directory, NULL);
    }
    return IO_GOOD;
}

static void handle_set(struct sim_disk *disk, uint32_t handle, struct sim_inode *inode,
                       const char *name)
{
    while (handle >= disk->open_room) {
        uint32_t room = disk->open_room == 0 ? 64 : disk->open_room * 2;
        disk->open = realloc(disk->open, room * sizeof *disk->open);
        disk->open_name = realloc(disk->open_name, room * sizeof *disk->open_name);
        if (disk->open == NULL || disk->open_name == NULL) abort();
        memset(disk->open + disk->open_room, 0, (room - disk->open_room) * sizeof *disk->open);
        disk->open_room = room;
    }
    if (disk->open[handle] != NULL) disk->violation = "a handle is opened twice";
    disk->open[handle] = inode;
    memcpy(disk->open_name[handle], name, IO_NAME_MAX);
    inode->opens++;
}

/* What was written is written, and what is only thought to be is seen no more. */
static void open_synced(struct sim_inode *inode)
{
    inode_sync(inode);
    if (inode->cache_lies) inode_settle(inode, true);
}

static void apply_open(struct sim_disk *disk, struct io_request *request)
{
    bool create = (request->flags & IO_CREATE) != 0;
    enum io_error error = parents(disk, request->name, create);
    if (error != IO_GOOD) {
        fail(request, error);
        return;
    }
    struct sim_name *name = disk_find(disk, request->name);
    if (name != NULL && name->inode == NULL) {
        fail(request, IO_BAD_PATH);
    } else if (name != NULL && (request->flags & IO_EXCLUSIVE) != 0) {
        fail(request, IO_EXISTS);
    } else if (name == NULL && !create) {
        fail(request, IO_MISSING);
    } else {
        if (name == NULL) name = disk_add(disk, request->name, inode_new());
        if ((request->flags & IO_EMPTY) != 0 && name->inode->now.size > 0)
            inode_resize(name->inode, 0);
        handle_set(disk, request->file, name->inode, request->name);
        name->inode->direct = (request->flags & IO_DIRECT) != 0 && !disk->options.buffered;
        if ((request->flags & IO_THEN_SYNC) != 0 && !disk->lies) open_synced(name->inode);
        request->done = name->inode->now.size;
    }
}

static void apply_close(struct sim_disk *disk, struct io_request *request)
{
    struct sim_inode *inode = disk->open[request->file];
    disk->open[request->file] = NULL;
    inode->opens--;
}

static void apply_rename(struct sim_disk *disk, struct io_request *request)
{
    struct sim_name *from = disk_find(disk, request->name);
    struct sim_name *to = disk_find(disk, request->new_name);
    if (from == NULL) {
        fail(request, IO_MISSING);
    } else if (from->inode == NULL || (to != NULL && to->inode == NULL)) {
        fail(request, IO_BAD_PATH);
    } else if (to != NULL && (request->flags & IO_REPLACE) == 0) {
        fail(request, IO_EXISTS);
    } else if (parents(disk, request->new_name, false) != IO_GOOD) {
        fail(request, parents(disk, request->new_name, false));
    } else {
        struct sim_inode *inode = from->inode;
        from->inode = NULL; /* Stays alive under its new name. */
        disk_remove(disk, from);
        to = disk_find(disk, request->new_name);
        if (to != NULL) disk_remove(disk, to);
        disk_add(disk, request->new_name, inode);
    }
}

/* Up to a step's worth of what is below, deepest names last in order, so from the end; then the
 * directory itself. */
static void remove_tree(struct sim_disk *disk, struct io_request *request)
{
    uint32_t removed = 0;
    for (uint32_t i = disk->name_count; i > 0 && removed < IO_TREE_STEP; i--) {
        if (!below(disk->name[i - 1].path, request->name)) continue;
        disk_remove(disk, &disk->name[i - 1]);
        removed++;
    }
    for (uint32_t i = 0; i < disk->name_count; i++) {
        if (below(disk->name[i].path, request->name)) request->more = 1;
    }
    struct sim_name *self = request->name[0] == 0 ? NULL : disk_find(disk, request->name);
    if (request->more == 0 && self != NULL) disk_remove(disk, self);
    request->done = removed;
}

static void apply_remove(struct sim_disk *disk, struct io_request *request)
{
    if ((request->flags & IO_TREE) != 0) {
        remove_tree(disk, request);
        return;
    }
    struct sim_name *name = disk_find(disk, request->name);
    if (name == NULL) return; /* As wished. */
    if (name->inode == NULL)
        fail(request, IO_BAD_PATH);
    else
        disk_remove(disk, name);
}

static void apply_list(struct sim_disk *disk, struct io_request *request)
{
    size_t prefix = request->name[0] == 0 ? 0 : strlen(request->name) + 1;
    uint8_t *to = request->piece[0].memory;
    const struct sim_name *directory = disk_find(disk, request->name);
    if (prefix > 0 && (directory == NULL || directory->inode != NULL)) {
        fail(request, directory == NULL ? IO_MISSING : IO_BAD_PATH);
        return;
    }
    for (uint32_t i = 0; i < disk->name_count; i++) {
        const char *path = disk->name[i].path;
        if (!below(path, request->name) || strchr(path + prefix, '/') != NULL) continue;
        if (strcmp(path + prefix, request->new_name) <= 0) continue;
        const struct sim_inode *inode = disk->name[i].inode;
        uint32_t length = (uint32_t)strlen(path + prefix);
        struct io_entry entry = {
            .words = (uint32_t)sizeof entry / 4u + (length + 3u) / 4u,
            .kind = inode == NULL ? IO_ENTRY_DIRECTORY : IO_ENTRY_FILE,
            .size_lo = inode == NULL ? 0 : (uint32_t)inode->now.size,
            .size_hi = inode == NULL ? 0 : (uint32_t)(inode->now.size >> 32),
            .name_size = length,
        };
        if (request->done + entry.words * 4u > request->piece[0].size) {
            request->more = 1;
            return;
        }
        memset(to + request->done, 0, entry.words * 4u);
        memcpy(to + request->done, &entry, sizeof entry);
        memcpy(to + request->done + sizeof entry, path + prefix, length);
        request->done += entry.words * 4u;
    }
}

/* --- Data. --- */

/* What is under a bad sector stays good: overlays can be switched off. */
void disk_read_through(const struct sim_disk *disk, const struct sim_inode *inode, uint64_t offset,
                       uint8_t *to, uint64_t size)
{
    if (size == 0) return;
    memcpy(to, inode->now.bytes + offset, size);
    for (uint32_t i = 0; i < disk->overlay_count && !disk->overlays_off; i++) {
        const struct sim_overlay *overlay = &disk->overlay[i];
        if (overlay->inode != inode) continue;
        for (uint64_t at = 0; at < SIM_SECTOR; at++) {
            uint64_t place = overlay->offset + at;
            if (place < offset || place >= offset + size) continue;
            if (!overlay->rot)
                to[place - offset] = overlay->bytes[at];
            else if (overlay->bit / 8u == at)
                to[place - offset] ^= (uint8_t)(1u << overlay->bit % 8u);
        }
    }
}

static void apply_read(struct sim_disk *disk, struct io_request *request, struct sim_inode *inode)
{
    uint64_t at = request->offset;
    for (uint32_t i = 0; i < request->piece_count && at < inode->now.size; i++) {
        uint64_t left = inode->now.size - at;
        uint64_t size = request->piece[i].size < left ? request->piece[i].size : left;
        disk_read_through(disk, inode, at, request->piece[i].memory, size);
        at += size;
        request->done += size;
    }
}

static void heal(struct sim_disk *disk, const struct sim_inode *inode, uint64_t offset,
                 uint64_t size)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < disk->overlay_count; i++) {
        const struct sim_overlay *overlay = &disk->overlay[i];
        bool hit = overlay->inode == inode && overlay->offset < offset + size &&
                   offset < overlay->offset + SIM_SECTOR;
        if (!hit) disk->overlay[kept++] = *overlay;
    }
    disk->overlay_count = kept;
}

static void cover(struct sim_disk *disk, struct sim_inode *inode, uint64_t offset,
                  const uint8_t *bytes)
{
    if (disk->overlay_count == SIM_OVERLAYS) return;
    struct sim_overlay *overlay = &disk->overlay[disk->overlay_count++];
    memset(overlay, 0, sizeof *overlay);
    overlay->inode = inode;
    overlay->offset = offset;
    memcpy(overlay->bytes, bytes, SIM_SECTOR);
}

/* The target's whole sectors show what they had; the victim's show what was meant for the target.
 */
static void misdirect(struct sim_disk *disk, struct sim_inode *inode, uint64_t offset,
                      uint64_t size, const struct sim_image *before)
{
    uint64_t victim_at = disk->misdirect_at;
    for (uint64_t at = (offset + SIM_SECTOR - 1) / SIM_SECTOR * SIM_SECTOR;
         at + SIM_SECTOR <= offset + size; at += SIM_SECTOR) {
        uint8_t old[SIM_SECTOR] = {0};
        if (at < before->size) {
            uint64_t there = before->size - at < SIM_SECTOR ? before->size - at : SIM_SECTOR;
            memcpy(old, before->bytes + at, there);
        }
        cover(disk, inode, at, old);
        if (victim_at + SIM_SECTOR <= disk->misdirect_to->now.size)
            cover(disk, disk->misdirect_to, victim_at, inode->now.bytes + at);
        victim_at += SIM_SECTOR;
    }
    disk->misdirect_from = NULL;
}

static uint64_t room_left(const struct sim_disk *disk)
{
    uint64_t used = sim_disk_used(disk);
    if (disk->options.capacity == 0 || disk->calm) return UINT64_MAX / 2;
    return disk->options.capacity > used ? disk->options.capacity - used : 0;
}

/* True when the file may reach to `end`. */
static bool has_room(const struct sim_disk *disk, const struct sim_inode *inode, uint64_t end)
{
    return end <= inode->now.size || end - inode->now.size <= room_left(disk);
}

/* A sync that fails has written some of the changes, and the system believes from then on that all
 * are clean: what is in the page cache can still be read, and will be gone. Past the page cache it
 * is gone at once. */
static void fail_sync(struct sim_disk *disk, struct sim_inode *inode, struct io_request *request,
                      enum io_error error)
{
    for (uint32_t i = 0; i < inode->change_count; i++)
        inode_change(inode, i, rng_chance(&disk->rng, 1, 2) ? FATE_KEPT : FATE_LOST, &disk->rng);
    inode->cache_lies |= !inode->direct && inode->change_count > 0;
    inode_settle(inode, inode->direct);
    fail(request, error);
    request->more = request->op == IO_WRITE;
}

static enum io_error drawn_error(struct sim_disk *disk, uint32_t op, const char *name)
{
    for (uint32_t i = 0; i < SIM_RULES; i++) {
        struct sim_rule *rule = &disk->rule[i];
        if (rule->count == 0 || rule->op != op ||
            strncmp(name, rule->prefix, strlen(rule->prefix)) != 0)
            continue;
        if (rule->skip > 0) {
            rule->skip--;
            continue;
        }
        rule->count--;
        return (enum io_error)rule->error;
    }
    bool data = op == IO_READ || op == IO_WRITE || op == IO_SYNC;
    if (!data || disk->calm || disk->options.error_per_million == 0) return IO_GOOD;
    return rng_chance(&disk->rng, disk->options.error_per_million, 1000000) ? IO_DEVICE : IO_GOOD;
}

static void apply_sync(struct sim_disk *disk, struct io_request *request, struct sim_inode *inode)
{
    enum io_error error = drawn_error(disk, IO_SYNC, disk->open_name[request->file]);
    if (error != IO_GOOD)
        fail_sync(disk, inode, request, error);
    else if (!disk->lies)
        inode_sync(inode);
}

static void apply_write(struct sim_disk *disk, struct io_request *request, struct sim_inode *inode)
{
    uint64_t size = io_bytes(request);
    if (!has_room(disk, inode, request->offset + size)) {
        uint64_t most = inode->now.size + room_left(disk);
        inode_write(inode, request->offset, request,
                    most > request->offset ? most - request->offset : 0);
        fail(request, IO_FULL);
        return;
    }
    bool astray = disk->misdirect_from == inode && !disk->calm;
    struct sim_image before = {0};
    if (astray) image_put(&before, 0, inode->now.bytes, inode->now.size);
    heal(disk, inode, request->offset, size);
    inode_write(inode, request->offset, request, size);
    if (astray) misdirect(disk, inode, request->offset, size, &before);
    free(before.bytes);
    request->done = size;
    if ((request->flags & IO_THEN_SYNC) != 0) apply_sync(disk, request, inode);
}

static void apply_preallocate(struct sim_disk *disk, struct io_request *request,
                              struct sim_inode *inode)
{
    uint64_t end = request->offset + request->size;
    if (!has_room(disk, inode, end))
        fail(request, IO_FULL);
    else if (end > inode->now.size)
        inode_resize(inode, end);
}

/* True: the request has failed with a drawn error. */
static bool apply_error(struct sim_disk *disk, struct io_request *request, struct sim_inode *inode)
{
    const char *name = inode != NULL ? disk->open_name[request->file] : request->name;
    enum io_error error = drawn_error(disk, request->op, name);
    if (error == IO_GOOD) return false;
    if (request->op == IO_WRITE) { /* Some of it may have been written. */
        inode_write(inode, request->offset, request, rng_below(&disk->rng, io_bytes(request) + 1));
    }
    fail(request, error);
    if (request->op == IO_CLOSE) apply_close(disk, request);
    return true;
}

void disk_apply(struct sim_disk *disk, struct io_request *request, struct sim_inode *inode)
{
    disk->operations++;
    if (request->op != IO_SYNC && apply_error(disk, request, inode)) return;
    switch (request->op) {
    case IO_OPEN:
        apply_open(disk, request);
        break;
    case IO_CLOSE:
        apply_close(disk, request);
        break;
    case IO_READ:
        apply_read(disk, request, inode);
        break;
    case IO_WRITE:
        apply_write(disk, request, inode);
        break;
    case IO_SYNC:
        apply_sync(disk, request, inode);
        break;
    case IO_TRUNCATE:
        inode_resize(inode, request->size);
        break;
    case IO_PREALLOCATE:
        apply_preallocate(disk, request, inode);
        break;
    case IO_RENAME:
        apply_rename(disk, request);
        break;
    case IO_REMOVE:
        apply_remove(disk, request);
        break;
    case IO_LIST:
        apply_list(disk, request);
        break;
    default:
        fail(request, IO_OTHER);
        break;
    }
}
