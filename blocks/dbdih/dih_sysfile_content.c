/* dih_sysfile_content.c -- what the system file says: the life, its members, the durable GCI. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "blocks/dbdih/dih_state.h"

void dih_sysfile_fill_groups(const struct dih *dih, uint8_t *nodegroup)
{
    uint32_t group_of[NODE_ID_MAX + 1];
    (void)node_config_groups(block_config(&dih->block), group_of);
    for (uint32_t node = 0; node <= NODE_ID_MAX; node++)
        nodegroup[node] =
            group_of[node] < SYSFILE_NO_GROUP ? (uint8_t)group_of[node] : SYSFILE_NO_GROUP;
}

static void take_list(struct sysfile *now, const struct section *list)
{
    uint32_t count = list->size / 2u;
    ndbrequire(list->size % 2u == 0 && count <= SYSFILE_ENDED_MAX);
    memset(now->ended, 0, sizeof(now->ended));
    memcpy(now->ended, list->words, (size_t)count * sizeof(now->ended[0]));
    now->ended_count = count;
}

void dih_exec_SYSFILE_START_REQ(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct dih_sysfile *sys = &dih->sysfile;
    struct sysfile *now = &sys->now;
    const struct sysfile_start_req *req = SIG_PAYLOAD(sig, sysfile_start_req);
    struct sysfile_start_conf conf = {.sender_data = req->sender_data};
    if (dih_diskless(dih)) {
        jam();
        sig_send(block, sig->sender, GSN_SYSFILE_START_CONF, PRIO_A, &conf);
        return;
    }
    ndbrequire(sys->state >= SYSFILE_READY && sys->start_sender == 0);
    if (dih->include.state == DIH_INCLUDE_WHOLE) {
        jam();
        dih_include_files(dih, sig);
        return;
    }
    ndbrequire(req->incarnation > now->incarnation); /* I-GCP-5 */
    jam();
    sys->start_sender = sig->sender;
    sys->start_data = req->sender_data;
    if (req->gci == 0) memset(now, 0, sizeof(*now)); /* Nothing of a former life counts. */
    if (sig->section_count == 1) take_list(now, &sig->section[0]); /* With the former life's end. */
    now->layout = SYSFILE_LAYOUT;
    now->incarnation = req->incarnation;
    now->gci = req->gci;
    now->members = dih->members;
    now->ldm_count = block_config(block)->ldm_count;
    dih_sysfile_fill_groups(dih, now->nodegroup);
    dih->restart_gci = req->gci;
    dih->gcp_node.durable = req->gci;
    dih_sysfile_want_writes(dih, SYSFILE_COPIES);
}

/* --- The node comes back into a running cluster. --- */

/* A file that names no members. */
void dih_exec_SYSFILE_VOID_REQ(struct block *block, const struct signal *sig)
{
    struct dih_sysfile *sys = &dih_of(block)->sysfile;
    struct sysfile *now = &sys->now;
    ndbrequire(sys->state == SYSFILE_READY && sys->start_sender == 0 && sys->void_sender == 0);
    jam();
    sys->void_sender = sig->sender;
    sys->void_data = SIG_PAYLOAD(sig, sysfile_void_req)->sender_data;
    now->layout = SYSFILE_LAYOUT;
    now->gci = 0;
    memset(&now->members, 0, sizeof(now->members));
    now->ends.size = 0;
    dih_sysfile_want_writes(dih_of(block), SYSFILE_COPIES);
}

void sysfile_life(struct dih *dih, uint32_t incarnation, const struct section *ended)
{
    dih->sysfile.now.incarnation = incarnation;
    take_list(&dih->sysfile.now, ended);
}

void sysfile_join(struct dih *dih, uint32_t gci)
{
    struct sysfile *now = &dih->sysfile.now;
    now->layout = SYSFILE_LAYOUT;
    now->gci = gci;
    now->members = dih->members;
    now->ldm_count = block_config(&dih->block)->ldm_count;
    dih_sysfile_fill_groups(dih, now->nodegroup);
    dih_sysfile_want_writes(dih, SYSFILE_COPIES);
}

void dih_exec_SYSFILE_INFO_REQ(struct block *block, const struct signal *sig)
{
    const struct dih_sysfile *sys = &dih_of(block)->sysfile;
    const struct sysfile *now = &sys->now;
    jam();
    struct sysfile_info_conf conf = {.sender_data = SIG_PAYLOAD(sig, sysfile_info_req)->sender_data,
                                     .has_data = sys->has_data,
                                     .gci = now->gci,
                                     .incarnation = now->incarnation,
                                     .ldm_count = now->ldm_count,
                                     .members = now->members,
                                     .damaged = sys->damaged,
                                     .schema_lo = now->schema_lo,
                                     .schema_hi = now->schema_hi};
    const uint32_t *pairs = now->ends.words;
    uint32_t parts = dih_own_ends(dih_of(block), &pairs);
    struct section lists[2] = {{.words = &now->ended[0].incarnation, .size = now->ended_count * 2u},
                               {.words = pairs, .size = parts * 2u}};
    signal_send(block, sig->sender, GSN_SYSFILE_INFO_CONF, PRIO_A, &conf, sizeof(conf) / 4u, lists,
                sys->has_data ? 2u : 0u);
}

void sysfile_ends(struct dih *dih, const struct section *list)
{
    struct log_ends *ends = &dih->sysfile.now.ends;
    ndbrequire(list->size <= LOG_ENDS_WORDS);
    memcpy(ends->words, list->words, (size_t)list->size * 4u);
    ends->size = list->size;
}

void sysfile_copy(struct dih *dih, const struct node_mask *members)
{
    struct dih_sysfile *sys = &dih->sysfile;
    ndbrequire(dih->gcp_node.copy_gci > sys->now.gci); /* I-GCP-4 */
    sys->now.gci = dih->gcp_node.copy_gci;
    sys->now.members = *members; /* I-GCP-7 */
    sys->lone = true;
    dih_sysfile_want_writes(dih, 1);
}
