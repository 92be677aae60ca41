/* fs_client.c -- builds the requests to NDBFS and opens its answers. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/ndbfs/fs_client.h"
#include <string.h>

static uint32_t fs_ref_of(const struct block *from)
{
    return block_ref(block_config(from)->own_node, BLOCK_NDBFS, 0);
}

struct fs_piece fs_piece_of(const struct block *from, const void *memory, uint32_t bytes)
{
    struct fs_piece piece = {.page = arena_page_no(block_arena(from), memory), .bytes = bytes};
    piece.offset =
        (uint32_t)((uintptr_t)memory % PAGE_SIZE_BYTES); /* Pages are aligned to their size. */
    ndbrequire(piece.page != ARENA_NOWHERE);
    return piece;
}

static struct section name_section(const char *name, uint32_t *words)
{
    size_t bytes = strlen(name);
    ndbrequire(bytes <= FS_NAME_BYTES);
    memset(words, 0, FS_NAME_WORDS * 4u);
    words[0] = (uint32_t)bytes;
    memcpy(words + 1, name, bytes);
    return (struct section){.words = words, .size = 1u + ((uint32_t)bytes + 3u) / 4u};
}

static struct section piece_section(const struct fs_piece *pieces, uint32_t count)
{
    return (struct section){.words = &pieces[0].page, .size = count * 3u};
}

#define SEND(gsn, req, sections, count)                                                            \
    signal_send(from, fs_ref_of(from), gsn, PRIO_B, &(req), sizeof(req) / 4u, sections, count)

void fs_open(struct block *from, uint32_t sender_data, const char *name, uint32_t flags)
{
    uint32_t words[FS_NAME_WORDS];
    struct section section = name_section(name, words);
    struct fsopenreq req = {.sender_data = sender_data, .flags = flags};
    SEND(GSN_FSOPENREQ, req, &section, 1);
}

void fs_close(struct block *from, uint32_t sender_data, uint32_t file)
{
    struct fsclosereq req = {.sender_data = sender_data, .file = file};
    SEND(GSN_FSCLOSEREQ, req, NULL, 0);
}

void fs_read(struct block *from, uint32_t sender_data, uint32_t file, uint64_t offset,
             const struct fs_piece *pieces, uint32_t count, uint32_t flags)
{
    struct section section = piece_section(pieces, count);
    struct fsreadreq req = {.sender_data = sender_data,
                            .file = file,
                            .flags = flags,
                            .offset_lo = (uint32_t)offset,
                            .offset_hi = (uint32_t)(offset >> 32)};
    SEND(GSN_FSREADREQ, req, &section, 1);
}

void fs_write(struct block *from, uint32_t sender_data, uint32_t file, uint64_t offset,
              const struct fs_piece *pieces, uint32_t count, uint32_t flags)
{
    struct section section = piece_section(pieces, count);
    struct fswritereq req = {.sender_data = sender_data,
                             .file = file,
                             .flags = flags,
                             .offset_lo = (uint32_t)offset,
                             .offset_hi = (uint32_t)(offset >> 32)};
    SEND(GSN_FSWRITEREQ, req, &section, 1);
}

void fs_append(struct block *from, uint32_t sender_data, uint32_t file,
               const struct fs_piece *pieces, uint32_t count, uint32_t flags)
{
    struct section section = piece_section(pieces, count);
    struct fsappendreq req = {.sender_data = sender_data, .file = file, .flags = flags};
    SEND(GSN_FSAPPENDREQ, req, &section, 1);
}

void fs_sync(struct block *from, uint32_t sender_data, uint32_t file)
{
    struct fssyncreq req = {.sender_data = sender_data, .file = file};
    SEND(GSN_FSSYNCREQ, req, NULL, 0);
}

void fs_truncate(struct block *from, uint32_t sender_data, uint32_t file, uint64_t size)
{
    struct fstruncatereq req = {.sender_data = sender_data,
                                .file = file,
                                .size_lo = (uint32_t)size,
                                .size_hi = (uint32_t)(size >> 32)};
    SEND(GSN_FSTRUNCATEREQ, req, NULL, 0);
}

void fs_preallocate(struct block *from, uint32_t sender_data, uint32_t file, uint64_t size,
                    uint32_t flags)
{
    struct fspreallocatereq req = {.sender_data = sender_data,
                                   .file = file,
                                   .flags = flags,
                                   .size_lo = (uint32_t)size,
                                   .size_hi = (uint32_t)(size >> 32)};
    SEND(GSN_FSPREALLOCATEREQ, req, NULL, 0);
}

void fs_rename(struct block *from, uint32_t sender_data, const char *name, const char *new_name,
               uint32_t flags)
{
    uint32_t words[2][FS_NAME_WORDS];
    struct section sections[2] = {name_section(name, words[0]), name_section(new_name, words[1])};
    struct fsrenamereq req = {.sender_data = sender_data, .flags = flags};
    SEND(GSN_FSRENAMEREQ, req, sections, 2);
}

void fs_remove(struct block *from, uint32_t sender_data, const char *name, uint32_t flags)
{
    uint32_t words[FS_NAME_WORDS];
    struct section section = name_section(name, words);
    struct fsremovereq req = {.sender_data = sender_data, .flags = flags};
    SEND(GSN_FSREMOVEREQ, req, &section, 1);
}

void fs_list(struct block *from, uint32_t sender_data, const char *directory, const char *behind)
{
    uint32_t words[2][FS_NAME_WORDS];
    struct section sections[2] = {name_section(directory, words[0])};
    struct fslistreq req = {.sender_data = sender_data};
    if (behind != NULL) sections[1] = name_section(behind, words[1]);
    SEND(GSN_FSLISTREQ, req, sections, behind != NULL ? 2u : 1u);
}

void fs_ref_name(const struct signal *sig, char *text)
{
    const struct section *section = &sig->section[0];
    uint32_t bytes = section->words[0];
    ndbrequire(bytes <= FS_NAME_BYTES && section->size == 1u + (bytes + 3u) / 4u);
    memcpy(text, section->words + 1, bytes);
    text[bytes] = 0;
}

bool fs_entry_next(const struct signal *sig, uint32_t *at, struct fs_entry *entry, char *name)
{
    const struct section *section = &sig->section[0];
    if (*at >= section->size) return false;
    memcpy(entry, section->words + *at, sizeof(*entry));
    ndbrequire(entry->name_bytes <= FS_NAME_BYTES && *at + entry->words <= section->size);
    memcpy(name, section->words + *at + sizeof(*entry) / 4u, entry->name_bytes);
    name[entry->name_bytes] = 0;
    *at += entry->words;
    return true;
}
