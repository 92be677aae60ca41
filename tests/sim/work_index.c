/* work_index.c -- indexes, ordered and unique, that are created and dropped while the others change
 * and scan the rows. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Each session has one index of a kind at most, of any table. That its entries are those of the
 * rows, tup_check says, or check_unique.c; scans of it, work_scan.c; that it is there or not, as
 * the session was told, the next job of this kind.
 */
#include <stdio.h>
#include <string.h>
#include "values/errors.h"
#include "values/table_index.h"
#include "tests/sim/works.h"

#define INDEX_TIMEOUT_MS 60000u
#define COLUMNS_DRAWN    3u
#define NO_ID            UINT32_MAX /* The id has not been read yet. */

enum { STEP_LOOK = 0, STEP_CHANGE, STEP_LOOK_AGAIN };

static bool is_unique(const struct session *session)
{
    return session->work == WORK_OWN;
}

static struct model_online *model_of(const struct session *session)
{
    struct model *model = &session->client->run->model;
    return is_unique(session) ? &model->own[session->no] : &model->online[session->no];
}

struct model_online *index_draw(struct run *run, uint32_t table)
{
    uint32_t count = CLIENTS_MAX * SESSIONS_MAX;
    uint32_t first = (uint32_t)rng_below(work_rng(run), count);
    for (uint32_t i = 0; i < count; i++) {
        struct model_online *online = &run->model.online[(first + i) % count];
        bool known = online->state == ONLINE_THERE && online->id != NO_ID;
        if (known && online->table == table) return online;
    }
    return NULL;
}

static uint32_t index_name(const struct session *session, char name[32])
{
    return (uint32_t)snprintf(name, 32, "%s%u_%u", is_unique(session) ? "own" : "on", session->no,
                              model_of(session)->number);
}

static void give_up(struct session *session, uint32_t error)
{
    struct run *run = session->client->run;
    bool full = error == ERR_INDEXES_TOO_MANY || error == ERR_SCHEMA_ABORTED;
    /* A drop whose answer was lost may have ended only behind the look. */
    bool gone = error == ERR_INDEX_MISSING && session->phase == STEP_CHANGE && session->rollback &&
                model_of(session)->doubted;
    if (error != 0 && !full && !gone && !error_allowed(run, error))
        run_fail(run, SIM_CORRECTNESS, "session %u: step %u of an index: error %u", session->no,
                 session->phase, error);
    session_done(session);
}

static void dict_done(void *context, const struct api_dict_result *result);

static void look(struct session *session)
{
    char name[TABLE_NAME_MAX + 1];
    table_def_internal_name(session->client->run->def[model_of(session)->table], name, sizeof name);
    uint32_t error = api_dict_get(session->api, name, INDEX_TIMEOUT_MS, dict_done, session);
    if (error != 0) give_up(session, error);
}

static void alter(struct session *session, const struct table_def *def, uint32_t kind,
                  const uint32_t *words, uint32_t count)
{
    const struct alter_table_req req = {
        .table_id = def->table_id, .version = def->version, .kind = kind};
    const struct section section = {words, count};
    model_of(session)->state = ONLINE_UNKNOWN;
    model_of(session)->changes++;
    uint32_t error =
        api_dict_alter(session->api, &req, &section, INDEX_TIMEOUT_MS, dict_done, NULL, session);
    if (error != 0) give_up(session, error);
}

/* Columns that it is to have, one per half word; returns their number. */
static uint32_t draw_columns(const struct session *session, const struct table_def *def,
                             uint32_t *words)
{
    struct run *run = session->client->run;
    struct model_online *online = model_of(session);
    uint32_t count = 1 + (uint32_t)rng_below(work_rng(run), COLUMNS_DRAWN);
    uint32_t first = (uint32_t)rng_below(work_rng(run), 3);
    online->by_value = first == 0;
    for (uint32_t i = 0; i < count; i++) /* v, f and s, in any order. */
        words[i / 2] |= (row_value_column(run, online->table) + (first + i) % 3u) << i % 2 * 16;
    uint32_t base = row_columns(run, online->table);
    if (count > 1 && def->column_count > base && rng_chance(work_rng(run), 1, 2)) {
        uint32_t last = (count - 1) % 2 * 16; /* One that was added. */
        words[(count - 1) / 2] &= ~(0xFFFFu << last);
        words[(count - 1) / 2] |= (def->column_count - 1u) << last;
    }
    return count;
}

/* v, or f and s: rows never have them alike, but for NULLs. */
static uint32_t draw_unique_columns(const struct session *session, uint32_t *words)
{
    struct run *run = session->client->run;
    uint32_t v = row_value_column(run, model_of(session)->table);
    run->model.own_tried[model_of(session)->table] = true;
    bool value = rng_chance(work_rng(run), 1, 2);
    words[0] = value ? v : (v + 1u) | (v + 2u) << 16;
    return value ? 1 : 2;
}

static void create(struct session *session, const struct table_def *def)
{
    struct model_online *online = model_of(session);
    bool unique = is_unique(session);
    uint32_t words[16] = {0};
    char name[32];
    online->number = (uint32_t)++session->client->run->model.next_value;
    online->id = NO_ID;
    uint32_t count =
        unique ? draw_unique_columns(session, words + 1) : draw_columns(session, def, words + 1);
    uint32_t size = index_name(session, name);
    words[0] = size | count << 16;
    uint32_t at = 1 + (count + 1) / 2;
    memcpy(words + at, name, size);
    alter(session, def, unique ? ALTER_CREATE_UNIQUE : ALTER_CREATE_INDEX, words,
          at + words_of(size));
}

static void drop(struct session *session, const struct table_def *def)
{
    uint32_t words[16] = {0};
    char name[32];
    words[0] = index_name(session, name);
    memcpy(words + 1, name, words[0]);
    alter(session, def, ALTER_DROP_INDEX, words, 1 + words_of(words[0]));
}

/* What the dictionary says against what the session was told. */
static bool look_at(struct session *session, const struct table_def *def)
{
    struct run *run = session->client->run;
    struct model_online *online = model_of(session);
    struct table_index index;
    uint32_t number;
    char name[32];
    uint32_t size = index_name(session, name);
    bool there = is_unique(session) ? table_def_unique_find(def, name, size, &number)
                                    : table_def_index_find(def, name, size, &number);
    if (online->state != ONLINE_UNKNOWN && there != (online->state == ONLINE_THERE))
        run_fail(run, SIM_CORRECTNESS, "session %u: index %s is %s", session->no, name,
                 there ? "still there" : "not there");
    if (!there) return false;
    if (is_unique(session)) return true;
    table_def_index(def, number, &index);
    online->id = index.id;
    return true;
}

static void dict_done(void *context, const struct api_dict_result *result)
{
    struct session *session = context;
    struct run *run = session->client->run;
    struct model_online *online = model_of(session);
    if (result->error != 0 || run->durability.down) {
        if (result->table != NULL) api_table_release(result->table);
        give_up(session, result->error);
        return;
    }
    if (session->phase == STEP_CHANGE) {
        session->phase = STEP_LOOK_AGAIN;
        online->state = session->rollback ? ONLINE_GONE : ONLINE_THERE;
        if (is_unique(session) && session->rollback) run->figures.uniques_dropped++;
        if (is_unique(session) && !session->rollback) run->figures.uniques_made++;
        look(session);
        return;
    }
    const struct table_def *def = api_table_def(result->table);
    bool there = look_at(session, def);
    online->doubted = online->state == ONLINE_UNKNOWN;
    online->state = there ? ONLINE_THERE : ONLINE_GONE;
    if (session->phase == STEP_LOOK_AGAIN) {
        session_done(session);
    } else {
        session->phase = STEP_CHANGE;
        session->rollback = there; /* It is to go. */
        if (there)
            drop(session, def);
        else
            create(session, def);
    }
    api_table_release(result->table);
}

void index_start(struct session *session)
{
    struct run *run = session->client->run;
    struct model_online *online = model_of(session);
    session->phase = STEP_LOOK;
    if (online->state == ONLINE_GONE)
        online->table = (uint32_t)rng_below(work_rng(run), run->table_count);
    if (is_unique(session) && online->table == TABLE_BANK)
        session_done(session); /* Accounts have equal values. */
    else
        look(session);
}

void index_crashed(struct session *session)
{
    struct model_online *online = model_of(session);
    if (session->phase == STEP_CHANGE) online->state = ONLINE_UNKNOWN;
}
