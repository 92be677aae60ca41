/* tc_lookup.c -- operations by unique key: first the index's entry, then the row that it names, for
 * one request of the client. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The entry stays locked until the transaction ends, so the row keeps the key by which it was
 * found. What the client wants of the row waits here meanwhile. See docs/protocols/unique_index.md.
 */
#include <string.h>
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/key/tc_abort.h"
#include "blocks/dbtc/key/tc_connect.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "blocks/dbtc/schema/tc_table.h"
#include "blocks/dbtc/unique/tc_lookup.h"
#include "signals/lqhkey.h"
#include "values/attr.h"
#include "values/errors.h"

#define KEY_WORDS_MAX 1088u /* TABLE_KEY_BYTES_MAX and every column's padding. */

void tc_lookup_init(struct tc *tc)
{
    struct arena *arena = block_arena(&tc->block);
    uint32_t operations = block_config(&tc->block)->operations_max;
    pool_init(&tc->lookups, arena, RG_TRANSACTION, sizeof(struct tc_lookup), operations);
    pool_init(&tc->segments, arena, RG_TRANSACTION, sizeof(struct tc_segment), operations);
    tc->attr = block_alloc(&tc->block, RG_TRANSACTION, LQHKEY_ATTR_WORDS_MAX * 4u);
}

/* --- What the client wants of the row. --- */

static struct tc_segment *segment_get(struct tc *tc, uint32_t ref)
{
    struct tc_segment *segment = pool_find(&tc->segments, ref);
    ndbrequire(segment != NULL);
    return segment;
}

static void lookup_release(struct tc *tc, struct tc_lookup *lookup)
{
    while (lookup->first != REF_NONE) {
        struct tc_segment *segment = segment_get(tc, lookup->first);
        lookup->first = segment->next;
        pool_release(&tc->segments, segment);
    }
    pool_release(&tc->lookups, lookup);
}

void tc_lookup_drop(struct tc *tc, struct tc_op *op)
{
    struct tc_lookup *lookup = pool_find(&tc->lookups, op->lookup);
    ndbrequire(lookup != NULL);
    op->lookup = REF_NONE;
    lookup_release(tc, lookup);
}

/* NULL: no memory, and nothing is kept. */
static struct tc_lookup *lookup_save(struct tc *tc, const struct signal *sig)
{
    struct tc_lookup *lookup = pool_seize(&tc->lookups);
    if (lookup == NULL) return NULL;
    lookup->request_info = SIG_PAYLOAD(sig, tckeyreq)->request_info;
    lookup->attr_words = sig->section_count > 1 ? sig->section[1].size : 0;
    uint32_t *link = &lookup->first;
    for (uint32_t at = 0; at < lookup->attr_words; at += TC_SEGMENT_WORDS) {
        struct tc_segment *segment = pool_seize(&tc->segments);
        if (segment == NULL) {
            jam();
            lookup_release(tc, lookup);
            return NULL;
        }
        uint32_t left = lookup->attr_words - at;
        uint32_t count = left < TC_SEGMENT_WORDS ? left : TC_SEGMENT_WORDS;
        memcpy(segment->words, sig->section[1].words + at, count * 4u);
        *link = segment->pool.ref;
        link = &segment->next;
    }
    return lookup;
}

static struct section lookup_load(struct tc *tc, const struct tc_lookup *lookup)
{
    uint32_t at = 0;
    for (uint32_t ref = lookup->first; ref != REF_NONE;) {
        const struct tc_segment *segment = segment_get(tc, ref);
        uint32_t left = lookup->attr_words - at;
        uint32_t count = left < TC_SEGMENT_WORDS ? left : TC_SEGMENT_WORDS;
        memcpy(tc->attr + at, segment->words, count * 4u);
        at += count;
        ref = segment->next;
    }
    ndbrequire(at == lookup->attr_words);
    return (struct section){tc->attr, at};
}

/* --- The entry. --- */

static uint32_t check_lookup(struct tc *tc, const struct signal *sig, const struct tc_table **index)
{
    const struct tckeyreq *req = SIG_PAYLOAD(sig, tckeyreq);
    enum key_operation operation = key_operation_of(req->request_info);
    uint32_t attr_words = sig->section_count > 1 ? sig->section[1].size : 0;
    uint32_t error = 0;
    if (operation != OP_READ && operation != OP_UPDATE && operation != OP_DELETE)
        return ERR_TC_INTERNAL_203;
    if (attr_words > LQHKEY_ATTR_WORDS_MAX) return ERR_TUP_TOO_MUCH_DATA;
    *index = tc_table_usable(tc, req->table_id, req->schema_version, &error);
    if (*index == NULL) return error;
    if ((*index)->base_id == 0) return ERR_SCAN_TARGET_INDEX;
    tc_table_usable(tc, (*index)->base_id, (*index)->base_version, &error);
    return error;
}

/* A shared lock is enough for a shared read of the row; who will perhaps change its key does not
 * begin with one. */
static uint32_t entry_request(uint32_t request_info)
{
    bool shared =
        key_operation_of(request_info) == OP_READ && key_lock_mode(request_info) == LOCK_SHARED;
    return key_request_info(OP_READ, shared ? LOCK_SHARED : LOCK_EXCLUSIVE,
                            request_info & (KEY_IGNORE_ERROR | KEY_NOWAIT));
}

uint32_t tc_lookup_start(struct tc *tc, struct tc_trans *trans, const struct signal *sig)
{
    const struct tc_table *index;
    struct tc_op *op;
    uint32_t error = check_lookup(tc, sig, &index);
    if (error != 0) return error;
    struct tc_lookup *lookup = lookup_save(tc, sig);
    if (lookup == NULL) return ERR_INDEX_OPERATIONS;
    struct tckeyreq req = *SIG_PAYLOAD(sig, tckeyreq);
    uint32_t column = attr_header(tc_key_columns(index), 0);
    struct signal entry = *sig;
    req.request_info = entry_request(req.request_info);
    entry.payload = (const uint32_t *)(const void *)&req;
    entry.section_count = 2;
    entry.section[1] = (struct section){&column, 1};
    error = tc_start_op(tc, trans, &entry, OP_LOOKUP, &op);
    if (error != 0) {
        jam_data(error);
        lookup_release(tc, lookup);
        return error;
    }
    jam();
    op->lookup = lookup->pool.ref;
    return 0;
}

/* --- The row. --- */

/* The KEY section in an entry's row; false: it has none. */
static bool take_key(const struct section *row, uint32_t key[KEY_WORDS_MAX], uint32_t *words)
{
    if (row->size < 3 || row->words[0] != row->size - 1u) return false;
    uint32_t size = attr_size(row->words[1]);
    if (size < 2u || words_of(size) != row->size - 2u) return false;
    const uint8_t *value = (const uint8_t *)(row->words + 2);
    uint32_t bytes = value[0] + ((uint32_t)value[1] << 8);
    if (bytes + 2u != size || bytes % 4u != 0 || bytes > KEY_WORDS_MAX * 4u) return false;
    memcpy(key, value + 2, bytes);
    *words = bytes / 4u;
    return true;
}

static uint32_t start_on_row(struct tc *tc, struct tc_trans *trans, const struct tc_op *entry,
                             const struct section *key)
{
    const struct tc_lookup *lookup = pool_find(&tc->lookups, entry->lookup);
    const struct tc_table *index = tc_table_get(tc, entry->table_id);
    ndbrequire(lookup != NULL);
    struct tckeyreq req = {.api_op = entry->api_op,
                           .table_id = index->base_id,
                           .schema_version = index->base_version,
                           .request_info = lookup->request_info,
                           .transid1 = trans->transid1,
                           .transid2 = trans->transid2};
    struct signal sig = {.gsn = GSN_TCKEYREQ,
                         .sender = tc_connect_get(tc, trans->connect)->owner,
                         .words = sizeof req / 4u,
                         .section_count = lookup->attr_words > 0 ? 2 : 1,
                         .payload = (const uint32_t *)(const void *)&req,
                         .section = {*key, lookup_load(tc, lookup)}};
    struct tc_op *op;
    return tc_start_op(tc, trans, &sig, 0, &op);
}

/* The entry of an operation by unique key, from its LQH, which confirms the read behind it. */
void tc_exec_TRANSID_AI(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct transid_ai *ai = SIG_PAYLOAD(sig, transid_ai);
    struct tc_op *op = pool_find(&tc->operations, ai->api_op);
    struct tc_trans *trans = op == NULL ? NULL : tc_trans_get(tc, op->trans);
    uint32_t key[KEY_WORDS_MAX];
    struct section section = {.words = key};
    if (trans == NULL || trans->transid1 != ai->transid1 || trans->transid2 != ai->transid2 ||
        trans->state != TRANS_STARTED || op->lookup == REF_NONE || tc_broken(tc, op)) {
        jam(); /* It is being aborted, or has been. */
        return;
    }
    if (ref_node(sig->sender) != replica_node(op->nodes, 0) ||
        !take_key(&sig->section[0], key, &section.size)) {
        jam();
        tc_protocol_error(tc, sig->sender, "a unique index entry that is none");
        return;
    }
    uint32_t error = start_on_row(tc, trans, op, &section);
    tc_lookup_drop(tc, op);
    jam_data(error);
    if (error == 0) return;
    if ((op->flags & OP_IGNORE_ERROR) != 0)
        tc_refuse_op(tc, trans, op->api_op, error); /* The entry stays locked. */
    else
        tc_abort_begin(tc, trans, error, op->api_op);
}
