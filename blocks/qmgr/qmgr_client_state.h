/* qmgr_client_state.h -- private: links to other nodes, and the clients that have registered. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/qmgr/qmgr_block.h"
#include "kernel/base/beat_rule.h"

struct qmgr;

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

enum api_state { API_NONE = 0, API_LINKED, API_REGISTERED, API_FAILING };

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

/* qmgr_link.c */
void qmgr_exec_LINK_UP_REP(struct block *block, const struct signal *sig);
void qmgr_exec_LINK_DOWN_REP(struct block *block, const struct signal *sig);

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
