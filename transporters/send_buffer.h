/* send_buffer.h -- what waits to be written to one link: a list of frames. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "kernel/base/link_level.h"
#include "transporters/frame.h"
#include "transporters/link.h"

struct send_chunk {
    struct send_chunk *next;
    uint32_t capacity; /* Words of body that fit. */
    uint32_t words;    /* Words of the body so far. */
    uint32_t sent;     /* Bytes written already. */
    uint32_t bytes;    /* Bytes of the whole frame once it is sealed; 0 = still open. */
    uint32_t frame[];  /* Header and body. */
};

struct send_buffer {
    struct send_chunk *head;
    struct send_chunk *tail;
    struct send_chunk *spare; /* Chunks of the usual size, kept for the next frames. */
    uint32_t spare_count;
    uint32_t frame_words;
    uint32_t number; /* Number of the last sealed frame. */
    uint64_t seed;
    uint64_t frames;      /* Frames sealed so far. */
    uint64_t bytes;       /* Bytes that wait. */
    uint64_t bytes_max;   /* Most bytes that ever waited. */
    uint64_t limit;       /* Nothing more is taken beyond so many bytes. */
    uint64_t level_at[4]; /* Bytes from which a level holds; [LINK_NORMAL] = 0. */
    uint64_t overload_count;
    enum link_level level;
};

void send_buffer_init(struct send_buffer *buffer, const struct link_options *options);
void send_buffer_limit(struct send_buffer *buffer, uint32_t bytes, uint32_t overload_bytes,
                       uint32_t reserve_bytes);
void send_buffer_free(struct send_buffer *buffer);

enum send_buffer_result {
    SEND_BUFFER_TAKEN,
    SEND_BUFFER_FULL,
    SEND_BUFFER_NO_MEMORY,
    SEND_BUFFER_MALFORMED
};

/* After NO_MEMORY and MALFORMED a prefix of whole signals may have been taken: the link must be
 * closed. */
enum send_buffer_result send_buffer_put(struct send_buffer *buffer, const uint32_t *words,
                                        uint32_t count);

/* Appends bytes that are no frame (handshake). False = no memory. */
bool send_buffer_put_raw(struct send_buffer *buffer, const void *bytes, uint32_t size);

/* Appends a goodbye frame, beyond the limit if need be. */
void send_buffer_put_goodbye(struct send_buffer *buffer, const char *text);

uint32_t send_buffer_output(struct send_buffer *buffer, struct link_bytes *pieces, uint32_t max);
void send_buffer_sent(struct send_buffer *buffer, uint64_t size);

/* Brings the level up to date with the bytes; true when it changed. */
bool send_buffer_level_changed(struct send_buffer *buffer);
