/* io_request.h -- one file operation on its way from the NDBFS block to the host and back. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdint.h>

/*
 * NDBFS fills a request and hands it over by io_submit(); until node_io_done() it belongs to the
 * host, with the memory that its pieces name. The host carries requests out side by side and in any
 * order; what must not overlap is not submitted together. Paths are relative to the node's file
 * system directory: components of [A-Za-z0-9_.-], none of which begins with a dot, joined by '/'.
 */
enum io_op {
    IO_NONE = 0,
    IO_OPEN,  /* name, flags -> handle `file` (chosen by NDBFS), done = size; durable when it was
                 created, with IO_THEN_SYNC its content too. */
    IO_CLOSE, /* file */
    IO_READ,  /* file, offset, pieces -> done = bytes; less than asked only at the end of the file.
               */
    IO_WRITE, /* file, offset, pieces, IO_THEN_SYNC -> done = bytes: all or an error. */
    IO_SYNC,  /* file: all completed writes and the size are durable afterwards. */
    IO_TRUNCATE,    /* file, size; durable after a sync. */
    IO_PREALLOCATE, /* file, offset, size, IO_ZERO: room for these bytes, the file reaches to their
                       end. */
    IO_RENAME,      /* name, new_name, IO_REPLACE: durable. Files only. */
    IO_REMOVE, /* name, IO_TREE: durable. One step of a tree: more = 1 when there is a next one. */
    IO_LIST,   /* name = directory, new_name = begin behind this entry, piece[0] -> done = bytes,
                  more. */
    IO_OP_COUNT
};

enum io_flags {
    IO_READABLE = 1,
    IO_WRITABLE = 2,
    IO_CREATE = 4,    /* Make the file, and missing directories above it, when it is not there. */
    IO_EXCLUSIVE = 8, /* With IO_CREATE: it must not be there. */
    IO_EMPTY = 16,    /* Throw away what is in it. */
    IO_DIRECT =
        32, /* Past the page cache where the file system can; everything is IO_ALIGN aligned. */
    IO_THEN_SYNC = 64,
    IO_ZERO = 128, /* Write the zeros, so that later writes find the blocks mapped. */
    IO_REPLACE = 256,
    IO_TREE = 512,
};

/* What went wrong; NDBFS makes error numbers of them. Names in io_error_name(). */
enum io_error {
    IO_GOOD = 0,
    IO_FULL,         /* ENOSPC */
    IO_QUOTA,        /* EDQUOT */
    IO_TOO_LARGE,    /* EFBIG */
    IO_DEVICE,       /* EIO */
    IO_READ_ONLY,    /* EROFS */
    IO_DENIED,       /* EACCES, EPERM */
    IO_MISSING,      /* ENOENT */
    IO_EXISTS,       /* EEXIST, ENOTEMPTY */
    IO_BAD_PATH,     /* A component is not a directory, a symbolic link, not a plain file. */
    IO_NO_RESOURCES, /* EMFILE, ENFILE, ENOMEM */
    IO_NO_FILES,     /* This host has no file system. */
    IO_OTHER,
    IO_ERROR_COUNT
};

#define IO_NAME_MAX   96u   /* With the final zero. */
#define IO_DEPTH_MAX  8u    /* Directories below the root. */
#define IO_PIECES_MAX 16u   /* Pieces of memory in one request. */
#define IO_ALIGN      4096u /* Memory, offset and size with IO_DIRECT: the largest sector in use. */
/* An answer's entries; with the signal's head below its largest extent. */
#define IO_LIST_BYTES 28672u
#define IO_TREE_STEP  64u /* Entries removed in one step of a tree. */

struct io_piece {
    uint8_t *memory;
    uint32_t size;
};

/* An entry of a directory in the memory of IO_LIST; in order of names, each padded to 4 bytes. */
struct io_entry {
    uint32_t words; /* Words of this entry, this head included. */
    uint32_t kind;  /* enum io_entry_kind */
    uint32_t size_lo;
    uint32_t size_hi;
    uint32_t name_size; /* Bytes that follow, without a final zero. */
};
enum io_entry_kind { IO_ENTRY_FILE = 1, IO_ENTRY_DIRECTORY = 2, IO_ENTRY_OTHER = 3 };

struct io_request {
    struct io_request *next; /* For whoever holds the request. */
    uint32_t receiver;       /* The block that submitted it; filled in by io_submit(). */
    uint32_t tag;            /* The block's name for the request; IO_DONE_REP has it. */
    uint32_t op;             /* enum io_op */
    uint32_t flags;          /* enum io_flags */
    uint32_t file;           /* Handle of the file: below the node's open_files_max + 1. */
    uint32_t piece_count;
    uint64_t offset;
    uint64_t size;
    struct io_piece piece[IO_PIECES_MAX];
    char name[IO_NAME_MAX];
    char new_name[IO_NAME_MAX];
    /* The answer. */
    uint32_t error;    /* enum io_error */
    uint32_t os_error; /* errno, for the log; 0 = none. */
    uint32_t more;
    uint64_t done;
};

const char *io_op_name(uint32_t op);
const char *io_error_name(uint32_t error);

/* True when `name` may be used as a path: see above. The empty name (the root) only when `root` is
 * set. */
uint32_t io_name_valid(const char *name, uint32_t root);

/* Bytes of all pieces. */
uint64_t io_bytes(const struct io_request *request);
