/* work_scan.c -- scans of tables and indexes while rows come and go: what did not change meanwhile
 * is seen exactly once, and in order. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include <string.h>
#include "values/errors.h"
#include "values/scan_range.h"
#include "tests/sim/works.h"

#define SCAN_TIMEOUT_MS 60000u

static uint32_t keys_of(const struct run *run, uint32_t table)
{
    if (table == TABLE_STATIC) return run->swarm.statics;
    return run->swarm.churn_keys * run->swarm.clients * run->swarm.sessions;
}

static void snapshot(struct session *session, uint32_t table)
{
    struct run *run = session->client->run;
    uint32_t keys = keys_of(run, table);
    session->seen = calloc(keys, sizeof *session->seen);
    session->versions = calloc(keys, sizeof *session->versions);
    session->values = calloc(keys, sizeof *session->values);
    session->scan_last = calloc(TABLE_FRAGMENTS_MAX, sizeof *session->scan_last);
    if (table == TABLE_STATIC) return;
    for (uint32_t i = 0; i < keys; i++)
        session->versions[i] = run->model.key[table][i].version;
}

static void drop_snapshot(struct session *session)
{
    free(session->seen);
    free(session->versions);
    free(session->values);
    free(session->scan_last);
    session->scan_last = NULL;
    session->seen = session->versions = NULL;
    session->values = NULL;
}

static void on_ready(void *context, struct api_scan *scan)
{
    struct session *session = context;
    (void)scan;
    session->ready_due = true;
    sim_client_wake(session->client->run->world, session->client->node);
}

/* Values of the static table are anything; those of the others grow. */
static uint64_t draw_from(struct run *run, uint32_t table)
{
    struct rng *rng = work_rng(run);
    if (table == TABLE_STATIC && run->swarm.statics > 0)
        return run->model.statics[rng_below(rng, run->swarm.statics)];
    return run->model.next_value - rng_below(rng, 100);
}

static bool part_has(const struct scan_part *part, uint32_t key, uint64_t value)
{
    return value >= part->low && value <= part->high &&
           (part->key == SCAN_ANY_KEY || part->key == key);
}

/* How often a row that does not change is to be seen: once by each range that has it. */
static uint32_t wanted(const struct session *session, uint32_t key, uint64_t value)
{
    uint32_t times = 0;
    if (value < session->scan_from) return 0;
    for (uint32_t i = 0; i < session->scan_parts; i++)
        times += part_has(&session->scan_part[i], key, value);
    return times;
}

/* Ranges of an index overlap, or are empty, as it happens. */
static void draw_part(struct session *session, uint32_t table, uint32_t index,
                      struct scan_part *part)
{
    struct run *run = session->client->run;
    struct rng *rng = work_rng(run);
    uint32_t i = (uint32_t)(part - session->scan_part);
    uint32_t apart = SCAN_RANGES_MAX / SCAN_PARTS;
    *part = (struct scan_part){.number = i * apart + (uint32_t)rng_below(rng, apart),
                               .key = SCAN_ANY_KEY,
                               .high = UINT64_MAX};
    if (index == ROW_INDEX_KEY && keys_of(run, table) > 0 && rng_chance(rng, 9, 10))
        part->key = (uint32_t)rng_below(rng, keys_of(run, table));
    if (!session->scan_by_value) return;
    if (rng_chance(rng, 1, 2)) part->low = draw_from(run, table);
    if (rng_chance(rng, 1, 2)) part->high = draw_from(run, table);
}

/* One with a key is in one fragment, whether the servers are told or not. */
static uint32_t put_part(struct session *session, uint32_t table, struct row_range *range,
                         const struct scan_part *part, uint32_t *words)
{
    struct run *run = session->client->run;
    struct rng *rng = work_rng(run);
    range->number = part->number;
    range->low = part->low;
    range->high = part->high;
    range->closed = rng_chance(rng, 1, 2);
    range->key_words = 0;
    range->flags &= ~(uint32_t)SCAN_ONE_PARTITION;
    if (part->key != SCAN_ANY_KEY) {
        range->key_words = row_key(run, table, part->key, rng, range->key);
        if (!rng_chance(rng, 1, 10)) range->flags |= SCAN_ONE_PARTITION;
    }
    return row_range(range, words);
}

/* One that was there before, or that has come. Returns its id. */
static uint32_t draw_index(struct session *session, uint32_t indexes,
                           const struct model_online *online)
{
    struct run *run = session->client->run;
    if (online == NULL) {
        uint32_t index = (uint32_t)rng_below(work_rng(run), indexes);
        session->scan_by_value = index == 0;
        return index;
    }
    session->scan_by_value = online->by_value;
    session->scan_online = 1 + (uint32_t)(online - run->model.online);
    session->scan_changes = online->changes;
    return online->id;
}

/* Perhaps ranges of an index, in either direction, merged or by fragment. Returns their words. */
static uint32_t draw_ranges(struct session *session, uint32_t table, uint32_t *words)
{
    struct run *run = session->client->run;
    struct rng *rng = work_rng(run);
    struct row_range range = {.def = api_table_def(session->table[table])};
    uint32_t indexes = row_indexes(run, table);
    const struct model_online *online = index_draw(run, table);
    uint32_t used = 0;
    session->scan_online = 0;
    session->scan_merged = session->scan_by_value = false;
    session->scan_part[0] = (struct scan_part){.key = SCAN_ANY_KEY, .high = UINT64_MAX};
    session->scan_parts = 1;
    if ((indexes == 0 && online == NULL) || rng_chance(rng, 1, 3)) return 0;
    range.index = draw_index(session, indexes, online);
    range.by_value = session->scan_by_value;
    session->scan_descending = rng_chance(rng, 1, 2);
    /* The definition of our table does not know it. */
    session->scan_merged = online == NULL && rng_chance(rng, 1, 2);
    range.flags = (session->scan_merged ? SCAN_MERGED : 0u) |
                  (session->scan_descending ? SCAN_DESCENDING : 0u);
    if (rng_chance(rng, 1, 2))
        session->scan_parts =
            2 + (uint32_t)rng_below(rng, rng_chance(rng, 1, 8) ? SCAN_PARTS - 1 : 4);
    for (uint32_t i = 0; i < session->scan_parts; i++) {
        struct scan_part *part = &session->scan_part[i];
        draw_part(session, table, online == NULL ? range.index : UINT32_MAX, part);
        used += put_part(session, table, &range, part, words + used);
    }
    return used;
}

/* Ranges come in their order, and the rows of each in the order of the index. */
static void check_order(struct session *session, const struct api_row *row, uint64_t value)
{
    struct scan_last *last = &session->scan_last[session->scan_merged ? 0 : row->fragment];
    bool wrong = last->any && row->range < last->range;
    if (last->any && row->range == last->range && session->scan_by_value)
        wrong = session->scan_descending ? value > last->value : value < last->value;
    if (wrong)
        run_fail(session->client->run, SIM_CORRECTNESS,
                 "session %u: an index scan gave %llu of range %u behind %llu of range %u",
                 session->no, (unsigned long long)value, row->range,
                 (unsigned long long)last->value, last->range);
    *last = (struct scan_last){.any = true, .range = row->range, .value = value};
}

/* Is the row one of the range for which it is given? */
static void check_part(struct session *session, const struct api_row *row, uint32_t key,
                       uint64_t value)
{
    for (uint32_t i = 0; i < session->scan_parts; i++) {
        const struct scan_part *part = &session->scan_part[i];
        if (part->number == row->range && part_has(part, key, value) && value >= session->scan_from)
            return;
    }
    run_fail(session->client->run, SIM_CORRECTNESS,
             "session %u: a filter from %llu and range %u of %u let %llu pass", session->no,
             (unsigned long long)session->scan_from, row->range, session->scan_parts,
             (unsigned long long)value);
}

void scan_start(struct session *session)
{
    struct run *run = session->client->run;
    struct rng *rng = work_rng(run);
    static const uint32_t all[] = {ATTR_READ_ALL << 16};
    uint32_t table = rng_chance(rng, 1, 2)
                         ? (uint32_t)TABLE_STATIC
                         : TABLE_CHURN + (uint32_t)rng_below(rng, run->swarm.churn_tables);
    session->lock = rng_chance(rng, 1, 4)   ? LOCK_SHARED
                    : rng_chance(rng, 1, 6) ? LOCK_EXCLUSIVE
                                            : LOCK_COMMITTED;
    session->rollback = session->lock == LOCK_COMMITTED && rng_chance(rng, 1, 3); /* Only count. */
    session->phase = 0;
    session->count = table;
    struct api_scan_options options = {
        .table = session->table[table],
        .lock = session->lock,
        .parallelism = rng_chance(rng, 1, 3) ? 1 : 0,
        .batch_rows = rng_chance(rng, 1, 3) ? 1 + (uint32_t)rng_below(rng, 5) : 0,
        .attrs = all,
        .attr_words = session->rollback ? 0 : 1,
        .ready = on_ready,
        .context = session,
    };
    uint32_t filter[ROW_FILTER_WORDS];
    session->scan_from = 0;
    if (run->swarm.programs && rng_chance(rng, 1, 2)) {
        session->scan_from = draw_from(run, table);
        row_filter(run, table, session->scan_from, filter);
        options.program = filter;
        options.program_words = ROW_FILTER_WORDS;
    }
    uint32_t ranges[SCAN_PARTS * ROW_RANGE_WORDS];
    options.range_words = draw_ranges(session, table, ranges);
    options.range = ranges;
    uint32_t error = 0;
    session->ready_due = true; /* Asked once, it tells when it has something. */
    session->scan_rows = 0;
    snapshot(session, table);
    session->scan = api_scan_start(session->api, &options, SCAN_TIMEOUT_MS, &error);
    if (session->scan != NULL) return;
    if (!error_allowed(run, error))
        run_fail(run, SIM_CORRECTNESS, "session %u: scan was refused with error %u", session->no,
                 error);
    drop_snapshot(session);
    session_done(session);
}

static void see_row(struct session *session, const struct api_row *row)
{
    struct run *run = session->client->run;
    uint32_t key = 0;
    uint64_t value = 0;
    uint32_t added;
    if (!row_parse(run, session->count, row->pairs, row->words, &key, &value, &added)) {
        run_fail(run, SIM_CORRECTNESS, "session %u: scan of table %u saw a torn row (key %u)",
                 session->no, session->count, key);
        return;
    }
    session->scan_rows++;
    check_part(session, row, key, value);
    check_order(session, row, value);
    if (key >= keys_of(run, session->count)) return; /* Rows of the fill job. */
    session->seen[key]++;
    session->values[key] = value;
}

static void check_static(struct session *session)
{
    struct run *run = session->client->run;
    uint32_t all = keys_of(run, TABLE_STATIC);
    uint64_t keys = 0;
    for (uint32_t i = 0; i < all; i++)
        keys += wanted(session, i, run->model.statics[i]);
    uint64_t rows = session->rollback ? api_scan_rows(session->scan) : session->scan_rows;
    if (rows != keys)
        run_fail(run, SIM_CORRECTNESS, "session %u: scan found %llu of %llu rows", session->no,
                 (unsigned long long)rows, (unsigned long long)keys);
    for (uint32_t i = 0; i < all && !session->rollback; i++) {
        if (session->seen[i] != wanted(session, i, run->model.statics[i]))
            run_fail(run, SIM_CORRECTNESS, "session %u: scan saw row %u %u times", session->no, i,
                     session->seen[i]);
    }
}

static void check_churn(struct session *session)
{
    struct run *run = session->client->run;
    uint32_t stable = 0;
    for (uint32_t i = 0; i < keys_of(run, session->count); i++) {
        const struct model_key *key = &run->model.key[session->count][i];
        if (key->version != session->versions[i] || key->version % 2 != 0 ||
            key->state == KEY_TAINTED)
            continue;
        uint32_t expected = key->state == KEY_PRESENT ? wanted(session, i, key->value) : 0;
        stable += expected;
        if (session->rollback) continue;
        if (session->seen[i] != expected || (expected > 0 && session->values[i] != key->value))
            run_fail(run, SIM_CORRECTNESS,
                     "session %u: scan of table %u saw row %u %u times (value %llu), not %u (%llu)",
                     session->no, session->count, i, session->seen[i],
                     (unsigned long long)session->values[i], expected,
                     (unsigned long long)key->value);
    }
    if (session->rollback && api_scan_rows(session->scan) < stable)
        run_fail(run, SIM_CORRECTNESS,
                 "session %u: count of table %u gave %llu, at least %u rows are there", session->no,
                 session->count, (unsigned long long)api_scan_rows(session->scan), stable);
}

/* The index that it scans has been dropped since it began. */
static bool index_dropped(const struct session *session, uint32_t error)
{
    const struct run *run = session->client->run;
    if (session->scan_online == 0) return false;
    if (error != ERR_INDEX_DROPPING && error != ERR_SCAN_TARGET_INDEX) return false;
    return run->model.online[session->scan_online - 1u].changes != session->scan_changes;
}

static void scan_end(struct session *session, bool good)
{
    struct run *run = session->client->run;
    run->figures.rows_scanned += session->scan_rows;
    if (session->client->run->durability.down) good = false; /* Rows have gone back. */
    if (good && session->count == TABLE_STATIC) check_static(session);
    if (good && session->count != TABLE_STATIC) check_churn(session);
    drop_snapshot(session);
    session_done(session);
}

void scan_run(struct session *session)
{
    struct run *run = session->client->run;
    if (!session->ready_due) return;
    for (uint32_t rows = 0; rows < 20; rows++) {
        struct api_row row;
        switch (api_scan_next(session->scan, &row)) {
        case API_SCAN_ROW:
            see_row(session, &row);
            if (rng_chance(work_rng(run), 1, 2000)) { /* Nobody has to read to the end. */
                scan_end(session, false);
                return;
            }
            break;
        case API_SCAN_WAIT:
            session->ready_due = false;
            return;
        case API_SCAN_END:
            scan_end(session, true);
            return;
        case API_SCAN_ERROR:
            if (!error_allowed(run, api_scan_error(session->scan)) &&
                !index_dropped(session, api_scan_error(session->scan)))
                run_fail(run, SIM_CORRECTNESS, "session %u: scan failed with error %u", session->no,
                         api_scan_error(session->scan));
            scan_end(session, false);
            return;
        }
    }
}

void scan_crashed(struct session *session)
{
    drop_snapshot(session);
}
