/* counter.h -- the table of the counters that numbers for new rows are taken from, and the
 * operations on it. */
/* SPDX-License-Identifier: MIT */
/*
 * One row for each table that numbers are taken for, made when the first ones are. It is the row of
 * one life of the table: a later table of the same number has a greater major version and begins
 * anew. docs/protocols/client.md has the rules.
 */
#pragma once
#include "values/table_def.h"

#define COUNTER_DATABASE "sys"
#define COUNTER_NAME     "SYSTAB_0"
#define COUNTER_TABLE    "sys/def/SYSTAB_0"

#define COUNTER_WORDS_MAX   64u   /* Words of KEY and ATTRINFO together. */
#define COUNTER_OTHER_TABLE 6241u /* The program's code for: the table is not there any more. */

/* Its definition, malloc'ed; NULL: no memory. */
struct table_def *counter_table_def(void);

/* Takes `count` numbers, none of them less than `least`; count 0 takes none, but none below `least`
 * is taken any more. */
struct counter_take {
    uint32_t table_id;
    uint32_t major; /* table_version_major() of the table's version. */
    uint64_t least; /* No number is less than this; with `count` at most UINT64_MAX. */
    uint64_t count;
};

/* KEY and behind it ATTRINFO of an OP_WRITE with KEY_PROGRAM; its row has the counter as it is
 * then. Returns the words of KEY. */
uint32_t counter_write(const struct counter_take *take, uint32_t *words, uint32_t *attr_words);
/* The same of an OP_READ. */
uint32_t counter_read(uint32_t table_id, uint32_t *words, uint32_t *attr_words);

struct counter {
    uint32_t major;
    uint64_t next; /* The next number that will be taken. */
};
/* From a row of one of these operations. False: it is not one. */
bool counter_parse(const uint32_t *pairs, uint32_t words, struct counter *counter);
