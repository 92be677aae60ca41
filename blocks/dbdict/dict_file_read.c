/* dict_file_read.c -- the schema files are read when the node starts. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A pass over both copies proves them from the first to the last byte before a word of them is
 * used; a second one over the newest good copy makes the tables.
 */
#include <stdio.h>
#include <string.h>
#include <xxhash.h>
#include "blocks/dbdict/dict_state.h"
#include "blocks/ndbfs/fs_client.h"

void dict_file_read(struct dict *dict, uint32_t sttor_sender, uint32_t sttor_data)
{
    struct dict_file *file = &dict->file;
    file->sttor_sender = sttor_sender;
    file->sttor_data = sttor_data;
    if (file->state == SCHEMA_FILE_READY || dict_diskless(dict)) {
        jam();
        dict_sttorry(dict);
        return;
    }
    ndbrequire(file->state == SCHEMA_FILE_CLOSED);
    jam();
    dict_file_open(dict, 0, SCHEMA_FILE_OPENING, FS_READ | FS_SYNC);
}

/* The copy is not whole; the first reason counts. */
static void damaged(struct dict *dict, uint64_t offset, const char *kind)
{
    struct dict_file *file = &dict->file;
    struct schema_copy *copy = &file->seen[file->copy];
    if (copy->found == COPY_BAD) return;
    copy->found = COPY_BAD;
    snprintf(copy->text, sizeof(copy->text), "%s, offset %llu: %s", dict_file_names[file->copy],
             (unsigned long long)offset, kind);
    jam_data(file->copy);
    log_warning(&dict->block, "%s", copy->text);
}

/* A file of somebody else is not used, and not overwritten either. Another file of this node in its
 * place is a write that went astray, hence damage. */
static void refuse_foreign(struct dict *dict, enum file_verdict verdict, const char *why)
{
    char text[600];
    if (verdict == FILE_GOOD || verdict == FILE_NOT_OURS || verdict == FILE_DAMAGED ||
        verdict == FILE_OTHER_KIND)
        return;
    jam_data(verdict);
    snprintf(text, sizeof(text), "%s is refused: %s%s", dict_file_names[dict->file.copy], why,
             file_foreign_advice(verdict));
    node_fail(EXIT_SCHEMA_FOREIGN, __FILE__, __LINE__, text);
}

static bool head_good(struct dict *dict, uint32_t bytes, struct image_head *head)
{
    struct dict_file *file = &dict->file;
    struct file_expected want = dict_file_expected(dict, file->copy);
    struct file_header header;
    uint64_t hash;
    char why[160];
    enum file_verdict verdict =
        file_header_check(file->head, bytes, &want, &header, why, sizeof(why));
    refuse_foreign(dict, verdict, why);
    if (verdict != FILE_GOOD) {
        damaged(dict, 0, why);
        return false;
    }
    if (bytes < IMAGE_HEAD_BYTES) {
        damaged(dict, bytes, "it ends too early");
        return false;
    }
    memcpy(&hash, file->head + IMAGE_HEAD_HASH_AT, sizeof(hash));
    memcpy(head, file->head, sizeof(*head));
    if (XXH3_64bits(file->head, IMAGE_HEAD_HASH_AT) != hash || header.sequence == 0) {
        damaged(dict, sizeof(header), "the head does not have its checksum");
        return false;
    }
    return true;
}

static void read_piece(struct dict *dict)
{
    struct dict_file *file = &dict->file;
    if (file->number == file->now.pieces) {
        jam();
        if (file->chain != file->now.chain) damaged(dict, 0, "the whole has another checksum");
        dict_file_close(dict, SCHEMA_FILE_CLOSING);
        return;
    }
    uint64_t left = image_bytes(&file->now) - file->offset;
    file->bytes = left < IMAGE_PIECE_BYTES ? (uint32_t)left : IMAGE_PIECE_BYTES;
    file->state = SCHEMA_FILE_PIECE;
    struct fs_piece piece = fs_piece_of(&dict->block, file->piece, file->bytes);
    fs_read(&dict->block, file->copy, file->file, file->offset, &piece, 1, FS_PARTIAL);
}

static void head_was_read(struct dict *dict, uint32_t bytes)
{
    struct dict_file *file = &dict->file;
    if (!head_good(dict, bytes, &file->now)) {
        dict_file_close(dict, SCHEMA_FILE_CLOSING);
        return;
    }
    uint64_t wanted = image_bytes(&file->now);
    if (wanted == 0 || file->size < wanted) {
        jam();
        damaged(dict, wanted == 0 ? 0 : file->size,
                wanted == 0 ? "the head cannot be" : "it ends too early");
        dict_file_close(dict, SCHEMA_FILE_CLOSING);
        return;
    }
    file->seen[file->copy].sequence = file->now.header.sequence;
    file->offset = IMAGE_HEAD_BYTES;
    file->number = 0;
    file->chain = file->now.header.sequence;
    read_piece(dict);
}

static const char *piece_wrong(const struct dict_file *file, uint32_t bytes)
{
    const struct image_piece *piece = (const struct image_piece *)(const void *)file->piece;
    uint64_t before = (uint64_t)file->number * IMAGE_PIECE_WORDS;
    uint64_t words = file->now.words - before;
    if (bytes != file->bytes) return "it ends too early";
    if (image_piece_hash(piece, bytes, file->chain) != piece->hash)
        return "a piece does not have its checksum";
    if (piece->sequence != file->now.header.sequence || piece->number != file->number)
        return "a piece of another image";
    if (piece->words != (words < IMAGE_PIECE_WORDS ? words : IMAGE_PIECE_WORDS))
        return "a piece has another length";
    return NULL;
}

static void piece_was_read(struct dict *dict, uint32_t bytes)
{
    struct dict_file *file = &dict->file;
    struct image_piece *piece = (struct image_piece *)(void *)file->piece;
    const char *wrong = piece_wrong(file, bytes);
    if (wrong != NULL) {
        damaged(dict, file->offset, wrong);
        dict_file_close(dict, SCHEMA_FILE_CLOSING);
        return;
    }
    if (file->loading && !image_feed(dict, &file->reader, image_words(piece), piece->words)) {
        char kind[80];
        snprintf(kind, sizeof(kind), "table %u is refused, error %u", file->reader.refused_id,
                 file->reader.refused);
        damaged(dict, file->offset, kind);
        dict_file_close(dict, SCHEMA_FILE_CLOSING);
        return;
    }
    file->chain = piece->hash;
    file->offset += bytes;
    file->number++;
    read_piece(dict);
}

/* Nothing of the files can be used; that is an error only if the node must start from them. */
static void none_good(struct dict *dict)
{
    struct dict_file *file = &dict->file;
    jam();
    dict_store_clear(dict);
    file->sequence = 0;
    file->state = SCHEMA_FILE_READY;
    dict_sttorry(dict);
}

static void load(struct dict *dict)
{
    struct dict_file *file = &dict->file;
    uint32_t copy = file->seen[0].found == COPY_GOOD ? 0 : 1;
    if (file->seen[1].found == COPY_GOOD && file->seen[1].sequence > file->seen[copy].sequence)
        copy = 1;
    if (file->seen[copy].found != COPY_GOOD) {
        none_good(dict);
        return;
    }
    jam_data(copy);
    file->loading = true;
    file->newest = copy;
    memset(&file->reader, 0, sizeof(file->reader));
    dict_file_open(dict, copy, SCHEMA_FILE_OPENING, FS_READ | FS_SYNC);
}

static void loaded(struct dict *dict)
{
    struct dict_file *file = &dict->file;
    if (file->seen[file->copy].found == COPY_GOOD && !image_whole(&file->reader, &file->now))
        damaged(dict, 0, "its last table is not whole");
    if (file->seen[file->copy].found != COPY_GOOD) {
        none_good(dict);
        return;
    }
    jam();
    file->state = SCHEMA_FILE_CHECKING;
    dict_group_check(dict);
}

void dict_file_checked(struct dict *dict, uint32_t wrong_id)
{
    struct dict_file *file = &dict->file;
    ndbrequire(file->state == SCHEMA_FILE_CHECKING);
    if (wrong_id != 0) {
        char kind[80];
        snprintf(kind, sizeof(kind), "table %u and its unique index do not fit each other",
                 wrong_id);
        damaged(dict, 0, kind);
        none_good(dict);
        return;
    }
    file->sequence = file->now.header.sequence;
    file->state = SCHEMA_FILE_READY;
    log_info(&dict->block, "the node has the schema number %llu with %u tables",
             (unsigned long long)file->sequence, dict->tables);
    dict_sttorry(dict);
}

void dict_file_copy_read(struct dict *dict)
{
    struct dict_file *file = &dict->file;
    if (file->loading) {
        loaded(dict);
    } else if (file->copy + 1u < IMAGE_COPIES) {
        jam();
        dict_file_open(dict, file->copy + 1u, SCHEMA_FILE_OPENING, FS_READ | FS_SYNC);
    } else {
        load(dict);
    }
}

bool dict_file_equal(const struct dict *dict)
{
    const struct schema_copy *seen = dict->file.seen;
    return dict->file.sequence != 0 && seen[0].found == COPY_GOOD && seen[1].found == COPY_GOOD &&
           seen[0].sequence == dict->file.sequence && seen[1].sequence == dict->file.sequence;
}

void dict_file_fail(struct dict *dict)
{
    const struct dict_file *file = &dict->file;
    char text[2u * sizeof(file->seen[0].text) + 8u];
    const char *none[IMAGE_COPIES];
    bool limit =
        file->reader.refused == ERR_TABLE_RECORDS || file->reader.refused == ERR_SCHEMA_MEMORY;
    for (uint32_t i = 0; i < IMAGE_COPIES; i++)
        none[i] = file->seen[i].found == COPY_BAD ? file->seen[i].text : "";
    snprintf(text, sizeof(text), "%s%s%s", none[0], none[0][0] != 0 && none[1][0] != 0 ? "; " : "",
             none[1]);
    node_fail(limit ? EXIT_SCHEMA_LIMIT : EXIT_SCHEMA_DAMAGED, __FILE__, __LINE__,
              text[0] != 0 ? text : "D1/schema.0 and D1/schema.1 are missing or too old");
}

void dict_exec_FSREADCONF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    const struct fs_io_conf *conf = SIG_PAYLOAD(sig, fs_io_conf);
    ndbrequire(conf->sender_data == dict->file.copy);
    if (dict->file.state == SCHEMA_FILE_HEAD) {
        jam();
        head_was_read(dict, conf->bytes);
        return;
    }
    ndbrequire(dict->file.state == SCHEMA_FILE_PIECE);
    piece_was_read(dict, conf->bytes);
}

/* What the disk does not give any more is a damaged copy: the other one counts. */
void dict_exec_FSREADREF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    struct dict_file *file = &dict->file;
    ndbrequire(file->state == SCHEMA_FILE_HEAD || file->state == SCHEMA_FILE_PIECE);
    jam();
    if (SIG_PAYLOAD(sig, fs_ref)->error != ERR_FILE_IO_FAILED)
        dict_file_io_failed(dict, sig, "read");
    damaged(dict, file->state == SCHEMA_FILE_HEAD ? 0 : file->offset, "it cannot be read");
    dict_file_close(dict, SCHEMA_FILE_CLOSING);
}
