/* tc_unique.c -- keeps the entries of unique indexes: operations on the index's table, in the same
 * transaction. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An entry is a row whose primary key is the index's key and whose only other column is the KEY
 * section of the row in the base table. Its operations are ones like the client's, so commit, abort
 * and take-over know nothing of them. See docs/protocols/unique_index.md.
 */
#include <string.h>
#include "blocks/dbtc/tc_state.h"

#define KEY_WORDS_MAX 1088u /* TABLE_KEY_BYTES_MAX and every column's padding. */

struct entry {
    const struct tc_op *op; /* The client's. */
    uint32_t table_id;
    uint32_t version;
    struct section key;
    struct section attr;
};

static uint32_t change_entry(struct tc *tc, struct tc_trans *trans, const struct entry *entry,
                             enum key_operation operation)
{
    struct tckeyreq req = {.api_op = entry->op->api_op,
                           .table_id = entry->table_id,
                           .schema_version = entry->version,
                           .request_info = key_request_info(operation, LOCK_EXCLUSIVE, 0),
                           .transid1 = trans->transid1,
                           .transid2 = trans->transid2};
    struct signal sig = {.gsn = GSN_TCKEYREQ,
                         .sender = tc_connect_get(tc, trans->connect)->owner,
                         .words = sizeof req / 4u,
                         .section_count = entry->attr.size > 0 ? 2 : 1,
                         .payload = (const uint32_t *)(const void *)&req,
                         .section = {entry->key, entry->attr}};
    struct tc_op *op;
    return tc_start_op(tc, trans, &sig, OP_ENTRY, &op);
}

/* The attribute pair that an entry gets: its base row's KEY section, as a variable value. Returns
 * the words. */
static uint32_t base_key_pair(uint32_t column, const uint32_t *key, uint32_t key_words,
                              uint32_t *out)
{
    uint32_t bytes = key_words * 4u;
    uint32_t words = words_of(2u + bytes);
    uint8_t *value = (uint8_t *)(out + 1);
    out[0] = attr_header(column, 2u + bytes);
    out[words] = 0; /* Padding. */
    value[0] = (uint8_t)bytes;
    value[1] = (uint8_t)(bytes >> 8);
    memcpy(value + 2, key, bytes);
    return 1u + words;
}

/* The old entry goes, the new one comes. Another transaction that has the new key may still give it
 * up: the insert waits for its lock. */
static uint32_t change_entries(struct tc *tc, struct tc_trans *trans, const struct tc_op *op,
                               const struct signal *sig)
{
    const struct fire_trig_ord *ord = SIG_PAYLOAD(sig, fire_trig_ord);
    const struct tc_table *base = tc_table_get(tc, op->table_id);
    const uint32_t *words = sig->section[0].words;
    uint32_t pair[KEY_WORDS_MAX + 2u];
    uint32_t error = 0;
    struct entry entry = {.op = op,
                          .table_id = base->unique[ord->index].table_id,
                          .version = base->unique[ord->index].version,
                          .key = {words, ord->old_words}};
    const struct tc_table *index = tc_table_usable(tc, entry.table_id, entry.version, &error);
    if (index == NULL) return error;
    if (ord->old_words > 0) error = change_entry(tc, trans, &entry, OP_DELETE);
    if (error != 0 || ord->new_words == 0) return error;
    words += ord->old_words;
    entry.key = (struct section){words, ord->new_words};
    entry.attr.words = pair;
    entry.attr.size = base_key_pair(tc_key_columns(index), words + ord->new_words,
                                    sig->section[0].size - ord->old_words - ord->new_words, pair);
    return change_entry(tc, trans, &entry, OP_INSERT);
}

static bool well_formed(const struct tc *tc, const struct tc_op *op, const struct signal *sig)
{
    const struct fire_trig_ord *ord = SIG_PAYLOAD(sig, fire_trig_ord);
    uint32_t size = sig->section[0].size;
    if (ord->index >= tc->table[op->table_id]->unique_count) return false;
    if (ord->old_words > KEY_WORDS_MAX || ord->new_words > KEY_WORDS_MAX) return false;
    if (ord->old_words == 0 && ord->new_words == 0) return false;
    return ord->old_words + ord->new_words < size &&
           size - ord->old_words - ord->new_words <= KEY_WORDS_MAX;
}

uint32_t tc_fires_max(const struct tc *tc, const struct tc_op *op)
{
    const struct tc_table *table = tc->table[op->table_id];
    return (op->flags & OP_COPY) != 0 ? 0 : table->unique_count + tc_has_copies(table);
}

struct tc_op *tc_fired_op(struct tc *tc, uint32_t ref, uint32_t transid1, uint32_t transid2)
{
    struct tc_op *op = pool_find(&tc->operations, ref);
    const struct tc_trans *trans = op == NULL ? NULL : tc_trans_get(tc, op->trans);
    if (trans == NULL || trans->transid1 != transid1 || trans->transid2 != transid2 ||
        trans->state != TRANS_STARTED || tc_broken(tc, op)) {
        jam(); /* It is being aborted, or has been. */
        return NULL;
    }
    return op;
}

/* Only the primary sends them: what was announced, or before that at most what there can be. */
static bool is_due(const struct tc *tc, const struct tc_op *op, uint32_t sender)
{
    if (ref_node(sender) != replica_node(op->nodes, 0)) return false;
    if (op->state == OP_PREPARED) return op->fires > 0;
    return op->fires > -(int32_t)tc_fires_max(tc, op);
}

bool tc_fire_take(struct tc *tc, struct tc_op *op, uint32_t sender)
{
    struct tc_trans *trans = tc_trans_get(tc, op->trans);
    if (!is_due(tc, op, sender)) {
        jam();
        tc_protocol_error(tc, sender, "FIRE_TRIG_ORD or FIRE_COPY_ORD that is not due");
        return false;
    }
    op->fires--;
    trans->fires--;
    trans->active_ms = now_ms(&tc->block);
    return true;
}

/* From the operation's primary, before the last replica's LQHKEYCONF or behind it. */
void tc_exec_FIRE_TRIG_ORD(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct fire_trig_ord *ord = SIG_PAYLOAD(sig, fire_trig_ord);
    struct tc_op *op = tc_fired_op(tc, ord->tc_op, ord->transid1, ord->transid2);
    if (op == NULL) return;
    if (!well_formed(tc, op, sig)) {
        jam();
        tc_protocol_error(tc, sig->sender, "FIRE_TRIG_ORD of an index that is not there");
        return;
    }
    if (!tc_fire_take(tc, op, sig->sender)) return;
    struct tc_trans *trans = tc_trans_get(tc, op->trans);
    uint32_t error = change_entries(tc, trans, op, sig);
    jam_data(error);
    if (error != 0) tc_abort_begin(tc, trans, error, op->api_op);
}
