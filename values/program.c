/* program.c -- the check of interpreted programs. */
/* SPDX-License-Identifier: MIT */
#include <string.h>
#include "values/attr.h"
#include "values/errors.h"
#include "values/program.h"

/* How each instruction looks. */
enum shape {
    HAS_A = 1,
    HAS_B = 2,
    HAS_C = 4, /* A third register in the high bits. */
    HAS_COLUMN = 8,
    HAS_BRANCH = 16,     /* The second word is a branch word. */
    HAS_COMPARE = 32,    /* The branch word has a condition. */
    HAS_VALUE = 64,      /* A value stands at the end: its bytes, then itself. */
    HAS_IMMEDIATE = 128, /* A number in the high bits. */
    STORES = 256,
    ENDS = 512
};

struct instruction {
    uint16_t words; /* Words without the value; 0: there is no such instruction. */
    uint16_t shape;
};

static const struct instruction instructions[PROGRAM_OPCODES] = {
    [PROGRAM_LOAD_COLUMN] = {1, HAS_A | HAS_COLUMN},
    [PROGRAM_STORE_COLUMN] = {1, HAS_A | HAS_COLUMN | STORES},
    [PROGRAM_LOAD_NULL] = {1, HAS_A},
    [PROGRAM_LOAD_16] = {1, HAS_A | HAS_IMMEDIATE},
    [PROGRAM_LOAD_32] = {2, HAS_A},
    [PROGRAM_LOAD_64] = {3, HAS_A},
    [PROGRAM_LOAD_SIGNED] = {3, HAS_A},
    [PROGRAM_ADD] = {1, HAS_A | HAS_B | HAS_C},
    [PROGRAM_SUBTRACT] = {1, HAS_A | HAS_B | HAS_C},
    [PROGRAM_MULTIPLY] = {1, HAS_A | HAS_B | HAS_C},
    [PROGRAM_DIVIDE] = {1, HAS_A | HAS_B | HAS_C},
    [PROGRAM_REMAINDER] = {1, HAS_A | HAS_B | HAS_C},
    [PROGRAM_BRANCH] = {2, HAS_BRANCH},
    [PROGRAM_BRANCH_NULL] = {2, HAS_A | HAS_BRANCH},
    [PROGRAM_BRANCH_EQ] = {2, HAS_A | HAS_B | HAS_BRANCH},
    [PROGRAM_BRANCH_NE] = {2, HAS_A | HAS_B | HAS_BRANCH},
    [PROGRAM_BRANCH_LT] = {2, HAS_A | HAS_B | HAS_BRANCH},
    [PROGRAM_BRANCH_LE] = {2, HAS_A | HAS_B | HAS_BRANCH},
    [PROGRAM_BRANCH_GT] = {2, HAS_A | HAS_B | HAS_BRANCH},
    [PROGRAM_BRANCH_GE] = {2, HAS_A | HAS_B | HAS_BRANCH},
    [PROGRAM_EXIT_OK] = {1, ENDS},
    [PROGRAM_EXIT_STORED] = {1, ENDS},
    [PROGRAM_EXIT_REFUSE] = {1, HAS_IMMEDIATE | ENDS},
    [PROGRAM_BRANCH_COLUMN] = {3, HAS_COLUMN | HAS_BRANCH | HAS_COMPARE | HAS_VALUE},
    [PROGRAM_BRANCH_COLUMN_NULL] = {2, HAS_COLUMN | HAS_BRANCH},
    [PROGRAM_BRANCH_COLUMNS] = {3, HAS_COLUMN | HAS_BRANCH | HAS_COMPARE},
    [PROGRAM_STORE_VALUE] = {2, HAS_COLUMN | HAS_VALUE | STORES},
};

#define MAP_WORDS ((PROGRAM_WORDS_MAX + 31u) / 32u)

struct check {
    const struct program_table *table;
    const uint32_t *program;
    uint32_t words;
    bool may_store;
    uint32_t begins[MAP_WORDS]; /* Words that an instruction begins at. */
    uint32_t targets[MAP_WORDS];
};

static uint32_t check_head(const struct check *check, const struct instruction *known,
                           uint32_t head)
{
    uint32_t high = program_high(head);
    if ((known->shape & HAS_A) != 0 ? program_a(head) >= PROGRAM_REGISTERS : program_a(head) != 0)
        return ERR_TUP_REQUEST_878;
    if ((known->shape & HAS_B) != 0 ? program_b(head) >= PROGRAM_REGISTERS : program_b(head) != 0)
        return ERR_TUP_REQUEST_878;
    if ((known->shape & HAS_C) != 0) return high >= PROGRAM_REGISTERS ? ERR_TUP_REQUEST_878 : 0;
    if ((known->shape & HAS_COLUMN) != 0)
        return high >= check->table->column_count ? ERR_DATA_CORRUPT : 0;
    return (known->shape & HAS_IMMEDIATE) == 0 && high != 0 ? ERR_TUP_REQUEST_877 : 0;
}

static uint32_t check_branch(struct check *check, const struct instruction *known, uint32_t at)
{
    uint32_t branch = check->program[at + 1u];
    uint32_t target = program_target(branch);
    uint32_t last = (known->shape & HAS_COMPARE) != 0 ? PROGRAM_NOT_LIKE : 0;
    if (branch >> 21 != 0 || program_condition_of(branch) > last) return ERR_TUP_REQUEST_877;
    if (target <= at || target >= check->words) return ERR_TUP_REQUEST_876;
    check->targets[target / 32u] |= 1u << target % 32u;
    return 0;
}

static bool may_match(const struct column_format *format)
{
    return column_is_char(format->type) || format->type == COLUMN_BINARY ||
           format->type == COLUMN_VARBINARY || format->type == COLUMN_LONGVARBINARY;
}

/* What a column is compared with, or what is stored in it. */
static uint32_t check_value(const struct program_column *column, const uint32_t *value,
                            bool pattern)
{
    if (!pattern) return column_check(&column->format, value + 1, value[0]);
    if (!may_match(&column->format)) return ERR_FILTER_TYPE;
    return column_pattern_check(&column->format, value + 1, value[0]);
}

/* Numbers are compared whatever their size; other types must be the same one. */
static bool comparable(const struct column_format *a, const struct column_format *b)
{
    if (column_is_integer(a->type) && column_is_integer(b->type)) return true;
    return a->type == b->type && a->collation == b->collation && a->precision == b->precision &&
           a->scale == b->scale && (a->length == b->length || column_array(a) != COLUMN_FIXED);
}

static uint32_t check_columns(const struct check *check, const struct program_column *column,
                              const uint32_t *at)
{
    struct program_column other;
    if (program_condition_of(at[1]) > PROGRAM_GE) return ERR_FILTER_TYPE;
    if (at[2] >= check->table->column_count) return ERR_DATA_CORRUPT;
    check->table->column(check->table->of, at[2], &other);
    return comparable(&column->format, &other.format) ? 0 : ERR_FILTER_TYPE;
}

static uint32_t check_column(const struct check *check, uint32_t at)
{
    const uint32_t *words = check->program + at;
    struct program_column column;
    check->table->column(check->table->of, program_high(words[0]), &column);
    uint32_t opcode = program_opcode_of(words[0]);
    bool registers = opcode == PROGRAM_LOAD_COLUMN || opcode == PROGRAM_STORE_COLUMN;
    if (registers && !column_is_integer(column.format.type)) return ERR_FILTER_TYPE;
    if (opcode == PROGRAM_STORE_COLUMN || opcode == PROGRAM_STORE_VALUE) {
        if (!check->may_store) return ERR_SET_ON_READ;
        if (column.in_key) return ERR_KEY_UPDATE;
    }
    if (opcode == PROGRAM_STORE_VALUE) {
        if (words[1] == 0) return column.nullable ? 0 : ERR_NULL_FOR_NOT_NULL_UPDATE;
        return check_value(&column, words + 1, false);
    }
    if (opcode == PROGRAM_BRANCH_COLUMN)
        return check_value(&column, words + 2, program_condition_of(words[1]) >= PROGRAM_LIKE);
    return opcode == PROGRAM_BRANCH_COLUMNS ? check_columns(check, &column, words) : 0;
}

/* One instruction; *length of it. */
static uint32_t check_one(struct check *check, uint32_t at, uint32_t *length)
{
    uint32_t head = check->program[at];
    uint32_t opcode = program_opcode_of(head);
    uint32_t left = check->words - at;
    if (opcode >= PROGRAM_OPCODES || instructions[opcode].words == 0) return ERR_TUP_REQUEST_877;
    const struct instruction *known = &instructions[opcode];
    *length = known->words;
    if (*length > left) return ERR_TUP_REQUEST_876;
    if ((known->shape & HAS_VALUE) != 0) {
        uint32_t size = check->program[at + known->words - 1u];
        if (size > COLUMN_BYTES_MAX || words_of(size) > left - known->words)
            return ERR_TUP_REQUEST_876;
        *length += words_of(size);
    }
    uint32_t error = check_head(check, known, head);
    if (error == 0 && (known->shape & HAS_BRANCH) != 0) error = check_branch(check, known, at);
    if (error == 0 && (known->shape & HAS_COLUMN) != 0) error = check_column(check, at);
    if (error == 0 && opcode == PROGRAM_EXIT_REFUSE && !program_code_allowed(program_high(head)))
        error = ERR_TUP_REQUEST_877;
    return error;
}

uint32_t program_check(const struct program_table *table, enum program_use use,
                       const uint32_t *program, uint32_t words)
{
    struct check check = {
        .table = table, .program = program, .words = words, .may_store = use == PROGRAM_CHANGES};
    uint32_t last = PROGRAM_OPCODES;
    if (words > PROGRAM_WORDS_MAX) return ERR_FILTER_TOO_BIG_TUP;
    if (words < 2 || program[0] != PROGRAM_VERSION) return ERR_TUP_REQUEST_876;
    for (uint32_t at = 1; at < words;) {
        uint32_t length = 0;
        uint32_t error = check_one(&check, at, &length);
        if (error != 0) return error;
        check.begins[at / 32u] |= 1u << at % 32u;
        last = program_opcode_of(program[at]);
        at += length;
    }
    if ((instructions[last].shape & ENDS) == 0) return ERR_TUP_REQUEST_876;
    for (uint32_t i = 0; i < MAP_WORDS; i++) {
        if ((check.targets[i] & ~check.begins[i]) != 0) return ERR_TUP_REQUEST_876;
    }
    return 0;
}
