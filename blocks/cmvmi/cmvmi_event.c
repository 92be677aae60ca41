/* cmvmi_event.c -- keeps the last events and hands them to the management servers that listen. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "blocks/cmvmi/cmvmi_state.h"
#include "signals/event_text.h"

/* An event reaches a listener whose level for the category is at least the threshold. */
static const struct event_kind *kind_of(uint32_t type)
{
    const struct event_kind *kind = event_kind(type);
    return kind->type == type ? kind : NULL;
}

static bool passes(const struct event_kind *kind, const uint32_t level[EVENT_CATEGORIES])
{
    return kind != NULL &&
           kind->threshold <= level[(uint32_t)kind->category - NDB_MGM_CATEGORY_FIRST];
}

static void deliver(struct cmvmi *cmvmi, const struct event_listener *listener,
                    const struct saved_event *event)
{
    const struct event_kind *kind = kind_of(event->rep.type);
    if (!passes(kind, listener->level)) return;
    struct section text = {.words = event->text, .size = event->text_words};
    signal_send(&cmvmi->block, listener->ref, GSN_EVENT_REP, PRIO_B, &event->rep,
                sizeof(event->rep) / 4u, &text, event->text_words == 0 ? 0 : 1);
}

/* A line in the node's own log, when somebody has asked for it. */
static void write_down(struct cmvmi *cmvmi, const struct saved_event *event)
{
    char text[EVENT_TEXT_MAX + 1u] = "";
    char line[256];
    if (!passes(kind_of(event->rep.type), cmvmi->own_level)) return;
    if (event->text_words > 1) {
        uint32_t room = 4u * (event->text_words - 1u);
        uint32_t size = event->text[0] < room ? event->text[0] : room;
        if (size > EVENT_TEXT_MAX) size = EVENT_TEXT_MAX;
        memcpy(text, event->text + 1, size);
        text[size] = '\0';
    }
    event_format(event->rep.type, event->rep.data, text, line, sizeof(line));
    log_info(&cmvmi->block, "%s", line);
}

void cmvmi_exec_SET_LOGLEVEL_ORD(struct block *block, const struct signal *sig)
{
    const struct set_loglevel_ord *ord = SIG_PAYLOAD(sig, set_loglevel_ord);
    uint32_t index = ord->category - NDB_MGM_CATEGORY_FIRST;
    jam();
    if (index < EVENT_CATEGORIES && ord->level <= 15)
        cmvmi_of(block)->own_level[index] = ord->level;
}

/* Global checkpoints, statistics and the like come all the time: kept, they would push out what a
 * late listener wants to know. */
static bool is_kept(uint32_t type)
{
    const struct event_kind *kind = kind_of(type);
    return kind != NULL && kind->threshold <= EVENT_KEPT_THRESHOLD;
}

void cmvmi_exec_EVENT_REP(struct block *block, const struct signal *sig)
{
    struct cmvmi *cmvmi = cmvmi_of(block);
    struct saved_event *event = &cmvmi->ring[cmvmi->event_next % EVENT_RING];
    bool kept = is_kept(SIG_PAYLOAD(sig, event_rep)->type);
    struct saved_event passing;
    if (!kept) event = &passing;
    event->at_ms = now_ms(block);
    event->rep = *SIG_PAYLOAD(sig, event_rep);
    event->rep.node = ref_node(sig->sender);
    event->text_words = 0;
    if (sig->section_count == 1 && sig->section[0].size <= EVENT_TEXT_WORDS) {
        jam();
        event->text_words = sig->section[0].size;
        memcpy(event->text, sig->section[0].words, (size_t)event->text_words * 4u);
    }
    if (kept) cmvmi->event_next++;
    write_down(cmvmi, event);
    for (uint32_t node = 1; node <= NODE_ID_MAX; node++) {
        struct event_listener *listener = &cmvmi->listener[node];
        if (listener->ref == 0) continue;
        deliver(cmvmi, listener, event);
        listener->delivered = cmvmi->event_next;
    }
}

/* What a listener has missed since its link broke, or since the node began, comes before anything
 * new. */
void cmvmi_exec_EVENT_SUBSCRIBE_REQ(struct block *block, const struct signal *sig)
{
    struct cmvmi *cmvmi = cmvmi_of(block);
    const struct event_subscribe_req *req = SIG_PAYLOAD(sig, event_subscribe_req);
    struct event_listener *listener = &cmvmi->listener[ref_node(sig->sender)];
    jam();
    listener->ref = sig->sender;
    memcpy(listener->level, req->level, sizeof(listener->level));
    struct event_subscribe_conf conf = {.sender_data = req->sender_data};
    sig_send(block, sig->sender, GSN_EVENT_SUBSCRIBE_CONF, PRIO_B, &conf);

    uint32_t first = listener->delivered;
    if (cmvmi->event_next - first > EVENT_RING) {
        jam();
        first = cmvmi->event_next - EVENT_RING;
    }
    for (uint32_t number = first; number != cmvmi->event_next; number++)
        deliver(cmvmi, listener, &cmvmi->ring[number % EVENT_RING]);
    listener->delivered = cmvmi->event_next;
}

/* All that is kept; whoever asks has perhaps heard of it before. */
void cmvmi_exec_EVENT_LOG_REQ(struct block *block, const struct signal *sig)
{
    struct cmvmi *cmvmi = cmvmi_of(block);
    uint32_t sender_data = SIG_PAYLOAD(sig, event_log_req)->sender_data;
    uint32_t count = cmvmi->event_next < EVENT_RING ? cmvmi->event_next : EVENT_RING;
    uint64_t now = now_ms(block);
    jam();
    for (uint32_t i = 0; i < count; i++) {
        const struct saved_event *event =
            &cmvmi->ring[(cmvmi->event_next - count + i) % EVENT_RING];
        uint64_t age = now - event->at_ms;
        struct event_log_rep rep = {.sender_data = sender_data,
                                    .age_ms = age < UINT32_MAX ? (uint32_t)age : UINT32_MAX,
                                    .type = event->rep.type,
                                    .node = event->rep.node};
        struct section text = {.words = event->text, .size = event->text_words};
        memcpy(rep.data, event->rep.data, sizeof(rep.data));
        signal_send(block, sig->sender, GSN_EVENT_LOG_REP, PRIO_B, &rep, sizeof(rep) / 4u, &text,
                    event->text_words == 0 ? 0 : 1);
    }
    struct event_log_conf conf = {.sender_data = sender_data, .count = count};
    sig_send(block, sig->sender, GSN_EVENT_LOG_CONF, PRIO_B, &conf);
}

void cmvmi_listener_gone(struct cmvmi *cmvmi, uint32_t node)
{
    if (node <= NODE_ID_MAX) cmvmi->listener[node].ref = 0;
}
