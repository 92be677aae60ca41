/* dict.h -- what clients ask of DBDICT. See docs/protocols/schema.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/* To the master's DBDICT; another answers REF ERR_NOT_MASTER with master_node. Section 0: encoded
 * table_def. */
struct create_table_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(create_table_req, 1);
struct create_table_conf {
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t version;
};
SIGNAL_STRUCT(create_table_conf, 3);
struct create_table_ref {
    uint32_t sender_data;
    uint32_t error;
    uint32_t master_node;
    uint32_t column; /* 1 + index of the column that the error is about; 0 = none. */
};
SIGNAL_STRUCT(create_table_ref, 4);

struct drop_table_req {
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t version;
};
SIGNAL_STRUCT(drop_table_req, 3);
struct drop_table_conf {
    uint32_t sender_data;
};
SIGNAL_STRUCT(drop_table_conf, 1);
struct drop_table_ref {
    uint32_t sender_data;
    uint32_t error;
    uint32_t master_node;
};
SIGNAL_STRUCT(drop_table_ref, 3);

/*
 * Changes a table that stays in use; to the master as CREATE_TABLE_REQ. For an index the version's
 * major part must be the table's, for anything else all of it. Section 0, by kind:
 *   CREATE_INDEX, CREATE_UNIQUE: name size | column count << 16, columns (one per half word), name
 *   DROP_INDEX: name size, name
 *   RENAME_TABLE: database size | table size << 16, database, table: the new names
 *   RENAME_COLUMN: name size | new name size << 16, name, new name
 *   ADD_COLUMN: one column as in an encoded definition: nullable, no part of the key, no default
 *   TRUNCATE: none; CONF has the number and version of the new, empty table
 * See docs/protocols/online.md.
 */
enum alter_kind {
    ALTER_CREATE_INDEX = 1,
    ALTER_DROP_INDEX = 2,
    ALTER_RENAME_TABLE = 3,
    ALTER_RENAME_COLUMN = 4,
    ALTER_TRUNCATE = 5,
    ALTER_ADD_COLUMN = 6,
    ALTER_CREATE_UNIQUE = 7
};
struct alter_table_req {
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t version;
    uint32_t kind; /* enum alter_kind */
};
SIGNAL_STRUCT(alter_table_req, 4);
struct alter_table_conf {
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t version; /* The table's new version. */
};
SIGNAL_STRUCT(alter_table_conf, 3);
struct alter_table_ref {
    uint32_t sender_data;
    uint32_t error;
    uint32_t master_node;
};
SIGNAL_STRUCT(alter_table_ref, 3);
/* Sent now and then while rows are gone through: how many have been, and how many there are. */
struct alter_table_rep {
    uint32_t sender_data;
    uint32_t rows_lo;
    uint32_t rows_hi;
    uint32_t total_lo;
    uint32_t total_hi;
};
SIGNAL_STRUCT(alter_table_rep, 5);

/*
 * By name (section 0: size in bytes, then "database/def/table" padded to words) or by id (no
 * section). Any started node. CONF sections: 0 encoded table_def (with id, version), 1 distribution
 * (see struct distribution).
 */
struct get_tabinfo_req {
    uint32_t sender_data;
    uint32_t table_id;
};
SIGNAL_STRUCT(get_tabinfo_req, 2);
struct get_tabinfo_conf {
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t version;
};
SIGNAL_STRUCT(get_tabinfo_conf, 3);
struct get_tabinfo_ref {
    uint32_t sender_data;
    uint32_t error;
};
SIGNAL_STRUCT(get_tabinfo_ref, 2);

/*
 * Distribution section: word 0 fragment count F, word 1 replicas R, word 2 hash map buckets B; then
 * F * R words with the node of each fragment's replicas (primary first, 0 = none), then B/2 words:
 * for each bucket its fragment in 16 bits, low half first.
 *
 * The hash map names the partitions, which are the fragments 0 to P - 1. Of a fully replicated
 * table F is a multiple of P: fragment f + n * P is the n-th copy of partition f, in another node
 * group. Of any other table F is P.
 */
#define DISTRIBUTION_HEAD_WORDS 3u
/* P of a hash map, from its `buckets` 16-bit entries. */
static inline uint32_t distribution_partitions(const uint16_t *map, uint32_t buckets)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < buckets; i++)
        last = map[i] > last ? map[i] : last;
    return last + 1u;
}
/* From DICT to its TCs and LQHs, in a cluster that goes on without lost nodes: this one is not a
 * member now, but may come back. */
#define DISTRIBUTION_ABSENT 0x100u

/* Asks for tables with id >= first_id, in id order, as many as fit. next_id 0: that was all. */
struct list_tables_req {
    uint32_t sender_data;
    uint32_t first_id;
};
SIGNAL_STRUCT(list_tables_req, 2);
/* Section 0, per table: id, version, state (enum table_state) | base table's id << LIST_BASE_SHIFT
 * (0 = not a unique index), fragment count, name size in bytes, name padded to words. */
#define LIST_STATE_MASK 0xFFu
#define LIST_BASE_SHIFT 8
struct list_tables_conf {
    uint32_t sender_data;
    uint32_t count;
    uint32_t next_id;
};
SIGNAL_STRUCT(list_tables_conf, 3);
struct list_tables_ref {
    uint32_t sender_data;
    uint32_t error;
};
SIGNAL_STRUCT(list_tables_ref, 2);
enum table_state {
    TABLE_UNDEFINED = 0,
    TABLE_OFFLINE = 1,
    TABLE_BUILDING = 2,
    TABLE_DROPPING = 3,
    TABLE_ONLINE = 4
};
