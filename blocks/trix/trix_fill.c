/* trix_fill.c -- a row gets its entry: one transaction each, that reads the row with a shared lock
 * and has its primary fire. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/trix/trix_state.h"

struct trix_slot *trix_slot_free(struct trix *trix)
{
    for (uint32_t i = 0; i < TRIX_SLOTS; i++) {
        struct trix_slot *slot = &trix->slot[i];
        if (slot->state == SLOT_FREE && slot->tc_connect != REF_NONE) return slot;
    }
    return NULL;
}

static void send(struct trix *trix, struct trix_slot *slot)
{
    slot->transid2 = trix_next_transid(trix);
    struct tckeyreq req = {
        .tc_connect = slot->tc_connect,
        .api_op = (uint32_t)(slot - trix->slot),
        .table_id = trix->job.table_id,
        .schema_version = trix->job.version,
        .request_info =
            key_request_info(OP_READ, LOCK_SHARED, KEY_START | KEY_EXECUTE | KEY_COMMIT | KEY_FILL),
        .transid1 = trix->block.ref,
        .transid2 = slot->transid2};
    const struct section section[2] = {{slot->key, slot->key_words}, {&trix->job.index_id, 1}};
    slot->state = SLOT_SENT;
    signal_send(&trix->block, slot->tc_ref, GSN_TCKEYREQ, PRIO_B, &req, sizeof req / 4u, section,
                2);
}

void trix_slot_begin(struct trix *trix, struct trix_slot *slot)
{
    slot->since_ms = now_ms(&trix->block);
    trix->busy++;
    send(trix, slot);
}

static void leave(struct trix *trix, struct trix_slot *slot)
{
    ndbrequire(trix->busy > 0);
    slot->state = SLOT_FREE;
    trix->busy--;
}

void trix_slots_again(struct trix *trix)
{
    for (uint32_t i = 0; i < TRIX_SLOTS; i++) {
        if (trix->slot[i].state != SLOT_LATER) continue;
        jam();
        send(trix, &trix->slot[i]);
    }
}

void trix_slots_drop(struct trix *trix)
{
    for (uint32_t i = 0; i < TRIX_SLOTS; i++) {
        if (trix->slot[i].state == SLOT_LATER) leave(trix, &trix->slot[i]);
    }
}

/* NULL: it is of a transaction that nobody waits for. */
static struct trix_slot *slot_of(struct trix *trix, uint32_t number, uint32_t transid1,
                                 uint32_t transid2)
{
    if (number >= TRIX_SLOTS || transid1 != trix->block.ref) return NULL;
    struct trix_slot *slot = &trix->slot[number];
    return slot->state == SLOT_SENT && slot->transid2 == transid2 ? slot : NULL;
}

static void done(struct trix *trix, struct trix_slot *slot)
{
    leave(trix, slot);
    trix_lane_row(trix, slot->lane);
    trix_look(trix);
}

static void refused(struct trix *trix, struct trix_slot *slot, uint32_t error)
{
    jam_data(error);
    if (error == ERR_ROW_NOT_FOUND) {
        done(trix, slot); /* The row has been deleted. */
        return;
    }
    if (trix_patient(trix, error, slot->since_ms)) {
        slot->state = SLOT_LATER;
        return;
    }
    leave(trix, slot);
    trix_fail(trix, error);
}

void trix_exec_TCKEYCONF(struct block *block, const struct signal *sig)
{
    struct trix *trix = trix_of(block);
    const struct tckeyconf *conf = SIG_PAYLOAD(sig, tckeyconf);
    struct trix_slot *slot = slot_of(trix, conf->api_connect, conf->transid1, conf->transid2);
    if (!trix_of_own(trix, sig)) return;
    ndbrequire(slot != NULL && (conf->flags & KEYCONF_COMMITTED) != 0);
    done(trix, slot);
}

void trix_exec_TCROLLBACKREP(struct block *block, const struct signal *sig)
{
    struct trix *trix = trix_of(block);
    const struct tcrollbackrep *rep = SIG_PAYLOAD(sig, tcrollbackrep);
    struct trix_slot *slot = slot_of(trix, rep->api_connect, rep->transid1, rep->transid2);
    if (!trix_of_own(trix, sig)) return;
    if (slot != NULL) refused(trix, slot, rep->error);
}

/* Comes only for a connect record that TC does not know. */
void trix_exec_TCKEYREF(struct block *block, const struct signal *sig)
{
    struct trix *trix = trix_of(block);
    const struct tckeyref *ref = SIG_PAYLOAD(sig, tckeyref);
    struct trix_slot *slot = slot_of(trix, ref->api_op, ref->transid1, ref->transid2);
    if (!trix_of_own(trix, sig)) return;
    if (slot != NULL) refused(trix, slot, ref->error);
}
