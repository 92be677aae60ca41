/* acc.c -- DBACC's instance: creation and configuration. Everything else is called directly, see
 * acc.h. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbacc/acc_state.h"
#include "signals/start.h"

static void acc_exec_READ_CONFIG_REQ(struct block *block, const struct signal *sig)
{
    const struct read_config_req *req = SIG_PAYLOAD(sig, read_config_req);
    const struct node_config *config = block_config(block);
    jam();
    /* Each operation has one lock; scans with locks have theirs. */
    acc_init((struct acc *)(void *)block, block_arena(block), 2u * config->operations_max,
             config->tables_max * 256u, config->deadlock_timeout_ms);
    struct pool *const pools[] = {&((struct acc *)(void *)block)->locks};
    ndbrequire(pools_begin(pools, 1));
    struct read_config_conf conf = {.sender_data = req->sender_data};
    sig_send(block, sig->sender, GSN_READ_CONFIG_CONF, PRIO_B, &conf);
}

static const struct handler acc_handlers[] = {
    HANDLER(acc, READ_CONFIG_REQ, read_config_req),
};

static const struct block_type acc_type = {
    .name = "DBACC",
    .block_no = BLOCK_DBACC,
    .handlers = acc_handlers,
    .handler_count = sizeof acc_handlers / sizeof acc_handlers[0],
    .check = acc_check,
};

static const struct block_pool acc_pools[] = {
    BLOCK_POOL(acc, frags),
    BLOCK_POOL(acc, locks),
};

struct block *acc_create(struct thread *thread, uint32_t instance)
{
    struct block *block = block_create(thread, &acc_type, instance, sizeof(struct acc));
    block->pools = acc_pools;
    block->pool_count = sizeof acc_pools / sizeof acc_pools[0];
    return block;
}
