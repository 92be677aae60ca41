/* run.c -- one seed from start to end: set-up, work with faults, quiet, checks. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "values/errors.h"
#include "tests/sim/failures.h"
#include "tests/sim/works.h"

#define SECOND_US   1000000u
#define START_US    (120u * SECOND_US)
#define SETUP_TRIES 200u
#define WORK_US     (20u * SECOND_US)  /* No new jobs begin after that. */
#define QUIET_US    (180u * SECOND_US) /* All jobs must be answered by then. */

void run_fail(struct run *run, enum sim_verdict verdict, const char *format, ...)
{
    char text[500];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    sim_fail(run->world, verdict, "%s", text);
}

static bool failed(const struct run *run)
{
    return sim_verdict_of(run->world) != SIM_OK;
}

/* --- The world, with somebody who starts data nodes again that have ended. --- */

struct watched {
    struct run *run;
    bool (*done)(void *context);
    void *context;
};

static bool watch(void *context)
{
    const struct watched *watched = context;
    lives_watch(watched->run);
    tamper_watch(watched->run);
    return watched->done != NULL && watched->done(watched->context);
}

bool run_until(struct run *run, bool (*done)(void *context), void *context, uint64_t until_us)
{
    struct watched watched = {run, done, context};
    return sim_run_until(run->world, watch, &watched, until_us);
}

/* --- Requests of the driver itself, one after the other. --- */

struct waiting {
    bool done;
    uint32_t error;
    enum api_outcome outcome;
    struct api_table *table;
    uint32_t table_id;
    uint32_t version;
};

static bool is_done(void *context)
{
    return ((struct waiting *)context)->done;
}

static void wait_for(struct run *run, struct waiting *waiting)
{
    if (!run_until(run, is_done, waiting, sim_now_us(run->world) + QUIET_US) && !failed(run) &&
        !waiting->done)
        run_fail(run, SIM_LIVENESS, "a request of the set-up or the final check was not answered");
}

static void dict_done(void *context, const struct api_dict_result *result)
{
    struct waiting *waiting = context;
    waiting->done = true;
    waiting->error = result->error;
    waiting->table = result->table;
    waiting->table_id = result->table_id;
    waiting->version = result->version;
}

static void tx_done(void *context, struct api_tx *tx)
{
    struct waiting *waiting = context;
    waiting->done = true;
    waiting->error = api_tx_error(tx);
    waiting->outcome = api_tx_outcome(tx);
}

static void pause_a_while(struct run *run)
{
    run_until(run, NULL, NULL, sim_now_us(run->world) + 50000);
}

static bool create_table(struct run *run, struct session *session, uint32_t table)
{
    for (uint32_t tries = 0; tries < SETUP_TRIES && !failed(run); tries++) {
        struct waiting waiting = {0};
        uint32_t error = api_dict_create(session->api, run->def[table], 60000, dict_done, &waiting);
        if (error == 0) {
            wait_for(run, &waiting);
            error = waiting.error;
        }
        if (failed(run)) return false;
        if (error == 0 || error == ERR_TABLE_EXISTS) return true;
        if (!error_allowed(run, error)) {
            run_fail(run, SIM_CORRECTNESS, "table %u cannot be created: error %u", table, error);
            return false;
        }
        pause_a_while(run);
    }
    run_fail(run, SIM_LIVENESS, "table %u was not created", table);
    return false;
}

/* The driver goes on trying. */
static bool goes_on(const struct run *run, uint32_t tries)
{
    if (run->durability.verifying && durability_lost(run)) return false;
    return tries < SETUP_TRIES && !failed(run);
}

bool run_open_table(struct run *run, struct session *session, uint32_t table)
{
    char name[TABLE_NAME_MAX + 1];
    table_def_internal_name(run->def[table], name, sizeof name);
    for (uint32_t tries = 0; session->table[table] == NULL && goes_on(run, tries); tries++) {
        struct waiting waiting = {0};
        session->table[table] = api_dict_cached(session->client->core, name);
        if (session->table[table] != NULL) break;
        if (api_dict_get(session->api, name, 60000, dict_done, &waiting) == 0)
            wait_for(run, &waiting);
        session->table[table] = waiting.table;
        if (waiting.table == NULL) pause_a_while(run);
    }
    return session->table[table] != NULL;
}

bool run_open_schema(struct run *run, struct session *session, uint32_t slot, bool *there)
{
    for (uint32_t tries = 0; goes_on(run, tries); tries++) {
        struct waiting waiting = {0};
        uint32_t error = api_dict_get(session->api, run->schema_name, 60000, dict_done, &waiting);
        if (error == 0) {
            wait_for(run, &waiting);
            error = waiting.error;
        }
        session->table[slot] = waiting.table;
        *there = waiting.table != NULL;
        if (error == 0 || error == ERR_NO_SUCH_TABLE) return !failed(run);
        pause_a_while(run);
    }
    return false;
}

bool run_drop(struct run *run, struct session *session, uint32_t table_id, uint32_t version,
              bool perhaps_gone)
{
    for (uint32_t tries = 0; goes_on(run, tries); tries++) {
        struct waiting waiting = {0};
        uint32_t error = api_dict_drop(session->api, table_id, version, 60000, dict_done, &waiting);
        if (error == 0) {
            wait_for(run, &waiting);
            error = waiting.error;
        }
        bool gone = error == ERR_NO_SUCH_TABLE || error == ERR_NO_SUCH_TABLE_ID ||
                    error == ERR_SCHEMA_VERSION;
        if (error == 0 || ((perhaps_gone || tries > 0) && gone)) return !failed(run);
        if (!error_allowed(run, error)) {
            run_fail(run, SIM_CORRECTNESS, "table %s cannot be dropped: error %u", run->schema_name,
                     error);
            return false;
        }
        pause_a_while(run);
    }
    return false;
}

static void asked(void *context, uint32_t error)
{
    struct waiting *waiting = context;
    waiting->done = true;
    waiting->error = error;
}

bool run_ask_epoch(struct run *run, struct session *session, uint64_t epoch, uint32_t *error)
{
    for (uint32_t tries = 0; goes_on(run, tries); tries++) {
        struct waiting waiting = {0};
        *error = api_wait_durable(session->api, epoch, 5000, asked, &waiting);
        if (*error == 0) {
            wait_for(run, &waiting);
            *error = waiting.error;
        }
        if (*error != ERR_REQUEST_TIMEOUT) return !failed(run);
    }
    return false;
}

/* One try to read the session's items with committed reads; missing rows are an answer. */
static bool read_once(struct run *run, struct session *session)
{
    struct waiting waiting = {0};
    bool good = false;
    for (uint32_t i = 0; i < session->count; i++)
        session->item[i].rows = 0;
    if (session_define(session, 0, LOCK_SHARED, 0) &&
        api_tx_execute(session->tx, API_COMMIT, 60000, tx_done, &waiting) == 0) {
        wait_for(run, &waiting);
        good = waiting.outcome == API_COMMITTED && waiting.error == 0 && !failed(run);
        struct api_op *op = api_tx_first(session->tx);
        for (; good && op != NULL; op = api_op_next(op))
            good = api_op_error(op) == 0 || api_op_error(op) == ERR_ROW_NOT_FOUND;
    }
    if (session->tx != NULL) api_tx_close(session->tx);
    session->tx = NULL;
    return good;
}

bool run_read(struct run *run, struct session *session)
{
    for (uint32_t tries = 0; goes_on(run, tries); tries++) {
        if (read_once(run, session)) return true;
        pause_a_while(run);
    }
    if (!run->durability.verifying || !durability_lost(run))
        run_fail(run, SIM_LIVENESS, "rows cannot be read after a restart");
    return false;
}

/* Executes the session's items until it has worked. */
static bool execute_items(struct run *run, struct session *session, enum lock_mode lock)
{
    uint32_t last = 0;
    for (uint32_t tries = 0; tries < SETUP_TRIES && !failed(run); tries++) {
        struct waiting waiting = {0};
        for (uint32_t i = 0; i < session->count; i++)
            session->item[i].rows = 0;
        if (session_define(session, 0, lock, 0)) {
            enum api_execute type = run->set_up_durable ? API_COMMIT_DURABLE : API_COMMIT;
            last = api_tx_execute(session->tx, type, 60000, tx_done, &waiting);
            if (last == 0) wait_for(run, &waiting);
        }
        last = last != 0 ? last : waiting.error;
        if (session->tx != NULL) api_tx_close(session->tx);
        session->tx = NULL;
        if (waiting.outcome == API_COMMITTED && waiting.error == 0) return true;
        if (failed(run)) return false;
        if (last == ERR_ROW_NOT_FOUND) return false;
        if (!error_allowed(run, last)) {
            run_fail(run, SIM_CORRECTNESS, "set-up or final check failed with error %u", last);
            return false;
        }
        pause_a_while(run);
    }
    run_fail(run, SIM_LIVENESS, "set-up or final check did not succeed, last error %u", last);
    return false;
}

static void load(struct run *run, struct session *session, uint32_t table, uint32_t rows,
                 uint64_t value, bool unique)
{
    for (uint32_t row = 0; row < rows && !failed(run);) {
        session->count = 0;
        for (; session->count < 4 && row < rows; row++) {
            struct item *item = session_add(session, table, row, OP_WRITE);
            item->value = unique ? ++run->model.next_value : value;
            if (table == TABLE_STATIC) run->model.statics[row] = item->value;
            if (table != TABLE_REGISTER) continue;
            uint32_t index = reg_begin(run, REG_WRITE, row, item->value);
            reg_finish(run, index, REG_DONE, 0);
        }
        execute_items(run, session, LOCK_EXCLUSIVE);
    }
}

static void set_up(struct run *run)
{
    struct session *session = &run->client[0].session[0];
    for (uint32_t table = 0; table < run->table_count; table++) {
        if (!create_table(run, session, table) || !run_open_table(run, session, table)) return;
        uniques_note(run, table, api_table_def(session->table[table]));
    }
    model_init(run);
    run->model.bank_total = 100u * (uint64_t)run->swarm.accounts;
    load(run, session, TABLE_BANK, run->swarm.accounts, 100, false);
    load(run, session, TABLE_REGISTER, run->swarm.registers, 0, true);
    load(run, session, TABLE_STATIC, run->swarm.statics, 0, true);
    if (run->swarm.disk) { /* All of this is there whatever happens. */
        run->set_up_durable = true;
        load(run, session, TABLE_BANK, 1, 100, false);
        run->set_up_durable = false;
    }
    session->count = 0;
}

/* --- Phases. --- */

static bool all_started(void *context)
{
    return cluster_started(context);
}

static bool sessions_over(const struct run *run)
{
    for (uint32_t i = 0; i < run->swarm.clients; i++) {
        for (uint32_t k = 0; run->client[i].alive && k < run->swarm.sessions; k++) {
            if (run->client[i].session[k].state != SESSION_OVER) return false;
        }
    }
    return true;
}

static bool work_over(void *context)
{
    struct run *run = context;
    if (run->durability.down || run->durability.damaged) return true;
    if (run->swarm.failures)
        return sessions_over(run) && sim_plan_over(run->world) && pace_over(run);
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        if (sim_alive(run->world, data_node_id(run, i))) continue;
        if ((run->swarm.faults & FAULT_DATA_CUT) == 0 && !run->stopping_cluster)
            run_fail(run, SIM_CRASH, "node %u has stopped although nothing had happened",
                     data_node_id(run, i));
        run->stopping_cluster = true;
    }
    if (run->stopping_cluster) return true;
    /* They agree on who is lost after seconds only: what is asked for meanwhile may get no answer.
     */
    bool doomed = run->parted && !run->swarm.disk;
    return sessions_over(run) && !doomed;
}

static bool all_clean(void *context)
{
    const struct run *run = context;
    if (!sessions_over(run)) return false;
    for (uint32_t i = 0; i < run->swarm.clients; i++) {
        for (uint32_t k = 0; run->client[i].alive && k < run->swarm.sessions; k++) {
            const struct api_client *api = run->client[i].session[k].api;
            if (api_client_pending(api) != 0) return false;
            if (api_client_unclean(api) != 0 && !run->stopping_cluster) return false;
        }
    }
    return true;
}

static void start_plan(struct run *run)
{
    if (!run->plan_given) plan_draw(&run->plan, &run->swarm, sim_rng(run->world, SIM_RNG_PLAN));
    struct sim_plan shifted = run->plan;
    for (uint32_t i = 0; i < shifted.count; i++) {
        if (shifted.event[i].gsn == 0) shifted.event[i].at_us += sim_now_us(run->world);
    }
    sim_set_plan(run->world, &shifted);
}

/* A run with files has at least one loss of the cluster. */
static void last_loss(struct run *run)
{
    struct sim_event end = {.action = SIM_POWER, .arg = {0, 200}};
    if (!run->swarm.disk || failed(run) || run->durability.losses > 0 || run->plan_given) return;
    /* Who is to pass the order on may hang, and be left behind. */
    if (!run->swarm.failures && rng_chance(sim_rng(run->world, SIM_RNG_PLAN), 1, 2)) {
        end.action = SIM_STOP;
        end.arg[0] = data_node_id(run, 0);
    }
    lives_action(run, &end);
    durability_check(run);
}

/* Liveness: whoever was lost is back, whoever had to leave has left. */
static void wait_for_nodes(struct run *run)
{
    char missing[300];
    if (!run->swarm.failures) return;
    if (run_until(run, failures_all_back, run, sim_now_us(run->world) + QUIET_US)) return;
    failures_missing(run, missing, sizeof missing);
    if (!failed(run)) run_fail(run, SIM_LIVENESS, "not all nodes are back:%s", missing);
}

static void wait_for_order(struct run *run)
{
    if (!run->swarm.failures || failed(run)) return;
    if (!run_until(run, order_settled, run, sim_now_us(run->world) + QUIET_US) && !failed(run))
        order_check(run);
}

static void work(struct run *run)
{
    start_plan(run);
    run->failures.begun = true;
    run->tables_ready = true;
    uint64_t until = sim_now_us(run->world) + WORK_US;
    do {
        if (run->durability.down) durability_check(run);
        if (!failed(run)) run_until(run, work_over, run, until);
    } while (run->durability.down && !run->durability.damaged && !failed(run));
    last_loss(run);
    run->stop = true;
    if (failed(run) || run->durability.damaged) return;
    sim_faults_off(run->world);
    tamper_end(run);
    pace_calm(run);
    for (uint32_t i = 0; i < run->swarm.clients; i++)
        client_start(&run->client[i]);
    wait_for_nodes(run);
    durability_check(run);
    if (failed(run) || run->durability.damaged) return;
    if (!run_until(run, all_clean, run, sim_now_us(run->world) + QUIET_US) && !failed(run)) {
        for (uint32_t i = 0; i < run->swarm.clients; i++) {
            for (uint32_t k = 0; k < run->swarm.sessions; k++) {
                const struct session *session = &run->client[i].session[k];
                bool over = session->state == SESSION_OVER &&
                            api_client_pending(session->api) == 0 &&
                            api_client_unclean(session->api) == 0;
                if (over) continue;
                run_fail(
                    run, SIM_LIVENESS,
                    "session %u waits since %llu us for the end of %s (pending %u, unclean %u)",
                    session->no, (unsigned long long)session->begun_us,
                    session->work < WORK_COUNT ? works[session->work].name : "reading a table",
                    api_client_pending(session->api), api_client_unclean(session->api));
            }
        }
        run_fail(run, SIM_LIVENESS, "not all requests were answered");
    }
    wait_for_order(run);
}

/* Reads a row for the final check. False: there is none. */
/* The whole row is session->item[0]. */
static bool read_row(struct run *run, struct session *session, uint32_t table, uint32_t key,
                     uint64_t *value)
{
    session->count = 0;
    session_add(session, table, key, OP_READ);
    if (!execute_items(run, session, LOCK_SHARED)) return false;
    *value = session->item[0].got;
    return true;
}

static void check_unknown_item(struct run *run, struct model_unknown *unknown, uint32_t at,
                               bool present, uint64_t value)
{
    bool is_new =
        present == unknown->item[at].after && (!present || value == unknown->item[at].value_after);
    bool is_old = present == unknown->item[at].before &&
                  (!present || value == unknown->item[at].value_before);
    if (!is_new && !is_old)
        run_fail(run, SIM_CORRECTNESS,
                 "row %u of table %u is neither as before nor as after (value %llu)",
                 unknown->item[at].key, unknown->item[at].table, (unsigned long long)value);
    if (is_new && !is_old) unknown->seen_new = true;
    if (is_old && !is_new) unknown->seen_old = true;
    if (unknown->seen_new && unknown->seen_old) /* I-SIM-1 */
        run_fail(run, SIM_CORRECTNESS, "half a transaction is there: row %u of table %u is %s",
                 unknown->item[at].key, unknown->item[at].table, is_new ? "new" : "old");
}

static void check_unknown(struct run *run, struct session *session)
{
    for (uint32_t i = 0; i < run->model.unknown_count; i++) {
        struct model_unknown *unknown = &run->model.unknown[i];
        for (uint32_t at = 0; at < unknown->count && !failed(run); at++) {
            uint64_t value = 0;
            bool present =
                read_row(run, session, unknown->item[at].table, unknown->item[at].key, &value);
            if (!failed(run)) check_unknown_item(run, unknown, at, present, value);
        }
    }
}

static void check_churn_rows(struct run *run, struct session *session)
{
    uint32_t keys = run->swarm.churn_keys * run->swarm.clients * run->swarm.sessions;
    for (uint32_t table = TABLE_CHURN; table < run->table_count; table++) {
        for (uint32_t i = 0; i < keys && !failed(run); i++) {
            const struct model_key *key = &run->model.key[table][i];
            uint64_t value = 0;
            if (key->state == KEY_TAINTED || (key->state == KEY_ABSENT && key->version == 0))
                continue;
            bool present = read_row(run, session, table, i, &value);
            if (failed(run)) return;
            if (present != (key->state == KEY_PRESENT) || (present && value != key->value))
                run_fail(run, SIM_CORRECTNESS,
                         "row %u of table %u: %s with value %llu, should be %s with %llu", i, table,
                         present ? "present" : "absent", (unsigned long long)value,
                         key->state == KEY_PRESENT ? "present" : "absent",
                         (unsigned long long)key->value);
        }
    }
}

/* Some rows of each batch are looked at: they are there when the row that leads is, with the values
 * behind its own. */
static void check_batches(struct run *run, struct session *session)
{
    uint32_t sessions = run->swarm.clients * run->swarm.sessions;
    for (uint32_t no = 0; no < sessions; no++) {
        uint32_t leader;
        uint32_t key;
        uint64_t first = 0;
        bool there = false;
        for (uint32_t i = 0; !failed(run) && batch_row(run, no, i, &leader, &key);
             i += 1u + i / 2u) {
            uint64_t value = 0;
            if (i == 0) there = read_row(run, session, TABLE_CHURN, leader, &first);
            bool follows = read_row(run, session, TABLE_CHURN, key, &value);
            if (failed(run) || (follows == there && (!there || value == first + 1u + i))) continue;
            run_fail(run, SIM_CORRECTNESS, /* I-SIM-1 */
                     "half a batch is there: row %u %s with %llu, row %u %s with %llu", leader,
                     there ? "is" : "is not", (unsigned long long)first, key,
                     follows ? "is" : "is not", (unsigned long long)value);
        }
    }
}

/* Liveness: whatever has been, each node group takes writes again. Of the same values. */
static void check_writes(struct run *run, struct session *session)
{
    if (run->swarm.full || run->swarm.small_data) return; /* No room for another copy of a row. */
    for (uint32_t i = 0; i < run->swarm.statics && !failed(run); i++) {
        session->count = 0;
        session_add(session, TABLE_STATIC, i, OP_WRITE)->value = run->model.statics[i];
        if (!execute_items(run, session, LOCK_EXCLUSIVE) && !failed(run))
            run_fail(run, SIM_CORRECTNESS, "row %u of the static table is gone", i);
    }
}

static void check_rows(struct run *run)
{
    struct session *session = &run->client[0].session[0];
    uint64_t sum = 0;
    int64_t counters = 0;
    for (uint32_t table = 0; table < run->table_count; table++) {
        if (!run_open_table(run, session, table)) return;
    }
    for (uint32_t i = 0; i < run->swarm.accounts && !failed(run); i++) {
        uint64_t value = 0;
        read_row(run, session, TABLE_BANK, i, &value);
        sum += value;
        counters += session->item[0].counter;
    }
    if (!failed(run) && counters != 0)
        run_fail(run, SIM_CORRECTNESS, "the bank's counters are %lld together",
                 (long long)counters);
    if (!failed(run) && sum != run->model.bank_total)
        run_fail(run, SIM_CORRECTNESS, "the bank's total is %llu instead of %llu",
                 (unsigned long long)sum, (unsigned long long)run->model.bank_total);
    for (uint32_t i = 0; i < run->swarm.registers && !failed(run); i++) {
        uint32_t index = reg_begin(run, REG_READ_LOCKED, i, 0);
        uint64_t value = 0;
        bool there = read_row(run, session, TABLE_REGISTER, i, &value);
        reg_finish(run, index, there ? REG_DONE : REG_ABORTED, value);
        if (there && i == 0) program_check_hot(run, session->item[0].counter);
        if (!there && !failed(run)) run_fail(run, SIM_CORRECTNESS, "register %u is gone", i);
    }
    check_churn_rows(run, session);
    check_batches(run, session);
    check_unknown(run, session);
    check_writes(run, session);
}

static bool quiet(void *context)
{
    char text[200];
    return pools_quiet(context, text, sizeof text);
}

/* The other processes end first: with tiny limits they may keep all of a TC's records for later. */
static void check_all(struct run *run)
{
    for (uint32_t i = 1; i < run->swarm.clients; i++)
        client_kill(&run->client[i]);
    check_rows(run);
    if (failed(run)) return;
    reg_check(run);
    if (failed(run)) return;
    for (uint32_t i = 0; i < run->swarm.clients; i++)
        client_kill(&run->client[i]);
    run_until(run, quiet, run, sim_now_us(run->world) + 20u * SECOND_US);
    if (failed(run)) return;
    check_pools(run);
    sim_check_nodes(run->world);
    if (!failed(run)) check_replicas(run);
    if (!failed(run)) check_uniques(run);
    if (!failed(run)) check_copies(run);
}

/* All data nodes have stopped, and said so. */
static bool all_stopped(void *context)
{
    const struct run *run = context;
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        if (sim_alive(run->world, data_node_id(run, i))) return false;
    }
    return true;
}

static void check_stopped(struct run *run)
{
    run_until(run, all_stopped, run, sim_now_us(run->world) + 60u * SECOND_US);
    if (!failed(run) && !all_stopped(run))
        run_fail(run, SIM_LIVENESS, "a data node lives on although the cluster has to stop");
}

bool run_start(struct run *run)
{
    static const char *const names[] = {"bank", "register", "static", "churn0", "churn1"};
    run->table_count = TABLE_CHURN + run->swarm.churn_tables;
    for (uint32_t table = 0; table < run->table_count; table++)
        run->def[table] = row_table(run, table, names[table]);
    cluster_build(run);
    if (!run_until(run, all_started, run, START_US)) {
        if (!failed(run)) run_fail(run, SIM_LIVENESS, "the cluster did not start");
        return false;
    }
    set_up(run);
    return !failed(run);
}

/* One try of the session's items as one transaction; for scenarios. */
uint32_t run_try(struct run *run, struct session *session, enum lock_mode lock,
                 enum api_outcome *outcome)
{
    struct waiting waiting = {0};
    uint32_t error = ERR_API_MEMORY;
    enum api_execute type = run->set_up_durable ? API_COMMIT_DURABLE : API_COMMIT;
    run->floor = run->epochs.acked;
    if (session_define(session, 0, lock, 0)) {
        error = api_tx_execute(session->tx, type, 60000, tx_done, &waiting);
        if (error == 0) wait_for(run, &waiting);
        if (error == 0) error = waiting.error;
        run->epoch = api_tx_epoch(session->tx);
        if (waiting.outcome == API_COMMITTED && run->epoch > run->epochs.acked)
            run->epochs.acked = run->epoch;
    } else if (session->tx != NULL) {
        error = api_tx_error(session->tx);
    }
    if (session->tx != NULL) api_tx_close(session->tx);
    session->tx = NULL;
    *outcome = waiting.outcome;
    return error;
}

uint32_t run_try_create(struct run *run, struct session *session, const struct table_def *def,
                        uint32_t *table_id, uint32_t *version)
{
    struct waiting waiting = {0};
    uint32_t error = api_dict_create(session->api, def, 60000, dict_done, &waiting);
    if (error != 0) return error;
    wait_for(run, &waiting);
    *table_id = waiting.table_id;
    *version = waiting.version;
    return waiting.error;
}

/* One try to create and to drop a table. */
uint32_t run_try_schema(struct run *run, struct session *session, const struct table_def *def)
{
    struct waiting waiting = {0};
    uint32_t id = 0;
    uint32_t version = 0;
    uint32_t error = run_try_create(run, session, def, &id, &version);
    if (error != 0 || failed(run)) return error;
    for (uint32_t tries = 0; tries < SETUP_TRIES && !failed(run); tries++) {
        waiting = (struct waiting){0};
        error = api_dict_drop(session->api, id, version, 60000, dict_done, &waiting);
        if (error == 0) wait_for(run, &waiting);
        if (error == 0 && waiting.error == 0) return 0;
    }
    return waiting.error;
}

/* One try to create an index of v, or to drop it. */
uint32_t run_try_index(struct run *run, struct session *session, uint32_t table,
                       enum alter_kind kind, const char *name)
{
    struct waiting waiting = {0};
    uint32_t words[8] = {0};
    uint32_t size = (uint32_t)strlen(name);
    bool create = kind != ALTER_DROP_INDEX;
    uint32_t at = create ? 2 : 1;
    const struct table_def *def = api_table_def(session->table[table]);
    const struct alter_table_req req = {
        .table_id = def->table_id, .version = def->version, .kind = kind};
    words[0] = create ? size | 1u << 16 : size;
    if (create) words[1] = row_value_column(run, table);
    memcpy(words + at, name, size);
    const struct section section = {words, at + words_of(size)};
    uint32_t error = api_dict_alter(session->api, &req, &section, 60000, dict_done, NULL, &waiting);
    if (error != 0) return error;
    wait_for(run, &waiting);
    return waiting.error;
}

uint32_t run_try_alter(struct run *run, struct session *session, struct alter_table_req *req,
                       const struct section *words)
{
    struct waiting waiting = {0};
    uint32_t error = api_dict_alter(session->api, req, words, 60000, dict_done, NULL, &waiting);
    if (error != 0) return error;
    wait_for(run, &waiting);
    if (waiting.error == 0) {
        req->table_id = waiting.table_id;
        req->version = waiting.version;
    }
    return waiting.error;
}

void run_settle(struct run *run)
{
    sim_faults_off(run->world);
    pace_calm(run);
    wait_for_nodes(run);
    run->order.slow = (struct node_mask){{0}};
    wait_for_order(run);
    if (!failed(run)) check_all(run);
}

/* After the scenario: everybody leaves, and nothing is left of them. */
void run_end(struct run *run)
{
    for (uint32_t i = 0; i < run->swarm.clients; i++)
        client_kill(&run->client[i]);
    run_until(run, quiet, run, sim_now_us(run->world) + 20u * SECOND_US);
    check_pools(run);
    sim_check_nodes(run->world);
    if (!failed(run)) check_replicas(run);
    if (!failed(run)) check_uniques(run);
    if (!failed(run)) check_copies(run);
}

void run_seed(struct run *run)
{
    if (!run_start(run)) return;
    if (run->tamper.on) tamper_begin(run);
    work(run);
    if (failed(run)) return;
    if (run->durability.damaged) return;
    if (run->stopping_cluster)
        check_stopped(run);
    else
        check_all(run);
}

void run_free(struct run *run)
{
    for (uint32_t i = 0; i < run->swarm.clients; i++)
        client_kill(&run->client[i]);
    sim_destroy(run->world);
    spoil_free(run);
    model_free(run);
    for (uint32_t table = 0; table < TABLES_MAX; table++)
        free(run->def[table]);
    free(run->open);
}
