/* tc_order.h -- places of nodes; requests wait while the order of replicas changes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct tc;

/* A new order of replicas; see docs/protocols/replica_order.md. */
struct tc_order {
    bool on;         /* Requests are held back, or some are left. */
    bool holding;    /* No transaction and no scan begins. */
    bool running;    /* A request that was held back is being executed. */
    bool releasing;  /* TC_WORK_ORDER_RELEASE is on its way. */
    uint32_t serial; /* Counts the orders to hold. */
    uint32_t sender; /* Who waits for the end of what is under way; 0: nobody does. */
    uint32_t number[2];
    uint32_t count; /* Requests in the queue. */
    void *first;    /* The queue: pages of requests, one extent behind the other. */
    void *last;
};

/* tc_order.c */
void tc_place_set(struct tc *tc, uint32_t node, uint32_t place);
/* The request waits for the new order, or has been refused; `begins`: a transaction or a scan. */
bool tc_order_holds(struct tc *tc, const struct signal *sig, uint32_t tc_connect, bool begins);
void tc_order_step(struct tc *tc, uint32_t serial);
void tc_order_release(struct tc *tc);
void tc_exec_ORDER_HOLD_REQ(struct block *block, const struct signal *sig);
void tc_exec_ORDER_PLACES_REP(struct block *block, const struct signal *sig);
void tc_exec_ORDER_HOLD_END_ORD(struct block *block, const struct signal *sig);
