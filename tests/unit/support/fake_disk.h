/* fake_disk.h -- files of the fake cluster's nodes that survive them: every write is durable,
 * nothing is ever torn. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/io_request.h"
#include "tests/unit/support/fake_cluster.h"

#define FAKE_FILES      16u
#define FAKE_FILE_BYTES (64u * 1024u)
#define FAKE_HANDLES    64u

struct fake_file {
    char name[IO_NAME_MAX]; /* Empty: none. */
    uint8_t bytes[FAKE_FILE_BYTES];
    uint32_t size;
    uint32_t writes;
};

struct fake_disk {
    struct fake_file file[FAKE_FILES];
    struct fake_file *handle[FAKE_HANDLES];
};

extern struct fake_disk fake_disks[FC_NODES];
extern uint32_t fake_disk_error;        /* enum io_error of the next writes. */
extern uint32_t fake_disk_error_remove; /* enum io_error of the next removals. */
extern bool fake_disk_hold;             /* Writes are not answered. */
/* This node's system files are not written any more after so many writes of them. */
extern uint32_t fake_disk_held_node;
extern uint32_t fake_disk_held_after;
struct fake_file *fake_file(uint32_t node, const char *name);
void fake_disk_submit(struct host *host, struct io_request *request);
void fake_disk_reset(void);
