/* ndb.h -- the C client API: connections, dictionary, transactions, scans, asynchronous calls. It
 * includes a header for each of them, and program.h: programs and filters that run where the rows
 * are. */
/* SPDX-License-Identifier: MIT */
/*
 * Link with -lndbclient (pkg-config ndbclient). Conventions of the whole interface:
 *
 * Results: int functions return 0, or -1 with an error to be read from the object (ndb_error(),
 * ndb_transaction_error(), ...); pointer functions return NULL instead of -1. Nothing here aborts
 * the program: a wrong argument is an error 4xxx like any other. NULL objects are accepted by all
 * *_free, *_close and *_release functions.
 *
 * Time: every call that waits takes timeout_ms: 0 = the connection's default (10 s unless set
 * otherwise), NDB_NO_TIMEOUT = for ever. When it expires the call fails with 4012, the time is up;
 * whether a commit happened is then unknown (status NDB_STATUS_UNKNOWN), anything else has not
 * happened.
 *
 * Threads: "any thread": may be called at any time from any thread. "own thread": the object and
 * everything made from it must be used by one thread at a time. A connection is for all threads; an
 * ndb_t, its transactions, operations and scans belong to one thread; tables and records are shared
 * freely.
 *
 * Memory: objects belong to the library until their close function. Rows belong to the application;
 * a row given to a write is copied when the operation is defined, a row given to a read is filled
 * when it is executed.
 *
 * Values stand in rows in their stored form, see NDB_FIELD.
 */
#pragma once

#include "ndb/base.h"
#include "ndb/error.h"
#include "ndb/connection.h"
#include "ndb/dictionary.h"
#include "ndb/value.h"
#include "ndb/record.h"
#include "ndb/transaction.h"
#include "ndb/row.h"
#include "ndb/async.h"
#include "ndb/scan.h"
#include "ndb/program.h"
