/* lqhkey.h -- prepare, commit, complete, abort between DBTC and the DBLQHs of a row's replicas. See
 * docs/protocols/transaction.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/tckey.h"

/*
 * The primary executes, then passes the request (with the row id it chose and prev_* set to itself)
 * to the next node of the chain; the last answers TC with LQHKEYCONF. Sections as TCKEYREQ.
 */
struct lqhkeyreq {
    uint32_t tc_op;        /* Reference of TC's operation record; REF_NONE for a committed read. */
    uint32_t request_info; /* As TCKEYREQ's, the low 10 bits; to the primary KEY_PROGRAM.
                              KEY_UNIQUE: the read of a unique index's entry, which TC gets.
                              KEY_FILL: FIRE_TRIG_ORD as if the row had just been inserted.
                              KEY_COPIED or KEY_COPY. */
    uint32_t table_id;
    uint32_t schema_version;
    uint32_t fragment_id;
    uint32_t hash; /* Low half of the 64-bit hash of the key. */
    uint32_t transid1;
    uint32_t transid2;
    uint32_t tc_ref;
    uint32_t api_ref; /* The client. It gets TRANSID_AI, and a committed read's TCKEYREF too. */
    uint32_t api_op;
    uint32_t chain;    /* Bits 0-7, 8-15, 16-23: nodes still to be visited, next first, 0 = no more.
                          24-29: replica no, primary = 0. 30: CHAIN_SKIP. 31: CHAIN_AGAIN. */
    uint32_t prev_ref; /* LQH instance of the previous replica; 0 at the primary. */
    uint32_t prev_op;  /* Operation record of the previous replica; 0 at the primary. */
    uint32_t row_page; /* Row id that the primary has chosen; for backups. */
    uint32_t row_slot;
    uint32_t tc_trans; /* TC's transaction record: with tc_ref it owns locks and changes. Transids,
                          which clients choose, do not. */
    uint32_t nodes;    /* All replicas: the primary in bits 0-7, the others along the chain. */
    /* FIRE_TRIG_ORDs and FIRE_COPY_ORDs that the primary has sent for the operation. */
    uint32_t fired;
};
SIGNAL_STRUCT(lqhkeyreq, 19);
/* In request_info of a write: the fragment has copies, each change sends FIRE_COPY_ORD. */
#define KEY_COPIED (1u << 13)
/* In request_info of a write: the fragment is a copy, nothing follows from what changes here. */
#define KEY_COPY (1u << 14)
#define LQHKEY_ATTR_WORDS_MAX                                                                      \
    12288u /* Longest ATTRINFO: more than any row needs, and the request still fits. */
/* In chain: a replica whose rows are still being copied does nothing, the copy has not come to the
 * row's place. See docs/protocols/node_restart.md. */
#define CHAIN_SKIP (1u << 30)
/* In chain: the primary had the row; of an insert: its transaction has deleted it. */
#define CHAIN_AGAIN    (1u << 31)
#define ROW_NOT_CHOSEN 0xFFFFFFFFu /* row_page and row_slot when there is no row yet. */

/* The replicas of an operation, in the order of its chain; 0 = no more. */
static inline uint32_t replica_node(uint32_t nodes, uint32_t place)
{
    return place >= REPLICAS_MAX ? 0 : nodes >> (8u * place) & 0xFFu;
}

/* The instance key of a fragment: its LQH has instance 1 + fragment_id modulo the node's number of
 * LDMs. */
static inline uint32_t fragment_instance_key(uint32_t fragment_id)
{
    return 1u + fragment_id % 0xFF00u;
}

struct lqhkeyconf { /* From the last replica. */
    uint32_t tc_op;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t lqh_op; /* Operation record at the sender: COMMIT, COMPLETE and ABORT start there. */
    uint32_t read_words; /* Locking reads: how many words the client got. */
    uint32_t fired;      /* FIRE_TRIG_ORDs and FIRE_COPY_ORDs that the primary has sent, before or
                            behind this. */
};
SIGNAL_STRUCT(lqhkeyconf, 6);

/*
 * From the primary to TC: the operation has given its row another key in a unique index. Section 0:
 * the old key, the new key (KEY sections of the index's table), the row's KEY section as it is
 * stored. See docs/protocols/unique_index.md.
 */
struct fire_trig_ord {
    uint32_t tc_op;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t index_id;  /* The unique index, by its table's number. */
    uint32_t old_words; /* 0 = there was no entry. */
    uint32_t new_words; /* 0 = there is none any more. */
};
SIGNAL_STRUCT(fire_trig_ord, 6);

/* To TC, now and then: a change of what fires waits for this operation, which began before. The
 * transaction is ended when its client does nothing. See docs/protocols/unique_index.md. */
struct schema_waits_ord {
    uint32_t tc_op;
    uint32_t transid1;
    uint32_t transid2;
};
SIGNAL_STRUCT(schema_waits_ord, 3);

/*
 * From the primary of a fragment that has copies to TC, with KEY_COPIED: the operation has changed
 * the row. Sections as LQHKEYREQ to a backup: KEY, and the columns that have changed, if there are
 * any. See docs/protocols/fully_replicated.md.
 */
struct fire_copy_ord {
    uint32_t tc_op;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t operation; /* enum key_operation: what has become of the row. */
};
SIGNAL_STRUCT(fire_copy_ord, 4);

struct lqhkeyref { /* From any replica. Nothing is left at the sender. */
    uint32_t tc_op;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t error;
    uint32_t prev_ref; /* 0: refused at the primary before any change, the transaction can go on.
                          Else ABORT from here. */
    uint32_t prev_op;
    /* tc_op REF_NONE: a committed read whose LQH has no link to the client; prev_ref is the client,
     * prev_op its api_op. */
};
SIGNAL_STRUCT(lqhkeyref, 6);

/*
 * Trains: one signal for many operations of the same destination. Section 0: entries of
 * TRAIN_ENTRY_WORDS words { reference of the receiver's record, reference of TC's record, transid1
 * }. At most TRAIN_ENTRIES_MAX. COMMIT, COMPLETE and ABORT start at the last replica; each passes
 * on to its previous one; the primary answers TC with COMMITTED, COMPLETED, ABORTED whose first
 * entry word is 0.
 */
#define TRAIN_ENTRY_WORDS 3u
#define TRAIN_ENTRIES_MAX 64u

struct train_entry {
    uint32_t op; /* Operation record at the receiver. */
    uint32_t tc_op;
    uint32_t transid1;
};

struct commit_train {
    uint32_t tc_ref;
    uint32_t gci_hi;
    uint32_t gci_lo;
    uint32_t flags; /* COMMIT_AND_COMPLETE: reads, and rows with one replica by configuration:
                       commit also completes. */
};
SIGNAL_STRUCT(commit_train, 4);
#define COMMIT_AND_COMPLETE 1u
struct committed_train {
    uint32_t gci_hi;
    uint32_t gci_lo;
};
SIGNAL_STRUCT(committed_train, 2);
struct complete_train {
    uint32_t tc_ref;
};
SIGNAL_STRUCT(complete_train, 1);
struct completed_train {
    uint32_t unused;
};
SIGNAL_STRUCT(completed_train, 1);
struct abort_train {
    uint32_t tc_ref;
};
SIGNAL_STRUCT(abort_train, 1);
struct aborted_train {
    uint32_t unused;
};
SIGNAL_STRUCT(aborted_train, 1);
