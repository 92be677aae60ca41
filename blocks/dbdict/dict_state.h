/* dict_state.h -- private: struct dict, made of the records of its stories. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/cmvmi/event.h"
#include "blocks/dbdict/dict_block.h"
#include "blocks/dbdict/dict_file_state.h"
#include "blocks/dbdict/dict_lost_state.h"
#include "blocks/dbdict/dict_master_state.h"
#include "blocks/dbdict/dict_store_state.h"
#include "signals/api_reg.h"
#include "signals/dih.h"
#include "signals/durable.h"
#include "values/errors.h"
#include "signals/qmgr.h"

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

/* dict_client.c */
uint32_t dict_stopping_error(const struct dict *dict); /* Why a node that stops refuses. */
void dict_exec_GET_TABINFO_REQ(struct block *block, const struct signal *sig);
void dict_exec_LIST_TABLES_REQ(struct block *block, const struct signal *sig);
