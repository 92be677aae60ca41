/* cmvmi_disk.c -- tells how full the redo logs are and how old the checkpoints. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One round of questions at a time, to all LQH instances and DIH; who asks meanwhile gets the
 * answer of the round under way. Nothing is kept up to date for it: an idle node does no work for
 * reports that nobody reads.
 */
#include <string.h>
#include "blocks/cmvmi/cmvmi_state.h"

static_assert(sizeof(struct redo_status_conf) / 4u == DISK_REPORT_WORDS + 1u,
              "a part's words are those of its answer");

static uint32_t log_parts(const struct cmvmi *cmvmi)
{
    uint32_t parts = block_instances(&cmvmi->block, BLOCK_DBLQH);
    return parts < DISK_PARTS_MAX ? parts : DISK_PARTS_MAX;
}

static void answer(struct cmvmi *cmvmi, const struct disk_asker *asker)
{
    const struct lcp_status_conf *lcp = &cmvmi->disk.lcp;
    bool diskless = block_config(&cmvmi->block)->diskless != 0;
    struct disk_report_conf conf = {
        .sender_data = asker->sender_data,
        .diskless = diskless ? 1 : 0,
        .parts = diskless ? 0 : log_parts(cmvmi),
        .gci = lcp->gci,
        .durable = lcp->durable,
        .lcp_state = lcp->lcp_state,
        .lcp_id = lcp->lcp_id,
        .lcp_ms = lcp->lcp_ms,
        .last_id = lcp->last_id,
        .last_age_ms = lcp->last_age_ms,
        .last_ms = lcp->last_ms,
        .last_fragments = lcp->last_fragments,
        .last_failed = lcp->last_failed,
        .last_kbytes = lcp->last_kbytes,
    };
    struct section section = {.words = cmvmi->disk.words, .size = conf.parts * DISK_REPORT_WORDS};
    signal_send(&cmvmi->block, asker->ref, GSN_DISK_REPORT_CONF, PRIO_B, &conf, sizeof(conf) / 4u,
                &section, conf.parts == 0 ? 0 : 1);
}

static void take_one(struct cmvmi *cmvmi)
{
    ndbrequire(cmvmi->disk.expected > 0);
    if (--cmvmi->disk.expected > 0) return;
    jam();
    cmvmi->disk.running = 0;
    for (uint32_t i = 0; i < cmvmi->disk.waiting; i++)
        answer(cmvmi, &cmvmi->disk.asker[i]);
    cmvmi->disk.waiting = 0;
}

static void ask_all(struct cmvmi *cmvmi)
{
    struct redo_status_req redo = {.sender_data = ++cmvmi->disk.serial};
    struct lcp_status_req lcp = {.sender_data = cmvmi->disk.serial};
    uint32_t parts = log_parts(cmvmi);
    jam();
    cmvmi->disk.running = 1;
    cmvmi->disk.expected = parts + 1;
    for (uint32_t instance = 1; instance <= parts; instance++)
        sig_send(&cmvmi->block, cmvmi_local(cmvmi, BLOCK_DBLQH) + instance, GSN_REDO_STATUS_REQ,
                 PRIO_B, &redo);
    sig_send(&cmvmi->block, cmvmi_local(cmvmi, BLOCK_DBDIH), GSN_LCP_STATUS_REQ, PRIO_B, &lcp);
}

void cmvmi_exec_DISK_REPORT_REQ(struct block *block, const struct signal *sig)
{
    struct cmvmi *cmvmi = cmvmi_of(block);
    struct disk_asker asker = {.ref = sig->sender,
                               .sender_data = SIG_PAYLOAD(sig, disk_report_req)->sender_data};
    if (cmvmi->disk.waiting == DISK_ASKERS) {
        jam(); /* The answer has the figures of the last round. */
        answer(cmvmi, &asker);
        return;
    }
    jam();
    cmvmi->disk.asker[cmvmi->disk.waiting++] = asker;
    if (!cmvmi->disk.running) ask_all(cmvmi);
}

void cmvmi_exec_REDO_STATUS_CONF(struct block *block, const struct signal *sig)
{
    struct cmvmi *cmvmi = cmvmi_of(block);
    const struct redo_status_conf *conf = SIG_PAYLOAD(sig, redo_status_conf);
    uint32_t part = ref_instance(sig->sender);
    ndbrequire(conf->sender_data == cmvmi->disk.serial && cmvmi->disk.running);
    ndbrequire(part >= 1 && part <= DISK_PARTS_MAX);
    memcpy(cmvmi->disk.words + (size_t)(part - 1u) * DISK_REPORT_WORDS, sig->payload + 1,
           DISK_REPORT_WORDS * 4u);
    take_one(cmvmi);
}

void cmvmi_exec_LCP_STATUS_CONF(struct block *block, const struct signal *sig)
{
    struct cmvmi *cmvmi = cmvmi_of(block);
    const struct lcp_status_conf *conf = SIG_PAYLOAD(sig, lcp_status_conf);
    ndbrequire(conf->sender_data == cmvmi->disk.serial && cmvmi->disk.running);
    cmvmi->disk.lcp = *conf;
    take_one(cmvmi);
}
