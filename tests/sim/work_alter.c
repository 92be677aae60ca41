/* work_alter.c -- tables that get other names, other names of a column, more columns, and empty
 * ones in their places, with rows in them, while the others run and nodes are lost. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Each session has a table of its own. After each change it looks whether the dictionary says what
 * the change was, and whether the rows are those they were, or none. When nobody knows what became
 * of a change, the table has exactly one of its two names, and the job ends. Now and then it is a
 * table of all sessions that gets a column: this one writes it from then on, the others do not know
 * of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "values/errors.h"
#include "tests/sim/works.h"

#define ALTER_TIMEOUT_MS 60000u
#define ALTER_TABLE      (TABLES_MAX - 1u)
#define ROUNDS_MAX       5u
#define SHARED_MAX       4u   /* Columns that a table of all sessions gets. */
#define LOOKS_MAX        200u /* Looks for either of two names while a change comes through. */

enum {
    STEP_CREATE = 0,
    STEP_GET,
    STEP_FILL,
    STEP_CHANGE,
    STEP_STALE,
    STEP_LOOK_FORMER,
    STEP_LOOK,
    STEP_READ,
    STEP_WRITE,
    STEP_DROP,
    STEP_SHARED_LOOK,
    STEP_SHARED_CHANGE,
    STEP_SHARED_LOOK_AGAIN
};

static struct model_alter *model_of(const struct session *session)
{
    return &session->client->run->model.alter[session->no];
}

static void table_name(const struct session *session, uint32_t number, char *name, uint32_t size)
{
    snprintf(name, size, "sim/def/y%u_%u", session->no, number);
}

static uint32_t column_name(uint32_t number, char *name, uint32_t size)
{
    if (number == 0) return (uint32_t)snprintf(name, size, "f");
    return (uint32_t)snprintf(name, size, "f%u", number);
}

static void give_up(struct session *session, uint32_t error)
{
    struct run *run = session->client->run;
    bool full = error == ERR_TABLE_NO_PAGES;
    if (error != 0 && !full && !error_allowed(run, error))
        run_fail(run, SIM_CORRECTNESS, "session %u: step %u of a changed table: error %u",
                 session->no, session->phase, error);
    if (session->table[ALTER_TABLE] != NULL) api_table_release(session->table[ALTER_TABLE]);
    session->table[ALTER_TABLE] = NULL;
    session_done(session);
}

static void next_step(struct session *session, uint32_t step);
static void dict_done(void *context, const struct api_dict_result *result);

/* --- The changes. --- */

static uint32_t alter(struct session *session, uint32_t kind, const char *first, const char *second)
{
    const struct table_def *def = api_table_def(session->table[ALTER_TABLE]);
    const struct alter_table_req req = {
        .table_id = def->table_id, .version = def->version, .kind = kind};
    uint32_t words[20] = {(uint32_t)strlen(first) | (uint32_t)strlen(second) << 16};
    uint32_t second_at = 1 + words_of((uint32_t)strlen(first));
    memcpy(words + 1, first, strlen(first));
    memcpy(words + second_at, second, strlen(second));
    const struct section section = {words, second_at + words_of((uint32_t)strlen(second))};
    const struct section none = {NULL, 0};
    return api_dict_alter(session->api, &req, kind == ALTER_TRUNCATE ? &none : &section,
                          ALTER_TIMEOUT_MS, dict_done, NULL, session);
}

static uint32_t add_column(struct session *session, const struct table_def *def)
{
    struct run *run = session->client->run;
    const struct alter_table_req req = {
        .table_id = def->table_id, .version = def->version, .kind = ALTER_ADD_COLUMN};
    uint32_t words[10] = {0};
    const struct column_format *format =
        &row_added_formats[rng_below(work_rng(run), ROW_ADDED_FORMATS)];
    char name[20];
    uint32_t size = (uint32_t)snprintf(name, sizeof name, "added%u",
                                       (uint32_t)(++run->model.next_value & 0xFFFFFFFFu));
    words[0] = format->type;
    words[1] = format->length;
    words[2] = COLUMN_NULLABLE | size << 8;
    memcpy(words + 3, name, size);
    const struct section section = {words, 3u + words_of(size)};
    return api_dict_alter(session->api, &req, &section, ALTER_TIMEOUT_MS, dict_done, NULL, session);
}

static uint32_t change(struct session *session)
{
    static const uint32_t kinds[] = {ALTER_RENAME_TABLE, ALTER_RENAME_COLUMN, ALTER_ADD_COLUMN,
                                     ALTER_ADD_COLUMN, ALTER_TRUNCATE};
    struct run *run = session->client->run;
    struct model_alter *model = model_of(session);
    char first[64];
    char second[64];
    uint32_t number = (uint32_t)++run->model.next_value;
    model->kind = kinds[rng_below(work_rng(run), sizeof kinds / sizeof kinds[0])];
    model->former = model->number;
    model->former_column = model->column;
    model->looks = 0;
    if (model->kind == ALTER_ADD_COLUMN) {
        model->added++;
        return add_column(session, api_table_def(session->table[ALTER_TABLE]));
    }
    if (model->kind == ALTER_RENAME_COLUMN) {
        column_name(model->column, first, sizeof first);
        column_name(number, second, sizeof second);
        model->column = number;
        return alter(session, model->kind, first, second);
    }
    if (model->kind == ALTER_TRUNCATE) {
        epochs_table_goes(session);
        return alter(session, model->kind, "", "");
    }
    model->number = number;
    table_name(session, number, second, sizeof second);
    return alter(session, model->kind, "sim", second + strlen("sim/def/"));
}

static void changed(struct session *session, uint32_t error)
{
    struct model_alter *model = model_of(session);
    model->doubted = error != 0;
    if (error != 0 && !error_allowed(session->client->run, error)) {
        give_up(session, error);
        return;
    }
    if (model->kind == ALTER_TRUNCATE && !model->doubted) {
        epochs_table_gone(session);
        model->filled = false;
        next_step(session, STEP_STALE);
        return;
    }
    next_step(session, model->kind == ALTER_RENAME_TABLE ? STEP_LOOK_FORMER : STEP_LOOK);
}

/* --- Looks at the dictionary. --- */

/* Nobody uses the name any more that the table had. */
static void looked_former(struct session *session, const struct api_dict_result *result)
{
    const struct model_alter *model = model_of(session);
    if (result->error == ERR_NO_SUCH_TABLE) {
        next_step(session, STEP_LOOK);
        return;
    }
    if (result->error == 0) api_table_release(result->table);
    if (result->error == 0 && !model->doubted)
        run_fail(session->client->run, SIM_CORRECTNESS,
                 "session %u: a renamed table still has its former name", session->no);
    give_up(session, result->error);
}

static bool has_column(const struct table_def *def, uint32_t number)
{
    char name[32];
    uint32_t size = column_name(number, name, sizeof name);
    return table_def_find(def, name, size) != NULL;
}

static void check_definition(struct session *session, const struct table_def *def)
{
    struct run *run = session->client->run;
    const struct model_alter *model = model_of(session);
    bool old = has_column(def, model->former_column);
    bool other = model->column != model->former_column;
    if (other ? old == has_column(def, model->column) : !old)
        run_fail(run, SIM_CORRECTNESS, "session %u: the column has neither name, or both",
                 session->no);
    if (model->doubted) return;
    if (def->column_count != row_columns(run, ALTER_TABLE) + model->added)
        run_fail(run, SIM_CORRECTNESS, "session %u: %u columns instead of %u", session->no,
                 def->column_count, row_columns(run, ALTER_TABLE) + model->added);
    if (other && old)
        run_fail(run, SIM_CORRECTNESS, "session %u: a column has not been renamed", session->no);
    if ((def->table_id == model->table_id) == (model->kind == ALTER_TRUNCATE))
        run_fail(run, SIM_CORRECTNESS, "session %u: table %u was %u before", session->no,
                 def->table_id, model->table_id);
}

static void looked(struct session *session, const struct api_dict_result *result)
{
    struct run *run = session->client->run;
    struct model_alter *model = model_of(session);
    bool missing = result->error == ERR_NO_SUCH_TABLE;
    if (missing && model->doubted && ++model->looks < LOOKS_MAX) {
        next_step(session, STEP_LOOK_FORMER);
        return;
    }
    if (missing && !run->durability.down)
        run_fail(run, SIM_CORRECTNESS, "session %u: a changed table is not there", session->no);
    if (result->error != 0) {
        give_up(session, missing ? 0 : result->error);
        return;
    }
    check_definition(session, api_table_def(result->table));
    if (model->doubted) {
        api_table_release(result->table);
        give_up(session, 0);
        return;
    }
    api_table_release(session->table[ALTER_TABLE]);
    session->table[ALTER_TABLE] = result->table;
    model->table_id = api_table_def(result->table)->table_id;
    next_step(session, STEP_READ);
}

/* --- A column for a table of all sessions. --- */

static void looked_shared(struct session *session, struct api_table *table)
{
    struct run *run = session->client->run;
    const struct model_alter *model = model_of(session);
    const struct table_def *def = api_table_def(table);
    uint32_t added = def->column_count - row_columns(run, model->shared);
    uint32_t known = api_table_def(session->table[model->shared])->column_count -
                     row_columns(run, model->shared);
    if (def->column_count < row_columns(run, model->shared) || added < known)
        run_fail(run, SIM_CORRECTNESS, "session %u: table %u has lost columns", session->no,
                 def->table_id);
    if (session->phase == STEP_SHARED_LOOK_AGAIN || added >= SHARED_MAX) {
        api_table_release(session->table[model->shared]);
        session->table[model->shared] = table;
        give_up(session, 0);
        return;
    }
    session->phase = STEP_SHARED_CHANGE;
    uint32_t error = add_column(session, def);
    api_table_release(table);
    if (error != 0) give_up(session, error);
}

static void done_shared(struct session *session, const struct api_dict_result *result)
{
    bool changed_it = session->phase == STEP_SHARED_CHANGE;
    /* Others change it, too. */
    if (result->error != 0) {
        give_up(session, changed_it && result->error == ERR_SCHEMA_VERSION ? 0 : result->error);
        return;
    }
    if (changed_it)
        next_step(session, STEP_SHARED_LOOK_AGAIN);
    else
        looked_shared(session, result->table);
}

static void dict_done(void *context, const struct api_dict_result *result)
{
    struct session *session = context;
    struct model_alter *model = model_of(session);
    switch (session->phase) {
    case STEP_SHARED_LOOK:
    case STEP_SHARED_CHANGE:
    case STEP_SHARED_LOOK_AGAIN:
        done_shared(session, result);
        return;
    case STEP_CHANGE:
        changed(session, result->error);
        return;
    case STEP_LOOK_FORMER:
        looked_former(session, result);
        return;
    case STEP_LOOK:
        looked(session, result);
        return;
    case STEP_CREATE:
    case STEP_GET:
        if (result->error != 0) break;
        if (session->phase == STEP_GET) {
            session->table[ALTER_TABLE] = result->table;
            model->table_id = api_table_def(result->table)->table_id;
        }
        next_step(session, session->phase + 1u);
        return;
    default:
        break;
    }
    give_up(session, result->error);
}

/* --- Rows. --- */

static bool lost_meanwhile(const struct session *session)
{
    const struct run *run = session->client->run;
    return run->durability.down || run->durability.losses != model_of(session)->losses;
}

static void close_tx(struct session *session)
{
    if (session->tx != NULL) api_tx_close(session->tx);
    session->tx = NULL;
}

static void filled(void *context, struct api_tx *tx)
{
    struct session *session = context;
    struct model_alter *model = model_of(session);
    enum api_outcome outcome = api_tx_outcome(tx);
    uint32_t error = outcome == API_COMMITTED ? 0 : api_tx_error(tx);
    close_tx(session);
    if (error != 0 || lost_meanwhile(session)) {
        give_up(session, error);
        return;
    }
    model->filled = true;
    model->written = model->added;
    next_step(session, STEP_CHANGE);
}

/* What the session knows is of a table that is no more: it is told so. */
static void stale(void *context, struct api_tx *tx)
{
    struct session *session = context;
    uint32_t error = api_tx_error(tx);
    bool told = error == ERR_SCHEMA_VERSION || error == ERR_TABLE_DROPPING_TC ||
                error == ERR_UNKNOWN_TABLE_TC;
    bool done = api_tx_outcome(tx) == API_COMMITTED;
    close_tx(session);
    if (done && !lost_meanwhile(session))
        run_fail(session->client->run, SIM_CORRECTNESS,
                 "session %u: a row of a table that was truncated", session->no);
    if (told || lost_meanwhile(session))
        next_step(session, STEP_LOOK);
    else
        give_up(session, error);
}

static void check_rows(struct session *session, struct api_tx *tx)
{
    struct run *run = session->client->run;
    const struct model_alter *model = model_of(session);
    struct api_op *op = api_tx_first(tx);
    for (uint32_t i = 0; i < session->count && op != NULL; i++, op = api_op_next(op)) {
        const struct item *item = &session->item[i];
        uint32_t error = api_op_error(op);
        bool good = model->filled ? error == 0 && item->rows == 1 && item->got == model->value[i] &&
                                        item->added == model->written
                                  : error == ERR_ROW_NOT_FOUND;
        if (!good && !(error != 0 && error_allowed(run, error)))
            run_fail(run, SIM_CORRECTNESS,
                     "session %u: row %u of a changed table: error %u, %u rows, value %llu, %u of "
                     "%u columns written later",
                     session->no, i, error, item->rows, (unsigned long long)item->got, item->added,
                     model->written);
    }
}

static void were_read(void *context, struct api_tx *tx)
{
    struct session *session = context;
    struct model_alter *model = model_of(session);
    uint32_t error = api_tx_error(tx);
    bool done = api_tx_outcome(tx) == API_COMMITTED && error == 0;
    if (done && !lost_meanwhile(session)) check_rows(session, tx);
    close_tx(session);
    if (lost_meanwhile(session) || (!done && !error_allowed(session->client->run, error)))
        give_up(session, lost_meanwhile(session) ? 0 : error);
    else if (--model->rounds == 0)
        next_step(session, STEP_DROP);
    else if (!model->filled)
        next_step(session, STEP_FILL);
    else
        next_step(session,
                  rng_chance(work_rng(session->client->run), 1, 2) ? STEP_CHANGE : STEP_WRITE);
}

static void rows(struct session *session, enum key_operation operation, uint32_t count,
                 enum api_execute type, api_tx_done done)
{
    struct run *run = session->client->run;
    struct model_alter *model = model_of(session);
    bool none = operation == OP_READ && !model->filled && session->phase == STEP_READ;
    session->count = 0;
    session->writes = false;
    for (uint32_t i = 0; i < count; i++) {
        struct item *item = session_add(session, ALTER_TABLE, i, operation);
        item->expect = none ? ERR_ROW_NOT_FOUND : 0;
        if (operation != OP_READ) item->value = model->value[i] = ++run->model.next_value;
    }
    if (!session_define(session, 0, LOCK_SHARED, 0)) {
        give_up(session, 0);
        return;
    }
    session_execute(session, type, done);
}

/* --- The job. --- */

static uint32_t create(struct session *session, const char *name)
{
    struct table_def *def = row_table(session->client->run, ALTER_TABLE, name + strlen("sim/def/"));
    uint32_t error = api_dict_create(session->api, def, ALTER_TIMEOUT_MS, dict_done, session);
    free(def);
    return error;
}

static uint32_t ask(struct session *session)
{
    const struct model_alter *model = model_of(session);
    char name[64];
    if (session->phase >= STEP_SHARED_LOOK)
        table_def_internal_name(session->client->run->def[model->shared], name, sizeof name);
    else
        table_name(session, session->phase == STEP_LOOK_FORMER ? model->former : model->number,
                   name, sizeof name);
    if (session->phase == STEP_CREATE) return create(session, name);
    if (session->phase == STEP_CHANGE) return change(session);
    if (session->phase != STEP_DROP)
        return api_dict_get(session->api, name, ALTER_TIMEOUT_MS, dict_done, session);
    const struct table_def *def = api_table_def(session->table[ALTER_TABLE]);
    return api_dict_drop(session->api, def->table_id, def->version, ALTER_TIMEOUT_MS, dict_done,
                         session);
}

static void next_step(struct session *session, uint32_t step)
{
    session->phase = step;
    if (session->client->run->durability.down) {
        give_up(session, 0);
        return;
    }
    switch (step) {
    case STEP_FILL:
        rows(session, OP_INSERT, SCHEMA_ROWS, API_COMMIT, filled);
        return;
    case STEP_WRITE:
        rows(session, OP_UPDATE, SCHEMA_ROWS, API_COMMIT, filled);
        return;
    case STEP_STALE:
        rows(session, OP_READ, 1, API_COMMIT, stale);
        return;
    case STEP_READ:
        rows(session, OP_READ, SCHEMA_ROWS, API_COMMIT, were_read);
        return;
    default:
        break;
    }
    uint32_t error = ask(session);
    if (error != 0) give_up(session, error);
}

void alter_start(struct session *session)
{
    struct run *run = session->client->run;
    *model_of(session) = (struct model_alter){
        .number = (uint32_t)++run->model.next_value,
        .rounds = 1 + (uint32_t)rng_below(work_rng(run), ROUNDS_MAX),
        .losses = run->durability.losses,
        .shared = (uint32_t)rng_below(work_rng(run), run->table_count),
    };
    next_step(session, rng_chance(work_rng(run), 1, 4) ? STEP_SHARED_LOOK : STEP_CREATE);
}

void alter_crashed(struct session *session)
{
    if (session->table[ALTER_TABLE] != NULL) api_table_release(session->table[ALTER_TABLE]);
    session->table[ALTER_TABLE] = NULL;
}
