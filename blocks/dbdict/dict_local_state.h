/* dict_local_state.h -- private: a node's part in a schema transaction. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"
#include "signals/local_table.h"
#include "signals/schema_trans.h"
#include "values/table_def.h"

struct dict;

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

/* dict_unique_node.c */
void dict_unique_known(
    struct dict *dict); /* All instances have its table: they learn whose it is. */
void dict_unique_order(struct dict *dict); /* What the step under way means for TCs and LQHs. */
void dict_exec_LOCAL_UNIQUE_CONF(struct block *block, const struct signal *sig);
void dict_exec_LOCAL_UNIQUE_REF(struct block *block, const struct signal *sig);
