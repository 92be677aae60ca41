/* handshake.c -- seals and checks the messages that open a link. */
/* SPDX-License-Identifier: MIT */
#include "transporters/handshake.h"
#include <assert.h>
#include <stddef.h>
#include <string.h>
#include "transporters/frame.h"
#include "transporters/link.h"

#define HANDSHAKE_SEED 0x6C696E6B68656C6FULL

static_assert(sizeof(struct handshake) == HANDSHAKE_BYTES, "32 words on the wire");
static_assert(offsetof(struct handshake, check_low) == HANDSHAKE_BYTES - 8, "the checksum is last");

static uint64_t message_hash(const struct handshake *message)
{
    return frame_hash(message, offsetof(struct handshake, check_low), HANDSHAKE_SEED);
}

void handshake_seal(struct handshake *message)
{
    uint64_t check = message_hash(message);
    message->check_low = (uint32_t)check;
    message->check_high = (uint32_t)(check >> 32);
}

const char *handshake_check(struct handshake *message)
{
    uint64_t check = message_hash(message);
    if (message->magic != HANDSHAKE_MAGIC) return "no hello begins here";
    if (message->check_low != (uint32_t)check || message->check_high != (uint32_t)(check >> 32)) {
        return "wrong checksum of a hello";
    }
    if (message->kind < HANDSHAKE_HELLO || message->kind > HANDSHAKE_REFUSE)
        return "unknown kind of hello";
    if (message->node == 0 || message->node > NODE_ID_MAX) return "a hello without a valid node id";
    if (message->role < LINK_ROLE_DATA || message->role > LINK_ROLE_MGM)
        return "a hello without a valid role";
    if (handshake_incarnation(message) == 0) return "a hello without incarnation";
    char text[HANDSHAKE_TEXT_BYTES];
    memcpy(text, message->text, sizeof text);
    printable_copy(message->text, HANDSHAKE_TEXT_BYTES, text, HANDSHAKE_TEXT_BYTES);
    return NULL;
}

void printable_copy(char *to, uint32_t size, const char *from, uint32_t from_size)
{
    uint32_t length = 0;
    while (length < from_size && length + 1 < size && from[length] != '\0') {
        char c = from[length];
        to[length] = c >= ' ' && c <= '~' ? c : '?';
        length++;
    }
    to[length] = '\0';
}
