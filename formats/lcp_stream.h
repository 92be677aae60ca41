/* lcp_stream.h -- rows into the bytes of a checkpoint's data file, and back, piece by piece. Knows
 * no block. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stddef.h>
#include "formats/lcp_ctl.h"
#include "formats/lcp_data.h"
#include "formats/lcp_format.h"

/* --- Writing. The caller brings all memory; bytes come out in a buffer that it writes away. --- */

#define LCP_ROW_WORDS_MAX 9216u /* Longest row as pairs. */
/* What one call adds to the buffer at most. */
#define LCP_OUT_ROOM (LCP_BLOCK_HEAD + LCP_RAW_MAX + 1024u)

struct lcp_writer {
    void *zip;     /* The compressor's state. */
    uint32_t *raw; /* LCP_RAW_MAX bytes. */
    uint32_t raw_words;
    /* Bytes not yet taken; the caller may move them to another buffer between calls. */
    uint8_t *out;
    uint32_t out_size;
    uint32_t page;
    bool delta;      /* The page is a delta page. */
    bool page_named; /* The block being filled has named the page. */
    uint32_t block_rows;
    uint32_t others;   /* So many more blocks are compressed with little effort. */
    bool others_plain; /* These blocks are not compressed at all. */
    uint64_t seed;
    /* What has been written so far. */
    uint64_t digest;
    uint64_t bytes;
    uint64_t rows;
    uint32_t blocks;
    uint32_t pages;
    uint32_t deltas; /* Delta pages among `pages`. */
};

/* Bytes of memory for `zip`. */
size_t lcp_zip_size(void);
/* Once; `memory` has lcp_zip_size() bytes, aligned to 8. NULL when that is too little. */
void *lcp_zip_init(void *memory, size_t size);

void lcp_writer_begin(struct lcp_writer *writer, struct lcp_data_head *head);
/* `delta`: lcp_writer_kept() comes behind its rows. */
void lcp_writer_page(struct lcp_writer *writer, uint32_t page, bool delta);
/* Where the pairs of the next row go: room for LCP_ROW_WORDS_MAX words. Then lcp_writer_row() with
 * how many they are. */
uint32_t *lcp_writer_room(struct lcp_writer *writer);
void lcp_writer_row(struct lcp_writer *writer, uint32_t slot, uint32_t gci, uint32_t words);
/* Ends a delta page: a bit per slot whose row is in older files. No more words than a row has. */
void lcp_writer_kept(struct lcp_writer *writer, const uint32_t *bits, uint32_t words);
/* The block is full: lcp_writer_flush() before the next page or row. */
bool lcp_writer_full(const struct lcp_writer *writer);
/* Closes the block, if it has anything in it. `out` has LCP_OUT_ROOM. */
void lcp_writer_flush(struct lcp_writer *writer);
/* After the last flush: totals, zeros up to LCP_ALIGN of the file. */
void lcp_writer_end(struct lcp_writer *writer);
/* What the control file says of it, after lcp_writer_end(). */
struct lcp_ctl_file lcp_writer_result(const struct lcp_writer *writer,
                                      const struct lcp_data_head *head);

/* --- Reading. --- */

enum lcp_read_event {
    LCP_READ_MORE = 1, /* All bytes have been taken. */
    LCP_READ_ROWS,     /* A block has been checked: reader->cursor walks it. */
    LCP_READ_END,      /* The file's end, all sums are right; only zeros may follow. */
    LCP_READ_FAULT,    /* reader->fault at reader->offset */
};

#define LCP_PART_MAX (LCP_BLOCK_HEAD + LCP_RAW_MAX + 4u)

struct lcp_reader {
    void *unzip;
    uint8_t *part; /* A head or block as it comes: LCP_PART_MAX bytes, aligned to 8. */
    uint32_t *raw; /* LCP_RAW_MAX bytes. */
    const struct lcp_ident *ident;     /* Whose rows are expected; NULL = any. */
    const struct lcp_ctl_file *expect; /* What the control file says; NULL = any. */
    uint32_t part_size;
    uint32_t part_need;
    uint32_t state;
    enum lcp_fault fault;
    uint64_t offset; /* Where the part that is being read begins in the file. */
    uint64_t seed;
    uint64_t digest;
    uint32_t blocks;
    uint32_t block_rows;  /* Rows of the block that is being walked. */
    uint64_t rows_before; /* Rows of the blocks before it. */
    struct lcp_cursor cursor;
    struct lcp_data_head head;
};

size_t lcp_unzip_size(void);
void *lcp_unzip_init(void *memory, size_t size);

/* reader->unzip, part, raw, ident, expect are set. */
void lcp_reader_begin(struct lcp_reader *reader);
/* Takes bytes from *bytes, *size up to the next event. After ROWS, walk the cursor to its end
 * before the next call. */
enum lcp_read_event lcp_reader_next(struct lcp_reader *reader, const uint8_t **bytes,
                                    uint32_t *size);
/* The file has no more bytes: LCP_GOOD if that is right. */
enum lcp_fault lcp_reader_finish(const struct lcp_reader *reader);
