/* mc_config_rows.h -- the tables of schema ndbmemcache as rows of texts: what is loaded, printed
 * and changed. For mc_config_*.c and ndb_memcached_config only. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "servers/memcached/mc_config.h"

enum mc_table {
    MC_TABLE_META = 0,
    MC_TABLE_CLUSTERS,
    MC_TABLE_ROLES,
    MC_TABLE_POLICIES,
    MC_TABLE_CONTAINERS,
    MC_TABLE_PREFIXES,
    MC_TABLE_SIGN_ONS,
    MC_TABLES
};

#define MC_CELLS_MAX 10u /* Columns of the widest of them. */

/* Columns, in the order of the cells. The first ones are the key. */
enum { META_APPLICATION, META_VERSION };
enum { CLUSTER_ID, CLUSTER_CONNECT_STRING, CLUSTER_RTT };
enum { ROLE_NAME, ROLE_ID, ROLE_MAX_TPS, ROLE_STAMP };
enum { POLICY_NAME, POLICY_GET, POLICY_SET, POLICY_DELETE, POLICY_FLUSH };
enum {
    CONTAINER_NAME,
    CONTAINER_SCHEMA,
    CONTAINER_TABLE,
    CONTAINER_KEYS,
    CONTAINER_VALUES,
    CONTAINER_FLAGS,
    CONTAINER_INCREMENT,
    CONTAINER_CAS,
    CONTAINER_EXPIRE,
    CONTAINER_LARGE
};
enum { PREFIX_ROLE_ID, PREFIX_PREFIX, PREFIX_CLUSTER, PREFIX_POLICY, PREFIX_CONTAINER };
enum { SIGN_ON_NODE, SIGN_ON_HOST, SIGN_ON_ROLE, SIGN_ON_TIME };

struct mc_table_form {
    const char *name;
    uint32_t columns, key_columns;
    uint32_t optional; /* A column that tables of an older version do not have, or MC_NO_COLUMN. */
    const char *column[MC_CELLS_MAX];
};
extern const struct mc_table_form mc_table_forms[MC_TABLES];

/* A value as text: bytes of char columns as they are, with a NUL behind them. text NULL: NULL. */
struct mc_cell {
    char *text;
    uint32_t size;
};

/* All zero: none. */
struct mc_rows {
    uint32_t count, room, columns;
    struct mc_cell *cells; /* Row by row. */
};

struct mc_tables {
    struct mc_rows of[MC_TABLES];
};

/* Text of an error, also with what the cluster says about it. Both return -1. */
int mc_config_fail(struct mc_config_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int mc_config_fail_ndb(struct mc_config_error *error, const ndb_error_t *reason, const char *format,
                       ...) __attribute__((format(printf, 3, 4)));
/* After a temporary error: pauses and says true, for some seconds. *until_ms is 0 at first. Also
   after those of a table that is another one than this ndb_t remembers: it is opened anew then. */
bool mc_config_again(const ndb_error_t *error, uint64_t *until_ms);
/* The table as it is now, not as this ndb_t remembers it; "db/table". NULL with *reason, a copy. */
struct ndb_table *mc_config_open(ndb_t *ndb, const char *name, ndb_error_t *reason);

/* Reads all rows. 0 or -1. */
int mc_rows_read(ndb_t *ndb, enum mc_table number, struct mc_rows *rows,
                 struct mc_config_error *error);
/* Adds a copy. False: no memory. */
bool mc_rows_add(struct mc_rows *rows, uint32_t columns, const struct mc_cell *cells);
void mc_rows_free(struct mc_rows *rows);
/* All but the sign-ons, which are read only when they are printed. */
int mc_tables_read(ndb_t *ndb, struct mc_tables *tables, struct mc_config_error *error);
void mc_tables_free(struct mc_tables *tables);

const struct mc_cell *mc_rows_cell(const struct mc_rows *rows, uint32_t row, uint32_t column);
/* The text, "" for NULL. */
const char *mc_rows_text(const struct mc_rows *rows, uint32_t row, uint32_t column);
uint32_t mc_rows_number(const struct mc_rows *rows, uint32_t row, uint32_t column);
/* The first row with this text in a column (UINT32_MAX: none), or with this number. */
uint32_t mc_rows_find(const struct mc_rows *rows, uint32_t column, const char *text);
uint32_t mc_rows_find_number(const struct mc_rows *rows, uint32_t column, uint32_t number);

/*
 * Inserts, writes or deletes a row; cells of a delete: the key's. 0, or -1 with ndb_error(ndb) and
 * *code, its number, ERR_ROW_EXISTS and ERR_ROW_NOT_FOUND among them. A time of NULL in a column
 * that cannot be NULL is now.
 */
int mc_row_change(ndb_t *ndb, enum mc_table number, enum ndb_operation_type type,
                  const struct mc_cell *cells, int32_t *code, struct mc_config_error *error);
/* Gives the role another update_timestamp. 0 or -1. */
int mc_config_touch(ndb_t *ndb, const char *role, struct mc_config_error *error);

/* A prefix for messages: other than printable bytes as \xNN. Returns `out`. */
#define MC_SHOWN_MAX (4u * MC_KEY_MAX + 1u)
const char *mc_config_shown(const char *bytes, uint32_t size, char out[MC_SHOWN_MAX]);

/* Result of a check. UNKNOWN: the cluster did not answer, it may be right. */
enum mc_checked { MC_CHECKED = 0, MC_CHECKED_WRONG = -1, MC_CHECKED_UNKNOWN = -2 };

/* Row `row` of the containers' table, with its tables opened. `container` is to be cleared
   whatever the result is. */
enum mc_checked mc_container_compile(ndb_t *ndb, const struct mc_rows *rows, uint32_t row,
                                     struct mc_container *container, struct mc_config_error *error);
void mc_container_clear(struct mc_container *container);
/* mc_config_same.c: which containers lead to the same rows, of all that there are, when it is known
   of which copies are kept. False: no memory. */
bool mc_containers_relate(struct mc_container *containers, uint32_t count);

/* mc_config_load() of rows that are here. *refused (may be NULL): prefixes left out. */
struct mc_config *mc_config_compile(const struct mc_config_source *source,
                                    const struct mc_tables *tables, const char *role,
                                    uint32_t *refused, struct mc_config_error *error);
