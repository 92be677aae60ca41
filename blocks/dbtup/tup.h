/* tup.h -- DBTUP: the rows of fragments and their changes. Plain calls inside one LDM instance
 * group. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbtup/tup_change.h"
#include "blocks/dbtup/tup_copy.h"
#include "blocks/dbtup/tup_frag.h"
#include "blocks/dbtup/tup_index.h"
#include "blocks/dbtup/tup_read.h"
#include "blocks/dbtup/tup_restore.h"
#include "blocks/dbtup/tup_row.h"

/*
 * The neighbour's handle is block_neighbour(block, BLOCK_DBTUP), cast to struct tup *. Not
 * thread-safe, as acc.h.
 *
 * The life of a write in LQH:
 *
 *   row = acc_find(tup_frag_index(frag), hash, key, words)
 *   row == ROW_NONE   insert, write: tup_insert(), which also locks the new row. Else
 *                     ERR_ROW_NOT_FOUND.
 *   row found         acc_lock(exclusive), perhaps wait and start again; then tup_insert,
 *                     tup_update, tup_write, tup_delete.
 *   commit            tup_commit(change), then acc_unlock(lock) when the protocol allows it.
 *   abort             tup_abort(change), then acc_unlock(lock).
 *   operation failed  nothing has changed; the lock that LQH took for it is given back with
 *                     acc_unlock().
 */
struct tup;

struct block *tup_create(struct thread *thread, uint32_t instance);
