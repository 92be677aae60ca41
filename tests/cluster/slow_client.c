/* slow_client.c -- slows a process down; counts what is committed by some of the data nodes. For
 * slow_node.sh. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * slow_client stall PID STOPPED_MS RUNNING_MS
 *     stops the process and lets it go on, by turns, until SIGTERM. It runs at the end.
 * slow_client count NODE...
 *     updates rows whose primary replica is at one of these nodes, and prints each second how many
 *     it has committed, and how many have failed for the moment, until SIGTERM. Exit code 1:
 * something else is wrong. NDB_CONNECTSTRING names the cluster.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ndb/ndb.h>

#define KEYS 2000u

struct row {
    char key[16];
    char value[40];
};

static const struct ndb_field fields[] = {
    NDB_FIELD(struct row, key, "k"),
    NDB_FIELD(struct row, value, "v"),
};

static volatile sig_atomic_t over;

static void end(int number)
{
    (void)number;
    over = 1;
}

static void pause_ms(long ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    (void)nanosleep(&pause, NULL);
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int stall(pid_t process, long stopped_ms, long running_ms)
{
    while (!over && kill(process, SIGSTOP) == 0) {
        pause_ms(stopped_ms);
        if (kill(process, SIGCONT) != 0) break;
        pause_ms(running_ms);
    }
    (void)kill(process, SIGCONT);
    return 0;
}

static _Noreturn void die(const char *what, const ndb_error_t *error)
{
    fprintf(stderr, "slow_client: %s: error %d: %s %s\n", what, error->code, error->text,
            error->detail);
    exit(1);
}

/* Writes one row. Returns the node that has coordinated it: that of its primary replica while all
 * are well; 0 = not this time. */
static uint32_t write_row(ndb_t *ndb, struct ndb_record *record, uint32_t key, uint64_t value)
{
    struct row row;
    memset(&row, 0, sizeof row);
    snprintf(row.key, sizeof row.key, "key%010u", key);
    snprintf(row.value, sizeof row.value, "value %llu", (unsigned long long)value);
    struct ndb_transaction *transaction = ndb_transaction_start(ndb);
    if (transaction == NULL) die("start", ndb_error(ndb));
    if (ndb_write(transaction, record, &row, NULL) == NULL)
        die("write", ndb_transaction_error(transaction));
    bool good = ndb_execute(transaction, NDB_COMMIT, 0) == 0;
    if (!good && ndb_transaction_error(transaction)->status == NDB_STATUS_PERMANENT)
        die("commit", ndb_transaction_error(transaction));
    uint32_t node = good ? ndb_transaction_node(transaction) : 0;
    ndb_transaction_close(transaction);
    return node;
}

static struct ndb_record *open_record(ndb_t *ndb)
{
    struct ndb_sql_error where;
    const char *sql =
        "CREATE TABLE slow (k BINARY(16) NOT NULL PRIMARY KEY, v BINARY(40) NOT NULL)";
    if (ndb_table_create(ndb, sql, &where, 30000) != 0) die("create", ndb_error(ndb));
    struct ndb_table *table = ndb_table_open(ndb, "slow", 0);
    if (table == NULL) die("table", ndb_error(ndb));
    struct ndb_record *record = ndb_record_create(ndb, table, fields, 2, sizeof(struct row));
    if (record == NULL) die("record", ndb_error(ndb));
    ndb_table_release(table);
    return record;
}

static int count(char **nodes, int node_count)
{
    ndb_error_t error;
    static uint32_t keys[KEYS];
    uint32_t key_count = 0;
    struct ndb_cluster_connection *connection = ndb_connection_create(NULL, NULL);
    if (connection == NULL || ndb_connection_connect(connection, 30000) != 0 ||
        ndb_connection_wait_until_ready(connection, 30000) != 0) {
        ndb_connection_error(connection, &error);
        die("connect", &error);
    }
    ndb_t *ndb = ndb_open(connection, "test");
    struct ndb_record *record = open_record(ndb);
    for (uint32_t key = 0; key < KEYS; key++) {
        uint32_t node = write_row(ndb, record, key, 0);
        for (int i = 0; i < node_count; i++) {
            if (node != 0 && node == (uint32_t)strtoul(nodes[i], NULL, 10)) keys[key_count++] = key;
        }
    }
    if (key_count == 0) return 1;
    printf("running: %u keys\n", key_count);
    for (uint64_t value = 1; !over;) {
        uint32_t good = 0;
        uint32_t bad = 0;
        for (double begin = now_s(); !over && now_s() - begin < 1.0; value++) {
            bool done = write_row(ndb, record, keys[value % key_count], value) != 0;
            good += done;
            bad += !done;
        }
        printf("committed %u failed %u\n", good, bad);
        fflush(stdout);
    }
    ndb_record_release(record);
    ndb_close(ndb);
    ndb_connection_free(connection);
    return 0;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGTERM, &action, NULL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 5 && strcmp(argv[1], "stall") == 0)
        return stall((pid_t)strtol(argv[2], NULL, 10), strtol(argv[3], NULL, 10),
                     strtol(argv[4], NULL, 10));
    if (argc > 2 && strcmp(argv[1], "count") == 0) return count(argv + 2, argc - 2);
    fprintf(stderr, "usage: slow_client stall PID STOPPED_MS RUNNING_MS | count NODE...\n");
    return 2;
}
