/* model.c -- what must be true: rows of the churn tables, unknown outcomes, and the registers'
 * histories. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include <string.h>
#include "tests/sim/run.h"

void model_init(struct run *run)
{
    struct model *model = &run->model;
    const struct swarm *swarm = &run->swarm;
    uint32_t keys = swarm->churn_keys * swarm->clients * swarm->sessions;
    for (uint32_t table = TABLE_CHURN; table < run->table_count; table++)
        model->key[table] = calloc(keys, sizeof(struct model_key));
    model->statics = calloc(swarm->statics + 1u, sizeof *model->statics);
    model->next_value = 1000000;
}

void model_free(struct run *run)
{
    uint32_t keys = run->swarm.churn_keys * run->swarm.clients * run->swarm.sessions;
    for (uint32_t table = 0; table < TABLES_MAX; table++) {
        for (uint32_t i = 0; run->model.key[table] != NULL && i < keys; i++)
            free(run->model.key[table][i].past);
        free(run->model.key[table]);
    }
    for (uint32_t i = 0; i < CLIENTS_MAX * SESSIONS_MAX; i++)
        free(run->client[i / SESSIONS_MAX].session[i % SESSIONS_MAX].batch);
    free(run->model.statics);
    free(run->model.unknown);
    free(run->model.reg);
}

/* The outcome of a transaction on churn rows is not known: its rows are not written any more. */
uint32_t model_unknown(struct run *run, const struct item *items, uint32_t count, uint64_t floor)
{
    struct model *model = &run->model;
    if (model->unknown_count == model->unknown_size) {
        model->unknown_size = model->unknown_size * 2 + 16;
        model->unknown = realloc(model->unknown, model->unknown_size * sizeof *model->unknown);
        if (model->unknown == NULL) abort();
    }
    struct model_unknown *unknown = &model->unknown[model->unknown_count++];
    memset(unknown, 0, sizeof *unknown);
    unknown->floor = floor;
    unknown->late = durability_late(run);
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].operation == OP_READ || items[i].expect != 0) continue;
        struct model_key *key = &model->key[items[i].table][items[i].key];
        uint32_t at = unknown->count++;
        unknown->item[at].table = items[i].table;
        unknown->item[at].key = items[i].key;
        unknown->item[at].before = key->state == KEY_PRESENT;
        unknown->item[at].value_before = key->value;
        unknown->item[at].after = items[i].operation != OP_DELETE;
        unknown->item[at].value_after = items[i].value;
        key->state = KEY_TAINTED;
        key->version++;
        key->tainted_by = model->unknown_count;
    }
    return model->unknown_count;
}

/* --- Registers. --- */

uint32_t reg_begin(struct run *run, enum reg_kind kind, uint32_t row, uint64_t value)
{
    struct model *model = &run->model;
    if (model->reg_count == model->reg_size) {
        model->reg_size = model->reg_size * 2 + 64;
        model->reg = realloc(model->reg, model->reg_size * sizeof *model->reg);
        if (model->reg == NULL) abort();
    }
    model->reg[model->reg_count] =
        (struct reg_event){.kind = kind, .row = row, .value = value, .invoked = ++model->clock};
    return model->reg_count++;
}

void reg_finish(struct run *run, uint32_t index, enum reg_end end, uint64_t value)
{
    struct reg_event *event = &run->model.reg[index];
    event->end = end;
    event->returned = ++run->model.clock;
    if (event->kind != REG_WRITE) event->value = value;
}

static struct reg_event *write_of(struct model *model, uint32_t row, uint64_t value)
{
    for (uint32_t i = 0; i < model->reg_count; i++) {
        struct reg_event *event = &model->reg[i];
        if (event->kind == REG_WRITE && event->row == row && event->value == value) return event;
    }
    return NULL;
}

/* When a write was over for certain; never, when nobody told. */
static uint64_t write_returned(const struct reg_event *write)
{
    return write->end == REG_DONE ? write->returned : UINT64_MAX;
}

static bool visible(const struct reg_event *event)
{
    return event->kind == REG_WRITE && event->end != REG_ABORTED;
}

/* I-SIM-2: a committed read may come from any replica: it must not be older than what was
 * acknowledged before it began. */
static void check_committed_read(struct run *run, const struct reg_event *read,
                                 const struct reg_event *write)
{
    const struct model *model = &run->model;
    for (uint32_t i = 0; i < model->reg_count; i++) {
        const struct reg_event *other = &model->reg[i];
        if (!visible(other) || other->row != read->row || other == write || other->end != REG_DONE)
            continue;
        if (other->returned < read->invoked && write_returned(write) < other->invoked) {
            run_fail(run, SIM_CORRECTNESS,
                     "register %u: a committed read saw %llu, which %llu had replaced before",
                     read->row, (unsigned long long)read->value, (unsigned long long)other->value);
        }
    }
}

/* The zone of a value: from the first end to the last begin of its write and its locked reads. */
struct zone {
    uint64_t first_end;
    uint64_t last_begin;
    uint64_t value;
    uint32_t reads;
};

static struct zone zone_of(const struct model *model, const struct reg_event *write)
{
    struct zone zone = {write_returned(write), write->invoked, write->value, 0};
    for (uint32_t i = 0; i < model->reg_count; i++) {
        const struct reg_event *read = &model->reg[i];
        if (read->kind != REG_READ_LOCKED || read->end != REG_DONE || read->row != write->row ||
            read->value != write->value)
            continue;
        zone.reads++;
        if (read->returned < zone.first_end) zone.first_end = read->returned;
        if (read->invoked > zone.last_begin) zone.last_begin = read->invoked;
    }
    return zone;
}

/*
 * Values are unique, so a history is linearizable exactly when no two forward zones overlap and no
 * backward zone lies inside a forward one (Gibbons and Korach).
 */
static void check_row(struct run *run, uint32_t row)
{
    struct model *model = &run->model;
    struct zone *zones = calloc(model->reg_count + 1u, sizeof *zones);
    uint32_t count = 0;
    for (uint32_t i = 0; i < model->reg_count; i++) {
        const struct reg_event *write = &model->reg[i];
        if (!visible(write) || write->row != row) continue;
        zones[count] = zone_of(model, write);
        if (write->end == REG_DONE || zones[count].reads > 0) count++;
    }
    for (uint32_t a = 0; a < count; a++) {
        if (zones[a].first_end >= zones[a].last_begin) continue; /* Not a forward zone. */
        for (uint32_t b = 0; b < count; b++) {
            bool forward = zones[b].first_end < zones[b].last_begin;
            bool overlap = zones[b].first_end < zones[a].last_begin &&
                           zones[a].first_end < zones[b].last_begin;
            bool inside = zones[b].last_begin > zones[a].first_end &&
                          zones[b].first_end < zones[a].last_begin;
            if (a == b || !(forward ? overlap : inside)) continue;
            run_fail(run, SIM_CORRECTNESS, "register %u is not linearizable: values %llu and %llu",
                     row, (unsigned long long)zones[a].value, (unsigned long long)zones[b].value);
        }
    }
    free(zones);
}

void reg_check(struct run *run)
{
    struct model *model = &run->model;
    for (uint32_t i = 0; i < model->reg_count; i++) {
        const struct reg_event *read = &model->reg[i];
        if (read->kind == REG_WRITE || read->end != REG_DONE) continue;
        const struct reg_event *write = write_of(model, read->row, read->value);
        if (write == NULL || write->end == REG_ABORTED || write->invoked > read->returned) {
            run_fail(run, SIM_CORRECTNESS, "register %u: a read saw %llu, which was %s", read->row,
                     (unsigned long long)read->value,
                     write == NULL               ? "never written"
                     : write->end == REG_ABORTED ? "aborted"
                                                 : "not yet written");
            return;
        }
        if (read->kind == REG_READ_COMMITTED) check_committed_read(run, read, write);
    }
    for (uint32_t row = 0; row < run->swarm.registers; row++)
        check_row(run, row);
}
