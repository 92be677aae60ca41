/* dih_log_ends.c -- where the logs of all nodes ended with the GCI of a restart: a node whose own
 * system file is older learns it from the one that counts. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All logs have a GCI before the first system file says so, and each system file says where all
 * logs ended then. So a log that ends before that is damaged, and the power going between two
 * nodes' system files is no excuse. Nobody could tell it from a log's normal end otherwise, and the
 * replicas would differ. See docs/protocols/gcp.md.
 */
#include <string.h>
#include "blocks/dbdih/dih_state.h"

static const uint32_t *own_entry(const struct dih *dih)
{
    const struct sysfile *now = &dih->sysfile.now;
    if (!log_ends_good(now->ends.words, now->ends.size, now->gci)) return NULL;
    return log_ends_find(now->ends.words, now->ends.size, dih_own(dih));
}

uint32_t dih_own_ends(const struct dih *dih, const uint32_t **pairs)
{
    const uint32_t *entry = own_entry(dih);
    if (entry == NULL) return 0;
    *pairs = entry + LOG_ENDS_ENTRY_HEAD;
    return log_ends_parts(entry);
}

/* The list is whole, and says of this node what this node has said. */
bool dih_ends_name_own(const struct dih *dih, const struct section *list, uint32_t gci)
{
    if (!log_ends_good(list->words, list->size, gci)) return false;
    const uint32_t *entry = log_ends_find(list->words, list->size, dih_own(dih));
    return entry != NULL && log_ends_parts(entry) == block_instances(&dih->block, BLOCK_DBLQH) &&
           memcmp(entry + LOG_ENDS_ENTRY_HEAD, dih->gcp_node.save_lsn,
                  (size_t)log_ends_parts(entry) * 8u) == 0;
}

/* The list has all whom a system file is to name (I-GCP-9). */
bool dih_ends_name_all(const struct section *list, const struct node_mask *members)
{
    for (uint32_t node = 1; node <= NODE_ID_MAX; node++) {
        if (!node_mask_has(members, node)) continue;
        if (log_ends_find(list->words, list->size, node) == NULL) return false;
    }
    return true;
}

/* --- A node that asks. --- */

static void known(struct dih *dih)
{
    struct dih_sysfile *sys = &dih->sysfile;
    struct sysfile_ends_conf conf = {.sender_data = sys->ends.sender_data,
                                     .older = sys->now.gci != sys->ends.gci};
    const uint32_t *pairs = sys->now.ends.words;
    uint32_t parts = dih_own_ends(dih, &pairs);
    struct section list = {.words = pairs, .size = parts * 2u};
    signal_send(&dih->block, sys->ends_sender, GSN_SYSFILE_ENDS_CONF, PRIO_A, &conf,
                sizeof(conf) / 4u, &list, 1);
    sys->ends_sender = 0;
}

void dih_exec_SYSFILE_ENDS_REQ(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct dih_sysfile *sys = &dih->sysfile;
    struct log_ends_req ask = {.incarnation = dih->incarnation};
    ndbrequire(sys->ends_sender == 0 && sys->state == SYSFILE_READY);
    sys->ends_sender = sig->sender;
    sys->ends = *SIG_PAYLOAD(sig, sysfile_ends_req);
    bool own = sys->now.gci == sys->ends.gci && own_entry(dih) != NULL;
    if (own || sys->ends.newest == dih_own(dih)) {
        jam();
        known(dih);
        return;
    }
    jam();
    sig_send(block, block_ref(sys->ends.newest, BLOCK_DBDIH, 0), GSN_LOG_ENDS_REQ, PRIO_A, &ask);
}

/* An older version's file may not have this node: then it is known only where the logs ended with
 * an older GCI, and all up to there has to be there, too. */
void dih_exec_LOG_ENDS_CONF(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct dih_sysfile *sys = &dih->sysfile;
    const struct log_ends_conf *conf = SIG_PAYLOAD(sig, log_ends_conf);
    const struct section *list = &sig->section[0];
    if (dih->incarnation == 0 || conf->incarnation != dih->incarnation) {
        jam(); /* All join anew. */
        return;
    }
    if (sys->ends_sender == 0 || ref_node(sig->sender) != sys->ends.newest ||
        conf->gci != sys->ends.gci || !log_ends_good(list->words, list->size, conf->gci)) {
        dih_protocol_error(dih, sig->sender, "ends of logs that cannot be");
        return;
    }
    bool named = log_ends_find(list->words, list->size, dih_own(dih)) != NULL;
    jam_data(named);
    if (named) {
        log_info(block, "node %u knows where the logs of this node ended with GCI %u",
                 sys->ends.newest, conf->gci);
        sys->now.gci = conf->gci; /* It is on disk in phase 5. */
        sysfile_ends(dih, list);
    }
    known(dih);
}

/* --- The node that is asked. --- */

void dih_exec_LOG_ENDS_REQ(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    const struct sysfile *now = &dih->sysfile.now;
    if (dih->incarnation == 0 || SIG_PAYLOAD(sig, log_ends_req)->incarnation != dih->incarnation) {
        jam();
        return;
    }
    jam();
    struct log_ends_conf conf = {.incarnation = dih->incarnation, .gci = now->gci};
    struct section list = {.words = now->ends.words, .size = now->ends.size};
    signal_send(block, sig->sender, GSN_LOG_ENDS_CONF, PRIO_A, &conf, sizeof(conf) / 4u, &list, 1);
}
