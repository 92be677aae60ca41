/* lqh_program.c -- programs of key operations and scans: taken apart, run at the primary, and what
 * becomes of the operation then. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The other replicas get the outcome as an ordinary change; see docs/protocols/program.md.
 */
#include <string.h>
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/key/lqh_op.h"
#include "blocks/dblqh/key/lqh_program.h"
#include "blocks/dblqh/key/lqh_read.h"
#include "blocks/dblqh/scan/lqh_scan.h"
#include "signals/tckey.h"
#include "values/errors.h"
#include "values/program.h"

/* ATTRINFO with KEY_PROGRAM: words of the program, words of the reads, these two, values. */
static uint32_t take_apart(const struct lqh_data *data, struct lqh_program *program)
{
    if (data->attr_words < 2) return ERR_TUP_REQUEST_876;
    uint32_t left = data->attr_words - 2u;
    program->count = data->attr[0];
    program->read_words = data->attr[1];
    if (program->count > PROGRAM_WORDS_MAX) return ERR_FILTER_TOO_BIG_TUP;
    if (program->count > left || program->read_words > left - program->count)
        return ERR_TUP_REQUEST_876;
    program->words = data->attr + 2;
    program->read = program->words + program->count;
    program->value = program->read + program->read_words;
    program->value_words = left - program->count - program->read_words;
    return 0;
}

uint32_t lqh_program_filter(struct lqh *lqh, const struct tup_read *row,
                            const struct lqh_data *data, struct lqh_data *read)
{
    struct lqh_program program;
    uint32_t error = take_apart(data, &program);
    if (error == 0) error = tup_program_check(row->frag, program.words, program.count, false);
    if (error != 0) return error;
    struct tup_program run = {.frag = row->frag,
                              .row = row->row,
                              .transid1 = row->transid1,
                              .transid2 = row->transid2,
                              .words = program.words};
    error = tup_program_run(lqh->tup, &run);
    *read = *data;
    read->attr = program.read;
    read->attr_words = program.read_words;
    return error == 0 && run.end == TUP_PROGRAM_REFUSED ? run.code : error;
}

/* The program's pairs stand in lqh->made; the operation's values come behind them. */
static uint32_t append_values(struct lqh *lqh, const struct lqh_program *program,
                              struct lqh_data *change)
{
    if (program->value_words > TUP_ROW_WORDS_MAX - change->attr_words) return ERR_TUP_TOO_MUCH_DATA;
    if (program->value_words > 0)
        memcpy(lqh->made + change->attr_words, program->value, program->value_words * 4u);
    change->attr_words += program->value_words;
    return 0;
}

static uint32_t run(struct lqh *lqh, const struct lqh_op *op, struct tup_frag *frag, uint32_t row,
                    const struct lqh_program *program, struct lqh_data *change)
{
    struct tup_program at = {.frag = frag,
                             .row = row,
                             .transid1 = op->tc_trans,
                             .transid2 = op->tc_ref,
                             .words = program->words,
                             .out = lqh->made,
                             .out_max = TUP_ROW_WORDS_MAX};
    uint32_t error = tup_program_run(lqh->tup, &at);
    if (error != 0) return error;
    if (at.end == TUP_PROGRAM_REFUSED) {
        jam();
        return at.code;
    }
    change->attr_words = at.stored;
    return at.end == TUP_PROGRAM_OK ? append_values(lqh, program, change) : 0;
}

uint32_t lqh_program_prepare(struct lqh *lqh, struct lqh_op *op, struct tup_frag *frag,
                             uint32_t row, const struct lqh_data *data, struct lqh_program *program,
                             struct lqh_data *change)
{
    enum key_operation operation = key_operation_of(op->request_info);
    bool stores = operation == OP_UPDATE || operation == OP_WRITE;
    uint32_t error = take_apart(data, program);
    *change = *data;
    change->attr = lqh->made;
    change->attr_words = 0;
    if (error == 0 && operation == OP_INSERT) error = ERR_OPTIONS_COMBINATION;
    if (error == 0) error = tup_program_check(frag, program->words, program->count, stores);
    if (error == 0) error = tup_read_check(frag, program->read, program->read_words);
    /* Once something has changed nothing may stand in the way of the answer. */
    if (error == 0 && program->read_words > 0) error = lqh_client_error(lqh, op->api_ref);
    if (error != 0) return error;
    bool alive = row != ROW_NONE && tup_row_alive(lqh->tup, frag, row, op->tc_trans, op->tc_ref);
    if (!alive && operation == OP_WRITE) {
        jam();
        error = append_values(lqh, program, change);
    } else {
        error = alive ? run(lqh, op, frag, row, program, change) : ERR_ROW_NOT_FOUND;
    }
    op->request_info &= ~KEY_PROGRAM; /* Replicas that come get what has become of it. */
    return error;
}

uint32_t lqh_program_read(struct lqh *lqh, const struct lqh_op *op, struct tup_frag *frag,
                          uint32_t row, const struct lqh_program *program)
{
    struct tup_read read = {.frag = frag,
                            .row = row,
                            .transid1 = op->tc_trans,
                            .transid2 = op->tc_ref,
                            .attr = program->read,
                            .attr_words = program->read_words};
    uint32_t words = 0;
    if (program->read_words == 0) return 0;
    ndbrequire(tup_read(lqh->tup, &read, lqh->out + 1, TUP_ROW_WORDS_MAX, &words) == 0);
    lqh->out[0] = words;
    return words;
}

void lqh_program_answer(struct lqh *lqh, const struct lqh_op *op, uint32_t words)
{
    struct transid_ai ai = {.api_op = op->api_op,
                            .transid1 = op->transid1,
                            .transid2 = op->transid2,
                            .rows = 1,
                            .fragment_id = op->fragment_id};
    lqh_send_row(lqh, op->api_ref, &ai, words + 1u);
}

/* --- Scans. --- */

uint32_t lqh_scan_program_begin(struct lqh *lqh, struct lqh_scan *scan, const struct signal *sig)
{
    if (sig->section_count < 2 || sig->section[1].size == 0) return 0;
    const struct section *section = &sig->section[1];
    const struct tup_frag *frag = tup_frag_get(lqh->tup, scan->frag);
    uint32_t error = tup_program_check(frag, section->words, section->size, false);
    if (error != 0) return error;
    struct lqh_scan_program *program = pool_seize(&lqh->scan_programs);
    if (program == NULL) return ERR_LQH_SCAN_RECORDS;
    memcpy(program->word, section->words, (size_t)section->size * 4u);
    scan->program = program->pool.ref;
    return 0;
}

void lqh_scan_program_end(struct lqh *lqh, struct lqh_scan *scan)
{
    if (scan->program == REF_NONE) return;
    pool_release(&lqh->scan_programs, pool_find(&lqh->scan_programs, scan->program));
    scan->program = REF_NONE;
}

struct tup_program lqh_scan_program(struct lqh *lqh, const struct lqh_scan *scan,
                                    struct tup_frag *frag)
{
    struct tup_program program = {.frag = frag};
    if (scan->program == REF_NONE) return program;
    const struct lqh_scan_program *record = pool_find(&lqh->scan_programs, scan->program);
    ndbrequire(record != NULL);
    program.transid1 = scan->tc_frag;
    program.transid2 = lqh_scan_owner(scan);
    program.words = record->word;
    return program;
}
