/* tux.c -- DBTUX's instance: creation and configuration. Everything else is called directly, see
 * tux.h. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtux/tux_state.h"
#include "signals/start.h"

static void tux_exec_READ_CONFIG_REQ(struct block *block, const struct signal *sig)
{
    const struct read_config_req *req = SIG_PAYLOAD(sig, read_config_req);
    const struct node_config *config = block_config(block);
    jam();
    /* There can be as many indexes as fragments; memory is taken when needed. */
    tux_init((struct tux *)(void *)block, block_arena(block), config->tables_max * 256u);
    struct read_config_conf conf = {.sender_data = req->sender_data};
    sig_send(block, sig->sender, GSN_READ_CONFIG_CONF, PRIO_B, &conf);
}

static const struct handler tux_handlers[] = {
    HANDLER(tux, READ_CONFIG_REQ, read_config_req),
};

static const struct block_type tux_type = {
    .name = "DBTUX",
    .block_no = BLOCK_DBTUX,
    .handlers = tux_handlers,
    .handler_count = sizeof tux_handlers / sizeof tux_handlers[0],
    .check = tux_check,
};

static const struct block_pool tux_pools[] = {
    BLOCK_POOL(tux, indexes),
};

struct block *tux_create(struct thread *thread, uint32_t instance)
{
    struct block *block = block_create(thread, &tux_type, instance, sizeof(struct tux));
    block->pools = tux_pools;
    block->pool_count = sizeof tux_pools / sizeof tux_pools[0];
    return block;
}
