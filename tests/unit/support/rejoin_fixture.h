/* rejoin_fixture.h -- a cluster whose nodes are lost and come back: real membership, start sequence
 * and epochs; fake workers, dictionary and checkpoints. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "blocks/ndbcntr/cntr_state.h"
#include "blocks/qmgr/qmgr_state.h"
#include "values/errors.h"
#include "blocks/dbdih/dih_state.h"
#include "signals/lcp.h"
#include "tests/unit/support/fake_disk.h"
#include "tests/unit/support/fake_fixture.h"

#define HEARTBEAT_MS 20u
#define MGM          8u

/* --- A dictionary that has what it is asked for. --- */

struct fake_dict {
    struct block block;
    struct node_mask locked; /* Nodes that it is locked for. */
    uint32_t locks;
    uint32_t restarts;
    uint32_t online;
    uint32_t copies;
    uint32_t nodes_lost;
    struct node_include_req include;
    struct order_places places;
    struct node_include_rep included;
    bool hold_lock;
    bool hold_copy;
    uint32_t lock_data;
    bool hold_drain;
    uint32_t drain_sender;
    struct drain_clients_conf drain;
};

/* A change of the schema is under way for as long as `hold_drain` says. */
void rejoin_dict_drained(struct fake_dict *dict);

/* --- Checkpoints that are written at once, or when the test says so. --- */

extern uint32_t rejoin_hold_checkpoint; /* The node whose checkpoints are held; 0 = none. */
extern uint32_t rejoin_fail_checkpoint; /* The node whose checkpoints fail; 0 = none. */
extern uint32_t rejoin_checkpoints;     /* Checkpoints that any node has begun with. */
extern uint32_t rejoin_checkpoint_mbytes;

/* --- Nodes. --- */

extern struct node_config rejoin_config;
void rejoin_make_node(uint32_t id);
void rejoin_backup_go_on(uint32_t id);
struct qmgr *rejoin_qmgr_at(uint32_t id);
struct cntr *rejoin_cntr_at(uint32_t id);
struct fake_dict *rejoin_dict_at(uint32_t id);
bool rejoin_is_started(uint32_t id);
bool rejoin_all_started(uint32_t nodes);
void rejoin_run_until_started(uint32_t nodes, uint32_t limit_ms);
void rejoin_configure(uint32_t nodes, uint32_t replicas);
void rejoin_start(uint32_t nodes, uint32_t replicas);
void rejoin_again(void);

/* All that all nodes must agree on when nobody is lost. */
void rejoin_check_whole(uint32_t nodes);

/* --- Steps. --- */

extern uint32_t rejoin_cursor; /* The step that is next. */
void rejoin_one_step(uint32_t nodes);

/* Whoever is dead comes back as a new process, until all are started. */
void rejoin_all_come_back(uint32_t nodes);
