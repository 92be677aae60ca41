/* backup.c -- creates BACKUP, walks the fragments of a round, answers DIH, hands NDBFS's answers
 * on. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/backup/backup_state.h"
#include "values/errors.h"

/* --- Fragments' records. --- */

struct backup_frag *backup_frag_get(struct backup *backup, uint32_t ref)
{
    struct backup_frag *frag = pool_find(&backup->frags, ref);
    ndbrequire(frag != NULL);
    return frag;
}

struct backup_frag *backup_frag_find(struct backup *backup, uint32_t table_id, uint32_t fragment_id)
{
    if (table_id >= backup->table_count) return NULL;
    for (uint32_t ref = backup->table[table_id]; ref != REF_NONE;) {
        struct backup_frag *frag = backup_frag_get(backup, ref);
        if (frag->fragment_id == fragment_id) return frag;
        ref = frag->next;
    }
    return NULL;
}

struct backup_frag *backup_frag_add(struct backup *backup, uint32_t table_id, uint32_t version,
                                    uint32_t fragment_id)
{
    struct backup_frag *frag = table_id < backup->table_count ? pool_seize(&backup->frags) : NULL;
    if (frag == NULL) return NULL;
    frag->table_id = table_id;
    frag->version = version;
    frag->fragment_id = fragment_id;
    frag->next = backup->table[table_id];
    backup->table[table_id] = frag->pool.ref;
    return frag;
}

void backup_frag_release(struct backup *backup, struct backup_frag *frag)
{
    uint32_t *link = &backup->table[frag->table_id];
    while (*link != frag->pool.ref)
        link = &backup_frag_get(backup, *link)->next;
    *link = frag->next;
    pool_release(&backup->frags, frag);
}

struct lcp_ident backup_ident(const struct block *block, uint32_t table_id, uint32_t version,
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

bool backup_frag_restored(struct block *block, const struct lcp_ctl *ctl)
{
    struct backup *backup = backup_of(block);
    struct backup_frag *frag = backup_frag_find(backup, ctl->ident.table, ctl->ident.fragment);
    if (frag == NULL)
        frag = backup_frag_add(backup, ctl->ident.table, ctl->ident.version, ctl->ident.fragment);
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

bool backup_knows_file(struct block *block, uint32_t table_id, uint32_t fragment_id, uint32_t seq,
                       bool is_ctl)
{
    const struct backup_frag *frag = backup_frag_find(backup_of(block), table_id, fragment_id);
    if (frag == NULL || frag->number == 0) return false;
    if (is_ctl) return true;
    return frag->file_count > 0 && seq >= frag->file[0].seq &&
           seq <= frag->file[frag->file_count - 1u].seq;
}

void backup_table_dropped(struct block *block, uint32_t table_id)
{
    struct backup *backup = backup_of(block);
    if (backup->tup == NULL || table_id >= backup->table_count) return;
    for (uint32_t ref = backup->table[table_id]; ref != REF_NONE;) {
        struct backup_frag *frag = backup_frag_get(backup, ref);
        frag->dropped = true;
        if (ref == backup->now.frag) backup->now.dropped = true;
        backup->drops = true;
        ref = frag->next;
    }
    if (backup->drops && backup->state == BACKUP_IDLE) backup_clean_begin(backup);
}

/* --- The round. --- */

void backup_continue(struct backup *backup, uint32_t delay_ms)
{
    struct backup_continueb next = {.serial = ++backup->serial};
    if (delay_ms == 0)
        sig_send(&backup->block, backup->block.ref, GSN_CONTINUEB, PRIO_B, &next);
    else
        sig_send_delayed(&backup->block, backup->block.ref, GSN_CONTINUEB, PRIO_B, &next, delay_ms);
}

uint32_t backup_end_gci_min(const struct backup *backup)
{
    return backup->round.start_gci == 0 ? 0 : backup->round.start_gci - 1u;
}

uint32_t backup_log_life(const struct backup *backup)
{
    uint32_t life;
    return lqh_log_life(backup->lqh, &life) ? life : 0;
}

void backup_round_begin(struct backup *backup, uint32_t sender, const struct lcp_part_req *req)
{
    ndbrequire(backup->state == BACKUP_IDLE); /* DIH has one round at a time. */
    jam();
    backup->round = (struct backup_round){.sender = sender,
                                          .lcp_id = req->lcp_id,
                                          .start_gci = req->start_gci,
                                          .copied = req->copied != 0};
    backup->round.end_gci = backup_end_gci_min(backup);
    backup->tokens = 0;
    backup->tokens_ms = now_ms(&backup->block);
    backup->state = BACKUP_FINDING;
    tup_checkpoint_round(backup->tup);
    backup_continue(backup, 0);
}

static void round_written(struct backup *backup)
{
    const struct backup_round *round = &backup->round;
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
    backup->state = BACKUP_WRITTEN;
    sig_send(&backup->block, round->sender, GSN_LCP_PART_CONF, PRIO_B, &conf);
}

/*
 * Nothing is in it, and nothing was committed since the node started: what it gets is behind the
 * tail in the log. No file, since until the schema files have the table, a crash or an abort takes
 * it back, and the next table has its number and version: the list would ask for files of the
 * former one.
 */
static bool never_used(const struct backup *backup, const struct backup_frag *frag,
                       const struct lqh_frag *info)
{
    const struct tup_frag *tup_frag = tup_frag_get(backup->tup, info->tup_frag);
    if (backup->round.copied || (frag != NULL && frag->number != 0)) return false;
    return tup_checkpoint_gci(tup_frag) == 0 && tup_frag_rows(tup_frag) == 0;
}

/* The next fragment of the round. */
void backup_find(struct backup *backup)
{
    struct lqh_frag info;
    enum lqh_frag_step step = lqh_frag_next(backup->lqh, &backup->round.at, &info);
    if (step == LQH_FRAG_LATER) {
        backup_continue(backup, 0);
        return;
    }
    if (step == LQH_FRAG_END) {
        round_written(backup);
        return;
    }
    struct backup_frag *frag = backup_frag_find(backup, info.table_id, info.fragment_id);
    if (frag != NULL && (frag->dropped || frag->version != info.version)) {
        jam(); /* A former table of this number: its files have the same names and go first. */
        frag->dropped = true;
        backup->round.at.fragment_id--;
        backup_clean_begin(backup);
        return;
    }
    backup->round.fragments++;
    if (never_used(backup, frag, &info)) {
        jam(); /* Nothing is repeated for it either. */
        tup_checkpoint_usable(tup_frag_get(backup->tup, info.tup_frag));
        backup_continue(backup, 0);
        return;
    }
    if (frag == NULL) frag = backup_frag_add(backup, info.table_id, info.version, info.fragment_id);
    if (frag == NULL) {
        backup->now.dropped = false;
        backup_failed(backup, ERR_TABLE_RECORDS);
        return;
    }
    backup_file_begin(backup, frag, &info);
}

void backup_failed(struct backup *backup, uint32_t error)
{
    jam_data(error);
    if (!backup->now.dropped) { /* What is gone needs no checkpoint. */
        backup->round.failed++;
        if (backup->round.error == 0) backup->round.error = error;
    }
    backup->now.frag = REF_NONE;
    backup->state = BACKUP_FINDING;
    backup_continue(backup, 0);
}

/* --- Signals. --- */

static bool memory_make(struct backup *backup)
{
    struct arena *arena = block_arena(&backup->block);
    const struct node_config *config = block_config(&backup->block);
    void *zip = arena_alloc(arena, RG_NODE, lcp_zip_size());
    for (uint32_t i = 0; i < BACKUP_BUFFERS; i++)
        backup->buffer[i] = arena_alloc(arena, RG_NODE, BACKUP_BUFFER);
    backup->raw = arena_alloc(arena, RG_NODE, LCP_RAW_MAX);
    /* A page and not a part of one, for its alignment. */
    backup->ctl = arena_alloc(arena, RG_NODE, PAGE_SIZE_BYTES);
    backup->table_count = config->tables_max;
    backup->table = arena_alloc(arena, RG_NODE, (size_t)config->tables_max * sizeof(uint32_t));
    pool_init(&backup->frags, arena, RG_SCHEMA, sizeof(struct backup_frag), POOL_INDEX_MAX);
    if (zip == NULL || backup->buffer[0] == NULL || backup->buffer[1] == NULL) return false;
    backup->zip = lcp_zip_init(zip, lcp_zip_size());
    return backup->zip != NULL && backup->raw != NULL && backup->ctl != NULL &&
           backup->table != NULL;
}

static void backup_exec_READ_CONFIG_REQ(struct block *block, const struct signal *sig)
{
    struct backup *backup = backup_of(block);
    struct read_config_conf conf = {.sender_data = SIG_PAYLOAD(sig, read_config_req)->sender_data};
    jam();
    if (block_config(block)->diskless == 0) {
        if (!memory_make(backup))
            node_fail(EXIT_RESOURCE_ALLOC, __FILE__, __LINE__,
                      "no memory for the checkpoint writer");
        backup->tup = (struct tup *)(void *)block_neighbour(block, BLOCK_DBTUP);
        backup->lqh = block_neighbour(block, BLOCK_DBLQH);
        ndbrequire(backup->tup != NULL);
        ndbrequire(backup->lqh != NULL);
    }
    sig_send(block, sig->sender, GSN_READ_CONFIG_CONF, PRIO_B, &conf);
}

static void backup_exec_LCP_PART_REQ(struct block *block, const struct signal *sig)
{
    struct backup *backup = backup_of(block);
    const struct lcp_part_req *req = SIG_PAYLOAD(sig, lcp_part_req);
    ndbrequire(backup->tup != NULL);
    if (backup->state == BACKUP_CLEANING) {
        jam(); /* A dropped table's files. */
        backup->next_round = *req;
        backup->next_sender = sig->sender;
        return;
    }
    backup_round_begin(backup, sig->sender, req);
}

static void backup_exec_LCP_USABLE_REQ(struct block *block, const struct signal *sig)
{
    struct backup *backup = backup_of(block);
    ndbrequire(backup->state == BACKUP_WRITTEN);
    ndbrequire(SIG_PAYLOAD(sig, lcp_usable_req)->lcp_id == backup->round.lcp_id);
    jam();
    backup->cleaning.asker = sig->sender;
    backup_part_begin(backup);
}

static void backup_exec_REDO_STATUS_CONF(struct block *block, const struct signal *sig)
{
    backup_of(block)->log_fill = SIG_PAYLOAD(sig, redo_status_conf)->fill;
}

static void backup_exec_CONTINUEB(struct block *block, const struct signal *sig)
{
    struct backup *backup = backup_of(block);
    if (SIG_PAYLOAD(sig, backup_continueb)->serial != backup->serial) return;
    switch ((enum backup_state)backup->state) {
    case BACKUP_FINDING:
        backup_find(backup);
        return;
    case BACKUP_SCANNING:
        backup_file_step(backup);
        return;
    case BACKUP_CLEANING:
        backup_clean_step(backup);
        return;
    case BACKUP_IDLE:
    case BACKUP_OPENING:
    case BACKUP_CLOSING:
    case BACKUP_CTL_OPENING:
    case BACKUP_CTL_WRITING:
    case BACKUP_CTL_CLOSING:
    case BACKUP_DISCARDING:
    case BACKUP_WRITTEN:
    case BACKUP_PART_OPENING:
    case BACKUP_PART_WRITING:
    case BACKUP_PART_CLOSING:
        return; /* Left over. */
    }
    ndbrequire(false);
}

static void backup_exec_FSOPENCONF(struct block *block, const struct signal *sig)
{
    struct backup *backup = backup_of(block);
    const struct fsopenconf *conf = SIG_PAYLOAD(sig, fsopenconf);
    jam_data(conf->sender_data);
    if (conf->sender_data == ASK_OPEN)
        backup_file_opened(backup, conf->file);
    else if (conf->sender_data == ASK_PART_OPEN)
        backup_part_opened(backup, conf->file);
    else
        backup_ctl_opened(backup, conf->file);
}

static void backup_exec_FSWRITECONF(struct block *block, const struct signal *sig)
{
    struct backup *backup = backup_of(block);
    uint32_t ask = SIG_PAYLOAD(sig, fs_io_conf)->sender_data;
    jam_data(ask);
    if (ask == ASK_CTL_WRITE)
        backup_ctl_written(backup);
    else if (ask == ASK_PART_WRITE)
        backup_part_written(backup);
    else
        backup_file_written(backup, ask - ASK_WRITE);
}

static void backup_exec_FSCLOSECONF(struct block *block, const struct signal *sig)
{
    struct backup *backup = backup_of(block);
    uint32_t ask = SIG_PAYLOAD(sig, fs_conf)->sender_data;
    jam_data(ask);
    if (ask == ASK_CLOSE)
        backup_file_closed(backup);
    else if (ask == ASK_PART_CLOSE)
        backup_part_closed(backup);
    else
        backup_ctl_closed(backup);
}

static void backup_exec_FSREMOVECONF(struct block *block, const struct signal *sig)
{
    struct backup *backup = backup_of(block);
    jam();
    if (SIG_PAYLOAD(sig, fs_conf)->sender_data == ASK_CLEAN)
        backup_clean_step(backup);
    else
        backup_failed(backup, backup->now.error);
}

static void ref_take(struct block *block, const struct signal *sig)
{
    const struct fs_ref *ref = SIG_PAYLOAD(sig, fs_ref);
    char name[FS_NAME_BYTES + 1];
    fs_ref_name(sig, name);
    log_warning(block, "checkpoint file %s: error %u, system's error %u", name, ref->error,
                ref->os_error);
    if (ref->sender_data >= ASK_PART_OPEN)
        backup_part_error(backup_of(block), ref->sender_data, ref->error);
    else
        backup_file_error(backup_of(block), ref->sender_data, ref->error);
}

static void backup_exec_FSOPENREF(struct block *block, const struct signal *sig)
{
    ref_take(block, sig);
}
static void backup_exec_FSWRITEREF(struct block *block, const struct signal *sig)
{
    ref_take(block, sig);
}
static void backup_exec_FSCLOSEREF(struct block *block, const struct signal *sig)
{
    ref_take(block, sig);
}
static void backup_exec_FSREMOVEREF(struct block *block, const struct signal *sig)
{
    ref_take(block, sig);
}

static const struct handler backup_handlers[] = {
    HANDLER(backup, READ_CONFIG_REQ, read_config_req),
    HANDLER(backup, CONTINUEB, backup_continueb),
    HANDLER(backup, LCP_PART_REQ, lcp_part_req),
    HANDLER(backup, LCP_USABLE_REQ, lcp_usable_req),
    HANDLER(backup, REDO_STATUS_CONF, redo_status_conf),
    HANDLER(backup, FSOPENCONF, fsopenconf),
    HANDLER(backup, FSOPENREF, fs_ref),
    HANDLER(backup, FSWRITECONF, fs_io_conf),
    HANDLER(backup, FSWRITEREF, fs_ref),
    HANDLER(backup, FSCLOSECONF, fs_conf),
    HANDLER(backup, FSCLOSEREF, fs_ref),
    HANDLER(backup, FSREMOVECONF, fs_conf),
    HANDLER(backup, FSREMOVEREF, fs_ref),
};

static const struct block_type backup_type = {
    .name = "BACKUP",
    .block_no = BLOCK_BACKUP,
    .handlers = backup_handlers,
    .handler_count = sizeof(backup_handlers) / sizeof(backup_handlers[0]),
};

static const struct block_pool backup_pools[] = {
    BLOCK_POOL(backup, frags),
};

struct block *backup_create(struct thread *thread, uint32_t instance)
{
    struct block *block = block_create(thread, &backup_type, instance, sizeof(struct backup));
    block->pools = backup_pools;
    block->pool_count = sizeof backup_pools / sizeof backup_pools[0];
    return block;
}
