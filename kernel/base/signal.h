/* signal.h -- the shape of a signal: in a job queue, in a frame on the wire, and as a handler sees
 * it. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include "kernel/base/block_ref.h"

/*
 * Every signal, in memory and on the wire, is one contiguous run of 32-bit little-endian words (an
 * "extent"):
 *
 *   word 0   kind: gsn (bits 0-15), payload words (16-20), sections (21-22), priority (23),
 *            trace (24-31)
 *   word 1   receiver reference
 *   word 2   sender reference
 *   word 3   extent: number of words of the whole signal, this head included
 *   ...      payload, 0..25 words
 *   ...      one word per section: its length in words
 *   ...      the sections, one after the other
 *
 * Sections stand inline: a handler may read them until it returns and copies what it keeps. So
 * nobody can leak or double-free one, and a queue, a frame and a trace need one memcpy each.
 */
#define SIGNAL_WORDS_MAX    25u
#define SIGNAL_SECTIONS_MAX 3u
#define SIGNAL_HEAD_WORDS   4u
#define SIGNAL_EXTENT_MAX   65536u /* Words; holds the largest table definition and any row. */

enum signal_priority { PRIO_B = 0, PRIO_A = 1 };

/* Who may send a signal; what the border guard compares with the class of the node it came from. */
enum sender_class {
    FROM_SELF = 1, /* This node. */
    FROM_DATA = 2, /* Another data node. */
    FROM_API = 4,
    FROM_MGM = 8,
    FROM_NODES = FROM_SELF | FROM_DATA,
    FROM_CLIENTS = FROM_API | FROM_MGM,
    FROM_ANY = FROM_SELF | FROM_DATA | FROM_API | FROM_MGM,
};

struct signal_head {
    uint32_t kind;
    uint32_t receiver;
    uint32_t sender;
    uint32_t extent;
};

static inline uint32_t signal_kind(uint32_t gsn, uint32_t words, uint32_t sections, uint32_t prio,
                                   uint32_t trace)
{
    return gsn | words << 16 | sections << 21 | prio << 23 | trace << 24;
}
static inline uint32_t kind_gsn(uint32_t kind)
{
    return kind & 0xFFFFu;
}
static inline uint32_t kind_words(uint32_t kind)
{
    return kind >> 16 & 0x1Fu;
}
static inline uint32_t kind_sections(uint32_t kind)
{
    return kind >> 21 & 3u;
}
static inline uint32_t kind_prio(uint32_t kind)
{
    return kind >> 23 & 1u;
}
static inline uint32_t kind_trace(uint32_t kind)
{
    return kind >> 24;
}

struct section {
    const uint32_t *words;
    uint32_t size; /* Size in words. */
};

/* A signal as its handler sees it. Payload and sections are readable until the handler returns. */
struct signal {
    uint32_t gsn;
    uint32_t receiver;
    uint32_t sender;
    uint32_t words; /* Words of the payload. */
    uint32_t section_count;
    uint32_t trace;
    const uint32_t *payload;
    struct section section[SIGNAL_SECTIONS_MAX];
};

#define SIG_PAYLOAD(sig, type) ((const struct type *)(const void *)(sig)->payload)

#define SIGNAL_STRUCT(type, nwords)                                                                \
    static_assert(sizeof(struct type) == 4 * (nwords), #type " has padding or has changed");       \
    static_assert((nwords) <= SIGNAL_WORDS_MAX, #type " must move its tail into a section");       \
    static_assert(_Alignof(struct type) == 4, #type " must consist of 32-bit words")

/*
 * Checks that the words at `words` begin with one well-formed signal that ends within `available`
 * words: head, payload and section lengths agree. Returns its extent in words, or 0 when it is
 * malformed or incomplete. Every signal that comes from a socket passes here before anything else
 * looks at it.
 */
static inline uint32_t signal_extent_check(const uint32_t *words, uint32_t available)
{
    if (available < SIGNAL_HEAD_WORDS) return 0;
    uint32_t kind = words[0];
    uint32_t extent = words[3];
    if (extent > available || extent > SIGNAL_EXTENT_MAX) return 0;
    if (kind_words(kind) > SIGNAL_WORDS_MAX) return 0;
    uint32_t need = SIGNAL_HEAD_WORDS + kind_words(kind) + kind_sections(kind);
    if (need > extent) return 0;
    const uint32_t *lengths = words + SIGNAL_HEAD_WORDS + kind_words(kind);
    for (uint32_t i = 0; i < kind_sections(kind); i++) {
        if (lengths[i] > extent - need) return 0;
        need += lengths[i];
    }
    return need == extent ? extent : 0;
}

/* Opens a well-formed extent for reading. `sig` points into `words`. */
static inline void signal_open(struct signal *sig, const uint32_t *words)
{
    uint32_t kind = words[0];
    sig->gsn = kind_gsn(kind);
    sig->receiver = words[1];
    sig->sender = words[2];
    sig->words = kind_words(kind);
    sig->section_count = kind_sections(kind);
    sig->trace = kind_trace(kind);
    sig->payload = words + SIGNAL_HEAD_WORDS;
    const uint32_t *lengths = sig->payload + sig->words;
    const uint32_t *at = lengths + sig->section_count;
    for (uint32_t i = 0; i < sig->section_count; i++) {
        sig->section[i] = (struct section){.words = at, .size = lengths[i]};
        at += lengths[i];
    }
}
