/* lqh_index.c -- ordered indexes of tables in use: built, and given back, in steps; new columns. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Each step does a little and lets the others have their turn; what rows do meanwhile to the index
 * is TUP's affair (tup_index_build.c). An index that could not be built gives back its memory the
 * same way before DICT hears of it. See docs/protocols/online.md.
 */
#include <string.h>
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/schema/lqh_index.h"
#include "blocks/dblqh/schema/lqh_table.h"
#include "values/errors.h"
#include "signals/local_table.h"

#define BUILD_SKIP  256u /* Fragments that are not here which a step passes over. */
#define COUNT_FRAGS 256u /* Fragments whose rows a step counts. */
#define REPORT_MS   500u

static void answer(struct lqh *lqh, uint32_t order)
{
    struct lqh_index *index = &lqh->index;
    uint32_t receiver = index->sender;
    index->sender = 0;
    if (index->error != 0) {
        struct local_index_ref ref = {
            .sender_data = index->sender_data, .table_id = index->table_id, .error = index->error};
        jam_data(index->error);
        sig_send(&lqh->block, receiver, GSN_LOCAL_INDEX_REF, PRIO_B, &ref);
        return;
    }
    struct local_index_conf conf = {
        .sender_data = index->sender_data, .table_id = index->table_id, .order = order};
    jam_data(order);
    sig_send(&lqh->block, receiver, GSN_LOCAL_INDEX_CONF, PRIO_B, &conf);
}

/* The fragment to work on; NULL with *end: there are no more, else there is one perhaps in the next
 * step. */
static struct tup_frag *current_frag(struct lqh *lqh, const struct lqh_table *table, bool *end)
{
    struct lqh_index *index = &lqh->index;
    *end = false;
    for (uint32_t i = 0; i < BUILD_SKIP; i++, index->fragment_id++) {
        if (index->fragment_id >= table->fragment_count) {
            *end = true;
            return NULL;
        }
        uint32_t frag = table->frags[index->fragment_id];
        if (frag != REF_NONE) return tup_frag_get(lqh->tup, frag);
    }
    return NULL;
}

/* Begins to drop everything of the index, from the first fragment on. */
static void give_back(struct lqh *lqh, uint32_t error)
{
    lqh->index.building = 0;
    lqh->index.error = error;
    lqh->index.fragment_id = 0;
}

/* Counts the rows before anything is built, so that what is reported has a measure. */
static void count_step(struct lqh *lqh, const struct lqh_table *table)
{
    struct lqh_index *index = &lqh->index;
    for (uint32_t i = 0; i < COUNT_FRAGS && index->fragment_id < table->fragment_count; i++) {
        uint32_t frag = table->frags[index->fragment_id++];
        if (frag != REF_NONE) index->rows_counted += tup_frag_rows(tup_frag_get(lqh->tup, frag));
    }
    if (index->fragment_id < table->fragment_count) return;
    jam();
    index->counted = 1;
    index->fragment_id = 0;
}

static void report(struct lqh *lqh)
{
    struct lqh_index *index = &lqh->index;
    uint64_t now = now_ms(&lqh->block);
    if (now < index->reported_ms + REPORT_MS) return;
    uint64_t rows = index->rows + index->build.rows;
    /* Rows may have come since they were counted. */
    uint64_t total = index->rows_counted > rows ? index->rows_counted : rows;
    struct local_index_rep rep = {.sender_data = index->sender_data,
                                  .rows_lo = (uint32_t)rows,
                                  .rows_hi = (uint32_t)(rows >> 32),
                                  .total_lo = (uint32_t)total,
                                  .total_hi = (uint32_t)(total >> 32)};
    jam();
    index->reported_ms = now;
    sig_send(&lqh->block, index->sender, GSN_LOCAL_INDEX_REP, PRIO_B, &rep);
}

static uint32_t build_rows(struct lqh *lqh, struct tup_frag *frag, bool *built)
{
    uint32_t slots = block_config(&lqh->block)->scan_step_rows;
    if (ERROR_INSERTED(&lqh->block, 5030)) {
        ERROR_INSERT_CLEAR(&lqh->block);
        return ERR_INDEX_MEMORY_ORDERED;
    }
    return tup_index_build_step(lqh->tup, frag, lqh->index.index, &lqh->index.build, slots, built);
}

/* Builds a little. True: the index is whole. */
static bool build_step(struct lqh *lqh, const struct lqh_table *table)
{
    struct lqh_index *index = &lqh->index;
    bool end;
    bool built;
    if (index->cancelled) {
        give_back(lqh, ERR_SCHEMA_ABORTED);
        return false;
    }
    if (!index->counted) {
        count_step(lqh, table);
        return false;
    }
    struct tup_frag *frag = current_frag(lqh, table, &end);
    if (frag == NULL) return end;
    uint32_t error = build_rows(lqh, frag, &built);
    if (error != 0) {
        give_back(lqh, error);
        return false;
    }
    if (built) {
        index->rows += index->build.rows;
        memset(&index->build, 0, sizeof index->build);
        index->fragment_id++;
    }
    report(lqh);
    return false;
}

/* Gives back a little. True: nothing is left. */
static bool drop_step(struct lqh *lqh, const struct lqh_table *table)
{
    struct lqh_index *index = &lqh->index;
    bool end;
    struct tup_frag *frag = current_frag(lqh, table, &end);
    if (frag == NULL) {
        if (end) tup_index_forget(lqh->tup, table->tup_table, index->index);
        return end;
    }
    if (tup_index_drop_step(lqh->tup, frag, index->index)) index->fragment_id++;
    return false;
}

void lqh_index_step(struct lqh *lqh)
{
    const struct lqh_table *table = lqh_table_get(lqh, lqh->index.table_id);
    bool building = lqh->index.building != 0;
    bool done = building ? build_step(lqh, table) : drop_step(lqh, table);
    if (done)
        answer(lqh, building ? LOCAL_INDEX_ADD : LOCAL_INDEX_DROP);
    else
        lqh_continue(lqh, LQH_WORK_INDEX, REF_NONE);
}

static uint32_t begin_build(struct lqh *lqh, const struct signal *sig,
                            const struct lqh_table *table)
{
    const struct local_index_req *req = SIG_PAYLOAD(sig, local_index_req);
    struct table_def *def;
    ndbrequire(sig->section_count == 1);
    uint32_t error = table_def_decode(sig->section[0].words, sig->section[0].size,
                                      lqh->decode_memory, lqh->decode_size, &def);
    if (error == 0) error = tup_index_create(lqh->tup, table->tup_table, def, req->index);
    lqh->index.building = 1;
    lqh->index.reported_ms = now_ms(&lqh->block);
    return error;
}

static uint32_t prepare_column(struct lqh *lqh, const struct signal *sig,
                               const struct lqh_table *table)
{
    struct table_def *def;
    ndbrequire(sig->section_count == 1);
    uint32_t error = table_def_decode(sig->section[0].words, sig->section[0].size,
                                      lqh->decode_memory, lqh->decode_size, &def);
    return error != 0 ? error : tup_column_prepare(lqh->tup, table->tup_table, def);
}

void lqh_exec_LOCAL_INDEX_REQ(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct local_index_req *req = SIG_PAYLOAD(sig, local_index_req);
    const struct lqh_table *table = lqh_table_get(lqh, req->table_id);
    struct lqh_index *index = &lqh->index;
    ndbrequire(index->sender == 0); /* DICT waits for the answer to each order. */
    *index = (struct lqh_index){.sender = sig->sender,
                                .sender_data = req->sender_data,
                                .table_id = req->table_id,
                                .index = req->index};
    switch ((enum local_index_order)req->order) {
    case LOCAL_INDEX_ADD:
        index->error = begin_build(lqh, sig, table);
        if (index->error != 0) break;
        lqh_index_step(lqh);
        return;
    case LOCAL_INDEX_ONLINE:
        jam();
        tup_index_state_set(lqh->tup, table->tup_table, req->index, TUP_INDEX_USABLE);
        break;
    case LOCAL_INDEX_DROPPING:
        jam();
        tup_index_state_set(lqh->tup, table->tup_table, req->index, TUP_INDEX_DROPPING);
        break;
    case LOCAL_INDEX_DROP:
        lqh_index_step(lqh);
        return;
    case LOCAL_COLUMN_ADD:
        index->error = prepare_column(lqh, sig, table);
        break;
    case LOCAL_COLUMN_ONLINE:
        jam();
        tup_column_online(lqh->tup, table->tup_table, req->index);
        break;
    default:
        ndbrequire(false); /* DICT of the own node sends these six. */
    }
    answer(lqh, req->order);
}

void lqh_exec_LOCAL_INDEX_CANCEL_ORD(struct block *block, const struct signal *sig)
{
    struct lqh_index *index = &lqh_of(block)->index;
    uint32_t sender_data = SIG_PAYLOAD(sig, local_index_cancel_ord)->sender_data;
    jam();
    if (index->sender != 0 && index->sender_data == sender_data) index->cancelled = 1;
}
