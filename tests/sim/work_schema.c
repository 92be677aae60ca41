/* work_schema.c -- tables that are created, used and dropped while the others run. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include "blocks/dbdict/dict_state.h"
#include "values/errors.h"
#include "tests/sim/works.h"

#define SCHEMA_TIMEOUT_MS 60000u
#define SCHEMA_TABLE      (TABLES_MAX - 1u)

enum { STEP_CREATE = 0, STEP_GET, STEP_FILL, STEP_DROP, STEP_GONE };

static void table_name(const struct session *session, char *name, uint32_t size)
{
    snprintf(name, size, "sim/def/x%u_%u", session->no, (uint32_t)session->invoked);
}

void schema_name(uint32_t session, uint32_t number, struct run *run)
{
    snprintf(run->schema_name, sizeof run->schema_name, "sim/def/x%u_%u", session, number);
}

/* Jobs that are given up leave their tables behind, so a long run may use the numbers up: a new
 * table with its unique indexes needs so many. */
#define TABLE_NUMBERS 3u

void schema_observe(struct run *run, const uint32_t *words)
{
    uint32_t gsn = kind_gsn(words[0]);
    if (gsn != GSN_CREATE_TABLE_REQ && gsn != GSN_ALTER_TABLE_REQ) return;
    struct node *node = sim_node(run->world, ref_node(words[1]));
    struct dict *dict = (struct dict *)(void *)node_block(node, BLOCK_DBDICT, 0);
    uint32_t unused = 0;
    for (uint32_t id = 1; id < dict->table_count && unused < TABLE_NUMBERS; id++)
        unused += dict_table_at(dict, id) == NULL;
    if (unused < TABLE_NUMBERS) run->figures.numberless++;
}

/* What a restart must find of the session's table. */
static struct model_schema *model_of(struct session *session)
{
    return schema_find(session->client->run, session->no, (uint32_t)session->invoked);
}

static void model_state(struct session *session, enum schema_state state)
{
    struct model_schema *schema = model_of(session);
    if (schema != NULL) schema->state = state;
}

static void model_filled(struct session *session, enum schema_filled filled, uint64_t epoch)
{
    struct model_schema *schema = model_of(session);
    if (schema == NULL) return;
    schema->filled = filled;
    schema->epoch = epoch;
}

static void give_up(struct session *session, uint32_t error)
{
    struct run *run = session->client->run;
    if (error != 0 && !error_allowed(run, error) && error != ERR_TABLE_NO_PAGES)
        run_fail(run, SIM_CORRECTNESS, "session %u: schema step %u failed with error %u",
                 session->no, session->phase, error);
    session->phase = error;
    if (session->table[SCHEMA_TABLE] != NULL) api_table_release(session->table[SCHEMA_TABLE]);
    session->table[SCHEMA_TABLE] = NULL;
    session_done(session);
}

static void next_step(struct session *session);

static void dict_done(void *context, const struct api_dict_result *result)
{
    struct session *session = context;
    struct run *run = session->client->run;
    if (session->phase == STEP_GONE) {
        if (result->error == 0) {
            api_table_release(result->table);
            run_fail(run, SIM_CORRECTNESS, "session %u: a dropped table is still there",
                     session->no);
        }
        if (result->error == ERR_NO_SUCH_TABLE) schema_forget(run, model_of(session));
        give_up(session, result->error == ERR_NO_SUCH_TABLE ? 0 : result->error);
        return;
    }
    if (result->error != 0) {
        give_up(session, result->error);
        return;
    }
    if (session->phase == STEP_CREATE) model_state(session, SCHEMA_CREATED);
    if (session->phase == STEP_DROP) epochs_table_gone(session);
    if (session->phase == STEP_GET) session->table[SCHEMA_TABLE] = result->table;
    session->phase++;
    next_step(session);
}

static void filled(void *context, struct api_tx *tx)
{
    struct session *session = context;
    uint32_t error = api_tx_outcome(tx) == API_COMMITTED ? 0 : api_tx_error(tx);
    if (error != 0 && !error_allowed(session->client->run, error))
        run_fail(session->client->run, SIM_CORRECTNESS, "session %u: rows of a new table: error %u",
                 session->no, error);
    if (durability_late(session->client->run))
        model_filled(session, FILLED_UNKNOWN, 0);
    else if (api_tx_outcome(tx) == API_COMMITTED)
        model_filled(session, FILLED_DONE, api_tx_epoch(tx));
    else if (api_tx_outcome(tx) != API_UNKNOWN)
        model_filled(session, FILLED_NOT, 0);
    api_tx_close(session->tx);
    session->tx = NULL;
    session->phase++; /* It is dropped with or without rows. */
    next_step(session);
}

static void fill(struct session *session)
{
    struct run *run = session->client->run;
    session->count = 0;
    for (uint32_t i = 0; i < 4; i++)
        session_add(session, SCHEMA_TABLE, i, OP_INSERT)->value = ++run->model.next_value;
    if (!session_define(session, 0, LOCK_EXCLUSIVE, 0)) {
        give_up(session, 0);
        return;
    }
    model_filled(session, FILLED_UNKNOWN, run->epochs.acked);
    session_execute(session, API_COMMIT, filled);
}

static void next_step(struct session *session)
{
    struct run *run = session->client->run;
    char name[64];
    uint32_t error = 0;
    if (run->durability.down) {
        give_up(session, 0);
        return;
    }
    table_name(session, name, sizeof name);
    switch (session->phase) {
    case STEP_CREATE: {
        struct table_def *def = row_table(run, SCHEMA_TABLE, name + 8);
        error = api_dict_create(session->api, def, SCHEMA_TIMEOUT_MS, dict_done, session);
        free(def);
        break;
    }
    case STEP_FILL:
        fill(session);
        return;
    case STEP_DROP: {
        model_state(session, SCHEMA_DROPPING);
        epochs_table_goes(session);
        const struct table_def *def = api_table_def(session->table[SCHEMA_TABLE]);
        error = api_dict_drop(session->api, def->table_id, def->version, SCHEMA_TIMEOUT_MS,
                              dict_done, session);
        break;
    }
    default:
        error = api_dict_get(session->api, name, SCHEMA_TIMEOUT_MS, dict_done, session);
        break;
    }
    if (error != 0) give_up(session, error);
}

void schema_start(struct session *session)
{
    session->invoked = ++session->client->run->model.next_value;
    session->phase = STEP_CREATE;
    if (session->client->run->swarm.disk &&
        schema_begin(session->client->run, session->no, (uint32_t)session->invoked) == NULL) {
        session_done(session);
        return;
    }
    next_step(session);
}

void schema_crashed(struct session *session)
{
    if (session->table[SCHEMA_TABLE] != NULL) api_table_release(session->table[SCHEMA_TABLE]);
    session->table[SCHEMA_TABLE] = NULL;
}

const struct work works[WORK_COUNT] = {
    [WORK_BANK] = {"bank", bank_start, NULL, NULL},
    [WORK_AUDIT] = {"audit", audit_start, NULL, NULL},
    [WORK_REGISTER] = {"register", register_start, register_crashed, NULL},
    [WORK_CHURN] = {"churn", churn_start, churn_crashed, NULL},
    [WORK_SCAN] = {"scan", scan_start, scan_crashed, scan_run},
    [WORK_SCHEMA] = {"schema", schema_start, schema_crashed, NULL},
    [WORK_FILL] = {"fill", fill_start, fill_crashed, NULL},
    [WORK_PROGRAM] = {"program", program_start, program_crashed, NULL},
    [WORK_INDEX] = {"index", index_start, index_crashed, NULL},
    [WORK_NUMBER] = {"number", number_start, number_crashed, NULL},
    [WORK_ALTER] = {"alter", alter_start, alter_crashed, NULL},
    [WORK_UNIQUE] = {"unique", unique_start, NULL, NULL},
    [WORK_OWN] = {"own", index_start, index_crashed, NULL},
    [WORK_BATCH] = {"batch", batch_start, batch_crashed, NULL},
};
