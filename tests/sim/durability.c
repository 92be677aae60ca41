/* durability.c -- after the loss of the whole cluster: the model goes back to the GCI with which it
 * came back, and all rows are compared. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include <string.h>
#include "values/errors.h"
#include "tests/sim/failures.h"
#include "tests/sim/works.h"

#define SECOND_US    1000000u
#define BACK_US      (300u * SECOND_US) /* Longest time until the cluster is back. */
#define READ_ROWS    6u
#define SCHEMA_TABLE (TABLES_MAX - 1u)

static bool failed(const struct run *run)
{
    return sim_verdict_of(run->world) != SIM_OK;
}

bool durability_late(const struct run *run)
{
    return run->durability.down && run->durability.recovered != UINT32_MAX;
}

/* --- History of the rows that only one session writes. --- */

void past_add(struct run *run, uint32_t table, uint32_t index, uint64_t epoch)
{
    struct model_key *key = &run->model.key[table][index];
    if (!run->swarm.disk) return;
    if (key->past_count == key->past_size) {
        key->past_size = key->past_size * 2 + 4;
        key->past = realloc(key->past, key->past_size * sizeof *key->past);
        if (key->past == NULL) abort();
    }
    key->past[key->past_count++] = (struct model_past){epoch, key->state, key->value};
}

/* What the newest commit up to the recovered GCI made of the row; true when a later one is lost. */
static bool state_at(const struct model_key *key, uint32_t gci, enum key_state *state,
                     uint64_t *value)
{
    uint32_t count = key->past_count;
    while (count > 0 && (uint32_t)(key->past[count - 1].epoch >> 32) > gci)
        count--;
    *state = count == 0 ? key->base_state : key->past[count - 1].state;
    *value = count == 0 ? key->base_value : key->past[count - 1].value;
    return count < key->past_count;
}

static void set_base(struct model_key *key, enum key_state state, uint64_t value)
{
    key->state = key->base_state = state;
    key->value = key->base_value = value;
    key->past_count = 0;
    key->version += key->version % 2;
    key->version += 2;
    key->tainted_by = 0;
}

/* --- Reading. --- */

/* The cluster was lost again meanwhile: all is read anew when it is back. */
bool durability_lost(const struct run *run)
{
    const struct durability *d = &run->durability;
    if (d->damaged || d->checking != d->losses + d->starts) return true;
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        if (!sim_alive(run->world, data_node_id(run, i))) return true;
    }
    return false;
}

struct found {
    bool present;
    uint64_t value;
};

/* Rows `from` to `to` of a table. False: not to be had now. */
static bool read_some(struct run *run, struct session *session, uint32_t table, uint32_t from,
                      uint32_t to, struct found *found)
{
    session->count = 0;
    for (uint32_t i = from; i < to; i++)
        session_add(session, table, i, OP_READ)->expect = ERR_ROW_NOT_FOUND;
    if (!run_read(run, session)) return false;
    for (uint32_t i = from; i < to; i++)
        found[i] = (struct found){session->item[i - from].rows == 1, session->item[i - from].got};
    return true;
}

static struct found *read_table(struct run *run, struct session *session, uint32_t table,
                                uint32_t rows)
{
    struct found *found = calloc(rows + 1u, sizeof *found);
    if (found == NULL) abort();
    for (uint32_t at = 0; at < rows; at += READ_ROWS) {
        uint32_t to = at + READ_ROWS < rows ? at + READ_ROWS : rows;
        if (read_some(run, session, table, at, to, found)) continue;
        free(found);
        return NULL;
    }
    return found;
}

/* --- Comparing. --- */

static uint32_t keys_of(const struct run *run)
{
    return run->swarm.churn_keys * run->swarm.clients * run->swarm.sessions;
}

static void check_key(struct run *run, uint32_t table, uint32_t index, const struct found *found)
{
    const struct model_key *key = &run->model.key[table][index];
    enum key_state state;
    uint64_t value;
    bool cut = state_at(key, run->durability.recovered, &state, &value);
    if (key->state == KEY_TAINTED) return;
    bool good =
        found->present == (state == KEY_PRESENT) && (!found->present || found->value == value);
    if (good) return;
    run_fail(run, SIM_CORRECTNESS, /* I-SIM-7 */
             "after the restart at GCI %u row %u of table %u is %s with %llu, should be %s with "
             "%llu%s; newest commit %llx",
             run->durability.recovered, index, table, found->present ? "present" : "absent",
             (unsigned long long)found->value, state == KEY_PRESENT ? "present" : "absent",
             (unsigned long long)value, cut ? " (later commits are lost)" : "",
             key->past_count == 0 ? 0ull
                                  : (unsigned long long)key->past[key->past_count - 1].epoch);
}

/* Nobody told how it ended: all or nothing, and nothing when its epoch must be a later one. */
static void check_unsure(struct run *run, const struct model_unknown *unknown,
                         struct found *const *found)
{
    uint32_t gci = run->durability.recovered;
    bool old_seen = false;
    bool new_seen = false;
    for (uint32_t i = 0; i < unknown->count; i++) {
        const struct model_key *key = &run->model.key[unknown->item[i].table][unknown->item[i].key];
        const struct found *row = &found[unknown->item[i].table][unknown->item[i].key];
        enum key_state state;
        uint64_t value;
        bool cut = state_at(key, gci, &state, &value);
        bool is_old =
            row->present == (state == KEY_PRESENT) && (!row->present || row->value == value);
        bool is_new = row->present == unknown->item[i].after &&
                      (!row->present || row->value == unknown->item[i].value_after) &&
                      (unknown->late || (!cut && (uint32_t)(unknown->floor >> 32) <= gci));
        if (!is_old && !is_new)
            run_fail(run, SIM_CORRECTNESS,
                     "after the restart at GCI %u row %u of table %u (%llu) is neither as before "
                     "nor as after a transaction whose outcome is unknown (epoch at least %llx)",
                     gci, unknown->item[i].key, unknown->item[i].table,
                     (unsigned long long)row->value, (unsigned long long)unknown->floor);
        old_seen |= is_old && !is_new;
        new_seen |= is_new && !is_old;
    }
    if (old_seen && new_seen) /* I-SIM-1 */
        run_fail(run, SIM_CORRECTNESS, "after the restart at GCI %u half a transaction is there",
                 gci);
}

static void check_churn(struct run *run, struct found *const *found)
{
    for (uint32_t table = TABLE_CHURN; table < run->table_count; table++) {
        for (uint32_t i = 0; i < keys_of(run) && !failed(run); i++)
            check_key(run, table, i, &found[table][i]);
    }
    for (uint32_t i = 0; i < run->model.unknown_count && !failed(run); i++)
        check_unsure(run, &run->model.unknown[i], found);
}

static void check_bank(struct run *run, const struct found *found)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < run->swarm.accounts; i++)
        sum += found[i].present ? found[i].value : 0;
    if (sum != run->model.bank_total)
        run_fail(run, SIM_CORRECTNESS, "after the restart the bank's total is %llu, not %llu",
                 (unsigned long long)sum, (unsigned long long)run->model.bank_total);
}

static void check_static(struct run *run, const struct found *found)
{
    for (uint32_t i = 0; i < run->swarm.statics; i++) {
        if (found[i].present && found[i].value == run->model.statics[i]) continue;
        run_fail(run, SIM_CORRECTNESS, "after the restart row %u of table %u is %s", i,
                 (uint32_t)TABLE_STATIC, found[i].present ? "changed" : "gone");
    }
}

/* A register has the value of a write that may have survived, and no later one that must have. */
static void check_register(struct run *run, uint32_t row, const struct found *found)
{
    uint32_t gci = run->durability.recovered;
    const struct reg_event *write = NULL;
    for (uint32_t i = 0; i < run->model.reg_count && found->present; i++) {
        const struct reg_event *event = &run->model.reg[i];
        if (event->kind == REG_WRITE && event->row == row && event->value == found->value)
            write = event;
    }
    if (write == NULL || write->end == REG_ABORTED || (uint32_t)(write->epoch >> 32) > gci) {
        run_fail(run, SIM_CORRECTNESS, "after the restart at GCI %u register %u has %llu: %s", gci,
                 row, (unsigned long long)found->value,
                 !found->present             ? "no row"
                 : write == NULL             ? "never written"
                 : write->end == REG_ABORTED ? "aborted"
                                             : "of a later GCI");
        return;
    }
    for (uint32_t i = 0; i < run->model.reg_count; i++) {
        const struct reg_event *other = &run->model.reg[i];
        if (other->kind != REG_WRITE || other->row != row || other->end != REG_DONE) continue;
        if ((uint32_t)(other->epoch >> 32) > gci || other == write) continue;
        bool later = write->end == REG_DONE && write->returned < other->invoked;
        if (write->end == REG_DONE && write->epoch < other->epoch) later = true;
        if (later)
            run_fail(run, SIM_CORRECTNESS,
                     "after the restart at GCI %u register %u has %llu, but %llu of epoch %llx is "
                     "newer",
                     gci, row, (unsigned long long)found->value, (unsigned long long)other->value,
                     (unsigned long long)other->epoch);
    }
}

/* --- Tables that were made and dropped. --- */

struct model_schema *schema_begin(struct run *run, uint32_t session, uint32_t number)
{
    struct model *model = &run->model;
    if (model->schema_count == SCHEMA_MODELS) return NULL;
    struct model_schema *schema = &model->schema[model->schema_count++];
    *schema = (struct model_schema){.session = session, .number = number};
    return schema;
}

void schema_forget(struct run *run, const struct model_schema *schema)
{
    if (schema == NULL) return;
    run->model.schema[schema - run->model.schema] = run->model.schema[--run->model.schema_count];
}

struct model_schema *schema_find(struct run *run, uint32_t session, uint32_t number)
{
    for (uint32_t i = 0; i < run->model.schema_count; i++) {
        struct model_schema *schema = &run->model.schema[i];
        if (schema->session == session && schema->number == number) return schema;
    }
    return NULL;
}

static void check_schema_rows(struct run *run, const struct model_schema *schema,
                              const struct found *found)
{
    uint32_t gci = run->durability.recovered;
    uint32_t rows = 0;
    for (uint32_t i = 0; i < SCHEMA_ROWS; i++)
        rows += found[i].present;
    bool must = schema->filled == FILLED_DONE && (uint32_t)(schema->epoch >> 32) <= gci;
    bool may = schema->filled != FILLED_NOT && (uint32_t)(schema->epoch >> 32) <= gci;
    if ((rows != 0 && rows != SCHEMA_ROWS) || (rows == 0 && must) || (rows != 0 && !may))
        run_fail(run, SIM_CORRECTNESS,
                 "after the restart at GCI %u a new table has %u rows (filled %u, epoch %llx)", gci,
                 rows, (uint32_t)schema->filled, (unsigned long long)schema->epoch);
}

/* False: not to be had now. */
static bool check_schema(struct run *run, struct session *session, struct model_schema *schema)
{
    struct found found[SCHEMA_ROWS];
    bool there = false;
    schema_name(schema->session, schema->number, run);
    bool good = run_open_schema(run, session, SCHEMA_TABLE, &there);
    if (good && !there && schema->state == SCHEMA_CREATED)
        run_fail(run, SIM_CORRECTNESS, "after the restart table %s is gone", run->schema_name);
    if (!good || !there || failed(run)) return good;
    bool again = schema->leaving; /* The drop may still be under way. */
    if (!again) good = read_some(run, session, SCHEMA_TABLE, 0, SCHEMA_ROWS, found);
    if (!again && good) check_schema_rows(run, schema, found);
    if (good && !failed(run)) {
        const struct table_def *def = api_table_def(session->table[SCHEMA_TABLE]);
        schema->state = SCHEMA_DROPPING;
        schema->leaving = true;
        good = run_drop(run, session, def->table_id, def->version, again);
    }
    api_table_release(session->table[SCHEMA_TABLE]);
    session->table[SCHEMA_TABLE] = NULL;
    return good;
}

static bool check_schemas(struct run *run, struct session *session)
{
    while (run->model.schema_count > 0 && !failed(run)) {
        struct model_schema *schema = &run->model.schema[run->model.schema_count - 1];
        if (!check_schema(run, session, schema)) return false;
        run->model.schema_count--;
    }
    return true;
}

/* --- The model begins anew from what was read. --- */

static void rebase(struct run *run, struct found *const *found)
{
    struct durability *d = &run->durability;
    for (uint32_t table = TABLE_CHURN; table < run->table_count; table++) {
        for (uint32_t i = 0; i < keys_of(run); i++) {
            const struct found *row = &found[table][i];
            set_base(&run->model.key[table][i], row->present ? KEY_PRESENT : KEY_ABSENT,
                     row->value);
        }
    }
    run->model.unknown_count = 0;
    run->model.reg_count = 0;
    for (uint32_t row = 0; row < run->swarm.registers; row++) {
        uint32_t index = reg_begin(run, REG_WRITE, row, found[TABLE_REGISTER][row].value);
        reg_finish(run, index, REG_DONE, 0);
    }
    for (uint32_t i = 0; i < run->swarm.clients; i++) {
        for (uint32_t k = 0; k < run->swarm.sessions; k++) {
            struct session *session = &run->client[i].session[k];
            session->fill_next = session->fill_high; /* Whatever is left of it is deleted. */
        }
    }
    epochs_restart(run, d->recovered);
    d->restarts++;
    d->down = false;
}

static bool read_all(struct run *run, struct session *session, struct found **found)
{
    const uint32_t rows[TABLES_MAX] = {
        [TABLE_BANK] = run->swarm.accounts,  [TABLE_REGISTER] = run->swarm.registers,
        [TABLE_STATIC] = run->swarm.statics, [TABLE_CHURN] = keys_of(run),
        [TABLE_CHURN + 1] = keys_of(run),
    };
    for (uint32_t table = 0; table < run->table_count; table++) {
        if (!run_open_table(run, session, table)) return false;
        found[table] = read_table(run, session, table, rows[table]);
        if (found[table] == NULL) return false;
    }
    return true;
}

static void compare(struct run *run, struct found *const *found)
{
    reg_check(run);
    check_churn(run, found);
    check_bank(run, found[TABLE_BANK]);
    check_static(run, found[TABLE_STATIC]);
    for (uint32_t row = 0; row < run->swarm.registers && !failed(run); row++)
        check_register(run, row, &found[TABLE_REGISTER][row]);
    if (!failed(run)) check_replicas(run);
    if (!failed(run)) check_uniques(run);
    if (!failed(run)) check_copies(run);
    if (!failed(run)) sim_check_nodes(run->world);
}

/* False: the cluster was lost again, or is not as far yet. */
static bool verify(struct run *run)
{
    struct session *session = &run->client[0].session[0];
    struct found *found[TABLES_MAX] = {0};
    bool good = read_all(run, session, found) && check_schemas(run, session) &&
                epochs_ask(run, session) && !durability_lost(run);
    if (good && !failed(run)) compare(run, found);
    if (good && !failed(run)) rebase(run, found);
    for (uint32_t table = 0; table < TABLES_MAX; table++)
        free(found[table]);
    session->count = 0;
    return good;
}

static bool is_back(void *context)
{
    struct run *run = context;
    if (run->durability.damaged) return true;
    if (run->durability.recovered == UINT32_MAX) return false;
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        if (!sim_alive(run->world, data_node_id(run, i))) return false;
    }
    if (run->swarm.failures && !failures_all_back(run)) return false;
    for (uint32_t i = 0; i < run->swarm.clients; i++) {
        if (!run->client[i].alive) continue;
        for (uint32_t k = 0; k < run->swarm.sessions; k++) {
            if (run->client[i].session[k].state == SESSION_BUSY) return false;
        }
    }
    return run->client[0].alive && client_ready(run, &run->client[0]);
}

/* The cluster was lost: waits until it is back by itself, compares, and lets the sessions go on. */
void durability_check(struct run *run)
{
    struct durability *d = &run->durability;
    uint64_t until = sim_now_us(run->world) + BACK_US;
    while (d->down && !d->damaged && !failed(run)) {
        client_start(&run->client[0]);
        if (!run_until(run, is_back, run, until)) {
            if (!failed(run) && failures_lost_to_damage(run)) d->damaged = true;
            if (!failed(run) && !d->damaged)
                run_fail(run, SIM_LIVENESS, "the cluster was lost at %.3f s and is not back",
                         (double)d->down_us / 1e6);
            return;
        }
        if (d->damaged) return;
        d->checking = d->losses + d->starts;
        d->verifying = true;
        verify(run);
        d->verifying = false;
    }
}
