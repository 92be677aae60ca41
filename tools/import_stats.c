/* import_stats.c -- statistics of an import: <file>.stt, a line per series and run. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/import.h"

void import_series_add(struct import_series *series, double value)
{
    double step = value - series->mean;

    if (series->count == 0 || value < series->min) series->min = value;
    if (series->count == 0 || value > series->max) series->max = value;
    series->count++;
    series->sum += value;
    series->mean += step / (double)series->count;
    series->squares += step * (value - series->mean); /* Welford. */
}

bool import_series_write(const char *directory, const char *name, uint32_t run,
                         const struct import_series *series, uint32_t count)
{
    char path[4200];

    (void)snprintf(path, sizeof(path), "%s/%s.stt", directory, name);
    FILE *out = fopen(path, run > 1 ? "a" : "w");
    if (out == NULL) {
        (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return false;
    }
    if (run == 1) (void)fputs("runno\tid\tname\tparent\tobs\tsum\tmean\tmin\tmax\tstddev\n", out);
    for (uint32_t i = 0; i < count; i++) {
        const struct import_series *s = &series[i];
        double deviation = s->count > 1 ? sqrt(s->squares / (double)(s->count - 1)) : 0;
        (void)fprintf(out, "%u\t%u\t%s\t0\t%" PRIu64 "\t%.0f\t%.1f\t%.1f\t%.1f\t%.1f\n", run, i + 1,
                      s->name, s->count, s->sum, s->mean, s->min, s->max, deviation);
    }
    if (fclose(out) == 0) return true;
    (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return false;
}
