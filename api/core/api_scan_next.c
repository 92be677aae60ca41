/* api_scan_next.c -- a scan's rows that are here: kept in chunks, given to the application one by
 * one, and more asked for. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "api/core/api_connect_state.h"
#include "api/core/api_merge.h"

#define CHUNK_ROOM_MIN  8192u  /* Words: most batches fit, so chunks can be used again. */
#define CHUNK_ROOM_KEPT 65536u /* Words: larger ones are given back. */

/* ---- Chunks of rows. ---- */

static void release_chunk(struct api_client *client, struct api_chunk *chunk)
{
    if (client->chunk_free_count >= API_CHUNKS_KEPT || chunk->room > CHUNK_ROOM_KEPT) {
        free(chunk);
        return;
    }
    chunk->next = client->chunk_free;
    client->chunk_free = chunk;
    client->chunk_free_count++;
}

struct api_chunk *api_scan_take_chunk(struct api_client *client, uint32_t words)
{
    struct api_chunk *chunk = client->chunk_free;
    if (chunk != NULL && chunk->room >= words) {
        client->chunk_free = chunk->next;
        client->chunk_free_count--;
        return chunk;
    }
    uint32_t room = words < CHUNK_ROOM_MIN ? CHUNK_ROOM_MIN : words;
    chunk = malloc(sizeof *chunk + (size_t)room * 4u);
    if (chunk != NULL) chunk->room = room;
    return chunk;
}

static void release_merged(struct api_scan *scan, struct api_chunk *chunk)
{
    scan->words_waiting -= chunk->words;
    release_chunk(scan->client, chunk);
}

void api_scan_drop_rows(struct api_scan *scan)
{
    if (scan->merge != NULL) api_merge_drop(scan->merge, scan, release_merged);
    while (scan->first != NULL) {
        struct api_chunk *chunk = scan->first;
        scan->first = chunk->next;
        release_chunk(scan->client, chunk);
    }
    scan->last = NULL;
    scan->words_waiting = 0;
}

/* ---- Asking for more. ---- */

/* Is this a fragment of a merge whose rows here run out? */
static bool fragment_may_go_on(const struct api_scan *scan, uint32_t number)
{
    const struct api_scan_fragment *fragment = &scan->fragments[number];
    return fragment->received == fragment->announced &&
           api_merge_hungry(scan->merge, number, scan->options.lock != LOCK_COMMITTED);
}

static bool merge_may_go_on(const struct api_scan *scan)
{
    for (uint32_t i = 0; i < scan->go_on_count; i++) {
        if (fragment_may_go_on(scan, scan->go_on[i])) return true;
    }
    return false;
}

/* Rows of locking scans stay locked until the next batch is asked for: only when all were taken. */
static bool may_go_on(const struct api_scan *scan)
{
    if (scan->state != SCAN_OPEN || scan->go_on_count == 0) return false;
    if (scan->options.attr_words == 0) return true;
    if (scan->merge != NULL) return merge_may_go_on(scan);
    if (scan->options.lock != LOCK_COMMITTED)
        return scan->first == NULL && scan->rows_received == scan->rows_announced;
    uint32_t ahead = scan->client->core->config.scan_buffer_words;
    if (scan->options.range_words > 0 && ahead > API_SCAN_AHEAD_WORDS) ahead = API_SCAN_AHEAD_WORDS;
    return scan->words_waiting < ahead;
}

/* The fragments to be asked for more, at the beginning of the list; of a merge only some of them.
 */
static uint32_t choose_next(struct api_scan *scan)
{
    uint32_t count = 0;
    if (scan->merge == NULL) return scan->go_on_count;
    for (uint32_t i = 0; i < scan->go_on_count; i++) {
        uint32_t fragment = scan->go_on[i];
        if (!fragment_may_go_on(scan, fragment)) continue;
        scan->go_on[i] = scan->go_on[count];
        scan->go_on[count++] = fragment;
    }
    return count;
}

static void send_next(struct api_scan *scan)
{
    struct api_client *client = scan->client;
    struct scan_nextreq req = {.tc_connect = scan->connect->tc_connect,
                               .api_scan = scan->record.ref,
                               .transid1 = (uint32_t)scan->transid,
                               .transid2 = (uint32_t)(scan->transid >> 32)};
    uint32_t out[SIGNAL_HEAD_WORDS + sizeof req / 4u + 1 + TABLE_FRAGMENTS_MAX];
    uint32_t at = SIGNAL_HEAD_WORDS + sizeof req / 4u;
    uint32_t count = choose_next(scan);
    api_pack_head(out, GSN_SCAN_NEXTREQ, scan->connect->tc_ref, client->own_ref, sizeof req / 4u,
                  1);
    out[3] += count;
    memcpy(out + SIGNAL_HEAD_WORDS, &req, sizeof req);
    out[at] = count;
    memcpy(out + at + 1, scan->go_on, count * 4u);
    if (!api_send(client, scan->connect->node, out, out[3])) {
        client->go_on = true;
        api_wake_at(client, client->now_ms + API_SCAN_RESEND_MS);
        return;
    }
    scan->go_on_count -= count;
    memmove(scan->go_on, scan->go_on + count, scan->go_on_count * sizeof *scan->go_on);
}

void api_scan_go_on(struct api_client *client)
{
    client->go_on = false;
    for (struct api_scan *scan = client->scan_list; scan != NULL; scan = scan->next) {
        if (may_go_on(scan)) send_next(scan);
    }
}

/* ---- The application's side. ---- */

static enum api_scan_step wait_for_more(struct api_scan *scan)
{
    if (may_go_on(scan)) send_next(scan);
    if (!scan->waiting) {
        scan->waiting = true;
        scan->client->pending++;
        scan->deadline_ms = api_deadline(scan->client, scan->timeout_ms);
    }
    return API_SCAN_WAIT;
}

static void give(struct api_scan *scan, struct api_row *row)
{
    if (!scan->ranged) row->range = scan->range;
    scan->rows_given++;
}

static enum api_scan_step next_merged(struct api_scan *scan, struct api_row *row)
{
    uint64_t before = scan->words_waiting;
    enum api_scan_step step = api_merge_next(scan->merge, scan, row, release_merged);
    if (scan->words_waiting < before && may_go_on(scan)) send_next(scan);
    if (step == API_SCAN_ROW) give(scan, row);
    if (step == API_SCAN_ERROR) {
        api_scan_fail(scan, ERR_REPLY_4215);
        api_scan_close_at_server(scan);
    }
    if (step == API_SCAN_WAIT) return wait_for_more(scan);
    return step;
}

enum api_scan_step api_scan_next(struct api_scan *scan, struct api_row *row)
{
    *row = (struct api_row){0};
    if (scan->error != 0) return API_SCAN_ERROR;
    if (scan->options.limit != 0 && scan->rows_given >= scan->options.limit) return API_SCAN_END;
    if (scan->merge != NULL) return next_merged(scan, row);
    struct api_chunk *chunk = scan->first;
    if (chunk != NULL && chunk->at == chunk->words) { /* The row given out last was its last one. */
        scan->first = chunk->next;
        if (scan->first == NULL) scan->last = NULL;
        scan->words_waiting -= chunk->words;
        release_chunk(scan->client, chunk);
        chunk = scan->first;
        if (may_go_on(scan)) send_next(scan);
    }
    if (chunk != NULL) {
        *row = api_chunk_row(chunk, scan->ranged);
        chunk->at += 1 + chunk->data[chunk->at];
        give(scan, row);
        return API_SCAN_ROW;
    }
    if (scan->options.attr_words == 0 && api_scan_rows(scan) == scan->options.limit &&
        scan->options.limit != 0)
        return API_SCAN_END;
    if (!scan->ended) return wait_for_more(scan);
    if (scan->options.attr_words > 0 && scan->rows_received < scan->rows_announced)
        return wait_for_more(scan);
    return API_SCAN_END;
}
