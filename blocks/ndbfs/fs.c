/* fs.c -- NDBFS: handler table, configuration, and the host's answers. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/ndbfs/fs_state.h"

static_assert(FS_ALIGN == IO_ALIGN && FS_PIECES_MAX == IO_PIECES_MAX &&
                  FS_NAME_BYTES + 1 == IO_NAME_MAX,
              "one host");
static_assert(sizeof(struct fs_entry) == sizeof(struct io_entry),
              "the host's list is the answer's section");
static_assert(sizeof(struct fs_request) * 8 < PAGE_SIZE_BYTES, "a page holds some records");

static void fs_exec_READ_CONFIG_REQ(struct block *block, const struct signal *sig)
{
    struct ndbfs *ndbfs = fs_of(block);
    const struct node_config *config = block_config(block);
    struct read_config_conf conf = {.sender_data = SIG_PAYLOAD(sig, read_config_req)->sender_data};
    jam();
    pool_init(&ndbfs->files, block_arena(block), RG_NODE, sizeof(struct fs_file),
              config->open_files_max);
    pool_init(&ndbfs->requests, block_arena(block), RG_NODE, sizeof(struct fs_request),
              config->file_requests_max);
    sig_send(block, sig->sender, GSN_READ_CONFIG_CONF, PRIO_B, &conf);
}

static void fs_exec_IO_DONE_REP(struct block *block, const struct signal *sig)
{
    struct ndbfs *ndbfs = fs_of(block);
    struct fs_request *request = fs_request_get(ndbfs, SIG_PAYLOAD(sig, io_done_rep)->tag);
    ndbrequire(request->state == REQUEST_RUNNING);
    ndbrequire(request->io.error < IO_ERROR_COUNT);
    if (request->gsn == GSN_FSOPENREQ || request->file == REF_NONE) {
        jam_data(request->io.op);
        fs_name_done(ndbfs, request);
        return;
    }
    jam_data(request->io.op);
    fs_file_done(ndbfs, request);
}

static const struct handler fs_handlers[] = {
    HANDLER(fs, READ_CONFIG_REQ, read_config_req),
    HANDLER(fs, IO_DONE_REP, io_done_rep),
    HANDLER(fs, FSOPENREQ, fsopenreq),
    HANDLER(fs, FSCLOSEREQ, fsclosereq),
    HANDLER(fs, FSREADREQ, fsreadreq),
    HANDLER(fs, FSWRITEREQ, fswritereq),
    HANDLER(fs, FSAPPENDREQ, fsappendreq),
    HANDLER(fs, FSSYNCREQ, fssyncreq),
    HANDLER(fs, FSTRUNCATEREQ, fstruncatereq),
    HANDLER(fs, FSPREALLOCATEREQ, fspreallocatereq),
    HANDLER(fs, FSRENAMEREQ, fsrenamereq),
    HANDLER(fs, FSREMOVEREQ, fsremovereq),
    HANDLER(fs, FSLISTREQ, fslistreq),
};

static const struct block_type fs_type = {
    .name = "NDBFS",
    .block_no = BLOCK_NDBFS,
    .handlers = fs_handlers,
    .handler_count = sizeof(fs_handlers) / sizeof(fs_handlers[0]),
    .check = fs_check,
};

static const struct block_pool ndbfs_pools[] = {
    BLOCK_POOL(ndbfs, files),
    BLOCK_POOL(ndbfs, requests),
};

struct block *fs_create(struct thread *thread, uint32_t instance)
{
    struct block *block = block_create(thread, &fs_type, instance, sizeof(struct ndbfs));
    block->pools = ndbfs_pools;
    block->pool_count = sizeof ndbfs_pools / sizeof ndbfs_pools[0];
    return block;
}
