/* lqh_program.h -- programs that are run on rows: of operations, committed reads and scans. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbtup/tup.h"
#include "values/program.h"

struct lqh;
struct lqh_data;
struct lqh_op;
struct lqh_scan;

#define LQH_FILTER_STEPS 16384u /* Instructions of programs that a step of a scan executes. */

/* The parts of an ATTRINFO with KEY_PROGRAM. */
struct lqh_program {
    const uint32_t *words;
    const uint32_t *read;
    const uint32_t *value;
    uint32_t count;
    uint32_t read_words;
    uint32_t value_words;
};

struct lqh_scan_program {
    struct pool_record pool;
    uint32_t word[PROGRAM_WORDS_MAX];
};

/* lqh_program.c; all within one handler. */
/* Runs the filter of a committed read. 0 and what is to be read, or the error of its answer. */
uint32_t lqh_program_filter(struct lqh *lqh, const struct tup_read *row,
                            const struct lqh_data *data, struct lqh_data *read);
/* Runs the program on the locked row, or finds that there is none (ROW_NONE). Nothing has changed
 * yet. 0: `change` is what to do then, with its values in lqh->made; `program` has the reads. */
uint32_t lqh_program_prepare(struct lqh *lqh, struct lqh_op *op, struct tup_frag *frag,
                             uint32_t row, const struct lqh_data *data, struct lqh_program *program,
                             struct lqh_data *change);
/* The reads of a row that is there, into lqh->out. Returns their words. */
uint32_t lqh_program_read(struct lqh *lqh, const struct lqh_op *op, struct tup_frag *frag,
                          uint32_t row, const struct lqh_program *program);
void lqh_program_answer(struct lqh *lqh, const struct lqh_op *op, uint32_t words);
/* The second section of SCAN_FRAGREQ, if there is one. 0 or an error. */
uint32_t lqh_scan_program_begin(struct lqh *lqh, struct lqh_scan *scan, const struct signal *sig);
void lqh_scan_program_end(struct lqh *lqh, struct lqh_scan *scan);
/* The program that is run on the rows of a step; its `words` are NULL when all are wanted. */
struct tup_program lqh_scan_program(struct lqh *lqh, const struct lqh_scan *scan,
                                    struct tup_frag *frag);
