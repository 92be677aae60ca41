/* schema_format.c -- sizes and checksums of a schema file. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "formats/schema_format.h"
#include <xxhash.h>

uint64_t image_bytes(const struct image_head *head)
{
    if (head->words > (uint64_t)head->pieces * IMAGE_PIECE_WORDS) return 0;
    if (head->pieces == 0) return IMAGE_HEAD_BYTES;
    uint64_t before = (uint64_t)(head->pieces - 1u) * IMAGE_PIECE_WORDS;
    if (head->words <= before) return 0;
    return IMAGE_HEAD_BYTES + (uint64_t)(head->pieces - 1u) * IMAGE_PIECE_BYTES +
           image_piece_bytes((uint32_t)(head->words - before));
}

uint64_t image_piece_hash(const struct image_piece *piece, uint32_t bytes, uint64_t chain)
{
    return XXH3_64bits_withSeed(&piece->sequence, bytes - sizeof(piece->hash), chain);
}
