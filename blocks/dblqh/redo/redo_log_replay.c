/* redo_log_replay.c -- a restart's way through the log: from the oldest page needed to the last one
 * that continues it. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the log ends is where the next page is not there: lost, torn, or of an earlier lap. That is
 * the normal end after a crash, for what was not synced. It is damage when the page is known to
 * have been durable: a page behind it says so (each names the last durable page of its time), or
 * the caller knows its number. So what follows in this file and the next is looked at, and the
 * first page of every file.
 *
 * The last pages may be there for the system's memory alone: once a write or sync has failed, what
 * is read is not what the disk has, and no later sync brings it there. So the log goes on behind
 * the last page that is known to be durable; the others hold nothing that happened.
 */
#include "blocks/dblqh/redo/redo_log.h"

#define CHUNK_BLOCKS 256u
#define STEP_RECORDS 64u

static uint64_t min64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void damaged(struct redo_log *log, enum redo_fault fault, uint64_t position, uint32_t error)
{
    const struct redo_damage damage = {.fault = fault,
                                       .file = redo_file_at(log, position),
                                       .block = redo_block_at(log, position),
                                       .error = error,
                                       .stray = true}; /* All first pages are the node's own. */
    jam_data(fault);
    log->io->damaged(log->context, &damage);
}

/* --- Where to begin. --- */

static void sure_up_to(struct redo_log *log, uint64_t lsn)
{
    if (lsn > log->sure) log->sure = lsn;
}

static void head_read(struct redo_log *log)
{
    uint32_t blocks = (uint32_t)min64(REDO_PAGE_BLOCKS, log->config.file_blocks);
    log->busy = true;
    log->io->read(log->context, log->file_next, 0, log->config.buffer, blocks);
}

void redo_replay(struct redo_log *log, const struct redo_replay *replay)
{
    ndbrequire(log->state == REDO_OPENED);
    ndbrequire(replay->ended_count <= REDO_ENDED_MAX);
    log->replay = *replay;
    log->state = REDO_HEADS;
    log->file_next = 0;
    redo_reader_init(&log->reader);
    head_read(log);
}

static void chunk_read(struct redo_log *log, uint64_t from)
{
    uint64_t blocks = min64(CHUNK_BLOCKS, log->config.buffer_blocks);
    blocks = min64(blocks, log->config.file_blocks - redo_block_at(log, from));
    blocks = min64(blocks, log->tail + redo_capacity(log) - from);
    ndbrequire(blocks > 0);
    log->chunk = from;
    log->chunk_end = from + blocks;
    log->busy = true;
    log->io->read(log->context, redo_file_at(log, from), redo_block_at(log, from),
                  log->config.buffer, (uint32_t)blocks);
}

static uint32_t newest_file(const struct redo_log *log)
{
    uint32_t newest = 0;
    for (uint32_t file = 1; file < log->config.files; file++) {
        if (log->file[file].lsn > log->file[newest].lsn) newest = file;
    }
    return newest;
}

/* Number of files before `start` that are kept. What is wrong with them does not matter now. */
static uint32_t files_kept(const struct redo_log *log, uint32_t newest, uint32_t start)
{
    uint32_t files = log->config.files;
    uint32_t kept = 0;
    if (!log->replay.keeps) return 0;
    while (log->file[start].prev != 0 && log->file[start].gci_before >= log->replay.keep_gci) {
        uint32_t before = (start + files - 1u) % files;
        if (before == newest || log->file[before].lsn == 0 ||
            log->file[before].lsn >= log->file[start].lsn)
            break;
        start = before;
        kept++;
    }
    return kept;
}

static struct redo_file file_of(const struct redo_page_head *first)
{
    return (struct redo_file){.lsn = redo_lsn(first),
                              .gci_before = first->gci_before,
                              .prev = first->prev_lo | (uint64_t)first->prev_hi << 32,
                              .synced = redo_synced(first)};
}

static void seen(struct redo_log *log, const struct redo_page_head *head)
{
    if (redo_lsn(head) > log->lsn_seen) log->lsn_seen = redo_lsn(head);
}

/* The lsn before the first page of the log that must be here. */
static uint64_t life_base(const struct redo_log *log, uint32_t newest)
{
    if (log->replay.lsn_known != 0) return redo_lsn_base(log->replay.lsn_known);
    if (log->file[newest].lsn != 0) return redo_lsn_base(log->file[newest].lsn);
    return (uint64_t)log->config.life << REDO_LSN_PAGE_BITS; /* Nothing was ever logged. */
}

/* False: a file is of another life of the node. */
static bool one_life(struct redo_log *log, uint64_t base)
{
    for (uint32_t file = 0; file < log->config.files; file++) {
        if (log->file[file].lsn == 0 || redo_lsn_base(log->file[file].lsn) == base) continue;
        damaged(log, REDO_OTHER_LIFE, (uint64_t)file * log->config.file_blocks, 0);
        return false;
    }
    return true;
}

/* The newest file before which no record is needed. */
static void start_choose(struct redo_log *log)
{
    uint32_t files = log->config.files;
    uint32_t newest = newest_file(log);
    uint32_t start = newest;
    uint64_t base = life_base(log, newest);
    if (!one_life(log, base)) return;
    log->chain = (struct redo_chain){.lsn = base};
    sure_up_to(log, base);
    while (log->file[start].prev != 0 && log->file[start].gci_before >= log->replay.start_gci) {
        uint32_t before = (start + files - 1u) % files;
        if (log->file[before].lsn == 0 || log->file[before].lsn >= log->file[start].lsn) {
            damaged(log, REDO_LOST_START, (uint64_t)before * log->config.file_blocks, 0);
            return;
        }
        start = before;
    }
    if (log->file[start].lsn > 0) {
        jam();
        log->chain.lsn = log->file[start].synced;
        log->chain.check = log->file[start].prev;
        log->gci_max = log->file[start].gci_before;
    } else {
        start = 0; /* Nothing was ever written; or the only page is damaged, which shows. */
    }
    uint32_t kept = files_kept(log, newest, start);
    uint32_t tail = (start + files - kept) % files;
    log->tail = (uint64_t)tail * log->config.file_blocks;
    log->at = log->page_at = log->tail + (uint64_t)kept * log->config.file_blocks;
    log->end_estimate = ((newest + files - tail) % files + 1u) * log->config.file_blocks;
    log->state = REDO_READING;
    chunk_read(log, log->at);
}

/* A good page that cannot be here without a file being a foreign one. */
static bool foreign(enum redo_fault fault)
{
    return fault >= REDO_OTHER_CLUSTER && fault <= REDO_OTHER_PLACE;
}

static void head_done(struct redo_log *log)
{
    const struct redo_page_head *head =
        (const struct redo_page_head *)(const void *)log->config.buffer;
    uint64_t position = (uint64_t)log->file_next * log->config.file_blocks;
    const struct redo_place place = redo_place_at(log, position);
    uint32_t words = (uint32_t)min64(REDO_PAGE_BLOCKS, log->config.file_blocks) * REDO_BLOCK_WORDS;
    enum redo_fault fault = redo_page_verify(log->config.buffer, words, &place);
    if (fault == REDO_OTHER_VERSION) {
        const struct redo_damage damage = {
            .fault = fault, .file = log->file_next, .version = head->version};
        jam_data(head->version);
        log->io->damaged(log->context, &damage);
        return;
    }
    if (foreign(fault) && log->wrong.fault == REDO_GOOD) {
        jam_data(fault);
        log->wrong = (struct redo_damage){.fault = fault,
                                          .file = log->file_next,
                                          .files = head->files,
                                          .file_blocks = head->file_blocks};
    }
    log->file[log->file_next] = (struct redo_file){.lsn = 0};
    if (fault == REDO_GOOD) log->file[log->file_next] = file_of(head);
    if (++log->file_next < log->config.files) {
        head_read(log);
        return;
    }
    if (log->wrong.fault == REDO_GOOD) {
        start_choose(log);
        return;
    }
    log->wrong.stray = log->file[newest_file(log)].lsn != 0;
    log->io->damaged(log->context, &log->wrong);
}

/* --- Records. --- */

static bool happened(const struct redo_log *log, const struct redo_record *record)
{
    const struct redo_replay *replay = &log->replay;
    if (record->gci_hi > replay->restart_gci) return false;
    for (uint32_t i = 0; i < replay->ended_count; i++) {
        if (replay->ended[i].incarnation >= log->chain.incarnation)
            return record->gci_hi <= replay->ended[i].gci;
    }
    return true;
}

/* More starts lie behind than are remembered: what its incarnation lost is not known any more. */
static bool forgotten(const struct redo_log *log, const struct redo_record *record)
{
    const struct redo_replay *replay = &log->replay;
    return replay->ended_count == REDO_ENDED_MAX &&
           log->chain.incarnation < replay->ended[0].incarnation &&
           record->gci_hi >= replay->start_gci && record->gci_hi <= replay->restart_gci;
}

/* A GCI begins only when the one before the last is durable, so no incarnation has gone further. */
static bool ahead(const struct redo_log *log, const struct redo_record *record)
{
    const struct redo_replay *replay = &log->replay;
    return replay->gci_ahead != 0 && record->gci_hi > replay->restart_gci &&
           record->gci_hi - replay->restart_gci > replay->gci_ahead;
}

/* False: the log is damaged, and nothing may be done any more. */
static bool record_take(struct redo_log *log, const struct redo_record *record)
{
    bool too_new = ahead(log, record);
    if (too_new || forgotten(log, record)) {
        damaged(log, too_new ? REDO_AHEAD : REDO_FORGOTTEN, log->page_at, 0);
        return false;
    }
    bool counts = happened(log, record); /* Its GCI is durable, and so is its last page. */
    if (counts) sure_up_to(log, log->chain.lsn);
    if (record->gci_hi < log->replay.start_gci || !counts) {
        log->skipped++;
        return true;
    }
    uint32_t error = log->io->apply(log->context, record);
    if (error != 0) {
        damaged(log, REDO_BAD_RECORD, log->page_at, error);
        return false;
    }
    log->applied++;
    return true;
}

static void join(struct redo_log *log)
{
    log->made = log->written = log->synced = log->save = log->at;
    log->lsn_written = log->lsn_synced = log->chain.lsn;
    /* A page that is left out may stay where the next one is written: a write that is lost must not
     * be taken for done because the page in its place has its number. */
    log->lsn = log->lsn_seen > log->chain.lsn ? log->lsn_seen : log->chain.lsn;
    log->check = log->chain.check;
    log->incarnation = log->replay.incarnation;
    log->proved = false;
    log->state = REDO_JOINING;
    /* All of it is durable by what others say; the file system is the one to know. */
    log->busy = true;
    log->io->sync(log->context, redo_file_at(log, log->at > log->tail ? log->at - 1u : log->at));
}

/*
 * The log is looked at up to the end of the next file: a later one is begun only when the one
 * before is durable, so its first page, which has been looked at, would be there.
 */
static uint64_t look_end(const struct redo_log *log)
{
    uint64_t end = (log->at / log->config.file_blocks + 2u) * log->config.file_blocks;
    return min64(end, log->tail + redo_capacity(log));
}

static bool later_file_begun(const struct redo_log *log)
{
    for (uint32_t file = 0; file < log->config.files; file++) {
        if (log->file[file].lsn > log->chain.lsn) return true;
    }
    return false;
}

/* Finds the end of the last page that is known to be durable, in the file that was begun last. */
static void cut_step(struct redo_log *log)
{
    while (log->chain.lsn < log->sure) {
        const uint32_t *page = log->config.buffer + (log->at - log->chunk) * REDO_BLOCK_WORDS;
        const struct redo_page_head *head = (const struct redo_page_head *)(const void *)page;
        const struct redo_place place = redo_place_at(log, log->at);
        enum redo_fault fault = REDO_CUT;
        if (log->at < log->chunk_end)
            fault = redo_page_verify(page, (uint32_t)(log->chunk_end - log->at) * REDO_BLOCK_WORDS,
                                     &place);
        if (fault == REDO_CUT && log->at != log->chunk) {
            jam();
            chunk_read(log, log->at);
            return;
        }
        if (fault == REDO_GOOD && !redo_chain_next(&log->chain, head)) fault = REDO_NOT_NEXT;
        if (fault != REDO_GOOD) {
            damaged(log, fault, log->at, 0); /* It was good a moment ago. */
            return;
        }
        log->gci_max = head->gci_max;
        log->at += redo_blocks(head->words);
    }
    join(log);
}

static void cut(struct redo_log *log)
{
    const struct redo_file *file = &log->file[redo_file_at(log, log->page_at)];
    jam();
    log->state = REDO_CUTTING;
    /* Numbers of pages that were left out are missing: where nothing in this file is sure, what is
     * names the page before it. */
    log->chain = (struct redo_chain){.lsn = min64(log->sure, file->lsn - 1u), .check = file->prev};
    log->gci_max = file->gci_before;
    log->at = log->page_at - redo_block_at(log, log->page_at);
    ndbrequire(log->chain.lsn <= log->sure);
    if (log->chain.lsn == log->sure)
        join(log);
    else
        chunk_read(log, log->at);
}

static void look_on(struct redo_log *log)
{
    if (log->look >= look_end(log)) {
        if (log->sure < log->chain.lsn)
            cut(log);
        else
            join(log);
        return;
    }
    log->state = REDO_LOOKING;
    chunk_read(log, log->look);
}

/* It is known which page was the last one when all of the restart's GCI was durable. */
static bool end_known(const struct redo_log *log)
{
    return log->replay.lsn_known != 0 && !log->replay.lsn_older;
}

/*
 * A record that counts is cut off. Where the caller knows which page was the last one when all of
 * the restart's GCI was durable, the whole of each of its records is in front of that. What is cut
 * off behind it, or by it, was never finished: a node that came back went on there, into GCIs that
 * count now, and has logged nothing since.
 */
static bool record_cut(const struct redo_log *log)
{
    struct redo_record record;
    return !end_known(log) && redo_reader_unfinished(&log->reader, &record) &&
           happened(log, &record);
}

static void log_ends(struct redo_log *log, enum redo_fault fault)
{
    jam_data(fault);
    log->end_fault = fault;
    if (record_cut(log) || log->replay.lsn_known > log->chain.lsn || later_file_begun(log)) {
        damaged(log, fault, log->at, 0);
        return;
    }
    sure_up_to(log, log->replay.lsn_known);
    log->look = log->at;
    look_on(log);
}

/* All pages of the chunk have been taken. */
static void chunk_done(struct redo_log *log)
{
    log->io->progress(log->context,
                      (uint32_t)min64((log->at - log->tail) * 100u / log->end_estimate, 99u));
    if (log->at == log->tail + redo_capacity(log)) {
        log_ends(log, REDO_NOT_NEXT); /* The whole ring is in use. */
        return;
    }
    log->state = REDO_READING;
    chunk_read(log, log->at);
}

/* What the head of a page that was taken says of the log. `before` is the number of the page that
 * was taken before it. */
static void head_take(struct redo_log *log, const struct redo_page_head *head, uint32_t file,
                      uint64_t before)
{
    sure_up_to(log, redo_synced(head));
    if (redo_block_at(log, log->at) == 0) {
        sure_up_to(log, before); /* The file before was left with a sync. */
        log->file[file] = file_of(head);
    }
    seen(log, head);
    log->gci_max = head->gci_max;
    log->page_at = log->at;
    log->at += redo_blocks(head->words);
    log->page_open = true;
}

/* Takes the page at `at`. False when there is nothing more to be done in this step. */
static bool page_take(struct redo_log *log)
{
    if (log->at == log->chunk_end) {
        chunk_done(log);
        return false;
    }
    const uint32_t *page = log->config.buffer + (size_t)(log->at - log->chunk) * REDO_BLOCK_WORDS;
    const struct redo_page_head *head = (const struct redo_page_head *)(const void *)page;
    const struct redo_place place = redo_place_at(log, log->at);
    uint64_t before = log->chain.lsn;
    enum redo_fault fault =
        redo_page_verify(page, (uint32_t)(log->chunk_end - log->at) * REDO_BLOCK_WORDS, &place);
    if (fault == REDO_CUT && redo_block_at(log, log->chunk_end) != 0 && log->at > log->chunk) {
        log->state = REDO_READING;
        chunk_read(log, log->at);
        return false;
    }
    if (fault == REDO_GOOD && !redo_chain_next(&log->chain, head)) fault = REDO_NOT_NEXT;
    if (fault != REDO_GOOD) {
        log_ends(log, fault);
        return false;
    }
    if (head->incarnation > log->replay.incarnation ||
        (head->incarnation == log->replay.incarnation && !log->replay.running)) {
        damaged(log, REDO_NOT_NEXT, log->at,
                0); /* Written by a start that the system files know nothing of. */
        return false;
    }
    if (!redo_reader_page(&log->reader, page)) {
        damaged(log, REDO_BAD_RECORD, log->at, 0);
        return false;
    }
    head_take(log, head, place.file, before);
    return true;
}

void redo_step(struct redo_log *log)
{
    ndbrequire(log->state == REDO_APPLYING);
    for (uint32_t i = 0; i < STEP_RECORDS; i++) {
        struct redo_record record;
        if (!log->page_open && !page_take(log)) return;
        int more = redo_reader_next(&log->reader, &record);
        if (more < 0) {
            damaged(log, REDO_BAD_RECORD, log->page_at, 0);
            return;
        }
        if (more == 0)
            log->page_open = false;
        else if (!record_take(log, &record))
            return;
    }
    log->io->again(log->context);
}

/* --- Behind the end. --- */

/* The good page of a later number there, or NULL. */
static const struct redo_page_head *later_page(const struct redo_log *log, uint64_t position)
{
    const uint32_t *page = log->config.buffer + (size_t)(position - log->chunk) * REDO_BLOCK_WORDS;
    const struct redo_page_head *head = (const struct redo_page_head *)(const void *)page;
    const struct redo_place place = redo_place_at(log, position);
    uint32_t words = (uint32_t)(log->chunk_end - position) * REDO_BLOCK_WORDS;
    if (head->magic != REDO_MAGIC || redo_lsn(head) <= log->chain.lsn) return NULL;
    return redo_page_verify(page, words, &place) == REDO_GOOD ? head : NULL;
}

static void look_done(struct redo_log *log)
{
    for (uint64_t position = log->chunk; position < log->chunk_end; position++) {
        const struct redo_page_head *head = later_page(log, position);
        if (head == NULL) continue;
        seen(log, head);
        /* No file was begun before the one before it was durable to its end. But a page that was
         * left out by a former restart may stand there still, and the write over the one before it
         * was lost: so this counts only where it is not known what must be there. */
        bool later_file =
            !end_known(log) && redo_file_at(log, position) != redo_file_at(log, log->at);
        if (later_file || redo_synced(head) > log->chain.lsn) {
            damaged(log, log->end_fault, log->at, 0);
            return;
        }
        sure_up_to(log, redo_synced(head));
    }
    /* A page that reaches over the chunk's end is seen whole in the next one. */
    bool file_end = redo_block_at(log, log->chunk_end) == 0;
    uint64_t blocks = log->chunk_end - log->chunk;
    log->look = file_end || blocks <= REDO_PAGE_BLOCKS ? log->chunk_end
                                                       : log->chunk_end - (REDO_PAGE_BLOCKS - 1u);
    if (log->chunk_end == look_end(log)) log->look = log->chunk_end;
    look_on(log);
}

void redo_replay_done(struct redo_log *log)
{
    switch (log->state) {
    case REDO_HEADS:
        head_done(log);
        return;
    case REDO_READING:
        log->state = REDO_APPLYING;
        redo_step(log);
        return;
    case REDO_LOOKING:
        look_done(log);
        return;
    case REDO_CUTTING:
        cut_step(log);
        return;
    case REDO_JOINING:
        jam();
        log->state = REDO_RUNNING;
        log->io->progress(log->context, 100);
        log->io->replayed(log->context);
        return;
    case REDO_CLOSED:
    case REDO_OPENING:
    case REDO_ASKING:
    case REDO_OPENED:
    case REDO_APPLYING:
    case REDO_RUNNING:
        break;
    }
    ndbrequire(false); /* redo_done() knows the states. */
}
