/* tup.c -- DBTUP's instance: creation and configuration. Everything else is called directly, see tup.h. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtup/tup_state.h"
#include "signals/start.h"

static void tup_exec_READ_CONFIG_REQ(struct block *block, const struct signal *sig)
{
    const struct read_config_req *req = SIG_PAYLOAD(sig, read_config_req);
    const struct node_config *config = block_config(block);
    struct acc *acc = (struct acc *)(void *)block_neighbour(block, BLOCK_DBACC);
    const struct tup_limits limits = {
        .tables_max = config->tables_max,
        .frags_max = config->tables_max * 256u, /* Fragments of a table on one LDM; memory is taken when needed. */
        .changes_max = config->operations_max,
    };
    jam();
    ndbrequire(acc != NULL);
    ndbrequire(tup_init((struct tup *)(void *)block, block_arena(block), acc, &limits));
    struct read_config_conf conf = {.sender_data = req->sender_data};
    sig_send(block, sig->sender, GSN_READ_CONFIG_CONF, PRIO_B, &conf);
}

static const struct handler tup_handlers[] = {
    HANDLER(tup, READ_CONFIG_REQ, read_config_req),
};

static const struct block_type tup_type = {
    .name = "DBTUP",
    .block_no = BLOCK_DBTUP,
    .handlers = tup_handlers,
    .handler_count = sizeof tup_handlers / sizeof tup_handlers[0],
    .check = tup_check,
};

struct block *tup_create(struct thread *thread, uint32_t instance)
{
    return block_create(thread, &tup_type, instance, sizeof(struct tup));
}
