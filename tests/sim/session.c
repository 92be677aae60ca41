/* session.c -- one application thread: jobs one after the other, through the client library's core.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include <string.h>
#include "kernel/block.h"
#include "values/errors.h"
#include "tests/sim/run.h"

/* Every answer comes long before; what does not is a failure of liveness. */
#define SESSION_TIMEOUT_MS 60000u

struct rng *work_rng(struct run *run)
{
    return sim_rng(run->world, SIM_RNG_WORKLOAD);
}

/* A node has refused somebody a page of it. */
static bool schema_memory_full(const struct run *run)
{
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        struct node *node = sim_node(run->world, data_node_id(run, i));
        if (node == NULL) continue;
        const struct arena *arena = block_arena(node_block(node, BLOCK_DBDICT, 0));
        if (arena_usage(arena, RG_SCHEMA).failed > 0) return true;
    }
    return false;
}

/* Errors that may come at any time and only mean: not now. */
bool error_allowed(const struct run *run, uint32_t error)
{
    const struct error_entry *entry = error_find(error);
    if (entry == NULL) return false;
    if (run->swarm.orderly && error_status(error) == ERROR_STATUS_UNKNOWN) return false;
    if (error_status(error) != ERROR_STATUS_PERMANENT) return true;
    if (entry->class == ERROR_CLASS_NS) return true;
    if (error == ERR_SINGLE_USER_MODE) return (run->swarm.faults & FAULT_SINGLE) != 0;
    if (error == ERR_TC_OPERATIONS_LIMIT) /* It had all records itself. */
        return run->swarm.tiny || run->swarm.batch_rows > 0;
    if (error == ERR_TRANSACTION_TOO_BIG) return run->swarm.batch_rows > 0 || run->swarm.tiny;
    if (entry->class == ERROR_CLASS_IS) return run->swarm.small_data;
    if (error == ERR_TABLE_RECORDS) return run->figures.numberless > 0;
    if (error == ERR_SCHEMA_MEMORY) return schema_memory_full(run);
    bool may_stop =
        run->stopping_cluster || run->swarm.disk || (run->swarm.faults & FAULT_DATA_CUT) != 0;
    return may_stop && error == ERR_CLUSTER_SHUTDOWN;
}

void count_outcome(struct run *run, enum api_outcome outcome)
{
    if (outcome == API_COMMITTED) run->figures.committed++;
    if (outcome == API_ABORTED) run->figures.aborted++;
    if (outcome == API_UNKNOWN) run->figures.unknown++;
    if (outcome == API_UNKNOWN && run->swarm.orderly && run->failures.begun &&
        !run->durability.down)
        run_fail(run, SIM_CORRECTNESS, "a planned stop left a transaction without an answer");
}

/* --- Opening: the tables' definitions are fetched first. --- */

static void got_table(void *context, const struct api_dict_result *result)
{
    struct session *session = context;
    struct run *run = session->client->run;
    session->state = SESSION_IDLE;
    if (result->error == 0) {
        session->table[session->phase] = result->table;
        return;
    }
    if (!error_allowed(run, result->error))
        run_fail(run, SIM_CORRECTNESS, "session %u: table %u cannot be read, error %u", session->no,
                 session->phase, result->error);
    session_retry_later(session);
}

static bool fetch_tables(struct session *session)
{
    struct run *run = session->client->run;
    char name[TABLE_NAME_MAX + 1];
    for (uint32_t table = 0; table < run->table_count; table++) {
        if (session->table[table] != NULL) continue;
        session->phase = table;
        session->state = SESSION_BUSY;
        session->work = WORK_COUNT;
        table_def_internal_name(run->def[table], name, sizeof name);
        session->table[table] = api_dict_cached(session->client->core, name);
        if (session->table[table] != NULL) {
            session->state = SESSION_IDLE;
            continue;
        }
        if (api_dict_get(session->api, name, SESSION_TIMEOUT_MS, got_table, session) != 0) {
            session->state = SESSION_IDLE;
            session_retry_later(session);
        }
        return false;
    }
    return true;
}

void session_open(struct session *session)
{
    session->api = api_client_open(session->client->core);
    if (session->api == NULL) abort();
    memset(session->table, 0, sizeof session->table);
    if (session->state == SESSION_BUSY) session->state = SESSION_IDLE;
}

void session_retry_later(struct session *session)
{
    struct run *run = session->client->run;
    session->not_before_us = sim_now_us(run->world) + 1000 + rng_below(work_rng(run), 20000);
}

/* The process is gone with all that it had: what it did not hear is not known. */
void session_crashed(struct session *session)
{
    if (session->state == SESSION_BUSY && session->work < WORK_COUNT &&
        works[session->work].crashed != NULL)
        works[session->work].crashed(session);
    session->tx = NULL;
    session->scan = NULL;
    session->schema_table = NULL;
    session->api = NULL;
    session->batch_count = 0;
    if (session->state == SESSION_BUSY) session->state = SESSION_IDLE;
}

/* --- Jobs. --- */

static enum work_no draw_work(struct session *session)
{
    struct run *run = session->client->run;
    uint32_t sum = 0;
    for (uint32_t i = 0; i < WORK_COUNT; i++)
        sum += run->swarm.weight[i];
    uint64_t drawn = rng_below(work_rng(run), sum);
    for (uint32_t i = 0; i < WORK_COUNT; i++) {
        if (drawn < run->swarm.weight[i]) return (enum work_no)i;
        drawn -= run->swarm.weight[i];
    }
    return WORK_CHURN;
}

static void begin_job(struct session *session)
{
    struct run *run = session->client->run;
    session->work = draw_work(session);
    session->state = SESSION_BUSY;
    session->phase = session->count = 0;
    session->writes = session->rollback = false;
    session->tx = NULL;
    session->scan = NULL;
    session->begun_us = sim_now_us(run->world);
    session->jobs_left--;
    run->figures.jobs++;
    works[session->work].start(session);
}

void session_done(struct session *session)
{
    if (session->tx != NULL) api_tx_close(session->tx);
    if (session->scan != NULL) api_scan_close(session->scan);
    session->tx = NULL;
    session->scan = NULL;
    session->batch_count = 0;
    session->state = SESSION_IDLE;
    struct run *run = session->client->run;
    if (rng_chance(work_rng(run), 1, 3))
        session->not_before_us = sim_now_us(run->world) + rng_below(work_rng(run), 20000);
}

/* Called whenever the client runs; returns when it wants to be called again. */
uint64_t session_run(struct session *session, uint64_t now_us)
{
    struct run *run = session->client->run;
    if (session->state == SESSION_BUSY) {
        if (session->work < WORK_COUNT && works[session->work].run != NULL)
            works[session->work].run(session);
        return UINT64_MAX;
    }
    if (session->state == SESSION_OVER || !run->tables_ready) return UINT64_MAX;
    if (run->stop || session->jobs_left == 0) {
        session->state = SESSION_OVER;
        return UINT64_MAX;
    }
    if (run->durability.down) return now_us + 20000u;
    if (now_us < run->lull_until_us) return run->lull_until_us;
    if (now_us < session->not_before_us) return session->not_before_us;
    if (!fetch_tables(session))
        return session->not_before_us > now_us ? session->not_before_us : UINT64_MAX;
    begin_job(session);
    return session->state == SESSION_IDLE ? now_us + 100 : UINT64_MAX;
}

/* --- Transactions. --- */

struct item *session_add(struct session *session, uint32_t table, uint32_t key,
                         enum key_operation operation)
{
    struct item *item = &session->item[session->count++];
    memset(item, 0, sizeof *item);
    item->table = table;
    item->key = key;
    item->operation = operation;
    return item;
}

static uint32_t on_row(struct api_op *op, const uint32_t *pairs, uint32_t words)
{
    struct session *session = api_op_context(op);
    struct item *item = api_op_context2(op);
    struct run *run = session->client->run;
    uint32_t key = 0;
    if (!row_parse(run, item->table, pairs, words, &key, &item->got, &item->added) ||
        key != item->key) {
        run_fail(run, SIM_CORRECTNESS,
                 "session %u: row %u of table %u is torn (key %u, value %llu)", session->no,
                 item->key, item->table, key, (unsigned long long)item->got);
        return 0;
    }
    item->counter = row_counter(run, item->table, pairs, words);
    item->rows++;
    return 0;
}

static bool define_item(struct session *session, struct item *item, enum lock_mode lock,
                        uint32_t flags)
{
    struct run *run = session->client->run;
    uint32_t *words = api_op_begin(session->tx, ROW_WORDS_MAX);
    if (words == NULL) return false;
    struct api_op_options options = {
        .table = session->table[item->table],
        .operation = item->operation,
        .lock = lock,
        .flags = flags | (item->expect != 0 ? KEY_IGNORE_ERROR : 0u),
        .row = on_row,
        .context = session,
        .context2 = item,
    };
    uint32_t key_words = 2;
    if (item->unique) {
        options.unique = 1u + row_unique_value(api_table_def(options.table));
        memcpy(words, &item->named, 8);
        run->figures.by_unique++;
    } else {
        key_words = row_key(run, item->table, item->key, work_rng(run), words);
    }
    uint32_t attr_words = 0;
    if (item->program) {
        options.flags |= KEY_PROGRAM;
        attr_words = row_add(run, item->table, item->add, words + key_words);
    } else if (item->operation == OP_READ) {
        words[key_words] = attr_header(ATTR_READ_ALL, 0);
        attr_words = 1;
    } else if (item->operation != OP_DELETE) {
        attr_words = row_attrs(run, item->table, item->value, words + key_words);
        attr_words += row_added(api_table_def(options.table), row_columns(run, item->table),
                                item->value, words + key_words + attr_words);
    }
    if (item->operation != OP_READ) session->writes = true;
    return api_op_end(session->tx, &options, key_words, attr_words) != NULL;
}

/* Defines the items from `first` on in the session's transaction. False: the library refused; the
 * job is over. */
bool session_define(struct session *session, uint32_t first, enum lock_mode lock, uint32_t flags)
{
    struct run *run = session->client->run;
    if (session->tx == NULL) session->tx = api_tx_start(session->api);
    bool good = session->tx != NULL;
    for (uint32_t i = first; good && i < session->count; i++)
        good = define_item(session, &session->item[i], lock, flags);
    for (uint32_t i = 0; good && i < session->batch_count; i++)
        good = define_item(session, &session->batch[i], lock, flags);
    if (good) return true;
    uint32_t error = session->tx == NULL ? 0 : api_tx_error(session->tx);
    if (error != 0 && !error_allowed(run, error))
        run_fail(run, SIM_CORRECTNESS, "session %u: an operation was refused with error %u",
                 session->no, error);
    return false;
}

void session_execute(struct session *session, enum api_execute type, api_tx_done done)
{
    struct run *run = session->client->run;
    uint32_t timeout = SESSION_TIMEOUT_MS;
    if (!run->swarm.orderly && rng_chance(work_rng(run), 1, 50))
        timeout = 1 + (uint32_t)rng_below(work_rng(run), 30);
    if (run->swarm.disk && type == API_COMMIT && rng_chance(work_rng(run), 1, 4))
        type = API_COMMIT_DURABLE;
    epochs_begin(session, type, done);
    uint32_t error = api_tx_execute(session->tx, type, timeout, epochs_executed, session);
    if (error == 0) return;
    if (!error_allowed(run, error))
        run_fail(run, SIM_CORRECTNESS, "session %u: execute was refused with error %u", session->no,
                 error);
    done(session, session->tx);
}
