/* work_rows.c -- rows that come and go, several tables at once, and a table that grows until memory
 * is full. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "values/errors.h"
#include "tests/sim/works.h"

#define FILL_BATCH 6u
#define FILL_MOST  3000u
#define FILL_FIRST 1000000u /* Keys of the fill job: behind all others. */

static struct model_key *key_of(struct session *session, const struct item *item)
{
    return &session->client->run->model.key[item->table][item->key];
}

static bool changes(const struct item *item)
{
    return item->operation != OP_READ && item->expect == 0;
}

static void touch_all(struct session *session)
{
    for (uint32_t i = 0; i < session->count; i++) {
        if (changes(&session->item[i])) key_of(session, &session->item[i])->version++;
    }
}

static void apply_all(struct session *session, uint64_t epoch)
{
    for (uint32_t i = 0; i < session->count; i++) {
        const struct item *item = &session->item[i];
        if (!changes(item)) continue;
        struct model_key *key = key_of(session, item);
        key->state = item->operation == OP_DELETE ? KEY_ABSENT : KEY_PRESENT;
        key->value = item->value;
        past_add(session->client->run, item->table, item->key, epoch);
    }
}

/* What single operations said must agree with the model: only this session writes these rows. */
static void check_items(struct session *session)
{
    struct run *run = session->client->run;
    struct api_op *op = api_tx_first(session->tx);
    for (uint32_t i = 0; i < session->count && op != NULL; i++, op = api_op_next(op)) {
        const struct item *item = &session->item[i];
        uint32_t error = api_op_error(op);
        if (error != item->expect && !error_allowed(run, error == 0 ? item->expect : error)) {
            run_fail(run, SIM_CORRECTNESS,
                     "session %u: operation %u on row %u of table %u gave %u instead of %u",
                     session->no, item->operation, item->key, item->table, error, item->expect);
        }
        if (item->operation != OP_READ || error != 0) continue;
        if (item->rows != 1 || item->got != key_of(session, item)->value)
            run_fail(run, SIM_CORRECTNESS,
                     "session %u: row %u of table %u has %llu (%u rows) instead of %llu",
                     session->no, item->key, item->table, (unsigned long long)item->got, item->rows,
                     (unsigned long long)key_of(session, item)->value);
    }
}

/* While an index is being dropped or made, clients may know the table's definition without it. */
static bool comes_or_goes(const struct session *session)
{
    const struct model *model = &session->client->run->model;
    for (uint32_t i = 0; i < session->count; i++) {
        uint32_t table = session->item[i].table;
        if (model->own_tried[table] || model->unique_drop[table] != UNIQUE_DROP_NEVER) return true;
    }
    return false;
}

/* I-SIM-10: the client learns which index it was. */
static void check_duplicate(struct session *session, struct api_tx *tx)
{
    struct run *run = session->client->run;
    if (api_tx_error(tx) != ERR_UNIQUE_DUPLICATE) return;
    run->figures.duplicates++;
    const char *name = api_tx_error_index(tx);
    if (strcmp(name, "u_v") == 0 || strcmp(name, "u_fs") == 0) return;
    if ((name[0] == 0 || strncmp(name, "own", 3) == 0) && comes_or_goes(session)) return;
    run_fail(run, SIM_CORRECTNESS, "session %u: a duplicate in the unique index '%s'", session->no,
             name);
}

static void churn_done(void *context, struct api_tx *tx)
{
    struct session *session = context;
    struct run *run = session->client->run;
    enum api_outcome outcome = outcome_of(session);
    count_outcome(run, outcome);
    bool late = durability_late(run);
    if (outcome == API_COMMITTED && late) outcome = API_UNKNOWN;
    if (session->tx != NULL && !late) check_duplicate(session, session->tx);
    if (outcome == API_COMMITTED) {
        if (session->phase != 0)
            run_fail(run, SIM_CORRECTNESS,
                     "session %u: a transaction that had to fail with %u was committed",
                     session->no, session->phase);
        check_items(session);
        apply_all(session, api_tx_epoch(tx));
    }
    if (outcome == API_UNKNOWN)
        model_unknown(run, session->item, session->count, session->epoch_floor);
    else
        touch_all(session);
    session_done(session);
}

void churn_crashed(struct session *session)
{
    if (session->writes)
        model_unknown(session->client->run, session->item, session->count, session->epoch_floor);
    else
        touch_all(session);
}

static void draw_operation(struct session *session, struct item *item, struct rng *rng)
{
    struct run *run = session->client->run;
    bool present = key_of(session, item)->state == KEY_PRESENT;
    item->value = ++run->model.next_value;
    uint64_t drawn = rng_below(rng, 10);
    if (drawn < 2) {
        item->operation = OP_READ;
        item->expect = present ? 0 : ERR_ROW_NOT_FOUND;
    } else if (drawn < 4) {
        item->operation = OP_WRITE;
    } else if (drawn == 4) { /* What must be refused. */
        item->operation = present ? OP_INSERT : rng_chance(rng, 1, 2) ? OP_UPDATE : OP_DELETE;
        item->expect = present ? ERR_ROW_EXISTS : ERR_ROW_NOT_FOUND;
    } else if (present) {
        item->operation = drawn < 8 ? OP_UPDATE : OP_DELETE;
    } else {
        item->operation = OP_INSERT;
    }
}

/* Some name the row by its value instead of its key; a row that is not there, by one that no row
 * has. */
static void name_by_value(struct session *session, struct item *item, struct rng *rng)
{
    struct run *run = session->client->run;
    if (item->operation == OP_INSERT || item->operation == OP_WRITE) return;
    if (row_uniques(run, item->table) <= UNIQUE_VALUE || rng_chance(rng, 1, 2)) return;
    bool present = key_of(session, item)->state == KEY_PRESENT;
    item->unique = true;
    item->named = present ? key_of(session, item)->value : ++run->model.next_value;
}

static bool already(const struct session *session, uint32_t table, uint32_t key)
{
    for (uint32_t i = 0; i < session->count; i++) {
        if (session->item[i].table == table && session->item[i].key == key) return true;
    }
    return false;
}

/* A value that a row which the transaction leaves alone has already: it must be refused. */
static void draw_duplicate(struct session *session, struct rng *rng)
{
    struct run *run = session->client->run;
    struct item *item = &session->item[rng_below(rng, session->count)];
    bool puts = changes(item) && item->operation != OP_DELETE;
    if (!puts || row_uniques(run, item->table) <= UNIQUE_VALUE) return;
    uint32_t first = session->no * run->swarm.churn_keys;
    for (uint32_t tries = 0; tries < 4; tries++) {
        uint32_t key = first + (uint32_t)rng_below(rng, run->swarm.churn_keys);
        const struct model_key *other = &run->model.key[item->table][key];
        if (other->state != KEY_PRESENT || already(session, item->table, key)) continue;
        item->value = other->value;
        session->phase = ERR_UNIQUE_DUPLICATE;
        return;
    }
}

static void half_way(void *context, struct api_tx *tx)
{
    struct session *session = context;
    if (!still_active(session)) {
        churn_done(context, tx);
        return;
    }
    session_execute(session,
                    rng_chance(work_rng(session->client->run), 1, 8) ? API_ROLLBACK : API_COMMIT,
                    churn_done);
}

void churn_start(struct session *session)
{
    struct run *run = session->client->run;
    struct rng *rng = work_rng(run);
    bool batches = run->swarm.batch_rows > 0; /* The last row is theirs. */
    uint32_t wanted = 1 + (uint32_t)rng_below(rng, 6);
    for (uint32_t tries = 0; tries < wanted * 2 && session->count < wanted; tries++) {
        uint32_t table = TABLE_CHURN + (uint32_t)rng_below(rng, run->swarm.churn_tables);
        uint32_t key = session->no * run->swarm.churn_keys +
                       (uint32_t)rng_below(rng, run->swarm.churn_keys - (batches ? 1u : 0));
        if (run->model.key[table][key].state == KEY_TAINTED || already(session, table, key))
            continue;
        struct item *item = session_add(session, table, key, OP_READ);
        draw_operation(session, item, rng);
        name_by_value(session, item, rng);
    }
    if (session->count == 0) {
        session_done(session);
        return;
    }
    /* Now and then a refused operation ends the whole transaction. */
    if (session->item[0].expect != 0 && rng_chance(rng, 1, 2)) {
        session->phase = session->item[0].expect;
        session->item[0].expect = 0;
    }
    if (session->phase == 0 && rng_chance(rng, 1, 3)) draw_duplicate(session, rng);
    touch_all(session);
    enum lock_mode lock = rng_chance(rng, 1, 2) ? LOCK_SHARED : LOCK_EXCLUSIVE;
    if (!session_define(session, 0, lock, 0)) {
        touch_all(session);
        session_done(session);
        return;
    }
    if (rng_chance(rng, 1, 3))
        session_execute(session, API_NO_COMMIT, half_way);
    else
        session_execute(session, API_COMMIT, churn_done);
}

/* --- Fill: inserts until there is no room, then deletes all of it. --- */

static void fill_next(struct session *session);

static void fill_done(void *context, struct api_tx *tx)
{
    struct session *session = context;
    struct run *run = session->client->run;
    uint32_t phase = session->phase;
    (void)tx;
    session->phase = 0;
    enum api_outcome outcome = outcome_of(session);
    uint32_t error = session->tx == NULL ? 0 : api_tx_error(session->tx);
    session->phase = phase;
    count_outcome(run, outcome);
    if (phase == 0) {
        bool all = run->swarm.small_data && (!run->swarm.disk || run->swarm.full);
        if (outcome == API_COMMITTED) session->fill_next += FILL_BATCH;
        if (outcome != API_COMMITTED || session->fill_next >= (all ? FILL_MOST : 60u))
            session->phase = 1;
        const struct error_entry *entry = error_get(error);
        if (entry->class == ERROR_CLASS_IS) run->figures.errors[0]++;
        if (outcome == API_UNKNOWN)
            session->fill_next += FILL_BATCH; /* Deleted too, if they are there. */
        if (run->swarm.full && session->phase == 1) {
            session->fill_high =
                session->fill_next > session->fill_high ? session->fill_next : session->fill_high;
            session_done(session); /* All is full while others work; the next job deletes. */
            return;
        }
    } else if (outcome == API_COMMITTED) {
        session->fill_next -= session->fill_next < FILL_BATCH ? session->fill_next : FILL_BATCH;
    } else {
        session_done(session); /* The next fill job goes on. */
        return;
    }
    if (session->fill_next > session->fill_high) session->fill_high = session->fill_next;
    if ((session->phase == 1 && session->fill_next == 0) || run->durability.down) {
        session_done(session);
        return;
    }
    if (session->tx != NULL) api_tx_close(session->tx);
    session->tx = NULL;
    fill_next(session);
}

static void fill_next(struct session *session)
{
    struct run *run = session->client->run;
    uint32_t first = FILL_FIRST + session->no * 10000u;
    session->count = 0;
    uint32_t from = session->phase == 0 ? session->fill_next : session->fill_next - FILL_BATCH;
    for (uint32_t i = 0; i < FILL_BATCH; i++) {
        struct item *item = session_add(session, TABLE_CHURN, first + from + i,
                                        session->phase == 0 ? OP_WRITE : OP_DELETE);
        item->value = ++run->model.next_value;
        if (session->phase == 1) item->expect = ERR_ROW_NOT_FOUND; /* May be refused. */
    }
    if (!session_define(session, 0, LOCK_EXCLUSIVE, 0)) {
        session_done(session);
        return;
    }
    session_execute(session, API_COMMIT, fill_done);
}

void fill_start(struct session *session)
{
    if (session->fill_next > 0) session->phase = 1; /* What is left of an earlier job goes first. */
    fill_next(session);
}

void fill_crashed(struct session *session)
{
    if (session->phase == 0) session->fill_next += FILL_BATCH;
    if (session->fill_next > session->fill_high) session->fill_high = session->fill_next;
}
