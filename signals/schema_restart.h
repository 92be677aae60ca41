/* schema_restart.h -- a start finds the newest schema, has all nodes make it, and keeps files of an
 * earlier one out. See docs/protocols/schema.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/* NDBCNTR asks its DBDICT after phase 0 what the schema files held. The sequence grows by one with
 * each change of the schema, on all nodes alike; has_data 0: there is none. */
struct schema_info_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(schema_info_req, 1);
struct schema_info_conf {
    uint32_t sender_data;
    uint32_t has_data;
    uint32_t sequence_lo;
    uint32_t sequence_hi;
};
SIGNAL_STRUCT(schema_info_conf, 4);

/* DICT to the DIH of its node: both schema files have this sequence. The system files name it from
 * now on, so that a start takes no dictionary of an earlier time. */
struct schema_written_ord {
    uint32_t sequence_lo;
    uint32_t sequence_hi;
    uint32_t changed; /* 1: the schema has changed, the system files are written at once. */
};
SIGNAL_STRUCT(schema_written_ord, 3);

/*
 * NDBCNTR to its DBDICT: make the schema that the cluster starts with. START_INITIAL: an empty one
 * is written. Otherwise that of source_node, which has the highest sequence: copied from there
 * unless the node's own has that sequence, and written; then all tables are added to the TC and LQH
 * instances. CONF: they have them, not usable yet. What cannot be done stops the node.
 */
struct schema_restart_req {
    uint32_t sender_data;
    uint32_t start_type; /* enum start_type */
    uint32_t source_node;
    uint32_t sequence_lo;
    uint32_t sequence_hi;
};
SIGNAL_STRUCT(schema_restart_req, 5);
struct schema_restart_conf {
    uint32_t sender_data;
    uint32_t tables;
};
SIGNAL_STRUCT(schema_restart_conf, 2);

/*
 * DBDICT to that of the source node: the first table number from table_id on that is used or has
 * been. CONF: table_id 0 is the end. Sections: 0 encoded table_def, 1 distribution; none for a
 * number that is not used and only keeps its version (state TABLE_UNDEFINED). The sequence is the
 * source's; 0: it has no schema to give.
 */
struct schema_copy_req {
    uint32_t table_id;
};
SIGNAL_STRUCT(schema_copy_req, 1);
struct schema_copy_conf {
    uint32_t table_id;
    uint32_t version;
    uint32_t state; /* enum table_state: TABLE_ONLINE or TABLE_UNDEFINED */
    uint32_t sequence_lo;
    uint32_t sequence_hi;
    uint32_t check; /* Hash of this, the number asked for and the sections: a table that is
                       left out would be lost on the receiver's disk. */
};
SIGNAL_STRUCT(schema_copy_conf, 6);

/* NDBCNTR to its DBDICT after the recovery: the tables are usable, for all LQH instances before the
 * first TC. */
struct schema_online_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(schema_online_req, 1);
struct schema_online_conf {
    uint32_t sender_data;
};
SIGNAL_STRUCT(schema_online_conf, 1);
