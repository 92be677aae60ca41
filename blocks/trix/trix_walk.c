/* trix_walk.c -- the scan that TRIX makes of a table: counted first, then row by row. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A batch's rows arrive and are worked off before the next one of that fragment is asked for, and
 * no other fragment takes its place before (SCAN_TURNS): so there is a slot for each row. A lane is
 * a batch; between two of them a fragment has none, because the rows of the one that takes its
 * place may be here before the word that it is done.
 */
#include <string.h>
#include "blocks/trix/trix_state.h"

static void scan_begin(struct trix *trix, const struct section *attr, uint32_t flags)
{
    struct trix_scan *scan = &trix->scan;
    bool counts = attr->size == 0;
    scan->transid2 = trix_next_transid(trix);
    scan->open = true;
    scan->closing = false;
    struct scan_tabreq req = {.tc_connect = scan->tc_connect,
                              .api_scan = scan->transid2,
                              .table_id = trix->job.table_id,
                              .schema_version = trix->job.version,
                              .request_info = key_request_info(OP_READ, LOCK_COMMITTED, flags),
                              .batch_rows = counts ? 0 : TRIX_BATCH,
                              .parallelism = counts ? 0 : trix->lane_count,
                              .transid1 = trix->block.ref,
                              .transid2 = scan->transid2};
    signal_send(&trix->block, scan->tc_ref, GSN_SCAN_TABREQ, PRIO_B, &req, sizeof req / 4u, attr,
                1);
}

static void scan_next(struct trix *trix, uint32_t fragment_id)
{
    struct trix_scan *scan = &trix->scan;
    struct section section = {.words = &fragment_id, .size = 1};
    struct scan_nextreq req = {.tc_connect = scan->tc_connect,
                               .api_scan = scan->transid2,
                               .transid1 = trix->block.ref,
                               .transid2 = scan->transid2};
    if (!scan->open || scan->closing) return;
    signal_send(&trix->block, scan->tc_ref, GSN_SCAN_NEXTREQ, PRIO_B, &req, sizeof req / 4u,
                &section, 1);
}

void trix_scan_close(struct trix *trix)
{
    struct trix_scan *scan = &trix->scan;
    struct scan_nextreq req = {.tc_connect = scan->tc_connect,
                               .api_scan = scan->transid2,
                               .transid1 = trix->block.ref,
                               .transid2 = scan->transid2,
                               .flags = SCAN_CLOSE};
    if (!scan->open || scan->closing) return;
    jam();
    scan->closing = true;
    sig_send(&trix->block, scan->tc_ref, GSN_SCAN_NEXTREQ, PRIO_B, &req);
}

void trix_count_begin(struct trix *trix)
{
    static const uint32_t nothing[1];
    const struct section section = {.words = nothing, .size = 0};
    trix_move(trix, TRIX_COUNTING);
    scan_begin(trix, &section, 0);
}

void trix_walk_begin(struct trix *trix)
{
    uint32_t attr[TABLE_KEY_COLUMNS_MAX];
    const struct section section = {.words = attr, .size = trix->column_count};
    for (uint32_t i = 0; i < trix->column_count; i++)
        attr[i] = attr_header(trix->column[i], 0);
    trix_move(trix, TRIX_WALKING);
    memset(trix->lane, 0, sizeof trix->lane);
    trix->rows = 0;
    scan_begin(trix, &section, SCAN_TURNS);
}

/* --- Fragments. --- */

/* TRIX_NO_LANE: there is none, which no TC of ours lets happen. */
static uint32_t lane_of(struct trix *trix, uint32_t fragment_id)
{
    uint32_t unused = TRIX_NO_LANE;
    for (uint32_t i = trix->lane_count; i-- > 0;) {
        if (trix->lane[i].used && trix->lane[i].fragment_id == fragment_id) return i;
        if (!trix->lane[i].used) unused = i;
    }
    if (unused != TRIX_NO_LANE)
        trix->lane[unused] = (struct trix_lane){.used = true, .fragment_id = fragment_id};
    return unused;
}

/* Asks for the next batch if this one is here and worked off. */
static void lane_look(struct trix *trix, struct trix_lane *lane)
{
    if (!lane->told || lane->received < lane->rows || lane->finished < lane->rows) return;
    lane->used = false;
    scan_next(trix, lane->fragment_id);
}

void trix_lane_row(struct trix *trix, uint32_t number)
{
    trix->rows++;
    if (number == TRIX_NO_LANE) return; /* The scan that gave it has failed. */
    trix->lane[number].finished++;
    lane_look(trix, &trix->lane[number]);
}

/* --- Answers. --- */

static void closed(struct trix *trix)
{
    jam();
    trix->scan.open = false;
    if (trix->state == TRIX_COUNTING && trix->error == 0)
        trix_walk_begin(trix);
    else
        trix_look(trix);
}

static void take_entry(struct trix *trix, const uint32_t *entry)
{
    bool last = (entry[2] & SCAN_FRAG_DONE) != 0;
    if (trix->state == TRIX_COUNTING) {
        trix->total += entry[1];
        if (!last) scan_next(trix, entry[0]);
        return;
    }
    if (last) {
        ndbrequire(entry[1] == 0); /* SCAN_TURNS: the last batch is empty. */
        return;
    }
    uint32_t number = lane_of(trix, entry[0]);
    ndbrequire(number != TRIX_NO_LANE); /* TC is of this node. */
    struct trix_lane *lane = &trix->lane[number];
    ndbrequire(!lane->told);
    lane->told = true;
    lane->rows = entry[1];
    lane_look(trix, lane);
}

static bool is_ours(const struct trix *trix, uint32_t api_scan, uint32_t transid1)
{
    return trix->scan.open && api_scan == trix->scan.transid2 && transid1 == trix->block.ref;
}

void trix_exec_SCAN_TABCONF(struct block *block, const struct signal *sig)
{
    struct trix *trix = trix_of(block);
    const struct scan_tabconf *conf = SIG_PAYLOAD(sig, scan_tabconf);
    const struct section *entries = &sig->section[0];
    if (!trix_of_own(trix, sig)) return;
    if (!is_ours(trix, conf->api_scan, conf->transid1)) {
        jam();
        return;
    }
    for (uint32_t i = 0; i + SCAN_FRAG_ENTRY_WORDS <= entries->size; i += SCAN_FRAG_ENTRY_WORDS)
        if (!trix->scan.closing) take_entry(trix, entries->words + i);
    if ((conf->flags & SCAN_END) != 0) closed(trix);
}

/* Rows that it has given get their entries still, but no lane waits for them. */
static void begin_anew(struct trix *trix)
{
    jam();
    trix_move(trix, TRIX_PAUSING);
    for (uint32_t i = 0; i < TRIX_SLOTS; i++)
        trix->slot[i].lane = TRIX_NO_LANE;
}

void trix_exec_SCAN_TABREF(struct block *block, const struct signal *sig)
{
    struct trix *trix = trix_of(block);
    const struct scan_tabref *ref = SIG_PAYLOAD(sig, scan_tabref);
    if (!trix_of_own(trix, sig)) return;
    if (!is_ours(trix, ref->api_scan, ref->transid1)) {
        jam();
        return;
    }
    jam_data(ref->error);
    trix->scan.open = false;
    if (trix->error != 0)
        trix_look(trix);
    else if (trix->state == TRIX_COUNTING)
        trix_walk_begin(trix); /* The number of rows is not known then. */
    else if (trix_patient(trix, ref->error, trix->moved_ms))
        begin_anew(trix);
    else
        trix_fail(trix, ref->error);
}

/* --- Rows. --- */

/* The KEY section out of a row's pairs; 0 words: they are no key of this table. */
static uint32_t key_of(const struct trix *trix, const uint32_t *pairs, uint32_t words,
                       uint32_t *key)
{
    uint32_t at = 0;
    uint32_t used = 0;
    for (uint32_t i = 0; i < trix->column_count; i++) {
        if (at >= words || attr_column(pairs[at]) != trix->column[i]) return 0;
        uint32_t value = words_of(attr_size(pairs[at++]));
        if (value == 0 || value > words - at || value > TRIX_KEY_WORDS - used) return 0;
        memcpy(key + used, pairs + at, value * 4u);
        used += value;
        at += value;
    }
    return at == words ? used : 0;
}

static bool take_row(struct trix *trix, const uint32_t *pairs, uint32_t words, uint32_t lane)
{
    struct trix_slot *slot = trix_slot_free(trix);
    if (slot == NULL) return false;
    slot->key_words = key_of(trix, pairs, words, slot->key);
    if (slot->key_words == 0) return false;
    slot->lane = lane;
    trix->lane[lane].received++;
    trix->moved_ms = now_ms(&trix->block);
    trix_slot_begin(trix, slot);
    return true;
}

static bool take_rows(struct trix *trix, const struct signal *sig)
{
    const struct transid_ai *ai = SIG_PAYLOAD(sig, transid_ai);
    const struct section *rows = &sig->section[0];
    uint32_t lane = lane_of(trix, ai->fragment_id);
    uint32_t at = 0;
    if (lane == TRIX_NO_LANE) return false;
    for (uint32_t i = 0; i < ai->rows; i++) {
        if (at >= rows->size || rows->words[at] > rows->size - at - 1u) return false;
        if (trix->lane[lane].received >= TRIX_BATCH) return false;
        if (!take_row(trix, rows->words + at + 1, rows->words[at], lane)) return false;
        at += 1u + rows->words[at];
    }
    return at == rows->size;
}

/* LQHs of all nodes send it. */
void trix_exec_TRANSID_AI(struct block *block, const struct signal *sig)
{
    struct trix *trix = trix_of(block);
    const struct transid_ai *ai = SIG_PAYLOAD(sig, transid_ai);
    if (trix->state != TRIX_WALKING || trix->scan.closing ||
        !is_ours(trix, ai->api_op, ai->transid1)) {
        jam(); /* It has failed meanwhile. */
        return;
    }
    if (take_rows(trix, sig)) {
        jam();
        return;
    }
    jam();
    ndbrequire(ref_node(sig->sender) != ref_node(block->ref));
    peer_refuse(block, ref_node(sig->sender), "rows of a scan that cannot be");
}
