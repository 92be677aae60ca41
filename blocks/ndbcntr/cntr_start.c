/* cntr_start.c -- configures the blocks, runs the start phases, waits for the other nodes where all
 * must meet. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "blocks/ndbcntr/cntr_state.h"

/* --- READ_CONFIG_REQ to every block instance, one after the other. --- */

static const struct config_block {
    uint32_t block_no;
    uint32_t single; /* Instance 0 only; else instances 1..n. */
} config_blocks[] = {
    {BLOCK_CMVMI, 1},  {BLOCK_NDBFS, 1}, {BLOCK_DBTUP, 0},  {BLOCK_DBACC, 0},
    {BLOCK_DBTC, 0},   {BLOCK_DBLQH, 0}, {BLOCK_BACKUP, 0}, {BLOCK_RESTORE, 0},
    {BLOCK_DBDICT, 1}, {BLOCK_DBDIH, 1}, {BLOCK_QMGR, 1},
};
#define CONFIG_BLOCKS (sizeof(config_blocks) / sizeof(config_blocks[0]))

static void start_next(struct cntr *cntr);

static void config_done(struct cntr *cntr)
{
    cntr->level = START_CMVMI;
    cntr->start.wait = WAIT_NOTHING;
    cntr_tell_state(cntr);
    if (block_config(&cntr->block)->no_start) {
        jam();
        cntr_move(cntr, CNTR_WAIT_ORDER);
        log_info(&cntr->block, "waiting for the order to start");
        return;
    }
    jam();
    cntr_move(cntr, CNTR_PHASES);
    start_next(cntr);
}

static void ask_config(struct cntr *cntr)
{
    for (; cntr->start.block_at < CONFIG_BLOCKS; cntr->start.block_at++, cntr->start.instance = 0) {
        const struct config_block *at = &config_blocks[cntr->start.block_at];
        uint32_t count = at->single ? 1 : block_instances(&cntr->block, at->block_no);
        if (cntr->start.instance >= count) continue;
        cntr->start.instance++;
        struct read_config_req req = {.sender_data = cntr->start.block_at};
        uint32_t receiver =
            cntr_local(cntr, at->block_no) + (at->single ? 0 : cntr->start.instance);
        sig_send(&cntr->block, receiver, GSN_READ_CONFIG_REQ, PRIO_B, &req);
        return;
    }
    config_done(cntr);
}

void cntr_read_config(struct cntr *cntr)
{
    jam();
    cntr->start.wait = WAIT_CONFIG;
    ask_config(cntr);
}

void cntr_exec_READ_CONFIG_CONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    ndbrequire(cntr->start.wait == WAIT_CONFIG);
    ndbrequire(SIG_PAYLOAD(sig, read_config_conf)->sender_data == cntr->start.block_at);
    ask_config(cntr);
}

void cntr_exec_START_ORD(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    (void)sig;
    if (cntr->state != CNTR_WAIT_ORDER) {
        jam(); /* It starts already. */
        return;
    }
    jam();
    cntr_move(cntr, CNTR_PHASES);
    start_next(cntr);
}

/* --- Phases. --- */

/*
 * What happens in a phase, in this order: blocks get STTOR, then all nodes meet, then the node
 * counts as started. A phase without work passes at once; its number is kept because operators know
 * it.
 */
static const struct start_phase {
    uint32_t phase;
    uint32_t blocks[2]; /* Get STTOR, one after the other; BLOCK_NONE ends. */
    uint32_t meet;      /* All nodes wait for each other at the end. */
    uint32_t started;   /* The end of this phase opens the node for clients. */
} phases[] = {
    {0, {BLOCK_NONE, BLOCK_NONE}, 0, 0},  {1, {BLOCK_QMGR, BLOCK_NONE}, POINT_START, 0},
    {2, {BLOCK_DBDIH, BLOCK_NONE}, 0, 0}, {3, {BLOCK_NONE, BLOCK_NONE}, 0, 0},
    {4, {BLOCK_NONE, BLOCK_NONE}, 0, 0},  {5, {BLOCK_NONE, BLOCK_NONE}, 5, 0},
    {6, {BLOCK_DBDIH, BLOCK_NONE}, 0, 0}, {7, {BLOCK_NONE, BLOCK_NONE}, 0, 0},
    {8, {BLOCK_NONE, BLOCK_NONE}, 8, 1},  {9, {BLOCK_NONE, BLOCK_NONE}, 0, 0},
    {50, {BLOCK_NONE, BLOCK_NONE}, 0, 0}, {101, {BLOCK_NONE, BLOCK_NONE}, 0, 0},
};
#define PHASES      (sizeof(phases) / sizeof(phases[0]))
#define PHASE_JOINS 1u /* Position in the table to which a start goes back. */

static uint32_t president_ref(const struct cntr *cntr)
{
    return block_ref(cntr->president, BLOCK_NDBCNTR, 0);
}

/* Tells the master that this node has come to the phase's meeting point. */
static void meet(struct cntr *cntr, uint32_t point)
{
    if (point == POINT_START) {
        jam();
        struct cntr_start_req req = {.incarnation = cntr->incarnation};
        cntr->start.wait = WAIT_START_CONF;
        sig_send(&cntr->block, president_ref(cntr), GSN_CNTR_START_REQ, PRIO_A, &req);
        return;
    }
    jam_data(point);
    struct cntr_waitrep rep = {.incarnation = cntr->incarnation, .point = point};
    cntr->start.wait = WAIT_GO;
    sig_send(&cntr->block, president_ref(cntr), GSN_CNTR_WAITREP, PRIO_A, &rep);
}

static void become_started(struct cntr *cntr)
{
    struct cntr_started_rep rep = {.incarnation = cntr->incarnation};
    jam();
    cntr->level = START_STARTED;
    node_mask_add(&cntr->started, cntr_own(cntr));
    cntr_to_members(cntr, GSN_CNTR_STARTED_REP, &rep, sizeof(rep) / 4u);
}

static void phase_done(struct cntr *cntr, const struct start_phase *at)
{
    cntr->phase = at->phase;
    if (at->started) become_started(cntr);
    cntr_tell_state(cntr);
    event_send(&cntr->block, EVENT_START_PHASE_COMPLETED, at->phase, cntr->start.type);
    cntr->start.phase_at++;
    cntr->start.sttor_at = 0;
}

static void start_completed(struct cntr *cntr)
{
    jam();
    cntr_move(cntr, CNTR_RUNNING);
    log_info(&cntr->block, "started");
    event_send(&cntr->block, EVENT_START_COMPLETED, NDB_VERSION);
    node_started(&cntr->block);
}

/* The next block of the phase, the meeting at its end, or the next phase, until something has to be
 * waited for. */
static void start_next(struct cntr *cntr)
{
    cntr->start.wait = WAIT_NOTHING;
    while (cntr->start.phase_at < PHASES) {
        const struct start_phase *at = &phases[cntr->start.phase_at];
        if (at->phase == 0) {
            jam();
            cntr->level = START_STARTING;
            event_send(&cntr->block, EVENT_START_STARTED, NDB_VERSION);
        }
        if (cntr->start.sttor_at < 2 && at->blocks[cntr->start.sttor_at] != BLOCK_NONE) {
            jam_data(at->phase);
            struct sttor req = {
                .sender_data = at->phase, .phase = at->phase, .start_type = cntr->start.type};
            cntr->start.wait = WAIT_STTORRY;
            sig_send(&cntr->block, cntr_local(cntr, at->blocks[cntr->start.sttor_at]), GSN_STTOR,
                     PRIO_B, &req);
            cntr->start.sttor_at++;
            return;
        }
        if (at->meet != 0) {
            meet(cntr, at->meet);
            return;
        }
        phase_done(cntr, at);
    }
    start_completed(cntr);
}

void cntr_exec_STTORRY(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    if (cntr->state != CNTR_PHASES) {
        jam(); /* The node stops meanwhile. */
        return;
    }
    ndbrequire(cntr->start.wait == WAIT_STTORRY);
    ndbrequire(SIG_PAYLOAD(sig, sttorry)->phase == phases[cntr->start.phase_at].phase);
    if (cntr->start.again) {
        jam();
        cntr_start_again(cntr);
        return;
    }
    start_next(cntr);
}

/* A node was lost before anyone is started: all join anew. */
void cntr_start_again(struct cntr *cntr)
{
    ndbrequire(cntr->level == START_STARTING);
    if (cntr->start.wait == WAIT_STTORRY && !cntr->start.again &&
        cntr->start.phase_at > PHASE_JOINS) {
        jam();
        cntr->start.again = 1;
        return;
    }
    jam();
    cntr->start.again = 0;
    cntr->start.phase_at = PHASE_JOINS;
    cntr->start.sttor_at = 0;
    cntr->phase = 0;
    cntr->incarnation = 0;
    cntr->president = 0;
    memset(&cntr->members, 0, sizeof(cntr->members));
    memset(&cntr->started, 0, sizeof(cntr->started));
    log_info(&cntr->block, "a node was lost during the start: joining anew");
    cntr_tell_state(cntr);
    start_next(cntr);
}

/* --- What the others say. --- */

void cntr_exec_MEMBERS_REP(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    const struct members_rep *rep = SIG_PAYLOAD(sig, members_rep);
    jam();
    cntr->incarnation = rep->incarnation;
    cntr->president = rep->president;
    cntr->members = rep->members;
}

void cntr_exec_CNTR_START_CONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    const struct cntr_start_conf *conf = SIG_PAYLOAD(sig, cntr_start_conf);
    if (cntr->start.wait != WAIT_START_CONF || conf->incarnation != cntr->incarnation ||
        cntr->state != CNTR_PHASES || ref_node(sig->sender) != cntr->president) {
        jam();
        return;
    }
    jam();
    cntr->start.type = conf->start_type;
    phase_done(cntr, &phases[cntr->start.phase_at]);
    start_next(cntr);
}

void cntr_exec_CNTR_GOREP(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    const struct cntr_gorep *rep = SIG_PAYLOAD(sig, cntr_gorep);
    if (cntr->start.wait != WAIT_GO || rep->incarnation != cntr->incarnation ||
        cntr->state != CNTR_PHASES || ref_node(sig->sender) != cntr->president ||
        rep->point != phases[cntr->start.phase_at].meet) {
        jam();
        return;
    }
    jam();
    phase_done(cntr, &phases[cntr->start.phase_at]);
    start_next(cntr);
}

void cntr_exec_CNTR_STARTED_REP(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    uint32_t node = ref_node(sig->sender);
    if (cntr->incarnation == 0 ||
        SIG_PAYLOAD(sig, cntr_started_rep)->incarnation != cntr->incarnation ||
        !node_mask_has(&cntr->members, node)) {
        jam();
        return;
    }
    jam_data(node);
    node_mask_add(&cntr->started, node);
    cntr_tell_state(cntr);
}
