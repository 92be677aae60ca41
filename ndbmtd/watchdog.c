/* watchdog.c -- reports a thread that does not finish its round, and stops the node when it never
 * does. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <time.h>
#include "ndbmtd/process.h"

/* A thread stuck for one interval is reported; after this many reports the node is stopped. */
#define WARNINGS_MAX 4u

struct watchdog {
    struct process *process;
    uint32_t interval_ms;
    uint32_t sleep_checks; /* A sleeping thread may stay away from so many checks: it wakes once a
                              second. */
    bool kill_at_once;     /* WatchDogImmediateKill. */
    uint64_t rounds[WORKERS_MAX];
    uint32_t stuck[WORKERS_MAX];
    uint32_t away[WORKERS_MAX]; /* Checks that found the thread asleep. */
};

static void put_to_log(void *context, const char *text, uint32_t size)
{
    fwrite(text, 1, size, context);
}

static void warn(struct watchdog *watchdog, uint32_t no)
{
    struct process *process = watchdog->process;
    FILE *to = process->log != NULL ? process->log : stderr;
    const struct thread *thread = process->worker[no].thread;
    process_log(process, LOG_LEVEL_WARNING, "Watchdog: thread %u (%s) has not moved for %u ms%s",
                no, layout_role_name(layout_role(&process->config, no)),
                watchdog->stuck[no] * watchdog->interval_ms,
                thread != NULL ? "; its trail follows" : "");
    if (thread == NULL) return;
    thread_trace(thread, put_to_log, to);
    fflush(to);
}

static void look_at(struct watchdog *watchdog, uint32_t no)
{
    struct process *process = watchdog->process;
    struct worker *worker = &process->worker[no];
    uint64_t rounds =
        worker->thread != NULL ? thread_rounds(worker->thread) : atomic_load(&worker->rounds);
    if (rounds != watchdog->rounds[no]) {
        watchdog->rounds[no] = rounds;
        watchdog->stuck[no] = 0;
        watchdog->away[no] = 0;
        return;
    }
    /* A thread with sockets also counts as sleeping while a callback runs: asleep is no excuse for
     * ever. */
    if (atomic_load(&worker->sleeping) != 0 && watchdog->away[no] < watchdog->sleep_checks) {
        watchdog->away[no]++;
        return;
    }
    watchdog->stuck[no]++;
    warn(watchdog, no);
    if (watchdog->stuck[no] < WARNINGS_MAX && !watchdog->kill_at_once) return;
    char text[64];
    snprintf(text, sizeof text, "thread %u (%s) is stuck", no,
             layout_role_name(layout_role(&process->config, no)));
    struct node_failure failure = {
        .exit_code = EXIT_WATCHDOG,
        .thread_no = no,
        .file = __FILE__,
        .line = __LINE__,
        .text = text,
    };
    process_fail(process, &failure);
}

static void *watchdog_main(void *argument)
{
    static struct watchdog watchdog; /* One process has one node, hence one watchdog. */
    struct process *process = argument;
    const struct config_section *own = config_node(process->cluster, process->config.own_node);
    thread_place_kind(process, THREAD_KIND_WATCHDOG);
    watchdog.process = process;
    watchdog.interval_ms = (uint32_t)config_get_u64(own, CFG_NDBD_TimeBetweenWatchDogCheck);
    watchdog.sleep_checks = 2u * SLEEP_MAX_MS / watchdog.interval_ms + 1u;
    watchdog.kill_at_once = config_get_u64(own, CFG_NDBD_WatchDogImmediateKill) != 0;
    for (;;) {
        struct timespec pause = {watchdog.interval_ms / 1000u,
                                 (long)(watchdog.interval_ms % 1000u) * 1000000L};
        nanosleep(&pause, NULL);
        if (atomic_load(&process->stopping) != 0) return NULL;
        for (uint32_t no = 0; no < layout_workers(&process->config); no++)
            look_at(&watchdog, no);
    }
}

int watchdog_start(struct process *process)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, watchdog_main, process) != 0) return -1;
    pthread_setname_np(thread, "ndb_watchdog");
    return pthread_detach(thread);
}
