/* lcpw.h -- LCPWRITER: writes the local checkpoints of one LDM. Signals in signals/lcp.h; plain
 * calls for its neighbours. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "formats/lcp_ctl.h"
#include "formats/lcp_format.h"
#include "formats/lcp_list.h"
#include "kernel/block.h"

/* Makes instance 1.. in its LDM's thread. Only while the node is being built; idle for ever in a
 * diskless node. */
struct block *lcpw_create(struct thread *thread, uint32_t instance);

/* Called by LQH when a table is dropped, before its memory is given back: nothing of it is read any
 * more, its files go. */
void lcpw_table_dropped(struct block *block, uint32_t table_id);

/* Called by LCPREADER: the fragment has this state; the next checkpoint goes on from it. False
 * without memory. */
bool lcpw_frag_restored(struct block *block, const struct lcp_ctl *ctl);

/* Called by LCPREADER: does this file belong to a fragment's state? `seq`: number of a data file, or
 * slot of a control file. */
bool lcpw_knows_file(struct block *block, uint32_t table_id, uint32_t fragment_id, uint32_t seq,
                     bool is_ctl);

/* The names of this node's files of a fragment. */
struct lcp_ident lcpw_ident(const struct block *block, uint32_t table_id, uint32_t version,
                            uint32_t fragment_id);

/* --- The LDM's list of fragments with checkpoints, as LCPREADER reads it. --- */

/* Takes one entry; false without memory. Of several of a fragment the newest counts. */
bool lcpw_frag_list(struct block *block, const struct lcp_part_entry *entry);
/* Takes the list's number and the log's tail; lists go on from there. */
void lcpw_part_restored(struct block *block, uint32_t number, uint32_t check, uint32_t tail_gci);
/* Number of the control file that must be there, at least; 0 = not listed. */
uint32_t lcpw_frag_listed(struct block *block, uint32_t table_id, uint32_t version,
                          uint32_t fragment_id);
/* Size of all data files listed, about. */
uint64_t lcpw_listed_bytes(const struct block *block);
/* All fragments have been restored: forgets entries of tables that are no more. */
void lcpw_restore_ended(struct block *block);
