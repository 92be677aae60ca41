/* error.h -- the C client API: what an error says. A part of ndb.h. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndb/base.h"

#ifdef __cplusplus
/* ndb_error and ndb_statistics are functions and structs, as C allows. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
extern "C" {
#endif

/* ---- Errors ---- */

enum ndb_error_status {
    NDB_STATUS_SUCCESS = 0,
    NDB_STATUS_TEMPORARY =
        1, /* Nothing has happened; the same transaction may succeed when it is tried again. */
    NDB_STATUS_PERMANENT = 2, /* Nothing has happened, and trying again will not help. */
    NDB_STATUS_UNKNOWN = 3    /* The transaction may have been committed or not. */
};

enum ndb_error_class {
    NDB_CLASS_NONE = 0,
    NDB_CLASS_APPLICATION = 1,
    NDB_CLASS_NO_DATA = 2,    /* 626: no such row. */
    NDB_CLASS_CONSTRAINT = 3, /* 630: the row exists already, ... */
    NDB_CLASS_SCHEMA = 4,
    NDB_CLASS_USER = 5,
    NDB_CLASS_SPACE = 6,
    NDB_CLASS_TEMPORARY_RESOURCE = 7,
    NDB_CLASS_NODE_RECOVERY = 8,
    NDB_CLASS_OVERLOAD = 9,
    NDB_CLASS_TIMEOUT = 10,
    NDB_CLASS_UNKNOWN_RESULT = 11,
    NDB_CLASS_INTERNAL = 12,
    NDB_CLASS_NOT_IMPLEMENTED = 13,
    NDB_CLASS_UNKNOWN_CODE = 14,
    NDB_CLASS_SHUTDOWN = 15,
    NDB_CLASS_CONFIGURATION = 16,
    NDB_CLASS_EXISTS = 17,
    NDB_CLASS_INTERNAL_TEMPORARY = 18,
    NDB_CLASS_COMMITTED = 19 /* 4115: it has happened, and not all that it read is known. */
};

typedef struct ndb_error {
    int32_t code; /* 0 = no error; the numbers are in <ndb/errors.def>. */
    enum ndb_error_status status;
    enum ndb_error_class classification;
    const char *class_name; /* "Temporary Resource error"; a constant. */
    const char *text;       /* One sentence; a constant. */
    const char *detail; /* "" or what exactly, valid as long as the object it came from is not used
                           again. */
} ndb_error_t;

/* Fills `error` for a number. Any thread. */
NDB_API void ndb_error_lookup(int32_t code, ndb_error_t *error);

#ifdef __cplusplus
}
#pragma GCC diagnostic pop
#endif
