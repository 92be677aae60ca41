/* tup_read.c -- which version of a row a transaction sees, and its columns as pairs; keys. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtup/tup_state.h"
#include "values/errors.h"

uint8_t *tup_copy_of(const struct tup *tup, const struct tup_table *table,
                     const struct tup_change *change)
{
    if (table->row_size <= CHANGE_INLINE) return (uint8_t *)(uintptr_t)change->inline_copy;
    return tup_heap_get(&tup->copies, table->row_size, change->copy);
}

/* The version that the change has made of the row, or NULL when it has deleted it. */
static const uint8_t *version_of(const struct tup *tup, const struct tup_table *table,
                                 const struct tup_change *change, const struct tup_row *row)
{
    if (!change->exists) return NULL;
    return change->has_copy ? tup_copy_of(tup, table, change) : (const uint8_t *)row;
}

const uint8_t *tup_version(const struct tup *tup, const struct tup_frag *frag,
                           const struct tup_row *row, uint32_t transid1, uint32_t transid2)
{
    if (__builtin_expect(row->bits == ROW_USED, 1)) return (const uint8_t *)row;
    if ((row->bits & ROW_USED) == 0) return NULL;
    const struct tup_change *change = change_get(tup, row->gci);
    if (change->transid1 == transid1 && change->transid2 == transid2)
        return version_of(tup, frag->table, change, row);
    return (row->bits & ROW_INSERTED) != 0 ? NULL : (const uint8_t *)row;
}

/* Cursor over the output. */
struct read_out {
    uint32_t *at;
    uint32_t *end;
};

/* A variable column's value, or one of unusual size; false when there is no room. */
static bool put_value(struct read_out *out, uint32_t id, const uint8_t *value, uint32_t size)
{
    uint32_t words = words_of(size);
    if ((size_t)(out->end - out->at) < 1u + words) return false;
    *out->at++ = attr_header(id, size);
    if (words == 0) return true;
    out->at[words - 1u] = 0; /* Padding. */
    memcpy(out->at, value, size);
    out->at += words;
    return true;
}

static inline bool put_column(const struct tup_frag *frag, const uint8_t *image, uint32_t id,
                              struct read_out *out)
{
    const struct tup_table *table = frag->table;
    const struct tup_column *column = &table->columns[id];
    if (column->nullable && (image[column->null_byte] & column->null_mask) != 0)
        return put_value(out, id, NULL, 0);
    switch ((enum column_kind)column->kind) {
    case COLUMN_KIND_4:
        if (out->end - out->at < 2) return false;
        *out->at++ = attr_header(id, 4);
        memcpy(out->at, image + column->offset, 4);
        out->at += 1;
        return true;
    case COLUMN_KIND_8:
        if (out->end - out->at < 3) return false;
        *out->at++ = attr_header(id, 8);
        memcpy(out->at, image + column->offset, 8);
        out->at += 2;
        return true;
    case COLUMN_KIND_FIXED:
        return put_value(out, id, image + column->offset, column->size);
    case COLUMN_KIND_VAR:
        break;
    }
    uint32_t part_size = 0;
    uint32_t size;
    uint32_t ref = image_var(table, image);
    const uint8_t *part = ref != 0 ? tup_var_get(frag, ref, &part_size) : NULL;
    const uint8_t *value = tup_var_value(part, part_size, column->var_index, &size);
    return put_value(out, id, value, size);
}

static uint32_t read_all(const struct tup_frag *frag, const uint8_t *image, struct read_out *out)
{
    for (uint32_t id = 0; id < frag->table->column_count; id++) {
        if (!put_column(frag, image, id, out)) return ERR_READS_TOO_MANY;
    }
    return 0;
}

/* Writes what is no column but belongs to the row. */
static uint32_t put_pseudo(const struct tup *tup, const struct tup_read *read, uint32_t id,
                           struct read_out *out)
{
    const struct tup_row *row = row_at(read->frag, read->row);
    uint32_t place[2] = {tup_row_page(read->frag, read->row), tup_row_slot(read->frag, read->row)};
    bool changed = (row->bits & ROW_CHANGED) != 0;
    uint32_t gci = changed ? change_get(tup, row->gci)->gci : row->gci;

    if (id == ATTR_ROW_ID)
        return put_value(out, id, (const uint8_t *)place, sizeof place) ? 0 : ERR_READS_TOO_MANY;
    if (id == ATTR_ROW_GCI)
        return put_value(out, id, (const uint8_t *)&gci, sizeof gci) ? 0 : ERR_READS_TOO_MANY;
    return ERR_DATA_CORRUPT;
}

uint32_t tup_read(struct tup *tup, const struct tup_read *read, uint32_t *out_words,
                  uint32_t out_max, uint32_t *words)
{
    const struct tup_frag *frag = read->frag;
    const uint8_t *image =
        tup_version(tup, frag, row_at(frag, read->row), read->transid1, read->transid2);
    struct read_out out = {out_words, out_words + out_max};
    *words = 0;
    if (image == NULL) return ERR_ROW_NOT_FOUND;
    if (read->attr_words > ATTR_READ_MAX) return ERR_READS_TOO_MANY;
    for (uint32_t i = 0; i < read->attr_words; i++) {
        uint32_t id = attr_column(read->attr[i]);
        if (id < frag->table->column_count) {
            if (attr_size(read->attr[i]) != 0) return ERR_DATA_CORRUPT;
            if (!put_column(frag, image, id, &out)) return ERR_READS_TOO_MANY;
            continue;
        }
        bool all = id == ATTR_READ_ALL && read->attr_words == 1;
        uint32_t error = all ? read_all(frag, image, &out) : put_pseudo(tup, read, id, &out);
        if (error != 0) return error;
    }
    *words = (uint32_t)(out.at - out_words);
    return 0;
}

void tup_pairs_all(const struct tup_frag *frag, const uint8_t *image, uint32_t *out_words,
                   uint32_t out_max, uint32_t *words)
{
    struct read_out out = {out_words, out_words + out_max};
    ndbrequire(read_all(frag, image, &out) == 0);
    *words = (uint32_t)(out.at - out_words);
}

static bool var_column_equal(const struct tup_frag *frag, const struct tup_column *column,
                             const uint8_t *a, const uint8_t *b)
{
    uint32_t a_size = 0;
    uint32_t b_size = 0;
    uint32_t a_ref = image_var(frag->table, a);
    uint32_t b_ref = image_var(frag->table, b);
    if (a_ref == b_ref) return true;
    const uint8_t *a_part = a_ref != 0 ? tup_var_get(frag, a_ref, &a_size) : NULL;
    const uint8_t *b_part = b_ref != 0 ? tup_var_get(frag, b_ref, &b_size) : NULL;
    a_part = tup_var_value(a_part, a_size, column->var_index, &a_size);
    b_part = tup_var_value(b_part, b_size, column->var_index, &b_size);
    return a_size == b_size && (a_size == 0 || memcmp(a_part, b_part, a_size) == 0);
}

static bool column_equal(const struct tup_frag *frag, const struct tup_column *column,
                         const uint8_t *a, const uint8_t *b)
{
    if (column->nullable &&
        ((a[column->null_byte] ^ b[column->null_byte]) & column->null_mask) != 0)
        return false;
    if (column->kind == COLUMN_KIND_VAR) return var_column_equal(frag, column, a, b);
    return memcmp(a + column->offset, b + column->offset, column->size) == 0; /* NULLs are zeros. */
}

bool tup_pairs_changed(const struct tup_frag *frag, const uint8_t *from, const uint8_t *to,
                       uint32_t *out_words, uint32_t out_max, uint32_t *words)
{
    struct read_out out = {out_words, out_words + out_max};
    for (uint32_t id = 0; id < frag->table->column_count; id++) {
        const struct tup_column *column = &frag->table->columns[id];
        if (column_equal(frag, column, from, to)) continue;
        if (column->in_key) return false;
        ndbrequire(put_column(frag, to, id, &out));
    }
    *words = (uint32_t)(out.at - out_words);
    return true;
}

/* A key column's value in a row image. */
static const uint8_t *key_value(const struct tup_frag *frag, const uint8_t *image, uint32_t id,
                                uint32_t *size)
{
    const struct tup_table *table = frag->table;
    const struct tup_column *column = &table->columns[id];
    if (column->kind != COLUMN_KIND_VAR) {
        *size = column->size;
        return image + column->offset;
    }
    uint32_t part_size;
    const uint8_t *part = tup_var_get(frag, image_var(table, image), &part_size);
    return tup_var_value(part, part_size, column->var_index, size);
}

uint32_t tup_read_key(struct tup *tup, const struct tup_read *read, uint32_t *out, uint32_t out_max)
{
    const struct tup_frag *frag = read->frag;
    const uint8_t *image =
        tup_version(tup, frag, row_at(frag, read->row), read->transid1, read->transid2);
    uint32_t at = 0;
    if (image == NULL) return 0;
    for (uint32_t i = 0; i < frag->table->key_count; i++) {
        uint32_t size;
        const uint8_t *value = key_value(frag, image, frag->table->key_columns[i], &size);
        if (words_of(size) > out_max - at) return 0;
        at += words_of(size);
        out[at - 1u] = 0;
        memcpy(out + at - words_of(size), value, size);
    }
    return at;
}

static bool key_equal_any(const struct tup_frag *frag, const uint8_t *image, const uint32_t *key,
                          uint32_t key_words)
{
    const struct tup_table *table = frag->table;
    uint32_t at = 0;
    for (uint32_t i = 0; i < table->key_count; i++) {
        const struct tup_column *column = &table->columns[table->key_columns[i]];
        const uint8_t *wanted = (const uint8_t *)(key + at);
        uint32_t wanted_size = column_value_size(&column->format, wanted, (key_words - at) * 4u);
        uint32_t size;
        const uint8_t *value = key_value(frag, image, table->key_columns[i], &size);
        if (wanted_size == 0) return false;
        if (column->bytewise) {
            if (size != wanted_size || memcmp(value, wanted, size) != 0) return false;
        } else if (column_compare(&column->format, value, size, wanted, wanted_size) != 0) {
            return false;
        }
        at += words_of(wanted_size);
    }
    return true;
}

bool tup_key_equal(const struct tup_frag *frag, uint32_t row_id, const uint32_t *key,
                   uint32_t key_words)
{
    const struct tup_table *table = frag->table;
    /* The key never changes while the row is there, so the version in the row will do. */
    const uint8_t *image = (const uint8_t *)row_at(frag, row_id);
    const uint8_t *own = image + ROW_HEAD + table->null_bytes;
    switch (table->key_single) { /* Constant sizes become a few instructions. */
    case 0:
        break;
    case 4:
        return memcmp(own, key, 4) == 0;
    case 8:
        return memcmp(own, key, 8) == 0;
    case 16:
        return memcmp(own, key, 16) == 0;
    default:
        return memcmp(own, key, table->key_single) == 0;
    }
    if (!table->key_fixed) return key_equal_any(frag, image, key, key_words);
    uint32_t at = 0;
    for (uint32_t i = 0; i < table->key_count; i++) {
        const struct tup_column *column = &table->columns[table->key_columns[i]];
        if (memcmp(image + column->offset, key + at, column->size) != 0) return false;
        at += words_of(column->size);
    }
    return true;
}

uint32_t tup_row_gci(struct tup *tup, const struct tup_frag *frag, uint32_t row_id)
{
    const struct tup_row *row = row_at(frag, row_id);
    return (row->bits & ROW_CHANGED) != 0 ? change_get(tup, row->gci)->gci : row->gci;
}

static uint64_t mix(uint64_t sum, const uint8_t *bytes, uint32_t size)
{
    while (size > 0) {
        uint64_t word = 0;
        uint32_t step = size < 8u ? size : 8u;
        if (step == 8u)
            memcpy(&word, bytes, 8);
        else
            memcpy(&word, bytes, step);
        sum = (sum ^ word) * 0x9E3779B97F4A7C15u;
        sum ^= sum >> 29;
        bytes += step;
        size -= step;
    }
    return sum;
}

uint16_t tup_checksum(const struct tup_frag *frag, const struct tup_row *row)
{
    const struct tup_table *table = frag->table;
    const uint8_t *image = (const uint8_t *)row;
    if (!table->checksum) return 0;
    uint64_t sum = mix(0, image + ROW_HEAD, table->data_size - ROW_HEAD);
    if (image_var(table, image) != 0) {
        uint32_t size;
        const uint8_t *part = tup_var_get(frag, image_var(table, image), &size);
        sum = mix(sum, part, size);
    }
    return (uint16_t)(sum >> 48);
}
