/* ndb_auto_increment.c -- numbers for new rows: taken from a counter a range at a time, given one
 * by one. */
/* SPDX-License-Identifier: MIT */
/*
 * A range is taken by one write of the counter's row (counter.h), whose commit is on disk before
 * the first number of it is given. A take whose outcome is not known is forgotten: it may have been
 * made, so another one is made, and the numbers between are nobody's. The next life of the cluster
 * may have no counter any more (without disks, or after --initial), and a table of the same number
 * and version: what was taken in a former one is forgotten. Nor are numbers taken in it for a table
 * that it does not have: the counter's row would be that of a later table of the number.
 */
#include <stdlib.h>
#include "api/core/counter.h"
#include "api/ndb/ndb_private.h"
#include "values/table_version.h"

#define PREFETCH 32u /* Numbers of a range, unless the caller says. */

/* Whole numbers from `next` on that this ndb_t has taken for a table and not given. */
struct number_range {
    struct number_range *following;
    uint32_t table_id, major;
    uint32_t lives; /* api_core_lives() when the range was taken, or before. */
    uint64_t next, end;
};

void number_ranges_drop(ndb_t *ndb)
{
    while (ndb->number_ranges != NULL) {
        struct number_range *range = ndb->number_ranges;
        ndb->number_ranges = range->following;
        free(range);
    }
}

/* The ndb_t's range of the table, empty at first and when it is one of before. NULL: no memory. */
static struct number_range *range_of(ndb_t *ndb, const struct table_def *def)
{
    struct number_range *range = ndb->number_ranges;
    while (range != NULL && range->table_id != def->table_id)
        range = range->following;
    if (range == NULL) {
        range = calloc(1, sizeof *range);
        if (range == NULL) return NULL;
        range->following = ndb->number_ranges;
        ndb->number_ranges = range;
        range->table_id = def->table_id;
    }
    uint32_t major = table_version_major(def->version);
    uint32_t lives = api_core_lives(ndb->connection->core);
    if (range->major != major || range->lives != lives) range->next = range->end = 0;
    range->major = major;
    range->lives = lives;
    return range;
}

/* ---- The counter ---- */

struct counter_call {
    const struct api_table *of; /* The table that the numbers are for. */
    volatile bool done;
    bool read; /* Else `take` is made. */
    struct counter_take take;
    enum api_execute type;
    struct counter counter; /* The counter that came. */
};

static void call_done(void *context, struct api_tx *tx)
{
    struct counter_call *call = context;
    (void)tx;
    call->done = true;
}

static uint32_t counter_came(struct api_op *op, const uint32_t *pairs, uint32_t words)
{
    struct counter_call *call = api_op_context(op);
    return counter_parse(pairs, words, &call->counter) ? 0 : ERR_REPLY_4215;
}

/* 0 or an error number. */
static uint32_t define(struct api_tx *tx, struct api_table *table, struct counter_call *call)
{
    uint32_t attr_words;
    uint32_t *words = api_op_begin(tx, COUNTER_WORDS_MAX);
    if (words == NULL) return ERR_API_MEMORY;
    uint32_t key_words = call->read ? counter_read(call->take.table_id, words, &attr_words)
                                    : counter_write(&call->take, words, &attr_words);
    const struct api_op_options options = {
        .table = table,
        .operation = call->read ? OP_READ : OP_WRITE,
        .lock = call->read ? LOCK_COMMITTED : LOCK_EXCLUSIVE,
        .flags = call->read ? KEY_IGNORE_ERROR : KEY_PROGRAM,
        .row = counter_came,
        .context = call,
    };
    return api_op_end(tx, &options, key_words, attr_words) == NULL ? ERR_API_MEMORY : 0;
}

static uint32_t execute(ndb_t *ndb, struct api_table *table, struct counter_call *call,
                        uint32_t timeout_ms)
{
    struct api_tx *tx = api_tx_start(ndb->client);
    if (tx == NULL) return ERR_API_MEMORY;
    call->done = false;
    uint32_t error = define(tx, table, call);
    if (error == 0) error = api_tx_execute(tx, call->type, timeout_ms, call_done, call);
    if (error == 0) {
        if (!call->done) ndb_wait_for(ndb, &call->done, UINT64_MAX);
        error = api_tx_error(tx);
        if (error == 0) error = api_op_error(api_tx_first(tx));
        /* It was committed, but nobody has said that it is on disk. */
        if (error == 0 && call->type == API_COMMIT_DURABLE && !api_tx_durable(tx))
            error = ERR_REQUEST_TIMEOUT;
    }
    api_tx_close(tx);
    return error;
}

/* The first that takes numbers makes the table. NULL, with the ndb_t's error: there is none. */
struct ndb_table *counters_open(ndb_t *ndb, bool make, uint32_t timeout_ms)
{
    struct ndb_table *table = ndb_table_open(ndb, COUNTER_TABLE, timeout_ms);
    if (table != NULL || !make || ndb->error.error.code != ERR_NO_SUCH_TABLE) return table;
    struct table_def *def = counter_table_def();
    if (def == NULL) {
        error_set(&ndb->error, ERR_API_MEMORY, NULL);
        return NULL;
    }
    int made = ndb_table_make(ndb, def, timeout_ms);
    free(def);
    if (made != 0 && ndb->error.error.code != ERR_TABLE_EXISTS) return NULL;
    return ndb_table_open(ndb, COUNTER_TABLE, timeout_ms);
}

/* What is not done, or may be done and was not told, is done again. */
static bool goes_again(const struct counter_call *call, uint32_t error)
{
    enum error_status status = error_status(error);
    return status == ERROR_STATUS_TEMPORARY || status == ERROR_STATUS_UNKNOWN ||
           error == ERR_COMMITTED_READS_LOST || error == ERR_TABLE_EXISTS ||
           (error == ERR_NO_SUCH_TABLE && !call->read) || api_error_is_stale(error);
}

/* Has the cluster the table, in this life of it? By its name: a table that was opened in a former
 * life, and renamed since, has to be opened again. */
static uint32_t check_life(ndb_t *ndb, const struct counter_call *call, uint32_t timeout_ms)
{
    const struct table_def *def = api_table_def(call->of);
    char name[TABLE_NAME_MAX + 8];
    if (api_table_lives(call->of) == api_core_lives(ndb->connection->core)) return 0;
    table_def_internal_name(def, name, sizeof name);
    struct ndb_table *now = ndb_table_open(ndb, name, timeout_ms);
    if (now == NULL) {
        uint32_t error = (uint32_t)ndb->error.error.code;
        return error == ERR_NO_SUCH_TABLE ? COUNTER_OTHER_TABLE : error;
    }
    const struct table_def *there = api_table_def(table_core(now));
    bool same = there->table_id == def->table_id &&
                table_version_major(there->version) == table_version_major(def->version);
    ndb_table_release(now);
    return same ? 0 : COUNTER_OTHER_TABLE;
}

static uint32_t attempt(ndb_t *ndb, struct counter_call *call, uint32_t timeout_ms)
{
    uint32_t lives = api_core_lives(ndb->connection->core);
    uint32_t error = call->read ? 0 : check_life(ndb, call, timeout_ms);
    if (error != 0) return error;
    struct ndb_table *table = counters_open(ndb, !call->read, timeout_ms);
    if (table == NULL) return (uint32_t)ndb->error.error.code;
    /* That may have waited for a next life: is the table in that one, too? */
    if (!call->read && api_core_lives(ndb->connection->core) != lives)
        error = check_life(ndb, call, timeout_ms);
    if (error == 0) error = execute(ndb, table_core(table), call, timeout_ms);
    ndb_table_release(table);
    return error;
}

/* 0, or -1 with the ndb_t's error: nothing was given, it may be asked again. */
static int run(ndb_t *ndb, struct counter_call *call, uint32_t timeout_ms)
{
    uint64_t end_ms = ndb_end_of(ndb, timeout_ms);
    uint64_t pause_us = NDB_PAUSE_FIRST_US;
    call->type = call->read ? API_COMMIT : API_COMMIT_DURABLE;
    for (;;) {
        uint32_t error = attempt(ndb, call, ndb_left_of(end_ms));
        if (error == 0) return 0;
        if (error == ERR_NO_FILES_NOT_DURABLE && call->type == API_COMMIT_DURABLE) {
            call->type = API_COMMIT; /* A cluster without disks: the rows go with it, too. */
        } else if (!goes_again(call, error) || !ndb_pause(ndb, &pause_us, end_ms)) {
            if (error == COUNTER_OTHER_TABLE) error = ERR_SCHEMA_VERSION;
            error_set_outcome(&ndb->error, error, false);
            return -1;
        }
    }
}

static struct counter_call call_of(const struct ndb_table *table)
{
    const struct table_def *def = api_table_def(table_core(table));
    return (struct counter_call){
        .of = table_core(table),
        .take = {.table_id = def->table_id, .major = table_version_major(def->version)}};
}

/* ---- Numbers ---- */

/* The least number from `from` on that is start + n * step; 0: there is none. */
static uint64_t fitting(uint64_t from, uint64_t start, uint32_t step)
{
    if (from <= start) return start;
    uint64_t over = (from - start) % step;
    uint64_t add = over == 0 ? 0 : step - over;
    return from > UINT64_MAX - add ? 0 : from + add;
}

/* The greatest number that the table's column of such numbers can have. */
static uint64_t greatest(const struct table_def *def)
{
    for (uint32_t i = 0; i < def->column_count; i++) {
        const struct table_column *column = &def->columns[i];
        if ((column->flags & COLUMN_AUTO_INCREMENT) == 0) continue;
        return UINT64_MAX >>
               (64u - 8u * column->size_max + (column_is_signed(column->format.type) ? 1u : 0u));
    }
    return UINT64_MAX;
}

static int take(ndb_t *ndb, const struct ndb_table *table, uint64_t least, uint64_t count,
                struct number_range *range, uint32_t timeout_ms)
{
    struct counter_call call = call_of(table);
    call.take.least = least;
    call.take.count = count;
    if (least > UINT64_MAX - count)
        return error_set(&ndb->error, ERR_VALUE_OUT_OF_RANGE, "no numbers are left");
    if (run(ndb, &call, timeout_ms) != 0) return -1;
    range->next = call.counter.next - count;
    range->end = call.counter.next;
    return 0;
}

int ndb_auto_increment(ndb_t *ndb, const struct ndb_table *table,
                       const struct ndb_increment_options *options, uint64_t *value,
                       uint32_t timeout_ms)
{
    uint32_t prefetch = options == NULL || options->prefetch == 0 ? PREFETCH : options->prefetch;
    uint32_t step = options == NULL || options->step == 0 ? 1 : options->step;
    uint64_t start = options == NULL || options->start == 0 ? 1 : options->start;
    if (!ndb_may_wait(ndb)) return -1;
    if (table == NULL || value == NULL)
        return error_set(&ndb->error, ERR_PARAMETER, "no table, or no place for the number");
    const struct table_def *def = api_table_def(table_core(table));
    struct number_range *range = range_of(ndb, def);
    if (range == NULL) return error_set(&ndb->error, ERR_API_MEMORY, NULL);
    uint64_t number = fitting(range->next, start, step);
    if (number == 0 || number >= range->end) {
        if (take(ndb, table, start, (uint64_t)prefetch * step, range, timeout_ms) != 0) return -1;
        number = fitting(range->next, start, step);
    }
    if (number == 0 || number > greatest(def))
        return error_set(&ndb->error, ERR_VALUE_OUT_OF_RANGE, "no numbers are left for table %s",
                         def->table);
    range->next = number + 1;
    *value = number;
    return 0;
}

int ndb_auto_increment_set(ndb_t *ndb, const struct ndb_table *table, uint64_t least,
                           uint32_t timeout_ms)
{
    struct number_range taken;
    if (!ndb_may_wait(ndb)) return -1;
    if (table == NULL) return error_set(&ndb->error, ERR_PARAMETER, "no table");
    const struct table_def *def = api_table_def(table_core(table));
    struct number_range *range = range_of(ndb, def);
    if (range == NULL) return error_set(&ndb->error, ERR_API_MEMORY, NULL);
    if (range->next < least && range->next < range->end)
        range->next = least < range->end ? least : range->end;
    if (range->next < range->end) return 0; /* Taken numbers are less than all that are not. */
    return take(ndb, table, least == 0 ? 1 : least, 0, &taken, timeout_ms);
}

int ndb_auto_increment_read(ndb_t *ndb, const struct ndb_table *table, uint64_t *value,
                            uint32_t timeout_ms)
{
    if (!ndb_may_wait(ndb)) return -1;
    if (table == NULL || value == NULL)
        return error_set(&ndb->error, ERR_PARAMETER, "no table, or no place for the number");
    const struct table_def *def = api_table_def(table_core(table));
    const struct number_range *range = range_of(ndb, def);
    if (range == NULL) return error_set(&ndb->error, ERR_API_MEMORY, NULL);
    struct counter_call call = call_of(table);
    *value = range->next;
    if (range->next < range->end) return 0;
    *value = 1;
    call.read = true;
    if (run(ndb, &call, timeout_ms) != 0) {
        int32_t code = ndb->error.error.code;
        return code == ERR_ROW_NOT_FOUND || code == ERR_NO_SUCH_TABLE ? 0 : -1;
    }
    if (call.counter.major == call.take.major) *value = call.counter.next;
    return 0;
}
