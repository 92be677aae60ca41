/* lqh_copy_target.c -- this node comes back: gets the rows of a table's fragments from others. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/failure/lqh_copy_source.h"
#include "blocks/dblqh/failure/lqh_copy_target.h"
#include "blocks/dblqh/failure/lqh_include.h"
#include "blocks/dblqh/key/lqh_op.h"
#include "blocks/dblqh/schema/lqh_table.h"
#include "signals/copy.h"
#include "signals/dict.h"
#include "signals/lqhkey.h"
#include "signals/rejoin.h"
#include "values/errors.h"
#include "values/table_version.h"

#define AGAIN_MS 20u  /* Time after which a source that was short of records is asked again. */
#define TELL_MS  500u /* Time between two COPY_PART_REPs. */

void lqh_copy_init(struct lqh *lqh)
{
    const struct node_config *config = block_config(&lqh->block);
    struct arena *arena = block_arena(&lqh->block);
    pool_init(&lqh->copies, arena, RG_TRANSACTION, sizeof(struct lqh_copy_source), LQH_COPIES_MAX);
    if (config->survive == 0) return;
    lqh->copy.source = block_alloc(&lqh->block, RG_TRANSACTION, TABLE_FRAGMENTS_MAX);
}

/* --- A table. --- */

static void table_end(struct lqh *lqh)
{
    struct lqh_copy *copy = &lqh->copy;
    copy->sender = 0;
    memset(copy->target, 0, sizeof copy->target);
    copy->running = 0;
    lqh_table_leave(lqh, copy->table_id);
}

/* DICT ends the node. What is still on its way is ignored. */
static void table_fail(struct lqh *lqh, uint32_t fragment_id, uint32_t error)
{
    struct lqh_copy *copy = &lqh->copy;
    struct copy_table_ref ref = {
        .sender_data = copy->sender_data, .table_id = copy->table_id, .error = error};
    log_error(&lqh->block, "Fragment %u of table %u cannot be copied from node %u: error %u, %s",
              fragment_id, copy->table_id, copy->source[fragment_id], error,
              error_get(error)->text);
    sig_send(&lqh->block, copy->sender, GSN_COPY_TABLE_REF, PRIO_B, &ref);
    copy->failed = true;
    table_end(lqh);
}

static void table_done(struct lqh *lqh)
{
    struct lqh_copy *copy = &lqh->copy;
    struct copy_table_conf conf = {
        .sender_data = copy->sender_data,
        .table_id = copy->table_id,
        .rows = copy_rows_of(copy->own, copy->rows, copy->kept, copy->removed),
        .bytes_lo = (uint32_t)copy->bytes,
        .bytes_hi = (uint32_t)(copy->bytes >> 32)};
    jam();
    sig_send(&lqh->block, copy->sender, GSN_COPY_TABLE_CONF, PRIO_B, &conf);
    table_end(lqh);
}

static void ask(struct lqh *lqh, struct lqh_copy_target *target)
{
    const struct lqh_copy *copy = &lqh->copy;
    struct copy_fragreq req = {.target = target->no,
                               .table_id = copy->table_id,
                               .version = copy->version,
                               .fragment_id = target->fragment_id,
                               .rank = lqh->include.life[lqh->own_node].rank,
                               .gci = target->gci};
    uint32_t key = fragment_instance_key(target->fragment_id);
    const struct lqh_table *table = lqh_table_get(lqh, copy->table_id);
    if (target->gci != 0)
        target->pages = tup_copy_pages(tup_frag_get(lqh->tup, table->frags[target->fragment_id]));
    req.pages = target->pages;
    sig_send(&lqh->block, block_ref(copy->source[target->fragment_id], BLOCK_DBLQH, key),
             GSN_COPY_FRAGREQ, PRIO_B, &req);
}

static struct lqh_copy_target *free_target(struct lqh_copy *copy)
{
    for (uint32_t i = 0; i < LQH_COPY_PARALLEL; i++) {
        if (copy->target[i].no == 0) return &copy->target[i];
    }
    return NULL;
}

/* The rows that the fragment has from its files: nothing is executed before the source is asked. */
static uint64_t rows_of(struct lqh *lqh, uint32_t frag)
{
    struct tup_frag_figures figures;
    tup_frag_figures_get(tup_frag_get(lqh->tup, frag), &figures);
    return figures.rows;
}

/* Starts as many fragments as there are places; ends the table when there are no more. */
static void start_fragments(struct lqh *lqh)
{
    struct lqh_copy *copy = &lqh->copy;
    const struct lqh_table *table = lqh_table_get(lqh, copy->table_id);
    struct lqh_copy_target *target = free_target(copy);
    for (; target != NULL && copy->next < table->fragment_count; copy->next++) {
        if (table->frags[copy->next] == REF_NONE) continue;
        if (copy->source[copy->next] == 0) {
            table_fail(lqh, copy->next, ERR_NODE_FAILURE);
            return;
        }
        jam();
        if (++copy->last_no == 0) copy->last_no = 1;
        *target = (struct lqh_copy_target){
            .no = copy->last_no, .fragment_id = copy->next, .gci = lqh->include.gci};
        copy->running++;
        copy->own += rows_of(lqh, table->frags[copy->next]);
        ask(lqh, target);
        target = free_target(copy);
    }
    if (copy->running == 0) table_done(lqh);
}

/* The acting primary: the first one of the chain that is there. */
static uint32_t source_of(const struct lqh *lqh, const uint32_t *nodes, uint32_t replicas)
{
    for (uint32_t i = 0; i < replicas; i++) {
        uint32_t node = nodes[i];
        if (node == 0 || node > DATA_NODE_ID_MAX || node == lqh->own_node) continue;
        if (node_mask_has(&lqh->fail.lost, node)) continue;
        if (peer_class(&lqh->block, node) == FROM_DATA) return node;
    }
    return 0;
}

static uint32_t take_sources(struct lqh *lqh, const struct lqh_table *table,
                             const struct section *section)
{
    if (section->size < DISTRIBUTION_HEAD_WORDS) return ERR_TABLE_FORMAT;
    uint32_t fragments = section->words[0];
    uint32_t replicas = section->words[1];
    if (fragments != table->fragment_count || replicas == 0 || replicas > REPLICAS_MAX ||
        section->size < DISTRIBUTION_HEAD_WORDS + fragments * replicas)
        return ERR_TABLE_FORMAT;
    const uint32_t *nodes = section->words + DISTRIBUTION_HEAD_WORDS;
    lqh->copy.fragments = 0;
    for (uint32_t f = 0; f < fragments; f++, nodes += replicas) {
        lqh->copy.source[f] = (uint8_t)source_of(lqh, nodes, replicas);
        lqh->copy.fragments += table->frags[f] != REF_NONE;
    }
    return 0;
}

void lqh_exec_COPY_TABLE_REQ(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    struct lqh_copy *copy = &lqh->copy;
    const struct copy_table_req *req = SIG_PAYLOAD(sig, copy_table_req);
    struct lqh_table *table = req->table_id < lqh->table_count ? lqh->table[req->table_id] : NULL;
    ndbrequire(copy->source != NULL && copy->sender == 0); /* DICT waits for each answer. */
    uint32_t error = table == NULL                  ? ERR_UNKNOWN_TABLE_LQH
                     : table->state != TABLE_ONLINE ? ERR_TABLE_DROPPING
                     : table->version != table_version_major(req->version)
                         ? ERR_SCHEMA_VERSION_LQH
                         : take_sources(lqh, table, &sig->section[0]);
    if (error != 0) {
        jam_data(error);
        struct copy_table_ref ref = {
            .sender_data = req->sender_data, .table_id = req->table_id, .error = error};
        sig_send(block, sig->sender, GSN_COPY_TABLE_REF, PRIO_B, &ref);
        return;
    }
    table->users++;
    copy->sender = sig->sender;
    copy->sender_data = req->sender_data;
    copy->table_id = req->table_id;
    copy->version = table->version;
    copy->next = 0;
    copy->done = 0;
    copy->running = 0;
    copy->rows = copy->bytes = copy->own = copy->kept = copy->removed = 0;
    start_fragments(lqh);
}

/* --- A fragment. --- */

static void tell(struct lqh *lqh)
{
    struct lqh_copy *copy = &lqh->copy;
    uint64_t parts = copy->done * 1000ull;
    if (now_ms(&lqh->block) < copy->told_ms + TELL_MS) return;
    copy->told_ms = now_ms(&lqh->block);
    for (uint32_t i = 0; i < LQH_COPY_PARALLEL; i++) {
        if (copy->target[i].no != 0) parts += copy->target[i].permille;
    }
    struct copy_part_rep rep = {.table_id = copy->table_id,
                                .permille = (uint32_t)(parts / copy->fragments)};
    sig_send(&lqh->block, copy->sender, GSN_COPY_PART_REP, PRIO_B, &rep);
}

/* The copy for which this source sends; NULL: nobody waits for what it sends. */
static struct lqh_copy_target *target_of(struct lqh *lqh, const struct signal *sig, uint32_t no)
{
    struct lqh_copy *copy = &lqh->copy;
    for (uint32_t i = 0; i < LQH_COPY_PARALLEL && no != 0; i++) {
        struct lqh_copy_target *target = &copy->target[i];
        if (target->no == no && lqh_copy_peer(lqh, sig->sender) &&
            copy->source[target->fragment_id] == ref_node(sig->sender))
            return target;
    }
    /* After a failure this node is about to end. */
    if (!copy->failed) lqh_protocol_error(lqh, sig->sender, "rows that nobody has asked for");
    return NULL;
}

/* Looks at the next row from *at on. False when it cannot be one. */
static bool row_parse(struct tup_restore_req *req, const struct section *section, uint32_t *at)
{
    const uint32_t *words = section->words + *at;
    uint32_t left = section->size - *at;
    if (left < COPY_ROW_HEAD_WORDS) return false;
    req->attr_words = words[0] & 0xFFFFu;
    if (req->attr_words > left - COPY_ROW_HEAD_WORDS) return false;
    req->row = tup_row_id(req->frag, words[1], words[0] >> 16);
    req->gci = words[2];
    req->attr = words + COPY_ROW_HEAD_WORDS;
    *at += COPY_ROW_HEAD_WORDS + req->attr_words;
    return req->row != ROW_NONE;
}

/* The fragment that is being got just now; NULL: it is not its turn yet. */
static struct lqh_copy_target *target_at(struct lqh *lqh, uint32_t table_id, uint32_t fragment_id)
{
    struct lqh_copy *copy = &lqh->copy;
    for (uint32_t i = 0; i < LQH_COPY_PARALLEL; i++) {
        struct lqh_copy_target *target = &copy->target[i];
        if (copy->sender != 0 && copy->table_id == table_id && target->no != 0 &&
            target->fragment_id == fragment_id)
            return target;
    }
    return NULL;
}

static struct tup_copy_old old_of(struct lqh *lqh, const struct lqh_table *table,
                                  uint32_t fragment_id)
{
    const struct lqh_copy_target *target = target_at(lqh, table->table_id, fragment_id);
    struct tup_copy_old old = {.frag = tup_frag_get(lqh->tup, table->frags[fragment_id]),
                               .key_def = (const struct table_def *)(const void *)table->key_def,
                               .gci = lqh->include.gci};
    if (target != NULL) old.told = target->told;
    return old;
}

/*
 * Old rows that are gone at the source go here too. Those that stay must be the same there, but for
 * those that operations have changed which overtook this batch.
 */
static uint32_t sweep(struct lqh *lqh, struct lqh_copy_target *target, struct tup_copy_old *old,
                      const struct signal *sig)
{
    const struct copy_rows_rep *rep = SIG_PAYLOAD(sig, copy_rows_rep);
    const struct tup_scan_position to = {rep->to_page, rep->to_slot};
    struct tup_copy_swept swept;
    if (target->gci == 0) return sig->section_count == 1 ? 0 : ERR_DATA_CORRUPT;
    if (sig->section_count != 2) return ERR_DATA_CORRUPT;
    uint32_t error =
        tup_copy_sweep(lqh->tup, old, &to, sig->section[1].words, sig->section[1].size, &swept);
    if (error != 0) return error;
    uint32_t changed = rep->same - swept.rows;
    if (swept.rows > rep->same || changed > target->early ||
        (changed == 0 && swept.sum != rep->sum)) {
        log_error(&lqh->block,
                  "table %u, fragment %u, page %u: %u rows here, sum %x, but %u, %x there",
                  lqh->copy.table_id, target->fragment_id, to.page, swept.rows, swept.sum,
                  rep->same, rep->sum);
        return ERR_ROW_ID_TAKEN;
    }
    target->told = to;
    target->kept += rep->same;
    target->removed += swept.removed;
    return 0;
}

/* Asks the memory for all rows' places in the index, then puts them. */
static uint32_t put_rows(struct lqh *lqh, const struct tup_copy_old *old,
                         const struct section *section, uint32_t rows)
{
    struct tup_restore_req req[COPY_BATCH_ROWS];
    uint32_t at = 0;
    for (uint32_t i = 0; i < rows; i++) {
        req[i] = (struct tup_restore_req){.frag = old->frag, .key_def = old->key_def};
        if (!row_parse(&req[i], section, &at)) return ERR_DATA_CORRUPT;
        tup_restore_ahead(&req[i]);
    }
    if (at != section->size) return ERR_DATA_CORRUPT;
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t error = tup_copy_put(lqh->tup, &req[i], old);
        if (error != 0) return error;
    }
    return 0;
}

void lqh_exec_COPY_ROWS_REP(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct copy_rows_rep *rep = SIG_PAYLOAD(sig, copy_rows_rep);
    struct lqh_copy_target *target = target_of(lqh, sig, rep->target);
    if (target == NULL) return;
    if (rep->batch != target->batch || rep->rows > COPY_BATCH_ROWS || rep->permille > 1000u) {
        lqh_protocol_error(lqh, sig->sender, "COPY_ROWS_REP that cannot be the next");
        return;
    }
    struct tup_copy_old old =
        old_of(lqh, lqh_table_get(lqh, lqh->copy.table_id), target->fragment_id);
    uint32_t error = sweep(lqh, target, &old, sig);
    if (error == 0) error = put_rows(lqh, &old, &sig->section[0], rep->rows);
    if (error != 0) {
        table_fail(lqh, target->fragment_id, error);
        return;
    }
    target->batch++;
    target->permille = rep->permille;
    target->rows += rep->rows;
    target->bytes += (sig->section[0].size - rep->rows * COPY_ROW_HEAD_WORDS) * 4u;
    struct copy_rows_conf conf = {
        .source = rep->source, .target = rep->target, .batch = rep->batch};
    sig_send(block, sig->sender, GSN_COPY_ROWS_CONF, PRIO_B, &conf);
    tell(lqh);
    /* The checkpoint behind the copy begins with what is learnt here. */
    (void)lqh_copy_pace(block, COPY_PACE_FIRST);
}

void lqh_exec_COPY_FRAGCONF(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    struct lqh_copy *copy = &lqh->copy;
    const struct copy_fragconf *conf = SIG_PAYLOAD(sig, copy_fragconf);
    struct lqh_copy_target *target = target_of(lqh, sig, conf->target);
    if (target == NULL) return;
    if (target->rows != ((uint64_t)conf->rows_hi << 32 | conf->rows_lo) ||
        target->told.page < target->pages) {
        lqh_protocol_error(lqh, sig->sender, "COPY_FRAGCONF with another number of rows");
        return;
    }
    jam();
    uint32_t fragment_id = target->fragment_id;
    uint32_t frag = lqh_table_get(lqh, copy->table_id)->frags[fragment_id];
    tup_copy_end(tup_frag_get(lqh->tup, frag), conf->gci);
    copy->rows += target->rows;
    copy->kept += target->kept;
    copy->removed += target->removed;
    copy->bytes += target->bytes;
    copy->done++;
    copy->running--;
    target->no = 0;
    lqh_fragment_copied(lqh, copy->table_id, fragment_id);
    start_fragments(lqh);
}

void lqh_exec_COPY_FRAGREF(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct copy_fragref *ref = SIG_PAYLOAD(sig, copy_fragref);
    struct lqh_copy_target *target = target_of(lqh, sig, ref->target);
    if (target == NULL) return;
    if (error_status(ref->error) == ERROR_STATUS_TEMPORARY && target->batch == 0) {
        jam();
        lqh_continue_later(lqh, LQH_WORK_COPY_AGAIN, target->no, AGAIN_MS);
        return;
    }
    table_fail(lqh, target->fragment_id, ref->error);
}

void lqh_copy_again(struct lqh *lqh, uint32_t no)
{
    for (uint32_t i = 0; i < LQH_COPY_PARALLEL; i++) {
        if (lqh->copy.target[i].no == no) ask(lqh, &lqh->copy.target[i]);
    }
}

/* --- Operations meanwhile. --- */

/*
 * The operation may have overtaken the batch that tells of its place. No room is made for a row
 * that the primary has: if that is here unchanged, its transaction is being aborted.
 */
void lqh_copy_meanwhile(struct lqh *lqh, const struct lqh_op *op, uint32_t *row)
{
    const struct tup_scan_position at = {op->wanted_page, op->wanted_slot};
    if (lqh->include.gci == 0) return;
    struct lqh_copy_target *target = target_at(lqh, op->table_id, op->fragment_id);
    struct tup_copy_old old = old_of(lqh, lqh_table_get(lqh, op->table_id), op->fragment_id);
    if (target != NULL && !tup_position_below(&at, &target->told)) target->early++;
    if (key_operation_of(op->request_info) != OP_INSERT || (op->chain & CHAIN_AGAIN) != 0) return;
    if (*row != ROW_NONE && tup_copy_drop(lqh->tup, &old, *row)) {
        jam();
        *row = ROW_NONE;
    }
    (void)tup_copy_drop(lqh->tup, &old, tup_row_id(old.frag, op->wanted_page, op->wanted_slot));
}
