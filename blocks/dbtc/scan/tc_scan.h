/* tc_scan.h -- a scan of a table or an index: its record, its fragments, and the ranges of each. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"
#include "values/attr.h"
#include "values/program.h"
#include "values/scan_range.h"

struct tc;
struct tc_table;

#define TC_SCAN_PARALLEL 256u /* Most fragments of a scan that are read at the same time. */
#define TC_ALL_FRAGMENTS UINT16_MAX

enum tc_scan_state { SCAN_RUNNING = 0, SCAN_CLOSING = 1 };

struct tc_scan {
    struct pool_record pool;
    uint32_t connect;
    uint32_t state;      /* enum tc_scan_state */
    uint32_t answer_due; /* Closing: the client gets SCAN_TABCONF (error 0) or SCAN_TABREF. */
    uint32_t error;
    uint32_t api_scan;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t table_id;
    uint32_t version;
    uint32_t request_info;
    uint32_t batch_rows;
    uint32_t batch_bytes;
    uint32_t parallelism;
    uint32_t fragment_next;  /* The fragment or partition that is started next. */
    uint32_t fragment_count; /* How many it reads: all fragments, or one of each partition. */
    uint32_t starting;       /* 1: a CONTINUEB that starts fragments is on its way. */
    uint32_t frag_first;
    uint32_t frag_count;
    uint32_t frag_hint; /* The tc_frag at which the last search ended: clients name fragments in the
                           order in which they got them. */
    uint64_t active_ms;
    uint32_t limit;   /* Rows that are enough; 0: all are wanted. */
    uint64_t rows;    /* Rows that were delivered so far. */
    uint32_t program; /* Its tc_scan_program; REF_NONE: it has none. */
    uint32_t range;   /* Its tc_scan_range; REF_NONE: it scans no ranges of an index. */
    uint32_t merged;  /* 1: the client sorts the rows of fragments: none can wait for others. */
    uint32_t attr_words;
    uint32_t attr[ATTR_READ_MAX];
};

struct tc_scan_program {
    struct pool_record pool;
    uint32_t words;
    uint32_t word[PROGRAM_WORDS_MAX];
};

struct tc_scan_range {
    struct pool_record pool;
    uint32_t words;
    uint32_t count;                     /* Number of ranges. */
    uint32_t some;                      /* 1: some ranges are in one fragment only. */
    uint32_t all;                       /* 1: each range is in one fragment only. */
    uint16_t fragment[SCAN_RANGES_MAX]; /* Fragment of each range, or TC_ALL_FRAGMENTS. */
    uint32_t word[SCAN_RANGES_WORDS_MAX];
};
static_assert(2 * sizeof(struct tc_scan_range) <= PAGE_SIZE_BYTES, "two of them fit into a page");

/*
 * FRAG_READING --> FRAG_DELIVERED --> FRAG_READING ...       --> (gone) when done
 *      |  ^close wanted     |
 *      v                    v
 * FRAG_CLOSING <------------+                                --> (gone) when closed
 */
enum tc_frag_state { FRAG_READING = 0, FRAG_DELIVERED, FRAG_CLOSING };

struct tc_frag {
    struct pool_record pool;
    uint32_t scan;
    uint32_t previous;
    uint32_t next;
    uint32_t state; /* enum tc_frag_state */
    uint32_t fragment_id;
    uint32_t node;
    uint32_t lqh_ref;  /* Its LQH, which is known after the first batch. */
    uint32_t lqh_scan; /* REF_NONE before the first batch. */
};

/* tc_scan.c */
void tc_scan_frag_lost(struct tc *tc, struct tc_frag *frag);
void tc_exec_SCAN_TABREQ(struct block *block, const struct signal *sig);
void tc_exec_SCAN_NEXTREQ(struct block *block, const struct signal *sig);
void tc_exec_SCAN_FRAGCONF(struct block *block, const struct signal *sig);
void tc_exec_SCAN_FRAGREF(struct block *block, const struct signal *sig);
void tc_scan_start_frags(struct tc *tc, struct tc_scan *scan);
void tc_scan_close(struct tc *tc, struct tc_scan *scan, uint32_t error, bool answer);
bool tc_scan_idle(struct tc *tc, const struct tc_scan *scan); /* Only the client can move it on. */

/* tc_scan_range.c: the ranges of an index, and which fragments they concern. */
/* Keeps the third section, if there is one. False: there is no record. */
bool tc_scan_range_keep(struct tc *tc, struct tc_scan *scan, const struct tc_table *table,
                        const struct signal *sig);
void tc_scan_range_end(struct tc *tc, struct tc_scan *scan);
/* The first fragment from this one on that can have rows; fragment_count: there is none. */
uint32_t tc_scan_range_fragment(const struct tc *tc, const struct tc_scan *scan, uint32_t from);
/* The ranges of a scan that has some, for one fragment. Valid until the next call. */
struct section tc_scan_range_section(const struct tc *tc, const struct tc_scan *scan,
                                     uint32_t fragment);
