/* lqh_scan.c -- scans of one fragment: rows in batches straight to the client, in short steps;
 * counting. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/key/lqh_program.h"
#include "blocks/dblqh/scan/lqh_scan.h"
#include "blocks/dblqh/scan/lqh_scan_index.h"
#include "blocks/dblqh/schema/lqh_table.h"
#include "signals/dict.h"
#include "signals/scan.h"
#include "values/attr.h"
#include "values/errors.h"

/* A step looks at so many slots per row that it may return, for pages can be half empty. */
#define SLOTS_PER_ROW  8u
#define COUNT_STEPS    16u /* Counting a slot is so much cheaper than reading a row. */
#define LOOK_GROUPS    16u /* Looking at a row is so much cheaper than sending it. */
#define INDEX_GROUPS   4u  /* An index gives fewer at a time than pages do. */
#define BATCH_ROWS_MAX 0xFFFFu

struct lqh_scan *lqh_scan_get(struct lqh *lqh, uint32_t ref)
{
    struct lqh_scan *scan = pool_find(&lqh->scans, ref);
    ndbrequire(scan != NULL);
    return scan;
}

static void scan_release(struct lqh *lqh, struct lqh_scan *scan)
{
    uint32_t table_id = scan->table_id;
    lqh_scan_lock_end(lqh, scan);
    lqh_scan_program_end(lqh, scan);
    lqh_scan_index_end(lqh, scan);
    pool_release(&lqh->scans, scan);
    lqh_table_leave(lqh, table_id);
}

static void send_conf(struct lqh *lqh, const struct lqh_scan *scan, uint32_t rows, bool done)
{
    struct scan_fragconf conf = {.tc_frag = scan->tc_frag,
                                 .transid1 = scan->transid1,
                                 .transid2 = scan->transid2,
                                 .lqh_scan = done ? REF_NONE : scan->pool.ref,
                                 .rows = rows,
                                 .flags = done ? SCAN_FRAG_DONE : 0};
    sig_send(&lqh->block, scan->tc_ref, GSN_SCAN_FRAGCONF, PRIO_B, &conf);
}

static void send_ref(struct lqh *lqh, uint32_t tc_ref, const struct scan_fragref *ref)
{
    sig_send(&lqh->block, tc_ref, GSN_SCAN_FRAGREF, PRIO_B, ref);
}

static void scan_done(struct lqh *lqh, struct lqh_scan *scan)
{
    send_conf(lqh, scan, scan->rows, true);
    scan_release(lqh, scan);
}

void lqh_scan_fail(struct lqh *lqh, struct lqh_scan *scan, uint32_t error)
{
    jam_data(error);
    struct scan_fragref ref = {.tc_frag = scan->tc_frag,
                               .transid1 = scan->transid1,
                               .transid2 = scan->transid2,
                               .error = error};
    send_ref(lqh, scan->tc_ref, &ref);
    scan_release(lqh, scan);
}

/*
 * The batch is full or the fragment at its end. A scan in turns whose last batch has rows does not
 * end yet: the client has not done with them, and perhaps their locks stay until then.
 */
void lqh_scan_deliver(struct lqh *lqh, struct lqh_scan *scan)
{
    if (lqh_scan_limited(scan, scan->rows)) scan->end = 1;
    if (scan->end && (!scan->turns || scan->rows == 0)) {
        jam();
        scan_done(lqh, scan);
        return;
    }
    jam();
    scan->state = FSCAN_DELIVERED;
    send_conf(lqh, scan, scan->rows, false);
}

void lqh_scan_send_rows(struct lqh *lqh, struct lqh_scan *scan, struct lqh_rows *rows)
{
    if (rows->words > 0) {
        struct transid_ai ai = {.api_op = scan->api_scan,
                                .transid1 = scan->transid1,
                                .transid2 = scan->transid2,
                                .rows = rows->count,
                                .fragment_id = scan->fragment_id};
        struct section section = {.words = lqh->out, .size = rows->words};
        signal_send(&lqh->block, scan->api_ref, GSN_TRANSID_AI, PRIO_B, &ai, sizeof ai / 4u,
                    &section, 1);
    }
    scan->rows += rows->count;
    scan->words += rows->words;
    *rows = (struct lqh_rows){0};
}

/* Does each row tell the number of its range? */
static bool names_ranges(const struct lqh_scan *scan)
{
    return scan->index != REF_NONE && scan->attr_words > 0 &&
           scan->attr[0] == attr_header(ATTR_RANGE, 0);
}

/* Puts a row behind those in lqh->out, which have not reached the batch's size. */
uint32_t lqh_scan_read(struct lqh *lqh, struct lqh_scan *scan, struct tup_frag *frag, uint32_t row,
                       struct lqh_rows *rows)
{
    uint32_t *out = lqh->out + rows->words;
    uint32_t named = names_ranges(scan) ? 1 : 0;
    struct tup_read read = {.frag = frag,
                            .row = row,
                            .transid1 = scan->tc_frag,
                            .transid2 = lqh_scan_owner(scan),
                            .attr = scan->attr + named,
                            .attr_words = scan->attr_words - named};
    uint32_t words = 0;
    ndbrequire(rows->words + 3 + TUP_ROW_WORDS_MAX <= LQH_OUT_WORDS);
    uint32_t error = tup_read(lqh->tup, &read, out + 1 + 2 * named, TUP_ROW_WORDS_MAX, &words);
    if (error != 0) return error;
    rows->count++;
    if (scan->attr_words == 0) return 0;
    if (named != 0) {
        out[1] = attr_header(ATTR_RANGE, 4);
        out[2] = lqh_scan_index_range(lqh, scan);
        words += 2;
    }
    out[0] = words;
    rows->words += words + 1;
    return 0;
}

/* --- Committed reads. --- */

/* A step is over: its rows go to the client, and the scan goes on or reports. */
static void step_ends(struct lqh *lqh, struct lqh_scan *scan, struct lqh_rows *rows)
{
    lqh_scan_send_rows(lqh, scan, rows);
    if (scan->end || lqh_scan_full(scan, rows))
        lqh_scan_deliver(lqh, scan);
    else
        lqh_continue(lqh, LQH_WORK_SCAN, scan->pool.ref);
}

/* Reads the rows of `group`; returns how many fit into the batch, or UINT32_MAX after *error. */
static uint32_t read_group(struct lqh *lqh, struct lqh_scan *scan, struct tup_frag *frag,
                           const uint32_t *group, uint32_t count, struct lqh_rows *rows,
                           uint32_t *error)
{
    for (uint32_t i = 0; i < count; i++) {
        if (scan->words + rows->words >= scan->batch_words) return i;
        *error = lqh_scan_read(lqh, scan, frag, group[i], rows);
        if (*error == ERR_ROW_NOT_FOUND) *error = 0;
        if (*error != 0) return UINT32_MAX;
    }
    return count;
}

static void step_rows(struct lqh *lqh, struct lqh_scan *scan)
{
    struct tup_frag *frag = tup_frag_get(lqh->tup, scan->frag);
    uint32_t left = scan->batch_rows - scan->rows;
    if (scan->limit != 0 && scan->limit - scan->given - scan->rows < left)
        left = scan->limit - scan->given - scan->rows;
    uint32_t step = block_config(&lqh->block)->scan_step_rows;
    uint32_t group[LQH_SCAN_GROUP];
    struct lqh_rows rows = {0};
    bool end = false;
    uint32_t error = 0;

    if (step > LQH_SCAN_GROUP) step = LQH_SCAN_GROUP;
    if (step > left) step = left;
    struct tup_scan_position before = scan->position;
    uint32_t count = tup_scan_next(lqh->tup, frag, &scan->position, scan->tc_frag,
                                   lqh_scan_owner(scan), group, step, step * SLOTS_PER_ROW, &end);
    uint32_t fit = read_group(lqh, scan, frag, group, count, &rows, &error);
    if (error != 0) {
        jam();
        lqh_scan_fail(lqh, scan, error);
        return;
    }
    if (fit < count) {
        jam(); /* The batch has its bytes: back to behind the last row that fitted. */
        scan->position = before;
        uint32_t again =
            tup_scan_next(lqh->tup, frag, &scan->position, scan->tc_frag, lqh_scan_owner(scan),
                          group, fit, step * SLOTS_PER_ROW, &end);
        ndbrequire(again == fit);
        end = false;
    }
    scan->end = end;
    step_ends(lqh, scan, &rows);
}

/* Rows are looked at in groups, by an index or by a program; not all are wanted. */
static void step_groups(struct lqh *lqh, struct lqh_scan *scan)
{
    struct tup_frag *frag = tup_frag_get(lqh->tup, scan->frag);
    struct lqh_rows rows = {0};
    for (uint32_t groups = scan->index != REF_NONE ? INDEX_GROUPS : LOOK_GROUPS;
         groups > 0 && !scan->end && !lqh_scan_step_full(scan, &rows); groups--) {
        uint32_t error = scan->index != REF_NONE ? lqh_scan_index_group(lqh, scan, frag, &rows)
                                                 : lqh_scan_filter_group(lqh, scan, frag, &rows);
        if (error != 0) {
            jam();
            lqh_scan_fail(lqh, scan, error);
            return;
        }
    }
    step_ends(lqh, scan, &rows);
}

static void step_count(struct lqh *lqh, struct lqh_scan *scan)
{
    struct tup_frag *frag = tup_frag_get(lqh->tup, scan->frag);
    uint32_t slots = block_config(&lqh->block)->scan_step_rows * COUNT_STEPS;
    bool end = false;
    scan->rows += tup_scan_count(lqh->tup, frag, &scan->position, scan->tc_frag,
                                 lqh_scan_owner(scan), slots, &end);
    scan->end = end;
    if (lqh_scan_limited(scan, scan->rows)) scan->rows = scan->limit - scan->given;
    step_ends(lqh, scan, &(struct lqh_rows){0});
}

static bool wants_figures(const struct lqh_scan *scan)
{
    return scan->attr_words == 1 && scan->attr[0] == attr_header(ATTR_FRAGMENT, 0);
}

/* Sends one row that tells about the fragment; none of its own is read. */
static void step_figures(struct lqh *lqh, struct lqh_scan *scan)
{
    struct tup_frag_figures figures;
    tup_frag_figures_get(tup_frag_get(lqh->tup, scan->frag), &figures);
    struct fragment_figures out = {.rows_lo = (uint32_t)figures.rows,
                                   .rows_hi = (uint32_t)(figures.rows >> 32),
                                   .commits_lo = (uint32_t)figures.commits,
                                   .commits_hi = (uint32_t)(figures.commits >> 32),
                                   .page_bytes = PAGE_SIZE_BYTES,
                                   .fixed_pages = figures.fixed_pages,
                                   .var_pages = figures.var_pages,
                                   .index_pages = figures.index_pages,
                                   .var_bytes_lo = (uint32_t)figures.var_bytes,
                                   .var_bytes_hi = (uint32_t)(figures.var_bytes >> 32)};
    struct lqh_rows rows = {.count = 1, .words = 2 + sizeof out / 4u};
    jam();
    lqh->out[0] = 1 + sizeof out / 4u;
    lqh->out[1] = attr_header(ATTR_FRAGMENT, sizeof out);
    memcpy(lqh->out + 2, &out, sizeof out);
    lqh_scan_send_rows(lqh, scan, &rows);
    scan->end = true;
    lqh_scan_deliver(lqh, scan);
}

/* Does one step of a scan in state READING. */
void lqh_scan_step(struct lqh *lqh, struct lqh_scan *scan)
{
    ndbrequire(scan->state == FSCAN_READING);
    lqh->requests++;
    if (scan->closing) {
        jam();
        scan->rows = 0;
        scan_done(lqh, scan);
        lqh_run_ready(lqh);
        return;
    }
    uint32_t error = lqh_client_error(lqh, scan->api_ref);
    if (error == ERR_SEND_BUFFER_FULL) {
        jam(); /* The client reads more slowly than we do. */
        lqh_continue_later(lqh, LQH_WORK_SCAN, scan->pool.ref, LQH_HOLD_BACK_MS);
        return;
    }
    if (error != 0) {
        lqh_scan_fail(lqh, scan, ERR_NODE_FAILED_4029);
        lqh_run_ready(lqh);
    } else if (lqh_scan_index_gone(lqh, scan)) {
        jam(); /* Dropped since the last step. */
        lqh_scan_fail(lqh, scan, ERR_INDEX_DROPPING);
        lqh_run_ready(lqh);
    } else if (scan->mode != LOCK_COMMITTED) {
        lqh_scan_lock_step(lqh, scan);
        lqh_run_ready(lqh);
    } else if (scan->index != REF_NONE || scan->program != REF_NONE) {
        step_groups(lqh, scan);
    } else if (scan->attr_words == 0) {
        step_count(lqh, scan);
    } else if (wants_figures(scan)) {
        step_figures(lqh, scan);
    } else {
        step_rows(lqh, scan);
    }
}

/* --- TC's requests. --- */

static void batch_limits(const struct lqh *lqh, struct lqh_scan *scan,
                         const struct scan_fragreq *req)
{
    const struct node_config *config = block_config(&lqh->block);
    uint32_t rows = req->batch_rows != 0 ? req->batch_rows : config->batch_rows;
    uint32_t words = (req->batch_bytes != 0 ? req->batch_bytes : config->batch_bytes) / 4u;
    uint32_t rows_max = scan->mode == LOCK_COMMITTED ? BATCH_ROWS_MAX : LQH_SCAN_LOCKS;
    scan->batch_rows = rows < rows_max ? rows : rows_max;
    scan->batch_words = words < LQH_BATCH_WORDS_MAX ? words : LQH_BATCH_WORDS_MAX;
    if (scan->batch_rows == 0) scan->batch_rows = 1;
    if (scan->batch_words == 0) scan->batch_words = 1; /* One row always fits. */
    scan->grows = req->batch_rows == 0 && req->batch_bytes == 0 && scan->mode == LOCK_COMMITTED;
}

/* Who has asked for more reads much: fewer turns then. Short scans never pay for long batches. */
static void grow_batch(struct lqh_scan *scan)
{
    if (!scan->grows) return;
    if (scan->batch_rows < LQH_BATCH_ROWS_MAX)
        scan->batch_rows =
            2u * scan->batch_rows < LQH_BATCH_ROWS_MAX ? 2u * scan->batch_rows : LQH_BATCH_ROWS_MAX;
    if (scan->batch_words < LQH_BATCH_WORDS_MAX)
        scan->batch_words = 2u * scan->batch_words < LQH_BATCH_WORDS_MAX ? 2u * scan->batch_words
                                                                         : LQH_BATCH_WORDS_MAX;
}

static uint32_t new_scan(struct lqh *lqh, const struct signal *sig, struct lqh_scan **result)
{
    const struct scan_fragreq *req = SIG_PAYLOAD(sig, scan_fragreq);
    uint32_t error;
    struct lqh_table *table =
        lqh_table_usable(lqh, req->table_id, req->schema_version, req->fragment_id, &error);
    if (table == NULL) return error;
    if (sig->section[0].size > ATTR_READ_MAX) return ERR_READS_TOO_MANY;
    struct lqh_scan *scan = ERROR_INSERTED(&lqh->block, 5006) ? NULL : pool_seize(&lqh->scans);
    if (scan == NULL) return ERR_LQH_SCAN_RECORDS;
    scan->state = FSCAN_READING;
    scan->tc_ref = sig->sender;
    scan->tc_frag = req->tc_frag;
    scan->transid1 = req->transid1;
    scan->transid2 = req->transid2;
    scan->api_ref = req->api_ref;
    scan->api_scan = req->api_scan;
    scan->table_id = req->table_id;
    scan->fragment_id = req->fragment_id;
    scan->frag = table->frags[req->fragment_id];
    scan->mode = key_lock_mode(req->request_info);
    scan->turns = scan->mode != LOCK_COMMITTED || (req->request_info & SCAN_TURNS) != 0;
    scan->attr_words = sig->section[0].size;
    memcpy(scan->attr, sig->section[0].words, (size_t)scan->attr_words * 4u);
    scan->limit = req->limit;
    batch_limits(lqh, scan, req);
    error = lqh_scan_program_begin(lqh, scan, sig);
    if (error == 0) error = lqh_scan_index_begin(lqh, scan, sig);
    if (error == 0 && scan->mode != LOCK_COMMITTED) error = lqh_scan_lock_begin(lqh, scan);
    if (error != 0) {
        lqh_scan_program_end(lqh, scan);
        lqh_scan_index_end(lqh, scan);
        pool_release(&lqh->scans, scan);
        return error;
    }
    table->users++;
    *result = scan;
    return 0;
}

void lqh_exec_SCAN_FRAGREQ(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct scan_fragreq *req = SIG_PAYLOAD(sig, scan_fragreq);
    struct lqh_scan *scan = NULL;
    if (!lqh_is_tc(sig->sender) || key_lock_mode(req->request_info) > LOCK_COMMITTED) {
        lqh_protocol_error(lqh, sig->sender, "SCAN_FRAGREQ with impossible references");
        return;
    }
    uint32_t error = new_scan(lqh, sig, &scan);
    if (error != 0) {
        jam_data(error);
        struct scan_fragref ref = {.tc_frag = req->tc_frag,
                                   .transid1 = req->transid1,
                                   .transid2 = req->transid2,
                                   .error = error};
        send_ref(lqh, sig->sender, &ref);
        return;
    }
    jam();
    lqh_scan_step(lqh, scan);
}

static void close_scan(struct lqh *lqh, struct lqh_scan *scan)
{
    if (scan->state == FSCAN_READING) {
        jam(); /* Its CONTINUEB ends it. */
        scan->closing = 1;
        return;
    }
    jam_data(scan->state);
    scan->rows = 0;
    scan_done(lqh, scan);
    lqh_run_ready(lqh);
}

/* Nobody asks for more, nobody closes it. */
void lqh_scan_tc_lost(struct lqh *lqh, struct lqh_scan *scan)
{
    jam();
    close_scan(lqh, scan);
}

static void next_batch(struct lqh *lqh, struct lqh_scan *scan)
{
    lqh_scan_unlock_batch(lqh, scan);
    scan->given += scan->rows;
    scan->rows = 0;
    scan->words = 0;
    scan->looked = 0;
    scan->state = FSCAN_READING;
    grow_batch(scan);
    if (lqh_table_get(lqh, scan->table_id)->state == TABLE_DROPPING) {
        jam();
        lqh_scan_fail(lqh, scan, ERR_TABLE_DROPPING);
    } else if (scan->end) {
        jam();
        scan_done(lqh, scan);
    } else {
        lqh_scan_step(lqh, scan);
    }
    lqh_run_ready(lqh);
}

void lqh_exec_SCAN_FRAG_NEXTREQ(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct scan_frag_nextreq *req = SIG_PAYLOAD(sig, scan_frag_nextreq);
    struct lqh_scan *scan = pool_find(&lqh->scans, req->lqh_scan);
    bool close = (req->flags & SCAN_CLOSE) != 0;

    if (scan == NULL || scan->tc_ref != sig->sender || scan->tc_frag != req->tc_frag ||
        scan->transid1 != req->transid1 || scan->transid2 != req->transid2) {
        jam(); /* Only an order to close may come late: it crosses the last batch or an error. */
        if (!close) lqh_protocol_error(lqh, sig->sender, "SCAN_FRAG_NEXTREQ for an unknown scan");
        return;
    }
    if (close) {
        close_scan(lqh, scan);
    } else if (scan->state != FSCAN_DELIVERED) {
        lqh_protocol_error(lqh, sig->sender, "SCAN_FRAG_NEXTREQ before the batch was delivered");
    } else {
        next_batch(lqh, scan);
    }
}
