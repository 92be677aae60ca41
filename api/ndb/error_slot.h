/* error_slot.h -- private: an error object with room for its detail, and how it is filled. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <ndb/ndb.h>
#include <stdbool.h>
#include <stdint.h>

#define NDB_DETAIL_SIZE 256

/* An error object with room for its detail. */
struct error_slot {
    ndb_error_t error;
    char detail[NDB_DETAIL_SIZE];
};

/* Fills a slot; `format` NULL = no detail. Always returns -1. */
int error_set(struct error_slot *slot, uint32_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void error_clear(struct error_slot *slot);
/* ERR_REQUEST_TIMEOUT is of unknown outcome only where a commit was in flight; elsewhere nothing
 * has happened. */
void error_set_outcome(struct error_slot *slot, uint32_t code, bool unknown);
