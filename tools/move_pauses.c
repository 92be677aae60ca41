/* move_pauses.c -- how often, and after which pauses, ndb_move_data tries again. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/move_pauses.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tools/tool_common.h"

#define QUIET_MS 1000u /* Pauses that take no longer in all are not told. */

bool move_pauses_parse(struct move_pauses *pauses, const char *text)
{
    char rest;
    int count = sscanf(text, "%u,%u,%u%c", &pauses->tries_max, &pauses->delay_min_ms,
                       &pauses->delay_max_ms, &rest);

    return count >= 1 && count <= 3 && strspn(text, "0123456789,") == strlen(text) &&
           strlen(text) <= 30 && pauses->delay_min_ms <= pauses->delay_max_ms;
}

static void tell(struct move_pauses *pauses, const ndb_error_t *error)
{
    if (pauses->paused_ms < QUIET_MS || pauses->told == error->code) return;
    (void)fprintf(stderr, "ndb_move_data: waits, and tries again: %d: %s\n", error->code,
                  error->text);
    pauses->told = error->code;
}

bool move_pause(struct move_pauses *pauses, const ndb_error_t *error, uint32_t *tries)
{
    uint64_t delay_ms = (uint64_t)pauses->delay_min_ms << (*tries < 16 ? *tries : 16);

    if (delay_ms > pauses->delay_max_ms) delay_ms = pauses->delay_max_ms;
    if (pauses->tries_max != 0 && *tries + 1 >= pauses->tries_max) {
        tool_print_error(error);
        return false;
    }
    (*tries)++;
    pauses->paused_ms += delay_ms;
    if (pauses->verbose)
        (void)fprintf(stderr, "Try %u has failed, the next one follows in %" PRIu64 " ms: %d: %s\n",
                      *tries, delay_ms, error->code, error->text);
    else
        tell(pauses, error);
    struct timespec pause = {.tv_sec = (time_t)(delay_ms / 1000),
                             .tv_nsec = (long)(delay_ms % 1000) * 1000000};
    (void)nanosleep(&pause, NULL);
    return true;
}

void move_pauses_end(struct move_pauses *pauses)
{
    pauses->paused_ms = 0;
    pauses->told = 0;
}
