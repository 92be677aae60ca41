/* node_blocks.c -- the one place that knows all blocks. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "ndbmtd/node_blocks.h"
#include "blocks/lcpwriter/lcpw.h"
#include "blocks/cmvmi/cmvmi.h"
#include "blocks/dbacc/acc.h"
#include "blocks/dbdict/dict_block.h"
#include "blocks/dbdih/dih_block.h"
#include "blocks/dblqh/lqh.h"
#include "blocks/dbtc/tc.h"
#include "blocks/dbtup/tup.h"
#include "blocks/dbtux/tux.h"
#include "blocks/ndbcntr/cntr_block.h"
#include "blocks/ndbfs/fs_block.h"
#include "blocks/qmgr/qmgr_block.h"
#include "blocks/lcpreader/lcpr.h"
#include "blocks/trix/trix.h"
#include "ndbmtd/layout.h"

typedef struct block *create_block(struct thread *thread, uint32_t instance);

struct wiring {
    uint32_t block_no;
    create_block *create;
    enum { ONCE, PER_LDM, PER_TC } count;
};

/* The blocks, in the order in which READ_CONFIG_REQ reaches them: ACC, TUP and TUX before the LQH
 * that calls them. */
static const struct wiring wirings[] = {
    {BLOCK_CMVMI, cmvmi_create, ONCE},       {BLOCK_DBTUP, tup_create, PER_LDM},
    {BLOCK_DBACC, acc_create, PER_LDM},      {BLOCK_DBTUX, tux_create, PER_LDM},
    {BLOCK_DBLQH, lqh_create, PER_LDM},      {BLOCK_DBTC, tc_create, PER_TC},
    {BLOCK_DBDICT, dict_create, ONCE},       {BLOCK_DBDIH, dih_create, ONCE},
    {BLOCK_QMGR, qmgr_create, ONCE},         {BLOCK_NDBCNTR, cntr_create, ONCE},
    {BLOCK_NDBFS, fs_create, ONCE},          {BLOCK_LCPWRITER, lcpw_create, PER_LDM},
    {BLOCK_LCPREADER, lcpr_create, PER_LDM}, {BLOCK_TRIX, trix_create, ONCE},
};

static void create_one(struct node *node, const struct wiring *wiring, uint32_t instance)
{
    const struct node_config *config = node_config_of(node);
    uint32_t thread_no = layout_thread_of(config, wiring->block_no, instance);
    wiring->create(node_thread(node, thread_no), instance);
}

void node_blocks_create(struct node *node)
{
    const struct node_config *config = node_config_of(node);
    for (size_t i = 0; i < sizeof wirings / sizeof wirings[0]; i++) {
        const struct wiring *wiring = &wirings[i];
        if (wiring->count == ONCE) create_one(node, wiring, 0);
        uint32_t instances = wiring->count == PER_LDM  ? config->ldm_count
                             : wiring->count == PER_TC ? config->tc_count
                                                       : 0;
        for (uint32_t instance = 1; instance <= instances; instance++)
            create_one(node, wiring, instance);
    }
}
