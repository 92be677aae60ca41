/* lqh_scan_filter.c -- a scan that has a program: rows looked at, and those that fit. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/key/lqh_program.h"
#include "blocks/dblqh/scan/lqh_scan.h"
#include "values/errors.h"

#define SLOTS_PER_ROW 8u

uint32_t lqh_scan_fit(struct lqh *lqh, struct lqh_scan *scan, struct tup_program *program,
                      uint32_t row, struct lqh_rows *rows, bool *fits)
{
    *fits = true;
    if (program->words == NULL) return 0;
    program->row = row;
    uint32_t error = tup_program_run(lqh->tup, program);
    scan->looked++;
    rows->steps += program->steps;
    *fits = error == 0 && program->end != TUP_PROGRAM_REFUSED;
    return error == ERR_ROW_NOT_FOUND ? 0 : error;
}

bool lqh_scan_step_full(const struct lqh_scan *scan, const struct lqh_rows *rows)
{
    return lqh_scan_full(scan, rows) || rows->steps >= LQH_FILTER_STEPS;
}

/* Looks at row ids from `group`; returns at how many of them, or UINT32_MAX after *error. */
static uint32_t look(struct lqh *lqh, struct lqh_scan *scan, struct tup_frag *frag,
                     const uint32_t *group, uint32_t count, struct lqh_rows *rows, uint32_t *error)
{
    struct tup_program program = lqh_scan_program(lqh, scan, frag);
    for (uint32_t i = 0; i < count; i++) {
        bool fits;
        if (lqh_scan_step_full(scan, rows)) return i;
        *error = lqh_scan_fit(lqh, scan, &program, group[i], rows, &fits);
        if (*error == 0 && fits) *error = lqh_scan_read(lqh, scan, frag, group[i], rows);
        if (*error == ERR_ROW_NOT_FOUND) *error = 0;
        if (*error != 0) return UINT32_MAX;
    }
    return count;
}

uint32_t lqh_scan_filter_group(struct lqh *lqh, struct lqh_scan *scan, struct tup_frag *frag,
                               struct lqh_rows *rows)
{
    uint32_t group[LQH_SCAN_GROUP];
    uint32_t step = block_config(&lqh->block)->scan_step_rows;
    uint32_t owner = lqh_scan_owner(scan);
    uint32_t error = 0;
    bool end = false;
    if (step > LQH_SCAN_GROUP) step = LQH_SCAN_GROUP;
    struct tup_scan_position before = scan->position;
    uint32_t count = tup_scan_next(lqh->tup, frag, &scan->position, scan->tc_frag, owner, group,
                                   step, step * SLOTS_PER_ROW, &end);
    uint32_t done = look(lqh, scan, frag, group, count, rows, &error);
    if (error != 0) return error;
    if (done < count) {
        jam(); /* The step is over: back to behind the last row that was looked at. */
        scan->position = before;
        uint32_t again = tup_scan_next(lqh->tup, frag, &scan->position, scan->tc_frag, owner, group,
                                       done, step * SLOTS_PER_ROW, &end);
        ndbrequire(again == done);
        end = false;
    }
    scan->end = end;
    return 0;
}
