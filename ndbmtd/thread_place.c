/* thread_place.c -- gives a thread the CPUs, priority and spin time that ThreadConfig names for it.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "ndbmtd/process.h"

#define HEARD_NICE (-10) /* Nine tenths of a processor beside a busy process. */

/* The kind of a thread in ThreadConfig, and its number among its kind. */
static enum thread_kind kind_of(const struct node_config *config, uint32_t no, uint32_t *index)
{
    *index = 0;
    switch (layout_role(config, no)) {
    case ROLE_MAIN:
        return THREAD_KIND_MAIN;
    case ROLE_REP:
        return THREAD_KIND_REP;
    case ROLE_LDM:
        *index = no - layout_thread_of(config, BLOCK_DBLQH, 1);
        return THREAD_KIND_LDM;
    case ROLE_TC:
        *index = no - layout_thread_of(config, BLOCK_DBTC, 1);
        return THREAD_KIND_TC;
    case ROLE_SEND:
        *index = no - config->thread_count;
        return THREAD_KIND_SEND;
    case ROLE_RECV:
        *index = no - layout_socket_thread(config);
        break;
    case ROLE_ALL: /* It counts as recv: it owns the sockets. */
        break;
    }
    return THREAD_KIND_RECV;
}

const struct thread_config_entry *thread_place_entry(const struct thread_config *threads,
                                                     const struct node_config *config, uint32_t no,
                                                     uint32_t *index)
{
    enum thread_kind kind = kind_of(config, no, index);
    for (uint32_t i = 0; i < threads->entry_count; i++) {
        const struct thread_config_entry *entry = &threads->entries[i];
        if (entry->kind != kind) continue;
        if (*index < entry->count) return entry;
        *index -= entry->count;
    }
    return NULL;
}

/* True when `cpus` is where the thread has to run; without a list of its own that is where no other
 * one is alone. */
static bool wanted_cpus(const struct thread_config *threads,
                        const struct thread_config_entry *entry, uint32_t index, cpu_set_t *cpus)
{
    CPU_ZERO(cpus);
    if (entry != NULL && entry->cpu_count > 0) {
        for (uint32_t i = 0; i < entry->cpu_count; i++) {
            if (!entry->cpu_each || i == index) CPU_SET(entry->cpus[i], cpus);
        }
        return true;
    }
    bool change = false;
    if (sched_getaffinity(0, sizeof *cpus, cpus) != 0) return false;
    for (uint32_t i = 0; i < threads->entry_count; i++) {
        const struct thread_config_entry *other = &threads->entries[i];
        for (uint32_t cpu = 0; other->cpu_exclusive && cpu < other->cpu_count; cpu++) {
            CPU_CLR(other->cpus[cpu], cpus);
            change = true;
        }
    }
    return change && CPU_COUNT(cpus) > 0;
}

static void complain(struct process *process, const char *name, const char *what)
{
    process_log(process, LOG_LEVEL_WARNING, "%s: %s: %s", name, what, strerror(errno));
}

static int set_nice(int value)
{
    return setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), value);
}

/*
 * Whom the others hear by this thread is taken for dead when it gets no processor, so it takes what
 * priority it may, and says nothing where that is none. A value that somebody has chosen for the
 * process stays.
 */
static void take_priority(void)
{
    struct rlimit limit;
    if (getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid)) != 0) return;
    if (set_nice(HEARD_NICE) == 0 || getrlimit(RLIMIT_NICE, &limit) != 0) return;
    if (limit.rlim_cur > 20) (void)set_nice(20 - (int)limit.rlim_cur); /* At most HEARD_NICE. */
}

static void place(struct process *process, const struct thread_config_entry *entry, uint32_t index,
                  const char *name, bool heard)
{
    cpu_set_t cpus;
    if (wanted_cpus(&process->threads, entry, index, &cpus) &&
        sched_setaffinity(0, sizeof cpus, &cpus) != 0)
        complain(process, name, "the CPUs of ThreadConfig");
    if (process->realtime || (entry != NULL && entry->realtime)) {
        struct sched_param parameter = {.sched_priority = 1};
        if (sched_setscheduler(0, SCHED_RR, &parameter) == 0) return;
        complain(process, name, "realtime");
    }
    if (entry != NULL && entry->thread_prio != THREAD_PRIO_UNSET) {
        int nice_value = entry->thread_prio == 0
                             ? 19
                             : 20 - 4 * (int)entry->thread_prio; /* 5 is the usual priority. */
        if (set_nice(nice_value) != 0) complain(process, name, "thread_prio");
    } else if (heard) {
        take_priority();
    }
}

/* Heartbeats are made by main, and go by recv and send. */
static bool is_heard(enum thread_role role)
{
    return role == ROLE_ALL || role == ROLE_MAIN || role == ROLE_RECV || role == ROLE_SEND;
}

void thread_place(struct process *process, uint32_t no)
{
    uint32_t index = 0;
    char name[32];
    const struct thread_config_entry *entry =
        thread_place_entry(&process->threads, &process->config, no, &index);
    snprintf(name, sizeof name, "thread %u (%s)", no,
             layout_role_name(layout_role(&process->config, no)));
    atomic_store(&process->worker[no].tid, (unsigned)syscall(SYS_gettid));
    place(process, entry, index, name, is_heard(layout_role(&process->config, no)));
    process->worker[no].spin_ns = entry != NULL && entry->spintime_set
                                      ? (uint64_t)entry->spintime_us * 1000u
                                      : process->spin_ns;
}

void thread_place_kind(struct process *process, enum thread_kind kind)
{
    const struct thread_config_entry *entry = NULL;
    for (uint32_t i = 0; i < process->threads.entry_count && entry == NULL; i++) {
        if (process->threads.entries[i].kind == kind) entry = &process->threads.entries[i];
    }
    place(process, entry, 0, thread_kind_name(kind), kind == THREAD_KIND_WATCHDOG);
}
