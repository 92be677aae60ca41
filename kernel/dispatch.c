/* dispatch.c -- refuses what does not fit before any handler runs; traces and runs the rest. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "kernel/dispatch.h"
#include <stdio.h>
#include <string.h>

/* A signal that may not be: from outside its link is closed, from inside the node stops. */
static void refuse(struct thread *thread, uint32_t peer, uint32_t epoch, const struct signal *sig,
                   const char *why)
{
    struct node *node = thread->node;
    char text[160];
    snprintf(text, sizeof text, "%s: signal %s (%u) from node %u block %u to block %u", why,
             node->options.gsn_name(sig->gsn), sig->gsn, ref_node(sig->sender),
             ref_block(sig->sender), ref_block(sig->receiver));
    if (peer == 0) node_fail(EXIT_ILLEGAL_SIGNAL, __FILE__, __LINE__, text);
    uint32_t expected = epoch;
    /* The first violation ends the link; what it delivered after that is not looked at. */
    if (!atomic_compare_exchange_strong(&node->link[peer].receiving, &expected, 0)) return;
    atomic_store(&node->link[peer].refused, epoch);
    node->options.host->link_close(node->options.host, peer, epoch, text);
}

static void trace(struct thread *thread, const uint32_t *words)
{
    struct trace_entry *entry = &thread->trace[thread->trace_next++ & (TRACE_SIGNALS - 1)];
    uint32_t count = kind_words(words[0]);
    memcpy(entry->head, words, sizeof entry->head);
    if (count > TRACE_PAYLOAD_WORDS) count = TRACE_PAYLOAD_WORDS;
    for (uint32_t i = 0; i < count; i++)
        entry->payload[i] = words[SIGNAL_HEAD_WORDS + i];
    entry->jam_at = thread->jam.next;
}

/*
 * LINK_DOWN_REP travels through the B queue of every thread, behind all that the link delivered to
 * it; each thread passes it on to QMGR, which acts when all have done so.
 */
static void forward_link_down(struct thread *thread, const uint32_t *words)
{
    uint32_t qmgr_ref = block_ref(thread->node->config.own_node, BLOCK_QMGR, 0);
    struct block *qmgr = node_lookup(thread->node, qmgr_ref);
    if (qmgr == NULL) return;
    uint32_t *copy = thread_put(thread, qmgr->thread->no, PRIO_B, words[3], 0, 0);
    memcpy(copy, words, words[3] * 4u);
    copy[1] = qmgr_ref;
}

static void tamper(struct block *block, const struct signal *sig)
{
    const struct tamper_ord *ord = SIG_PAYLOAD(sig, tamper_ord);
    block_tamper(block, ord->number, ord->extra);
}

static const char *misfit(const struct handler *handler, const struct signal *sig,
                          uint32_t sender_class)
{
    if ((handler->senders & sender_class) == 0) return "sender may not send this";
    if (sig->words < handler->words_min) return "payload too short";
    if (sig->section_count < handler->sections_min || sig->section_count > handler->sections_max)
        return "wrong number of sections";
    return NULL;
}

/* The handler, or NULL and why the signal is refused. */
static inline const struct handler *handler_for(const struct block *block, const struct signal *sig,
                                                uint32_t sender_class, const char **why)
{
    uint32_t index = sig->gsn < GSN_TABLE ? block->handler_index[sig->gsn] : 0;
    *why = "block does not take this";
    if (index == 0) return NULL;
    const struct handler *handler = &block->type->handlers[index - 1];
    *why = misfit(handler, sig, sender_class); /* I-KERNEL-1 */
    return *why == NULL ? handler : NULL;
}

/* Every block takes it, without a line in its table. NULL, or why it is refused. */
static const char *exec_tamper(struct block *block, const struct signal *sig, uint32_t sender_class)
{
    if ((sender_class & FROM_NODES) == 0 || sig->words < sizeof(struct tamper_ord) / 4u)
        return "sender may not send this";
    tamper(block, sig);
    return NULL;
}

void dispatch(struct thread *thread, const uint32_t *record)
{
    struct node *node = thread->node;
    uint32_t peer = record[1];
    uint32_t epoch = record[2];
    const uint32_t *words = record + RECORD_HEAD_WORDS;
    uint32_t sender_class = FROM_SELF;
    const struct handler *handler = NULL;
    const char *why = "no such block";

    if (peer != 0) { /* I-KERNEL-2 */
        if (atomic_load_explicit(&node->link[peer].receiving, memory_order_relaxed) != epoch)
            return;
        sender_class = atomic_load_explicit(&node->link[peer].class_, memory_order_relaxed);
    }
    struct signal sig;
    signal_open(&sig, words);
    if (peer != 0) {
        uint32_t only = atomic_load_explicit(&node->link[peer].only, memory_order_relaxed);
        if (__builtin_expect(only != 0, 0) && ref_block(sig.receiver) != only) return;
    }
    if (peer == 0 && sig.gsn == GSN_LINK_DOWN_REP && ref_block(sig.receiver) == BLOCK_NONE) {
        forward_link_down(thread, words);
        return;
    }
    struct block *block = node_lookup(node, sig.receiver);
    if (block != NULL && sig.gsn == GSN_TAMPER_ORD)
        why = exec_tamper(block, &sig, sender_class);
    else if (block != NULL)
        handler = handler_for(block, &sig, sender_class, &why);
    if (handler == NULL) {
        if (why != NULL) refuse(thread, peer, epoch, &sig, why);
        return;
    }
    trace(thread, words);
    if (__builtin_expect(node->observer != NULL, 0))
        node->observer(node->observer_context, thread->no, words);
    thread->trace_id = sig.trace;
    handler->exec(block, &sig);
}
