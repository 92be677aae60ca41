/* lcpw.c -- creates LCPWRITER, walks the fragments of a round, answers DIH, hands NDBFS's answers
 * on. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/lcpwriter/lcpw_state.h"
#include "values/errors.h"

/* --- Fragments' records. --- */

struct lcpw_frag *lcpw_frag_get(struct lcpw *lcpw, uint32_t ref)
{
    struct lcpw_frag *frag = pool_find(&lcpw->frags, ref);
    ndbrequire(frag != NULL);
    return frag;
}

struct lcpw_frag *lcpw_frag_find(struct lcpw *lcpw, uint32_t table_id, uint32_t fragment_id)
{
    if (table_id >= lcpw->table_count) return NULL;
    for (uint32_t ref = lcpw->table[table_id]; ref != REF_NONE;) {
        struct lcpw_frag *frag = lcpw_frag_get(lcpw, ref);
        if (frag->fragment_id == fragment_id) return frag;
        ref = frag->next;
    }
    return NULL;
}

struct lcpw_frag *lcpw_frag_add(struct lcpw *lcpw, uint32_t table_id, uint32_t version,
                                uint32_t fragment_id)
{
    struct lcpw_frag *frag = table_id < lcpw->table_count ? pool_seize(&lcpw->frags) : NULL;
    if (frag == NULL) return NULL;
    frag->table_id = table_id;
    frag->version = version;
    frag->fragment_id = fragment_id;
    frag->next = lcpw->table[table_id];
    lcpw->table[table_id] = frag->pool.ref;
    return frag;
}

void lcpw_frag_release(struct lcpw *lcpw, struct lcpw_frag *frag)
{
    uint32_t *link = &lcpw->table[frag->table_id];
    while (*link != frag->pool.ref)
        link = &lcpw_frag_get(lcpw, *link)->next;
    *link = frag->next;
    pool_release(&lcpw->frags, frag);
}

struct lcp_ident lcpw_ident(const struct block *block, uint32_t table_id, uint32_t version,
                            uint32_t fragment_id)
{
    const struct node_config *config = block_config(block);
    return (struct lcp_ident){.cluster_lo = (uint32_t)config->cluster_id,
                              .cluster_hi = (uint32_t)(config->cluster_id >> 32),
                              .node = config->own_node,
                              .table = table_id,
                              .version = version,
                              .fragment = fragment_id};
}

bool lcpw_frag_restored(struct block *block, const struct lcp_ctl *ctl)
{
    struct lcpw *lcpw = lcpw_of(block);
    struct lcpw_frag *frag = lcpw_frag_find(lcpw, ctl->ident.table, ctl->ident.fragment);
    if (frag == NULL)
        frag = lcpw_frag_add(lcpw, ctl->ident.table, ctl->ident.version, ctl->ident.fragment);
    if (frag == NULL) return false;
    frag->version = ctl->ident.version;
    frag->number = ctl->number;
    frag->seq = ctl->seq;
    frag->pages = ctl->pages;
    frag->start_gci = ctl->start_gci;
    frag->end_gci = ctl->end_gci;
    frag->gci_seen = UINT32_MAX; /* TUP counts anew. */
    frag->file_count = ctl->file_count;
    memcpy(frag->file, ctl->file, sizeof frag->file);
    return true;
}

bool lcpw_knows_file(struct block *block, uint32_t table_id, uint32_t fragment_id, uint32_t seq,
                     bool is_ctl)
{
    const struct lcpw_frag *frag = lcpw_frag_find(lcpw_of(block), table_id, fragment_id);
    if (frag == NULL || frag->number == 0) return false;
    if (is_ctl) return true;
    return frag->file_count > 0 && seq >= frag->file[0].seq &&
           seq <= frag->file[frag->file_count - 1u].seq;
}

void lcpw_table_dropped(struct block *block, uint32_t table_id)
{
    struct lcpw *lcpw = lcpw_of(block);
    if (lcpw->tup == NULL || table_id >= lcpw->table_count) return;
    for (uint32_t ref = lcpw->table[table_id]; ref != REF_NONE;) {
        struct lcpw_frag *frag = lcpw_frag_get(lcpw, ref);
        frag->dropped = true;
        if (ref == lcpw->now.frag) lcpw->now.dropped = true;
        lcpw->drops = true;
        ref = frag->next;
    }
    if (lcpw->drops && lcpw->state == LCPW_IDLE) lcpw_clean_begin(lcpw);
}

/* --- The round. --- */

void lcpw_continue(struct lcpw *lcpw, uint32_t delay_ms)
{
    struct lcpw_continueb next = {.serial = ++lcpw->serial};
    if (delay_ms == 0)
        sig_send(&lcpw->block, lcpw->block.ref, GSN_CONTINUEB, PRIO_B, &next);
    else
        sig_send_delayed(&lcpw->block, lcpw->block.ref, GSN_CONTINUEB, PRIO_B, &next, delay_ms);
}

uint32_t lcpw_end_gci_min(const struct lcpw *lcpw)
{
    return lcpw->round.start_gci == 0 ? 0 : lcpw->round.start_gci - 1u;
}

uint32_t lcpw_log_life(const struct lcpw *lcpw)
{
    uint32_t life;
    return lqh_log_life(lcpw->lqh, &life) ? life : 0;
}

void lcpw_round_begin(struct lcpw *lcpw, uint32_t sender, const struct lcp_part_req *req)
{
    ndbrequire(lcpw->state == LCPW_IDLE); /* DIH has one round at a time. */
    jam();
    lcpw->round = (struct lcpw_round){.sender = sender,
                                      .lcp_id = req->lcp_id,
                                      .start_gci = req->start_gci,
                                      .copied = req->copied != 0};
    lcpw->round.end_gci = lcpw_end_gci_min(lcpw);
    lcpw->tokens = 0;
    lcpw->tokens_ms = now_ms(&lcpw->block);
    lcpw->state = LCPW_FINDING;
    tup_checkpoint_round(lcpw->tup);
    lcpw_continue(lcpw, 0);
}

static void round_written(struct lcpw *lcpw)
{
    const struct lcpw_round *round = &lcpw->round;
    struct lcp_part_conf conf = {.lcp_id = round->lcp_id,
                                 .end_gci = round->end_gci,
                                 .fragments = round->fragments,
                                 .failed = round->failed,
                                 .error = round->error,
                                 .kbytes = (uint32_t)(round->bytes / 1024u),
                                 .pages = round->pages,
                                 .deltas = round->deltas,
                                 .delta_rows_lo = (uint32_t)round->delta_rows,
                                 .delta_rows_hi = (uint32_t)(round->delta_rows >> 32)};
    jam();
    lcpw->state = LCPW_WRITTEN;
    sig_send(&lcpw->block, round->sender, GSN_LCP_PART_CONF, PRIO_B, &conf);
}

/*
 * Nothing is in it, and nothing was committed since the node started: what it gets is behind the
 * tail in the log. No file, since until the schema files have the table, a crash or an abort takes
 * it back, and the next table has its number and version: the list would ask for files of the
 * former one.
 */
static bool never_used(const struct lcpw *lcpw, const struct lcpw_frag *frag,
                       const struct lqh_frag *info)
{
    const struct tup_frag *tup_frag = tup_frag_get(lcpw->tup, info->tup_frag);
    if (lcpw->round.copied || (frag != NULL && frag->number != 0)) return false;
    return tup_checkpoint_gci(tup_frag) == 0 && tup_frag_rows(tup_frag) == 0;
}

/* The next fragment of the round. */
void lcpw_find(struct lcpw *lcpw)
{
    struct lqh_frag info;
    enum lqh_frag_step step = lqh_frag_next(lcpw->lqh, &lcpw->round.at, &info);
    if (step == LQH_FRAG_LATER) {
        lcpw_continue(lcpw, 0);
        return;
    }
    if (step == LQH_FRAG_END) {
        round_written(lcpw);
        return;
    }
    struct lcpw_frag *frag = lcpw_frag_find(lcpw, info.table_id, info.fragment_id);
    if (frag != NULL && (frag->dropped || frag->version != info.version)) {
        jam(); /* A former table of this number: its files have the same names and go first. */
        frag->dropped = true;
        lcpw->round.at.fragment_id--;
        lcpw_clean_begin(lcpw);
        return;
    }
    lcpw->round.fragments++;
    if (never_used(lcpw, frag, &info)) {
        jam(); /* Nothing is repeated for it either. */
        tup_checkpoint_usable(tup_frag_get(lcpw->tup, info.tup_frag));
        lcpw_continue(lcpw, 0);
        return;
    }
    if (frag == NULL) frag = lcpw_frag_add(lcpw, info.table_id, info.version, info.fragment_id);
    if (frag == NULL) {
        lcpw->now.dropped = false;
        lcpw_failed(lcpw, ERR_TABLE_RECORDS);
        return;
    }
    lcpw_file_begin(lcpw, frag, &info);
}

void lcpw_failed(struct lcpw *lcpw, uint32_t error)
{
    jam_data(error);
    if (!lcpw->now.dropped) { /* What is gone needs no checkpoint. */
        lcpw->round.failed++;
        if (lcpw->round.error == 0) lcpw->round.error = error;
    }
    lcpw->now.frag = REF_NONE;
    lcpw->state = LCPW_FINDING;
    lcpw_continue(lcpw, 0);
}

/* --- Signals. --- */

static bool memory_make(struct lcpw *lcpw)
{
    struct arena *arena = block_arena(&lcpw->block);
    const struct node_config *config = block_config(&lcpw->block);
    void *zip = arena_alloc(arena, RG_NODE, lcp_zip_size());
    for (uint32_t i = 0; i < LCPW_BUFFERS; i++)
        lcpw->buffer[i] = arena_alloc(arena, RG_NODE, LCPW_BUFFER);
    lcpw->raw = arena_alloc(arena, RG_NODE, LCP_RAW_MAX);
    /* A page and not a part of one, for its alignment. */
    lcpw->ctl = arena_alloc(arena, RG_NODE, PAGE_SIZE_BYTES);
    lcpw->table_count = config->tables_max;
    lcpw->table = arena_alloc(arena, RG_NODE, (size_t)config->tables_max * sizeof(uint32_t));
    pool_init(&lcpw->frags, arena, RG_SCHEMA, sizeof(struct lcpw_frag), POOL_INDEX_MAX);
    if (zip == NULL || lcpw->buffer[0] == NULL || lcpw->buffer[1] == NULL) return false;
    lcpw->zip = lcp_zip_init(zip, lcp_zip_size());
    return lcpw->zip != NULL && lcpw->raw != NULL && lcpw->ctl != NULL && lcpw->table != NULL;
}

static void lcpw_exec_READ_CONFIG_REQ(struct block *block, const struct signal *sig)
{
    struct lcpw *lcpw = lcpw_of(block);
    struct read_config_conf conf = {.sender_data = SIG_PAYLOAD(sig, read_config_req)->sender_data};
    jam();
    if (block_config(block)->diskless == 0) {
        if (!memory_make(lcpw))
            node_fail(EXIT_RESOURCE_ALLOC, __FILE__, __LINE__,
                      "no memory for the checkpoint writer");
        lcpw->tup = (struct tup *)(void *)block_neighbour(block, BLOCK_DBTUP);
        lcpw->lqh = block_neighbour(block, BLOCK_DBLQH);
        ndbrequire(lcpw->tup != NULL);
        ndbrequire(lcpw->lqh != NULL);
    }
    sig_send(block, sig->sender, GSN_READ_CONFIG_CONF, PRIO_B, &conf);
}

static void lcpw_exec_LCP_PART_REQ(struct block *block, const struct signal *sig)
{
    struct lcpw *lcpw = lcpw_of(block);
    const struct lcp_part_req *req = SIG_PAYLOAD(sig, lcp_part_req);
    ndbrequire(lcpw->tup != NULL);
    if (lcpw->state == LCPW_CLEANING) {
        jam(); /* A dropped table's files. */
        lcpw->next_round = *req;
        lcpw->next_sender = sig->sender;
        return;
    }
    lcpw_round_begin(lcpw, sig->sender, req);
}

static void lcpw_exec_LCP_USABLE_REQ(struct block *block, const struct signal *sig)
{
    struct lcpw *lcpw = lcpw_of(block);
    ndbrequire(lcpw->state == LCPW_WRITTEN);
    ndbrequire(SIG_PAYLOAD(sig, lcp_usable_req)->lcp_id == lcpw->round.lcp_id);
    jam();
    lcpw->cleaning.asker = sig->sender;
    lcpw_part_begin(lcpw);
}

static void lcpw_exec_REDO_STATUS_CONF(struct block *block, const struct signal *sig)
{
    lcpw_of(block)->log_fill = SIG_PAYLOAD(sig, redo_status_conf)->fill;
}

static void lcpw_exec_CONTINUEB(struct block *block, const struct signal *sig)
{
    struct lcpw *lcpw = lcpw_of(block);
    if (SIG_PAYLOAD(sig, lcpw_continueb)->serial != lcpw->serial) return;
    switch ((enum lcpw_state)lcpw->state) {
    case LCPW_FINDING:
        lcpw_find(lcpw);
        return;
    case LCPW_SCANNING:
        lcpw_file_step(lcpw);
        return;
    case LCPW_CLEANING:
        lcpw_clean_step(lcpw);
        return;
    case LCPW_IDLE:
    case LCPW_OPENING:
    case LCPW_CLOSING:
    case LCPW_CTL_OPENING:
    case LCPW_CTL_WRITING:
    case LCPW_CTL_CLOSING:
    case LCPW_DISCARDING:
    case LCPW_WRITTEN:
    case LCPW_PART_OPENING:
    case LCPW_PART_WRITING:
    case LCPW_PART_CLOSING:
        return; /* Left over. */
    }
    ndbrequire(false);
}

static void lcpw_exec_FSOPENCONF(struct block *block, const struct signal *sig)
{
    struct lcpw *lcpw = lcpw_of(block);
    const struct fsopenconf *conf = SIG_PAYLOAD(sig, fsopenconf);
    jam_data(conf->sender_data);
    if (conf->sender_data == ASK_OPEN)
        lcpw_file_opened(lcpw, conf->file);
    else if (conf->sender_data == ASK_PART_OPEN)
        lcpw_part_opened(lcpw, conf->file);
    else
        lcpw_ctl_opened(lcpw, conf->file);
}

static void lcpw_exec_FSWRITECONF(struct block *block, const struct signal *sig)
{
    struct lcpw *lcpw = lcpw_of(block);
    uint32_t ask = SIG_PAYLOAD(sig, fs_io_conf)->sender_data;
    jam_data(ask);
    if (ask == ASK_CTL_WRITE)
        lcpw_ctl_written(lcpw);
    else if (ask == ASK_PART_WRITE)
        lcpw_part_written(lcpw);
    else
        lcpw_file_written(lcpw, ask - ASK_WRITE);
}

static void lcpw_exec_FSCLOSECONF(struct block *block, const struct signal *sig)
{
    struct lcpw *lcpw = lcpw_of(block);
    uint32_t ask = SIG_PAYLOAD(sig, fs_conf)->sender_data;
    jam_data(ask);
    if (ask == ASK_CLOSE)
        lcpw_file_closed(lcpw);
    else if (ask == ASK_PART_CLOSE)
        lcpw_part_closed(lcpw);
    else
        lcpw_ctl_closed(lcpw);
}

static void lcpw_exec_FSREMOVECONF(struct block *block, const struct signal *sig)
{
    struct lcpw *lcpw = lcpw_of(block);
    jam();
    if (SIG_PAYLOAD(sig, fs_conf)->sender_data == ASK_CLEAN)
        lcpw_clean_step(lcpw);
    else
        lcpw_failed(lcpw, lcpw->now.error);
}

static void ref_take(struct block *block, const struct signal *sig)
{
    const struct fs_ref *ref = SIG_PAYLOAD(sig, fs_ref);
    char name[FS_NAME_BYTES + 1];
    fs_ref_name(sig, name);
    log_warning(block, "checkpoint file %s: error %u, system's error %u", name, ref->error,
                ref->os_error);
    if (ref->sender_data >= ASK_PART_OPEN)
        lcpw_part_error(lcpw_of(block), ref->sender_data, ref->error);
    else
        lcpw_file_error(lcpw_of(block), ref->sender_data, ref->error);
}

static void lcpw_exec_FSOPENREF(struct block *block, const struct signal *sig)
{
    ref_take(block, sig);
}
static void lcpw_exec_FSWRITEREF(struct block *block, const struct signal *sig)
{
    ref_take(block, sig);
}
static void lcpw_exec_FSCLOSEREF(struct block *block, const struct signal *sig)
{
    ref_take(block, sig);
}
static void lcpw_exec_FSREMOVEREF(struct block *block, const struct signal *sig)
{
    ref_take(block, sig);
}

static const struct handler lcpw_handlers[] = {
    HANDLER(lcpw, READ_CONFIG_REQ, read_config_req),
    HANDLER(lcpw, CONTINUEB, lcpw_continueb),
    HANDLER(lcpw, LCP_PART_REQ, lcp_part_req),
    HANDLER(lcpw, LCP_USABLE_REQ, lcp_usable_req),
    HANDLER(lcpw, REDO_STATUS_CONF, redo_status_conf),
    HANDLER(lcpw, FSOPENCONF, fsopenconf),
    HANDLER(lcpw, FSOPENREF, fs_ref),
    HANDLER(lcpw, FSWRITECONF, fs_io_conf),
    HANDLER(lcpw, FSWRITEREF, fs_ref),
    HANDLER(lcpw, FSCLOSECONF, fs_conf),
    HANDLER(lcpw, FSCLOSEREF, fs_ref),
    HANDLER(lcpw, FSREMOVECONF, fs_conf),
    HANDLER(lcpw, FSREMOVEREF, fs_ref),
};

static const struct block_type lcpw_type = {
    .name = "LCPWRITER",
    .block_no = BLOCK_LCPWRITER,
    .handlers = lcpw_handlers,
    .handler_count = sizeof(lcpw_handlers) / sizeof(lcpw_handlers[0]),
};

static const struct block_pool lcpw_pools[] = {
    BLOCK_POOL(lcpw, frags),
};

struct block *lcpw_create(struct thread *thread, uint32_t instance)
{
    struct block *block = block_create(thread, &lcpw_type, instance, sizeof(struct lcpw));
    block->pools = lcpw_pools;
    block->pool_count = sizeof lcpw_pools / sizeof lcpw_pools[0];
    return block;
}
