/* dih_gcp_state.h -- private: epochs and GCIs, at the president and everywhere; losses. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"
#include "formats/sysfile_format.h"
#include "signals/gcp.h"
#include "signals/takeover.h"

struct dih;

/*
 * OFF --STTOR phase 6, president--> IDLE --timer, or asked--> PREPARING --all PREPARECONF-->
 * COMMITTING --all NODEFINISH--> IDLE; from each of them to OFF when a member is lost.
 */
enum gcp_master_state { GCP_OFF = 0, GCP_IDLE, GCP_PREPARING, GCP_COMMITTING };
enum gcp_save_state { SAVE_IDLE = 0, SAVE_LOGS, SAVE_SYSFILES };

/* The president's part. */
struct gcp_master {
    uint32_t state;  /* enum gcp_master_state */
    uint32_t serial; /* Number of the timer that counts; older ones are dropped. */
    uint32_t gci_hi; /* Newest epoch that all nodes have. */
    uint32_t gci_lo;
    uint32_t done_hi; /* Newest epoch that is complete. */
    uint32_t done_lo;
    uint32_t next_hi; /* PREPARING, COMMITTING: epoch that the nodes get. */
    uint32_t next_lo;
    uint32_t force; /* GCIs up to this are to be closed without waiting for the timer. */
    bool epoch_now; /* The next micro-epoch begins without waiting for the timer. */
    struct node_mask waiting;
    uint64_t phase_ms;   /* Since when it waits for the answers of this phase. */
    uint64_t gci_ms;     /* When the newest GCI began. */
    uint32_t warned;     /* Seconds after which the wait was reported last. */
    uint32_t save_state; /* enum gcp_save_state */
    uint32_t save_gci;
    uint64_t save_ms;
    uint32_t save_warned;
    struct node_mask save_waiting;
    struct log_ends save_ends; /* What the members have said of save_gci. */
    uint32_t durable;
    uint32_t sttor_owed; /* NDBCNTR waits for the first epoch: its reference. */
    uint32_t sttor_data;
};

/*
 * IDLE --GCP_PREPARE--> HOLDING --all TCs--> HELD --GCP_COMMIT--> FINISHING --all TCs--> IDLE
 */
enum gcp_node_state { GCPN_IDLE = 0, GCPN_HOLDING, GCPN_HELD, GCPN_FINISHING };

/* What every node does. */
struct gcp_node {
    uint32_t state; /* enum gcp_node_state */
    uint32_t asker; /* Node that asked last about an epoch and gets the answer. */
    uint32_t saver; /* Node that asked last for a GCI to be saved and gets the answer. */
    /* Node that gets COPY_GCICONF; 0 = none has asked since the last GCP_NODE_SAVEREQ. */
    uint32_t copier;
    uint32_t serial; /* sender_data of the requests to the own TCs. */
    uint32_t gci_hi; /* Epoch of the own TCs. */
    uint32_t gci_lo;
    uint32_t next_hi;
    uint32_t next_lo;
    uint32_t old_hi; /* The epoch before gci. */
    uint32_t old_lo;
    uint32_t complete_hi;
    uint32_t complete_lo;
    struct node_mask waiting; /* TC instances. */
    uint64_t phase_ms;
    uint32_t warned;
    uint32_t save_gci;             /* GCI that is being saved; 0 = none. */
    uint32_t saved_gci;            /* GCI that was saved last. */
    struct node_mask save_waiting; /* LQH instances. */
    uint64_t save_ms;
    uint32_t save_warned;
    uint32_t save_lsn[SYSFILE_LDM_MAX][2]; /* What the LQHs said of save_gci, or of the last one. */
    uint64_t copy_ms;
    uint32_t copy_gci; /* GCI that goes into the system file; 0 = none. */
    uint32_t durable;
    uint32_t flush_sender; /* NDBCNTR waits for the durability of flush_gci; 0 = nobody. */
    uint32_t flush_data;
    uint32_t flush_gci;
    uint32_t rest; /* All nodes stop, and have flushed: nothing new begins. */
};

/* The loss of members that the cluster survives; docs/protocols/gcp.md. */
struct dih_fail {
    uint32_t failure_no;     /* Number of the newest failure; 0 = none yet. */
    struct node_mask taking; /* Own TCs that have not taken over. */
    uint32_t asked_no;       /* Failure of a GCP_STATE_REQ that this node has not heard of yet. */
    uint32_t asked_by;       /* Sender of that GCP_STATE_REQ. */
    struct node_mask states_due;  /* New master: nodes whose GCP_STATE_CONF has not come. */
    struct gcp_state_conf newest; /* State with the greatest epoch of those that have come. */
    /* State with the greatest prepared epoch of those that have come. */
    struct gcp_state_conf prepared;
    uint32_t durable; /* Greatest durable GCI of the states that have come. */
    bool apart;       /* Not all have the greatest epoch. */
    uint32_t taken_no[DATA_NODE_ID_MAX + 1]; /* Failure up to which each node has taken over. */
};

/* A wait of the epoch protocol that has lasted `ms` is reported after GCP_LATE_S seconds, and then
 * after twice the time. */
#define GCP_LATE_S 4u
static inline bool gcp_late(uint64_t ms, uint32_t *warned)
{
    uint32_t limit_s = *warned == 0 ? GCP_LATE_S : *warned * 2u;
    if (ms < limit_s * 1000u) return false;
    *warned = limit_s;
    return true;
}

/* `limit_ms` 0: no wait is too long. */
static inline bool gcp_too_late(uint64_t ms, uint32_t limit_ms)
{
    return limit_ms != 0 && ms >= limit_ms;
}

/* dih_gcp_master.c */
void gcp_master_begin(struct dih *dih, uint32_t sttor_sender, uint32_t sttor_data);
void gcp_master_stop(struct dih *dih); /* A member is lost, or all join anew. */
void gcp_master_tick(struct dih *dih, uint32_t serial);
void gcp_master_monitor(struct dih *dih);
void dih_exec_GCP_PREPARECONF(struct block *block, const struct signal *sig);
void dih_exec_GCP_NODEFINISH(struct block *block, const struct signal *sig);
void dih_exec_GCP_NODE_SAVECONF(struct block *block, const struct signal *sig);
void dih_exec_COPY_GCICONF(struct block *block, const struct signal *sig);
void dih_exec_GCP_CLOSE_ORD(struct block *block, const struct signal *sig);

/* dih_gcp_master.c, for dih_nodefail.c */
/* The nodes answer no more. */
void gcp_master_lost(struct dih *dih, const struct node_mask *nodes);
void gcp_master_go_on(struct dih *dih);   /* All answers may be there. */
void gcp_master_force(struct dih *dih);   /* Closes the newest GCI as soon as that may be. */
void gcp_master_include(struct dih *dih); /* Takes include.joining in, when that may be. */
void gcp_master_take(struct dih *dih, const struct gcp_state_conf *newest,
                     const struct gcp_state_conf *prepared, uint32_t durable, bool apart);

/* dih_gcp_node.c */
void gcp_node_reset(struct dih *dih);
void gcp_node_monitor(struct dih *dih);
const char *gcp_late_text(uint32_t what);           /* enum gcp_late_what */
void gcp_node_close(struct dih *dih, uint32_t gci); /* Asks the master; 0: for a micro-epoch. */
void gcp_node_copied(struct dih *dih);              /* The system file has copy_gci. */
void gcp_node_flushed(struct dih *dih);             /* Answers GCP_FLUSH_REQ when all is there. */
void dih_exec_GCP_PREPARE(struct block *block, const struct signal *sig);
void dih_exec_GCP_COMMIT(struct block *block, const struct signal *sig);
void dih_exec_EPOCH_COMPLETE_REP(struct block *block, const struct signal *sig);
void dih_exec_GCP_NODE_SAVEREQ(struct block *block, const struct signal *sig);
void dih_exec_COPY_GCIREQ(struct block *block, const struct signal *sig);
void dih_exec_GCP_NODE_DURABLE_REP(struct block *block, const struct signal *sig);
void dih_exec_GCP_STOP_ORD(struct block *block, const struct signal *sig);
void dih_exec_GCP_HOLD_CONF(struct block *block, const struct signal *sig);
void dih_exec_TC_EPOCH_CONF(struct block *block, const struct signal *sig);
void dih_exec_GCP_SAVECONF(struct block *block, const struct signal *sig);
void dih_exec_GCP_SAVEREF(struct block *block, const struct signal *sig);
void dih_exec_GCP_FORCE_ORD(struct block *block, const struct signal *sig);
void dih_exec_GCP_FLUSH_REQ(struct block *block, const struct signal *sig);

/* dih_nodefail.c */
bool dih_taken_over(const struct dih *dih); /* All nodes have taken over all failures so far. */
void dih_fail_reset(struct dih *dih);
void dih_exec_NODE_LOST_REP(struct block *block, const struct signal *sig);
void dih_exec_TAKEOVER_END_REP(struct block *block, const struct signal *sig);
void dih_exec_GCP_TAKEOVER_REP(struct block *block, const struct signal *sig);
void dih_exec_GCP_STATE_REQ(struct block *block, const struct signal *sig);
void dih_exec_GCP_STATE_CONF(struct block *block, const struct signal *sig);
