/* api_scan_prepare.c -- what a scan needs before it is sent: its columns, its order, the fragments
 * that take part. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "api/core/api_merge.h"
#include "api/core/api_table_state.h"
#include "values/key.h"
#include "values/table_index.h"

/* Fragments of which the server can read so many at the same time, as a merge needs them. */
#define MERGED_FRAGMENTS_MAX 256u

static uint32_t count_fragments(const struct api_scan *scan)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < scan->fragment_count; i++)
        count += !scan->fragments[i].left_out;
    return count;
}

static uint32_t prepare_merge(struct api_scan *scan, const struct api_scan_options *options)
{
    struct table_index index;
    struct scan_range range;
    if (scan_range_decode(options->range, options->range_words, &range) == 0 ||
        !table_def_index_by_id(options->table->def, range.index, &index) ||
        count_fragments(scan) > MERGED_FRAGMENTS_MAX)
        return ERR_BOUNDS;
    if (count_fragments(scan) == 1) return 0; /* Its rows come in order. */
    uint32_t asked = scan->attr_words;
    scan->attr_words = api_merge_attrs(&index, scan->attrs, scan->attr_words);
    const struct api_merge_order order = {.index = index,
                                          .descending = (range.flags & SCAN_DESCENDING) != 0,
                                          .ranged = scan->ranged,
                                          .wanted =
                                              scan->attr_words > asked ? options->attr_words : 0};
    scan->merge = api_merge_new(options->table, &order);
    return scan->merge == NULL ? ERR_API_MEMORY : 0;
}

/* Ranges that are in one partition each leave all other fragments out; the coordinator does the
 * same.
 */
static void prune(struct api_scan *scan, const struct api_scan_options *options)
{
    const struct api_table *table = scan->table;
    uint32_t fragments = 0;
    for (uint32_t i = 0; i < scan->fragment_count; i++)
        scan->fragments[i].left_out = scan->fragments[i].done = true;
    for (uint32_t at = 0; at < options->range_words;) {
        struct scan_range range;
        at += scan_range_decode(options->range + at, options->range_words - at, &range);
        uint32_t bucket = hash_map_bucket((uint64_t)range.partition << 32, table->buckets);
        struct api_scan_fragment *fragment = &scan->fragments[table->map[bucket]];
        if (fragment->left_out) fragments++;
        fragment->left_out = fragment->done = false;
        scan->fragment_only = table->map[bucket];
    }
    if (fragments > 1) scan->fragment_only = API_ALL_FRAGMENTS;
    scan->pruned = fragments < scan->fragment_count;
}

static bool all_in_one_partition(const struct api_scan_options *options)
{
    for (uint32_t at = 0; at < options->range_words;) {
        struct scan_range range;
        at += scan_range_decode(options->range + at, options->range_words - at, &range);
        if ((range.flags & SCAN_ONE_PARTITION) == 0) return false;
    }
    return true;
}

/* What the rows' ranges are: of several ones each row tells its own. */
static uint32_t prepare_ranges(struct api_scan *scan, const struct api_scan_options *options)
{
    uint32_t count = scan_ranges_count(options->range, options->range_words);
    if (count == 0) return ERR_BOUNDS;
    scan->range = scan_ranges_last(options->range, options->range_words);
    scan->ranged = count > 1 && options->attr_words > 0;
    if (all_in_one_partition(options)) prune(scan, options);
    return 0;
}

static uint32_t prepare_order(struct api_scan *scan, const struct api_scan_options *options)
{
    uint32_t error = options->range_words == 0 ? 0 : prepare_ranges(scan, options);
    if (error != 0) return error;
    if (scan->ranged) scan->attrs[scan->attr_words++] = attr_header(ATTR_RANGE, 0);
    for (uint32_t i = 0; i < options->attr_words; i++)
        scan->attrs[scan->attr_words++] = options->attrs[i];
    bool merged = options->attr_words > 0 && options->range_words > 0 &&
                  (scan_range_flags(options->range) & SCAN_MERGED) != 0;
    if (merged) error = prepare_merge(scan, options);
    return error == 0 && scan->attr_words > ATTR_READ_MAX ? ERR_READS_TOO_MANY : error;
}

uint32_t api_scan_prepare(struct api_scan *scan, const struct api_scan_options *options)
{
    uint32_t fragments = options->copies ? options->table->fragments : options->table->partitions;
    if (options->copies && options->range_words > 0) return ERR_PARAMETER;
    scan->fragment_count = fragments;
    scan->fragments = calloc(fragments, sizeof *scan->fragments);
    scan->go_on = malloc(fragments * sizeof *scan->go_on);
    scan->attrs = malloc((1u + options->attr_words + INDEX_COLUMNS_MAX + options->program_words +
                          options->range_words) *
                         4u);
    if (scan->fragments == NULL || scan->go_on == NULL || scan->attrs == NULL)
        return ERR_API_MEMORY;
    scan->fragment_only = API_ALL_FRAGMENTS;
    uint32_t error = prepare_order(scan, options);
    if (error != 0) return error;
    uint32_t *at = scan->attrs + scan->attr_words;
    if (options->program_words > 0) memcpy(at, options->program, options->program_words * 4u);
    at += options->program_words;
    if (options->range_words > 0) memcpy(at, options->range, options->range_words * 4u);
    return 0;
}
