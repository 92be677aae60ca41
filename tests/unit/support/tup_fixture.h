/* tup_fixture.h -- DBACC, DBTUP and DBTUX without a node: an arena, their instances, tables to play
 * with. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "blocks/dbacc/acc_state.h"
#include "blocks/dbtup/tup_state.h"
#include "blocks/dbtux/tux_state.h"
#include "kernel/base/rng.h"
#include "values/errors.h"
#include "values/key.h"

struct rows_world {
    struct arena *arena;
    struct acc *acc;
    struct tup *tup;
    struct tux *tux;
    struct table_def *def;
    uint32_t table;
    uint32_t frag_ref;
    struct tup_frag *frag;
    struct acc_frag *index;
};

/* With so much data and transaction memory; the other groups get what tests need. */
void world_begin(struct rows_world *world, struct arena_limits *limits,
                 const struct tup_limits *tup_limits);
void world_start(struct rows_world *world, uint32_t data_pages, uint32_t transaction_pages);
void world_check(const struct rows_world *world);
uint32_t world_data_pages(const struct rows_world *world);
void world_stop(struct rows_world *world);
void column_add(struct table_def *def, const char *name, struct column_format format,
                uint32_t flags, const void *value, uint32_t size);
void index_add(struct table_def *def, const char *name, const uint16_t *columns, uint32_t count);
struct table_def *def_start(void);
void world_table(struct rows_world *world, struct table_def *def);
void world_drop(struct rows_world *world);

/* binary(16) key, binary(32) value: the row of the memory target. */
struct table_def *def_plain(void);
uint32_t world_find(const struct rows_world *world, const uint32_t *key, uint32_t words);

/* A request about this key by transaction (trans, 77). */
struct tup_change_req request(const struct rows_world *world, uint32_t trans, const uint32_t *key,
                              uint32_t words, const uint32_t *attr, uint32_t attr_words);

struct lock_step {
    uint32_t trans;
    uint32_t op;
    uint32_t row;
    enum lock_mode mode;
    bool nowait;
    uint64_t now;
    uint32_t *lock;
};

uint32_t lock_row_step(const struct rows_world *world, const struct lock_step *step);
#define lock_row(world, ...) lock_row_step((world), &(struct lock_step){__VA_ARGS__})
