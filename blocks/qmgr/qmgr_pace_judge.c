/* qmgr_pace_judge.c -- the president decides who is slow, the members learn what it has found. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>
#include "blocks/qmgr/qmgr_state.h"

#define ROW_COUNTS_MS 2000u
#define TELL_MS       1000u
#define WORDS_MAX     160u

/* --- What all members do with it. --- */

static void tell_cntr(struct qmgr *qmgr, uint32_t node, bool slow)
{
    struct node_pace_rep rep = {.node = node, .slow = slow};
    jam_data(node);
    sig_send(&qmgr->block, qmgr_local(qmgr, BLOCK_NDBCNTR), GSN_NODE_PACE_REP, PRIO_A, &rep);
}

/* From now on these are slow. */
static void take(struct qmgr *qmgr, const struct node_mask *slow, const struct node_mask *aside)
{
    struct qmgr_pace *pace = &qmgr->pace;
    uint32_t own = qmgr_own(qmgr);
    bool changed = !node_mask_equal(slow, &pace->slow);
    struct node_mask before = pace->aside;
    struct node_pace_rep rep = {.node = own, .slow = node_mask_has(slow, own)};
    bool own_changed = node_mask_has(&pace->slow, own) != (rep.slow != 0);
    pace->slow = *slow;
    pace->aside = *aside;
    EACH_NODE(node, &before) {
        if (!node_mask_has(aside, node)) tell_cntr(qmgr, node, false);
    }
    EACH_NODE(node, aside) {
        if (!node_mask_has(&before, node)) tell_cntr(qmgr, node, true);
    }
    if (own_changed) {
        jam();
        sig_send(&qmgr->block, qmgr_local(qmgr, BLOCK_CMVMI), GSN_NODE_PACE_REP, PRIO_A, &rep);
    }
    if (changed) qmgr_clients_tell_level(qmgr);
}

void qmgr_exec_PACE_SLOW_REP(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct pace_slow_rep *rep = SIG_PAYLOAD(sig, pace_slow_rep);
    uint32_t node = ref_node(sig->sender);
    struct node_mask slow = rep->slow;
    struct node_mask aside = rep->aside;
    if (!qmgr_talks(qmgr, node, rep->incarnation) || node != qmgr->join.president) {
        jam();
        return;
    }
    node_mask_keep(&slow, &qmgr->join.members);
    node_mask_keep(&aside, &slow);
    take(qmgr, &slow, &aside);
}

/* The only one that is left is not compared with anybody, now or when another one comes back. */
static void left_alone(struct qmgr *qmgr)
{
    struct node_mask nobody = {{0}};
    jam();
    memset(qmgr->pace.of, 0, sizeof(qmgr->pace.of));
    take(qmgr, &nobody, &nobody);
}

/* Who is lost is forgotten, by the others' NDBCNTRs too: it comes back as well. */
void qmgr_pace_view(struct qmgr *qmgr)
{
    struct qmgr_pace *pace = &qmgr->pace;
    if (node_mask_empty(&pace->slow)) return;
    if (qmgr->join.state == JOIN_MEMBER && node_mask_count(&qmgr->join.members) == 1) {
        left_alone(qmgr);
        return;
    }
    if (node_mask_within(&pace->slow, &qmgr->join.members)) return;
    jam();
    bool own = node_mask_has(&pace->slow, qmgr_own(qmgr));
    node_mask_keep(&pace->slow, &qmgr->join.members);
    node_mask_keep(&pace->aside, &pace->slow);
    if (!own || node_mask_has(&pace->slow, qmgr_own(qmgr))) return;
    jam(); /* It joins anew. */
    struct node_pace_rep rep = {.node = qmgr_own(qmgr)};
    sig_send(&qmgr->block, qmgr_local(qmgr, BLOCK_CMVMI), GSN_NODE_PACE_REP, PRIO_A, &rep);
}

/* --- President. --- */

void qmgr_pace_row(struct qmgr *qmgr, uint32_t node, const struct pace_row *row)
{
    qmgr->pace.map.row[node] = *row;
    qmgr->pace.row_ms[node] = now_ms(&qmgr->block);
}

void qmgr_exec_PACE_ROW_REP(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct pace_row_rep *rep = SIG_PAYLOAD(sig, pace_row_rep);
    uint32_t node = ref_node(sig->sender);
    if (!qmgr_talks(qmgr, node, rep->incarnation) || node > DATA_NODE_ID_MAX) {
        jam();
        return;
    }
    qmgr_pace_row(qmgr, node, &rep->row);
}

static void figure(char *text, size_t size, uint32_t ms)
{
    if (ms == PACE_UNKNOWN)
        (void)snprintf(text, size, "unknown");
    else
        (void)snprintf(text, size, "%u ms", ms);
}

static void say_slow(struct qmgr *qmgr, const struct pace_view *view, uint32_t node)
{
    char inside[16];
    char reach[16];
    char typical[16];
    char typical_reach[16];
    char text[WORDS_MAX];
    figure(inside, sizeof(inside), view->of[node].inside_ms);
    figure(reach, sizeof(reach), view->of[node].reach_ms);
    figure(typical, sizeof(typical), view->typical.inside_ms);
    figure(typical_reach, sizeof(typical_reach), view->typical.reach_ms);
    (void)snprintf(text, sizeof(text),
                   "Node %u is slow: inside %s (typical %s), reached in %s (typical %s)", node,
                   inside, typical, reach, typical_reach);
    log_warning(&qmgr->block, "%s", text);
    event_text(&qmgr->block, EVENT_WARNING, text);
}

static void say(struct qmgr *qmgr, enum event_type type, const char *text)
{
    log_info(&qmgr->block, "%s", text);
    event_text(&qmgr->block, type, text);
}

static void judge_nodes(struct qmgr *qmgr, const struct pace_view *view, struct node_mask *slow)
{
    char text[WORDS_MAX];
    memset(slow, 0, sizeof(*slow));
    EACH_NODE(node, &qmgr->pace.map.members) {
        bool before = node_mask_has(&qmgr->pace.slow, node);
        bool now = pace_step(&qmgr->pace.of[node], before, node_mask_has(&view->over, node),
                             now_ms(&qmgr->block));
        if (now) node_mask_add(slow, node);
        if (now && !before) {
            jam_data(node);
            say_slow(qmgr, view, node);
        } else if (before && !now) {
            jam_data(node);
            (void)snprintf(text, sizeof(text), "Node %u is as fast as the others again", node);
            say(qmgr, EVENT_INFO, text);
        }
    }
}

/* One link at a time. */
static void judge_link(struct qmgr *qmgr, const struct pace_view *view)
{
    struct qmgr_pace *pace = &qmgr->pace;
    char text[WORDS_MAX];
    bool same = view->link_a == pace->link_a && view->link_b == pace->link_b;
    bool was = pace->link_slow != 0;
    if (!was && !same) {
        pace->link = (struct pace_state){0};
        pace->link_a = view->link_a;
        pace->link_b = view->link_b;
    }
    bool over = view->link_a != 0 && view->link_a == pace->link_a && view->link_b == pace->link_b;
    pace->link_slow = pace_step(&pace->link, was, over, now_ms(&qmgr->block));
    if (was == (pace->link_slow != 0)) return;
    jam_data(pace->link_a);
    if (was) {
        (void)snprintf(text, sizeof(text), "The link between nodes %u and %u is fast again",
                       pace->link_a, pace->link_b);
        say(qmgr, EVENT_INFO, text);
        return;
    }
    (void)snprintf(text, sizeof(text),
                   "The link between nodes %u and %u is slow: %u ms (typical %u ms)", pace->link_a,
                   pace->link_b, view->link_ms, view->typical.reach_ms);
    say(qmgr, EVENT_WARNING, text);
}

/* It has become president: nobody else's times count, and its NDBCNTR now leads. */
static void begin_to_judge(struct qmgr *qmgr)
{
    struct qmgr_pace *pace = &qmgr->pace;
    jam();
    pace->judges = 1;
    pace->told_ms = 0;
    pace->link_slow = pace->link_a = pace->link_b = 0;
    memset(pace->of, 0, sizeof(pace->of));
    memset(pace->row_ms, 0, sizeof(pace->row_ms));
    qmgr->pace.row_ms[qmgr_own(qmgr)] = now_ms(&qmgr->block); /* Just made. */
    EACH_NODE(node, &pace->aside)
        tell_cntr(qmgr, node, true);
}

static void tell_all(struct qmgr *qmgr)
{
    struct pace_slow_rep rep = {
        .incarnation = qmgr->join.incarnation,
        .slow = qmgr->pace.slow,
        .aside = qmgr->pace.aside,
    };
    struct node_mask others = qmgr->join.members;
    node_mask_remove(&others, qmgr_own(qmgr));
    node_mask_cut(&others, &qmgr->failure.fenced);
    qmgr->pace.told_ms = now_ms(&qmgr->block);
    signal_broadcast(&qmgr->block, &others, BLOCK_QMGR, GSN_PACE_SLOW_REP, PRIO_A, &rep,
                     sizeof(rep) / 4u, NULL, 0);
}

/* Rows that are fresh, of those who are judged. */
static void bring_up_to_date(struct qmgr *qmgr)
{
    struct qmgr_pace *pace = &qmgr->pace;
    uint64_t now = now_ms(&qmgr->block);
    qmgr_pace_members(qmgr, &pace->map.members);
    memset(&pace->map.known, 0, sizeof(pace->map.known));
    pace->map.slow = pace->slow;
    for (uint32_t node = 1; node <= DATA_NODE_ID_MAX; node++) {
        if (!node_mask_has(&pace->map.members, node)) {
            pace->of[node] = (struct pace_state){0};
            pace->row_ms[node] = 0;
        } else if (pace->row_ms[node] != 0 && now - pace->row_ms[node] <= ROW_COUNTS_MS) {
            node_mask_add(&pace->map.known, node);
        }
        /* Who is on the way to be slow is so from half the limit on as well. */
        if (pace->of[node].turning != 0) node_mask_add(&pace->map.slow, node);
    }
}

void qmgr_pace_judge(struct qmgr *qmgr)
{
    struct qmgr_pace *pace = &qmgr->pace;
    struct pace_view view;
    struct node_mask slow;
    struct node_mask aside = pace->aside;
    /* Who has not run cannot say how the others were meanwhile. Perhaps it is not president any
     * more, and has not heard of it. */
    if (now_ms(&qmgr->block) > pace->due_ms + ROW_COUNTS_MS) {
        jam();
        pace->judges = 0;
    }
    if (!pace->judges) begin_to_judge(qmgr);
    bring_up_to_date(qmgr);
    pace_rule(&pace->map, &view);
    judge_nodes(qmgr, &view, &slow);
    judge_link(qmgr, &view);
    pace_aside(block_config(&qmgr->block), &pace->map.members, &slow, &aside);
    bool changed = !node_mask_equal(&slow, &pace->slow) || !node_mask_equal(&aside, &pace->aside);
    if (changed) {
        jam();
        take(qmgr, &slow, &aside);
    }
    if (changed || now_ms(&qmgr->block) - pace->told_ms >= TELL_MS) tell_all(qmgr);
}
