/* cntr_order_state.h -- private: the order of replicas, which cntr_order.c changes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"
#include "signals/order.h"
#include "signals/pace.h"
#include "signals/start.h"

struct cntr;

/* The president's part of an order of replicas. */
enum order_master { ORDER_MASTER_IDLE = 0, ORDER_PREPARING, ORDER_DECIDING, ORDER_ASKING };

/* The order of replicas: cntr_order.c. */
struct cntr_order {
    uint32_t place[DATA_NODE_ID_MAX + 1];
    uint32_t state; /* enum order_state */
    struct order_no no;
    struct order_places places;
    uint32_t tcs;      /* TCs that have not confirmed ORDER_HOLD_REQ. */
    uint32_t asked;    /* Reference of a new president that asks for the state; 0 = nobody does. */
    uint32_t asked_no; /* Number of the failure that it asks about, not known here yet. */
    /* The president. */
    uint32_t master; /* enum order_master */
    struct node_mask waiting;
    struct {
        struct order_no no;
        struct order_places places;
    } change;
    struct order_no held;  /* ASKING: the newest change that somebody holds for. */
    struct node_mask slow; /* Nodes that are slow and stand aside, as QMGR has said. */
    uint32_t group;        /* Node group that was tried last. */
    uint32_t again_ms;     /* Pause until the next try when one is given up. */
    uint64_t quiet_ms;     /* No change begins before: somebody was lost, or came back. */
    uint64_t retry_ms;     /* No change begins before: the last one was given up. */
    uint64_t late_ms;      /* PREPARING: when the change is given up. */
    uint64_t look_ms;      /* When CNTR_ORDER_LOOK comes; 0 = it does not. */
    uint32_t done;         /* Changes since the node began. */
    uint32_t given_up;
};

/* cntr_order.c */
void cntr_order_changed(struct cntr *cntr, uint32_t quiet_ms);
void cntr_order_look(struct cntr *cntr);
void cntr_order_late(struct cntr *cntr);
void cntr_order_give_up(struct cntr *cntr);
void cntr_order_place(struct cntr *cntr, uint32_t node, uint32_t place);
void cntr_order_lost(struct cntr *cntr, const struct node_failrep *rep, bool succeeds);
bool cntr_order_busy(const struct cntr *cntr);
void cntr_exec_NODE_PACE_REP(struct block *block, const struct signal *sig);
void cntr_exec_ORDER_PREPARE_REQ(struct block *block, const struct signal *sig);
void cntr_exec_ORDER_PREPARE_CONF(struct block *block, const struct signal *sig);
void cntr_exec_ORDER_PREPARE_REF(struct block *block, const struct signal *sig);
void cntr_exec_ORDER_DECIDE_REQ(struct block *block, const struct signal *sig);
void cntr_exec_ORDER_DECIDE_CONF(struct block *block, const struct signal *sig);
void cntr_exec_ORDER_RELEASE_ORD(struct block *block, const struct signal *sig);
void cntr_exec_ORDER_ABORT_ORD(struct block *block, const struct signal *sig);
void cntr_exec_ORDER_STATE_REQ(struct block *block, const struct signal *sig);
void cntr_exec_ORDER_STATE_CONF(struct block *block, const struct signal *sig);
void cntr_exec_ORDER_HOLD_CONF(struct block *block, const struct signal *sig);
