/* lcpw_part.c -- the LDM's list of fragments with a usable checkpoint, written when a round has
 * become usable and before anything is given up for it. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Without the list a lost control file would look like a table that has never had a checkpoint. The
 * log's tail moves, and superseded files go, only behind a list that is durable. All that a list
 * says stays true, so an older one is safe to use.
 */
#include "blocks/lcpwriter/lcpw_state.h"

#define PART_WRITE_BLOCKS 16u /* Entries of a write: 4032, a step's work. */

static_assert(PART_WRITE_BLOCKS * LCP_ALIGN <= LCPW_BUFFER, "a write fits into a buffer");

static uint32_t own_instance(const struct lcpw *lcpw)
{
    return ref_instance(lcpw->block.ref);
}

/* Dropped ones too: the set of records does not change while the list is being written. */
static bool is_listed(const struct lcpw_frag *frag)
{
    return frag->number != 0;
}

static uint32_t kbytes_of(const struct lcpw_frag *frag)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < frag->file_count; i++)
        bytes += u64_of(frag->file[i].bytes_lo, frag->file[i].bytes_hi);
    return (uint32_t)((bytes + 1023u) / 1024u);
}

static void file_open(struct lcpw *lcpw)
{
    char name[LCP_NAME_MAX];
    struct lcpw_part *part = &lcpw->part;
    part->frag = 0;
    part->block = 0;
    part->check_new = 0;
    part->error = 0;
    lcp_part_name(name, own_instance(lcpw), (part->number + 1u) % 2u);
    lcpw->state = LCPW_PART_OPENING;
    fs_open(&lcpw->block, ASK_PART_OPEN, name, FS_WRITE | FS_CREATE | FS_EMPTY | FS_DIRECT);
}

void lcpw_part_begin(struct lcpw *lcpw)
{
    struct lcpw_part *part = &lcpw->part;
    uint32_t listed = 0;
    for (const struct lcpw_frag *frag = pool_next(&lcpw->frags, 0); frag != NULL;
         frag = pool_next(&lcpw->frags, pool_index(frag->pool.ref)))
        listed += is_listed(frag) ? 1u : 0u;
    jam_data(listed);
    part->blocks = listed / LCP_PART_ENTRIES + 1u;
    part->tail_new = lcpw->round.failed == 0 ? lcpw->round.start_gci : part->tail_gci;
    file_open(lcpw);
}

static void block_fill(struct lcpw *lcpw, struct lcp_part *to)
{
    const struct node_config *config = block_config(&lcpw->block);
    struct lcpw_part *part = &lcpw->part;
    memset(to, 0, sizeof *to);
    to->cluster_lo = (uint32_t)config->cluster_id;
    to->cluster_hi = (uint32_t)(config->cluster_id >> 32);
    to->node = config->own_node;
    to->instance = own_instance(lcpw);
    to->number = part->number + 1u;
    to->slot_life = lcp_part_slot_life(to->number % 2u, lcpw_log_life(lcpw));
    to->lcp_id = lcpw->round.lcp_id;
    to->tail_gci = part->tail_new;
    to->block = part->block++;
    to->blocks = part->blocks;
    to->before = part->check;
    while (to->count < LCP_PART_ENTRIES) {
        const struct lcpw_frag *frag = pool_next(&lcpw->frags, part->frag);
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

static void blocks_write(struct lcpw *lcpw)
{
    struct lcpw_part *part = &lcpw->part;
    uint64_t offset = (uint64_t)part->block * LCP_ALIGN;
    uint32_t count = 0;
    for (; count < PART_WRITE_BLOCKS && part->block < part->blocks; count++)
        block_fill(lcpw, (struct lcp_part *)(void *)(lcpw->buffer[0] + (size_t)count * LCP_ALIGN));
    struct fs_piece piece = fs_piece_of(&lcpw->block, lcpw->buffer[0], count * LCP_ALIGN);
    lcpw->state = LCPW_PART_WRITING;
    fs_write(&lcpw->block, ASK_PART_WRITE, part->file, offset, &piece, 1,
             part->block == part->blocks ? FS_SYNC : 0);
}

void lcpw_part_opened(struct lcpw *lcpw, uint32_t file)
{
    ndbrequire(lcpw->state == LCPW_PART_OPENING);
    lcpw->part.file = file;
    blocks_write(lcpw);
}

static void part_close(struct lcpw *lcpw)
{
    lcpw->state = LCPW_PART_CLOSING;
    fs_close(&lcpw->block, ASK_PART_CLOSE, lcpw->part.file);
}

void lcpw_part_written(struct lcpw *lcpw)
{
    ndbrequire(lcpw->state == LCPW_PART_WRITING);
    if (lcpw->part.block < lcpw->part.blocks)
        blocks_write(lcpw);
    else
        part_close(lcpw);
}

void lcpw_part_closed(struct lcpw *lcpw)
{
    struct lcpw_part *part = &lcpw->part;
    ndbrequire(lcpw->state == LCPW_PART_CLOSING);
    if (part->error != 0) {
        jam(); /* Everything stays as it is; the next list has the same number and slot. */
        lcpw_part_failed(lcpw);
        return;
    }
    part->number++;
    part->check = part->check_new;
    part->tail_gci = part->tail_new;
    if (part->number == 1u) {
        jam(); /* A second list follows: of two a missing one is noticed, of one it is not. */
        file_open(lcpw);
        return;
    }
    jam();
    lcpw_clean_begin(lcpw);
}

void lcpw_part_error(struct lcpw *lcpw, uint32_t ask, uint32_t error)
{
    if (lcpw->part.error == 0) lcpw->part.error = error;
    if (ask == ASK_PART_OPEN)
        lcpw_part_failed(lcpw);
    else if (ask == ASK_PART_WRITE)
        part_close(lcpw);
    else
        lcpw_part_closed(lcpw);
}

/* --- What LCPREADER has read. --- */

void lcpw_part_restored(struct block *block, uint32_t number, uint32_t check, uint32_t tail_gci)
{
    struct lcpw *lcpw = lcpw_of(block);
    lcpw->part.number = number;
    lcpw->part.check = check;
    lcpw->part.tail_gci = tail_gci;
}

bool lcpw_frag_list(struct block *block, const struct lcp_part_entry *entry)
{
    struct lcpw *lcpw = lcpw_of(block);
    uint32_t table_id = entry->place >> 16;
    uint32_t fragment_id = entry->place & 0xFFFFu;
    if (table_id >= lcpw->table_count) return true; /* The limit has become lower: no such table. */
    struct lcpw_frag *frag = lcpw_frag_find(lcpw, table_id, fragment_id);
    if (frag == NULL) frag = lcpw_frag_add(lcpw, table_id, entry->version, fragment_id);
    if (frag == NULL) return false;
    /* The other list may be of before the table of this number was dropped and another one made. */
    bool newer = entry->version > frag->version ||
                 (entry->version == frag->version && entry->number > frag->listed);
    if (!newer) return true;
    lcpw->part.kbytes -= frag->listed_kbytes;
    lcpw->part.kbytes += entry->kbytes;
    frag->version = entry->version;
    frag->listed = entry->number;
    frag->listed_kbytes = entry->kbytes;
    return true;
}

uint32_t lcpw_frag_listed(struct block *block, uint32_t table_id, uint32_t version,
                          uint32_t fragment_id)
{
    const struct lcpw_frag *frag = lcpw_frag_find(lcpw_of(block), table_id, fragment_id);
    return frag != NULL && frag->version == version ? frag->listed : 0;
}

uint64_t lcpw_listed_bytes(const struct block *block)
{
    return ((const struct lcpw *)(const void *)block)->part.kbytes * 1024u;
}

void lcpw_restore_ended(struct block *block)
{
    struct lcpw *lcpw = lcpw_of(block);
    uint32_t at = 0;
    struct lcpw_frag *frag;
    while ((frag = pool_next(&lcpw->frags, at)) != NULL) {
        at = pool_index(frag->pool.ref);
        if (frag->number == 0) lcpw_frag_release(lcpw, frag); /* The table is no more. */
    }
}
