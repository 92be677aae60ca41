/* lqh_redo.h -- the redo log inside DBLQH: its files at NDBFS, operations held back, saves under
 * way. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dblqh/redo/redo_log.h"
#include "blocks/dblqh/lqh_frags.h"
#include "signals/fs.h"
#include "signals/redo.h"

#define REDO_SAVES_MAX  8u /* GCP_SAVEREQs under way: one, and those of masters that took over. */
#define REDO_DELAY_MS   2u /* Operations that are held back have their turn so often. */
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
    struct lqh_frag frag; /* RESTORE has it; key_def is not kept. */
    bool asked;
    uint32_t start_gci; /* The oldest that a fragment needs. */
    uint32_t keep_gci;  /* From here on the log was never told to forget anything. */
    uint32_t fragments;
    uint32_t kbytes;
    uint64_t rows;
    uint64_t bytes;
    uint64_t begin_ms;
    uint64_t restored_ms;
    uint32_t ended_count;
    struct redo_ended ended[REDO_ENDED_MAX];
};

/* Only in nodes with files. */
struct lqh_redo {
    struct redo_log log;
    uint32_t fs_file[REDO_FILES_MAX];
    uint32_t open_file; /* Being opened. */
    uint64_t open_size;
    bool created;
    uint32_t others; /* Who hears RECOVER_REF when the files are of no use; 0: the node ends. */
    bool given_up;
    uint32_t percent;
    uint32_t percent_logged;
    /* Who waits for opening or starting. */
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
    uint64_t hint_ms;  /* When DIH was last told. */
    struct lqh_recover recover;
    char text[640]; /* Last words. */
};
