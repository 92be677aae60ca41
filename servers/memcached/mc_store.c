/* mc_store.c -- a thread's requests under way: how they begin, wait, begin anew and end. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "servers/memcached/mc_store_large.h"
#include "servers/memcached/mc_store_private.h"

#define DEADLINE_MS   2000u
#define PAUSE_MAX_MS  200u
#define TICK_MAX_MS   1000u
#define SPARE_JOBS    1024u
#define COUNTER_BITS  28u
#define MARKER        (UINT64_C(1) << 36)
#define START_BITS    27u
#define NODE_OF_ID(t) (((t) >> 40) & 0xFFu) /* Node id in a transaction's id. */

/* ---- Time and numbers ---- */

uint64_t mc_store_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

uint32_t mc_store_now(const struct mc_store *store)
{
    if (store->options.now != NULL) return store->options.now(store->options.context);
    return (uint32_t)time(NULL);
}

uint64_t mc_store_random(struct mc_store *store)
{
    store->random ^= store->random << 13;
    store->random ^= store->random >> 7;
    store->random ^= store->random << 17;
    return store->random;
}

/*
 * 27 bits that say when the process began, a one, 8 bits of node id, 28 bits that count. All stores
 * of a process count together; when the counter has gone round, the process counts as begun a
 * second later, which it has been by then.
 */
uint64_t mc_store_new_cas(struct mc_store *store)
{
    static atomic_uint_fast64_t next;
    uint64_t number = atomic_load(&next);
    if (number == 0) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        uint64_t first = ((uint64_t)now.tv_sec << COUNTER_BITS) + 1;
        atomic_compare_exchange_strong(&next, &number, first);
    }
    number = atomic_fetch_add(&next, 1);
    uint64_t start = (number >> COUNTER_BITS) & ((UINT64_C(1) << START_BITS) - 1);
    return start << 37 | store->cas_base | (number & ((UINT64_C(1) << COUNTER_BITS) - 1));
}

void mc_store_count(struct mc_store *store, int32_t code)
{
    uint32_t at = 0;
    while (at < store->code_count && store->codes[at].code != code)
        at++;
    if (at == store->code_count) {
        if (at == MC_CODES_MAX)
            at--; /* The rarest one makes room. */
        else
            store->code_count++;
        store->codes[at] = (struct mc_count){.code = code};
    }
    struct mc_count counted = store->codes[at];
    counted.count++;
    for (; at > 0 && store->codes[at - 1].count < counted.count; at--)
        store->codes[at] = store->codes[at - 1];
    store->codes[at] = counted;
}

/* ---- Jobs ---- */

void mc_work_release(struct mc_work *job)
{
    ndb_transaction_close(job->transaction);
    ndb_scan_close(job->scan);
    job->transaction = NULL;
    job->operation = NULL;
    job->scan = NULL;
    mc_records_give(job);
    mc_value_release(job->value);
    job->value = NULL;
    mc_large_free(job);
}

/* All of it is zero; what the keys' members hold does not count. */
static struct mc_work *take_job(struct mc_store *store)
{
    struct mc_work *job = store->spare_jobs;
    if (job != NULL) {
        store->spare_jobs = job->next;
        store->spare_job_count--;
    } else {
        job = malloc(sizeof *job);
        if (job == NULL) return NULL;
    }
    memset(job, 0, offsetof(struct mc_work, key));
    job->key.count = job->found.count = 0;
    job->key.bytes = job->found.bytes = NULL;
    return job;
}

static void free_job(struct mc_work *job)
{
    struct mc_store *store = job->store;
    mc_flush_free(job);
    mc_work_release(job);
    mc_key_free(&job->key);
    mc_key_free(&job->found);
    if (job->prev != NULL)
        job->prev->next = job->next;
    else
        store->jobs = job->next;
    if (job->next != NULL) job->next->prev = job->prev;
    if (store->spare_job_count == SPARE_JOBS) {
        free(job);
        return;
    }
    job->next = store->spare_jobs;
    store->spare_jobs = job;
    store->spare_job_count++;
}

void mc_work_end(struct mc_work *job, enum mc_status status, const char *message)
{
    struct mc_request *request = job->request;
    void (*done)(struct mc_request *, void *) = job->done;
    void *context = job->context;
    if (status == MC_TEMPORARY) job->store->figures.temporary++;
    request->result.status = status;
    request->result.message = message;
    if (status != MC_OK) {
        mc_value_release(request->result.value);
        request->result.value = NULL;
    }
    request->engine = NULL;
    free_job(job);
    done(request, context);
}

void mc_work_again(struct mc_work *job, const char *message)
{
    uint64_t now_ms = mc_store_now_ms();
    mc_flush_free(job);
    mc_work_release(job);
    mc_key_free(&job->found);
    job->primary = NULL;
    if (now_ms >= job->deadline_ms) {
        mc_work_end(job, MC_TEMPORARY, message);
        return;
    }
    job->pause_ms = job->pause_ms == 0              ? 1
                    : job->pause_ms >= PAUSE_MAX_MS ? PAUSE_MAX_MS
                                                    : 2 * job->pause_ms;
    job->again_ms = now_ms + 1 + mc_store_random(job->store) % job->pause_ms;
    job->store->figures.retries++;
}

/* What a request is answered for an error that stays. */
static enum mc_status status_of(const struct mc_work *job, const ndb_error_t *error)
{
    bool keeps = job->action == ACTION_REPLACE || job->action == ACTION_APPEND ||
                 job->action == ACTION_PREPEND;
    switch (error->code) {
    case CODE_NO_ROW:
        return keeps ? MC_NOT_STORED : MC_NOT_FOUND;
    case CODE_ROW_EXISTS:
    case CODE_KEY_UPDATE:
        return MC_NOT_STORED;
    case CODE_OTHER_CAS:
        return MC_EXISTS;
    case CODE_NO_NUMBER:
        return MC_NON_NUMERIC;
    case CODE_NO_DATA_MEMORY:
    case CODE_NO_COPY_MEMORY:
    case CODE_NO_CLIENT_MEMORY:
        return MC_NO_MEMORY;
    case CODE_OUT_OF_RANGE:
        return MC_INVALID;
    default:
        return error->classification == NDB_CLASS_SPACE ? MC_NO_MEMORY : MC_FAILED;
    }
}

/* The message for a request that has changed nothing: the text of the error is about commits. */
static const char no_answer[] = "the cluster has not answered in time";

void mc_work_fail(struct mc_work *job, const ndb_error_t *error)
{
    mc_store_count(job->store, error->code);
    if (job->action == ACTION_PURGE) { /* Whoever comes next will see to it. */
        mc_work_end(job, MC_NOT_FOUND, NULL);
        return;
    }
    if (error->status == NDB_STATUS_UNKNOWN && job->changes) {
        mc_work_end(job, MC_TEMPORARY, "outcome not known");
        return;
    }
    if (error->status == NDB_STATUS_TEMPORARY || error->status == NDB_STATUS_UNKNOWN) {
        if (error->code == CODE_NO_COPY_MEMORY && mc_store_now_ms() >= job->deadline_ms)
            mc_work_end(job, MC_NO_MEMORY, NULL);
        else
            mc_work_again(job, error->code == CODE_TIME_IS_UP ? no_answer : error->text);
        return;
    }
    enum mc_status status = status_of(job, error);
    mc_work_end(job, status, status == MC_FAILED ? error->text : NULL);
}

bool mc_work_transaction(struct mc_work *job)
{
    ndb_transaction_close(job->transaction);
    job->operation = NULL;
    job->transaction = ndb_transaction_start(job->store->ndb);
    if (job->transaction != NULL) return true;
    mc_work_end(job, MC_NO_MEMORY, NULL);
    return false;
}

void mc_work_undefined(struct mc_work *job)
{
    ndb_error_t error = *ndb_transaction_error(job->transaction);
    if (error.code == 0) ndb_error_lookup(CODE_NO_CLIENT_MEMORY, &error);
    mc_work_fail(job, &error);
}

static void executed(int result, struct ndb_transaction *transaction, void *context)
{
    struct mc_work *job = context;
    ndb_error_t error = {0};
    if (result != 0) error = *ndb_transaction_error(transaction);
    job->step(job, &error);
}

void mc_work_execute(struct mc_work *job, enum ndb_execute_type type,
                     void (*step)(struct mc_work *job, const ndb_error_t *error))
{
    job->step = step;
    job->store->queued = true;
    if (ndb_execute_async(job->transaction, type, job->store->options.deadline_ms, executed, job) !=
        0)
        mc_work_undefined(job);
}

/* ---- The store ---- */

struct mc_store *mc_store_open(ndb_t *ndb, const struct mc_store_options *options)
{
    struct timespec now;
    struct mc_store *store = calloc(1, sizeof *store);
    struct ndb_transaction *transaction = ndb_transaction_start(ndb);
    if (store == NULL || transaction == NULL) {
        free(store);
        ndb_transaction_close(transaction);
        return NULL;
    }
    store->ndb = ndb;
    if (options != NULL) store->options = *options;
    if (store->options.deadline_ms == 0) store->options.deadline_ms = DEADLINE_MS;
    uint64_t id = ndb_transaction_id(transaction);
    ndb_transaction_close(transaction);
    store->cas_base = MARKER | NODE_OF_ID(id) << COUNTER_BITS;
    clock_gettime(CLOCK_REALTIME, &now);
    store->random = ((uint64_t)now.tv_nsec << 32 ^ id ^ (uint64_t)now.tv_sec) | 1u;
    store->random *= UINT64_C(0x9E3779B97F4A7C15);
    return store;
}

void mc_store_close(struct mc_store *store)
{
    if (store == NULL) return;
    mc_batches_free(store);
    while (store->jobs != NULL)
        free_job(store->jobs);
    while (store->spare_jobs != NULL) {
        struct mc_work *job = store->spare_jobs;
        store->spare_jobs = job->next;
        free(job);
    }
    mc_records_free(store);
    free(store);
}

static enum mc_action action_of(enum mc_command command)
{
    static const enum mc_action actions[MC_ENGINE_COMMANDS] = {
        [MC_GET] = ACTION_GET,
        [MC_SET] = ACTION_SET,
        [MC_ADD] = ACTION_ADD,
        [MC_REPLACE] = ACTION_REPLACE,
        [MC_APPEND] = ACTION_APPEND,
        [MC_PREPEND] = ACTION_PREPEND,
        [MC_DELETE] = ACTION_DELETE,
        [MC_INCREMENT] = ACTION_INCREMENT,
        [MC_DECREMENT] = ACTION_DECREMENT,
        [MC_FLUSH_ALL] = ACTION_FLUSH,
    };
    return actions[command];
}

/* Why a request cannot be one on rows; NULL: it can. */
static const char *refusal(const struct mc_container *container, const struct mc_request *request)
{
    const struct mc_meta *meta = &request->meta;
    bool appends = request->command == MC_APPEND || request->command == MC_PREPEND;
    if (request->command >= MC_ENGINE_COMMANDS) return "not a command of the database";
    if (meta->recache_given || meta->invalidate || meta->drop_value ||
        (meta->vivify_given && !appends))
        return "not supported for values in the database";
    if (request->command == MC_FLUSH_ALL) return NULL;
    if (request->cas_given && request->command != MC_GET && !request->cas_of_copy &&
        container->cas_column == MC_NO_COLUMN)
        return "the table has no column for CAS numbers";
    bool counts = request->command == MC_INCREMENT || request->command == MC_DECREMENT;
    if (counts && container->increment_column == MC_NO_COLUMN)
        return "the container has no increment column";
    bool changes =
        request->command != MC_GET || (request->touch && container->expire_column != MC_NO_COLUMN);
    if (changes && container->access == MC_BY_ORDERED_INDEX)
        return "rows found by an ordered index can only be read";
    if (appends && container->value_count != 1) return "the value is not that of one column";
    return NULL;
}

static void choose(struct mc_work *job)
{
    bool one_row = job->container->access == MC_BY_PRIMARY_KEY && job->container->parts == NULL;
    job->changes = job->action != ACTION_GET;
    switch (job->action) {
    case ACTION_GET:
        job->begin = mc_read_begin;
        if (job->request->touch && job->container->expire_column != MC_NO_COLUMN) {
            job->changes = true;
            job->begin = mc_touch_begin;
        }
        break;
    case ACTION_SET:
    case ACTION_ADD:
    case ACTION_REPLACE:
        job->begin = one_row ? mc_write_begin : mc_lock_begin;
        break;
    case ACTION_DELETE:
        job->begin = one_row ? mc_delete_begin : mc_lock_begin;
        break;
    case ACTION_INCREMENT:
    case ACTION_DECREMENT:
        job->begin = mc_increment_begin;
        break;
    case ACTION_FLUSH:
        job->begin = mc_flush_begin;
        break;
    case ACTION_APPEND:
    case ACTION_PREPEND:
    case ACTION_PURGE:
        job->begin = mc_lock_begin;
    }
    if (job->request->cas_of_copy) job->begin = mc_lock_begin;
}

static void begin(struct mc_work *job)
{
    job->again_ms = 0;
    if (job->container->access == MC_BY_PRIMARY_KEY) job->primary = &job->key;
    job->begin(job);
}

void mc_store_start(struct mc_store *store, const struct mc_container *container,
                    struct mc_request *request, const char *key, uint32_t key_size,
                    void (*done)(struct mc_request *request, void *context), void *context)
{
    struct mc_work *job = take_job(store);
    store->figures.operations++;
    request->result = (struct mc_result){.status = MC_NO_MEMORY};
    if (job == NULL) {
        done(request, context);
        return;
    }
    if (store->clock_ms == 0) store->clock_ms = mc_store_now_ms();
    job->store = store;
    job->container = container;
    job->request = request;
    job->done = done;
    job->context = context;
    job->next = store->jobs;
    job->deadline_ms = store->clock_ms + store->options.deadline_ms;
    if (store->jobs != NULL) store->jobs->prev = job;
    store->jobs = job;
    request->engine = job;
    const char *why = refusal(container, request);
    if (why != NULL) {
        mc_work_end(job, MC_NOT_SUPPORTED, why);
        return;
    }
    job->action = action_of(request->command);
    if (job->action != ACTION_FLUSH) {
        enum mc_status status = mc_key_parse(&job->key, container, key, key_size);
        if (status != MC_OK) {
            mc_work_end(job, status, status == MC_INVALID ? MC_NO_KEY_OF_TABLE : NULL);
            return;
        }
    }
    if (job->action != ACTION_GET)
        job->cas = request->meta.new_cas_given ? request->meta.new_cas : mc_store_new_cas(store);
    choose(job);
    begin(job);
}

bool mc_store_send(struct mc_store *store)
{
    store->clock_ms = 0;
    return mc_batch_send(store);
}

/* The first job whose time has come, else NULL and when it comes. */
static struct mc_work *due(struct mc_store *store, uint64_t now_ms, uint64_t *next_ms)
{
    for (struct mc_work *job = store->jobs; job != NULL; job = job->next) {
        if (job->again_ms == 0) continue;
        if (job->again_ms <= now_ms) return job;
        if (job->again_ms < *next_ms) *next_ms = job->again_ms;
    }
    return NULL;
}

uint32_t mc_store_tick(struct mc_store *store)
{
    uint64_t now_ms = mc_store_now_ms();
    uint64_t next_ms = now_ms + TICK_MAX_MS;
    struct mc_work *job;
    (void)mc_store_send(store);
    store->figures.batches += store->queued;
    store->queued = false;
    /* What a job does may end others, or start some: so from the front each time. */
    while ((job = due(store, now_ms, &next_ms)) != NULL)
        begin(job);
    (void)mc_store_send(store);
    return next_ms <= now_ms ? 1 : (uint32_t)(next_ms - now_ms);
}

void mc_store_figures(const struct mc_store *store, struct mc_store_figures *figures)
{
    *figures = store->figures;
    figures->batches += store->queued;
}

bool mc_store_error(const struct mc_store *store, uint32_t index, int32_t *code, uint64_t *count)
{
    if (index >= store->code_count) return false;
    *code = store->codes[index].code;
    *count = store->codes[index].count;
    return true;
}
