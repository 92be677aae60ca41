/* dih_lists.c -- which list of checkpoints each LDM must have, asked for by LCPREADER, and which
 * dictionary there was: named in the system files. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rows that were copied to this node are in no log of its own, and a log that was made anew looks
 * like one that has everything. So what a start finds in LCP does not say what must be there. The
 * lists say it of the fragments, the system files of the lists. Both copies have a list before the
 * next round begins: whichever copy counts after a crash, the newest list is the one that it names,
 * or follows that and has its check. See docs/protocols/checkpoint.md.
 */
#include "blocks/dbdih/dih_state.h"
#include "signals/schema_restart.h"

static struct sysfile_list *list_of(struct dih *dih, uint32_t instance)
{
    ndbrequire(instance >= 1 && instance <= SYSFILE_LDM_MAX);
    return &dih->sysfile.now.list[instance - 1u];
}

void dih_list_take(struct dih *dih, uint32_t instance, uint32_t number, uint32_t check)
{
    *list_of(dih, instance) = (struct sysfile_list){.number = number, .check = check};
}

bool dih_lists_name(struct dih *dih)
{
    bool nothing_yet = dih->include.state != DIH_INCLUDE_NONE &&
                       /* The lists come with its first system files. */
                       dih->include.state < DIH_IN_WRITING;
    jam_data(nothing_yet);
    if (!nothing_yet) sysfile_write_both(dih);
    return !nothing_yet;
}

void dih_exec_LCP_LIST_REQ(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    const struct lcp_list_req *req = SIG_PAYLOAD(sig, lcp_list_req);
    uint32_t instance = ref_instance(sig->sender);
    const struct sysfile *now = &dih->sysfile.now;
    struct sysfile_list found = {.number = req->number, .check = req->check};
    struct lcp_list_conf conf = {.number = list_of(dih, instance)->number};
    conf.verdict = sysfile_list_judge(now, instance - 1u, &found, req->before);
    jam_data(conf.verdict);
    if (conf.verdict == SYSFILE_LIST_GOOD) dih_list_take(dih, instance, req->number, req->check);
    sig_send(block, sig->sender, GSN_LCP_LIST_CONF, PRIO_B, &conf);
}

/* What DICT says while the node starts comes into the system files with its next incarnation. What
 * it says of a change is there before anything that is committed to a new table can count as
 * durable. */
void dih_exec_SCHEMA_WRITTEN_ORD(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    const struct schema_written_ord *ord = SIG_PAYLOAD(sig, schema_written_ord);
    dih->sysfile.schema_lo = ord->sequence_lo;
    dih->sysfile.schema_hi = ord->sequence_hi;
    jam();
    if (ord->changed != 0) (void)dih_lists_name(dih);
}
