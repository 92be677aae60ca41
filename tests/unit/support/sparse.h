/* sparse.h -- how many of its moments a test leaves out. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A test that lets a node die after each so many signals takes a minute, and an hour under
 * memcheck, where a part of the moments has to do. The part is odd: what takes turns between even
 * and odd moments or seeds is met in both.
 */
#pragma once
#include <stdint.h>
#include <stdlib.h>
/** 1: all of them; N (TEST_SPARSE in the environment, made odd): each Nth. */
uint32_t sparse(void);

/** How many of so many rounds that is, at least one. */
uint32_t sparse_of(uint32_t rounds);
