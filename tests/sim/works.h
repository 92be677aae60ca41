/* works.h -- what the files of the workloads share. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "tests/sim/run.h"

/* work_money.c */
enum api_outcome outcome_of(struct session *session);
bool still_active(struct session *session);
bool rows_lost(struct session *session);
void bank_start(struct session *session);
void audit_start(struct session *session);
void register_start(struct session *session);
void register_crashed(struct session *session);

/* work_rows.c */
void churn_start(struct session *session);
void churn_crashed(struct session *session);
void fill_start(struct session *session);
void fill_crashed(struct session *session);

/* work_batch.c */
void batch_start(struct session *session);
void batch_crashed(struct session *session);

/* work_scan.c */
void scan_start(struct session *session);
void scan_run(struct session *session);
void scan_crashed(struct session *session);

/* work_program.c */
void program_start(struct session *session);
void program_crashed(struct session *session);
void program_check_hot(struct run *run, int64_t counter);

/* work_index.c */
void index_start(struct session *session);
void index_crashed(struct session *session);
/* An index that is there, of this table; NULL: none. */
struct model_online *index_draw(struct run *run, uint32_t table);

/* work_unique.c */
void unique_start(struct session *session);

/* work_number.c */
void number_start(struct session *session);
void number_crashed(struct session *session);

/* work_alter.c */
void alter_start(struct session *session);
void alter_crashed(struct session *session);

/* work_schema.c */
void schema_start(struct session *session);
void schema_crashed(struct session *session);
