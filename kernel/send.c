/* send.c -- takes a signal from a block to a job queue of this node or to the words waiting for a
 * link. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "kernel/thread_state.h"

/* The extent of a signal, and its words at `to`. */
struct outgoing {
    uint32_t kind;
    uint32_t receiver;
    uint32_t sender;
    uint32_t extent;
    const void *payload;
    uint32_t words;
    const struct section *sections;
    uint32_t section_count;
};

static inline void write_extent(uint32_t *to, const struct outgoing *out)
{
    to[0] = out->kind;
    to[1] = out->receiver;
    to[2] = out->sender;
    to[3] = out->extent;
    const uint32_t *payload = out->payload;
    uint32_t *at = to + SIGNAL_HEAD_WORDS;
    for (uint32_t i = 0; i < out->words; i++)
        at[i] = payload[i];
    at += out->words;
    for (uint32_t i = 0; i < out->section_count; i++)
        *at++ = out->sections[i].size;
    for (uint32_t i = 0; i < out->section_count; i++) {
        if (out->sections[i].size == 0) continue; /* It may have no words to point at. */
        memcpy(at, out->sections[i].words, (size_t)out->sections[i].size * 4u);
        at += out->sections[i].size;
    }
}

uint32_t *thread_put(struct thread *from, uint32_t to, enum signal_priority prio, uint32_t extent,
                     uint32_t peer, uint32_t epoch)
{
    struct job_queue *queue = from->out[prio][to];
    if (to != from->no && queue->waiting++ == FLUSH_SIGNALS) {
        /* The other thread begins while this one goes on. */
        struct host *host = from->node->options.host;
        if (job_queue_publish(queue)) host->wake(host, to);
        queue->waiting = 1;
    }
    uint32_t *room = job_queue_reserve(queue, extent, peer, epoch);
    if (room == NULL)
        node_fail(EXIT_JOB_BUFFER_FULL, __FILE__, __LINE__, "job queue and its overflow are full");
    return room;
}

static void hand_over(struct thread *thread, uint32_t peer)
{
    struct link_buffer *link = &thread->link[peer];
    struct host *host = thread->node->options.host;
    if (link->used > 0)
        host->link_send(host, thread->no, peer, link->epoch, link->words, link->used);
    link->used = 0;
}

/* A signal that does not fit into a page: its words go to the transporter at once, behind what
 * waits. */
static void send_large(struct thread *thread, uint32_t peer, uint32_t epoch,
                       const struct outgoing *out)
{
    hand_over(thread, peer);
    struct overflow_segment *scratch =
        thread->overflow.free; /* Borrowed: nothing else runs meanwhile. */
    if (scratch == NULL)
        node_fail(EXIT_JOB_BUFFER_FULL, __FILE__, __LINE__, "no memory for a large signal");
    write_extent(scratch->words, out);
    struct host *host = thread->node->options.host;
    host->link_send(host, thread->no, peer, epoch, scratch->words, out->extent);
}

static void send_remote(struct thread *thread, uint32_t peer, const struct outgoing *out)
{
    struct node *node = thread->node;
    uint32_t epoch = atomic_load_explicit(&node->link[peer].sending, memory_order_acquire);
    if (epoch == 0)
        return; /* The link is down: whoever waits for an answer learns that from QMGR. */
    uint32_t only = atomic_load_explicit(&node->link[peer].only, memory_order_relaxed);
    if (__builtin_expect(only != 0, 0) && ref_block(out->receiver) != only) return;
    struct link_buffer *link = &thread->link[peer];
    if (link->words == NULL) link->words = arena_page(node->arena, RG_SEND_BUFFER);
    if (link->epoch != epoch) {
        link->used = 0; /* Words for the link's former life. */
        link->epoch = epoch;
    }
    if (link->words == NULL || out->extent > LINK_BUFFER_WORDS) {
        send_large(thread, peer, epoch, out);
        return;
    }
    if (link->used + out->extent > LINK_BUFFER_WORDS) hand_over(thread, peer);
    if (link->used == 0) {
        uint32_t i = 0;
        while (i < thread->link_dirty_count && thread->link_dirty[i] != peer)
            i++;
        if (i == thread->link_dirty_count)
            thread->link_dirty[thread->link_dirty_count++] = (uint8_t)peer;
    }
    write_extent(link->words + link->used, out);
    link->used += out->extent;
    if (link->used >= node->config.flush_words) hand_over(thread, peer);
}

void signal_send(struct block *from, uint32_t receiver, uint32_t gsn, enum signal_priority prio,
                 const void *payload, uint32_t words, const struct section *sections,
                 uint32_t section_count)
{
    struct thread *thread = from->thread;
    struct outgoing out = {
        .kind = signal_kind(gsn, words, section_count, prio, thread->trace_id),
        .receiver = receiver,
        .sender = from->ref,
        .extent = SIGNAL_HEAD_WORDS + words + section_count,
        .payload = payload,
        .words = words,
        .sections = sections,
        .section_count = section_count,
    };
    for (uint32_t i = 0; i < section_count; i++)
        out.extent += sections[i].size;
    ndbrequire(out.extent <= SIGNAL_EXTENT_MAX && words <= SIGNAL_WORDS_MAX); /* I-KERNEL-4 */
    uint32_t peer = ref_node(receiver);
    if (peer != thread->node->config.own_node) {
        send_remote(thread, peer, &out);
        return;
    }
    uint32_t to = node_thread_of(thread->node, receiver);
    ndbrequire(to != THREAD_NONE); /* I-KERNEL-3 */
    write_extent(thread_put(thread, to, prio, out.extent, 0, 0), &out);
}

void signal_send_delayed(struct block *from, uint32_t receiver, uint32_t gsn,
                         enum signal_priority prio, const void *payload, uint32_t words,
                         uint32_t delay_ms)
{
    struct thread *thread = from->thread;
    ndbrequire(words <= SIGNAL_WORDS_MAX && ref_node(receiver) == thread->node->config.own_node);
    uint32_t *room = time_queue_add(&thread->delayed, thread->now + delay_ms);
    if (room == NULL)
        node_fail(EXIT_TIME_QUEUE_FULL, __FILE__, __LINE__, "too many delayed signals");
    struct outgoing out = {
        .kind = signal_kind(gsn, words, 0, prio, thread->trace_id),
        .receiver = receiver,
        .sender = from->ref,
        .extent = SIGNAL_HEAD_WORDS + words,
        .payload = payload,
        .words = words,
    };
    write_extent(room, &out);
}

void signal_broadcast(struct block *from, const struct node_mask *mask, uint32_t block_no,
                      uint32_t gsn, enum signal_priority prio, const void *payload, uint32_t words,
                      const struct section *sections, uint32_t section_count)
{
    for (uint32_t node = node_mask_next(mask, 0); node != 0; node = node_mask_next(mask, node))
        signal_send(from, block_ref(node, block_no, 0), gsn, prio, payload, words, sections,
                    section_count);
}

void thread_flush(struct thread *thread)
{
    struct node *node = thread->node;
    struct host *host = node->options.host;
    for (uint32_t i = 0; i < thread->link_dirty_count; i++)
        hand_over(thread, thread->link_dirty[i]);
    thread->link_dirty_count = 0;
    bool crowded = false;
    for (uint32_t to = 0; to < node->config.thread_count; to++) {
        bool published = job_queue_publish(thread->out[PRIO_A][to]);
        published |= job_queue_publish(thread->out[PRIO_B][to]);
        if (published && to != thread->no) host->wake(host, to);
        crowded |= job_queue_crowded(thread->out[PRIO_B][to]);
    }
    if (crowded != (atomic_load_explicit(&thread->crowded, memory_order_relaxed) != 0))
        atomic_store_explicit(&thread->crowded, crowded ? 1u : 0u, memory_order_relaxed);
}
