/* base.h -- what all parts of the C client API need. A part of ndb.h. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ndb/member.h"
#include "ndb/version.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NDB_API __attribute__((visibility("default")))

#define NDB_NO_TIMEOUT UINT32_MAX

/* The version of the library that is running, as NDB_CLIENT_VERSION and as text. Any thread. */
NDB_API uint32_t ndb_version(void);
NDB_API const char *ndb_version_string(void);

struct ndb_cluster_connection;
typedef struct ndb ndb_t;
struct ndb_table;
struct ndb_record;
struct ndb_transaction;
struct ndb_operation;
struct ndb_scan;
struct ndb_program;
struct ndb_filter;

#ifdef __cplusplus
}
#endif
