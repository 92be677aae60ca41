/* mc_engine.c -- who answers a request: the local cache, the database, or both, by the policy of
 * the key's prefix. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Both ("caching"): a copy is never older than a write that this server has answered. A write drops
 * the copy when it begins, and leaves the new one when it ends, unless another write of the key has
 * begun or ended in between; who reads a row keeps a copy on the same condition. See
 * docs/protocols/memcached.md.
 */
#include <string.h>
#include "servers/memcached/mc_cache.h"
#include "servers/memcached/mc_config_rows.h"
#include "servers/memcached/mc_engine.h"
#include "servers/memcached/mc_server.h"

#define IN_FLIGHT_MIN 1024u
#define LARGE_WEIGHT  4u /* A request for a value that may stand in parts counts as so many. */

static const char unreachable[] = "the cluster cannot be reached";

static uint32_t now_of(const struct mc_worker *worker)
{
    return atomic_load_explicit(&worker->server->now, memory_order_relaxed);
}

static enum mc_policy policy_of(const struct mc_prefix *prefix, const struct mc_request *request)
{
    switch ((uint32_t)request->command) {
    case MC_GET: /* A touch is a change. */
        return request->touch && prefix->set < prefix->get ? prefix->set : prefix->get;
    case MC_DELETE:
        return prefix->delete_;
    default:
        return prefix->set;
    }
}

static uint32_t weight_of(const struct mc_job *job)
{
    const struct mc_container *container = job->prefix->container;
    return container != NULL && container->parts != NULL ? LARGE_WEIGHT : 1;
}

static void enter_database(struct mc_job *job)
{
    struct mc_worker *worker = job->worker;
    worker->in_flight += weight_of(job);
    job->prev_asked = NULL;
    job->next_asked = worker->asked;
    if (worker->asked != NULL) worker->asked->prev_asked = job;
    worker->asked = job;
}

static void leave_database(struct mc_job *job)
{
    struct mc_worker *worker = job->worker;
    worker->in_flight -= weight_of(job);
    if (job->prev_asked != NULL)
        job->prev_asked->next_asked = job->next_asked;
    else
        worker->asked = job->next_asked;
    if (job->next_asked != NULL) job->next_asked->prev_asked = job->prev_asked;
}

static void tell(const struct mc_job *job)
{
    const struct mc_request *request = &job->request;
    const char *message = request->result.message;
    char key[MC_SHOWN_MAX];
    mc_log("connection %d: %s %s: %s%s%s", job->connection == NULL ? -1 : job->connection->fd,
           mc_command_name(request->command), mc_config_shown(request->key, request->key_size, key),
           mc_status_name(request->result.status), message == NULL ? "" : ": ",
           message == NULL ? "" : message);
}

static void finish(struct mc_job *job)
{
    mc_stats_count(job->worker, &job->request);
    mc_stats_count_prefix(job);
    if (mc_log_tells(job->worker->server, MC_TELL_REQUESTS)) tell(job);
    mc_job_completed(job);
}

static void fail(struct mc_job *job, enum mc_status status, const char *message)
{
    job->request.result.status = status;
    job->request.result.message = message;
    finish(job);
}

/* The cluster's own number is the better one; without it the copy's is told. */
static void tell_cas(struct mc_result *result, bool kept, uint64_t cas)
{
    if (kept && result->cas == 0) result->cas = cas;
}

static bool is_newest(const struct mc_job *job)
{
    return job->config->number == atomic_load(&job->worker->server->config_number);
}

/* With another configuration than the newest one, it may be of another table. */
static bool may_keep(const struct mc_job *job)
{
    return job->prefix->get == MC_CACHING && is_newest(job);
}

/* ---- Names ---- */

void mc_engine_look(struct mc_worker *worker, struct mc_job *job)
{
    if (job->config == worker->config) return;
    mc_config_release(job->config);
    job->config = mc_config_hold(worker->config);
    job->prefix = mc_config_find(job->config, job->request.key, job->request.key_size);
    job->slotted = false;
}

bool mc_engine_name(struct mc_job *job, struct mc_name *name)
{
    const struct mc_request *request = &job->request;
    const struct mc_container *container = job->prefix->container;
    struct mc_naming *naming = &job->worker->naming;
    *name = (struct mc_name){.bytes = request->key, .size = request->key_size};
    if (container == NULL) return true;
    int size = mc_store_name(container, request->key + job->prefix->size,
                             request->key_size - job->prefix->size, naming);
    *name = (struct mc_name){
        .bytes = naming->name, .space = container->rows, .shape = container->number};
    if (size >= 0) name->size = (uint32_t)size;
    return size >= 0;
}

void mc_engine_forget(struct mc_worker *worker, struct mc_job *job)
{
    struct mc_name name;
    mc_engine_look(worker, job);
    if (mc_engine_name(job, &name)) mc_cache_forget(worker->server->cache, &name);
}

/* ---- Copies ---- */

/* A copy of what was read, if nobody has changed the row since. */
static void keep_copy(struct mc_job *job)
{
    struct mc_request *request = &job->request;
    struct mc_name name;
    struct mc_result *result = &request->result;
    uint64_t cas = 0;
    const struct mc_copy copy = {.value = result->value,
                                 .flags = result->flags,
                                 .expiry = result->expiry,
                                 .cas = result->cas,
                                 .fetched = !request->meta.no_bump};
    if (copy.value == NULL || !may_keep(job) || !mc_engine_name(job, &name)) return;
    bool kept = mc_cache_fill(job->worker->server->cache, &name, job->token, &copy,
                              now_of(job->worker), &cas);
    tell_cas(result, kept, cas);
}

/* What the row is now; false: that is not known. A touch has read it after it had set its expiry.
 */
static bool copy_of_write(struct mc_job *job, struct mc_copy *copy)
{
    struct mc_request *request = &job->request;
    const struct mc_result *result = &request->result;
    struct mc_store *store = job->worker->cluster[job->prefix->cluster].store;
    struct mc_written written;
    *copy = (struct mc_copy){.flags = result->flags, .expiry = result->expiry, .cas = result->cas};
    if (result->status != MC_OK || !may_keep(job)) return false;
    if (request->command == MC_GET && result->value != NULL) {
        copy->value = mc_value_hold(result->value);
        copy->fetched = !request->meta.no_bump;
        return true;
    }
    if (!mc_store_written(store, job->prefix->container, request, &written)) return false;
    copy->value = written.value;
    copy->flags = written.flags;
    copy->expiry = written.expiry;
    return true;
}

/* The row may be one of those that others name otherwise: which one, nobody knows. */
static void forget_others(const struct mc_job *job)
{
    const struct mc_container *container = job->prefix->container;
    for (uint32_t i = 0; i < container->other_count; i++)
        mc_cache_forget_space(job->worker->server->cache, container->others[i]);
}

/* The row had expired for this container, and was deleted: others may have had it still. */
static void end_purge(struct mc_job *job)
{
    struct mc_name name;
    if (!job->prefix->container->copied_elsewhere) return;
    forget_others(job);
    if (mc_engine_name(job, &name)) mc_cache_forget(job->worker->server->cache, &name);
}

static void end_write(struct mc_job *job)
{
    struct mc_copy copy;
    struct mc_name name;
    uint64_t cas = 0;
    bool known = copy_of_write(job, &copy);
    forget_others(job);
    bool kept = mc_engine_name(job, &name) &&
                mc_cache_write_end(job->worker->server->cache, &name, job->token,
                                   known ? &copy : NULL, now_of(job->worker), &cas);
    tell_cas(&job->request.result, kept, cas);
    mc_value_release(copy.value);
}

static bool is_change(const struct mc_request *request)
{
    return request->command != MC_GET || request->touch;
}

static bool is_of_row(void *context, const struct mc_name *name)
{
    (void)context;
    return name->space != 0;
}

/* Which copies the newest configuration has of a row that a former one has changed, and under which
 * names, nobody knows: all go, and with them those of reads under way. */
static void forget_rows(struct mc_job *job)
{
    mc_cache_forget_if(job->worker->server->cache, is_of_row, NULL);
}

/* ---- Meta commands ---- */

/* What a row cannot be: without its value, or there and not to be used. */
static const char *refusal_of_meta(const struct mc_request *request)
{
    const struct mc_meta *meta = &request->meta;
    if (request->command == MC_DELETE && meta->invalidate)
        return "invalid flag I: a value of the database is not marked, but deleted or replaced";
    if (request->command == MC_DELETE && meta->drop_value)
        return "invalid flag x: a row is deleted as a whole";
    return NULL;
}

/*
 * Who is to bring a new value only the cache can tell: without it a get does not ask, and its miss
 * is one like all others. I of ms would keep a value that is older than the row's, as a stale one:
 * it is not taken, as if I were not there. N of ma is in `create` and `expiry`.
 */
static void take_hints(struct mc_job *job)
{
    struct mc_meta *meta = &job->request.meta;
    job->hints = *meta;
    meta->invalidate = meta->recache_given = false;
    if (job->request.command != MC_APPEND && job->request.command != MC_PREPEND)
        meta->vivify_given = false;
}

/* A row was read, and there is a copy of it now: is its time soon over, and who brings a new value?
   Or there is no such row: does this one bring it, or another? */
static void tell_winner(struct mc_job *job)
{
    struct mc_request *request = &job->request;
    const struct mc_meta *hints = &job->hints;
    struct mc_result row = request->result;
    bool found = row.status == MC_OK && hints->recache_given;
    bool missed = row.status == MC_NOT_FOUND && hints->vivify_given;
    struct mc_name name;
    if ((!found && !missed) || !may_keep(job) || !mc_engine_name(job, &name)) return;
    request->meta.recache_given = hints->recache_given;
    request->meta.vivify_given = missed;
    if (!mc_cache_execute_if(job->worker->server->cache, &name, request, job->token,
                             now_of(job->worker)))
        return;
    if (request->result.status == MC_OK) {
        request->result.fetched = row.fetched; /* Nobody had asked for it before this one. */
        mc_value_release(row.value);
    } else
        request->result = row; /* There was no room for the copy. */
}

static void drop_value(struct mc_request *request)
{
    request->want_value = false;
    mc_value_release(request->result.value);
    request->result.value = NULL;
}

/* ---- Rows ---- */

static void finish_read(struct mc_job *job)
{
    struct mc_request *request = &job->request;
    if (request->result.status == MC_OK) keep_copy(job);
    if (job->value_unwanted) drop_value(request);
    tell_winner(job);
}

static void row_done(struct mc_request *request, void *context)
{
    struct mc_job *job = context;
    enum mc_status status = request->result.status;
    leave_database(job);
    if (status == MC_TEMPORARY) mc_stats_add(job->worker, MC_NDB_TEMPORARY);
    if (status == MC_FAILED) mc_stats_add(job->worker, MC_NDB_FAILED);
    if (request->result.purged) end_purge(job);
    if (job->copying == MC_COPY_WRITE)
        end_write(job);
    else if (job->copying == MC_COPY_READ)
        finish_read(job);
    if (is_change(request) && !is_newest(job)) forget_rows(job);
    finish(job);
}

static void ask_row(struct mc_job *job)
{
    struct mc_worker *worker = job->worker;
    struct mc_request *request = &job->request;
    struct mc_store *store = mc_worker_store(worker, job->prefix->cluster);
    if (store == NULL) {
        mc_stats_add(worker, MC_NDB_UNREACHABLE);
        fail(job, MC_TEMPORARY, unreachable);
        return;
    }
    const char *why = refusal_of_meta(request);
    if (why != NULL) {
        fail(job, MC_INVALID, why);
        return;
    }
    take_hints(job);
    enter_database(job);
    worker->unsent = true;
    mc_stats_add(worker, is_change(request) ? MC_NDB_CHANGES : MC_NDB_READS);
    mc_store_start(store, job->prefix->container, request, request->key + job->prefix->size,
                   request->key_size - job->prefix->size, row_done, job);
}

/* Without a column for CAS numbers those of copies are used: who has one has read that copy, and
   the row is changed only if it is still the same. False: the request has been answered. */
static bool take_cas_of_copy(struct mc_job *job, const struct mc_name *name)
{
    struct mc_request *request = &job->request;
    const struct mc_prefix *prefix = job->prefix;
    struct mc_copy copy;
    if (!request->cas_given || request->command == MC_GET || prefix->get != MC_CACHING ||
        prefix->container->cas_column != MC_NO_COLUMN)
        return true;
    bool there = mc_cache_peek(job->worker->server->cache, name, now_of(job->worker), &copy);
    if (there && copy.cas != request->cas) {
        mc_value_release(copy.value);
        fail(job, MC_EXISTS, NULL);
        return false;
    }
    request->cas_of_copy = true;
    request->copy = copy.value;
    request->copy_flags = copy.flags;
    return true;
}

/* Until the answer nobody need be told of the old value any more. */
static void write_row(struct mc_job *job)
{
    struct mc_name name;
    job->request.cas_unwanted = false; /* A copy has it. */
    if (mc_engine_name(job, &name)) {
        if (!take_cas_of_copy(job, &name)) return;
        forget_others(job);
        job->token = mc_cache_write_begin(job->worker->server->cache, &name, now_of(job->worker));
        job->copying = MC_COPY_WRITE;
    }
    ask_row(job); /* Also for a key that no row has: the answer is the store's. */
}

/* From the cache if it is there, and as long as the database is: nobody knows what a cluster that
 * is lost will still have when it comes back. */
static void read_both(struct mc_job *job)
{
    struct mc_request *request = &job->request;
    struct mc_cache *cache = job->worker->server->cache;
    bool vivify = request->meta.vivify_given;
    struct mc_name name;
    if (mc_worker_store(job->worker, job->prefix->cluster) == NULL || !mc_engine_name(job, &name)) {
        ask_row(job);
        return;
    }
    request->cas_unwanted = false; /* A copy has it. */
    job->token = mc_cache_token(cache, &name);
    request->meta.vivify_given = false; /* Not before the row has been looked for. */
    mc_cache_execute_as(cache, &name, request, now_of(job->worker));
    request->meta.vivify_given = vivify;
    if (request->result.status == MC_OK) {
        finish(job);
        return;
    }
    request->result = (struct mc_result){0};
    job->copying = MC_COPY_READ;
    /* A copy is made of the value; its CAS number, who is to bring a new one, or that it was used
       is the copy's. */
    bool needs_copy = job->prefix->container->cas_column == MC_NO_COLUMN ||
                      request->meta.recache_given || !request->meta.no_bump;
    job->value_unwanted = !request->want_value && needs_copy;
    if (job->value_unwanted) request->want_value = true;
    ask_row(job);
}

/* ---- flush_all: the cache, then each table whose prefix says so. ---- */

/* Rows are deleted at once: where there are such, no copy may stay for a while. */
static bool flushes_rows(const struct mc_config *config)
{
    for (uint32_t i = 0; i < config->prefix_count; i++)
        if (config->prefixes[i].flush_from_db && config->prefixes[i].container != NULL) return true;
    return false;
}

static void flush_next(struct mc_job *job);

static void flushed(struct mc_request *request, void *context)
{
    struct mc_job *job = context;
    leave_database(job);
    if (request->result.status != MC_OK) {
        forget_rows(job); /* Some are deleted, perhaps. */
        finish(job);
        return;
    }
    flush_next(job);
}

static bool flushed_before(const struct mc_config *config, uint32_t number)
{
    for (uint32_t i = 0; i < number; i++) {
        const struct mc_prefix *before = &config->prefixes[i];
        if (before->flush_from_db && before->container == config->prefixes[number].container)
            return true;
    }
    return false;
}

static void flush_next(struct mc_job *job)
{
    const struct mc_config *config = job->config;
    while (job->flush_at < config->prefix_count) {
        uint32_t number = job->flush_at++;
        const struct mc_prefix *prefix = &config->prefixes[number];
        if (!prefix->flush_from_db || prefix->container == NULL || flushed_before(config, number))
            continue;
        struct mc_store *store = mc_worker_store(job->worker, prefix->cluster);
        if (store == NULL) {
            forget_rows(job);
            fail(job, MC_TEMPORARY, unreachable);
            return;
        }
        enter_database(job);
        job->worker->unsent = true;
        mc_store_start(store, prefix->container, &job->request, "", 0, flushed, job);
        return;
    }
    mc_cache_execute(job->worker->server->cache, &job->request, now_of(job->worker));
    finish(job);
}

/* ---- All of them. ---- */

static void ask_cache(struct mc_job *job)
{
    struct mc_name name;
    if (!mc_engine_name(job, &name)) {
        fail(job, MC_INVALID, MC_NO_KEY_OF_TABLE);
        return;
    }
    mc_cache_execute_as(job->worker->server->cache, &name, &job->request, now_of(job->worker));
    finish(job);
}

void mc_engine_start(struct mc_worker *worker, struct mc_job *job)
{
    struct mc_request *request = &job->request;
    if (request->command == MC_FLUSH_ALL) {
        if (flushes_rows(job->config)) request->expiry = 0;
        mc_cache_execute(worker->server->cache, request, now_of(worker));
        flush_next(job);
        return;
    }
    switch (policy_of(job->prefix, request)) {
    case MC_CACHE_ONLY:
        ask_cache(job);
        return;
    case MC_NDB_ONLY:
        /* What is read from the cache must not be older, whoever writes the row here. */
        if (is_change(request) &&
            (job->prefix->container->copied || job->prefix->container->copied_elsewhere))
            write_row(job);
        else
            ask_row(job);
        return;
    case MC_CACHING:
        if (is_change(request))
            write_row(job);
        else
            read_both(job);
        return;
    case MC_DISABLED:
        break;
    }
    fail(job, MC_NOT_SUPPORTED,
         job->prefix->refused ? "this prefix is refused, see the server's log"
                              : "the policy of this prefix does not allow it");
}

/* ---- Another configuration ---- */

struct change {
    const struct mc_config *former, *newest;
};

static bool may_be_other(void *context, const struct mc_name *name)
{
    const struct change *change = context;
    return name->space != 0 || /* Names of the former one's containers, in any case. */
           mc_config_find(change->former, name->bytes, name->size)->get == MC_CACHING ||
           mc_config_find(change->newest, name->bytes, name->size)->get == MC_CACHING;
}

/* Each worker does it when it has changed: after the last one nobody stores by the former. */
void mc_engine_forget_copies(struct mc_worker *worker, const struct mc_config *former)
{
    struct change change = {.former = former, .newest = worker->config};
    mc_cache_forget_if(worker->server->cache, may_be_other, &change);
}

/* ---- The end ---- */

void mc_engine_drop(struct mc_worker *worker)
{
    while (worker->asked != NULL) {
        struct mc_job *job = worker->asked;
        leave_database(job);
        mc_job_completed(job);
    }
}

/* Five times what the role's rate needs at the cluster's round trip. */
uint32_t mc_engine_limit(const struct mc_worker *worker)
{
    const struct mc_config *config = worker->config;
    uint64_t rtt = config->cluster_count == 0 ? 250 : config->clusters[0].microsec_rtt;
    uint64_t most = (uint64_t)config->max_tps * rtt * 5 / 1000000;
    if (most < IN_FLIGHT_MIN) return IN_FLIGHT_MIN;
    return most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

bool mc_engine_full(const struct mc_worker *worker)
{
    return worker->in_flight >= mc_engine_limit(worker);
}
