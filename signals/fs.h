/* fs.h -- files: any block to the NDBFS of its node, and the answers. See docs/protocols/files.md.
 */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/*
 * Requests by any priority, answers by priority A. Sections with a name: its size in bytes, then
 * the bytes padded to words. Sections with pieces: struct fs_piece each. The memory that pieces
 * name is NDBFS's until the answer: the block neither reads nor writes it, nor gives it back.
 * 64-bit numbers are split into lo and hi.
 */
enum fs_flags {
    FS_READ = 1,
    FS_WRITE = 2,
    FS_CREATE = 4,    /* Open: make the file, and directories above it, when it is missing. */
    FS_EXCLUSIVE = 8, /* With FS_CREATE: error when it is there. */
    FS_EMPTY = 16,    /* Open: throw away the content. */
    FS_DIRECT =
        32, /* Open: past the page cache; offsets, sizes and memory in multiples of FS_ALIGN. */
    FS_SYNC =
        64, /* Write, append: CONF when this and all writes answered or given before are durable.
               Open: when what the file has is durable. A process that died may have left it written
               and not synced: what a restart builds on must not be lost with the power later. */
    FS_ZERO =
        128, /* Preallocate: write zeros, so that later syncs are fast from the first lap on. */
    FS_REPLACE = 256,  /* Rename: over an existing file. */
    FS_TREE = 512,     /* Remove: a directory with all that is in it. */
    FS_PARTIAL = 1024, /* Read: fewer bytes at the end of the file are no error. */
};

#define FS_ALIGN      4096u
#define FS_NAME_BYTES 95u
#define FS_NAME_WORDS (1u + (FS_NAME_BYTES + 3u) / 4u)
#define FS_PIECES_MAX 16u
/* The most bytes of one read or write: one request does not block the others for long. */
#define FS_BYTES_MAX (8u * 1024u * 1024u)

/* A run of the node's arena: see arena_page_no(). It may reach over several pages that were
 * allocated in one piece. */
struct fs_piece {
    uint32_t page;
    uint32_t offset;
    uint32_t bytes;
};

/* Section 0: name. A name is open once at a time; its opener alone may use the file. What was
 * created is durable at CONF. */
struct fsopenreq {
    uint32_t sender_data;
    uint32_t flags;
};
SIGNAL_STRUCT(fsopenreq, 2);
struct fsopenconf {
    uint32_t sender_data;
    uint32_t file;
    uint32_t flags; /* Flags of the request. */
    uint32_t size_lo;
    uint32_t size_hi;
};
SIGNAL_STRUCT(fsopenconf, 5);

/* Waits for all requests of the file that came before; those that come after are refused. Makes
 * nothing durable. */
struct fsclosereq {
    uint32_t sender_data;
    uint32_t file;
};
SIGNAL_STRUCT(fsclosereq, 2);

/* Section 0: pieces. */
struct fsreadreq {
    uint32_t sender_data;
    uint32_t file;
    uint32_t flags; /* FS_PARTIAL */
    uint32_t offset_lo;
    uint32_t offset_hi;
};
SIGNAL_STRUCT(fsreadreq, 5);
struct fswritereq {
    uint32_t sender_data;
    uint32_t file;
    uint32_t flags; /* FS_SYNC */
    uint32_t offset_lo;
    uint32_t offset_hi;
};
SIGNAL_STRUCT(fswritereq, 5);
struct fsappendreq {
    uint32_t sender_data;
    uint32_t file;
    uint32_t flags; /* FS_SYNC */
};
SIGNAL_STRUCT(fsappendreq, 3);
/* Answers a read, write or append: where it was, and how many bytes. */
struct fs_io_conf {
    uint32_t sender_data;
    uint32_t file;
    uint32_t offset_lo;
    uint32_t offset_hi;
    uint32_t bytes;
};
SIGNAL_STRUCT(fs_io_conf, 5);

/* Makes durable all writes of the file that were given before. */
struct fssyncreq {
    uint32_t sender_data;
    uint32_t file;
};
SIGNAL_STRUCT(fssyncreq, 2);

/* Sets the file's size; durable after the next sync. */
struct fstruncatereq {
    uint32_t sender_data;
    uint32_t file;
    uint32_t size_lo;
    uint32_t size_hi;
};
SIGNAL_STRUCT(fstruncatereq, 4);

/* Gets room on the disk for bytes 0..size-1; what was not written reads as zeros. Never makes the
 * file shorter. */
struct fspreallocatereq {
    uint32_t sender_data;
    uint32_t file;
    uint32_t flags; /* FS_ZERO: overwrites what the file had from its former end on only. */
    uint32_t size_lo;
    uint32_t size_hi;
};
SIGNAL_STRUCT(fspreallocatereq, 5);

/* Section 0: old name, 1: new name. Neither may be open. Durable and atomic; the content is not
 * synced by it. */
struct fsrenamereq {
    uint32_t sender_data;
    uint32_t flags; /* FS_REPLACE */
};
SIGNAL_STRUCT(fsrenamereq, 2);

/* Section 0: name; nothing at or below it may be open. Durable. What is not there is removed: CONF.
 */
struct fsremovereq {
    uint32_t sender_data;
    uint32_t flags; /* FS_TREE; the empty name then empties the whole file system. */
};
SIGNAL_STRUCT(fsremovereq, 2);

/* Section 0: directory (empty = the root); 1: the last name of the answer before, to go on. */
struct fslistreq {
    uint32_t sender_data;
};
SIGNAL_STRUCT(fslistreq, 1);
/* Section 0: `count` times struct fs_entry and the name's bytes padded to words, in order of names.
 */
struct fslistconf {
    uint32_t sender_data;
    uint32_t count;
    uint32_t more; /* 1: there are more entries behind the last one. */
};
SIGNAL_STRUCT(fslistconf, 3);
struct fs_entry {
    uint32_t words; /* Words of this entry, its name included. */
    uint32_t kind;  /* enum fs_entry_kind */
    uint32_t size_lo;
    uint32_t size_hi;
    uint32_t name_bytes;
};
enum fs_entry_kind { FS_ENTRY_FILE = 1, FS_ENTRY_DIRECTORY = 2, FS_ENTRY_OTHER = 3 };

/* Answers a close, sync, truncate, preallocate, rename or remove; `file` is 0 for the last two. */
struct fs_conf {
    uint32_t sender_data;
    uint32_t file;
};
SIGNAL_STRUCT(fs_conf, 2);

/* Refuses any request. Section 0: the file's name, for the log (empty when the request named no
 * file that is open). */
struct fs_ref {
    uint32_t sender_data;
    uint32_t file;
    uint32_t error;    /* Error of a file operation: ERR_DISK_FULL, ERR_FILE_IO_FAILED, ... */
    uint32_t os_error; /* The system's own number, for the log; 0 = none. */
    uint32_t flags;    /* enum fs_ref_flags */
};
SIGNAL_STRUCT(fs_ref, 5);
enum fs_ref_flags {
    FS_REF_BROKEN =
        1, /* The file lost data it should have kept: every further request but close is refused. */
    FS_REF_BEHIND = 2, /* Not tried: a write given before it failed. */
};
