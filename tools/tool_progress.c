/* tool_progress.c -- how far long work is, for a person at a terminal. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/tool_progress.h"
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define FIRST_MS 1000u
#define AGAIN_MS 250u

static uint64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void tool_progress_tell(struct tool_progress *progress, const char *tool, uint64_t count,
                        const char *what)
{
    uint64_t now = now_ms();

    if (progress->next_ms == 0) progress->next_ms = now + FIRST_MS;
    if (now < progress->next_ms) return;
    progress->next_ms = now + AGAIN_MS;
    if (isatty(STDERR_FILENO) != 1) return;
    (void)fflush(stdout);
    (void)fprintf(stderr, "\r\033[K%s: %" PRIu64 " %s", tool, count, what);
    (void)fflush(stderr);
    progress->shown = true;
}

void tool_progress_end(struct tool_progress *progress)
{
    if (progress->shown) (void)fputs("\r\033[K", stderr);
    *progress = (struct tool_progress){0};
}
