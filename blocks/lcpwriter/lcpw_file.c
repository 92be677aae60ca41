/* lcpw_file.c -- one fragment: its rows into a data file, then the control file that makes it
 * count. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/lcpwriter/lcpw_state.h"
#include "blocks/dblqh/failure/copy_pace.h"
#include "blocks/dblqh/lqh.h"
#include "values/errors.h"

/* --- The data file. --- */

static bool unchanged(const struct lcpw *lcpw, const struct lcpw_frag *frag,
                      const struct tup_frag *tup_frag)
{
    uint32_t newest = tup_checkpoint_gci(tup_frag);
    if (lcpw->round.copied) return false;
    /* Commits of a GCI that the former file began in may have come behind it. */
    return frag->number != 0 && !frag->full && newest == frag->gci_seen && newest < frag->start_gci;
}

void lcpw_file_begin(struct lcpw *lcpw, struct lcpw_frag *frag, const struct lqh_frag *info)
{
    struct lcpw_current *now = &lcpw->now;
    struct tup_frag *tup_frag = tup_frag_get(lcpw->tup, info->tup_frag);
    char name[LCP_NAME_MAX];
    *now = (struct lcpw_current){.frag = frag->pool.ref, .tup_frag = info->tup_frag};
    now->gci_seen = tup_checkpoint_gci(tup_frag);
    if (unchanged(lcpw, frag, tup_frag)) {
        jam(); /* The same files will do, the log before this round is not needed: that is worth a
                  control file. */
        now->pages = frag->pages;
        lcpw_ctl_begin(lcpw);
        return;
    }
    bool full = frag->full || frag->number == 0;
    uint32_t seq = frag->seq + 1u;
    now->head = (struct lcp_data_head){
        .ident = lcpw_ident(&lcpw->block, frag->table_id, frag->version, frag->fragment_id),
        .seq = seq,
        .which = full ? TUP_CHECKPOINT_ALL : seq % TUP_CHECKPOINT_CLASSES,
        .start_gci = lcpw->round.start_gci,
        .lcp_id = lcpw->round.lcp_id,
    };
    lcp_data_name(name, frag->table_id, frag->fragment_id, seq);
    lcpw->state = LCPW_OPENING;
    fs_open(&lcpw->block, ASK_OPEN, name, FS_WRITE | FS_CREATE | FS_EMPTY | FS_DIRECT);
}

void lcpw_file_opened(struct lcpw *lcpw, uint32_t file)
{
    struct lcpw_current *now = &lcpw->now;
    ndbrequire(lcpw->state == LCPW_OPENING);
    now->file = file;
    now->writer = (struct lcp_writer){.zip = lcpw->zip, .raw = lcpw->raw, .out = lcpw->buffer[0]};
    lcp_writer_begin(&now->writer, &now->head);
    lcpw->state = LCPW_SCANNING;
    if (now->dropped) {
        lcpw_file_step(lcpw);
        return;
    }
    /* Marks are taken away from here on: until the control file is written, they are lost when
     * something fails. */
    lcpw_frag_get(lcpw, now->frag)->full = true;
    lcpw_rows_begin(&now->rows, tup_frag_get(lcpw->tup, now->tup_frag), now->head.which);
    now->pages = now->rows.at.pages;
    lcpw_file_step(lcpw);
}

static bool writing(const struct lcpw_current *now)
{
    return now->busy[0] || now->busy[1];
}

static void close_file(struct lcpw *lcpw)
{
    lcpw->state = LCPW_CLOSING;
    fs_close(&lcpw->block, ASK_CLOSE, lcpw->now.file);
}

/* Gives the filled buffer to NDBFS and goes on in the other one, which is free unless it is the
 * file's last write. */
static void buffer_write(struct lcpw *lcpw, bool last)
{
    struct lcpw_current *now = &lcpw->now;
    struct lcp_writer *writer = &now->writer;
    uint32_t other = now->buffer ^ 1u;
    uint32_t bytes = writer->out_size & ~(LCP_ALIGN - 1u);
    uint32_t rest = writer->out_size - bytes;
    struct fs_piece piece = fs_piece_of(&lcpw->block, lcpw->buffer[now->buffer], bytes);
    ndbrequire(!now->busy[now->buffer]);
    ndbrequire(!last || rest == 0);
    if (!last) {
        ndbrequire(!now->busy[other]);
        memcpy(lcpw->buffer[other], lcpw->buffer[now->buffer] + bytes, rest);
    }
    now->busy[now->buffer] = true;
    fs_write(&lcpw->block, ASK_WRITE + now->buffer, now->file, now->offset, &piece, 1,
             last ? FS_SYNC : 0);
    now->offset += bytes;
    lcpw->tokens -= bytes;
    lcpw->round.bytes += bytes;
    now->buffer = other;
    writer->out = lcpw->buffer[other];
    writer->out_size = rest;
}

static void scan_ended(struct lcpw *lcpw)
{
    struct lcpw_current *now = &lcpw->now;
    jam();
    lcp_writer_flush(&now->writer);
    lcp_writer_end(&now->writer);
    ndbrequire(now->writer.out_size <= LCPW_BUFFER);
    now->ended = true;
    buffer_write(lcpw, true);
}

/* KB per second of a node that comes back and waits for it: as fast as may be, but transactions
 * have the time while there are any. */
static uint32_t speed_copied(struct lcpw *lcpw, uint32_t least, uint32_t most)
{
    uint32_t full = most / least + 1u;
    uint32_t pace = lqh_copy_pace(lcpw->lqh, full < COPY_PACE_MAX ? full : COPY_PACE_MAX);
    if (pace >= full) return most;
    return pace > 1 ? least * pace : least;
}

/* Bytes per millisecond: faster the fuller the log. A KB per second is about a byte per
 * millisecond. */
static uint32_t speed(struct lcpw *lcpw)
{
    const struct node_config *config = block_config(&lcpw->block);
    uint32_t fill = lcpw->log_fill < LCPW_FILL_FAST ? lcpw->log_fill : LCPW_FILL_FAST;
    uint32_t least = config->lcp_speed_min_kb;
    uint32_t most = config->lcp_speed_max_kb > least ? config->lcp_speed_max_kb : least;
    uint32_t node = least + (most - least) / LCPW_FILL_FAST * fill;
    if (lcpw->round.copied && least > 0) node = speed_copied(lcpw, least, most);
    return node / config->ldm_count + 1u;
}

/* May the scan go on? The credit of a pause is limited, so that a wait is not followed by a burst.
 */
static bool tokens_left(struct lcpw *lcpw)
{
    uint64_t now = now_ms(&lcpw->block);
    if (now - lcpw->log_asked_ms >= LCPW_ASK_LOG_MS) {
        struct redo_status_req req = {.sender_data = 0};
        lcpw->log_asked_ms = now;
        sig_send(&lcpw->block, lcpw->lqh->ref, GSN_REDO_STATUS_REQ, PRIO_B, &req);
    }
    int64_t most = 4 * (int64_t)LCPW_WRITE;
    uint64_t elapsed = now - lcpw->tokens_ms;
    lcpw->tokens += (int64_t)((elapsed < 1000u ? elapsed : 1000u) * speed(lcpw));
    if (lcpw->tokens > most) lcpw->tokens = most;
    lcpw->tokens_ms = now;
    return lcpw->tokens >= 0;
}

void lcpw_file_step(struct lcpw *lcpw)
{
    struct lcpw_current *now = &lcpw->now;
    struct lcp_writer *writer = &now->writer;
    if (now->ended) return;
    if (now->dropped || now->error != 0) {
        jam(); /* Writes under way come back first. */
        if (now->error == 0) now->error = ERR_TABLE_DROPPING;
        now->ended = true;
        if (!writing(now)) close_file(lcpw);
        return;
    }
    if (writer->out_size >= LCPW_WRITE) {
        now->waiting = now->busy[now->buffer ^ 1u];
        if (now->waiting) return;
        buffer_write(lcpw, false);
    }
    if (!tokens_left(lcpw)) {
        lcpw_continue(lcpw, LCPW_PAUSE_MS);
        return;
    }
    struct tup_frag *frag = tup_frag_get(lcpw->tup, now->tup_frag);
    switch (lcpw_rows_step(lcpw->tup, frag, &now->rows, writer, LCPW_STEP_ROWS)) {
    case LCPW_ROWS_MORE:
        break;
    case LCPW_ROWS_FULL:
        lcp_writer_flush(writer);
        break;
    case LCPW_ROWS_END:
        scan_ended(lcpw);
        return;
    case LCPW_ROWS_DAMAGED:
        log_error(&lcpw->block,
                  "table %u, fragment %u: a row in memory does not match its checksum",
                  now->head.ident.table, now->head.ident.fragment);
        now->error = ERR_CHECKSUM;
        break;
    }
    lcpw_continue(lcpw, 0);
}

void lcpw_file_written(struct lcpw *lcpw, uint32_t buffer)
{
    struct lcpw_current *now = &lcpw->now;
    ndbrequire(buffer < LCPW_BUFFERS);
    ndbrequire(now->busy[buffer]);
    now->busy[buffer] = false;
    if (now->ended) {
        if (!writing(now)) close_file(lcpw);
    } else if (now->waiting) {
        jam();
        now->waiting = false;
        lcpw_file_step(lcpw);
    }
}

void lcpw_file_closed(struct lcpw *lcpw)
{
    struct lcpw_current *now = &lcpw->now;
    char name[LCP_NAME_MAX];
    ndbrequire(lcpw->state == LCPW_CLOSING);
    now->file = 0;
    if (now->error == 0 && !now->dropped) {
        jam();
        lcpw_ctl_begin(lcpw);
        return;
    }
    jam();
    if (now->error == 0) now->error = ERR_TABLE_DROPPING;
    lcp_data_name(name, now->head.ident.table, now->head.ident.fragment, now->head.seq);
    lcpw->state = LCPW_DISCARDING;
    fs_remove(&lcpw->block, ASK_DISCARD, name, 0);
}

/* --- The control file. --- */

/* What the fragment's state is with the new file. */
static void ctl_fill(struct lcpw *lcpw, const struct lcpw_frag *frag)
{
    const struct lcpw_current *now = &lcpw->now;
    struct lcp_ctl *ctl = lcpw->ctl;
    bool new_file = now->head.seq != 0;
    memset(ctl, 0, sizeof *ctl);
    ctl->ident = lcpw_ident(&lcpw->block, frag->table_id, frag->version, frag->fragment_id);
    ctl->number = frag->number + 1u;
    ctl->slot = ctl->number % 2u;
    ctl->lcp_id = lcpw->round.lcp_id;
    ctl->start_gci = lcpw->round.start_gci;
    ctl->part = lcpw->part.number;
    ctl->life = lcpw_log_life(lcpw);
    ctl->pages = now->pages;
    ctl->seq = frag->seq;
    ctl->end_gci = frag->end_gci;
    uint32_t keep = frag->file_count;
    uint32_t floor = lcpw_end_gci_min(lcpw);
    if (new_file) {
        ctl->seq = now->head.seq;
        ctl->end_gci = tup_checkpoint_gci(tup_frag_get(lcpw->tup, now->tup_frag));
        if (now->head.which == TUP_CHECKPOINT_ALL)
            keep = 0;
        else if (keep == LCP_FILES_MAX)
            keep--;
    }
    if (ctl->end_gci < floor) ctl->end_gci = floor;
    memcpy(ctl->file, frag->file + (frag->file_count - keep), keep * sizeof ctl->file[0]);
    if (new_file) ctl->file[keep++] = lcp_writer_result(&now->writer, &now->head);
    ctl->file_count = keep;
    lcp_ctl_seal(ctl);
}

void lcpw_ctl_begin(struct lcpw *lcpw)
{
    const struct lcpw_frag *frag = lcpw_frag_get(lcpw, lcpw->now.frag);
    char name[LCP_NAME_MAX];
    ctl_fill(lcpw, frag);
    lcp_ctl_name(name, frag->table_id, frag->fragment_id, lcpw->ctl->slot);
    lcpw->state = LCPW_CTL_OPENING;
    /* It needs no room when it lies where the one before the last did. */
    uint32_t empty = frag->ctl_broken ? FS_EMPTY : 0;
    fs_open(&lcpw->block, ASK_CTL_OPEN, name, FS_WRITE | FS_CREATE | FS_DIRECT | empty);
}

void lcpw_ctl_opened(struct lcpw *lcpw, uint32_t file)
{
    struct fs_piece piece = fs_piece_of(&lcpw->block, lcpw->ctl, sizeof(struct lcp_ctl));
    ndbrequire(lcpw->state == LCPW_CTL_OPENING);
    lcpw->now.file = file;
    lcpw->state = LCPW_CTL_WRITING;
    fs_write(&lcpw->block, ASK_CTL_WRITE, file, 0, &piece, 1, FS_SYNC);
}

void lcpw_ctl_written(struct lcpw *lcpw)
{
    ndbrequire(lcpw->state == LCPW_CTL_WRITING);
    lcpw->state = LCPW_CTL_CLOSING;
    fs_close(&lcpw->block, ASK_CTL_CLOSE, lcpw->now.file);
}

/* NDBFS takes nothing for this slot any more, unless it begins anew: it is tried once more, so. The
 * other slot has the control file that counts. Of a table that was dropped meanwhile there is no
 * fragment any more that the file could tell of. */
static bool begin_anew(struct lcpw *lcpw, uint32_t error)
{
    struct lcpw_frag *frag = lcpw_frag_get(lcpw, lcpw->now.frag);
    if (error != ERR_FILE_IO_FAILED || frag->ctl_broken || lcpw->now.dropped) return false;
    jam();
    frag->ctl_broken = true;
    lcpw_ctl_begin(lcpw);
    return true;
}

/* A control file that may be there or not names the new data file: its name is not used again. */
static void ctl_failed(struct lcpw *lcpw)
{
    const struct lcpw_current *now = &lcpw->now;
    struct lcpw_frag *frag = lcpw_frag_get(lcpw, now->frag);
    if (now->head.seq != 0) frag->seq = now->head.seq;
    frag->ctl_broken = false;
    lcpw_failed(lcpw, now->error);
}

void lcpw_ctl_closed(struct lcpw *lcpw)
{
    const struct lcp_ctl *ctl = lcpw->ctl;
    struct lcpw_current *now = &lcpw->now;
    struct lcpw_frag *frag = lcpw_frag_get(lcpw, now->frag);
    ndbrequire(lcpw->state == LCPW_CTL_CLOSING);
    now->file = 0;
    if (now->error != 0) {
        ctl_failed(lcpw);
        return;
    }
    jam();
    if (frag->remove_first == 0 && frag->file_count > 0) frag->remove_first = frag->file[0].seq;
    frag->number = ctl->number;
    frag->seq = ctl->seq;
    frag->pages = ctl->pages;
    frag->start_gci = ctl->start_gci;
    frag->end_gci = ctl->end_gci;
    frag->gci_seen = now->gci_seen;
    frag->file_count = ctl->file_count;
    memcpy(frag->file, ctl->file, sizeof frag->file);
    frag->full = false;
    frag->ctl_broken = false;
    if (ctl->end_gci > lcpw->round.end_gci) lcpw->round.end_gci = ctl->end_gci;
    if (now->head.seq != 0) {
        lcpw->round.pages += now->writer.pages;
        lcpw->round.deltas += now->writer.deltas;
        lcpw->round.delta_rows += now->rows.delta_rows;
    }
    now->frag = REF_NONE;
    lcpw->state = LCPW_FINDING;
    lcpw_continue(lcpw, 0);
}

/* --- What went wrong. The former checkpoint stays; the next round tries with a new file and all
 * pages. --- */

void lcpw_file_error(struct lcpw *lcpw, uint32_t ask, uint32_t error)
{
    struct lcpw_current *now = &lcpw->now;
    jam_data(ask);
    if (ask == ASK_CTL_OPEN && begin_anew(lcpw, error)) return;
    if (now->error == 0) now->error = error;
    switch (ask) {
    case ASK_OPEN:
    case ASK_DISCARD:
        lcpw_failed(lcpw, now->error);
        return;
    case ASK_CTL_OPEN: /* Nothing names the new data file. */
        lcpw_frag_get(lcpw, now->frag)->ctl_broken = false;
        lcpw_failed(lcpw, now->error);
        return;
    case ASK_CLOSE: /* Its data was synced; but what cannot be closed is not trusted. */
        lcpw_file_closed(lcpw);
        return;
    case ASK_CTL_CLOSE:
        ctl_failed(lcpw);
        return;
    case ASK_CTL_WRITE: /* Whatever the slot holds now: the next control file has the same number,
                           hence the same slot. */
        lcpw_ctl_written(lcpw);
        return;
    case ASK_CLEAN: /* It stays; LCPREADER removes it at the next start. */
        now->error = 0;
        lcpw_clean_step(lcpw);
        return;
    default:
        break;
    }
    uint32_t buffer = ask - ASK_WRITE;
    ndbrequire(buffer < LCPW_BUFFERS);
    ndbrequire(now->busy[buffer]);
    now->busy[buffer] = false;
    if (now->ended) {
        if (!writing(now)) close_file(lcpw);
    } else if (now->waiting) {
        now->waiting = false;
        lcpw_file_step(lcpw);
    }
}
