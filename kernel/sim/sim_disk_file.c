/* sim_disk_file.c -- a file's two images and the changes between them; what a crash makes of each
 * change. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include <string.h>
#include "kernel/sim/sim_disk_state.h"

struct sim_inode *inode_new(void)
{
    struct sim_inode *inode = calloc(1, sizeof *inode);
    if (inode == NULL) abort(); /* The host of the simulation, not the simulated disk. */
    return inode;
}

static void changes_drop(struct sim_inode *inode)
{
    for (uint32_t i = 0; i < inode->change_count; i++)
        free(inode->change[i].bytes);
    inode->change_count = 0;
}

void inode_free(struct sim_inode *inode)
{
    changes_drop(inode);
    free(inode->change);
    free(inode->now.bytes);
    free(inode->durable.bytes);
    free(inode);
}

void image_resize(struct sim_image *image, uint64_t size)
{
    if (size > image->room) {
        uint64_t room = image->room * 2 > size ? image->room * 2 : size;
        image->bytes = realloc(image->bytes, room);
        if (image->bytes == NULL) abort();
        image->room = room;
    }
    if (size > image->size) memset(image->bytes + image->size, 0, size - image->size);
    image->size = size;
}

void image_put(struct sim_image *image, uint64_t offset, const void *bytes, uint64_t size)
{
    if (size == 0) return;
    if (offset + size > image->size) image_resize(image, offset + size);
    memcpy(image->bytes + offset, bytes, size);
}

static struct sim_change *change_add(struct sim_inode *inode)
{
    inode->change =
        disk_grow(inode->change, inode->change_count, &inode->change_room, sizeof *inode->change);
    struct sim_change *change = &inode->change[inode->change_count++];
    memset(change, 0, sizeof *change);
    return change;
}

/* The first `size` bytes of the request's memory. */
void inode_write(struct sim_inode *inode, uint64_t offset, const struct io_request *request,
                 uint64_t size)
{
    if (size == 0) return;
    struct sim_change *change = change_add(inode);
    change->bytes = malloc(size);
    if (change->bytes == NULL) abort();
    change->offset = offset;
    change->size = size;
    uint64_t at = 0;
    for (uint32_t i = 0; i < request->piece_count && at < size; i++) {
        uint64_t part = request->piece[i].size < size - at ? request->piece[i].size : size - at;
        memcpy(change->bytes + at, request->piece[i].memory, part);
        at += part;
    }
    image_put(&inode->now, offset, change->bytes, size);
}

void inode_resize(struct sim_inode *inode, uint64_t size)
{
    struct sim_change *change = change_add(inode);
    change->offset = size;
    image_resize(&inode->now, size);
}

static void garble(uint8_t *bytes, uint64_t size, struct rng *rng)
{
    for (uint64_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)rng_next(rng);
}

void inode_change(struct sim_inode *inode, uint32_t index, enum sim_fate fate, struct rng *rng)
{
    const struct sim_change *change = &inode->change[index];
    if (change->bytes == NULL) {
        if (fate == FATE_KEPT) image_resize(&inode->durable, change->offset);
        return;
    }
    if (fate == FATE_LOST) return;
    /* A file that grew may have its new size with or without the bytes. */
    for (uint64_t at = 0; at < change->size;) {
        uint64_t in_sector = (change->offset + at) % SIM_SECTOR;
        uint64_t size = SIM_SECTOR - in_sector;
        if (size > change->size - at) size = change->size - at;
        if (fate == FATE_KEPT || (fate == FATE_TORN && rng_chance(rng, 1, 2))) {
            image_put(&inode->durable, change->offset + at, change->bytes + at, size);
        } else if (fate == FATE_GARBAGE) {
            uint8_t noise[SIM_SECTOR];
            garble(noise, size, rng);
            image_put(&inode->durable, change->offset + at, noise, size);
        }
        at += size;
    }
}

void inode_sync(struct sim_inode *inode)
{
    for (uint32_t i = 0; i < inode->change_count; i++)
        inode_change(inode, i, FATE_KEPT, NULL);
    changes_drop(inode);
}

void inode_settle(struct sim_inode *inode, bool to_durable)
{
    changes_drop(inode);
    if (!to_durable) return;
    inode->cache_lies = false;
    image_resize(&inode->now, 0);
    image_put(&inode->now, 0, inode->durable.bytes, inode->durable.size);
}

struct sim_inode *inode_copy(const struct sim_inode *from)
{
    struct sim_inode *inode = inode_new();
    inode->cache_lies = from->cache_lies;
    image_put(&inode->now, 0, from->now.bytes, from->now.size);
    image_put(&inode->durable, 0, from->durable.bytes, from->durable.size);
    for (uint32_t i = 0; i < from->change_count; i++) {
        struct sim_change *change = change_add(inode);
        *change = from->change[i];
        if (change->bytes == NULL) continue;
        change->bytes = malloc(change->size);
        if (change->bytes == NULL) abort();
        memcpy(change->bytes, from->change[i].bytes, change->size);
    }
    return inode;
}
