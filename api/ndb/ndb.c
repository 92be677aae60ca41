/* ndb.c -- errors, versions, opening and closing a thread's access, statistics. */
/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "api/ndb/ndb_private.h"
#include "signals/api_reg.h"

uint32_t ndb_version(void)
{
    return NDB_CLIENT_VERSION;
}

const char *ndb_version_string(void)
{
    return NDB_CLIENT_VERSION_STRING;
}

uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- Errors. The enums of ndb.h have the numbers of values/errors.h. ---- */

void ndb_error_lookup(int32_t code, ndb_error_t *error)
{
    if (error == NULL) return;
    const struct error_entry *entry = error_get((uint32_t)code);
    *error = (ndb_error_t){.code = code,
                           .status = (enum ndb_error_status)error_status_of_class(entry->class),
                           .classification = (enum ndb_error_class)entry->class,
                           .class_name = error_class_name(entry->class),
                           .text = entry->text,
                           .detail = ""};
}

int error_set(struct error_slot *slot, uint32_t code, const char *format, ...)
{
    ndb_error_lookup((int32_t)code, &slot->error);
    slot->detail[0] = 0;
    if (format != NULL) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(slot->detail, sizeof slot->detail, format, arguments);
        va_end(arguments);
    }
    slot->error.detail = slot->detail;
    return -1;
}

void error_clear(struct error_slot *slot)
{
    error_set(slot, 0, NULL);
}

void error_set_outcome(struct error_slot *slot, uint32_t code, bool unknown)
{
    error_set(slot, code, NULL);
    if (code == ERR_REQUEST_TIMEOUT && !unknown) {
        slot->error.status = NDB_STATUS_TEMPORARY;
        slot->error.classification = NDB_CLASS_TIMEOUT;
        slot->error.class_name = error_class_name(ERROR_CLASS_TO);
    }
    if (unknown) slot->error.status = NDB_STATUS_UNKNOWN;
}

const ndb_error_t *ndb_error(const ndb_t *ndb)
{
    static const ndb_error_t none = {.code = ERR_PARAMETER,
                                     .status = NDB_STATUS_PERMANENT,
                                     .classification = NDB_CLASS_APPLICATION,
                                     .class_name = "Application error",
                                     .text = "No client object given",
                                     .detail = ""};
    return ndb == NULL ? &none : &ndb->error.error;
}

/* ---- Open and close. ---- */

static int check_database(const char *database)
{
    size_t size = strlen(database);
    return size == 0 || size >= TABLE_NAME_MAX || strchr(database, '/') != NULL ? -1 : 0;
}

static void prepare(struct ndb *ndb, struct ndb_cluster_connection *connection,
                    const char *database)
{
    ndb->connection = connection;
    ndb->event_fd = -1;
    ndb->epoll_fd = -1;
    ndb->random = now_ns() | 1u;
    snprintf(ndb->database, sizeof ndb->database, "%s", database);
    error_clear(&ndb->error);
    pthread_mutex_init(&ndb->lock, NULL);
}

static ndb_t *refuse(struct ndb_cluster_connection *connection, uint32_t code, const char *detail)
{
    pthread_mutex_lock(&connection->state_lock);
    error_set(&connection->error, code, "%s", detail);
    pthread_mutex_unlock(&connection->state_lock);
    return NULL;
}

ndb_t *ndb_open(struct ndb_cluster_connection *connection, const char *database)
{
    if (connection == NULL) return NULL;
    if (database == NULL) database = "test";
    if (check_database(database) != 0)
        return refuse(connection, ERR_TABLE_DATABASE, "bad database name");
    if (connection->core == NULL)
        return refuse(connection, ERR_API_NO_CONNECTION, "ndb_connection_connect first");
    struct ndb *ndb = calloc(1, sizeof *ndb);
    if (ndb == NULL) return refuse(connection, ERR_API_MEMORY, "");
    ndb->client = api_client_open(connection->core);
    if (ndb->client == NULL) {
        free(ndb);
        return refuse(connection, ERR_API_OBJECTS, "at most 4711 client objects per connection");
    }
    prepare(ndb, connection, database);
    ndb->instance = api_client_instance(ndb->client);
    pthread_mutex_lock(&connection->table_lock);
    connection->ndbs[ndb->instance] = ndb;
    if (ndb->instance > connection->ndb_high) connection->ndb_high = ndb->instance;
    pthread_mutex_unlock(&connection->table_lock);
    ndb_now(ndb);
    return ndb;
}

/* Their owners may count meanwhile: each figure is a moment's. TSan need not watch that. */
__attribute__((no_sanitize("thread"))) static uint64_t figure(const uint64_t *at)
{
    return *(const volatile uint64_t *)at;
}

static void add_statistics(struct api_statistics *to, const struct api_statistics *from)
{
    uint64_t *sum = (uint64_t *)to;
    const uint64_t *part = (const uint64_t *)from;
    for (size_t i = 0; i < sizeof *to / sizeof *sum; i++)
        sum[i] += figure(&part[i]);
}

/* Out of the table first: from then on nobody delivers to it. */
static void leave_connection(struct ndb *ndb)
{
    struct ndb_cluster_connection *connection = ndb->connection;
    pthread_mutex_lock(&connection->table_lock);
    connection->ndbs[ndb->instance] = NULL;
    for (struct ndb **at = &connection->dirty; *at != NULL; at = &(*at)->next_dirty) {
        if (*at == ndb) {
            *at = ndb->next_dirty;
            break;
        }
    }
    add_statistics(&connection->closed_statistics, api_client_statistics(ndb->client));
    connection->closed_waits += ndb->waits;
    connection->closed_wait_ns += ndb->wait_ns;
    pthread_mutex_unlock(&connection->table_lock);
}

void ndb_close(ndb_t *ndb)
{
    if (ndb == NULL) return;
    if (ndb->callback_depth > 0 || ndb->lent > 0) {
        error_set(&ndb->error, ERR_MISUSE_4507,
                  ndb->lent > 0 ? "ndb_close in ndb_run_transaction" : "ndb_close in a callback");
        return;
    }
    ndb_now(ndb);
    scans_drop(ndb);
    transactions_drop(ndb);
    reads_drop_all(ndb);
    durable_waits_drop(ndb);
    number_ranges_drop(ndb);
    leave_connection(ndb);
    api_client_close(ndb->client);
    connection_push_all(ndb->connection);
    if (ndb->epoll_fd >= 0) close(ndb->epoll_fd);
    if (ndb->event_fd >= 0) close(ndb->event_fd);
    inbox_drop(&ndb->inbox);
    inbox_drop(&ndb->spare);
    pthread_mutex_destroy(&ndb->lock);
    free(ndb);
}

/* ---- Statistics. ---- */

static void fill_statistics(struct ndb_statistics *out, const struct api_statistics *in)
{
    *out = (struct ndb_statistics){
        .transactions_started = in->transactions_started,
        .transactions_committed = in->transactions_committed,
        .transactions_aborted = in->transactions_aborted,
        .transactions_unknown = in->transactions_unknown,
        .key_operations = in->key_operations,
        .rows_read = in->rows_read,
        .scans = in->scans,
        .scan_batches = in->scan_batches,
        .scans_pruned = in->scans_pruned,
        .fragments_scanned = in->fragments_scanned,
        .dictionary_requests = in->dictionary_requests,
        .retries = in->retries,
        .timeouts = in->timeouts,
        .late_answers = in->late_answers,
        .bytes_sent = in->bytes_sent,
        .bytes_received = in->bytes_received,
    };
}

void ndb_statistics(const ndb_t *ndb, struct ndb_statistics *statistics)
{
    if (ndb == NULL || statistics == NULL) return;
    fill_statistics(statistics, api_client_statistics(ndb->client));
    statistics->retries += ndb->retries;
    statistics->waits = ndb->waits;
    statistics->wait_ns = ndb->wait_ns;
}

/* Figures of clients that are in use are read without waiting for them: each is a moment's, not one
 * of all. */
void ndb_connection_statistics(struct ndb_cluster_connection *connection,
                               struct ndb_statistics *statistics)
{
    if (connection == NULL || statistics == NULL) return;
    pthread_mutex_lock(&connection->table_lock);
    struct api_statistics sum = connection->closed_statistics;
    uint64_t waits = connection->closed_waits;
    uint64_t wait_ns = connection->closed_wait_ns;
    for (uint32_t i = 1; i <= connection->ndb_high; i++) {
        struct ndb *ndb = connection->ndbs[i];
        if (ndb == NULL) continue;
        add_statistics(&sum, api_client_statistics(ndb->client));
        waits += figure(&ndb->waits);
        wait_ns += figure(&ndb->wait_ns);
    }
    pthread_mutex_unlock(&connection->table_lock);
    fill_statistics(statistics, &sum);
    statistics->waits = waits;
    statistics->wait_ns = wait_ns;
    statistics->sends = atomic_load(&connection->sends);
    statistics->polls = atomic_load(&connection->polls);
}
