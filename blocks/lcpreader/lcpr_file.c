/* lcpr_file.c -- the data files of the chosen state, newest first: read ahead, checked, put into
 * the fragment. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/lcpreader/lcpr_state.h"
#include "values/errors.h"

static void data_name(const struct lcpr *lcpr, char name[LCP_NAME_MAX])
{
    lcp_data_name(name, lcpr->req.table_id, lcpr->req.fragment_id,
                  lcpr->chosen->file[lcpr->file_next].seq);
}

static void continue_later(struct lcpr *lcpr)
{
    struct lcpr_continueb next = {.work = 1};
    sig_send(&lcpr->block, lcpr->block.ref, GSN_CONTINUEB, PRIO_B, &next);
}

static void fail_here(struct lcpr *lcpr, uint32_t error, enum lcp_fault fault, uint64_t offset)
{
    char name[LCP_NAME_MAX];
    data_name(lcpr, name);
    lcpr_fail(lcpr, name, error, fault, offset);
    lcpr->failure.format = lcpr->reader.head.format;
}

/* All files have been read. */
static void all_read(struct lcpr *lcpr)
{
    lcpr_frag_look_up(lcpr);
    enum lcp_fault fault = lcpr_rows_end(&lcpr->rows);
    if (fault != LCP_GOOD)
        fail_here(lcpr, ERR_CHECKPOINT_DAMAGED, fault, lcpr->eaten);
    else if (!lcpw_frag_restored(lcpr->lcpw, lcpr->chosen))
        lcpr_fail(lcpr, "", ERR_TABLE_RECORDS, LCP_GOOD, 0);
    lcpr_done(lcpr);
}

/* Opens the next older file, or ends. */
void lcpr_file_begin(struct lcpr *lcpr)
{
    char name[LCP_NAME_MAX];
    if (lcpr->file_next == 0) {
        jam();
        all_read(lcpr);
        return;
    }
    lcpr->file_next--;
    data_name(lcpr, name);
    lcpr->state = LCPR_OPENING;
    fs_open(&lcpr->block, ASK_OPEN, name, FS_READ | FS_DIRECT);
}

static bool reads_under_way(const struct lcpr *lcpr)
{
    return lcpr->reading[0] || lcpr->reading[1];
}

/* Closes the file when all reads are back. */
static void file_close(struct lcpr *lcpr)
{
    if (reads_under_way(lcpr)) return;
    lcpr->state = LCPR_CLOSING;
    fs_close(&lcpr->block, ASK_CLOSE, lcpr->file);
}

static void read_ahead(struct lcpr *lcpr)
{
    for (uint32_t i = 0; i < LCPR_BUFFERS && lcpr->asked < lcpr->size; i++) {
        /* The one that comes after those already asked for. */
        uint32_t buffer = (uint32_t)(lcpr->asked / LCPR_READ % LCPR_BUFFERS);
        if (lcpr->reading[buffer] || lcpr->filled[buffer] != 0) return;
        uint64_t left = lcpr->size - lcpr->asked;
        uint32_t bytes = left < LCPR_READ ? (uint32_t)left : LCPR_READ;
        struct fs_piece piece = fs_piece_of(&lcpr->block, lcpr->buffer[buffer], bytes);
        lcpr->reading[buffer] = true;
        fs_read(&lcpr->block, ASK_READ + buffer, lcpr->file, lcpr->asked, &piece, 1, 0);
        lcpr->asked += bytes;
    }
}

void lcpr_file_opened(struct lcpr *lcpr, uint32_t file, uint64_t size)
{
    const struct lcp_ctl_file *expect = &lcpr->chosen->file[lcpr->file_next];
    ndbrequire(lcpr->state == LCPR_OPENING);
    lcpr->file = file;
    lcpr->size = size;
    lcpr->asked = lcpr->eaten = 0;
    lcpr->eating = lcpr->at = 0;
    lcpr->walking = false;
    for (uint32_t i = 0; i < LCPR_BUFFERS; i++) {
        lcpr->filled[i] = 0;
        lcpr->reading[i] = false;
    }
    lcpr->state = LCPR_ROWS;
    uint64_t right = lcp_align(u64_of(expect->bytes_lo, expect->bytes_hi));
    if (size != right) {
        jam();
        fail_here(lcpr, ERR_CHECKPOINT_DAMAGED, size < right ? LCP_TRUNCATED : LCP_TAIL,
                  size < right ? size : right);
        file_close(lcpr);
        return;
    }
    lcpr->reader.ident = &lcpr->ident;
    lcpr->reader.expect = expect;
    lcp_reader_begin(&lcpr->reader);
    read_ahead(lcpr);
}

void lcpr_file_read(struct lcpr *lcpr, uint32_t buffer, uint32_t bytes)
{
    ndbrequire(buffer < LCPR_BUFFERS && lcpr->reading[buffer]);
    lcpr->reading[buffer] = false;
    lcpr->filled[buffer] = bytes;
    if (lcpr->failure.error != 0) {
        file_close(lcpr);
        return;
    }
    if (buffer == lcpr->eating) continue_later(lcpr);
}

/* Rows of the block at hand. False: the step is over. */
static bool walk(struct lcpr *lcpr)
{
    bool done;
    enum lcp_fault fault = lcpr_rows_step(&lcpr->rows, &lcpr->reader.cursor, LCPR_STEP_ROWS, &done);
    if (fault != LCP_GOOD) {
        uint32_t error = fault == LCP_ROW ? lcpr->rows.error : ERR_CHECKPOINT_DAMAGED;
        fail_here(lcpr, error, fault, lcpr->reader.offset);
        file_close(lcpr);
        return false;
    }
    lcpr->walking = !done;
    if (!done) continue_later(lcpr);
    return done;
}

static void buffer_used_up(struct lcpr *lcpr)
{
    lcpr->eaten += lcpr->filled[lcpr->eating];
    lcpr->bytes += lcpr->filled[lcpr->eating];
    lcpr->filled[lcpr->eating] = 0;
    lcpr->eating = (lcpr->eating + 1u) % LCPR_BUFFERS;
    lcpr->at = 0;
    if (lcpr->eaten == lcpr->size) {
        enum lcp_fault fault = lcp_reader_finish(&lcpr->reader);
        if (fault != LCP_GOOD) fail_here(lcpr, ERR_CHECKPOINT_DAMAGED, fault, lcpr->eaten);
        file_close(lcpr);
        return;
    }
    read_ahead(lcpr);
    if (lcpr->filled[lcpr->eating] != 0) continue_later(lcpr);
}

/* One block, or a part of one. */
void lcpr_file_step(struct lcpr *lcpr)
{
    if (lcpr->state != LCPR_ROWS || lcpr->failure.error != 0) return;
    if (lcpr->walking && !walk(lcpr)) return;
    const uint8_t *from = lcpr->buffer[lcpr->eating] + lcpr->at;
    uint32_t left = lcpr->filled[lcpr->eating] - lcpr->at;
    enum lcp_read_event event = lcp_reader_next(&lcpr->reader, &from, &left);
    enum lcp_fault fault;
    lcpr->at = lcpr->filled[lcpr->eating] - left;
    switch (event) {
    case LCP_READ_ROWS:
        lcpr->walking = true;
        continue_later(lcpr);
        return;
    case LCP_READ_END:
        fault = lcpr_rows_file_end(&lcpr->rows);
        if (fault == LCP_GOOD) {
            continue_later(lcpr);
            return;
        }
        fail_here(lcpr, ERR_CHECKPOINT_DAMAGED, fault, lcpr->reader.offset);
        file_close(lcpr);
        return;
    case LCP_READ_MORE:
        buffer_used_up(lcpr);
        return;
    case LCP_READ_FAULT:
        jam();
        fail_here(lcpr, ERR_CHECKPOINT_DAMAGED, lcpr->reader.fault, lcpr->reader.offset);
        file_close(lcpr);
        return;
    }
    ndbrequire(false);
}

void lcpr_file_closed(struct lcpr *lcpr)
{
    ndbrequire(lcpr->state == LCPR_CLOSING);
    if (lcpr->failure.error != 0) {
        lcpr_done(lcpr);
        return;
    }
    lcpr_file_begin(lcpr);
}

void lcpr_file_error(struct lcpr *lcpr, uint32_t ask, uint32_t error)
{
    if (ask == ASK_OPEN) {
        jam();
        bool missing = error == ERR_FILE_MISSING;
        fail_here(lcpr, missing ? ERR_CHECKPOINT_DAMAGED : error, missing ? LCP_MISSING : LCP_GOOD,
                  0);
        lcpr_done(lcpr);
        return;
    }
    if (ask == ASK_CLOSE) {
        lcpr_file_closed(lcpr);
        return;
    }
    jam();
    ndbrequire(ask >= ASK_READ && ask < ASK_READ + LCPR_BUFFERS);
    lcpr->reading[ask - ASK_READ] = false;
    if (lcpr->failure.error == 0) fail_here(lcpr, error, LCP_GOOD, lcpr->eaten);
    file_close(lcpr);
}
