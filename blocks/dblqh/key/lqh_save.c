/* lqh_save.c -- keeps key and attrinfo of operations that wait for a lock. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/key/lqh_op.h"
#include "signals/lqhkey.h"

static struct lqh_segment *segment_get(struct lqh *lqh, uint32_t ref)
{
    struct lqh_segment *segment = pool_find(&lqh->segments, ref);
    ndbrequire(segment != NULL);
    return segment;
}

void lqh_save_drop(struct lqh *lqh, struct lqh_op *op)
{
    while (op->saved != REF_NONE) {
        struct lqh_segment *segment = segment_get(lqh, op->saved);
        op->saved = segment->next;
        pool_release(&lqh->segments, segment);
    }
}

static struct lqh_segment *append(struct lqh *lqh, struct lqh_op *op, struct lqh_segment *last)
{
    struct lqh_segment *segment =
        ERROR_INSERTED(&lqh->block, 5007) ? NULL : pool_seize(&lqh->segments);
    if (segment == NULL) return NULL;
    if (last == NULL)
        op->saved = segment->pool.ref;
    else
        last->next = segment->pool.ref;
    return segment;
}

/* False when there is no memory; nothing is kept then. */
bool lqh_save(struct lqh *lqh, struct lqh_op *op, const struct lqh_data *data)
{
    const struct section part[2] = {{data->key, data->key_words}, {data->attr, data->attr_words}};
    struct lqh_segment *segment = NULL;
    uint32_t used = LQH_SEGMENT_WORDS;
    for (uint32_t p = 0; p < 2; p++) {
        for (uint32_t at = 0; at < part[p].size;) {
            if (used == LQH_SEGMENT_WORDS) {
                segment = append(lqh, op, segment);
                used = 0;
            }
            if (segment == NULL) {
                lqh_save_drop(lqh, op);
                return false;
            }
            uint32_t count = part[p].size - at;
            if (count > LQH_SEGMENT_WORDS - used) count = LQH_SEGMENT_WORDS - used;
            memcpy(segment->words + used, part[p].words + at, (size_t)count * 4u);
            used += count;
            at += count;
        }
    }
    op->key_words = data->key_words;
    op->attr_words = data->attr_words;
    return true;
}

void lqh_load(struct lqh *lqh, struct lqh_op *op, struct lqh_data *data)
{
    uint32_t total = op->key_words + op->attr_words;
    uint32_t at = 0;
    ndbrequire(total <= LQH_KEY_WORDS_MAX + LQHKEY_ATTR_WORDS_MAX);
    for (uint32_t ref = op->saved; ref != REF_NONE;) {
        const struct lqh_segment *segment = segment_get(lqh, ref);
        uint32_t count = total - at < LQH_SEGMENT_WORDS ? total - at : LQH_SEGMENT_WORDS;
        memcpy(lqh->data + at, segment->words, (size_t)count * 4u);
        at += count;
        ref = segment->next;
    }
    ndbrequire(at == total);
    lqh_save_drop(lqh, op);
    *data = (struct lqh_data){.key = lqh->data,
                              .attr = lqh->data + op->key_words,
                              .key_words = op->key_words,
                              .attr_words = op->attr_words};
}
