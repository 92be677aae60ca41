/* qmgr_state.h -- QMGR's own records. Private to blocks/qmgr. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/cmvmi/event.h"
#include "blocks/qmgr/qmgr_block.h"
#include "blocks/qmgr/pace_rule.h"
#include "blocks/qmgr/reach_rule.h"
#include "kernel/base/beat_rule.h"
#include "signals/arbit.h"
#include "signals/failure.h"
#include "signals/qmgr.h"
#include "signals/start.h"

#define MISSED_WARNING 3u /* Intervals without a heartbeat before it is told. */
#define MISSED_DEAD    5u /* Four whole intervals were missed for sure. */

#define JOIN_TICK_MS      20u  /* Pause between the first JOIN_TICKS_FAST questions of a joiner. */
#define JOIN_TICK_SLOW_MS 200u /* Pause between its later ones. */
#define JOIN_TICKS_FAST   250u
#define JOIN_TIMEOUT_MS   3000u /* A join that takes longer starts over. */
/* A join into a running cluster that takes longer starts over: members may have to wait. */
#define NODE_JOIN_TIMEOUT_MS 12000u

/*
 *            STTOR 1             elected, or REGCONF             COMMIT for itself
 *   IDLE ------------> ELECTION ------------------> JOINING ----------------------> MEMBER
 *                        ^  \_________________________________ elected ____________/  |
 *                        |______________ a member was lost before anyone is started __|
 */
enum join_state { JOIN_IDLE = 0, JOIN_ELECTION, JOIN_JOINING, JOIN_MEMBER, JOIN_STATES };

/* May those who are in sight start? */
enum start_set {
    START_SET_READY = 0,
    START_SET_EMPTY,      /* Nobody has data: all nodes are needed. */
    START_SET_GROUP,      /* A node group has no node with data here. */
    START_SET_TIME,       /* It could, after StartPartialTimeout. */
    START_SET_PARTITIONED /* The others could be a cluster of their own. */
};
#define WAIT_TOLD_MS 1000u /* After this time the log says what the node waits for. */

enum api_state { API_NONE = 0, API_LINKED, API_REGISTERED, API_FAILING };

#define DOWN_SLOTS 4u

/* Reports of one lost link that have come; acted on when all threads have sent theirs. */
struct link_down {
    uint32_t epoch;
    uint32_t count;
};

struct qmgr_link {
    uint32_t epoch;   /* Epoch of the link that QMGR acts on; 0 = down. */
    uint32_t pending; /* A newer link that waits for the end of the older one's reports. */
    uint32_t sender_class;
    struct link_down down[DOWN_SLOTS];
    uint32_t down_next;
};

struct qmgr_peer { /* A data node. */
    uint32_t dynamic_id;
    uint32_t ldm_count;
    uint32_t tc_count;
    uint32_t agreed;   /* Candidate that it named in its last word of this election, 0 = none. */
    uint32_t has_data; /* enum cm_data, as it said in the same word. */
    uint32_t aside;    /* It stands aside, as it said on this link; a new election keeps that. */
    struct cm_known_ord known; /* What it knew of data when it said so. */
};

struct qmgr_client { /* An API node or management server. */
    uint32_t state;  /* enum api_state */
    uint32_t ref;    /* Reference of the client that has registered. */
    uint32_t data;   /* sender_data of its last API_REGREQ. */
    uint32_t missed;
    uint64_t heard_ms;       /* When its last word came; 0 = none has. */
    struct beat_window late; /* How late its words were. */
    uint32_t version;
    struct node_mask waiting_tc; /* API_FAILING: TC instances that have not confirmed. */
    uint32_t waiting_dict;
    uint32_t waiting_cmvmi;
};

/* A client's node id that a management server is about to give away. */
struct qmgr_reserved {
    uint32_t by; /* Node id of that server. */
    uint64_t until_ms;
};

/* The check: who reaches whom. */
struct qmgr_reach {
    uint32_t running;
    uint32_t tick_running;
    uint64_t tick_due_ms;    /* When the next tick should be. */
    uint64_t settles_ms;     /* After a stall: until then nobody is judged; 0 = no stall. */
    uint32_t beats;          /* Heartbeats since the last check without a reason. */
    uint32_t nonce;          /* Number of the last question. */
    struct node_mask lost;   /* Members whose link is down: they do not come back. */
    struct node_mask silent; /* Members that do not speak; an answer takes them back. */
    struct node_mask losers; /* Members that say that somebody is lost to them. */
    struct node_mask heard;  /* Members that have answered the last question. */
    struct node_mask told;   /* Members whose rows others have told. */
    /* QMGR_REACH_NOW is under way: what is found is evaluated behind what runs now. */
    bool evaluates;
    /* Nodes that each member has fenced, as far as it has told; they count as long as it stays. */
    struct node_mask fenced_by[DATA_NODE_ID_MAX + 1];
    uint32_t accused[DATA_NODE_ID_MAX + 1]; /* Node that each member accuses; 0 = none. */
    struct node_mask dismissed; /* Members that have closed their links to this node and said so. */
    uint32_t ask[NODE_ID_MAX + 1];
    uint64_t asked_ms[NODE_ID_MAX + 1];
    struct reach map;
    struct node_mask found; /* Members that have to leave, as the rule said last. */
    uint64_t found_ms;      /* Since when the rule has said that. */
    uint64_t first_ms;      /* The first suspicion since the last failure; 0 = none. */
};

/* The round: agreement on one failure. */
struct qmgr_failure {
    uint32_t number; /* Number of the last failure that is agreed. */
    /* Nodes of that failure; empty: it was agreed before this node joined. */
    struct node_mask last;
    struct node_mask fenced; /* Nodes that are fenced in the round under way. */
    uint32_t leader;         /* Leader to whom this node has confirmed `fenced`; 0 = none. */
    uint32_t leads;          /* This node leads the round. */
    uint32_t attempt;
    uint32_t again;           /* As leader: somebody has refused; the same set may do later. */
    uint64_t lead_ms;         /* When the last attempt began. */
    uint32_t open;            /* What is fenced still has its links, for a last word. */
    uint32_t conf_owed;       /* As another: the leader waits for FAIL_CONF. */
    uint32_t conf_attempt;    /* Attempt that this FAIL_CONF is for. */
    struct node_mask waiting; /* As leader: members that have not confirmed. */
    /* As leader: fenced nodes that are newcomers to one that has confirmed. */
    struct node_mask newcomers;
    uint32_t asking; /* As leader: the arbitrator has not answered. */
    uint64_t asked_ms;
    uint32_t behind;       /* The others are let in to the arbitrator first; asking is set, too. */
    struct node_mask told; /* Nodes that have told this one that they have fenced it. */
    uint32_t stopped;      /* This node stops; nothing counts any more. */
};

/* The arbitrator. */
struct qmgr_arbit {
    uint32_t state; /* enum arbit_state; only the president's is exact, others know RUN or FIND. */
    uint32_t node;  /* As a member: node id of the arbitrator; 0 = there is none. */
    uint32_t ticket[2];
    /* As president. */
    uint32_t candidate;
    uint32_t ticket_new[2];
    uint32_t former; /* PREP1: the arbitrator before, while nobody has the new one yet; 0 = none. */
    uint32_t ticket_former[2];
    uint32_t spent; /* Somebody may have asked with the ticket, or the arbitrator forgotten it. */
    struct node_mask waiting; /* Members that have not answered ARBIT_PREP_REQ. */
    uint32_t unlinked;        /* Some member is not linked to the candidate. */
    struct node_mask poor;    /* Candidates to which not all members are linked. */
    struct node_mask bad;     /* Candidates that do not answer. */
    uint64_t since_ms;        /* When `state` was entered. */
    uint64_t forget_ms;       /* When `poor` and `bad` were last emptied. */
    uint32_t tick_running;
};

#define PACE_SAMPLES 10u

/* The last measurements of something. */
struct pace_samples {
    uint32_t count; /* Measurements so far; the last PACE_SAMPLES of them are kept. */
    uint32_t ms[PACE_SAMPLES];
};

/* A member that this node asks again and again. */
struct pace_peer {
    uint32_t dynamic_id; /* Dynamic id of the life that is asked; 0 = none is. */
    uint32_t number;     /* Number of the last question to it. */
    uint32_t owed;       /* The last question is not answered. */
    uint64_t asked_ms;
    uint32_t reach_ms; /* How long the last answer took. */
    uint32_t inside_ms;
    struct pace_samples samples;
};

/* Who is slow: pace.md. */
struct qmgr_pace {
    uint32_t tick_running;
    uint64_t due_ms; /* When the next tick should be. */
    uint32_t number; /* Number of the last question or probe. */
    /* The own threads. */
    uint32_t probes; /* Probes of the own threads that are not back. */
    uint64_t probed_ms;
    uint32_t probe_ms; /* How long the last probes took until all were back. */
    struct pace_samples inside;
    struct pace_peer peer[DATA_NODE_ID_MAX + 1];
    /* As all know it. */
    struct node_mask slow;
    struct node_mask aside;
    /* As president. */
    struct pace_map map;
    uint64_t row_ms[DATA_NODE_ID_MAX + 1]; /* When the row of each came; 0 = never. */
    struct pace_state of[DATA_NODE_ID_MAX + 1];
    struct pace_state link;
    uint32_t link_slow;      /* The link between link_a and link_b is slow. */
    uint32_t link_a, link_b; /* Ends of the link that is followed; 0, 0 = none is. */
    uint64_t told_ms;
    uint32_t judges; /* As president this node has begun to judge, and tells everything again. */
};

struct qmgr {
    struct block block;
    struct qmgr_link link[NODE_ID_MAX + 1];
    struct qmgr_peer peer[NODE_ID_MAX + 1];
    struct qmgr_client client[NODE_ID_MAX + 1];
    struct qmgr_reserved reserved[NODE_ID_MAX + 1];
    struct node_mask linked; /* Data nodes with an open link. */

    /* As a joiner and member. */
    struct {
        uint32_t state; /* enum join_state */
        uint32_t attempt;
        uint32_t incarnation;
        uint32_t president;
        uint32_t dynamic_id;
        struct node_mask members; /* Members; this node is one once it is committed. */
        struct node_mask expected;
        struct node_mask waiting; /* JOINING: members whose NODEINFO has not come. */
        uint32_t prepared;        /* JOINING: CM_ADD PREPARE has come. */
        uint64_t since_ms;        /* When the state was entered. */
        uint64_t election_ms; /* When the node began to look for others: for StartPartialTimeout. */
        uint32_t ticks;
        uint32_t tick_running;
        uint32_t sttor_owed; /* NDBCNTR waits for phase 1. */
        uint32_t sttor_data;
        uint32_t last_cause;           /* Last refusal that was logged. */
        uint32_t first;                /* Node that comes back first, as it was logged; 0 = none. */
        uint32_t has_data;             /* enum cm_data of this node; from NDBCNTR. */
        uint32_t aside;                /* This node waits until the others run; from NDBCNTR. */
        struct cm_known_ord known;     /* What this node knows of data; from NDBCNTR. */
        uint32_t told_aside;           /* It was logged that all of its node group stand aside. */
        uint32_t running;              /* JOINING: the cluster is started. */
        uint32_t told_why;             /* enum start_set: why it waits, as it was logged last. */
        struct node_mask told_missing; /* Nodes that it waits for, as they were logged with that. */
    } join;

    /* As president. */
    struct {
        uint32_t joiner; /* Node being added, 0 = none. */
        uint32_t attempt;
        uint32_t phase; /* enum cm_add_phase */
        uint32_t dynamic_next;
        struct node_mask waiting; /* Nodes that have not answered the phase. */
    } president;

    /* Ring. */
    struct {
        uint32_t left;
        uint32_t right;
        uint32_t missed;
        uint32_t broken; /* A member was lost and NDBCNTR decides: nobody is watched. */
        uint32_t tick_running;
        uint64_t tick_due_ms; /* When the next tick should be. */
        uint64_t heard_ms;    /* When the left neighbour was last heard as such; 0 = never. */
    } ring;

    /* How irregular everything is: what the others and this node do late. */
    struct {
        struct beat_window window;
        uint32_t told_ms[DATA_NODE_ID_MAX + 1];  /* Patience of each, as it has said. */
        uint64_t heard_ms[DATA_NODE_ID_MAX + 1]; /* When each was last heard; 0 = never. */
    } beat;

    struct qmgr_reach reach;
    struct qmgr_failure failure;
    struct qmgr_arbit arbit;
    struct qmgr_pace pace;

    /* Node restart: members of a started cluster. */
    struct {
        uint32_t adding;  /* Node between CM_ADD PREPARE and COMMIT; 0 = none. */
        uint32_t owed;    /* CM_ADD PREPARE is not confirmed. */
        uint32_t guarded; /* Links of data nodes begin restricted. */
        uint64_t since_ms;
        uint64_t started_ms;        /* When this node ceased to be a newcomer. */
        struct node_mask newcomers; /* Members that are not started. */
        /* As a newcomer: members to whom this node is not a full member yet. */
        struct node_mask uncounted;
        struct node_mask leaving; /* Members that have said that they stop. */
        struct node_mask open;    /* Nodes that are no members and whose links may come. */
        uint64_t asked_ms[DATA_NODE_ID_MAX + 1]; /* When each asked to join, or its link came. */
    } rejoin;

    /* From NDBCNTR. */
    uint32_t start_level;
    uint32_t single_user; /* NODE_STATE_REP: a client works alone. */
    uint32_t start_phase;
    uint32_t master;
    uint32_t taken_no;
    struct node_mask started;
};

enum qmgr_work {
    QMGR_JOIN_TICK = 1,
    QMGR_RING_TICK,
    QMGR_CLIENT_TICK,
    QMGR_REACH_TICK,
    QMGR_REACH_NOW,
    QMGR_FENCE,
    QMGR_ARBIT_TICK,
    QMGR_PACE_TICK
};

static inline struct qmgr *qmgr_of(struct block *block)
{
    return (struct qmgr *)(void *)block;
}
static inline uint32_t qmgr_own(const struct qmgr *qmgr)
{
    return block_config(&qmgr->block)->own_node;
}
static inline uint32_t qmgr_local(const struct qmgr *qmgr, uint32_t block_no)
{
    return block_ref(qmgr_own(qmgr), block_no, 0);
}
static inline bool qmgr_is_data(const struct qmgr *qmgr, uint32_t node)
{
    return node <= NODE_ID_MAX && block_config(&qmgr->block)->node[node].type == NODE_DATA;
}
static inline bool qmgr_is_president(const struct qmgr *qmgr)
{
    return qmgr->join.state == JOIN_MEMBER && qmgr->join.president == qmgr_own(qmgr);
}
/* Error insert: this node behaves towards the other QMGRs as if it hung. */
static inline bool qmgr_hangs(const struct qmgr *qmgr)
{
    return ERROR_INSERTED(&qmgr->block, 940);
}

/* qmgr.c */
void qmgr_work_later(struct qmgr *qmgr, enum qmgr_work work, uint32_t delay_ms);

/* qmgr_link.c */
void qmgr_exec_LINK_UP_REP(struct block *block, const struct signal *sig);
void qmgr_exec_LINK_DOWN_REP(struct block *block, const struct signal *sig);

/* qmgr_join.c: the joiner's side. */
void qmgr_join_begin(struct qmgr *qmgr); /* Begins STTOR 1, for the first time or again. */
void qmgr_join_restart(
    struct qmgr *qmgr);                 /* Leaves what was reached and looks for the others anew. */
void qmgr_join_look(struct qmgr *qmgr); /* ELECTION: asks everyone in sight. */
void qmgr_join_tick(struct qmgr *qmgr);
void qmgr_join_check(struct qmgr *qmgr); /* Answers NDBCNTR when all expected nodes are members. */
void qmgr_move(struct qmgr *qmgr, enum join_state state);
struct node_mask qmgr_in_sight(const struct qmgr *qmgr);
uint32_t qmgr_candidate(const struct qmgr *qmgr);
uint32_t qmgr_follows(const struct qmgr *qmgr);
void qmgr_member_lost(struct qmgr *qmgr, uint32_t node, const char *how);
void qmgr_exec_CM_REGCONF(struct block *block, const struct signal *sig);
void qmgr_exec_CM_REGREF(struct block *block, const struct signal *sig);
void qmgr_exec_CM_NODEINFOREQ(struct block *block, const struct signal *sig);
void qmgr_exec_CM_NODEINFOCONF(struct block *block, const struct signal *sig);
void qmgr_exec_CM_NODEINFOREF(struct block *block, const struct signal *sig);
void qmgr_exec_CM_ADD_REQ(struct block *block, const struct signal *sig);
void qmgr_exec_CM_LEAVE_REP(struct block *block, const struct signal *sig);

/* qmgr_president.c */
void qmgr_election(struct qmgr *qmgr);     /* Becomes president if that is this node's place. */
void qmgr_tell_waiting(struct qmgr *qmgr); /* Says once in the log what the start waits for. */
void qmgr_president_reset(struct qmgr *qmgr);
void qmgr_exec_CM_REGREQ(struct block *block, const struct signal *sig);
void qmgr_exec_CM_ADD_CONF(struct block *block, const struct signal *sig);

/* qmgr_rejoin.c: node restart, and the stop of one node. */
bool qmgr_is_newcomer(const struct qmgr *qmgr); /* This node is a newcomer. */
/* As a newcomer: this node is not taken along by this failure. */
bool qmgr_may_stay(const struct qmgr *qmgr, const struct node_mask *leave);
/* Members, and whoever is about to be one, that every failure takes along. */
void qmgr_newcomers(const struct qmgr *qmgr, struct node_mask *nodes);
/* Those of them that do not count themselves: they joined behind this node, so they wait for its
 * word. One that joined before may count itself while that is on its way to here. */
void qmgr_voteless(const struct qmgr *qmgr, struct node_mask *nodes);
void qmgr_rejoin_stops(struct qmgr *qmgr); /* This node stops, in whatever order. */
/* Exit code when the others have declared this node dead. */
uint32_t qmgr_end_code(const struct qmgr *qmgr);
void qmgr_rejoin_open(struct qmgr *qmgr);
void qmgr_rejoin_close(struct qmgr *qmgr, uint32_t node); /* The node is fenced. */
uint32_t qmgr_rejoin_refusal(const struct qmgr *qmgr, uint32_t node, const struct cm_regreq *req);
uint32_t qmgr_rejoin_before(const struct qmgr *qmgr, uint32_t node);
void qmgr_rejoin_begin(struct qmgr *qmgr, uint32_t node);
void qmgr_rejoin_prepared(struct qmgr *qmgr);
void qmgr_rejoin_added(struct qmgr *qmgr, uint32_t node);
void qmgr_rejoin_prepare(struct qmgr *qmgr, const struct cm_add_req *req);
bool qmgr_rejoin_commit(struct qmgr *qmgr, const struct cm_add_req *req);
void qmgr_rejoin_check(struct qmgr *qmgr);
void qmgr_rejoin_linked(struct qmgr *qmgr, uint32_t node);
void qmgr_rejoin_failed(struct qmgr *qmgr, const struct node_mask *nodes);
void qmgr_rejoin_reset(struct qmgr *qmgr);
void qmgr_rejoin_tick(struct qmgr *qmgr);
void qmgr_exec_CM_COUNTED_REP(struct block *block, const struct signal *sig);
void qmgr_exec_CM_STOP_ORD(struct block *block, const struct signal *sig);

/* qmgr_heartbeat.c */
void qmgr_ring_update(struct qmgr *qmgr);
void qmgr_ring_tick(struct qmgr *qmgr);
void qmgr_exec_CM_HEARTBEAT(struct block *block, const struct signal *sig);

void qmgr_heard(struct qmgr *qmgr, uint32_t node); /* A word of it counts as a sign of life. */
/* Something came late by so much (0: in time). Counts while the node takes part in failures. */
void qmgr_beat(struct qmgr *qmgr, uint32_t node, uint64_t late_ms);
uint32_t qmgr_patience_own_ms(const struct qmgr *qmgr); /* Patience by what this node has seen. */
uint32_t qmgr_patience_ms(const struct qmgr *qmgr);     /* Patience by what any member has seen. */

/* qmgr_api.c */
void qmgr_client_up(struct qmgr *qmgr, uint32_t node);
void qmgr_client_down(struct qmgr *qmgr, uint32_t node);
void qmgr_client_tick(struct qmgr *qmgr);
void qmgr_clients_tell_level(struct qmgr *qmgr); /* This node is started, or is not any more. */
void qmgr_exec_SCHEMA_CHANGED_REP(struct block *block, const struct signal *sig);
void qmgr_clients_tell(struct qmgr *qmgr, uint32_t failure_no, const struct node_mask *nodes);
void qmgr_exec_API_REGREQ(struct block *block, const struct signal *sig);
void qmgr_exec_ALLOC_NODEID_REQ(struct block *block, const struct signal *sig);
void qmgr_exec_API_FAILCONF(struct block *block, const struct signal *sig);

/* qmgr_reach.c: detection. */
bool qmgr_talks(const struct qmgr *qmgr, uint32_t node, uint32_t incarnation);
uint32_t qmgr_silence_ms(const struct qmgr *qmgr, bool suspected); /* T1, T2 of failure.md. */
void qmgr_suspect(struct qmgr *qmgr, uint32_t node, bool lost, const char *how);
/* This node has closed its link for what it sent. */
void qmgr_accuse(struct qmgr *qmgr, uint32_t node);
/* A node has closed its link to this one and said so. */
void qmgr_dismissed(struct qmgr *qmgr, uint32_t node);
/* Those that one of `tellers` has fenced. */
void qmgr_condemned(const struct qmgr *qmgr, const struct node_mask *tellers,
                    struct node_mask *condemned);
/* This node reaches it, or reached it last. */
bool qmgr_reaches(const struct qmgr *qmgr, uint32_t node);
void qmgr_reach_probe(struct qmgr *qmgr);
void qmgr_reach_reset(struct qmgr *qmgr);
void qmgr_reach_view(struct qmgr *qmgr); /* The view has changed: what is left to be found? */
void qmgr_reach_row(struct qmgr *qmgr, uint32_t node, const struct node_mask *row);
void qmgr_reach_evaluate(struct qmgr *qmgr);
void qmgr_reach_now(struct qmgr *qmgr);                   /* QMGR_REACH_NOW has come. */
void qmgr_reach_joined(struct qmgr *qmgr, uint32_t node); /* The node is a member now. */
void qmgr_reach_tick(struct qmgr *qmgr);
void qmgr_exec_FAIL_REACH_REP(struct block *block, const struct signal *sig);

/* qmgr_failure.c: agreement. */
bool qmgr_agrees(const struct qmgr *qmgr); /* A lost member is a matter of agreement. */
void qmgr_failure_found(struct qmgr *qmgr, const struct node_mask *leave);
void qmgr_failure_fence_now(struct qmgr *qmgr);
void qmgr_failure_decided(struct qmgr *qmgr, uint32_t code); /* As leader: the verdict is `code`. */
void qmgr_failure_stop(struct qmgr *qmgr, uint32_t exit_code, const char *why);
void qmgr_exec_FAIL_PREPARE(struct block *block, const struct signal *sig);
void qmgr_exec_FAIL_CONF(struct block *block, const struct signal *sig);
void qmgr_exec_FAIL_REF(struct block *block, const struct signal *sig);
void qmgr_exec_FAIL_COMMIT(struct block *block, const struct signal *sig);
void qmgr_exec_FAIL_OUT_REP(struct block *block, const struct signal *sig);

/* qmgr_verdict.c: may this part go on? */
/* The rule's verdict on those that are left without `leave`, before any arbitrator is asked. */
enum arbit_code qmgr_rule(const struct qmgr *qmgr, const struct node_mask *leave);
void qmgr_verdict(struct qmgr *qmgr); /* As leader: all have confirmed. */
void qmgr_verdict_tick(struct qmgr *qmgr);
void qmgr_verdict_client_down(struct qmgr *qmgr, uint32_t node);
void qmgr_exec_ARBIT_CHOOSE_CONF(struct block *block, const struct signal *sig);
void qmgr_exec_ARBIT_CHOOSE_REF(struct block *block, const struct signal *sig);

/* qmgr_arbit.c: the arbitrator is chosen in advance. */
void qmgr_arbit_tick(struct qmgr *qmgr);
void qmgr_arbit_reset(struct qmgr *qmgr);
void qmgr_arbit_view(struct qmgr *qmgr, bool new_president);
void qmgr_arbit_ready(struct qmgr *qmgr); /* There may be a candidate, or somebody to want one. */
void qmgr_arbit_take_former(struct qmgr *qmgr); /* As leader: it is about to be asked. */
void qmgr_arbit_joined(struct qmgr *qmgr);      /* A new member does not know the arbitrator. */
void qmgr_arbit_client_down(struct qmgr *qmgr, uint32_t node);
void qmgr_arbit_tell(struct qmgr *qmgr, enum arbit_state state);
void qmgr_exec_ARBIT_START_CONF(struct block *block, const struct signal *sig);
void qmgr_exec_ARBIT_PREP_REQ(struct block *block, const struct signal *sig);
void qmgr_exec_ARBIT_PREP_CONF(struct block *block, const struct signal *sig);
void qmgr_exec_ARBIT_LOST_REP(struct block *block, const struct signal *sig);

/* qmgr_pace.c: how fast the others and the own threads are. */
void qmgr_pace_tick(struct qmgr *qmgr);
/* Members that are judged. */
void qmgr_pace_members(const struct qmgr *qmgr, struct node_mask *nodes);
void qmgr_exec_PACE_ASK_REP(struct block *block, const struct signal *sig);
void qmgr_exec_PACE_ANSWER_REP(struct block *block, const struct signal *sig);
void qmgr_exec_PACE_PROBE_CONF(struct block *block, const struct signal *sig);

/* qmgr_pace_judge.c: who is slow, and who hears of it. */
void qmgr_pace_row(struct qmgr *qmgr, uint32_t node, const struct pace_row *row);
void qmgr_pace_judge(struct qmgr *qmgr); /* The president judges, after its own row. */
void qmgr_pace_view(struct qmgr *qmgr);  /* The members have changed. */
void qmgr_exec_PACE_ROW_REP(struct block *block, const struct signal *sig);
void qmgr_exec_PACE_SLOW_REP(struct block *block, const struct signal *sig);
