/* tc_connect.h -- connect records: what a client seizes for a transaction or a scan at a time. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct tc;

/* What a client seizes: a place for one transaction or one scan at a time. */
struct tc_connect {
    struct pool_record pool;
    uint32_t owner;         /* Block reference of the client. */
    uint32_t api_connect;   /* Number by which the client names this. */
    uint32_t trans;         /* Transaction that the client can still influence, or REF_NONE. */
    uint32_t scan;          /* Running scan, or REF_NONE. */
    uint32_t last_transid1; /* The last transaction that ended here: what still arrives for it is
                               known to be late. */
    uint32_t last_transid2;
    uint32_t last_error; /* Why that transaction was aborted; 0: it was not. */
    uint32_t releasing;  /* 1: TCRELEASEREQ waits for the end of transaction or scan. */
    uint32_t release_data;
    uint32_t durable_gci; /* Epoch of a commit whose answer waits until it is durable; 0: none. */
    uint32_t durable_lo;
    uint32_t durable_flags; /* enum tc_trans_flags: which answer is due. */
    uint32_t durable_next;  /* The next connect record that waits for this GCI. */
    uint32_t held;          /* Requests in order.first that are to be executed. */
    uint32_t held_drop;     /* Requests before those which have been refused meanwhile. */
};

/* tc_seize.c */
void tc_exec_TCSEIZEREQ(struct block *block, const struct signal *sig);
void tc_exec_TCRELEASEREQ(struct block *block, const struct signal *sig);
/* The client's own, or NULL. */
struct tc_connect *tc_connect_find(struct tc *tc, uint32_t ref, uint32_t sender);
struct tc_connect *tc_connect_get(struct tc *tc, uint32_t ref);
/* Its work has ended; a waiting release follows. */
void tc_connect_idle(struct tc *tc, struct tc_connect *connect);
/* Ends what is under way; an idle record goes at once, else when that has ended. */
void tc_connect_end(struct tc *tc, struct tc_connect *connect);
void tc_connect_free(struct tc *tc, struct tc_connect *connect);
