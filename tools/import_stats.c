/* import_stats.c -- statistics of an import: <file>.stt, a line per series and run. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/import.h"

#define CUT_LEAST 6 /* Bytes of the titles that are no accident. */
#define TITLES    "runno\tid\tname\tparent\tobs\tsum\tmean\tmin\tmax\tstddev\n"

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

/* Is the file empty, or did an import make it, perhaps with no room on the disk for all of it? Those
 * of before had no titles when the first run had no statistics. */
enum kind { OF_OTHERS, CUT, STATISTICS };

static enum kind kind_of(FILE *file)
{
    char line[sizeof(TITLES)];
    struct stat status;
    unsigned run, id;
    char name[24];

    if (fstat(fileno(file), &status) != 0 || !S_ISREG(status.st_mode)) return OF_OTHERS;
    if (status.st_size == 0) return STATISTICS;
    if (fgets(line, sizeof(line), file) == NULL) return OF_OTHERS;
    if (strcmp(line, TITLES) == 0) return STATISTICS;
    if (status.st_size >= CUT_LEAST && strlen(line) == (size_t)status.st_size &&
        strncmp(line, TITLES, strlen(line)) == 0)
        return CUT;
    bool row = sscanf(line, "%u\t%u\t%23[^\t]", &run, &id, name) == 3 &&
               (strcmp(name, IMPORT_SERIES_ROW) == 0 || strcmp(name, IMPORT_SERIES_RATE) == 0);
    return row ? STATISTICS : OF_OTHERS;
}

/* The last line may have no end: the disk was full. What goes on behind it would be part of it. */
static bool cut_last_line(FILE *file)
{
    char text[4096]; /* No line is longer. */
    int fd = fileno(file);
    struct stat status;

    if (fstat(fd, &status) != 0) return false;
    off_t from = status.st_size > (off_t)sizeof(text) ? status.st_size - (off_t)sizeof(text) : 0;
    ssize_t size = pread(fd, text, sizeof(text), from);
    if (size < 0) return false;
    ssize_t keep = size;
    while (keep > 0 && text[keep - 1] != '\n')
        keep--;
    return keep == size || ftruncate(fd, from + keep) == 0;
}

/* To append to it. NULL: errno tells why; EBADMSG: it is somebody else's, and is not replaced. */
static FILE *open_statistics(const char *path, bool anew)
{
    FILE *file = fopen(path, "a+");

    if (file == NULL) return NULL;
    errno = EBADMSG;
    enum kind kind = kind_of(file);
    bool from_start = anew || kind == CUT;
    if (kind != OF_OTHERS && (from_start ? ftruncate(fileno(file), 0) == 0 : cut_last_line(file)) &&
        fseek(file, 0, SEEK_END) == 0) {
        if (ftell(file) == 0) (void)fputs(TITLES, file);
        return file;
    }
    int error = errno;
    (void)fclose(file);
    errno = error;
    return NULL;
}

static bool refuse(const char *path)
{
    (void)fprintf(stderr, "%s: %s\n", path,
                  errno == EBADMSG ? "is in the way: it is not of ndb_import (see --state-dir)"
                                   : strerror(errno));
    return false;
}

bool import_series_begin(const char *directory, const char *name)
{
    char path[4200];
    struct stat status;

    (void)snprintf(path, sizeof(path), "%s/%s.stt", directory, name);
    if (stat(path, &status) != 0 && errno == ENOENT) return true;
    FILE *file = open_statistics(path, false);
    if (file == NULL) return refuse(path);
    return fclose(file) == 0 || refuse(path);
}

bool import_series_write(const char *directory, const char *name, uint32_t run,
                         const struct import_series *series, uint32_t count)
{
    char path[4200];

    (void)snprintf(path, sizeof(path), "%s/%s.stt", directory, name);
    FILE *out = open_statistics(path, run == 1);
    if (out == NULL) return refuse(path);
    for (uint32_t i = 0; i < count; i++) {
        const struct import_series *s = &series[i];
        double deviation = s->count > 1 ? sqrt(s->squares / (double)(s->count - 1)) : 0;
        (void)fprintf(out, "%u\t%u\t%s\t0\t%" PRIu64 "\t%.0f\t%.1f\t%.1f\t%.1f\t%.1f\n", run, i + 1,
                      s->name, s->count, s->sum, s->mean, s->min, s->max, deviation);
    }
    return fclose(out) == 0 || refuse(path);
}
