/* mgmd_arbitrate.c -- the server as the cluster's arbitrator (docs/protocols/failure.md): what it
 * answers, and how late. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>

#include "mgmd/mgm_link.h"
#include "mgmd/mgmd.h"

/* An answer that waits for ArbitrationDelay. */
struct late_answer {
    uv_timer_t timer;
    struct mgmd *mgmd;
    uint32_t node;
    bool yes;
    struct arbit_choose_conf conf;
};

static void send_choice(struct mgmd *mgmd, uint32_t node, bool yes,
                        const struct arbit_choose_conf *conf)
{
    (void)mgm_link_send(mgmd->link, node, BLOCK_QMGR,
                        yes ? GSN_ARBIT_CHOOSE_CONF : GSN_ARBIT_CHOOSE_REF, PRIO_A, conf,
                        sizeof(*conf) / 4);
    mgm_link_flush(mgmd->link);
}

static void free_late(uv_handle_t *handle)
{
    free(handle->data);
}

static void answer_late(uv_timer_t *timer)
{
    struct late_answer *late = timer->data;

    if (!late->mgmd->stopping) send_choice(late->mgmd, late->node, late->yes, &late->conf);
    uv_close((uv_handle_t *)timer, free_late);
}

/* The first to ask has the yes, however late it is told. */
static void answer_choice(struct mgmd *mgmd, uint32_t node, bool yes,
                          const struct arbit_choose_conf *conf)
{
    uint64_t delay =
        config_get_u64(config_node(mgmd->config, mgmd->own_node), CFG_MGMD_ArbitrationDelay);
    struct late_answer *late = delay == 0 ? NULL : calloc(1, sizeof(*late));

    if (late == NULL) {
        send_choice(mgmd, node, yes, conf);
        return;
    }
    late->mgmd = mgmd;
    late->node = node;
    late->yes = yes;
    late->conf = *conf;
    late->timer.data = late;
    (void)uv_timer_init(mgmd->loop, &late->timer);
    (void)uv_timer_start(&late->timer, answer_late, delay, 0);
    uv_unref((uv_handle_t *)&late->timer);
}

void mgmd_arbitrate(struct mgmd *mgmd, uint32_t id, const struct signal *sig)
{
    if (sig->gsn == GSN_ARBIT_START_REQ) {
        const struct arbit_start_req *req = SIG_PAYLOAD(sig, arbit_start_req);
        struct arbit_start_conf conf = {{req->ticket[0], req->ticket[1]}};
        arbitrator_start(&mgmd->arbitrator, req);
        (void)mgm_link_send(mgmd->link, id, BLOCK_QMGR, GSN_ARBIT_START_CONF, PRIO_A, &conf,
                            sizeof(conf) / 4);
    } else {
        const struct arbit_choose_req *req = SIG_PAYLOAD(sig, arbit_choose_req);
        struct arbit_choose_conf answer = {req->attempt, {req->ticket[0], req->ticket[1]}};
        bool yes = arbitrator_choose(&mgmd->arbitrator, req);
        _Static_assert(sizeof(answer) == sizeof(struct arbit_choose_ref), "alike");
        bool leaves = mgmd_data_node_status(mgmd, id) == NDB_MGM_STATUS_SHUTTING_DOWN;
        cluster_log_printf(mgmd->log, leaves ? NDB_MGM_SEVERITY_INFO : NDB_MGM_SEVERITY_ALERT,
                           "Node %u asks whether %u nodes may go on: %s", id,
                           node_mask_count(&req->survivors), yes ? "yes" : "no");
        answer_choice(mgmd, id, yes, &answer);
    }
    mgm_link_flush(mgmd->link);
}
