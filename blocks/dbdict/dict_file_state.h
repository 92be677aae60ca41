/* dict_file_state.h -- private: the schema files, and the schema at a start. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbdict/dict_image.h"
#include "kernel/block.h"
#include "signals/start.h"
#include "values/table_def.h"

struct dict;

/*
 * The schema files.
 *   CLOSED -> OPENING -> HEAD -> PIECE -> ... -> CLOSING -> OPENING (next copy or pass) or READY
 *   READY -> MAKING -> WRITING -> ... -> WRITING_HEAD -> DONE -> MAKING (the other copy) or READY
 *   READY -> ROOM_OPENING -> ROOM_GETTING -> ROOM_CLOSING -> ROOM_OPENING (the other copy) or READY
 */
enum schema_file_state {
    SCHEMA_FILE_CLOSED = 0,
    SCHEMA_FILE_OPENING,
    SCHEMA_FILE_HEAD,
    SCHEMA_FILE_PIECE,
    SCHEMA_FILE_CLOSING,
    SCHEMA_FILE_CHECKING,
    SCHEMA_FILE_READY,
    SCHEMA_FILE_MAKING,
    SCHEMA_FILE_WRITING,
    SCHEMA_FILE_WRITING_HEAD,
    SCHEMA_FILE_DONE,
    SCHEMA_FILE_ROOM_OPENING,
    SCHEMA_FILE_ROOM_GETTING,
    SCHEMA_FILE_ROOM_CLOSING
};
enum schema_copy_found { COPY_NONE = 0, COPY_GOOD, COPY_BAD };
struct schema_copy {
    uint32_t found; /* enum schema_copy_found */
    uint64_t sequence;
    char text[200]; /* COPY_BAD: file, offset, kind. */
};
/* Sizes of both copies are multiples of this: some more than is needed, so that not every small
 * table asks the disk. */
#define SCHEMA_ROOM_STEP 65536u

struct dict_file {
    uint32_t state;  /* enum schema_file_state */
    uint32_t copy;   /* Copy that is open. */
    uint32_t file;   /* NDBFS' number of the open copy. */
    bool loading;    /* This is the second pass, which takes the tables in. */
    uint32_t newest; /* Copy with the newest image: the other one is written first. */
    uint32_t writes; /* Copies still to be written. */
    uint32_t number; /* Number of the piece that is read. */
    uint32_t bytes;  /* Bytes of the piece under way. */
    uint64_t offset;
    uint64_t size;
    uint64_t room[IMAGE_COPIES]; /* Bytes that the copy has on the disk. */
    uint64_t room_wanted;
    uint32_t room_error;
    uint64_t chain;
    uint64_t sequence; /* Sequence of the schema; grows with each change. 0 = there is none. */
    uint8_t *head;     /* IMAGE_HEAD_BYTES */
    uint8_t *piece;    /* IMAGE_PIECE_BYTES */
    struct image_head now;
    struct image_reader reader;
    struct image_writer writer;
    struct schema_copy seen[IMAGE_COPIES];
    uint32_t sttor_sender;
    uint32_t sttor_data;
};

/*
 * The node's start with files.
 *   IDLE -> (COPYING -> CHECKING ->) (WRITING ->) ADDING -> ADDED -> ONLINE_LQH -> ONLINE_TC ->
 * DONE
 */
enum restart_state {
    RESTART_IDLE = 0,
    RESTART_COPYING,
    RESTART_CHECKING,
    RESTART_WRITING,
    RESTART_ADDING,
    RESTART_ADDED,
    RESTART_ONLINE_LQH,
    RESTART_ONLINE_TC,
    RESTART_DONE,
    RESTART_STATES
};
struct dict_restart {
    uint32_t state; /* enum restart_state */
    uint32_t sender;
    uint32_t sender_data;
    uint32_t source; /* Node whose schema the cluster starts with. */
    uint32_t table_id;
    bool changed; /* The source has another schema than this node had. */
    bool running; /* The source runs: the sequence is the one that it answers with. */
    uint64_t sequence;
    struct node_mask waiting_tc; /* TC instances that have not answered. */
    struct node_mask waiting_lqh;
};

/* A schema that was read or copied is looked through, a table in a step. */
struct dict_group {
    uint32_t table_id; /* Table that is looked at next. */
};

/* dict_image.c */
/* Words of the whole image as the dictionary is now. */
uint64_t image_count(const struct dict *dict);
/* Words of the image from writer->id on, at most `room`; 0 = that was all. */
uint32_t image_fill(struct dict *dict, struct image_writer *writer, uint32_t *words, uint32_t room);
/* Takes the tables in the next words of a stream; false: reader->refused says why. */
bool image_feed(struct dict *dict, struct image_reader *reader, const uint32_t *words,
                uint32_t count);
bool image_whole(const struct image_reader *reader, const struct image_head *head);
/* Checks definition and distribution of whatever origin. 0 and *def (in local.def_memory), or an
 * error. */
uint32_t dict_table_check(struct dict *dict, uint32_t table_id, uint32_t version,
                          const struct section sections[2], struct table_def **def);
/* Keeps a record (its first three words: number, version, state) that was checked by nobody yet; 0
 * or an error. */
uint32_t dict_table_take(struct dict *dict, const uint32_t head[IMAGE_RECORD_WORDS],
                         const struct section sections[2]);

/* dict_group.c */
/* Do all tables and their unique indexes name each other? Then dict_restart_checked() or
 * dict_file_checked(), which get the number of a table that does not fit; 0 = all do. */
void dict_group_check(struct dict *dict);
void dict_group_step(struct dict *dict);

/* dict_file.c */
extern const char *const dict_file_names[IMAGE_COPIES];
/* What the header of this node's copy says. */
struct file_expected dict_file_expected(const struct dict *dict, uint32_t copy);
/* `state` is the one in which the answer is awaited. */
void dict_file_open(struct dict *dict, uint32_t copy, uint32_t state, uint32_t flags);
void dict_file_close(struct dict *dict, uint32_t state);
/* The node ends: the copy cannot be `what`. */
_Noreturn void dict_file_io_failed(const struct dict *dict, const struct signal *sig,
                                   const char *what);
void dict_file_init(struct dict *dict);
void dict_exec_FSOPENCONF(struct block *block, const struct signal *sig);
void dict_exec_FSCLOSECONF(struct block *block, const struct signal *sig);
void dict_exec_FSOPENREF(struct block *block, const struct signal *sig);
void dict_exec_FSWRITEREF(struct block *block, const struct signal *sig);
void dict_exec_FSCLOSEREF(struct block *block, const struct signal *sig);

/* dict_file_read.c */
void dict_file_read(struct dict *dict, uint32_t sttor_sender, uint32_t sttor_data);
void dict_file_checked(struct dict *dict, uint32_t wrong_id);
bool dict_file_equal(const struct dict *dict); /* Both copies have the schema as it is. */
/* The node must start from its files and cannot. */
_Noreturn void dict_file_fail(struct dict *dict);
/* A copy is closed, or was not there. */
void dict_file_copy_read(struct dict *dict);
void dict_exec_FSREADCONF(struct block *block, const struct signal *sig);
void dict_exec_FSREADREF(struct block *block, const struct signal *sig);

/* dict_file_write.c */
/* Writes both copies; then dict_restart_written() or dict_local_written(). `without`: a table of
 * which, with its unique indexes, only the versions are kept; 0 = none. `as_is`: and of an altered
 * table what it is, not what it is going to be. */
void dict_file_write(struct dict *dict, uint64_t sequence, uint32_t without, bool as_is);
/* Tells DIH, whose files name what these have; `changed`: by a change of the schema. */
void dict_file_tell(struct dict *dict, bool changed);
/* Gets room on the disk for the image as the dictionary is now; then dict_local_room(). */
void dict_file_make_room(struct dict *dict);
/* The next piece of the copy goes out, or its head after the last one. */
void dict_file_write_piece(struct dict *dict);
/* The copy is closed: the other one follows, or whoever waits hears of it. */
void dict_file_copy_written(struct dict *dict);
/* The first copy from this one on that is too short gets room;
 * without any, or after an error, dict_local_room() follows. */
void dict_file_next_room(struct dict *dict, uint32_t copy);
/* Is it a full disk that refuses the room? Then room_error says so. */
bool dict_file_room_refused(struct dict *dict, const struct signal *sig);
void dict_exec_FSWRITECONF(struct block *block, const struct signal *sig);
void dict_exec_FSPREALLOCATECONF(struct block *block, const struct signal *sig);
void dict_exec_FSPREALLOCATEREF(struct block *block, const struct signal *sig);

/* dict_restart.c */
void dict_restart_written(struct dict *dict);
void dict_restart_checked(struct dict *dict, uint32_t wrong_id);
bool dict_restart_runs(const struct dict *dict);
void dict_restart_answered(struct dict *dict, const struct signal *sig, uint32_t table_id,
                           uint32_t error);
void dict_exec_SCHEMA_INFO_REQ(struct block *block, const struct signal *sig);
void dict_exec_SCHEMA_RESTART_REQ(struct block *block, const struct signal *sig);
void dict_exec_SCHEMA_COPY_REQ(struct block *block, const struct signal *sig);
void dict_exec_SCHEMA_COPY_CONF(struct block *block, const struct signal *sig);
void dict_exec_SCHEMA_ONLINE_REQ(struct block *block, const struct signal *sig);
