/* ndb_operation.c -- operations that are defined by records. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "api/ndb/ndb_blame.h"
#include "api/ndb/ndb_operation.h"
#include "api/ndb/ndb_program.h"
#include "api/ndb/record_state.h"

#define WORDS_KEPT 1024u /* An operation that is recycled keeps a buffer of at most so many. */

void operation_free(ndb_t *ndb, struct ndb_operation *operation)
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

/* Where the error of a definition goes. How the transaction has ended is not forgotten for one that
 * comes too late. */
static struct error_slot *slot_of(struct ndb_transaction *t)
{
    return api_tx_outcome(t->tx) == API_ACTIVE ? &t->error : &t->refusal;
}

struct ndb_operation *operation_refuse(struct ndb_transaction *t, uint32_t code, const char *detail)
{
    transaction_forget_refusal(t);
    error_set(slot_of(t), code, "%s", detail);
    return NULL;
}

struct ndb_operation *operation_take(struct ndb_transaction *t)
{
    ndb_t *ndb = t->ndb;
    struct ndb_operation *operation = ndb->operation_free;
    transaction_forget_refusal(t);
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
    operation->batch = t->batch;
    operation->word_count = 0;
    operation->program = NULL;
    operation->program_words = 0;
    operation->result_words = 0;
    return operation;
}

void operation_append(struct ndb_transaction *t, struct ndb_operation *operation)
{
    if (t->last != NULL) {
        t->last->next = operation;
    } else {
        t->first = operation;
    }
    t->last = operation;
}

uint32_t *operation_begin(struct ndb_transaction *t, uint32_t words)
{
    uint32_t *out = t->untold ? NULL : api_op_begin(t->tx, words);
    if (out != NULL) return out;
    transaction_forget_refusal(t);
    if (transaction_in_flight(t)) {
        operation_refuse(t, ERR_API_STATE,
                         "an operation was defined while the transaction was being executed");
    } else if (api_tx_outcome(t->tx) != API_ACTIVE) {
        if (t->error.error.code == 0 && api_tx_error(t->tx) != 0)
            transaction_set_error(t, api_tx_error(t->tx));
        else if (t->error.error.code == 0)
            operation_refuse(t, ERR_TRANSACTION_COMPLETE, "");
    } else {
        operation_refuse(t, ERR_API_MEMORY, "");
    }
    return NULL;
}

void operation_core_options(struct api_op_options *out, enum ndb_operation_type type,
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

bool operation_options_valid(enum ndb_operation_type type,
                             const struct ndb_operation_options *options)
{
    uint32_t both = NDB_OP_IGNORE_ERROR | NDB_OP_ABORT_ON_ERROR;
    if (options == NULL) return true;
    if (options->flags > (both | NDB_OP_NOWAIT) || (options->flags & both) == both) return false;
    return type != NDB_READ || (uint32_t)options->lock <= NDB_COMMITTED_READ;
}

uint32_t operation_program_error(enum ndb_operation_type type, const struct api_table *table,
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

uint32_t operation_program_room(const struct ndb_operation_options *options)
{
    if (options == NULL || options->program == NULL) return 0;
    return 2 + options->program->count + ATTR_READ_MAX;
}

uint32_t operation_pack_program(const uint32_t *program, uint32_t count, const uint32_t *reads,
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

struct definition {
    enum ndb_operation_type type;
    const struct ndb_record *key_record;
    const void *key_row;
    /* Record of the values; NULL for deletes, and for reads that only lock. */
    const struct ndb_record *record;
    const void *from;
    void *into;
    const struct ndb_operation_options *options;
};

uint32_t operation_name_key(const struct api_table *table, const uint32_t *key, uint32_t key_words,
                            uint32_t *out)
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
    at += operation_pack_program(options->program->word, options->program->count, reads, count, at);
    if (d->type != NDB_READ && d->record != NULL) {
        uint32_t words = record_pack_values(d->record, d->from, options->mask, at, error);
        if (words == UINT32_MAX) return 0;
        at += words;
        if (words == 0 && d->type == NDB_WRITE)
            at += operation_name_key(d->key_record->table, out, key_words, at);
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
    if (!operation_options_valid(d->type, d->options)) return "flags or lock mode";
    *error = operation_program_error(d->type, d->key_record->table, d->options);
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
    operation_core_options(&options, d->type, d->options);
    options.unique = d->key_record->unique;
    return options;
}

/* The rows cannot be packed. */
static struct ndb_operation *refuse_rows(struct ndb_transaction *t, const struct definition *d,
                                         uint32_t error)
{
    bool values = error == ERR_VALUE_TOO_LONG && d->record != NULL && d->from != NULL;
    operation_refuse(t, error, "");
    blame_record(slot_of(t), error, values ? d->record : d->key_record,
                 values ? d->from : d->key_row, false);
    return NULL;
}

static struct ndb_operation *define(struct ndb_transaction *t, const struct definition *d)
{
    if (t == NULL) return NULL;
    uint32_t error;
    const char *fault = definition_fault(d, &error);
    if (fault != NULL) {
        operation_refuse(t, error, fault);
        blame_record(slot_of(t), error, d->key_record != NULL ? d->key_record : d->record, NULL,
                     false);
        return NULL;
    }
    if (t->unsealed != NULL) operations_seal(t);
    uint32_t room = 2 * d->key_record->key_words_max + 1 + operation_program_room(d->options) +
                    (d->record == NULL ? 0 : d->record->value_words_max);
    uint32_t *out = operation_begin(t, room);
    if (out == NULL) return NULL;
    uint32_t attr_words = 0;
    uint32_t key_words = write_sections(d, out, &attr_words, &error);
    if (key_words == 0) return refuse_rows(t, d, error);
    if (attr_words == 0 && (d->type == NDB_INSERT || d->type == NDB_WRITE))
        attr_words = operation_name_key(d->key_record->table, out, key_words, out + key_words);
    struct api_op_options options = result_options(d);
    struct ndb_operation *operation = operation_take(t);
    if (operation == NULL) return operation_refuse(t, ERR_API_MEMORY, "");
    operation->op = api_op_end(t->tx, &options, key_words, attr_words);
    if (operation->op == NULL) {
        operation_free(t->ndb, operation);
        return operation_refuse(t, ERR_API_MEMORY, "");
    }
    operation->sealed = true;
    operation->type = d->type;
    operation->record = d->key_record;
    atomic_fetch_add_explicit(&((struct ndb_record *)(uintptr_t)d->key_record)->references, 1,
                              memory_order_relaxed);
    operation_append(t, operation);
    return operation;
}

struct ndb_operation *ndb_read(struct ndb_transaction *t, const struct ndb_record *key_record,
                               const void *key_row, const struct ndb_record *record, void *row,
                               const struct ndb_operation_options *options)
{
    struct definition d = {NDB_READ, key_record, key_row, record, NULL, row, options};
    if (t != NULL && record != NULL && row == NULL)
        return operation_refuse(t, ERR_PARAMETER, "no row to read into");
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
        operation_refuse(t, ERR_RECORD_NULL, "no values to update");
        blame_record(slot_of(t), ERR_RECORD_NULL, key_record, NULL, false);
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
