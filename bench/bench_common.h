/* bench_common.h -- what both sides of a comparison share: options, clock, keys, drawing of keys,
 * what is printed. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

static inline double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The same numbers on both sides, so that they ask for the same rows. */
static inline uint64_t mix(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Letters that do not compress below three quarters: rows that a file or a link cannot make small.
 */
static inline void make_noise(char *to, uint32_t size, uint64_t seed)
{
    static const char letters[] =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz-";
    uint64_t bits = 0;
    for (uint32_t i = 0; i < size; i++, bits >>= 6) {
        if (i % 10 == 0) bits = mix(&seed);
        to[i] = letters[bits & 63];
    }
}

/* A number that is another one for each key that make_key() makes. */
static inline uint64_t key_seed(const char *key)
{
    uint64_t seed;
    memcpy(&seed, key + 8, 8);
    return seed;
}

/* 16 bytes of text without NUL. */
static inline void make_key(char *key, uint32_t number)
{
    memcpy(key, "key:000000000000", 16);
    for (int at = 15; number > 0; number /= 10)
        key[at--] = (char)('0' + number % 10);
}

/* ---- bench_common.c ---- */

/* One option of a command line; exactly one of the pointers says where its value goes. */
struct bench_option {
    const char *name; /* The name without --. */
    int letter;
    const char *argument; /* What --help calls it; NULL for a flag. */
    const char *help;
    bool *flag;
    const char **text;
    double *seconds;
    uint32_t *number;
    uint32_t min, max; /* Bounds of `number`. */
};

/* Reads the command line. At most `arguments_max` words without -- go to `arguments`, the others
 * stay as they are. Whatever is wrong is said, and ends the program with 2; the list ends with an
 * option without a name. */
void bench_parse(int argc, char **argv, const struct bench_option *options, const char *usage,
                 const char **arguments, uint32_t arguments_max);

/* From now on SIGTERM ends a run early, and each line is written when it is complete. */
void bench_end_by_signal(void);
bool bench_enough(void);

/* What was done in a window that ends now: in milliseconds of the day's clock. */
void bench_print_window(uint64_t done);
/* Median, 99 % and 99.9 %; sorts them. Nothing when there are none. */
void bench_print_latency(uint64_t *ns, uint64_t count);
void bench_pause(double seconds);
/* One of `threads` that make `rate` calls per second together sleeps until its next one is due; 0:
 * does not. Calls that were missed are not made up for. */
void bench_wait_for_turn(uint32_t rate, uint32_t threads, double *due);
