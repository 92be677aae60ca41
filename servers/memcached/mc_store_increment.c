/* mc_store_increment.c -- INCREMENT and DECREMENT: a program where the row is, in one round trip.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "servers/memcached/mc_convert.h"
#include "servers/memcached/mc_store_large.h"
#include "servers/memcached/mc_store_private.h"

enum { LIVE = 1, SAME, NUMBER, WRAP, FLOOR, STORE };
enum { VALUE = 0, DELTA, ROOM, ONE };

static bool has_text(const struct mc_container *container)
{
    return container->dup_numbers && container->value_count == 1;
}

/* An increment goes round at 2^64, a decrement stops at 0. */
static uint64_t result_of(const struct mc_work *job, uint64_t number)
{
    uint64_t delta = job->request->delta;
    if (job->action == ACTION_INCREMENT) return number + delta;
    return number > delta ? number - delta : 0;
}

/* ---- The program ---- */

static void put_add(struct ndb_program *program, uint64_t delta)
{
    ndb_program_load_unsigned(program, ROOM, UINT64_MAX - delta);
    ndb_program_branch_numbers(program, VALUE, NDB_GT, ROOM, WRAP);
    ndb_program_compute(program, NDB_ADD, VALUE, VALUE, DELTA);
    ndb_program_branch(program, STORE);
    ndb_program_label(program, WRAP);
    ndb_program_load_unsigned(program, ONE, 1);
    ndb_program_compute(program, NDB_SUBTRACT, VALUE, VALUE, ROOM);
    ndb_program_compute(program, NDB_SUBTRACT, VALUE, VALUE, ONE);
}

static void put_subtract(struct ndb_program *program)
{
    ndb_program_branch_numbers(program, VALUE, NDB_LE, DELTA, FLOOR);
    ndb_program_compute(program, NDB_SUBTRACT, VALUE, VALUE, DELTA);
    ndb_program_branch(program, STORE);
    ndb_program_label(program, FLOOR);
    ndb_program_load_unsigned(program, VALUE, 0);
}

static void put_text_away(struct mc_work *job, struct ndb_program *program)
{
    if (has_text(job->container))
        ndb_program_store_value(program, job->container->value[0], NULL, 0);
}

static void put_expiry(struct mc_work *job, struct ndb_program *program)
{
    uint32_t column = job->container->expire_column;
    uint32_t expiry = job->request->expiry;
    uint8_t *stored = job->store->stored;
    bool never = expiry == 0 && mc_is_nullable(job->container, column);
    uint32_t size = mc_expiry_in(job->container->table, column, expiry, stored);
    ndb_program_store_value(program, column, never ? NULL : stored, never ? 0 : size);
}

/* T of ma: the expiry of a row that is there. */
static void put_touch(struct mc_work *job, struct ndb_program *program)
{
    if (job->request->touch && job->container->expire_column != MC_NO_COLUMN)
        put_expiry(job, program);
}

/* The row has expired: it is as if it were not there. */
static void put_expired(struct mc_work *job, struct ndb_program *program, uint64_t cas)
{
    const struct mc_container *container = job->container;
    if (!job->request->create) {
        ndb_program_refuse(program, CODE_NO_ROW);
        return;
    }
    put_expiry(job, program);
    ndb_program_load_unsigned(program, VALUE, job->request->initial);
    ndb_program_store(program, container->increment_column, VALUE);
    if (container->flags_column != MC_NO_COLUMN) {
        ndb_program_load_unsigned(program, DELTA, 0);
        ndb_program_store(program, container->flags_column, DELTA);
    }
    put_text_away(job, program);
    mc_program_set_cas(job, program, cas);
    ndb_program_exit_stored(program);
}

/* NULL: no memory. */
static struct ndb_program *program_of(struct mc_work *job, uint64_t cas_created)
{
    const struct mc_container *container = job->container;
    struct ndb_program *program = ndb_program_create(job->store->ndb, container->table);
    if (program == NULL) return NULL;
    if (container->expire_column != MC_NO_COLUMN) {
        mc_program_live(job, program, LIVE);
        put_expired(job, program, cas_created);
        ndb_program_label(program, LIVE);
    }
    if (job->request->cas_given) mc_program_cas(job, program, SAME);
    ndb_program_branch_null(program, container->increment_column, false, NUMBER);
    ndb_program_refuse(program, CODE_NO_NUMBER);
    ndb_program_label(program, NUMBER);
    ndb_program_load(program, VALUE, container->increment_column);
    ndb_program_load_unsigned(program, DELTA, job->request->delta);
    if (job->action == ACTION_INCREMENT)
        put_add(program, job->request->delta);
    else
        put_subtract(program);
    ndb_program_label(program, STORE);
    ndb_program_store(program, container->increment_column, VALUE);
    put_text_away(job, program);
    put_touch(job, program);
    mc_program_set_cas(job, program, job->cas);
    ndb_program_exit_stored(program);
    ndb_program_finish(program);
    return program;
}

/* ---- One round trip ---- */

static void incremented(struct mc_work *job, const ndb_error_t *error)
{
    struct mc_result *result = &job->request->result;
    if (error->code == CODE_ROWS_LOST) {
        mc_store_count(job->store, error->code);
        mc_work_end(job, MC_TEMPORARY, "done, but the number is not known");
        return;
    }
    if (error->code == CODE_OUT_OF_RANGE) {
        mc_store_count(job->store, error->code);
        mc_work_end(job, MC_INVALID, "the number does not fit the column");
        return;
    }
    if (error->code != 0) {
        mc_work_fail(job, error);
        return;
    }
    if (!mc_row_result(job, false) ||
        !mc_row_integer(job, job->container->increment_column, &result->number)) {
        mc_work_end(job, MC_TEMPORARY, "done, but the number is not known");
        return;
    }
    result->created = job->request->create && result->cas != 0 && result->cas != job->cas;
    mc_work_end(job, MC_OK, NULL);
}

/* The row as it is when it is a new one. */
static enum mc_status put_initial(struct mc_work *job, struct ndb_operation *operation,
                                  uint64_t cas)
{
    const struct mc_container *container = job->container;
    uint8_t stored[64];
    uint32_t size =
        mc_integer_in(container->table, container->increment_column, job->request->initial, stored);
    if (size == 0) {
        struct ndb_column_info info;
        if (ndb_table_column(container->table, container->increment_column, &info) == 0)
            job->request->result.column = info.name;
        return MC_INVALID;
    }
    bool good = ndb_operation_set(operation, container->increment_column, stored, size) == 0;
    if (container->flags_column != MC_NO_COLUMN) {
        size = mc_integer_in(container->table, container->flags_column, 0, stored);
        good = good && ndb_operation_set(operation, container->flags_column, stored, size) == 0;
    }
    if (container->cas_column != MC_NO_COLUMN) {
        size = mc_cas_in(job, cas, stored);
        good = good && ndb_operation_set(operation, container->cas_column, stored, size) == 0;
    }
    if (container->expire_column != MC_NO_COLUMN && job->request->expiry != 0) {
        uint8_t *expiry = job->store->stored;
        size =
            mc_expiry_in(container->table, container->expire_column, job->request->expiry, expiry);
        good = good && ndb_operation_set(operation, container->expire_column, expiry, size) == 0;
    }
    return good ? MC_OK : MC_INVALID;
}

static void increment_row(struct mc_work *job, const struct ndb_program *program,
                          uint64_t cas_created)
{
    uint32_t columns[MC_ROW_COLUMNS];
    const struct ndb_operation_options options = {.program = program};
    if (program != NULL)
        job->operation =
            mc_row_operation(job, job->request->create ? NDB_WRITE : NDB_UPDATE, &options);
    if (job->operation == NULL) {
        mc_work_undefined(job);
        return;
    }
    enum mc_status status =
        job->request->create ? put_initial(job, job->operation, cas_created) : MC_OK;
    if (status != MC_OK) {
        mc_work_end(job, status, NULL);
        return;
    }
    bool good = true;
    bool named = false;
    uint32_t count = mc_row_columns(job, false, columns);
    for (uint32_t i = 0; good && i < count; i++) {
        good = ndb_operation_get(job->operation, columns[i]) == 0;
        named = named || columns[i] == job->container->increment_column;
    }
    if (good && !named)
        good = ndb_operation_get(job->operation, job->container->increment_column) == 0;
    if (good)
        mc_work_execute(job, NDB_COMMIT, incremented);
    else
        mc_work_undefined(job);
}

void mc_increment_begin(struct mc_work *job)
{
    const struct mc_container *container = job->container;
    /* In the place of a value that has expired its parts may be left. */
    bool parts_left = container->parts != NULL && container->expire_column != MC_NO_COLUMN &&
                      job->request->create;
    if (container->access != MC_BY_PRIMARY_KEY || parts_left) {
        mc_lock_begin(job);
        return;
    }
    uint64_t cas_created =
        job->request->meta.new_cas_given ? job->cas : mc_store_new_cas(job->store);
    struct ndb_program *program = program_of(job, cas_created);
    job->cas = mc_cas_of_column(job, job->cas);
    if (mc_work_transaction(job)) increment_row(job, program, cas_created);
    ndb_program_free(program);
}

/* ---- With the row locked ---- */

void mc_increment_locked(struct mc_work *job)
{
    const struct mc_container *container = job->container;
    uint64_t number;
    uint8_t stored[8];
    if (!mc_row_integer(job, container->increment_column, &number)) {
        mc_work_end(job, MC_NON_NUMERIC, NULL);
        return;
    }
    number = result_of(job, number);
    uint32_t size = mc_integer_in(container->table, container->increment_column, number, stored);
    if (size == 0) {
        mc_work_end(job, MC_INVALID, "the number does not fit the column");
        return;
    }
    (void)mc_row_result(job, false);
    job->request->result.number = number;
    if (job->request->touch && container->expire_column != MC_NO_COLUMN)
        job->request->result.expiry = job->request->expiry;
    struct ndb_program *program = ndb_program_create(job->store->ndb, container->table);
    if (program != NULL) {
        ndb_program_store_value(program, container->increment_column, stored, size);
        put_text_away(job, program);
        put_touch(job, program);
        mc_program_set_cas(job, program, job->cas);
        ndb_program_exit_stored(program);
        ndb_program_finish(program);
    }
    const struct ndb_operation_options options = {.program = program};
    if (program != NULL && mc_row_operation(job, NDB_UPDATE, &options) != NULL)
        mc_lock_commit(job);
    else
        mc_work_undefined(job);
    ndb_program_free(program);
}

/* What a row that has expired had: NULL, where it can be. */
static bool clear_row(struct mc_work *job, struct ndb_operation *operation)
{
    const struct mc_container *container = job->container;
    bool good = true;
    if (has_text(container)) good = ndb_operation_set(operation, container->value[0], NULL, 0) == 0;
    if (container->parts != NULL)
        good = good && ndb_operation_set(operation, container->ext_id_column, NULL, 0) == 0 &&
               ndb_operation_set(operation, container->ext_size_column, NULL, 0) == 0;
    if (job->request->expiry == 0 && mc_is_nullable(container, container->expire_column))
        good = good && ndb_operation_set(operation, container->expire_column, NULL, 0) == 0;
    return good;
}

static void create_row(struct mc_work *job)
{
    struct ndb_operation *operation =
        mc_row_operation(job, job->exists ? NDB_UPDATE : NDB_INSERT, NULL);
    if (operation == NULL) {
        mc_work_undefined(job);
        return;
    }
    enum mc_status status = put_initial(job, operation, job->cas);
    bool good = status == MC_OK && (!job->exists || clear_row(job, operation));
    job->request->result.number = job->request->initial;
    job->request->result.created = true;
    if (good)
        mc_lock_commit(job);
    else
        mc_work_end(job, status == MC_OK ? MC_INVALID : status, NULL);
}

void mc_increment_create(struct mc_work *job)
{
    if (job->container->parts != NULL)
        mc_large_delete(job, create_row);
    else
        create_row(job);
}
