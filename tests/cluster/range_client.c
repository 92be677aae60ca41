/* range_client.c -- ranges of ordered indexes through the public interface, also while data nodes
 * are lost. For the tests of this folder. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * range_client check         makes the table and asks for ranges of every kind
 * range_client move SECONDS  one thread moves the rows with even ids about, another one scans:
 * those with odd ids are seen once by each scan that ends well, all in order range_client verify
 * each index has the table's rows, in order both ways
 *
 * NDB_CONNECTSTRING names the cluster. Exit code 1 when something is wrong.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ndb/ndb.h>
#include "tests/cluster/schema_again.h"

#define ROWS    3000u
#define NUMBERS 500u
#define ANY     INT64_MIN

struct row {
    uint32_t id;
    int64_t number;
    char text[24];
};

static const struct ndb_field fields[] = {
    NDB_FIELD(struct row, id, "id"),
    NDB_FIELD(struct row, number, "number"),
    NDB_FIELD_STRING(struct row, text, "text"),
};

struct client {
    ndb_t *ndb;
    struct ndb_table *table;
    struct ndb_record *record;
};

static struct ndb_cluster_connection *connection;
static struct row rows[ROWS];

static _Noreturn void die(const char *what, const ndb_error_t *error)
{
    printf("%s: %d: %s %s\n", what, error->code, error->text, error->detail);
    exit(1);
}

static void want(const char *what, int64_t is, int64_t should)
{
    if (is == should) return;
    printf("%s: %lld instead of %lld\n", what, (long long)is, (long long)should);
    exit(1);
}

static void client_open(struct client *client)
{
    client->ndb = ndb_open(connection, "test");
    client->table = ndb_table_open(client->ndb, "ranged", 0);
    if (client->table == NULL) die("table", ndb_error(client->ndb));
    client->record = ndb_record_create(client->ndb, client->table, fields, 3, sizeof(struct row));
    if (client->record == NULL) die("record", ndb_error(client->ndb));
}

static void client_close(struct client *client)
{
    ndb_record_release(client->record);
    ndb_table_release(client->table);
    ndb_close(client->ndb);
}

static void make_rows(struct client *client)
{
    static const char sql[] =
        "CREATE TABLE ranged (id INT UNSIGNED NOT NULL PRIMARY KEY, number BIGINT NOT NULL, "
        "text VARCHAR(10) NOT NULL, INDEX by_number (number), KEY by_text (text, number))";
    client->ndb = ndb_open(connection, "test");
    time_t end = time(NULL) + SCHEMA_LIMIT_S;
    while (ndb_table_drop(client->ndb, "ranged", 0) != 0 && schema_again(client->ndb, end))
        continue;
    while (ndb_table_create(client->ndb, sql, NULL, 0) != 0) {
        if (!schema_again(client->ndb, end)) die("create", ndb_error(client->ndb));
    }
    ndb_close(client->ndb);
    client_open(client);
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

/* --- Several ranges in one scan. --- */

#define PARTS NDB_RANGES_MAX

struct part {
    int64_t low, high;
};

/* Of by_number; a client's batch of keys, with overlaps. */
static void parts_make(const struct client *client, const struct part *part, uint32_t count,
                       const struct wish *wish, struct ndb_index_range *ranges)
{
    static const void *values[PARTS][2];
    static const uint32_t size = 8;
    int index = ndb_table_find_index(client->table, "by_number");
    if (index < 0) want("the index's number", index, 0);
    for (uint32_t i = 0; i < count; i++) {
        values[i][0] = &part[i].low;
        values[i][1] = &part[i].high;
        ranges[i] = (struct ndb_index_range){.index = (uint32_t)index,
                                             .low = {1, &values[i][0], &size, false},
                                             .high = {1, &values[i][1], &size, false},
                                             .descending = wish->descending};
    }
}

/* Behind the one before? Ranges come in their order, the rows of each in that of the index. */
static void check_step(const struct wish *wish, uint32_t range, int64_t number)
{
    static uint32_t last_range;
    static int64_t last;
    if (range == UINT32_MAX) { /* A scan begins. */
        last_range = 0;
        last = wish->descending ? INT64_MAX : INT64_MIN;
        return;
    }
    if (range < last_range) want("a range behind a later one", range, last_range);
    if (range == last_range && (wish->descending ? number > last : number < last))
        want("a number behind a larger one", number, last);
    last_range = range;
    last = number;
}

static void check_parts(struct client *client, const struct part *part, uint32_t count,
                        const struct wish *wish)
{
    static struct ndb_index_range ranges[PARTS];
    struct ndb_scan_options options = {
        .lock = wish->lock, .batch_rows = 50, .range = ranges, .range_count = count};
    static uint16_t seen[PARTS][ROWS];
    uint64_t expected = 0;
    uint64_t got = 0;
    uint64_t counted;
    struct row row;
    int more;
    parts_make(client, part, count, wish, ranges);
    struct ndb_scan *s = ndb_scan_start(client->ndb, client->record, &options, 0);
    if (s == NULL) die("scan of ranges", ndb_error(client->ndb));
    memset(seen, 0, sizeof seen);
    check_step(wish, UINT32_MAX, 0);
    for (; (more = ndb_scan_next_copy(s, &row, 0)) == 1; got++) {
        uint32_t range = ndb_scan_range(s);
        if (range >= count) want("a range that was not asked for", range, count);
        check_step(wish, range, row.number);
        seen[range][row.id]++;
    }
    if (more != 0) die("scan of ranges", ndb_scan_error(s));
    ndb_scan_close(s);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t id = 0; id < ROWS; id++) {
            bool in = rows[id].number >= part[i].low && rows[id].number <= part[i].high;
            want("how often a row is seen for a range", seen[i][id], in);
            expected += in;
        }
    }
    want("rows of the ranges", (int64_t)got, (int64_t)expected);
    if (ndb_scan_count_ranges(client->ndb, client->table, ranges, count, NULL, &counted, 0) != 0)
        die("count of ranges", ndb_error(client->ndb));
    want("rows counted in ranges", (int64_t)counted, (int64_t)expected);
}

static void check_several(struct client *client)
{
    static const struct part few[] = {{100, 120}, {5, 5}, {110, 130}, {-1000, -90},
                                      {7, 3},     {5, 5}, {399, 5000}};
    static struct part many[PARTS];
    for (uint32_t i = 0; i < PARTS; i++)
        many[i].low = many[i].high = (int64_t)(i * 37u % 300u) - 50;
    for (uint32_t way = 0; way < 4; way++) {
        const struct wish wish = {.descending = way % 2 != 0,
                                  .lock = way / 2 != 0 ? NDB_LOCK_EXCLUSIVE : NDB_COMMITTED_READ};
        check_parts(client, few, sizeof few / sizeof few[0], &wish);
        check_parts(client, many, PARTS, &wish);
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
    static struct ndb_index_range several[PARTS + 1];
    refused(client, several, PARTS + 1, 4259); /* Too many. */
    several[1].descending = true;              /* One goes another way, or is of another index. */
    refused(client, several, 2, 4259);
    several[2].index = 1;
    refused(client, several + 1, 2, 4259);
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
    check_text(&client);
    check_refusals(&client);
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
    client_open(&client);
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

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void check_standing(const struct row *found, int64_t count)
{
    static uint32_t seen[ROWS];
    memset(seen, 0, sizeof seen);
    for (int64_t i = 0; i < count; i++)
        seen[found[i].id]++;
    for (uint32_t id = 1; id < ROWS; id += 2)
        want("how often a row that stays is seen", seen[id], 1);
}

static int move(double seconds)
{
    static struct row found[2 * ROWS + 1];
    struct client client;
    pthread_t thread;
    uint32_t scans = 0;
    uint32_t failed = 0;
    make_rows(&client);
    pthread_create(&thread, NULL, mover, NULL);
    for (double begun = now(); now() - begun < seconds;) {
        const struct wish wish = {
            .low = ANY, .high = ANY, .descending = scans % 2 != 0, .lock = NDB_COMMITTED_READ};
        int64_t count = scan(&client, &wish, found);
        if (count < 0 && ndb_error(client.ndb)->status == NDB_STATUS_PERMANENT)
            die("scan", ndb_error(client.ndb));
        if (count >= 0) check_standing(found, count);
        scans += count >= 0;
        failed += count < 0;
    }
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
    client_open(&client);
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

int main(int argc, char **argv)
{
    connection = ndb_connection_create(NULL, NULL);
    ndb_error_t error;
    if (ndb_connection_connect(connection, 30000) != 0 ||
        ndb_connection_wait_until_ready(connection, 30000) < 0) {
        ndb_connection_error(connection, &error);
        die("connect", &error);
    }
    int result = 2;
    if (argc == 2 && strcmp(argv[1], "check") == 0) result = check();
    if (argc == 3 && strcmp(argv[1], "move") == 0) result = move(atof(argv[2]));
    if (argc == 2 && strcmp(argv[1], "verify") == 0) result = verify();
    ndb_connection_free(connection);
    return result;
}
