/* fake_step.c -- a fake cluster signal by signal, so that a node can die after any of its own. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/fake_step.h"

#define FC_STEPS_MAX 20000u /* Steps in which a protocol surely comes to rest. */
uint32_t fc_run_one(struct fake_cluster *fc, uint32_t id)
{
    struct node *node = fc->node[id].node;
    volatile uint32_t executed = 0;
    if (!fc_alive(fc, id) || setjmp(fc->on_fail) != 0) return 0;
    for (uint32_t t = 0; t < node_config_of(node)->thread_count; t++)
        executed += thread_run_once(node_thread(node, t), fc->now, 1).executed;
    return executed;
}

bool fc_step(struct fake_cluster *fc, uint32_t nodes, uint32_t victim, uint32_t signals)
{
    uint32_t quiet = 0;
    uint32_t executed = 0;
    for (uint32_t i = 0; i < FC_STEPS_MAX && quiet < 20; i++) {
        uint32_t any = 0;
        fc_links(fc);
        for (uint32_t id = 1; id <= nodes; id++) {
            uint32_t now = fc_run_one(fc, id);
            any += now;
            if (id != victim) continue;
            executed += now;
            if (executed >= signals) return true;
        }
        for (uint32_t from = 1; from < FC_NODES; from++) {
            for (uint32_t to = 1; to < FC_NODES; to++)
                any += fc_deliver(fc, from, to);
        }
        quiet = any == 0 ? quiet + 1 : 0;
    }
    return false;
}
