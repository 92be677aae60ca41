/* watchdog.c -- reports a thread that does not finish its round, and stops the node when it never does. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <unistd.h>
#include "ndbmtd/process.h"

/* A thread stuck for one interval is reported, for this many the node is stopped. */
#define STUCK_LIMIT 3u

struct watchdog {
    struct process *process;
    uint32_t interval_ms;
    uint64_t rounds[THREADS_MAX];
    uint32_t stuck[THREADS_MAX];
};

static void put_to_log(void *context, const char *text, uint32_t size)
{
    fwrite(text, 1, size, context);
}

static void look_at(struct watchdog *watchdog, uint32_t no)
{
    struct process *process = watchdog->process;
    struct worker *worker = &process->worker[no];
    uint64_t rounds = thread_rounds(worker->thread);
    if (rounds != watchdog->rounds[no] || atomic_load(&worker->sleeping) != 0) {
        watchdog->rounds[no] = rounds;
        watchdog->stuck[no] = 0;
        return;
    }
    watchdog->stuck[no]++;
    process_log(process, LOG_LEVEL_WARNING, "Watchdog: thread %u (%s) has not moved for %u ms; its trail follows", no,
                layout_role_name(layout_role(&process->config, no)), watchdog->stuck[no] * watchdog->interval_ms);
    if (process->log != NULL) thread_trace(worker->thread, put_to_log, process->log);
    if (watchdog->stuck[no] < STUCK_LIMIT) return;
    struct node_failure failure = {
        .exit_code = EXIT_WATCHDOG,
        .thread_no = no,
        .file = __FILE__,
        .line = __LINE__,
        .text = "a thread is stuck",
    };
    process_fail(process, &failure);
}

static void *watchdog_main(void *argument)
{
    static struct watchdog watchdog; /* One process has one node, hence one watchdog. */
    watchdog.process = argument;
    watchdog.interval_ms =
        (uint32_t)config_get_u64(config_node(watchdog.process->cluster, watchdog.process->config.own_node),
                                 CFG_NDBD_TimeBetweenWatchDogCheck);
    while (atomic_load(&watchdog.process->stopping) == 0) {
        usleep(watchdog.interval_ms * 1000u);
        for (uint32_t no = 0; no < watchdog.process->config.thread_count; no++)
            look_at(&watchdog, no);
    }
    return NULL;
}

int watchdog_start(struct process *process)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, watchdog_main, process) != 0) return -1;
    pthread_setname_np(thread, "ndb_watchdog");
    return pthread_detach(thread);
}
