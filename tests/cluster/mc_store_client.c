/* mc_store_client.c -- memcached's requests on rows, without a server: for tests. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mc_store_client check: every command, status and column type; exit code 1 when something is
 * wrong.
 *
 * mc_store_client fill: writes until there is no memory left.
 *
 * mc_store_client lose: says "ready" and waits for a line; all data nodes are lost then.
 *
 * mc_store_client race THREADS SECONDS: so many threads work on the same rows; then these must hold
 * what was answered, and at most what was of unknown outcome more.
 *
 * NDB_CONNECTSTRING names the cluster.
 */
#include "tests/cluster/mc_store_client.h"
#include <poll.h>
#include <time.h>

struct ndb_cluster_connection *connection;

_Noreturn void die(const char *what, const ndb_error_t *error)
{
    printf("%s: %d: %s %s\n", what, error->code, error->text, error->detail);
    exit(1);
}

void want(const char *what, uint64_t is, uint64_t should)
{
    if (is == should) return;
    printf("%s: %llu instead of %llu\n", what, (unsigned long long)is, (unsigned long long)should);
    exit(1);
}

void want_text(const char *what, const struct mc_request *request, const char *text)
{
    const struct mc_value *value = request->result.value;
    if (value != NULL && value->size == strlen(text) &&
        memcmp(value->bytes, text, value->size) == 0)
        return;
    printf("%s: '%.*s' instead of '%s', status %d %s\n", what, value == NULL ? 0 : (int)value->size,
           value == NULL ? "" : value->bytes, text, (int)request->result.status,
           request->result.message == NULL ? "" : request->result.message);
    exit(1);
}

static uint32_t client_now(void *context)
{
    const struct client *client = context;
    return client->now != 0 ? client->now : (uint32_t)time(NULL);
}

void client_open(struct client *client, uint32_t deadline_ms, uint32_t value_max)
{
    const struct mc_store_options options = {
        .deadline_ms = deadline_ms, .value_max = value_max, .now = client_now, .context = client};
    *client = (struct client){.ndb = ndb_open(connection, DATABASE)};
    client->store = mc_store_open(client->ndb, &options);
    if (client->store == NULL) die("store", ndb_error(client->ndb));
}

void client_close(struct client *client)
{
    mc_store_close(client->store);
    ndb_close(client->ndb);
}

void make_table(struct client *client, const char *name, const char *columns)
{
    static char sql[4000];
    snprintf(sql, sizeof sql, "CREATE TABLE %s (%s)", name, columns);
    ndb_table_drop(client->ndb, name, 0);
    if (ndb_table_create(client->ndb, sql, NULL, 0) != 0) {
        printf("%s\n", sql);
        die("create", ndb_error(client->ndb));
    }
}

/* ---- Containers ---- */

static uint32_t column_of(const struct ndb_table *table, const char *name)
{
    if (name == NULL) return MC_NO_COLUMN;
    int id = ndb_table_find_column(table, name);
    if (id < 0) {
        printf("no column %s\n", name);
        exit(1);
    }
    return (uint32_t)id;
}

static uint32_t columns_of(const struct ndb_table *table, const char *names,
                           uint32_t columns[MC_COLUMNS_MAX])
{
    char list[300];
    char *rest = NULL;
    uint32_t number = 0;
    if (names == NULL) return 0;
    snprintf(list, sizeof list, "%s", names);
    for (char *name = strtok_r(list, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest))
        columns[number++] = column_of(table, name);
    return number;
}

static struct ndb_table *open_table(struct client *client, const char *name)
{
    struct ndb_table *table = ndb_table_open(client->ndb, name, 0);
    if (table == NULL) die(name, ndb_error(client->ndb));
    return table;
}

/* The index begins with these columns, in any order. */
static bool begins_with(const struct ndb_index_info *index, const struct mc_container *container)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < container->key_count; i++) {
        for (uint32_t k = 0; k < container->key_count && k < index->columns; k++)
            found += index->column[k] == container->key[i];
    }
    return found == container->key_count;
}

/* Primary key, else a unique index of just these columns, else an ordered one. */
static void find_access(struct mc_container *container)
{
    struct ndb_column_info info;
    struct ndb_index_info index;
    uint32_t primary = 0;
    uint32_t keys = 0;
    for (uint32_t i = 0; ndb_table_column(container->table, i, &info) == 0; i++)
        keys += info.primary_key;
    for (uint32_t i = 0; i < container->key_count; i++)
        primary +=
            ndb_table_column(container->table, container->key[i], &info) == 0 && info.primary_key;
    container->access = MC_BY_PRIMARY_KEY;
    if (primary == keys && keys == container->key_count) return;
    container->access = MC_BY_UNIQUE_INDEX;
    container->index = 0;
    for (; ndb_table_unique(container->table, container->index, &index) == 0; container->index++) {
        if (index.columns == container->key_count && begins_with(&index, container)) return;
    }
    container->access = MC_BY_ORDERED_INDEX;
    container->index = 0;
    for (; ndb_table_index(container->table, container->index, &index) == 0; container->index++) {
        if (begins_with(&index, container)) return;
    }
    printf("no index\n");
    exit(1);
}

void container_open(struct client *client, struct mc_container *container, const struct view *view)
{
    struct ndb_column_info info;
    *container = (struct mc_container){.table = open_table(client, view->table)};
    container->key_count = columns_of(container->table, view->keys, container->key);
    container->value_count = columns_of(container->table, view->values, container->value);
    container->flags_column = MC_NO_COLUMN;
    if (view->flags != NULL && view->flags[0] >= '0' && view->flags[0] <= '9')
        container->flags = (uint32_t)strtoul(view->flags, NULL, 10);
    else
        container->flags_column = column_of(container->table, view->flags);
    container->increment_column = column_of(container->table, view->increment);
    container->cas_column = column_of(container->table, view->cas);
    container->expire_column = column_of(container->table, view->expire);
    container->dup_numbers = container->value_count == 1 && view->increment != NULL;
    find_access(container);
    if (view->large == NULL) return;
    container->parts = open_table(client, view->large);
    container->part_id = column_of(container->parts, "id");
    container->part_number = column_of(container->parts, "part");
    container->part_content = column_of(container->parts, "content");
    (void)ndb_table_column(container->parts, container->part_content, &info);
    container->part_bytes = info.length;
    container->ext_id_column = column_of(container->table, "ext_id");
    container->ext_size_column = column_of(container->table, "ext_size");
}

void container_close(struct mc_container *container)
{
    ndb_table_release(container->table);
    ndb_table_release(container->parts);
}

/* ---- Requests ---- */

struct mc_request request_of(enum mc_command command, const char *key)
{
    struct mc_request request = {.command = command, .want_value = command == MC_GET};
    request.key_size = (uint8_t)strlen(key);
    memcpy(request.key, key, request.key_size);
    return request;
}

void give_value(struct mc_request *request, const void *bytes, uint32_t size)
{
    request->value = mc_value_create(size);
    if (size > 0) memcpy(request->value->bytes, bytes, size);
}

static void finished(struct mc_request *request, void *context)
{
    bool *done = context;
    want("the engine's pointer is left", request->engine == NULL, true);
    *done = true;
}

void begin(struct client *client, const struct mc_container *container, struct mc_request *request,
           bool *done)
{
    *done = false;
    mc_store_start(client->store, container, request, request->key, request->key_size, finished,
                   done);
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

void wait_for(struct client *client, const bool *done)
{
    uint64_t end_ms = now_ms() + WAIT_MS;
    while (!*done) {
        struct pollfd fd = {.fd = ndb_fd(client->ndb), .events = POLLIN};
        uint32_t pause_ms = mc_store_tick(client->store);
        want("a tick is not more than a second", pause_ms <= 1000, true);
        if (ndb_process(client->ndb) > 0) continue;
        uint32_t process_ms = ndb_process_timeout(client->ndb);
        (void)poll(&fd, 1, (int)(process_ms < pause_ms ? process_ms : pause_ms));
        (void)ndb_process(client->ndb);
        if (now_ms() > end_ms) {
            printf("a request hangs\n");
            exit(1);
        }
    }
}

enum mc_status run(struct client *client, const struct mc_container *container,
                   struct mc_request *request)
{
    bool done;
    begin(client, container, request, &done);
    wait_for(client, &done);
    if (request->result.status == MC_FAILED || request->result.status == MC_TEMPORARY)
        fprintf(stderr, "%.*s: %s\n", request->key_size, request->key, request->result.message);
    return request->result.status;
}

enum mc_status put(struct client *client, const struct mc_container *container,
                   enum mc_command command, const char *key, const char *value)
{
    struct mc_request request = request_of(command, key);
    give_value(&request, value, (uint32_t)strlen(value));
    enum mc_status status = run(client, container, &request);
    mc_request_clear(&request);
    return status;
}

enum mc_status count(struct client *client, const struct mc_container *container,
                     enum mc_command command, const char *key, uint64_t delta, uint64_t *number)
{
    struct mc_request request = request_of(command, key);
    request.delta = delta;
    enum mc_status status = run(client, container, &request);
    *number = request.result.number;
    mc_request_clear(&request);
    return status;
}

enum mc_status drop(struct client *client, const struct mc_container *container, const char *key)
{
    struct mc_request request = request_of(MC_DELETE, key);
    enum mc_status status = run(client, container, &request);
    mc_request_clear(&request);
    return status;
}

void must_be(struct client *client, const struct mc_container *container, const char *key,
             const char *value)
{
    struct mc_request request = request_of(MC_GET, key);
    enum mc_status status = run(client, container, &request);
    if (value == NULL)
        want(key, status, MC_NOT_FOUND);
    else
        want_text(key, &request, value);
    mc_request_clear(&request);
}

uint64_t rows_of(struct client *client, struct ndb_table *table)
{
    uint64_t rows = 0;
    if (ndb_scan_count(client->ndb, table, &rows, 0) != 0) die("count", ndb_error(client->ndb));
    return rows;
}

static int check(void)
{
    struct client client;
    client_open(&client, 0, 0);
    check_commands(&client);
    check_columns(&client);
    check_large(&client);
    client_close(&client);
    printf("requests on rows: all is right\n");
    return 0;
}

int main(int argc, char **argv)
{
    bool checks = argc == 2 && strcmp(argv[1], "check") == 0;
    bool races = argc == 4 && strcmp(argv[1], "race") == 0;
    bool fills = argc == 2 && strcmp(argv[1], "fill") == 0;
    bool loses = argc == 2 && strcmp(argv[1], "lose") == 0;
    if (!checks && !races && !fills && !loses) {
        fprintf(stderr, "usage: mc_store_client check | fill | lose | race THREADS SECONDS\n");
        return 2;
    }
    connection = ndb_connection_create(NULL, NULL);
    if (ndb_connection_connect(connection, 30000) != 0 ||
        ndb_connection_wait_until_ready(connection, 30000) < 0) {
        ndb_error_t error;
        ndb_connection_error(connection, &error);
        die("connect", &error);
    }
    int code =
        checks  ? check()
        : fills ? fill()
        : loses ? lose()
                : race((uint32_t)strtoul(argv[2], NULL, 10), (uint32_t)strtoul(argv[3], NULL, 10));
    ndb_connection_free(connection);
    return code;
}
