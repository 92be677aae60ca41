/* dih_gcp_master.c -- the president's DIH: numbers epochs, drives them through prepare and commit,
 * and makes GCIs durable. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One epoch change at a time, and one GCI being saved at a time; micro-epochs go on while a GCI is
 * saved. The states stand in dih_state.h, the sequence in docs/protocols/gcp.md.
 */
#include <stdio.h>
#include <string.h>
#include "blocks/cmvmi/event.h"
#include "blocks/dbdih/dih_state.h"

static void to_all(struct dih *dih, uint32_t gsn, const void *payload, uint32_t words)
{
    signal_broadcast(&dih->block, &dih->members, BLOCK_DBDIH, gsn, PRIO_A, payload, words, NULL, 0);
}

static void wait_for_all(struct dih *dih, enum gcp_master_state state)
{
    struct gcp_master *master = &dih->gcp_master;
    jam_data(state);
    master->state = state;
    master->waiting = dih->members;
    master->phase_ms = now_ms(&dih->block);
    master->warned = 0;
}

/* --- Epochs. --- */

static bool may_close(const struct dih *dih)
{
    return dih_diskless(dih) || dih->gcp_master.save_state == SAVE_IDLE;
}

/* The newest GCI has no number left: with a hundred micro-epochs in a second that is after ten
 * minutes in which no GCI was saved. */
static bool numbers_used(const struct gcp_master *master)
{
    return epoch_number(master->gci_lo) == EPOCH_NUMBER_MAX;
}

static void begin_epoch(struct dih *dih)
{
    struct gcp_master *master = &dih->gcp_master;
    uint64_t age_ms = now_ms(&dih->block) - master->gci_ms;
    bool due = age_ms >= block_config(&dih->block)->gci_ms || master->force >= master->gci_hi ||
               numbers_used(master);
    ndbrequire(master->state == GCP_IDLE);
    if (dih->gcp_node.rest != 0) {
        jam(); /* All system files shall say the same when the cluster is down. */
        return;
    }
    if (numbers_used(master) && !may_close(dih)) {
        jam(); /* The next epoch is the next GCI, when the one being saved is durable. */
        return;
    }
    if (due && may_close(dih)) {
        jam();
        ndbrequire(master->gci_hi < UINT32_MAX);
        master->next_hi = master->gci_hi + 1;
        master->next_lo = epoch_lo(epoch_life(master->gci_lo), 0);
        master->gci_ms = now_ms(&dih->block);
    } else {
        jam();
        master->next_hi = master->gci_hi;
        master->next_lo = master->gci_lo + 1;
    }
    master->epoch_now = false;
    struct gcp_prepare req = {
        .incarnation = dih->incarnation, .gci_hi = master->next_hi, .gci_lo = master->next_lo};
    wait_for_all(dih, GCP_PREPARING);
    to_all(dih, GSN_GCP_PREPARE, &req, sizeof(req) / 4u);
}

/* Somebody waits: do not wait for the timer. */
static void begin_if_wanted(struct dih *dih)
{
    const struct gcp_master *master = &dih->gcp_master;
    if (master->state != GCP_IDLE) return;
    if (master->epoch_now || (master->force >= master->gci_hi && may_close(dih))) begin_epoch(dih);
}

/* An answer of the phase under way; true when it was the last. */
static bool answered(struct dih *dih, const struct signal *sig, enum gcp_master_state state)
{
    struct gcp_master *master = &dih->gcp_master;
    const struct gcp_prepareconf *conf =
        SIG_PAYLOAD(sig, gcp_prepareconf); /* All answers begin like this. */
    uint32_t node = ref_node(sig->sender);
    if (!dih_of_this_life(dih, sig, conf->incarnation) || master->state == GCP_OFF) {
        jam(); /* This is a word of a former life of the cluster. */
        return false;
    }
    if (master->state != state || conf->gci_hi != master->next_hi ||
        conf->gci_lo != master->next_lo || !node_mask_has(&master->waiting, node)) {
        dih_protocol_error(dih, sig->sender, "answer to an epoch that was not asked for");
        return false;
    }
    node_mask_remove(&master->waiting, node);
    return node_mask_empty(&master->waiting);
}

static void commit_epoch(struct dih *dih)
{
    const struct gcp_master *master = &dih->gcp_master;
    struct gcp_commit req = {
        .incarnation = dih->incarnation, .gci_hi = master->next_hi, .gci_lo = master->next_lo};
    wait_for_all(dih, GCP_COMMITTING);
    to_all(dih, GSN_GCP_COMMIT, &req, sizeof(req) / 4u);
}

void dih_exec_GCP_PREPARECONF(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    if (answered(dih, sig, GCP_PREPARING)) commit_epoch(dih);
}

static void begin_save(struct dih *dih, uint32_t gci)
{
    struct gcp_master *master = &dih->gcp_master;
    ndbrequire(master->save_state == SAVE_IDLE && gci > master->durable); /* I-GCP-4 */
    jam_data(gci);
    master->save_state = SAVE_LOGS;
    master->save_gci = gci;
    master->save_ends.size = 0;
    master->save_waiting = dih->members;
    master->save_ms = now_ms(&dih->block);
    master->save_warned = 0;
    event_send(&dih->block, EVENT_GLOBAL_CHECKPOINT_STARTED, gci);
    struct gcp_node_savereq req = {.incarnation = dih->incarnation, .gci = gci};
    to_all(dih, GSN_GCP_NODE_SAVEREQ, &req, sizeof(req) / 4u);
}

static void answer_sttor(struct dih *dih)
{
    struct gcp_master *master = &dih->gcp_master;
    if (master->sttor_owed == 0) return;
    jam();
    dih_sttorry(dih, master->sttor_owed, master->sttor_data);
    master->sttor_owed = 0;
}

/*
 * An initial start is open to clients only when its first GCI is durable: system files of GCI 0
 * then mean that nothing was ever stored, and a start that was cut off may begin again with
 * nothing.
 */
static bool first_gci(const struct dih *dih)
{
    return !dih_diskless(dih) && dih->gcp_master.durable == 0;
}

/* Completes the epoch, not before the commits of lost TCs are taken over: they may be of the old
 * one. */
static void complete_epoch(struct dih *dih)
{
    struct gcp_master *master = &dih->gcp_master;
    if (!dih_taken_over(dih)) {
        jam();
        return;
    }
    uint32_t old_hi = master->gci_hi;
    struct epoch_complete_rep rep = {
        .incarnation = dih->incarnation, .gci_hi = old_hi, .gci_lo = master->gci_lo};
    jam();
    master->gci_hi = master->next_hi;
    master->gci_lo = master->next_lo;
    master->state = GCP_IDLE;
    master->done_hi = rep.gci_hi;
    master->done_lo = rep.gci_lo;
    to_all(dih, GSN_EPOCH_COMPLETE_REP, &rep, sizeof(rep) / 4u);
    if (master->gci_hi > old_hi && !dih_diskless(dih) && old_hi > master->durable)
        begin_save(dih, old_hi);
    if (!first_gci(dih))
        answer_sttor(dih);
    else if (master->force == 0)
        master->force = master->gci_hi;
    gcp_master_include(dih);
    begin_if_wanted(dih);
    gcp_node_flushed(dih);
}

void dih_exec_GCP_NODEFINISH(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    if (answered(dih, sig, GCP_COMMITTING)) complete_epoch(dih);
}

void dih_exec_GCP_CLOSE_ORD(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct gcp_master *master = &dih->gcp_master;
    const struct gcp_close_ord *ord = SIG_PAYLOAD(sig, gcp_close_ord);
    if (!dih_of_this_life(dih, sig, ord->incarnation) || master->state == GCP_OFF) {
        jam();
        return;
    }
    jam_data(ord->gci);
    uint32_t newest = master->state == GCP_COMMITTING ? master->next_hi : master->gci_hi;
    if (ord->gci > newest) {
        dih_protocol_error(dih, sig->sender, "order to close a GCI that has not begun");
        return;
    }
    if (ord->gci == 0) master->epoch_now = true;
    if (ord->gci > master->force) master->force = ord->gci;
    begin_if_wanted(dih);
}

/* --- Saving. --- */

/* True for an answer that is due; others are told off. */
static bool save_answer(struct dih *dih, const struct signal *sig, enum gcp_save_state state)
{
    struct gcp_master *master = &dih->gcp_master;
    const struct gcp_node_saveconf *conf = SIG_PAYLOAD(sig, gcp_node_saveconf);
    uint32_t node = ref_node(sig->sender);
    if (!dih_of_this_life(dih, sig, conf->incarnation) || master->state == GCP_OFF) {
        jam();
        return false;
    }
    if (master->save_state != state || conf->gci != master->save_gci ||
        !node_mask_has(&master->save_waiting, node)) {
        dih_protocol_error(dih, sig->sender, "answer to a GCI that is not being saved");
        return false;
    }
    return true;
}

/* True when it was the last. */
static bool saved(struct dih *dih, const struct signal *sig)
{
    struct gcp_master *master = &dih->gcp_master;
    node_mask_remove(&master->save_waiting, ref_node(sig->sender));
    return node_mask_empty(&master->save_waiting);
}

static void save_sysfiles(struct dih *dih)
{
    struct gcp_master *master = &dih->gcp_master;
    jam();
    master->save_state = SAVE_SYSFILES;
    master->save_waiting = dih->members;
    master->save_ms = now_ms(&dih->block);
    master->save_warned = 0;
    struct copy_gcireq req = {
        .incarnation = dih->incarnation, .gci = master->save_gci, .members = dih->members};
    node_mask_cut(&req.members, &dih->include.partial); /* I-GCP-8 */
    struct section ends = {.words = master->save_ends.words, .size = master->save_ends.size};
    signal_broadcast(&dih->block, &dih->members, BLOCK_DBDIH, GSN_COPY_GCIREQ, PRIO_A, &req,
                     sizeof(req) / 4u, &ends, 1);
}

void dih_exec_GCP_NODE_SAVECONF(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    const struct section *entry = &sig->section[0];
    if (!save_answer(dih, sig, SAVE_LOGS)) return;
    if (!log_ends_good(entry->words, entry->size, dih->gcp_master.save_gci) || entry->size == 0 ||
        log_ends_node(entry->words) != ref_node(sig->sender) ||
        !log_ends_add(&dih->gcp_master.save_ends, entry->words, entry->size)) {
        dih_protocol_error(dih, sig->sender, "ends of logs that cannot be");
        return;
    }
    if (saved(dih, sig)) save_sysfiles(dih);
}

static void save_done(struct dih *dih)
{
    struct gcp_master *master = &dih->gcp_master;
    jam();
    master->durable = master->save_gci;
    master->save_state = SAVE_IDLE;
    struct gcp_node_durable_rep rep = {.incarnation = dih->incarnation, .gci = master->durable};
    to_all(dih, GSN_GCP_NODE_DURABLE_REP, &rep, sizeof(rep) / 4u);
    event_send(&dih->block, EVENT_GLOBAL_CHECKPOINT_COMPLETED, master->durable);
    answer_sttor(dih);
    gcp_master_include(dih);
    begin_if_wanted(dih);
    gcp_node_flushed(dih);
}

void dih_exec_COPY_GCICONF(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    if (save_answer(dih, sig, SAVE_SYSFILES) && saved(dih, sig)) save_done(dih);
}

/* --- A node comes back. --- */

/* Takes a node in between two epochs, so that it is in all of the next one, and between two saves,
 * so that its logs are asked for all of a GCI. Under load such a moment is behind each save. */
static void include_node(struct dih *dih, uint32_t node)
{
    const struct gcp_master *master = &dih->gcp_master;
    struct dih_include *include = &dih->include;
    const struct sysfile *now = &dih->sysfile.now;
    struct gcp_include_ord ord = {.incarnation = dih->incarnation,
                                  .gci_hi = master->gci_hi,
                                  .gci_lo = master->gci_lo,
                                  .complete_hi = master->done_hi,
                                  .complete_lo = master->done_lo,
                                  .durable = master->durable,
                                  .restart_gci = dih->restart_gci,
                                  .data_incarnation = dih_incarnation(dih)};
    struct section ended = {.words = &now->ended[0].incarnation, .size = now->ended_count * 2u};
    jam_data(node);
    node_mask_add(&dih->members, node);
    node_mask_add(&dih->alike, node); /* It hears of this life, and has heard of no other one. */
    dih->fail.taken_no[node] = dih->fail.failure_no; /* It has coordinated nothing so far. */
    if (!dih_diskless(dih)) node_mask_add(&include->partial, node);
    log_info(&dih->block, "node %u takes part in epochs", node);
    signal_send(&dih->block, block_ref(node, BLOCK_DBDIH, 0), GSN_GCP_INCLUDE_ORD, PRIO_A, &ord,
                sizeof(ord) / 4u, &ended, dih_diskless(dih) ? 0 : 1u);
}

void gcp_master_include(struct dih *dih)
{
    const struct gcp_master *master = &dih->gcp_master;
    struct node_mask *joining = &dih->include.joining;
    if (master->state != GCP_IDLE || master->save_state != SAVE_IDLE) return;
    for (uint32_t node = node_mask_next(joining, 0); node != 0;
         node = node_mask_next(joining, node))
        include_node(dih, node);
    memset(joining, 0, sizeof(*joining));
}

void gcp_master_force(struct dih *dih)
{
    struct gcp_master *master = &dih->gcp_master;
    uint32_t newest = master->state == GCP_COMMITTING ? master->next_hi : master->gci_hi;
    jam_data(newest);
    if (newest > master->force) master->force = newest;
    begin_if_wanted(dih);
}

/* --- Lost members, a lost master. --- */

static uint32_t tick_ms(const struct dih *dih)
{
    const struct node_config *config = block_config(&dih->block);
    uint32_t ms = config->epoch_ms != 0 ? config->epoch_ms : config->gci_ms;
    return ms == 0 ? 1 : ms;
}

void gcp_master_go_on(struct dih *dih)
{
    struct gcp_master *master = &dih->gcp_master;
    if (master->state == GCP_OFF) return;
    if (master->state == GCP_PREPARING && node_mask_empty(&master->waiting))
        commit_epoch(dih);
    else if (master->state == GCP_COMMITTING && node_mask_empty(&master->waiting))
        complete_epoch(dih);
}

void gcp_master_lost(struct dih *dih, const struct node_mask *nodes)
{
    struct gcp_master *master = &dih->gcp_master;
    if (master->state == GCP_OFF) return;
    node_mask_cut(&master->waiting, nodes);
    node_mask_cut(&master->save_waiting, nodes);
    log_ends_cut(&master->save_ends, nodes);
    if (master->save_state != SAVE_IDLE && node_mask_empty(&master->save_waiting)) {
        jam();
        if (master->save_state == SAVE_LOGS)
            save_sysfiles(dih);
        else
            save_done(dih);
    }
    gcp_master_go_on(dih);
    if (dih_diskless(dih)) return;
    /* The system files shall not call them current any longer than needed. */
    gcp_master_force(dih);
}

/*
 * All members have said where they stand. What the former master had begun is done once more: who
 * has done it already says so again. `newest`: somebody has this epoch, so all had prepared it.
 */
void gcp_master_take(struct dih *dih, const struct gcp_state_conf *newest,
                     const struct gcp_state_conf *prepared, uint32_t durable, bool apart)
{
    struct gcp_master *master = &dih->gcp_master;
    uint32_t serial = master->serial;
    bool preparing = !apart && prepared->next_hi != 0;
    uint32_t next_hi = preparing ? prepared->next_hi : newest->gci_hi;
    if (durable < dih->restart_gci) durable = dih->restart_gci; /* What the start has restored. */
    /* A GCI is not closed before the one before it is durable, whoever was told of that. */
    if (next_hi > 2u && durable < next_hi - 2u) durable = next_hi - 2u;
    memset(master, 0, sizeof(*master));
    master->serial = serial + 1;
    master->gci_ms = now_ms(&dih->block);
    master->durable = durable;
    master->gci_hi = preparing ? newest->gci_hi : newest->old_hi;
    master->gci_lo = preparing ? newest->gci_lo : newest->old_lo;
    master->next_hi = next_hi;
    master->force = next_hi; /* Whoever waits has told the former master. */
    master->next_lo = preparing ? prepared->next_lo : newest->gci_lo;
    log_info(&dih->block, "this node numbers the epochs now: %u/%u, durable %u", newest->gci_hi,
             newest->gci_lo, durable);
    if (durable > dih->restart_gci && !dih_diskless(dih)) {
        struct gcp_node_durable_rep rep = {.incarnation = dih->incarnation, .gci = durable};
        to_all(dih, GSN_GCP_NODE_DURABLE_REP, &rep, sizeof(rep) / 4u);
    }
    if (preparing) {
        struct gcp_prepare req = {
            .incarnation = dih->incarnation, .gci_hi = master->next_hi, .gci_lo = master->next_lo};
        wait_for_all(dih, GCP_PREPARING);
        to_all(dih, GSN_GCP_PREPARE, &req, sizeof(req) / 4u);
    } else {
        commit_epoch(dih);
    }
    /* The GCI before that of master->gci is complete; the former master may have been saving it. */
    if (!dih_diskless(dih) && master->gci_hi - 1 > durable) begin_save(dih, master->gci_hi - 1);
    dih_work_later(dih, DIH_WORK_EPOCH, master->serial, tick_ms(dih));
}

/* --- Begin, end, timer. --- */

void gcp_master_begin(struct dih *dih, uint32_t sttor_sender, uint32_t sttor_data)
{
    struct gcp_master *master = &dih->gcp_master;
    uint32_t serial = master->serial;
    memset(master, 0, sizeof(*master));
    master->serial = serial + 1;
    master->state = GCP_IDLE;
    master->gci_hi = dih->restart_gci + 1;
    master->gci_lo = epoch_lo(dih_incarnation(dih), 0);
    master->gci_ms = now_ms(&dih->block);
    master->durable = dih->restart_gci;
    master->sttor_owed = sttor_sender;
    master->sttor_data = sttor_data;
    log_info(&dih->block, "epochs begin with GCI %u", master->gci_hi);
    begin_epoch(dih);
    dih_work_later(dih, DIH_WORK_EPOCH, master->serial, tick_ms(dih));
}

void gcp_master_stop(struct dih *dih)
{
    struct gcp_master *master = &dih->gcp_master;
    jam_data(master->state);
    master->state = GCP_OFF;
    answer_sttor(dih);
}

void gcp_master_tick(struct dih *dih, uint32_t serial)
{
    struct gcp_master *master = &dih->gcp_master;
    if (master->state == GCP_OFF || serial != master->serial) {
        jam();
        return;
    }
    if (master->state == GCP_IDLE) begin_epoch(dih);
    dih_work_later(dih, DIH_WORK_EPOCH, serial, tick_ms(dih));
}

/* --- Monitor: who is late is named, and ordered to stop when that lasts. --- */

struct gcp_lateness {
    const struct node_mask *waiting;
    uint64_t since_ms;
    uint32_t *warned;
    uint32_t limit_ms;
    uint32_t what; /* enum gcp_late_what */
    uint32_t gci_hi;
    uint32_t gci_lo;
};

static void report_late(struct dih *dih, const struct gcp_lateness *late, uint32_t node, bool stop,
                        uint32_t ms)
{
    char text[EVENT_TEXT_MAX];
    (void)snprintf(text, sizeof(text), "epoch %u/%u: node %u is late: %s for %u ms%s", late->gci_hi,
                   epoch_number(late->gci_lo), node, gcp_late_text(late->what), ms,
                   stop ? "; it is told to stop" : "");
    log_warning(&dih->block, "%s", text);
    event_text(&dih->block, EVENT_WARNING, text);
}

/* A node that does not obey is told again; one that does not answer at all is QMGR's to notice. */
static void look_at(struct dih *dih, const struct gcp_lateness *late)
{
    uint64_t ms = now_ms(&dih->block) - late->since_ms;
    bool stop = gcp_too_late(ms, late->limit_ms);
    if (!gcp_late(ms, late->warned) && !stop) return;
    struct gcp_stop_ord ord = {
        .incarnation = dih->incarnation, .what = late->what, .ms = (uint32_t)ms};
    jam_data(late->what);
    for (uint32_t node = node_mask_next(late->waiting, 0); node != 0;
         node = node_mask_next(late->waiting, node)) {
        report_late(dih, late, node, stop, ord.ms);
        if (stop)
            sig_send(&dih->block, block_ref(node, BLOCK_DBDIH, 0), GSN_GCP_STOP_ORD, PRIO_A, &ord);
    }
}

void gcp_master_monitor(struct dih *dih)
{
    struct gcp_master *master = &dih->gcp_master;
    const struct node_config *config = block_config(&dih->block);
    struct gcp_lateness epoch = {
        .waiting = &master->waiting,
        .since_ms = master->phase_ms,
        .warned = &master->warned,
        .limit_ms = config->epoch_timeout_ms,
        .what = master->state == GCP_PREPARING ? GCP_LATE_HOLD : GCP_LATE_COMMITS,
        .gci_hi = master->next_hi,
        .gci_lo = master->next_lo,
    };
    struct gcp_lateness save = {
        .waiting = &master->save_waiting,
        .since_ms = master->save_ms,
        .warned = &master->save_warned,
        .limit_ms = config->gci_timeout_ms,
        .what = master->save_state == SAVE_LOGS ? GCP_LATE_LOG : GCP_LATE_SYSFILE,
        .gci_hi = master->save_gci,
    };
    if (master->state == GCP_OFF) return;
    if (master->state != GCP_IDLE) look_at(dih, &epoch);
    if (master->save_state != SAVE_IDLE) look_at(dih, &save);
}
