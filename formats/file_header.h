/* file_header.h -- the first bytes of every file of a data node: whose it is, what it is, and
 * whether it is whole. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * 64 bytes, little-endian words. It fills the beginning of a file's first page; the rest of that
 * page is the kind's own affair, with a checksum of its own. `sequence` tells two files of the same
 * name apart (lap of a log, number of a checkpoint): a stale copy does not pass for the current
 * one. These 64 bytes keep their layout in all later formats.
 */
#define FILE_HEADER_MAGIC 0x4642444Eu /* "NDBF" */
#define FILE_HEADER_BYTES 64u

enum file_kind {
    FILE_KIND_SYSTEM = 1, /* The system file of a node: which epoch is durable. */
    FILE_KIND_REDO = 2,
    FILE_KIND_CHECKPOINT_CONTROL = 3,
    FILE_KIND_CHECKPOINT_DATA = 4,
    FILE_KIND_SCHEMA = 5,
    FILE_KIND_SCHEMA_LOG = 6,
    FILE_KIND_TABLESPACE = 7,
    FILE_KIND_UNDO = 8,
    FILE_KIND_BACKUP = 9,
    FILE_KIND_COUNT
};

struct file_header {
    uint32_t magic;
    uint32_t version; /* The kind's format number: file_kind_format(). */
    uint32_t kind;    /* enum file_kind */
    uint32_t node;    /* Node whose file it is. */
    uint64_t cluster_id;
    uint64_t sequence;
    /* Log part, fragment...: the kind's number, so that swapped files are seen. */
    uint32_t instance;
    uint32_t instance2;
    uint32_t page_bytes;  /* Unit of the rest of the file; 0 = none. */
    uint32_t reserved[3]; /* 0 */
    uint64_t checksum;    /* XXH3 of all before. */
};
_Static_assert(sizeof(struct file_header) == FILE_HEADER_BYTES, "the layout on disk");

/* What a reader expects; sequence is not compared here, the caller knows which ones are right. */
struct file_expected {
    uint32_t kind;
    uint32_t node;
    uint64_t cluster_id;
    uint32_t instance;
    uint32_t instance2;
};

/* Fills in magic, version and checksum; the other fields are the caller's. */
void file_header_seal(struct file_header *header);

enum file_verdict {
    FILE_GOOD = 0,
    FILE_NOT_OURS,     /* No header of this kind of program at all. */
    FILE_DAMAGED,      /* Checksum or fields that cannot be. */
    FILE_OTHER_FORMAT, /* Another format number than that of the kind: nothing more is known. */
    FILE_OTHER_CLUSTER,
    FILE_OTHER_NODE,
    FILE_OTHER_KIND, /* Another kind of file or instance under this name: files were swapped, or a
                      * write went astray. */
};

/*
 * Looks at the first `size` bytes of a file. Anything but FILE_GOOD is told in `why` (a sentence
 * without the file's name), and nothing of the file may be used. `header` gets the content when it
 * is FILE_GOOD.
 */
enum file_verdict file_header_check(const void *bytes, size_t size,
                                    const struct file_expected *expected,
                                    struct file_header *header, char *why, size_t why_size);

/* What is to be done about FILE_OTHER_CLUSTER and FILE_OTHER_NODE where the file stands for its
 * directory, "" of another verdict: follows `why`. */
const char *file_foreign_advice(enum file_verdict verdict);

/* The format number that this program writes and reads; no other one is read. It grows with each
 * change of what stands in files of the kind, rows and definitions included. */
uint32_t file_kind_format(uint32_t kind);

/* "redo log", ... for messages. */
const char *file_kind_name(uint32_t kind);
