/* sim_disk_spoil.c -- what somebody does to a node's files while it does not run: removes, empties
 * or cuts some, puts those of an earlier time or of another node in their place. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "kernel/sim/sim_disk_state.h"

/* What is picked most: the directories, and both copies of what has two. */
static const char *const places[] = {"",           "LCP/",     "REDO/",      "D1/", "D1/sysfile.",
                                     "D1/schema.", "LCP/part", "REDO/part0/"};
#define PLACES (sizeof places / sizeof places[0])

static bool begins(const char *path, const char *prefix)
{
    return strncmp(path, prefix, strlen(prefix)) == 0;
}

static uint32_t file_count(const struct sim_disk *disk)
{
    uint32_t files = 0;
    for (uint32_t i = 0; i < disk->name_count; i++)
        files += disk->name[i].inode != NULL;
    return files;
}

/* The prefix of all that is meant: one of the places, or the path of the n-th file. */
static bool pick(const struct sim_disk *disk, uint32_t what, char prefix[IO_NAME_MAX])
{
    uint32_t files = file_count(disk);
    if (what < PLACES) {
        memcpy(prefix, places[what], strlen(places[what]) + 1u);
        return true;
    }
    if (files == 0) return false;
    uint32_t left = (what - (uint32_t)PLACES) % files;
    for (uint32_t i = 0; i < disk->name_count; i++) {
        if (disk->name[i].inode == NULL || left-- > 0) continue;
        memcpy(prefix, disk->name[i].path, IO_NAME_MAX);
        return true;
    }
    return false;
}

static uint32_t remove_all(struct sim_disk *disk, const char *prefix)
{
    uint32_t done = 0;
    for (uint32_t i = disk->name_count; i > 0; i--) {
        struct sim_name *name = &disk->name[i - 1u];
        if (name->inode == NULL || !begins(name->path, prefix)) continue;
        disk_remove(disk, name);
        done++;
    }
    return done;
}

/* Each file keeps so many of 1000 parts of its bytes. */
static uint32_t cut_all(struct sim_disk *disk, const char *prefix, uint32_t share)
{
    uint32_t done = 0;
    for (uint32_t i = 0; i < disk->name_count; i++) {
        struct sim_inode *inode = disk->name[i].inode;
        if (inode == NULL || !begins(disk->name[i].path, prefix)) continue;
        inode_sync(inode);
        image_resize(&inode->durable, inode->durable.size * share / 1000u);
        inode_settle(inode, true);
        done++;
    }
    return done;
}

static uint32_t replace_all(struct sim_disk *disk, const struct sim_disk *other, const char *prefix)
{
    uint32_t done = 0;
    for (uint32_t i = 0; i < other->name_count; i++)
        done += other->name[i].inode != NULL && begins(other->name[i].path, prefix);
    if (done == 0) return 0;
    (void)remove_all(disk, prefix);
    for (uint32_t i = 0; i < other->name_count; i++) {
        const struct sim_name *name = &other->name[i];
        if (name->inode == NULL) {
            if (disk_find(disk, name->path) == NULL) disk_add(disk, name->path, NULL);
            continue;
        }
        if (!begins(name->path, prefix)) continue;
        struct sim_inode *inode = inode_copy(name->inode);
        inode_sync(inode);
        inode_settle(inode, true);
        disk_add(disk, name->path, inode);
    }
    return done;
}

uint32_t sim_disk_spoil(struct sim_disk *disk, const struct sim_disk *other, enum sim_spoil how,
                        uint32_t what)
{
    char prefix[IO_NAME_MAX];
    if (!pick(disk, what, prefix)) return 0;
    switch (how) {
    case SPOIL_GONE:
        return remove_all(disk, prefix);
    case SPOIL_EMPTIED:
        return cut_all(disk, prefix, 0);
    case SPOIL_CUT:
        return cut_all(disk, prefix, (uint32_t)rng_below(&disk->rng, 1000));
    case SPOIL_OLDER:
    case SPOIL_FOREIGN:
        return other == NULL ? 0 : replace_all(disk, other, prefix);
    case SPOIL_COUNT:
        break;
    }
    return 0;
}
