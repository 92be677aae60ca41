/* lqh_redo.h -- the redo log inside DBLQH: its files at NDBFS, operations held back, saves under
 * way. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dblqh/redo_log.h"
#include "signals/fs.h"
#include "signals/redo.h"

#define REDO_SAVES_MAX  8u /* GCP_SAVEREQs under way: one, and those of masters that took over. */
#define REDO_DELAY_MS   2u /* Operations that are held back have their turn so often. */
#define REDO_DELAY_STEP 64u

struct lqh_redo_save {
    uint32_t sender;
    uint32_t sender_data;
    uint32_t gci;
    uint64_t target;
};

/* Only in nodes with files. */
struct lqh_redo {
    struct redo_log log;
    uint32_t fs_file[REDO_FILES_MAX];
    uint32_t open_file; /* Being opened. */
    uint64_t open_size;
    bool created;
    uint32_t percent;
    uint32_t percent_logged;
    uint32_t replay_step_sent;
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
    uint64_t moved_ms; /* When one of them last left. */
    char text[256];    /* Last words. */
};
