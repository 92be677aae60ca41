/* dict_master_state.h -- private: the master's side of a schema transaction. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbdict/dict_local_state.h"
#include "signals/dict.h"
#include "signals/schema_trans.h"
#include "signals/trix.h"

struct dict;

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

/* At the master: how far the nodes are. */
struct dict_progress {
    struct dict_built node[DATA_NODE_ID_MAX + 1];
    uint64_t told_ms; /* When the client was told last. */
    uint32_t tenths;  /* Tenths of the rows that the cluster log was told of last. */
};

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

/* dict_unique.c: the master has its TRIX fill a unique index. */
void dict_unique_fill(struct dict *dict);
void dict_unique_cancel(struct dict *dict);
void dict_exec_BUILD_INDX_CONF(struct block *block, const struct signal *sig);
void dict_exec_BUILD_INDX_REF(struct block *block, const struct signal *sig);
void dict_exec_BUILD_INDX_REP(struct block *block, const struct signal *sig);
