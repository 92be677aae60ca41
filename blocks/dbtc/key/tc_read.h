/* tc_read.h -- the way of a key to its replicas; committed reads, which leave no record. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct tc;
struct tc_table;

/* Everything that is checked and computed from a request's key. */
struct tc_route {
    struct tc_table *table;
    uint32_t fragment;
    uint32_t hash;
};

/* tc_read.c */
void tc_read_committed(struct tc *tc, const struct signal *sig);
/* 0, ERR_NODE_FAILURE (there is no link, or node 0), or ERR_SEND_BUFFER_FULL. */
uint32_t tc_link_error(const struct tc *tc, uint32_t node);
bool tc_client_slow(const struct tc *tc, uint32_t client);
uint32_t tc_read_node(const struct tc *tc, const struct tc_table *table, uint32_t fragment);
uint32_t tc_route(struct tc *tc, const struct signal *sig, struct tc_route *route);
/* Does the same for a table that is known already. */
uint32_t tc_route_in(struct tc_table *table, const struct signal *sig, struct tc_route *route);
