/* fs_file.c -- requests about an open file: which may run together, and what follows when one
 * fails. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/ndbfs/fs_state.h"

static bool changes(const struct fs_request *request)
{
    return request->gsn != GSN_FSREADREQ && request->gsn != GSN_FSCLOSEREQ;
}

static bool writes(const struct fs_request *request)
{
    return request->gsn == GSN_FSWRITEREQ || request->gsn == GSN_FSAPPENDREQ;
}

/* The file's size or existence hangs on these: nothing runs beside them. */
static bool exclusive(const struct fs_request *request)
{
    return request->gsn == GSN_FSCLOSEREQ || request->gsn == GSN_FSTRUNCATEREQ ||
           request->gsn == GSN_FSPREALLOCATEREQ;
}

static bool syncs(const struct fs_request *request)
{
    return request->gsn == GSN_FSSYNCREQ || (request->flags & FS_SYNC) != 0;
}

static bool ranges_meet(const struct fs_request *a, const struct fs_request *b)
{
    return a->io.offset < b->io.offset + b->bytes && b->io.offset < a->io.offset + a->bytes;
}

bool fs_conflict(const struct fs_request *first, const struct fs_request *second)
{
    if (exclusive(first) || exclusive(second)) return true;
    if (syncs(second) && (writes(first) || syncs(first)))
        return true; /* It makes durable what was given before. */
    if (first->gsn == GSN_FSSYNCREQ || second->gsn == GSN_FSSYNCREQ) return false;
    if (!writes(first) && !writes(second)) return false;
    /* An append knows its place when it starts: behind all writes that were given before, and reads
     * go around it. */
    if (second->gsn == GSN_FSAPPENDREQ) return writes(first);
    if (first->gsn == GSN_FSAPPENDREQ && writes(second)) return true;
    return ranges_meet(first, second);
}

/* Requests are not overtaken: the first that has to wait holds back the rest. */
static bool must_wait(const struct ndbfs *ndbfs, const struct fs_file *file,
                      const struct fs_request *request)
{
    const struct fs_request *before = fs_request_get(ndbfs, file->queue.first);
    for (; before != request; before = fs_request_next(ndbfs, before)) {
        if (fs_conflict(before, request)) return true;
    }
    return false;
}

static void end_request(struct ndbfs *ndbfs, struct fs_file *file, struct fs_request *request)
{
    fs_queue_remove(ndbfs, &file->queue, request);
    fs_request_free(ndbfs, request);
}

static bool start_request(struct ndbfs *ndbfs, struct fs_file *file, struct fs_request *request)
{
    if (request->gsn == GSN_FSAPPENDREQ) {
        if ((file->flags & FS_DIRECT) != 0 && file->end % FS_ALIGN != 0) {
            jam();
            fs_answer_ref(ndbfs, request, file->name, ERR_FILE_PARAMETER, 0);
            end_request(ndbfs, file, request);
            return false;
        }
        jam();
        request->io.offset = file->end;
    }
    fs_start(ndbfs, request);
    return true;
}

static void schedule(struct ndbfs *ndbfs, struct fs_file *file)
{
    struct fs_request *request =
        file->queue.first == REF_NONE ? NULL : fs_request_get(ndbfs, file->queue.first);
    while (request != NULL) {
        struct fs_request *next = fs_request_next(ndbfs, request);
        if (request->state == REQUEST_WAITING) {
            if (must_wait(ndbfs, file, request)) return;
            start_request(ndbfs, file, request);
        }
        request = next;
    }
}

/* --- Requests. --- */

/* The open file that the sender means, or NULL with the REF sent. */
static struct fs_file *find_file(struct ndbfs *ndbfs, const struct signal *sig,
                                 uint32_t flags_needed)
{
    uint32_t ref = sig->payload[1];
    struct fs_file *file = pool_find(&ndbfs->files, ref);
    if (file == NULL || file->owner != sig->sender || file->state != FILE_OPEN) {
        jam();
        fs_refuse(ndbfs, sig, ref, NULL, ERR_FILE_PARAMETER, 0);
        return NULL;
    }
    if (file->broken != 0 && sig->gsn != GSN_FSCLOSEREQ) {
        jam();
        fs_refuse(ndbfs, sig, ref, file->name, file->broken, FS_REF_BROKEN);
        return NULL;
    }
    if ((file->flags & flags_needed) != flags_needed) {
        jam();
        fs_refuse(ndbfs, sig, ref, file->name, ERR_FILE_PARAMETER, 0);
        return NULL;
    }
    if (file->queue.count >= block_config(&ndbfs->block)->file_queue_max &&
        sig->gsn != GSN_FSCLOSEREQ) {
        jam();
        fs_refuse(ndbfs, sig, ref, file->name, ERR_FILE_RESOURCES, 0);
        return NULL;
    }
    return file;
}

static void enter(struct ndbfs *ndbfs, struct fs_file *file, struct fs_request *request,
                  uint32_t op)
{
    request->io.op = op;
    request->io.file = pool_index(file->record.ref);
    fs_queue_add(ndbfs, &file->queue, request);
    schedule(ndbfs, file);
}

/* The pieces' memory; false when they name none, or not as this file needs it. */
static bool read_pieces(struct ndbfs *ndbfs, const struct fs_file *file,
                        const struct section *section, struct fs_request *request)
{
    const struct fs_piece *pieces = (const struct fs_piece *)(const void *)section->words;
    uint32_t count = section->size / 3u;
    uint64_t bytes = 0;
    uint64_t align = (file->flags & FS_DIRECT) != 0 ? FS_ALIGN : 1;
    if (count == 0 || section->size % 3u != 0 || count > FS_PIECES_MAX) return false;
    for (uint32_t i = 0; i < count; i++) {
        void *memory =
            arena_at(block_arena(&ndbfs->block), pieces[i].page, pieces[i].offset, pieces[i].bytes);
        if (memory == NULL || pieces[i].bytes == 0) return false;
        if (pieces[i].offset % align != 0 || pieces[i].bytes % align != 0) return false;
        request->io.piece[i] = (struct io_piece){.memory = memory, .size = pieces[i].bytes};
        bytes += pieces[i].bytes;
    }
    if (bytes > FS_BYTES_MAX || request->io.offset % align != 0 || request->io.offset > FS_SIZE_MAX)
        return false;
    request->io.piece_count = count;
    request->bytes = (uint32_t)bytes;
    return true;
}

static void transfer(struct block *block, const struct signal *sig, uint32_t op, uint64_t offset,
                     uint32_t flags_allowed)
{
    struct ndbfs *ndbfs = fs_of(block);
    struct fs_file *file = find_file(ndbfs, sig, op == IO_READ ? FS_READ : FS_WRITE);
    struct fs_request *request = file == NULL ? NULL : fs_request_make(ndbfs, sig, file);
    if (request == NULL) return;
    request->flags = sig->payload[2];
    request->io.offset = offset;
    if (!read_pieces(ndbfs, file, &sig->section[0], request) ||
        (request->flags & ~flags_allowed) != 0) {
        jam();
        fs_answer_ref(ndbfs, request, file->name, ERR_FILE_PARAMETER, 0);
        fs_request_free(ndbfs, request);
        return;
    }
    jam();
    request->io.flags = (request->flags & FS_SYNC) != 0 ? IO_THEN_SYNC : 0;
    enter(ndbfs, file, request, op);
}

void fs_exec_FSREADREQ(struct block *block, const struct signal *sig)
{
    const struct fsreadreq *req = SIG_PAYLOAD(sig, fsreadreq);
    transfer(block, sig, IO_READ, req->offset_lo | (uint64_t)req->offset_hi << 32, FS_PARTIAL);
}

void fs_exec_FSWRITEREQ(struct block *block, const struct signal *sig)
{
    const struct fswritereq *req = SIG_PAYLOAD(sig, fswritereq);
    transfer(block, sig, IO_WRITE, req->offset_lo | (uint64_t)req->offset_hi << 32, FS_SYNC);
}

void fs_exec_FSAPPENDREQ(struct block *block, const struct signal *sig)
{
    transfer(block, sig, IO_WRITE, 0, FS_SYNC);
}

void fs_exec_FSSYNCREQ(struct block *block, const struct signal *sig)
{
    struct ndbfs *ndbfs = fs_of(block);
    struct fs_file *file = find_file(ndbfs, sig, FS_WRITE);
    struct fs_request *request = file == NULL ? NULL : fs_request_make(ndbfs, sig, file);
    if (request == NULL) return;
    jam();
    enter(ndbfs, file, request, IO_SYNC);
}

/* Truncate and preallocate. */
static void resize(struct block *block, const struct signal *sig, uint32_t op, uint64_t size,
                   uint32_t flags)
{
    struct ndbfs *ndbfs = fs_of(block);
    struct fs_file *file = find_file(ndbfs, sig, FS_WRITE);
    struct fs_request *request = file == NULL ? NULL : fs_request_make(ndbfs, sig, file);
    if (request == NULL) return;
    bool misaligned = (file->flags & FS_DIRECT) != 0 && size % FS_ALIGN != 0;
    bool nothing = op == IO_PREALLOCATE && size == 0;
    if (size > FS_SIZE_MAX || (flags & ~(uint32_t)FS_ZERO) != 0 || misaligned || nothing) {
        jam();
        fs_answer_ref(ndbfs, request, file->name, ERR_FILE_PARAMETER, 0);
        fs_request_free(ndbfs, request);
        return;
    }
    jam();
    request->target = size;
    request->io.size = op == IO_PREALLOCATE && size > FS_STEP_BYTES ? FS_STEP_BYTES : size;
    request->io.flags = (flags & FS_ZERO) != 0 ? IO_ZERO : 0;
    enter(ndbfs, file, request, op);
}

void fs_exec_FSTRUNCATEREQ(struct block *block, const struct signal *sig)
{
    const struct fstruncatereq *req = SIG_PAYLOAD(sig, fstruncatereq);
    resize(block, sig, IO_TRUNCATE, req->size_lo | (uint64_t)req->size_hi << 32, 0);
}

void fs_exec_FSPREALLOCATEREQ(struct block *block, const struct signal *sig)
{
    const struct fspreallocatereq *req = SIG_PAYLOAD(sig, fspreallocatereq);
    resize(block, sig, IO_PREALLOCATE, req->size_lo | (uint64_t)req->size_hi << 32, req->flags);
}

void fs_exec_FSCLOSEREQ(struct block *block, const struct signal *sig)
{
    struct ndbfs *ndbfs = fs_of(block);
    struct fs_file *file = find_file(ndbfs, sig, 0);
    struct fs_request *request = file == NULL ? NULL : fs_request_make(ndbfs, sig, file);
    if (request == NULL) return;
    jam();
    file->state = FILE_CLOSING;
    enter(ndbfs, file, request, IO_CLOSE);
}

/* --- The host's answers. --- */

/*
 * Those who gave a change while an earlier one was failing did so in ignorance: a sync must not say
 * "durable", nor an append leave a hole. Of a broken file nothing but the close is left.
 */
static void refuse_behind(struct ndbfs *ndbfs, struct fs_file *file,
                          const struct fs_request *failed, uint32_t error)
{
    uint32_t flags = FS_REF_BEHIND | (file->broken != 0 ? FS_REF_BROKEN : 0u);
    struct fs_request *request = fs_request_next(ndbfs, failed);
    while (request != NULL) {
        struct fs_request *next = fs_request_next(ndbfs, request);
        bool hit = changes(request) || (file->broken != 0 && request->gsn != GSN_FSCLOSEREQ);
        if (request->state == REQUEST_WAITING && hit) {
            jam();
            fs_answer_ref(ndbfs, request, file->name, error, flags);
            end_request(ndbfs, file, request);
        }
        request = next;
    }
}

static void log_failure(struct ndbfs *ndbfs, struct fs_file *file, const struct fs_request *request,
                        uint32_t error)
{
    if (file->logged == error) return;
    file->logged = error;
    log_warning(
        &ndbfs->block, "%s of file %s at offset %llu failed: error %u, %s (%u)%s",
        io_op_name(request->io.op), file->name, (unsigned long long)request->io.offset, error,
        request->io.error == IO_GOOD ? "the file ends before" : io_error_name(request->io.error),
        request->io.os_error, file->broken != 0 ? "; nothing more is written to it" : "");
}

/* A sync that failed says nothing about what is on the disk, and neither does a second one that
 * succeeds. */
static bool breaks(const struct fs_request *request)
{
    if (request->gsn == GSN_FSSYNCREQ) return true;
    if (writes(request) && request->io.more != 0)
        return true; /* It failed in the sync behind it. */
    return changes(request) && request->io.error == IO_DEVICE;
}

static void close_done(struct ndbfs *ndbfs, struct fs_file *file, struct fs_request *request)
{
    ndbrequire(file->queue.count == 1);
    if (request->io.error != IO_GOOD && file->broken == 0) {
        jam();
        file->broken = fs_error_number(request->io.error);
        log_failure(ndbfs, file, request, file->broken);
    }
    if (file->broken != 0) fs_name_broken(ndbfs, file->name);
    if (request->io.error != IO_GOOD) {
        jam();
        fs_answer_ref(ndbfs, request, file->name, file->broken, FS_REF_BROKEN);
    } else {
        jam();
        fs_answer_conf(ndbfs, request);
    }
    end_request(ndbfs, file, request);
    pool_release(&ndbfs->files, file);
}

static void failed(struct ndbfs *ndbfs, struct fs_file *file, struct fs_request *request,
                   uint32_t error)
{
    if (breaks(request) && file->broken == 0) {
        jam();
        file->broken = error;
    }
    log_failure(ndbfs, file, request, error);
    fs_answer_ref(ndbfs, request, file->name, error, file->broken != 0 ? FS_REF_BROKEN : 0);
    if (changes(request)) refuse_behind(ndbfs, file, request, error);
    end_request(ndbfs, file, request);
}

static void new_size(struct fs_file *file, const struct fs_request *request)
{
    uint64_t end = request->io.offset + (writes(request) ? request->bytes : request->io.size);
    if (request->gsn == GSN_FSTRUNCATEREQ) {
        file->end = request->io.size;
    } else if (end > file->end) {
        file->end = end;
    }
}

/* Syncs that wait right behind one that succeeded have no write before them that it does not cover.
 */
static void answer_syncs_behind(struct ndbfs *ndbfs, struct fs_file *file,
                                const struct fs_request *done)
{
    struct fs_request *request = fs_request_next(ndbfs, done);
    while (request != NULL && request->gsn == GSN_FSSYNCREQ && request->state == REQUEST_WAITING) {
        struct fs_request *next = fs_request_next(ndbfs, request);
        jam();
        fs_answer_conf(ndbfs, request);
        end_request(ndbfs, file, request);
        request = next;
    }
}

/* True when a preallocation has another step to do. */
static bool goes_on(struct ndbfs *ndbfs, struct fs_request *request)
{
    if (request->gsn != GSN_FSPREALLOCATEREQ) return false;
    uint64_t at = request->io.offset + request->io.size;
    if (at >= request->target) return false;
    uint64_t left = request->target - at;
    jam();
    request->io.offset = at;
    request->io.size = left > FS_STEP_BYTES ? FS_STEP_BYTES : left;
    fs_start(ndbfs, request);
    return true;
}

void fs_file_done(struct ndbfs *ndbfs, struct fs_request *request)
{
    struct fs_file *file = fs_file_get(ndbfs, request->file);
    if (request->gsn == GSN_FSCLOSEREQ) {
        close_done(ndbfs, file, request);
        return;
    }
    if (request->io.error != IO_GOOD) {
        jam();
        failed(ndbfs, file, request, fs_error_number(request->io.error));
        schedule(ndbfs, file);
        return;
    }
    if (request->gsn == GSN_FSREADREQ && request->io.done < request->bytes &&
        (request->flags & FS_PARTIAL) == 0) {
        jam();
        failed(ndbfs, file, request, ERR_FILE_SHORT_READ);
        schedule(ndbfs, file);
        return;
    }
    if (request->gsn != GSN_FSREADREQ) {
        file->logged = 0;
        if (request->gsn != GSN_FSSYNCREQ) new_size(file, request);
    }
    if (goes_on(ndbfs, request)) return;
    if (file->broken != 0 && syncs(request)) {
        jam(); /* Another write failed meanwhile: this sync may have missed its data. */
        fs_answer_ref(ndbfs, request, file->name, file->broken, FS_REF_BROKEN);
    } else {
        fs_answer_conf(ndbfs, request);
    }
    if (request->gsn == GSN_FSSYNCREQ) answer_syncs_behind(ndbfs, file, request);
    end_request(ndbfs, file, request);
    schedule(ndbfs, file);
}
