/* sparse.c -- how many of its moments a test leaves out. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/sparse.h"

uint32_t sparse(void)
{
    const char *text = getenv("TEST_SPARSE");
    uint32_t n = text == NULL ? 1 : (uint32_t)strtoul(text, NULL, 10);
    return n | 1;
}

uint32_t sparse_of(uint32_t rounds)
{
    return (rounds + sparse() - 1) / sparse();
}
