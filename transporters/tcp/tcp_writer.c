/* tcp_writer.c -- the sending halves of links on a thread of their own. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "transporters/tcp/tcp_state.h"

#define WRITE_PIECES 64u /* Frames per system call: 2 MB of full ones. */

/*
 * Orders come from the transporters' threads through a list under a lock; all else belongs to the
 * writer's thread. A peer has at most one outlet here: the next link of the pair comes up only when
 * the former half was given back.
 */
struct link_writer {
    uv_loop_t *loop;
    uv_async_t wake;
    struct outlet *outlet[NODE_ID_MAX + 1];
    uint64_t dirty[NODE_ID_MAX / 64 + 1]; /* Peers with words to be flushed. */
    bool stopped;

    pthread_mutex_t lock;
    struct outlet *orders;
    atomic_uint ordered; /* 1: there are orders; 0 spares the lock. */
};

/* --- Levels, numbers and ends of one outlet. --- */

static void report_level(struct outlet *outlet)
{
    const struct transporter_options *options = &outlet->owner->options;
    /* The last level told is what the transporter has to take back. */
    if (outlet->ending || !send_buffer_level_changed(&outlet->send)) return;
    atomic_store_explicit(&outlet->level, outlet->send.level, memory_order_relaxed);
    if (options->calls->level != NULL)
        options->calls->level(options->context, outlet->peer, outlet->send.level);
}

static void publish(struct outlet *outlet)
{
    const struct send_buffer *send = &outlet->send;
    struct outlet_counters *to = &outlet->counters;
    atomic_store_explicit(&to->frames, send->frames, memory_order_relaxed);
    atomic_store_explicit(&to->overloads, send->overload_count, memory_order_relaxed);
    atomic_store_explicit(&to->waiting, send->bytes, memory_order_relaxed);
    atomic_store_explicit(&to->waiting_max, send->bytes_max, memory_order_relaxed);
    atomic_store_explicit(&to->bytes, outlet->bytes_sent, memory_order_relaxed);
    atomic_store_explicit(&to->words, outlet->words_sent, memory_order_relaxed);
}

/* Nothing more is taken. The transporter's thread ends the link and then orders the end here. */
static void fail(struct outlet *outlet, bool broken, const char *reason)
{
    if (outlet->state != OUTLET_OPEN) return;
    outlet->state = broken ? OUTLET_BROKEN : OUTLET_SHUT;
    outlet_tell_failed(outlet, broken, reason);
}

static void give_back(struct outlet *outlet)
{
    close(outlet->descriptor);
    send_buffer_free(&outlet->send);
    outlet_tell_released(outlet); /* The last touch. */
}

static void on_poll_closed(uv_handle_t *handle)
{
    give_back(handle->data);
}

/* --- Writing. --- */

static void on_writable(uv_poll_t *poll, int status, int events);

static void wait_writable(struct outlet *outlet)
{
    if (outlet->ending || outlet->waiting) return;
    int error = uv_poll_start(&outlet->poll, UV_WRITABLE, on_writable);
    outlet->waiting = error == 0;
    if (error != 0) fail(outlet, true, uv_strerror(error));
}

/* Gives the socket up to WRITE_PIECES frames. True when it took them all and there may be more. */
static bool write_once(struct outlet *outlet)
{
    struct link_bytes pieces[WRITE_PIECES];
    struct iovec parts[WRITE_PIECES];
    uint32_t count = send_buffer_output(&outlet->send, pieces, WRITE_PIECES);
    size_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        parts[i] = (struct iovec){(void *)(uintptr_t)pieces[i].at, pieces[i].size};
        total += pieces[i].size;
    }
    if (count == 0) return false;
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
    ssize_t written = sendmsg(outlet->descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written < 0 && errno == EINTR) return true;
    if (written < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
        fail(outlet, true, strerror(errno));
        return false;
    }
    if (written > 0) {
        outlet->bytes_sent += (uint64_t)written;
        send_buffer_sent(&outlet->send, (uint64_t)written);
        report_level(outlet);
    }
    if (written < 0 || (size_t)written < total) {
        wait_writable(outlet);
        return false;
    }
    return count == WRITE_PIECES;
}

static void write_all(struct outlet *outlet)
{
    while (outlet->state != OUTLET_BROKEN && write_once(outlet)) {
    }
    publish(outlet);
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    struct outlet *outlet = poll->data;
    (void)events;
    uv_poll_stop(poll);
    outlet->waiting = false;
    if (status < 0) {
        fail(outlet, true, uv_strerror(status));
        return;
    }
    write_all(outlet);
}

/* --- Orders of the transporters. --- */

static void mark_dirty(struct link_writer *writer, uint32_t peer)
{
    writer->dirty[peer / 64] |= 1ULL << peer % 64;
}

static void begin(struct link_writer *writer, struct outlet *outlet)
{
    outlet->begun = true;
    writer->outlet[outlet->peer] = outlet;
    int error = uv_poll_init_socket(writer->loop, &outlet->poll, outlet->descriptor);
    outlet->poll.data = outlet;
    outlet->polled = error == 0;
    if (error != 0) fail(outlet, true, uv_strerror(error));
    mark_dirty(writer, outlet->peer); /* The handshake's last message may wait in it. */
}

/* What is left to say: one attempt without waiting. */
static void end(struct link_writer *writer, struct outlet *outlet)
{
    outlet->ending = true;
    if (outlet->goodbye && outlet->state != OUTLET_BROKEN)
        send_buffer_put_goodbye(&outlet->send, outlet->farewell);
    if (outlet->state != OUTLET_BROKEN) write_all(outlet);
    outlet->state = OUTLET_BROKEN;
    writer->outlet[outlet->peer] = NULL;
    if (outlet->polled) {
        uv_close((uv_handle_t *)&outlet->poll, on_poll_closed);
    } else {
        give_back(outlet);
    }
}

static struct outlet *next_order(struct link_writer *writer, bool *ending)
{
    pthread_mutex_lock(&writer->lock);
    struct outlet *outlet = writer->orders;
    if (outlet != NULL) {
        writer->orders = outlet->next_order;
        outlet->order_queued = false;
        *ending = outlet->end_ordered;
    } else {
        atomic_store(&writer->ordered, 0);
    }
    pthread_mutex_unlock(&writer->lock);
    return outlet;
}

static void take_orders(struct link_writer *writer)
{
    struct outlet *outlet;
    bool ending;
    if (atomic_load_explicit(&writer->ordered, memory_order_acquire) == 0) return;
    while ((outlet = next_order(writer, &ending)) != NULL) {
        if (!outlet->begun) begin(writer, outlet);
        if (ending) end(writer, outlet);
    }
}

void outlet_order(struct outlet *outlet, bool ending)
{
    struct link_writer *writer = outlet->writer;
    pthread_mutex_lock(&writer->lock);
    if (ending) outlet->end_ordered = true;
    if (!outlet->order_queued) {
        outlet->order_queued = true;
        outlet->next_order = writer->orders;
        writer->orders = outlet;
    }
    atomic_store_explicit(&writer->ordered, 1, memory_order_release);
    uv_async_send(&writer->wake);
    pthread_mutex_unlock(&writer->lock);
}

static void on_wake(uv_async_t *async)
{
    struct link_writer *writer = async->data;
    take_orders(writer);
    link_writer_flush(writer);
}

/* --- The writer. --- */

struct link_writer *link_writer_create(uv_loop_t *loop)
{
    struct link_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) return NULL;
    writer->loop = loop;
    if (uv_async_init(loop, &writer->wake, on_wake) != 0) {
        free(writer);
        return NULL;
    }
    writer->wake.data = writer;
    pthread_mutex_init(&writer->lock, NULL);
    return writer;
}

void link_writer_send(struct link_writer *writer, uint32_t peer, uint32_t epoch,
                      const uint32_t *words, uint32_t count)
{
    if (peer > NODE_ID_MAX) return;
    struct outlet *outlet = writer->outlet[peer];
    if (outlet == NULL || outlet->epoch != epoch) {
        /* Its half was handed in before anybody could send for the epoch. */
        take_orders(writer);
        outlet = writer->outlet[peer];
    }
    if (outlet == NULL || outlet->epoch != epoch || outlet->state != OUTLET_OPEN) return;
    switch (send_buffer_put(&outlet->send, words, count)) {
    case SEND_BUFFER_TAKEN:
        outlet->words_sent += count;
        mark_dirty(writer, peer);
        report_level(outlet);
        break;
    case SEND_BUFFER_FULL:
        fail(outlet, false, "its send buffer is full, it reads too slowly");
        break;
    case SEND_BUFFER_NO_MEMORY:
        fail(outlet, false, "out of memory for the send buffer");
        break;
    case SEND_BUFFER_MALFORMED:
        fail(outlet, false, "own signals are malformed");
        break;
    }
}

void link_writer_flush(struct link_writer *writer)
{
    take_orders(writer);
    for (uint32_t i = 0; i < NODE_ID_MAX / 64 + 1; i++) {
        while (writer->dirty[i] != 0) {
            uint32_t peer = 64 * i + (uint32_t)__builtin_ctzll(writer->dirty[i]);
            writer->dirty[i] &= writer->dirty[i] - 1;
            struct outlet *outlet = writer->outlet[peer];
            if (outlet != NULL && !outlet->waiting) write_all(outlet);
        }
    }
}

static void on_wake_closed(uv_handle_t *handle)
{
    ((struct link_writer *)handle->data)->stopped = true;
}

void link_writer_stop(struct link_writer *writer)
{
    if (!uv_is_closing((uv_handle_t *)&writer->wake))
        uv_close((uv_handle_t *)&writer->wake, on_wake_closed);
}

bool link_writer_stopped(const struct link_writer *writer)
{
    return writer->stopped;
}

void link_writer_destroy(struct link_writer *writer)
{
    if (writer == NULL) return;
    pthread_mutex_destroy(&writer->lock);
    free(writer);
}
