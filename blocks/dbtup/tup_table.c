/* tup_table.c -- tables and fragments: layout of rows from the definition, dropping in steps. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtup/tup_indexes_state.h"
#include "blocks/dbtup/tup_state.h"
#include "values/errors.h"

#define DROP_PAGES 32u /* Pages that a step gives back, in some microseconds. */

/* Any bytes are a value, if there are enough of them. */
static bool any_bytes(const struct column_format *format)
{
    return column_is_integer(format->type) || format->type == COLUMN_BINARY;
}

/* Fixed columns stand in this order; the natural alignment of each is kept where it costs nothing.
 */
static uint32_t rank_of(const struct tup_column *column)
{
    if (column->in_key) return 0;
    if (column->size % 8u == 0) return 1;
    if (column->size % 4u == 0) return 2;
    return column->size % 2u == 0 ? 3 : 4;
}
#define RANKS 5u

static void column_init(struct tup_column *column, const struct table_column *from,
                        uint32_t *var_count)
{
    *column = (struct tup_column){
        .plain = any_bytes(&from->format),
        .bytewise = column_is_bytewise(&from->format),
        .integer = column_is_integer(from->format.type),
        .sign = column_is_signed(from->format.type),
        .nullable = (from->flags & COLUMN_NULLABLE) != 0,
        .in_key = (from->flags & COLUMN_PRIMARY_KEY) != 0,
        .size = (uint16_t)from->size_max,
        .format = from->format,
    };
    bool added = (from->flags & COLUMN_ADDED) != 0;
    if (column->nullable && !added) {
        column->null_byte = (uint16_t)(ROW_HEAD + from->null_index / 8u);
        column->null_mask = (uint8_t)(1u << from->null_index % 8u);
    }
    if (added || column_array(&from->format) != COLUMN_FIXED) {
        column->kind = COLUMN_KIND_VAR;
        column->var_index = (uint16_t)(*var_count)++;
    } else {
        column->kind = from->size_max == 4   ? COLUMN_KIND_4
                       : from->size_max == 8 ? COLUMN_KIND_8
                                             : COLUMN_KIND_FIXED;
    }
}

static void layout(struct tup_table *table, const struct table_def *def)
{
    uint32_t at = ROW_HEAD + table->null_bytes;
    for (uint32_t i = 0; i < def->column_count; i++)
        column_init(&table->columns[i], &def->columns[i], &table->var_count);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        for (uint32_t i = 0; i < def->column_count; i++) {
            struct tup_column *column = &table->columns[i];
            if (column->kind == COLUMN_KIND_VAR || rank_of(column) != rank) continue;
            column->offset = (uint16_t)at;
            at += column->size;
        }
    }
    table->var_offset = at;
    at += 4u;
    table->data_size = at;
    table->row_size = (at + 7u) & ~7u;
    table->slots = (PAGE_SIZE_BYTES - FIXED_PAGE_HEAD) / table->row_size;
    while (1u << table->slot_bits < table->slots)
        table->slot_bits++;
    uint32_t pages =
        UINT32_MAX >> table->slot_bits; /* The last page is left out: ROW_NONE is no row id. */
    table->pages_max = pages < PAGE_DIR_MAX - 1u ? pages : PAGE_DIR_MAX - 1u;
}

static void key_init(struct tup_table *table, const struct table_def *def)
{
    table->key_count = def->key_count;
    table->key_fixed = 1;
    for (uint32_t i = 0; i < def->key_count; i++) {
        const struct tup_column *column = &table->columns[def->key_columns[i]];
        table->key_columns[i] = def->key_columns[i];
        if (column->kind == COLUMN_KIND_VAR || !column->bytewise) table->key_fixed = 0;
    }
    if (table->key_fixed && table->key_count == 1)
        table->key_single = table->columns[table->key_columns[0]].size;
}

static uint32_t default_var_bytes(const struct tup_table *table, const struct table_def *def)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < def->column_count; i++) {
        if (table->columns[i].kind == COLUMN_KIND_VAR &&
            (def->columns[i].flags & COLUMN_HAS_DEFAULT) != 0)
            bytes += def->columns[i].default_size;
    }
    return bytes == 0 ? 0 : bytes + 2u * table->var_count;
}

/* Fills the row that an insert starts from: defaults in place, NULL where there is none. */
static void defaults_init(struct tup_table *table, const struct table_def *def)
{
    uint32_t at = 2u * table->var_count;
    for (uint32_t i = 0; i < def->column_count; i++) {
        const struct tup_column *column = &table->columns[i];
        uint32_t size = 0;
        const void *value = NULL;
        if ((def->columns[i].flags & COLUMN_HAS_DEFAULT) != 0) {
            value = table_column_default(def, &def->columns[i], &size);
            table->defaulted[i / 64u] |= 1ull << i % 64u;
        } else if (column->nullable) {
            table->default_row[column->null_byte] |= column->null_mask; /* Added ones: 0. */
        } else if (!column->in_key) {
            table->required[i / 64u] |= 1ull << i % 64u;
        }
        if (column->kind != COLUMN_KIND_VAR) {
            if (value != NULL) memcpy(table->default_row + column->offset, value, size);
        } else if (table->default_var != NULL) {
            uint16_t offset = (uint16_t)at;
            memcpy(table->default_var + 2u * column->var_index, &offset, sizeof offset);
            if (value != NULL) memcpy(table->default_var + at, value, size);
            at += size;
        }
    }
}

/* Columns that were added have no null bit; they stand behind all others. */
static uint32_t null_bytes_of(const struct table_def *def)
{
    uint32_t bits = 0;
    for (uint32_t i = 0; i < def->column_count; i++)
        bits += (def->columns[i].flags & (COLUMN_NULLABLE | COLUMN_ADDED)) == COLUMN_NULLABLE;
    return (bits + 7u) / 8u;
}

uint32_t tup_table_create(struct tup *tup, const struct table_def *def, uint32_t *table_ref)
{
    struct tup_table *table = pool_seize(&tup->tables);
    *table_ref = REF_NONE;
    if (table == NULL) return ERR_TUP_TABLES;
    table->table_id = def->table_id;
    table->column_count = def->column_count;
    table->null_bytes = null_bytes_of(def);
    table->checksum = (def->flags & TABLE_ROW_CHECKSUM) != 0;
    table->columns_size = def->column_count * (uint32_t)sizeof(struct tup_column);
    table->columns = tup_heap_seize(&tup->descriptors, table->columns_size, &table->columns_ref);
    if (table->columns == NULL) goto no_columns;
    layout(table, def);
    key_init(table, def);
    table->default_var_size = default_var_bytes(table, def);
    /* Row and variable part in one piece: the longest row is 30,000 bytes in all. */
    table->defaults_size = table->row_size + table->default_var_size;
    table->default_row =
        tup_heap_seize(&tup->descriptors, table->defaults_size, &table->defaults_ref);
    if (table->default_row == NULL) goto no_defaults;
    if (table->default_var_size > 0) table->default_var = table->default_row + table->row_size;
    defaults_init(table, def);
    if (!tup_uniques_define(tup, table, def)) goto no_uniques;
    if (!tup_indexes_define(tup, table, def)) goto no_indexes;
    *table_ref = table->record.ref;
    return 0;

no_indexes:
    tup_uniques_drop(tup, table);
no_uniques:
    tup_heap_release(&tup->descriptors, table->defaults_size, table->defaults_ref);
no_defaults:
    tup_heap_release(&tup->descriptors, table->columns_size, table->columns_ref);
no_columns:
    pool_release(&tup->tables, table);
    return ERR_TUP_TABLES;
}

uint32_t tup_column_prepare(struct tup *tup, uint32_t table_ref, const struct table_def *def)
{
    struct tup_table *table = tup_table_get(tup, table_ref);
    uint32_t var_count = table->var_count;
    uint32_t size = def->column_count * (uint32_t)sizeof(struct tup_column);
    uint32_t ref;
    ndbrequire(def->column_count == table->column_count + 1u);
    ndbrequire((def->columns[table->column_count].flags & COLUMN_ADDED) != 0);
    struct tup_column *columns = tup_heap_seize(&tup->descriptors, size, &ref);
    if (columns == NULL) return ERR_TUP_TABLES;
    memcpy(columns, table->columns, table->column_count * sizeof *columns);
    column_init(&columns[table->column_count], &def->columns[table->column_count], &var_count);
    tup_heap_release(&tup->descriptors, table->columns_size, table->columns_ref);
    table->columns = columns;
    table->columns_size = size;
    table->columns_ref = ref;
    return 0;
}

void tup_column_online(struct tup *tup, uint32_t table_ref, uint32_t column_count)
{
    struct tup_table *table = tup_table_get(tup, table_ref);
    ndbrequire(column_count == table->column_count + 1u);
    ndbrequire(table->columns_size == column_count * sizeof(struct tup_column));
    table->column_count = column_count;
    table->var_count++;
}

struct tup_table *tup_table_get(const struct tup *tup, uint32_t ref)
{
    struct tup_table *table = pool_find(&tup->tables, ref);
    ndbrequire(table != NULL);
    return table;
}

uint32_t tup_frag_create(struct tup *tup, uint32_t table_ref, uint32_t fragment_id,
                         uint32_t *frag_ref)
{
    struct tup_table *table = tup_table_get(tup, table_ref);
    struct tup_frag *frag = pool_seize(&tup->frags);
    *frag_ref = REF_NONE;
    if (frag == NULL) return ERR_FRAGMENT_RECORDS_TUP;
    frag->index = acc_frag_create(tup->acc, frag);
    if (frag->index == NULL) {
        jam();
        pool_release(&tup->frags, frag);
        return ERR_FRAGMENT_RECORDS_TUP;
    }
    frag->tup = tup;
    frag->table = table;
    frag->fragment_id = fragment_id;
    frag->gci_low = UINT32_MAX;
    frag->need.round = tup->round;
    page_dir_init(&frag->fixed, tup->arena, RG_DATA);
    page_dir_init(&frag->var, tup->arena, RG_DATA);
    if (!tup_indexes_create(tup, frag)) {
        jam();
        while (!acc_frag_drop_step(tup->acc, frag->index)) /* It is empty. */
            continue;
        pool_release(&tup->frags, frag);
        return ERR_INDEX_FRAGMENT_RECORDS;
    }
    frag->next = table->frag;
    table->frag = frag->record.ref;
    *frag_ref = frag->record.ref;
    return 0;
}

struct tup_frag *tup_frag_get(struct tup *tup, uint32_t ref)
{
    struct tup_frag *frag = pool_find(&tup->frags, ref);
    ndbrequire(frag != NULL);
    return frag;
}

struct acc_frag *tup_frag_index(const struct tup_frag *frag)
{
    return frag->index;
}

/* Gives back pages from the end; true when none is left. */
static bool pages_drop(struct page_dir *dir)
{
    uint32_t number = dir->count;
    for (uint32_t i = 0; i < DROP_PAGES && number > 0; i++) {
        number--;
        if (page_dir_find(dir, number) != NULL) page_dir_remove(dir, number);
    }
    /* The directory ends at the last page itself, unless holes or jumped numbers are there: they
     * are skipped. */
    if (dir->pages > 0) {
        if (dir->count > number) dir->count = number;
        return false;
    }
    page_dir_drop(dir);
    return true;
}

static bool frag_drop_step(struct tup *tup, struct tup_frag *frag)
{
    ndbrequire(frag->changes == 0);
    frag->dropping = 1;
    tup_need_drop(frag);
    if (!frag->index_gone) {
        frag->index_gone = acc_frag_drop_step(tup->acc, frag->index);
        return false;
    }
    if (!tup_indexes_drop_step(tup, frag)) return false;
    if (!pages_drop(&frag->fixed) || !pages_drop(&frag->var)) return false;
    tup_marks_drop(frag);
    pool_release(&tup->frags, frag);
    return true;
}

bool tup_table_drop_step(struct tup *tup, uint32_t table_ref)
{
    struct tup_table *table = tup_table_get(tup, table_ref);
    if (table->frag != REF_NONE) {
        struct tup_frag *frag = tup_frag_get(tup, table->frag);
        uint32_t next = frag->next;
        if (frag_drop_step(tup, frag)) table->frag = next;
        return false;
    }
    tup_heap_release(&tup->descriptors, table->columns_size, table->columns_ref);
    tup_heap_release(&tup->descriptors, table->defaults_size, table->defaults_ref);
    tup_indexes_forget(tup, table);
    tup_uniques_drop(tup, table);
    pool_release(&tup->tables, table);
    return true;
}

void tup_frag_figures_get(const struct tup_frag *frag, struct tup_frag_figures *figures)
{
    *figures = (struct tup_frag_figures){
        .rows = frag->rows,
        .commits = frag->commits,
        .fixed_pages = frag->fixed.pages,
        .var_pages = frag->var.pages,
        .index_pages = acc_frag_pages(frag->index),
        .row_bytes = frag->table->row_size,
        .var_bytes = frag->var_bytes,
        .rows_max = (uint64_t)frag->table->pages_max * frag->table->slots,
    };
}
