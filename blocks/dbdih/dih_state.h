/* dih_state.h -- private: struct dih, made of the records of its stories; node groups. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbdih/dih_block.h"
#include "blocks/dbdih/dih_gcp_state.h"
#include "blocks/dbdih/dih_include_state.h"
#include "blocks/dbdih/dih_lcp_state.h"
#include "blocks/dbdih/dih_sysfile_state.h"
#include "values/attr.h"
#include "signals/dict.h"
#include "signals/dih.h"
#include "signals/qmgr.h"
#include "signals/fs.h"
#include "signals/gcp.h"
#include "signals/gcp_local.h"
#include "signals/lcp.h"
#include "signals/rejoin.h"
#include "signals/start.h"
#include "signals/sysfile.h"
#include "signals/takeover.h"
#include "values/table_def.h"

#define NODE_GROUPS_MAX DATA_NODE_ID_MAX
#define LDM_SLOTS       64u /* LDM instances told apart when primaries are spread. */
#define DISTRIBUTION_WORDS_MAX                                                                     \
    (DISTRIBUTION_HEAD_WORDS + TABLE_FRAGMENTS_MAX * REPLICAS_MAX + TABLE_FRAGMENTS_MAX)

struct dih_group {
    uint32_t count;
    uint32_t node[REPLICAS_MAX]; /* Nodes of the group, in the order of their ids. */
    uint32_t fragments;          /* Fragments that the group has got, while a table is placed. */
};

enum dih_work { DIH_WORK_EPOCH = 1, DIH_WORK_MONITOR, DIH_WORK_SYSFILE };

struct dih_continueb {
    uint32_t work; /* enum dih_work */
    uint32_t data;
};
SIGNAL_STRUCT(dih_continueb, 2);

struct dih {
    struct block block;
    uint32_t incarnation; /* QMGR's; 0 = no member. */
    uint32_t president;
    uint32_t restart_gci; /* The newest GCI of the data that the cluster started with. */
    struct gcp_master gcp_master;
    struct gcp_node gcp_node;
    struct lcp_master lcp_master;
    struct lcp_node lcp_node;
    struct dih_fail fail;
    struct dih_include include;
    struct dih_sysfile sysfile;
    struct node_mask members;
    struct node_mask alike; /* Members that have sent a word of this incarnation. */
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

static inline uint32_t dih_own(const struct dih *dih)
{
    return block_config(&dih->block)->own_node;
}
static inline uint32_t dih_local(const struct dih *dih, uint32_t block_no)
{
    return block_ref(dih_own(dih), block_no, 0);
}
static inline bool dih_diskless(const struct dih *dih)
{
    return block_config(&dih->block)->diskless != 0;
}

/* Incarnation of the data, which epochs name; 0 without files. */
static inline uint32_t dih_incarnation(const struct dih *dih)
{
    return dih_diskless(dih) ? 0 : dih->sysfile.now.incarnation;
}

/* dih_fragment.c */
void dih_form_groups(struct dih *dih);
uint32_t dih_fragment_count(const struct dih *dih, int32_t balance,
                            uint32_t wanted); /* 0 = impossible. */
/* Places partitions, and so many copies of each: fewer than there are node groups. Fills
 * dih->words, returns how many. */
uint32_t dih_place(struct dih *dih, uint32_t partitions, uint32_t copies);

/* dih.c */
void dih_work_later(struct dih *dih, enum dih_work work, uint32_t data, uint32_t delay_ms);
/* Is this word of the present life of the cluster? A leftover of a former one comes before any word
 * of this one; behind it such a word breaks the protocol. */
bool dih_of_this_life(struct dih *dih, const struct signal *sig, uint32_t incarnation);
void dih_protocol_error(struct dih *dih, uint32_t sender, const char *what);
void dih_sttorry(struct dih *dih, uint32_t sender, uint32_t phase);
