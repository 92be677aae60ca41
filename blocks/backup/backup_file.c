/* backup_file.c -- one fragment: its rows into a data file, then the control file that makes it
 * count. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/backup/backup_state.h"
#include "blocks/dblqh/failure/copy_pace.h"
#include "blocks/dblqh/lqh.h"
#include "values/errors.h"

/* --- The data file. --- */

static bool unchanged(const struct backup *backup, const struct backup_frag *frag,
                      const struct tup_frag *tup_frag)
{
    uint32_t newest = tup_checkpoint_gci(tup_frag);
    if (backup->round.copied) return false;
    /* Commits of a GCI that the former file began in may have come behind it. */
    return frag->number != 0 && !frag->full && newest == frag->gci_seen && newest < frag->start_gci;
}

void backup_file_begin(struct backup *backup, struct backup_frag *frag, const struct lqh_frag *info)
{
    struct backup_current *now = &backup->now;
    struct tup_frag *tup_frag = tup_frag_get(backup->tup, info->tup_frag);
    char name[LCP_NAME_MAX];
    *now = (struct backup_current){.frag = frag->pool.ref, .tup_frag = info->tup_frag};
    now->gci_seen = tup_checkpoint_gci(tup_frag);
    if (unchanged(backup, frag, tup_frag)) {
        jam(); /* The same files will do, the log before this round is not needed: that is worth a
                  control file. */
        now->pages = frag->pages;
        backup_ctl_begin(backup);
        return;
    }
    bool full = frag->full || frag->number == 0;
    uint32_t seq = frag->seq + 1u;
    now->head = (struct lcp_data_head){
        .ident = backup_ident(&backup->block, frag->table_id, frag->version, frag->fragment_id),
        .seq = seq,
        .which = full ? TUP_CHECKPOINT_ALL : seq % TUP_CHECKPOINT_CLASSES,
        .start_gci = backup->round.start_gci,
        .lcp_id = backup->round.lcp_id,
    };
    lcp_data_name(name, frag->table_id, frag->fragment_id, seq);
    backup->state = BACKUP_OPENING;
    fs_open(&backup->block, ASK_OPEN, name, FS_WRITE | FS_CREATE | FS_EMPTY | FS_DIRECT);
}

void backup_file_opened(struct backup *backup, uint32_t file)
{
    struct backup_current *now = &backup->now;
    ndbrequire(backup->state == BACKUP_OPENING);
    now->file = file;
    now->writer =
        (struct lcp_writer){.zip = backup->zip, .raw = backup->raw, .out = backup->buffer[0]};
    lcp_writer_begin(&now->writer, &now->head);
    backup->state = BACKUP_SCANNING;
    if (now->dropped) {
        backup_file_step(backup);
        return;
    }
    /* Marks are taken away from here on: until the control file is written, they are lost when
     * something fails. */
    backup_frag_get(backup, now->frag)->full = true;
    backup_rows_begin(&now->rows, tup_frag_get(backup->tup, now->tup_frag), now->head.which);
    now->pages = now->rows.at.pages;
    backup_file_step(backup);
}

static bool writing(const struct backup_current *now)
{
    return now->busy[0] || now->busy[1];
}

static void close_file(struct backup *backup)
{
    backup->state = BACKUP_CLOSING;
    fs_close(&backup->block, ASK_CLOSE, backup->now.file);
}

/* Gives the filled buffer to NDBFS and goes on in the other one, which is free unless it is the
 * file's last write. */
static void buffer_write(struct backup *backup, bool last)
{
    struct backup_current *now = &backup->now;
    struct lcp_writer *writer = &now->writer;
    uint32_t other = now->buffer ^ 1u;
    uint32_t bytes = writer->out_size & ~(LCP_ALIGN - 1u);
    uint32_t rest = writer->out_size - bytes;
    struct fs_piece piece = fs_piece_of(&backup->block, backup->buffer[now->buffer], bytes);
    ndbrequire(!now->busy[now->buffer]);
    ndbrequire(!last || rest == 0);
    if (!last) {
        ndbrequire(!now->busy[other]);
        memcpy(backup->buffer[other], backup->buffer[now->buffer] + bytes, rest);
    }
    now->busy[now->buffer] = true;
    fs_write(&backup->block, ASK_WRITE + now->buffer, now->file, now->offset, &piece, 1,
             last ? FS_SYNC : 0);
    now->offset += bytes;
    backup->tokens -= bytes;
    backup->round.bytes += bytes;
    now->buffer = other;
    writer->out = backup->buffer[other];
    writer->out_size = rest;
}

static void scan_ended(struct backup *backup)
{
    struct backup_current *now = &backup->now;
    jam();
    lcp_writer_flush(&now->writer);
    lcp_writer_end(&now->writer);
    ndbrequire(now->writer.out_size <= BACKUP_BUFFER);
    now->ended = true;
    buffer_write(backup, true);
}

/* KB per second of a node that comes back and waits for it: as fast as may be, but transactions
 * have the time while there are any. */
static uint32_t speed_copied(struct backup *backup, uint32_t least, uint32_t most)
{
    uint32_t full = most / least + 1u;
    uint32_t pace = lqh_copy_pace(backup->lqh, full < COPY_PACE_MAX ? full : COPY_PACE_MAX);
    if (pace >= full) return most;
    return pace > 1 ? least * pace : least;
}

/* Bytes per millisecond: faster the fuller the log. A KB per second is about a byte per
 * millisecond. */
static uint32_t speed(struct backup *backup)
{
    const struct node_config *config = block_config(&backup->block);
    uint32_t fill = backup->log_fill < BACKUP_FILL_FAST ? backup->log_fill : BACKUP_FILL_FAST;
    uint32_t least = config->lcp_speed_min_kb;
    uint32_t most = config->lcp_speed_max_kb > least ? config->lcp_speed_max_kb : least;
    uint32_t node = least + (most - least) / BACKUP_FILL_FAST * fill;
    if (backup->round.copied && least > 0) node = speed_copied(backup, least, most);
    return node / config->ldm_count + 1u;
}

/* May the scan go on? The credit of a pause is limited, so that a wait is not followed by a burst.
 */
static bool tokens_left(struct backup *backup)
{
    uint64_t now = now_ms(&backup->block);
    if (now - backup->log_asked_ms >= BACKUP_ASK_LOG_MS) {
        struct redo_status_req req = {.sender_data = 0};
        backup->log_asked_ms = now;
        sig_send(&backup->block, backup->lqh->ref, GSN_REDO_STATUS_REQ, PRIO_B, &req);
    }
    int64_t most = 4 * (int64_t)BACKUP_WRITE;
    uint64_t elapsed = now - backup->tokens_ms;
    backup->tokens += (int64_t)((elapsed < 1000u ? elapsed : 1000u) * speed(backup));
    if (backup->tokens > most) backup->tokens = most;
    backup->tokens_ms = now;
    return backup->tokens >= 0;
}

void backup_file_step(struct backup *backup)
{
    struct backup_current *now = &backup->now;
    struct lcp_writer *writer = &now->writer;
    if (now->ended) return;
    if (now->dropped || now->error != 0) {
        jam(); /* Writes under way come back first. */
        if (now->error == 0) now->error = ERR_TABLE_DROPPING;
        now->ended = true;
        if (!writing(now)) close_file(backup);
        return;
    }
    if (writer->out_size >= BACKUP_WRITE) {
        now->waiting = now->busy[now->buffer ^ 1u];
        if (now->waiting) return;
        buffer_write(backup, false);
    }
    if (!tokens_left(backup)) {
        backup_continue(backup, BACKUP_PAUSE_MS);
        return;
    }
    struct tup_frag *frag = tup_frag_get(backup->tup, now->tup_frag);
    switch (backup_rows_step(backup->tup, frag, &now->rows, writer, BACKUP_STEP_ROWS)) {
    case BACKUP_ROWS_MORE:
        break;
    case BACKUP_ROWS_FULL:
        lcp_writer_flush(writer);
        break;
    case BACKUP_ROWS_END:
        scan_ended(backup);
        return;
    case BACKUP_ROWS_DAMAGED:
        log_error(&backup->block,
                  "table %u, fragment %u: a row in memory does not match its checksum",
                  now->head.ident.table, now->head.ident.fragment);
        now->error = ERR_CHECKSUM;
        break;
    }
    backup_continue(backup, 0);
}

void backup_file_written(struct backup *backup, uint32_t buffer)
{
    struct backup_current *now = &backup->now;
    ndbrequire(buffer < BACKUP_BUFFERS);
    ndbrequire(now->busy[buffer]);
    now->busy[buffer] = false;
    if (now->ended) {
        if (!writing(now)) close_file(backup);
    } else if (now->waiting) {
        jam();
        now->waiting = false;
        backup_file_step(backup);
    }
}

void backup_file_closed(struct backup *backup)
{
    struct backup_current *now = &backup->now;
    char name[LCP_NAME_MAX];
    ndbrequire(backup->state == BACKUP_CLOSING);
    now->file = 0;
    if (now->error == 0 && !now->dropped) {
        jam();
        backup_ctl_begin(backup);
        return;
    }
    jam();
    if (now->error == 0) now->error = ERR_TABLE_DROPPING;
    lcp_data_name(name, now->head.ident.table, now->head.ident.fragment, now->head.seq);
    backup->state = BACKUP_DISCARDING;
    fs_remove(&backup->block, ASK_DISCARD, name, 0);
}

/* --- The control file. --- */

/* What the fragment's state is with the new file. */
static void ctl_fill(struct backup *backup, const struct backup_frag *frag)
{
    const struct backup_current *now = &backup->now;
    struct lcp_ctl *ctl = backup->ctl;
    bool new_file = now->head.seq != 0;
    memset(ctl, 0, sizeof *ctl);
    ctl->ident = backup_ident(&backup->block, frag->table_id, frag->version, frag->fragment_id);
    ctl->number = frag->number + 1u;
    ctl->slot = ctl->number % 2u;
    ctl->lcp_id = backup->round.lcp_id;
    ctl->start_gci = backup->round.start_gci;
    ctl->part = backup->part.number;
    ctl->life = backup_log_life(backup);
    ctl->pages = now->pages;
    ctl->seq = frag->seq;
    ctl->end_gci = frag->end_gci;
    uint32_t keep = frag->file_count;
    uint32_t floor = backup_end_gci_min(backup);
    if (new_file) {
        ctl->seq = now->head.seq;
        ctl->end_gci = tup_checkpoint_gci(tup_frag_get(backup->tup, now->tup_frag));
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

void backup_ctl_begin(struct backup *backup)
{
    const struct backup_frag *frag = backup_frag_get(backup, backup->now.frag);
    char name[LCP_NAME_MAX];
    ctl_fill(backup, frag);
    lcp_ctl_name(name, frag->table_id, frag->fragment_id, backup->ctl->slot);
    backup->state = BACKUP_CTL_OPENING;
    /* It needs no room when it lies where the one before the last did. */
    uint32_t empty = frag->ctl_broken ? FS_EMPTY : 0;
    fs_open(&backup->block, ASK_CTL_OPEN, name, FS_WRITE | FS_CREATE | FS_DIRECT | empty);
}

void backup_ctl_opened(struct backup *backup, uint32_t file)
{
    struct fs_piece piece = fs_piece_of(&backup->block, backup->ctl, sizeof(struct lcp_ctl));
    ndbrequire(backup->state == BACKUP_CTL_OPENING);
    backup->now.file = file;
    backup->state = BACKUP_CTL_WRITING;
    fs_write(&backup->block, ASK_CTL_WRITE, file, 0, &piece, 1, FS_SYNC);
}

void backup_ctl_written(struct backup *backup)
{
    ndbrequire(backup->state == BACKUP_CTL_WRITING);
    backup->state = BACKUP_CTL_CLOSING;
    fs_close(&backup->block, ASK_CTL_CLOSE, backup->now.file);
}

/* NDBFS takes nothing for this slot any more, unless it begins anew: it is tried once more, so. The
 * other slot has the control file that counts. Of a table that was dropped meanwhile there is no
 * fragment any more that the file could tell of. */
static bool begin_anew(struct backup *backup, uint32_t error)
{
    struct backup_frag *frag = backup_frag_get(backup, backup->now.frag);
    if (error != ERR_FILE_IO_FAILED || frag->ctl_broken || backup->now.dropped) return false;
    jam();
    frag->ctl_broken = true;
    backup_ctl_begin(backup);
    return true;
}

/* A control file that may be there or not names the new data file: its name is not used again. */
static void ctl_failed(struct backup *backup)
{
    const struct backup_current *now = &backup->now;
    struct backup_frag *frag = backup_frag_get(backup, now->frag);
    if (now->head.seq != 0) frag->seq = now->head.seq;
    frag->ctl_broken = false;
    backup_failed(backup, now->error);
}

void backup_ctl_closed(struct backup *backup)
{
    const struct lcp_ctl *ctl = backup->ctl;
    struct backup_current *now = &backup->now;
    struct backup_frag *frag = backup_frag_get(backup, now->frag);
    ndbrequire(backup->state == BACKUP_CTL_CLOSING);
    now->file = 0;
    if (now->error != 0) {
        ctl_failed(backup);
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
    if (ctl->end_gci > backup->round.end_gci) backup->round.end_gci = ctl->end_gci;
    if (now->head.seq != 0) {
        backup->round.pages += now->writer.pages;
        backup->round.deltas += now->writer.deltas;
        backup->round.delta_rows += now->rows.delta_rows;
    }
    now->frag = REF_NONE;
    backup->state = BACKUP_FINDING;
    backup_continue(backup, 0);
}

/* --- What went wrong. The former checkpoint stays; the next round tries with a new file and all
 * pages. --- */

void backup_file_error(struct backup *backup, uint32_t ask, uint32_t error)
{
    struct backup_current *now = &backup->now;
    jam_data(ask);
    if (ask == ASK_CTL_OPEN && begin_anew(backup, error)) return;
    if (now->error == 0) now->error = error;
    switch (ask) {
    case ASK_OPEN:
    case ASK_DISCARD:
        backup_failed(backup, now->error);
        return;
    case ASK_CTL_OPEN: /* Nothing names the new data file. */
        backup_frag_get(backup, now->frag)->ctl_broken = false;
        backup_failed(backup, now->error);
        return;
    case ASK_CLOSE: /* Its data was synced; but what cannot be closed is not trusted. */
        backup_file_closed(backup);
        return;
    case ASK_CTL_CLOSE:
        ctl_failed(backup);
        return;
    case ASK_CTL_WRITE: /* Whatever the slot holds now: the next control file has the same number,
                           hence the same slot. */
        backup_ctl_written(backup);
        return;
    case ASK_CLEAN: /* It stays; RESTORE removes it at the next start. */
        now->error = 0;
        backup_clean_step(backup);
        return;
    default:
        break;
    }
    uint32_t buffer = ask - ASK_WRITE;
    ndbrequire(buffer < BACKUP_BUFFERS);
    ndbrequire(now->busy[buffer]);
    now->busy[buffer] = false;
    if (now->ended) {
        if (!writing(now)) close_file(backup);
    } else if (now->waiting) {
        now->waiting = false;
        backup_file_step(backup);
    }
}
