/* dict_file.c -- the schema files: two copies, of which one is whole whatever a crash leaves. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two copies of one image. A change writes both, one after the other, each synced before the other
 * is touched, and first the one that is not the newest: whatever a crash leaves, one of them is
 * whole, with the schema before the change or behind it; both are right, since nobody was told yet.
 * In rest both have the same content, so that a copy that is damaged later costs nothing.
 *
 * A copy is written over its former content, and before a change that makes the image longer both
 * copies get the room for it on the disk: a full disk refuses the change while it can be refused.
 * So a file may be longer than its image; what is behind it means nothing.
 *
 * This file opens and closes them; dict_file_read.c reads, dict_file_write.c writes.
 */
#include <stdio.h>
#include "blocks/dbdict/dict_state.h"
#include "blocks/ndbfs/fs_client.h"

const char *const dict_file_names[IMAGE_COPIES] = {"D1/schema.0", "D1/schema.1"};

void dict_file_init(struct dict *dict)
{
    struct dict_file *file = &dict->file;
    if (dict_diskless(dict)) return;
    file->head = block_alloc(&dict->block, RG_NODE, IMAGE_HEAD_BYTES);
    file->piece = block_alloc(&dict->block, RG_NODE, IMAGE_PIECE_BYTES);
}

struct file_expected dict_file_expected(const struct dict *dict, uint32_t copy)
{
    const struct node_config *config = block_config(&dict->block);
    return (struct file_expected){.kind = FILE_KIND_SCHEMA,
                                  .node = config->own_node,
                                  .cluster_id = config->cluster_id,
                                  .instance = copy};
}

void dict_file_open(struct dict *dict, uint32_t copy, uint32_t state, uint32_t flags)
{
    dict->file.copy = copy;
    dict->file.state = state;
    fs_open(&dict->block, copy, dict_file_names[copy], flags);
}

void dict_file_close(struct dict *dict, uint32_t state)
{
    dict->file.state = state;
    fs_close(&dict->block, dict->file.copy, dict->file.file);
}

/* --- Answers of NDBFS. --- */

void dict_exec_FSOPENCONF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    struct dict_file *file = &dict->file;
    const struct fsopenconf *conf = SIG_PAYLOAD(sig, fsopenconf);
    ndbrequire(conf->sender_data == file->copy);
    file->file = conf->file;
    file->size = conf->size_lo | (uint64_t)conf->size_hi << 32;
    file->room[file->copy] = file->size;
    if (file->state == SCHEMA_FILE_ROOM_OPENING) {
        uint64_t size =
            (file->room_wanted + SCHEMA_ROOM_STEP - 1u) / SCHEMA_ROOM_STEP * SCHEMA_ROOM_STEP;
        jam();
        file->state = SCHEMA_FILE_ROOM_GETTING;
        fs_preallocate(block, file->copy, file->file, size, 0);
        return;
    }
    if (file->state == SCHEMA_FILE_MAKING) {
        jam();
        dict_file_write_piece(dict);
        return;
    }
    ndbrequire(file->state == SCHEMA_FILE_OPENING);
    jam();
    if (!file->loading) file->seen[file->copy].found = COPY_GOOD;
    file->state = SCHEMA_FILE_HEAD;
    struct fs_piece piece = fs_piece_of(block, file->head, IMAGE_HEAD_BYTES);
    fs_read(block, file->copy, file->file, 0, &piece, 1, FS_PARTIAL);
}

void dict_exec_FSCLOSECONF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    ndbrequire(SIG_PAYLOAD(sig, fs_conf)->sender_data == dict->file.copy);
    if (dict->file.state == SCHEMA_FILE_DONE) {
        jam();
        dict_file_copy_written(dict);
        return;
    }
    if (dict->file.state == SCHEMA_FILE_ROOM_CLOSING) {
        jam();
        dict_file_next_room(dict, dict->file.copy + 1u);
        return;
    }
    ndbrequire(dict->file.state == SCHEMA_FILE_CLOSING);
    jam();
    dict_file_copy_read(dict);
}

_Noreturn void dict_file_io_failed(const struct dict *dict, const struct signal *sig,
                                   const char *what)
{
    const struct fs_ref *ref = SIG_PAYLOAD(sig, fs_ref);
    char text[160];
    snprintf(text, sizeof(text), "%s cannot be %s: error %u, system's error %u",
             dict_file_names[dict->file.copy], what, ref->error, ref->os_error);
    node_fail(EXIT_SCHEMA_IO, __FILE__, __LINE__, text);
}

void dict_exec_FSOPENREF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    if (dict->file.state == SCHEMA_FILE_OPENING && !dict->file.loading &&
        SIG_PAYLOAD(sig, fs_ref)->error == ERR_FILE_MISSING) {
        jam();
        dict_file_copy_read(dict);
        return;
    }
    if (dict->file.state == SCHEMA_FILE_ROOM_OPENING && dict_file_room_refused(dict, sig)) {
        jam();
        dict_file_next_room(dict, IMAGE_COPIES);
        return;
    }
    jam();
    dict_file_io_failed(dict, sig, "opened");
}

void dict_exec_FSWRITEREF(struct block *block, const struct signal *sig)
{
    jam();
    dict_file_io_failed(dict_of(block), sig, "written");
}

void dict_exec_FSCLOSEREF(struct block *block, const struct signal *sig)
{
    jam();
    dict_file_io_failed(dict_of(block), sig, "closed");
}
