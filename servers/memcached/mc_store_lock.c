/* mc_store_lock.c -- commands on a row that is locked and read first: found by a unique index, with
 * a value in parts, or with a new value that depends on the old one. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "servers/memcached/mc_convert.h"
#include "servers/memcached/mc_store_large.h"
#include "servers/memcached/mc_store_private.h"

/* ---- The lock ---- */

/* False: not defined. */
static bool read_by_unique(struct mc_work *job, enum ndb_lock_mode lock)
{
    const struct ndb_operation_options options = {.lock = lock};
    if (!mc_records_take(job) || !mc_records_set_key(job)) return false;
    job->operation = ndb_read(job->transaction, job->records->key, job->row, job->records->row,
                              job->row, &options);
    return job->operation != NULL;
}

static void row_locked(struct mc_work *job, const ndb_error_t *error)
{
    ndb_error_t missing = *error;
    if (missing.code == 0) missing = *ndb_operation_error(job->operation);
    if (missing.code != 0 && missing.code != CODE_NO_ROW) {
        mc_work_fail(job, &missing);
        return;
    }
    job->exists = missing.code == 0;
    job->expired = job->exists && mc_row_expired(job);
    job->locked(job);
}

static bool read_by_primary(struct mc_work *job, enum ndb_lock_mode lock)
{
    uint32_t columns[MC_ROW_COLUMNS];
    const struct ndb_operation_options options = {.lock = lock};
    bool counts = job->action == ACTION_INCREMENT || job->action == ACTION_DECREMENT;
    bool value = job->action == ACTION_GET
                     ? job->request->want_value
                     : job->action >= ACTION_APPEND || job->request->cas_of_copy;
    job->operation = mc_row_operation(job, NDB_READ, &options);
    if (job->operation == NULL) return false;
    uint32_t count = mc_row_columns(job, value, columns);
    for (uint32_t i = 0; i < count; i++) {
        if (ndb_operation_get(job->operation, columns[i]) != 0) return false;
        counts = counts && columns[i] != job->container->increment_column;
    }
    return !counts || ndb_operation_get(job->operation, job->container->increment_column) == 0;
}

void mc_lock_row(struct mc_work *job, enum ndb_lock_mode lock, enum ndb_execute_type type,
                 void (*then)(struct mc_work *job))
{
    job->locked = then;
    if (!mc_work_transaction(job)) return;
    bool good = job->primary != NULL ? read_by_primary(job, lock) : read_by_unique(job, lock);
    if (good)
        mc_work_execute(job, type, row_locked);
    else
        mc_work_undefined(job);
}

/* ---- The end ---- */

static void committed(struct mc_work *job, const ndb_error_t *error)
{
    struct mc_result *result = &job->request->result;
    uint32_t id;
    uint32_t size;
    if (error->code == CODE_ROW_EXISTS || error->code == CODE_NO_ROW) {
        /* Another one has inserted the row, or a part with the number that was chosen for it. */
        if (job->action == ACTION_PURGE)
            mc_work_end(job, MC_NOT_FOUND, NULL);
        else
            mc_work_again(job, error->text);
    } else if (error->code != 0) {
        mc_work_fail(job, error);
    } else if (job->action == ACTION_PURGE || (job->action == ACTION_DELETE && job->expired)) {
        mc_work_end(job, MC_NOT_FOUND, NULL);
    } else if (job->action == ACTION_GET && job->request->want_value &&
               mc_row_external(job, &id, &size)) {
        job->changes = false;
        mc_large_read(job);
    } else {
        bool has_cas = job->container->cas_column != MC_NO_COLUMN;
        if (job->action != ACTION_GET && job->action != ACTION_DELETE)
            result->cas = has_cas ? mc_cas_of_column(job, job->cas) : 0;
        mc_work_end(job, MC_OK, NULL);
    }
}

void mc_lock_commit(struct mc_work *job)
{
    mc_work_execute(job, NDB_COMMIT, committed);
}

static void put_row(struct mc_work *job)
{
    struct ndb_operation *operation =
        mc_row_operation(job, job->exists ? NDB_UPDATE : NDB_INSERT, NULL);
    if (operation == NULL) {
        mc_work_undefined(job);
        return;
    }
    enum mc_status status = mc_row_put(job, operation, &job->row_new);
    if (status == MC_OK)
        mc_lock_commit(job);
    else
        mc_work_end(job, status, NULL);
}

static void put_large_row(struct mc_work *job)
{
    job->row_new.text = NULL;
    job->row_new.part_id = job->large->id;
    put_row(job);
}

void mc_lock_store(struct mc_work *job, const struct mc_new_row *row)
{
    job->row_new = *row;
    if (job->container->parts == NULL) {
        put_row(job);
    } else if (mc_large_needs_parts(job->container, row->text, row->size)) {
        mc_large_store(job, 0, row->size, put_large_row);
    } else {
        mc_large_delete(job, put_row);
    }
}

static void delete_row(struct mc_work *job)
{
    if (mc_row_operation(job, NDB_DELETE, NULL) != NULL)
        mc_lock_commit(job);
    else
        mc_work_undefined(job);
}

/* ---- What is done with the row ---- */

/* The request's value, as a new one. */
static void store_value(struct mc_work *job, uint32_t expiry)
{
    const struct mc_request *request = job->request;
    if (job->value == NULL)
        job->value = request->value == NULL ? mc_value_create(0) : mc_value_hold(request->value);
    if (job->value == NULL) {
        mc_work_end(job, MC_NO_MEMORY, NULL);
        return;
    }
    const struct mc_new_row row = {.text = job->value->bytes,
                                   .size = job->value->size,
                                   .all = true,
                                   .flags = request->flags,
                                   .expiry = expiry};
    mc_lock_store(job, &row);
}

static void touch(struct mc_work *job)
{
    const struct mc_container *container = job->container;
    uint8_t *stored = job->store->stored;
    uint32_t id;
    uint32_t parts;
    bool external = mc_row_external(job, &id, &parts);
    if (!mc_row_result(job, job->request->want_value && !external)) {
        mc_work_end(job, MC_FAILED, "the row has no text");
        return;
    }
    job->request->result.expiry = job->request->expiry;
    bool null = job->request->expiry == 0 && mc_is_nullable(container, container->expire_column);
    uint32_t size =
        mc_expiry_in(container->table, container->expire_column, job->request->expiry, stored);
    struct ndb_operation *operation = mc_row_operation(job, NDB_UPDATE, NULL);
    if (operation != NULL && ndb_operation_set(operation, container->expire_column,
                                               null ? NULL : stored, null ? 0 : size) == 0)
        mc_work_execute(job, NDB_COMMIT, committed);
    else
        mc_work_undefined(job);
}

/* Has the row still the value and the flags of the copy whose CAS number was given? Of a value in
   parts only its size is looked at here. */
static bool is_as_copied(const struct mc_work *job)
{
    const struct mc_request *request = job->request;
    const struct mc_container *container = job->container;
    uint64_t flags;
    uint32_t id;
    uint32_t parts_size;
    if (request->copy == NULL) return false;
    if (container->flags_column != MC_NO_COLUMN) {
        (void)mc_row_integer(job, container->flags_column, &flags);
        if ((uint32_t)flags != request->copy_flags) return false;
    }
    if (mc_row_external(job, &id, &parts_size)) return parts_size == request->copy->size;
    int size = mc_row_text(job);
    return size >= 0 && (uint32_t)size == request->copy->size &&
           memcmp(job->store->text, request->copy->bytes, request->copy->size) == 0;
}

static bool has_cas(const struct mc_work *job)
{
    uint64_t cas;
    if (job->request->cas_of_copy) return is_as_copied(job);
    return mc_row_integer(job, job->container->cas_column, &cas) && cas == job->request->cas;
}

/* The answer when the row does not allow the action; MC_OK: it does. */
static enum mc_status verdict(const struct mc_work *job)
{
    const struct mc_request *request = job->request;
    bool lives = job->exists && !job->expired;
    switch (job->action) {
    case ACTION_PURGE:
        return job->expired ? MC_OK : MC_NOT_FOUND;
    case ACTION_ADD:
        if (!lives) return MC_OK;
        return request->form.protocol == MC_BINARY ? MC_EXISTS : MC_NOT_STORED;
    case ACTION_SET:
        if (!lives) return request->cas_given ? MC_NOT_FOUND : MC_OK;
        break;
    case ACTION_REPLACE:
        if (!lives) return MC_NOT_STORED;
        break;
    case ACTION_APPEND:
    case ACTION_PREPEND:
        if (!lives) return request->meta.vivify_given ? MC_OK : MC_NOT_STORED;
        break;
    case ACTION_INCREMENT:
    case ACTION_DECREMENT:
        if (!lives) return request->create ? MC_OK : MC_NOT_FOUND;
        break;
    case ACTION_GET:
    case ACTION_DELETE:
    case ACTION_FLUSH:
        if (!job->exists) return MC_NOT_FOUND;
        if (!lives) return job->action == ACTION_DELETE ? MC_OK : MC_NOT_FOUND;
    }
    bool compare = request->cas_given && job->action != ACTION_GET;
    return compare && !has_cas(job) ? MC_EXISTS : MC_OK;
}

static void act(struct mc_work *job)
{
    bool lives = job->exists && !job->expired;
    switch (job->action) {
    case ACTION_GET:
        touch(job);
        break;
    case ACTION_DELETE:
    case ACTION_PURGE:
        mc_large_delete(job, delete_row);
        break;
    case ACTION_INCREMENT:
    case ACTION_DECREMENT:
        if (lives)
            mc_increment_locked(job);
        else
            mc_increment_create(job);
        break;
    case ACTION_APPEND:
    case ACTION_PREPEND:
        if (lives) {
            mc_append_locked(job);
            break;
        }
        job->request->result.created = true;
        job->request->result.size = job->request->value == NULL ? 0 : job->request->value->size;
        store_value(job, job->request->meta.vivify);
        break;
    case ACTION_SET:
    case ACTION_ADD:
    case ACTION_REPLACE:
    case ACTION_FLUSH:
        store_value(job, job->request->expiry);
    }
}

static void parts_compared(struct mc_work *job)
{
    const struct mc_value *value = job->large->value;
    if (memcmp(value->bytes, job->request->copy->bytes, value->size) == 0)
        act(job);
    else
        mc_work_end(job, MC_EXISTS, NULL);
}

static void decide(struct mc_work *job)
{
    uint32_t id;
    uint32_t size;
    enum mc_status status = verdict(job);
    if (status != MC_OK) {
        if (!job->exists) mc_store_count(job->store, CODE_NO_ROW);
        mc_work_end(job, status, NULL);
    } else if (job->exists && !mc_row_locate(job)) {
        mc_work_end(job, MC_NO_MEMORY, NULL);
    } else if (job->request->cas_of_copy && mc_row_external(job, &id, &size)) {
        mc_large_fetch(job, 0, size, parts_compared);
    } else {
        act(job);
    }
}

void mc_lock_begin(struct mc_work *job)
{
    mc_lock_row(job, NDB_LOCK_EXCLUSIVE, NDB_NO_COMMIT, decide);
}
