/* work_number.c -- numbers for new rows, taken as the client library takes them: none comes twice.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of counters is made by the first session that does not find it. Its rows are those of a
 * few tables that there need not be, each now and then made anew under the same number. With files
 * a take is on disk when it is answered, so its numbers do not come again after the loss of the
 * cluster either.
 */
#include <stdlib.h>
#include <string.h>
#include "api/core/counter.h"
#include "values/errors.h"
#include "tests/sim/works.h"

#define COUNTER_TIMEOUT_MS 60000u

enum { STEP_LOOK = 0, STEP_CREATE };

static struct model_counter *model_of(const struct session *session)
{
    return &session->client->run->model.counter[session->counter_row];
}

static void leave(struct session *session)
{
    if (session->schema_table != NULL) api_table_release(session->schema_table);
    session->schema_table = NULL;
    session_done(session);
}

static void give_up(struct session *session, uint32_t error)
{
    struct run *run = session->client->run;
    if (error != 0 && !error_allowed(run, error) && error != ERR_TABLE_NO_PAGES)
        run_fail(run, SIM_CORRECTNESS, "session %u: step %u of a counter: error %u", session->no,
                 session->phase, error);
    leave(session);
}

/* --- The model. --- */

/* What was told before the cluster was lost, and was not on disk, may come again. */
static void after_losses(struct run *run)
{
    if (run->model.counter_losses == run->durability.losses) return;
    run->model.counter_losses = run->durability.losses;
    for (uint32_t i = 0; i < COUNTER_ROWS; i++) {
        struct model_counter *counter = &run->model.counter[i];
        memcpy(counter->given, counter->safe, sizeof counter->given);
        counter->told = counter->told_safe;
    }
}

/* Behind all numbers that takes can have given, in whatever order they came. */
static uint64_t end_of(const struct model_counter *counter)
{
    return counter->least + counter->asked;
}

/* I-SIM-11: no number is given twice, and later ones are greater. */
static void check_range(struct session *session, uint64_t from, uint64_t end, bool safe)
{
    struct run *run = session->client->run;
    struct model_counter *counter = model_of(session);
    after_losses(run);
    if (from < session->counter_floor || end > end_of(counter))
        run_fail(run, SIM_CORRECTNESS,
                 "session %u: numbers %llu to %llu of table %u, when the least left was %llu and "
                 "the end %llu at most",
                 session->no, (unsigned long long)from, (unsigned long long)end,
                 session->counter_row, (unsigned long long)session->counter_floor,
                 (unsigned long long)end_of(counter));
    for (uint64_t i = from; i < end && end <= COUNTER_NUMBERS; i++) {
        if ((counter->given[i / 8] & 1u << i % 8) != 0)
            run_fail(run, SIM_CORRECTNESS, "session %u: number %llu of table %u comes again",
                     session->no, (unsigned long long)i, session->counter_row);
        counter->given[i / 8] |= (uint8_t)(1u << i % 8);
        if (safe) counter->safe[i / 8] |= (uint8_t)(1u << i % 8);
    }
    if (end > counter->told) counter->told = end;
    if (safe && end > counter->told_safe) counter->told_safe = end;
}

/* --- One take. --- */

static uint32_t came(struct api_op *op, const uint32_t *pairs, uint32_t words)
{
    struct session *session = api_op_context(op);
    if (!counter_parse(pairs, words, &session->counter))
        run_fail(session->client->run, SIM_CORRECTNESS, "session %u: the row of a counter is torn",
                 session->no);
    session->count++;
    return 0;
}

static void taken(void *context, struct api_tx *tx)
{
    struct session *session = context;
    struct run *run = session->client->run;
    const struct counter_take *take = &session->counter_take;
    bool anew = take->major != model_of(session)->major; /* The table was made anew meanwhile. */
    session->phase = anew ? COUNTER_OTHER_TABLE : 0;     /* May be. */
    enum api_outcome outcome = outcome_of(session);
    count_outcome(run, outcome);
    bool safe = session->durable && api_tx_durable(tx);
    bool lost = run->durability.down || session->hot_losses != run->durability.losses;
    if (outcome == API_COMMITTED && !rows_lost(session) && !anew && (safe || !lost)) {
        if (session->count != 1)
            run_fail(run, SIM_CORRECTNESS, "session %u: the row of a counter came %u times",
                     session->no, session->count);
        else if (session->counter.major != take->major)
            run_fail(run, SIM_CORRECTNESS, "session %u: the counter is that of version %u, not %u",
                     session->no, session->counter.major, take->major);
        else
            check_range(session, session->counter.next - take->count, session->counter.next, safe);
    }
    leave(session);
}

static void draw_take(struct session *session)
{
    struct run *run = session->client->run;
    struct rng *rng = work_rng(run);
    struct model_counter *counter = model_of(session);
    if (rng_chance(rng, 1, 40)) *counter = (struct model_counter){.major = counter->major + 1};
    session->counter_floor = counter->told > 0 ? counter->told : 1;
    session->counter_take = (struct counter_take){
        .table_id = 1 + session->counter_row,
        .major = counter->major,
        .least = rng_chance(rng, 1, 8) ? 1 + rng_below(rng, end_of(counter) + 5) : 1,
        .count = rng_chance(rng, 1, 10) ? 0 : 1 + rng_below(rng, 8),
    };
    if (session->counter_take.least > counter->least) counter->least = session->counter_take.least;
    counter->asked += session->counter_take.count;
}

static bool define(struct session *session)
{
    uint32_t attr_words;
    const struct api_op_options options = {
        .table = session->schema_table,
        .operation = OP_WRITE,
        .lock = LOCK_EXCLUSIVE,
        .flags = KEY_PROGRAM,
        .row = came,
        .context = session,
    };
    session->tx = api_tx_start(session->api);
    uint32_t *words = session->tx == NULL ? NULL : api_op_begin(session->tx, COUNTER_WORDS_MAX);
    if (words == NULL) return false;
    uint32_t key_words = counter_write(&session->counter_take, words, &attr_words);
    session->writes = true;
    return api_op_end(session->tx, &options, key_words, attr_words) != NULL;
}

static void take(struct session *session)
{
    struct run *run = session->client->run;
    after_losses(run);
    session->counter_row = (uint32_t)rng_below(work_rng(run), COUNTER_ROWS);
    draw_take(session);
    session->count = 0;
    session->hot_losses = run->durability.losses;
    if (define(session))
        session_execute(session, run->swarm.disk ? API_COMMIT_DURABLE : API_COMMIT, taken);
    else
        leave(session);
}

/* --- The table. --- */

static void look(struct session *session);

static void dict_done(void *context, const struct api_dict_result *result)
{
    struct session *session = context;
    uint32_t error = result->error;
    if (session->phase == STEP_LOOK && error == 0) {
        session->schema_table = result->table;
        take(session);
        return;
    }
    if (session->client->run->durability.down) {
        give_up(session, 0);
        return;
    }
    if (session->phase == STEP_CREATE && (error == 0 || error == ERR_TABLE_EXISTS)) {
        look(session);
        return;
    }
    if (session->phase == STEP_LOOK && error == ERR_NO_SUCH_TABLE) {
        struct table_def *def = counter_table_def();
        session->phase = STEP_CREATE;
        error = api_dict_create(session->api, def, COUNTER_TIMEOUT_MS, dict_done, session);
        free(def);
        if (error == 0) return;
    }
    give_up(session, error);
}

static void look(struct session *session)
{
    session->phase = STEP_LOOK;
    session->schema_table = api_dict_cached(session->client->core, COUNTER_TABLE);
    if (session->schema_table != NULL) {
        take(session);
        return;
    }
    uint32_t error =
        api_dict_get(session->api, COUNTER_TABLE, COUNTER_TIMEOUT_MS, dict_done, session);
    if (error != 0) give_up(session, error);
}

void number_start(struct session *session)
{
    look(session);
}

void number_crashed(struct session *session)
{
    if (session->schema_table != NULL) api_table_release(session->schema_table);
    session->schema_table = NULL;
}
