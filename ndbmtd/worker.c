/* worker.c -- the endless loops around thread_run_once(), and when a thread spins, sleeps and
 * wakes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include "kernel/limits.h"
#include "ndbmtd/process.h"

/*
 * Sleeping costs the next sender 10-20 us for the wake-up; spinning costs a CPU. A thread spins
 * only while the idle gaps it has seen lately are shorter than its spin time, so a busy node
 * answers fast and an idle one is quiet. Where others want the same CPU, spinning costs more than
 * it brings: a thread that lost its CPU to somebody sleeps through some dozens of gaps.
 */
#define GAP_MAX_NS 5000000u /* One long gap counts as no more than so much. */

/* Somebody else has taken the processor from this thread since the last call. */
static bool was_ousted(struct worker *worker)
{
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0) return false;
    bool ousted = usage.ru_nivcsw != worker->ousted;
    worker->ousted = usage.ru_nivcsw;
    return ousted;
}

static void work_came(struct worker *worker, uint64_t now)
{
    if (worker->idle_since_ns == 0) return;
    uint64_t gap = now - worker->idle_since_ns;
    account_gap(worker, gap);
    if (gap > GAP_MAX_NS) gap = GAP_MAX_NS;
    worker->gap_ns = (worker->gap_ns * 7u + gap) / 8u;
    if (worker->gap_ns < worker->spin_ns && was_ousted(worker)) worker->gap_ns = GAP_MAX_NS;
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
        account_round(worker, now);
        if (round.executed > 0) {
            work_came(worker, now);
            continue;
        }
        if (thread_has_work(worker->thread) || may_spin(worker, now)) continue;
        account_sleep(worker, now);
        worker_sleep(worker, sleep_ms(worker, round.timer_next_ms));
        account_awake(worker);
    }
    return NULL;
}

/* --- Threads that own sockets: recv, send; with one thread it also runs every block. --- */

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
    struct sockets *sockets = context;
    if (sockets->writer != NULL) {
        link_writer_send(sockets->writer, peer, epoch, words, count);
    } else {
        transporter_send(sockets->transporter, peer, epoch, words, count);
    }
}

static bool drain_senders(struct sockets *sockets)
{
    return sockets->queues != NULL && send_queues_drain(sockets->queues, take_words, sockets) > 0;
}

static void flush(struct sockets *sockets)
{
    if (sockets->writer != NULL) link_writer_flush(sockets->writer);
    if (sockets->transporter != NULL) transporter_flush(sockets->transporter);
}

/* Reading from clients stops while the node has more signals waiting than it can take. */
static void regulate_clients(struct worker *worker)
{
    struct sockets *sockets = worker->sockets;
    bool congested = node_congested(worker->process->node);
    if (congested == sockets->paused) return;
    sockets->paused = congested;
    transporter_pause_clients(sockets->transporter, congested);
}

static bool worker_has_work(const struct worker *worker)
{
    return worker->thread != NULL && thread_has_work(worker->thread);
}

static void sockets_sleep(struct worker *worker, uint64_t milliseconds)
{
    struct sockets *sockets = worker->sockets;
    if (milliseconds == 0) return;
    atomic_store_explicit(&worker->sleeping, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    bool quiet = !worker_has_work(worker) && atomic_load(&sockets->wishes) == 0 &&
                 atomic_load(&worker->process->stopping) == 0;
    if (quiet && (sockets->queues == NULL || send_queues_sleep(sockets->queues))) {
        uv_timer_start(&sockets->sleep_timer, on_sleep_timer, milliseconds, 0);
        uv_run(&sockets->loop, UV_RUN_ONCE);
        uv_timer_stop(&sockets->sleep_timer);
        if (sockets->queues != NULL) send_queues_awake(sockets->queues);
    }
    atomic_store_explicit(&worker->sleeping, 0, memory_order_relaxed);
}

/* One round: blocks, then words to the sockets, then what the sockets have. True when there was
 * anything to do. */
static bool recv_round(struct worker *worker, struct thread_result *round)
{
    struct sockets *sockets = worker->sockets;
    *round = thread_run_once(worker->thread, process_now_ms(worker->process), ROUND_BUDGET_DEFAULT);
    bool busy = round->executed > 0;
    host_os_wishes(worker);
    busy |= drain_senders(sockets);
    flush(sockets);
    regulate_clients(worker);
    uv_run(&sockets->loop, UV_RUN_NOWAIT); /* What it delivers is published by the next round. */
    return busy;
}

static bool send_round(struct worker *worker)
{
    bool busy = drain_senders(worker->sockets);
    flush(worker->sockets);
    uv_run(&worker->sockets->loop, UV_RUN_NOWAIT); /* Sockets that take words again. */
    atomic_fetch_add_explicit(&worker->rounds, 1, memory_order_relaxed);
    return busy;
}

static void *sockets_main(void *argument)
{
    struct worker *worker = argument;
    struct process *process = worker->process;
    thread_place(process, worker->no);
    while (atomic_load_explicit(&process->stopping, memory_order_relaxed) == 0) {
        struct thread_result round = {0, UINT64_MAX};
        bool busy = worker->thread != NULL ? recv_round(worker, &round) : send_round(worker);
        uint64_t now = process_now_ns();
        account_round(worker, now);
        if (busy || worker_has_work(worker)) {
            work_came(worker, now);
            continue;
        }
        if (may_spin(worker, now)) continue;
        account_sleep(worker, now);
        sockets_sleep(worker, sleep_ms(worker, round.timer_next_ms));
        account_awake(worker);
    }
    return NULL;
}

/* --- Beginning and end. --- */

/* All other threads have ended: this one turns every loop. */
static bool turn_loops(struct process *process)
{
    bool stopped = true;
    for (uint32_t no = 0; no < layout_workers(&process->config); no++) {
        struct sockets *sockets = process->worker[no].sockets;
        if (sockets == NULL) continue;
        uv_run(&sockets->loop, UV_RUN_NOWAIT);
        if (sockets->transporter != NULL && !transporter_stopped(sockets->transporter))
            stopped = false;
    }
    return stopped;
}

/* What was decided last (a stop's answers) still leaves; peers see an orderly end. */
static void sockets_close(struct process *process)
{
    uint64_t deadline = process_now_ns() + 2000000000u;
    for (uint32_t no = 0; no < layout_workers(&process->config); no++) {
        struct sockets *sockets = process->worker[no].sockets;
        if (sockets == NULL) continue;
        drain_senders(sockets);
        flush(sockets);
    }
    for (uint32_t no = 0; no < process->config.thread_count; no++) {
        struct sockets *sockets = process->worker[no].sockets;
        if (sockets != NULL) transporter_stop(sockets->transporter);
    }
    while (!turn_loops(process) && process_now_ns() < deadline) {
    }
}

/* Who writes for other threads has rings from them; only the one-thread layout needs none. */
static bool is_written_to(const struct process *process, uint32_t no)
{
    enum thread_role role = layout_role(&process->config, no);
    return role == ROLE_SEND || (role == ROLE_RECV && process->config.send_count == 0);
}

/* NULL: the reason was told. */
static struct sockets *sockets_create(const struct process *process, uint32_t no)
{
    struct sockets *sockets = calloc(1, sizeof *sockets);
    int error = sockets == NULL ? UV_ENOMEM : transporter_loop_init(&sockets->loop);
    if (error == 0) error = uv_async_init(&sockets->loop, &sockets->wake, on_wake);
    if (error == 0) error = uv_timer_init(&sockets->loop, &sockets->sleep_timer);
    if (error == 0 && is_written_to(process, no)) {
        sockets->queues = send_queues_create(process->config.thread_count, 0);
        if (sockets->queues == NULL) error = UV_ENOMEM;
    }
    if (error == 0 && layout_role(&process->config, no) == ROLE_SEND) {
        sockets->writer = link_writer_create(&sockets->loop);
        if (sockets->writer == NULL) error = UV_ENOMEM;
    }
    if (error == 0) return sockets;
    struct process *teller = (struct process *)(uintptr_t)process;
    if (error == UV_ENOMEM)
        process_log(teller, LOG_LEVEL_ERROR, "%s", exit_code_text(EXIT_MEMALLOC));
    else
        process_log(teller, LOG_LEVEL_ERROR, "the network cannot be used: %s", uv_strerror(error));
    free(sockets); /* The process ends. */
    return NULL;
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
    if (no < layout_socket_thread(&process->config)) return 0;
    worker->sockets = sockets_create(process, no);
    return worker->sockets != NULL ? 0 : -1;
}

int workers_init(struct process *process)
{
    for (uint32_t no = 0; no < layout_workers(&process->config); no++) {
        if (worker_init(process, no) != 0) return -1;
    }
    return 0;
}

struct sockets *workers_first_sockets(struct process *process)
{
    return process->worker[layout_socket_thread(&process->config)].sockets;
}

static int worker_start(struct worker *worker)
{
    void *(*routine)(void *) = worker->sockets != NULL ? sockets_main : worker_main;
    char name[16];
    int error = pthread_create(&worker->os_thread, NULL, routine, worker);
    if (error != 0) return error;
    snprintf(name, sizeof name, "ndb_%s%u",
             layout_role_name(layout_role(&worker->process->config, worker->no)), worker->no);
    pthread_setname_np(worker->os_thread, name);
    return 0;
}

int workers_run(struct process *process)
{
    uint32_t own = layout_socket_thread(&process->config);
    uint32_t count = layout_workers(&process->config);
    for (uint32_t no = 0; no < count; no++) {
        int error = no == own ? 0 : worker_start(&process->worker[no]);
        if (error != 0) return error;
    }
    process->worker[own].os_thread = pthread_self();
    sockets_main(&process->worker[own]);
    for (uint32_t no = 0; no < count; no++) {
        if (no != own) pthread_join(process->worker[no].os_thread, NULL);
    }
    sockets_close(process);
    return 0;
}
