/* tup_index_build.c -- ordered indexes that come and go while their table is used. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A building index has a border (tux.h). Everything that changes a row goes through tup_index.c,
 * which asks nothing: TUX leaves out what is behind the border. So a step only has to move the
 * border over a row and add what the row, as it is now, must have.
 */
#include "blocks/dbtup/tup_indexes_state.h"
#include "blocks/dbtup/tup_state.h"
#include "values/errors.h"
#include "values/table_index.h"

static void columns_mark(struct tup_table *table)
{
    memset(table->indexed, 0, sizeof table->indexed);
    for (const struct tup_index *index = table->index; index != NULL; index = index->next) {
        const struct tux_columns *columns = tup_index_columns(index);
        for (uint32_t i = 0; i < columns->count; i++)
            table->indexed[columns->column[i].id / 64u] |= 1ull << columns->column[i].id % 64u;
    }
}

bool tup_index_define(struct tup *tup, struct tup_table *table, const struct table_def *def,
                      const struct table_index *index, enum tup_index_state state)
{
    uint32_t ref;
    uint32_t size = (uint32_t)sizeof(struct tup_index) + tux_columns_size(index->column_count);
    struct tup_index *made =
        tup->tux == NULL ? NULL : tup_heap_seize(&tup->descriptors, size, &ref);
    if (made == NULL) return false;
    *made = (struct tup_index){
        .next = table->index, .id = index->id, .state = state, .ref = ref, .size = size};
    struct tux_columns *columns = tup_index_columns(made);
    memset(columns, 0, tux_columns_size(index->column_count));
    for (uint32_t i = 0; i < index->column_count; i++) {
        const struct table_column *column = &def->columns[index->columns[i]];
        tux_column_add(columns, index->columns[i], &column->format,
                       (column->flags & COLUMN_NULLABLE) != 0);
    }
    table->index = made;
    columns_mark(table);
    return true;
}

struct tup_index *tup_index_find(const struct tup_table *table, uint32_t id)
{
    struct tup_index *index = table->index;
    while (index != NULL && index->id != id)
        index = index->next;
    return index;
}

struct tux_index *tup_index_of_frag(const struct tup_frag *frag, const struct tup_index *index)
{
    struct tux_index *ordered = frag->ordered;
    while (ordered != NULL && tux_index_columns(ordered) != tup_index_columns(index))
        ordered = tux_index_next(ordered);
    return ordered;
}

static struct tup_index *index_get(struct tup *tup, uint32_t table_ref, uint32_t id)
{
    struct tup_index *index = tup_index_find(tup_table_get(tup, table_ref), id);
    ndbrequire(index != NULL);
    return index;
}

enum tup_index_state tup_index_state_of(struct tup *tup, uint32_t table_ref, uint32_t id)
{
    const struct tup_index *index = tup_index_find(tup_table_get(tup, table_ref), id);
    return index == NULL ? TUP_INDEX_NONE : (enum tup_index_state)index->state;
}

void tup_index_state_set(struct tup *tup, uint32_t table_ref, uint32_t id,
                         enum tup_index_state state)
{
    index_get(tup, table_ref, id)->state = state;
}

uint32_t tup_index_create(struct tup *tup, uint32_t table_ref, const struct table_def *def,
                          uint32_t id)
{
    struct tup_table *table = tup_table_get(tup, table_ref);
    struct table_index index;
    ndbrequire(table_def_index_by_id(def, id, &index) && tup_index_find(table, id) == NULL);
    bool made = tup_index_define(tup, table, def, &index, TUP_INDEX_BUILDING);
    return made ? 0 : ERR_INDEX_FRAGMENT_RECORDS;
}

void tup_index_forget(struct tup *tup, uint32_t table_ref, uint32_t id)
{
    struct tup_table *table = tup_table_get(tup, table_ref);
    const struct tup_index *index = index_get(tup, table_ref, id);
    struct tup_index **at = &table->index;
    while (*at != index)
        at = &(*at)->next;
    *at = index->next;
    tup_heap_release(&tup->descriptors, index->size, index->ref);
    columns_mark(table);
}

uint64_t tup_frag_rows(const struct tup_frag *frag)
{
    return acc_frag_elements(frag->index);
}

/* --- Building. --- */

/* Adds the entries of a row, and moves the border over it. After ERR_INDEX_MEMORY_ORDERED it is as
 * if the row had not been looked at. */
static uint32_t row_add(struct tup *tup, const struct tup_frag *frag, struct tux_index *index,
                        uint32_t row_id)
{
    const struct tup_row *row = row_at(frag, row_id);
    if (!tux_reserve_build(tup->tux, index)) return ERR_INDEX_MEMORY_ORDERED;
    tux_border_set(index, row_id + 1ull);
    tux_add(tup->tux, index, row_id, false);
    if ((row->bits & ROW_CHANGED) != 0) {
        const struct tup_change *change = change_get(tup, row->gci);
        jam();
        if (change->existed && tup_copy_has_entry(tup, frag, change, index))
            tux_add(tup->tux, index, row_id, true);
    }
    tux_trim(tup->tux);
    return 0;
}

/* Adds up to *slots places of the page where the build is; a missing page counts as one. */
static uint32_t page_add(struct tup *tup, const struct tup_frag *frag, struct tux_index *index,
                         struct tup_index_build *build, uint32_t *slots)
{
    const struct tup_table *table = frag->table;
    void *page = page_dir_find(&frag->fixed, build->page);
    uint32_t last = build->slot + *slots;
    if (page == NULL || last > table->slots) last = table->slots;
    *slots -= page == NULL ? 1u : last - build->slot;
    for (; page != NULL && build->slot < last; build->slot++) {
        if ((slot_at(table, page, build->slot)->bits & ROW_USED) == 0) continue;
        uint32_t error = row_add(tup, frag, index, build->page << table->slot_bits | build->slot);
        if (error != 0) return error;
        build->rows++;
    }
    if (page == NULL || build->slot == table->slots) {
        build->page++;
        build->slot = 0;
    }
    tux_border_set(index, (uint64_t)build->page << table->slot_bits | build->slot);
    return 0;
}

uint32_t tup_index_build_step(struct tup *tup, struct tup_frag *frag, uint32_t id,
                              struct tup_index_build *build, uint32_t slots, bool *end)
{
    const struct tup_index *of = tup_index_find(frag->table, id);
    ndbrequire(of != NULL && of->state == TUP_INDEX_BUILDING);
    struct tux_index *index = tup_index_of_frag(frag, of);
    *end = false;
    if (!build->begun) {
        ndbrequire(index == NULL);
        index = tux_index_create(tup->tux, frag, tup_index_columns(of), frag->ordered);
        if (index == NULL) return ERR_INDEX_FRAGMENT_RECORDS;
        tux_border_set(index, 0);
        frag->ordered = index;
        build->begun = 1;
    }
    while (slots > 0 && build->page < frag->fixed.count) {
        uint32_t error = page_add(tup, frag, index, build, &slots);
        if (error != 0) return error;
    }
    if (build->page < frag->fixed.count) return 0;
    jam();
    tux_border_set(index, TUX_NO_BORDER);
    *end = true;
    return 0;
}

bool tup_index_drop_step(struct tup *tup, struct tup_frag *frag, uint32_t id)
{
    if (frag->going == NULL) {
        const struct tup_index *of = tup_index_find(frag->table, id);
        ndbrequire(of != NULL);
        struct tux_index *index = tup_index_of_frag(frag, of);
        if (index == NULL) return true;
        frag->ordered = tux_index_unlink(frag->ordered, index);
        frag->going = index;
    }
    if (tux_index_drop_step(tup->tux, frag->going)) frag->going = NULL;
    return frag->going == NULL;
}
