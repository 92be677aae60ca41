/* cntr.c -- creates NDBCNTR and tells the node's blocks in which state the node is. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/ndbcntr/cntr_state.h"
#include "signals/fs.h"
#include "signals/gcp_local.h"
#include "signals/pace.h"
#include "signals/redo.h"
#include "signals/schema_restart.h"
#include "signals/sysfile.h"
#include "signals/takeover.h"

void cntr_move(struct cntr *cntr, enum cntr_state state)
{
    static const uint32_t edges[CNTR_STATES] = {
        [CNTR_CONFIG] = 1u << CNTR_WAIT_ORDER | 1u << CNTR_PHASES,
        [CNTR_WAIT_ORDER] = 1u << CNTR_PHASES | 1u << CNTR_STOPPING,
        [CNTR_PHASES] = 1u << CNTR_RUNNING | 1u << CNTR_STOPPING | 1u << CNTR_FAILING,
        [CNTR_RUNNING] = 1u << CNTR_STOPPING | 1u << CNTR_FAILING,
        [CNTR_STOPPING] = 0,
        [CNTR_FAILING] = 0,
    };
    ndbrequire((edges[cntr->state] >> state & 1u) != 0); /* I-CNTR-2 */
    jam_data(state);
    cntr->state = state;
}

void cntr_work_later(struct cntr *cntr, enum cntr_work work, uint32_t delay_ms)
{
    struct continueb next = {.work = work};
    sig_send_delayed(&cntr->block, cntr->block.ref, GSN_CONTINUEB, PRIO_A, &next, delay_ms);
}

/* CMVMI tells management servers: they know single user mode as a level of its own. */
static void tell_cmvmi(struct cntr *cntr, struct node_state_rep rep)
{
    if (cntr->level == START_STARTED && cntr_single_on(cntr)) rep.start_level = START_SINGLEUSER;
    sig_send(&cntr->block, cntr_local(cntr, BLOCK_CMVMI), GSN_NODE_STATE_REP, PRIO_A, &rep);
}

static struct node_state_rep cntr_state_now(const struct cntr *cntr)
{
    return (struct node_state_rep){.start_level = cntr->level,
                                   .start_phase = cntr->phase,
                                   .master = cntr->president,
                                   .started = cntr->started,
                                   .start_type = cntr->start.type,
                                   .start_percent = cntr->recover.percent_now,
                                   .start_left_s = cntr->recover.left_s,
                                   .taken_no = cntr->taken_no,
                                   .single_user = cntr->single.node};
}

void cntr_tell_progress(struct cntr *cntr)
{
    tell_cmvmi(cntr, cntr_state_now(cntr));
}

void cntr_tell_state(struct cntr *cntr)
{
    struct node_state_rep rep = cntr_state_now(cntr);
    uint32_t tc_count = block_instances(&cntr->block, BLOCK_DBTC);
    sig_send(&cntr->block, cntr_local(cntr, BLOCK_QMGR), GSN_NODE_STATE_REP, PRIO_A, &rep);
    tell_cmvmi(cntr, rep);
    sig_send(&cntr->block, cntr_local(cntr, BLOCK_DBDICT), GSN_NODE_STATE_REP, PRIO_A, &rep);
    for (uint32_t i = 1; i <= tc_count; i++)
        sig_send(&cntr->block, cntr_local(cntr, BLOCK_DBTC) + i, GSN_NODE_STATE_REP, PRIO_A, &rep);
}

void cntr_to_members(struct cntr *cntr, uint32_t gsn, const void *payload, uint32_t words)
{
    struct node_mask others = cntr->members;
    node_mask_remove(&others, cntr_own(cntr));
    signal_broadcast(&cntr->block, &others, BLOCK_NDBCNTR, gsn, PRIO_A, payload, words, NULL, 0);
}

static void cntr_exec_CONTINUEB(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    switch ((enum cntr_work)SIG_PAYLOAD(sig, continueb)->work) {
    case CNTR_BEGIN:
        cntr_read_config(cntr);
        return;
    case CNTR_STOP_TICK:
        cntr_stop_tick(cntr);
        return;
    case CNTR_FAIL:
        cntr_fail(cntr);
        return;
    case CNTR_REFUSED:
        cntr_refused(cntr);
        return;
    case CNTR_START_LIMIT:
        cntr_start_limit(cntr);
        return;
    case CNTR_ORDER_LOOK:
        cntr_order_look(cntr);
        return;
    case CNTR_ORDER_LATE:
        cntr_order_late(cntr);
        return;
    default:
        ndbrequire(false); /* No other work is ever sent. */
    }
}

/* The own TCs have ended what a lost node had under way; only then may it come back. */
static void cntr_exec_TAKEOVER_END_REP(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    uint32_t failure_no = SIG_PAYLOAD(sig, takeover_end_rep)->failure_no;
    jam_data(failure_no);
    if (failure_no <= cntr->taken_no) return;
    cntr->taken_no = failure_no;
    log_info(block, "failure %u: what it left under way has ended, after %llu ms", failure_no,
             (unsigned long long)(now_ms(block) - cntr->failed_ms));
    cntr_tell_state(cntr);
    cntr_single_taken(cntr);
}

/* DUMP 13: how far the start is. */
static void cntr_exec_DUMP_STATE_ORD(struct block *block, const struct signal *sig)
{
    const struct cntr *cntr = cntr_of(block);
    (void)sig;
    jam();
    log_info(block, "state %u, level %u, phase %u, waits for %u, members %u, started %u",
             cntr->state, cntr->level, cntr->phase, cntr->start.wait,
             node_mask_count(&cntr->members), node_mask_count(&cntr->started));
}

static const struct handler cntr_handlers[] = {
    HANDLER(cntr, CONTINUEB, continueb),
    HANDLER(cntr, READ_CONFIG_CONF, read_config_conf),
    HANDLER(cntr, START_ORD, start_ord),
    HANDLER(cntr, STTORRY, sttorry),
    HANDLER(cntr, MEMBERS_REP, members_rep),
    HANDLER(cntr, NODE_FAILREP, node_failrep),
    HANDLER(cntr, LCP_STUCK_REP, lcp_stuck_rep),
    HANDLER(cntr, NODE_PACE_REP, node_pace_rep),
    HANDLER(cntr, CNTR_START_REQ, cntr_start_req),
    HANDLER(cntr, CNTR_START_CONF, cntr_start_conf),
    HANDLER(cntr, CNTR_START_REF, cntr_start_ref),
    HANDLER(cntr, SYSFILE_INFO_CONF, sysfile_info_conf),
    HANDLER(cntr, SYSFILE_ENDS_CONF, sysfile_ends_conf),
    HANDLER(cntr, SCHEMA_INFO_CONF, schema_info_conf),
    HANDLER(cntr, FSLISTCONF, fslistconf),
    HANDLER(cntr, FSLISTREF, fs_ref),
    HANDLER(cntr, FSOPENCONF, fsopenconf),
    HANDLER(cntr, FSOPENREF, fs_ref),
    HANDLER(cntr, FSREADCONF, fs_io_conf),
    HANDLER(cntr, FSREADREF, fs_ref),
    HANDLER(cntr, FSCLOSECONF, fs_conf),
    HANDLER(cntr, FSCLOSEREF, fs_ref),
    HANDLER(cntr, FSREMOVECONF, fs_conf),
    HANDLER(cntr, FSREMOVEREF, fs_ref),
    HANDLER(cntr, REDO_OPEN_CONF, redo_open_conf),
    HANDLER(cntr, SCHEMA_RESTART_CONF, schema_restart_conf),
    HANDLER(cntr, RECOVER_CONF, recover_conf),
    HANDLER(cntr, RECOVER_REP, recover_rep),
    HANDLER(cntr, RECOVER_REF, recover_ref),
    HANDLER(cntr, SYSFILE_VOID_CONF, sysfile_void_conf),
    HANDLER(cntr, SYSFILE_START_CONF, sysfile_start_conf),
    HANDLER(cntr, SCHEMA_ONLINE_CONF, schema_online_conf),
    HANDLER(cntr, CNTR_WAITREP, cntr_waitrep),
    HANDLER(cntr, CNTR_GOREP, cntr_gorep),
    HANDLER(cntr, CNTR_STARTED_REP, cntr_started_rep),
    HANDLER(cntr, CNTR_STOP_REP, cntr_stop_rep),
    HANDLER(cntr, CNTR_LEAVE_REQ, cntr_leave_req),
    HANDLER(cntr, CNTR_LEAVE_CONF, cntr_leave_conf),
    HANDLER(cntr, CNTR_SINGLE_REP, cntr_single_rep),
    HANDLER(cntr, SINGLE_USER_REQ, single_user_req),
    HANDLER(cntr, DRAIN_CLIENTS_CONF, drain_clients_conf),
    HANDLER(cntr, STOP_REQ, stop_req),
    HANDLER(cntr, TC_DRAIN_CONF, tc_drain_conf),
    HANDLER(cntr, GCP_FLUSH_CONF, gcp_flush_conf),
    HANDLER(cntr, TAKEOVER_END_REP, takeover_end_rep),
    HANDLER(cntr, NODE_JOINED_REP, node_joined_rep),
    HANDLER(cntr, SCHEMA_LOCK_CONF, schema_lock_conf),
    HANDLER(cntr, CNTR_INCLUDE_REQ, cntr_include_req),
    HANDLER(cntr, CNTR_INCLUDE_ORD, cntr_include_ord),
    HANDLER(cntr, NODE_INCLUDE_CONF, node_include_conf),
    HANDLER(cntr, COPY_PROGRESS_REP, copy_progress_rep),
    HANDLER(cntr, COPY_START_CONF, copy_start_conf),
    HANDLER(cntr, DIH_COMPLETE_CONF, dih_complete_conf),
    HANDLER(cntr, ORDER_PREPARE_REQ, order_prepare_req),
    HANDLER(cntr, ORDER_PREPARE_CONF, order_prepare_conf),
    HANDLER(cntr, ORDER_PREPARE_REF, order_prepare_ref),
    HANDLER(cntr, ORDER_DECIDE_REQ, order_decide_req),
    HANDLER(cntr, ORDER_DECIDE_CONF, order_decide_conf),
    HANDLER(cntr, ORDER_RELEASE_ORD, order_release_ord),
    HANDLER(cntr, ORDER_ABORT_ORD, order_abort_ord),
    HANDLER(cntr, ORDER_STATE_REQ, order_state_req),
    HANDLER(cntr, ORDER_STATE_CONF, order_state_conf),
    HANDLER(cntr, ORDER_HOLD_CONF, order_hold_conf),
    HANDLER(cntr, DUMP_STATE_ORD, dump_state_ord),
};

static const struct block_type cntr_type = {
    .name = "NDBCNTR",
    .block_no = BLOCK_NDBCNTR,
    .handlers = cntr_handlers,
    .handler_count = sizeof(cntr_handlers) / sizeof(cntr_handlers[0]),
};

struct block *cntr_create(struct thread *thread, uint32_t instance)
{
    struct block *block = block_create(thread, &cntr_type, instance, sizeof(struct cntr));
    struct continueb begin = {.work = CNTR_BEGIN};
    sig_send(block, block->ref, GSN_CONTINUEB, PRIO_B, &begin);
    return block;
}
