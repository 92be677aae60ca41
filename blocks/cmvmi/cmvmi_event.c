/* cmvmi_event.c -- keeps the last events and hands them to the management servers that listen. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "blocks/cmvmi/cmvmi_state.h"

enum category {
    CATEGORY_STARTUP = 0,
    CATEGORY_SHUTDOWN,
    CATEGORY_STATISTICS,
    CATEGORY_CHECKPOINT,
    CATEGORY_NODERESTART,
    CATEGORY_CONNECTION,
    CATEGORY_INFO,
    CATEGORY_WARNING,
    CATEGORY_ERROR,
    CATEGORY_CONGESTION,
    CATEGORY_DEBUG,
    CATEGORY_BACKUP,
    CATEGORY_SCHEMA,
};

/* An event reaches a listener whose level for the category is at least the threshold. Numbers are
 * the field's. */
static const struct event_kind {
    uint32_t type;
    uint32_t category;
    uint32_t threshold;
} kinds[] = {
    {EVENT_CONNECTED, CATEGORY_CONNECTION, 8},
    {EVENT_DISCONNECTED, CATEGORY_CONNECTION, 8},
    {EVENT_COMMUNICATION_CLOSED, CATEGORY_CONNECTION, 8},
    {EVENT_COMMUNICATION_OPENED, CATEGORY_CONNECTION, 8},
    {EVENT_GLOBAL_CHECKPOINT_STARTED, CATEGORY_CHECKPOINT, 9},
    {EVENT_GLOBAL_CHECKPOINT_COMPLETED, CATEGORY_CHECKPOINT, 10},
    {EVENT_LOCAL_CHECKPOINT_STARTED, CATEGORY_CHECKPOINT, 7},
    {EVENT_LOCAL_CHECKPOINT_COMPLETED, CATEGORY_CHECKPOINT, 7},
    {EVENT_START_STARTED, CATEGORY_STARTUP, 1},
    {EVENT_START_COMPLETED, CATEGORY_STARTUP, 1},
    {EVENT_START_PHASE_COMPLETED, CATEGORY_STARTUP, 4},
    {EVENT_CM_REGCONF, CATEGORY_STARTUP, 3},
    {EVENT_CM_REGREF, CATEGORY_STARTUP, 8},
    {EVENT_FIND_NEIGHBOURS, CATEGORY_STARTUP, 8},
    {EVENT_STOP_STARTED, CATEGORY_STARTUP, 1},
    {EVENT_NODE_FAILREP, CATEGORY_NODERESTART, 8},
    {EVENT_ARBIT_STATE, CATEGORY_NODERESTART, 6},
    {EVENT_ARBIT_RESULT, CATEGORY_NODERESTART, 2},
    {EVENT_TRANS_REPORT_COUNTERS, CATEGORY_STATISTICS, 8},
    {EVENT_OPERATION_REPORT_COUNTERS, CATEGORY_STATISTICS, 8},
    {EVENT_TABLE_CREATED, CATEGORY_STATISTICS, 7},
    {EVENT_MISSED_HEARTBEAT, CATEGORY_ERROR, 8},
    {EVENT_DEAD_DUE_TO_HEARTBEAT, CATEGORY_ERROR, 8},
    {EVENT_WARNING, CATEGORY_ERROR, 2},
    {EVENT_SENT_HEARTBEAT, CATEGORY_INFO, 12},
    {EVENT_INFO, CATEGORY_INFO, 2},
    {EVENT_MEMORY_USAGE, CATEGORY_STATISTICS, 5},
    {EVENT_CONNECTED_API_VERSION, CATEGORY_CONNECTION, 8},
    {EVENT_SINGLE_USER, CATEGORY_INFO, 7},
    {EVENT_STOP_COMPLETED, CATEGORY_STARTUP, 1},
    {EVENT_STOP_FORCED, CATEGORY_STARTUP, 1},
    {EVENT_START_REPORT, CATEGORY_STARTUP, 4},
    {EVENT_CREATE_SCHEMA_OBJECT, CATEGORY_SCHEMA, 8},
    {EVENT_DROP_SCHEMA_OBJECT, CATEGORY_SCHEMA, 8},
};

static const struct event_kind *kind_of(uint32_t type)
{
    for (uint32_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kinds[i].type == type) return &kinds[i];
    }
    return NULL;
}

static void deliver(struct cmvmi *cmvmi, const struct event_listener *listener,
                    const struct saved_event *event)
{
    const struct event_kind *kind = kind_of(event->rep.type);
    if (kind == NULL || listener->level[kind->category] < kind->threshold) return;
    struct section text = {.words = event->text, .size = event->text_words};
    signal_send(&cmvmi->block, listener->ref, GSN_EVENT_REP, PRIO_B, &event->rep,
                sizeof(event->rep) / 4u, &text, event->text_words == 0 ? 0 : 1);
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
