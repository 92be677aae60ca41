/* range_async.c -- scans with a callback: many of one thread at the same time. A part of
 * range_client. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "tests/cluster/range_client.h"

#define SLOTS    16u
#define WAIT_MS  60000u
#define SHORT    40u /* So many rows at most, of a scan that is closed before its end. */
#define NO_CLOSE UINT32_MAX

struct crowd {
    struct client client;
    uint32_t index;
    uint32_t left;     /* Scans to be begun. */
    uint32_t finished; /* Scans that were read to their end. */
    uint32_t closed;   /* Scans that were closed before it. */
    uint32_t failed;   /* Scans that failed by temporary errors. */
    bool moving;       /* Rows with an even id move, and whole tables are read. */
    uint64_t random;
};

struct slot {
    struct crowd *crowd;
    struct ndb_scan *scan;
    int64_t low, high, last;
    uint32_t count;
    uint32_t close_at;
    bool descending;
    struct row found[2 * ROWS];
};

static uint32_t draw(struct crowd *crowd, uint32_t below)
{
    crowd->random = crowd->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(crowd->random >> 33) % below;
}

static void slot_ready(struct ndb_scan *scan, void *context);

static void slot_begin(struct slot *slot)
{
    static const uint32_t size = 8;
    struct crowd *crowd = slot->crowd;
    const void *const low[] = {&slot->low};
    const void *const high[] = {&slot->high};
    slot->count = 0;
    slot->descending = draw(crowd, 2) != 0;
    slot->low = (int64_t)draw(crowd, NUMBERS) - 100;
    slot->high = slot->low + draw(crowd, 60);
    slot->close_at = !crowd->moving && draw(crowd, 4) == 0 ? draw(crowd, SHORT) : NO_CLOSE;
    struct ndb_index_range range = {.index = crowd->index, .descending = slot->descending};
    if (!crowd->moving) {
        range.low = (struct ndb_index_bound){1, low, &size, false};
        range.high = (struct ndb_index_bound){1, high, &size, false};
    }
    const struct ndb_scan_options options = {.lock = NDB_COMMITTED_READ,
                                             .batch_rows = 1 + draw(crowd, 60),
                                             .range = &range,
                                             .ready = slot_ready,
                                             .context = slot};
    crowd->left--;
    slot->scan = ndb_scan_start(crowd->client.ndb, crowd->client.record, &options, 0);
    if (slot->scan != NULL) return;
    if (!crowd->moving || ndb_error(crowd->client.ndb)->status == NDB_STATUS_PERMANENT)
        die("asynchronous scan", ndb_error(crowd->client.ndb));
    crowd->failed++; /* The node that dies was the only one it knew. */
}

static void slot_take(struct slot *slot, const struct row *row)
{
    if (slot->count > 0 && (slot->descending ? row->number > slot->last : row->number < slot->last))
        want("a number behind a larger one", row->number, slot->last);
    if (!slot->crowd->moving && (row->number < slot->low || row->number > slot->high))
        want("a number out of the range", row->number, slot->low);
    slot->last = row->number;
    if (slot->count == 2 * ROWS) want("rows of a scan", slot->count, ROWS);
    slot->found[slot->count++] = *row;
}

static void slot_end(struct slot *slot)
{
    uint32_t expected = 0;
    slot->crowd->finished++;
    if (slot->crowd->moving) {
        check_standing(slot->found, slot->count);
        return;
    }
    for (uint32_t i = 0; i < ROWS; i++)
        expected += rows[i].number >= slot->low && rows[i].number <= slot->high;
    want("rows of an asynchronous scan", slot->count, expected);
}

/* Takes what is there; the next scan is begun in the callback, too. */
static void slot_ready(struct ndb_scan *scan, void *context)
{
    struct slot *slot = context;
    struct crowd *crowd = slot->crowd;
    const void *row;
    int more = 1;
    want("the callback's scan", scan == slot->scan, 1);
    while (slot->count < slot->close_at && (more = ndb_scan_try_next(scan, &row)) == 1)
        slot_take(slot, row);
    if (more == NDB_SCAN_NOT_YET) return;
    if (more == 1) {
        crowd->closed++;
    } else if (more == 0) {
        slot_end(slot);
    } else if (ndb_scan_error(scan)->status == NDB_STATUS_PERMANENT) {
        die("asynchronous scan", ndb_scan_error(scan));
    } else {
        crowd->failed++;
    }
    ndb_scan_close(scan);
    slot->scan = NULL;
    if (crowd->left > 0) slot_begin(slot);
}

static void crowd_open(struct crowd *crowd, uint32_t scans, bool moving)
{
    *crowd = (struct crowd){.left = scans, .moving = moving, .random = 20};
    client_open(&crowd->client, "ranged");
    int index = ndb_table_find_index(crowd->client.table, "by_number");
    if (index < 0) want("the index's number", index, 0);
    crowd->index = (uint32_t)index;
}

static struct slot *crowd_begin(struct crowd *crowd)
{
    struct slot *slots = calloc(SLOTS, sizeof *slots);
    if (slots == NULL) die("no memory", ndb_error(NULL));
    for (uint32_t i = 0; i < SLOTS; i++) {
        slots[i].crowd = crowd;
        slot_begin(&slots[i]);
    }
    return slots;
}

static void crowd_poll(struct crowd *crowd, uint32_t completions)
{
    if (ndb_poll(crowd->client.ndb, WAIT_MS, completions) < 0)
        die("poll", ndb_error(crowd->client.ndb));
}

/* One that waits is closed: nobody waits for it any more, and its callback does not run. */
static void check_closed_early(struct crowd *crowd)
{
    static struct slot slot;
    const void *row;
    slot.crowd = crowd;
    crowd->left = 1;
    slot_begin(&slot);
    want("pending, one scan", ndb_pending(crowd->client.ndb), 1);
    want("a row before anything was sent", ndb_scan_try_next(slot.scan, &row), NDB_SCAN_NOT_YET);
    want("waiting for the next row", ndb_scan_next(slot.scan, &row, 0), -1);
    want("its error", ndb_scan_error(slot.scan)->code, 4507);
    uint32_t before = crowd->finished + crowd->closed;
    ndb_scan_close(slot.scan);
    want("pending, none", ndb_pending(crowd->client.ndb), 0);
    crowd_poll(crowd, 1); /* Nothing to wait for. */
    want("callbacks", crowd->finished + crowd->closed, before);
}

/* Without a callback, too, rows can be taken without waiting. */
static void check_without_callback(struct crowd *crowd)
{
    struct ndb_scan *scan = ndb_scan_start(crowd->client.ndb, crowd->client.record, NULL, WAIT_MS);
    const void *row;
    uint32_t count = 0;
    int more;
    if (scan == NULL) die("scan", ndb_error(crowd->client.ndb));
    while ((more = ndb_scan_try_next(scan, &row)) != 0) {
        if (more < 0) die("scan", ndb_scan_error(scan));
        if (more == NDB_SCAN_NOT_YET && ndb_process(crowd->client.ndb) < 0)
            die("process", ndb_error(crowd->client.ndb));
        count += more == 1;
    }
    want("rows without waiting", count, ROWS);
    want("after the end", ndb_scan_try_next(scan, &row), -1);
    ndb_scan_close(scan);
}

void check_async(void)
{
    struct crowd crowd;
    crowd_open(&crowd, 2000, false);
    struct slot *slots = crowd_begin(&crowd);
    while (ndb_pending(crowd.client.ndb) > 0)
        crowd_poll(&crowd, 1 + draw(&crowd, 8));
    want("scans", crowd.finished + crowd.closed, 2000);
    want("some are closed early", crowd.closed > 100, 1);
    free(slots);
    check_closed_early(&crowd);
    check_without_callback(&crowd);
    client_close(&crowd.client);
}

void move_async(double until, uint32_t *finished, uint32_t *failed)
{
    struct crowd crowd;
    crowd_open(&crowd, UINT32_MAX, true);
    struct slot *slots = crowd_begin(&crowd);
    while (now() < until)
        crowd_poll(&crowd, 1);
    crowd.left = 0;
    while (ndb_pending(crowd.client.ndb) > 0)
        crowd_poll(&crowd, UINT32_MAX);
    *finished = crowd.finished;
    *failed = crowd.failed;
    free(slots);
    client_close(&crowd.client);
}
