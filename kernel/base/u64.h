/* u64.h -- a number of 64 bits out of the two words that signals and files carry. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <stdint.h>

static inline uint64_t u64_of(uint32_t low, uint32_t high)
{
    return low | (uint64_t)high << 32;
}

static inline void u64_put(uint32_t words[2], uint64_t number)
{
    words[0] = (uint32_t)number;
    words[1] = (uint32_t)(number >> 32);
}
