/* mc_config_schema.c -- schema ndbmemcache: its tables, and the rows that it begins with. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>

#include "servers/memcached/mc_config_rows.h"
#include "values/errors.h"

/*
 * What is not in this cluster's CREATE TABLE is replaced by what reads the same:
 *
 *   - There is no latin1. Charset binary takes the same bytes, and names and keys of memcache are
 *     bytes: upper and lower case are two.
 *   - There is no ENUM. A VARCHAR has the same words; who loads them looks whether they are some.
 *   - There is no DEFAULT CURRENT_TIMESTAMP: who changes a row writes its time. update_timestamp
 *     has microseconds, so that two changes within a second are two.
 *
 * Primary keys are hash indexes only. Tables that others have made with more columns, other lengths
 * or TIMESTAMP without fraction are taken as they are.
 */
static const char *const tables[] = {
    "CREATE TABLE IF NOT EXISTS " MC_SCHEMA ".meta ("
    " application VARCHAR(16) NOT NULL,"
    " metadata_version VARCHAR(6) NOT NULL,"
    " PRIMARY KEY (application, metadata_version) USING HASH) CHARSET=binary",

    "CREATE TABLE IF NOT EXISTS " MC_SCHEMA ".ndb_clusters ("
    " cluster_id INT NOT NULL,"
    " ndb_connectstring VARCHAR(128),"
    " microsec_rtt INT UNSIGNED NOT NULL DEFAULT 250,"
    " PRIMARY KEY (cluster_id) USING HASH) CHARSET=binary",

    "CREATE TABLE IF NOT EXISTS " MC_SCHEMA ".memcache_server_roles ("
    " role_name VARCHAR(40) NOT NULL,"
    " role_id INT UNSIGNED NOT NULL,"
    " max_tps INT UNSIGNED NOT NULL DEFAULT 100000,"
    " update_timestamp TIMESTAMP(6) NOT NULL,"
    " PRIMARY KEY (role_name) USING HASH) CHARSET=binary",

    "CREATE TABLE IF NOT EXISTS " MC_SCHEMA ".cache_policies ("
    " policy_name VARCHAR(40) NOT NULL,"
    " get_policy VARCHAR(10) NOT NULL,"
    " set_policy VARCHAR(10) NOT NULL,"
    " delete_policy VARCHAR(10) NOT NULL,"
    " flush_from_db VARCHAR(5) NOT NULL DEFAULT 'false',"
    " PRIMARY KEY (policy_name) USING HASH) CHARSET=binary",

    "CREATE TABLE IF NOT EXISTS " MC_SCHEMA ".containers ("
    " name VARCHAR(50) NOT NULL,"
    " db_schema VARCHAR(250) NOT NULL,"
    " db_table VARCHAR(250) NOT NULL,"
    " key_columns VARCHAR(250) NOT NULL,"
    " value_columns VARCHAR(250),"
    " flags VARCHAR(250) NOT NULL DEFAULT '0',"
    " increment_column VARCHAR(250),"
    " cas_column VARCHAR(250),"
    " expire_time_column VARCHAR(250),"
    " large_values_table VARCHAR(250),"
    " PRIMARY KEY (name) USING HASH) CHARSET=binary",

    "CREATE TABLE IF NOT EXISTS " MC_SCHEMA ".key_prefixes ("
    " server_role_id INT UNSIGNED NOT NULL,"
    " key_prefix VARCHAR(250) NOT NULL,"
    " cluster_id INT UNSIGNED NOT NULL DEFAULT 0,"
    " policy VARCHAR(40) NOT NULL,"
    " container VARCHAR(50),"
    " PRIMARY KEY (server_role_id, key_prefix) USING HASH) CHARSET=binary",

    "CREATE TABLE IF NOT EXISTS " MC_SCHEMA ".last_memcached_signon ("
    " ndb_node_id INT UNSIGNED NOT NULL,"
    " hostname VARCHAR(255) NOT NULL,"
    " server_role VARCHAR(40) NOT NULL,"
    " signon_time TIMESTAMP NOT NULL,"
    " PRIMARY KEY (ndb_node_id) USING HASH) CHARSET=binary",

    "CREATE TABLE IF NOT EXISTS " MC_SCHEMA ".demo_table ("
    " mkey VARCHAR(250) NOT NULL,"
    " math_value BIGINT UNSIGNED,"
    " flags INT UNSIGNED,"
    " cas_value BIGINT UNSIGNED,"
    " string_value VARBINARY(13500),"
    " PRIMARY KEY (mkey) USING HASH) CHARSET=binary",

    "CREATE TABLE IF NOT EXISTS " MC_SCHEMA ".demo_table_large ("
    " mkey VARCHAR(250) NOT NULL,"
    " flags INT UNSIGNED,"
    " cas_value BIGINT UNSIGNED,"
    " string_value VARBINARY(2000),"
    " ext_id INT UNSIGNED,"
    " ext_size INT UNSIGNED,"
    " PRIMARY KEY (mkey) USING HASH) CHARSET=binary",

    "CREATE TABLE IF NOT EXISTS " MC_SCHEMA ".external_values ("
    " id INT UNSIGNED NOT NULL AUTO_INCREMENT,"
    " part SMALLINT NOT NULL,"
    " content VARBINARY(13950),"
    " PRIMARY KEY (id, part) USING HASH) CHARSET=binary",

    "CREATE TABLE IF NOT EXISTS " MC_SCHEMA ".demo_table_tabs ("
    " mkey INT NOT NULL,"
    " val1 VARCHAR(60),"
    " val2 VARCHAR(10),"
    " val3 INT,"
    " flags INT UNSIGNED,"
    " expire_time TIMESTAMP NULL,"
    " PRIMARY KEY (mkey) USING HASH) CHARSET=binary",
};

/* In the order of the cells; NULL: NULL, of times: now. A role is there before its prefixes, and
 * the version is the last: who finds it finds everything. */
static const struct shipped {
    enum mc_table table;
    const char *text[MC_CELLS_MAX];
} shipped[] = {
    {MC_TABLE_CLUSTERS, {"0", "", "250"}},

    {MC_TABLE_ROLES, {"default_role", "0", "100000", NULL}},
    {MC_TABLE_ROLES, {"db-only", "1", "100000", NULL}},
    {MC_TABLE_ROLES, {"mc-only", "2", "100000", NULL}},
    {MC_TABLE_ROLES, {"ndb-caching", "3", "100000", NULL}},
    {MC_TABLE_ROLES, {"large", "4", "100000", NULL}},

    {MC_TABLE_POLICIES, {"memcache-only", "cache_only", "cache_only", "cache_only", "false"}},
    {MC_TABLE_POLICIES, {"ndb-only", "ndb_only", "ndb_only", "ndb_only", "false"}},
    {MC_TABLE_POLICIES, {"ndb-test", "ndb_only", "ndb_only", "ndb_only", "true"}},
    {MC_TABLE_POLICIES, {"caching", "caching", "caching", "caching", "false"}},
    {MC_TABLE_POLICIES,
     {"caching-with-local-deletes", "caching", "caching", "cache_only", "false"}},
    {MC_TABLE_POLICIES, {"ndb-read-only", "ndb_only", "disabled", "disabled", "false"}},

    {MC_TABLE_CONTAINERS,
     {"demo_table", MC_SCHEMA, "demo_table", "mkey", "string_value", "flags", "math_value",
      "cas_value", NULL, NULL}},
    {MC_TABLE_CONTAINERS,
     {"demo_tabs", MC_SCHEMA, "demo_table_tabs", "mkey", "val1,val2,val3", "flags", NULL, NULL,
      "expire_time", NULL}},
    {MC_TABLE_CONTAINERS,
     {"demo_ext", MC_SCHEMA, "demo_table_large", "mkey", "string_value", "flags", NULL, "cas_value",
      NULL, MC_SCHEMA ".external_values"}},

    {MC_TABLE_PREFIXES, {"0", "", "0", "ndb-test", "demo_table"}},
    {MC_TABLE_PREFIXES, {"0", "mc:", "0", "memcache-only", NULL}},
    {MC_TABLE_PREFIXES, {"0", "t:", "0", "ndb-test", "demo_tabs"}},
    {MC_TABLE_PREFIXES, {"0", "b:", "0", "ndb-test", "demo_ext"}},
    {MC_TABLE_PREFIXES, {"1", "", "0", "ndb-only", "demo_table"}},
    {MC_TABLE_PREFIXES, {"1", "t:", "0", "ndb-only", "demo_tabs"}},
    {MC_TABLE_PREFIXES, {"1", "b:", "0", "ndb-only", "demo_ext"}},
    {MC_TABLE_PREFIXES, {"2", "", "0", "memcache-only", NULL}},
    {MC_TABLE_PREFIXES, {"3", "", "0", "caching", "demo_table"}},
    {MC_TABLE_PREFIXES, {"3", "t:", "0", "caching", "demo_tabs"}},
    {MC_TABLE_PREFIXES, {"3", "b:", "0", "caching", "demo_ext"}},
    {MC_TABLE_PREFIXES, {"4", "", "0", "ndb-test", "demo_ext"}},

    {MC_TABLE_META, {"ndbmemcache", "1.2"}},
};

struct told {
    void (*log)(void *context, const char *line);
    void *context;
};

static void tell(const struct told *told, const char *what, const char *name)
{
    char line[300];

    if (told->log == NULL) return;
    (void)snprintf(line, sizeof(line), "%s " MC_SCHEMA ".%s", what, name);
    told->log(told->context, line);
}

/* The table's name in its statement. */
static void name_of(const char *sql, char *name, size_t room)
{
    const char *at = strstr(sql, MC_SCHEMA ".") + strlen(MC_SCHEMA ".");

    (void)snprintf(name, room, "%.*s", (int)strcspn(at, " "), at);
}

static int create_table(ndb_t *ndb, const char *sql, const struct told *told,
                        struct mc_config_error *error)
{
    struct ndb_sql_error where = {0};
    char name[80], full[160];
    ndb_error_t reason;
    uint64_t until_ms = 0;

    name_of(sql, name, sizeof(name));
    (void)snprintf(full, sizeof(full), MC_SCHEMA "/%s", name);
    ndb_table_invalidate(ndb, full);
    struct ndb_table *table = ndb_table_open(ndb, full, 0);
    ndb_table_release(table);
    if (table != NULL) return 0;
    while (ndb_table_create(ndb, sql, &where, 0) != 0) {
        reason = *ndb_error(ndb);
        if (!mc_config_again(&reason, &until_ms))
            return mc_config_fail_ndb(error, &reason, "table " MC_SCHEMA ".%s", name);
    }
    tell(told, "created table", name);
    return 0;
}

static int insert_row(ndb_t *ndb, const struct shipped *row, const struct told *told,
                      struct mc_config_error *error)
{
    const struct mc_table_form *form = &mc_table_forms[row->table];
    struct mc_cell cells[MC_CELLS_MAX] = {{0}};
    char text[MC_CELLS_MAX][64], line[200];
    int32_t code;

    for (uint32_t i = 0; i < form->columns; i++) {
        if (row->text[i] == NULL) continue;
        cells[i].size = (uint32_t)snprintf(text[i], sizeof(text[i]), "%s", row->text[i]);
        cells[i].text = text[i];
    }
    if (mc_row_change(ndb, row->table, NDB_INSERT, cells, &code, error) != 0)
        return code == ERR_ROW_EXISTS ? 0 : -1;
    if (row->table == MC_TABLE_PREFIXES)
        (void)snprintf(line, sizeof(line), "%s: role %s \"%s\"", form->name, text[0], text[1]);
    else
        (void)snprintf(line, sizeof(line), "%s: %s", form->name, text[0]);
    tell(told, "inserted into", line);
    return 0;
}

/* Rows that somebody has removed since the first time do not come back. */
static int insert_rows(ndb_t *ndb, const struct told *told, struct mc_config_error *error)
{
    struct mc_rows versions = {0};

    if (mc_rows_read(ndb, MC_TABLE_META, &versions, error) != 0) return -1;
    bool there = mc_rows_find(&versions, META_APPLICATION, MC_SCHEMA) != UINT32_MAX;
    mc_rows_free(&versions);
    for (size_t i = 0; !there && i < sizeof(shipped) / sizeof(shipped[0]); i++) {
        if (insert_row(ndb, &shipped[i], told, error) != 0) return -1;
    }
    return 0;
}

int mc_config_bootstrap(ndb_t *ndb, void (*log)(void *context, const char *line), void *context,
                        struct mc_config_error *error)
{
    const struct told told = {log, context};

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        if (create_table(ndb, tables[i], &told, error) != 0) return -1;
    }
    return insert_rows(ndb, &told, error);
}
