/* tup_unique.c -- the keys that rows have in unique indexes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtup/tup_state.h"

bool tup_uniques_define(struct tup *tup, struct tup_table *table, const struct table_def *def)
{
    struct table_index index;
    if (def->unique_count == 0) return true;
    table->uniques =
        tup_heap_seize(&tup->descriptors, def->unique_count * (uint32_t)sizeof(struct tup_unique),
                       &table->uniques_ref);
    if (table->uniques == NULL) return false;
    table->unique_count = def->unique_count;
    for (uint32_t i = 0; table_def_unique(def, i, &index); i++) {
        table->uniques[i].count = index.column_count;
        for (uint32_t c = 0; c < index.column_count; c++)
            table->uniques[i].column[c] = index.columns[c];
    }
    return true;
}

void tup_uniques_drop(struct tup *tup, const struct tup_table *table)
{
    if (table->unique_count == 0) return;
    tup_heap_release(&tup->descriptors, table->unique_count * (uint32_t)sizeof(struct tup_unique),
                     table->uniques_ref);
}

uint32_t tup_unique_count(const struct tup_frag *frag)
{
    return frag->table->unique_count;
}

uint32_t tup_unique_key(struct tup *tup, const struct tup_read *read, uint32_t number,
                        uint32_t *out)
{
    const struct tup_frag *frag = read->frag;
    const struct tup_unique *unique = &frag->table->uniques[number];
    uint32_t at = 0;
    ndbrequire(number < frag->table->unique_count);
    if (read->row == ROW_NONE) return 0;
    const uint8_t *image =
        tup_version(tup, frag, row_at(frag, read->row), read->transid1, read->transid2);
    if (image == NULL) return 0;
    for (uint32_t i = 0; i < unique->count; i++) {
        uint32_t size;
        const uint8_t *value = tup_index_value(frag, image, unique->column[i], &size);
        if (size == 0) return 0; /* NULL: variable values have their length bytes. */
        at += words_of(size);
        out[at - 1u] = 0;
        memcpy(out + at - words_of(size), value, size);
    }
    return at;
}

bool tup_unique_equal(const struct tup_frag *frag, uint32_t number, const uint32_t *a,
                      uint32_t a_words, const uint32_t *b, uint32_t b_words)
{
    const struct tup_unique *unique = &frag->table->uniques[number];
    uint32_t a_at = 0;
    uint32_t b_at = 0;
    if (a_words == 0 || b_words == 0) return a_words == b_words;
    for (uint32_t i = 0; i < unique->count; i++) {
        const struct column_format *format = &frag->table->columns[unique->column[i]].format;
        uint32_t a_size = column_value_size(format, a + a_at, (a_words - a_at) * 4u);
        uint32_t b_size = column_value_size(format, b + b_at, (b_words - b_at) * 4u);
        if (column_compare(format, a + a_at, a_size, b + b_at, b_size) != 0) return false;
        a_at += words_of(a_size);
        b_at += words_of(b_size);
    }
    return true;
}
