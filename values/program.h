/* program.h -- interpreted programs: how they are encoded, and the check that each one passes
 * before it runs. */
/* SPDX-License-Identifier: MIT */
/*
 * What the instructions do stands in docs/protocols/program.md. The client's builder makes programs
 * and checks them; the data node checks them again, whoever sent them, and only then runs them.
 */
#pragma once
#include "values/column_type.h"

#define PROGRAM_VERSION    1u
#define PROGRAM_WORDS_MAX  4000u /* Two programs fit into a page. */
#define PROGRAM_REGISTERS  8u
#define PROGRAM_STEPS_MAX  65535u
#define PROGRAM_STEP_BYTES 64u /* Comparing counts a step more for so many bytes. */

enum program_opcode {
    PROGRAM_LOAD_COLUMN = 1,
    PROGRAM_STORE_COLUMN = 2,
    PROGRAM_LOAD_NULL = 3,
    PROGRAM_LOAD_16 = 4,
    PROGRAM_LOAD_32 = 5,
    PROGRAM_LOAD_64 = 6,
    PROGRAM_ADD = 7,
    PROGRAM_SUBTRACT = 8,
    PROGRAM_BRANCH = 9,
    PROGRAM_BRANCH_NULL = 10,
    PROGRAM_BRANCH_EQ = 12,
    PROGRAM_BRANCH_NE = 13,
    PROGRAM_BRANCH_LT = 14,
    PROGRAM_BRANCH_LE = 15,
    PROGRAM_BRANCH_GT = 16,
    PROGRAM_BRANCH_GE = 17,
    PROGRAM_EXIT_OK = 18,
    PROGRAM_EXIT_REFUSE = 19,
    PROGRAM_BRANCH_COLUMN = 23,
    PROGRAM_BRANCH_COLUMN_NULL = 24,
    PROGRAM_BRANCH_COLUMNS = 27,
    PROGRAM_LOAD_SIGNED = 64,
    PROGRAM_MULTIPLY = 65,
    PROGRAM_DIVIDE = 66,
    PROGRAM_REMAINDER = 67,
    PROGRAM_STORE_VALUE = 68,
    PROGRAM_EXIT_STORED = 69,
    PROGRAM_OPCODES = 70
};

enum program_condition {
    PROGRAM_EQ = 0,
    PROGRAM_NE = 1,
    PROGRAM_LT = 2,
    PROGRAM_LE = 3,
    PROGRAM_GT = 4,
    PROGRAM_GE = 5,
    PROGRAM_LIKE = 6,
    PROGRAM_NOT_LIKE = 7
};

#define PROGRAM_UNLESS (1u << 20) /* In a branch word: taken when the condition is not true. */

static inline uint32_t program_head(enum program_opcode opcode, uint32_t a, uint32_t b,
                                    uint32_t high)
{
    return (uint32_t)opcode | a << 8 | b << 12 | high << 16;
}
static inline uint32_t program_opcode_of(uint32_t head)
{
    return head & 0xFFu;
}
static inline uint32_t program_a(uint32_t head)
{
    return head >> 8 & 0xFu;
}
static inline uint32_t program_b(uint32_t head)
{
    return head >> 12 & 0xFu;
}
static inline uint32_t program_high(uint32_t head) /* Column, register c, number or code. */
{
    return head >> 16;
}
static inline uint32_t program_branch_word(uint32_t target, enum program_condition condition,
                                           uint32_t unless)
{
    return target | (uint32_t)condition << 16 | unless;
}
static inline uint32_t program_target(uint32_t branch)
{
    return branch & 0xFFFFu;
}
static inline uint32_t program_condition_of(uint32_t branch)
{
    return branch >> 16 & 0xFu;
}

/* Codes that a program may refuse with. */
static inline bool program_code_allowed(uint32_t code)
{
    return code == 626u || code == 899u || (code >= 6000u && code <= 6999u);
}

/* Does this condition hold when the first value stands so to the second (< 0, 0, > 0)? Not for
 * LIKE. */
static inline bool program_holds(uint32_t condition, int order)
{
    /* Bits: less, equal, greater. */
    static const uint8_t holds[6] = {2, 5, 1, 3, 4, 6};
    uint32_t is = order < 0 ? 1u : order == 0 ? 2u : 4u;
    return (holds[condition] & is) != 0;
}

/* What the check has to know of a column. */
struct program_column {
    struct column_format format;
    bool nullable;
    bool in_key;
};

struct program_table {
    const void *of; /* Whose table it is: TUP's or the client's. */
    uint32_t column_count;
    void (*column)(const void *of, uint32_t id, struct program_column *column);
};

enum program_use {
    PROGRAM_FILTERS, /* Reads, deletes, scans: it may not store. */
    PROGRAM_CHANGES
};

/* Returns 0: it can be run on rows of this table. Else ERR_DATA_CORRUPT, ERR_FILTER_TOO_BIG_TUP,
 * ERR_TUP_REQUEST_876, _877 or _878, ERR_FILTER_TYPE, ERR_KEY_UPDATE, ERR_NULL_FOR_NOT_NULL_UPDATE,
 * ERR_SET_ON_READ, or what column_check() says of a constant. Any words are safe. */
uint32_t program_check(const struct program_table *table, enum program_use use,
                       const uint32_t *program, uint32_t words);
