/* tup_read.h -- DBTUP: rows as a transaction sees them: read, run programs on, scanned. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct tup;
struct tup_frag;

/* Words that any row needs as pairs (ATTR_READ_ALL): what a caller's buffer should hold. */
#define TUP_ROW_WORDS_MAX 9216u

struct tup_read {
    struct tup_frag *frag;
    uint32_t row;      /* Row id from acc_find() or a scan, in this handler or under a lock. */
    uint32_t transid1; /* Transaction whose changes are seen; of others the committed version is. */
    uint32_t transid2;
    const uint32_t *attr; /* ATTRINFO of a read (attr.h); may be empty: no output, but
                             ERR_ROW_NOT_FOUND when there is no row. */
    uint32_t attr_words;
};

/*
 * Writes the columns asked for as pairs (attr.h, without the leading count). 0 and *words; or
 * ERR_ROW_NOT_FOUND (no row for this transaction), ERR_DATA_CORRUPT (malformed request, unknown
 * column), ERR_READS_TOO_MANY (more than out_max words or ATTR_READ_MAX columns).
 */
uint32_t tup_read(struct tup *tup, const struct tup_read *read, uint32_t *out, uint32_t out_max,
                  uint32_t *words);

/* Primary key of a row that tup_read() would find, as a KEY section. Returns its words, 0 if they
 * exceed out_max. */
uint32_t tup_read_key(struct tup *tup, const struct tup_read *read, uint32_t *out,
                      uint32_t out_max);

/* 0: nothing but the row's absence can make tup_read() of these columns fail. Or ERR_DATA_CORRUPT,
 * ERR_READS_TOO_MANY. */
uint32_t tup_read_check(const struct tup_frag *frag, const uint32_t *attr, uint32_t words);

/* GCI (high half) of the row's committed version; 0 when it has none. */
uint32_t tup_row_gci(struct tup *tup, const struct tup_frag *frag, uint32_t row);

/* --- Programs, see docs/protocols/program.md. --- */

/* May the program be run on rows of this fragment? Everything in it is checked; `stores`: it may
 * store. Errors as program_check(). */
uint32_t tup_program_check(const struct tup_frag *frag, const uint32_t *words, uint32_t count,
                           bool stores);

enum tup_program_end { TUP_PROGRAM_OK = 0, TUP_PROGRAM_STORED, TUP_PROGRAM_REFUSED };

struct tup_program {
    struct tup_frag *frag;
    uint32_t row; /* A row as in struct tup_read. */
    uint32_t transid1;
    uint32_t transid2;
    const uint32_t *words; /* Has passed tup_program_check(). */
    uint32_t *out;         /* Gets pairs of what it stores; with out_max 0 it must not store. */
    uint32_t out_max;
    uint32_t stored;          /* Result: words in `out`. */
    uint32_t steps;           /* Result: instructions that were executed. */
    enum tup_program_end end; /* Result: how it has ended. */
    uint32_t code;            /* Result, REFUSED: the error with which it refuses. */
};

/* Runs it on the version of the row that the transaction sees; changes nothing. 0; or
 * ERR_ROW_NOT_FOUND, ERR_TUP_TOO_MUCH_DATA, ERR_NULL_FOR_NOT_NULL_UPDATE, ERR_TUP_REQUEST_879
 * (it computes with NULL), ERR_INSTRUCTION_LIMIT, ERR_VALUE_OUT_OF_RANGE. */
uint32_t tup_program_run(struct tup *tup, struct tup_program *program);

/* --- Scanning in row id order. --- */

/* Where a scan is; zeroed: at the start. Survives inserts, deletes and page reuse; rows added
 * behind it are missed. */
struct tup_scan_position {
    uint32_t page;
    uint32_t slot;
};

/*
 * Up to `max` row ids that exist for this transaction, from the position on, which moves behind
 * them. Looks at no more than about `budget` slots. Returns how many; *end is set when the
 * fragment's end is reached. Rows returned are being prefetched; read them in this handler, or lock
 * them and look again (tup_row_alive).
 */
uint32_t tup_scan_next(struct tup *tup, const struct tup_frag *frag,
                       struct tup_scan_position *position, uint32_t transid1, uint32_t transid2,
                       uint32_t *rows, uint32_t max, uint32_t budget, bool *end);

/* Does the same for counting: returns how many rows, without their ids. */
uint32_t tup_scan_count(struct tup *tup, const struct tup_frag *frag,
                        struct tup_scan_position *position, uint32_t transid1, uint32_t transid2,
                        uint32_t budget, bool *end);

/* Does a row id from earlier still name a row that this transaction sees? Any number is safe. */
bool tup_row_alive(struct tup *tup, const struct tup_frag *frag, uint32_t row, uint32_t transid1,
                   uint32_t transid2);

static inline bool tup_position_below(const struct tup_scan_position *a,
                                      const struct tup_scan_position *b)
{
    return a->page < b->page || (a->page == b->page && a->slot < b->slot);
}
