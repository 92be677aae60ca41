/* sim_disk_state.h -- the records of a simulated disk. Private to kernel/sim/sim_disk*.c. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stddef.h>
#include "kernel/sim/sim_disk.h"

struct sim_image {
    uint8_t *bytes;
    uint64_t size;
    uint64_t room;
};

/* A change that is not durable. */
struct sim_change {
    uint8_t *bytes; /* NULL: the size was set to `offset`. */
    uint64_t offset;
    uint64_t size;
};

struct sim_inode {
    struct sim_image now;
    struct sim_image durable;
    struct sim_change *change;
    uint32_t change_count;
    uint32_t change_room;
    uint32_t opens;
    bool unlinked;
    bool direct; /* Its last opener goes past the page cache. */
    /* A sync has failed: `now` has what the disk has not, and no change says so. */
    bool cache_lies;
};

struct sim_name {
    char path[IO_NAME_MAX];
    struct sim_inode *inode; /* NULL: a directory. */
};

struct sim_pending {
    struct io_request *request;
    struct sim_inode *inode; /* The file; NULL: the request is about names. */
    uint64_t due_us;
    uint64_t number;
    uint64_t hash; /* Hash of the memory of a write when the write was given. */
};

struct sim_rule { /* What sim_disk_fail() was told. */
    uint32_t op;
    uint32_t error;
    uint32_t skip;
    uint32_t count;
    char prefix[IO_NAME_MAX];
};

struct sim_overlay {
    struct sim_inode *inode;
    uint64_t offset; /* Where the sector begins. */
    bool rot;        /* One bit is flipped; else the whole sector is another one. */
    uint32_t bit;
    uint8_t bytes[SIM_SECTOR];
};

#define SIM_RULES    16u
#define SIM_OVERLAYS 256u

struct sim_disk {
    struct sim_disk_options options;
    struct rng rng;
    struct sim_name *name; /* Sorted by path. */
    uint32_t name_count;
    uint32_t name_room;
    struct sim_inode **open; /* Files by handle. */
    char (*open_name)[IO_NAME_MAX];
    uint32_t open_room;
    struct sim_pending *pending;
    uint32_t pending_count;
    uint32_t pending_room;
    uint64_t number;
    uint64_t operations;
    uint64_t stall_until;
    struct sim_rule rule[SIM_RULES];
    struct sim_overlay *overlay;
    uint32_t overlay_count;
    bool overlays_off;
    bool calm;
    bool lies;
    struct sim_inode *misdirect_from;
    struct sim_inode *misdirect_to;
    uint64_t misdirect_at;
    const char *violation;
};

/* --- sim_disk.c --- */
struct sim_name *disk_find(const struct sim_disk *disk, const char *path);
struct sim_name *disk_add(struct sim_disk *disk, const char *path, struct sim_inode *inode);
void disk_remove(struct sim_disk *disk, struct sim_name *name);
void disk_handles_drop(struct sim_disk *disk);
void *disk_grow(void *memory, uint32_t count, uint32_t *room, size_t size);

/* --- sim_disk_file.c: images and changes. --- */
struct sim_inode *inode_new(void);
struct sim_inode *inode_copy(const struct sim_inode *from);
void inode_free(struct sim_inode *inode);
void image_resize(struct sim_image *image, uint64_t size);
void image_put(struct sim_image *image, uint64_t offset, const void *bytes, uint64_t size);
void inode_write(struct sim_inode *inode, uint64_t offset, const struct io_request *request,
                 uint64_t size);
void inode_resize(struct sim_inode *inode, uint64_t size);
void inode_sync(struct sim_inode *inode);
void inode_change(struct sim_inode *inode, uint32_t index, enum sim_fate fate,
                  struct rng *rng); /* Applies one to durable. */
void inode_settle(struct sim_inode *inode,
                  bool to_durable); /* Forgets the changes; what is readable becomes durable's. */

/* --- sim_disk_apply.c: what each operation does. --- */
void disk_apply(struct sim_disk *disk, struct io_request *request, struct sim_inode *inode);
void disk_read_through(const struct sim_disk *disk, const struct sim_inode *inode, uint64_t offset,
                       uint8_t *to, uint64_t size);
