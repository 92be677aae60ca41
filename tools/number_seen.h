/* number_seen.h -- tools that insert rows with numbers of another source: the numbers that the
 * cluster gives go on behind them. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <ndb/ndb.h>

struct number_seen {
    bool counts;     /* The table has an AUTO_INCREMENT column. */
    uint32_t column; /* That column. */
    uint32_t size;   /* Bytes of that column. */
    bool is_signed;
    uint64_t greatest; /* The greatest number in that column of all rows so far; 0: none. */
    uint64_t raised;   /* No number up to this one is taken any more. */
};

/* Looks for the table's AUTO_INCREMENT column. */
void number_seen_begin(struct number_seen *seen, const struct ndb_table *table);
/* A row that was inserted, or will be: numbers between are nobody's. One without the column does
 * not count, nor does one below 1. */
void number_seen_row(struct number_seen *seen, const struct ndb_record *record, const void *row);
/* No number up to the greatest one is taken any more (ndb_auto_increment_set). Waits for the disks,
 * unless it is so already. 1: done; 0: an error that another try may not meet, in *error (it can be
 * asked for twice, so an unknown outcome is one of them); -1: another one, in *error. */
int number_seen_raise(struct number_seen *seen, ndb_t *ndb, const struct ndb_table *table,
                      ndb_error_t *error);
/* On standard error: *error is in the way of the numbers. */
void number_seen_print(const struct number_seen *seen, const ndb_error_t *error);
