/* lqh_frags.h -- DBLQH's fragments, and the life of its redo log, for LCPWRITER and LCPREADER of its
 * instance group. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct table_def;

struct lqh_frag {
    uint32_t table_id;
    uint32_t version;
    uint32_t fragment_id;
    uint32_t tup_frag;               /* TUP's reference. */
    const struct table_def *key_def; /* Key definition for key_hash(); valid within the handler. */
};

/* Where a walk over the fragments is; zeroed: at the first one. */
struct lqh_frag_position {
    uint32_t table_id;
    uint32_t fragment_id;
};
enum lqh_frag_step { LQH_FRAG_FOUND = 1, LQH_FRAG_LATER, LQH_FRAG_END };

/* The next fragment of a complete table whose memory is not being given back. LATER: bounded work
 * is done, call again. */
enum lqh_frag_step lqh_frag_next(const struct block *lqh, struct lqh_frag_position *position,
                                 struct lqh_frag *frag);

/* A fragment that is here, whatever its table's state; false when it is not. */
bool lqh_frag_get(const struct block *lqh, uint32_t table_id, uint32_t fragment_id,
                  struct lqh_frag *frag);

/* The life of the instance's redo log: of the one that runs, or that must be there when the
 * instance recovers. False: it is not known. 0: made before logs had lives. */
bool lqh_log_life(const struct block *lqh, uint32_t *life);
