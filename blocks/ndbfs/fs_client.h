/* fs_client.h -- how any block asks its node's NDBFS: one call per request. See
 * docs/protocols/files.md. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"
#include "signals/fs.h"

/* The piece of the node's arena at `memory`: a page, a part of one, or of a run that was allocated
 * in one. */
struct fs_piece fs_piece_of(const struct block *from, const void *memory, uint32_t bytes);

/* Names are literal text of at most FS_NAME_BYTES. The answer carries `sender_data`; `file` is
 * FSOPENCONF's. */
void fs_open(struct block *from, uint32_t sender_data, const char *name, uint32_t flags);
void fs_close(struct block *from, uint32_t sender_data, uint32_t file);
void fs_read(struct block *from, uint32_t sender_data, uint32_t file, uint64_t offset,
             const struct fs_piece *pieces, uint32_t count, uint32_t flags);
void fs_write(struct block *from, uint32_t sender_data, uint32_t file, uint64_t offset,
              const struct fs_piece *pieces, uint32_t count, uint32_t flags);
void fs_append(struct block *from, uint32_t sender_data, uint32_t file,
               const struct fs_piece *pieces, uint32_t count, uint32_t flags);
void fs_sync(struct block *from, uint32_t sender_data, uint32_t file);
void fs_truncate(struct block *from, uint32_t sender_data, uint32_t file, uint64_t size);
void fs_preallocate(struct block *from, uint32_t sender_data, uint32_t file, uint64_t size,
                    uint32_t flags);
void fs_rename(struct block *from, uint32_t sender_data, const char *name, const char *new_name,
               uint32_t flags);
void fs_remove(struct block *from, uint32_t sender_data, const char *name, uint32_t flags);
void fs_list(struct block *from, uint32_t sender_data, const char *directory,
             const char *behind); /* `behind` NULL: from the first name on. */

/* The name in an FS REF, or of an entry, as text; `text` has FS_NAME_BYTES + 1 bytes. */
void fs_ref_name(const struct signal *sig, char *text);

/* Walks the entries of FSLISTCONF: *at begins with 0; false at the end. */
bool fs_entry_next(const struct signal *sig, uint32_t *at, struct fs_entry *entry, char *name);
