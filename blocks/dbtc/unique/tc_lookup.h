/* tc_lookup.h -- operations by unique key: the entry, then the row. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct tc;
struct tc_op;
struct tc_trans;

/* An operation by unique key that waits for the row's key: what the client wants of the row. */
struct tc_lookup {
    struct pool_record pool;
    uint32_t request_info;
    uint32_t attr_words;
    uint32_t first; /* First segment of its ATTRINFO; REF_NONE: it has none. */
};

#define TC_SEGMENT_WORDS 61u /* A segment record is 256 bytes. */
struct tc_segment {
    struct pool_record pool;
    uint32_t next;
    uint32_t words[TC_SEGMENT_WORDS];
};

/* tc_lookup.c */
void tc_lookup_init(struct tc *tc);
uint32_t tc_lookup_start(struct tc *tc, struct tc_trans *trans, const struct signal *sig);
void tc_lookup_drop(struct tc *tc, struct tc_op *op); /* Nothing follows the lookup any more. */
void tc_exec_TRANSID_AI(struct block *block, const struct signal *sig);
