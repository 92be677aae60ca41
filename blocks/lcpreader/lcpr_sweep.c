/* lcpr_sweep.c -- after all fragments have been restored: removes files that a crash has left
 * over. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/lcpreader/lcpr_state.h"
#include "signals/lqhkey.h"

void lcpr_sweep_begin(struct lcpr *lcpr)
{
    lcpr->state = LCPR_LISTING;
    fs_list(&lcpr->block, ASK_LIST, LCP_DIRECTORY, lcpr->last[0] == '\0' ? NULL : lcpr->last);
}

/* Files of this LDM's fragments that belong to no state. Names that are not ours are left alone. */
static bool is_left_over(struct lcpr *lcpr, const char *name)
{
    uint32_t table_id;
    uint32_t fragment_id;
    uint32_t seq;
    bool is_ctl;
    uint32_t instances = block_instances(&lcpr->block, BLOCK_DBLQH);
    if (!lcp_name_parse(name, &table_id, &fragment_id, &seq, &is_ctl)) return false;
    if ((fragment_instance_key(fragment_id) - 1u) % instances + 1u != ref_instance(lcpr->block.ref))
        return false;
    return !lcpw_knows_file(lcpr->lcpw, table_id, fragment_id, seq, is_ctl);
}

static void ended(struct lcpr *lcpr)
{
    struct restore_end_conf conf = {
        .sender_data = lcpr->end_data, .removed = lcpr->removed, .tail_gci = lcpr->tail_gci};
    lcpr->state = LCPR_IDLE;
    sig_send(&lcpr->block, lcpr->sender, GSN_RESTORE_END_CONF, PRIO_B, &conf);
}

/* One file at a time: there are few, and the list is read again behind it. */
void lcpr_sweep_listed(struct lcpr *lcpr, const struct signal *sig)
{
    struct fs_entry entry;
    char name[FS_NAME_BYTES + 1];
    char path[FS_NAME_BYTES + 1 + sizeof LCP_DIRECTORY];
    uint32_t at = 0;
    lcpr->more = SIG_PAYLOAD(sig, fslistconf)->more != 0;
    while (fs_entry_next(sig, &at, &entry, name)) {
        memcpy(lcpr->last, name, sizeof name);
        if (entry.kind != FS_ENTRY_FILE || !is_left_over(lcpr, name)) continue;
        jam();
        memcpy(path, LCP_DIRECTORY "/", sizeof LCP_DIRECTORY);
        memcpy(path + sizeof LCP_DIRECTORY, name, strlen(name) + 1u);
        lcpr->more = true;
        lcpr->removed++;
        lcpr->state = LCPR_SWEEPING;
        fs_remove(&lcpr->block, ASK_SWEEP, path, 0);
        return;
    }
    lcpr_sweep_again(lcpr);
}

void lcpr_sweep_again(struct lcpr *lcpr)
{
    if (lcpr->more)
        lcpr_sweep_begin(lcpr);
    else
        ended(lcpr);
}
