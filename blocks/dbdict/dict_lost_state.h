/* dict_lost_state.h -- private: members are lost, and come back. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbdict/dict_local_state.h"
#include "signals/copy.h"
#include "signals/order.h"
#include "signals/rejoin.h"
#include "signals/takeover.h"
#include "signals/schema_trans.h"

struct dict;

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
