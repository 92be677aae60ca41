/* top_use.c -- what threads did between two reports. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/top_use.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLOCK_SLACK_US 100000u

static double percent(uint64_t from, uint64_t to, uint64_t elapsed_us)
{
    return to > from && elapsed_us > 0 ? 100.0 * (double)(to - from) / (double)elapsed_us : 0;
}

static double at_most(double value, double most)
{
    return value > most ? most : value;
}

static void compare_thread(const struct ndb_mgm_thread *before, const struct ndb_mgm_thread *now,
                           struct top_use *use)
{
    uint64_t elapsed_us = now->at_us - before->at_us;

    (void)snprintf(use->name, sizeof(use->name), "%s", now->name);
    /* The operating system is asked a hundred times a second: a moment more or less. */
    use->user = at_most(percent(before->user_us, now->user_us, elapsed_us), 100);
    use->system = at_most(percent(before->system_us, now->system_us, elapsed_us), 100 - use->user);
    use->idle = 100 - use->user - use->system;
    use->work = at_most(percent(before->work_us, now->work_us, elapsed_us), 100);
    use->spin = at_most(percent(before->spin_us, now->spin_us, elapsed_us), 100);
    use->sleep = at_most(percent(before->sleep_us, now->sleep_us, elapsed_us), 100);
}

static int by_number(const struct top_use *x, const struct top_use *y)
{
    return (x->number > y->number) - (x->number < y->number);
}

static int less_idle_first(const void *a, const void *b)
{
    const struct top_use *x = a;
    const struct top_use *y = b;

    if (x->idle != y->idle) return x->idle < y->idle ? -1 : 1;
    return by_number(x, y);
}

static int more_work_first(const void *a, const void *b)
{
    const struct top_use *x = a;
    const struct top_use *y = b;

    if (x->work != y->work) return x->work > y->work ? -1 : 1;
    return by_number(x, y);
}

/* Is it the same process? The clock of a new one is behind by all that the former one had lived.
 * Clocks of two hosts differ by less than a thousandth. */
static bool same_process(const struct ndb_mgm_threads *before, const struct ndb_mgm_threads *now,
                         uint64_t passed_us)
{
    uint32_t count = now->thread_count;

    if (count == 0 || before->thread_count != count) return false;
    uint64_t from = before->threads[count - 1].at_us;
    uint64_t to = now->threads[count - 1].at_us;
    return to >= from && to - from + passed_us / 1000 + CLOCK_SLACK_US >= passed_us;
}

void top_compare(const struct ndb_mgm_threads *before, const struct ndb_mgm_threads *now,
                 uint64_t passed_us, enum top_sort sort, struct top *top)
{
    static const struct ndb_mgm_thread none;
    double user = 0;
    double system = 0;
    bool same = same_process(before, now, passed_us);

    memset(top, 0, sizeof(*top));
    for (uint32_t i = 0; i < now->thread_count; i++) {
        struct top_use *use = &top->use[top->count++];
        const struct ndb_mgm_thread *from = same ? &before->threads[i] : &none;
        compare_thread(from, &now->threads[i], use);
        use->number = i;
        if (i + 1 < now->thread_count) {
            user += use->user;
            system += use->system;
            continue;
        }
        top->elapsed_us = now->threads[i].at_us - from->at_us;
        double all_user = percent(from->user_us, now->threads[i].user_us, top->elapsed_us);
        double all_system = percent(from->system_us, now->threads[i].system_us, top->elapsed_us);
        top->all = all_user + all_system;
        *use = (struct top_use){.number = TOP_REST};
        use->user = all_user > user ? all_user - user : 0;
        use->system = all_system > system ? all_system - system : 0;
        use->idle = 100;
    }
    if (sort != TOP_BY_NUMBER && top->count > 1) /* The others stay at the end. */
        qsort(top->use, top->count - 1, sizeof(top->use[0]),
              sort == TOP_BY_CPU ? less_idle_first : more_work_first);
}

uint32_t top_shown(const struct top *top, uint32_t lines, uint32_t above)
{
    uint32_t room = lines > above ? lines - above : 0;

    if (top->count <= room) return top->count;
    return room > 0 ? room - 1 : 0;
}
