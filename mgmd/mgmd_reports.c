/* mgmd_reports.c -- what data nodes tell of themselves: memory, logs and checkpoints, events. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <inttypes.h>
#include <string.h>

#include "kernel/base/arena.h"
#include "kernel/base/u64.h"
#include "mgmd/mgm_link.h"
#include "mgmd/mgmd.h"
#include "mgmd/mgmd_commands.h"
#include "mgmd/mgmd_session.h"
#include "signals/event_log.h"
#include "signals/event_text.h"
#include "signals/node_report.h"
#include "signals/redo.h"
#include "values/errors.h"

/* Asks data nodes with a request that consists of sender_data alone. */
static void order_report(struct mgmd_session *session, enum mgmd_request_kind kind, uint32_t gsn)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    struct node_mask nodes;
    bool self;

    if (!mgmd_read_nodes(session, false, false, &nodes, &self)) return;
    if (self) {
        mgmd_reply_wrong_node(session, mgmd->own_node, ERR_MGM_NOT_DATA_NODE);
        return;
    }
    struct mgmd_request *request = mgmd_request_new(session, MGMD_ANSWER_MS);
    if (request == NULL) return;
    request->kind = kind;
    for (uint32_t id = node_mask_next(&nodes, 0); id != 0; id = node_mask_next(&nodes, id)) {
        /* This comes before sending: a link that breaks now answers with ERR_MGM_NO_CONTACT. */
        node_mask_add(&request->waiting, id);
        if (mgm_link_send(mgmd->link, id, BLOCK_CMVMI, gsn, PRIO_B, &request->id, 1) == 0) continue;
        node_mask_remove(&request->waiting, id);
        mgmd_request_error(request, id, ERR_MGM_NO_CONTACT);
    }
    mgmd_request_go(session);
}

void mgmd_order_memory(struct mgmd_session *session)
{
    order_report(session, MGMD_REQUEST_MEMORY, GSN_MEMORY_REPORT_REQ);
}

void mgmd_order_disk(struct mgmd_session *session)
{
    order_report(session, MGMD_REQUEST_DISK, GSN_DISK_REPORT_REQ);
}

void mgmd_order_threads(struct mgmd_session *session)
{
    order_report(session, MGMD_REQUEST_THREADS, GSN_THREAD_REPORT_REQ);
}

void mgmd_order_events(struct mgmd_session *session)
{
    order_report(session, MGMD_REQUEST_EVENTS, GSN_EVENT_LOG_REQ);
}

static void take_memory(struct mgmd *mgmd, uint32_t node, const struct signal *sig)
{
    const struct memory_report_conf *conf = SIG_PAYLOAD(sig, memory_report_conf);
    struct mgmd_request *request = mgmd_request_find(mgmd, conf->sender_data, MGMD_REQUEST_MEMORY);

    if (request == NULL || !node_mask_has(&request->waiting, node)) return;
    node_mask_remove(&request->waiting, node);
    uint32_t groups = conf->groups;
    if (sig->section_count != 1 || groups > NDB_MGM_GROUPS_MAX ||
        sig->section[0].size < 5 * groups + 2) {
        mgmd_request_error(request, node, ERR_MGM_SEND);
        mgmd_request_finish(mgmd, request);
        return;
    }
    const uint32_t *words = sig->section[0].words;
    mgmd_request_text(request, "node.%u.page_size: %u\n", node, conf->page_size);
    mgmd_request_text(request, "node.%u.data_total: %u\n", node,
                      groups > RG_DATA ? words[5 * RG_DATA + 1] : 0);
    mgmd_request_text(request, "node.%u.data_used: %u\nnode.%u.index_used: %u\n", node,
                      words[5 * groups], node, words[5 * groups + 1]);
    for (uint32_t i = 0; i < groups; i++) {
        const uint32_t *group = words + 5 * i; /* used, max, reserved, high, failed */
        mgmd_request_text(request, "node.%u.group.%u: %u %u %u %u %u\n", node, i, group[0],
                          group[1], group[2], group[3], group[4]);
    }
    request->done++;
    mgmd_request_finish(mgmd, request);
}

/* state percent fill files file_kb head_file head_mb tail_file delayed lsn records bytes */
static void part_line(struct mgmd_request *request, uint32_t node, uint32_t part,
                      const struct redo_status_conf *conf)
{
    mgmd_request_text(
        request,
        "node.%u.part.%u: %u %u %u %u %u %u %u %u %u %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", node,
        part, conf->state, conf->percent, conf->fill, conf->files, conf->file_blocks * 4,
        conf->head_file, conf->head_block / 256, conf->tail_file, conf->delayed,
        u64_of(conf->lsn_lo, conf->lsn_hi), u64_of(conf->records_lo, conf->records_hi),
        u64_of(conf->bytes_lo, conf->bytes_hi));
}

static void disk_lines(struct mgmd_request *request, uint32_t node,
                       const struct disk_report_conf *conf)
{
    mgmd_request_text(request, "node.%u.diskless: %u\nnode.%u.gci: %u\nnode.%u.durable: %u\n", node,
                      conf->diskless, node, conf->gci, node, conf->durable);
    mgmd_request_text(request, "node.%u.lcp: %u %u %u\n", node, conf->lcp_state, conf->lcp_id,
                      conf->lcp_ms);
    mgmd_request_text(request, "node.%u.last: %u %u %u %u %u %u\n", node, conf->last_id,
                      conf->last_age_ms, conf->last_ms, conf->last_fragments, conf->last_failed,
                      conf->last_kbytes);
}

static void take_disk(struct mgmd *mgmd, uint32_t node, const struct signal *sig)
{
    const struct disk_report_conf *conf = SIG_PAYLOAD(sig, disk_report_conf);
    struct mgmd_request *request = mgmd_request_find(mgmd, conf->sender_data, MGMD_REQUEST_DISK);
    uint32_t parts = conf->parts;

    if (request == NULL || !node_mask_has(&request->waiting, node)) return;
    node_mask_remove(&request->waiting, node);
    if (parts > NDB_MGM_LOG_PARTS_MAX ||
        (parts > 0 &&
         (sig->section_count != 1 || sig->section[0].size < (size_t)parts * DISK_REPORT_WORDS))) {
        mgmd_request_error(request, node, ERR_MGM_SEND);
        mgmd_request_finish(mgmd, request);
        return;
    }
    disk_lines(request, node, conf);
    for (uint32_t i = 0; i < parts; i++) {
        struct redo_status_conf part = {.sender_data = 0};
        memcpy((uint32_t *)&part + 1, sig->section[0].words + (size_t)i * DISK_REPORT_WORDS,
               4 * DISK_REPORT_WORDS);
        part_line(request, node, i, &part);
    }
    request->done++;
    mgmd_request_finish(mgmd, request);
}

/* name at user system work spin sleep */
static void thread_line(struct mgmd_request *request, uint32_t node, uint32_t no,
                        const struct thread_use *use)
{
    char name[THREAD_NAME_BYTES + 1] = "";
    memcpy(name, use->name, THREAD_NAME_BYTES);
    for (char *c = name; *c != '\0'; c++) {
        if (*c <= ' ' || *c > '~') *c = '?';
    }
    mgmd_request_text(request,
                      "node.%u.thread.%u: %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                      " %" PRIu64 " %" PRIu64 "\n",
                      node, no, name[0] == '\0' ? "?" : name, u64_of(use->at[0], use->at[1]),
                      u64_of(use->user[0], use->user[1]), u64_of(use->system[0], use->system[1]),
                      u64_of(use->work[0], use->work[1]), u64_of(use->spin[0], use->spin[1]),
                      u64_of(use->sleep[0], use->sleep[1]));
}

static void take_threads(struct mgmd *mgmd, uint32_t node, const struct signal *sig)
{
    const struct thread_report_conf *conf = SIG_PAYLOAD(sig, thread_report_conf);
    struct mgmd_request *request = mgmd_request_find(mgmd, conf->sender_data, MGMD_REQUEST_THREADS);
    uint32_t words = sig->section_count == 1 ? sig->section[0].size : 0;
    struct thread_use use;

    if (request == NULL || !node_mask_has(&request->waiting, node)) return;
    node_mask_remove(&request->waiting, node);
    if (conf->threads > THREAD_USES_MAX || words < conf->threads * (sizeof(use) / 4)) {
        mgmd_request_error(request, node, ERR_MGM_SEND);
        mgmd_request_finish(mgmd, request);
        return;
    }
    mgmd_request_text(request, "node.%u.threads: %u\n", node, conf->threads);
    for (uint32_t i = 0; i < conf->threads; i++) {
        memcpy(&use, sig->section[0].words + i * (sizeof(use) / 4), sizeof(use));
        thread_line(request, node, i, &use);
    }
    request->done++;
    mgmd_request_finish(mgmd, request);
}

/* One line; the node's number of it makes the names of a reply different. */
static void take_event_line(struct mgmd *mgmd, uint32_t node, const struct signal *sig)
{
    const struct event_log_rep *rep = SIG_PAYLOAD(sig, event_log_rep);
    struct mgmd_request *request = mgmd_request_find(mgmd, rep->sender_data, MGMD_REQUEST_EVENTS);
    const struct event_kind *kind = event_kind(rep->type);
    char text[MGMD_EVENT_TEXT_MAX];
    char line[300];
    uv_timeval64_t now = {0, 0};

    if (request == NULL || !node_mask_has(&request->waiting, node)) return;
    (void)uv_gettimeofday(&now);
    mgmd_event_text(sig, text, sizeof(text));
    event_format(rep->type, rep->data, text, line, sizeof(line));
    for (char *c = line; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ') *c = '?';
    }
    int64_t at_ms = now.tv_sec * 1000 + now.tv_usec / 1000 - (int64_t)rep->age_ms;
    mgmd_request_text(request, "node.%u.event.%u: %" PRId64 " %u %s %s %s\n", node,
                      request->lines++, at_ms, rep->type, ndb_mgm_category_name(kind->category),
                      ndb_mgm_severity_name(kind->severity), line);
}

static void take_event_end(struct mgmd *mgmd, uint32_t node, const struct signal *sig)
{
    struct mgmd_request *request =
        mgmd_request_find(mgmd, SIG_PAYLOAD(sig, event_log_conf)->sender_data, MGMD_REQUEST_EVENTS);

    if (request == NULL || !node_mask_has(&request->waiting, node)) return;
    node_mask_remove(&request->waiting, node);
    request->done++;
    mgmd_request_finish(mgmd, request);
}

bool mgmd_reports_signal(struct mgmd *mgmd, uint32_t node, const struct signal *sig)
{
    switch (sig->gsn) {
    case GSN_MEMORY_REPORT_CONF:
        take_memory(mgmd, node, sig);
        return true;
    case GSN_DISK_REPORT_CONF:
        take_disk(mgmd, node, sig);
        return true;
    case GSN_THREAD_REPORT_CONF:
        take_threads(mgmd, node, sig);
        return true;
    case GSN_EVENT_LOG_REP:
        take_event_line(mgmd, node, sig);
        return true;
    case GSN_EVENT_LOG_CONF:
        take_event_end(mgmd, node, sig);
        return true;
    default:
        return false;
    }
}
