/* ndb_program.c -- the application's builder of interpreted programs. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "api/ndb/ndb_program.h"
#include "api/ndb/record_member.h"

#define LABELS_MAX 65536u

/* ---- Life. ---- */

struct ndb_program *program_create(struct api_table *table)
{
    struct ndb_program *p = calloc(1, sizeof *p);
    if (p == NULL) return NULL;
    p->table = api_table_hold(table);
    p->word[0] = PROGRAM_VERSION;
    p->count = 1;
    return p;
}

struct ndb_program *ndb_program_create(ndb_t *ndb, struct ndb_table *table)
{
    if (ndb == NULL) return NULL;
    if (table == NULL) {
        error_set(&ndb->error, ERR_PARAMETER, "no table");
        return NULL;
    }
    struct ndb_program *p = program_create(table_core(table));
    if (p == NULL) error_set(&ndb->error, ERR_API_MEMORY, NULL);
    return p;
}

void ndb_program_free(struct ndb_program *p)
{
    if (p == NULL) return;
    api_table_release(p->table);
    free(p->label);
    free(p->patch);
    free(p);
}

const ndb_error_t *ndb_program_error(const struct ndb_program *p)
{
    return p == NULL ? ndb_error(NULL) : &p->error.error;
}

uint32_t ndb_program_words(const struct ndb_program *p)
{
    return p == NULL ? 0 : p->count;
}

int program_fail(struct ndb_program *p, uint32_t code, const char *detail)
{
    if (p->error.error.code == 0)
        error_set(&p->error, code, "word %u%s%s", p->count, *detail == 0 ? "" : ": ", detail);
    return -1;
}

/* ---- Words. ---- */

static bool may_add(struct ndb_program *p)
{
    if (p == NULL || p->error.error.code != 0) return false;
    if (p->finished) {
        program_fail(p, ERR_INTERPRETER_4231, "");
        return false;
    }
    return true;
}

static int add(struct ndb_program *p, const uint32_t *words, uint32_t count)
{
    if (count > PROGRAM_WORDS_MAX - p->count) return program_fail(p, ERR_PROGRAM_TOO_LONG, "");
    memcpy(p->word + p->count, words, count * 4u);
    p->count += count;
    return 0;
}

/* Room for one element more; NULL without memory. */
static void *grow(void *array, uint32_t count, size_t size)
{
    if (count != 0 && (count & (count - 1u)) != 0) return array;
    return realloc(array, (count == 0 ? 1u : 2u * (size_t)count) * size);
}

/* The branch word at p->count + `at` is to get this label's place. */
static int use_label(struct ndb_program *p, uint32_t at, uint32_t label)
{
    if (label >= LABELS_MAX) return program_fail(p, ERR_LABEL_4223, "");
    if (label < p->labels && p->label[label] != 0)
        return program_fail(p, ERR_BAD_BRANCH, "the label is behind");
    struct patch *patch = grow(p->patch, p->patches, sizeof *patch);
    if (patch == NULL) return program_fail(p, ERR_API_MEMORY, "");
    p->patch = patch;
    p->patch[p->patches++] = (struct patch){p->count + at, label};
    return 0;
}

int ndb_program_label(struct ndb_program *p, uint32_t label)
{
    if (!may_add(p)) return -1;
    if (label >= LABELS_MAX) return program_fail(p, ERR_LABEL_4223, "");
    while (p->labels <= label) {
        uint16_t *grown = grow(p->label, p->labels, sizeof *grown);
        if (grown == NULL) return program_fail(p, ERR_API_MEMORY, "");
        p->label = grown;
        p->label[p->labels++] = 0;
    }
    if (p->label[label] != 0) return program_fail(p, ERR_LABEL_4221, "");
    p->label[label] = (uint16_t)p->count;
    return 0;
}

/* ---- Checks. ---- */

static const struct table_column *column_of(struct ndb_program *p, uint32_t id)
{
    const struct table_def *def = api_table_def(p->table);
    if (id < def->column_count) return &def->columns[id];
    char text[NDB_DETAIL_SIZE];
    sql_column_text(def, NULL, text, sizeof text);
    if (p->error.error.code == 0)
        error_set(&p->error, ERR_NO_SUCH_COLUMN, "%.200s, column number %u", text, id);
    return NULL;
}

static bool registers(struct ndb_program *p, uint32_t a, uint32_t b, uint32_t c)
{
    if (a < PROGRAM_REGISTERS && b < PROGRAM_REGISTERS && c < PROGRAM_REGISTERS) return true;
    program_fail(p, ERR_INTERPRETER_4229, "");
    return false;
}

static int with_register(struct ndb_program *p, enum program_opcode opcode, uint32_t reg,
                         uint32_t column)
{
    if (!may_add(p) || !registers(p, reg, 0, 0)) return -1;
    const struct table_column *of = column_of(p, column);
    if (of == NULL) return -1;
    if (!column_is_integer(of->format.type)) return program_fail(p, ERR_PROGRAM_COLUMN, "");
    uint32_t head = program_head(opcode, reg, 0, column);
    return add(p, &head, 1);
}

/* ---- Instructions. ---- */

int ndb_program_load(struct ndb_program *p, uint32_t reg, uint32_t column)
{
    return with_register(p, PROGRAM_LOAD_COLUMN, reg, column);
}

int ndb_program_store(struct ndb_program *p, uint32_t column, uint32_t reg)
{
    if (p != NULL) p->stores = true;
    return with_register(p, PROGRAM_STORE_COLUMN, reg, column);
}

static int load_bits(struct ndb_program *p, enum program_opcode opcode, uint32_t reg, uint64_t bits)
{
    uint32_t words[3] = {program_head(opcode, reg, 0, 0), (uint32_t)bits, (uint32_t)(bits >> 32)};
    return !may_add(p) || !registers(p, reg, 0, 0) ? -1 : add(p, words, 3);
}

int ndb_program_load_number(struct ndb_program *p, uint32_t reg, int64_t number)
{
    return load_bits(p, PROGRAM_LOAD_SIGNED, reg, (uint64_t)number);
}

int ndb_program_load_unsigned(struct ndb_program *p, uint32_t reg, uint64_t number)
{
    return load_bits(p, PROGRAM_LOAD_64, reg, number);
}

int ndb_program_load_null(struct ndb_program *p, uint32_t reg)
{
    uint32_t head = program_head(PROGRAM_LOAD_NULL, reg, 0, 0);
    return !may_add(p) || !registers(p, reg, 0, 0) ? -1 : add(p, &head, 1);
}

int ndb_program_compute(struct ndb_program *p, enum ndb_arithmetic op, uint32_t to, uint32_t a,
                        uint32_t b)
{
    static const enum program_opcode opcodes[] = {
        [NDB_ADD] = PROGRAM_ADD,
        [NDB_SUBTRACT] = PROGRAM_SUBTRACT,
        [NDB_MULTIPLY] = PROGRAM_MULTIPLY,
        [NDB_DIVIDE] = PROGRAM_DIVIDE,
        [NDB_REMAINDER] = PROGRAM_REMAINDER,
    };
    if (!may_add(p) || !registers(p, to, a, b)) return -1;
    if ((uint32_t)op > NDB_REMAINDER) return program_fail(p, ERR_BAD_INSTRUCTION, "");
    uint32_t head = program_head(opcodes[op], to, a, b);
    return add(p, &head, 1);
}

/* First words, then a value with its size before it. */
static int add_with_value(struct ndb_program *p, const uint32_t *words, uint32_t count,
                          const void *value, uint32_t size)
{
    uint32_t value_words = words_of(size);
    if (size > COLUMN_BYTES_MAX || count + 1u + value_words > PROGRAM_WORDS_MAX - p->count)
        return program_fail(p, ERR_PROGRAM_TOO_LONG, "");
    add(p, words, count);
    p->word[p->count++] = size;
    if (value_words == 0) return 0;
    p->word[p->count + value_words - 1u] = 0;
    memcpy(p->word + p->count, value, size);
    p->count += value_words;
    return 0;
}

int ndb_program_store_value(struct ndb_program *p, uint32_t column, const void *value,
                            uint32_t size)
{
    if (!may_add(p)) return -1;
    const struct table_column *of = column_of(p, column);
    if (of == NULL) return -1;
    bool null_refused = value == NULL && (of->flags & COLUMN_NULLABLE) == 0;
    uint32_t error = null_refused    ? (uint32_t)ERR_NULL_TO_NOT_NULL
                     : value == NULL ? 0
                                     : column_check(&of->format, value, size);
    if (error != 0) {
        char text[NDB_DETAIL_SIZE];
        sql_column_text(api_table_def(p->table), of, text, sizeof text);
        return program_fail(p, error, text);
    }
    uint32_t head = program_head(PROGRAM_STORE_VALUE, 0, 0, column);
    p->stores = true;
    return add_with_value(p, &head, 1, value, value == NULL ? 0 : size);
}

int ndb_program_branch(struct ndb_program *p, uint32_t label)
{
    const uint32_t words[2] = {program_head(PROGRAM_BRANCH, 0, 0, 0), 0};
    if (!may_add(p) || use_label(p, 1, label) != 0) return -1;
    return add(p, words, 2);
}

int ndb_program_branch_numbers(struct ndb_program *p, uint32_t a, enum ndb_condition condition,
                               uint32_t b, uint32_t label)
{
    if (!may_add(p) || !registers(p, a, b, 0)) return -1;
    if ((uint32_t)condition > NDB_GE) return program_fail(p, ERR_BAD_INSTRUCTION, "");
    uint32_t opcode = (uint32_t)PROGRAM_BRANCH_EQ + (uint32_t)condition;
    const uint32_t words[2] = {program_head((enum program_opcode)opcode, a, b, 0), 0};
    return use_label(p, 1, label) != 0 ? -1 : add(p, words, 2);
}

int program_columns(struct ndb_program *p, uint32_t a, uint32_t condition, uint32_t b,
                    uint32_t unless, uint32_t label)
{
    if (!may_add(p) || column_of(p, a) == NULL || column_of(p, b) == NULL) return -1;
    if (condition > NDB_GE) return program_fail(p, ERR_BAD_INSTRUCTION, "");
    const uint32_t words[3] = {program_head(PROGRAM_BRANCH_COLUMNS, 0, 0, a),
                               program_branch_word(0, (enum program_condition)condition, unless),
                               b};
    return use_label(p, 1, label) != 0 ? -1 : add(p, words, 3);
}

int ndb_program_branch_columns(struct ndb_program *p, uint32_t a, enum ndb_condition condition,
                               uint32_t b, uint32_t label)
{
    return program_columns(p, a, (uint32_t)condition, b, 0, label);
}

int program_value(struct ndb_program *p, uint32_t column, uint32_t condition, const void *value,
                  uint32_t size, uint32_t unless, uint32_t label)
{
    if (!may_add(p)) return -1;
    const struct table_column *of = column_of(p, column);
    if (of == NULL) return -1;
    if (condition > NDB_NOT_LIKE) return program_fail(p, ERR_BAD_INSTRUCTION, "");
    if (value == NULL) return program_fail(p, ERR_PARAMETER, "no value; test for NULL");
    uint32_t error = condition < NDB_LIKE ? column_check(&of->format, value, size)
                                          : column_pattern_check(&of->format, value, size);
    if (error != 0) return program_fail(p, error, "");
    const uint32_t words[2] = {program_head(PROGRAM_BRANCH_COLUMN, 0, 0, column),
                               program_branch_word(0, (enum program_condition)condition, unless)};
    return use_label(p, 1, label) != 0 ? -1 : add_with_value(p, words, 2, value, size);
}

int ndb_program_branch_value(struct ndb_program *p, uint32_t column, enum ndb_condition condition,
                             const void *value, uint32_t size, uint32_t label)
{
    return program_value(p, column, (uint32_t)condition, value, size, 0, label);
}

int ndb_program_branch_null(struct ndb_program *p, uint32_t column, bool null, uint32_t label)
{
    if (!may_add(p) || column_of(p, column) == NULL || use_label(p, 1, label) != 0) return -1;
    const uint32_t words[2] = {program_head(PROGRAM_BRANCH_COLUMN_NULL, 0, 0, column),
                               null ? 0 : PROGRAM_UNLESS};
    return add(p, words, 2);
}

int ndb_program_branch_number_null(struct ndb_program *p, uint32_t reg, bool null, uint32_t label)
{
    if (!may_add(p) || !registers(p, reg, 0, 0) || use_label(p, 1, label) != 0) return -1;
    const uint32_t words[2] = {program_head(PROGRAM_BRANCH_NULL, reg, 0, 0),
                               null ? 0 : PROGRAM_UNLESS};
    return add(p, words, 2);
}

static int leave(struct ndb_program *p, enum program_opcode opcode, uint32_t code)
{
    uint32_t head = program_head(opcode, 0, 0, code);
    return !may_add(p) ? -1 : add(p, &head, 1);
}

int ndb_program_exit_ok(struct ndb_program *p)
{
    return leave(p, PROGRAM_EXIT_OK, 0);
}

int ndb_program_exit_stored(struct ndb_program *p)
{
    return leave(p, PROGRAM_EXIT_STORED, 0);
}

int ndb_program_refuse(struct ndb_program *p, uint32_t code)
{
    if (may_add(p) && !program_code_allowed(code))
        return program_fail(p, ERR_PARAMETER, "code 626, 899 or 6000 to 6999");
    return leave(p, PROGRAM_EXIT_REFUSE, code);
}

int ndb_program_add(struct ndb_program *p, uint32_t column, int64_t delta)
{
    if (ndb_program_load(p, 6, column) != 0) return -1;
    ndb_program_load_number(p, 7, delta);
    ndb_program_compute(p, NDB_ADD, 6, 6, 7);
    return ndb_program_store(p, column, 6);
}

/* ---- The end. ---- */

static void column_get(const void *of, uint32_t id, struct program_column *column)
{
    const struct table_column *from = &((const struct table_def *)of)->columns[id];
    *column = (struct program_column){.format = from->format,
                                      .nullable = (from->flags & COLUMN_NULLABLE) != 0,
                                      .in_key = from->key_index != COLUMN_NOT_IN_KEY};
}

int ndb_program_finish(struct ndb_program *p)
{
    if (!may_add(p)) return -1;
    for (uint32_t i = 0; i < p->patches; i++) {
        uint32_t label = p->patch[i].label;
        if (label >= p->labels || p->label[label] == 0) return program_fail(p, ERR_LABEL_4222, "");
        p->word[p->patch[i].at] |= p->label[label];
    }
    const struct table_def *def = api_table_def(p->table);
    const struct program_table table = {
        .of = def, .column_count = def->column_count, .column = column_get};
    uint32_t error = program_check(&table, PROGRAM_CHANGES, p->word, p->count);
    if (error != 0) return program_fail(p, error, "");
    p->finished = true;
    return 0;
}

uint32_t program_usable(const struct ndb_program *p, const struct api_table *table, bool changes)
{
    const struct table_def *mine = api_table_def(p->table);
    const struct table_def *other = api_table_def(table);
    if (!p->finished) return ERR_PROGRAM_NOT_FINAL;
    if (mine->table_id != other->table_id || mine->version != other->version)
        return ERR_PROGRAM_OTHER_TABLE;
    return p->stores && !changes ? ERR_SET_ON_READ : 0;
}
