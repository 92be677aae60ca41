/* work_unique.c -- unique indexes of tables in use are dropped while the others change the rows and
 * nodes are lost. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one over f and s, of any table that has it; nobody names rows by it. Several sessions may try
 * it at the same time, and one is told that there is none any more. What was told holds for ever,
 * and nobody who has not asked for it loses an index. That its entries are those of the rows until
 * then, and that nothing is left of it behind that, check_unique.c says.
 */
#include <string.h>
#include "values/errors.h"
#include "values/table_index.h"
#include "tests/sim/works.h"

#define UNIQUE_TIMEOUT_MS 60000u
#define DROPPED           "u_fs"

enum { STEP_LOOK = 0, STEP_DROP, STEP_LOOK_AGAIN };

static enum unique_drop *model_of(const struct session *session)
{
    return &session->client->run->model.unique_drop[session->reg_index];
}

static void give_up(struct session *session, uint32_t error)
{
    struct run *run = session->client->run;
    bool gone = error == ERR_INDEX_MISSING && session->phase == STEP_DROP;
    if (error != 0 && !gone && error != ERR_SCHEMA_ABORTED && !error_allowed(run, error))
        run_fail(run, SIM_CORRECTNESS, "session %u: step %u of a unique index: error %u",
                 session->no, session->phase, error);
    session_done(session);
}

static void dict_done(void *context, const struct api_dict_result *result);

/* session->reg_index: the table; session->invoked: what was known of it before the look. */
static void look(struct session *session, uint32_t step)
{
    const struct run *run = session->client->run;
    char name[TABLE_NAME_MAX + 1];
    session->phase = step;
    session->invoked = *model_of(session);
    table_def_internal_name(run->def[session->reg_index], name, sizeof name);
    uint32_t error = api_dict_get(session->api, name, UNIQUE_TIMEOUT_MS, dict_done, session);
    if (error != 0) give_up(session, error);
}

static void drop(struct session *session, const struct table_def *def)
{
    uint32_t words[2] = {sizeof DROPPED - 1u};
    const struct alter_table_req req = {
        .table_id = def->table_id, .version = def->version, .kind = ALTER_DROP_INDEX};
    const struct section section = {words, 2};
    memcpy(words + 1, DROPPED, words[0]);
    session->phase = STEP_DROP;
    if (*model_of(session) == UNIQUE_DROP_NEVER) *model_of(session) = UNIQUE_DROP_TRIED;
    uint32_t error =
        api_dict_alter(session->api, &req, &section, UNIQUE_TIMEOUT_MS, dict_done, NULL, session);
    if (error != 0) give_up(session, error);
}

/* What the dictionary says against what was told. */
static bool look_at(struct session *session, const struct table_def *def)
{
    struct run *run = session->client->run;
    uint32_t number;
    bool there = table_def_unique_find(def, DROPPED, sizeof DROPPED - 1u, &number);
    if (there && session->invoked == UNIQUE_DROP_TOLD)
        run_fail(run, SIM_CORRECTNESS, "table %u still has the unique index " DROPPED,
                 session->reg_index);
    if (!there && *model_of(session) == UNIQUE_DROP_NEVER)
        run_fail(run, SIM_CORRECTNESS, "table %u has lost its unique index " DROPPED,
                 session->reg_index);
    return there;
}

static void dict_done(void *context, const struct api_dict_result *result)
{
    struct session *session = context;
    struct run *run = session->client->run;
    if (result->error != 0 || run->durability.down) {
        if (result->table != NULL) api_table_release(result->table);
        give_up(session, result->error);
        return;
    }
    if (session->phase == STEP_DROP) {
        *model_of(session) = UNIQUE_DROP_TOLD;
        run->figures.uniques_dropped++;
        look(session, STEP_LOOK_AGAIN);
        return;
    }
    const struct table_def *def = api_table_def(result->table);
    bool there = look_at(session, def);
    if (there && session->phase == STEP_LOOK)
        drop(session, def);
    else
        session_done(session);
    api_table_release(result->table);
}

void unique_start(struct session *session)
{
    struct run *run = session->client->run;
    session->reg_index = (uint32_t)rng_below(work_rng(run), run->table_count);
    if (row_uniques(run, session->reg_index) == 0)
        session_done(session);
    else
        look(session, STEP_LOOK);
}
