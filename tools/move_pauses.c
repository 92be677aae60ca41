/* move_pauses.c -- how often, and after which pauses, ndb_move_data tries again. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/move_pauses.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tools/tool_common.h"
#include "tools/tool_progress.h"

#define QUIET_MS 1000u /* What takes no longer is not told. */

/* The number at the begin of *text, which goes on behind it. False: there is none, or it is too
 * great. */
static bool take_number(const char **text, uint32_t *number)
{
    char *end;

    if (!isdigit((unsigned char)**text)) return false;
    errno = 0;
    unsigned long long value = strtoull(*text, &end, 10);
    if (errno != 0 || value > UINT32_MAX) return false;
    *text = end;
    *number = (uint32_t)value;
    return true;
}

bool move_pauses_parse(struct move_pauses *pauses, const char *text)
{
    uint32_t numbers[3] = {pauses->tries_max, pauses->delay_min_ms, pauses->delay_max_ms};
    bool more = true;

    for (uint32_t i = 0; i < 3 && more; i++) {
        if (!take_number(&text, &numbers[i])) return false;
        more = *text == ',';
        if (more) text++;
    }
    if (more || *text != '\0' || numbers[1] > numbers[2]) return false;
    pauses->tries_max = numbers[0];
    pauses->delay_min_ms = numbers[1];
    pauses->delay_max_ms = numbers[2];
    return true;
}

static uint64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The pause that begins counts: it may be long. */
static void tell(struct move_pauses *pauses, const ndb_error_t *error, uint64_t until_ms)
{
    uint64_t from_ms = pauses->told == 0 ? pauses->since_ms : pauses->told_ms;

    if (until_ms - from_ms <= QUIET_MS || pauses->told == error->code) return;
    tool_progress_end();
    (void)fprintf(stderr, "ndb_move_data: waits, and tries again: %d: %s\n", error->code,
                  error->text);
    pauses->told = error->code;
    pauses->told_ms = now_ms();
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
    if (pauses->since_ms == 0) pauses->since_ms = now_ms();
    if (pauses->verbose) tool_progress_end();
    if (pauses->verbose)
        (void)fprintf(stderr, "Try %u has failed, the next one follows in %" PRIu64 " ms: %d: %s\n",
                      *tries, delay_ms, error->code, error->text);
    else
        tell(pauses, error, now_ms() + delay_ms);
    struct timespec pause = {.tv_sec = (time_t)(delay_ms / 1000),
                             .tv_nsec = (long)(delay_ms % 1000) * 1000000};
    (void)nanosleep(&pause, NULL);
    return true;
}

void move_pauses_end(struct move_pauses *pauses)
{
    pauses->since_ms = 0;
    pauses->told = 0;
}
