/* lqh_fire.h -- what a change of a row fires: TC hears of other keys in unique indexes, and of
 * changes of rows that have copies. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dblqh/key/lqh_op.h"
#include "values/table_def.h"

struct tup_change_req;
struct tup_frag;

/* Keys before a change, then a message: old key, new key, KEY section. */
#define LQH_FIRE_ROW   (TABLE_UNIQUE_WORDS_MAX + 3u * LQH_KEY_WORDS_MAX) /* The row's own key. */
#define LQH_FIRE_WORDS (LQH_FIRE_ROW + LQH_KEY_WORDS_MAX)

/* What is in lqh->keys: a row's keys in unique indexes before a change. Within one handler. */
struct lqh_fire {
    uint32_t count; /* 0: the table has no unique indexes, or this is not the primary, or a copy. */
    uint32_t words[TABLE_UNIQUE_MAX];
    /* Words of the row's primary key as it is stored: a client may name it by other bytes. */
    uint32_t row_words;
};

/* lqh_fire.c */
/* Before a change of a row: keeps the keys that it has in unique indexes. */
void lqh_fire_before(struct lqh *lqh, const struct lqh_op *op, struct tup_frag *frag, uint32_t row,
                     struct lqh_fire *fire);
/* After the change: tells TC of the keys that are others than before. */
void lqh_fire(struct lqh *lqh, struct lqh_op *op, const struct tup_change_req *req, uint32_t row,
              const struct lqh_fire *fire);
/* Tells TC of the row as it is, for an index that is being built. 0 or an error. */
uint32_t lqh_fire_fill(struct lqh *lqh, struct lqh_op *op, const struct lqh_data *data,
                       struct tup_frag *frag, uint32_t row);
/* Tells TC what was done to a row of which there are copies. */
void lqh_fire_copy(struct lqh *lqh, struct lqh_op *op, const struct lqh_data *data);
