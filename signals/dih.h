/* dih.h -- DBDICT asks its DBDIH for the distribution of a new table. See docs/protocols/schema.md.
 */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/* At the master only. Section 0 of the CONF: distribution (dict.h). */
struct create_frag_req {
    uint32_t sender_data;
    uint32_t balance;        /* enum table_balance as a word. */
    uint32_t fragment_count; /* Fragments that are wanted with TABLE_BALANCE_SPECIFIC; else 0. */
    uint32_t flags;          /* enum table_flags: TABLE_FULLY_REPLICATED adds copies. */
};
SIGNAL_STRUCT(create_frag_req, 4);
struct create_frag_conf {
    uint32_t sender_data;
    uint32_t fragment_count; /* Fragments of the table, copies included. */
};
SIGNAL_STRUCT(create_frag_conf, 2);
struct create_frag_ref {
    uint32_t sender_data;
    uint32_t error;
};
SIGNAL_STRUCT(create_frag_ref, 2);
