/* fuzz_program.c -- any words as a program: the check lets through only what can be run. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Even inputs are taken as words. Odd ones are instructions whose registers, columns and targets
 * are mostly right, so that the machine is reached. What passes the check runs on rows with values
 * at their limits and NULLs, in memory of exactly its size; what it stores must be a change that
 * DBTUP takes.
 */
#include <stdio.h>
#include "values/program.h"
#include "tests/unit/support/tup_fixture.h"

#define ROWS  4u
#define WORDS 400u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* CMocka's asserts end this program. */
static struct rows_world world;
static uint32_t row_id[ROWS];

static const struct column_format formats[] = {
    {.type = COLUMN_UNSIGNED, .length = 1},
    {.type = COLUMN_BIGINT, .length = 1},
    {.type = COLUMN_BIGUNSIGNED, .length = 1},
    {.type = COLUMN_TINYINT, .length = 1},
    {.type = COLUMN_MEDIUMUNSIGNED, .length = 1},
    {.type = COLUMN_SMALLINT, .length = 1},
    {.type = COLUMN_DOUBLE, .length = 1},
    {.type = COLUMN_DECIMAL, .precision = 10, .scale = 2, .length = 1},
    {.type = COLUMN_CHAR, .collation = COLLATION_UTF8MB4_GENERAL_CI, .length = 20},
    {.type = COLUMN_VARCHAR, .collation = COLLATION_UTF8MB4_BIN, .length = 40},
    {.type = COLUMN_LONGVARCHAR, .collation = COLLATION_UTF8MB4_GENERAL_CI, .length = 2000},
    {.type = COLUMN_VARBINARY, .length = 20},
    {.type = COLUMN_BIT, .length = 33},
    {.type = COLUMN_DATETIME2, .precision = 3, .length = 1},
};
#define COLUMNS ((uint32_t)(sizeof formats / sizeof formats[0]))

struct input {
    const uint8_t *at;
    size_t left;
};

static uint32_t take(struct input *input)
{
    if (input->left == 0) return 0;
    input->left--;
    return *input->at++;
}

/* A value of the column, made of the input; its size, 0 when it came out as none. */
static uint32_t value_of(struct input *input, uint32_t column, uint8_t *bytes)
{
    const struct column_format *format = &formats[column];
    uint32_t most = column_size_max(format);
    uint32_t size = most;
    memset(bytes, 0, most);
    if (column_array(format) == COLUMN_SHORT_VAR || column_array(format) == COLUMN_MEDIUM_VAR) {
        uint32_t prefix = (uint32_t)column_array(format);
        uint32_t length = take(input) % (format->length + 1u);
        bytes[0] = (uint8_t)length;
        for (uint32_t i = 0; i < length; i++)
            bytes[prefix + i] = (uint8_t)take(input);
        size = prefix + length;
    } else {
        for (uint32_t i = 0; i < most && i < 40; i++)
            bytes[i] = (uint8_t)take(input);
    }
    return column_check(format, bytes, size) == 0 ? size : 0;
}

static void add_row(uint32_t key)
{
    static uint32_t attr[2000];
    static uint8_t bytes[4096];
    static uint8_t noise[256];
    uint32_t words = 0;
    for (uint32_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)(key == 0 ? 0 : key == 1 ? 0x7F : 'a' + i * key % 7);
    for (uint32_t c = 1; c < COLUMNS; c++) {
        struct input input = {noise, sizeof noise};
        uint32_t bytes_used = key == 3 ? 0 : value_of(&input, c, bytes);
        attr[words] = attr_header(c, bytes_used);
        if (bytes_used > 0) {
            attr[words + words_of(bytes_used)] = 0;
            memcpy(attr + words + 1, bytes, bytes_used);
        }
        words += 1 + words_of(bytes_used);
    }
    struct tup_change_req req = request(&world, 1, &key, 1, attr, words);
    struct tup_changed changed = {0};
    if (tup_insert(world.tup, &req, &changed) != 0) abort();
    tup_commit(world.tup, changed.change, 1);
    acc_unlock(world.acc, changed.lock);
    row_id[key] = changed.row;
}

static void begin(void)
{
    static char names[COLUMNS][4];
    world_start(&world, 512, 256);
    struct table_def *def = def_start();
    for (uint32_t c = 0; c < COLUMNS; c++) {
        snprintf(names[c], sizeof names[c], "c%u", c);
        column_add(def, names[c], formats[c], c == 0 ? COLUMN_PRIMARY_KEY : COLUMN_NULLABLE, NULL,
                   0);
    }
    world_table(&world, def);
    for (uint32_t key = 0; key < ROWS; key++)
        add_row(key);
}

/* --- Instructions that are mostly right. --- */

static uint32_t put_value(struct input *input, uint32_t column, uint32_t *to)
{
    static uint8_t bytes[4096];
    uint32_t size = value_of(input, column, bytes);
    if (size > 600) size = 600;
    to[0] = size;
    if (size > 0) to[words_of(size)] = 0;
    memcpy(to + 1, bytes, size);
    return 1 + words_of(size);
}

static uint32_t put_instruction(struct input *input, uint32_t *to)
{
    static const uint8_t opcodes[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 12, 13, 14, 15, 16,
                                      17, 18, 19, 23, 23, 23, 24, 27, 64, 65, 66, 67, 68, 69};
    uint32_t opcode = opcodes[take(input) % sizeof opcodes];
    uint32_t column = take(input) % (COLUMNS + (take(input) == 77));
    uint32_t a = take(input) % (take(input) == 99 ? 16u : 8u);
    uint32_t b = take(input) % 8u;
    /* The target is a place behind, in instructions; it is patched. */
    uint32_t branch = take(input) % 8u << 16 | (take(input) % 2u) << 20 | take(input) % 6u;
    switch (opcode) {
    case PROGRAM_BRANCH:
        to[0] = opcode;
        to[1] = branch & ~0xF0000u;
        return 2;
    case PROGRAM_BRANCH_NULL:
        to[0] = opcode | a << 8;
        to[1] = branch & ~0xF0000u;
        return 2;
    case PROGRAM_BRANCH_COLUMN_NULL:
        to[0] = opcode | column << 16;
        to[1] = branch & ~0xF0000u;
        return 2;
    case PROGRAM_BRANCH_COLUMNS:
        to[0] = opcode | column << 16;
        to[1] = branch & ~(4u << 16);
        to[2] = take(input) % COLUMNS;
        return 3;
    case PROGRAM_BRANCH_COLUMN:
        to[0] = opcode | column << 16;
        to[1] = branch;
        return 2 + put_value(input, column % COLUMNS, to + 2);
    case PROGRAM_STORE_VALUE:
        to[0] = opcode | column << 16;
        return 1 + put_value(input, column % COLUMNS, to + 1);
    case PROGRAM_LOAD_COLUMN:
    case PROGRAM_STORE_COLUMN:
        to[0] = opcode | a << 8 | (1 + column % 5) << 16;
        return 1;
    case PROGRAM_LOAD_32:
        to[0] = opcode | a << 8;
        to[1] = take(input) << 24 | take(input);
        return 2;
    case PROGRAM_LOAD_64:
    case PROGRAM_LOAD_SIGNED:
        to[0] = opcode | a << 8;
        to[1] = take(input) * 0x01010101u;
        to[2] = take(input) << 24 | take(input);
        return 3;
    case PROGRAM_EXIT_REFUSE:
        to[0] = opcode | (6000u + column) << 16;
        return 1;
    case PROGRAM_EXIT_OK:
    case PROGRAM_EXIT_STORED:
        to[0] = opcode;
        return 1;
    case PROGRAM_LOAD_NULL:
        to[0] = opcode | a << 8;
        return 1;
    case PROGRAM_LOAD_16:
        to[0] = opcode | a << 8 | take(input) << 16;
        return 1;
    default:
        if (opcode >= PROGRAM_BRANCH_EQ && opcode <= PROGRAM_BRANCH_GE) {
            to[0] = opcode | a << 8 | b << 12;
            to[1] = branch & ~0xF0000u;
            return 2;
        }
        to[0] = opcode | a << 8 | b << 12 | (column % 8u) << 16;
        return 1;
    }
}

static bool has_branch(uint32_t opcode)
{
    return (opcode >= PROGRAM_BRANCH && opcode <= PROGRAM_BRANCH_GE && opcode != 11) ||
           opcode == PROGRAM_BRANCH_COLUMN || opcode == PROGRAM_BRANCH_COLUMN_NULL ||
           opcode == PROGRAM_BRANCH_COLUMNS;
}

static uint32_t assemble(struct input *input, uint32_t *words)
{
    uint32_t begins[WORDS];
    uint32_t count = 0;
    uint32_t at = 1;
    words[0] = PROGRAM_VERSION;
    while (input->left > 0 && at + 700 < WORDS * 4) {
        if (count == WORDS - 2) break;
        begins[count++] = at;
        at += put_instruction(input, words + at);
    }
    begins[count++] = at;
    words[at++] = PROGRAM_EXIT_OK;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *head = words + begins[i];
        if (!has_branch(*head & 0xFFu)) continue;
        uint32_t to = i + 1 + (head[1] & 0xFFFFu);
        head[1] = (head[1] & ~0xFFFFu) | begins[to < count ? to : count - 1];
    }
    return at;
}

/* --- Running. --- */

static void change(uint32_t key, const uint32_t *pairs, uint32_t words)
{
    struct tup_change_req req = request(&world, 1, &key, 1, pairs, words);
    struct tup_changed changed = {0};
    uint32_t lock;
    if (lock_row(&world, 1, 1, req.row, LOCK_EXCLUSIVE, true, 0, &lock) != 0) abort();
    if (tup_update(world.tup, &req, &changed) != 0) abort();
    tup_abort(world.tup, changed.change);
    acc_unlock(world.acc, lock);
}

static void run(const uint32_t *words, uint32_t count, bool stores, uint32_t out_max)
{
    uint32_t *out = malloc(out_max * 4u + 1u);
    for (uint32_t key = 0; key < ROWS; key++) {
        struct tup_program program = {.frag = world.frag,
                                      .row = row_id[key],
                                      .words = words,
                                      .out = stores ? out : NULL,
                                      .out_max = stores ? out_max : 0};
        uint32_t error = tup_program_run(world.tup, &program);
        if (program.steps > PROGRAM_STEPS_MAX || program.stored > program.out_max) abort();
        if (error == 0 && program.steps > count + PROGRAM_STEPS_MAX / 2u + 40000u) abort();
        if (error == 0 && stores) change(key, out, program.stored);
    }
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint32_t made[WORDS * 4 + 16];
    if (world.tup == NULL) begin();
    struct input input = {data, size};
    uint32_t kind = take(&input);
    bool stores = (kind & 2u) != 0;
    uint32_t out_max = (kind & 4u) != 0 ? kind : TUP_ROW_WORDS_MAX;
    uint32_t count;
    uint32_t *words;
    if ((kind & 1u) == 0) {
        count = (uint32_t)(input.left / 4u);
        words = malloc(count * 4u + 1u);
        memcpy(words, input.at, count * 4u);
        if (count > 0 && (kind & 8u) == 0) words[0] = PROGRAM_VERSION;
    } else {
        count = assemble(&input, made);
        words = malloc(count * 4u);
        memcpy(words, made, count * 4u);
    }
    if (tup_program_check(world.frag, words, count, stores) == 0)
        run(words, count, stores, out_max);
    free(words);
    return 0;
}
