/* api_merge.c -- the rows of all fragments of an index scan in one order: a heap of sources. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "api/core/api_merge.h"
#include "api/core/api_table_state.h"
#include "values/table_index.h"

/* IDLE: no row here now; READY: in the heap with its first row; OVER: no more will come. */
enum source_state { SOURCE_IDLE = 0, SOURCE_READY, SOURCE_OVER };

struct source {
    struct api_chunk *first;
    struct api_chunk *last;
    uint64_t words; /* Words of all its chunks. */
    enum source_state state;
    uint32_t range; /* Range of its first row. */
};

struct api_merge {
    const struct table_def *def;
    struct api_merge_order order;
    uint32_t sources;
    struct source *source;
    struct scan_value *key; /* Values of each source's first row, column_count of them. */
    uint32_t *heap;
    uint32_t heap_count;
    uint32_t idle;
    bool given; /* The row at the top of the heap was given out. */
};

uint32_t api_merge_attrs(const struct table_index *index, uint32_t *attrs, uint32_t words)
{
    uint32_t named = words;
    for (uint32_t i = 0; i < index->column_count; i++) {
        bool found = false;
        for (uint32_t a = 0; a < named && !found; a++) {
            uint32_t id = attr_column(attrs[a]);
            found = id == index->columns[i] || id == ATTR_READ_ALL;
        }
        if (!found) attrs[words++] = attr_header(index->columns[i], 0);
    }
    return words;
}

struct api_merge *api_merge_new(const struct api_table *table, const struct api_merge_order *order)
{
    struct api_merge *merge = calloc(1, sizeof *merge);
    if (merge == NULL) return NULL;
    merge->def = table->def;
    merge->order = *order;
    merge->sources = merge->idle = table->partitions;
    merge->source = calloc(merge->sources, sizeof *merge->source);
    merge->key = calloc((size_t)merge->sources * order->index.column_count, sizeof *merge->key);
    merge->heap = calloc(merge->sources, sizeof *merge->heap);
    if (merge->source != NULL && merge->key != NULL && merge->heap != NULL) return merge;
    api_merge_free(merge);
    return NULL;
}

void api_merge_free(struct api_merge *merge)
{
    if (merge == NULL) return;
    free(merge->source);
    free(merge->key);
    free(merge->heap);
    free(merge);
}

void api_merge_add(struct api_merge *merge, struct api_chunk *chunk)
{
    struct source *source = &merge->source[chunk->fragment];
    if (source->last != NULL)
        source->last->next = chunk;
    else
        source->first = chunk;
    source->last = chunk;
    source->words += chunk->words;
}

static void chunk_release(struct source *source, struct api_scan *scan, api_merge_release *release)
{
    struct api_chunk *chunk = source->first;
    source->first = chunk->next;
    if (source->first == NULL) source->last = NULL;
    source->words -= chunk->words;
    release(scan, chunk);
}

void api_merge_drop(struct api_merge *merge, struct api_scan *scan, api_merge_release *release)
{
    for (uint32_t i = 0; i < merge->sources; i++) {
        while (merge->source[i].first != NULL)
            chunk_release(&merge->source[i], scan, release);
    }
    merge->heap_count = 0;
}

bool api_merge_hungry(const struct api_merge *merge, uint32_t fragment, bool locked)
{
    const struct source *source = &merge->source[fragment];
    if (locked) return source->first == NULL;
    return source->first == source->last || source->words < API_SCAN_AHEAD_WORDS / merge->sources;
}

static struct scan_value *key_of(const struct api_merge *merge, uint32_t source)
{
    return merge->key + (size_t)source * merge->order.index.column_count;
}

/* Does the first row of `a` come before that of `b`? */
static bool before(const struct api_merge *merge, uint32_t a, uint32_t b)
{
    const struct scan_value *x = key_of(merge, a);
    const struct scan_value *y = key_of(merge, b);
    if (merge->source[a].range != merge->source[b].range)
        return merge->source[a].range < merge->source[b].range;
    for (uint32_t i = 0; i < merge->order.index.column_count; i++) {
        const struct table_column *column = &merge->def->columns[merge->order.index.columns[i]];
        int order = (x[i].size != 0) - (y[i].size != 0); /* NULL comes first. */
        if (x[i].size != 0 && y[i].size != 0)
            order = column_compare(&column->format, x[i].bytes, x[i].size, y[i].bytes, y[i].size);
        if (order != 0) return merge->order.descending ? order > 0 : order < 0;
    }
    return a < b;
}

static void heap_down(struct api_merge *merge)
{
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= merge->heap_count) return;
        if (child + 1 < merge->heap_count &&
            before(merge, merge->heap[child + 1], merge->heap[child]))
            child++;
        if (!before(merge, merge->heap[child], merge->heap[at])) return;
        uint32_t source = merge->heap[at];
        merge->heap[at] = merge->heap[child];
        merge->heap[child] = source;
        at = child;
    }
}

static void heap_push(struct api_merge *merge, uint32_t source)
{
    uint32_t at = merge->heap_count++;
    while (at > 0 && before(merge, source, merge->heap[(at - 1) / 2])) {
        merge->heap[at] = merge->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    merge->heap[at] = source;
}

/* Finds the key of the source's first row. False: it is malformed. */
static bool key_load(const struct api_merge *merge, uint32_t number)
{
    struct source *source = &merge->source[number];
    const struct api_row row = api_chunk_row(source->first, merge->order.ranged);
    const uint32_t *pairs = row.pairs;
    uint32_t words = row.words;
    struct scan_value *key = key_of(merge, number);
    uint32_t found = 0;
    source->range = row.range;
    for (uint32_t at = 0; at < words;) {
        uint32_t size = attr_size(pairs[at]);
        if (words_of(size) > words - at - 1u) return false;
        for (uint32_t i = 0; i < merge->order.index.column_count; i++) {
            if (merge->order.index.columns[i] != attr_column(pairs[at])) continue;
            key[i] = (struct scan_value){(const uint8_t *)(pairs + at + 1), size};
            found |= 1u << i;
        }
        at += 1u + words_of(size);
    }
    return found == (uint32_t)((1ull << merge->order.index.column_count) - 1u);
}

/* No other source has rows, now or ever: their keys need not be known any more. */
static bool is_alone(const struct api_merge *merge)
{
    return merge->heap_count == 1 && merge->idle == 0;
}

/* Behind the row that was given out. False: the next one is malformed. */
static bool step(struct api_merge *merge, struct api_scan *scan, api_merge_release *release)
{
    uint32_t number = merge->heap[0];
    struct source *source = &merge->source[number];
    merge->given = false;
    if (source->first->at == source->first->words) chunk_release(source, scan, release);
    if (source->first != NULL) {
        if (!is_alone(merge) && !key_load(merge, number)) return false;
    } else {
        source->state = SOURCE_IDLE;
        merge->idle++;
        merge->heap[0] = merge->heap[--merge->heap_count];
    }
    heap_down(merge);
    return true;
}

bool api_merge_ready(const struct api_merge *merge, const struct api_scan *scan)
{
    for (uint32_t i = 0; i < merge->sources; i++) {
        const struct source *source = &merge->source[i];
        if (source->state != SOURCE_IDLE) continue;
        if (scan->fragments[i].received != scan->fragments[i].announced ||
            (source->first == NULL && !scan->fragments[i].done))
            return false;
    }
    return true;
}

/* Looks whether idle sources have got rows, or are over. False: a row is malformed. */
static bool wake(struct api_merge *merge, const struct api_scan *scan)
{
    for (uint32_t i = 0; i < merge->sources && merge->idle > 0; i++) {
        const struct api_scan_fragment *fragment = &scan->fragments[i];
        struct source *source = &merge->source[i];
        if (source->state != SOURCE_IDLE) continue;
        if (source->first != NULL) {
            if (!key_load(merge, i)) return false;
            source->state = SOURCE_READY;
            heap_push(merge, i);
        } else if (fragment->done && fragment->received == fragment->announced) {
            source->state = SOURCE_OVER;
        } else {
            continue;
        }
        merge->idle--;
    }
    return true;
}

/* The words of the columns that the application has asked for. */
static uint32_t wanted_words(const struct api_merge *merge, const uint32_t *pairs, uint32_t words)
{
    uint32_t at = 0;
    if (merge->order.wanted == 0) return words;
    for (uint32_t i = 0; i < merge->order.wanted && at < words; i++)
        at += 1u + words_of(attr_size(pairs[at]));
    return at < words ? at : words;
}

enum api_scan_step api_merge_next(struct api_merge *merge, struct api_scan *scan,
                                  struct api_row *row, api_merge_release *release)
{
    if (merge->given && !step(merge, scan, release)) return API_SCAN_ERROR;
    if (merge->idle > 0 && !wake(merge, scan)) return API_SCAN_ERROR;
    if (merge->idle > 0) return API_SCAN_WAIT;
    if (merge->heap_count == 0) return API_SCAN_END;
    struct api_chunk *chunk = merge->source[merge->heap[0]].first;
    *row = api_chunk_row(chunk, merge->order.ranged);
    row->words = wanted_words(merge, row->pairs, row->words);
    chunk->at += 1u + chunk->data[chunk->at];
    merge->given = true;
    return API_SCAN_ROW;
}
