/* pace.h -- a data node is slow, or well again. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "signals/gsn.h"

/* QMGR to NDBCNTR of its node, on all nodes; a new president's QMGR says it again. */
struct node_pace_rep {
    uint32_t node;
    uint32_t slow; /* 1 = slow, 0 = well again. */
};
SIGNAL_STRUCT(node_pace_rep, 2);
