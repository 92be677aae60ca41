/* lqh_redo.h -- the redo log inside DBLQH: its files at NDBFS, operations held back, saves under
 * way. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dblqh/redo/redo_log.h"
#include "blocks/dblqh/lqh_frags.h"
#include "signals/fs.h"
#include "signals/redo.h"

#define REDO_SAVES_MAX  8u /* GCP_SAVEREQs under way: one, and those of masters that took over. */
#define REDO_DELAY_MS   2u /* Time between two turns of operations that are held back. */
#define REDO_DELAY_STEP 64u
#define REDO_HINT_MS    100u

struct lqh_redo_save {
    uint32_t sender;
    uint32_t sender_data;
    uint32_t gci;
    uint64_t target;
};

/* IDLE --RECOVER_REQ--> RESTORING --RESTORE_END_CONF--> REPLAYING --> IDLE */
enum lqh_recover_state { RECOVER_IDLE = 0, RECOVER_RESTORING, RECOVER_REPLAYING };

struct lqh_recover {
    enum lqh_recover_state state;
    uint32_t sender;
    struct recover_req req;
    struct lqh_frag_position position;
    struct lqh_frag frag; /* The fragment that LCPREADER reads; key_def is not kept. */
    bool asked;           /* Whether LCPREADER has a fragment to read. */
    uint32_t start_gci;   /* Oldest GCI of which a fragment needs the log. */
    uint32_t keep_gci;    /* Oldest GCI that the log was never told to forget. */
    uint32_t fragments;
    uint32_t kbytes;
    uint64_t rows;
    uint64_t bytes;
    uint64_t begin_ms;
    uint64_t restored_ms;
    uint32_t ended_count;
    struct redo_ended ended[REDO_ENDED_MAX];
};

/* The log of an instance; only nodes with files have one. */
struct lqh_redo {
    struct redo_log log;
    uint32_t fs_file[REDO_FILES_MAX];
    uint32_t open_file; /* Number of the file that is being opened. */
    uint64_t open_size;
    bool created;
    uint32_t others; /* Who hears RECOVER_REF when the files are of no use; 0: the node ends. */
    bool given_up;
    uint32_t percent;
    uint32_t percent_logged;
    /* Sender of the order to open or to start the log; 0: none is open. */
    uint32_t order_sender;
    uint32_t order_data;
    uint32_t save_count;
    struct lqh_redo_save save[REDO_SAVES_MAX];
    /* Operations held back, oldest first, linked by lqh_op.delay_next. */
    uint32_t delay_first;
    uint32_t delay_last;
    uint32_t delayed;
    bool delay_sent;
    uint64_t moved_ms; /* When one of them last found room. */
    uint64_t hint_ms;  /* When DIH was last told that the log fills up. */
    struct lqh_recover recover;
    char text[640]; /* Text of the node's last message. */
};
