/* shrink.c -- leaves out of a failing run whatever it does not need in order to fail the same way.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/sim/plan_file.h"

#define RUN_SECONDS 120u /* A smaller run that takes longer counts as another failure. */
#define RUNS_MAX    400u

/* How a run failed: its verdict, and what was said, without the numbers. */
struct outcome {
    int verdict;
    char text[300];
    struct sim_plan plan;
};

static void keep_words(char *to, const char *from, size_t size)
{
    size_t used = 0;
    for (; *from != '\0' && used + 1 < size; from++) {
        bool number = (*from >= '0' && *from <= '9') || (*from >= 'a' && *from <= 'f');
        if (!number) to[used++] = *from;
    }
    to[used] = '\0';
}

static void child(const struct sim_case *test, int out)
{
    struct outcome outcome = {0};
    struct run *run = calloc(1, sizeof *run);
    if (run == NULL) abort();
    alarm(RUN_SECONDS);
    case_apply(test, run);
    run_seed(run);
    outcome.verdict = (int)sim_verdict_of(run->world);
    keep_words(outcome.text, sim_failure_text(run->world), sizeof outcome.text);
    outcome.plan = run->plan;
    ssize_t written = write(out, &outcome, sizeof outcome);
    _exit(written == (ssize_t)sizeof outcome ? 0 : 1);
}

/* Runs the case in a process of its own. */
static void try_case(const struct sim_case *test, struct outcome *outcome)
{
    int ends[2];
    int status;
    size_t got = 0;
    memset(outcome, 0, sizeof *outcome);
    if (pipe(ends) != 0) abort();
    fflush(NULL);
    pid_t process = fork();
    if (process < 0) abort();
    if (process == 0) child(test, ends[1]);
    close(ends[1]);
    for (ssize_t part = 1; part > 0 && got < sizeof *outcome; got += (size_t)part) {
        part = read(ends[0], (char *)outcome + got, sizeof *outcome - got);
        if (part < 0) part = 0;
    }
    close(ends[0]);
    waitpid(process, &status, 0);
    if (got == sizeof *outcome) return;
    memset(outcome, 0, sizeof *outcome);
    outcome->verdict = 256 + (WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

struct search {
    struct sim_case best;
    struct outcome wanted;
    uint32_t runs;
};

/* Takes the smaller case over when it fails the same way. */
static bool take(struct search *search, const struct sim_case *smaller)
{
    struct outcome outcome;
    if (search->runs >= RUNS_MAX) return false;
    search->runs++;
    try_case(smaller, &outcome);
    if (outcome.verdict != search->wanted.verdict || strcmp(outcome.text, search->wanted.text) != 0)
        return false;
    search->best = *smaller;
    return true;
}

static void without_works(struct search *search)
{
    for (uint32_t i = 0; i < WORK_COUNT; i++) {
        struct sim_case smaller = search->best;
        smaller.without |= 1u << i;
        if (smaller.without != (1u << WORK_COUNT) - 1u) take(search, &smaller);
    }
}

static void fewer(struct search *search, uint32_t *(*field)(struct sim_case *test), uint32_t drawn)
{
    uint32_t now = drawn;
    while (now > 1) {
        struct sim_case smaller = search->best;
        *field(&smaller) = now / 2u;
        if (!take(search, &smaller)) return;
        now /= 2u;
    }
}

static uint32_t *jobs_of(struct sim_case *test)
{
    return &test->jobs;
}

static uint32_t *clients_of(struct sim_case *test)
{
    return &test->clients;
}

static uint32_t *sessions_of(struct sim_case *test)
{
    return &test->sessions;
}

/* Leaves out runs of events, half of the plan first, single ones at last. */
static void fewer_events(struct search *search)
{
    for (uint32_t size = (search->best.plan.count + 1u) / 2u; size > 0; size /= 2u) {
        for (uint32_t at = 0; at < search->best.plan.count;) {
            struct sim_case smaller = search->best;
            struct sim_plan *plan = &smaller.plan;
            uint32_t gone = size < plan->count - at ? size : plan->count - at;
            memmove(plan->event + at, plan->event + at + gone,
                    (plan->count - at - gone) * sizeof plan->event[0]);
            plan->count -= gone;
            if (!take(search, &smaller)) at += size;
        }
    }
}

uint32_t shrink(struct sim_case *test)
{
    struct search search = {.best = *test};
    struct run *drawn = calloc(1, sizeof *drawn);
    if (drawn == NULL) abort();
    try_case(test, &search.wanted);
    search.runs = 1;
    if (search.wanted.verdict != 0 && search.wanted.verdict < 256) {
        search.best.planned = true;
        search.best.plan = search.wanted.plan;
        case_apply(test, drawn);
        without_works(&search);
        fewer_events(&search);
        fewer(&search, clients_of, drawn->swarm.clients);
        fewer(&search, sessions_of, drawn->swarm.sessions);
        fewer(&search, jobs_of, drawn->swarm.jobs);
        fewer_events(&search);
        *test = search.best;
    }
    free(drawn);
    return search.wanted.verdict == 0 ? 0 : search.runs;
}
