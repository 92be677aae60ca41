/* frame.h -- the unit of checking on a link: a header with checksums and a run of whole signals. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "kernel/base/signal.h"

/*
 * All words are little-endian.
 *
 *   word 0      kind of frame (low 8 bits) and FRAME_MAGIC (high 24 bits)
 *   word 1      words of the body
 *   word 2      number of the frame on this link and in this direction, from 1, low 32 bits
 *   word 3      check of words 0..2: a broken length is found before anybody waits for it
 *   word 4, 5   XXH3 of words 0..3 and the body
 *   ...         the body
 *
 * Both checks are seeded with the link's session (see frame_seed()), so that words from another
 * life of the link, another pair of nodes or the other direction never pass.
 */
#define FRAME_MAGIC      0x4E444200u /* "\0BDN" in memory. */
#define FRAME_HEAD_WORDS 6u
#define FRAME_HEAD_BYTES (4u * FRAME_HEAD_WORDS)
#define FRAME_BODY_MAX   SIGNAL_EXTENT_MAX /* Words: one frame holds the largest signal. */
#define FRAME_BYTES_MAX  (FRAME_HEAD_BYTES + 4u * FRAME_BODY_MAX)
#define FRAME_WORDS      8192u /* A sender closes a frame when so many words are in it. */

enum frame_kind {
    FRAME_SIGNALS = 1, /* Body: one or more whole signals. */
    FRAME_GOODBYE = 2, /* Body: the reason as text, padded with zeros. The last frame of a link. */
};

/* One seed per direction, from what both ends agreed on in the handshake. */
struct frame_session {
    uint32_t epoch;
    uint32_t from;
    uint32_t to;
    uint64_t from_incarnation;
    uint64_t to_incarnation;
};
uint64_t frame_seed(const struct frame_session *session);

/* Fills in the header of a frame whose body of `words` words stands behind it at frame +
 * FRAME_HEAD_WORDS. */
void frame_seal(uint32_t *frame, enum frame_kind kind, uint32_t words, uint32_t number,
                uint64_t seed);

/* Checks a header alone. Returns NULL and the words of the body, or what is wrong. */
const char *frame_check_head(const uint32_t *frame, uint32_t number, uint64_t seed,
                             uint32_t *words);

/* Checks the body's checksum; the header was checked before. */
bool frame_check_body(const uint32_t *frame, uint64_t seed);

/* True when the words are a run of whole, well-formed signals without rest. On failure *bad_at is
 * the word where. */
bool frame_check_signals(const uint32_t *words, uint32_t count, uint32_t *bad_at);

/* XXH3 of bytes, for other checks of this room (the handshake). */
uint64_t frame_hash(const void *bytes, uint32_t size, uint64_t seed);
