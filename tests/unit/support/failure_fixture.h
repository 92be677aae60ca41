/* failure_fixture.h -- a started cluster that is hurt, clients that arbitrate, and what must be
 * true of who goes on. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/*
 * Up to 6 data nodes with real membership and fake workers; clients 7 to 9 are API nodes or
 * management servers that arbitrate as signals/arbitrator.c does. After each run: all that live on
 * have reported the same failures in the same order (F1), have fenced them (F2), are one part (F3);
 * whoever was declared dead has stopped (F4).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "blocks/qmgr/partition_rule.h"
#include "blocks/qmgr/qmgr_state.h"
#include "signals/arbitrator.h"
#include "tests/unit/support/fake_fixture.h"

#define HEARTBEAT_MS 20u
#define RANK_1       7u
#define RANK_1_TOO   8u
#define RANK_2       9u
#define FAILURES     8u

struct seen { /* What a node has reported, from its events. */
    uint32_t count;
    uint32_t set[FAILURES]; /* Bits of nodes, by failure number. */
};

extern struct arbitrator failure_arbitrators[FC_NODES];
extern bool failure_mute[FC_NODES]; /* The arbitrator takes questions and does not answer. */
extern uint32_t failure_nodes_all;
extern uint32_t failure_yes;
struct node_config failure_config_of(uint32_t nodes, uint32_t replicas);
void failure_start(uint32_t nodes, uint32_t replicas, uint32_t ranks);
struct qmgr *failure_qmgr_at(uint32_t id);

/* --- Clients: registration, events, arbitration. --- */

void failure_answer(uint32_t client, const struct fc_signal *got);
void failure_clients_tick(void);
void failure_run(uint32_t ms);
void failure_start_and_wait(uint32_t nodes, uint32_t replicas, uint32_t ranks);
uint32_t failure_younger(uint32_t a, uint32_t b);
uint32_t failure_oldest_of(uint32_t bits);

/* --- What the nodes think. --- */

bool failure_lives(uint32_t id);
uint32_t failure_alive_bits(void);
uint32_t failure_members_of(uint32_t id);

/* F1 by the numbers and sets that stand at the end; the way there is in `seen`. */
extern struct seen failure_seen[FC_NODES];
extern bool failure_asleep[FC_NODES];   /* The node is asleep, as after SIGSTOP. */
extern uint32_t failure_slow[FC_NODES]; /* One turn in so many ms; 0: as many as it wants. */
bool failure_run_node(uint32_t id);
void failure_look(void);

/* As fc_run(), with a look between any two nodes' turns. */
void failure_run_looking(uint32_t ms);
void failure_forget(void);

/* At the end, when all is quiet. Returns those that live on. */
uint32_t failure_check_end(void);
void failure_assert_stopped(uint32_t id, uint32_t code);
void failure_divide(uint32_t part, bool cut);
#define T(name) cmocka_unit_test_setup_teardown(name, fc_setup, fc_teardown)
/* FAILURE_TEST: only those of that name. */
#define RUN_TESTS(tests)                                                                           \
    (fc_first_client = 7, cmocka_set_test_filter(getenv("FAILURE_TEST")),                          \
     cmocka_run_group_tests(tests, NULL, NULL))
