/* mc_store_large.c -- values longer than their column: cut into parts, which are rows of another
 * table. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The row says under which id its parts stand, and how many bytes they are together: parts 0 ..
 * n-1, all full but the last one. Whoever reads or writes them locks the row first, and reads them
 * with a lock, too: a commit may have reached the row and not yet a part. So a value that is read
 * is always one that was written whole.
 *
 * An id is chosen at random and taken by inserting part 0; if there is such a part already, the
 * transaction begins anew with another one, so no id is ever that of two values. That needs no
 * counter, for which one had to wait. Other programs may take ids of the table's AUTO_INCREMENT,
 * and insert where they expect no row: they count from 1, so ours are of the upper half of what the
 * columns can be.
 *
 * Some parts go in one round trip, so that no transaction fills the buffers on the way.
 */
#include <stdlib.h>
#include <string.h>
#include "servers/memcached/mc_convert.h"
#include "servers/memcached/mc_store_large.h"
#include "servers/memcached/mc_store_private.h"

bool mc_large_needs_parts(const struct mc_container *container, const char *text, uint32_t size)
{
    struct ndb_column_info info;
    if (container->parts == NULL) return false;
    bool fits =
        ndb_table_column(container->table, container->value[0], &info) == 0 && size <= info.length;
    return !fits && !mc_is_count(container, text, size);
}

uint64_t mc_large_size_max(const struct mc_work *job)
{
    uint64_t most = (uint64_t)MC_PARTS_MAX * job->container->part_bytes;
    uint32_t value_max = job->store->options.value_max;
    return value_max != 0 && value_max < most ? value_max : most;
}

static uint32_t parts_of(const struct mc_work *job, uint32_t size)
{
    uint32_t bytes = job->container->part_bytes;
    return size / bytes + (size % bytes != 0 ? 1u : 0u);
}

/* False: no memory, the job has ended. */
static bool begin(struct mc_work *job)
{
    if (job->large == NULL) job->large = calloc(1, sizeof *job->large);
    if (job->large != NULL) return true;
    mc_work_end(job, MC_NO_MEMORY, NULL);
    return false;
}

void mc_large_free(struct mc_work *job)
{
    if (job->large == NULL) return;
    mc_value_release(job->large->value);
    free(job->large);
    job->large = NULL;
}

struct ndb_operation *mc_part_operation(const struct mc_container *container,
                                        struct ndb_transaction *transaction,
                                        enum ndb_operation_type type, uint32_t id, uint32_t part,
                                        const struct ndb_operation_options *options)
{
    uint8_t stored[8];
    struct ndb_operation *operation =
        ndb_operation_define(transaction, container->parts, type, options);
    uint32_t size = mc_integer_in(container->parts, container->part_id, id, stored);
    if (operation == NULL || size == 0 ||
        ndb_operation_set(operation, container->part_id, stored, size) != 0)
        return NULL;
    size = mc_integer_in(container->parts, container->part_number, part, stored);
    if (size == 0 || ndb_operation_set(operation, container->part_number, stored, size) != 0)
        return NULL;
    return operation;
}

/* ---- Reading ---- */

static uint32_t part_size(const struct mc_work *job, uint32_t part)
{
    uint32_t bytes = job->container->part_bytes;
    uint32_t left = job->large->value->size - (part - job->large->first) * bytes;
    return left < bytes ? left : bytes;
}

/* False: it is not there as the row says. */
static bool take_part(struct mc_work *job, uint32_t part, struct ndb_operation *operation)
{
    const struct mc_container *container = job->container;
    struct ndb_column_info info;
    const uint8_t *content;
    const void *value;
    uint32_t size;
    char *to =
        job->large->value->bytes + (size_t)(part - job->large->first) * container->part_bytes;
    if (ndb_operation_error(operation)->code != 0 ||
        ndb_table_column(container->parts, container->part_content, &info) != 0 ||
        ndb_operation_value(operation, container->part_content, &value, &size) != 0 ||
        value == NULL || size < info.prefix_bytes)
        return false;
    content = (const uint8_t *)value + info.prefix_bytes;
    size -= info.prefix_bytes;
    if (size < part_size(job, part)) return false;
    memcpy(to, content, part_size(job, part));
    return true;
}

static void fetch_some(struct mc_work *job);

static void fetched_some(struct mc_work *job, const ndb_error_t *error)
{
    struct mc_large *large = job->large;
    if (error->code != 0) {
        mc_work_fail(job, error);
        return;
    }
    for (uint32_t i = 0; large->at < large->end && i < MC_PARTS_AT_ONCE; i++) {
        ndb_error_t part_error = *ndb_operation_error(large->read[i]);
        if (part_error.status == NDB_STATUS_TEMPORARY || part_error.status == NDB_STATUS_UNKNOWN) {
            mc_work_fail(job, &part_error);
            return;
        }
        if (!take_part(job, large->at, large->read[i])) {
            mc_work_end(job, MC_FAILED, "a part of the value is missing");
            return;
        }
        large->at++;
    }
    fetch_some(job);
}

static void fetch_some(struct mc_work *job)
{
    struct mc_large *large = job->large;
    const struct ndb_operation_options options = {
        .lock = job->action == ACTION_GET ? NDB_LOCK_SHARED : NDB_LOCK_EXCLUSIVE};
    if (large->at == large->end) {
        large->then(job);
        return;
    }
    for (uint32_t i = 0; large->at + i < large->end && i < MC_PARTS_AT_ONCE; i++) {
        large->read[i] = mc_part_operation(job->container, job->transaction, NDB_READ, large->id,
                                           large->at + i, &options);
        if (large->read[i] == NULL ||
            ndb_operation_get(large->read[i], job->container->part_content) != 0) {
            mc_work_undefined(job);
            return;
        }
    }
    mc_work_execute(job, NDB_NO_COMMIT, fetched_some);
}

void mc_large_fetch(struct mc_work *job, uint32_t first, uint32_t size,
                    void (*then)(struct mc_work *job))
{
    uint32_t whole;
    if (!begin(job)) return;
    struct mc_large *large = job->large;
    (void)mc_row_external(job, &large->id, &whole);
    mc_value_release(large->value);
    large->value = mc_value_create(size);
    if (large->value == NULL) {
        mc_work_end(job, MC_NO_MEMORY, NULL);
        return;
    }
    large->first = large->at = first;
    large->end = first + parts_of(job, size);
    large->then = then;
    fetch_some(job);
}

static void value_read(struct mc_work *job)
{
    struct mc_result *result = &job->request->result;
    (void)mc_row_result(job, false);
    mc_value_release(result->value);
    result->value = job->large->value;
    job->large->value = NULL;
    mc_work_end(job, MC_OK, NULL);
}

static void read_locked(struct mc_work *job)
{
    uint32_t id;
    uint32_t size;
    if (job->expired) {
        mc_purge(job);
    } else if (!job->exists) {
        mc_work_end(job, MC_NOT_FOUND, NULL);
    } else if (!mc_row_external(job, &id, &size)) { /* By now. */
        if (mc_row_result(job, true))
            mc_work_end(job, MC_OK, NULL);
        else
            mc_work_end(job, MC_FAILED, "the row has no text");
    } else if (size > (uint64_t)MC_PARTS_MAX * job->container->part_bytes) {
        mc_work_end(job, MC_FAILED, "the row says that its value has too many parts");
    } else {
        mc_large_fetch(job, 0, size, value_read);
    }
}

void mc_large_read(struct mc_work *job)
{
    if (!mc_row_locate(job)) {
        mc_work_end(job, MC_NO_MEMORY, NULL);
        return;
    }
    mc_work_release(job);
    mc_lock_row(job, NDB_LOCK_SHARED, NDB_NO_COMMIT, read_locked);
}

/* ---- Writing ---- */

static bool write_part(struct mc_work *job, uint32_t part)
{
    const struct mc_container *container = job->container;
    const struct mc_large *large = job->large;
    size_t offset = (size_t)(part - large->first) * container->part_bytes;
    size_t left = job->value->size - offset;
    uint32_t size = left < container->part_bytes ? (uint32_t)left : container->part_bytes;
    bool too_long;
    struct ndb_operation *operation = mc_part_operation(
        container, job->transaction, large->fresh ? NDB_INSERT : NDB_WRITE, large->id, part, NULL);
    int stored =
        mc_convert_in(container->parts, container->part_content, job->value->bytes + offset, size,
                      job->store->stored, MC_VALUE_BYTES, &too_long);
    return operation != NULL && stored >= 0 &&
           ndb_operation_set(operation, container->part_content, job->store->stored,
                             (uint32_t)stored) == 0;
}

static bool delete_part(struct mc_work *job, uint32_t part)
{
    const struct ndb_operation_options options = {.flags = NDB_OP_IGNORE_ERROR};
    return mc_part_operation(job->container, job->transaction, NDB_DELETE, job->large->id, part,
                             &options) != NULL;
}

static void store_some(struct mc_work *job);

static void stored_some(struct mc_work *job, const ndb_error_t *error)
{
    if (error->code == 0)
        store_some(job);
    else if (error->code == CODE_ROW_EXISTS)
        mc_work_again(job, error->text); /* Another id. */
    else
        mc_work_fail(job, error);
}

static void store_some(struct mc_work *job)
{
    struct mc_large *large = job->large;
    uint32_t last = large->end > large->old_parts ? large->end : large->old_parts;
    for (uint32_t i = 0; i < MC_PARTS_AT_ONCE && large->at < last; i++) {
        uint32_t part = large->at++;
        if (part < large->end ? write_part(job, part) : delete_part(job, part)) continue;
        mc_work_undefined(job);
        return;
    }
    /* What is to happen to the row goes with the last of them. */
    if (large->at == last)
        large->then(job);
    else
        mc_work_execute(job, NDB_NO_COMMIT, stored_some);
}

/* The greatest id, of 32 bits at most, that a column can be. */
static uint32_t greatest_id(const struct ndb_table *table, uint32_t column)
{
    uint8_t stored[8];
    uint32_t id = UINT32_MAX;
    while (id > 1 && mc_integer_in(table, column, id, stored) == 0)
        id /= 2;
    return id;
}

static uint32_t new_id(const struct mc_work *job)
{
    const struct mc_container *container = job->container;
    uint32_t here = greatest_id(container->table, container->ext_id_column);
    uint32_t there = greatest_id(container->parts, container->part_id);
    uint32_t most = here < there ? here : there;
    return most - (uint32_t)(mc_store_random(job->store) % (most / 2 + 1));
}

void mc_large_store(struct mc_work *job, uint32_t first, uint32_t size,
                    void (*then)(struct mc_work *job))
{
    uint32_t old_size = 0;
    if (size > mc_large_size_max(job)) {
        mc_work_end(job, MC_TOO_LARGE, NULL);
        return;
    }
    if (!begin(job)) return;
    struct mc_large *large = job->large;
    bool had = job->exists && mc_row_external(job, &large->id, &old_size);
    large->fresh = !had;
    if (!had) large->id = new_id(job);
    large->old_parts = had ? parts_of(job, old_size) : 0;
    large->first = large->at = first;
    large->end = parts_of(job, size);
    large->then = then;
    store_some(job);
}

void mc_large_delete(struct mc_work *job, void (*then)(struct mc_work *job))
{
    uint32_t id;
    uint32_t size;
    if (!job->exists || !mc_row_external(job, &id, &size)) {
        then(job);
        return;
    }
    if (!begin(job)) return;
    job->large->id = id;
    job->large->old_parts = parts_of(job, size);
    job->large->at = job->large->first = job->large->end = 0;
    job->large->then = then;
    store_some(job);
}
