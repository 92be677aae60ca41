/* lqh_key.c -- locking reads and writes, prepared along the replica chain. Committed reads are in
 * lqh_read.c. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/failure/lqh_copy_target.h"
#include "blocks/dblqh/failure/lqh_include.h"
#include "blocks/dblqh/failure/lqh_nodefail.h"
#include "blocks/dblqh/key/lqh_fire.h"
#include "blocks/dblqh/key/lqh_op.h"
#include "blocks/dblqh/key/lqh_program.h"
#include "blocks/dblqh/key/lqh_read.h"
#include "blocks/dblqh/redo/lqh_log.h"
#include "blocks/dblqh/schema/lqh_table.h"
#include "signals/lqhkey.h"
#include "values/errors.h"
#include "values/key.h"

#define CHAIN_NODES      0xFFFFFFu
#define CHAIN_NEXT       0xFFu
#define CHAIN_REPLICA_NO 24
#define CHAIN_NO_MASK    0x3Fu

static inline bool is_read(uint32_t request_info)
{
    return key_operation_of(request_info) == OP_READ;
}

/* --- What every request passes. --- */

/* TC has checked the key; the checks of another node's TC are not relied on. */
static uint32_t check_data(const struct lqh *lqh, const struct signal *sig,
                           const struct lqh_table *table)
{
    uint32_t attr_words = sig->section_count > 1 ? sig->section[1].size : 0;
    if (attr_words > LQHKEY_ATTR_WORDS_MAX) return ERR_TUP_TOO_MUCH_DATA;
    if (__builtin_expect(ref_node(sig->sender) == lqh->own_node, 1)) return 0;
    struct key_parts parts;
    const struct table_def *def = (const struct table_def *)(const void *)table->key_def;
    return key_split(def, sig->section[0].words, sig->section[0].size, &parts);
}

/* References in a request are sent to later: they must be of a kind to which sending is safe. */
static bool references_valid(const struct signal *sig)
{
    const struct lqhkeyreq *req = SIG_PAYLOAD(sig, lqhkeyreq);
    if (!lqh_is_tc(req->tc_ref) || key_operation_of(req->request_info) > OP_WRITE) return false;
    if (req->prev_ref == 0) return req->tc_ref == sig->sender;
    return (req->request_info & KEY_PROGRAM) == 0 && req->prev_ref == sig->sender &&
           ref_block(sig->sender) == BLOCK_DBLQH && ref_instance(sig->sender) != 0;
}

/* A backup passes on what the primary has counted, and would have to answer for it. */
static bool fired_valid(const struct lqh *lqh, const struct lqh_table *table,
                        const struct lqhkeyreq *req)
{
    uint32_t copied = (req->request_info & KEY_COPIED) != 0;
    if (req->prev_ref == 0 || req->fired == 0) return true;
    if ((req->request_info & KEY_COPY) != 0) return false;
    return req->fired <=
           copied + tup_unique_count(tup_frag_get(lqh->tup, table->frags[req->fragment_id]));
}

static void refuse_request(struct lqh *lqh, const struct lqhkeyreq *req, uint32_t error)
{
    jam_data(error);
    struct lqhkeyref ref = {.tc_op = req->tc_op,
                            .transid1 = req->transid1,
                            .transid2 = req->transid2,
                            .error = error,
                            .prev_ref = req->prev_ref,
                            .prev_op = req->prev_op};
    sig_send(&lqh->block, req->tc_ref, GSN_LQHKEYREF, PRIO_B, &ref);
}

/* --- Operations with a record. --- */

void lqh_op_release(struct lqh *lqh, struct lqh_op *op)
{
    ndbrequire(op->saved == REF_NONE);
    if (op->redo_words != 0) lqh_redo_leave(lqh, op);
    lqh_demand_leave(lqh, op);
    if (op->indexed) lqh_index_remove(lqh, op);
    uint32_t table_id = op->table_id;
    pool_release(&lqh->operations, op);
    lqh_table_leave(lqh, table_id);
}

/* Nothing of the operation is left here; the replicas before this one are up to TC. */
static void refuse_op(struct lqh *lqh, struct lqh_op *op, uint32_t error)
{
    error = lqh_demand_error(lqh, op->tc_ref, op->tc_trans, error);
    jam_data(error);
    if (op->lock != REF_NONE) acc_unlock(lqh->acc, op->lock);
    struct lqhkeyref ref = {.tc_op = op->tc_op,
                            .transid1 = op->transid1,
                            .transid2 = op->transid2,
                            .error = error,
                            .prev_ref = op->prev_ref,
                            .prev_op = op->prev_op};
    sig_send(&lqh->block, op->tc_ref, GSN_LQHKEYREF, PRIO_B, &ref);
    lqh_op_release(lqh, op);
}

static void confirm(struct lqh *lqh, const struct lqh_op *op, uint32_t read_words)
{
    struct lqhkeyconf conf = {.tc_op = op->tc_op,
                              .transid1 = op->transid1,
                              .transid2 = op->transid2,
                              .lqh_op = op->pool.ref,
                              .read_words = read_words,
                              .fired = op->fired};
    sig_send(&lqh->block, op->tc_ref, GSN_LQHKEYCONF, PRIO_B, &conf);
}

/* A wait at a backup is only for the COMPLETE of the transaction before, so NOWAIT means the
 * primary alone. */
static void pass_on(struct lqh *lqh, struct lqh_op *op, const struct lqh_data *data,
                    const struct tup_frag *frag, uint32_t row)
{
    uint32_t page = op->nothing ? op->wanted_page : tup_row_page(frag, row);
    uint32_t slot = op->nothing ? op->wanted_slot : tup_row_slot(frag, row);
    op->chain |= lqh_include_skip(lqh, op, page, slot);
    uint32_t replica_no = ((op->chain >> CHAIN_REPLICA_NO & CHAIN_NO_MASK) + 1) & CHAIN_NO_MASK;
    struct lqhkeyreq req = {
        .tc_op = op->tc_op,
        .request_info = op->request_info & ~KEY_NOWAIT,
        .table_id = op->table_id,
        .schema_version = op->version,
        .fragment_id = op->fragment_id,
        .hash = op->hash,
        .transid1 = op->transid1,
        .transid2 = op->transid2,
        .tc_ref = op->tc_ref,
        .api_ref = op->api_ref,
        .api_op = op->api_op,
        .chain = (op->chain & CHAIN_NODES) >> 8 | replica_no << CHAIN_REPLICA_NO |
                 (op->chain & (CHAIN_SKIP | CHAIN_AGAIN)),
        .prev_ref = lqh->block.ref,
        .prev_op = op->pool.ref,
        .row_page = page,
        .row_slot = slot,
        .tc_trans = op->tc_trans,
        .nodes = op->nodes,
        .fired = op->fired,
    };
    const struct section section[2] = {{data->key, data->key_words},
                                       {data->attr, data->attr_words}};
    uint32_t receiver =
        block_ref(op->chain & CHAIN_NEXT, BLOCK_DBLQH, fragment_instance_key(op->fragment_id));
    signal_send(&lqh->block, receiver, GSN_LQHKEYREQ, PRIO_B, &req, sizeof req / 4u, section,
                data->attr_words > 0 ? 2 : 1);
}

static uint32_t do_read(struct lqh *lqh, struct lqh_op *op, const struct lqh_data *data,
                        struct tup_frag *frag, uint32_t row, uint32_t *words)
{
    struct tup_read read = {.frag = frag,
                            .row = row,
                            .transid1 = op->tc_trans,
                            .transid2 = op->tc_ref,
                            .attr = data->attr,
                            .attr_words = data->attr_words};
    /* TC itself reads the entries of unique indexes. */
    bool to_tc = (op->request_info & KEY_UNIQUE) != 0;
    bool to_client = data->attr_words > 0 && !to_tc;
    uint32_t error = to_client ? lqh_client_error(lqh, op->api_ref) : 0;
    if (error == 0) error = tup_read(lqh->tup, &read, lqh->out + 1, TUP_ROW_WORDS_MAX, words);
    if (error != 0 || data->attr_words == 0) return error;
    lqh->out[0] = *words;
    struct transid_ai ai = {.api_op = op->api_op,
                            .transid1 = op->transid1,
                            .transid2 = op->transid2,
                            .rows = 1,
                            .fragment_id = op->fragment_id};
    lqh_send_row(lqh, to_tc ? op->tc_ref : op->api_ref, &ai, *words + 1);
    return 0;
}

static uint32_t apply(struct lqh *lqh, struct lqh_op *op, const struct tup_change_req *req,
                      struct tup_changed *changed)
{
    uint32_t error = 0;
    switch (key_operation_of(op->request_info)) {
    case OP_INSERT:
        return tup_insert(lqh->tup, req, changed);
    case OP_UPDATE:
        return tup_update(lqh->tup, req, changed);
    case OP_WRITE:
        error = tup_write(lqh->tup, req, changed);
        /* A replica that does not have all rows yet could not tell. */
        if (changed->inserted) op->request_info = (op->request_info & ~7u) | OP_INSERT;
        return error;
    case OP_DELETE:
        return tup_delete(lqh->tup, req, changed);
    case OP_READ:
    default:
        ndbrequire(false);
    }
}

static uint32_t do_change(struct lqh *lqh, struct lqh_op *op, const struct lqh_data *data,
                          struct tup_frag *frag, uint32_t *row)
{
    struct tup_change_req req = {
        .frag = frag,
        .row = *row,
        .wanted = ROW_NONE,
        .hash = op->hash,
        .transid1 = op->tc_trans,
        .transid2 = op->tc_ref,
        .op = op->pool.ref,
        .key = data->key,
        .key_words = data->key_words,
        .attr = data->attr,
        .attr_words = data->attr_words,
    };
    struct tup_changed changed = {0};
    if (op->prev_ref != 0) {
        req.wanted = tup_row_id(frag, op->wanted_page, op->wanted_slot);
        /* Replicas keep rows in the same places: anything else means that they have gone apart. */
        bool inserts = key_operation_of(op->request_info) == OP_INSERT;
        if (req.wanted == ROW_NONE || (*row == ROW_NONE ? !inserts : *row != req.wanted))
            return ERR_ROW_ID_TAKEN;
    }
    bool again = *row != ROW_NONE;
    struct lqh_fire fire;
    lqh_fire_before(lqh, op, frag, *row, &fire);
    uint32_t error = apply(lqh, op, &req, &changed);
    if (error != 0) return error;
    if (fire.count > 0) lqh_fire(lqh, op, &req, changed.row, &fire);
    if (op->prev_ref == 0 && (op->request_info & KEY_COPIED) != 0) lqh_fire_copy(lqh, op, data);
    if (again && op->prev_ref == 0) op->chain |= CHAIN_AGAIN;
    op->change = changed.change;
    *row = changed.row;
    if (changed.lock != REF_NONE) {
        ndbrequire(op->lock == REF_NONE); /* I-LQH-2: one lock per operation. */
        op->lock = changed.lock;
    }
    return 0;
}

/* The error of an operation that comes out of a queue: a node may have been lost meanwhile. */
static uint32_t check_lost(const struct lqh *lqh, const struct lqh_op *op)
{
    bool refused = op->refused != 0 || lqh_doomed(lqh, op->tc_ref, op->nodes);
    return refused ? ERR_NODE_FAILURE : 0;
}

void lqh_op_drop_waiting(struct lqh *lqh, struct lqh_op *op)
{
    ndbrequire(op->state == LQH_WAITING);
    acc_unlock(lqh->acc, op->lock);
    lqh_save_drop(lqh, op);
    lqh_op_release(lqh, op);
}

/* Runs an operation with a program, at the primary only: the program decides what is done, and
 * whether. *change gets what is done. */
static uint32_t do_program(struct lqh *lqh, struct lqh_op *op, const struct lqh_data *data,
                           struct lqh_data *change, struct tup_frag *frag, uint32_t *row,
                           uint32_t *words)
{
    struct lqh_program program;
    uint32_t error = lqh_program_prepare(lqh, op, frag, *row, data, &program, change);
    if (error != 0) return error;
    if (is_read(op->request_info)) {
        jam();
        change->attr = program.read;
        change->attr_words = program.read_words;
        return do_read(lqh, op, change, frag, *row, words);
    }
    bool deletes = key_operation_of(op->request_info) == OP_DELETE;
    if (deletes) *words = lqh_program_read(lqh, op, frag, *row, &program);
    error = do_change(lqh, op, change, frag, row);
    if (error != 0) return error;
    jam();
    if (!deletes) *words = lqh_program_read(lqh, op, frag, *row, &program);
    if (program.read_words > 0) lqh_program_answer(lqh, op, *words);
    return 0;
}

/* The row is locked, or does not exist. */
static void execute_locked(struct lqh *lqh, struct lqh_op *op, const struct lqh_data *data,
                           struct tup_frag *frag, uint32_t row)
{
    struct lqh_data change;
    uint32_t words = 0;
    uint32_t error;
    if (__builtin_expect((op->request_info & KEY_PROGRAM) != 0, 0)) {
        jam();
        error = do_program(lqh, op, data, &change, frag, &row, &words);
        data = &change;
    } else if (is_read(op->request_info)) {
        jam();
        bool fills = (op->request_info & KEY_FILL) != 0;
        error = row == ROW_NONE ? ERR_ROW_NOT_FOUND
                : fills         ? lqh_fire_fill(lqh, op, data, frag, row)
                                : do_read(lqh, op, data, frag, row, &words);
    } else {
        jam();
        error = do_change(lqh, op, data, frag, &row);
    }
    if (error != 0) {
        refuse_op(lqh, op, error);
        return;
    }
    op->state = LQH_PREPARED;
    op->row = row;
    if ((op->chain & CHAIN_NEXT) != 0)
        pass_on(lqh, op, data, frag, row);
    else
        confirm(lqh, op, words);
}

static uint32_t lock_row(struct lqh *lqh, struct lqh_op *op, struct tup_frag *frag, uint32_t row)
{
    bool shared = is_read(op->request_info) && key_lock_mode(op->request_info) == LOCK_SHARED;
    struct acc_lock_req req = {.transid1 = op->tc_trans,
                               .transid2 = op->tc_ref,
                               .op = op->pool.ref,
                               .mode = shared ? LOCK_SHARED : LOCK_EXCLUSIVE,
                               .nowait = (op->request_info & KEY_NOWAIT) != 0,
                               .now_ms = now_ms(&lqh->block)};
    return acc_lock(lqh->acc, tup_frag_index(frag), row, &req, &op->lock);
}

/* What becomes of the row comes with the copy. */
static void prepare_nothing(struct lqh *lqh, struct lqh_op *op, const struct lqh_data *data,
                            const struct tup_frag *frag)
{
    jam();
    op->nothing = 1;
    op->state = LQH_PREPARED;
    op->row = ROW_NONE;
    if (op->redo_words != 0) lqh_redo_leave(lqh, op);
    if ((op->chain & CHAIN_NEXT) != 0)
        pass_on(lqh, op, data, frag, ROW_NONE);
    else
        confirm(lqh, op, 0);
}

static void execute(struct lqh *lqh, struct lqh_op *op, const struct lqh_data *data)
{
    struct tup_frag *frag = tup_frag_get(lqh->tup, op->frag);
    uint32_t row = acc_find(tup_frag_index(frag), op->hash, data->key, data->key_words);
    if (__builtin_expect(lqh->include.copying > 0, 0) && op->lock == REF_NONE &&
        lqh_copies(lqh, op)) {
        if ((op->chain & CHAIN_SKIP) != 0) {
            prepare_nothing(lqh, op, data, frag);
            return;
        }
        lqh_copy_meanwhile(lqh, op, &row);
    }
    ndbrequire(op->lock == REF_NONE ||
               row != ROW_NONE); /* I-LQH-1: a locked row does not vanish. */
    if (row == ROW_NONE || op->lock != REF_NONE) {
        execute_locked(lqh, op, data, frag, row);
        return;
    }
    uint32_t result = lock_row(lqh, op, frag, row);
    if (result == 0) {
        execute_locked(lqh, op, data, frag, row);
    } else if (result != ACC_WAIT) {
        jam();
        refuse_op(lqh, op, result);
    } else if (!lqh_save(lqh, op, data)) {
        jam();
        refuse_op(lqh, op, ERR_LQH_SIGNAL_MEMORY);
    } else {
        jam();
        op->state = LQH_WAITING;
        lqh_lock_waits(lqh);
    }
}

void lqh_op_ready(struct lqh *lqh, struct lqh_op *op, const struct acc_ready *ready)
{
    struct lqh_data data;
    ndbrequire(op->state == LQH_WAITING);
    op->lock = ready->lock;
    lqh_load(lqh, op, &data);
    uint32_t error = ready->error != 0 ? ready->error : check_lost(lqh, op);
    if (error != 0) {
        jam();
        refuse_op(lqh, op, error);
        return;
    }
    execute(lqh, op, &data);
}

void lqh_op_undelay(struct lqh *lqh, struct lqh_op *op, uint32_t error)
{
    struct lqh_data data;
    ndbrequire(op->state == LQH_DELAYED);
    op->state = LQH_WAITING;
    lqh_load(lqh, op, &data);
    if (error == 0) error = check_lost(lqh, op);
    if (error != 0) {
        jam();
        refuse_op(lqh, op, error);
        return;
    }
    execute(lqh, op, &data);
}

static uint32_t check_inserts(struct lqh *lqh, const struct lqhkeyreq *req)
{
    if (__builtin_expect(lqh->block.error_insert == 0, 1)) return 0;
    if (ERROR_INSERTED(&lqh->block, 5001) && req->prev_ref == 0) return lqh->block.error_extra;
    if (ERROR_INSERTED(&lqh->block, 5002) && req->prev_ref != 0) return lqh->block.error_extra;
    return ERROR_INSERTED(&lqh->block, 5003) ? ERR_LQH_OPERATIONS : 0;
}

/* The next replica must be there before anything is changed for it. */
static uint32_t check_chain(const struct lqh *lqh, uint32_t chain)
{
    uint32_t next = chain & CHAIN_NEXT;
    if (next == 0) return 0;
    if (next == lqh->own_node || peer_class(&lqh->block, next) != FROM_DATA)
        return ERR_NODE_FAILURE;
    return peer_level(&lqh->block, next) >= LINK_OVERLOAD ? ERR_SEND_BUFFER_FULL : 0;
}

static void op_fill(struct lqh_op *op, const struct lqhkeyreq *req, const struct lqh_table *table)
{
    op->tc_ref = req->tc_ref;
    op->tc_op = req->tc_op;
    op->transid1 = req->transid1;
    op->transid2 = req->transid2;
    op->api_ref = req->api_ref;
    op->api_op = req->api_op;
    op->request_info = req->request_info;
    op->table_id = req->table_id;
    op->version = table->version;
    op->fragment_id = req->fragment_id;
    op->frag = table->frags[req->fragment_id];
    op->hash = req->hash;
    op->chain = req->chain;
    op->prev_ref = req->prev_ref;
    op->prev_op = req->prev_op;
    op->wanted_page = req->row_page;
    op->wanted_slot = req->row_slot;
    op->tc_trans = req->tc_trans;
    op->nodes = req->nodes;
    op->fired = req->prev_ref == 0 ? 0 : req->fired;
}

static void prepare(struct lqh *lqh, const struct signal *sig, struct lqh_table *table)
{
    const struct lqhkeyreq *req = SIG_PAYLOAD(sig, lqhkeyreq);
    uint32_t error = check_inserts(lqh, req);
    if (__builtin_expect(lqh->fail.any, 0)) lqh_tc_back(lqh, req->tc_ref);
    if (error == 0 && lqh_doomed(lqh, req->tc_ref, req->nodes)) error = ERR_NODE_FAILURE;
    if (error == 0) error = check_chain(lqh, req->chain);
    struct lqh_op *op = error == 0 ? pool_seize(&lqh->operations) : NULL;
    if (op == NULL) {
        if (error == 0)
            error = lqh_demand_error(lqh, req->tc_ref, req->tc_trans, ERR_LQH_OPERATIONS);
        refuse_request(lqh, req, error);
        return;
    }
    table->users++;
    op_fill(op, req, table);
    lqh_demand_enter(lqh, op);
    op->round = lqh->unique.round;
    struct lqh_data data = {.key = sig->section[0].words, .key_words = sig->section[0].size};
    if (sig->section_count > 1) {
        data.attr = sig->section[1].words;
        data.attr_words = sig->section[1].size;
    }
    error = lqh->redo != NULL ? lqh_redo_admit(lqh, op, &data) : 0;
    if (error == 0) {
        execute(lqh, op, &data);
        lqh_run_ready(lqh);
    } else if (error != LQH_HELD_BACK) {
        refuse_op(lqh, op, error);
    }
}

void lqh_exec_LQHKEYREQ(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct lqhkeyreq *req = SIG_PAYLOAD(sig, lqhkeyreq);
    uint32_t error;
    lqh->requests++;
    if (!references_valid(sig)) {
        lqh_protocol_error(lqh, sig->sender, "LQHKEYREQ with impossible references");
        return;
    }
    struct lqh_table *table =
        lqh_table_usable(lqh, req->table_id, req->schema_version, req->fragment_id, &error);
    if (table != NULL) error = check_data(lqh, sig, table);
    if (req->tc_op == REF_NONE) {
        lqh_read(lqh, sig, table, error);
    } else if (error != 0) {
        refuse_request(lqh, req, error);
    } else if (!fired_valid(lqh, table, req)) {
        lqh_protocol_error(lqh, sig->sender,
                           "LQHKEYREQ with an impossible count of what has fired");
    } else {
        prepare(lqh, sig, table);
    }
}
