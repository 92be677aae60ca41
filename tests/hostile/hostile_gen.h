/* hostile_gen.h -- makes signals that a careless or malicious peer might send: nearly right, from a
 * seed. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/base/rng.h"
#include "kernel/base/signal.h"
#include "signals/gsn.h"

#define GEN_CONNECTS 12u
#define GEN_TABLES   8u
#define GEN_SEEN     64u
#define GEN_PEERS    10u

#define GEN_GOOD_CONNECT 0u /* connect[0] is the good client's. */

/* A transaction record that the node gave to a client, and what runs in it. */
struct gen_connect {
    uint32_t tc_ref; /* The TC instance. */
    uint32_t tc_connect;
    uint32_t owner;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t api_scan;
    uint32_t started;
    uint32_t executing; /* The answer to a batch is due. */
    uint32_t scanning;
};

struct gen_table {
    uint32_t id;
    uint32_t version;
    uint32_t layout; /* Index into the layouts of hostile_values.c. */
};

/* An operation or a scan of one fragment that an LQH holds for the attacker, who speaks as a data
 * node's DBTC. */
struct gen_op {
    uint32_t lqh_ref;
    uint32_t lqh_op;
    uint32_t tc_op;
    uint32_t transid1;
    uint32_t transid2;
};
#define GEN_OPS 16u

/*
 * All that the attacker knows. `good_table`: rows of the client that behaves live there; what would
 * be its good right to do there (locks, changes, a drop) is taken out of the signals, everything
 * else may name it.
 */
struct gen {
    struct rng rng;
    uint32_t tc_count;
    uint32_t ldm_count;
    uint32_t good_table;
    uint32_t good_version;
    struct gen_connect connect[GEN_CONNECTS];
    uint32_t connect_next;
    struct gen_table table[GEN_TABLES];
    uint32_t table_next;
    uint32_t truncated; /* The table whose truncate was asked for last; 0 = none. */
    struct gen_op op[GEN_OPS];
    struct gen_op scan[GEN_OPS];
    uint32_t op_next;
    uint32_t scan_next;
    uint32_t seen[GEN_SEEN]; /* Words out of the node's answers. */
    uint32_t seen_next;
    uint32_t counter;
    uint32_t allow_stop; /* STOP_REQ, START_ORD, single user mode may be whole. */
    /* The signal in the making. */
    uint32_t sender;
    const struct gen_op *using_op; /* Data nodes only. */
    const struct gen_connect *using_connect;
    const struct gen_table *using_table;
    struct gen_table focus; /* A table that is not among the learnt ones. */
};

#define GEN_WORDS_MAX SIGNAL_EXTENT_MAX

void gen_init(struct gen *gen, uint64_t seed);

/* What the node answers: references, table ids and numbers to be used and abused later. */
void gen_learn(struct gen *gen, uint32_t peer, const struct signal *sig);

/* The peer's link was lost: what it had is gone, though its references will be tried again. */
void gen_forget(struct gen *gen, uint32_t peer);

/* Writes one signal of `peer`, whose class is `sender_class`, to `words`; returns how many words
 * (up to GEN_WORDS_MAX). */
uint32_t gen_signal(struct gen *gen, uint32_t peer, uint32_t sender_class, uint32_t *words);

/* hostile_values.c: contents of payload fields and sections. */
uint32_t gen_field(struct gen *gen, uint32_t peer, uint32_t gsn, const char *name);
uint32_t gen_section(struct gen *gen, uint32_t gsn, uint32_t number, const uint32_t *payload,
                     uint32_t *words);
uint32_t gen_odd(struct gen *gen); /* A number that breaks things. */
/* The encoded definition of one of the layouts, under a name made from `number`. */
uint32_t gen_table_words(uint32_t layout, uint32_t number, uint32_t *words, uint32_t words_max);
#define GEN_LAYOUTS 3u
