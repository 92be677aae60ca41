/* dict_fixture.h -- DICT and NDBFS on simulated disks, with actors for all other blocks: tests of
 * the schema files. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <xxhash.h>
#include "blocks/dbdict/dict_state.h"
#include "blocks/ndbfs/fs_block.h"
#include "blocks/ndbfs/fs_client.h"
#include "kernel/sim/sim_world.h"
#include "signals/schema_restart.h"

#define TABLES  3000u
#define FACTORY 2u /* Instances of TC and LQH. */

/* Stands for TC, LQH, DIH, QMGR, CMVMI and NDBCNTR. */
struct actor {
    struct block block;
    uint32_t answers[1024]; /* Answers that came, by GSN. */
    uint32_t file;
    uint32_t error;  /* Error of the last CREATE_TABLE_REF. */
    uint32_t refuse; /* Table id that is not added. */
    uint32_t full;   /* So many questions for what is durable find no record. */
    bool hold;       /* Questions for what is durable are not answered. */
    struct schema_info_conf info;
    uint8_t state[TABLES + 1]; /* 0 none, 1 added, 2 online, 3 dropping. */
    uint32_t nodes;            /* Nodes in the last distribution that are there, as bits. */
    uint32_t absent;           /* The other nodes in it, as bits. */
    uint32_t copied;           /* Tables that were copied. */
    uint32_t sources;          /* Nodes that they were to be copied from, as bits. */
};

struct dict_world {
    struct sim_world *world;
    uint32_t count;   /* Nodes. */
    uint32_t members; /* Members of the next start, as bits. */
};

extern struct dict_world dw;
struct actor *dw_actor_of(struct block *block);
struct node_config dw_config_of(uint32_t count);
void dw_world_make_with(uint32_t count, const struct node_config *base);
void dw_world_make(uint32_t count);
void dw_world_drop(void);
struct block *dw_block_at(uint32_t node, uint32_t block_no, uint32_t instance);
struct actor *dw_cntr(uint32_t node);
struct dict *dw_dict_at(uint32_t node);
struct sim_disk *dw_disk_at(uint32_t node);
void dw_run_us(uint64_t us);
bool dw_wait_for(uint32_t node, uint32_t gsn, uint32_t count);

/* --- A node's start, as NDBCNTR and QMGR do it. --- */

bool dw_begin(uint32_t node);
void dw_send_restart(uint32_t node, uint32_t type, uint32_t source, uint64_t sequence);
bool dw_online(uint32_t node);
uint64_t dw_sequence_of(uint32_t node);

/* The only node of its cluster starts from nothing, or from its own files. */
bool dw_start_alone(bool initial);
bool dw_restart_alone(void);

/* --- Tables. --- */

/* Definitions as they are kept, to be changed. */
struct table_def *dw_read_def(const uint32_t *words, uint32_t count);
void dw_begin_create(uint32_t name, uint32_t columns);
bool dw_create(uint32_t name, uint32_t columns);
bool dw_create_unique(uint32_t name);

/* The ways in which tables and unique indexes do not name each other. */
enum misfit {
    MISFIT_OTHER_TABLE, /* The index names another table, which has no index. */
    MISFIT_NO_TABLE,    /* The index names a table that is not there. */
    MISFIT_ITSELF,      /* The index names itself as its table. */
    MISFIT_VERSION,     /* The index names another version of its table. */
    MISFIT_ROWS,        /* The index is not as its table's definition makes it. */
    MISFIT_OTHER_INDEX, /* The table names a table that is no index. */
    MISFIT_NO_INDEX,    /* The table names an index that is not there. */
    MISFIT_TWICE,       /* The table names one index twice. */
    MISFITS
};

/* Tables 1 (which is t1 with its indexes 2 and 3) and 4 are there. The table to change for it. */
uint32_t dw_misfit_id(enum misfit misfit);
void dw_misfit_make(enum misfit misfit, struct table_def *def);

/* The error with which a create is refused. */
uint32_t dw_create_refused(uint32_t name, uint32_t columns);
uint32_t dw_id_of(uint32_t node, uint32_t name);
void dw_begin_drop(uint32_t name);
bool dw_drop(uint32_t name);

/* Everything that a node's dictionary knows, as one number. */
uint64_t dw_digest(uint32_t node);

/* All instances have what the dictionary says, online. */
void dw_assert_workers(uint32_t node);
void dw_assert_ended(uint32_t node, uint32_t code, const char *part);
extern const char *const dw_files[];

/* Straight into the store: that a client may create tables is shown elsewhere. */
struct schema_file_step {
    uint32_t node;
    uint32_t id;
    uint32_t version;
    uint32_t name;
    uint32_t columns;
};

void dw_put_file(const struct schema_file_step *step);
#define dw_put(...) dw_put_file(&(struct schema_file_step){__VA_ARGS__})
