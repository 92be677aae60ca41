/* ndb_transaction.c -- transactions and operations as applications see them. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "api/ndb_blame.h"
#include "api/ndb_private.h"
#include "api/ndb_program.h"
#include "api/record_member.h"

#define WORDS_KEPT 1024u /* Of a buffer of an operation that is recycled. */

/* ---- Life. ---- */

struct ndb_transaction *ndb_transaction_start(ndb_t *ndb)
{
    if (ndb == NULL) return NULL;
    struct ndb_transaction *t = ndb->transaction_free;
    if (t != NULL) {
        ndb->transaction_free = t->next;
    } else {
        t = calloc(1, sizeof *t);
    }
    struct api_tx *tx = t == NULL ? NULL : api_tx_start(ndb->client);
    if (tx == NULL) {
        free(t);
        error_set(&ndb->error, ERR_API_MEMORY, NULL);
        return NULL;
    }
    memset(t, 0, offsetof(struct ndb_transaction, error));
    t->ndb = ndb;
    t->tx = tx;
    t->error.error.code = 0;
    t->waiting = false;
    t->done = false;
    t->callback = NULL;
    t->in_flight_async = false;
    t->next = ndb->transactions;
    if (t->next != NULL) t->next->prev = t;
    ndb->transactions = t;
    return t;
}

struct ndb_transaction *ndb_transaction_start_at(ndb_t *ndb, uint32_t node)
{
    struct ndb_transaction *t = ndb_transaction_start(ndb);
    if (t != NULL) api_tx_prefer(t->tx, node);
    return t;
}

/* Recycled with its buffers, unless they have grown large. */
static void free_operation(ndb_t *ndb, struct ndb_operation *operation)
{
    if (operation->record != NULL)
        ndb_record_release((struct ndb_record *)(uintptr_t)operation->record);
    api_table_release(operation->table);
    free(operation->program);
    if (operation->word_room > WORDS_KEPT) {
        free(operation->words);
        operation->words = NULL;
        operation->word_room = 0;
    }
    if (operation->result_room > WORDS_KEPT) {
        free(operation->result);
        operation->result = NULL;
        operation->result_room = 0;
    }
    operation->next = ndb->operation_free;
    ndb->operation_free = operation;
}

void ndb_transaction_close(struct ndb_transaction *t)
{
    if (t == NULL) return;
    ndb_t *ndb = t->ndb;
    if (t->in_flight_async) ndb->async_pending--;
    api_tx_close(t->tx);
    struct ndb_operation *next;
    for (struct ndb_operation *operation = t->first; operation != NULL; operation = next) {
        next = operation->next;
        free_operation(ndb, operation);
    }
    if (t->prev != NULL) t->prev->next = t->next;
    if (t->next != NULL) t->next->prev = t->prev;
    if (ndb->transactions == t) ndb->transactions = t->next;
    t->next = ndb->transaction_free;
    ndb->transaction_free = t;
}

void transactions_drop(ndb_t *ndb)
{
    while (ndb->transactions != NULL)
        ndb_transaction_close(ndb->transactions);
    while (ndb->transaction_free != NULL) {
        struct ndb_transaction *t = ndb->transaction_free;
        ndb->transaction_free = t->next;
        free(t);
    }
    while (ndb->operation_free != NULL) {
        struct ndb_operation *operation = ndb->operation_free;
        ndb->operation_free = operation->next;
        free(operation->words);
        free(operation->result);
        free(operation);
    }
}

/* ---- Defining by record. ---- */

static struct ndb_operation *refuse(struct ndb_transaction *t, uint32_t code, const char *detail)
{
    error_set(&t->error, code, "%s", detail);
    return NULL;
}

static struct ndb_operation *take_operation(struct ndb_transaction *t)
{
    ndb_t *ndb = t->ndb;
    struct ndb_operation *operation = ndb->operation_free;
    if (operation != NULL) {
        ndb->operation_free = operation->next;
    } else {
        operation = malloc(sizeof *operation);
        if (operation == NULL) return NULL;
        operation->words = NULL;
        operation->word_room = 0;
        operation->result = NULL;
        operation->result_room = 0;
        error_clear(&operation->error);
    }
    if (operation->error.error.code != 0) error_clear(&operation->error);
    operation->next = NULL;
    operation->transaction = t;
    operation->op = NULL;
    operation->record = NULL;
    operation->row = NULL;
    operation->table = NULL;
    operation->sealed = false;
    operation->define_error = 0;
    operation->word_count = 0;
    operation->program = NULL;
    operation->program_words = 0;
    operation->result_words = 0;
    return operation;
}

static void append(struct ndb_transaction *t, struct ndb_operation *operation)
{
    if (t->last != NULL) {
        t->last->next = operation;
    } else {
        t->first = operation;
    }
    t->last = operation;
}

static uint32_t *begin(struct ndb_transaction *t, uint32_t words)
{
    uint32_t *out = api_op_begin(t->tx, words);
    if (out != NULL) return out;
    if (api_tx_in_flight(t->tx)) {
        refuse(t, ERR_API_STATE, "the transaction is being executed");
    } else if (api_tx_outcome(t->tx) != API_ACTIVE) {
        if (t->error.error.code == 0)
            refuse(t, api_tx_error(t->tx) != 0 ? api_tx_error(t->tx) : ERR_TRANSACTION_COMPLETE,
                   "");
    } else {
        refuse(t, ERR_API_MEMORY, "");
    }
    return NULL;
}

static void core_options(struct api_op_options *out, enum ndb_operation_type type,
                         const struct ndb_operation_options *options)
{
    uint32_t flags = options == NULL ? 0 : options->flags;
    out->operation = (enum key_operation)type;
    out->lock = LOCK_EXCLUSIVE;
    if (type == NDB_READ)
        out->lock = options == NULL ? LOCK_COMMITTED : (enum lock_mode)options->lock;
    out->flags = 0;
    if ((flags & NDB_OP_IGNORE_ERROR) != 0) out->flags |= KEY_IGNORE_ERROR;
    if ((flags & NDB_OP_NOWAIT) != 0) out->flags |= KEY_NOWAIT;
    if (options != NULL && options->program != NULL) out->flags |= KEY_PROGRAM;
    if (type == NDB_READ && (flags & (NDB_OP_IGNORE_ERROR | NDB_OP_ABORT_ON_ERROR)) == 0)
        out->flags |= API_OP_MAY_MISS;
}

static bool options_are_valid(enum ndb_operation_type type,
                              const struct ndb_operation_options *options)
{
    uint32_t both = NDB_OP_IGNORE_ERROR | NDB_OP_ABORT_ON_ERROR;
    if (options == NULL) return true;
    if (options->flags > (both | NDB_OP_NOWAIT) || (options->flags & both) == both) return false;
    return type != NDB_READ || (uint32_t)options->lock <= NDB_COMMITTED_READ;
}

/* The program of an operation, and where its result goes. 0 or an error. */
static uint32_t program_error(enum ndb_operation_type type, const struct api_table *table,
                              const struct ndb_operation_options *options)
{
    if (options == NULL) return 0;
    bool result = options->result_record != NULL || options->result != NULL;
    if (options->program == NULL) return result ? ERR_OPTIONS_COMBINATION : 0;
    if (type == NDB_INSERT || (type == NDB_READ && result)) return ERR_OPTIONS_COMBINATION;
    if (result && (options->result_record == NULL || options->result == NULL))
        return ERR_RECORD_NULL;
    if (result && options->result_record->table != table) return ERR_RECORDS_DIFFER;
    return program_usable(options->program, table, type == NDB_UPDATE || type == NDB_WRITE);
}

/* Words that the program and the result need in front of the values. */
static uint32_t program_room(const struct ndb_operation_options *options)
{
    if (options == NULL || options->program == NULL) return 0;
    return 2 + options->program->count + ATTR_READ_MAX;
}

/* Program and reads in front of values: the words written. */
static uint32_t pack_program(const uint32_t *program, uint32_t count, const uint32_t *reads,
                             uint32_t read_words, uint32_t *out)
{
    out[0] = count;
    out[1] = read_words;
    memcpy(out + 2, program, count * 4u);
    if (read_words > 0) memcpy(out + 2 + count, reads, read_words * 4u);
    return 2 + count + read_words;
}

static uint32_t row_in(struct api_op *op, const uint32_t *pairs, uint32_t words)
{
    return record_unpack(api_op_context(op), pairs, words, api_op_context2(op));
}

static void seal_all(struct ndb_transaction *t);

struct definition {
    enum ndb_operation_type type;
    const struct ndb_record *key_record;
    const void *key_row;
    const struct ndb_record *record; /* Values; NULL for delete and reads that only lock. */
    const void *from;
    void *into;
    const struct ndb_operation_options *options;
};

/* A new row of key columns only: names a key column, so that the section is not empty. The key
 * stands at `key`. */
static uint32_t name_first_key(const struct api_table *table, const uint32_t *key,
                               uint32_t key_words, uint32_t *out)
{
    const struct table_def *def = api_table_def(table);
    const struct table_column *column = &def->columns[def->key_columns[0]];
    uint32_t size = column_value_size(&column->format, key, key_words * 4u);
    uint32_t words = words_of(size);
    out[0] = attr_header(column->id, size);
    memcpy(out + 1, key, words * 4u);
    return 1 + words;
}

/* The sections of an operation with a program: it and the reads come before the values. */
static uint32_t write_program(const struct definition *d, uint32_t *out, uint32_t key_words,
                              uint32_t *attr_words, uint32_t *error)
{
    const struct ndb_operation_options *options = d->options;
    uint32_t reads[ATTR_READ_MAX];
    uint32_t count = 0;
    if (d->type == NDB_READ && d->record != NULL)
        count = record_pack_read(d->record, options->mask, reads);
    else if (d->type != NDB_READ && options->result_record != NULL)
        count = record_pack_read(options->result_record, options->result_mask, reads);
    if (d->type == NDB_READ && options->lock == NDB_COMMITTED_READ && count == 0)
        reads[count++] = attr_header(api_table_def(d->key_record->table)->key_columns[0], 0);
    uint32_t *at = out + key_words;
    at += pack_program(options->program->word, options->program->count, reads, count, at);
    if (d->type != NDB_READ && d->record != NULL) {
        uint32_t words = record_pack_values(d->record, d->from, options->mask, at, error);
        if (words == UINT32_MAX) return 0;
        at += words;
        if (words == 0 && d->type == NDB_WRITE)
            at += name_first_key(d->key_record->table, out, key_words, at);
    }
    *attr_words = (uint32_t)(at - out) - key_words;
    return key_words;
}

/* Writes both sections; *attr_words is set. Returns the key's words, 0 and *error. */
static uint32_t write_sections(const struct definition *d, uint32_t *out, uint32_t *attr_words,
                               uint32_t *error)
{
    const uint8_t *mask = d->options == NULL ? NULL : d->options->mask;
    uint32_t key_words = record_pack_key(d->key_record, d->key_row, out, error);
    *attr_words = 0;
    if (key_words > 0 && d->options != NULL && d->options->program != NULL)
        return write_program(d, out, key_words, attr_words, error);
    if (key_words == 0 || d->record == NULL) return key_words;
    if (d->type == NDB_READ) {
        *attr_words = record_pack_read(d->record, mask, out + key_words);
        return key_words;
    }
    *attr_words = record_pack_values(d->record, d->from, mask, out + key_words, error);
    if (*attr_words == UINT32_MAX) return 0;
    if (*attr_words == 0 && d->type == NDB_UPDATE) {
        *error = ERR_DEFINE_STATUS;
        return 0;
    }
    return key_words;
}

/* What the caller has got wrong, and its error; NULL: it can be written. */
static const char *definition_fault(const struct definition *d, uint32_t *error)
{
    *error = ERR_RECORD_NULL;
    if (d->key_record == NULL || d->key_row == NULL) return "no key record or row";
    *error = ERR_RECORDS_DIFFER;
    if (d->record != NULL && d->record->table != d->key_record->table)
        return "key record and record are of different table objects";
    *error = ERR_RECORD_NOT_KEY;
    if (d->key_record->unique != 0 && (d->type == NDB_INSERT || d->type == NDB_WRITE))
        return "inserts and writes are by primary key";
    *error = ERR_OPTIONS_4295;
    if (!options_are_valid(d->type, d->options)) return "flags or lock mode";
    *error = program_error(d->type, d->key_record->table, d->options);
    return *error == 0 ? NULL : "program of the operation";
}

/* Where the rows that come back go. */
static struct api_op_options result_options(const struct definition *d)
{
    struct api_op_options options = {.table = d->key_record->table,
                                     .row = d->record == NULL ? NULL : row_in,
                                     .context = (void *)(uintptr_t)d->record,
                                     .context2 = d->into};
    if (d->options != NULL && d->type != NDB_READ) {
        options.row = d->options->result_record == NULL ? NULL : row_in;
        options.context = (void *)(uintptr_t)d->options->result_record;
        options.context2 = d->options->result;
    }
    core_options(&options, d->type, d->options);
    options.unique = d->key_record->unique;
    return options;
}

/* The rows cannot be packed. */
static struct ndb_operation *refuse_rows(struct ndb_transaction *t, const struct definition *d,
                                         uint32_t error)
{
    bool values = error == ERR_VALUE_TOO_LONG && d->record != NULL && d->from != NULL;
    refuse(t, error, "");
    blame_record(&t->error, error, values ? d->record : d->key_record,
                 values ? d->from : d->key_row, false);
    return NULL;
}

static struct ndb_operation *define(struct ndb_transaction *t, const struct definition *d)
{
    if (t == NULL) return NULL;
    uint32_t error;
    const char *fault = definition_fault(d, &error);
    if (fault != NULL) {
        refuse(t, error, fault);
        blame_record(&t->error, error, d->key_record != NULL ? d->key_record : d->record, NULL,
                     false);
        return NULL;
    }
    if (t->unsealed != NULL) seal_all(t);
    uint32_t room = 2 * d->key_record->key_words_max + 1 + program_room(d->options) +
                    (d->record == NULL ? 0 : d->record->value_words_max);
    uint32_t *out = begin(t, room);
    if (out == NULL) return NULL;
    uint32_t attr_words = 0;
    uint32_t key_words = write_sections(d, out, &attr_words, &error);
    if (key_words == 0) return refuse_rows(t, d, error);
    if (attr_words == 0 && (d->type == NDB_INSERT || d->type == NDB_WRITE))
        attr_words = name_first_key(d->key_record->table, out, key_words, out + key_words);
    struct api_op_options options = result_options(d);
    struct ndb_operation *operation = take_operation(t);
    if (operation == NULL) return refuse(t, ERR_API_MEMORY, "");
    operation->op = api_op_end(t->tx, &options, key_words, attr_words);
    if (operation->op == NULL) {
        free_operation(t->ndb, operation);
        return refuse(t, ERR_API_MEMORY, "");
    }
    operation->sealed = true;
    operation->type = d->type;
    operation->record = d->key_record;
    atomic_fetch_add_explicit(&((struct ndb_record *)(uintptr_t)d->key_record)->references, 1,
                              memory_order_relaxed);
    append(t, operation);
    return operation;
}

struct ndb_operation *ndb_read(struct ndb_transaction *t, const struct ndb_record *key_record,
                               const void *key_row, const struct ndb_record *record, void *row,
                               const struct ndb_operation_options *options)
{
    struct definition d = {NDB_READ, key_record, key_row, record, NULL, row, options};
    if (t != NULL && record != NULL && row == NULL)
        return refuse(t, ERR_PARAMETER, "no row to read into");
    return define(t, &d);
}

struct ndb_operation *ndb_insert(struct ndb_transaction *t, const struct ndb_record *record,
                                 const void *row, const struct ndb_operation_options *options)
{
    struct definition d = {NDB_INSERT, record, row, record, row, NULL, options};
    return define(t, &d);
}

struct ndb_operation *ndb_update(struct ndb_transaction *t, const struct ndb_record *key_record,
                                 const void *key_row, const struct ndb_record *record,
                                 const void *row, const struct ndb_operation_options *options)
{
    struct definition d = {NDB_UPDATE, key_record, key_row, record, row, NULL, options};
    bool program = options != NULL && options->program != NULL;
    if (t != NULL && (record == NULL || row == NULL) && !(program && record == NULL)) {
        refuse(t, ERR_RECORD_NULL, "no values to update");
        blame_record(&t->error, ERR_RECORD_NULL, key_record, NULL, false);
        return NULL;
    }
    return define(t, &d);
}

struct ndb_operation *ndb_write(struct ndb_transaction *t, const struct ndb_record *record,
                                const void *row, const struct ndb_operation_options *options)
{
    struct definition d = {NDB_WRITE, record, row, record, row, NULL, options};
    return define(t, &d);
}

struct ndb_operation *ndb_delete(struct ndb_transaction *t, const struct ndb_record *key_record,
                                 const void *key_row, const struct ndb_operation_options *options)
{
    struct definition d = {NDB_DELETE, key_record, key_row, NULL, NULL, NULL, options};
    return define(t, &d);
}

/* ---- Defining column by column. ---- */

struct ndb_operation *ndb_operation_define(struct ndb_transaction *t, struct ndb_table *table,
                                           enum ndb_operation_type type,
                                           const struct ndb_operation_options *options)
{
    if (t == NULL) return NULL;
    if (table == NULL || (uint32_t)type > NDB_WRITE)
        return refuse(t, ERR_PARAMETER, "table or type of operation");
    if (!options_are_valid(type, options)) return refuse(t, ERR_OPTIONS_4295, "flags or lock mode");
    uint32_t error = program_error(type, table_core(table), options);
    if (error == 0 && options != NULL && options->result != NULL) error = ERR_OPTIONS_COMBINATION;
    if (error != 0) return refuse(t, error, "program of the operation");
    if (t->unsealed != NULL) seal_all(t);
    if (begin(t, 0) == NULL) return NULL;
    struct ndb_operation *operation = take_operation(t);
    if (operation == NULL) return refuse(t, ERR_API_MEMORY, "");
    operation->table = api_table_hold(table_core(table));
    operation->type = type;
    operation->options =
        options != NULL ? *options : (struct ndb_operation_options){.lock = NDB_COMMITTED_READ};
    if (options != NULL && options->program != NULL) {
        operation->program = malloc(options->program->count * 4u);
        operation->program_words = options->program->count;
        if (operation->program == NULL) operation->define_error = ERR_API_MEMORY;
        if (operation->program != NULL)
            memcpy(operation->program, options->program->word, options->program->count * 4u);
    }
    append(t, operation);
    t->unsealed = operation;
    return operation;
}

static bool grow(uint32_t **words, uint32_t *room, uint32_t need)
{
    if (need <= *room) return true;
    uint32_t more = *room == 0 ? 64 : *room;
    while (more < need)
        more *= 2;
    uint32_t *grown = realloc(*words, (size_t)more * 4u);
    if (grown == NULL) return false;
    *words = grown;
    *room = more;
    return true;
}

static bool reserve(struct ndb_operation *operation, uint32_t words)
{
    return grow(&operation->words, &operation->word_room, operation->word_count + words);
}

static int set_failed(struct ndb_operation *operation, uint32_t code)
{
    if (operation->define_error == 0) operation->define_error = code;
    return error_set(&operation->error, code, NULL);
}

/* The table has no column of this number, or name. */
static int no_column(struct ndb_operation *operation, const char *name, uint32_t number)
{
    char text[NDB_DETAIL_SIZE];
    set_failed(operation, ERR_NO_SUCH_COLUMN);
    sql_column_text(api_table_def(operation->table), NULL, text, sizeof text);
    if (name == NULL)
        return error_set(&operation->error, ERR_NO_SUCH_COLUMN, "%.150s, column number %u", text,
                         number);
    return error_set(&operation->error, ERR_NO_SUCH_COLUMN, "%.150s, column %.80s", text, name);
}

/* The value is none of the column. */
static int wrong_value(struct ndb_operation *operation, const struct table_column *column,
                       uint32_t code)
{
    set_failed(operation, code);
    return blame_column(&operation->error, code, operation->table, column);
}

int ndb_operation_set(struct ndb_operation *operation, uint32_t column, const void *value,
                      uint32_t size)
{
    if (operation == NULL) return -1;
    if (operation->sealed || operation->table == NULL)
        return set_failed(operation, ERR_DEFINE_STATUS);
    const struct table_def *def = api_table_def(operation->table);
    if (column >= def->column_count) return no_column(operation, NULL, column);
    const struct table_column *target = &def->columns[column];
    bool key = target->key_index != COLUMN_NOT_IN_KEY;
    const void *old;
    uint32_t old_size;
    if (!key && (operation->type == NDB_READ || operation->type == NDB_DELETE))
        return wrong_value(operation, target, ERR_SET_ON_READ);
    if (pairs_find(operation->words, operation->word_count, column, &old, &old_size))
        return wrong_value(operation, target, key ? ERR_KEY_TWICE : ERR_RECORD_4289);
    if (value == NULL && (target->flags & COLUMN_NULLABLE) == 0)
        return wrong_value(operation, target, ERR_NULL_TO_NOT_NULL);
    uint32_t code = value == NULL ? 0 : column_check(&target->format, value, size);
    if (code != 0) return wrong_value(operation, target, code);
    if (value == NULL) size = 0;
    if (!reserve(operation, 1 + words_of(size))) return set_failed(operation, ERR_API_MEMORY);
    uint32_t *out = operation->words + operation->word_count;
    out[0] = attr_header(column, size);
    if (size > 0) {
        out[words_of(size)] = 0;
        memcpy(out + 1, value, size);
    }
    operation->word_count += 1 + words_of(size);
    return 0;
}

int ndb_operation_set_by_name(struct ndb_operation *operation, const char *column,
                              const void *value, uint32_t size)
{
    if (operation == NULL) return -1;
    if (operation->table == NULL || column == NULL) return set_failed(operation, ERR_DEFINE_STATUS);
    const struct table_column *found =
        table_def_find(api_table_def(operation->table), column, (uint32_t)strlen(column));
    return found == NULL ? no_column(operation, column, 0)
                         : ndb_operation_set(operation, found->id, value, size);
}

/* Columns to read are kept in the result's place until the row comes. */
int ndb_operation_get(struct ndb_operation *operation, uint32_t column)
{
    if (operation == NULL) return -1;
    if (operation->sealed || operation->table == NULL)
        return set_failed(operation, ERR_DEFINE_STATUS);
    if (operation->type != NDB_READ && operation->program == NULL)
        return set_failed(operation, ERR_READ_NOT_ALLOWED);
    if (column >= api_table_def(operation->table)->column_count)
        return no_column(operation, NULL, column);
    if (operation->result_words == ATTR_READ_MAX) return set_failed(operation, ERR_READ_TOO_MUCH);
    if (!grow(&operation->result, &operation->result_room, operation->result_words + 1))
        return set_failed(operation, ERR_API_MEMORY);
    operation->result[operation->result_words++] = attr_header(column, 0);
    return 0;
}

int ndb_operation_value(const struct ndb_operation *operation, uint32_t column, const void **value,
                        uint32_t *size)
{
    if (value == NULL || size == NULL) return -1;
    *value = NULL;
    *size = 0;
    if (operation == NULL || operation->op == NULL || operation->result == NULL ||
        api_op_error(operation->op) != 0)
        return -1;
    return pairs_find(operation->result, operation->result_words, column, value, size) ? 0 : -1;
}

static uint32_t columns_in(struct api_op *op, const uint32_t *pairs, uint32_t words)
{
    struct ndb_operation *operation = api_op_context(op);
    if (!grow(&operation->result, &operation->result_room, words + 1)) return ERR_API_MEMORY;
    if (words > 0) memcpy(operation->result, pairs, (size_t)words * 4u);
    operation->result_words = words;
    return 0;
}

/* Key columns in table order, then the other pairs. Returns the key's words, 0: a key column is
 * missing. */
static uint32_t gather(const struct ndb_operation *operation, uint32_t *out, uint32_t *attr_words)
{
    const struct table_def *def = api_table_def(operation->table);
    const void *value;
    uint32_t size;
    uint32_t at = 0;
    for (uint32_t i = 0; i < def->key_count; i++) {
        if (!pairs_find(operation->words, operation->word_count, def->key_columns[i], &value,
                        &size))
            return 0;
        memcpy(out + at, value, words_of(size) * 4u);
        at += words_of(size);
    }
    uint32_t key_words = at;
    for (uint32_t i = 0; i < operation->word_count;
         i += 1 + words_of(attr_size(operation->words[i]))) {
        uint32_t words = 1 + words_of(attr_size(operation->words[i]));
        if (def->columns[attr_column(operation->words[i])].key_index != COLUMN_NOT_IN_KEY) continue;
        memcpy(out + at, operation->words + i, words * 4u);
        at += words;
    }
    *attr_words = at - key_words;
    return key_words;
}

/* Moves the values behind program and reads. */
static uint32_t put_program_before(struct ndb_operation *operation, uint32_t *attr, uint32_t words)
{
    if (operation->type == NDB_READ && operation->options.lock == NDB_COMMITTED_READ &&
        operation->result_words == 0)
        ndb_operation_get(operation, api_table_def(operation->table)->key_columns[0]);
    uint32_t front = 2 + operation->program_words + operation->result_words;
    memmove(attr + front, attr, words * 4u);
    pack_program(operation->program, operation->program_words, operation->result,
                 operation->result_words, attr);
    return front + words;
}

static uint32_t seal(struct ndb_operation *operation)
{
    struct ndb_transaction *t = operation->transaction;
    uint32_t attr_words = 0;
    bool program = operation->program != NULL;
    if (operation->define_error != 0) return operation->define_error;
    uint32_t *out = begin(t, 2 * operation->word_count + operation->result_words + 8 +
                                 operation->program_words);
    if (out == NULL) return (uint32_t)t->error.error.code;
    uint32_t key_words = gather(operation, out, &attr_words);
    if (key_words == 0) {
        blame_columns(&operation->error, ERR_KEY_MISSING, operation);
        return ERR_KEY_MISSING;
    }
    if (attr_words == 0 && (operation->type == NDB_INSERT || operation->type == NDB_WRITE))
        attr_words = name_first_key(operation->table, out, key_words, out + key_words);
    if (program) {
        attr_words = put_program_before(operation, out + key_words, attr_words);
        if (operation->define_error != 0) return operation->define_error;
    }
    if (operation->type == NDB_READ && !program) {
        attr_words = operation->result_words;
        if (attr_words > 0) memcpy(out + key_words, operation->result, attr_words * 4u);
    }
    if (attr_words == 0 && operation->type == NDB_UPDATE) return ERR_DEFINE_STATUS;
    struct api_op_options options = {
        .table = operation->table, .row = attr_words > 0 ? columns_in : NULL, .context = operation};
    core_options(&options, operation->type, &operation->options);
    operation->result_words = 0;
    operation->op = api_op_end(t->tx, &options, key_words, attr_words);
    return operation->op == NULL ? ERR_API_MEMORY : 0;
}

/* The operation's error is this one, and says more. */
static bool has_detail(const struct ndb_operation *operation, uint32_t code)
{
    return operation->error.error.code == (int32_t)code && operation->error.detail[0] != 0;
}

static void seal_all(struct ndb_transaction *t)
{
    for (struct ndb_operation *operation = t->unsealed; operation != NULL;
         operation = operation->next) {
        if (operation->sealed) continue;
        uint32_t error = seal(operation);
        operation->sealed = true;
        if (error != 0) operation->define_error = error;
    }
    for (struct ndb_operation *operation = t->unsealed; operation != NULL;
         operation = operation->next) {
        if (operation->define_error != 0 && t->error.error.code == 0)
            error_set(&t->error, operation->define_error, "%s",
                      has_detail(operation, operation->define_error)
                          ? operation->error.detail
                          : "an operation is not complete");
    }
    t->unsealed = NULL;
}

/* ---- Executing. ---- */

/* Tells the table, and the column if it can be seen, when the error is about a column. */
static void blame(struct error_slot *slot, uint32_t code, const struct ndb_operation *operation)
{
    if (operation == NULL) return;
    bool inserts = operation->type == NDB_INSERT || operation->type == NDB_WRITE;
    if (operation->table != NULL)
        blame_columns(slot, code, operation);
    else
        blame_record(slot, code, operation->record, NULL, inserts);
}

static int result_of(struct ndb_transaction *t)
{
    enum api_outcome outcome = api_tx_outcome(t->tx);
    uint32_t error = api_tx_error(t->tx);
    if (error == 0) return 0;
    error_set_outcome(&t->error, error, outcome == API_UNKNOWN);
    if (error == ERR_UNIQUE_DUPLICATE) error_set(&t->error, error, "%s", api_tx_error_index(t->tx));
    blame(&t->error, error, ndb_transaction_error_operation(t));
    uint32_t fits = api_tx_error_fits(t->tx);
    if (fits != 0)
        error_set(&t->error, error, "%u %s fit", fits,
                  error == ERR_TRANSACTION_TOO_BIG ? "changes" : "operations");
    if (t->ndb->error.error.code != (int32_t)error || t->error.detail[0] != '\0')
        error_set(&t->ndb->error, error, "%s", t->error.detail);
    t->ndb->error.error.status = t->error.error.status;
    return -1;
}

static void executed(void *context, struct api_tx *tx)
{
    struct ndb_transaction *t = context;
    (void)tx;
    t->done = true;
    if (t->callback == NULL) return;
    ndb_t *ndb = t->ndb;
    ndb_callback callback = t->callback;
    t->callback = NULL;
    t->in_flight_async = false;
    async_completed(ndb, 1);
    int result = result_of(t);
    ndb->callback_depth++;
    callback(result, t, t->context);
    ndb->callback_depth--;
}

/* Seals what is open and asks the core. 0 or the error's number, also in the transaction's error.
 */
static uint32_t start(struct ndb_transaction *t, enum ndb_execute_type type, uint32_t timeout_ms)
{
    ndb_t *ndb = t->ndb;
    ndb_now(ndb);
    if (api_tx_in_flight(t->tx)) {
        error_set(&t->error, ERR_API_STATE, "the transaction is being executed");
        return ERR_API_STATE;
    }
    if (t->unsealed != NULL) seal_all(t);
    if (t->error.error.code != 0 && type != NDB_ROLLBACK && api_tx_outcome(t->tx) == API_ACTIVE)
        return (uint32_t)t->error.error
            .code; /* An operation could not be defined: nothing of the batch is sent. */
    t->done = false;
    uint32_t error = api_tx_execute(t->tx, (enum api_execute)type,
                                    timeout_of(ndb->connection, timeout_ms), executed, t);
    if (error != 0) error_set_outcome(&t->error, error, false);
    return error;
}

int ndb_execute(struct ndb_transaction *t, enum ndb_execute_type type, uint32_t timeout_ms)
{
    if (t == NULL) return -1;
    if (t->ndb->callback_depth > 0)
        return error_set(&t->error, ERR_MISUSE_4507, "ndb_execute in a callback");
    t->callback = NULL;
    uint32_t error = start(t, type, timeout_ms);
    if (error != 0) {
        t->ndb->error = t->error;
        t->ndb->error.error.detail = t->ndb->error.detail;
        return -1;
    }
    if (!t->done) ndb_wait_for(t->ndb, &t->done, UINT64_MAX);
    return result_of(t);
}

int ndb_execute_async(struct ndb_transaction *t, enum ndb_execute_type type, uint32_t timeout_ms,
                      ndb_callback callback, void *context)
{
    if (t == NULL) return -1;
    if (callback == NULL) return error_set(&t->error, ERR_NO_CALLBACK, NULL);
    if (api_tx_in_flight(t->tx))
        return error_set(&t->error, ERR_API_STATE, "the transaction is being executed");
    t->callback = callback;
    t->context = context;
    t->in_flight_async = true;
    t->ndb->async_pending++;
    ndb_t *ndb = t->ndb;
    if (start(t, type, timeout_ms) != 0) {
        t->callback = NULL;
        t->in_flight_async = false;
        ndb->async_pending--;
        return -1;
    }
    async_push(ndb);
    return 0;
}

/* ---- Asking. ---- */

const ndb_error_t *ndb_transaction_error(const struct ndb_transaction *transaction)
{
    struct ndb_transaction *t = (struct ndb_transaction *)(uintptr_t)transaction;
    if (t == NULL) return ndb_error(NULL);
    if (t->error.error.code == 0) error_set(&t->error, api_tx_error(t->tx), NULL);
    return &t->error.error;
}

const ndb_error_t *ndb_operation_error(const struct ndb_operation *constant)
{
    struct ndb_operation *operation = (struct ndb_operation *)(uintptr_t)constant;
    if (operation == NULL) return ndb_error(NULL);
    uint32_t code = operation->define_error;
    if (code == 0 && operation->op != NULL) code = api_op_error(operation->op);
    if (code == 0 && operation->error.error.code == 0) return &operation->error.error;
    const struct api_tx *tx = operation->transaction->tx;
    bool duplicate = code == ERR_UNIQUE_DUPLICATE && operation->op == api_tx_error_op(tx);
    if (operation->define_error != 0 && has_detail(operation, code)) return &operation->error.error;
    if (duplicate)
        error_set(&operation->error, code, "%s", api_tx_error_index(tx));
    else
        error_set(&operation->error, code, NULL);
    blame(&operation->error, code, operation);
    return &operation->error.error;
}

const struct ndb_operation *ndb_transaction_error_operation(const struct ndb_transaction *t)
{
    if (t == NULL) return NULL;
    const struct api_op *op = api_tx_error_op(t->tx);
    for (const struct ndb_operation *operation = t->first; operation != NULL;
         operation = operation->next) {
        if (operation->define_error != 0 || (op != NULL && operation->op == op)) return operation;
    }
    return NULL;
}

uint64_t ndb_transaction_epoch(const struct ndb_transaction *t)
{
    return t == NULL ? 0 : api_tx_epoch(t->tx);
}
int ndb_transaction_durable(const struct ndb_transaction *t)
{
    return t != NULL && api_tx_durable(t->tx);
}
uint64_t ndb_transaction_id(const struct ndb_transaction *t)
{
    return t == NULL ? 0 : api_tx_id(t->tx);
}
uint32_t ndb_transaction_node(const struct ndb_transaction *t)
{
    return t == NULL ? 0 : api_tx_node(t->tx);
}
static void outcome_known(void *context, struct api_tx *tx)
{
    (void)tx;
    *(volatile bool *)context = true;
}

int ndb_transaction_outcome(struct ndb_transaction *t, uint32_t timeout_ms)
{
    volatile bool done = false;
    if (t == NULL) return -1;
    ndb_t *ndb = t->ndb;
    if (ndb->callback_depth > 0)
        return error_set(&ndb->error, ERR_MISUSE_4507, "ndb_transaction_outcome in a callback");
    if (api_tx_outcome(t->tx) == API_COMMITTED) return 1;
    if (api_tx_outcome(t->tx) == API_ABORTED) return 0;
    ndb_now(ndb);
    uint32_t error = api_tx_ask(t->tx, timeout_of(ndb->connection, timeout_ms), outcome_known,
                                (void *)(uintptr_t)&done);
    if (error != 0) return error_set(&ndb->error, error, "the transaction has not ended");
    if (!done) ndb_wait_for(ndb, &done, UINT64_MAX);
    error_set(&t->error, api_tx_error(t->tx), NULL);
    if (api_tx_outcome(t->tx) == API_COMMITTED) return 1;
    if (api_tx_outcome(t->tx) == API_ABORTED) return 0;
    error_set_outcome(&ndb->error, api_tx_error(t->tx), true);
    return -1;
}
uint32_t ndb_pending(const ndb_t *ndb)
{
    return ndb == NULL ? 0 : ndb->async_pending;
}
