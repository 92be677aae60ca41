/* include_fixture.h -- nodes that are lost and come back, with the rows of an earlier time or
 * without, under clients' transactions; what must be equal in the end. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dblqh/lqh_frags.h"
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dbtc/tc_state.h"
#include "signals/copy.h"
#include "signals/rejoin.h"
#include "signals/takeover.h"
#include "tests/unit/support/tc_fixture.h"

#define FRAGMENTS 4u
#define ACTORS    6u
#define NO_FUSE   UINT32_MAX
extern uint32_t include_failures;
extern uint32_t include_ranks[W_NODES + 1];
extern uint32_t include_keys;
extern uint32_t include_fuse; /* So many signals until something is to happen. */
uint32_t include_dice(uint32_t sides);

/* --- Stands for NDBCNTR and DIH. --- */

struct include_got {
    uint32_t included; /* NODE_INCLUDE_CONF */
    uint32_t copied;   /* COPY_TABLE_CONF */
    struct copy_rows rows;
    uint32_t ends[W_NODES + 1]; /* Newest TAKEOVER_END_REP. */
    struct block *cntr[W_NODES + 1];
};

extern struct include_got include_got;
struct lqh *include_lqh_at(uint32_t node);

/* The rows of all replicas at the end of a GCI, in quiet. */
#define SAVED_MAX 400u

struct saved_row {
    uint32_t fragment, row, gci, words;
    uint32_t pairs[80];
};

extern struct saved_row include_saved[SAVED_MAX];
extern uint32_t include_saved_count;
extern uint32_t include_saved_gci; /* 0 = nothing has been saved. */
extern bool include_with_files;    /* Whoever comes back has what was saved. */
extern uint32_t include_own_gci;
void include_begin(uint32_t nodes, uint32_t seed);

/* --- One signal at a time. --- */

/* What this one sends to that one takes long: much overtakes it by way of another node. */
extern uint32_t include_slow_from;
extern uint32_t include_slow_to;
bool include_deliver(uint32_t to, uint32_t from);
void include_step_n(uint32_t count);

/* --- What a node that comes back has on its disk. --- */

struct tc *include_tc_at(uint32_t node);
void include_save_rows(uint32_t node);

/* --- Death and return. --- */

void include_tell(uint32_t node);
void include_die(uint32_t node);

/* As DICT does it at a node that comes back: all places, those of lost nodes marked. */
void include_table_again(uint32_t node);

/* A new process, which the others have links to; nobody sends to it yet. */
void include_process_again(uint32_t node);
struct node_mask include_others_of(uint32_t node);
void include_self(uint32_t node);

/* The others hear of it at different times; some never, when it dies before. */
void include_at_others(uint32_t node);
void include_copy_order(uint32_t node);

/* --- Clients. --- */

enum actor_state { ACTOR_IDLE, ACTOR_EXECUTING, ACTOR_HOLDS, ACTOR_ENDING };

struct actor {
    struct trx trx;
    enum actor_state state;
};

extern struct actor include_actors[ACTORS];
extern uint32_t include_committed;

/* At nodes that are started. */
void include_actors_seat(uint32_t except);
void include_traffic(uint32_t rounds);
void include_actors_end(void);

/* --- What is there. --- */

void include_expect_whole(void);
