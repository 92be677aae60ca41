/* ndb_identity.c -- which cluster this is: a number that it keeps with its data. */
/* SPDX-License-Identifier: MIT */
/*
 * The number is drawn by the first that asks, and stands in a row of the table of counters, under a
 * table number that no table has. It is on disk before anybody hears it, and gone when all data is.
 */
#include <string.h>
#include <sys/random.h>
#include "api/core/counter.h"
#include "api/ndb/ndb_private.h"

#define IDENTITY_KEY     UINT32_MAX
#define IDENTITY_VERSION 1u

enum { COLUMN_KEY = 0, COLUMN_VERSION, COLUMN_NEXT };

/* 0 or an error number. */
static uint32_t read_identity(ndb_t *ndb, struct ndb_table *table, uint64_t *identity,
                              uint32_t timeout_ms)
{
    const uint32_t key = IDENTITY_KEY;
    const struct ndb_operation_options options = {.lock = NDB_LOCK_SHARED,
                                                  .flags = NDB_OP_ABORT_ON_ERROR};
    const void *value;
    uint32_t size;
    struct ndb_transaction *t = ndb_transaction_start(ndb);
    if (t == NULL) return ERR_API_MEMORY;
    struct ndb_operation *read = ndb_operation_define(t, table, NDB_READ, &options);
    uint32_t error = 0;
    if (read == NULL || ndb_operation_set(read, COLUMN_KEY, &key, sizeof key) != 0 ||
        ndb_operation_get(read, COLUMN_NEXT) != 0 || ndb_execute(t, NDB_COMMIT, timeout_ms) != 0)
        error = (uint32_t)ndb_transaction_error(t)->code;
    else if (ndb_operation_value(read, COLUMN_NEXT, &value, &size) != 0 || size != sizeof *identity)
        error = ERR_REPLY_4215;
    else
        memcpy(identity, value, sizeof *identity);
    ndb_transaction_close(t);
    return error;
}

/* The row of the first one stays. 0 or an error number. */
static uint32_t insert_identity(ndb_t *ndb, struct ndb_table *table, uint64_t identity,
                                enum ndb_execute_type type, uint32_t timeout_ms)
{
    const uint32_t key = IDENTITY_KEY;
    const uint32_t version = IDENTITY_VERSION;
    struct ndb_transaction *t = ndb_transaction_start(ndb);
    if (t == NULL) return ERR_API_MEMORY;
    struct ndb_operation *insert = ndb_operation_define(t, table, NDB_INSERT, NULL);
    uint32_t error = 0;
    if (insert == NULL || ndb_operation_set(insert, COLUMN_KEY, &key, sizeof key) != 0 ||
        ndb_operation_set(insert, COLUMN_VERSION, &version, sizeof version) != 0 ||
        ndb_operation_set(insert, COLUMN_NEXT, &identity, sizeof identity) != 0 ||
        ndb_execute(t, type, timeout_ms) != 0)
        error = (uint32_t)ndb_transaction_error(t)->code;
    ndb_transaction_close(t);
    return error;
}

/* Reads the number, or makes one; who has made it reads it again, as all others do. 0 or an error
 * number; ERR_ROW_NOT_FOUND: go on. */
static uint32_t attempt(ndb_t *ndb, uint64_t *identity, uint32_t timeout_ms)
{
    uint64_t drawn = 0;
    struct ndb_table *table = counters_open(ndb, true, timeout_ms);
    if (table == NULL) return (uint32_t)ndb->error.error.code;
    uint32_t error = read_identity(ndb, table, identity, timeout_ms);
    if (error == ERR_ROW_NOT_FOUND) {
        while (drawn == 0) {
            if (getrandom(&drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn) drawn = 0;
        }
        error = insert_identity(ndb, table, drawn, NDB_COMMIT_DURABLE, timeout_ms);
        if (error == ERR_NO_FILES_NOT_DURABLE)
            error = insert_identity(ndb, table, drawn, NDB_COMMIT, timeout_ms);
        if (error == 0 || error == ERR_ROW_EXISTS) error = ERR_ROW_NOT_FOUND;
    }
    ndb_table_release(table);
    return error;
}

int ndb_cluster_identity(ndb_t *ndb, uint64_t *identity, uint32_t timeout_ms)
{
    if (!ndb_may_wait(ndb)) return -1;
    if (identity == NULL) return error_set(&ndb->error, ERR_PARAMETER, "no place for the number");
    uint64_t end_ms = ndb_end_of(ndb, timeout_ms);
    uint64_t pause_us = NDB_PAUSE_FIRST_US;
    for (;;) {
        uint32_t error = attempt(ndb, identity, ndb_left_of(end_ms));
        if (error == 0) return 0;
        enum error_status status = error_status(error);
        bool again = error == ERR_ROW_NOT_FOUND || error == ERR_NO_SUCH_TABLE ||
                     error == ERR_COMMITTED_READS_LOST || status == ERROR_STATUS_TEMPORARY ||
                     status == ERROR_STATUS_UNKNOWN || api_error_is_stale(error);
        if (again && ndb_pause(ndb, &pause_us, end_ms)) continue;
        error_set_outcome(&ndb->error, error, false);
        return -1;
    }
}
