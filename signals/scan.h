/* scan.h -- scans of tables and of ordered indexes: client - DBTC - DBLQH of each fragment. See
 * docs/protocols/scan.md.
 */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/tckey.h"

/*
 * Section 0: ATTRINFO of a read; section 1, which may be absent or empty: a program that says which
 * rows are wanted (docs/protocols/program.md); section 2, which may be absent: ranges of an
 * ordered index, in whose order each fragment gives its rows (scan_range.h). request_info: 3-4
 * lock_mode, 5 SCAN_COPIES. An empty ATTRINFO section means "count": rows are counted in
 * SCAN_TABCONF, none is sent. Answered by SCAN_TABCONF or SCAN_TABREF. The scan uses a seized TC
 * record of its own (tc_connect).
 */
struct scan_tabreq {
    uint32_t tc_connect;
    /* The client's record; comes back in all answers and in TRANSID_AI.api_op. */
    uint32_t api_scan;
    uint32_t table_id;
    uint32_t schema_version;
    uint32_t request_info;
    /* Rows per fragment and batch; 0 = the node's default. Both 0: batches grow. */
    uint32_t batch_rows;
    uint32_t batch_bytes; /* Bytes per fragment and batch; 0 = the node's default. */
    uint32_t parallelism; /* Fragments at a time; 0 = all. */
    uint32_t transid1;
    uint32_t transid2;
    uint32_t limit; /* So many rows are enough; 0 = all. Some more may come: each fragment stops. */
};
SIGNAL_STRUCT(scan_tabreq, 11);
/* In request_info, for a fully replicated table: all fragments, the copies too; not for ranges.
 * Without it the rows of each partition come from one of its fragments, and whoever names that may
 * name any of them. */
#define SCAN_COPIES (1u << 5)
/* In request_info: a fragment's last rows are followed by a batch without any, as in locking scans;
 * no other fragment begins before the client has asked for it. */
#define SCAN_TURNS (1u << 6)

/*
 * Some fragments have delivered a batch. Section 0: entries { fragment_id, rows, flags }. Without
 * FRAG_DONE a fragment waits to be named in SCAN_NEXTREQ. SCAN_END: all fragments are done, the
 * scan is closed at the server. The client counts each fragment's rows in TRANSID_AI: they may come
 * later than this signal.
 */
struct scan_tabconf {
    uint32_t api_scan;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t flags;
};
SIGNAL_STRUCT(scan_tabconf, 4);
#define SCAN_END              1u
#define SCAN_FRAG_ENTRY_WORDS 3u
#define SCAN_FRAG_DONE        1u

struct scan_tabref { /* The scan is closed at the server. */
    uint32_t api_scan;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t error;
};
SIGNAL_STRUCT(scan_tabref, 4);

/* What one replica of a fragment has and takes; the value of ATTR_FRAGMENT. */
struct fragment_figures {
    uint32_t rows_lo;
    uint32_t rows_hi;
    uint32_t commits_lo; /* Rows changed by commits since this node began to serve the fragment. */
    uint32_t commits_hi;
    uint32_t page_bytes;   /* Bytes of a page. */
    uint32_t fixed_pages;  /* Pages of fixed parts of rows. */
    uint32_t var_pages;    /* Pages of variable parts of rows. */
    uint32_t index_pages;  /* Pages of the hash index. */
    uint32_t var_bytes_lo; /* Bytes in use in the pages of variable parts. */
    uint32_t var_bytes_hi;
};
SIGNAL_STRUCT(fragment_figures, 10);

/* Section 0: fragment ids to go on with. With SCAN_CLOSE no section: the scan ends, answered by
 * SCAN_TABCONF with SCAN_END. */
struct scan_nextreq {
    uint32_t tc_connect;
    uint32_t api_scan;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t flags;
};
SIGNAL_STRUCT(scan_nextreq, 5);
#define SCAN_CLOSE 1u

struct scan_fragreq { /* Sections as SCAN_TABREQ. */
    uint32_t tc_frag; /* TC's record, returned. */
    uint32_t table_id;
    uint32_t schema_version;
    uint32_t fragment_id;
    uint32_t request_info;
    uint32_t batch_rows;
    uint32_t batch_bytes;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t api_ref;
    uint32_t api_scan;
    uint32_t limit;
};
SIGNAL_STRUCT(scan_fragreq, 12);
struct scan_fragconf {
    uint32_t tc_frag;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t lqh_scan; /* Record for SCAN_FRAG_NEXTREQ; REF_NONE when done. */
    uint32_t rows;
    uint32_t flags; /* SCAN_FRAG_DONE: no more rows, or closed. */
};
SIGNAL_STRUCT(scan_fragconf, 6);
struct scan_fragref { /* Nothing is left at the sender. */
    uint32_t tc_frag;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t error;
};
SIGNAL_STRUCT(scan_fragref, 4);
struct scan_frag_nextreq {
    uint32_t lqh_scan;
    uint32_t tc_frag;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t flags; /* SCAN_CLOSE: answered by SCAN_FRAGCONF with SCAN_FRAG_DONE. */
};
SIGNAL_STRUCT(scan_frag_nextreq, 5);
