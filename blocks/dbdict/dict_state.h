/* dict_state.h -- DBDICT's own records. Private to blocks/dbdict. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/cmvmi/event.h"
#include "blocks/dbdict/dict_block.h"
#include "blocks/dbdict/dict_image.h"
#include "kernel/base/pool.h"
#include "signals/api_reg.h"
#include "signals/copy.h"
#include "signals/dict.h"
#include "signals/dih.h"
#include "signals/durable.h"
#include "values/errors.h"
#include "signals/local_table.h"
#include "signals/qmgr.h"
#include "signals/order.h"
#include "signals/rejoin.h"
#include "signals/schema_trans.h"
#include "signals/start.h"
#include "signals/takeover.h"
#include "values/table_def.h"
#include "signals/trix.h"

/* Definitions are kept in pieces of 1 KB, so that a small table does not take a page. */
#define DICT_CHUNK_WORDS 253u
struct dict_chunk {
    struct pool_record record;
    uint32_t next; /* Reference, 0 = last. */
    uint32_t words[DICT_CHUNK_WORDS];
};
#define DICT_CHUNKS_MAX 0x100000u         /* 1 GB: the schema memory is the limit. */
#define DICT_WORDS_MAX  SIGNAL_EXTENT_MAX /* Definition and distribution travel in one signal. */
#define DICT_HEAD_WORDS 32u   /* Room for the head, payload and lengths of any such signal. */
#define DICT_LIST_WORDS 4096u /* Words of tables in one LIST_TABLES_CONF, at most. */
#define DICT_NAME_BYTES (TABLE_NAME_MAX + 4u)
/* The definition of a unique index has no defaults. */
#define DICT_INDEX_DEF_BYTES                                                                       \
    (sizeof(struct table_def) +                                                                    \
     (INDEX_COLUMNS_MAX + 1u) * (sizeof(struct table_column) + COLUMN_NAME_MAX + 1u) + 8u)

/* A version of a table's definition and its distribution, in pieces. */
struct dict_stored {
    uint32_t version;
    uint32_t def_words;
    uint32_t distribution_words;
    uint32_t first_chunk; /* First piece; 0: there is none. */
};

struct dict_table {
    uint32_t state; /* enum table_state */
    /* Version of the table, or of the last one that had its number: a new one gets the next. */
    uint32_t version;
    uint32_t fragments;
    uint32_t def_words;
    uint32_t distribution_words;
    uint32_t first_chunk;
    struct dict_stored next; /* What the table is going to be, while it is altered. */
    uint32_t base_id;        /* The table whose unique index it is, 0 = an ordinary table. */
    uint32_t next_by_name;   /* Table id, 0 = last of its chain. */
    uint32_t name_size;
    char name[DICT_NAME_BYTES]; /* "database/def/table" */
    bool named;                 /* The name leads to it. */
};

/*
 * The master's side of a schema transaction.
 *   IDLE -> PLACING (create: asks DIH) -> PREPARING -> STEPPING (one round after the other) -> IDLE
 *                                                     |      ^
 *                                                     v      |
 *                                   FILLING (TRIX, a unique index of a table in use)
 */
enum master_state {
    MASTER_IDLE = 0,
    MASTER_PLACING,
    MASTER_PREPARING,
    MASTER_STEPPING,
    MASTER_FILLING,
    MASTER_SETTLING, /* What is committed by now goes to the disks. */
    MASTER_STATES
};

struct dict_master {
    uint32_t state; /* enum master_state */
    uint32_t trans_id;
    uint32_t operation;  /* enum schema_operation */
    uint32_t client_ref; /* Client that gets the answer; 0: it is gone, nobody is answered. */
    uint32_t client_data;
    uint32_t table_id;
    uint32_t version;
    uint32_t object; /* `object` of SCHEMA_PREPARE_REQ. */
    uint32_t step;   /* enum schema_step */
    uint32_t error;
    uint32_t taken; /* The transaction is a lost master's, whose questions may still be answered. */
    struct node_mask waiting; /* Members that have not answered. */
    struct table_def *def;    /* Definition in def_memory: while PLACING, or what an alter makes. */
    void *def_memory;
    void *index_memory; /* Memory for the definition of a unique index. */
    uint32_t *words;    /* The encoded definition. */
};

#define DICT_GROUP_MAX (1u + TABLE_UNIQUE_MAX)
/* What comes and goes together: the unique indexes of a table, then the table. */
struct dict_set {
    uint32_t count;
    uint32_t table[DICT_GROUP_MAX];
};

/* Rows that an index being built has, of how many. */
struct dict_built {
    uint64_t rows;
    uint64_t total;
};

/* At the master: how far the nodes are. */
struct dict_progress {
    struct dict_built node[DATA_NODE_ID_MAX + 1];
    uint64_t told_ms; /* When the client was told last. */
    uint32_t tenths;  /* Tenths of the rows that the cluster log was told of last. */
};

/* The participant's side: what this node's TC and LQH instances do. */
#define DICT_LDMS_MAX 24u /* LDM instances of a node at most, as LDM_COUNT_MAX. */

struct dict_local {
    uint32_t active;
    uint32_t trans_id;
    uint32_t master_ref; /* Master's DBDICT; 0: it is lost, and its successor has not spoken yet. */
    uint32_t operation;
    uint32_t table_id;
    uint32_t object;      /* `object` of SCHEMA_PREPARE_REQ. */
    uint32_t then;        /* A step that follows the one under way; 0 = none. */
    struct dict_set made; /* Tables that come, with a create or truncate. */
    struct dict_set gone; /* Tables that go, with a drop or truncate. */
    /* Versions that the numbers in `made` had before, for an abort. */
    uint32_t version_before[DICT_GROUP_MAX];
    uint32_t at;     /* Index of the table that the instances are at, in the set of the step. */
    uint32_t adding; /* Index in `made` of the last table that they were to add. */
    /* TC instances that have added that one; all have added those before it. */
    struct node_mask added_tc;
    struct node_mask added_lqh; /* LQH instances that have added it. */
    uint32_t step;              /* 0 = preparing */
    uint32_t waits;
    uint32_t error;
    uint32_t has_index; /* PREPARE of CREATE_UNIQUE: the instances have been told of the index. */
    uint32_t reserved;  /* RESERVE has come: the versions in `made` are used up. */
    uint32_t has_room;  /* PREPARE of a create: the schema files can become longer. */
    /* TC instances that have not answered; their numbers fit into a node mask. */
    struct node_mask waiting_tc;
    struct node_mask waiting_lqh;
    void *def_memory;
    void *index_memory; /* Memory for the definition of a unique index. */
};

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

/* Lost members; docs/protocols/schema.md. */
struct dict_lost {
    uint32_t failure_no;      /* Number of the newest failure; 0 = none yet. */
    uint32_t asked_no;        /* Failure of a SCHEMA_TAKEOVER_REQ that is not known here yet. */
    uint32_t asked_by;        /* Sender of that SCHEMA_TAKEOVER_REQ. */
    struct node_mask waiting; /* New master: members whose SCHEMA_TAKEOVER_CONF has not come. */
    /* Answer of the member that is furthest, of those that have come. */
    struct schema_takeover_conf trans;
    struct node_mask without; /* Members that have no transaction, as they have answered. */
    struct node_mask back;    /* Members that are on the way back, as they have answered. */
    bool abort;               /* Somebody aborts. */
    bool ready;               /* All have prepared. */
};

/* At the president: no schema transactions while nodes come back; all of them share the lock. */
struct dict_lock {
    struct node_mask nodes;   /* Nodes that hold the lock; empty: not locked. */
    struct node_mask waiting; /* Nodes among them that wait until the last transaction has ended. */
    uint32_t sender;
    /* sender_data of the SCHEMA_LOCK_REQ of each node. */
    uint32_t sender_data[DATA_NODE_ID_MAX + 1];
};

/* At a node that comes back: its LQHs get the rows, a table at a time. */
struct dict_copy {
    uint32_t sender; /* Sender of COPY_START_REQ; 0: no copy is under way. */
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t instances;       /* LQH instances that are asked to copy the table: all. */
    struct node_mask waiting; /* Instances among them that are not through with the table. */
    uint32_t permille[DICT_LDMS_MAX + 1]; /* Share of the table that each instance has copied. */
    uint64_t fragments;                   /* Fragments of all tables. */
    uint64_t done;                        /* Fragments of the tables that are through. */
    uint64_t rows;
    uint64_t own;
    uint64_t kept;
    uint64_t removed;
    uint64_t bytes;
    uint64_t begun_ms;
};

/* A schema that was read or copied is looked through, a table in a step. */
struct dict_group {
    uint32_t table_id; /* Table that is looked at next. */
};

enum dict_work { DICT_WORK_COPY_TICK = 1, DICT_WORK_GROUPS, DICT_WORK_SETTLE };

struct dict {
    struct block block;
    uint32_t start_level;
    uint32_t single_user; /* Only this client may change the schema; 0 = all may. */
    struct dict_drain {
        uint32_t sender; /* NDBCNTR waits for the end of a schema transaction; 0 = it does not. */
        uint32_t sender_data;
    } drain[2]; /* Orders to drain: for single user mode, and for a stop. */
    uint32_t master_node;
    struct node_mask members;
    uint32_t president;
    struct dict_lost lost;
    struct dict_lock lock;
    struct dict_copy copy;
    struct dict_group group;
    uint32_t place[DATA_NODE_ID_MAX + 1]; /* Place of each node among the replicas: order.h. */

    uint32_t table_count; /* Size of the array `table`; ids are 1 .. table_count - 1. */
    uint32_t tables;      /* Tables in use. */
    struct dict_table *table;
    uint32_t name_slots; /* Power of two. */
    uint32_t *by_name;   /* First table id of each chain. */
    struct pool chunks;
    uint32_t *scratch; /* DICT_WORDS_MAX words: to put pieces together for a signal. */

    uint32_t trans_next;
    struct dict_master master;
    struct dict_progress progress;
    struct dict_local local;
    uint32_t trans_seen; /* The last schema transaction that a master has begun here; 0 = none. */
    uint32_t refused_id; /* The last schema transaction that was refused here at once. */
    /* Rows that each LQH instance has in the index being built. */
    struct dict_built built[DICT_LDMS_MAX + 1];
    struct dict_file file;
    struct dict_restart restart;
};

static inline struct dict *dict_of(struct block *block)
{
    return (struct dict *)(void *)block;
}
static inline uint32_t dict_own(const struct dict *dict)
{
    return block_config(&dict->block)->own_node;
}

static inline bool dict_diskless(const struct dict *dict)
{
    return block_config(&dict->block)->diskless != 0;
}

/* dict.c */
void dict_sttorry(struct dict *dict);

/* dict_store.c */
void dict_store_init(struct dict *dict);
struct dict_table *dict_table_at(struct dict *dict, uint32_t table_id); /* NULL: no such number. */
uint32_t dict_table_by_name(struct dict *dict, const char *name, uint32_t size); /* 0: none. */
uint32_t dict_table_unused(const struct dict *dict,
                           uint32_t above); /* The first id above that one, 0: all are used. */
/* Keeps a checked definition and its distribution. 0, or an error; then nothing is kept. If there
 * is a table of this name already the name goes on leading to that one. */
uint32_t dict_store_put(struct dict *dict, const struct table_def *def, const struct section *words,
                        const struct section *distribution);
void dict_store_remove(struct dict *dict, uint32_t table_id);
/* The name leads to another table, which has had the same one all the time. */
void dict_store_replace(struct dict *dict, uint32_t old_id, uint32_t new_id);
bool dict_is_of(const struct dict *dict, uint32_t table_id,
                uint32_t base_id); /* The table is that one, or a unique index of it. */
/* Puts a table's words together in dict->scratch: sections[0] definition, sections[1] distribution.
 */
void dict_store_read(struct dict *dict, const struct dict_table *table, struct section sections[2]);

/* The same, the distribution without the nodes that are not members now. False: a fragment has no
 * replica left. */
bool dict_store_read_members(struct dict *dict, const struct dict_table *table,
                             struct section sections[2]);
/* The same for this node's TCs and LQHs. In a cluster that goes on without lost nodes these have
 * their places, as DISTRIBUTION_ABSENT. */
bool dict_store_read_places(struct dict *dict, const struct dict_table *table,
                            struct section sections[2]);
/* Reads only the distribution: the other members, in the order of their places. */
void dict_store_read_sources(struct dict *dict, const struct dict_table *table,
                             struct section *distribution);
/* The same as the schema files are to have it: what an altered table is going to be. */
void dict_store_read_next(struct dict *dict, const struct dict_table *table,
                          struct section sections[2]);
/* Keeps what a table is going to be beside what it is. 0, or an error; then nothing is kept. */
uint32_t dict_store_stage(struct dict *dict, uint32_t table_id, uint32_t version,
                          const struct section sections[2]);
/* The table becomes what was kept beside it, or that is forgotten. Without any nothing happens. */
void dict_store_adopt(struct dict *dict, uint32_t table_id);
void dict_store_unstage(struct dict *dict, uint32_t table_id);
/* Forgets all tables and versions. */
void dict_store_clear(struct dict *dict);

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
void dict_file_init(struct dict *dict);
void dict_file_read(struct dict *dict, uint32_t sttor_sender, uint32_t sttor_data);
/* Writes both copies; then dict_restart_written() or dict_local_written(). `without`: a table of
 * which, with its unique indexes, only the versions are kept; 0 = none. `as_is`: and of an altered
 * table what it is, not what it is going to be. */
void dict_file_write(struct dict *dict, uint64_t sequence, uint32_t without, bool as_is);
/* Tells DIH, whose files name what these have; `changed`: by a change of the schema. */
void dict_file_tell(struct dict *dict, bool changed);
/* Gets room on the disk for the image as the dictionary is now; then dict_local_room(). */
void dict_file_make_room(struct dict *dict);
void dict_file_checked(struct dict *dict, uint32_t wrong_id);
bool dict_file_equal(const struct dict *dict); /* Both copies have the schema as it is. */
/* The node must start from its files and cannot. */
_Noreturn void dict_file_fail(struct dict *dict);
void dict_exec_FSOPENCONF(struct block *block, const struct signal *sig);
void dict_exec_FSREADCONF(struct block *block, const struct signal *sig);
void dict_exec_FSWRITECONF(struct block *block, const struct signal *sig);
void dict_exec_FSCLOSECONF(struct block *block, const struct signal *sig);
void dict_exec_FSPREALLOCATECONF(struct block *block, const struct signal *sig);
void dict_exec_FSPREALLOCATEREF(struct block *block, const struct signal *sig);
void dict_exec_FSOPENREF(struct block *block, const struct signal *sig);
void dict_exec_FSREADREF(struct block *block, const struct signal *sig);
void dict_exec_FSWRITEREF(struct block *block, const struct signal *sig);
void dict_exec_FSCLOSEREF(struct block *block, const struct signal *sig);

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

/* dict_client.c */
uint32_t dict_stopping_error(const struct dict *dict); /* Why a node that stops refuses. */
void dict_exec_GET_TABINFO_REQ(struct block *block, const struct signal *sig);
void dict_exec_LIST_TABLES_REQ(struct block *block, const struct signal *sig);

/* dict_master.c */
/* 0, or why no schema transaction can begin here now. */
uint32_t dict_not_possible(const struct dict *dict, uint32_t client);
/* Begins a transaction: its number, and what its client asked. */
void dict_begin(struct dict *dict, const struct signal *sig, uint32_t operation,
                uint32_t sender_data);
/* A new number and version for the definition in the master's memory, and for its unique indexes.
 * 0, or why it cannot be. */
uint32_t dict_number_table(struct dict *dict);
/* The same for one of its unique indexes; the number is above the one given. */
uint32_t dict_number_unique(struct dict *dict, struct table_def *def, uint32_t unique,
                            uint32_t above);
void dict_begin_prepare(struct dict *dict, const struct section *sections, uint32_t section_count);
void dict_master_cancel(struct dict *dict);
void dict_master_client_gone(struct dict *dict, uint32_t node);
void dict_exec_CREATE_TABLE_REQ(struct block *block, const struct signal *sig);
void dict_exec_DROP_TABLE_REQ(struct block *block, const struct signal *sig);
void dict_exec_CREATE_FRAG_CONF(struct block *block, const struct signal *sig);
void dict_exec_CREATE_FRAG_REF(struct block *block, const struct signal *sig);
void dict_exec_SCHEMA_PREPARE_CONF(struct block *block, const struct signal *sig);
void dict_exec_SCHEMA_PREPARE_REF(struct block *block, const struct signal *sig);
void dict_exec_SCHEMA_STEP_CONF(struct block *block, const struct signal *sig);
void dict_exec_WAIT_DURABLE_CONF(struct block *block, const struct signal *sig);
void dict_exec_WAIT_DURABLE_REF(struct block *block, const struct signal *sig);

/* The former master's transaction: brought to its end. */
void dict_master_take(struct dict *dict, const struct schema_takeover_conf *trans, bool forward);
/* Nothing waits any more for those that are no members now. */
void dict_master_lost(struct dict *dict);
/* TRIX has filled the index, or could not. */
void dict_master_filled(struct dict *dict, uint32_t error);
/* Asks TC once more, which had no record for the question. */
void dict_master_settle(struct dict *dict);

/* dict_alter.c */
void dict_exec_ALTER_TABLE_REQ(struct block *block, const struct signal *sig);
void dict_exec_SCHEMA_BUILD_REP(struct block *block, const struct signal *sig);
void dict_alter_answer(struct dict *dict);
/* A node has told how far it is with an index. */
void dict_alter_progress(struct dict *dict, uint32_t node, const struct dict_built *built);

/* dict_alter_fits.c */
/* False for a definition that this node's own one cannot become. */
bool dict_alter_fits(struct dict *dict, const struct signal *sig);
/* False for a definition that cannot take the place of this node's own one. */
bool dict_truncate_fits(struct dict *dict, const struct signal *sig);

/* dict_alter_node.c: a node's part in what alters a table. */
uint32_t dict_alter_prepare(struct dict *dict, const struct signal *sig);
void dict_alter_order(struct dict *dict); /* What the step under way means for the LQHs. */
/* What the step under way means for the dictionary. */
void dict_alter_step_done(struct dict *dict);
void dict_alter_adopt(struct dict *dict);  /* The new definition is the one that counts. */
void dict_alter_cancel(struct dict *dict); /* Nothing is built any more. */
/* Tells the clients that what they remember of the table is old. Version 0: it is there no more. */
void dict_tell_changed(struct dict *dict, uint32_t table_id, uint32_t version);
void dict_exec_LOCAL_INDEX_CONF(struct block *block, const struct signal *sig);
void dict_exec_LOCAL_INDEX_REF(struct block *block, const struct signal *sig);
void dict_exec_LOCAL_INDEX_REP(struct block *block, const struct signal *sig);
void dict_exec_SCHEMA_CANCEL_ORD(struct block *block, const struct signal *sig);

/* dict_lock.c */
bool dict_lock_idle(const struct dict *dict); /* No schema transaction is under way. */
bool dict_locked(const struct dict *dict);    /* Somebody comes back. */
void dict_lock_try(struct dict *dict);        /* Perhaps the last transaction has ended. */
void dict_lock_lost(struct dict *dict, const struct node_mask *nodes);
void dict_exec_SCHEMA_LOCK_REQ(struct block *block, const struct signal *sig);
void dict_exec_DRAIN_CLIENTS_REQ(struct block *block, const struct signal *sig);
void dict_exec_SCHEMA_UNLOCK_ORD(struct block *block, const struct signal *sig);
void dict_exec_NODE_INCLUDE_REQ(struct block *block, const struct signal *sig);
void dict_exec_NODE_INCLUDE_REP(struct block *block, const struct signal *sig);
void dict_exec_ORDER_PLACES_REP(struct block *block, const struct signal *sig);

/* dict_copy.c */
void dict_exec_COPY_START_REQ(struct block *block, const struct signal *sig);
void dict_exec_COPY_TABLE_CONF(struct block *block, const struct signal *sig);
void dict_exec_COPY_PART_REP(struct block *block, const struct signal *sig);
void dict_exec_COPY_TABLE_REF(struct block *block, const struct signal *sig);
void dict_copy_tick(struct dict *dict);

/* dict_takeover.c */
void dict_exec_NODE_LOST_REP(struct block *block, const struct signal *sig);
void dict_exec_SCHEMA_TAKEOVER_REQ(struct block *block, const struct signal *sig);
void dict_exec_SCHEMA_TAKEOVER_CONF(struct block *block, const struct signal *sig);

/* dict_unique.c: the master has its TRIX fill a unique index. */
void dict_unique_fill(struct dict *dict);
void dict_unique_cancel(struct dict *dict);
void dict_exec_BUILD_INDX_CONF(struct block *block, const struct signal *sig);
void dict_exec_BUILD_INDX_REF(struct block *block, const struct signal *sig);
void dict_exec_BUILD_INDX_REP(struct block *block, const struct signal *sig);

/* dict_unique_node.c */
void dict_unique_known(
    struct dict *dict); /* All instances have its table: they learn whose it is. */
void dict_unique_order(struct dict *dict); /* What the step under way means for TCs and LQHs. */
void dict_exec_LOCAL_UNIQUE_CONF(struct block *block, const struct signal *sig);
void dict_exec_LOCAL_UNIQUE_REF(struct block *block, const struct signal *sig);

/* dict_made.c */
/* The tables that the step under way is about. */
const struct dict_set *dict_set_of_step(const struct dict_local *local);
/* PREPARE of a create or truncate: keeps the table and its unique indexes in local.made. 0 or an
 * error; then dict_forget_made() is due. */
uint32_t dict_prepare_create(struct dict *dict, const struct signal *sig);
/* PREPARE of CREATE_UNIQUE: keeps the table of the index in local.made in the same way. */
uint32_t dict_prepare_unique(struct dict *dict, const struct signal *sig);
/* Puts the table and its unique indexes into local.gone; the indexes first, so that none is there
 * without its table. */
void dict_set_of_drop(struct dict *dict, uint32_t table_id);
void dict_made_online(struct dict *dict); /* All nodes' TCs and LQHs can use it. */
void dict_forget_made(struct dict *dict); /* It is not made after all. */

/* dict_local.c */
/* Only the master's DBDICT changes the schema; any other node that tries loses its link. */
bool dict_from_master(struct dict *dict, const struct signal *sig);
void dict_local_check(struct dict *dict); /* Perhaps the step under way is done. */
struct node_mask dict_all_instances(const struct dict *dict, uint32_t block_no);
/* Sends to all instances of DBTC or DBLQH, and adds them to `waiting`. */
void dict_add_to(struct dict *dict, uint32_t block_no, struct node_mask *waiting,
                 const struct local_table_add_req *req, const struct section sections[2]);
void dict_order(struct dict *dict, uint32_t block_no, const struct node_mask *instances,
                const struct local_table_state_req *req);
void dict_local_written(struct dict *dict);
void dict_local_room(struct dict *dict, uint32_t error);
void dict_exec_SCHEMA_PREPARE_REQ(struct block *block, const struct signal *sig);
void dict_exec_SCHEMA_STEP_REQ(struct block *block, const struct signal *sig);
void dict_exec_LOCAL_TABLE_ADD_CONF(struct block *block, const struct signal *sig);
void dict_exec_LOCAL_TABLE_ADD_REF(struct block *block, const struct signal *sig);
void dict_exec_LOCAL_TABLE_STATE_CONF(struct block *block, const struct signal *sig);
