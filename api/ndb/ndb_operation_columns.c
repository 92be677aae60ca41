/* ndb_operation_columns.c -- operations that are defined column by column. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "api/ndb/ndb_blame.h"
#include "api/ndb/ndb_operation.h"
#include "api/ndb/ndb_program.h"
#include "api/ndb/record_member.h"
#include "api/ndb/record_state.h"

struct ndb_operation *ndb_operation_define(struct ndb_transaction *t, struct ndb_table *table,
                                           enum ndb_operation_type type,
                                           const struct ndb_operation_options *options)
{
    if (t == NULL) return NULL;
    if (table == NULL || (uint32_t)type > NDB_WRITE)
        return operation_refuse(t, ERR_PARAMETER, "table or type of operation");
    if (!operation_options_valid(type, options))
        return operation_refuse(t, ERR_OPTIONS_4295, "flags or lock mode");
    uint32_t error = operation_program_error(type, table_core(table), options);
    if (error == 0 && options != NULL && options->result != NULL) error = ERR_OPTIONS_COMBINATION;
    if (error != 0) return operation_refuse(t, error, "program of the operation");
    if (t->unsealed != NULL) operations_seal(t);
    if (operation_begin(t, 0) == NULL) return NULL;
    struct ndb_operation *operation = operation_take(t);
    if (operation == NULL) return operation_refuse(t, ERR_API_MEMORY, "");
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
    operation_append(t, operation);
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

/* Nobody looks again at an operation that is handed over: the transaction has the error then, as
 * long as it can be kept from being sent. */
static int set_failed(struct ndb_operation *operation, uint32_t code)
{
    struct ndb_transaction *t = operation->transaction;
    if (operation->sealed && operation->batch == t->batch)
        operation_refuse(t, code, "the operation is complete already");
    else if (operation->sealed)
        error_set(&t->refusal, code, "the operation is complete already");
    else if (operation->define_error == 0)
        operation->define_error = code;
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
    operation_pack_program(operation->program, operation->program_words, operation->result,
                           operation->result_words, attr);
    return front + words;
}

static uint32_t seal(struct ndb_operation *operation)
{
    struct ndb_transaction *t = operation->transaction;
    uint32_t attr_words = 0;
    bool program = operation->program != NULL;
    if (operation->define_error != 0) return operation->define_error;
    uint32_t *out = operation_begin(t, 2 * operation->word_count + operation->result_words + 8 +
                                           operation->program_words);
    if (out == NULL) return (uint32_t)t->error.error.code;
    uint32_t key_words = gather(operation, out, &attr_words);
    if (key_words == 0) {
        blame_columns(&operation->error, ERR_KEY_MISSING, operation);
        return ERR_KEY_MISSING;
    }
    if (attr_words == 0 && (operation->type == NDB_INSERT || operation->type == NDB_WRITE))
        attr_words = operation_name_key(operation->table, out, key_words, out + key_words);
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
    operation_core_options(&options, operation->type, &operation->options);
    operation->result_words = 0;
    operation->op = api_op_end(t->tx, &options, key_words, attr_words);
    return operation->op == NULL ? ERR_API_MEMORY : 0;
}

bool operation_has_detail(const struct ndb_operation *operation, uint32_t code)
{
    return operation->error.error.code == (int32_t)code && operation->error.detail[0] != 0;
}

void operations_seal(struct ndb_transaction *t)
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
                      operation_has_detail(operation, operation->define_error)
                          ? operation->error.detail
                          : "an operation is not complete");
    }
    t->unsealed = NULL;
}
