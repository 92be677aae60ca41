/* copy_fixture.h -- nodes that are lost and come back, clients that change rows meanwhile, and a
 * comparison of replicas row by row. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dblqh/lqh_frags.h"
#include "blocks/dblqh/lqh_state.h"
#include "signals/copy.h"
#include "signals/rejoin.h"
#include "signals/takeover.h"
#include "tests/unit/support/tc_fixture.h"

extern uint32_t copy_life; /* The rank of whoever came back last. */
extern uint32_t copy_keys; /* Actors use keys from 1 on. */
uint32_t copy_dice(uint32_t sides);

/* --- Stands for NDBCNTR and DIH. --- */

struct copy_got {
    uint32_t included; /* NODE_INCLUDE_CONF */
    uint32_t copied;   /* COPY_TABLE_CONF */
    uint32_t error;    /* COPY_TABLE_REF */
    uint32_t permille; /* COPY_PART_REP */
    uint64_t rows;
    uint64_t bytes;
};

extern struct copy_got copy_got;
extern struct block *copy_cntr[W_NODES + 1];
extern void (*copy_tune_more)(struct node_config *config);
void copy_begin(uint32_t nodes, uint32_t fragments, uint32_t seed);

/* --- One signal at a time. --- */

/* This node is slow: much happens while a signal is on its way to it. */
extern uint32_t copy_slow;
void copy_step_n(uint32_t count);

/* --- Death and return. --- */

void copy_die(uint32_t node);

/* A new process, which the others have links to; nobody sends to it yet. */
void copy_process_again(uint32_t node);

/* It hears of itself, then the others of it at different times. */
extern uint32_t copy_claimed_gci; /* It says that it has the rows up to this one; it has none. */
void copy_include(uint32_t node);

/* The others in the order of their ranks: here nobody else has come back. */
void copy_order(uint32_t node);

/* --- Clients. --- */

extern uint32_t copy_committed;
extern uint32_t copy_aborted;
void copy_actors_begin(void);

/* A value for v, and with luck one for t, whose length differs. */
void copy_operation(const struct trx *trx, uint32_t info, uint32_t key);
void copy_actors_hear(void);
void copy_actors_act(bool begin_new);
void copy_traffic(uint32_t rounds);
void copy_actors_end(void);

/* Most keys have a row. */
void copy_fill(void);

/* --- What is there in the end. --- */

struct tup *copy_tup_of(uint32_t node);
struct tup_frag *copy_frag_of(uint32_t node, uint32_t fragment);

/* The same rows in the same places with the same epochs. Returns how many. */
uint32_t copy_expect_equal(uint32_t one, uint32_t two);
void copy_expect_all_equal(void);
void copy_finish(void);
