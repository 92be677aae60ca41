/* cntr_recover.c -- the steps of a start with files: what the node has, its logs, dictionary and
 * rows, the new incarnation. See docs/protocols/restart.md. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>
#include "blocks/ndbcntr/cntr_state.h"
#include "blocks/ndbfs/fs_client.h"
#include "kernel/base/u64.h"
#include "values/errors.h"
#include "signals/redo.h"
#include "signals/schema_restart.h"
#include "signals/sysfile.h"

#define PROGRESS_LOG_MS 10000u
/* Percent of the whole that checkpoints count for, the log the rest. */
#define CHECKPOINT_SHARE 60u

void cntr_ended_take(struct cntr_ended *ended, const struct section *list)
{
    ndbrequire(list->size % 2u == 0 && list->size <= ENDED_MAX * 2u);
    ended->count = list->size / 2u;
    memcpy(ended->pair, list->words, (size_t)list->size * 4u);
}

/* Oldest first, and none went back behind the one before. */
bool cntr_ended_good(const struct section *list, uint32_t incarnation, uint32_t gci)
{
    if (list->size % 2u != 0 || list->size > ENDED_MAX * 2u) return false;
    for (uint32_t at = 0; at < list->size; at += 2u) {
        bool last = at + 2u == list->size;
        if (list->words[at] >= (last ? incarnation : list->words[at + 2u])) return false;
        if (list->words[at + 1u] > (last ? gci : list->words[at + 3u])) return false;
    }
    return true;
}

static bool has_pair(const struct section *list, uint32_t incarnation, uint32_t gci, uint32_t more)
{
    for (uint32_t at = 0; at < list->size; at += 2u) {
        /* An entry stands for all behind the one before it. */
        if (list->words[at] >= incarnation) return list->words[at + 1u] - gci <= more;
    }
    return false;
}

/* What this node knows of former incarnations stands in the list, as far as it goes back, and how
 * its own one ended: perhaps with the GCI that its system file did not get any more. */
bool cntr_ended_agrees(const struct section *list, const struct cntr_data *data)
{
    for (uint32_t i = 0; i < data->ended.count; i++) {
        const uint32_t *own = data->ended.pair[i];
        if (own[0] >= list->words[0] && !has_pair(list, own[0], own[1], 0)) return false;
    }
    return has_pair(list, data->incarnation, data->gci, 1);
}

static uint32_t lqh_ref(const struct cntr *cntr, uint32_t instance)
{
    return cntr_local(cntr, BLOCK_DBLQH) + instance;
}

/* --- Beginning a step. --- */

/* The start's number is random, and all nodes that begin together may have it. Who comes later has
 * perhaps had a log in the same incarnation. */
static uint32_t log_life(struct cntr *cntr)
{
    if (cntr_rejoins(cntr)) return (uint32_t)rng_next(block_rng(&cntr->block));
    return cntr->incarnation / 2u;
}

static void begin_redo_open(struct cntr *cntr)
{
    bool own = cntr_has_own_rows(cntr);
    struct redo_open_req req = {.sender_data = cntr->incarnation,
                                .create = !own && cntr->start.type != START_SYSTEM_RESTART,
                                .others = own};
    if (req.create != 0) req.life = log_life(cntr);
    uint32_t count = block_instances(&cntr->block, BLOCK_DBLQH);
    memset(&cntr->recover, 0, sizeof(cntr->recover));
    for (uint32_t i = 1; i <= count; i++) {
        node_mask_add(&cntr->recover.waiting, i);
        sig_send(&cntr->block, lqh_ref(cntr, i), GSN_REDO_OPEN_REQ, PRIO_B, &req);
    }
}

static void begin_recover(struct cntr *cntr)
{
    const struct cntr_plan *plan = &cntr->plan;
    uint32_t count = block_instances(&cntr->block, BLOCK_DBLQH);
    struct section list = {.words = &plan->ended.pair[0][0], .size = plan->ended.count * 2u};
    cntr->recover.begin_ms = now_ms(&cntr->block);
    cntr->recover.logged_ms = cntr->recover.begin_ms;
    bool own = cntr_has_own_rows(cntr);
    for (uint32_t i = 1; i <= count; i++) {
        struct recover_req req = {.sender_data = cntr->incarnation,
                                  .restart_gci = own                  ? cntr->data.gci
                                                 : cntr_rejoins(cntr) ? 0
                                                                      : plan->gci,
                                  .incarnation = plan->incarnation,
                                  .running = own};
        if ((own || cntr->start.type == START_SYSTEM_RESTART) && i <= LDM_MAX) {
            req.lsn_lo = cntr->data.lsn[i - 1u][0];
            req.lsn_hi = cntr->data.lsn[i - 1u][1];
            req.lsn_older = cntr->data.lsn_older;
        }
        node_mask_add(&cntr->recover.waiting, i);
        signal_send(&cntr->block, lqh_ref(cntr, i), GSN_RECOVER_REQ, PRIO_B, &req, sizeof(req) / 4u,
                    &list, list.size != 0 ? 1u : 0u);
    }
}

/* A dictionary of an earlier time is whole in itself, and may be the newest of those that have
 * come: tables that were made since would be gone without a word. */
static void check_schema(const struct cntr *cntr)
{
    const struct cntr_data *data = &cntr->data;
    char text[240];
    if (cntr->start.type != START_SYSTEM_RESTART || cntr->plan.schema == 0) return;
    if (block_config(&cntr->block)->initial_start != 0) return;
    if (cntr->plan.schema >= data->named) return; /* I-GCP-11 */
    jam();
    (void)snprintf(
        text, sizeof(text),
        "D1/schema.0 and D1/schema.1 are of an earlier time: the newest of all nodes that "
        "start has number %llu, the system files name %llu; bring them back from a copy "
        "of the file system",
        (unsigned long long)cntr->plan.schema, (unsigned long long)data->named);
    node_fail(EXIT_SCHEMA_DAMAGED, __FILE__, __LINE__, text);
}

static void begin_schema_restart(struct cntr *cntr)
{
    check_schema(cntr);
    struct schema_restart_req req = {.sender_data = cntr->incarnation,
                                     .start_type = cntr->start.type,
                                     .source_node = cntr->plan.schema_node,
                                     .sequence_lo = (uint32_t)cntr->plan.schema,
                                     .sequence_hi = (uint32_t)(cntr->plan.schema >> 32)};
    sig_send(&cntr->block, cntr_local(cntr, BLOCK_DBDICT), GSN_SCHEMA_RESTART_REQ, PRIO_B, &req);
}

static void begin_sysfile_start(struct cntr *cntr)
{
    const struct cntr_plan *plan = &cntr->plan;
    struct sysfile_start_req req = {
        .sender_data = cntr->incarnation, .gci = plan->gci, .incarnation = plan->incarnation};
    struct section list = {.words = &plan->ended.pair[0][0], .size = plan->ended.count * 2u};
    signal_send(&cntr->block, cntr_local(cntr, BLOCK_DBDIH), GSN_SYSFILE_START_REQ, PRIO_B, &req,
                sizeof(req) / 4u, &list, list.size != 0 ? 1u : 0u);
}

static void begin_log_ends(struct cntr *cntr)
{
    struct sysfile_ends_req req = {
        .sender_data = cntr->incarnation, .gci = cntr->plan.gci, .newest = cntr->plan.newest};
    sig_send(&cntr->block, cntr_local(cntr, BLOCK_DBDIH), GSN_SYSFILE_ENDS_REQ, PRIO_B, &req);
}

/* The system files of a node that comes back go first: without them nothing that a crash leaves
 * is taken for usable. */
static void clear_next(struct cntr *cntr)
{
    static const char *const first[] = {"D1/sysfile.0", "D1/sysfile.1"};
    if (cntr_rejoins(cntr) && cntr->recover.cleared < 2u)
        fs_remove(&cntr->block, STEP_CLEAR, first[cntr->recover.cleared], 0);
    else
        fs_remove(&cntr->block, STEP_CLEAR, "", FS_TREE);
    cntr->recover.cleared++;
}

static void begin_clear(struct cntr *cntr)
{
    cntr->recover.cleared = 0;
    log_info(&cntr->block, "files of a former life are removed");
    clear_next(cntr);
}

static bool clear_goes_on(struct cntr *cntr)
{
    if (!cntr_rejoins(cntr) || cntr->recover.cleared > 2u) return false;
    clear_next(cntr);
    return true;
}

void cntr_step_begin(struct cntr *cntr, enum cntr_step step)
{
    struct sysfile_info_req sysfile_info = {.sender_data = 0};
    struct schema_info_req schema_info = {.sender_data = 0};
    struct schema_online_req online = {.sender_data = cntr->incarnation};
    switch (step) {
    case STEP_SYSFILE_INFO:
        sig_send(&cntr->block, cntr_local(cntr, BLOCK_DBDIH), GSN_SYSFILE_INFO_REQ, PRIO_B,
                 &sysfile_info);
        return;
    case STEP_SCHEMA_INFO:
        sig_send(&cntr->block, cntr_local(cntr, BLOCK_DBDICT), GSN_SCHEMA_INFO_REQ, PRIO_B,
                 &schema_info);
        return;
    case STEP_CLEAR:
        begin_clear(cntr);
        return;
    case STEP_LOG_ENDS:
        begin_log_ends(cntr);
        return;
    case STEP_REDO_OPEN:
        begin_redo_open(cntr);
        return;
    case STEP_SCHEMA_RESTART:
        begin_schema_restart(cntr);
        return;
    case STEP_RECOVER:
        begin_recover(cntr);
        return;
    case STEP_SYSFILE_START:
        begin_sysfile_start(cntr);
        return;
    case STEP_SCHEMA_ONLINE:
        sig_send(&cntr->block, cntr_local(cntr, BLOCK_DBDICT), GSN_SCHEMA_ONLINE_REQ, PRIO_B,
                 &online);
        return;
    case STEP_VOID:
        cntr_void_files(cntr);
        return;
    case STEP_INCLUDE_SELF:
    case STEP_INCLUDE:
    case STEP_COPY:
    case STEP_COMPLETE:
        cntr_rejoin_step(cntr, step);
        return;
    case STEP_NONE:
    case STEP_QMGR:
    case STEP_DIH:
    case STEP_DICT:
        break;
    }
    ndbrequire(false); /* These are STTORs. */
}

/* --- Phase 0: what the node has. --- */

void cntr_exec_SYSFILE_INFO_CONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    struct cntr_data *data = &cntr->data;
    const struct sysfile_info_conf *conf = SIG_PAYLOAD(sig, sysfile_info_conf);
    const struct node_config *config = block_config(block);
    memset(data, 0, sizeof(*data));
    if (conf->damaged || (config->stand_aside != 0 && config->survive != 0)) {
        jam();
        log_warning(block, "this node waits until the others run, then it gets all rows from them");
        data->aside = 1;
    }
    if (conf->has_data) {
        const struct section *lsn = &sig->section[1];
        ndbrequire(sig->section_count == 2 && lsn->size <= LDM_MAX * 2u);
        jam();
        data->has_data = 1;
        data->gci = conf->gci;
        data->incarnation = conf->incarnation;
        data->ldm_count = conf->ldm_count;
        data->members = conf->members;
        data->named = u64_of(conf->schema_lo, conf->schema_hi);
        cntr_ended_take(&data->ended, &sig->section[0]);
        memcpy(data->lsn, lsn->words, (size_t)lsn->size * 4u);
    }
    cntr_step_done(cntr, STEP_SYSFILE_INFO);
}

void cntr_exec_SCHEMA_INFO_CONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    const struct schema_info_conf *conf = SIG_PAYLOAD(sig, schema_info_conf);
    struct cntr_data *data = &cntr->data;
    if (conf->sender_data != 0) {
        cntr_rejoin_schema(cntr, conf);
        return;
    }
    if (conf->has_data) data->schema = u64_of(conf->sequence_lo, conf->sequence_hi);
    if (!data->has_data && !data->aside) {
        jam();
        cntr_remains_look(cntr);
        return;
    }
    jam();
    cntr_step_done(cntr, STEP_SCHEMA_INFO);
}

/* --- Phase 3. --- */

void cntr_exec_FSREMOVECONF(struct block *block, const struct signal *sig)
{
    ndbrequire(SIG_PAYLOAD(sig, fs_conf)->sender_data == STEP_CLEAR);
    jam();
    if (!clear_goes_on(cntr_of(block))) cntr_step_done(cntr_of(block), STEP_CLEAR);
}

void cntr_exec_FSREMOVEREF(struct block *block, const struct signal *sig)
{
    const struct fs_ref *ref = SIG_PAYLOAD(sig, fs_ref);
    char name[FS_NAME_BYTES + 1];
    if (ref->error == ERR_FILE_MISSING && clear_goes_on(cntr_of(block))) return;
    fs_ref_name(sig, name);
    jam();
    log_error(block, "%s cannot be removed: error %u, system's error %u", name, ref->error,
              ref->os_error);
    node_fail(EXIT_DATA_CLEAR, __FILE__, __LINE__, "files of a former life could not be removed");
}

/* The own system file may be one GCI older than the restart's. */
void cntr_exec_SYSFILE_ENDS_CONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    const struct section *lsn = &sig->section[0];
    ndbrequire(lsn->size <= LDM_MAX * 2u);
    jam_data(lsn->size);
    cntr->data.lsn_older = SIG_PAYLOAD(sig, sysfile_ends_conf)->older != 0;
    memset(cntr->data.lsn, 0, sizeof(cntr->data.lsn)); /* What is not there nobody knows. */
    memcpy(cntr->data.lsn, lsn->words, (size_t)lsn->size * 4u);
    cntr_step_done(cntr, STEP_LOG_ENDS);
}

/* True when this LQH instance was the last. */
static bool lqh_answered(struct cntr *cntr, const struct signal *sig)
{
    uint32_t instance = ref_instance(sig->sender);
    ndbrequire(node_mask_has(&cntr->recover.waiting, instance));
    jam_data(instance);
    node_mask_remove(&cntr->recover.waiting, instance);
    return node_mask_empty(&cntr->recover.waiting);
}

void cntr_exec_REDO_OPEN_CONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    if (cntr->recover.given_up) return;
    if (lqh_answered(cntr, sig)) cntr_step_done(cntr, STEP_REDO_OPEN);
}

/* --- Phase 4. --- */

void cntr_exec_SCHEMA_RESTART_CONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    uint32_t tables = SIG_PAYLOAD(sig, schema_restart_conf)->tables;
    jam();
    if (cntr->start.type != START_INITIAL) log_info(block, "%u tables are back", tables);
    cntr_step_done(cntr, STEP_SCHEMA_RESTART);
}

/* Seconds that the rest takes, if it goes on as it went so far. */
static uint32_t left_s(const struct cntr_recover *recover, uint64_t now)
{
    uint64_t spent = now - recover->begin_ms;
    if (recover->percent_now == 0) return 0;
    return (uint32_t)(spent * (100u - recover->percent_now) / recover->percent_now / 1000u) + 1u;
}

void cntr_exec_RECOVER_REP(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    struct cntr_recover *recover = &cntr->recover;
    const struct recover_rep *rep = SIG_PAYLOAD(sig, recover_rep);
    uint32_t count = block_instances(block, BLOCK_DBLQH);
    uint32_t instance = ref_instance(sig->sender);
    uint32_t percent = rep->percent < 100u ? rep->percent : 100u;
    uint64_t now = now_ms(block);
    uint32_t sum = 0;
    if (!node_mask_has(&recover->waiting, instance)) return;
    recover->percent[instance] =
        rep->step == RECOVER_CHECKPOINTS
            ? percent * CHECKPOINT_SHARE / 100u
            : CHECKPOINT_SHARE + percent * (100u - CHECKPOINT_SHARE) / 100u;
    for (uint32_t i = 1; i <= count; i++)
        sum += node_mask_has(&recover->waiting, i) ? recover->percent[i] : 100u;
    jam_data(sum);
    recover->percent_now = cntr_progress(cntr, sum / count);
    recover->left_s = left_s(recover, now);
    cntr_tell_progress(cntr);
    if (now - recover->logged_ms < PROGRESS_LOG_MS) return;
    recover->logged_ms = now;
    log_info(block, "%u %% of the data is back, about %u s left", recover->percent_now,
             recover->left_s);
}

static void all_back(struct cntr *cntr)
{
    struct cntr_recover *recover = &cntr->recover;
    recover->left_s = 0;
    if (cntr_rejoins(cntr) && !cntr_has_own_rows(cntr)) return; /* They come from the others. */
    recover->percent_now = cntr_progress(cntr, 100);
    cntr_tell_progress(cntr);
    if (cntr->start.type == START_INITIAL) return;
    log_info(
        &cntr->block,
        "the data is back after %u ms: checkpoints of %u fragments, %llu rows, %llu MB, %u ms; "
        "log %llu records, %u ms",
        (uint32_t)(now_ms(&cntr->block) - recover->begin_ms), recover->fragments,
        (unsigned long long)recover->rows, (unsigned long long)(recover->kbytes >> 10),
        recover->restore_ms, (unsigned long long)recover->applied, recover->replay_ms);
}

void cntr_exec_RECOVER_CONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    struct cntr_recover *recover = &cntr->recover;
    const struct recover_conf *conf = SIG_PAYLOAD(sig, recover_conf);
    if (recover->given_up) return;
    recover->fragments += conf->fragments;
    recover->rows += u64_of(conf->rows_lo, conf->rows_hi);
    recover->kbytes += conf->kbytes;
    recover->applied += u64_of(conf->applied_lo, conf->applied_hi);
    if (conf->restore_ms > recover->restore_ms) recover->restore_ms = conf->restore_ms;
    if (conf->replay_ms > recover->replay_ms) recover->replay_ms = conf->replay_ms;
    if (!lqh_answered(cntr, sig)) return;
    all_back(cntr);
    cntr_step_done(cntr, STEP_RECOVER);
}

/* --- Phase 5. --- */

void cntr_exec_SYSFILE_START_CONF(struct block *block, const struct signal *sig)
{
    (void)sig;
    jam();
    cntr_step_done(cntr_of(block), STEP_SYSFILE_START);
}

void cntr_exec_SCHEMA_ONLINE_CONF(struct block *block, const struct signal *sig)
{
    (void)sig;
    jam();
    cntr_step_done(cntr_of(block), STEP_SCHEMA_ONLINE);
}
