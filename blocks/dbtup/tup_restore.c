/* tup_restore.c -- puts, changes and removes rows by row id: for checkpoint files and the redo
 * log's replay. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtup/tup_indexes_state.h"
#include "blocks/dbtup/tup_restore_state.h"
#include "blocks/dbtup/tup_state.h"
#include "values/errors.h"
#include "values/key.h"

/* Collects the key columns out of all columns in table order, as a KEY section. */
uint32_t tup_key_collect(const struct tup_table *table, const struct tup_restore_req *req,
                         struct tup_restore_key *key)
{
    uint32_t found = 0;
    key->words = 0;
    for (uint32_t at = 0; at < req->attr_words && found < table->key_count;) {
        uint32_t words = words_of(attr_size(req->attr[at]));
        if (words > req->attr_words - at - 1u) return ERR_DATA_CORRUPT;
        if (attr_column(req->attr[at]) == table->key_columns[found]) {
            if (words > TUP_KEY_WORDS_MAX - key->words) return ERR_DATA_CORRUPT;
            memcpy(key->word + key->words, req->attr + at + 1u, (size_t)words * 4u);
            key->words += words;
            found++;
        }
        at += 1u + words;
    }
    return found == table->key_count ? 0 : ERR_DATA_CORRUPT;
}

struct tup_change_req tup_restore_change(const struct tup_restore_req *req)
{
    return (struct tup_change_req){.frag = req->frag,
                                   .row = req->row,
                                   .wanted = req->row,
                                   .attr = req->attr,
                                   .attr_words = req->attr_words};
}

/* The row in this place, or NULL. Any number is safe. */
static struct tup_row *row_find(const struct tup_frag *frag, uint32_t row_id)
{
    const struct tup_table *table = frag->table;
    uint32_t slot = row_id & ((1u << table->slot_bits) - 1u);
    void *page = page_dir_find(&frag->fixed, row_id >> table->slot_bits);
    if (page == NULL || slot >= table->slots) return NULL;
    struct tup_row *row = slot_at(table, page, slot);
    if (row->bits == 0 || row->bits == ROW_WANTED) return NULL;
    ndbrequire(row->bits == ROW_USED); /* Nobody else is at work here. */
    ndbrequire(row->lock == REF_NONE);
    return row;
}

uint32_t tup_row_hash(struct tup *tup, struct tup_frag *frag, const struct table_def *key_def,
                      uint32_t row_id)
{
    struct tup_restore_key key;
    const struct tup_read read = {.frag = frag, .row = row_id};
    key.words = tup_read_key(tup, &read, key.word, TUP_KEY_WORDS_MAX);
    ndbrequire(key.words > 0);
    return (uint32_t)key_hash(key_def, key.word, key.words);
}

void tup_row_drop(struct tup *tup, struct tup_frag *frag, uint32_t row_id, uint32_t hash)
{
    const struct tup_row *row = row_at(frag, row_id);
    uint32_t var = image_var(frag->table, (const uint8_t *)row);
    acc_remove(tup->acc, frag->index, hash, row_id);
    tup_index_remove(tup, frag, row_id);
    if (var != 0) tup_var_release(frag, var);
    tup_mark_row(frag, row_id);
    tup_slot_free(frag, row_id);
    frag->rows--;
}

static void row_drop(struct tup *tup, const struct tup_restore_req *req)
{
    tup_row_drop(tup, req->frag, req->row, tup_row_hash(tup, req->frag, req->key_def, req->row));
}

static uint32_t row_replace(struct tup *tup, const struct tup_restore_req *req,
                            const struct tup_change_req *parsed, struct tup_row *row)
{
    struct tup_frag *frag = req->frag;
    uint32_t var;
    uint32_t old = image_var(frag->table, (const uint8_t *)row);
    if (!tup_new_var_seize(tup, frag, &var)) return ERR_NO_MEMORY_DATA;
    if (!tup_index_reserve(tup, frag)) {
        if (var != 0) tup_var_release(frag, var);
        return ERR_INDEX_MEMORY_ORDERED;
    }
    tup_index_remove(tup, frag, req->row);
    if (old != 0) tup_var_release(frag, old);
    tup_image_fill(tup, frag, parsed, (uint8_t *)row, var);
    tup_row_settle(frag, row, req->gci);
    tup_index_add(tup, frag, req->row);
    tup_mark_row(frag, req->row);
    return 0;
}

uint32_t tup_row_add(struct tup *tup, const struct tup_restore_req *req,
                     const struct tup_change_req *parsed, uint32_t hash)
{
    struct tup_frag *frag = req->frag;
    uint32_t row_id;
    uint32_t var;
    uint32_t error = 0;
    if (tup_slot_unwant(frag, req->row))
        row_id = req->row;
    else
        error = tup_slot_take(frag, req->row, &row_id);
    if (error != 0) return error;
    struct tup_row *row = row_at(frag, row_id);
    row->bits = ROW_USED;
    if (!tup_new_var_seize(tup, frag, &var)) {
        tup_slot_free(frag, row_id);
        return ERR_NO_MEMORY_DATA;
    }
    error = tup_index_reserve(tup, frag) ? acc_insert(tup->acc, frag->index, hash, row_id)
                                         : ERR_INDEX_MEMORY_ORDERED;
    if (error != 0) {
        jam();
        tup_index_trim(tup, frag);
        if (var != 0) tup_var_release(frag, var);
        tup_slot_free(frag, row_id);
        return error;
    }
    tup_image_fill(tup, frag, parsed, (uint8_t *)row, var);
    tup_row_settle(frag, row, req->gci);
    tup_index_add(tup, frag, req->row);
    tup_mark_row(frag, req->row);
    frag->rows++;
    return 0;
}

void tup_restore_ahead(struct tup_restore_req *req)
{
    struct tup_restore_key key;
    req->hashed = tup_key_collect(req->frag->table, req, &key) == 0;
    if (!req->hashed) return;
    req->hash = (uint32_t)key_hash(req->key_def, key.word, key.words);
    acc_prefetch(req->frag->index, req->hash);
}

uint32_t tup_restore_put(struct tup *tup, const struct tup_restore_req *req)
{
    struct tup_restore_key key;
    uint32_t error = tup_key_collect(req->frag->table, req, &key);
    if (error != 0) return error;
    struct tup_change_req parsed = tup_restore_change(req);
    parsed.key = key.word;
    parsed.key_words = key.words;
    error = tup_attr_parse(tup, req->frag, &parsed, ATTR_INSERT);
    if (error != 0) return error;
    struct tup_row *row = row_find(req->frag, req->row);
    if (row != NULL && tup_key_equal(req->frag, req->row, key.word, key.words)) {
        jam();
        return row_replace(tup, req, &parsed, row);
    }
    uint32_t hash = req->hashed ? req->hash : (uint32_t)key_hash(req->key_def, key.word, key.words);
    if (row != NULL) {
        jam(); /* The row is of a later time than the log that is being replayed. */
        row_drop(tup, req);
    }
    return tup_row_add(tup, req, &parsed, hash);
}

uint32_t tup_restore_update(struct tup *tup, const struct tup_restore_req *req)
{
    struct tup_frag *frag = req->frag;
    const struct tup_change_req parsed = tup_restore_change(req);
    struct tup_row *row = row_find(frag, req->row);
    if (row == NULL) return 0;
    uint32_t error = tup_attr_parse(tup, frag, &parsed, ATTR_UPDATE);
    if (error != 0) return error;
    uint8_t *image = (uint8_t *)row;
    bool keys = frag->ordered != NULL && tup_index_touched(tup, frag->table);
    uint32_t var = 0;
    if (tup->attr.var_seen && !tup_update_var_seize(tup, frag, image, &var))
        return ERR_NO_MEMORY_DATA;
    if (keys && !tup_index_reserve(tup, frag)) {
        if (var != 0) tup_var_release(frag, var);
        return ERR_INDEX_MEMORY_ORDERED;
    }
    if (keys) tup_index_remove(tup, frag, req->row);
    if (tup->attr.var_seen) {
        uint32_t old = image_var(frag->table, image);
        image_var_set(frag->table, image, var);
        if (old != 0) tup_var_release(frag, old);
    }
    tup_attr_apply(tup, frag->table, image);
    tup_row_settle(frag, row, req->gci);
    if (keys) tup_index_add(tup, frag, req->row);
    tup_mark_row(frag, req->row);
    return 0;
}

uint32_t tup_restore_delete(struct tup *tup, const struct tup_restore_req *req)
{
    if (row_find(req->frag, req->row) != NULL) row_drop(tup, req);
    return 0;
}

uint32_t tup_change_words_max(const struct tup_frag *frag, uint32_t key_words, uint32_t attr_words)
{
    const struct tup_table *table = frag->table;
    uint32_t defaults = table->data_size / 4u + table->default_var_size / 4u;
    uint32_t words = key_words + attr_words + 2u * table->column_count + defaults;
    return words < TUP_ROW_WORDS_MAX ? words : TUP_ROW_WORDS_MAX;
}
