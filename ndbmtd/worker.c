/* worker.c -- the endless loops around thread_run_once(), and when a thread spins, sleeps and
 * wakes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <sched.h>
#include <time.h>
#include "kernel/limits.h"
#include "ndbmtd/process.h"

/*
 * Sleeping costs the next sender 10-20 us for the wake-up; spinning costs a CPU. A thread spins
 * only while the idle gaps it has seen lately are shorter than its spin time, so a busy node
 * answers fast and an idle one is quiet.
 */
#define SPIN_DEFAULT_NS 50000u

static void work_came(struct worker *worker, uint64_t now)
{
    if (worker->idle_since_ns == 0) return;
    uint64_t gap = now - worker->idle_since_ns;
    uint64_t bounded = gap > 100u * SPIN_DEFAULT_NS ? 100u * SPIN_DEFAULT_NS : gap;
    worker->gap_ns = (worker->gap_ns * 7u + bounded) / 8u;
    worker->idle_since_ns = 0;
}

/* Is it worth looking again at once? */
static bool may_spin(struct worker *worker, uint64_t now)
{
    uint64_t limit = worker->spin_ns;
    if (worker->idle_since_ns == 0) worker->idle_since_ns = now;
    return limit > 0 && worker->gap_ns < limit && now - worker->idle_since_ns < limit;
}

static uint64_t sleep_ms(const struct worker *worker, uint64_t timer_next_ms)
{
    uint64_t now = process_now_ms(worker->process);
    if (timer_next_ms == UINT64_MAX || timer_next_ms > now + SLEEP_MAX_MS) return SLEEP_MAX_MS;
    return timer_next_ms > now ? timer_next_ms - now : 0;
}

/* --- Threads that own no socket. --- */

static void worker_sleep(struct worker *worker, uint64_t milliseconds)
{
    struct timespec until;
    atomic_store_explicit(&worker->sleeping, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst); /* Pairs with host_wake(). */
    if (!thread_has_work(worker->thread) && atomic_load(&worker->process->stopping) == 0 &&
        milliseconds > 0) {
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += (time_t)(milliseconds / 1000u);
        until.tv_nsec += (long)(milliseconds % 1000u) * 1000000L;
        if (until.tv_nsec >= 1000000000L) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000L;
        }
        pthread_mutex_lock(&worker->lock);
        while (!worker->signalled &&
               pthread_cond_timedwait(&worker->wakeup, &worker->lock, &until) == 0) {
        }
        worker->signalled = false;
        pthread_mutex_unlock(&worker->lock);
    }
    atomic_store_explicit(&worker->sleeping, 0, memory_order_relaxed);
}

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    struct process *process = worker->process;
    thread_place(process, worker->no);
    while (atomic_load_explicit(&process->stopping, memory_order_relaxed) == 0) {
        struct thread_result round =
            thread_run_once(worker->thread, process_now_ms(process), ROUND_BUDGET_DEFAULT);
        uint64_t now = process_now_ns();
        if (round.executed > 0) {
            work_came(worker, now);
            continue;
        }
        if (thread_has_work(worker->thread) || may_spin(worker, now)) continue;
        worker_sleep(worker, sleep_ms(worker, round.timer_next_ms));
    }
    return NULL;
}

/* --- The thread that owns the sockets; with one thread it also runs every block. --- */

static void on_wake(uv_async_t *async)
{
    (void)async; /* Waking the loop was all. */
}

static void on_sleep_timer(uv_timer_t *timer)
{
    (void)timer;
}

static void take_words(void *context, uint32_t peer, uint32_t epoch, const uint32_t *words,
                       uint32_t count)
{
    transporter_send(((struct process *)context)->transporter, peer, epoch, words, count);
}

static bool drain_senders(struct process *process)
{
    if (process->send_queues == NULL) return false;
    return send_queues_drain(process->send_queues, take_words, process) > 0;
}

/* Reading from clients stops while the node has more signals waiting than it can take. */
static void regulate_clients(struct process *process)
{
    bool congested = node_congested(process->node);
    if (congested == process->paused) return;
    process->paused = congested;
    transporter_pause_clients(process->transporter, congested);
}

static void sockets_sleep(struct worker *worker, uint64_t milliseconds)
{
    struct process *process = worker->process;
    if (milliseconds == 0) return;
    atomic_store_explicit(&worker->sleeping, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    bool quiet = !thread_has_work(worker->thread) && atomic_load(&process->wishes) == 0 &&
                 atomic_load(&process->stopping) == 0;
    if (quiet && (process->send_queues == NULL || send_queues_sleep(process->send_queues))) {
        uv_timer_start(&process->sleep_timer, on_sleep_timer, milliseconds, 0);
        uv_run(&process->loop, UV_RUN_ONCE);
        uv_timer_stop(&process->sleep_timer);
        if (process->send_queues != NULL) send_queues_awake(process->send_queues);
    }
    atomic_store_explicit(&worker->sleeping, 0, memory_order_relaxed);
}

/* One round: blocks, then words to the sockets, then what the sockets have. True when there was
 * anything to do. */
static bool socket_round(struct worker *worker, struct thread_result *round)
{
    struct process *process = worker->process;
    *round = thread_run_once(worker->thread, process_now_ms(process), ROUND_BUDGET_DEFAULT);
    bool busy = round->executed > 0;
    host_os_wishes(process);
    busy |= drain_senders(process);
    transporter_flush(process->transporter);
    regulate_clients(process);
    uv_run(&process->loop, UV_RUN_NOWAIT); /* What it delivers is published by the next round. */
    return busy;
}

static void sockets_main(struct worker *worker)
{
    struct process *process = worker->process;
    thread_place(process, worker->no);
    while (atomic_load_explicit(&process->stopping, memory_order_relaxed) == 0) {
        struct thread_result round;
        bool busy = socket_round(worker, &round);
        uint64_t now = process_now_ns();
        if (busy || thread_has_work(worker->thread)) {
            work_came(worker, now);
            continue;
        }
        if (may_spin(worker, now)) continue;
        sockets_sleep(worker, sleep_ms(worker, round.timer_next_ms));
    }
}

/* What was decided last (a stop's answers) still leaves; peers see an orderly end. */
static void sockets_close(struct process *process)
{
    drain_senders(process);
    transporter_flush(process->transporter);
    transporter_stop(process->transporter);
    uint64_t deadline = process_now_ns() + 2000000000u;
    while (!transporter_stopped(process->transporter) && process_now_ns() < deadline)
        uv_run(&process->loop, UV_RUN_NOWAIT);
}

static int worker_init(struct process *process, uint32_t no)
{
    struct worker *worker = &process->worker[no];
    pthread_condattr_t attributes;
    worker->process = process;
    worker->no = no;
    worker->thread = node_thread(process->node, no);
    worker->gap_ns = process->spin_ns * 2u; /* Assume nothing: the first idle gap sleeps. */
    pthread_mutex_init(&worker->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&worker->wakeup, &attributes);
    pthread_condattr_destroy(&attributes);
    return 0;
}

void workers_init(struct process *process)
{
    uv_async_init(&process->loop, &process->wake_sockets, on_wake);
    uv_timer_init(&process->loop, &process->sleep_timer);
    for (uint32_t no = 0; no < process->config.thread_count; no++)
        worker_init(process, no);
}

int workers_run(struct process *process)
{
    uint32_t socket_no = layout_socket_thread(&process->config);
    for (uint32_t no = 0; no < process->config.thread_count; no++) {
        struct worker *worker = &process->worker[no];
        if (no == socket_no) continue;
        if (pthread_create(&worker->os_thread, NULL, worker_main, worker) != 0) return -1;
        char name[16];
        snprintf(name, sizeof name, "ndb_%s%u", layout_role_name(layout_role(&process->config, no)),
                 no);
        pthread_setname_np(worker->os_thread, name);
    }
    process->worker[socket_no].os_thread = pthread_self();
    sockets_main(&process->worker[socket_no]);
    for (uint32_t no = 0; no < process->config.thread_count; no++) {
        if (no != socket_no) pthread_join(process->worker[no].os_thread, NULL);
    }
    sockets_close(process);
    return 0;
}
