/* restore.c -- creates RESTORE, takes LQH's requests, hands NDBFS's answers on. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/restore/restore_state.h"
#include "values/errors.h"

void restore_fail(struct restore *restore, const char *name, uint32_t error, enum lcp_fault fault,
                  uint64_t offset)
{
    if (restore->failure.error != 0) return; /* The first one counts. */
    restore->failure = (struct restore_failure){.error = error, .fault = fault, .offset = offset};
    memcpy(restore->failure.name, name, strlen(name) + 1u);
}

static void send_ref(struct restore *restore)
{
    const struct restore_failure *failure = &restore->failure;
    uint32_t words[1u + LCP_NAME_MAX / 4u] = {0};
    uint32_t size = (uint32_t)strlen(failure->name);
    struct restore_frag_ref ref = {.sender_data = restore->req.sender_data,
                                   .error = failure->error,
                                   .fault = failure->fault,
                                   .offset_lo = (uint32_t)failure->offset,
                                   .offset_hi = (uint32_t)(failure->offset >> 32),
                                   .format = failure->format,
                                   .listed = restore->list_number != 0 ? 1u : 0};
    char text[LCP_FAULT_SIZE];
    lcp_fault_say(failure->fault, failure->format, text);
    words[0] = size;
    memcpy(words + 1, failure->name, size);
    struct section section = {.words = words, .size = 1u + (size + 3u) / 4u};
    /* No damage, an error: what it means stands with its number. */
    const char *why = failure->fault == LCP_GOOD ? error_get(failure->error)->text : text;
    log_error(&restore->block, "checkpoint file %s, byte %llu: error %u, %s", failure->name,
              (unsigned long long)failure->offset, failure->error, why);
    signal_send(&restore->block, restore->sender, GSN_RESTORE_FRAG_REF, PRIO_B, &ref,
                sizeof ref / 4u, &section, 1);
}

void restore_done(struct restore *restore)
{
    restore->state = RESTORE_IDLE;
    if (restore->failure.error != 0) {
        jam();
        send_ref(restore);
        return;
    }
    struct restore_frag_conf conf = {.sender_data = restore->req.sender_data,
                                     .start_gci = restore->tail_gci};
    if (restore->chosen != NULL) {
        jam();
        conf.found = 1;
        conf.start_gci = restore->chosen->start_gci;
        conf.rows_lo = (uint32_t)restore->rows.rows;
        conf.rows_hi = (uint32_t)(restore->rows.rows >> 32);
        conf.kbytes = (uint32_t)(restore->bytes / 1024u);
    }
    sig_send(&restore->block, restore->sender, GSN_RESTORE_FRAG_CONF, PRIO_B, &conf);
}

uint64_t restore_bytes(const struct block *block)
{
    return ((const struct restore *)(const void *)block)->bytes;
}

bool restore_foreign(enum lcp_fault fault)
{
    return fault == LCP_OTHER_CLUSTER || fault == LCP_OTHER_NODE || fault == LCP_OTHER_FORMAT ||
           fault == LCP_OTHER_LIFE;
}

bool restore_of_this_life(const struct restore *restore, uint32_t life)
{
    uint32_t own;
    return life == 0 || !lqh_log_life(restore->lqh, &own) || life == own;
}

static bool memory_make(struct restore *restore)
{
    struct arena *arena = block_arena(&restore->block);
    void *unzip = arena_alloc(arena, RG_NODE, lcp_unzip_size());
    bool good = unzip != NULL;
    for (uint32_t i = 0; i < RESTORE_BUFFERS; i++) {
        restore->buffer[i] = arena_alloc(arena, RG_NODE, RESTORE_READ);
        restore->ctl[i] = arena_alloc(arena, RG_NODE, PAGE_SIZE_BYTES); /* A page: aligned. */
        good = good && restore->buffer[i] != NULL && restore->ctl[i] != NULL;
    }
    restore->reader.part = arena_alloc(arena, RG_NODE, LCP_PART_MAX);
    restore->reader.raw = arena_alloc(arena, RG_NODE, LCP_RAW_MAX);
    if (!good || restore->reader.part == NULL || restore->reader.raw == NULL) return false;
    restore->reader.unzip = lcp_unzip_init(unzip, lcp_unzip_size());
    return restore->reader.unzip != NULL;
}

static void restore_exec_READ_CONFIG_REQ(struct block *block, const struct signal *sig)
{
    struct restore *restore = restore_of(block);
    struct read_config_conf conf = {.sender_data = SIG_PAYLOAD(sig, read_config_req)->sender_data};
    jam();
    if (block_config(block)->diskless == 0) {
        if (!memory_make(restore))
            node_fail(EXIT_RESOURCE_ALLOC, __FILE__, __LINE__,
                      "no memory for the checkpoint reader");
        restore->tup = (struct tup *)(void *)block_neighbour(block, BLOCK_DBTUP);
        restore->lqh = block_neighbour(block, BLOCK_DBLQH);
        restore->backup = block_neighbour(block, BLOCK_BACKUP);
        ndbrequire(restore->tup != NULL);
        ndbrequire(restore->lqh != NULL);
        ndbrequire(restore->backup != NULL);
    }
    sig_send(block, sig->sender, GSN_READ_CONFIG_CONF, PRIO_B, &conf);
}

static void restore_exec_RESTORE_FRAG_REQ(struct block *block, const struct signal *sig)
{
    struct restore *restore = restore_of(block);
    const struct restore_frag_req *req = SIG_PAYLOAD(sig, restore_frag_req);
    ndbrequire(restore->tup != NULL);
    ndbrequire(restore->state == RESTORE_IDLE);
    ndbrequire(lqh_frag_get(restore->lqh, req->table_id, req->fragment_id, &restore->frag));
    jam();
    restore->req = *req;
    restore->sender = sig->sender;
    restore->ident = backup_ident(block, req->table_id, req->version, req->fragment_id);
    restore->failure = (struct restore_failure){.error = 0};
    restore->bytes = 0;
    restore->rows = (struct restore_rows){.tup = restore->tup};
    restore->ending = false;
    if (restore->lists_read)
        restore_go(restore);
    else
        restore_part_begin(restore);
}

void restore_go(struct restore *restore)
{
    if (restore->failure.error != 0) {
        restore->chosen = NULL;
        restore->lists_read = false; /* Nobody goes on from here; who asks again is told again. */
        restore_done(restore);
        return;
    }
    if (restore->ending) {
        backup_restore_ended(restore->backup);
        restore->last[0] = '\0';
        restore_sweep_begin(restore);
        return;
    }
    restore_ctl_begin(restore);
}

static void restore_exec_RESTORE_END_REQ(struct block *block, const struct signal *sig)
{
    struct restore *restore = restore_of(block);
    ndbrequire(restore->tup != NULL);
    ndbrequire(restore->state == RESTORE_IDLE);
    jam();
    restore->sender = sig->sender;
    restore->end_data = SIG_PAYLOAD(sig, restore_end_req)->sender_data;
    restore->removed = 0;
    restore->failure.error = 0;
    restore->ending = true;
    if (restore->lists_read)
        restore_go(restore);
    else
        restore_part_begin(restore);
}

void restore_frag_look_up(struct restore *restore)
{
    ndbrequire(lqh_frag_get(restore->lqh, restore->req.table_id, restore->req.fragment_id,
                            &restore->frag));
    restore->rows.frag = tup_frag_get(restore->tup, restore->frag.tup_frag);
    restore->rows.key_def = restore->frag.key_def;
    restore->rows.pages = restore->chosen->pages;
}

static void restore_exec_CONTINUEB(struct block *block, const struct signal *sig)
{
    struct restore *restore = restore_of(block);
    (void)sig;
    if (restore->state != RESTORE_ROWS) return;
    restore_frag_look_up(restore);
    restore_file_step(restore);
}

static void restore_exec_FSOPENCONF(struct block *block, const struct signal *sig)
{
    struct restore *restore = restore_of(block);
    const struct fsopenconf *conf = SIG_PAYLOAD(sig, fsopenconf);
    uint64_t size = u64_of(conf->size_lo, conf->size_hi);
    jam_data(conf->sender_data);
    if (conf->sender_data == ASK_CTL_OPEN)
        restore_ctl_opened(restore, conf->file, size);
    else if (conf->sender_data == ASK_PART_OPEN)
        restore_part_opened(restore, conf->file, size);
    else
        restore_file_opened(restore, conf->file, size);
}

static void restore_exec_FSREADCONF(struct block *block, const struct signal *sig)
{
    struct restore *restore = restore_of(block);
    const struct fs_io_conf *conf = SIG_PAYLOAD(sig, fs_io_conf);
    jam_data(conf->sender_data);
    if (conf->sender_data == ASK_CTL_READ)
        restore_ctl_read(restore);
    else if (conf->sender_data == ASK_PART_READ)
        restore_part_read(restore, conf->bytes);
    else
        restore_file_read(restore, conf->sender_data - ASK_READ, conf->bytes);
}

static void restore_exec_FSCLOSECONF(struct block *block, const struct signal *sig)
{
    struct restore *restore = restore_of(block);
    uint32_t ask = SIG_PAYLOAD(sig, fs_conf)->sender_data;
    jam_data(ask);
    if (ask == ASK_CTL_CLOSE)
        restore_ctl_closed(restore);
    else if (ask == ASK_PART_CLOSE)
        restore_part_closed(restore);
    else
        restore_file_closed(restore);
}

static void restore_exec_FSREMOVECONF(struct block *block, const struct signal *sig)
{
    struct restore *restore = restore_of(block);
    jam();
    if (SIG_PAYLOAD(sig, fs_conf)->sender_data == ASK_SWEEP)
        restore_sweep_again(restore);
    else
        restore_removed(restore);
}

static void restore_exec_LCP_LIST_CONF(struct block *block, const struct signal *sig)
{
    restore_part_judged(restore_of(block), SIG_PAYLOAD(sig, lcp_list_conf));
}

static void restore_exec_FSLISTCONF(struct block *block, const struct signal *sig)
{
    restore_sweep_listed(restore_of(block), sig);
}

static void ref_take(struct block *block, const struct signal *sig)
{
    struct restore *restore = restore_of(block);
    const struct fs_ref *ref = SIG_PAYLOAD(sig, fs_ref);
    uint32_t ask = ref->sender_data;
    jam_data(ask);
    if (ask >= ASK_PART_OPEN) {
        restore_part_error(restore, ask, ref->error);
    } else if (ask == ASK_LIST || ask == ASK_SWEEP) {
        restore->more = ask == ASK_SWEEP &&
                        restore->more; /* No directory, or it stays: the next start tries again. */
        restore_sweep_again(restore);
    } else if (ask < ASK_OPEN) {
        restore_ctl_error(restore, ask, ref->error);
    } else {
        restore_file_error(restore, ask, ref->error);
    }
}

static void restore_exec_FSOPENREF(struct block *block, const struct signal *sig)
{
    ref_take(block, sig);
}
static void restore_exec_FSREADREF(struct block *block, const struct signal *sig)
{
    ref_take(block, sig);
}
static void restore_exec_FSCLOSEREF(struct block *block, const struct signal *sig)
{
    ref_take(block, sig);
}
static void restore_exec_FSREMOVEREF(struct block *block, const struct signal *sig)
{
    ref_take(block, sig);
}
static void restore_exec_FSLISTREF(struct block *block, const struct signal *sig)
{
    ref_take(block, sig);
}

static const struct handler restore_handlers[] = {
    HANDLER(restore, READ_CONFIG_REQ, read_config_req),
    HANDLER(restore, CONTINUEB, restore_continueb),
    HANDLER(restore, RESTORE_FRAG_REQ, restore_frag_req),
    HANDLER(restore, RESTORE_END_REQ, restore_end_req),
    HANDLER(restore, LCP_LIST_CONF, lcp_list_conf),
    HANDLER(restore, FSOPENCONF, fsopenconf),
    HANDLER(restore, FSOPENREF, fs_ref),
    HANDLER(restore, FSREADCONF, fs_io_conf),
    HANDLER(restore, FSREADREF, fs_ref),
    HANDLER(restore, FSCLOSECONF, fs_conf),
    HANDLER(restore, FSCLOSEREF, fs_ref),
    HANDLER(restore, FSREMOVECONF, fs_conf),
    HANDLER(restore, FSREMOVEREF, fs_ref),
    HANDLER(restore, FSLISTCONF, fslistconf),
    HANDLER(restore, FSLISTREF, fs_ref),
};

static const struct block_type restore_type = {
    .name = "RESTORE",
    .block_no = BLOCK_RESTORE,
    .handlers = restore_handlers,
    .handler_count = sizeof(restore_handlers) / sizeof(restore_handlers[0]),
};

struct block *restore_create(struct thread *thread, uint32_t instance)
{
    return block_create(thread, &restore_type, instance, sizeof(struct restore));
}
