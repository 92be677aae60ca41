/* tckey.h -- transactions and key operations between a client and DBTC. See
 * docs/protocols/transaction.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "values/attr.h"
#include "signals/gsn.h"

/* A transaction record in one TC instance, kept by the client for many transactions after each
 * other. Prio B. */
struct tcseizereq {
    uint32_t sender_data; /* The client's record, returned in every answer as api_connect. */
};
SIGNAL_STRUCT(tcseizereq, 1);
struct tcseizeconf {
    uint32_t sender_data;
    uint32_t tc_connect; /* Record to be used with the TC instance that sent this. */
};
SIGNAL_STRUCT(tcseizeconf, 2);
struct tcseizeref {
    uint32_t sender_data;
    uint32_t error;
};
SIGNAL_STRUCT(tcseizeref, 2);

struct tcreleasereq {
    uint32_t tc_connect;
    uint32_t sender_data;
};
SIGNAL_STRUCT(tcreleasereq, 2);
struct tcreleaseconf {
    uint32_t sender_data;
};
SIGNAL_STRUCT(tcreleaseconf, 1);
struct tcreleaseref {
    uint32_t sender_data;
    uint32_t error;
};
SIGNAL_STRUCT(tcreleaseref, 2);

enum key_operation { OP_READ = 0, OP_UPDATE = 1, OP_INSERT = 2, OP_DELETE = 3, OP_WRITE = 4 };
enum lock_mode { LOCK_SHARED = 0, LOCK_EXCLUSIVE = 1, LOCK_COMMITTED = 2 };

/*
 * request_info, by bits:
 *
 *   0-2   key_operation
 *   3-4   lock_mode (reads)
 *   5     START: first stateful operation of a transaction
 *   6     EXECUTE: last of a batch, wants a TCKEYCONF
 *   7     COMMIT: and commit when the batch has succeeded
 *   8     IGNORE_ERROR: a refused operation leaves the transaction alive
 *   9     NOWAIT: a locked row is ERR_NOWAIT_LOCK instead of a wait
 *   10    DURABLE, with COMMIT: the answer waits until the commit's GCI is durable on all nodes
 *   11    PROGRAM: ATTRINFO begins with an interpreted program, see docs/protocols/program.md;
 *         not for inserts
 *   12    UNIQUE: table_id, schema_version and KEY are those of a unique index, the rest is about
 * the row that it leads to; reads with a lock, updates and deletes. See
 *         docs/protocols/unique_index.md
 *   15    FILL: from TRIX of the own node only; a read with a shared lock. ATTRINFO is the number
 * of a unique index's table: the row gets its entry there, if it has none. Nothing is answered but
 * how it ended
 *
 * A committed read (OP_READ + LOCK_COMMITTED) leaves no trace in TC: it never carries START,
 * EXECUTE or COMMIT, and it is answered by exactly one TRANSID_AI or TCKEYREF with its api_op,
 * nothing else. tc_connect may be REF_NONE; when it is the record of the running transaction
 * `transid`, the read sees what that transaction has changed and had confirmed.
 */
#define KEY_START        (1u << 5)
#define KEY_EXECUTE      (1u << 6)
#define KEY_COMMIT       (1u << 7)
#define KEY_IGNORE_ERROR (1u << 8)
#define KEY_NOWAIT       (1u << 9)
#define KEY_DURABLE      (1u << 10)
#define KEY_PROGRAM      (1u << 11)
#define KEY_UNIQUE       (1u << 12)
#define KEY_FILL         (1u << 15)

static inline uint32_t key_request_info(enum key_operation operation, enum lock_mode mode,
                                        uint32_t flags)
{
    return (uint32_t)operation | (uint32_t)mode << 3 | flags;
}
static inline enum key_operation key_operation_of(uint32_t request_info)
{
    return (enum key_operation)(request_info & 7u);
}
static inline enum lock_mode key_lock_mode(uint32_t request_info)
{
    return (enum lock_mode)(request_info >> 3 & 3u);
}

/* Sections: 0 KEY, 1 ATTRINFO (absent for delete, and for a locking read that wants no columns).
 * Prio B. */
struct tckeyreq {
    uint32_t tc_connect;
    uint32_t api_op; /* The client's record, returned in TRANSID_AI and TCKEYREF. */
    uint32_t table_id;
    uint32_t schema_version;
    uint32_t request_info;
    uint32_t transid1;
    uint32_t transid2;
};
SIGNAL_STRUCT(tckeyreq, 7);

/*
 * One per EXECUTE (success, or with IGNORE_ERROR after the single TCKEYREFs): all stateful
 * operations sent since START are done. Rows of locking reads come in TRANSID_AI, from other nodes
 * perhaps later than this.
 */
struct tckeyconf {
    uint32_t api_connect;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t flags; /* KEYCONF_COMMITTED, KEYCONF_DURABLE */
    uint32_t gci_hi;
    uint32_t gci_lo;
};
SIGNAL_STRUCT(tckeyconf, 6);
#define KEYCONF_COMMITTED 1u
#define KEYCONF_DURABLE                                                                            \
    2u /* The level that the commit has reached: on disk, not only in the memory of all replicas.  \
        */

/* One operation was refused. Without IGNORE_ERROR a TCROLLBACKREP for the transaction comes instead
 * of this. */
struct tckeyref {
    uint32_t api_op;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t error;
};
SIGNAL_STRUCT(tckeyref, 4);

struct tc_commitreq {
    uint32_t tc_connect;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t flags; /* COMMIT_DURABLE: as KEY_DURABLE. */
};
SIGNAL_STRUCT(tc_commitreq, 4);
#define COMMIT_DURABLE 1u
struct tc_commitconf {
    uint32_t api_connect;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t gci_hi;
    uint32_t gci_lo;
    uint32_t flags; /* KEYCONF_DURABLE */
};
SIGNAL_STRUCT(tc_commitconf, 6);
struct tc_commitref { /* Not committed; the transaction is gone. */
    uint32_t api_connect;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t error;
};
SIGNAL_STRUCT(tc_commitref, 4);

struct tcrollbackreq {
    uint32_t tc_connect;
    uint32_t transid1;
    uint32_t transid2;
};
SIGNAL_STRUCT(tcrollbackreq, 3);
struct tcrollbackconf {
    uint32_t api_connect;
    uint32_t transid1;
    uint32_t transid2;
};
SIGNAL_STRUCT(tcrollbackconf, 3);
struct tcrollbackref {
    uint32_t api_connect;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t error;
};
SIGNAL_STRUCT(tcrollbackref, 4);

/* TC has aborted the transaction and freed everything; nothing of it is left. Answers the pending
 * EXECUTE or COMMIT too. */
struct tcrollbackrep {
    uint32_t api_connect;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t error;
    uint32_t api_op; /* The operation that caused it; REF_NONE: none did. */
    /* ERR_UNIQUE_DUPLICATE: the unique index's table id; ERR_TC_OPERATIONS_LIMIT: so many
     * operations fit; ERR_TRANSACTION_TOO_BIG: so many changes; else 0. */
    uint32_t error_data;
};
SIGNAL_STRUCT(tcrollbackrep, 6);

/* Rows, straight from LQH to the client: one for a key read; many of one fragment for a scan.
 * Section 0: rows (attr.h). */
struct transid_ai {
    uint32_t api_op; /* Key operation's api_op, or the scan's api_scan. */
    uint32_t transid1;
    uint32_t transid2;
    uint32_t rows;
    uint32_t fragment_id; /* Fragment that the rows of a scan are from. */
};
SIGNAL_STRUCT(transid_ai, 5);
