/* send_buffer.c -- gathers packed signals into frames and keeps them until they are written. */
/* SPDX-License-Identifier: MIT */
#include "transporters/send_buffer.h"
#include <stdlib.h>
#include <string.h>

/* Two suffice while the peer reads as fast as we write: one being filled, one being written. */
#define SPARE_CHUNKS_MAX 4u

void send_buffer_limit(struct send_buffer *buffer, uint32_t bytes, uint32_t overload_bytes,
                       uint32_t reserve_bytes)
{
    uint64_t size = bytes != 0 ? bytes : LINK_SEND_BUFFER_BYTES;
    uint64_t overload = overload_bytes != 0 ? overload_bytes : size / 10 * 8;
    uint64_t reserve = reserve_bytes != 0 ? reserve_bytes : size / 4 + 4u * SIGNAL_EXTENT_MAX;
    if (overload > size) overload = size;
    buffer->level_at[LINK_HIGH] = overload / 10 * 6;
    buffer->level_at[LINK_OVERLOAD] = overload;
    buffer->level_at[LINK_FULL] = size;
    buffer->limit = size + reserve;
}

void send_buffer_init(struct send_buffer *buffer, const struct link_options *options)
{
    *buffer = (struct send_buffer){.frame_words =
                                       options->frame_words ? options->frame_words : FRAME_WORDS};
    if (buffer->frame_words > FRAME_BODY_MAX) buffer->frame_words = FRAME_BODY_MAX;
    send_buffer_limit(buffer, options->send_buffer_bytes, options->overload_bytes,
                      options->reserve_bytes);
}

static void free_list(struct send_chunk *chunk)
{
    while (chunk != NULL) {
        struct send_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
}

void send_buffer_free(struct send_buffer *buffer)
{
    free_list(buffer->head);
    free_list(buffer->spare);
    buffer->head = buffer->tail = buffer->spare = NULL;
}

/* Appends a chunk whose body can hold `words`. NULL = no memory. */
static struct send_chunk *append_chunk(struct send_buffer *buffer, uint32_t words)
{
    struct send_chunk *chunk = buffer->spare;
    if (chunk != NULL && words <= chunk->capacity) {
        buffer->spare = chunk->next;
        buffer->spare_count--;
    } else {
        uint32_t capacity = words > buffer->frame_words ? words : buffer->frame_words;
        chunk = malloc(sizeof *chunk + 4u * ((size_t)FRAME_HEAD_WORDS + capacity));
        if (chunk == NULL) return NULL;
        chunk->capacity = capacity;
    }
    chunk->next = NULL;
    chunk->words = 0;
    chunk->sent = 0;
    chunk->bytes = 0;
    if (buffer->tail != NULL) {
        buffer->tail->next = chunk;
    } else {
        buffer->head = chunk;
    }
    buffer->tail = chunk;
    return chunk;
}

static void seal_chunk(struct send_buffer *buffer, struct send_chunk *chunk, enum frame_kind kind)
{
    buffer->frames++;
    frame_seal(chunk->frame, kind, chunk->words, ++buffer->number, buffer->seed);
    chunk->bytes = FRAME_HEAD_BYTES + 4u * chunk->words;
}

static void seal_tail(struct send_buffer *buffer)
{
    struct send_chunk *tail = buffer->tail;
    if (tail != NULL && tail->bytes == 0) seal_chunk(buffer, tail, FRAME_SIGNALS);
}

static void add_bytes(struct send_buffer *buffer, uint64_t bytes)
{
    buffer->bytes += bytes;
    if (buffer->bytes > buffer->bytes_max) buffer->bytes_max = buffer->bytes;
}

static void fill_chunk(struct send_buffer *buffer, struct send_chunk *chunk, const uint32_t *words,
                       uint32_t count)
{
    memcpy(chunk->frame + FRAME_HEAD_WORDS + chunk->words, words, 4u * (size_t)count);
    add_bytes(buffer, 4u * (uint64_t)count + (chunk->words == 0 ? FRAME_HEAD_BYTES : 0));
    chunk->words += count;
}

/* How many words of whole signals fit into `room`. False when the words are no signals. */
static bool fitting_words(const uint32_t *words, uint32_t count, uint32_t room, uint32_t *fitting)
{
    uint32_t at = 0;
    *fitting = 0;
    while (at < count) {
        if (count - at < SIGNAL_HEAD_WORDS) return false;
        uint32_t extent = words[at + 3];
        if (extent < SIGNAL_HEAD_WORDS || extent > count - at || extent > FRAME_BODY_MAX)
            return false;
        if (extent > room - at) break;
        at += extent;
    }
    *fitting = at;
    return true;
}

/* The slow way: the words do not fit into the open frame. */
static enum send_buffer_result put_in_pieces(struct send_buffer *buffer, const uint32_t *words,
                                             uint32_t count)
{
    while (count > 0) {
        struct send_chunk *chunk = buffer->tail;
        uint32_t room = chunk != NULL && chunk->bytes == 0 ? chunk->capacity - chunk->words : 0;
        uint32_t fitting = count;
        if (count > room && !fitting_words(words, count, room, &fitting))
            return SEND_BUFFER_MALFORMED;
        if (fitting == 0) {
            seal_tail(buffer);
            if (append_chunk(buffer, words[3]) == NULL) return SEND_BUFFER_NO_MEMORY;
            continue;
        }
        fill_chunk(buffer, chunk, words, fitting);
        words += fitting;
        count -= fitting;
    }
    return SEND_BUFFER_TAKEN;
}

enum send_buffer_result send_buffer_put(struct send_buffer *buffer, const uint32_t *words,
                                        uint32_t count)
{
    if (buffer->bytes + FRAME_HEAD_BYTES + 4u * (uint64_t)count > buffer->limit)
        return SEND_BUFFER_FULL;
    struct send_chunk *tail = buffer->tail;
    if (tail != NULL && tail->bytes == 0 && count <= tail->capacity - tail->words) {
        fill_chunk(buffer, tail, words, count);
        return SEND_BUFFER_TAKEN;
    }
    return put_in_pieces(buffer, words, count);
}

bool send_buffer_put_raw(struct send_buffer *buffer, const void *bytes, uint32_t size)
{
    seal_tail(buffer);
    struct send_chunk *chunk = append_chunk(buffer, (size + 3) / 4);
    if (chunk == NULL) return false;
    memcpy(chunk->frame, bytes, size);
    chunk->bytes = size;
    add_bytes(buffer, size);
    return true;
}

void send_buffer_put_goodbye(struct send_buffer *buffer, const char *text)
{
    uint32_t length = (uint32_t)strnlen(text, LINK_REASON_SIZE - 1);
    uint32_t words = length / 4 + 1;
    seal_tail(buffer);
    struct send_chunk *chunk = append_chunk(buffer, words);
    if (chunk == NULL) return; /* The peer sees the end of the stream without a reason. */
    uint32_t padded[LINK_REASON_SIZE / 4] = {0};
    memcpy(padded, text, length);
    fill_chunk(buffer, chunk, padded, words);
    seal_chunk(buffer, chunk, FRAME_GOODBYE);
}

uint32_t send_buffer_output(struct send_buffer *buffer, struct link_bytes *pieces, uint32_t max)
{
    uint32_t count = 0;
    for (struct send_chunk *chunk = buffer->head; chunk != NULL && count < max;
         chunk = chunk->next) {
        if (chunk->bytes == 0) seal_chunk(buffer, chunk, FRAME_SIGNALS);
        pieces[count].at = (const uint8_t *)chunk->frame + chunk->sent;
        pieces[count].size = chunk->bytes - chunk->sent;
        count++;
    }
    return count;
}

static void drop_head(struct send_buffer *buffer)
{
    struct send_chunk *chunk = buffer->head;
    buffer->head = chunk->next;
    if (buffer->head == NULL) buffer->tail = NULL;
    if (chunk->capacity == buffer->frame_words && buffer->spare_count < SPARE_CHUNKS_MAX) {
        chunk->next = buffer->spare;
        buffer->spare = chunk;
        buffer->spare_count++;
    } else {
        free(chunk);
    }
}

void send_buffer_sent(struct send_buffer *buffer, uint64_t size)
{
    while (size > 0 && buffer->head != NULL) {
        struct send_chunk *chunk = buffer->head;
        uint64_t left = chunk->bytes - chunk->sent;
        uint64_t part = size < left ? size : left;
        chunk->sent += (uint32_t)part;
        buffer->bytes -= part;
        size -= part;
        if (part < left) break;
        drop_head(buffer);
    }
}

bool send_buffer_level_changed(struct send_buffer *buffer)
{
    enum link_level level = buffer->level;
    while (level < LINK_FULL && buffer->bytes >= buffer->level_at[level + 1])
        level++;
    /* Falls only when an eighth below the mark, so that it does not flutter. */
    while (level > LINK_NORMAL &&
           buffer->bytes < buffer->level_at[level] - buffer->level_at[level] / 8)
        level--;
    if (level == buffer->level) return false;
    if (level >= LINK_OVERLOAD && buffer->level < LINK_OVERLOAD) buffer->overload_count++;
    buffer->level = level;
    return true;
}
