/* mgmd_nodes.h -- what the management server knows about each node, and what it does with what data
 * nodes tell: ids, states, events, arbitration. Private to mgmd/. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/base/bitmask.h"
#include "kernel/base/signal.h"
#include "ndb/mgm.h"

#define MGMD_UNANSWERED   30u    /* Status requests, a tick apart: a silent node hangs. */
#define MGMD_UNUSED_ID_MS 10000u /* A session keeps an id so long that is not linked. */
#define MGMD_KEEP_ID_MS   2000u  /* An id is kept from the angel's session to the worker's. */

struct mgmd;
struct mgmd_session;

/* What the server knows about one node id. Status words are those of NODE_STATUS_CONF. */
struct mgmd_node {
    bool linked;
    bool status_known;
    bool stopping;       /* It was ordered to stop by us; its end is no surprise. */
    uint32_t unanswered; /* Requests for its status since the last answer. */
    uint32_t connect_count;
    uint32_t start_level;
    uint32_t start_phase;
    uint32_t start_percent;
    uint32_t start_left_s;
    uint64_t progress_told; /* Loop time of the last line about it. */
    uint32_t nodegroup;
    uint32_t president;
    uint32_t dynamic_id;
    uint32_t version;
    uint32_t arbit_state; /* enum arbit_state, as this data node knows it. */
    uint32_t arbit_node;
    uint32_t generation;      /* Generation of the configuration that this data node runs with. */
    uint32_t slow;            /* 1: the data nodes have found it slow. */
    uint32_t single_user;     /* Client that may work alone, as this data node knows; 0 = none. */
    struct node_mask clients; /* Nodes linked to this data node. */
    uint32_t holder;          /* Session that holds the id, 0 = none. */
    uint64_t unused_since;    /* Loop time: since then nobody has used the id that is held. */
    bool linked_once;         /* Its node has linked since the id was given. */
    uint64_t kept_until;      /* Loop time: until then only given to who asks for this id. */
    uint64_t foreign;         /* Id of another cluster that this data node is of: told once. */
    uint32_t digest;      /* Digest of the configuration that it runs with; 0: it is not known. */
    uint32_t unlike_told; /* Digest that was told as that of another configuration. */
    bool configured;      /* It has its configuration from here. */
    uint32_t compared;    /* Its generation, not from here, that ours has been compared with. */
    uint64_t compare_ms;  /* Loop time: not compared before; what followed was not stored. */
    uint16_t port;        /* Port where it listens, as it has told; 0 = it has not yet. */
    char address[64];
    uint8_t log_level[NDB_MGM_CATEGORIES];
};

/* ---- mgmd_nodes.c ---- */
void mgmd_nodes_start(struct mgmd *mgmd);
/* Where the data node listens; 0: nobody knows. What it has told counts: the configuration may have
 * been changed since it began. */
uint16_t mgmd_node_port(const struct mgmd *mgmd, uint32_t node);
/* A data node is linked, and has not answered for seconds: what it said last is not so any more.
 * Requests are counted, not time, so that a server that has hung itself does not blame others. */
bool mgmd_node_hangs(const struct mgmd *mgmd, uint32_t node);
/* It is started as it has said last, whether it hangs by now or not. */
bool mgmd_node_serves(const struct mgmd *mgmd, uint32_t node);
/* It is started, in single user mode too, and answers. */
bool mgmd_node_works(const struct mgmd *mgmd, uint32_t node);
/* It says that it leads the others. While a leader that hangs is not yet known to hang, its
 * successor says so, too: the one that has answered later leads. */
bool mgmd_node_leads(const struct mgmd *mgmd, uint32_t node);
/* A started data node that leads, 0 = none is known. */
uint32_t mgmd_president(const struct mgmd *mgmd);
/* The client that may work alone, 0 = all may. */
uint32_t mgmd_single_user(const struct mgmd *mgmd);
enum ndb_mgm_node_status mgmd_node_status(const struct mgmd *mgmd, uint32_t node);
/* The same of a data node, also of one that has left the configuration and runs still. */
enum ndb_mgm_node_status mgmd_data_node_status(const struct mgmd *mgmd, uint32_t node);
void mgmd_node_link_up(struct mgmd *mgmd, uint32_t node);
void mgmd_node_link_down(struct mgmd *mgmd, uint32_t node, const char *reason);
/* A signal from a data node, checked by the link; false closes the link. */
bool mgmd_node_signal(struct mgmd *mgmd, uint32_t node, const struct signal *sig);
void mgmd_nodes_tick(struct mgmd *mgmd);

/* ---- mgmd_alloc.c ---- */
/* The id, or 0 with an error code and its reason. */
uint32_t mgmd_alloc_id(struct mgmd *mgmd, struct mgmd_session *session, enum ndb_mgm_node_type type,
                       uint32_t wanted, const char *host, int *code, char *why, size_t why_size);
/* The session has ended: its ids are free, for a moment only for who asks for just this one. */
void mgmd_free_ids(struct mgmd *mgmd, uint32_t session);
/* Notes which ids that sessions hold are in use. Called every second. */
void mgmd_note_used_ids(struct mgmd *mgmd);

/* ---- mgmd_events.c ---- */
/* Asks a data node for the events that the cluster log and the listeners want. */
void mgmd_subscribe(struct mgmd *mgmd, uint32_t node);
/* The same for all that are linked. */
void mgmd_nodes_subscribe(struct mgmd *mgmd);
/* The free text of an event signal: section 0 is its size in bytes, then the bytes. Cut to what
 * fits; anything else reads as "". */
#define MGMD_EVENT_TEXT_MAX 512u
void mgmd_event_text(const struct signal *sig, char *text, size_t size);
void mgmd_event(struct mgmd *mgmd, uint32_t type, uint32_t source, const uint32_t *data,
                uint32_t words, const char *text);
/* Takes an event from that node. */
void mgmd_take_event(struct mgmd *mgmd, uint32_t node, const struct signal *sig);

/* ---- mgmd_arbitrate.c ---- */
/* Takes a data node's request to its arbitrator. */
void mgmd_arbitrate(struct mgmd *mgmd, uint32_t node, const struct signal *sig);
