/* fs_check.c -- the invariants of NDBFS' records: I-FS-1 to I-FS-5 of docs/protocols/files.md. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "blocks/ndbfs/fs_state.h"

static uint32_t check_queue(const struct ndbfs *ndbfs, const struct fs_queue *queue,
                            const struct fs_file *file)
{
    uint32_t count = 0;
    uint32_t last = REF_NONE;
    for (uint32_t ref = queue->first; ref != REF_NONE; count++) {
        const struct fs_request *request = fs_request_get(ndbfs, ref);
        if (file != NULL) ndbrequire(request->file == file->record.ref);
        ndbrequire(count < queue->count);
        last = ref;
        ref = request->next;
    }
    ndbrequire(queue->last == last && queue->count == count); /* I-FS-1 */
    return count;
}

/* What runs together may; nobody waits who could run. */
static void check_running(const struct ndbfs *ndbfs, const struct fs_file *file)
{
    bool waiting = false;
    for (uint32_t ref = file->queue.first; ref != REF_NONE;) {
        const struct fs_request *request = fs_request_get(ndbfs, ref);
        bool free_to_run = true;
        for (uint32_t before = file->queue.first; before != ref;) {
            const struct fs_request *other = fs_request_get(ndbfs, before);
            bool conflict = fs_conflict(other, request);
            ndbrequire(!conflict || request->state == REQUEST_WAITING); /* I-FS-2 */
            free_to_run &= !conflict;
            before = other->next;
        }
        ndbrequire(!waiting || request->state == REQUEST_WAITING); /* I-FS-2: no overtaking */
        ndbrequire(waiting || !free_to_run || request->state == REQUEST_RUNNING); /* I-FS-3 */
        waiting |= request->state == REQUEST_WAITING;
        ref = request->next;
    }
}

static void check_file(const struct ndbfs *ndbfs, const struct fs_file *file)
{
    ndbrequire(file->state >= FILE_OPENING && file->state <= FILE_CLOSING);
    ndbrequire(file->state != FILE_CLOSING ||
               fs_request_get(ndbfs, file->queue.last)->gsn == GSN_FSCLOSEREQ);
    ndbrequire(file->state != FILE_OPENING || file->queue.count == 0);
    ndbrequire(io_name_valid(file->name, 0) != 0);
    check_running(ndbfs, file);
    const struct fs_file *other = pool_next(&ndbfs->files, pool_index(file->record.ref));
    for (; other != NULL; other = pool_next(&ndbfs->files, pool_index(other->record.ref)))
        ndbrequire(!fs_names_overlap(file->name, other->name)); /* I-FS-4 */
}

void fs_check(struct block *block)
{
    const struct ndbfs *ndbfs = fs_of(block);
    if (ndbfs->requests.record_size == 0) return; /* NDBFS is not configured yet. */
    uint32_t count = check_queue(ndbfs, &ndbfs->names, NULL);
    const struct fs_file *file = pool_next(&ndbfs->files, 0);
    for (; file != NULL; file = pool_next(&ndbfs->files, pool_index(file->record.ref))) {
        count += check_queue(ndbfs, &file->queue, file);
        check_file(ndbfs, file);
    }
    ndbrequire(count == ndbfs->requests.in_use); /* I-FS-5 */
}
