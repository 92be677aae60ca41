/* work_batch.c -- transactions that change thousands of rows at once: all of them or none. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One row of each session, its last one, is kept by the model like any other. All rows of a batch
 * follow it in the same transactions: they are there when it is, and have the values behind its
 * own. So whatever becomes of a batch, the row that leads tells what the others must be.
 */
#include <stdlib.h>
#include "values/errors.h"
#include "tests/sim/works.h"

#define BATCH_FIRST 500000u /* Keys of the rows that follow; some tables have six digits. */

static uint32_t leader_of(const struct session *session)
{
    return (session->no + 1u) * session->client->run->swarm.churn_keys - 1u;
}

bool batch_row(const struct run *run, uint32_t session, uint32_t i, uint32_t *leader, uint32_t *key)
{
    *leader = (session + 1u) * run->swarm.churn_keys - 1u;
    *key = BATCH_FIRST + session * 10000u + i;
    return i < run->swarm.batch_rows;
}

static struct model_key *leader_key(const struct session *session)
{
    return &session->client->run->model.key[TABLE_CHURN][leader_of(session)];
}

/* The leader and those that follow it, whose values come behind `value`. */
static void add_rows(struct session *session, enum key_operation operation, uint64_t value)
{
    const struct swarm *swarm = &session->client->run->swarm;
    if (session->batch == NULL) session->batch = calloc(swarm->batch_rows, sizeof *session->batch);
    if (session->batch == NULL) abort();
    struct item *leader = session_add(session, TABLE_CHURN, leader_of(session), operation);
    leader->value = value;
    if (operation == OP_READ) leader->expect = ERR_ROW_NOT_FOUND; /* It may be. */
    session->batch_count = swarm->batch_rows;
    for (uint32_t i = 0; i < swarm->batch_rows; i++) {
        struct item *item = &session->batch[i];
        *item = *leader;
        item->key = BATCH_FIRST + session->no * 10000u + i;
        item->value = value + 1u + i;
    }
}

/* False: it was refused, or lost on its way, and says nothing. */
static bool told(const struct api_op *op, const struct item *item)
{
    return item->rows == 1 || api_op_error(op) == ERR_ROW_NOT_FOUND;
}

static void check_rows_read(struct session *session)
{
    struct run *run = session->client->run;
    const struct item *leader = &session->item[0];
    const struct model_key *key = leader_key(session);
    struct api_op *op = api_tx_first(session->tx);
    if (!told(op, leader)) return;
    run->figures.batches_read++;
    if (key->state != KEY_TAINTED && (leader->rows != (key->state == KEY_PRESENT) ||
                                      (leader->rows == 1 && leader->got != key->value)))
        run_fail(run, SIM_CORRECTNESS, "session %u: %u rows %u with %llu instead of %llu",
                 session->no, leader->rows, leader->key, (unsigned long long)leader->got,
                 (unsigned long long)key->value);
    for (uint32_t i = 0; i < session->batch_count; i++) {
        const struct item *item = &session->batch[i];
        op = api_op_next(op);
        if (!told(op, item)) continue;
        if (item->rows == leader->rows && (item->rows == 0 || item->got == leader->got + 1u + i))
            continue;
        run_fail(
            run, SIM_CORRECTNESS, /* I-SIM-1 */
            "session %u: half a batch is there: %u rows %u with %llu, and %u rows %u with %llu",
            session->no, leader->rows, leader->key, (unsigned long long)leader->got, item->rows,
            item->key, (unsigned long long)item->got);
        return;
    }
}

static void apply(struct session *session, uint64_t epoch)
{
    const struct item *leader = &session->item[0];
    struct model_key *key = leader_key(session);
    key->state = leader->operation == OP_DELETE ? KEY_ABSENT : KEY_PRESENT;
    key->value = leader->value;
    past_add(session->client->run, TABLE_CHURN, leader->key, epoch);
}

static void batch_done(void *context, struct api_tx *tx)
{
    struct session *session = context;
    struct run *run = session->client->run;
    bool reads = session->item[0].operation == OP_READ;
    enum api_outcome outcome = outcome_of(session);
    count_outcome(run, outcome);
    if (durability_late(run) && outcome == API_COMMITTED) outcome = API_UNKNOWN;
    if (reads) {
        if (outcome == API_COMMITTED) check_rows_read(session);
    } else if (outcome == API_UNKNOWN) {
        batch_crashed(session);
    } else {
        if (outcome == API_COMMITTED) {
            run->figures.batches++;
            apply(session, api_tx_epoch(tx));
        }
        leader_key(session)->version++;
    }
    session_done(session);
}

void batch_crashed(struct session *session)
{
    if (session->count == 0 || session->item[0].operation == OP_READ) return;
    model_unknown(session->client->run, session->item, 1, session->epoch_floor);
}

static void half_way(void *context, struct api_tx *tx)
{
    struct session *session = context;
    if (!still_active(session)) {
        batch_done(context, tx);
        return;
    }
    bool rollback = rng_chance(work_rng(session->client->run), 1, 4);
    session_execute(session, rollback ? API_ROLLBACK : API_COMMIT, batch_done);
}

void batch_start(struct session *session)
{
    struct run *run = session->client->run;
    struct rng *rng = work_rng(run);
    struct model_key *key = leader_key(session);
    enum key_operation operation = OP_READ;
    /* When nobody told what has become of it, it is read only. */
    if (key->state == KEY_ABSENT && rng_chance(rng, 3, 4)) operation = OP_INSERT;
    if (key->state == KEY_PRESENT && rng_chance(rng, 2, 3))
        operation = rng_chance(rng, 1, 3)   ? OP_DELETE
                    : rng_chance(rng, 1, 2) ? OP_UPDATE
                                            : OP_WRITE;
    uint64_t value = run->model.next_value + 1u;
    run->model.next_value += 1u + run->swarm.batch_rows;
    add_rows(session, operation, value);
    if (operation != OP_READ) key->version++;
    if (!session_define(session, 0, LOCK_SHARED, 0)) {
        if (operation != OP_READ) key->version++;
        session_done(session);
        return;
    }
    if (rng_chance(rng, 1, 4))
        session_execute(session, API_NO_COMMIT, half_way);
    else
        session_execute(session, API_COMMIT, batch_done);
}
