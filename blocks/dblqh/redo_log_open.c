/* redo_log_open.c -- the files of a log part: made, opened, and freed at the tail; answers of the
 * file system. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dblqh/redo_log.h"
#include <string.h>

void redo_init(struct redo_log *log, const struct redo_config *config, const struct redo_io *io,
               void *context)
{
    memset(log, 0, sizeof *log);
    ndbrequire(config->files >= 3 && config->files <= REDO_FILES_MAX);
    ndbrequire(config->life <= REDO_LIFE_MAX);
    ndbrequire(config->file_blocks >= REDO_PAGE_BLOCKS &&
               config->buffer_blocks >= 4u * REDO_PAGE_BLOCKS);
    log->config = *config;
    log->io = io;
    log->context = context;
}

void redo_open(struct redo_log *log, bool create)
{
    ndbrequire(log->state == REDO_CLOSED);
    log->state = REDO_OPENING;
    log->create = create;
    log->file_next = 0;
    log->busy = true;
    log->io->open(log->context, 0, create);
}

static void file_opened(struct redo_log *log, uint64_t blocks)
{
    jam();
    if (blocks != log->config.file_blocks) {
        const struct redo_damage damage = {
            .fault = REDO_BAD_SIZE,
            .file = log->file_next,
            .block = (uint32_t)(blocks < UINT32_MAX ? blocks : UINT32_MAX)};
        log->io->damaged(log->context, &damage);
        return;
    }
    log->file_next++;
    log->io->progress(log->context, log->file_next * 100u / log->config.files);
    if (log->file_next < log->config.files) {
        log->busy = true;
        log->io->open(log->context, log->file_next, log->create);
        return;
    }
    log->state = REDO_OPENED;
    log->io->opened(log->context);
}

void redo_begin(struct redo_log *log, uint32_t incarnation)
{
    ndbrequire(log->state == REDO_OPENED);
    log->state = REDO_RUNNING;
    log->incarnation = incarnation;
    log->lsn = (uint64_t)log->config.life << REDO_LSN_PAGE_BITS;
    log->lsn_written = log->lsn_synced = log->lsn;
}

void redo_done(struct redo_log *log, uint64_t result)
{
    ndbrequire(log->busy);
    log->busy = false;
    switch (log->state) {
    case REDO_OPENING:
        file_opened(log, result);
        return;
    case REDO_RUNNING:
        redo_written(log);
        return;
    case REDO_HEADS:
    case REDO_READING:
    case REDO_LOOKING:
    case REDO_CUTTING:
    case REDO_JOINING:
        redo_replay_done(log);
        return;
    case REDO_CLOSED:
    case REDO_OPENED:
    case REDO_APPLYING:
        break;
    }
    ndbrequire(false); /* In no other state a request is under way. */
}

/* A whole file is free when nothing that began in it or before it is needed: the next file's first
 * page knows. */
void redo_tail(struct redo_log *log, uint32_t gci)
{
    if (log->state != REDO_RUNNING) return;
    for (;;) {
        uint64_t next = (log->tail / log->config.file_blocks + 1u) * log->config.file_blocks;
        if (next >= log->synced)
            return; /* The next file's first page is not there to be found yet. */
        if (log->file[redo_file_at(log, next)].gci_before >= gci) return;
        jam();
        log->tail = next;
    }
}
