/* redo.h -- the redo log of each LQH instance: opened, replayed, freed; asked for its figures. See
 * docs/protocols/redo.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/*
 * From a block of the own node, priority B. There are no REFs: a log that cannot be opened or
 * replayed stops the node with the file's name. A diskless LQH answers at once.
 */

/* Makes the files anew, or opens those that are there. */
struct redo_open_req {
    uint32_t sender_data;
    uint32_t create; /* 1: makes the files anew; 0: opens those that are there. */
    uint32_t others; /* Other nodes have the rows: what is wrong with the files is told with
                        RECOVER_REF, until RECOVER_CONF. */
    uint32_t life;   /* Random number for files that are made; the log keeps some bits of it. */
};
SIGNAL_STRUCT(redo_open_req, 4);
struct redo_open_conf {
    uint32_t sender_data;
    uint32_t megabytes; /* MB of all files of the log. */
};
SIGNAL_STRUCT(redo_open_conf, 2);

/*
 * After REDO_OPEN_CONF, with all tables made and all checkpoints read: replays records with
 * start_gci <= GCI <= restart_gci, then goes on as `incarnation`. Section 0 (may be missing): pairs
 * { former incarnation, GCI at which it ended }, the newest 64, the one that ends at restart_gci
 * among them. A log just made has nothing to replay: CONF at once.
 */
struct redo_start_req {
    uint32_t sender_data;
    uint32_t start_gci;
    uint32_t restart_gci;
    uint32_t incarnation;
    uint32_t lsn_lo; /* Page known to have been durable (REDO_STATUS_CONF); 0 = not known. */
    uint32_t lsn_hi;
};
SIGNAL_STRUCT(redo_start_req, 6);
struct redo_start_conf {
    uint32_t sender_data;
    uint32_t applied_lo; /* Records that were applied. */
    uint32_t applied_hi;
    uint32_t skipped_lo; /* Records left out: older than start_gci, or never happened. */
    uint32_t skipped_hi;
};
SIGNAL_STRUCT(redo_start_conf, 5);

/* Records of older GCIs are not needed any more: all fragments of this LQH have checkpoints that
 * are usable. */
struct redo_tail_ord {
    uint32_t gci;
};
SIGNAL_STRUCT(redo_tail_ord, 1);

struct redo_status_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(redo_status_req, 1);
#define REDO_STATUS_HINT 0xFFFFFFFFu /* To DIH, not asked for: operations are being held back. */
struct redo_status_conf {
    uint32_t sender_data;
    uint32_t state;       /* enum redo_state of redo_log.h; 0 = closed, or diskless. */
    uint32_t percent;     /* Percent of opening or replaying that is done. */
    uint32_t fill;        /* Percent of the files that is in use. */
    uint32_t files;       /* Files of the log. */
    uint32_t file_blocks; /* Blocks of 4 KB in each file. */
    uint32_t head_file;
    uint32_t head_block;
    uint32_t tail_file;
    uint32_t delayed; /* Operations held back now. */
    uint32_t lsn_lo;  /* Last page that is durable, without the log's life. */
    uint32_t lsn_hi;
    uint32_t records_lo; /* Records written since the start. */
    uint32_t records_hi;
    uint32_t bytes_lo; /* Bytes written since the start. */
    uint32_t bytes_hi;
};
SIGNAL_STRUCT(redo_status_conf, 16);

/*
 * The whole way back of an LQH instance: checkpoints of all its fragments, then the log. From
 * NDBCNTR, after REDO_OPEN_CONF and when all tables are made; at an initial start too (restart_gci
 * 0, nothing to do). Section 0 (may be missing): as in REDO_START_REQ. No REF: what is damaged or
 * missing stops the node with the file's name. A diskless LQH answers at once.
 */
struct recover_req {
    uint32_t sender_data;
    uint32_t restart_gci;
    uint32_t incarnation;
    uint32_t lsn_lo; /* Log page known to have been durable; 0 = not known. */
    uint32_t lsn_hi;
    uint32_t running; /* 1: the cluster runs, pages of the same incarnation are this node's own. */
    uint32_t lsn_older; /* 1: that page was the end of an older GCI, more was durable. */
};
SIGNAL_STRUCT(recover_req, 7);
struct recover_conf {
    uint32_t sender_data;
    uint32_t fragments; /* Fragments of which a checkpoint was read. */
    uint32_t rows_lo;   /* Rows read from checkpoints. */
    uint32_t rows_hi;
    uint32_t kbytes;     /* KB read from checkpoints, compressed. */
    uint32_t applied_lo; /* Records of the log that were applied. */
    uint32_t applied_hi;
    uint32_t skipped_lo; /* Records left out: older than any checkpoint, or never happened. */
    uint32_t skipped_hi;
    uint32_t restore_ms;
    uint32_t replay_ms;
};
SIGNAL_STRUCT(recover_conf, 11);

/* Instead of CONF, when REDO_OPEN_REQ said that others have the rows: these files are of no use.
 * The log says which and why. Nothing more comes from this instance. */
struct recover_ref {
    uint32_t sender_data;
    uint32_t code; /* Exit code with which the node would have ended. */
};
SIGNAL_STRUCT(recover_ref, 2);

/* Meanwhile to the sender of RECOVER_REQ, at most a few per second. */
enum recover_step { RECOVER_CHECKPOINTS = 1, RECOVER_LOG = 2 };
struct recover_rep {
    uint32_t sender_data;
    uint32_t step;    /* enum recover_step */
    uint32_t percent; /* Percent of the step that is done, by bytes. */
};
SIGNAL_STRUCT(recover_rep, 3);
