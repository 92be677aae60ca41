/* dict_file_write.c -- both schema files are written, and get room for a longer image before. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include <xxhash.h>
#include "blocks/dbdict/dict_state.h"
#include "blocks/ndbfs/fs_client.h"
#include "signals/schema_restart.h"

static void write_copy(struct dict *dict, uint32_t copy)
{
    struct dict_file *file = &dict->file;
    uint32_t without = file->writer.without;
    bool as_is = file->writer.as_is;
    file->writer = (struct image_writer){.id = 1, .without = without, .as_is = as_is};
    file->now = (struct image_head){.chain = file->sequence};
    file->offset = IMAGE_HEAD_BYTES;
    uint32_t empty = file->seen[copy].found == COPY_GOOD ? 0 : FS_EMPTY;
    file->seen[copy].found = COPY_NONE;
    dict_file_open(dict, copy, SCHEMA_FILE_MAKING, FS_WRITE | FS_CREATE | empty);
}

void dict_file_write(struct dict *dict, uint64_t sequence, uint32_t without, bool as_is)
{
    struct dict_file *file = &dict->file;
    ndbrequire(file->state == SCHEMA_FILE_READY && sequence >= file->sequence);
    jam();
    file->sequence = sequence;
    file->writer.without = without;
    file->writer.as_is = as_is;
    file->writes = IMAGE_COPIES;
    write_copy(dict, 1u - file->newest);
}

static void write_head(struct dict *dict)
{
    struct dict_file *file = &dict->file;
    struct file_expected self = dict_file_expected(dict, file->copy);
    struct image_head *head = &file->now;
    head->header = (struct file_header){.kind = self.kind,
                                        .node = self.node,
                                        .cluster_id = self.cluster_id,
                                        .instance = self.instance,
                                        .sequence = file->sequence,
                                        .page_bytes = IMAGE_PIECE_BYTES};
    head->records = file->writer.records;
    file_header_seal(&head->header);
    memset(file->head, 0, IMAGE_HEAD_BYTES);
    memcpy(file->head, head, sizeof(*head));
    uint64_t hash = XXH3_64bits(file->head, IMAGE_HEAD_HASH_AT);
    memcpy(file->head + IMAGE_HEAD_HASH_AT, &hash, sizeof(hash));
    file->state = SCHEMA_FILE_WRITING_HEAD;
    struct fs_piece piece = fs_piece_of(&dict->block, file->head, IMAGE_HEAD_BYTES);
    fs_write(&dict->block, file->copy, file->file, 0, &piece, 1, FS_SYNC);
}

void dict_file_write_piece(struct dict *dict)
{
    struct dict_file *file = &dict->file;
    struct image_piece *piece = (struct image_piece *)(void *)file->piece;
    memset(piece, 0, IMAGE_PIECE_BYTES);
    uint32_t words = image_fill(dict, &file->writer, image_words(piece), IMAGE_PIECE_WORDS);
    if (words == 0) {
        write_head(dict);
        return;
    }
    jam_data(file->now.pieces);
    file->bytes = image_piece_bytes(words);
    piece->sequence = file->sequence;
    piece->number = file->now.pieces++;
    piece->words = words;
    piece->hash = image_piece_hash(piece, file->bytes, file->now.chain);
    file->now.chain = piece->hash;
    file->now.words += words;
    file->state = SCHEMA_FILE_WRITING;
    struct fs_piece memory = fs_piece_of(&dict->block, piece, file->bytes);
    fs_write(&dict->block, file->copy, file->file, file->offset, &memory, 1, 0);
    file->offset += file->bytes;
}

void dict_file_copy_written(struct dict *dict)
{
    struct dict_file *file = &dict->file;
    file->newest = file->copy;
    file->seen[file->copy].found = COPY_GOOD;
    file->seen[file->copy].sequence = file->sequence;
    if (file->room[file->copy] < file->offset) file->room[file->copy] = file->offset;
    if (--file->writes > 0) {
        jam();
        write_copy(dict, 1u - file->copy);
        return;
    }
    file->state = SCHEMA_FILE_READY;
    file->writer.without = 0;
    file->writer.as_is = false;
    jam();
    if (dict->restart.state == RESTART_WRITING)
        dict_restart_written(dict);
    else
        dict_local_written(dict);
}

void dict_file_tell(struct dict *dict, bool changed)
{
    struct schema_written_ord ord = {.sequence_lo = (uint32_t)dict->file.sequence,
                                     .sequence_hi = (uint32_t)(dict->file.sequence >> 32),
                                     .changed = changed};
    if (dict_diskless(dict)) return;
    sig_send(&dict->block, block_ref(dict_own(dict), BLOCK_DBDIH, 0), GSN_SCHEMA_WRITTEN_ORD,
             PRIO_B, &ord);
}

void dict_exec_FSWRITECONF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    struct dict_file *file = &dict->file;
    const struct fs_io_conf *conf = SIG_PAYLOAD(sig, fs_io_conf);
    ndbrequire(conf->sender_data == file->copy);
    if (file->state == SCHEMA_FILE_WRITING) {
        ndbrequire(conf->bytes == file->bytes);
        dict_file_write_piece(dict);
        return;
    }
    ndbrequire(file->state == SCHEMA_FILE_WRITING_HEAD && conf->bytes == IMAGE_HEAD_BYTES);
    jam();
    dict_file_close(dict, SCHEMA_FILE_DONE);
}

/* --- Room for a longer image. --- */

void dict_file_next_room(struct dict *dict, uint32_t copy)
{
    struct dict_file *file = &dict->file;
    while (copy < IMAGE_COPIES && file->room[copy] >= file->room_wanted)
        copy++;
    if (copy < IMAGE_COPIES && file->room_error == 0) {
        jam_data(copy);
        dict_file_open(dict, copy, SCHEMA_FILE_ROOM_OPENING, FS_WRITE | FS_CREATE);
        return;
    }
    jam();
    file->state = SCHEMA_FILE_READY;
    dict_local_room(dict, file->room_error);
}

void dict_file_make_room(struct dict *dict)
{
    struct dict_file *file = &dict->file;
    struct image_head head = {.words = image_count(dict)};
    ndbrequire(file->state == SCHEMA_FILE_READY);
    head.pieces = (uint32_t)((head.words + IMAGE_PIECE_WORDS - 1u) / IMAGE_PIECE_WORDS);
    file->room_wanted = image_bytes(&head);
    file->room_error = 0;
    dict_file_next_room(dict, 0);
}

static void room_made(struct dict *dict)
{
    struct dict_file *file = &dict->file;
    jam_data(file->room_error);
    dict_file_close(dict, SCHEMA_FILE_ROOM_CLOSING);
}

/* A full disk is the client's to hear. */
bool dict_file_room_refused(struct dict *dict, const struct signal *sig)
{
    const struct fs_ref *ref = SIG_PAYLOAD(sig, fs_ref);
    if (ref->error != ERR_DISK_FULL) return false;
    log_warning(&dict->block, "%s: the disk has no room for %llu bytes",
                dict_file_names[dict->file.copy], (unsigned long long)dict->file.room_wanted);
    dict->file.room_error = ref->error;
    return true;
}

void dict_exec_FSPREALLOCATECONF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    struct dict_file *file = &dict->file;
    ndbrequire(file->state == SCHEMA_FILE_ROOM_GETTING);
    ndbrequire(SIG_PAYLOAD(sig, fs_conf)->sender_data == file->copy);
    file->room[file->copy] = file->room_wanted; /* The copy has this room at least. */
    room_made(dict);
}

void dict_exec_FSPREALLOCATEREF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    ndbrequire(dict->file.state == SCHEMA_FILE_ROOM_GETTING);
    if (!dict_file_room_refused(dict, sig)) dict_file_io_failed(dict, sig, "made longer");
    room_made(dict);
}
