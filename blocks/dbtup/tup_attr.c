/* tup_attr.c -- checks the columns of a write and puts them into row images and variable parts. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtup/tup_state.h"
#include "values/errors.h"

static bool seen(const struct tup_attr *attr, uint32_t column)
{
    return (attr->seen[column / 64u] >> column % 64u & 1u) != 0;
}

/* Finds the value of key column `column` in a KEY section that has been checked. */
static const uint8_t *key_part(const struct tup_table *table, const struct tup_change_req *req,
                               uint32_t column, uint32_t *size)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < table->key_count; i++) {
        const uint8_t *bytes = (const uint8_t *)(req->key + at);
        *size = column_value_size(&table->columns[table->key_columns[i]].format, bytes,
                                  (req->key_words - at) * 4u);
        if (table->key_columns[i] == column) return bytes;
        at += words_of(*size);
    }
    *size = 0;
    return NULL;
}

/* A key column may be named where it says nothing new. */
static uint32_t key_value_check(const struct tup_table *table, const struct tup_change_req *req,
                                uint32_t column, const uint8_t *value, uint32_t value_size)
{
    uint32_t size;
    const uint8_t *key = key_part(table, req, column, &size);
    if (key == NULL) return ERR_KEY_UPDATE;
    return column_compare(&table->columns[column].format, key, size, value, value_size) == 0
               ? 0
               : ERR_KEY_UPDATE;
}

static uint32_t value_check(const struct tup_table *table, const struct tup_change_req *req,
                            uint32_t id, const uint8_t *value, uint32_t size, enum attr_use use)
{
    const struct tup_column *column = &table->columns[id];
    if (column->in_key && use == ATTR_UPDATE) return ERR_KEY_UPDATE;
    if (size == 0) {
        if (column->nullable) return 0;
        jam();
        return use == ATTR_INSERT ? ERR_NULL_FOR_NOT_NULL : ERR_NULL_FOR_NOT_NULL_UPDATE;
    }
    if (column->plain) {
        if (size != column->size) return ERR_VALUE_LENGTH;
    } else {
        uint32_t error = column_check(&column->format, value, size);
        if (error != 0) return error;
    }
    return column->in_key ? key_value_check(table, req, id, value, size) : 0;
}

static inline void column_seen(struct tup_attr *attr, const struct tup_column *column, uint32_t id,
                               const uint8_t *value, uint32_t size)
{
    attr->seen[id / 64u] |= 1ull << id % 64u;
    if (column->kind != COLUMN_KIND_VAR) return;
    attr->var_seen = 1;
    attr->var_at[column->var_index] = value;
    attr->var_size[column->var_index] = (uint16_t)size;
}

/* A new row needs all that cannot be NULL, and its variable part the variable key columns. */
static uint32_t complete_row(struct tup_attr *attr, const struct tup_table *table,
                             const struct tup_change_req *req)
{
    for (uint32_t i = 0; i < SEEN_WORDS; i++) {
        if ((table->required[i] & ~attr->seen[i]) != 0) return ERR_NULL_FOR_NOT_NULL;
    }
    uint32_t key_at = 0;
    for (uint32_t i = 0; i < table->key_count; i++) {
        uint32_t id = table->key_columns[i];
        const struct tup_column *column = &table->columns[id];
        const uint8_t *value = (const uint8_t *)(req->key + key_at);
        uint32_t size = column_value_size(&column->format, value, (req->key_words - key_at) * 4u);
        if (size == 0) return ERR_KEY_LENGTH;
        key_at += words_of(size);
        if (column->kind == COLUMN_KIND_VAR) column_seen(attr, column, id, value, size);
    }
    return 0;
}

uint32_t tup_attr_parse(struct tup *tup, const struct tup_frag *frag,
                        const struct tup_change_req *req, enum attr_use use)
{
    const struct tup_table *table = frag->table;
    struct tup_attr *attr = &tup->attr;
    if (req->attr_words > TUP_ROW_WORDS_MAX) return ERR_TUP_TOO_MUCH_DATA;
    attr->words = req->attr;
    attr->size = req->attr_words;
    attr->var_seen = 0;
    memset(attr->seen, 0, sizeof attr->seen);
    for (uint32_t at = 0; at < req->attr_words;) {
        uint32_t id = attr_column(req->attr[at]);
        uint32_t size = attr_size(req->attr[at]);
        const uint8_t *value = (const uint8_t *)(req->attr + at + 1u);
        if (id >= table->column_count || words_of(size) > req->attr_words - at - 1u)
            return ERR_DATA_CORRUPT;
        uint32_t error = value_check(table, req, id, value, size, use);
        if (error != 0) return error;
        at += 1u + words_of(size);
        const struct tup_column *column = &table->columns[id];
        if (column->in_key) continue; /* Its value comes from the KEY section. */
        column_seen(attr, column, id, value, size);
    }
    return use == ATTR_INSERT ? complete_row(attr, table, req) : 0;
}

const uint8_t *tup_var_value(const uint8_t *part, uint32_t part_size, uint32_t index,
                             uint32_t *size)
{
    uint16_t first;
    uint16_t from;
    uint16_t to = (uint16_t)part_size;
    *size = 0;
    if (part_size == 0) return NULL;
    memcpy(&first, part, sizeof first);
    if (2u * index >= first) return NULL; /* The part ends before. */
    memcpy(&from, part + 2u * index, sizeof from);
    if (2u * index + 2u < first) memcpy(&to, part + 2u * index + 2u, sizeof to);
    *size = (uint32_t)to - from;
    return to == from ? NULL : part + from;
}

/* The value of a variable column as the parsed ones make it of `base`. */
static const uint8_t *new_value(const struct tup *tup, const struct tup_column *column, uint32_t id,
                                const uint8_t *base, uint32_t base_size, uint32_t *size)
{
    if (!seen(&tup->attr, id)) return tup_var_value(base, base_size, column->var_index, size);
    *size = tup->attr.var_size[column->var_index];
    return tup->attr.var_at[column->var_index];
}

uint32_t tup_attr_var_size(const struct tup *tup, const struct tup_table *table,
                           const uint8_t *base, uint32_t base_size)
{
    uint32_t total = 0;
    uint32_t count = 0;
    for (uint32_t id = 0; id < table->column_count; id++) {
        const struct tup_column *column = &table->columns[id];
        uint32_t size;
        if (column->kind != COLUMN_KIND_VAR) continue;
        new_value(tup, column, id, base, base_size, &size);
        total += size;
        if (size != 0) count = column->var_index + 1u;
    }
    return total + 2u * count;
}

void tup_attr_var_build(const struct tup *tup, const struct tup_table *table, const uint8_t *base,
                        uint32_t base_size, uint8_t *to, uint32_t to_size)
{
    uint32_t values = 0; /* Bytes of all values. */
    uint32_t end = to_size;
    for (uint32_t id = table->column_count; id-- > 0;) { /* The last values stand at the end. */
        const struct tup_column *column = &table->columns[id];
        uint32_t size;
        if (column->kind != COLUMN_KIND_VAR) continue;
        const uint8_t *value = new_value(tup, column, id, base, base_size, &size);
        if (size == 0 && values == 0) continue; /* Nothing comes behind it. */
        end -= size;
        values += size;
        uint16_t offset = (uint16_t)end;
        if (size > 0) memcpy(to + end, value, size);
        memcpy(to + 2u * column->var_index, &offset, sizeof offset);
    }
}

void tup_attr_apply(const struct tup *tup, const struct tup_table *table, uint8_t *image)
{
    const struct tup_attr *attr = &tup->attr;
    for (uint32_t at = 0; at < attr->size;) {
        const struct tup_column *column = &table->columns[attr_column(attr->words[at])];
        uint32_t size = attr_size(attr->words[at]);
        const uint32_t *value = attr->words + at + 1u;
        at += 1u + words_of(size);
        if (column->in_key) continue;
        if (size == 0) {
            image[column->null_byte] |= column->null_mask;
            if (column->kind != COLUMN_KIND_VAR) memset(image + column->offset, 0, column->size);
            continue;
        }
        if (column->nullable) image[column->null_byte] &= (uint8_t)~column->null_mask;
        switch ((enum column_kind)column->kind) {
        case COLUMN_KIND_4:
            memcpy(image + column->offset, value, 4);
            break;
        case COLUMN_KIND_8:
            memcpy(image + column->offset, value, 8);
            break;
        case COLUMN_KIND_FIXED:
            memcpy(image + column->offset, value, column->size);
            break;
        case COLUMN_KIND_VAR:
            break; /* Stands in the variable part. */
        }
    }
}
