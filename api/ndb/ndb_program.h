/* ndb_program.h -- private: programs under construction, for their two builders. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "api/ndb/ndb_private.h"
#include "values/program.h"

struct patch {
    uint32_t at; /* Place of the branch word. */
    uint32_t label;
};

struct ndb_program {
    struct api_table *table; /* Held. */
    struct error_slot error; /* The first error. */
    bool finished;
    bool stores;
    uint16_t *label; /* Where each label stands; 0 = not yet. */
    uint32_t labels;
    struct patch *patch;
    uint32_t patches;
    uint32_t count;
    uint32_t word[PROGRAM_WORDS_MAX];
};

struct ndb_program *program_create(struct api_table *table); /* NULL: no memory. */
/* Keeps the first error. Returns -1. */
int program_fail(struct ndb_program *program, uint32_t code, const char *detail);
/* Branches on a comparison; `unless` is PROGRAM_UNLESS or 0. */
int program_value(struct ndb_program *program, uint32_t column, uint32_t condition,
                  const void *value, uint32_t size, uint32_t unless, uint32_t label);
int program_columns(struct ndb_program *program, uint32_t a, uint32_t condition, uint32_t b,
                    uint32_t unless, uint32_t label);
/* May an operation of this table carry it? 0 or an error. */
uint32_t program_usable(const struct ndb_program *program, const struct api_table *table,
                        bool changes);
/* For the reader of conditions, ndb_where.c. */
struct api_table *filter_table(const struct ndb_filter *filter);
struct error_slot *filter_error(struct ndb_filter *filter);
