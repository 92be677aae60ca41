/* trix.h -- DBDICT of the master has its TRIX fill a unique index of a table in use. See
 * docs/protocols/unique_index.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/*
 * All rows of the table get their entries: every LQH fires for the index, and nothing is left that
 * began before. Section 0: the numbers of the primary key's columns, in their order. CONF: each row
 * has one, and all that was committed until then survives the loss of all nodes; REF: not so. One
 * at a time.
 */
struct build_indx_req {
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t version;
    uint32_t index_id; /* Number of the index's table. */
};
SIGNAL_STRUCT(build_indx_req, 4);
struct build_indx_conf {
    uint32_t sender_data;
    uint32_t rows_lo;
    uint32_t rows_hi;
};
SIGNAL_STRUCT(build_indx_conf, 3);
struct build_indx_ref {
    uint32_t sender_data;
    uint32_t error; /* ERR_UNIQUE_DUPLICATE: two rows have the same key. */
};
SIGNAL_STRUCT(build_indx_ref, 2);

/* Sent now and then: how far it is; total 0: not known. */
struct build_indx_rep {
    uint32_t sender_data;
    uint32_t rows_lo;
    uint32_t rows_hi;
    uint32_t total_lo;
    uint32_t total_hi;
};
SIGNAL_STRUCT(build_indx_rep, 5);

/* It is in vain: REF follows, or CONF was on its way. */
struct build_indx_cancel_ord {
    uint32_t sender_data;
};
SIGNAL_STRUCT(build_indx_cancel_ord, 1);
