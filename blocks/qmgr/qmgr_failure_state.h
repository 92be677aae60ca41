/* qmgr_failure_state.h -- private: losses: who watches, who is lost, who agrees, who may go on. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/qmgr/qmgr_block.h"
#include "blocks/qmgr/reach_rule.h"
#include "signals/arbit.h"
#include "signals/failure.h"
#include "signals/qmgr.h"

struct qmgr;

#define MISSED_WARNING 3u /* Intervals without a heartbeat before it is told. */
#define MISSED_DEAD    5u /* Four whole intervals were missed for sure. */

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

/* qmgr_heartbeat.c */
void qmgr_ring_update(struct qmgr *qmgr);
void qmgr_ring_tick(struct qmgr *qmgr);
void qmgr_exec_CM_HEARTBEAT(struct block *block, const struct signal *sig);

void qmgr_heard(struct qmgr *qmgr, uint32_t node); /* A word of it counts as a sign of life. */
/* What comes each heartbeat interval came late by so much (0: in time); what comes now and then (an
 * answer) took so long. Both count while the node takes part in failures. */
void qmgr_beat(struct qmgr *qmgr, uint32_t node, uint64_t late_ms);
void qmgr_answered(struct qmgr *qmgr, uint32_t node, uint64_t after_ms);
uint32_t qmgr_patience_own_ms(const struct qmgr *qmgr); /* Patience by what this node has seen. */
uint32_t qmgr_patience_ms(const struct qmgr *qmgr);     /* Patience by what any member has seen. */

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
void qmgr_reach_joined(struct qmgr *qmgr, uint32_t node); /* The node is a member now. */
void qmgr_reach_tick(struct qmgr *qmgr);
/* Members that may still be spoken to. */
struct node_mask qmgr_reach_others(const struct qmgr *qmgr);
/* A check begins, or begins anew: all of them are asked. */
void qmgr_reach_begin(struct qmgr *qmgr);
/* Asks it: only an answer to this question counts from now on. */
void qmgr_reach_ask(struct qmgr *qmgr, uint32_t node);
/* Tells it the own row. `ask`: number of a question to it; `answer`: number of its question that
 * this answers; 0 = none. */
void qmgr_reach_say(struct qmgr *qmgr, uint32_t node, uint32_t ask, uint32_t answer);
/* Brings the own row up to date; with `tell` the others learn of a change. True: it has changed. */
bool qmgr_reach_update_row(struct qmgr *qmgr, bool tell);
/* QMGR_REACH_NOW follows behind what runs now. */
void qmgr_reach_evaluate_soon(struct qmgr *qmgr);
/* This node has perhaps not run for a while: what that was goes to nobody's account. */
void qmgr_reach_forgive_stall(struct qmgr *qmgr);

/* qmgr_reach_rows.c: what the members say. */
void qmgr_reach_row(struct qmgr *qmgr, uint32_t node, const struct node_mask *row);
void qmgr_exec_FAIL_REACH_REP(struct block *block, const struct signal *sig);

/* qmgr_reach_judge.c: who has to leave. */
void qmgr_reach_evaluate(struct qmgr *qmgr);
void qmgr_reach_now(struct qmgr *qmgr); /* QMGR_REACH_NOW has come. */

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
