/* example_packages.c -- a tour of the client API on the package table that sandbox.sh loads. */
/* SPDX-License-Identifier: MIT */
/*
 * Usage: example_packages [CONNECT-STRING]
 * Looks one package up by its key, counts all by a scan, changes several rows in one transaction
 * (and back), and reads them through each data node. It checks what it sees: exit code 1 when
 * anything is not as it must be.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <ndb/ndb.h>

#define TIMEOUT_MS 20000u
#define BIGGEST    5u   /* Rows that the transaction changes. */
#define KEYS_MAX   256u /* Keys kept of the scan, for a lookup. */

/* A row as this program wants it: only some columns, texts as C strings. */
struct package {
    char name[121];
    char architecture[21];
    char version[121];
    uint32_t installed_kb;
    char summary[501];
    uint8_t nulls; /* Bit 0: summary is NULL. */
};

static const struct ndb_field package_fields[] = {
    NDB_FIELD_STRING(struct package, name, "name"),
    NDB_FIELD_STRING(struct package, architecture, "architecture"),
    NDB_FIELD_STRING(struct package, version, "version"),
    NDB_FIELD(struct package, installed_kb, "installed_kb"),
    NDB_FIELD_STRING_NULL(struct package, summary, "summary", nulls, 0),
};

/* What an update writes: the key and the column to change. */
static const struct ndb_field size_fields[] = {
    NDB_FIELD_STRING(struct package, name, "name"),
    NDB_FIELD_STRING(struct package, architecture, "architecture"),
    NDB_FIELD(struct package, installed_kb, "installed_kb"),
};

struct tour {
    struct ndb_cluster_connection *connection;
    ndb_t *ndb;
    struct ndb_table *table;
    struct ndb_record *package; /* package_fields */
    struct ndb_record *size;    /* size_fields */
    struct package biggest[BIGGEST];
    uint32_t biggest_count;
    struct package keys[KEYS_MAX];
    uint32_t key_count;
    uint64_t key_step; /* Every so many rows one key is kept. */
    uint64_t rows;
};

static int failed(const char *what, const ndb_error_t *error)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "%s: %d: %s%s%s\n", what, error->code, error->text,
                  error->detail[0] != '\0' ? ": " : "", error->detail);
    return -1;
}

static int wrong(const char *what)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "MISMATCH: %s\n", what);
    return -1;
}

/* ---- Connecting ---- */

static int connect_cluster(struct tour *tour, const char *connect_string)
{
    struct ndb_connection_options options = {.name = "example_packages"};
    ndb_error_t error;

    tour->connection = ndb_connection_create(connect_string, &options);
    if (tour->connection == NULL) return wrong("out of memory");
    if (ndb_connection_connect(tour->connection, TIMEOUT_MS) != 0 ||
        ndb_connection_wait_until_ready(tour->connection, TIMEOUT_MS) < 0) {
        ndb_connection_error(tour->connection, &error);
        return failed("connect", &error);
    }
    tour->ndb = ndb_open(tour->connection, "sandbox");
    if (tour->ndb == NULL) {
        ndb_connection_error(tour->connection, &error);
        return failed("open", &error);
    }
    tour->table = ndb_table_open(tour->ndb, "package", 0);
    if (tour->table == NULL) return failed("table sandbox.package", ndb_error(tour->ndb));
    tour->package = ndb_record_create(tour->ndb, tour->table, package_fields,
                                      sizeof(package_fields) / sizeof(package_fields[0]),
                                      sizeof(struct package));
    tour->size =
        ndb_record_create(tour->ndb, tour->table, size_fields,
                          sizeof(size_fields) / sizeof(size_fields[0]), sizeof(struct package));
    if (tour->package == NULL || tour->size == NULL) return failed("record", ndb_error(tour->ndb));
    printf("Connected as node %u; %u data nodes are ready.\n",
           ndb_connection_node_id(tour->connection), ndb_connection_ready_nodes(tour->connection));
    return 0;
}

static void disconnect(struct tour *tour)
{
    ndb_record_release(tour->size);
    ndb_record_release(tour->package);
    ndb_table_release(tour->table);
    ndb_close(tour->ndb);
    ndb_connection_free(tour->connection);
}

/* ---- 1. A scan ---- */

/* Keeps the biggest packages, biggest first. */
static void note_biggest(struct tour *tour, const struct package *package)
{
    uint32_t place = tour->biggest_count;

    while (place > 0 && tour->biggest[place - 1].installed_kb < package->installed_kb)
        place--;
    if (place == BIGGEST) return;
    if (tour->biggest_count < BIGGEST) tour->biggest_count++;
    for (uint32_t i = tour->biggest_count - 1; i > place; i--)
        tour->biggest[i] = tour->biggest[i - 1];
    tour->biggest[place] = *package;
}

/* Keeps keys from all over the scan: rows come fragment after fragment, and so node after node. */
static void note_key(struct tour *tour, const struct package *package)
{
    if (tour->rows % tour->key_step != 0) return;
    if (tour->key_count == KEYS_MAX) {
        for (uint32_t i = 0; i < KEYS_MAX / 2; i++)
            tour->keys[i] = tour->keys[2 * i];
        tour->key_count = KEYS_MAX / 2;
        tour->key_step *= 2;
    }
    tour->keys[tour->key_count++] = *package;
}

static int scan_all(struct tour *tour)
{
    struct package package = {0};
    uint64_t kb = 0;
    uint64_t counted = 0;
    int more;

    struct ndb_scan *scan = ndb_scan_start(tour->ndb, tour->package, NULL, 0);
    if (scan == NULL) return failed("scan", ndb_error(tour->ndb));
    while ((more = ndb_scan_next_copy(scan, &package, 0)) == 1) {
        note_key(tour, &package);
        tour->rows++;
        kb += package.installed_kb;
        note_biggest(tour, &package);
    }
    if (more < 0) {
        int result = failed("scan", ndb_scan_error(scan));
        ndb_scan_close(scan);
        return result;
    }
    ndb_scan_close(scan);
    printf("Scan: %" PRIu64 " packages take %.1f MB; the biggest are\n", tour->rows,
           (double)kb / 1024.0);
    for (uint32_t i = 0; i < tour->biggest_count; i++)
        printf("    %-32s %8u kB\n", tour->biggest[i].name, tour->biggest[i].installed_kb);
    if (tour->rows == 0) return wrong("the table is empty");
    if (ndb_scan_count(tour->ndb, tour->table, &counted, 0) != 0)
        return failed("count", ndb_error(tour->ndb));
    printf("Count without fetching rows: %" PRIu64 "\n", counted);
    return counted == tour->rows ? 0 : wrong("scan and count disagree");
}

/* ---- 2. A lookup by key ---- */

static int look_up(struct tour *tour)
{
    struct package package = tour->keys[0];
    struct package libc = {.name = "libc6"};

    /* The architecture is part of the key: take this machine's, as any other package has it. */
    for (uint32_t i = 0; i < tour->key_count; i++) {
        if (strcmp(tour->keys[i].architecture, "all") == 0) continue;
        memcpy(libc.architecture, tour->keys[i].architecture, sizeof(libc.architecture));
        if (ndb_read_row(tour->ndb, tour->package, &libc, 0) == 0) {
            package = libc;
        } else if (ndb_error(tour->ndb)->code != 626) { /* There is no such row. */
            return failed("lookup", ndb_error(tour->ndb));
        }
        break;
    }
    struct package found = {0};
    memcpy(found.name, package.name, sizeof(found.name));
    memcpy(found.architecture, package.architecture, sizeof(found.architecture));
    if (ndb_read_row(tour->ndb, tour->package, &found, 0) != 0)
        return failed("lookup", ndb_error(tour->ndb));
    printf("Lookup: %s/%s is version %s, %u kB: %s\n", found.name, found.architecture,
           found.version, found.installed_kb, (found.nulls & 1) != 0 ? "(NULL)" : found.summary);
    if (strcmp(found.version, package.version) != 0 || found.installed_kb != package.installed_kb)
        return wrong("lookup and scan disagree");
    struct package none = {.name = "no-such-package", .architecture = "none"};
    if (ndb_read_row(tour->ndb, tour->package, &none, 0) == 0)
        return wrong("a package that does not exist was found");
    printf("Lookup of one that does not exist: %d: %s\n", ndb_error(tour->ndb)->code,
           ndb_error(tour->ndb)->text);
    return ndb_error(tour->ndb)->code == 626 ? 0 : wrong("error 626 expected");
}

/* ---- 3. A transaction over several rows ---- */

struct change {
    struct tour *tour;
    int32_t difference;
};

/* Runs again from the start when a temporary error ends it, so it keeps nothing between runs. */
static int change_sizes(struct ndb_transaction *transaction, void *context)
{
    const struct change *change = context;
    struct tour *tour = change->tour;
    struct ndb_operation_options exclusive = {.lock = NDB_LOCK_EXCLUSIVE,
                                              .flags = NDB_OP_ABORT_ON_ERROR};
    struct package rows[BIGGEST];

    memcpy(rows, tour->biggest, sizeof(rows));
    for (uint32_t i = 0; i < tour->biggest_count; i++) {
        if (ndb_read(transaction, tour->size, &tour->biggest[i], tour->size, &rows[i],
                     &exclusive) == NULL)
            return -1;
    }
    if (ndb_execute(transaction, NDB_NO_COMMIT, 0) != 0) return -1; /* All reads, one round trip. */
    for (uint32_t i = 0; i < tour->biggest_count; i++) {
        rows[i].installed_kb += (uint32_t)change->difference;
        if (ndb_update(transaction, tour->size, &rows[i], tour->size, &rows[i], NULL) == NULL)
            return -1;
    }
    return ndb_execute(transaction, NDB_COMMIT, 0);
}

/* Every changed row must be `difference` away from what the scan saw. */
static int check_sizes(struct tour *tour, int32_t difference)
{
    for (uint32_t i = 0; i < tour->biggest_count; i++) {
        struct package row = tour->biggest[i];
        if (ndb_read_row(tour->ndb, tour->package, &row, 0) != 0)
            return failed("read back", ndb_error(tour->ndb));
        if (row.installed_kb != tour->biggest[i].installed_kb + (uint32_t)difference)
            return wrong("a changed row has another value");
    }
    return 0;
}

static int change(struct tour *tour, int32_t difference)
{
    struct change change = {tour, difference};

    if (ndb_run_transaction(tour->ndb, change_sizes, &change, 0) != 0)
        return failed("transaction", ndb_error(tour->ndb));
    printf("Transaction: %u rows locked, changed by %+d kB and committed\n", tour->biggest_count,
           difference);
    return 0;
}

/* ---- 4. Through each data node ---- */

/* Reads the changed rows in one transaction that this node coordinates. */
static int read_through(struct tour *tour, uint32_t node)
{
    /* Reads without a lock need no coordinator: each goes to where its row is. */
    const struct ndb_operation_options shared = {.lock = NDB_LOCK_SHARED,
                                                 .flags = NDB_OP_ABORT_ON_ERROR};
    struct package rows[BIGGEST];
    int result = -1;

    memcpy(rows, tour->biggest, sizeof(rows));
    struct ndb_transaction *transaction = ndb_transaction_start_at(tour->ndb, node);
    if (transaction == NULL) return failed("transaction", ndb_error(tour->ndb));
    bool defined = true;
    for (uint32_t i = 0; i < tour->biggest_count && defined; i++) {
        rows[i].installed_kb = 0;
        defined = ndb_read(transaction, tour->package, &tour->biggest[i], tour->package, &rows[i],
                           &shared) != NULL;
    }
    if (!defined || ndb_execute(transaction, NDB_COMMIT, 0) != 0) {
        (void)failed("read", ndb_transaction_error(transaction));
    } else if (ndb_transaction_node(transaction) != node) {
        result = wrong("another node coordinated the transaction");
    } else {
        result = 0;
    }
    ndb_transaction_close(transaction);
    for (uint32_t i = 0; i < tour->biggest_count && result == 0; i++) {
        if (rows[i].installed_kb != tour->biggest[i].installed_kb)
            result = wrong("another node shows another value");
    }
    return result;
}

static int read_through_nodes(struct tour *tour)
{
    for (uint32_t node = ndb_connection_next_ready_node(tour->connection, 0); node != 0;
         node = ndb_connection_next_ready_node(tour->connection, node)) {
        if (read_through(tour, node) != 0) return -1;
        printf("Node %u coordinated a transaction and saw the same %u rows\n", node,
               tour->biggest_count);
    }
    return 0;
}

static int run(struct tour *tour)
{
    if (scan_all(tour) != 0 || look_up(tour) != 0) return -1;
    if (change(tour, 1) != 0 || check_sizes(tour, 1) != 0) return -1;
    if (change(tour, -1) != 0 || check_sizes(tour, 0) != 0) return -1;
    return read_through_nodes(tour);
}

int main(int argc, char **argv)
{
    static struct tour tour;

    if (argc > 2) {
        (void)fprintf(stderr, "usage: example_packages [CONNECT-STRING]\n");
        return 2;
    }
    tour.key_step = 1;
    int result = connect_cluster(&tour, argc == 2 ? argv[1] : NULL);
    if (result == 0) result = run(&tour);
    disconnect(&tour);
    if (result == 0) printf("All as it must be.\n");
    return result == 0 ? 0 : 1;
}
