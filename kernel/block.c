/* block.c -- registers block instances and answers what a block may ask of its node. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "kernel/block.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernel/thread_state.h"

#define INSTANCES_MAX 256u

static void block_register(struct block *block, uint32_t instance)
{
    struct node *node = block->node;
    struct block_slot *slot = &node->block[block->type->block_no];
    if (slot->instance == NULL) {
        slot->type = block->type;
        slot->instance = arena_alloc(node->arena, RG_NODE, INSTANCES_MAX * sizeof(struct block *));
        slot->handler_index = arena_alloc(node->arena, RG_NODE, GSN_TABLE);
        slot->thread_no = arena_alloc(node->arena, RG_NODE, INSTANCES_MAX);
        ndbrequire(slot->instance != NULL && slot->handler_index != NULL &&
                   slot->thread_no != NULL);
        memset(slot->thread_no, THREAD_NONE, INSTANCES_MAX);
        for (uint32_t i = 0; i < block->type->handler_count; i++)
            slot->handler_index[block->type->handlers[i].gsn] = (uint8_t)(i + 1);
    }
    ndbrequire(instance < INSTANCES_MAX && slot->instance[instance] == NULL); /* I-KERNEL-3 */
    slot->instance[instance] = block;
    slot->thread_no[instance] = (uint8_t)block->thread->no;
    if (instance > slot->count) slot->count = instance;
    block->handler_index = slot->handler_index;
}

struct block *block_create(struct thread *thread, const struct block_type *type, uint32_t instance,
                           size_t size)
{
    struct block *block = arena_alloc(thread->node->arena, RG_NODE, size);
    this_thread = thread;
    ndbrequire(block != NULL);
    block->thread = thread;
    block->node = thread->node;
    block->type = type;
    block->ref = block_ref(thread->node->config.own_node, type->block_no, instance);
    block_register(block, instance);
    this_thread = NULL;
    return block;
}

struct pool *block_pool_at(struct block *block, uint32_t number)
{
    if (number >= block->pool_count) return NULL;
    return (struct pool *)(void *)((uint8_t *)block + block->pools[number].offset);
}

void block_tamper(struct block *block, uint32_t number, uint32_t extra)
{
    block->error_insert = number;
    block->error_extra = extra;
    for (uint32_t i = 0; i < block->pool_count; i++)
        block_pool_at(block, i)->fail_next = 0;
    if (!ERROR_INSERTED(block, 9997)) return;
    struct pool *pool = block_pool_at(block, extra >> 16);
    if (pool != NULL) pool->fail_next = extra & 0xFFFFu;
}

uint64_t now_ms(const struct block *block)
{
    return block->thread->now;
}

struct rng *block_rng(struct block *block)
{
    return &block->thread->rng;
}

const struct node_config *block_config(const struct block *block)
{
    return &block->node->config;
}

struct arena *block_arena(const struct block *block)
{
    return block->node->arena;
}

void block_reserved(enum resource_group group, bool done)
{
    static const char *const text[RG_COUNT] = {
        [RG_DATA] = "raise DataMemory: what a block needs from the beginning does not fit",
        [RG_TRANSACTION] = "raise TransactionMemory: what a block needs from the beginning does "
                           "not fit",
        [RG_SCHEMA] = "raise SharedGlobalMemory: the records of tables do not fit",
    };
    if (done) return;
    node_fail(EXIT_RESOURCE_ALLOC, __FILE__, __LINE__,
              text[group] != NULL ? text[group] : "what the node's blocks need does not fit");
}

void *block_alloc(const struct block *block, enum resource_group group, size_t size)
{
    void *memory = arena_alloc(block->node->arena, group, size);
    block_reserved(group, memory != NULL);
    return memory;
}

struct block *block_neighbour(const struct block *block, uint32_t block_no)
{
    struct block *other = node_block(block->node, block_no, ref_instance(block->ref));
    return other != NULL && other->thread == block->thread ? other : NULL;
}

uint32_t block_instances(const struct block *block, uint32_t block_no)
{
    return block_no < BLOCK_COUNT ? block->node->block[block_no].count : 0;
}

enum link_level peer_level(const struct block *block, uint32_t node)
{
    if (node == block->node->config.own_node || node > NODE_ID_MAX) return LINK_NORMAL;
    return atomic_load_explicit(&block->node->link[node].level, memory_order_relaxed);
}

uint32_t peer_epoch(const struct block *block, uint32_t node)
{
    if (node > NODE_ID_MAX) return 0;
    return atomic_load_explicit(&block->node->link[node].sending, memory_order_relaxed);
}

uint32_t peer_class(const struct block *block, uint32_t node)
{
    if (node == block->node->config.own_node) return FROM_SELF;
    if (peer_epoch(block, node) == 0) return 0;
    return atomic_load_explicit(&block->node->link[node].class_, memory_order_relaxed);
}

void peer_close(struct block *block, uint32_t node, const char *reason)
{
    struct host *host = block->node->options.host;
    uint32_t epoch = peer_epoch(block, node);
    if (epoch != 0) host->link_close(host, node, epoch, reason);
}

void peer_refuse(struct block *block, uint32_t node, const char *reason)
{
    if (node <= NODE_ID_MAX)
        atomic_store(&block->node->link[node].refused, peer_epoch(block, node));
    peer_close(block, node, reason);
}

void peer_allow(struct block *block, uint32_t node, uint32_t allowed)
{
    struct host *host = block->node->options.host;
    host->link_allow(host, node, allowed);
}

void peer_restrict(struct block *block, uint32_t node, uint32_t restricted)
{
    uint32_t only = restricted != 0 ? ref_block(block->ref) : 0;
    atomic_store(&block->node->link[node].only, only);
}

void peer_guard(struct block *block, uint32_t node, uint32_t guarded)
{
    atomic_store(&block->node->link[node].guard, guarded != 0 ? ref_block(block->ref) : 0);
}

bool peer_restricted(const struct block *block, uint32_t node)
{
    return atomic_load(&block->node->link[node].only) != 0;
}

void node_phase(struct block *block, uint32_t phase)
{
    struct host *host = block->node->options.host;
    if (host->phase != NULL) host->phase(host, phase);
}

void node_started(struct block *block)
{
    struct host *host = block->node->options.host;
    if (host->started != NULL) host->started(host);
}

bool node_thread_times(const struct block *block, uint32_t no, struct thread_times *times)
{
    struct host *host = block->node->options.host;
    return host->thread_times != NULL && host->thread_times(host, no, times);
}

void node_stopped(struct block *block, uint32_t restart_flags)
{
    struct host *host = block->node->options.host;
    host->stopped(host, restart_flags);
}

void node_loop(struct block *block, uint32_t ms)
{
    struct host *host = block->node->options.host;
    uint64_t end_us = host->realtime_us(host) + (uint64_t)ms * 1000u;
    while (host->realtime_us(host) < end_us)
        continue; /* No jam: the trail shall show the way here. */
}

_Noreturn void node_fail(uint32_t exit_code, const char *file, uint32_t line, const char *text)
{
    if (this_thread == NULL) { /* Outside of a node there is nobody to tell. */
        fputs("node_fail outside of a node: ", stderr);
        fputs(text, stderr);
        fputc('\n', stderr);
        abort();
    }
    struct host *host = this_thread->node->options.host;
    struct node_failure failure = {.exit_code = exit_code,
                                   .thread_no = this_thread->no,
                                   .file = file,
                                   .line = line,
                                   .text = text};
    host->fail(host, &failure);
}

void log_write(const struct block *block, enum log_level level, const char *format, ...)
{
    char text[512];
    size_t at = (size_t)snprintf(text, sizeof text, "%s: ", block->type->name);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + at, sizeof text - at, format, arguments);
    va_end(arguments);
    struct host *host = block->node->options.host;
    host->log(host, level, text);
}
