/* restore_sweep.c -- after all fragments have been restored: removes files that a crash has left
 * over. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/restore/restore_state.h"
#include "signals/lqhkey.h"

void restore_sweep_begin(struct restore *restore)
{
    restore->state = RESTORE_LISTING;
    fs_list(&restore->block, ASK_LIST, LCP_DIRECTORY,
            restore->last[0] == '\0' ? NULL : restore->last);
}

/* Files of this LDM's fragments that belong to no state. Names that are not ours are left alone. */
static bool is_left_over(struct restore *restore, const char *name)
{
    uint32_t table_id;
    uint32_t fragment_id;
    uint32_t seq;
    bool is_ctl;
    uint32_t instances = block_instances(&restore->block, BLOCK_DBLQH);
    if (!lcp_name_parse(name, &table_id, &fragment_id, &seq, &is_ctl)) return false;
    if ((fragment_instance_key(fragment_id) - 1u) % instances + 1u !=
        ref_instance(restore->block.ref))
        return false;
    return !backup_knows_file(restore->backup, table_id, fragment_id, seq, is_ctl);
}

static void ended(struct restore *restore)
{
    struct restore_end_conf conf = {.sender_data = restore->end_data,
                                    .removed = restore->removed,
                                    .tail_gci = restore->tail_gci};
    restore->state = RESTORE_IDLE;
    sig_send(&restore->block, restore->sender, GSN_RESTORE_END_CONF, PRIO_B, &conf);
}

/* One file at a time: there are few, and the list is read again behind it. */
void restore_sweep_listed(struct restore *restore, const struct signal *sig)
{
    struct fs_entry entry;
    char name[FS_NAME_BYTES + 1];
    char path[FS_NAME_BYTES + 1 + sizeof LCP_DIRECTORY];
    uint32_t at = 0;
    restore->more = SIG_PAYLOAD(sig, fslistconf)->more != 0;
    while (fs_entry_next(sig, &at, &entry, name)) {
        memcpy(restore->last, name, sizeof name);
        if (entry.kind != FS_ENTRY_FILE || !is_left_over(restore, name)) continue;
        jam();
        memcpy(path, LCP_DIRECTORY "/", sizeof LCP_DIRECTORY);
        memcpy(path + sizeof LCP_DIRECTORY, name, strlen(name) + 1u);
        restore->more = true;
        restore->removed++;
        restore->state = RESTORE_SWEEPING;
        fs_remove(&restore->block, ASK_SWEEP, path, 0);
        return;
    }
    restore_sweep_again(restore);
}

void restore_sweep_again(struct restore *restore)
{
    if (restore->more)
        restore_sweep_begin(restore);
    else
        ended(restore);
}
