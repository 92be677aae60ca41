/* test_redo_log.c -- a tiny redo log on a disk that loses, tears and garbles what was not synced:
 * nothing saved is lost. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "blocks/dblqh/redo/redo_log.h"
#include "kernel/base/rng.h"

#define LIFE          5u
#define FILES         4u
#define FILE_BLOCKS   (w->file_blocks) /* Blocks of a file: 16, or more. */
#define BLOCKS_MAX    40u
#define BUFFER_BLOCKS 32u
#define FILE_BYTES    (FILE_BLOCKS * REDO_BLOCK_BYTES)
#define BYTES_MAX     (BLOCKS_MAX * REDO_BLOCK_BYTES)
#define WRITES_MAX    64u
#define ENTRIES_MAX   200000u
#define SECTOR        512u

enum fate { KEPT, LOST, TORN, GARBAGE, FATES };
enum request { NONE, OPEN, READ, WRITE, SYNC };

struct unsynced {
    bool given_up; /* A sync of it failed: it is read, but the disk will never have it. */
    uint32_t file;
    uint32_t offset;
    uint32_t size;
    uint8_t bytes[BYTES_MAX];
};

struct entry {
    uint32_t gci;
    uint32_t incarnation;
    uint32_t row;
    uint32_t words;
};

static struct world {
    uint8_t disk[FILES][BYTES_MAX];
    struct unsynced writes[WRITES_MAX];
    uint32_t write_count;
    /* The request under way. */
    enum request request;
    uint32_t file;
    uint32_t block;
    uint32_t blocks;
    uint32_t *to;
    const uint32_t *from;
    bool sync;
    uint32_t operations; /* Requests answered so far: crash points. */
    /* The log's life. */
    struct redo_log log;
    bool opened;
    bool again;
    bool replayed;
    bool damaged;
    struct redo_damage damage;
    /* The model. */
    struct entry entries[ENTRIES_MAX];
    uint32_t count;
    uint32_t first;     /* Entries before this are older than the tail. */
    uint32_t expect;    /* Replay: next entry that must come. */
    uint32_t gci;       /* Current. */
    uint32_t saved;     /* Declared durable. */
    uint64_t saved_lsn; /* The log's last durable page then; a system file has both. */
    bool tells_lsn;     /* The replay is told saved_lsn, as the system file has it. */
    bool tells_older;   /* The replay is told older_lsn, as the system file before it has it. */
    uint64_t older_lsn;
    uint32_t start;  /* Checkpoints' start GCI. */
    uint32_t told;   /* The log knows that it may forget older ones. */
    uint32_t saving; /* GCI of the save under way, 0 = none. */
    uint64_t target;
    uint64_t target_lsn; /* The page that ends there; 0 = it was durable before. */
    uint32_t incarnation;
    uint32_t file_blocks;
    uint32_t large_one_in; /* So many records one is long. */
    struct redo_replay replay;
} * w;

static uint32_t buffer[BUFFER_BLOCKS * REDO_BLOCK_WORDS];
static struct rng rng;

/* --- The disk. --- */

static void io_open(void *context, uint32_t file, bool create)
{
    (void)context;
    w->request = OPEN;
    w->file = file;
    if (create) memset(w->disk[file], 0, FILE_BYTES);
}

static void io_read(void *context, uint32_t file, uint32_t block, uint32_t *to, uint32_t blocks)
{
    (void)context;
    assert_int_equal(w->request, NONE);
    assert_true(block + blocks <= FILE_BLOCKS && file < FILES);
    w->request = READ;
    w->file = file;
    w->block = block;
    w->to = to;
    w->blocks = blocks;
}

static void io_write(void *context, uint32_t file, uint32_t block, const uint32_t *from,
                     uint32_t blocks, bool sync)
{
    (void)context;
    assert_int_equal(w->request, NONE);
    assert_true(block + blocks <= FILE_BLOCKS && file < FILES);
    w->request = WRITE;
    w->file = file;
    w->block = block;
    w->from = from;
    w->blocks = blocks;
    w->sync = sync;
}

static void io_sync(void *context, uint32_t file)
{
    (void)context;
    assert_int_equal(w->request, NONE);
    w->request = SYNC;
    w->file = file;
}

/* What is read there is from now on what has been written over it. */
static void disk_cover(uint32_t before, const struct unsynced *by)
{
    for (uint32_t i = 0; i < before; i++) {
        struct unsynced *write = &w->writes[i];
        for (uint32_t at = 0; at < by->size && write->file == by->file; at += SECTOR) {
            uint32_t inside = by->offset + at - write->offset;
            if (inside < write->size) memcpy(write->bytes + inside, by->bytes + at, SECTOR);
        }
    }
}

static void disk_sync(uint32_t file)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->write_count; i++) {
        struct unsynced *write = &w->writes[i];
        if (write->file == file && !write->given_up) {
            memcpy(w->disk[file] + write->offset, write->bytes, write->size);
            disk_cover(kept, write);
        } else if (kept++ != i) {
            w->writes[kept - 1u] = *write;
        }
    }
    w->write_count = kept;
}

/* The request under way fails. The disk has some of what was written to the file, and the system
 * believes from now on that it has all. The node stops. */
static void disk_fail(void)
{
    enum request request = w->request;
    w->request = NONE;
    if (request == WRITE) {
        assert_true(w->write_count < WRITES_MAX);
        struct unsynced *write = &w->writes[w->write_count++];
        *write = (struct unsynced){.file = w->file, .offset = w->block * REDO_BLOCK_BYTES};
        write->size = (uint32_t)rng_below(&rng, w->blocks + 1u) * REDO_BLOCK_BYTES;
        memcpy(write->bytes, w->from, write->size);
    }
    for (uint32_t i = 0; i < w->write_count && request != NONE; i++) {
        struct unsynced *write = &w->writes[i];
        if (write->file != w->file || write->given_up) continue;
        for (uint32_t at = 0; at < write->size; at += SECTOR) {
            if (rng_below(&rng, 2) != 0)
                memcpy(w->disk[write->file] + write->offset + at, write->bytes + at, SECTOR);
        }
        write->given_up = true;
    }
}

static void disk_read(void)
{
    uint32_t offset = w->block * REDO_BLOCK_BYTES;
    uint32_t size = w->blocks * REDO_BLOCK_BYTES;
    static uint8_t image[BYTES_MAX];
    memcpy(image, w->disk[w->file], FILE_BYTES);
    for (uint32_t i = 0; i < w->write_count; i++) {
        if (w->writes[i].file == w->file)
            memcpy(image + w->writes[i].offset, w->writes[i].bytes, w->writes[i].size);
    }
    memcpy(w->to, image + offset, size);
}

/* Answers the request under way. */
static void disk_answer(void)
{
    enum request request = w->request;
    if (request == NONE) return;
    w->request = NONE;
    w->operations++;
    if (request == READ) disk_read();
    if (request == WRITE) {
        assert_true(w->write_count < WRITES_MAX);
        struct unsynced *write = &w->writes[w->write_count++];
        write->given_up = false;
        write->file = w->file;
        write->offset = w->block * REDO_BLOCK_BYTES;
        write->size = w->blocks * REDO_BLOCK_BYTES;
        memcpy(write->bytes, w->from, write->size);
    }
    if (request == SYNC || (request == WRITE && w->sync)) disk_sync(w->file);
    redo_done(&w->log, request == OPEN ? FILE_BLOCKS : 0);
}

/* The power fails: each unsynced write, also the one under way, meets a fate of `fates` or one at
 * random. */
static void disk_crash(uint32_t fates, bool enumerated)
{
    if (w->request == WRITE && w->write_count < WRITES_MAX) {
        struct unsynced *write = &w->writes[w->write_count++];
        write->given_up = false;
        write->file = w->file;
        write->offset = w->block * REDO_BLOCK_BYTES;
        write->size = w->blocks * REDO_BLOCK_BYTES;
        memcpy(write->bytes, w->from, write->size);
    }
    for (uint32_t i = 0; i < w->write_count; i++) {
        const struct unsynced *write = &w->writes[i];
        if (write->given_up) continue;
        for (uint32_t at = 0, fate = (uint32_t)rng_below(&rng, FATES); at < write->size;
             at += SECTOR) {
            uint8_t *sector = w->disk[write->file] + write->offset + at;
            /* Blocks of one long write are independent, too. */
            if (at % REDO_BLOCK_BYTES == 0 && rng_below(&rng, 4) == 0)
                fate = (uint32_t)rng_below(&rng, FATES);
            if (enumerated) fate = fates >> 2u * (i % 16u) & 3u;
            if (fate == KEPT || (fate == TORN && rng_below(&rng, 2) != 0))
                memcpy(sector, write->bytes + at, SECTOR);
            else if (fate == GARBAGE)
                for (uint32_t b = 0; b < SECTOR; b++)
                    sector[b] = (uint8_t)rng_next(&rng);
        }
    }
    w->write_count = 0;
    w->request = NONE;
}

/* --- Reports. --- */

static void io_opened(void *context)
{
    (void)context;
    w->opened = true;
}

static void io_progress(void *context, uint32_t percent)
{
    (void)context;
    assert_true(percent <= 100);
}

static uint32_t row_word(uint32_t row, uint32_t at)
{
    return row * 2654435761u + at;
}

static uint32_t apply(void *context, const struct redo_record *record)
{
    (void)context;
    while (w->expect < w->count && w->entries[w->expect].gci < w->start)
        w->expect++;
    assert_true(w->expect < w->count);
    const struct entry *entry = &w->entries[w->expect++];
    assert_int_equal(record->row, entry->row);
    assert_int_equal(record->gci_hi, entry->gci);
    assert_int_equal(record->pair_words, entry->words);
    for (uint32_t at = 0; at < entry->words; at += 2)
        assert_int_equal(record->pairs[at + 1], row_word(entry->row, at));
    return 0;
}

static void io_again(void *context)
{
    (void)context;
    w->again = true;
}

static void io_replayed(void *context)
{
    (void)context;
    w->replayed = true;
}

static void io_synced(void *context)
{
    (void)context;
    if (w->saving != 0 && redo_durable(&w->log) >= w->target) {
        w->saved = w->saving;
        w->older_lsn = w->saved_lsn;
        w->saved_lsn = w->log.lsn_synced;
        assert_true(w->saved_lsn >= w->target_lsn);
        w->saving = 0;
    }
}

static void io_damaged(void *context, const struct redo_damage *damage)
{
    (void)context;
    w->damaged = true;
    w->damage = *damage;
}

static const struct redo_io io = {io_open, io_read,  io_write,    io_sync,   io_opened, io_progress,
                                  apply,   io_again, io_replayed, io_synced, io_damaged};

/* --- Life. --- */

static void log_init(void)
{
    const struct redo_config config = {.cluster = 77,
                                       .node = 2,
                                       .part = 1,
                                       .files = FILES,
                                       .file_blocks = FILE_BLOCKS,
                                       .buffer = buffer,
                                       .buffer_blocks = BUFFER_BLOCKS,
                                       .life = LIFE};
    redo_init(&w->log, &config, &io, NULL);
    w->opened = w->again = w->replayed = w->damaged = false;
    w->request = NONE;
    w->saving = 0;
}

static void settle(void)
{
    while (!w->damaged && (w->request != NONE || w->again)) {
        if (w->again) {
            w->again = false;
            redo_step(&w->log);
        } else {
            disk_answer();
        }
    }
}

static void world_of(uint64_t seed, uint32_t file_blocks)
{
    if (w == NULL) w = malloc(sizeof *w);
    memset(w, 0, sizeof *w);
    w->file_blocks = file_blocks;
    rng_seed(&rng, seed);
    log_init();
    redo_open(&w->log, true);
    settle();
    assert_true(w->opened);
    w->incarnation = 1;
    w->gci = 1;
    w->large_one_in = 20;
    redo_begin(&w->log, 1);
}

static void world_begin(uint64_t seed)
{
    world_of(seed, 16);
}

static bool append(void)
{
    static uint32_t pairs[REDO_RECORD_WORDS_MAX];
    uint32_t words = rng_below(&rng, w->large_one_in) == 0 ? (uint32_t)rng_below(&rng, 3000) * 2u
                                                           : (uint32_t)rng_below(&rng, 60) * 2u;
    uint32_t row = w->count;
    if (redo_room(&w->log, words + REDO_RECORD_HEAD) >= REDO_WAIT || w->count == ENTRIES_MAX)
        return false;
    for (uint32_t at = 0; at < words; at += 2) {
        pairs[at] = 4;
        pairs[at + 1] = row_word(row, at);
    }
    const struct redo_record record = {.kind = REDO_UPDATE,
                                       .table_id = 3,
                                       .fragment_id = 1,
                                       .version = 1,
                                       .row = row,
                                       .gci_hi = w->gci,
                                       .pair_words = words,
                                       .pairs = pairs};
    redo_reserve(&w->log, words + REDO_RECORD_HEAD);
    assert_true(redo_append(&w->log, &record));
    redo_release(&w->log, words + REDO_RECORD_HEAD);
    w->entries[w->count++] =
        (struct entry){.gci = w->gci, .incarnation = w->incarnation, .row = row, .words = words};
    return true;
}

static void save(void)
{
    if (w->saving != 0) return;
    uint32_t gci = w->gci++;
    w->target = redo_save(&w->log);
    w->target_lsn = w->target > redo_durable(&w->log) ? w->log.lsn : 0;
    w->saving = gci;
    if (redo_durable(&w->log) >= w->target) io_synced(NULL);
}

static void live(void)
{
    switch (rng_below(&rng, 10)) {
    case 0:
    case 1:
        save();
        break;
    case 2:
        /* Checkpoints have come up to somewhere. */
        if (w->saved > w->start && rng_below(&rng, 2) == 0) {
            w->start += (uint32_t)rng_below(&rng, w->saved - w->start + 1u);
            redo_tail(&w->log, w->told = w->start);
        }
        break;
    case 3:
    case 4:
    case 5:
        disk_answer();
        break;
    default:
        append();
        break;
    }
    redo_check_state(&w->log);
}

/* How the cluster's incarnation before this start has ended. */
static void incarnation_ended(struct redo_replay *replay)
{
    if (replay->ended_count == REDO_ENDED_MAX) {
        memmove(replay->ended, replay->ended + 1, sizeof replay->ended - sizeof replay->ended[0]);
        replay->ended_count--;
    }
    replay->ended[replay->ended_count++] =
        (struct redo_ended){.incarnation = w->incarnation++, .gci = w->saved};
}

/* The node starts again from what the disk has, with the cluster or, `running`, into one that has
 * gone on without it. Returns false when the log is reported as damaged. */
static bool start_again(bool running)
{
    if (w->saved < w->start) w->start = w->saved; /* No checkpoint yet: from the beginning. */
    log_init();
    redo_open(&w->log, false);
    settle();
    /* What was not saved never happened. */
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        if (w->entries[i].gci <= w->saved) w->entries[kept++] = w->entries[i];
    }
    w->count = kept;
    w->expect = 0;
    struct redo_replay *replay = &w->replay;
    if (!running) incarnation_ended(replay);
    replay->running = running;
    replay->start_gci = w->start;
    replay->keep_gci = w->told;
    replay->keeps = true;
    replay->restart_gci = w->saved;
    if (w->tells_lsn) replay->lsn_known = w->saved_lsn;
    if (w->tells_older) replay->lsn_known = w->older_lsn;
    replay->lsn_older = replay->lsn_older || w->tells_older;
    replay->incarnation = w->incarnation;
    redo_replay(&w->log, replay);
    settle();
    if (w->damaged) return false;
    assert_true(w->replayed);
    while (w->expect < w->count && w->entries[w->expect].gci < w->start)
        w->expect++;
    assert_int_equal(w->expect, w->count); /* All of it has come. */
    w->gci = w->saved + 1u;
    redo_check_state(&w->log);
    return true;
}

static bool restart(void)
{
    return start_again(false);
}

static void test_crashes(void **state)
{
    (void)state;
    uint64_t laps = 0;
    for (uint32_t seed = 0; seed < 60; seed++) {
        world_begin(seed);
        w->tells_older = seed % 2u != 0;
        for (uint32_t round = 0; round < 40; round++) {
            for (uint32_t n = (uint32_t)rng_below(&rng, 400); n > 0; n--)
                live();
            disk_crash(0, false);
            if (!restart())
                fail_msg("seed %u round %u: %s in file %u block %u", seed, round,
                         redo_fault_name(w->damage.fault), w->damage.file, w->damage.block);
            if (rng_below(&rng, 5) == 0) { /* Again at once, or in the middle of the restart. */
                disk_crash(0, false);
                assert_true(restart());
            }
        }
        laps += w->log.lsn;
    }
    assert_true(laps > 60u * FILES * FILE_BLOCKS);
}

/*
 * A node that was lost comes back into the same incarnation, again and again: its log goes on
 * behind what is durable, perhaps in the middle of a record. The rows that it missed it gets from
 * others, and a checkpoint has all of it; what a later restart finds in front of that does not
 * count, and must not be taken for damage.
 */
static void test_comebacks(void **state)
{
    (void)state;
    uint32_t comebacks = 0;
    uint32_t quiet_comebacks = 0;
    for (uint32_t seed = 0; seed < 300; seed++) {
        world_of(seed, BLOCKS_MAX);
        w->large_one_in = 2;
        w->tells_lsn = seed % 4u != 0; /* Older versions do not. */
        for (uint32_t round = 0; round < 12; round++) {
            for (uint32_t n = (uint32_t)rng_below(&rng, 200); n > 0; n--)
                live();
            disk_crash(0, rng_below(&rng, 2) == 0); /* The node alone, or the power. */
            bool running = rng_below(&rng, 3) != 0;
            if (!start_again(running))
                fail_msg("seed %u round %u: %s in file %u block %u", seed, round,
                         redo_fault_name(w->damage.fault), w->damage.file, w->damage.block);
            if (!running) continue;
            w->gci += 2;                                          /* The others have gone on. */
            bool quiet = rng_below(&rng, 3) == 0 && w->tells_lsn; /* Else nobody knows. */
            if (!quiet && !append()) continue;
            save();
            settle();
            w->start = w->saved;
            comebacks++;
            if (!quiet) continue;
            quiet_comebacks++; /* Nothing follows what was cut off but pages that say nothing. */
            disk_crash(0, false);
            if (!restart())
                fail_msg("seed %u round %u, quiet: %s in file %u block %u", seed, round,
                         redo_fault_name(w->damage.fault), w->damage.file, w->damage.block);
        }
    }
    assert_true(comebacks > 1000);
    assert_true(quiet_comebacks > 300);
}

/* A write or sync fails, which stops the node; its next life reads what the disk does not have. */
static void test_failed_writes(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 400; seed++) {
        world_begin(seed);
        for (uint32_t round = 0; round < 12; round++) {
            for (uint32_t n = (uint32_t)rng_below(&rng, 200); n > 0; n--)
                live();
            if (rng_below(&rng, 2) == 0)
                disk_fail();
            else
                disk_crash(0, false);
            if (!restart())
                fail_msg("seed %u round %u: %s in file %u block %u", seed, round,
                         redo_fault_name(w->damage.fault), w->damage.file, w->damage.block);
        }
    }
}

/* Crash upon crash, and never a checkpoint: a record of a life that is not remembered any more may
 * have been lost or not, and nobody guesses. A checkpoint behind it makes it harmless. */
static void test_more_starts_than_are_remembered(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 2; round++) {
        bool checkpointed = round == 1;
        world_begin(5);
        append();
        save();
        settle();
        for (uint32_t life = 0; life < REDO_ENDED_MAX; life++) {
            append(); /* Reaches the disk, but was never declared. */
            redo_save(&w->log);
            settle();
            disk_crash(0, true);
            assert_true(restart());
        }
        for (uint32_t i = 0; i < 2; i++) {
            append();
            save();
            settle();
        }
        w->start = checkpointed ? w->saved : 0;
        disk_crash(0, true);
        assert_int_equal(restart(), checkpointed);
        if (!checkpointed) assert_int_equal(w->damage.fault, REDO_FORGOTTEN);
    }
}

/* Whoever says that the log is needed up to a GCI says so of an earlier time. */
static void test_the_system_files_are_old(void **state)
{
    (void)state;
    for (uint32_t back = 0; back <= 4; back++) {
        world_begin(6);
        for (uint32_t i = 0; i < 8; i++) {
            append();
            save();
            settle();
        }
        w->replay.gci_ahead = 2;
        w->saved -= back;
        assert_int_equal(restart(), back <= 2);
        if (back > 2) assert_int_equal(w->damage.fault, REDO_AHEAD);
    }
}

/* A short life, stopped after each of its file operations, with all fates of up to five unsynced
 * writes. */
static void test_every_crash_point(void **state)
{
    (void)state;
    for (uint32_t point = FILES;; point++) {
        uint32_t writes = 1;
        for (uint32_t fates = 0; fates < 1u << 2u * (writes < 5u ? writes : 5u); fates++) {
            world_begin(4711);
            for (uint32_t i = 0; i < 260 && w->operations < point; i++)
                live();
            if (w->operations < point) return;
            writes = w->write_count + (w->request == WRITE);
            rng_seed(&rng, point * 1024u + fates);
            disk_crash(fates, true);
            assert_true(restart());
        }
    }
}

static void lead_a_life(uint32_t seed)
{
    world_begin(seed);
    for (uint32_t i = 0; i < 600; i++)
        live();
    while (w->saving != 0)
        disk_answer();
    settle();
    save();
    settle();
    save(); /* Finds nothing new: the proof of the last page. */
    settle();
    save();
    settle();
}

/* Any flipped bit is found, or was in nothing that is needed. */
static void test_rot(void **state)
{
    (void)state;
    uint32_t found = 0;
    static uint8_t disk[FILES][BYTES_MAX];
    for (uint32_t seed = 0; seed < 40; seed++) {
        lead_a_life(seed);
        memcpy(disk, w->disk, sizeof disk);
        const struct world *before = malloc(sizeof *before);
        memcpy((void *)(uintptr_t)before, w, sizeof *before);
        for (uint32_t round = 0; round < 60; round++) {
            uint32_t file = (uint32_t)rng_below(&rng, FILES);
            uint32_t offset = (uint32_t)rng_below(&rng, FILE_BYTES);
            if (rng_below(&rng, 3) == 0) offset &= ~(REDO_BLOCK_BYTES - 1u) | 127u; /* Heads. */
            memcpy(w, before, sizeof *w);
            rng_seed(&rng, seed * 1000u + round);
            switch (round % 4u) {
            case 0:
                w->disk[file][offset] ^= 1;
                break;
            case 1:
                memset(w->disk[file] + (offset & ~511u), 0, 512);
                break;
            case 2: /* With a whole file its proofs go: the system file knows how far the log went.
                     */
                memset(w->disk[file], 0, FILE_BYTES);
                w->replay.lsn_known = w->log.lsn_synced;
                break;
            default:
                memcpy(w->disk[file], w->disk[(file + 1u) % FILES], FILE_BYTES);
                break;
            }
            if (!restart()) {
                found++;
                assert_int_not_equal(w->damage.fault, REDO_GOOD);
            }
        }
        free((void *)(uintptr_t)before);
    }
    assert_true(found > 500);
}

/* Lives until a save is declared that was not yet durable when it began; more has been written by
 * then, which the disk may or may not have. */
static void live_until_saved(void)
{
    for (uint32_t saved = w->saved; w->saved == saved || w->saving != 0 || w->target_lsn == 0;) {
        live();
        if (w->saving != 0) append();
    }
}

/* The moment that a save is declared: all that is not synced is lost, and the last page of the save
 * rots. Nothing behind it may be there to prove that it was; what the save told does. */
static void test_the_last_page_of_a_save_rots(void **state)
{
    uint32_t at_ends = 0;
    (void)state;
    for (uint32_t seed = 0; seed < 100; seed++) {
        world_begin(seed);
        w->large_one_in = 2;
        w->tells_lsn = true;
        for (uint32_t saves = 1u + (uint32_t)rng_below(&rng, 400); saves > 0; saves--) {
            live_until_saved();
            if (w->target % FILE_BLOCKS == 0 && w->log.made > w->target) break;
        }
        at_ends += w->target % FILE_BLOCKS == 0;
        disk_crash(LOST * 0x55555555u, true);
        uint8_t *place = w->disk[redo_file_at(&w->log, w->target - 1u)] +
                         redo_block_at(&w->log, w->target - 1u) * REDO_BLOCK_BYTES;
        memset(place, 0, REDO_BLOCK_BYTES);
        if (restart()) fail_msg("seed %u: nobody misses the page", seed);
    }
    assert_true(at_ends >
                30); /* The page was a file's last one, and more was to be written behind it. */
}

static void test_foreign_files(void **state)
{
    (void)state;
    lead_a_life(1);
    w->log.config.node = 2;
    const struct redo_config config = {.cluster = 77,
                                       .node = 3,
                                       .part = 1,
                                       .files = FILES,
                                       .file_blocks = FILE_BLOCKS,
                                       .buffer = buffer,
                                       .buffer_blocks = BUFFER_BLOCKS};
    redo_init(&w->log, &config, &io, NULL);
    redo_open(&w->log, false);
    settle();
    redo_replay(&w->log, &w->replay);
    settle();
    assert_true(w->damaged);
    assert_int_equal(w->damage.fault, REDO_OTHER_NODE);
}

/* The first page of a file says that it is another node's. */
static void lend(uint32_t file)
{
    struct redo_page_head *head = (void *)w->disk[file];
    head->node = 3;
    redo_page_seal((uint32_t *)(void *)head);
}

/* One such file among the node's own has strayed there; the node's own files are no such ones. */
static void test_stray_files(void **state)
{
    (void)state;
    for (uint32_t file = 0; file <= FILES; file++) {
        lead_a_life(1);
        assert_true(w->log.lsn != 0);
        uint32_t written = 0;
        for (uint32_t i = 0; i < FILES; i++) {
            struct redo_page_head *head = (void *)w->disk[i];
            written += head->magic == REDO_MAGIC;
            if (head->magic == REDO_MAGIC && (i == file || file == FILES)) lend(i);
        }
        assert_true(written > 1);
        bool stray = file < FILES && ((struct redo_page_head *)(void *)w->disk[file])->node == 3;
        bool started = restart();
        if (!stray && file < FILES) {
            assert_true(started);
            continue;
        }
        assert_false(started);
        assert_int_equal(w->damage.fault, REDO_OTHER_NODE);
        assert_int_equal(w->damage.stray, stray);
        if (stray) assert_int_equal(w->damage.file, file);
    }
}

/* A log of the node's former life, or none where there was one, has not the page that the system
 * files know, whatever its number. */
static void test_another_life(void **state)
{
    (void)state;
    const uint64_t base = (uint64_t)LIFE << REDO_LSN_PAGE_BITS;
    const uint64_t other = (uint64_t)(LIFE - 1u) << REDO_LSN_PAGE_BITS;
    for (uint32_t written = 0; written <= 1; written++) {
        world_begin(6);
        if (written) append();
        save();
        settle();
        w->replay.lsn_known = w->log.lsn_synced;
        assert_int_equal(redo_lsn_base(w->replay.lsn_known), base);
        assert_int_equal(redo_lsn_pages(w->replay.lsn_known) > 0, written);
        assert_true(restart());
        assert_int_equal(redo_lsn_base(w->log.lsn), base);
        w->replay.lsn_known = written ? other + 1u : base + 1u;
        assert_false(restart());
        assert_int_equal(w->damage.fault, written ? REDO_OTHER_LIFE : REDO_EMPTY);
    }
}

/* It is known where the log ended with an older GCI than the restart's: up to there it has to be,
 * and goes on behind. */
static void test_an_older_end(void **state)
{
    (void)state;
    for (uint32_t rots = 0; rots <= 1; rots++) {
        world_begin(6);
        append();
        save();
        settle();
        w->replay.lsn_known = w->log.lsn_synced;
        w->replay.lsn_older = true;
        if (rots) {
            memset(w->disk[0], 0, REDO_BLOCK_BYTES);
            assert_false(restart());
            continue;
        }
        append();
        save();
        settle();
        assert_true(restart());
    }
}

/* A page that was left out is still there when the write over it goes astray: it is not taken for
 * the new one. */
static void test_a_left_out_page_stays(void **state)
{
    static uint8_t old[REDO_BLOCK_BYTES];
    (void)state;
    world_begin(6);
    append();
    save();
    settle();
    w->replay.lsn_known = w->log.lsn_synced;
    uint8_t *place = w->disk[0] + redo_block_at(&w->log, w->log.made) * REDO_BLOCK_BYTES;
    append();
    save();
    settle();
    memcpy(old, place, sizeof old);
    w->saved--; /* Not declared before all was lost. */
    assert_true(restart());
    append();
    save();
    settle();
    assert_memory_not_equal(old, place, sizeof old);
    w->replay.lsn_known = w->log.lsn_synced;
    memcpy(place, old, sizeof old);
    assert_false(restart());
}

/* The last page is on disk, but nobody was told, and all is lost: it did not happen. */
static void lose_the_last_page(void)
{
    append();
    save();
    settle();
    w->saved--;
    assert_true(restart());
}

/* Numbers of pages that were left out are missing, here of the log's very first page: what has
 * begun with another number has begun there all the same. */
static void test_the_very_first_page_is_left_out(void **state)
{
    (void)state;
    world_begin(6);
    save();
    settle();
    w->replay.lsn_known = w->log.lsn_synced;
    lose_the_last_page();
    append();
    save();
    settle();
    assert_int_equal(redo_lsn_pages(w->log.lsn_synced), 2);
    w->replay.lsn_known = w->log.lsn_synced;
    disk_crash(0, false);
    assert_true(restart());
    assert_int_equal(w->start, 0);
}

/* The first file is full, and the first page of the next one has been left out twice: the last page
 * that there is has not the number before the next one's. */
static void leave_out_the_first_of_a_file(void)
{
    world_begin(6);
    w->large_one_in = UINT32_MAX;
    while (w->log.made < FILE_BLOCKS) {
        append();
        save();
        settle();
    }
    assert_int_equal(w->log.made, FILE_BLOCKS);
    lose_the_last_page();
    lose_the_last_page();
    assert_int_equal(w->log.made, FILE_BLOCKS);
    assert_int_equal(redo_lsn_pages(w->log.lsn_synced), FILE_BLOCKS);
    assert_int_equal(redo_lsn_pages(w->log.lsn), FILE_BLOCKS + 2u);
}

/* A save that finds nothing new tells of such a log what it has. */
static void test_a_save_names_a_page_that_is_there(void **state)
{
    (void)state;
    leave_out_the_first_of_a_file();
    save();
    assert_int_equal(w->saving, 0);
    w->replay.lsn_known = w->log.lsn_synced;
    memset(w->disk[1], 0, REDO_BLOCK_BYTES);
    disk_crash(0, false);
    assert_true(restart());
}

/* and by the pages that are written next, the first of which is torn. */
static void test_pages_name_one_that_is_there(void **state)
{
    (void)state;
    leave_out_the_first_of_a_file();
    append();
    redo_save(&w->log);
    append();
    redo_save(&w->log);
    settle();
    memset(w->disk[1], 0, REDO_BLOCK_BYTES);
    w->write_count = 0;
    w->saving = 0;
    assert_true(restart());
}

/* Without checkpoints the log fills up: it says so before a commit can fail, and goes on when the
 * tail moves. */
static void test_full(void **state)
{
    (void)state;
    world_begin(3);
    uint32_t slow = 0;
    for (uint32_t i = 0; i < 3000; i++) {
        enum redo_room room = redo_room(&w->log, 5000);
        slow += room == REDO_SLOW;
        if (room == REDO_FULL && redo_room(&w->log, 100) == REDO_FULL) break;
        append();
        if (i % 7u == 0) save();
        settle();
    }
    assert_int_equal(redo_room(&w->log, 100), REDO_FULL);
    assert_true(slow > 0 && redo_fill(&w->log) >= 75u);
    uint32_t count = w->count;
    assert_false(append());
    save();
    settle();
    w->start = w->saved;
    redo_tail(&w->log, w->told = w->start);
    assert_int_equal(redo_room(&w->log, 5000), REDO_ROOM);
    assert_true(append());
    assert_int_equal(w->count, count + 1u);
    save();
    settle();
    disk_crash(0, false);
    assert_true(restart());
}

/* All is in checkpoints, but a round of them has failed, so the log was not told. A table that is
 * made after the restart has no checkpoint, and its records are looked for from the beginning on.
 */
static void test_never_told_to_forget(void **state)
{
    (void)state;
    world_begin(4);
    while (redo_fill(&w->log) < 60u) {
        append();
        save();
        settle();
    }
    w->start = w->saved;
    disk_crash(0, false);
    assert_true(restart());
    assert_true(redo_fill(&w->log) >= 60u);
    while (append()) {
        save();
        settle();
    }
    w->start = 0;
    disk_crash(0, false);
    assert_true(restart());
    assert_true(w->count > 0 && w->entries[0].gci == 1);
}

static void test_idle_log_is_quiet(void **state)
{
    (void)state;
    lead_a_life(9);
    uint64_t bytes = w->log.bytes_written;
    for (uint32_t i = 0; i < 100; i++) {
        save();
        settle();
    }
    assert_true(w->log.bytes_written == bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crashes),
        cmocka_unit_test(test_comebacks),
        cmocka_unit_test(test_every_crash_point),
        cmocka_unit_test(test_failed_writes),
        cmocka_unit_test(test_more_starts_than_are_remembered),
        cmocka_unit_test(test_the_system_files_are_old),
        cmocka_unit_test(test_rot),
        cmocka_unit_test(test_the_last_page_of_a_save_rots),
        cmocka_unit_test(test_foreign_files),
        cmocka_unit_test(test_stray_files),
        cmocka_unit_test(test_another_life),
        cmocka_unit_test(test_an_older_end),
        cmocka_unit_test(test_a_left_out_page_stays),
        cmocka_unit_test(test_the_very_first_page_is_left_out),
        cmocka_unit_test(test_a_save_names_a_page_that_is_there),
        cmocka_unit_test(test_pages_name_one_that_is_there),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_never_told_to_forget),
        cmocka_unit_test(test_idle_log_is_quiet),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(w);
    return failed;
}
