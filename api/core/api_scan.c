/* api_scan.c -- scans of tables and indexes: batches of each fragment, counted against what the
 * coordinator announces. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "api/core/api_connect_state.h"
#include "api/core/api_merge.h"
#include "api/core/api_table_state.h"
#include "values/program.h"

#define CHUNK_ROOM_MIN  8192u  /* Words: most batches fit, so chunks can be used again. */
#define CHUNK_ROOM_KEPT 65536u /* Words: larger ones are given back. */
#define CLOSE_RESEND_MS 20u

/*
 *   SEIZING --> OPEN --SCAN_END, REF, link down--> ENDED
 *               OPEN --closed or expired--> CLOSING --SCAN_END, REF, link down--> ENDED
 * A scan that the application has closed (detached) is freed when it is ENDED.
 */

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

static struct api_chunk *take_chunk(struct api_client *client, uint32_t words)
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

static void drop_rows(struct api_scan *scan)
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

static void free_scan(struct api_scan *scan)
{
    struct api_client *client = scan->client;
    drop_rows(scan);
    if (scan->prev != NULL) scan->prev->next = scan->next;
    if (scan->next != NULL) scan->next->prev = scan->prev;
    if (client->scan_list == scan) client->scan_list = scan->next;
    api_merge_free(scan->merge);
    free(scan->attrs);
    free(scan->fragments);
    free(scan->go_on);
    api_table_release(scan->table);
    api_pool_release(&client->scans, scan);
}

/* Tells the application once; it asks api_scan_next() what happened. */
static void notify(struct api_scan *scan)
{
    if (!scan->waiting || scan->detached) return;
    scan->waiting = false;
    scan->client->pending--;
    if (scan->options.ready != NULL) scan->options.ready(scan->options.context, scan);
}

/* The server has nothing of it any more. May free the scan. */
static void ended(struct api_scan *scan)
{
    if (scan->state == SCAN_CLOSING) scan->client->unclean--;
    scan->state = SCAN_ENDED;
    if (scan->connect != NULL) api_connect_free(scan->client, scan->connect);
    scan->connect = NULL;
    if (scan->detached) {
        free_scan(scan);
        return;
    }
    notify(scan);
}

static void fail(struct api_scan *scan, uint32_t error)
{
    if (scan->error == 0) scan->error = error;
    drop_rows(scan);
    if (api_error_is_stale(error) || error == ERR_INDEX_DROPPING || error == ERR_SCAN_TARGET_INDEX)
        api_dict_invalidate_table(scan->client->core, scan->table);
}

static void send_close(struct api_scan *scan)
{
    struct scan_nextreq req = {.tc_connect = scan->connect->tc_connect,
                               .api_scan = scan->record.ref,
                               .transid1 = (uint32_t)scan->transid,
                               .transid2 = (uint32_t)(scan->transid >> 32),
                               .flags = SCAN_CLOSE};
    scan->close_resend = !api_send_small(scan->client, scan->connect->node, GSN_SCAN_NEXTREQ,
                                         scan->connect->tc_ref, &req, sizeof req / 4u);
    if (scan->close_resend) api_wake_at(scan->client, scan->client->now_ms + CLOSE_RESEND_MS);
}

/* Ends it at the server, if it is open there. */
static void close_at_server(struct api_scan *scan)
{
    if (scan->state == SCAN_OPEN) {
        scan->state = SCAN_CLOSING;
        scan->client->unclean++;
        send_close(scan);
    } else if (scan->state == SCAN_SEIZING) {
        scan->connect->scan = NULL; /* The record becomes free when it comes. */
        scan->connect = NULL;
        scan->state = SCAN_ENDED;
    }
}

static uint32_t send_scan(struct api_scan *scan)
{
    struct api_client *client = scan->client;
    struct scan_tabreq req = {
        .tc_connect = scan->connect->tc_connect,
        .api_scan = scan->record.ref,
        .table_id = scan->table->def->table_id,
        .schema_version = scan->table->def->version,
        .request_info =
            key_request_info(OP_READ, scan->options.lock, scan->options.copies ? SCAN_COPIES : 0),
        .batch_rows = scan->options.batch_rows,
        .batch_bytes = scan->options.batch_bytes,
        .parallelism = scan->options.parallelism,
        .transid1 = (uint32_t)scan->transid,
        .transid2 = (uint32_t)(scan->transid >> 32),
        .limit = scan->options.limit};
    uint32_t out[SIGNAL_HEAD_WORDS + sizeof req / 4u + 3 + ATTR_READ_MAX + PROGRAM_WORDS_MAX +
                 SCAN_RANGES_WORDS_MAX];
    uint32_t at = SIGNAL_HEAD_WORDS + sizeof req / 4u;
    uint32_t sections = scan->options.range_words > 0 ? 3 : scan->options.program_words > 0 ? 2 : 1;
    uint32_t words = scan->attr_words + scan->options.program_words + scan->options.range_words;
    api_pack_head(out, GSN_SCAN_TABREQ, scan->connect->tc_ref, client->own_ref, sizeof req / 4u,
                  sections);
    out[3] += words;
    memcpy(out + SIGNAL_HEAD_WORDS, &req, sizeof req);
    out[at] = scan->attr_words;
    if (sections > 1) out[at + 1] = scan->options.program_words;
    if (sections > 2) out[at + 2] = scan->options.range_words;
    if (words > 0) memcpy(out + at + sections, scan->attrs, words * 4u);
    if (!api_send(client, scan->connect->node, out, out[3])) return ERR_API_SEND_BUFFER_4022;
    scan->state = SCAN_OPEN;
    scan->connect->transid = scan->transid;
    return 0;
}

static uint32_t begin(struct api_scan *scan)
{
    uint32_t error = 0;
    uint32_t node = scan->fragment_only != API_ALL_FRAGMENTS
                        ? api_fragment_node_near(scan->client, scan->table, scan->fragment_only)
                        : api_any_node(scan->client);
    if (node == 0) return ERR_CLUSTER_UNAVAILABLE;
    scan->connect = api_connect_get(scan->client, node, &error);
    if (scan->connect == NULL) return error;
    scan->connect->scan = scan;
    if (scan->connect->state == CONNECT_SEIZING) return 0;
    error = send_scan(scan);
    if (error != 0) {
        api_connect_free(scan->client, scan->connect);
        scan->connect = NULL;
    }
    return error;
}

struct api_scan *api_scan_start(struct api_client *client, const struct api_scan_options *options,
                                uint32_t timeout_ms, uint32_t *error)
{
    if (options->attr_words > ATTR_READ_MAX || options->program_words > PROGRAM_WORDS_MAX ||
        options->range_words > SCAN_RANGES_WORDS_MAX) {
        *error = ERR_PARAMETER;
        return NULL;
    }
    struct api_scan *scan = api_pool_seize(&client->scans);
    if (scan == NULL) {
        *error = ERR_API_MEMORY;
        return NULL;
    }
    struct api_record record = scan->record;
    *scan = (struct api_scan){
        .record = record, .client = client, .next = client->scan_list, .options = *options};
    if (scan->next != NULL) scan->next->prev = scan;
    client->scan_list = scan;
    scan->table = api_table_hold(options->table);
    scan->transid = api_new_transid(client->core);
    scan->timeout_ms = timeout_ms;
    *error = api_scan_prepare(scan, options);
    if (*error == 0) *error = begin(scan);
    if (*error != 0) {
        free_scan(scan);
        return NULL;
    }
    client->statistics.scans++;
    client->statistics.scans_pruned += scan->pruned;
    return scan;
}

void api_scan_seized(struct api_scan *scan, uint32_t error)
{
    if (error != 0) {
        scan->connect = NULL;
    } else {
        error = send_scan(scan);
    }
    if (error == 0) return;
    fail(scan, error);
    ended(scan);
}

/* ---- Answers. ---- */

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

static void made_progress(struct api_scan *scan)
{
    if (scan->waiting) scan->deadline_ms = api_deadline(scan->client, scan->timeout_ms);
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
        fail(scan, ERR_REPLY_4215);
        close_at_server(scan);
        notify(scan);
        return;
    }
    struct api_chunk *chunk = take_chunk(client, size);
    if (chunk == NULL) {
        fail(scan, ERR_API_MEMORY);
        close_at_server(scan);
        notify(scan);
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
    made_progress(scan);
    if (worth_waking(scan, fragment)) notify(scan);
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
    if (!fine) fail(scan, ERR_REPLY_4215);
    made_progress(scan);
    if ((conf->flags & SCAN_END) != 0) {
        scan->ended = scan->state == SCAN_OPEN;
        ended(scan);
        return;
    }
    if (!fine) close_at_server(scan);
    if (!fine || wake) notify(scan);
}

void api_exec_SCAN_TABREF(struct api_client *client, const uint32_t *words)
{
    const struct scan_tabref *ref = (const void *)(words + SIGNAL_HEAD_WORDS);
    struct api_scan *scan = answered_scan(client, ref->api_scan, ref->transid1, ref->transid2);

    if (scan == NULL || scan->state == SCAN_ENDED) return;
    fail(scan, ref->error == 0 ? ERR_REPLY_4215 : ref->error);
    ended(scan);
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
        api_wake_at(client, client->now_ms + CLOSE_RESEND_MS);
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
        fail(scan, ERR_REPLY_4215);
        close_at_server(scan);
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

void api_scan_set_timeout(struct api_scan *scan, uint32_t timeout_ms)
{
    scan->timeout_ms = timeout_ms;
    made_progress(scan);
}

void api_scan_close(struct api_scan *scan)
{
    if (scan == NULL) return;
    if (scan->waiting) scan->client->pending--;
    scan->waiting = false;
    scan->detached = true;
    drop_rows(scan);
    close_at_server(scan);
    if (scan->state == SCAN_ENDED) free_scan(scan);
}

uint32_t api_scan_error(const struct api_scan *scan)
{
    return scan->error;
}
uint64_t api_scan_rows(const struct api_scan *scan)
{
    uint64_t limit = scan->options.limit;
    return limit != 0 && scan->rows_announced > limit ? limit : scan->rows_announced;
}
void *api_scan_context(const struct api_scan *scan)
{
    return scan->options.context;
}
struct api_table *api_scan_table(const struct api_scan *scan)
{
    return scan->table;
}

/* ---- Lost links and lost time. ---- */

void api_scan_connect_lost(struct api_scan *scan)
{
    scan->connect = NULL;
    if (scan->state == SCAN_SEIZING && begin(scan) == 0)
        return; /* Nothing was sent: another node does it. */
    fail(scan, ERR_NODE_FAILED_4029);
    ended(scan);
}

/* Rows that were announced and have not come may have been on the lost link. Which one cannot be
 * told: start anew. */
void api_scan_link_down(struct api_client *client, uint32_t peer)
{
    (void)peer;
    struct api_scan *scan = client->scan_list;
    while (scan != NULL) {
        struct api_scan *next = scan->next;
        bool missing = scan->options.attr_words > 0 && scan->rows_received < scan->rows_announced;
        if (missing && scan->error == 0 && (scan->state == SCAN_OPEN || scan->ended)) {
            fail(scan, ERR_NODE_FAILED_4031);
            close_at_server(scan);
            notify(scan);
            next = client->scan_list; /* The application may have closed any; this one has an error
                                         now. */
        }
        scan = next;
    }
}

void api_scan_expire(struct api_client *client)
{
    struct api_scan *scan = client->scan_list;
    while (scan != NULL) {
        struct api_scan *next = scan->next;
        if (scan->close_resend && scan->state == SCAN_CLOSING) send_close(scan);
        if (scan->waiting && scan->deadline_ms <= client->now_ms) {
            client->statistics.timeouts++;
            fail(scan, ERR_REQUEST_TIMEOUT);
            close_at_server(scan);
            notify(scan);
            next = client->scan_list;
        } else if (scan->waiting) {
            api_wake_at(client, scan->deadline_ms);
        }
        scan = next;
    }
    if (client->go_on) api_scan_go_on(client);
}

void api_scan_drop_all(struct api_client *client)
{
    while (client->scan_list != NULL) {
        struct api_scan *scan = client->scan_list;
        bool was_detached = scan->detached;
        if (!was_detached) api_scan_close(scan);
        if (client->scan_list == scan) { /* Closing: nobody will be there for the answer. */
            if (scan->connect != NULL) scan->connect->scan = NULL;
            free_scan(scan);
        }
    }
}
