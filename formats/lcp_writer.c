/* lcp_writer.c -- rows into checksummed, compressed blocks. */
/* SPDX-License-Identifier: GPL-2.0-only */
#define ZSTD_STATIC_LINKING_ONLY /* States in memory that we bring. */
#include <string.h>
#include <zstd.h>
#include "formats/lcp_stream.h"

/* What becomes little smaller is worth a third of the time, what hardly becomes smaller none: rows
 * of a node that waits for its checkpoint, and their reading in a restart. One block of so many is
 * tried the thorough way. */
#define ZIP_LEVEL      1
#define ZIP_LEVEL_FAST (-5)
#define ZIP_TRY        32u

static_assert(LCP_RAW_TARGET + 4u * (LCP_ROW_WORDS_MAX + 4u) <= LCP_RAW_MAX,
              "the longest row ends a block");

size_t lcp_zip_size(void)
{
    size_t fast = ZSTD_estimateCCtxSize(ZIP_LEVEL_FAST);
    size_t thorough = ZSTD_estimateCCtxSize(ZIP_LEVEL);
    return fast > thorough ? fast : thorough;
}

void *lcp_zip_init(void *memory, size_t size)
{
    ZSTD_CCtx *zip = ZSTD_initStaticCCtx(memory, size);
    if (zip == NULL ||
        ZSTD_isError(ZSTD_CCtx_setParameter(zip, ZSTD_c_compressionLevel, ZIP_LEVEL)))
        return NULL;
    return zip;
}

/* By a block that was tried the thorough way: how the next ones are written. By one that was tried
 * the fast way: whether that was worth it. */
static void zip_learn(struct lcp_writer *writer, bool thorough, size_t size, uint32_t raw)
{
    if (thorough && !ZSTD_isError(size) && size <= raw / 2u) return;
    if (thorough) writer->others = ZIP_TRY - 1u;
    writer->others_plain = ZSTD_isError(size) || size > raw / 4u * 3u;
}

/* The size, or 0: plain will do. */
static uint32_t zip_block(struct lcp_writer *writer, uint8_t *to, uint32_t raw)
{
    bool other = writer->others > 0;
    if (other) writer->others--;
    if (other && writer->others_plain) return 0;
    (void)ZSTD_CCtx_setParameter(writer->zip, ZSTD_c_compressionLevel,
                                 other ? ZIP_LEVEL_FAST : ZIP_LEVEL);
    size_t size = ZSTD_compress2(writer->zip, to, raw - 1u, writer->raw, raw);
    zip_learn(writer, !other, size, raw);
    return ZSTD_isError(size) ? 0 : (uint32_t)size;
}

static void out_put(struct lcp_writer *writer, const void *bytes, uint32_t size)
{
    memcpy(writer->out + writer->out_size, bytes, size);
    writer->out_size += size;
    writer->bytes += size;
}

void lcp_writer_begin(struct lcp_writer *writer, struct lcp_data_head *head)
{
    writer->raw_words = 0;
    writer->out_size = 0;
    writer->page_named = false;
    writer->block_rows = 0;
    writer->bytes = writer->rows = 0;
    writer->blocks = writer->pages = writer->deltas = writer->others = 0;
    writer->others_plain = false;
    writer->seed = lcp_data_head_seal(head);
    writer->digest = lcp_digest(0, writer->seed);
    out_put(writer, head, sizeof *head);
}

void lcp_writer_page(struct lcp_writer *writer, uint32_t page, bool delta)
{
    writer->raw[writer->raw_words++] = lcp_page_word(page, false, delta);
    writer->page = page;
    writer->delta = delta;
    writer->page_named = true;
    writer->pages++;
    writer->deltas += delta ? 1u : 0u;
}

uint32_t *lcp_writer_room(struct lcp_writer *writer)
{
    if (!writer->page_named) {
        writer->raw[writer->raw_words++] = lcp_page_word(writer->page, true, writer->delta);
        writer->page_named = true;
    }
    return writer->raw + writer->raw_words + 2u;
}

void lcp_writer_row(struct lcp_writer *writer, uint32_t slot, uint32_t gci, uint32_t words)
{
    writer->raw[writer->raw_words] = lcp_row_word(slot, words);
    writer->raw[writer->raw_words + 1u] = gci;
    writer->raw_words += 2u + words;
    writer->block_rows++;
}

void lcp_writer_kept(struct lcp_writer *writer, const uint32_t *bits, uint32_t words)
{
    uint32_t *room = lcp_writer_room(writer);
    memcpy(room - 1, bits, (size_t)words * 4u);
    writer->raw[writer->raw_words] = lcp_kept_word(words);
    writer->raw_words += 1u + words;
}

bool lcp_writer_full(const struct lcp_writer *writer)
{
    return writer->raw_words * 4u >= LCP_RAW_TARGET;
}

/* Seals the block whose bytes stand behind its head in `out`. */
static void block_close(struct lcp_writer *writer, enum lcp_block_kind kind, uint32_t size,
                        uint32_t raw)
{
    struct lcp_block_head head = {.number = ++writer->blocks,
                                  .kind = kind,
                                  .size = size,
                                  .raw = raw,
                                  .rows = writer->block_rows};
    uint8_t *at = writer->out + writer->out_size;
    memcpy(at, &head, sizeof head);
    uint64_t sum = lcp_block_seal((struct lcp_block_head *)(void *)at, writer->seed);
    writer->digest = lcp_digest(writer->digest, sum);
    /* Heads stay aligned to words; the padding is not the block's, but it must be zero. */
    uint32_t padded = (size + 3u) & ~3u;
    memset(at + LCP_BLOCK_HEAD + size, 0, padded - size);
    writer->out_size += LCP_BLOCK_HEAD + padded;
    writer->bytes += LCP_BLOCK_HEAD + padded;
    writer->rows += writer->block_rows;
    writer->block_rows = 0;
}

void lcp_writer_flush(struct lcp_writer *writer)
{
    uint32_t raw = writer->raw_words * 4u;
    if (raw == 0) return;
    uint8_t *to = writer->out + writer->out_size + LCP_BLOCK_HEAD;
    uint32_t size = zip_block(writer, to, raw);
    if (size == 0) {
        memcpy(to, writer->raw, raw);
        block_close(writer, LCP_BLOCK_PLAIN, raw, raw);
    } else {
        block_close(writer, LCP_BLOCK_ZSTD, size, raw);
    }
    writer->raw_words = 0;
    writer->page_named = false;
}

void lcp_writer_end(struct lcp_writer *writer)
{
    struct lcp_totals totals = {.blocks = writer->blocks + 1u,
                                .pages = writer->pages,
                                .rows_lo = (uint32_t)writer->rows,
                                .rows_hi = (uint32_t)(writer->rows >> 32),
                                .deltas = writer->deltas};
    memcpy(writer->out + writer->out_size + LCP_BLOCK_HEAD, &totals, sizeof totals);
    block_close(writer, LCP_BLOCK_END, LCP_TOTALS, LCP_TOTALS);
    uint32_t zeros = (uint32_t)(lcp_align(writer->bytes) - writer->bytes);
    memset(writer->out + writer->out_size, 0, zeros);
    writer->out_size += zeros;
}

struct lcp_ctl_file lcp_writer_result(const struct lcp_writer *writer,
                                      const struct lcp_data_head *head)
{
    return (struct lcp_ctl_file){
        .seq = head->seq,
        .which = head->which,
        .start_gci = head->start_gci,
        .blocks = writer->blocks,
        .pages = writer->pages,
        .rows_lo = (uint32_t)writer->rows,
        .rows_hi = (uint32_t)(writer->rows >> 32),
        .bytes_lo = (uint32_t)writer->bytes,
        .bytes_hi = (uint32_t)(writer->bytes >> 32),
        .digest_lo = (uint32_t)writer->digest,
        .digest_hi = (uint32_t)(writer->digest >> 32),
        .deltas = writer->deltas,
    };
}
