/* tc_scan.c -- scans: one SCAN_FRAGREQ per fragment, so many at a time, and what the client hears
 * of them. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/failure/tc_nodefail.h"
#include "blocks/dbtc/key/tc_connect.h"
#include "blocks/dbtc/key/tc_read.h"
#include "blocks/dbtc/scan/tc_scan.h"
#include "blocks/dbtc/schema/tc_table.h"
#include "blocks/dbtc/unique/tc_copies.h"
#include "signals/lqhkey.h"
#include "signals/scan.h"
#include "values/attr.h"
#include "values/errors.h"
#include "values/program.h"
#include "values/scan_range.h"

#define START_STEP 16u /* Fragments started before others have their turn. */

static struct tc_scan *scan_get(struct tc *tc, uint32_t ref)
{
    struct tc_scan *scan = pool_find(&tc->scans, ref);
    ndbrequire(scan != NULL);
    return scan;
}

static struct tc_frag *frag_get(struct tc *tc, uint32_t ref)
{
    struct tc_frag *frag = pool_find(&tc->frags, ref);
    ndbrequire(frag != NULL);
    return frag;
}

static void frag_append(struct tc *tc, struct tc_scan *scan, struct tc_frag *frag)
{
    frag->scan = scan->pool.ref;
    frag->next = scan->frag_first;
    if (scan->frag_first != REF_NONE) frag_get(tc, scan->frag_first)->previous = frag->pool.ref;
    scan->frag_first = frag->pool.ref;
    scan->frag_count++;
}

static void frag_release(struct tc *tc, struct tc_scan *scan, struct tc_frag *frag)
{
    if (frag->previous != REF_NONE)
        frag_get(tc, frag->previous)->next = frag->next;
    else
        scan->frag_first = frag->next;
    if (frag->next != REF_NONE) frag_get(tc, frag->next)->previous = frag->previous;
    if (scan->frag_hint == frag->pool.ref) scan->frag_hint = frag->next;
    ndbrequire(scan->frag_count > 0);
    scan->frag_count--;
    pool_release(&tc->frags, frag);
}

static void send_tabref(struct tc *tc, uint32_t client, const struct scan_tabref *ref)
{
    sig_send(&tc->block, client, GSN_SCAN_TABREF, PRIO_B, ref);
}

/* Sends one entry, or none with `entry` NULL. */
static void send_tabconf(struct tc *tc, const struct tc_scan *scan, const uint32_t *entry,
                         uint32_t flags)
{
    static const uint32_t nothing[1];
    struct section section = {.words = nothing, .size = 0};
    if (entry != NULL) section = (struct section){.words = entry, .size = SCAN_FRAG_ENTRY_WORDS};
    struct scan_tabconf conf = {.api_scan = scan->api_scan,
                                .transid1 = scan->transid1,
                                .transid2 = scan->transid2,
                                .flags = flags};
    signal_send(&tc->block, tc_connect_get(tc, scan->connect)->owner, GSN_SCAN_TABCONF, PRIO_B,
                &conf, sizeof conf / 4u, &section, 1);
}

/* Nothing of the scan is left at any LQH. */
static void scan_end(struct tc *tc, struct tc_scan *scan)
{
    ndbrequire(scan->frag_count == 0);
    struct tc_connect *connect = tc_connect_get(tc, scan->connect);
    uint32_t table_id = scan->table_id;
    connect->scan = REF_NONE;
    connect->last_error = scan->error;
    if (scan->program != REF_NONE)
        pool_release(&tc->scan_programs, pool_find(&tc->scan_programs, scan->program));
    tc_scan_range_end(tc, scan);
    pool_release(&tc->scans, scan);
    tc_table_leave(tc, table_id);
    tc_connect_idle(tc, connect);
}

static void closed(struct tc *tc, struct tc_scan *scan)
{
    if (scan->frag_count > 0) return;
    if (scan->answer_due && scan->error != 0) {
        jam();
        struct scan_tabref ref = {.api_scan = scan->api_scan,
                                  .transid1 = scan->transid1,
                                  .transid2 = scan->transid2,
                                  .error = scan->error};
        send_tabref(tc, tc_connect_get(tc, scan->connect)->owner, &ref);
    } else if (scan->answer_due) {
        jam();
        send_tabconf(tc, scan, NULL, SCAN_END);
    }
    scan_end(tc, scan);
}

/* --- Fragments. --- */

static void send_next(struct tc *tc, const struct tc_scan *scan, const struct tc_frag *frag,
                      uint32_t flags)
{
    struct scan_frag_nextreq req = {.lqh_scan = frag->lqh_scan,
                                    .tc_frag = frag->pool.ref,
                                    .transid1 = scan->transid1,
                                    .transid2 = scan->transid2,
                                    .flags = flags};
    sig_send(&tc->block, frag->lqh_ref, GSN_SCAN_FRAG_NEXTREQ, PRIO_B, &req);
}

/* Its first batch may take a while: a fragment whose scan record is not known yet is closed when it
 * has answered. */
static void frag_close(struct tc *tc, const struct tc_scan *scan, struct tc_frag *frag)
{
    if (frag->state == FRAG_CLOSING || frag->lqh_scan == REF_NONE) return;
    frag->state = FRAG_CLOSING;
    send_next(tc, scan, frag, SCAN_CLOSE);
}

void tc_scan_close(struct tc *tc, struct tc_scan *scan, uint32_t error, bool answer)
{
    if (scan->state == SCAN_CLOSING) {
        jam();
        if (!answer) scan->answer_due = 0;
        return;
    }
    jam_data(error);
    scan->state = SCAN_CLOSING;
    scan->error = error;
    scan->answer_due = answer;
    for (uint32_t ref = scan->frag_first; ref != REF_NONE;) { /* At most TC_SCAN_PARALLEL. */
        struct tc_frag *frag = frag_get(tc, ref);
        ref = frag->next;
        frag_close(tc, scan, frag);
    }
    closed(tc, scan);
}

/* Does it read one of several fragments that have the same rows? */
static bool scan_chooses(const struct tc_scan *scan, const struct tc_table *table)
{
    return key_lock_mode(scan->request_info) == LOCK_COMMITTED &&
           scan->fragment_count != table->fragment_count;
}

/* The primary, if it is up: it has the locks, and a scan is fast because it is spread over all
 * nodes. Of a fully replicated table what is near is chosen, as for a read by key. */
static uint32_t scan_node(const struct tc *tc, const struct tc_scan *scan, uint32_t fragment)
{
    const struct tc_table *table = tc->table[scan->table_id];
    const uint8_t *nodes = table->nodes + (size_t)fragment * REPLICAS_MAX;
    uint32_t primary = replica_node(tc_live_nodes(tc, nodes), 0);
    if (scan_chooses(scan, table)) return tc_read_node(tc, table, fragment);
    if (key_lock_mode(scan->request_info) != LOCK_COMMITTED ||
        tc_link_error(tc, primary) != ERR_NODE_FAILURE) {
        return primary;
    }
    return tc_read_node(tc, table, fragment);
}

/* The sections that SCAN_FRAGREQ carries for a partition; returns how many. */
static uint32_t frag_sections(const struct tc *tc, const struct tc_scan *scan, uint32_t partition,
                              struct section section[SIGNAL_SECTIONS_MAX])
{
    uint32_t count = 1;
    section[0] = (struct section){.words = scan->attr, .size = scan->attr_words};
    section[1] = (struct section){.words = scan->attr, .size = 0}; /* It stands before a range. */
    if (scan->program != REF_NONE) {
        const struct tc_scan_program *program = pool_find(&tc->scan_programs, scan->program);
        section[1] = (struct section){.words = program->word, .size = program->words};
        count = 2;
    }
    if (scan->range != REF_NONE) {
        section[2] = tc_scan_range_section(tc, scan, partition);
        count = 3;
    }
    return count;
}

static uint32_t start_frag(struct tc *tc, struct tc_scan *scan)
{
    const struct tc_table *table = tc->table[scan->table_id];
    uint32_t next = scan->fragment_next;
    uint32_t fragment = scan_chooses(scan, table) ? tc_near_fragment(tc, table, next) : next;
    uint32_t node = scan_node(tc, scan, fragment);
    uint32_t error = tc_link_error(tc, node);
    if (error != 0) return error;
    struct tc_frag *frag = pool_seize(&tc->frags);
    if (frag == NULL) return ERR_SCAN_FRAGMENT_RECORDS;
    scan->fragment_next = tc_scan_range_fragment(tc, scan, next + 1);
    frag_append(tc, scan, frag);
    frag->state = FRAG_READING;
    frag->fragment_id = fragment;
    frag->node = node;
    struct scan_fragreq req = {
        .tc_frag = frag->pool.ref,
        .table_id = scan->table_id,
        .schema_version = scan->version,
        .fragment_id = fragment,
        .request_info = scan->request_info,
        .batch_rows = scan->batch_rows,
        .batch_bytes = scan->batch_bytes,
        .transid1 = scan->transid1,
        .transid2 = scan->transid2,
        .api_ref = tc_connect_get(tc, scan->connect)->owner,
        .api_scan = scan->api_scan,
        .limit = scan->limit,
    };
    struct section section[SIGNAL_SECTIONS_MAX];
    uint32_t sections = frag_sections(tc, scan, next, section);
    signal_send(&tc->block, block_ref(node, BLOCK_DBLQH, fragment_instance_key(fragment)),
                GSN_SCAN_FRAGREQ, PRIO_B, &req, sizeof req / 4u, section, sections);
    return 0;
}

void tc_scan_start_frags(struct tc *tc, struct tc_scan *scan)
{
    if (scan->state == SCAN_CLOSING) return;
    for (uint32_t i = 0; i < START_STEP; i++) {
        if (scan->fragment_next == scan->fragment_count || scan->frag_count == scan->parallelism)
            return;
        uint32_t error = start_frag(tc, scan);
        if (error == 0) continue;
        jam_data(error);
        /* Fewer at a time will do when records are short, as long as there is one. */
        if (error != ERR_SCAN_FRAGMENT_RECORDS || scan->frag_count == 0 || scan->merged)
            tc_scan_close(tc, scan, error, true);
        return;
    }
    if (!scan->starting) {
        jam();
        scan->starting = 1;
        tc_continue(tc, TC_WORK_SCAN, scan->pool.ref, 0, 0);
    }
}

/* --- The client's requests. --- */

static uint32_t check_scan(struct tc *tc, const struct signal *sig, struct tc_connect *connect)
{
    const struct scan_tabreq *req = SIG_PAYLOAD(sig, scan_tabreq);
    uint32_t error = tc_refuse_new(tc, sig->sender);
    if (error != 0) return error;
    if (connect->trans != REF_NONE || connect->scan != REF_NONE || connect->releasing ||
        connect->durable_gci != 0)
        return ERR_TC_INTERNAL_203;
    if (key_lock_mode(req->request_info) > LOCK_COMMITTED) return ERR_TC_INTERNAL_203;
    if (sig->section[0].size > ATTR_READ_MAX) return ERR_READS_TOO_MANY;
    if (sig->section_count > 1 && sig->section[1].size > PROGRAM_WORDS_MAX)
        return ERR_FILTER_TOO_BIG_TUP;
    if (sig->section_count > 2 &&
        scan_ranges_count(sig->section[2].words, sig->section[2].size) == 0)
        return ERR_BOUNDS;
    if (sig->section_count > 2 && (req->request_info & SCAN_COPIES) != 0)
        return ERR_TC_INTERNAL_203;
    return tc_client_slow(tc, sig->sender) ? ERR_SEND_BUFFER_FULL : 0;
}

/* Fragments that are started later get it too. False: there is no record. */
static bool keep_program(struct tc *tc, struct tc_scan *scan, const struct signal *sig)
{
    if (sig->section_count < 2 || sig->section[1].size == 0) return true;
    struct tc_scan_program *program = pool_seize(&tc->scan_programs);
    if (program == NULL) return false;
    program->words = sig->section[1].size;
    memcpy(program->word, sig->section[1].words, (size_t)program->words * 4u);
    scan->program = program->pool.ref;
    return true;
}

static struct tc_scan *new_scan(struct tc *tc, const struct signal *sig, struct tc_connect *connect,
                                uint32_t *error)
{
    const struct scan_tabreq *req = SIG_PAYLOAD(sig, scan_tabreq);
    *error = check_scan(tc, sig, connect);
    if (*error != 0) return NULL;
    struct tc_table *table = tc_table_usable(tc, req->table_id, req->schema_version, error);
    if (table == NULL) return NULL;
    struct tc_scan *scan = pool_seize(&tc->scans);
    if (scan == NULL) {
        *error = ERR_SCAN_LIMIT;
        return NULL;
    }
    if (!keep_program(tc, scan, sig) || !tc_scan_range_keep(tc, scan, table, sig)) {
        if (scan->program != REF_NONE)
            pool_release(&tc->scan_programs, pool_find(&tc->scan_programs, scan->program));
        pool_release(&tc->scans, scan);
        *error = ERR_SCAN_LIMIT;
        return NULL;
    }
    table->users++;
    connect->scan = scan->pool.ref;
    connect->last_transid1 = req->transid1;
    connect->last_transid2 = req->transid2;
    scan->connect = connect->pool.ref;
    scan->state = SCAN_RUNNING;
    scan->api_scan = req->api_scan;
    scan->transid1 = req->transid1;
    scan->transid2 = req->transid2;
    scan->table_id = req->table_id;
    scan->version = req->schema_version;
    scan->request_info = req->request_info & (3u << 3 | SCAN_TURNS);
    scan->batch_rows = req->batch_rows;
    scan->batch_bytes = req->batch_bytes;
    bool copies = (req->request_info & SCAN_COPIES) != 0;
    scan->fragment_count = copies ? table->fragment_count : table->partitions;
    scan->fragment_next = tc_scan_range_fragment(tc, scan, 0);
    scan->parallelism = TC_SCAN_PARALLEL;
    if (req->parallelism != 0 && req->parallelism < TC_SCAN_PARALLEL && !scan->merged)
        scan->parallelism = req->parallelism;
    scan->limit = req->limit;
    scan->attr_words = sig->section[0].size;
    memcpy(scan->attr, sig->section[0].words, (size_t)scan->attr_words * 4u);
    return scan;
}

void tc_exec_SCAN_TABREQ(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct scan_tabreq *req = SIG_PAYLOAD(sig, scan_tabreq);
    if (tc_held(tc, sig, req->tc_connect, true)) return;
    struct tc_connect *connect = tc_connect_find(tc, req->tc_connect, sig->sender);
    uint32_t error = ERR_TC_INTERNAL_203;
    struct tc_scan *scan = connect == NULL ? NULL : new_scan(tc, sig, connect, &error);
    if (scan == NULL) {
        jam_data(error);
        struct scan_tabref ref = {.api_scan = req->api_scan,
                                  .transid1 = req->transid1,
                                  .transid2 = req->transid2,
                                  .error = error};
        send_tabref(tc, sig->sender, &ref);
        return;
    }
    jam();
    scan->active_ms = now_ms(block);
    tc_scan_start_frags(tc, scan);
}

/* Clients go on with fragments in the order in which they heard of them: the search begins where
 * the last one ended. A partition is known by any of its fragments. */
static struct tc_frag *frag_of_fragment(struct tc *tc, struct tc_scan *scan, uint32_t fragment_id)
{
    uint32_t number = fragment_id % scan->fragment_count;
    uint32_t ref = scan->frag_hint != REF_NONE ? scan->frag_hint : scan->frag_first;
    for (uint32_t i = 0; i < scan->frag_count; i++) {
        struct tc_frag *frag = frag_get(tc, ref);
        if (frag->fragment_id % scan->fragment_count == number) {
            scan->frag_hint = frag->pool.ref;
            return frag;
        }
        ref = frag->next != REF_NONE ? frag->next : scan->frag_first;
    }
    return NULL;
}

static void fetch_more(struct tc *tc, struct tc_scan *scan, const struct signal *sig)
{
    uint32_t count = sig->section_count > 0 ? sig->section[0].size : 0;
    if (count == 0 || count > TC_SCAN_PARALLEL) {
        jam();
        tc_scan_close(tc, scan, ERR_TC_INTERNAL_203, true);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct tc_frag *frag = frag_of_fragment(tc, scan, sig->section[0].words[i]);
        if (frag == NULL || frag->state != FRAG_DELIVERED) {
            jam(); /* A fragment that has ended, or that is being read already. */
            tc_scan_close(tc, scan, ERR_TC_INTERNAL_203, true);
            return;
        }
        frag->state = FRAG_READING;
        send_next(tc, scan, frag, 0);
    }
}

void tc_exec_SCAN_NEXTREQ(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct scan_nextreq *req = SIG_PAYLOAD(sig, scan_nextreq);
    if (tc_held(tc, sig, req->tc_connect, false)) return;
    struct tc_connect *connect = tc_connect_find(tc, req->tc_connect, sig->sender);
    struct tc_scan *scan =
        connect == NULL || connect->scan == REF_NONE ? NULL : scan_get(tc, connect->scan);

    if (scan == NULL || scan->transid1 != req->transid1 || scan->transid2 != req->transid2 ||
        scan->api_scan != req->api_scan) {
        if (connect != NULL && req->transid1 == connect->last_transid1 &&
            req->transid2 == connect->last_transid2) {
            jam(); /* Crosses the signal that told the client of the end. */
            return;
        }
        jam();
        struct scan_tabref ref = {.api_scan = req->api_scan,
                                  .transid1 = req->transid1,
                                  .transid2 = req->transid2,
                                  .error = ERR_TC_INTERNAL_203};
        send_tabref(tc, sig->sender, &ref);
        return;
    }
    scan->active_ms = now_ms(block);
    if (scan->state == SCAN_CLOSING) {
        jam(); /* The answer comes when all fragments are closed. */
        return;
    }
    if ((req->flags & SCAN_CLOSE) != 0)
        tc_scan_close(tc, scan, 0, true);
    else
        fetch_more(tc, scan, sig);
}

/* --- The LQHs' answers. --- */

static struct tc_frag *answered_frag(struct tc *tc, const struct signal *sig, uint32_t ref,
                                     uint32_t transid1, uint32_t transid2)
{
    struct tc_frag *frag = pool_find(&tc->frags, ref);
    if (frag != NULL && frag->node == ref_node(sig->sender)) {
        const struct tc_scan *scan = scan_get(tc, frag->scan);
        if (scan->transid1 == transid1 && scan->transid2 == transid2) return frag;
    }
    if (tc_lenient(tc)) return NULL; /* The scan was closed without it. */
    tc_protocol_error(tc, sig->sender, "answer for an unknown fragment scan");
    return NULL;
}

static void frag_done(struct tc *tc, struct tc_scan *scan, struct tc_frag *frag, uint32_t rows)
{
    uint32_t entry[SCAN_FRAG_ENTRY_WORDS] = {frag->fragment_id, rows, SCAN_FRAG_DONE};
    frag_release(tc, scan, frag);
    if (scan->state == SCAN_CLOSING) {
        jam();
        closed(tc, scan);
        return;
    }
    if (scan->frag_count == 0 && scan->fragment_next == scan->fragment_count) {
        jam();
        send_tabconf(tc, scan, entry, SCAN_END);
        scan_end(tc, scan);
        return;
    }
    jam();
    send_tabconf(tc, scan, entry, 0);
    tc_scan_start_frags(tc, scan);
}

void tc_exec_SCAN_FRAGCONF(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct scan_fragconf *conf = SIG_PAYLOAD(sig, scan_fragconf);
    struct tc_frag *frag = answered_frag(tc, sig, conf->tc_frag, conf->transid1, conf->transid2);
    if (frag == NULL) return;
    struct tc_scan *scan = scan_get(tc, frag->scan);
    scan->active_ms = now_ms(block);
    scan->rows += conf->rows;
    if (scan->limit != 0 && scan->rows >= scan->limit && !scan->merged) {
        jam(); /* It has enough: what has not begun does not begin. */
        scan->fragment_next = scan->fragment_count;
    }
    if ((conf->flags & SCAN_FRAG_DONE) != 0) {
        frag_done(tc, scan, frag, conf->rows);
        return;
    }
    if (frag->state == FRAG_CLOSING) {
        jam(); /* A batch that crossed the order to close. */
        return;
    }
    frag->lqh_ref = sig->sender;
    frag->lqh_scan = conf->lqh_scan;
    if (scan->state == SCAN_CLOSING) {
        jam();
        frag_close(tc, scan, frag);
        return;
    }
    frag->state = FRAG_DELIVERED;
    uint32_t entry[SCAN_FRAG_ENTRY_WORDS] = {frag->fragment_id, conf->rows, 0};
    send_tabconf(tc, scan, entry, 0);
}

void tc_exec_SCAN_FRAGREF(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct scan_fragref *ref = SIG_PAYLOAD(sig, scan_fragref);
    struct tc_frag *frag = answered_frag(tc, sig, ref->tc_frag, ref->transid1, ref->transid2);
    if (frag == NULL) return;
    struct tc_scan *scan = scan_get(tc, frag->scan);
    frag_release(tc, scan, frag);
    if (scan->state == SCAN_CLOSING) {
        jam();
        closed(tc, scan);
        return;
    }
    jam_data(ref->error);
    tc_scan_close(tc, scan, ref->error, true);
}

/* Nothing of it is left at any LQH: its node is lost. */
void tc_scan_frag_lost(struct tc *tc, struct tc_frag *frag)
{
    struct tc_scan *scan = scan_get(tc, frag->scan);
    frag_release(tc, scan, frag);
    if (scan->state == SCAN_CLOSING) {
        jam();
        closed(tc, scan);
        return;
    }
    jam();
    tc_scan_close(tc, scan, ERR_NODE_FAILED_4028, true);
}

bool tc_scan_idle(struct tc *tc, const struct tc_scan *scan)
{
    if (scan->state == SCAN_CLOSING || scan->starting) return false;
    for (uint32_t ref = scan->frag_first; ref != REF_NONE;) {
        const struct tc_frag *frag = frag_get(tc, ref);
        if (frag->state != FRAG_DELIVERED) return false;
        ref = frag->next;
    }
    return true;
}
