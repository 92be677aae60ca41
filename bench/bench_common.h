/* bench_common.h -- what both sides of a comparison share: clock, keys, drawing of keys. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
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
