/* tool_progress.c -- how far long work is, for a person at a terminal. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/tool_progress.h"
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define FIRST_MS 1000u
#define AGAIN_MS 250u

static uint64_t next_ms; /* When it is told again. */
static bool shown;

static uint64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void tool_progress_tell(const char *tool, uint64_t count, const char *what)
{
    uint64_t now = now_ms();

    if (next_ms == 0) next_ms = now + FIRST_MS;
    if (now < next_ms) return;
    next_ms = now + AGAIN_MS;
    if (isatty(STDERR_FILENO) != 1) return;
    (void)fflush(stdout);
    (void)fprintf(stderr, "\r\033[K%s: %" PRIu64 " %s", tool, count, what);
    (void)fflush(stderr);
    shown = true;
}

void tool_progress_end(void)
{
    if (shown) (void)fputs("\r\033[K", stderr);
    shown = false;
}
