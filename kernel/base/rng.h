/* rng.h -- a small deterministic random number generator (xoshiro256**, seeded by splitmix64). */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Algorithm: D. Blackman, S. Vigna, "Scrambled linear pseudorandom number generators" (2018). Not
 * for secrets. */
struct rng {
    uint64_t s[4];
};

static inline uint64_t rng_splitmix(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline void rng_seed(struct rng *rng, uint64_t seed)
{
    for (uint32_t i = 0; i < 4; i++)
        rng->s[i] = rng_splitmix(&seed);
}

static inline uint64_t rng_next(struct rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t mixed = s[1] * 5;
    uint64_t result = (mixed << 7 | mixed >> 57) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = s[3] << 45 | s[3] >> 19;
    return result;
}

/* A number in 0..bound-1; 0 when bound is 0. */
static inline uint64_t rng_below(struct rng *rng, uint64_t bound)
{
    return bound == 0 ? 0 : rng_next(rng) % bound;
}

/* True `hits` times in `of`. */
static inline bool rng_chance(struct rng *rng, uint64_t hits, uint64_t of)
{
    return rng_below(rng, of) < hits;
}
