/* kill_client.c -- load with a record of what was acknowledged, and the check of what a cluster has
 * kept after it was killed as a whole. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kill_client run DIR [THREADS [SECONDS]]   changes groups of rows, each thread its own ones, until
 *                                           the time is over or no data node is left
 * kill_client verify DIR                    compares the cluster with the record, starts a new one
 *
 * NDB_CONNECTSTRING names the cluster. A group is three rows that are always changed by one
 * transaction: written with a new version, or deleted. Each thread notes in DIR/record.N what it
 * tries and what it was answered: the commit's epoch, and whether it was on disk.
 *
 * There must be one GCI R, not older than any commit answered as on disk, such that each group is
 * as its newest commit up to R left it; commits of unknown outcome may be there or not. So nothing
 * acknowledged as on disk is lost, nothing of a later GCI is half there, and no transaction is half
 * there. Prints "verify: ..." and ends with 0, or says what is wrong and ends with 1.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <ndb/ndb.h>
#include "tests/cluster/schema_again.h"

#define THREADS_MAX  16u
#define GROUPS_EACH  64u
#define GROUPS       (THREADS_MAX * GROUPS_EACH)
#define PARTS        3u
#define FILLER       400u
#define DISK_EVERY   16u /* One commit in so many waits for the disk. */
#define DELETE_EVERY 8u
#define ATTEMPTS_MAX 8000000u
#define NO_ACK       UINT64_MAX
#define CLIENT_LIMIT 30000u /* Milliseconds of one call. */

struct row {
    uint32_t k;
    uint64_t v;
    char filler[FILLER];
};

static const struct ndb_field fields[] = {
    NDB_FIELD(struct row, k, "k"),
    NDB_FIELD(struct row, v, "v"),
    NDB_FIELD(struct row, filler, "filler"),
};

struct client {
    struct ndb_cluster_connection *connection;
    struct ndb_table *table;
    struct ndb_record *record;
    const char *directory;
    uint64_t first_version;
    uint64_t base[GROUPS]; /* Version of each group before; 0 = it has no rows. */
    atomic_bool stop;
};

struct worker {
    uint32_t number;
    pthread_t thread;
    FILE *record;
    uint64_t commits;
    uint64_t disk;
    uint64_t unknown;
    uint64_t refused;
};

static struct client client; /* The signal handler ends its work. */

static void on_signal(int number)
{
    (void)number;
    atomic_store(&client.stop, true);
}

static _Noreturn void die(const char *what, const ndb_error_t *error)
{
    fprintf(stderr, "%s: error %d: %s %s\n", what, error->code, error->text, error->detail);
    exit(1);
}

static void row_make(struct row *row, uint32_t group, uint32_t part, uint64_t version)
{
    uint64_t state = version * 0x9E3779B97F4A7C15u + group * PARTS + part;
    memset(row, 0, sizeof *row);
    row->k = group * PARTS + part;
    row->v = version;
    for (uint32_t at = 0; at + 4 <= FILLER; at += 4) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint32_t word = (uint32_t)(state >> 32);
        memcpy(row->filler + at, &word, 4);
    }
}

static FILE *open_file(const char *name, const char *mode)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", client.directory, name);
    return fopen(path, mode);
}

static FILE *open_record(uint32_t number, const char *mode)
{
    char name[32];
    snprintf(name, sizeof name, "record.%u", number);
    return open_file(name, mode);
}

static void read_base(void)
{
    unsigned group;
    unsigned long long version;
    FILE *in = open_file("base", "r");
    client.first_version = 1;
    if (in == NULL) return;
    if (fscanf(in, "next %llu", &version) == 1) client.first_version = version;
    while (fscanf(in, "%u %llu", &group, &version) == 2) {
        if (group < GROUPS) client.base[group] = version;
    }
    fclose(in);
}

static ndb_t *open_cluster(void)
{
    ndb_error_t error;
    struct ndb_connection_options options = {.name = "kill_client",
                                             .default_timeout_ms = CLIENT_LIMIT};
    client.connection = ndb_connection_create(NULL, &options);
    if (ndb_connection_connect(client.connection, CLIENT_LIMIT) != 0 ||
        ndb_connection_wait_until_ready(client.connection, CLIENT_LIMIT) < 0) {
        ndb_connection_error(client.connection, &error);
        die("connect", &error);
    }
    ndb_t *ndb = ndb_open(client.connection, "test");
    time_t end = time(NULL) + SCHEMA_LIMIT_S;
    while (
        ndb_table_create(ndb,
                         "CREATE TABLE IF NOT EXISTS killed (k INT UNSIGNED NOT NULL PRIMARY KEY, "
                         "v BIGINT UNSIGNED NOT NULL, filler BINARY(400) NOT NULL)",
                         NULL, 0) != 0) {
        if (!schema_again(ndb, end)) die("create table", ndb_error(ndb));
    }
    client.table = ndb_table_open(ndb, "killed", 0);
    if (client.table == NULL) die("open table", ndb_error(ndb));
    client.record = ndb_record_create(ndb, client.table, fields, 3, sizeof(struct row));
    if (client.record == NULL) die("record", ndb_error(ndb));
    return ndb;
}

static void close_cluster(ndb_t *ndb)
{
    ndb_record_release(client.record);
    ndb_table_release(client.table);
    ndb_close(ndb);
    ndb_connection_free(client.connection);
}

/* --- run --- */

static bool define(struct ndb_transaction *t, uint32_t group, uint64_t version, bool delete,
                   struct row rows[PARTS])
{
    for (uint32_t part = 0; part < PARTS; part++) {
        row_make(&rows[part], group, part, version);
        struct ndb_operation *op = delete ? ndb_delete(t, client.record, &rows[part], NULL)
                                          : ndb_write(t, client.record, &rows[part], NULL);
        if (op == NULL) return false;
    }
    return true;
}

/* One transaction, with its lines in the record: "b group version deleted", then "c group version
 * epoch disk", or "u" when nobody knows, or "a" when nothing has happened. */
static void change(struct worker *worker, ndb_t *ndb, uint32_t group, uint64_t version, bool delete)
{
    struct row rows[PARTS];
    bool disk = version % DISK_EVERY == 0;
    struct ndb_transaction *t = ndb_transaction_start(ndb);
    if (t == NULL || !define(t, group, version, delete, rows)) die("define", ndb_error(ndb));
    fprintf(worker->record, "b %u %llu %d\n", group, (unsigned long long)version, delete);
    if (ndb_execute(t, disk ? NDB_COMMIT_DURABLE : NDB_COMMIT, 0) == 0) {
        int durable = ndb_transaction_durable(t);
        fprintf(worker->record, "c %u %llu %llu %d\n", group, (unsigned long long)version,
                (unsigned long long)ndb_transaction_epoch(t), durable);
        worker->commits++;
        worker->disk += durable != 0;
    } else if (ndb_transaction_error(t)->status == NDB_STATUS_UNKNOWN) {
        fprintf(worker->record, "u %u %llu\n", group, (unsigned long long)version);
        worker->unknown++;
    } else {
        fprintf(worker->record, "a %u %llu\n", group, (unsigned long long)version);
        worker->refused++;
        if (worker->refused == 1)
            fprintf(stderr, "error %d: %s\n", ndb_transaction_error(t)->code,
                    ndb_transaction_error(t)->text);
    }
    ndb_transaction_close(t);
}

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    ndb_t *ndb = ndb_open(client.connection, "test");
    uint64_t present[GROUPS_EACH];
    uint64_t state = client.first_version * 7919u + worker->number;
    memcpy(present, &client.base[worker->number * GROUPS_EACH], sizeof present);
    for (uint64_t version = client.first_version; !atomic_load(&client.stop); version++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint32_t at = (uint32_t)(state >> 33) % GROUPS_EACH;
        uint64_t unknown = worker->unknown;
        uint64_t refused = worker->refused;
        /* What is not surely there is written, not deleted. */
        bool delete = present[at] != 0 && (state >> 20) % DELETE_EVERY == 0;
        change(worker, ndb, worker->number * GROUPS_EACH + at, version, delete);
        if (worker->unknown != unknown) present[at] = 0;
        if (worker->unknown == unknown && worker->refused == refused)
            present[at] = delete ? 0 : version;
        if (worker->unknown + worker->refused != unknown + refused &&
            ndb_connection_ready_nodes(client.connection) == 0)
            break;
    }
    ndb_close(ndb);
    return NULL;
}

static int run(uint32_t threads, uint32_t seconds)
{
    static struct worker workers[THREADS_MAX];
    struct worker sum = {.commits = 0};
    read_base();
    ndb_t *ndb = open_cluster();
    signal(SIGTERM, on_signal);
    signal(SIGALRM, on_signal);
    (void)alarm(seconds); /* 0: no end. */
    printf("running\n");
    fflush(stdout);
    for (uint32_t i = 0; i < threads; i++) {
        workers[i] = (struct worker){.number = i, .record = open_record(i, "a")};
        if (workers[i].record == NULL ||
            pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]) != 0)
            exit(1);
    }
    for (uint32_t i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        if (fclose(workers[i].record) != 0) exit(1);
        sum.commits += workers[i].commits;
        sum.disk += workers[i].disk;
        sum.unknown += workers[i].unknown;
        sum.refused += workers[i].refused;
    }
    printf("run: commits=%llu disk=%llu unknown=%llu refused=%llu\n",
           (unsigned long long)sum.commits, (unsigned long long)sum.disk,
           (unsigned long long)sum.unknown, (unsigned long long)sum.refused);
    close_cluster(ndb);
    return 0;
}

/* --- verify --- */

struct attempt {
    uint32_t group;
    bool deleted;
    bool happened; /* Acknowledged, or unknown; otherwise surely not. */
    bool disk;
    uint64_t version;
    uint64_t gci;  /* NO_ACK: unknown outcome. */
    uint32_t next; /* The newer attempt of the same group; 0 = none. */
};

static struct attempt *attempts; /* From number 1 on; those of a group in their order. */
static uint32_t attempt_count;
static uint32_t first_of[GROUPS];
static uint32_t last_of[GROUPS];
static uint64_t found[GROUPS]; /* Version that the cluster has, 0 = no rows. */
static uint64_t newest_version;

static void add_attempt(uint32_t group, uint64_t version, bool deleted)
{
    if (group >= GROUPS || attempt_count + 1 >= ATTEMPTS_MAX) {
        fprintf(stderr, "the record cannot be read: group %u, %u attempts\n", group, attempt_count);
        exit(1);
    }
    uint32_t index = ++attempt_count;
    /* Without an answer in the record the outcome is unknown. */
    attempts[index] = (struct attempt){
        .group = group, .deleted = deleted, .happened = true, .version = version, .gci = NO_ACK};
    if (last_of[group] != 0)
        attempts[last_of[group]].next = index;
    else
        first_of[group] = index;
    last_of[group] = index;
    if (version > newest_version) newest_version = version;
}

static void read_record(FILE *in)
{
    char line[128];
    unsigned group;
    unsigned long long version;
    unsigned long long epoch;
    int flag;
    while (fgets(line, sizeof line, in) != NULL) {
        if (sscanf(line, "b %u %llu %d", &group, &version, &flag) == 3) {
            add_attempt(group, version, flag != 0);
        } else if (sscanf(line, "c %u %llu %llu %d", &group, &version, &epoch, &flag) == 4) {
            attempts[attempt_count].gci = epoch >> 32;
            attempts[attempt_count].disk = flag != 0;
        } else if (sscanf(line, "a %u %llu", &group, &version) == 2) {
            attempts[attempt_count].happened = false;
        }
    }
    fclose(in);
}

/* All rows of a group, in one transaction. */
static void read_group(ndb_t *ndb, uint32_t group)
{
    struct row rows[PARTS];
    struct row expected;
    uint64_t versions[PARTS];
    struct ndb_operation *ops[PARTS];
    struct ndb_transaction *t = ndb_transaction_start(ndb);
    for (uint32_t part = 0; part < PARTS; part++) {
        row_make(&rows[part], group, part, 0);
        ops[part] = ndb_read(t, client.record, &rows[part], client.record, &rows[part], NULL);
        if (ops[part] == NULL) die("read", ndb_transaction_error(t));
    }
    if (ndb_execute(t, NDB_COMMIT, 0) != 0) die("read", ndb_transaction_error(t));
    for (uint32_t part = 0; part < PARTS; part++) {
        const ndb_error_t *error = ndb_operation_error(ops[part]);
        if (error->code != 0 && error->code != 626) die("read", error);
        versions[part] = error->code == 626 ? 0 : rows[part].v;
        if (versions[part] == 0) continue;
        row_make(&expected, group, part, versions[part]);
        if (memcmp(expected.filler, rows[part].filler, FILLER) == 0) continue;
        fprintf(stderr, "row %u of group %u has a wrong content\n", part, group);
        exit(1);
    }
    ndb_transaction_close(t);
    found[group] = versions[0];
    if (versions[0] == versions[1] && versions[1] == versions[2]) return;
    fprintf(stderr, "half a transaction: group %u has versions %llu %llu %llu\n", group,
            (unsigned long long)versions[0], (unsigned long long)versions[1],
            (unsigned long long)versions[2]);
    exit(1);
}

static uint64_t left_by(const struct attempt *attempt)
{
    return attempt->deleted ? 0 : attempt->version;
}

/* Can the cluster have come back at this GCI, as far as the group tells? */
static bool group_fits(uint32_t group, uint64_t gci)
{
    bool fits =
        client.base[group] == found[group]; /* As the newest that surely happened left it. */
    for (uint32_t i = first_of[group]; i != 0; i = attempts[i].next) {
        const struct attempt *attempt = &attempts[i];
        if (!attempt->happened) continue;
        if (attempt->gci == NO_ACK) {
            if (left_by(attempt) == found[group]) fits = true;
            continue;
        }
        if (attempt->gci > gci) return fits;
        fits = left_by(attempt) == found[group];
    }
    return fits;
}

static uint32_t misfits(uint64_t gci, uint32_t *one)
{
    uint32_t count = 0;
    for (uint32_t group = 0; group < GROUPS; group++) {
        if (group_fits(group, gci)) continue;
        *one = group;
        count++;
    }
    return count;
}

static void explain(uint32_t group, uint64_t gci)
{
    fprintf(stderr, "GCI %llu does not fit: group %u has version %llu; it was %llu before\n",
            (unsigned long long)gci, group, (unsigned long long)found[group],
            (unsigned long long)client.base[group]);
    for (uint32_t i = first_of[group]; i != 0; i = attempts[i].next) {
        const struct attempt *attempt = &attempts[i];
        if (attempt->version + 2000 < newest_version && attempts[i].next != 0) continue;
        fprintf(stderr, "  version %llu%s%s%s gci %lld\n", (unsigned long long)attempt->version,
                attempt->deleted ? " deleted" : "", attempt->happened ? "" : " refused",
                attempt->disk ? " on disk" : "", (long long)attempt->gci);
    }
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The GCIs at which the cluster may have come back, oldest first: how many. */
static uint32_t candidates(uint64_t *list, uint64_t disk)
{
    uint32_t count = 0;
    uint32_t kept = 0;
    list[count++] = disk;
    for (uint32_t i = 1; i <= attempt_count; i++) {
        if (attempts[i].happened && attempts[i].gci != NO_ACK && attempts[i].gci > disk)
            list[count++] = attempts[i].gci;
    }
    qsort(list, count, sizeof *list, by_number);
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || list[i] != list[kept - 1]) list[kept++] = list[i];
    }
    return kept;
}

static void start_anew(void)
{
    char name[1100];
    FILE *out = open_file("base", "w");
    if (out == NULL) exit(1);
    fprintf(out, "next %llu\n", (unsigned long long)newest_version + 1);
    for (uint32_t group = 0; group < GROUPS; group++)
        fprintf(out, "%u %llu\n", group, (unsigned long long)found[group]);
    if (fclose(out) != 0) exit(1);
    for (uint32_t i = 0; i < THREADS_MAX; i++) {
        snprintf(name, sizeof name, "%s/record.%u", client.directory, i);
        remove(name);
    }
}

static int judge(uint64_t disk, uint64_t acknowledged, uint64_t on_disk)
{
    uint64_t *list = malloc(((size_t)attempt_count + 1) * sizeof *list);
    uint32_t count = candidates(list, disk);
    uint32_t one = 0;
    uint64_t lost = 0;
    uint32_t at = count;
    while (at > 0 && misfits(list[at - 1], &one) > 0)
        at--;
    if (at == 0) {
        fprintf(stderr, "commits on disk reach up to GCI %llu; no GCI from there on fits\n",
                (unsigned long long)disk);
        for (uint32_t i = 0; i < count && i < 3; i++) {
            fprintf(stderr, "GCI %llu: %u groups do not fit\n", (unsigned long long)list[i],
                    misfits(list[i], &one));
            explain(one, list[i]);
        }
        return 1;
    }
    for (uint32_t i = 1; i <= attempt_count; i++)
        lost += attempts[i].happened && attempts[i].gci != NO_ACK && attempts[i].gci > list[at - 1];
    printf("verify: gci=%llu newest=%llu commits=%llu disk=%llu lost=%llu\n",
           (unsigned long long)list[at - 1], (unsigned long long)list[count - 1],
           (unsigned long long)acknowledged, (unsigned long long)on_disk, (unsigned long long)lost);
    free(list);
    start_anew();
    return 0;
}

static int verify(void)
{
    uint64_t disk = 0;
    uint64_t acknowledged = 0;
    uint64_t on_disk = 0;
    attempts = calloc(ATTEMPTS_MAX, sizeof *attempts);
    if (attempts == NULL) return 1;
    read_base();
    newest_version = client.first_version - 1;
    for (uint32_t i = 0; i < THREADS_MAX; i++) {
        FILE *in = open_record(i, "r");
        if (in != NULL) read_record(in);
    }
    for (uint32_t i = 1; i <= attempt_count; i++) {
        if (!attempts[i].happened || attempts[i].gci == NO_ACK) continue;
        acknowledged++;
        on_disk += attempts[i].disk;
        if (attempts[i].disk && attempts[i].gci > disk) disk = attempts[i].gci;
    }
    ndb_t *ndb = open_cluster();
    for (uint32_t group = 0; group < GROUPS; group++)
        read_group(ndb, group);
    close_cluster(ndb);
    return judge(disk, acknowledged, on_disk);
}

int main(int argc, char **argv)
{
    if (argc >= 3) client.directory = argv[2];
    if (argc == 3 && strcmp(argv[1], "verify") == 0) return verify();
    if (argc >= 3 && argc <= 5 && strcmp(argv[1], "run") == 0) {
        uint32_t threads = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 4;
        uint32_t seconds = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 0;
        if (threads >= 1 && threads <= THREADS_MAX) return run(threads, seconds);
    }
    fprintf(stderr, "usage: kill_client run DIR [THREADS [SECONDS]] | kill_client verify DIR\n");
    return 2;
}
