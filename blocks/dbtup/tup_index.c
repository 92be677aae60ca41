/* tup_index.c -- what ordered indexes see of rows, and keeping both together. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtup/tup_state.h"

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
    return tup_var_value(table, part, part_size, column->var_index, size);
}
