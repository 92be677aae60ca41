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
    {BLOCK_CMVMI, 1},     {BLOCK_NDBFS, 1},  {BLOCK_DBTUP, 0}, {BLOCK_DBACC, 0},
    {BLOCK_DBTUX, 0},     {BLOCK_DBTC, 0},   {BLOCK_DBLQH, 0}, {BLOCK_LCPWRITER, 0},
    {BLOCK_LCPREADER, 0}, {BLOCK_DBDICT, 1}, {BLOCK_DBDIH, 1}, {BLOCK_QMGR, 1},
    {BLOCK_TRIX, 1},
};
#define CONFIG_BLOCKS (sizeof(config_blocks) / sizeof(config_blocks[0]))

static void begin_phases(struct cntr *cntr);

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
    begin_phases(cntr);
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
    ndbrequire(cntr->start.wait == WAIT_CONFIG); /* I-CNTR-1 */
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
    begin_phases(cntr);
}

/* --- Phases. --- */

/*
 * What happens in a phase, in this order: blocks get STTOR, then all nodes meet, then the node
 * counts as started. A phase without work passes at once; its number is kept because operators know
 * it.
 */
static const struct start_phase {
    uint32_t phase;
    uint32_t steps[8]; /* enum cntr_step, one after the other; STEP_NONE ends. */
    uint32_t meet;     /* All nodes wait for each other at the end. */
    uint32_t started;  /* The end of this phase opens the node for clients. */
} phases[] = {
    {0, {STEP_DIH, STEP_DICT, STEP_SYSFILE_INFO, STEP_SCHEMA_INFO}, 0, 0},
    {1, {STEP_QMGR}, POINT_START, 0},
    {2, {STEP_NONE}, 0, 0},
    {3, {STEP_CLEAR, STEP_LOG_ENDS, STEP_REDO_OPEN}, 0, 0},
    {4,
     {STEP_SCHEMA_RESTART, STEP_RECOVER, STEP_VOID, STEP_SCHEMA_ONLINE, STEP_INCLUDE_SELF,
      STEP_INCLUDE, STEP_COPY, STEP_COMPLETE},
     0,
     0},
    {5, {STEP_SYSFILE_START, STEP_SCHEMA_ONLINE}, 5, 0},
    {6, {STEP_DIH}, 0, 0},
    {7, {STEP_NONE}, 0, 0},
    {8, {STEP_NONE}, 8, 1},
    {9, {STEP_NONE}, 0, 0},
    {50, {STEP_NONE}, 0, 0},
    {101, {STEP_NONE}, 0, 0},
};
#define PHASE_STEPS (sizeof(phases[0].steps) / sizeof(phases[0].steps[0]))
#define PHASES      (sizeof(phases) / sizeof(phases[0]))
#define PHASE_JOINS 1u /* Position in the table to which a start goes back. */
#define PHASE_FILES 3u /* From this one on a node with files has begun to read or change them. */

static uint32_t president_ref(const struct cntr *cntr)
{
    return block_ref(cntr->president, BLOCK_NDBCNTR, 0);
}

/* May this node start? The president learns what it has on disk. */
static void ask_start(struct cntr *cntr)
{
    const struct node_config *config = block_config(&cntr->block);
    const struct cntr_data *data = &cntr->data;
    struct cntr_start_req req = {
        .incarnation = cntr->incarnation,
        .flags = (config->initial_start ? CNTR_START_INITIAL : 0u) |
                 (config->accept_data_loss ? CNTR_START_ACCEPT_LOSS : 0u),
        .has_data = data->has_data,
        .gci = data->gci,
        .data_incarnation = data->incarnation,
        .ldm_count = data->has_data ? data->ldm_count : config->ldm_count,
        .schema_lo = (uint32_t)data->schema,
        .schema_hi = (uint32_t)(data->schema >> 32),
        .members = data->members,
    };
    struct section list = {.words = &data->ended.pair[0][0], .size = data->ended.count * 2u};
    signal_send(&cntr->block, president_ref(cntr), GSN_CNTR_START_REQ, PRIO_A, &req,
                sizeof(req) / 4u, &list, data->has_data ? 1u : 0u);
}

/* Tells the master that this node has come to the phase's meeting point. */
static void meet(struct cntr *cntr, uint32_t point)
{
    if (point == POINT_START) {
        jam();
        cntr->start.wait = WAIT_START_CONF;
        ask_start(cntr);
        return;
    }
    jam_data(point);
    struct cntr_waitrep rep = {.incarnation = cntr->incarnation, .point = point};
    cntr->start.wait = WAIT_GO;
    sig_send(&cntr->block, president_ref(cntr), GSN_CNTR_WAITREP, PRIO_A, &rep);
}

static void become_started(struct cntr *cntr)
{
    struct cntr_started_rep rep = {.incarnation = cntr->incarnation, .node = cntr_own(cntr)};
    jam();
    cntr->level = START_STARTED;
    node_mask_add(&cntr->started, cntr_own(cntr));
    cntr_to_members(cntr, GSN_CNTR_STARTED_REP, &rep, sizeof(rep) / 4u);
    cntr_single_started(cntr);
}

static void phase_done(struct cntr *cntr, const struct start_phase *at)
{
    cntr->phase = at->phase;
    if (at->started) become_started(cntr);
    cntr_tell_state(cntr);
    event_send(&cntr->block, EVENT_START_PHASE_COMPLETED, at->phase, cntr->start.type);
    node_phase(&cntr->block, at->phase);
    cntr->start.phase_at++;
    cntr->start.step_at = 0;
}

static void start_completed(struct cntr *cntr)
{
    jam();
    cntr_move(cntr, CNTR_RUNNING);
    log_info(&cntr->block, "started");
    event_send(&cntr->block, EVENT_START_COMPLETED, NDB_VERSION);
    node_started(&cntr->block);
}

/* Has this node something to do in the step? A node that comes back brings its tables online before
 * it takes part in writes. */
static bool is_needed(const struct cntr *cntr, uint32_t phase, enum cntr_step step)
{
    bool files = !cntr_diskless(cntr);
    bool rejoins = cntr_rejoins(cntr);
    switch (step) {
    case STEP_QMGR:
        return true;
    case STEP_DIH:
        return files || phase == 6;
    case STEP_CLEAR:
        return files && cntr->start.type != START_SYSTEM_RESTART && !cntr_has_own_rows(cntr);
    case STEP_LOG_ENDS:
        return files && cntr->start.type == START_SYSTEM_RESTART;
    case STEP_VOID:
        return cntr_has_own_rows(cntr);
    case STEP_SCHEMA_RESTART:
        return files || rejoins;
    case STEP_SCHEMA_ONLINE:
        return rejoins ? phase == 4 : files && phase == 5;
    case STEP_INCLUDE_SELF:
    case STEP_INCLUDE:
    case STEP_COPY:
    case STEP_COMPLETE:
        return rejoins;
    case STEP_NONE:
    case STEP_DICT:
    case STEP_SYSFILE_INFO:
    case STEP_SCHEMA_INFO:
    case STEP_REDO_OPEN:
    case STEP_RECOVER:
    case STEP_SYSFILE_START:
    default:
        return files;
    }
}

/* Standing aside it cannot bring what it has, but the others shall not begin with what is older:
 * unless the operator gives it up. */
static void tell_known(struct cntr *cntr)
{
    const struct node_config *config = block_config(&cntr->block);
    const struct cntr_data *data = &cntr->data;
    struct cm_known_ord ord = {0};
    if (data->has_data != 0 && !(config->initial_start && config->accept_data_loss)) {
        jam();
        ord = (struct cm_known_ord){
            .incarnation = data->incarnation, .gci = data->gci, .members = data->members};
    }
    sig_send(&cntr->block, cntr_local(cntr, BLOCK_QMGR), GSN_CM_KNOWN_ORD, PRIO_B, &ord);
}

/* Begins a step; false when there is nothing to do in it. */
static bool begin_step(struct cntr *cntr, uint32_t phase, enum cntr_step step)
{
    uint32_t block_no = step == STEP_QMGR  ? BLOCK_QMGR
                        : step == STEP_DIH ? BLOCK_DBDIH
                                           : BLOCK_DBDICT;
    if (!is_needed(cntr, phase, step)) return false;
    jam_data(step);
    cntr->start.step = step;
    if (step > STEP_DICT) {
        cntr->start.wait = WAIT_STEP;
        cntr_step_begin(cntr, step);
        return true;
    }
    struct sttor req = {.sender_data = phase, .phase = phase, .start_type = cntr->start.type};
    /* Before the decision QMGR learns what the node could do: a partial start needs data. */
    if (step == STEP_QMGR)
        req.start_type = cntr->data.aside        ? START_NODE_RESTART
                         : cntr_keeps_data(cntr) ? START_SYSTEM_RESTART
                         : cntr->data.gci != 0   ? START_INITIAL_NODE_RESTART
                                                 : START_INITIAL;
    if (step == STEP_QMGR) tell_known(cntr);
    cntr->start.wait = WAIT_STTORRY;
    sig_send(&cntr->block, cntr_local(cntr, block_no), GSN_STTOR, PRIO_B, &req);
    return true;
}

/* The next step of the phase, the meeting at its end, or the next phase, until something has to be
 * waited for. */
static void start_next(struct cntr *cntr)
{
    cntr->start.wait = WAIT_NOTHING;
    while (cntr->start.phase_at < PHASES) {
        const struct start_phase *at = &phases[cntr->start.phase_at];
        while (cntr->start.step_at < PHASE_STEPS && at->steps[cntr->start.step_at] != STEP_NONE) {
            enum cntr_step step = at->steps[cntr->start.step_at++];
            if (begin_step(cntr, at->phase, step)) return;
        }
        if (at->meet != 0) {
            meet(cntr, at->meet);
            return;
        }
        phase_done(cntr, at);
    }
    start_completed(cntr);
}

void cntr_step_done(struct cntr *cntr, enum cntr_step step)
{
    if (cntr->state != CNTR_PHASES) {
        jam(); /* The node stops meanwhile. */
        return;
    }
    ndbrequire(cntr->start.wait == WAIT_STEP && cntr->start.step == step); /* I-CNTR-1 */
    jam_data(step);
    start_next(cntr);
}

static void begin_phases(struct cntr *cntr)
{
    uint32_t limit_ms = block_config(&cntr->block)->start_failure_timeout_ms;
    cntr_move(cntr, CNTR_PHASES);
    cntr->level = START_STARTING;
    event_send(&cntr->block, EVENT_START_STARTED, NDB_VERSION);
    if (limit_ms != 0) cntr_work_later(cntr, CNTR_START_LIMIT, limit_ms);
    start_next(cntr);
}

/* StartFailureTimeout is over. */
void cntr_start_limit(struct cntr *cntr)
{
    if (cntr->state != CNTR_PHASES || cntr->level == START_STARTED) {
        jam();
        return;
    }
    log_error(&cntr->block, "the start is not complete after %u ms (StartFailureTimeout): phase %u",
              block_config(&cntr->block)->start_failure_timeout_ms, cntr->phase);
    node_fail(EXIT_START_TIMEOUT, __FILE__, __LINE__, "the cluster did not start in time");
}

void cntr_exec_STTORRY(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    if (cntr->state != CNTR_PHASES) {
        jam(); /* The node stops meanwhile. */
        return;
    }
    ndbrequire(cntr->start.wait == WAIT_STTORRY); /* I-CNTR-1 */
    ndbrequire(SIG_PAYLOAD(sig, sttorry)->phase == phases[cntr->start.phase_at].phase);
    if (cntr->start.again) {
        jam();
        cntr->start.wait = WAIT_NOTHING;
        cntr_start_again(cntr);
        return;
    }
    start_next(cntr);
}

/* A node was lost before anyone is started: all join anew. */
void cntr_start_again(struct cntr *cntr)
{
    ndbrequire(cntr->level == START_STARTING);
    if (!cntr_diskless(cntr) && phases[cntr->start.phase_at].phase >= PHASE_FILES) {
        jam(); /* Simpler than to undo what has been read and opened: it begins as a new process. */
        log_error(&cntr->block, "a node was lost during the start, in phase %u",
                  phases[cntr->start.phase_at].phase);
        node_fail(EXIT_OTHER_NODE_FAILED, __FILE__, __LINE__, "another node failed while starting");
    }
    if (cntr->start.wait == WAIT_STTORRY && cntr->start.phase_at > PHASE_JOINS) {
        jam(); /* The answer is still to come, however many are lost before it does. */
        cntr->start.again = 1;
        return;
    }
    jam();
    cntr->start.again = 0;
    cntr->start.phase_at = PHASE_JOINS;
    cntr->start.step_at = 0;
    cntr->phase = 0;
    cntr->incarnation = 0;
    cntr->president = 0;
    memset(&cntr->members, 0, sizeof(cntr->members));
    memset(&cntr->started, 0, sizeof(cntr->started));
    memset(&cntr->rejoin, 0, sizeof(cntr->rejoin));
    for (uint32_t node = 1; node <= DATA_NODE_ID_MAX; node++)
        cntr->peer[node].stop_level = 0; /* Who stopped comes back as another life. */
    log_info(&cntr->block, cntr->data.aside ? "this node waits until the others run"
                                            : "a node was lost during the start: joining anew");
    cntr_tell_state(cntr);
    start_next(cntr);
}

bool cntr_start_ends(struct cntr *cntr)
{
    const struct start_phase *at = &phases[cntr->start.phase_at];
    if (cntr->start.wait != WAIT_GO || at->started == 0) return false;
    jam();
    phase_done(cntr, at);
    start_next(cntr);
    return true;
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
    cntr_rejoin_member(cntr, rep);
    const struct section *list = &sig->section[0];
    for (uint32_t at = 0; at + MEMBER_WORDS <= list->size; at += MEMBER_WORDS) {
        ndbrequire(list->words[at] <= NODE_ID_MAX);
        cntr->peer[list->words[at]].ldm_count = list->words[at + 2];
    }
    cntr->known_count = 0;
    if (sig->section_count == 2) cntr_known_take(cntr, &sig->section[1]);
}

static void tell_plan(struct cntr *cntr)
{
    if (cntr_rejoins(cntr)) {
        const char *why = cntr_all_rows(cntr);
        log_info(&cntr->block, "node restart, incarnation %u, dictionary of node %u",
                 cntr->plan.incarnation, cntr->plan.schema_node);
        if (why != NULL)
            log_info(&cntr->block, "all rows are copied: %s", why);
        else
            log_info(&cntr->block, "this node's own rows up to GCI %u are used", cntr->data.gci);
        return;
    }
    if (cntr->start.type == START_INITIAL) {
        log_info(&cntr->block, "initial start, incarnation %u", cntr->plan.incarnation);
        return;
    }
    log_info(&cntr->block, "system restart at GCI %u, incarnation %u, dictionary of node %u",
             cntr->plan.gci, cntr->plan.incarnation, cntr->plan.schema_node);
}

/* The president is believed within limits: above all, no node's data is removed unless it was said
 * here that it may be (I-CNTR-3). */
static bool plan_good(const struct cntr *cntr, const struct cntr_start_conf *conf,
                      const struct signal *sig)
{
    uint32_t words = sig->section_count == 1 ? sig->section[0].size : 0;
    bool initial = conf->start_type == START_INITIAL;
    if (cntr_diskless(cntr)) return initial;
    if (words % 2u != 0 || words > ENDED_MAX * 2u) return false;
    if (conf->data_incarnation <= cntr->data.incarnation) return false;
    if (initial) return conf->gci == 0 && words == 0 && !cntr_keeps_data(cntr);
    uint64_t schema = conf->schema_lo | (uint64_t)conf->schema_hi << 32;
    if (schema < cntr->data.schema) return false; /* It is the newest of all. */
    if (conf->schema_node == cntr_own(cntr) && schema != cntr->data.schema) return false;
    return conf->start_type == START_SYSTEM_RESTART && conf->gci != 0 && words != 0 &&
           conf->newest <= DATA_NODE_ID_MAX && node_mask_has(&cntr->members, conf->newest) &&
           conf->gci - cntr->data.gci <= 1u && cntr->data.has_data != 0 &&
           block_config(&cntr->block)->initial_start == 0 &&
           cntr_ended_good(&sig->section[0], conf->data_incarnation, conf->gci) &&
           cntr_ended_agrees(&sig->section[0], &cntr->data);
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
    if (cntr_rejoins(cntr) ? !cntr_rejoin_plan(cntr, conf, sig) : !plan_good(cntr, conf, sig)) {
        jam();
        peer_refuse(block, cntr->president, "a start that cannot be");
        return;
    }
    jam();
    cntr->start.type = conf->start_type;
    cntr->plan.gci = conf->gci;
    cntr->plan.incarnation = conf->data_incarnation;
    cntr->plan.schema_node = conf->schema_node;
    cntr->plan.newest = conf->newest;
    cntr->plan.schema = conf->schema_lo | (uint64_t)conf->schema_hi << 32;
    cntr->plan.ended.count = 0;
    if (sig->section_count != 0) cntr_ended_take(&cntr->plan.ended, &sig->section[0]);
    if (cntr_rejoins(cntr) && cntr_would_lose(cntr)) cntr_refuse_loss(cntr);
    if (cntr_rejoins(cntr) && cntr_all_rows(cntr) == NULL) cntr->start.type = START_NODE_RESTART;
    if (!cntr_diskless(cntr) || cntr_rejoins(cntr)) tell_plan(cntr);
    phase_done(cntr, &phases[cntr->start.phase_at]);
    start_next(cntr);
}

static _Noreturn void refuse(struct cntr *cntr, const struct cntr_start_ref *ref)
{
    const struct cntr_data *data = &cntr->data;
    uint32_t ldm_now = block_config(&cntr->block)->ldm_count;
    switch ((enum cntr_start_ref_reason)ref->reason) {
    case CNTR_REF_STALE:
        log_error(
            &cntr->block,
            "this node has data of incarnation %u up to GCI %u; node %u has incarnation %u up "
            "to GCI %u, which this node was no part of",
            data->incarnation, data->gci, ref->node, ref->data_incarnation, ref->gci);
        node_fail(EXIT_DATA_STALE, __FILE__, __LINE__, "this node's data is too old");
    case CNTR_REF_NO_DATA:
        log_error(&cntr->block, "this node %s; node %u has data up to GCI %u",
                  data->has_data != 0 ? "gives its data up (--initial)" : "has no data", ref->node,
                  ref->gci);
        node_fail(EXIT_DATA_MISSING, __FILE__, __LINE__, "this node is empty, others have data");
    case CNTR_REF_LDM:
        log_error(&cntr->block, "the files were written by %u LDM instances, the node has %u now",
                  data->ldm_count, ldm_now);
        node_fail(EXIT_DATA_LDM_COUNT, __FILE__, __LINE__, "another number of LDM instances");
    case CNTR_REF_LAST_COPY:
        log_error(&cntr->block,
                  "--initial would destroy the last copy of a node group's rows, up to GCI %u",
                  data->gci);
        node_fail(EXIT_DATA_LAST_COPY, __FILE__, __LINE__, "--initial on the last copy of rows");
    case CNTR_REF_NO_COPY:
        log_error(&cntr->block, "no copy of the rows of node %u's node group has come", ref->node);
        node_fail(EXIT_DATA_NO_COPY, __FILE__, __LINE__, "a node group's rows are missing");
    }
    node_fail(EXIT_GENERIC, __FILE__, __LINE__, "the president does not let this node start");
}

/* Whatever it has, the others have more of it. */
static bool goes_aside(const struct cntr *cntr, const struct cntr_start_ref *ref)
{
    return block_config(&cntr->block)->survive != 0 &&
           (ref->reason == CNTR_REF_STALE || ref->reason == CNTR_REF_NO_DATA);
}

/*
 * When several are refused, each shall learn why it is: the president's words to the others are
 * still on their way, and a node that saw one of them go first would join anew. So nobody is in a
 * hurry.
 */
#define REFUSAL_DELAY_MS 100u
void cntr_exec_CNTR_START_REF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    const struct cntr_start_ref *ref = SIG_PAYLOAD(sig, cntr_start_ref);
    if (cntr->start.wait != WAIT_START_CONF || ref->incarnation != cntr->incarnation ||
        cntr->state != CNTR_PHASES || ref_node(sig->sender) != cntr->president) {
        jam();
        return;
    }
    jam_data(ref->reason);
    cntr->refusal = *ref;
    if (goes_aside(cntr, ref)) {
        cntr->data.aside = 1;
        log_warning(block,
                    "this node's data is of no use, node %u has newer up to GCI %u: it waits until "
                    "the others run, then it gets all rows from them",
                    ref->node, ref->gci);
        cntr_work_later(cntr, CNTR_REFUSED, REFUSAL_DELAY_MS);
        return;
    }
    cntr_move(cntr, CNTR_FAILING);
    cntr_work_later(cntr, CNTR_REFUSED, REFUSAL_DELAY_MS);
}

void cntr_refused(struct cntr *cntr)
{
    if (cntr->state == CNTR_FAILING) refuse(cntr, &cntr->refusal);
    if (cntr->state != CNTR_PHASES || cntr->incarnation != cntr->refusal.incarnation) {
        jam(); /* It has begun again already, or stops. */
        return;
    }
    jam();
    cntr_start_again(cntr);
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
    const struct cntr_started_rep *rep = SIG_PAYLOAD(sig, cntr_started_rep);
    uint32_t node = rep->node;
    uint32_t sender = ref_node(sig->sender);
    bool known = node != 0 && node <= DATA_NODE_ID_MAX && node_mask_has(&cntr->members, node) &&
                 (node == sender || (sender == cntr->president && node != cntr_own(cntr)));
    if (cntr->incarnation == 0 || rep->incarnation != cntr->incarnation || !known) {
        jam();
        return;
    }
    jam_data(node);
    if (!node_mask_has(&cntr->started, node)) cntr_mate_started(cntr, node);
    node_mask_add(&cntr->started, node);
    cntr_rejoin_started(cntr, node);
    cntr_tell_state(cntr);
}
