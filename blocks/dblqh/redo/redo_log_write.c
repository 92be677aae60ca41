/* redo_log_write.c -- records into pages, pages into large writes, group sync; how much room there
 * is. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dblqh/redo/redo_log.h"
#include <string.h>

#define WRITE_BLOCKS_MAX 2048u /* 8 MB: the file system's longest request. */
#define SLOW_PERCENT     75u
/* Words of records in the shortest page, which is the worst case. */
#define PAGE_CONTENT (REDO_BLOCK_WORDS - REDO_PAGE_HEAD)

static uint64_t min64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static struct redo_page_head *head_of(uint32_t *page)
{
    return (struct redo_page_head *)(void *)page;
}

/* --- Room. --- */

/* The position at which the log would end if the page being filled were closed now. */
static uint64_t end_of(const struct redo_log *log)
{
    return log->page == NULL ? log->made : log->made + redo_blocks(head_of(log->page)->words);
}

/*
 * Each save that finds something closes a page and may waste most of a block; what is prepared can
 * be spread over as many saves as there are operations. An eighth of the log is kept for that at
 * most: only what stays prepared over more saves than that, in a log that is full and is not freed
 * meanwhile, meets less.
 */
static uint64_t blocks_for(const struct redo_log *log, uint64_t words, uint32_t ops)
{
    return words / PAGE_CONTENT + 2u + min64(ops, redo_capacity(log) / 8u);
}

enum redo_room redo_room(const struct redo_log *log, uint32_t words)
{
    uint64_t capacity = redo_capacity(log);
    uint64_t end = end_of(log);
    uint64_t all = log->reserved_words + words;
    if (end - log->tail + blocks_for(log, all, log->reserved_ops + 1u) > capacity) return REDO_FULL;
    /* Memory: what is not written yet, what is promised, and a page cut short at either end. */
    if (end - log->written + all / PAGE_CONTENT + 2u * REDO_PAGE_BLOCKS > log->config.buffer_blocks)
        return REDO_WAIT;
    return (end - log->tail + all / PAGE_CONTENT) * 100u >= capacity * SLOW_PERCENT ? REDO_SLOW
                                                                                    : REDO_ROOM;
}

bool redo_never(const struct redo_log *log, uint64_t words, uint32_t ops)
{
    return blocks_for(log, words, ops) > redo_capacity(log) ||
           words / PAGE_CONTENT + 2u * REDO_PAGE_BLOCKS > log->config.buffer_blocks;
}

void redo_reserve(struct redo_log *log, uint32_t words)
{
    log->reserved_words += words;
    log->reserved_ops++;
}

void redo_release(struct redo_log *log, uint32_t words)
{
    ndbrequire(log->reserved_ops > 0 && log->reserved_words >= words);
    log->reserved_words -= words;
    log->reserved_ops--;
}

uint32_t redo_fill(const struct redo_log *log)
{
    uint64_t used = end_of(log) - log->tail + log->reserved_words / PAGE_CONTENT;
    return (uint32_t)min64(used * 100u / redo_capacity(log), 100u);
}

/* --- Pages. --- */

static bool page_begin(struct redo_log *log)
{
    const struct redo_config *config = &log->config;
    uint32_t block = redo_block_at(log, log->made);
    uint64_t blocks = min64(REDO_PAGE_BLOCKS, config->file_blocks - block);
    blocks = min64(blocks, config->buffer_blocks - log->made % config->buffer_blocks);
    blocks = min64(blocks, config->buffer_blocks - (log->made - log->written));
    blocks = min64(blocks, log->tail + redo_capacity(log) - log->made);
    if (blocks == 0) return false;
    log->page = redo_memory_at(log, log->made);
    log->page_words = (uint32_t)blocks * REDO_BLOCK_WORDS;
    *head_of(log->page) = (struct redo_page_head){
        .cluster_lo = (uint32_t)config->cluster,
        .cluster_hi = (uint32_t)(config->cluster >> 32),
        .node = config->node,
        .part = config->part,
        .files = config->files,
        .file_blocks = config->file_blocks,
        .file = redo_file_at(log, log->made),
        .block = block,
        .incarnation = log->incarnation,
        .words = REDO_PAGE_HEAD,
        .gci_before = log->gci_max,
        .lsn_lo = (uint32_t)(log->lsn + 1u),
        .lsn_hi = (uint32_t)((log->lsn + 1u) >> 32),
        .prev_lo = (uint32_t)log->check,
        .prev_hi = (uint32_t)(log->check >> 32),
        .synced_lo = (uint32_t)log->lsn_synced,
        .synced_hi = (uint32_t)(log->lsn_synced >> 32),
    };
    if (block == 0) {
        jam();
        log->file[redo_file_at(log, log->made)] = (struct redo_file){
            .lsn = log->lsn + 1u, .prev = log->check, .gci_before = log->gci_max};
    }
    return true;
}

static void page_close(struct redo_log *log)
{
    struct redo_page_head *head = head_of(log->page);
    head->gci_max = log->gci_max;
    redo_page_seal(log->page);
    log->lsn++;
    log->check = redo_check(head);
    log->made += redo_blocks(head->words);
    log->page = NULL;
}

/* Copies words to the log's end; closes pages that are full. */
static bool put(struct redo_log *log, const uint32_t *words, uint32_t count, bool first)
{
    while (count > 0) {
        if (log->page == NULL && !page_begin(log)) return false;
        struct redo_page_head *head = head_of(log->page);
        uint32_t room = log->page_words - head->words;
        uint32_t step = count < room ? count : room;
        if (first && head->first == 0) head->first = head->words;
        first = false;
        memcpy(log->page + head->words, words, (size_t)step * 4u);
        head->words += step;
        words += step;
        count -= step;
        if (head->words == log->page_words) page_close(log);
    }
    return true;
}

bool redo_append(struct redo_log *log, const struct redo_record *record)
{
    uint32_t head[REDO_RECORD_HEAD];
    ndbrequire(log->state == REDO_RUNNING);
    redo_record_head_put(record, head);
    /* A page that this record begins does not count it among those before. */
    if (log->page == NULL && !page_begin(log)) return false;
    if (record->gci_hi > log->gci_max) log->gci_max = record->gci_hi;
    log->records++;
    log->proved = false;
    if (!put(log, head, REDO_RECORD_HEAD, true)) return false;
    if (!put(log, record->pairs, record->pair_words, false)) return false;
    if (log->made - log->written >= log->config.buffer_blocks / 4u) redo_push(log);
    return true;
}

/* --- Writing: one request at a time; what comes meanwhile goes together into the next one. --- */

/* Whole pages from where writing has come to, as many as are one request. Notes the number of the
 * last one: a save that becomes durable with it tells that one. */
static uint64_t pages_to_write(struct redo_log *log)
{
    const struct redo_config *config = &log->config;
    uint64_t most = min64(log->made - log->written, WRITE_BLOCKS_MAX);
    most = min64(most, config->file_blocks - redo_block_at(log, log->written));
    most = min64(most, config->buffer_blocks - log->written % config->buffer_blocks);
    uint64_t blocks = 0;
    while (blocks < most) {
        const struct redo_page_head *head = head_of(redo_memory_at(log, log->written + blocks));
        uint64_t more = redo_blocks(head->words);
        if (blocks + more > most) break;
        blocks += more;
        log->lsn_writing = (uint64_t)head->lsn_hi << 32 | head->lsn_lo;
    }
    ndbrequire(blocks > 0); /* No page is longer than a request, or passes an end. */
    return blocks;
}

static void write_run(struct redo_log *log)
{
    const struct redo_config *config = &log->config;
    uint32_t block = redo_block_at(log, log->written);
    uint64_t blocks = pages_to_write(log);
    uint64_t end = log->written + blocks;
    log->writing = end;
    /* A file is left only when all of it is durable: a sync of the next one does not reach it. */
    log->writing_sync =
        (log->save > log->synced && end >= log->save) || block + blocks == config->file_blocks;
    log->busy = true;
    log->bytes_written += blocks * REDO_BLOCK_BYTES;
    log->io->write(log->context, redo_file_at(log, log->written), block,
                   redo_memory_at(log, log->written), (uint32_t)blocks, log->writing_sync);
}

void redo_push(struct redo_log *log)
{
    if (log->busy || log->state != REDO_RUNNING) return;
    uint64_t waiting = log->made - log->written;
    bool wanted = log->save > log->synced;
    if (waiting > 0 && (wanted || waiting >= log->config.buffer_blocks / 4u)) {
        write_run(log);
    } else if (wanted) {
        jam(); /* All is written already, for lack of room in memory. */
        log->writing = 0;
        log->busy = true;
        log->io->sync(log->context, redo_file_at(log, log->written - 1u));
    }
}

void redo_written(struct redo_log *log)
{
    bool sync = log->writing == 0 || log->writing_sync;
    if (log->writing != 0) {
        log->written = log->writing;
        log->writing = 0;
        log->lsn_written = log->lsn_writing;
    }
    if (sync) {
        log->synced = log->written;
        log->lsn_synced = log->lsn_written;
        log->io->synced(log->context);
    }
    redo_push(log);
}

/* --- Making durable. --- */

/*
 * A save that finds nothing new writes one empty page, once: it says that those before were
 * durable. So a last page that rots while the log is idle is noticed at the next start, although no
 * record follows it.
 */
static void prove(struct redo_log *log)
{
    if (log->proved || redo_lsn_pages(log->lsn) == 0 || log->synced != log->made) return;
    if (redo_fill(log) >= SLOW_PERCENT || !page_begin(log)) return;
    jam();
    page_close(log);
    log->proved = true;
}

uint64_t redo_save(struct redo_log *log)
{
    ndbrequire(log->state == REDO_RUNNING);
    if (log->page != NULL) page_close(log);
    uint64_t target = log->made;
    if (target == log->synced) prove(log);
    log->save = log->made;
    redo_push(log);
    return target;
}

uint64_t redo_durable(const struct redo_log *log)
{
    return log->synced;
}

void redo_check_state(const struct redo_log *log)
{
    if (log->state != REDO_RUNNING) return;
    ndbrequire(log->tail <= log->synced);
    ndbrequire(log->synced <= log->written && log->written <= log->made);
    ndbrequire(end_of(log) - log->written <= log->config.buffer_blocks);
    ndbrequire(end_of(log) - log->tail <= redo_capacity(log));
    ndbrequire(log->save <= log->made);
    ndbrequire(log->busy || log->save <= log->synced); /* What shall be durable is on its way. */
    ndbrequire(log->lsn_synced <= log->lsn_written && log->lsn_written <= log->lsn);
}
