/* points_work.c -- what the cluster does while nodes die at exact positions: one short piece of
 * work for each protocol. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "values/errors.h"
#include "tests/sim/points.h"
#include "tests/sim/works.h"
#include <stdlib.h>
#include <string.h>

#define SCHEMA_TABLE (TABLES_MAX - 1u)

static bool failed(const struct run *run)
{
    return sim_verdict_of(run->world) != SIM_OK;
}

/* `by_value`: the rows are named by their values, through UNIQUE_VALUE. */
static void change_rows(struct run *run, uint32_t first, uint32_t count,
                        enum key_operation operation, bool by_value)
{
    struct session *session = &run->client[0].session[0];
    enum api_outcome outcome;
    if (failed(run)) return;
    for (uint32_t i = 0; i < count; i++) { /* What a tainted row is nobody knows. */
        if (run->model.key[TABLE_CHURN][first + i].state == KEY_TAINTED) return;
    }
    session->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct model_key *key = &run->model.key[TABLE_CHURN][first + i];
        struct item *item = session_add(session, TABLE_CHURN, first + i, operation);
        item->value = ++run->model.next_value;
        item->unique = by_value && key->state == KEY_PRESENT;
        item->named = key->value;
    }
    uint32_t error = run_try(run, session, LOCK_EXCLUSIVE, &outcome);
    if (failed(run)) return;
    if (outcome != API_COMMITTED && !error_allowed(run, error))
        run_fail(run, SIM_CORRECTNESS, "rows %u: error %u", first, error);
    if (outcome == API_UNKNOWN) model_unknown(run, session->item, count, run->floor);
    for (uint32_t i = 0; i < count && outcome == API_COMMITTED; i++) {
        struct model_key *key = &run->model.key[TABLE_CHURN][first + i];
        key->state = operation == OP_DELETE ? KEY_ABSENT : KEY_PRESENT;
        key->value = session->item[i].value;
        key->version += 2;
    }
}

void points_rows(struct run *run, uint32_t first, uint32_t count, enum key_operation operation)
{
    change_rows(run, first, count, operation, false);
}

/* Entries come, change and go. */
void points_unique(struct run *run)
{
    points_commit(run);
    change_rows(run, 0, 2, OP_UPDATE, true);
    change_rows(run, 6, 2, OP_DELETE, true);
}

void points_commit(struct run *run)
{
    points_rows(run, 0, 3, OP_UPDATE);
    points_rows(run, 8, 3, OP_INSERT);
    points_rows(run, 3, 2, OP_DELETE);
}

struct executed {
    bool done;
};

static void on_executed(void *context, struct api_tx *tx)
{
    (void)tx;
    ((struct executed *)context)->done = true;
}

static bool is_executed(void *context)
{
    return ((struct executed *)context)->done;
}

static void execute(struct run *run, struct session *session, enum api_execute type)
{
    struct executed executed = {false};
    if (api_tx_execute(session->tx, type, 20000, on_executed, &executed) != 0) return;
    if (!run_until(run, is_executed, &executed, sim_now_us(run->world) + 30000000u) && !failed(run))
        run_fail(run, SIM_LIVENESS, "a transaction was not answered");
}

void points_abort(struct run *run)
{
    struct session *session = &run->client[0].session[0];
    for (uint32_t i = 0; i < 2 && !failed(run); i++) {
        session->count = 0;
        for (uint32_t k = 0; k < 3; k++)
            session_add(session, TABLE_CHURN, 4u * i + k, OP_WRITE)->value =
                ++run->model.next_value;
        session->tx = NULL;
        if (session_define(session, 0, LOCK_EXCLUSIVE, 0)) {
            execute(run, session, API_NO_COMMIT);
            if (api_tx_outcome(session->tx) == API_ACTIVE) execute(run, session, API_ROLLBACK);
        }
        if (session->tx != NULL) api_tx_close(session->tx);
        session->tx = NULL;
    }
}

static void on_ready(void *context, struct api_scan *scan)
{
    (void)scan;
    ((struct executed *)context)->done = true;
}

void points_scan(struct run *run)
{
    static const uint32_t all[] = {ATTR_READ_ALL << 16};
    struct session *session = &run->client[0].session[0];
    struct executed ready = {false};
    struct api_scan_options options = {.table = session->table[TABLE_STATIC],
                                       .lock = LOCK_EXCLUSIVE,
                                       .attrs = all,
                                       .attr_words = 1,
                                       .ready = on_ready,
                                       .context = &ready};
    uint32_t error = 0;
    uint32_t rows_seen = 0;
    struct api_scan *scan = api_scan_start(session->api, &options, 20000, &error);
    for (enum api_scan_step step = API_SCAN_WAIT; scan != NULL && !failed(run);) {
        struct api_row row;
        step = api_scan_next(scan, &row);
        if (step == API_SCAN_ROW) rows_seen++;
        if (step == API_SCAN_ERROR || step == API_SCAN_END) {
            if (step == API_SCAN_END && rows_seen != run->swarm.statics)
                run_fail(run, SIM_CORRECTNESS, "a scan saw %u rows", rows_seen);
            break;
        }
        if (step != API_SCAN_WAIT) continue;
        ready.done = false;
        if (!run_until(run, is_executed, &ready, sim_now_us(run->world) + 30000000u) &&
            !failed(run))
            run_fail(run, SIM_LIVENESS, "a scan was not answered");
    }
    if (scan != NULL) api_scan_close(scan);
}

void points_schema(struct run *run)
{
    struct session *session = &run->client[0].session[0];
    struct table_def *def = row_table(run, SCHEMA_TABLE, "points");
    uint32_t error = run_try_schema(run, session, def);
    free(def);
    if (run->swarm.small_data && error == ERR_SCHEMA_MEMORY) error = 0;
    if (error != 0 && !failed(run) && !error_allowed(run, error) && error != ERR_NO_SUCH_TABLE_ID &&
        error != ERR_NO_SUCH_TABLE)
        run_fail(run, SIM_CORRECTNESS, "a schema transaction: error %u", error);
}

static void try_index(struct run *run, bool create)
{
    struct session *session = &run->client[0].session[0];
    if (failed(run)) return;
    uint32_t error = run_try_index(run, session, TABLE_CHURN,
                                   create ? ALTER_CREATE_INDEX : ALTER_DROP_INDEX, "points");
    /* What was done before nobody knew whether it was. */
    bool done = error == (create ? ERR_INDEX_EXISTS : ERR_INDEX_MISSING);
    if (run->swarm.small_data && error == ERR_INDEX_MEMORY_ORDERED) error = 0;
    if (error != 0 && !failed(run) && !done && error != ERR_SCHEMA_ABORTED &&
        !error_allowed(run, error))
        run_fail(run, SIM_CORRECTNESS, "an index is %s: error %u", create ? "created" : "dropped",
                 error);
}

void points_index(struct run *run)
{
    try_index(run, true);
    points_rows(run, 0, 3, OP_UPDATE);
    try_index(run, false);
}

/* Rows change and lose their entries before, meanwhile and behind. */
void points_unique_drop(struct run *run)
{
    enum unique_drop *drop = &run->model.unique_drop[TABLE_CHURN];
    struct session *session = &run->client[0].session[0];
    change_rows(run, 0, 3, OP_UPDATE, true);
    if (failed(run)) return;
    *drop = UNIQUE_DROP_TRIED;
    uint32_t error = run_try_index(run, session, TABLE_CHURN, ALTER_DROP_INDEX, "u_fs");
    if (error == 0) *drop = UNIQUE_DROP_TOLD;
    if (error != 0 && !failed(run) && error != ERR_INDEX_MISSING && error != ERR_SCHEMA_ABORTED &&
        !error_allowed(run, error))
        run_fail(run, SIM_CORRECTNESS, "a unique index is dropped: error %u", error);
    change_rows(run, 0, 3, OP_UPDATE, true);
    change_rows(run, 3, 2, OP_DELETE, true);
}

/* The error of an attempt that may have been made before, when nobody heard of its end. */
static uint32_t try_unique(struct run *run, uint32_t table, enum alter_kind kind)
{
    struct session *session = &run->client[0].session[0];
    uint32_t done = kind == ALTER_DROP_INDEX ? ERR_INDEX_MISSING : ERR_INDEX_EXISTS;
    if (failed(run)) return 0;
    run->model.own_tried[table] = true;
    uint32_t error = run_try_index(run, session, table, kind, "own");
    return error == done || error == ERR_SCHEMA_ABORTED || error_allowed(run, error) ? 0 : error;
}

/* One over the value comes and goes; rows change before, meanwhile and behind. */
void points_unique_create(struct run *run)
{
    change_rows(run, 0, 3, OP_UPDATE, true);
    uint32_t error = try_unique(run, TABLE_CHURN, ALTER_CREATE_UNIQUE);
    if (error != 0 && !failed(run))
        run_fail(run, SIM_CORRECTNESS, "a unique index is created: error %u", error);
    change_rows(run, 0, 3, OP_UPDATE, true);
    error = try_unique(run, TABLE_CHURN, ALTER_DROP_INDEX);
    if (error != 0 && !failed(run))
        run_fail(run, SIM_CORRECTNESS, "a unique index is dropped: error %u", error);
    change_rows(run, 3, 2, OP_DELETE, true);
}

/* A node refuses, so nothing is created. */
void points_unique_refused(struct run *run)
{
    change_rows(run, 0, 3, OP_UPDATE, true);
    uint32_t error = try_unique(run, TABLE_CHURN, ALTER_CREATE_UNIQUE);
    if (error != 0 && error != ERR_SCHEMA_OBJECT_BUSY && !failed(run))
        run_fail(run, SIM_CORRECTNESS, "a unique index is refused: error %u", error);
    change_rows(run, 0, 3, OP_UPDATE, true);
}

/* All accounts have the same value: it goes back when rows have entries already. */
void points_unique_duplicates(struct run *run)
{
    uint32_t error = try_unique(run, TABLE_BANK, ALTER_CREATE_UNIQUE);
    if (error != 0 && error != ERR_UNIQUE_DUPLICATE && !failed(run))
        run_fail(run, SIM_CORRECTNESS, "a unique index of equal rows: error %u", error);
    points_rows(run, 0, 3, OP_UPDATE);
}

/* An LDM has no memory for its entries. */
void points_index_refused(struct run *run)
{
    run->swarm.small_data = true;
    try_index(run, true);
    points_rows(run, 0, 3, OP_UPDATE);
}

/* Names of at most a word each; none at all: nothing is said but what is to be done. */
static uint32_t try_change(struct run *run, struct alter_table_req *req, uint32_t kind,
                           const char *first, const char *second)
{
    uint32_t words[3] = {(uint32_t)strlen(first) | (uint32_t)strlen(second) << 16};
    const struct section section = {words, 3};
    const struct section none = {NULL, 0};
    if (failed(run)) return 0;
    memcpy(words + 1, first, strlen(first));
    memcpy(words + 2, second, strlen(second));
    req->kind = kind;
    return run_try_alter(run, &run->client[0].session[0], req,
                         kind == ALTER_TRUNCATE ? &none : &section);
}

static uint32_t try_column(struct run *run, struct alter_table_req *req)
{
    uint32_t words[4] = {COLUMN_UNSIGNED, 1, COLUMN_NULLABLE | 3u << 8};
    const struct section section = {words, 4};
    if (failed(run)) return 0;
    memcpy(words + 3, "new", 3);
    req->kind = ALTER_ADD_COLUMN;
    return run_try_alter(run, &run->client[0].session[0], req, &section);
}

/* What was not told may have been done: then the table has another version, or another number. */
void points_changes(struct run *run)
{
    struct session *session = &run->client[0].session[0];
    struct table_def *def = row_table(run, SCHEMA_TABLE, "n0");
    struct alter_table_req req = {.kind = 0};
    bool doubted = false;
    uint32_t error = run_try_create(run, session, def, &req.table_id, &req.version);
    free(def);
    for (uint32_t i = 0; i < 5 && req.table_id != 0 && !failed(run); i++) {
        if (i == 0) error = try_change(run, &req, ALTER_RENAME_TABLE, "sim", "n1");
        if (i == 1) error = try_change(run, &req, ALTER_RENAME_COLUMN, "f", "f1");
        if (i == 2) error = try_column(run, &req);
        if (i == 3) error = try_change(run, &req, ALTER_TRUNCATE, "", "");
        if (i == 4) run_drop(run, session, req.table_id, req.version, doubted);
        bool other = error == ERR_SCHEMA_VERSION || error == ERR_NO_SUCH_TABLE_ID;
        if (error != 0 && !failed(run) && !(doubted && other) && !error_allowed(run, error))
            run_fail(run, SIM_CORRECTNESS, "change %u of a table: error %u", i, error);
        doubted = doubted || error != 0;
        error = 0;
    }
}

void points_epoch(struct run *run)
{
    points_rows(run, 0, 1, OP_UPDATE);
    run_until(run, NULL, NULL, sim_now_us(run->world) + 60000);
    points_rows(run, 1, 1, OP_UPDATE);
}

void points_long(struct run *run)
{
    for (uint32_t i = 0; i < 60 && !failed(run); i++) {
        points_rows(run, 8 + i % 4, 1, OP_WRITE);
        run_until(run, NULL, NULL, sim_now_us(run->world) + 20000);
        if (failures_all_back(run)) return;
    }
}

static void wait_for_order(struct run *run, uint32_t node, uint32_t slow)
{
    const struct sim_event pace = {.action = SIM_PACE, .arg = {node, slow}};
    sim_apply(run->world, &pace);
    for (uint32_t i = 0; i < 3 && !failed(run); i++) {
        points_rows(run, i, 1, OP_UPDATE);
        run_until(run, NULL, NULL, sim_now_us(run->world) + 30000);
    }
}

void points_order(struct run *run)
{
    wait_for_order(run, 2, 1);
    wait_for_order(run, 2, 0);
}

void points_takeover(struct run *run)
{
    points_commit(run);
    points_long(run);
}

/* With files: a checkpoint is due after so long, and a GCI is saved now and then. */
void points_checkpoint(struct run *run)
{
    for (uint32_t i = 0; i < 12 && !failed(run); i++) {
        points_rows(run, i % 8, 1, OP_WRITE);
        run_until(run, NULL, NULL, sim_now_us(run->world) + 100000);
    }
}

/* A node has no memory for the new table. */
void points_schema_refused(struct run *run)
{
    run->swarm.small_data = true; /* Then that is an answer. */
    points_schema(run);
}

/* A node is restarted in good order while others are at work. */
void points_stop(struct run *run)
{
    const struct sim_event leave = {.action = SIM_LEAVE, .arg = {3}};
    sim_apply(run->world, &leave);
    points_commit(run);
    points_long(run);
}

/* An operation is refused at its primary, behind others that were prepared. */
void points_refused(struct run *run)
{
    struct session *session = &run->client[0].session[0];
    for (uint32_t i = 0; i < 3 && !failed(run); i++) {
        session->count = 0;
        session_add(session, TABLE_CHURN, 8 + i, OP_WRITE)->value = 1;
        session_add(session, TABLE_CHURN, 9 + i, OP_WRITE)->value = 1;
        session_add(session, TABLE_CHURN, 2 * i, OP_INSERT)->value = 1;
        session->tx = NULL;
        if (session_define(session, 0, LOCK_EXCLUSIVE, 0)) execute(run, session, API_COMMIT);
        if (session->tx != NULL) api_tx_close(session->tx);
        session->tx = NULL;
    }
}
