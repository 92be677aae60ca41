/* tup_index.c -- what ordered indexes see of rows, and keeping both together. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtup/tup_indexes_state.h"
#include "blocks/dbtup/tup_state.h"
#include "values/table_index.h"

const uint8_t *tup_index_image(const struct tup_frag *frag, uint32_t row_id, bool copy)
{
    const struct tup_row *row = row_at(frag, row_id);
    if (!copy) return (const uint8_t *)row;
    return tup_copy_of(frag->tup, frag->table, change_get(frag->tup, row->gci));
}

const uint8_t *tup_index_value(const struct tup_frag *frag, const uint8_t *image, uint32_t id,
                               uint32_t *size)
{
    const struct tup_table *table = frag->table;
    const struct tup_column *column = &table->columns[id];
    *size = 0;
    if (column->nullable && (image[column->null_byte] & column->null_mask) != 0) return NULL;
    if (column->kind != COLUMN_KIND_VAR) {
        *size = column->size;
        return image + column->offset;
    }
    uint32_t part_size = 0;
    uint32_t ref = image_var(table, image);
    const uint8_t *part = ref != 0 ? tup_var_get(frag, ref, &part_size) : NULL;
    return tup_var_value(part, part_size, column->var_index, size);
}

/* --- Definitions and fragments. --- */

bool tup_indexes_define(struct tup *tup, struct tup_table *table, const struct table_def *def)
{
    struct table_index index;
    for (uint32_t i = def->index_count; i-- > 0;) { /* The list grows at its head. */
        table_def_index(def, i, &index);
        if (tup_index_define(tup, table, def, &index, TUP_INDEX_USABLE)) continue;
        tup_indexes_forget(tup, table);
        return false;
    }
    return true;
}

void tup_indexes_forget(struct tup *tup, struct tup_table *table)
{
    while (table->index != NULL) {
        const struct tup_index *index = table->index;
        table->index = index->next;
        tup_heap_release(&tup->descriptors, index->size, index->ref);
    }
}

bool tup_indexes_drop_step(struct tup *tup, struct tup_frag *frag)
{
    if (frag->ordered == NULL) return true;
    struct tux_index *next = tux_index_next(frag->ordered);
    if (tux_index_drop_step(tup->tux, frag->ordered)) frag->ordered = next;
    return false;
}

bool tup_indexes_create(struct tup *tup, struct tup_frag *frag)
{
    for (const struct tup_index *of = frag->table->index; of != NULL; of = of->next) {
        struct tux_index *index =
            tux_index_create(tup->tux, frag, tup_index_columns(of), frag->ordered);
        if (index == NULL) {
            while (!tup_indexes_drop_step(tup, frag)) /* All indexes are empty. */
                continue;
            return false;
        }
        frag->ordered = index;
    }
    return true;
}

struct tux_index *tup_frag_ordered(const struct tup_frag *frag, uint32_t id)
{
    const struct tup_index *index = tup_index_find(frag->table, id);
    if (index == NULL || index->state != TUP_INDEX_USABLE) return NULL;
    return tup_index_of_frag(frag, index);
}

/* --- Following changes. --- */

bool tup_index_touched(const struct tup *tup, const struct tup_table *table)
{
    for (uint32_t i = 0; i < SEEN_WORDS; i++) {
        if ((table->indexed[i] & tup->attr.seen[i]) != 0) return true;
    }
    return false;
}

/* Have two images of a row other keys? */
static bool keys_differ(const struct tup_frag *frag, const struct tux_columns *columns,
                        const uint8_t *a, const uint8_t *b)
{
    for (uint32_t i = 0; i < columns->count; i++) {
        const struct tux_column *column = &columns->column[i];
        uint32_t a_size;
        uint32_t b_size;
        const uint8_t *a_value = tup_index_value(frag, a, column->id, &a_size);
        const uint8_t *b_value = tup_index_value(frag, b, column->id, &b_size);
        if ((a_size == 0) != (b_size == 0)) return true;
        if (a_size != 0 && column_compare(&column->format, a_value, a_size, b_value, b_size) != 0)
            return true;
    }
    return false;
}

bool tup_copy_has_entry(const struct tup *tup, const struct tup_frag *frag,
                        const struct tup_change *change, const struct tux_index *index)
{
    if (!change->has_copy) return false;
    return keys_differ(frag, tux_index_columns(index), tup_copy_of(tup, frag->table, change),
                       (const uint8_t *)row_at(frag, change->row));
}

void tup_index_add(struct tup *tup, struct tup_frag *frag, uint32_t row)
{
    for (struct tux_index *index = frag->ordered; index != NULL; index = tux_index_next(index))
        tux_add(tup->tux, index, row, false);
    tup_index_trim(tup, frag);
}

void tup_index_remove(struct tup *tup, struct tup_frag *frag, uint32_t row)
{
    for (struct tux_index *index = frag->ordered; index != NULL; index = tux_index_next(index))
        tux_remove(tup->tux, index, row, false);
}

void tup_index_leave(struct tup *tup, struct tup_frag *frag, const struct tup_change *change)
{
    if (change->existed)
        tup_index_abort(tup, frag, change);
    else
        tup_index_remove(tup, frag, change->row);
}

void tup_index_enter(struct tup *tup, struct tup_frag *frag, const struct tup_change *change)
{
    for (struct tux_index *index = frag->ordered; index != NULL; index = tux_index_next(index)) {
        if (!change->existed)
            tux_add(tup->tux, index, change->row, false);
        else if (tup_copy_has_entry(tup, frag, change, index))
            tux_add(tup->tux, index, change->row, true);
    }
    tup_index_trim(tup, frag);
}

void tup_index_commit(struct tup *tup, struct tup_frag *frag, const struct tup_change *change)
{
    for (struct tux_index *index = frag->ordered; index != NULL; index = tux_index_next(index)) {
        if (!tup_copy_has_entry(tup, frag, change, index)) continue;
        jam();
        tux_remove(tup->tux, index, change->row, false);
        tux_settle(tup->tux, index, change->row);
    }
}

void tup_index_abort(struct tup *tup, struct tup_frag *frag, const struct tup_change *change)
{
    for (struct tux_index *index = frag->ordered; index != NULL; index = tux_index_next(index)) {
        if (!tup_copy_has_entry(tup, frag, change, index)) continue;
        jam();
        tux_remove(tup->tux, index, change->row, true);
    }
}

/* --- The check. --- */

struct index_sum {
    const struct tup *tup;
    const struct tup_frag *frag;
    const struct tux_index *index;
    uint64_t rows;
    uint64_t copies;
};

/* Rows that have an entry: below the border. */
static uint64_t rows_below(const struct tup_frag *frag, uint64_t border)
{
    const struct tup_table *table = frag->table;
    uint64_t rows = 0;
    if (border == TUX_NO_BORDER) return acc_frag_elements(frag->index);
    for (uint32_t number = 0; number < frag->fixed.count; number++) {
        void *page = page_dir_find(&frag->fixed, number);
        for (uint32_t slot = 0; page != NULL && slot < table->slots; slot++) {
            bool used = (slot_at(table, page, slot)->bits & ROW_USED) != 0;
            rows += used && ((uint64_t)number << table->slot_bits | slot) < border;
        }
    }
    return rows;
}

/* Entries are in strict order, so none is there twice. */
static void entry_visit(void *context, const struct tux_entry *entry)
{
    struct index_sum *sum = context;
    const struct tup_row *row = row_at(sum->frag, entry->row);
    ndbrequire((row->bits & ROW_USED) != 0); /* I-TUP-7 */
    sum->rows += !entry->copy;
    if (!entry->copy) return;
    ndbrequire((row->bits & ROW_CHANGED) != 0); /* I-TUP-7 */
    ndbrequire(tup_copy_has_entry(sum->tup, sum->frag, change_get(sum->tup, row->gci), sum->index));
    sum->copies++;
}

void tup_index_check(const struct tup *tup, const struct tup_frag *frag)
{
    for (const struct tux_index *index = frag->ordered; index != NULL;
         index = tux_index_next(index)) {
        struct index_sum sum = {.tup = tup, .frag = frag, .index = index};
        tux_index_check(index, entry_visit, &sum);
        uint64_t border = tux_border(index);
        ndbrequire(sum.rows == rows_below(frag, border)); /* I-TUP-7 */
        for (const struct tup_change *change = pool_next(&tup->changes, 0);
             change != NULL && frag->changes > 0;
             change = pool_next(&tup->changes, pool_index(change->record.ref))) {
            if (change->frag == frag->record.ref && !change->done && change->row < border)
                sum.copies -= tup_copy_has_entry(tup, frag, change, index);
        }
        ndbrequire(sum.copies == 0); /* I-TUP-7 */
    }
}
