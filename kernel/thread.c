/* thread.c -- thread_run_once(): the one loop that production and simulation share. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "kernel/dispatch.h"

/* Outside of any node's thread (while a node is built, in unit tests) jams go to a ring that nobody
 * reads. */
static struct jam_ring spare_jam;
_Thread_local struct jam_ring *this_jam = &spare_jam;
_Thread_local struct thread *this_thread;

/* Signals from one queue before the next queue has its turn. */
#define VISIT_SIGNALS 75u
/* How many signals ahead a block is asked to prefetch for: a cache miss lasts about as long as one
 * or two signals. */
#define AHEAD_FAR_SIGNALS  8u
#define AHEAD_NEAR_SIGNALS 4u
/*
 * Work that was broken off takes as long as this many signals. A round that let it go on for its
 * whole budget, which nothing else contends for, would not look at the sockets for milliseconds.
 */
#define CONTINUEB_COST 256u
/* A signals in a row before B signals and sockets are looked at again, should blocks keep sending
 * them to each other. */
#define PRIORITY_A_ROW 1024u

/* Due delayed signals enter the thread's own queue of the priority that their sender gave. */
static void run_timers(struct thread *thread)
{
    const uint32_t *words;
    while ((words = time_queue_take(&thread->delayed, thread->now)) != NULL) {
        uint32_t *room = thread_put(thread, thread->no, kind_prio(words[0]), words[3], 0, 0);
        memcpy(room, words, words[3] * 4u);
    }
}

/* Runs up to `limit` signals of one queue. */
static uint32_t run_queue(struct thread *thread, struct job_queue *queue, uint32_t limit)
{
    uint32_t count = 0;
    const uint32_t *record;
    while (count < limit && (record = job_queue_peek(queue)) != NULL) {
        dispatch(thread, record);
        job_queue_next(queue, record);
        count++;
    }
    if (count > 0) job_queue_done(queue);
    return count;
}

/* All A signals that are there, including those that they send to this thread. */
static uint32_t run_priority_a(struct thread *thread)
{
    uint32_t executed = 0;
    uint32_t round;
    do {
        round = 0;
        job_queue_publish(thread->out[PRIO_A][thread->no]);
        for (uint32_t from = 0; from < thread->node->config.thread_count; from++)
            round += run_queue(thread, thread->in[PRIO_A][from], VISIT_SIGNALS);
        executed += round;
    } while (round > 0 && executed < PRIORITY_A_ROW);
    return executed;
}

static bool self_has_priority_a(const struct thread *thread)
{
    const struct job_queue *queue = thread->in[PRIO_A][thread->no];
    return queue->tail != queue->read;
}

/* A place in a queue some records ahead of the one that is executed. */
struct ahead {
    uint64_t at;   /* The next record to look at. */
    uint32_t lead; /* Records looked at that have not been executed. */
    uint32_t far;  /* The most that `lead` may be. */
};

static void look_at(const struct thread *thread, const uint32_t *words,
                    enum block_ahead_stage stage)
{
    const struct block *block = node_lookup(thread->node, words[1]);
    if (block != NULL && block->ahead != NULL) block->ahead(block, words, stage);
}

static inline void look_ahead(const struct thread *thread, const struct job_queue *queue,
                              struct ahead *ahead, enum block_ahead_stage stage)
{
    while (ahead->lead < ahead->far && ahead->at != queue->published_seen) {
        const uint32_t *record = queue->ring + (ahead->at & (queue->size - 1));
        if (record[0] == 0) {
            ahead->at += queue->size - (ahead->at & (queue->size - 1));
            continue;
        }
        look_at(thread, record + RECORD_HEAD_WORDS, stage);
        ahead->at += record[0];
        ahead->lead++;
    }
}

static uint32_t cost_of(const uint32_t *record)
{
    return kind_gsn(record[RECORD_HEAD_WORDS]) == GSN_CONTINUEB ? CONTINUEB_COST : 1;
}

/* One queue's turn: like run_queue(), but an A signal that a handler sent to its own thread runs
 * right after it. Returns how many signals, and adds to `spent` what they cost. */
static uint32_t visit(struct thread *thread, struct job_queue *queue, uint32_t limit,
                      uint32_t *spent)
{
    uint32_t count = 0;
    uint32_t cost = 0;
    const uint32_t *record;
    struct ahead far = {queue->read, 0, AHEAD_FAR_SIGNALS};
    struct ahead near = {queue->read, 0, AHEAD_NEAR_SIGNALS};
    while (cost < limit && (record = job_queue_peek(queue)) != NULL) {
        look_ahead(thread, queue, &far, AHEAD_FAR);
        look_ahead(thread, queue, &near, AHEAD_NEAR);
        cost += cost_of(record);
        dispatch(thread, record);
        job_queue_next(queue, record);
        far.lead--;
        near.lead--;
        count++;
        if (self_has_priority_a(thread)) {
            uint32_t urgent = run_priority_a(thread);
            count += urgent;
            cost += urgent;
        }
    }
    if (count > 0) job_queue_done(queue);
    *spent += cost;
    return count;
}

/* B signals that cost about `budget`, the queues taking turns. */
static uint32_t run_priority_b(struct thread *thread, uint32_t budget)
{
    uint32_t threads = thread->node->config.thread_count;
    uint32_t executed = 0;
    uint32_t spent = 0;
    uint32_t idle = 0;
    while (spent < budget && idle < threads) {
        uint32_t from = thread->turn;
        thread->turn = from + 1 == threads ? 0 : from + 1;
        if (from == thread->no) job_queue_publish(thread->out[PRIO_B][from]);
        uint32_t left = budget - spent;
        uint32_t done = visit(thread, thread->in[PRIO_B][from],
                              left < VISIT_SIGNALS ? left : VISIT_SIGNALS, &spent);
        idle = done == 0 ? idle + 1 : 0;
        executed += done;
    }
    return executed;
}

/* The last link of bounded work: who sends faster than others read executes one signal a round, and
 * so goes on slowly. */
static uint32_t throttled(const struct thread *thread, uint32_t budget)
{
    for (uint32_t to = 0; to < thread->node->config.thread_count; to++) {
        if (to != thread->no && thread->out[PRIO_B][to]->overflow_first != NULL) return 1;
    }
    return budget;
}

struct thread_result thread_run_once(struct thread *thread, uint64_t now, uint32_t budget)
{
    struct thread_result result = {0, UINT64_MAX};
    this_thread = thread;
    this_jam = &thread->jam;
    if (now > thread->now) thread->now = now;
    thread->trace_id = 0;

    thread_take_io(thread);
    run_timers(thread);
    result.executed = run_priority_a(thread);
    result.executed += run_priority_b(thread, throttled(thread, budget));
    job_queue_rewind(thread->in[PRIO_A][thread->no]);
    job_queue_rewind(thread->in[PRIO_B][thread->no]);
    thread_flush(thread);

    result.timer_next_ms = time_queue_next(&thread->delayed);
    atomic_fetch_add_explicit(&thread->rounds, 1, memory_order_relaxed);
    if (result.executed > 0)
        atomic_fetch_add_explicit(&thread->signals, result.executed, memory_order_relaxed);
    this_jam = &spare_jam;
    this_thread = NULL;
    return result;
}

bool thread_has_work(const struct thread *thread)
{
    if (atomic_load_explicit(&thread->io_done, memory_order_relaxed) != NULL) return true;
    for (uint32_t other = 0; other < thread->node->config.thread_count; other++) {
        for (uint32_t prio = PRIO_B; prio <= PRIO_A; prio++) {
            const struct job_queue *out = thread->out[prio][other];
            if (out->overflow_first != NULL) return true;
            if (out->tail != atomic_load_explicit(&out->published, memory_order_relaxed))
                return true;
            if (job_queue_ready(thread->in[prio][other])) return true;
        }
    }
    return false;
}

uint32_t thread_no_of(const struct thread *thread)
{
    return thread->no;
}

uint64_t thread_rounds(const struct thread *thread)
{
    return atomic_load_explicit(&thread->rounds, memory_order_relaxed);
}

uint64_t thread_signals(const struct thread *thread)
{
    return atomic_load_explicit(&thread->signals, memory_order_relaxed);
}
