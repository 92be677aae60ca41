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
#include "blocks/dbtc/key/tc_abort.h"
#include "blocks/dbtc/key/tc_connect.h"
#include "blocks/dbtc/key/tc_read.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "blocks/dbtc/schema/tc_table.h"
#include "blocks/dbtc/unique/tc_unique.h"
#include "signals/lqhkey.h"
#include "values/attr.h"
#include "values/errors.h"
#include "values/program.h"

#define PROGRAM_AROUND 8u    /* Words of such a program without its constant: head and ends. */
#define KEY_WORDS_MAX  1088u /* Words of TABLE_KEY_BYTES_MAX and every column's padding. */

struct entry {
    const struct tc_op *op; /* The client's operation. */
    struct tc_table *index;
    struct section key;
    struct section attr;
};

static uint32_t change_entry(struct tc *tc, struct tc_trans *trans, const struct entry *entry,
                             uint32_t request_info, uint32_t flags)
{
    struct tckeyreq req = {.api_op = entry->op->api_op,
                           .table_id = entry->index->table_id,
                           .schema_version = entry->index->version,
                           .request_info = request_info,
                           .transid1 = trans->transid1,
                           .transid2 = trans->transid2};
    struct signal sig = {.gsn = GSN_TCKEYREQ,
                         .sender = tc_connect_get(tc, trans->connect)->owner,
                         .words = sizeof req / 4u,
                         .section_count = entry->attr.size > 0 ? 2 : 1,
                         .payload = (const uint32_t *)(const void *)&req,
                         .section = {entry->key, entry->attr}};
    struct tc_route route;
    struct tc_op *op;
    uint32_t error = tc_route_in(entry->index, &sig, &route);
    return error != 0 ? error : tc_start_routed(tc, trans, &sig, &route, OP_ENTRY | flags, &op);
}

/* The value of an entry's column: the KEY section of its base row, as a variable value. Returns its
 * bytes. */
static uint32_t base_key_value(const struct section *key, uint32_t *out)
{
    uint32_t bytes = key->size * 4u;
    uint8_t *value = (uint8_t *)out;
    out[words_of(2u + bytes) - 1u] = 0; /* Padding. */
    value[0] = (uint8_t)bytes;
    value[1] = (uint8_t)(bytes >> 8);
    memcpy(value + 2, key->words, bytes);
    return 2u + bytes;
}

/* The attribute pair that it gets; returns its words. */
static uint32_t base_key_pair(const struct entry *entry, const struct section *row, uint32_t *out)
{
    uint32_t bytes = base_key_value(row, out + 1);
    out[0] = attr_header(tc_key_columns(entry->index), bytes);
    return 1u + words_of(bytes);
}

static uint32_t insert_entry(struct tc *tc, struct tc_trans *trans, struct entry *entry,
                             const struct section *row)
{
    uint32_t pair[1u + KEY_WORDS_MAX + 1u];
    entry->attr = (struct section){pair, base_key_pair(entry, row, pair)};
    return change_entry(tc, trans, entry, key_request_info(OP_INSERT, LOCK_EXCLUSIVE, 0), 0);
}

/* A program that goes on if the entry is this row's, and else refuses as if there were none.
 * Returns its words. */
static uint32_t own_entry_program(const struct entry *entry, const struct section *row,
                                  uint32_t *program)
{
    uint32_t bytes = base_key_value(row, program + 4);
    uint32_t words = 4u + words_of(bytes) + 2u;
    program[0] = PROGRAM_VERSION;
    program[1] = program_head(PROGRAM_BRANCH_COLUMN, 0, 0, tc_key_columns(entry->index));
    program[2] = program_branch_word(words - 1u, PROGRAM_EQ, 0);
    program[3] = bytes;
    program[words - 2u] = program_head(PROGRAM_EXIT_REFUSE, 0, 0, ERR_ROW_NOT_FOUND);
    program[words - 1u] = program_head(PROGRAM_EXIT_OK, 0, 0, 0);
    return words;
}

/* A row that was there before the index: it may have its entry already, and if another one has it
 * that is a duplicate. */
static uint32_t fill_entry(struct tc *tc, struct tc_trans *trans, struct entry *entry,
                           const struct section *row)
{
    uint32_t attr[PROGRAM_AROUND + 2u * (KEY_WORDS_MAX + 1u) + 1u];
    attr[0] = own_entry_program(entry, row, attr + 2);
    attr[1] = 0; /* It reads nothing. */
    entry->attr = (struct section){attr, 2u + attr[0]};
    entry->attr.size += base_key_pair(entry, row, attr + entry->attr.size);
    jam();
    return change_entry(tc, trans, entry, key_request_info(OP_WRITE, LOCK_EXCLUSIVE, KEY_PROGRAM),
                        OP_FILL);
}

/*
 * An index that is being built: the entry may be missing, or be that of another row, which got this
 * key when nobody fired for it.
 */
static uint32_t delete_own_entry(struct tc *tc, struct tc_trans *trans, struct entry *entry,
                                 const struct section *row)
{
    uint32_t attr[PROGRAM_AROUND + KEY_WORDS_MAX + 1u];
    attr[0] = own_entry_program(entry, row, attr + 2);
    attr[1] = 0; /* It reads nothing. */
    entry->attr = (struct section){attr, 2u + attr[0]};
    jam();
    return change_entry(tc, trans, entry, key_request_info(OP_DELETE, LOCK_EXCLUSIVE, KEY_PROGRAM),
                        OP_CAREFUL);
}

static uint32_t delete_entry(struct tc *tc, struct tc_trans *trans, struct entry *entry,
                             const struct tc_unique *unique, const struct section *row)
{
    entry->attr = (struct section){NULL, 0};
    if (unique->entries == ENTRIES_CAREFUL) return delete_own_entry(tc, trans, entry, row);
    return change_entry(tc, trans, entry, key_request_info(OP_DELETE, LOCK_EXCLUSIVE, 0), 0);
}

/* The old entry goes, the new one comes. Another transaction that has the new key may still give it
 * up: the insert waits for its lock. */
static uint32_t change_entries(struct tc *tc, struct tc_trans *trans, const struct tc_op *op,
                               const struct signal *sig)
{
    const struct fire_trig_ord *ord = SIG_PAYLOAD(sig, fire_trig_ord);
    const struct tc_unique *unique = tc_unique_find(tc_table_get(tc, op->table_id), ord->index_id);
    const struct section *all = &sig->section[0];
    uint32_t keys = ord->old_words + ord->new_words;
    const struct section row = {all->words + keys, all->size - keys};
    uint32_t error = 0;
    struct entry entry = {.op = op,
                          .index = tc_entry_table(tc, unique->table_id, unique->version, &error)};
    if (entry.index == NULL) return error;
    entry.key = (struct section){all->words, ord->old_words};
    if (ord->old_words > 0) error = delete_entry(tc, trans, &entry, unique, &row);
    if (error != 0 || ord->new_words == 0) return error;
    entry.key = (struct section){all->words + ord->old_words, ord->new_words};
    return (op->flags & OP_FILL) != 0 ? fill_entry(tc, trans, &entry, &row)
                                      : insert_entry(tc, trans, &entry, &row);
}

static bool well_formed(const struct tc *tc, const struct tc_op *op, const struct signal *sig)
{
    const struct fire_trig_ord *ord = SIG_PAYLOAD(sig, fire_trig_ord);
    uint32_t size = sig->section[0].size;
    if (tc_unique_find(tc->table[op->table_id], ord->index_id) == NULL) return false;
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

/* May the sender send one? Only the primary does: what was announced, or before that at most what
 * there can be. */
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

/* Sent by the operation's primary, before the last replica's LQHKEYCONF or behind it. */
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
