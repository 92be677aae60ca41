/* io.c -- file operations between a block and the host: submitting, and coming back as a signal. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "kernel/thread_state.h"

const char *io_op_name(uint32_t op)
{
    static const char *const names[IO_OP_COUNT] = {
        "none",     "open",        "close",  "read",   "write", "sync",
        "truncate", "preallocate", "rename", "remove", "list",
    };
    return op < IO_OP_COUNT ? names[op] : "unknown";
}

const char *io_error_name(uint32_t error)
{
    static const char *const names[IO_ERROR_COUNT] = {
        "no error",           "disk full",         "quota exceeded",    "file too large",
        "input/output error", "read-only",         "permission denied", "no such file or directory",
        "exists already",     "not a proper path", "too few resources", "no file system",
        "unknown error",
    };
    return error < IO_ERROR_COUNT ? names[error] : "unknown error";
}

static uint32_t name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

uint32_t io_name_valid(const char *name, uint32_t root)
{
    uint32_t depth = 0;
    uint32_t begins = 1; /* A component begins here. */
    uint32_t at = 0;
    if (name[0] == 0) return root != 0;
    for (; at < IO_NAME_MAX && name[at] != 0; at++) {
        if (name[at] == '/') {
            if (begins || ++depth > IO_DEPTH_MAX) return 0;
            begins = 1;
            continue;
        }
        if (!name_char(name[at]) || (begins && name[at] == '.')) return 0;
        begins = 0;
    }
    return at < IO_NAME_MAX && !begins;
}

uint64_t io_bytes(const struct io_request *request)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < request->piece_count; i++)
        bytes += request->piece[i].size;
    return bytes;
}

void io_submit(struct block *block, struct io_request *request)
{
    struct host *host = block->node->options.host;
    request->receiver = block->ref;
    request->error = IO_GOOD;
    request->os_error = request->more = 0;
    request->done = 0;
    if (host->io_submit == NULL) {
        jam();
        request->error = IO_NO_FILES;
        node_io_done(block->node, request);
        return;
    }
    host->io_submit(host, request);
}

/* A stack for many producers; its one consumer takes all of it at once, so no word of it is ever
 * reused too early. */
void node_io_done(struct node *node, struct io_request *request)
{
    struct block *block = node_lookup(node, request->receiver);
    struct thread *thread = block->thread;
    struct io_request *top = atomic_load_explicit(&thread->io_done, memory_order_relaxed);
    do {
        request->next = top;
    } while (!atomic_compare_exchange_weak_explicit(&thread->io_done, &top, request,
                                                    memory_order_release, memory_order_relaxed));
    struct host *host = node->options.host;
    if (top == NULL && this_thread != thread) host->wake(host, thread->no);
}

/* Oldest first. */
static struct io_request *reversed(struct io_request *top)
{
    struct io_request *first = NULL;
    while (top != NULL) {
        struct io_request *next = top->next;
        top->next = first;
        first = top;
        top = next;
    }
    return first;
}

void thread_take_io(struct thread *thread)
{
    if (atomic_load_explicit(&thread->io_done, memory_order_relaxed) == NULL) return;
    struct io_request *request =
        reversed(atomic_exchange_explicit(&thread->io_done, NULL, memory_order_acquire));
    const uint32_t words = sizeof(struct io_done_rep) / 4u;
    while (request != NULL) {
        struct io_request *next =
            request->next; /* The request is the block's again when it gets the signal. */
        struct io_done_rep rep = {.tag = request->tag,
                                  .op = request->op,
                                  .error = request->error,
                                  .done = (uint32_t)request->done};
        uint32_t *room = thread_put(thread, thread->no, PRIO_A, SIGNAL_HEAD_WORDS + words, 0, 0);
        room[0] = signal_kind(GSN_IO_DONE_REP, words, 0, PRIO_A, 0);
        room[1] = request->receiver;
        room[2] = block_ref(thread->node->config.own_node, BLOCK_NONE, thread->no);
        room[3] = SIGNAL_HEAD_WORDS + words;
        memcpy(room + SIGNAL_HEAD_WORDS, &rep, sizeof rep);
        request = next;
    }
}
