/* lcpr.c -- creates LCPREADER, takes LQH's requests, hands NDBFS's answers on. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/lcpreader/lcpr_state.h"
#include "values/errors.h"

void lcpr_fail(struct lcpr *lcpr, const char *name, uint32_t error, enum lcp_fault fault,
               uint64_t offset)
{
    if (lcpr->failure.error != 0) return; /* The first one counts. */
    lcpr->failure = (struct lcpr_failure){.error = error, .fault = fault, .offset = offset};
    memcpy(lcpr->failure.name, name, strlen(name) + 1u);
}

static void send_ref(struct lcpr *lcpr)
{
    const struct lcpr_failure *failure = &lcpr->failure;
    uint32_t words[1u + LCP_NAME_MAX / 4u] = {0};
    uint32_t size = (uint32_t)strlen(failure->name);
    struct restore_frag_ref ref = {.sender_data = lcpr->req.sender_data,
                                   .error = failure->error,
                                   .fault = failure->fault,
                                   .offset_lo = (uint32_t)failure->offset,
                                   .offset_hi = (uint32_t)(failure->offset >> 32),
                                   .format = failure->format,
                                   .listed = lcpr->list_number != 0 ? 1u : 0};
    char text[LCP_FAULT_SIZE];
    lcp_fault_say(failure->fault, failure->format, text);
    words[0] = size;
    memcpy(words + 1, failure->name, size);
    struct section section = {.words = words, .size = 1u + (size + 3u) / 4u};
    /* No damage, an error: what it means stands with its number. */
    const char *why = failure->fault == LCP_GOOD ? error_get(failure->error)->text : text;
    log_error(&lcpr->block, "checkpoint file %s, byte %llu: error %u, %s", failure->name,
              (unsigned long long)failure->offset, failure->error, why);
    signal_send(&lcpr->block, lcpr->sender, GSN_RESTORE_FRAG_REF, PRIO_B, &ref, sizeof ref / 4u,
                &section, 1);
}

void lcpr_done(struct lcpr *lcpr)
{
    lcpr->state = LCPR_IDLE;
    if (lcpr->failure.error != 0) {
        jam();
        send_ref(lcpr);
        return;
    }
    struct restore_frag_conf conf = {.sender_data = lcpr->req.sender_data,
                                     .start_gci = lcpr->tail_gci};
    if (lcpr->chosen != NULL) {
        jam();
        conf.found = 1;
        conf.start_gci = lcpr->chosen->start_gci;
        conf.rows_lo = (uint32_t)lcpr->rows.rows;
        conf.rows_hi = (uint32_t)(lcpr->rows.rows >> 32);
        conf.kbytes = (uint32_t)(lcpr->bytes / 1024u);
    }
    sig_send(&lcpr->block, lcpr->sender, GSN_RESTORE_FRAG_CONF, PRIO_B, &conf);
}

uint64_t lcpr_bytes(const struct block *block)
{
    return ((const struct lcpr *)(const void *)block)->bytes;
}

bool lcpr_foreign(enum lcp_fault fault)
{
    return fault == LCP_OTHER_CLUSTER || fault == LCP_OTHER_NODE || fault == LCP_OTHER_FORMAT ||
           fault == LCP_OTHER_LIFE;
}

bool lcpr_of_this_life(const struct lcpr *lcpr, uint32_t life)
{
    uint32_t own;
    return life == 0 || !lqh_log_life(lcpr->lqh, &own) || life == own;
}

static bool memory_make(struct lcpr *lcpr)
{
    struct arena *arena = block_arena(&lcpr->block);
    void *unzip = arena_alloc(arena, RG_NODE, lcp_unzip_size());
    bool good = unzip != NULL;
    for (uint32_t i = 0; i < LCPR_BUFFERS; i++) {
        lcpr->buffer[i] = arena_alloc(arena, RG_NODE, LCPR_READ);
        lcpr->ctl[i] = arena_alloc(arena, RG_NODE, PAGE_SIZE_BYTES); /* A page: aligned. */
        good = good && lcpr->buffer[i] != NULL && lcpr->ctl[i] != NULL;
    }
    lcpr->reader.part = arena_alloc(arena, RG_NODE, LCP_PART_MAX);
    lcpr->reader.raw = arena_alloc(arena, RG_NODE, LCP_RAW_MAX);
    if (!good || lcpr->reader.part == NULL || lcpr->reader.raw == NULL) return false;
    lcpr->reader.unzip = lcp_unzip_init(unzip, lcp_unzip_size());
    return lcpr->reader.unzip != NULL;
}

static void lcpr_exec_READ_CONFIG_REQ(struct block *block, const struct signal *sig)
{
    struct lcpr *lcpr = lcpr_of(block);
    struct read_config_conf conf = {.sender_data = SIG_PAYLOAD(sig, read_config_req)->sender_data};
    jam();
    if (block_config(block)->diskless == 0) {
        if (!memory_make(lcpr))
            node_fail(EXIT_RESOURCE_ALLOC, __FILE__, __LINE__,
                      "no memory for the checkpoint reader");
        lcpr->tup = (struct tup *)(void *)block_neighbour(block, BLOCK_DBTUP);
        lcpr->lqh = block_neighbour(block, BLOCK_DBLQH);
        lcpr->lcpw = block_neighbour(block, BLOCK_LCPWRITER);
        ndbrequire(lcpr->tup != NULL);
        ndbrequire(lcpr->lqh != NULL);
        ndbrequire(lcpr->lcpw != NULL);
    }
    sig_send(block, sig->sender, GSN_READ_CONFIG_CONF, PRIO_B, &conf);
}

static void lcpr_exec_RESTORE_FRAG_REQ(struct block *block, const struct signal *sig)
{
    struct lcpr *lcpr = lcpr_of(block);
    const struct restore_frag_req *req = SIG_PAYLOAD(sig, restore_frag_req);
    ndbrequire(lcpr->tup != NULL);
    ndbrequire(lcpr->state == LCPR_IDLE);
    ndbrequire(lqh_frag_get(lcpr->lqh, req->table_id, req->fragment_id, &lcpr->frag));
    jam();
    lcpr->req = *req;
    lcpr->sender = sig->sender;
    lcpr->ident = lcpw_ident(block, req->table_id, req->version, req->fragment_id);
    lcpr->failure = (struct lcpr_failure){.error = 0};
    lcpr->bytes = 0;
    lcpr->rows = (struct lcpr_rows){.tup = lcpr->tup};
    lcpr->ending = false;
    if (lcpr->lists_read)
        lcpr_go(lcpr);
    else
        lcpr_part_begin(lcpr);
}

void lcpr_go(struct lcpr *lcpr)
{
    if (lcpr->failure.error != 0) {
        lcpr->chosen = NULL;
        lcpr->lists_read = false; /* Nobody goes on from here; who asks again is told again. */
        lcpr_done(lcpr);
        return;
    }
    if (lcpr->ending) {
        lcpw_restore_ended(lcpr->lcpw);
        lcpr->last[0] = '\0';
        lcpr_sweep_begin(lcpr);
        return;
    }
    lcpr_ctl_begin(lcpr);
}

static void lcpr_exec_RESTORE_END_REQ(struct block *block, const struct signal *sig)
{
    struct lcpr *lcpr = lcpr_of(block);
    ndbrequire(lcpr->tup != NULL);
    ndbrequire(lcpr->state == LCPR_IDLE);
    jam();
    lcpr->sender = sig->sender;
    lcpr->end_data = SIG_PAYLOAD(sig, restore_end_req)->sender_data;
    lcpr->removed = 0;
    lcpr->failure.error = 0;
    lcpr->ending = true;
    if (lcpr->lists_read)
        lcpr_go(lcpr);
    else
        lcpr_part_begin(lcpr);
}

void lcpr_frag_look_up(struct lcpr *lcpr)
{
    ndbrequire(lqh_frag_get(lcpr->lqh, lcpr->req.table_id, lcpr->req.fragment_id, &lcpr->frag));
    lcpr->rows.frag = tup_frag_get(lcpr->tup, lcpr->frag.tup_frag);
    lcpr->rows.key_def = lcpr->frag.key_def;
    lcpr->rows.pages = lcpr->chosen->pages;
}

static void lcpr_exec_CONTINUEB(struct block *block, const struct signal *sig)
{
    struct lcpr *lcpr = lcpr_of(block);
    (void)sig;
    if (lcpr->state != LCPR_ROWS) return;
    lcpr_frag_look_up(lcpr);
    lcpr_file_step(lcpr);
}

static void lcpr_exec_FSOPENCONF(struct block *block, const struct signal *sig)
{
    struct lcpr *lcpr = lcpr_of(block);
    const struct fsopenconf *conf = SIG_PAYLOAD(sig, fsopenconf);
    uint64_t size = u64_of(conf->size_lo, conf->size_hi);
    jam_data(conf->sender_data);
    if (conf->sender_data == ASK_CTL_OPEN)
        lcpr_ctl_opened(lcpr, conf->file, size);
    else if (conf->sender_data == ASK_PART_OPEN)
        lcpr_part_opened(lcpr, conf->file, size);
    else
        lcpr_file_opened(lcpr, conf->file, size);
}

static void lcpr_exec_FSREADCONF(struct block *block, const struct signal *sig)
{
    struct lcpr *lcpr = lcpr_of(block);
    const struct fs_io_conf *conf = SIG_PAYLOAD(sig, fs_io_conf);
    jam_data(conf->sender_data);
    if (conf->sender_data == ASK_CTL_READ)
        lcpr_ctl_read(lcpr);
    else if (conf->sender_data == ASK_PART_READ)
        lcpr_part_read(lcpr, conf->bytes);
    else
        lcpr_file_read(lcpr, conf->sender_data - ASK_READ, conf->bytes);
}

static void lcpr_exec_FSCLOSECONF(struct block *block, const struct signal *sig)
{
    struct lcpr *lcpr = lcpr_of(block);
    uint32_t ask = SIG_PAYLOAD(sig, fs_conf)->sender_data;
    jam_data(ask);
    if (ask == ASK_CTL_CLOSE)
        lcpr_ctl_closed(lcpr);
    else if (ask == ASK_PART_CLOSE)
        lcpr_part_closed(lcpr);
    else
        lcpr_file_closed(lcpr);
}

static void lcpr_exec_FSREMOVECONF(struct block *block, const struct signal *sig)
{
    struct lcpr *lcpr = lcpr_of(block);
    jam();
    if (SIG_PAYLOAD(sig, fs_conf)->sender_data == ASK_SWEEP)
        lcpr_sweep_again(lcpr);
    else
        lcpr_removed(lcpr);
}

static void lcpr_exec_LCP_LIST_CONF(struct block *block, const struct signal *sig)
{
    lcpr_part_judged(lcpr_of(block), SIG_PAYLOAD(sig, lcp_list_conf));
}

static void lcpr_exec_FSLISTCONF(struct block *block, const struct signal *sig)
{
    lcpr_sweep_listed(lcpr_of(block), sig);
}

static void ref_take(struct block *block, const struct signal *sig)
{
    struct lcpr *lcpr = lcpr_of(block);
    const struct fs_ref *ref = SIG_PAYLOAD(sig, fs_ref);
    uint32_t ask = ref->sender_data;
    jam_data(ask);
    if (ask >= ASK_PART_OPEN) {
        lcpr_part_error(lcpr, ask, ref->error);
    } else if (ask == ASK_LIST || ask == ASK_SWEEP) {
        lcpr->more = ask == ASK_SWEEP &&
                     lcpr->more; /* No directory, or it stays: the next start tries again. */
        lcpr_sweep_again(lcpr);
    } else if (ask < ASK_OPEN) {
        lcpr_ctl_error(lcpr, ask, ref->error);
    } else {
        lcpr_file_error(lcpr, ask, ref->error);
    }
}

static void lcpr_exec_FSOPENREF(struct block *block, const struct signal *sig)
{
    ref_take(block, sig);
}
static void lcpr_exec_FSREADREF(struct block *block, const struct signal *sig)
{
    ref_take(block, sig);
}
static void lcpr_exec_FSCLOSEREF(struct block *block, const struct signal *sig)
{
    ref_take(block, sig);
}
static void lcpr_exec_FSREMOVEREF(struct block *block, const struct signal *sig)
{
    ref_take(block, sig);
}
static void lcpr_exec_FSLISTREF(struct block *block, const struct signal *sig)
{
    ref_take(block, sig);
}

static const struct handler lcpr_handlers[] = {
    HANDLER(lcpr, READ_CONFIG_REQ, read_config_req),
    HANDLER(lcpr, CONTINUEB, lcpr_continueb),
    HANDLER(lcpr, RESTORE_FRAG_REQ, restore_frag_req),
    HANDLER(lcpr, RESTORE_END_REQ, restore_end_req),
    HANDLER(lcpr, LCP_LIST_CONF, lcp_list_conf),
    HANDLER(lcpr, FSOPENCONF, fsopenconf),
    HANDLER(lcpr, FSOPENREF, fs_ref),
    HANDLER(lcpr, FSREADCONF, fs_io_conf),
    HANDLER(lcpr, FSREADREF, fs_ref),
    HANDLER(lcpr, FSCLOSECONF, fs_conf),
    HANDLER(lcpr, FSCLOSEREF, fs_ref),
    HANDLER(lcpr, FSREMOVECONF, fs_conf),
    HANDLER(lcpr, FSREMOVEREF, fs_ref),
    HANDLER(lcpr, FSLISTCONF, fslistconf),
    HANDLER(lcpr, FSLISTREF, fs_ref),
};

static const struct block_type lcpr_type = {
    .name = "LCPREADER",
    .block_no = BLOCK_LCPREADER,
    .handlers = lcpr_handlers,
    .handler_count = sizeof(lcpr_handlers) / sizeof(lcpr_handlers[0]),
};

struct block *lcpr_create(struct thread *thread, uint32_t instance)
{
    return block_create(thread, &lcpr_type, instance, sizeof(struct lcpr));
}
