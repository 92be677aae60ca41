/* range_client.c -- ranges of ordered indexes through the public interface, also while data nodes
 * are lost. For the tests of this folder. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * range_client check: makes the table, asks for ranges of every kind, and opens it again when
 * another client has changed its indexes.
 *
 * range_client move SECONDS: one thread moves the rows with even ids about, another one scans:
 * those with odd ids are seen once by each scan that ends well, all in order. move-async: by many
 * scans with callbacks.
 *
 * range_client verify: each index has the table's rows, in order both ways.
 *
 * NDB_CONNECTSTRING names the cluster. Exit code 1 when something is wrong.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tests/cluster/range_client.h"
#include "tests/cluster/schema_again.h"

static const struct ndb_field fields[] = {
    NDB_FIELD(struct row, id, "id"),
    NDB_FIELD(struct row, number, "number"),
    NDB_FIELD_STRING(struct row, text, "text"),
};

struct ndb_cluster_connection *connection;
struct row rows[ROWS];

_Noreturn void die(const char *what, const ndb_error_t *error)
{
    printf("%s: %d: %s %s\n", what, error->code, error->text, error->detail);
    exit(1);
}

void want(const char *what, int64_t is, int64_t should)
{
    if (is == should) return;
    printf("%s: %lld instead of %lld\n", what, (long long)is, (long long)should);
    exit(1);
}

void client_open(struct client *client, const char *table)
{
    client->ndb = ndb_open(connection, "test");
    client->table = ndb_table_open(client->ndb, table, 0);
    if (client->table == NULL) die("table", ndb_error(client->ndb));
    client->record = ndb_record_create(client->ndb, client->table, fields, 3, sizeof(struct row));
    if (client->record == NULL) die("record", ndb_error(client->ndb));
}

void client_close(struct client *client)
{
    ndb_record_release(client->record);
    ndb_table_release(client->table);
    ndb_close(client->ndb);
}

void make_table(const char *table, const char *sql)
{
    ndb_t *ndb = ndb_open(connection, "test");
    time_t end = time(NULL) + SCHEMA_LIMIT_S;
    while (ndb_table_drop(ndb, table, 0) != 0 && schema_again(ndb, end))
        continue;
    while (ndb_table_create(ndb, sql, NULL, 0) != 0) {
        if (!schema_again(ndb, end)) die("create", ndb_error(ndb));
    }
    ndb_close(ndb);
}

static void make_rows(struct client *client)
{
    make_table("ranged",
               "CREATE TABLE ranged (id INT UNSIGNED NOT NULL PRIMARY KEY, number BIGINT NOT NULL, "
               "text VARCHAR(10) NOT NULL, INDEX by_number (number), KEY by_text (text, number))");
    client_open(client, "ranged");
    for (uint32_t i = 0; i < ROWS; i++) {
        rows[i] = (struct row){.id = i, .number = (int64_t)(i * 7919u % NUMBERS) - 100};
        snprintf(rows[i].text, sizeof rows[i].text, "%s%u", i % 2 == 0 ? "Row" : "rOW", i % 9);
    }
    want("rows inserted",
         ndb_change_many(client->ndb, NDB_INSERT, client->record, rows, sizeof rows[0], ROWS, NULL,
                         0),
         ROWS);
}

/* --- Ranges. --- */

/* A range of by_number; ANY: no bound. */
struct wish {
    int64_t low, high;
    bool exclusive, descending;
    enum ndb_lock_mode lock;
    uint32_t limit;
};

static bool fits(const struct wish *wish, int64_t number)
{
    if (wish->low != ANY && (wish->exclusive ? number <= wish->low : number < wish->low))
        return false;
    return wish->high == ANY || (wish->exclusive ? number < wish->high : number <= wish->high);
}

static struct ndb_index_range range_of(const struct client *client, const struct wish *wish,
                                       const void *values[2])
{
    static const uint32_t size = 8;
    int index = ndb_table_find_index(client->table, "BY_number");
    if (index < 0) want("the index's number", index, 0);
    struct ndb_index_range range = {.index = (uint32_t)index, .descending = wish->descending};
    values[0] = &wish->low;
    values[1] = &wish->high;
    if (wish->low != ANY)
        range.low = (struct ndb_index_bound){1, &values[0], &size, wish->exclusive};
    if (wish->high != ANY)
        range.high = (struct ndb_index_bound){1, &values[1], &size, wish->exclusive};
    return range;
}

/* The rows of a range, in order, into `found` (ROWS places); -1 with ndb_error. */
static int64_t scan(const struct client *client, const struct wish *wish, struct row *found)
{
    const void *values[2];
    const struct ndb_index_range range = range_of(client, wish, values);
    const struct ndb_scan_options options = {
        .lock = wish->lock, .limit = wish->limit, .batch_rows = 50, .range = &range};
    struct ndb_scan *s = ndb_scan_start(client->ndb, client->record, &options, 0);
    int64_t count = 0;
    int more = -1;
    if (s == NULL) return -1;
    while (count < 2 * ROWS && (more = ndb_scan_next_copy(s, &found[count], 0)) == 1) {
        int64_t last = count == 0 ? 0 : found[count - 1].number;
        int64_t number = found[count].number;
        if (count > 0 && (wish->descending ? number > last : number < last))
            want("a number behind a larger one", number, last);
        if (!fits(wish, number)) want("a number out of the range", number, wish->low);
        count++;
    }
    ndb_scan_close(s);
    return more < 0 ? -1 : count;
}

static void check_range(struct client *client, const struct wish *wish)
{
    static struct row found[2 * ROWS + 1];
    const void *values[2];
    int64_t expected = 0;
    uint64_t counted;
    for (uint32_t i = 0; i < ROWS; i++)
        expected += fits(wish, rows[i].number);
    const struct ndb_index_range range = range_of(client, wish, values);
    if (ndb_scan_count_range(client->ndb, client->table, &range, NULL, &counted, 0) != 0)
        die("count", ndb_error(client->ndb));
    want("rows counted", (int64_t)counted, expected);
    if (wish->limit != 0 && expected > wish->limit) expected = wish->limit;
    int64_t count = scan(client, wish, found);
    if (count < 0) die("scan", ndb_error(client->ndb));
    want("rows of the range", count, expected);
    for (int64_t i = 0; i < count; i++) {
        want("a row's number", found[i].number, rows[found[i].id].number);
        want("a row's text", strcmp(found[i].text, rows[found[i].id].text), 0);
    }
}

/* The text is compared without its case; one of two columns is given. The read has neither. */
static void check_text(struct client *client)
{
    static const char text[] = "\4rOw7";
    const void *value = text;
    const uint32_t size = 5;
    const uint32_t id_column = 0;
    struct ndb_index_range range = {.index =
                                        (uint32_t)ndb_table_find_index(client->table, "by_text")};
    range.low = range.high = (struct ndb_index_bound){.columns = 1, .value = &value, .size = &size};
    const struct ndb_scan_options options = {.range = &range};
    struct ndb_scan *s =
        ndb_scan_start_columns(client->ndb, client->table, &id_column, 1, &options, 0);
    int64_t last = ANY;
    uint32_t count = 0;
    const void *row;
    if (s == NULL) die("text", ndb_error(client->ndb));
    while (ndb_scan_next(s, &row, 0) == 1) {
        uint32_t id;
        uint32_t got;
        const void *at;
        want("the id's value", ndb_scan_value(s, 0, &at, &got), 0);
        memcpy(&id, at, sizeof id);
        want("a column not asked for", ndb_scan_value(s, 1, &at, &got), -1);
        want("the text's number", id % 9, 7);
        if (rows[id].number < last) want("a number behind a larger one", rows[id].number, last);
        last = rows[id].number;
        count++;
    }
    want("rows of the text", count, ROWS / 9);
    ndb_scan_close(s);
}

/* --- Ranges that are none. --- */

static void refused(struct client *client, const struct ndb_index_range *range, uint32_t count,
                    int code)
{
    const struct ndb_scan_options options = {.range = range, .range_count = count};
    struct ndb_scan *s = ndb_scan_start(client->ndb, client->record, &options, 0);
    want("a wrong range is refused", s == NULL, true);
    want("its error", ndb_error(client->ndb)->code, code);
}

static void check_refusals(struct client *client)
{
    static const int64_t number = 1;
    static const uint32_t size = 7;
    const void *value = &number;
    struct ndb_index_range range = {.index = 2};
    refused(client, &range, 0, 4243);
    range.index = 0;
    range.low = (struct ndb_index_bound){.columns = 1, .value = &value, .size = &size};
    refused(client, &range, 0, 4259); /* Seven bytes are no bigint. */
    range.low.columns = 2;
    refused(client, &range, 0, 4259);
    range.low = (struct ndb_index_bound){.exclusive = true};
    refused(client, &range, 0, 4259);
    static struct ndb_index_range several[NDB_RANGES_MAX + 1];
    refused(client, several, NDB_RANGES_MAX + 1, 4259); /* Too many. */
    several[1].descending = true; /* One goes another way, or is of another index. */
    refused(client, several, 2, 4259);
    several[2].index = 1;
    refused(client, several + 1, 2, 4259);
}

/* A row without a value that it needs: the data node says so, the library which one. */
static void check_incomplete(struct client *client)
{
    static const char expected[] =
        "table test.ranged, column text: it has no default, and the record has not got it";
    struct ndb_record *some =
        ndb_record_create(client->ndb, client->table, fields, 2, sizeof(struct row));
    const struct row row = {.id = ROWS + 1};
    want("an incomplete row is refused", ndb_insert_row(client->ndb, some, &row, 0), -1);
    const ndb_error_t *error = ndb_error(client->ndb);
    if (error->code != 839 || strcmp(error->detail, expected) != 0) die("839", error);
    struct ndb_transaction *t = ndb_transaction_start(client->ndb);
    const struct ndb_operation *insert = ndb_insert(t, some, &row, NULL);
    want("the same in a transaction", ndb_execute(t, NDB_COMMIT, 0), -1);
    error = ndb_transaction_error(t);
    if (error->code != 839 || strcmp(error->detail, expected) != 0) die("839", error);
    error = ndb_operation_error(insert);
    if (error->code != 839 || strcmp(error->detail, expected) != 0) die("839", error);
    ndb_transaction_close(t);
    ndb_record_release(some);
}

static int check(void)
{
    static const int64_t bounds[][2] = {{ANY, ANY}, {0, 99},  {5, 5},     {ANY, -50},
                                        {390, ANY}, {50, 20}, {1000, ANY}};
    struct client client;
    make_rows(&client);
    for (uint32_t b = 0; b < sizeof bounds / sizeof bounds[0]; b++) {
        for (uint32_t way = 0; way < 16; way++) {
            const struct wish wish = {
                .low = bounds[b][0],
                .high = bounds[b][1],
                .exclusive = way % 2 != 0 && (bounds[b][0] != ANY || bounds[b][1] != ANY),
                .descending = way / 2 % 2 != 0,
                .lock = way / 4 % 2 != 0 ? NDB_LOCK_EXCLUSIVE : NDB_COMMITTED_READ,
                .limit = way / 8 != 0 ? 17 : 0};
            check_range(&client, &wish);
        }
    }
    check_several(&client);
    check_pruned();
    check_where(&client);
    check_text(&client);
    check_refusals(&client);
    check_incomplete(&client);
    check_async();
    check_reopen(&client);
    client_close(&client);
    printf("ranges: all is right\n");
    return 0;
}

/* --- Rows that move. --- */

static atomic_bool stop_moving;
static atomic_uint moved;

static void *mover(void *context)
{
    struct client client;
    uint32_t turn = 0;
    (void)context;
    client_open(&client, "ranged");
    while (!atomic_load(&stop_moving)) {
        struct row row = rows[turn * 38u % ROWS / 2u * 2u];
        row.number = (int64_t)(turn * 977u % NUMBERS) - 100;
        turn++;
        if (ndb_update_row(client.ndb, client.record, &row, 30000) == 0) {
            atomic_fetch_add(&moved, 1);
        } else if (ndb_error(client.ndb)->status == NDB_STATUS_PERMANENT) {
            die("update", ndb_error(client.ndb));
        }
    }
    client_close(&client);
    return NULL;
}

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void check_standing(const struct row *found, int64_t count)
{
    static uint32_t seen[ROWS];
    memset(seen, 0, sizeof seen);
    for (int64_t i = 0; i < count; i++)
        seen[found[i].id]++;
    for (uint32_t id = 1; id < ROWS; id += 2)
        want("how often a row that stays is seen", seen[id], 1);
}

static void move_waiting(struct client *client, double until, uint32_t *scans, uint32_t *failed)
{
    static struct row found[2 * ROWS + 1];
    while (now() < until) {
        const struct wish wish = {
            .low = ANY, .high = ANY, .descending = *scans % 2 != 0, .lock = NDB_COMMITTED_READ};
        int64_t count = scan(client, &wish, found);
        if (count < 0 && ndb_error(client->ndb)->status == NDB_STATUS_PERMANENT)
            die("scan", ndb_error(client->ndb));
        if (count >= 0) check_standing(found, count);
        *scans += count >= 0;
        *failed += count < 0;
    }
}

static int move(double seconds, bool async)
{
    struct client client;
    pthread_t thread;
    uint32_t scans = 0;
    uint32_t failed = 0;
    make_rows(&client);
    pthread_create(&thread, NULL, mover, NULL);
    while (atomic_load(&moved) == 0)
        poll(NULL, 0, 10);
    printf("moving\n"); /* Everybody has the table open. */
    (void)fflush(stdout);
    if (async)
        move_async(now() + seconds, &scans, &failed);
    else
        move_waiting(&client, now() + seconds, &scans, &failed);
    atomic_store(&stop_moving, true);
    pthread_join(thread, NULL);
    printf("move: %u scans, %u that failed, %u rows moved\n", scans, failed, atomic_load(&moved));
    client_close(&client);
    return scans > 0 && atomic_load(&moved) > 0 ? 0 : 1;
}

/* --- After whatever was done to the nodes. --- */

static int verify(void)
{
    static struct row found[2 * ROWS + 1];
    static uint32_t seen[ROWS];
    struct client client;
    client_open(&client, "ranged");
    struct ndb_scan *s = ndb_scan_start(client.ndb, client.record, NULL, 0);
    uint32_t count = 0;
    struct row row;
    if (s == NULL) die("table", ndb_error(client.ndb));
    while (ndb_scan_next_copy(s, &row, 0) == 1) {
        rows[row.id] = row;
        count++;
    }
    ndb_scan_close(s);
    want("rows of the table", count, ROWS);
    for (uint32_t descending = 0; descending < 2; descending++) {
        const struct wish wish = {
            .low = ANY, .high = ANY, .descending = descending != 0, .lock = NDB_COMMITTED_READ};
        want("rows of the index", scan(&client, &wish, found), ROWS);
        memset(seen, 0, sizeof seen);
        for (uint32_t i = 0; i < ROWS; i++) {
            want("a row of the index once", seen[found[i].id]++, 0);
            want("its number", found[i].number, rows[found[i].id].number);
        }
    }
    check_text(&client);
    client_close(&client);
    printf("verify: table and indexes agree\n");
    return 0;
}

struct ndb_cluster_connection *connect_cluster(void)
{
    struct ndb_cluster_connection *made = ndb_connection_create(NULL, NULL);
    ndb_error_t error;
    if (ndb_connection_connect(made, 30000) != 0 ||
        ndb_connection_wait_until_ready(made, 30000) < 0) {
        ndb_connection_error(made, &error);
        die("connect", &error);
    }
    return made;
}

int main(int argc, char **argv)
{
    connection = connect_cluster();
    int result = 2;
    if (argc == 2 && strcmp(argv[1], "check") == 0) result = check();
    if (argc == 3 && strcmp(argv[1], "move") == 0) result = move(atof(argv[2]), false);
    if (argc == 3 && strcmp(argv[1], "move-async") == 0) result = move(atof(argv[2]), true);
    if (argc == 2 && strcmp(argv[1], "verify") == 0) result = verify();
    ndb_connection_free(connection);
    return result;
}
