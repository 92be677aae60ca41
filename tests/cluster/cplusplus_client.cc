// cplusplus_client.cc -- the library from C++: records of a struct, and ranges.
// SPDX-License-Identifier: GPL-2.0-only
//
// Usage: cplusplus_client CONNECT_STRING. Exit code 1 when something is wrong.
// tests/laws/check_cplusplus.sh compiles it with every warning there is; tests/cluster/ranges.sh runs it.
#include <ndb/mgm.h>
#include <ndb/ndb.h>
#include <ndb/program.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace
{
struct row {
    int32_t id;
    uint64_t number;
    double weight;
    bool good;
    uint8_t nulls;
    char text[21];
};

const ndb_field fields[] = {
    NDB_FIELD(row, id, "id"),
    NDB_FIELD(row, number, "number"),
    NDB_FIELD(row, weight, "weight"),
    NDB_FIELD(struct row, good, "good"),
    NDB_FIELD_STRING_NULL(row, text, "text", nulls, 0),
};

struct wrong_row {
    int64_t id;
    float number;
    char *weight;
    char text[31];
};

// Each is refused.
const ndb_field wrong_fields[] = {
    NDB_FIELD(wrong_row, id, "id"),
    NDB_FIELD(wrong_row, number, "number"),
    NDB_FIELD(wrong_row, weight, "weight"),
    NDB_FIELD(wrong_row, text, "id"),
};

[[noreturn]] void die(const char *what, const ndb_error_t *error)
{
    std::printf("%s: %d: %s %s\n", what, error->code, error->text, error->detail);
    std::exit(1);
}

ndb_table *make_table(ndb_t *ndb)
{
    ndb_sql_error where;
    const char *sql = "CREATE TABLE IF NOT EXISTS cplusplus (id INT NOT NULL PRIMARY KEY, number BIGINT UNSIGNED, "
                      "weight DOUBLE, good TINYINT, text VARCHAR(20), INDEX by_number (number), "
                      "INDEX by_text (text))";
    if (ndb_table_create(ndb, sql, &where, 0) != 0) die(where.message, ndb_error(ndb));
    ndb_table *table = ndb_table_open(ndb, "cplusplus", 0);
    if (table == nullptr) die("table", ndb_error(ndb));
    return table;
}

void check_refusals(ndb_t *ndb, ndb_table *table)
{
    for (const ndb_field &field : wrong_fields) {
        if (ndb_record_create(ndb, table, &field, 1, sizeof(wrong_row)) != nullptr) {
            std::printf("a wrong member for %s is taken\n", field.column);
            std::exit(1);
        }
        std::printf("%d: %s\n", ndb_error(ndb)->code, ndb_error(ndb)->detail);
    }
}

void write_rows(ndb_t *ndb, const ndb_record *record)
{
    for (int32_t id = 0; id < 100; id++) {
        row one{};
        one.id = id;
        one.number = static_cast<uint64_t>(id) * 2;
        one.weight = id / 4.0;
        one.good = id % 2 == 0;
        std::snprintf(one.text, sizeof one.text, "row %d", id);
        if (ndb_write_row(ndb, record, &one, 0) != 0) die("write", ndb_error(ndb));
    }
}

void read_row(ndb_t *ndb, const ndb_record *record)
{
    row one{};
    one.id = 42;
    if (ndb_read_row(ndb, record, &one, 0) != 0) die("read", ndb_error(ndb));
    if (one.number != 84 || one.weight < 10.5 || one.weight > 10.5 || !one.good || std::strcmp(one.text, "row 42") != 0) {
        std::printf("row 42 is not what was written\n");
        std::exit(1);
    }
}

void scan_range(ndb_t *ndb, ndb_table *table, const ndb_record *record)
{
    const ndb_bound ends[] = {ndb_bound_uint(20), ndb_bound_uint(40)};
    ndb_sql_error where;
    ndb_range *range = ndb_range_where(ndb, table, "number BETWEEN ? AND ?", ends, 2, &where);
    if (range == nullptr) die(where.message, ndb_error(ndb));
    ndb_scan_options options{};
    options.lock = NDB_COMMITTED_READ;
    options.range = ndb_range_get(range);
    ndb_scan *scan = ndb_scan_start(ndb, record, &options, 0);
    if (scan == nullptr) die("scan", ndb_error(ndb));
    ndb_range_free(range);
    const void *next;
    int32_t id = 10;
    while (ndb_scan_next(scan, &next, 0) == 1) {
        if (static_cast<const row *>(next)->id != id++) die("a row out of order", ndb_scan_error(scan));
    }
    ndb_scan_close(scan);
    if (id != 21) die("rows are missing", ndb_error(ndb));
}

void check_wrong_bound(ndb_t *ndb, ndb_table *table)
{
    const ndb_bound bound = ndb_bound_text("20");
    if (ndb_range_where(ndb, table, "number > ?", &bound, 1, nullptr) != nullptr) {
        std::printf("a text for a number is taken\n");
        std::exit(1);
    }
    std::printf("%d: %s\n", ndb_error(ndb)->code, ndb_error(ndb)->detail);
}
} // namespace

int main(int argc, char **argv)
{
    ndb_error_t error;
    ndb_cluster_connection *connection = ndb_connection_create(argc > 1 ? argv[1] : nullptr, nullptr);
    if (ndb_connection_connect(connection, 10000) != 0 || ndb_connection_wait_until_ready(connection, 10000) < 0) {
        ndb_connection_error(connection, &error);
        die("connect", &error);
    }
    ndb_t *ndb = ndb_open(connection, "test");
    ndb_table *table = make_table(ndb);
    check_refusals(ndb, table);
    ndb_record *record = ndb_record_create(ndb, table, fields, 5, sizeof(row));
    if (record == nullptr) die("record", ndb_error(ndb));
    write_rows(ndb, record);
    read_row(ndb, record);
    scan_range(ndb, table, record);
    check_wrong_bound(ndb, table);
    ndb_record_release(record);
    ndb_table_release(table);
    ndb_close(ndb);
    ndb_connection_free(connection);
    std::printf("C++: all is right\n");
    return 0;
}
