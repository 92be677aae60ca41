/* lqh_log.h -- what the redo log does for the rest of the block: room for operations, their
 * records, saves, and the restart from it. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct commit_train;
struct lqh;
struct lqh_data;
struct lqh_op;

/* lqh_redo.c; but for the handlers and lqh_redo_tail(), only when there is a log. */
void lqh_redo_init(struct lqh *lqh);
void lqh_redo_tail(struct lqh *lqh, uint32_t gci);
void lqh_redo_step(struct lqh *lqh);
void lqh_exec_GCP_SAVEREQ(struct block *block, const struct signal *sig);
void lqh_exec_REDO_OPEN_REQ(struct block *block, const struct signal *sig);
void lqh_exec_REDO_START_REQ(struct block *block, const struct signal *sig);
void lqh_exec_REDO_TAIL_ORD(struct block *block, const struct signal *sig);
void lqh_exec_REDO_STATUS_REQ(struct block *block, const struct signal *sig);
void lqh_exec_FSOPENCONF(struct block *block, const struct signal *sig);
void lqh_exec_FSOPENREF(struct block *block, const struct signal *sig);
void lqh_exec_FSPREALLOCATECONF(struct block *block, const struct signal *sig);
void lqh_exec_FSPREALLOCATEREF(struct block *block, const struct signal *sig);
void lqh_exec_FSREADCONF(struct block *block, const struct signal *sig);
void lqh_exec_FSREADREF(struct block *block, const struct signal *sig);
void lqh_exec_FSWRITECONF(struct block *block, const struct signal *sig);
void lqh_exec_FSWRITEREF(struct block *block, const struct signal *sig);
void lqh_exec_FSSYNCCONF(struct block *block, const struct signal *sig);
void lqh_exec_FSSYNCREF(struct block *block, const struct signal *sig);

/* lqh_redo_admit.c; only when there is a log. */
#define LQH_HELD_BACK 0xFFFFFFFFu /* Result of lqh_redo_admit(), not an error. */
uint32_t lqh_redo_admit(struct lqh *lqh, struct lqh_op *op, const struct lqh_data *data);
/* Is called before tup_commit(). */
void lqh_redo_commit(struct lqh *lqh, struct lqh_op *op, const struct commit_train *commit);
void lqh_redo_leave(struct lqh *lqh, struct lqh_op *op);
void lqh_redo_delay_tick(struct lqh *lqh);
void lqh_redo_check(struct lqh *lqh);

/* lqh_recover.c; only when there is a log. */
void lqh_recover_step(struct lqh *lqh);
void lqh_recover_tick(struct lqh *lqh);
void lqh_recover_replayed(struct lqh *lqh);
/* Ends the node, or tells that others are asked. */
void lqh_recover_fail(struct lqh *lqh, uint32_t code, const char *text);
/* Says in `text` what can be done about damage. */
void lqh_recover_advice(const struct lqh *lqh, char *text, size_t size);
/* Does the error mean that limits are lower than they were, and no damage? */
bool lqh_recover_no_memory(uint32_t error);
void lqh_exec_RECOVER_REQ(struct block *block, const struct signal *sig);
void lqh_exec_RESTORE_FRAG_CONF(struct block *block, const struct signal *sig);
void lqh_exec_RESTORE_FRAG_REF(struct block *block, const struct signal *sig);
void lqh_exec_RESTORE_END_CONF(struct block *block, const struct signal *sig);
