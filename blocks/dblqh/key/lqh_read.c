/* lqh_read.c -- committed reads: no record, no lock, answered straight to the client. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A read costs two cache misses, the index line and the row, and two more where the row has a
 * variable part: where it stands, and the part. They take longer than all the rest. So a read is
 * not executed when it comes, but pending for a moment: its index line is asked for at once, the
 * next thing when READS_APART more have come, and so on (enum lqh_read_stage), and it is executed
 * when all is there. A CONTINUEB behind the signals that are queued now flushes what is left; so a
 * read that comes alone loses one turn of the queue and nothing else. A pending read has no ties:
 * table, fragment and client are looked at again in each stage, and the row is only a guess until
 * it is executed.
 */
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/key/lqh_op.h"
#include "blocks/dblqh/key/lqh_program.h"
#include "blocks/dblqh/key/lqh_read.h"
#include "blocks/dblqh/schema/lqh_table.h"
#include "signals/lqhkey.h"
#include "values/errors.h"

#define READS_APART 4u /* Reads between two stages; a miss lasts shorter than so many. */

static_assert(READS_APART * LQH_READ_STAGES < LQH_READS_PENDING, "there is a slot for the next");

void lqh_send_row(struct lqh *lqh, uint32_t api_ref, const struct transid_ai *ai, uint32_t words)
{
    struct section section = {.words = lqh->out, .size = words};
    signal_send(&lqh->block, api_ref, GSN_TRANSID_AI, PRIO_B, ai, sizeof *ai / 4u, &section, 1);
}

static void refuse_read(struct lqh *lqh, const struct lqhkeyreq *req, uint32_t error)
{
    jam_data(error);
    if (error != ERR_READ_NODE_FAILURE) {
        struct tckeyref ref = {.api_op = req->api_op,
                               .transid1 = req->transid1,
                               .transid2 = req->transid2,
                               .error = error};
        sig_send(&lqh->block, req->api_ref, GSN_TCKEYREF, PRIO_B, &ref);
        return;
    }
    /* There is no link to the client from here: its TC tells it. */
    struct lqhkeyref ref = {.tc_op = REF_NONE,
                            .transid1 = req->transid1,
                            .transid2 = req->transid2,
                            .error = error,
                            .prev_ref = req->api_ref,
                            .prev_op = req->api_op};
    sig_send(&lqh->block, req->tc_ref, GSN_LQHKEYREF, PRIO_B, &ref);
}

static uint32_t read_row(struct lqh *lqh, const struct lqhkeyreq *req,
                         const struct lqh_table *table, const struct lqh_data *data)
{
    struct tup_frag *frag = tup_frag_get(lqh->tup, table->frags[req->fragment_id]);
    uint32_t row = acc_find(tup_frag_index(frag), req->hash, data->key, data->key_words);
    if (row == ROW_NONE) return ERR_ROW_NOT_FOUND;
    struct tup_read read = {.frag = frag,
                            .row = row,
                            .transid1 =
                                req->tc_trans, /* REF_NONE: only what is committed is seen. */
                            .transid2 = req->tc_ref,
                            .attr = data->attr,
                            .attr_words = data->attr_words};
    uint32_t words = 0;
    uint32_t error = 0;
    if ((req->request_info & KEY_PROGRAM) != 0) {
        struct lqh_data wanted;
        error = lqh_program_filter(lqh, &read, data, &wanted);
        if (error != 0) return error;
        read.attr = wanted.attr;
        read.attr_words = wanted.attr_words;
    }
    error = tup_read(lqh->tup, &read, lqh->out + 1, TUP_ROW_WORDS_MAX, &words);
    if (error != 0) return error;
    lqh->out[0] = words;
    struct transid_ai ai = {.api_op = req->api_op,
                            .transid1 = req->transid1,
                            .transid2 = req->transid2,
                            .rows = 1,
                            .fragment_id = req->fragment_id};
    lqh_send_row(lqh, req->api_ref, &ai, words + 1);
    return 0;
}

static void execute(struct lqh *lqh, const struct lqhkeyreq *req, const struct lqh_table *table,
                    const struct lqh_data *data)
{
    uint32_t error = lqh_client_error(lqh, req->api_ref);
    if (error == 0) error = read_row(lqh, req, table, data);
    if (error != 0) refuse_read(lqh, req, error);
}

/* --- Pending reads. --- */

static inline struct lqh_pending_read *pending_at(struct lqh *lqh, uint32_t number)
{
    return &lqh->reads.pending[number & (LQH_READS_PENDING - 1u)];
}

static void execute_pending(struct lqh *lqh, const struct lqh_pending_read *pending,
                            const struct lqh_table *table, uint32_t error)
{
    struct lqh_data data = {.key = pending->words,
                            .attr = pending->words + pending->key_words,
                            .key_words = pending->key_words,
                            .attr_words = pending->attr_words};
    if (table == NULL)
        refuse_read(lqh, &pending->req, error);
    else
        execute(lqh, &pending->req, table, &data);
}

/* Asks the memory for what the next stage will look at. */
static void fetch(const struct tup_frag *frag, struct lqh_pending_read *pending,
                  enum lqh_read_stage stage)
{
    if (stage == LQH_READ_ROW) {
        pending->row = acc_likely_row(tup_frag_index(frag), pending->req.hash);
        if (pending->row != ROW_NONE) tup_prefetch(frag, pending->row);
    } else if (pending->row != ROW_NONE) {
        if (stage == LQH_READ_VAR_ENTRY)
            tup_prefetch_var_entry(frag, pending->row);
        else
            tup_prefetch_var(frag, pending->row);
    }
}

static void pass(struct lqh *lqh, enum lqh_read_stage stage)
{
    struct lqh_pending_read *pending = pending_at(lqh, lqh->reads.passed[stage]);
    const struct lqhkeyreq *req = &pending->req;
    uint32_t error = 0;
    lqh->reads.passed[stage]++;
    const struct lqh_table *table =
        lqh_table_usable(lqh, req->table_id, req->schema_version, req->fragment_id, &error);
    if (stage == LQH_READ_EXECUTE)
        execute_pending(lqh, pending, table, error);
    else if (table != NULL)
        fetch(tup_frag_get(lqh->tup, table->frags[req->fragment_id]), pending, stage);
}

/* Each stage goes on with those that the one before is `apart` ahead of. */
static void advance(struct lqh *lqh, uint32_t apart)
{
    struct lqh_reads *reads = &lqh->reads;
    uint32_t before = reads->added;
    for (uint32_t stage = 0; stage < LQH_READ_STAGES; stage++) {
        while (before - reads->passed[stage] > apart)
            pass(lqh, (enum lqh_read_stage)stage);
        before = reads->passed[stage];
    }
}

void lqh_reads_flush(struct lqh *lqh)
{
    lqh->reads.flush_sent = false;
    advance(lqh, 0);
}

static void add_pending(struct lqh *lqh, const struct signal *sig, const struct lqh_table *table)
{
    struct lqh_reads *reads = &lqh->reads;
    const struct lqhkeyreq *req = SIG_PAYLOAD(sig, lqhkeyreq);
    struct lqh_pending_read *pending = pending_at(lqh, reads->added);
    pending->req = *req;
    pending->key_words = sig->section[0].size;
    pending->attr_words = sig->section[1].size;
    pending->row = ROW_NONE;
    uint32_t *to = pending->words;
    for (uint32_t i = 0; i < pending->key_words; i++)
        *to++ = sig->section[0].words[i];
    for (uint32_t i = 0; i < pending->attr_words; i++)
        *to++ = sig->section[1].words[i];
    acc_prefetch(tup_frag_index(tup_frag_get(lqh->tup, table->frags[req->fragment_id])), req->hash);
    reads->added++;
    advance(lqh, READS_APART);
    if (reads->flush_sent) return;
    reads->flush_sent = true;
    lqh_continue(lqh, LQH_WORK_READS, REF_NONE);
}

/* `table` is NULL when `error` is not 0. */
void lqh_read(struct lqh *lqh, const struct signal *sig, const struct lqh_table *table,
              uint32_t error)
{
    const struct lqhkeyreq *req = SIG_PAYLOAD(sig, lqhkeyreq);
    uint32_t client_error = lqh_client_error(lqh, req->api_ref);
    if (client_error != 0) error = client_error;
    if (error == 0 && sig->section_count < 2) error = ERR_READ_NO_COLUMNS;
    if (error != 0) {
        refuse_read(lqh, req, error);
        return;
    }
    if (sig->section[0].size + sig->section[1].size <= LQH_READ_WORDS) {
        add_pending(lqh, sig, table);
        return;
    }
    struct lqh_data data = {.key = sig->section[0].words,
                            .attr = sig->section[1].words,
                            .key_words = sig->section[0].size,
                            .attr_words = sig->section[1].size};
    execute(lqh, req, table, &data);
}
