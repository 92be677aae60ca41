/* schema_format.h -- what a schema file looks like. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "formats/file_header.h"

/*
 * A head of 4 KB, then pieces of 128 KB; the last one ends with the 4 KB block that has its last
 * word. The pieces' words form one stream of records, one for each table number that is used or has
 * been, in order of numbers: number, version, state, words of the definition, words of the
 * distribution, then these words. A number that is not used keeps its version: a later table with
 * that number gets the next one, because log and checkpoint files carry it.
 *
 * A piece's checksum takes the one before it as seed, so that each proves all before it and the
 * head, which has the last one, proves the whole.
 */
#define IMAGE_COPIES       2u
#define IMAGE_BLOCK_BYTES  4096u
#define IMAGE_HEAD_BYTES   IMAGE_BLOCK_BYTES
#define IMAGE_PIECE_BYTES  (128u * 1024u)
#define IMAGE_RECORD_WORDS 5u

struct image_head {
    struct file_header header;
    uint64_t chain; /* Checksum of the last piece; without any, the sequence. */
    uint64_t words; /* Words of the stream. */
    uint32_t pieces;
    uint32_t records;
};
#define IMAGE_HEAD_HASH_AT (IMAGE_HEAD_BYTES - 8u) /* Where XXH3 of all before stands. */

struct image_piece {
    uint64_t hash; /* XXH3 of all behind, to the last byte of the piece. */
    uint64_t sequence;
    uint32_t number; /* Number of the piece, from 0 on. */
    uint32_t words;
};
#define IMAGE_PIECE_WORDS ((IMAGE_PIECE_BYTES - (uint32_t)sizeof(struct image_piece)) / 4u)

static inline uint32_t image_piece_bytes(uint32_t words)
{
    uint32_t bytes = (uint32_t)sizeof(struct image_piece) + words * 4u;
    return (bytes + IMAGE_BLOCK_BYTES - 1u) / IMAGE_BLOCK_BYTES * IMAGE_BLOCK_BYTES;
}

/* Bytes of the whole file; 0 when words and pieces do not belong together. */
uint64_t image_bytes(const struct image_head *head);

/* The words of piece memory. */
static inline uint32_t *image_words(struct image_piece *piece)
{
    return (uint32_t *)(void *)(piece + 1);
}

uint64_t image_piece_hash(const struct image_piece *piece, uint32_t bytes, uint64_t chain);
