/* tc_apifail.h -- clients that are gone, or have not been heard of for too long. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct tc;

/* A client node that is being cleaned up after. */
struct tc_api_fail {
    uint32_t sender; /* QMGR; 0 = the node is not failing. */
    uint32_t sender_data;
};

/* tc_apifail.c */
void tc_exec_API_FAILREQ(struct block *block, const struct signal *sig);
void tc_api_fail_step(struct tc *tc, uint32_t node, uint32_t index);
void tc_api_fail_check(struct tc *tc, uint32_t node);

/* tc_timeout.c */
void tc_timer_start(struct tc *tc);
void tc_timer_step(struct tc *tc, uint32_t index, uint32_t which);
