/* sysfile.h -- NDBCNTR asks the DIH of its node what the system files say, and has them written. See
 * docs/protocols/gcp.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/*
 * What the node's system files say; after start phase 0. With data two sections: 0 the pairs of
 * former incarnations as below, 1 per LDM instance { lsn_lo, lsn_hi } of its log's last page known
 * to be durable.
 */
struct sysfile_info_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(sysfile_info_req, 1);
struct sysfile_info_conf {
    uint32_t sender_data;
    uint32_t has_data;        /* 0: there is no system file, the node starts initially. */
    uint32_t gci;             /* Newest GCI that the node can be restored to. */
    uint32_t incarnation;     /* Incarnation of the data: each start makes it greater. */
    uint32_t ldm_count;       /* LDM instances that wrote the data. */
    struct node_mask members; /* Nodes that took part in that incarnation. */
    /* 1: the newest data may be gone, and the cluster can do without this node. */
    uint32_t damaged;
    uint32_t schema_lo; /* Sequence of the dictionary that must be there; 0: unknown. */
    uint32_t schema_hi;
};
SIGNAL_STRUCT(sysfile_info_conf, 16);

/* The restart is at `gci`, which node `newest` has in its system file: CONF when this DIH knows
 * where the logs ended then. Section 0: as section 1 of SYSFILE_INFO_CONF. */
struct sysfile_ends_req {
    uint32_t sender_data;
    uint32_t gci;
    uint32_t newest;
};
SIGNAL_STRUCT(sysfile_ends_req, 3);
struct sysfile_ends_conf {
    uint32_t sender_data;
    uint32_t older; /* 1: the ends are those of an older GCI, the logs go on behind them. */
};
SIGNAL_STRUCT(sysfile_ends_conf, 2);

/*
 * The cluster starts: at `gci` (0: with nothing), as `incarnation`, which is greater than those of
 * all nodes. Section 0 (when this node lacks them): pairs { incarnation, GCI at which it ended } of
 * former incarnations, oldest first. CONF when the system file says so.
 */
struct sysfile_start_req {
    uint32_t sender_data;
    uint32_t gci;
    uint32_t incarnation;
};
SIGNAL_STRUCT(sysfile_start_req, 3);
struct sysfile_start_conf {
    uint32_t sender_data;
};
SIGNAL_STRUCT(sysfile_start_conf, 1);

/* From now on, until SYSFILE_START_REQ, nothing on this node's disk is of use. CONF when both
 * system files say so. */
struct sysfile_void_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(sysfile_void_req, 1);
struct sysfile_void_conf {
    uint32_t sender_data;
};
SIGNAL_STRUCT(sysfile_void_conf, 1);
