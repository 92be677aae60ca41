/* mc_stats.c -- what `stats` and its groups tell. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
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

/* Sum of one figure over all workers. */
#define SUM(server, figure) sum(server, offsetof(struct mc_worker_figures, figure))
static uint64_t sum(struct mc_server *server, size_t offset)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < server->options.threads; i++)
        total += atomic_load_explicit(
            (atomic_ullong *)(void *)((char *)&server->workers[i].figures + offset),
            memory_order_relaxed);
    return total;
}

static void process_figures(const struct printer *printer)
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
    number(printer, "total_connections", atomic_load(&server->connections_total));
    number(printer, "listen_disabled_num", atomic_load(&server->connections_refused));
    number(printer, "accepting_conns", server->accepting);
    number(printer, "threads", server->options.threads);
    number(printer, "bytes_read", SUM(server, bytes_read));
    number(printer, "bytes_written", SUM(server, bytes_written));
    number(printer, "auth_cmds", SUM(server, auth_commands));
    number(printer, "auth_errors", SUM(server, auth_errors));
}

static void general(const struct printer *printer)
{
    struct mc_server *server = printer->worker->server;
    struct mc_cache_figures cache;
    uint64_t get_ndb = SUM(server, get_ndb);
    uint64_t misses_ndb = SUM(server, get_ndb_misses);
    process_figures(printer);
    mc_cache_figures(server->cache, atomic_load(&server->now), &cache);
    number(printer, "cmd_get", cache.gets + get_ndb);
    number(printer, "cmd_set", cache.sets + SUM(server, set_ndb));
    number(printer, "cmd_flush", cache.flushes);
    number(printer, "cmd_touch", cache.touches);
    number(printer, "get_hits", cache.hits + get_ndb - misses_ndb);
    number(printer, "get_misses", cache.misses + misses_ndb);
    number(printer, "get_expired", cache.expired);
    number(printer, "delete_misses", cache.delete_misses);
    number(printer, "delete_hits", cache.delete_hits);
    number(printer, "incr_misses", cache.incr_misses);
    number(printer, "incr_hits", cache.incr_hits);
    number(printer, "decr_misses", cache.decr_misses);
    number(printer, "decr_hits", cache.decr_hits);
    number(printer, "cas_misses", cache.cas_misses);
    number(printer, "cas_hits", cache.cas_hits);
    number(printer, "cas_badval", cache.cas_badval);
    number(printer, "touch_hits", cache.touch_hits);
    number(printer, "touch_misses", cache.touch_misses);
    number(printer, "limit_maxbytes", server->options.cache_bytes);
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
    number(printer, "tcpport", options->tcp_port);
    number(printer, "udpport", options->udp_port);
    tell(printer, "inter", "%s", options->listen == NULL ? "NULL" : options->listen);
    number(printer, "verbosity", atomic_load(&printer->worker->server->verbosity));
    tell(printer, "evictions", "%s", options->no_eviction ? "off" : "on");
    tell(printer, "domain_socket", "%s", options->unix_path == NULL ? "NULL" : options->unix_path);
    tell(printer, "umask", "%o", options->unix_mask);
    number(printer, "num_threads", options->threads);
    number(printer, "item_size_max", options->value_max);
    tell(printer, "cas_enabled", "yes");
    tell(printer, "auth_enabled_sasl", "%s", options->sasl ? "yes" : "no");
    tell(printer, "auth_enabled_ascii", "%s", options->auth_file != NULL ? "yes" : "no");
    tell(printer, "ssl_enabled", "%s", options->tls ? "yes" : "no");
    tell(printer, "shutdown_command", "%s", options->shutdown_allowed ? "yes" : "no");
    tell(printer, "connectstring", "%s", options->connect_string);
    tell(printer, "role", "%s", options->role);
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

static void scheduler(const struct printer *printer)
{
    struct mc_worker *worker = printer->worker;
    for (uint32_t i = 0; i < MC_CLUSTERS_MAX; i++) {
        struct mc_store_figures figures;
        char name[64];
        if (worker->cluster[i].store == NULL) continue;
        mc_store_figures(worker->cluster[i].store, &figures);
        const struct {
            const char *name;
            uint64_t value;
        } list[] = {{"sent_operations", figures.operations},
                    {"batches", figures.batches},
                    {"retries", figures.retries},
                    {"temporary_errors", figures.temporary},
                    {"in_flight", worker->in_flight}};
        for (uint32_t k = 0; k < sizeof list / sizeof list[0]; k++) {
            snprintf(name, sizeof name, "cl%u.conn%u.%s", i, worker->number, list[k].name);
            number(printer, name, list[k].value);
        }
    }
}

static void reconf(const struct printer *printer)
{
    number(printer, "Running", printer->worker->config->number);
    number(printer, "Loaded", printer->worker->server->config_number);
}

static void errors(const struct printer *printer)
{
    for (uint32_t i = 0; i < MC_CLUSTERS_MAX; i++) {
        const struct mc_store *store = printer->worker->cluster[i].store;
        int32_t code;
        uint64_t count;
        for (uint32_t k = 0; store != NULL && mc_store_error(store, k, &code, &count); k++) {
            char name[64];
            snprintf(name, sizeof name, "ndb_error_%d", code);
            number(printer, name, count);
        }
    }
}

static void sizes(const struct printer *printer)
{
    tell(printer, "sizes_status", "disabled");
}

static void slabs(const struct printer *printer)
{
    struct mc_server *server = printer->worker->server;
    struct mc_cache_figures cache;
    mc_cache_figures(server->cache, atomic_load(&server->now), &cache);
    number(printer, "active_slabs", 0); /* Memory comes from the C library. */
    number(printer, "total_malloced", cache.bytes);
}

static void conns(const struct printer *printer)
{
    struct mc_server *server = printer->worker->server;
    for (uint32_t i = 0; i < server->options.threads; i++) {
        char name[32];
        snprintf(name, sizeof name, "thread%u:connections", i);
        number(printer, name, atomic_load(&server->workers[i].figures.connections));
    }
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
