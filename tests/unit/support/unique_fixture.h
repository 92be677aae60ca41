/* unique_fixture.h -- a table in use gets a unique index and loses it: DICT's orders, and clients
 * of the table. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "tests/unit/support/tc_fixture.h"

/* --- DICT's part. --- */

void unique_begin_order(uint32_t block_no, enum unique_state unique);
uint32_t unique_answered(void);
void unique_order(uint32_t block_no, enum unique_state unique);

/* All nodes know it; nothing fires. */
void unique_make_known(void);
void unique_make_firing(void);
void unique_make_online(void);
void unique_forget(void);

/* --- Clients. --- */

/* One committed operation on one row. */
void unique_done(struct trx *t, enum key_operation operation, uint32_t key, uint32_t value);
void unique_begun(struct trx *t, enum key_operation operation, uint32_t key, uint32_t value);
void unique_committed(struct trx *t);
void unique_rolled_back(struct trx *t);
void unique_expect_entry(uint32_t value, bool there);
