/* fake_workers.h -- stand-ins for DBTC, DBLQH and TRIX: they answer the dictionary, NDBCNTR and
 * QMGR as a test wishes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/cmvmi/cmvmi.h"
#include "blocks/dbdict/dict_block.h"
#include "blocks/dbdih/dih_block.h"
#include "blocks/ndbcntr/cntr_block.h"
#include "blocks/ndbfs/fs_block.h"
#include "blocks/qmgr/qmgr_block.h"
#include "signals/api_reg.h"
#include "signals/durable.h"
#include "values/errors.h"
#include "signals/gcp_local.h"
#include "signals/redo.h"
#include "signals/local_table.h"
#include "signals/order.h"
#include "signals/pace.h"
#include "signals/rejoin.h"
#include "signals/start.h"
#include "signals/takeover.h"
#include "signals/trix.h"
#include "tests/unit/support/fake_cluster.h"

#define FAKE_TABLES 64u

struct fake_worker {
    struct block block;
    uint32_t configured;
    uint32_t level;
    uint32_t state[FAKE_TABLES]; /* 0 none, 1 added, 2 online, 3 dropping. */
    uint32_t refuse_add;   /* Error for the LOCAL_TABLE_ADD_REQ behind the next `refuse_after`. */
    uint32_t refuse_after; /* LOCAL_TABLE_ADD_REQs that are still answered well. */
    uint32_t index[FAKE_TABLES];   /* 0 none, 1 built, 2 online, 3 dropping. */
    uint32_t refuse_index;         /* Error for the next LOCAL_INDEX_REQ. */
    uint32_t columns[FAKE_TABLES]; /* Columns of each table that LOCAL_COLUMN_ONLINE added. */
    uint32_t column_room;          /* 1 + the table that LOCAL_COLUMN_ADD was for. */
    uint32_t unique[FAKE_TABLES];  /* The last enum unique_state of that index's table. */
    uint32_t refuse_known;         /* Error for the next LOCAL_UNIQUE_REQ of KNOWN. */
    uint32_t fills;                /* BUILD_INDX_REQs. */
    uint32_t refuse_fill;          /* Error for the next BUILD_INDX_REQ. */
    bool hold_fill;                /* Filling takes for ever: until it is cancelled. */
    uint32_t filling_for;          /* Who asked for the filling under way; 0: nobody. */
    uint32_t filling;              /* sender_data of that request. */
    bool hold_index;               /* Building takes for ever: until it is cancelled. */
    struct local_index_req building;
    uint32_t building_for; /* 0: nobody. */
    uint32_t api_failed;   /* Node of the last API_FAILREQ. */
    bool held;             /* Commits are held: between GCP_HOLD_REQ and TC_EPOCH_REQ. */
    bool hold_epochs;      /* Keeps the answer to TC_EPOCH_REQ back. */
    bool hold_save;        /* Keeps the answer to GCP_SAVEREQ back. */
    uint32_t gci_hi;
    uint32_t gci_lo;
    uint32_t lists; /* Lists of former lives that came; `ended` has the last one. */
    uint32_t ended_count;
    uint32_t ended[128];
    uint32_t epochs;
    uint32_t saved;   /* Newest GCI of GCP_SAVEREQ. */
    uint32_t durable; /* GCI of GCP_DURABLE_REP. */
    uint32_t save_error;
    uint32_t lsn; /* The LSN that it says with GCP_SAVECONF. */
    uint32_t redo_opened;
    uint32_t redo_created;
    struct recover_req recover; /* The last one; restart_gci 0 = nothing to recover. */
    uint32_t recover_ended;     /* Pairs that came with it. */
    uint32_t recover_sender;
    bool hold_recover;
    uint32_t open_fails; /* REDO_OPEN_REQ, RECOVER_REQ are answered with RECOVER_REF. */
    uint32_t recover_fails;
    bool hold; /* Keeps the answers to API_FAILREQ and TC_DRAIN_REQ back. */
    uint32_t drains;
    uint32_t nodes_lost;        /* Number of the last NODE_LOST_REP. */
    uint32_t holds;             /* ORDER_HOLD_REQ without ORDER_HOLD_END_ORD. */
    struct order_places places; /* Places of the last ORDER_PLACES_REP. */
    /* The nodes that live, by the last NODE_LOST_REP or NODE_INCLUDE signal. */
    struct node_mask alive;
    struct node_include_req include;  /* What came at the node that comes back; node 0 = none. */
    struct node_include_rep included; /* What came at the other nodes. */
    bool hold_include;
    bool hold_takeover;
    bool hold_probe; /* Probes are not answered, as if its thread did not get to them. */
    /* The worker that must have a table online before this one may. */
    const struct fake_worker *before;
    uint32_t early; /* How often that one had not. */
};

/* A log that stays empty. */
/* The node whose logs are filled; something is written all the time. */
extern uint32_t fake_redo_node;
extern uint32_t fake_redo_fill;

/* Or 0: so much was written, and not more, into each log of all nodes. */
extern uint32_t fake_redo_bytes;
#define FAKE_HANDLERS (sizeof fake_handlers / sizeof fake_handlers[0])
extern const struct block_type fake_tc_type;
extern const struct block_type fake_lqh_type;
extern const struct block_type fake_trix_type;
struct fake_worker *fake_trix(struct fake_cluster *fc, uint32_t node);
struct fake_worker *fake_tc(struct fake_cluster *fc, uint32_t node, uint32_t instance);
struct fake_worker *fake_lqh(struct fake_cluster *fc, uint32_t node, uint32_t instance);

/* A data node with the real management blocks and fake workers: the workers in the last thread. */
void fake_data_node(struct fake_cluster *fc, uint32_t id, const struct node_config *config);

/* A configuration with `nodes` data nodes, two API nodes (6, 7) and a management server (8). */
struct node_config fake_config(uint32_t nodes, uint32_t replicas);
