/* report.c -- what a person sees of a run: filtered traces, the nodes' logs, requests without an
 * answer. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "signals/print.h"
#include "tests/sim/failures.h"
#include "tests/sim/jams.h"
#include "tests/sim/run.h"

#define OPEN_MAX 4096u

/* A REQ between blocks that was executed and has not been answered. */
struct open_request {
    uint32_t gsn, from, to, data;
    uint64_t at_us;
};

static const char *block_name(uint32_t ref)
{
    static const char *const names[] = {"NONE",   "CMVMI", "QMGR",      "NDBCNTR",   "DBDIH",
                                        "DBDICT", "DBTC",  "DBLQH",     "DBACC",     "DBTUP",
                                        "DBTUX",  "NDBFS", "LCPWRITER", "LCPREADER", "TRIX"};
    uint32_t block = ref_block(ref);
    if (block == BLOCK_API) return "API";
    if (block == BLOCK_MGM) return "MGM";
    return block < sizeof names / sizeof names[0] ? names[block] : "OTHER";
}

/* Signals between blocks with the rule REQ: who asked whom. Clients count their own. */
static bool is_request(uint32_t gsn)
{
    switch (gsn) {
#define GSN(number, name, type, smin, smax, from, rule) RULE_##rule(number, from)
#define GSN_KERNEL(number, name, type, smin, smax, from, rule)
#define RULE_REQ(number, from)                                                                     \
    case number:                                                                                   \
        return ((from)&FROM_CLIENTS) == 0;
#define RULE_CONF(number, from)
#define RULE_REF(number, from)
#define RULE_REP(number, from)
#define RULE_ORD(number, from)
#define RULE_TRAIN(number, from)
#include "signals/gsn.def"
#undef GSN
#undef GSN_KERNEL
    default:
        return false;
    }
}

static void close_request(struct run *run, uint32_t gsn, uint32_t receiver, uint32_t data)
{
    for (uint32_t i = 0; i < run->open_count; i++) {
        struct open_request *open = &run->open[i];
        bool answer = gsn == open->gsn + 1 || gsn == open->gsn + 2;
        if (!answer || open->from != receiver || open->data != data) continue;
        *open = run->open[--run->open_count];
        return;
    }
}

static void follow(struct run *run, const uint32_t *words)
{
    uint32_t gsn = kind_gsn(words[0]);
    uint32_t data = kind_words(words[0]) > 0 ? words[SIGNAL_HEAD_WORDS] : 0;
    if (is_request(gsn)) {
        if (run->open == NULL) run->open = calloc(OPEN_MAX, sizeof *run->open);
        if (run->open_count == OPEN_MAX) return;
        run->open[run->open_count++] =
            (struct open_request){gsn, words[2], words[1], data, sim_now_us(run->world)};
        return;
    }
    if (run->open_count > 0) close_request(run, gsn, words[1], data);
}

void report_open_requests(struct run *run)
{
    for (uint32_t i = 0; i < run->open_count && i < 40; i++) {
        const struct open_request *open = &run->open[i];
        fprintf(stderr, "  since %.6f s: node %u %s/%u waits for node %u %s/%u to answer %s %u\n",
                (double)open->at_us / 1e6, ref_node(open->from), block_name(open->from),
                ref_instance(open->from), ref_node(open->to), block_name(open->to),
                ref_instance(open->to), gsn_name(open->gsn), open->data);
    }
}

/* --- Traces. --- */

static bool contains(const char *text, const char *part, size_t size)
{
    for (; *text != '\0'; text++) {
        size_t i = 0;
        while (i < size && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i]))
            i++;
        if (i == size) return true;
    }
    return false;
}

/* Does one of the comma separated parts of the filter occur in a block's or the signal's name? */
static bool wanted(const char *filter, const uint32_t *words)
{
    const char *part = filter;
    while (*part != '\0') {
        size_t size = strcspn(part, ",");
        if (size == 3 && strncmp(part, "all", 3) == 0) return true;
        if (size > 0 && (contains(gsn_name(kind_gsn(words[0])), part, size) ||
                         contains(block_name(words[1]), part, size) ||
                         contains(block_name(words[2]), part, size)))
            return true;
        part += size;
        if (*part == ',') part++;
    }
    return false;
}

static void print_signal(struct run *run, uint32_t thread_no, const uint32_t *words)
{
    char text[1000];
    struct signal sig;
    signal_open(&sig, words);
    signal_describe(&sig, text, sizeof text);
    printf("%8llu %.6f %u.%u %s: %u %s/%u -> %u %s/%u  %s\n",
           (unsigned long long)sim_signals(run->world), (double)sim_now_us(run->world) / 1e6,
           ref_node(words[1]), thread_no, gsn_name(sig.gsn), ref_node(words[2]),
           block_name(words[2]), ref_instance(words[2]), ref_node(words[1]), block_name(words[1]),
           ref_instance(words[1]), text);
}

/* The signal at which a person wants to look around. */
static void break_on(struct run *run, uint32_t node, uint32_t gsn)
{
    char name[64];
    unsigned wanted_node = 0;
    unsigned nth = 1;
    size_t size = strcspn(run->break_on, "@:");
    const char *rest = run->break_on + size;
    snprintf(name, sizeof name, "%.*s", (int)size, run->break_on);
    if (strcmp(name, gsn_name(gsn)) != 0) return;
    if (*rest == '@') wanted_node = (unsigned)strtoul(rest + 1, NULL, 10);
    if (strchr(rest, ':') != NULL) nth = (unsigned)strtoul(strchr(rest, ':') + 1, NULL, 10);
    if ((wanted_node != 0 && wanted_node != node) || ++run->broken != nth) return;
    run_fail(run, SIM_LIVENESS, "stopped before signal %s at node %u as asked", name, node);
}

void report_observe(void *context, uint32_t node, uint32_t thread_no, const uint32_t *words)
{
    struct run *run = context;
    follow(run, words);
    epochs_observe(run, node, words);
    schema_observe(run, words);
    lives_observe(run, words);
    recovery_observe(run, node, words);
    jams_look();
    single_observe(run, words);
    failures_observe(run, words);
    order_observe(run, words);
    if (run->break_on != NULL) break_on(run, node, kind_gsn(words[0]));
    if (run->hook != NULL) run->hook(run, words);
    if (run->trace != NULL && wanted(run->trace, words)) print_signal(run, thread_no, words);
    if (run->until != 0 && sim_signals(run->world) >= run->until)
        run_fail(run, SIM_LIVENESS, "stopped at signal %llu as asked",
                 (unsigned long long)run->until);
}

void report_log(void *context, uint32_t node, enum log_level level, const char *text)
{
    const struct run *run = context;
    if (!run->verbose) return;
    printf("         %.6f node %u [%d] %s\n", (double)sim_now_us(run->world) / 1e6, node,
           (int)level, text);
}
