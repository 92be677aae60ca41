/* main.c -- the sim program: one seed, or many on several processes; verdicts, hashes, traces. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <argp.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "kernel/base/arena.h"
#include "signals/gsn.h"
#include "tests/sim/failures.h"
#include "tests/sim/jams.h"
#include "tests/sim/plan_file.h"

#define SEED_SECONDS                                                                               \
    300u /* A seed takes a second or two, a minute under a sanitizer; one that takes longer does   \
            not end. */
#define SEEDS_PER_PROCESS 50u
#define ARENAS_KEPT       8u
#define FILL_ONCE         0x55
#define FILL_AGAIN        0xA3

struct arguments {
    uint64_t first;
    uint64_t last;
    bool one; /* --seed was given. */
    uint32_t jobs;
    bool hash;
    bool quiet;
    bool twice;
    bool verbose;
    bool shrink;
    uint64_t until;
    const char *trace;
    const char *break_on;
    const char *plan;
    const char *jams;
    uint32_t jams_most;
    const char *jams_reached;
    struct sim_case test;
    struct failure_figures *figures;
    const char *program;
};

enum {
    OPT_SEED = 's',
    OPT_SEEDS = 'S',
    OPT_JOBS = 'j',
    OPT_TRACE = 't',
    OPT_UNTIL = 'u',
    OPT_HASH = 'H',
    OPT_PLAN = 'p',
    OPT_TWICE = 'T',
    OPT_VERBOSE = 'v',
    OPT_SHRINK = 'k',
    OPT_BREAK = 'b',
    OPT_JAMS = 'J',
    OPT_JAMS_MOST = 'M',
    OPT_JAMS_REACHED = 'R',
    OPT_MODES = 'l'
};

static const struct argp_option options[] = {
    {"seed", OPT_SEED, "N", 0, "Run this seed", 0},
    {"seeds", OPT_SEEDS, "A..B", 0, "Run all of these seeds", 0},
    {"jobs", OPT_JOBS, "N", 0, "Processes for --seeds (default 1)", 0},
    {"trace", OPT_TRACE, "NAMES", 0,
     "Print signals whose name or blocks contain one of these; \"all\"", 0},
    {"until", OPT_UNTIL, "N", 0, "Stop at the N-th executed signal", 0},
    {"hash", OPT_HASH, NULL, 0, "Print seed and trace hash only", 0},
    {"plan", OPT_PLAN, "FILE", 0,
     "Faults from this file instead of drawn ones; the file may name the seed", 0},
    {"twice", OPT_TWICE, NULL, 0,
     "Run every seed twice, with other fillings of fresh memory, and compare", 0},
#define MODE(NAME, option, letter, help) {#option, letter, NULL, 0, help, 1},
#include "tests/sim/modes.def"
#undef MODE
    {"list-modes", OPT_MODES, NULL, 0, "Say which modes go together, one set on a line", 1},
    {"shrink", OPT_SHRINK, NULL, 0,
     "Look for the smallest part of a failing seed or plan that fails the same way", 0},
    {"break-on", OPT_BREAK, "SIGNAL[@NODE][:N]", 0,
     "Stop before the N-th time that a node executes this signal", 0},
    {"jam-report", OPT_JAMS, "FILE", 0,
     "Write which jam sites of the blocks were never reached, by this and all calls before that "
     "wrote the file",
     0},
    {"jam-most", OPT_JAMS_MOST, "N", 0, "Fail when these are more than N", 0},
    {"jam-reached", OPT_JAMS_REACHED, "FILE", 0,
     "What programs of a build with JAM_COVERAGE wrote to NDB_JAM_FILE is reached, too", 0},
    {"verbose", OPT_VERBOSE, NULL, 0, "Print the nodes' logs", 0},
    {0},
};

/* The sets that are run. */
static void list_modes(void)
{
    char text[200];
    for (uint32_t modes = 0; modes < 1u << MODE_COUNT; modes++) {
        if (!modes_fit(modes, text, sizeof text)) continue;
        modes_print(modes, text, sizeof text);
        printf("sim%s\n", text);
    }
}

static uint64_t number(struct argp_state *state, const char *text, const char *end_with)
{
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (end == text || strncmp(end, end_with, strlen(end_with)) != 0 ||
        (end_with[0] == '\0' && *end != '\0'))
        argp_error(state, "%s is no number, or no range of numbers.", text);
    return value;
}

static void parse_seeds(struct argp_state *state, struct arguments *arguments, const char *text)
{
    arguments->first = number(state, text, "..");
    arguments->last = number(state, strstr(text, "..") + 2, "");
    arguments->quiet = true;
    if (arguments->last < arguments->first) argp_error(state, "--seeds=%s is empty.", text);
}

/* What makes no sense together. */
static const char *contradiction(const struct arguments *arguments)
{
    if (arguments->quiet && arguments->one) return "Only one of --seed and --seeds can be.";
    if (arguments->quiet && arguments->plan != NULL)
        return "A plan is of one seed: --plan and --seeds do not go together.";
    if (arguments->quiet && arguments->shrink)
        return "One seed is made smaller: --shrink and --seeds do not go together.";
    if (arguments->jams == NULL &&
        (arguments->jams_reached != NULL || arguments->jams_most != UINT32_MAX))
        return "--jam-most and --jam-reached are about the file of --jam-report.";
    return NULL;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    const char *error;
    switch (key) {
    case OPT_SEED:
        arguments->first = arguments->last = number(state, text, "");
        arguments->one = true;
        break;
    case OPT_SEEDS:
        parse_seeds(state, arguments, text);
        break;
    case OPT_JOBS:
        arguments->jobs = (uint32_t)number(state, text, "");
        break;
    case OPT_TRACE:
        arguments->trace = text;
        break;
    case OPT_UNTIL:
        arguments->until = number(state, text, "");
        break;
    case OPT_HASH:
        arguments->hash = true;
        break;
    case OPT_PLAN:
        arguments->plan = text;
        break;
    case OPT_TWICE:
        arguments->twice = true;
        break;
#define MODE(NAME, option, letter, help)                                                           \
    case letter:                                                                                   \
        arguments->test.modes |= 1u << MODE_##NAME;                                                \
        break;
#include "tests/sim/modes.def"
#undef MODE
    case OPT_MODES:
        list_modes();
        exit(0);
    case OPT_SHRINK:
        arguments->shrink = true;
        break;
    case OPT_BREAK:
        arguments->break_on = text;
        break;
    case OPT_JAMS:
        arguments->jams = text;
        break;
    case OPT_JAMS_MOST:
        arguments->jams_most = (uint32_t)number(state, text, "");
        break;
    case OPT_JAMS_REACHED:
        arguments->jams_reached = text;
        break;
    case OPT_VERBOSE:
        arguments->verbose = true;
        break;
    case ARGP_KEY_END:
        error = contradiction(arguments);
        if (error != NULL) argp_error(state, "%s", error);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const char *verdict_name(enum sim_verdict verdict)
{
    switch (verdict) {
    case SIM_CRASH:
        return "crash";
    case SIM_LIVENESS:
        return "liveness";
    case SIM_CORRECTNESS:
        return "correctness";
    case SIM_OK:
        break;
    }
    return "ok";
}

static void print_plan(const struct run *run)
{
    char text[200];
    for (uint32_t i = 0; i < run->plan.count; i++) {
        sim_event_print(&run->plan.event[i], gsn_name, text, sizeof text);
        printf("  %s\n", text);
    }
}

static void print_failure(struct run *run, const struct arguments *arguments, uint64_t seed)
{
    char text[1000];
    swarm_print(&run->swarm, text, sizeof text);
    fprintf(stderr, "seed %llu: %s at %.6f s, signal %llu: %s\n", (unsigned long long)seed,
            verdict_name(sim_verdict_of(run->world)), (double)sim_now_us(run->world) / 1e6,
            (unsigned long long)sim_signals(run->world), sim_failure_text(run->world));
    fprintf(stderr, "  %s\n", text);
    report_open_requests(run);
    modes_print(arguments->test.modes, text, sizeof text);
    fprintf(stderr, "  replay: %s --seed=%llu%s%s%s --verbose --trace=all\n", arguments->program,
            (unsigned long long)seed, text, arguments->plan != NULL ? " --plan=" : "",
            arguments->plan != NULL ? arguments->plan : "");
}

static void print_end(const struct run *run, uint64_t seed, double seconds)
{
    const struct run_figures *figures = &run->figures;
    printf(
        "seed %llu ok hash %016llx: %.3f s virtual, %llu signals, %llu steps, %.2f s real, %llu "
        "jobs, committed %llu, "
        "aborted %llu, unknown %llu, rows scanned %llu, unique entries %llu, by unique key %llu, "
        "unique indexes made %llu, dropped %llu, "
        "duplicates %llu, copied rows %llu, full %llu, batches %llu, read %llu, without table "
        "numbers %llu, links down %u, "
        "epochs asked %u, lost %u%s\n",
        (unsigned long long)seed, (unsigned long long)sim_hash(run->world),
        (double)sim_now_us(run->world) / 1e6, (unsigned long long)sim_signals(run->world),
        (unsigned long long)sim_steps(run->world), seconds, (unsigned long long)figures->jobs,
        (unsigned long long)figures->committed, (unsigned long long)figures->aborted,
        (unsigned long long)figures->unknown, (unsigned long long)figures->rows_scanned,
        (unsigned long long)figures->entries, (unsigned long long)figures->by_unique,
        (unsigned long long)figures->uniques_made, (unsigned long long)figures->uniques_dropped,
        (unsigned long long)figures->duplicates, (unsigned long long)figures->copied,
        (unsigned long long)figures->errors[0], (unsigned long long)figures->batches,
        (unsigned long long)figures->batches_read, (unsigned long long)figures->numberless,
        sim_link_downs(run->world),
        run->epochs.asked[EPOCH_RESTORED] + run->epochs.asked[EPOCH_GONE],
        run->epochs.asked[EPOCH_GONE], run->stopping_cluster ? ", cluster stopped" : "");
}

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The run's transactions are added to those of all jobs. */
static void count_commits(struct failure_figures *all, const struct run_figures *figures)
{
    uint64_t ended = figures->committed + figures->aborted + figures->unknown;
    if (all == NULL) return;
    __atomic_fetch_add(&all->committed, figures->committed, __ATOMIC_RELAXED);
    __atomic_fetch_add(&all->ended, ended, __ATOMIC_RELAXED);
}

/* Temporary errors are allowed at any time, but not most of the time: some nine of ten transactions
 * are committed in each mode, and a cluster that takes hardly any is of no use. */
#define ENDED_MIN 1000u /* Fewer tell nothing. */
static bool commits_enough(const struct failure_figures *all)
{
    if (all->ended < ENDED_MIN || all->committed >= all->ended / 4u * 3u) return true;
    printf("only %llu of %llu transactions were committed\n", (unsigned long long)all->committed,
           (unsigned long long)all->ended);
    return false;
}

static int run_one(const struct arguments *arguments, uint64_t seed, uint64_t *hash)
{
    struct run *run = calloc(1, sizeof *run);
    char text[1000];
    if (run == NULL) abort();
    double begun = now_seconds();
    run->trace = arguments->trace;
    run->until = arguments->until;
    run->verbose = arguments->verbose;
    run->break_on = arguments->break_on;
    struct sim_case test = arguments->test;
    test.seed = seed;
    case_apply(&test, run);
    run->failures.figures = arguments->figures;
    swarm_print(&run->swarm, text, sizeof text);
    if (!arguments->quiet && !arguments->hash)
        printf("seed %llu: %s\n", (unsigned long long)seed, text);
    run_seed(run);
    int verdict = (int)sim_verdict_of(run->world);
    *hash = sim_hash(run->world);
    count_commits(arguments->figures, &run->figures);
    if (verdict != 0) print_failure(run, arguments, seed);
    if (!arguments->quiet && !arguments->hash) print_plan(run);
    if (arguments->hash)
        printf("%llu %016llx\n", (unsigned long long)seed, (unsigned long long)*hash);
    else if (verdict == 0 && !arguments->quiet)
        print_end(run, seed, now_seconds() - begun);
    run_free(run);
    free(run);
    return verdict;
}

/* What fresh memory of the library and, if `pages`, of nodes contains. */
static void fill_memory(uint8_t with, bool pages)
{
    mallopt(M_PERTURB, with);
    arena_keep(ARENAS_KEPT, pages ? with : 0);
}

static int run_and_compare(const struct arguments *arguments, uint64_t seed)
{
    uint64_t hash = 0;
    uint64_t again = 0;
    bool twice = arguments->twice || (arguments->quiet && seed % 20 == 0);
    fill_memory(FILL_ONCE, twice);
    int verdict = run_one(arguments, seed, &hash);
    if (verdict != 0 || !twice || arguments->until != 0) return verdict;
    struct arguments silent = *arguments;
    silent.quiet = true;
    silent.figures = NULL;
    silent.hash = false;
    silent.trace = NULL;
    fill_memory(FILL_AGAIN, true);
    verdict = run_one(&silent, seed, &again);
    if (verdict != 0 || hash == again) return verdict;
    fprintf(stderr, "seed %llu: correctness: two runs differ: %016llx and %016llx\n",
            (unsigned long long)seed, (unsigned long long)hash, (unsigned long long)again);
    return SIM_CORRECTNESS;
}

/* --- Many seeds: several in a process, one after another; a crash ends only its own. --- */

static int exit_code_of(int status)
{
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    return SIM_CRASH;
}

#define JOBS_MAX 64u

/* Shared with the processes. */
struct many {
    _Atomic uint64_t next;
    struct {
        pid_t process;
        uint32_t done; /* Seeds before this one in the same process. */
        uint64_t seed; /* What it is running. */
    } worker[JOBS_MAX];
};

static void *shared_memory(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    return memory;
}

static void __attribute__((noreturn))
work_off(const struct arguments *arguments, struct many *many, uint32_t own)
{
    int verdict = 0;
    for (uint32_t done = 0; verdict == 0 && done < SEEDS_PER_PROCESS; done++) {
        uint64_t seed = atomic_fetch_add(&many->next, 1);
        if (seed > arguments->last) break;
        many->worker[own].done = done;
        many->worker[own].seed = seed;
        alarm(SEED_SECONDS);
        verdict = run_and_compare(arguments, seed);
        fflush(NULL);
    }
    _exit(verdict);
}

static bool worker_begin(const struct arguments *arguments, struct many *many, uint32_t own)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) work_off(arguments, many, own);
    if (child < 0) perror("fork");
    many->worker[own].process = child > 0 ? child : 0;
    return child > 0;
}

static void worker_failed(const struct many *many, uint32_t own, int status)
{
    unsigned long long seed = many->worker[own].seed;
    if (WIFSIGNALED(status)) {
        fprintf(stderr, "seed %llu: ended by signal %d%s\n", seed, WTERMSIG(status),
                WTERMSIG(status) == SIGALRM ? " (it took too long)" : "");
    }
    if (many->worker[own].done > 0)
        fprintf(stderr, "seed %llu: its process had run %u others before\n", seed,
                many->worker[own].done);
}

/* Returns how many seeds failed; `worst` is the exit code of the first. */
static uint32_t run_workers(const struct arguments *arguments, struct many *many, int *worst)
{
    uint32_t failures = 0;
    for (uint32_t i = 0; i < arguments->jobs; i++) {
        if (!worker_begin(arguments, many, i)) *worst = SIM_CRASH;
    }
    int status;
    for (pid_t child; (child = wait(&status)) > 0;) {
        uint32_t own = 0;
        while (own < arguments->jobs && many->worker[own].process != child)
            own++;
        if (own == arguments->jobs) continue;
        many->worker[own].process = 0;
        int code = exit_code_of(status);
        if (code != 0) {
            worker_failed(many, own, status);
            failures++;
            if (*worst == 0) *worst = code;
        }
        if (many->next <= arguments->last && !worker_begin(arguments, many, own))
            *worst = SIM_CRASH;
    }
    return failures;
}

static int run_many(const struct arguments *arguments)
{
    struct many *many = shared_memory(sizeof *many);
    int worst = 0;
    double begun = now_seconds();
    many->next = arguments->first;
    uint32_t failures = run_workers(arguments, many, &worst);
    munmap(many, sizeof *many);
    if (case_has(&arguments->test, MODE_FAILURES) || case_has(&arguments->test, MODE_REJOIN) ||
        case_has(&arguments->test, MODE_OPERATOR) || case_has(&arguments->test, MODE_HOSTILE)) {
        failures_print(arguments->figures);
        if (!failures_rare(arguments->figures) && worst == 0) worst = SIM_LIVENESS;
    }
    if (!commits_enough(arguments->figures) && worst == 0) worst = SIM_LIVENESS;
    if (!arguments->hash)
        printf("seeds %llu..%llu: %llu run, %u failed, %.1f s\n",
               (unsigned long long)arguments->first, (unsigned long long)arguments->last,
               (unsigned long long)(arguments->last - arguments->first + 1), failures,
               now_seconds() - begun);
    return worst;
}

static int run_shrink(struct arguments *arguments)
{
    char path[64];
    uint32_t runs = shrink(&arguments->test);
    if (runs == 0) {
        fprintf(stderr, "seed %llu does not fail\n", (unsigned long long)arguments->first);
        return 2;
    }
    snprintf(path, sizeof path, "shrunk-%llu.plan", (unsigned long long)arguments->first);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        return 2;
    }
    plan_print(file, &arguments->test);
    fclose(file);
    plan_print(stdout, &arguments->test);
    printf("after %u runs; replay: %s --plan=%s\n", runs, arguments->program, path);
    return 0;
}

int main(int argc, char **argv)
{
    static const char doc[] =
        "Runs a whole cluster in one process, deterministically from a seed.\v"
        "Exit status: 0 good, 2 nothing was run, 127 a node crashed, 128 something was not "
        "answered in time, "
        "129 something is wrong.";
    const struct argp argp = {options, parse_option, NULL, doc, NULL, NULL, NULL};
    struct arguments arguments = {
        .first = 1, .last = 1, .jobs = 1, .jams_most = UINT32_MAX, .program = argv[0]};
    char text[200];
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    arguments.test.seed = arguments.first;
    /* Memory that one run frees is for the next; asking the system each time took half of the CPU.
     */
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    if (arguments.plan != NULL) {
        if (!plan_read(&arguments.test, arguments.plan)) return 2;
        arguments.first = arguments.last = arguments.test.seed;
    }
    if (!modes_fit(arguments.test.modes, text, sizeof text)) {
        fprintf(stderr, "%s: %s\n", argv[0], text);
        return 2;
    }
    if (arguments.shrink) return run_shrink(&arguments);
    arguments.figures = shared_memory(sizeof *arguments.figures);
    if (arguments.jobs == 0) arguments.jobs = 1;
    if (arguments.jobs > JOBS_MAX) arguments.jobs = JOBS_MAX;
    if (arguments.jams != NULL) jams_open(arguments.jams);
    if (arguments.jams != NULL && arguments.jams_reached != NULL) jams_add(arguments.jams_reached);
    int worst =
        arguments.quiet ? run_many(&arguments) : run_and_compare(&arguments, arguments.first);
    if (arguments.jams != NULL && !jams_close(arguments.jams_most) && worst == 0)
        worst = SIM_CORRECTNESS;
    return worst;
}
