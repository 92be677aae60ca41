/* mgmd_events.c -- events: which ones data nodes are to send, and where each goes, to the cluster
 * log and to those who listen. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>

#include "mgmd/mgm_link.h"
#include "mgmd/mgmd.h"
#include "mgmd/mgmd_session.h"
#include "signals/event_log.h"
#include "signals/event_report.h"
#include "signals/event_text.h"

void mgmd_subscribe(struct mgmd *mgmd, uint32_t node)
{
    struct event_subscribe_req req = {.sender_data = node};

    for (uint32_t i = 0; i < NDB_MGM_CATEGORIES; i++)
        req.level[i] = mgmd->nodes[node].log_level[i];
    mgmd_listeners_levels(mgmd, req.level);
    (void)mgm_link_send(mgmd->link, node, BLOCK_CMVMI, GSN_EVENT_SUBSCRIBE_REQ, PRIO_B, &req,
                        sizeof(req) / 4);
}

void mgmd_nodes_subscribe(struct mgmd *mgmd)
{
    for (uint32_t id = 1; id <= CONFIG_DATA_NODES_MAX; id++) {
        if (mgmd->nodes[id].linked) mgmd_subscribe(mgmd, id);
    }
}

void mgmd_event_text(const struct signal *sig, char *text, size_t size)
{
    text[0] = '\0';
    if (sig->section_count != 1 || sig->section[0].size < 1) return;
    size_t room = 4 * (size_t)(sig->section[0].size - 1);
    size_t length = sig->section[0].words[0];
    if (length > room) length = room;
    if (length > size - 1) length = size - 1;
    memcpy(text, sig->section[0].words + 1, length);
    text[length] = '\0';
}

void mgmd_take_event(struct mgmd *mgmd, uint32_t id, const struct signal *sig)
{
    const struct event_rep *rep = SIG_PAYLOAD(sig, event_rep);
    char text[MGMD_EVENT_TEXT_MAX];

    mgmd_event_text(sig, text, sizeof(text));
    mgmd_event(mgmd, rep->type, id, rep->data, EVENT_WORDS, text);
}

void mgmd_event(struct mgmd *mgmd, uint32_t type, uint32_t source, const uint32_t *data,
                uint32_t words, const char *text)
{
    const struct event_kind *kind = event_kind(type);
    struct ndb_mgm_event event = {.type = type,
                                  .source_node = source,
                                  .category = kind->category,
                                  .severity = kind->severity};
    uint32_t all[EVENT_WORDS] = {0};
    uint32_t index = (uint32_t)kind->category - NDB_MGM_CATEGORY_FIRST;
    uv_timeval64_t now = {0, 0};

    (void)uv_gettimeofday(&now);
    event.time = (uint64_t)now.tv_sec;
    memcpy(all, data, 4 * (size_t)(words < EVENT_WORDS ? words : EVENT_WORDS));
    event_format(type, all, text, event.text, sizeof(event.text));
    if (kind->threshold <= mgmd->nodes[source].log_level[index]) {
        cluster_log_write(mgmd->log, event.severity, source, event.text);
    }
    mgmd_listeners_event(mgmd, &event, kind->threshold);
}
