/* qmgr_heartbeat.c -- the ring of members: each sends heartbeats to the right and watches its left
 * neighbour. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/qmgr/qmgr_state.h"

#define START_SILENCE_MS 2000u

/* The member with the next greater (or, going left, smaller) dynamic id, around the ring; 0 when
 * alone. */
static uint32_t neighbour(const struct qmgr *qmgr, bool right)
{
    uint32_t own = qmgr_own(qmgr);
    uint32_t own_id = qmgr->peer[own].dynamic_id;
    uint32_t best = 0;
    uint32_t best_distance = 0;
    const struct node_mask *members = &qmgr->join.members;
    for (uint32_t node = node_mask_next(members, 0); node != 0;
         node = node_mask_next(members, node)) {
        uint32_t id = qmgr->peer[node].dynamic_id;
        uint32_t distance =
            right ? id - own_id : own_id - id; /* Modulo 2^32: those behind us come last. */
        if (node == own || node_mask_has(&qmgr->failure.fenced, node)) continue;
        if (best != 0 && distance >= best_distance) continue;
        best = node;
        best_distance = distance;
    }
    return best;
}

void qmgr_ring_update(struct qmgr *qmgr)
{
    uint32_t left = 0;
    uint32_t right = 0;
    if (qmgr->join.state == JOIN_MEMBER) {
        jam();
        left = neighbour(qmgr, false);
        right = neighbour(qmgr, true);
    }
    if (left != qmgr->ring.left) {
        jam();
        qmgr->ring.missed = 0;
        qmgr->ring.heard_ms = 0;
    }
    qmgr->ring.left = left;
    qmgr->ring.right = right;
    qmgr_pace_view(qmgr);
}

/* --- Patience: failure.md, section 1. --- */

void qmgr_heard(struct qmgr *qmgr, uint32_t node)
{
    qmgr->beat.heard_ms[node] = now_ms(&qmgr->block);
}

/* A newcomer makes its memory and files: how late it is says nothing about the others. */
static bool beats_count(const struct qmgr *qmgr, uint32_t node)
{
    return qmgr_agrees(qmgr) && !qmgr_is_newcomer(qmgr) &&
           !node_mask_has(&qmgr->rejoin.newcomers, node);
}

void qmgr_beat(struct qmgr *qmgr, uint32_t node, uint64_t late_ms)
{
    if (!beats_count(qmgr, node)) return;
    beat_note(&qmgr->beat.window, now_ms(&qmgr->block), late_ms,
              block_config(&qmgr->block)->heartbeat_db_db_ms);
}

void qmgr_answered(struct qmgr *qmgr, uint32_t node, uint64_t after_ms)
{
    if (!beats_count(qmgr, node)) return;
    beat_answer(&qmgr->beat.window, now_ms(&qmgr->block), after_ms);
}

uint32_t qmgr_patience_own_ms(const struct qmgr *qmgr)
{
    return beat_patience_ms(beat_figures(&qmgr->beat.window, now_ms(&qmgr->block)),
                            block_config(&qmgr->block)->heartbeat_db_db_ms);
}

/* One for all members: who gave up waiting sooner than the others would take the node for one that
 * the others reach. */
uint32_t qmgr_patience_ms(const struct qmgr *qmgr)
{
    uint32_t most = qmgr_patience_own_ms(qmgr);
    uint32_t limit = beat_patience_max_ms(block_config(&qmgr->block)->heartbeat_db_db_ms);
    EACH_NODE(node, &qmgr->join.members) {
        if (!node_mask_has(&qmgr->failure.fenced, node) && qmgr->beat.told_ms[node] > most)
            most = qmgr->beat.told_ms[node];
    }
    return most < limit ? most : limit;
}

/* --- The ring. --- */

/* Intervals that have to be missed above those of quiet times. While nobody is started nobody waits
 * for a node that stalls, and memory and files are being made. */
static uint32_t missed_more(const struct qmgr *qmgr, uint32_t interval)
{
    if (qmgr_agrees(qmgr)) return qmgr_patience_ms(qmgr) / interval;
    return START_SILENCE_MS / interval > MISSED_DEAD ? START_SILENCE_MS / interval - MISSED_DEAD
                                                     : 0;
}

/* An own stall counts only as far as the node is patient for it. */
static uint32_t intervals_passed(struct qmgr *qmgr, uint32_t interval)
{
    uint64_t now = now_ms(&qmgr->block);
    uint64_t late = qmgr->ring.tick_due_ms != 0 ? now - qmgr->ring.tick_due_ms : 0;
    uint32_t patience = qmgr_patience_ms(qmgr);
    qmgr->ring.tick_due_ms = now + interval;
    qmgr_beat(qmgr, 0, late);
    return 1u + (late < patience ? (uint32_t)late : patience) / interval;
}

static void watch_left(struct qmgr *qmgr, uint32_t intervals)
{
    uint32_t left = qmgr->ring.left;
    uint32_t missed = qmgr->ring.missed += intervals;
    uint32_t more = missed_more(qmgr, block_config(&qmgr->block)->heartbeat_db_db_ms);
    if (missed >= MISSED_DEAD + more) {
        jam();
        event_send(&qmgr->block, EVENT_DEAD_DUE_TO_HEARTBEAT, left);
        if (qmgr_agrees(qmgr)) {
            jam(); /* It is asked first. */
            qmgr->ring.missed = MISSED_WARNING - 1;
            qmgr_suspect(qmgr, left, false, "its heartbeats are missing");
            return;
        }
        peer_close(&qmgr->block, left, "heartbeats missed");
        qmgr_member_lost(qmgr, left, "its heartbeats are missing");
    } else if (missed >= MISSED_WARNING + more) {
        jam();
        log_warning(&qmgr->block, "node %u missed heartbeat %u", left, missed - 1);
        event_send(&qmgr->block, EVENT_MISSED_HEARTBEAT, left, missed - 1);
    }
}

void qmgr_ring_tick(struct qmgr *qmgr)
{
    uint32_t interval = block_config(&qmgr->block)->heartbeat_db_db_ms;
    uint32_t intervals = intervals_passed(qmgr, interval);
    qmgr_work_later(qmgr, QMGR_RING_TICK, interval);
    if (qmgr->join.state != JOIN_MEMBER || qmgr->ring.broken) return;
    if (qmgr->ring.right != 0 && !qmgr_hangs(qmgr)) {
        struct cm_heartbeat beat = {.incarnation = qmgr->join.incarnation};
        sig_send(&qmgr->block, block_ref(qmgr->ring.right, BLOCK_QMGR, 0), GSN_CM_HEARTBEAT, PRIO_A,
                 &beat);
    }
    if (qmgr->ring.left != 0) watch_left(qmgr, intervals);
    qmgr_rejoin_tick(qmgr);
    qmgr_reach_probe(qmgr);
}

void qmgr_exec_CM_HEARTBEAT(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    if (ref_node(sig->sender) != qmgr->ring.left ||
        SIG_PAYLOAD(sig, cm_heartbeat)->incarnation != qmgr->join.incarnation) {
        jam(); /* The ring has changed, or the sender is still in a left incarnation. */
        return;
    }
    uint64_t due = qmgr->ring.heard_ms + block_config(block)->heartbeat_db_db_ms;
    uint64_t now = now_ms(block);
    if (qmgr->ring.heard_ms != 0) qmgr_beat(qmgr, qmgr->ring.left, now > due ? now - due : 0);
    qmgr->ring.heard_ms = now;
    qmgr_heard(qmgr, qmgr->ring.left);
    qmgr->ring.missed = 0;
}
