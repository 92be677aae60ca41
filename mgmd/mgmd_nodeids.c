/* mgmd_nodeids.c -- node ids, with several management servers: the data nodes hold one for whoever
 * asks first. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>

#include "mgmd/mgm_link.h"
#include "mgmd/mgmd.h"
#include "mgmd/mgmd_session.h"
#include "signals/management.h"

static void nodeid_send(struct mgmd *mgmd, struct mgmd_request *request, uint32_t hold_ms)
{
    struct alloc_nodeid_req req = {
        .sender_data = request->id, .node = request->node_id, .hold_ms = hold_ms};

    for (uint32_t id = 1; id <= CONFIG_DATA_NODES_MAX; id++) {
        if (!mgmd_is_data_node(mgmd, id) || !mgmd_node_serves(mgmd, id)) continue;
        if (mgm_link_send(mgmd->link, id, BLOCK_QMGR, GSN_ALLOC_NODEID_REQ, PRIO_A, &req,
                          sizeof(req) / 4) != 0 ||
            hold_ms == 0)
            continue;
        node_mask_add(&request->waiting, id);
        request->asked++;
    }
    mgm_link_flush(mgmd->link);
}

/* One that hangs counts: the other server may reach it. */
static bool somebody_serves(const struct mgmd *mgmd)
{
    for (uint32_t id = 1; id <= CONFIG_DATA_NODES_MAX; id++) {
        if (mgmd_is_data_node(mgmd, id) && mgmd_node_serves(mgmd, id)) return true;
    }
    return false;
}

bool mgmd_order_nodeid(struct mgmd_session *session, uint32_t id, bool any, const char *host,
                       const char *name)
{
    struct mgmd *mgmd = mgmd_session_owner(session);

    if (config_count(mgmd->config, CONFIG_MGMD) < 2 || !somebody_serves(mgmd)) return false;
    struct mgmd_request *request = mgmd_request_new(session, MGMD_ASK_ID_MS);
    if (request == NULL) return true;
    request->kind = MGMD_REQUEST_NODEID;
    request->node_id = id;
    request->any = any;
    (void)snprintf(request->host, sizeof(request->host), "%s", host);
    (void)snprintf(request->name, sizeof(request->name), "%.64s", name);
    nodeid_send(mgmd, request, MGMD_HOLD_ID_MS);
    mgmd_request_go(session);
    return true;
}

void mgmd_order_nodeid_free(struct mgmd *mgmd, uint32_t id)
{
    struct mgmd_request nobody = {.node_id = id};

    if (config_count(mgmd->config, CONFIG_MGMD) > 1 && !mgmd->stopping)
        nodeid_send(mgmd, &nobody, 0);
}

/* Somebody has it: the next one that is free, or none. */
static void nodeid_next(struct mgmd *mgmd, struct mgmd_request *request)
{
    struct mgmd_session *session = mgmd_session(mgmd, request->session);
    uint32_t refused = request->node_id;
    char why[400];
    int code;

    nodeid_send(mgmd, request, 0);
    request->waiting = (struct node_mask){{0}};
    if (mgmd->nodes[refused].holder == request->session) mgmd->nodes[refused].holder = 0;
    mgmd->nodes[refused].kept_until = uv_now(mgmd->loop) + MGMD_ASK_ID_MS;
    uint32_t id = session == NULL || !request->any
                      ? 0
                      : mgmd_alloc_id(mgmd, session, NDB_MGM_NODE_API, 0, request->host, &code, why,
                                      sizeof(why));
    if (id == 0) {
        request->error = NDB_MGM_ALLOCID_RETRY;
        return;
    }
    request->node_id = id;
    request->id = ++mgmd->request_last; /* Answers about the other one do not count any more. */
    request->asked = request->done = 0;
    nodeid_send(mgmd, request, MGMD_HOLD_ID_MS);
}

void mgmd_take_nodeid(struct mgmd *mgmd, uint32_t node, const struct signal *sig)
{
    struct mgmd_request *request = mgmd_request_find(mgmd, sig->payload[0], MGMD_REQUEST_NODEID);

    if (request == NULL || !node_mask_has(&request->waiting, node)) return;
    node_mask_remove(&request->waiting, node);
    if (sig->gsn == GSN_ALLOC_NODEID_REF)
        nodeid_next(mgmd, request);
    else
        request->done++;
    mgmd_request_finish(mgmd, request);
}

void mgmd_nodeid_late(struct mgmd *mgmd, struct mgmd_request *request)
{
    if (2 * request->done > request->asked) return;
    nodeid_send(mgmd, request, 0);
    if (mgmd->nodes[request->node_id].holder == request->session)
        mgmd->nodes[request->node_id].holder = 0;
    request->error = NDB_MGM_ALLOCID_RETRY;
}
