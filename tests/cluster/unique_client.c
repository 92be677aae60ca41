/* unique_client.c -- unique indexes through the public interface, also while data nodes are lost.
 * For the tests of this folder. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * unique_client check [OPTIONS]: makes the table, with OPTIONS behind it; duplicates, operations by
 * unique key, refusals.
 *
 * unique_client create [OPTIONS]: the same table gets unique indexes, and loses them, also while
 * transactions are open; two rows with one key.
 *
 * unique_client move SECONDS [OPTIONS [ROWS]]: the same table; threads give rows other emails, by
 * id and by email, and take those of others: at most one has it. When others make an index `later`
 * over the emails they go by that, too.
 *
 * unique_client verify [ROWS [later]]: each row is found by its unique keys, and the indexes have
 * no other entries; `later` is one of them if it is there, and there if it is named.
 *
 * NDB_CONNECTSTRING names the cluster. Exit code 1 when something is wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tests/cluster/schema_again.h"
#include "tests/cluster/unique_client.h"

#define AT_ONCE 100u /* Rows in one transaction. */

static const struct ndb_field fields[] = {
    NDB_FIELD(struct row, id, "id"),
    NDB_FIELD_STRING_NULL(struct row, email, "email", nulls, 0),
    NDB_FIELD_NULL(struct row, a, "a", nulls, 1),
    NDB_FIELD(struct row, b, "b"),
};

struct ndb_cluster_connection *connection;
uint32_t row_count = 400;
static const char *table_options = "";

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

static struct ndb_record *key_record(const struct client *client, const char *index,
                                     const struct ndb_field *key, uint32_t count)
{
    int number = ndb_table_find_unique(client->table, index);
    want("the index is there", number >= 0, true);
    struct ndb_record *record = ndb_record_create_unique(
        client->ndb, client->table, (uint32_t)number, key, count, sizeof(struct row));
    if (record == NULL) die(index, ndb_error(client->ndb));
    return record;
}

static void make_records(struct client *client)
{
    client->record = ndb_record_create(client->ndb, client->table, fields, 4, sizeof(struct row));
    if (client->record == NULL) die("record", ndb_error(client->ndb));
    client->by_email = key_record(client, "EMAIL", &fields[1], 1);
    client->by_ab = key_record(client, "ab", fields, 4); /* Others do no harm. */
    client->later = NULL;
    if (ndb_table_find_unique(client->table, "later") >= 0)
        client->later = key_record(client, "later", fields, 4);
}

static void release(struct client *client)
{
    ndb_record_release(client->record);
    ndb_record_release(client->by_email);
    ndb_record_release(client->by_ab);
    if (client->later != NULL) ndb_record_release(client->later);
    ndb_table_release(client->table);
}

void client_open(struct client *client)
{
    client->ndb = ndb_open(connection, "test");
    client->table = ndb_table_open(client->ndb, "people", 0);
    if (client->table == NULL) die("table", ndb_error(client->ndb));
    make_records(client);
}

void client_reopen(struct client *client)
{
    struct ndb_table *table = ndb_table_open(client->ndb, "people", 0);
    if (table == NULL) {
        const ndb_error_t *error = ndb_error(client->ndb);
        if (error->status == NDB_STATUS_PERMANENT) die("the table again", error);
        return;
    }
    release(client);
    client->table = table;
    make_records(client);
}

void client_close(struct client *client)
{
    release(client);
    ndb_close(client->ndb);
}

struct row row_of(uint32_t id, uint32_t email)
{
    struct row row = {.id = id, .a = (int32_t)id, .b = (int32_t)(id % 3)};
    if (id % 10 == 9) row.nulls = 2;
    snprintf(row.email, sizeof row.email, "%u@example.org", email);
    return row;
}

void make_rows(struct client *client)
{
    char sql[400];
    (void)snprintf(sql, sizeof sql,
                   "CREATE TABLE people (id INT UNSIGNED NOT NULL PRIMARY KEY, email VARCHAR(60) "
                   "UNIQUE, a INT, b INT NOT NULL, UNIQUE KEY ab USING HASH (a, b), UNIQUE KEY "
                   "spare (b, id), INDEX by_b (b)) "
                   "%s",
                   table_options);
    client->ndb = ndb_open(connection, "test");
    time_t end = time(NULL) + SCHEMA_LIMIT_S;
    while (ndb_table_drop(client->ndb, "people", 0) != 0 && schema_again(client->ndb, end))
        continue;
    while (ndb_table_create(client->ndb, sql, NULL, 0) != 0) {
        if (!schema_again(client->ndb, end)) die("create", ndb_error(client->ndb));
    }
    ndb_close(client->ndb);
    client_open(client);
    for (uint32_t id = 0; id < row_count; id += AT_ONCE) {
        struct row rows[AT_ONCE];
        uint32_t count = row_count - id < AT_ONCE ? row_count - id : AT_ONCE;
        for (uint32_t i = 0; i < count; i++)
            rows[i] = row_of(id + i, id + i);
        want("rows that are inserted",
             ndb_change_many(client->ndb, NDB_INSERT, client->record, rows, sizeof rows[0], count,
                             NULL, 0),
             count);
    }
}

/* --- Check. --- */

int execute(struct ndb_transaction *t, const struct ndb_operation *operation)
{
    int code = 0;
    if (operation == NULL || ndb_execute(t, NDB_COMMIT, 0) != 0)
        code = ndb_transaction_error(t)->code;
    else
        code = ndb_operation_error(operation)->code;
    return code;
}

void check_duplicate(struct client *client, struct row row, const char *index)
{
    const struct ndb_operation_options ignore = {.flags = NDB_OP_IGNORE_ERROR};
    for (uint32_t i = 0; i < 3; i++) {
        struct ndb_transaction *t = ndb_transaction_start(client->ndb);
        const struct row innocent = row_of(row_count + 7, row_count + 7);
        ndb_insert(t, client->record, &innocent, NULL);
        struct ndb_operation *operation =
            i == 2 ? ndb_update(t, client->record, &row, client->record, &row, &ignore)
                   : ndb_write(t, client->record, &row, i == 1 ? &ignore : NULL);
        want("a duplicate", execute(t, operation), DUPLICATE);
        want("the index's name", strcmp(ndb_transaction_error(t)->detail, index), 0);
        want("the operation", ndb_transaction_error_operation(t) == operation, true);
        want("its own", strcmp(ndb_operation_error(operation)->detail, index), 0);
        want("its class", ndb_transaction_error(t)->classification, NDB_CLASS_CONSTRAINT);
        ndb_transaction_close(t);
    }
    struct row innocent = {.id = row_count + 7};
    want("nothing is left", ndb_read_row(client->ndb, client->record, &innocent, 0), -1);
}

static void check_duplicates(struct client *client)
{
    struct row row = row_of(5, 6);
    check_duplicate(client, row, "email");
    row = row_of(5, 5);
    row.a = 8;
    row.b = 2;
    check_duplicate(client, row, "ab");
    row.nulls = 2; /* With a NULL it is none. */
    if (ndb_update_row(client->ndb, client->record, &row, 0) != 0)
        die("NULL", ndb_error(client->ndb));
    row = row_of(5, 5);
    if (ndb_update_row(client->ndb, client->record, &row, 0) != 0)
        die("back", ndb_error(client->ndb));
    snprintf(row.email, sizeof row.email, "6@EXAMPLE.org"); /* As the column compares. */
    check_duplicate(client, row, "email");
}

/* Reads, an update and a delete by unique keys in one batch. */
static void check_by_key(struct client *client)
{
    struct ndb_transaction *t = ndb_transaction_start(client->ndb);
    struct row key = row_of(0, 20);
    struct row read = {0};
    struct row locked = {0};
    struct row by_ab = row_of(22, 0);
    struct row found = {0};
    struct row other = row_of(23, 23);
    struct row gone = row_of(24, 24);
    const struct ndb_operation_options exclusive = {.lock = NDB_LOCK_EXCLUSIVE};
    const uint8_t only_b[1] = {1u << 3};
    const struct ndb_operation_options b = {.mask = only_b};
    ndb_read(t, client->by_email, &key, client->record, &read, NULL);
    snprintf(key.email, sizeof key.email, "21@example.org");
    ndb_read(t, client->by_email, &key, client->record, &locked, &exclusive);
    ndb_read(t, client->by_ab, &by_ab, client->record, &found, NULL);
    other.b = 77;
    ndb_update(t, client->by_email, &other, client->record, &other, &b);
    struct ndb_operation *last = ndb_delete(t, client->by_email, &gone, NULL);
    if (execute(t, last) != 0) die("by unique key", ndb_transaction_error(t));
    ndb_transaction_close(t);
    want("the row of an email", read.id, 20);
    want("the locked row", locked.id, 21);
    want("the row of two values", found.id, 22);
    other.b = 0;
    if (ndb_read_row(client->ndb, client->record, &other, 0) != 0)
        die("read", ndb_error(client->ndb));
    want("what was changed by email", other.b, 77);
    want("what was deleted by email", ndb_read_row(client->ndb, client->record, &gone, 0), -1);
    other = row_of(23, 23);
    gone = row_of(24, 24);
    if (ndb_write_row(client->ndb, client->record, &other, 0) != 0 ||
        ndb_insert_row(client->ndb, client->record, &gone, 0) != 0)
        die("as before", ndb_error(client->ndb));
}

/* The short forms. */
static void check_rows(struct client *client)
{
    struct row row = row_of(31, 0);
    row.id = 0;
    if (ndb_read_row(client->ndb, client->by_ab, &row, 0) != 0) die("read", ndb_error(client->ndb));
    want("the row of two values", row.id, 31);
    want("its email", strcmp(row.email, "31@example.org"), 0);
    snprintf(row.email, sizeof row.email, "somebody else");
    if (ndb_update_row(client->ndb, client->by_ab, &row, 0) != 0)
        die("update", ndb_error(client->ndb));
    if (ndb_delete_row(client->ndb, client->by_ab, &row, 0) != 0)
        die("delete", ndb_error(client->ndb));
    want("it is gone", ndb_read_row(client->ndb, client->by_ab, &row, 0), -1);
    want("its error", ndb_error(client->ndb)->code, NO_ROW);
    want("an insert by unique key", ndb_insert_row(client->ndb, client->by_ab, &row, 0), -1);
    want("its error", ndb_error(client->ndb)->code, 4292);
    row = row_of(31, 32);
    want("a duplicate", ndb_insert_row(client->ndb, client->record, &row, 0), -1);
    want("its error", ndb_error(client->ndb)->code, DUPLICATE);
    want("its name", strcmp(ndb_error(client->ndb)->detail, "email"), 0);
    row = row_of(31, 31);
    if (ndb_insert_row(client->ndb, client->record, &row, 0) != 0)
        die("insert", ndb_error(client->ndb));
}

static void check_missing(struct client *client)
{
    struct row key = row_of(0, 99999);
    struct row read = {0};
    struct ndb_transaction *t = ndb_transaction_start(client->ndb);
    struct ndb_operation *operation =
        ndb_read(t, client->by_email, &key, client->record, &read, NULL);
    want("an email that nobody has", execute(t, operation), NO_ROW);
    ndb_transaction_close(t);
    t = ndb_transaction_start(client->ndb);
    key.nulls = 1;
    want("a NULL in the key",
         ndb_read(t, client->by_email, &key, client->record, &read, NULL) == NULL, true);
    want("its error", ndb_transaction_error(t)->code, 4203);
    ndb_transaction_close(t);
    t = ndb_transaction_start(client->ndb);
    want("an insert by unique key", ndb_insert(t, client->by_ab, &key, NULL) == NULL, true);
    want("its error", ndb_transaction_error(t)->code, 4292);
    ndb_transaction_close(t);
    want("a record without a column",
         ndb_record_create_unique(client->ndb, client->table, 0, fields, 1, sizeof key) == NULL,
         true);
    want("its error", ndb_error(client->ndb)->code, 4292);
    want("an index that is not there",
         ndb_record_create_unique(client->ndb, client->table, 3, fields, 4, sizeof key) == NULL,
         true);
    want("its error", ndb_error(client->ndb)->code, 4243);
}

/* --- After whatever was done to the nodes. --- */

uint64_t entries_of(struct client *client, const char *index)
{
    struct ndb_table_info info;
    char name[128];
    uint64_t count;
    ndb_table_describe(client->table, &info);
    snprintf(name, sizeof name, "sys/def/NDB$UNIQUE_%u_%s", info.table_id, index);
    struct ndb_table *table = ndb_table_open(client->ndb, name, 0);
    if (table == NULL) die(name, ndb_error(client->ndb));
    if (ndb_scan_count(client->ndb, table, &count, 0) != 0) die("count", ndb_error(client->ndb));
    ndb_table_release(table);
    return count;
}

/* Those with one of these NULLs are not in the index. Returns how many are. */
static uint32_t find_rows(struct client *client, const struct ndb_record *key, uint8_t nulls,
                          const struct row *rows, uint32_t count)
{
    struct row found[AT_ONCE];
    const struct row *wanted[AT_ONCE];
    struct ndb_operation *operation = NULL;
    struct ndb_transaction *t = ndb_transaction_start(client->ndb);
    uint32_t in_index = 0;
    for (uint32_t i = 0; i < count; i++) {
        if ((rows[i].nulls & nulls) != 0) continue;
        wanted[in_index] = &rows[i];
        found[in_index].id = UINT32_MAX;
        operation = ndb_read(t, key, &rows[i], client->record, &found[in_index++], NULL);
        if (operation == NULL) break;
    }
    if (in_index > 0 && execute(t, operation) != 0)
        die("rows by their unique key", ndb_transaction_error(t));
    ndb_transaction_close(t);
    for (uint32_t i = 0; i < in_index; i++)
        want("the row of a unique key", found[i].id, wanted[i]->id);
    return in_index;
}

static void verify_index(struct client *client, const char *index, const struct ndb_record *key,
                         uint8_t nulls, const struct row *rows)
{
    uint32_t in_index = 0;
    for (uint32_t i = 0; i < row_count; i += AT_ONCE) {
        uint32_t count = row_count - i < AT_ONCE ? row_count - i : AT_ONCE;
        in_index += find_rows(client, key, nulls, rows + i, count);
    }
    want(index, (int64_t)entries_of(client, index), in_index);
}

/* NULLs that rows in `later` cannot have. */
static uint8_t nulls_of_later(const struct client *client)
{
    struct ndb_index_info index;
    int number = ndb_table_find_unique(client->table, "later");
    if (number < 0 || ndb_table_unique(client->table, (uint32_t)number, &index) != 0) return 0;
    return index.column[0] == (uint32_t)ndb_table_find_column(client->table, "email") ? 1 : 2;
}

void verify_rows(struct client *client)
{
    struct row *rows = calloc(row_count + 1u, sizeof *rows);
    uint32_t count = 0;
    struct ndb_scan *scan = ndb_scan_start(client->ndb, client->record, NULL, 0);
    int more = 1;
    while (scan != NULL && count <= row_count &&
           (more = ndb_scan_next_copy(scan, &rows[count], 0)) == 1)
        count++;
    if (scan == NULL || more < 0) die("scan", ndb_error(client->ndb));
    ndb_scan_close(scan);
    want("rows", count, row_count);
    verify_index(client, "email", client->by_email, 1, rows);
    verify_index(client, "ab", client->by_ab, 2, rows);
    if (client->later != NULL)
        verify_index(client, "later", client->later, nulls_of_later(client), rows);
    free(rows);
}

static int verify(bool later)
{
    struct client client;
    client_open(&client);
    want("the index `later` is there", client.later != NULL || !later, true);
    verify_rows(&client);
    client_close(&client);
    printf("verify: all is right\n");
    return 0;
}

static int check(void)
{
    struct client client;
    make_rows(&client);
    check_duplicates(&client);
    check_by_key(&client);
    check_missing(&client);
    check_rows(&client);
    verify_rows(&client);
    client_close(&client);
    printf("unique: all is right\n");
    return 0;
}

/* What is done with the arguments behind it. */
static int work(const char *what, int count, char **arguments)
{
    bool verifies = strcmp(what, "verify") == 0;
    bool moves = strcmp(what, "move") == 0;
    int options = moves ? 1 : 0;
    int rows = verifies ? 0 : 2;
    if (!verifies && count > options) table_options = arguments[options];
    if (count > rows) row_count = (uint32_t)strtoul(arguments[rows], NULL, 10);
    if (moves) return move(atof(arguments[0]));
    if (verifies) return verify(count > 1);
    return strcmp(what, "create") == 0 ? create() : check();
}

static bool known(int argc, char **argv)
{
    static const char *const words[] = {"check", "create", "verify", "move"};
    for (size_t i = 0; argc >= 2 && i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(argv[1], words[i]) == 0) return argc >= 3 || strcmp(words[i], "move") != 0;
    }
    return false;
}

int main(int argc, char **argv)
{
    if (!known(argc, argv)) {
        fprintf(
            stderr,
            "unique_client check [OPTIONS] | create [OPTIONS] | move SECONDS [OPTIONS [ROWS]] | "
            "verify [ROWS [later]]\n");
        return 2;
    }
    connection = ndb_connection_create(NULL, NULL);
    if (ndb_connection_connect(connection, 30000) != 0 ||
        ndb_connection_wait_until_ready(connection, 30000) < 0) {
        printf("no connection\n");
        return 1;
    }
    int result = work(argv[1], argc - 2, argv + 2);
    ndb_connection_free(connection);
    return result;
}
