/* range_several.c -- several ranges in one scan, and ranges whose rows are all in one fragment. A
 * part of range_client. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "tests/cluster/range_client.h"

#define PARTS NDB_RANGES_MAX

struct part {
    int64_t low, high;
};

struct way {
    bool descending;
    enum ndb_lock_mode lock;
};

/* Ranges of the index by_number; a client's batch of keys, with overlaps. */
static void parts_make(const struct client *client, const struct part *part, uint32_t count,
                       const struct way *way, struct ndb_index_range *ranges)
{
    static const void *values[PARTS][2];
    static const uint32_t size = 8;
    int index = ndb_table_find_index(client->table, "by_number");
    if (index < 0) want("the index's number", index, 0);
    for (uint32_t i = 0; i < count; i++) {
        values[i][0] = &part[i].low;
        values[i][1] = &part[i].high;
        ranges[i] = (struct ndb_index_range){.index = (uint32_t)index,
                                             .low = {1, &values[i][0], &size, false},
                                             .high = {1, &values[i][1], &size, false},
                                             .descending = way->descending};
    }
}

/* Behind the one before? Ranges come in their order, the rows of each in that of the index. */
static void check_step(const struct way *way, uint32_t range, int64_t number)
{
    static uint32_t last_range;
    static int64_t last;
    if (range == UINT32_MAX) { /* A scan begins. */
        last_range = 0;
        last = way->descending ? INT64_MAX : INT64_MIN;
        return;
    }
    if (range < last_range) want("a range behind a later one", range, last_range);
    if (range == last_range && (way->descending ? number > last : number < last))
        want("a number behind a larger one", number, last);
    last_range = range;
    last = number;
}

static void check_parts(struct client *client, const struct part *part, uint32_t count,
                        const struct way *way)
{
    static struct ndb_index_range ranges[PARTS];
    struct ndb_scan_options options = {
        .lock = way->lock, .batch_rows = 50, .range = ranges, .range_count = count};
    static uint16_t seen[PARTS][ROWS];
    uint64_t expected = 0;
    uint64_t got = 0;
    uint64_t counted;
    struct row row;
    int more;
    parts_make(client, part, count, way, ranges);
    struct ndb_scan *s = ndb_scan_start(client->ndb, client->record, &options, 0);
    if (s == NULL) die("scan of ranges", ndb_error(client->ndb));
    memset(seen, 0, sizeof seen);
    check_step(way, UINT32_MAX, 0);
    for (; (more = ndb_scan_next_copy(s, &row, 0)) == 1; got++) {
        uint32_t range = ndb_scan_range(s);
        if (range >= count) want("a range that was not asked for", range, count);
        check_step(way, range, row.number);
        seen[range][row.id]++;
    }
    if (more != 0) die("scan of ranges", ndb_scan_error(s));
    ndb_scan_close(s);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t id = 0; id < ROWS; id++) {
            bool in = rows[id].number >= part[i].low && rows[id].number <= part[i].high;
            want("how often a row is seen for a range", seen[i][id], in);
            expected += in;
        }
    }
    want("rows of the ranges", (int64_t)got, (int64_t)expected);
    if (ndb_scan_count_ranges(client->ndb, client->table, ranges, count, NULL, &counted, 0) != 0)
        die("count of ranges", ndb_error(client->ndb));
    want("rows counted in ranges", (int64_t)counted, (int64_t)expected);
}

void check_several(struct client *client)
{
    static const struct part few[] = {{100, 120}, {5, 5}, {110, 130}, {-1000, -90},
                                      {7, 3},     {5, 5}, {399, 5000}};
    static struct part many[PARTS];
    for (uint32_t i = 0; i < PARTS; i++)
        many[i].low = many[i].high = (int64_t)(i * 37u % 300u) - 50;
    for (uint32_t i = 0; i < 4; i++) {
        const struct way way = {.descending = i % 2 != 0,
                                .lock = i / 2 != 0 ? NDB_LOCK_EXCLUSIVE : NDB_COMMITTED_READ};
        check_parts(client, few, sizeof few / sizeof few[0], &way);
        check_parts(client, many, PARTS, &way);
    }
}

/* --- Ranges whose bounds fix the partition key. --- */

#define TEXTS         40u
#define FRAGMENTS_MAX 64u

/* A text in two words of stored form: its length, then itself. */
struct text {
    char stored[16];
    uint32_t size;
};

static struct text text_make(const char *format, uint32_t number)
{
    struct text text;
    text.size = 1u + (uint32_t)snprintf(text.stored + 1, sizeof text.stored - 1, format, number);
    text.stored[0] = (char)(text.size - 1);
    return text;
}

static uint64_t fragments_scanned(void)
{
    struct ndb_statistics statistics;
    ndb_connection_statistics(connection, &statistics);
    return statistics.fragments_scanned;
}

static uint64_t scans_pruned(void)
{
    struct ndb_statistics statistics;
    ndb_connection_statistics(connection, &statistics);
    return statistics.scans_pruned;
}

/* The rows of these ranges; returns how many fragments the cluster has read. */
static uint64_t scan_texts(struct client *client, const struct ndb_index_range *ranges,
                           uint32_t count, uint64_t expected, bool pruned)
{
    const struct ndb_scan_options options = {.range = ranges, .range_count = count};
    uint64_t scanned = fragments_scanned();
    uint64_t pruned_before = scans_pruned();
    uint64_t got = 0;
    struct row row;
    int more;
    struct ndb_scan *s = ndb_scan_start(client->ndb, client->record, &options, 0);
    if (s == NULL) die("scan of texts", ndb_error(client->ndb));
    while ((more = ndb_scan_next_copy(s, &row, 0)) == 1)
        got++;
    if (more != 0) die("scan of texts", ndb_scan_error(s));
    ndb_scan_close(s);
    want("rows of the texts", (int64_t)got, (int64_t)expected);
    want("scans that left fragments out", (int64_t)(scans_pruned() - pruned_before), pruned);
    return fragments_scanned() - scanned;
}

/* Whatever case a text has, it is in one fragment with all others that are equal. */
static void check_texts(struct client *client)
{
    static struct text text[TEXTS];
    static const void *value[TEXTS];
    static struct ndb_index_range ranges[TEXTS + 1];
    uint64_t all = scan_texts(client, &(struct ndb_index_range){0}, 1, ROWS / 10, false);
    for (uint32_t i = 0; i < TEXTS; i++) {
        text[i] = text_make(i % 2 == 0 ? "tExT%u" : "TeXt%u", i);
        value[i] = text[i].stored;
        const struct ndb_index_bound bound = {1, &value[i], &text[i].size, false};
        ranges[i] = (struct ndb_index_range){.low = bound, .high = bound};
        uint64_t one = scan_texts(client, &ranges[i], 1, ROWS / 10 / TEXTS + (i < 20), true);
        want("fragments of one text", (int64_t)one, 1);
    }
    for (uint32_t count = 2; count <= 3; count++) {
        uint64_t some = scan_texts(client, ranges, count, 8u * count, true);
        want("few fragments of few texts", some >= 1 && some <= count, true);
    }
    ranges[TEXTS] = (struct ndb_index_range){.low = ranges[0].low}; /* From a text on. */
    uint64_t wide = scan_texts(client, &ranges[TEXTS], 1, ROWS / 10, false);
    want("fragments of a wide range", (int64_t)wide, (int64_t)all);
}

void check_pruned(void)
{
    static struct row parted[ROWS / 10];
    struct client client;
    make_table("parted",
               "CREATE TABLE parted (id INT UNSIGNED NOT NULL, text VARCHAR(10) NOT NULL, "
               "number BIGINT NOT NULL, PRIMARY KEY (id, text), INDEX by_text (text, number)) "
               "PARTITION BY KEY (text) PARTITIONS 8");
    client_open(&client, "parted");
    for (uint32_t i = 0; i < ROWS / 10; i++) {
        parted[i] = (struct row){.id = i, .number = i};
        snprintf(parted[i].text, sizeof parted[i].text, i % 3 == 0 ? "Text%u" : "tEXT%u",
                 i % TEXTS);
    }
    want("rows inserted",
         ndb_change_many(client.ndb, NDB_INSERT, client.record, parted, sizeof parted[0], ROWS / 10,
                         NULL, 0),
         ROWS / 10);
    check_texts(&client);
    client_close(&client);
}
