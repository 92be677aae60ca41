/* number_client.c -- numbers for new rows through the public interface. For the tests of this
 * folder. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * number_client check            everything once; exit code 1 when something is wrong
 * number_client take THREADS SECONDS
 *                                so many threads, each of its own ndb_t, take numbers of table
 * test/number and write each into standard output, a line each; half of them only odd ones, a few
 * at a time. All keep trying while nodes are lost.
 *
 * number_client outlive          takes numbers, says "holding", and waits for a line from standard
 * input: the cluster has lost all tables and lives again. What it had left must be no more, and
 * what it had opened takes no numbers there.
 *
 * NDB_CONNECTSTRING names the cluster.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ndb/ndb.h>

#define THREADS_MAX 16u
/* Pause between two numbers: the sum of all is still some hundred thousand. */
#define PAUSE_NS 300000L

static struct ndb_cluster_connection *connection;

static _Noreturn void die(const char *what, const ndb_error_t *error)
{
    fprintf(stderr, "%s: %d: %s %s\n", what, error->code, error->text, error->detail);
    exit(1);
}

static void want(const char *what, uint64_t is, uint64_t should)
{
    if (is == should) return;
    fprintf(stderr, "%s: %llu instead of %llu\n", what, (unsigned long long)is,
            (unsigned long long)should);
    exit(1);
}

static struct ndb_table *open_table(ndb_t *ndb, const char *name)
{
    struct ndb_table *table = ndb_table_open(ndb, name, 0);
    if (table == NULL) die(name, ndb_error(ndb));
    return table;
}

static struct ndb_table *make_table(ndb_t *ndb, const char *name, const char *type)
{
    char sql[200];
    snprintf(sql, sizeof sql, "CREATE TABLE %s (id %s AUTO_INCREMENT PRIMARY KEY, who INT)", name,
             type);
    ndb_table_drop(ndb, name, 0);
    if (ndb_table_create(ndb, sql, NULL, 0) != 0) die("create", ndb_error(ndb));
    return open_table(ndb, name);
}

static uint64_t take(ndb_t *ndb, const struct ndb_table *table, uint32_t prefetch, uint32_t step,
                     uint64_t start)
{
    const struct ndb_increment_options options = {prefetch, step, start};
    uint64_t number = 0;
    if (ndb_auto_increment(ndb, table, &options, &number, 0) != 0) die("take", ndb_error(ndb));
    return number;
}

static uint64_t read_next(ndb_t *ndb, const struct ndb_table *table)
{
    uint64_t number = 0;
    if (ndb_auto_increment_read(ndb, table, &number, 0) != 0) die("read", ndb_error(ndb));
    return number;
}

static void set_least(ndb_t *ndb, const struct ndb_table *table, uint64_t least)
{
    if (ndb_auto_increment_set(ndb, table, least, 0) != 0) die("set", ndb_error(ndb));
}

/* Two of them, of which each has ranges of its own. */
static void check_ranges(ndb_t *a, ndb_t *b)
{
    struct ndb_table *table = make_table(a, "number", "BIGINT UNSIGNED");
    struct ndb_column_info column;
    want("a column", (uint64_t)ndb_table_column(table, 0, &column), 0);
    want("that has numbers", column.auto_increment && !column.nullable, 1);
    want("next of none", read_next(a, table), 1);
    for (uint64_t i = 1; i <= 10; i++)
        want("of the first range", take(a, table, 10, 0, 0), i);
    want("next of the cluster", read_next(b, table), 11);
    want("of the second range", take(b, table, 10, 0, 0), 11);
    want("of the third", take(a, table, 10, 0, 0), 21);
    want("next of its own", read_next(b, table), 12);
    want("of the second again", take(b, table, 10, 0, 0), 12);
    want("without options", ndb_auto_increment(a, table, NULL, &(uint64_t){0}, 0) == 0, 1);
    set_least(b, table, 15);
    want("not less", take(b, table, 10, 0, 0), 15);
    set_least(b, table, 1000);
    want("far above", take(b, table, 1, 0, 0), 1000);
    want("not of the old range", read_next(b, table), 1001);
    set_least(b, table, 7); /* Never down. */
    want("still above", take(b, table, 1, 0, 0), 1001);
    want("every tenth from the third on", take(b, table, 2, 10, 3), 1003);
    want("the next of these", take(b, table, 2, 10, 3), 1013);
    want("and another range", take(b, table, 2, 10, 3), 1023);
    want("from a start", take(b, table, 1, 1, 5000), 5000);
    want("the other one's range", take(a, table, 10, 0, 0), 23);
    ndb_table_release(table);
}

static void check_end(ndb_t *ndb)
{
    uint64_t number;
    struct ndb_table *table = make_table(ndb, "tiny", "TINYINT");
    for (uint64_t i = 1; i <= 127; i++)
        want("small numbers", take(ndb, table, 100, 0, 0), i);
    want("no more", (uint64_t)ndb_auto_increment(ndb, table, NULL, &number, 0), (uint64_t)-1);
    want("its error", (uint64_t)ndb_error(ndb)->code, 4314);
    ndb_table_release(table);
    table = make_table(ndb, "huge", "BIGINT UNSIGNED");
    set_least(ndb, table, UINT64_MAX - 4);
    want("near the end", take(ndb, table, 2, 0, 0), UINT64_MAX - 4);
    want("of two", take(ndb, table, 2, 0, 0), UINT64_MAX - 3);
    want("the end", (uint64_t)ndb_auto_increment(ndb, table, NULL, &number, 0), (uint64_t)-1);
    want("its error", (uint64_t)ndb_error(ndb)->code, 4314);
    ndb_table_release(table);
}

/* A table that is made anew begins anew; who has the old one open hears of it. */
static void check_anew(ndb_t *a, ndb_t *b)
{
    uint64_t number;
    struct ndb_table *old = make_table(a, "anew", "INT UNSIGNED");
    want("old", take(a, old, 1, 0, 0), 1);
    want("of the old one", take(a, old, 1, 0, 0), 2);
    struct ndb_table *table = make_table(b, "anew", "INT UNSIGNED");
    struct ndb_table_info before;
    struct ndb_table_info now;
    ndb_table_describe(old, &before);
    ndb_table_describe(table, &now);
    want("the new one", take(b, table, 1, 0, 0), 1);
    if (before.table_id == now.table_id) {
        want("of a table that is gone", (uint64_t)ndb_auto_increment(a, old, NULL, &number, 0),
             (uint64_t)-1);
        want("its error", (uint64_t)ndb_error(a)->code, 241);
    }
    want("the new one again", take(a, table, 1, 0, 0), 2);
    ndb_table_release(old);
    ndb_table_release(table);
}

/* The table again, in a cluster that this connection may still have to find. */
static struct ndb_table *make_again(ndb_t *ndb, const struct ndb_table_info *before)
{
    struct ndb_table_info now;
    ndb_error_t error;
    if (ndb_connection_wait_until_ready(connection, 100000) < 0) {
        ndb_connection_error(connection, &error);
        die("the next life", &error);
    }
    ndb_table_invalidate(ndb, "number");
    struct ndb_table *table = make_table(ndb, "number", "INT UNSIGNED");
    ndb_table_describe(table, &now);
    want("the same table number", now.table_id, before->table_id);
    if (now.version ==
        before->version) { /* Else its counter could be taken for the former one's. */
        fprintf(stderr, "the same version again: %u\n", now.version);
        exit(1);
    }
    return table;
}

/* Numbers of a table of the same number, whose counter was lost. */
static int outlive(void)
{
    struct ndb_table_info before;
    ndb_t *a = ndb_open(connection, "test");
    ndb_t *b = ndb_open(connection, "test");
    ndb_t *c = ndb_open(connection, "test");
    struct ndb_table *table = make_table(a, "number", "INT UNSIGNED");
    ndb_table_describe(table, &before);
    for (uint64_t i = 1; i <= 4; i++)
        want("before", take(a, table, 32, 0, 0), i);
    want("of another one, before", take(c, table, 32, 0, 0), 33);
    struct ndb_table *former = table;
    printf("holding\n");
    (void)fflush(stdout);
    if (getchar() == EOF) return 1;
    want("a data node", ndb_connection_wait_until_ready(connection, 100000) >= 0, 1);
    /* The next life does not have it, and gets no counter of it. */
    uint64_t number;
    want("of a former table", (uint64_t)ndb_auto_increment(a, former, NULL, &number, 0),
         UINT64_MAX);
    want("its error", (uint64_t)ndb_error(a)->code, 241);
    want("set for one", (uint64_t)ndb_auto_increment_set(b, former, 99, 0), UINT64_MAX);
    want("its error", (uint64_t)ndb_error(b)->code, 241);
    ndb_table_release(former);
    want("a table of counters", ndb_table_open(a, "sys/SYSTAB_0", 0) == NULL, 1);
    table = make_again(b, &before);
    set_least(c, table, 40);
    want("that is written", read_next(b, table), 40);
    for (uint64_t i = 40; i < 45; i++)
        want("after", take(b, table, 32, 0, 0), i);
    want("behind all that are taken", take(a, table, 32, 0, 0), 72);
    want("and there", take(c, table, 32, 0, 0), 104);
    ndb_table_release(table);
    ndb_close(a);
    ndb_close(b);
    ndb_close(c);
    printf("numbers of the next life: all is right\n");
    return 0;
}

static int check(void)
{
    ndb_t *a = ndb_open(connection, "test");
    ndb_t *b = ndb_open(connection, "test");
    check_ranges(a, b);
    check_end(a);
    check_anew(a, b);
    want("no table", (uint64_t)ndb_auto_increment(a, NULL, NULL, &(uint64_t){0}, 0), (uint64_t)-1);
    ndb_close(a);
    ndb_close(b);
    printf("numbers: all is right\n");
    return 0;
}

struct taker {
    pthread_t thread;
    uint32_t number;
    double seconds;
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void *take_many(void *context)
{
    const struct taker *taker = context;
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    const struct ndb_increment_options options = {
        .prefetch = 1 + 7 * (taker->number % 4), .step = 1 + taker->number % 2, .start = 1};
    ndb_t *ndb = ndb_open(connection, "test");
    double end_s = now_s() + taker->seconds;
    struct ndb_table *table = open_table(ndb, "number");
    while (now_s() < end_s) {
        uint64_t value;
        if (ndb_auto_increment(ndb, table, &options, &value, 60000) != 0)
            die("take", ndb_error(ndb));
        printf("%llu\n", (unsigned long long)value);
        nanosleep(&pause, NULL);
    }
    ndb_table_release(table);
    ndb_close(ndb);
    return NULL;
}

static int take_by_threads(uint32_t threads, double seconds)
{
    struct taker taker[THREADS_MAX];
    for (uint32_t i = 0; i < threads; i++) {
        taker[i] = (struct taker){.number = i, .seconds = seconds};
        if (pthread_create(&taker[i].thread, NULL, take_many, &taker[i]) != 0) abort();
    }
    for (uint32_t i = 0; i < threads; i++)
        pthread_join(taker[i].thread, NULL);
    return fflush(stdout) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    bool checks = argc == 2 && strcmp(argv[1], "check") == 0;
    bool takes = argc == 4 && strcmp(argv[1], "take") == 0 && atoi(argv[2]) > 0 &&
                 (uint32_t)atoi(argv[2]) <= THREADS_MAX;
    bool outlives = argc == 2 && strcmp(argv[1], "outlive") == 0;
    if (!checks && !takes && !outlives) {
        fprintf(stderr, "usage: number_client check | take THREADS SECONDS | outlive\n");
        return 2;
    }
    connection = ndb_connection_create(NULL, NULL);
    if (ndb_connection_connect(connection, 30000) != 0 ||
        ndb_connection_wait_until_ready(connection, 30000) < 0) {
        ndb_error_t error;
        ndb_connection_error(connection, &error);
        die("connect", &error);
    }
    int code = checks     ? check()
               : outlives ? outlive()
                          : take_by_threads((uint32_t)atoi(argv[2]), atof(argv[3]));
    ndb_connection_free(connection);
    return code;
}
