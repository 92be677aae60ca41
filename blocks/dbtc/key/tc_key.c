/* tc_key.c -- operations of transactions: from TCKEYREQ through LQHKEYREQ to the answer of the
 * batch. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/epoch/tc_epoch.h"
#include "blocks/dbtc/failure/tc_nodefail.h"
#include "blocks/dbtc/key/tc_abort.h"
#include "blocks/dbtc/key/tc_commit.h"
#include "blocks/dbtc/key/tc_connect.h"
#include "blocks/dbtc/key/tc_read.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "blocks/dbtc/schema/tc_table.h"
#include "blocks/dbtc/unique/tc_lookup.h"
#include "blocks/dbtc/unique/tc_unique.h"
#include "signals/lqhkey.h"
#include "values/errors.h"
#include "values/table_def.h"

#define REQUEST_KIND_MASK 0x1Fu /* Operation and lock mode. */
/* What an LQH needs: those, and these flags. */
#define REQUEST_LQH_MASK (REQUEST_KIND_MASK | KEY_NOWAIT | KEY_PROGRAM | KEY_FILL)

static const uint8_t trans_moves[TRANS_STATES] = {
    [TRANS_STARTED] = 1u << TRANS_COMMITTING | 1u << TRANS_ABORTING,
    [TRANS_COMMITTING] = 1u << TRANS_COMPLETING,
    [TRANS_COMPLETING] = 0,
    [TRANS_ABORTING] = 0,
};

static const uint8_t op_moves[OP_STATES] = {
    [OP_PREPARING] = 1u << OP_PREPARED | 1u << OP_PREPARING_ABORT,
    [OP_PREPARING_ABORT] = 1u << OP_ABORTING,
    [OP_PREPARED] = 1u << OP_COMMITTING | 1u << OP_ABORTING,
    [OP_COMMITTING] = 1u << OP_COMMITTED,
    [OP_COMMITTED] = 1u << OP_COMPLETING,
    [OP_COMPLETING] = 0,
    [OP_ABORTING] = 0,
};

void tc_trans_move(struct tc_trans *trans, enum tc_trans_state state)
{
    jam_data(state);
    ndbrequire((trans_moves[trans->state] >> state & 1u) != 0); /* I-TC-1 */
    trans->state = state;
}

void tc_op_move(struct tc_op *op, enum tc_op_state state)
{
    ndbrequire((op_moves[op->state] >> state & 1u) != 0); /* I-TC-2 */
    op->state = state;
}

struct tc_trans *tc_trans_get(struct tc *tc, uint32_t ref)
{
    struct tc_trans *trans = pool_find(&tc->transactions, ref);
    ndbrequire(trans != NULL);
    return trans;
}

struct tc_op *tc_op_get(struct tc *tc, uint32_t ref)
{
    struct tc_op *op = pool_find(&tc->operations, ref);
    ndbrequire(op != NULL);
    return op;
}

static void append_op(struct tc *tc, struct tc_trans *trans, struct tc_op *op)
{
    op->trans = trans->pool.ref;
    op->previous = trans->op_last;
    if (trans->op_last != REF_NONE)
        tc_op_get(tc, trans->op_last)->next = op->pool.ref;
    else
        trans->op_first = op->pool.ref;
    trans->op_last = op->pool.ref;
    trans->op_count++;
}

void tc_op_release(struct tc *tc, struct tc_trans *trans, struct tc_op *op)
{
    if (trans->cursor == op->pool.ref) trans->cursor = op->next;
    if (op->previous != REF_NONE)
        tc_op_get(tc, op->previous)->next = op->next;
    else
        trans->op_first = op->next;
    if (op->next != REF_NONE)
        tc_op_get(tc, op->next)->previous = op->previous;
    else
        trans->op_last = op->previous;
    ndbrequire(trans->op_count > 0);
    trans->op_count--;
    trans->fires -= op->fires;
    if (op->lookup != REF_NONE) tc_lookup_drop(tc, op);
    uint32_t table_id = op->table_id;
    if ((op->flags & OP_ENTRY) != 0) tc_table_get(tc, table_id)->entries--;
    pool_release(&tc->operations, op);
    tc_table_leave(tc, table_id);
}

static void send_tckeyref(struct tc *tc, uint32_t client, const struct tckeyref *ref)
{
    sig_send(&tc->block, client, GSN_TCKEYREF, PRIO_B, ref);
}

void tc_refuse_op(struct tc *tc, const struct tc_trans *trans, uint32_t api_op, uint32_t error)
{
    struct tckeyref ref = {
        .api_op = api_op, .transid1 = trans->transid1, .transid2 = trans->transid2, .error = error};
    send_tckeyref(tc, tc_connect_get(tc, trans->connect)->owner, &ref);
}

static struct tckeyref refused(const struct tckeyreq *req, uint32_t error)
{
    return (struct tckeyref){.api_op = req->api_op,
                             .transid1 = req->transid1,
                             .transid2 = req->transid2,
                             .error = error};
}

static void refuse_trans(struct tc *tc, const struct tc_connect *connect,
                         const struct tckeyreq *req, uint32_t error)
{
    struct tc_reason reason = {.error = error, .api_op = req->api_op};
    tc_rollback_rep(tc, connect, req->transid1, req->transid2, &reason);
}

/* The active ones have their own limit; that too many still complete is another error. */
static struct tc_trans *seize_trans(struct tc *tc, uint32_t *error)
{
    uint32_t in_use = tc->transactions.in_use;
    struct tc_trans *trans = NULL;
    if (in_use - tc->completing < tc->active_max) trans = pool_seize(&tc->transactions);
    if (trans != NULL) return trans;
    jam();
    *error = in_use == tc->transactions.max ? ERR_COMPLETE_RECORDS : ERR_TC_TRANSACTIONS;
    return NULL;
}

/* A transaction begins, or the client learns why not; what else of it is on its way is then
 * ignored. */
static struct tc_trans *begin_trans(struct tc *tc, struct tc_connect *connect,
                                    const struct tckeyreq *req)
{
    uint32_t error = tc_refuse_new(tc, connect->owner);
    if (error == 0 &&
        (connect->scan != REF_NONE || connect->releasing || connect->durable_gci != 0))
        error = ERR_TC_INTERNAL_203;
    struct tc_trans *trans = error == 0 ? seize_trans(tc, &error) : NULL;
    connect->last_transid1 = req->transid1;
    connect->last_transid2 = req->transid2;
    connect->last_error = error;
    if (trans == NULL) {
        jam_data(error);
        refuse_trans(tc, connect, req, error);
        return NULL;
    }
    jam();
    connect->trans = trans->pool.ref;
    trans->round = tc->hurry.round;
    trans->connect = connect->pool.ref;
    trans->transid1 = req->transid1;
    trans->transid2 = req->transid2;
    return trans;
}

/* The transaction of a request, begun if it says so. NULL: the request has been answered or needs
 * no answer. */
static struct tc_trans *trans_of_request(struct tc *tc, struct tc_connect *connect,
                                         const struct tckeyreq *req)
{
    if (connect->trans == REF_NONE) {
        if ((req->request_info & KEY_START) != 0) return begin_trans(tc, connect, req);
        if (req->transid1 == connect->last_transid1 && req->transid2 == connect->last_transid2) {
            jam(); /* Late: the client has been told that this transaction was aborted. */
            return NULL;
        }
        jam();
        refuse_trans(tc, connect, req, ERR_TC_INTERNAL_203);
        return NULL;
    }
    struct tc_trans *trans = tc_trans_get(tc, connect->trans);
    if (req->transid1 != trans->transid1 || req->transid2 != trans->transid2) {
        jam(); /* Two transactions at a time in one record. */
        refuse_trans(tc, connect, req, ERR_TC_INTERNAL_203);
        return NULL;
    }
    if (trans->state == TRANS_ABORTING) {
        jam(); /* Late: answered by TCROLLBACKREP or TCROLLBACKCONF. */
        return NULL;
    }
    if (trans->state != TRANS_STARTED) {
        jam();
        struct tckeyref ref = refused(req, ERR_TC_INTERNAL_203);
        send_tckeyref(tc, connect->owner, &ref);
        return NULL;
    }
    if ((req->request_info & KEY_START) != 0 ||
        (trans->flags & (TRANS_EXECUTE | TRANS_COMMIT_REQ)) != 0) {
        jam(); /* Started twice, or more operations before the batch has been answered. */
        tc_abort_begin(tc, trans, ERR_TC_INTERNAL_203, req->api_op);
        return NULL;
    }
    return trans;
}

static uint32_t check_request(const struct signal *sig)
{
    const struct tckeyreq *req = SIG_PAYLOAD(sig, tckeyreq);
    enum key_operation operation = key_operation_of(req->request_info);
    if (operation > OP_WRITE) return ERR_TC_INTERNAL_203;
    if (operation == OP_READ && key_lock_mode(req->request_info) > LOCK_EXCLUSIVE)
        return ERR_TC_INTERNAL_203;
    if (operation == OP_INSERT && (req->request_info & KEY_PROGRAM) != 0)
        return ERR_OPTIONS_COMBINATION;
    bool no_attr = sig->section_count < 2 || sig->section[1].size == 0;
    return operation == OP_UPDATE && no_attr ? ERR_UPDATE_NO_COLUMNS : 0;
}

/* The replicas that are concerned, as LQHKEYREQ carries them. One that cannot be reached is an
 * error. */
static uint32_t choose_nodes(const struct tc *tc, const struct tc_route *route, bool write,
                             uint32_t *nodes)
{
    uint32_t error = 0;
    *nodes = tc_live_nodes(tc, route->table->nodes + (size_t)route->fragment * REPLICAS_MAX);
    if (!write) *nodes &= 0xFFu;
    if (*nodes == 0) return ERR_NODE_FAILURE;
    for (uint32_t i = 0; error == 0 && replica_node(*nodes, i) != 0; i++)
        error = tc_link_error(tc, replica_node(*nodes, i));
    return error;
}

/* Flags that tell the primary whether a write is one of a copy, or has copies. */
static uint32_t copy_flags(const struct tc *tc, const struct tc_op *op, uint32_t request_info)
{
    if (key_operation_of(request_info) == OP_READ) return 0;
    if ((op->flags & OP_COPY) != 0) return KEY_COPY;
    return tc_has_copies(tc->table[op->table_id]) ? KEY_COPIED : 0;
}

static void send_op(struct tc *tc, const struct tc_trans *trans, const struct tc_op *op,
                    const struct signal *sig, uint32_t hash)
{
    const struct tckeyreq *req = SIG_PAYLOAD(sig, tckeyreq);
    bool lookup = (op->flags & OP_LOOKUP) != 0; /* We get the row. */
    struct lqhkeyreq out = {
        .tc_op = op->pool.ref,
        .request_info = (req->request_info & REQUEST_LQH_MASK) | (lookup ? KEY_UNIQUE : 0) |
                        copy_flags(tc, op, req->request_info),
        .table_id = req->table_id,
        .schema_version = req->schema_version,
        .fragment_id = op->fragment_id,
        .hash = hash,
        .transid1 = req->transid1,
        .transid2 = req->transid2,
        .tc_ref = tc->block.ref,
        .api_ref = sig->sender,
        .api_op = lookup ? op->pool.ref : req->api_op,
        .chain = op->nodes >> 8,
        .row_page = ROW_NOT_CHOSEN,
        .row_slot = ROW_NOT_CHOSEN,
        .tc_trans = trans->pool.ref,
        .nodes = op->nodes,
    };
    uint32_t lqh =
        block_ref(replica_node(op->nodes, 0), BLOCK_DBLQH, fragment_instance_key(op->fragment_id));
    signal_send(&tc->block, lqh, GSN_LQHKEYREQ, PRIO_B, &out, sizeof out / 4u, sig->section,
                sig->section_count);
}

/* No record is free. When the transaction has all of them itself it can never have more: there are
 * as many as there may be, or the memory is with other kinds of records, which give nothing back.
 */
static uint32_t no_operation(const struct tc *tc, struct tc_trans *trans)
{
    const struct pool *pool = &tc->operations;
    if (pool->free != 0 || trans->op_count < pool->in_use) return ERR_TC_OPERATIONS;
    jam();
    trans->error_data = trans->op_count;
    return ERR_TC_OPERATIONS_LIMIT;
}

uint32_t tc_start_routed(struct tc *tc, struct tc_trans *trans, const struct signal *sig,
                         const struct tc_route *route, uint32_t flags, struct tc_op **started)
{
    const struct tckeyreq *req = SIG_PAYLOAD(sig, tckeyreq);
    bool write = key_operation_of(req->request_info) != OP_READ;
    uint32_t nodes;
    uint32_t error = choose_nodes(tc, route, write, &nodes);
    if (error != 0) return error;
    if (tc_client_slow(tc, sig->sender)) return ERR_SEND_BUFFER_FULL;
    struct tc_op *op = ERROR_INSERTED(&tc->block, 8001) ? NULL : pool_seize(&tc->operations);
    if (op == NULL) return no_operation(tc, trans);

    append_op(tc, trans, op);
    op->state = OP_PREPARING;
    op->table_id = req->table_id;
    op->api_op = req->api_op;
    op->fragment_id = route->fragment;
    op->nodes = nodes;
    op->flags = flags;
    if ((req->request_info & KEY_IGNORE_ERROR) != 0) op->flags |= OP_IGNORE_ERROR;
    if (!write || route->table->replicas == 1) op->flags |= OP_SINGLE_PHASE;
    route->table->users++;
    if ((flags & OP_ENTRY) != 0) route->table->entries++;
    trans->outstanding++;
    send_op(tc, trans, op, sig, route->hash);
    *started = op;
    return 0;
}

/* Only TRIX of this node may give rows their entries. */
static bool may_fill(const struct tc *tc, const struct signal *sig)
{
    const struct tckeyreq *req = SIG_PAYLOAD(sig, tckeyreq);
    return ref_node(sig->sender) == tc->own_node && sig->section_count == 2 &&
           (req->request_info & REQUEST_KIND_MASK) == key_request_info(OP_READ, LOCK_SHARED, 0);
}

uint32_t tc_start_op(struct tc *tc, struct tc_trans *trans, const struct signal *sig,
                     uint32_t flags, struct tc_op **started)
{
    bool write = key_operation_of(SIG_PAYLOAD(sig, tckeyreq)->request_info) != OP_READ;
    struct tc_route route;
    uint32_t error = check_request(sig);
    if (error == 0) error = tc_route(tc, sig, &route);
    if (error == 0 && write && route.table->base_id != 0)
        error = ERR_UNKNOWN_TABLE_TC; /* Only TC changes the entries of a unique index. */
    if (error == 0 && (flags & OP_FILL) != 0 && !may_fill(tc, sig)) error = ERR_TC_INTERNAL_203;
    return error != 0 ? error : tc_start_routed(tc, trans, sig, &route, flags, started);
}

static uint32_t start_request(struct tc *tc, struct tc_trans *trans, const struct signal *sig)
{
    struct tc_op *op;
    uint32_t request_info = SIG_PAYLOAD(sig, tckeyreq)->request_info;
    if ((request_info & KEY_FILL) != 0) return tc_start_op(tc, trans, sig, OP_FILL, &op);
    if ((request_info & KEY_UNIQUE) != 0) return tc_lookup_start(tc, trans, sig);
    return tc_start_op(tc, trans, sig, 0, &op);
}

/* One transaction may ask for so many changes: what is refused or left out later counts, what TC
 * adds for indexes and copies does not. */
static uint32_t count_change(const struct tc *tc, struct tc_trans *trans, uint32_t request_info)
{
    uint32_t most = block_config(&tc->block)->changes_max;
    if (key_operation_of(request_info) == OP_READ) return 0;
    if (trans->changes < most) {
        trans->changes++;
        return 0;
    }
    jam();
    trans->error_data = most;
    return ERR_TRANSACTION_TOO_BIG;
}

void tc_exec_TCKEYREQ(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct tckeyreq *req = SIG_PAYLOAD(sig, tckeyreq);

    if (tc_held(tc, sig, req->tc_connect, (req->request_info & KEY_START) != 0)) return;
    if ((req->request_info & REQUEST_KIND_MASK) == key_request_info(OP_READ, LOCK_COMMITTED, 0)) {
        tc_read_committed(tc, sig);
        return;
    }
    struct tc_connect *connect = tc_connect_find(tc, req->tc_connect, sig->sender);
    if (connect == NULL) {
        jam();
        struct tckeyref ref = refused(req, ERR_TC_INTERNAL_203);
        send_tckeyref(tc, sig->sender, &ref);
        return;
    }
    struct tc_trans *trans = trans_of_request(tc, connect, req);
    if (trans == NULL) return;
    trans->active_ms = now_ms(block);
    bool durable = (req->request_info & KEY_DURABLE) != 0;
    uint32_t error = durable ? tc_durable_error(tc) : 0;
    if (error == 0) error = count_change(tc, trans, req->request_info);
    if (error != 0) {
        jam();
        tc_abort_begin(tc, trans, error, req->api_op);
        return;
    }
    error = start_request(tc, trans, sig);
    if (error != 0 && (req->request_info & KEY_IGNORE_ERROR) == 0) {
        jam_data(error);
        tc_abort_begin(tc, trans, error, req->api_op);
        return;
    }
    if (error != 0) {
        jam_data(error);
        struct tckeyref ref = refused(req, error);
        send_tckeyref(tc, sig->sender, &ref);
    }
    if ((req->request_info & KEY_COMMIT) != 0) trans->flags |= TRANS_EXECUTE | TRANS_COMMIT_KEY;
    if (durable) trans->flags |= TRANS_DURABLE;
    if ((req->request_info & KEY_EXECUTE) != 0) trans->flags |= TRANS_EXECUTE;
    tc_batch_done(tc, trans);
}

void tc_batch_done(struct tc *tc, struct tc_trans *trans)
{
    if (trans->outstanding > 0 || trans->fires != 0) return;
    if ((trans->flags & (TRANS_EXECUTE | TRANS_COMMIT_REQ)) == 0) return;
    if ((trans->flags & (TRANS_COMMIT_KEY | TRANS_COMMIT_REQ)) != 0) {
        jam();
        if (__builtin_expect(tc->fail.marking, 0) && tc_has_broken(tc, trans))
            tc_abort_begin(tc, trans, ERR_NODE_FAILURE, REF_NONE); /* The walk would come later. */
        else
            tc_commit_begin(tc, trans);
        return;
    }
    jam();
    trans->flags &= ~(uint32_t)TRANS_EXECUTE;
    trans->active_ms = now_ms(&tc->block);
    const struct tc_connect *connect = tc_connect_get(tc, trans->connect);
    struct tckeyconf conf = {.api_connect = connect->api_connect,
                             .transid1 = trans->transid1,
                             .transid2 = trans->transid2};
    sig_send(&tc->block, connect->owner, GSN_TCKEYCONF, PRIO_B, &conf);
}

/* The operation that an LQH answers for, counted as answered; NULL for an answer that nobody waits
 * for: no LQH of ours does that, it is from a peer that breaks the protocol. */
static struct tc_op *answered_op(struct tc *tc, uint32_t sender, uint32_t ref, uint32_t transid1,
                                 uint32_t transid2)
{
    struct tc_op *op = pool_find(&tc->operations, ref);
    if (op != NULL && tc_broken(tc, op)) {
        jam(); /* Its end is ordered. */
        return NULL;
    }
    if (op != NULL && (op->state == OP_PREPARING || op->state == OP_PREPARING_ABORT)) {
        struct tc_trans *trans = tc_trans_get(tc, op->trans);
        if (trans->transid1 == transid1 && trans->transid2 == transid2) {
            ndbrequire(trans->outstanding > 0); /* I-TC-3 */
            trans->outstanding--;
            trans->active_ms = now_ms(&tc->block);
            return op;
        }
    }
    jam();
    if (tc_lenient(tc)) return NULL; /* Resolved meanwhile. */
    tc_protocol_error(tc, sender, "answer for an unknown operation");
    return NULL;
}

/* At most one fires for each unique index and one for the copies, and not fewer than have come. */
static bool fired_possible(struct tc *tc, const struct lqhkeyconf *conf)
{
    const struct tc_op *op = pool_find(&tc->operations, conf->tc_op);
    if (op == NULL || op->state != OP_PREPARING) return conf->fired <= TABLE_UNIQUE_MAX + 1u;
    return conf->fired <= tc_fires_max(tc, op) && (int32_t)conf->fired + op->fires >= 0;
}

void tc_exec_LQHKEYCONF(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct lqhkeyconf *conf = SIG_PAYLOAD(sig, lqhkeyconf);
    if (!fired_possible(tc, conf)) {
        jam();
        tc_protocol_error(tc, sig->sender, "LQHKEYCONF with an impossible count of what has fired");
        return;
    }
    struct tc_op *op = answered_op(tc, sig->sender, conf->tc_op, conf->transid1, conf->transid2);
    if (op == NULL) return;
    struct tc_trans *trans = tc_trans_get(tc, op->trans);
    op->lqh_ref = sig->sender;
    op->lqh_op = conf->lqh_op;
    if (op->state == OP_PREPARING) {
        tc_op_move(op, OP_PREPARED);
        op->fires += (int32_t)conf->fired;
        trans->fires += (int32_t)conf->fired;
        if (trans->state != TRANS_STARTED) return;
        if (op->lookup != REF_NONE) {
            jam(); /* No LQH of ours confirms a read before its row. */
            tc_protocol_error(tc, sig->sender, "unique index entry without its row");
            tc_abort_begin(tc, trans, ERR_NODE_FAILURE, op->api_op);
            return;
        }
        tc_batch_done(tc, trans);
        return;
    }
    jam(); /* The abort went past this operation while it was being prepared. */
    ndbrequire(trans->state == TRANS_ABORTING);
    struct tc_train train;
    tc_train_begin(&train, tc, GSN_ABORT, trans);
    tc_op_move(op, OP_ABORTING);
    trans->waiting++;
    tc_train_add(&train, op, trans->transid1, 0);
    tc_train_send(&train);
}

/* A read without record that its LQH could not answer itself, because it has no link to the client.
 */
static void forward_read_refusal(struct tc *tc, const struct lqhkeyref *ref)
{
    uint32_t client = ref->prev_ref;
    if ((peer_class(&tc->block, ref_node(client)) & FROM_CLIENTS) == 0) {
        jam();
        return;
    }
    jam();
    struct tckeyref out = {.api_op = ref->prev_op,
                           .transid1 = ref->transid1,
                           .transid2 = ref->transid2,
                           .error = ref->error};
    send_tckeyref(tc, client, &out);
}

/* A backup refused: what the replicas before it have done is undone along the chain, with the whole
 * transaction. */
static void refused_by_backup(struct tc *tc, struct tc_trans *trans, struct tc_op *op,
                              const struct lqhkeyref *ref)
{
    op->lqh_ref = ref->prev_ref;
    op->lqh_op = ref->prev_op;
    if (trans->state == TRANS_ABORTING && op->state == OP_PREPARING_ABORT) {
        jam();
        struct tc_train train;
        tc_train_begin(&train, tc, GSN_ABORT, trans);
        tc_op_move(op, OP_ABORTING);
        trans->waiting++;
        tc_train_add(&train, op, trans->transid1, 0);
        tc_train_send(&train);
        return;
    }
    jam();
    tc_op_move(op, OP_PREPARED); /* PREPARED means here only that ABORT can be sent for it. */
    if (trans->state == TRANS_STARTED) tc_abort_begin(tc, trans, ref->error, op->api_op);
}

void tc_exec_LQHKEYREF(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct lqhkeyref *ref = SIG_PAYLOAD(sig, lqhkeyref);
    if (ref->tc_op == REF_NONE) {
        forward_read_refusal(tc, ref);
        return;
    }
    struct tc_op *op = answered_op(tc, sig->sender, ref->tc_op, ref->transid1, ref->transid2);
    if (op == NULL) return;
    struct tc_trans *trans = tc_trans_get(tc, op->trans);
    if (ref->prev_ref != 0 && ref_block(ref->prev_ref) == BLOCK_DBLQH &&
        ref_instance(ref->prev_ref) != 0) {
        refused_by_backup(tc, trans, op, ref);
        return;
    }
    uint32_t api_op = op->api_op;
    uint32_t error = ref->error;
    bool ignore = (op->flags & OP_IGNORE_ERROR) != 0;
    bool forgiven = tc_entry_forgiven(tc, op, error);
    if (!forgiven && tc_entry_taken(op, error)) {
        jam();
        error = ERR_UNIQUE_DUPLICATE;
        /* In other states it has an error already. */
        if (trans->state == TRANS_STARTED) trans->error_data = op->table_id;
    }
    tc_op_release(tc, trans, op);
    if (trans->state == TRANS_ABORTING) {
        jam();
        tc_abort_done(tc, trans);
    } else if (ignore || forgiven) {
        jam();
        if (!forgiven) tc_refuse_op(tc, trans, api_op, error);
        tc_batch_done(tc, trans);
    } else {
        jam();
        tc_abort_begin(tc, trans, error, api_op);
    }
}
