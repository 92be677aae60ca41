/* memory_client.c -- fills DataMemory to the last page and says what is in it. For the tests of
 * this folder. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memory_client MODE SEED [BODY]
 *
 * NDB_CONNECTSTRING names the cluster. A row has an ordered index, a unique one, and a body of up
 * to BODY bytes that its number makes. Modes:
 *
 *   fill   inserts until nothing fits any more, changes and deletes rows at random, so that pages
 * get holes, and inserts again until nothing fits sum    reads all rows, in any order, by the
 * ordered index and by the unique one, checks their bodies, and prints how many there are and a sum
 * over all of them thin   deletes rows at random: none may be refused
 *
 * Prints "MODE: rows=N sum=X refused=N". Exit code 0, or 1 when something is wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ndb/ndb.h>

#define BODY_MAX  8000u
#define BATCH     64u
#define ROWS_MAX  400000u
#define DRY_MAX   12u /* Batches without a row that fits: it is full. */
#define TRIES_MAX 3000u
#define TAKEN     (-1) /* The place of a code that has been looked at. */

struct row {
    uint32_t id;
    uint64_t number;
    uint64_t code;
    struct {
        uint16_t size;
        uint8_t bytes[BODY_MAX];
    } __attribute__((packed)) body;
};

static const struct ndb_field fields[] = {
    NDB_FIELD(struct row, id, "id"),
    NDB_FIELD(struct row, number, "number"),
    NDB_FIELD(struct row, code, "code"),
    NDB_FIELD(struct row, body, "body"),
};

static struct row rows[BATCH];
static struct row found[BATCH];
static uint8_t there[ROWS_MAX];

struct client {
    struct ndb_cluster_connection *connection;
    ndb_t *ndb;
    struct ndb_table *table;
    struct ndb_record *record;
    struct ndb_record *by_code;
    uint64_t random;
    uint32_t body_max;
    uint64_t refused;
    uint32_t next_id;
};

static _Noreturn void die(const char *what, const ndb_error_t *error)
{
    fprintf(stderr, "%s: error %d: %s %s\n", what, error->code, error->text, error->detail);
    exit(1);
}

static _Noreturn void wrong(const char *what, uint64_t id)
{
    fprintf(stderr, "%s: row %llu\n", what, (unsigned long long)id);
    exit(1);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static uint64_t draw(struct client *client)
{
    client->random += 0x9E3779B97F4A7C15u;
    return mix(client->random);
}

static uint64_t code_of(uint32_t id)
{
    return mix(id + 1u);
}

/* Most bodies are short, some are of any length. */
static void row_make(struct client *client, struct row *row, uint32_t id, uint32_t body_max)
{
    row->id = id;
    row->number = draw(client);
    row->code = code_of(id);
    uint32_t most = row->number % 4u == 0 ? body_max : body_max / 16u;
    row->body.size = (uint16_t)(most == 0 ? 0 : row->number / 16u % (most + 1u));
    for (uint32_t i = 0; i < row->body.size; i++)
        row->body.bytes[i] = (uint8_t)(mix(row->number + i / 8u) >> i % 8u * 8u);
}

static uint64_t row_check(const struct row *row)
{
    if (row->code != code_of(row->id)) wrong("another row's code", row->id);
    uint64_t sum = mix(row->id ^ mix(row->number) ^ row->body.size);
    for (uint32_t i = 0; i < row->body.size; i++) {
        if (row->body.bytes[i] != (uint8_t)(mix(row->number + i / 8u) >> i % 8u * 8u))
            wrong("another row's body", row->id);
    }
    return sum;
}

static void open_client(struct client *client)
{
    ndb_error_t error;
    struct ndb_connection_options options = {.name = "memory_client", .default_timeout_ms = 60000};
    client->connection = ndb_connection_create(NULL, &options);
    if (ndb_connection_connect(client->connection, 60000) != 0 ||
        ndb_connection_wait_until_ready(client->connection, 60000) < 0) {
        ndb_connection_error(client->connection, &error);
        die("connect", &error);
    }
    client->ndb = ndb_open(client->connection, "test");
    if (ndb_table_create(client->ndb,
                         "CREATE TABLE IF NOT EXISTS full (id INT UNSIGNED NOT NULL PRIMARY KEY, "
                         "number BIGINT UNSIGNED NOT NULL, code BIGINT UNSIGNED NOT NULL, body "
                         "VARBINARY(8000) NOT NULL, INDEX by_number (number), UNIQUE KEY by_code "
                         "(code))",
                         NULL, 0) != 0)
        die("create table", ndb_error(client->ndb));
    client->table = ndb_table_open(client->ndb, "full", 0);
    if (client->table == NULL) die("open table", ndb_error(client->ndb));
    client->record = ndb_record_create(client->ndb, client->table, fields, 4, sizeof(struct row));
    int unique = ndb_table_find_unique(client->table, "by_code");
    if (client->record == NULL || unique < 0) die("record", ndb_error(client->ndb));
    client->by_code = ndb_record_create_unique(client->ndb, client->table, (uint32_t)unique, fields,
                                               4, sizeof(struct row));
    if (client->by_code == NULL) die("record", ndb_error(client->ndb));
}

static void close_client(struct client *client)
{
    ndb_record_release(client->by_code);
    ndb_record_release(client->record);
    ndb_table_release(client->table);
    ndb_close(client->ndb);
    ndb_connection_free(client->connection);
}

/* One change of each of `count` rows. What is refused for a moment is tried again; what has no
 * room is counted, unless `must`. Returns how many were done; done[i] says which. */
static uint32_t change(struct client *client, enum ndb_operation_type type, uint32_t count,
                       bool must, bool done[BATCH])
{
    int32_t codes[BATCH];
    uint32_t good = 0;
    bool again = true;
    memset(done, 0, BATCH * sizeof done[0]);
    if (count == 0) return 0;
    if (ndb_change_many(client->ndb, type, client->record, rows, sizeof rows[0], count, codes, 0) <
        0)
        die("change", ndb_error(client->ndb));
    for (uint32_t tries = 0; again; tries++) {
        again = false;
        for (uint32_t i = 0; i < count; i++) {
            ndb_error_t error;
            if (codes[i] == TAKEN) continue;
            if (tries > 0 && ndb_change_many(client->ndb, type, client->record, &rows[i],
                                             sizeof rows[0], 1, &codes[i], 0) < 0)
                die("change", ndb_error(client->ndb));
            if (codes[i] == 0) {
                codes[i] = TAKEN;
                done[i] = true;
                good++;
                continue;
            }
            ndb_error_lookup(codes[i], &error);
            if (error.status == NDB_STATUS_TEMPORARY) {
                if (tries > TRIES_MAX) die("refused again and again", &error);
                again = true;
                continue;
            }
            codes[i] = TAKEN;
            if (must || strcmp(error.class_name, "Insufficient space") != 0) die("change", &error);
            client->refused++;
        }
        if (again) nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    return good;
}

/* Bodies get shorter when none fits any more: to the last page. */
static void fill(struct client *client)
{
    uint32_t dry = 0;
    uint32_t body_max = client->body_max;
    while (dry < DRY_MAX || body_max > 0) {
        bool done[BATCH];
        if (dry >= DRY_MAX) {
            body_max /= 4u;
            dry = 0;
        }
        if (client->next_id + BATCH > ROWS_MAX) wrong("no end", client->next_id);
        for (uint32_t i = 0; i < BATCH; i++)
            row_make(client, &rows[i], client->next_id + i, body_max);
        dry = change(client, NDB_INSERT, BATCH, false, done) > 0 ? 0 : dry + 1u;
        for (uint32_t i = 0; i < BATCH; i++)
            there[client->next_id + i] = done[i];
        client->next_id += BATCH;
    }
}

/* A share of the rows gets other bodies, or goes. */
static void stir(struct client *client, enum ndb_operation_type type, uint32_t one_of)
{
    bool done[BATCH];
    uint32_t count = 0;
    for (uint32_t id = 0; id <= client->next_id; id++) {
        if (id < client->next_id && there[id] && draw(client) % one_of == 0)
            row_make(client, &rows[count++], id, client->body_max);
        if (count < BATCH && (id < client->next_id || count == 0)) continue;
        change(client, type, count, type == NDB_DELETE, done);
        for (uint32_t i = 0; i < count && type == NDB_DELETE; i++)
            there[rows[i].id] = 0;
        count = 0;
    }
}

/* --- What is there. --- */

static uint64_t scan(struct client *client, const struct ndb_scan_options *options, uint64_t *count)
{
    const void *at = NULL;
    uint64_t sum = 0;
    uint64_t last = 0;
    int result;
    *count = 0;
    struct ndb_scan *scan = ndb_scan_start(client->ndb, client->record, options, 0);
    if (scan == NULL) die("scan", ndb_error(client->ndb));
    while ((result = ndb_scan_next(scan, &at, 0)) == 1) {
        const struct row *row = at;
        sum += row_check(row);
        if (options != NULL && row->number < last) wrong("out of order", row->id);
        last = row->number;
        if (row->id >= ROWS_MAX) wrong("nobody's", row->id);
        there[row->id] = 1;
        if (row->id >= client->next_id) client->next_id = row->id + 1u;
        (*count)++;
    }
    if (result < 0) die("scan", ndb_scan_error(scan));
    ndb_scan_close(scan);
    return sum;
}

/* All that the scans have found, by the unique index. */
static uint64_t read_unique(struct client *client, uint64_t *count)
{
    uint64_t sum = 0;
    *count = 0;
    for (uint32_t id = 0; id < client->next_id; id++) {
        int32_t code = 0;
        if (!there[id]) continue;
        found[0].code = code_of(id);
        int read = ndb_read_many(client->ndb, client->by_code, found, sizeof found[0], 1, &code, 0);
        if (read < 0) die("unique index", ndb_error(client->ndb));
        if (read == 0 && code != 626) wrong("the unique index cannot be read at", id);
        if (read == 0) wrong("not in the unique index", id);
        if (found[0].id != id) wrong("another row in the unique index", id);
        sum += row_check(&found[0]);
        (*count)++;
    }
    return sum;
}

static uint64_t look(struct client *client, uint64_t *count, bool all_ways)
{
    uint64_t other;
    uint64_t sum = scan(client, NULL, count);
    if (!all_ways) return sum;
    struct ndb_index_range range = {.index =
                                        (uint32_t)ndb_table_find_index(client->table, "by_number")};
    const struct ndb_scan_options options = {.range = &range};
    if (scan(client, &options, &other) != sum || other != *count)
        wrong("other rows in the ordered index", other);
    if (read_unique(client, &other) != sum || other != *count)
        wrong("other rows in the unique index", other);
    return sum;
}

int main(int argc, char **argv)
{
    struct client client = {.body_max = BODY_MAX};
    if (argc < 3) {
        fprintf(stderr, "usage: memory_client fill|sum|thin SEED [BODY]\n");
        return 2;
    }
    const char *mode = argv[1];
    client.random = mix(strtoull(argv[2], NULL, 10) + 1u);
    if (argc > 3) client.body_max = (uint32_t)strtoul(argv[3], NULL, 10);
    if (client.body_max > BODY_MAX) client.body_max = BODY_MAX;
    uint64_t count;
    open_client(&client);
    uint64_t sum = look(&client, &count, strcmp(mode, "sum") == 0);
    if (strcmp(mode, "fill") == 0) {
        fill(&client);
        stir(&client, NDB_UPDATE, 2);
        stir(&client, NDB_DELETE, 5);
        fill(&client);
    } else if (strcmp(mode, "thin") == 0) {
        stir(&client, NDB_DELETE, 20);
        stir(&client, NDB_UPDATE, 20);
    }
    if (strcmp(mode, "sum") != 0) sum = look(&client, &count, false);
    printf("%s: rows=%llu sum=%016llx refused=%llu\n", mode, (unsigned long long)count,
           (unsigned long long)sum, (unsigned long long)client.refused);
    close_client(&client);
    return 0;
}
