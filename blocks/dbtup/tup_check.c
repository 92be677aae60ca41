/* tup_check.c -- the invariants of rows, changes and pages. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * I-TUP-1 Every slot in use is in the fragment's index exactly once, under the hash its change or
 * insert gave. I-TUP-2 A row with ROW_CHANGED names an open change, which names the row; no other
 * row does. I-TUP-3 The number of committed rows is kept; a committed row's checksum is right.
 * I-TUP-4 Every variable part belongs to one row or one copy. I-TUP-7 An ordered index has an entry
 * of each slot in use and of each copy with another key, and no others. I-TUP-6 Wanted slots are
 * only there while checkpoint files are being read; a page and the fragment know how many they
 * have.
 */
#include "blocks/dbtup/tup_indexes_state.h"
#include "blocks/dbtup/tup_state.h"

struct frag_sum {
    const struct tup *tup;
    const struct tup_frag *frag;
    uint64_t rows;
    uint64_t committed;
    uint64_t var_bytes;
    uint64_t elements;
    uint32_t changes;
};

/* An element's slot is in use; that no slot has two follows from the equal numbers and the key
 * check of DBACC. */
static void element_visit(void *context, uint32_t hash, uint32_t row_id)
{
    struct frag_sum *sum = context;
    const struct tup_table *table = sum->frag->table;
    uint32_t slot = tup_row_slot(sum->frag, row_id);
    void *page = page_dir_find(&sum->frag->fixed, tup_row_page(sum->frag, row_id));
    ndbrequire(page != NULL); /* I-TUP-1 */
    ndbrequire(slot < table->slots);
    const struct tup_row *row = slot_at(table, page, slot);
    ndbrequire((row->bits & ROW_USED) != 0); /* I-TUP-1 */
    if ((row->bits & ROW_CHANGED) != 0) ndbrequire(change_get(sum->tup, row->gci)->hash == hash);
    sum->elements++;
}

static uint32_t var_bytes_of(const struct tup_frag *frag, const uint8_t *image)
{
    uint32_t size = 0;
    uint32_t ref = image_var(frag->table, image);
    if (ref != 0) tup_var_get(frag, ref, &size);
    return size;
}

static void row_check(struct frag_sum *sum, uint32_t row_id, const struct tup_row *row)
{
    const struct tup_frag *frag = sum->frag;
    sum->rows++;
    sum->var_bytes += var_bytes_of(frag, (const uint8_t *)row);
    if ((row->bits & ROW_INSERTED) == 0) {
        sum->committed++;
        ndbrequire(tup_checksum(frag, row) == row->checksum); /* I-TUP-3 */
    }
    if ((row->bits & ROW_CHANGED) == 0) {
        ndbrequire((row->bits & ROW_INSERTED) == 0);
        return;
    }
    const struct tup_change *change = change_get(sum->tup, row->gci); /* I-TUP-2 */
    ndbrequire(change->row == row_id);
    ndbrequire(change->frag == frag->record.ref);
    ndbrequire(!change->done);
    ndbrequire(change->operations > 0);
    ndbrequire((change->existed == 0) == ((row->bits & ROW_INSERTED) != 0));
    ndbrequire(row->lock != REF_NONE); /* Whoever changes a row has locked it. */
    sum->changes++;
    if (!change->has_copy) return;
    const uint8_t *copy = tup_copy_of(sum->tup, frag->table, change);
    if (image_var(frag->table, copy) != image_var(frag->table, (const uint8_t *)row))
        sum->var_bytes += var_bytes_of(frag, copy);
}

static void frag_check(const struct tup *tup, const struct tup_frag *frag)
{
    struct frag_sum sum = {.tup = tup, .frag = frag};
    const struct tup_table *table = frag->table;
    if (frag->dropping) return;
    tup_fixed_check(frag);
    tup_var_check(frag);
    for (uint32_t number = 0; number < frag->fixed.count; number++) {
        void *page = page_dir_find(&frag->fixed, number);
        for (uint32_t slot = 0; page != NULL && slot < table->slots; slot++) {
            const struct tup_row *row = slot_at(table, page, slot);
            if (row->bits != 0 && row->bits != ROW_WANTED)
                row_check(&sum, number << table->slot_bits | slot, row);
        }
    }
    acc_frag_walk(frag->index, element_visit, &sum);
    ndbrequire(sum.elements == sum.rows); /* I-TUP-1 */
    ndbrequire(acc_frag_elements(frag->index) == sum.rows);
    ndbrequire(sum.committed == frag->rows);      /* I-TUP-3 */
    ndbrequire(sum.var_bytes == frag->var_bytes); /* I-TUP-4 */
    tup_need_check(frag);
    ndbrequire(sum.changes <= frag->changes);
    tup_index_check(tup, frag);
}

void tup_check(struct block *block)
{
    const struct tup *tup = (const struct tup *)(void *)block;
    uint32_t changes = 0;
    if (tup->arena == NULL) return; /* READ_CONFIG_REQ has not come. */
    for (const struct tup_frag *frag = pool_next(&tup->frags, 0); frag != NULL;
         frag = pool_next(&tup->frags, pool_index(frag->record.ref))) {
        frag_check(tup, frag);
        changes += frag->changes;
    }
    ndbrequire(changes == tup->changes.in_use);
}
