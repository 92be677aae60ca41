/* frame.c -- seals frames and checks them. The one place where checksums of links are computed. */
/* SPDX-License-Identifier: MIT */
#include "transporters/frame.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "words are used as they stand on the wire");

uint64_t frame_hash(const void *bytes, uint32_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, size, seed);
}

uint64_t frame_seed(const struct frame_session *session)
{
    const uint64_t parts[4] = {(uint64_t)session->epoch << 32 | session->from << 16 | session->to,
                               session->from_incarnation, session->to_incarnation, FRAME_MAGIC};
    return XXH3_64bits(parts, sizeof parts);
}

static uint32_t head_check(const uint32_t *frame, uint64_t seed)
{
    return (uint32_t)XXH3_64bits_withSeed(frame, 12, seed);
}

/* The body's seed contains the header, so that a body never passes under another header. */
static uint64_t body_check(const uint32_t *frame, uint64_t seed)
{
    uint64_t head = (uint64_t)frame[3] << 32 | frame[2];
    return XXH3_64bits_withSeed(frame + FRAME_HEAD_WORDS, 4u * (size_t)frame[1], seed ^ head);
}

void frame_seal(uint32_t *frame, enum frame_kind kind, uint32_t words, uint32_t number,
                uint64_t seed)
{
    frame[0] = FRAME_MAGIC | (uint32_t)kind;
    frame[1] = words;
    frame[2] = number;
    frame[3] = head_check(frame, seed);
    uint64_t check = body_check(frame, seed);
    frame[4] = (uint32_t)check;
    frame[5] = (uint32_t)(check >> 32);
}

const char *frame_check_head(const uint32_t *frame, uint32_t number, uint64_t seed, uint32_t *words)
{
    *words = 0;
    if ((frame[0] & 0xFFFFFF00u) != FRAME_MAGIC) return "no frame begins here";
    if (frame[3] != head_check(frame, seed)) return "wrong checksum of a frame's header";
    uint32_t kind = frame[0] & 0xFFu;
    if (kind != FRAME_SIGNALS && kind != FRAME_GOODBYE) return "unknown kind of frame";
    if (frame[1] == 0 || frame[1] > FRAME_BODY_MAX) return "frame of an impossible length";
    if (frame[2] != number) return "frame out of order"; /* I-LINK-2 */
    *words = frame[1];
    return NULL;
}

bool frame_check_body(const uint32_t *frame, uint64_t seed)
{
    uint64_t check = body_check(frame, seed);
    return frame[4] == (uint32_t)check && frame[5] == (uint32_t)(check >> 32);
}

bool frame_check_signals(const uint32_t *words, uint32_t count, uint32_t *bad_at)
{
    uint32_t at = 0;
    *bad_at = 0;
    while (at < count) {
        uint32_t extent = signal_extent_check(words + at, count - at);
        if (extent == 0) {
            *bad_at = at;
            return false;
        }
        at += extent;
    }
    return true;
}
