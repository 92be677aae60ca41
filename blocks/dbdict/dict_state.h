/* dict_state.h -- DBDICT's own records. Private to blocks/dbdict. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/cmvmi/event.h"
#include "blocks/dbdict/dict_block.h"
#include "kernel/base/pool.h"
#include "signals/dict.h"
#include "signals/dih.h"
#include "signals/errors.h"
#include "signals/local_table.h"
#include "signals/qmgr.h"
#include "signals/schema_trans.h"
#include "signals/start.h"
#include "signals/table_def.h"

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
#define DICT_LIST_WORDS 4096u /* Of one LIST_TABLES_CONF. */
#define DICT_NAME_BYTES (TABLE_NAME_MAX + 4u)

struct dict_table {
    uint32_t state;   /* enum table_state */
    uint32_t version; /* Also of the last table that had this number: a new one gets the next. */
    uint32_t fragments;
    uint32_t def_words;
    uint32_t distribution_words;
    uint32_t first_chunk;
    uint32_t next_by_name; /* Table id, 0 = last of its chain. */
    uint32_t name_size;
    char name[DICT_NAME_BYTES]; /* "database/def/table" */
};

/*
 * The master's side of a schema transaction.
 *   IDLE -> PLACING (create: asks DIH) -> PREPARING -> STEPPING (one round after the other) -> IDLE
 */
enum master_state {
    MASTER_IDLE = 0,
    MASTER_PLACING,
    MASTER_PREPARING,
    MASTER_STEPPING,
    MASTER_STATES
};

struct dict_master {
    uint32_t state; /* enum master_state */
    uint32_t trans_id;
    uint32_t operation;  /* enum schema_operation */
    uint32_t client_ref; /* 0: the client is gone, nobody is answered. */
    uint32_t client_data;
    uint32_t table_id;
    uint32_t version;
    uint32_t step; /* enum schema_step */
    uint32_t error;
    struct node_mask waiting; /* Members that have not answered. */
    struct table_def *def;    /* In def_memory, while PLACING. */
    void *def_memory;
    uint32_t *words; /* The encoded definition. */
};

/* The participant's side: what this node's TC and LQH instances do. */
struct dict_local {
    uint32_t active;
    uint32_t trans_id;
    uint32_t master_ref;
    uint32_t operation;
    uint32_t table_id;
    uint32_t step; /* 0 = preparing */
    uint32_t waits;
    uint32_t error;
    struct node_mask waiting_tc; /* Instances; numbers fit into a node mask. */
    struct node_mask waiting_lqh;
    struct node_mask added_tc; /* Have the table. */
    struct node_mask added_lqh;
    void *def_memory;
};

struct dict {
    struct block block;
    uint32_t start_level;
    uint32_t master_node;
    struct node_mask members;

    uint32_t table_count; /* Of the array; ids are 1 .. table_count - 1. */
    uint32_t tables;      /* In use. */
    struct dict_table *table;
    uint32_t name_slots; /* Power of two. */
    uint32_t *by_name;   /* First table id of each chain. */
    struct pool chunks;
    uint32_t *scratch; /* DICT_WORDS_MAX words: to put pieces together for a signal. */

    uint32_t trans_next;
    struct dict_master master;
    struct dict_local local;
};

static inline struct dict *dict_of(struct block *block)
{
    return (struct dict *)(void *)block;
}
static inline uint32_t dict_own(const struct dict *dict)
{
    return block_config(&dict->block)->own_node;
}

/* dict_store.c */
void dict_store_init(struct dict *dict);
struct dict_table *dict_table_at(struct dict *dict, uint32_t table_id); /* NULL: no such number. */
uint32_t dict_table_by_name(struct dict *dict, const char *name, uint32_t size); /* 0: none. */
uint32_t dict_table_unused(const struct dict *dict); /* An id, 0: all are used. */
/* Keeps a checked definition and its distribution. 0, or an error; then nothing is kept. */
uint32_t dict_store_put(struct dict *dict, const struct table_def *def, const struct section *words,
                        const struct section *distribution);
void dict_store_remove(struct dict *dict, uint32_t table_id);
/* Puts a table's words together in dict->scratch: sections[0] definition, sections[1] distribution.
 */
void dict_store_read(struct dict *dict, const struct dict_table *table, struct section sections[2]);

/* dict_client.c */
void dict_exec_GET_TABINFO_REQ(struct block *block, const struct signal *sig);
void dict_exec_LIST_TABLES_REQ(struct block *block, const struct signal *sig);

/* dict_master.c */
void dict_master_client_gone(struct dict *dict, uint32_t node);
void dict_exec_CREATE_TABLE_REQ(struct block *block, const struct signal *sig);
void dict_exec_DROP_TABLE_REQ(struct block *block, const struct signal *sig);
void dict_exec_CREATE_FRAG_CONF(struct block *block, const struct signal *sig);
void dict_exec_CREATE_FRAG_REF(struct block *block, const struct signal *sig);
void dict_exec_SCHEMA_PREPARE_CONF(struct block *block, const struct signal *sig);
void dict_exec_SCHEMA_PREPARE_REF(struct block *block, const struct signal *sig);
void dict_exec_SCHEMA_STEP_CONF(struct block *block, const struct signal *sig);

/* dict_local.c */
void dict_exec_SCHEMA_PREPARE_REQ(struct block *block, const struct signal *sig);
void dict_exec_SCHEMA_STEP_REQ(struct block *block, const struct signal *sig);
void dict_exec_LOCAL_TABLE_ADD_CONF(struct block *block, const struct signal *sig);
void dict_exec_LOCAL_TABLE_ADD_REF(struct block *block, const struct signal *sig);
void dict_exec_LOCAL_TABLE_STATE_CONF(struct block *block, const struct signal *sig);
