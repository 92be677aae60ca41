/* api_scan_answer.c -- what a scan is answered: rows of its fragments, counted against what the
 * coordinator announces. */
/* SPDX-License-Identifier: MIT */
#include <string.h>
#include "api/core/api_merge.h"
#include "api/core/api_table_state.h"
#include "values/attr.h"

static struct api_scan *answered_scan(struct api_client *client, uint32_t ref, uint32_t transid1,
                                      uint32_t transid2)
{
    struct api_scan *scan = api_pool_find(&client->scans, ref);
    if (scan == NULL || scan->transid != ((uint64_t)transid2 << 32 | transid1) ||
        (scan->state != SCAN_OPEN && !(scan->state == SCAN_ENDED && scan->ended) &&
         scan->state != SCAN_CLOSING)) {
        api_late(client);
        return NULL;
    }
    return scan;
}

/*
 * Something has come from that fragment: is it worth waking the application? A batch comes in
 * several signals, and being woken for each of them costs more than its rows. Locked rows are given
 * at once: the server may wait for the next one.
 */
static bool worth_waking(const struct api_scan *scan, uint32_t number)
{
    const struct api_scan_fragment *fragment = &scan->fragments[number];
    if (!scan->waiting) return false;
    if (scan->options.lock != LOCK_COMMITTED) return true;
    if (scan->merge != NULL) return api_merge_ready(scan->merge, scan);
    return scan->first != NULL && fragment->received == fragment->announced;
}

/* The number here of a fragment that was read: its partition's, whichever copy it is. False: none
 * that takes part. */
static bool takes_part(const struct api_scan *scan, uint32_t fragment, uint32_t *number)
{
    *number = fragment % scan->fragment_count;
    return fragment < scan->table->fragments && !scan->fragments[*number].left_out;
}

static bool range_is_whole(const struct api_scan *scan, const uint32_t *words, uint32_t size)
{
    return size >= 2 && words[0] == attr_header(ATTR_RANGE, 4) && words[1] <= scan->range;
}

/* `rows` rows, each with its number of words before it, and nothing else; their ranges first. */
static bool rows_are_whole(const struct api_scan *scan, const uint32_t *words, uint32_t size,
                           uint32_t rows)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < rows; i++) {
        if (at >= size || words[at] > size - at - 1) return false;
        if (scan->ranged && !range_is_whole(scan, words + at + 1, words[at])) return false;
        at += 1 + words[at];
    }
    return at == size;
}

void api_scan_rows_in(struct api_client *client, const uint32_t *words)
{
    const struct transid_ai *ai = (const void *)(words + SIGNAL_HEAD_WORDS);
    uint32_t at = SIGNAL_HEAD_WORDS + kind_words(words[0]);
    uint32_t size = words[at];
    struct api_scan *scan = answered_scan(client, ai->api_op, ai->transid1, ai->transid2);
    uint32_t fragment;

    if (scan == NULL || scan->state == SCAN_CLOSING || scan->error != 0) return;
    if (!takes_part(scan, ai->fragment_id, &fragment) ||
        !rows_are_whole(scan, words + at + 1, size, ai->rows)) {
        api_scan_fail(scan, ERR_REPLY_4215);
        api_scan_close_at_server(scan);
        api_scan_notify(scan);
        return;
    }
    struct api_chunk *chunk = api_scan_take_chunk(client, size);
    if (chunk == NULL) {
        api_scan_fail(scan, ERR_API_MEMORY);
        api_scan_close_at_server(scan);
        api_scan_notify(scan);
        return;
    }
    chunk->next = NULL;
    chunk->fragment = fragment;
    chunk->at = 0;
    chunk->words = size;
    memcpy(chunk->data, words + at + 1, (size_t)size * 4u);
    if (scan->merge != NULL) {
        api_merge_add(scan->merge, chunk);
    } else {
        if (scan->last != NULL)
            scan->last->next = chunk;
        else
            scan->first = chunk;
        scan->last = chunk;
    }
    scan->words_waiting += size;
    scan->fragments[fragment].received += ai->rows;
    scan->rows_received += ai->rows;
    client->statistics.rows_read += ai->rows;
    client->statistics.scan_batches++;
    api_scan_made_progress(scan);
    if (worth_waking(scan, fragment)) api_scan_notify(scan);
}

/* False: they are nonsense. *wake: the application is to be woken. */
static bool take_entries(struct api_scan *scan, const uint32_t *entry, uint32_t words, bool *wake)
{
    if (words % SCAN_FRAG_ENTRY_WORDS != 0) return false;
    for (uint32_t i = 0; i < words; i += SCAN_FRAG_ENTRY_WORDS) {
        uint32_t fragment;
        if (!takes_part(scan, entry[i], &fragment)) return false;
        scan->fragments[fragment].announced += entry[i + 1];
        scan->rows_announced += entry[i + 1];
        bool done = (entry[i + 2] & SCAN_FRAG_DONE) != 0;
        scan->fragments[fragment].done |= done;
        scan->client->statistics.fragments_scanned += done;
        *wake |= worth_waking(scan, fragment);
        if (done) continue;
        if (scan->go_on_count == scan->fragment_count) return false; /* The same one twice. */
        scan->go_on[scan->go_on_count++] = fragment;
        scan->client->go_on = true;
    }
    return true;
}

void api_exec_SCAN_TABCONF(struct api_client *client, const uint32_t *words)
{
    const struct scan_tabconf *conf = (const void *)(words + SIGNAL_HEAD_WORDS);
    struct api_scan *scan = answered_scan(client, conf->api_scan, conf->transid1, conf->transid2);
    uint32_t at = SIGNAL_HEAD_WORDS + kind_words(words[0]);

    if (scan == NULL || scan->state == SCAN_ENDED) return;
    bool wake = false;
    bool fine = scan->state == SCAN_CLOSING || take_entries(scan, words + at + 1, words[at], &wake);
    if (!fine) api_scan_fail(scan, ERR_REPLY_4215);
    api_scan_made_progress(scan);
    if ((conf->flags & SCAN_END) != 0) {
        scan->ended = scan->state == SCAN_OPEN;
        api_scan_ended(scan);
        return;
    }
    if (!fine) api_scan_close_at_server(scan);
    if (!fine || wake) api_scan_notify(scan);
}

void api_exec_SCAN_TABREF(struct api_client *client, const uint32_t *words)
{
    const struct scan_tabref *ref = (const void *)(words + SIGNAL_HEAD_WORDS);
    struct api_scan *scan = answered_scan(client, ref->api_scan, ref->transid1, ref->transid2);

    if (scan == NULL || scan->state == SCAN_ENDED) return;
    api_scan_fail(scan, ref->error == 0 ? ERR_REPLY_4215 : ref->error);
    api_scan_ended(scan);
}
