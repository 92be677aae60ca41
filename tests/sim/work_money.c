/* work_money.c -- bank transfers and audits, and single-row registers: locks, conflicts, deadlocks.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "values/errors.h"
#include "tests/sim/works.h"

/* How a transaction ended: what was refused before it was sent counts as aborted. */
enum api_outcome outcome_of(struct session *session)
{
    struct run *run = session->client->run;
    enum api_outcome outcome = session->tx == NULL ? API_ABORTED : api_tx_outcome(session->tx);
    uint32_t error = session->tx == NULL ? 0 : api_tx_error(session->tx);
    if (outcome == API_ACTIVE) outcome = API_ABORTED;
    if (outcome == API_COMMITTED && error != 0 && api_tx_changed(session->tx) &&
        error != ERR_COMMITTED_READS_LOST)
        run_fail(run, SIM_CORRECTNESS, "session %u: %s is committed with error %u", session->no,
                 works[session->work].name, error);
    if (durability_late(run)) return outcome; /* Rows have gone back. */
    if (error != 0 && error != ERR_COMMITTED_READS_LOST && !error_allowed(run, error) &&
        error != session->phase)
        run_fail(run, SIM_CORRECTNESS, "session %u: %s failed with error %u", session->no,
                 works[session->work].name, error);
    return outcome;
}

bool still_active(struct session *session)
{
    return api_tx_outcome(session->tx) == API_ACTIVE && api_tx_error(session->tx) == 0;
}

/* Committed, but rows that were read got lost with a link. */
bool rows_lost(struct session *session)
{
    return api_tx_outcome(session->tx) == API_COMMITTED && api_tx_error(session->tx) != 0;
}

static void need_rows(struct session *session)
{
    for (uint32_t i = 0; i < session->count; i++) {
        const struct item *item = &session->item[i];
        if (item->operation == OP_READ && item->rows != 1)
            run_fail(session->client->run, SIM_CORRECTNESS,
                     "session %u: row %u of table %u came %u times", session->no, item->key,
                     item->table, item->rows);
    }
}

/* --- Bank. --- */

static void transferred(void *context, struct api_tx *tx)
{
    struct session *session = context;
    (void)tx;
    count_outcome(session->client->run, outcome_of(session));
    session_done(session);
}

static void balances_read(void *context, struct api_tx *tx)
{
    struct session *session = context;
    struct rng *rng = work_rng(session->client->run);
    (void)tx;
    if (!still_active(session)) {
        transferred(context, tx);
        return;
    }
    need_rows(session);
    uint64_t from = session->item[0].got;
    uint64_t amount = rng_below(rng, (from < 50 ? from : 50) + 1);
    uint64_t to = session->item[1].got + amount;
    for (uint32_t i = 0; i < 2; i++)
        session->item[i].operation = OP_UPDATE;
    session->item[0].value = from - amount;
    session->item[1].value = to;
    if (!session_define(session, 0, LOCK_EXCLUSIVE, 0)) {
        transferred(context, tx);
        return;
    }
    session_execute(session, rng_chance(rng, 1, 10) ? API_ROLLBACK : API_COMMIT, transferred);
}

void bank_start(struct session *session)
{
    struct run *run = session->client->run;
    struct rng *rng = work_rng(run);
    uint32_t from = (uint32_t)rng_below(rng, run->swarm.accounts);
    uint32_t step = 1 + (uint32_t)rng_below(rng, run->swarm.accounts - 1);
    session_add(session, TABLE_BANK, from, OP_READ);
    session_add(session, TABLE_BANK, (from + step) % run->swarm.accounts, OP_READ);
    uint32_t flags = rng_chance(rng, 1, 8) ? KEY_NOWAIT : 0;
    if (!session_define(session, 0, LOCK_EXCLUSIVE, flags)) {
        session_done(session);
        return;
    }
    session_execute(session, API_NO_COMMIT, balances_read);
}

static void audited(void *context, struct api_tx *tx)
{
    struct session *session = context;
    struct run *run = session->client->run;
    (void)tx;
    if ((still_active(session) || api_tx_outcome(session->tx) == API_COMMITTED) &&
        !rows_lost(session)) {
        uint64_t sum = 0;
        int64_t counters = 0;
        need_rows(session);
        for (uint32_t i = 0; i < session->count; i++) {
            sum += session->item[i].got;
            counters += session->item[i].counter;
        }
        if (counters != 0) /* I-SIM-3 */
            run_fail(run, SIM_CORRECTNESS, "session %u: the bank's counters are %lld together",
                     session->no, (long long)counters);
        if (sum != run->model.bank_total) /* I-SIM-3 */
            run_fail(run, SIM_CORRECTNESS, "session %u: the bank's total is %llu instead of %llu",
                     session->no, (unsigned long long)sum,
                     (unsigned long long)run->model.bank_total);
    } else {
        outcome_of(session);
    }
    session_done(session);
}

void audit_start(struct session *session)
{
    struct run *run = session->client->run;
    struct rng *rng = work_rng(run);
    for (uint32_t i = 0; i < run->swarm.accounts; i++)
        session_add(session, TABLE_BANK, i, OP_READ);
    enum lock_mode lock = rng_chance(rng, 1, 4) ? LOCK_EXCLUSIVE : LOCK_SHARED;
    if (!session_define(session, 0, lock, 0)) {
        session_done(session);
        return;
    }
    session_execute(session, rng_chance(rng, 1, 2) ? API_COMMIT : API_NO_COMMIT, audited);
}

/* --- Registers. --- */

static void register_done(void *context, struct api_tx *tx)
{
    struct session *session = context;
    struct run *run = session->client->run;
    const struct item *item = &session->item[0];
    (void)tx;
    if (session->lock == LOCK_COMMITTED) {
        bool good = item->rows == 1 && !durability_late(run) &&
                    (still_active(session) || api_tx_outcome(session->tx) == API_COMMITTED);
        reg_finish(run, session->reg_index, good ? REG_DONE : REG_ABORTED, item->got);
        if (!good) outcome_of(session);
        session_done(session);
        return;
    }
    enum api_outcome outcome = outcome_of(session);
    count_outcome(run, outcome);
    enum reg_end end = outcome == API_COMMITTED ? REG_DONE
                       : outcome == API_ABORTED ? REG_ABORTED
                                                : REG_UNKNOWN;
    if (durability_late(run) && end == REG_DONE)
        end = item->operation == OP_READ ? REG_ABORTED : REG_UNKNOWN;
    if (end == REG_DONE && item->operation == OP_READ) {
        if (rows_lost(session))
            end = REG_ABORTED;
        else
            need_rows(session);
    }
    reg_finish(run, session->reg_index, end, item->got);
    if (item->operation == OP_UPDATE)
        run->model.reg[session->reg_index].epoch = durability_late(run) ? 0
                                                   : end == REG_DONE    ? api_tx_epoch(session->tx)
                                                                        : session->epoch_floor;
    session_done(session);
}

void register_start(struct session *session)
{
    struct run *run = session->client->run;
    struct rng *rng = work_rng(run);
    uint32_t row = (uint32_t)rng_below(rng, run->swarm.registers);
    bool write = rng_chance(rng, 1, 2);
    session->lock = write ? LOCK_EXCLUSIVE : (enum lock_mode)rng_below(rng, 3);
    struct item *item = session_add(session, TABLE_REGISTER, row, write ? OP_UPDATE : OP_READ);
    if (write) item->value = ++run->model.next_value;
    enum reg_kind kind = write                             ? REG_WRITE
                         : session->lock == LOCK_COMMITTED ? REG_READ_COMMITTED
                                                           : REG_READ_LOCKED;
    session->reg_index = reg_begin(run, kind, row, item->value);
    if (!session_define(session, 0, session->lock, 0)) {
        reg_finish(run, session->reg_index, REG_ABORTED, 0);
        session_done(session);
        return;
    }
    session_execute(session, API_COMMIT, register_done);
}

void register_crashed(struct session *session)
{
    bool write = session->item[0].operation == OP_UPDATE;
    reg_finish(session->client->run, session->reg_index, write ? REG_UNKNOWN : REG_ABORTED, 0);
    session->client->run->model.reg[session->reg_index].epoch = session->epoch_floor;
}
