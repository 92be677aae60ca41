/* program.h -- the C client API: programs and filters, which run in the data nodes where the rows
 * are. Operations and scans take them (ndb.h, which includes this). */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndb/ndb.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Programs: read-modify-write where the row is ---- */

/*
 * A program computes with eight registers (0..7) of whole numbers, -2^63 to 2^64-1 or NULL, which
 * they are at first; loads and stores integer columns; compares columns of any type; branches
 * forward; and ends with an exit. Columns are read as they were when the operation began. A
 * comparison with NULL is unknown, which is not true: the branch is not taken.
 * docs/protocols/program.md has the rules to the last bit.
 *
 *   operation  exit         what happens
 *   read       ok           the row is read
 *   update     ok           what the program stored, and the values given, are set
 *              stored       only what the program stored; the record of values may be NULL
 *   write      ok, stored   the row exists: as update; else the values given are inserted, and the
 *                           program does not run
 *   delete     ok, stored   the row is deleted
 *   any        refuse       the operation fails with the program's code, as with any error
 *
 * The functions that add to a program return 0, or -1: the first error stays with the program
 * (ndb_program_error), and later calls do nothing. Own thread; a finished program is for any
 * thread.
 */
NDB_API struct ndb_program *ndb_program_create(ndb_t *ndb, struct ndb_table *table);
NDB_API void ndb_program_free(struct ndb_program *program);
/* Never NULL; code 0: everything so far was right. 4229 no such register, 4004 no such column, 4539
   the column's type cannot do that, 4222 a label that is not defined, 4221 defined twice, 4517 a
   branch back, 4518 longer than 4000 words, 4231 nothing after the end, and value errors. */
NDB_API const ndb_error_t *ndb_program_error(const struct ndb_program *program);

enum ndb_condition {
    NDB_EQ = 0,
    NDB_NE = 1,
    NDB_LT = 2,
    NDB_LE = 3,
    NDB_GT = 4,
    NDB_GE = 5,
    /* For char and binary types. The value is the pattern, without a length prefix: % stands for
     * any characters, _ for one, \ takes the next one as it is. */
    NDB_LIKE = 6,
    NDB_NOT_LIKE = 7 /* True when the value does not match, the rest as with NDB_LIKE. */
};

enum ndb_arithmetic { NDB_ADD = 0, NDB_SUBTRACT, NDB_MULTIPLY, NDB_DIVIDE, NDB_REMAINDER };

/* A register gets a column's value, a number or NULL. */
NDB_API int ndb_program_load(struct ndb_program *program, uint32_t reg, uint32_t column);
NDB_API int ndb_program_load_number(struct ndb_program *program, uint32_t reg, int64_t number);
NDB_API int ndb_program_load_unsigned(struct ndb_program *program, uint32_t reg, uint64_t number);
NDB_API int ndb_program_load_null(struct ndb_program *program, uint32_t reg);
/* to = a op b. Out of range: 4314; with NULL, or divided by 0: 879. */
NDB_API int ndb_program_compute(struct ndb_program *program, enum ndb_arithmetic op, uint32_t to,
                                uint32_t a, uint32_t b);
/* A number that does not fit the column: 4314. */
NDB_API int ndb_program_store(struct ndb_program *program, uint32_t column, uint32_t reg);
/* A value in stored form into a column of any type; value NULL = NULL. */
NDB_API int ndb_program_store_value(struct ndb_program *program, uint32_t column, const void *value,
                                    uint32_t size);
/* Labels are numbers of the application's choice, below 65536. A branch goes to a label that is set
   later. */
NDB_API int ndb_program_label(struct ndb_program *program, uint32_t label);
NDB_API int ndb_program_branch(struct ndb_program *program, uint32_t label);
/* Each branches when `a condition b`; not for LIKE. */
NDB_API int ndb_program_branch_numbers(struct ndb_program *program, uint32_t a,
                                       enum ndb_condition condition, uint32_t b, uint32_t label);
NDB_API int ndb_program_branch_columns(struct ndb_program *program, uint32_t a,
                                       enum ndb_condition condition, uint32_t b, uint32_t label);
/* Branches when `column condition value`, the value in stored form. */
NDB_API int ndb_program_branch_value(struct ndb_program *program, uint32_t column,
                                     enum ndb_condition condition, const void *value, uint32_t size,
                                     uint32_t label);
/* Branches when the column, or the register, is NULL (or is not). */
NDB_API int ndb_program_branch_null(struct ndb_program *program, uint32_t column, bool null,
                                    uint32_t label);
NDB_API int ndb_program_branch_number_null(struct ndb_program *program, uint32_t reg, bool null,
                                           uint32_t label);
/* The program ends with ok, or with stored: see the table above. */
NDB_API int ndb_program_exit_ok(struct ndb_program *program);
NDB_API int ndb_program_exit_stored(struct ndb_program *program);
/* code: 6000 to 6999, which are the application's (class NDB_CLASS_USER, permanent), 626 (no such
   row) or 899 (temporary). */
NDB_API int ndb_program_refuse(struct ndb_program *program, uint32_t code);
/* column = column + delta; registers 6 and 7 are used. The exit is up to the caller. */
NDB_API int ndb_program_add(struct ndb_program *program, uint32_t column, int64_t delta);
/* Nothing more is added; checks it as the data node will. Operations and scans take only finished
   programs. */
NDB_API int ndb_program_finish(struct ndb_program *program);
/* Its length in words, at most 4000. */
NDB_API uint32_t ndb_program_words(const struct ndb_program *program);

/* ---- Filters: which rows are wanted ---- */

/*
 * Groups of comparisons, nested up to 64 deep. NULL as in SQL: a comparison with NULL is unknown,
 * NOT unknown is unknown, and a row fits only when the whole is true. Without an outer group the
 * comparisons are joined by AND. Errors as of programs: ndb_filter_error().
 */
enum ndb_group { NDB_AND = 1, NDB_OR = 2, NDB_NAND = 3, NDB_NOR = 4 };

/* A filter of rows of this table, without a comparison yet. Own thread. */
NDB_API struct ndb_filter *ndb_filter_create(ndb_t *ndb, struct ndb_table *table);
NDB_API void ndb_filter_free(struct ndb_filter *filter);
/* What is added between them is joined as `group` says. */
NDB_API int ndb_filter_begin(struct ndb_filter *filter, enum ndb_group group);
NDB_API int ndb_filter_end(struct ndb_filter *filter);
/* Column against a value in stored form, column against column. */
NDB_API int ndb_filter_compare(struct ndb_filter *filter, uint32_t column,
                               enum ndb_condition condition, const void *value, uint32_t size);
NDB_API int ndb_filter_columns(struct ndb_filter *filter, uint32_t a, enum ndb_condition condition,
                               uint32_t b);
/* The value is one of `count`, which stand `stride` bytes apart. Sizes are the column's, or follow
   from the length prefix. Of none of them: never, or with `negate` always. */
NDB_API int ndb_filter_in(struct ndb_filter *filter, uint32_t column, bool negate,
                          const void *values, uint32_t stride, uint32_t count);
/* The column is NULL, or is not. */
NDB_API int ndb_filter_null(struct ndb_filter *filter, uint32_t column, bool null);
/* Text to a stored value, as ndb_value_parse(), and then compared; LIKE takes it as it is. */
NDB_API int ndb_filter_text(struct ndb_filter *filter, uint32_t column,
                            enum ndb_condition condition, const char *text, uint32_t size);
/*
 * A condition as it stands behind WHERE, joined by AND to what is there already:
 *   price <= 12.50 AND (name LIKE 'b%' OR id IN (1, 2, 3)) AND NOT (note IS NULL OR a > b)
 * Also BETWEEN, != and <>, &&, || and !; `quoted` names; a column stands on the left of its
 * operator, a value or another column on the right. Values are texts, numbers, x'..', 0x.. and
 * b'..', read as ndb_value_parse() does for the column's type. `where` may be NULL; else it tells
 * what is wrong and where (4004 no such column, 4247 not as above, and what a comparison is refused
 * with).
 */
NDB_API int ndb_filter_where(struct ndb_filter *filter, const char *condition,
                             struct ndb_sql_error *where);
/* Never NULL. 4260 end without begin, 4261 a group is still open, 4294 longer than 4000 words. */
NDB_API const ndb_error_t *ndb_filter_error(const struct ndb_filter *filter);
/* The finished filter as a program, which lives as long as it: for scans, and for operations, which
   it refuses with 626, no such row, when the row does not fit. NULL: see ndb_filter_error(). */
NDB_API const struct ndb_program *ndb_filter_program(struct ndb_filter *filter);

#ifdef __cplusplus
}
#endif
