/* backup_part.c -- the LDM's list of fragments with a usable checkpoint, written when a round has
 * become usable and before anything is given up for it. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Without the list a lost control file would look like a table that has never had a checkpoint. The
 * log's tail moves, and superseded files go, only behind a list that is durable. All that a list
 * says stays true, so an older one is safe to use.
 */
#include "blocks/backup/backup_state.h"

#define PART_WRITE_BLOCKS 16u /* Entries of a write: 4032, a step's work. */

static_assert(PART_WRITE_BLOCKS * LCP_ALIGN <= BACKUP_BUFFER, "a write fits into a buffer");

static uint32_t own_instance(const struct backup *backup)
{
    return ref_instance(backup->block.ref);
}

/* Dropped ones too: the set of records does not change while the list is being written. */
static bool is_listed(const struct backup_frag *frag)
{
    return frag->number != 0;
}

static uint32_t kbytes_of(const struct backup_frag *frag)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < frag->file_count; i++)
        bytes += u64_of(frag->file[i].bytes_lo, frag->file[i].bytes_hi);
    return (uint32_t)((bytes + 1023u) / 1024u);
}

static void file_open(struct backup *backup)
{
    char name[LCP_NAME_MAX];
    struct backup_part *part = &backup->part;
    part->frag = 0;
    part->block = 0;
    part->check_new = 0;
    part->error = 0;
    lcp_part_name(name, own_instance(backup), (part->number + 1u) % 2u);
    backup->state = BACKUP_PART_OPENING;
    fs_open(&backup->block, ASK_PART_OPEN, name, FS_WRITE | FS_CREATE | FS_EMPTY | FS_DIRECT);
}

void backup_part_begin(struct backup *backup)
{
    struct backup_part *part = &backup->part;
    uint32_t listed = 0;
    for (const struct backup_frag *frag = pool_next(&backup->frags, 0); frag != NULL;
         frag = pool_next(&backup->frags, pool_index(frag->pool.ref)))
        listed += is_listed(frag) ? 1u : 0u;
    jam_data(listed);
    part->blocks = listed / LCP_PART_ENTRIES + 1u;
    part->tail_new = backup->round.failed == 0 ? backup->round.start_gci : part->tail_gci;
    file_open(backup);
}

static void block_fill(struct backup *backup, struct lcp_part *to)
{
    const struct node_config *config = block_config(&backup->block);
    struct backup_part *part = &backup->part;
    memset(to, 0, sizeof *to);
    to->cluster_lo = (uint32_t)config->cluster_id;
    to->cluster_hi = (uint32_t)(config->cluster_id >> 32);
    to->node = config->own_node;
    to->instance = own_instance(backup);
    to->number = part->number + 1u;
    to->slot_life = lcp_part_slot_life(to->number % 2u, backup_log_life(backup));
    to->lcp_id = backup->round.lcp_id;
    to->tail_gci = part->tail_new;
    to->block = part->block++;
    to->blocks = part->blocks;
    to->before = part->check;
    while (to->count < LCP_PART_ENTRIES) {
        const struct backup_frag *frag = pool_next(&backup->frags, part->frag);
        if (frag == NULL) break;
        part->frag = pool_index(frag->pool.ref);
        if (!is_listed(frag)) continue;
        to->entry[to->count++] =
            (struct lcp_part_entry){.place = lcp_place(frag->table_id, frag->fragment_id),
                                    .version = frag->version,
                                    .number = frag->number,
                                    .kbytes = kbytes_of(frag)};
    }
    lcp_part_seal(to);
    part->check_new = lcp_part_chain(part->check_new, to);
}

static void blocks_write(struct backup *backup)
{
    struct backup_part *part = &backup->part;
    uint64_t offset = (uint64_t)part->block * LCP_ALIGN;
    uint32_t count = 0;
    for (; count < PART_WRITE_BLOCKS && part->block < part->blocks; count++)
        block_fill(backup,
                   (struct lcp_part *)(void *)(backup->buffer[0] + (size_t)count * LCP_ALIGN));
    struct fs_piece piece = fs_piece_of(&backup->block, backup->buffer[0], count * LCP_ALIGN);
    backup->state = BACKUP_PART_WRITING;
    fs_write(&backup->block, ASK_PART_WRITE, part->file, offset, &piece, 1,
             part->block == part->blocks ? FS_SYNC : 0);
}

void backup_part_opened(struct backup *backup, uint32_t file)
{
    ndbrequire(backup->state == BACKUP_PART_OPENING);
    backup->part.file = file;
    blocks_write(backup);
}

static void part_close(struct backup *backup)
{
    backup->state = BACKUP_PART_CLOSING;
    fs_close(&backup->block, ASK_PART_CLOSE, backup->part.file);
}

void backup_part_written(struct backup *backup)
{
    ndbrequire(backup->state == BACKUP_PART_WRITING);
    if (backup->part.block < backup->part.blocks)
        blocks_write(backup);
    else
        part_close(backup);
}

void backup_part_closed(struct backup *backup)
{
    struct backup_part *part = &backup->part;
    ndbrequire(backup->state == BACKUP_PART_CLOSING);
    if (part->error != 0) {
        jam(); /* Everything stays as it is; the next list has the same number and slot. */
        backup_part_failed(backup);
        return;
    }
    part->number++;
    part->check = part->check_new;
    part->tail_gci = part->tail_new;
    if (part->number == 1u) {
        jam(); /* A second list follows: of two a missing one is noticed, of one it is not. */
        file_open(backup);
        return;
    }
    jam();
    backup_clean_begin(backup);
}

void backup_part_error(struct backup *backup, uint32_t ask, uint32_t error)
{
    if (backup->part.error == 0) backup->part.error = error;
    if (ask == ASK_PART_OPEN)
        backup_part_failed(backup);
    else if (ask == ASK_PART_WRITE)
        part_close(backup);
    else
        backup_part_closed(backup);
}

/* --- What RESTORE has read. --- */

void backup_part_restored(struct block *block, uint32_t number, uint32_t check, uint32_t tail_gci)
{
    struct backup *backup = backup_of(block);
    backup->part.number = number;
    backup->part.check = check;
    backup->part.tail_gci = tail_gci;
}

bool backup_frag_list(struct block *block, const struct lcp_part_entry *entry)
{
    struct backup *backup = backup_of(block);
    uint32_t table_id = entry->place >> 16;
    uint32_t fragment_id = entry->place & 0xFFFFu;
    if (table_id >= backup->table_count)
        return true; /* The limit has become lower: no such table. */
    struct backup_frag *frag = backup_frag_find(backup, table_id, fragment_id);
    if (frag == NULL) frag = backup_frag_add(backup, table_id, entry->version, fragment_id);
    if (frag == NULL) return false;
    /* The other list may be of before the table of this number was dropped and another one made. */
    bool newer = entry->version > frag->version ||
                 (entry->version == frag->version && entry->number > frag->listed);
    if (!newer) return true;
    backup->part.kbytes -= frag->listed_kbytes;
    backup->part.kbytes += entry->kbytes;
    frag->version = entry->version;
    frag->listed = entry->number;
    frag->listed_kbytes = entry->kbytes;
    return true;
}

uint32_t backup_frag_listed(struct block *block, uint32_t table_id, uint32_t version,
                            uint32_t fragment_id)
{
    const struct backup_frag *frag = backup_frag_find(backup_of(block), table_id, fragment_id);
    return frag != NULL && frag->version == version ? frag->listed : 0;
}

uint64_t backup_listed_bytes(const struct block *block)
{
    return ((const struct backup *)(const void *)block)->part.kbytes * 1024u;
}

void backup_restore_ended(struct block *block)
{
    struct backup *backup = backup_of(block);
    uint32_t at = 0;
    struct backup_frag *frag;
    while ((frag = pool_next(&backup->frags, at)) != NULL) {
        at = pool_index(frag->pool.ref);
        if (frag->number == 0) backup_frag_release(backup, frag); /* The table is no more. */
    }
}
