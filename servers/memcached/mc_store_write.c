/* mc_store_write.c -- SET, ADD, REPLACE, CAS and DELETE in one round trip: by primary key, the
 * value in the row. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "servers/memcached/mc_store_private.h"

enum { LIVE = 1, SAME = 2 };

static bool expires(const struct mc_work *job)
{
    return job->container->expire_column != MC_NO_COLUMN;
}

static void change_row(struct mc_work *job, enum ndb_operation_type type, bool over_expired);

/* ADD finds a row: it is none when it has expired. */
static void row_exists(struct mc_work *job, const ndb_error_t *error)
{
    if (expires(job)) {
        change_row(job, NDB_UPDATE, true);
        return;
    }
    mc_store_count(job->store, error->code);
    bool binary = job->request->form.protocol == MC_BINARY;
    mc_work_end(job, binary ? MC_EXISTS : MC_NOT_STORED, NULL);
}

static void changed(struct mc_work *job, const ndb_error_t *error)
{
    if (error->code == 0) {
        if (job->container->cas_column != MC_NO_COLUMN) job->request->result.cas = job->cas;
        mc_work_end(job, MC_OK, NULL);
    } else if (job->action == ACTION_ADD && error->code == CODE_ROW_EXISTS) {
        row_exists(job, error);
    } else if (job->action == ACTION_ADD && error->code == CODE_NOT_EXPIRED) {
        bool binary = job->request->form.protocol == MC_BINARY;
        mc_store_count(job->store, CODE_ROW_EXISTS);
        mc_work_end(job, binary ? MC_EXISTS : MC_NOT_STORED, NULL);
    } else if (job->action == ACTION_ADD && error->code == CODE_NO_ROW) {
        mc_work_again(job, error->text); /* Somebody has deleted it in between. */
    } else {
        mc_work_fail(job, error);
    }
}

/* What has to be true of a row that is there; NULL: no memory. */
static struct ndb_program *condition(struct mc_work *job, bool over_expired)
{
    struct ndb_program *program = ndb_program_create(job->store->ndb, job->container->table);
    if (program == NULL) return NULL;
    if (over_expired) {
        mc_program_live(job, program, LIVE);
        ndb_program_exit_ok(program);
        ndb_program_label(program, LIVE);
        ndb_program_refuse(program, CODE_NOT_EXPIRED);
        ndb_program_finish(program);
        return program;
    }
    if (expires(job)) {
        mc_program_live(job, program, LIVE);
        ndb_program_refuse(program, CODE_NO_ROW);
        ndb_program_label(program, LIVE);
    }
    if (job->request->cas_given) mc_program_cas(job, program, SAME);
    ndb_program_exit_ok(program);
    ndb_program_finish(program);
    return program;
}

static void change_row(struct mc_work *job, enum ndb_operation_type type, bool over_expired)
{
    const struct mc_request *request = job->request;
    const struct mc_new_row row = {
        .text = request->value == NULL ? "" : request->value->bytes,
        .size = request->value == NULL ? 0 : request->value->size,
        .all = true,
        .flags = request->flags,
        .expiry = request->expiry,
    };
    bool conditional = type == NDB_UPDATE && (expires(job) || request->cas_given);
    struct ndb_program *program = conditional ? condition(job, over_expired) : NULL;
    const struct ndb_operation_options options = {.program = program};
    if (mc_work_transaction(job)) {
        struct ndb_operation *operation =
            conditional && program == NULL
                ? NULL
                : mc_row_operation(job, type, program == NULL ? NULL : &options);
        enum mc_status status = operation == NULL ? MC_NO_MEMORY : mc_row_put(job, operation, &row);
        if (operation == NULL)
            mc_work_undefined(job);
        else if (status != MC_OK)
            mc_work_end(job, status, NULL);
        else
            mc_work_execute(job, NDB_COMMIT, changed);
    }
    ndb_program_free(program);
}

void mc_write_begin(struct mc_work *job)
{
    if (job->action == ACTION_ADD)
        change_row(job, NDB_INSERT, false);
    else if (job->action == ACTION_REPLACE || job->request->cas_given)
        change_row(job, NDB_UPDATE, false);
    else
        change_row(job, NDB_WRITE, false);
}

/* ---- DELETE ---- */

static void deleted(struct mc_work *job, const ndb_error_t *error)
{
    if (error->code == 0) {
        /* A row that had expired was one that nobody knew of any more. */
        bool expired = expires(job) && mc_row_expired(job);
        mc_work_end(job, expired ? MC_NOT_FOUND : MC_OK, NULL);
    } else if (error->code == CODE_ROWS_LOST) {
        mc_work_end(job, MC_OK, NULL);
    } else {
        mc_work_fail(job, error);
    }
}

void mc_delete_begin(struct mc_work *job)
{
    bool conditional = job->request->cas_given || expires(job);
    struct ndb_program *program =
        conditional ? ndb_program_create(job->store->ndb, job->container->table) : NULL;
    if (program != NULL) {
        if (job->request->cas_given) mc_program_cas(job, program, SAME);
        ndb_program_exit_ok(program);
        ndb_program_finish(program);
    }
    const struct ndb_operation_options options = {.program = program};
    if (mc_work_transaction(job)) {
        if (!conditional || program != NULL)
            job->operation = mc_row_operation(job, NDB_DELETE, conditional ? &options : NULL);
        bool good = job->operation != NULL;
        if (good && expires(job))
            good = ndb_operation_get(job->operation, job->container->expire_column) == 0;
        if (good)
            mc_work_execute(job, NDB_COMMIT, deleted);
        else
            mc_work_undefined(job);
    }
    ndb_program_free(program);
}
