/* redo_log.h -- one part of the redo log: a ring of files behind a ring of memory. Knows files only
 * by struct redo_io. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "formats/redo_format.h"
#include "kernel/block.h"

/*
 * Positions are blocks counted over all laps: position % file_blocks is the block, position /
 * file_blocks % files the file, position % buffer_blocks the place in memory.
 *
 *   tail                    synced   written      made   (page being filled)
 *    |----- needed ------------|--------|----------|=====>                free
 *
 * CLOSED -> OPENING -> OPENED -> RUNNING                          a new log
 *                        `-> HEADS -> READING <-> APPLYING
 *                              -> LOOKING -> (CUTTING) -> JOINING -> RUNNING   a restart
 *
 * OPENING -> ASKING when a file is missing or has another size, and no further.
 */
enum redo_state {
    REDO_CLOSED = 0,
    REDO_OPENING, /* Files are being made or opened, one after the other. */
    REDO_OPENED,  /* Waits for redo_replay() or redo_begin(). */
    REDO_HEADS,   /* Replay: looks at the first page of each file. */
    REDO_READING, /* Replay: a chunk is on its way into the buffer. */
    REDO_APPLYING,
    REDO_LOOKING, /* Replay: looks behind the end for what proves that there was more. */
    REDO_CUTTING, /* Replay: leaves the last pages that the disk may not have. */
    REDO_JOINING, /* Replay: syncs what is going to be continued. */
    REDO_RUNNING,
    REDO_ASKING, /* Opening: the first page is to say what number and size the files had. */
};

/* What stops the log, for the node's last message. */
struct redo_damage {
    enum redo_fault fault;
    uint32_t file;
    uint32_t block;
    uint32_t error;   /* REDO_BAD_RECORD: what redo_io.apply said, or 0. */
    uint32_t version; /* REDO_OTHER_VERSION: version of the file; 0: of a page within it. */
    uint32_t files;   /* REDO_OTHER_SHAPE: number and blocks of files by a first page. */
    uint32_t file_blocks;
    bool stray; /* Another page of the part is the node's own. */
};

/* The world, as the log sees it. One request at a time; redo_done() answers it, never from within
 * the call. */
struct redo_io {
    void (*open)(void *context, uint32_t file, bool create); /* Answer: the file's blocks. */
    void (*read)(void *context, uint32_t file, uint32_t block, uint32_t *to, uint32_t blocks);
    /* With `sync`: this and everything written to the file before is durable with the answer. */
    void (*write)(void *context, uint32_t file, uint32_t block, const uint32_t *from,
                  uint32_t blocks, bool sync);
    void (*sync)(void *context, uint32_t file);
    /* Reports. */
    void (*opened)(void *context);
    void (*progress)(void *context, uint32_t percent); /* Opening or replaying goes on. */
    uint32_t (*apply)(void *context,
                      const struct redo_record *record); /* 0, or an error that stops the node. */
    void (*again)(void *context);                        /* Call redo_step() soon. */
    void (*replayed)(void *context);                     /* The log is running. */
    void (*synced)(void *context);                       /* redo_durable() has moved. */
    void (*damaged)(void *context, const struct redo_damage *damage); /* The log goes no further. */
};

#define REDO_ENDED_MAX 64u

/* Former incarnations of the cluster, up to this one and behind the entry before: what they wrote
 * beyond the GCI at which they ended never happened. */
struct redo_ended {
    uint32_t incarnation;
    uint32_t gci;
};

struct redo_replay {
    uint32_t start_gci; /* All checkpoints have what records of older GCIs say. */
    /* Older records from this GCI on are kept, as far as they are there: what was never in a
     * checkpoint may need them at a later start. Counts only with `keeps`. */
    uint32_t keep_gci;
    bool keeps;
    uint32_t restart_gci; /* Records of newer GCIs never happened. */
    uint32_t incarnation; /* Incarnation in which the log goes on. */
    bool running;         /* That incarnation is not new: the log may have pages of it. */
    uint32_t gci_ahead;   /* A log is not further ahead of restart_gci; more is damage. 0 = any. */
    uint64_t lsn_known;   /* This page and all before are known to have been durable; 0 = not known.
                             When it is page 0, only the life is known. */
    bool lsn_older;       /* lsn_known ended an older GCI than restart_gci: more was durable. */
    uint32_t ended_count;
    struct redo_ended ended[REDO_ENDED_MAX];
};

struct redo_config {
    uint64_t cluster;
    uint32_t node;
    uint32_t part;
    uint32_t files;
    uint32_t file_blocks;
    uint32_t *buffer; /* Memory of buffer_blocks blocks. */
    uint32_t buffer_blocks;
    uint32_t life; /* Life of the files that are made now (redo_lsn_base()); up to REDO_LIFE_MAX. */
};

struct redo_file {
    uint64_t lsn;        /* LSN of its first page; 0: that is no good one. */
    uint64_t prev;       /* Check of the page before the first one; 0: there was none. */
    uint64_t synced;     /* Replay: LSN that was durable when the first page was made; else 0. */
    uint32_t gci_before; /* No record that began before the file has a higher GCI. */
};

struct redo_log {
    struct redo_config config;
    const struct redo_io *io;
    void *context;
    enum redo_state state;
    bool busy; /* A request is under way. */
    bool create;
    uint32_t file_next;       /* OPENING, HEADS: the file whose turn it is. */
    struct redo_damage wrong; /* ASKING: why; HEADS: the first file of somebody else. */
    /* Positions. */
    uint64_t tail;
    uint64_t synced;
    uint64_t written;
    uint64_t made;
    uint64_t writing; /* Where the write under way ends; 0 = none. */
    bool writing_sync;
    bool proved;   /* The last page is an empty one that says that those before were durable. */
    uint64_t save; /* What is before this position is to become durable. */
    /* Pages. */
    uint64_t lsn;         /* LSN of the last page made. */
    uint64_t check;       /* Check of that page. */
    uint64_t lsn_writing; /* LSN of the last page in the write under way. */
    uint64_t lsn_written;
    uint64_t lsn_synced;
    uint32_t incarnation;
    uint32_t gci_max;
    uint32_t *page;      /* The page being filled; NULL: there is none. */
    uint32_t page_words; /* Words that fit into that page, its head included. */
    /* Space promised to prepared operations. */
    uint32_t reserved_ops;
    uint64_t reserved_words;
    /* Replay. */
    struct redo_replay replay;
    struct redo_chain chain;
    uint64_t sure;      /* LSN up to which pages are known to be durable. */
    uint64_t lsn_seen;  /* Highest LSN of a page that was seen, whether it was taken or not. */
    uint64_t at;        /* Position behind the last page that was taken. */
    uint64_t page_at;   /* Position of the last page that was taken. */
    uint64_t look;      /* LOOKING: position of the next look. */
    uint64_t chunk;     /* Position of the first block that the buffer holds. */
    uint64_t chunk_end; /* Position behind the last block that the buffer holds. */
    bool page_open;     /* The reader is in the middle of the page at page_at. */
    enum redo_fault end_fault; /* Why the log ends at `at`. */
    uint32_t end_estimate;     /* About so many blocks lie between tail and end. */
    /* Figures. */
    uint64_t records;
    uint64_t bytes_written;
    uint64_t applied;
    uint64_t skipped;
    struct redo_file file[REDO_FILES_MAX];
    struct redo_reader reader;
};

/* --- redo_log_open.c --- */

/* Prepares a log; `config` must be in range: at least 3 files, a buffer of at least 32 blocks. */
void redo_init(struct redo_log *log, const struct redo_config *config, const struct redo_io *io,
               void *context);
/* Makes the files anew, or opens those that are there. redo_io.opened follows. */
void redo_open(struct redo_log *log, bool create);
void redo_missing(struct redo_log *log); /* Answers redo_io.open when there is no such file. */
/* A new log starts to run. */
void redo_begin(struct redo_log *log, uint32_t incarnation);
/* The answer to a request: the file's blocks for open, anything else 0. */
void redo_done(struct redo_log *log, uint64_t result);
/* Records older than `gci` are not needed any more: files that have no others are free. */
void redo_tail(struct redo_log *log, uint32_t gci);

/* --- redo_log_write.c --- */

enum redo_room {
    REDO_ROOM = 0,
    REDO_SLOW, /* It may go on, but the files fill up faster than checkpoints free them. */
    REDO_WAIT, /* It must wait for the disk: no memory for its record. */
    REDO_FULL,
};
/* May an operation whose record has up to `words` words be prepared? */
enum redo_room redo_room(const struct redo_log *log, uint32_t words);
/* So much can never be prepared at the same time, even in a log that is empty. */
bool redo_never(const struct redo_log *log, uint64_t words, uint32_t ops);
/* Keeps room for a record of so many words until redo_release(). */
void redo_reserve(struct redo_log *log, uint32_t words);
void redo_release(struct redo_log *log, uint32_t words);
/* Appends a record for which room is reserved. False when the log is full nevertheless. */
bool redo_append(struct redo_log *log, const struct redo_record *record);
/* Starts to make durable all that has been appended: it is when redo_durable() has reached the
 * result. */
uint64_t redo_save(struct redo_log *log);
uint64_t redo_durable(const struct redo_log *log);
/* Fill of the files in percent, promises included. */
uint32_t redo_fill(const struct redo_log *log);
/* Goes on writing if there is a reason. */
void redo_push(struct redo_log *log);
void redo_written(struct redo_log *log);
void redo_check_state(const struct redo_log *log);

/* --- redo_log_replay.c --- */

void redo_replay(struct redo_log *log, const struct redo_replay *replay);
void redo_step(struct redo_log *log); /* Replays some records more. */
void redo_replay_done(struct redo_log *log);

static inline uint64_t redo_capacity(const struct redo_log *log)
{
    return (uint64_t)log->config.files * log->config.file_blocks;
}
static inline uint32_t redo_file_at(const struct redo_log *log, uint64_t position)
{
    return (uint32_t)(position / log->config.file_blocks % log->config.files);
}
static inline uint32_t redo_block_at(const struct redo_log *log, uint64_t position)
{
    return (uint32_t)(position % log->config.file_blocks);
}
static inline uint32_t *redo_memory_at(const struct redo_log *log, uint64_t position)
{
    return log->config.buffer + (size_t)(position % log->config.buffer_blocks) * REDO_BLOCK_WORDS;
}
static inline struct redo_place redo_place_at(const struct redo_log *log, uint64_t position)
{
    const struct redo_config *config = &log->config;
    return (struct redo_place){.cluster = config->cluster,
                               .node = config->node,
                               .part = config->part,
                               .files = config->files,
                               .file_blocks = config->file_blocks,
                               .file = redo_file_at(log, position),
                               .block = redo_block_at(log, position)};
}
