/* mgmd_requests.c -- requests of sessions that data nodes answer: their records, answers and ends.
 */
/* SPDX-License-Identifier: GPL-2.0-only
 *
 * A request lives from the command until all nodes have answered, ended, or the time is over; then
 * its session gets one reply. The session may be gone by then: the order goes on without it.
 *
 *   stop: waiting --STOP_CONF--> leaving --link down--> done        waiting --STOP_REF--> error
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mgmd/mgm_link.h"
#include "mgmd/mgmd.h"
#include "mgmd/mgmd_commands.h"
#include "mgmd/mgmd_session.h"
#include "signals/api_reg.h"
#include "signals/management.h"
#include "values/errors.h"

struct mgmd_request *mgmd_request_new(struct mgmd_session *session, uint64_t wait_ms)
{
    struct mgmd *mgmd = mgmd_session_owner(session);

    for (uint32_t i = 0; i < MGMD_REQUESTS_MAX; i++) {
        struct mgmd_request *request = &mgmd->requests[i];
        if (request->kind != MGMD_REQUEST_NONE) continue;
        *request = (struct mgmd_request){.id = ++mgmd->request_last,
                                         .session = mgmd_session_id(session),
                                         .deadline = uv_now(mgmd->loop) + wait_ms};
        return request;
    }
    mgmd_reply_error(session, ERR_MGM_SEND, "too many orders are being executed; retry");
    return NULL;
}

struct mgmd_request *mgmd_request_find(struct mgmd *mgmd, uint32_t id, enum mgmd_request_kind kind)
{
    for (uint32_t i = 0; i < MGMD_REQUESTS_MAX; i++) {
        if (mgmd->requests[i].kind == kind && mgmd->requests[i].id == id) return &mgmd->requests[i];
    }
    return NULL;
}

void mgmd_request_text(struct mgmd_request *request, const char *format, ...)
{
    char line[512];
    va_list args;

    va_start(args, format);
    int length = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (length >= (int)sizeof(line)) length = (int)sizeof(line) - 1;
    char *text =
        length < 0 ? NULL : realloc(request->text, request->text_size + (size_t)length + 1);
    if (text == NULL) return;
    memcpy(text + request->text_size, line, (size_t)length);
    request->text = text;
    request->text_size += (size_t)length;
}

static bool is_report(const struct mgmd_request *request)
{
    return request->kind == MGMD_REQUEST_MEMORY || request->kind == MGMD_REQUEST_DISK ||
           request->kind == MGMD_REQUEST_THREADS || request->kind == MGMD_REQUEST_EVENTS;
}

void mgmd_request_error(struct mgmd_request *request, uint32_t node, uint32_t error)
{
    if (is_report(request)) {
        mgmd_request_text(request, "node.%u.error: %u\n", node, error);
        request->done++;
        return;
    }
    if (error == ERR_MGM_SEND && node != 0) /* All of them are named: reply_silent(). */
        mgmd_request_text(request, "%s%u", request->text_size == 0 ? "" : ", ", node);
    if (request->error != 0) return;
    request->error = error == 0 ? ERR_MGM_SEND : error;
    request->error_node = node;
}

/* Why the cluster cannot go on without the node, and what to do about it. */
static void reply_needed(struct mgmd_session *session, uint32_t id, uint32_t error, bool restart)
{
    const struct mgmd *mgmd = mgmd_session_owner(session);
    char mates[200] = "";
    size_t used = 0;

    for (uint32_t mate = 1; mate <= CONFIG_DATA_NODES_MAX && used + 40 < sizeof(mates); mate++) {
        const struct config_section *node = config_node(mgmd->config, mate);
        enum ndb_mgm_node_status status = mgmd_data_node_status(mgmd, mate);
        uint64_t group = mgmd->nodes[mate].nodegroup; /* It says so itself if it runs. */
        if (mate == id || (!mgmd_is_data_node(mgmd, mate) && !mgmd->nodes[mate].linked)) continue;
        if (!mgmd->nodes[mate].status_known) {
            if (node == NULL || config_section_kind(node) != CONFIG_NDBD) continue;
            group = config_get_u64(node, CFG_NDBD_Nodegroup);
        }
        if (group != mgmd->nodes[id].nodegroup) continue;
        if (mgmd_node_works(mgmd, mate)) {
            mgmd_reply_error(session, (int)error,
                             "Node %u: %s: the data nodes that are left could not go on", id,
                             ndb_mgm_error_message((int)error));
            return;
        }
        used += (size_t)snprintf(
            mates + used, sizeof(mates) - used, "%snode %u %s%s", used == 0 ? "" : ", ", mate,
            status == NDB_MGM_STATUS_NO_ANSWER ? "" : "is ", ndb_mgm_status_text(status));
    }
    mgmd_reply_error(session, (int)error,
                     "Node %u: %s: it is the last one of node group %u that is started%s%s. %s "
                     "another one first, or %s",
                     id, ndb_mgm_error_message((int)error), mgmd->nodes[id].nodegroup,
                     used == 0 ? "" : "; ", mates,
                     mgmd_single_user(mgmd) == 0 ? "Start" : "EXIT SINGLE USER MODE and start",
                     restart ? "restart all nodes (ALL RESTART)" : "stop all nodes (ALL STOP)");
}

/* A node that hangs finds its order when it goes on. */
static void reply_silent(struct mgmd_session *session, const struct mgmd_request *request)
{
    bool several = request->text != NULL && memchr(request->text, ',', request->text_size) != NULL;
    char order[160] = "";

    /* Who was put out meanwhile ends, and its angel starts it again. */
    if (request->kind == MGMD_REQUEST_STOP)
        (void)snprintf(order, sizeof(order),
                       ". %s told to %s, and %s, unless the others have gone on without %s: then "
                       "%s restarted",
                       several ? "They were" : "It was", request->restart ? "restart" : "stop",
                       several ? "do when they go on" : "does when it goes on",
                       several ? "them" : "it", several ? "they are" : "it is");
    if (request->text == NULL)
        mgmd_reply_error(session, (int)request->error, "The data nodes do not answer%s", order);
    else
        mgmd_reply_error(session, (int)request->error, "Node%s %.*s do%s not answer%s",
                         several ? "s" : "", (int)request->text_size, request->text,
                         several ? "" : "es", order);
}

static void reply_now(struct mgmd_session *session, const struct mgmd_request *request)
{
    if (request->kind == MGMD_REQUEST_NODEID) {
        if (request->error == 0)
            mgmd_reply_nodeid(session, request->node_id, request->name);
        else
            mgmd_reply_error(session, NDB_MGM_ALLOCID_RETRY,
                             "node id %u is in use, or another management server gives it away",
                             request->node_id);
        return;
    }
    if (request->error == ERR_MGM_WOULD_STOP_CLUSTER) {
        reply_needed(session, request->error_node, request->error, request->restart);
        return;
    }
    if (request->error == ERR_MGM_SEND) {
        reply_silent(session, request);
        return;
    }
    if (request->error != 0) {
        mgmd_reply_error(session, (int)request->error, "Node %u: %s", request->error_node,
                         ndb_mgm_error_message((int)request->error));
        return;
    }
    mgmd_reply_begin(session, "Ok");
    if (request->kind == MGMD_REQUEST_SINGLE) {
        mgmd_reply_end(session);
        return;
    }
    if (is_report(request)) {
        mgmd_reply(session, "nodes: %u\n", request->done);
    } else {
        mgmd_reply(session, "%s: %u\ndisconnect: %d\n", request->restart ? "restarted" : "stopped",
                   request->done, request->then_exit);
    }
    if (request->text != NULL) mgmd_reply_text(session, request->text, request->text_size);
    mgmd_reply_end(session);
}

/* Do all started data nodes say what the president has confirmed? STATUS and SHOW do after that. */
static bool single_user_seen(const struct mgmd *mgmd, const struct mgmd_request *request)
{
    for (uint32_t id = 1; id <= CONFIG_DATA_NODES_MAX; id++) {
        const struct mgmd_node *node = &mgmd->nodes[id];
        if (!node->linked || !node->status_known || mgmd_node_hangs(mgmd, id)) continue;
        if (node->start_level != START_STARTED && node->start_level != START_SINGLEUSER) continue;
        if (node->single_user != request->single_user ||
            (node->start_level == START_SINGLEUSER) != (request->single_user != 0))
            return false;
    }
    return true;
}

/* Ends the request when nobody is awaited any more. The record is free before the session goes on.
 */
void mgmd_request_finish(struct mgmd *mgmd, struct mgmd_request *request)
{
    if (!node_mask_empty(&request->waiting) || !node_mask_empty(&request->leaving)) return;
    if (request->kind == MGMD_REQUEST_SINGLE && request->error == 0 &&
        (request->done == 0 || !single_user_seen(mgmd, request)))
        return;
    struct mgmd_session *session = mgmd_session(mgmd, request->session);
    bool then_exit = request->then_exit && request->error == 0;
    if (session != NULL) reply_now(session, request);
    free(request->text);
    *request = (struct mgmd_request){.kind = MGMD_REQUEST_NONE};
    if (session != NULL) mgmd_session_resume(session);
    if (then_exit) mgmd_exit(mgmd, 100);
}

/* Everything was sent: hear the answers. Without any node to wait for, the next tick answers. */
void mgmd_request_go(struct mgmd_session *session)
{
    mgmd_session_wait(session);
    mgm_link_flush(mgmd_session_owner(session)->link);
}

/* ---- answers ---- */

void mgmd_requests_signal(struct mgmd *mgmd, uint32_t node, const struct signal *sig)
{
    if (mgmd_reports_signal(mgmd, node, sig)) return;
    if (sig->gsn == GSN_ALLOC_NODEID_CONF || sig->gsn == GSN_ALLOC_NODEID_REF) {
        mgmd_take_nodeid(mgmd, node, sig);
        return;
    }
    if (sig->gsn == GSN_SINGLE_USER_CONF || sig->gsn == GSN_SINGLE_USER_REF) {
        mgmd_take_single_user(mgmd, node, sig);
        return;
    }
    /* STOP_CONF and STOP_REF begin with sender_data. */
    struct mgmd_request *request = mgmd_request_find(mgmd, sig->payload[0], MGMD_REQUEST_STOP);
    if (request == NULL || !node_mask_has(&request->waiting, node)) return;
    node_mask_remove(&request->waiting, node);
    if (sig->gsn == GSN_STOP_CONF) {
        node_mask_add(&request->leaving, node);
        mgmd->nodes[node].stopping = true;
    } else {
        mgmd_request_error(request, node, SIG_PAYLOAD(sig, stop_ref)->error);
    }
    mgmd_request_finish(mgmd, request);
}

void mgmd_requests_link_down(struct mgmd *mgmd, uint32_t node)
{
    for (uint32_t i = 0; i < MGMD_REQUESTS_MAX; i++) {
        struct mgmd_request *request = &mgmd->requests[i];
        bool waited = node_mask_has(&request->waiting, node);
        if (request->kind == MGMD_REQUEST_NONE) continue;
        if (!waited && !node_mask_has(&request->leaving, node)) continue;
        node_mask_remove(&request->waiting, node);
        node_mask_remove(&request->leaving, node);
        if (request->kind == MGMD_REQUEST_SINGLE) continue; /* The next president is asked. */
        if (is_report(request))
            mgmd_request_error(request, node, ERR_MGM_NO_CONTACT);
        else
            request->done++;
        /* Finished by the next tick: this may run inside a command. */
    }
}

/* A node that works accepts an order to stop soon, however long the stop itself takes: when all
 * others have agreed, or a hung one among them is lost. */
static void stop_late(const struct mgmd *mgmd, struct mgmd_request *request, uint64_t now)
{
    uint64_t accept_ms = MGMD_ANSWER_MS;

    for (uint32_t id = node_mask_next(&request->waiting, 0); id != 0;
         id = node_mask_next(&request->waiting, id)) {
        const struct config_section *node = config_node(mgmd->config, id);
        if (node == NULL) continue; /* The configuration has been changed meanwhile. */
        uint64_t lost_ms = MGMD_LOST_BEATS * config_get_u64(node, CFG_NDBD_HeartbeatIntervalDbDb);
        if (accept_ms < MGMD_ANSWER_MS + lost_ms) accept_ms = MGMD_ANSWER_MS + lost_ms;
    }
    if (now < request->deadline - MGMD_STOP_MS + accept_ms) return;
    for (uint32_t id = node_mask_next(&request->waiting, 0); id != 0;
         id = node_mask_next(&request->waiting, id))
        mgmd_request_error(request, id, ERR_MGM_SEND);
    request->waiting = (struct node_mask){{0}};
}

/* A node that hangs is not waited for longer than it takes to see that. */
static void report_late(const struct mgmd *mgmd, struct mgmd_request *request)
{
    for (uint32_t id = node_mask_next(&request->waiting, 0); id != 0;
         id = node_mask_next(&request->waiting, id)) {
        if (!mgmd_node_hangs(mgmd, id)) continue;
        node_mask_remove(&request->waiting, id);
        mgmd_request_error(request, id, ERR_MGM_SEND);
    }
}

void mgmd_requests_tick(struct mgmd *mgmd)
{
    uint64_t now = uv_now(mgmd->loop);

    for (uint32_t i = 0; i < MGMD_REQUESTS_MAX; i++) {
        struct mgmd_request *request = &mgmd->requests[i];
        if (request->kind == MGMD_REQUEST_NONE) continue;
        if (request->kind == MGMD_REQUEST_STOP) stop_late(mgmd, request, now);
        if (is_report(request)) report_late(mgmd, request);
        if (now >= request->deadline && request->kind == MGMD_REQUEST_NODEID) {
            mgmd_nodeid_late(mgmd, request);
            request->waiting = (struct node_mask){{0}};
        } else if (now >= request->deadline) {
            for (uint32_t id = 1; id <= CONFIG_DATA_NODES_MAX; id++) {
                if (node_mask_has(&request->waiting, id))
                    mgmd_request_error(request, id, ERR_MGM_SEND);
                if (node_mask_has(&request->leaving, id))
                    mgmd_request_error(request, id, ERR_MGM_STOP_NOT_ENDING);
            }
            if (request->kind == MGMD_REQUEST_SINGLE) mgmd_request_error(request, 0, ERR_MGM_SEND);
            request->waiting = (struct node_mask){{0}};
            request->leaving = (struct node_mask){{0}};
        } else if (request->kind == MGMD_REQUEST_SINGLE && request->done == 0 &&
                   node_mask_empty(&request->waiting)) {
            mgmd_single_user_send(mgmd, request);
        }
        mgmd_request_finish(mgmd, request);
    }
}
