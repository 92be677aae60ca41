/* lqh_read.h -- committed reads: announced to the memory, executed a little later, no record. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"
#include "signals/lqhkey.h"

struct lqh;
struct lqh_table;

/* Committed reads on their way through the memory's latency; power of two. */
#define LQH_READS_PENDING 32u
/* Key and attrinfo of such a read; longer ones are executed at once. */
#define LQH_READ_WORDS 40u

/* A committed read that has been announced to the memory and is executed a little later. */
struct lqh_pending_read {
    struct lqhkeyreq req;
    uint32_t key_words;
    uint32_t attr_words;
    uint32_t row; /* What LQH_READ_ROW has guessed: acc_likely_row(). */
    uint32_t words[LQH_READ_WORDS];
};

/* Stages of a pending read, in this order. The index line is asked for before them, at once. */
enum lqh_read_stage {
    LQH_READ_ROW = 0,   /* Asks for the row. */
    LQH_READ_VAR_ENTRY, /* Asks for the entry that says where its variable part stands. */
    LQH_READ_VAR,       /* Asks for the variable part. */
    LQH_READ_EXECUTE,
    LQH_READ_STAGES
};

/* Reads are numbered as they come; number n stands in slot n modulo LQH_READS_PENDING. */
struct lqh_reads {
    uint32_t added;                   /* Number of reads that have come. */
    uint32_t passed[LQH_READ_STAGES]; /* Number of reads that have been through each stage. */
    bool flush_sent;                  /* LQH_WORK_READS is on its way. */
    struct lqh_pending_read pending[LQH_READS_PENDING];
};

/* lqh_read.c */
void lqh_read(struct lqh *lqh, const struct signal *sig, const struct lqh_table *table,
              uint32_t error);
void lqh_reads_flush(struct lqh *lqh);
/* Sends so many words of lqh->out to a client. */
void lqh_send_row(struct lqh *lqh, uint32_t api_ref, const struct transid_ai *ai, uint32_t words);
