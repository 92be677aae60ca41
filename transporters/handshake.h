/* handshake.h -- the messages with which two nodes open a link, 32 words each. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define HANDSHAKE_MAGIC      0x4C42444Eu /* "NDBL" in memory. */
#define HANDSHAKE_BYTES      128u
#define HANDSHAKE_TEXT_BYTES 64u
#define LINK_EPOCH_MAX       0xFFFFFF00u

enum handshake_kind {
    HANDSHAKE_HELLO = 1,
    HANDSHAKE_ACCEPT = 2,
    HANDSHAKE_CONFIRM = 3,
    HANDSHAKE_REFUSE = 4
};

struct handshake {
    uint32_t magic;
    uint32_t kind;
    uint32_t version;
    uint32_t version_min;
    uint32_t cluster_low;
    uint32_t cluster_high;
    uint32_t incarnation_low;
    uint32_t incarnation_high;
    uint32_t node;
    uint32_t role;
    uint32_t wanted;
    uint32_t epoch;
    uint32_t refusal;
    uint32_t flags;
    char text[HANDSHAKE_TEXT_BYTES]; /* Ends with a zero. */
    uint32_t check_low;
    uint32_t check_high;
};

/* Computes the checksum, when all else is filled in. */
void handshake_seal(struct handshake *message);

/*
 * Checks form and checksum of what a stranger sent, not whether it is acceptable. Returns NULL or
 * what is wrong. The text is made printable.
 */
const char *handshake_check(struct handshake *message);

/* Cuts and cleans text of a peer so that it may stand in a log line. Writes at most `size` bytes,
 * zero included. */
void printable_copy(char *to, uint32_t size, const char *from, uint32_t from_size);

static inline uint64_t handshake_cluster(const struct handshake *message)
{
    return (uint64_t)message->cluster_high << 32 | message->cluster_low;
}
static inline uint64_t handshake_incarnation(const struct handshake *message)
{
    return (uint64_t)message->incarnation_high << 32 | message->incarnation_low;
}
