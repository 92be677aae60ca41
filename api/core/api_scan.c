/* api_scan.c -- a scan of a table or an index: how it begins, who is told of its end, how it is
 * closed; lost links and lost time. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "api/core/api_connect_state.h"
#include "api/core/api_merge.h"
#include "api/core/api_table_state.h"
#include "values/program.h"

/*
 *   SEIZING --> OPEN --SCAN_END, REF, link down--> ENDED
 *               OPEN --closed or expired--> CLOSING --SCAN_END, REF, link down--> ENDED
 * A scan that the application has closed (detached) is freed when it is ENDED.
 */

static void free_scan(struct api_scan *scan)
{
    struct api_client *client = scan->client;
    api_scan_drop_rows(scan);
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
void api_scan_notify(struct api_scan *scan)
{
    if (!scan->waiting || scan->detached) return;
    scan->waiting = false;
    scan->client->pending--;
    if (scan->options.ready != NULL) scan->options.ready(scan->options.context, scan);
}

/* The server has nothing of it any more. May free the scan. */
void api_scan_ended(struct api_scan *scan)
{
    if (scan->state == SCAN_CLOSING) scan->client->unclean--;
    scan->state = SCAN_ENDED;
    if (scan->connect != NULL) api_connect_free(scan->client, scan->connect);
    scan->connect = NULL;
    if (scan->detached) {
        free_scan(scan);
        return;
    }
    api_scan_notify(scan);
}

void api_scan_fail(struct api_scan *scan, uint32_t error)
{
    if (scan->error == 0) scan->error = error;
    api_scan_drop_rows(scan);
    if (api_error_is_stale(error) || error == ERR_INDEX_DROPPING || error == ERR_SCAN_TARGET_INDEX)
        api_dict_invalidate_table(scan->client->core, scan->table);
}

void api_scan_made_progress(struct api_scan *scan)
{
    if (scan->waiting) scan->deadline_ms = api_deadline(scan->client, scan->timeout_ms);
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
    if (scan->close_resend) api_wake_at(scan->client, scan->client->now_ms + API_SCAN_RESEND_MS);
}

/* Ends it at the server, if it is open there. */
void api_scan_close_at_server(struct api_scan *scan)
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

/* ---- Its beginning. ---- */

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
    api_scan_fail(scan, error);
    api_scan_ended(scan);
}

/* ---- The application's side. ---- */

void api_scan_set_timeout(struct api_scan *scan, uint32_t timeout_ms)
{
    scan->timeout_ms = timeout_ms;
    api_scan_made_progress(scan);
}

void api_scan_close(struct api_scan *scan)
{
    if (scan == NULL) return;
    if (scan->waiting) scan->client->pending--;
    scan->waiting = false;
    scan->detached = true;
    api_scan_drop_rows(scan);
    api_scan_close_at_server(scan);
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
    api_scan_fail(scan, ERR_NODE_FAILED_4029);
    api_scan_ended(scan);
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
            api_scan_fail(scan, ERR_NODE_FAILED_4031);
            api_scan_close_at_server(scan);
            api_scan_notify(scan);
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
            api_scan_fail(scan, ERR_REQUEST_TIMEOUT);
            api_scan_close_at_server(scan);
            api_scan_notify(scan);
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
