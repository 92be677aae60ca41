/* thread_account.c -- counts what each thread of the node uses: CPU, work, spinning, sleep. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread asks the operating system about itself a hundred times a second at most, and measures
 * its idle gaps, in which it sleeps or spins, with the times that its loop takes anyway. What is
 * neither is work.
 */
#include <string.h>
#include <sys/resource.h>
#include "ndbmtd/process.h"
#include "signals/node_report.h"

#define SAMPLE_NS 10000000u

static_assert(WORKERS_MAX + 1u <= THREAD_USES_MAX, "all threads and the process fit into a report");

static uint64_t us_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000u + (uint64_t)time.tv_usec;
}

/* Only the thread itself adds. */
static void add(atomic_ullong *sum, uint64_t amount)
{
    atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + amount,
                          memory_order_relaxed);
}

void account_round(struct worker *worker, uint64_t now_ns)
{
    struct thread_account *account = &worker->account;
    struct rusage usage;
    if (now_ns - account->sampled_ns < SAMPLE_NS) return;
    account->sampled_ns = now_ns;
    if (getrusage(RUSAGE_THREAD, &usage) != 0) return;
    atomic_store_explicit(&account->user_us, us_of(usage.ru_utime), memory_order_relaxed);
    atomic_store_explicit(&account->system_us, us_of(usage.ru_stime), memory_order_relaxed);
}

void account_sleep(struct worker *worker, uint64_t now_ns)
{
    atomic_store_explicit(&worker->account.asleep_since_ns, now_ns, memory_order_relaxed);
}

void account_awake(struct worker *worker)
{
    struct thread_account *account = &worker->account;
    uint64_t since = atomic_load_explicit(&account->asleep_since_ns, memory_order_relaxed);
    uint64_t slept = process_now_ns() - since;
    add(&account->sleep_ns, slept);
    account->gap_sleep_ns += slept;
    atomic_store_explicit(&account->asleep_since_ns, 0, memory_order_relaxed);
}

void account_gap(struct worker *worker, uint64_t gap_ns)
{
    struct thread_account *account = &worker->account;
    if (gap_ns > account->gap_sleep_ns) add(&account->spin_ns, gap_ns - account->gap_sleep_ns);
    account->gap_sleep_ns = 0;
}

static void read_account(const struct process *process, struct thread_account *account,
                         struct thread_times *times)
{
    uint64_t now = process_now_ns();
    uint64_t since = atomic_load_explicit(&account->asleep_since_ns, memory_order_relaxed);
    uint64_t sleep = atomic_load_explicit(&account->sleep_ns, memory_order_relaxed);
    uint64_t spin = atomic_load_explicit(&account->spin_ns, memory_order_relaxed);
    uint64_t whole = now - process->start_ns;
    if (since != 0 && since < now) sleep += now - since;
    uint64_t idle = sleep + spin;
    times->user_us = atomic_load_explicit(&account->user_us, memory_order_relaxed);
    times->system_us = atomic_load_explicit(&account->system_us, memory_order_relaxed);
    times->spin_us = spin / 1000u;
    times->sleep_us = sleep / 1000u;
    times->work_us = idle > whole ? 0 : (whole - idle) / 1000u;
    times->at_us = whole / 1000u;
}

bool account_times(struct host *host, uint32_t no, struct thread_times *times)
{
    struct process *process = (struct process *)host;
    uint32_t workers = layout_workers(&process->config);
    struct rusage usage;
    memset(times, 0, sizeof *times);
    if (no > workers) return false;
    if (no < workers) {
        snprintf(times->name, sizeof times->name, "%s",
                 layout_role_name(layout_role(&process->config, no)));
        read_account(process, &process->worker[no].account, times);
        return true;
    }
    snprintf(times->name, sizeof times->name, "process");
    times->at_us = (process_now_ns() - process->start_ns) / 1000u;
    if (getrusage(RUSAGE_SELF, &usage) != 0) return true;
    times->user_us = us_of(usage.ru_utime);
    times->system_us = us_of(usage.ru_stime);
    return true;
}
