/* tup_unique.c -- the keys that rows have in unique indexes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "blocks/dbtup/tup_indexes_state.h"
#include "blocks/dbtup/tup_state.h"
#include "values/errors.h"
#include "values/table_index.h"

static uint32_t bytes_of(uint32_t count)
{
    return count * (uint32_t)sizeof(struct tup_unique);
}

static struct tup_unique made_of(const struct table_index *index, enum tup_unique_fires fires)
{
    struct tup_unique unique = {
        .table_id = index->table_id, .fires = fires, .count = index->column_count};
    for (uint32_t i = 0; i < index->column_count; i++)
        unique.column[i] = index->columns[i];
    return unique;
}

bool tup_uniques_define(struct tup *tup, struct tup_table *table, const struct table_def *def)
{
    struct table_index index;
    if (def->unique_count == 0) return true;
    table->uniques =
        tup_heap_seize(&tup->descriptors, bytes_of(def->unique_count), &table->uniques_ref);
    if (table->uniques == NULL) return false;
    table->unique_count = table->uniques_room = def->unique_count;
    for (uint32_t i = 0; table_def_unique(def, i, &index); i++)
        table->uniques[i] = made_of(&index, UNIQUE_FIRES_ALL);
    return true;
}

void tup_uniques_drop(struct tup *tup, const struct tup_table *table)
{
    if (table->uniques_room == 0) return;
    tup_heap_release(&tup->descriptors, bytes_of(table->uniques_room), table->uniques_ref);
}

/* --- They come and go. --- */

/* The number of the index with that table; the count when there is none. */
static uint32_t number_of(const struct tup_table *table, uint32_t index_id)
{
    uint32_t i = 0;
    while (i < table->unique_count && table->uniques[i].table_id != index_id)
        i++;
    return i;
}

static bool in_definition(const struct table_def *def, uint32_t index_id, struct table_index *index)
{
    for (uint32_t i = 0; table_def_unique(def, i, index); i++) {
        if (index->table_id == index_id) return true;
    }
    return false;
}

static bool make_room(struct tup *tup, struct tup_table *table)
{
    uint32_t room = table->unique_count + 1u;
    uint32_t ref;
    if (table->uniques_room >= room) return true;
    struct tup_unique *uniques = tup_heap_seize(&tup->descriptors, bytes_of(room), &ref);
    if (uniques == NULL) return false;
    if (table->unique_count > 0) memcpy(uniques, table->uniques, bytes_of(table->unique_count));
    tup_uniques_drop(tup, table);
    table->uniques = uniques;
    table->uniques_ref = ref;
    table->uniques_room = room;
    return true;
}

uint32_t tup_unique_add(struct tup *tup, uint32_t table_ref, const struct table_def *def,
                        uint32_t index_id)
{
    struct tup_table *table = tup_table_get(tup, table_ref);
    struct table_index index;
    if (!in_definition(def, index_id, &index)) return ERR_INDEX_OBJECT;
    for (uint32_t i = 0; i < index.column_count; i++) {
        if (index.columns[i] >= table->column_count) return ERR_NO_SUCH_COLUMN;
    }
    ndbrequire(number_of(table, index_id) == table->unique_count);
    if (table->unique_count >= TABLE_UNIQUE_MAX) return ERR_INDEXES_TOO_MANY;
    if (!make_room(tup, table)) return ERR_INDEX_FRAGMENT_RECORDS;
    jam();
    table->uniques[table->unique_count++] = made_of(&index, UNIQUE_FIRES_NOTHING);
    return 0;
}

void tup_unique_set(struct tup *tup, uint32_t table_ref, uint32_t index_id,
                    enum tup_unique_fires fires)
{
    struct tup_table *table = tup_table_get(tup, table_ref);
    uint32_t number = number_of(table, index_id);
    ndbrequire(number < table->unique_count);
    jam_data(fires);
    table->uniques[number].fires = fires;
}

void tup_unique_remove(struct tup *tup, uint32_t table_ref, uint32_t index_id)
{
    struct tup_table *table = tup_table_get(tup, table_ref);
    uint32_t number = number_of(table, index_id);
    if (number == table->unique_count) return; /* Its adding was refused here. */
    ndbrequire(table->uniques[number].fires == UNIQUE_FIRES_NOTHING);
    jam();
    table->unique_count--;
    memmove(table->uniques + number, table->uniques + number + 1u,
            bytes_of(table->unique_count - number));
}

enum tup_unique_fires tup_unique_fires_of(const struct tup_frag *frag, uint32_t number,
                                          uint32_t *index_id)
{
    const struct tup_unique *unique = &frag->table->uniques[number];
    ndbrequire(number < frag->table->unique_count);
    *index_id = unique->table_id;
    return (enum tup_unique_fires)unique->fires;
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
