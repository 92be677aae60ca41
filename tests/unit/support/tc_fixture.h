/* tc_fixture.h -- one or two data nodes with TC, LQH, ACC, TUP and TUX only, and clients made of
 * plain functions. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "blocks/dblqh/lqh.h"
#include "blocks/dbtc/tc.h"
#include "blocks/dbtup/tup.h"
#include "blocks/dbtux/tux.h"
#include "kernel/node.h"
#include "signals/api_reg.h"
#include "signals/dict.h"
#include "values/errors.h"
#include "signals/local_table.h"
#include "signals/lqhkey.h"
#include "signals/order.h"
#include "signals/scan.h"
#include "signals/start.h"
#include "signals/trix.h"
#include "tests/unit/support/kvt_table.h"

#define W_NODES    4u  /* Nodes, at most. */
#define CLIENT     10u /* Two client nodes. */
#define CLIENT_TWO 11u
#define EPOCH      1u
#define W_INDEX    7u

struct rx {
    struct signal sig;
    uint32_t client;
    bool taken;
    uint32_t *words;
};

struct world;

struct wnode {
    struct host host; /* First. */
    struct world *world;
    uint32_t id;
    struct node *node;
    struct block *driver;      /* Stands for DICT, QMGR and NDBCNTR. */
    uint32_t *in[W_NODES + 1]; /* Words on their way to this node, by sender. */
    uint32_t in_words[W_NODES + 1];
};

struct world_options {
    uint32_t nodes;
    uint32_t replicas; /* 0: as many as nodes. */
    uint32_t fragments;
    void (*tune)(struct node_config *config); /* Changes the configuration; NULL: nobody does. */
    void (*more_blocks)(
        struct thread *thread); /* Or NULL; makes blocks that need no READ_CONFIG_REQ. */
};

struct world {
    struct wnode n[W_NODES + 1]; /* By node id, from 1. */
    struct world_options options;
    uint32_t nodes;
    uint64_t now;
    struct rx *rx;
    uint32_t rx_count;
    uint32_t closed_peer;
    uint32_t fragments;
    uint32_t replicas;
    bool indexed; /* Tables that are made from now on have an ordered index over v and k. */
    bool unique;  /* Such tables have a unique index over v, which is table W_INDEX. */
    /* So many partitions, if not 0; the other fragments are their copies: dict.h. */
    uint32_t partitions;
    uint32_t transid_next;
    bool dead[W_NODES + 1];
};

/* The world of a test: there is one at a time. */
extern struct world w;

/* --- The host. --- */

/* --- The driver block. --- */

struct driver {
    struct block block;
    uint32_t confs;        /* READ_CONFIG_CONF */
    uint32_t added;        /* LOCAL_TABLE_ADD_CONF */
    uint32_t add_error;    /* LOCAL_TABLE_ADD_REF */
    uint32_t states[4];    /* LOCAL_TABLE_STATE_CONF by order */
    uint32_t api_failed;   /* API_FAILCONF */
    uint32_t drained;      /* DRAIN_CLIENTS_CONF: its sender_data */
    uint32_t holds;        /* ORDER_HOLD_CONF: its number */
    uint32_t uniques;      /* LOCAL_UNIQUE_CONF */
    uint32_t unique_error; /* LOCAL_UNIQUE_REF */
    uint32_t filled;       /* BUILD_INDX_CONFs that came. */
    uint32_t filled_rows;  /* Rows in the last BUILD_INDX_CONF or BUILD_INDX_REP. */
    uint32_t fill_total;
    uint32_t fill_error; /* BUILD_INDX_REF */
};

struct driver *w_driver(struct world *world, uint32_t node);

/* --- Running. --- */

bool w_deliver(struct world *world);

/* Until nothing moves any more; time stands still. */
void w_run(struct world *world);
void w_pass(struct world *world, uint32_t ms);
void w_self(struct world *world, uint32_t node, uint32_t block_no, uint32_t instance, uint32_t gsn,
            const void *payload, uint32_t words, const struct section *sections, uint32_t count);
void w_tamper(struct world *world, uint32_t node, uint32_t block_no, uint32_t number,
              uint32_t extra);
void w_level(struct world *world, uint32_t node, uint32_t start_level);
struct tc_usage w_tc(struct world *world, uint32_t node);
struct lqh_usage w_lqh(struct world *world, uint32_t node);
uint32_t w_locks(struct world *world, uint32_t node);

/* Nothing of any transaction or scan is left, on any node. */
void w_expect_quiet(struct world *world);

/* --- Building. --- */

void w_node(struct world *world, uint32_t id);
void w_start(struct world *world, const struct world_options *options);
void w_stop(struct world *world);
void w_order(struct world *world, uint32_t node, uint32_t block_no, uint32_t table_id,
             uint32_t order);

/* Replica `r` of a fragment; with partitions nodes 1 to replicas are the first group. */
uint32_t w_node_of(const struct world *world, uint32_t fragment, uint32_t r);

/* The sections of LOCAL_TABLE_ADD_REQ, until the next call. `absent`: places of dead nodes are
 * marked. */
const struct section *w_table_words(struct world *world, uint32_t table_id, uint32_t flags,
                                    bool absent);

/* The same of the table's unique index. `sections` are those of the table, with one. */
void w_index_words(const struct section sections[2], struct section index[2]);
void w_table(struct world *world, uint32_t table_id, uint32_t flags);

/* --- The client. --- */

bool c_send(struct world *world, uint32_t client, uint32_t node, uint32_t gsn, const void *payload,
            uint32_t words, const struct section *sections, uint32_t count);

/* The oldest signal of this kind that a client has got and nobody has looked at; NULL when there is
 * none. */
const struct signal *c_take(struct world *world, uint32_t gsn);
uint32_t c_left(struct world *world);
uint32_t c_seize(struct world *world, uint32_t client, uint32_t node);

/* A transaction of a client at a TC. */
struct trx {
    struct world *world;
    uint32_t client;
    uint32_t node;
    uint32_t connect;
    uint32_t transid1;
    uint32_t transid2;
};

struct trx t_new(struct world *world, uint32_t client, uint32_t node);

/* The same connect record, the next transaction. */
void t_next(struct trx *trx);

struct t_step {
    uint32_t api_op;
    uint32_t info;
    uint32_t key;
    uint32_t value;
};

void t_op_send(struct trx *trx, const struct t_step *step);
#define t_op(trx, ...) t_op_send((trx), &(struct t_step){__VA_ARGS__})
/* An operation whose key is that of the index. */
void t_unique_send(struct trx *trx, const struct t_step *step);
#define t_unique(trx, ...)             t_unique_send((trx), &(struct t_step){__VA_ARGS__})
#define UNIQUE(operation, mode, flags) key_request_info(operation, mode, KEY_UNIQUE | (flags))
#define WRITE_ALL                      (KEY_START | KEY_EXECUTE | KEY_COMMIT)
#define INFO(operation, flags)         key_request_info(operation, LOCK_EXCLUSIVE, flags)
void t_commit(struct trx *trx);
void t_rollback(struct trx *trx);
void t_expect_keyconf(struct trx *trx, uint32_t flags);
void t_expect_ref(struct world *world, uint32_t api_op, uint32_t error);
void t_expect_rolled_back(struct trx *trx, uint32_t error, uint32_t api_op);
void t_expect_value(struct world *world, uint32_t api_op, uint32_t value);

/* Committed reads through node `node`. */
void c_read(struct world *world, uint32_t node, uint32_t api_op, uint32_t key);
void c_expect_row(struct world *world, uint32_t key, uint32_t value);
void c_expect_none(struct world *world, uint32_t key);

/* One row, committed. */
void c_insert(struct world *world, struct trx *trx, uint32_t key, uint32_t value);
