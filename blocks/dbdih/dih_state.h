/* dih_state.h -- DBDIH's own records. Private to blocks/dbdih. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbdih/dih_block.h"
#include "formats/sysfile_format.h"
#include "values/attr.h"
#include "signals/dict.h"
#include "signals/dih.h"
#include "signals/fs.h"
#include "signals/gcp.h"
#include "signals/lcp.h"
#include "signals/qmgr.h"
#include "signals/rejoin.h"
#include "signals/start.h"
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

/*
 * A node that comes back. At the node: NONE --NODE_INCLUDE_REQ--> WAITING --GCP_INCLUDE_ORD-->
 * PARTIAL --DIH_COMPLETE_REQ--> CHECKING --an epoch, a GCI and a checkpoint that began behind it-->
 * WHOLE --SYSFILE_START_REQ--> WRITING --both copies--> UNNAMED --COPY_GCIREQ names it--> NAMED
 * --that GCI is durable--> NONE. Without files from CHECKING to NONE.
 */
enum dih_include_state {
    DIH_INCLUDE_NONE = 0,
    DIH_INCLUDE_WAITING,
    DIH_INCLUDE_PARTIAL,
    DIH_IN_CHECKING,
    DIH_INCLUDE_WHOLE,
    DIH_IN_WRITING,
    DIH_IN_UNNAMED,
    DIH_INCLUDE_NAMED
};

struct dih_include {
    uint32_t state;           /* enum dih_include_state */
    uint32_t complete_sender; /* Sender of DIH_COMPLETE_REQ; 0 = it has not come. */
    uint32_t complete_data;
    uint32_t files_sender; /* Sender of SYSFILE_START_REQ. */
    uint32_t files_data;
    uint32_t floor_hi; /* CHECKING: an epoch newer than this one must be complete. */
    uint32_t floor_lo;
    uint32_t floor_gci; /* CHECKING: this GCI must be durable. */
    bool asked;         /* The master knows that a checkpoint is wanted. */
    bool counts;        /* The round under way began in CHECKING. */
    bool checkpointed;
    uint32_t rounds_failed;
    uint32_t saved; /* Newest GCI of COPY_GCIREQ: all logs have it. */
    uint32_t named_gci;
    /* At the master. */
    struct node_mask joining; /* Nodes that are to be taken in between two epochs. */
    struct node_mask partial; /* Nodes that are taken in, and not named in system files yet. */
};

/* --- The system file: formats/sysfile_format.h. --- */

static_assert(SYSFILE_BLOCK == FS_ALIGN && SYSFILE_NODES == NODE_ID_MAX + 1u, "one numbering");

/*
 * CLOSED -> OPENING 0 -> READING 0 -> CLOSING 0 -> the same with 1 -> READY
 * READY -> REOPENING 0 -> REOPENING 1 -> WRITING <-> READY
 * Between reading and the first write they are closed: an initial start removes them.
 */
enum sysfile_state {
    SYSFILE_CLOSED = 0,
    SYSFILE_OPENING,
    SYSFILE_READING,
    SYSFILE_CLOSING,
    SYSFILE_READY,
    SYSFILE_REOPENING,
    SYSFILE_WRITING
};
enum sysfile_found { SYSFILE_NONE = 0, SYSFILE_GOOD, SYSFILE_BAD };

struct dih_sysfile {
    uint32_t state; /* enum sysfile_state */
    uint32_t copy;  /* Copy that is being opened, read or written. */
    uint32_t file[SYSFILE_COPIES];
    uint32_t found[SYSFILE_COPIES]; /* enum sysfile_found */
    uint64_t sequence; /* Sequence of the newest write: the copy with the greater one counts. */
    uint64_t older;    /* Sequence of the other copy, when both are good. */
    /* Sequence in the header of a damaged copy; 0 = the header is no good. */
    uint64_t bad_sequence;
    bool cut; /* A damaged copy is shorter than any good one. */
    uint32_t has_data;
    uint32_t damaged; /* The copy that counts may be gone: this node waits until the others run. */
    uint32_t writes;  /* Writes that are still to be done. */
    bool lone;        /* Only one copy has, or will have, the newest GCI. */
    bool open;
    uint32_t start_sender; /* Sender of the SYSFILE_START_REQ that waits; 0 = none does. */
    uint32_t start_data;
    uint32_t void_sender; /* Sender of the SYSFILE_VOID_REQ that waits; 0 = none does. */
    uint32_t void_data;
    uint32_t sttor_sender;
    uint32_t sttor_data;
    uint32_t ends_sender; /* Sender of the SYSFILE_ENDS_REQ that waits; 0 = none does. */
    struct sysfile_ends_req ends;
    uint8_t *buffer;    /* SYSFILE_BYTES_MAX for each copy. */
    uint32_t schema_lo; /* Sequence of the schema files, from DICT; 0 = not heard yet. */
    uint32_t schema_hi;
    struct sysfile now;
    struct sysfile read; /* Content of the copy that was read last. */
};

/* --- Local checkpoints. --- */

/* The president's part. A round is one for the whole cluster. */
struct lcp_master {
    uint32_t lcp_id; /* Number of the round; 0 = there is none. */
    uint32_t last_id;
    uint32_t wanted; /* enum lcp_reason: another one afterwards. */
    /* Nodes that want another round, of theirs alone, which comes first. */
    struct node_mask wanted_nodes;
    struct node_mask alone; /* The round is one of these nodes; empty: of all. */
    struct node_mask took;  /* Nodes that have a part in the round. */
    struct node_mask waiting;
    uint64_t begin_ms;
    uint32_t fragments;
    uint32_t failed;
    uint32_t kbytes;
    uint32_t pages;
    uint32_t deltas;     /* Delta pages among `pages`. */
    uint64_t delta_rows; /* Rows in these delta pages. */
};

/*
 * IDLE --LCP_NODE_REQ--> WRITING --all BACKUPs--> DURABLE_WAIT --end GCI is durable-->
 * CLEANING --all BACKUPs--> NAMING --both system files--> IDLE
 */
enum lcp_node_state { LCPN_IDLE = 0, LCPN_WRITING, LCPN_DURABLE_WAIT, LCPN_CLEANING, LCPN_NAMING };

/* What every node does. */
struct lcp_node {
    uint32_t state;  /* enum lcp_node_state */
    uint32_t master; /* Reference of the DIH whose round it is. */
    struct lcp_node_conf result;
    uint32_t end_gci;
    struct node_mask waiting; /* BACKUP instances. */
    uint32_t next_master;     /* DIH whose round comes afterwards; 0 = none. */
    struct lcp_node_req next;
    /* The logs' figures when they were last asked. */
    uint32_t logs_asked; /* LQH instances that have not answered. */
    uint32_t write_gci;  /* No newer GCI has records in a log. */
    uint32_t start_gci;  /* Start GCI of the last round; 0 = none since the start. */
    uint32_t fill;
    uint64_t bytes_sum;
    uint64_t bytes;
    uint64_t bytes_then; /* `bytes` when the last round began. */
    uint32_t held;       /* Requests for memory that had been refused till then for want of it. */
    uint64_t again_ms;   /* No round is wanted before this time, because one has failed here. */
    uint32_t pause_ms;   /* Pause after the round that failed; 0: the last one did not. */
    /* For reports. */
    uint64_t begin_ms;
    uint64_t last_ms;          /* When the last round was completed. */
    uint32_t last_duration_ms; /* How long the last round took. */
    struct lcp_node_conf last; /* Result of the last round; lcp_id 0 = none since the start. */
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

/* dih_fragment.c */
void dih_form_groups(struct dih *dih);
uint32_t dih_fragment_count(const struct dih *dih, int32_t balance,
                            uint32_t wanted); /* 0 = impossible. */
/* Places partitions, and so many copies of each: fewer than there are node groups. Fills
 * dih->words, returns how many. */
uint32_t dih_place(struct dih *dih, uint32_t partitions, uint32_t copies);

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

/* dih.c */
void dih_work_later(struct dih *dih, enum dih_work work, uint32_t data, uint32_t delay_ms);
/* Is this word of the present life of the cluster? A leftover of a former one comes before any word
 * of this one; behind it such a word breaks the protocol. */
bool dih_of_this_life(struct dih *dih, const struct signal *sig, uint32_t incarnation);
void dih_protocol_error(struct dih *dih, uint32_t sender, const char *what);
void dih_sttorry(struct dih *dih, uint32_t sender, uint32_t phase);

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

/* dih_include.c */
void dih_include_reset(struct dih *dih);
void dih_include_complete(struct dih *dih);
void dih_include_monitor(struct dih *dih);
void dih_include_go_on(struct dih *dih);
void dih_include_durable(struct dih *dih);
void dih_include_round_begun(struct dih *dih);
void dih_include_round_ended(struct dih *dih, uint32_t failed);
void dih_include_files(struct dih *dih, const struct signal *sig);
void dih_include_written(struct dih *dih);
bool dih_include_copies(struct dih *dih, uint32_t gci, struct node_mask *members);
void dih_include_lost(struct dih *dih, const struct node_mask *nodes, bool new_master);
void dih_exec_NODE_INCLUDE_REQ(struct block *block, const struct signal *sig);
void dih_exec_NODE_INCLUDE_REP(struct block *block, const struct signal *sig);
void dih_exec_GCP_INCLUDE_ORD(struct block *block, const struct signal *sig);
void dih_exec_GCP_WHOLE_REP(struct block *block, const struct signal *sig);
void dih_exec_DIH_COMPLETE_REQ(struct block *block, const struct signal *sig);

/* dih_nodefail.c */
bool dih_taken_over(const struct dih *dih); /* All nodes have taken over all failures so far. */
void dih_fail_reset(struct dih *dih);
void dih_exec_NODE_LOST_REP(struct block *block, const struct signal *sig);
void dih_exec_TAKEOVER_END_REP(struct block *block, const struct signal *sig);
void dih_exec_GCP_TAKEOVER_REP(struct block *block, const struct signal *sig);
void dih_exec_GCP_STATE_REQ(struct block *block, const struct signal *sig);
void dih_exec_GCP_STATE_CONF(struct block *block, const struct signal *sig);

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

/* dih_lcp_master.c */
void lcp_master_stop(struct dih *dih);
void lcp_master_lost(struct dih *dih, const struct node_mask *nodes);
void lcp_master_take(struct dih *dih); /* The former president is lost. */
void dih_exec_LCP_WANTED_ORD(struct block *block, const struct signal *sig);
void dih_exec_LCP_NODE_CONF(struct block *block, const struct signal *sig);

/* dih_lcp_node.c */
void lcp_node_named(struct dih *dih); /* Both system files have been written. */
void lcp_node_lost(struct dih *dih, const struct node_mask *nodes);
void lcp_node_want(struct dih *dih,
                   uint32_t reason); /* Asks the master for a round: enum lcp_reason. */
bool lcp_node_pauses(const struct dih *dih);
void lcp_node_durable(struct dih *dih); /* gcp_node.durable has moved. */
void lcp_node_monitor(struct dih *dih);
void dih_exec_LCP_NODE_REQ(struct block *block, const struct signal *sig);
void dih_exec_LCP_PART_CONF(struct block *block, const struct signal *sig);
void dih_exec_LCP_USABLE_CONF(struct block *block, const struct signal *sig);
void dih_exec_REDO_STATUS_CONF(struct block *block, const struct signal *sig);
void dih_exec_LCP_STATUS_REQ(struct block *block, const struct signal *sig);

/* dih_sysfile.c */
void sysfile_read(struct dih *dih, uint32_t sttor_sender, uint32_t sttor_data);
/* Writes gcp_node.copy_gci, which the logs of `members` have; sysfile_ends() came before. */
void sysfile_copy(struct dih *dih, const struct node_mask *members);
void sysfile_ends(struct dih *dih, const struct section *list);
/* A node that comes back learns of which life the data is, and later writes its first system files,
 * at `gci`. */
void sysfile_life(struct dih *dih, uint32_t incarnation, const struct section *ended);
void sysfile_join(struct dih *dih, uint32_t gci);
/* Lets both copies have the newest GCI. False: they have it already. */
bool sysfile_repeat(struct dih *dih);
/* Repeats the write of this sequence if it is still the newest. */
void sysfile_tick(struct dih *dih, uint32_t sequence);
void dih_exec_FSCLOSECONF(struct block *block, const struct signal *sig);
void dih_exec_FSCLOSEREF(struct block *block, const struct signal *sig);
void dih_exec_FSOPENCONF(struct block *block, const struct signal *sig);
void dih_exec_FSREADCONF(struct block *block, const struct signal *sig);
void dih_exec_FSWRITECONF(struct block *block, const struct signal *sig);
void dih_exec_FSOPENREF(struct block *block, const struct signal *sig);
void dih_exec_FSREADREF(struct block *block, const struct signal *sig);
void dih_exec_FSWRITEREF(struct block *block, const struct signal *sig);
void dih_exec_SYSFILE_INFO_REQ(struct block *block, const struct signal *sig);
void dih_exec_SYSFILE_START_REQ(struct block *block, const struct signal *sig);
void dih_exec_SYSFILE_VOID_REQ(struct block *block, const struct signal *sig);

/* Both copies get what is known now; lcp_node_named() follows. */
void sysfile_write_both(struct dih *dih);

/* dih_lists.c */
void dih_list_take(struct dih *dih, uint32_t instance, uint32_t number, uint32_t check);
/* False: there are no system files to name them in yet. */
bool dih_lists_name(struct dih *dih);
void dih_exec_LCP_LIST_REQ(struct block *block, const struct signal *sig);
void dih_exec_SCHEMA_WRITTEN_ORD(struct block *block, const struct signal *sig);

/* dih_log_ends.c */
uint32_t dih_own_ends(const struct dih *dih,
                      const uint32_t **pairs); /* Log parts that are known. */
bool dih_ends_name_own(const struct dih *dih, const struct section *list, uint32_t gci);
bool dih_ends_name_all(const struct section *list, const struct node_mask *members);
void dih_exec_LOG_ENDS_REQ(struct block *block, const struct signal *sig);
void dih_exec_LOG_ENDS_CONF(struct block *block, const struct signal *sig);
void dih_exec_SYSFILE_ENDS_REQ(struct block *block, const struct signal *sig);
