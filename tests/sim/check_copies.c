/* check_copies.c -- when all is quiet: each copy of a partition has its rows, and no others. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <xxhash.h>
#include "tests/sim/place.h"

/* Sums over the rows of a fragment, in any order: copies keep them in other places. */
struct rows {
    uint32_t count;
    uint32_t unread;
    uint64_t hash;
};

static bool read_row(const struct place *place, uint32_t row, uint32_t id, uint32_t *out,
                     uint32_t *words)
{
    const uint32_t attr = attr_header(id, 0);
    struct tup_read read = {.frag = place->frag, .row = row, .attr = &attr, .attr_words = 1};
    return tup_read(place->tup, &read, out, TUP_ROW_WORDS_MAX, words) == 0;
}

/* All columns, and the GCI of the commit that has changed it last. */
static void add_row(void *context, const struct place *place, uint32_t row)
{
    static uint32_t out[2 * TUP_ROW_WORDS_MAX];
    struct rows *rows = context;
    uint32_t words = 0;
    uint32_t more = 0;
    rows->count++;
    if (read_row(place, row, ATTR_READ_ALL, out, &words) &&
        read_row(place, row, ATTR_ROW_GCI, out + words, &more))
        rows->hash += XXH3_64bits(out, (words + more) * 4u);
    else
        rows->unread++;
}

static void check_copy(struct run *run, uint32_t table, uint32_t partition, uint32_t copy)
{
    struct place first, second;
    struct rows a = {0};
    struct rows b = {0};
    if (!place_find(run, table, partition, &first) || !place_find(run, table, copy, &second)) {
        run_fail(run, SIM_CORRECTNESS, "table %u: fragment %u or its copy %u is nowhere", table,
                 partition, copy);
        return;
    }
    place_visit(&first, add_row, &a);
    place_visit(&second, add_row, &b);
    run->figures.copied += a.count;
    if (a.count == b.count && a.hash == b.hash && a.unread + b.unread == 0) return;
    run_fail(run, SIM_CORRECTNESS,
             "table %u fragment %u has %u rows (%016llx), its copy %u has %u (%016llx)", table,
             partition, a.count, (unsigned long long)a.hash, copy, b.count,
             (unsigned long long)b.hash);
}

/* I-SIM-11 */
void check_copies(struct run *run)
{
    for (uint32_t table = 0; table < run->swarm.config.tables_max; table++) {
        uint32_t partitions, fragments;
        if (!place_partitions(run, table, &partitions, &fragments)) continue;
        for (uint32_t i = partitions; i < fragments; i++)
            check_copy(run, table, i % partitions, i);
    }
}
