/* local_table.h -- DBDICT tells the TC and LQH instances of its node about tables. See
 * docs/protocols/schema.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/*
 * To every TC and every LQH instance. Sections: 0 encoded table_def, 1 distribution (dict.h). TC
 * learns where rows live; an LQH makes the fragments whose instance key is its own and of which its
 * node holds a replica. The table is not usable before LOCAL_TABLE_ONLINE. REF: nothing is left.
 */
struct local_table_add_req {
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t version;
};
SIGNAL_STRUCT(local_table_add_req, 3);
struct local_table_add_conf {
    uint32_t sender_data;
    uint32_t table_id;
};
SIGNAL_STRUCT(local_table_add_conf, 2);
struct local_table_add_ref {
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t error;
};
SIGNAL_STRUCT(local_table_add_ref, 3);

/*
 * ONLINE: operations are accepted. DROPPING: new operations and scans get ERR_TABLE_DROPPING_TC or,
 * of LQH, ERR_TABLE_DROPPING; TC answers when no transaction or scan of its own uses the table any
 * more. DROP (after all nodes are DROPPING): memory is given back, in steps; CONF when nothing is
 * left. Also ends a table that was added but never came online.
 */
enum local_table_order { LOCAL_TABLE_ONLINE = 1, LOCAL_TABLE_DROPPING = 2, LOCAL_TABLE_DROP = 3 };
struct local_table_state_req {
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t order;
};
SIGNAL_STRUCT(local_table_state_req, 3);
struct local_table_state_conf {
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t order;
};
SIGNAL_STRUCT(local_table_state_conf, 3);

/*
 * To every LQH instance, about an ordered index, or a new column, of a table that is in use; see
 * docs/protocols/online.md. ADD (section 0: the encoded definition that has it): it is built; CONF:
 * it is whole; REF: nothing is left of it. ONLINE: scans may use it. DROPPING: they get
 * ERR_INDEX_DROPPING. DROP: memory is given back, in steps; CONF when nothing is left. COLUMN_ADD
 * (section 0 as ADD): there is room for the last column of that definition, which nobody can use
 * yet; REF: there is none. COLUMN_ONLINE: it is the table's.
 */
enum local_index_order {
    LOCAL_INDEX_ADD = 1,
    LOCAL_INDEX_ONLINE = 2,
    LOCAL_INDEX_DROPPING = 3,
    LOCAL_INDEX_DROP = 4,
    LOCAL_COLUMN_ADD = 5,
    LOCAL_COLUMN_ONLINE = 6
};
struct local_index_req {
    uint32_t sender_data;
    uint32_t table_id;
    /* Id of the index in the definition; of a column: how many the table has then. */
    uint32_t index;
    uint32_t order; /* enum local_index_order */
};
SIGNAL_STRUCT(local_index_req, 4);
struct local_index_conf {
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t order;
};
SIGNAL_STRUCT(local_index_conf, 3);
struct local_index_ref { /* Refuses ADD or COLUMN_ADD. */
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t error;
};
SIGNAL_STRUCT(local_index_ref, 3);

/* How far ADD is; `total` is what there is now. */
struct local_index_rep {
    uint32_t sender_data;
    uint32_t rows_lo;
    uint32_t rows_hi;
    uint32_t total_lo;
    uint32_t total_hi;
};
SIGNAL_STRUCT(local_index_rep, 5);

/* Stop building: REF follows, or CONF was on its way. */
struct local_index_cancel_ord {
    uint32_t sender_data; /* sender_data of the ADD. */
};
SIGNAL_STRUCT(local_index_cancel_ord, 1);

/*
 * To TC and LQH instances, about a unique index of a table that is in use; the states, who gets
 * which and why so many: docs/protocols/unique_index.md. KNOWN: section 0 is the encoded definition
 * that has the index, nothing fires for it; REF: it is not known. The index is named by its table's
 * number.
 */
enum unique_state {
    UNIQUE_KNOWN = 1,   /* LQH, TC: it is there; TC looks whose an entry is before it deletes it. */
    UNIQUE_DELETES = 2, /* LQH: fires for keys that rows give up. */
    UNIQUE_FIRES = 3,   /* LQH: for all; CONF when nothing is left that began before. */
    UNIQUE_STRICT = 4,  /* TC: each row has its entry. */
    UNIQUE_CLOSED = 5,  /* TC: nobody may look rows up by it; CONF when nobody does. */
    UNIQUE_LOOSE = 6,   /* TC: what entries are there, or not, refuses nothing. */
    UNIQUE_SILENT = 7,  /* LQH: nothing fires; CONF when nothing is left that began before. */
    UNIQUE_GONE = 8,    /* LQH, TC: it is forgotten; CONF of TC when no entry is under way. */
    UNIQUE_STATES
};
struct local_unique_req {
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t index_id;
    uint32_t state; /* enum unique_state */
};
SIGNAL_STRUCT(local_unique_req, 4);
struct local_unique_conf {
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t state;
};
SIGNAL_STRUCT(local_unique_conf, 3);
struct local_unique_ref { /* Refuses UNIQUE_KNOWN. */
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t error;
};
SIGNAL_STRUCT(local_unique_ref, 3);
