/* bench_common.c -- what both sides of a comparison share: options, when a run ends, what is
 * printed. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include "bench/bench_common.h"

enum { OPTIONS_MAX = 16, EXIT_USAGE = 2 };

#define SECONDS_MAX 86400.0

static volatile sig_atomic_t enough;

/* ---- Options. ---- */

struct reading {
    const struct bench_option *options;
    const char **arguments;
    uint32_t arguments_max;
};

static void read_number(const struct bench_option *option, const char *text,
                        struct argp_state *state)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || strchr(text, '-') != NULL ||
        value < option->min || value > option->max)
        argp_error(state, "--%s must be a number from %u to %u, not '%s'", option->name,
                   option->min, option->max, text);
    *option->number = (uint32_t)value;
}

static void read_seconds(const struct bench_option *option, const char *text,
                         struct argp_state *state)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0 && value <= SECONDS_MAX))
        argp_error(state, "--%s must be a time of up to %.0f seconds, not '%s'", option->name,
                   SECONDS_MAX, text);
    *option->seconds = value;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    const struct reading *reading = state->input;
    const struct bench_option *option = reading->options;
    if (key == ARGP_KEY_ARG) {
        if (state->arg_num >= reading->arguments_max)
            argp_error(state, "'%s' is one word too many", argument);
        reading->arguments[state->arg_num] = argument;
        return 0;
    }
    while (option->name != NULL && option->letter != key)
        option++;
    if (option->name == NULL) return ARGP_ERR_UNKNOWN;
    if (option->flag != NULL)
        *option->flag = true;
    else if (option->text != NULL)
        *option->text = argument;
    else if (option->seconds != NULL)
        read_seconds(option, argument, state);
    else
        read_number(option, argument, state);
    return 0;
}

void bench_parse(int argc, char **argv, const struct bench_option *options, const char *usage,
                 const char **arguments, uint32_t arguments_max)
{
    struct argp_option list[OPTIONS_MAX + 1] = {{0}};
    struct reading reading = {options, arguments, arguments_max};
    const struct argp argp = {.options = list, .parser = parse_option, .args_doc = usage};
    for (uint32_t i = 0; i < OPTIONS_MAX && options[i].name != NULL; i++)
        list[i] = (struct argp_option){.name = options[i].name,
                                       .key = options[i].letter,
                                       .arg = options[i].argument,
                                       .doc = options[i].help};
    argp_err_exit_status = EXIT_USAGE;
    if (argp_parse(&argp, argc, argv, 0, NULL, &reading) != 0) exit(EXIT_USAGE);
}

/* ---- When a run ends. ---- */

static void on_signal(int number)
{
    (void)number;
    enough = 1;
}

void bench_end_by_signal(void)
{
    (void)signal(SIGTERM, on_signal);
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
}

bool bench_enough(void)
{
    return enough != 0;
}

void bench_pause(double seconds)
{
    struct timespec pause = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    if (seconds > 0) (void)nanosleep(&pause, NULL);
}

void bench_wait_for_turn(uint32_t rate, uint32_t threads, double *due)
{
    double now = now_s();
    if (rate == 0) return;
    *due += (double)threads / rate;
    if (*due < now) *due = now;
    bench_pause(*due - now);
}

/* ---- What is printed. ---- */

void bench_print_window(uint64_t done)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    printf("window %lld %llu\n", (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000,
           (unsigned long long)done);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y ? 1 : 0;
}

void bench_print_latency(uint64_t *ns, uint64_t count)
{
    if (count == 0) return;
    qsort(ns, count, sizeof *ns, by_value);
    printf("p50_us %.1f\np99_us %.1f\np999_us %.1f\n", (double)ns[count / 2] / 1e3,
           (double)ns[count * 99 / 100] / 1e3, (double)ns[count * 999 / 1000] / 1e3);
}
