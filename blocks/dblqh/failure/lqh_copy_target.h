/* lqh_copy_target.h -- this node gets the rows of its fragments from others. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbtup/tup.h"

struct lqh;
struct lqh_op;

/* Fragments that this instance gets at the same time: the link is busy while one waits. */
#define LQH_COPY_PARALLEL 2u

/* A fragment that is being copied to here. */
struct lqh_copy_target {
    uint32_t no; /* Number by which the source names it; 0: the place is free. */
    uint32_t fragment_id;
    uint32_t batch; /* Number of the next batch. */
    uint32_t permille;
    uint32_t gci; /* Rows from `told` on that are not newer than this are old; 0: there are none. */
    uint32_t pages; /* Pages that the fragment had when the source was asked. */
    uint32_t early; /* Operations so far on rows in places that no batch had told of. */
    struct tup_scan_position told; /* Batches have told of the places before this one. */
    uint64_t rows;
    uint64_t kept;
    uint64_t removed;
    uint64_t bytes;
};

/* DICT's order to copy a table to here. */
struct lqh_copy {
    uint32_t sender; /* Who has given the order; 0: there is none. */
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t version;
    uint32_t next;      /* The fragment id from which on none was asked for. */
    uint32_t fragments; /* Fragments of the table that are here. */
    uint32_t done;      /* Fragments that have been copied. */
    uint32_t running;   /* Places of `target` in use. */
    uint64_t told_ms;   /* When the last COPY_PART_REP was sent. */
    uint32_t last_no;   /* The last lqh_copy_target.no. */
    bool failed;        /* A copy has failed: the node is about to end. */
    uint64_t own;       /* Rows that the fragments had from the node's own files. */
    uint64_t rows;
    uint64_t kept;
    uint64_t removed;
    uint64_t bytes;
    uint8_t *source; /* Nodes by fragment id. NULL: the configuration knows no coming back. */
    struct lqh_copy_target target[LQH_COPY_PARALLEL];
};

/* lqh_copy_target.c */
void lqh_copy_init(struct lqh *lqh);
void lqh_copy_again(struct lqh *lqh, uint32_t no);
/* An operation that is going to be executed. If it is an insert, old rows in its place, or with its
 * key (*row), go. */
void lqh_copy_meanwhile(struct lqh *lqh, const struct lqh_op *op, uint32_t *row);
void lqh_exec_COPY_TABLE_REQ(struct block *block, const struct signal *sig);
void lqh_exec_COPY_ROWS_REP(struct block *block, const struct signal *sig);
void lqh_exec_COPY_FRAGCONF(struct block *block, const struct signal *sig);
void lqh_exec_COPY_FRAGREF(struct block *block, const struct signal *sig);
