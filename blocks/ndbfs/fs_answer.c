/* fs_answer.c -- requests' records and queues, and what goes back to the block that asked. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "blocks/ndbfs/fs_state.h"

/* CONF and REF of a request have the next two numbers. */
static_assert(GSN_FSOPENREF == GSN_FSOPENREQ + 2 && GSN_FSCLOSEREF == GSN_FSCLOSEREQ + 2,
              "numbers in a row");
static_assert(GSN_FSREADREF == GSN_FSREADREQ + 2 && GSN_FSWRITEREF == GSN_FSWRITEREQ + 2,
              "numbers in a row");
static_assert(GSN_FSAPPENDREF == GSN_FSAPPENDREQ + 2 && GSN_FSSYNCREF == GSN_FSSYNCREQ + 2,
              "numbers in a row");
static_assert(GSN_FSTRUNCATEREF == GSN_FSTRUNCATEREQ + 2 && GSN_FSRENAMEREF == GSN_FSRENAMEREQ + 2,
              "numbers in a row");
static_assert(GSN_FSPREALLOCATEREF == GSN_FSPREALLOCATEREQ + 2, "numbers in a row");
static_assert(GSN_FSREMOVEREF == GSN_FSREMOVEREQ + 2 && GSN_FSLISTREF == GSN_FSLISTREQ + 2,
              "numbers in a row");

uint32_t fs_error_number(uint32_t io_error)
{
    static const uint32_t numbers[IO_ERROR_COUNT] = {
        [IO_FULL] = ERR_DISK_FULL,
        [IO_QUOTA] = ERR_DISK_FULL,
        [IO_TOO_LARGE] = ERR_DISK_FULL,
        [IO_DEVICE] = ERR_FILE_IO_FAILED,
        [IO_READ_ONLY] = ERR_FILE_READ_ONLY,
        [IO_DENIED] = ERR_FILE_PERMISSION,
        [IO_MISSING] = ERR_FILE_MISSING,
        [IO_EXISTS] = ERR_FILE_EXISTS,
        [IO_BAD_PATH] = ERR_FILE_PATH,
        [IO_NO_RESOURCES] = ERR_FILE_RESOURCES,
        [IO_NO_FILES] = ERR_FILE_SYSTEM_MISSING,
        [IO_OTHER] = ERR_FILE_UNKNOWN,
    };
    return io_error < IO_ERROR_COUNT ? numbers[io_error] : ERR_FILE_UNKNOWN;
}

/* --- Records and queues. --- */

struct fs_request *fs_request_make(struct ndbfs *ndbfs, const struct signal *sig,
                                   struct fs_file *file)
{
    struct fs_request *request = pool_seize(&ndbfs->requests);
    if (request == NULL) {
        jam();
        fs_refuse(ndbfs, sig, file == NULL ? 0 : file->record.ref, file == NULL ? NULL : file->name,
                  ERR_FILE_RESOURCES, 0);
        return NULL;
    }
    request->gsn = sig->gsn;
    request->sender = sig->sender;
    request->sender_data = sig->payload[0];
    request->file = file == NULL ? REF_NONE : file->record.ref;
    request->io.tag = request->record.ref;
    return request;
}

void fs_request_free(struct ndbfs *ndbfs, struct fs_request *request)
{
    if (request->page != NULL)
        arena_page_release(block_arena(&ndbfs->block), RG_NODE, request->page);
    pool_release(&ndbfs->requests, request);
}

void fs_queue_add(struct ndbfs *ndbfs, struct fs_queue *queue, struct fs_request *request)
{
    if (queue->last != REF_NONE) {
        fs_request_get(ndbfs, queue->last)->next = request->record.ref;
    } else {
        queue->first = request->record.ref;
    }
    queue->last = request->record.ref;
    queue->count++;
}

void fs_queue_remove(struct ndbfs *ndbfs, struct fs_queue *queue, struct fs_request *request)
{
    uint32_t *link = &queue->first;
    uint32_t before = REF_NONE;
    while (*link != request->record.ref) {
        before = *link;
        link = &fs_request_get(ndbfs, before)->next;
    }
    *link = request->next;
    if (queue->last == request->record.ref) queue->last = before;
    request->next = REF_NONE;
    queue->count--;
}

void fs_start(struct ndbfs *ndbfs, struct fs_request *request)
{
    request->state = REQUEST_RUNNING;
    io_submit(&ndbfs->block, &request->io);
}

/* --- Names. --- */

bool fs_name_read(const struct section *section, char *name, bool root)
{
    memset(name, 0, IO_NAME_MAX);
    if (section->size == 0) return false;
    uint32_t bytes = section->words[0];
    if (bytes > FS_NAME_BYTES || section->size != 1u + (bytes + 3u) / 4u) return false;
    memcpy(name, section->words + 1, bytes);
    return strlen(name) == bytes && io_name_valid(name, root);
}

static struct section name_section(const char *name, uint32_t *words)
{
    uint32_t bytes = name == NULL ? 0 : (uint32_t)strlen(name);
    memset(words, 0, FS_NAME_WORDS * 4u);
    words[0] = bytes;
    if (bytes > 0) memcpy(words + 1, name, bytes);
    return (struct section){.words = words, .size = 1u + (bytes + 3u) / 4u};
}

/* --- Answers. --- */

static void send_ref(struct ndbfs *ndbfs, uint32_t receiver, uint32_t gsn, const struct fs_ref *ref,
                     const char *name)
{
    uint32_t words[FS_NAME_WORDS];
    struct section section = name_section(name, words);
    signal_send(&ndbfs->block, receiver, gsn, PRIO_A, ref, sizeof(*ref) / 4u, &section, 1);
}

void fs_refuse(struct ndbfs *ndbfs, const struct signal *sig, uint32_t file, const char *name,
               uint32_t error, uint32_t flags)
{
    struct fs_ref ref = {
        .sender_data = sig->payload[0], .file = file, .error = error, .flags = flags};
    jam_data(error);
    send_ref(ndbfs, sig->sender, sig->gsn + 2u, &ref, name);
}

void fs_answer_ref(struct ndbfs *ndbfs, const struct fs_request *request, const char *name,
                   uint32_t error, uint32_t flags)
{
    struct fs_ref ref = {
        .sender_data = request->sender_data,
        .file = request->file,
        .error = error,
        .os_error = request->state == REQUEST_RUNNING ? request->io.os_error : 0,
        .flags = flags,
    };
    send_ref(ndbfs, request->sender, request->gsn + 2u, &ref, name);
}

static void answer_io(struct ndbfs *ndbfs, const struct fs_request *request)
{
    struct fs_io_conf conf = {
        .sender_data = request->sender_data,
        .file = request->file,
        .offset_lo = (uint32_t)request->io.offset,
        .offset_hi = (uint32_t)(request->io.offset >> 32),
        .bytes = (uint32_t)request->io.done,
    };
    sig_send(&ndbfs->block, request->sender, request->gsn + 1u, PRIO_A, &conf);
}

static void answer_open(struct ndbfs *ndbfs, const struct fs_request *request)
{
    struct fsopenconf conf = {
        .sender_data = request->sender_data,
        .file = request->file,
        .flags = request->flags,
        .size_lo = (uint32_t)request->io.done,
        .size_hi = (uint32_t)(request->io.done >> 32),
    };
    sig_send(&ndbfs->block, request->sender, GSN_FSOPENCONF, PRIO_A, &conf);
}

/* The host's entries are the section; they are counted here, so that nothing outside of the page is
 * believed. */
static void answer_list(struct ndbfs *ndbfs, const struct fs_request *request)
{
    struct fslistconf conf = {.sender_data = request->sender_data, .more = request->io.more};
    struct section section = {.words = request->page, .size = (uint32_t)request->io.done / 4u};
    ndbrequire(request->io.done <= IO_LIST_BYTES);
    for (uint32_t at = 0; at < section.size; at += section.words[at]) {
        ndbrequire(section.words[at] >= sizeof(struct fs_entry) / 4u);
        conf.count++;
    }
    signal_send(&ndbfs->block, request->sender, GSN_FSLISTCONF, PRIO_A, &conf, sizeof(conf) / 4u,
                &section, 1);
}

void fs_answer_conf(struct ndbfs *ndbfs, const struct fs_request *request)
{
    struct fs_conf conf = {.sender_data = request->sender_data, .file = request->file};
    switch (request->gsn) {
    case GSN_FSOPENREQ:
        answer_open(ndbfs, request);
        break;
    case GSN_FSREADREQ:
    case GSN_FSWRITEREQ:
    case GSN_FSAPPENDREQ:
        answer_io(ndbfs, request);
        break;
    case GSN_FSLISTREQ:
        answer_list(ndbfs, request);
        break;
    default:
        sig_send(&ndbfs->block, request->sender, request->gsn + 1u, PRIO_A, &conf);
        break;
    }
}
