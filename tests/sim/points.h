/* points.h -- positions in protocols at which a node dies, and the table of what they cover. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "tests/sim/failures.h"

#define POINTS_MAX 120000u

/* What the victim is when it dies: one of the first three. */
enum point_role {
    ROLE_MASTER = 1,      /* The president: master of epochs, checkpoints, schema, node restarts. */
    ROLE_PARTICIPANT = 2, /* Another started node. */
    ROLE_STARTING = 4,    /* It is on its way back. */
    ROLE_SENDER = 8       /* It has sent the signal; else it has executed it. */
};

/* After node `node` has executed its nth signal with this number, `victim` dies. */
struct point {
    uint32_t gsn, node, nth, victim, role;
};

struct protocol {
    const char *name;
    void (*work)(struct run *run);
    uint32_t nodes, replicas;
    uint32_t first;     /* The node that dies before the victim; 0 = nobody. */
    uint32_t first_gsn; /* `first` dies after its second such signal; 0 = before the work begins. */
    struct sim_event also; /* Happens when the work begins; action 0: nothing does. */
    bool files;
    bool unique; /* The rows that come and go have two unique indexes, else none. */
    bool copied; /* All tables are fully replicated. */
    bool soon;   /* Only what happens until the dead node joins again. */
    /* In pairs: after each point of the protocol, and of those only where the master dies... */
    bool pairs, of_master; /* ...a second node dies after each signal until the first one joins. */
};

/* points_work.c: the work, in the model's words. Errors are answers. */
void points_rows(struct run *run, uint32_t first, uint32_t count, enum key_operation operation);
void points_commit(struct run *run);
void points_abort(struct run *run);
void points_unique(struct run *run); /* By primary key, then by unique key. */
void points_unique_drop(struct run *run);
void points_unique_create(struct run *run);
void points_unique_refused(struct run *run);
void points_unique_duplicates(struct run *run);
void points_scan(struct run *run);
void points_schema(struct run *run);
void points_schema_refused(struct run *run);
void points_index(struct run *run);
void points_index_refused(struct run *run);
void points_changes(struct run *run); /* Changes of a table's definition. */
void points_epoch(struct run *run);
void points_checkpoint(struct run *run);
void points_long(struct run *run);
void points_order(struct run *run); /* Node 2 is slow for a while. */
void points_takeover(struct run *run);
void points_stop(struct run *run);    /* Node 3 is stopped. */
void points_refused(struct run *run); /* Rows that are there already. */

/* points_table.c: which signals of which protocol have been points, and in which role somebody
 * died. */
void table_add(const struct protocol *protocol, const struct point *points, uint32_t count);
/* Signals between data nodes that no protocol has reached, besides those that cannot be. Prints
 * them; their number. Writes the table to the file that SIM_FAILURE_TABLE names. */
uint32_t table_end(void);
