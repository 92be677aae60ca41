/* node.c -- builds a node from its configuration, keeps its links, and takes in what they deliver.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "kernel/thread_state.h"

static uint32_t pages_for(uint64_t bytes)
{
    return (uint32_t)((bytes + PAGE_SIZE_BYTES - 1) / PAGE_SIZE_BYTES);
}

/* The job buffer and kernel groups follow from the layout; the others are the configuration's. */
static void size_kernel_groups(struct node_config *config)
{
    uint32_t threads = config->thread_count;
    /* A thread fills two queues of each: all of them may overflow at once. */
    if (config->overflow_segments < 2u * threads) config->overflow_segments = 2u * threads;
    uint32_t queue = pages_for(sizeof(struct job_queue)) + pages_for(config->job_queue_words * 4u);
    uint32_t segment = pages_for(sizeof(struct overflow_segment) + OVERFLOW_SEGMENT_WORDS * 4u);
    uint32_t delayed =
        pages_for(config->delayed_max * (sizeof(struct delayed) + DELAYED_WORDS * 4u + 4u)) + 3u;
    config->memory.pages_max[RG_JOB_BUFFER] =
        threads * threads * 2u * queue + threads * (config->overflow_segments * segment + delayed);
    config->memory.pages_max[RG_NODE] +=
        threads * pages_for(sizeof(struct thread)) + pages_for(sizeof(struct node)) + 1u;
    /* Each LDM's redo log, its buffer and a few pages for the log itself; and its checkpoints. */
    if (!config->diskless)
        config->memory.pages_max[RG_NODE] +=
            pages_for(SYSTEM_FILES_BYTES) +
            config->ldm_count * (pages_for(config->redo_buffer_bytes) + 4u +
                                 pages_for(LDM_CHECKPOINT_BYTES + config->tables_max * 4u));
    config->memory.pages_max[RG_TRANSACTION] +=
        (config->ldm_count + config->tc_count) * pages_for(INSTANCE_BYTES);
    config->memory.pages_max[RG_SEND_BUFFER] += config->thread_count * (NODE_ID_MAX + 1u);
}

static bool create_overflow(struct node *node, struct thread *thread)
{
    thread->overflow.segment_words = OVERFLOW_SEGMENT_WORDS;
    for (uint32_t i = 0; i < node->config.overflow_segments; i++) {
        struct overflow_segment *segment =
            arena_alloc(node->arena, RG_JOB_BUFFER, sizeof *segment + OVERFLOW_SEGMENT_WORDS * 4u);
        if (segment == NULL) return false;
        segment->next = thread->overflow.free;
        thread->overflow.free = segment;
    }
    return true;
}

static struct thread *create_thread(struct node *node, uint32_t no)
{
    struct thread *thread = arena_alloc(node->arena, RG_NODE, sizeof *thread);
    if (thread == NULL) return NULL;
    thread->node = node;
    thread->no = no;
    rng_seed(&thread->rng, node->options.host->seed(node->options.host));
    if (!time_queue_init(&thread->delayed, node->arena, node->config.delayed_max)) return NULL;
    return create_overflow(node, thread) ? thread : NULL;
}

static bool create_queue(struct node *node, struct thread *from, struct thread *to, uint32_t prio)
{
    struct job_queue *queue = arena_alloc(node->arena, RG_JOB_BUFFER, sizeof *queue);
    if (queue == NULL) return false;
    queue->ring =
        arena_alloc(node->arena, RG_JOB_BUFFER, (size_t)node->config.job_queue_words * 4u);
    if (queue->ring == NULL) return false;
    queue->size = node->config.job_queue_words;
    queue->signals_max = node->config.job_queue_signals;
    queue->pool = &from->overflow;
    from->out[prio][to->no] = queue;
    to->in[prio][from->no] = queue;
    return true;
}

static bool create_threads(struct node *node)
{
    uint32_t count = node->config.thread_count;
    for (uint32_t no = 0; no < count; no++) {
        node->thread[no] = create_thread(node, no);
        if (node->thread[no] == NULL) return false;
    }
    for (uint32_t from = 0; from < count; from++) {
        for (uint32_t to = 0; to < count; to++) {
            if (!create_queue(node, node->thread[from], node->thread[to], PRIO_A)) return false;
            if (!create_queue(node, node->thread[from], node->thread[to], PRIO_B)) return false;
        }
    }
    return true;
}

struct node *node_create(const struct node_config *config, const struct node_options *options)
{
    struct node_config sized = *config;
    if (config->thread_count == 0 || config->thread_count > THREADS_MAX) return NULL;
    size_kernel_groups(&sized);
    struct arena *arena = arena_create(&sized.memory);
    if (arena == NULL) return NULL;
    struct node *node = arena_alloc(arena, RG_NODE, sizeof *node);
    if (node == NULL) goto out;
    node->config = sized;
    node->options = *options;
    node->arena = arena;
    if (create_threads(node)) return node;
out:
    arena_destroy(arena);
    return NULL;
}

void node_destroy(struct node *node)
{
    if (node != NULL) arena_destroy(node->arena);
}

struct thread *node_thread(struct node *node, uint32_t thread_no)
{
    return thread_no < node->config.thread_count ? node->thread[thread_no] : NULL;
}

const struct node_config *node_config_of(const struct node *node)
{
    return &node->config;
}

struct arena *node_arena(struct node *node)
{
    return node->arena;
}

struct block *node_block(struct node *node, uint32_t block_no, uint32_t instance)
{
    if (block_no >= BLOCK_COUNT || instance > node->block[block_no].count) return NULL;
    return node->block[block_no].instance == NULL ? NULL : node->block[block_no].instance[instance];
}

void node_observe(struct node *node, node_observer *observer, void *context)
{
    node->observer = observer;
    node->observer_context = context;
}

void node_check(struct node *node)
{
    for (uint32_t block_no = 0; block_no < BLOCK_COUNT; block_no++) {
        const struct block_slot *slot = &node->block[block_no];
        if (slot->instance == NULL || slot->type->check == NULL) continue;
        for (uint32_t i = 0; i <= slot->count; i++) {
            if (slot->instance[i] == NULL) continue;
            this_thread = slot->instance[i]->thread;
            slot->type->check(slot->instance[i]);
            this_thread = NULL;
        }
    }
}

/* --- Links. --- */

/* What the host calls acts as one of the node's threads: should a queue be full, node_fail() has to
 * know whose. Returns who acted before: a block's word may have made the host close a link. */
static struct thread *act_as(struct thread *thread)
{
    struct thread *before = this_thread;
    this_thread = thread;
    return before;
}

static void put_link_rep(struct thread *from, struct thread *to, uint32_t receiver, uint32_t gsn,
                         enum signal_priority prio, const struct link_rep *rep)
{
    uint32_t words = sizeof *rep / 4u;
    uint32_t *room = thread_put(from, to->no, prio, SIGNAL_HEAD_WORDS + words, 0, 0);
    room[0] = signal_kind(gsn, words, 0, prio, 0);
    room[1] = receiver;
    room[2] = block_ref(from->node->config.own_node, BLOCK_NONE, from->no);
    room[3] = SIGNAL_HEAD_WORDS + words;
    memcpy(room + SIGNAL_HEAD_WORDS, rep, sizeof *rep);
}

void node_link_up(struct node *node, uint32_t thread_no, uint32_t peer, uint32_t sender_class,
                  uint32_t epoch)
{
    struct link_state *link = &node->link[peer];
    atomic_store(&link->class_, sender_class);
    atomic_store(&link->level, LINK_NORMAL);
    uint32_t guard = atomic_load(&link->guard);
    if (guard != 0) atomic_store(&link->only, guard);
    atomic_store(&link->receiving, epoch);
    atomic_store(&link->sending, epoch);
    uint32_t qmgr_ref = block_ref(node->config.own_node, BLOCK_QMGR, 0);
    struct block *qmgr = node_lookup(node, qmgr_ref);
    if (qmgr == NULL) return;
    struct link_rep rep = {peer, epoch, sender_class, node->config.thread_count, 0};
    struct thread *before = act_as(node->thread[thread_no]);
    put_link_rep(node->thread[thread_no], qmgr->thread, qmgr_ref, GSN_LINK_UP_REP, PRIO_A, &rep);
    this_thread = before;
}

void node_link_dismissed(struct node *node, uint32_t peer, uint32_t epoch)
{
    atomic_store(&node->link[peer].dismissed, epoch);
}

static enum link_end end_of(struct link_state *link, uint32_t epoch)
{
    if (atomic_load(&link->refused) == epoch) return LINK_END_REFUSED;
    return atomic_load(&link->dismissed) == epoch ? LINK_END_DISMISSED : LINK_END_PLAIN;
}

void node_link_down(struct node *node, uint32_t thread_no, uint32_t peer, uint32_t epoch)
{
    struct link_state *link = &node->link[peer];
    if (atomic_load(&link->sending) != epoch) return;
    atomic_store(&link->sending, 0);
    struct link_rep rep = {peer, epoch, atomic_load(&link->class_), node->config.thread_count,
                           end_of(link, epoch)};
    struct thread *before = act_as(node->thread[thread_no]);
    for (uint32_t to = 0; to < node->config.thread_count; to++) {
        put_link_rep(node->thread[thread_no], node->thread[to],
                     block_ref(node->config.own_node, BLOCK_NONE, to), GSN_LINK_DOWN_REP, PRIO_B,
                     &rep);
    }
    this_thread = before;
}

void node_link_level(struct node *node, uint32_t peer, enum link_level level)
{
    atomic_store_explicit(&node->link[peer].level, level, memory_order_relaxed);
}

static void refuse_delivery(struct node *node, uint32_t peer, uint32_t epoch, const char *why)
{
    atomic_store(&node->link[peer].receiving, 0);
    atomic_store(&node->link[peer].refused, epoch);
    node->options.host->link_close(node->options.host, peer, epoch, why);
}

static bool put_signals(struct thread *from, uint32_t peer, uint32_t epoch, const uint32_t *words,
                        uint32_t count)
{
    struct node *node = from->node;
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        const uint32_t *extent = words + at;
        struct block *block = node_lookup(node, extent[1]);
        if (ref_node(extent[1]) != node->config.own_node || block == NULL) {
            refuse_delivery(node, peer, epoch, "signal for a block that this node does not have");
            return false;
        }
        if (ref_node(extent[2]) != peer) {
            refuse_delivery(node, peer, epoch, "signal whose sender is not the node of the link");
            return false;
        }
        uint32_t *room =
            thread_put(from, block->thread->no, kind_prio(extent[0]), extent[3], peer, epoch);
        memcpy(room, extent, (size_t)extent[3] * 4u);
    }
    return true;
}

bool node_deliver(struct node *node, uint32_t thread_no, uint32_t peer, uint32_t epoch,
                  const uint32_t *words, uint32_t count)
{
    if (atomic_load_explicit(&node->link[peer].receiving, memory_order_relaxed) != epoch)
        return false;
    struct thread *before = act_as(node->thread[thread_no]);
    bool good = put_signals(node->thread[thread_no], peer, epoch, words, count);
    this_thread = before;
    return good;
}

bool node_congested(const struct node *node)
{
    for (uint32_t no = 0; no < node->config.thread_count; no++) {
        if (atomic_load_explicit(&node->thread[no]->crowded, memory_order_relaxed) != 0)
            return true;
    }
    return false;
}
