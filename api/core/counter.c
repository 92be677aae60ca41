/* counter.c -- the table of counters, and the program that takes numbers from one. */
/* SPDX-License-Identifier: MIT */
#include "api/core/counter.h"
#include <stdlib.h>
#include <string.h>
#include "values/attr.h"
#include "values/program.h"

enum { COLUMN_KEY = 0, COLUMN_VERSION, COLUMN_NEXT };

static bool add_column(struct table_def *def, const char *name, enum column_type type,
                       uint32_t flags)
{
    const struct table_column_options options = {
        .name = name,
        .name_size = (uint32_t)strlen(name),
        .format = {.type = (uint8_t)type, .length = 1},
        .flags = flags,
    };
    return table_def_add_column(def, &options) == 0;
}

struct table_def *counter_table_def(void)
{
    size_t size = table_def_size(3, 64);
    void *memory = malloc(size);
    if (memory == NULL) return NULL;
    struct table_def *def = table_def_init(memory, size, 3);
    bool good = def != NULL &&
                table_def_set_name(def, COUNTER_DATABASE, (uint32_t)strlen(COUNTER_DATABASE),
                                   COUNTER_NAME, (uint32_t)strlen(COUNTER_NAME)) == 0 &&
                add_column(def, "SYSKEY_0", COLUMN_UNSIGNED, COLUMN_PRIMARY_KEY) &&
                add_column(def, "VERSION", COLUMN_UNSIGNED, 0) &&
                add_column(def, "NEXTID", COLUMN_BIGUNSIGNED, 0) && table_def_check(def) == 0;
    if (good) return def;
    free(memory);
    return NULL;
}

/* The two columns that are not the key, as reads. */
static uint32_t put_reads(uint32_t *words)
{
    words[0] = attr_header(COLUMN_VERSION, 0);
    words[1] = attr_header(COLUMN_NEXT, 0);
    return 2;
}

/*
 *   if VERSION > major: refuse           the row is that of a later table
 *   next = least
 *   if VERSION == major and NEXTID > least: next = NEXTID
 *   VERSION = major, NEXTID = next + count
 */
static uint32_t put_program(const struct counter_take *take, uint32_t *words)
{
    enum { ANEW = 16, REFUSE = 23 };
    const uint32_t program[] = {
        PROGRAM_VERSION,
        program_head(PROGRAM_LOAD_COLUMN, 0, 0, COLUMN_VERSION),
        program_head(PROGRAM_LOAD_32, 1, 0, 0),
        take->major,
        program_head(PROGRAM_BRANCH_GT, 0, 1, 0),
        program_branch_word(REFUSE, PROGRAM_EQ, 0),
        program_head(PROGRAM_LOAD_64, 2, 0, 0),
        (uint32_t)take->least,
        (uint32_t)(take->least >> 32),
        program_head(PROGRAM_BRANCH_LT, 0, 1, 0),
        program_branch_word(ANEW, PROGRAM_EQ, 0),
        program_head(PROGRAM_LOAD_COLUMN, 3, 0, COLUMN_NEXT),
        program_head(PROGRAM_BRANCH_GE, 2, 3, 0),
        program_branch_word(ANEW, PROGRAM_EQ, 0),
        program_head(PROGRAM_LOAD_16, 4, 0, 0),
        program_head(PROGRAM_ADD, 2, 3, 4),
        program_head(PROGRAM_STORE_COLUMN, 1, 0, COLUMN_VERSION), /* ANEW */
        program_head(PROGRAM_LOAD_64, 5, 0, 0),
        (uint32_t)take->count,
        (uint32_t)(take->count >> 32),
        program_head(PROGRAM_ADD, 2, 2, 5),
        program_head(PROGRAM_STORE_COLUMN, 2, 0, COLUMN_NEXT),
        program_head(PROGRAM_EXIT_STORED, 0, 0, 0),
        program_head(PROGRAM_EXIT_REFUSE, 0, 0, COUNTER_OTHER_TABLE), /* REFUSE */
    };
    memcpy(words, program, sizeof program);
    return sizeof program / 4u;
}

uint32_t counter_write(const struct counter_take *take, uint32_t *words, uint32_t *attr_words)
{
    const uint64_t next = take->least + take->count;
    uint32_t *attr = words + 1;
    words[0] = take->table_id;
    uint32_t program = put_program(take, attr + 2);
    uint32_t reads = put_reads(attr + 2 + program);
    attr[0] = program;
    attr[1] = reads;
    uint32_t *values = attr + 2 + program + reads; /* When there is no row yet. */
    values[0] = attr_header(COLUMN_VERSION, 4);
    values[1] = take->major;
    values[2] = attr_header(COLUMN_NEXT, 8);
    values[3] = (uint32_t)next;
    values[4] = (uint32_t)(next >> 32);
    *attr_words = 2 + program + reads + 5;
    return 1;
}

uint32_t counter_read(uint32_t table_id, uint32_t *words, uint32_t *attr_words)
{
    words[0] = table_id;
    *attr_words = put_reads(words + 1);
    return 1;
}

bool counter_parse(const uint32_t *pairs, uint32_t words, struct counter *counter)
{
    if (words != 5 || pairs[0] != attr_header(COLUMN_VERSION, 4) ||
        pairs[2] != attr_header(COLUMN_NEXT, 8))
        return false;
    counter->major = pairs[1];
    counter->next = pairs[3] | (uint64_t)pairs[4] << 32;
    return true;
}
