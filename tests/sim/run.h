/* run.h -- one run of the simulator: swarm vector, cluster, client processes, the model of what
 * must be true. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "api/core/api_core.h"
#include "api/core/api_dict.h"
#include "api/core/api_scan.h"
#include "api/core/api_tx.h"
#include "api/core/counter.h"
#include "kernel/sim/sim_world.h"

#define CLIENTS_MAX  4u
#define SESSIONS_MAX 4u
#define TABLES_MAX   6u
#define ITEMS_MAX    12u
#define CLIENT_NODE  40u /* First client's node id. */

enum work_no {
    WORK_BANK,
    WORK_AUDIT,
    WORK_REGISTER,
    WORK_CHURN,
    WORK_SCAN,
    WORK_SCHEMA,
    WORK_FILL,
    WORK_PROGRAM,
    WORK_INDEX,
    WORK_NUMBER,
    WORK_ALTER,
    WORK_UNIQUE,
    WORK_OWN,
    WORK_BATCH,
    WORK_COUNT
};
enum fault_no {
    FAULT_CUT = 1,
    FAULT_STALL = 2,
    FAULT_SLOW = 4,
    FAULT_KILL = 8,
    FAULT_DATA_CUT = 16,
    FAULT_INSERT = 32,
    FAULT_DISK_ERROR = 64,   /* With files: full disks, I/O errors. */
    FAULT_DISK_DAMAGE = 128, /* With files: flipped bits, writes in the wrong place. */
    FAULT_NODE_KILL = 256,   /* With `failures`: data nodes end. */
    FAULT_NODE_HANG = 512,   /* With `failures`: data nodes do not run for a while. */
    /* With `failures`: data nodes lose a link to another, or hear nothing over it. */
    FAULT_NODE_CUT = 1024,
    FAULT_SINGLE = 2048,     /* Single user mode is entered and left. */
    FAULT_NODE_LEAVE = 4096, /* Data nodes are restarted in good order. */
    FAULT_NODE_SLOW = 8192,  /* Data nodes are slow for a while. */
    FAULT_LINK_SLOW = 16384  /* Links between data nodes are slow for a while. */
};

/* Tables: what each is for. From TABLE_CHURN on: rows that come and go. */
enum { TABLE_BANK = 0, TABLE_REGISTER, TABLE_STATIC, TABLE_CHURN };

/* Everything that is drawn about a run before it begins. */
struct swarm {
    uint64_t seed;
    uint32_t data_nodes, replicas, ldm, tc;
    bool split, tiny, small_data;
    bool failures; /* Data nodes are lost, and the cluster goes on. */
    /* Data nodes are lost by planned stops only: nothing may fail that cannot be repeated. */
    bool orderly;
    bool rejoin;    /* Data nodes that were lost come back. */
    bool operated;  /* Data nodes are started as an operator starts them: operator.c. */
    bool young;     /* The cluster is lost again and again before its first checkpoint. */
    bool spoil;     /* Files are changed while their node does not run. */
    bool starved;   /* Data nodes run rarely, and none is lost but one that hangs. */
    bool disk;      /* The nodes have files; some commits ask for durability. */
    bool full;      /* DataMemory is full when nodes are lost, and all has to fit again. */
    bool mixed_ldm; /* Not all nodes have the same number of LDM instances. */
    uint32_t id_first, id_step;
    uint32_t clients, sessions, jobs; /* Jobs per session. */
    uint32_t weight[WORK_COUNT];
    bool programs; /* Scans have filters, too. */
    bool counters; /* Rows have a column with a counter. */
    uint32_t faults;
    uint32_t accounts, registers, statics, churn_tables, churn_keys;
    uint32_t batch_rows; /* Rows of a large batch; 0 = there are none. */
    uint32_t key_kind[TABLES_MAX];
    uint32_t table_flags;
    uint32_t copied; /* Bits of the tables that are fully replicated. */
    uint32_t pad_max;
    struct node_config config;
    struct sim_options options;
};
void swarm_draw(struct swarm *swarm, uint64_t seed);
void swarm_draw_disk(struct swarm *swarm); /* After swarm_draw(): with files. */
/* When all else is drawn: fully replicated tables, and the room that they need. */
void swarm_draw_copies(struct swarm *swarm);
void swarm_draw_full(struct swarm *swarm); /* After all else. */
void swarm_draw_batches(struct swarm *swarm);
bool swarm_has_files(uint64_t seed); /* Every other seed, unless it is said. */
void swarm_print(const struct swarm *swarm, char *text, uint32_t size);
/* A full disk, an I/O error or a stall of this node. */
void swarm_draw_disk_fault(struct sim_plan *plan, struct rng *rng, uint32_t node, uint64_t at);
void plan_draw(struct sim_plan *plan, const struct swarm *swarm, struct rng *rng);

/* --- Model. --- */

enum key_state { KEY_ABSENT = 0, KEY_PRESENT, KEY_TAINTED };

/* What a commit made of a row. */
struct model_past {
    uint64_t epoch;
    enum key_state state;
    uint64_t value;
};

/* A row of a churn table: only one session writes it. */
struct model_key {
    enum key_state state;
    uint64_t value;
    uint32_t version;    /* Moves on when a change begins and when it ends: odd meanwhile. */
    uint32_t tainted_by; /* 1 + index into unknown[]. */
    /* With files: as it was when the cluster came back last, and all commits since. */
    enum key_state base_state;
    uint64_t base_value;
    struct model_past *past;
    uint32_t past_count, past_size;
};

/* A transaction whose outcome nobody told: all of its rows are old, or all are new. */
struct model_unknown {
    uint32_t count;
    uint64_t floor; /* If it was committed, then with this epoch or a later one. */
    bool late;      /* Perhaps only after the restart: the library had kept it back. */
    struct {
        uint32_t table, key;
        bool before, after; /* Present? */
        uint64_t value_before, value_after;
    } item[ITEMS_MAX];
    bool seen_new;
    bool seen_old; /* At the end, when nothing moves any more. */
};

enum reg_kind { REG_WRITE = 0, REG_READ_LOCKED, REG_READ_COMMITTED };
enum reg_end { REG_OPEN = 0, REG_DONE, REG_ABORTED, REG_UNKNOWN };

struct reg_event {
    enum reg_kind kind;
    enum reg_end end;
    uint32_t row;
    uint64_t value;
    uint64_t invoked;
    uint64_t returned;
    uint64_t epoch; /* Epoch of a write; the least that it may have when its outcome is unknown. */
};

/* A table that a session makes, fills and drops. */
#define SCHEMA_MODELS 64u
#define SCHEMA_ROWS   4u
enum schema_state { SCHEMA_CREATING = 0, SCHEMA_CREATED, SCHEMA_DROPPING };
enum schema_filled { FILLED_NOT = 0, FILLED_DONE, FILLED_UNKNOWN };
struct model_schema {
    uint32_t session, number; /* The two make its name. */
    enum schema_state state;
    enum schema_filled filled;
    uint64_t epoch; /* Epoch of its rows; the least possible one when that is unknown. */
    bool leaving;   /* The check has asked for its drop. */
};

/* Indexes that come and go while their tables are used: work_index.c. Each session has an ordered
 * one and a unique one. */
enum online_state { ONLINE_GONE = 0, ONLINE_THERE, ONLINE_UNKNOWN };
struct model_online {
    enum online_state state;
    uint32_t table;
    uint32_t number; /* The number in its name. */
    uint32_t id;     /* Its id in the definition. */
    bool by_value;   /* It is an index of the column v. */
    bool doubted;    /* It was not known before the change whether it was there. */
    uint32_t changes;
};

/* The unique index u_fs of a table: work_unique.c. */
enum unique_drop { UNIQUE_DROP_NEVER = 0, UNIQUE_DROP_TRIED, UNIQUE_DROP_TOLD };

/* Numbers that were taken for a table: work_number.c. */
#define COUNTER_ROWS    3u
#define COUNTER_NUMBERS 16384u
struct model_counter {
    uint32_t major;        /* How often the table was made anew. */
    uint64_t least, asked; /* The greatest least one of all takes; the sum of their counts. */
    uint64_t told;         /* One more than the greatest number that was told. */
    uint64_t told_safe;    /* One more than the greatest of those that are on disk. */
    uint8_t given[COUNTER_NUMBERS / 8], safe[COUNTER_NUMBERS / 8]; /* A bit for each number. */
};

/* A session's table whose definition changes: work_alter.c. */
struct model_alter {
    uint32_t kind;           /* enum alter_kind: the change under way, or the last one. */
    uint32_t number, former; /* The number in its name, and in its name before that change. */
    uint32_t column, former_column;
    uint32_t table_id;
    uint32_t rounds; /* Changes left. */
    uint32_t looks;
    uint32_t losses; /* Losses of the cluster when the job began. */
    bool doubted;    /* Nobody knows whether the change was made. */
    bool filled;
    uint32_t added;   /* Columns that were added. */
    uint32_t written; /* How many of these columns the rows have. */
    uint32_t shared;  /* The table of all sessions that gets a column. */
    uint64_t value[SCHEMA_ROWS];
};

struct model {
    struct model_alter alter[CLIENTS_MAX * SESSIONS_MAX];   /* Table of each session. */
    struct model_online online[CLIENTS_MAX * SESSIONS_MAX]; /* Ordered index of each session. */
    struct model_online own[CLIENTS_MAX * SESSIONS_MAX];    /* Unique index of each session. */
    bool own_tried[TABLES_MAX]; /* Such a unique index was tried on these tables. */
    enum unique_drop unique_drop[TABLES_MAX];
    struct model_key *key[TABLES_MAX]; /* [churn table][key of all sessions] */
    struct model_unknown *unknown;
    uint32_t unknown_count, unknown_size;
    struct reg_event *reg;
    uint32_t reg_count, reg_size;
    uint64_t clock;      /* Counts invocations and returns. */
    uint64_t next_value; /* Unique markers. */
    uint64_t bank_total;
    uint64_t *statics;
    /* The hot counter: increments that were committed, and those that perhaps were. */
    uint64_t hot_done, hot_unknown, hot_begun;
    int64_t hot_max;     /* The newest value that was told. */
    uint32_t hot_losses; /* Losses of the cluster before that value. */
    struct model_counter counter[COUNTER_ROWS];
    uint32_t counter_losses; /* Losses of the cluster before the numbers were told. */
    struct model_schema schema[SCHEMA_MODELS];
    uint32_t schema_count;
};

/* Losses of the whole cluster: lives.c, durability.c. */
struct durability {
    bool down;      /* The cluster is lost; nothing new begins until it is back and checked. */
    bool orderly;   /* All nodes have been ordered to stop, and nothing else has ended them. */
    bool at_rest;   /* After such a stop the last node has ended. */
    bool verifying; /* The cluster that is back is being checked. */
    bool damaged;   /* A node has stopped and named the damaged file: the run ends. */
    uint64_t down_us;
    uint64_t again_us; /* A node that has ended begins anew within this time. */
    /* When each node begins anew, by its index; 0 = it has not ended yet. */
    uint64_t start_us[NODE_ID_MAX + 1];
    uint32_t declared;  /* Newest GCI that a node said was durable. */
    uint32_t promised;  /* Newest GCI of a commit that was answered as durable, or before a table's
                           end. */
    uint32_t recovered; /* GCI with which the cluster came back; UINT32_MAX = not yet. */
    uint32_t losses, starts, restarts;
    uint32_t checking;         /* The sum of losses and starts when the check began. */
    uint32_t rest_gci;         /* At rest: the GCI of the first system file that is read again. */
    uint32_t rest_incarnation; /* At rest: the incarnation in that file; 0 = none was read. */
};

/* --- Sessions. --- */

struct run;
struct client;

struct item {
    uint32_t table, key;
    enum key_operation operation;
    uint64_t value;  /* The value to be written. */
    bool unique;     /* The row is named by `named`, its value, through UNIQUE_VALUE. */
    uint64_t named;  /* The value that names the row. */
    uint64_t got;    /* The value that was read. */
    int64_t counter; /* The counter that was read with it. */
    int64_t add;     /* What an update by a program adds to the counter. */
    bool program;
    uint32_t rows;   /* Rows that were read. */
    uint32_t added;  /* Columns that were added to its table and written with it. */
    uint32_t expect; /* The error that must come, with IGNORE_ERROR. */
};

enum session_state { SESSION_IDLE = 0, SESSION_BUSY, SESSION_OVER };

/* A range of a scan: rows with values from `low` to `high`, both among them; or with this key. */
#define SCAN_PARTS   40u /* More than fit into the first record of an LQH. */
#define SCAN_ANY_KEY UINT32_MAX
struct scan_part {
    uint32_t number;
    uint32_t key;
    uint64_t low, high;
};

/* The last row that a scan gave. */
struct scan_last {
    bool any;
    uint32_t range;
    uint64_t value;
};

struct session {
    struct client *client;
    struct api_client *api;
    struct api_table *table[TABLES_MAX];
    uint32_t no; /* Number of the session, over all clients. */
    enum session_state state;
    uint32_t jobs_left;
    uint64_t not_before_us;
    /* The job under way. */
    enum work_no work;
    uint32_t phase;
    uint32_t count;
    struct item item[ITEMS_MAX];
    struct item *batch; /* More items of the same transaction; NULL until there was one. */
    uint32_t batch_count;
    bool writes; /* A commit may be on its way. */
    bool rollback;
    enum lock_mode lock;
    struct api_tx *tx;
    bool durable;         /* The execute under way asks for the disk. */
    bool commits;         /* The execute under way asks for the commit. */
    uint64_t epoch_floor; /* The newest epoch that any client knew of when it began. */
    api_tx_done done;
    struct api_scan *scan;
    struct api_table *schema_table;
    uint64_t begun_us;
    uint64_t invoked;
    uint32_t reg_index;
    uint32_t *seen;     /* Scan: how often each key was seen. */
    uint32_t *versions; /* Scan: versions of the keys when it began. */
    uint8_t *states;
    uint64_t *values;
    uint64_t scan_rows;
    uint64_t scan_from; /* Scan with a filter: rows whose value is less are not wanted. */
    struct scan_part scan_part[SCAN_PARTS]; /* Ranges of an index, or one with everything. */
    uint32_t scan_parts;
    bool scan_merged;   /* Rows come in order across fragments, not only within each. */
    bool scan_by_value; /* The index is that of the values. */
    bool scan_descending;
    uint32_t scan_online;  /* 1 + the session whose index is scanned; 0 = it is none of these. */
    uint32_t scan_changes; /* The `changes` of that index when the scan began. */
    /* The last row of each fragment; of a merged scan only the first is used. */
    struct scan_last *scan_last;
    int64_t hot_floor;    /* The hot counter was at least that when the job began. */
    uint32_t hot_losses;  /* Losses of the cluster when the job began. */
    uint32_t counter_row; /* The counter that the take under way is of. */
    struct counter_take counter_take;
    struct counter counter; /* That counter as it was read. */
    uint64_t counter_floor; /* Numbers below this one were told before the take. */
    uint32_t fill_next;     /* Rows that the fill job has inserted. */
    uint32_t fill_high;     /* The most of them that there ever were. */
    bool ready_due;         /* A scan has something to look at. */
};

struct client {
    struct run *run;
    uint32_t node;
    struct api_core *core;
    bool alive;
    struct session session[SESSIONS_MAX];
};

struct run_figures {
    uint64_t committed, aborted, unknown, jobs, rows_scanned, errors[8];
    uint64_t entries; /* Entries of unique indexes that were compared with the rows. */
    /* Operations by unique indexes; transactions that these refused. */
    uint64_t by_unique, duplicates;
    uint64_t uniques_dropped; /* Unique indexes that were dropped from tables in use. */
    uint64_t uniques_made;    /* Unique indexes that were made on tables in use. */
    uint64_t copied;          /* Rows compared with their copies. */
    uint64_t batches;         /* Large batches that were committed. */
    uint64_t batches_read;    /* Large batches that were read as a whole. */
    uint64_t numberless;      /* Schema requests that met no free number for a table. */
};

#define EPOCH_ROWS_BITS 14
struct row_epoch {
    uint64_t key;
    uint64_t epoch;
};

/* An epoch of a commit that is asked for again after restarts. */
#define EPOCHS_KEPT 32u
enum epoch_fate { EPOCH_OPEN = 0, EPOCH_RESTORED, EPOCH_GONE };
struct epoch_kept {
    uint64_t epoch;
    enum epoch_fate fate;
};

struct epochs {
    struct epoch_kept kept[EPOCHS_KEPT]; /* A ring with one epoch of each GCI. */
    uint32_t kept_count;
    uint32_t asked[3]; /* Epochs that were asked for, by their fate. */
    uint64_t acked;    /* The newest epoch that a client was told. */
    uint64_t begun;    /* Epochs that were begun, over all nodes. */
    uint64_t durable;  /* Commits that were answered as durable. */
    uint64_t node[NODE_ID_MAX + 1];
    struct row_epoch row[1u << EPOCH_ROWS_BITS];
};

/* Damaged words between data nodes: tamper.c. */
struct tamper {
    bool on;
    bool one;                /* Only the words of one node are damaged. */
    uint32_t hostile;        /* That node; 0 = the words of all nodes are damaged. */
    struct node_mask misled; /* Nodes that were given another order than the others. */
    uint32_t left;           /* Damages still to be done. */
    uint32_t next;           /* Signals until the next damage. */
    uint32_t done;
    uint64_t kill_us;  /* When all nodes lose their power; 0 = never. */
    uint64_t epoch_us; /* When somebody else than the hostile node has last begun an epoch. */
    uint64_t end_us;   /* When damages have ended. */
    struct rng rng;
};

/* How long something took: recovery.c. */
struct timing {
    uint64_t count, sum_us, max_us, seed;
};

/* Figures over all runs of a call; shared by its processes. */
struct failure_figures {
    uint64_t committed, ended; /* Transactions that were committed, and all that have ended. */
    uint64_t losses, losses_starting, kills, leaves, hangs, cuts, stalls, fenced, starts_again,
        left_out;
    uint64_t rejoins, clusters_lost, clusters_damaged, singles, needless, misled, disks, disk_exits;
    uint64_t spoiled; /* How often files were changed between two lives. */
    /* Returns, and losses, of nodes while others were on their way. */
    uint64_t together, together_lost;
    uint64_t orders, orders_given_up; /* Changes of the order of replicas. */
    uint64_t overtaken;               /* Nodes that joined earlier and were included later. */
    uint64_t slow_nodes, slow_found, slow_others, slow_false, slow_links, slow_links_found;
    struct timing slow_seen;
    struct timing kill_seen, hang_seen, cut_seen, taken_over, returned;
    /* Copies that were completed, of nodes with own rows and of others; rows by what they did. */
    uint64_t deltas, fulls, given_up, own, kept, removed, copied, copied_full;
    uint64_t refused; /* Nodes that would have removed the last copy of something. */
};

/* How the operator starts the nodes: operator.c. By index of the node. */
struct operator_wish {
    bool set;
    uint32_t flags;
    uint64_t hold_us;
};
struct operator_wishes {
    struct operator_wish next[NODE_ID_MAX + 1];
    uint32_t flags[NODE_ID_MAX + 1];    /* Flags of the present life. */
    bool started[NODE_ID_MAX + 1];      /* The present life has got through its start. */
    uint64_t start_us[NODE_ID_MAX + 1]; /* Until when it waits for START; 0 = it does not. */
};

/* Losses that the cluster survives: failures.c. By index of the data node. */
struct failures {
    bool begun;
    uint32_t losses;
    uint32_t lives[NODE_ID_MAX + 1];      /* Lives of each node beyond the first. */
    uint64_t start_us[NODE_ID_MAX + 1];   /* When the next life begins; 0 = the node runs. */
    uint64_t born_us[NODE_ID_MAX + 1];    /* When this life has begun. */
    uint64_t started_us[NODE_ID_MAX + 1]; /* When the node was started in this life; 0 = not yet. */
    bool overtaken;                       /* Somebody is being overtaken. */
    bool together[NODE_ID_MAX + 1];       /* Another node was on its way at the same time. */
    uint64_t doomed_until[NODE_ID_MAX + 1]; /* Until when the node may have to leave. */
    uint64_t starved_until; /* Until then some nodes are starved, or were a moment ago. */
    /* When the first fault since it was started was; 0 = none. */
    uint64_t fault_us[NODE_ID_MAX + 1];
    enum sim_action fault[NODE_ID_MAX + 1]; /* Which fault that was. */
    uint64_t
        lost_us[NODE_ID_MAX + 1]; /* Since when it deals with losses of others; 0 = it does not. */
    uint32_t lost_no[NODE_ID_MAX + 1]; /* Failure number of the newest of these losses. */
    /* Until then some hang, are cut off, or just have: they may be waited for. */
    uint64_t disturbed_until;
    uint64_t excused_until; /* Until then the cluster may be lost for want of an arbitrator. */
    struct failure_figures *figures; /* NULL = nobody counts. */
};

/* Files changed between two lives of a node: spoil.c. */
struct spoil {
    /* Disks as they once were, by node id; NULL = not kept. */
    struct sim_disk *kept[NODE_ID_MAX + 1];
};

/* Slow nodes: pace.c. */
struct pace_watch {
    uint32_t node; /* The node that is slow, or was last; 0 = none. */
    uint32_t times, life;
    uint64_t begin_us, until_us;
    bool found;
    uint64_t disturbed_until; /* Until then something else is the matter. */
    /* Until then there is a reason to find a node slow, by its index. */
    uint64_t blamed_until[NODE_ID_MAX + 1];
    uint32_t president;    /* The president that has last said which nodes are slow. */
    struct node_mask slow; /* The nodes that are slow, as it has said. */
    bool link_slow;
};

/* Single user mode: single.c. */
struct single_mode {
    uint32_t node; /* The client node that it is known to be on for; 0 = it is off, or not known. */
    uint32_t failure_no, count; /* The newest change that was seen on, or ordered to end. */
    uint64_t again_us;
};

/* The order of replicas: order.c. */
struct replica_order {
    struct node_mask slow; /* Nodes that are reported as slow. */
    uint64_t next_us;      /* When the next report is due. */
};

struct run {
    struct operator_wishes wishes;
    struct failures failures;
    struct single_mode single;
    struct replica_order order;
    struct pace_watch pace;
    struct epochs epochs;
    struct tamper tamper;
    struct spoil spoil;
    struct durability durability;
    char schema_name[64];
    bool set_up_durable; /* The driver's next commits wait for the disk. */
    struct swarm swarm;
    struct sim_world *world;
    struct client client[CLIENTS_MAX];
    struct model model;
    uint32_t table_count;
    struct table_def *def[TABLES_MAX];
    uint32_t base_id[TABLES_MAX]; /* The tables' numbers: check_unique.c. */
    bool tables_ready;
    uint32_t setup_step;
    bool stop;              /* No new jobs. */
    uint64_t lull_until_us; /* No new jobs before. */
    bool parted;            /* A link between data nodes was cut: the cluster has to stop. */
    bool stopping_cluster;  /* The cluster has begun to stop. */
    struct sim_plan plan;
    bool plan_given;
    struct run_figures figures;
    /* Output. */
    const char *trace;
    const char *break_on; /* "SIGNAL@NODE:N" */
    uint32_t broken;      /* How often that signal has been executed. */
    bool verbose;
    uint64_t until;
    void (*hook)(struct run *run, const uint32_t *words); /* Scenarios: every executed signal. */
    void *hook_context;
    void (*crash_point)(struct run *run, uint32_t node); /* Scenarios: a file operation is done. */
    uint64_t epoch; /* Epoch of the last run_try() that was committed. */
    uint64_t floor; /* The newest epoch that was known when the last run_try() began. */
    struct open_request *open;
    uint32_t open_count;
};

/* Runs the drawn swarm from start to end. The verdict is in run->world until run_free(). */
void run_seed(struct run *run);
/* In parts, for scenarios: the cluster with its tables; single requests; the checks when all have
 * left. */
bool run_start(struct run *run);
uint32_t run_try(struct run *run, struct session *session, enum lock_mode lock,
                 enum api_outcome *outcome);
uint32_t run_try_create(struct run *run, struct session *session, const struct table_def *def,
                        uint32_t *table_id, uint32_t *version);
uint32_t run_try_schema(struct run *run, struct session *session, const struct table_def *def);
uint32_t run_try_index(struct run *run, struct session *session, uint32_t table,
                       enum alter_kind kind, const char *name);
/* One try to change a table. In req the number and version that it has then. */
uint32_t run_try_alter(struct run *run, struct session *session, struct alter_table_req *req,
                       const struct section *words);
void run_end(struct run *run);
/* Faults end, whoever was lost comes back, and all of the model is checked. */
void run_settle(struct run *run);
void run_free(struct run *run);
/* For the driver's own requests: reads the session's items (which may be missing); opens a table;
 * drops one. False: not to be had now. */
bool run_read(struct run *run, struct session *session);
bool run_open_table(struct run *run, struct session *session, uint32_t table);
bool run_open_schema(struct run *run, struct session *session, uint32_t slot, bool *there);
bool run_drop(struct run *run, struct session *session, uint32_t table_id, uint32_t version,
              bool perhaps_gone);
/* Asks whether the epoch is durable; *error is the answer. */
bool run_ask_epoch(struct run *run, struct session *session, uint64_t epoch, uint32_t *error);
/* sim_run_until() with data nodes starting again that have ended. */
bool run_until(struct run *run, bool (*done)(void *context), void *context, uint64_t until_us);
void run_fail(struct run *run, enum sim_verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* cluster.c */
void cluster_build(struct run *run);
bool cluster_started(struct run *run);
bool client_ready(const struct run *run, const struct client *client);
void client_kill(struct client *client);
void client_start(struct client *client);
uint32_t data_node_id(const struct run *run, uint32_t index);
uint32_t ldm_of(const struct run *run, uint32_t index); /* LDM instances of this node. */

/* row.c: content of a row follows from its value, so that a torn or mixed row is noticed. */
#define ROW_WORDS_MAX 2048u
/* A range of rows. Index 0, by_v: values from `low` to `high`, both among them; `closed` says
   whether the bounds are these values, inclusive, or their neighbours, exclusive. Index
   ROW_INDEX_KEY: the row with this key, if there is one. Else all rows. */
#define ROW_INDEX_KEY 2u
struct row_range {
    uint32_t number;
    uint32_t index;
    bool by_value;  /* Its first column is v. */
    uint32_t flags; /* enum scan_range_flags; SCAN_ONE_PARTITION with a key only. */
    uint64_t low;
    uint64_t high;
    bool closed;
    const struct table_def *def; /* Definition of the table, with a key. */
    uint32_t key_words;          /* 0 = no key. */
    uint32_t key[24];
};
struct table_def *row_table(struct run *run, uint32_t table, const char *name);
/* As SCAN_TABREQ carries it; returns the words. */
#define ROW_RANGE_WORDS 24u
uint32_t row_range(const struct row_range *range, uint32_t words[ROW_RANGE_WORDS]);
/* The number of the column v. */
uint32_t row_value_column(const struct run *run, uint32_t table);
/* How many ordered indexes the table has: by_v, then by_s, then by_k. */
uint32_t row_indexes(const struct run *run, uint32_t table);
uint32_t row_key(const struct run *run, uint32_t table, uint32_t key, struct rng *rng,
                 uint32_t *words);
uint32_t row_attrs(const struct run *run, uint32_t table, uint64_t value, uint32_t *words);
/* How many unique indexes the table has: u_fs, then u_v, which is over the value alone. */
#define UNIQUE_VALUE 1u
uint32_t row_uniques(const struct run *run, uint32_t table);
/* The place of u_v among those that the table has now. */
uint32_t row_unique_value(const struct table_def *def);
/* The counter of a row that has been parsed; NULL, or none, is 0. */
int64_t row_counter(const struct run *run, uint32_t table, const uint32_t *pairs, uint32_t words);
/* How many columns the table has from the beginning. */
uint32_t row_columns(const struct run *run, uint32_t table);
/* Pairs of the columns that were added, made of `value`: those that `def` knows, from `first` on.
 */
#define ROW_ADDED_FORMATS 4u
extern const struct column_format row_added_formats[ROW_ADDED_FORMATS];
uint32_t row_added(const struct table_def *def, uint32_t first, uint64_t value, uint32_t *words);
/* ATTRINFO with a program that adds to the counter and reads the row; refused with
   COUNTER_REFUSES when it would be less than COUNTER_LEAST. */
#define COUNTER_LEAST   (-100)
#define COUNTER_REFUSES 6001u
uint32_t row_add(const struct run *run, uint32_t table, int64_t add, uint32_t *words);
/* A program that wants rows with this value or a larger one. */
#define ROW_FILTER_WORDS 8u
void row_filter(const struct run *run, uint32_t table, uint64_t least, uint32_t *words);
/* *added: columns that were added and were written with the row's value. */
bool row_parse(struct run *run, uint32_t table, const uint32_t *pairs, uint32_t words,
               uint32_t *key, uint64_t *value, uint32_t *added);

/* session.c */
void session_open(struct session *session);
void session_crashed(struct session *session);
uint64_t session_run(struct session *session, uint64_t now_us);
void session_done(struct session *session);
struct item *session_add(struct session *session, uint32_t table, uint32_t key,
                         enum key_operation operation);
bool session_define(struct session *session, uint32_t first, enum lock_mode lock, uint32_t flags);
void session_execute(struct session *session, enum api_execute type, api_tx_done done);
void session_retry_later(struct session *session);
bool error_allowed(const struct run *run, uint32_t error);
void count_outcome(struct run *run, enum api_outcome outcome);
/* When all is quiet: the key of a row that a batch may have made; false: of no such row. */
bool batch_row(const struct run *run, uint32_t session, uint32_t i, uint32_t *leader,
               uint32_t *key);
struct rng *work_rng(struct run *run);

/* work_*.c */
struct work {
    const char *name;
    void (*start)(struct session *session);
    void (*crashed)(
        struct session *session); /* The client is gone, or the outcome unknown. May be NULL. */
    void (*run)(struct session *
                    session); /* Called while busy, when something may have changed. May be NULL. */
};
extern const struct work works[WORK_COUNT];
void setup_run(struct run *run);

/* model.c */
void model_init(struct run *run);
void model_free(struct run *run);
uint32_t model_unknown(struct run *run, const struct item *items, uint32_t count, uint64_t floor);
uint32_t reg_begin(struct run *run, enum reg_kind kind, uint32_t row, uint64_t value);
void reg_finish(struct run *run, uint32_t index, enum reg_end end, uint64_t value);
void reg_check(struct run *run);

/* lives.c */
void lives_lost(struct run *run); /* A scenario has ended data nodes: they start again. */
void lives_action(struct run *run, const struct sim_event *event);
/* The files are another node's, and the plan has put them there. */
bool lives_foreign(const struct run *run, uint32_t code);
bool lives_announced(struct run *run, uint32_t code);
/* A node that ends with this code says that its files are damaged. */
bool lives_damaged(uint32_t code);
/* A node that ends with this code says that a disk is to blame, and a fault of the plan may be. */
bool lives_disk_code(const struct run *run, uint32_t code);
void lives_watch(struct run *run);
void lives_observe(struct run *run, const uint32_t *words);

/* single.c */
void single_action(struct run *run, const struct sim_event *event);
void single_watch(struct run *run);
void single_observe(struct run *run, const uint32_t *words);
void single_draw(struct sim_plan *plan, const struct swarm *swarm, uint64_t span_us);

/* order.c */
void order_action(struct run *run, const struct sim_event *event);
void order_watch(struct run *run);
void order_observe(struct run *run, const uint32_t *words);
bool order_settled(void *context);
void order_check(struct run *run);
void order_draw(struct sim_plan *plan, const struct swarm *swarm, uint64_t span_us);

/* tamper.c */
void tamper_alone(struct swarm *swarm); /* No other faults; whoever is cut off is asked about. */
void tamper_begin(struct run *run);
void tamper_signals(void *context, uint32_t *words, uint32_t count);
bool tamper_due(struct run *run); /* The power goes now. */
void tamper_end(struct run *run); /* It goes at once, if it was to go later. */
void tamper_epoch(struct run *run, uint32_t node);
void tamper_watch(struct run *run); /* Epochs go on, whatever the hostile node says. */
/* A node stops by itself after the hostile one has done harm: is it that one, or misled by it? */
bool tamper_announced(struct run *run, uint32_t id, uint32_t code);

/* durability.c */
void past_add(struct run *run, uint32_t table, uint32_t index, uint64_t epoch);
void durability_check(struct run *run);
/* The cluster is back, but not checked yet: what ends now may have begun before or after. */
bool durability_late(const struct run *run);
bool durability_lost(const struct run *run); /* What the check under way read is worth nothing. */
/* Every executed signal: counts requests for which there are no table numbers left. */
void schema_observe(struct run *run, const uint32_t *words);
struct model_schema *schema_begin(struct run *run, uint32_t session, uint32_t number);
struct model_schema *schema_find(struct run *run, uint32_t session, uint32_t number);
void schema_forget(struct run *run, const struct model_schema *schema);
void schema_name(uint32_t session, uint32_t number, struct run *run); /* Into run->schema_name. */

/* check.c */
void check_final_rows(struct run *run);
void check_pools(struct run *run);
bool pools_quiet(struct run *run, char *text, uint32_t size);
void check_replicas(struct run *run);
void check_dictionaries(struct run *run);

/* check_unique.c */
void check_uniques(struct run *run); /* When all is quiet. */
/* The table's numbers, which stay: a client reads the definition only while it lives. */
void uniques_note(struct run *run, uint32_t table, const struct table_def *def);

/* check_copies.c */
void check_copies(struct run *run); /* When all is quiet. */

/* epochs.c */
void epochs_begin(struct session *session, enum api_execute type, api_tx_done done);
void epochs_executed(void *context, struct api_tx *tx); /* Passes on to `done`. */
/* A table is to be dropped or truncated, and has been: commits of before are durable. */
void epochs_table_goes(struct session *session);
void epochs_table_gone(struct session *session);
bool epochs_ask(struct run *run, struct session *session); /* False: not to be had now. */
void epochs_restart(struct run *run, uint32_t gci);        /* The cluster is back with this GCI. */
void epochs_observe(struct run *run, uint32_t node, const uint32_t *words);

/* recovery.c */
void timing_add(struct run *run, struct timing *timing, uint64_t us);
void timing_print(const char *what, const struct timing *timing);
void recovery_fault(struct run *run, uint32_t id, enum sim_action action);
void recovery_back(struct run *run, uint32_t id);
void recovery_ended(struct run *run, uint32_t i);
void recovery_observe(struct run *run, uint32_t node, const uint32_t *words);
void recovery_print(const struct failure_figures *figures);

/* report.c */
void report_observe(void *context, uint32_t node, uint32_t thread_no, const uint32_t *words);
void report_log(void *context, uint32_t node, enum log_level level, const char *text);
void report_open_requests(struct run *run);
