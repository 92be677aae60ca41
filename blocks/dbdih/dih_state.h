/* dih_state.h -- DBDIH's own records. Private to blocks/dbdih. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbdih/dih_block.h"
#include "signals/attr.h"
#include "signals/dict.h"
#include "signals/dih.h"
#include "signals/qmgr.h"
#include "signals/start.h"
#include "signals/table_def.h"

#define NODE_GROUPS_MAX DATA_NODE_ID_MAX
#define LDM_SLOTS       64u /* LDM instances told apart when primaries are spread. */
#define DISTRIBUTION_WORDS_MAX                                                                     \
    (DISTRIBUTION_HEAD_WORDS + TABLE_FRAGMENTS_MAX * REPLICAS_MAX + TABLE_FRAGMENTS_MAX)

struct dih_group {
    uint32_t count;
    uint32_t node[REPLICAS_MAX]; /* In id order; members of the cluster only. */
    uint32_t fragments;          /* While a table is placed. */
};

struct dih {
    struct block block;
    struct node_mask members;
    uint32_t ldm_count[NODE_ID_MAX + 1];
    uint32_t groups;
    struct dih_group group[NODE_GROUPS_MAX];

    /* Scratch of one placement. */
    uint32_t primaries[NODE_ID_MAX + 1];
    uint32_t replicas[NODE_ID_MAX + 1][LDM_SLOTS];
    uint32_t primaries_ldm[NODE_ID_MAX + 1][LDM_SLOTS];
    uint32_t words[DISTRIBUTION_WORDS_MAX];
};

static inline struct dih *dih_of(struct block *block)
{
    return (struct dih *)(void *)block;
}

/* dih_fragment.c */
void dih_form_groups(struct dih *dih);
uint32_t dih_fragment_count(const struct dih *dih, int32_t balance,
                            uint32_t wanted);            /* 0 = impossible. */
uint32_t dih_place(struct dih *dih, uint32_t fragments); /* Fills dih->words, returns how many. */
