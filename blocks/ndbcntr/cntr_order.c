/* cntr_order.c -- a node is slow: what that means for the order of replicas. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/ndbcntr/cntr_state.h"
#include "signals/pace.h"

void cntr_exec_NODE_PACE_REP(struct block *block, const struct signal *sig)
{
    (void)block;
    jam_data(SIG_PAYLOAD(sig, node_pace_rep)->slow);
}
