/* lcp_reader.c -- takes the bytes of a data file as they come, and lets out only rows that have
 * been checked. */
/* SPDX-License-Identifier: GPL-2.0-only */
#define ZSTD_STATIC_LINKING_ONLY /* States in memory that we bring. */
#include <string.h>
#include <zstd.h>
#include "formats/lcp_stream.h"

enum { READ_HEAD, READ_BLOCK_HEAD, READ_BLOCK, READ_WALK, READ_ZEROS, READ_BROKEN };

size_t lcp_unzip_size(void)
{
    return ZSTD_estimateDCtxSize();
}

void *lcp_unzip_init(void *memory, size_t size)
{
    return ZSTD_initStaticDCtx(memory, size);
}

void lcp_reader_begin(struct lcp_reader *reader)
{
    reader->part_size = 0;
    reader->part_need = LCP_DATA_HEAD;
    reader->state = READ_HEAD;
    reader->fault = LCP_GOOD;
    reader->offset = 0;
    reader->seed = reader->digest = 0;
    reader->blocks = reader->block_rows = 0;
    reader->rows_before = 0;
    reader->cursor = (struct lcp_cursor){.page = -1};
}

static enum lcp_read_event broken(struct lcp_reader *reader, enum lcp_fault fault)
{
    reader->fault = fault;
    reader->state = READ_BROKEN;
    return LCP_READ_FAULT;
}

/* Goes on to the part behind the one that is complete. */
static void part_next(struct lcp_reader *reader, uint32_t state, uint32_t need)
{
    reader->offset += reader->part_size;
    reader->part_size = 0;
    reader->part_need = need;
    reader->state = state;
}

static enum lcp_fault head_take(struct lcp_reader *reader)
{
    memcpy(&reader->head, reader->part, sizeof reader->head);
    enum lcp_fault fault = lcp_data_head_check(&reader->head, reader->ident,
                                               reader->expect == NULL ? 0 : reader->expect->seq);
    if (fault != LCP_GOOD) return fault;
    reader->seed = lcp_data_head_sum(&reader->head);
    reader->digest = lcp_digest(0, reader->seed);
    part_next(reader, READ_BLOCK_HEAD, LCP_BLOCK_HEAD);
    return LCP_GOOD;
}

static enum lcp_fault totals_check(const struct lcp_reader *reader, const struct lcp_totals *totals)
{
    const struct lcp_ctl_file *expect = reader->expect;
    uint64_t rows = u64_of(totals->rows_lo, totals->rows_hi);
    if (totals->blocks != reader->blocks || totals->pages != reader->cursor.pages ||
        totals->deltas != reader->cursor.deltas || rows != reader->cursor.rows)
        return LCP_COUNTS;
    if (!lcp_cursor_page_whole(&reader->cursor)) return LCP_ORDER;
    if (expect == NULL) return LCP_GOOD;
    if (u64_of(expect->digest_lo, expect->digest_hi) != reader->digest) return LCP_OTHER_FILE;
    if (expect->blocks != totals->blocks || expect->pages != totals->pages ||
        expect->deltas != totals->deltas || u64_of(expect->rows_lo, expect->rows_hi) != rows ||
        u64_of(expect->bytes_lo, expect->bytes_hi) != reader->offset + reader->part_size)
        return LCP_COUNTS;
    return LCP_GOOD;
}

/* A whole block is there: checks it; its rows, if it has any, become readable. */
static enum lcp_fault block_take(struct lcp_reader *reader, bool *end)
{
    const struct lcp_block_head *head = (const struct lcp_block_head *)(const void *)reader->part;
    const uint8_t *bytes = reader->part + LCP_BLOCK_HEAD;
    uint64_t sum;
    enum lcp_fault fault = lcp_block_check(head, reader->seed, &sum);
    if (fault != LCP_GOOD) return fault;
    for (uint32_t at = LCP_BLOCK_HEAD + head->size; at < reader->part_size; at++) {
        if (reader->part[at] != 0) return LCP_TAIL;
    }
    reader->digest = lcp_digest(reader->digest, sum);
    reader->blocks++;
    *end = head->kind == LCP_BLOCK_END;
    if (*end) {
        struct lcp_totals totals;
        memcpy(&totals, bytes, sizeof totals);
        fault = totals_check(reader, &totals);
        if (fault == LCP_GOOD) part_next(reader, READ_ZEROS, 0);
        return fault;
    }
    if (head->kind == LCP_BLOCK_ZSTD) {
        size_t size =
            ZSTD_decompressDCtx(reader->unzip, reader->raw, LCP_RAW_MAX, bytes, head->size);
        if (ZSTD_isError(size) || size != head->raw) return LCP_COMPRESSION;
    } else {
        memcpy(reader->raw, bytes, head->raw);
    }
    reader->block_rows = head->rows;
    reader->rows_before = reader->cursor.rows;
    reader->cursor.at = reader->raw;
    reader->cursor.end = reader->raw + head->raw / 4u;
    part_next(reader, READ_WALK, 0);
    return LCP_GOOD;
}

/* The caller has walked the block. */
static enum lcp_fault walk_take(struct lcp_reader *reader)
{
    if (reader->cursor.at != reader->cursor.end) return LCP_SIZE;
    if (reader->cursor.rows - reader->rows_before != reader->block_rows) return LCP_COUNTS;
    part_next(reader, READ_BLOCK_HEAD, LCP_BLOCK_HEAD);
    return LCP_GOOD;
}

static enum lcp_fault block_head_take(struct lcp_reader *reader)
{
    const struct lcp_block_head *head = (const struct lcp_block_head *)(const void *)reader->part;
    enum lcp_fault fault = lcp_block_head_check(head, reader->blocks + 1u);
    reader->part_need = LCP_BLOCK_HEAD + ((head->size + 3u) & ~3u);
    reader->state = READ_BLOCK;
    return fault;
}

static enum lcp_read_event zeros_take(struct lcp_reader *reader, const uint8_t **bytes,
                                      uint32_t *size)
{
    for (; *size > 0; (*bytes)++, (*size)--) {
        if (**bytes != 0 || reader->offset % LCP_ALIGN == 0) return broken(reader, LCP_TAIL);
        reader->offset++;
    }
    return LCP_READ_MORE;
}

enum lcp_read_event lcp_reader_next(struct lcp_reader *reader, const uint8_t **bytes,
                                    uint32_t *size)
{
    enum lcp_fault fault = LCP_GOOD;
    bool end = false;
    if (reader->state == READ_BROKEN) return LCP_READ_FAULT;
    if (reader->state == READ_WALK) {
        fault = walk_take(reader);
        if (fault != LCP_GOOD) return broken(reader, fault);
    }
    if (reader->state == READ_ZEROS) return zeros_take(reader, bytes, size);
    while (*size > 0) {
        uint32_t step = reader->part_need - reader->part_size;
        if (step > *size) step = *size;
        memcpy(reader->part + reader->part_size, *bytes, step);
        reader->part_size += step;
        *bytes += step;
        *size -= step;
        if (reader->part_size < reader->part_need) break;
        switch (reader->state) {
        case READ_HEAD:
            fault = head_take(reader);
            break;
        case READ_BLOCK_HEAD:
            fault = block_head_take(reader);
            break;
        default:
            fault = block_take(reader, &end);
            break;
        }
        if (fault != LCP_GOOD) return broken(reader, fault);
        if (end) return LCP_READ_END;
        if (reader->state == READ_WALK) return LCP_READ_ROWS;
    }
    return LCP_READ_MORE;
}

enum lcp_fault lcp_reader_finish(const struct lcp_reader *reader)
{
    if (reader->state == READ_BROKEN) return reader->fault;
    if (reader->state != READ_ZEROS || reader->offset % LCP_ALIGN != 0) return LCP_TRUNCATED;
    return LCP_GOOD;
}
