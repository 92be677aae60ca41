/* mc_store_append.c -- APPEND and PREPEND: the row is locked, its value read and written anew. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of a large value that stay as they are are not touched: APPEND writes the last one
 * anew, if it is not full, and those that follow.
 */
#include <string.h>
#include "servers/memcached/mc_store_large.h"
#include "servers/memcached/mc_store_private.h"

/* Old and new text together: job->value. False: no memory, the job has ended. */
static bool join(struct mc_work *job, const char *old, uint32_t old_size)
{
    const struct mc_value *added = job->request->value;
    uint32_t added_size = added == NULL ? 0 : added->size;
    struct mc_value *value = mc_value_create(old_size + added_size);
    if (value == NULL) {
        mc_work_end(job, MC_NO_MEMORY, NULL);
        return false;
    }
    bool append = job->action == ACTION_APPEND;
    memcpy(value->bytes + (append ? 0 : added_size), old, old_size);
    if (added != NULL) memcpy(value->bytes + (append ? old_size : 0), added->bytes, added_size);
    mc_value_release(job->value);
    job->value = value;
    return true;
}

static void append_in_row(struct mc_work *job)
{
    int size = mc_row_text(job);
    if (size < 0) {
        mc_work_end(job, MC_FAILED, "the row has no text");
        return;
    }
    if (!join(job, job->store->text, (uint32_t)size)) return;
    const struct mc_new_row row = {.text = job->value->bytes, .size = job->value->size};
    job->request->result.size = row.size;
    mc_lock_store(job, &row);
}

/* The row says how long the value is now. */
static void put_row(struct mc_work *job)
{
    struct ndb_operation *operation = mc_row_operation(job, NDB_UPDATE, NULL);
    if (operation == NULL) {
        mc_work_undefined(job);
        return;
    }
    job->row_new.part_id = job->large->id;
    enum mc_status status = mc_row_put(job, operation, &job->row_new);
    if (status == MC_OK)
        mc_lock_commit(job);
    else
        mc_work_end(job, status, NULL);
}

static void store_parts(struct mc_work *job)
{
    struct mc_value *old = job->large->value;
    uint32_t part = job->large->first;
    job->large->value = NULL;
    bool joined = join(job, old->bytes, old->size);
    mc_value_release(old);
    if (!joined) return;
    mc_large_store(job, part, job->row_new.size, put_row);
}

static void append_to_parts(struct mc_work *job, uint32_t size)
{
    uint32_t bytes = job->container->part_bytes;
    uint32_t added = job->request->value == NULL ? 0 : job->request->value->size;
    if ((uint64_t)size + added > mc_large_size_max(job)) {
        mc_work_end(job, MC_TOO_LARGE, NULL);
        return;
    }
    job->row_new = (struct mc_new_row){.size = size + added};
    job->request->result.size = size + added;
    uint32_t first = job->action == ACTION_APPEND ? size / bytes : 0;
    mc_large_fetch(job, first, size - first * bytes, store_parts);
}

void mc_append_locked(struct mc_work *job)
{
    uint32_t id;
    uint32_t size;
    if (mc_row_external(job, &id, &size))
        append_to_parts(job, size);
    else
        append_in_row(job);
}
