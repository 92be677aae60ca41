/* redo.h -- the redo log of each LQH instance: opened, replayed, freed; asked for its figures. See
 * docs/protocols/redo.md. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "signals/gsn.h"

/*
 * From a block of the own node, priority B. There are no REFs: a log that cannot be opened or
 * replayed stops the node with the file's name. A diskless LQH answers at once.
 */

/* Makes the files anew, or opens those that are there. */
struct redo_open_req {
    uint32_t sender_data;
    uint32_t create;
};
SIGNAL_STRUCT(redo_open_req, 2);
struct redo_open_conf {
    uint32_t sender_data;
    uint32_t megabytes; /* Of all files. */
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
    uint32_t applied_lo;
    uint32_t applied_hi;
    uint32_t skipped_lo; /* Older than start_gci, or never happened. */
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
struct redo_status_conf {
    uint32_t sender_data;
    uint32_t state;   /* enum redo_state of blocks/dblqh/redo_log.h; 0 = closed, or diskless. */
    uint32_t percent; /* Of opening or replaying. */
    uint32_t fill;    /* Percent of the files. */
    uint32_t files;
    uint32_t file_blocks; /* Of 4 KB. */
    uint32_t head_file;
    uint32_t head_block;
    uint32_t tail_file;
    uint32_t delayed; /* Operations held back now. */
    uint32_t lsn_lo;  /* Last page that is durable. */
    uint32_t lsn_hi;
    uint32_t records_lo;
    uint32_t records_hi;
    uint32_t bytes_lo; /* Written since the start. */
    uint32_t bytes_hi;
};
SIGNAL_STRUCT(redo_status_conf, 16);
