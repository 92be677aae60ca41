/* watchdog.c -- reports a thread that does not finish its round, and stops the node when it never
 * does. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "ndbmtd/process.h"
#include "service/notify.h"
#include "ndbmtd/stall_rule.h"

/* A thread stuck for one interval is reported; after this many reports the node is stopped. */
#define WARNINGS_MAX 4u

struct watchdog {
    struct process *process;
    uint32_t interval_ms;
    uint32_t sleep_checks; /* A sleeping thread may stay away from so many checks: it wakes once a
                              second. */
    bool kill_at_once;     /* WatchDogImmediateKill is set. */
    struct stall stall[WORKERS_MAX];
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
                watchdog->stall[no].stuck * watchdog->interval_ms,
                thread != NULL ? "; its trail follows" : "");
    if (thread == NULL) return;
    thread_trace(thread, put_to_log, to);
    fflush(to);
}

/* What the operating system says of a thread: whether it could run, and what it has used. */
static void ask_system(const struct worker *worker, struct stall_seen *seen)
{
    char path[64];
    char state = 'S';
    unsigned long long user = 0;
    unsigned long long system = 0;
    uint32_t tid = atomic_load(&worker->tid);
    snprintf(path, sizeof path, "/proc/self/task/%u/stat", tid);
    FILE *file = tid != 0 ? fopen(path, "re") : NULL;
    /* It counts as if it could not run: then the time that passes counts. */
    if (file == NULL) return;
    if (fscanf(file, "%*u (%*[^)]) %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &state,
               &user, &system) == 3) {
        seen->waits = state == 'R';
        seen->cpu_ms = (user + system) * 1000u / (uint64_t)sysconf(_SC_CLK_TCK);
    }
    fclose(file);
}

static bool others_starved(const struct watchdog *watchdog, uint32_t no)
{
    for (uint32_t i = 0; i < layout_workers(&watchdog->process->config); i++) {
        if (i != no && watchdog->stall[i].starved) return true;
    }
    return false;
}

static void look_at(struct watchdog *watchdog, uint32_t no)
{
    struct process *process = watchdog->process;
    struct worker *worker = &process->worker[no];
    struct stall *stall = &watchdog->stall[no];
    bool starved = stall->starved;
    struct stall_seen seen = {
        .rounds =
            worker->thread != NULL ? thread_rounds(worker->thread) : atomic_load(&worker->rounds),
        .asleep = atomic_load(&worker->sleeping) != 0,
        .others = others_starved(watchdog, no),
    };
    ask_system(worker, &seen);
    enum stall_verdict verdict =
        stall_check(stall, &seen, watchdog->interval_ms, watchdog->sleep_checks);
    if (stall->starved && !starved)
        process_log(process, LOG_LEVEL_WARNING, "Watchdog: thread %u (%s) gets no processor", no,
                    layout_role_name(layout_role(&process->config, no)));
    if (verdict != STALL_STUCK) return;
    warn(watchdog, no);
    if (stall->stuck < WARNINGS_MAX && !watchdog->kill_at_once) return;
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
    service_alive(watchdog.interval_ms); /* From now on a hang of all threads is noticed, too. */
    for (;;) {
        struct timespec pause = {watchdog.interval_ms / 1000u,
                                 (long)(watchdog.interval_ms % 1000u) * 1000000L};
        uint64_t from = process_now_ns();
        nanosleep(&pause, NULL);
        if (atomic_load(&process->stopping) != 0) return NULL;
        /* The whole process was stopped, or has no processor: so had the others none. */
        if (process_now_ns() - from > 2000000ull * watchdog.interval_ms) continue;
        for (uint32_t no = 0; no < layout_workers(&process->config); no++)
            look_at(&watchdog, no);
        service_alive(watchdog.interval_ms);
    }
}

int watchdog_start(struct process *process)
{
    pthread_t thread;
    int error = pthread_create(&thread, NULL, watchdog_main, process);
    if (error != 0) return error;
    pthread_setname_np(thread, "ndb_watchdog");
    return pthread_detach(thread);
}
