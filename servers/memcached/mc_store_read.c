/* mc_store_read.c -- GET: by primary key, unique index or ordered index; touch; rows that have
 * expired. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "servers/memcached/mc_convert.h"
#include "servers/memcached/mc_store_large.h"
#include "servers/memcached/mc_store_private.h"

/* ---- What was read ---- */

static void finish_read(struct mc_work *job)
{
    struct mc_request *request = job->request;
    uint32_t id;
    uint32_t size;
    if (mc_row_expired(job)) {
        mc_purge(job);
        return;
    }
    if (request->want_value && mc_row_external(job, &id, &size)) {
        mc_large_read(job);
        return;
    }
    if (!mc_row_result(job, request->want_value)) {
        mc_work_end(job, MC_FAILED, "the row has no text");
        return;
    }
    mc_work_end(job, MC_OK, NULL);
}

/* ---- By key ---- */

static void key_read(struct mc_work *job, const ndb_error_t *error)
{
    if (error->code == 0)
        finish_read(job);
    else
        mc_work_fail(job, error);
}

static void read_by_key(struct mc_work *job)
{
    mc_work_release(job);
    if (mc_batch_read(job, job->request->want_value, key_read)) return;
    ndb_error_t error;
    ndb_error_lookup(CODE_NO_CLIENT_MEMORY, &error);
    mc_work_fail(job, &error);
}

/* A row that was found by a unique index has a lock, which may be the last thing it needs. */
static void unique_read(struct mc_work *job)
{
    if (!job->exists) {
        mc_store_count(job->store, CODE_NO_ROW);
        mc_work_end(job, MC_NOT_FOUND, NULL);
    } else {
        finish_read(job);
    }
}

/* ---- By an ordered index ---- */

/* The key's values in the index's order. False: the index does not begin with these columns. */
static bool bound_of(const struct mc_work *job, const void *values[MC_COLUMNS_MAX],
                     uint32_t sizes[MC_COLUMNS_MAX])
{
    struct ndb_index_info index;
    if (ndb_table_index(job->container->table, job->container->index, &index) != 0 ||
        index.columns < job->key.count)
        return false;
    for (uint32_t i = 0; i < job->key.count; i++) {
        const struct mc_key_part *part = job->key.part;
        while (part < job->key.part + job->key.count && part->column != index.column[i])
            part++;
        if (part == job->key.part + job->key.count) return false;
        values[i] = job->key.bytes + part->offset;
        sizes[i] = part->size;
    }
    return true;
}

static void scan_read(struct ndb_scan *scan, void *context)
{
    struct mc_work *job = context;
    const void *row;
    int result = ndb_scan_try_next(scan, &row);
    if (result == NDB_SCAN_NOT_YET) return;
    if (result == 1) {
        finish_read(job);
    } else if (result == 0) {
        mc_work_end(job, MC_NOT_FOUND, NULL);
    } else {
        ndb_error_t error = *ndb_scan_error(scan);
        mc_work_fail(job, &error);
    }
}

static void read_by_range(struct mc_work *job)
{
    uint32_t columns[MC_ROW_COLUMNS];
    const void *values[MC_COLUMNS_MAX];
    uint32_t sizes[MC_COLUMNS_MAX];
    struct ndb_index_range range = {.index = job->container->index};
    if (!bound_of(job, values, sizes)) {
        mc_work_end(job, MC_FAILED, "the index is another one");
        return;
    }
    range.low = (struct ndb_index_bound){.columns = job->key.count, .value = values, .size = sizes};
    range.high = range.low;
    const struct ndb_scan_options options = {.lock = NDB_COMMITTED_READ,
                                             .limit = 1,
                                             .range = &range,
                                             .ready = scan_read,
                                             .context = job};
    uint32_t count = mc_row_columns(job, job->request->want_value, columns);
    job->scan = ndb_scan_start_columns(job->store->ndb, job->container->table, columns, count,
                                       &options, job->store->options.deadline_ms);
    if (job->scan != NULL) return;
    ndb_error_t error = *ndb_error(job->store->ndb);
    mc_work_fail(job, &error);
}

void mc_read_begin(struct mc_work *job)
{
    job->action = ACTION_GET;
    job->changes = false;
    switch (job->container->access) {
    case MC_BY_PRIMARY_KEY:
        read_by_key(job);
        break;
    case MC_BY_UNIQUE_INDEX:
        mc_lock_row(job, NDB_LOCK_SHARED, NDB_COMMIT, unique_read);
        break;
    case MC_BY_ORDERED_INDEX:
        read_by_range(job);
        break;
    }
}

/* ---- Rows that have expired ---- */

static void purged(struct mc_work *job, const ndb_error_t *error)
{
    if (error->code != 0) mc_store_count(job->store, error->code);
    mc_work_end(job, MC_NOT_FOUND, NULL);
}

/* Refuses unless the row still has the expiry that was read. NULL: no memory. */
static struct ndb_program *same_expiry(struct mc_work *job)
{
    const void *value;
    uint32_t size;
    uint32_t column = job->container->expire_column;
    struct ndb_program *program = ndb_program_create(job->store->ndb, job->container->table);
    if (program == NULL || !mc_row_value(job, column, &value, &size) || value == NULL)
        return program;
    ndb_program_branch_value(program, column, NDB_EQ, value, size, 1);
    ndb_program_refuse(program, CODE_NO_ROW);
    ndb_program_label(program, 1);
    ndb_program_exit_ok(program);
    ndb_program_finish(program);
    return program;
}

void mc_purge(struct mc_work *job)
{
    job->action = ACTION_PURGE;
    job->request->result.purged = true;
    if (!mc_row_locate(job)) {
        mc_work_end(job, MC_NOT_FOUND, NULL);
        return;
    }
    if (job->container->parts != NULL) {
        mc_work_release(job);
        mc_lock_begin(job);
        return;
    }
    struct ndb_program *program = same_expiry(job);
    const struct ndb_operation_options options = {.program = program};
    mc_work_release(job);
    if (mc_work_transaction(job)) {
        if (program != NULL && mc_row_operation(job, NDB_DELETE, &options) != NULL)
            mc_work_execute(job, NDB_COMMIT, purged);
        else
            mc_work_undefined(job);
    }
    ndb_program_free(program);
}

/* ---- Touch ---- */

static void touched(struct mc_work *job, const ndb_error_t *error)
{
    uint32_t id;
    uint32_t size;
    if (error->code == CODE_ROWS_LOST) { /* It is done; what it says now, a read tells. */
        job->changes = false;
        read_by_key(job);
    } else if (error->code != 0) {
        mc_work_fail(job, error);
    } else if (job->request->want_value && mc_row_external(job, &id, &size)) {
        job->changes = false;
        mc_large_read(job);
    } else if (!mc_row_result(job, job->request->want_value)) {
        mc_work_end(job, MC_FAILED, "the row has no text");
    } else {
        mc_work_end(job, MC_OK, NULL);
    }
}

/* Sets the expiry, unless it has come already. NULL: no memory. */
static struct ndb_program *new_expiry(struct mc_work *job)
{
    enum { LIVE = 1 };
    uint32_t column = job->container->expire_column;
    uint8_t *stored = job->store->stored;
    struct ndb_program *program = ndb_program_create(job->store->ndb, job->container->table);
    if (program == NULL) return NULL;
    mc_program_live(job, program, LIVE);
    ndb_program_refuse(program, CODE_NO_ROW);
    ndb_program_label(program, LIVE);
    bool null = job->request->expiry == 0 && mc_is_nullable(job->container, column);
    uint32_t size = mc_expiry_in(job->container->table, column, job->request->expiry, stored);
    ndb_program_store_value(program, column, null ? NULL : stored, null ? 0 : size);
    ndb_program_exit_stored(program);
    ndb_program_finish(program);
    return program;
}

void mc_touch_begin(struct mc_work *job)
{
    uint32_t columns[MC_ROW_COLUMNS];
    if (job->container->access != MC_BY_PRIMARY_KEY) {
        mc_lock_begin(job);
        return;
    }
    struct ndb_program *program = new_expiry(job);
    const struct ndb_operation_options options = {.program = program};
    if (mc_work_transaction(job)) {
        if (program != NULL) job->operation = mc_row_operation(job, NDB_UPDATE, &options);
        bool good = job->operation != NULL;
        uint32_t count = mc_row_columns(job, job->request->want_value, columns);
        for (uint32_t i = 0; good && i < count; i++)
            good = ndb_operation_get(job->operation, columns[i]) == 0;
        if (good)
            mc_work_execute(job, NDB_COMMIT, touched);
        else
            mc_work_undefined(job);
    }
    ndb_program_free(program);
}
