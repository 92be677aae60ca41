/* redo_log_open.c -- the files of a log part: made, opened, and freed at the tail; answers of the
 * file system. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dblqh/redo/redo_log.h"
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

/* Blocks that the first file has of its first page. Files before the one that is wrong have their
 * size. */
static uint32_t first_blocks(const struct redo_log *log)
{
    bool whole = log->wrong.file > 0 || log->wrong.block > REDO_PAGE_BLOCKS;
    return whole ? REDO_PAGE_BLOCKS : log->wrong.block;
}

/* A file is missing or has another size: it is damaged, or the configuration has been changed. */
static void shape_ask(struct redo_log *log, enum redo_fault fault, uint32_t blocks)
{
    jam_data(fault);
    log->wrong = (struct redo_damage){.fault = fault, .file = log->file_next, .block = blocks};
    log->state = REDO_ASKING;
    if (first_blocks(log) == 0) {
        log->io->damaged(log->context, &log->wrong);
        return;
    }
    log->busy = true;
    log->io->read(log->context, 0, 0, log->config.buffer, first_blocks(log));
}

static void shape_told(struct redo_log *log)
{
    const struct redo_page_head *head =
        (const struct redo_page_head *)(const void *)log->config.buffer;
    const struct redo_place place = redo_place_at(log, 0);
    uint32_t words = first_blocks(log) * REDO_BLOCK_WORDS;
    struct redo_damage damage = log->wrong;
    if (redo_page_verify(log->config.buffer, words, &place) == REDO_OTHER_SHAPE) {
        jam();
        damage = (struct redo_damage){
            .fault = REDO_OTHER_SHAPE, .files = head->files, .file_blocks = head->file_blocks};
    }
    log->io->damaged(log->context, &damage);
}

void redo_missing(struct redo_log *log)
{
    ndbrequire(log->busy && log->state == REDO_OPENING && !log->create);
    log->busy = false;
    shape_ask(log, REDO_MISSING, 0);
}

static void file_opened(struct redo_log *log, uint64_t blocks)
{
    jam();
    if (blocks != log->config.file_blocks) {
        shape_ask(log, REDO_BAD_SIZE, (uint32_t)(blocks < UINT32_MAX ? blocks : UINT32_MAX));
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
    case REDO_ASKING:
        shape_told(log);
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
