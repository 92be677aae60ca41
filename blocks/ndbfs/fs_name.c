/* fs_name.c -- requests about names: open, rename, remove, list; names that overlap are served in
 * the order given. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "blocks/ndbfs/fs_state.h"

/* `name` is `above`, or lies in the directory `above`. */
static bool at_or_below(const char *name, const char *above)
{
    size_t length = strlen(above);
    if (length == 0) return true;
    return strncmp(name, above, length) == 0 && (name[length] == 0 || name[length] == '/');
}

bool fs_names_overlap(const char *a, const char *b)
{
    return at_or_below(a, b) || at_or_below(b, a);
}

static bool requests_overlap(const struct fs_request *a, const struct fs_request *b)
{
    bool a_two = a->gsn == GSN_FSRENAMEREQ;
    bool b_two = b->gsn == GSN_FSRENAMEREQ;
    if (fs_names_overlap(a->io.name, b->io.name)) return true;
    if (a_two && fs_names_overlap(a->io.new_name, b->io.name)) return true;
    if (b_two && fs_names_overlap(a->io.name, b->io.new_name)) return true;
    return a_two && b_two && fs_names_overlap(a->io.new_name, b->io.new_name);
}

static const struct fs_file *open_file(const struct ndbfs *ndbfs, const char *name)
{
    const struct fs_file *file = pool_next(&ndbfs->files, 0);
    for (; file != NULL; file = pool_next(&ndbfs->files, pool_index(file->record.ref))) {
        if (fs_names_overlap(file->name, name)) return file;
    }
    return NULL;
}

/* --- Broken files that were closed: what they have in memory is not what they have on disk. --- */

void fs_name_broken(struct ndbfs *ndbfs, const char *name)
{
    uint32_t at = ndbfs->broken_count++;
    if (at >= FS_BROKEN_MAX) {
        jam();
        return;
    }
    memcpy(ndbfs->broken[at], name, IO_NAME_MAX);
}

static bool is_broken(const struct ndbfs *ndbfs, const char *name)
{
    if (ndbfs->broken_count > FS_BROKEN_MAX) return true;
    for (uint32_t i = 0; i < ndbfs->broken_count; i++) {
        if (strcmp(ndbfs->broken[i], name) == 0) return true;
    }
    return false;
}

/* What was at or below `name` is gone. */
static void forget_broken(struct ndbfs *ndbfs, const char *name)
{
    if (ndbfs->broken_count > FS_BROKEN_MAX) {
        if (name[0] == 0) ndbfs->broken_count = 0;
        return;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < ndbfs->broken_count; i++) {
        if (at_or_below(ndbfs->broken[i], name)) continue;
        if (kept != i) memcpy(ndbfs->broken[kept], ndbfs->broken[i], IO_NAME_MAX);
        kept++;
    }
    ndbfs->broken_count = kept;
}

/* --- Starting. --- */

static void end_request(struct ndbfs *ndbfs, struct fs_request *request)
{
    fs_queue_remove(ndbfs, &ndbfs->names, request);
    fs_request_free(ndbfs, request);
}

static void refuse(struct ndbfs *ndbfs, struct fs_request *request, uint32_t error, uint32_t flags)
{
    jam_data(error);
    fs_answer_ref(ndbfs, request, request->io.name, error, flags);
    end_request(ndbfs, request);
}

static void start_open(struct ndbfs *ndbfs, struct fs_request *request)
{
    if (open_file(ndbfs, request->io.name) != NULL) {
        refuse(ndbfs, request, ERR_FILE_ALREADY_OPEN, 0);
        return;
    }
    if ((request->flags & FS_EMPTY) == 0 && is_broken(ndbfs, request->io.name)) {
        refuse(ndbfs, request, ERR_FILE_IO_FAILED, FS_REF_BROKEN);
        return;
    }
    struct fs_file *file = pool_seize(&ndbfs->files);
    if (file == NULL) {
        refuse(ndbfs, request, ERR_FILE_MAX_OPEN, 0);
        return;
    }
    jam();
    file->state = FILE_OPENING;
    file->owner = request->sender;
    file->flags = request->flags;
    memcpy(file->name, request->io.name, IO_NAME_MAX);
    request->file = file->record.ref;
    request->io.file = pool_index(file->record.ref);
    fs_start(ndbfs, request);
}

static void start_list(struct ndbfs *ndbfs, struct fs_request *request)
{
    request->page = arena_page(block_arena(&ndbfs->block), RG_NODE);
    if (request->page == NULL) {
        refuse(ndbfs, request, ERR_FILE_RESOURCES, 0);
        return;
    }
    jam();
    request->io.piece[0] = (struct io_piece){.memory = request->page, .size = IO_LIST_BYTES};
    request->io.piece_count = 1;
    fs_start(ndbfs, request);
}

static void start_change(struct ndbfs *ndbfs, struct fs_request *request)
{
    bool open = open_file(ndbfs, request->io.name) != NULL;
    bool renames = request->gsn == GSN_FSRENAMEREQ;
    if (renames) open |= open_file(ndbfs, request->io.new_name) != NULL;
    if (open) {
        refuse(ndbfs, request, ERR_FILE_ALREADY_OPEN, 0);
        return;
    }
    if (renames && is_broken(ndbfs, request->io.name)) {
        refuse(ndbfs, request, ERR_FILE_IO_FAILED, FS_REF_BROKEN);
        return;
    }
    jam();
    fs_start(ndbfs, request);
}

static void start_name(struct ndbfs *ndbfs, struct fs_request *request)
{
    switch (request->gsn) {
    case GSN_FSOPENREQ:
        start_open(ndbfs, request);
        break;
    case GSN_FSLISTREQ:
        start_list(ndbfs, request);
        break;
    default:
        start_change(ndbfs, request);
        break;
    }
}

static bool must_wait(const struct ndbfs *ndbfs, const struct fs_request *request)
{
    const struct fs_request *before = fs_request_get(ndbfs, ndbfs->names.first);
    for (; before != request; before = fs_request_next(ndbfs, before)) {
        if (requests_overlap(before, request)) return true;
    }
    return false;
}

/* A refusal may let others run that were looked at before: they overlapped with it, so they stand
 * behind it. */
static void schedule(struct ndbfs *ndbfs)
{
    struct fs_request *request =
        ndbfs->names.first == REF_NONE ? NULL : fs_request_get(ndbfs, ndbfs->names.first);
    while (request != NULL) {
        struct fs_request *next = fs_request_next(ndbfs, request);
        if (request->state == REQUEST_WAITING && !must_wait(ndbfs, request))
            start_name(ndbfs, request);
        request = next;
    }
}

/* --- Requests. --- */

/* Common to all four: record, name, flags; NULL with the REF sent when something is wrong. */
static struct fs_request *begin(struct ndbfs *ndbfs, const struct signal *sig, uint32_t op,
                                uint32_t flags, uint32_t flags_allowed)
{
    if (ndbfs->names.count >= block_config(&ndbfs->block)->file_queue_max) {
        jam();
        fs_refuse(ndbfs, sig, 0, NULL, ERR_FILE_RESOURCES, 0);
        return NULL;
    }
    struct fs_request *request = fs_request_make(ndbfs, sig, NULL);
    if (request == NULL) return NULL;
    bool root = op == IO_LIST || (op == IO_REMOVE && (flags & FS_TREE) != 0);
    uint32_t error = 0;
    request->io.op = op;
    request->flags = flags;
    if (!fs_name_read(&sig->section[0], request->io.name, root)) {
        jam();
        error = ERR_FILE_PATH;
    } else if ((flags & ~flags_allowed) != 0) {
        jam();
        error = ERR_FILE_PARAMETER;
    }
    if (error == 0) return request;
    fs_answer_ref(ndbfs, request, request->io.name, error, 0);
    fs_request_free(ndbfs, request);
    return NULL;
}

static void enter(struct ndbfs *ndbfs, struct fs_request *request)
{
    fs_queue_add(ndbfs, &ndbfs->names, request);
    if (!must_wait(ndbfs, request)) start_name(ndbfs, request);
}

static void refuse_new(struct ndbfs *ndbfs, struct fs_request *request, uint32_t error)
{
    jam_data(error);
    fs_answer_ref(ndbfs, request, request->io.name, error, 0);
    fs_request_free(ndbfs, request);
}

void fs_exec_FSOPENREQ(struct block *block, const struct signal *sig)
{
    static const struct {
        uint32_t fs;
        uint32_t io;
    } flags[] = {
        {FS_READ, IO_READABLE},       {FS_WRITE, IO_WRITABLE}, {FS_CREATE, IO_CREATE},
        {FS_EXCLUSIVE, IO_EXCLUSIVE}, {FS_EMPTY, IO_EMPTY},    {FS_DIRECT, IO_DIRECT},
        {FS_SYNC, IO_THEN_SYNC},
    };
    struct ndbfs *ndbfs = fs_of(block);
    uint32_t asked = SIG_PAYLOAD(sig, fsopenreq)->flags;
    uint32_t allowed =
        FS_READ | FS_WRITE | FS_CREATE | FS_EXCLUSIVE | FS_EMPTY | FS_DIRECT | FS_SYNC;
    struct fs_request *request = begin(ndbfs, sig, IO_OPEN, asked, allowed);
    if (request == NULL) return;
    bool idle = (asked & (FS_READ | FS_WRITE)) == 0;
    bool alone = (asked & FS_EXCLUSIVE) != 0 && (asked & FS_CREATE) == 0;
    if (idle || alone || ((asked & (FS_CREATE | FS_EMPTY)) != 0 && (asked & FS_WRITE) == 0)) {
        refuse_new(ndbfs, request, ERR_FILE_PARAMETER);
        return;
    }
    jam();
    for (uint32_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        request->io.flags |= (asked & flags[i].fs) != 0 ? flags[i].io : 0u;
    enter(ndbfs, request);
}

void fs_exec_FSRENAMEREQ(struct block *block, const struct signal *sig)
{
    struct ndbfs *ndbfs = fs_of(block);
    uint32_t asked = SIG_PAYLOAD(sig, fsrenamereq)->flags;
    struct fs_request *request = begin(ndbfs, sig, IO_RENAME, asked, FS_REPLACE);
    if (request == NULL) return;
    bool named = fs_name_read(&sig->section[1], request->io.new_name, false);
    if (!named || fs_names_overlap(request->io.name, request->io.new_name)) {
        refuse_new(ndbfs, request, ERR_FILE_PATH);
        return;
    }
    jam();
    request->io.flags = (asked & FS_REPLACE) != 0 ? IO_REPLACE : 0;
    enter(ndbfs, request);
}

void fs_exec_FSREMOVEREQ(struct block *block, const struct signal *sig)
{
    struct ndbfs *ndbfs = fs_of(block);
    uint32_t asked = SIG_PAYLOAD(sig, fsremovereq)->flags;
    struct fs_request *request = begin(ndbfs, sig, IO_REMOVE, asked, FS_TREE);
    if (request == NULL) return;
    jam();
    request->io.flags = (asked & FS_TREE) != 0 ? IO_TREE : 0;
    enter(ndbfs, request);
}

void fs_exec_FSLISTREQ(struct block *block, const struct signal *sig)
{
    struct ndbfs *ndbfs = fs_of(block);
    struct fs_request *request = begin(ndbfs, sig, IO_LIST, 0, 0);
    if (request == NULL) return;
    if (sig->section_count == 2 && !fs_name_read(&sig->section[1], request->io.new_name, false)) {
        refuse_new(ndbfs, request, ERR_FILE_PATH);
        return;
    }
    jam();
    enter(ndbfs, request);
}

/* --- The host's answers. --- */

static void open_done(struct ndbfs *ndbfs, struct fs_request *request)
{
    struct fs_file *file = fs_file_get(ndbfs, request->file);
    if (request->io.error != IO_GOOD) {
        jam();
        request->file = REF_NONE;
        pool_release(&ndbfs->files, file);
        return;
    }
    jam();
    file->state = FILE_OPEN;
    file->end = request->io.done;
    if ((request->flags & FS_EMPTY) != 0) forget_broken(ndbfs, file->name);
}

static bool is_common(uint32_t error)
{
    return error == IO_MISSING ||
           error == IO_EXISTS; /* A normal answer to a question: not for the log. */
}

void fs_name_done(struct ndbfs *ndbfs, struct fs_request *request)
{
    if (request->gsn == GSN_FSOPENREQ) open_done(ndbfs, request);
    if (request->io.error != IO_GOOD) {
        uint32_t error = fs_error_number(request->io.error);
        jam_data(error);
        if (!is_common(request->io.error))
            log_warning(&ndbfs->block, "%s of %s failed: error %u, %s (%u)",
                        io_op_name(request->io.op), request->io.name, error,
                        io_error_name(request->io.error), request->io.os_error);
        fs_answer_ref(ndbfs, request, request->io.name, error, 0);
    } else if (request->gsn == GSN_FSREMOVEREQ && request->io.more != 0) {
        jam(); /* The next step of a tree; others have had their turn. */
        fs_start(ndbfs, request);
        return;
    } else {
        jam();
        if (request->gsn == GSN_FSREMOVEREQ) forget_broken(ndbfs, request->io.name);
        if (request->gsn == GSN_FSRENAMEREQ) forget_broken(ndbfs, request->io.new_name);
        fs_answer_conf(ndbfs, request);
    }
    end_request(ndbfs, request);
    schedule(ndbfs);
}
