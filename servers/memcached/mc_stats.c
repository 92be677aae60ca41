/* mc_stats.c -- what `stats` and its groups tell. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "servers/memcached/mc_cache.h"
#include "servers/memcached/mc_engine.h"
#include "servers/memcached/mc_output.h"
#include "servers/memcached/mc_server.h"

struct printer {
    struct mc_worker *worker;
    const struct mc_request *request;
    struct mc_output *output;
};

__attribute__((format(printf, 3, 4))) static void tell(const struct printer *printer,
                                                       const char *name, const char *format, ...)
{
    char value[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    mc_reply_stat(printer->request, name, value, printer->output);
}

static void number(const struct printer *printer, const char *name, uint64_t value)
{
    tell(printer, name, "%" PRIu64, value);
}

/* ---- Figures ---- */

/* Only the worker's own thread writes them. */
void mc_stats_add(struct mc_worker *worker, enum mc_figure figure)
{
    atomic_ullong *count = &worker->figures.count[figure];
    unsigned long long before = atomic_load_explicit(count, memory_order_relaxed);
    atomic_store_explicit(count, before + 1, memory_order_relaxed);
}

static void count_get(struct mc_worker *worker, const struct mc_request *request)
{
    enum mc_status status = request->result.status;
    if (request->touch) {
        mc_stats_add(worker, MC_CMD_TOUCH);
        if (status == MC_OK) mc_stats_add(worker, MC_TOUCH_HITS);
        if (status == MC_NOT_FOUND) mc_stats_add(worker, MC_TOUCH_MISSES);
    }
    if (request->form.touch_only) return;
    bool made = status == MC_OK && request->result.created; /* The place of a value to come. */
    mc_stats_add(worker, MC_CMD_GET);
    if (status == MC_OK && !made) mc_stats_add(worker, MC_GET_HITS);
    if (status == MC_NOT_FOUND || made) mc_stats_add(worker, MC_GET_MISSES);
}

static void count_store(struct mc_worker *worker, const struct mc_request *request)
{
    enum mc_status status = request->result.status;
    mc_stats_add(worker, MC_CMD_SET);
    if (status == MC_TOO_LARGE) mc_stats_add(worker, MC_STORE_TOO_LARGE);
    if (status == MC_NO_MEMORY) mc_stats_add(worker, MC_STORE_NO_MEMORY);
    if (!request->cas_given || (request->command != MC_SET && request->command != MC_REPLACE))
        return;
    if (status == MC_OK) mc_stats_add(worker, MC_CAS_HITS);
    if (status == MC_NOT_FOUND) mc_stats_add(worker, MC_CAS_MISSES);
    if (status == MC_EXISTS) mc_stats_add(worker, MC_CAS_BADVAL);
}

/* A number that was made counts as one that was not there. */
static void count_change(struct mc_worker *worker, const struct mc_request *request,
                         enum mc_figure hits, enum mc_figure misses)
{
    const struct mc_result *result = &request->result;
    bool made = result->status == MC_OK && result->created;
    if (result->status == MC_OK && !made) mc_stats_add(worker, hits);
    if (result->status == MC_NOT_FOUND || made) mc_stats_add(worker, misses);
}

void mc_stats_count(struct mc_worker *worker, const struct mc_request *request)
{
    if (request->form.protocol == MC_META) mc_stats_add(worker, MC_CMD_META);
    switch ((uint32_t)request->command) {
    case MC_GET:
        count_get(worker, request);
        break;
    case MC_DELETE:
        count_change(worker, request, MC_DELETE_HITS, MC_DELETE_MISSES);
        break;
    case MC_INCREMENT:
        count_change(worker, request, MC_INCR_HITS, MC_INCR_MISSES);
        break;
    case MC_DECREMENT:
        count_change(worker, request, MC_DECR_HITS, MC_DECR_MISSES);
        break;
    case MC_FLUSH_ALL:
        mc_stats_add(worker, MC_CMD_FLUSH);
        break;
    default:
        count_store(worker, request);
    }
}

void mc_stats_tell(struct mc_worker *worker)
{
    struct mc_told told = {.in_flight = worker->in_flight,
                           .in_flight_max = mc_engine_limit(worker)};
    for (uint32_t i = 0; i < MC_CLUSTERS_MAX; i++) {
        const struct mc_store *store = worker->cluster[i].store;
        int32_t code;
        uint64_t count;
        told.open[i] = store != NULL;
        if (store == NULL) continue;
        mc_store_figures(store, &told.store[i]);
        for (uint32_t k = 0; mc_store_error(store, k, &code, &count); k++) {
            uint32_t at = 0;
            while (at < told.code_count && told.code[at].code != code)
                at++;
            if (at == MC_TOLD_CODES) continue;
            if (at == told.code_count) told.code[told.code_count++].code = code;
            told.code[at].count += count;
        }
    }
    pthread_mutex_lock(&worker->server->lock);
    worker->told = told;
    pthread_mutex_unlock(&worker->server->lock);
}

/* Totals of all workers, since the process has begun. */
static struct mc_totals totals_of(struct mc_server *server)
{
    struct mc_totals totals = {
        .connections = atomic_load(&server->connections_total),
        .listen_disabled = atomic_load(&server->listen_disabled),
        .listen_disabled_us = atomic_load(&server->listen_disabled_us),
    };
    for (uint32_t i = 0; i < server->options.threads; i++) {
        struct mc_worker_figures *figures = &server->workers[i].figures;
        totals.bytes_read += atomic_load(&figures->bytes_read);
        totals.bytes_written += atomic_load(&figures->bytes_written);
        totals.auth_commands += atomic_load(&figures->auth_commands);
        totals.auth_errors += atomic_load(&figures->auth_errors);
        for (uint32_t k = 0; k < MC_FIGURES; k++)
            totals.count[k] += atomic_load(&figures->count[k]);
    }
    return totals;
}

static struct mc_totals since_reset(struct mc_server *server)
{
    struct mc_totals totals = totals_of(server);
    pthread_mutex_lock(&server->lock);
    const struct mc_totals *before = &server->reset;
    totals.connections -= before->connections;
    totals.listen_disabled -= before->listen_disabled;
    totals.listen_disabled_us -= before->listen_disabled_us;
    totals.bytes_read -= before->bytes_read;
    totals.bytes_written -= before->bytes_written;
    totals.auth_commands -= before->auth_commands;
    totals.auth_errors -= before->auth_errors;
    for (uint32_t k = 0; k < MC_FIGURES; k++)
        totals.count[k] -= before->count[k];
    pthread_mutex_unlock(&server->lock);
    return totals;
}

static void reset(struct mc_server *server)
{
    struct mc_totals totals = totals_of(server);
    pthread_mutex_lock(&server->lock);
    server->reset = totals;
    pthread_mutex_unlock(&server->lock);
    mc_cache_figures_reset(server->cache);
}

/* ---- Groups ---- */

static void process_figures(const struct printer *printer, const struct mc_totals *totals)
{
    struct mc_server *server = printer->worker->server;
    struct rusage usage;
    uint32_t now = atomic_load(&server->now);
    getrusage(RUSAGE_SELF, &usage);
    number(printer, "pid", (uint64_t)getpid());
    number(printer, "uptime", now - server->started);
    number(printer, "time", now);
    tell(printer, "version", "%s", MC_VERSION_TEXT);
    number(printer, "pointer_size", 8 * sizeof(void *));
    tell(printer, "rusage_user", "%ld.%06ld", (long)usage.ru_utime.tv_sec,
         (long)usage.ru_utime.tv_usec);
    tell(printer, "rusage_system", "%ld.%06ld", (long)usage.ru_stime.tv_sec,
         (long)usage.ru_stime.tv_usec);
    number(printer, "max_connections", server->options.connections);
    number(printer, "curr_connections", atomic_load(&server->connections));
    number(printer, "total_connections", totals->connections);
    number(printer, "rejected_connections", 0); /* Clients beyond max_connections wait. */
}

static void count_figures(const struct printer *printer, const struct mc_totals *totals)
{
    static const char *const names[] = {[MC_CMD_GET] = "cmd_get",
                                        [MC_CMD_SET] = "cmd_set",
                                        [MC_CMD_FLUSH] = "cmd_flush",
                                        [MC_CMD_TOUCH] = "cmd_touch",
                                        [MC_CMD_META] = "cmd_meta",
                                        [MC_GET_HITS] = "get_hits",
                                        [MC_GET_MISSES] = "get_misses",
                                        [MC_DELETE_MISSES] = "delete_misses",
                                        [MC_DELETE_HITS] = "delete_hits",
                                        [MC_INCR_MISSES] = "incr_misses",
                                        [MC_INCR_HITS] = "incr_hits",
                                        [MC_DECR_MISSES] = "decr_misses",
                                        [MC_DECR_HITS] = "decr_hits",
                                        [MC_CAS_MISSES] = "cas_misses",
                                        [MC_CAS_HITS] = "cas_hits",
                                        [MC_CAS_BADVAL] = "cas_badval",
                                        [MC_TOUCH_HITS] = "touch_hits",
                                        [MC_TOUCH_MISSES] = "touch_misses",
                                        [MC_STORE_TOO_LARGE] = "store_too_large",
                                        [MC_STORE_NO_MEMORY] = "store_no_memory"};
    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++)
        number(printer, names[i], totals->count[i]);
}

static void general(const struct printer *printer)
{
    struct mc_server *server = printer->worker->server;
    struct mc_cache_figures cache;
    struct mc_totals totals = since_reset(server);
    mc_cache_figures(server->cache, atomic_load(&server->now), &cache);
    process_figures(printer, &totals);
    count_figures(printer, &totals);
    number(printer, "get_expired", cache.expired);
    number(printer, "auth_cmds", totals.auth_commands);
    number(printer, "auth_errors", totals.auth_errors);
    number(printer, "bytes_read", totals.bytes_read);
    number(printer, "bytes_written", totals.bytes_written);
    number(printer, "limit_maxbytes", server->options.cache_bytes);
    number(printer, "accepting_conns", server->accepting);
    number(printer, "listen_disabled_num", totals.listen_disabled);
    number(printer, "time_in_listen_disabled_us", totals.listen_disabled_us);
    number(printer, "threads", server->options.threads);
    number(printer, "bytes", cache.bytes);
    number(printer, "curr_items", cache.items);
    number(printer, "total_items", cache.items_total);
    number(printer, "evictions", cache.evictions);
    number(printer, "reclaimed", cache.reclaimed);
}

static void settings(const struct printer *printer)
{
    const struct mc_options *options = &printer->worker->server->options;
    number(printer, "maxbytes", options->cache_bytes);
    number(printer, "maxconns", options->connections);
    number(printer, "tcp_backlog", options->backlog);
    number(printer, "tcpport", options->tcp_port);
    number(printer, "udpport", options->udp_port);
    tell(printer, "inter", "%s", options->listen == NULL ? "NULL" : options->listen);
    number(printer, "verbosity", atomic_load(&printer->worker->server->verbosity));
    tell(printer, "evictions", "%s", options->no_eviction ? "off" : "on");
    tell(printer, "domain_socket", "%s", options->unix_path == NULL ? "NULL" : options->unix_path);
    tell(printer, "umask", "%o", options->unix_mask);
    tell(printer, "shutdown_command", "%s", options->shutdown_allowed ? "yes" : "no");
    number(printer, "num_threads", options->threads);
    number(printer, "item_size_max", options->value_max);
    tell(printer, "cas_enabled", "yes");
    tell(printer, "binding_protocol", "%s",
         options->only == MC_META     ? "auto-negotiate"
         : options->only == MC_BINARY ? "binary"
                                      : "ascii");
    tell(printer, "flush_enabled", "yes");
    tell(printer, "maxconns_fast", "no");
    tell(printer, "hash_algorithm", "xxh3");
    tell(printer, "auth_enabled_sasl", "%s", options->sasl ? "yes" : "no");
    tell(printer, "auth_enabled_ascii", "%s", options->auth_file != NULL ? "yes" : "no");
    tell(printer, "ssl_enabled", "%s", options->tls ? "yes" : "no");
    tell(printer, "ssl_chain_cert", "%s", options->tls ? options->tls_chain : "(null)");
    tell(printer, "ssl_key", "%s", options->tls ? options->tls_key : "(null)");
    tell(printer, "connectstring", "%s", options->connect_string);
    tell(printer, "role", "%s", options->role);
    tell(printer, "reconf", "%s", options->reconf ? "yes" : "no");
    number(printer, "deadline", options->deadline_ms);
}

static void items(const struct printer *printer)
{
    struct mc_server *server = printer->worker->server;
    struct mc_cache_figures cache;
    mc_cache_figures(server->cache, atomic_load(&server->now), &cache);
    if (cache.items == 0) return;
    number(printer, "items:1:number", cache.items);
    number(printer, "items:1:age", cache.oldest_age);
    number(printer, "items:1:mem_requested", cache.bytes);
    number(printer, "items:1:evicted", cache.evictions);
    number(printer, "items:1:reclaimed", cache.reclaimed);
}

static void ndb(const struct printer *printer)
{
    struct mc_server *server = printer->worker->server;
    struct mc_totals totals = since_reset(server);
    number(printer, "reads", totals.count[MC_NDB_READS]);
    number(printer, "changes", totals.count[MC_NDB_CHANGES]);
    number(printer, "unreachable", totals.count[MC_NDB_UNREACHABLE]);
    number(printer, "temporary", totals.count[MC_NDB_TEMPORARY]);
    number(printer, "failed", totals.count[MC_NDB_FAILED]);
    for (uint32_t i = 0; i < server->cluster_count; i++) {
        struct ndb_statistics figures;
        char name[64];
        const struct {
            const char *name;
            uint64_t value;
        } list[] = {{"node_id", ndb_connection_node_id(server->cluster[i])},
                    {"data_nodes", ndb_connection_data_nodes(server->cluster[i])},
                    {"ready_nodes", ndb_connection_ready_nodes(server->cluster[i])},
                    {"transactions_started", 0},
                    {"transactions_committed", 1},
                    {"transactions_aborted", 2},
                    {"key_operations", 3},
                    {"rows_read", 4},
                    {"scans", 5},
                    {"timeouts", 6},
                    {"late_answers", 7},
                    {"bytes_sent", 8},
                    {"bytes_received", 9}};
        ndb_connection_statistics(server->cluster[i], &figures);
        const uint64_t values[] = {figures.transactions_started,
                                   figures.transactions_committed,
                                   figures.transactions_aborted,
                                   figures.key_operations,
                                   figures.rows_read,
                                   figures.scans,
                                   figures.timeouts,
                                   figures.late_answers,
                                   figures.bytes_sent,
                                   figures.bytes_received};
        for (uint32_t k = 0; k < sizeof list / sizeof list[0]; k++) {
            snprintf(name, sizeof name, "cl%u.%s", i, list[k].name);
            number(printer, name, k < 3 ? list[k].value : values[list[k].value]);
        }
    }
}

static void scheduler_of(const struct printer *printer, uint32_t worker, uint32_t cluster)
{
    const struct mc_told *told = &printer->worker->server->workers[worker].told;
    const struct mc_store_figures *figures = &told->store[cluster];
    const struct {
        const char *name;
        uint64_t value;
    } list[] = {{"sent_operations", figures->operations},
                {"batches", figures->batches},
                {"retries", figures->retries},
                {"temporary_errors", figures->temporary},
                {"instances.initial", told->in_flight_max},
                {"instances.max", told->in_flight_max},
                {"in_flight", told->in_flight}};
    for (uint32_t k = 0; k < sizeof list / sizeof list[0]; k++) {
        char name[64];
        snprintf(name, sizeof name, "cl%u.conn%u.%s", cluster, worker, list[k].name);
        number(printer, name, list[k].value);
    }
}

static void scheduler(const struct printer *printer)
{
    struct mc_server *server = printer->worker->server;
    mc_stats_tell(printer->worker);
    pthread_mutex_lock(&server->lock);
    for (uint32_t i = 0; i < MC_CLUSTERS_MAX; i++)
        for (uint32_t k = 0; k < server->options.threads; k++)
            if (server->workers[k].told.open[i]) scheduler_of(printer, k, i);
    pthread_mutex_unlock(&server->lock);
}

static void reconf(const struct printer *printer)
{
    number(printer, "Running", printer->worker->config->number);
    number(printer, "Loaded", printer->worker->server->config_number);
}

/* How often the database has answered a worker with that. */
static uint64_t code_count(const struct mc_told *told, int32_t code)
{
    for (uint32_t i = 0; i < told->code_count; i++)
        if (told->code[i].code == code) return told->code[i].count;
    return 0;
}

static void errors(const struct printer *printer)
{
    struct mc_server *server = printer->worker->server;
    mc_stats_tell(printer->worker);
    pthread_mutex_lock(&server->lock);
    for (uint32_t i = 0; i < server->options.threads; i++) {
        const struct mc_told *told = &server->workers[i].told;
        for (uint32_t k = 0; k < told->code_count; k++) {
            int32_t code = told->code[k].code;
            char name[64];
            uint64_t before = 0;
            uint64_t count = 0;
            for (uint32_t w = 0; w < server->options.threads; w++) {
                uint64_t of_worker = code_count(&server->workers[w].told, code);
                if (w < i) before += of_worker;
                count += of_worker;
            }
            if (before > 0) continue; /* It has been told. */
            snprintf(name, sizeof name, "ndb_error_%d", code);
            number(printer, name, count);
        }
    }
    pthread_mutex_unlock(&server->lock);
}

static void sizes(const struct printer *printer)
{
    tell(printer, "sizes_status", "disabled");
}

/* What was asked of the local cache, which keeps all items in one class. */
static void slabs(const struct printer *printer)
{
    struct mc_server *server = printer->worker->server;
    struct mc_cache_figures cache;
    mc_cache_figures(server->cache, atomic_load(&server->now), &cache);
    if (cache.items > 0) {
        number(printer, "1:used_chunks", cache.items);
        number(printer, "1:mem_requested", cache.bytes);
        number(printer, "1:get_hits", cache.hits);
        number(printer, "1:cmd_set", cache.sets);
        number(printer, "1:delete_hits", cache.delete_hits);
        number(printer, "1:incr_hits", cache.incr_hits);
        number(printer, "1:decr_hits", cache.decr_hits);
        number(printer, "1:cas_hits", cache.cas_hits);
        number(printer, "1:cas_badval", cache.cas_badval);
        number(printer, "1:touch_hits", cache.touch_hits);
    }
    number(printer, "active_slabs", cache.items > 0);
    number(printer, "total_malloced", cache.bytes); /* By the C library. */
}

static void conns(const struct printer *printer)
{
    mc_stats_conns(printer->worker->server, printer->request, printer->output);
}

bool mc_stats(struct mc_worker *worker, const struct mc_request *request, struct mc_output *output)
{
    static const struct {
        const char *name;
        void (*print)(const struct printer *printer);
    } groups[] = {{"", general},     {"settings", settings}, {"items", items},
                  {"sizes", sizes},  {"slabs", slabs},       {"conns", conns},
                  {"ndb", ndb},      {"reconf", reconf},     {"scheduler", scheduler},
                  {"errors", errors}};
    const struct printer printer = {.worker = worker, .request = request, .output = output};
    if (request->key_size == 5 && memcmp(request->key, "reset", 5) == 0) {
        reset(worker->server);
        if (request->form.protocol == MC_BINARY)
            mc_reply_stat(request, NULL, NULL, output);
        else
            mc_put_text(output, "RESET\r\n");
        return true;
    }
    if (mc_stats_detail(worker, request, output)) return true;
    for (uint32_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        if (strlen(groups[i].name) != request->key_size ||
            memcmp(groups[i].name, request->key, request->key_size) != 0)
            continue;
        groups[i].print(&printer);
        mc_reply_stat(request, NULL, NULL, output);
        return true;
    }
    return false;
}
