/* schema_steps.h -- the operations that change the schema, and the rounds of each. See
 * docs/protocols/schema.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum schema_operation {
    SCHEMA_CREATE_TABLE = 1,
    SCHEMA_DROP_TABLE = 2,
    SCHEMA_CREATE_INDEX = 3,
    SCHEMA_DROP_INDEX = 4,
    SCHEMA_RENAME = 5,   /* A table or a column gets another name. */
    SCHEMA_TRUNCATE = 6, /* A new table takes a table's place. */
    SCHEMA_ADD_COLUMN = 7,
    SCHEMA_DROP_UNIQUE = 8,   /* A unique index of a table that stays is dropped. */
    SCHEMA_CREATE_UNIQUE = 9, /* A table in use gets a unique index. */
    SCHEMA_OPERATIONS
};

/* Does the operation change a table that stays in use? See docs/protocols/online.md. */
static inline bool schema_alters(uint32_t operation)
{
    return operation == SCHEMA_CREATE_INDEX || operation == SCHEMA_DROP_INDEX ||
           operation == SCHEMA_RENAME || operation == SCHEMA_ADD_COLUMN ||
           operation == SCHEMA_DROP_UNIQUE || operation == SCHEMA_CREATE_UNIQUE;
}

/* All but drops may need more room in the schema files. */
static inline bool schema_grows(uint32_t operation)
{
    return operation != SCHEMA_DROP_TABLE && operation != SCHEMA_DROP_INDEX &&
           operation != SCHEMA_DROP_UNIQUE;
}

/*
 * One round of the transaction: to every member, the next one when all have answered; which ones,
 * schema_step_after() says. Instead the way back, from schema_step_back() on. WRITE: the node's
 * schema file has what is made, and what is dropped no longer; a node without files answers at
 * once, one that cannot write stops.
 */
enum schema_step {
    SCHEMA_STEP_ONLINE_LQH = 1,
    SCHEMA_STEP_ONLINE_TC = 2,
    SCHEMA_STEP_DROPPING_TC = 3,
    SCHEMA_STEP_DROPPING_LQH = 4,
    SCHEMA_STEP_REMOVE = 5,
    SCHEMA_STEP_ABORT = 6,
    SCHEMA_STEP_COMPLETE = 7,
    SCHEMA_STEP_WRITE = 8,
    SCHEMA_STEP_LOOSE = 9,   /* Entries of a unique index refuse nothing any more. */
    SCHEMA_STEP_FORGET = 10, /* No instance has the index, or an operation on its entries. */
    /* A unique index comes to a table in use. */
    SCHEMA_STEP_RESERVE = 11, /* The schema file has used up the version of the index's table. */
    SCHEMA_STEP_DELETES = 12, /* Rows fire for keys that they give up. */
    SCHEMA_STEP_FIRES = 13, /* Rows fire for all changes; then the master's TRIX fills the index. */
    SCHEMA_STEP_STRICT = 14, /* Each row has its entry. */
};

/* The rounds of an operation one after the other, 0, those of its way back, 0. */
static inline const uint8_t *schema_steps(uint32_t operation)
{
    static const uint8_t made[] = {SCHEMA_STEP_WRITE,
                                   SCHEMA_STEP_ONLINE_LQH,
                                   SCHEMA_STEP_ONLINE_TC,
                                   SCHEMA_STEP_COMPLETE,
                                   0,
                                   SCHEMA_STEP_ABORT,
                                   0};
    static const uint8_t dropped[] = {SCHEMA_STEP_DROPPING_TC, SCHEMA_STEP_DROPPING_LQH,
                                      SCHEMA_STEP_WRITE,       SCHEMA_STEP_REMOVE,
                                      SCHEMA_STEP_COMPLETE,    0,
                                      SCHEMA_STEP_ABORT,       0};
    static const uint8_t replaced[] = {SCHEMA_STEP_DROPPING_TC, SCHEMA_STEP_DROPPING_LQH,
                                       SCHEMA_STEP_WRITE,       SCHEMA_STEP_ONLINE_LQH,
                                       SCHEMA_STEP_ONLINE_TC,   SCHEMA_STEP_REMOVE,
                                       SCHEMA_STEP_COMPLETE,    0,
                                       SCHEMA_STEP_ABORT,       0};
    static const uint8_t unique_made[] = {SCHEMA_STEP_RESERVE,
                                          SCHEMA_STEP_ONLINE_LQH,
                                          SCHEMA_STEP_DELETES,
                                          SCHEMA_STEP_FIRES,
                                          SCHEMA_STEP_WRITE,
                                          SCHEMA_STEP_ONLINE_TC,
                                          SCHEMA_STEP_STRICT,
                                          SCHEMA_STEP_COMPLETE,
                                          0,
                                          SCHEMA_STEP_LOOSE,
                                          SCHEMA_STEP_DROPPING_LQH,
                                          SCHEMA_STEP_FORGET,
                                          SCHEMA_STEP_ABORT,
                                          0};
    static const uint8_t unique_dropped[] = {SCHEMA_STEP_DROPPING_TC, SCHEMA_STEP_WRITE,
                                             SCHEMA_STEP_LOOSE,       SCHEMA_STEP_DROPPING_LQH,
                                             SCHEMA_STEP_FORGET,      SCHEMA_STEP_REMOVE,
                                             SCHEMA_STEP_COMPLETE,    0,
                                             SCHEMA_STEP_ABORT,       0};
    if (operation == SCHEMA_TRUNCATE) return replaced;
    if (operation == SCHEMA_CREATE_UNIQUE) return unique_made;
    if (operation == SCHEMA_DROP_UNIQUE) return unique_dropped;
    return schema_grows(operation) ? made : dropped;
}

#define SCHEMA_RANK_BACK 32u
/* How far a transaction is in this round; the preparation, 0, is 0. The way back is further than
 * all others: SCHEMA_RANK_BACK and more. UINT32_MAX: it is none of its rounds. */
static inline uint32_t schema_step_rank(uint32_t operation, uint32_t step)
{
    const uint8_t *steps = schema_steps(operation);
    uint32_t at = 0;
    uint32_t back = 0;
    if (step == 0) return 0;
    for (; steps[at] != 0; at++) {
        if (steps[at] == step) return at + 1u;
    }
    for (at++; steps[at] != 0; at++, back++) {
        if (steps[at] == step) return SCHEMA_RANK_BACK + back;
    }
    return UINT32_MAX;
}

/* The round behind this one, 0 = the preparation; 0: that was the last one. */
static inline uint32_t schema_step_after(uint32_t operation, uint32_t step)
{
    const uint8_t *at = schema_steps(operation);
    if (step == 0) return at[0];
    while (*at != 0 && *at != step)
        at++;
    if (*at == 0) {
        for (at++; *at != 0 && *at != step;)
            at++;
    }
    return *at == 0 ? 0 : at[1];
}

/* Does each node write its schema files in this round? */
static inline bool schema_step_writes(uint32_t step)
{
    return step == SCHEMA_STEP_WRITE || step == SCHEMA_STEP_RESERVE;
}

/* Where the way back begins behind this round, 0 = the preparation; 0: there is none any more. */
static inline uint32_t schema_step_back(uint32_t operation, uint32_t step)
{
    if (operation != SCHEMA_CREATE_UNIQUE) return step == 0 ? SCHEMA_STEP_ABORT : 0;
    if (step == 0) return SCHEMA_STEP_FORGET; /* Nothing has fired. */
    return step == SCHEMA_STEP_FIRES ? SCHEMA_STEP_LOOSE : 0;
}
