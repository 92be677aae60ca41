/* lqh_redo.c -- DBLQH and its redo log: files at NDBFS, orders from outside, global checkpoints,
 * replay into rows. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>
#include "blocks/dblqh/redo/lqh_redo.h"
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/redo/lqh_log.h"
#include "blocks/dblqh/schema/lqh_table.h"
#include "blocks/ndbfs/fs_client.h"
#include "signals/dict.h"
#include "values/errors.h"
#include "signals/gcp.h"
#include "signals/gcp_local.h"

#define FILE_FLAGS (FS_READ | FS_WRITE | FS_DIRECT)

static_assert((int)TUP_INSERTED == (int)REDO_INSERT, "one numbering");
static_assert((int)TUP_UPDATED == (int)REDO_UPDATE, "one numbering");
static_assert((int)TUP_DELETED == (int)REDO_DELETE, "one numbering");
static_assert(TUP_ROW_WORDS_MAX + REDO_RECORD_HEAD <= REDO_RECORD_WORDS_MAX,
              "a record holds any row");

static uint32_t fs_data(uint32_t file)
{
    return file;
}

static uint32_t part_no(const struct lqh *lqh)
{
    return ref_instance(lqh->block.ref) - 1u;
}

static void file_name(const struct lqh *lqh, uint32_t file, char *name, size_t size)
{
    snprintf(name, size, "REDO/part%u/file%u", part_no(lqh), file);
}

/* --- What the log asks of the files. --- */

static void io_open(void *context, uint32_t file, bool create)
{
    struct lqh *lqh = context;
    char name[FS_NAME_BYTES + 1];
    file_name(lqh, file, name, sizeof name);
    lqh->redo->open_file = file;
    fs_open(&lqh->block, fs_data(file), name,
            create ? FILE_FLAGS | FS_CREATE | FS_EMPTY : FILE_FLAGS | FS_SYNC);
}

static void io_read(void *context, uint32_t file, uint32_t block, uint32_t *to, uint32_t blocks)
{
    struct lqh *lqh = context;
    const struct fs_piece piece = fs_piece_of(&lqh->block, to, blocks * REDO_BLOCK_BYTES);
    fs_read(&lqh->block, fs_data(file), lqh->redo->fs_file[file],
            (uint64_t)block * REDO_BLOCK_BYTES, &piece, 1, 0);
}

static void io_write(void *context, uint32_t file, uint32_t block, const uint32_t *from,
                     uint32_t blocks, bool sync)
{
    struct lqh *lqh = context;
    const struct fs_piece piece = fs_piece_of(&lqh->block, from, blocks * REDO_BLOCK_BYTES);
    fs_write(&lqh->block, fs_data(file), lqh->redo->fs_file[file],
             (uint64_t)block * REDO_BLOCK_BYTES, &piece, 1, sync ? FS_SYNC : 0);
}

static void io_sync(void *context, uint32_t file)
{
    struct lqh *lqh = context;
    fs_sync(&lqh->block, fs_data(file), lqh->redo->fs_file[file]);
}

/* --- What the log reports. --- */

static void io_opened(void *context)
{
    struct lqh *lqh = context;
    struct lqh_redo *redo = lqh->redo;
    const uint64_t bytes = redo_capacity(&redo->log) * REDO_BLOCK_BYTES;
    struct redo_open_conf conf = {.sender_data = redo->order_data,
                                  .megabytes = (uint32_t)(bytes >> 20)};
    uint32_t receiver = redo->order_sender;
    redo->order_sender = 0;
    sig_send(&lqh->block, receiver, GSN_REDO_OPEN_CONF, PRIO_B, &conf);
}

static void io_progress(void *context, uint32_t percent)
{
    struct lqh *lqh = context;
    struct lqh_redo *redo = lqh->redo;
    redo->percent = percent;
    if (percent < 100u && percent < redo->percent_logged + 10u) return;
    redo->percent_logged = percent < 100u ? percent : 0;
    const char *what = redo->log.state != REDO_OPENING ? "replayed"
                       : redo->created                 ? "made"
                                                       : "opened";
    log_info(&lqh->block, "redo log part %u: %u %% %s", part_no(lqh), percent, what);
}

/* Tables that were dropped, and fragments that moved away, have left records behind. */
static uint32_t io_apply(void *context, const struct redo_record *record)
{
    struct lqh *lqh = context;
    struct lqh_table *table =
        record->table_id < lqh->table_count ? lqh->table[record->table_id] : NULL;
    if (table == NULL || table->version != record->version || table->state == TABLE_BUILDING)
        return 0;
    if (record->fragment_id >= table->fragment_count ||
        table->frags[record->fragment_id] == REF_NONE)
        return 0;
    const struct tup_restore_req req = {
        .frag = tup_frag_get(lqh->tup, table->frags[record->fragment_id]),
        .key_def = (const struct table_def *)(const void *)table->key_def,
        .row = record->row,
        .gci = record->gci_hi,
        .attr = record->pairs,
        .attr_words = record->pair_words,
    };
    switch ((enum redo_kind)record->kind) {
    case REDO_INSERT:
        return tup_restore_put(lqh->tup, &req);
    case REDO_UPDATE:
        return tup_restore_update(lqh->tup, &req);
    case REDO_DELETE:
        return tup_restore_delete(lqh->tup, &req);
    }
    return ERR_DATA_CORRUPT;
}

static void io_again(void *context)
{
    struct lqh *lqh = context;
    lqh_continue(lqh, LQH_WORK_REDO_REPLAY, REF_NONE);
}

static void start_conf(struct lqh *lqh, uint32_t receiver, uint32_t sender_data)
{
    const struct redo_log *log = &lqh->redo->log;
    struct redo_start_conf conf = {
        .sender_data = sender_data,
        .applied_lo = (uint32_t)log->applied,
        .applied_hi = (uint32_t)(log->applied >> 32),
        .skipped_lo = (uint32_t)log->skipped,
        .skipped_hi = (uint32_t)(log->skipped >> 32),
    };
    sig_send(&lqh->block, receiver, GSN_REDO_START_CONF, PRIO_B, &conf);
}

static void io_replayed(void *context)
{
    struct lqh *lqh = context;
    const struct redo_log *log = &lqh->redo->log;
    log_info(&lqh->block, "redo log part %u: %llu records replayed, %llu not needed", part_no(lqh),
             (unsigned long long)log->applied, (unsigned long long)log->skipped);
    uint32_t receiver = lqh->redo->order_sender;
    lqh->redo->order_sender = 0;
    if (receiver != 0)
        start_conf(lqh, receiver, lqh->redo->order_data);
    else
        lqh_recover_replayed(lqh);
}

static struct gcp_saveconf save_conf(const struct lqh_redo *redo, uint32_t sender_data,
                                     uint32_t gci)
{
    uint64_t lsn = redo != NULL && redo->log.state == REDO_RUNNING ? redo->log.lsn_synced : 0;
    return (struct gcp_saveconf){.sender_data = sender_data,
                                 .gci = gci,
                                 .lsn_lo = (uint32_t)lsn,
                                 .lsn_hi = (uint32_t)(lsn >> 32)};
}

static void io_synced(void *context)
{
    struct lqh *lqh = context;
    struct lqh_redo *redo = lqh->redo;
    uint32_t left = 0;
    for (uint32_t i = 0; i < redo->save_count; i++) {
        const struct lqh_redo_save *save = &redo->save[i];
        if (save->target > redo_durable(&redo->log)) {
            redo->save[left++] = *save;
            continue;
        }
        struct gcp_saveconf conf = save_conf(redo, save->sender_data, save->gci);
        sig_send(&lqh->block, save->sender, GSN_GCP_SAVECONF, PRIO_A, &conf);
    }
    redo->save_count = left;
}

static uint32_t exit_of(const struct redo_damage *damage)
{
    switch (damage->fault) {
    case REDO_OTHER_VERSION:
        return EXIT_REDO_FOREIGN;
    case REDO_OTHER_CLUSTER:
    case REDO_OTHER_NODE:
    case REDO_OTHER_PART: /* Beside this node's own files nothing of others is lost. */
        return damage->stray ? EXIT_REDO_DAMAGED : EXIT_REDO_FOREIGN;
    case REDO_OTHER_SHAPE:
        return damage->stray ? EXIT_REDO_DAMAGED : EXIT_REDO_SHAPE;
    case REDO_AHEAD:
        return EXIT_SYSFILE_DAMAGED;
    case REDO_GOOD:
    case REDO_EMPTY:
    case REDO_NO_PAGE:
    case REDO_MALFORMED:
    case REDO_CUT:
    case REDO_BAD_CHECK:
    case REDO_OTHER_PLACE:
    case REDO_NOT_NEXT:
    case REDO_BAD_RECORD:
    case REDO_LOST_START:
    case REDO_FORGOTTEN:
    case REDO_BAD_SIZE:
    case REDO_OTHER_LIFE:
    case REDO_MISSING:
    case REDO_FAULT_COUNT:
        break;
    }
    return EXIT_REDO_DAMAGED;
}

/* A ring of another shape is not damaged, and must not be given up for it. */
static void shape_say(const struct lqh *lqh, const struct redo_damage *damage, char *text,
                      size_t size)
{
    const struct node_config *config = block_config(&lqh->block);
    char name[FS_NAME_BYTES + 1];
    const char *advice = ": set the parameters back";
    file_name(lqh, damage->file, name, sizeof name);
    if (lqh->redo->others != 0)
        advice = ""; /* The log is given up, and made anew. */
    else if (config->replicas > 1)
        advice = ": set the parameters back; to change them restart one data node after the other "
                 "with --initial while the others run";
    snprintf(text, size,
             "redo log, %s, is of NoOfFragmentLogFiles=%u and FragmentLogFileSize=%uK, the "
             "configuration has %u and %uK. Nothing is damaged%s",
             name, damage->files, damage->file_blocks * (REDO_BLOCK_BYTES / 1024u),
             config->redo_files, config->redo_file_bytes / 1024u, advice);
}

/* The advice where the log's first page, which knows its shape, is not there. */
static void shape_advice(const struct lqh *lqh, char *text, size_t size)
{
    int used = snprintf(text, size,
                        "; if NoOfFragmentLogFiles or FragmentLogFileSize was changed, change it "
                        "back");
    if (used > 0 && (size_t)used < size) lqh_recover_advice(lqh, text + used, size - (size_t)used);
}

static void io_damaged(void *context, const struct redo_damage *damage)
{
    struct lqh *lqh = context;
    char *text = lqh->redo->text;
    char name[FS_NAME_BYTES + 1];
    char why[32] = "";
    char fault[REDO_FAULT_SIZE];
    char advice[384] = "";
    uint32_t code = exit_of(damage);
    redo_fault_say(damage->fault, damage->version, fault);
    if (damage->error != 0 && lqh_recover_no_memory(damage->error)) code = EXIT_RECOVER_MEMORY;
    file_name(lqh, damage->file, name, sizeof name);
    if (damage->error != 0) snprintf(why, sizeof why, " (error %u)", damage->error);
    if (code == EXIT_REDO_SHAPE && damage->files != 0) {
        shape_say(lqh, damage, text, sizeof lqh->redo->text);
        lqh_recover_fail(lqh, code, text);
        return;
    }
    if (damage->fault == REDO_BAD_SIZE || damage->fault == REDO_MISSING)
        shape_advice(lqh, advice, sizeof advice);
    else if (code == EXIT_REDO_DAMAGED)
        lqh_recover_advice(lqh, advice, sizeof advice);
    snprintf(text, sizeof lqh->redo->text, "redo log, %s, offset %llu: %s%s%s", name,
             (unsigned long long)damage->block * REDO_BLOCK_BYTES,
             code == EXIT_RECOVER_MEMORY ? "no memory for a record's row" : fault, why, advice);
    lqh_recover_fail(lqh, code, text);
}

static const struct redo_io redo_io = {
    .open = io_open,
    .read = io_read,
    .write = io_write,
    .sync = io_sync,
    .opened = io_opened,
    .progress = io_progress,
    .apply = io_apply,
    .again = io_again,
    .replayed = io_replayed,
    .synced = io_synced,
    .damaged = io_damaged,
};

/* --- Answers of NDBFS. --- */

void lqh_exec_FSOPENCONF(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct fsopenconf *conf = SIG_PAYLOAD(sig, fsopenconf);
    struct lqh_redo *redo = lqh->redo;
    uint64_t bytes = (uint64_t)redo->log.config.file_blocks * REDO_BLOCK_BYTES;
    redo->fs_file[redo->open_file] = conf->file;
    redo->open_size = conf->size_lo | (uint64_t)conf->size_hi << 32;
    if (redo->created) {
        jam();
        redo->open_size = bytes;
        fs_preallocate(block, fs_data(redo->open_file), conf->file, bytes,
                       block_config(block)->redo_zero ? FS_ZERO : 0);
        return;
    }
    redo_done(&redo->log, redo->open_size / REDO_BLOCK_BYTES);
}

void lqh_exec_FSPREALLOCATECONF(struct block *block, const struct signal *sig)
{
    (void)sig;
    jam();
    /* The file's size is durable with the first sync behind it: before anything that is in the file
     * counts. */
    fs_sync(block, fs_data(lqh_of(block)->redo->open_file),
            lqh_of(block)->redo->fs_file[lqh_of(block)->redo->open_file]);
}

void lqh_exec_FSSYNCCONF(struct block *block, const struct signal *sig)
{
    struct lqh_redo *redo = lqh_of(block)->redo;
    (void)sig;
    redo_done(&redo->log, redo->open_size / REDO_BLOCK_BYTES);
}

/* Answers a read or a write. */
static void io_conf(struct block *block, const struct signal *sig)
{
    (void)sig;
    redo_done(&lqh_of(block)->redo->log, 0);
}

void lqh_exec_FSREADCONF(struct block *block, const struct signal *sig)
{
    io_conf(block, sig);
}

void lqh_exec_FSWRITECONF(struct block *block, const struct signal *sig)
{
    io_conf(block, sig);
}

/* No file of the log can be done without, and a failed sync must never be taken for a success
 * later. */
static void io_ref(struct block *block, const struct signal *sig, const char *what)
{
    struct lqh *lqh = lqh_of(block);
    const struct fs_ref *ref = SIG_PAYLOAD(sig, fs_ref);
    char name[FS_NAME_BYTES + 1];
    file_name(lqh, ref->sender_data, name, sizeof name);
    snprintf(lqh->redo->text, sizeof lqh->redo->text,
             "redo log, %s: %s failed: error %u, %s (system error %u)", name, what, ref->error,
             error_get(ref->error)->text, ref->os_error);
    bool gone = ref->error == ERR_FILE_SHORT_READ;
    size_t used = strlen(lqh->redo->text);
    if (gone) shape_advice(lqh, lqh->redo->text + used, sizeof lqh->redo->text - used);
    lqh_recover_fail(lqh, gone ? EXIT_REDO_DAMAGED : EXIT_REDO_IO, lqh->redo->text);
}

void lqh_exec_FSOPENREF(struct block *block, const struct signal *sig)
{
    struct lqh_redo *redo = lqh_of(block)->redo;
    if (SIG_PAYLOAD(sig, fs_ref)->error == ERR_FILE_MISSING && !redo->created)
        redo_missing(&redo->log);
    else
        io_ref(block, sig, "open");
}

void lqh_exec_FSPREALLOCATEREF(struct block *block, const struct signal *sig)
{
    io_ref(block, sig, "getting room");
}

void lqh_exec_FSREADREF(struct block *block, const struct signal *sig)
{
    io_ref(block, sig, "read");
}

void lqh_exec_FSWRITEREF(struct block *block, const struct signal *sig)
{
    io_ref(block, sig, "write");
}

void lqh_exec_FSSYNCREF(struct block *block, const struct signal *sig)
{
    io_ref(block, sig, "sync");
}

/* --- Orders. --- */

void lqh_redo_init(struct lqh *lqh)
{
    const struct node_config *config = block_config(&lqh->block);
    if (config->diskless) return;
    lqh->redo = block_alloc(&lqh->block, RG_NODE, sizeof *lqh->redo);
    uint8_t *buffer =
        block_alloc(&lqh->block, RG_NODE, (size_t)config->redo_buffer_bytes + REDO_BLOCK_BYTES);
    buffer += (REDO_BLOCK_BYTES - (uintptr_t)buffer % REDO_BLOCK_BYTES) % REDO_BLOCK_BYTES;
    const struct redo_config redo_config = {
        .cluster = config->cluster_id,
        .node = config->own_node,
        .part = part_no(lqh),
        .files = config->redo_files,
        .file_blocks = config->redo_file_bytes / REDO_BLOCK_BYTES,
        .buffer = (uint32_t *)(void *)buffer,
        .buffer_blocks = config->redo_buffer_bytes / REDO_BLOCK_BYTES,
    };
    redo_init(&lqh->redo->log, &redo_config, &redo_io, lqh);
}

void lqh_exec_REDO_OPEN_REQ(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct redo_open_req *req = SIG_PAYLOAD(sig, redo_open_req);
    if (lqh->redo == NULL) {
        struct redo_open_conf conf = {.sender_data = req->sender_data};
        sig_send(block, sig->sender, GSN_REDO_OPEN_CONF, PRIO_B, &conf);
        return;
    }
    jam();
    ndbrequire(lqh->redo->order_sender == 0);
    lqh->redo->order_sender = sig->sender;
    lqh->redo->order_data = req->sender_data;
    lqh->redo->created = req->create != 0;
    lqh->redo->others = req->others != 0 && req->create == 0 ? sig->sender : 0;
    lqh->redo->log.config.life = req->life & REDO_LIFE_MAX;
    if (req->create != 0 && lqh->redo->log.config.life == 0) {
        jam(); /* 0 says that a log has no life, and with it nothing of another one is refused. */
        lqh->redo->log.config.life = 1;
    }
    redo_open(&lqh->redo->log, req->create != 0);
}

static void replay_start(struct lqh *lqh, const struct signal *sig)
{
    const struct redo_start_req *req = SIG_PAYLOAD(sig, redo_start_req);
    struct redo_replay replay = {
        .start_gci = req->start_gci,
        .restart_gci = req->restart_gci,
        .incarnation = req->incarnation,
        .lsn_known = req->lsn_lo | (uint64_t)req->lsn_hi << 32,
    };
    uint32_t words = sig->section_count > 0 ? sig->section[0].size : 0;
    ndbrequire(words % 2u == 0 && words / 2u <= REDO_ENDED_MAX);
    for (uint32_t at = 0; at < words; at += 2u) {
        replay.ended[replay.ended_count++] = (struct redo_ended){
            .incarnation = sig->section[0].words[at], .gci = sig->section[0].words[at + 1u]};
    }
    redo_replay(&lqh->redo->log, &replay);
}

void lqh_exec_REDO_START_REQ(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct redo_start_req *req = SIG_PAYLOAD(sig, redo_start_req);
    if (lqh->redo == NULL) {
        struct redo_start_conf conf = {.sender_data = req->sender_data};
        sig_send(block, sig->sender, GSN_REDO_START_CONF, PRIO_B, &conf);
        return;
    }
    ndbrequire(lqh->redo->order_sender == 0);
    if (lqh->redo->created) {
        jam();
        redo_begin(&lqh->redo->log, req->incarnation);
        start_conf(lqh, sig->sender, req->sender_data);
        return;
    }
    jam();
    lqh->redo->order_sender = sig->sender;
    lqh->redo->order_data = req->sender_data;
    lqh->redo->percent = lqh->redo->percent_logged = 0;
    replay_start(lqh, sig);
}

void lqh_redo_step(struct lqh *lqh)
{
    redo_step(&lqh->redo->log);
}

void lqh_redo_tail(struct lqh *lqh, uint32_t gci)
{
    if (lqh->redo != NULL) redo_tail(&lqh->redo->log, gci);
}

void lqh_exec_REDO_TAIL_ORD(struct block *block, const struct signal *sig)
{
    lqh_redo_tail(lqh_of(block), SIG_PAYLOAD(sig, redo_tail_ord)->gci);
}

void lqh_exec_REDO_STATUS_REQ(struct block *block, const struct signal *sig)
{
    const struct lqh_redo *redo = lqh_of(block)->redo;
    struct redo_status_conf conf = {.sender_data = SIG_PAYLOAD(sig, redo_status_req)->sender_data};
    if (redo != NULL) {
        const struct redo_log *log = &redo->log;
        conf.state = log->state;
        conf.percent = redo->percent;
        conf.fill = redo_fill(log);
        conf.files = log->config.files;
        conf.file_blocks = log->config.file_blocks;
        conf.head_file = redo_file_at(log, log->made);
        conf.head_block = redo_block_at(log, log->made);
        conf.tail_file = redo_file_at(log, log->tail);
        conf.delayed = redo->delayed;
        conf.lsn_lo = (uint32_t)redo_lsn_pages(log->lsn_synced);
        conf.lsn_hi = (uint32_t)(redo_lsn_pages(log->lsn_synced) >> 32);
        conf.records_lo = (uint32_t)log->records;
        conf.records_hi = (uint32_t)(log->records >> 32);
        conf.bytes_lo = (uint32_t)log->bytes_written;
        conf.bytes_hi = (uint32_t)(log->bytes_written >> 32);
    }
    sig_send(block, sig->sender, GSN_REDO_STATUS_CONF, PRIO_B, &conf);
}

/* --- Global checkpoints. --- */

void lqh_exec_GCP_SAVEREQ(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct gcp_savereq *req = SIG_PAYLOAD(sig, gcp_savereq);
    struct lqh_redo *redo = lqh->redo;
    uint64_t target = 0;
    bool running = redo != NULL && redo->log.state == REDO_RUNNING;
    if (ERROR_INSERTED(block, 5021)) running = false;
    if (running) target = redo_save(&redo->log);
    if (!running || target <= redo_durable(&redo->log)) {
        jam(); /* Nothing is logged here, or nothing new. */
        struct gcp_saveconf conf = save_conf(redo, req->sender_data, req->gci);
        sig_send(block, sig->sender, GSN_GCP_SAVECONF, PRIO_A, &conf);
        return;
    }
    jam();
    ndbrequire(redo->save_count < REDO_SAVES_MAX);
    redo->save[redo->save_count++] = (struct lqh_redo_save){
        .sender = sig->sender, .sender_data = req->sender_data, .gci = req->gci, .target = target};
}
