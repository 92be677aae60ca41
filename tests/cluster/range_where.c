/* range_where.c -- ranges made from conditions, against what the rows say. Part of range_client. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "tests/cluster/range_client.h"

#define SMALL (-70)
#define LARGE 250

static bool same_text(const char *text, const char *as)
{
    return strcasecmp(text, as) == 0;
}

/* The same as the condition of this number, below. */
static bool expected(uint32_t which, const struct row *row)
{
    switch (which) {
    case 0:
        return row->number >= SMALL && row->number <= LARGE;
    case 1:
        return row->number > SMALL && row->number < LARGE;
    case 2:
        return row->number == LARGE;
    case 3:
        return same_text(row->text, "row3");
    case 4:
        return same_text(row->text, "row3") && row->number >= SMALL && row->number < LARGE;
    default:
        return row->number < 0;
    }
}

static const struct {
    const char *condition;
    uint32_t count;
} conditions[] = {
    {"number BETWEEN ? AND ?", 2},
    {"number > ? AND number < ?", 2},
    {"number = 250", 0},
    {"text = 'ROW3'", 0},
    {"number < ? AND text = 'row3' AND number >= ?", 2},
    {"number < 0", 0},
};

static void check_one(struct client *client, uint32_t which)
{
    struct ndb_bound bounds[] = {ndb_bound_int(SMALL), ndb_bound_int(LARGE)};
    struct ndb_sql_error where;
    struct row row;
    int64_t should = 0;
    int64_t found = 0;
    uint64_t counted;
    int more;
    if (which == 4) bounds[0] = ndb_bound_uint(LARGE), bounds[1] = ndb_bound_int(SMALL);
    for (uint32_t i = 0; i < ROWS; i++)
        should += expected(which, &rows[i]);
    struct ndb_range *range =
        ndb_range_where(client->ndb, client->table, conditions[which].condition, bounds,
                        conditions[which].count, &where);
    if (range == NULL) die(where.message, ndb_error(client->ndb));
    if (ndb_scan_count_range(client->ndb, client->table, ndb_range_get(range), NULL, &counted, 0) !=
        0)
        die("count", ndb_error(client->ndb));
    want("rows counted by a condition", (int64_t)counted, should);
    ndb_range_get(range)->descending = true;
    const struct ndb_scan_options options = {.range = ndb_range_get(range)};
    struct ndb_scan *s = ndb_scan_start(client->ndb, client->record, &options, 0);
    if (s == NULL) die("scan", ndb_error(client->ndb));
    ndb_range_free(range); /* The scan has a copy. */
    int64_t last = INT64_MAX;
    while ((more = ndb_scan_next_copy(s, &row, 0)) == 1) {
        want("a row of the condition", expected(which, &row), true);
        want("a number behind a smaller one", row.number <= last, true);
        last = row.number;
        found++;
    }
    if (more < 0) die("scan", ndb_scan_error(s));
    ndb_scan_close(s);
    want("rows of a condition", found, should);
}

static void refused(struct client *client, const char *condition, struct ndb_bound bound, int code,
                    const char *words)
{
    struct ndb_range *range =
        ndb_range_where(client->ndb, client->table, condition, &bound, 1, NULL);
    const ndb_error_t *error = ndb_error(client->ndb);
    if (range != NULL || error->code != code || strstr(error->detail, words) == NULL)
        die(condition, error);
}

void check_where(struct client *client)
{
    for (uint32_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++)
        check_one(client, i);
    refused(client, "number = ?", ndb_bound_text("5"), 4313, "column number is BIGINT: ");
    refused(client, "text = ?", ndb_bound_int(5), 4313, "column text is VARCHAR(10): ");
    refused(client, "id = ?", ndb_bound_uint(5), 4243, "table test.ranged, column id: ");
}
