/* again.c -- without an angel: a node that is restarted by order, or that an angel would start
 * again in any case, begins anew in its own process. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whoever watches a process in the foreground sees the same one go on: the program is executed
 * again with the same arguments and one more, which says what an angel would remember. What the
 * system keeps with a process, and what was the failed thread's own, is set back.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "ndbmtd/process.h"

#define AGAIN_OPTION "--again="
#define ARGUMENTS    256 /* At most so many are passed on. */

/* They count instead of the options of the first life. */
enum again_flag { AGAIN_ASIDE = 1, AGAIN_INITIAL = 2, AGAIN_ACCEPT = 4, AGAIN_NO_START = 8 };
#define AGAIN_ALL 15u

static struct birth {
    char **arguments; /* NULL: the process may not begin again. */
    cpu_set_t cpus;
    bool has_cpus;
    int nice; /* Of a thread, not of the process: thread_place.c. */
} birth;

void again_remember(char **arguments)
{
    birth.arguments = arguments;
    birth.has_cpus = sched_getaffinity(0, sizeof birth.cpus, &birth.cpus) == 0;
    birth.nice = getpriority(PRIO_PROCESS, 0);
}

int again_take(struct process *process, const char *text)
{
    char *end = NULL;
    unsigned long flags = strtoul(text, &end, 10);
    if (end == text || *end != ':') return -1;
    unsigned long pause_s = strtoul(end + 1, &end, 10);
    if (*end != ':' || flags > AGAIN_ALL || pause_s > UINT32_MAX) return -1;
    unsigned long node = strtoul(end + 1, &end, 10);
    if (*end != '\0' || node == 0 || node > DATA_NODE_ID_MAX) return -1;
    process->config.own_node = (uint32_t)node;
    process->stand_aside = (flags & AGAIN_ASIDE) != 0;
    process->initial = (flags & AGAIN_INITIAL) != 0;
    process->accept_data_loss = (flags & AGAIN_ACCEPT) != 0;
    process->no_start = (flags & AGAIN_NO_START) != 0;
    process->pause_s = (uint32_t)pause_s;
    return 0;
}

void again_execute(struct process *process, uint32_t pause_s)
{
    const struct sched_param ordinary = {.sched_priority = 0};
    char *arguments[ARGUMENTS + 2];
    char last[64];
    sigset_t none;
    int count = 0;
    if (birth.arguments == NULL) return;
    while (birth.arguments[count] != NULL && count < ARGUMENTS) {
        arguments[count] = birth.arguments[count];
        count++;
    }
    if (count == ARGUMENTS) return;
    if (strncmp(arguments[count - 1], AGAIN_OPTION, sizeof AGAIN_OPTION - 1) == 0) count--;
    (void)snprintf(last, sizeof last, AGAIN_OPTION "%u:%u:%u",
                   (process->stand_aside ? AGAIN_ASIDE : 0u) |
                       (process->initial ? AGAIN_INITIAL : 0u) |
                       (process->accept_data_loss ? AGAIN_ACCEPT : 0u) |
                       (process->no_start ? AGAIN_NO_START : 0u),
                   pause_s, process->config.own_node);
    arguments[count++] = last;
    arguments[count] = NULL;
    (void)sched_setscheduler(0, SCHED_OTHER, &ordinary);
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), birth.nice);
    if (birth.has_cpus) (void)sched_setaffinity(0, sizeof birth.cpus, &birth.cpus);
    sigemptyset(&none);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
    (void)fflush(NULL); /* Another thread may hold a stream for ever: the alarm ends that. */
    (void)alarm(0);
    (void)execv("/proc/self/exe", arguments);
}
