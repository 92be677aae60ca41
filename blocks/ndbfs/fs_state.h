/* fs_state.h -- NDBFS' own records. Private to blocks/ndbfs. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/ndbfs/fs_block.h"
#include "values/errors.h"
#include "signals/fs.h"
#include "signals/start.h"

/* Bytes that one step of a preallocation gets: a stop need not wait for more. */
#define FS_STEP_BYTES (16u * 1024u * 1024u)
#define FS_BROKEN_MAX 16u /* Names of broken files that are remembered after they were closed. */
#define FS_SIZE_MAX   (1ull << 60)

/* A request waits in the queue of its file, or among the names, and is handed to the host when
 * nothing forbids it. */
enum fs_request_state { REQUEST_WAITING = 0, REQUEST_RUNNING };

struct fs_request {
    struct pool_record record;
    uint32_t next;  /* Next request in the same queue, in the order given; REF_NONE ends. */
    uint32_t state; /* enum fs_request_state */
    uint32_t file;  /* File that it is about; REF_NONE: none is open (yet). */
    uint32_t gsn;   /* GSN of the REQ; CONF and REF follow it. */
    uint32_t sender;
    uint32_t sender_data;
    uint32_t flags; /* enum fs_flags */
    uint32_t bytes;
    uint64_t target; /* Preallocate: the end wanted. */
    void *page;      /* List: where the host puts the entries. */
    struct io_request io;
};

struct fs_queue {
    uint32_t first;
    uint32_t last;
    uint32_t count;
};

/*   OPENING --host--> OPEN --FSCLOSEREQ--> CLOSING --host--> (free)      OPENING --error--> (free)
 */
enum fs_file_state { FILE_OPENING = 1, FILE_OPEN, FILE_CLOSING };

struct fs_file {
    struct pool_record record;
    uint32_t state; /* enum fs_file_state */
    uint32_t owner; /* The block that opened it. */
    uint32_t flags;
    uint32_t broken; /* Error that broke the file; 0 = it is good. */
    uint32_t logged; /* Last error in the log: a full disk is told once. */
    struct fs_queue queue;
    uint64_t end; /* The file's size: where the next append goes. */
    char name[IO_NAME_MAX];
};

struct ndbfs {
    struct block block;
    struct pool files;
    struct pool requests;
    struct fs_queue names; /* Opens, renames, removals, lists. */
    uint32_t broken_count; /* More than FS_BROKEN_MAX: no old file may be opened. */
    char broken[FS_BROKEN_MAX][IO_NAME_MAX];
};

static inline struct ndbfs *fs_of(struct block *block)
{
    return (struct ndbfs *)(void *)block;
}
static inline struct fs_request *fs_request_get(const struct ndbfs *ndbfs, uint32_t ref)
{
    struct fs_request *request = pool_find(&ndbfs->requests, ref);
    ndbrequire(request != NULL);
    return request;
}
static inline struct fs_request *fs_request_next(const struct ndbfs *ndbfs,
                                                 const struct fs_request *request)
{
    return request->next == REF_NONE ? NULL : fs_request_get(ndbfs, request->next);
}
static inline struct fs_file *fs_file_get(const struct ndbfs *ndbfs, uint32_t ref)
{
    struct fs_file *file = pool_find(&ndbfs->files, ref);
    ndbrequire(file != NULL);
    return file;
}

/* fs_answer.c */
uint32_t fs_error_number(uint32_t io_error); /* Number in errors.def of an enum io_error. */
/* A record for the signal's request, waiting nowhere yet; NULL when it was refused with
 * ERR_FILE_RESOURCES. */
struct fs_request *fs_request_make(struct ndbfs *ndbfs, const struct signal *sig,
                                   struct fs_file *file);
void fs_request_free(struct ndbfs *ndbfs, struct fs_request *request);
void fs_queue_add(struct ndbfs *ndbfs, struct fs_queue *queue, struct fs_request *request);
void fs_queue_remove(struct ndbfs *ndbfs, struct fs_queue *queue, struct fs_request *request);
/* A REF for a request that got no record. `name` may be NULL. */
void fs_refuse(struct ndbfs *ndbfs, const struct signal *sig, uint32_t file, const char *name,
               uint32_t error, uint32_t flags);
/* The answer to a request, from its io part. The record stays. */
void fs_answer_ref(struct ndbfs *ndbfs, const struct fs_request *request, const char *name,
                   uint32_t error, uint32_t flags);
void fs_answer_conf(struct ndbfs *ndbfs, const struct fs_request *request);
void fs_start(struct ndbfs *ndbfs, struct fs_request *request);
/* Copies the name of a section; false when it is none. */
bool fs_name_read(const struct section *section, char *name, bool root);

/* fs_file.c */
void fs_file_done(struct ndbfs *ndbfs, struct fs_request *request);
void fs_exec_FSCLOSEREQ(struct block *block, const struct signal *sig);
void fs_exec_FSREADREQ(struct block *block, const struct signal *sig);
void fs_exec_FSWRITEREQ(struct block *block, const struct signal *sig);
void fs_exec_FSAPPENDREQ(struct block *block, const struct signal *sig);
void fs_exec_FSSYNCREQ(struct block *block, const struct signal *sig);
void fs_exec_FSTRUNCATEREQ(struct block *block, const struct signal *sig);
void fs_exec_FSPREALLOCATEREQ(struct block *block, const struct signal *sig);
/* True when two requests of one file must not run together; `first` was given before. */
bool fs_conflict(const struct fs_request *first, const struct fs_request *second);

/* fs_name.c */
void fs_name_done(struct ndbfs *ndbfs, struct fs_request *request);
void fs_name_broken(struct ndbfs *ndbfs, const char *name);
/* The names are equal, or one is a directory above the other. */
bool fs_names_overlap(const char *a, const char *b);
void fs_exec_FSOPENREQ(struct block *block, const struct signal *sig);
void fs_exec_FSRENAMEREQ(struct block *block, const struct signal *sig);
void fs_exec_FSREMOVEREQ(struct block *block, const struct signal *sig);
void fs_exec_FSLISTREQ(struct block *block, const struct signal *sig);

/* fs_check.c */
void fs_check(struct block *block);
