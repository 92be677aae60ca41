/* lqh_fire.c -- tells TC when an operation gives its row another key in a unique index, or changes
 * a row of which there are copies. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Only the primary does: the other replicas make the same change, and one that is still being
 * copied to may not have the row. See docs/protocols/unique_index.md and fully_replicated.md.
 */
#include <string.h>
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/key/lqh_fire.h"
#include "blocks/dblqh/key/lqh_op.h"
#include "signals/lqhkey.h"
#include "values/errors.h"

static struct tup_read row_of(const struct lqh_op *op, struct tup_frag *frag, uint32_t row)
{
    return (struct tup_read){
        .frag = frag, .row = row, .transid1 = op->tc_trans, .transid2 = op->tc_ref};
}

void lqh_fire_before(struct lqh *lqh, const struct lqh_op *op, struct tup_frag *frag, uint32_t row,
                     struct lqh_fire *fire)
{
    uint32_t at = 0;
    bool fires = op->prev_ref == 0 && (op->request_info & KEY_COPY) == 0;
    fire->count = fires ? tup_unique_count(frag) : 0;
    if (__builtin_expect(fire->count == 0, 1)) return;
    jam();
    struct tup_read read = row_of(op, frag, row);
    for (uint32_t i = 0; i < fire->count; i++) {
        uint32_t index_id;
        fire->words[i] = 0;
        if (tup_unique_fires_of(frag, i, &index_id) == UNIQUE_FIRES_NOTHING) continue;
        fire->words[i] = tup_unique_key(lqh->tup, &read, i, lqh->keys + at);
        at += fire->words[i];
        ndbrequire(at <= TABLE_UNIQUE_WORDS_MAX);
    }
    fire->row_words = 0;
    if (row != ROW_NONE)
        fire->row_words =
            tup_read_key(lqh->tup, &read, lqh->keys + LQH_FIRE_ROW, LQH_KEY_WORDS_MAX);
}

/* Sends the order: `out` has the old key, with the new one behind it. */
static void send(struct lqh *lqh, const struct lqh_op *op, const struct section *row_key,
                 const struct fire_trig_ord *ord, uint32_t *out)
{
    uint32_t words = ord->old_words + ord->new_words;
    memcpy(out + words, row_key->words, row_key->size * 4u);
    struct section section = {.words = out, .size = words + row_key->size};
    signal_send(&lqh->block, op->tc_ref, GSN_FIRE_TRIG_ORD, PRIO_B, ord, sizeof *ord / 4u, &section,
                1);
}

/* Has the operation changed the row's entry in this index? `out` has its old key and gets the new
 * one. */
static bool changed(struct lqh *lqh, const struct tup_read *read, uint32_t number,
                    struct fire_trig_ord *ord, uint32_t *out)
{
    struct tup_frag *frag = read->frag;
    uint32_t *new = out + ord->old_words;
    enum tup_unique_fires fires = tup_unique_fires_of(frag, number, &ord->index_id);
    if (fires == UNIQUE_FIRES_NOTHING) return false;
    ord->new_words = tup_unique_key(lqh->tup, read, number, new);
    if (tup_unique_equal(frag, number, out, ord->old_words, new, ord->new_words)) return false;
    if (fires == UNIQUE_FIRES_ALL) return true;
    jam();
    ord->new_words = 0; /* The build finds the row. */
    return ord->old_words > 0;
}

void lqh_fire(struct lqh *lqh, struct lqh_op *op, const struct tup_change_req *req, uint32_t row,
              const struct lqh_fire *fire)
{
    uint32_t *out = lqh->keys + TABLE_UNIQUE_WORDS_MAX;
    const uint32_t *old = lqh->keys;
    struct tup_read read = row_of(op, req->frag, row);
    struct section row_key = {req->key, req->key_words};
    if (fire->row_words > 0) row_key = (struct section){lqh->keys + LQH_FIRE_ROW, fire->row_words};
    for (uint32_t i = 0; i < fire->count; old += fire->words[i++]) {
        struct fire_trig_ord ord = {.tc_op = op->tc_op,
                                    .transid1 = op->transid1,
                                    .transid2 = op->transid2,
                                    .old_words = fire->words[i]};
        memcpy(out, old, ord.old_words * 4u);
        if (!changed(lqh, &read, i, &ord, out)) continue;
        jam();
        send(lqh, op, &row_key, &ord, out);
        op->fired++;
    }
}

uint32_t lqh_fire_fill(struct lqh *lqh, struct lqh_op *op, const struct lqh_data *data,
                       struct tup_frag *frag, uint32_t row)
{
    struct tup_read read = row_of(op, frag, row);
    uint32_t *out = lqh->keys + TABLE_UNIQUE_WORDS_MAX;
    struct fire_trig_ord ord = {
        .tc_op = op->tc_op, .transid1 = op->transid1, .transid2 = op->transid2};
    uint32_t count = tup_unique_count(frag);
    uint32_t number = 0;
    if (data->attr_words != 1) return ERR_SCAN_TARGET_INDEX;
    while (number < count &&
           (tup_unique_fires_of(frag, number, &ord.index_id) != UNIQUE_FIRES_ALL ||
            ord.index_id != data->attr[0]))
        number++;
    if (number == count) return ERR_SCAN_TARGET_INDEX;
    ord.new_words = tup_unique_key(lqh->tup, &read, number, out);
    if (ord.new_words == 0) {
        jam(); /* With a NULL there is none. */
        return 0;
    }
    struct section row_key = {lqh->keys + LQH_FIRE_ROW, 0};
    row_key.size = tup_read_key(lqh->tup, &read, lqh->keys + LQH_FIRE_ROW, LQH_KEY_WORDS_MAX);
    jam();
    send(lqh, op, &row_key, &ord, out);
    op->fired++;
    return 0;
}

/* A write that has found no row has become an insert: the copies have none either. */
void lqh_fire_copy(struct lqh *lqh, struct lqh_op *op, const struct lqh_data *data)
{
    struct fire_copy_ord ord = {.tc_op = op->tc_op,
                                .transid1 = op->transid1,
                                .transid2 = op->transid2,
                                .operation = key_operation_of(op->request_info)};
    const struct section section[2] = {{data->key, data->key_words},
                                       {data->attr, data->attr_words}};
    jam();
    signal_send(&lqh->block, op->tc_ref, GSN_FIRE_COPY_ORD, PRIO_B, &ord, sizeof ord / 4u, section,
                data->attr_words > 0 ? 2 : 1);
    op->fired++;
}
