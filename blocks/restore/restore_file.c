/* restore_file.c -- the data files of the chosen state, newest first: read ahead, checked, put into
 * the fragment. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/restore/restore_state.h"
#include "values/errors.h"

static void data_name(const struct restore *restore, char name[LCP_NAME_MAX])
{
    lcp_data_name(name, restore->req.table_id, restore->req.fragment_id,
                  restore->chosen->file[restore->file_next].seq);
}

static void continue_later(struct restore *restore)
{
    struct restore_continueb next = {.work = 1};
    sig_send(&restore->block, restore->block.ref, GSN_CONTINUEB, PRIO_B, &next);
}

static void fail_here(struct restore *restore, uint32_t error, enum lcp_fault fault,
                      uint64_t offset)
{
    char name[LCP_NAME_MAX];
    data_name(restore, name);
    restore_fail(restore, name, error, fault, offset);
    restore->failure.format = restore->reader.head.format;
}

/* All files have been read. */
static void all_read(struct restore *restore)
{
    restore_frag_look_up(restore);
    enum lcp_fault fault = restore_rows_end(&restore->rows);
    if (fault != LCP_GOOD)
        fail_here(restore, ERR_CHECKPOINT_DAMAGED, fault, restore->eaten);
    else if (!backup_frag_restored(restore->backup, restore->chosen))
        restore_fail(restore, "", ERR_TABLE_RECORDS, LCP_GOOD, 0);
    restore_done(restore);
}

/* Opens the next older file, or ends. */
void restore_file_begin(struct restore *restore)
{
    char name[LCP_NAME_MAX];
    if (restore->file_next == 0) {
        jam();
        all_read(restore);
        return;
    }
    restore->file_next--;
    data_name(restore, name);
    restore->state = RESTORE_OPENING;
    fs_open(&restore->block, ASK_OPEN, name, FS_READ | FS_DIRECT);
}

static bool reads_under_way(const struct restore *restore)
{
    return restore->reading[0] || restore->reading[1];
}

/* Closes the file when all reads are back. */
static void file_close(struct restore *restore)
{
    if (reads_under_way(restore)) return;
    restore->state = RESTORE_CLOSING;
    fs_close(&restore->block, ASK_CLOSE, restore->file);
}

static void read_ahead(struct restore *restore)
{
    for (uint32_t i = 0; i < RESTORE_BUFFERS && restore->asked < restore->size; i++) {
        /* The one that comes after those already asked for. */
        uint32_t buffer = (uint32_t)(restore->asked / RESTORE_READ % RESTORE_BUFFERS);
        if (restore->reading[buffer] || restore->filled[buffer] != 0) return;
        uint64_t left = restore->size - restore->asked;
        uint32_t bytes = left < RESTORE_READ ? (uint32_t)left : RESTORE_READ;
        struct fs_piece piece = fs_piece_of(&restore->block, restore->buffer[buffer], bytes);
        restore->reading[buffer] = true;
        fs_read(&restore->block, ASK_READ + buffer, restore->file, restore->asked, &piece, 1, 0);
        restore->asked += bytes;
    }
}

void restore_file_opened(struct restore *restore, uint32_t file, uint64_t size)
{
    const struct lcp_ctl_file *expect = &restore->chosen->file[restore->file_next];
    ndbrequire(restore->state == RESTORE_OPENING);
    restore->file = file;
    restore->size = size;
    restore->asked = restore->eaten = 0;
    restore->eating = restore->at = 0;
    restore->walking = false;
    for (uint32_t i = 0; i < RESTORE_BUFFERS; i++) {
        restore->filled[i] = 0;
        restore->reading[i] = false;
    }
    restore->state = RESTORE_ROWS;
    uint64_t right = lcp_align(u64_of(expect->bytes_lo, expect->bytes_hi));
    if (size != right) {
        jam();
        fail_here(restore, ERR_CHECKPOINT_DAMAGED, size < right ? LCP_TRUNCATED : LCP_TAIL,
                  size < right ? size : right);
        file_close(restore);
        return;
    }
    restore->reader.ident = &restore->ident;
    restore->reader.expect = expect;
    lcp_reader_begin(&restore->reader);
    read_ahead(restore);
}

void restore_file_read(struct restore *restore, uint32_t buffer, uint32_t bytes)
{
    ndbrequire(buffer < RESTORE_BUFFERS && restore->reading[buffer]);
    restore->reading[buffer] = false;
    restore->filled[buffer] = bytes;
    if (restore->failure.error != 0) {
        file_close(restore);
        return;
    }
    if (buffer == restore->eating) continue_later(restore);
}

/* Rows of the block at hand. False: the step is over. */
static bool walk(struct restore *restore)
{
    bool done;
    enum lcp_fault fault =
        restore_rows_step(&restore->rows, &restore->reader.cursor, RESTORE_STEP_ROWS, &done);
    if (fault != LCP_GOOD) {
        uint32_t error = fault == LCP_ROW ? restore->rows.error : ERR_CHECKPOINT_DAMAGED;
        fail_here(restore, error, fault, restore->reader.offset);
        file_close(restore);
        return false;
    }
    restore->walking = !done;
    if (!done) continue_later(restore);
    return done;
}

static void buffer_used_up(struct restore *restore)
{
    restore->eaten += restore->filled[restore->eating];
    restore->bytes += restore->filled[restore->eating];
    restore->filled[restore->eating] = 0;
    restore->eating = (restore->eating + 1u) % RESTORE_BUFFERS;
    restore->at = 0;
    if (restore->eaten == restore->size) {
        enum lcp_fault fault = lcp_reader_finish(&restore->reader);
        if (fault != LCP_GOOD) fail_here(restore, ERR_CHECKPOINT_DAMAGED, fault, restore->eaten);
        file_close(restore);
        return;
    }
    read_ahead(restore);
    if (restore->filled[restore->eating] != 0) continue_later(restore);
}

/* One block, or a part of one. */
void restore_file_step(struct restore *restore)
{
    if (restore->state != RESTORE_ROWS || restore->failure.error != 0) return;
    if (restore->walking && !walk(restore)) return;
    const uint8_t *from = restore->buffer[restore->eating] + restore->at;
    uint32_t left = restore->filled[restore->eating] - restore->at;
    enum lcp_read_event event = lcp_reader_next(&restore->reader, &from, &left);
    enum lcp_fault fault;
    restore->at = restore->filled[restore->eating] - left;
    switch (event) {
    case LCP_READ_ROWS:
        restore->walking = true;
        continue_later(restore);
        return;
    case LCP_READ_END:
        fault = restore_rows_file_end(&restore->rows);
        if (fault == LCP_GOOD) {
            continue_later(restore);
            return;
        }
        fail_here(restore, ERR_CHECKPOINT_DAMAGED, fault, restore->reader.offset);
        file_close(restore);
        return;
    case LCP_READ_MORE:
        buffer_used_up(restore);
        return;
    case LCP_READ_FAULT:
        jam();
        fail_here(restore, ERR_CHECKPOINT_DAMAGED, restore->reader.fault, restore->reader.offset);
        file_close(restore);
        return;
    }
    ndbrequire(false);
}

void restore_file_closed(struct restore *restore)
{
    ndbrequire(restore->state == RESTORE_CLOSING);
    if (restore->failure.error != 0) {
        restore_done(restore);
        return;
    }
    restore_file_begin(restore);
}

void restore_file_error(struct restore *restore, uint32_t ask, uint32_t error)
{
    if (ask == ASK_OPEN) {
        jam();
        bool missing = error == ERR_FILE_MISSING;
        fail_here(restore, missing ? ERR_CHECKPOINT_DAMAGED : error,
                  missing ? LCP_MISSING : LCP_GOOD, 0);
        restore_done(restore);
        return;
    }
    if (ask == ASK_CLOSE) {
        restore_file_closed(restore);
        return;
    }
    jam();
    ndbrequire(ask >= ASK_READ && ask < ASK_READ + RESTORE_BUFFERS);
    restore->reading[ask - ASK_READ] = false;
    if (restore->failure.error == 0) fail_here(restore, error, LCP_GOOD, restore->eaten);
    file_close(restore);
}
