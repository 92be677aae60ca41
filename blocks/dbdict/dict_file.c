/* dict_file.c -- the schema files: read when the node starts, written with each change of the
 * schema. */
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
 * A pass over both copies proves them from the first to the last byte before a word of them is
 * used; a second one over the newest good copy makes the tables.
 */
#include <stdio.h>
#include <string.h>
#include <xxhash.h>
#include "blocks/dbdict/dict_state.h"
#include "blocks/ndbfs/fs_client.h"

static const char *const copy_names[IMAGE_COPIES] = {"D1/schema.0", "D1/schema.1"};

void dict_file_init(struct dict *dict)
{
    struct dict_file *file = &dict->file;
    if (dict_diskless(dict)) return;
    file->head = block_alloc(&dict->block, RG_NODE, IMAGE_HEAD_BYTES);
    file->piece = block_alloc(&dict->block, RG_NODE, IMAGE_PIECE_BYTES);
}

static struct file_expected expected(const struct dict *dict, uint32_t copy)
{
    const struct node_config *config = block_config(&dict->block);
    return (struct file_expected){.kind = FILE_KIND_SCHEMA,
                                  .node = config->own_node,
                                  .cluster_id = config->cluster_id,
                                  .instance = copy};
}

static void open_copy(struct dict *dict, uint32_t copy, uint32_t state, uint32_t flags)
{
    dict->file.copy = copy;
    dict->file.state = state;
    fs_open(&dict->block, copy, copy_names[copy], flags);
}

static void close_copy(struct dict *dict, uint32_t state)
{
    dict->file.state = state;
    fs_close(&dict->block, dict->file.copy, dict->file.file);
}

/* --- Reading. --- */

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
    open_copy(dict, 0, SCHEMA_FILE_OPENING, FS_READ | FS_SYNC);
}

/* The copy is not whole; the first reason counts. */
static void damaged(struct dict *dict, uint64_t offset, const char *kind)
{
    struct dict_file *file = &dict->file;
    struct schema_copy *copy = &file->seen[file->copy];
    if (copy->found == COPY_BAD) return;
    copy->found = COPY_BAD;
    snprintf(copy->text, sizeof(copy->text), "%s, offset %llu: %s", copy_names[file->copy],
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
    snprintf(text, sizeof(text), "%s is refused: %s%s", copy_names[dict->file.copy], why,
             file_foreign_advice(verdict));
    node_fail(EXIT_SCHEMA_FOREIGN, __FILE__, __LINE__, text);
}

static bool head_good(struct dict *dict, uint32_t bytes, struct image_head *head)
{
    struct dict_file *file = &dict->file;
    struct file_expected want = expected(dict, file->copy);
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
        close_copy(dict, SCHEMA_FILE_CLOSING);
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
        close_copy(dict, SCHEMA_FILE_CLOSING);
        return;
    }
    uint64_t wanted = image_bytes(&file->now);
    if (wanted == 0 || file->size < wanted) {
        jam();
        damaged(dict, wanted == 0 ? 0 : file->size,
                wanted == 0 ? "the head cannot be" : "it ends too early");
        close_copy(dict, SCHEMA_FILE_CLOSING);
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
        close_copy(dict, SCHEMA_FILE_CLOSING);
        return;
    }
    if (file->loading && !image_feed(dict, &file->reader, image_words(piece), piece->words)) {
        char kind[80];
        snprintf(kind, sizeof(kind), "table %u is refused, error %u", file->reader.refused_id,
                 file->reader.refused);
        damaged(dict, file->offset, kind);
        close_copy(dict, SCHEMA_FILE_CLOSING);
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
    open_copy(dict, copy, SCHEMA_FILE_OPENING, FS_READ | FS_SYNC);
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

/* A copy is closed, or was not there. */
static void copy_was_read(struct dict *dict)
{
    struct dict_file *file = &dict->file;
    if (file->loading) {
        loaded(dict);
    } else if (file->copy + 1u < IMAGE_COPIES) {
        jam();
        open_copy(dict, file->copy + 1u, SCHEMA_FILE_OPENING, FS_READ | FS_SYNC);
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

/* --- Writing. --- */

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
    open_copy(dict, copy, SCHEMA_FILE_MAKING, FS_WRITE | FS_CREATE | empty);
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
    struct file_expected self = expected(dict, file->copy);
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

static void write_piece(struct dict *dict)
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

static void copy_was_written(struct dict *dict)
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

/* --- Room for a longer image. --- */

/* Sizes of both copies are multiples of this: some more than is needed, so that not every small
 * table asks the disk. */
#define ROOM_STEP 65536u

static void next_room(struct dict *dict, uint32_t copy)
{
    struct dict_file *file = &dict->file;
    while (copy < IMAGE_COPIES && file->room[copy] >= file->room_wanted)
        copy++;
    if (copy < IMAGE_COPIES && file->room_error == 0) {
        jam_data(copy);
        open_copy(dict, copy, SCHEMA_FILE_ROOM_OPENING, FS_WRITE | FS_CREATE);
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
    next_room(dict, 0);
}

static void room_made(struct dict *dict)
{
    struct dict_file *file = &dict->file;
    jam_data(file->room_error);
    close_copy(dict, SCHEMA_FILE_ROOM_CLOSING);
}

/* A full disk is the client's to hear. True: it is one. */
static bool room_refused(struct dict *dict, const struct signal *sig)
{
    const struct fs_ref *ref = SIG_PAYLOAD(sig, fs_ref);
    if (ref->error != ERR_DISK_FULL) return false;
    log_warning(&dict->block, "%s: the disk has no room for %llu bytes",
                copy_names[dict->file.copy], (unsigned long long)dict->file.room_wanted);
    dict->file.room_error = ref->error;
    return true;
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
        uint64_t size = (file->room_wanted + ROOM_STEP - 1u) / ROOM_STEP * ROOM_STEP;
        jam();
        file->state = SCHEMA_FILE_ROOM_GETTING;
        fs_preallocate(block, file->copy, file->file, size, 0);
        return;
    }
    if (file->state == SCHEMA_FILE_MAKING) {
        jam();
        write_piece(dict);
        return;
    }
    ndbrequire(file->state == SCHEMA_FILE_OPENING);
    jam();
    if (!file->loading) file->seen[file->copy].found = COPY_GOOD;
    file->state = SCHEMA_FILE_HEAD;
    struct fs_piece piece = fs_piece_of(block, file->head, IMAGE_HEAD_BYTES);
    fs_read(block, file->copy, file->file, 0, &piece, 1, FS_PARTIAL);
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

void dict_exec_FSWRITECONF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    struct dict_file *file = &dict->file;
    const struct fs_io_conf *conf = SIG_PAYLOAD(sig, fs_io_conf);
    ndbrequire(conf->sender_data == file->copy);
    if (file->state == SCHEMA_FILE_WRITING) {
        ndbrequire(conf->bytes == file->bytes);
        write_piece(dict);
        return;
    }
    ndbrequire(file->state == SCHEMA_FILE_WRITING_HEAD && conf->bytes == IMAGE_HEAD_BYTES);
    jam();
    close_copy(dict, SCHEMA_FILE_DONE);
}

void dict_exec_FSCLOSECONF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    ndbrequire(SIG_PAYLOAD(sig, fs_conf)->sender_data == dict->file.copy);
    if (dict->file.state == SCHEMA_FILE_DONE) {
        jam();
        copy_was_written(dict);
        return;
    }
    if (dict->file.state == SCHEMA_FILE_ROOM_CLOSING) {
        jam();
        next_room(dict, dict->file.copy + 1u);
        return;
    }
    ndbrequire(dict->file.state == SCHEMA_FILE_CLOSING);
    jam();
    copy_was_read(dict);
}

static _Noreturn void file_failed(const struct dict *dict, const struct signal *sig,
                                  const char *what)
{
    const struct fs_ref *ref = SIG_PAYLOAD(sig, fs_ref);
    char text[160];
    snprintf(text, sizeof(text), "%s cannot be %s: error %u, system's error %u",
             copy_names[dict->file.copy], what, ref->error, ref->os_error);
    node_fail(EXIT_SCHEMA_IO, __FILE__, __LINE__, text);
}

void dict_exec_FSOPENREF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    if (dict->file.state == SCHEMA_FILE_OPENING && !dict->file.loading &&
        SIG_PAYLOAD(sig, fs_ref)->error == ERR_FILE_MISSING) {
        jam();
        copy_was_read(dict);
        return;
    }
    if (dict->file.state == SCHEMA_FILE_ROOM_OPENING && room_refused(dict, sig)) {
        jam();
        next_room(dict, IMAGE_COPIES);
        return;
    }
    jam();
    file_failed(dict, sig, "opened");
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
    if (!room_refused(dict, sig)) file_failed(dict, sig, "made longer");
    room_made(dict);
}

/* What the disk does not give any more is a damaged copy: the other one counts. */
void dict_exec_FSREADREF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    struct dict_file *file = &dict->file;
    ndbrequire(file->state == SCHEMA_FILE_HEAD || file->state == SCHEMA_FILE_PIECE);
    jam();
    if (SIG_PAYLOAD(sig, fs_ref)->error != ERR_FILE_IO_FAILED) file_failed(dict, sig, "read");
    damaged(dict, file->state == SCHEMA_FILE_HEAD ? 0 : file->offset, "it cannot be read");
    close_copy(dict, SCHEMA_FILE_CLOSING);
}

void dict_exec_FSWRITEREF(struct block *block, const struct signal *sig)
{
    jam();
    file_failed(dict_of(block), sig, "written");
}

void dict_exec_FSCLOSEREF(struct block *block, const struct signal *sig)
{
    jam();
    file_failed(dict_of(block), sig, "closed");
}
