/* fake_disk.c -- files of the fake cluster's nodes that survive them: every write is durable,
 * nothing is ever torn. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/fake_disk.h"

struct fake_disk fake_disks[FC_NODES];

uint32_t fake_disk_error;

uint32_t fake_disk_error_remove;

bool fake_disk_hold;

uint32_t fake_disk_held_node;

uint32_t fake_disk_held_after;

struct fake_file *fake_file(uint32_t node, const char *name)
{
    for (uint32_t i = 0; i < FAKE_FILES; i++) {
        if (strcmp(fake_disks[node].file[i].name, name) == 0) return &fake_disks[node].file[i];
    }
    return NULL;
}

static void fake_disk_open(struct fake_disk *disk, uint32_t node, struct io_request *request)
{
    struct fake_file *file = fake_file(node, request->name);
    if (file == NULL && (request->flags & IO_CREATE) == 0) {
        request->error = IO_MISSING;
        return;
    }
    if (file == NULL) {
        file = fake_file(node, "");
        if (file == NULL) abort();
        memset(file, 0, sizeof *file);
        memcpy(file->name, request->name, sizeof file->name);
    }
    if ((request->flags & IO_EMPTY) != 0) file->size = 0;
    disk->handle[request->file] = file;
    request->done = file->size;
}

static void fake_disk_move(struct fake_file *file, struct io_request *request)
{
    uint64_t at = request->offset;
    for (uint32_t i = 0; i < request->piece_count; i++) {
        uint64_t bytes = request->piece[i].size;
        if (request->op == IO_READ && at + bytes > file->size)
            bytes = at < file->size ? file->size - at : 0;
        if (at + bytes > FAKE_FILE_BYTES) abort();
        if (request->op == IO_READ)
            memcpy(request->piece[i].memory, file->bytes + at, bytes);
        else
            memcpy(file->bytes + at, request->piece[i].memory, bytes);
        at += bytes;
        request->done += bytes;
    }
    if (request->op == IO_WRITE && at > file->size) file->size = (uint32_t)at;
    if (request->op == IO_WRITE) file->writes++;
}

static void fake_disk_remove(struct fake_disk *disk, struct io_request *request)
{
    size_t length = strlen(request->name);
    for (uint32_t i = 0; i < FAKE_FILES; i++) {
        const char *name = disk->file[i].name;
        bool below = length == 0 || (strncmp(name, request->name, length) == 0 &&
                                     (name[length] == '/' || name[length] == 0));
        if (below) memset(&disk->file[i], 0, sizeof disk->file[i]);
    }
}

/* Files right below the directory; names of up to 32 bytes. */
static void fake_disk_list(const struct fake_disk *disk, struct io_request *request)
{
    size_t length = strlen(request->name);
    uint8_t *at = request->piece[0].memory;
    request->error = IO_MISSING;
    for (uint32_t i = 0; i < FAKE_FILES; i++) {
        const char *name = disk->file[i].name;
        if (strncmp(name, request->name, length) != 0 || name[length] != '/') continue;
        uint32_t size = (uint32_t)strlen(name + length + 1);
        struct io_entry entry = {.words = 5u + (size + 3u) / 4u,
                                 .kind = IO_ENTRY_FILE,
                                 .size_lo = disk->file[i].size,
                                 .name_size = size};
        memset(at, 0, (size_t)entry.words * 4u);
        memcpy(at, &entry, sizeof entry);
        memcpy(at + sizeof entry, name + length + 1, size);
        at += (size_t)entry.words * 4u;
        request->error = IO_GOOD;
    }
    request->done = (uint64_t)(at - (uint8_t *)request->piece[0].memory);
}

static bool fake_disk_holds(uint32_t node, const struct io_request *request)
{
    struct fake_file *file = fake_disks[node].handle[request->file];
    uint32_t writes = 0;
    if (request->op != IO_WRITE) return false;
    if (fake_disk_hold) return true;
    if (node != fake_disk_held_node || strncmp(file->name, "D1/sysfile", 10) != 0) return false;
    for (uint32_t i = 0; i < FAKE_FILES; i++) {
        file = &fake_disks[node].file[i];
        if (strncmp(file->name, "D1/sysfile", 10) == 0) writes += file->writes;
    }
    return writes >= fake_disk_held_after;
}

void fake_disk_submit(struct host *host, struct io_request *request)
{
    struct fc_node *node = (struct fc_node *)host;
    struct fake_disk *disk = &fake_disks[node->id];
    request->error = request->os_error = request->more = 0;
    request->done = 0;
    if (request->file >= FAKE_HANDLES) abort();
    if (fake_disk_holds(node->id, request)) return;
    if (request->op == IO_WRITE) request->error = fake_disk_error;
    if (request->op == IO_REMOVE) request->error = fake_disk_error_remove;
    if (request->error == 0) {
        if (request->op == IO_OPEN) fake_disk_open(disk, node->id, request);
        if (request->op == IO_READ || request->op == IO_WRITE)
            fake_disk_move(disk->handle[request->file], request);
        if (request->op == IO_TRUNCATE) disk->handle[request->file]->size = (uint32_t)request->size;
        if (request->op == IO_LIST) fake_disk_list(disk, request);
        if (request->op == IO_REMOVE) fake_disk_remove(disk, request);
    }
    node_io_done(node->node, request);
}

void fake_disk_reset(void)
{
    memset(fake_disks, 0, sizeof fake_disks);
    fake_disk_error = fake_disk_error_remove = 0;
    fake_disk_hold = false;
    fake_disk_held_node = 0;
}
