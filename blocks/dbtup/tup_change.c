/* tup_change.c -- insert, update, write, delete: prepared completely, or not at all. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every operation first checks, then gets what can fail (change record, copy, slot, variable part,
 * index element, lock) and only then changes anything that would have to be undone by more than
 * giving that back.
 */
#include "blocks/dbtup/tup_indexes_state.h"
#include "blocks/dbtup/tup_state.h"
#include "values/errors.h"

static void change_release(struct tup *tup, struct tup_frag *frag, struct tup_change *change)
{
    if (change->has_copy && frag->table->row_size > CHANGE_INLINE)
        tup_heap_release(&tup->copies, frag->table->row_size, change->copy);
    frag->changes--;
    pool_release(&tup->changes, change);
}

static struct tup_change *change_create(struct tup *tup, const struct tup_change_req *req,
                                        uint32_t existed)
{
    struct tup_change *change = pool_seize(&tup->changes);
    if (change == NULL) return NULL;
    change->transid1 = req->transid1;
    change->transid2 = req->transid2;
    change->frag = req->frag->record.ref;
    change->row = req->row;
    change->hash = req->hash;
    change->existed = change->exists = existed != 0;
    req->frag->changes++;
    return change;
}

/* The transaction's change of the row so far, or NULL. It holds the row's lock, so nobody else has
 * one. */
static struct tup_change *change_find(const struct tup *tup, const struct tup_change_req *req,
                                      const struct tup_row *row)
{
    ndbrequire((row->bits & ROW_USED) != 0);
    if ((row->bits & ROW_CHANGED) == 0) return NULL;
    struct tup_change *change = change_get(tup, row->gci);
    ndbrequire(change->transid1 == req->transid1); /* I-TUP-2 */
    ndbrequire(change->transid2 == req->transid2); /* I-TUP-2 */
    ndbrequire(!change->done);
    return change;
}

/* Gives the change its copy of the committed row, if it needs one and has none. False without
 * memory. */
static bool copy_make(struct tup *tup, const struct tup_table *table, struct tup_change *change,
                      const struct tup_row *row)
{
    if (!change->existed || change->has_copy) return true;
    if (table->row_size > CHANGE_INLINE &&
        tup_heap_seize(&tup->copies, table->row_size, &change->copy) == NULL)
        return false;
    change->has_copy = 1;
    memcpy(tup_copy_of(tup, table, change), row, table->data_size);
    return true;
}

static void key_apply(const struct tup_table *table, const uint32_t *key, uint32_t key_words,
                      uint8_t *image)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < table->key_count; i++) {
        const struct tup_column *column = &table->columns[table->key_columns[i]];
        uint32_t size = column_value_size(&column->format, key + at, (key_words - at) * 4u);
        if (column->kind != COLUMN_KIND_VAR) memcpy(image + column->offset, key + at, column->size);
        at += words_of(size);
    }
}

/* A new row's image from defaults, key and values; its variable part is `var`. */
void tup_image_fill(const struct tup *tup, const struct tup_frag *frag,
                    const struct tup_change_req *req, uint8_t *image, uint32_t var)
{
    const struct tup_table *table = frag->table;
    memcpy(image + ROW_HEAD, table->default_row + ROW_HEAD, table->data_size - ROW_HEAD);
    key_apply(table, req->key, req->key_words, image);
    tup_attr_apply(tup, table, image);
    image_var_set(table, image, var);
    if (var == 0) return;
    uint32_t size;
    uint8_t *part = tup_var_get(frag, var, &size);
    tup_attr_var_build(tup, table, table->default_var, table->default_var_size, part, size);
}

/* Room for a new row's variable part. False without memory. */
bool tup_new_var_seize(const struct tup *tup, struct tup_frag *frag, uint32_t *var)
{
    const struct tup_table *table = frag->table;
    *var = 0;
    uint32_t size = tup_attr_var_size(tup, table, table->default_var, table->default_var_size);
    if (size == 0) return true;
    *var = tup_var_seize(frag, size);
    return *var != 0;
}

static uint32_t insert_new(struct tup *tup, const struct tup_change_req *req,
                           struct tup_changed *changed)
{
    struct tup_frag *frag = req->frag;
    uint32_t row_id;
    uint32_t var;
    uint32_t error = tup_attr_parse(tup, frag, req, ATTR_INSERT);
    if (error != 0) return error;
    struct tup_change *change = change_create(tup, req, 0);
    if (change == NULL) return ERR_LQH_OPERATIONS;
    error = tup_slot_take(frag, req->wanted, &row_id);
    if (error != 0) goto no_slot;
    struct tup_row *row = row_at(frag, row_id);
    row->bits = ROW_USED | ROW_CHANGED | ROW_INSERTED;
    row->gci = change->record.ref;
    error = ERR_NO_MEMORY_DATA;
    if (!tup_new_var_seize(tup, frag, &var)) goto no_var;
    error = ERR_INDEX_MEMORY_ORDERED;
    if (!tup_index_reserve(tup, frag)) goto no_index;
    tup_image_fill(tup, frag, req, (uint8_t *)row, var);
    error = acc_insert(tup->acc, frag->index, req->hash, row_id);
    if (error != 0) goto no_index;
    const struct acc_lock_req lock_req = {.transid1 = req->transid1,
                                          .transid2 = req->transid2,
                                          .op = req->op,
                                          .mode = LOCK_EXCLUSIVE,
                                          .nowait = true};
    error = acc_lock(tup->acc, frag->index, row_id, &lock_req, &changed->lock);
    if (error != 0) goto no_lock;
    change->row = row_id;
    change->exists = 1;
    change->operations = 1;
    changed->row = row_id;
    changed->change = change->record.ref;
    tup_index_add(tup, frag, row_id);
    return 0;

no_lock:
    acc_remove(tup->acc, frag->index, req->hash, row_id);
no_index:
    tup_index_trim(tup, frag);
    if (var != 0) tup_var_release(frag, var);
no_var:
    tup_slot_free(frag, row_id);
no_slot:
    change_release(tup, frag, change);
    return error;
}

/* Sets the variable part of the version being made; the one it had goes, unless it is the committed
 * one. */
static void var_replace(struct tup_frag *frag, const struct tup_change *change,
                        const struct tup_row *row, uint32_t old, uint32_t var, uint8_t *image)
{
    const struct tup_table *table = frag->table;
    uint32_t committed = change->existed ? image_var(table, (const uint8_t *)row) : 0;
    image_var_set(table, image, var);
    if (old != 0 && old != committed && old != var) tup_var_release(frag, old);
}

/* An insert after a delete in one transaction. */
static uint32_t insert_again(struct tup *tup, const struct tup_change_req *req,
                             struct tup_change *change, struct tup_row *row)
{
    struct tup_frag *frag = req->frag;
    const struct tup_table *table = frag->table;
    uint32_t var;
    uint32_t error = tup_attr_parse(tup, frag, req, ATTR_INSERT);
    if (error != 0) return error;
    if (!tup_new_var_seize(tup, frag, &var)) return ERR_NO_MEMORY_DATA;
    if (!copy_make(tup, table, change, row)) {
        if (var != 0) tup_var_release(frag, var);
        return ERR_COPY_MEMORY;
    }
    if (!tup_index_reserve(tup, frag)) {
        if (var != 0) tup_var_release(frag, var);
        return ERR_INDEX_MEMORY_ORDERED;
    }
    tup_index_leave(tup, frag, change);
    uint8_t *image = change->has_copy ? tup_copy_of(tup, table, change) : (uint8_t *)row;
    var_replace(frag, change, row, image_var(table, image), var, image);
    tup_image_fill(tup, frag, req, image, var);
    change->exists = 1;
    tup_index_enter(tup, frag, change);
    return 0;
}

static void changed_set(const struct tup_change_req *req, struct tup_change *change,
                        struct tup_changed *changed)
{
    change->operations++;
    changed->row = req->row;
    changed->change = change->record.ref;
}

uint32_t tup_insert(struct tup *tup, const struct tup_change_req *req, struct tup_changed *changed)
{
    *changed = (struct tup_changed){.row = ROW_NONE};
    if (req->row == ROW_NONE) {
        jam();
        return insert_new(tup, req, changed);
    }
    struct tup_row *row = row_at(req->frag, req->row);
    struct tup_change *change = change_find(tup, req, row);
    if (change == NULL || change->exists) return ERR_ROW_EXISTS;
    jam();
    uint32_t error = insert_again(tup, req, change, row);
    if (error == 0) changed_set(req, change, changed);
    return error;
}

/* New variable part for an update of `image`. False without memory. */
bool tup_update_var_seize(const struct tup *tup, struct tup_frag *frag, const uint8_t *image,
                          uint32_t *var)
{
    const struct tup_table *table = frag->table;
    uint32_t base_size = 0;
    uint32_t base_ref = image_var(table, image);
    const uint8_t *base = base_ref != 0 ? tup_var_get(frag, base_ref, &base_size) : NULL;
    uint32_t size = tup_attr_var_size(tup, table, base, base_size);
    *var = 0;
    if (size == 0) return true;
    *var = tup_var_seize(frag, size);
    if (*var == 0) return false;
    if (base_ref != 0) base = tup_var_get(frag, base_ref, &base_size); /* It may have moved. */
    tup_attr_var_build(tup, table, base, base_size, tup_var_get(frag, *var, &size), size);
    return true;
}

static uint32_t update(struct tup *tup, const struct tup_change_req *req, enum attr_use use,
                       struct tup_changed *changed)
{
    struct tup_frag *frag = req->frag;
    const struct tup_table *table = frag->table;
    struct tup_row *row = row_at(frag, req->row);
    struct tup_change *change = change_find(tup, req, row);
    bool first = change == NULL;
    uint32_t var = 0;
    if (change != NULL && !change->exists) return ERR_ROW_NOT_FOUND;
    uint32_t error = tup_attr_parse(tup, frag, req, use);
    if (error != 0) return error;
    if (change == NULL) {
        if (tup_checksum(frag, row) != row->checksum) return ERR_CHECKSUM;
        change = change_create(tup, req, 1);
        if (change == NULL) return ERR_LQH_OPERATIONS;
        change->gci = row->gci;
    }
    error = ERR_COPY_MEMORY;
    if (!copy_make(tup, table, change, row)) goto out;
    uint8_t *image = change->has_copy ? tup_copy_of(tup, table, change) : (uint8_t *)row;
    bool keys = frag->ordered != NULL && tup_index_touched(tup, table);
    error = ERR_NO_MEMORY_DATA;
    if (tup->attr.var_seen && !tup_update_var_seize(tup, frag, image, &var)) goto out;
    error = ERR_INDEX_MEMORY_ORDERED;
    if (keys && !tup_index_reserve(tup, frag)) goto out;
    if (keys) tup_index_leave(tup, frag, change);
    if (tup->attr.var_seen) var_replace(frag, change, row, image_var(table, image), var, image);
    tup_attr_apply(tup, table, image);
    row->bits |= ROW_CHANGED;
    row->gci = change->record.ref;
    if (keys) tup_index_enter(tup, frag, change);
    changed_set(req, change, changed);
    return 0;

out:
    jam();
    if (var != 0) tup_var_release(frag, var);
    if (first) change_release(tup, frag, change);
    return error;
}

uint32_t tup_update(struct tup *tup, const struct tup_change_req *req, struct tup_changed *changed)
{
    *changed = (struct tup_changed){.row = ROW_NONE};
    if (req->row == ROW_NONE) return ERR_ROW_NOT_FOUND;
    return update(tup, req, ATTR_UPDATE, changed);
}

uint32_t tup_write(struct tup *tup, const struct tup_change_req *req, struct tup_changed *changed)
{
    *changed = (struct tup_changed){.row = ROW_NONE};
    const struct tup_change *change =
        req->row != ROW_NONE ? change_find(tup, req, row_at(req->frag, req->row)) : NULL;
    if (req->row != ROW_NONE && (change == NULL || change->exists))
        return update(tup, req, ATTR_WRITE, changed);
    uint32_t error = tup_insert(tup, req, changed);
    changed->inserted = error == 0;
    return error;
}

uint32_t tup_delete(struct tup *tup, const struct tup_change_req *req, struct tup_changed *changed)
{
    *changed = (struct tup_changed){.row = ROW_NONE};
    if (req->row == ROW_NONE) return ERR_ROW_NOT_FOUND;
    struct tup_row *row = row_at(req->frag, req->row);
    struct tup_change *change = change_find(tup, req, row);
    if (change != NULL && !change->exists) return ERR_ROW_NOT_FOUND;
    if (change == NULL) {
        jam();
        change = change_create(tup, req, 1);
        if (change == NULL) return ERR_LQH_OPERATIONS;
        change->gci = row->gci;
        row->bits |= ROW_CHANGED;
        row->gci = change->record.ref;
    }
    change->exists = 0;
    changed_set(req, change, changed);
    return 0;
}

/* --- Commit and abort. --- */

/* The variable part of the copy, if it is another one than the row's. */
static void copy_var_release(const struct tup *tup, struct tup_frag *frag,
                             const struct tup_change *change, const struct tup_row *row)
{
    const struct tup_table *table = frag->table;
    if (!change->has_copy) return;
    uint32_t var = image_var(table, tup_copy_of(tup, table, change));
    if (var != 0 && var != image_var(table, (const uint8_t *)row)) tup_var_release(frag, var);
}

static void row_remove(struct tup *tup, struct tup_frag *frag, const struct tup_change *change,
                       struct tup_row *row)
{
    tup_index_abort(tup, frag, change);
    tup_index_remove(tup, frag, change->row);
    acc_remove(tup->acc, frag->index, change->hash, change->row);
    acc_row_gone(tup->acc, frag->index, change->row);
    copy_var_release(tup, frag, change, row);
    uint32_t var = image_var(frag->table, (const uint8_t *)row);
    if (var != 0) tup_var_release(frag, var);
    tup_slot_free(frag, change->row);
}

/* The copy becomes the committed version. */
static void copy_install(const struct tup *tup, struct tup_frag *frag,
                         const struct tup_change *change, struct tup_row *row)
{
    const struct tup_table *table = frag->table;
    const uint8_t *copy = tup_copy_of(tup, table, change);
    uint32_t var = image_var(table, (const uint8_t *)row);
    if (var != 0 && var != image_var(table, copy)) tup_var_release(frag, var);
    memcpy((uint8_t *)row + ROW_HEAD, copy + ROW_HEAD, table->data_size - ROW_HEAD);
}

void tup_row_settle(struct tup_frag *frag, struct tup_row *row, uint32_t gci)
{
    if (gci < frag->gci_low) frag->gci_low = gci;
    row->bits = ROW_USED;
    row->gci = gci;
    row->checksum = tup_checksum(frag, row);
}

static void operation_done(struct tup *tup, struct tup_frag *frag, struct tup_change *change)
{
    change->done = 1;
    if (--change->operations == 0) change_release(tup, frag, change);
}

void tup_commit(struct tup *tup, uint32_t ref, uint32_t gci)
{
    struct tup_change *change = change_get(tup, ref);
    struct tup_frag *frag = tup_frag_get(tup, change->frag);
    if (!change->done) {
        struct tup_row *row = row_at(frag, change->row);
        tup_mark_row(frag, change->row);
        frag->commits++;
        if (gci > frag->gci_newest) frag->gci_newest = gci;
        if (change->exists) {
            jam();
            if (change->has_copy) {
                tup_index_commit(tup, frag, change);
                copy_install(tup, frag, change, row);
            }
            frag->rows += !change->existed;
            tup_row_settle(frag, row, gci);
        } else {
            jam();
            frag->rows -= change->existed;
            row_remove(tup, frag, change, row);
        }
    }
    operation_done(tup, frag, change);
}

void tup_abort(struct tup *tup, uint32_t ref)
{
    struct tup_change *change = change_get(tup, ref);
    struct tup_frag *frag = tup_frag_get(tup, change->frag);
    if (!change->done) {
        struct tup_row *row = row_at(frag, change->row);
        if (change->existed) {
            jam();
            tup_index_abort(tup, frag, change);
            copy_var_release(tup, frag, change, row);
            row->bits = ROW_USED;
            row->gci = change->gci;
        } else {
            jam();
            row_remove(tup, frag, change, row);
        }
    }
    operation_done(tup, frag, change);
}

enum tup_change_kind tup_change_kind_of(struct tup *tup, uint32_t ref)
{
    const struct tup_change *change = change_get(tup, ref);
    if (change->existed) return change->exists ? TUP_UPDATED : TUP_DELETED;
    return change->exists ? TUP_INSERTED : TUP_NOTHING;
}

enum tup_change_kind tup_change_pairs(struct tup *tup, uint32_t ref, uint32_t *out,
                                      uint32_t out_max, struct tup_change_pairs *pairs)
{
    const struct tup_change *change = change_get(tup, ref);
    const struct tup_frag *frag = tup_frag_get(tup, change->frag);
    const uint8_t *row = (const uint8_t *)row_at(frag, change->row);
    enum tup_change_kind kind = change->done ? TUP_NOTHING : tup_change_kind_of(tup, ref);
    *pairs = (struct tup_change_pairs){.row = change->row, .hash = change->hash};
    if (kind == TUP_UPDATED) {
        const uint8_t *copy = tup_copy_of(tup, frag->table, change);
        if (tup_pairs_changed(frag, row, copy, out, out_max, &pairs->words)) return kind;
        jam(); /* Deleted and inserted with other bytes of an equal key: a whole new row in the old
                  place. */
        row = copy;
        kind = TUP_INSERTED;
    }
    if (kind == TUP_INSERTED) tup_pairs_all(frag, row, out, out_max, &pairs->words);
    return kind;
}

uint32_t tup_changes_open(const struct tup *tup)
{
    return tup->changes.in_use;
}
