/* ndb_run.c -- short forms: one row, many rows, and transactions that are tried again. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "api/ndb/ndb_blame.h"
#include "api/ndb/ndb_private.h"
#include "api/ndb/record_state.h"

#define PAUSE_MAX_US 100000u
#define MANY_AT_ONCE 256u /* Rows of ndb_change_many that are in flight together. */

/* ---- One row. ---- */

struct many {
    ndb_t *ndb;
    const struct ndb_record *record;
    int32_t *codes;
    uint32_t open;
    uint32_t good;
    volatile bool done;
};

static uint32_t row_in(struct api_op *op, const uint32_t *pairs, uint32_t words)
{
    return record_unpack(api_op_context(op), pairs, words, api_op_context2(op));
}

/* Packs one row's operation into `tx`. 0 or an error number. */
static uint32_t define(struct api_tx *tx, enum ndb_operation_type type,
                       const struct ndb_record *record, void *row)
{
    uint32_t error = 0;
    uint32_t attr_words = 0;
    bool puts = type == NDB_INSERT || type == NDB_WRITE;
    if (puts && record->unique != 0) return ERR_RECORD_NOT_KEY;
    uint32_t *out = api_op_begin(tx, 2 * record->key_words_max + record->value_words_max + 2);
    if (out == NULL) return ERR_API_MEMORY;
    uint32_t key_words = record_pack_key(record, row, out, &error);
    if (key_words == 0) return error;
    if (type == NDB_READ) {
        attr_words = record_pack_read(record, NULL, out + key_words);
    } else if (type != NDB_DELETE) {
        attr_words = record_pack_values(record, row, NULL, out + key_words, &error);
        if (attr_words == UINT32_MAX) return error;
    }
    if (attr_words == 0 && type == NDB_UPDATE) return ERR_DEFINE_STATUS;
    if (attr_words == 0 && puts) { /* Key columns only: one is named. */
        const struct table_column *column = record->field[record->key_field[0]].column;
        uint32_t size = column_value_size(&column->format, out, key_words * 4u);
        out[key_words] = attr_header(column->id, size);
        memcpy(out + key_words + 1, out, words_of(size) * 4u);
        attr_words = 1 + words_of(size);
    }
    struct api_op_options options = {
        .table = record->table,
        .operation = (enum key_operation)type,
        .lock = type == NDB_READ ? LOCK_COMMITTED : LOCK_EXCLUSIVE,
        .unique = record->unique,
        .flags = type == NDB_READ ? KEY_IGNORE_ERROR : 0,
        .row = type == NDB_READ ? row_in : NULL,
        .context = (void *)(uintptr_t)record,
        .context2 = row,
    };
    return api_op_end(tx, &options, key_words, attr_words) == NULL ? ERR_API_MEMORY : 0;
}

static void tx_done(void *context, struct api_tx *tx)
{
    (void)tx;
    *(volatile bool *)context = true;
}

static int check_call(ndb_t *ndb, const struct ndb_record *record, const void *row)
{
    if (ndb == NULL) return -1;
    if (record == NULL || row == NULL) {
        error_set(&ndb->error, ERR_RECORD_NULL, "no record");
        blame_record(&ndb->error, ERR_RECORD_NULL, record, row, false);
        return -1;
    }
    if (ndb->callback_depth > 0)
        return error_set(&ndb->error, ERR_MISUSE_4507, "a call that waits, in a callback");
    ndb_now(ndb);
    return 0;
}

static int one_row(ndb_t *ndb, enum ndb_operation_type type, const struct ndb_record *record,
                   void *row, uint32_t timeout_ms)
{
    volatile bool done = false;
    if (check_call(ndb, record, row) != 0) return -1;
    struct api_tx *tx = api_tx_start(ndb->client);
    if (tx == NULL) return error_set(&ndb->error, ERR_API_MEMORY, NULL);
    uint32_t error = define(tx, type, record, row);
    if (error == 0)
        error = api_tx_execute(tx, API_COMMIT, timeout_of(ndb->connection, timeout_ms), tx_done,
                               (void *)(uintptr_t)&done);
    if (error == 0) {
        if (!done) ndb_wait_for(ndb, &done, UINT64_MAX);
        error = api_tx_error(tx);
        if (error == 0) error = api_op_error(api_tx_first(tx));
    }
    if (error == ERR_UNIQUE_DUPLICATE) {
        error_set(&ndb->error, error, "%s", api_tx_error_index(tx));
    } else if (error != 0) {
        error_set_outcome(&ndb->error, error, api_tx_outcome(tx) == API_UNKNOWN);
        blame_link(&ndb->error, ndb->connection);
    }
    blame_record(&ndb->error, error, record, row, type == NDB_INSERT || type == NDB_WRITE);
    api_tx_close(tx);
    return error == 0 ? 0 : -1;
}

int ndb_read_row(ndb_t *ndb, const struct ndb_record *record, void *row, uint32_t timeout_ms)
{
    return one_row(ndb, NDB_READ, record, row, timeout_ms);
}

int ndb_insert_row(ndb_t *ndb, const struct ndb_record *record, const void *row,
                   uint32_t timeout_ms)
{
    return one_row(ndb, NDB_INSERT, record, (void *)(uintptr_t)row, timeout_ms);
}

int ndb_update_row(ndb_t *ndb, const struct ndb_record *record, const void *row,
                   uint32_t timeout_ms)
{
    return one_row(ndb, NDB_UPDATE, record, (void *)(uintptr_t)row, timeout_ms);
}

int ndb_write_row(ndb_t *ndb, const struct ndb_record *record, const void *row, uint32_t timeout_ms)
{
    return one_row(ndb, NDB_WRITE, record, (void *)(uintptr_t)row, timeout_ms);
}

int ndb_delete_row(ndb_t *ndb, const struct ndb_record *record, const void *row,
                   uint32_t timeout_ms)
{
    return one_row(ndb, NDB_DELETE, record, (void *)(uintptr_t)row, timeout_ms);
}

/* ---- Many rows. ---- */

static void set_code(int32_t *codes, uint32_t index, uint32_t error)
{
    if (codes != NULL) codes[index] = (int32_t)error;
}

/* As check_call(), and rows that lie behind each other. */
static int check_many(ndb_t *ndb, const struct ndb_record *record, const void *rows,
                      uint32_t stride, uint32_t count)
{
    if (check_call(ndb, record, rows) != 0) return -1;
    if (count < 2 || stride >= record->row_size) return 0;
    return error_set(&ndb->error, ERR_PARAMETER, "stride %u: a row of this record has %u bytes",
                     stride, record->row_size);
}

/* No row of them all can be asked for. */
static int none_read(ndb_t *ndb, int32_t *codes, uint32_t count, uint32_t error)
{
    for (uint32_t i = 0; i < count; i++)
        set_code(codes, i, error);
    error_set_outcome(&ndb->error, error, false);
    return -1;
}

/* Committed reads have nothing in common but the call: one transaction record carries them all. By
 * unique key there is no committed read: those are one transaction, with shared locks. */
int ndb_read_many(ndb_t *ndb, const struct ndb_record *record, void *rows, uint32_t stride,
                  uint32_t count, int32_t *codes, uint32_t timeout_ms)
{
    volatile bool done = false;
    if (check_many(ndb, record, rows, stride, count) != 0) return -1;
    struct api_tx *tx = api_tx_start(ndb->client);
    if (tx == NULL) return none_read(ndb, codes, count, ERR_API_MEMORY);
    for (uint32_t i = 0; i < count; i++)
        set_code(codes, i, define(tx, NDB_READ, record, (uint8_t *)rows + (size_t)i * stride));
    uint32_t error = api_tx_execute(tx, API_COMMIT, timeout_of(ndb->connection, timeout_ms),
                                    tx_done, (void *)(uintptr_t)&done);
    if (error != 0) {
        api_tx_close(tx);
        return none_read(ndb, codes, count, error);
    }
    if (!done) {
        atomic_store_explicit(&ndb->expects, count, memory_order_relaxed);
        ndb_wait_for(ndb, &done, UINT64_MAX);
        atomic_store_explicit(&ndb->expects, 0, memory_order_relaxed);
    }
    int good = 0;
    struct api_op *op = api_tx_first(tx);
    while (op != NULL) {
        /* Rows whose definition failed have no operation: the row says which one this is. */
        size_t index =
            (size_t)((uint8_t *)api_op_context2(op) - (uint8_t *)rows) / (stride == 0 ? 1 : stride);
        set_code(codes, (uint32_t)index, api_op_error(op));
        if (api_op_error(op) == 0) good++;
        op = api_op_next(op);
    }
    api_tx_close(tx);
    return good;
}

struct change {
    struct many *many;
    uint32_t index;
};

static void change_done(void *context, struct api_tx *tx)
{
    struct change *change = context;
    struct many *many = change->many;
    uint32_t error = api_tx_error(tx);
    set_code(many->codes, change->index, error);
    if (error == 0) many->good++;
    api_tx_close(tx);
    if (--many->open == 0) many->done = true;
}

static void change_one(struct many *many, struct change *change, enum ndb_operation_type type,
                       void *row, uint32_t timeout_ms)
{
    struct api_tx *tx = api_tx_start(many->ndb->client);
    uint32_t error = tx == NULL ? ERR_API_MEMORY : define(tx, type, many->record, row);
    change->many = many;
    if (error == 0) {
        many->open++;
        error = api_tx_execute(tx, API_COMMIT, timeout_ms, change_done, change);
        if (error == 0) return;
        many->open--;
    }
    set_code(many->codes, change->index, error);
    api_tx_close(tx);
}

int ndb_change_many(ndb_t *ndb, enum ndb_operation_type type, const struct ndb_record *record,
                    const void *rows, uint32_t stride, uint32_t count, int32_t *codes,
                    uint32_t timeout_ms)
{
    if (check_many(ndb, record, rows, stride, count) != 0) return -1;
    if (type == NDB_READ || (uint32_t)type > NDB_WRITE)
        return error_set(&ndb->error, ERR_PARAMETER, "type");
    struct many many = {.ndb = ndb, .record = record, .codes = codes};
    uint32_t group = count < MANY_AT_ONCE ? count : MANY_AT_ONCE;
    struct change *changes = calloc(group + 1u, sizeof *changes);
    if (changes == NULL) return error_set(&ndb->error, ERR_API_MEMORY, NULL);
    for (uint32_t first = 0; first < count; first += group) {
        uint32_t end = first + group < count ? first + group : count;
        many.done = false;
        for (uint32_t i = first; i < end; i++) {
            changes[i - first].index = i;
            change_one(&many, &changes[i - first], type,
                       (uint8_t *)(uintptr_t)rows + (size_t)i * stride,
                       timeout_of(ndb->connection, timeout_ms));
        }
        many.done = many.open == 0; /* Some may have ended at once. */
        atomic_store_explicit(&ndb->expects, many.open, memory_order_relaxed);
        if (!many.done) ndb_wait_for(ndb, &many.done, UINT64_MAX);
    }
    atomic_store_explicit(&ndb->expects, 0, memory_order_relaxed);
    free(changes);
    return (int)many.good;
}

/* ---- Again and again. ---- */

static uint64_t random_of(ndb_t *ndb)
{
    ndb->random ^= ndb->random << 13;
    ndb->random ^= ndb->random >> 7;
    ndb->random ^= ndb->random << 17;
    return ndb->random;
}

bool ndb_pause(ndb_t *ndb, uint64_t *pause_us, uint64_t end_ms)
{
    uint64_t this_us = *pause_us / 2 + random_of(ndb) % (*pause_us / 2 + 1);
    if (end_ms != UINT64_MAX && now_ms() + this_us / 1000u >= end_ms) return false;
    ndb->retries++;
    /* The connection goes on meanwhile: a link may come up, a record be cleaned. */
    volatile bool never = false;
    ndb_round(ndb);
    ndb_wait_for(ndb, &never, now_ms() + 1 + this_us / 1000u);
    if (*pause_us < PAUSE_MAX_US) *pause_us *= 2;
    return true;
}

uint64_t ndb_end_of(const ndb_t *ndb, uint32_t timeout_ms)
{
    uint32_t whole_ms = timeout_of(ndb->connection, timeout_ms);
    return whole_ms == NDB_NO_TIMEOUT ? UINT64_MAX : now_ms() + whole_ms;
}

uint32_t ndb_left_of(uint64_t end_ms)
{
    uint64_t now = now_ms();
    if (end_ms == UINT64_MAX) return NDB_NO_TIMEOUT;
    return now >= end_ms ? 1 : (uint32_t)(end_ms - now);
}

static int attempt(ndb_t *ndb, ndb_transaction_function function, void *context,
                   uint32_t timeout_ms)
{
    struct ndb_transaction *t = ndb_transaction_start(ndb);
    if (t == NULL) return -1;
    t->lent = true;
    ndb->lent++;
    int result = function(t, context);
    transaction_wait(t);
    t->lent = false;
    ndb->lent--;
    if (result == 0 && api_tx_outcome(t->tx) == API_ACTIVE)
        result = ndb_execute(t, NDB_COMMIT, timeout_ms);
    bool committed = api_tx_outcome(t->tx) == API_COMMITTED;
    if (result != 0 && committed && api_tx_error(t->tx) == 0) {
        /* An error of what it has tried then says nothing of what is committed. */
        error_set(&ndb->error, ERR_CALLBACK, "the function gave up behind its commit");
        ndb->error.error.status = NDB_STATUS_UNKNOWN;
    } else if (result != 0 || !committed) {
        if (t->error.error.code == 0) transaction_set_error(t, api_tx_error(t->tx));
        (void)transaction_failed(t);
        if (ndb->error.error.code == 0)
            error_set(&ndb->error, ERR_CALLBACK,
                      result == 0 ? "the function has rolled it back" : "the function gave up");
        if (api_tx_outcome(t->tx) == API_UNKNOWN) ndb->error.error.status = NDB_STATUS_UNKNOWN;
        result = -1;
    }
    ndb_transaction_close(t);
    return result;
}

int ndb_run_transaction(ndb_t *ndb, ndb_transaction_function function, void *context,
                        uint32_t timeout_ms)
{
    if (ndb == NULL) return -1;
    if (function == NULL) return error_set(&ndb->error, ERR_PARAMETER, "no function");
    if (ndb->callback_depth > 0)
        return error_set(&ndb->error, ERR_MISUSE_4507, "a call that waits, in a callback");
    uint64_t end_ms = ndb_end_of(ndb, timeout_ms);
    uint64_t pause_us = NDB_PAUSE_FIRST_US;
    for (;;) {
        if (attempt(ndb, function, context, ndb_left_of(end_ms)) == 0) return 0;
        if (ndb->error.error.status != NDB_STATUS_TEMPORARY) return -1;
        if (!ndb_pause(ndb, &pause_us, end_ms)) return -1;
    }
}

/* ---- One number. ---- */

struct increment {
    const struct ndb_record *key_record;
    const void *key_row;
    const struct ndb_program *program;
    const struct ndb_record *record; /* Record of the column alone. */
    uint8_t now[8];
};

static int increment(struct ndb_transaction *t, void *context)
{
    struct increment *job = context;
    const struct ndb_operation_options options = {
        .program = job->program, .result_record = job->record, .result = job->now};
    if (ndb_update(t, job->key_record, job->key_row, NULL, NULL, &options) == NULL) return -1;
    return ndb_execute(t, NDB_COMMIT, 0);
}

static int64_t number_of(const struct table_column *column, const uint8_t *bytes)
{
    uint64_t bits = 0;
    uint32_t type = column->format.type;
    uint32_t unused = 64u - 8u * column->size_max;
    memcpy(&bits, bytes, sizeof bits);
    bool sign = type == COLUMN_TINYINT || type == COLUMN_SMALLINT || type == COLUMN_MEDIUMINT ||
                type == COLUMN_INT;
    return sign ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
}

int ndb_increment(ndb_t *ndb, const struct ndb_record *key_record, const void *key_row,
                  uint32_t column, int64_t delta, int64_t *value, uint32_t timeout_ms)
{
    if (check_call(ndb, key_record, key_row) != 0) return -1;
    struct ndb_table *table = (struct ndb_table *)(void *)key_record->table;
    struct ndb_program *program = ndb_program_create(ndb, table);
    if (program == NULL) return -1;
    ndb_program_add(program, column, delta);
    ndb_program_exit_ok(program);
    if (ndb_program_finish(program) != 0) {
        error_set(&ndb->error, (uint32_t)ndb_program_error(program)->code, "column %u", column);
        ndb_program_free(program);
        return -1;
    }
    const struct table_column *of = &api_table_def(key_record->table)->columns[column];
    const struct ndb_field field = {.column_id = column, .null_offset = NDB_NOT_NULLABLE};
    struct increment job = {.key_record = key_record, .key_row = key_row, .program = program};
    struct ndb_record *record = ndb_record_create(ndb, table, &field, 1, of->size_max);
    job.record = record;
    int result = record == NULL ? -1 : ndb_run_transaction(ndb, increment, &job, timeout_ms);
    if (result == 0 && value != NULL) *value = number_of(of, job.now);
    ndb_record_release(record);
    ndb_program_free(program);
    return result;
}
