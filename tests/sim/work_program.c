/* work_program.c -- counters changed by programs: transfers in one round trip, and one hot row. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "values/errors.h"
#include "tests/sim/works.h"

static struct item *add_counter(struct session *session, uint32_t table, uint32_t key, int64_t add)
{
    struct item *item = session_add(session, table, key, OP_UPDATE);
    item->program = true;
    item->add = add;
    return item;
}

static bool is_hot(const struct session *session)
{
    return session->item[0].table == TABLE_REGISTER;
}

/* What was told before the cluster was lost may have gone. */
static int64_t newest(struct run *run)
{
    struct model *model = &run->model;
    if (model->hot_losses != run->durability.losses) model->hot_max = 0;
    model->hot_losses = run->durability.losses;
    return model->hot_max;
}

/* I-SIM-9: each increment has its own value, a later one a larger one. */
static void check_hot(struct session *session)
{
    struct run *run = session->client->run;
    struct model *model = &run->model;
    const struct item *item = &session->item[0];
    if (session->hot_losses != run->durability.losses || run->durability.down) return;
    int64_t newest_told = newest(run);
    if (item->rows != 1 || item->counter <= session->hot_floor ||
        item->counter > (int64_t)model->hot_begun)
        run_fail(run, SIM_CORRECTNESS,
                 "session %u: the counter was at least %lld, at most %llu; an increment gave %lld",
                 session->no, (long long)session->hot_floor, (unsigned long long)model->hot_begun,
                 (long long)item->counter);
    if (item->counter > newest_told) model->hot_max = item->counter;
}

static void over(void *context, struct api_tx *tx)
{
    struct session *session = context;
    struct run *run = session->client->run;
    (void)tx;
    session->phase = COUNTER_REFUSES; /* May be. */
    enum api_outcome outcome = outcome_of(session);
    count_outcome(run, outcome);
    if (is_hot(session)) {
        if (outcome == API_COMMITTED) run->model.hot_done++;
        if (outcome == API_UNKNOWN) run->model.hot_unknown++;
        if (outcome == API_COMMITTED && !rows_lost(session)) check_hot(session);
    }
    session_done(session);
}

/* Prepared; now it ends one way or the other. */
static void prepared(void *context, struct api_tx *tx)
{
    struct session *session = context;
    if (!still_active(session)) {
        over(context, tx);
        return;
    }
    session_execute(session, session->rollback ? API_ROLLBACK : API_COMMIT, over);
}

void program_start(struct session *session)
{
    struct run *run = session->client->run;
    struct rng *rng = work_rng(run);
    if (rng_chance(rng, 1, 2)) {
        add_counter(session, TABLE_REGISTER, 0, 1);
        session->hot_floor = newest(run);
        session->hot_losses = run->durability.losses;
        run->model.hot_begun++;
    } else {
        uint32_t from = (uint32_t)rng_below(rng, run->swarm.accounts);
        uint32_t step = 1 + (uint32_t)rng_below(rng, run->swarm.accounts - 1);
        int64_t amount = 1 + (int64_t)rng_below(rng, 30);
        add_counter(session, TABLE_BANK, from, -amount);
        add_counter(session, TABLE_BANK, (from + step) % run->swarm.accounts, amount);
    }
    if (!session_define(session, 0, LOCK_EXCLUSIVE, rng_chance(rng, 1, 10) ? KEY_NOWAIT : 0)) {
        session_done(session);
        return;
    }
    session->rollback = rng_chance(rng, 1, 10);
    if (session->rollback || rng_chance(rng, 1, 6))
        session_execute(session, API_NO_COMMIT, prepared);
    else
        session_execute(session, API_COMMIT, over);
}

void program_crashed(struct session *session)
{
    if (is_hot(session)) session->client->run->model.hot_unknown++;
}

/* At the end, when nothing moves any more: no increment was lost, none was made twice. */
void program_check_hot(struct run *run, int64_t counter)
{
    const struct model *model = &run->model;
    if (run->durability.losses > 0) return; /* Commits that were not durable have gone. */
    if (counter < (int64_t)model->hot_done ||
        counter > (int64_t)(model->hot_done + model->hot_unknown))
        run_fail(run, SIM_CORRECTNESS,
                 "the counter is %lld after %llu increments and %llu of unknown outcome",
                 (long long)counter, (unsigned long long)model->hot_done,
                 (unsigned long long)model->hot_unknown);
}
