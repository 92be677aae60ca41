/* reads_client.c -- many rows read by one asynchronous call, through the public interface. For the
 * tests of this folder. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * reads_client check              everything once; exit code 1 when something is wrong
 * reads_client busy SECONDS       reads all the time, in calls of all sizes, while nodes are lost:
 * no read may be answered wrong, hang, or fail with anything but a temporary error
 *
 * NDB_CONNECTSTRING names the cluster.
 */
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ndb/ndb.h>

#define ROWS    1000u
#define AT_ONCE 300u
#define WAIT_MS 60000u

struct row {
    uint32_t id, twice, thrice;
};

struct client {
    struct ndb_cluster_connection *connection;
    ndb_t *ndb;
    struct ndb_table *table;
    struct ndb_record *record;
    uint32_t calls; /* Calls that have ended. */
};

static _Noreturn void die(const char *what, const ndb_error_t *error)
{
    fprintf(stderr, "%s: %d: %s %s\n", what, error->code, error->text, error->detail);
    exit(1);
}

static void want(const char *what, int64_t is, int64_t should)
{
    if (is == should) return;
    fprintf(stderr, "%s: %lld instead of %lld\n", what, (long long)is, (long long)should);
    exit(1);
}

static void ended(void *context)
{
    ((struct client *)context)->calls++;
}

static void open_client(struct client *client)
{
    static const struct ndb_field fields[] = {
        {.column = "id", .offset = offsetof(struct row, id), .null_offset = NDB_NOT_NULLABLE},
        {.column = "twice", .offset = offsetof(struct row, twice), .null_offset = NDB_NOT_NULLABLE},
        {.column = "thrice",
         .offset = offsetof(struct row, thrice),
         .null_offset = NDB_NOT_NULLABLE}};
    ndb_error_t error = {0};
    client->connection = ndb_connection_create(NULL, NULL);
    if (ndb_connection_connect(client->connection, 30000) == 0 &&
        ndb_connection_wait_until_ready(client->connection, 30000) >= 0)
        client->ndb = ndb_open(client->connection, "test");
    if (client->ndb == NULL) {
        ndb_connection_error(client->connection, &error);
        die("connect", &error);
    }
    ndb_table_drop(client->ndb, "read", 0);
    if (ndb_table_create(
            client->ndb,
            "CREATE TABLE `read` (id INT UNSIGNED PRIMARY KEY, twice INT UNSIGNED NOT NULL, "
            "thrice INT UNSIGNED NOT NULL)",
            NULL, 0) != 0)
        die("create", ndb_error(client->ndb));
    client->table = ndb_table_open(client->ndb, "read", 0);
    if (client->table == NULL) die("table", ndb_error(client->ndb));
    client->record = ndb_record_create(client->ndb, client->table, fields, 3, sizeof(struct row));
    if (client->record == NULL) die("record", ndb_error(client->ndb));
    for (uint32_t id = 0; id < ROWS; id++) {
        struct row row = {id, 2 * id, 3 * id};
        if (ndb_insert_row(client->ndb, client->record, &row, 0) != 0)
            die("insert", ndb_error(client->ndb));
    }
}

static void close_client(struct client *client)
{
    ndb_record_release(client->record);
    ndb_table_release(client->table);
    ndb_close(client->ndb);
    ndb_connection_free(client->connection);
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

static void wait_for(struct client *client, uint32_t calls)
{
    uint64_t end = now_ms() + WAIT_MS;
    while (client->calls < calls) {
        struct pollfd fd = {.fd = ndb_fd(client->ndb), .events = POLLIN};
        if (ndb_process(client->ndb) == 0)
            (void)poll(&fd, 1, (int)ndb_process_timeout(client->ndb));
        if (now_ms() > end) {
            fprintf(stderr, "reads hang\n");
            exit(1);
        }
    }
}

/* Rows that are there and rows that are not, of each only what is wanted. */
static void check_rows(struct client *client)
{
    struct row rows[AT_ONCE];
    struct ndb_row_read reads[AT_ONCE];
    const uint8_t id_and_thrice[] = {5};
    for (uint32_t i = 0; i < AT_ONCE; i++) {
        rows[i] = (struct row){i * 7, 1, 1};
        reads[i] = (struct ndb_row_read){
            .record = client->record, .row = &rows[i], .mask = i % 2 == 0 ? NULL : id_and_thrice};
    }
    if (ndb_reads_begin(client->ndb, reads, AT_ONCE, 0, ended, client) == NULL)
        die("begin", ndb_error(client->ndb));
    want("pending", ndb_pending(client->ndb), 1);
    wait_for(client, 1);
    want("nothing pending", ndb_pending(client->ndb), 0);
    for (uint32_t i = 0; i < AT_ONCE; i++) {
        bool there = i * 7 < ROWS;
        want("code", reads[i].code, there ? 0 : 626);
        want("id", rows[i].id, i * 7);
        want("twice", rows[i].twice, there && i % 2 == 0 ? i * 14 : 1);
        want("thrice", rows[i].thrice, there ? i * 21 : 1);
    }
}

/* What cannot be asked is told of that read alone; nothing to ask is no call. */
static void check_refused(struct client *client)
{
    struct row row = {3, 0, 0};
    struct ndb_row_read reads[3] = {{.record = client->record, .row = NULL},
                                    {.record = client->record, .row = &row},
                                    {.record = NULL, .row = &row}};
    want("no reads", ndb_reads_begin(client->ndb, reads, 0, 0, ended, client) == NULL, 1);
    want("no callback", ndb_reads_begin(client->ndb, reads, 3, 0, NULL, client) == NULL, 1);
    want("its error", ndb_error(client->ndb)->code != 0, 1);
    want("none that can be", ndb_reads_begin(client->ndb, reads, 1, 0, ended, client) == NULL, 1);
    want("no ndb_t", ndb_reads_begin(NULL, reads, 3, 0, ended, client) == NULL, 1);
    client->calls = 0;
    if (ndb_reads_begin(client->ndb, reads, 3, 0, ended, client) == NULL)
        die("begin", ndb_error(client->ndb));
    wait_for(client, 1);
    want("the first", reads[0].code != 0 && reads[0].code != 626, 1);
    want("the good one", reads[1].code, 0);
    want("its row", row.thrice, 9);
    want("the last", reads[2].code != 0 && reads[2].code != 626, 1);
}

/* Nobody is called of reads that were dropped, nor when the ndb_t is closed. */
static void check_dropped(struct client *client)
{
    static struct row rows[2] = {{1, 0, 0}, {2, 0, 0}};
    static struct ndb_row_read reads[2];
    for (uint32_t i = 0; i < 2; i++)
        reads[i] = (struct ndb_row_read){.record = client->record, .row = &rows[i]};
    client->calls = 0;
    struct ndb_reads *dropped = ndb_reads_begin(client->ndb, &reads[0], 1, 0, ended, client);
    if (dropped == NULL) die("begin", ndb_error(client->ndb));
    ndb_reads_drop(dropped);
    ndb_reads_drop(NULL);
    want("pending", ndb_pending(client->ndb), 0);
    if (ndb_reads_begin(client->ndb, &reads[1], 1, 0, ended, client) == NULL)
        die("begin", ndb_error(client->ndb));
    wait_for(client, 1);
    want("only the other one", client->calls, 1);
    want("the dropped row", rows[0].twice, 0);
    if (ndb_reads_begin(client->ndb, reads, 2, 0, ended, client) == NULL)
        die("begin", ndb_error(client->ndb)); /* For close_client(). */
}

struct call {
    struct row row[AT_ONCE];
    struct ndb_row_read read[AT_ONCE];
    uint32_t count;
};

static void busy(struct client *client, uint64_t seconds)
{
    static struct call call;
    uint64_t end = now_ms() + seconds * 1000u;
    uint64_t rows = 0;
    uint64_t again = 0;
    uint32_t next = 0;
    while (now_ms() < end) {
        call.count = 1 + next % AT_ONCE;
        for (uint32_t i = 0; i < call.count; i++) {
            call.row[i] = (struct row){next++ % ROWS, 0, 0};
            call.read[i] = (struct ndb_row_read){.record = client->record, .row = &call.row[i]};
        }
        client->calls = 0;
        if (ndb_reads_begin(client->ndb, call.read, call.count, 5000, ended, client) == NULL) {
            want("a temporary error", ndb_error(client->ndb)->status, NDB_STATUS_TEMPORARY);
            again++;
            (void)ndb_poll(client->ndb, 10, 0);
            continue;
        }
        wait_for(client, 1);
        for (uint32_t i = 0; i < call.count; i++) {
            ndb_error_t error;
            const struct row *row = &call.row[i];
            ndb_error_lookup(call.read[i].code, &error);
            if (error.code != 0) {
                if (error.status == NDB_STATUS_PERMANENT) die("read", &error);
                again++;
                continue;
            }
            want("twice", row->twice, (int64_t)row->id * 2);
            want("thrice", row->thrice, (int64_t)row->id * 3);
            rows++;
        }
    }
    printf("%llu rows read, %llu to be read again\n", (unsigned long long)rows,
           (unsigned long long)again);
}

int main(int argc, char **argv)
{
    struct client client = {0};
    open_client(&client);
    if (argc == 3 && strcmp(argv[1], "busy") == 0) {
        busy(&client, strtoul(argv[2], NULL, 10));
    } else {
        check_rows(&client);
        check_refused(&client);
        check_dropped(&client);
    }
    close_client(&client);
    printf("reads: all is right\n");
    return 0;
}
