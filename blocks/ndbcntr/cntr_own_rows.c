/* cntr_own_rows.c -- a node that comes back has rows of an earlier time on its disk: whether they
 * count, and what happens if they turn out to be of no use. See docs/protocols/node_restart.md. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/ndbcntr/cntr_state.h"
#include "kernel/base/u64.h"
#include "signals/redo.h"
#include "signals/sysfile.h"

/* Percent of a return that the own files count for, the copy the rest. */
#define OWN_SHARE 60u

/* How the incarnation ended stands in the list; an entry is for all behind the one before it. What
 * is older than a full list is not known. */
static const uint32_t *end_of(const struct cntr_ended *ended, uint32_t incarnation)
{
    for (uint32_t i = 0; i < ended->count; i++) {
        if (ended->pair[i][0] < incarnation) continue;
        bool known = i > 0 || ended->count < ENDED_MAX || ended->pair[0][0] == incarnation;
        return known ? ended->pair[i] : NULL;
    }
    return NULL;
}

/*
 * The data is a state that the cluster, which is in its incarnation `running` now, has been in: it
 * has gone on from there, or from later. So what the node knows of former incarnations must be what
 * the cluster knows.
 */
bool cntr_ended_has(const struct cntr_ended *ended, uint32_t running, const struct cntr_data *data)
{
    for (uint32_t i = 0; i < data->ended.count; i++) {
        const uint32_t *own = data->ended.pair[i];
        const uint32_t *end = end_of(ended, own[0]);
        bool older = ended->count == ENDED_MAX && own[0] < ended->pair[0][0];
        if (!older && (end == NULL || end[1] != own[1])) return false;
    }
    if (data->incarnation == running) return true;
    const uint32_t *end = end_of(ended, data->incarnation);
    return data->incarnation < running && end != NULL && data->gci <= end[1];
}

/*
 * The newest GCI up to which the data and the cluster have the same past; all of the data when
 * the list does not go back far enough to tell.
 */
uint32_t cntr_ended_shared(const struct cntr_ended *ended, uint32_t running,
                           const struct cntr_data *data)
{
    uint32_t oldest = ended->count == ENDED_MAX ? ended->pair[0][0] : 0;
    uint32_t shared = 0;
    for (uint32_t i = 0; i < data->ended.count; i++) {
        const uint32_t *own = data->ended.pair[i];
        const uint32_t *end = own[0] < running ? end_of(ended, own[0]) : NULL;
        if (own[0] >= oldest && end == NULL) return shared;
        if (own[0] >= oldest && end[1] != own[1]) return end[1] < own[1] ? end[1] : own[1];
        shared = own[1];
    }
    if (data->incarnation == running || data->incarnation < oldest) return data->gci;
    const uint32_t *end = data->incarnation < running ? end_of(ended, data->incarnation) : NULL;
    if (end == NULL) return shared;
    return end[1] < data->gci ? end[1] : data->gci;
}

/*
 * This node's files have something that was declared durable and that the cluster has not: it was
 * started without this node from what was older. Without system files nobody knows what was
 * declared. The last GCI alone was not when a node that should have had it too is in the cluster:
 * either it did not get it before the cluster ended there, or it was let in for the same reason.
 */
bool cntr_would_lose(const struct cntr *cntr)
{
    const struct node_config *config = block_config(&cntr->block);
    const struct cntr_data *data = &cntr->data;
    struct node_mask witnesses = cntr->started;
    if (cntr_diskless(cntr) || data->has_data == 0 || data->gci == 0 || data->incarnation == 0)
        return false;
    if (config->initial_start && config->accept_data_loss) return false;
    uint32_t shared = cntr_ended_shared(&cntr->plan.ended, cntr->plan.incarnation, data);
    node_mask_keep(&witnesses, &data->members);
    node_mask_remove(&witnesses, cntr_own(cntr));
    return data->gci > shared + (node_mask_empty(&witnesses) ? 0u : 1u); /* I-CNTR-6 */
}

_Noreturn void cntr_refuse_loss(struct cntr *cntr)
{
    const struct cntr_data *data = &cntr->data;
    const struct cntr_plan *plan = &cntr->plan;
    log_error(&cntr->block,
              "this node has data of incarnation %u up to GCI %u; the cluster, now in incarnation "
              "%u, was started without it from GCI %u",
              data->incarnation, data->gci, plan->incarnation,
              cntr_ended_shared(&plan->ended, plan->incarnation, data));
    if (block_config(&cntr->block)->initial_start)
        node_fail(EXIT_DATA_LAST_COPY, __FILE__, __LINE__, "--initial on the last copy of commits");
    node_fail(EXIT_DATA_NEWER, __FILE__, __LINE__, "the cluster is older than this node's data");
}

const char *cntr_all_rows(const struct cntr *cntr)
{
    const struct node_config *config = block_config(&cntr->block);
    const struct cntr_data *data = &cntr->data;
    if (cntr_diskless(cntr)) return "there are no files";
    if (config->initial_start) return "initial start";
    if (data->has_data == 0 || data->gci == 0) return "this node has none that are of use";
    if (data->ldm_count != config->ldm_count)
        return "the files were written with another number of LDM instances";
    if (!cntr_ended_has(&cntr->plan.ended, cntr->plan.incarnation, data))
        return "the cluster has not gone on from what this node has";
    return NULL;
}

uint32_t cntr_progress(const struct cntr *cntr, uint32_t percent)
{
    if (!cntr_has_own_rows(cntr)) return percent;
    if (cntr->start.step == STEP_COPY) return OWN_SHARE + percent * (100u - OWN_SHARE) / 100u;
    return percent * OWN_SHARE / 100u;
}

/* From now on the disk has something of all times; the mark stays until all rows are in it. */
void cntr_void_files(struct cntr *cntr)
{
    struct sysfile_void_req req = {.sender_data = cntr->incarnation};
    sig_send(&cntr->block, cntr_local(cntr, BLOCK_DBDIH), GSN_SYSFILE_VOID_REQ, PRIO_B, &req);
}

void cntr_exec_SYSFILE_VOID_CONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    (void)sig;
    jam_data(cntr->recover.given_up);
    if (cntr->recover.given_up)
        node_fail(EXIT_DATA_GIVEN_UP, __FILE__, __LINE__, "this node's own files are of no use");
    cntr_step_done(cntr, STEP_VOID);
}

/* Rows have been read perhaps: a new process is simpler than to take them away. */
void cntr_exec_RECOVER_REF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    if (cntr->recover.given_up || cntr->state != CNTR_PHASES) {
        jam();
        return;
    }
    jam_data(SIG_PAYLOAD(sig, recover_ref)->code);
    ndbrequire(cntr_has_own_rows(cntr) && cntr->start.wait == WAIT_STEP);
    cntr->recover.given_up = 1;
    log_warning(
        block,
        "this node's own files are of no use (exit code %u, see above): it begins again and "
        "gets all rows from the others",
        SIG_PAYLOAD(sig, recover_ref)->code);
    cntr_void_files(cntr);
}

void cntr_rows_are_here(struct cntr *cntr, const struct copy_start_conf *conf)
{
    const struct copy_rows *rows = &conf->rows;
    const struct cntr_recover *recover = &cntr->recover;
    log_info(
        &cntr->block,
        "all rows are here: %llu restored from own files in %u ms, %llu of them unchanged, %llu "
        "removed; %llu rows, %llu KB copied in %llu ms",
        (unsigned long long)u64_of(rows->own_lo, rows->own_hi),
        recover->restore_ms + recover->replay_ms,
        (unsigned long long)u64_of(rows->kept_lo, rows->kept_hi),
        (unsigned long long)u64_of(rows->removed_lo, rows->removed_hi),
        (unsigned long long)u64_of(rows->copied_lo, rows->copied_hi),
        (unsigned long long)(u64_of(conf->bytes_lo, conf->bytes_hi) >> 10),
        (unsigned long long)(now_ms(&cntr->block) - recover->begin_ms));
}
