/* trix.c -- TRIX: DBDICT's orders, the connect records that it works with, its end. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TRIX is a client of the own TCs, in the master's node. It reads the table and has each row's
 * primary fire for the row as it is; TC makes the entry. Nothing is kept of how far it is: what
 * fails is tried again, a scan from its beginning, and a row that has its entry already keeps it.
 * So when the master is lost the next one's TRIX does all of it once more. See
 * docs/protocols/unique_index.md.
 */
#include <string.h>
#include "blocks/trix/trix_state.h"

#define TICK_MS     10u
#define TELL_MS     500u
#define PATIENCE_MS 60000u /* What has failed so long for a passing reason fails the whole. */

static const uint8_t moves[TRIX_STATES] = {
    [TRIX_IDLE] = 1u << TRIX_SEIZING,
    [TRIX_SEIZING] = 1u << TRIX_COUNTING | 1u << TRIX_RELEASING,
    [TRIX_COUNTING] = 1u << TRIX_WALKING | 1u << TRIX_RELEASING,
    [TRIX_WALKING] = 1u << TRIX_PAUSING | 1u << TRIX_SETTLING | 1u << TRIX_RELEASING,
    [TRIX_PAUSING] = 1u << TRIX_WALKING | 1u << TRIX_RELEASING,
    [TRIX_SETTLING] = 1u << TRIX_RELEASING,
    [TRIX_RELEASING] = 1u << TRIX_IDLE,
};

void trix_move(struct trix *trix, enum trix_state state)
{
    jam_data(state);
    ndbrequire((moves[trix->state] >> state & 1u) != 0); /* I-TRIX-1 */
    trix->state = state;
}

uint32_t trix_next_transid(struct trix *trix)
{
    if (++trix->transid2 == 0) trix->transid2 = 1;
    return trix->transid2;
}

bool trix_patient(const struct trix *trix, uint32_t error, uint64_t since_ms)
{
    if (trix->error != 0 || error_status(error) != ERROR_STATUS_TEMPORARY) return false;
    return now_ms(&trix->block) <= since_ms + PATIENCE_MS;
}

bool trix_of_own(struct trix *trix, const struct signal *sig)
{
    uint32_t node = ref_node(sig->sender);
    if (node == ref_node(trix->block.ref)) return true;
    jam();
    peer_refuse(&trix->block, node, "an answer to TRIX that only its own node gives");
    return false;
}

/* --- Connect records. --- */

static void seize(struct trix *trix, uint32_t number, uint32_t *tc_ref)
{
    uint32_t count = block_instances(&trix->block, BLOCK_DBTC);
    struct tcseizereq req = {.sender_data = number};
    *tc_ref = block_ref(ref_node(trix->block.ref), BLOCK_DBTC, 1u + number % count);
    trix->waiting++;
    sig_send(&trix->block, *tc_ref, GSN_TCSEIZEREQ, PRIO_B, &req);
}

static void seize_all(struct trix *trix)
{
    trix_move(trix, TRIX_SEIZING);
    seize(trix, TRIX_SCAN_DATA, &trix->scan.tc_ref);
    for (uint32_t i = 0; i < TRIX_SLOTS; i++)
        seize(trix, i, &trix->slot[i].tc_ref);
}

/* A request for a connect record is answered. With fewer than wanted it takes longer. */
static void seized(struct trix *trix)
{
    uint32_t slots = 0;
    if (--trix->waiting > 0) return;
    for (uint32_t i = 0; i < TRIX_SLOTS; i++)
        slots += trix->slot[i].tc_connect != REF_NONE;
    trix->lane_count = slots / TRIX_BATCH;
    jam_data(slots);
    if (trix->error == 0 && (trix->lane_count == 0 || trix->scan.tc_connect == REF_NONE))
        trix->error = trix->seize_error;
    if (trix->error != 0)
        trix_look(trix);
    else
        trix_count_begin(trix);
}

static void trix_exec_TCSEIZECONF(struct block *block, const struct signal *sig)
{
    struct trix *trix = trix_of(block);
    const struct tcseizeconf *conf = SIG_PAYLOAD(sig, tcseizeconf);
    if (!trix_of_own(trix, sig)) return;
    ndbrequire(trix->state == TRIX_SEIZING && conf->sender_data <= TRIX_SCAN_DATA);
    if (conf->sender_data == TRIX_SCAN_DATA)
        trix->scan.tc_connect = conf->tc_connect;
    else
        trix->slot[conf->sender_data].tc_connect = conf->tc_connect;
    seized(trix);
}

static void trix_exec_TCSEIZEREF(struct block *block, const struct signal *sig)
{
    struct trix *trix = trix_of(block);
    if (!trix_of_own(trix, sig)) return;
    ndbrequire(trix->state == TRIX_SEIZING);
    trix->seize_error = SIG_PAYLOAD(sig, tcseizeref)->error;
    jam_data(trix->seize_error);
    seized(trix);
}

static void release(struct trix *trix, uint32_t tc_ref, uint32_t *tc_connect)
{
    struct tcreleasereq req = {.tc_connect = *tc_connect};
    if (*tc_connect == REF_NONE) return;
    *tc_connect = REF_NONE;
    trix->waiting++;
    sig_send(&trix->block, tc_ref, GSN_TCRELEASEREQ, PRIO_B, &req);
}

/* --- The end. --- */

static void answer(struct trix *trix)
{
    uint32_t receiver = trix->sender;
    struct build_indx_conf conf = {.sender_data = trix->job.sender_data,
                                   .rows_lo = (uint32_t)trix->rows,
                                   .rows_hi = (uint32_t)(trix->rows >> 32)};
    struct build_indx_ref ref = {.sender_data = trix->job.sender_data, .error = trix->error};
    trix_move(trix, TRIX_IDLE);
    trix->sender = 0;
    jam_data(trix->error);
    if (trix->error != 0)
        sig_send(&trix->block, receiver, GSN_BUILD_INDX_REF, PRIO_B, &ref);
    else
        sig_send(&trix->block, receiver, GSN_BUILD_INDX_CONF, PRIO_B, &conf);
}

static void release_all(struct trix *trix)
{
    trix_move(trix, TRIX_RELEASING);
    release(trix, trix->scan.tc_ref, &trix->scan.tc_connect);
    for (uint32_t i = 0; i < TRIX_SLOTS; i++)
        release(trix, trix->slot[i].tc_ref, &trix->slot[i].tc_connect);
    if (trix->waiting == 0) answer(trix);
}

static void trix_exec_TCRELEASECONF(struct block *block, const struct signal *sig)
{
    struct trix *trix = trix_of(block);
    if (!trix_of_own(trix, sig)) return;
    ndbrequire(trix->state == TRIX_RELEASING && trix->waiting > 0);
    if (--trix->waiting == 0) answer(trix);
}

/* A row that the walk has seen to be deleted could otherwise be back after the loss of all nodes,
 * without its entry. */
static void settle(struct trix *trix)
{
    trix_move(trix, TRIX_SETTLING);
    if (block_config(&trix->block)->diskless) {
        jam();
        release_all(trix);
        return;
    }
    struct wait_durable_req req = {.gci_hi = DURABLE_ALL};
    jam();
    trix->settling = true;
    sig_send(&trix->block, trix->scan.tc_ref, GSN_WAIT_DURABLE_REQ, PRIO_B, &req);
}

static void trix_exec_WAIT_DURABLE_CONF(struct block *block, const struct signal *sig)
{
    struct trix *trix = trix_of(block);
    if (!trix_of_own(trix, sig)) return;
    ndbrequire(trix->settling);
    jam();
    trix->settling = false;
    trix_look(trix);
}

static void trix_exec_WAIT_DURABLE_REF(struct block *block, const struct signal *sig)
{
    struct trix *trix = trix_of(block);
    if (!trix_of_own(trix, sig)) return;
    ndbrequire(trix->settling);
    trix->settling = false;
    trix_fail(trix, SIG_PAYLOAD(sig, wait_durable_ref)->error);
}

void trix_look(struct trix *trix)
{
    if (trix->busy > 0 || trix->scan.open || trix->settling) return;
    if (trix->state == TRIX_SEIZING && trix->waiting > 0) return;
    if (trix->state == TRIX_IDLE || trix->state == TRIX_RELEASING) return;
    if (trix->error != 0 || trix->state == TRIX_SETTLING)
        release_all(trix);
    else if (trix->state == TRIX_WALKING)
        settle(trix);
}

void trix_fail(struct trix *trix, uint32_t error)
{
    if (trix->error == 0) {
        jam_data(error);
        trix->error = error;
        trix_slots_drop(trix);
        trix_scan_close(trix);
    }
    trix_look(trix);
}

/* --- Orders, and what goes on by itself. --- */

static void tell(struct trix *trix)
{
    uint64_t now = now_ms(&trix->block);
    if (trix->state != TRIX_WALKING || now < trix->told_ms + TELL_MS) return;
    uint64_t total = trix->total > trix->rows ? trix->total : trix->rows; /* Rows may be new. */
    struct build_indx_rep rep = {.sender_data = trix->job.sender_data,
                                 .rows_lo = (uint32_t)trix->rows,
                                 .rows_hi = (uint32_t)(trix->rows >> 32),
                                 .total_lo = (uint32_t)total,
                                 .total_hi = (uint32_t)(total >> 32)};
    jam();
    trix->told_ms = now;
    sig_send(&trix->block, trix->sender, GSN_BUILD_INDX_REP, PRIO_B, &rep);
}

static void trix_exec_CONTINUEB(struct block *block, const struct signal *sig)
{
    struct trix *trix = trix_of(block);
    const struct continueb *tick = SIG_PAYLOAD(sig, continueb);
    if (trix->state == TRIX_IDLE || tick->work != trix->job.sender_data) return;
    trix_slots_again(trix);
    tell(trix);
    if (trix->state == TRIX_PAUSING && trix->busy == 0) trix_walk_begin(trix);
    sig_send_delayed(block, block->ref, GSN_CONTINUEB, PRIO_B, tick, TICK_MS);
}

static void trix_exec_BUILD_INDX_REQ(struct block *block, const struct signal *sig)
{
    struct trix *trix = trix_of(block);
    struct continueb tick = {.work = SIG_PAYLOAD(sig, build_indx_req)->sender_data};
    const struct section *columns = &sig->section[0];
    ndbrequire(trix->state == TRIX_IDLE && columns->size <= TABLE_KEY_COLUMNS_MAX);
    trix->sender = sig->sender;
    trix->job = *SIG_PAYLOAD(sig, build_indx_req);
    trix->column_count = columns->size;
    memcpy(trix->column, columns->words, columns->size * 4u);
    trix->error = 0;
    trix->rows = trix->total = 0;
    trix->told_ms = trix->moved_ms = now_ms(block);
    jam_data(trix->job.table_id);
    seize_all(trix);
    sig_send_delayed(block, block->ref, GSN_CONTINUEB, PRIO_B, &tick, TICK_MS);
}

static void trix_exec_BUILD_INDX_CANCEL_ORD(struct block *block, const struct signal *sig)
{
    struct trix *trix = trix_of(block);
    uint32_t sender_data = SIG_PAYLOAD(sig, build_indx_cancel_ord)->sender_data;
    if (trix->state == TRIX_IDLE || trix->job.sender_data != sender_data) return;
    trix_fail(trix, ERR_SCHEMA_ABORTED);
}

static void trix_exec_READ_CONFIG_REQ(struct block *block, const struct signal *sig)
{
    struct read_config_conf conf = {.sender_data = SIG_PAYLOAD(sig, read_config_req)->sender_data};
    jam();
    sig_send(block, sig->sender, GSN_READ_CONFIG_CONF, PRIO_B, &conf);
}

/* I-TRIX-2: so many slots are in use; those of a batch belong to its lane; in rest there is
 * nothing. */
static void trix_check(struct block *block)
{
    const struct trix *trix = trix_of(block);
    uint32_t busy = 0;
    for (uint32_t i = 0; i < TRIX_SLOTS; i++) {
        const struct trix_slot *slot = &trix->slot[i];
        ndbrequire(slot->state == SLOT_FREE || slot->tc_connect != REF_NONE);
        busy += slot->state != SLOT_FREE;
    }
    ndbrequire(busy == trix->busy);
    for (uint32_t i = 0; i < TRIX_LANES; i++)
        ndbrequire(trix->lane[i].finished <= trix->lane[i].received);
    if (trix->state == TRIX_IDLE)
        ndbrequire(busy == 0 && !trix->scan.open && !trix->settling && trix->waiting == 0);
}

static const struct handler trix_handlers[] = {
    HANDLER(trix, READ_CONFIG_REQ, read_config_req),
    HANDLER(trix, BUILD_INDX_REQ, build_indx_req),
    HANDLER(trix, BUILD_INDX_CANCEL_ORD, build_indx_cancel_ord),
    HANDLER(trix, CONTINUEB, continueb),
    HANDLER(trix, TCSEIZECONF, tcseizeconf),
    HANDLER(trix, TCSEIZEREF, tcseizeref),
    HANDLER(trix, TCRELEASECONF, tcreleaseconf),
    HANDLER(trix, SCAN_TABCONF, scan_tabconf),
    HANDLER(trix, SCAN_TABREF, scan_tabref),
    HANDLER(trix, TRANSID_AI, transid_ai),
    HANDLER(trix, TCKEYCONF, tckeyconf),
    HANDLER(trix, TCKEYREF, tckeyref),
    HANDLER(trix, TCROLLBACKREP, tcrollbackrep),
    HANDLER(trix, WAIT_DURABLE_CONF, wait_durable_conf),
    HANDLER(trix, WAIT_DURABLE_REF, wait_durable_ref),
};

static const struct block_type trix_type = {
    .name = "TRIX",
    .block_no = BLOCK_TRIX,
    .handlers = trix_handlers,
    .handler_count = sizeof trix_handlers / sizeof trix_handlers[0],
    .check = trix_check,
};

struct block *trix_create(struct thread *thread, uint32_t instance)
{
    return block_create(thread, &trix_type, instance, sizeof(struct trix));
}
