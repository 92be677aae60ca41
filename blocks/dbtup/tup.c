/* tup.c -- DBTUP's instance: creation and configuration. Everything else is called directly, see
 * tup.h. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtup/tup_state.h"
#include "signals/node_report.h"
#include "signals/start.h"

#define MEMORY_STEP 64u /* Fragments that an LDM_MEMORY_REQ looks at. */

static void tup_exec_READ_CONFIG_REQ(struct block *block, const struct signal *sig)
{
    const struct read_config_req *req = SIG_PAYLOAD(sig, read_config_req);
    const struct node_config *config = block_config(block);
    struct acc *acc = (struct acc *)(void *)block_neighbour(block, BLOCK_DBACC);
    const struct tup_limits limits = {
        .tables_max = config->tables_max,
        .frags_max = config->tables_max *
                     256u, /* Fragments of a table on one LDM; memory is taken when needed. */
        .changes_max = config->operations_max,
        .checkpoints = config->diskless == 0,
    };
    jam();
    ndbrequire(acc != NULL);
    struct tup *tup = (struct tup *)(void *)block;
    tup->tux = (struct tux *)(void *)block_neighbour(block, BLOCK_DBTUX);
    ndbrequire(tup_init(tup, block_arena(block), acc, &limits));
    struct pool *pools[1 + HEAP_CLASSES] = {&tup->changes};
    for (uint32_t i = 0; i < HEAP_CLASSES; i++)
        pools[1 + i] = &tup->copies.pool[i];
    ndbrequire(pools_begin(pools, 1 + HEAP_CLASSES));
    struct read_config_conf conf = {.sender_data = req->sender_data};
    sig_send(block, sig->sender, GSN_READ_CONFIG_CONF, PRIO_B, &conf);
}

/* Counts the pages that hold rows, a few fragments at a time; the rest of the group's pages is the
 * hash index. */
static void tup_exec_LDM_MEMORY_REQ(struct block *block, const struct signal *sig)
{
    const struct tup *tup = (const struct tup *)(const void *)block;
    const struct ldm_memory_req *req = SIG_PAYLOAD(sig, ldm_memory_req);
    struct ldm_memory_conf conf = {.sender_data = req->sender_data, .next = req->position};
    jam();
    for (uint32_t i = 0; i < MEMORY_STEP; i++) {
        const struct tup_frag *frag = pool_next(&tup->frags, conf.next);
        conf.next = frag == NULL ? 0 : pool_index(frag->record.ref);
        if (frag == NULL) break;
        conf.row_pages += frag->fixed.pages + frag->var.pages;
    }
    sig_send(block, sig->sender, GSN_LDM_MEMORY_CONF, PRIO_B, &conf);
}

static const struct handler tup_handlers[] = {
    HANDLER(tup, READ_CONFIG_REQ, read_config_req),
    HANDLER(tup, LDM_MEMORY_REQ, ldm_memory_req),
};

static const struct block_type tup_type = {
    .name = "DBTUP",
    .block_no = BLOCK_DBTUP,
    .handlers = tup_handlers,
    .handler_count = sizeof tup_handlers / sizeof tup_handlers[0],
    .check = tup_check,
};

static const struct block_pool tup_pools[] = {
    BLOCK_POOL(tup, tables),
    BLOCK_POOL(tup, frags),
    BLOCK_POOL(tup, changes),
    BLOCK_POOL(tup, copies.pool[0]),
    BLOCK_POOL(tup, copies.pool[1]),
    BLOCK_POOL(tup, copies.pool[2]),
    BLOCK_POOL(tup, copies.pool[3]),
    BLOCK_POOL(tup, copies.pool[4]),
    BLOCK_POOL(tup, copies.pool[5]),
    BLOCK_POOL(tup, copies.pool[6]),
    BLOCK_POOL(tup, copies.pool[7]),
    BLOCK_POOL(tup, copies.pool[8]),
    BLOCK_POOL(tup, copies.pool[9]),
    BLOCK_POOL(tup, descriptors.pool[0]),
    BLOCK_POOL(tup, descriptors.pool[1]),
    BLOCK_POOL(tup, descriptors.pool[2]),
    BLOCK_POOL(tup, descriptors.pool[3]),
    BLOCK_POOL(tup, descriptors.pool[4]),
    BLOCK_POOL(tup, descriptors.pool[5]),
    BLOCK_POOL(tup, descriptors.pool[6]),
    BLOCK_POOL(tup, descriptors.pool[7]),
    BLOCK_POOL(tup, descriptors.pool[8]),
    BLOCK_POOL(tup, descriptors.pool[9]),
};

static_assert(sizeof tup_pools / sizeof tup_pools[0] == 3 + 2 * HEAP_CLASSES,
              "pools of both heaps");

struct block *tup_create(struct thread *thread, uint32_t instance)
{
    struct block *block = block_create(thread, &tup_type, instance, sizeof(struct tup));
    block->pools = tup_pools;
    block->pool_count = sizeof tup_pools / sizeof tup_pools[0];
    return block;
}
