/* errors.h -- every error number that a client can meet, with class, status and text. */
/* SPDX-License-Identifier: MIT */
/*
 * The list itself is include/ndb/errors.def; numbers are the field's, append-only and never
 * reused. Kernel code writes ERR_ROW_NOT_FOUND, never 626. All data here is constant, so every
 * function may be called from any thread.
 */
#pragma once

#include <stdint.h>

/* ERR_NONE is 0, so a function that returns an error number returns 0 for success. */
enum error_number {
#define NDB_ERROR(number, name, class, text) ERR_##name = number,
#include "ndb/errors.def"
#undef NDB_ERROR
};

/* The class says what kind of trouble it is (include/ndb/error_classes.def); its number is part of
   the wire and client API. */
enum error_class {
#define NDB_ERROR_CLASS(code, number, status, name) ERROR_CLASS_##code = number,
#include "ndb/error_classes.def"
#undef NDB_ERROR_CLASS
    ERROR_CLASS_COUNT
};

/* The status says what the caller may do: retry (temporary), give up (permanent), or find out. */
enum error_status {
    ERROR_STATUS_SUCCESS = 0,
    ERROR_STATUS_TEMPORARY = 1,
    ERROR_STATUS_PERMANENT = 2,
    ERROR_STATUS_UNKNOWN = 3
};

struct error_entry {
    uint32_t number;
    enum error_class class;
    const char *name; /* "ROW_NOT_FOUND": the constant without ERR_ */
    const char *text; /* one sentence for a person */
};

/* The entry of `number`, or NULL when the list does not have it. */
const struct error_entry *error_find(uint32_t number);

/* As error_find, but never NULL: class UE and "Unknown error code" for what is not listed. */
const struct error_entry *error_get(uint32_t number);

/* The whole list in ascending order, for tools and tests. */
const struct error_entry *error_at(uint32_t index); /* NULL from error_count() on */
uint32_t error_count(void);

enum error_status error_status_of_class(enum error_class class);
enum error_status error_status(uint32_t number);
const char *error_class_code(enum error_class class);    /* "TR" */
const char *error_class_name(enum error_class class);    /* "Temporary Resource error" */
const char *error_status_name(enum error_status status); /* "Temporary error" */
