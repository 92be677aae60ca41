/* acc_init.c -- prepares DBACC's pools. Apart from the block itself, so that the core runs without
 * a node. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbacc/acc_state.h"

void acc_init(struct acc *acc, struct arena *arena, uint32_t locks_max, uint32_t frags_max,
              uint32_t deadlock_timeout_ms)
{
    acc->arena = arena;
    acc->deadlock_timeout_ms = deadlock_timeout_ms;
    pool_init(&acc->frags, arena, RG_SCHEMA, sizeof(struct acc_frag), frags_max);
    pool_init(&acc->locks, arena, RG_TRANSACTION, sizeof(struct acc_lock), locks_max);
    page_dir_init(&acc->overflow, arena, RG_DATA);
}
